//! Documents to records.
//!
//! The encoder is a sink. A document's members come in any order, and a counter may come after its list. Values are therefore
//! written into an image in which every table has its maximum, so that each item has a fixed place. At the end, one walk over the
//! sliding tables moves the used parts together.

mod agree;
mod fast;
mod places;
mod preserve;
mod slide;
mod views;

use quayline_core::{NodeId, NodeKind, Sink, Value};

use crate::item::{Scratch, as_text, encode_item, integer, is_nearest_float, keeps_raw, loaded, plain_date, read};
use crate::plan::{Item, ItemForm, ItemIndex, Plan, Target, TargetKind};
use crate::{Absent, FaultKind, NoteKind, RecordDecoder, RecordFault, RecordFaults, RecordNote, RecordPlan};

use fast::{Put, Way, put_text};
use places::Places;
use views::{FilledView, Given, NullView, Selected};

/// Encodes documents of one plan. Holds the buffers that it reuses; make one for each thread.
///
/// After `leave(ROOT)`, [`RecordEncoder::take`] returns the record or the faults of the document.
#[derive(Debug)]
pub struct RecordEncoder {
    plan: RecordPlan,
    state: State,
}

/// The document so far.
#[derive(Debug)]
struct State {
    /// The record with every table at its maximum.
    image: Vec<u8>,
    /// The record as it leaves.
    record: Vec<u8>,
    /// Text of the document, translated into the image when it is complete.
    ascii: Vec<u8>,
    translated: Vec<u8>,
    /// Text that is not ASCII, encoded: its place, and its end in `foreign_bytes`.
    foreign: Vec<(usize, usize)>,
    foreign_bytes: Vec<u8>,
    /// Short ways by node.
    puts: Vec<Put>,
    lists: Vec<OpenList>,
    /// Place of the current occurrence's items, relative to their static offsets.
    base: usize,
    /// Depth of the current value beyond the end of a table: such values have no place.
    beyond: u32,
    /// For each item, true if it is a counter.
    counters: Vec<bool>,
    /// Places of the counters that the document contains.
    given: Places,
    /// Lists that have a counter, in order of their ends.
    counted: Vec<Counted>,
    /// Those with fewer elements than their counter says, in a document whose record may end before the others.
    cut: Vec<Counted>,
    /// Lists around the counted ones, each with the index it was at.
    around: Vec<(NodeId, u32)>,
    /// For plans with unions, the bytes of the image that a view has written.
    written: Vec<bool>,
    has_unions: bool,
    /// For `Absent::Error`, the occurrence of the parent in which each node was last seen.
    seen: Vec<u32>,
    groups: Vec<u32>,
    stamp: u32,
    preserved: Option<String>,
    /// For plans that preserve: the short ways, in place of those in `puts`, and the items that the document has.
    tracked_puts: Vec<Put>,
    tracked: Vec<Tracked>,
    restorer: preserve::Restorer,
    notes: Vec<RecordNote>,
    /// For plans that preserve: values without canonical bytes, which wait until the preserved bytes have been compared with them.
    deferred: Vec<Deferred>,
    /// The record is needed in spite of such values: to determine the bytes to preserve.
    lenient: bool,
    /// The documents lose the sign of a zero, so it is among the bytes to preserve.
    drops_zero_signs: bool,
    end: End,
    /// True if the documents are parts of records, so that a selector outside of tables may be in another part.
    is_part: bool,
    /// Unions outside of tables with a selector, each with a node in one of its views.
    choices: Vec<(u32, NodeId)>,
    /// Unions with a selector.
    selected: Vec<Selected>,
    /// Whether one of them is in a table.
    is_selected_in_tables: bool,
    /// Unions with a selector in elements of the document, with the views around them, innermost first.
    elements: Vec<Vec<Given>>,
    /// Views that the document has, in order; its memory is reused.
    given_views: Vec<FilledView>,
    /// Whether absent members of a view may have other bytes than those of the template.
    fills: bool,
    /// The decoder that finds elements of tables whose selector chooses no view, if there may be any.
    reader: Option<Box<RecordDecoder>>,
    /// By union, whether the document has one of its views.
    has_view: Vec<bool>,
    /// Views that the document has.
    views: Vec<Given>,
    null_views: Vec<NullView>,
    /// Nodes of nulls in views.
    null_nodes: Vec<NodeId>,
    faults: Vec<RecordFault>,
}

