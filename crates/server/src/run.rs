//! Threads, the listener, signals, and how it all ends.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use quayline_core::Fault;
use quayline_gateway::Definitions;
use quayline_workload::Kind;
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::ServeConfig;
use crate::beside::Beside;
use crate::body::Body;
use crate::connection_fault::ConnectionFault;
use crate::connections::{Full, Place};
use crate::error::ServeError;
use crate::guard::{caught, report_once};
use crate::handle::handle;
use crate::io::Patient;
use crate::issuer::KeysTo;
use crate::journal::Journal;
use crate::local_runtime::on_thread;
use crate::operator_log::{LogLine, OperatorLog};
use crate::otlp::Sources;
use crate::peer::Peer;
use crate::shared::{Reloaded, Shared};
use crate::thread::Thread;

/// Serves a project until SIGTERM or SIGINT arrives and requests in progress are answered. `ready` is called with the address once
/// connections are accepted.
///
/// # Errors
/// An error of a listener or a journal, or invalid secrets.
pub fn serve(
    config: ServeConfig,
    root: PathBuf,
    definitions: Definitions,
    log: LogLine,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    serve_with(config, root, definitions, Beside::default(), log, ready)
}

/// Serves a project together with other parts of the program and a store.
///
/// # Errors
/// Those of [`serve`].
pub fn serve_with(
    config: ServeConfig,
    root: PathBuf,
    definitions: Definitions,
    beside: Beside,
    log: LogLine,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let listen = |address: SocketAddr| {
        let listener = std::net::TcpListener::bind(address).and_then(|l| l.set_nonblocking(true).map(|()| l));
        listener.map_err(|error| ServeError::Listener(address, error))
    };
    // Dropped last, because all other parts may log lines when they end.
    let operator_log = OperatorLog::start(log).map_err(ServeError::System)?;
    let log = operator_log.sink();
    crate::doubts(&config, &definitions).iter().for_each(|doubt| log(&doubt.to_string()));
    let listener = listen(config.listen())?;
    let address = listener.local_addr().map_err(ServeError::System)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = config.threads.unwrap_or(cores).max(1);
    let admin = config.admin.listen.map(listen).transpose()?;
    let probes = config.admin.probes.map(listen).transpose()?;
    let shared = Arc::new(Shared::new(config, root, definitions, beside, log)?);
    report_once(&shared);
    let (stop, stopped) = watch::channel(false);
    let mut others = Vec::new();
    let mut handles = Vec::new();
    for number in 1..threads {
        let (sender, connections) = mpsc::unbounded_channel();
        others.push(sender);
        let (shared, stopped) = (Arc::clone(&shared), stopped.clone());
        let thread = std::thread::Builder::new().name(format!("serve-{number}"));
        let thread = thread.spawn(move || {
            let _working = shared.workload.as_ref().map(|workload| workload.join(Kind::Api, None));
            on_thread(async move {
                let thread = Thread::new(shared);
                take_connections(&thread, connections, stopped).await;
            })
        });
        handles.push(thread.map_err(ServeError::System)?);
    }
    let collecting = crate::collect::start(&shared);
    let working = shared.workload.as_ref().map(|workload| workload.join(Kind::Api, None));
    on_thread(async {
        let thread = Thread::new(Arc::clone(&shared));
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return shared.log(&format!("the listener cannot be used: {error}")),
        };
        if let Some(admin) = admin {
            match tokio::net::TcpListener::from_std(admin) {
                Ok(listener) => {
                    tokio::task::spawn_local(crate::admin::serve(Rc::clone(&thread), listener));
                }
                Err(error) => return shared.log(&format!("the admin listener cannot be used: {error}")),
            }
        }
        if let Some(probes) = probes {
            match tokio::net::TcpListener::from_std(probes) {
                Ok(listener) => {
                    tokio::task::spawn_local(crate::admin::serve_probes(Rc::clone(&thread), listener));
                }
                Err(error) => return shared.log(&format!("the listener for probes cannot be used: {error}")),
            }
        }
        tokio::task::spawn_local(lasting(Rc::clone(&thread), "the look at changed files", watch_files));
        tokio::task::spawn_local(lasting(Rc::clone(&thread), "the look at the issuer's keys", |thread| async move {
            if let Some(issuer) = &thread.shared.issuer {
                let shared = &thread.shared;
                let (set, log) = (|keys| shared.set_token_keys(keys), |line: &str| shared.log(line));
                issuer.keep(&KeysTo { set: &set, log: &log }).await;
            }
        }));
        tokio::task::spawn_local(lasting(Rc::clone(&thread), "the export of telemetry", |thread| async move {
            if let Some(otlp) = &thread.shared.otlp {
                let log = |line: &str| thread.shared.log(line);
                otlp.keep(&sources(&thread.shared, &log)).await;
            }
        }));
        if thread.shared.config.queues.is_some() {
            let what = "the look at claims whose time is over";
            tokio::task::spawn_local(lasting(Rc::clone(&thread), what, crate::queues::end_claims));
        }
        ready(address);
        accept(&thread, listener, &others, &stop, stopped).await;
        drop(others);
    })
    .map_err(ServeError::System)?;
    for handle in handles {
        let _ = handle.join();
    }
    if let Some(otlp) = &shared.otlp {
        let log = |line: &str| shared.log(line);
        on_thread(otlp.flush(&sources(&shared, &log))).map_err(ServeError::System)?;
    }
    drop(working);
    drop(collecting);
    // Nobody can settle them any more, and the store may close after this.
    shared.claims.give_all_back();
    // A task that waits for unresponsive files may keep the shared state alive after this.
    shared.audit.iter().chain(&shared.access_log).for_each(Journal::close);
    Ok(())
}

