//! Interpretations of a segment without a place: readings that are followed in parallel until one is clearly the best.
//!
//! # Notes for the next editor
//!
//! **The goal** is one finding for one mistake, at its place and with its code.
//! `one_fault_gives_one_finding_at_its_place_with_its_code` makes thousands of mutants of valid files and requires 95 of 100 to be
//! correct; `one_fault_is_told_once` (in `tests.rs`) prints every mutant of a small claim that has no finding or several, so a change
//! of any cost shows there first.
//!
//! **How it decides.** A reading is a `State`: open loops, counts and faults so far, with a cost. Each segment without a place creates
//! several readings from every reading that is followed. The cheapest becomes the state of the walk, those within `MARGIN` of it become
//! rivals, and their faults are deferred. They are decided when one reading is left, when the best had no fault for `SURE_AFTER` segments, at
//! the end of the transaction, or at one of the limits below. A tag that the guide does not have is skipped in every reading
//! alike.
//!
//! * While there are rivals, every segment comes here, including those that have a place. Valid data has no rivals and never comes here.
//! * Costs are multiples of `FAULT` with small additions. These order explanations with equally many faults: a pair in the wrong order
//!   is likelier than a missing segment (`SWAPPED`), a foreign segment is the least likely (`skip`).
//! * Equal costs are decided by order: sorting is stable, so the order of the calls in `repairs` matters.
//! * `misfit` has a cost but no fault: the check of the elements reports the wrong value.
//! * `is_like` ignores faults and costs. Of two readings that continue identically, the cheaper one, which comes first, stays.
//! * A missing item is pending for some segments, in which the path is doubtful, and then overdue, which has no cost for the valid data after
//!   it. Either may still come late until its enclosing loop ends; only then is it reported as missing.
//! * Credit: a segment that was skipped, or that could not be read, may be the next missing item. Each pays for one
//!   missing item, until the path moves on.
//!
//! **The caller has acted on earlier placements.** It opened and closed loops accordingly. If another reading wins, `left` and
//! `entered` of the next placement lead from the loops that the caller has open to those of the new reading. Segments that were sent
//! stay where they are, which is why placements near a fault are `doubtful`.
//!
//! **Elements are checked in all readings.** While there are rivals, the validator checks a segment's elements at its place in each of
//! them, and reports those of the reading that wins (`State::trail`). An earlier version trusted the likeliest place at that moment, so a wrong
//! qualifier was also reported as wrong values of an unrelated loop.
//!
//! **Undo is one step deep.** `State::undone` is the reading without the last step. Code that changes a state by other means than
//! `take` has to call `forget_undo`, or a later undo restores fields that another step changed.
//!
//! **Limits.** `UNDECIDED_MAX`, `CAREFUL_MAX` and `HELD_MAX` bound time and memory for data of another kind. Without them each
//! reading kept all its faults, and time grew with the square of the length: `data_of_another_kind_is_told_in_linear_time`.

use super::state::{Place, State, Step, fulfils, is_true, misfits};
use super::{Mark, Placement, Walk};
use crate::guide::compile::{Candidate, ItemId, Transitions};
use crate::segment::Segment;

/// A fault of the structure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct StructureFault {
    pub(crate) kind: StructureKind,
    /// Position of the segment; for a missing item, of the segment in its place.
    pub(crate) at: Mark,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StructureKind {
    /// No standard known to the guide has the tag; with the innermost open loop.
    Unknown(Tag, ItemId),
    /// The standard has it, the guide does not.
    Undefined(Tag, ItemId),
    /// The guide has it, but not here.
    Unexpected(Tag, ItemId),
    /// The segment should have come earlier.
    OutOfSequence(ItemId),
    /// More than the guide allows.
    TooMany(ItemId),
    LoopTooMany(ItemId),
    /// The guide forbids it.
    NotUsed(ItemId),
    Missing(ItemId),
    LoopMissing(ItemId),
    /// The segment has a place except for the value of a condition.
    Qualifier(ItemId, WrongQualifier),
}

/// A condition that a segment does not fulfil, and the value that it has instead.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) struct WrongQualifier {
    /// Index in `Transitions::conditions`.
    pub(crate) condition: u32,
    copy: [u8; QUALIFIER_BYTES],
    /// Length of the value in bytes. A value longer than the copy has no copy.
    len: usize,
}

/// Bytes of a value of which there is a copy. Qualifiers are shorter.
const QUALIFIER_BYTES: usize = 24;

