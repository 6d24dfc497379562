//! Threads, the listener, signals, and how it all ends.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use quayline_gateway::Definitions;
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use crate::ServeConfig;
use crate::body::Body;
use crate::error::ServeError;
use crate::handle::{Peer, handle};
use crate::io::Patient;
use crate::shared::Shared;
use crate::thread::Thread;

/// Takes lines for the operator.
pub type LogLine = Box<dyn Fn(&str) + Send + Sync>;

/// Serves a project until it is told to stop by SIGTERM or SIGINT, and until requests in progress are answered. `ready` is called with the
/// address once connections are taken.
///
/// # Errors
/// A listener's, a journal's, or secrets that are none.
pub fn serve(
    config: ServeConfig,
    root: PathBuf,
    definitions: Definitions,
    log: LogLine,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let listen = |address: SocketAddr| {
        let listener = std::net::TcpListener::bind(address).and_then(|l| l.set_nonblocking(true).map(|()| l));
        listener.map_err(|error| ServeError::Listener(address, error))
    };
    let listener = listen(config.listen())?;
    let address = listener.local_addr().map_err(ServeError::System)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = config.threads.unwrap_or(cores).max(1);
    let admin = config.admin.listen.map(listen).transpose()?;
    let shared = Arc::new(Shared::new(config, root, definitions, log)?);
    let (stop, stopped) = watch::channel(false);
    let mut others = Vec::new();
    let mut handles = Vec::new();
    for number in 1..threads {
        let (sender, connections) = mpsc::unbounded_channel();
        others.push(sender);
        let (shared, stopped) = (Arc::clone(&shared), stopped.clone());
        let thread = std::thread::Builder::new().name(format!("serve-{number}"));
        let thread = thread.spawn(move || {
            on_thread(async move {
                let thread = Thread::new(shared);
                take_connections(&thread, connections, stopped).await;
            })
        });
        handles.push(thread.map_err(ServeError::System)?);
    }
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
        tokio::task::spawn_local(watch_files(Rc::clone(&thread)));
        let issuing = Arc::clone(&shared);
        tokio::task::spawn_local(async move {
            if let Some(issuer) = &issuing.issuer {
                issuer.keep(&issuing).await;
            }
        });
        ready(address);
        accept(&thread, &listener, &others, &stop, stopped).await;
        drop(others);
    })
    .map_err(ServeError::System)?;
    for handle in handles {
        let _ = handle.join();
    }
    Ok(())
}

fn on_thread<F: Future<Output = ()>>(work: F) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, work);
    Ok(())
}

async fn accept(
    thread: &Rc<Thread>,
    listener: &tokio::net::TcpListener,
    others: &[mpsc::UnboundedSender<std::net::TcpStream>],
    stop: &watch::Sender<bool>,
    stopped: watch::Receiver<bool>,
) {
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()))
    else {
        return thread.shared.log("signals cannot be taken");
    };
    let mut turn = 0usize;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if thread.shared.connections.load(Ordering::Relaxed) >= thread.shared.config.limits.connections {
                        continue;
                    }
                    turn = (turn + 1) % (others.len() + 1);
                    if turn == 0 {
                        begin(thread, stream, stopped.clone());
                    } else if let Ok(stream) = stream.into_std() {
                        let _ = others[turn - 1].send(stream);
                    }
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => {
                tokio::task::spawn_local(reload(Arc::clone(&thread.shared), Again { definitions: true, secrets: true }));
            }
        }
    }
    thread.shared.stopping.store(true, Ordering::Relaxed);
    thread.shared.log("stopping: no new connections; requests in progress are answered");
    let _ = stop.send(true);
    drain(thread).await;
}

/// What is read again.
#[derive(Clone, Copy)]
struct Again {
    definitions: bool,
    secrets: bool,
}

