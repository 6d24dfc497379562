//! Connections that wait for work.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::SqlError;
use crate::pipeline::Pipeline;

/// Connections that are kept for later.
const IDLE_MAX: usize = 64;
/// Pipelines whose memory is kept, and the most of each.
const SPARE_MAX: usize = 8;
const SPARE_BYTES_MAX: usize = 4 << 20;

/// Connections to one database. A connection serves one transaction at a time.
#[derive(Debug)]
pub struct Pool {
    endpoint: Endpoint,
    idle: Mutex<Vec<Connection>>,
    /// Buffers of transactions that ended: the next ones need not grow their own.
    spare: Mutex<Vec<Pipeline>>,
}

impl Pool {
    /// Creates a pool without connections.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Arc<Pool> {
        Arc::new(Pool { endpoint, idle: Mutex::default(), spare: Mutex::default() })
    }

    /// The database.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns an idle connection, or opens one.
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

    /// Returns an empty pipeline, which reuses the memory of an earlier one if possible.
    pub(crate) fn pipeline(&self) -> Pipeline {
        self.spare.lock().pop().unwrap_or_default()
    }

    /// Takes the memory of a pipeline back.
    pub(crate) fn take_back(&self, mut pipeline: Pipeline) {
        pipeline.clear();
        let mut spare = self.spare.lock();
        if pipeline.capacity() <= SPARE_BYTES_MAX && spare.len() < SPARE_MAX {
            spare.push(pipeline);
        }
    }
}