/// Returns the sources of the telemetry exporter.
fn sources<'s>(shared: &'s Shared, log: &'s dyn Fn(&str)) -> Sources<'s> {
    let Shared { metrics, connections, stopping, .. } = shared;
    Sources { metrics, connections, stopping, log }
}

/// Runs a task that must not end while the server runs: after a panic it begins again.
async fn lasting<F: Future<Output = ()>>(thread: Rc<Thread>, what: &str, task: impl Fn(Rc<Thread>) -> F) {
    while caught(task(Rc::clone(&thread))).await.is_err() {
        thread.shared.log(&format!("{what} ended by a bug of ours and begins again"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// A connection with its place.
pub(crate) type Arrived<S> = (S, SocketAddr, Place);

async fn accept(
    thread: &Rc<Thread>,
    listener: tokio::net::TcpListener,
    others: &[mpsc::UnboundedSender<Arrived<std::net::TcpStream>>],
    stop: &watch::Sender<bool>,
    stopped: watch::Receiver<bool>,
) {
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()))
    else {
        return thread.shared.log("signals cannot be taken");
    };
    let is_stopped = thread.shared.early.as_ref().is_some_and(|early| early.hand_over());
    let mut turn = 0usize;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => {
                    let place = match thread.shared.connections.enter(address.ip()) {
                        Ok(place) => place,
                        Err(full) => {
                            refuse(thread, full);
                            continue;
                        }
                    };
                    thread.shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
                    turn = (turn + 1) % (others.len() + 1);
                    if turn == 0 {
                        begin(thread, (stream, address, place), stopped.clone());
                    } else if let Ok(stream) = stream.into_std()
                        && let Err(back) = others[turn - 1].send((stream, address, place))
                    {
                        // That thread has ended; this one serves in its place.
                        let (stream, address, place) = back.0;
                        if let Ok(stream) = TcpStream::from_std(stream) {
                            begin(thread, (stream, address, place), stopped.clone());
                        }
                    }
                }
                Err(error) => {
                    not_accepted(thread, &error);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            },
            () = core::future::ready(()), if is_stopped => break,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => {
                let shared = Arc::clone(&thread.shared);
                tokio::task::spawn_local(async move { reload(shared, Again { definitions: true, secrets: true }).await });
            }
        }
    }
    // From now on, the server refuses new connections at once. The clients can then try another server.
    drop(listener);
    thread.shared.stopping.store(true, Ordering::Relaxed);
    thread.shared.log("stopping: no new connections; requests in progress are answered");
    let _ = stop.send(true);
    let began = Instant::now();
    let hurry = async {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if began.elapsed() >= SAME_SIGNAL {
                return;
            }
        }
    };
    tokio::select! {
        () = drain(thread) => {}
        () = hurry => {
            thread.shared.hurried.store(true, Ordering::Relaxed);
            thread.shared.log("requests in progress were cut off: a second signal came");
        }
    }
}

