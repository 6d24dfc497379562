//! Lanes on threads.

use quayline_meter::{Meter, Phase, Totals};
use quayline_pipeline::{Block, Clock, Lane, OrderedSink, Scheduler};

/// Runs all lanes. Lane 0 is the calling thread, on `clock`; the others are its helpers, whose time is returned.
pub(crate) fn run_all<W: OrderedSink>(
    scheduler: &Scheduler<'_, W>,
    lanes: Vec<Box<dyn Lane + '_>>,
    block: impl Fn() -> Block,
    meter: &Meter,
    clock: &mut Clock,
) -> Totals {
    std::thread::scope(|scope| {
        let mut lanes = lanes.into_iter();
        let first = lanes.next();
        let others: Vec<_> = lanes
            .map(|mut lane| {
                let block = block();
                scope.spawn(move || {
                    let mut clock = meter.lane();
                    scheduler.run(&mut *lane, block, &mut clock);
                    clock.finish()
                })
            })
            .collect();
        let mut totals = Totals::default();
        if let Some(mut lane) = first {
            scheduler.run(&mut *lane, block(), clock);
        }
        clock.enter(Phase::Wait);
        for other in others {
            match other.join() {
                Ok(part) => totals.merge(&part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        totals
    })
}
