//! One fault, one finding: valid files with one fault of some class put in, by a seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use quayline_core::{Limits, Severity};
use quayline_edi::guide::{
    Codes, CompiledGuide, DataType, ElementChange, ElementOf, Guide, GuideResolver, GuideText, Item, ItemId, NoteKind,
    Requirement, ResolveError, SegmentUse, SyntaxNote, Walk, parse_guide,
};
use quayline_edi::{EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Standard, Validator, ValidatorOptions};

/// Guides of the examples and of these tests.
pub(crate) struct Shelf;

impl GuideResolver for Shelf {
    fn read(&self, name: &str, _from: &str) -> Result<GuideText, ResolveError> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let tried = [format!("{root}/examples/edi/{name}"), format!("{root}/crates/edi/tests/guides/{name}")];
        for path in &tried {
            if let Ok(text) = std::fs::read_to_string(path) {
                return Ok(GuideText { name: name.to_owned(), text });
            }
        }
        Err(ResolveError::NotFound { tried: tried.into() })
    }
}

/// A guide by its file name.
pub(crate) fn guide(name: &str) -> Guide {
    let text = Shelf.read(name, "").expect("the guide is there").text;
    parse_guide(name, &text, &Shelf, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}"))
}

/// All findings of a text.
pub(crate) fn findings(text: &[u8], guide: &Arc<CompiledGuide>, options: &ValidatorOptions) -> Vec<EdiFault> {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut validator = Validator::new(options.clone());
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut found = Vec::new();
    loop {
        match pass.advance() {
            Event::TransactionStart => validator.begin(Some(guide), &pass),
            Event::Segment if pass.in_transaction() => {
                validator.segment(&pass);
            }
            Event::TransactionEnd(closed) => {
                validator.end(closed, &pass);
            }
            Event::Done => {
                found.extend(pass.take_faults());
                return found;
            }
            _ => {}
        }
        found.extend(pass.take_faults());
        found.extend(validator.take_faults());
    }
}

/// A valid file with its guide.
struct Subject {
    name: &'static str,
    guide: Guide,
    compiled: Arc<CompiledGuide>,
    segments: Vec<Line>,
    head: String,
}

/// A segment of a file.
#[derive(Clone, Debug)]
struct Line {
    /// As it stands in the file, by elements, the tag first.
    elements: Vec<String>,
    item: Option<ItemId>,
    /// Loops that are open behind it: item and number of the instance in the file.
    loops: Vec<(ItemId, usize)>,
}

impl Line {
    fn tag(&self) -> &str {
        &self.elements[0]
    }
}

/// A file with one fault, and what must be said of it.
struct Mutant {
    segments: Vec<Line>,
    /// Codes that the standard gives the class: AK304 or IK304, AK403 or IK403 (or AK502), data element 0085.
    codes: &'static [[&'static str; 3]],
    /// Segments of the file where the finding may stand.
    at: (usize, usize),
    element: Option<(u32, u32)>,
}

impl Subject {
    fn new(name: &'static str, guide_file: &str, text: &str) -> Self {
        let guide = guide(guide_file);
        let compiled = Arc::new(CompiledGuide::new(&guide).unwrap_or_else(|findings| panic!("{findings}")));
        let is_x12 = guide.standard == Standard::X12;
        let (head, text) = if is_x12 { ("", text) } else { text.split_at(text.find("UNB").expect("a header")) };
        let mut subject = Subject { name, guide, compiled, segments: Vec::new(), head: head.trim_end().to_owned() };
        subject.segments = subject.lines(text);
        subject
    }

    fn is_x12(&self) -> bool {
        self.guide.standard == Standard::X12
    }

    fn lines(&self, text: &str) -> Vec<Line> {
        let (element, release, terminator) = if self.is_x12() { ('*', '\0', '~') } else { ('+', '?', '\'') };
        let mut walk = Walk::new(Arc::clone(&self.compiled));
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
        let (mut lines, mut open, mut serial): (Vec<Line>, Vec<(ItemId, usize)>, usize) = (Vec::new(), Vec::new(), 0);
        let split = |raw: &[u8]| {
            let (mut elements, mut released) = (vec![String::new()], false);
            for c in raw.iter().map(|byte| char::from(*byte)) {
                assert!(c != terminator || released);
                if c == element && !released {
                    elements.push(String::new());
                    continue;
                }
                released = c == release && !released;
                elements.last_mut().expect("one").push(c);
            }
            elements
        };
        loop {
            let event = pass.advance();
            let mut item = None;
            match event {
                Event::TransactionStart => walk.start(),
                Event::Segment => {
                    let placement = walk.segment(&pass.segment());
                    item = placement.item;
                    open.truncate(open.len() - placement.left as usize);
                    let entered: Vec<ItemId> = walk.open_loops().skip(open.len()).collect();
                    for id in entered {
                        serial += 1;
                        open.push((id, serial));
                    }
                }
                Event::TransactionEnd(_) => {
                    walk.finish();
                    open.clear();
                }
                Event::Done => return lines,
                Event::NeedMore => panic!("all is there"),
                _ => {}
            }
            lines.push(Line { elements: split(pass.segment().raw()), item, loops: open.clone() });
        }
    }

