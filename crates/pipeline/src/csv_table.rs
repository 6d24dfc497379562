//! Tables that maps look up, in one lane.

use std::sync::Arc;

use quayline_core::{Value, write_number};
use quayline_project::LookupTable;

use crate::world::Lookup;

/// A table of the project for one lane. Lanes share the rows.
#[derive(Clone, Debug)]
pub struct CsvTable {
    table: Arc<LookupTable>,
    scratch: String,
}

impl CsvTable {
    /// Returns the tables of a map for its [`World`](crate::World).
    #[must_use]
    pub fn all(tables: Vec<LookupTable>) -> Vec<Box<dyn Lookup>> {
        tables.into_iter().map(|table| Box::new(CsvTable::from(table)) as Box<dyn Lookup>).collect()
    }
}

impl From<LookupTable> for CsvTable {
    fn from(table: LookupTable) -> CsvTable {
        CsvTable { table: Arc::new(table), scratch: String::new() }
    }
}

impl Lookup for CsvTable {
    fn name(&self) -> &str {
        self.table.name()
    }

    fn another(&self) -> Box<dyn Lookup> {
        Box::new(self.clone())
    }

    fn row(&mut self, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String> {
        if keys.len() != self.table.keys() {
            return Err(format!("{} keys, and the table has {}", keys.len(), self.table.keys()));
        }
        self.scratch.clear();
        for (number, value) in keys.iter().enumerate() {
            if number > 0 {
                self.scratch.push(LookupTable::KEY_SEPARATOR);
            }
            let begin = self.scratch.len();
            match value {
                Value::Text(run) | Value::Ascii(run) => self.scratch.push_str(utf8(run.bytes())?),
                Value::Null => {}
                Value::Bool(value) => self.scratch.push_str(if *value { "true" } else { "false" }),
                other => {
                    let mut text = Vec::new();
                    write_number(&mut text, *other).ok_or("a key of bytes")?;
                    self.scratch.push_str(utf8(&text)?);
                }
            }
            // A table of several keys has no key with that character.
            if keys.len() > 1 && self.scratch[begin..].contains(LookupTable::KEY_SEPARATOR) {
                return Ok(false);
            }
        }
        let Some(fields) = self.table.row(&self.scratch) else { return Ok(false) };
        for cell in fields {
            row(if cell.is_empty() { Value::Null } else { Value::Text(cell.as_bytes().into()) });
        }
        Ok(true)
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    core::str::from_utf8(bytes).map_err(|_| "a key that is not UTF-8".to_owned())
}
