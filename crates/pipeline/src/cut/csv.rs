//! Rows of CSV.

use std::sync::Arc;

use quayline_core::{ByteOffset, Limits, Place, RecordNumber};
use quayline_flat::{CsvStyle, EndOfInput, FlatFault, RowSplitter, RowStep};

use crate::block::{Block, DocumentSpan, Position, Units};
use crate::block_reader::{Cut, CutEnd, Cutter, SourceEnd};

/// Cuts the rows after the header, which the run has already read.
pub(crate) struct CsvCutter {
    splitter: RowSplitter,
    offset: ByteOffset,
    next: RecordNumber,
    file: Arc<str>,
}

impl CsvCutter {
    pub(crate) fn new(style: CsvStyle, limits: &Limits, from: &Position, file: &Arc<str>) -> Self {
        // The state is the line number, or 0 before anything was read.
        let splitter = match from.state {
            0 => RowSplitter::new(style, limits),
            line => RowSplitter::resume(style, limits, line),
        };
        CsvCutter { splitter, offset: from.offset, next: from.next, file: Arc::clone(file) }
    }

    fn lost(&self, fault: &FlatFault, pos: usize, rows: usize) -> CutEnd {
        let mut finding = fault.finding();
        finding.place = Place {
            file: Some(Arc::clone(&self.file)),
            record: Some(RecordNumber(self.next.0 + rows as u64)),
            byte: Some(ByteOffset(self.offset.0 + pos as u64)),
            ..finding.place
        };
        CutEnd::Lost(finding)
    }
}

impl Cutter for CsvCutter {
    fn cut(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        let Units::Documents(spans) = &mut block.units else { unreachable!("rows are cut into a block of documents") };
        spans.clear();
        let end = match end {
            SourceEnd::No => EndOfInput::No,
            SourceEnd::Yes => EndOfInput::Yes,
        };
        let input = &block.bytes[..block.filled];
        let mut pos = 0;
        let end = loop {
            match self.splitter.split(&input[pos..], end) {
                Ok(RowStep::Row { row, consumed }) => {
                    let start = row.raw.as_ptr() as usize - input.as_ptr() as usize;
                    spans.push(DocumentSpan::new(start, row.raw.len()).on_line(row.line, 1));
                    pos += consumed;
                }
                Ok(RowStep::NeedMore { at_least }) => break CutEnd::NeedMore { at_least: pos + at_least },
                Ok(RowStep::Done) => {
                    pos = input.len();
                    break CutEnd::Done;
                }
                Err(fault) => break self.lost(&fault, pos, spans.len()),
            }
        };
        self.offset.0 += pos as u64;
        self.next.0 += spans.len() as u64;
        Cut { consumed: pos, end }
    }

    fn position(&self) -> Position {
        Position::at(self.offset, self.next, self.splitter.line())
    }
}