impl WrongQualifier {
    fn new(table: &Transitions, condition: u32, segment: &Segment<'_>) -> Self {
        let asked = &table.conditions[condition as usize];
        let first = segment.element(asked.element).and_then(|element| element.repetitions().next());
        let value = first.and_then(|first| first.component(asked.component.max(1)));
        let value = value.map_or(&b""[..], |value| value.raw());
        let mut copy = [0; QUALIFIER_BYTES];
        if let Some(copy) = copy.get_mut(..value.len()) {
            copy.copy_from_slice(value);
        }
        WrongQualifier { condition, copy, len: value.len() }
    }

    /// Returns the value; `None` if it is too long for a qualifier.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        self.copy.get(..self.len)
    }
}

impl core::fmt::Debug for WrongQualifier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // No payload.
        write!(f, "condition {}", self.condition)
    }
}

/// A tag as it is in the interchange.
pub(crate) type Tag = [u8; 3];

/// Cost of one fault.
pub(super) const FAULT: u32 = 10;
/// Cost advantage of two neighbors in the wrong order over a missing item.
const SWAPPED: u32 = 2;
/// Cost advantage of a segment's place ahead over a missing item.
const HAS_PLACE: u32 = 3;
/// Readings that are followed.
const RIVALS_MAX: usize = 8;
/// Maximum cost difference from the best at which a reading is still followed.
const MARGIN: u32 = 10;
/// Segments without a fault after which the best reading is right.
const SURE_AFTER: u32 = 6;

/// Number of faults of one reading after which the best one is accepted, so that data of another kind costs no memory.
const UNDECIDED_MAX: usize = 24;
/// Faults of a transaction after which only the likeliest reading is followed: the data is of another kind.
const CAREFUL_MAX: u32 = 1_000;

/// Maximum number of faults that wait to be taken; a walk without a validator takes none.
const HELD_MAX: usize = 1_000;

/// Readings other than that of the walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Rivals {
    states: Vec<State>,
    /// Segments since the best reading had a fault.
    clean: u32,
}

impl Rivals {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.clean = 0;
    }
}

/// A reading with a segment placed.
struct Reading {
    state: State,
    placement: Placement,
    /// True if it continues from the state known to the caller.
    from_best: bool,
}

impl Walk {
    /// Returns true after a step that passed a missing item if the segment may have another meaning than its place. It is then not placed.
    #[cold]
    #[inline(never)]
    pub(super) fn is_undecided(&mut self) -> bool {
        if let Some((without, ..)) = self.state.undone(&self.guide.transitions) {
            self.state = without;
            return true;
        }
        self.tell();
        false
    }

