//! The engine: opening, and requests of other threads to the thread that talks to the database.

use std::fmt;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quayline_postgres::Endpoint;
use quayline_store::shared::Shared;
use quayline_store::{
    Batch, Completion, Direction, Engine, EngineFacts, EntryRange, EntryVisit, FullKey, KeyRange, LoadSource, Page,
    PageLimit, Position, Snapshot, Space, StoreError, Value, full_bounds,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::actor::{Connections, Wish, facts, serve};
use crate::completions::COMPLETIONS;
use crate::connection::connect;
use crate::holds::Holds;
use crate::rows::{Parameters, Rows, columns, fill, integer, truth};
use crate::session::Session;
use crate::sql;
use crate::state::{Ending, State, Waiting, gone};

/// Entries and bytes of one statement of a load.
const LOAD_BATCH: (usize, usize) = (10_000, 8 << 20);
/// Maximum number of bytes of submitted units of work; beyond it, `submit` waits.
const IN_FLIGHT_BYTES_MAX: usize = 64 << 20;
/// Number of such units.
const IN_FLIGHT_UNITS_MAX: usize = 16_384;
/// Interval at which a waiting thread checks that the engine still works.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Time for which a restore asks again for a database that is in use, and the pause between. The server frees the lock of a process a moment after its end.
/// Default 2 s and 50 ms.
const ENDED_PATIENCE: Duration = Duration::from_secs(2);
const ENDED_PAUSE: Duration = Duration::from_millis(50);

/// The engine over one database. Dropping it finishes the submitted work and ends its thread.
pub struct PostgresEngine {
    database: Endpoint,
    name: Arc<str>,
    shared: Arc<State>,
    wishes: UnboundedSender<Wish>,
    thread: Option<JoinHandle<()>>,
    holds: Arc<Holds>,
}

impl fmt::Debug for PostgresEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresEngine").field("database", &self.database).finish_non_exhaustive()
    }
}

impl PostgresEngine {
    /// Opens the store in a database, or creates its tables there, in the schema `quayline`.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if a process of an earlier version has it open; [`StoreError::Version`]; [`StoreError::Io`] with the error.
    pub fn open(database: Endpoint) -> Result<Self, StoreError> {
        PostgresEngine::open_for(database, Purpose::Work)
    }

    /// Opens a database to restore a save into it, without other processes. [`Self::begin_restore`] comes next.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process uses the store; otherwise as [`Self::open`].
    pub fn open_to_restore(database: Endpoint) -> Result<Self, StoreError> {
        PostgresEngine::open_for(database, Purpose::Restore)
    }

