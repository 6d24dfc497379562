//! Offsets, strides and slack.

use super::build::{Context, entry};
use super::{Field, FieldIndex, FieldKind, Layout, Occurs, SyncRule};
use crate::codes;
use crate::copybook::RecordDescription;

/// Sets offset, size, stride and slack of every field. Returns false if the record is longer than its limit, after reporting it.
pub(super) fn place(
    layout: &mut Layout,
    record: &RecordDescription,
    alignments: &[usize],
    context: &mut Context<'_>,
) -> bool {
    for index in 0..layout.fields.len() {
        let clause = record.items[index].entry.occurs.as_ref();
        layout.fields[index].occurs = clause.map(|c| Occurs { min: c.min, max: c.max, depending_on: None });
    }
    if let Some(clause) = &record.items[0].entry.occurs {
        let hint = "repeat a field of the record instead";
        context.error(codes::OCCURS_LEVEL, clause.at, "OCCURS is at level 01 or 77", hint);
        layout.fields[0].occurs = None;
    }
    let boundaries = boundaries(layout, alignments);
    let bytes_max = record.limits.record_bytes_max;
    let mut placing = Placing { layout, record, alignments, boundaries, context, bytes_max, fits: true };
    placing.field(FieldIndex::RECORD, 0);
    placing.fits
}

/// Returns, for each field, the largest boundary that an item inside it needs.
fn boundaries(layout: &Layout, alignments: &[usize]) -> Vec<usize> {
    let mut boundaries = alignments.to_vec();
    for index in (1..boundaries.len()).rev() {
        if let Some(parent) = layout.fields[index].parent {
            boundaries[parent.index()] = boundaries[parent.index()].max(boundaries[index]);
        }
    }
    boundaries
}

struct Placing<'a, 'c> {
    layout: &'a mut Layout,
    record: &'a RecordDescription,
    alignments: &'a [usize],
    boundaries: Vec<usize>,
    context: &'a mut Context<'c>,
    bytes_max: usize,
    fits: bool,
}

impl Placing<'_, '_> {
    /// Places a field and its children at `offset`. Levels rise with depth, so the recursion is at most 49 deep.
    fn field(&mut self, index: FieldIndex, offset: usize) {
        self.layout.fields[index.index()].offset = offset;
        if self.layout.field(index).kind == FieldKind::Group {
            let size = self.group(index, offset);
            self.layout.fields[index.index()].size = size;
        }
        let boundary = self.boundaries[index.index()];
        // GnuCOBOL puts no slack after the only occurrence of a table of one.
        let single = if self.context.dialect.sync == SyncRule::EightBytesAtEight { 1 } else { 0 };
        let field = &mut self.layout.fields[index.index()];
        let repeats = field.occurs.is_some_and(|o| o.max > single);
        field.stride = if repeats { field.size.next_multiple_of(boundary) } else { field.size };
        let end = offset.saturating_add(extent(field));
        if end > self.bytes_max && self.fits {
            self.fits = false;
            let message = format!(
                "{} ends at byte {end}, but a record has at most {}",
                self.layout.field(index).name,
                self.bytes_max
            );
            let at = entry(self.record, index).occurs.as_ref().map_or(entry(self.record, index).at, |o| o.at);
            self.context.error(
                codes::RECORD_TOO_LONG,
                at,
                message,
                "check the OCCURS counts around it, or allow more with `--limit record-bytes=N`",
            );
        }
    }

