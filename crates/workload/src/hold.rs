//! The share of a class: how many of its threads work at once, and how much CPU time they may use, while other classes work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Maximum wait for a turn. Afterwards the work continues regardless of its class' use, because it may hold resources that others wait for.
pub const TURN_WAIT_MAX: Duration = Duration::from_secs(1);

/// Time whose share a class may save up.
const SAVED: f64 = 0.1;

/// Time whose share a class may owe. Without a limit, a class that worked alone for hours would wait for hours once others work.
const OWED_MAX: f64 = 10.0;

/// A class that is held to its share.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Processors' worth of CPU time that the class may use.
    rate: f64,
    /// Threads that may work at once.
    slots: usize,
    state: Mutex<State>,
    freed: Condvar,
    /// Nanoseconds for which work waited for its turn.
    pub(crate) held_ns: AtomicU64,
}

#[derive(Debug)]
struct State {
    working: usize,
    /// CPU seconds that the class may still use; negative if it has used more than its share.
    credit: f64,
    /// Time of the last update of the credit.
    at: Duration,
}

impl Hold {
    /// Creates a hold. `entitlement` is a share of `processors`, from 0 to 1.
    pub(crate) fn new(entitlement: f64, processors: u32) -> Hold {
        let rate = (entitlement * f64::from(processors)).max(0.01);
        Hold {
            rate,
            slots: slots(rate),
            state: Mutex::new(State { working: 0, credit: SAVED * rate, at: Duration::ZERO }),
            freed: Condvar::new(),
            held_ns: AtomicU64::new(0),
        }
    }

    /// Waits for a turn while others work, at most [`TURN_WAIT_MAX`]. [`Hold::end`] ends the turn.
    pub(crate) fn begin(&self, now: &dyn Fn() -> Duration, others_work: &dyn Fn() -> bool) {
        let began = now();
        let mut state = self.state.lock();
        loop {
            let time = now();
            state.refill(time, self.rate);
            let left = (began + TURN_WAIT_MAX).saturating_sub(time);
            if left.is_zero() || !others_work() || (state.working < self.slots && state.credit > 0.0) {
                break;
            }
            let pause = if state.working < self.slots { self.pause(state.credit) } else { left };
            self.freed.wait_for(&mut state, pause.min(left));
        }
        state.working += 1;
        drop(state);
        let waited = now().saturating_sub(began);
        self.held_ns.fetch_add(u64::try_from(waited.as_nanos()).unwrap_or(0), Ordering::Relaxed);
    }

    /// Ends a turn that used this CPU time.
    pub(crate) fn end(&self, cpu: Duration) {
        let mut state = self.state.lock();
        state.working = state.working.saturating_sub(1);
        state.charge(cpu, self.rate);
        drop(state);
        self.freed.notify_one();
    }

    /// Charges CPU time of work that has no turns.
    pub(crate) fn charge(&self, cpu: Duration) {
        self.state.lock().charge(cpu, self.rate);
    }

    /// Returns the time that work without turns should wait before it takes more, at most [`TURN_WAIT_MAX`]; `None` if it need not wait.
    pub(crate) fn due(&self, now: Duration) -> Option<Duration> {
        let mut state = self.state.lock();
        state.refill(now, self.rate);
        (state.credit <= 0.0).then(|| self.pause(state.credit).min(TURN_WAIT_MAX))
    }

    /// Returns the time until the credit is positive.
    fn pause(&self, credit: f64) -> Duration {
        Duration::from_secs_f64((-credit / self.rate).clamp(0.0005, 3_600.0))
    }
}

impl State {
    fn charge(&mut self, cpu: Duration, rate: f64) {
        self.credit = (self.credit - cpu.as_secs_f64()).max(-OWED_MAX * rate);
    }

    fn refill(&mut self, now: Duration, rate: f64) {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.credit = (self.credit + passed * rate).min(SAVED * rate);
    }
}

/// Returns the number of threads that may work at once: the processors of the share, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of processors")]
fn slots(rate: f64) -> usize {
    (rate.ceil() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn second(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_class_that_works_alone_never_waits() {
        let hold = Hold::new(0.1, 2);
        for at in 0..100 {
            hold.begin(&|| second(f64::from(at)), &|| false);
            hold.end(second(1.0));
        }
        assert_eq!(hold.held_ns.load(Ordering::Relaxed), 0);
        // While others work, it pays the share of ten seconds at most; a single wait is bounded.
        assert_eq!(hold.due(second(99.0)), Some(TURN_WAIT_MAX));
        assert_eq!(hold.due(second(110.0)), None);
    }

    #[test]
    fn over_time_a_class_uses_its_share() {
        let hold = Hold::new(0.25, 4);
        let (mut used, mut time) = (0.0, 0.0);
        // 7 ms of work at a time, as long as it may.
        while time < 60.0 {
            match hold.due(second(time)) {
                Some(pause) => time += pause.as_secs_f64(),
                None => {
                    hold.charge(second(0.007));
                    used += 0.007;
                    time += 0.000_1;
                }
            }
        }
        // One processor of four, and at most a turn and the saved share more.
        assert!((used / time - 1.0).abs() < 0.01, "{used} s in {time} s");
    }

    #[test]
    fn only_as_many_work_at_once_as_the_share_has_processors() {
        let hold = std::sync::Arc::new(Hold::new(0.5, 2));
        let clock = std::time::Instant::now();
        hold.begin(&|| clock.elapsed(), &|| true);
        let other = std::sync::Arc::clone(&hold);
        let second_turn = std::thread::spawn(move || {
            other.begin(&|| clock.elapsed(), &|| true);
            let began = clock.elapsed();
            other.end(Duration::ZERO);
            began
        });
        std::thread::sleep(Duration::from_millis(50));
        let ended = clock.elapsed();
        hold.end(Duration::ZERO);
        assert!(second_turn.join().unwrap() >= ended);
        assert!(hold.held_ns.load(Ordering::Relaxed) >= 20_000_000);
    }

    #[test]
    fn a_wait_ends_after_a_second_whatever_happens() {
        let hold = Hold::new(0.5, 2);
        let time = Cell::new(0.0);
        let now = || {
            time.set(time.get() + 0.3);
            second(time.get())
        };
        hold.begin(&now, &|| true);
        hold.begin(&now, &|| true);
        assert_eq!(hold.state.lock().working, 2);
        assert!(time.get() < 3.0, "{}", time.get());
    }
}
