//! The body of a document by guide, while its segments come.

use std::sync::Arc;

use quayline_core::{NodeId, Sink};

use super::number::Marks;
use super::send::Sender;
use super::{GuideDocuments, ItemPlan, Plan};
use crate::characters::{Characters, Fit};
use crate::delimiters::{Delimiters, Standard};
use crate::envelope::{Closed, EnvelopePass};
use crate::fault::EdiError;
use crate::guide::{CompiledGuide, ItemId, Placement, Walk};
use crate::position::Position;
use crate::segment::{Segment, SegmentBuffer};
use crate::validate::{Validator, ValidatorOptions};

/// Sends the segments of transactions as their guide places them.
#[derive(Clone, Debug)]
pub(crate) struct GuideBody {
    documents: Arc<GuideDocuments>,
    /// Places segments and checks them.
    validator: Option<Validator>,
    /// Walks by guide, created at the first use. They place segments if nothing is validated.
    walks: Vec<Option<Box<Walk>>>,
    /// Guide of the open transaction.
    guide: Option<usize>,
    /// Placement of the segment that is sent again after a page; the loops that end before it were already left.
    placed: Option<Placement>,
    /// Bytes from which on a page ends before the next loop that pages begin with.
    page_bytes: Option<u64>,
    page_from: u64,
    open: Open,
}

/// Open loops.
#[derive(Clone, Debug)]
struct Open {
    frames: Vec<Frame>,
    /// Numbers occurrences of loops.
    serial: u64,
    /// The loop occurrence in which a node was sent last, by node.
    seen: Vec<u64>,
    /// Segments of the open loops up to the first inner loop, for the next page, if pages are possible.
    pages: bool,
    heads: SegmentBuffer,
    head_items: Vec<usize>,
    /// Segments that are sent once all that may come in any order are there.
    gathered: SegmentBuffer,
    gathered_items: Vec<usize>,
    gathered_at: Vec<Position>,
    gathered_bytes: usize,
    /// Results of segments that were sent late and not completely.
    late: Vec<(Position, Sent)>,
    scratch: Vec<u8>,
    decoded: Vec<u8>,
}

/// A loop that is open, or the transaction.
#[derive(Clone, Copy, Debug)]
struct Frame {
    item: usize,
    node: NodeId,
    /// For a loop that alternates with others: the list that contains them.
    turns: NodeId,
    /// The list in it that is open; the root for none.
    list: NodeId,
    serial: u64,
    /// Documents have no place for it.
    is_out: bool,
    /// Segments of `heads` that lie before it.
    heads: usize,
    /// True until the first inner loop begins.
    is_head: bool,
}

/// Lack of a place for a loop in documents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Out {
    No,
    Yes,
}

/// Result of sending a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sent {
    /// The segment was sent completely.
    Whole(Fit),
    /// Documents do not keep all of the segment.
    Part(Fit, Left),
    /// The page ends before it; it is to come again.
    Page,
}

/// Content that a document does not keep.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Left {
    /// A segment that the guide has no place for, or no other.
    Place,
    /// The last element of a segment that documents have no place for.
    Element(u16),
    /// The last element with implied decimals that also has a decimal mark: writers take its text for a number.
    Mark(u16),
    /// A loop, or a segment of those in any order, that recurred after others: lists are sent contiguously.
    Loop,
}

impl Left {
    /// Returns the error of the content, and the number of its element.
    pub(crate) fn error(self) -> (EdiError, Option<u16>) {
        match self {
            Left::Place => (EdiError::NotInDocument { together: false }, None),
            Left::Element(number) => (EdiError::NotInDocument { together: false }, Some(number)),
            Left::Mark(number) => (EdiError::ImpliedMark, Some(number)),
            Left::Loop => (EdiError::NotInDocument { together: true }, None),
        }
    }
}

/// Segments of one loop that are repeated on the next page, at most.
const HEAD_MAX: usize = 64;
/// Maximum size of the segments that are held for grouping: bytes of their text, and of the bookkeeping for each. Segments beyond it
/// cannot be grouped with the others of their kind.
const GATHERED_BYTES_MAX: usize = 1 << 20;
const GATHERED_BYTES_EACH: usize = 64;
/// Factor for the page size after which any loop ends the page.
const ANY_LOOP: u64 = 4;

