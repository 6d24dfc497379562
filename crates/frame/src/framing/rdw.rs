//! A length header in front of each record.

use super::{Framing, Measure, Wrong, short};
use crate::fault::Part;
use crate::{ByteOrder, Cause, Counts, EndOfInput, FrameFaultKind, RdwHeader, RdwSpec, Reserved};

/// Records with length headers, no blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rdw {
    pub(crate) spec: RdwSpec,
    pub(crate) limit: usize,
}

impl Framing for Rdw {
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
        self.record(input, end, 0)
    }
}

impl Rdw {
    /// Measures the record with the header at `at`.
    #[inline]
    pub(crate) fn record(&self, input: &[u8], end: EndOfInput, at: usize) -> Result<Measure, Wrong> {
        let start = at + self.spec.header.bytes();
        let Some(header) = input.get(at..start) else {
            return short(input, end, at, start - at, Part::Rdw);
        };
        let length = self.body_length(header).map_err(|(kind, cause)| Wrong { kind, at, cause })?;
        let stop = start + length;
        if input.len() < stop {
            let mut answer = short(input, end, at, stop - at, Part::Record);
            if let Err(wrong) = &mut answer {
                wrong.cause = self.cause(header);
            }
            return answer;
        }
        Ok(Measure::Record { consumed: stop, body: start..stop })
    }

    /// Returns the bytes of the record after its header.
    #[inline]
    pub(crate) fn body_length(&self, header: &[u8]) -> Result<usize, (FrameFaultKind, Option<Cause>)> {
        let (found, reserved) = self.read(header);
        let own = if self.spec.counts == Counts::Whole { header.len() as i64 } else { 0 };
        let length = i64::from(found) + i64::from(self.spec.adjustment) - own;
        let sound = length >= 0
            && length <= self.limit as i64
            && found <= self.spec.length_max
            && (reserved == 0 || self.spec.reserved == Reserved::Any);
        if sound {
            return usize::try_from(length).map_err(|_| unreachable!("0 to the limit, which is a usize"));
        }
        Err(self.fault(header, found, reserved, length, own))
    }

    #[cold]
    fn fault(
        &self,
        header: &[u8],
        found: u32,
        reserved: u16,
        length: i64,
        own: i64,
    ) -> (FrameFaultKind, Option<Cause>) {
        let found = u64::from(found);
        let part = Part::Rdw;
        let kind = if length < 0 {
            FrameFaultKind::TooSmall {
                part,
                found,
                least: u64::try_from(own - i64::from(self.spec.adjustment)).unwrap_or(0),
            }
        } else if found > u64::from(self.spec.length_max) {
            FrameFaultKind::TooLarge { part, found, most: u64::from(self.spec.length_max), bound: "length_max" }
        } else if length > self.limit as i64 {
            FrameFaultKind::TooLarge { part, found, most: self.limit as u64, bound: "record_bytes_max" }
        } else {
            let segment = self.spec.header == RdwHeader::TwoReserved
                && self.spec.order == ByteOrder::Big
                && matches!(reserved.to_be_bytes(), [1..=3, 0]);
            FrameFaultKind::Reserved { part, found, segment }
        };
        (kind, self.cause(header))
    }

    /// Recognizes the likely cause of a bad header.
    fn cause(&self, header: &[u8]) -> Option<Cause> {
        let seen = Cause::of(header);
        if seen.is_some() {
            return seen;
        }
        let mut other = *self;
        other.spec.order = flip(self.spec.order);
        if self.spec.header == RdwHeader::ReservedTwo {
            other.spec.header = RdwHeader::TwoReserved;
        }
        let (found, reserved) = other.read(header);
        let (own, own_reserved) = self.read(header);
        // A small length reads as a large one in the wrong order, so the smaller of the two is the likely one.
        let likelier = found < if own_reserved == 0 { own } else { own.max(4096) };
        let sound = reserved == 0 && found <= 32_760 && found as usize >= header.len() && likelier;
        sound.then_some(Cause::OtherByteOrder)
    }

    /// Returns the length and the reserved bytes as written.
    #[inline]
    fn read(&self, header: &[u8]) -> (u32, u16) {
        let two = |a: u8, b: u8| match self.spec.order {
            ByteOrder::Big => u16::from_be_bytes([a, b]),
            ByteOrder::Little => u16::from_le_bytes([a, b]),
        };
        match (self.spec.header, header) {
            (RdwHeader::TwoReserved, &[a, b, c, d]) => (u32::from(two(a, b)), u16::from_be_bytes([c, d])),
            (RdwHeader::ReservedTwo, &[c, d, a, b]) => (u32::from(two(a, b)), u16::from_be_bytes([c, d])),
            (RdwHeader::Two, &[a, b]) => (u32::from(two(a, b)), 0),
            (RdwHeader::Four, &[a, b, c, d]) => match self.spec.order {
                ByteOrder::Big => (u32::from_be_bytes([a, b, c, d]), 0),
                ByteOrder::Little => (u32::from_le_bytes([a, b, c, d]), 0),
            },
            _ => unreachable!("a header slice has the bytes that RdwHeader::bytes says"),
        }
    }
}

fn flip(order: ByteOrder) -> ByteOrder {
    match order {
        ByteOrder::Big => ByteOrder::Little,
        ByteOrder::Little => ByteOrder::Big,
    }
}
