//! Drafts of documents by guide, for conversion to segments.

use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;

use quayline_core::{Digits, NodeId, Run, Value, write_number};

use super::number::{self as numbers, Marks};
use super::{GuideDocuments, ItemPlan, Kind};
use crate::delimiters::Standard;
use crate::generic::{Content, Draft, DraftSegment, EdiWriteError, Form, Slot, Span, number};

/// Events that a sink received below the head of a document, until the document ends.
#[derive(Clone, Debug)]
pub(crate) struct GuideDraft {
    documents: Arc<GuideDocuments>,
    roles: Arc<[Role]>,
    /// Guide of the document, if an item of one was sent.
    guide: Option<usize>,
    frames: Vec<Frame>,
    /// Children of the open loops: place among siblings, and the first segment.
    children: Vec<(u32, u32)>,
    segments: Vec<Held>,
    slots: Vec<Slot>,
    levels: Vec<Level>,
    /// Levels that can be parents, for consecutive HL loops. They include those of the preceding page. Each has its index in the guide, its index in
    /// `levels` of this document, and otherwise HL01.
    open_levels: Vec<(usize, Option<usize>, u64)>,
    /// Occurrences of loops without their first segment: number of the segments before, and the node of the first one.
    headless: Vec<(usize, NodeId)>,
    /// Positions of the tags of items in the text, once they were written.
    tags: Vec<Span>,
    /// Number of the last HL segment of the transaction.
    last_level: u64,
    /// Element that is being sent.
    element: u8,
    repetition: u32,
    in_list: bool,
}

/// Meaning of a node.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// A node of the head, or of a document without a guide.
    Other,
    Guide(usize),
    Loop {
        guide: usize,
        item: usize,
    },
    Segment {
        guide: usize,
        item: usize,
    },
    Composite {
        element: u8,
        list: bool,
    },
    /// A simple element (`component` 0) or a component.
    Leaf {
        element: u8,
        component: u8,
        list: bool,
        kind: Kind,
        min: u32,
        /// Zeros that Quayline keeps before a decimal mark.
        zeros: usize,
    },
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    segments: usize,
    children: usize,
    /// Number of its HL segment among `levels`.
    level: Option<usize>,
}

/// A segment.
#[derive(Clone, Copy, Debug)]
struct Held {
    item: u32,
    /// First slot, and the one after the last.
    slots: (u32, u32),
    /// Index among the levels; [`NO_LEVEL`] if it has none.
    level: u32,
}

const NO_LEVEL: u32 = u32::MAX;

impl Held {
    fn slots(&self) -> Range<usize> {
        self.slots.0 as usize..self.slots.1 as usize
    }
}

/// An HL segment.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Index of the parent level.
    parent: Option<usize>,
    has_child: bool,
    number: u64,
    /// HL01 of the parent level, if it is on a preceding page.
    above: Option<u64>,
}

/// Levels above each other that are kept.
const OPEN_LEVELS_MAX: usize = 64;

impl GuideDraft {
    pub(crate) fn new(documents: &Arc<GuideDocuments>) -> Self {
        GuideDraft {
            documents: Arc::clone(documents),
            roles: roles(documents),
            guide: None,
            frames: Vec::new(),
            children: Vec::new(),
            segments: Vec::new(),
            slots: Vec::new(),
            levels: Vec::new(),
            open_levels: Vec::new(),
            headless: Vec::new(),
            tags: Vec::new(),
            last_level: 0,
            element: 0,
            repetition: 0,
            in_list: false,
        }
    }

    /// Begins a document.
    pub(crate) fn clear(&mut self) {
        self.guide = None;
        self.frames.clear();
        self.children.clear();
        self.segments.clear();
        self.slots.clear();
        self.levels.clear();
        self.headless.clear();
        self.frames.push(Frame { segments: 0, children: 0, level: None });
    }

