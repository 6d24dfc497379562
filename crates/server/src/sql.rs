//! A PostgreSQL database as provider: a few connections for each server thread, each with the statement prepared.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quayline_gateway::{
    Answered, Outgoing, Problem, Provider, ProviderFault, Returned, SqlColumns, SqlPassword, SqlSpec,
};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Semaphore;
use tokio_postgres::error::Severity;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, Statement};
use tokio_rustls::TlsConnector;

use crate::tls;

/// Calls of databases by all threads, and connections that were made for them.
pub(crate) static CALLS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Connections to one database from one thread, for one statement.
pub(crate) struct Database {
    pool: Rc<Pool>,
    places: Arc<Semaphore>,
}

/// State that a request uses until its statement ends, even after its client disconnected.
struct Pool {
    spec: SqlSpec,
    tls: Option<TlsConnector>,
    /// True if the statement only reads, so that a client may repeat it unchecked.
    is_plain_read: bool,
    idle: RefCell<Vec<Session>>,
    /// Reason why the last connection could not be made.
    down: RefCell<Option<String>>,
}

/// A connection with the statement prepared.
struct Session {
    client: Client,
    statement: Statement,
    /// For each parameter, true if it is text, so that an empty one is not NULL.
    texts: Vec<bool>,
    columns: SqlColumns,
}

impl Database {
    /// Prepares calls; nothing is connected yet.
    ///
    /// # Errors
    /// Authorities that cannot be read.
    pub(crate) fn new(spec: &SqlSpec) -> Result<Database, String> {
        let tls = match &spec.authorities {
            None => None,
            Some(path) => {
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let config = rustls::ClientConfig::builder_with_provider(provider)
                    .with_safe_default_protocol_versions()
                    .map_err(|error| error.to_string())?
                    .with_root_certificates(tls::authorities(path)?)
                    .with_no_client_auth();
                Some(TlsConnector::from(Arc::new(config)))
            }
        };
        let places = Arc::new(Semaphore::new(spec.connections));
        let is_plain_read = is_plain_read(&spec.query);
        let pool = Pool { spec: spec.clone(), tls, is_plain_read, idle: RefCell::default(), down: RefCell::default() };
        Ok(Database { pool: Rc::new(pool), places })
    }

    async fn ask(&self, parameters: Vec<Vec<u8>>) -> Result<Returned, ProviderFault> {
        let wait_limit = self.pool.spec.wait_limit;
        let busy = || ProviderFault::Busy { retry_after: wait_limit };
        let place = tokio::time::timeout(wait_limit, Arc::clone(&self.places).acquire_owned());
        let place = place.await.map_err(|_| busy())?.map_err(|_| busy())?;
        let pool = Rc::clone(&self.pool);
        // A request that its client abandons keeps its place until the database has ended its statement: otherwise the next one would
        // be a connection more than `connections`.
        let asked = tokio::task::spawn_local(async move {
            // A network without an answer must not occupy the connection of the pool.
            let limit = pool.spec.time_limit;
            let sent = Cell::new(false);
            let returned = tokio::time::timeout(limit * 2, pool.ask(parameters, &sent)).await;
            drop(place);
            returned.unwrap_or_else(|_| Err(pool.silent(limit * 2, sent.get())))
        });
        asked.await.unwrap_or_else(|error| {
            Err(ProviderFault::BadAnswer { reason: format!("the request to the database ended: {error}") })
        })
    }
}

