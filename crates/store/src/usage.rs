//! Cost of units of work: waits for locks, messages and commits, and the CPU time of files, queues and commits, in total and for each file
//! and queue.
//!
//! Waits are counted for every unit, because a waiting thread has time to count. CPU time is measured for one unit in [`SAMPLE`]: two clock readings
//! for each operation of every unit would cost more than some of the operations. Figures of a file or queue are kept by key space and get their name
//! when they are read, so operations do not handle names.
//!
//! Measured with 4 million operations in a debug build on a busy machine: 2 to 5 ns for an operation outside of the sample, and 17 to 48 ns on
//! average, nearly all of it the two clock readings. The cost of the entry by space is less than the variance between runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

use crate::Space;
use crate::unit_id::UnitId;

/// One unit in this many is measured.
const SAMPLE: u64 = 32;

/// Figures since the store was opened. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct UsageFacts {
    /// Units of work that committed changes.
    pub committed: u64,
    /// Units of work that rolled back or whose commit failed.
    pub rolled_back: u64,
    /// Changes that committed.
    pub changes: u64,
    /// Units of work that committed inserts of records.
    pub units_inserting: u64,
    /// Total time of commits until their outcome in microseconds.
    pub commit_us: u64,
    /// Longest of these times.
    pub commit_max_us: u64,
    /// Times that a unit waited for a lock that another one held.
    pub lock_waits: u64,
    /// Total wait for locks in microseconds.
    pub lock_wait_us: u64,
    /// Waits for locks that ended by their limit.
    pub lock_timeouts: u64,
    /// Units that were refused a lock since they would have waited forever.
    pub deadlocks: u64,
    /// Times that a get waited for a message.
    pub message_waits: u64,
    /// Total wait for messages in microseconds.
    pub message_wait_us: u64,
    /// CPU time of operations on record files.
    pub files: Sampled,
    /// CPU time of puts and gets.
    pub queues: Sampled,
    /// CPU time of commits on the committing thread, including its work for other units of the group.
    pub commits: Sampled,
}

/// Cost of units of work for one file, one queue, or one internal area of the store, since the store was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct OwnerFacts {
    /// CPU time of operations on it.
    pub cpu: Sampled,
    /// Number of waits for a record lock.
    pub lock_waits: u64,
    /// Total of these waits in microseconds.
    pub lock_wait_us: u64,
    /// Waits that ended by their limit.
    pub lock_timeouts: u64,
    /// Units that were refused a lock since they would have waited forever.
    pub deadlocks: u64,
    /// Number of gets that waited for a message.
    pub message_waits: u64,
    /// Total of these waits in microseconds.
    pub message_wait_us: u64,
}

impl OwnerFacts {
    pub(crate) fn add(&mut self, other: &OwnerFacts) {
        let OwnerFacts { cpu, lock_waits, lock_wait_us, lock_timeouts, deadlocks, message_waits, message_wait_us } =
            other;
        self.cpu.count += cpu.count;
        self.cpu.cpu_ns += cpu.cpu_ns;
        self.lock_waits += lock_waits;
        self.lock_wait_us += lock_wait_us;
        self.lock_timeouts += lock_timeouts;
        self.deadlocks += deadlocks;
        self.message_waits += message_waits;
        self.message_wait_us += message_wait_us;
    }
}

/// Owner of a space.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Owner {
    /// A record file, with its alternate indexes.
    File(String),
    /// A queue.
    Queue(String),
    /// An internal area of the store: definitions, control numbers, checkpoints, the transaction log, jobs.
    Store(&'static str),
}

/// CPU time of some of the operations of a kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sampled {
    /// Operations that were measured.
    pub count: u64,
    /// CPU nanoseconds of those.
    pub cpu_ns: u64,
}

impl Sampled {
    /// Returns the mean CPU time of an operation in nanoseconds; 0 if none was measured.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        self.cpu_ns.checked_div(self.count).unwrap_or(0)
    }
}

/// A kind of operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    File,
    Queue,
    Commit,
}

#[derive(Debug, Default)]
struct Sum {
    count: AtomicU64,
    cpu_ns: AtomicU64,
}

/// The counters of one store.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) committed: AtomicU64,
    pub(crate) rolled_back: AtomicU64,
    pub(crate) changes: AtomicU64,
    pub(crate) units_inserting: AtomicU64,
    commit_us: AtomicU64,
    commit_max_us: AtomicU64,
    lock_waits: AtomicU64,
    lock_wait_us: AtomicU64,
    lock_timeouts: AtomicU64,
    deadlocks: AtomicU64,
    message_waits: AtomicU64,
    message_wait_us: AtomicU64,
    kinds: [Sum; 3],
    spaces: Mutex<BTreeMap<Space, OwnerFacts>>,
}