    pub(crate) fn enter(&mut self, node: NodeId) {
        match self.roles[node.index()] {
            Role::Guide(guide) => self.guide = Some(guide),
            Role::Loop { guide, item } => {
                self.child(guide, item);
                self.frames.push(Frame { segments: self.segments.len(), children: self.children.len(), level: None });
            }
            Role::Segment { guide, item } => {
                self.child(guide, item);
                let slots = number(self.slots.len());
                self.segments.push(Held { item: number(item), slots: (slots, slots), level: NO_LEVEL });
            }
            Role::Composite { element, list } => {
                if self.element != element || !self.in_list {
                    (self.element, self.repetition) = (element, 0);
                } else if list {
                    self.repetition = self.repetition.wrapping_add(1);
                }
                self.in_list = list;
            }
            Role::Leaf { .. } | Role::Other => {}
        }
    }

    fn child(&mut self, guide: usize, item: usize) {
        self.guide = Some(guide);
        self.element = 0;
        let rank = self.documents.plans[guide].items[item].rank;
        self.children.push((rank, number(self.segments.len())));
    }

    pub(crate) fn leave(&mut self, node: NodeId, text: &mut Vec<u8>) -> Result<(), EdiWriteError> {
        match self.roles[node.index()] {
            Role::Loop { guide, item } => {
                let Some(frame) = self.frames.pop() else { return Ok(()) };
                self.put_in_order(frame);
                self.check_start(guide, item, frame.segments);
                Ok(())
            }
            Role::Segment { guide, item } => {
                self.end_segment(guide, item, text);
                self.check_place(guide, item, text)
            }
            Role::Guide(_) | Role::Composite { .. } | Role::Leaf { .. } | Role::Other => Ok(()),
        }
    }

    /// Checks that an occurrence of a loop begins with its first segment. Otherwise, readers would add its segments to the occurrence before.
    fn check_start(&mut self, guide: usize, item: usize, from: usize) {
        // A loop begins with a segment, and items precede their contents.
        let start = item + 1;
        let node = self.documents.plans[guide].items[start].node;
        if node != NodeId::ROOT && self.segments.get(from).is_some_and(|first| first.item as usize != start) {
            self.headless.push((from, node));
        }
    }

    /// Checks that a segment does not have the qualifier of another place of the guide, where readers would put it.
    fn check_place(&self, guide: usize, item: usize, text: &[u8]) -> Result<(), EdiWriteError> {
        let plan = &self.documents.plans[guide];
        let own = &plan.items[item];
        let (Some(qualifier), Some(segment)) = (&own.qualifier, self.segments.last()) else { return Ok(()) };
        let is_it = |slot: &&Slot| is_at(slot, qualifier.element, qualifier.component);
        let Some(slot) = self.slots[segment.slots()].iter().find(is_it) else { return Ok(()) };
        let has = |values: &[String]| values.iter().any(|value| value.as_bytes() == slot.text.of(text));
        if has(&qualifier.values) {
            return Ok(());
        }
        let items = self.documents.guides().compiled(guide).items();
        let takes = |(at, other): (usize, &ItemPlan)| {
            at != item
                && !other.is_loop
                && other.tag == own.tag
                && match &other.qualifier {
                    Some(theirs) => {
                        (theirs.element, theirs.component) == (qualifier.element, qualifier.component)
                            && has(&theirs.values)
                    }
                    None => items[at].parent == items[item].parent,
                }
        };
        match plan.items.iter().enumerate().find(|one| takes(*one)) {
            Some((_, other)) if other.node != NodeId::ROOT => {
                let shape = self.documents.shape();
                Err(EdiWriteError::OtherPlace { path: shape.path(own.node), other: shape.path(other.node) })
            }
            _ => Ok(()),
        }
    }

    /// Sorts the children of a loop by the guide's order; those that may come in any order keep theirs.
    fn put_in_order(&mut self, frame: Frame) {
        let children = &self.children[frame.children..];
        if !children.is_sorted_by_key(|(rank, _)| rank) {
            let ends = children[1..].iter().map(|(_, from)| *from).chain([number(self.segments.len())]);
            let mut blocks: Vec<(u32, Range<usize>)> =
                children.iter().zip(ends).map(|((rank, from), to)| (*rank, *from as usize..to as usize)).collect();
            blocks.sort_by_key(|(rank, _)| *rank);
            let ordered: Vec<Held> = blocks.into_iter().flat_map(|(_, block)| self.segments[block].to_vec()).collect();
            self.segments.truncate(frame.segments);
            self.segments.extend(ordered);
        }
        self.children.truncate(frame.children);
    }

