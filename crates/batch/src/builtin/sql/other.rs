//! A chunk's transaction in a database that is not the repository's.
//!
//! - **One transaction for each chunk.** It commits before the checkpoint of the chunk, together with a row in `quayline_chunk` that identifies the
//!   chunk. A restart finds the row and does not write the chunk twice.
//! - **A refused write is undone to a savepoint.** The engine therefore can write halves of the chunk, which finds the items that fail.
//! - **The row has the positions of skipped items.** A restart tries these again, so they are skipped again and stored with the rejects.
//! - **The row has an owner.** A step that begins becomes the owner. A process that held the step before, and was only slow, can commit no chunk there
//!   anymore, although it learns from the repository only later that it lost the execution.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use quayline_postgres::{Connection, Param, Pool, SqlError, Statement, Transaction};

use crate::artifact::Answer;
use crate::builtin::file_reader::{damaged, numbers};
use crate::codes;
use crate::database::{check_constraints, thrown};
use crate::error::{Kind, Thrown};

pub(super) struct Other {
    pool: Arc<Pool>,
    /// Identification of the step in `quayline_chunk`.
    origin: String,
    /// Owner of the row, 16 bytes.
    owner: Vec<u8>,
    /// Statements of the current chunk.
    transaction: Option<Transaction>,
    /// Number of the chunk that is written next.
    chunk: u64,
    /// Position of the next item in this chunk. Chunks of the engine may be smaller after a restart.
    at: u64,
    /// Items of this chunk that the database has, including skipped ones.
    there: u64,
    /// Positions of skipped items in this chunk.
    skipped: BTreeSet<u64>,
    /// True if a write of the current chunk was refused.
    is_divided: bool,
}

const HAS_TOKENS: &str =
    "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('quayline_chunk') AND attname = 'owner'";
/// Partitions that begin at once would make the table at once, and PostgreSQL refuses all but one of them.
const TOKENS: &str = "SELECT pg_advisory_xact_lock(hashtext('quayline_chunk'));
CREATE TABLE IF NOT EXISTS quayline_chunk (origin text PRIMARY KEY, chunk bigint NOT NULL, items bigint NOT NULL);
ALTER TABLE quayline_chunk ADD COLUMN IF NOT EXISTS skipped bytea NOT NULL DEFAULT '';
ALTER TABLE quayline_chunk ADD COLUMN IF NOT EXISTS owner uuid;";
/// Waits for a commit of the owner before, and so returns its chunk.
const TAKE_TOKEN: &str = "INSERT INTO quayline_chunk (origin, chunk, items, owner) VALUES ($1::text, 0, 0, gen_random_uuid()) \
    ON CONFLICT (origin) DO UPDATE SET owner = excluded.owner RETURNING chunk, items, skipped, owner";
const REMOVE_TOKEN: &str = "DELETE FROM quayline_chunk WHERE origin = $1::text AND owner = $2::uuid";
/// Divides by zero if the row has another owner, or is gone.
const SET_TOKEN: &str = "WITH mine AS (UPDATE quayline_chunk SET chunk = $2::bigint, items = $3::bigint, \
    skipped = $4::bytea WHERE origin = $1::text AND owner = $5::uuid RETURNING 1) SELECT 1 / count(*) FROM mine";
/// Tag of this statement. Items of a chunk have smaller ones.
const TOKEN: u32 = u32::MAX - 8;

impl Other {
    /// Continues at a checkpoint.
    pub(super) fn open(
        pool: Arc<Pool>,
        origin: String,
        checkpoint: Option<&[u8]>,
        connection: &mut Connection,
    ) -> Answer<Other> {
        let [chunk, at] = match checkpoint {
            None => [0, 0],
            Some(bytes) => match numbers(bytes) {
                Some([chunk]) => [chunk, 0],
                None => numbers(bytes).ok_or_else(damaged)?,
            },
        };
        // The statements lock the table, so they run only if needed.
        if connection.query(HAS_TOKENS, &[])?.is_empty() {
            connection.script(TOKENS)?;
        }
        let found = connection.query(TAKE_TOKEN, &[Param::Binary(origin.as_bytes())])?;
        let owner = found.row(0).and_then(|row| row.get(3)).unwrap_or_default().to_vec();
        let row = found.row(0).filter(|row| row.int8(0).and_then(|found| u64::try_from(found).ok()) == Some(chunk));
        let there = row.as_ref().and_then(|row| u64::try_from(row.int8(1)?).ok()).unwrap_or(0);
        let skipped = row.as_ref().and_then(|row| row.get(2)).unwrap_or_default();
        let skipped = skipped.as_chunks::<8>().0.iter().map(|position| u64::from_be_bytes(*position)).collect();
        Ok(Other { pool, origin, owner, transaction: None, chunk, at, there, skipped, is_divided: false })
    }

