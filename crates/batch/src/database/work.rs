//! A unit of work: one transaction of the repository's database, whose statements travel together.

use std::sync::Arc;

use quayline_postgres::{Param, Pool, Savepoint, SqlError, Statement, Transaction};
use quayline_store::Unit;

use crate::error::{BatchError, Thrown};
use crate::event::EventPosition;
use crate::work::{Confirm, Entry, Fence, PageOf, Pending, Work, WorkMark, after_prefix};

const GET: &str = "SELECT value FROM quayline_jobs.record WHERE key = $1::bytea";
const GET_FOR_UPDATE: &str = "SELECT value FROM quayline_jobs.record WHERE key = $1::bytea FOR UPDATE";
const PUT: &str = "INSERT INTO quayline_jobs.record (key, value) VALUES ($1::bytea, $2::bytea) \
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const PUT_ALL: &str = "INSERT INTO quayline_jobs.record (key, value, token) SELECT k, v, $3::bigint FROM unnest($1::bytea[], $2::bytea[]) AS new (k, v) \
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, token = excluded.token";
const DELETE: &str = "DELETE FROM quayline_jobs.record WHERE key = $1::bytea";
/// Writes a checkpoint. Fails with a division by zero if another process has taken over.
const CHECKPOINT: &str = "WITH done AS (UPDATE quayline_jobs.record SET value = $2::bytea WHERE key = $1::bytea AND token = $3::bigint RETURNING 1) \
    SELECT 1 / count(*) FROM done";
const ADOPT: &str = "UPDATE quayline_jobs.record SET token = $3::bigint WHERE key >= $1::bytea AND key < $2::bytea";
const PAGE: &str = "SELECT key, value FROM quayline_jobs.record WHERE key >= $1::bytea AND key < $2::bytea ORDER BY key LIMIT $3::bigint";
const PAGE_BACK: &str = "SELECT key, value FROM quayline_jobs.record WHERE key >= $1::bytea AND key < $2::bytea ORDER BY key DESC LIMIT $3::bigint";

const KEEP_EVENT: &str = "INSERT INTO quayline_jobs.event (data) VALUES ($1::bytea)";
/// Selects only transactions before all running ones, so that a later commit cannot add an event before the returned ones.
const EVENTS: &str = "SELECT at::text::bigint, id, data FROM quayline_jobs.event \
    WHERE (at, id) > ($1::bigint::text::xid8, $2::bigint) AND at < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY at, id LIMIT $3::bigint";
const NEWEST_EVENT: &str = "SELECT at::text::bigint, id FROM quayline_jobs.event WHERE at < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY at DESC, id DESC LIMIT 1";
const TRIM_EVENTS: &str = "DELETE FROM quayline_jobs.event WHERE (at, id) IN (SELECT at, id FROM quayline_jobs.event WHERE (at, id) <= \
    (SELECT at, id FROM quayline_jobs.event ORDER BY at DESC, id DESC OFFSET $1::bigint LIMIT 1) ORDER BY at, id LIMIT $2::bigint) RETURNING 1";

/// The tag of a checkpoint.
const FENCE: u32 = u32::MAX;
/// Tag of a statement for all items of a chunk. The statement casts [`NO_ROW`] if one of the items has no row.
pub(crate) const WHOLE: u32 = u32::MAX - 1;
/// Text that a statement of the whole chunk casts to a number if an item has no row.
pub(crate) const NO_ROW: &str = "quayline: an item of the chunk has no row";

pub(super) struct DatabaseWork {
    transaction: Transaction,
    marks: Vec<Savepoint>,
    fence: Option<Fence>,
    by_item: bool,
}

impl DatabaseWork {
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        DatabaseWork { transaction: Transaction::new(pool), marks: Vec::new(), fence: None, by_item: false }
    }

    fn one(&mut self, text: &str, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        let answers = self.transaction.query(&Statement::new(text), &[Param::Binary(key)])?;
        Ok(answers.row(0).and_then(|row| row.get(0)).map(<[u8]>::to_vec))
    }
}

/// Encodes a number as a `bigint` in binary form.
fn int8(number: u64) -> [u8; 8] {
    i64::try_from(number).unwrap_or(i64::MAX).to_be_bytes()
}

/// Returns the position of an event from the first columns of a row.
fn position(row: &quayline_postgres::Row<'_>) -> Option<EventPosition> {
    let number = |column| row.int8(column).and_then(|number| u64::try_from(number).ok());
    Some(EventPosition(number(0)?, number(1)?))
}