    /// The file, with counts that are right unless `counts` is false.
    fn text(&self, segments: &[Line], counts: bool) -> String {
        let (element, terminator) = if self.is_x12() { ("*", "~\n") } else { ("+", "'\n") };
        let mut out = self.head.clone();
        let mut first = 0;
        for (i, line) in segments.iter().enumerate() {
            let mut elements = line.elements.clone();
            match line.tag() {
                "ST" | "UNH" => first = i,
                "SE" | "UNT" if counts => elements[1] = (i - first + 1).to_string(),
                _ => {}
            }
            out.push_str(&elements.join(element));
            out.push_str(terminator);
        }
        out
    }

    fn uses(&self) -> Vec<Option<&SegmentUse>> {
        fn walk<'g>(items: &'g [Item], out: &mut Vec<Option<&'g SegmentUse>>) {
            for item in items {
                match item {
                    Item::Segment(segment) => out.push(Some(segment)),
                    Item::Loop(inner) => {
                        out.push(None);
                        walk(&inner.items, out);
                    }
                }
            }
        }
        let mut out = vec![None];
        walk(&self.guide.structure, &mut out);
        out
    }

    /// An element or component at a place, as the guide has it there.
    fn element(&self, usage: &SegmentUse, element: usize, component: usize) -> Option<Place> {
        let dictionary = &self.guide.dictionary;
        let of_segment = dictionary.segments.get(&usage.tag)?.elements.get(element - 1)?;
        let used = match (&of_segment.of, component) {
            (ElementOf::Element(_), 0) => of_segment,
            (ElementOf::Composite(id), 1..) => dictionary.composites[id].components.get(component - 1)?,
            _ => return None,
        };
        let ElementOf::Element(number) = &used.of else { return None };
        let def = &dictionary.elements[number];
        let mut place = Place {
            data_type: def.data_type,
            min: def.min as usize,
            max: def.max as usize,
            requirement: used.requirement,
            coded: def.codes.is_some(),
            repeat: used.repeat,
        };
        for change in self.changes(usage, element, component) {
            place.min = change.min.map_or(place.min, |min| min as usize);
            place.max = change.max.map_or(place.max, |max| max as usize);
            place.requirement = change.requirement.unwrap_or(place.requirement);
            place.data_type = change.data_type.unwrap_or(place.data_type);
            match &change.codes {
                None => {}
                Some(Codes::Any) => place.coded = false,
                Some(_) => place.coded = true,
            }
        }
        Some(place)
    }

    fn changes<'g>(
        &self,
        usage: &'g SegmentUse,
        element: usize,
        component: usize,
    ) -> impl Iterator<Item = &'g ElementChange> + use<'g> {
        usage
            .changes
            .iter()
            .filter(move |change| usize::from(change.element) == element && usize::from(change.component) == component)
    }

    fn is_composite(&self, usage: &SegmentUse, element: usize) -> bool {
        let def = &self.guide.dictionary.segments[&usage.tag];
        matches!(def.elements.get(element - 1).map(|used| &used.of), Some(ElementOf::Composite(_)))
    }

    fn requirement(&self, usage: &SegmentUse, element: usize) -> Requirement {
        let changed = self.changes(usage, element, 0).find_map(|change| change.requirement);
        changed.unwrap_or(self.guide.dictionary.segments[&usage.tag].elements[element - 1].requirement)
    }

    fn notes<'g>(&'g self, usage: &'g SegmentUse) -> &'g [SyntaxNote] {
        usage.notes.as_deref().unwrap_or(&self.guide.dictionary.segments[&usage.tag].notes)
    }

    /// Whether an element (or its first component) tells the segment from others.
    fn is_qualifier(&self, usage: &SegmentUse, element: usize, component: usize) -> bool {
        usage.qualifier.as_ref().is_some_and(|qualifier| {
            usize::from(qualifier.element) == element && usize::from(qualifier.component).max(1) == component.max(1)
        })
    }
}

#[derive(Clone, Copy)]
struct Place {
    data_type: DataType,
    min: usize,
    max: usize,
    requirement: Requirement,
    coded: bool,
    repeat: Option<u32>,
}

/// A small generator: the same numbers for the same seed on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % (n as u64)).expect("less than n")
    }
}

type Mutator = fn(&Subject, &mut Dice) -> Option<Mutant>;

const MISSING: &[[&str; 3]] = &[["3", "", "13"]];
const QUALIFIER: &[[&str; 3]] = &[["8", "7", "12"]];