impl GuideBody {
    pub(crate) fn new(
        documents: Arc<GuideDocuments>,
        page_bytes: Option<u64>,
        validation: Option<&ValidatorOptions>,
    ) -> Self {
        let guides = documents.plans.len();
        let nodes = documents.shape().len();
        GuideBody {
            documents,
            validator: validation.map(|options| Validator::new(options.clone())).filter(Validator::is_for_guides),
            walks: vec![None; guides],
            guide: None,
            placed: None,
            page_bytes,
            page_from: 0,
            open: Open {
                frames: Vec::new(),
                serial: 0,
                seen: vec![0; nodes],
                pages: page_bytes.is_some(),
                heads: SegmentBuffer::default(),
                head_items: Vec::new(),
                gathered: SegmentBuffer::default(),
                gathered_items: Vec::new(),
                gathered_at: Vec::new(),
                gathered_bytes: 0,
                late: Vec::new(),
                scratch: Vec::new(),
                decoded: Vec::new(),
            },
        }
    }

    pub(crate) fn documents(&self) -> &GuideDocuments {
        &self.documents
    }

    /// Chooses the guide of a transaction that begins. Returns true if there is one.
    pub(crate) fn choose(&mut self, pass: &EnvelopePass<'_>) -> bool {
        let set = self.documents.guides();
        self.guide = set.choose(pass.transaction(), pass.group());
        self.open.clear();
        self.placed = None;
        if let Some(validator) = &mut self.validator {
            validator.begin(self.guide.map(|number| set.compiled(number)), pass);
        }
        let Some(number) = self.guide else { return false };
        if self.validator.is_none() {
            let make = || Box::new(Walk::new(Arc::clone(set.compiled(number))));
            self.walks[number].get_or_insert_with(make).start();
        }
        self.open.push(0, (self.documents.plans[number].root, NodeId::ROOT), Out::No);
        true
    }

    /// Marks the following segments as outside of a transaction.
    pub(crate) fn rest(&mut self) {
        self.guide = None;
    }

