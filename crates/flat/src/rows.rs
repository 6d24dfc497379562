//! End of a row.

use memchr::{memchr, memchr2};
use quayline_core::Limits;

use crate::writer::BOM;
use crate::{CsvStyle, FlatFault, FlatFaultKind};

/// Splits a byte stream into rows; line ends inside quotes are data. Owns no buffer.
///
/// Between two rows its state is the line number and whether the file has begun.
#[derive(Clone, Debug)]
pub struct RowSplitter {
    delimiter: u8,
    limit: usize,
    /// Line on which the next row begins, from 1.
    line: u64,
    begun: bool,
    /// Bytes of the current row that were examined, and whether they end inside quotes.
    scanned: usize,
    in_quotes: bool,
}

/// Whether the input is complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndOfInput {
    /// More may follow.
    No,
    /// The source ends after the input.
    Yes,
}

/// One row as written in the file, without its line end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row<'a> {
    /// Bytes of the row.
    pub raw: &'a [u8],
    /// Line on which it begins, from 1.
    pub line: u64,
}

/// Result of one call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RowStep<'a> {
    /// A row.
    Row {
        /// The row.
        row: Row<'a>,
        /// Bytes of the input that are done with.
        consumed: usize,
    },
    /// The input ends inside a row: call again with the same bytes and more.
    NeedMore {
        /// Fewest bytes that the next call needs; always more than the input had.
        at_least: usize,
    },
    /// The source has ended.
    Done,
}

impl RowSplitter {
    /// Starts at the beginning of a file.
    #[must_use]
    pub fn new(style: CsvStyle, limits: &Limits) -> Self {
        RowSplitter { begun: false, ..RowSplitter::resume(style, limits, 1) }
    }

    /// Starts at a row that begins on `line`, not the file's first.
    #[must_use]
    pub fn resume(style: CsvStyle, limits: &Limits, line: u64) -> Self {
        let (delimiter, limit) = (style.delimiter, limits.line_bytes_max);
        RowSplitter { delimiter, limit, line, begun: true, scanned: 0, in_quotes: false }
    }

    /// Returns the line on which the next row begins, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns the next row of `input`, which starts at the first unconsumed byte.
    ///
    /// # Errors
    /// `FLAT-013` and `FLAT-014`. The start of the next row is then unknown.
    pub fn split<'a>(&mut self, input: &'a [u8], end: EndOfInput) -> Result<RowStep<'a>, FlatFault> {
        let mut skip = 0;
        if !self.begun {
            if input.len() < BOM.len() && BOM.starts_with(input) && end == EndOfInput::No {
                return Ok(RowStep::NeedMore { at_least: input.len() + 1 });
            }
            skip = if input.starts_with(BOM) { BOM.len() } else { 0 };
        }
        let row = &input[skip..];
        let Some((stop, terminator)) = self.row_end(row, end) else {
            // The last byte may be the CR of the row's end.
            if row.len() > self.limit + 1 {
                return Err(self.fault(FlatFaultKind::EndlessRow { limit: self.limit }));
            }
            if end == EndOfInput::No {
                return Ok(RowStep::NeedMore { at_least: input.len() + 1 });
            }
            if self.in_quotes {
                return Err(self.fault(FlatFaultKind::OpenQuote));
            }
            return Ok(RowStep::Done);
        };
        if stop > self.limit {
            return Err(self.fault(FlatFaultKind::EndlessRow { limit: self.limit }));
        }
        let found = Row { raw: &row[..stop], line: self.line };
        let consumed = stop + terminator;
        self.line += memchr::memchr_iter(b'\n', &row[..consumed]).count() as u64;
        (self.begun, self.scanned, self.in_quotes) = (true, 0, false);
        Ok(RowStep::Row { row: found, consumed: skip + consumed })
    }

    fn fault(&self, kind: FlatFaultKind) -> FlatFault {
        FlatFault { kind, line: Some(self.line), column: None }
    }

    /// Returns the length of the row at the start of `row`, and of its terminator.
    fn row_end(&mut self, row: &[u8], end: EndOfInput) -> Option<(usize, usize)> {
        let mut at = self.scanned;
        loop {
            if self.in_quotes {
                let Some(quote) = memchr(b'"', &row[at..]).map(|found| at + found) else {
                    self.scanned = row.len();
                    return None;
                };
                match row.get(quote + 1) {
                    Some(b'"') => at = quote + 2,
                    Some(_) => (self.in_quotes, at) = (false, quote + 1),
                    // The next byte shows whether it closes.
                    None if end == EndOfInput::No => {
                        self.scanned = quote;
                        return None;
                    }
                    None => (self.in_quotes, at) = (false, quote + 1),
                }
                continue;
            }
            match memchr2(b'"', b'\n', &row[at..]).map(|found| at + found) {
                Some(found) if row[found] == b'\n' => {
                    let cr = row[..found].ends_with(b"\r");
                    return Some((found - usize::from(cr), 1 + usize::from(cr)));
                }
                // A quote opens a cell only at its start; elsewhere it is data.
                Some(found) => {
                    self.in_quotes = found == 0 || row[found - 1] == self.delimiter;
                    at = found + 1;
                }
                None if end == EndOfInput::Yes && !row.is_empty() => {
                    // A CR at the end is a line break that was cut.
                    let cr = usize::from(row.ends_with(b"\r"));
                    return Some((row.len() - cr, cr));
                }
                None => {
                    self.scanned = row.len();
                    return None;
                }
            }
        }
    }
}
