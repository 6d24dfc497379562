//! Values of the advice metrics, from intervals.

use std::collections::{BTreeMap, BTreeSet};

use quayline_capacity::advice::{Metric, Readings};
use quayline_capacity::fit::{LoadPoint, fit_usl};
use quayline_capacity::{Share, headroom};

use crate::component::CPU_LEAST_S;
use crate::figure::names;
use crate::interval::{ClassInterval, Interval};

/// Share of all processors from which a process is at its capacity.
const AT_CAPACITY: f64 = 0.95;
/// A 95th percentile of the response time that is this many service times long.
const P95_SERVICE_TIMES: f64 = 5.0;

/// Values of the metrics that intervals measure. `class` limits those of classes to one class, or to one member such as `job:settle`.
///
/// A metric that intervals do not measure is absent, so rules about it say nothing.
#[must_use]
pub fn readings(intervals: &[Interval], class: Option<&str>) -> Readings {
    let mut readings = Readings::new();
    let seconds: f64 = intervals.iter().map(|interval| interval.seconds).sum();
    if seconds <= 0.0 {
        return readings;
    }
    let sum = |of: &dyn Fn(&Interval) -> f64| intervals.iter().map(of).sum::<f64>();
    let capacity = sum(&|interval| interval.seconds * f64::from(interval.processors));
    let cpu = sum(&|interval| interval.cpu_s);
    readings.insert(Metric::MeasuredTime, seconds);
    readings.insert(Metric::Cpu, cpu / capacity);
    readings.insert(Metric::StatisticsCpu, sum(&|interval| interval.collector_cpu_s) / capacity);
    // As in the component report: the clocks of a server that hardly works say nothing of its parts.
    if cpu >= CPU_LEAST_S {
        readings.insert(Metric::UnaccountedTime, sum(&|interval| interval.unaccounted_cpu_s).abs() / cpu);
    }
    let processors = intervals.last().map_or(1, |interval| interval.processors);
    if let Ok(found) = headroom(processors.max(1), 2.0, Share(0.95), P95_SERVICE_TIMES) {
        readings.insert(Metric::Headroom, found.value.by_percentile.0);
    }
    readings.insert(Metric::CapacityExceededTime, longest_at_capacity(intervals));
    let [full, resumed] =
        [sum(&|interval| interval.handshakes_full as f64), sum(&|interval| interval.handshakes_resumed as f64)];
    let requests = sum(&|interval| requests_of(interval) as f64);
    let connections = sum(&|interval| interval.counted.get(names::CONNECTIONS).copied().unwrap_or(0.0));
    if full + resumed > 0.0 {
        readings.insert(Metric::FullHandshakeRate, full / seconds);
        if requests > 0.0 {
            readings.insert(Metric::FullHandshakes, full / requests);
        }
    }
    if connections.max(full + resumed) > 0.0 && requests > 0.0 {
        readings.insert(Metric::Tls, f64::from(u8::from(full + resumed > 0.0)));
        readings.insert(Metric::Connections, connections.max(full + resumed) / requests);
    }
    let (found, missed) =
        (sum(&|interval| interval.definitions_found as f64), sum(&|interval| interval.definitions_missed as f64));
    if found + missed > 0.0 {
        readings.insert(Metric::DefinitionHits, found / (found + missed));
    }
    of_classes(intervals, class, seconds, &mut readings);
    of_figures(&Figures { intervals, seconds }, &mut readings);
    readings
}

/// Share of the measured time within a minute of the start of the process above which it is a measurement of the start.
const COLD_SHARE: f64 = 0.05;
/// Share of time in waits for a disk from which it limits.
const DISK_LIMITS: f64 = 0.5;
/// Number of waiting audit lines above which the queue counts as growing.
const AUDIT_GROWTH: f64 = 1_000.0;

/// Figures over all intervals.
struct Figures<'a> {
    intervals: &'a [Interval],
    seconds: f64,
}

