//! Faults of an interchange: position, clause, responsible party and remedy.

use std::sync::Arc;

use quayline_charset::CodeProblem;
use quayline_core::{Code, Fault, Finding, PlaceName, PlacePart, Severity};

use crate::Level;
use crate::content_error::{ContentError, NUMBER_FORM};
use crate::delimiters::Standard;
use crate::position::Position;

/// A fault at a position.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EdiFault {
    /// The error.
    pub error: EdiError,
    /// Position of the fault.
    pub at: Position,
    /// Severity of the fault. Under strict rules, leniencies are errors.
    pub severity: Severity,
    /// Details for acknowledgments in addition to the code; set by the checks of guides.
    pub context: Option<Box<FaultContext>>,
}

/// Details of a fault that acknowledgments repeat (AK3, AK4, IK3, IK4, CTX; UCS, UCD).
#[derive(Clone, Default, Eq, PartialEq)]
pub struct FaultContext {
    /// Tag of the segment; of a missing one, the tag that was expected.
    pub tag: String,
    /// Innermost loop that contains the segment.
    pub loop_id: Option<String>,
    /// Number of the data element in the standard's directory (AK402): `98`, `3035`.
    pub data_element: Option<String>,
    /// Original value (AK404, at most 99 bytes). It is payload: acknowledgments may repeat it, findings do not.
    pub copy: Vec<u8>,
    /// Trigger of a situational requirement (CTX): segment tag, position in the transaction and element.
    pub trigger: Option<(String, Position)>,
}

impl core::fmt::Debug for FaultContext {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // No payload: debug output ends up in logs.
        f.debug_struct("FaultContext").field("tag", &self.tag).field("loop_id", &self.loop_id).finish_non_exhaustive()
    }
}

impl EdiFault {
    /// Converts the fault to a finding; `file` is the name as the user gave it.
    #[must_use]
    pub fn finding(&self, file: Option<&Arc<str>>) -> Finding {
        let mut finding = Finding::error(self.error.code(), Fault::Sender, self.error.to_string());
        finding.severity = self.severity;
        finding.place = self.at.place(file);
        if let Some(clause) = self.error.clause() {
            finding.place.detail = Some(clause.to_owned());
        }
        if let EdiError::Content(content) = &self.error {
            let parts = [(PlaceName::Loops, &content.loops), (PlaceName::Reference, &content.reference)];
            let known = parts.into_iter().filter(|(_, text)| !text.is_empty());
            finding.place.parts.extend(known.map(|(name, text)| (name, PlacePart::Text(text.clone()))));
        }
        finding.hint = self.error.hint();
        finding
    }
}

/// Service character of an interchange.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServiceCharacter {
    /// Between elements.
    Element,
    /// Between components.
    Component,
    /// Between repetitions.
    Repetition,
    /// Segment terminator.
    Terminator,
    /// Release character.
    Release,
}

impl ServiceCharacter {
    fn name(self) -> &'static str {
        match self {
            ServiceCharacter::Element => "element separator",
            ServiceCharacter::Component => "component separator",
            ServiceCharacter::Repetition => "repetition separator",
            ServiceCharacter::Terminator => "segment terminator",
            ServiceCharacter::Release => "release character",
        }
    }
}

/// Character repertoires of ISO 9735 that are smaller than printable ASCII.
///
/// Level A has capital letters, digits, the space and `. , - ( ) / = ' + : ? ! " % & * ; < >`; level B also has small letters. Many partners declare
/// level A and send small letters, which every receiver can read. Therefore a character outside of the level is a leniency: a warning, and an error
/// under strict rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SyntaxLevel {
    /// `UNOA`.
    A,
    /// `UNOB`.
    B,
}

impl SyntaxLevel {
    /// Returns the level of a syntax identifier, if it is one of these.
    #[must_use]
    pub fn of(identifier: &[u8]) -> Option<Self> {
        match identifier {
            b"UNOA" => Some(SyntaxLevel::A),
            b"UNOB" => Some(SyntaxLevel::B),
            _ => None,
        }
    }

