//! Records of a file on the listener for operators.

use std::borrow::Cow;

use quayline_core::{from_hex, hex};
use quayline_store::record_file::{Organisation, Relation};
use quayline_store::{Direction, Store};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::api::Refused;
use super::files_api::{Answer, Routed};
use super::records::{self, KEYS, NotDeleted, Sought, step};
use crate::admin::{Query, wrong};

/// Most records of a page.
pub(super) const PAGE_RECORDS: u64 = 1_000;
/// Bytes of records that end a page.
const PAGE_BYTES: usize = 1 << 20;

/// Parameters of a page.
pub(super) const PAGE_PARAMETERS: [(&str, &str); 8] = {
    let [key, key_hex, address, number, index] = KEYS;
    [
        key,
        key_hex,
        address,
        number,
        index,
        ("order", "`backward` reads towards the beginning; `forward` by default"),
        ("limit", "Records of a page, 1 to 1000; 1000 by default"),
        ("after", "Where the page begins: `next` of the page before"),
    ]
};

/// A record of a page.
#[derive(Deserialize, Serialize)]
pub(super) struct RecordWire<'a> {
    /// Bytes of the record as hexadecimal digits.
    #[serde(borrow)]
    pub(super) record: Cow<'a, str>,
    /// Relative byte address in an entry-sequenced file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    /// Relative record number in a relative file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
}

/// A page of records.
#[derive(Deserialize, Serialize)]
pub(super) struct PageWire<'a> {
    #[serde(borrow)]
    pub(super) records: Vec<RecordWire<'a>>,
    /// Where the next page begins; missing if the browse has reached the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

/// A page of records that this process owns.
pub(super) struct Page(PageWire<'static>);

impl Page {
    pub(super) fn json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec(&self.0).expect("a page has string keys and plain values");
        json.push(b'\n');
        json
    }
}

/// Reads a page of records.
pub(super) fn page(store: &Store, name: &str, query: &Query) -> Routed {
    let sought = Sought::of_query(query)?;
    let direction = match query.value("order") {
        None | Some("forward") => Direction::Forward,
        Some("backward") => Direction::Backward,
        Some(other) => {
            let hint = "write forward or backward".to_owned();
            return Err(wrong(format!("`order` is `{other}`"), hint).into());
        }
    };
    let limit = match query.value("limit").map(str::parse::<u64>) {
        None => PAGE_RECORDS,
        Some(Ok(limit)) if (1..=PAGE_RECORDS).contains(&limit) => limit,
        Some(_) => {
            let hint = format!("write a whole number from 1 to {PAGE_RECORDS}");
            return Err(wrong(format!("`limit` is `{}`", query.value("limit").unwrap_or_default()), hint).into());
        }
    };
    let after = match query.value("after") {
        Some(_) if sought.by().is_some() => {
            let hint = "send a key for the first page, and `after` for the others".to_owned();
            return Err(wrong("`after` and a key exclude each other".to_owned(), hint).into());
        }
        Some(text) => Some(from_hex(text).filter(|place| !place.is_empty()).ok_or_else(|| {
            let hint = "write `next` of the page before, or leave it out".to_owned();
            wrong("`after` is not the end of a page".to_owned(), hint)
        })?),
        None => None,
    };
    let unit = store.begin()?;
    let file = store.file(&unit, name)?;
    let mut browse = sought.browse(&unit, &file, direction)?;
    if let Some(place) = &after {
        browse.resume(place);
    }
    let organisation = file.definition().organisation;
    let (mut records, mut bytes) = (Vec::new(), 0);
    let next = loop {
        if records.len() as u64 >= limit || bytes >= PAGE_BYTES {
            break browse.place().map(hex);
        }
        let Some(record) = step(&mut browse, &unit, direction)? else { break None };
        bytes += record.bytes.len();
        let at = |wanted| record.address().filter(|_| organisation == wanted);
        records.push(RecordWire {
            record: hex(&record.bytes).into(),
            address: at(Organisation::EntrySequenced),
            number: at(Organisation::Relative),
        });
    };
    Ok(Answer::Page(Page(PageWire { records, next })))
}

/// Reads one record.
pub(super) fn read(store: &Store, name: &str, query: &Query) -> Routed {
    let relation = match query.value("relation") {
        None | Some("equal") => Relation::Equal,
        Some("at-least") => Relation::AtLeast,
        Some(other) => {
            let hint = "write equal or at-least".to_owned();
            return Err(wrong(format!("`relation` is `{other}`"), hint).into());
        }
    };
    let sought = Sought::of_query(query)?;
    let by = sought.by().ok_or_else(no_key)?;
    let unit = store.begin()?;
    let record = store.file(&unit, name)?.read(&unit, by, relation)?;
    Ok(Answer::Bytes(record.bytes.to_vec()))
}

fn no_key() -> quayline_core::Findings {
    wrong("the request names no record".to_owned(), "send `key`, `key_hex`, `address` or `number`".to_owned())
}

/// Inserts a record.
pub(super) fn insert(store: &Store, name: &str, record: &[u8]) -> Routed {
    records::put(store, name, record, records::Put::Insert)?;
    Ok(Answer::Json(201, json!({ "status": "inserted" })))
}

/// Replaces a record.
pub(super) fn replace(store: &Store, name: &str, record: &[u8]) -> Routed {
    records::put(store, name, record, records::Put::Replace)?;
    Ok(Answer::Json(200, json!({ "status": "replaced" })))
}

/// Deletes a record.
pub(super) fn delete(store: &Store, name: &str, query: &Query) -> Routed {
    let sought = Sought::of_query(query)?;
    match records::delete(store, name, sought.by().ok_or_else(no_key)?) {
        Ok(()) => Ok(Answer::Json(200, json!({ "status": "deleted" }))),
        Err(NotDeleted::Several) => Err(Refused::new(409, &[records::several(name)])),
        Err(NotDeleted::Store(error)) => Err(error.into()),
    }
}
