//! A chunk's transaction in a database that is not the repository's.
//!
//! - **One transaction for each chunk.** It commits before the checkpoint of the chunk, together with a row in `quayline_chunk` that identifies the
//!   chunk. A restart finds the row and does not write the chunk twice.
//! - **A refused write is undone to a savepoint.** The engine therefore can write halves of the chunk, which finds the items that fail.
//! - **The row has the positions of skipped items.** A restart tries these again, so they are skipped again and stored with the rejects.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use quayline_postgres::{Connection, Param, Pool, Statement, Transaction};

use crate::artifact::Answer;
use crate::builtin::file_reader::{damaged, numbers};
use crate::database::{check_constraints, thrown};
use crate::error::{Kind, Thrown};

pub(super) struct Other {
    pool: Arc<Pool>,
    /// Identification of the step in `quayline_chunk`.
    origin: String,
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
    "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('quayline_chunk') AND attname = 'skipped'";
/// Partitions that begin at once would make the table at once, and PostgreSQL refuses all but one of them.
const TOKENS: &str = "SELECT pg_advisory_xact_lock(hashtext('quayline_chunk'));
CREATE TABLE IF NOT EXISTS quayline_chunk (origin text PRIMARY KEY, chunk bigint NOT NULL, items bigint NOT NULL);
ALTER TABLE quayline_chunk ADD COLUMN IF NOT EXISTS skipped bytea NOT NULL DEFAULT '';";
const TOKEN: &str = "SELECT chunk, items, skipped FROM quayline_chunk WHERE origin = $1::text";
const REMOVE_TOKEN: &str = "DELETE FROM quayline_chunk WHERE origin = $1::text";
const SET_TOKEN: &str = "INSERT INTO quayline_chunk VALUES ($1::text, $2::bigint, $3::bigint, $4::bytea) \
    ON CONFLICT (origin) DO UPDATE SET chunk = excluded.chunk, items = excluded.items, skipped = excluded.skipped";

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
        let found = connection.query(TOKEN, &[Param::Binary(origin.as_bytes())])?;
        let row = found.row(0).filter(|row| row.int8(0).and_then(|found| u64::try_from(found).ok()) == Some(chunk));
        let there = row.as_ref().and_then(|row| u64::try_from(row.int8(1)?).ok()).unwrap_or(0);
        let skipped = row.as_ref().and_then(|row| row.get(2)).unwrap_or_default();
        let skipped = skipped.as_chunks::<8>().0.iter().map(|position| u64::from_be_bytes(*position)).collect();
        Ok(Other { pool, origin, transaction: None, chunk, at, there, skipped, is_divided: false })
    }

    /// Returns true if a write of the current chunk was refused, so that parts of it follow.
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
            let values: [&[u8]; 4] = [self.origin.as_bytes(), &number(self.chunk), &number(self.there), &skipped];
            transaction.change(&Statement::new(SET_TOKEN), &values, 0);
            transaction.commit().map_err(thrown)?;
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
            && connection.query(REMOVE_TOKEN, &[Param::Binary(self.origin.as_bytes())]).is_ok()
        {
            self.pool.put(connection);
        }
        Ok(())
    }
}
