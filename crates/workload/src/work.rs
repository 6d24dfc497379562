//! The work of a process: its threads by class, turns of classes that are held to their share, and counts.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use quayline_capacity::plan::Band;
use quayline_meter::{Waited, waited_by_work};
use rustix::process::{Pid, getpriority_process, setpriority_process};

use crate::class::Classes;
use crate::config::WorkloadConfig;
use crate::figure::Figure;
use crate::hold::Hold;
use crate::kind::Kind;
use crate::regulator::nice_of;
use crate::system::{schedule_of, thread_cpu_ns};

/// Milliseconds for which a class counts as working after its last sign of work.
const WORKS_MS: u64 = 1_000;

/// Counts of one member of a class since its start, from a part of the program. A decreasing number means that the member started again.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberTotals {
    /// Kind of the member.
    pub kind: Kind,
    /// Operation, flow, job or action.
    pub name: String,
    /// Transactions that ended, good or failed.
    pub count: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Response times, added up, in seconds; 0 if they are not measured.
    pub wall_s: f64,
    /// Weight for dividing the CPU time of shared threads: seconds of computing, to the extent that the source measures them.
    pub weight_s: f64,
    /// Units of work committed, by which the store's threads are charged.
    pub commits: u64,
    /// Time by phase in seconds.
    pub phases: Vec<(&'static str, f64)>,
    /// Single times: upper bounds in seconds, ascending, and counts.
    pub times: Vec<(f64, u64)>,
    /// TLS handshakes of its clients: full, resumed.
    pub handshakes: [u64; 2],
    /// Seconds for which its transactions waited for programs in other processes, by which the CPU time of these is divided.
    pub programs_s: f64,
    /// Seconds for which its transactions waited for other systems, programs in other processes included, while their thread did other work.
    pub external_s: f64,
    /// Seconds for which its transactions waited for files and devices while their thread did other work.
    pub device_s: f64,
}

impl MemberTotals {
    /// Creates totals of zero.
    #[must_use]
    pub fn new(kind: Kind, name: impl Into<String>) -> MemberTotals {
        MemberTotals {
            kind,
            name: name.into(),
            count: 0,
            failed: 0,
            wall_s: 0.0,
            weight_s: 0.0,
            commits: 0,
            phases: Vec::new(),
            times: Vec::new(),
            handshakes: [0; 2],
            programs_s: 0.0,
            external_s: 0.0,
            device_s: 0.0,
        }
    }
}

/// A part of the program that counts work.
pub trait Source: Send + Sync {
    /// Returns every member with its totals.
    fn totals(&self) -> Vec<MemberTotals>;

    /// Returns the TLS handshakes since the start: full, resumed.
    fn handshakes(&self) -> Option<[u64; 2]> {
        None
    }

    /// Returns the CPU time of programs in other processes since the start, in seconds.
    fn programs_cpu_s(&self) -> Option<f64> {
        None
    }

    /// Returns figures other than counts of members. The collector reads them several times in an interval.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    /// Returns the look-ups of compiled definitions since the start: found, not found.
    fn definitions(&self) -> Option<[u64; 2]> {
        None
    }
}

/// A thread that works for a class.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    pub(crate) kind: Kind,
    /// The member that the thread works for; `None` if it works for all members of its kind.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) class: usize,
    /// Counters already charged: run time and run-queue wait, in nanoseconds.
    pub(crate) counted: (u64, u64),
    /// Waits of its work that are charged already.
    pub(crate) waited: Waited,
}

/// A part of a member: kind, member, part.
pub(crate) type PartKey = (Kind, Arc<str>, Arc<str>);

/// Counts of members whose threads register themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Own {
    pub(crate) run_ns: u64,
    pub(crate) wait_ns: u64,
    pub(crate) count: u64,
    pub(crate) failed: u64,
    pub(crate) commits: u64,
    pub(crate) wall_ns: u64,
    pub(crate) programs_ns: u64,
    pub(crate) checkpoint_ns: u64,
    pub(crate) waited_ns: Waited,
}