impl Figures<'_> {
    /// Returns a count; `None` if no interval has it.
    fn count(&self, name: &str) -> Option<f64> {
        let mut found = self.intervals.iter().filter_map(|interval| interval.counted.get(name)).peekable();
        found.peek()?;
        Some(found.sum())
    }

    /// Returns the rate of a count per second.
    fn rate(&self, name: &str) -> Option<f64> {
        Some(self.count(name)? / self.seconds)
    }

    /// Returns the last value of a state.
    fn last(&self, name: &str) -> Option<f64> {
        self.intervals.iter().rev().find_map(|interval| interval.seen.get(name)).map(|seen| seen.last)
    }

    /// Returns the greatest value of a state.
    fn peak(&self, name: &str) -> Option<f64> {
        let peaks = self.intervals.iter().filter_map(|interval| interval.seen.get(name)).map(|seen| seen.peak);
        peaks.max_by(f64::total_cmp)
    }

    /// Names of figures that begin with a name and `:`, without both.
    fn of_each(&self, name: &str) -> Vec<String> {
        let prefix = format!("{name}:");
        let names = self.intervals.iter().flat_map(|interval| interval.counted.keys().chain(interval.seen.keys()));
        let mut names: Vec<String> = names.filter_map(|found| found.strip_prefix(&prefix)).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Adds the metrics from the figures of the machine, the settings, the server and the store.
fn of_figures(figures: &Figures<'_>, readings: &mut Readings) {
    let mut put = |metric: Metric, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            readings.insert(metric, value);
        }
    };
    put(Metric::MemoryFree, figures.last(names::MEMORY_FREE));
    put(Metric::PoolFree, figures.last(names::MEMORY_FREE));
    put(Metric::HeapLimit, figures.last(names::MEMORY_LIMIT));
    put(Metric::PageFaults, figures.rate(names::PAGE_FAULTS));
    let holds = |holds: bool| f64::from(u8::from(holds));
    put(Metric::DiskLimits, figures.peak(names::IO_PRESSURE).map(|share| holds(share > DISK_LIMITS)));
    let disks = figures.of_each(names::DISK_BUSY);
    let busiest = disks.iter().filter_map(|disk| figures.rate(&format!("{}:{disk}", names::DISK_BUSY)));
    put(Metric::DiskUse, busiest.max_by(f64::total_cmp));
    of_lines(figures, &mut put);
    put(Metric::RegulatorOn, figures.last(names::REGULATOR));
    put(Metric::BatchPriority, figures.last(names::BATCH_PRIORITY));
    put(Metric::OperatorAboveWorkloads, figures.last(names::OPERATOR_LISTENER));
    put(Metric::ListenerThreads, figures.last(names::LISTENER_THREADS));
    put(Metric::Compression, figures.last(names::COMPRESSION));
    put(Metric::ClientAuthentication, figures.last(names::CLIENT_AUTHENTICATION));
    put(Metric::ClientAuthenticationRequired, figures.last(names::CLIENT_AUTHENTICATION_NEEDED));
    put(Metric::GuestProcessors, figures.last(names::GUEST_PROCESSORS));
    put(Metric::PathDepth, figures.last(names::PATH_DEPTH));
    put(Metric::OpenUnits, figures.peak(names::OPEN_UNITS));
    let cold = figures.intervals.iter().filter(|interval| {
        interval.seen.get(names::UPTIME).is_some_and(|seen| seen.first < interval.seconds.min(60.0))
    });
    let cold: f64 = cold.map(|interval| interval.seconds.min(60.0)).sum();
    if figures.last(names::UPTIME).is_some() {
        put(Metric::ColdStartIncluded, Some(holds(cold > COLD_SHARE * figures.seconds)));
    }
    let over = |part: Option<f64>, all: Option<f64>| Some(part? / all.filter(|all| *all > 0.0)?);
    put(Metric::ProgramStarts, over(figures.count(names::PROGRAM_STARTS), figures.count(names::PROGRAM_CALLS)));
    put(
        Metric::DatabaseConnections,
        over(figures.count(names::DATABASE_CONNECTS), figures.count(names::DATABASE_CALLS)),
    );
    put(
        Metric::Compilations,
        over(figures.count(names::DEFINITIONS_COMPILED), figures.count(names::DEFINITIONS_DIFFERENT)),
    );
    // A cache that removed entries is full.
    if let Some(removed) = figures.count(names::DEFINITIONS_REMOVED).filter(|removed| *removed > 0.0) {
        put(Metric::DefinitionEntries, Some(removed));
        put(Metric::DefinitionLimit, Some(removed));
    }
    put(Metric::FirstReads, over(figures.count(names::LOOKUPS_MISSED), figures.count(names::LOOKUPS)));
    put(Metric::PoolFaults, figures.rate(names::LOOKUPS_MISSED));
    put(Metric::InsertRate, figures.rate(names::RECORDS_INSERTED));
    put(Metric::RowsInserted, over(figures.count(names::RECORDS_INSERTED), figures.count(names::UNITS_INSERTING)));
    put(Metric::Indexes, figures.peak(names::INDEXES));
    put(
        Metric::RolloverPause,
        figures.intervals.iter().filter_map(|i| i.counted.get(names::STALLED)).copied().max_by(f64::total_cmp),
    );
    if let Some(emptied) = figures.count(names::FILES_EMPTIED) {
        put(Metric::DeletesEveryRecord, Some(holds(emptied > 0.0)));
        // Record files have no triggers.
        put(Metric::DeleteTrigger, Some(0.0));
    }
    if let (Some(lines), Some(waiting)) = (figures.rate(names::AUDIT_LINES), figures.peak(names::AUDIT_WAITING)) {
        put(Metric::AuditQueue, Some(1.0));
        put(Metric::AuditRate, Some(lines));
        let grown = if waiting > AUDIT_GROWTH { waiting / figures.seconds } else { 0.0 };
        put(Metric::AuditDrainRate, Some(lines - grown));
    }
    put(Metric::QueueDepthTrend, deepest_trend(figures));
}