    /// Places a segment without a place, or one after it while that is undecided.
    #[cold]
    #[inline(never)]
    pub(super) fn repair(&mut self, tag: Option<u32>, segment: &Segment<'_>) -> Placement {
        let guide = std::sync::Arc::clone(&self.guide);
        let table = &guide.transitions;
        let at = self.at;
        if self.rivals.is_empty() {
            self.tell();
        }
        let Some(tag) = tag.filter(|tag| (*tag as usize) < table.tags.count) else {
            for state in self.rivals.states.iter_mut().chain([&mut self.state]) {
                let innermost = state.innermost(table);
                let kind = match tag {
                    Some(_) => StructureKind::Undefined(tag_of(segment), innermost),
                    None => StructureKind::Unknown(tag_of(segment), innermost),
                };
                skip(state, kind, at);
            }
            if self.rivals.is_empty() || self.state.faults.len() >= UNDECIDED_MAX {
                self.rivals.clear();
                self.tell();
            }
            return Placement { item: None, left: 0, entered: 0, occurrence: 0, doubtful: true };
        };
        let (cost, told) = (self.state.cost, self.state.open().to_vec());
        let mut readings: Vec<Reading> = Vec::new();
        for (i, state) in core::iter::once(&self.state).chain(&self.rivals.states).enumerate() {
            let mut made = Readings { table, state, tag, segment, at, from_best: i == 0, made: &mut readings };
            made.late_trigger();
            let Some(step) = state.find(table, tag, segment) else {
                made.repairs();
                continue;
            };
            let mut found = state.clone();
            let placement = found.take(table, step, at);
            // The segment after it may be in the wrong order with it.
            if !state.is_settled() {
                found.forget_undo();
            }
            made.push(found, placement);
            // If the step would leave an item missing, the segment may have another meaning.
            if made.made.last().is_some_and(|reading| reading.state.cost > state.cost) {
                made.repairs();
                continue;
            }
            if state.awaits(table, tag, segment) {
                let own = made.made.len();
                made.late();
                made.made[own..].iter_mut().for_each(|reading| reading.state.cost += HAS_PLACE);
            }
            // The skipped segment may have been the trigger of a loop, or between two possible places of this segment.
            if state.credit > 0 {
                made.further_on(step);
                made.missing_trigger();
            }
        }
        readings.sort_by_key(|reading| reading.state.cost);
        let least = readings[0].state.cost;
        let mut kept: Vec<Reading> = Vec::new();
        for reading in readings {
            let close = reading.state.cost <= least + MARGIN && kept.len() < RIVALS_MAX;
            if close && !kept.iter().any(|better| better.state.is_like(&reading.state, table)) {
                kept.push(reading);
            }
        }
        let mut kept = kept.into_iter();
        let best = kept.next().expect("a segment may at least be passed over");
        self.rivals.states = kept.map(|reading| reading.state).collect();
        self.rivals.clean = if best.state.cost > cost || !best.from_best { 0 } else { self.rivals.clean + 1 };
        self.state = best.state;
        let decided =
            self.rivals.clean >= SURE_AFTER || self.state.faults.len() >= UNDECIDED_MAX || self.told >= CAREFUL_MAX;
        if self.rivals.is_empty() || decided {
            self.rivals.clear();
            self.tell();
        }
        let placement = Placement { doubtful: true, ..best.placement };
        if best.from_best {
            return placement;
        }
        // A reading other than the one reported to the caller.
        let open = self.state.open();
        let same = told.iter().zip(open).take_while(|(a, b)| a.loop_number == b.loop_number).count();
        let count = |n: usize| u32::try_from(n).expect("guides have at most 32 levels");
        Placement { left: count(told.len() - same), entered: count(open.len() - same), ..placement }
    }

    /// Records unreadable segments, each of which may be the next missing item.
    pub(super) fn give_credit(&mut self, segments: u32) {
        for state in self.rivals.states.iter_mut().chain([&mut self.state]) {
            state.credit = state.credit.saturating_add(segments);
        }
    }

    /// Returns element and component of the qualifier because of which the segment at `at` has no other place than the one given.
    pub(crate) fn qualifier_fault(&self, at: Mark) -> Option<(usize, usize)> {
        self.qualifier(self.faults.iter().chain(&self.state.faults), at)
    }

    /// Returns the places of the segment at `at` in the other readings, each with its qualifier as in [`Walk::qualifier_fault`].
    pub(crate) fn other_places(&self, at: Mark) -> impl Iterator<Item = (ItemId, Option<(usize, usize)>)> + '_ {
        self.rivals.states.iter().filter_map(move |state| {
            let (_, item) = *state.trail.last().filter(|(segment, _)| *segment == at.segment)?;
            Some((item, self.qualifier(state.faults.iter(), at)))
        })
    }

    /// Returns true while several readings are possible.
    pub(crate) fn is_open(&self) -> bool {
        !self.rivals.is_empty()
    }

    /// Returns true if a segment has a place in the reading that was decided last.
    pub(crate) fn is_decided(&self, segment: u64, item: ItemId) -> bool {
        self.decided.contains(&(segment, item))
    }

    fn qualifier<'f>(&self, mut faults: impl Iterator<Item = &'f StructureFault>, at: Mark) -> Option<(usize, usize)> {
        let wrong = faults.find_map(|fault| match fault.kind {
            StructureKind::Qualifier(_, wrong) if fault.at == at => Some(wrong),
            _ => None,
        })?;
        let condition = &self.guide.transitions.conditions[wrong.condition as usize];
        Some((condition.element, condition.component))
    }

    /// Decides the open readings at the end of the transaction.
    pub(super) fn end(&mut self) {
        let table = &self.guide.transitions;
        self.state.finish(table, self.at);
        for rival in &mut self.rivals.states {
            rival.finish(table, self.at);
            if rival.cost < self.state.cost {
                core::mem::swap(rival, &mut self.state);
            }
        }
        self.rivals.clear();
        self.tell();
    }

    /// Accepts the faults of the best reading.
    fn tell(&mut self) {
        self.decided.clear();
        self.decided.append(&mut self.state.trail);
        self.told = self.told.saturating_add(u32::try_from(self.state.faults.len()).unwrap_or(u32::MAX));
        if self.faults.len() < HELD_MAX {
            self.faults.append(&mut self.state.faults);
        } else {
            self.state.faults.clear();
        }
    }
}

