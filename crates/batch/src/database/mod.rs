//! Job repository in a PostgreSQL database, which several processes and machines can share.
//!
//! ```text
//! schema quayline_jobs
//!   meta   version of the tables
//!   record (key, value, token)     the records of `crate::record`; a checkpoint updates one row
//!   event  (at, id, data)          kept events, in the order of transactions
//!   owner  (id, host, process, server_start, until)   a row for each process that runs jobs
//! ```
//!
//! - **One round trip for each chunk.** `BEGIN`, the writer's statements, the checkpoint and `COMMIT` are sent in one write.
//! - **Fencing.** A checkpoint updates its row only if `token` is that of its execution, and divides by the number of rows: without a row the
//!   transaction fails. A takeover first sets the tokens of the instance, so it waits for a checkpoint in progress, and the old
//!   process commits nothing afterwards.
//! - **Liveness.** A process has an advisory lock in a separate session, so the server knows when the process has ended. A restart of the server
//!   releases all locks. A process then counts as alive until `until`, which it advances every few seconds, by the server's clock. Clocks of clients
//!   are not used.

mod owner;
mod work;

use std::sync::Arc;

use quayline_postgres::{Connection, Endpoint, Pool, SqlError};
use quayline_store::Clock;

use crate::error::BatchError;
use crate::record::Lease;
use crate::work::{Backend, Work};

use owner::Owner;
use work::DatabaseWork;

pub(crate) use work::{NO_ROW, WHOLE, check_constraints, thrown};

/// Version of the tables.
const VERSION: i64 = 2;

/// Statements that upgrade the tables from each version to the next.
const MIGRATIONS: &[&str] = &["\
CREATE TABLE quayline_jobs.record (key bytea PRIMARY KEY, value bytea NOT NULL, token bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
CREATE TABLE quayline_jobs.owner (id bigserial PRIMARY KEY, host text NOT NULL, process bigint NOT NULL,
    server_start timestamptz NOT NULL, until timestamptz NOT NULL);
INSERT INTO quayline_jobs.record (key, value) VALUES ('\\x2369', '\\x0000000000000000'), ('\\x2365', '\\x0000000000000000');",
"CREATE TABLE quayline_jobs.event (at xid8 NOT NULL DEFAULT pg_current_xact_id(), id bigserial, data bytea NOT NULL, PRIMARY KEY (at, id));"];

/// A database as the place of the job repository.
pub struct DatabaseBackend {
    pool: Arc<Pool>,
    clock: Arc<dyn Clock>,
    owner: Owner,
}

impl DatabaseBackend {
    /// Opens the repository in a database, or makes its tables there.
    ///
    /// # Errors
    /// [`BatchError::Lost`], [`BatchError::Database`], [`BatchError::Version`].
    pub fn open(endpoint: Endpoint, clock: Arc<dyn Clock>) -> Result<Self, BatchError> {
        let pool = Pool::new(endpoint);
        let mut connection = pool.take()?;
        migrate(&mut connection)?;
        pool.put(connection);
        Ok(DatabaseBackend { owner: Owner::new(&pool), pool, clock })
    }
}

/// Upgrades the tables to this program's version, unless another process has done so. Processes that start at the same time wait for each other.
fn migrate(connection: &mut Connection) -> Result<(), BatchError> {
    let version = |connection: &mut Connection| -> Result<i64, SqlError> {
        // A table is read with the snapshot of the statement. `to_regclass` may not see what another process created since this transaction began.
        let there = connection.query(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
             WHERE n.nspname = 'quayline_jobs' AND c.relname = 'meta')",
            &[],
        )?;
        if there.row(0).and_then(|row| row.bool(0)) != Some(true) {
            return Ok(0);
        }
        let found = connection.query("SELECT max(version) FROM quayline_jobs.meta", &[])?;
        Ok(found.row(0).and_then(|row| row.int8(0)).unwrap_or(0))
    };
    let mut found = version(connection)?;
    if found < VERSION {
        connection.script("BEGIN; SELECT pg_advisory_xact_lock(8175558129219530342)")?;
        found = version(connection)?;
        let mut script = String::new();
        if found == 0 {
            script.push_str("CREATE SCHEMA IF NOT EXISTS quayline_jobs; CREATE TABLE quayline_jobs.meta (version bigint PRIMARY KEY);\n");
        }
        for (number, migration) in (1i64..).zip(MIGRATIONS) {
            if number > found {
                script.push_str(migration);
                script.push_str(&format!("\nINSERT INTO quayline_jobs.meta VALUES ({number});\n"));
            }
        }
        script.push_str("COMMIT");
        if let Err(error) = connection.script(&script) {
            // The transaction is undone with the connection, if not by this.
            let _ = connection.script("ROLLBACK");
            return Err(error.into());
        }
        found = VERSION.max(found);
    }
    if found == VERSION { Ok(()) } else { Err(BatchError::Version { found, known: VERSION }) }
}

impl Backend for DatabaseBackend {
    fn begin(&self) -> Result<Box<dyn Work>, BatchError> {
        Ok(Box::new(DatabaseWork::new(&self.pool)))
    }

    fn owner(&self) -> Result<u64, BatchError> {
        self.owner.number()
    }

    fn is_gone(&self, lease: &Lease) -> Result<bool, BatchError> {
        self.owner.is_gone(lease.owner)
    }

    fn is_connected(&self, lease: &Lease) -> Result<bool, BatchError> {
        owner::is_connected(&self.pool, lease.owner)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }
}