/// Encodes an array of `bytea` in binary form.
fn array<'v>(values: impl ExactSizeIterator<Item = &'v [u8]>) -> Vec<u8> {
    const BYTEA: u32 = 17;
    let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let mut bytes: Vec<u8> = [1, 0, BYTEA, count, 1].into_iter().flat_map(u32::to_be_bytes).collect();
    for value in values {
        bytes.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend_from_slice(value);
    }
    bytes
}

impl Work for DatabaseWork {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        self.one(GET, key)
    }

    fn get_for_update(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        self.one(GET_FOR_UPDATE, key)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), BatchError> {
        self.transaction.change(&Statement::new(PUT), &[key, value], 0);
        Ok(())
    }

    fn put_all(&mut self, entries: &[Entry], token: u64) -> Result<(), BatchError> {
        let keys = array(entries.iter().map(|(key, _)| key.as_slice()));
        let values = array(entries.iter().map(|(_, value)| value.as_slice()));
        if !entries.is_empty() {
            self.transaction.change(&Statement::new(PUT_ALL), &[&keys, &values, &token.to_be_bytes()], 0);
        }
        Ok(())
    }

    fn put_fenced(&mut self, key: &[u8], value: &[u8], fence: &Fence) -> Result<(), BatchError> {
        self.fence = Some(fence.clone());
        self.transaction.at_end(&Statement::new(CHECKPOINT), &[key, value, &fence.token.to_be_bytes()], FENCE);
        Ok(())
    }

    fn adopt(&mut self, prefix: &[u8], token: u64) -> Result<(), BatchError> {
        let end = after_prefix(prefix).unwrap_or_else(|| vec![0xff; 64]);
        self.transaction.change(&Statement::new(ADOPT), &[prefix, &end, &token.to_be_bytes()], 0);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), BatchError> {
        self.transaction.change(&Statement::new(DELETE), &[key], 0);
        Ok(())
    }

    fn page(&mut self, of: PageOf<'_>) -> Result<Vec<Entry>, BatchError> {
        let mut from = of.prefix.to_vec();
        let mut to = after_prefix(of.prefix).unwrap_or_else(|| vec![0xff; 64]);
        match (of.after, of.newest_first) {
            (Some(after), true) => to = after.to_vec(),
            // The next key after it is the same with a byte 0.
            (Some(after), false) => from = [after, &[0]].concat(),
            (None, _) => {}
        }
        let count = i64::try_from(of.count.max(1)).unwrap_or(i64::MAX).to_be_bytes();
        let params = [Param::Binary(&from), Param::Binary(&to), Param::Binary(&count)];
        let text = if of.newest_first { PAGE_BACK } else { PAGE };
        let answers = self.transaction.query(&Statement::new(text), &params)?;
        let entry = |row: quayline_postgres::Row<'_>| Some((row.get(0)?.to_vec(), row.get(1)?.to_vec()));
        Ok(answers.rows().filter_map(entry).collect())
    }

    fn keep_event(&mut self, event: Vec<u8>) -> Result<(), BatchError> {
        self.transaction.change(&Statement::new(KEEP_EVENT), &[&event], 0);
        Ok(())
    }

    fn events(&mut self, after: EventPosition, count: usize) -> Result<Vec<(EventPosition, Vec<u8>)>, BatchError> {
        let (first, second) = (int8(after.0), int8(after.1));
        let count = int8(count as u64);
        let params = [Param::Binary(&first), Param::Binary(&second), Param::Binary(&count)];
        let answers = self.transaction.query(&Statement::new(EVENTS), &params)?;
        let event = |row: quayline_postgres::Row<'_>| Some((position(&row)?, row.get(2)?.to_vec()));
        Ok(answers.rows().filter_map(event).collect())
    }

    fn newest_event(&mut self) -> Result<Option<EventPosition>, BatchError> {
        let answers = self.transaction.query(&Statement::new(NEWEST_EVENT), &[])?;
        Ok(answers.row(0).and_then(|row| position(&row)))
    }

    fn trim_events(&mut self, retain: u64, count: u64) -> Result<u64, BatchError> {
        let (retain, count) = (int8(retain), int8(count));
        let params = [Param::Binary(&retain), Param::Binary(&count)];
        let answers = self.transaction.query(&Statement::new(TRIM_EVENTS), &params)?;
        Ok(answers.rows().count() as u64)
    }

    fn is_untouched(&self) -> bool {
        self.transaction.is_untouched()
    }

    fn unit(&mut self) -> Option<&mut Unit> {
        None
    }

    fn transaction(&mut self) -> Option<&mut Transaction> {
        Some(&mut self.transaction)
    }

    fn defers(&self) -> bool {
        true
    }

    fn confirm(&mut self, what: Confirm) -> Result<(), Thrown> {
        if what == Confirm::Constraints {
            check_constraints(&mut self.transaction);
        }
        self.transaction.answers().map(|_| ()).map_err(thrown)
    }

    fn set_by_item(&mut self) {
        self.by_item = true;
    }

    fn by_item(&self) -> bool {
        self.by_item
    }

    fn mark(&mut self) -> WorkMark {
        self.marks.push(self.transaction.savepoint());
        WorkMark(self.marks.len() as u64)
    }

    fn back_to(&mut self, mark: WorkMark) -> Result<(), BatchError> {
        let at = usize::try_from(mark.0).unwrap_or(usize::MAX);
        self.marks.truncate(at);
        match self.marks.pop() {
            Some(mark) => Ok(self.transaction.back_to(&mark)?),
            None => Ok(()),
        }
    }

    fn commit(self: Box<Self>) -> Result<(), BatchError> {
        self.submit().wait()
    }

    fn submit(self: Box<Self>) -> Pending {
        let fence = self.fence;
        let way = self.transaction.submit();
        Pending::new(move || way.wait().map_err(|error| outcome(error, fence.as_ref())))
    }
}

