//! The world around a map that runs in a lane.

use std::sync::Arc;

use quayline_core::{RecordNumber, Value};
use quayline_map::Host;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::world::{Lookup, World};

/// Clock, ids, envelope values and lookups, the same for the same document in whatever lane it is mapped.
pub(crate) struct RunHost {
    world: Arc<World>,
    lookups: Vec<Box<dyn Lookup>>,
    document: u64,
    ids: u64,
    envelope: Vec<(String, String)>,
}

impl RunHost {
    pub(crate) fn new(world: &Arc<World>) -> Self {
        let lookups = world.lookups.iter().map(|lookup| lookup.another()).collect();
        RunHost { world: Arc::clone(world), lookups, document: 0, ids: 0, envelope: Vec::new() }
    }

    /// The source document of this number is mapped next.
    pub(crate) fn number(&mut self, number: RecordNumber) {
        self.document = number.0;
        self.ids = 0;
        self.envelope.clear();
    }

    /// What the document has set.
    pub(crate) fn take_envelope(&mut self) -> Vec<(String, String)> {
        core::mem::take(&mut self.envelope)
    }

    pub(crate) fn forget(&mut self) {
        self.envelope.clear();
    }
}

impl Host for RunHost {
    fn now(&mut self) -> i64 {
        self.world.lock().as_ref().map_or(self.world.now, |unit| unit.now)
    }

    fn id(&mut self) -> [u8; 16] {
        self.ids += 1;
        let mut of = [0u8; 16];
        of[..8].copy_from_slice(&self.document.to_le_bytes());
        of[8..].copy_from_slice(&self.ids.to_le_bytes());
        let seed = self.world.lock().as_ref().map_or(self.world.seed, |unit| unit.seed);
        xxh3_128_with_seed(&of, seed).to_be_bytes()
    }

    fn envelope(&mut self, name: &str) -> Option<String> {
        let of = |values: &[(String, String)]| {
            values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let of_unit = || self.world.lock().as_ref().and_then(|unit| of(&unit.envelope));
        of(&self.envelope).or_else(of_unit).or_else(|| of(&self.world.envelope))
    }

    fn set_envelope(&mut self, name: &str, value: &str) {
        self.envelope.retain(|(known, _)| known != name);
        self.envelope.push((name.to_owned(), value.to_owned()));
    }

    fn lookup(&mut self, name: &str, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String> {
        match self.lookups.iter_mut().find(|lookup| lookup.name() == name) {
            Some(lookup) => lookup.row(keys, row),
            None => Err(format!("no table `{name}` is connected")),
        }
    }
}