/// Makes the readings of one segment after one reading of those before it.
struct Readings<'w, 's> {
    table: &'w Transitions,
    state: &'w State,
    tag: u32,
    segment: &'w Segment<'s>,
    at: Mark,
    from_best: bool,
    made: &'w mut Vec<Reading>,
}

impl Readings<'_, '_> {
    fn push(&mut self, mut state: State, placement: Placement) {
        state.trail.extend(placement.item.map(|item| (self.at.segment, item)));
        self.made.push(Reading { state, placement, from_best: self.from_best });
    }

    fn step(&mut self, mut state: State, step: Step) {
        let placement = state.take(self.table, step, self.at);
        state.forget_undo();
        self.push(state, placement);
    }

    fn fault(&self, state: &mut State, kind: StructureKind, more: u32) {
        state.faults.push(StructureFault { kind, at: self.at });
        state.cost += FAULT + more;
    }

    /// Candidates of the open loops, the innermost first.
    fn candidates(&self) -> impl Iterator<Item = (Step, &Candidate)> {
        let frames = self.state.open();
        (0..frames.len()).rev().flat_map(move |level| {
            let loop_number = frames[level].loop_number;
            let first = self.table.first(loop_number, self.tag);
            self.table
                .of(loop_number, self.tag)
                .enumerate()
                .map(move |(i, candidate)| (Step { level, candidate: first + i }, candidate))
        })
    }

    fn repairs(&mut self) {
        self.too_many();
        self.misfit();
        self.missing_trigger();
        self.late();
        self.swapped();
        self.qualifier();
        self.one_before();
        self.before_elsewhere();
        let kind = StructureKind::Unexpected(tag_of(self.segment), self.state.innermost(self.table));
        let mut state = self.state.clone();
        skip(&mut state, kind, self.at);
        self.push(state, Placement { item: None, left: 0, entered: 0, occurrence: 0, doubtful: true });
    }

    /// Handles a segment whose place is full or not used.
    fn too_many(&mut self) {
        let full =
            self.state.places(self.table, self.tag, self.segment).filter(|place| place.is_ahead && place.is_full);
        let Some(step) = full.min_by_key(|place| place.misfits).map(|place| place.step) else { return };
        let candidate = self.table.candidates[step.candidate];
        let child = self.table.slots[candidate.slot as usize];
        let kind = match (candidate.max, candidate.opens) {
            (0, _) => StructureKind::NotUsed(child.item),
            (_, 0) => StructureKind::TooMany(child.item),
            _ => StructureKind::LoopTooMany(child.item),
        };
        let mut state = self.state.clone();
        // The first superfluous occurrence is reported, the following ones are not.
        if self.state.count(candidate.slot) <= candidate.max {
            self.fault(&mut state, kind, 0);
        }
        self.step(state, step);
    }

    /// Handles a segment that has a place ahead except for values of its elements, if a place that is full or passed matches better. The check of
    /// the elements reports the values.
    fn misfit(&mut self) {
        let free =
            self.state.places(self.table, self.tag, self.segment).filter(|place| place.is_ahead && !place.is_full);
        let Some(step) = free.min_by_key(|place| place.misfits).map(|place| place.step) else { return };
        let mut state = self.state.clone();
        state.cost += FAULT + 1;
        self.step(state, step);
    }

    /// Handles a segment that has a place after the first free one.
    fn further_on(&mut self, found: Step) {
        let is_other = |place: &Place| place.is_ahead && !place.is_full && place.misfits == 0;
        let places = self.state.places(self.table, self.tag, self.segment).filter(is_other);
        let others: Vec<Step> = places.map(|place| place.step).take(RIVALS_MAX).collect();
        for step in others.into_iter().filter(|step| step.candidate != found.candidate) {
            self.step(self.state.clone(), step);
        }
    }

