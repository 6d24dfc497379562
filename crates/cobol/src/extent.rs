//! End of a record, from its own counters and selectors only.

use core::ops::RangeInclusive;

use crate::item::{Scratch, as_text, integer, loaded, read};
use crate::plan::{Op, Plan, RecordPlan, Table};
use crate::{FaultKind, LengthMismatch, RecordFault, ShortRecord};

/// End of the record at the start of some bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Extent {
    /// Length of the record in bytes, which may exceed the input.
    Bytes(usize),
    /// A counter or selector is not among the bytes.
    NeedMore {
        /// Fewest bytes that hold it.
        at_least: usize,
    },
    /// A counter holds no count of its table.
    Bad(RecordFault),
}

impl RecordPlan {
    /// Returns the end of the record at the start of `bytes`, as its OCCURS DEPENDING ON counters and the view that its selector
    /// chooses determine it. Takes time in proportion to the counters of the record.
    #[must_use]
    pub fn extent(&self, bytes: &[u8]) -> Extent {
        Walk { plan: &self.0, bytes, slots: vec![0; self.0.captures.len()] }.run().unwrap_or_else(|extent| extent)
    }

    /// Returns whether the length of records depends on their content.
    #[must_use]
    pub fn has_extent(&self) -> bool {
        !self.0.tails.is_empty() || (self.0.layout.dialect.odo_slide && !self.0.slides.is_empty())
    }
}

impl RecordPlan {
    /// Returns the bytes of the shortest and of the longest record that the layout and the policies accept.
    #[must_use]
    pub fn record_lengths(&self) -> RangeInclusive<usize> {
        let Plan { layout, policies, tails, last_table, .. } = &*self.0;
        let may_be_short = policies.short.is_some_and(|short| short != ShortRecord::Error)
            || !tails.is_empty()
            || last_table.is_some();
        let least = if may_be_short { 1.min(layout.length_min) } else { layout.length_min };
        let most = match policies.long {
            LengthMismatch::Error => layout.length_max,
            LengthMismatch::Accept => usize::MAX,
        };
        least..=most
    }
}

/// Selects the operations of a plan that a walk needs.
pub(crate) fn operations(plan: &Plan) -> Vec<Op> {
    let mut kept = Vec::new();
    // Open loops: the end of their operations, and their index in `kept`.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (pc, op) in plan.ops.iter().enumerate() {
        match *op {
            Op::Capture { .. } | Op::Skip { .. } => kept.push(*op),
            Op::Loop { table, len } => {
                open.push((pc + len as usize, kept.len()));
                kept.push(Op::Loop { table, len: 0 });
            }
            Op::Next if open.last().is_some_and(|(end, _)| *end == pc) => {
                let Some((_, head)) = open.pop() else { continue };
                let Op::Loop { table, .. } = kept[head] else { continue };
                if kept.len() > head + 1 {
                    kept.push(Op::Next);
                    let len = u32::try_from(kept.len() - head - 1).expect("fewer than the plan's operations");
                    kept[head] = Op::Loop { table, len };
                } else {
                    kept.pop();
                    let Table { counter, slides, .. } = plan.tables[table as usize];
                    if counter.is_some() && slides {
                        kept.push(Op::Skip { table });
                    }
                }
            }
            _ => {}
        }
    }
    kept
}

/// Returns the places of the counters and selectors of a record, by slot; `None` if a counter is bad or missing.
pub(crate) fn places(plan: &Plan, record: &[u8]) -> Option<Vec<usize>> {
    let mut walk = Walk { plan, bytes: record, slots: vec![0; plan.captures.len()] };
    walk.tables().ok().map(|_| walk.slots)
}

struct Walk<'a> {
    plan: &'a Plan,
    bytes: &'a [u8],
    slots: Vec<usize>,
}

/// A table whose occurrences are being walked.
struct Open {
    head: usize,
    left: u32,
    outer: usize,
    table: Table,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<Extent, Extent> {
        let base = self.tables()?;
        let cut = if self.plan.tails.is_empty() { 0 } else { self.cut()? };
        Ok(Extent::Bytes(self.plan.layout.length_max.wrapping_add(base).saturating_sub(cut)))
    }

    /// Finds the places of counters and selectors, and returns the base after the last table.
    fn tables(&mut self) -> Result<usize, Extent> {
        let plan = self.plan;
        let mut open: Vec<Open> = Vec::new();
        let (mut pc, mut base) = (0, 0usize);
        while let Some(op) = plan.extent_ops.get(pc) {
            match *op {
                Op::Capture { slot, offset } => self.slots[slot as usize] = base.wrapping_add(offset as usize),
                Op::Skip { table } => {
                    let table = plan.tables[table as usize];
                    let missing = (table.max - self.count(table)?) as usize * table.stride;
                    base = base.wrapping_sub(missing);
                }
                Op::Loop { table, len } => {
                    let table = plan.tables[table as usize];
                    match self.count(table)? {
                        0 => {
                            base = table.behind(base, base);
                            pc += len as usize;
                        }
                        left => open.push(Open { head: pc, left, outer: base, table }),
                    }
                }
                Op::Next => {
                    let Some(Open { head, left, outer, table }) = open.last_mut() else { break };
                    base = base.wrapping_add(table.stride);
                    *left -= 1;
                    if *left > 0 {
                        pc = *head;
                    } else {
                        base = table.behind(base, *outer);
                        open.pop();
                    }
                }
                _ => {}
            }
            pc += 1;
        }
        Ok(base)
    }

    fn cut(&self) -> Result<usize, Extent> {
        let mut missing = None;
        let cut = self.plan.tail_cut(|choice| {
            let item = &self.plan.items[self.plan.captures[choice.slot as usize] as usize];
            let at = self.slots[choice.slot as usize];
            let Some(bytes) = self.bytes.get(at..at + item.size) else {
                missing = missing.max(Some(at + item.size));
                return None;
            };
            let loaded = loaded(self.plan, bytes);
            let mut scratch = Scratch::default();
            let value = read(self.plan, item, &loaded, 0, &mut scratch).ok().and_then(as_text);
            choice.view(value.as_deref())
        });
        missing.map_or(Ok(cut), |at_least| Err(Extent::NeedMore { at_least }))
    }

    fn count(&self, table: Table) -> Result<u32, Extent> {
        let Some(slot) = table.counter else { return Ok(table.max) };
        let item = &self.plan.items[self.plan.captures[slot as usize] as usize];
        let at = self.slots[slot as usize];
        let Some(bytes) = self.bytes.get(at..at + item.size) else {
            return Err(Extent::NeedMore { at_least: at + item.size });
        };
        let loaded = loaded(self.plan, bytes);
        let mut scratch = Scratch::default();
        let read = read(self.plan, item, &loaded, 0, &mut scratch);
        let kind = match read.and_then(|value| integer(value).ok_or(FaultKind::NotANumber)) {
            Ok(found) => match u32::try_from(found).ok().filter(|count| *count <= table.max) {
                Some(count) => return Ok(count),
                None => FaultKind::CountOutOfRange { found, max: table.max },
            },
            Err(kind) => FaultKind::BadCounter(Box::new(kind)),
        };
        let path = self.plan.layout.path(item.field);
        Err(Extent::Bad(RecordFault { kind, field: Some(item.field), offset: at, path }))
    }
}
