//! The statement of a writer, and the values of its items.

use quayline_postgres::Connection;

use super::exact::{Exact, Losses};
use super::{Items, quoted, quoted_table};
use crate::artifact::{Answer, Item};
use crate::database::NO_ROW;
use crate::error::Thrown;

/// Operation for each item.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    Insert,
    Update,
    Upsert,
    Delete,
}

/// Configured output of a writer, before the types of columns are known.
pub(super) struct Target {
    pub(super) mode: Mode,
    pub(super) items: Items,
    pub(super) table: String,
    pub(super) columns: Vec<String>,
    pub(super) key: Vec<String>,
    /// True if an item without a matching row is an error.
    pub(super) must_exist: bool,
}

/// Object identifiers of `json` and `text`.
const JSON: u32 = 114;
const TEXT: u32 = 25;

impl Target {
    /// Returns the types of the columns, as written in casts.
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

    /// Returns the items as rows of a `FROM`.
    fn rows_of_items(&self, types: &[String]) -> String {
        // Items in order, so that the last of those with one key counts, as with separate statements.
        match self.items {
            Items::Json => {
                let fields: Vec<String> =
                    self.columns.iter().zip(types).map(|(name, of)| format!("{} {of}", quoted(name))).collect();
                format!(
                    "unnest($1::json[]) WITH ORDINALITY AS item (item, quayline_number), LATERAL json_to_record(item) AS new ({})",
                    fields.join(", ")
                )
            }
            Items::Csv => {
                let arrays: Vec<String> = (1..=self.columns.len()).map(|n| format!("${n}::text[]")).collect();
                let fields: Vec<String> = (1..=self.columns.len()).map(|n| format!("c{n}")).collect();
                let casts: Vec<String> = (1..)
                    .zip(self.columns.iter().zip(types))
                    .map(|(n, (name, of)): (usize, _)| format!("c{n}::{of} AS {}", quoted(name)))
                    .collect();
                format!(
                    "(SELECT {}, quayline_number FROM unnest({}) WITH ORDINALITY AS raw ({}, quayline_number)) AS new",
                    casts.join(", "),
                    arrays.join(", "),
                    fields.join(", ")
                )
            }
        }
    }

    /// Returns the query that counts the items without a matching row.
    pub(super) fn absent(&self, types: &[String]) -> String {
        let equal = self.key.iter().map(|name| format!("old.{0} = new.{0}", quoted(name)));
        format!(
            "SELECT count(*) FROM {} WHERE NOT EXISTS (SELECT 1 FROM {} AS old WHERE {})",
            self.rows_of_items(types),
            quoted_table(&self.table),
            equal.collect::<Vec<_>>().join(" AND ")
        )
    }

    /// Returns the statement for an array of items. With `exact`, it fails unless the number of changed rows equals the number of items.
    pub(super) fn text(&self, types: &[String], exact: bool) -> String {
        let table = quoted_table(&self.table);
        let list = |names: &[String], before: &str| -> String {
            names.iter().map(|name| format!("{before}{}", quoted(name))).collect::<Vec<_>>().join(", ")
        };
        let equal = |names: &[String], left: &str, right: &str, and: &str| -> String {
            let pairs = names.iter().map(|name| format!("{left}{0} = {right}{0}", quoted(name)));
            pairs.collect::<Vec<_>>().join(and)
        };
        let new = self.rows_of_items(types);
        let rest: Vec<String> = self.columns.iter().filter(|name| !self.key.contains(name)).cloned().collect();
        let columns = list(&self.columns, "");
        let values = list(&self.columns, "new.");
        let last = || {
            let key = list(&self.key, "new.");
            format!("(SELECT DISTINCT ON ({key}) {values} FROM {new} ORDER BY {key}, quayline_number DESC) AS new")
        };
        let insert = |from: &str| format!("INSERT INTO {table} ({columns}) SELECT {values} FROM {from}");
        let text = match self.mode {
            Mode::Insert => insert(&new),
            Mode::Upsert if rest.is_empty() => {
                format!("{} ON CONFLICT ({}) DO NOTHING", insert(&new), list(&self.key, ""))
            }
            Mode::Upsert => format!(
                "{} ON CONFLICT ({}) DO UPDATE SET {}",
                insert(&last()),
                list(&self.key, ""),
                equal(&rest, "", "excluded.", ", ")
            ),
            Mode::Update => format!(
                "UPDATE {table} AS old SET {} FROM {} WHERE {}",
                equal(&rest, "", "new.", ", "),
                last(),
                equal(&self.key, "old.", "new.", " AND ")
            ),
            Mode::Delete => {
                format!("DELETE FROM {table} AS old USING {new} WHERE {}", equal(&self.key, "old.", "new.", " AND "))
            }
        };
        if !exact {
            return text;
        }
        let count = match self.items {
            Items::Json => 2,
            Items::Csv => self.columns.len() + 1,
        };
        // Each item has one row. Two updates of one row are two; a second deletion of one is an item without a row.
        let keys = format!("count(DISTINCT ROW({}))", list(&self.key, ""));
        let wanted = match self.mode {
            Mode::Delete => format!("${count}::bigint"),
            // The number of items is a parameter in all modes.
            _ => format!("(SELECT count(DISTINCT ROW({})) + 0 * ${count}::bigint FROM {new})", list(&self.key, "new.")),
        };
        // The cast of a text with letters raises an error that names the text. The count prevents a constant, which the planner would cast.
        format!(
            "WITH done AS ({text} RETURNING {}) SELECT CASE WHEN count(*) = {wanted} AND {keys} = {wanted} THEN 1 \
             ELSE ('{NO_ROW} ' || count(*))::int END FROM done",
            list(&self.key, "old.")
        )
    }

