//! `quayline.sqlWriter`: writes items as rows, a chunk in one statement or in one for each item, all in one round trip.
//!
//! - **In the repository's database** the statements are part of the chunk's transaction, together with the checkpoint.
//! - **In another database** each chunk is a separate transaction, with a row in `quayline_chunk` that identifies the chunk. A restart finds
//!   the row and does not write the chunk twice.

use std::sync::Arc;

use quayline_postgres::{Param, Pool, Statement, Transaction};

use super::exact::Exact;
use super::statement::{Mode, Target};
use super::{items_of, names, pool_of};
use crate::artifact::{Answer, Injected, Item, Writer};
use crate::builtin::file_reader::{damaged, numbers};
use crate::database::{WHOLE, thrown};
use crate::error::{Kind, Thrown};
use crate::record::ExecutionId;
use crate::work::Work;

/// Mode of sending a chunk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Send {
    /// One statement for all items.
    Set,
    /// A statement for each item.
    Rows,
}

pub(in crate::builtin) struct SqlWriter {
    name: String,
    target: Target,
    send: Send,
    /// True if the database may round values to the precision of a column.
    rounds: bool,
    pool: Option<Arc<Pool>>,
    /// Identification of this step in `quayline_chunk`.
    origin: String,
    open: Option<Open>,
}

/// State of an open writer.
struct Open {
    set: Statement,
    row: Statement,
    /// Precisions of the columns.
    exact: Exact,
    /// The writer's own database, if that is not the repository's.
    other: Option<Other>,
}

struct Other {
    pool: Arc<Pool>,
    /// Number of the chunk that is written next.
    chunk: u64,
    /// Items of this chunk that checkpoints have passed: chunks may be smaller after a restart.
    passed: u64,
    /// Further items of this chunk that the database already has.
    there: u64,
    /// Items of this chunk that the step's current chunk contributes, once that is written.
    now: u64,
}

const TOKENS: &str =
    "CREATE TABLE IF NOT EXISTS quayline_chunk (origin text PRIMARY KEY, chunk bigint NOT NULL, items bigint NOT NULL)";
const TOKEN: &str = "SELECT chunk, items FROM quayline_chunk WHERE origin = $1::text";
const REMOVE_TOKEN: &str = "DELETE FROM quayline_chunk WHERE origin = $1::text";
const SET_TOKEN: &str = "INSERT INTO quayline_chunk VALUES ($1::text, $2::bigint, $3::bigint) \
    ON CONFLICT (origin) DO UPDATE SET chunk = excluded.chunk, items = excluded.items";

impl SqlWriter {
    pub(in crate::builtin) fn new(with: &Injected) -> Answer<Self> {
        // The declared properties have no other words, and a key that suits mode and columns.
        let mode = match with.property("mode") {
            Some("update") => Mode::Update,
            Some("upsert") => Mode::Upsert,
            Some("delete") => Mode::Delete,
            _ => Mode::Insert,
        };
        let send = if with.property("send") == Some("rows") { Send::Rows } else { Send::Set };
        let must_exist = with.property("missing") != Some("ignore") && matches!(mode, Mode::Update | Mode::Delete);
        let rounds = with.property("inexact") == Some("round");
        let (columns, key) = (names(with, "columns")?, names(with, "key")?);
        if mode == Mode::Update && columns.len() == key.len() {
            let remedy = "name the columns to change beside those of the key";
            return Err(Thrown::property(&with.name, "columns", "has nothing to update", remedy));
        }
        let (job, step) = (&with.job, with.step.as_deref());
        let partition = step.and_then(|step| step.partition).map(|number| format!("/{number}")).unwrap_or_default();
        // A new start of the step ignores the tokens of an earlier one.
        let began = step.map(|step| step.began).filter(|began| *began != ExecutionId::default());
        let began = began.map(|execution| format!("#{execution}")).unwrap_or_default();
        let step = step.map_or("", |step| step.step.as_str());
        Ok(SqlWriter {
            name: with.name.clone(),
            target: Target {
                mode,
                items: items_of(with),
                table: with.required("table")?.to_owned(),
                columns,
                key,
                must_exist,
            },
            send,
            rounds,
            pool: pool_of(with)?,
            origin: format!("{}/{}/{}/{step}{partition}{began}", job.job, job.instance, job.created_ms),
            open: None,
        })
    }

    /// Adds the statements for items to a transaction.
    fn add(&self, items: &[Item], send: Send, transaction: &mut Transaction) -> Answer<()> {
        let open = self.open.as_ref().expect("the writer is open");
        if send == Send::Set {
            let mut values = self.target.values(items, &open.exact)?;
            if self.target.must_exist {
                values.push(i64::try_from(items.len()).unwrap_or(i64::MAX).to_be_bytes().to_vec());
            }
            let params: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            transaction.change(&open.set, &params, if self.target.must_exist { WHOLE } else { 0 });
            return Ok(transaction.make_room()?);
        }
        for (number, item) in (1u32..).zip(items) {
            let values = self.target.values(std::slice::from_ref(item), &open.exact).map_err(|thrown| Thrown {
                message: thrown.message.replacen("item 1 ", &format!("item {number} "), 1),
                ..thrown
            })?;
            let params: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            transaction.change(&open.row, &params, number);
            if self.target.must_exist {
                transaction.must_change_one(number);
            }
            transaction.make_room()?;
        }
        Ok(())
    }