impl Own {
    fn add(&mut self, other: Own) {
        self.run_ns += other.run_ns;
        self.wait_ns += other.wait_ns;
        self.count += other.count;
        self.failed += other.failed;
        self.commits += other.commits;
        self.wall_ns += other.wall_ns;
        self.programs_ns += other.programs_ns;
        self.checkpoint_ns += other.checkpoint_ns;
        self.waited_ns.iter_mut().zip(other.waited_ns).for_each(|(sum, part)| *sum += part);
    }

    /// Returns the difference to an earlier state.
    pub(crate) fn since(self, earlier: Own) -> Own {
        Own {
            run_ns: self.run_ns.saturating_sub(earlier.run_ns),
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
            count: self.count.saturating_sub(earlier.count),
            failed: self.failed.saturating_sub(earlier.failed),
            commits: self.commits.saturating_sub(earlier.commits),
            wall_ns: self.wall_ns.saturating_sub(earlier.wall_ns),
            programs_ns: self.programs_ns.saturating_sub(earlier.programs_ns),
            checkpoint_ns: self.checkpoint_ns.saturating_sub(earlier.checkpoint_ns),
            waited_ns: more(self.waited_ns, earlier.waited_ns),
        }
    }
}

/// Returns the waits since an earlier state.
pub(crate) fn more(now: Waited, earlier: Waited) -> Waited {
    std::array::from_fn(|at| now[at].saturating_sub(earlier[at]))
}

/// The work of a process. Parts of the program share it.
pub struct Workload {
    pub(crate) config: WorkloadConfig,
    pub(crate) classes: Classes,
    /// Holds by class; `None` without an entitlement, or if shares are not enforced.
    pub(crate) holds: Vec<Option<Hold>>,
    /// Band of each class now.
    bands: Mutex<Vec<Band>>,
    /// By class: milliseconds since the start at the last sign of work, plus one.
    signs: Vec<AtomicU64>,
    pub(crate) threads: Mutex<HashMap<u32, Registered>>,
    /// Threads that no longer work for a class, with their run time up to then. Their later time belongs to no class.
    pub(crate) left: Mutex<HashMap<u32, u64>>,
    pub(crate) members: Mutex<HashMap<(Kind, Arc<str>), Own>>,
    /// Parts of members, such as the steps of a job.
    pub(crate) parts: Mutex<HashMap<PartKey, Own>>,
    pub(crate) sources: Mutex<Vec<Arc<dyn Source>>>,
    pub(crate) began: Instant,
}

impl core::fmt::Debug for Workload {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Workload").field("classes", &self.classes).finish_non_exhaustive()
    }
}

impl Workload {
    /// Creates the workload of a process on a machine with this number of processors.
    #[must_use]
    pub fn new(config: WorkloadConfig, processors: u32) -> Arc<Workload> {
        let classes = Classes::new(&config);
        let hold = |entitlement: Option<f64>| {
            entitlement.filter(|_| config.govern).map(|entitlement| Hold::new(entitlement, processors))
        };
        let bands = classes.all().iter().map(|class| Band::of(class.priority).unwrap_or(Band(6))).collect();
        Arc::new(Workload {
            holds: classes.all().iter().map(|class| hold(class.entitlement)).collect(),
            signs: classes.all().iter().map(|_| AtomicU64::new(0)).collect(),
            bands: Mutex::new(bands),
            classes,
            config,
            threads: Mutex::default(),
            left: Mutex::default(),
            members: Mutex::default(),
            parts: Mutex::default(),
            sources: Mutex::default(),
            began: Instant::now(),
        })
    }

    /// The classes.
    #[must_use]
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &WorkloadConfig {
        &self.config
    }

    /// Adds a part of the program that counts.
    pub fn add_source(&self, source: Arc<dyn Source>) {
        self.sources.lock().push(source);
    }

