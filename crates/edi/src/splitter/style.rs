//! Delimiters and layout of an interchange.

use super::{LineBreak, Pass, SegmentSplitter};
use crate::delimiters::Delimiters;
use crate::state::{StateReader, StateWriter};

/// Choices of an interchange that all its segments share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The delimiters, including that of ISX.
    pub(crate) delimiters: Delimiters,
    pub(crate) line_break: LineBreak,
    /// The interchange begins with UNA.
    pub(crate) una: bool,
    /// Fifth service character of UNA.
    pub(crate) reserved: u8,
}

impl Style {
    /// The style before the first interchange.
    pub(super) const NONE: Style =
        Style { delimiters: Delimiters::X12, line_break: LineBreak::None, una: false, reserved: b' ' };

    pub(super) fn put_state(&self, out: &mut StateWriter) {
        out.number(self.delimiters.to_bits());
        out.number(match self.line_break {
            LineBreak::None => 0,
            LineBreak::Lf => 1,
            LineBreak::CrLf => 2,
        });
        out.flag(self.una);
        out.number(self.reserved.into());
    }

    pub(super) fn from_state(from: &mut StateReader<'_>) -> Option<Self> {
        Some(Style {
            delimiters: Delimiters::from_bits(from.number()?),
            line_break: match from.number()? {
                0 => LineBreak::None,
                1 => LineBreak::Lf,
                2 => LineBreak::CrLf,
                _ => return None,
            },
            una: from.flag()?,
            reserved: u8::try_from(from.number()?).ok()?,
        })
    }
}

impl SegmentSplitter {
    /// Returns the style of the last interchange that began.
    pub(super) fn style(&self) -> Style {
        Style { delimiters: self.delimiters, line_break: self.line_break, una: self.una, reserved: self.reserved }
    }

    pub(super) fn set_style(&mut self, style: Style) {
        Style { delimiters: self.delimiters, line_break: self.line_break, una: self.una, reserved: self.reserved } =
            style;
    }
}

impl Pass<'_> {
    /// Returns the style of the last interchange that began.
    pub(crate) fn style(&self) -> Style {
        self.splitter.style()
    }

    /// Returns the style of the interchange before the last one that began.
    pub(crate) fn style_before(&self) -> &Style {
        &self.splitter.before
    }
}