    /// Handles a segment of a loop that was not opened.
    fn missing_trigger(&mut self) {
        let before = self.made.len();
        for deep in [false, true] {
            for level in (0..self.state.open().len()).rev() {
                let frame = self.state.open()[level];
                let (from, to) = self.table.loops[frame.loop_number as usize].slots;
                for slot in from..to {
                    let child = self.table.slots[slot as usize];
                    if child.loop_number == 0 || child.rank < frame.rank || self.state.count(slot) >= child.max {
                        continue;
                    }
                    if !deep {
                        self.enter_without_trigger(&[(level, slot)]);
                        continue;
                    }
                    let (from, to) = self.table.loops[child.loop_number as usize].slots;
                    for inner in (from..to).filter(|inner| self.table.slots[*inner as usize].loop_number > 0) {
                        self.enter_without_trigger(&[(level, slot), (level + 1, inner)]);
                    }
                }
            }
            if self.made.len() > before {
                return;
            }
        }
    }

    fn enter_without_trigger(&mut self, loops: &[(usize, u32)]) {
        let Some((_, last)) = loops.last() else { return };
        let inner = self.table.slots[*last as usize].loop_number;
        if !self.table.of(inner, self.tag).any(|candidate| fits(self.table, candidate, self.segment)) {
            return;
        }
        let mut state = self.state.clone();
        let depth = state.open().len();
        for (level, slot) in loops {
            let child = self.table.slots[*slot as usize];
            if state.credit > 0 {
                state.credit -= 1;
            } else {
                self.fault(&mut state, StructureKind::Missing(ItemId(child.item.0 + 1)), 0);
            }
            state.enter_assumed(self.table, *level, *slot, self.at);
        }
        let Some(step) = state.find(self.table, self.tag, self.segment) else { return };
        if step.level + 1 < state.open().len() {
            return;
        }
        let placement = state.take(self.table, step, self.at);
        state.forget_undo();
        let count = |n: usize| u32::try_from(n).expect("guides have at most 32 levels");
        let left = count(depth - 1 - loops[0].0) + placement.left;
        let entered = count(loops.len()) + placement.entered;
        self.push(state, Placement { left, entered, ..placement });
    }

    /// Handles the trigger of a loop after one of its segments opened the loop: the two are in the wrong order.
    fn late_trigger(&mut self) {
        let frames = self.state.open();
        // Only directly after it: later, it is the trigger of the next occurrence.
        let before = self.at.segment - 1;
        for level in (1..frames.len()).rev().filter(|level| frames[*level].assumed == before) {
            let mut around = self.table.of(frames[level - 1].loop_number, self.tag);
            let opens = frames[level].loop_number;
            let Some(candidate) =
                around.find(|candidate| candidate.opens == opens && fulfils(self.table, candidate, self.segment))
            else {
                continue;
            };
            let item = candidate.item;
            let mut state = self.state.clone();
            state.open_mut()[level].assumed = 0;
            // Likelier than one that is missing in a loop of one segment.
            state.cost = state.cost.saturating_sub(1);
            if let Some(fault) = state.faults.iter_mut().rfind(|fault| fault.kind == StructureKind::Missing(item)) {
                *fault = StructureFault { kind: StructureKind::OutOfSequence(item), at: self.at };
            }
            state.forget_undo();
            self.push(state, Placement { item: Some(item), left: 0, entered: 0, occurrence: 1, doubtful: true });
            return;
        }
    }

