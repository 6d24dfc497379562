//! The world around a map that runs in a lane.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use quayline_core::{RecordNumber, Value};
use quayline_map::{Host, OwnFunction};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::world::{Function, Lookup, World};

/// Envelope values that a source document has set so far. The outputs that fill headers look at them.
#[derive(Clone, Default)]
pub(crate) struct EnvelopeSet(Arc<Mutex<Vec<(String, String)>>>);

impl EnvelopeSet {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<(String, String)>) -> T) -> T {
        // Only one lane has the lock, and this code never panics while it holds it.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn values(&self) -> Vec<(String, String)> {
        self.with(|values| values.clone())
    }
}

/// Clock, ids, envelope values and lookups. They are the same for a document in every lane.
pub(crate) struct RunHost {
    world: Arc<World>,
    lookups: Vec<Box<dyn Lookup>>,
    functions: Vec<(String, Box<dyn Function>)>,
    known: Results,
    document: u64,
    ids: u64,
    envelope: EnvelopeSet,
}

impl RunHost {
    pub(crate) fn new(world: &Arc<World>) -> Self {
        let lookups = world.lookups.iter().map(|lookup| lookup.another()).collect();
        let functions = world.functions.iter().map(|of| (of.name().to_owned(), of.open())).collect();
        let known = Results::default();
        RunHost {
            world: Arc::clone(world),
            lookups,
            functions,
            known,
            document: 0,
            ids: 0,
            envelope: EnvelopeSet::default(),
        }
    }

    /// Sets the number of the next source document.
    pub(crate) fn number(&mut self, number: RecordNumber) {
        self.document = number.0;
        self.ids = 0;
        self.forget();
    }

    /// Takes the envelope values that the document has set.
    pub(crate) fn take_envelope(&mut self) -> Vec<(String, String)> {
        self.envelope.with(core::mem::take)
    }

    /// Returns the shared envelope values of the document, for outputs that read them.
    pub(crate) fn envelope_set(&self) -> EnvelopeSet {
        self.envelope.clone()
    }

    /// Returns the time of the unit, if the caller has set one.
    pub(crate) fn unit_time(&self) -> Option<i64> {
        self.world.lock().as_ref().map(|unit| unit.now)
    }

    pub(crate) fn forget(&mut self) {
        self.envelope.with(Vec::clear);
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
        self.envelope.with(|values| of(values)).or_else(of_unit).or_else(|| of(&self.world.envelope))
    }

    fn set_envelope(&mut self, name: &str, value: &str) {
        self.envelope.with(|values| {
            values.retain(|(known, _)| known != name);
            values.push((name.to_owned(), value.to_owned()));
        });
    }

    fn lookup(&mut self, name: &str, keys: &[Value<'_>], row: &mut dyn FnMut(Value<'_>)) -> Result<bool, String> {
        match self.lookups.iter_mut().find(|lookup| lookup.name() == name) {
            Some(lookup) => lookup.row(keys, row),
            None => Err(format!("no table `{name}` is connected")),
        }
    }

    fn call(&mut self, function: &OwnFunction, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, String> {
        let Some((_, program)) = self.functions.iter_mut().find(|(name, _)| *name == function.name) else {
            return Err("no program is connected".to_owned());
        };
        if !function.cached {
            return program.call(function, arguments);
        }
        let key = Results::key(&function.name, arguments);
        if let Some(result) = self.known.of.get(&key) {
            return Ok(result.clone());
        }
        let result = program.call(function, arguments)?;
        self.known.keep(key, &result);
        Ok(result)
    }
}

/// Bytes of results that a lane keeps.
const KNOWN_BYTES_MAX: usize = 16 << 20;
/// Memory of an entry beyond its bytes, about.
const ENTRY_BYTES: usize = 96;

/// Results of functions that may be used again. A failure is not kept.
#[derive(Default)]
struct Results {
    of: HashMap<Vec<u8>, Option<Vec<u8>>>,
    bytes: usize,
}

impl Results {
    /// Encodes name and arguments with their lengths, so that no two calls have the same key.
    fn key(name: &str, arguments: &[&[u8]]) -> Vec<u8> {
        let mut key = Vec::new();
        for part in core::iter::once(name.as_bytes()).chain(arguments.iter().copied()) {
            key.extend_from_slice(&part.len().to_le_bytes());
            key.extend_from_slice(part);
        }
        key
    }

    fn keep(&mut self, key: Vec<u8>, result: &Option<Vec<u8>>) {
        let bytes = key.len() + result.as_ref().map_or(0, Vec::len) + ENTRY_BYTES;
        if self.bytes + bytes > KNOWN_BYTES_MAX {
            self.of.clear();
            self.bytes = 0;
        }
        if bytes <= KNOWN_BYTES_MAX {
            self.bytes += bytes;
            self.of.insert(key, result.clone());
        }
    }
}
