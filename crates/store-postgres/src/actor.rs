//! The thread that talks to the database: one connection commits, another one reads.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use quayline_store::shared::Arrival;
use quayline_store::{Batch, Change, Completion, EngineFacts, FullKey, Position, Space, StoreError};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use quayline_postgres::Endpoint;

use crate::engine::{State, connect};
use crate::holds::{HoldWish, Holder, Holds, Told};
use crate::sql;

/// Bytes of changes that one transaction takes; a single unit may be larger.
const GROUP_BYTES: usize = 32 << 20;

/// A submitted unit of work.
pub(crate) struct Waiting {
    pub(crate) batch: Batch,
    pub(crate) bytes: usize,
    pub(crate) ending: Ending,
}

/// Receiver of the outcome of a unit of work.
pub(crate) enum Ending {
    /// A thread that waits for the outcome and then does the follow-up work.
    Wake(Sender<Result<Position, StoreError>>),
    /// A callback; no thread waits.
    Call(Completion),
}

/// The connections and settings of the engine's thread.
pub(crate) struct Connections {
    pub(crate) database: Endpoint,
    pub(crate) name: Arc<str>,
    pub(crate) writes: Rc<Session>,
    pub(crate) reads: Rc<Session>,
    pub(crate) claims: Rc<Session>,
    pub(crate) holds: Arc<Holds>,
    pub(crate) hold_wishes: UnboundedReceiver<HoldWish>,
}

/// Rows of a statement.
pub(crate) type Rows = Result<Vec<Row>, StoreError>;

/// Parameters that are sent to another thread.
pub(crate) type Parameters = Vec<Box<dyn ToSql + Sync + Send>>;

/// A request of another thread to the engine's thread.
pub(crate) enum Wish {
    /// Commit the waiting units of work.
    Commit,
    /// Rows of a query, on the connection of a snapshot or on the one that reads.
    Query { on: Option<u64>, text: String, parameters: Parameters, answer: Sender<Rows> },
    /// Adds entries whose keys are new, in one transaction.
    Load { keys: Vec<Vec<u8>>, values: Vec<Vec<u8>>, answer: Sender<Result<(), StoreError>> },
    /// A statement that runs alone.
    Maintain { text: &'static str, answer: Sender<Result<(), StoreError>> },
    /// Opens a snapshot: its number, and the position that it shows.
    Open { answer: Sender<Result<(u64, Position), StoreError>> },
    /// Ends a snapshot.
    Close { id: u64 },
    /// End the thread after the pending work.
    Stop,
}

/// A connection and its prepared statements.
pub(crate) struct Session {
    client: Client,
    prepared: RefCell<HashMap<String, Statement>>,
    name: Arc<str>,
}

impl Session {
    pub(crate) fn new(client: Client, name: &Arc<str>) -> Session {
        Session { client, prepared: RefCell::default(), name: Arc::clone(name) }
    }