    fn end_segment(&mut self, guide: usize, item: usize, text: &mut Vec<u8>) {
        let Some(segment) = self.segments.last_mut() else { return };
        if let Some(qualifier) = &self.documents.plans[guide].items[item].qualifier
            && let [value] = &qualifier.values[..]
        {
            let (element, component) = (qualifier.element, qualifier.component);
            if !self.slots[segment.slots.0 as usize..].iter().any(|slot| is_at(slot, element, component)) {
                let from = text.len();
                text.extend_from_slice(value.as_bytes());
                let text = Span::behind(from, text);
                self.slots.push(Slot { element, repetition: 0, component, form: Form::Text, text });
            }
        }
        segment.slots.1 = number(self.slots.len());
        let slots = &mut self.slots[segment.slots.0 as usize..];
        let key = |slot: &Slot| (slot.element, slot.repetition, slot.component);
        if !slots.is_sorted_by_key(key) {
            slots.sort_by_key(key);
        }
        let is_x12 = self.documents.guides().compiled(guide).standard() == Standard::X12;
        if is_x12 && &*self.documents.plans[guide].items[item].tag == "HL" {
            let level = self.levels.len();
            segment.level = number(level);
            let parent = self.frames.iter().rev().skip(1).find_map(|frame| frame.level);
            if let Some(parent) = parent {
                self.levels[parent].has_child = true;
            }
            self.levels.push(Level { parent, has_child: false, number: 0, above: None });
            if let Some(frame) = self.frames.last_mut() {
                frame.level.get_or_insert(level);
            }
        }
    }

    pub(crate) fn open_list(&mut self, node: NodeId) {
        if let Role::Leaf { element, .. } | Role::Composite { element, .. } = self.roles[node.index()] {
            self.element = element;
            // The first one makes it zero.
            self.repetition = u32::MAX;
            self.in_list = true;
        }
    }

    pub(crate) fn close_list(&mut self, node: NodeId) {
        if let Role::Leaf { .. } | Role::Composite { .. } = self.roles[node.index()] {
            self.in_list = false;
        }
    }

    /// `text` takes it.
    pub(crate) fn value(&mut self, node: NodeId, value: Value<'_>, text: &mut Vec<u8>) -> Result<(), EdiWriteError> {
        let Role::Leaf { element, component, list, kind, min, zeros } = self.roles[node.index()] else { return Ok(()) };
        if list {
            self.repetition = self.repetition.wrapping_add(1);
        }
        if component == 0 && !list {
            self.repetition = 0;
        }
        let from = text.len();
        let form = match put(kind, Least { digits: min, before_mark: zeros }, value, text) {
            Ok(form) => form,
            Err(places) => {
                text.truncate(from);
                return Err(EdiWriteError::Places { path: self.documents.shape().path(node), places });
            }
        };
        if text.len() > from {
            let text = Span::behind(from, text);
            self.slots.push(Slot { element, repetition: self.repetition, component, form, text });
        }
        Ok(())
    }

