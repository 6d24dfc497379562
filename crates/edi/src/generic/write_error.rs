//! Errors of writing a generic document.

use quayline_core::{Code, Fault, Finding, Place};

/// Error of writing a document.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EdiWriteError {
    /// `EDI-050`: `standard` is missing or unknown.
    #[error("the document's `standard` is not X12 or EDIFACT")]
    Standard,
    /// `EDI-051`: an unusable delimiter.
    #[error(
        "`delimiters` are not usable: each is one character or two hexadecimal digits, no letter, digit or space, all different"
    )]
    Delimiters,
    /// `EDI-052`: a header field that must be there.
    #[error("`{path}` is missing ({reference})")]
    FieldMissing {
        /// Path in documents.
        path: String,
        /// Name in the standard.
        reference: &'static str,
    },
    /// `EDI-053`: a header field that does not fit into a fixed width.
    #[error("`{path}` has {found} characters, {reference} has room for {width}")]
    FieldTooLong {
        /// Path in documents.
        path: String,
        /// Name in the standard.
        reference: &'static str,
        /// Characters.
        found: usize,
        /// Room.
        width: usize,
    },
    /// `EDI-054`: data contains a delimiter, and the interchange has no release character.
    #[error("the data holds the character that is the {what}, and the interchange has no release character")]
    Collision {
        /// The delimiter.
        what: &'static str,
    },
    /// `EDI-055`: an invalid tag.
    #[error("the tag of a segment is not two or three capital letters or digits")]
    Tag,
    /// `EDI-056`: an element in several forms.
    #[error("an element has more than one of `value`, `components`, `repetitions` and `binary`")]
    Element,
    /// `EDI-057`: repetitions in a version that has none.
    #[error("an element is repeated, but the interchange has no repetition separator")]
    Repetition,
    /// `EDI-058`: characters that the character set does not have.
    #[error("the text has a character that {charset} does not have")]
    Character {
        /// Name of the character set.
        charset: &'static str,
    },
    /// `EDI-059`: segments that a transaction cannot hold.
    #[error(
        "the document has an envelope segment among its `segments`: headers are fields, and trailers are written automatically"
    )]
    Envelope,
    /// `EDI-061`: a number with more decimal places than its element has.
    #[error("`{path}` has more decimal places than the {places} of its element")]
    Places {
        /// Path in documents.
        path: String,
        /// Places that the guide gives the element.
        places: u8,
    },
    /// `EDI-060`: a page of a transaction that does not follow its predecessor.
    #[error("page {page} of a transaction does not follow the previous page")]
    Page {
        /// Page number; 0 for an impossible one.
        page: u64,
    },
    /// `EDI-063`: a line break in a text.
    #[error("the text has a line break, which readers of interchanges leave out")]
    LineBreak,
    /// `EDI-064`: a page whose transaction began before the run was resumed.
    #[error(
        "the page continues a transaction that began before the run was resumed, so the transaction cannot be checked"
    )]
    PageBehindCheckpoint,
    /// `EDI-065`: a length that is not that of the binary data.
    #[error("the length of the binary data is not {found}, the number of its bytes")]
    BinaryLength {
        /// Bytes of the data.
        found: usize,
    },
    /// `EDI-066`: an occurrence of a loop without its first segment.
    #[error("`{path}` is missing, and each occurrence of its loop begins with it")]
    LoopStart {
        /// Path of the segment in documents.
        path: String,
    },
    /// `EDI-067`: a segment with the qualifier of another place.
    #[error("`{path}` has a code by which readers take it for `{other}`")]
    OtherPlace {
        /// Path of the segment in documents.
        path: String,
        /// Path of the other segment.
        other: String,
    },
    /// `EDI-062`: a document of 4 GiB or more.
    #[error("the document holds 4 GiB of text or more")]
    TooLong,
}

impl EdiWriteError {
    /// Code of [`EdiWriteError::FieldMissing`], for callers that know the location of the field.
    pub const FIELD_MISSING: Code = Code("EDI-052");

    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        Code(match self {
            EdiWriteError::Standard => "EDI-050",
            EdiWriteError::Delimiters => "EDI-051",
            EdiWriteError::FieldMissing { .. } => EdiWriteError::FIELD_MISSING.0,
            EdiWriteError::FieldTooLong { .. } => "EDI-053",
            EdiWriteError::Collision { .. } => "EDI-054",
            EdiWriteError::Tag => "EDI-055",
            EdiWriteError::Element => "EDI-056",
            EdiWriteError::Repetition => "EDI-057",
            EdiWriteError::Character { .. } => "EDI-058",
            EdiWriteError::Envelope => "EDI-059",
            EdiWriteError::Page { .. } => "EDI-060",
            EdiWriteError::Places { .. } => "EDI-061",
            EdiWriteError::TooLong => "EDI-062",
            EdiWriteError::LineBreak => "EDI-063",
            EdiWriteError::PageBehindCheckpoint => "EDI-064",
            EdiWriteError::BinaryLength { .. } => "EDI-065",
            EdiWriteError::LoopStart { .. } => "EDI-066",
            EdiWriteError::OtherPlace { .. } => "EDI-067",
        })
    }

    /// Converts the error to a finding at the place of the document.
    #[must_use]
    pub fn finding(&self, place: Place) -> Finding {
        let finding = Finding::error(self.code(), Fault::Sender, self.to_string()).at(place);
        match self {
            EdiWriteError::Standard => finding.hint("write `\"standard\":\"X12\"` or `\"standard\":\"EDIFACT\"`"),
            EdiWriteError::Delimiters => {
                finding.hint("give others, or leave `delimiters` out: some that the data does not hold are chosen")
            }
            EdiWriteError::FieldMissing { .. } => {
                finding.hint("give it; only control numbers, counts and trailers are made")
            }
            EdiWriteError::FieldTooLong { .. } => finding.hint("shorten it; widths of ISA are fixed"),
            EdiWriteError::Tag => finding.hint("write tags as the standard has them, such as NM1 or DTM"),
            EdiWriteError::Element => finding.hint("keep one of them: the content of the element says which"),
            EdiWriteError::Places { .. } => finding.hint("round it, or write an element that has the places"),
            EdiWriteError::Collision { .. } => {
                finding.hint("replace the character, for example in the map, or set other `delimiters` in the first document of the interchange")
            }
            EdiWriteError::Repetition => {
                finding.hint("give `delimiters.repetition`, from X12 00402 or EDIFACT syntax 4 on")
            }
            EdiWriteError::Character { .. } => finding.hint("choose UNOY or the character set utf-8"),
            EdiWriteError::Envelope => {
                finding.hint("remove the segment; counts and control numbers are set automatically")
            }
            EdiWriteError::Page { .. } => finding.hint(
                "give the pages of a transaction in order, with the same `transaction`, `group` and `interchange`",
            ),
            EdiWriteError::LineBreak => finding
                .hint("replace line breaks with spaces, for example in the map, or write a segment for each line"),
            EdiWriteError::PageBehindCheckpoint => finding.hint("convert the source again, without `--resume`"),
            EdiWriteError::BinaryLength { found } => {
                finding.hint(format!("write {found} into BIN01 or BDS02: readers find the end of the data by it"))
            }
            EdiWriteError::LoopStart { .. } => finding
                .hint("write it, or leave the occurrence out: readers would add its segments to the occurrence before"),
            EdiWriteError::OtherPlace { .. } => {
                finding.hint("write a code that the guide has for this place, or put the data into the other place")
            }
            EdiWriteError::TooLong => finding.hint("give a transaction in pages, or several transactions"),
        }
    }
}