/// Adds use and speed of the busiest network interface.
fn of_lines(figures: &Figures<'_>, put: &mut impl FnMut(Metric, Option<f64>)) {
    let mut busiest: Option<(f64, f64)> = None;
    for name in figures.of_each(names::INTERFACE_SPEED) {
        let Some(speed) = figures.last(&format!("{}:{name}", names::INTERFACE_SPEED)).filter(|s| *s > 0.0) else {
            continue;
        };
        let way = |way: &str| figures.rate(&format!("{}:{name}:{way}", names::INTERFACE_BYTES)).unwrap_or(0.0);
        let share = 8.0 * way("received").max(way("sent")) / speed;
        if busiest.is_none_or(|(known, _)| share > known) {
            busiest = Some((share, speed));
        }
    }
    if let Some((share, speed)) = busiest {
        put(Metric::InterfaceUse, Some(share));
        put(Metric::LineUse, Some(share));
        put(Metric::LineSpeed, Some(speed));
    }
}

/// Returns the growth of the fastest growing queue, in messages a minute. The growth must exceed a tenth of the peak and be at least 10 messages.
fn deepest_trend(figures: &Figures<'_>) -> Option<f64> {
    let minutes = figures.seconds / 60.0;
    let of_queue = |queue: &String| {
        let name = format!("{}:{queue}", names::QUEUE_DEPTH);
        let mut seen = figures.intervals.iter().filter_map(|interval| interval.seen.get(&name));
        let first = seen.next()?;
        let last = seen.next_back().unwrap_or(first);
        let grown = last.last - first.first;
        // What comes and goes is no growth.
        Some(if grown > 0.1 * last.peak && grown >= 10.0 { grown / minutes } else { 0.0 })
    };
    figures.of_each(names::QUEUE_DEPTH).iter().filter_map(of_queue).max_by(f64::total_cmp)
}

/// Counts the requests of APIs in all classes.
fn requests_of(interval: &Interval) -> u64 {
    let members = interval.classes.iter().flat_map(|class| &class.members);
    members.filter(|member| member.name.starts_with("api:")).map(|member| member.count).sum()
}

