//! The collector: samples the use of every class each second, and completes an interval with its results.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quayline_meter::thread_waits;

use crate::alert::{Alert, Message};
use crate::figure::{Figure, FigureValue, Seen, names};
use crate::interval::{ClassInterval, Interval, MemberInterval, PartInterval, TimesInterval, WaitsInterval};
use crate::kind::Kind;
use crate::regulator::Regulator;
use crate::system::{Probe, ThreadUse, thread_cpu_ns};
use crate::work::{MemberTotals, Own, PartKey, Workload, more};

/// Members of a class in an interval; those that used less are added up as one.
const MEMBERS_MAX: usize = 100;
/// Prefixes of the names of threads that work on behalf of committing classes.
const HELPERS: [&str; 3] = ["store", "journal", "log"];
const NS: f64 = 1e9;
/// Ticks between two looks at figures.
const FIGURE_TICKS: u32 = 5;

/// Collects the intervals of a process. It is called once a second by one thread.
pub struct Collector {
    workload: Arc<Workload>,
    probe: Box<dyn Probe>,
    alerts: Vec<Alert>,
    regulators: Vec<Option<Regulator>>,
    /// Counters at the last tick.
    last: Last,
    current: Current,
    /// By class: the share of all processors that it used since the previous tick.
    shares: Vec<f64>,
    /// Ticks so far.
    looks: u32,
}

#[derive(Default)]
struct Last {
    up_ns: u128,
    process_ns: u64,
    own_cpu_ns: u64,
    /// Run time of threads that are not registered.
    others: HashMap<u32, u64>,
    members: HashMap<(Kind, String), MemberTotals>,
    own: HashMap<(Kind, Arc<str>), Own>,
    parts: HashMap<PartKey, Own>,
    handshakes: [u64; 2],
    definitions: [u64; 2],
    held_ns: Vec<u64>,
    programs_cpu_s: f64,
    /// CPU time of programs in unfinished calls. These calls have no member yet.
    programs_left_ns: f64,
    /// Counts of figures.
    counted: HashMap<String, f64>,
}

/// The interval that is being collected.
#[derive(Default)]
struct Current {
    interval: Interval,
    /// Members by class.
    members: Vec<HashMap<(Kind, String), MemberInterval>>,
    phases: Vec<Vec<(&'static str, f64)>>,
    times: Vec<HashMap<u64, u64>>,
    pressure: (f64, u32),
    /// End on the monotonic clock. The other clock may be set while the interval is collected.
    end_ns: u128,
}

/// Result of a tick.
#[derive(Debug, Default)]
pub struct Tick {
    /// The interval that ended.
    pub interval: Option<Interval>,
    /// Messages of alerts.
    pub messages: Vec<Message>,
}

/// Use of one member since the previous tick.
#[derive(Clone, Copy, Default)]
struct Delta {
    run_ns: f64,
    wait_ns: f64,
    weight: f64,
    commits: u64,
    helper_ns: f64,
    count: u64,
    failed: u64,
    wall_s: f64,
    programs_s: f64,
    programs_ns: f64,
    checkpoint_s: f64,
    handshakes: [u64; 2],
    waits: WaitsInterval,
}

impl Collector {
    /// Creates a collector that starts now.
    #[must_use]
    pub fn new(workload: Arc<Workload>, probe: Box<dyn Probe>) -> Collector {
        let regulators =
            workload.classes.all().iter().map(|class| {
                class.entitlement.filter(|_| workload.config.govern).map(|_| Regulator::new(class.priority))
            });
        let mut collector = Collector {
            alerts: workload.config.alert.iter().cloned().map(Alert::new).collect(),
            shares: vec![0.0; workload.classes.all().len()],
            regulators: regulators.collect(),
            workload,
            probe,
            looks: 0,
            last: Last::default(),
            current: Current::default(),
        };
        collector.last.held_ns = vec![0; collector.regulators.len()];
        collector.begin();
        collector.last.up_ns = collector.probe.uptime().as_nanos();
        collector.last.process_ns = collector.probe.process().cpu_ns;
        collector.last.own_cpu_ns = thread_cpu_ns();
        collector.look_at_figures();
        collector.current.interval.counted.clear();
        let known: Vec<u32> = collector.workload.threads.lock().keys().copied().collect();
        for thread in collector.probe.threads() {
            if !known.contains(&thread.tid) {
                collector.last.others.insert(thread.tid, thread.run_ns);
            }
        }
        collector
    }

    /// The alerts.
    #[must_use]
    pub fn alerts(&self) -> &[Alert] {
        &self.alerts
    }

