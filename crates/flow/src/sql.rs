//! Statements in a PostgreSQL database: queries while a message is processed, and statements that are delivered after the commit.
//!
//! A query runs at once, outside of the unit of work, so it is for reading. A statement of a `sql_output` node comes from its outbox after the unit of work
//! is durable. Its effect happens once: the transaction that executes it also remembers the id of the message. Deliveries of one outbox are one after
//! another, and the next one removes the id as soon as the message is durably out of the outbox. Only the last message of each run of a flow can
//! therefore be repeated, and the database knows its id even if other messages come first after a restart.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::str::FromStr as _;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::{BufMut as _, BytesMut};
use quayline_core::hex;
use quayline_project::{FlowNode, PropertyValue};
use quayline_store::queue::Message;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, Statement};

use crate::codes;
use crate::deliver::Outside;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::message::Parcel;
use crate::run::{Gives, Run, Work};
use crate::stats::Waiting;

/// Rows of one query. Default 100,000: more are a pass over a table, which does not belong in one unit of work.
const ROWS_MAX: i64 = 100_000;
/// Longest time of a statement of a `sql_output` node, where the node says nothing. Default 60 s.
const STATEMENT_MS: u64 = 60_000;
/// Longest time of a statement that PostgreSQL knows.
const STATEMENT_MS_MAX: u64 = 0x7fff_ffff;
/// Time that a statement still has when the flow stops.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// Longest wait for a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// First and longest pause while the database is not reachable.
const PAUSE_MS: (u64, u64) = (50, 5_000);
/// Maximum number of message ids that the database keeps for an outbox. Each run of a flow leaves one, that of its last message.
const REMEMBERED: usize = 64;
/// Variable of the environment with the password, where the node names none.
const PASSWORD: &str = "PGPASSWORD";
/// Classes of SQLSTATE that the data of a message causes: it fails again however often it is repeated.
const REFUSED: &[&str] = &["21", "22", "23", "44", "P0"];

/// The connection of one node, with its statement.
struct Session {
    client: Client,
    statement: Statement,
    has_table: Cell<bool>,
}

/// Connections of a flow on one thread by number of the node, and the ids of messages that are durably out of their outboxes and that the database still knows.
#[derive(Default)]
pub(crate) struct Sessions(RefCell<HashMap<usize, Rc<Session>>>, RefCell<HashMap<usize, Vec<String>>>);

/// A parameter as the text that PostgreSQL reads as the type of its place.
#[derive(Debug)]
pub(crate) struct Parameter(pub(crate) Option<String>);

impl ToSql for Parameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = &self.0 else { return Ok(IsNull::Yes) };
        out.put_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// Checks the address of a database and describes the error in it.
pub(crate) fn check(database: &str) -> Result<Config, String> {
    let config = Config::from_str(database).map_err(|_| "it is not a connection string of PostgreSQL".to_owned())?;
    if config.get_password().is_some() {
        return Err("it has a password, and flow files are not secret".to_owned());
    }
    if config.get_hosts().is_empty() {
        return Err("it names no host".to_owned());
    }
    Ok(config)
}

/// Returns the connection settings of a node.
///
/// # Errors
/// The connection string is wrong.
pub(crate) fn config(node: &FlowNode, flow: &str) -> Result<Config, String> {
    let mut config = check(node.text("database").unwrap_or_default())?;
    config.connect_timeout(CONNECT_WAIT).application_name(format!("quayline {flow}"));
    let variable = node.text("password_variable").unwrap_or(PASSWORD);
    if let Some(password) = std::env::var_os(variable) {
        config.password(password.as_encoded_bytes());
    }
    Ok(config)
}

/// Opens a connection, which a task of this thread serves.
pub(crate) async fn open(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    // Its end shows as an error of the next statement.
    tokio::task::spawn_local(async move { drop(connection.await) });
    Ok(client)
}

/// Converts an error without its values, because messages of a server quote them.
pub(crate) fn failure(error: &tokio_postgres::Error) -> Failure {
    let Some(db) = error.as_db_error() else {
        let hint = "check the server and the network; the flow tries again";
        return Failure::new(codes::SQL_UNREACHABLE, "the database cannot be reached, or the connection ended", hint);
    };
    let code = db.code().code();
    let mut message = format!("the database refuses the statement with SQLSTATE {code}");
    // What is said of the statement itself quotes the flow file, not the message.
    if code.starts_with("42") || code.starts_with("28") || code.starts_with("3D") {
        message.push_str(&format!(": {}", db.message()));
    }
    let places = [("table", db.table()), ("column", db.column()), ("constraint", db.constraint())];
    for (what, name) in places.into_iter().filter_map(|(what, name)| Some((what, name?))) {
        message.push_str(&format!(", {what} {name}"));
    }
    Failure::new(codes::SQL_REFUSED, message, "look the SQLSTATE up in the manual of PostgreSQL, appendix A")
}

fn is_of_data(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| REFUSED.iter().any(|class| code.code().starts_with(class)))
}

