//! Compiled definitions that processors share. The memory of a processor refers to its definition, so each definition lives as long as the process. A
//! processor that ends returns its definition.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::artifact::Answer;

/// Compiled definitions that no processor uses.
type Free<K, V> = Arc<Mutex<HashMap<K, Vec<&'static V>>>>;

/// Compiled definitions by their inputs.
pub(super) struct Pool<K, V: 'static>(Free<K, V>);

impl<K, V> Default for Pool<K, V> {
    fn default() -> Self {
        Pool(Arc::default())
    }
}

impl<K: Clone + Eq + Hash, V: Sync> Pool<K, V> {
    /// Leases a definition that no processor uses, or makes one.
    pub(super) fn lease(&self, key: K, make: impl FnOnce() -> Answer<V>) -> Answer<Lease<K, V>> {
        let free = self.0.lock().get_mut(&key).and_then(Vec::pop);
        let value: &'static V = match free {
            Some(value) => value,
            None => Box::leak(Box::new(make()?)),
        };
        Ok(Lease { value, key, home: Arc::clone(&self.0) })
    }
}

/// Definition for one processor. Drop returns it to the pool, so it must be the last field of its owner.
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
