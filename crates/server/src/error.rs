//! Errors of starting a server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Error of starting a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("{0} cannot be listened on: {kind}", kind = .1.kind())]
    Listener(SocketAddr, #[source] io::Error),
    /// The audit or the access log cannot be opened.
    #[error("{path} cannot be written: {kind}", path = .0.display(), kind = .1.kind())]
    Journal(PathBuf, #[source] io::Error),
    /// Invalid keys or certificates.
    #[error("{0}")]
    Settings(String),
    /// The system gives no thread or event queue.
    #[error("the system gives no thread or event queue: {0}")]
    System(#[source] io::Error),
}