#[derive(Clone, Debug)]
struct Deferred {
    fault: RecordFault,
    item: ItemIndex,
    /// Offset in the image.
    at: usize,
    /// `None` for null.
    value: Option<Vec<u8>>,
    /// The value is the bytes themselves, or the name of a condition with these bytes.
    is_raw: bool,
}

/// An item that the document has.
#[derive(Clone, Copy, Debug)]
struct Tracked {
    item: ItemIndex,
    /// Offset in the image.
    at: usize,
    is_null: IsNull,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum IsNull {
    Yes,
    No,
}

impl IsNull {
    fn of(value: Value<'_>) -> Self {
        if matches!(value, Value::Null) { IsNull::Yes } else { IsNull::No }
    }
}

/// End of a record, if a view is chosen for its last storage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// The record has the length of the longest view, as in a program's memory.
    Storage,
    /// The record ends with the view, as a record of a file.
    View,
}

#[derive(Clone, Copy, Debug)]
struct OpenList {
    node: NodeId,
    index: u32,
    stride: usize,
    /// Base around the list.
    outer: usize,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    node: NodeId,
    counter: ItemIndex,
    at: usize,
    count: u32,
    /// Place of the element after the last one.
    end: usize,
    /// First and last entry in `around`, for the path.
    around: (usize, usize),
}

impl RecordEncoder {
    /// Creates an encoder for `plan`.
    #[must_use]
    pub fn new(plan: &RecordPlan) -> Self {
        let inner = &plan.0;
        let mut counters = vec![false; inner.items.len()];
        for target in inner.targets.iter().filter_map(|target| target.list) {
            if let Some(counter) = target.counter {
                counters[counter as usize] = true;
            }
        }
        let short = |target: &Target| match target.kind {
            TargetKind::Item(item) if target.list.is_none() && target.view.is_none() && !counters[item as usize] => {
                Put::of(inner, &inner.items[item as usize])
            }
            _ => Put::GENERAL,
        };
        // If missing members matter, every value goes the general way.
        let strict = inner.policies.absent == Absent::Error;
        let mut puts: Vec<Put> =
            inner.targets.iter().map(|target| if strict { Put::GENERAL } else { short(target) }).collect();
        // Whether preserved bytes are restored depends on the items that the document has.
        let mut tracked_puts = Vec::new();
        if inner.preserve_node.is_some() {
            tracked_puts = core::mem::replace(&mut puts, vec![Put::GENERAL; inner.targets.len()]);
        }
        let has_unions = inner.targets.iter().any(|target| target.view.is_some());
        let selected = views::selected(inner);
        let state = State {
            image: inner.template.clone(),
            record: Vec::with_capacity(inner.template.len()),
            ascii: inner.ascii.clone(),
            translated: vec![0; inner.ascii.len()],
            foreign: Vec::new(),
            foreign_bytes: Vec::new(),
            puts,
            lists: Vec::new(),
            base: 0,
            beyond: 0,
            counters,
            given: Places::default(),
            counted: Vec::new(),
            cut: Vec::new(),
            around: Vec::new(),
            written: if has_unions { vec![false; inner.template.len()] } else { Vec::new() },
            has_unions,
            seen: vec![0; if inner.policies.absent == Absent::Error { inner.shape.len() } else { 0 }],
            groups: Vec::new(),
            stamp: 0,
            preserved: None,
            tracked_puts,
            tracked: Vec::new(),
            restorer: preserve::Restorer::default(),
            notes: Vec::new(),
            deferred: Vec::new(),
            lenient: false,
            drops_zero_signs: false,
            end: End::Storage,
            is_part: false,
            choices: views::choices(inner),
            is_selected_in_tables: selected.iter().any(Selected::is_in_table),
            selected,
            elements: Vec::new(),
            given_views: Vec::new(),
            fills: inner.unions.iter().flat_map(|union| &union.views).any(|view| view.initial.is_some()),
            reader: None,
            has_view: Vec::new(),
            views: Vec::new(),
            null_views: Vec::new(),
            null_nodes: Vec::new(),
            faults: Vec::new(),
        };
        RecordEncoder { plan: plan.clone(), state }
    }

