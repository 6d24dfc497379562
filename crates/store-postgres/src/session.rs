//! A connection and its statements.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use quayline_store::{Change, FullKey, Space, StoreError};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use crate::hold_wish::Told;
use crate::rows::Rows;
use crate::sql;
use crate::state::Waiting;

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
    pub(crate) async fn transact(&self, changes: &Columns<'_>, units: i64) -> Result<u64, StoreError> {
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

    pub(crate) async fn load(&self, keys: &[Vec<u8>], values: &[Vec<u8>]) -> Result<(), StoreError> {
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

/// Changes of a group of units of work, as parameters of statements.
#[derive(Default)]
pub(crate) struct Columns<'a> {
    keys: Vec<&'a [u8]>,
    values: Vec<&'a [u8]>,
    deletes: Vec<&'a [u8]>,
    pub(crate) told: Told,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(group: &'a [Waiting]) -> Self {
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