    /// Returns the unfinished interval.
    #[must_use]
    pub fn current(&self) -> &Interval {
        &self.current.interval
    }

    /// Ends the interval that has begun, however short it is.
    pub fn finish(&mut self) -> Tick {
        let mut tick = self.tick();
        if tick.interval.is_none() {
            self.look_at_figures();
        }
        if tick.interval.is_none() && self.current.interval.seconds > 0.0 {
            self.end(&mut tick);
        }
        tick
    }

    /// Looks at the process; call it about once a second.
    pub fn tick(&mut self) -> Tick {
        let up = self.probe.uptime();
        let seconds = (up.as_nanos().saturating_sub(self.last.up_ns)) as f64 / NS;
        if seconds <= 0.0 {
            return Tick::default();
        }
        self.last.up_ns = up.as_nanos();
        self.count(seconds);
        self.looks = self.looks.wrapping_add(1);
        let is_end = up.as_nanos() >= self.current.end_ns;
        if self.looks.is_multiple_of(FIGURE_TICKS) || is_end {
            self.look_at_figures();
        }
        self.regulate(u64::try_from(up.as_millis()).unwrap_or(u64::MAX));
        let mut tick = Tick::default();
        if is_end {
            self.end(&mut tick);
        }
        tick
    }

    /// Adds the work since the last tick to the interval.
    fn count(&mut self, seconds: f64) {
        let mut deltas: HashMap<(Kind, String), Delta> = HashMap::new();
        let mut pools = [Delta::default(); 4];
        let (mut helper_ns, mut other_ns) = (0.0, 0.0);
        let threads = self.probe.threads();
        self.charge_threads(&threads, &mut deltas, &mut pools, (&mut helper_ns, &mut other_ns));
        self.count_own(&mut deltas);
        self.count_sources(&mut deltas);
        let mut programs_ns = self.programs_ns() + core::mem::take(&mut self.last.programs_left_ns);
        divide(&mut deltas, &mut pools, &mut helper_ns, &mut programs_ns);
        self.last.programs_left_ns = programs_ns;
        let process = self.probe.process();
        let process_ns = process.cpu_ns.saturating_sub(self.last.process_ns) as f64;
        self.last.process_ns = process.cpu_ns;
        let own_ns = thread_cpu_ns();
        let collector_ns = own_ns.saturating_sub(self.last.own_cpu_ns) as f64;
        self.last.own_cpu_ns = own_ns;

        let processors = f64::from(self.current.interval.processors);
        let mut used_ns = vec![0.0; self.regulators.len()];
        for ((kind, name), delta) in deltas {
            let at = self.workload.classes.of(kind, &name);
            used_ns[at] += delta.run_ns;
            let class = &mut self.current.interval.classes[at];
            class.count += delta.count;
            class.failed += delta.failed;
            class.commits += delta.commits;
            class.wall_s += delta.wall_s;
            class.cpu_s += delta.run_ns / NS;
            class.helper_cpu_s += delta.helper_ns / NS;
            class.run_queue_s += delta.wait_ns / NS;
            class.programs_cpu_s += delta.programs_ns / NS;
            class.waits.add(delta.waits);
            class.handshakes_full += delta.handshakes[0];
            class.handshakes_resumed += delta.handshakes[1];
            let member = self.current.members[at].entry((kind, name)).or_default();
            member.add(&MemberInterval {
                name: String::new(),
                count: delta.count,
                failed: delta.failed,
                commits: delta.commits,
                wall_s: delta.wall_s,
                cpu_s: delta.run_ns / NS,
                helper_cpu_s: delta.helper_ns / NS,
                run_queue_s: delta.wait_ns / NS,
                programs_cpu_s: delta.programs_ns / NS,
                checkpoint_s: delta.checkpoint_s,
                handshakes_full: delta.handshakes[0],
                handshakes_resumed: delta.handshakes[1],
                parts: Vec::new(),
            });
        }
        self.count_parts();
        // What threads of a kind did without any member that counts it, such as connections.
        for (kind, pool) in Kind::ALL.into_iter().zip(pools) {
            let at = self.workload.classes.of(kind, "");
            used_ns[at] += pool.run_ns;
            let class = &mut self.current.interval.classes[at];
            class.cpu_s += pool.run_ns / NS;
            class.run_queue_s += pool.wait_ns / NS;
            class.waits.add(pool.waits);
        }
        for (at, used_ns) in used_ns.iter().enumerate() {
            self.shares[at] = used_ns / NS / (processors * seconds);
            let class = &mut self.current.interval.classes[at];
            if let Some(threshold) = self.workload.classes.all()[at].threshold {
                let above = used_ns / NS - threshold * processors * seconds;
                if above > 0.0 {
                    class.above_s += seconds;
                    class.above_cpu_s += above;
                }
            }
            if let Some(hold) = &self.workload.holds[at] {
                let held = hold.held_ns.load(Ordering::Relaxed);
                class.held_s += held.saturating_sub(self.last.held_ns[at]) as f64 / NS;
                self.last.held_ns[at] = held;
            }
        }
        let interval = &mut self.current.interval;
        interval.seconds += seconds;
        interval.cpu_s += process_ns / NS;
        interval.helper_cpu_s += helper_ns / NS;
        interval.other_cpu_s += other_ns / NS;
        interval.collector_cpu_s += collector_ns / NS;
        if let Some(pressure) = process.pressure {
            self.current.pressure.0 += pressure;
            self.current.pressure.1 += 1;
        }
    }