    /// Creates an encoder that leaves out values without canonical bytes.
    pub(crate) fn lenient(plan: &RecordPlan) -> Self {
        let mut encoder = RecordEncoder::new(plan);
        encoder.state.end = End::View;
        encoder.state.lenient = true;
        if plan.0.preserve_node.is_some() {
            encoder.state.puts = core::mem::take(&mut encoder.state.tracked_puts);
        }
        encoder
    }

    /// Sets whether the documents keep the sign of a zero.
    pub(crate) fn keep_zero_signs(&mut self, keep: bool) {
        self.state.drops_zero_signs = !keep;
    }

    /// Creates an encoder of a file's records: a record whose last storage has a chosen view ends with that view, as
    /// variable-length segments do. [`RecordEncoder::new`] gives every record the length of the longest view, as in a program's
    /// memory.
    #[must_use]
    pub fn of_files(plan: &RecordPlan) -> Self {
        let mut encoder = RecordEncoder::new(plan);
        encoder.state.end = End::View;
        encoder.checks_elements()
    }

    /// Checks that the selectors in elements of tables choose views, also in elements that a document does not have.
    fn checks_elements(mut self) -> Self {
        let is_open = |of: &Selected| of.is_in_table() && of.is_open(&self.plan.0);
        if self.state.selected.iter().any(is_open) {
            self.state.reader = Some(Box::new(RecordDecoder::new(&self.plan)));
        }
        self
    }

    /// Creates an encoder of documents that change a part of a record. It does not check that selectors outside of tables choose the views of the
    /// document: [`RecordPlan::check_views`] does, with the whole record.
    #[must_use]
    pub fn of_parts(plan: &RecordPlan) -> Self {
        let mut encoder = RecordEncoder::new(plan);
        encoder.state.is_part = true;
        encoder
    }

    /// Returns the record of the most recent document.
    ///
    /// # Errors
    /// All faults of the document. Do not write any part of it.
    pub fn take(&mut self) -> Result<&[u8], RecordFaults> {
        let state = &mut self.state;
        if state.faults.is_empty() { Ok(&state.record) } else { Err(RecordFaults(core::mem::take(&mut state.faults))) }
    }
}

impl RecordEncoder {
    /// Returns the notes on the most recent record.
    #[must_use]
    pub fn notes(&self) -> &[RecordNote] {
        &self.state.notes
    }
}

impl State {
    fn begin(&mut self, plan: &Plan) {
        self.image.copy_from_slice(&plan.template);
        self.ascii.copy_from_slice(&plan.ascii);
        self.foreign.clear();
        self.foreign_bytes.clear();
        self.lists.clear();
        self.base = 0;
        self.beyond = 0;
        self.given.clear();
        self.counted.clear();
        self.cut.clear();
        self.around.clear();
        self.written.fill(false);
        self.groups.clear();
        // Stamps of earlier documents match none of this one.
        if self.stamp > u32::MAX / 2 {
            self.stamp = 0;
            self.seen.fill(0);
        }
        self.preserved = None;
        self.tracked.clear();
        self.notes.clear();
        self.deferred.clear();
        self.views.clear();
        self.elements.clear();
        self.null_views.clear();
        self.null_nodes.clear();
        self.faults.clear();
    }

