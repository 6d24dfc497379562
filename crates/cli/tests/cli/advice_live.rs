//! Advice rules whose metrics a server collects, with intervals to which each rule applies and intervals to which it does not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quayline_capacity::advice::{Feed, Metric, advise, rules};
use quayline_workload::{
    ClassInterval, Collector, Demands, Figure, Interval, Kind, MemberInterval, MemberTotals, Probe, Process, Seen,
    Source, ThreadUse, Workload, WorkloadConfig, names, readings,
};

fn member(name: &str, count: u64) -> MemberInterval {
    let commits = if name.starts_with("job:") { count / 100 } else { 0 };
    MemberInterval { name: name.to_owned(), count, commits, wall_s: 0.1 * count as f64, ..MemberInterval::default() }
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

/// Figures reported by a server, its store or its machine.
struct Shown(Interval);

impl Shown {
    fn count(mut self, name: &str, value: f64) -> Shown {
        self.0.counted.insert(name.to_owned(), value);
        self
    }

    fn state(mut self, name: &str, value: f64) -> Shown {
        self.0.seen.insert(name.to_owned(), Seen::once(value));
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Interval)) -> Shown {
        change(&mut self.0);
        self
    }
}

#[expect(clippy::cast_possible_truncation, reason = "counts of these tests are small")]
fn whole(count: f64) -> u64 {
    count.round() as u64
}

fn shown() -> Shown {
    Shown(quiet())
}

