//! Documents of a JSON stream: lines, or the elements of one array.

use std::sync::Arc;

use quayline_core::{ByteOffset, Limits, Place, RecordNumber};
use quayline_json::{EndOfInput, JsonSplitter, Split};

use crate::block::{Block, DocumentSpan, Position, Units};
use crate::block_reader::{Cut, CutEnd, Cutter, SourceEnd};
use crate::text_place::TextPlace;

pub(crate) struct JsonCutter {
    splitter: JsonSplitter,
    offset: ByteOffset,
    next: RecordNumber,
    at: TextPlace,
    file: Arc<str>,
}

/// Bits of the state that are the splitter's; above them is the place in the text.
const SPLITTER_BITS: u32 = 4;

/// Returns the position in the text at which a block of JSON begins.
pub(crate) fn place_at(from: &Position) -> TextPlace {
    TextPlace::of_state(from.state >> SPLITTER_BITS)
}

impl JsonCutter {
    pub(crate) fn new(limits: &Limits, from: &Position, file: &Arc<str>) -> Self {
        let splitter = JsonSplitter::resume(limits, from.state & ((1 << SPLITTER_BITS) - 1));
        let at = place_at(from);
        JsonCutter { splitter, offset: from.offset, next: from.next, at, file: Arc::clone(file) }
    }
}

impl Cutter for JsonCutter {
    fn cut(&mut self, block: &mut Block, end: SourceEnd) -> Cut {
        let Units::Documents(spans) = &mut block.units else {
            unreachable!("documents are cut into a block of documents")
        };
        spans.clear();
        let end = match end {
            SourceEnd::No => EndOfInput::No,
            SourceEnd::Yes => EndOfInput::Yes,
        };
        let input = &block.bytes[..block.filled];
        let mut pos = 0;
        let end = loop {
            match self.splitter.split(&input[pos..], end) {
                Ok(Split::Document { at, consumed }) => {
                    spans.push(DocumentSpan::new(pos + at.start, at.len()));
                    pos += consumed;
                }
                Ok(Split::NeedMore { consumed }) => {
                    pos += consumed;
                    break CutEnd::NeedMore { at_least: block.filled - pos + 1 };
                }
                Ok(Split::Done { consumed }) => {
                    pos += consumed;
                    break CutEnd::Done;
                }
                Err(fault) => {
                    let byte = ByteOffset(self.offset.0 + (pos + fault.at) as u64);
                    let record = Some(RecordNumber(self.next.0 + spans.len() as u64));
                    let mut place =
                        Place { file: Some(Arc::clone(&self.file)), record, byte: Some(byte), ..Place::default() };
                    self.at.behind(&input[..pos + fault.at]).tell(&mut place);
                    break CutEnd::Lost(fault.finding(place));
                }
            }
        };
        self.at = self.at.behind(&input[..pos]);
        self.offset.0 += pos as u64;
        self.next.0 += spans.len() as u64;
        Cut { consumed: pos, end }
    }

    fn position(&self) -> Position {
        let state = self.at.state() << SPLITTER_BITS | self.splitter.state();
        Position::at(self.offset, self.next, state)
    }
}
