//! Connections that wait for work.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::SqlError;

/// Connections that are kept for later.
const IDLE_MAX: usize = 64;

/// Connections to one database. A connection serves one transaction at a time.
#[derive(Debug)]
pub struct Pool {
    endpoint: Endpoint,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    /// A pool without connections.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Arc<Pool> {
        Arc::new(Pool { endpoint, idle: Mutex::default() })
    }

    /// The database.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// A connection that waits, or a new one.
    ///
    /// # Errors
    /// Those of [`Connection::open`].
    pub fn take(&self) -> Result<Connection, SqlError> {
        let waiting = self.idle.lock().pop();
        waiting.map_or_else(|| Connection::open(&self.endpoint), Ok)
    }

    /// Takes a connection back. One with an open transaction is closed.
    pub fn put(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if connection.is_idle() && idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }

    /// Closes the connections that wait: after one was lost, the others are most likely lost too.
    pub fn clear(&self) {
        self.idle.lock().clear();
    }
}
