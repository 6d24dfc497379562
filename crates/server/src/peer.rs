//! Connections as requests see them.

use std::cell::Cell;

/// The connection a request came over.
pub(crate) struct Peer {
    /// Address of the peer.
    pub(crate) address: std::net::SocketAddr,
    /// Common name of the client's certificate, where it has one that was verified.
    pub(crate) certificate: Option<String>,
    /// True if the connection's handshake resumed a session; taken by the first request, which counts it.
    pub(crate) is_resumed: Cell<Option<bool>>,
}

impl Peer {
    pub(crate) fn new(address: std::net::SocketAddr, certificate: Option<String>) -> Peer {
        Peer { address, certificate, is_resumed: Cell::new(None) }
    }
}