    /// Completes the document: adds its segments, and the fields of the head that the guide determines.
    pub(crate) fn finish(&mut self, draft: &mut Draft, errors: &mut Vec<EdiWriteError>) -> Result<(), EdiWriteError> {
        if let Some(frame) = self.frames.pop() {
            self.put_in_order(frame);
        }
        let Some(guide) = self.guide else { return Ok(()) };
        let documents = Arc::clone(&self.documents);
        let nodes = &documents.nodes.head;
        nodes.fill(documents.guides().compiled(guide), draft);
        let page = draft.page(nodes.page())?;
        if page == 1 {
            self.last_level = 0;
            self.open_levels.clear();
        }
        let repeated = match draft.field(nodes.repeated()) {
            b"" => 0,
            text => core::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0),
        };
        for (from, node) in &self.headless {
            // A page may begin inside a loop.
            if page == 1 || *from > repeated {
                errors.push(EdiWriteError::LoopStart { path: documents.shape().path(*node) });
            }
        }
        self.stack_levels(guide, &draft.text);
        self.number_levels(guide, &mut draft.text);
        draft.segments.reserve_exact(self.segments.len().saturating_sub(repeated));
        let items = &documents.plans[guide].items;
        self.tags.clear();
        self.tags.resize(items.len(), Span::EMPTY);
        for Held { item, slots: (from, to), .. } in self.segments.iter().skip(repeated) {
            let tag = &mut self.tags[*item as usize];
            if *tag == Span::EMPTY {
                *tag = draft.keep(items[*item as usize].tag.as_bytes());
            }
            draft.segments.push(DraftSegment { tag: *tag, content: Content::Slots(*from, *to) });
        }
        core::mem::swap(&mut self.slots, &mut draft.slots);
        Ok(())
    }

    /// Finds the parent of each level in consecutive HL loops: the last preceding one that the guide allows above it (HL03).
    fn stack_levels(&mut self, guide: usize, text: &[u8]) {
        let documents = Arc::clone(&self.documents);
        let Some(levels) = documents.guides().compiled(guide).flat_levels().filter(|levels| levels.are_given()) else {
            return;
        };
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            let Some(of) = self.levels.get(segment.level as usize).map(|_| segment.level as usize) else { continue };
            let code = self.slots[segment.slots()].iter().find(|slot| slot.element == 3).map(|slot| slot.text.of(text));
            let Some(level) = code.and_then(|code| levels.find(code)) else { continue };
            // A level of the same kind is a sibling rather than a parent, if it may be one.
            let may = |other: usize| levels.may_be_in(level, other);
            let other = self.open_levels.iter().rposition(|(other, ..)| *other != level && may(*other));
            let own = self.open_levels.iter().rposition(|(other, ..)| *other == level && may(level));
            let above = other.or(own.filter(|_| !levels.may_be_top(level)));
            match above {
                Some(above) => self.open_levels.truncate(above + 1),
                None => self.open_levels.clear(),
            }
            let above = self.open_levels.last().map(|(_, of, number)| (*of, *number));
            match above {
                Some((Some(above), _)) => {
                    self.levels[of].parent = Some(above);
                    self.levels[above].has_child = true;
                }
                Some((None, number)) => self.levels[of].above = Some(number),
                None => {}
            }
            if self.open_levels.len() < OPEN_LEVELS_MAX {
                self.open_levels.push((level, Some(of), 0));
            }
        }
    }

    /// Corrects which levels have children, if the document gives a parent (HL02) other than the one that follows from the order of levels.
    fn count_children(&mut self, text: &[u8]) {
        let value = |segment: &Held, element: u8| {
            let slot = self.slots[segment.slots()].iter().find(|slot| slot.element == element)?;
            Some(core::str::from_utf8(slot.text.of(text)).ok().and_then(|text| text.trim_ascii().parse::<u64>().ok()))
        };
        let mut last = self.last_level;
        let (mut levels, mut of_number) = (Vec::new(), HashMap::new());
        for segment in self.segments.iter().filter(|segment| segment.level != NO_LEVEL) {
            last = value(segment, 1).flatten().unwrap_or(last + 1);
            let level = segment.level as usize;
            of_number.entry(last).or_insert(level);
            levels.push((level, value(segment, 2)));
        }
        let parent = |(level, given): &(usize, Option<Option<u64>>)| match given {
            Some(given) => given.and_then(|number| of_number.get(&number).copied()),
            None => self.levels[*level].parent,
        };
        if levels.iter().all(|one| parent(one) == self.levels[one.0].parent) {
            return;
        }
        let parents: Vec<usize> = levels.iter().filter_map(parent).collect();
        self.levels.iter_mut().for_each(|level| level.has_child = false);
        parents.into_iter().for_each(|parent| self.levels[parent].has_child = true);
    }

    /// Fills missing values: HL01 counts, HL02 names the parent level, HL04 states whether there are child levels.
    fn number_levels(&mut self, guide: usize, text: &mut Vec<u8>) {
        if self.levels.is_empty() {
            return;
        }
        let documents = Arc::clone(&self.documents);
        let plan = &documents.plans[guide];
        // The parents are unknown.
        let unknown = documents.guides().compiled(guide).flat_levels().is_some_and(|levels| !levels.are_given());
        self.count_children(text);
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            let (item, slots, level) = (segment.item as usize, segment.slots(), segment.level as usize);
            if segment.level == NO_LEVEL {
                continue;
            }
            let given = |element: u8| self.slots[slots.clone()].iter().find(|slot| slot.element == element);
            let number = given(1).map(|slot| slot.text.of(text).to_vec());
            let (has_parent, has_flag) = (given(2).is_some(), given(4).is_some());
            let was_given = number.is_some();
            let number = match number {
                None => self.last_level + 1,
                Some(text) => {
                    core::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).unwrap_or(self.last_level + 1)
                }
            };
            self.last_level = number;
            self.levels[level].number = number;
            let Level { parent, has_child, above, .. } = self.levels[level];
            let wanted = |element: usize| {
                let known = plan.elements[plan.items[item].elements.clone()].get(element - 1);
                known.is_some_and(|known| known.kind != Kind::Out && (!was_given || known.mandatory))
            };
            let mut new: Vec<Slot> = self.slots[slots.clone()].to_vec();
            let mut put = |element: u8, value: u64| {
                let from = text.len();
                text.extend_from_slice(value.to_string().as_bytes());
                let text = Span::behind(from, text);
                new.push(Slot { element, repetition: 0, component: 0, form: Form::Text, text });
            };
            if !was_given {
                put(1, number);
            }
            let above = parent.map(|parent| self.levels[parent].number).or(above);
            if let (Some(above), false, true) = (above, has_parent, wanted(2)) {
                put(2, above);
            }
            if !has_flag && wanted(4) && !unknown {
                put(4, has_child.into());
            }
            if new.len() > slots.len() {
                new.sort_by_key(|slot| slot.element);
                let from = self.slots.len();
                self.slots.extend(new);
                self.segments[at].slots = (self::number(from), self::number(self.slots.len()));
            }
        }
        for (_, of, number) in &mut self.open_levels {
            if let Some(of) = of.take() {
                *number = self.levels[of].number;
            }
        }
    }
}