    /// Returns true if the following segments belong to a transaction with a guide.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.guide.is_some()
    }

    /// Segments that the next page repeats: those of the open loops that documents have a place for.
    pub(crate) fn repeated(&self) -> u64 {
        let Some(guide) = self.guide else { return 0 };
        let (plan, open) = (&self.documents.plans[guide], &self.open);
        let end = open.frames.iter().find(|frame| frame.is_out).map_or(open.heads.len(), |frame| frame.heads);
        open.head_items[..end].iter().filter(|item| plan.items[**item].has_node()).count() as u64
    }

    /// Begins a document whose head was sent: a transaction, or a page of one.
    pub(crate) fn begin<S: Sink>(&mut self, sink: &mut S, from: u64, delimiters: &Delimiters, characters: Characters) {
        self.page_from = from;
        if let Some(guide) = self.guide {
            self.open.begin(sink, &self.documents.plans[guide], delimiters, characters);
        }
    }

    /// Ends the document. After a page, the loops stay open for the next one.
    pub(crate) fn end<S: Sink>(&mut self, sink: &mut S, delimiters: &Delimiters, characters: Characters) {
        if let Some(guide) = self.guide {
            self.open.end(sink, &self.documents.plans[guide], delimiters, characters);
        }
    }

    /// Places the segment that was found last, and sends it.
    #[inline(always)]
    pub(crate) fn segment<S: Sink, const SEND: bool>(
        &mut self,
        sink: &mut S,
        pass: &EnvelopePass<'_>,
        characters: Characters,
    ) -> Sent {
        let Some(guide) = self.guide else { return Sent::Whole(Fit::Fits) };
        let segment = &pass.segment();
        let again = self.placed.take();
        let placement = match (again, &mut self.validator, &mut self.walks[guide]) {
            (Some(placement), ..) => placement,
            (None, Some(validator), _) => validator.place(pass),
            (None, None, Some(walk)) => walk.segment(segment),
            (None, None, None) => return Sent::Whole(Fit::Fits),
        };
        let compiled = self.documents.guides().compiled(guide);
        let (plan, open) = (&self.documents.plans[guide], &mut self.open);
        if !open.gathered.is_empty() && open.ends_gathering(plan, placement) {
            open.send_gathered(sink, plan, segment.delimiters(), characters);
        }
        if again.is_none() {
            for _ in 0..placement.left {
                open.leave(sink);
            }
            let bytes = pass.segment_byte().saturating_sub(self.page_from);
            let is_full = placement.entered > 0 && self.page_bytes.is_some_and(|most| bytes >= most);
            if is_full && ends_page(plan, compiled, placement, bytes, self.page_bytes.unwrap_or(bytes)) {
                self.placed = Some(placement);
                return Sent::Page;
            }
        }
        // Faults of the segment belong to the page that contains it.
        match &mut self.validator {
            Some(validator) if SEND => validator.check(pass, placement),
            Some(validator) => validator.pass_over(pass, placement),
            None => {}
        }
        let Some(item) = placement.item else { return Sent::Part(Fit::Fits, Left::Place) };
        let mut in_order = true;
        if placement.entered > 0 {
            for outer in (0..placement.entered).rev() {
                let inner = around(compiled, item, outer);
                let is_here = open.is_in(compiled.items()[inner].parent);
                in_order &= open.enter(sink, plan, inner, if is_here { Out::No } else { Out::Yes });
            }
        }
        if !open.is_in(compiled.item(item).parent) {
            // The segment is out of place: open loops stay open.
            return Sent::Part(Fit::Fits, Left::Place);
        }
        let sent = open.segment::<S, SEND>(sink, plan, item.0 as usize, segment, pass, characters);
        if in_order { sent } else { Sent::Part(Fit::Fits, Left::Loop) }
    }

    /// Ends the transaction.
    pub(crate) fn finish(&mut self, closed: Closed, pass: &EnvelopePass<'_>) {
        if let (Some(validator), Some(_)) = (&mut self.validator, self.guide) {
            validator.end(closed, pass);
        }
    }

    /// Returns the results of segments that were sent later than read, if they were not sent completely.
    pub(crate) fn take_late(&mut self) -> Vec<(Position, Sent)> {
        core::mem::take(&mut self.open.late)
    }

    #[inline(always)]
    pub(crate) fn has_late(&self) -> bool {
        !self.open.late.is_empty()
    }

    /// Returns the validator.
    pub(crate) fn validator(&mut self) -> Option<&mut Validator> {
        self.validator.as_mut()
    }

    /// Returns true if the validator found faults.
    #[inline(always)]
    pub(crate) fn has_faults(&self) -> bool {
        self.validator.as_ref().is_some_and(Validator::has_faults)
    }
}

/// Returns the loop around an item, skipping `between` loops.
#[inline(always)]
fn around(guide: &CompiledGuide, item: ItemId, between: u32) -> usize {
    let mut around = guide.item(item).parent;
    for _ in 0..between {
        around = guide.item(around).parent;
    }
    around.0 as usize
}

/// Returns true if a page of this size ends before the loops that a segment opens.
fn ends_page(plan: &Plan, guide: &CompiledGuide, placement: Placement, bytes: u64, page_bytes: u64) -> bool {
    let Some(item) = placement.item else { return false };
    let outermost = around(guide, item, placement.entered - 1);
    plan.items[outermost].begins_page || bytes >= page_bytes.saturating_mul(ANY_LOOP)
}

/// Returns the distinct items, in the order of their first occurrences. There are few.
fn kinds(items: &[usize]) -> Vec<usize> {
    let mut kinds: Vec<usize> = Vec::new();
    for item in items {
        if !kinds.contains(item) {
            kinds.push(*item);
        }
    }
    kinds
}

impl Open {
    fn clear(&mut self) {
        self.frames.clear();
        self.heads.clear();
        self.head_items.clear();
        self.gathered.clear();
        self.gathered_items.clear();
        self.gathered_at.clear();
        self.gathered_bytes = 0;
        self.late.clear();
    }

    fn push(&mut self, item: usize, (node, turns): (NodeId, NodeId), out: Out) {
        self.serial += 1;
        let heads = self.heads.len();
        let frame = Frame {
            item,
            node,
            turns,
            list: NodeId::ROOT,
            serial: self.serial,
            is_out: out == Out::Yes,
            heads,
            is_head: true,
        };
        self.frames.push(frame);
    }

