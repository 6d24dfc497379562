//! Compacts the image of a record whose tables are shorter than their maximum.

use crate::item::{Scratch, integer, loaded, read};
use crate::plan::{Plan, Slide};
use crate::{Absent, FaultKind, RecordFault};

/// Copies from `image`, in which every table has its maximum, to `record` only the occurrences that the counters give.
pub(super) fn compact(plan: &Plan, image: &[u8], record: &mut Vec<u8>) -> Result<(), RecordFault> {
    record.clear();
    let from = walk(plan, image, |from, end| record.extend_from_slice(&image[from..end]))?;
    record.extend_from_slice(&image[from..]);
    Ok(())
}

/// A range of the image that the record keeps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Kept {
    pub(super) from: usize,
    pub(super) end: usize,
    /// Its start in the record.
    pub(super) to: usize,
}

/// Finds the ranges of the image that the record keeps; none of them if a counter is bad.
pub(super) fn kept(plan: &Plan, image: &[u8], kept: &mut Vec<Kept>) {
    kept.clear();
    let mut to = 0;
    let mut keep = |from: usize, end: usize| {
        kept.push(Kept { from, end, to });
        to += end - from;
    };
    match walk(plan, image, &mut keep) {
        Ok(from) => keep(from, image.len()),
        Err(_) => kept.clear(),
    }
}

/// Returns the destination of byte `at` of the image; `None` if the byte is dropped.
pub(super) fn position(kept: &[Kept], at: usize) -> Option<usize> {
    let range = kept.get(kept.partition_point(|range| range.end <= at))?;
    (range.from <= at).then(|| range.to + at - range.from)
}

/// Calls `keep` with every range of the image to keep, except the last. Returns the start of the last.
fn walk(plan: &Plan, image: &[u8], keep: impl FnMut(usize, usize)) -> Result<usize, RecordFault> {
    let mut walk = Walk { plan, image, keep, from: 0, bases: Vec::new() };
    walk.tables(0, plan.slides.len(), 0)?;
    Ok(walk.from)
}

struct Walk<'a, F> {
    plan: &'a Plan,
    image: &'a [u8],
    keep: F,
    /// First byte of the image not yet kept or dropped.
    from: usize,
    /// Base of the current occurrence of each table around, outermost first.
    bases: Vec<usize>,
}

impl<F: FnMut(usize, usize)> Walk<'_, F> {
    fn tables(&mut self, start: usize, end: usize, base: usize) -> Result<(), RecordFault> {
        let mut at = start;
        while at < end {
            let slide = self.plan.slides[at];
            self.table(slide, at, base)?;
            at += 1 + slide.len as usize;
        }
        Ok(())
    }

    fn table(&mut self, slide: Slide, at: usize, base: usize) -> Result<(), RecordFault> {
        let count = self.count(slide)?;
        let first = slide.offset + base;
        for i in 0..count as usize {
            let inner = base + i * slide.stride;
            self.bases.push(inner);
            self.tables(at + 1, at + 1 + slide.len as usize, inner)?;
            self.bases.pop();
        }
        self.copy_to(first + count as usize * slide.stride);
        self.from = self.from.max(first + slide.max as usize * slide.stride);
        Ok(())
    }

    fn count(&self, slide: Slide) -> Result<u32, RecordFault> {
        let Some(counter) = slide.counter else { return Ok(slide.max) };
        let item = &self.plan.items[counter as usize];
        let base = slide.counter_depth.checked_sub(1).and_then(|i| self.bases.get(i as usize)).copied().unwrap_or(0);
        let at = item.offset + base;
        // The counter of an absent table that nobody set stays 0x00, as absent fields do: there are no elements.
        if self.plan.policies.absent == Absent::LowValues
            && self.image[at..at + item.size].iter().all(|byte| *byte == 0)
        {
            return Ok(0);
        }
        let bytes = loaded(self.plan, &self.image[at..at + item.size]);
        let mut scratch = Scratch::default();
        let fault = |kind| RecordFault {
            kind,
            field: Some(item.field),
            offset: at,
            path: format!("$.{}", self.plan.layout.path(item.field)),
        };
        let found = read(self.plan, item, &bytes, 0, &mut scratch)
            .and_then(|value| integer(value).ok_or(FaultKind::NotANumber))
            .map_err(|kind| fault(FaultKind::BadCounter(Box::new(kind))))?;
        let count = u32::try_from(found).ok().filter(|n| *n <= slide.max);
        count.ok_or_else(|| fault(FaultKind::CountOutOfRange { found, max: slide.max }))
    }

    fn copy_to(&mut self, end: usize) {
        if end > self.from {
            (self.keep)(self.from, end);
            self.from = end;
        }
    }
}
