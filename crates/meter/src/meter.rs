//! One run.

use core::time::Duration;

use crate::report::Costs;
use crate::{Clock, Instant, Lane, ProcessUse, Report, SystemClock, Totals, steps};

/// Clock readings in a batch that measures the cost of one reading: about 20 µs.
const READINGS: u32 = 32;
/// Batches, of which the shortest counts.
const BATCHES: u32 = 4;

/// Covers a run from its begin to its report. Lanes may begin and end at any time in between, on any thread.
#[derive(Clone, Debug)]
pub struct Meter<C = SystemClock> {
    clock: C,
    began: Instant,
    process: ProcessUse,
}

impl Meter {
    /// Begins now, by the machine's clocks.
    #[must_use]
    pub fn start() -> Self {
        Meter::with_clock(SystemClock)
    }
}

impl<C: Clock + Clone> Meter<C> {
    /// Begins now, by another clock.
    #[must_use]
    pub fn with_clock(clock: C) -> Self {
        let began = clock.now();
        Meter { clock, began, process: ProcessUse::now() }
    }

    /// Creates a lane for the calling thread.
    #[must_use]
    pub fn lane(&self) -> Lane<C> {
        Lane::begin(self.clock.clone())
    }

    /// Returns the report of the run so far. `totals` are the merged totals of its lanes.
    #[must_use]
    pub fn report(&self, totals: &Totals) -> Report {
        let wall = self.clock.now().since(self.began).wall;
        Report::new(wall, totals, ProcessUse::now().since(&self.process), self.costs())
    }