    /// Handles a segment that should have come earlier.
    fn late(&mut self) {
        let frames = self.state.open();
        let passed: Vec<(Step, Candidate)> = self
            .candidates()
            .filter(|(step, candidate)| {
                candidate.rank < frames[step.level].rank && fits(self.table, candidate, self.segment)
            })
            .map(|(step, candidate)| (step, *candidate))
            .take(RIVALS_MAX)
            .collect();
        // Before the segment that came before it there was a place: the two are in the wrong order.
        let swapped =
            self.state.undone(self.table).and_then(|(before, ..)| before.find(self.table, self.tag, self.segment));
        for (step, candidate) in passed {
            let full = self.state.count(candidate.slot) >= candidate.max;
            let child = self.table.slots[candidate.slot as usize];
            if candidate.opens == 0 {
                // The path does not move.
                let mut state = self.state.clone();
                let kind = match candidate.max {
                    0 => StructureKind::NotUsed(child.item),
                    _ if full => StructureKind::TooMany(child.item),
                    _ => StructureKind::OutOfSequence(child.item),
                };
                self.fault(&mut state, kind, u32::from(full));
                if swapped.is_some_and(|swapped| swapped.candidate == step.candidate) {
                    state.cost -= SWAPPED;
                }
                // The segment more likely belongs to the open loop than to a repetition whose trigger is missing, because more segments of such a
                // repetition would follow. A segment of an outer loop would have moved past the beginning of another loop.
                if step.level + 1 == frames.len() && candidate.max > 0 && !full {
                    state.cost = state.cost.saturating_sub(1);
                }
                state.count_late(candidate.slot);
                let occurrence = state.count(candidate.slot);
                let placement =
                    Placement { item: Some(candidate.item), left: 0, entered: 0, occurrence, doubtful: true };
                self.push(state, placement);
            }
            if full {
                continue;
            }
            // The path moves back.
            let mut state = self.state.clone();
            let depth = state.open().len();
            self.fault(&mut state, StructureKind::OutOfSequence(candidate.item), 1 + u32::from(candidate.opens > 0));
            state.go_back(self.table, step.level, candidate.rank, self.at);
            if self.state.count(candidate.slot) == 0 {
                let was_missing = state.found_late(self.table, candidate.slot);
                // The segment is the missing item, or has the value specific to its place: likelier than a wrong value elsewhere.
                if was_missing || candidate.conditions.0 < candidate.conditions.1 {
                    state.cost -= SWAPPED;
                }
            }
            let placement = state.take(self.table, step, self.at);
            state.forget_undo();
            let left = u32::try_from(depth - 1 - step.level).expect("guides have at most 32 levels");
            self.push(state, Placement { left: left + placement.left, ..placement });
        }
    }

    /// Handles a segment that ends a loop, after the preceding segment began another loop before it. The two are in the wrong order.
    fn swapped(&mut self) {
        let Some((mut state, item, _)) = self.state.undone(self.table) else { return };
        let Some(step) = state.find(self.table, self.tag, self.segment) else { return };
        let candidate = self.table.candidates[step.candidate];
        // With a wrong value it would be two mistakes.
        if misfits(self.table, &candidate, self.segment) > 0 {
            return;
        }
        // Within one loop the segment is late, and the path does not move.
        let depth = self.state.open().len();
        if !self.state.moved() && candidate.opens == 0 {
            return;
        }
        let cost = state.cost;
        let placement = state.take(self.table, step, self.at);
        let Some(again) = state.find_item(self.table, item) else { return };
        state.take(self.table, again, self.at);
        // Only without further faults.
        if state.cost != cost {
            return;
        }
        self.fault(&mut state, StructureKind::OutOfSequence(candidate.item), 0);
        state.cost -= SWAPPED;
        state.forget_undo();
        let same =
            self.state.open().iter().zip(state.open()).take_while(|(a, b)| a.loop_number == b.loop_number).count();
        let count = |n: usize| u32::try_from(n).expect("guides have at most 32 levels");
        let (left, entered) = (count(depth - same), count(state.open().len() - same));
        self.push(state, Placement { left, entered, ..placement });
    }

    /// Handles a segment that matches a place ahead except for its qualifier.
    fn qualifier(&mut self) {
        let frames = self.state.open();
        let near: Vec<(Step, Candidate)> = self
            .candidates()
            .filter(|(step, candidate)| {
                candidate.rank >= frames[step.level].rank && self.state.count(candidate.slot) < candidate.max
            })
            .map(|(step, candidate)| (step, *candidate))
            .take(RIVALS_MAX)
            .collect();
        for (step, candidate) in near {
            let (from, to) = candidate.conditions;
            let mut failing = (from..to).filter(|at| !is_true(&self.table.conditions[*at as usize], self.segment));
            let Some(condition) = failing.next() else { continue };
            let mut state = self.state.clone();
            self.fault(
                &mut state,
                StructureKind::Qualifier(candidate.item, WrongQualifier::new(self.table, condition, self.segment)),
                1,
            );
            self.step(state, step);
        }
    }

    /// Handles a preceding segment that moved too far ahead: it does not belong at its position.
    fn one_before(&mut self) {
        let Some((mut state, item, at)) = self.state.undone(self.table) else { return };
        let Some(step) = state.find(self.table, self.tag, self.segment) else { return };
        state.faults.push(StructureFault { kind: StructureKind::OutOfSequence(item), at });
        state.cost += FAULT + 1;
        // A wrong value is a second mistake, which the check of the elements reports.
        if misfits(self.table, &self.table.candidates[step.candidate], self.segment) > 0 {
            state.cost += FAULT;
        }
        self.step_from_here(state, step);
    }