/// Adds statements that check deferred constraints. The rollback to the savepoint defers the constraints again.
pub(crate) fn check_constraints(transaction: &mut Transaction) {
    for text in ["SAVEPOINT quayline_check", "SET CONSTRAINTS ALL IMMEDIATE", "ROLLBACK TO SAVEPOINT quayline_check"] {
        transaction.change(&Statement::new(text), &[], 0);
    }
}

/// Converts the error of a writer's statement, whose tag is the number of its item from 1, to an exception.
pub(crate) fn thrown(error: SqlError) -> Thrown {
    let item = match &error {
        // A trigger of the table may raise the same SQLSTATE, so the message must contain the text of the statement.
        SqlError::Refused(refusal) if refusal.tag == WHOLE && refusal.message.contains(NO_ROW) => {
            let classes = ["SQLSTATE-02000", "SQLSTATE-02", "java.sql.SQLException", "quayline.Rejected"];
            return Thrown::of(&classes, "SQLSTATE 02000: an item of the chunk has no row");
        }
        SqlError::Refused(refusal) if refusal.tag > 0 && refusal.tag < WHOLE => Some(refusal.tag),
        _ => None,
    };
    let thrown = Thrown::from(error);
    match item {
        Some(item) => Thrown { message: format!("item {item} of the chunk: {}", thrown.message), ..thrown },
        None => thrown,
    }
}

/// Converts the error of a failed commit.
fn outcome(error: SqlError, fence: Option<&Fence>) -> BatchError {
    match (&error, fence) {
        (SqlError::Refused(refusal), Some(fence)) if refusal.tag == FENCE && refusal.sqlstate == "22012" => {
            BatchError::Fenced { execution: fence.execution, token: fence.token }
        }
        // A unit of work with a checkpoint is a chunk, so a refusal concerns its writer.
        (SqlError::Refused(_), Some(_)) if !error.is_lost() => BatchError::Deferred(Box::new(thrown(error))),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use quayline_postgres::{Refusal, SqlError};

    use super::*;

    /// Quayline reported a division by zero in a trigger as an item without a row.
    #[test]
    fn only_the_statement_itself_says_that_an_item_has_no_row() {
        let of = |sqlstate: &str, message: String| {
            let refusal = Refusal { sqlstate: sqlstate.to_owned(), message, tag: WHOLE, ..Refusal::default() };
            thrown(SqlError::Refused(Box::new(refusal))).lineage
        };
        let no_row = of("22P02", format!("invalid input syntax for type integer: \"{NO_ROW} 3\""));
        assert!(no_row.iter().any(|class| class == "SQLSTATE-02000"), "{no_row:?}");
        let trigger = of("22012", "division by zero".to_owned());
        assert!(!trigger.iter().any(|class| class == "SQLSTATE-02000"), "{trigger:?}");
    }
}
