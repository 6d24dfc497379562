//! Data description entries as written, before anything is inherited or computed.

use super::literal::{Condition, Literal};
use super::source::Span;
use crate::picture::Picture;

/// One entry of level 01 to 49, 66 or 77. Level-88 entries hang on the entry they belong to.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) level: u8,
    /// Name or `FILLER`.
    pub(crate) name: String,
    pub(crate) filler: bool,
    /// Position of the name, or of the level number if the name is missing.
    pub(crate) at: Span,
    pub(crate) redefines: Option<(Reference, Span)>,
    pub(crate) renames: Option<Renames>,
    pub(crate) picture: Option<(Picture, Span)>,
    pub(crate) usage: Option<(Usage, Span)>,
    pub(crate) group_usage: Option<(Usage, Span)>,
    pub(crate) sign: Option<(Sign, Span)>,
    pub(crate) occurs: Option<OccursClause>,
    pub(crate) synchronized: Option<Span>,
    pub(crate) justified: Option<Span>,
    pub(crate) blank_when_zero: Option<Span>,
    pub(crate) byte_length: Option<(usize, Span)>,
    pub(crate) value: Option<(Literal, Span)>,
    pub(crate) external: bool,
    pub(crate) global: bool,
    pub(crate) conditions: Vec<Condition>,
    /// The section or file of the entry.
    pub(crate) section: Option<super::Section>,
    pub(crate) file_name: Option<String>,
    /// A clause was wrong and is reported, so missing clauses need no finding of their own.
    pub(crate) broken: bool,
}

impl Entry {
    pub(crate) fn new(level: u8, at: Span) -> Self {
        Entry {
            level,
            name: "FILLER".to_owned(),
            filler: true,
            at,
            redefines: None,
            renames: None,
            picture: None,
            usage: None,
            group_usage: None,
            sign: None,
            occurs: None,
            synchronized: None,
            justified: None,
            blank_when_zero: None,
            byte_length: None,
            value: None,
            external: false,
            global: false,
            conditions: Vec::new(),
            section: None,
            file_name: None,
            broken: false,
        }
    }
}

/// `name OF group OF record`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Reference {
    pub(crate) name: String,
    /// Innermost first.
    pub(crate) qualifiers: Vec<String>,
    pub(crate) at: Span,
}

impl Reference {
    pub(crate) fn shown(&self) -> String {
        let mut text = self.name.clone();
        for qualifier in &self.qualifiers {
            text.push_str(" OF ");
            text.push_str(qualifier);
        }
        text
    }
}

/// `RENAMES a [THRU b]`.
#[derive(Clone, Debug)]
pub(crate) struct Renames {
    pub(crate) from: Reference,
    pub(crate) thru: Option<Reference>,
}

/// OCCURS.
#[derive(Clone, Debug)]
pub(crate) struct OccursClause {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) depending_on: Option<Reference>,
    pub(crate) at: Span,
}

/// SIGN.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Sign {
    pub(crate) leading: bool,
    pub(crate) separate: bool,
}

/// USAGE.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Usage {
    Display,
    /// COMP, COMP-4, BINARY.
    Binary,
    Comp1,
    Comp2,
    Packed,
    Comp5,
    CompX,
    CompN,
    Comp6,
    National,
    Display1,
    Utf8,
    Index,
    Pointer,
    Pointer32,
    ProcedurePointer,
    FunctionPointer,
    /// BINARY-CHAR, -SHORT, -LONG, -DOUBLE: bytes and sign.
    Native {
        bytes: u8,
        signed: bool,
    },
    FloatShort,
    FloatLong,
}

impl Usage {
    /// Returns the usage as normalised text, empty for DISPLAY.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Usage::Display => "",
            Usage::Binary => "COMP",
            Usage::Comp1 => "COMP-1",
            Usage::Comp2 => "COMP-2",
            Usage::Packed => "COMP-3",
            Usage::Comp5 => "COMP-5",
            Usage::CompX => "COMP-X",
            Usage::CompN => "COMP-N",
            Usage::Comp6 => "COMP-6",
            Usage::National => "NATIONAL",
            Usage::Display1 => "DISPLAY-1",
            Usage::Utf8 => "UTF-8",
            Usage::Index => "INDEX",
            Usage::Pointer => "POINTER",
            Usage::Pointer32 => "POINTER-32",
            Usage::ProcedurePointer => "PROCEDURE-POINTER",
            Usage::FunctionPointer => "FUNCTION-POINTER",
            Usage::Native { bytes: 1, signed: true } => "BINARY-CHAR",
            Usage::Native { bytes: 2, signed: true } => "BINARY-SHORT",
            Usage::Native { bytes: 4, signed: true } => "BINARY-LONG",
            Usage::Native { signed: true, .. } => "BINARY-DOUBLE",
            Usage::Native { bytes: 1, signed: false } => "BINARY-CHAR UNSIGNED",
            Usage::Native { bytes: 2, signed: false } => "BINARY-SHORT UNSIGNED",
            Usage::Native { bytes: 4, signed: false } => "BINARY-LONG UNSIGNED",
            Usage::Native { signed: false, .. } => "BINARY-DOUBLE UNSIGNED",
            Usage::FloatShort => "FLOAT-SHORT",
            Usage::FloatLong => "FLOAT-LONG",
        }
    }

    /// Returns whether an item of this usage has a PICTURE.
    pub(crate) fn has_picture(self) -> bool {
        matches!(
            self,
            Usage::Display
                | Usage::Binary
                | Usage::Packed
                | Usage::Comp5
                | Usage::CompX
                | Usage::CompN
                | Usage::Comp6
                | Usage::National
                | Usage::Display1
                | Usage::Utf8
        )
    }
}