    fn end(&mut self, plan: &Plan) {
        self.merge_text(plan);
        // A null counter in a view takes the count of its list.
        self.set_counters(plan);
        self.settle_null_views(plan);
        self.check_halves(plan);
        self.fill_views(plan);
        self.check_views(plan);
        if self.faults.is_empty() {
            if plan.slides.is_empty() {
                self.record.clear();
                self.record.extend_from_slice(&self.image);
            } else if let Err(fault) = slide::compact(plan, &self.image, &mut self.record) {
                self.faults.push(fault);
            }
        }
        if self.end == End::View && !plan.tails.is_empty() && self.faults.is_empty() {
            let cut = self.tail_cut(plan);
            self.record.truncate(self.record.len().saturating_sub(cut));
        }
        if let Some(patch) = self.preserved.take()
            && self.faults.is_empty()
            && self.restore(plan, &patch).is_none()
        {
            self.fault(plan, FaultKind::BadPreserve, plan.preserve_node.unwrap_or(NodeId::ROOT));
        }
        if !self.cut.is_empty() && self.faults.is_empty() {
            self.settle_cut(plan);
        }
        if !self.deferred.is_empty() && !self.lenient {
            self.settle(plan);
        }
        if let Some(reader) = self.reader.as_mut().filter(|_| self.faults.is_empty() && !self.lenient) {
            views::check_elements(reader, &self.record, &mut self.faults);
        }
    }

    /// Bytes that the record is shorter than its storage. A view that is longer than the chosen one and was written keeps its bytes.
    fn tail_cut(&self, plan: &Plan) -> usize {
        let cut = plan.tail_cut(|choice| {
            let item = &plan.items[plan.captures[choice.slot as usize] as usize];
            let bytes = loaded(plan, &self.image[item.offset..item.offset + item.size]);
            let mut scratch = Scratch::default();
            let value = read(plan, item, &bytes, 0, &mut scratch).ok().and_then(as_text);
            choice.view(value.as_deref())
        });
        let tail = self.image.len() - cut..;
        if self.written.get(tail).is_some_and(|tail| tail.contains(&true)) { 0 } else { cut }
    }

    /// Translates the document's text and lays it over the image.
    fn merge_text(&mut self, plan: &Plan) {
        let Some(table) = plan.text.bulk else { return };
        quayline_charset::translate(table, &self.ascii, &mut self.translated);
        fast::blend(&mut self.image, &self.translated, &plan.is_text);
        let mut start = 0;
        for (at, end) in &self.foreign {
            let bytes = &self.foreign_bytes[start..*end];
            self.image[*at..*at + bytes.len()].copy_from_slice(bytes);
            start = *end;
        }
    }

    /// Writes one value the general way.
    fn write(&mut self, plan: &Plan, item: &Item, at: usize, value: Value<'_>) -> Result<(), FaultKind> {
        let range = at..at + item.size;
        encode_item(plan, item, value, &mut self.image[range.clone()])?;
        if !plan.ascii.is_empty() && plan.is_text[at] != 0 {
            // The text pass would overwrite it: either it goes through that pass, or it is laid over afterwards.
            self.foreign_bytes.extend_from_slice(&self.image[range]);
            self.foreign.push((at, self.foreign_bytes.len()));
        }
        Ok(())
    }

    /// Sets every counter to the length of its list. If the document also has the counter, both must agree.
    fn set_counters(&mut self, plan: &Plan) {
        for i in 0..self.counted.len() {
            let counted = self.counted[i];
            let Counted { node, counter, at, count, around, .. } = counted;
            let item = &plan.items[counter as usize];
            if self.given.has(at) {
                let said = self.integer_at(plan, item, at);
                if said.is_some_and(|said| said > i128::from(count)) && self.preserved.is_some() {
                    // CSV does not show elements that a short record does not have.
                    self.cut.push(counted);
                } else if said != Some(i128::from(count)) {
                    self.count_fault(plan, FaultKind::CountMismatch { list: count, counter: said }, node, around);
                }
                continue;
            }
            self.given.add(at);
            match self.set_counter(plan, item, at, Value::Int(i64::from(count), 0)) {
                // Without elements, the bytes that were kept may read as null, or the record may end before them.
                Ok(()) => self.track(counter, at, if count == 0 { IsNull::Yes } else { IsNull::No }),
                Err(kind) => self.count_fault(plan, kind, node, around),
            }
        }
    }