    /// Returns true if all ASCII bytes, except line breaks and service characters, are in the level; no control character is. Other bytes are
    /// ignored.
    #[must_use]
    pub fn has_all(self, text: &[u8]) -> bool {
        // Ranges, so that the compiler vectorizes the loop.
        let beyond = |byte: u8| {
            matches!(byte, b'#' | b'$' | b'@' | b'[' | b'\\' | b']' | b'^' | b'_' | b'`' | b'{' | b'|' | b'}' | b'~')
        };
        let small = |byte: u8| self == SyntaxLevel::A && byte.is_ascii_lowercase();
        let control = |byte: u8| byte < 0x20 && byte != b'\r' && byte != b'\n' || byte == 0x7f;
        !text.iter().fold(false, |found, byte| found | beyond(*byte) | small(*byte) | control(*byte))
    }

    fn missing(self) -> &'static str {
        match self {
            SyntaxLevel::A => "such as small letters or #; here and further on in this message",
            SyntaxLevel::B => "such as # or @; here and further on in this message",
        }
    }
}

impl core::fmt::Display for SyntaxLevel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            SyntaxLevel::A => "UNOA",
            SyntaxLevel::B => "UNOB",
        })
    }
}

/// Kind of error. `Display` gives the message without the position; it never contains data.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EdiError {
    /// `EDI-001`: bytes between interchanges.
    #[error(
        "{bytes} bytes here are {}",
        if *has_transactions { "transactions outside any interchange" } else { "neither white space nor part of an interchange" }
    )]
    Noise {
        /// Number of bytes.
        bytes: u64,
        /// True if the bytes contain headers and trailers of transactions.
        has_transactions: bool,
    },
    /// `EDI-002`: nothing in the file is an interchange.
    #[error("no interchange found: nothing begins with ISA, UNA or UNB")]
    NoInterchange,
    /// `EDI-003`: an ISA whose elements do not have their fixed widths.
    #[error("the ISA segment has {found} bytes, expected 106: its elements do not have their fixed widths")]
    IsaWidth {
        /// Bytes with the terminator.
        found: usize,
    },
    /// `EDI-004`: an interchange header that cannot be read.
    #[error("the interchange header is not readable: {why}")]
    Header {
        /// Standard that it seems to be of.
        standard: Standard,
        /// Expected and found.
        why: &'static str,
    },
    /// `EDI-005`: a service character that is a letter, digit or space.
    #[error("the {} is a {kind}", which.name())]
    DelimiterKind {
        /// Standard.
        standard: Standard,
        /// The service character.
        which: ServiceCharacter,
        /// `letter`, `digit` or `space`.
        kind: &'static str,
    },
    /// `EDI-006`: two service characters are the same byte.
    #[error("the {} and the {} are the same character", first.name(), second.name())]
    DelimiterTwice {
        /// Standard.
        standard: Standard,
        /// One.
        first: ServiceCharacter,
        /// The other.
        second: ServiceCharacter,
    },
    /// `EDI-007`: a letter at the position of the repetition separator.
    #[error("ISA11 is a letter or digit, expected a repetition separator in this version")]
    RepetitionKind,
    /// `EDI-008`: a syntax identifier or version that ISO 9735 does not have.
    #[error("the {what} of UNB is not one of ISO 9735")]
    Syntax {
        /// `syntax identifier` or `syntax version`.
        what: &'static str,
    },
    /// `EDI-009`: ISA11 is not `U`. Before version 00402, `U` is its only value.
    #[error("ISA11 is not U, its only value before version 00402; the interchange has no repetition separator")]
    StandardsId,
    /// `EDI-010`: a segment longer than the limit.
    #[error("the segment is longer than {limit} bytes")]
    SegmentTooLong {
        /// `Limits::segment_bytes_max`.
        limit: usize,
    },
    /// `EDI-011`: more elements than the limit.
    #[error("the segment has more than {limit} elements")]
    TooManyElements {
        /// `Limits::segment_elements_max`.
        limit: usize,
    },
    /// `EDI-012`: the input ends inside a segment.
    #[error("the file ends before the segment terminator")]
    Unterminated,
    /// `EDI-013`: line breaks inside a segment.
    #[error("a line break is inside a segment; it is left out, here and later in this interchange")]
    LineBreakInside,
    /// `EDI-014`: line breaks or spaces after a terminator, under strict rules.
    #[error("white space follows a segment terminator")]
    BreakBehind,
    /// `EDI-015`: a binary segment without a usable length.
    #[error("the length of the binary data is not a number")]
    BinaryLength,
    /// `EDI-016`: binary data longer than the limit.
    #[error("the binary data has {declared} bytes by its length, more than {limit}")]
    BinaryTooLong {
        /// Length that the segment declares.
        declared: u64,
        /// `Limits::record_bytes_max`.
        limit: usize,
    },
    /// `EDI-017`: the input ends inside binary data.
    #[error("the binary data has {declared} bytes by its length, but only {found} are left in the file")]
    BinaryCut {
        /// Value that the segment declares.
        declared: u64,
        /// Actual value.
        found: u64,
    },
    /// `EDI-018`: a missing terminator after binary data, or a missing UNP after the object of a package.
    #[error("the binary data does not end where its length says")]
    BinaryEnd,
    /// `EDI-019`: a segment without a proper tag.
    #[error(
        "a segment begins with {bytes} bytes that are not a tag, expected {} capital letters or digits",
        if *standard == Standard::X12 { "two or three" } else { "three" }
    )]
    Tag {
        /// Standard. Tags of EDIFACT have three characters.
        standard: Standard,
        /// Bytes before the first separator.
        bytes: usize,
    },
    /// `EDI-020`: a terminator directly after another.
    #[error("a segment is empty")]
    Empty,
    /// `EDI-030`: a header without its trailer.
    #[error("{} is missing: the {} is not closed", level.trailer(*standard), level.name(*standard))]
    TrailerMissing {
        /// Standard.
        standard: Standard,
        /// The unclosed level.
        level: Level,
    },
    /// `EDI-031`: a trailer without its header.
    #[error("{} is here, but no {} is open", level.trailer(*standard), level.name(*standard))]
    TrailerAlone {
        /// Standard.
        standard: Standard,
        /// The level that is not open.
        level: Level,
    },
    /// `EDI-032`: control numbers of header and trailer differ.
    #[error("{} and {} differ: the control numbers of a header and its trailer must be equal", level.header_control(*standard), level.trailer_control(*standard))]
    ControlDiffers {
        /// Standard.
        standard: Standard,
        /// The level.
        level: Level,
    },
    /// `EDI-033`: the count in a trailer is wrong.
    #[error("{} declares {declared} {}, counted {counted}", level.trailer_count(*standard), level.counted(*standard))]
    CountDiffers {
        /// Standard.
        standard: Standard,
        /// Level of the trailer.
        level: Level,
        /// Count in the trailer.
        declared: u64,
        /// Actual count.
        counted: u64,
    },
    /// `EDI-034`: a count that is not a number.
    #[error("{} is not a number, expected {counted} ({})", level.trailer_count(*standard), level.counted(*standard))]
    CountFormat {
        /// Standard.
        standard: Standard,
        /// Level of the trailer.
        level: Level,
        /// Actual count.
        counted: u64,
    },
    /// `EDI-035`: a segment outside of transactions that does not belong there.
    #[error("the segment, and all up to the next header, are outside any {}", Level::Transaction.name(*standard))]
    Outside {
        /// Standard.
        standard: Standard,
    },
    /// `EDI-036`: a group inside a group.
    #[error("{} is inside a {} that is still open", level.header(*standard), level.name(*standard))]
    Nested {
        /// Standard.
        standard: Standard,
        /// The nested level.
        level: Level,
    },
    /// `EDI-037`: a header element that is missing.
    #[error("{name} is missing")]
    FieldMissing {
        /// Standard.
        standard: Standard,
        /// Level of the header.
        level: Level,
        /// Name in the standard, such as `GS06`.
        name: &'static str,
    },
    /// `EDI-038`: a header element does not have the required format.
    #[error("{name} is not {expected}")]
    FieldFormat {
        /// Standard.
        standard: Standard,
        /// Level of the header.
        level: Level,
        /// Name in the standard.
        name: &'static str,
        /// Required format.
        expected: &'static str,
    },
    /// `EDI-039`: a control number was already used.
    #[error("{} stood before in this {}", level.header_control(*standard), level.outer_name(*standard))]
    ControlTwice {
        /// Standard.
        standard: Standard,
        /// Level of the control number.
        level: Level,
    },
    /// `EDI-040`: groups and messages side by side, or a transaction set outside of a group.
    #[error("{}", if *standard == Standard::X12 { "ST is outside a functional group" } else { "the interchange has both groups and messages outside of groups" })]
    GroupsMixed {
        /// Standard.
        standard: Standard,
    },
    /// `EDI-041`: bytes that are not in the character set of the interchange.
    #[error(
        "the text has bytes that are not in its character set; they are read as ISO-8859-1, here and further on in this interchange"
    )]
    Characters,
    /// `EDI-042`: elements of a header or trailer that documents have no field for.
    #[error("{} has elements that the standard does not have; documents leave them out", level.service_tag(*standard, *in_trailer))]
    EnvelopeElements {
        /// Standard.
        standard: Standard,
        /// Level of the header or trailer.
        level: Level,
        /// True for elements of the trailer.
        in_trailer: bool,
    },
    /// `EDI-043`: more elements than the table has columns.
    #[error("the segment has more than {limit} elements, for which the table of segments has columns")]
    Columns {
        /// Columns.
        limit: usize,
    },
    /// `EDI-044`: a transaction that no guide is for.
    #[error("none of the guides is for {asked}, so the transaction cannot be read or checked by one")]
    NoGuide {
        /// Standard.
        standard: Standard,
        /// Transaction and version that the headers name.
        asked: Box<str>,
        /// Transactions that have guides.
        known: Box<str>,
    },
    /// `EDI-045`: content that documents by guide cannot represent.
    #[error("{}", if *together { "the loop or segment recurs after others; documents by guide have its repetitions together, so it is left out" } else { "the guide has no place for this; the document leaves it out" })]
    NotInDocument {
        /// True for a loop whose repetitions are not adjacent.
        together: bool,
    },
    /// `EDI-132`: a number with implied decimals that has a decimal mark, which documents do not keep.
    #[error(
        "an element with implied decimals has a decimal mark or an exponent; documents have its text, and Quayline writes the number without them"
    )]
    ImpliedMark,
    /// `EDI-046`: text by code extension that cannot be read.
    #[error("{problem}; what cannot be read is left out")]
    CodeExtension {
        /// The unknown or wrong code.
        problem: CodeProblem,
    },
    /// `EDI-047`: a transaction set of another implementation guide than its group.
    #[error("ST03 names another implementation guide than GS08")]
    ImplementationDiffers,
    /// `EDI-048`: characters that the syntax level of UNB does not have.
    #[error("the text has characters that {level} does not have, {}", level.missing())]
    Repertoire {
        /// The level.
        level: SyntaxLevel,
    },
    /// `EDI-026`: a segment without elements.
    #[error("the segment has no elements")]
    NoElements,
    /// `EDI-048`: control characters.
    #[error(
        "the text has control characters, which no character set of the standard has, here and later in this message"
    )]
    Controls,
    /// `EDI-049`: a message that is not of its group.
    #[error("{message} differs from {group}: all messages of a group are of its type and version")]
    MessageDiffers {
        /// Element of UNH.
        message: &'static str,
        /// Element of UNG.
        group: &'static str,
    },
    /// `EDI-049`: a transaction set in a functional group of another kind.
    #[error("GS01 is not {expected}, the functional group of transaction set {transaction}")]
    GroupDiffers {
        /// ST01.
        transaction: Box<str>,
        /// GS01 of the guide for it.
        expected: Box<str>,
    },
    /// `EDI-024`: a date or time with the digits of another version.
    #[error("{name} has {found} digits, expected {expected} in this version")]
    DateWidth {
        /// Standard.
        standard: Standard,
        /// Level of the header.
        level: Level,
        /// Name in the standard.
        name: &'static str,
        /// Digits that the version has.
        expected: usize,
        /// Digits found.
        found: usize,
    },
    /// `EDI-025`: control numbers that are equal as numbers, but not as text.
    #[error("{} and {} have different leading zeros: the control numbers of a header and its trailer must be identical", level.header_control(*standard), level.trailer_control(*standard))]
    ControlZeros {
        /// Standard.
        standard: Standard,
        /// The level.
        level: Level,
    },
    /// `EDI-021`: a package (UNO to UNP), which Quayline does not support.
    #[error("a package (UNO to UNP) is not supported")]
    Package,
    /// `EDI-022`: two segments with no terminator between them.
    #[error(
        "the segment terminator before {tag} is missing: an element ends with this tag, and the guide allows the segment here"
    )]
    TerminatorMissing {
        /// Tag of the second segment.
        tag: Box<str>,
    },
    /// `EDI-023`: explicit nesting in a tag.
    #[error(
        "a tag has explicit nesting (`LIN:1`), which documents do not have; it is left out, here and later in this interchange"
    )]
    Nesting,
    /// `EDI-027`: bytes that are invalid in a character set of several bytes a character. They have no text that is written as the same bytes.
    #[error("the text has bytes that are not valid {charset}")]
    Encoding {
        /// Name of the character set.
        charset: &'static str,
    },
    /// `EDI-028`: a release character before a character that is not a service character.
    #[error(
        "a release character precedes a character that needs none; it is left out, here and later in this interchange"
    )]
    NeedlessRelease,
    /// `EDI-022`: no terminator between a trailer and the next interchange.
    #[error("the segment terminator before {tag} is missing: the header of another interchange follows the trailer")]
    TrailerMerged {
        /// Tag of the header.
        tag: Box<str>,
    },
    /// `EDI-029`: the header of another interchange inside a segment.
    #[error("the interchange is cut off inside this segment: the header of another interchange ({tag}) begins in it")]
    HeaderInside {
        /// Tag of the header.
        tag: Box<str>,
    },
    /// `EDI-101` to `EDI-132`: something that the guide of the transaction does not allow.
    #[error("{0}")]
    Content(Box<ContentError>),
}

