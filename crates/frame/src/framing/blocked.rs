//! Blocks of records, each with its length header.

use super::{Framing, Measure, Rdw, Wrong, short};
use crate::fault::Part;
use crate::{BdwSpec, ByteOrder, Cause, Counts, EndOfInput, FrameFaultKind};

/// Bytes of a block descriptor word.
pub(crate) const BDW: usize = 4;

/// Records in blocks. The state is the number of bytes left in the current block.
#[derive(Clone, Debug)]
pub(crate) struct Blocked {
    pub(crate) bdw: BdwSpec,
    pub(crate) rdw: Rdw,
}

impl Framing for Blocked {
    #[inline]
    fn measure(
        &self,
        input: &[u8],
        end: EndOfInput,
        state: &mut u64,
        _scanned: usize,
        _joined: &mut Vec<u8>,
    ) -> Result<Measure, Wrong> {
        let mut at = 0;
        let mut left = *state;
        if left == 0 {
            if input.is_empty() && end == EndOfInput::Yes {
                return Ok(Measure::Done { consumed: 0 });
            }
            let Some(header) = input.first_chunk::<BDW>() else {
                return short(input, end, 0, BDW, Part::Bdw);
            };
            let least = self.rdw.spec.header.bytes() as u64;
            left = self.bdw.block_length(*header, least).map_err(|(kind, cause)| Wrong { kind, at: 0, cause })?;
            at = BDW;
        }
        let header = self.rdw.spec.header.bytes();
        if left < header as u64 {
            return Err(past(at, header as u64, left));
        }
        let found = self.rdw.record(input, end, at);
        // A record beyond its block is reported as such even if the source ends first, so any chunking gives the same fault.
        if let Err(Wrong { kind: FrameFaultKind::Truncated { need, .. }, .. }) = found
            && need > left
        {
            return Err(past(at, need, left));
        }
        match found? {
            Measure::Record { consumed, body } => {
                let need = (consumed - at) as u64;
                if need > left {
                    return Err(past(at, need, left));
                }
                *state = left - need;
                Ok(Measure::Record { consumed, body })
            }
            Measure::NeedMore { at_least, scanned } => {
                let need = (at_least - at) as u64;
                if need > left { Err(past(at, need, left)) } else { Ok(Measure::NeedMore { at_least, scanned }) }
            }
            other => Ok(other),
        }
    }
}

fn past(at: usize, need: u64, left: u64) -> Wrong {
    Wrong { kind: FrameFaultKind::PastBlock { need, left }, at, cause: None }
}

impl BdwSpec {
    /// Returns the bytes after a block header; at least `least`, the smallest record.
    pub(crate) fn block_length(&self, header: [u8; BDW], least: u64) -> Result<u64, (FrameFaultKind, Option<Cause>)> {
        let [a, b, c, d] = header;
        let (found, reserved) = match self.order {
            ByteOrder::Big if a & 0x80 != 0 => (u32::from_be_bytes([a & 0x7f, b, c, d]), 0),
            ByteOrder::Big => (u32::from(u16::from_be_bytes([a, b])), u16::from_be_bytes([c, d])),
            ByteOrder::Little if d & 0x80 != 0 => (u32::from_le_bytes([a, b, c, d & 0x7f]), 0),
            // The halfword was swapped, as in `rdw:le`; no length is 0, so this cannot be the other form.
            ByteOrder::Little if [c, d] == [0, 0] => (u32::from(u16::from_le_bytes([a, b])), 0),
            ByteOrder::Little => (u32::from(u16::from_le_bytes([c, d])), u16::from_le_bytes([a, b])),
        };
        let own = if self.counts == Counts::Whole { BDW as i64 } else { 0 };
        let length = i64::from(found) + i64::from(self.adjustment) - own;
        let part = Part::Bdw;
        match u64::try_from(length).ok().filter(|length| *length >= least) {
            Some(length) if reserved == 0 => Ok(length),
            Some(_) => {
                let kind = FrameFaultKind::Reserved { part, found: u64::from(found), segment: false };
                Err((kind, Cause::of(&header)))
            }
            None => {
                let least = u64::try_from(least.cast_signed() + own - i64::from(self.adjustment)).unwrap_or(0);
                Err((FrameFaultKind::TooSmall { part, found: u64::from(found), least }, Cause::of(&header)))
            }
        }
    }
}