    /// Returns true if a restore into this database began and did not end.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn is_restoring(&self) -> Result<bool, StoreError> {
        Ok(truth(&self.query(sql::IS_RESTORING.to_owned(), Vec::new())?))
    }

    /// Removes all entries and marks the store: it cannot be opened before [`Self::end_restore`].
    ///
    /// # Errors
    /// Errors of the database.
    pub fn begin_restore(&self) -> Result<(), StoreError> {
        self.ask(|answer| Wish::Maintain { text: sql::RESTORE_BEGINS, answer })
    }

    /// Removes the mark, after all entries are stored.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn end_restore(&self) -> Result<(), StoreError> {
        self.ask(|answer| Wish::Maintain { text: sql::RESTORE_ENDS, answer })
    }

    fn open_for(database: Endpoint, purpose: Purpose) -> Result<Self, StoreError> {
        let name: Arc<str> = format!("the database {}", database.database).into();
        let shared = Arc::new(State::default());
        let (wishes, received) = unbounded_channel();
        let (opened, outcome) = mpsc::channel();
        let thread = {
            let (shared, name, database) = (Arc::clone(&shared), Arc::clone(&name), database.clone());
            let body = move || {
                let done = runtime().map(|runtime| {
                    let local = tokio::task::LocalSet::new();
                    local.block_on(&runtime, async {
                        match sessions(database, name, &shared, purpose).await {
                            Ok(connections) => {
                                // The one that opens waits for this.
                                let _ = opened.send(Ok(Arc::clone(&connections.holds)));
                                serve(shared, connections, received).await;
                            }
                            Err(error) => {
                                let _ = opened.send(Err(error));
                            }
                        }
                    });
                });
                if let Err(error) = done {
                    let _ = opened.send(Err(error));
                }
            };
            let thread = std::thread::Builder::new().name("store-postgres".to_owned()).spawn(body);
            thread.map_err(|error| StoreError::io("a thread", "started", &error))?
        };
        let holds = outcome.recv().unwrap_or_else(|_| Err(gone(&name)))?;
        Ok(PostgresEngine { database, name, shared, wishes, thread: Some(thread), holds })
    }

    fn ask<T>(&self, wish: impl FnOnce(mpsc::Sender<Result<T, StoreError>>) -> Wish) -> Result<T, StoreError> {
        let (answer, taken): (_, Receiver<Result<T, StoreError>>) = mpsc::channel();
        self.wishes.send(wish(answer)).map_err(|_| gone(&self.name))?;
        taken.recv().unwrap_or_else(|_| Err(gone(&self.name)))
    }

    /// Puts a unit of work among those that wait for the next transaction.
    fn wait_for_commit(&self, batch: Batch, ending: Ending) {
        let bytes = batch.iter().map(|(key, change)| key.bytes().len() + change.value().map_or(0, |v| v.len())).sum();
        let shared = &self.shared;
        let is_own = self.thread.as_ref().is_some_and(|thread| thread.thread().id() == std::thread::current().id());
        let mut queue = shared.waiting.lock();
        // The engine's own thread runs completions and makes the room.
        while !is_own
            && !queue.units.is_empty()
            && (queue.bytes + bytes > IN_FLIGHT_BYTES_MAX || queue.units.len() >= IN_FLIGHT_UNITS_MAX)
            && shared.healthy().is_ok()
        {
            shared.room.wait_for(&mut queue, LOOK_AGAIN);
        }
        queue.bytes += bytes;
        queue.units.push(Waiting { batch, bytes, ending });
        drop(queue);
        if self.wishes.send(Wish::Commit).is_err() {
            for unit in shared.take_group(usize::MAX) {
                match unit.ending {
                    Ending::Wake(committer) => drop(committer.send(Err(gone(&self.name)))),
                    Ending::Call(after) => after(Err(gone(&self.name))),
                }
            }
        }
    }

    fn query(&self, text: String, parameters: Parameters) -> Rows {
        self.ask(|answer| Wish::Query { on: None, text, parameters, answer })
    }

    fn number(&self, text: &str) -> Result<u64, StoreError> {
        let rows = self.query(text.to_owned(), Vec::new())?;
        Ok(rows.first().and_then(|row| row.try_get::<_, i64>(0).ok()).and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        // The thread is gone already if nobody receives.
        let _ = self.wishes.send(Wish::Stop);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && std::thread::current().name() != Some(COMPLETIONS)
        {
            let _ = thread.join();
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, StoreError> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| StoreError::io("a thread", "started", &error))
}

/// Brings the schema to this version. Other processes that open the database at the same time wait.
async fn migrate(writes: &Session, name: &Arc<str>) -> Result<(), StoreError> {
    writes.query(sql::ALONE, &[]).await?;
    writes.run(sql::SCHEMA).await?;
    let has_meta = truth(&writes.query(sql::HAS_META, &[]).await?);
    let found = if has_meta { integer(&writes.query(sql::META, &[&"version"]).await?) } else { 0 };
    let known = usize::try_from(found).ok().and_then(|found| sql::MIGRATIONS.get(found..));
    let Some(migrations) = known else {
        let number = |version: i64| u32::try_from(version).unwrap_or_default();
        let (found, known) = (number(found), number(sql::VERSION));
        return Err(StoreError::Version { file: name.to_string(), found, known });
    };
    for migration in migrations {
        writes.run(migration).await?;
    }
    Ok(())
}

/// Numbers this process among those that use the database. The session that commits holds the lock that says the process lives: when the lock is free,
/// no commit of this process can follow.
async fn register(writes: &Session) -> Result<(i32, u16, u64), StoreError> {
    loop {
        let number = i32::try_from(integer(&writes.query(sql::NEXT_PROCESS, &[]).await?)).unwrap_or(1);
        let slot = number % 1024;
        // Slots come round; one of a process that still lives is left out.
        if truth(&writes.query(sql::TAKE, &[&sql::SLOT_CLASS, &slot]).await?)
            && truth(&writes.query(sql::TAKE, &[&sql::PROCESS_CLASS, &number]).await?)
        {
            writes.query(sql::REGISTER, &[&number]).await?;
            let opened = integer(&writes.query(sql::OPENED, &[]).await?);
            return Ok((number, u16::try_from(slot).unwrap_or(0), u64::try_from(opened).unwrap_or(0)));
        }
    }
}

/// Reason to open the database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Purpose {
    /// To use the store, beside other processes.
    Work,
    /// To restore a save.
    Restore,
}