    /// Handles a preceding segment that has another place than the one given: after a missing item, or in a loop whose trigger is missing.
    fn before_elsewhere(&mut self) {
        let Some((before, item, at)) = self.state.undone(self.table) else { return };
        let Some((tag, taken)) = before.candidate_of(self.table, item) else { return };
        let kin = |candidate: &&Candidate| candidate.item != item && asks_no_more(self.table, candidate, &taken);
        for level in (0..before.open().len()).rev() {
            let frame = before.open()[level];
            let first = self.table.first(frame.loop_number, tag);
            for (i, candidate) in self.table.of(frame.loop_number, tag).enumerate() {
                let ahead = candidate.rank >= frame.rank && before.count(candidate.slot) < candidate.max;
                if ahead && kin(&candidate) {
                    let mut state = before.clone();
                    state.take(self.table, Step { level, candidate: first + i }, at);
                    // The segment's elements were checked at the place that it was given. Therefore the new place has a fault, or the segment stays
                    // where it is.
                    if state.cost > before.cost {
                        self.read_on(state);
                    }
                }
            }
            let (from, to) = self.table.loops[frame.loop_number as usize].slots;
            for slot in from..to {
                let child = self.table.slots[slot as usize];
                if child.loop_number == 0 || child.rank < frame.rank || before.count(slot) >= child.max {
                    continue;
                }
                let first = self.table.first(child.loop_number, tag);
                let inside = self.table.of(child.loop_number, tag).enumerate().find(|(_, candidate)| kin(candidate));
                if let Some((i, _)) = inside {
                    let mut state = before.clone();
                    state.faults.push(StructureFault { kind: StructureKind::Missing(ItemId(child.item.0 + 1)), at });
                    state.cost += FAULT;
                    state.enter_assumed(self.table, level, slot, at);
                    state.take(self.table, Step { level: level + 1, candidate: first + i }, at);
                    self.read_on(state);
                }
            }
        }
    }

    /// Continues with a place for the segment after another reading of the preceding one.
    fn read_on(&mut self, mut state: State) {
        let Some(step) = state.find(self.table, self.tag, self.segment) else { return };
        if misfits(self.table, &self.table.candidates[step.candidate], self.segment) == 0 {
            state.cost += 1;
            self.step_from_here(state, step);
        }
    }

    /// Takes a step from a state other than the one that the reading continues.
    fn step_from_here(&mut self, mut state: State, step: Step) {
        let placement = state.take(self.table, step, self.at);
        state.forget_undo();
        let (here, there) = (self.state.open(), state.open());
        let same = here.iter().zip(there).take_while(|(a, b)| a.loop_number == b.loop_number).count();
        let count = |n: usize| u32::try_from(n).expect("guides have at most 32 levels");
        let (left, entered) = (count(here.len() - same), count(there.len() - same));
        self.push(state, Placement { left, entered, ..placement });
    }
}

/// Returns true if a segment with the qualifiers of one place certainly satisfies the conditions of another.
fn asks_no_more(table: &Transitions, candidate: &Candidate, taken: &Candidate) -> bool {
    if candidate.deciders.0 < candidate.deciders.1 {
        return false;
    }
    let of = |(from, to): (u32, u32)| &table.conditions[from as usize..to as usize];
    of(candidate.conditions).iter().all(|asked| {
        of(taken.conditions).iter().any(|has| {
            let same = (has.element, has.component) == (asked.element, asked.component);
            same && has.values.iter().all(|value| asked.values.contains(value))
        })
    })
}

/// Returns true if a segment satisfies all conditions and deciders of a place.
fn fits(table: &Transitions, candidate: &Candidate, segment: &Segment<'_>) -> bool {
    fulfils(table, candidate, segment) && misfits(table, candidate, segment) == 0
}

/// Passes a segment over.
fn skip(state: &mut State, kind: StructureKind, at: Mark) {
    state.faults.push(StructureFault { kind, at });
    state.cost += FAULT + 2;
    state.credit += 1;
    state.forget_undo();
}

/// Returns the tag; all zeros for an invalid tag, which already has a finding.
fn tag_of(segment: &Segment<'_>) -> Tag {
    let mut tag = [b' '; 3];
    let good = matches!(segment.tag().len(), 2 | 3)
        && segment.tag()[0].is_ascii_uppercase()
        && segment.tag().iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if !good {
        return [0; 3];
    }
    for (to, from) in tag.iter_mut().zip(segment.tag()) {
        *to = *from;
    }
    tag
}