    /// Measures the current cost of readings: the minimum of several batches, since other load only makes them longer.
    fn costs(&self) -> Costs {
        let batch = |read: &dyn Fn() -> Duration| {
            let first = self.clock.wall();
            let last = (0..READINGS).fold(first, |_, _| read());
            last.saturating_sub(first) / READINGS
        };
        let least = |read: &dyn Fn() -> Duration| (0..BATCHES).map(|_| batch(read)).min().unwrap_or_default();
        let look = || {
            let wall = self.clock.wall();
            core::hint::black_box(self.clock.interruptions());
            wall
        };
        Costs {
            both: least(&|| self.clock.now().wall),
            look: least(&look),
            step: steps::step_cost(|| self.clock.wall()),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::{Phase, Times};

    /// Time that a test moves.
    #[derive(Default)]
    struct Hands(Cell<Instant>, Cell<Duration>);

    impl Hands {
        fn pass(&self, wall_ms: u64, cpu_ms: u64) {
            let mut now = self.0.get();
            now.wall += Duration::from_millis(wall_ms);
            now.cpu += Duration::from_millis(cpu_ms);
            self.0.set(now);
        }

        /// Advances the test clock by time in which the thread is ready without a processor.
        fn queue(&self, ms: u64) {
            self.pass(ms, 0);
            self.1.set(self.1.get() + Duration::from_millis(ms));
        }
    }

    impl Clock for Hands {
        fn now(&self) -> Instant {
            self.0.get()
        }
        fn run_queue(&self) -> Option<Duration> {
            Some(self.1.get())
        }
    }

    fn check(report: &Report, expected: Expect) {
        let mut text = format!("wall {:?} lanes {} {:?}\n", report.wall, report.lanes, report.lane_time);
        for line in &report.phases {
            let Times { wall, cpu } = line.times;
            text.push_str(&format!("{} {wall:?} cpu {cpu:?} share {:.2}", line.phase.name(), line.share));
            if line.estimated != Times::default() {
                text.push_str(&format!(" estimated {:?}", line.estimated.wall));
            }
            text.push('\n');
        }
        text.push_str(&format!("unaccounted {:?} share {:.3}", report.unaccounted, report.unaccounted_share()));
        expected.assert_eq(&text);
    }

    #[test]
    fn phases_and_the_unaccounted_rest_are_the_elapsed_time() {
        let hands = Hands::default();
        let meter = Meter::with_clock(&hands);
        let mut lane = meter.lane();
        hands.pass(2, 1);
        assert_eq!(lane.enter(Phase::Read), None);
        hands.pass(10, 3);
        assert_eq!(lane.enter(Phase::Decode), Some(Phase::Read));
        hands.pass(50, 50);
        lane.within(Phase::Wait, |_| hands.pass(20, 0));
        hands.pass(10, 10);
        lane.enter(Phase::Write);
        hands.pass(7, 6);
        lane.leave();
        hands.pass(1, 1);
        let totals = lane.finish();
        hands.pass(5, 5);
        let report = meter.report(&totals);
        check(
            &report,
            expect![[r#"
            wall 105ms lanes 1 Times { wall: 100ms, cpu: 71ms }
            read 10ms cpu 3ms share 0.10
            decode 60ms cpu 60ms share 0.60
            write 7ms cpu 6ms share 0.07
            wait 20ms cpu 0ns share 0.20
            unaccounted Unaccounted { wall_ns: 3000000, cpu_ns: 2000000 } share 0.030"#]],
        );
        assert!(report.identity_holds(0.03));
        assert!(!report.identity_holds(0.02));
        assert_eq!(totals.switches, 7);
    }

    #[test]
    fn waits_are_what_the_time_off_the_processor_was() {
        let ms = Duration::from_millis;
        let hands = Hands::default();
        let meter = Meter::with_clock(&hands);
        let mut lane = meter.lane();
        lane.enter(Phase::Decode);
        hands.pass(40, 40);
        hands.queue(20);
        lane.enter(Phase::Write);
        hands.pass(30, 10);
        hands.queue(5);
        lane.enter(Phase::Commit);
        hands.pass(75, 0);
        lane.enter(Phase::Map);
        // Time off the processor that the run queue does not explain.
        hands.pass(10, 4);
        lane.leave();
        let report = meter.report(&lane.finish());
        let waits = report.waits();
        let (cpu, run_queue) = (waits.cpu, waits.run_queue);
        assert_eq!((report.run_queue, cpu, run_queue), (Some(ms(25)), ms(54), ms(25)));
        // 26 ms of computing phases took none of their own but 25; nothing is left for the others.
        assert_eq!((waits.rest, waits.device, waits.commit), (ms(1), ms(25), ms(75)));
        let all = cpu
            + run_queue
            + waits.device
            + waits.commit
            + waits.provider
            + waits.others
            + waits.rest
            + waits.lock
            + waits.backpressure;
        assert_eq!(all, report.lane_time.wall);
        assert_eq!((report.measuring, report.measuring_share()), (Duration::ZERO, 0.0));

        // Waits beyond those phases are those of the others, in proportion.
        let meter = Meter::with_clock(&hands);
        let mut lane = meter.lane();
        lane.enter(Phase::Read);
        hands.queue(20);
        hands.pass(20, 0);
        lane.enter(Phase::Wait);
        hands.pass(60, 0);
        let waits = meter.report(&lane.finish()).waits();
        assert_eq!((waits.run_queue, waits.device, waits.others, waits.rest), (ms(20), ms(32), ms(48), ms(0)));
    }

    #[test]
    fn measuring_has_a_price() {
        let meter = Meter::start();
        let mut lane = meter.lane();
        for _ in 0..1_000 {
            lane.enter(Phase::Read);
            lane.enter(Phase::Decode);
        }
        let totals = lane.finish();
        let report = meter.report(&totals);
        // The lane did nothing else, so that most of its time is that of measuring, and never more than all of it by much.
        assert!(report.measuring > Duration::ZERO && report.measuring_share() < 1.5, "{report:?}");
        assert_eq!(report.run_queue.is_some(), SystemClock.run_queue().is_some());
        let mut sum = totals.clone();
        sum.merge(&Totals::default());
        assert_eq!(sum.run_queue, totals.run_queue);
        sum.merge(&Totals { lanes: 1, ..Totals::default() });
        assert_eq!(sum.run_queue, None);
    }

    /// Keeps the processor for a time of the wall clock.
    fn spin(time: Duration) {
        let start = SystemClock.wall();
        while SystemClock.wall() - start < time {
            core::hint::spin_loop();
        }
    }

    #[test]
    fn steps_divide_a_phase_by_document() {
        // A thread whose line of steps no other test has used.
        std::thread::spawn(divided_phase).join().expect("the test passes");
    }

    fn divided_phase() {
        let meter = Meter::start();
        let mut lane = meter.lane();
        for _ in 0..20 {
            lane.enter(Phase::Decode);
            for _ in 0..10 {
                let marks = crate::document();
                spin(Duration::from_micros(60));
                let decode = if marks { crate::step(Phase::Map) } else { Phase::Decode };
                spin(Duration::from_micros(20));
                if marks {
                    assert_eq!((decode, crate::step(Phase::Encode)), (Phase::Decode, Phase::Map));
                }
                spin(Duration::from_micros(20));
            }
            lane.enter(Phase::Write);
        }
        let totals = lane.finish();
        let report = meter.report(&totals);
        assert!(report.identity_holds(0.02), "{report:?}");
        let cpu = |phase: Phase| totals.phases[phase].cpu.as_secs_f64();
        if report.method == crate::CpuMethod::ThreadClock {
            // Without interruptions, the batch stays in its phase.
            assert_eq!((cpu(Phase::Map), report.segments), (0.0, 0));
            return;
        }
        let all = cpu(Phase::Decode) + cpu(Phase::Map) + cpu(Phase::Encode);
        // Loops that other threads interrupt are shorter in CPU time, so the bounds are wide.
        for (phase, share) in [(Phase::Decode, 0.6), (Phase::Map, 0.2), (Phase::Encode, 0.2)] {
            let found = cpu(phase) / all;
            assert!((found - share).abs() < 0.1, "{}: {found} of the CPU time, {totals:?}", phase.name());
        }
        assert!(totals.steps >= 3 * 20 && report.segments > totals.steps, "{totals:?}");
        assert!(report.interrupted < report.segments, "{report:?}");
    }

    #[test]
    fn cpu_time_by_interruptions_is_that_of_the_thread_under_load() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let is_over = || stop.load(std::sync::atomic::Ordering::Relaxed);
        let meter = Meter::start();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let (totals, exact) = std::thread::scope(|scope| {
            for _ in 0..processors {
                scope.spawn(|| {
                    while !is_over() {
                        core::hint::spin_loop();
                    }
                });
            }
            let before = SystemClock.now();
            let mut lane = meter.lane();
            while lane.charged(Phase::Decode).wall + lane.charged(Phase::Map).wall < Duration::from_millis(400) {
                lane.enter(Phase::Decode);
                spin(Duration::from_micros(300));
                lane.enter(Phase::Map);
                spin(Duration::from_micros(300));
            }
            let totals = lane.finish();
            let exact = SystemClock.now().since(before);
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            (totals, exact)
        });
        let report = meter.report(&totals);
        let sum = totals.phases[Phase::Decode].cpu + totals.phases[Phase::Map].cpu;
        // The identity of CPU time compares the phases with the kernel's clock of the thread.
        let off = (sum.as_secs_f64() - exact.cpu.as_secs_f64()).abs() / exact.cpu.as_secs_f64();
        assert!(off < 0.02, "{sum:?} of {exact:?}, {totals:?}");
        assert!(report.identity_holds(0.02), "{report:?}");
        // The threads beside it took the processor from time to time.
        assert!(exact.wall > exact.cpu.mul_f64(1.1), "{exact:?}");
        if report.method == crate::CpuMethod::Interruptions {
            assert!(report.interrupted > 0 && report.interrupted < report.segments / 2, "{report:?}");
            assert_eq!(totals.thread_clock, report.interrupted);
        }
    }

    #[test]
    fn lanes_of_several_threads_add_up() {
        let meter = Meter::start();
        let work = || {
            let mut lane = meter.lane();
            for _ in 0..10 {
                lane.enter(Phase::Decode);
                core::hint::black_box((0..100_000u64).fold(0, |sum, i| sum ^ core::hint::black_box(i)));
                lane.enter(Phase::Write);
                lane.counters.records += 100;
                lane.counters.bytes_in += 1000;
                lane.counters.batches += 1;
            }
            lane.finish()
        };
        let mut totals = Totals::default();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
            for thread in threads {
                totals.merge(&thread.join().unwrap());
            }
        });
        let report = meter.report(&totals);
        assert_eq!((report.lanes, report.counters.records, report.counters.batches), (3, 3000, 30));
        assert!(report.identity_holds(0.02), "{report:?}");
        assert!(report.lane_time.cpu <= report.process.cpu, "{report:?}");
        assert!(report.cpu_per_record().unwrap() > Duration::ZERO);
        assert!(report.records_per_s().unwrap() > 0.0);
    }

    #[test]
    fn estimates_move_time_and_say_so() {
        let hands = Hands::default();
        let meter = Meter::with_clock(&hands);
        let mut lane = meter.lane();
        lane.enter(Phase::Decode);
        hands.pass(100, 100);
        lane.leave();
        let part = |ms| Times { wall: Duration::from_millis(ms), cpu: Duration::from_millis(ms) };
        lane.move_estimate(Phase::Decode, Phase::Encode, part(40));
        assert_eq!(lane.charged(Phase::Decode), part(60));
        lane.move_estimate(Phase::Decode, Phase::Map, part(80));
        check(
            &meter.report(&lane.finish()),
            expect![[r#"
            wall 100ms lanes 1 Times { wall: 100ms, cpu: 100ms }
            map 60ms cpu 60ms share 0.60 estimated 60ms
            encode 40ms cpu 40ms share 0.40 estimated 40ms
            unaccounted Unaccounted { wall_ns: 0, cpu_ns: 0 } share 0.000"#]],
        );
    }

    #[test]
    fn time_charged_twice_is_negative_unaccounted_time() {
        let hands = Hands::default();
        let meter = Meter::with_clock(&hands);
        let mut lane = meter.lane();
        lane.enter(Phase::Write);
        hands.pass(100, 10);
        lane.charge(Phase::Commit, Times { wall: Duration::from_millis(30), cpu: Duration::ZERO });
        let report = meter.report(&lane.finish());
        check(
            &report,
            expect![[r#"
            wall 100ms lanes 1 Times { wall: 100ms, cpu: 10ms }
            write 100ms cpu 10ms share 1.00
            commit 30ms cpu 0ns share 0.30
            unaccounted Unaccounted { wall_ns: -30000000, cpu_ns: 0 } share -0.300"#]],
        );
        assert!(!report.identity_holds(0.1));
    }

    #[test]
    fn an_empty_run_has_no_rates() {
        let hands = Hands::default();
        let report = Meter::with_clock(&hands).report(&Totals::default());
        assert_eq!((report.records_per_s(), report.cpu_per_record(), report.cpus_busy()), (None, None, None));
        assert!(report.identity_holds(0.0));
    }
}