    /// Writes a chunk into a database that is not the repository's, with its token.
    fn write_there(&mut self, items: &[Item]) -> Answer<()> {
        let Some(other) = self.open.as_ref().and_then(|open| open.other.as_ref()) else { return Ok(()) };
        // A chunk that the database has already, from before a restart, is passed over, item by item.
        let passed = usize::try_from(other.there).unwrap_or(usize::MAX).min(items.len());
        let now = other.now + items.len() as u64;
        if passed < items.len() {
            let (pool, chunk, count) = (Arc::clone(&other.pool), other.chunk, other.passed + now);
            self.send_there(&items[passed..], &pool, (chunk, count), passed)?;
        }
        if let Some(other) = self.open.as_mut().and_then(|open| open.other.as_mut()) {
            other.there -= passed as u64;
            other.now = now;
        }
        Ok(())
    }

    /// Writes items and the token of their chunk in a transaction. `passed` items of the chunk are before them.
    fn send_there(&self, items: &[Item], pool: &Arc<Pool>, (chunk, count): (u64, u64), passed: usize) -> Answer<()> {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX).to_be_bytes();
        let (chunk, count) = (number(chunk), number(count));
        let attempt = |send: Send| -> Answer<()> {
            let mut transaction = Transaction::new(pool);
            self.add(items, send, &mut transaction)?;
            transaction.change(&Statement::new(SET_TOKEN), &[self.origin.as_bytes(), &chunk, &count], 0);
            transaction.answers().map_err(|error| thrown(error, passed))?;
            transaction.commit().map_err(|error| thrown(error, passed))
        };
        match attempt(self.send) {
            // Send the chunk again with one statement for each item, to find the wrong item.
            Err(failed) if self.send == Send::Set && failed.kind == Kind::Plain => attempt(Send::Rows),
            done => done,
        }
    }
}

impl Writer for SqlWriter {
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        let own = work.transaction().map(|transaction| Arc::clone(transaction.pool()));
        let (pool, is_other) = match (&self.pool, own) {
            (Some(pool), Some(own)) if own.endpoint().is_same_database(pool.endpoint()) => (own, false),
            (Some(pool), _) => (Arc::clone(pool), true),
            (None, Some(own)) => (own, false),
            (None, None) => {
                let remedy = "add the property database, or keep the job repository in the database: --repository";
                return Err(Thrown::property(&self.name, "database", "is missing", remedy));
            }
        };
        let mut connection = pool.take()?;
        let types = self.target.types(&mut connection)?;
        let exact = Exact::of(&mut connection, &self.target.table, &self.target.columns, self.rounds)?;
        let must_exist = self.target.must_exist;
        let set = Statement::new(&self.target.text(&types, must_exist));
        let row = if must_exist { Statement::new(&self.target.text(&types, false)) } else { set.clone() };
        let other = if is_other {
            let [chunk, passed] = match checkpoint {
                None => [0, 0],
                Some(bytes) => match numbers(bytes) {
                    Some([chunk]) => [chunk, 0],
                    None => numbers(bytes).ok_or_else(damaged)?,
                },
            };
            connection.script(TOKENS)?;
            let found = connection.query(TOKEN, &[Param::Binary(self.origin.as_bytes())])?;
            let there = found.row(0).and_then(|row| Some((row.int8(0)?, row.int8(1)?)));
            let there = there.filter(|(at, _)| u64::try_from(*at) == Ok(chunk));
            let there = there.and_then(|(_, items)| u64::try_from(items).ok()).unwrap_or(0).saturating_sub(passed);
            Some(Other { pool: Arc::clone(&pool), chunk, passed, there, now: 0 })
        } else {
            None
        };
        pool.put(connection);
        self.open = Some(Open { set, row, exact, other });
        Ok(())
    }

    fn write(&mut self, items: &[Item], work: &mut dyn Work) -> Answer<()> {
        if self.open.as_ref().is_some_and(|open| open.other.is_some()) {
            return self.write_there(items);
        }
        // After a refusal, the items are sent one by one, so that the error names one.
        let send = if work.by_item() { Send::Rows } else { self.send };
        let transaction = work.transaction().expect("the writer's database is the repository's");
        self.add(items, send, transaction)
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn isolates(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.other.is_none())
    }

    fn isolates_by_rollback(&self) -> bool {
        true
    }

    fn checkpoint(&mut self) -> Answer<Option<Vec<u8>>> {
        let Some(other) = self.open.as_mut().and_then(|open| open.other.as_mut()) else { return Ok(None) };
        if other.there > 0 {
            other.passed += std::mem::take(&mut other.now);
            return Ok(Some([other.chunk, other.passed].map(u64::to_le_bytes).concat()));
        }
        other.chunk += 1;
        (other.passed, other.now) = (0, 0);
        Ok(Some(other.chunk.to_le_bytes().to_vec()))
    }

    fn close(&mut self, complete: bool) -> Answer<()> {
        match self.open.take().and_then(|open| open.other) {
            Some(Other { there, .. }) if complete && there > 0 => {
                let message = format!("the database has {there} more items of this chunk than the reader read again");
                Err(Thrown::of(&["quayline.Configuration"], message).hint(
                    "the input changed since the execution before: restore it, or start a new instance of the job with an empty table",
                ))
            }
            // The last checkpoint covers all chunks, so no restart needs the token. If the database does not answer, the row stays.
            Some(Other { pool, .. }) if complete => {
                if let Ok(mut connection) = pool.take()
                    && connection.query(REMOVE_TOKEN, &[Param::Binary(self.origin.as_bytes())]).is_ok()
                {
                    pool.put(connection);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