/// Returns the intervals in which a rule applies, and similar ones in which it does not.
#[expect(clippy::too_many_lines, reason = "a line for each rule")]
fn cases() -> Vec<(&'static str, Vec<Interval>, Vec<Interval>)> {
    let one = |fires: Shown, quiet: Shown| (vec![fires.0], vec![quiet.0]);
    let api = |cpu_s: f64, above_s: f64| {
        shown().with(|i| {
            i.classes[0].cpu_s = cpu_s;
            i.classes[0].above_s = above_s;
        })
    };
    let cpu = |cpu_s: f64| shown().with(|i| i.cpu_s = cpu_s);
    let upgrade = |share: f64| {
        let after = shown().with(|i| {
            i.processors = 4;
            i.classes[0].entitlement = Some(share);
        });
        vec![quiet(), after.0]
    };
    let lines =
        |bytes: f64, speed: f64| shown().count("interface-bytes:eth0:sent", bytes).state("interface-speed:eth0", speed);
    let interactive = |shown: Shown| shown.with(|i| i.classes.truncate(1));
    let tls = |full: u64| {
        shown().with(|i| {
            i.handshakes_full = full;
            i.handshakes_resumed = 10;
        })
    };
    let jobs = |commits: u64| {
        shown().with(|i| {
            i.classes[1].commits = commits;
            i.classes[1].members = vec![MemberInterval { commits, ..member("job:settle", 50_000) }];
        })
    };
    let inserts = |records: f64, units: f64, indexes: f64| {
        shown()
            .count(names::RECORDS_INSERTED, records)
            .count(names::UNITS_INSERTING, units)
            .state(names::INDEXES, indexes)
    };
    let disk = |io: f64, cpu_s: f64| cpu(cpu_s).state(names::IO_PRESSURE, io).state(names::MEMORY_FREE, 1e9);
    let depth = |first: f64, last: f64| {
        let at = |depth: f64| shown().state("queue-depth:IN", depth).0;
        vec![at(first), at(last)]
    };
    let programs = |starts: f64| shown().count(names::PROGRAM_STARTS, starts).count(names::PROGRAM_CALLS, 1_000.0);
    let databases = |made: f64| shown().count(names::DATABASE_CONNECTS, made).count(names::DATABASE_CALLS, 1_000.0);
    let lookups = |missed: f64, cpu_s: f64| {
        cpu(cpu_s).count(names::LOOKUPS, 100_000.0).count(names::LOOKUPS_MISSED, missed).state(names::MEMORY_FREE, 1e9)
    };
    let certificates = |asked: f64, needed: f64| {
        shown().state(names::CLIENT_AUTHENTICATION, asked).state(names::CLIENT_AUTHENTICATION_NEEDED, needed)
    };
    let memory = |limit: f64| shown().state(names::MEMORY_LIMIT, limit).state(names::MEMORY_FREE, 1e9);
    let busy_api =
        |threads: f64| shown().state(names::LISTENER_THREADS, threads).with(|i| i.classes[0].count = 1_800_000);
    let compiled =
        |times: f64| shown().count(names::DEFINITIONS_COMPILED, times).count(names::DEFINITIONS_DIFFERENT, 5.0);
    let cached = |found: u64, removed: f64| {
        shown().count(names::DEFINITIONS_REMOVED, removed).with(|i| {
            i.definitions_found = found;
            i.definitions_missed = 10;
        })
    };
    let guest = |processors: f64| shown().state(names::GUEST_PROCESSORS, processors);
    // Throughput of the Universal Scalability Law with a peak at 7 transactions in progress.
    let at_loads = |loads: [u32; 7]| {
        let interval = |load: u32| {
            let n = f64::from(load);
            let throughput = 100.0 * n / (1.0 + 0.02 * (n - 1.0) + 0.02 * n * (n - 1.0));
            shown().with(|i| {
                i.classes.truncate(1);
                i.classes[0].count = whole(throughput * i.seconds);
                i.classes[0].wall_s = n * i.seconds;
            })
        };
        loads.map(|load| interval(load).0).into()
    };
    let audit = |waiting: f64| shown().count(names::AUDIT_LINES, 6_000.0).state(names::AUDIT_WAITING, waiting);
    let held = |members: usize| {
        shown().with(|i| {
            i.classes[0].held_s = 5.0;
            i.classes[0].members.truncate(members);
        })
    };
    let plain = |connections: f64| shown().count(names::CONNECTIONS, connections);
    let slow_line = |speed: f64| lines(1.0, speed).state(names::COMPRESSION, 0.0);
    let fast_line = |speed: f64| lines(1.0, speed).state(names::COMPRESSION, 1.0);
    let lasts = |seconds: f64, cpu: f64| {
        shown().with(|i| {
            i.seconds = seconds;
            i.cpu_s = cpu;
        })
    };
    let checkpoints = |seconds: f64| shown().with(|i| i.classes[1].members[0].checkpoint_s = seconds);
    let pair = |code: &'static str, (fires, quiet): (Vec<Interval>, Vec<Interval>)| (code, fires, quiet);
    vec![
        pair("class-above-target", one(api(1_400.0, 0.0), api(1_200.0, 0.0))),
        pair("class-above-threshold-at-times", one(api(100.0, 5.0), api(100.0, 0.0))),
        pair("sustained-overload", one(lasts(3_600.0, 7_200.0), lasts(3_600.0, 3_600.0))),
        pair("entitlement-share-shrank", (upgrade(0.25), upgrade(0.5))),
        pair(
            "operator-below-workloads",
            one(shown().state(names::OPERATOR_LISTENER, 0.0), shown().state(names::OPERATOR_LISTENER, 1.0)),
        ),
        pair(
            "batch-priority-outside-regulator",
            one(
                shown().state(names::REGULATOR, 1.0).state(names::BATCH_PRIORITY, 50.0),
                shown().state(names::REGULATOR, 1.0).state(names::BATCH_PRIORITY, 30.0),
            ),
        ),
        pair("single-job-throttled", one(held(1), held(2))),
        pair("read-cache", one(disk(0.8, 100.0), disk(0.1, 100.0))),
        pair("preload", one(lookups(20_000.0, 12.0), lookups(100.0, 12.0))),
        pair("commit-interval", one(jobs(2_000_000), jobs(100))),
        pair("indexes-slow-inserts", one(inserts(3e6, 3e4, 6.0), inserts(3e6, 3e4, 2.0))),
        pair(
            "delete-all-row-by-row",
            one(shown().count(names::FILES_EMPTIED, 1.0), shown().count(names::FILES_EMPTIED, 0.0)),
        ),
        pair("interactive-line", one(interactive(lines(1e11, 1e9)), lines(1e11, 1e9))),
        pair("interface-busy", one(lines(1.6e11, 1e9), lines(1e11, 1e9))),
        pair("short-connections", one(plain(5_000.0), plain(500.0))),
        pair("tls-without-reuse", one(tls(5_000), tls(10))),
        pair("program-start-per-request", one(programs(200.0), programs(2.0))),
        pair("deep-paths", one(shown().state(names::PATH_DEPTH, 12.0), shown().state(names::PATH_DEPTH, 4.0))),
        pair("cache-hit-ratio", one(cached(10, 3.0), cached(10, 0.0))),
        pair("compress-slow-line", one(slow_line(1e5), slow_line(1e9))),
        pair("compression-on-lan", one(fast_line(1e9), fast_line(1e5))),
        pair("audit-queue-depth", one(audit(5_000.0), audit(3.0))),
        pair("single-threaded-listener", one(busy_api(1.0), busy_api(2.0))),
        pair("run-too-short", one(lasts(60.0, 1.0), shown())),
        pair(
            "cold-and-warm-mixed",
            one(
                shown().state(names::UPTIME, 1.0).with(|i| i.seconds = 60.0),
                shown().state(names::UPTIME, 5_000.0).with(|i| i.seconds = 60.0),
            ),
        ),
        pair(
            "statistics-overhead",
            one(shown().with(|i| i.collector_cpu_s = 90.0), shown().with(|i| i.collector_cpu_s = 9.0)),
        ),
        pair("recompiled-definitions", one(compiled(9.0), compiled(5.0))),
        pair("heap-above-pool", one(memory(2e9), memory(5e8))),
        pair("heap-faults", one(shown().count(names::PAGE_FAULTS, 40_000.0), shown().count(names::PAGE_FAULTS, 40.0))),
        pair("autocommit-in-batch", one(jobs(50_000), jobs(500))),
        pair("row-at-a-time", one(inserts(3e5, 3e5, 0.0), inserts(3e5, 3e3, 0.0))),
        pair("connection-per-request", one(databases(500.0), databases(5.0))),
        pair("pool-faults", one(lookups(50_000.0, 12.0), lookups(50_000.0, 3_000.0))),
        pair("queue-grows", (depth(10.0, 5_000.0), depth(5_000.0, 10.0))),
        pair("rollover-pause", one(shown().count(names::STALLED, 2.0), shown().count(names::STALLED, 0.01))),
        pair("open-units-of-work", one(shown().state(names::OPEN_UNITS, 80.0), shown().state(names::OPEN_UNITS, 8.0))),
        pair(
            "mixed-traffic-classes",
            one(shown().with(|i| i.classes[0].members.push(member("job:night", 5))), shown()),
        ),
        pair("client-authentication-everywhere", one(certificates(1.0, 0.0), certificates(1.0, 1.0))),
        pair("large-guest", one(guest(8.0), guest(4.0))),
        pair("beyond-scalability-peak", (at_loads([1, 2, 3, 4, 6, 8, 12]), at_loads([12, 8, 6, 4, 3, 2, 1]))),
        pair("disk-above-42", one(shown().count("disk-busy-s:sda", 900.0), shown().count("disk-busy-s:sda", 90.0))),
        pair(
            "unaccounted-time",
            one(shown().with(|i| i.unaccounted_cpu_s = 2.0), shown().with(|i| i.unaccounted_cpu_s = 0.1)),
        ),
        pair("checkpoint-too-often", one(checkpoints(1_000.0), checkpoints(10.0))),
        pair("below-percentile-headroom", one(cpu(3_400.0), cpu(1_000.0))),
    ]
}

