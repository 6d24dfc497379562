//! Time and chance from outside, so that tests repeat.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Wall clock, steady clock and randomness.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Milliseconds since 1970-01-01 UTC. May go back; only the expiry of messages and the time in a message depend on it.
    fn now_ms(&self) -> u64;

    /// Returns milliseconds since a fixed moment of this process. The value never decreases, even if the wall clock is set back. Retry delays use it.
    fn steady_ms(&self) -> u64 {
        static BEGIN: OnceLock<Instant> = OnceLock::new();
        u64::try_from(BEGIN.get_or_init(Instant::now).elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns an unpredictable number, used for salts and for the store's identity.
    fn random(&self) -> u64;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn random(&self) -> u64 {
        // The standard library seeds each state from the system's randomness.
        std::collections::hash_map::RandomState::new().build_hasher().finish()
    }
}

/// A clock for tests: it moves when it is set, and its numbers repeat.
#[derive(Debug)]
pub struct ManualClock {
    now_ms: AtomicU64,
    steady_ms: AtomicU64,
    seed: AtomicU64,
}

impl ManualClock {
    /// Creates a clock at a given time, with random numbers derived from a seed.
    #[must_use]
    pub fn new(now_ms: u64, seed: u64) -> Self {
        ManualClock { now_ms: AtomicU64::new(now_ms), steady_ms: AtomicU64::new(0), seed: AtomicU64::new(seed) }
    }

    /// Sets the time. A later time advances the steady clock by the difference. An earlier time simulates a wall clock that is set back, and the
    /// steady clock does not change.
    pub fn set(&self, now_ms: u64) {
        let before = self.now_ms.swap(now_ms, Ordering::SeqCst);
        self.steady_ms.fetch_add(now_ms.saturating_sub(before), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> u64 {
        self.steady_ms.load(Ordering::SeqCst)
    }

    fn random(&self) -> u64 {
        // SplitMix64: each step of the seed gives an unrelated number.
        let mut z = self.seed.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