/// Opens the three connections: one for commits, one for reads, one for locks and claims.
async fn sessions(
    database: Endpoint,
    name: Arc<str>,
    shared: &Arc<State>,
    purpose: Purpose,
) -> Result<Connections, StoreError> {
    let lost = || Some(Arc::clone(shared));
    let writes = connect(&database, &name, None, lost()).await?;
    let lock = if purpose == Purpose::Restore { sql::LOCK_ALONE } else { sql::LOCK };
    let begun = Instant::now();
    while !truth(&writes.query(lock, &[]).await?) {
        if purpose == Purpose::Work || begun.elapsed() >= ENDED_PATIENCE {
            return Err(StoreError::InUse { folder: name.to_string() });
        }
        tokio::time::sleep(ENDED_PAUSE).await;
    }
    writes.run("BEGIN").await?;
    migrate(&writes, &name).await?;
    writes.run("COMMIT").await?;
    if purpose == Purpose::Work && truth(&writes.query(sql::IS_RESTORING, &[]).await?) {
        return Err(StoreError::UnfinishedRestore { store: name.to_string() });
    }
    let position = integer(&writes.query(sql::META, &[&"position"]).await?);
    shared.visible.store(u64::try_from(position).unwrap_or(0), Ordering::SeqCst);
    let (wish, hold_wishes) = unbounded_channel();
    let holds = Arc::new(Holds::new(register(&writes).await?, &name, shared, wish.clone()));
    let reads = connect(&database, &name, None, lost()).await?;
    let claims = connect(&database, &name, Some(wish), lost()).await?;
    for text in [sql::HOLD, sql::GET_ALL, sql::RELEASE, sql::WAIT, sql::UNWAIT, sql::CIRCLE, sql::TELL, sql::PUT] {
        claims.prepare(text).await?;
    }
    claims.run("LISTEN quayline").await?;
    let (writes, reads, claims) = (Rc::new(writes), Rc::new(reads), Rc::new(claims));
    Ok(Connections { database, name, writes, reads, claims, holds, hold_wishes })
}

/// Builds the statement and the parameters of a page query.
fn page_query(
    range: &(Bound<FullKey>, Bound<FullKey>),
    direction: Direction,
    limit: PageLimit,
) -> (String, Parameters) {
    let text = sql::page(&range.0, &range.1, direction);
    let bytes = |bound: &Bound<FullKey>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.bytes().to_vec(),
        Bound::Unbounded => Vec::new(),
    };
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let parameters: Parameters = vec![
        Box::new(bytes(&range.0)),
        Box::new(bytes(&range.1)),
        Box::new(number(limit.entries.max(1))),
        Box::new(number(limit.bytes.max(1))),
    ];
    (text, parameters)
}

/// A transaction on a separate connection that sees one state of the database.
struct OpenSnapshot {
    wishes: UnboundedSender<Wish>,
    name: Arc<str>,
    id: u64,
    position: Position,
}

impl Snapshot for OpenSnapshot {
    fn position(&self) -> Position {
        self.position
    }

    fn visit(&self, range: EntryRange<'_>, visit: &mut EntryVisit<'_>) -> Result<(), StoreError> {
        let limit = PageLimit { entries: 1000, bytes: 4 << 20 };
        let (mut from, to) = full_bounds(range);
        loop {
            let (text, parameters) = page_query(&(from, to.clone()), Direction::Forward, limit);
            let (answer, taken) = mpsc::channel();
            let wish = Wish::Query { on: Some(self.id), text, parameters, answer };
            self.wishes.send(wish).map_err(|_| gone(&self.name))?;
            let rows = taken.recv().unwrap_or_else(|_| Err(gone(&self.name)))?;
            for (key, value) in rows.iter().filter_map(columns) {
                visit(key, value)?;
            }
            let last = rows.last().and_then(columns).and_then(|(key, _)| FullKey::from_bytes(key));
            let Some(last) = last else { return Ok(()) };
            from = Bound::Excluded(last);
        }
    }
}

