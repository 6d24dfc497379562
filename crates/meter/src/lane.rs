//! One thread's line of time.

use core::marker::PhantomData;
use core::time::Duration;

use crate::steps::{self, Division};
use crate::{Clock, Counters, Instant, Phase, SystemClock, Times, Totals, waiting};

/// One thread's line of time, in one phase at a time or in none.
///
/// A lane stays on the thread that made it, since it reads that thread's CPU clock; its totals may be sent anywhere.
#[derive(Debug)]
pub struct Lane<C = SystemClock> {
    /// Counts, for the thread to add to.
    pub counters: Counters,
    clock: C,
    began: Instant,
    /// Time that the thread had waited for a processor when the lane began.
    waited: Option<Duration>,
    mark: Instant,
    /// Number of interruptions of the thread at the mark; `None` if the clock does not know them.
    seen: Option<u64>,
    phase: Option<Phase>,
    /// True if this lane has opened the thread's line of steps.
    has_steps: bool,
    totals: Totals,
    on_this_thread: PhantomData<*const ()>,
}

impl<C: Clock> Lane<C> {
    /// Begins now, in no phase.
    #[must_use]
    pub fn begin(clock: C) -> Self {
        let waited = clock.run_queue();
        let seen = clock.interruptions();
        let now = clock.now();
        Lane {
            counters: Counters::default(),
            clock,
            began: now,
            waited,
            mark: now,
            seen,
            phase: None,
            has_steps: false,
            totals: Totals { lanes: 1, by_interruptions: u32::from(seen.is_some()), ..Totals::default() },
            on_this_thread: PhantomData,
        }
    }

    /// Charges the time since the last change to the phase that ends, begins another, and returns the phase that ended.
    pub fn enter(&mut self, phase: Phase) -> Option<Phase> {
        self.switch(Some(phase))
    }

    /// Charges the time since the last change and returns the phase that ended. Time is unaccounted until the next [`Lane::enter`].
    pub fn leave(&mut self) -> Option<Phase> {
        self.switch(None)
    }

    /// Does some work in a phase, then returns to the phase before.
    pub fn within<T>(&mut self, phase: Phase, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.enter(phase);
        let result = work(self);
        self.switch(before);
        result
    }

    /// Charges time that was measured elsewhere, such as by a library's own clock. It must not be charged by this lane as well: the
    /// identity shows it as negative unaccounted time.
    pub fn charge(&mut self, phase: Phase, times: Times) {
        self.totals.phases[phase] += times;
    }

    /// Moves an estimated part of one phase's time to another, at most the time charged to it so far.
    pub fn move_estimate(&mut self, from: Phase, to: Phase, times: Times) {
        let times = times.min(self.totals.phases[from]);
        self.totals.phases[from] -= times;
        self.totals.phases[to] += times;
        self.totals.estimated[to] += times;
    }

    /// Returns the time charged to a phase up to the last change.
    #[must_use]
    pub fn charged(&self, phase: Phase) -> Times {
        self.totals.phases[phase]
    }

    /// Ends the lane.
    #[must_use]
    pub fn finish(mut self) -> Totals {
        self.switch(None);
        // The end is read apart from the charges, so that the identity compares two measurements.
        self.totals.elapsed = self.clock.now().since(self.began);
        let waited = self.clock.run_queue();
        self.totals.run_queue = waited.zip(self.waited).map(|(after, before)| after.saturating_sub(before));
        self.totals.counters = self.counters;
        core::mem::take(&mut self.totals)
    }

    fn switch(&mut self, next: Option<Phase>) -> Option<Phase> {
        let now = self.read();
        if let Some(phase) = self.phase {
            let times = now.since(self.mark);
            self.totals.phases[phase] += times;
            if core::mem::take(&mut self.has_steps)
                && let Some(division) = steps::close(phase, times)
            {
                self.divide(phase, &division);
            }
        }
        self.mark = now;
        self.totals.switches += 1;
        waiting::show(next.and_then(Phase::waits_for));
        if let Some(next) = next {
            self.has_steps = self.seen.is_some() && next.computes() && steps::open(next);
        }
        core::mem::replace(&mut self.phase, next)
    }

    /// Reads the clock. If the thread kept its processor since the mark, its CPU time passed like the wall time; otherwise its own clock, a system
    /// call, has the CPU time.
    fn read(&mut self) -> Instant {
        let Some(seen) = self.seen else { return self.clock.now() };
        let wall = self.clock.wall();
        self.seen = self.clock.interruptions();
        self.totals.segments += 1;
        if self.seen == Some(seen) {
            return Instant { wall, cpu: self.mark.cpu + wall.saturating_sub(self.mark.wall) };
        }
        self.totals.interrupted += 1;
        self.totals.thread_clock += 1;
        self.clock.now()
    }

    fn divide(&mut self, base: Phase, division: &Division) {
        for (phase, times) in division.moved.iter() {
            self.totals.phases[base] -= *times;
            self.totals.phases[phase] += *times;
            if division.is_estimate {
                self.totals.estimated[phase] += *times;
            }
        }
        self.totals.segments += division.segments;
        self.totals.interrupted += division.interrupted;
        self.totals.steps += division.segments;
    }
}

impl<C> Drop for Lane<C> {
    fn drop(&mut self) {
        // A lane that ends without its totals, for instance in a panic, leaves the line to the next one.
        if self.has_steps {
            let _ = steps::close(Phase::Other, Times::default());
        }
    }
}
