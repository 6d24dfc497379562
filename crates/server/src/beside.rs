//! Parts of a server in addition to its definitions.

use std::sync::Arc;

use quayline_store::Store;
use quayline_workload::Workload;

use crate::EarlySignals;
use crate::admin_part::AdminPart;

/// Parts of a server in addition to its definitions.
#[derive(Clone, Default)]
pub struct Beside {
    /// Other parts of the program on the listener for operators.
    pub parts: Vec<Arc<dyn AdminPart>>,
    /// Record files and queues; without it, providers that need them answer 503.
    pub store: Option<Store>,
    /// Classes of work; without it, nothing is collected or governed.
    pub workload: Option<Arc<Workload>>,
    /// Signals since the start of the other parts.
    pub early: Option<Arc<EarlySignals>>,
}