/// Parameters of a node for one message.
fn parameters(node: &FlowNode, values: &[Evaluated], first: usize) -> Vec<Option<String>> {
    let count = match node.property("parameters").map(|property| &property.value) {
        Some(PropertyValue::Expressions(all)) => all.len(),
        _ => 0,
    };
    let value = |value: &Evaluated| match value {
        Evaluated::Text(text) => Some(text.clone()),
        Evaluated::Truth(truth) => Some(truth.to_string()),
        Evaluated::Absent => None,
    };
    values.iter().skip(first).take(count).map(value).collect()
}

impl Run<'_> {
    /// Returns the connection of a node, and opens it if necessary. `limit_ms` limits each statement; 0 means without a limit.
    async fn session(&self, at: usize, text: &str, limit_ms: u64) -> Result<Rc<Session>, tokio_postgres::Error> {
        if let Some(session) = self.sql.0.borrow().get(&at)
            && !session.client.is_closed()
        {
            return Ok(Rc::clone(session));
        }
        // `flow check` has read the connection string.
        let config = config(&self.flow.file.nodes[at], &self.name).unwrap_or_default();
        let client = open(&config).await?;
        if limit_ms > 0 {
            // Otherwise a statement that waits for a lock, even for being prepared, would keep its connection and its locks after this side gave up.
            client.batch_execute(&format!("SET statement_timeout = {limit_ms}")).await?;
        }
        let statement = client.prepare(text).await?;
        let session = Rc::new(Session { client, statement, has_table: Cell::new(false) });
        self.sql.0.borrow_mut().insert(at, Rc::clone(&session));
        Ok(session)
    }

    /// Runs a query; its rows are messages. While the database is not reachable, the unit of work waits until its time limit.
    pub(crate) async fn sql_query(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let node = &self.flow.file.nodes[at];
        let limit = if node.text("rows") == Some("each") { ROWS_MAX + 1 } else { 1 };
        let statement = node.text("statement").unwrap_or_default().trim_end().trim_end_matches(';');
        // The server writes rows as JSON: each of its types has one exact form there.
        let text = format!("SELECT row_to_json(quayline_row)::text FROM (\n{statement}\n) quayline_row LIMIT {limit}");
        let parameters: Vec<Parameter> =
            parameters(node, values, self.value_at(at, "parameters")).into_iter().map(Parameter).collect();
        let (mut pause_ms, mut asked) = (PAUSE_MS.0, None);
        // Also if the time limit ends this wait.
        let mut _waiting = None;
        let rows = loop {
            let done = match self.session(at, &text, 0).await {
                Ok(session) => {
                    let all: Vec<&(dyn ToSql + Sync)> =
                        parameters.iter().map(|one| one as &(dyn ToSql + Sync)).collect();
                    if all.len() != session.statement.params().len() {
                        return Err(parameter_count(session.statement.params().len(), all.len()));
                    }
                    session.client.query(&session.statement, &all).await
                }
                Err(error) => Err(error),
            };
            match done {
                Ok(rows) => break rows,
                Err(error) if error.as_db_error().is_some() => return Err(failure(&error)),
                Err(error) => {
                    if self.gives_up(work, &mut asked, pause_ms) {
                        return Err(failure(&error));
                    }
                    self.waits(at, &failure(&error));
                    _waiting = Some(Waiting(&self.stats.nodes[at]));
                    tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                    pause_ms = (pause_ms * 2).min(PAUSE_MS.1);
                }
            }
        };
        self.resumed(work);
        if rows.len() as u64 > ROWS_MAX.unsigned_abs() {
            let message = format!("the query gives more than {ROWS_MAX} rows");
            return Err(Failure::new(
                codes::SQL_REFUSED,
                message,
                "read a part of them, with LIMIT and a key to begin at",
            ));
        }
        if rows.is_empty() {
            return Ok(Gives::Out(vec![("no_row", parcel.clone())]));
        }
        let row = |row: &tokio_postgres::Row| row.try_get::<_, String>(0).map_err(|error| failure(&error));
        let out = rows.iter().map(|one| Ok(("out", parcel.with_content(row(one)?.into_bytes()))));
        Ok(Gives::Out(out.collect::<Result<Vec<_>, Failure>>()?))
    }

    /// Keeps the parameters of a statement in the outbox.
    pub(crate) async fn sql_output(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let node = &self.flow.file.nodes[at];
        let parameters = parameters(node, values, self.value_at(at, "parameters"));
        let payload = serde_json::Value::from(parameters).to_string().into_bytes();
        self.keep(work, at, parcel, payload).await?;
        Ok(Gives::Same("out"))
    }

    /// Executes the statement of a message of the outbox, once, within its time limit and that of a flow that stops.
    pub(crate) async fn deliver_sql(&self, at: usize, outbox: &str, message: &Message) -> Result<(), Outside> {
        let limit_ms = self.flow.file.nodes[at].number("wait_limit").unwrap_or(STATEMENT_MS).clamp(1, STATEMENT_MS_MAX);
        // The server's limit comes first, unless the connection or the server is silent.
        let silent = Duration::from_millis(limit_ms) + CONNECT_WAIT;
        let over = async {
            if self.stopped_within(silent).await {
                tokio::time::sleep(STOP_WAIT).await;
            }
        };
        tokio::select! {
            done = self.execute_once(at, outbox, message, limit_ms) => done,
            () = over => {
                // Its transaction may be open. The end of the connection ends it, or the next attempt waits for its end.
                self.sql.0.borrow_mut().remove(&at);
                Err(Outside::Waits(late(limit_ms)))
            }
        }
    }

    /// Notes that a message is durably out of its outbox.
    pub(crate) fn delivered(&self, at: usize, message: &Message) {
        if self.flow.file.nodes[at].kind.name == "sql_output" {
            self.sql.1.borrow_mut().entry(at).or_default().push(hex(&message.id));
        }
    }

    async fn execute_once(&self, at: usize, outbox: &str, message: &Message, limit_ms: u64) -> Result<(), Outside> {
        let node = &self.flow.file.nodes[at];
        let unknown = |_| {
            let hint = "only this node puts messages on its outbox; remove the message";
            Outside::Refuses(Failure::new(codes::NOT_READABLE, "the message of the outbox is of no known form", hint))
        };
        let parameters: Vec<Option<String>> = serde_json::from_slice(&message.payload).map_err(unknown)?;
        let parameters: Vec<Parameter> = parameters.into_iter().map(Parameter).collect();
        let all: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|one| one as &(dyn ToSql + Sync)).collect();
        let waits = |error: tokio_postgres::Error| {
            let is_late = error.code() == Some(&SqlState::QUERY_CANCELED);
            Outside::Waits(if is_late { late(limit_ms) } else { failure(&error) })
        };
        // Also the commit may refuse the data: it checks what is deferred.
        let fails = |error: tokio_postgres::Error| {
            if is_of_data(&error) { Outside::Refuses(failure(&error)) } else { waits(error) }
        };
        let session = self.session(at, node.text("statement").unwrap_or_default(), limit_ms).await.map_err(waits)?;
        if all.len() != session.statement.params().len() {
            return Err(Outside::Waits(parameter_count(session.statement.params().len(), all.len())));
        }
        let client = &session.client;
        if !session.has_table.get() {
            let table = "CREATE TABLE IF NOT EXISTS quayline_delivered (outbox text PRIMARY KEY, last text NOT NULL)";
            client.batch_execute(table).await.map_err(waits)?;
            session.has_table.set(true);
        }
        client.batch_execute("BEGIN").await.map_err(waits)?;
        let id = hex(&message.id);
        let removed = self.sql.1.borrow().get(&at).cloned().unwrap_or_default();
        let known = client.execute(REMEMBER.as_str(), &[&outbox, &id, &removed]).await;
        let is_new = matches!(known, Ok(1));
        let done = match known {
            // It was executed before, and the connection or this process ended too early to know.
            Ok(0) => Ok(0),
            Ok(_) => client.execute(&session.statement, &all).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(_) => {
                client.batch_execute("COMMIT").await.map_err(fails)?;
                if is_new {
                    self.sql.1.borrow_mut().remove(&at);
                }
                Ok(())
            }
            Err(error) => {
                // A connection that is lost rolls back by its end.
                let _ = client.batch_execute("ROLLBACK").await;
                Err(fails(error))
            }
        }
    }
}

