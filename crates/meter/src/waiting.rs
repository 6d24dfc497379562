//! Reasons of waits, named where the code knows them.
//!
//! On Linux, a lock, an empty queue and a full one are the same system call, so the kernel does not distinguish them. The code that waits does:
//! [`waiting`] counts the time for the thread, and makes the reason visible to an account that looks at all threads of the process.

use core::cell::OnceCell;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// What a thread waits for: another thread, a device or another system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum WaitFor {
    /// A lock that another thread or unit of work has, or its turn.
    Lock,
    /// Work: an empty queue, a message, the end of other threads.
    Work,
    /// Room: a full queue, or a limit of memory that others must free. Backpressure.
    Room,
    /// The outcome of a commit that another thread makes durable.
    Commit,
    /// A file or a device: reading, writing, and making durable.
    Device,
    /// Another system: a program in another process, a database, a service.
    External,
}

impl WaitFor {
    /// All reasons.
    pub const ALL: [WaitFor; 6] =
        [WaitFor::Lock, WaitFor::Work, WaitFor::Room, WaitFor::Commit, WaitFor::Device, WaitFor::External];

    fn of(code: u8) -> Option<WaitFor> {
        WaitFor::ALL.into_iter().find(|reason| *reason as u8 == code)
    }
}

/// Nanoseconds that a thread has waited, by [`WaitFor`].
pub type Waited = [u64; WaitFor::ALL.len()];

/// Code of a thread without a known wait.
const NONE: u8 = u8::MAX;

/// Waits of a thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ThreadWaits {
    /// Number of the thread in the system.
    pub thread: u32,
    /// Reason of its wait now.
    pub now: Option<WaitFor>,
    /// Waits that have ended.
    pub waited: Waited,
    /// Waits of its work that have ended, while the thread did other work.
    pub beside: Waited,
}

impl ThreadWaits {
    /// Returns the waits of its work, with and without the thread.
    #[must_use]
    pub fn of_work(&self) -> Waited {
        core::array::from_fn(|at| self.waited[at] + self.beside[at])
    }
}

/// A thread that has waited. Only the thread itself changes its counts.
#[derive(Debug)]
struct Thread {
    id: u32,
    reason: AtomicU8,
    waited: [AtomicU64; WaitFor::ALL.len()],
    beside: [AtomicU64; WaitFor::ALL.len()],
}

impl Thread {
    fn waits(&self) -> ThreadWaits {
        let counts = |all: &[AtomicU64; WaitFor::ALL.len()]| core::array::from_fn(|at| all[at].load(Ordering::Relaxed));
        ThreadWaits {
            thread: self.id,
            now: WaitFor::of(self.reason.load(Ordering::Relaxed)),
            waited: counts(&self.waited),
            beside: counts(&self.beside),
        }
    }
}

/// Threads that have waited and have not ended.
static THREADS: Mutex<Vec<Weak<Thread>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: OnceCell<Arc<Thread>> = const { OnceCell::new() };
}

/// Does something that may wait, and counts its time as a wait for this reason.
pub fn waiting<T>(reason: WaitFor, wait: impl FnOnce() -> T) -> T {
    let _end = Waiting { reason, before: mark(reason as u8), since: Instant::now() };
    wait()
}

/// Counts a wait of work of the calling thread that did other work meanwhile. The thread's own waits do not include it.
pub fn waited_beside(reason: WaitFor, took: Duration) {
    let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let _ = OWN.try_with(|own| own.get_or_init(enlist).beside[reason as usize].fetch_add(took, Ordering::Relaxed));
}

/// Returns the waits of the calling thread's work since the thread began, with and without the thread.
#[must_use]
pub fn waited_by_work() -> Waited {
    OWN.try_with(|own| own.get().map(|thread| thread.waits().of_work())).ok().flatten().unwrap_or_default()
}