/// Converts a duration to whole microseconds.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (u64::try_from(now.tv_sec).unwrap_or(0), u64::try_from(now.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

impl Usage {
    /// Measures an operation until the returned guard is dropped, if the unit belongs to the sample. `space` is the space of the operation; `None`
    /// for commits.
    pub(crate) fn measure(self: &Arc<Self>, unit: UnitId, kind: Kind, space: Option<Space>) -> Option<Measured> {
        unit.0.is_multiple_of(SAMPLE).then(|| Measured { usage: Arc::clone(self), kind, space, began: cpu_ns() })
    }

    fn of_space(&self, space: Space, change: impl FnOnce(&mut OwnerFacts)) {
        change(self.spaces.lock().entry(space).or_default());
    }

    /// Counts a unit that begins to wait for a lock.
    pub(crate) fn waits_for_lock(&self, space: Space) {
        self.lock_waits.fetch_add(1, Ordering::Relaxed);
        self.of_space(space, |facts| facts.lock_waits += 1);
    }

    /// Records the duration of a wait for a lock.
    pub(crate) fn waited_for_lock(&self, space: Space, since: Instant) {
        let took = micros(since.elapsed());
        self.lock_wait_us.fetch_add(took, Ordering::Relaxed);
        self.of_space(space, |facts| facts.lock_wait_us += took);
    }

    /// Counts a wait for a lock that ended by its limit.
    pub(crate) fn lock_timed_out(&self, space: Space) {
        self.lock_timeouts.fetch_add(1, Ordering::Relaxed);
        self.of_space(space, |facts| facts.lock_timeouts += 1);
    }

    /// Counts a lock that was refused to break a cycle.
    pub(crate) fn deadlocked(&self, space: Space) {
        self.deadlocks.fetch_add(1, Ordering::Relaxed);
        self.of_space(space, |facts| facts.deadlocks += 1);
    }

    /// Counts a get's wait for a message and its duration.
    pub(crate) fn waited_for_message(&self, space: Space, since: Instant) {
        let took = micros(since.elapsed());
        self.message_waits.fetch_add(1, Ordering::Relaxed);
        self.message_wait_us.fetch_add(took, Ordering::Relaxed);
        self.of_space(space, |facts| {
            facts.message_waits += 1;
            facts.message_wait_us += took;
        });
    }

    /// Returns the figures by space. Discards spaces that `keep` rejects.
    pub(crate) fn spaces(&self, keep: impl Fn(Space) -> bool) -> Vec<(Space, OwnerFacts)> {
        let mut spaces = self.spaces.lock();
        spaces.retain(|space, _| keep(*space));
        spaces.iter().map(|(space, facts)| (*space, *facts)).collect()
    }

    /// Counts a commit and its duration.
    pub(crate) fn commit_took(&self, since: Instant, changes: usize) {
        let took = micros(since.elapsed());
        self.committed.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(changes as u64, Ordering::Relaxed);
        self.commit_us.fetch_add(took, Ordering::Relaxed);
        if took > self.commit_max_us.load(Ordering::Relaxed) {
            self.commit_max_us.fetch_max(took, Ordering::Relaxed);
        }
    }

    pub(crate) fn facts(&self) -> UsageFacts {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let sum = |kind: Kind| {
            let sum = &self.kinds[kind as usize];
            Sampled { count: value(&sum.count), cpu_ns: value(&sum.cpu_ns) }
        };
        UsageFacts {
            committed: value(&self.committed),
            rolled_back: value(&self.rolled_back),
            changes: value(&self.changes),
            units_inserting: value(&self.units_inserting),
            commit_us: value(&self.commit_us),
            commit_max_us: value(&self.commit_max_us),
            lock_waits: value(&self.lock_waits),
            lock_wait_us: value(&self.lock_wait_us),
            lock_timeouts: value(&self.lock_timeouts),
            deadlocks: value(&self.deadlocks),
            message_waits: value(&self.message_waits),
            message_wait_us: value(&self.message_wait_us),
            files: sum(Kind::File),
            queues: sum(Kind::Queue),
            commits: sum(Kind::Commit),
        }
    }
}

/// An operation that is measured.
pub(crate) struct Measured {
    usage: Arc<Usage>,
    kind: Kind,
    space: Option<Space>,
    began: u64,
}

impl Drop for Measured {
    fn drop(&mut self) {
        let took = cpu_ns().saturating_sub(self.began);
        let sum = &self.usage.kinds[self.kind as usize];
        sum.count.fetch_add(1, Ordering::Relaxed);
        sum.cpu_ns.fetch_add(took, Ordering::Relaxed);
        if let Some(space) = self.space {
            self.usage.of_space(space, |facts| {
                facts.cpu.count += 1;
                facts.cpu.cpu_ns += took;
            });
        }
    }
}