    /// Writes the count of a list. If a view of the document has bytes of the counter, both must agree.
    fn set_counter(&mut self, plan: &Plan, item: &Item, at: usize, count: Value<'_>) -> Result<(), FaultKind> {
        let range = at..at + item.size;
        if let Some(written) = self.written.get_mut(range.clone()) {
            if written.contains(&true) {
                return self.write_view(plan, item, at, count);
            }
            written.fill(true);
        }
        encode_item(plan, item, count, &mut self.image[range])
    }

    /// Adds a fault of a list that was closed earlier. The lists around it are restored for the path.
    #[cold]
    fn count_fault(&mut self, plan: &Plan, kind: FaultKind, node: NodeId, around: (usize, usize)) {
        let around = self.around[around.0..around.1].iter();
        self.lists.extend(around.map(|(node, index)| OpenList { node: *node, index: *index, stride: 0, outer: 0 }));
        self.fault(plan, kind, node);
        self.lists.clear();
    }

    fn integer_at(&self, plan: &Plan, item: &Item, at: usize) -> Option<i128> {
        let bytes = &self.image[at..at + item.size];
        let mut scratch = Scratch::default();
        read(plan, item, &loaded(plan, bytes), 0, &mut scratch).ok().and_then(integer)
    }

    /// Writes a value whose bytes other views may have written already.
    #[cold]
    fn write_view(&mut self, plan: &Plan, item: &Item, at: usize, value: Value<'_>) -> Result<(), FaultKind> {
        let range = at..at + item.size;
        let mut scratch = Scratch::default();
        // The bytes of an earlier view may read as this value although this view would write it differently.
        if self.written[range.clone()].iter().all(|written| *written)
            && read(plan, item, &loaded(plan, &self.image[range.clone()]), 0, &mut scratch)
                .is_ok_and(|said| agree::is_said(said, value))
        {
            return Ok(());
        }
        let mut bytes = plan.template[range.clone()].to_vec();
        encode_item(plan, item, value, &mut bytes)?;
        let agrees = |image: &[u8], written: &[bool]| {
            image.iter().zip(&bytes).zip(written).all(|((image, new), written)| !written || image == new)
        };
        if !agrees(&self.image[range.clone()], &self.written[range.clone()]) {
            // The bytes differ; the values may still agree, if an earlier view kept a sign or a digit in another form.
            let mut canonical = self.image[range.clone()].to_vec();
            let source = loaded(plan, &self.image[range.clone()]);
            let mut scratch = Scratch::default();
            let same = read(plan, item, &source, 0, &mut scratch)
                .is_ok_and(|said| encode_item(plan, item, said, &mut canonical).is_ok() && canonical == bytes);
            if same {
                // The bytes that no view has written belong to the value, too.
                self.written[range].fill(true);
            }
            return if same { Ok(()) } else { Err(FaultKind::ViewConflict) };
        }
        self.image[range.clone()].copy_from_slice(&bytes);
        self.written[range].fill(true);
        Ok(())
    }

    #[cold]
    fn fault(&mut self, plan: &Plan, kind: FaultKind, node: NodeId) {
        if self.faults.len() >= RecordFaults::MAX {
            return;
        }
        let field = match plan.targets[node.index()].kind {
            TargetKind::Item(item) => Some(plan.items[item as usize].field),
            _ => plan.targets[node.index()].list.map(|list| list.field),
        };
        let offset = field.map_or(0, |field| plan.layout.field(field).offset + self.base);
        let path = self.json_path(plan, node);
        self.faults.push(RecordFault { kind, field, offset, path });
    }

    /// Returns a JSON path such as `$.A.B[3].C`.
    fn json_path(&self, plan: &Plan, node: NodeId) -> String {
        let shape = &plan.shape;
        let mut names = Vec::new();
        let mut at = Some(node);
        while let Some(id) = at {
            let part = shape.node(id);
            if part.parent.is_some() {
                let index = self.lists.iter().find(|list| list.node == id).map(|list| format!("[{}]", list.index));
                names.push(format!(".{}{}", part.name, index.unwrap_or_default()));
            }
            at = part.parent;
        }
        names.reverse();
        format!("${}", names.concat())
    }

    fn note_seen(&mut self, node: NodeId) {
        if let (Some(seen), Some(group)) = (self.seen.get_mut(node.index()), self.groups.last()) {
            *seen = *group;
        }
    }