impl EdiError {
    /// Returns the stable code.
    #[must_use]
    pub const fn code(&self) -> Code {
        Code(match self {
            EdiError::Noise { .. } => "EDI-001",
            EdiError::NoInterchange => "EDI-002",
            EdiError::IsaWidth { .. } => "EDI-003",
            EdiError::Header { .. } => "EDI-004",
            EdiError::DelimiterKind { .. } => "EDI-005",
            EdiError::DelimiterTwice { .. } => "EDI-006",
            EdiError::RepetitionKind => "EDI-007",
            EdiError::Syntax { .. } => "EDI-008",
            EdiError::StandardsId => "EDI-009",
            EdiError::SegmentTooLong { .. } => "EDI-010",
            EdiError::TooManyElements { .. } => "EDI-011",
            EdiError::Unterminated => "EDI-012",
            EdiError::LineBreakInside => "EDI-013",
            EdiError::Nesting => "EDI-023",
            EdiError::DateWidth { .. } => "EDI-024",
            EdiError::NoElements => "EDI-026",
            EdiError::ControlZeros { .. } => "EDI-025",
            EdiError::Encoding { .. } => "EDI-027",
            EdiError::NeedlessRelease => "EDI-028",
            EdiError::HeaderInside { .. } => "EDI-029",
            EdiError::BreakBehind => "EDI-014",
            EdiError::BinaryLength => "EDI-015",
            EdiError::BinaryTooLong { .. } => "EDI-016",
            EdiError::BinaryCut { .. } => "EDI-017",
            EdiError::BinaryEnd => "EDI-018",
            EdiError::Tag { .. } => "EDI-019",
            EdiError::Empty => "EDI-020",
            EdiError::Package => "EDI-021",
            EdiError::TerminatorMissing { .. } | EdiError::TrailerMerged { .. } => "EDI-022",
            EdiError::TrailerMissing { .. } => "EDI-030",
            EdiError::TrailerAlone { .. } => "EDI-031",
            EdiError::ControlDiffers { .. } => "EDI-032",
            EdiError::CountDiffers { .. } => "EDI-033",
            EdiError::CountFormat { .. } => "EDI-034",
            EdiError::Outside { .. } => "EDI-035",
            EdiError::Nested { .. } => "EDI-036",
            EdiError::FieldMissing { .. } => "EDI-037",
            EdiError::FieldFormat { .. } => "EDI-038",
            EdiError::ControlTwice { .. } => "EDI-039",
            EdiError::GroupsMixed { .. } => "EDI-040",
            EdiError::Characters => "EDI-041",
            EdiError::EnvelopeElements { .. } => "EDI-042",
            EdiError::Columns { .. } => "EDI-043",
            EdiError::NoGuide { .. } => "EDI-044",
            EdiError::NotInDocument { .. } => "EDI-045",
            EdiError::ImpliedMark => NUMBER_FORM,
            EdiError::CodeExtension { .. } => "EDI-046",
            EdiError::ImplementationDiffers => "EDI-047",
            EdiError::Repertoire { .. } | EdiError::Controls => "EDI-048",
            EdiError::GroupDiffers { .. } | EdiError::MessageDiffers { .. } => "EDI-049",
            EdiError::Content(error) => error.code(),
        })
    }

