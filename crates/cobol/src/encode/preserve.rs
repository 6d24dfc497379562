//! The bytes that a canonical encoding would lose, as text in the document.
//!
//! `LENGTH/PLACES;OFFSET:HEX;OFFSET:HEX…`: the record's length in bytes if it differs from the canonical one (otherwise empty); for a
//! record of varying length, a checksum of the places of its fields; then stretches of bytes to write over the canonical encoding,
//! offsets from 0 in ascending order.
//!
//! A document may have been edited since. Its values therefore come first: the bytes of an item that the document has are restored
//! only if they decode to the document's value. An item whose member was removed has the value of an absent member. All other bytes
//! are restored always. If the places differ, offsets mean nothing, and
//! the document is refused. Texts of earlier versions have no checksum.

use core::fmt::Write;
use core::ops::Range;

use quayline_core::{NodeId, Value};

use super::slide::{Kept, kept, position};
use super::{Counted, Deferred, IsNull, RecordEncoder, State, Tracked, agree, is_same_number};
use crate::decode::read_short;
use crate::item::{Loaded, Scratch, fault_of_date, loaded, read, reload};
use crate::plan::{Item, ItemForm, ItemIndex, ListTarget, Plan, TargetKind};
use crate::{BadValue, FaultKind, NoteKind, RecordFaults, RecordNote, ShortRecord};

/// Buffers for restoring bytes.
#[derive(Debug, Default)]
pub(super) struct Restorer {
    /// The record without the preserved bytes.
    encoded: Vec<u8>,
    kept: Vec<Kept>,
    /// Bytes that are restored, in ascending order.
    runs: Vec<Range<usize>>,
    loaded: [Loaded; 2],
    padded: Loaded,
    /// For each byte of the image, the item that every document has for it, if any, and its offset. Empty until it is needed.
    owners: Vec<Option<(usize, ItemIndex)>>,
}

impl RecordEncoder {
    /// Returns the patch that turns the encoding of the document left last into `original`; `None` if they are equal or the
    /// document does not encode.
    pub(crate) fn patch_for(&mut self, original: &[u8]) -> Option<String> {
        let canonical = self.take().ok()?;
        if canonical == original {
            return None;
        }
        let mut patch = String::new();
        if canonical.len() != original.len() {
            let _ = write!(patch, "{}", original.len());
        }
        let has_length = !patch.is_empty();
        let places = self.state.places(&self.plan.0, has_length);
        if let Some(places) = places {
            let _ = write!(patch, "/{places:x}");
        }
        let canonical = &self.state.record;
        let mut at = 0;
        while at < original.len() {
            if canonical.get(at) == Some(&original[at]) {
                at += 1;
                continue;
            }
            let _ = write!(patch, ";{at}:");
            while at < original.len() && canonical.get(at) != Some(&original[at]) {
                let _ = write!(patch, "{:02x}", original[at]);
                at += 1;
            }
        }
        Some(patch)
    }
}