/// Time within which several signals count as one. `timeout` and shells send a signal to a process and to its group.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// Refuses a connection because of a limit.
fn refuse(thread: &Thread, full: Full) {
    let shared = &thread.shared;
    let (index, seldom, what) = match full {
        Full::All => (0, &shared.seldom.full, "there are as many as `limits.connections` or the open files allow"),
        Full::Address => {
            (1, &shared.seldom.full_address, "one address has as many as `limits.connections-per-address` allows")
        }
    };
    shared.metrics.connections_refused[index].fetch_add(1, Ordering::Relaxed);
    if full == Full::All {
        shared.connections.shed();
    }
    if let Some(count) = seldom.due() {
        shared.log(&format!("connections refused since the last such line: {count}; {what}"));
    }
}

/// Handles a failure to accept a connection, usually for lack of file descriptors.
fn not_accepted(thread: &Thread, error: &io::Error) {
    let shared = &thread.shared;
    shared.metrics.accept_errors.fetch_add(1, Ordering::Relaxed);
    shared.connections.shed();
    if let Some(count) = shared.seldom.accept.due() {
        shared.log(&format!(
            "connections not accepted since the last such line: {count}: {error}; idle connections end early"
        ));
    }
}

/// Files to reload.
#[derive(Clone, Copy)]
struct Again {
    definitions: bool,
    secrets: bool,
}

/// Reloads files on a thread that serves no requests. Returns the outcomes for definitions and for secrets.
async fn reload(shared: Arc<Shared>, again: Again) -> [Reloaded; 2] {
    let reading = Arc::clone(&shared);
    let read = move || {
        let mut ended = [Reloaded::Done; 2];
        if again.definitions {
            let before = reading.reload_faults();
            match reading.reload() {
                Ok(()) => reading.log("definitions were read again"),
                Err(findings) => {
                    let unread = findings.0.iter().any(|finding| finding.fault == Fault::Environment);
                    ended[0] = if unread { Reloaded::Unread } else { Reloaded::Refused };
                    // What is tried again every few seconds is said once.
                    if !unread || reading.reload_faults() != before {
                        reading.log(&format!("the old definitions stay in force:\n{findings}"));
                    }
                }
            }
        }
        if again.secrets
            && let Err(why) = reading.reload_secrets()
        {
            ended[1] = Reloaded::Unread;
            if reading.reload_failed(1, why.clone()) {
                reading.log(&format!("the old keys and certificates stay in force: {why}"));
            }
        }
        ended
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| {
        shared.reload_failed(0, "a bug in Quayline ended the reload; the log has its place");
        [Reloaded::Refused; 2]
    })
}

/// Looks at the files now and then.
async fn watch_files(thread: Rc<Thread>) {
    let seconds = thread.shared.config.reload_seconds.unwrap_or(2);
    if seconds == 0 {
        return;
    }
    let mut known = thread.shared.first.clone();
    // What could not be read is tried again, also when it looks as before: a folder that was away has come back.
    let mut unread = [false; 2];
    loop {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        // Runs on a thread that serves no requests, because it may wait for files on a network.
        let (shared, before) = (Arc::clone(&thread.shared), known.settings.clone());
        let look = tokio::task::spawn_blocking(move || {
            let now = shared.stamps();
            if now.settings != before {
                shared.settings_changed();
            }
            now
        });
        let Ok(now) = look.await else { continue };
        known.settings.clone_from(&now.settings);
        let again = Again {
            definitions: unread[0] || now.definitions != known.definitions || now.refused != known.refused,
            secrets: unread[1] || now.secrets != known.secrets,
        };
        if !again.definitions && !again.secrets {
            continue;
        }
        let ended = reload(Arc::clone(&thread.shared), again).await;
        unread = ended.map(|ended| ended == Reloaded::Unread);
        let [definitions, secrets] = ended;
        if definitions == Reloaded::Done && again.definitions {
            // Other services may be made of other files. A change of the folders since `now` still counts.
            let shared = Arc::clone(&thread.shared);
            let Ok(then) = tokio::task::spawn_blocking(move || shared.stamps()).await else { continue };
            known.definitions = (now.definitions.0, then.definitions.1);
            known.refused = then.refused;
        } else if definitions == Reloaded::Refused && again.definitions {
            // Files that only the refused definitions name are watched too. A change of the others since `now` still counts.
            let shared = Arc::clone(&thread.shared);
            let Ok(then) = tokio::task::spawn_blocking(move || shared.stamps()).await else { continue };
            known.definitions = now.definitions;
            known.refused = then.refused;
        } else if definitions != Reloaded::Unread {
            known.definitions = now.definitions;
            known.refused = now.refused;
        }
        if secrets != Reloaded::Unread {
            known.secrets = now.secrets;
        }
    }
}

