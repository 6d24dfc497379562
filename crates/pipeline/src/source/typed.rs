//! Records of several types, with children nested in their parents.

use core::ops::Range;
use std::collections::HashMap;

use quayline_cobol::{RecordDecoder, RecordPlan};
use quayline_core::{Fault, Finding, NodeId, Severity, Sink, Value};
use quayline_frame::FramingSpec;
use quayline_project::{Found, RecordTypes, UnknownType};

use crate::block::Block;
use crate::codes;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{Lot, locate, place_of};
use crate::repeats::{RepeatKey, Repeats, Words};
use crate::source::record::{decoder, note_stray};
use crate::stray::StrayLineEnd;
use crate::target::Target;

/// Decodes a record with everything below it into one document.
pub(crate) struct TypedSource<'s> {
    types: &'s RecordTypes,
    decoders: Vec<Option<RecordDecoder>>,
    family: Vec<Member>,
    /// Records among those of the family that belong to none of them, with what is wrong: their index in the block, in its order.
    strays: Vec<(usize, Finding)>,
    /// Rank of each type among the children of its parent.
    ranks: Vec<usize>,
    /// The first record of the family that comes before a sibling which documents show first.
    misordered: Option<usize>,
    stray: Option<StrayLineEnd>,
}

/// Findings in the records of a family.
#[derive(Debug, Default)]
struct Family {
    findings: Vec<Finding>,
    repeats: Repeats,
}

/// A record of the family in work.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Index in the block.
    at: usize,
    of_type: usize,
    /// Nesting depth; 0 for the record that begins the document.
    depth: usize,
    /// Number of the record that it is nested in.
    parent: Option<u64>,
}

/// A record that may have more children.
#[derive(Clone, Copy, Debug)]
struct Above {
    of_type: usize,
    number: u64,
    /// The greatest rank among its children.
    rank: usize,
}

impl<'s> TypedSource<'s> {
    pub(crate) fn new(types: &'s RecordTypes, framing: &FramingSpec) -> Self {
        let decoders = (0..types.count()).map(|index| types.plan(index).map(|plan| decoder(plan, framing))).collect();
        let rank = |index: usize| {
            let siblings = types.parent(index).map_or(&[][..], |parent| types.children(parent));
            siblings.iter().position(|sibling| *sibling == index).unwrap_or(0)
        };
        let ranks = (0..types.count()).map(rank).collect();
        let stray = StrayLineEnd::of(framing);
        TypedSource { types, decoders, family: Vec::new(), strays: Vec::new(), ranks, misordered: None, stray }
    }

    /// Gathers the records that belong to the one at `at`. Returns the index after them.
    ///
    /// A record of no type, or one without its parent, may be a missing part of the family before it, or the parent of what follows. So it is rejected
    /// together with the family, and the rejects have all of them in the order of the source. Before the first family it is rejected alone.
    fn gather(&mut self, facts: &LaneFacts, block: &Block, at: usize, lot: &mut Lot) -> usize {
        self.family.clear();
        self.strays.clear();
        self.misordered = None;
        // The records above the next one, outermost first.
        let mut open: Vec<Above> = Vec::new();
        let mut next = at;
        while next < block.len() {
            match self.types.find(block.body(next)) {
                Found::Skip => lot.skipped(1),
                Found::SkipUnknown => {
                    lot.skipped(1);
                    Self::note_skipped(facts, block, next, lot);
                }
                Found::Unknown => {
                    self.refuse(facts, block, next, lot, None);
                    // The unknown record may be the parent of the following records, so they must not be added to an earlier parent.
                    open.clear();
                    if facts.stop_at_reject && self.family.is_empty() {
                        return next + 1;
                    }
                }
                Found::Type(of_type) => {
                    let number = block.number(next).0;
                    let above = Above { of_type, number, rank: 0 };
                    match self.types.parent(of_type) {
                        None if !self.family.is_empty() => return next,
                        None => {
                            open.push(above);
                            self.family.push(Member { at: next, of_type, depth: 0, parent: None });
                        }
                        Some(parent) => match open.iter().position(|known| known.of_type == parent) {
                            Some(depth) => {
                                let rank = self.ranks[of_type];
                                if rank < open[depth].rank {
                                    self.misordered.get_or_insert(next);
                                }
                                open[depth].rank = rank.max(open[depth].rank);
                                let parent = Some(open[depth].number);
                                open.truncate(depth + 1);
                                open.push(above);
                                self.family.push(Member { at: next, of_type, depth: depth + 1, parent });
                            }
                            None => self.refuse(facts, block, next, lot, Some(parent)),
                        },
                    }
                }
            }
            // After the match: the record that begins the next family is gathered again.
            note_stray(self.stray, lot, block, next, facts);
            next += 1;
            // Without nesting a document is a record.
            if !self.types.is_nested() && !self.family.is_empty() {
                break;
            }
        }
        next
    }