/// Classes of faults.
const CLASSES: [(&str, Mutator); 29] = [
    ("mandatory segment missing", mandatory_segment_missing),
    ("loop trigger missing", trigger_missing),
    ("mandatory loop missing", mandatory_loop_missing),
    ("tag misspelt", tag_misspelt),
    ("segment not in the guide", segment_not_in_guide),
    ("segment superfluous", segment_superfluous),
    ("segments in the wrong order", wrong_order),
    ("segment too often", segment_too_often),
    ("loop too often", loop_too_often),
    ("segment not used", segment_not_used),
    ("qualifier wrong", qualifier_wrong),
    ("mandatory element missing", element_missing),
    ("mandatory component missing", component_missing),
    ("element too short", too_short),
    ("element too long", too_long),
    ("code invalid", code_invalid),
    ("letters in a number", letters_in_number),
    ("date invalid", date_invalid),
    ("time invalid", time_invalid),
    ("element not used", element_not_used),
    ("elements too many", elements_too_many),
    ("components too many", components_too_many),
    ("repetitions too many", repetitions_too_many),
    ("note: required element missing", note_required),
    ("note: excluded element present", note_excluded),
    ("HL01 wrong", hl_number),
    ("HL02 wrong", hl_parent),
    ("count wrong", count_wrong),
    ("control number wrong", control_wrong),
];

/// A random segment of the body that `fits`.
fn pick(subject: &Subject, dice: &mut Dice, fits: impl Fn(usize, &Line, ItemId) -> bool) -> Option<usize> {
    let places: Vec<usize> = subject
        .segments
        .iter()
        .enumerate()
        .filter(|(i, line)| line.item.is_some_and(|item| fits(*i, line, item)))
        .map(|(i, _)| i)
        .collect();
    (!places.is_empty()).then(|| places[dice.below(places.len())])
}

fn without(subject: &Subject, range: std::ops::Range<usize>) -> Vec<Line> {
    let mut segments = subject.segments.clone();
    segments.drain(range);
    segments
}

/// How often the item occurs in the loop instance that holds segment `at`.
fn occurrences(subject: &Subject, at: usize, item: ItemId) -> usize {
    let line = &subject.segments[at];
    let around = &line.loops;
    // The transaction's own segments: as far as its header and trailer.
    let start = (0..at).rev().find(|i| subject.segments[*i].item.is_none()).map_or(0, |i| i + 1);
    let end = (at..subject.segments.len()).find(|i| subject.segments[*i].item.is_none()).expect("a trailer");
    subject.segments[start..end]
        .iter()
        .filter(|other| other.item == Some(item) && other.loops.get(around.len().wrapping_sub(1)) == around.last())
        .count()
}

fn mandatory_segment_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, _, item| {
        let compiled = subject.compiled.item(item);
        compiled.requirement == Requirement::Mandatory && !compiled.is_trigger && occurrences(subject, i, item) == 1
    })?;
    Some(Mutant { segments: without(subject, at..at + 1), codes: MISSING, at: (at, at + 1), element: None })
}

fn trigger_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, line, item| {
        let next = &subject.segments[i + 1];
        let inside =
            next.item.is_some_and(|next| subject.compiled.item(next).parent == subject.compiled.item(item).parent);
        subject.compiled.item(item).is_trigger && inside && next.loops.last() == line.loops.last()
    })?;
    Some(Mutant { segments: without(subject, at..at + 1), codes: MISSING, at: (at, at), element: None })
}

/// Segments of the loop instance that begins at a trigger.
fn instance(subject: &Subject, trigger: usize) -> std::ops::Range<usize> {
    let own = *subject.segments[trigger].loops.last().expect("a trigger opens a loop");
    let end = (trigger..subject.segments.len())
        .find(|i| !subject.segments[*i].loops.contains(&own))
        .expect("a trailer ends all loops");
    trigger..end
}

fn mandatory_loop_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, _, item| {
        let compiled = subject.compiled.item(item);
        if !compiled.is_trigger || subject.compiled.item(compiled.parent).requirement != Requirement::Mandatory {
            return false;
        }
        let around = subject.segments[i].loops.len() - 1;
        let outer = around.checked_sub(1).map(|level| subject.segments[i].loops[level]);
        let start = (0..i).rev().find(|j| subject.segments[*j].item.is_none()).expect("a header");
        let end = (i..subject.segments.len()).find(|j| subject.segments[*j].item.is_none()).expect("a trailer");
        let same = |j: &usize| {
            let line = &subject.segments[*j];
            line.item == Some(item) && around.checked_sub(1).map(|level| line.loops[level]) == outer
        };
        (start..end).filter(same).count() == 1
    })?;
    let range = instance(subject, at);
    Some(Mutant {
        segments: without(subject, range),
        codes: &[["3", "", "13"], ["I7", "", "13"]],
        at: (at, at),
        element: None,
    })
}