/// Returns whether a slot is an element or component. A composite of one component may be sent as a simple element.
fn is_at(slot: &Slot, element: u8, component: u8) -> bool {
    slot.element == element && slot.component.max(1) == component.max(1)
}

/// Minimum digits of a number.
#[derive(Clone, Copy)]
struct Least {
    /// Minimum number of digits in all.
    digits: u32,
    /// Minimum number of digits before a decimal mark, if the value has them.
    before_mark: usize,
}

/// Appends the text of a value; the places there are where it has more.
fn put(kind: Kind, least: Least, value: Value<'_>, out: &mut Vec<u8>) -> Result<Form, u8> {
    match value {
        Value::Null => Ok(Form::Text),
        Value::Text(run) | Value::Ascii(run) => {
            let mut scratch = [0; 64];
            let number = match kind {
                Kind::Decimal | Kind::Implied(_) => numbers::number(run, None, Marks::Point, &mut scratch),
                _ => None,
            };
            match number {
                Some(Value::Digits(digits)) => put_number(kind, least, digits, out),
                _ => {
                    out.extend_from_slice(run.bytes());
                    Ok(Form::Text)
                }
            }
        }
        Value::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            Ok(if kind == Kind::Bytes { Form::Binary } else { Form::Text })
        }
        Value::Raw(bytes) => {
            out.extend_from_slice(bytes);
            Ok(Form::Text)
        }
        Value::Bool(truth) => {
            out.extend_from_slice(if truth { b"true" } else { b"false" });
            Ok(Form::Text)
        }
        Value::Digits(digits) => put_number(kind, least, digits, out),
        Value::Int(..) | Value::Decimal(_) | Value::Float32(_) | Value::Float64(_) => {
            let mut written = Vec::new();
            let mut scratch = [0; 64];
            if write_number(&mut written, value).is_none() {
                return Ok(Form::Text);
            }
            match numbers::number(Run::from(&written[..]), None, Marks::Point, &mut scratch) {
                Some(Value::Digits(digits)) => put_number(kind, least, digits, out),
                _ => {
                    out.extend_from_slice(&written);
                    Ok(Form::Number)
                }
            }
        }
    }
}