    /// Counts a record of no type that the interface file skips.
    fn note_skipped(facts: &LaneFacts, block: &Block, at: usize, lot: &mut Lot) {
        let words = || Words {
            one: "record is of no record type, and is skipped".to_owned(),
            many: "records are of no record type, and are skipped".to_owned(),
            hint:
                "if such a record is a parent, add a [[records.type]] for it: its children go to the parent before it"
                    .to_owned(),
            severity: Severity::Note,
        };
        let place = || place_of(block, at, &facts.file);
        lot.repeats.add(codes::SKIPPED_UNKNOWN, RepeatKey::Others, place, words);
    }

    #[cold]
    fn refuse(&mut self, facts: &LaneFacts, block: &Block, at: usize, lot: &mut Lot, parent: Option<usize>) {
        let finding = match parent {
            None => {
                let UnknownType { value, known, remedy } = self.types.unknown(block.body(at));
                let hint = format!("known values are {known}; {remedy}");
                let words = || Words {
                    one: format!("record has the value {value}, which no record type has"),
                    many: format!("records have the value {value}, which no record type has"),
                    hint: hint.clone(),
                    severity: Severity::Error,
                };
                let place = || place_of(block, at, &facts.file);
                lot.repeats.add(codes::UNKNOWN_TYPE, RepeatKey::Value(value.clone()), place, words);
                let message = format!("no record type has this record's value {value}");
                Finding::error(codes::UNKNOWN_TYPE, Fault::Sender, message).hint(hint)
            }
            Some(parent) => {
                let name =
                    self.types.plan(parent).map_or("its parent", |plan| plan.shape().node(NodeId::ROOT).name.as_str());
                Finding::error(codes::NO_PARENT, Fault::Sender, format!("no {name} precedes this record as its parent"))
                    .hint(
                        "the file is not in order, or a record before it, which may be its parent, is of no known type",
                    )
            }
        };
        if self.family.is_empty() {
            lot.rejected(&facts.reject_form, block, at, locate(vec![finding], &place_of(block, at, &facts.file)));
        } else {
            self.strays.push((at, finding));
        }
    }

    /// Sends member `range.start` with its descendants, the rest of `range`. Faults are collected; the events stay well formed.
    fn send<S: Sink>(
        &mut self,
        facts: &LaneFacts,
        block: &Block,
        range: Range<usize>,
        sink: &mut S,
        found: &mut Family,
    ) {
        let Member { at, of_type, depth, parent } = self.family[range.start];
        let group = self.types.group(of_type);
        // The order of the records in the file, if documents would show another one.
        let order = self.misordered.and(Some(range.start));
        if let (Some(decoder), Some(plan)) = (&mut self.decoders[of_type], self.types.plan(of_type)) {
            decoder.comes_from(block.number(at).0, parent, &facts.file);
            if let Err(faults) = decoder.decode(block.body(at), &mut Graft::new(sink, group, plan, order)) {
                let faults = faults.findings(plan, Some(&facts.file), block.number(at), Some(block.offset(at)));
                found.findings.extend(faults);
            } else if !decoder.notes().is_empty() {
                found.repeats.add_notes(plan, of_type, decoder.notes(), &place_of(block, at, &facts.file));
            }
        }
        let types = self.types;
        for child in types.children(of_type) {
            let mut opened = false;
            let mut i = range.start + 1;
            while i < range.end {
                // The descendants of a child follow it with a greater depth.
                let end = (i + 1..range.end).find(|j| self.family[*j].depth <= depth + 1).unwrap_or(range.end);
                if self.family[i].of_type == *child {
                    if !opened {
                        sink.open_list(types.group(*child));
                        opened = true;
                    }
                    self.send(facts, block, i..end, sink, found);
                }
                i = end;
            }
            if opened {
                sink.close_list(types.group(*child));
            }
        }
        sink.leave(group);
    }

    /// Counts documents whose records are in another order than the members of the document.
    fn note_order(&self, facts: &LaneFacts, block: &Block, at: usize, lot: &mut Lot) {
        let kept = |member: &Member| {
            member.depth == 0 || self.types.plan(member.of_type).is_some_and(|plan| plan.preserve_node().is_some())
        };
        if self.family.iter().all(kept) {
            return;
        }
        let words = || Words {
            one: "document has records of several types in turn, and shows those of each type together".to_owned(),
            many: "documents have records of several types in turn, and show those of each type together".to_owned(),
            hint: "`quayline convert --preserve` keeps the order, and writes the records in it again".to_owned(),
            severity: Severity::Warning,
        };
        lot.repeats.add(codes::ORDER_LOST, RepeatKey::Others, || place_of(block, at, &facts.file), words);
    }