    fn check_missing(&mut self, plan: &Plan, node: NodeId) {
        let Some(group) = self.groups.pop() else { return };
        for child in plan.shape.children(node) {
            let target = &plan.targets[child.index()];
            // A view may be absent. A view of the document has all its members.
            let optional = target.view.is_some() && target.view != plan.targets[node.index()].view
                || match target.kind {
                    TargetKind::Ignored | TargetKind::Preserve => true,
                    // It is set from its list.
                    TargetKind::Item(item) => self.counters[item as usize],
                    TargetKind::Group => false,
                };
            if !optional && self.seen[child.index()] != group {
                self.fault(plan, FaultKind::Missing, child);
            }
        }
    }
}

impl Sink for RecordEncoder {
    #[inline]
    fn enter(&mut self, node: NodeId) {
        self.state.enter(&self.plan.0, node);
    }

    #[inline]
    fn leave(&mut self, node: NodeId) {
        self.state.leave(&self.plan.0, node);
    }

    #[inline]
    fn open_list(&mut self, node: NodeId) {
        self.state.open_list(&self.plan.0, node);
    }

    #[inline]
    fn close_list(&mut self, node: NodeId) {
        self.state.close_list(&self.plan.0, node);
    }

    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.state.value(&self.plan.0, node, value);
    }

    fn null_branch(&mut self, node: NodeId) {
        self.state.null_branch(&self.plan.0, node);
    }

    fn discard(&mut self) {
        self.state.faults.clear();
        self.state.notes.clear();
        self.state.record.clear();
    }
}

impl State {
    #[inline]
    fn enter(&mut self, plan: &Plan, node: NodeId) {
        if node == NodeId::ROOT {
            self.begin(plan);
        }
        if !self.seen.is_empty() {
            self.note_seen(node);
            self.stamp += 1;
            self.groups.push(self.stamp);
        }
        let Some(list) = plan.targets[node.index()].list else { return };
        let Some(open) = self.lists.last_mut() else { return };
        if open.index >= list.max {
            self.beyond += 1;
        } else {
            self.base = open.outer + open.index as usize * open.stride;
        }
    }

    #[inline]
    fn leave(&mut self, plan: &Plan, node: NodeId) {
        if !self.seen.is_empty() && self.beyond == 0 {
            self.check_missing(plan, node);
        }
        if node == NodeId::ROOT {
            self.end(plan);
            return;
        }
        let Some(list) = plan.targets[node.index()].list else { return };
        if self.is_selected_in_tables && self.beyond == 0 {
            self.note_element(plan, node);
        }
        let Some(open) = self.lists.last_mut() else { return };
        if open.index >= list.max {
            self.beyond -= 1;
        }
        open.index += 1;
    }

    #[inline]
    fn open_list(&mut self, plan: &Plan, node: NodeId) {
        if !self.seen.is_empty() {
            self.note_seen(node);
        }
        let stride = plan.targets[node.index()].list.map_or(0, |list| list.stride);
        self.lists.push(OpenList { node, index: 0, stride, outer: self.base });
    }

    #[inline]
    fn close_list(&mut self, plan: &Plan, node: NodeId) {
        let Some(open) = self.lists.pop() else { return };
        self.base = open.outer;
        let Some(list) = plan.targets[node.index()].list else { return };
        if self.beyond > 0 {
            return;
        }
        if open.index > list.max {
            self.fault(plan, FaultKind::TooManyElements { max: list.max }, node);
        }
        if let Some(counter) = list.counter {
            let depth = list.counter_depth as usize;
            let around = self.lists.get(depth.wrapping_sub(1));
            let base = around.map_or(0, |around| around.outer + around.index as usize * around.stride);
            let at = plan.items[counter as usize].offset + base;
            let start = self.around.len();
            self.around.extend(self.lists.iter().map(|list| (list.node, list.index)));
            let around = (start, self.around.len());
            let count = open.index.min(list.max);
            let end = plan.layout.field(list.field).offset + open.outer + count as usize * list.stride;
            self.counted.push(Counted { node, counter, at, count, end, around });
        }
    }

