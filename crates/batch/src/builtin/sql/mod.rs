//! SQL: `quayline.sqlReader`, `quayline.sqlWriter`, `quayline.sqlBatchlet`.
//!
//! Items are JSON objects or CSV rows. The database itself makes rows of JSON and JSON of rows, so every type of a column works and numbers
//! keep all their digits.

mod batchlet;
mod exact;
mod other;
mod reader;
mod statement;
mod writer;

use std::sync::Arc;

use quayline_postgres::{Endpoint, Pool};

use crate::artifact::{Answer, Injected};
use crate::error::Thrown;

pub(super) use batchlet::SqlBatchlet;
pub(super) use reader::SqlReader;
pub(super) use writer::SqlWriter;

/// The form of an item.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Items {
    Json,
    Csv,
}

fn items_of(with: &Injected) -> Items {
    if with.property("items") == Some("csv") { Items::Csv } else { Items::Json }
}

/// The database that a property names.
fn pool_of(with: &Injected) -> Answer<Option<Arc<Pool>>> {
    let Some(text) = with.property("database") else { return Ok(None) };
    let endpoint =
        Endpoint::parse(text).map_err(|error| Thrown::property(&with.name, "database", &error.what, &error.remedy))?;
    Ok(Some(Pool::new(endpoint)))
}

/// Quotes a name for SQL, so that it is taken exactly as in the catalog.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a table name with an optional schema.
fn quoted_table(name: &str) -> String {
    name.split('.').map(quoted).collect::<Vec<_>>().join(".")
}

/// Names that a property lists.
fn names(with: &Injected, property: &str) -> Answer<Vec<String>> {
    let listed = with.property(property).unwrap_or_default().split(',');
    let names: Vec<String> = listed.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    for (place, name) in names.iter().enumerate() {
        if names[..place].contains(name) {
            let remedy = "write each column once";
            return Err(Thrown::property(&with.name, property, format!("names {name} twice"), remedy));
        }
    }
    Ok(names)
}
