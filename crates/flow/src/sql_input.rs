//! Rows of a PostgreSQL query as messages with exactly one effect each.
//!
//! ```text
//! checkpoint "flow-sql/FLOW/READER/DATABASE/head"          ─▶ version, key up to which every row was processed
//! checkpoint "flow-sql/FLOW/READER/DATABASE/row/" + digest ─▶ the row with this key was processed
//! ```
//!
//! The entry of a row commits together with the effect of the row. Without `done`, rows are read in key order from the head, and the head follows
//! the entries. A row that becomes visible below the head is never read. With `done`, every query starts at the first row, and the statement removes
//! processed rows: after the commit, and again after a restart. The entry remains until the database has committed the statement and the query no longer
//! returns the row, regardless of the number of rows that the statement changed.
//!
//! One task owns the connection. It queries and executes statements one after another, so a row cannot be removed between the two.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use quayline_project::FlowNode;
use quayline_store::queue::{Message, MessageId, Persistence};
use quayline_store::{Space, Store};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Statement};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::codes;
use crate::failure::Failure;
use crate::run::Run;
use crate::sql::{Parameter, failure, open};
use crate::taken::{Failures, Link, Outcome, Pauses, Taken};

/// Rows of one answer of the database.
const PAGE: usize = 500;
/// Rows and bytes that an input holds, above which it reads nothing more. Default 1,000 and 8 MiB, and one answer.
const HELD_MAX: (usize, usize) = (1_000, 8 << 20);
/// Maximum number of rows from the first open row on: 10,000. An input with this many rows stops reading.
const ORDER_MAX: usize = 10_000;
/// Maximum number of rows that `done` did not remove from the query: 10,000. An input with this many rows stops reading.
const LEFT_MAX: usize = 10_000;
/// Longest wait for an answer of the database.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
/// Pause between two looks, where the node sets none.
const INTERVAL_MS: u64 = 1_000;
/// First and longest pause before the next connection.
const CONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// Entries of rows above which the head is raised, and the longest time until then.
const RAISE: (usize, Duration) = (512, Duration::from_secs(2));
/// Version of the head.
const VERSION: u8 = 1;
/// Property with the key of the row.
const KEY: &str = "sql_key";

/// A row that arrived.
struct Arrived {
    key: Rc<str>,
    content: Rc<[u8]>,
}

/// State shared by the connection's task and the input.
#[derive(Default)]
struct Shared {
    arrived: VecDeque<Arrived>,
    /// Rows and bytes that have arrived and are not done.
    held: (usize, usize),
    /// Keys of rows with `done`, from their arrival until the query no longer returns them.
    known: HashSet<Rc<str>>,
    /// Keys of rows that had their effect and wait for the statement `done`.
    finished: VecDeque<Rc<str>>,
    /// Keys of rows for which `done` was executed. The query has not confirmed yet that it no longer returns them.
    executed: VecDeque<Rc<str>>,
    /// Keys of rows that the query still returned after `done`.
    left: VecDeque<Rc<str>>,
    /// Keys of rows for which the database refused `done`. The next look tries them again.
    refused: Vec<Rc<str>>,
    /// Keys in the order of the rows, from the first one that may be open, and whether each had its effect.
    order: VecDeque<(Rc<str>, bool)>,
    /// The key after which to read.
    read: Option<Rc<str>>,
    link: Link,
    waker: Option<Waker>,
}