impl Pool {
    async fn connect(&self) -> Result<Session, String> {
        let spec = &self.spec;
        let mut config = Config::new();
        config.host(&spec.host).port(spec.port).dbname(&spec.database).user(&spec.user).application_name("quayline");
        config.connect_timeout(spec.time_limit);
        // The server stops what runs too long, whether or not anybody still waits for it.
        config.options(format!("-c statement_timeout={}", spec.time_limit.as_millis()));
        match &spec.password {
            SqlPassword::None => {}
            SqlPassword::File(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("the password's file cannot be read: {}", error.kind()))?;
                config.password(text.lines().next().unwrap_or_default());
            }
            SqlPassword::Environment(name) => {
                config.password(std::env::var(name).map_err(|_| format!("the environment has no {name}"))?);
            }
        }
        let client = match &self.tls {
            None => {
                config.ssl_mode(tokio_postgres::config::SslMode::Disable);
                let (client, connection) = config.connect(NoTls).await.map_err(|error| reason(&error))?;
                tokio::task::spawn_local(connection);
                client
            }
            Some(connector) => {
                config.ssl_mode(tokio_postgres::config::SslMode::Require);
                let connector = Secured(connector.clone());
                let (client, connection) = config.connect(connector).await.map_err(|error| reason(&error))?;
                tokio::task::spawn_local(connection);
                client
            }
        };
        let query = spec.query.trim().trim_end_matches(';');
        let plain = client.prepare(query).await.map_err(|error| reason(&error))?;
        let names: Vec<String> = plain.columns().iter().map(|column| column.name().to_owned()).collect();
        let columns = spec.form.columns(&names)?;
        // Every type has a text form that fits its field, so the database writes it.
        let shown = names.iter().map(|name| format!("answer.\"{}\"::text", name.replace('"', "\"\"")));
        let shown = shown.collect::<Vec<_>>().join(", ");
        let statement = if names.is_empty() {
            plain
        } else {
            let text = format!("WITH answer AS MATERIALIZED (\n{query}\n) SELECT {shown} FROM answer");
            client.prepare_typed(&text, plain.params()).await.map_err(|error| reason(&error))?
        };
        let texts = texts(&client, statement.params()).await.map_err(|error| reason(&error))?;
        Ok(Session { client, statement, texts, columns })
    }

    /// The fault of a database that did not answer within its time, not even to end the statement.
    fn silent(&self, limit: Duration, sent: bool) -> ProviderFault {
        let note = format!("{}: no answer within {} ms", self.spec.database, limit.as_millis());
        if sent && !self.is_plain_read {
            ProviderFault::Refused(Box::new(Problem::no_answer(limit).logged(note)))
        } else if sent {
            ProviderFault::TimeLimit { limit: self.spec.time_limit }
        } else {
            ProviderFault::Absent { reason: note }
        }
    }

    /// Sets `sent` before the statement goes to the database, which may perform it from then on.
    async fn ask(&self, parameters: Vec<Vec<u8>>, sent: &Cell<bool>) -> Result<Returned, ProviderFault> {
        // The borrow ends here: what follows waits.
        let kept = self.idle.borrow_mut().pop();
        CALLS[0].fetch_add(1, Ordering::Relaxed);
        let session = match kept.filter(|session| !session.client.is_closed()) {
            Some(session) => session,
            None => {
                CALLS[1].fetch_add(1, Ordering::Relaxed);
                let made = self.connect().await;
                *self.down.borrow_mut() = made.as_ref().err().cloned();
                made.map_err(|why| ProviderFault::Absent { reason: format!("{}: {why}", self.spec.database) })?
            }
        };
        if parameters.len() != session.texts.len() {
            let needs = session.texts.len();
            let reason = format!("the statement has {needs} parameters, `parameters` has {}", parameters.len());
            return Err(ProviderFault::BadAnswer { reason });
        }
        let parameters = parameters.into_iter().zip(&session.texts);
        let parameters: Vec<Parameter> =
            parameters.map(|(bytes, is_text)| Parameter { bytes, is_text: *is_text }).collect();
        let bound: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|parameter| parameter as &(dyn ToSql + Sync)).collect();
        sent.set(true);
        let rows = match session.client.query(&session.statement, &bound).await {
            Ok(rows) => rows,
            Err(error) if error.code() == Some(&tokio_postgres::error::SqlState::QUERY_CANCELED) => {
                self.idle.borrow_mut().push(session);
                return Err(ProviderFault::TimeLimit { limit: self.spec.time_limit });
            }
            Err(error) => {
                // The end of the connection is noticed after its reason.
                let closed = session.client.is_closed() || is_fatal(&error);
                if !closed {
                    self.idle.borrow_mut().push(session);
                }
                let reason = format!("{}: {}", self.spec.database, reason(&error));
                return Err(if !closed {
                    ProviderFault::BadAnswer { reason }
                } else if self.is_plain_read {
                    ProviderFault::Absent { reason }
                } else {
                    // The database may have performed the statement, so the client must not repeat it unchecked.
                    ProviderFault::Refused(Box::new(Problem::cut_answer().logged(reason)))
                });
            }
        };
        let text = |row: &tokio_postgres::Row| -> Vec<Option<String>> {
            (0..row.len()).map(|column| row.try_get(column).ok().flatten()).collect()
        };
        let rows: Vec<Vec<Option<String>>> = rows.iter().map(text).collect();
        let record = self.spec.form.record(&session.columns, &rows);
        self.idle.borrow_mut().push(session);
        record.map(Returned::Bytes).map_err(|reason| ProviderFault::BadAnswer { reason })
    }
}

impl Provider for Database {
    fn call<'a>(&'a self, record: Outgoing<'_>, _: &dyn Fn() -> String) -> Answered<'a> {
        let spec = &self.pool.spec;
        let parameters = spec.form.parameters(&record.to_vec());
        Box::pin(async move {
            // Beyond the database's own limit: a network that does not answer.
            let limit = spec.wait_limit + spec.time_limit * 2;
            let asked = tokio::time::timeout(limit, self.ask(parameters));
            asked.await.unwrap_or(Err(ProviderFault::TimeLimit { limit: spec.time_limit }))
        })
    }

    fn ready(&self) -> Result<(), String> {
        self.pool.down.borrow().clone().map_or(Ok(()), Err)
    }
}

/// Returns the message of a database without values: SQLSTATE and the short message, because details may quote data.
fn reason(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(told) if told.code().code().starts_with("22") || told.code().code().starts_with("23") => {
            format!("SQLSTATE {}", told.code().code())
        }
        Some(told) => format!("SQLSTATE {}: {}", told.code().code(), told.message()),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}

