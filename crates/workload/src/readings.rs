//! What intervals say about the metrics of advice.

use quayline_capacity::advice::{Metric, Readings};
use quayline_capacity::{Share, headroom};

use crate::component::CPU_LEAST_S;
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
    // Work that an operator sends is on a listener of its own, which no class governs.
    readings.insert(Metric::OperatorAboveWorkloads, 1.0);
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
    let requests = sum(&|interval| interval.class("api").map_or(0.0, |class| class.count as f64));
    if full + resumed > 0.0 {
        readings.insert(Metric::Tls, 1.0);
        readings.insert(Metric::FullHandshakeRate, full / seconds);
        if requests > 0.0 {
            readings.insert(Metric::FullHandshakes, full / requests);
            readings.insert(Metric::Connections, (full + resumed) / requests);
        }
    }
    let (found, missed) =
        (sum(&|interval| interval.definitions_found as f64), sum(&|interval| interval.definitions_missed as f64));
    if found + missed > 0.0 {
        readings.insert(Metric::DefinitionHits, found / (found + missed));
    }
    of_classes(intervals, class, seconds, &mut readings);
    readings
}

fn of_classes(intervals: &[Interval], name: Option<&str>, seconds: f64, readings: &mut Readings) {
    let is_member = name.is_some_and(|name| name.contains(':'));
    let is_meant = |class: &&ClassInterval| match name {
        None => true,
        Some(name) if is_member => class.members.iter().any(|member| member.name == name),
        Some(name) => class.name == name,
    };
    let all = || intervals.iter().flat_map(|interval| interval.classes.iter().filter(is_meant));
    let (mut count, mut wall, mut timed) = (0.0, 0.0, 0.0);
    for class in all() {
        let of_member = class.members.iter().find(|member| Some(member.name.as_str()) == name);
        let (of, time) = match of_member {
            Some(member) => (member.count as f64, member.wall_s),
            None => (class.count as f64, class.wall_s),
        };
        count += of;
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
    let commits: f64 = all().map(|class| class.commits as f64).sum();
    readings.insert(Metric::JournalWrites, commits / seconds);
    let is_batch = name.is_some_and(|name| name == "batch" || name.starts_with("job:"));
    if is_batch {
        readings.insert(Metric::Batch, 1.0);
    }
    if is_batch && commits > 0.0 {
        readings.insert(Metric::CommitInterval, count / commits);
    }
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
    }
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
        MemberInterval { name: name.to_owned(), count, wall_s: 0.1 * count as f64, ..MemberInterval::default() }
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
        assert_eq!(value(None, Metric::CommitInterval), None);
        assert_eq!(value(Some("api"), Metric::ResponseTime), Some(0.01));
        let job = value(Some("job:settle"), Metric::ArrivalRate).expect("a rate");
        assert!((job - 40_000.0 / 1_800.0).abs() < 1e-9);
        assert_eq!(value(Some("job:none"), Metric::ArrivalRate), None);
        let mut held = quiet();
        held.classes[0].held_s = 5.0;
        held.classes[0].members.truncate(1);
        assert!(codes(&[held], Some("api")).contains(&"single-job-throttled"));
    }
}