/// Connections that the accepting thread hands over.
pub(crate) async fn take_connections(
    thread: &Rc<Thread>,
    mut connections: mpsc::UnboundedReceiver<Arrived<std::net::TcpStream>>,
    mut stopped: watch::Receiver<bool>,
) {
    // Each connection learns of the stop itself, also one that begins after it.
    let unseen = stopped.clone();
    let begin = |(stream, address, place): Arrived<std::net::TcpStream>| {
        if let Ok(stream) = TcpStream::from_std(stream) {
            begin(thread, (stream, address, place), unseen.clone());
        }
    };
    loop {
        tokio::select! {
            stream = connections.recv() => match stream {
                Some(arrived) => begin(arrived),
                None => break,
            },
            _ = stopped.changed() => break,
        }
    }
    // A connection that was handed over just before the stop has a place, for which the drain would wait.
    connections.close();
    while let Ok(arrived) = connections.try_recv() {
        begin(arrived);
    }
    drain(thread).await;
}

/// Waits for connections to end, as long as the settings say.
async fn drain(thread: &Rc<Thread>) {
    let limit = thread.shared.config.drain();
    let ended = async {
        while thread.shared.connections.open() > 0 && !thread.shared.hurried.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(limit, ended).await.is_err() {
        thread.shared.log("requests in progress were cut off: they took longer than drain-seconds");
    }
}

fn begin(thread: &Rc<Thread>, (stream, address, place): Arrived<TcpStream>, stopped: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let thread = Rc::clone(thread);
    tokio::task::spawn_local(async move {
        // Given back however the connection ends.
        let _place = place;
        let _ = caught(connection(thread, stream, address, stopped)).await;
    });
}

/// Activity of a connection.
#[derive(Debug)]
struct Activity {
    /// Requests whose answer is not there yet.
    running: Cell<u32>,
    answered: Cell<u64>,
    since: Cell<Instant>,
}

/// A request in progress, until it is answered or dropped.
struct Running(Rc<Activity>);

impl Running {
    fn begin(activity: &Rc<Activity>) -> Running {
        activity.running.set(activity.running.get() + 1);
        Running(Rc::clone(activity))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get().saturating_sub(1));
        self.0.answered.set(self.0.answered.get() + 1);
        self.0.since.set(Instant::now());
    }
}

/// Time for which a connection may be idle when other connections need its place.
const IDLE_UNDER_PRESSURE: Duration = Duration::from_secs(1);

async fn connection(thread: Rc<Thread>, stream: TcpStream, address: SocketAddr, mut stopped: watch::Receiver<bool>) {
    let limits = &thread.shared.config.limits;
    let Some(tls) = thread.shared.tls() else {
        let peer = Peer::new(address, None);
        return exchange(&thread, stream, peer, stopped).await;
    };
    // A client that does not shake hands is one that does not send headers.
    let hands = tokio_rustls::TlsAcceptor::from(tls).accept(stream);
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(Duration::from_secs(limits.body_seconds), hands) => shaken,
        // No request is in progress here.
        _ = stopped.changed() => return,
    };
    let stream = match shaken {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return thread.shared.handshake_fault(address.ip(), Some(&error)),
        Err(_) => return thread.shared.handshake_fault(address.ip(), None),
    };
    let resumed = stream.get_ref().1.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
    thread.shared.metrics.handshakes[usize::from(resumed)].fetch_add(1, Ordering::Relaxed);
    let certificate =
        stream.get_ref().1.peer_certificates().and_then(|chain| quayline_gateway::common_name(chain.first()?));
    let peer = Peer::new(address, certificate);
    peer.is_resumed.set(Some(resumed));
    exchange(&thread, stream, peer, stopped).await;
}

