//! Style of CSV.

use quayline_core::{Code, Fault, Finding, Findings};

/// Form of a CSV file. The default is commas, quotes where needed, a header, LF.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CsvStyle {
    /// Between cells: one byte of ASCII, not a quote, a line end, a letter or a digit.
    pub delimiter: u8,
    /// The cells that are quoted.
    pub quotes: Quotes,
    /// Use of the first row as column names.
    pub header: Header,
    /// Line end of written rows.
    pub line_end: LineEnd,
    /// Meaning of an empty cell without quotes for a reader.
    pub empty: EmptyCell,
}

impl Default for CsvStyle {
    fn default() -> Self {
        CsvStyle {
            delimiter: b',',
            quotes: Quotes::Needed,
            header: Header::Present,
            line_end: LineEnd::Lf,
            empty: EmptyCell::Absent,
        }
    }
}

/// The cells that are quoted. Absent values never are, and empty text always is, which keeps them apart.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Quotes {
    /// Cells that contain a delimiter, quote or line end, and empty text.
    #[default]
    Needed,
    /// All text, so that programs that guess types leave it text.
    Text,
}

/// Use of the first row as column names.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Header {
    /// The first row.
    #[default]
    Present,
    /// The first row, which may name columns that the records do not have. Cells of those columns are ignored.
    Open,
    /// No header. The columns are those of the shape, all and in order.
    Absent,
}

/// Line end of a row.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LineEnd {
    /// `\n`
    #[default]
    Lf,
    /// `\r
    /// `, as in RFC 4180.
    CrLf,
}

impl LineEnd {
    /// Returns its bytes.
    #[must_use]
    pub fn bytes(self) -> &'static [u8] {
        match self {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
        }
    }
}

/// Value that a reader sends for an empty cell without quotes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum EmptyCell {
    /// An absent value; the receiver's rule for absent values applies.
    #[default]
    Absent,
    /// `Null`: for files that were written from records whose blank fields are null.
    Null,
}

impl CsvStyle {
    /// Checks the delimiter.
    ///
    /// # Errors
    /// `FLAT-003`.
    pub fn check(&self) -> Result<(), Findings> {
        let d = self.delimiter;
        if d.is_ascii() && !d.is_ascii_alphanumeric() && !matches!(d, b'"' | b'\r' | b'\n' | b'.' | b'-' | b'+') {
            return Ok(());
        }
        let message = format!("the delimiter {:?} cannot be distinguished from data", char::from(d));
        Err(Finding::error(Code("FLAT-003"), Fault::Config, message).hint("use one of , ; | or a tab").into())
    }
}
