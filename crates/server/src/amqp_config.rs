//! `[serve.amqp]`.

use std::net::SocketAddr;

use serde::Deserialize;

/// The listener for AMQP 1.0.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AmqpConfig {
    /// Address and port; 127.0.0.1:5672 by default, 5671 with `[serve.tls]`.
    pub listen: Option<SocketAddr>,
    /// Threads. Default 2.
    pub threads: Option<usize>,
    /// Roles of which a client needs one, so that a client without a name cannot connect. By default, every client that authenticates may connect.
    pub roles: Option<Vec<String>>,
    /// Connections. Default 1,000.
    pub connections: Option<usize>,
    /// Messages that a client may send on a link before the first is durable. Default 1,000.
    pub credit: Option<u32>,
    /// Seconds without a byte after which a connection ends. Default 120.
    pub idle_seconds: Option<u64>,
    /// Seconds that a transaction may be open. Default 600.
    pub transaction_seconds: Option<u64>,
}
