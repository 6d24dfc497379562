//! The thread that talks to the database: one connection commits, another one reads.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use quayline_store::{EngineFacts, Position, StoreError};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::types::ToSql;

use quayline_postgres::Endpoint;

use crate::completions::{After, completions};
use crate::connection::connect;
use crate::hold_wish::HoldWish;
use crate::holds::{Holder, Holds};
use crate::rows::{Parameters, Rows};
use crate::session::{Columns, Session};
use crate::sql;
use crate::state::{Ending, State, Waiting};

/// Bytes of changes that one transaction takes; a single unit may be larger.
const GROUP_BYTES: usize = 32 << 20;

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