/// Each rule whose metrics a server collects has a case in which it applies, and one in which it does not.
#[test]
fn every_live_rule_speaks_and_is_silent_by_intervals() {
    let cases = cases();
    for (code, fires, quiet) in &cases {
        let class = (*code == "commit-interval" || *code == "autocommit-in-batch").then_some("batch");
        assert!(codes(fires, class).contains(code), "{code} is silent: {:?}", readings(fires, class));
        assert!(!codes(quiet, class).contains(code), "{code} speaks: {:?}", readings(quiet, class));
    }
    for rule in rules().filter(|rule| rule.feed() == Feed::Live) {
        assert!(cases.iter().any(|(code, ..)| *code == rule.code), "{} has no case", rule.code);
    }
    for (code, ..) in &cases {
        assert!(rules().any(|rule| rule.code == *code && rule.feed() == Feed::Live), "{code} is not live");
    }
}

/// A machine whose clock the test moves.
struct Clock(Arc<AtomicU64>);

impl Probe for Clock {
    fn threads(&mut self) -> Vec<ThreadUse> {
        Vec::new()
    }

    fn process(&mut self) -> Process {
        Process::default()
    }

    fn processors(&self) -> u32 {
        2
    }

    fn unix_ms(&self) -> u64 {
        60_000 + self.0.load(Ordering::Relaxed)
    }

