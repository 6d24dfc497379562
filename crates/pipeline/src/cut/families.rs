//! Rows of CSV, all those of a document together.

use std::sync::Arc;

use quayline_core::{ByteOffset, Findings, Limits, Place, RecordNumber};
use quayline_flat::{
    CsvStyle, EndOfInput, FamilySplitter, FlatFault, FlatFaultKind, RowFamilies, RowSplitter, RowStep,
};

use crate::block::{Block, DocumentSpan, Position, Units};
use crate::block_reader::{Cut, CutEnd, Cutter, SourceEnd};

/// Cuts the rows after the header, which the run has already read. A block ends after the last row of a document.
pub(crate) struct FamilyCutter {
    style: CsvStyle,
    limits: Limits,
    splitter: RowSplitter,
    families: FamilySplitter,
    offset: ByteOffset,
    next: RecordNumber,
    file: Arc<str>,
}

/// A document whose rows are being gathered.
struct Open {
    start: usize,
    line: u64,
    /// End of its last row, without and with the line end.
    end: usize,
    behind: usize,
}

impl FamilyCutter {
    pub(crate) fn new(
        style: CsvStyle,
        families: &Arc<RowFamilies>,
        limits: &Limits,
        from: &Position,
        header: Option<&[u8]>,
        file: &Arc<str>,
    ) -> Result<Self, Findings> {
        // The state is the line number, or 0 before anything was read.
        let splitter = match from.state {
            0 => RowSplitter::new(style, limits),
            line => RowSplitter::resume(style, limits, line),
        };
        Ok(FamilyCutter {
            style,
            limits: limits.clone(),
            splitter,
            families: FamilySplitter::new(families, style, limits, header)?,
            offset: from.offset,
            next: from.next,
            file: Arc::clone(file),
        })
    }

    fn lost(&self, fault: &FlatFault, pos: usize, documents: usize) -> CutEnd {
        let mut finding = fault.finding();
        finding.place = Place {
            file: Some(Arc::clone(&self.file)),
            record: Some(RecordNumber(self.next.0 + documents as u64)),
            byte: Some(ByteOffset(self.offset.0 + pos as u64)),
            ..finding.place
        };
        CutEnd::Lost(finding)
    }
}

impl Cutter for FamilyCutter {
    fn cut(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        let Units::Documents(spans) = &mut block.units else { unreachable!("rows are cut into a block of documents") };
        spans.clear();
        let end = match end {
            SourceEnd::No => EndOfInput::No,
            SourceEnd::Yes => EndOfInput::Yes,
        };
        let input = &block.bytes[..block.filled];
        let mut open: Option<Open> = None;
        let close = |open: Open, spans: &mut Vec<DocumentSpan>| {
            spans.push(DocumentSpan::new(open.start, open.end - open.start).on_line(open.line, 1));
        };
        let mut pos = 0;
        let (consumed, end) = loop {
            match self.splitter.split(&input[pos..], end) {
                Ok(RowStep::Row { row, consumed }) => {
                    let start = row.raw.as_ptr() as usize - input.as_ptr() as usize;
                    let begins = match self.families.begins(row) {
                        _ if row.raw.is_empty() && open.is_some() => false,
                        Ok(begins) => begins || open.is_none(),
                        Err(fault) => {
                            let behind = open.as_ref().map_or(pos, |open| open.behind);
                            open.take().into_iter().for_each(|open| close(open, spans));
                            break (behind, self.lost(&fault, pos, spans.len()));
                        }
                    };
                    if begins {
                        open.take().into_iter().for_each(|open| close(open, spans));
                    }
                    pos += consumed;
                    let rows = open.get_or_insert(Open { start, line: row.line, end: start, behind: pos });
                    (rows.end, rows.behind) = (start + row.raw.len(), pos);
                    if rows.end - rows.start > self.limits.record_bytes_max {
                        let kind = FlatFaultKind::EndlessGroup { limit: self.limits.record_bytes_max };
                        let (from, line) = (rows.start, rows.line);
                        let fault = FlatFault { kind, line: Some(line), column: None };
                        break (from, self.lost(&fault, from, spans.len()));
                    }
                }
                Ok(RowStep::NeedMore { at_least }) => {
                    let need = CutEnd::NeedMore { at_least: pos + at_least };
                    // The next row may belong to the last document: it is cut again, from its first row.
                    break match open.take() {
                        Some(open) => {
                            self.splitter = RowSplitter::resume(self.style, &self.limits, open.line);
                            (open.start, need)
                        }
                        None => (pos, need),
                    };
                }
                Ok(RowStep::Done) => {
                    open.take().into_iter().for_each(|open| close(open, spans));
                    break (input.len(), CutEnd::Done);
                }
                Err(fault) => {
                    let behind = open.as_ref().map_or(pos, |open| open.behind);
                    open.take().into_iter().for_each(|open| close(open, spans));
                    break (behind, self.lost(&fault, pos, spans.len()));
                }
            }
        };
        self.offset.0 += consumed as u64;
        self.next.0 += spans.len() as u64;
        Cut { consumed, end }
    }

    fn position(&self) -> Position {
        Position::at(self.offset, self.next, self.splitter.line())
    }
}