    fn failed(&self, action: &'static str) -> impl Fn(tokio_postgres::Error) -> StoreError + '_ {
        move |error| failed(&self.name, action, &error)
    }

    /// A statement that was prepared before is there at once, so that statements are sent in the order in which they are first polled.
    pub(crate) async fn prepare(&self, text: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.prepared.borrow().get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await.map_err(self.failed("read"))?;
        self.prepared.borrow_mut().insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn query(&self, text: &str, parameters: &[&(dyn ToSql + Sync)]) -> Rows {
        let statement = self.prepare(text).await?;
        self.client.query(&statement, parameters).await.map_err(self.failed("read"))
    }

    pub(crate) async fn run(&self, text: &str) -> Result<(), StoreError> {
        self.client.batch_execute(text).await.map_err(self.failed("written"))
    }

    /// Changes of several units in one transaction, which also frees the holds on their keys. All statements are sent before the first answer comes
    /// back. Returns the position of the last unit.
    async fn transact(&self, changes: &Columns<'_>, units: i64) -> Result<u64, StoreError> {
        let Columns { keys, values, deletes, .. } = changes;
        let freed = &changes.told.keys;
        let (put, delete) = (self.prepare(sql::PUT).await?, self.prepare(sql::DELETE).await?);
        let (free, moved) = (self.prepare(sql::FREE).await?, self.prepare(sql::MOVE).await?);
        let client = &self.client;
        let put = async { if keys.is_empty() { Ok(0) } else { client.execute(&put, &[keys, values]).await } };
        let delete = async { if deletes.is_empty() { Ok(0) } else { client.execute(&delete, &[deletes]).await } };
        let free = async { if freed.is_empty() { Ok(0) } else { client.execute(&free, &[freed]).await } };
        let by: [&(dyn ToSql + Sync); 1] = [&units];
        // Nothing is sent over a connection that is known to be lost.
        let is_sent = !client.is_closed();
        let done = tokio::try_join!(
            biased;
            client.batch_execute("BEGIN"),
            put,
            delete,
            free,
            client.query_one(&moved, &by),
            client.batch_execute("COMMIT"),
        );
        let (.., row, ()) = done.map_err(|error| {
            let may_have_happened = is_sent && !is_refusal(&error);
            let failed = self.failed("written")(error);
            match failed {
                StoreError::Io { file, action, why, .. } if may_have_happened => {
                    StoreError::Unknown { file, action, why }
                }
                failed => failed,
            }
        })?;
        let position: i64 = row.try_get(0).map_err(self.failed("written"))?;
        Ok(u64::try_from(position).unwrap_or(0))
    }

    async fn load(&self, keys: &[Vec<u8>], values: &[Vec<u8>]) -> Result<(), StoreError> {
        let insert = self.prepare(sql::INSERT).await?;
        self.client.execute(&insert, &[&keys, &values]).await.map(|_| ()).map_err(|error| {
            let space = keys.first().and_then(|key| FullKey::from_bytes(key)).map_or(Space(0), |key| key.space());
            match error.code() {
                Some(&SqlState::UNIQUE_VIOLATION) => StoreError::NotEmpty { space },
                _ => self.failed("written")(error),
            }
        })
    }
}

/// Returns true if the server answered with a refusal. Any other error means that the connection was lost or the server ended, so a transaction
/// whose commit was sent may have committed without an answer.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|said| !matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic)))
}

/// Builds an error from the database's message, without its details, which can quote values.
pub(crate) fn failed(name: &str, action: &'static str, error: &tokio_postgres::Error) -> StoreError {
    let why = match error.as_db_error() {
        Some(said) => format!("SQLSTATE {}: {}", said.code().code(), said.message()),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    };
    StoreError::Io { file: name.to_owned(), action, kind: std::io::ErrorKind::Other, why }
}

#[derive(Default)]
struct Columns<'a> {
    keys: Vec<&'a [u8]>,
    values: Vec<&'a [u8]>,
    deletes: Vec<&'a [u8]>,
    told: Told,
}

impl<'a> Columns<'a> {
    fn of(group: &'a [Waiting]) -> Self {
        // The last change of a key is the one that counts.
        let mut last: BTreeMap<&FullKey, &Change> = BTreeMap::new();
        for (key, change) in group.iter().flat_map(|unit| &unit.batch) {
            last.insert(key, change);
        }
        let mut columns = Columns::default();
        for (key, change) in last {
            match change {
                // Nobody holds a key that nobody knows.
                Change::Fresh(_) => *columns.told.spaces.entry(key.space()).or_default() += 1,
                Change::Put(_) | Change::Delete => columns.told.keys.push(key.bytes().to_vec()),
            }
            match change.value() {
                Some(value) => {
                    columns.keys.push(key.bytes());
                    columns.values.push(value);
                }
                None => columns.deletes.push(key.bytes()),
            }
        }
        columns
    }
}

/// Name of the thread that runs completions.
pub(crate) const COMPLETIONS: &str = "store-postgres-after";

/// Work for the completion thread, because it may block.
pub(crate) enum After {
    /// A unit of work ended: its callback with the outcome.
    Ended(Completion, Result<Position, StoreError>),
    /// Entries arrived.
    Arrived(Arc<dyn Arrival>, u64),
}

/// Runs completions on a thread of their own, in the order of the commits. A completion may wait for a lock whose owner waits for an answer of
/// the thread that talks to the database, or may read the store itself.
fn completions() -> std::io::Result<(Sender<After>, JoinHandle<()>)> {
    let (endings, ended) = std::sync::mpsc::channel::<After>();
    let thread = std::thread::Builder::new().name(COMPLETIONS.to_owned());
    let each = |after| match after {
        After::Ended(after, outcome) => after(outcome),
        After::Arrived(arrival, count) => arrival.arrived(count),
    };
    let thread = thread.spawn(move || ended.into_iter().for_each(each))?;
    Ok((endings, thread))
}

/// Serves requests until the engine shuts down. Reads run concurrently with each other and with commits; commits run one after another.
pub(crate) async fn serve(shared: Arc<State>, connections: Connections, mut wishes: UnboundedReceiver<Wish>) {
    let (endings, thread) = match completions() {
        Ok(made) => made,
        Err(error) => {
            let why = error.to_string();
            let error = StoreError::Io {
                file: connections.name.to_string(),
                action: "start a thread",
                kind: error.kind(),
                why,
            };
            shared.poison(error);
            return;
        }
    };
    let Connections { database, name, writes, reads, claims, holds, hold_wishes } = connections;
    let lost = {
        let shared = Arc::clone(&shared);
        move |error| drop(shared.poison(error))
    };
    let holder = Holder { holds: Arc::clone(&holds), session: claims, after: endings.clone(), lost: Box::new(lost) };
    let holder = tokio::task::spawn_local(holder.serve(hold_wishes));
    let snapshots: Rc<RefCell<HashMap<u64, Rc<Session>>>> = Rc::default();
    let mut next_snapshot = 0;
    let wanted = Rc::new(Notify::new());
    let commits = tokio::task::spawn_local({
        let (shared, writes, wanted) = (Arc::clone(&shared), Rc::clone(&writes), Rc::clone(&wanted));
        let holds = Arc::clone(&holds);
        async move {
            loop {
                let group = shared.take_group(GROUP_BYTES);
                if group.is_empty() {
                    if shared.stopping.load(Ordering::SeqCst) {
                        return;
                    }
                    wanted.notified().await;
                } else {
                    commit(&shared, &writes, &holds, &endings, group).await;
                }
            }
        }
    });
    while let Some(wish) = wishes.recv().await {
        match wish {
            Wish::Commit => wanted.notify_one(),
            Wish::Query { on, text, parameters, answer } => {
                let of_snapshot = on.and_then(|id| snapshots.borrow().get(&id).cloned());
                let reads = of_snapshot.unwrap_or_else(|| Rc::clone(&reads));
                tokio::task::spawn_local(async move {
                    let parameters: Vec<&(dyn ToSql + Sync)> =
                        parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect();
                    // Who asked may be gone.
                    let _ = answer.send(reads.query(&text, &parameters).await);
                });
            }
            Wish::Load { keys, values, answer } => {
                let reads = Rc::clone(&reads);
                tokio::task::spawn_local(async move {
                    let _ = answer.send(reads.load(&keys, &values).await);
                });
            }
            Wish::Maintain { text, answer } => {
                let reads = Rc::clone(&reads);
                tokio::task::spawn_local(async move {
                    let _ = answer.send(reads.run(text).await);
                });
            }
            Wish::Open { answer } => {
                next_snapshot += 1;
                let (id, database, name) = (next_snapshot, database.clone(), Arc::clone(&name));
                let snapshots = Rc::clone(&snapshots);
                tokio::task::spawn_local(async move {
                    let opened = async {
                        let session = connect(&database, &name, None, None).await?;
                        // The first statement fixes what the transaction sees.
                        session.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
                        let rows = session.query(sql::META, &[&"position"]).await?;
                        let position = rows.first().and_then(|row| row.try_get::<_, i64>(0).ok());
                        snapshots.borrow_mut().insert(id, Rc::new(session));
                        Ok((id, Position(position.and_then(|n| u64::try_from(n).ok()).unwrap_or(0))))
                    };
                    let _ = answer.send(opened.await);
                });
            }
            Wish::Close { id } => {
                snapshots.borrow_mut().remove(&id);
            }
            Wish::Stop => break,
        }
    }
    shared.stopping.store(true, Ordering::SeqCst);
    wanted.notify_one();
    // Panics there were reported there. A completion that still asks for rows is refused.
    let _ = commits.await;
    drop(wishes);
    holds.stop();
    let _ = holder.await;
    let _ = thread.join();
}

async fn commit(shared: &State, session: &Session, holds: &Holds, endings: &Sender<After>, group: Vec<Waiting>) {
    let columns = Columns::of(&group);
    let units = group.len() as u64;
    let outcome = match shared.healthy() {
        Ok(()) => {
            let moved = session.transact(&columns, i64::try_from(units).unwrap_or(i64::MAX)).await;
            moved.map_err(|error| shared.poison(error))
        }
        Err(error) => Err(error),
    };
    let told = columns.told;
    if let Ok(position) = outcome {
        shared.became_visible(position, units);
        holds.committed(told);
    }
    for (before, unit) in (0..units).rev().zip(group) {
        let outcome = outcome.clone().map(|position| Position(position.saturating_sub(before)));
        match unit.ending {
            // It waits as long as the unit is under way.
            Ending::Wake(committer) => drop(committer.send(outcome)),
            // The thread is there as long as this one sends.
            Ending::Call(after) => drop(endings.send(After::Ended(after, outcome))),
        }
    }
}

/// Figures that need no statement.
pub(crate) fn facts(shared: &State) -> EngineFacts {
    let position = Position(shared.visible.load(Ordering::SeqCst));
    let groups = shared.groups.load(Ordering::Relaxed);
    let units = shared.units.load(Ordering::Relaxed);
    EngineFacts { position, applied: position, units, groups, syncs: groups, ..EngineFacts::default() }
}