fn of_classes(intervals: &[Interval], name: Option<&str>, seconds: f64, readings: &mut Readings) {
    let is_member = name.is_some_and(|name| name.contains(':'));
    let is_meant = |class: &&ClassInterval| match name {
        None => true,
        Some(name) if is_member => class.members.iter().any(|member| member.name == name),
        Some(name) => class.name == name,
    };
    let all = || intervals.iter().flat_map(|interval| interval.classes.iter().filter(is_meant));
    let (mut count, mut wall, mut timed, mut commits) = (0.0, 0.0, 0.0, 0.0);
    for class in all() {
        let of_member = class.members.iter().find(|member| Some(member.name.as_str()) == name);
        let (of, time, committed) = match of_member {
            Some(member) => (member.count as f64, member.wall_s, member.commits),
            None => (class.count as f64, class.wall_s, class.commits),
        };
        count += of;
        commits += committed as f64;
        wall += time;
        timed += if time > 0.0 { of } else { 0.0 };
    }
    if name.is_some() && count == 0.0 {
        return;
    }
    readings.insert(Metric::ArrivalRate, count / seconds);
    if timed > 0.0 {
        readings.insert(Metric::ResponseTime, wall / timed);
    }
    of_scaling(intervals, &is_meant, name.filter(|_| is_member), readings);
    readings.insert(Metric::JournalWrites, commits / seconds);
    of_jobs(intervals, name, readings);
    of_kinds(intervals, readings);
    // Of several classes, the one that uses most of its entitlement.
    let mut worst: Option<(f64, &str)> = None;
    for class in all().filter(|class| class.entitlement.is_some()) {
        let share = |interval: &Interval| {
            let found = interval.class(&class.name)?;
            Some((found.cpu_s, found.entitlement? * interval.seconds * f64::from(interval.processors)))
        };
        let (used, entitled) = intervals.iter().filter_map(share).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let part = if entitled > 0.0 { used / entitled } else { 0.0 };
        if worst.is_none_or(|(known, _)| part > known) {
            worst = Some((part, &class.name));
        }
    }
    if let Some((part, name)) = worst {
        let of_class = |of: &dyn Fn(&ClassInterval) -> f64| {
            intervals.iter().filter_map(|interval| interval.class(name)).map(of).sum::<f64>()
        };
        readings.insert(Metric::ClassUse, part);
        readings.insert(Metric::ClassTimeAboveThreshold, of_class(&|class| class.above_s));
        readings.insert(Metric::ClassThrottled, f64::from(u8::from(of_class(&|class| class.held_s) > 0.0)));
        let mut jobs: Vec<&str> = intervals
            .iter()
            .filter_map(|interval| interval.class(name))
            .flat_map(|class| class.members.iter().map(|member| member.name.as_str()))
            .collect();
        jobs.sort_unstable();
        jobs.dedup();
        readings.insert(Metric::ClassJobs, jobs.len() as f64);
        of_upgrade(intervals, name, readings);
    }
}

/// Fewest intervals for a fit of throughput by load.
const SCALING_INTERVALS: usize = 6;
/// Minimum range of loads for a fit: the greatest load divided by the smallest.
const SCALING_RANGE: f64 = 3.0;
/// Share of the variance that the fit must explain.
const SCALING_FIT: f64 = 0.9;

