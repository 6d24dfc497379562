//! Tables in CSV files that maps look up.

use std::collections::HashMap;
use std::sync::Arc;

use quayline_core::{Value, write_number};

use crate::world::Lookup;

/// Rows of CSV by the name of the map's `lookup`, held in memory. The first row names the columns: the keys, then the fields.
#[derive(Clone)]
pub struct CsvTable {
    name: String,
    rows: Arc<Rows>,
    /// By the number of keys: rows by keys. Made when it is asked for first, since only the map knows how many columns are keys.
    index: Option<(usize, Arc<HashMap<String, usize>>)>,
    scratch: String,
}

struct Rows(Vec<Vec<String>>);

impl CsvTable {
    /// Most bytes of a table, which is held in memory.
    pub const BYTES_MAX: u64 = 1 << 30;

    /// The table of a file's content; `None` without a row that names the columns.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Option<CsvTable> {
        let mut rows = rows_of(text.strip_prefix('\u{feff}').unwrap_or(text));
        if rows.is_empty() {
            return None;
        }
        rows.remove(0);
        Some(CsvTable { name: name.to_owned(), rows: Arc::new(Rows(rows)), index: None, scratch: String::new() })
    }

    /// The pairs `NAME=FILE` of a text, with bars between them: the tables of a map, as jobs and flows name them.
    ///
    /// # Errors
    /// The part that is no such pair.
    pub fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
        let parts = text.split('|').map(str::trim).filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let pair = part.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
            pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| part.to_owned())
        };
        parts.map(pair).collect()
    }

    /// Tables that a map looks up and nobody names, and tables that are named and that it does not look up.
    pub fn mismatch<'n>(wanted: &[&'n str], given: &[&'n str]) -> (Vec<&'n str>, Vec<&'n str>) {
        let without =
            |some: &[&'n str], others: &[&'n str]| some.iter().copied().filter(|name| !others.contains(name)).collect();
        (without(wanted, given), without(given, wanted))
    }

    fn index(&mut self, keys: usize) -> Arc<HashMap<String, usize>> {
        match &self.index {
            Some((known, index)) if *known == keys => Arc::clone(index),
            _ => {
                let mut index = HashMap::with_capacity(self.rows.0.len());
                for (number, row) in self.rows.0.iter().enumerate() {
                    let key = row.iter().take(keys).map(String::as_str).collect::<Vec<_>>().join("\u{1f}");
                    index.entry(key).or_insert(number);
                }
                let index = Arc::new(index);
                self.index = Some((keys, Arc::clone(&index)));
                index
            }
        }
    }
}

impl core::fmt::Debug for CsvTable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Rows are the user's data.
        f.debug_struct("CsvTable").field("name", &self.name).field("rows", &self.rows.0.len()).finish_non_exhaustive()
    }
}

impl Lookup for CsvTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn another(&self) -> Box<dyn Lookup> {
        Box::new(self.clone())
    }

    fn row(&mut self, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String> {
        let index = self.index(keys.len());
        let mut key = core::mem::take(&mut self.scratch);
        key.clear();
        for (number, value) in keys.iter().enumerate() {
            if number > 0 {
                key.push('\u{1f}');
            }
            match value {
                Value::Text(run) | Value::Ascii(run) => key.push_str(utf8(run.bytes())?),
                Value::Null => {}
                Value::Bool(value) => key.push_str(if *value { "true" } else { "false" }),
                other => {
                    let mut text = Vec::new();
                    write_number(&mut text, *other).ok_or("a key of bytes")?;
                    key.push_str(utf8(&text)?);
                }
            }
        }
        let found = index.get(&key).copied();
        self.scratch = key;
        let Some(number) = found else { return Ok(false) };
        for cell in self.rows.0[number].iter().skip(keys.len()) {
            row(if cell.is_empty() { Value::Null } else { Value::Text(cell.as_bytes().into()) });
        }
        Ok(true)
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    core::str::from_utf8(bytes).map_err(|_| "a key that is no UTF-8".to_owned())
}

/// Rows of cells: commas, quotes doubled inside quotes.
fn rows_of(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(core::mem::take(&mut cell)),
            '\r' if !quoted && chars.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                row.push(core::mem::take(&mut cell));
                rows.push(core::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows.retain(|row| row.len() > 1 || row.iter().any(|cell| !cell.is_empty()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_quotes() {
        let rows = rows_of("id,name\r\n1,\"a, \"\"b\"\"\"\n\n2,\n");
        assert_eq!(rows, [vec!["id", "name"], vec!["1", "a, \"b\""], vec!["2", ""]]);
    }
}
