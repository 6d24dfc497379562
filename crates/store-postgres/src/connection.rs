//! Opening of connections.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quayline_postgres::Endpoint;
use quayline_store::StoreError;
use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, Config};

use crate::hold_wish::HoldWish;
use crate::session::{Session, failed};
use crate::state::{State, gone};
use crate::tls::Maker;

/// Settings of every session: the server notices a lost client within half a minute and ends its session.
const ALIVE: &str = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=4 -c jit=off";
/// Session options that make the server plan every statement once, by key. Without them the server would plan again for each array of keys, because a
/// plan for known keys looks cheaper, and the tables change too fast for statistics.
const PLANS: &str = " -c enable_seqscan=off -c enable_bitmapscan=off -c plan_cache_mode=force_generic_plan";
/// Options of the session that locks and claims. After a crash of the server its rows have no use, so its commits need not be durable.
const HOLDING: &str = " -c synchronous_commit=off -c enable_hashjoin=off -c enable_mergejoin=off";

/// Opens a connection whose traffic runs on this thread. `heard` receives the notifications of other processes. `state` is informed when the
/// connection is lost, even while it is idle.
pub(crate) async fn connect(
    database: &Endpoint,
    name: &Arc<str>,
    heard: Option<UnboundedSender<HoldWish>>,
    state: Option<Arc<State>>,
) -> Result<Session, StoreError> {
    let mut config = Config::new();
    config.host(&database.host).port(database.port).dbname(&database.database).user(&database.user);
    let tls = database.tls.client().map_err(|error| StoreError::io(name, "opened", &error))?;
    config.connect_timeout(database.connect_timeout);
    // A machine that is gone sends no end.
    config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(5)).keepalives_retries(4);
    config.application_name("quayline").ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
    config.options(format!("{ALIVE}{PLANS}{}", if heard.is_some() { HOLDING } else { "" }));
    if let Some(password) = &database.password {
        config.password(password);
    }
    // The driver's own limit does not contain TLS and the login.
    let limit = database.connect_timeout;
    let connected = tokio::time::timeout(limit, config.connect(Maker(tls))).await.map_err(|_| StoreError::Io {
        file: name.to_string(),
        action: "opened",
        kind: ErrorKind::TimedOut,
        why: format!("the server did not answer within {} s", limit.as_secs()),
    })?;
    let (client, mut connection) = connected.map_err(|error| failed(name, "opened", &error))?;
    let of = Arc::clone(name);
    tokio::task::spawn_local(async move {
        let ended = loop {
            match std::future::poll_fn(|context| connection.poll_message(context)).await {
                Some(Ok(AsyncMessage::Notification(told))) => {
                    // Nobody listens any more while the engine ends.
                    let _ = heard.as_ref().map(|heard| heard.send(HoldWish::Heard(told.payload().to_owned())));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => break failed(&of, "reached", &error),
                None => break gone(&of),
            }
        };
        if let Some(state) = state.filter(|state| !state.stopping.load(Ordering::SeqCst)) {
            state.poison(ended);
        }
    });
    Ok(Session::new(client, name))
}
