//! A process that runs jobs, as other processes see it: a row, and a lock held by a separate session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use quayline_postgres::{Connection, Param, Pool, SqlError};

use crate::error::BatchError;
use crate::record::OWNER_GRACE_SECONDS;

/// Between two signs of life.
const SIGN: Duration = Duration::from_secs(5);
/// Offset of lock numbers: the number of an owner's lock is this plus the owner's number. It is "quayjobs" without its last four bytes.
const LOCKS: i64 = 0x7175_6179 << 32;

/// This process as an owner of executions. It gets a number when it runs its first one.
pub(super) struct Owner {
    pool: Arc<Pool>,
    session: Mutex<Option<Session>>,
}

struct Session {
    number: u64,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Owner {
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        Owner { pool: Arc::clone(pool), session: Mutex::default() }
    }

    /// Returns the number of this process, which the first call allocates.
    pub(super) fn number(&self) -> Result<u64, BatchError> {
        let mut session = self.session.lock();
        if let Some(session) = &*session {
            return Ok(session.number);
        }
        let mut connection = Connection::open(self.pool.endpoint())?;
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let process = i64::from(std::process::id()).to_be_bytes();
        let text = format!(
            "INSERT INTO quayline_jobs.owner (host, process, server_start, until) \
             VALUES ($1::text, $2::bigint, pg_postmaster_start_time(), clock_timestamp() + interval '{OWNER_GRACE_SECONDS} seconds') RETURNING id"
        );
        let row = connection.query(&text, &[Param::Binary(host.trim().as_bytes()), Param::Binary(&process)])?;
        let id = row.row(0).and_then(|row| row.int8(0)).unwrap_or(0);
        lock(&mut connection, id)?;
        let over = Arc::new(AtomicBool::new(false));
        let thread = {
            let (over, pool) = (Arc::clone(&over), Arc::clone(&self.pool));
            let live = move || live(&pool, connection, id, &over);
            std::thread::Builder::new().name("job owner".to_owned()).spawn(live)
        };
        let thread = thread.map_err(|error| {
            BatchError::Database(SqlError::Lost { database: "a thread".to_owned(), why: error.kind().to_string() })
        })?;
        let number = u64::try_from(id).unwrap_or(0);
        *session = Some(Session { number, over, thread: Some(thread) });
        Ok(number)
    }

    /// Returns true if an owner certainly runs no executions any more.
    pub(super) fn is_gone(&self, owner: u64) -> Result<bool, BatchError> {
        if self.session.lock().as_ref().is_some_and(|session| session.number == owner) {
            return Ok(false);
        }
        let id = i64::try_from(owner).unwrap_or(i64::MAX);
        let mut connection = self.pool.take()?;
        let rows = connection.query(
            "SELECT pg_try_advisory_xact_lock_shared($2::bigint) AND (server_start = pg_postmaster_start_time() OR until < clock_timestamp()) \
             FROM quayline_jobs.owner WHERE id = $1::bigint",
            &[Param::Binary(&id.to_be_bytes()), Param::Binary(&(LOCKS + id).to_be_bytes())],
        )?;
        let gone = rows.row(0).and_then(|row| row.bool(0)).unwrap_or(true);
        self.pool.put(connection);
        Ok(gone)
    }
}

/// Returns true if a session of an owner is connected to the server.
pub(super) fn is_connected(pool: &Pool, owner: u64) -> Result<bool, BatchError> {
    let id = i64::try_from(owner).unwrap_or(i64::MAX);
    let mut connection = pool.take()?;
    let text = "SELECT NOT pg_try_advisory_xact_lock_shared($1::bigint)";
    let rows = connection.query(text, &[Param::Binary(&(LOCKS + id).to_be_bytes())])?;
    let is_held = rows.row(0).and_then(|row| row.bool(0)).unwrap_or(true);
    pool.put(connection);
    Ok(is_held)
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(mut session) = self.session.lock().take() {
            session.over.store(true, Ordering::SeqCst);
            if let Some(thread) = session.thread.take() {
                thread.thread().unpark();
                // Otherwise, the thread ends with the program.
                let _ = thread.join();
            }
        }
    }
}

fn lock(connection: &mut Connection, id: i64) -> Result<(), SqlError> {
    connection.query("SELECT pg_advisory_lock($1::bigint)", &[Param::Binary(&(LOCKS + id).to_be_bytes())]).map(|_| ())
}

/// Gives signs of life until the repository closes. A connection that is lost is opened again.
fn live(pool: &Pool, connection: Connection, id: i64, over: &AtomicBool) {
    let text = format!(
        "UPDATE quayline_jobs.owner SET until = clock_timestamp() + interval '{OWNER_GRACE_SECONDS} seconds', server_start = pg_postmaster_start_time() WHERE id = $1::bigint"
    );
    let mut connection = Some(connection);
    while !over.load(Ordering::SeqCst) {
        std::thread::park_timeout(if connection.is_some() { SIGN } else { Duration::from_millis(500) });
        if over.load(Ordering::SeqCst) {
            break;
        }
        if connection.is_none() {
            connection = Connection::open(pool.endpoint()).ok().and_then(|mut opened| {
                lock(&mut opened, id).ok()?;
                Some(opened)
            });
        }
        if let Some(alive) = &mut connection
            && alive.query(&text, &[Param::Binary(&id.to_be_bytes())]).is_err()
        {
            connection = None;
        }
    }
    if let Some(mut alive) = connection {
        // Without the row the process counts as ended, just as without the lock.
        let _ =
            alive.query("DELETE FROM quayline_jobs.owner WHERE id = $1::bigint", &[Param::Binary(&id.to_be_bytes())]);
    }
}