    /// Places the fields of a group that begins at `offset` and returns its size.
    fn group(&mut self, group: FieldIndex, offset: usize) -> usize {
        let mut end = offset;
        let children: Vec<FieldIndex> = self.layout.children(group).collect();
        for child in children {
            let boundary = self.leading_boundary(child);
            let start = match self.layout.field(child).redefines {
                Some(storage) => {
                    let start = self.layout.field(storage).offset;
                    if !start.is_multiple_of(boundary) {
                        self.misaligned(child, storage, boundary);
                    }
                    start
                }
                None => {
                    let start = end.checked_next_multiple_of(boundary).unwrap_or(usize::MAX);
                    self.layout.fields[child.index()].slack_before = start - end;
                    start
                }
            };
            self.field(child, start);
            let field = self.layout.field(child);
            end = end.max(start.saturating_add(extent(field)));
            if let Some(storage) = field.redefines {
                self.larger(child, storage);
            }
        }
        end - offset
    }

    /// Returns the boundary of the elementary item at the start of a field.
    fn leading_boundary(&self, mut index: FieldIndex) -> usize {
        while self.layout.field(index).kind == FieldKind::Group {
            index = FieldIndex(index.0 + 1);
        }
        self.alignments[index.index()]
    }

    fn larger(&mut self, index: FieldIndex, storage: FieldIndex) {
        let (field, original) = (self.layout.field(index), self.layout.field(storage));
        let (bytes, room) = (extent(field), extent(original));
        if bytes > room {
            let message =
                format!("{} has {bytes} bytes, but it redefines {}, which has {room}", field.name, original.name);
            let hint = "the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only";
            let at = entry(self.record, index).redefines.as_ref().map_or(entry(self.record, index).at, |(_, at)| *at);
            self.context.warning(codes::REDEFINES_LARGER, at, message, hint);
        }
    }

    fn misaligned(&mut self, index: FieldIndex, storage: FieldIndex, boundary: usize) {
        let original = self.layout.field(storage);
        let message = format!(
            "{} is SYNCHRONIZED, but {}, which it redefines, begins at byte {}, which is not a multiple of {boundary}",
            self.layout.field(index).name,
            original.name,
            original.offset
        );
        let hint = "no slack is inserted in front of a redefinition; align the field that is redefined";
        self.context.warning(codes::REDEFINES_ALIGNMENT, entry(self.record, index).at, message, hint);
    }
}

/// Bytes of all occurrences.
pub(super) fn extent(field: &Field) -> usize {
    field.occurs.map_or(field.size, |o| field.stride.saturating_mul(o.max as usize))
}

/// Returns the bytes of the record with every table at its minimum.
pub(super) fn length_min(layout: &Layout) -> usize {
    if layout.dialect.odo_slide { slid(layout, FieldIndex::RECORD) } else { unslid(layout, FieldIndex::RECORD) }
}

/// Returns the bytes of one occurrence with inner tables at their minimum and the fields after them moved to the front.
fn slid(layout: &Layout, index: FieldIndex) -> usize {
    let field = layout.field(index);
    if field.kind != FieldKind::Group {
        return field.size;
    }
    let mut bytes = 0;
    let mut storage = 0;
    for child in layout.children(index) {
        let field = layout.field(child);
        let one = slid(layout, child);
        let occurrences = field.occurs.map_or(1, |o| o.min as usize);
        let slack = if field.occurs.is_some() { field.stride - field.size } else { 0 };
        let all = (one + slack) * occurrences;
        if field.redefines.is_some() {
            // A view adds the bytes by which it is longer than the views before it.
            bytes += all.saturating_sub(storage);
            storage = storage.max(all);
        } else {
            bytes += field.slack_before + all;
            storage = all;
        }
    }
    bytes
}

/// Returns the end of the last byte, relative to the start of the record, with every field at its place in the longest record.
fn unslid(layout: &Layout, index: FieldIndex) -> usize {
    let field = layout.field(index);
    let occurrences = field.occurs.map_or(1, |o| o.min as usize);
    let Some(before_last) = occurrences.checked_sub(1) else { return field.offset };
    let one = layout.children(index).map(|child| unslid(layout, child)).max().unwrap_or(field.offset + field.size);
    let slack = if field.occurs.is_some() { field.stride - field.size } else { 0 };
    one + slack + before_last * field.stride
}
