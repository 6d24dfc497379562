//! Lines.

use memchr::{memchr, memmem};

use super::{Framing, Measure, Wrong};
use crate::{CarriageReturn, EndOfInput, FrameFaultKind, LineEnd, LineSpec};

/// Lines; the terminator is not part of the record.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pub(crate) spec: LineSpec,
    pub(crate) limit: usize,
}

/// Ctrl-Z, which DOS programs and transfers in text mode write after the last line of a file.
const END_MARK: u8 = 0x1a;

impl Lines {
    /// Returns true for a line of ASCII that has only end-of-file marks. In EBCDIC, the byte has another meaning.
    fn is_mark(&self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        matches!(self.spec.end, LineEnd::Lf | LineEnd::CrLf) && line.iter().all(|byte| *byte == END_MARK)
    }
}

impl Framing for Lines {
    #[inline]
    fn measure(
        &self,
        input: &[u8],
        end: EndOfInput,
        _state: &mut u64,
        scanned: usize,
        _joined: &mut Vec<u8>,
    ) -> Result<Measure, Wrong> {
        let from = scanned.min(input.len());
        let found = match self.spec.end {
            LineEnd::Lf => memchr(b'\n', &input[from..]),
            LineEnd::CrLf => memmem::find(&input[from..], b"\r\n"),
            LineEnd::Nl => memchr(0x15, &input[from..]),
            LineEnd::EbcdicLf => memchr(0x25, &input[from..]),
        };
        let (stop, consumed) = match found {
            Some(at) => (from + at, from + at + self.spec.end.bytes().len()),
            None if end == EndOfInput::Yes && input.is_empty() => return Ok(Measure::Done { consumed: 0 }),
            None if end == EndOfInput::Yes => (input.len(), input.len()),
            None => (input.len(), 0),
        };
        // A CR at the end of the input may be half a terminator, so the limit allows one more byte.
        if stop > self.limit + usize::from(consumed == 0) {
            let kind = FrameFaultKind::EndlessLine { limit: self.limit };
            return Err(Wrong { kind, at: 0, cause: None });
        }
        if consumed == 0 {
            let seen = if self.spec.end == LineEnd::CrLf { input.len().saturating_sub(1) } else { input.len() };
            return Ok(Measure::NeedMore { at_least: input.len() + 1, scanned: seen });
        }
        if input[0] == END_MARK && consumed == input.len() && self.is_mark(&input[..stop]) {
            return match end {
                EndOfInput::Yes => Err(Wrong { kind: FrameFaultKind::EndMark { bytes: consumed }, at: 0, cause: None }),
                // A line that others follow is data.
                EndOfInput::No => Ok(Measure::NeedMore { at_least: input.len() + 1, scanned: 0 }),
            };
        }
        let cut = self.spec.carriage_return == CarriageReturn::Strip && input[..stop].ends_with(b"\r");
        Ok(Measure::Record { consumed, body: 0..stop - usize::from(cut) })
    }
}
