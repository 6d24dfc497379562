//! What all server threads share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use quayline_core::Findings;
use quayline_gateway::Definitions;

use crate::ServeConfig;

/// Settings, the current definitions, counters.
pub(crate) struct Shared {
    pub(crate) config: ServeConfig,
    pub(crate) root: PathBuf,
    definitions: Mutex<Arc<Definitions>>,
    /// Counts reloads; threads compare it with theirs for every request.
    pub(crate) generation: AtomicU64,
    pub(crate) connections: AtomicUsize,
    log: Box<dyn Fn(&str) + Send + Sync>,
}

impl Shared {
    pub(crate) fn new(
        config: ServeConfig,
        root: PathBuf,
        definitions: Definitions,
        log: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Self {
        Shared {
            config,
            root,
            definitions: Mutex::new(Arc::new(definitions)),
            generation: AtomicU64::new(1),
            connections: AtomicUsize::new(0),
            log,
        }
    }

    pub(crate) fn definitions(&self) -> (u64, Arc<Definitions>) {
        let definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        (self.generation.load(Ordering::Acquire), Arc::clone(&definitions))
    }

    /// Reads the definitions again. What is wrong leaves the old ones in force.
    pub(crate) fn reload(&self) -> Result<(), Findings> {
        let new = Definitions::load(&self.root)?;
        let mut definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        *definitions = Arc::new(new);
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// A line for the operator.
    pub(crate) fn log(&self, line: &str) {
        (self.log)(line);
    }
}
