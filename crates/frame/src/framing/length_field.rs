//! A length field inside the record.

use super::{Framing, Measure, Wrong, short};
use crate::fault::Part;
use crate::{ByteOrder, Cause, Counts, EndOfInput, FieldBytes, FrameFaultKind, LengthEncoding, LengthFieldSpec};

/// Records that hold their own length.
#[derive(Clone, Debug)]
pub(crate) struct LengthField {
    pub(crate) spec: LengthFieldSpec,
    pub(crate) limit: usize,
}

impl Framing for LengthField {
    #[inline]
    fn measure(
        &self,
        input: &[u8],
        end: EndOfInput,
        _state: &mut u64,
        _scanned: usize,
        _joined: &mut Vec<u8>,
    ) -> Result<Measure, Wrong> {
        if input.is_empty() && end == EndOfInput::Yes {
            return Ok(Measure::Done { consumed: 0 });
        }
        let (from, head) = (self.spec.offset, self.spec.offset + self.spec.size);
        let Some(field) = input.get(from..head) else {
            return short(input, end, 0, head, Part::LengthField);
        };
        let length = self.record_length(field).map_err(|(kind, cause)| Wrong { kind, at: from, cause })?;
        if input.len() < length {
            return short(input, end, 0, length, Part::Record);
        }
        let start = if self.spec.field == FieldBytes::Strip { head } else { 0 };
        Ok(Measure::Record { consumed: length, body: start..length })
    }
}

impl LengthField {
    /// Bytes of the record from its first byte on.
    fn record_length(&self, field: &[u8]) -> Result<usize, (FrameFaultKind, Option<Cause>)> {
        let found = self.read(field).ok_or((FrameFaultKind::NotDigits { size: field.len() }, None))?;
        let head = (self.spec.offset + self.spec.size) as u64;
        let before = if self.spec.counts == Counts::Body { head } else { 0 };
        let length = i128::from(found) + i128::from(self.spec.adjustment) + i128::from(before);
        let part = Part::LengthField;
        match usize::try_from(length) {
            Ok(length) if length as u64 >= head && length <= self.limit => Ok(length),
            Ok(length) if length as u64 >= head => Err((
                FrameFaultKind::TooLarge { part, found, most: self.limit as u64, bound: "record_bytes_max" },
                self.binary_cause(field),
            )),
            _ => {
                let least = i128::from(head - before) - i128::from(self.spec.adjustment);
                let least = u64::try_from(least).unwrap_or(0);
                Err((FrameFaultKind::TooSmall { part, found, least }, self.binary_cause(field)))
            }
        }
    }

    /// Returns a cause if the bytes look like text, which speaks against a binary length field but not against one of digits.
    fn binary_cause(&self, field: &[u8]) -> Option<Cause> {
        matches!(self.spec.encoding, LengthEncoding::Binary(_)).then(|| Cause::of(field)).flatten()
    }

    fn read(&self, field: &[u8]) -> Option<u64> {
        let digits = |zero: u8, blank: u8| {
            let first = field.iter().position(|b| *b != blank)?;
            field[first..].iter().try_fold(0u64, |n, b| {
                let digit = b.wrapping_sub(zero);
                (digit < 10).then(|| n * 10 + u64::from(digit))
            })
        };
        match self.spec.encoding {
            LengthEncoding::Binary(ByteOrder::Big) => Some(field.iter().fold(0, |n, b| n << 8 | u64::from(*b))),
            LengthEncoding::Binary(ByteOrder::Little) => {
                Some(field.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
            }
            LengthEncoding::AsciiDigits => digits(b'0', b' '),
            LengthEncoding::EbcdicDigits => digits(0xf0, 0x40),
        }
    }

    /// Writes the length of `record` into its field, which must be inside the record.
    pub(crate) fn write(spec: &LengthFieldSpec, record: &mut [u8]) -> Result<(), u64> {
        let head = spec.offset + spec.size;
        let before = if spec.counts == Counts::Body { head } else { 0 };
        let value = record.len() as i128 - before as i128 - i128::from(spec.adjustment);
        let most = match spec.encoding {
            LengthEncoding::Binary(_) if spec.size == 8 => u64::MAX,
            LengthEncoding::Binary(_) => (1 << (8 * spec.size)) - 1,
            _ => 10u64.pow(u32::try_from(spec.size).unwrap_or(18)) - 1,
        };
        let Some(mut value) = u64::try_from(value).ok().filter(|value| *value <= most) else {
            let most = i128::from(most) + before as i128 + i128::from(spec.adjustment);
            return Err(u64::try_from(most).unwrap_or(0));
        };
        let field = &mut record[spec.offset..head];
        let size = field.len();
        for i in 0..size {
            let (base, zero) = match spec.encoding {
                LengthEncoding::Binary(_) => (256, 0u8),
                LengthEncoding::AsciiDigits => (10, b'0'),
                LengthEncoding::EbcdicDigits => (10, 0xf0),
            };
            let place = if spec.encoding == LengthEncoding::Binary(ByteOrder::Little) { i } else { size - 1 - i };
            field[place] = u8::try_from(value % base).expect("a remainder by 256 or 10 is a byte") + zero;
            value /= base;
        }
        Ok(())
    }
}