/// The same of a number.
fn put_number(kind: Kind, least: Least, number: Digits<'_>, out: &mut Vec<u8>) -> Result<Form, u8> {
    let digits = number.digits.bytes();
    if number.negative {
        out.push(b'-');
    }
    let Kind::Implied(places) = kind else {
        let decimals = usize::from(number.scale.max(0).unsigned_abs());
        let (whole, rest) = digits.split_at(digits.len().saturating_sub(decimals));
        // Records send every digit of their picture; of leading zeros only those stay that the least length asks for.
        let superfluous = whole.iter().take_while(|digit| **digit == b'0').count();
        // A value of zeros only keeps the zero before the mark.
        let is_part = rest.iter().any(|digit| *digit != b'0');
        let before_mark = if is_part { least.before_mark } else { 1 };
        let least = (least.digits as usize).saturating_sub(rest.len()).max(before_mark);
        out.extend_from_slice(&whole[superfluous.min(whole.len().saturating_sub(least))..]);
        out.extend(core::iter::repeat_n(b'0', usize::from(number.scale.min(0).unsigned_abs())));
        if decimals > 0 {
            out.push(b'.');
            out.extend(core::iter::repeat_n(b'0', decimals - rest.len()));
            out.extend_from_slice(rest);
        }
        return Ok(Form::Number);
    };
    let missing = i32::from(places) - i32::from(number.scale);
    let more = usize::try_from(-missing).unwrap_or(0).min(digits.len());
    let (kept, cut) = digits.split_at(digits.len() - more);
    if cut.iter().any(|digit| *digit != b'0') {
        return Err(places);
    }
    let first = kept.iter().position(|digit| *digit != b'0').unwrap_or(kept.len());
    let zeros = usize::try_from(missing).unwrap_or(0);
    let significant = &kept[first..];
    let zeros = if significant.is_empty() { 0 } else { zeros };
    let len = significant.len() + zeros;
    out.extend(core::iter::repeat_n(b'0', (least.digits as usize).max(1).saturating_sub(len)));
    out.extend_from_slice(significant);
    out.extend(core::iter::repeat_n(b'0', zeros));
    Ok(Form::Text)
}

/// Returns the meaning of each node of the shape.
fn roles(documents: &GuideDocuments) -> Arc<[Role]> {
    let mut roles = vec![Role::Other; documents.shape().len()];
    for (guide, plan) in documents.plans.iter().enumerate() {
        // X12 has no zero before a decimal mark (X12.6, decimal number); ISO 9735 leaves it to the sender.
        let zeros = usize::from(documents.guides().compiled(guide).standard() == Standard::Edifact);
        if plan.root != NodeId::ROOT {
            roles[plan.root.index()] = Role::Guide(guide);
        }
        for (item, known) in plan
            .items
            .iter()
            .enumerate()
            .filter(|(_, known)| known.node != NodeId::ROOT)
            .skip(usize::from(plan.root != NodeId::ROOT))
        {
            roles[known.node.index()] =
                if known.is_loop { Role::Loop { guide, item } } else { Role::Segment { guide, item } };
            for (known, element) in plan.elements[known.elements.clone()].iter().zip(1..=u8::MAX) {
                if known.kind == Kind::Out {
                    continue;
                }
                roles[known.node.index()] = if known.kind == Kind::Composite {
                    Role::Composite { element, list: known.list }
                } else {
                    Role::Leaf { element, component: 0, list: known.list, kind: known.kind, min: known.min, zeros }
                };
                for (part, component) in plan.components(known).iter().zip(1..=u8::MAX) {
                    if part.kind != Kind::Out {
                        roles[part.node.index()] =
                            Role::Leaf { element, component, list: false, kind: part.kind, min: part.min, zeros };
                    }
                }
            }
        }
    }
    roles.into()
}
