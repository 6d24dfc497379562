//! Records in segments.

use core::ops::Range;

use super::blocked::BDW;
use super::{Framing, Measure, Wrong, short};
use crate::fault::Part;
use crate::{BdwSpec, BlockHeaders, Cause, EndOfInput, FrameFaultKind};

/// Bytes of a segment descriptor word.
pub(crate) const SDW: usize = 4;

/// Spanned records. The state is the number of bytes left in the current block; without block headers it stays 0.
#[derive(Clone, Debug)]
pub(crate) struct Spanned {
    pub(crate) blocks: BlockHeaders,
    pub(crate) limit: usize,
}

/// Walks segments from a record boundary on.
struct Walk {
    at: usize,
    left: u64,
}

enum Segment {
    Whole { code: u8, body: Range<usize> },
    NeedMore { at_least: usize },
    End,
}

impl Framing for Spanned {
    fn measure(
        &self,
        input: &[u8],
        end: EndOfInput,
        state: &mut u64,
        _scanned: usize,
        joined: &mut Vec<u8>,
    ) -> Result<Measure, Wrong> {
        let start = joined.len();
        let mut walk = Walk { at: 0, left: *state };
        let mut open = false;
        loop {
            let before = walk.at;
            let (code, body) = match self.segment(input, end, &mut walk, open)? {
                Segment::Whole { code, body } => (code, body),
                Segment::NeedMore { at_least } => {
                    joined.truncate(start);
                    return Ok(Measure::NeedMore { at_least, scanned: 0 });
                }
                Segment::End => return Ok(Measure::Done { consumed: 0 }),
            };
            if open != matches!(code, 2 | 3) {
                let at = body.start - SDW;
                return Err(Wrong { kind: FrameFaultKind::SegmentOrder { found: code, open }, at, cause: None });
            }
            if code == 0 {
                *state = walk.left;
                return Ok(Measure::Record { consumed: walk.at, body });
            }
            // Segments may be empty, so their number has a limit too. Segments of one byte in blocks of their own still make a record of the limit.
            let bytes = (joined.len() - start + body.len()).max(walk.at / 16);
            if bytes > self.limit {
                let (found, most) = (bytes as u64, self.limit as u64);
                let kind = FrameFaultKind::TooLarge { part: Part::Record, found, most, bound: "record_bytes_max" };
                return Err(Wrong { kind, at: before, cause: None });
            }
            joined.extend_from_slice(&input[body]);
            open = true;
            if code == 2 {
                *state = walk.left;
                return Ok(Measure::Joined { consumed: walk.at, body: start..joined.len() });
            }
        }
    }
}

impl Spanned {
    fn segment(&self, input: &[u8], end: EndOfInput, walk: &mut Walk, open: bool) -> Result<Segment, Wrong> {
        let more = |answer: Result<Measure, Wrong>| match answer? {
            Measure::NeedMore { at_least, .. } => Ok(Segment::NeedMore { at_least }),
            _ => unreachable!("`short` asks for more or is a fault"),
        };
        if input.len() == walk.at && end == EndOfInput::Yes && walk.left == 0 && !open {
            return Ok(Segment::End);
        }
        if self.blocks == BlockHeaders::Present && walk.left == 0 {
            let Some(header) = input[walk.at..].first_chunk::<BDW>() else {
                return more(short(input, end, walk.at, BDW, Part::Bdw));
            };
            walk.left = BdwSpec::default().block_length(*header, SDW as u64).map_err(|(kind, cause)| Wrong {
                kind,
                at: walk.at,
                cause,
            })?;
            walk.at += BDW;
        }
        let at = walk.at;
        let Some(header) = input[at..].first_chunk::<SDW>() else {
            return more(short(input, end, at, SDW, Part::Sdw));
        };
        let (length, code) = read_sdw(*header).map_err(|kind| Wrong { kind, at, cause: Cause::of(header) })?;
        if self.blocks == BlockHeaders::Present {
            let Some(left) = walk.left.checked_sub(length as u64) else {
                return Err(Wrong {
                    kind: FrameFaultKind::PastBlock { need: length as u64, left: walk.left },
                    at,
                    cause: None,
                });
            };
            if input.len() < at + length {
                return more(short(input, end, at, length, Part::Record));
            }
            walk.left = left;
        } else if input.len() < at + length {
            return more(short(input, end, at, length, Part::Record));
        }
        walk.at += length;
        Ok(Segment::Whole { code, body: at + SDW..at + length })
    }
}

/// Reads a segment descriptor word: the length of the segment including the word, and the control code.
fn read_sdw([a, b, code, zero]: [u8; SDW]) -> Result<(usize, u8), FrameFaultKind> {
    let found = u64::from(u16::from_be_bytes([a, b]));
    let part = Part::Sdw;
    if found < SDW as u64 {
        Err(FrameFaultKind::TooSmall { part, found, least: SDW as u64 })
    } else if code > 3 || zero != 0 {
        Err(FrameFaultKind::Reserved { part, found, segment: false })
    } else {
        Ok((usize::from(u16::from_be_bytes([a, b])), code))
    }
}