fn tag_misspelt(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, _, _| true)?;
    let mut segments = subject.segments.clone();
    let last = segments[at].elements[0].pop().expect("a tag");
    let other = if last == 'Q' { 'W' } else { 'Q' };
    segments[at].elements[0].push(other);
    if subject.guide.dictionary.segments.contains_key(&segments[at].elements[0]) {
        return None;
    }
    Some(Mutant { segments, codes: &[["1", "", "15"]], at: (at, at), element: None })
}

fn segment_not_in_guide(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let used: Vec<&str> = subject.uses().into_iter().flatten().map(|usage| usage.tag.as_str()).collect();
    let others: Vec<&String> =
        subject.guide.dictionary.segments.keys().filter(|tag| !used.contains(&tag.as_str())).collect();
    if others.is_empty() {
        return None;
    }
    let at = pick(subject, dice, |_, _, _| true)?;
    let mut segments = subject.segments.clone();
    let elements = vec![others[dice.below(others.len())].clone(), "A".to_owned()];
    segments.insert(at, Line { elements, item: None, loops: Vec::new() });
    Some(Mutant { segments, codes: &[["6", "", "15"]], at: (at, at), element: None })
}

/// A copy of a segment at a place of the same transaction where nothing of its tag belongs.
fn segment_superfluous(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let from = pick(subject, dice, |_, _, item| !subject.compiled.item(item).is_trigger)?;
    let tag = subject.segments[from].tag().to_owned();
    let to = pick(subject, dice, |i, line, item| {
        // Not beside its own kind, and not in a loop that may have the tag, nor before one.
        let place = if subject.compiled.item(item).is_trigger { i - 1 } else { i };
        let before = &subject.segments[place];
        let has = |id: ItemId| subject.compiled.children(id).any(|child| *subject.compiled.item(child).id == *tag);
        let nested = |id: ItemId| {
            subject.compiled.children(id).any(|child| {
                !subject.compiled.item(child).is_trigger
                    && subject.compiled.item(child).end.0 > child.0 + 1
                    && has(child)
            })
        };
        let open = before.loops.iter().chain(&line.loops).map(|(id, _)| *id).chain([ItemId::TRANSACTION]);
        before.item.is_some() && open.into_iter().all(|id| !has(id) && !nested(id))
    })?;
    let mut segments = subject.segments.clone();
    let line = segments[from].clone();
    segments.insert(to, line);
    Some(Mutant { segments, codes: &[["2", "", "15"], ["7", "", "15"]], at: (to, to), element: None })
}

fn wrong_order(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, line, item| {
        let next = &subject.segments[i + 1];
        let Some(other) = next.item else { return false };
        let (a, b) = (subject.compiled.item(item), subject.compiled.item(other));
        let same = a.parent == b.parent && line.loops.last() == next.loops.last() && item != other;
        // Those with the same position come in any order.
        let uses = subject.uses();
        let position = |id: ItemId| uses[id.0 as usize].map_or(0, |usage| usage.position);
        let free = position(item) == position(other) && position(item) != 0;
        same && !free && !a.is_trigger && a.id != b.id
    })?;
    let mut segments = subject.segments.clone();
    segments.swap(at, at + 1);
    Some(Mutant { segments, codes: &[["7", "", "15"]], at: (at, at + 1), element: None })
}

fn segment_too_often(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, _, item| {
        let compiled = subject.compiled.item(item);
        compiled.max == Some(1) && !compiled.is_trigger
    })?;
    let mut segments = subject.segments.clone();
    let copy = segments[at].clone();
    segments.insert(at + 1, copy);
    Some(Mutant { segments, codes: &[["5", "", "35"]], at: (at + 1, at + 1), element: None })
}

fn loop_too_often(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, _, item| {
        let compiled = subject.compiled.item(item);
        compiled.is_trigger && subject.compiled.item(compiled.parent).max == Some(1)
    })?;
    let range = instance(subject, at);
    let copies: Vec<Line> = subject.segments[range.clone()].to_vec();
    let mut segments = subject.segments.clone();
    let behind = range.end;
    segments.splice(behind..behind, copies);
    Some(Mutant { segments, codes: &[["4", "", "36"]], at: (behind, behind), element: None })
}