    fn begin<S: Sink>(&mut self, sink: &mut S, plan: &Plan, delimiters: &Delimiters, characters: Characters) {
        let heads = core::mem::take(&mut self.heads);
        for level in 0..self.frames.len() {
            self.serial += 1;
            let frame = &mut self.frames[level];
            (frame.list, frame.serial) = (NodeId::ROOT, self.serial);
            let Frame { item, node, turns, is_out, heads: first, .. } = *frame;
            if is_out {
                break;
            }
            if level > 0 {
                let around = &mut self.frames[level - 1];
                let before = core::mem::replace(&mut around.list, NodeId::ROOT);
                if before != NodeId::ROOT {
                    sink.close_list(before);
                }
                let (held, list) = plan.items[item].held();
                if list {
                    around.list = held;
                    sink.open_list(held);
                }
                self.seen[held.index()] = around.serial;
            }
            if turns != NodeId::ROOT {
                sink.enter(turns);
            }
            if node != NodeId::ROOT {
                sink.enter(node);
            }
            let last = self.frames.get(level + 1).map_or(heads.len(), |next| next.heads);
            // Those that may come in any order lie in the lists of their kinds, as on the page before.
            let items = core::mem::take(&mut self.head_items);
            for kind in kinds(&items[first..last]) {
                for number in (first..last).filter(|number| items[*number] == kind) {
                    let segment = heads.get(number, delimiters);
                    self.put(sink, plan, level, kind, &segment, characters);
                }
            }
            self.head_items = items;
        }
        self.heads = heads;
    }

    fn end<S: Sink>(&mut self, sink: &mut S, plan: &Plan, delimiters: &Delimiters, characters: Characters) {
        self.send_gathered(sink, plan, delimiters, characters);
        for frame in self.frames.iter_mut().rev().filter(|frame| !frame.is_out) {
            let list = core::mem::replace(&mut frame.list, NodeId::ROOT);
            if list != NodeId::ROOT {
                sink.close_list(list);
            }
            if frame.node != NodeId::ROOT {
                sink.leave(frame.node);
            }
            if frame.turns != NodeId::ROOT {
                sink.leave(frame.turns);
            }
        }
    }

    /// Handles a segment of the innermost loop.
    #[inline(always)]
    fn segment<S: Sink, const SEND: bool>(
        &mut self,
        sink: &mut S,
        plan: &Plan,
        item: usize,
        segment: &Segment<'_>,
        pass: &EnvelopePass<'_>,
        characters: Characters,
    ) -> Sent {
        let level = self.frames.len() - 1;
        let frame = &self.frames[level];
        if self.pages && frame.is_head && self.heads.len() - frame.heads < HEAD_MAX && plan.items[frame.item].has_loops
        {
            self.head_items.truncate(self.heads.len());
            self.heads.push(segment);
            self.head_items.push(item);
        }
        // A loop without a place in documents was reported at its beginning.
        if !SEND || frame.is_out {
            return Sent::Whole(Fit::Fits);
        }
        let this = &plan.items[item];
        // The first segment is sent directly if no other of its kind is to be grouped with it.
        if this.gathered && (this.list || !self.gathered.is_empty()) {
            if self.gathered_bytes > GATHERED_BYTES_MAX {
                self.send_gathered(sink, plan, segment.delimiters(), characters);
            }
            self.gathered.push(segment);
            self.gathered_items.push(item);
            self.gathered_at.push(pass.position());
            self.gathered_bytes += segment.raw().len() + GATHERED_BYTES_EACH;
            return Sent::Whole(Fit::Fits);
        }
        self.put(sink, plan, level, item, segment, characters)
    }

    /// Returns true if the group of gathered segments is complete.
    fn ends_gathering(&self, plan: &Plan, placement: Placement) -> bool {
        let (Some(item), Some(last)) = (placement.item, self.gathered_items.last()) else { return true };
        let next = &plan.items[item.0 as usize];
        placement.left + placement.entered > 0 || !next.gathered || next.rank != plan.items[*last].rank
    }

