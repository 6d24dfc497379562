//! Records of several types, with children nested in their parents.

use core::ops::Range;

use quayline_cobol::RecordDecoder;
use quayline_core::{Fault, Finding, NodeId, Severity, Sink, Value};
use quayline_frame::FramingSpec;
use quayline_project::{Found, RecordTypes, UnknownType};

use crate::block::Block;
use crate::codes;
use crate::lane::{LaneFacts, Source, Target};
use crate::lot::{Lot, locate, place_of};
use crate::repeats::{RepeatKey, Repeats, Words};
use crate::source::record::decoder;

/// Decodes a record with everything below it into one document.
pub(crate) struct TypedSource<'s> {
    types: &'s RecordTypes,
    decoders: Vec<Option<RecordDecoder>>,
    family: Vec<Member>,
}

/// What was found in the records of a family.
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
    /// How deep it is nested; 0 for the record that begins the document.
    depth: usize,
}

impl<'s> TypedSource<'s> {
    pub(crate) fn new(types: &'s RecordTypes, framing: &FramingSpec) -> Self {
        let decoders = (0..types.count()).map(|index| types.plan(index).map(|plan| decoder(plan, framing))).collect();
        TypedSource { types, decoders, family: Vec::new() }
    }

    /// Gathers the records that belong to the one at `at`; skips and rejects those that belong to none. The index behind them.
    fn gather(&mut self, facts: &LaneFacts, block: &Block, at: usize, lot: &mut Lot) -> usize {
        self.family.clear();
        // The types of the records above the next one, outermost first.
        let mut open: Vec<usize> = Vec::new();
        let mut next = at;
        while next < block.len() {
            match self.types.find(block.body(next)) {
                Found::Skip => lot.skipped(1),
                Found::Unknown => {
                    self.refuse(facts, block, next, lot, None);
                    if facts.stop_at_reject {
                        return next + 1;
                    }
                }
                Found::Type(of_type) => match self.types.parent(of_type) {
                    None if !self.family.is_empty() => return next,
                    None => {
                        open.push(of_type);
                        self.family.push(Member { at: next, of_type, depth: 0 });
                    }
                    Some(parent) => match open.iter().position(|known| *known == parent) {
                        Some(depth) => {
                            open.truncate(depth + 1);
                            open.push(of_type);
                            self.family.push(Member { at: next, of_type, depth: depth + 1 });
                        }
                        None => self.refuse(facts, block, next, lot, Some(parent)),
                    },
                },
            }
            next += 1;
            // Without nesting a document is a record.
            if !self.types.is_nested() && !self.family.is_empty() {
                break;
            }
        }
        next
    }

    #[cold]
    fn refuse(&self, facts: &LaneFacts, block: &Block, at: usize, lot: &mut Lot, parent: Option<usize>) {
        let finding = match parent {
            None => {
                let UnknownType { value, known } = self.types.unknown(block.body(at));
                let hint = format!(
                    "known values are {known}; add the value to a [[records.type]], or set otherwise = \"skip\" in [records]"
                );
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
                    .hint("the file is not in order, or the parent was rejected as being of no known type")
            }
        };
        lot.rejected(&facts.reject_form, block, at, locate(vec![finding], &place_of(block, at, &facts.file)));
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
        let Member { at, of_type, depth } = self.family[range.start];
        let group = self.types.group(of_type);
        if let (Some(decoder), Some(plan)) = (&mut self.decoders[of_type], self.types.plan(of_type)) {
            // The parent is the nearest record before it that is one level above.
            let parent = depth.checked_sub(1).and_then(|above| {
                self.family[..range.start]
                    .iter()
                    .rev()
                    .find(|member| member.depth == above)
                    .map(|p| block.number(p.at).0)
            });
            decoder.comes_from(block.number(at).0, parent, &facts.file);
            if let Err(faults) = decoder.decode(block.body(at), &mut Graft { sink, group }) {
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
                // Descendants of a child stand behind it, deeper than it.
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

    fn reject_family(&self, facts: &LaneFacts, block: &Block, findings: Vec<Finding>, lot: &mut Lot) {
        let cause = findings.first().and_then(|finding| finding.place.record);
        let mut rest = findings;
        for member in &self.family {
            let number = block.number(member.at);
            let (mut own, others) = rest.into_iter().partition::<Vec<_>, _>(|f| f.place.record == Some(number));
            rest = others;
            if own.is_empty()
                && let Some(cause) = cause
            {
                let finding =
                    Finding::error(codes::REJECTED_WITH, Fault::Sender, format!("rejected along with record {cause}"))
                        .hint("a record and those nested in it are written or rejected together");
                own = locate(vec![finding], &place_of(block, member.at, &facts.file));
            }
            lot.rejected(&facts.reject_form, block, member.at, own);
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
        if findings.is_empty() {
            match target.accept() {
                Ok(()) => {
                    lot.repeats.merge(&mut repeats);
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
}

impl<S: Sink> Graft<'_, S> {
    #[inline(always)]
    fn moved(&self, node: NodeId) -> NodeId {
        NodeId(self.group.0 + node.0)
    }
}

impl<S: Sink> Sink for Graft<'_, S> {
    const KEEPS_SIGNED_ZERO: bool = S::KEEPS_SIGNED_ZERO;

    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        self.sink.enter(self.moved(node));
    }
    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        if node != NodeId::ROOT {
            self.sink.leave(self.moved(node));
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
        self.sink.value(self.moved(node), value);
    }
    fn discard(&mut self) {
        self.sink.discard();
    }
}
