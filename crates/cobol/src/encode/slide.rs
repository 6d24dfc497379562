//! Compacting the image of a record whose tables are shorter than their maximum.

use crate::decode::{Scratch, integer, read};
use crate::plan::{Plan, Slide};
use crate::{FaultKind, RecordFault};

/// Copies from `image`, where every table has its maximum, to `record` what the counters say is there.
pub(super) fn compact(plan: &Plan, image: &[u8], record: &mut Vec<u8>) -> Result<(), RecordFault> {
    record.clear();
    let mut walk = Walk { plan, image, record, from: 0, bases: Vec::new() };
    walk.tables(0, plan.slides.len(), 0)?;
    let from = walk.from;
    record.extend_from_slice(&image[from..]);
    Ok(())
}

struct Walk<'a> {
    plan: &'a Plan,
    image: &'a [u8],
    record: &'a mut Vec<u8>,
    /// First byte of the image not yet copied or dropped.
    from: usize,
    /// Base of the current occurrence of each table around, outermost first.
    bases: Vec<usize>,
}

impl Walk<'_> {
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
        let bytes = super::loaded(self.plan, &self.image[at..at + item.size]);
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
            self.record.extend_from_slice(&self.image[self.from..end]);
            self.from = end;
        }
    }
}