/// Adds the load of the last interval, and the load from which throughput falls. The load is the mean number of transactions in progress, by
/// Little's law. Without a range of loads, or without a peak near the loads that were seen, both are absent.
fn of_scaling(
    intervals: &[Interval],
    is_meant: &dyn Fn(&&ClassInterval) -> bool,
    member: Option<&str>,
    readings: &mut Readings,
) {
    let point = |interval: &Interval| {
        let (mut count, mut wall) = (0.0, 0.0);
        for class in interval.classes.iter().filter(is_meant) {
            let of = class.members.iter().find(|of| Some(of.name.as_str()) == member);
            let (of_count, of_wall) = of.map_or((class.count, class.wall_s), |of| (of.count, of.wall_s));
            // Work whose response time is not measured has no load.
            if of_wall > 0.0 {
                count += of_count as f64;
                wall += of_wall;
            }
        }
        (count > 0.0).then(|| LoadPoint { load: wall / interval.seconds, throughput: count / interval.seconds })
    };
    let points: Vec<LoadPoint> = intervals.iter().filter_map(point).collect();
    let loads = || points.iter().map(|point| point.load);
    let (least, most) = (loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max));
    let Some(last) = points.last().filter(|_| points.len() >= SCALING_INTERVALS && most >= SCALING_RANGE * least)
    else {
        return;
    };
    let Ok(fit) = fit_usl(&points) else { return };
    let Some(peak) = fit.value.peak_load().filter(|_| fit.value.r_squared >= SCALING_FIT) else { return };
    // Contention without coherency has no peak, however small a coherency the fit finds.
    let is_certain = fit.value.intervals.is_some_and(|[_, _, beta]| beta.low > 0.0);
    if is_certain && peak < most {
        readings.insert(Metric::Workers, last.load);
        readings.insert(Metric::ScalabilityPeak, peak);
    }
}

/// Adds the change of a class' share when the machine changed: processors that the class may use, last over first, relative to all processors.
fn of_upgrade(intervals: &[Interval], name: &str, readings: &mut Readings) {
    let with = |interval: &&Interval| interval.class(name).is_some_and(|class| class.entitlement.is_some());
    let (Some(first), Some(last)) = (intervals.iter().find(with), intervals.iter().rev().find(with)) else { return };
    let share = |interval: &Interval| interval.class(name).and_then(|class| class.entitlement).unwrap_or(0.0);
    if last.processors > first.processors && share(first) > 0.0 {
        readings.insert(Metric::EntitlementShareChange, share(last) / share(first));
    }
}

/// Items of each commit of jobs: of one class or job, or of all.
fn of_jobs(intervals: &[Interval], name: Option<&str>, readings: &mut Readings) {
    let (mut items, mut commits, mut checkpoints, mut wall) = (0.0, 0.0, 0.0, 0.0);
    for class in intervals.iter().flat_map(|interval| &interval.classes) {
        for member in class.members.iter().filter(|member| member.name.starts_with("job:")) {
            if name.is_none_or(|name| name == class.name || name == member.name) {
                items += member.count as f64;
                commits += member.commits as f64;
                checkpoints += member.checkpoint_s;
                wall += member.wall_s;
            }
        }
    }
    if commits > 0.0 {
        readings.insert(Metric::Batch, 1.0);
        readings.insert(Metric::CommitInterval, items / commits);
        if checkpoints > 0.0 && wall > 0.0 {
            readings.insert(Metric::CheckpointShare, checkpoints / wall);
        }
        // A commit for each item is what autocommit does.
        readings.insert(Metric::Autocommit, f64::from(u8::from(items <= commits)));
    }
}

/// Kinds of work that share a class, and whether jobs share the lines.
fn of_kinds(intervals: &[Interval], readings: &mut Readings) {
    let kind = |name: &str| name.split_once(':').map_or(String::new(), |(kind, _)| kind.to_owned());
    let mut by_class: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for class in intervals.iter().flat_map(|interval| &interval.classes) {
        let kinds = class.members.iter().filter(|member| member.count > 0).map(|member| kind(&member.name));
        by_class.entry(&class.name).or_default().extend(kinds.filter(|kind| !kind.is_empty()));
    }
    let all: BTreeSet<&String> = by_class.values().flatten().collect();
    if all.is_empty() {
        return;
    }
    let most = by_class.values().map(BTreeSet::len).max().unwrap_or(0);
    readings.insert(Metric::TrafficClasses, most as f64);
    let is_interactive = all.iter().any(|kind| *kind == "api") && !all.iter().any(|kind| *kind == "job");
    readings.insert(Metric::BulkLine, f64::from(u8::from(!is_interactive)));
}