    #[inline(always)]
    fn value(&mut self, plan: &Plan, node: NodeId, value: Value<'_>) {
        let put = self.puts[node.index()];
        let is_short = put.way != Way::General && self.beyond == 0;
        let at = self.base + put.offset as usize;
        let range = at..at + put.size as usize;
        // Inside the reader, a value taken apart stays in registers; to copy it from memory would wait for the reader's stores.
        match value {
            Value::Digits(mut digits) => {
                if self.drops_zero_signs {
                    digits.negative &= !digits.is_zero();
                }
                if is_short && put.number(plan, digits, &mut self.image[range]).is_some() {
                    return;
                }
                self.general(plan, node, Value::Digits(digits));
            }
            Value::Ascii(run) => {
                if is_short && put.way == Way::Text && put_text(run, &mut self.ascii[range]).is_some() {
                    return;
                }
                self.general(plan, node, value);
            }
            _ => self.general(plan, node, value),
        }
    }

    #[inline(never)]
    fn general(&mut self, plan: &Plan, node: NodeId, value: Value<'_>) {
        let target: &Target = &plan.targets[node.index()];
        let mut at = self.base;
        if let Some(list) = target.list {
            let Some(open) = self.lists.last_mut() else { return };
            let index = open.index;
            open.index += 1;
            if index >= list.max {
                return;
            }
            at = open.outer + index as usize * list.stride;
        }
        if self.beyond > 0 {
            return;
        }
        let TargetKind::Item(item) = target.kind else {
            if target.kind == TargetKind::Preserve
                && let Value::Ascii(run) | Value::Text(run) = value
            {
                self.preserved = core::str::from_utf8(run.bytes()).ok().map(str::to_owned);
            }
            return;
        };
        if let Some(put) = self.tracked_puts.get(node.index()).filter(|put| put.way != Way::General)
            && self.put(plan, *put, value)
        {
            return self.track(item, at + plan.items[item as usize].offset, IsNull::No);
        }
        let counter = self.counters[item as usize];
        let index = item;
        // Bytes that are not a value of the field are written only if they are read so.
        let is_strange = matches!(value, Value::Raw(_)) && !keeps_raw(plan);
        let item = &plan.items[item as usize];
        let mut date = Vec::new();
        let read = match item.form {
            ItemForm::Plain => Ok(value),
            ItemForm::Named => Ok(named(plan, index, value)),
            ItemForm::Date => plain_date(plan, index, value, &mut date),
        };
        let (value, misread) = read.map_or_else(|kind| (value, Some(kind)), |value| (value, None));
        at += item.offset;
        let is_view = self.has_unions && target.view.is_some();
        let done = if matches!(value, Value::Null) && is_view {
            // Views are judged together at the end.
            self.note_null_view(plan, index, at, node);
            Ok(())
        } else if is_strange {
            Err(FaultKind::RawBytes)
        } else if let Some(kind) = misread {
            Err(kind)
        } else if is_view {
            self.note_views(plan, node);
            self.write_view(plan, item, at, value)
        } else {
            self.write(plan, item, at, value)
        };
        // A null that has no bytes leaves the template, here as in the encoding that the patch is laid over.
        let done = if self.lenient && matches!(value, Value::Null) { Ok(()) } else { done };
        if counter && !matches!(value, Value::Null) {
            self.given.add(at);
        }
        if !self.seen.is_empty() {
            self.note_seen(node);
        }
        match done {
            Ok(()) if matches!(value, Value::Null) && is_view => {}
            Ok(()) => {
                let bytes = &self.image[at..at + item.size];
                if self.notes.len() < RecordDecoder::NOTES_MAX && is_nearest_float(plan, item, value, bytes) {
                    self.notes.push(RecordNote { kind: NoteKind::NearestFloat, field: Some(item.field), offset: at });
                }
                self.track(index, at, IsNull::of(value));
            }
            Err(kind) => self.refuse(plan, kind, node, index, at, value),
        }
    }

