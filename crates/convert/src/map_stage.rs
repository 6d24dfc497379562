//! A map between the source and the targets of a conversion.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use quayline_map::{Coverage, MapPlan};
use quayline_pipeline::World;
use quayline_project::Schema;

use crate::Target;

/// A map that every source document goes through. [`crate::Conversion::target`] is where its first output goes.
pub struct MapStage {
    /// The map.
    pub plan: Arc<MapPlan>,
    /// The schema of each output, in the plan's order.
    pub schemas: Vec<Arc<Schema>>,
    /// Where the outputs behind the first go.
    pub more: Vec<Target>,
    /// What the map asks of the run.
    pub world: Arc<World>,
    /// Where output waits that does not fit into memory while its source document is not at its end; a file there has no name and is gone
    /// when the run ends.
    pub spool_folder: PathBuf,
    /// Where it is told which statement wrote what, a line of JSON a value; such a run has one lane.
    pub trace: Option<Arc<Mutex<Box<dyn Write + Send>>>>,
    /// What ran and what came, counted beside a trace.
    pub coverage: Option<Arc<Mutex<Coverage>>>,
}