    /// Charges the kernel's counters of each thread.
    fn charge_threads(
        &mut self,
        threads: &[ThreadUse],
        deltas: &mut HashMap<(Kind, String), Delta>,
        pools: &mut [Delta; 4],
        (helper_ns, other_ns): (&mut f64, &mut f64),
    ) {
        let waits = thread_waits();
        let mut registered = self.workload.threads.lock();
        self.last.others.extend(self.workload.left.lock().drain());
        let mut others = HashMap::new();
        for thread in threads {
            let Some(known) = registered.get_mut(&thread.tid) else {
                let before = self.last.others.get(&thread.tid).copied();
                // A number that falls is of another thread.
                let before = before.filter(|before| *before <= thread.run_ns).unwrap_or(0);
                let run = (thread.run_ns - before) as f64;
                let is_helper = HELPERS.iter().any(|name| thread.name.starts_with(name));
                *(if is_helper { &mut *helper_ns } else { &mut *other_ns }) += run;
                others.insert(thread.tid, thread.run_ns);
                continue;
            };
            let (run, wait) = known.counted;
            let (run, wait) = (thread.run_ns.saturating_sub(run), thread.wait_ns.saturating_sub(wait));
            known.counted = (thread.run_ns, thread.wait_ns);
            let delta = match &known.name {
                Some(name) => deltas.entry((known.kind, name.to_string())).or_default(),
                None => &mut pools[known.kind as usize],
            };
            delta.run_ns += run as f64;
            delta.wait_ns += wait as f64;
            if let Some(waits) = waits.iter().find(|waits| waits.thread == thread.tid) {
                let waited = waits.of_work();
                delta.waits.add(WaitsInterval::of(more(waited, known.waited)));
                known.waited = waited;
            }
        }
        self.last.others = others;
    }

    /// Adds the counts of members whose threads register themselves.
    fn count_own(&mut self, deltas: &mut HashMap<(Kind, String), Delta>) {
        for ((kind, name), own) in self.workload.members.lock().iter() {
            let last = self.last.own.entry((*kind, Arc::clone(name))).or_default();
            if last == own {
                continue;
            }
            let more = own.since(*last);
            let delta = deltas.entry((*kind, name.to_string())).or_default();
            delta.run_ns += more.run_ns as f64;
            delta.wait_ns += more.wait_ns as f64;
            delta.count += more.count;
            delta.failed += more.failed;
            delta.commits += more.commits;
            delta.wall_s += more.wall_ns as f64 / NS;
            delta.programs_s += more.programs_ns as f64 / NS;
            delta.checkpoint_s += more.checkpoint_ns as f64 / NS;
            delta.waits.add(WaitsInterval::of(more.waited_ns));
            *last = *own;
        }
    }

    /// Adds the counts of parts of members.
    fn count_parts(&mut self) {
        for ((kind, name, part), own) in self.workload.parts.lock().iter() {
            let key = (*kind, Arc::clone(name), Arc::clone(part));
            let last = self.last.parts.entry(key).or_default();
            let more = own.since(*last);
            if more == Own::default() {
                continue;
            }
            *last = *own;
            let at = self.workload.classes.of(*kind, name);
            let member = self.current.members[at].entry((*kind, name.to_string())).or_default();
            member.add_part(&PartInterval {
                name: part.to_string(),
                count: more.count,
                failed: more.failed,
                commits: more.commits,
                wall_s: more.wall_ns as f64 / NS,
                cpu_s: more.run_ns as f64 / NS,
            });
        }
    }