pub(crate) async fn exchange<T>(thread: &Rc<Thread>, stream: T, peer: Peer, mut stopped: watch::Receiver<bool>)
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let from = peer.address.ip();
    let peer = Rc::new(peer);
    let limits = &thread.shared.config.limits;
    let activity =
        Rc::new(Activity { running: Cell::new(0), answered: Cell::new(0), since: Cell::new(Instant::now()) });
    let stream = Patient::new(stream, Duration::from_secs(limits.write_seconds));
    let (writes, early) = (stream.waits(), stream.early());
    let service = service_fn({
        let (thread, activity) = (Rc::clone(thread), Rc::clone(&activity));
        move |request: hyper::Request<hyper::body::Incoming>| {
            let running = Running::begin(&activity);
            let (early, has_body) = (Rc::clone(&early), !hyper::body::Body::is_end_stream(request.body()));
            let answered = handle(Rc::clone(&thread), Rc::clone(&peer), request);
            async move {
                let _running = running;
                let answered = answered.await;
                // A request that succeeds is read to its end.
                early.set(has_body && answered.as_ref().is_ok_and(|answer| !answer.status().is_success()));
                answered
            }
        }
    });
    let mut pressure = thread.shared.connections.pressure();
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.idle_seconds))
        .max_buf_size(limits.header_bytes.max(8192));
    let connection = server.serve_connection(TokioIo::new(stream), service);
    let mut connection = core::pin::pin!(connection);
    // Not polled by hand: connections that are always busy would then leave no turn to the timers of this thread, and with them to reloads.
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    let why = error.to_string();
                    thread.shared.connection_fault(ConnectionFault::of(&error), from, &why);
                }
                return;
            }
            _ = stopped.changed() => break,
            _ = pressure.changed() => {
                let idle = activity.running.get() == 0 && activity.since.get().elapsed() >= IDLE_UNDER_PRESSURE;
                if idle {
                    thread.shared.metrics.connections_shed.fetch_add(1, Ordering::Relaxed);
                    if activity.answered.get() == 0 {
                        return;
                    }
                    // An answer may still be on its way to a slow reader.
                    break;
                }
            }
        }
    }
    connection.as_mut().graceful_shutdown();
    // A request without complete headers does not delay the stop of the server.
    let mut quiet = 0;
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = tokio::time::sleep(QUIET_LOOK) => {}
        }
        let is_quiet = activity.running.get() == 0 && !writes.get();
        quiet = if is_quiet { quiet + 1 } else { 0 };
        if quiet >= QUIET_LOOKS {
            return;
        }
    }
}

/// Number of checks of a closing connection. After this many without a request in progress or a waiting response, the server closes the connection.
const QUIET_LOOKS: u32 = 4;
/// Time between two checks.
const QUIET_LOOK: Duration = Duration::from_millis(250);

/// Serves the same bytes for every request on one thread with the same HTTP stack and settings, to measure the cost of an answer without the
/// gateway. Runs until SIGTERM.
///
/// # Errors
/// An error of the listener.
pub fn serve_fixed(
    listen: SocketAddr,
    bytes: Vec<u8>,
    media_type: &'static str,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let listener = std::net::TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let bytes = bytes::Bytes::from(bytes);
    on_thread(async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
        ready(address);
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(_) => continue,
                },
                _ = terminate.recv() => return,
            };
            let _ = stream.set_nodelay(true);
            let bytes = bytes.clone();
            tokio::task::spawn_local(async move {
                let service = service_fn(move |_: hyper::Request<hyper::body::Incoming>| {
                    let mut response = hyper::Response::new(Body::shared(bytes.clone()));
                    response
                        .headers_mut()
                        .insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(media_type));
                    async move { Ok::<_, core::convert::Infallible>(response) }
                });
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(75)).max_buf_size(16 << 10);
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}
