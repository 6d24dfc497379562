//! State of a walk: open loops and the number of occurrences of each child.

use super::repair::{StructureFault, StructureKind};
use super::{Mark, Placement};
use crate::guide::code_set::Key;
use crate::guide::compile::{Candidate, Condition, ItemId, NO_SLOT, Needs, Transitions};
use crate::segment::Segment;

/// One reading of a transaction so far.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Open loops, the transaction first; frames beyond `depth` are leftovers.
    frames: Vec<Frame>,
    depth: usize,
    /// Occurrences of each child in the loop that is open.
    counts: Vec<u32>,
    /// Mandatory items that did not come at their place; they may still come late.
    pub(super) pending: Vec<Pending>,
    /// Items that have been pending for long. They have no cost unless they occur late or their enclosing loop ends.
    overdue: Vec<Pending>,
    /// Faults that are decided in this reading.
    pub(super) faults: Vec<StructureFault>,
    /// Number of segments without a place that may have been meant as the next missing items.
    pub(super) credit: u32,
    /// Ten for each fault, some more for unlikely ones.
    pub(super) cost: u32,
    /// Number of segments since an item became pending.
    age: u32,
    /// Places of the segments since it was not clear which reading is right, each with its number in the transaction.
    pub(super) trail: Vec<(u64, ItemId)>,
    undo: Undo,
}

/// An open loop.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Frame {
    pub(super) loop_number: u32,
    pub(super) rank: u32,
    /// The first mandatory child that was not passed.
    next_mandatory: u32,
    /// Number of the segment before which its trigger is missing; 0 if the trigger is present.
    pub(super) assumed: u64,
}

/// A mandatory item that is missing before a later one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Pending {
    pub(super) slot: u32,
    /// Number of loops around it.
    pub(super) depth: usize,
    pub(super) at: Mark,
}

impl Pending {
    /// Creates the fault of the missing item.
    fn fault(&self, table: &Transitions) -> StructureFault {
        let slot = table.slots[self.slot as usize];
        let kind = if slot.loop_number > 0 {
            StructureKind::LoopMissing(slot.item)
        } else {
            StructureKind::Missing(slot.item)
        };
        StructureFault { kind, at: self.at }
    }
}

/// Changes of the last step.
#[derive(Clone, Debug)]
struct Undo {
    possible: bool,
    depth: usize,
    level: usize,
    frame: Frame,
    over: Frame,
    slot: u32,
    item: ItemId,
    /// Loop that was opened, with the counts that its children had.
    opened: u32,
    counts: Vec<u32>,
    at: Mark,
}

impl Undo {
    fn new() -> Self {
        Undo {
            possible: false,
            depth: 0,
            level: 0,
            frame: Frame::default(),
            over: Frame::default(),
            slot: 0,
            item: ItemId::TRANSACTION,
            opened: 0,
            counts: Vec::new(),
            at: Mark::default(),
        }
    }
}

/// A place that a segment may have: the level of the loop that is open, and a candidate in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) level: usize,
    pub(super) candidate: usize,
}

/// A place of a loop that is open, whose conditions a segment fulfils.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) step: Step,
    /// True if the walk has not passed the place.
    pub(super) is_ahead: bool,
    pub(super) is_full: bool,
    /// Elements that do not fit it.
    pub(super) misfits: u32,
}

/// Number of segments after which pending items become overdue, and no longer make the path doubtful.
const PENDING_AGE: u32 = 8;
/// Overdue items of one reading that may still come late; of more, the first are missing.
const OVERDUE_MAX: usize = 32;

impl State {
    pub(super) fn new(table: &Transitions) -> Self {
        let mut state = State {
            frames: vec![Frame::default(); table.depth + 1],
            depth: 1,
            counts: vec![0; table.slots.len() + 1],
            pending: Vec::new(),
            overdue: Vec::new(),
            faults: Vec::new(),
            credit: 0,
            cost: 0,
            age: 0,
            trail: Vec::new(),
            undo: Undo::new(),
        };
        state.start(table);
        state
    }