    /// Writes a value the short way. Returns false if only the general way can write it.
    fn put(&mut self, plan: &Plan, put: Put, value: Value<'_>) -> bool {
        let at = self.base + put.offset as usize;
        let range = at..at + put.size as usize;
        match value {
            Value::Digits(digits) => put.number(plan, digits, &mut self.image[range]).is_some(),
            Value::Ascii(run) => put.way == Way::Text && put_text(run, &mut self.ascii[range]).is_some(),
            _ => false,
        }
    }

    /// Remembers an item that the document has, if preserved bytes may have to be compared with it.
    fn track(&mut self, item: ItemIndex, at: usize, is_null: IsNull) {
        if !self.tracked_puts.is_empty() {
            self.tracked.push(Tracked { item, at, is_null });
        }
    }

    /// Refuses a value that cannot be encoded in its field.
    #[cold]
    fn refuse(&mut self, plan: &Plan, kind: FaultKind, node: NodeId, item: ItemIndex, at: usize, value: Value<'_>) {
        let known = self.faults.len();
        // The index points to the element after the one meant.
        if target_is_list(plan, node)
            && let Some(open) = self.lists.last_mut()
        {
            open.index -= 1;
            self.fault(plan, kind, node);
            if let Some(open) = self.lists.last_mut() {
                open.index += 1;
            }
        } else {
            self.fault(plan, kind, node);
        }
        // Only a record that keeps its bytes may still accept the value. A refused number may be as long as the body of a request.
        if plan.preserve_node.is_none() {
            return;
        }
        let kept = agree::owned(value);
        if (kept.is_some() || matches!(value, Value::Null))
            && let Some(fault) = self.faults.drain(known..).next()
        {
            let is_raw = matches!(value, Value::Raw(_));
            self.deferred.push(Deferred { fault, item, at, value: kept, is_raw });
        }
    }

    /// Handles a null group or list: another view of the same bytes, or the null of each field of a group.
    #[cold]
    fn null_branch(&mut self, plan: &Plan, node: NodeId) {
        if plan.targets[node.index()].view.is_some() || self.beyond > 0 {
            return;
        }
        if !self.seen.is_empty() {
            self.note_seen(node);
        }
        let Target { list, kind, .. } = &plan.targets[node.index()];
        if *kind != TargetKind::Group || list.is_some() {
            // A list has no bytes of its own that null could be.
            if plan.policies.null.is_none() {
                self.fault(plan, FaultKind::NullValue, node);
            }
            return;
        }
        let children: Vec<NodeId> = plan.shape.children(node).collect();
        for child in children {
            match (plan.targets[child.index()].list, &plan.shape.node(child).kind) {
                (None, NodeKind::Scalar(_)) => self.general(plan, child, Value::Null),
                (None, NodeKind::Group) | (Some(_), _) => self.null_branch(plan, child),
            }
        }
    }
}

/// Returns the bytes of a value if it is given by its name.
fn named<'v>(plan: &'v Plan, item: ItemIndex, value: Value<'v>) -> Value<'v> {
    let (Value::Text(run) | Value::Ascii(run)) = value else { return value };
    let is_name = |(name, _): &&(String, Vec<u8>)| name.as_bytes() == run.bytes();
    match plan.names.get(&item).and_then(|names| names.iter().find(is_name)) {
        Some((_, bytes)) => Value::Raw(bytes),
        None => value,
    }
}

/// Returns whether the bytes of an item and those of its condition hold the same number, as with another sign code.
fn is_same_number(plan: &Plan, item: &Item, bytes: &[u8], condition: &[u8]) -> bool {
    let [mut left, mut right] = [Scratch::default(), Scratch::default()];
    if item.form != ItemForm::Named || condition.len() != item.size {
        return false;
    }
    let (bytes, condition) = (loaded(plan, bytes), loaded(plan, condition));
    let said = read(plan, item, &bytes, 0, &mut left);
    said.is_ok_and(|said| read(plan, item, &condition, 0, &mut right).is_ok_and(|value| agree::is_said(said, value)))
}

fn target_is_list(plan: &Plan, node: NodeId) -> bool {
    plan.targets[node.index()].list.is_some() && matches!(plan.shape.node(node).kind, NodeKind::Scalar(_))
}
