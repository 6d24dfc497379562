//! Partitions that give a part of their range away at a checkpoint, so that a thread without work has some.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::record::ExecutionId;

/// A running partition, for threads that take a part of its range.
#[derive(Debug, Default)]
pub(super) struct Straggler {
    /// True if a split was requested.
    asked: AtomicBool,
    /// True if it cannot be split.
    refuses: AtomicBool,
    /// Remaining part of its range, in the unit of its reader.
    left: AtomicU64,
}

impl Straggler {
    /// Returns true if a split was requested since the last call.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && self.asked.swap(false, Ordering::Relaxed)
    }

    /// Marks the partition as not splittable, which prevents further requests.
    pub(super) fn refuse(&self) {
        self.refuses.store(true, Ordering::Relaxed);
    }

    /// Sets the remaining part of its range.
    pub(super) fn set_left(&self, left: u64) {
        self.left.store(left, Ordering::Relaxed);
    }
}

/// The partitions that this process runs.
#[derive(Debug, Default)]
pub(super) struct Stragglers(Mutex<BTreeMap<(ExecutionId, String, u32), Arc<Straggler>>>);

impl Stragglers {
    pub(super) fn begin(&self, execution: ExecutionId, step: &str, partition: u32) -> Arc<Straggler> {
        let straggler = Arc::<Straggler>::default();
        self.0.lock().insert((execution, step.to_owned(), partition), Arc::clone(&straggler));
        straggler
    }

    pub(super) fn end(&self, execution: ExecutionId, step: &str, partition: u32) {
        self.0.lock().remove(&(execution, step.to_owned(), partition));
    }

    /// Requests that a partition split at its next checkpoint. An empty step matches any step. Returns true if this process runs the partition.
    pub(super) fn ask(&self, execution: ExecutionId, step: &str, partition: u32) -> bool {
        let running = self.0.lock();
        let mut found = running.iter().filter(|((of, name, number), _)| {
            *of == execution && *number == partition && (step.is_empty() || name == step)
        });
        match found.next() {
            Some((_, straggler)) => {
                straggler.refuses.store(false, Ordering::Relaxed);
                straggler.asked.store(true, Ordering::Relaxed);
                true
            }
            None => false,
        }
    }

    /// Asks the partition of a step that has the most left.
    pub(super) fn ask_slowest(&self, execution: ExecutionId, step: &str) {
        let running = self.0.lock();
        let of_step = running.iter().filter(|((of, name, _), _)| *of == execution && name == step);
        let splittable = of_step.filter(|(_, straggler)| {
            !straggler.refuses.load(Ordering::Relaxed) && straggler.left.load(Ordering::Relaxed) > 0
        });
        let slowest = splittable.max_by_key(|(_, straggler)| straggler.left.load(Ordering::Relaxed));
        if let Some((_, straggler)) = slowest {
            straggler.asked.store(true, Ordering::Relaxed);
        }
    }
}

/// Context for giving away a part of a partition's range.
pub(super) struct Splits<'p> {
    pub(super) straggler: Arc<Straggler>,
    /// Properties of the new partition.
    pub(super) properties: &'p BTreeMap<String, String>,
    /// True if the writer of the new partition writes to a separate target, according to its properties.
    pub(super) is_apart: bool,
    /// Called with a new partition that can begin.
    pub(super) made: &'p dyn Fn(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partition_with_most_left_is_asked() {
        let (all, execution) = (Stragglers::default(), ExecutionId(1));
        let [first, second, third] = [0, 1, 2].map(|number| all.begin(execution, "s", number));
        first.set_left(10);
        second.set_left(30);
        third.set_left(20);
        all.ask_slowest(execution, "s");
        assert!(!first.is_asked() && second.is_asked() && !third.is_asked());
        second.refuse();
        all.ask_slowest(execution, "s");
        assert!(!second.is_asked() && third.is_asked());
        all.end(execution, "s", 2);
        assert!(all.ask(execution, "", 0) && !all.ask(execution, "", 2) && !all.ask(execution, "t", 0));
        assert!(first.is_asked() && !first.is_asked());
    }
}
