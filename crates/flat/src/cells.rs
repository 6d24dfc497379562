//! The cells of one row.

use memchr::memchr;
use quayline_core::Run;

use crate::FlatFaultKind;

/// The cells of the row that was split last. Cells with doubled quotes are unfolded into a buffer of their own; all others stay in the row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
    unfolded: Vec<u8>,
    /// Cells that were not kept.
    more: usize,
    /// True if the row has a quoted empty cell (`""`).
    has_empty_text: bool,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    start: usize,
    len: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// Empty without quotes.
    Empty,
    /// The bytes are in the row.
    InRow,
    /// The bytes are in the buffer, without the escaping quotes.
    Unfolded,
}

impl Cells {
    /// Splits a row without its line end.
    ///
    /// On a fault, the number of the faulty cell.
    pub(crate) fn split(&mut self, raw: &[u8], delimiter: u8) -> Result<(), (FlatFaultKind, usize)> {
        self.cut::<false>(raw, delimiter, usize::MAX)
    }

    /// Splits like [`Cells::split`] but stores the first `most` cells only and counts the others. A row of commas has a cell for each byte.
    pub(crate) fn split_first(&mut self, raw: &[u8], delimiter: u8, most: usize) -> Result<(), (FlatFaultKind, usize)> {
        self.cut::<true>(raw, delimiter, most)
    }

    #[inline(always)]
    fn cut<const BOUNDED: bool>(
        &mut self,
        raw: &[u8],
        delimiter: u8,
        most: usize,
    ) -> Result<(), (FlatFaultKind, usize)> {
        self.cells.clear();
        self.unfolded.clear();
        self.more = 0;
        self.has_empty_text = false;
        let mut at = 0;
        loop {
            if BOUNDED && self.cells.len() > most {
                self.cells.pop();
                self.more += 1;
            }
            let end = if raw.get(at) == Some(&b'"') {
                self.quoted(raw, at + 1).ok_or((FlatFaultKind::OpenQuote, self.cells.len()))?
            } else {
                let len = memchr(delimiter, &raw[at..]).unwrap_or(raw.len() - at);
                let kind = if len == 0 { Kind::Empty } else { Kind::InRow };
                self.cells.push(Cell { start: at, len, kind });
                at + len
            };
            match raw.get(end) {
                None => return Ok(()),
                Some(byte) if *byte == delimiter => at = end + 1,
                Some(_) => return Err((FlatFaultKind::BehindQuote, self.cells.len() - 1)),
            }
        }
    }

    /// Reads a cell whose text begins at `start`, after its quote, and returns the end of the cell.
    fn quoted(&mut self, raw: &[u8], start: usize) -> Option<usize> {
        let mut quote = start + memchr(b'"', &raw[start..])?;
        if raw.get(quote + 1) != Some(&b'"') {
            self.has_empty_text |= quote == start;
            self.cells.push(Cell { start, len: quote - start, kind: Kind::InRow });
            return Some(quote + 1);
        }
        let from = self.unfolded.len();
        let mut at = start;
        loop {
            self.unfolded.extend_from_slice(&raw[at..quote]);
            if raw.get(quote + 1) != Some(&b'"') {
                self.cells.push(Cell { start: from, len: self.unfolded.len() - from, kind: Kind::Unfolded });
                return Some(quote + 1);
            }
            self.unfolded.push(b'"');
            at = quote + 2;
            quote = at + memchr(b'"', &raw[at..])?;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Cells that were not kept.
    pub(crate) fn more(&self) -> usize {
        self.more
    }

    pub(crate) fn is_empty_cell(&self, i: usize) -> bool {
        self.cells[i].kind == Kind::Empty
    }

    /// Empties the cells `""` of fields whose type has no empty text. `is_text` says for each cell whether its type has one.
    #[inline]
    pub(crate) fn without_empty_texts(&mut self, is_text: &[bool]) {
        if self.has_empty_text {
            for (cell, _) in self.cells.iter_mut().zip(is_text).filter(|(cell, is_text)| cell.len == 0 && !**is_text) {
                cell.kind = Kind::Empty;
            }
        }
    }

    /// Returns the bytes of a cell that has a value. `""` is one only if `has_empty_text`.
    pub(crate) fn value<'a>(&'a self, raw: &'a [u8], i: usize, has_empty_text: bool) -> Option<&'a [u8]> {
        let bytes = self.run(raw, i).bytes();
        (!self.is_empty_cell(i) && (has_empty_text || !bytes.is_empty())).then_some(bytes)
    }

    /// Changes a byte of a cell.
    pub(crate) fn replace_byte(&mut self, raw: &[u8], i: usize, at: usize, byte: u8) {
        let start = self.unfolded.len();
        let Cell { start: from, len, kind } = self.cells[i];
        match kind {
            Kind::Unfolded => self.unfolded.extend_from_within(from..from + len),
            _ => self.unfolded.extend_from_slice(&raw[from..from + len]),
        }
        self.unfolded[start + at] = byte;
        self.cells[i] = Cell { start, len, kind: Kind::Unfolded };
    }

    pub(crate) fn run<'a>(&'a self, raw: &'a [u8], i: usize) -> Run<'a> {
        let Cell { start, len, kind } = self.cells[i];
        let bytes = if kind == Kind::Unfolded { &self.unfolded } else { raw };
        Run::new(&bytes[start..], len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(raw: &str) -> String {
        let mut cells = Cells::default();
        match cells.split(raw.as_bytes(), b',') {
            Err((kind, cell)) => format!("{kind:?} in cell {cell}"),
            Ok(()) => (0..cells.len())
                .map(|i| {
                    let text = core::str::from_utf8(cells.run(raw.as_bytes(), i).bytes()).unwrap();
                    if cells.is_empty_cell(i) { "-".to_owned() } else { format!("[{text}]") }
                })
                .collect(),
        }
    }

    #[test]
    fn cells_beyond_a_number_are_counted() {
        let mut cells = Cells::default();
        for (raw, kept, more) in [("a,b,c,d,e", 3, 2), ("a,b,c", 3, 0), ("\"a\",\"b\",,,", 3, 2), (",,,,,,", 3, 4)] {
            cells.split_first(raw.as_bytes(), b',', 2).unwrap();
            // The last one is kept as well, so that a row that is complete is not cut.
            assert_eq!((cells.len(), cells.more()), (kept, more), "{raw}");
        }
    }

    #[test]
    fn cells_are_split_at_delimiters_outside_quotes() {
        assert_eq!(split("a,b"), "[a][b]");
        assert_eq!(split(""), "-");
        assert_eq!(split(","), "--");
        assert_eq!(split("\"\",\"a,b\",c\"d"), "[][a,b][c\"d]");
        assert_eq!(split("\"a\"\"b\",\"\"\"\"\"\""), "[a\"b][\"\"]");
        assert_eq!(split("\"a\"b,c"), "BehindQuote in cell 0");
        assert_eq!(split("a,\"b"), "OpenQuote in cell 1");
        assert_eq!(split("a,\"b\"\""), "OpenQuote in cell 1");
    }
}