    /// Registers the current thread for a member, or for all members of a kind, until the value is dropped. The thread gets the priority of the class.
    #[must_use]
    pub fn join(self: &Arc<Self>, kind: Kind, name: Option<&str>) -> Working {
        let pid = rustix::thread::gettid();
        let tid = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0);
        let class = self.classes.of(kind, name.unwrap_or(""));
        let counted = schedule_of(tid).unwrap_or_default();
        let registered = Registered { kind, name: name.map(Arc::from), class, counted, waited: waited_by_work() };
        let before = self.threads.lock().insert(tid, registered);
        let nice = self.config.govern.then(|| getpriority_process(Some(pid)).ok()).flatten();
        if nice.is_some() {
            let band = self.bands.lock()[class];
            set_nice(tid, nice_of(band));
        }
        Working { workload: Arc::clone(self), tid, before, nice, on_this_thread: PhantomData }
    }

    /// Begins a piece of work of a member on the current thread: a chunk, a file. It waits if the class is above its share while others work.
    #[must_use]
    pub fn turn(self: &Arc<Self>, kind: Kind, name: &str) -> Turn {
        self.turn_of(kind, name, None)
    }

    /// Begins a piece of work as [`Workload::turn`] does, and counts it for a part of the member as well, such as a step of a job.
    #[must_use]
    pub fn turn_of(self: &Arc<Self>, kind: Kind, name: &str, part: Option<&str>) -> Turn {
        let class = self.classes.of(kind, name);
        self.sign(class);
        if let Some(hold) = &self.holds[class] {
            hold.begin(&|| self.began.elapsed(), &|| self.others_work(class));
        }
        Turn {
            workload: Arc::clone(self),
            kind,
            name: Arc::from(name),
            part: part.map(Arc::from),
            class,
            began: Instant::now(),
            cpu_ns: (part.is_some() || self.holds[class].is_some()).then(thread_cpu_ns),
            own: Own::default(),
            on_this_thread: PhantomData,
        }
    }

    /// Returns the time that the next piece of work of a class should wait; for work that is a future and must not block.
    #[must_use]
    pub fn pause(&self, class: usize) -> Option<Duration> {
        let hold = self.holds[class].as_ref()?;
        let pause = hold.due(self.began.elapsed())?;
        if !self.others_work(class) {
            return None;
        }
        hold.held_ns.fetch_add(u64::try_from(pause.as_nanos()).unwrap_or(0), Ordering::Relaxed);
        Some(pause)
    }

    /// Returns true if [`Workload::charge`] has an effect for a class.
    #[must_use]
    pub fn is_held(&self, class: usize) -> bool {
        self.holds[class].is_some()
    }

    /// Charges CPU time to a class whose work has no turns.
    pub fn charge(&self, class: usize, cpu: Duration) {
        if let Some(hold) = &self.holds[class] {
            hold.charge(cpu);
        }
    }

    /// Returns the CPU time of the current thread.
    #[must_use]
    pub fn thread_cpu() -> Duration {
        Duration::from_nanos(thread_cpu_ns())
    }

    /// Records a sign of work of a class.
    pub fn sign(&self, class: usize) {
        let now = self.now_ms() + 1;
        let sign = &self.signs[class];
        // Written seldom, so that threads do not take the line from each other.
        let last = sign.load(Ordering::Relaxed);
        if last == 0 || now.saturating_sub(last) > WORKS_MS / 10 {
            sign.store(now, Ordering::Relaxed);
        }
    }

    /// Returns true if another class has worked recently.
    pub(crate) fn others_work(&self, class: usize) -> bool {
        let now = self.now_ms() + 1;
        let works = |sign: &AtomicU64| {
            let at = sign.load(Ordering::Relaxed);
            at > 0 && now.saturating_sub(at) < WORKS_MS
        };
        self.signs.iter().enumerate().any(|(other, sign)| other != class && works(sign))
    }

    /// Gives the threads of a class the priority of a band.
    pub(crate) fn set_band(&self, class: usize, band: Band) {
        let mut bands = self.bands.lock();
        if bands[class] == band || !self.config.govern {
            return;
        }
        bands[class] = band;
        drop(bands);
        for (tid, _) in self.threads.lock().iter().filter(|(_, thread)| thread.class == class) {
            set_nice(*tid, nice_of(band));
        }
    }

    /// Returns the number of registered threads of a class.
    pub(crate) fn threads_of(&self, class: usize) -> u32 {
        let count = self.threads.lock().values().filter(|thread| thread.class == class).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn add(&self, kind: Kind, name: &Arc<str>, own: Own) {
        self.members.lock().entry((kind, Arc::clone(name))).or_default().add(own);
    }
}

