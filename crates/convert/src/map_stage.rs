//! A map between the source and the targets of a conversion.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use quayline_core::Value;
use quayline_map::{Coverage, MapPlan};
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

/// The world around a map.
#[derive(Default)]
pub struct World {
    /// Microseconds since 1970-01-01T00:00:00 in the time zone that the map's dates mean; the same for all documents of a run.
    pub now: i64,
    /// What ids are made of, with the number of the document: two runs that must not make the same ids need two of them.
    pub seed: u64,
    /// Envelope values: what maps ask for as `envelope.name`, and header fields of interchanges that are written.
    pub envelope: Vec<(String, String)>,
    /// Tables that maps look up.
    pub lookups: Vec<Box<dyn Lookup>>,
}

/// A table that maps look up.
pub trait Lookup: Send + Sync {
    /// Its name in the map.
    fn name(&self) -> &str;

    /// Another of the same, for another lane.
    fn another(&self) -> Box<dyn Lookup>;

    /// One row: hands each field's value to `row` in the order of the map's declaration. `Ok(false)`: there is no such row.
    ///
    /// # Errors
    /// Why it cannot be looked up, in words, without payload.
    fn row(&mut self, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String>;
}
