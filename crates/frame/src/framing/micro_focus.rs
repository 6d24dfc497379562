//! Micro Focus variable format.
//!
//! ```text
//! 0    128-byte file header: 30 7e 00 00 (record headers of 2 bytes: length below 4,096) or 30 00 00 7c (of 4 bytes)
//! 128  record header: 4 bits type, 12 or 28 bits length of the data; data; zeros up to a multiple of 4
//! ```
//! Source: Micro Focus, File Handling, "File Header" and "Record Sequential Files, Variable Format".

use super::{Framing, Measure, Wrong, short};
use crate::fault::Part;
use crate::{EndOfInput, FrameFaultKind};

/// Bytes of the file header.
pub(crate) const FILE_HEADER: usize = 128;

/// Micro Focus variable records. The state is the width of the record headers, 2 or 4, and 0 before the file header was read.
#[derive(Clone, Debug)]
pub(crate) struct MicroFocus {
    pub(crate) limit: usize,
}

/// Rounds up to a multiple of 4.
pub(crate) fn pad_to_4(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

impl Framing for MicroFocus {
    fn measure(
        &self,
        input: &[u8],
        end: EndOfInput,
        state: &mut u64,
        _scanned: usize,
        _joined: &mut Vec<u8>,
    ) -> Result<Measure, Wrong> {
        if input.is_empty() && end == EndOfInput::Yes {
            return Ok(Measure::Done { consumed: 0 });
        }
        let mut at = 0;
        let mut width = *state;
        if width == 0 {
            let Some(header) = input.get(..FILE_HEADER) else {
                return short(input, end, 0, FILE_HEADER, Part::FileHeader);
            };
            width = match header[..4] {
                [0x30, 0x7e, 0, 0] => 2,
                [0x30, 0, 0, 0x7c] => 4,
                _ => return Err(Wrong { kind: FrameFaultKind::FileHeader, at: 0, cause: None }),
            };
            at = FILE_HEADER;
        }
        // A file can have any number of deleted records in a row. The reader consumes those that it has passed, so it never reads them again.
        let mut skipped = |consumed| {
            *state = width;
            Measure::Skipped { consumed }
        };
        loop {
            if at == input.len() && end == EndOfInput::Yes {
                return Ok(Measure::Done { consumed: at });
            }
            let rest = &input[at..];
            let (kind, length, start) = match *rest {
                [a, b, ..] if width == 2 => (a >> 4, usize::from(u16::from_be_bytes([a & 0x0f, b])), 2),
                [a, b, c, d, ..] if width != 2 => {
                    let length = u32::from_be_bytes([a & 0x0f, b, c, d]);
                    (a >> 4, length as usize, 4)
                }
                _ if at > 0 => return Ok(skipped(at)),
                _ => return short(input, end, at, if width == 2 { 2 } else { 4 }, Part::Rdw),
            };
            let is_bad = !matches!(kind, 2..=5) || length > self.limit;
            if is_bad && at > 0 {
                return Ok(skipped(at));
            }
            if !matches!(kind, 2..=5) {
                return Err(Wrong { kind: FrameFaultKind::RecordType { found: kind }, at, cause: None });
            }
            if length > self.limit {
                let (found, most) = (length as u64, self.limit as u64);
                let kind = FrameFaultKind::TooLarge { part: Part::Rdw, found, most, bound: "record_bytes_max" };
                return Err(Wrong { kind, at, cause: None });
            }
            // The last record's padding may be missing.
            let padded = if end == EndOfInput::Yes && rest.len() >= start + length {
                pad_to_4(start + length).min(rest.len())
            } else {
                pad_to_4(start + length)
            };
            if rest.len() < padded {
                return if at > 0 { Ok(skipped(at)) } else { short(input, end, at, padded, Part::Record) };
            }
            let body = at + start..at + start + length;
            at += padded;
            if matches!(kind, 4 | 5) {
                *state = width;
                return Ok(Measure::Record { consumed: at, body });
            }
        }
    }
}
