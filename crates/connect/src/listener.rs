//! Threads, the socket, TLS, and how it all ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quayline_store::{Store, StoreError};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use crate::client::Shared;
use crate::connection;
use crate::facts::{Counters, ListenerFacts, count};
use crate::settings::ListenerSettings;
use crate::temporary;

/// Error of starting a listener.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be used.
    #[error("cannot listen on {address}: {why}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The system's words.
        why: String,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread or its runtime could not be started.
    #[error("no thread can be started: {0}")]
    Thread(String),
}

/// A listener that runs. Dropping it stops it.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Listener {
    /// Starts serving the queues of a store. Temporary queues from an earlier run are deleted first.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn start(store: Store, settings: ListenerSettings) -> Result<Listener, ListenError> {
        temporary::sweep(&store)?;
        let wrong = |error: &io::Error| ListenError::Address { address: settings.listen, why: error.to_string() };
        let socket = std::net::TcpListener::bind(settings.listen).map_err(|error| wrong(&error))?;
        socket.set_nonblocking(true).map_err(|error| wrong(&error))?;
        let address = socket.local_addr().map_err(|error| wrong(&error))?;
        let count = settings.threads.max(1);
        let shared = Arc::new(Shared { store, settings, counters: Counters::default(), transactions: Arc::default() });
        let (stop, stopped) = watch::channel(false);
        let mut senders = Vec::new();
        let mut threads = Vec::new();
        for number in 0..count {
            let (sender, arrived) = mpsc::unbounded_channel();
            senders.push(sender);
            let (shared, stopped) = (Arc::clone(&shared), stopped.clone());
            threads.push(on_thread(&format!("amqp-{number}"), serve_thread(shared, arrived, stopped))?);
        }
        let accepting = accept(Arc::clone(&shared), socket, senders, stopped);
        threads.push(on_thread("amqp-accept", accepting)?);
        Ok(Listener { address, shared, stop, threads })
    }

    /// Address and port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a function that reads the counts. The function does not keep the listener open.
    pub fn counts(&self) -> impl Fn() -> ListenerFacts + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.counters.facts()
    }

    /// Counts.
    #[must_use]
    pub fn facts(&self) -> ListenerFacts {
        self.shared.counters.facts()
    }

    /// Closes all connections: commits and acknowledges received messages, returns unsettled messages to their queues, and waits
    /// for the threads.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.stop.send(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.end();
    }
}

fn on_thread(name: &str, work: impl Future<Output = ()> + Send + 'static) -> Result<JoinHandle<()>, ListenError> {
    let wrong = |error: io::Error| ListenError::Thread(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(wrong)?;
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(move || LocalSet::new().block_on(&runtime, work)).map_err(wrong)
}

async fn accept(
    shared: Arc<Shared>,
    socket: std::net::TcpListener,
    senders: Vec<mpsc::UnboundedSender<std::net::TcpStream>>,
    mut stopped: watch::Receiver<bool>,
) {
    let Ok(socket) = tokio::net::TcpListener::from_std(socket) else { return };
    let max = shared.settings.limits.connections as u64;
    let mut turn = 0;
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            _ = stopped.changed() => return,
        };
        let Ok((stream, _)) = accepted else {
            // Usually there are no descriptors left.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let counters = &shared.counters;
        if counters.connections.load(Ordering::Relaxed) >= max {
            count(&counters.refused);
            continue;
        }
        count(&counters.accepted);
        count(&counters.connections);
        turn = (turn + 1) % senders.len();
        if stream.into_std().is_ok_and(|stream| senders[turn].send(stream).is_err()) {
            counters.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Serves the connections of one thread, until all have ended after the stop.
async fn serve_thread(
    shared: Arc<Shared>,
    mut arrived: mpsc::UnboundedReceiver<std::net::TcpStream>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            stream = arrived.recv() => match stream {
                Some(stream) => {
                    let (shared, stopped) = (Arc::clone(&shared), stopped.clone());
                    connections.spawn_local(async move {
                        let place = Place(Arc::clone(&shared));
                        begin(shared, stream, stopped).await;
                        drop(place);
                    });
                }
                None => break,
            },
            Some(_) = connections.join_next() => {}
            _ = stopped.changed() => break,
        }
    }
    while connections.join_next().await.is_some() {}
}

/// A place among the connections, which is released however the connection ends.
struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.counters.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn begin(shared: Arc<Shared>, stream: std::net::TcpStream, stopped: watch::Receiver<bool>) {
    let began = Instant::now();
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let _ = stream.set_nodelay(true);
    let Some(tls) = &shared.settings.tls else {
        return connection::serve(shared, stream, false, None, began, stopped).await;
    };
    let handshake = tokio_rustls::TlsAcceptor::from((tls.0)()).accept(stream);
    let limit = Duration::from_millis(shared.settings.limits.handshake_ms);
    let Ok(Ok(stream)) = tokio::time::timeout(limit, handshake).await else {
        count(&shared.counters.refused);
        return;
    };
    let is_resumed = stream.get_ref().1.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
    count(&shared.counters.handshakes[usize::from(is_resumed)]);
    let chain = stream.get_ref().1.peer_certificates();
    let certificate = chain.and_then(|chain| chain.first()).map(|first| first.as_ref().to_vec());
    connection::serve(shared, stream, true, certificate, began, stopped).await;
}
