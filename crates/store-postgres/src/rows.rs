//! Rows of statements, and parameters.

use std::ops::Bound;

use quayline_store::{Page, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Rows of a statement.
pub(crate) type Rows = Result<Vec<Row>, StoreError>;

/// Parameters that are sent to another thread.
pub(crate) type Parameters = Vec<Box<dyn ToSql + Sync + Send>>;

/// Returns the number in the first row; 0 without a row.
pub(crate) fn integer(rows: &[Row]) -> i64 {
    rows.first().and_then(|row| row.try_get::<_, i64>(0).ok()).unwrap_or(0)
}

/// Returns the truth value in the first row; false without a row.
pub(crate) fn truth(rows: &[Row]) -> bool {
    rows.first().and_then(|row| row.try_get(0).ok()).unwrap_or(false)
}

pub(crate) fn columns(row: &Row) -> Option<(&[u8], &[u8])> {
    Some((row.try_get(0).ok()?, row.try_get(1).ok()?))
}

/// Puts rows into a page. One that reached a bound continues. Bytes are those of full keys and values, as the statement counts them; otherwise
/// the statement would end a page that appears to have room, and the rest of the range would be missing.
pub(crate) fn fill(page: &mut Page, rows: &[Row], entries: usize, bytes: usize) {
    let mut counted = 0;
    for (key, value) in rows.iter().filter_map(columns) {
        counted += key.len() + value.len();
        page.push(key.get(4..).unwrap_or_default(), value);
    }
    if page.len() >= entries || counted >= bytes {
        page.next = page.len().checked_sub(1).map(|last| Bound::Excluded(page.entry(last).0.to_vec()));
    }
}
