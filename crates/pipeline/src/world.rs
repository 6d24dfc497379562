//! The world around a map: clock, ids, envelope values, tables.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quayline_core::Value;
pub use quayline_map::{OwnFunction, OwnType};

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
    /// A world for all documents of a run.
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

/// What computes a function of maps.
pub trait FunctionSource: Send + Sync {
    /// Its name in the map.
    fn name(&self) -> &str;

    /// The function for one lane.
    fn open(&self) -> Box<dyn Function>;
}

/// A function of maps in one lane. Its results depend on nothing but the arguments.
pub trait Function: Send {
    /// One call, with arguments and result as text: `-12.50`, `2026-01-31`. `None` is a result without a value. The call ends within a limit of time.
    ///
    /// # Errors
    /// Why there is no result, in words, without payload.
    fn call(&mut self, of: &OwnFunction, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, String>;
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
