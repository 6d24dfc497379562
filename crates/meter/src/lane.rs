//! One thread's line of time.

use core::marker::PhantomData;
use core::time::Duration;

use crate::{Clock, Counters, Instant, Phase, SystemClock, Times, Totals};

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
    phase: Option<Phase>,
    totals: Totals,
    on_this_thread: PhantomData<*const ()>,
}

impl<C: Clock> Lane<C> {
    /// Begins now, in no phase.
    #[must_use]
    pub fn begin(clock: C) -> Self {
        let waited = clock.run_queue();
        let now = clock.now();
        Lane {
            counters: Counters::default(),
            clock,
            began: now,
            waited,
            mark: now,
            phase: None,
            totals: Totals { lanes: 1, ..Totals::default() },
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
        self.totals
    }

    fn switch(&mut self, next: Option<Phase>) -> Option<Phase> {
        let now = self.clock.now();
        if let Some(phase) = self.phase {
            self.totals.phases[phase] += now.since(self.mark);
        }
        self.mark = now;
        self.totals.switches += 1;
        core::mem::replace(&mut self.phase, next)
    }
}
