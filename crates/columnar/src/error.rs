//! Errors: documents refused while columns are built, and outputs that cannot be written.

use core::fmt;

use quayline_core::{Code, Fault, Finding, Findings, Place};

/// Reason why the document that was left last is not in the columns. Its rows were removed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// The first causes, at most [`Refusal::CAUSES_MAX`].
    causes: Vec<Cause>,
    /// Causes beyond those.
    more: usize,
}

impl Refusal {
    /// Causes of one document that are kept; later ones are counted.
    pub const CAUSES_MAX: usize = 16;

    pub(crate) fn new() -> Self {
        Refusal { causes: Vec::new(), more: 0 }
    }

    pub(crate) fn add(&mut self, cause: Cause) {
        if self.causes.len() < Self::CAUSES_MAX {
            self.causes.push(cause);
        } else {
            self.more += 1;
        }
    }

    /// Converts the error into one finding for each cause, at `place` (file, record, byte), with the path of the value.
    #[must_use]
    pub fn findings(&self, place: &Place) -> Findings {
        let mut findings: Vec<Finding> = self.causes.iter().map(|cause| cause.finding(place)).collect();
        if self.more > 0
            && let Some(last) = findings.last_mut()
        {
            last.message.push_str(&format!("; {} more values of this document do not fit", self.more));
        }
        Findings(findings)
    }
}

/// One value that a column cannot take.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Cause {
    /// Path in the document, `A.B[0].C`.
    pub(crate) path: String,
    /// Description of the column's type for messages.
    pub(crate) expected: String,
    pub(crate) reason: Reason,
}

/// Reasons to refuse a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reason {
    /// More digits than the column has.
    Precision,
    /// Non-zero digits after the column's last decimal.
    Inexact,
    /// The value has another type.
    Mismatch(&'static str),
    /// Invalid bytes kept by policy.
    Raw,
    /// Text that is not UTF-8.
    Utf8,
    /// A second value in one parent.
    Twice,
    /// More than a column of one batch can address.
    TooMuch,
}

impl Cause {
    fn finding(&self, place: &Place) -> Finding {
        let expected = &self.expected;
        let finding = match self.reason {
            Reason::Precision => Finding::error(
                Code("COL-010"),
                Fault::Sender,
                format!("the number has more digits than the column: expected {expected}"),
            )
            .hint("declare the field with more digits, or let its binary usage take the full range"),
            Reason::Inexact => Finding::error(
                Code("COL-011"),
                Fault::Sender,
                format!("the number has non-zero digits after the column's last: expected {expected}"),
            )
            .hint("declare the field with more decimals; nothing is rounded silently"),
            Reason::Mismatch(found) => {
                Finding::error(Code("COL-012"), Fault::Sender, format!("found {found}, expected {expected}"))
                    .hint("give the field the type of its values")
            }
            Reason::Raw => Finding::error(
                Code("COL-013"),
                Fault::Sender,
                format!("found bytes that are not a value of the field, expected {expected}"),
            )
            .hint("keep invalid values as null, or write a format with text values, where they stay as 0x.."),
            Reason::Utf8 => Finding::error(
                Code("COL-014"),
                Fault::Ours,
                format!("found text that is not UTF-8, expected {expected}"),
            )
            .hint("please report this: the reader of this format promises UTF-8"),
            Reason::Twice => Finding::error(
                Code("COL-015"),
                Fault::Sender,
                format!("found a second value, expected at most one of {expected}"),
            )
            .hint("make it a list, or remove the second value"),
            Reason::TooMuch => Finding::error(
                Code("COL-016"),
                Fault::Sender,
                "the document takes a column of this batch past 2^30 bytes or entries",
            )
            .hint("write smaller batches or split the document"),
        };
        finding.at(Place { path: Some(self.path.clone()), ..place.clone() })
    }
}

/// A batch or file that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// The output refused bytes.
    #[error("cannot write the output: {0}")]
    Output(#[source] std::io::Error),
    /// The Arrow or Parquet library refused its input.
    #[error("the {library} library refused our columns: {message}")]
    Library {
        /// `arrow` or `parquet`.
        library: &'static str,
        /// Message of the library. It names types and positions, not values.
        message: String,
    },
    /// Refusals were not taken, so documents would have been lost silently.
    #[error("{count} refused documents were not reported")]
    RefusalsNotTaken {
        /// Number of refusals.
        count: u64,
    },
    /// A batch was requested within a document.
    #[error("a batch was requested before the document was complete")]
    DocumentOpen,
    /// The batch has other columns than the file.
    #[error("the batch was made for another shape than the file")]
    OtherShape,
}

impl ColumnError {
    pub(crate) fn library(library: &'static str, error: &dyn fmt::Display) -> Self {
        ColumnError::Library { library, message: error.to_string() }
    }

    /// Returns whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            ColumnError::Output(_) => Fault::Environment,
            ColumnError::RefusalsNotTaken { .. } | ColumnError::DocumentOpen | ColumnError::OtherShape => Fault::Ours,
            ColumnError::Library { .. } => Fault::Ours,
        }
    }

    /// Returns the finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let (code, hint) = match self {
            ColumnError::Output(_) => {
                ("COL-020", "free space or choose another output; the partial output is not a complete file")
            }
            ColumnError::Library { .. } => ("COL-021", "please report this"),
            ColumnError::RefusalsNotTaken { .. } => ("COL-022", "please report this"),
            ColumnError::DocumentOpen => ("COL-023", "please report this"),
            ColumnError::OtherShape => ("COL-024", "please report this"),
        };
        Finding::error(Code(code), self.fault(), self.to_string()).hint(hint)
    }
}

impl From<arrow_schema::ArrowError> for ColumnError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        match error {
            arrow_schema::ArrowError::IoError(_, source) => ColumnError::Output(source),
            other => ColumnError::library("arrow", &other),
        }
    }
}