/// Returns true if the database ends the connection with an error.
fn is_fatal(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().and_then(tokio_postgres::error::DbError::parsed_severity);
    matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

/// Returns true if a statement certainly changes nothing, so that a client may repeat it. Unknown words count as changes: a function may write.
fn is_plain_read(query: &str) -> bool {
    const FIRST: [&str; 4] = ["select", "values", "table", "with"];
    const WRITES: [&str; 6] = ["insert", "update", "delete", "merge", "into", "call"];
    // Words that may precede a parenthesis: those of SQL, types, and functions that only compute.
    const HARMLESS: &str = " abs all and any array_agg as asc between by bpchar btrim case cast ceil ceiling char char_length coalesce concat count \
        date_part date_trunc decimal dense_rank desc distinct else except exists extract filter floor from greatest having ilike in initcap \
        intersect join lateral least left length like limit lower lpad ltrim materialized max min mod not now nullif numeric offset on or over \
        partition position rank replace right round row_number rpad rtrim select some split_part string_agg strpos substr substring sum then \
        to_char to_date to_number to_timestamp translate trim trunc union upper using values varchar when where with ";
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let query = query.to_lowercase();
    if query.contains("--") || query.contains("/*") {
        return false;
    }
    let mut words = query.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    let reads = words.next().is_some_and(|first| FIRST.contains(&first)) && !words.any(|word| WRITES.contains(&word));
    reads
        && query.match_indices('(').all(|(at, _)| {
            let before = query[..at].trim_end();
            let word = before.rsplit(|c| !is_word(c)).next().unwrap_or("");
            let ahead = &before[..before.len() - word.len()];
            // A quoted name and one of a schema may be those of any function.
            !before.ends_with('"')
                && !ahead.ends_with('.')
                && (word.is_empty() || HARMLESS.contains(&format!(" {word} ")))
        })
}

/// First number of a type that an extension or a user made.
const FIRST_OWN_TYPE: u32 = 16_384;

/// Returns for each type whether it is text. A type that the library does not know is text if PostgreSQL puts it among the texts, as it does with
/// `citext` and with domains over text.
async fn texts(client: &Client, kinds: &[Type]) -> Result<Vec<bool>, tokio_postgres::Error> {
    let own: Vec<u32> = kinds.iter().map(Type::oid).filter(|oid| *oid >= FIRST_OWN_TYPE).collect();
    let mut known: Vec<u32> = Vec::new();
    if !own.is_empty() {
        let category = "SELECT oid FROM pg_catalog.pg_type WHERE oid = ANY($1) AND typcategory = 'S'";
        known.extend(client.query(category, &[&own]).await?.iter().map(|row| row.get::<_, u32>(0)));
    }
    let is_text = |kind: &Type| {
        matches!(*kind, Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN)
            || known.contains(&kind.oid())
    };
    Ok(kinds.iter().map(is_text).collect())
}

/// A parameter as text for any database type. An empty text is NULL unless the type is text.
#[derive(Debug)]
struct Parameter {
    bytes: Vec<u8>,
    is_text: bool,
}

impl ToSql for Parameter {
    fn to_sql(&self, _: &Type, out: &mut bytes::BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        if self.bytes.is_empty() && !self.is_text {
            return Ok(IsNull::Yes);
        }
        out.extend_from_slice(&self.bytes);
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

/// TLS to a database by rustls.
#[derive(Clone)]
struct Secured(TlsConnector);

struct SecuredTo(TlsConnector, ServerName<'static>);

struct SecuredStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Secured {
    type Stream = SecuredStream<S>;
    type TlsConnect = SecuredTo;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<SecuredTo> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(SecuredTo(self.0.clone(), name))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for SecuredTo {
    type Stream = SecuredStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<SecuredStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { self.0.connect(self.1, stream).await.map(SecuredStream) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for SecuredStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for SecuredStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for SecuredStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Creates the provider of a service, or returns the reason for the failure.
pub(crate) fn provider(spec: &SqlSpec) -> Result<Rc<dyn Provider>, String> {
    Ok(Rc::new(Database::new(spec)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_reads_if_nothing_in_it_can_write() {
        for query in [
            "SELECT ref FROM cars WHERE model = $1 AND price >= $2::numeric - 1000 ORDER BY ref DESC",
            "select count(*), coalesce(max(price), 0) from cars where model in ($1, upper($2)) and (built > now())",
            "WITH c AS (SELECT 1 AS ref) SELECT ref FROM c",
            "VALUES (1), (2)",
        ] {
            assert!(is_plain_read(query), "{query}");
        }
        for query in [
            "INSERT INTO cars VALUES ($1) RETURNING ref",
            "WITH c AS (DELETE FROM cars RETURNING ref) SELECT ref FROM c",
            "SELECT ref FROM order_car($1)",
            "SELECT stock.order_car ($1)",
            "SELECT stock.count($1)",
            "SELECT \"Order\"($1)",
            "SELECT nextval('numbers')",
            "SELECT f/**/($1)",
            "SELECT 1 INTO copy",
            "UPDATE cars SET price = $1",
            "",
        ] {
            assert!(!is_plain_read(query), "{query}");
        }
    }
}
