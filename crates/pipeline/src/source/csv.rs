//! Rows of CSV.

use quayline_core::{Findings, Limits, Shape};
use quayline_flat::{CsvReader, CsvStyle, Row, RowRead};
use quayline_project::{Records, Schema};

use crate::block::Block;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{Lot, locate, place_of};
use crate::target::Target;

pub(crate) struct CsvSource {
    reader: CsvReader,
    shape: Shape,
}

impl CsvSource {
    /// Creates a source. `header` is the file's first row, if it has one.
    pub(crate) fn new(
        schema: &Schema,
        style: CsvStyle,
        limits: &Limits,
        header: Option<&[u8]>,
    ) -> Result<Self, Findings> {
        let mut reader = CsvReader::new(schema.shape(), style, limits)?.with_moments(schema.moments());
        reader = match schema.records() {
            Records::None => reader.with_declarations(schema.moments()),
            Records::One(plan) => reader.with_nulls(plan.leaves_with_null(), plan.counters()),
            Records::Types(_) => reader,
        };
        if let Some(raw) = header {
            reader.header(Row { raw, line: 1 })?;
        }
        Ok(CsvSource { reader, shape: schema.shape().clone() })
    }

    /// Returns warnings about the header.
    pub(crate) fn warnings(&self) -> &[quayline_core::Finding] {
        self.reader.warnings()
    }
}

impl Source for CsvSource {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        let row = Row { raw: block.body(at), line: block.line(at) };
        target.begin(block.number(at), block.offset(at), block);
        let read = self.reader.row(row, target.sink());
        let rounded = self.reader.take_rounded();
        let findings = match read {
            Ok(RowRead::Blank) => {
                lot.skipped(1);
                return at + 1;
            }
            Ok(RowRead::Document) => match target.accept() {
                Ok(()) => {
                    lot.note_rounded(&self.shape, &rounded, || place_of(block, at, &facts.file));
                    lot.accepted(facts, block, core::iter::once(at), target, || place_of(block, at, &facts.file));
                    return at + 1;
                }
                Err(findings) => findings,
            },
            Err(fault) => vec![fault.finding()],
        };
        lot.rejected(&facts.reject_form, block, at, locate(findings, &place_of(block, at, &facts.file)));
        at + 1
    }
}