    /// Returns true if the database refused a write of the current chunk. The engine then writes the chunk in parts.
    pub(super) fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// Writes the next `count` items, except those that the database has. `add` adds the statements for some of them. After an error, the database has
    /// none of the `count` items.
    pub(super) fn write(
        &mut self,
        count: usize,
        add: impl Fn(Range<usize>, &mut Transaction) -> Answer<()>,
    ) -> Answer<()> {
        let missing = self.missing(count);
        if !missing.is_empty() {
            let mut transaction = self.transaction.take().unwrap_or_else(|| Transaction::new(&self.pool));
            let savepoint = self.is_divided.then(|| transaction.savepoint());
            let added = missing.iter().try_for_each(|range| add(range.clone(), &mut transaction));
            let sent = added.and_then(|()| {
                check_constraints(&mut transaction);
                transaction.answers().map(|_| ()).map_err(thrown)
            });
            if let Err(refused) = sent {
                self.is_divided = true;
                // Without a savepoint, the transaction has nothing else.
                if let Some(savepoint) = savepoint.filter(|_| refused.kind == Kind::Plain) {
                    transaction.back_to(&savepoint)?;
                    self.transaction = Some(transaction);
                }
                return Err(refused);
            }
            self.transaction = Some(transaction);
        }
        self.advance(count);
        Ok(())
    }

    /// Passes over items that cannot be written.
    pub(super) fn skip(&mut self, count: usize) {
        let from = self.at;
        self.advance(count);
        self.skipped.extend(from..self.at);
    }

    fn advance(&mut self, count: usize) {
        let from = self.at;
        self.at += count as u64;
        // Those that were skipped before a restart are there now.
        self.skipped.retain(|position| !(from..self.at).contains(position));
    }

    /// Returns the ranges of the next `count` items that the database does not have.
    fn missing(&self, count: usize) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (number, position) in (self.at..).take(count).enumerate() {
            if position < self.there && !self.skipped.contains(&position) {
                continue;
            }
            match ranges.last_mut().filter(|range| range.end == number) {
                Some(range) => range.end += 1,
                None => ranges.push(number..number + 1),
            }
        }
        ranges
    }

    /// Commits the chunk with its token. Returns the checkpoint.
    pub(super) fn checkpoint(&mut self) -> Answer<Vec<u8>> {
        if let Some(mut transaction) = self.transaction.take() {
            self.there = self.there.max(self.at);
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX).to_be_bytes();
            let skipped: Vec<u8> = self.skipped.iter().copied().flat_map(u64::to_be_bytes).collect();
            let (chunk, items) = (number(self.chunk), number(self.there));
            let values: [&[u8]; 5] = [self.origin.as_bytes(), &chunk, &items, &skipped, &self.owner];
            transaction.change(&Statement::new(SET_TOKEN), &values, TOKEN);
            transaction.commit().map_err(|error| match &error {
                SqlError::Refused(refusal) if refusal.tag == TOKEN && refusal.sqlstate == "22012" => taken_over(),
                _ => thrown(error),
            })?;
        }
        self.is_divided = false;
        if self.there > self.at {
            return Ok([self.chunk, self.at].map(u64::to_le_bytes).concat());
        }
        self.chunk += 1;
        (self.at, self.there) = (0, 0);
        self.skipped.clear();
        Ok(self.chunk.to_le_bytes().to_vec())
    }

    /// Ends a step that is complete.
    pub(super) fn complete(self) -> Answer<()> {
        let more = self.there.saturating_sub(self.at);
        if more > 0 {
            let message = format!("the database has {more} more items of this chunk than the reader read again");
            return Err(Thrown::of(&["quayline.Configuration"], message).hint(
                "the input changed since the execution before: restore it, or start a new instance of the job with an empty table",
            ));
        }
        // The last checkpoint covers all chunks, so no restart needs the token. If the database does not answer, the row stays.
        if let Ok(mut connection) = self.pool.take()
            && connection.query(REMOVE_TOKEN, &[self.origin.as_bytes(), &self.owner].map(Param::Binary)).is_ok()
        {
            self.pool.put(connection);
        }
        Ok(())
    }
}

/// Returns the exception for a step that another process continues. The engine neither retries nor skips its items.
fn taken_over() -> Thrown {
    let message = "another process continues this step, so nothing more of this one is written";
    let thrown = Thrown::of(&[codes::FENCED.0, "quayline.Environment"], message);
    Thrown { kind: Kind::Fatal, ..thrown.hint("see the newer execution of this instance: `quayline job list`") }
}
