//! Errors of a row.

use core::fmt;

use quayline_core::{Code, Fault, Finding, Moment, Place};

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
    /// `FLAT-012`: a character other than a separator or line end follows a closing quote.
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
    /// `FLAT-016`: the cell of a field of bytes is not pairs of hexadecimal digits.
    Hex,
    /// `FLAT-017`: a key came before, or descends.
    KeyOrder {
        /// True if keys must ascend.
        ascending: bool,
    },
    /// `FLAT-018`: more documents than keys can be remembered.
    Groups {
        /// The limit.
        limit: usize,
    },
    /// `FLAT-019`: a document with more rows than fit into memory.
    EndlessGroup {
        /// The limit in bytes.
        limit: usize,
    },
    /// `FLAT-020`: a row has another value than the first row in a cell that belongs to the document.
    Differs,
    /// `FLAT-021`: the content of the kind cell matches no kind of row.
    UnknownKind {
        /// The cell, from 0.
        cell: usize,
        /// Values of kinds.
        known: String,
    },
    /// `FLAT-022`: no row of the parent's kind precedes the row.
    NoParent {
        /// The parent's name.
        parent: String,
    },
    /// `FLAT-023`: a row has fewer or more cells than its kind.
    KindCells {
        /// The kind's name.
        kind: String,
        /// Cells of the row.
        found: usize,
        /// Fields of the kind.
        expected: usize,
    },
    /// `FLAT-024`: the kind cell of a row that is written holds a value of another kind.
    OtherKind {
        /// The kind's name.
        kind: String,
    },
    /// `FLAT-025`: a document without rows.
    NoRow,
    /// `FLAT-026`: the cell of a date or timestamp has another form, or the day or time does not exist.
    NotMoment(Moment),
    /// `FLAT-027`: the cell of a truth value holds another word.
    NotBool,
    /// `FLAT-029`: a column that the layout requires has no value.
    Missing,
    /// `FLAT-030`: the value of a cell exceeds what the layout declares.
    Exceeds(Bound),
    /// `FLAT-028`: a document to write has the key of the one before it, or with ascending keys a lesser one.
    KeyRepeats {
        /// True if keys must ascend.
        ascending: bool,
    },
}

/// What a layout declares about the values of a field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bound {
    /// Maximum number of characters.
    Length(u32),
    /// Maximum number of digits before the decimal point.
    Digits(u32),
    /// Maximum number of digits after the decimal point.
    Decimals(u32),
    /// Maximum number of digits, of a field whose first decimals are zeros.
    Total(u32),
    /// No minus sign.
    Unsigned,
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
            FlatFaultKind::Hex => Code("FLAT-016"),
            FlatFaultKind::KeyOrder { .. } => Code("FLAT-017"),
            FlatFaultKind::Groups { .. } => Code("FLAT-018"),
            FlatFaultKind::EndlessGroup { .. } => Code("FLAT-019"),
            FlatFaultKind::Differs => Code("FLAT-020"),
            FlatFaultKind::UnknownKind { .. } => Code("FLAT-021"),
            FlatFaultKind::NoParent { .. } => Code("FLAT-022"),
            FlatFaultKind::KindCells { .. } => Code("FLAT-023"),
            FlatFaultKind::OtherKind { .. } => Code("FLAT-024"),
            FlatFaultKind::NoRow => Code("FLAT-025"),
            FlatFaultKind::NotMoment(_) => Code("FLAT-026"),
            FlatFaultKind::NotBool => Code("FLAT-027"),
            FlatFaultKind::Missing => Code("FLAT-029"),
            FlatFaultKind::Exceeds(_) => Code("FLAT-030"),
            FlatFaultKind::KeyRepeats { .. } => Code("FLAT-028"),
        }
    }

    /// The fault as a finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let hint = match &self.kind {
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
            FlatFaultKind::Hex => "write each byte as two hexadecimal digits, as Quayline writes bytes to CSV",
            FlatFaultKind::KeyOrder { .. } => {
                "sort the file by the key fields, or add the field that separates the documents to `group-by`"
            }
            FlatFaultKind::Groups { .. } => {
                "sort the file by the key fields and set key-order = \"ascending\" in the layout, or allow more with `--limit groups=N`"
            }
            FlatFaultKind::EndlessGroup { .. } => {
                "check the key fields or kinds in the layout: rows of several documents may be taken for one; or allow more with `--limit record-bytes=N`"
            }
            FlatFaultKind::Differs => {
                "give the field list = \"NAME\" in the layout if each row has its own, or add it to `group-by` if it separates documents"
            }
            FlatFaultKind::UnknownKind { known, .. } => {
                let place = self.place();
                let hint = format!("known values are {known}; add the value to a [[record]] of the layout");
                return Finding::error(self.code(), Fault::Sender, self.to_string()).at(place).hint(hint);
            }
            FlatFaultKind::NoParent { .. } => "check the order of the rows, and `parent` in the layout",
            FlatFaultKind::KindCells { .. } => {
                "describe every cell of the row by a [[record.field]] in the layout, and quote cells that hold the delimiter"
            }
            FlatFaultKind::OtherKind { .. } => "leave the field out in the map: it is set to the value of its kind",
            FlatFaultKind::NoRow => {
                "drop documents without an occurrence of the list in the map: if count(…) = 0 { drop }"
            }
            FlatFaultKind::NotMoment(Moment::Date) if self.line.is_some() => {
                "correct the cell, or make the field text in the layout and convert it in the map: date(…, \"DD.MM.YYYY\")"
            }
            FlatFaultKind::NotMoment(Moment::Timestamp) if self.line.is_some() => {
                "correct the cell, or make the field text in the layout and convert it in the map: datetime(…, \"DD.MM.YYYY HH:MM:SS\")"
            }
            FlatFaultKind::Missing => "fill the cell, or leave `required` out for this field in the layout",
            FlatFaultKind::Exceeds(Bound::Length(_)) => {
                "shorten the text, or raise `length` of this field in the layout"
            }
            FlatFaultKind::Exceeds(_) => {
                "correct the number, or change `digits`, `decimals` or `signed` of this field in the layout"
            }
            FlatFaultKind::NotBool => {
                "correct the cell, or make the field text in the layout and compare it in the map: … = \"Y\""
            }
            FlatFaultKind::KeyRepeats { ascending: false } => {
                "make one document of them in the map, or add the field that separates them to `group-by` in the layout"
            }
            FlatFaultKind::KeyRepeats { ascending: true } => {
                "write the documents in ascending order of their keys, or leave `key-order` out of the layout"
            }
            FlatFaultKind::NotMoment(Moment::Date) => "write it in this form in the map: format(…, \"YYYY-MM-DD\")",
            FlatFaultKind::NotMoment(Moment::Timestamp) => {
                "write it in this form in the map: format(…, \"YYYY-MM-DDTHH:MM:SS\")"
            }
        };
        let fault = if self.line.is_some() { Fault::Sender } else { Fault::Config };
        Finding::error(self.code(), fault, self.to_string()).at(self.place()).hint(hint)
    }

    fn place(&self) -> Place {
        let line = self.line.map(|line| u32::try_from(line).unwrap_or(u32::MAX));
        Place { line, path: self.column.clone(), ..Place::default() }
    }
}

