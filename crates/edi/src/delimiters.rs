//! The service characters of an interchange.

use quayline_charset::DelimiterSet;

/// Family of standards that an interchange follows.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Standard {
    /// ASC X12.
    X12,
    /// UN/EDIFACT, ISO 9735.
    Edifact,
}

impl Standard {
    /// Returns `X12` or `EDIFACT`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Standard::X12 => "X12",
            Standard::Edifact => "EDIFACT",
        }
    }
}

/// Delimiters of one interchange, as given in its header.
///
/// Source: X12.5 (ISA11, ISA16, the bytes after ISA and ISA16), X12.5 ISX01; ISO 9735-1 UNA.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Delimiters {
    /// The family.
    pub standard: Standard,
    /// Between elements.
    pub element: u8,
    /// Between components.
    pub component: u8,
    /// Segment terminator.
    pub terminator: u8,
    /// Between repetitions: X12 from 00402, EDIFACT from syntax 4.
    pub repetition: Option<u8>,
    /// Release character, which makes the next byte data: EDIFACT, and X12 with an ISX segment.
    pub release: Option<u8>,
    /// Decimal mark of numbers: `.` unless UNA specifies `,`.
    pub decimal_mark: u8,
}

impl Delimiters {
    /// Usual delimiters of X12: `*`, `:`, `^`, `~`.
    pub const X12: Delimiters = Delimiters {
        standard: Standard::X12,
        element: b'*',
        component: b':',
        terminator: b'~',
        repetition: Some(b'^'),
        release: None,
        decimal_mark: b'.',
    };

    /// EDIFACT without UNA, syntax 1 to 3, character sets other than UNOB's own: `+`, `:`, `'`, `?`.
    pub const EDIFACT: Delimiters = Delimiters {
        standard: Standard::Edifact,
        element: b'+',
        component: b':',
        terminator: b'\'',
        repetition: None,
        release: Some(b'?'),
        decimal_mark: b'.',
    };

    /// EDIFACT without UNA, syntax 4: as before, with the repetition separator `*`.
    pub const EDIFACT_4: Delimiters = Delimiters { repetition: Some(b'*'), ..Delimiters::EDIFACT };

    /// The separators that ISO 9735 (1988) gives to character set UNOB: information separators 3, 1 and 4, no release character.
    pub const EDIFACT_B: Delimiters =
        Delimiters { element: 0x1d, component: 0x1f, terminator: 0x1c, release: None, ..Delimiters::EDIFACT };

    /// Returns true if the byte is a service character, so that data must release it or cannot contain it.
    #[must_use]
    pub fn is_service(&self, byte: u8) -> bool {
        byte == self.element
            || byte == self.component
            || byte == self.terminator
            || self.repetition == Some(byte)
            || self.release == Some(byte)
    }

    pub(crate) fn set(&self) -> DelimiterSet {
        DelimiterSet {
            element: self.element,
            terminator: self.terminator,
            component: Some(self.component),
            repetition: self.repetition,
            release: self.release,
        }
    }

    /// Encodes the delimiters in 56 bits for a checkpoint: element, component, terminator, decimal mark, repetition, release, then flags for
    /// EDIFACT (1), repetition (2), release (4); low byte first.
    #[must_use]
    pub fn to_bits(&self) -> u64 {
        let flags = u8::from(self.standard == Standard::Edifact)
            | u8::from(self.repetition.is_some()) << 1
            | u8::from(self.release.is_some()) << 2;
        u64::from_le_bytes([
            self.element,
            self.component,
            self.terminator,
            self.decimal_mark,
            self.repetition.unwrap_or(0),
            self.release.unwrap_or(0),
            flags,
            0,
        ])
    }

    /// Decodes the result of [`Delimiters::to_bits`], ignoring the highest byte.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        let [element, component, terminator, decimal_mark, repetition, release, flags, _] = bits.to_le_bytes();
        Delimiters {
            standard: if flags & 1 == 0 { Standard::X12 } else { Standard::Edifact },
            element,
            component,
            terminator,
            repetition: (flags & 2 != 0).then_some(repetition),
            release: (flags & 4 != 0).then_some(release),
            decimal_mark,
        }
    }
}

quayline_core::stored!(enum Standard { 0 X12, 1 Edifact });
