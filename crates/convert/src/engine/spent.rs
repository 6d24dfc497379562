//! Where a lane's time goes.

use std::time::{Duration, Instant};

/// Time of one lane by phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    started: Instant,
    pub(crate) wall: Duration,
    pub(crate) read: Duration,
    pub(crate) convert: Duration,
    pub(crate) write: Duration,
    pub(crate) sync: Duration,
    pub(crate) idle: Duration,
}

impl Spent {
    pub(crate) fn start() -> Self {
        let zero = Duration::ZERO;
        Spent { started: Instant::now(), wall: zero, read: zero, convert: zero, write: zero, sync: zero, idle: zero }
    }

    pub(crate) fn stop(&mut self) {
        self.wall = self.started.elapsed();
    }

    pub(crate) fn read<T>(&mut self, work: impl FnOnce() -> T) -> T {
        timed(&mut self.read, work)
    }

    pub(crate) fn convert<T>(&mut self, work: impl FnOnce() -> T) -> T {
        timed(&mut self.convert, work)
    }

    pub(crate) fn write<T>(&mut self, work: impl FnOnce() -> T) -> T {
        timed(&mut self.write, work)
    }

    pub(crate) fn sync<T>(&mut self, work: impl FnOnce() -> T) -> T {
        timed(&mut self.sync, work)
    }

    pub(crate) fn idle<T>(&mut self, work: impl FnOnce() -> T) -> T {
        timed(&mut self.idle, work)
    }

    pub(crate) fn add_idle(&mut self, time: Duration) {
        self.idle += time;
    }
}

fn timed<T>(phase: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *phase += start.elapsed();
    result
}