impl State {
    /// Returns a checksum of the places of a record's fields; `None` if they are the same in all records.
    fn places(&mut self, plan: &Plan, has_length: bool) -> Option<u32> {
        let last = plan.last_table.filter(|_| has_length);
        if plan.slides.is_empty() && plan.tails.is_empty() && last.is_none() {
            return None;
        }
        let mut sum: u32 = 0x811c_9dc5;
        let mut add = |n: usize| {
            for byte in (n as u64).to_le_bytes() {
                sum = (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        };
        let mut ranges = core::mem::take(&mut self.restorer.kept);
        kept(plan, &self.image, &mut ranges);
        for range in &ranges {
            add(range.from);
            add(range.end);
        }
        self.restorer.kept = ranges;
        if !plan.tails.is_empty() {
            add(self.tail_cut(plan));
        }
        if let Some(last) = last {
            let item = &plan.items[plan.captures[last.counter as usize] as usize];
            add(self.integer_at(plan, item, item.offset).and_then(|n| usize::try_from(n).ok()).unwrap_or_default());
        }
        Some(sum)
    }

    /// Restores the bytes of a patch where they do not change a value of the document; `None` if it is not a patch or does not fit.
    pub(super) fn restore(&mut self, plan: &Plan, patch: &str) -> Option<()> {
        let mut parts = patch.split(';');
        let head = parts.next()?;
        let (length, places) = head.split_once('/').map_or((head, None), |(length, places)| (length, Some(places)));
        if let Some(places) = places
            && self.places(plan, !length.is_empty()) != u32::from_str_radix(places, 16).ok()
        {
            return None;
        }
        let mut restorer = core::mem::take(&mut self.restorer);
        let Restorer { encoded, runs, .. } = &mut restorer;
        encoded.clone_from(&self.record);
        runs.clear();
        if !length.is_empty() {
            let length: usize = length.parse().ok()?;
            if length > self.record.len() + patch.len() {
                return None;
            }
            self.record.resize(length, 0);
            if length < encoded.len() {
                runs.push(length..encoded.len());
            }
        }
        for part in parts {
            let (offset, hex) = part.split_once(':')?;
            let offset: usize = offset.parse().ok()?;
            let range = offset..offset.checked_add(hex.len() / 2)?;
            crate::item::hex_into(hex.as_bytes(), self.record.get_mut(range.clone())?)?;
            runs.push(range);
        }
        runs.sort_unstable_by_key(|run| run.start);
        // The search below needs runs apart from each other. Those that we write are, but a user may have edited them.
        runs.dedup_by(|later, run| {
            let meets = later.start <= run.end;
            if meets {
                run.end = run.end.max(later.end);
            }
            meets
        });
        kept(plan, &self.image, &mut restorer.kept);
        if self.keep_values(plan, &mut restorer) {
            self.notes.push(RecordNote { kind: NoteKind::NotRestored, field: None, offset: 0 });
        }
        self.restorer = restorer;
        Some(())
    }

    /// Writes the values of the document again that the restored bytes have changed. Returns true if there are some.
    fn keep_values(&mut self, plan: &Plan, restorer: &mut Restorer) -> bool {
        let mut changed = false;
        let mut tracked = core::mem::take(&mut self.tracked);
        tracked.retain(|one| {
            let Some(at) = position(&restorer.kept, one.at) else { return false };
            let run = restorer.runs.get(restorer.runs.partition_point(|run| run.end <= at));
            run.is_some_and(|run| run.start < at + plan.items[one.item as usize].size)
        });
        self.add_removed(plan, &mut tracked, restorer);
        // Views have bytes in common, so what is written for one may change another, whose encoded bytes then agree with it.
        loop {
            let before = tracked.len();
            tracked.retain(|one| {
                let item = &plan.items[one.item as usize];
                let Some(at) = position(&restorer.kept, one.at) else { return false };
                if self.agrees(plan, one, at, restorer) {
                    return true;
                }
                let own = at..(at + item.size).min(restorer.encoded.len());
                if self.record.len() < own.end {
                    // The record is as long again as its values need.
                    let from = self.record.len();
                    self.record.extend_from_slice(&restorer.encoded[from..]);
                }
                self.record[own.clone()].copy_from_slice(&restorer.encoded[own]);
                changed = true;
                false
            });
            if tracked.len() == before || !self.has_unions {
                break;
            }
        }
        self.tracked = tracked;
        changed
    }

    /// Adds the items whose members were removed from the document: some of their bytes alone would be another value.
    fn add_removed(&self, plan: &Plan, tracked: &mut Vec<Tracked>, restorer: &mut Restorer) {
        let Restorer { runs, kept, owners, .. } = restorer;
        if owners.is_empty() {
            *owners = owners_of(plan, self.image.len());
        }
        let mut found: Vec<(usize, ItemIndex)> = Vec::new();
        for at in runs.iter().cloned().flatten() {
            let range = kept.get(kept.partition_point(|range| range.to + range.end - range.from <= at));
            let owner = range.and_then(|range| owners.get(range.from + at - range.to).copied().flatten());
            if found.last() != owner.as_ref() {
                found.extend(owner);
            }
        }
        if found.is_empty() {
            return;
        }
        let tracked_ones = tracked.iter().map(|one| (one.at, one.item));
        let deferred = self.deferred.iter().map(|one| (one.at, one.item));
        let mut present: Vec<(usize, ItemIndex)> = tracked_ones.chain(deferred).collect();
        present.sort_unstable();
        found.retain(|one| present.binary_search(one).is_err());
        tracked.extend(found.into_iter().map(|(at, item)| Tracked { item, at, is_null: IsNull::Yes }));
    }

    /// Returns whether the restored bytes of an item decode to the document's value.
    fn agrees(&self, plan: &Plan, one: &Tracked, at: usize, restorer: &mut Restorer) -> bool {
        let item = &plan.items[one.item as usize];
        let range = at..at + item.size;
        let Some(encoded) = restorer.encoded.get(range.clone()) else { return true };
        let restored = self.record.get(at..range.end.min(self.record.len())).unwrap_or_default();
        if encoded == restored || restored.is_empty() && one.is_null == IsNull::Yes {
            return true;
        }
        let [left, right] = &mut restorer.loaded;
        reload(plan, encoded, left);
        reload(plan, restored, right);
        let mut scratches = [Scratch::default(), Scratch::default()];
        let [scratch_left, scratch_right] = &mut scratches;
        let found = match read(plan, item, right, 0, scratch_right) {
            Err(FaultKind::ShortRecord { .. }) => {
                let short = plan.policies.short.unwrap_or(ShortRecord::Pad);
                read_short(plan, item, right, 0, short, &mut restorer.padded, scratch_right)
            }
            read => read,
        };
        let found = shown(plan, one.item, item, found, restored);
        let given = shown(plan, one.item, item, read(plan, item, left, 0, scratch_left), encoded);
        match (given, found) {
            (_, Shown::Null) if one.is_null == IsNull::Yes => true,
            (Shown::Value(given), Shown::Value(found)) => agree::same_content(given, found),
            // Formats without types show null as an empty text.
            (Shown::Null, Shown::Null) => true,
            (Shown::Null, Shown::Value(value)) | (Shown::Value(value), Shown::Null) => agree::is_empty(value),
            // The bytes themselves, which differ by no more than the blanks that pad a short record.
            (_, Shown::Raw) => {
                encoded.strip_prefix(restored).is_some_and(|rest| rest.iter().all(|byte| *byte == plan.text.space))
            }
            (Shown::Null | Shown::Value(_) | Shown::Raw | Shown::Refused, _) => false,
        }
    }
}

impl State {
    /// Refuses lists with fewer elements than their counters say, unless the record ends before the other elements.
    #[cold]
    pub(super) fn settle_cut(&mut self, plan: &Plan) {
        let mut ranges = Vec::new();
        kept(plan, &self.image, &mut ranges);
        for Counted { node, counter, at, count, end, around } in core::mem::take(&mut self.cut) {
            if position(&ranges, end).is_some_and(|end| end < self.record.len()) {
                let said = self.integer_at(plan, &plan.items[counter as usize], at);
                self.count_fault(plan, FaultKind::CountMismatch { list: count, counter: said }, node, around);
            }
        }
    }

    /// Accepts a value without canonical bytes if the preserved bytes decode to it.
    #[cold]
    pub(super) fn settle(&mut self, plan: &Plan) {
        let mut ranges = Vec::new();
        kept(plan, &self.image, &mut ranges);
        for Deferred { fault, item: index, at, value, is_raw } in core::mem::take(&mut self.deferred) {
            let item = &plan.items[index as usize];
            let mut text = Vec::new();
            let bytes = position(&ranges, at).and_then(|at| self.record.get(at..at + item.size));
            let mut scratch = Scratch::default();
            let right = match (bytes, &value) {
                (Some(bytes), Some(value)) if is_raw => bytes == value || is_same_number(plan, item, bytes, value),
                (Some(bytes), Some(value)) => read(plan, item, &loaded(plan, bytes), 0, &mut scratch)
                    .is_ok_and(|read| agree::same_as(value, read)),
                // Bytes that are not a value, or that the record does not have, were read as null.
                (Some(bytes), None) => {
                    let loaded = loaded(plan, bytes);
                    let read = read(plan, item, &loaded, 0, &mut scratch);
                    let dated = plan.dates.get(&index);
                    read.and_then(|read| dated.map_or(Ok(read), |dated| dated.show(item, read, &mut text))).is_err()
                }
                (None, None) => true,
                (None, Some(_)) => false,
            };
            if !right && self.faults.len() < RecordFaults::MAX {
                self.faults.push(fault);
            }
        }
    }
}

/// Finds the items that every document has: those in no view, and not those of occurrences that only some records show.
fn owners_of(plan: &Plan, image_len: usize) -> Vec<Option<(usize, ItemIndex)>> {
    let mut owners = vec![None; image_len];
    for (node, target) in plan.targets.iter().enumerate() {
        let TargetKind::Item(index) = target.kind else { continue };
        let around = core::iter::successors(u32::try_from(node).ok().map(NodeId), |at| plan.shape.node(*at).parent);
        let lists: Vec<ListTarget> = around.filter_map(|at| plan.targets[at.index()].list).collect();
        let is_stale = |list: &ListTarget| list.counter.is_some() && !plan.layout.dialect.odo_slide;
        if target.view.is_some() || lists.iter().any(is_stale) {
            continue;
        }
        let item = &plan.items[index as usize];
        let mut starts = vec![item.offset];
        for list in lists {
            let elements = |at: usize| (0..list.max as usize).map(move |i| at + i * list.stride);
            starts = starts.into_iter().flat_map(elements).collect();
        }
        for at in starts {
            if let Some(bytes) = owners.get_mut(at..at + item.size) {
                bytes.fill(Some((at, index)));
            }
        }
    }
    owners
}

/// What documents show for an item's bytes.
enum Shown<'a> {
    Value(Value<'a>),
    Null,
    /// The bytes themselves.
    Raw,
    /// Nothing: the record is refused.
    Refused,
}

fn shown<'a>(
    plan: &Plan,
    index: ItemIndex,
    item: &Item,
    read: Result<Value<'a>, FaultKind>,
    bytes: &[u8],
) -> Shown<'a> {
    let mut text = Vec::new();
    let mut dated = |value| match item.form {
        ItemForm::Date => plan.dates[&index].show(item, value, &mut text).map(drop),
        ItemForm::Plain | ItemForm::Named => Ok(()),
    };
    let kind = match read.and_then(|value| dated(value).map(|()| value)) {
        Ok(Value::Null) => return Shown::Null,
        Ok(value) => return Shown::Value(value),
        Err(kind) => kind,
    };
    let Some(kind) = fault_of_date(plan, index, item, kind, bytes) else { return Shown::Null };
    let policy = match kind {
        FaultKind::Blank => plan.policies.blank,
        FaultKind::LowValues => plan.policies.low_values,
        FaultKind::ShortRecord { .. } | FaultKind::CutField { .. } => BadValue::Error,
        _ => plan.policies.invalid,
    };
    match policy {
        BadValue::Null => Shown::Null,
        BadValue::Raw => Shown::Raw,
        BadValue::Error => Shown::Refused,
    }
}
