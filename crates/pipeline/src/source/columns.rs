//! Rows of columns.

use std::sync::Arc;

use crate::block::{Block, Units};
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{Lot, locate, place_of};
use crate::source_head::ColumnsHead;
use crate::target::Target;

pub(crate) struct ColumnsSource {
    head: Arc<ColumnsHead>,
}

impl ColumnsSource {
    pub(crate) fn new(head: &Arc<ColumnsHead>) -> Self {
        ColumnsSource { head: Arc::clone(head) }
    }
}

impl Source for ColumnsSource {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        let Units::Rows(Some(batch)) = &block.units else { return block.len() };
        // The columns are resolved once for all rows.
        let mut rows = self.head.rows.rows(batch);
        for row in at..block.len() {
            target.begin(block.number(row), block.offset(row), block);
            let findings = match rows.send(row, target.sink()) {
                Ok(()) => match target.accept() {
                    Ok(()) => {
                        let place = || place_of(block, row, &facts.file);
                        lot.accepted(facts, block, core::iter::once(row), target, place);
                        continue;
                    }
                    Err(findings) => findings,
                },
                Err(fault) => {
                    target.void();
                    vec![fault.finding(&self.head.shape)]
                }
            };
            let findings = locate(findings, &place_of(block, row, &facts.file));
            lot.rejected(&facts.reject_form, block, row, findings);
            if facts.stop_at_reject {
                return row + 1;
            }
        }
        block.len()
    }
}
