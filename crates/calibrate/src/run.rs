//! Runs a kernel on a number of threads in slices.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use quayline_capacity::Share;
use quayline_capacity::calibration::KernelRate;
use rustix::time::{ClockId, clock_gettime};

/// Slices of a run; their median is the rate.
const SLICES: usize = 5;

/// A prepared kernel of one thread.
pub(crate) trait Work {
    /// Does a batch, which takes up to some milliseconds. Gives the operations that it did.
    fn batch(&mut self) -> Result<u64, String>;
}

/// Work of one thread in one slice.
#[derive(Clone, Copy, Default)]
struct Done {
    operations: u64,
    cpu: Duration,
    wall: Duration,
    /// Time in which the thread was ready and had no processor.
    waited: Duration,
}

/// Runs kernels, and remembers how much neighbours disturbed them.
pub(crate) struct Runner {
    time: Duration,
    wall: Duration,
    waited: Duration,
}

impl Runner {
    pub(crate) fn new(time: Duration) -> Runner {
        Runner { time, wall: Duration::ZERO, waited: Duration::ZERO }
    }

    /// Returns the share of the threads' time in which they were ready without a processor.
    pub(crate) fn disturbance(&self) -> Share {
        Share(if self.wall.is_zero() { 0.0 } else { self.waited.as_secs_f64() / self.wall.as_secs_f64() })
    }

    /// Measures the rate of some work on a number of threads, each with its own: operations a CPU second of a thread if the processor bounds it, and a
    /// second of wall time of all threads otherwise.
    pub(crate) fn measure(
        &mut self,
        is_processor_bound: bool,
        threads: u32,
        prepare: &(dyn Fn() -> Result<Box<dyn Work>, String> + Sync),
    ) -> Result<KernelRate, String> {
        let slice = self.time / u32::try_from(SLICES).unwrap_or(1);
        let barrier = Barrier::new(threads as usize);
        let outcomes: Vec<Result<Vec<Done>, String>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| thread(prepare, &barrier, slice))).collect();
            let joined = workers.into_iter().map(|worker| worker.join().map_err(|_| "a thread panicked".to_owned()));
            joined.map(|outcome| outcome.and_then(|done| done)).collect()
        });
        let by_thread: Vec<Vec<Done>> = outcomes.into_iter().collect::<Result<_, _>>()?;
        let mut rates = Vec::with_capacity(SLICES);
        for at in 0..SLICES {
            let slices = by_thread.iter().filter_map(|slices| slices.get(at));
            let (mut operations, mut cpu, mut wall) = (0.0, 0.0, 0.0_f64);
            for done in slices {
                operations += done.operations as f64;
                cpu += done.cpu.as_secs_f64();
                wall = wall.max(done.wall.as_secs_f64());
                if is_processor_bound {
                    self.wall += done.wall;
                    self.waited += done.waited;
                }
            }
            let time = if is_processor_bound { cpu } else { wall };
            rates.push(operations / time.max(1e-9));
        }
        Ok(rate(rates))
    }
}

/// Computes the median of rates, and 1.48 times the median of their deviations.
fn rate(mut rates: Vec<f64>) -> KernelRate {
    let middle = median(&mut rates);
    let mut apart: Vec<f64> = rates.iter().map(|rate| (rate - middle).abs()).collect();
    let spread = if middle > 0.0 { 1.4826 * median(&mut apart) / middle } else { 0.0 };
    KernelRate { rate: middle, spread: Share(spread) }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn thread(
    prepare: &(dyn Fn() -> Result<Box<dyn Work>, String> + Sync),
    barrier: &Barrier,
    slice: Duration,
) -> Result<Vec<Done>, String> {
    let prepared = prepare().and_then(|mut work| work.batch().map(|_| work));
    // Every thread must reach the barrier, or the others would wait forever.
    barrier.wait();
    let mut work = prepared?;
    let mut slices = Vec::with_capacity(SLICES);
    for _ in 0..SLICES {
        let (began, cpu, waited) = (Instant::now(), thread_cpu(), run_queue_wait());
        let mut done = Done::default();
        while began.elapsed() < slice {
            done.operations += work.batch()?;
        }
        done.cpu = thread_cpu().saturating_sub(cpu);
        done.waited = run_queue_wait().saturating_sub(waited);
        done.wall = began.elapsed();
        slices.push(done);
    }
    Ok(slices)
}

/// Returns the CPU time of this thread.
pub(crate) fn thread_cpu() -> Duration {
    of_clock(ClockId::ThreadCPUTime)
}

/// Returns the CPU time of this process.
pub(crate) fn process_cpu() -> Duration {
    of_clock(ClockId::ProcessCPUTime)
}

fn of_clock(id: ClockId) -> Duration {
    let now = clock_gettime(id);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or_default(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Returns the time of this thread on run queues, as the scheduler counts it; zero if it does not.
fn run_queue_wait() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = stat.split_ascii_whitespace().nth(1).and_then(|waited| waited.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}
