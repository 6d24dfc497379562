//! Placement of each segment of a transaction in its guide.

mod repair;
mod state;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use super::compile::{CompiledGuide, ItemId, tag_key};
use crate::segment::Segment;
use repair::Rivals;
pub(crate) use repair::{StructureFault, StructureKind};
use state::State;

/// Follows a transaction through its guide, segment by segment.
///
/// Valid data causes no allocation. If a segment has no place, the most likely mistakes are evaluated in parallel (a missing trigger, a
/// superfluous segment, a wrong order, a wrong qualifier, a foreign segment) until the following segments show which one occurred,
/// so that one fault is reported once.
///
/// ```
/// # use std::sync::Arc;
/// # use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules, guide::{CompiledGuide, Walk}};
/// # fn walk(guide: Arc<CompiledGuide>, text: &[u8]) {
/// let mut walk = Walk::new(guide);
/// let mut reader = EnvelopeReader::new(&quayline_core::Limits::default(), Rules::Lenient);
/// let mut pass = reader.over(text, EndOfInput::Yes);
/// loop {
///     match pass.advance() {
///         Event::TransactionStart => walk.start(),
///         Event::Segment if pass.in_transaction() => {
///             let placement = walk.segment(&pass.segment());
///             println!("{:?}, {} loops end, {} begin", placement.item, placement.left, placement.entered);
///         }
///         Event::TransactionEnd(_) => println!("{} loops end", walk.finish().left),
///         Event::Done => break,
///         _ => {}
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Walk {
    guide: Arc<CompiledGuide>,
    state: State,
    /// Other readings of a fault that is not decided yet.
    rivals: Rivals,
    faults: Vec<StructureFault>,
    /// Places of the segments that were not decided until the last decision.
    decided: Vec<(u64, ItemId)>,
    /// Faults of the transaction that are decided.
    told: u32,
    /// Position of the segment, if the caller provides it.
    at: Mark,
}

/// Placement of a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Placement {
    /// Item of the guide; `None` if the segment has no place.
    pub item: Option<ItemId>,
    /// Number of loops that end before it, the innermost first.
    pub left: u32,
    /// Number of loops that begin with it, after those that end: the innermost ones around `item`. 1 for a trigger; more if triggers
    /// are missing, whose loops begin nevertheless.
    pub entered: u32,
    /// Number of this segment, or of the loop that it opens, from 1 in the loop around it.
    pub occurrence: u32,
    /// True if the placement or a recent one is faulty, so that the path may not be the intended one.
    pub doubtful: bool,
}

/// A segment of the stream: its first byte, and its number in the transaction with the header as 1.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Mark {
    pub(crate) byte: u64,
    pub(crate) segment: u64,
}

impl Walk {
    /// Makes ready for transactions of a guide, one after another.
    #[must_use]
    pub fn new(guide: Arc<CompiledGuide>) -> Self {
        let state = State::new(&guide.transitions);
        Walk {
            guide,
            state,
            rivals: Rivals::default(),
            faults: Vec::new(),
            decided: Vec::new(),
            told: 0,
            at: Mark::default(),
        }
    }

    /// Returns the guide.
    #[must_use]
    pub fn guide(&self) -> &Arc<CompiledGuide> {
        &self.guide
    }

    /// Begins a transaction, after its header (ST, UNH).
    pub fn start(&mut self) {
        self.state.start(&self.guide.transitions);
        self.rivals.clear();
        self.faults.clear();
        self.decided.clear();
        self.told = 0;
        self.at = Mark { byte: 0, segment: 1 };
    }

    /// Places the next segment of the transaction.
    #[inline(always)]
    pub fn segment(&mut self, segment: &Segment<'_>) -> Placement {
        let at = Mark { byte: 0, segment: self.at.segment + 1 };
        self.place(segment, at)
    }

    /// Places the next segment, whose position is `at`.
    #[inline(always)]
    pub(crate) fn place(&mut self, segment: &Segment<'_>, at: Mark) -> Placement {
        if at.segment != self.at.segment + 1 {
            self.lost(at.segment);
        }
        self.at = at;
        let table = &self.guide.transitions;
        let tag = table.tags.number(tag_key(segment.tag()));
        if self.rivals.is_empty()
            && self.state.is_settled()
            && let Some(tag) = tag
            && (tag as usize) < table.tags.count
            && let Some(step) = self.state.find(table, tag, segment)
        {
            let placement = self.state.take(table, step, self.at);
            if self.state.is_quiet() {
                return placement;
            }
            if !self.is_undecided() {
                return Placement { doubtful: true, ..placement };
            }
        }
        // Not as a struct: the placement of valid data would then also be in memory, written in parts and read as a whole, which stalls processors.
        let (item, left, entered, occurrence, doubtful) = self.repaired(tag, segment);
        Placement { item, left, entered, occurrence, doubtful }
    }

    #[cold]
    #[inline(never)]
    fn repaired(&mut self, tag: Option<u32>, segment: &Segment<'_>) -> (Option<ItemId>, u32, u32, u32, bool) {
        let Placement { item, left, entered, occurrence, doubtful } = self.repair(tag, segment);
        (item, left, entered, occurrence, doubtful)
    }

    /// Ends the transaction, before its trailer or at a truncation: all open loops end.
    pub fn finish(&mut self) -> Placement {
        let at = Mark { byte: 0, segment: self.at.segment + 1 };
        self.finish_at(at)
    }

    /// Ends the transaction at the position of the trailer.
    pub(crate) fn finish_at(&mut self, at: Mark) -> Placement {
        let left = self.state.depth() - 1;
        self.at = at;
        self.end();
        Placement { item: None, left, entered: 0, occurrence: 0, doubtful: false }
    }

    /// Loops that are open, the outermost first.
    pub fn open_loops(&self) -> impl ExactSizeIterator<Item = ItemId> + '_ {
        self.state.open().iter().skip(1).map(|frame| self.guide.transitions.loops[frame.loop_number as usize].item)
    }

    /// Returns the structure faults that are decided by now.
    pub(crate) fn take_faults(&mut self) -> std::vec::Drain<'_, StructureFault> {
        self.faults.drain(..)
    }

    #[inline(always)]
    pub(crate) fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Returns true if an HL is missing that may still come.
    #[cold]
    pub(crate) fn lacks_level(&self) -> bool {
        let guide = &self.guide;
        let is_last = |item: ItemId| item.index() + 1 == guide.items().len();
        let opens = |item: ItemId| !is_last(item) && guide.hl_level(ItemId(item.0 + 1)) > 0;
        let table = &guide.transitions;
        self.state.overdue(table).chain(self.state.due(table)).any(|item| guide.hl_level(item) > 0 || opens(item))
    }

    /// Drops the faults of items missing because the transaction ended at `at`.
    pub(crate) fn forgive(&mut self, at: Mark) {
        self.faults.retain(|fault| fault.at != at);
    }

    /// Records that unreadable segments were skipped; they have a finding already.
    #[cold]
    fn lost(&mut self, next: u64) {
        let lost = next.saturating_sub(self.at.segment + 1);
        self.give_credit(u32::try_from(lost).unwrap_or(u32::MAX));
    }
}