impl fmt::Display for FlatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
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
            FlatFaultKind::Hex => f.write_str("the cell is not pairs of hexadecimal digits"),
            FlatFaultKind::KeyOrder { ascending: true } => {
                f.write_str("the key of this row is less than that of the row before, expected ascending keys")
            }
            FlatFaultKind::KeyOrder { ascending: false } => f.write_str(
                "the key of this row came before, and other keys between: rows of one document are not together",
            ),
            FlatFaultKind::Groups { limit } => {
                write!(f, "more than {limit} keys, which are all remembered to find those that come back")
            }
            FlatFaultKind::EndlessGroup { limit } => write!(f, "no end of the document within {limit} bytes of rows"),
            FlatFaultKind::Differs => f.write_str("the cell differs from that of the document's first row"),
            FlatFaultKind::UnknownKind { cell, .. } => {
                write!(f, "no kind of row has the value in cell {}", cell + 1)
            }
            FlatFaultKind::NoParent { parent } => write!(f, "no {parent} precedes this row as its parent"),
            FlatFaultKind::KindCells { kind, found, expected } => {
                write!(f, "the row has {found} cells, and {kind} has {expected} fields")
            }
            FlatFaultKind::OtherKind { kind } => write!(f, "the kind cell of {kind} holds a value of another kind"),
            FlatFaultKind::NotMoment(moment) => write!(f, "the cell is not {}, or it does not exist", moment.form()),
            FlatFaultKind::Missing => f.write_str("the cell has no value, and the layout requires one"),
            FlatFaultKind::Exceeds(bound) => match bound {
                Bound::Length(max) => write!(f, "the cell has more characters than the {max} of its field"),
                Bound::Digits(max) => {
                    write!(f, "the number has more digits before the point than the {max} of its field")
                }
                Bound::Decimals(max) => {
                    write!(f, "the number has more digits after the point than the {max} of its field")
                }
                Bound::Total(max) => {
                    write!(f, "the number has more digits than the {max} of its field, whose first decimals are zeros")
                }
                Bound::Unsigned => f.write_str("the number is negative, and its field has no sign"),
            },
            FlatFaultKind::NotBool => f.write_str("the cell is not a truth value: expected true, false, 1 or 0"),
            FlatFaultKind::KeyRepeats { ascending: false } => f.write_str(
                "the document has the same key as the document before it: their rows would be read as one document",
            ),
            FlatFaultKind::KeyRepeats { ascending: true } => {
                f.write_str("the key of the document is not greater than that of the document before it")
            }
            FlatFaultKind::NoRow => {
                f.write_str("the document has no occurrence of the list whose occurrences are rows")
            }
        }
    }
}

impl std::error::Error for FlatFault {}
