//! Length of a record compared with the end of its fields.

use super::State;
use crate::layout::{FieldIndex, FieldKind};
use crate::plan::{Plan, Table};
use crate::{FaultKind, LengthMismatch, NoteKind, Preserve, RecordFault, ShortRecord};

impl State {
    /// Compares the record's length with that of its layout; `base` is the number of bytes that its tables leave out, as a wrapped
    /// negative.
    #[inline]
    pub(super) fn check_length(&mut self, plan: &Plan, base: usize) {
        let whole = plan.layout.length_max.wrapping_add(base);
        if (self.loaded.len != whole || !plan.tails.is_empty()) && !self.lost {
            self.other_length(plan, base, whole);
        }
    }

    /// `whole` has the longest view at its end.
    #[inline(never)]
    fn other_length(&mut self, plan: &Plan, base: usize, whole: usize) {
        let found = self.loaded.len;
        let cut = if plan.tails.is_empty() { 0 } else { plan.tail_cut(|choice| self.chosen(plan, choice)) };
        let expected = whole.saturating_sub(cut);
        if found == expected {
            return;
        }
        if found < expected && found >= expected - self.left_out(plan) {
            return;
        }
        if found < expected {
            if self.short == ShortRecord::Error {
                let field = missing_field(plan, found, base);
                let path = field.map_or_else(String::new, |field| super::path(plan, field, &[]));
                let kind = FaultKind::ShortRecord { found, need: expected };
                self.faults.push(RecordFault { kind, field, offset: found, path });
            } else if !self.is_line {
                self.note(plan, NoteKind::Short, None, found);
            }
            return;
        }
        // A record with tables may be padded to its maximum, as a COMMAREA is, and one with a short view to its longest.
        let rest = &self.loaded.raw[expected..found];
        let is_full = found == plan.layout.length_max || found == whole;
        let kind = if is_full {
            if is_padding(plan, rest) {
                return;
            }
            FaultKind::TrailingBytes { count: rest.len() }
        } else {
            FaultKind::LongRecord { found, expected }
        };
        match plan.policies.long {
            LengthMismatch::Accept => self.note(plan, NoteKind::Ignored, None, expected),
            LengthMismatch::Error if plan.policies.preserve == Preserve::Yes && is_full => {}
            LengthMismatch::Error => {
                self.faults.push(RecordFault { kind, field: None, offset: expected, path: String::new() });
            }
        }
    }
}

impl State {
    /// Bytes of the occurrences that a record of variable length leaves out at its end.
    fn left_out(&mut self, plan: &Plan) -> usize {
        let Some(last) = plan.last_table else { return 0 };
        let item = &plan.items[plan.captures[last.counter as usize] as usize];
        let at = self.slots[last.counter as usize];
        let count = super::counter_value(plan, item, &self.loaded, at, &mut self.scratch).ok();
        let count = count.and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= last.max).unwrap_or(last.max);
        (last.max - count) as usize * last.stride
    }
}

impl State {
    /// Notes what the occurrences beyond the count of a table hold. A record is written with initial ones, so the bytes would be lost.
    #[cold]
    #[inline(never)]
    pub(super) fn note_stale(&mut self, plan: &Plan, table: Table, base: usize, count: u32) {
        let at = |occurrence: u32| base.wrapping_add(table.offset + occurrence as usize * table.stride);
        let (from, end) = (at(count), at(table.max).min(self.loaded.len));
        let (Some(bytes), Some(initial)) = (self.loaded.raw.get(from..end), plan.template.get(from..end)) else {
            return;
        };
        if bytes != initial && !is_padding(plan, bytes) && !self.lost && table.node.is_some() {
            self.note(plan, NoteKind::Stale, Some(table.field), from);
        }
    }
}

/// Returns whether bytes after the last field carry no information: blanks or low-values. Any other byte may belong to another record, even if
/// it is repeated.
fn is_padding(plan: &Plan, bytes: &[u8]) -> bool {
    let all = |pad: u8| bytes.iter().all(|byte| *byte == pad);
    let space = plan.charset.space();
    all(0) || all(plan.text.space) || bytes.chunks(space.len()).all(|found| space.starts_with(found))
}

/// Returns the first elementary field that is not wholly in a record of `found` bytes, among those with one fixed place.
fn missing_field(plan: &Plan, found: usize, base: usize) -> Option<FieldIndex> {
    let layout = &plan.layout;
    let slides = |field: &crate::layout::Field| field.occurs.is_some_and(|occurs| occurs.depending_on.is_some());
    let first_slide = layout.fields.iter().filter(|field| slides(field)).map(|field| field.offset).min();
    let end = |field: &crate::layout::Field| {
        let shift = if first_slide.is_some_and(|slide| field.offset > slide) { base } else { 0 };
        field.offset.wrapping_add(field.size).wrapping_add(shift)
    };
    let in_table = |index: FieldIndex| {
        core::iter::successors(Some(index), |at| layout.field(*at).parent).any(|at| {
            let field = layout.field(at);
            field.occurs.is_some() || field.redefines.is_some()
        })
    };
    layout
        .iter()
        .find(|(index, field)| matches!(field.kind, FieldKind::Item(_)) && end(field) > found && !in_table(*index))
        .map(|(index, _)| index)
}
