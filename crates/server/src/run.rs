//! Threads, the listener, signals, and how it all ends.

use std::io;
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
use crate::handle::{Peer, handle};
use crate::shared::Shared;
use crate::thread::Thread;

/// Takes lines for the operator.
pub type LogLine = Box<dyn Fn(&str) + Send + Sync>;

/// Serves a project until it is told to stop by SIGTERM or SIGINT, and until requests in progress are answered. `ready` is called with the
/// address once connections are taken.
///
/// # Errors
/// The listener's.
pub fn serve(
    config: ServeConfig,
    root: PathBuf,
    definitions: Definitions,
    log: LogLine,
    ready: impl FnOnce(std::net::SocketAddr),
) -> io::Result<()> {
    let listener = std::net::TcpListener::bind(config.listen())?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = config.threads.unwrap_or(cores).max(1);
    let shared = Arc::new(Shared::new(config, root, definitions, log));
    let (stop, stopped) = watch::channel(false);
    let mut others = Vec::new();
    let mut handles = Vec::new();
    for number in 1..threads {
        let (sender, connections) = mpsc::unbounded_channel();
        others.push(sender);
        let (shared, stopped) = (Arc::clone(&shared), stopped.clone());
        let thread = std::thread::Builder::new().name(format!("serve-{number}"));
        handles.push(thread.spawn(move || {
            on_thread(async move {
                let thread = Thread::new(shared);
                take_connections(&thread, connections, stopped).await;
            })
        })?);
    }
    on_thread(async {
        let thread = Thread::new(Arc::clone(&shared));
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return shared.log(&format!("the listener cannot be used: {error}")),
        };
        ready(address);
        accept(&thread, &listener, &others, &stop, stopped).await;
        drop(others);
    })?;
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
    let connections = LocalSet::new();
    let mut turn = 0usize;
    let work = async {
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
                _ = hangup.recv() => match thread.shared.reload() {
                    Ok(()) => thread.shared.log("definitions were read again"),
                    Err(findings) => thread.shared.log(&format!("the old definitions stay in force:\n{findings}")),
                },
            }
        }
    };
    connections.run_until(work).await;
    thread.shared.log("stopping: no new connections; requests in progress are answered");
    let _ = stop.send(true);
    drain(thread).await;
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
        connection(thread, stream, Peer { address }, stopped).await;
        shared.connections.fetch_sub(1, Ordering::Relaxed);
    });
}

async fn connection(thread: Rc<Thread>, stream: TcpStream, peer: Peer, mut stopped: watch::Receiver<bool>) {
    let peer = Rc::new(peer);
    let limits = &thread.shared.config.limits;
    let service = service_fn({
        let thread = Rc::clone(&thread);
        move |request| handle(Rc::clone(&thread), Rc::clone(&peer), request)
    });
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.idle_seconds))
        .max_buf_size(limits.header_bytes.max(8192));
    let connection = server.serve_connection(TokioIo::new(stream), service);
    let mut connection = core::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
