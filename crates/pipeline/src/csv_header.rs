//! The first row of a CSV source: every lane needs it, and a resumed run reads it again.

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use quayline_core::{ByteOffset, Limits, Place, RecordNumber};
use quayline_flat::{CsvStyle, EndOfInput, Header, RowSplitter, RowStep};

use crate::block::Position;
use crate::error::PipelineError;

/// A header row and the position of the row after it.
#[derive(Debug)]
pub struct CsvHeader {
    /// The row without its line end.
    pub raw: Vec<u8>,
    /// Position of the row after the header.
    pub behind: Position,
}

/// Reads the header; `None` if the style has no header or the source has no row.
///
/// Returns a reader that begins with the bytes that were read but not consumed.
///
/// # Errors
/// A row that cannot be read, or an error of the reader, converted with `io_error`.
pub fn read_csv_header<'r>(
    mut reader: Box<dyn Read + Send + 'r>,
    style: CsvStyle,
    limits: &Limits,
    file: &Arc<str>,
    io_error: impl FnOnce(io::Error) -> PipelineError,
) -> Result<(Option<CsvHeader>, Box<dyn Read + Send + 'r>), PipelineError> {
    if style.header == Header::Absent {
        return Ok((None, reader));
    }
    let mut splitter = RowSplitter::new(style, limits);
    let mut bytes = Vec::new();
    let mut end = EndOfInput::No;
    loop {
        let step = splitter.split(&bytes, end).map_err(|fault| {
            let mut finding = fault.finding();
            finding.place = Place { file: Some(Arc::clone(file)), ..finding.place };
            PipelineError::from(finding)
        })?;
        match step {
            RowStep::Row { row, consumed } => {
                let raw = row.raw.to_vec();
                let rest = bytes.split_off(consumed);
                let behind = Position::at(ByteOffset(consumed as u64), RecordNumber::FIRST, splitter.line());
                return Ok((Some(CsvHeader { raw, behind }), Box::new(Cursor::new(rest).chain(reader))));
            }
            RowStep::Done => return Ok((None, reader)),
            RowStep::NeedMore { .. } => {
                let before = bytes.len();
                match reader.by_ref().take(64 << 10).read_to_end(&mut bytes) {
                    Ok(_) if bytes.len() == before => end = EndOfInput::Yes,
                    Ok(_) => {}
                    Err(error) => return Err(io_error(error)),
                }
            }
        }
    }
}
