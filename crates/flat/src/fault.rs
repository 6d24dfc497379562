//! Errors of a row.

use core::fmt;

use quayline_core::{Code, Fault, Finding, Place};

/// A row that cannot be written or read. `Display` writes the message; [`FlatFault::finding`] adds place and remedy. The content of
/// cells is never shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FlatFault {
    /// Kind of the fault.
    pub kind: FlatFaultKind,
    /// Line of the file on which the row begins, from 1; `None` when writing.
    pub line: Option<u64>,
    /// Name of the column or list, if the fault is about one.
    pub column: Option<String>,
}

/// Kinds of faults.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FlatFaultKind {
    /// `FLAT-010`: a document has more occurrences of a list than the table has columns for.
    Overflow {
        /// Most occurrences.
        max: u32,
    },
    /// `FLAT-011`: a row has fewer or more cells than the header.
    Cells {
        /// Cells of the row.
        found: usize,
        /// Columns of the header.
        expected: usize,
    },
    /// `FLAT-012`: something follows a closing quote.
    BehindQuote,
    /// `FLAT-013`: a row longer than `line_bytes_max`.
    EndlessRow {
        /// The limit.
        limit: usize,
    },
    /// `FLAT-014`: the file ends inside quotes.
    OpenQuote,
    /// `FLAT-015`: not UTF-8.
    NotUtf8,
}

/// A cell or a column's name is not UTF-8.
pub(crate) const NOT_UTF8: Code = Code("FLAT-015");

impl FlatFault {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self.kind {
            FlatFaultKind::Overflow { .. } => Code("FLAT-010"),
            FlatFaultKind::Cells { .. } => Code("FLAT-011"),
            FlatFaultKind::BehindQuote => Code("FLAT-012"),
            FlatFaultKind::EndlessRow { .. } => Code("FLAT-013"),
            FlatFaultKind::OpenQuote => Code("FLAT-014"),
            FlatFaultKind::NotUtf8 => NOT_UTF8,
        }
    }

    /// Returns whether the next row can be read or written; otherwise its start is unknown.
    #[must_use]
    pub fn next_row(&self) -> bool {
        !matches!(self.kind, FlatFaultKind::EndlessRow { .. } | FlatFaultKind::OpenQuote)
    }

    /// The fault as a finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let hint = match self.kind {
            FlatFaultKind::Overflow { .. } => {
                "raise the list's maximum in the copybook or write JSON, which holds any number"
            }
            FlatFaultKind::Cells { found, expected } if found > expected => {
                "quote cells that hold the delimiter, or name the delimiter that the file uses"
            }
            FlatFaultKind::Cells { .. } => {
                "write every cell of the row, empty ones too, or name the delimiter that the file uses"
            }
            FlatFaultKind::BehindQuote => "double each quote inside a quoted cell, and quote the whole cell",
            FlatFaultKind::OpenQuote => {
                "a quote that opens in this row is never closed: double each quote inside a quoted cell"
            }
            FlatFaultKind::EndlessRow { .. } => {
                "look for a quote that opens in this row and is never closed, or allow more with `--limit line-bytes=N`"
            }
            FlatFaultKind::NotUtf8 => "save the file as UTF-8",
        };
        let line = self.line.map(|line| u32::try_from(line).unwrap_or(u32::MAX));
        let fault = if self.line.is_some() { Fault::Sender } else { Fault::Config };
        let place = Place { line, path: self.column.clone(), ..Place::default() };
        Finding::error(self.code(), fault, self.to_string()).at(place).hint(hint)
    }
}

impl fmt::Display for FlatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FlatFaultKind::Overflow { max } => {
                write!(f, "the document has more occurrences than the {max} that have columns")
            }
            FlatFaultKind::Cells { found, expected } => {
                write!(f, "the row has {found} cells, the header has {expected} columns")
            }
            FlatFaultKind::BehindQuote => f.write_str("text follows the closing quote of a cell"),
            FlatFaultKind::EndlessRow { limit } => write!(f, "no end of the row within {limit} bytes"),
            FlatFaultKind::OpenQuote => f.write_str("the file ends inside quotes"),
            FlatFaultKind::NotUtf8 => f.write_str("the cell is not UTF-8"),
        }
    }
}

impl std::error::Error for FlatFault {}