/// Reads files again, on a thread that serves nobody.
async fn reload(shared: Arc<Shared>, again: Again) {
    let read = move || {
        if again.definitions {
            match shared.reload() {
                Ok(()) => shared.log("definitions were read again"),
                Err(findings) => shared.log(&format!("the old definitions stay in force:\n{findings}")),
            }
        }
        if again.secrets
            && let Err(why) = shared.reload_secrets()
        {
            shared.log(&format!("the old keys and certificates stay in force: {why}"));
        }
    };
    let _ = tokio::task::spawn_blocking(read).await;
}

/// Looks at the files now and then.
async fn watch_files(thread: Rc<Thread>) {
    let seconds = thread.shared.config.reload_seconds.unwrap_or(2);
    if seconds == 0 {
        return;
    }
    let mut known = thread.shared.first.clone();
    loop {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let now = thread.shared.stamps();
        let again = Again { definitions: now.0 != known.0, secrets: now.1 != known.1 };
        if again.definitions || again.secrets {
            reload(Arc::clone(&thread.shared), again).await;
        }
        known = now;
    }
}

/// Connections that the accepting thread hands over.
async fn take_connections(
    thread: &Rc<Thread>,
    mut connections: mpsc::UnboundedReceiver<std::net::TcpStream>,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            stream = connections.recv() => match stream {
                Some(stream) => if let Ok(stream) = TcpStream::from_std(stream) {
                    begin(thread, stream, stopped.clone());
                },
                None => break,
            },
            _ = stopped.changed() => break,
        }
    }
    drain(thread).await;
}

/// Waits for connections to end, as long as the settings say.
async fn drain(thread: &Rc<Thread>) {
    let limit = Duration::from_secs(thread.shared.config.drain_seconds.unwrap_or(30));
    let ended = async {
        while thread.shared.connections.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(limit, ended).await.is_err() {
        thread.shared.log("requests in progress were cut off: they took longer than drain-seconds");
    }
}

fn begin(thread: &Rc<Thread>, stream: TcpStream, stopped: watch::Receiver<bool>) {
    let Ok(address) = stream.peer_addr() else { return };
    let _ = stream.set_nodelay(true);
    thread.shared.connections.fetch_add(1, Ordering::Relaxed);
    let thread = Rc::clone(thread);
    tokio::task::spawn_local(async move {
        let shared = Arc::clone(&thread.shared);
        connection(thread, stream, address, stopped).await;
        shared.connections.fetch_sub(1, Ordering::Relaxed);
    });
}

async fn connection(thread: Rc<Thread>, stream: TcpStream, address: SocketAddr, stopped: watch::Receiver<bool>) {
    let limits = &thread.shared.config.limits;
    let patience = Duration::from_secs(limits.write_seconds);
    let Some(tls) = thread.shared.tls() else {
        let peer = Peer { address, certificate: None };
        return exchange(&thread, Patient::new(stream, patience), peer, stopped).await;
    };
    // A client that does not shake hands is one that does not send headers.
    let hands = tokio_rustls::TlsAcceptor::from(tls).accept(stream);
    let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_secs(limits.body_seconds), hands).await else { return };
    let certificate =
        stream.get_ref().1.peer_certificates().and_then(|chain| quayline_gateway::common_name(chain.first()?));
    let peer = Peer { address, certificate };
    exchange(&thread, Patient::new(stream, patience), peer, stopped).await;
}

async fn exchange<T>(thread: &Rc<Thread>, stream: T, peer: Peer, mut stopped: watch::Receiver<bool>)
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let peer = Rc::new(peer);
    let limits = &thread.shared.config.limits;
    let service = service_fn({
        let thread = Rc::clone(thread);
        move |request| handle(Rc::clone(&thread), Rc::clone(&peer), request)
    });
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.idle_seconds))
        .max_buf_size(limits.header_bytes.max(8192));
    let connection = server.serve_connection(TokioIo::new(stream), service);
    let mut connection = core::pin::pin!(connection);
    // Not polled by hand: connections that are always busy would then leave no turn to the timers of this thread, and with them to reloads.
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Serves the same bytes for every request on one thread, by the same HTTP stack and settings and nothing else: what an answer costs that
/// needs no gateway. Until SIGTERM.
///
/// # Errors
/// The listener's.
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
