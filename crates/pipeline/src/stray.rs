//! Bytes of a line end that a framing keeps in its records.

use quayline_core::{ByteOffset, Finding, Place, Severity};
use quayline_frame::{CarriageReturn, FramingSpec, LineEnd, LineSpec};

use crate::codes;
use crate::repeats::{RepeatKey, Repeats, Words};

/// Counts the records that contain such bytes, for readers that do not convert.
#[derive(Debug)]
pub struct StrayLineEnds {
    stray: Option<StrayLineEnd>,
    repeats: Repeats,
}

impl StrayLineEnds {
    /// Begins a count for records in this framing.
    #[must_use]
    pub fn of(framing: &FramingSpec) -> Self {
        StrayLineEnds { stray: StrayLineEnd::of(framing), repeats: Repeats::default() }
    }

    /// Counts a record if it contains the line end. `place` is that of the record.
    pub fn add(&mut self, body: &[u8], place: impl FnOnce() -> Place) {
        if let Some(stray) = self.stray.filter(|stray| stray.is_in(body)) {
            stray.add_to(&mut self.repeats, body, place);
        }
    }

    /// Returns a finding with the number of records since the last call (`CNV-035`, `CNV-038`), if there are any.
    pub fn take(&mut self) -> Vec<Finding> {
        core::mem::take(&mut self.repeats).findings()
    }
}

/// Bytes of a line end that the framing keeps in a record. Files of other systems have such line ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StrayLineEnd {
    /// A CR before the LF of `lines`.
    CarriageReturn,
    /// An LF without its CR in `lines:crlf`: the record may be several lines.
    LineFeed,
}

impl StrayLineEnd {
    /// Returns the line end that records in this framing may contain.
    pub(crate) fn of(framing: &FramingSpec) -> Option<Self> {
        match framing {
            FramingSpec::Lines(LineSpec { end: LineEnd::Lf, carriage_return: CarriageReturn::Keep }) => {
                Some(StrayLineEnd::CarriageReturn)
            }
            FramingSpec::Lines(LineSpec { end: LineEnd::CrLf, .. }) => Some(StrayLineEnd::LineFeed),
            _ => None,
        }
    }

    /// Returns whether a record contains the line end.
    #[inline]
    pub(crate) fn is_in(self, body: &[u8]) -> bool {
        match self {
            StrayLineEnd::CarriageReturn => body.ends_with(b"\r"),
            StrayLineEnd::LineFeed => body.contains(&b'\n'),
        }
    }

    /// Counts a record that contains it.
    #[cold]
    pub(crate) fn add_to(self, repeats: &mut Repeats, body: &[u8], place: impl FnOnce() -> Place) {
        let words = |one: &str, many: &str, hint: &str| Words {
            one: one.to_owned(),
            many: many.to_owned(),
            hint: hint.to_owned(),
            severity: Severity::Warning,
        };
        match self {
            StrayLineEnd::CarriageReturn => repeats.add(codes::CARRIAGE_RETURN, RepeatKey::Others, place, || {
                words(
                    "line ends in CR before its line end, and the CR is a part of the record",
                    "lines end in CR before their line end, and the CR is a part of the record",
                    "for files with CR LF, use `--framing lines:crlf`, or `lines:strip-cr` if only some lines have it",
                )
            }),
            StrayLineEnd::LineFeed => {
                let inside = || {
                    let place = place();
                    let inside = body.iter().position(|byte| *byte == b'\n').unwrap_or(0) as u64;
                    Place { byte: place.byte.map(|byte| ByteOffset(byte.0 + inside)), ..place }
                };
                repeats.add(codes::LINE_FEED, RepeatKey::Others, inside, || {
                    words(
                        "record contains an LF without a CR: it may be several lines",
                        "records contain an LF without a CR: they may be several lines each",
                        codes::LINE_FEED_HINT,
                    )
                });
            }
        }
    }
}
