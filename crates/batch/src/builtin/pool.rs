//! Compiled definitions that processors share. Their memory refers to a definition, so each one stays for the life of the process, and a processor
//! that ends gives its own back.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::artifact::Answer;

/// Compiled definitions that no processor has.
type Free<K, V> = Arc<Mutex<HashMap<K, Vec<&'static V>>>>;

/// Compiled definitions by what they are made of.
pub(super) struct Pool<K, V: 'static>(Free<K, V>);

impl<K, V> Default for Pool<K, V> {
    fn default() -> Self {
        Pool(Arc::default())
    }
}

impl<K: Clone + Eq + Hash, V: Sync> Pool<K, V> {
    /// Takes a definition that nobody has, or makes one.
    pub(super) fn lease(&self, key: K, make: impl FnOnce() -> Answer<V>) -> Answer<Lease<K, V>> {
        let free = self.0.lock().get_mut(&key).and_then(Vec::pop);
        let value: &'static V = match free {
            Some(value) => value,
            None => Box::leak(Box::new(make()?)),
        };
        Ok(Lease { value, key, home: Arc::clone(&self.0) })
    }
}

/// A definition for one processor. It is given back at the end, so it must be the last field of its owner.
pub(super) struct Lease<K: Clone + Eq + Hash, V: 'static> {
    pub(super) value: &'static V,
    key: K,
    home: Free<K, V>,
}

impl<K: Clone + Eq + Hash, V> Drop for Lease<K, V> {
    fn drop(&mut self) {
        self.home.lock().entry(self.key.clone()).or_default().push(self.value);
    }
}
