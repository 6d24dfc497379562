//! The three levels of an envelope and how each standard calls them.

use crate::delimiters::Standard;

/// Level that a header opens and a trailer closes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Level {
    /// ISA to IEA, UNB to UNZ.
    Interchange,
    /// GS to GE, UNG to UNE.
    Group,
    /// ST to SE, UNH to UNT.
    Transaction,
}

impl Level {
    /// Returns the level and side of an envelope segment by its tag.
    #[inline(always)]
    pub(crate) fn of(standard: Standard, tag: &[u8]) -> Option<(Level, Side)> {
        let found = match (standard, tag) {
            (Standard::X12, b"ST") | (Standard::Edifact, b"UNH") => (Level::Transaction, Side::Header),
            (Standard::X12, b"SE") | (Standard::Edifact, b"UNT") => (Level::Transaction, Side::Trailer),
            (Standard::X12, b"GS") | (Standard::Edifact, b"UNG") => (Level::Group, Side::Header),
            (Standard::X12, b"GE") | (Standard::Edifact, b"UNE") => (Level::Group, Side::Trailer),
            (Standard::X12, b"ISA") | (Standard::Edifact, b"UNB") => (Level::Interchange, Side::Header),
            (Standard::X12, b"IEA") | (Standard::Edifact, b"UNZ") => (Level::Interchange, Side::Trailer),
            _ => return None,
        };
        Some(found)
    }

    pub(crate) fn name(self, standard: Standard) -> &'static str {
        match (self, standard) {
            (Level::Interchange, _) => "interchange",
            (Level::Group, _) => "group",
            (Level::Transaction, Standard::X12) => "transaction set",
            (Level::Transaction, Standard::Edifact) => "message",
        }
    }

    pub(crate) fn outer_name(self, standard: Standard) -> &'static str {
        match self {
            Level::Interchange => "file",
            Level::Group => "interchange",
            Level::Transaction if standard == Standard::X12 => "group",
            Level::Transaction => "interchange or group",
        }
    }

    pub(crate) fn header(self, standard: Standard) -> &'static str {
        match (self, standard) {
            (Level::Interchange, Standard::X12) => "ISA",
            (Level::Group, Standard::X12) => "GS",
            (Level::Transaction, Standard::X12) => "ST",
            (Level::Interchange, Standard::Edifact) => "UNB",
            (Level::Group, Standard::Edifact) => "UNG",
            (Level::Transaction, Standard::Edifact) => "UNH",
        }
    }

    pub(crate) fn trailer(self, standard: Standard) -> &'static str {
        match (self, standard) {
            (Level::Interchange, Standard::X12) => "IEA",
            (Level::Group, Standard::X12) => "GE",
            (Level::Transaction, Standard::X12) => "SE",
            (Level::Interchange, Standard::Edifact) => "UNZ",
            (Level::Group, Standard::Edifact) => "UNE",
            (Level::Transaction, Standard::Edifact) => "UNT",
        }
    }

    pub(crate) fn service_tag(self, standard: Standard, is_trailer: bool) -> &'static str {
        if is_trailer { self.trailer(standard) } else { self.header(standard) }
    }

    pub(crate) fn header_control(self, standard: Standard) -> &'static str {
        match (self, standard) {
            (Level::Interchange, Standard::X12) => "ISA13",
            (Level::Group, Standard::X12) => "GS06",
            (Level::Transaction, Standard::X12) => "ST02",
            (Level::Interchange, Standard::Edifact) => "UNB 0020",
            (Level::Group, Standard::Edifact) => "UNG 0048",
            (Level::Transaction, Standard::Edifact) => "UNH 0062",
        }
    }

    pub(crate) fn trailer_control(self, standard: Standard) -> &'static str {
        match (self, standard) {
            (Level::Interchange, Standard::X12) => "IEA02",
            (Level::Group, Standard::X12) => "GE02",
            (Level::Transaction, Standard::X12) => "SE02",
            (Level::Interchange, Standard::Edifact) => "UNZ 0020",
            (Level::Group, Standard::Edifact) => "UNE 0048",
            (Level::Transaction, Standard::Edifact) => "UNT 0062",
        }
    }

    pub(crate) fn trailer_count(self, standard: Standard) -> &'static str {
        match (self, standard) {
            (Level::Interchange, Standard::X12) => "IEA01",
            (Level::Group, Standard::X12) => "GE01",
            (Level::Transaction, Standard::X12) => "SE01",
            (Level::Interchange, Standard::Edifact) => "UNZ 0036",
            (Level::Group, Standard::Edifact) => "UNE 0060",
            (Level::Transaction, Standard::Edifact) => "UNT 0074",
        }
    }

    pub(crate) fn counted(self, standard: Standard) -> &'static str {
        match (self, standard) {
            (Level::Interchange, Standard::X12) => "groups",
            (Level::Interchange, Standard::Edifact) => "groups or messages",
            (Level::Group, Standard::X12) => "transaction sets",
            (Level::Group, Standard::Edifact) => "messages",
            (Level::Transaction, _) => "segments",
        }
    }

    /// Returns the number of the element with the control number in the header.
    pub(crate) fn control_element(self, standard: Standard) -> u32 {
        match (self, standard) {
            (Level::Interchange, Standard::X12) => 13,
            (Level::Group, Standard::X12) => 6,
            (Level::Transaction, Standard::X12) => 2,
            (Level::Interchange | Level::Group, Standard::Edifact) => 5,
            (Level::Transaction, Standard::Edifact) => 1,
        }
    }
}

/// Side of a level.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Header,
    Trailer,
}
