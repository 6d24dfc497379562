//! `quayline.sqlReader`: rows of a query in the order of a key. A restart continues after the key of the checkpoint; rows before it are not read.

use std::collections::VecDeque;
use std::sync::Arc;

use quayline_postgres::{Answers, Cursor, Param, Pool, Statement};

use super::{Items, items_of, names, pool_of, quoted};
use crate::artifact::{Answer, Injected, Item, Lent, Reader};
use crate::builtin::file_reader::damaged;
use crate::error::Thrown;
use crate::work::Work;

/// Rows that travel at once.
const FETCH: u64 = 1_000;
/// Name of a row of the query. A column of the query must not have it: `row_to_json` would take the column.
const ROW: &str = "quayline_row";

pub(in crate::builtin) struct SqlReader {
    name: String,
    pool: Option<Arc<Pool>>,
    query: String,
    key: Vec<String>,
    items: Items,
    fetch: u32,
    cursor: Option<Cursor>,
    rows: VecDeque<(Item, Vec<String>)>,
    /// Key of the row that was read last.
    last: Option<Vec<String>>,
}

impl SqlReader {
    pub(in crate::builtin) fn new(with: &Injected) -> Answer<Self> {
        let pool = pool_of(with)?;
        with.required("key")?;
        let fetch = with.number("fetch", FETCH)?.clamp(1, 1_000_000);
        Ok(SqlReader {
            name: with.name.clone(),
            pool,
            query: with.required("query")?.trim().trim_end_matches(';').to_owned(),
            key: names(with, "key")?,
            items: items_of(with),
            fetch: u32::try_from(fetch).unwrap_or(u32::MAX),
            cursor: None,
            rows: VecDeque::new(),
            last: None,
        })
    }

    /// Returns the statement from the start, or after a key of these types. Its columns are the texts of the key, `true` if the next row has an equal
    /// key, and the item. Only the database knows which keys are equal: 1.0 and 1.00 are.
    fn text(&self, types: Option<&[String]>) -> String {
        let key: Vec<String> = self.key.iter().map(|name| format!("{ROW}.{}", quoted(name))).collect();
        let key = key.join(", ");
        let texts: Vec<String> = self.key.iter().map(|name| format!("{ROW}.{}::text", quoted(name))).collect();
        let after = match types {
            None => String::new(),
            Some(types) => {
                let values: Vec<String> = (1..).zip(types).map(|(n, of)| format!("${n}::{of}")).collect();
                format!(" WHERE ROW({key}) > ROW({})", values.join(", "))
            }
        };
        let item = match self.items {
            Items::Json => format!("row_to_json({ROW})::text"),
            Items::Csv => format!("{ROW}.*"),
        };
        let next: Vec<String> =
            self.key.iter().map(|name| format!("lead({ROW}.{}) OVER {ROW}_order", quoted(name))).collect();
        let is_repeated = format!("(ROW({key}) = ROW({}))::text", next.join(", "));
        // The query may end with a comment.
        format!(
            "SELECT {}, {is_repeated}, {item} FROM ({}\n) AS {ROW}{after} WINDOW {ROW}_order AS (ORDER BY {key}) ORDER BY {key}",
            texts.join(", "),
            self.query
        )
    }

    /// Fetches the next rows. Returns false after the last.
    fn fetch(&mut self) -> Answer<bool> {
        let cursor = self.cursor.as_mut().expect("the reader is open");
        let mut answers = Answers::default();
        let is_any = cursor.next(&mut answers)?;
        self.take(&answers)?;
        Ok(is_any)
    }

    fn take(&mut self, answers: &Answers) -> Answer<()> {
        let keys = self.key.len();
        for row in answers.rows() {
            let mut key = Vec::with_capacity(keys);
            for column in 0..keys {
                let Some(text) = row.text(column) else {
                    let message = format!("a row of the query of {} has no value in {}", self.name, self.key[column]);
                    return Err(Thrown::of(&["quayline.Configuration"], message).hint(
                        "a restart continues by the key: name columns that are never null, or exclude such rows",
                    ));
                };
                key.push(text.to_owned());
            }
            // Neither of the two rows is an item, so a restart cannot begin between them.
            if row.text(keys) == Some("true") {
                let message = format!("two rows of the query of {} have the same {}", self.name, self.key.join(", "));
                return Err(Thrown::of(&["quayline.Configuration"], message)
                    .hint("a restart would leave rows out: add columns to key until each row has a key of its own"));
            }
            let item = match self.items {
                Items::Json => row.get(keys + 1).unwrap_or_default().to_vec(),
                Items::Csv => {
                    let mut item = Vec::new();
                    for column in keys + 1..row.len() {
                        if column > keys + 1 {
                            item.push(b',');
                        }
                        csv_field(row.get(column), &mut item);
                    }
                    item
                }
            };
            self.rows.push_back((item, key));
        }
        Ok(())
    }
}

/// Appends a CSV field: null is empty, and an empty text is quoted.
fn csv_field(value: Option<&[u8]>, out: &mut Vec<u8>) {
    let Some(value) = value else { return };
    if !value.is_empty() && !value.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        out.extend_from_slice(value);
        return;
    }
    out.push(b'"');
    for byte in value {
        out.push(*byte);
        if *byte == b'"' {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

impl Reader for SqlReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        self.rows.clear();
        self.last =
            checkpoint.filter(|bytes| !bytes.is_empty()).map(|bytes| unpack(bytes).ok_or_else(damaged)).transpose()?;
        let pool = match &self.pool {
            Some(pool) => Arc::clone(pool),
            None => {
                let own = work.transaction().map(|transaction| Arc::clone(transaction.pool()));
                own.ok_or_else(|| {
                    let remedy = "add the property database, or keep the job repository in the database: --repository";
                    Thrown::property(&self.name, "database", "is missing", remedy)
                })?
            }
        };
        let mut connection = pool.take()?;
        connection.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let text = match &self.last {
            None => self.text(None),
            Some(_) => {
                let types = connection.types_of(&format!(
                    "SELECT {} FROM ({}\n) AS {ROW} LIMIT 0",
                    self.key.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
                    self.query
                ))?;
                self.text(Some(&types))
            }
        };
        let values = self.last.clone().unwrap_or_default();
        let params: Vec<Param<'_>> = values.iter().map(|text| Param::Text(text.as_bytes())).collect();
        self.cursor = Some(Cursor::open(pool, connection, &Statement::new(&text), &params, self.fetch)?);
        Ok(())
    }

    fn read(&mut self, _work: &mut dyn Work) -> Answer<Option<Item>> {
        while self.rows.is_empty() {
            // After an error, the cursor has no more rows, although the query may have some.
            if !self.fetch().map_err(Thrown::reopens)? {
                return Ok(None);
            }
        }
        let Some((item, key)) = self.rows.pop_front() else { return Ok(None) };
        self.last = Some(key);
        Ok(Some(item))
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(self.last.as_ref().map(|key| pack(key).into()))
    }

    fn close(&mut self) -> Answer<()> {
        self.cursor = None;
        Ok(())
    }
}

/// Texts, each after its length.
fn pack(texts: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

fn unpack(mut bytes: &[u8]) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        texts.push(String::from_utf8(rest.get(..length)?.to_vec()).ok()?);
        bytes = rest.get(length..)?;
    }
    bytes.is_empty().then_some(texts)
}