fn segment_not_used(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let forbidden: Vec<usize> =
        (0..uses.len()).filter(|i| uses[*i].is_some_and(|usage| usage.requirement == Requirement::NotUsed)).collect();
    let forbidden = forbidden.get(dice.below(forbidden.len().max(1)))?;
    let parent = subject.compiled.item(ItemId(u32::try_from(*forbidden).expect("small"))).parent;
    // Behind the last segment of its loop before it.
    let at = pick(subject, dice, |i, line, item| {
        let next = &subject.segments[i + 1];
        let inside = line.loops.last().map(|(id, _)| *id) == Some(parent) && next.loops.len() > line.loops.len();
        inside && (item.0 as usize) < *forbidden
    })?;
    let mut segments = subject.segments.clone();
    let tag = uses[*forbidden].expect("a segment").tag.clone();
    segments.insert(at + 1, Line { elements: vec![tag, "A1".into()], item: None, loops: Vec::new() });
    Some(Mutant { segments, codes: &[["2", "", "15"], ["I4", "", "15"]], at: (at + 1, at + 1), element: None })
}

fn qualifier_wrong(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let at = pick(subject, dice, |_, line, item| {
        uses[item.0 as usize]
            .and_then(|usage| usage.qualifier.as_ref())
            .is_some_and(|qualifier| line.elements.len() > usize::from(qualifier.element) && line.tag() != "HL")
    })?;
    let qualifier = uses[subject.segments[at].item?.0 as usize]?.qualifier.as_ref()?;
    let mut segments = subject.segments.clone();
    let element = usize::from(qualifier.element);
    "W8".clone_into(&mut segments[at].elements[element]);
    Some(Mutant { segments, codes: QUALIFIER, at: (at, at), element: Some((u32::from(qualifier.element), 0)) })
}

/// A random simple element with a value that `fits`; `change` makes it wrong.
fn with_element(
    subject: &Subject,
    dice: &mut Dice,
    codes: &'static [[&'static str; 3]],
    fits: impl Fn(&Place, &str) -> bool,
    change: impl Fn(&Place, &str) -> String,
) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        for (e, value) in line.elements.iter().enumerate().skip(1) {
            let components: Vec<&str> = value.split(':').collect();
            let composite = subject.is_composite(usage, e);
            for (c, value) in components.iter().enumerate() {
                let component = if composite { c + 1 } else { 0 };
                // The release character would have to be kept with what it releases; dates by format are their own class.
                if value.contains('?') || subject.is_qualifier(usage, e, component) || value.is_empty() {
                    continue;
                }
                if subject.element(usage, e, component).is_some_and(|place| fits(&place, value)) {
                    places.push((i, e, component));
                }
            }
        }
    }
    if places.is_empty() {
        return None;
    }
    let (at, element, component) = places[dice.below(places.len())];
    let usage = uses[subject.segments[at].item?.0 as usize]?;
    let place = subject.element(usage, element, component)?;
    let mut segments = subject.segments.clone();
    let old = segments[at].elements[element].clone();
    let mut parts: Vec<String> = old.split(':').map(str::to_owned).collect();
    let part = &mut parts[component.max(1) - 1];
    *part = change(&place, part);
    segments[at].elements[element] = parts.join(":");
    while segments[at].elements[element].ends_with(':') {
        segments[at].elements[element].pop();
    }
    let small = |n: usize| u32::try_from(n).expect("small");
    Some(Mutant { segments, codes, at: (at, at), element: Some((small(element), small(component))) })
}

fn is_text(place: &Place) -> bool {
    matches!(place.data_type, DataType::Text | DataType::Alphanumeric | DataType::Identifier)
}

fn is_number(place: &Place) -> bool {
    matches!(place.data_type, DataType::Decimal | DataType::Number | DataType::Implied(_))
}

fn element_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        for (e, value) in line.elements.iter().enumerate().skip(1) {
            let noted = subject.notes(usage).iter().any(|note| note.elements.iter().any(|n| usize::from(*n) == e));
            let qualifies = subject.is_qualifier(usage, e, 1);
            if !value.is_empty() && subject.requirement(usage, e) == Requirement::Mandatory && !noted && !qualifies {
                places.push((i, e));
            }
        }
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    segments[at].elements[element].clear();
    while segments[at].elements.last().is_some_and(String::is_empty) {
        segments[at].elements.pop();
    }
    if segments[at].elements.len() < 2 {
        return None;
    }
    let element = u32::try_from(element).expect("small");
    Some(Mutant { segments, codes: &[["8", "1", "13"]], at: (at, at), element: Some((element, 0)) })
}

fn component_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        for (e, value) in line.elements.iter().enumerate().skip(1) {
            let parts: Vec<&str> = value.split(':').collect();
            for (c, part) in parts.iter().enumerate() {
                let place = subject.element(usage, e, c + 1);
                let mandatory = place.is_some_and(|place| place.requirement == Requirement::Mandatory);
                if parts.len() > 1 && mandatory && !part.is_empty() && !subject.is_qualifier(usage, e, c + 1) {
                    places.push((i, e, c));
                }
            }
        }
    }
    let (at, element, component) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    let old = segments[at].elements[element].clone();
    let mut parts: Vec<&str> = old.split(':').collect();
    parts[component] = "";
    while parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    segments[at].elements[element] = parts.join(":");
    let small = |n: usize| u32::try_from(n).expect("small");
    Some(Mutant {
        segments,
        codes: &[["8", "1", "13"]],
        at: (at, at),
        element: Some((small(element), small(component + 1))),
    })
}