    /// Returns the CPU time of programs in other processes since the last call, in nanoseconds.
    fn programs_ns(&mut self) -> f64 {
        let sources = self.workload.sources.lock().clone();
        let now: f64 = sources.iter().filter_map(|source| source.programs_cpu_s()).sum();
        let more = (now - self.last.programs_cpu_s).max(0.0);
        self.last.programs_cpu_s = now;
        more * NS
    }

    /// Figures of the machine, of the settings and of parts of the program.
    fn look_at_figures(&mut self) {
        let mut figures = self.probe.figures();
        figures.push(Figure::now(names::UPTIME, self.workload.began.elapsed().as_secs_f64()));
        let classes = self.workload.classes.all();
        let is_governed = self.workload.config.govern && classes.iter().any(|class| class.entitlement.is_some());
        figures.push(Figure::holds(names::REGULATOR, is_governed));
        let batch = &classes[self.workload.classes.of(Kind::Batch, "")];
        figures.push(Figure::now(names::BATCH_PRIORITY, f64::from(batch.priority)));
        let sources = self.workload.sources.lock().clone();
        figures.extend(sources.iter().flat_map(|source| source.figures()));
        let interval = &mut self.current.interval;
        for Figure { name, value } in figures {
            match value {
                FigureValue::Total(now) => {
                    // What was counted before the first look belongs to no interval; a count that falls began again.
                    let before = self.last.counted.insert(name.clone(), now);
                    let more = before.map_or(0.0, |before| if now >= before { now - before } else { now });
                    *interval.counted.entry(name).or_default() += more;
                }
                FigureValue::Now(now) => {
                    interval.seen.entry(name).and_modify(|seen| seen.again(now)).or_insert_with(|| Seen::once(now));
                }
            }
        }
    }

    /// Adds the counts of the sources.
    fn count_sources(&mut self, deltas: &mut HashMap<(Kind, String), Delta>) {
        let sources = self.workload.sources.lock().clone();
        let (mut handshakes, mut definitions) = ([0, 0], [0, 0]);
        for source in &sources {
            let add = |to: &mut [u64; 2], more: Option<[u64; 2]>| {
                let [first, second] = more.unwrap_or_default();
                *to = [to[0] + first, to[1] + second];
            };
            add(&mut handshakes, source.handshakes());
            add(&mut definitions, source.definitions());
            for totals in source.totals() {
                self.count_member(totals, deltas);
            }
        }
        let interval = &mut self.current.interval;
        interval.handshakes_full += handshakes[0].saturating_sub(self.last.handshakes[0]);
        interval.handshakes_resumed += handshakes[1].saturating_sub(self.last.handshakes[1]);
        interval.definitions_found += definitions[0].saturating_sub(self.last.definitions[0]);
        interval.definitions_missed += definitions[1].saturating_sub(self.last.definitions[1]);
        self.last.handshakes = handshakes;
        self.last.definitions = definitions;
    }

    fn count_member(&mut self, totals: MemberTotals, deltas: &mut HashMap<(Kind, String), Delta>) {
        let key = (totals.kind, totals.name.clone());
        let zero = MemberTotals::new(totals.kind, "");
        let known = self.last.members.get(&key);
        // A count that fell began again.
        let last = known.filter(|last| last.count <= totals.count).unwrap_or(&zero);
        let is_idle = last.count == totals.count && last.weight_s >= totals.weight_s;
        let is_idle = is_idle && last.external_s >= totals.external_s && last.device_s >= totals.device_s;
        if known.is_some() && is_idle && last.handshakes == totals.handshakes {
            return;
        }
        let at = self.workload.classes.of(totals.kind, &totals.name);
        let delta = deltas.entry(key.clone()).or_default();
        delta.count += totals.count - last.count;
        delta.failed += totals.failed.saturating_sub(last.failed);
        delta.commits += totals.commits.saturating_sub(last.commits);
        delta.wall_s += (totals.wall_s - last.wall_s).max(0.0);
        delta.weight += (totals.weight_s - last.weight_s).max(0.0);
        delta.programs_s += (totals.programs_s - last.programs_s).max(0.0);
        delta.waits.external_s += (totals.external_s - last.external_s).max(0.0);
        delta.waits.device_s += (totals.device_s - last.device_s).max(0.0);
        for (sum, (now, before)) in delta.handshakes.iter_mut().zip(totals.handshakes.iter().zip(last.handshakes)) {
            *sum += now.saturating_sub(before);
        }
        for (phase, seconds) in &totals.phases {
            let before = last.phases.iter().find(|(known, _)| known == phase).map_or(0.0, |(_, before)| *before);
            let phases = &mut self.current.phases[at];
            let more = (seconds - before).max(0.0);
            match phases.iter_mut().find(|(known, _)| known == phase) {
                Some((_, sum)) => *sum += more,
                None => phases.push((phase, more)),
            }
        }
        let times = &mut self.current.times[at];
        let before: HashMap<u64, u64> = last.times.iter().map(|(bound, count)| (bound.to_bits(), *count)).collect();
        for (bound, count) in &totals.times {
            let more = count.saturating_sub(before.get(&bound.to_bits()).copied().unwrap_or(0));
            if more > 0 {
                *times.entry(bound.to_bits()).or_default() += more;
            }
        }
        self.last.members.insert(key, totals);
    }