impl Shared {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// A row that is processed or waits to be processed again.
struct Open {
    header: Message,
    content: Rc<[u8]>,
    key: Rc<str>,
}

/// An input from a query.
pub(crate) struct SqlInput {
    pub(crate) name: String,
    prefix: Rc<str>,
    shared: Rc<RefCell<Shared>>,
    news: Rc<Notify>,
    task: JoinHandle<Infallible>,
    open: HashMap<MessageId, Open>,
    again: Pauses<MessageId>,
    raise: Option<Pin<Box<Sleep>>>,
    raised: Instant,
    failed: Failures<MessageId>,
    is_ordered: bool,
    /// True if a statement removes rows, so the input has no head.
    removes: bool,
}

impl Drop for SqlInput {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connection of an input, in a separate task.
struct Session {
    store: Store,
    config: Config,
    statement: String,
    key: String,
    done: Option<String>,
    interval: Duration,
    prefix: Rc<str>,
    shared: Rc<RefCell<Shared>>,
    news: Rc<Notify>,
    /// Entries of rows above the head that had their effect before this start.
    before: HashSet<Rc<str>>,
    is_connected: bool,
}

/// Statements of a connection.
struct Prepared {
    client: Client,
    first: Statement,
    next: Statement,
    done: Option<Done>,
}

/// Statements for rows that had their effect.
struct Done {
    /// Removes a row from the query.
    remove: Statement,
    /// Returns the keys of an array that the query still returns.
    remains: Statement,
}

fn entry(prefix: &str, key: &str) -> String {
    format!("{prefix}row/{:032x}", xxh3_128(key.as_bytes()))
}

/// Returns the literal of an array of keys.
fn array_of(keys: &[Rc<str>]) -> String {
    let quoted = keys.iter().map(|key| format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

/// Waits for an answer of the database, for at most [`ANSWER_WAIT`].
async fn answered<T>(asked: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
    match tokio::time::timeout(ANSWER_WAIT, asked).await {
        Ok(answer) => answer.map_err(|error| failure(&error)),
        Err(_) => {
            let message = format!("the database did not answer within {} s", ANSWER_WAIT.as_secs());
            Err(Failure::new(
                codes::SQL_UNREACHABLE,
                message,
                "look in pg_stat_activity for the lock that it waits for; the flow tries again",
            ))
        }
    }
}

/// Reads key and content of a row.
fn row_of(row: &Row) -> Result<(Option<Rc<str>>, String), Failure> {
    let content: String = row.try_get(0).map_err(|error| failure(&error))?;
    let key: Option<String> = row.try_get(1).map_err(|error| failure(&error))?;
    Ok((key.map(Rc::from), content))
}

fn damaged() -> Failure {
    let hint = "restore the store from a save, or set another `reader` to begin again";
    Failure::new(codes::NOT_READABLE, "the stored key of the query has an unknown form", hint)
}

fn text(bytes: &[u8]) -> Result<Rc<str>, Failure> {
    std::str::from_utf8(bytes).map(Rc::from).map_err(|_| damaged())
}

impl Session {
    async fn run(mut self) -> Infallible {
        let mut pause = CONNECT_PAUSE.0;
        loop {
            self.is_connected = false;
            if let Err(why) = self.connected().await {
                let mut shared = self.shared.borrow_mut();
                shared.link.breaks(why);
                shared.wake();
            }
            pause = if self.is_connected { CONNECT_PAUSE.0 } else { (pause * 2).min(CONNECT_PAUSE.1) };
            tokio::time::sleep(pause).await;
        }
    }

    async fn prepare(&self) -> Result<Prepared, tokio_postgres::Error> {
        let client = open(&self.config).await?;
        // Without a time limit, a statement that waits for a lock would keep its connection open on the server after this input has closed it.
        client.batch_execute(&format!("SET statement_timeout = '{}s'", ANSWER_WAIT.as_secs())).await?;
        let statement = self.statement.trim_end().trim_end_matches(';');
        let column = format!("quayline_row.\"{}\"", self.key.replace('"', "\"\""));
        // The server writes rows as JSON: each of its types has one exact form there.
        let read = |above: &str| {
            format!(
                "SELECT row_to_json(quayline_row)::text, {column}::text FROM (\n{statement}\n) quayline_row{above} \
                 ORDER BY {column} LIMIT {}",
                PAGE + 1
            )
        };
        let first = client.prepare(&read("")).await?;
        let next = client.prepare(&read(&format!(" WHERE {column} > $1"))).await?;
        let done = match &self.done {
            // The caller refuses a statement with parameters.
            Some(done) if first.params().is_empty() => {
                let remove = client.prepare(done).await?;
                let remains = format!(
                    "SELECT DISTINCT {column}::text FROM (\n{statement}\n) quayline_row WHERE {column} = ANY($1)"
                );
                Some(Done { remove, remains: client.prepare(&remains).await? })
            }
            _ => None,
        };
        Ok(Prepared { client, first, next, done })
    }

    async fn connected(&mut self) -> Result<(), Failure> {
        let prepared = answered(self.prepare()).await?;
        let parameters = prepared.first.params().len();
        if parameters > 0 {
            let message = format!("`statement` has {parameters} parameters, expected none");
            return Err(Failure::new(codes::SQL_REFUSED, message, "write the values into the statement"));
        }
        if let Some(done) = &prepared.done
            && done.remove.params().len() != 1
        {
            let message = format!("`done` has {} parameters, expected one: the key", done.remove.params().len());
            let hint = "write it with $1, such as `DELETE FROM orders WHERE id = $1`";
            return Err(Failure::new(codes::SQL_REFUSED, message, hint));
        }
        loop {
            self.is_connected = false;
            {
                let mut shared = self.shared.borrow_mut();
                let refused = std::mem::take(&mut shared.refused);
                shared.finished.extend(refused);
            }
            self.finish(&prepared).await?;
            self.look_at_left(&prepared).await?;
            let is_whole = self.look(&prepared).await?;
            self.is_connected = true;
            {
                let mut shared = self.shared.borrow_mut();
                shared.link.works();
                shared.wake();
            }
            let pause = if is_whole { self.interval } else { Duration::ZERO };
            let until = Instant::now() + pause;
            // Rows that are done need the connection meanwhile.
            while tokio::time::timeout_at(until, self.news.notified()).await.is_ok() {
                self.finish(&prepared).await?;
            }
            // Rows that `done` left may disappear without a message to this process.
            while self.is_full() && tokio::time::timeout(self.interval, self.news.notified()).await.is_ok() {
                self.finish(&prepared).await?;
            }
        }
    }

    fn is_full(&self) -> bool {
        let shared = self.shared.borrow();
        let (rows, bytes) = shared.held;
        // Nobody knows yet whether `done` leaves the rows that are finished.
        let left = shared.left.len() + shared.refused.len() + shared.executed.len() + shared.finished.len();
        rows >= HELD_MAX.0 || bytes >= HELD_MAX.1 || shared.order.len() >= ORDER_MAX || left >= LEFT_MAX
    }

    /// Removes processed rows from the database, and their entries from the store.
    async fn finish(&self, prepared: &Prepared) -> Result<(), Failure> {
        let Some(done) = &prepared.done else { return Ok(()) };
        loop {
            // Rows of an ended connection come first.
            while !self.shared.borrow().executed.is_empty() {
                let keys: Vec<Rc<str>> = self.shared.borrow().executed.iter().take(PAGE).cloned().collect();
                let left = self.forget(prepared, done, &keys).await?;
                let mut shared = self.shared.borrow_mut();
                shared.executed.drain(..keys.len());
                shared.left.extend(left);
            }
            if self.shared.borrow().finished.is_empty() {
                return Ok(());
            }
            self.execute(prepared, done).await?;
        }
    }

    /// Executes `done` for a page of rows. A failed statement does not delay the other rows, and only this statement runs again.
    async fn execute(&self, prepared: &Prepared, done: &Done) -> Result<(), Failure> {
        let keys: Vec<Rc<str>> = self.shared.borrow().finished.iter().take(PAGE).cloned().collect();
        // The input sends all statements at the same time.
        let mut answers: FuturesUnordered<_> = keys
            .iter()
            .map(|key| async move {
                let parameter = Parameter(Some(key.to_string()));
                let all: [&(dyn ToSql + Sync); 1] = [&parameter];
                (key, prepared.client.execute(&done.remove, &all).await)
            })
            .collect();
        let (mut executed, mut refused): (HashSet<&Rc<str>>, HashSet<&Rc<str>>) = Default::default();
        let mut why = None;
        let mut outcome = Ok(());
        // The database answers one statement after another, so the limit applies to each.
        loop {
            let next = async { Ok(answers.next().await) };
            match answered(next).await {
                Ok(Some((key, Ok(_)))) => drop(executed.insert(key)),
                Ok(Some((key, Err(error)))) if error.as_db_error().is_some() => {
                    why.get_or_insert_with(|| failure(&error));
                    refused.insert(key);
                }
                Ok(Some((_, Err(error)))) => outcome = outcome.and(Err(failure(&error))),
                Ok(None) => break,
                Err(silent) => {
                    outcome = outcome.and(Err(silent));
                    break;
                }
            }
        }
        let mut shared = self.shared.borrow_mut();
        shared.finished.retain(|key| !executed.contains(key) && !refused.contains(key));
        shared.executed.extend(executed.into_iter().cloned());
        shared.refused.extend(refused.into_iter().cloned());
        if let Some(why) = why {
            shared.link.fails(why);
            shared.wake();
        }
        outcome
    }

    /// Forgets the rows that the query no longer returns. Returns the keys of the others.
    async fn forget(&self, prepared: &Prepared, done: &Done, keys: &[Rc<str>]) -> Result<Vec<Rc<str>>, Failure> {
        let array = Parameter(Some(array_of(keys)));
        let all: [&(dyn ToSql + Sync); 1] = [&array];
        let rows = answered(prepared.client.query(&done.remains, &all)).await?;
        let remaining = rows.iter().map(|row| row.try_get(0)).collect::<Result<HashSet<String>, _>>();
        let remaining = remaining.map_err(|error| failure(&error))?;
        let (left, gone): (Vec<_>, Vec<_>) = keys.iter().cloned().partition(|key| remaining.contains(&**key));
        if gone.is_empty() {
            return Ok(left);
        }
        let mut unit = self.store.begin()?;
        for key in &gone {
            unit.delete(Space::CHECKPOINTS, entry(&self.prefix, key).as_bytes())?;
        }
        unit.submit().await?;
        let mut shared = self.shared.borrow_mut();
        for key in &gone {
            shared.known.remove(key);
        }
        Ok(left)
    }

    /// Checks again the rows that `done` left in the query, and reports them while the query returns them.
    async fn look_at_left(&self, prepared: &Prepared) -> Result<(), Failure> {
        let Some(done) = &prepared.done else { return Ok(()) };
        let count = self.shared.borrow().left.len();
        let mut looked = 0;
        while looked < count {
            let keys: Vec<Rc<str>> = self.shared.borrow().left.iter().take(PAGE.min(count - looked)).cloned().collect();
            looked += keys.len();
            let left = self.forget(prepared, done, &keys).await?;
            let mut shared = self.shared.borrow_mut();
            shared.left.drain(..keys.len());
            shared.left.extend(left);
        }
        let mut shared = self.shared.borrow_mut();
        if !shared.left.is_empty() {
            let message = "the statement `done` did not remove a row from the query, so the row is not read again";
            let hint = "make `done` change the rows that `statement` selects";
            shared.link.fails(Failure::new(codes::SQL_REFUSED, message, hint));
            shared.wake();
        }
        Ok(())
    }

    /// Reads rows to the end, or until the input has enough. Returns true at the end.
    async fn look(&mut self, prepared: &Prepared) -> Result<bool, Failure> {
        let removes = prepared.done.is_some();
        let mut after = if removes { None } else { self.shared.borrow().read.clone() };
        while !self.is_full() {
            let rows = match &after {
                None => answered(prepared.client.query(&prepared.first, &[])).await?,
                Some(key) => {
                    let parameter = Parameter(Some(key.to_string()));
                    let all: [&(dyn ToSql + Sync); 1] = [&parameter];
                    answered(prepared.client.query(&prepared.next, &all)).await?
                }
            };
            let mut is_last = rows.len() <= PAGE;
            let rows = rows.iter().map(row_of).collect::<Result<Vec<_>, _>>()?;
            // Quayline could remember only one of two rows with the same key, so it stops reading before the first of them.
            let twice = rows.windows(2).position(|two| two[0].0.is_some() && two[0].0 == two[1].0);
            // The query returns one row more than a page, only to compare its key.
            for row in rows.into_iter().take(twice.unwrap_or(PAGE)) {
                match row {
                    (Some(key), content) => {
                        after = Some(Rc::clone(&key));
                        self.arrives(key, content, removes);
                    }
                    (None, _) => {
                        // Rows without a key come last in the order.
                        let message = format!("a row has no value in the key column `{}`, so it is not read", self.key);
                        let hint = "exclude such rows in `statement`, or name another column with `key`";
                        let failure = Failure::new(codes::SQL_REFUSED, message, hint);
                        self.shared.borrow_mut().link.fails(failure);
                        is_last = true;
                        break;
                    }
                }
            }
            self.shared.borrow_mut().wake();
            if twice.is_some() {
                let key = &self.key;
                let message = format!("two rows have the same value in the key column `{key}`, expected a unique key");
                let hint = "name a unique column with `key`, or make `statement` return one row for each key";
                return Err(Failure::new(codes::SQL_REFUSED, message, hint));
            }
            if is_last {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn arrives(&mut self, key: Rc<str>, content: String, removes: bool) {
        let mut shared = self.shared.borrow_mut();
        if removes {
            if !shared.known.insert(Rc::clone(&key)) {
                return;
            }
        } else {
            let is_done = self.before.remove(&key);
            shared.read = Some(Rc::clone(&key));
            shared.order.push_back((Rc::clone(&key), is_done));
            if is_done {
                return;
            }
        }
        shared.held.0 += 1;
        shared.held.1 += content.len();
        shared.arrived.push_back(Arrived { key, content: content.into_bytes().into() });
    }
}

impl SqlInput {
    /// Begins to connect, in a task of this thread.
    pub(crate) fn start(run: &Run<'_>, at: usize) -> Result<SqlInput, Failure> {
        let node = &run.flow.file.nodes[at];
        let wrong =
            |why: String| Failure::new(codes::BAD_DATABASE, why, "write it as `host=HOST user=USER dbname=NAME`");
        let config = crate::sql::config(node, &run.name).map_err(wrong)?;
        let database = config.get_dbname().or(config.get_user()).unwrap_or_default().to_owned();
        let reader = node.text("reader").unwrap_or(&node.name);
        let prefix: Rc<str> = format!("flow-sql/{}/{reader}/{:016x}/", run.name, xxh3_64(database.as_bytes())).into();
        let removes = node.text("done").is_some();
        let (mut shared, mut before) = (Shared::default(), HashSet::new());
        let unit = run.store.begin()?;
        for stored in crate::outbox::keys(&unit, &prefix)? {
            let value = unit.checkpoint(&stored)?.ok_or_else(damaged)?;
            if stored.ends_with("/head") {
                let (version, key) = value.split_first().ok_or_else(damaged)?;
                if *version != VERSION {
                    return Err(damaged());
                }
                shared.read = Some(text(key)?);
            } else {
                before.insert(text(&value)?);
            }
        }
        if removes && shared.read.is_some() {
            let message = "earlier rows were processed without `done`, and would be processed again";
            let hint = "remove those rows from the query, and name another `reader`";
            return Err(Failure::new(codes::SQL_REFUSED, message, hint));
        }
        if removes {
            // They had their effect, so their rows must go before any other is read.
            shared.known = before.iter().cloned().collect();
            shared.finished = before.drain().collect();
        }
        let (shared, news) = (Rc::new(RefCell::new(shared)), Rc::new(Notify::new()));
        let session = Session {
            store: run.store.clone(),
            config,
            statement: node.text("statement").unwrap_or_default().to_owned(),
            key: node.text("key").unwrap_or_default().to_owned(),
            done: node.text("done").map(str::to_owned),
            interval: Duration::from_millis(node.number("interval").unwrap_or(INTERVAL_MS).max(1)),
            prefix: Rc::clone(&prefix),
            shared: Rc::clone(&shared),
            news: Rc::clone(&news),
            before,
            is_connected: false,
        };
        Ok(SqlInput {
            name: database,
            prefix,
            shared,
            news,
            task: tokio::task::spawn_local(session.run()),
            open: HashMap::new(),
            again: Pauses::new(),
            raise: None,
            raised: Instant::now(),
            failed: Failures::new(&run.name, node),
            is_ordered: is_ordered(node),
            removes,
        })
    }

    /// Returns the next row that has not been processed.
    pub(crate) fn poll(&mut self, run: &Run<'_>, at: usize, context: &mut Context<'_>) -> Poll<Result<Taken, Failure>> {
        let news = self.shared.borrow_mut().link.news();
        run.follows(at, news);
        if let Some(id) = self.again.ended(context) {
            return Poll::Ready(self.take(run, id));
        }
        // In its order, a row waits for the one before it, also during its pause.
        let waits_for_one = self.is_ordered && !self.open.is_empty();
        let next = if waits_for_one { None } else { self.shared.borrow_mut().arrived.pop_front() };
        let Some(Arrived { key, content }) = next else {
            self.shared.borrow_mut().waker = Some(context.waker().clone());
            self.raise_in_time(&run.store, context)?;
            return Poll::Pending;
        };
        let mut id = [0; 24];
        id[..8].copy_from_slice(&xxh3_64(self.prefix.as_bytes()).to_be_bytes());
        id[8..].copy_from_slice(&xxh3_128(key.as_bytes()).to_be_bytes());
        let header = Message {
            id,
            put_ms: run.clock.now_ms(),
            persistence: Persistence::Persistent,
            properties: vec![(KEY.to_owned(), key.as_bytes().to_vec())],
            ..Message::default()
        };
        self.open.insert(id, Open { header, content, key });
        Poll::Ready(self.take(run, id))
    }

    fn take(&mut self, run: &Run<'_>, id: MessageId) -> Result<Taken, Failure> {
        let taken = self.begin(run, id);
        if taken.is_err() {
            self.again.add_not_begun(id);
        }
        taken
    }

    fn begin(&mut self, run: &Run<'_>, id: MessageId) -> Result<Taken, Failure> {
        let mut unit = run.store.begin()?;
        let gone = || Failure::new(codes::NOT_READABLE, "the row is not there", "see the flow's last error");
        let open = self.open.get(&id).ok_or_else(gone)?;
        unit.put_checkpoint(&entry(&self.prefix, &open.key), open.key.as_bytes())?;
        let mut header = open.header.clone();
        let backout = self.failed.count(&id, &mut header);
        Ok(Taken { unit, header, content: Rc::clone(&open.content), backout })
    }

    /// Takes note of the end of a unit of work.
    pub(crate) fn ended(&mut self, store: &Store, id: &MessageId, outcome: Outcome) -> Result<(), Failure> {
        if let Err(why) = outcome {
            let pause = self.failed.add(*id, why);
            self.again.add(*id, pause);
            return Ok(());
        }
        self.failed.forget(id);
        let Some(open) = self.open.remove(id) else { return Ok(()) };
        let entries = {
            let mut shared = self.shared.borrow_mut();
            shared.held.0 -= 1;
            shared.held.1 -= open.content.len();
            if self.removes {
                shared.finished.push_back(open.key);
            } else if let Some(row) = shared.order.iter_mut().find(|(key, _)| *key == open.key) {
                row.1 = true;
            }
            shared.order.len()
        };
        self.news.notify_one();
        if entries >= RAISE.0 || self.raised.elapsed() >= RAISE.1 {
            self.raise_head(store)?;
        }
        Ok(())
    }

    /// Raises the head some time after the last row.
    fn raise_in_time(&mut self, store: &Store, context: &mut Context<'_>) -> Result<(), Failure> {
        if !self.shared.borrow().order.front().is_some_and(|(_, is_done)| *is_done) {
            return Ok(());
        }
        let raise = self.raise.get_or_insert_with(|| Box::pin(tokio::time::sleep(RAISE.1)));
        if raise.as_mut().poll(context).is_ready() {
            self.raise = None;
            self.raise_head(store)?;
        }
        Ok(())
    }

    /// Raises the head to the last row before any that is open, and removes the entries up to there.
    pub(crate) fn raise_head(&mut self, store: &Store) -> Result<(), Failure> {
        self.raised = Instant::now();
        let mut shared = self.shared.borrow_mut();
        let mut unit = store.begin()?;
        let mut head = None;
        while shared.order.front().is_some_and(|(_, is_done)| *is_done) {
            let Some((key, _)) = shared.order.pop_front() else { break };
            unit.delete(Space::CHECKPOINTS, entry(&self.prefix, &key).as_bytes())?;
            head = Some(key);
        }
        let Some(head) = head else { return Ok(()) };
        unit.put_checkpoint(&format!("{}head", self.prefix), &[&[VERSION], head.as_bytes()].concat())?;
        // No one waits for this commit. After a crash, the next raise removes the entries.
        unit.submit_with(Box::new(|_| ()));
        self.news.notify_one();
        Ok(())
    }
}

/// Returns true if rows are processed one after another.
pub(crate) fn is_ordered(node: &FlowNode) -> bool {
    node.text("order") == Some("by_key")
}