fn too_short(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let fits = |place: &Place, _: &str| is_text(place) && !place.coded && place.min > 1;
    with_element(subject, dice, &[["8", "4", "40"]], fits, |place, _| "X".repeat(place.min - 1))
}

fn too_long(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let fits = |place: &Place, _: &str| is_text(place) && !place.coded && place.max < 500;
    with_element(subject, dice, &[["8", "5", "39"]], fits, |place, _| "X".repeat(place.max + 1))
}

fn code_invalid(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    with_element(
        subject,
        dice,
        QUALIFIER,
        |place, _| is_text(place) && place.coded,
        |place, old| {
            // What says the form of a date beside it is wrong by itself only.
            let mut wrong = "W".repeat(old.len().max(place.min));
            if wrong == old {
                wrong = "V".repeat(wrong.len());
            }
            wrong
        },
    )
}

fn letters_in_number(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    with_element(subject, dice, &[["8", "6", "37"]], |place, _| is_number(place), |_, old| format!("{}A", &old[1..]))
}

fn date_invalid(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let like_date = |place: &Place, value: &str| {
        let text = matches!(place.data_type, DataType::Text | DataType::Alphanumeric) && place.max == 35;
        let digits = value.len() == 8 && value.starts_with("20") && value.bytes().all(|byte| byte.is_ascii_digit());
        place.data_type == DataType::Date || (text && digits)
    };
    with_element(subject, dice, &[["8", "8", "12"]], like_date, |_, old| format!("{}1341", &old[..4]))
}

fn time_invalid(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let fits = |place: &Place, _: &str| place.data_type == DataType::Time;
    with_element(subject, dice, &[["8", "9", "12"]], fits, |_, _| "2561".to_owned())
}

fn element_not_used(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        let elements = subject.guide.dictionary.segments[&usage.tag].elements.len();
        places.extend(
            (1..=elements)
                .filter(|e| subject.requirement(usage, *e) == Requirement::NotUsed)
                .filter(|e| {
                    !subject.notes(usage).iter().any(|note| note.elements.iter().any(|n| usize::from(*n) == *e))
                })
                .map(|e| (i, e)),
        );
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    let elements = &mut segments[at].elements;
    while elements.len() <= element {
        elements.push(String::new());
    }
    "1".clone_into(&mut elements[element]);
    let element = u32::try_from(element).expect("small");
    Some(Mutant {
        segments,
        codes: &[["8", "10", "15"], ["8", "I10", "15"]],
        at: (at, at),
        element: Some((element, 0)),
    })
}

fn elements_too_many(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, _, _| true)?;
    let mut segments = subject.segments.clone();
    let count = subject.guide.dictionary.segments[segments[at].tag()].elements.len();
    segments[at].elements.resize(count + 1, String::new());
    segments[at].elements.push("A".to_owned());
    let element = u32::try_from(count + 1).expect("small");
    Some(Mutant { segments, codes: &[["8", "3", "16"]], at: (at, at), element: Some((element, 0)) })
}

fn components_too_many(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let at = pick(subject, dice, |_, line, item| {
        uses[item.0 as usize].is_some_and(|usage| subject.is_composite(usage, 1)) && line.elements.len() > 1
    })?;
    let mut segments = subject.segments.clone();
    let tag = segments[at].tag().to_owned();
    let ElementOf::Composite(id) = &subject.guide.dictionary.segments[&tag].elements[0].of else { return None };
    let count = subject.guide.dictionary.composites[id].components.len();
    let value = &mut segments[at].elements[1];
    let have = value.matches(':').count() + 1;
    value.push_str(&":".repeat(count + 1 - have));
    value.push('A');
    Some(Mutant { segments, codes: &[["8", "13", "16"]], at: (at, at), element: Some((1, u32::MAX)) })
}

fn repetitions_too_many(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    if !subject.is_x12() {
        return None;
    }
    let fits = |place: &Place, _: &str| place.repeat == Some(1) && !place.coded;
    let mut mutant = with_element(subject, dice, &[["8", "12", "35"]], fits, |_, old| format!("{old}^{old}"))?;
    // Of a composite, the whole is repeated, which this is.
    if let Some((_, component)) = &mut mutant.element {
        if *component > 0 {
            return None;
        }
        *component = 0;
    }
    Some(mutant)
}