    /// Moves the bands of classes that are above or below their share.
    fn regulate(&mut self, up_ms: u64) {
        for at in 0..self.regulators.len() {
            let Some(regulator) = &mut self.regulators[at] else { continue };
            let Some(entitlement) = self.workload.classes.all()[at].entitlement else { continue };
            let above = self.shares[at] > entitlement && self.workload.others_work(at);
            let band = regulator.at(up_ms, above, self.workload.threads_of(at));
            self.workload.set_band(at, band);
        }
    }

    /// Ends the interval and begins the next one.
    fn end(&mut self, tick: &mut Tick) {
        let mut current = core::mem::take(&mut self.current);
        let interval = &mut current.interval;
        // Unfinished calls do not belong to a member of this interval.
        interval.programs_cpu_s += core::mem::take(&mut self.last.programs_left_ns) / NS;
        for (at, class) in interval.classes.iter_mut().enumerate() {
            class.phases = current.phases[at].iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect();
            let mut times: Vec<(f64, u64)> =
                current.times[at].iter().map(|(bits, count)| (f64::from_bits(*bits), *count)).collect();
            times.sort_by(|a, b| a.0.total_cmp(&b.0));
            class.times = TimesInterval::of(&times);
            class.members = members(core::mem::take(&mut current.members[at]));
            class.band = self.regulators[at].map_or_else(
                || Regulator::new(self.workload.classes.all()[at].priority).band().0,
                |regulator| regulator.band().0,
            );
        }
        let charged: f64 = interval.classes.iter().map(|class| class.cpu_s + class.helper_cpu_s).sum();
        interval.unaccounted_cpu_s = interval.cpu_s - charged - interval.helper_cpu_s - interval.other_cpu_s;
        let (pressure, looks) = current.pressure;
        interval.pressure = (looks > 0).then(|| pressure / f64::from(looks));
        tick.messages.extend(self.alerts.iter_mut().filter_map(|alert| alert.look(interval)));
        tick.interval = Some(current.interval);
        self.begin();
    }