    fn reject_family(&self, facts: &LaneFacts, block: &Block, findings: Vec<Finding>, lot: &mut Lot) {
        let cause = findings.iter().filter_map(|finding| finding.place.record).min();
        let mut by_record: HashMap<_, Vec<Finding>> = HashMap::new();
        for finding in findings {
            by_record.entry(finding.place.record).or_default().push(finding);
        }
        let mut records: Vec<usize> = self.family.iter().map(|member| member.at).collect();
        records.extend(self.strays.iter().map(|(at, _)| *at));
        records.sort_unstable();
        for at in records {
            let number = block.number(at);
            let mut own = by_record.remove(&Some(number)).unwrap_or_default();
            if own.is_empty()
                && let Some(cause) = cause
            {
                let finding =
                    Finding::error(codes::REJECTED_WITH, Fault::Sender, format!("rejected along with record {cause}"))
                        .hint("a record and those nested in it are written or rejected together");
                own = locate(vec![finding], &place_of(block, at, &facts.file));
            }
            lot.rejected(&facts.reject_form, block, at, own);
        }
    }
}

impl Source for TypedSource<'_> {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        let next = self.gather(facts, block, at, lot);
        let Some(first) = self.family.first().copied() else { return next };
        let mut found = Family::default();
        target.begin(block.number(first.at), block.offset(first.at), block);
        let sink = target.sink();
        sink.enter(NodeId::ROOT);
        self.send(facts, block, 0..self.family.len(), sink, &mut found);
        sink.leave(NodeId::ROOT);
        let Family { mut findings, mut repeats } = found;
        for (at, finding) in &self.strays {
            findings.extend(locate(vec![finding.clone()], &place_of(block, *at, &facts.file)));
        }
        if findings.is_empty() {
            match target.accept() {
                Ok(()) => {
                    lot.repeats.merge(&mut repeats);
                    if let Some(at) = self.misordered {
                        self.note_order(facts, block, at, lot);
                    }
                    let records = self.family.iter().map(|member| member.at);
                    lot.accepted(facts, block, records, target, || place_of(block, first.at, &facts.file));
                    return next;
                }
                Err(found) => findings = locate(found, &place_of(block, first.at, &facts.file)),
            }
        } else {
            target.void();
        }
        self.reject_family(facts, block, findings, lot);
        next
    }
}

/// Passes the events of a record's own shape on as those of its group in the shape of the documents. The group stays open: children follow.
struct Graft<'s, S> {
    sink: &'s mut S,
    group: NodeId,
    /// The member that keeps bytes, if it keeps the place of the record too.
    preserve: Option<(NodeId, usize)>,
}

impl<'s, S: Sink> Graft<'s, S> {
    fn new(sink: &'s mut S, group: NodeId, plan: &RecordPlan, order: Option<usize>) -> Self {
        Graft { sink, group, preserve: plan.preserve_node().zip(order) }
    }

    #[inline(always)]
    fn moved(&self, node: NodeId) -> NodeId {
        NodeId(self.group.0 + node.0)
    }

    /// Sends the place of the record in its document, `#` and a number, before the bytes that are kept.
    #[cold]
    fn place(&mut self, node: NodeId, order: usize, bytes: &[u8]) {
        let text = [format!("#{order}").as_bytes(), if bytes.is_empty() { b"" } else { b";" }, bytes].concat();
        self.preserve = None;
        self.sink.value(self.moved(node), Value::Ascii(text[..].into()));
    }
}

impl<S: Sink> Sink for Graft<'_, S> {
    const KEEPS_SIGNED_ZERO: bool = S::KEEPS_SIGNED_ZERO;
    const PREFERS_INTEGERS: bool = S::PREFERS_INTEGERS;

    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        self.sink.enter(self.moved(node));
    }
    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        if node != NodeId::ROOT {
            self.sink.leave(self.moved(node));
        } else if let Some((node, order)) = self.preserve {
            self.place(node, order, b"");
        }
    }
    #[inline(always)]
    fn open_list(&mut self, node: NodeId) {
        self.sink.open_list(self.moved(node));
    }
    #[inline(always)]
    fn close_list(&mut self, node: NodeId) {
        self.sink.close_list(self.moved(node));
    }
    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if let (Some((preserve, order)), Value::Ascii(run) | Value::Text(run)) = (self.preserve, value)
            && preserve == node
        {
            return self.place(node, order, run.bytes());
        }
        self.sink.value(self.moved(node), value);
    }
    fn discard(&mut self) {
        self.sink.discard();
    }
}
