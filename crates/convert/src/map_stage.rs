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
    /// Targets of the second and further outputs.
    pub more: Vec<Target>,
    /// External values and functions that the map uses.
    pub world: Arc<World>,
    /// Folder for output of unfinished source documents that does not fit in memory. The files in it have no name and disappear when the run
    /// ends.
    pub spool_folder: PathBuf,
    /// Writer of the trace: one line of JSON for each value, with the statement that wrote it and its source. A traced run has one lane.
    pub trace: Option<Arc<Mutex<Box<dyn Write + Send>>>>,
    /// Counts of executed statements and of source elements that occurred, collected with a trace.
    pub coverage: Option<Arc<Mutex<Coverage>>>,
}
