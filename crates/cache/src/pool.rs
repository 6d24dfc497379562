//! Compiled definitions that the users of a process share. The memory of a reader or processor refers to its definition, so each definition lives as long
//! as the process. A reader or processor that ends returns its definition, and the next one uses it while the files of the definition are unchanged.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Maximum step of the clock that file systems use.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// Files of a definition, each with the time of its last change.
type Versions = Vec<(PathBuf, Option<SystemTime>)>;

/// A definition and the files that it was compiled from.
struct Made<V> {
    value: V,
    versions: Versions,
}

type Free<K, V> = HashMap<K, Vec<&'static Made<V>>>;

/// Compiled definitions that nothing uses, by their inputs.
pub struct Pool<K, V: 'static>(LazyLock<Mutex<Free<K, V>>>);

impl<K: Clone + Eq + Hash, V: Sync> Default for Pool<K, V> {
    fn default() -> Self {
        Pool::new()
    }
}

impl<K: Clone + Eq + Hash, V: Sync> Pool<K, V> {
    /// Creates an empty pool.
    #[must_use]
    pub const fn new() -> Self {
        Pool(LazyLock::new(Mutex::default))
    }

    /// Leases an unused definition whose files are unchanged, or compiles one. `make` returns the definition and its files.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn lease<E>(
        &'static self,
        key: K,
        make: impl FnOnce() -> Result<(V, Vec<PathBuf>), E>,
    ) -> Result<Lease<K, V>, E> {
        let current = |made: &&Made<V>| made.versions == versions(made.versions.iter().map(|(path, _)| path.clone()));
        let free = self.free().get_mut(&key).and_then(|free| std::iter::from_fn(|| free.pop()).find(current));
        let made = match free {
            Some(made) => made,
            None => {
                let begun = SystemTime::now() - CLOCK_STEP;
                let (value, files) = make()?;
                let mut versions = versions(files.into_iter());
                // A file that changed during the compile may differ from the definition. A later time is that of another clock.
                let compile = begun..=SystemTime::now() + CLOCK_STEP;
                versions
                    .iter_mut()
                    .for_each(|(_, changed)| *changed = changed.filter(|changed| !compile.contains(changed)));
                Box::leak(Box::new(Made { value, versions }))
            }
        };
        Ok(Lease { value: &made.value, made, key, home: self })
    }
}

impl<K, V> Pool<K, V> {
    fn free(&self) -> MutexGuard<'_, Free<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn versions(files: impl Iterator<Item = PathBuf>) -> Versions {
    let version = |path: PathBuf| {
        let changed = std::fs::metadata(&path).and_then(|facts| facts.modified()).ok();
        (path, changed)
    };
    files.map(version).collect()
}

/// Definition for one reader or processor. Drop returns it to the pool, so it must be the last field of its owner.
pub struct Lease<K: Clone + Eq + Hash + 'static, V: 'static> {
    /// The definition.
    pub value: &'static V,
    made: &'static Made<V>,
    key: K,
    home: &'static Pool<K, V>,
}

impl<K: Clone + Eq + Hash, V> Drop for Lease<K, V> {
    fn drop(&mut self) {
        self.home.free().entry(self.key.clone()).or_default().push(self.made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_compiled_again_only_after_a_change_of_a_file() {
        static POOL: Pool<&str, u32> = Pool::new();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.map");
        let write = |age: u64| {
            std::fs::write(&file, "map").unwrap();
            let changed = SystemTime::now() - Duration::from_secs(age);
            std::fs::File::options().write(true).open(&file).unwrap().set_modified(changed).unwrap();
        };
        let lease = |value| POOL.lease("key", || Ok::<_, ()>((value, vec![file.clone()]))).unwrap();
        write(10);
        let first = lease(1);
        let second = lease(2);
        assert_eq!((*first.value, *second.value), (1, 2));
        drop(first);
        assert_eq!(*lease(3).value, 1);
        drop(second);
        write(5);
        assert_eq!(*lease(4).value, 4);
        assert_eq!(*lease(5).value, 4);
        // The time of another clock, which is ahead.
        let ahead = SystemTime::now() + Duration::from_secs(3_600);
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(ahead).unwrap();
        assert_eq!(*lease(8).value, 8);
        assert_eq!(*lease(9).value, 8);
        // A change during the compile.
        let made = POOL.lease("other", || {
            write(0);
            Ok::<_, ()>((6, vec![file.clone()]))
        });
        drop(made.unwrap());
        assert_eq!(*POOL.lease("other", || Ok::<_, ()>((7, vec![file.clone()]))).unwrap().value, 7);
    }
}