    /// Returns true if reading continues as if there were no error, unless strict rules apply.
    #[must_use]
    pub fn is_leniency(&self) -> bool {
        matches!(
            self,
            EdiError::Noise { has_transactions: false, .. }
                | EdiError::IsaWidth { .. }
                | EdiError::RepetitionKind
                | EdiError::StandardsId
                | EdiError::Syntax { .. }
                | EdiError::LineBreakInside
                | EdiError::NeedlessRelease
                | EdiError::Nesting
                | EdiError::Empty
                | EdiError::NoElements
                | EdiError::MessageDiffers { .. }
                | EdiError::DateWidth { .. }
                | EdiError::ControlZeros { .. }
                | EdiError::Characters
                | EdiError::Repertoire { .. }
                | EdiError::Controls
                | EdiError::EnvelopeElements { .. }
                | EdiError::ImpliedMark
        )
    }

    /// Returns the violated clause, if there is one.
    #[must_use]
    pub fn clause(&self) -> Option<&'static str> {
        use Standard::{Edifact, X12};
        match self {
            EdiError::Noise { .. }
            | EdiError::NoInterchange
            | EdiError::NotInDocument { .. }
            | EdiError::ImpliedMark => None,
            EdiError::NoGuide { standard: X12, .. } => Some("X12.6, ST01, ST03 and GS08"),
            EdiError::NoGuide { standard: Edifact, .. } => Some("ISO 9735-1, UNH S009"),
            EdiError::SegmentTooLong { .. } | EdiError::TooManyElements { .. } | EdiError::Columns { .. } => None,
            EdiError::Content(error) => Some(error.clause()),
            EdiError::IsaWidth { .. } => Some("X12.5, ISA: elements of fixed length"),
            EdiError::Header { standard: X12, .. } => Some("X12.5, ISA"),
            EdiError::Header { standard: Edifact, .. } => Some("ISO 9735-1, UNA and UNB"),
            EdiError::DelimiterKind { standard: X12, .. } | EdiError::DelimiterTwice { standard: X12, .. } => {
                Some("X12.6, delimiters")
            }
            EdiError::DelimiterKind { standard: Edifact, .. } | EdiError::DelimiterTwice { standard: Edifact, .. } => {
                Some("ISO 9735-1, service characters")
            }
            EdiError::RepetitionKind => Some("X12.5, ISA11 from version 00402"),
            EdiError::StandardsId => Some("X12.5, ISA11 before version 00402"),
            EdiError::Nesting => Some("ISO 9735 before syntax version 4, nesting of segments"),
            EdiError::Package => Some("ISO 9735-8, UNO and UNP"),
            EdiError::Syntax { .. } => Some("ISO 9735-1, UNB S001"),
            EdiError::Unterminated
            | EdiError::TerminatorMissing { .. }
            | EdiError::TrailerMerged { .. }
            | EdiError::HeaderInside { .. }
            | EdiError::Tag { .. }
            | EdiError::Empty
            | EdiError::NoElements => Some("X12.6 and ISO 9735-1, segments"),
            EdiError::CodeExtension { .. } => Some("ISO 9735-1, character repertoires (UNOX), and ISO/IEC 2022"),
            EdiError::ImplementationDiffers => Some("X12.6, ST03 and GS08"),
            EdiError::GroupDiffers { .. } => Some("X12.6, GS01 and ST01"),
            EdiError::MessageDiffers { .. } => Some("ISO 9735-1, UNG and UNH"),
            EdiError::Repertoire { .. } => Some("ISO 9735-1, character repertoires, levels A and B"),
            EdiError::Encoding { .. } => Some("ISO 9735-1, character repertoires, and ISO/IEC 10646"),
            EdiError::NeedlessRelease => Some("X12.6 and ISO 9735-1, release character"),
            EdiError::LineBreakInside | EdiError::BreakBehind | EdiError::Characters | EdiError::Controls => {
                Some("X12.6, character set, and ISO 9735-1, character repertoires")
            }
            EdiError::BinaryLength
            | EdiError::BinaryTooLong { .. }
            | EdiError::BinaryCut { .. }
            | EdiError::BinaryEnd => Some("X12.22, BIN and BDS, and ISO 9735-8, UNO"),
            EdiError::TrailerMissing { standard, .. }
            | EdiError::TrailerAlone { standard, .. }
            | EdiError::ControlDiffers { standard, .. }
            | EdiError::CountDiffers { standard, .. }
            | EdiError::CountFormat { standard, .. }
            | EdiError::Outside { standard }
            | EdiError::Nested { standard, .. }
            | EdiError::FieldMissing { standard, .. }
            | EdiError::FieldFormat { standard, .. }
            | EdiError::DateWidth { standard, .. }
            | EdiError::ControlZeros { standard, .. }
            | EdiError::ControlTwice { standard, .. }
            | EdiError::EnvelopeElements { standard, .. }
            | EdiError::GroupsMixed { standard } => Some(match standard {
                X12 => "X12.5 and X12.6, control segments",
                Edifact => "ISO 9735-1, service segments",
            }),
        }
    }

    /// Returns the remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            EdiError::Noise { has_transactions: true, .. } => {
                "look for the damaged header of an interchange (ISA or UNB) before them, and convert them again with it"
            }
            EdiError::Noise { .. } => "remove what is not EDI, such as mail headers, if it should not be there",
            EdiError::NoGuide { known, .. } => {
                return Some(format!("give a guide for it; there are guides for {known}"));
            }
            EdiError::ImpliedMark => "write its digits only, with the decimal places that the guide implies",
            EdiError::NotInDocument { together: true } => "put the loops or segments of the same kind together",
            EdiError::NotInDocument { together: false } => {
                "correct the data, or add what it has to the guide, for example by an overlay"
            }
            EdiError::NoInterchange => {
                "TRADACOMS (STX) and interactive EDIFACT (UIB) are not supported; `quayline inspect --as data` proposes what else the file may be"
            }
            EdiError::IsaWidth { .. } => {
                "pad ISA01 to ISA16 with spaces to 2, 10, 2, 10, 2, 15, 2, 15, 6, 4, 1, 5, 9, 1, 1, 1"
            }
            EdiError::Header { standard: Standard::X12, .. } => {
                "an ISA segment has 16 elements, a component separator as ISA16, and a terminator; what follows is passed over up to the next interchange"
            }
            EdiError::Header { standard: Standard::Edifact, .. } => {
                "write UNA with all six service characters, then UNB; without UNA the separators are + : ? '; interactive EDIFACT (UIB) is not supported; \
                 what follows is passed over up to the next interchange"
            }
            EdiError::DelimiterTwice {
                standard: Standard::X12,
                first: ServiceCharacter::Element,
                second: ServiceCharacter::Terminator,
            } => {
                "ISA has 16 elements, and the terminator follows ISA16: remove what is between them; until then the interchange is passed over"
            }
            EdiError::DelimiterKind { .. } | EdiError::DelimiterTwice { .. } => {
                "choose different characters that the data does not hold, such as * : ^ ~; until then the interchange is passed over"
            }
            EdiError::RepetitionKind => "write a repetition separator such as ^ into ISA11",
            EdiError::StandardsId => "write U to ISA11, or write the actual version of the interchange to ISA12",
            EdiError::Package => {
                "ask the sender to send the object outside the interchange, or remove the package and reduce the count in UNZ or UNE"
            }
            EdiError::Syntax { .. } => "write UNOA to UNOL, UNOW, UNOX or UNOY and a version from 1 to 4",
            EdiError::SegmentTooLong { .. } => {
                "look for a missing segment terminator, or allow more with `--limit segment-bytes=N`"
            }
            EdiError::TooManyElements { .. } => {
                "look for a missing segment terminator, or allow more with `--limit segment-elements=N`"
            }
            EdiError::Unterminated => "the file may have been cut off in transfer; send it again whole",
            EdiError::Nesting => "send the segments in the order of the message, without numbers in their tags",
            EdiError::LineBreakInside => "the file may have been wrapped in transfer; send it as binary",
            EdiError::NeedlessRelease => {
                "write the release character twice where the text has it (`WHY?? NOW`), or leave it out"
            }
            EdiError::Encoding { .. } => {
                "name the actual character set with `--encoding`, such as iso-8859-1; in EDIFACT, the sender names ISO 8859-1 as UNOC"
            }
            EdiError::BreakBehind => "write segments without line breaks between them, or leave strict rules off",
            EdiError::BinaryLength | EdiError::BinaryEnd => "write the number of bytes of the binary data before it",
            EdiError::BinaryTooLong { .. } => "allow more with `--limit record-bytes=N`",
            EdiError::BinaryCut { .. } => {
                "the file may have been cut off or its line ends changed; send it again as binary"
            }
            EdiError::TerminatorMissing { tag } | EdiError::TrailerMerged { tag } => {
                return Some(format!("write the terminator before {tag}; the check continues as if it were there"));
            }
            EdiError::HeaderInside { .. } => {
                "send the first interchange again whole; Quayline reads the second as usual"
            }
            EdiError::Tag { .. } => {
                "write tags in capital letters, or look for a stray or missing segment terminator just before"
            }
            EdiError::NoElements => "write an element, or leave the segment out",
            EdiError::Empty => "leave out the superfluous segment terminator",
            EdiError::TrailerMissing { .. } => {
                "look for where the rest went; the file may have been cut off or put together wrongly"
            }
            EdiError::TrailerAlone { .. } => "look for a missing header, or remove the trailer",
            EdiError::ControlDiffers { .. } | EdiError::ControlZeros { .. } => {
                "write the header's control number into the trailer"
            }
            EdiError::DateWidth { expected: 4, .. } => "write the time as HHMM",
            EdiError::DateWidth { expected: 6, .. } => "write the date as YYMMDD",
            EdiError::DateWidth { .. } => "write the date as CCYYMMDD",
            EdiError::MessageDiffers { .. } => "write the same value in both, or put the message into another group",
            EdiError::CountDiffers { counted, .. } | EdiError::CountFormat { counted, .. } => {
                return Some(format!("write {counted}, or look for what is missing or superfluous"));
            }
            EdiError::Outside { .. } => "move them into a transaction or remove them",
            EdiError::Nested { .. } => "close the open one with its trailer first",
            EdiError::FieldMissing { .. } | EdiError::FieldFormat { .. } => return None,
            EdiError::ControlTwice { .. } => "give each its own control number; this one may have been sent twice",
            EdiError::Characters => {
                "agree on a character set with the partner and name it, such as utf-8; EDIFACT names it in UNB"
            }
            EdiError::CodeExtension { .. } => {
                "send the interchange in a character set that has the text, such as UTF-8 with UNOW or UNOY, or name its character set if it is not by code extension"
            }
            EdiError::ImplementationDiffers => {
                "write the value of GS08 into ST03, or put the transaction set into a group of its own guide"
            }
            EdiError::Repertoire { .. } => "name a larger set in UNB, such as UNOC, or leave the characters out",
            EdiError::Controls => "leave the characters out",
            EdiError::GroupDiffers { expected, .. } => {
                return Some(format!("put the transaction set into a functional group with {expected} in GS01"));
            }
            EdiError::EnvelopeElements { .. } => "remove them, or look for a superfluous separator before them",
            EdiError::Content(error) => return Some(error.hint()),
            EdiError::Columns { .. } => "choose documents of transactions, which have no such limit",
            EdiError::GroupsMixed { standard: Standard::X12 } => "write GS before it and GE after it",
            EdiError::GroupsMixed { standard: Standard::Edifact } => "put all messages into groups, or none",
        };
        Some(hint.to_owned())
    }
}