    fn begin(&mut self) {
        let classes = self.workload.classes.all();
        let length = self.workload.config.interval_seconds.max(1) * 1_000;
        let now_ms = self.probe.unix_ms();
        // Intervals of all processes end at the same moments.
        let rest = Duration::from_millis(length - now_ms % length);
        self.current = Current {
            interval: Interval {
                begin_ms: now_ms,
                processors: self.probe.processors(),
                classes: classes
                    .iter()
                    .map(|class| ClassInterval {
                        name: class.name.clone(),
                        entitlement: class.entitlement,
                        ..ClassInterval::default()
                    })
                    .collect(),
                ..Interval::default()
            },
            members: vec![HashMap::new(); classes.len()],
            phases: vec![Vec::new(); classes.len()],
            times: vec![HashMap::new(); classes.len()],
            pressure: (0.0, 0),
            end_ns: (self.probe.uptime() + rest).as_nanos(),
        };
    }
}

/// Divides the CPU time of shared threads by weight, of helpers by commits, and of programs by the time in them. An indivisible rest keeps its class.
fn divide(
    deltas: &mut HashMap<(Kind, String), Delta>,
    pools: &mut [Delta; 4],
    helper_ns: &mut f64,
    programs_ns: &mut f64,
) {
    let in_programs: f64 = deltas.values().map(|delta| delta.programs_s).sum();
    if in_programs > 0.0 {
        deltas.values_mut().for_each(|delta| delta.programs_ns += *programs_ns * delta.programs_s / in_programs);
        *programs_ns = 0.0;
    }
    let mut weights = [0.0; 4];
    let mut commits = 0;
    for ((kind, _), delta) in deltas.iter() {
        weights[*kind as usize] += delta.weight;
        commits += delta.commits;
    }
    for ((kind, _), delta) in deltas.iter_mut() {
        let all = weights[*kind as usize];
        if all > 0.0 {
            let pool = &pools[*kind as usize];
            delta.run_ns += pool.run_ns * delta.weight / all;
            delta.wait_ns += pool.wait_ns * delta.weight / all;
            delta.waits.add(pool.waits.share(delta.weight / all));
        }
        if commits > 0 {
            delta.helper_ns += *helper_ns * delta.commits as f64 / commits as f64;
        }
    }
    for (pool, all) in pools.iter_mut().zip(weights) {
        if all > 0.0 {
            *pool = Delta::default();
        }
    }
    if commits > 0 {
        *helper_ns = 0.0;
    }
}

/// Members by CPU time, the most first; the rest as one.
fn members(all: HashMap<(Kind, String), MemberInterval>) -> Vec<MemberInterval> {
    let name = |((kind, name), member): ((Kind, String), MemberInterval)| MemberInterval {
        name: format!("{}:{name}", kind.prefix()),
        ..member
    };
    let mut members: Vec<MemberInterval> = all.into_iter().map(name).collect();
    members.sort_by(|a, b| b.cpu_s.total_cmp(&a.cpu_s).then_with(|| a.name.cmp(&b.name)));
    if members.len() > MEMBERS_MAX {
        let rest = members.split_off(MEMBERS_MAX - 1);
        let mut sum = MemberInterval { name: format!("({} others)", rest.len()), ..MemberInterval::default() };
        for member in rest {
            sum.add(&MemberInterval { parts: Vec::new(), ..member });
        }
        members.push(sum);
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WorkloadConfig;
    use crate::system::Process;
    use parking_lot::Mutex;

    /// A machine whose threads do what the test says.
    #[derive(Clone, Default)]
    struct Machine(Arc<Mutex<(Vec<ThreadUse>, u64, u64)>>, Arc<Mutex<u64>>);

    impl Machine {
        fn thread(&self, tid: u32, name: &str, run_ms: u64, wait_ms: u64) {
            let mut state = self.0.lock();
            state.1 += run_ms * 1_000_000;
            let found = state.0.iter_mut().find(|thread| thread.tid == tid);
            let (run_ns, wait_ns) = (run_ms * 1_000_000, wait_ms * 1_000_000);
            match found {
                Some(thread) => {
                    thread.run_ns += run_ns;
                    thread.wait_ns += wait_ns;
                }
                None => state.0.push(ThreadUse { tid, name: name.to_owned(), run_ns, wait_ns }),
            }
        }

        fn pass(&self, ms: u64) {
            self.0.lock().2 += ms;
        }
    }

    impl Probe for Machine {
        fn threads(&mut self) -> Vec<ThreadUse> {
            self.0.lock().0.clone()
        }
        fn process(&mut self) -> Process {
            Process { cpu_ns: self.0.lock().1, pressure: Some(0.5) }
        }
        fn processors(&self) -> u32 {
            2
        }
        fn unix_ms(&self) -> u64 {
            1_000_000_060_000 + self.0.lock().2 - *self.1.lock()
        }
        fn uptime(&self) -> Duration {
            Duration::from_millis(self.0.lock().2)
        }
    }

    #[derive(Default)]
    struct Counts(Mutex<Vec<MemberTotals>>);

    impl Source for Counts {
        fn totals(&self) -> Vec<MemberTotals> {
            self.0.lock().clone()
        }
        fn handshakes(&self) -> Option<[u64; 2]> {
            Some([3, 4])
        }
    }
    use crate::work::{Registered, Source};

    fn register(workload: &Workload, tid: u32, kind: Kind, name: Option<&str>) {
        let class = workload.classes.of(kind, name.unwrap_or(""));
        let thread = Registered { kind, name: name.map(Arc::from), class, counted: (0, 0), waited: [0; 6] };
        workload.threads.lock().insert(tid, thread);
    }

    /// Regression: the waits of threads that serve several members were in no class.
    #[test]
    fn waits_of_shared_threads_are_divided_by_computing_time() {
        let member = |name: &str, weight: f64| ((Kind::Api, name.to_owned()), Delta { weight, ..Delta::default() });
        let mut deltas = HashMap::from([member("order", 3.0), member("list", 1.0)]);
        let mut pools = [Delta::default(); 4];
        let waits = WaitsInterval { lock_s: 0.4, commit_s: 4.0, ..WaitsInterval::default() };
        pools[Kind::Api as usize].waits = waits;
        divide(&mut deltas, &mut pools, &mut 0.0, &mut 0.0);
        let of = |name: &str| deltas[&(Kind::Api, name.to_owned())].waits;
        assert_eq!((of("order").commit_s, of("list").commit_s), (3.0, 1.0));
        assert!((of("order").lock_s + of("list").lock_s - 0.4).abs() < 1e-12);
        assert_eq!(pools[Kind::Api as usize].waits, WaitsInterval::default());
    }

    #[test]
    fn shared_threads_are_divided_and_helpers_charged_back() {
        let text = "[[class]]\nname = \"orders\"\nmembers = [\"api:order\"]\nthreshold-percent = 10\n";
        let config: WorkloadConfig = toml::from_str(text).unwrap();
        let workload = Workload::new(config, 2);
        let counts = Arc::new(Counts::default());
        workload.add_source(Arc::clone(&counts) as Arc<dyn Source>);
        let machine = Machine::default();
        let mut collector = Collector::new(Arc::clone(&workload), Box::new(machine.clone()));
        register(&workload, 1, Kind::Api, None);
        register(&workload, 2, Kind::Batch, Some("night"));
        for second in 1..=40 {
            machine.thread(1, "serve-1", 400, 100);
            machine.thread(2, "job", 200, 0);
            machine.thread(3, "store-log", 100, 0);
            machine.thread(4, "signals", 50, 0);
            machine.pass(1_000);
            let api = |name: &str, weight_s: f64, commits: u64| MemberTotals {
                count: second * 10,
                failed: second,
                wall_s: 0.5 * second as f64,
                weight_s: weight_s * second as f64,
                commits: commits * second,
                external_s: if name == "order" { 0.2 * second as f64 } else { 0.0 },
                device_s: if name == "list" { 0.1 * second as f64 } else { 0.0 },
                phases: vec![("decode", 0.1 * second as f64)],
                times: vec![(0.05, second * 9), (0.5, second)],
                ..MemberTotals::new(Kind::Api, name)
            };
            *counts.0.lock() = vec![api("order", 0.3, 3), api("list", 0.1, 1)];
            let tick = collector.tick();
            // The begin was 20 s before the full minute of the clock.
            assert_eq!(tick.interval.is_some(), second == 20, "second {second}");
            let Some(interval) = tick.interval else { continue };
            assert_eq!((interval.seconds, interval.processors, interval.pressure), (20.0, 2, Some(0.5)));
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b} in {interval:#?}");
            let [orders, api, batch] = ["orders", "api", "batch"].map(|name| interval.class(name).expect("a class"));
            // 400 ms a second are divided 3 to 1, and so is the store's thread by commits.
            near(orders.cpu_s, 6.0);
            near(api.cpu_s, 2.0);
            near(batch.cpu_s, 4.0);
            near(orders.run_queue_s, 1.5);
            near(orders.helper_cpu_s, 1.5);
            near(api.helper_cpu_s, 0.5);
            near(interval.helper_cpu_s, 0.0);
            near(interval.other_cpu_s, 1.0);
            near(interval.cpu_s, 15.0);
            near(interval.unaccounted_cpu_s, 0.0);
            assert_eq!((orders.count, orders.failed, orders.commits, api.count), (200, 20, 60, 200));
            // 0.3 s of 2 s are more than 10 %: 0.1 s each second.
            near(orders.above_s, 20.0);
            near(orders.above_cpu_s, 2.0);
            near(orders.response_s().expect("measured"), 0.05);
            assert_eq!(orders.times.map(|times| (times.p50_s, times.p95_s)), Some((0.05, 0.5)));
            assert_eq!(orders.phases[0].0, "decode");
            near(orders.phases[0].1, 2.0);
            // Its requests wait for another system 0.2 s in a second, and no thread does.
            near(orders.waits.external_s, 4.0);
            near(api.waits.external_s + batch.waits.external_s, 0.0);
            near(api.waits.device_s, 2.0);
            near(orders.waits.device_s, 0.0);
            assert_eq!(batch.members[0].name, "job:night");
            assert_eq!((interval.handshakes_full, interval.handshakes_resumed), (3, 4));
        }
        let rest = collector.finish().interval.expect("20 s are collected");
        assert_eq!((rest.class("orders").expect("a class").count, rest.handshakes_full), (200, 0));
    }

    #[test]
    fn a_thread_that_is_new_is_counted_from_its_begin_and_a_count_that_falls_begins_again() {
        let workload = Workload::new(WorkloadConfig::default(), 2);
        let counts = Arc::new(Counts::default());
        workload.add_source(Arc::clone(&counts) as Arc<dyn Source>);
        let machine = Machine::default();
        machine.thread(9, "main", 5_000, 0);
        let mut collector = Collector::new(Arc::clone(&workload), Box::new(machine.clone()));
        let flow = |count| MemberTotals { count, weight_s: 0.1, ..MemberTotals::new(Kind::Flow, "f") };
        for (second, count) in [(1, 50), (2, 60), (3, 7)] {
            machine.thread(9, "main", 10, 0);
            if second == 2 {
                machine.thread(10, "new", 30, 0);
            }
            machine.pass(1_000);
            *counts.0.lock() = vec![flow(count)];
            collector.tick();
        }
        let interval = collector.finish().interval.expect("3 s are collected");
        assert_eq!(interval.class("flow").expect("a class").count, 67);
        assert!((interval.other_cpu_s - 0.06).abs() < 1e-9, "{interval:?}");
    }

    /// Regression: after the clock was set back by an hour, the interval continued until the clock had caught up.
    #[test]
    fn an_interval_ends_in_time_if_the_clock_is_set_back() {
        let machine = Machine::default();
        let workload = Workload::new(WorkloadConfig::default(), 2);
        let mut collector = Collector::new(workload, Box::new(machine.clone()));
        let mut intervals = Vec::new();
        for second in 1..=120 {
            machine.pass(1_000);
            if second == 30 {
                *machine.1.lock() = 3_600_000;
            }
            intervals.extend(collector.tick().interval.map(|interval| (second, interval.begin_ms, interval.seconds)));
        }
        let hour_before = 1_000_000_080_000 - 3_600_000;
        assert_eq!(intervals, [(20, 1_000_000_060_000, 20.0), (80, 1_000_000_080_000, 60.0)]);
        assert_eq!(collector.current().begin_ms, hour_before + 60_000);
    }

    #[test]
    fn steps_of_a_job_are_parts_of_its_member() {
        let workload = Workload::new(WorkloadConfig::default(), 2);
        let machine = Machine::default();
        let mut collector = Collector::new(Arc::clone(&workload), Box::new(machine.clone()));
        for (step, count) in [("load", 10), ("sort", 5), ("load", 20)] {
            let mut turn = workload.turn_of(Kind::Batch, "night", Some(step));
            turn.done(count, 0);
            drop(turn);
            machine.pass(1_000);
            collector.tick();
        }
        let interval = collector.finish().interval.expect("3 s are collected");
        let member = &interval.class("batch").expect("a class").members[0];
        assert_eq!((member.name.as_str(), member.count), ("job:night", 35));
        let of = |name: &str| member.parts.iter().find(|part| part.name == name).map(|part| (part.count, part.commits));
        assert_eq!((of("load"), of("sort")), (Some((30, 2)), Some((5, 1))));
        let mut twice = member.clone();
        twice.add(member);
        assert_eq!(twice.parts.iter().map(|part| part.count).sum::<u64>(), 70);
    }

    #[test]
    fn a_thread_that_goes_on_without_a_class_is_not_counted_twice() {
        let workload = Workload::new(WorkloadConfig::default(), 2);
        let machine = Machine::default();
        let mut collector = Collector::new(Arc::clone(&workload), Box::new(machine.clone()));
        register(&workload, 1, Kind::Batch, Some("night"));
        machine.thread(1, "main", 400, 0);
        machine.pass(1_000);
        collector.tick();
        // What `Working` does at its end, 100 ms of work later.
        machine.thread(1, "main", 100, 0);
        workload.threads.lock().remove(&1);
        workload.left.lock().insert(1, 500_000_000);
        let own = Own { run_ns: 100_000_000, ..Own::default() };
        workload.members.lock().insert((Kind::Batch, Arc::from("night")), own);
        machine.thread(1, "main", 20, 0);
        machine.pass(1_000);
        let interval = collector.finish().interval.expect("2 s are collected");
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b} in {interval:#?}");
        near(interval.class("batch").expect("a class").cpu_s, 0.5);
        near(interval.other_cpu_s, 0.02);
        near(interval.unaccounted_cpu_s, 0.0);
    }

    #[test]
    fn the_store_of_nobody_stays_with_the_helpers() {
        let workload = Workload::new(WorkloadConfig::default(), 2);
        let machine = Machine::default();
        let mut collector = Collector::new(workload, Box::new(machine.clone()));
        machine.thread(3, "store-log", 100, 0);
        machine.pass(1_000);
        let interval = collector.finish().interval.expect("a second is collected");
        assert!((interval.helper_cpu_s - 0.1).abs() < 1e-9 && interval.unaccounted_cpu_s.abs() < 1e-9, "{interval:?}");
    }
}