/// A segment whose note is broken by taking an element away (`REQUIRED`) or adding one.
fn note_required(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        let there = |n: u8| line.elements.get(usize::from(n)).is_some_and(|value| !value.is_empty());
        for note in subject.notes(usage) {
            let all = note.elements.iter().all(|n| there(*n));
            let takes = matches!(note.kind, NoteKind::AllOrNone | NoteKind::IfFirstThenAll);
            let last = *note.elements.last().expect("a note has elements");
            let others = subject.notes(usage).iter().filter(|other| other.elements.contains(&last)).count();
            let qualifies = subject.is_qualifier(usage, usize::from(last), 1);
            let mandatory = subject.requirement(usage, usize::from(last)) == Requirement::Mandatory;
            if all && takes && others == 1 && !mandatory && !qualifies {
                places.push((i, last));
            }
            // R0203: the only one of them that is there.
            let only = note.elements.iter().filter(|n| there(**n)).count() == 1;
            if note.kind == NoteKind::OneOrMore && only {
                let one = *note.elements.iter().find(|n| there(**n)).expect("one");
                let others = subject.notes(usage).iter().filter(|other| other.elements.contains(&one)).count();
                if others == 1 && subject.requirement(usage, usize::from(one)) != Requirement::Mandatory {
                    places.push((i, one));
                }
            }
        }
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    segments[at].elements[usize::from(element)].clear();
    while segments[at].elements.last().is_some_and(String::is_empty) {
        segments[at].elements.pop();
    }
    Some(Mutant { segments, codes: &[["8", "2", "13"]], at: (at, at), element: None })
}

fn note_excluded(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        let there = |n: u8| line.elements.get(usize::from(n)).is_some_and(|value| !value.is_empty());
        for note in subject.notes(usage).iter().filter(|note| note.kind == NoteKind::OneOrNone) {
            let (here, gone): (Vec<u8>, Vec<u8>) = note.elements.iter().partition(|n| there(**n));
            for add in gone.iter().filter(|_| here.len() == 1) {
                let others = subject.notes(usage).iter().filter(|other| other.elements.contains(add)).count();
                let plain =
                    subject.element(usage, usize::from(*add), 0).is_some_and(|place| is_text(&place) && !place.coded);
                if others == 1 && plain {
                    places.push((i, *add));
                }
            }
        }
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    let usage = uses[segments[at].item?.0 as usize]?;
    let place = subject.element(usage, usize::from(element), 0)?;
    let elements = &mut segments[at].elements;
    while elements.len() <= usize::from(element) {
        elements.push(String::new());
    }
    elements[usize::from(element)] = "A".repeat(place.min.max(1));
    Some(Mutant { segments, codes: &[["8", "10", "15"]], at: (at, at), element: None })
}

fn hl_number(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, line, _| line.tag() == "HL")?;
    let mut segments = subject.segments.clone();
    let number: usize = segments[at].elements[1].parse().expect("a number");
    segments[at].elements[1] = (number + 50).to_string();
    Some(Mutant { segments, codes: &[["8", "7", "12"], ["8", "I12", "12"]], at: (at, at), element: Some((1, 0)) })
}

fn hl_parent(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, line, _| line.tag() == "HL" && !line.elements[2].is_empty())?;
    let mut segments = subject.segments.clone();
    let number: usize = segments[at].elements[2].parse().expect("a number");
    segments[at].elements[2] = (number + 70).to_string();
    Some(Mutant { segments, codes: &[["8", "7", "12"], ["8", "I12", "12"]], at: (at, at), element: Some((2, 0)) })
}

fn trailer(subject: &Subject, dice: &mut Dice) -> usize {
    let trailers: Vec<usize> =
        (0..subject.segments.len()).filter(|i| matches!(subject.segments[*i].tag(), "SE" | "UNT")).collect();
    trailers[dice.below(trailers.len())]
}

fn count_wrong(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = trailer(subject, dice);
    let mut segments = subject.segments.clone();
    segments[at].elements[1].push('7');
    Some(Mutant { segments, codes: &[["", "4", "29"]], at: (at, at), element: Some((1, 0)) })
}

fn control_wrong(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = trailer(subject, dice);
    let mut segments = subject.segments.clone();
    segments[at].elements[2].push('7');
    Some(Mutant { segments, codes: &[["", "3", "28"]], at: (at, at), element: Some((2, 0)) })
}

