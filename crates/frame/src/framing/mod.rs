//! One file per framing. Each measures one record from a record boundary on and keeps nothing but the state word.

mod blocked;
mod fixed;
mod layout;
mod length_field;
mod lines;
mod micro_focus;
mod rdw;
mod spanned;

use core::ops::Range;

use quayline_core::Limits;

pub(crate) use blocked::{BDW, Blocked};
pub(crate) use fixed::Fixed;
pub(crate) use layout::Layout;
pub(crate) use length_field::LengthField;
pub(crate) use lines::Lines;
pub(crate) use micro_focus::{FILE_HEADER, MicroFocus, pad_to_4};
pub(crate) use rdw::Rdw;
pub(crate) use spanned::{SDW, Spanned};

use crate::fault::Part;
use crate::{Cause, EndOfInput, FrameFaultKind, FramingSpec};

/// Measures one record.
pub(crate) trait Framing {
    /// Measures the record at the start of `input`. `state` is the checkpoint word and changes only if the result is a record. The first `scanned`
    /// bytes of `input` are known to have no line end. A record of several segments is appended to `joined`.
    fn measure(
        &self,
        input: &[u8],
        end: EndOfInput,
        state: &mut u64,
        scanned: usize,
        joined: &mut Vec<u8>,
    ) -> Result<Measure, Wrong>;
}

/// Result of [`Framing::measure`].
pub(crate) enum Measure {
    /// A record whose body is a range of the input.
    Record { consumed: usize, body: Range<usize> },
    /// A record whose body is a range of `joined`.
    Joined { consumed: usize, body: Range<usize> },
    /// Bytes that belong to no record, with more input after them: the next call begins after them.
    Skipped { consumed: usize },
    /// Too little input.
    NeedMore { at_least: usize, scanned: usize },
    /// The end, with bytes that belong to no record.
    Done { consumed: usize },
}

/// A fault without its place in the source.
pub(crate) struct Wrong {
    pub(crate) kind: FrameFaultKind,
    /// Byte of the input.
    pub(crate) at: usize,
    pub(crate) cause: Option<Cause>,
}

/// The framing, chosen once so that loops over records are compiled per framing.
#[derive(Clone, Debug)]
pub(crate) enum Reader {
    Fixed(Fixed),
    Rdw(Rdw),
    Blocked(Blocked),
    Spanned(Spanned),
    Lines(Lines),
    LengthField(LengthField),
    MicroFocus(MicroFocus),
    Layout(Layout),
}

impl Reader {
    pub(crate) fn new(spec: &FramingSpec, limits: &Limits) -> Self {
        let limit = limits.record_bytes_max;
        match spec {
            FramingSpec::Fixed { length } => Reader::Fixed(Fixed { length: *length }),
            FramingSpec::Rdw(spec) => Reader::Rdw(Rdw { spec: *spec, limit }),
            FramingSpec::Blocked(spec) => {
                Reader::Blocked(Blocked { bdw: spec.bdw, rdw: Rdw { spec: spec.rdw, limit } })
            }
            FramingSpec::Spanned(spec) => Reader::Spanned(Spanned { blocks: spec.blocks, limit }),
            FramingSpec::Lines(spec) => Reader::Lines(Lines { spec: *spec, limit: limits.line_bytes_max }),
            FramingSpec::LengthField(spec) => Reader::LengthField(LengthField { spec: *spec, limit }),
            FramingSpec::MicroFocus => Reader::MicroFocus(MicroFocus { limit }),
            FramingSpec::Layout => Reader::Layout(Layout { extent: None, limit }),
        }
    }
}

/// Returns the answer if `part` needs `need` bytes from `at` and the input ends before.
pub(crate) fn short(input: &[u8], end: EndOfInput, at: usize, need: usize, part: Part) -> Result<Measure, Wrong> {
    match end {
        EndOfInput::No => Ok(Measure::NeedMore { at_least: at + need, scanned: 0 }),
        EndOfInput::Yes => {
            let rest = &input[at..];
            let kind = FrameFaultKind::Truncated { part, need: need as u64, have: rest.len() as u64 };
            let mark = rest.len() <= 2 && rest.iter().all(|b| matches!(b, b'\r' | b'\n' | 0x15 | 0x1a | 0x25));
            let zeros = rest.iter().all(|b| *b == 0) && !rest.is_empty();
            let cause =
                if mark && !rest.is_empty() { Some(Cause::TrailingMark) } else { zeros.then_some(Cause::Zeros) };
            Err(Wrong { kind, at, cause })
        }
    }
}
