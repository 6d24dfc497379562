//! The statement of a writer, and the values of its items.

use quayline_postgres::Connection;

use super::{Items, quoted, quoted_table};
use crate::artifact::{Answer, Item};
use crate::error::Thrown;

/// What becomes of an item.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    Insert,
    Update,
    Upsert,
    Delete,
}

/// What a writer writes, before types of columns are known.
pub(super) struct Target {
    pub(super) mode: Mode,
    pub(super) items: Items,
    pub(super) table: String,
    pub(super) columns: Vec<String>,
    pub(super) key: Vec<String>,
    /// Whether an item without a row is an error.
    pub(super) must_exist: bool,
}

/// Object identifiers of `json` and `text`.
const JSON: u32 = 114;
const TEXT: u32 = 25;

impl Target {
    /// The types of the columns, as casts write them.
    pub(super) fn types(&self, connection: &mut Connection) -> Answer<Vec<String>> {
        let columns: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        let query = format!("SELECT {} FROM {} LIMIT 0", columns.join(", "), quoted_table(&self.table));
        connection.types_of(&query).map_err(|error| {
            let is_name =
                matches!(&error, quayline_postgres::SqlError::Refused(refusal) if refusal.sqlstate.starts_with("42"));
            let thrown = Thrown::from(error);
            if is_name {
                thrown.hint("write table and columns exactly as the database's catalog has them")
            } else {
                thrown
            }
        })
    }

    /// The statement for an array of items. With `exact`, it fails unless it changes as many rows as there are items.
    pub(super) fn text(&self, types: &[String], exact: bool) -> String {
        let table = quoted_table(&self.table);
        let list = |names: &[String], before: &str| -> String {
            names.iter().map(|name| format!("{before}{}", quoted(name))).collect::<Vec<_>>().join(", ")
        };
        let equal = |names: &[String], left: &str, right: &str, and: &str| -> String {
            let pairs = names.iter().map(|name| format!("{left}{0} = {right}{0}", quoted(name)));
            pairs.collect::<Vec<_>>().join(and)
        };
        let new = match self.items {
            Items::Json => {
                let fields: Vec<String> =
                    self.columns.iter().zip(types).map(|(name, of)| format!("{} {of}", quoted(name))).collect();
                format!("unnest($1::json[]) AS item, LATERAL json_to_record(item) AS new ({})", fields.join(", "))
            }
            Items::Csv => {
                let arrays: Vec<String> = (1..=self.columns.len()).map(|n| format!("${n}::text[]")).collect();
                let fields: Vec<String> = (1..=self.columns.len()).map(|n| format!("c{n}")).collect();
                let casts: Vec<String> = (1..)
                    .zip(self.columns.iter().zip(types))
                    .map(|(n, (name, of)): (usize, _)| format!("c{n}::{of} AS {}", quoted(name)))
                    .collect();
                format!(
                    "(SELECT {} FROM unnest({}) AS raw ({})) AS new",
                    casts.join(", "),
                    arrays.join(", "),
                    fields.join(", ")
                )
            }
        };
        let rest: Vec<String> = self.columns.iter().filter(|name| !self.key.contains(name)).cloned().collect();
        let columns = list(&self.columns, "");
        let insert = format!("INSERT INTO {table} ({columns}) SELECT {} FROM {new}", list(&self.columns, "new."));
        let text = match self.mode {
            Mode::Insert => insert,
            Mode::Upsert if rest.is_empty() => format!("{insert} ON CONFLICT ({}) DO NOTHING", list(&self.key, "")),
            Mode::Upsert => format!(
                "{insert} ON CONFLICT ({}) DO UPDATE SET {}",
                list(&self.key, ""),
                equal(&rest, "", "excluded.", ", ")
            ),
            Mode::Update => format!(
                "UPDATE {table} AS old SET {} FROM {new} WHERE {}",
                equal(&rest, "", "new.", ", "),
                equal(&self.key, "old.", "new.", " AND ")
            ),
            Mode::Delete => {
                format!("DELETE FROM {table} AS old USING {new} WHERE {}", equal(&self.key, "old.", "new.", " AND "))
            }
        };
        if exact {
            let count = match self.items {
                Items::Json => 2,
                Items::Csv => self.columns.len() + 1,
            };
            format!("WITH done AS ({text} RETURNING 1) SELECT 1 / (count(*) = ${count}::bigint)::int FROM done")
        } else {
            text
        }
    }

    /// The values of items, as arrays in binary form.
    pub(super) fn values(&self, items: &[Item]) -> Answer<Vec<Vec<u8>>> {
        match self.items {
            Items::Json => Ok(vec![array(JSON, items.iter().map(|item| Some(item.as_slice())), items.len())]),
            Items::Csv => {
                let mut columns: Vec<Vec<Option<Vec<u8>>>> = vec![Vec::with_capacity(items.len()); self.columns.len()];
                for (number, item) in (1u64..).zip(items) {
                    let fields = csv_fields(item);
                    if fields.len() != columns.len() {
                        let message = format!(
                            "item {number} of the chunk has {} fields, expected {}: {}",
                            fields.len(),
                            columns.len(),
                            self.columns.join(", ")
                        );
                        return Err(Thrown::of(&["quayline.Rejected"], message));
                    }
                    for (column, field) in columns.iter_mut().zip(fields) {
                        column.push(field);
                    }
                }
                let arrays = columns.iter().map(|column| array(TEXT, column.iter().map(Option::as_deref), items.len()));
                Ok(arrays.collect())
            }
        }
    }
}

/// An array in binary form.
fn array<'v>(element: u32, values: impl Iterator<Item = Option<&'v [u8]>>, count: usize) -> Vec<u8> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let mut bytes: Vec<u8> = [1, 1, element, count, 1].into_iter().flat_map(u32::to_be_bytes).collect();
    for value in values {
        match value {
            None => bytes.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(value) => {
                bytes.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
                bytes.extend_from_slice(value);
            }
        }
    }
    bytes
}

/// The fields of a CSV row (RFC 4180). A field without quotes that is empty has no value.
fn csv_fields(row: &[u8]) -> Vec<Option<Vec<u8>>> {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    let row = row.strip_suffix(b"\r").unwrap_or(row);
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let mut field = Vec::new();
        let mut is_quoted = false;
        if row.get(at) == Some(&b'"') {
            is_quoted = true;
            at += 1;
            while let Some(byte) = row.get(at) {
                at += 1;
                if *byte != b'"' {
                    field.push(*byte);
                } else if row.get(at) == Some(&b'"') {
                    field.push(b'"');
                    at += 1;
                } else {
                    break;
                }
            }
        }
        while let Some(byte) = row.get(at).filter(|byte| **byte != b',') {
            field.push(*byte);
            at += 1;
        }
        fields.push((is_quoted || !field.is_empty()).then_some(field));
        if row.get(at).is_none() {
            return fields;
        }
        at += 1;
    }
}
