//! Record elements of XML.

use std::sync::Arc;

use quayline_core::{ByteOffset, Finding, Limits, RecordNumber};
use quayline_xml::{EndOfInput, RecordSplitter, TextPosition, XmlFault, XmlPart, XmlStep, XmlStyle};

use crate::block::{Block, DocumentSpan, Position, Units};
use crate::block_reader::{Cut, CutEnd, Cutter, SourceEnd};

pub(crate) struct XmlCutter {
    splitter: RecordSplitter,
    offset: ByteOffset,
    next: RecordNumber,
    file: Arc<str>,
}

/// Bits of the state that hold the column; it is for messages only.
const COLUMN_BITS: u32 = 23;
/// Bits below it that hold the part of the document.
const PART_BITS: u32 = 2;
const RECORDS: u64 = 0;
const PROLOG: u64 = 1;
const EPILOG: u64 = 2;

impl XmlCutter {
    pub(crate) fn new(style: &XmlStyle, limits: &Limits, from: &Position, file: &Arc<str>) -> Self {
        let splitter = if from.offset.0 == 0 {
            RecordSplitter::new(style, limits)
        } else {
            let part = match from.state & ((1 << PART_BITS) - 1) {
                PROLOG => XmlPart::Prolog,
                EPILOG => XmlPart::Epilog,
                _ => XmlPart::Records,
            };
            let at = from.state >> PART_BITS;
            let at = TextPosition { line: at >> COLUMN_BITS, column: at & ((1 << COLUMN_BITS) - 1) };
            RecordSplitter::resume(style, limits, at, part)
        };
        XmlCutter { splitter, offset: from.offset, next: from.next, file: Arc::clone(file) }
    }

    /// Returns a fault as a finding in the file.
    fn in_file(&self, fault: &XmlFault) -> Finding {
        let mut finding = fault.finding();
        finding.place.file = Some(Arc::clone(&self.file));
        finding
    }

    fn lost(&self, fault: &XmlFault, records: usize) -> CutEnd {
        let mut finding = self.in_file(fault);
        finding.place.record = Some(RecordNumber(self.next.0 + records as u64));
        CutEnd::Lost(finding)
    }
}

impl Cutter for XmlCutter {
    fn cut(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        let Units::Documents(spans) = &mut block.units else {
            unreachable!("elements are cut into a block of documents")
        };
        spans.clear();
        let end = match end {
            SourceEnd::No => EndOfInput::No,
            SourceEnd::Yes => EndOfInput::Yes,
        };
        let input = &block.bytes[..block.filled];
        let mut pos = 0;
        // Blocks end after a record, where a resumed splitter knows its position; content between records begins the next block.
        let mut behind_record = None;
        let end = loop {
            match self.splitter.split(&input[pos..], end) {
                Ok(XmlStep::Record { record, consumed }) => {
                    spans.push(DocumentSpan::new(pos, record.raw.len()).on_line(record.at.line, record.at.column));
                    pos += consumed;
                    behind_record = Some((pos, self.splitter.clone()));
                }
                Ok(XmlStep::Skipped { consumed }) => pos += consumed,
                Ok(XmlStep::NeedMore { at_least }) => {
                    let needed = pos + at_least;
                    if let Some((end, splitter)) = behind_record {
                        (pos, self.splitter) = (end, splitter);
                    }
                    break CutEnd::NeedMore { at_least: needed };
                }
                Ok(XmlStep::Done) => break CutEnd::Done,
                Err(fault) => break self.lost(&fault, spans.len()),
            }
        };
        if let Some(unread) = self.splitter.take_unread() {
            block.warning = Some(self.in_file(&unread));
        }
        self.offset.0 += pos as u64;
        self.next.0 += spans.len() as u64;
        Cut { consumed: pos, end }
    }

    fn position(&self) -> Position {
        let TextPosition { line, column } = self.splitter.position();
        let part = match self.splitter.part() {
            XmlPart::Prolog => PROLOG,
            XmlPart::Records => RECORDS,
            XmlPart::Epilog => EPILOG,
        };
        let state = (line << COLUMN_BITS | column.min((1 << COLUMN_BITS) - 1)) << PART_BITS | part;
        Position::at(self.offset, self.next, state)
    }
}