/// Seconds of the longest run of intervals at capacity.
fn longest_at_capacity(intervals: &[Interval]) -> f64 {
    let (mut run, mut longest) = (0.0, 0.0f64);
    for interval in intervals {
        run = if interval.share(interval.cpu_s) >= AT_CAPACITY { run + interval.seconds } else { 0.0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemberInterval;
    use quayline_capacity::advice::advise;

    fn member(name: &str, count: u64) -> MemberInterval {
        let commits = if name.starts_with("job:") { count / 100 } else { 0 };
        MemberInterval {
            name: name.to_owned(),
            count,
            commits,
            wall_s: 0.1 * count as f64,
            ..MemberInterval::default()
        }
    }

    fn quiet() -> Interval {
        let api = ClassInterval {
            name: "api".to_owned(),
            count: 6_000,
            wall_s: 60.0,
            cpu_s: 3.0,
            entitlement: Some(0.5),
            members: vec![member("api:a", 3_000), member("api:b", 3_000)],
            ..ClassInterval::default()
        };
        let batch = ClassInterval {
            name: "batch".to_owned(),
            count: 50_000,
            commits: 500,
            cpu_s: 9.0,
            members: vec![member("job:settle", 40_000), member("job:x", 10_000)],
            ..ClassInterval::default()
        };
        Interval { seconds: 1_800.0, processors: 2, cpu_s: 12.0, classes: vec![api, batch], ..Interval::default() }
    }

    fn codes(intervals: &[Interval], class: Option<&str>) -> Vec<&'static str> {
        advise(&readings(intervals, class)).iter().map(|advice| advice.rule.code).collect()
    }

    #[test]
    fn a_quiet_process_needs_no_advice_and_a_busy_one_does() {
        assert_eq!(codes(&[quiet()], None), [""; 0]);
        assert_eq!(readings(&[], None), Readings::new());
        let mut busy = quiet();
        busy.cpu_s = 3_500.0;
        busy.classes[0].cpu_s = 1_700.0;
        busy.classes[0].above_s = 500.0;
        busy.unaccounted_cpu_s = 200.0;
        busy.handshakes_full = 5_000;
        busy.definitions_missed = 9;
        let found = codes(&[busy.clone(), busy], None);
        for code in [
            "class-above-target",
            "sustained-overload",
            "unaccounted-time",
            "tls-without-reuse",
            "below-percentile-headroom",
        ] {
            assert!(found.contains(&code), "{code} is not among {found:?}");
        }
    }

    #[test]
    fn one_class_or_one_member_is_read_alone() {
        let value = |class: Option<&str>, metric| readings(&[quiet()], class).get(&metric).copied();
        assert_eq!(value(Some("batch"), Metric::CommitInterval), Some(100.0));
        assert_eq!(value(None, Metric::CommitInterval), Some(100.0));
        assert_eq!(value(Some("api"), Metric::CommitInterval), None);
        assert_eq!(value(Some("job:x"), Metric::CommitInterval), Some(100.0));
        assert_eq!(value(Some("api"), Metric::ResponseTime), Some(0.01));
        let job = value(Some("job:settle"), Metric::ArrivalRate).expect("a rate");
        assert!((job - 40_000.0 / 1_800.0).abs() < 1e-9);
        assert_eq!(value(Some("job:none"), Metric::ArrivalRate), None);
        // The class committed more than its member.
        let mut mixed = quiet();
        let class = mixed.classes.iter_mut().find(|class| class.name == "batch").expect("a class");
        class.commits = 3_600_000;
        let commits = class.members.iter().find(|member| member.name == "job:x").expect("a member").commits;
        let found = readings(&[mixed.clone()], Some("job:x"))[&Metric::JournalWrites];
        assert!((found - commits as f64 / mixed.seconds).abs() < 1e-9, "{found}");
        let mut held = quiet();
        held.classes[0].held_s = 5.0;
        held.classes[0].members.truncate(1);
        assert!(codes(&[held], Some("api")).contains(&"single-job-throttled"));
    }
}