/// What is wrong with what was found of a mutant; `None` is nothing.
fn verdict(subject: &Subject, mutant: &Mutant, class: &str) -> Option<String> {
    let text = subject.text(&mutant.segments, class != "count wrong");
    let found = findings(text.as_bytes(), &subject.compiled, &ValidatorOptions::default());
    let told = |fault: &EdiFault| format!("{} at {}: {}", fault.error.code(), fault.at, fault.error);
    let [fault] = &found[..] else {
        let all: Vec<String> = found.iter().map(told).collect();
        return Some(format!("{} findings: {}", found.len(), all.join("\n      ")));
    };
    if fault.severity != Severity::Error {
        return Some(format!("not an error: {}", told(fault)));
    }
    // The segment of the file that the finding names.
    let (mut transaction, mut first) = (0, 0);
    let mut index = None;
    for (i, line) in mutant.segments.iter().enumerate() {
        if matches!(line.tag(), "ST" | "UNH") {
            (transaction, first) = (transaction + 1, i);
        }
        if transaction == fault.at.transaction && (i - first) as u64 + 1 == fault.at.segment {
            index = index.or(Some(i));
        }
    }
    let Some(index) = index.filter(|index| (mutant.at.0..=mutant.at.1).contains(index)) else {
        return Some(format!("segment {index:?} of the file, expected {:?}: {}", mutant.at, told(fault)));
    };
    if let Some((element, component)) = mutant.element
        && (fault.at.element != element || (component != u32::MAX && component > 0 && fault.at.component != component))
    {
        return Some(format!(
            "at the wrong element of segment {index}, expected {element}-{component}: {}",
            told(fault)
        ));
    }
    let codes = fault.error.acknowledgment();
    let of_element =
        [codes.element, codes.implementation_element, if codes.segment.is_none() { codes.transaction } else { None }];
    let of_segment = [codes.segment, codes.implementation_segment];
    let good = mutant.codes.iter().any(|[segment, element, contrl]| {
        (segment.is_empty() || of_segment.contains(&Some(*segment)))
            && (element.is_empty() || of_element.contains(&Some(*element)))
            && codes.contrl == Some(*contrl)
    });
    (!good).then(|| format!("other codes than {:?}: {}", mutant.codes, told(fault)))
}

/// A mutant as a file: what its class is, and the codes that the standard gives it (see [`Mutant`]).
pub(crate) struct MutantFile {
    pub(crate) class: &'static str,
    pub(crate) text: String,
    pub(crate) guide: Arc<CompiledGuide>,
    pub(crate) codes: &'static [[&'static str; 3]],
    pub(crate) is_x12: bool,
}

/// So many mutants of each class and subject, for those who look at what becomes of their faults.
pub(crate) fn mutant_files(each: usize) -> Vec<MutantFile> {
    let mut files = Vec::new();
    for subject in subjects() {
        let mut dice = Dice(4);
        for (class, mutate) in CLASSES {
            for _ in 0..each {
                let Some(mutant) = mutate(&subject, &mut dice) else { continue };
                files.push(MutantFile {
                    class,
                    text: subject.text(&mutant.segments, class != "count wrong"),
                    guide: Arc::clone(&subject.compiled),
                    codes: mutant.codes,
                    is_x12: subject.is_x12(),
                });
            }
        }
    }
    files
}

fn subjects() -> Vec<Subject> {
    vec![
        Subject::new("837P", "837p.guide", include_str!("../mutants/837p.x12")),
        Subject::new("835", "835.guide", include_str!("../mutants/835.x12")),
        Subject::new("850", "850.guide", include_str!("../mutants/850.x12")),
        Subject::new("ORDERS", "orders.guide", include_str!("../mutants/orders.edi")),
        Subject::new("INVOIC", "invoic.guide", include_str!("../mutants/invoic.edi")),
    ]
}

#[test]
fn the_files_are_valid() {
    for subject in subjects() {
        let text = subject.text(&subject.segments, true);
        let found = findings(text.as_bytes(), &subject.compiled, &ValidatorOptions::default());
        let told: Vec<String> = found.iter().map(|fault| fault.finding(None).to_string()).collect();
        assert!(found.is_empty(), "{}: {}", subject.name, told.join("\n"));
    }
}

#[test]
fn one_fault_gives_one_finding_at_its_place_with_its_code() {
    const EACH: usize = 24;
    let (mut made, mut right) = (0u32, 0u32);
    let mut by_class: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for subject in subjects() {
        let mut dice = Dice(2026);
        for (class, mutate) in CLASSES {
            for _ in 0..EACH {
                let Some(mutant) = mutate(&subject, &mut dice) else { continue };
                made += 1;
                let tally = by_class.entry(class).or_default();
                tally.0 += 1;
                match verdict(&subject, &mutant, class) {
                    None => {
                        right += 1;
                        tally.1 += 1;
                    }
                    Some(why) => wrong.push(format!("{} {class}, segment {}: {why}", subject.name, mutant.at.0)),
                }
            }
        }
    }
    wrong.dedup();
    let table: Vec<String> =
        by_class.iter().map(|(class, (made, right))| format!("{class}: {right} of {made}")).collect();
    let all = format!("{}\n\n{}", table.join("\n"), wrong.join("\n"));
    assert!(made >= 2_000 && by_class.len() >= 20, "{made} mutants of {} classes", by_class.len());
    assert!(right * 100 >= made * 95, "{right} of {made} are right\n{all}");
    if std::env::var_os("QUAYLINE_MUTANTS").is_some() {
        eprintln!("{right} of {made} are right\n{all}");
    }
}