/// Returns the waits of all threads of this process that have waited for a known reason and have not ended.
#[must_use]
pub fn thread_waits() -> Vec<ThreadWaits> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.retain(|thread| thread.strong_count() > 0);
    threads.iter().filter_map(|thread| Some(thread.upgrade()?.waits())).collect()
}

/// Ends a wait, in a panic too.
struct Waiting {
    reason: WaitFor,
    before: u8,
    since: Instant,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        mark(self.before);
        let took = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let _ = OWN.try_with(|own| {
            own.get().map(|thread| thread.waited[self.reason as usize].fetch_add(took, Ordering::Relaxed))
        });
    }
}

/// Makes the reason of the calling thread visible, `None` if it does not wait, without counting time.
pub(crate) fn show(reason: Option<WaitFor>) {
    let code = reason.map_or(NONE, |reason| reason as u8);
    // A thread that never waited has no reason to withdraw.
    let is_known = OWN.try_with(|own| own.get().is_some()).unwrap_or(false);
    if is_known || code != NONE {
        mark(code);
    }
}

/// Sets the reason of the calling thread and returns the one before.
fn mark(code: u8) -> u8 {
    let swap = |own: &OnceCell<Arc<Thread>>| own.get_or_init(enlist).reason.swap(code, Ordering::Relaxed);
    // A thread that ends has no reason left.
    OWN.try_with(swap).unwrap_or(NONE)
}

fn enlist() -> Arc<Thread> {
    let id = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap_or(0);
    let (waited, beside) = Default::default();
    let thread = Arc::new(Thread { id, reason: AtomicU8::new(NONE), waited, beside });
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&thread));
    thread
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_wait_beside_other_work_is_not_one_of_the_thread() {
        std::thread::spawn(|| {
            waited_beside(WaitFor::Commit, Duration::from_secs(2));
            waited_beside(WaitFor::Commit, Duration::from_secs(3));
            let own = OWN.with(|own| own.get().expect("enlisted").waits());
            assert_eq!((own.waited, own.now), ([0; 6], None));
            assert_eq!(own.beside, [0, 0, 0, 5_000_000_000, 0, 0]);
            assert_eq!(waited_by_work(), own.of_work());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_wait_is_counted_for_its_thread_and_seen_by_others() {
        let ((started, starts), (release, released)) = (channel(), channel::<()>());
        let thread = std::thread::spawn(move || {
            let id = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let before = waited_by_work();
            let since = Instant::now();
            waiting(WaitFor::Room, || {
                started.send(id).unwrap();
                waiting(WaitFor::Lock, || ());
                let _ = released.recv();
            });
            let took = u64::try_from(since.elapsed().as_nanos()).unwrap();
            (before, waited_by_work(), took, id)
        });
        let id = starts.recv().unwrap();
        let reason = || thread_waits().into_iter().find(|waits| waits.thread == id).and_then(|waits| waits.now);
        let since = Instant::now();
        // The inner wait ends at once, and the outer one goes on.
        while reason() != Some(WaitFor::Room) {
            assert!(since.elapsed() < Duration::from_secs(10), "{:?}", thread_waits());
            std::thread::yield_now();
        }
        let seen = since.elapsed();
        release.send(()).unwrap();
        let (before, after, took, id) = thread.join().unwrap();
        assert_eq!(before, [0; 6]);
        let room = after[WaitFor::Room as usize];
        assert!(u128::from(room) >= seen.as_nanos() / 2 && room <= took, "{after:?} of {took}");
        assert_eq!(after[WaitFor::Work as usize], 0);
        assert!(thread_waits().iter().all(|waits| waits.thread != id), "an ended thread does not wait");
    }

    #[test]
    fn a_wait_ends_in_a_panic_too() {
        let thread = std::thread::spawn(|| {
            let ended = std::panic::catch_unwind(|| waiting(WaitFor::Commit, || panic!("on purpose")));
            assert!(ended.is_err());
            OWN.with(|own| own.get().map(|thread| thread.reason.load(Ordering::Relaxed)))
        });
        assert_eq!(thread.join().unwrap(), Some(NONE));
    }
}