/// Sets the nice value of a thread. To raise a priority needs a privilege; without it the thread keeps the lower one until it ends.
fn set_nice(tid: u32, nice: i32) {
    if let Some(pid) = i32::try_from(tid).ok().and_then(Pid::from_raw) {
        // Nothing is lost where the system refuses: the share still holds.
        let _ = setpriority_process(Some(pid), nice);
    }
}

/// The current thread works for a class as long as this value lives.
#[derive(Debug)]
pub struct Working {
    workload: Arc<Workload>,
    tid: u32,
    /// Previous registration of the thread.
    before: Option<Registered>,
    nice: Option<i32>,
    on_this_thread: PhantomData<*const ()>,
}

impl Drop for Working {
    fn drop(&mut self) {
        let (run, wait) = schedule_of(self.tid).unwrap_or_default();
        let mut threads = self.workload.threads.lock();
        let ended = match self.before.take() {
            Some(before) => {
                threads.insert(self.tid, Registered { counted: (run, wait), waited: waited_by_work(), ..before })
            }
            None => {
                // Only the collector takes them out again.
                if self.workload.config.collect {
                    self.workload.left.lock().insert(self.tid, run);
                }
                threads.remove(&self.tid)
            }
        };
        drop(threads);
        if let Some(Registered { kind, name: Some(name), counted, waited: charged, .. }) = ended {
            let own = Own {
                run_ns: run.saturating_sub(counted.0),
                wait_ns: wait.saturating_sub(counted.1),
                waited_ns: more(waited_by_work(), charged),
                ..Own::default()
            };
            self.workload.add(kind, &name, own);
        }
        if let Some(nice) = self.nice {
            set_nice(self.tid, nice);
        }
    }
}

/// A piece of work that has its turn.
#[derive(Debug)]
pub struct Turn {
    workload: Arc<Workload>,
    kind: Kind,
    name: Arc<str>,
    part: Option<Arc<str>>,
    class: usize,
    began: Instant,
    cpu_ns: Option<u64>,
    own: Own,
    on_this_thread: PhantomData<*const ()>,
}

impl Turn {
    /// Counts transactions, of which some failed, and the commit of their unit of work. If all failed, it was rolled back.
    pub fn done(&mut self, count: u64, failed: u64) {
        self.own.count += count;
        self.own.failed += failed;
        self.own.commits += u64::from(failed == 0 || failed < count);
    }

    /// Counts time of checkpoints and commits, which is a part of the turn.
    pub fn in_checkpoint(&mut self, nanoseconds: u64) {
        self.own.checkpoint_ns += nanoseconds;
    }

