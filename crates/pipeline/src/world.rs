//! The world around a map: clock, ids, envelope values, tables.

use quayline_core::Value;

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