impl Drop for OpenSnapshot {
    fn drop(&mut self) {
        // Without the thread there is no connection either.
        let _ = self.wishes.send(Wish::Close { id: self.id });
    }
}

impl Engine for PostgresEngine {
    fn stopped(&self) -> Option<String> {
        self.shared.healthy().err().map(|error| error.to_string())
    }

    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        let rows = self.query(sql::GET.to_owned(), vec![Box::new(key.bytes().to_vec())])?;
        Ok(rows.first().and_then(|row| row.try_get::<_, &[u8]>(0).ok()).map(Value::from))
    }

    fn page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError> {
        page.clear();
        if range.is_empty() {
            return Ok(());
        }
        let (text, parameters) = page_query(&range.full(space), direction, limit);
        fill(page, &self.query(text, parameters)?, limit.entries.max(1), limit.bytes);
        Ok(())
    }

    fn commit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError> {
        let (committer, ended) = mpsc::channel();
        self.wait_for_commit(batch, Ending::Wake(committer));
        let outcome = ended.recv().unwrap_or_else(|_| Err(gone(&self.name)));
        after(outcome.clone());
        outcome
    }

    fn submit(&self, batch: Batch, after: Completion) {
        self.wait_for_commit(batch, Ending::Call(after));
    }

    fn load(&self, space: Space, source: &mut LoadSource<'_>) -> Result<u64, StoreError> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let (mut keys, mut values, mut bytes) = (Vec::new(), Vec::new(), 0);
        let (mut count, mut last) = (0, None::<Vec<u8>>);
        // What stopped the load; the entries before are stored first.
        let mut stopped = None;
        loop {
            let more = source(&mut key, &mut value).and_then(|more| {
                count += u64::from(more);
                let is_above = last.as_ref().is_none_or(|last| *last < key);
                if is_above || !more { Ok(more) } else { Err(StoreError::NotAscending { entry: count }) }
            });
            let more = more.unwrap_or_else(|error| {
                stopped = Some(error);
                false
            });
            if more {
                last = Some(key.clone());
                bytes += key.len() + value.len();
                keys.push(FullKey::new(space, &key).bytes().to_vec());
                values.push(value.clone());
            }
            if keys.len() >= LOAD_BATCH.0 || bytes >= LOAD_BATCH.1 || (!more && !keys.is_empty()) {
                let (keys, values) = (std::mem::take(&mut keys), std::mem::take(&mut values));
                bytes = 0;
                self.ask(|answer| Wish::Load { keys, values, answer })?;
            }
            if !more {
                return stopped.map_or(Ok(count), Err);
            }
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let (id, position) = self.ask(|answer| Wish::Open { answer })?;
        let (wishes, name) = (self.wishes.clone(), Arc::clone(&self.name));
        Ok(Box::new(OpenSnapshot { wishes, name, id, position }))
    }

    fn position(&self) -> Position {
        Position(self.shared.visible.load(Ordering::SeqCst))
    }

    fn wait(&self, position: Position) -> Result<(), StoreError> {
        while self.position() < position {
            self.shared.healthy()?;
            // It may be a commit of another process.
            let rows = self.query(sql::META.to_owned(), vec![Box::new("position")])?;
            self.shared.visible.fetch_max(u64::try_from(integer(&rows)).unwrap_or(0), Ordering::SeqCst);
            if self.position() < position {
                std::thread::sleep(LOOK_AGAIN);
            }
        }
        Ok(())
    }

    fn shared(&self) -> Option<Arc<dyn Shared>> {
        let holds: Arc<Holds> = Arc::clone(&self.holds);
        Some(holds)
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts { store_bytes: self.number(sql::SIZE).unwrap_or_default(), ..facts(&self.shared) }
    }

    fn check(&self) -> Result<Vec<StoreError>, StoreError> {
        let short = self.number(sql::DAMAGE)?;
        let what = format!("{short} keys of quayline.entries are too short");
        let damage = StoreError::Damaged { file: self.name.to_string(), byte: 0, what };
        Ok(if short == 0 { Vec::new() } else { vec![damage] })
    }

    fn compact(&self) -> Result<(u64, u64), StoreError> {
        let before = self.number(sql::SIZE)?;
        self.ask(|answer| Wish::Maintain { text: "VACUUM FULL quayline.entries", answer })?;
        Ok((before, self.number(sql::SIZE)?))
    }
}
