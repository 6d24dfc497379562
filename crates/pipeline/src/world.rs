//! The world around a map: clock, ids, envelope values, tables.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quayline_core::Value;
pub use quayline_map::{OwnFunction, OwnType};

/// The world around a map.
#[derive(Default)]
pub struct World {
    /// Microseconds since 1970-01-01T00:00:00 in the time zone that the map's dates mean; the same for all documents of a run.
    pub now: i64,
    /// Seed of ids, combined with the number of the document. Runs that must not generate the same ids need different seeds.
    pub seed: u64,
    /// Envelope values: those that maps read as `envelope.name`, and header fields of written interchanges.
    pub envelope: Vec<(String, String)>,
    /// Tables that maps look up.
    pub lookups: Vec<Box<dyn Lookup>>,
    /// Programs that compute functions of maps.
    pub functions: Vec<Box<dyn FunctionSource>>,
    unit: Mutex<Option<UnitWorld>>,
}

/// The world of one unit, for callers that run units of different origin through one lane, such as messages of a queue.
#[derive(Clone, Debug, Default)]
pub struct UnitWorld {
    /// Replaces [`World::now`].
    pub now: i64,
    /// Replaces [`World::seed`].
    pub seed: u64,
    /// Envelope values, found before those of [`World::envelope`].
    pub envelope: Vec<(String, String)>,
}

impl World {
    /// Creates the world for all documents of a run.
    #[must_use]
    pub fn new(now: i64, seed: u64, envelope: Vec<(String, String)>, lookups: Vec<Box<dyn Lookup>>) -> World {
        World { now, seed, envelope, lookups, functions: Vec::new(), unit: Mutex::new(None) }
    }

    /// Sets the world of the units that run next through lanes of this world, or resets it to that of the run. A world that is used this way belongs to
    /// one thread.
    pub fn set_unit(&self, unit: Option<UnitWorld>) {
        *self.lock() = unit;
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<UnitWorld>> {
        // Setting and reading cannot panic half-way.
        self.unit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Implementation of a map function.
pub trait FunctionSource: Send + Sync {
    /// Returns the name of the function in the map.
    fn name(&self) -> &str;

    /// Opens the function for one lane.
    fn open(&self) -> Box<dyn Function>;
}

/// A function of maps in one lane. Its results depend on nothing but the arguments.
pub trait Function: Send {
    /// Calls the function. Arguments and result are texts: `-12.50`, `2026-01-31`. `None` is a result without a value. The call ends within a time
    /// limit.
    ///
    /// # Errors
    /// The reason for the failure, as a phrase without payload.
    fn call(&mut self, of: &OwnFunction, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, String>;
}

/// A table that maps look up.
pub trait Lookup: Send + Sync {
    /// Returns the name of the table in the map.
    fn name(&self) -> &str;

    /// Creates an equal lookup for another lane.
    fn another(&self) -> Box<dyn Lookup>;

    /// Looks up one row: passes each field's value to `row` in declaration order. Returns `Ok(false)` if the row does not exist.
    ///
    /// # Errors
    /// The reason for the failure, as a phrase without payload.
    fn row(&mut self, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String>;
}
