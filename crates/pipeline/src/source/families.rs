//! Documents of several rows of CSV.

use std::sync::Arc;

use quayline_core::{Finding, Findings, Limits, Shape};
use quayline_flat::{CsvStyle, FamilyRead, FamilyReader, FlatFault, Row, RowFamilies};
use quayline_project::Schema;

use crate::block::Block;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{Lot, locate, place_of};
use crate::target::Target;

pub(crate) struct FamilySource {
    reader: FamilyReader,
    shape: Shape,
}

impl FamilySource {
    /// Creates a source. `header` is the file's first row, if it has one.
    pub(crate) fn new(
        schema: &Schema,
        families: &Arc<RowFamilies>,
        style: CsvStyle,
        limits: &Limits,
        header: Option<&[u8]>,
    ) -> Result<Self, Findings> {
        let mut reader = FamilyReader::new(schema.shape(), families, style, limits)?.with_moments(schema.moments());
        if let Some(raw) = header {
            reader.header(Row { raw, line: 1 })?;
        }
        Ok(FamilySource { reader, shape: schema.shape().clone() })
    }

    /// Returns warnings about the header.
    pub(crate) fn warnings(&self) -> &[Finding] {
        self.reader.warnings()
    }
}

impl Source for FamilySource {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        target.begin(block.number(at), block.offset(at), block);
        let read = self.reader.document(block.body(at), block.line(at), target.sink());
        let rounded = self.reader.take_rounded();
        let findings = match read {
            FamilyRead::Blank => {
                lot.skipped(1);
                return at + 1;
            }
            FamilyRead::Document(faults) if faults.is_empty() => match target.accept() {
                Ok(()) => {
                    lot.note_rounded(&self.shape, &rounded, || place_of(block, at, &facts.file));
                    lot.accepted(facts, block, core::iter::once(at), target, || place_of(block, at, &facts.file));
                    return at + 1;
                }
                Err(findings) => findings,
            },
            FamilyRead::Document(faults) => {
                target.void();
                faults.iter().map(FlatFault::finding).collect()
            }
        };
        lot.rejected(&facts.reject_form, block, at, locate(findings, &place_of(block, at, &facts.file)));
        at + 1
    }
}