    /// Sends the gathered segments, grouped by item.
    #[inline(never)]
    fn send_gathered<S: Sink>(&mut self, sink: &mut S, plan: &Plan, delimiters: &Delimiters, characters: Characters) {
        if self.gathered.is_empty() {
            return;
        }
        let (buffer, items) = (core::mem::take(&mut self.gathered), core::mem::take(&mut self.gathered_items));
        let level = self.frames.len() - 1;
        let at = core::mem::take(&mut self.gathered_at);
        for kind in kinds(&items) {
            for number in (0..items.len()).filter(|number| items[*number] == kind) {
                let segment = buffer.get(number, delimiters);
                let sent = self.put(sink, plan, level, kind, &segment, characters);
                if sent != Sent::Whole(Fit::Fits) {
                    self.late.push((at[number], sent));
                }
            }
        }
        (self.gathered, self.gathered_items, self.gathered_at) = (buffer, items, at);
        self.gathered_at.clear();
        self.gathered_bytes = 0;
        self.gathered.clear();
        self.gathered_items.clear();
    }

    /// Returns true if this is the innermost open loop.
    #[inline(always)]
    fn is_in(&self, item: ItemId) -> bool {
        self.frames.last().is_some_and(|frame| frame.item == item.0 as usize)
    }

    /// Opens a loop. Returns false if documents have no place for it although they have one for its parent.
    #[inline(always)]
    fn enter<S: Sink>(&mut self, sink: &mut S, plan: &Plan, item: usize, out: Out) -> bool {
        let node = plan.items[item].node;
        let level = self.frames.len() - 1;
        self.frames[level].is_head = false;
        let has_place = !self.frames[level].is_out && node != NodeId::ROOT && out == Out::No;
        let in_order = !has_place || self.open(sink, level, &plan.items[item]);
        let is_out = !has_place || !in_order;
        let turns = plan.items[item].turns;
        if !is_out {
            if turns != NodeId::ROOT {
                sink.enter(turns);
            }
            sink.enter(node);
        }
        self.push(item, (node, turns), if is_out { Out::Yes } else { Out::No });
        in_order && (has_place || self.frames[level].is_out)
    }

    #[inline(always)]
    fn leave<S: Sink>(&mut self, sink: &mut S) {
        let Some(frame) = self.frames.pop() else { return };
        self.heads.truncate(frame.heads);
        if frame.is_out {
            return;
        }
        if frame.list != NodeId::ROOT {
            sink.close_list(frame.list);
        }
        sink.leave(frame.node);
        if frame.turns != NodeId::ROOT {
            sink.leave(frame.turns);
        }
    }

    /// Prepares an open loop for an occurrence of one of its items. Returns false if documents have no place for another.
    #[inline(always)]
    fn open<S: Sink>(&mut self, sink: &mut S, level: usize, item: &ItemPlan) -> bool {
        let frame = &mut self.frames[level];
        let (node, list) = item.held();
        if frame.list == node {
            return true;
        }
        let seen = &mut self.seen[node.index()];
        if *seen == frame.serial {
            return false;
        }
        *seen = frame.serial;
        let before = core::mem::replace(&mut frame.list, if list { node } else { NodeId::ROOT });
        if before != NodeId::ROOT {
            sink.close_list(before);
        }
        if list {
            sink.open_list(node);
        }
        true
    }

    /// Sends a segment into the loop of a level.
    #[inline(always)]
    fn put<S: Sink>(
        &mut self,
        sink: &mut S,
        plan: &Plan,
        level: usize,
        item: usize,
        segment: &Segment<'_>,
        characters: Characters,
    ) -> Sent {
        let item = &plan.items[item];
        if !item.has_node() {
            return Sent::Part(Fit::Fits, Left::Place);
        }
        if !self.open(sink, level, item) {
            // The guide allows it in any order, so its checks do not report it.
            return Sent::Part(Fit::Fits, if item.gathered { Left::Loop } else { Left::Place });
        }
        sink.enter(item.node);
        let mut sender = Sender {
            sink,
            plan,
            ascii: segment.is_printable() && !segment.binary,
            characters,
            marks: if segment.delimiters().standard == Standard::X12 { Marks::Point } else { Marks::Either },
            binary: segment.binary,
            fit: Fit::Fits,
            out: 0,
            marked: 0,
            scratch: &mut self.scratch,
            decoded: &mut self.decoded,
        };
        sender.elements(&plan.elements[item.elements.clone()], segment);
        let (fit, out, marked) = (sender.fit, sender.out, sender.marked);
        sink.leave(item.node);
        match (out, marked) {
            (0, 0) => Sent::Whole(fit),
            (0, _) => Sent::Part(fit, Left::Mark(marked)),
            _ => Sent::Part(fit, Left::Element(out)),
        }
    }
}