/// The statement that remembers the delivery of a message, which changes no row if it is known already. Its parameters are the outbox, the message,
/// and the messages that cannot come again.
static REMEMBER: LazyLock<String> = LazyLock::new(|| {
    // Text with one id in earlier versions.
    let known = "string_to_array(quayline_delivered.last, ' ')";
    format!(
        "INSERT INTO quayline_delivered VALUES ($1, $2) ON CONFLICT (outbox) DO UPDATE \
         SET last = array_to_string((excluded.last || ARRAY( \
             SELECT id FROM unnest({known}) WITH ORDINALITY AS known (id, place) WHERE id <> ALL ($3::text[]) ORDER BY place \
         ))[1:{REMEMBERED}], ' ') \
         WHERE excluded.last <> ALL ({known})"
    )
});

/// Creates the failure of a statement whose time is over.
fn late(limit_ms: u64) -> Failure {
    let message = format!("the database did not execute the statement within {limit_ms} ms, or it was cancelled");
    let hint = "look in pg_stat_activity for the lock that it waits for, or raise `wait_limit`; the flow tries again";
    Failure::new(codes::SQL_UNREACHABLE, message, hint)
}

fn parameter_count(expected: usize, found: usize) -> Failure {
    let message = format!("the statement has {expected} parameters, and `parameters` gives {found}");
    Failure::new(codes::SQL_REFUSED, message, "list an expression for each of $1, $2 and so on")
}