    /// Counts time for which the work waited for programs in other processes.
    pub fn in_programs(&mut self, time: Duration) {
        self.own.programs_ns += u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.own.wall_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let cpu_ns = self.cpu_ns.map(|before| thread_cpu_ns().saturating_sub(before));
        if let (Some(hold), Some(cpu_ns)) = (&self.workload.holds[self.class], cpu_ns) {
            hold.end(Duration::from_nanos(cpu_ns));
        }
        if let Some(part) = self.part.take() {
            // The thread counts the CPU time of the member; this is what the part has of it.
            let own = Own { run_ns: cpu_ns.unwrap_or(0), ..self.own };
            let key = (self.kind, Arc::clone(&self.name), part);
            self.workload.parts.lock().entry(key).or_default().add(own);
        }
        self.workload.sign(self.class);
        self.workload.add(self.kind, &self.name, self.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> WorkloadConfig {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_turn_counts_and_a_thread_that_ends_is_counted() {
        let workload = Workload::new(WorkloadConfig::default(), 2);
        let other = Arc::clone(&workload);
        std::thread::spawn(move || {
            let _working = other.join(Kind::Batch, Some("night"));
            let mut turn = other.turn_of(Kind::Batch, "night", Some("load"));
            let until = thread_cpu_ns() + 20_000_000;
            while thread_cpu_ns() < until {}
            quayline_meter::waiting(quayline_meter::WaitFor::Room, || std::thread::sleep(Duration::from_millis(5)));
            turn.done(10, 1);
            drop(turn);
            // A unit of work that was rolled back.
            other.turn_of(Kind::Batch, "night", Some("back")).done(1, 1);
        })
        .join()
        .unwrap();
        assert!(workload.threads.lock().is_empty());
        assert_eq!(workload.left.lock().len(), 1);
        let own = workload.members.lock()[&(Kind::Batch, Arc::from("night"))];
        assert_eq!((own.count, own.failed, own.commits), (11, 2, 1));
        assert!(own.wall_ns >= 20_000_000, "{own:?}");
        // The wait of the thread is one of its class, by its reason.
        let [lock, work, room, commit, device, external] = own.waited_ns;
        assert!(room >= 5_000_000 && room <= own.wall_ns, "{own:?}");
        assert_eq!([lock, work, commit, device, external], [0; 5], "{own:?}");
        let part = workload.parts.lock()[&(Kind::Batch, Arc::from("night"), Arc::from("load"))];
        assert!((part.count, part.commits) == (10, 1) && part.wall_ns <= own.wall_ns, "{part:?}");
        assert!(part.run_ns >= 20_000_000, "{part:?}");
        if cfg!(target_os = "linux") {
            assert!((10_000_000..200_000_000).contains(&own.run_ns), "{own:?}");
        }
    }

    #[test]
    fn a_class_waits_only_while_others_work() {
        let workload = Workload::new(config("[[class]]\nname = \"batch\"\nentitlement-percent = 10\n"), 1);
        let batch = workload.classes.of(Kind::Batch, "x");
        workload.charge(batch, Duration::from_secs(5));
        assert_eq!(workload.pause(batch), None);
        workload.sign(workload.classes.of(Kind::Api, "op"));
        assert_eq!(workload.pause(batch), Some(crate::TURN_WAIT_MAX));
        let off = Workload::new(config("govern = false\n[[class]]\nname = \"batch\"\nentitlement-percent = 10\n"), 1);
        off.charge(batch, Duration::from_secs(5));
        off.sign(off.classes.of(Kind::Api, "op"));
        assert_eq!((off.pause(batch), off.is_held(batch)), (None, false));
    }

    #[test]
    fn a_thread_has_the_priority_of_its_class_and_gives_it_back() {
        let workload = Workload::new(WorkloadConfig::default(), 2);
        let nice = || getpriority_process(Some(rustix::thread::gettid())).unwrap();
        std::thread::spawn(move || {
            let before = nice();
            let working = workload.join(Kind::Batch, Some("night"));
            assert_eq!(nice(), before.max(15));
            let batch = workload.classes.of(Kind::Batch, "night");
            workload.set_band(batch, Band(6));
            assert_eq!(nice(), 19);
            drop(working);
            // Without the privilege the system keeps the lower priority.
            assert!([before, 19].contains(&nice()));
        })
        .join()
        .unwrap();
    }
}