    fn uptime(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Counts of a server: two operations, one of which calls a program.
#[derive(Default)]
struct Counts(Mutex<(Vec<MemberTotals>, f64)>);

impl Source for Counts {
    fn totals(&self) -> Vec<MemberTotals> {
        self.0.lock().expect("no panic").0.clone()
    }

    fn handshakes(&self) -> Option<[u64; 2]> {
        let members = self.totals();
        Some([0, 1].map(|at: usize| members.iter().map(|member| member.handshakes[at]).sum()))
    }

    fn programs_cpu_s(&self) -> Option<f64> {
        Some(self.0.lock().expect("no panic").1)
    }

    fn figures(&self) -> Vec<Figure> {
        let count: u64 = self.totals().iter().map(|member| member.count).sum();
        vec![Figure::total(names::CONNECTIONS, count as f64), Figure::now(names::OPEN_UNITS, count as f64)]
    }
}

/// Handshakes, the CPU time of programs in other processes and figures are those of the classes and members that they belong to.
#[test]
fn handshakes_and_programs_belong_to_classes_and_members() {
    let text = "[[class]]\nname = \"orders\"\nmembers = [\"api:order\"]\n";
    let config: WorkloadConfig = toml::from_str(text).expect("settings");
    let workload = Workload::new(config, 2);
    let counts = Arc::new(Counts::default());
    workload.add_source(Arc::clone(&counts) as Arc<dyn Source>);
    let now = Arc::new(AtomicU64::new(0));
    let mut collector = Collector::new(Arc::clone(&workload), Box::new(Clock(Arc::clone(&now))));
    let member = |name: &str, count: u64, handshakes: [u64; 2], programs_s: f64| MemberTotals {
        count,
        handshakes,
        programs_s,
        wall_s: 1.0,
        ..MemberTotals::new(Kind::Api, name)
    };
    // The program has computed for 3 s; both operations waited for it, one three times as long.
    let members = vec![member("order", 10, [4, 1], 3.0), member("list", 20, [0, 7], 1.0)];
    *counts.0.lock().expect("no panic") = (members, 3.0);
    now.store(1_000, Ordering::Relaxed);
    let interval = collector.finish().interval.expect("a second is collected");
    let class = |name: &str| interval.class(name).expect("a class");
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b} in {interval:#?}");
    near(class("orders").programs_cpu_s, 2.25);
    near(class("api").programs_cpu_s, 0.75);
    near(interval.programs_cpu_s, 0.0);
    assert_eq!((class("orders").handshakes_full, class("orders").handshakes_resumed), (4, 1));
    assert_eq!((class("api").handshakes_full, class("api").handshakes_resumed), (0, 7));
    assert_eq!((interval.handshakes_full, interval.handshakes_resumed), (4, 8));
    let order = &class("orders").members[0];
    assert_eq!((order.name.as_str(), order.handshakes_full), ("api:order", 4));
    near(order.programs_cpu_s, 2.25);
    near(interval.counted[names::CONNECTIONS], 30.0);
    near(interval.seen[names::OPEN_UNITS].peak, 30.0);
    // The program uses the processors, so it is a demand on them.
    let demands = Demands::of(std::slice::from_ref(&interval), "api:order").expect("it is there");
    near(demands.cpu_s, 0.225);
    near(demands.programs_cpu_s, 0.225);
    // A connection alone is news of a member that has no new request.
    counts.0.lock().expect("no panic").0[0].handshakes = [5, 1];
    now.store(2_000, Ordering::Relaxed);
    let interval = collector.finish().interval.expect("another second is collected");
    assert_eq!(interval.class("orders").expect("a class").handshakes_full, 1);
}

/// A peak needs a range of loads, and throughput that falls.
#[test]
fn loads_without_a_peak_give_no_advice_about_it() {
    let interval = |load: f64, throughput: f64| {
        shown()
            .with(|i| {
                i.classes.truncate(1);
                i.classes[0].count = whole(throughput * i.seconds);
                i.classes[0].wall_s = load * i.seconds;
            })
            .0
    };
    let of = |loads: &[(f64, f64)]| {
        let intervals: Vec<Interval> = loads.iter().map(|(load, throughput)| interval(*load, *throughput)).collect();
        readings(&intervals, None).get(&Metric::ScalabilityPeak).copied()
    };
    // Saturated at 400 a second: users wait, and throughput does not fall.
    let saturated = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|load: f64| (load, (100.0 * load).min(400.0)));
    assert_eq!(of(&saturated), None);
    let falls = [(1.0, 100.0), (2.0, 188.7), (4.0, 307.7), (6.0, 352.9), (8.0, 354.0), (12.0, 311.7)];
    assert!(of(&falls).is_some_and(|peak| (peak - 7.0).abs() < 0.5), "{:?}", of(&falls));
    assert_eq!(of(&falls[..5]), None, "too few");
    assert_eq!(
        of(&[(4.0, 307.0), (5.0, 335.0), (6.0, 353.0), (7.0, 357.0), (8.0, 354.0), (9.0, 346.0)]),
        None,
        "one load"
    );
}
