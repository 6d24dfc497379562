//! Settings of a listener.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::auth::Authenticator;

/// Supplier of the settings of TLS handshakes, with newer ones after certificates have changed.
#[derive(Clone)]
pub struct TlsSettings(pub Arc<dyn Fn() -> Arc<rustls::ServerConfig> + Send + Sync>);

impl fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsSettings")
    }
}

/// Settings of a listener.
#[derive(Clone, Debug)]
pub struct ListenerSettings {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Name of the container that clients see.
    pub container_id: String,
    /// TLS from the first byte; none is plain TCP.
    pub tls: Option<TlsSettings>,
    /// Authenticates clients.
    pub authenticator: Arc<dyn Authenticator>,
    /// Threads.
    pub threads: usize,
    /// Bounds.
    pub limits: ListenerLimits,
}

/// Bounds with units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ListenerLimits {
    /// Connections. Default 1,000.
    pub connections: usize,
    /// Messages that a client may send on a link before the first is durable. Default 1,000.
    pub credit: u32,
    /// Bytes of messages of one connection whose commit is not durable. Above this number, Quayline stops reading from the connection, but it
    /// always accepts one message of any size. Default 16 MiB.
    pub commit_bytes: u64,
    /// Bytes of messages sent to one connection and not settled. Above this number, Quayline stops sending to the connection, but it always sends
    /// one message of any size. Default 64 MiB.
    pub unsettled_bytes: u64,
    /// Open transactions of one connection. Default 100.
    pub transactions: usize,
    /// Open transactions of all connections. Default 2,000, and at most a quarter of the units of work that the store permits: flows and the
    /// gateway need the rest.
    pub transactions_all: usize,
    /// Milliseconds that a transaction may be open. Default 600,000; then it is rolled back.
    pub transaction_ms: u64,
    /// Temporary queues of one connection. Default 100.
    pub temporary_queues: usize,
    /// Milliseconds for TLS, SASL and open together. Default 10,000.
    pub handshake_ms: u64,
    /// Milliseconds without a byte after which a connection ends. Default 120,000.
    pub idle_ms: u64,
    /// Milliseconds without progress after which a client that does not read ends. Default 30,000.
    pub write_ms: u64,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        ListenerLimits {
            connections: 1_000,
            credit: 1_000,
            commit_bytes: 16 << 20,
            unsettled_bytes: 64 << 20,
            transactions: 100,
            transactions_all: 2_000,
            transaction_ms: 600_000,
            temporary_queues: 100,
            handshake_ms: 10_000,
            idle_ms: 120_000,
            write_ms: 30_000,
        }
    }
}