    /// Encodes the values of items as arrays in binary form. Refuses a value that its column would change.
    pub(super) fn values(&self, items: &[Item], exact: &Exact, losses: &mut Losses) -> Answer<Vec<Vec<u8>>> {
        match self.items {
            Items::Json => {
                let mut numbered = (1u64..).zip(items);
                numbered.try_for_each(|(number, item)| exact.json(item, number, &self.columns, losses))?;
                Ok(vec![array(JSON, items.iter().map(|item| Some(item.as_slice())), items.len())])
            }
            Items::Csv => {
                let mut columns: Vec<Vec<Option<Vec<u8>>>> = vec![Vec::with_capacity(items.len()); self.columns.len()];
                for (number, item) in (1u64..).zip(items) {
                    let fields = csv_fields(item).map_err(|what| {
                        let message = format!("item {number} of the chunk {what}");
                        Thrown::of(&["quayline.Rejected"], message)
                            .hint("correct the row: RFC 4180 says how quotes are written")
                    })?;
                    if fields.len() != columns.len() {
                        let message = format!(
                            "item {number} of the chunk has {} fields, expected {}: {}",
                            fields.len(),
                            columns.len(),
                            self.columns.join(", ")
                        );
                        return Err(Thrown::of(&["quayline.Rejected"], message));
                    }
                    for (place, (column, field)) in columns.iter_mut().zip(fields).enumerate() {
                        if let Some(field) = &field {
                            exact.field(place, field, number, &self.columns, losses)?;
                        }
                        column.push(field);
                    }
                }
                let arrays = columns.iter().map(|column| array(TEXT, column.iter().map(Option::as_deref), items.len()));
                Ok(arrays.collect())
            }
        }
    }
}

/// Encodes an array in binary form.
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

/// Parses the fields of a CSV row (RFC 4180, section 2). An empty field without quotes has no value. The error describes the invalid syntax.
fn csv_fields(row: &[u8]) -> Result<Vec<Option<Vec<u8>>>, &'static str> {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    let row = row.strip_suffix(b"\r").unwrap_or(row);
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let mut field = Vec::new();
        let is_quoted = row.get(at) == Some(&b'"');
        if is_quoted {
            at += 1;
            loop {
                match (row.get(at), row.get(at + 1)) {
                    (Some(b'"'), Some(b'"')) => {
                        field.push(b'"');
                        at += 2;
                    }
                    (Some(b'"'), None | Some(b',')) => {
                        at += 1;
                        break;
                    }
                    (Some(b'"'), Some(_)) => return Err("has text after a closing quote"),
                    (Some(byte), _) => {
                        field.push(*byte);
                        at += 1;
                    }
                    (None, _) => return Err("has a quote that is not closed"),
                }
            }
        } else {
            while let Some(byte) = row.get(at).filter(|byte| **byte != b',') {
                if *byte == b'"' {
                    return Err("has a quote inside a field without quotes");
                }
                field.push(*byte);
                at += 1;
            }
        }
        fields.push((is_quoted || !field.is_empty()).then_some(field));
        if row.get(at).is_none() {
            return Ok(fields);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::csv_fields;

    #[test]
    fn rows_are_csv_or_refused() {
        let fields = |row: &str| {
            csv_fields(row.as_bytes()).map(|fields| {
                let text =
                    |field: Option<Vec<u8>>| field.map_or("-".to_owned(), |bytes| String::from_utf8(bytes).unwrap());
                fields.into_iter().map(text).collect::<Vec<_>>().join("|")
            })
        };
        assert_eq!(fields("a,,\"\",\"b \"\"c\"\", d\"\r\n"), Ok("a|-||b \"c\", d".to_owned()));
        for wrong in ["\"a\"b,c", "a\"b,c", "\"a,b", "\"a\" ,b"] {
            assert!(fields(wrong).is_err(), "{wrong}");
        }
    }
}