    pub(super) fn start(&mut self, table: &Transitions) {
        self.depth = 1;
        self.frames[0] = Frame::default();
        self.pending.clear();
        self.overdue.clear();
        self.faults.clear();
        self.trail.clear();
        (self.credit, self.cost, self.age) = (0, 0, 0);
        self.undo.possible = false;
        let (from, to) = table.loops[0].slots;
        self.counts[from as usize..to as usize].fill(0);
    }

    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.depth).expect("guides have at most 32 levels")
    }

    pub(super) fn open(&self) -> &[Frame] {
        &self.frames[..self.depth]
    }

    pub(super) fn open_mut(&mut self) -> &mut [Frame] {
        &mut self.frames[..self.depth]
    }

    /// Returns true if no item is missing and no fault undecided.
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        self.pending.is_empty() && self.faults.is_empty()
    }

    /// Returns true if no missing item may still come late, and no skipped segment may be the next missing item.
    #[inline(always)]
    pub(super) fn is_settled(&self) -> bool {
        self.credit == 0 && self.pending.is_empty()
    }

    pub(super) fn count(&self, slot: u32) -> u32 {
        self.counts[slot as usize]
    }

    /// Returns the place of a segment, in the innermost loop that has one ahead.
    #[inline(always)]
    pub(super) fn find(&self, table: &Transitions, tag: u32, segment: &Segment<'_>) -> Option<Step> {
        for level in (0..self.depth).rev() {
            let frame = &self.frames[level];
            let mut candidate = table.first(frame.loop_number, tag);
            loop {
                let this = &table.candidates[candidate];
                if this.slot == NO_SLOT {
                    break;
                }
                if this.rank >= frame.rank
                    && self.counts[this.slot as usize] < this.max
                    && fulfils(table, this, segment)
                {
                    // Most places have no rival.
                    if this.deciders.0 == this.deciders.1 || misfits(table, this, segment) == 0 {
                        return Some(Step { level, candidate });
                    }
                    return self.find_best(table, tag, segment);
                }
                candidate += 1;
            }
        }
        None
    }

    /// Returns all places in the open loops for a segment that satisfies their conditions, those of the innermost loop first, each with the number of
    /// elements that do not match it.
    pub(super) fn places<'s>(
        &'s self,
        table: &'s Transitions,
        tag: u32,
        segment: &'s Segment<'_>,
    ) -> impl Iterator<Item = Place> + 's {
        let levels = (0..self.depth).rev();
        levels.flat_map(move |level| {
            let frame = &self.frames[level];
            let first = table.first(frame.loop_number, tag);
            let fulfilling = table.of(frame.loop_number, tag).enumerate();
            let fulfilling = fulfilling.filter(move |(_, candidate)| fulfils(table, candidate, segment));
            fulfilling.map(move |(i, candidate)| Place {
                step: Step { level, candidate: first + i },
                is_ahead: candidate.rank >= frame.rank,
                is_full: self.counts[candidate.slot as usize] >= candidate.max,
                misfits: misfits(table, candidate, segment),
            })
        })
    }

    /// Returns the place ahead with the best match of the elements, the first of equal ones. `None` if a full or passed place matches better, because
    /// then the number or the order of the segments is wrong.
    #[cold]
    #[inline(never)]
    fn find_best(&self, table: &Transitions, tag: u32, segment: &Segment<'_>) -> Option<Step> {
        let is_free = |place: &Place| place.is_ahead && !place.is_full;
        let best = self.places(table, tag, segment).filter(is_free).min_by_key(|place| place.misfits)?;
        let better = |place: Place| !is_free(&place) && place.misfits < best.misfits;
        (best.misfits == 0 || !self.places(table, tag, segment).any(better)).then_some(best.step)
    }

    /// Returns a place ahead for a segment that had the place of `item` before.
    pub(super) fn find_item(&self, table: &Transitions, item: ItemId) -> Option<Step> {
        (0..self.depth).rev().find_map(|level| {
            let Frame { loop_number, rank, .. } = self.frames[level];
            let (from, to) = table.loops[loop_number as usize].candidates;
            let candidate = (from..to).find(|candidate| {
                let this = &table.candidates[*candidate as usize];
                this.slot != NO_SLOT
                    && this.item == item
                    && this.rank >= rank
                    && self.counts[this.slot as usize] < this.max
            })?;
            Some(Step { level, candidate: candidate as usize })
        })
    }

    /// Returns the candidate of an item in the open loops, and its tag.
    pub(super) fn candidate_of(&self, table: &Transitions, item: ItemId) -> Option<(u32, Candidate)> {
        self.open().iter().rev().find_map(|frame| {
            (0..u32::try_from(table.tags.count).ok()?).find_map(|tag| {
                let of_tag = table.of(frame.loop_number, tag).find(|candidate| candidate.item == item)?;
                Some((tag, *of_tag))
            })
        })
    }

    /// Moves to a place ahead.
    #[inline(always)]
    pub(super) fn take(&mut self, table: &Transitions, step: Step, at: Mark) -> Placement {
        let this = &table.candidates[step.candidate];
        let Step { level, .. } = step;
        let left = self.depth - 1 - level;
        self.undo.possible = true;
        self.undo.depth = self.depth;
        self.undo.at = at;
        let mut passed = left > 0 || this.opens > 0;
        for deeper in (level + 1..self.depth).rev() {
            self.pass(table, deeper, u32::MAX, at);
        }
        let frame = self.frames[level];
        self.undo.level = level;
        self.undo.frame = frame;
        self.undo.slot = this.slot;
        self.undo.item = this.item;
        self.undo.opened = this.opens;
        if this.rank > frame.rank {
            self.pass(table, level, this.rank, at);
            self.frames[level].rank = this.rank;
            passed = true;
        }
        let count = &mut self.counts[this.slot as usize];
        *count += 1;
        let occurrence = *count;
        self.depth = level + 1;
        let entered = this.opens > 0;
        if entered {
            self.enter(table, this.opens);
        }
        if passed && self.credit > 0 && self.due(table).next().is_none() {
            self.credit = 0;
        }
        if !self.pending.is_empty() {
            self.grow_old(table);
        }
        #[expect(clippy::cast_possible_truncation, reason = "guides have at most 32 levels")]
        let left = left as u32;
        Placement { item: Some(this.item), left, entered: u32::from(entered), occurrence, doubtful: false }
    }

    /// Opens a loop whose trigger is there.
    #[inline(always)]
    fn enter(&mut self, table: &Transitions, loop_number: u32) {
        let inner = &table.loops[loop_number as usize];
        let (from, to) = (inner.slots.0 as usize, inner.slots.1 as usize);
        self.undo.over = self.frames[self.depth];
        let counts = &mut self.counts[from..to];
        self.undo.counts.clear();
        self.undo.counts.extend_from_slice(counts);
        counts.fill(0);
        counts[0] = 1;
        self.frames[self.depth] = Frame { loop_number, rank: 0, next_mandatory: inner.mandatory.0, assumed: 0 };
        self.depth += 1;
    }

    /// Opens a loop whose trigger is missing, in the loop at `level`; loops inside that end.
    pub(super) fn enter_assumed(&mut self, table: &Transitions, level: usize, slot: u32, at: Mark) {
        for deeper in (level + 1..self.depth).rev() {
            self.pass(table, deeper, u32::MAX, at);
        }
        self.depth = level + 1;
        let child = table.slots[slot as usize];
        if child.rank > self.frames[level].rank {
            self.pass(table, level, child.rank, at);
            self.frames[level].rank = child.rank;
        }
        self.counts[slot as usize] += 1;
        self.enter(table, child.loop_number);
        self.frames[self.depth - 1].assumed = at.segment;
        self.undo.possible = false;
    }

    /// Ends loops down to `level`, and moves back to an earlier place there.
    pub(super) fn go_back(&mut self, table: &Transitions, level: usize, rank: u32, at: Mark) {
        for deeper in (level + 1..self.depth).rev() {
            self.pass(table, deeper, u32::MAX, at);
        }
        self.depth = level + 1;
        self.frames[level].rank = rank;
        self.undo.possible = false;
    }

    /// Handles a missed child that comes late: it is then reported once, as late. Returns true if it was missed.
    pub(super) fn found_late(&mut self, table: &Transitions, slot: u32) -> bool {
        let item = table.slots[slot as usize].item;
        let of_it = |fault: &StructureFault| matches!(fault.kind, StructureKind::LoopMissing(missed) | StructureKind::Missing(missed) if missed == item);
        if let Some(pending) = self.pending.iter().rposition(|pending| pending.slot == slot) {
            self.pending.remove(pending);
        } else if let Some(overdue) = self.overdue.iter().rposition(|overdue| overdue.slot == slot) {
            self.overdue.remove(overdue);
        } else if let Some(fault) = self.faults.iter().rposition(of_it) {
            self.faults.remove(fault);
        } else {
            return false;
        }
        self.cost -= super::repair::FAULT;
        true
    }

    /// Counts an occurrence of a child that comes late or too often.
    pub(super) fn count_late(&mut self, slot: u32) {
        self.counts[slot as usize] += 1;
        self.undo.possible = false;
        let before = self.pending.len() + self.overdue.len();
        self.pending.retain(|pending| pending.slot != slot);
        self.overdue.retain(|overdue| overdue.slot != slot);
        if self.pending.len() + self.overdue.len() < before {
            self.cost -= super::repair::FAULT;
        }
    }

    /// Marks mandatory children of the loop at `level` before `rank` that did not occur as pending.
    #[inline(always)]
    fn pass(&mut self, table: &Transitions, level: usize, rank: u32, at: Mark) {
        let frame = self.frames[level];
        let end = table.loops[frame.loop_number as usize].mandatory.1;
        let mut next = frame.next_mandatory;
        while next < end {
            let mandatory = table.mandatory[next as usize];
            if mandatory.rank >= rank {
                break;
            }
            if self.counts[mandatory.slot as usize] == 0 {
                self.missing(mandatory.slot, level, at);
            }
            next += 1;
        }
        // Ended loops keep their frame, in case the step is undone.
        if rank != u32::MAX {
            self.frames[level].next_mandatory = next;
        } else if !(self.pending.is_empty() && self.overdue.is_empty()) {
            self.settle(table, level + 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn missing(&mut self, slot: u32, level: usize, at: Mark) {
        if self.credit > 0 {
            self.credit -= 1;
            return;
        }
        if self.pending.is_empty() {
            self.age = 0;
        }
        self.cost += super::repair::FAULT;
        self.pending.push(Pending { slot, depth: level + 1, at });
    }

    /// Returns the overdue items, which may still come.
    pub(super) fn overdue<'t>(&self, table: &'t Transitions) -> impl Iterator<Item = ItemId> + use<'_, 't> {
        self.overdue.iter().map(|overdue| table.slots[overdue.slot as usize].item)
    }

    /// Returns true if a segment may be a pending item.
    pub(super) fn awaits(&self, table: &Transitions, tag: u32, segment: &Segment<'_>) -> bool {
        let pending = |candidate: &Candidate| self.pending.iter().any(|pending| pending.slot == candidate.slot);
        !self.pending.is_empty()
            && self.open().iter().any(|frame| {
                let mut passed = table
                    .of(frame.loop_number, tag)
                    .filter(|candidate| candidate.rank < frame.rank && pending(candidate));
                passed.any(|candidate| fulfils(table, candidate, segment) && misfits(table, candidate, segment) == 0)
            })
    }

    /// Returns the mandatory children of the open loops that may still come at their place, among siblings in any order.
    pub(super) fn due<'t>(&self, table: &'t Transitions) -> impl Iterator<Item = ItemId> + use<'_, 't> {
        self.open().iter().flat_map(move |frame| {
            let end = table.loops[frame.loop_number as usize].mandatory.1;
            let due = &table.mandatory[frame.next_mandatory as usize..end as usize];
            let due = due.iter().take_while(|mandatory| mandatory.rank <= frame.rank);
            let absent = due.filter(|mandatory| self.counts[mandatory.slot as usize] == 0);
            absent.map(|mandatory| table.slots[mandatory.slot as usize].item)
        })
    }

    /// Reports items that are pending or overdue in loops of at least `depth` levels as missing.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self, table: &Transitions, depth: usize) {
        for waiting in [&mut self.overdue, &mut self.pending] {
            let missing = waiting.iter().filter(|pending| pending.depth >= depth);
            self.faults.extend(missing.map(|pending| pending.fault(table)));
            waiting.retain(|pending| pending.depth < depth);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow_old(&mut self, table: &Transitions) {
        self.age += 1;
        if self.age > PENDING_AGE {
            self.overdue.append(&mut self.pending);
            let over = self.overdue.len().saturating_sub(OVERDUE_MAX);
            self.faults.extend(self.overdue.drain(..over).map(|pending| pending.fault(table)));
        }
    }

    /// Ends all loops.
    pub(super) fn finish(&mut self, table: &Transitions, at: Mark) {
        for level in (0..self.depth).rev() {
            self.pass(table, level, u32::MAX, at);
        }
        self.settle(table, 0);
        self.depth = 1;
    }

    /// Returns the reading without the last step, if it is known, and the place of the segment that the step placed.
    pub(super) fn undone(&self, table: &Transitions) -> Option<(State, ItemId, Mark)> {
        if !self.undo.possible {
            return None;
        }
        let undo = &self.undo;
        let mut state = self.clone();
        state.undo.possible = false;
        state.depth = undo.depth;
        if undo.opened > 0 {
            let (from, to) = table.loops[undo.opened as usize].slots;
            state.counts[from as usize..to as usize].copy_from_slice(&undo.counts);
            state.frames[undo.level + 1] = undo.over;
        }
        state.frames[undo.level] = undo.frame;
        state.counts[undo.slot as usize] -= 1;
        let before = state.pending.len();
        state.pending.retain(|pending| pending.at != undo.at);
        let faults = state.faults.len();
        state.faults.retain(|fault| fault.at != undo.at);
        let missing = before - state.pending.len() + faults - state.faults.len();
        state.cost -= super::repair::FAULT * u32::try_from(missing).unwrap_or(0);
        Some((state, undo.item, undo.at))
    }

    /// Returns true if the last step opened or closed a loop.
    pub(super) fn moved(&self) -> bool {
        self.undo.opened > 0 || self.undo.depth != self.depth
    }

    pub(super) fn forget_undo(&mut self) {
        self.undo.possible = false;
    }

    /// Returns true if both states will continue identically.
    pub(super) fn is_like(&self, other: &State, table: &Transitions) -> bool {
        let same = self.depth == other.depth && self.credit == other.credit && self.open() == other.open();
        same && self.open().iter().all(|frame| {
            let (from, to) = table.loops[frame.loop_number as usize].slots;
            let range = from as usize..to as usize;
            self.counts[range.clone()] == other.counts[range]
        })
    }

    /// Returns the innermost loop.
    pub(super) fn innermost(&self, table: &Transitions) -> ItemId {
        table.loops[self.frames[self.depth - 1].loop_number as usize].item
    }
}

/// Returns true if a segment satisfies the conditions of a place.
#[inline(always)]
pub(super) fn fulfils(table: &Transitions, candidate: &Candidate, segment: &Segment<'_>) -> bool {
    let (from, to) = candidate.conditions;
    // Most have one, if any.
    for condition in &table.conditions[from as usize..to as usize] {
        if !is_true(condition, segment) {
            return false;
        }
    }
    true
}

#[inline(always)]
pub(super) fn is_true(condition: &Condition, segment: &Segment<'_>) -> bool {
    let element = condition.element;
    if element >= segment.ends.len() {
        return false;
    }
    if segment.is_plain() {
        let start = segment.ends[element - 1] as usize + 1;
        let len = segment.ends[element] as usize - start;
        return condition.component <= 1 && len > 0 && condition.set.holds(Key::within(segment.text, start, len));
    }
    is_true_of_parts(condition, segment)
}

#[inline(never)]
fn is_true_of_parts(condition: &Condition, segment: &Segment<'_>) -> bool {
    let mut scratch = Vec::new();
    let data = value(segment, condition.element, condition.component, &mut scratch);
    !data.is_empty() && condition.set.holds(Key::of(data))
}

/// Returns the value of an element or component, in its first repetition; empty if it is absent.
fn value<'v>(segment: &'v Segment<'_>, element: usize, component: usize, scratch: &'v mut Vec<u8>) -> &'v [u8] {
    let first = segment.element(element).and_then(|element| element.repetitions().next());
    let Some(part) = first.and_then(|first| first.component(component.max(1))) else { return &[] };
    scratch.extend_from_slice(part.data(&mut Vec::new()).bytes());
    scratch
}

/// Returns the number of elements of a segment that do not match a place, among those that distinguish it from others.
#[inline(never)]
pub(super) fn misfits(table: &Transitions, candidate: &Candidate, segment: &Segment<'_>) -> u32 {
    let (from, to) = candidate.deciders;
    let mut misfits = 0;
    let mut scratch = Vec::new();
    for decider in &table.deciders[from as usize..to as usize] {
        scratch.clear();
        let data = value(segment, decider.element, decider.component, &mut scratch);
        let fits = match decider.needs {
            Needs::Value => !data.is_empty(),
            Needs::Nothing => data.is_empty(),
            Needs::Code => !data.is_empty() && decider.set.holds(Key::of(data)),
            Needs::CodeOrNothing => data.is_empty() || decider.set.holds(Key::of(data)),
        };
        misfits += u32::from(!fits);
    }
    misfits
}
