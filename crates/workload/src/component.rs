//! The component report: the system, its classes of work and their members, interval by interval.

use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

use crate::interval::{ClassInterval, Interval, MemberInterval};

/// Shows milliseconds since 1970.
type Time<'t> = &'t dyn Fn(u64) -> String;

/// Part of the CPU time that may be in no class.
const UNACCOUNTED_MAX: f64 = 0.02;
/// CPU time below which the part that is in no class says nothing: the kernel counts single threads by the tick.
pub(crate) const CPU_LEAST_S: f64 = 1.0;
/// Members that the report names.
const MEMBERS_MAX: usize = 50;

/// Builds the component report of intervals in ascending order. `time` formats milliseconds since 1970.
#[must_use]
pub fn component_report(intervals: &[Interval], time: Time<'_>) -> Report {
    let cpu: f64 = intervals.iter().map(|interval| interval.cpu_s).sum();
    let unaccounted: f64 = intervals.iter().map(|interval| interval.unaccounted_cpu_s).sum();
    let part = if cpu > 0.0 { unaccounted / cpu } else { 0.0 };
    let seconds: f64 = intervals.iter().map(|interval| interval.seconds).sum();
    let (verdict, summary) = if cpu >= CPU_LEAST_S && part.abs() > UNACCOUNTED_MAX {
        let summary = format!("{:.1} % of the CPU time is in no class, expected at most 2 %", 100.0 * part);
        (Verdict::Untrustworthy, summary)
    } else {
        let share = 100.0 * cpu / capacity(intervals);
        (
            Verdict::Good,
            format!(
                "{share:.1} % of the processors were in use over {seconds:.0} s ({}). {:.2} % of the CPU time is in no class.",
                span_text(intervals, time),
                100.0 * part
            ),
        )
    };
    let processors = intervals.last().map_or(0, |interval| interval.processors);
    Report {
        kind: "component".to_owned(),
        title: "Component report".to_owned(),
        verdict,
        summary,
        // A baseline of another time has the same conditions.
        conditions: vec![("processors".to_owned(), processors.to_string())],
        sections: vec![
            system(intervals, time),
            classes(intervals),
            by_interval(intervals, time),
            members(intervals),
            phases(intervals),
            handshakes(intervals, time),
        ],
    }
}

/// Formats the number of intervals and the time of the first.
fn span_text(intervals: &[Interval], time: Time<'_>) -> String {
    match intervals {
        [] => "0 intervals".to_owned(),
        [one] => format!("1 interval, from {}", time(one.begin_ms)),
        [first, ..] => format!("{} intervals, from {}", intervals.len(), time(first.begin_ms)),
    }
}

fn capacity(intervals: &[Interval]) -> f64 {
    let all: f64 = intervals.iter().map(|interval| interval.seconds * f64::from(interval.processors)).sum();
    all.max(f64::MIN_POSITIVE)
}

/// Names of all classes, in the order of the settings.
fn class_names(intervals: &[Interval]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for class in intervals.iter().flat_map(|interval| &interval.classes) {
        if !names.contains(&class.name.as_str()) {
            names.push(&class.name);
        }
    }
    names
}

/// Percentage of transactions that failed. Reports of times of different lengths can compare it.
fn part(failed: u64, count: u64) -> Cell {
    if count > 0 { Cell::Number(100.0 * failed as f64 / count as f64) } else { Cell::Empty }
}

fn per_hour(count: u64, seconds: f64) -> Cell {
    if seconds > 0.0 { Cell::Number(count as f64 / seconds * 3_600.0) } else { Cell::Empty }
}

fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

/// Builds the table of the machine, with a row for each interval.
fn system(intervals: &[Interval], time: Time<'_>) -> Section {
    let names = class_names(intervals);
    let mut columns = vec![
        Column::new("begin", "UTC"),
        Column::new("length", "s"),
        Column::new("transactions", "per h"),
        Column::new("response", "ms"),
        Column::new("CPU", "%"),
    ];
    columns.extend(names.iter().map(|name| Column::new(&format!("CPU {name}"), "%")));
    columns.extend([
        Column::new("CPU helpers", "%"),
        Column::new("CPU other", "%"),
        Column::new("CPU in no class", "%"),
        Column::new("run queue", "s"),
        Column::new("pressure", "%"),
    ]);
    let row = |interval: &Interval| {
        let percent = |cpu_s: f64| Cell::Number(100.0 * interval.share(cpu_s));
        let count: u64 = interval.classes.iter().map(|class| class.count).sum();
        let timed: Vec<&ClassInterval> = interval.classes.iter().filter(|class| class.wall_s > 0.0).collect();
        let (wall, of): (f64, u64) =
            (timed.iter().map(|class| class.wall_s).sum(), timed.iter().map(|class| class.count).sum());
        let response = (of > 0).then(|| 1_000.0 * wall / of as f64);
        let mut cells = vec![
            Cell::text(time(interval.begin_ms)),
            Cell::Number(interval.seconds),
            per_hour(count, interval.seconds),
            number(response),
            percent(interval.cpu_s),
        ];
        cells.extend(names.iter().map(|name| interval.class(name).map_or(Cell::Empty, |class| percent(class.cpu_s))));
        cells.extend([
            percent(interval.helper_cpu_s + interval.classes.iter().map(|class| class.helper_cpu_s).sum::<f64>()),
            percent(interval.other_cpu_s),
            percent(interval.unaccounted_cpu_s),
            Cell::Number(interval.classes.iter().map(|class| class.run_queue_s).sum()),
            number(interval.pressure.map(|share| 100.0 * share)),
        ]);
        cells
    };
    let minutes = |interval: &Interval| {
        let first = intervals.first().map_or(0, |first| first.begin_ms);
        (interval.begin_ms - first) as f64 / 60_000.0
    };
    let mut series = vec![Series {
        name: "all".to_owned(),
        style: SeriesStyle::Points,
        points: intervals.iter().map(|interval| (minutes(interval), 100.0 * interval.share(interval.cpu_s))).collect(),
    }];
    series.extend(names.iter().map(|name| {
        Series {
            name: (*name).to_owned(),
            style: SeriesStyle::Line,
            points: intervals
                .iter()
                .filter_map(|interval| Some((minutes(interval), 100.0 * interval.share(interval.class(name)?.cpu_s))))
                .collect(),
        }
    }));
    Section {
        id: "system".to_owned(),
        title: "System".to_owned(),
        notes: vec![
            "Classes have the CPU time of their own threads. Helpers are threads of the store; the table of classes charges them to whom they work for.".to_owned(),
        ],
        table: Table { columns, rows: intervals.iter().map(row).collect() },
        picture: (intervals.len() > 1).then(|| Picture::Lines {
            across: "minutes".to_owned(),
            up: "CPU, % of all processors".to_owned(),
            series,
        }),
    }
}

/// Sums of a class over all intervals.
fn class_sum(intervals: &[Interval], name: &str) -> ClassInterval {
    let mut sum = ClassInterval { name: name.to_owned(), ..ClassInterval::default() };
    for class in intervals.iter().filter_map(|interval| interval.class(name)) {
        sum.count += class.count;
        sum.failed += class.failed;
        sum.commits += class.commits;
        sum.wall_s += class.wall_s;
        sum.cpu_s += class.cpu_s;
        sum.helper_cpu_s += class.helper_cpu_s;
        sum.programs_cpu_s += class.programs_cpu_s;
        sum.run_queue_s += class.run_queue_s;
        sum.held_s += class.held_s;
        sum.waits.add(class.waits);
        sum.above_s += class.above_s;
        sum.above_cpu_s += class.above_cpu_s;
        sum.entitlement = class.entitlement;
        sum.band = class.band;
    }
    sum
}

/// Builds the table of classes over the whole time.
fn classes(intervals: &[Interval]) -> Section {
    let seconds: f64 = intervals.iter().map(|interval| interval.seconds).sum();
    let columns = vec![
        Column::new("class", ""),
        Column::new("transactions", ""),
        Column::higher("rate", "per h"),
        Column::new("failed", ""),
        Column::lower("failed of all", "%"),
        Column::lower("response", "ms"),
        Column::lower("worst p95", "ms"),
        Column::new("in progress", ""),
        Column::lower("CPU each", "us"),
        Column::new("helpers each", "us"),
        Column::lower("programs each", "us"),
        Column::new("CPU", "%"),
        Column::new("with helpers and programs", "%"),
        Column::new("entitlement", "%"),
        Column::lower("above threshold", "%"),
        Column::lower("CPU above threshold", "%"),
        Column::new("run queue", "s"),
        Column::new("held", "s"),
        Column::new("locks", "s"),
        Column::new("queues", "s"),
        Column::new("backpressure", "s"),
        Column::new("commits", "s"),
        Column::new("devices", "s"),
        Column::new("other systems", "s"),
        Column::new("band", ""),
    ];
    let row = |name: &str| {
        let class = class_sum(intervals, name);
        let p95 = intervals.iter().filter_map(|interval| interval.class(name)?.times).map(|times| times.p95_s);
        let each = |seconds: f64| (class.count > 0).then(|| 1e6 * seconds / class.count as f64);
        let share = |cpu: f64| Cell::Number(100.0 * cpu / capacity(intervals));
        vec![
            Cell::text(name),
            Cell::Number(class.count as f64),
            per_hour(class.count, seconds),
            Cell::Number(class.failed as f64),
            part(class.failed, class.count),
            number(class.response_s().map(|seconds| 1_000.0 * seconds)),
            number(p95.reduce(f64::max).map(|seconds| 1_000.0 * seconds)),
            // Little's law: rate times response time.
            number((class.wall_s > 0.0 && seconds > 0.0).then(|| class.wall_s / seconds)),
            number(each(class.cpu_s)),
            number(each(class.helper_cpu_s)),
            number(each(class.programs_cpu_s)),
            share(class.cpu_s),
            share(class.cpu_s + class.helper_cpu_s + class.programs_cpu_s),
            number(class.entitlement.map(|share| 100.0 * share)),
            number((seconds > 0.0).then(|| 100.0 * class.above_s / seconds)),
            share(class.above_cpu_s),
            Cell::Number(class.run_queue_s),
            Cell::Number(class.held_s),
            Cell::Number(class.waits.lock_s),
            Cell::Number(class.waits.queue_s),
            Cell::Number(class.waits.room_s),
            Cell::Number(class.waits.commit_s),
            Cell::Number(class.waits.device_s),
            Cell::Number(class.waits.external_s),
            Cell::Number(f64::from(class.band)),
        ]
    };
    let names = class_names(intervals);
    Section {
        id: "classes".to_owned(),
        title: "Component".to_owned(),
        notes: vec![
            "Items of a batch job take the time of their chunk together, so its response time is that of a chunk for each item.".to_owned(),
            "Locks, queues, backpressure and commits are waits of the class' threads for other threads, where the code names the reason. Idle threads wait as well.".to_owned(),
        ],
        picture: Some(Picture::Bars {
            across: "CPU, % of all processors".to_owned(),
            rows: names.iter().map(|name| (*name).to_owned()).collect(),
            series: vec![
                ("own threads".to_owned(), names.iter().map(|name| 100.0 * class_sum(intervals, name).cpu_s / capacity(intervals)).collect()),
                ("helpers".to_owned(), names.iter().map(|name| 100.0 * class_sum(intervals, name).helper_cpu_s / capacity(intervals)).collect()),
            ],
        }),
        table: Table { columns, rows: names.into_iter().map(row).collect() },
    }
}

/// Builds the table of classes by interval, for intervals in which they were active.
fn by_interval(intervals: &[Interval], time: Time<'_>) -> Section {
    let columns = vec![
        Column::new("begin", "UTC"),
        Column::new("class", ""),
        Column::new("transactions", "per h"),
        Column::new("failed", ""),
        Column::new("response", "ms"),
        Column::new("p50", "ms"),
        Column::new("p95", "ms"),
        Column::new("p99", "ms"),
        Column::new("CPU each, with helpers and programs", "us"),
        Column::new("CPU", "%"),
        Column::new("above threshold", "s"),
        Column::new("run queue", "s"),
        Column::new("held", "s"),
        Column::new("band", ""),
    ];
    let mut rows = Vec::new();
    for interval in intervals {
        for class in interval.classes.iter().filter(|class| class.count > 0 || class.cpu_s > 0.0) {
            let ms = |seconds: f64| Cell::Number(1_000.0 * seconds);
            rows.push(vec![
                Cell::text(time(interval.begin_ms)),
                Cell::text(&*class.name),
                per_hour(class.count, interval.seconds),
                Cell::Number(class.failed as f64),
                class.response_s().map_or(Cell::Empty, ms),
                class.times.map_or(Cell::Empty, |times| ms(times.p50_s)),
                class.times.map_or(Cell::Empty, |times| ms(times.p95_s)),
                class.times.map_or(Cell::Empty, |times| ms(times.p99_s)),
                number(class.cpu_each_s().map(|seconds| 1e6 * seconds)),
                Cell::Number(100.0 * interval.share(class.cpu_s)),
                Cell::Number(class.above_s),
                Cell::Number(class.run_queue_s),
                Cell::Number(class.held_s),
                Cell::Number(f64::from(class.band)),
            ]);
        }
    }
    Section {
        id: "intervals".to_owned(),
        title: "Classes by interval".to_owned(),
        notes: Vec::new(),
        table: Table { columns, rows },
        picture: None,
    }
}

/// Builds the table of the members with the highest use.
fn members(intervals: &[Interval]) -> Section {
    let mut all: Vec<(String, MemberInterval)> = Vec::new();
    for class in intervals.iter().flat_map(|interval| &interval.classes) {
        for member in &class.members {
            match all.iter_mut().find(|(of, known)| *of == class.name && known.name == member.name) {
                Some((_, sum)) => sum.add(member),
                None => all.push((class.name.clone(), member.clone())),
            }
        }
    }
    all.sort_by(|(_, a), (_, b)| b.cpu_s.total_cmp(&a.cpu_s));
    let left = all.len().saturating_sub(MEMBERS_MAX);
    all.truncate(MEMBERS_MAX);
    let columns = vec![
        Column::new("member", ""),
        Column::new("class", ""),
        Column::new("transactions", ""),
        Column::new("failed", ""),
        Column::lower("failed of all", "%"),
        Column::lower("response", "ms"),
        Column::lower("CPU each", "us"),
        Column::lower("programs each", "us"),
        Column::new("CPU", "s"),
    ];
    let row = |(class, member): &(String, MemberInterval)| {
        let each = |sum: f64, scale: f64| {
            if member.count > 0 && sum > 0.0 { Cell::Number(scale * sum / member.count as f64) } else { Cell::Empty }
        };
        vec![
            Cell::text(&*member.name),
            Cell::text(&**class),
            Cell::Number(member.count as f64),
            Cell::Number(member.failed as f64),
            part(member.failed, member.count),
            each(member.wall_s, 1_000.0),
            each(member.cpu_s, 1e6),
            each(member.programs_cpu_s, 1e6),
            Cell::Number(member.cpu_s),
        ]
    };
    Section {
        id: "members".to_owned(),
        title: "Operations, flows and jobs".to_owned(),
        notes: (left > 0).then(|| format!("{left} members that used less are left out.")).into_iter().collect(),
        table: Table { columns, rows: all.iter().map(row).collect() },
        picture: None,
    }
}

/// Builds the table of phases: the time of each class by its use.
fn phases(intervals: &[Interval]) -> Section {
    let mut rows = Vec::new();
    for name in class_names(intervals) {
        let mut sums: Vec<(&str, f64)> = Vec::new();
        for (phase, seconds) in
            intervals.iter().filter_map(|interval| interval.class(name)).flat_map(|class| &class.phases)
        {
            match sums.iter_mut().find(|(known, _)| known == phase) {
                Some((_, sum)) => *sum += seconds,
                None => sums.push((phase, *seconds)),
            }
        }
        let all: f64 = sums.iter().map(|(_, seconds)| seconds).sum();
        for (phase, seconds) in sums {
            let part = if all > 0.0 { Cell::Number(100.0 * seconds / all) } else { Cell::Empty };
            rows.push(vec![Cell::text(name), Cell::text(phase), Cell::Number(seconds), part]);
        }
    }
    Section {
        id: "phases".to_owned(),
        title: "Time by phase".to_owned(),
        notes: vec![
            "Phases of APIs are wall time; those of flows are CPU time, from one unit of work in 32.".to_owned(),
        ],
        table: Table {
            columns: vec![
                Column::new("class", ""),
                Column::new("phase", ""),
                Column::new("time", "s"),
                Column::new("part", "%"),
            ],
            rows,
        },
        picture: None,
    }
}

/// Handshakes and look-ups of definitions by interval.
fn handshakes(intervals: &[Interval], time: Time<'_>) -> Section {
    let columns = vec![
        Column::new("begin", "UTC"),
        Column::new("TLS full", ""),
        Column::new("TLS resumed", ""),
        Column::new("definitions found", ""),
        Column::new("definitions compiled", ""),
    ];
    let count = |count: u64| Cell::Number(count as f64);
    let row = |interval: &Interval| {
        vec![
            Cell::text(time(interval.begin_ms)),
            count(interval.handshakes_full),
            count(interval.handshakes_resumed),
            count(interval.definitions_found),
            count(interval.definitions_missed),
        ]
    };
    Section {
        id: "handshakes".to_owned(),
        title: "Handshakes and definitions".to_owned(),
        notes: Vec::new(),
        table: Table { columns, rows: intervals.iter().map(row).collect() },
        picture: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(begin_ms: u64, unaccounted_cpu_s: f64) -> Interval {
        let api = ClassInterval {
            name: "api".to_owned(),
            count: 1_200,
            wall_s: 6.0,
            cpu_s: 12.0,
            helper_cpu_s: 3.0,
            programs_cpu_s: 6.0,
            members: vec![MemberInterval {
                name: "api:get".to_owned(),
                count: 1_200,
                cpu_s: 12.0,
                programs_cpu_s: 6.0,
                ..MemberInterval::default()
            }],
            ..ClassInterval::default()
        };
        Interval {
            begin_ms,
            seconds: 60.0,
            processors: 2,
            cpu_s: 30.0,
            unaccounted_cpu_s,
            classes: vec![api],
            ..Interval::default()
        }
    }

    fn section<'r>(report: &'r Report, id: &str) -> &'r Table {
        &report.sections.iter().find(|section| section.id == id).expect("a section").table
    }

    fn value(table: &Table, row: usize, column: &str) -> Option<f64> {
        let at = table.columns.iter().position(|known| known.name == column).expect("a column");
        table.rows[row][at].number()
    }

    #[test]
    fn figures_follow_from_the_sums() {
        let report = component_report(&[interval(0, 0.1), interval(60_000, 0.1)], &|ms| ms.to_string());
        assert_eq!(report.verdict, Verdict::Good);
        let system = section(&report, "system");
        // 30 s of 120 s; 1200 in a minute are 72,000 in an hour; 6 s of 1200 are 5 ms.
        let found = ["CPU", "CPU api", "CPU helpers", "transactions", "response"].map(|name| value(system, 1, name));
        assert_eq!(found, [Some(25.0), Some(10.0), Some(2.5), Some(72_000.0), Some(5.0)]);
        let classes = section(&report, "classes");
        let columns =
            ["transactions", "CPU each", "helpers each", "programs each", "with helpers and programs", "in progress"];
        let found = columns.map(|name| value(classes, 0, name));
        assert_eq!(found, [Some(2_400.0), Some(10_000.0), Some(2_500.0), Some(5_000.0), Some(17.5), Some(0.1)]);
        let of_interval = value(section(&report, "intervals"), 0, "CPU each, with helpers and programs");
        assert_eq!(of_interval, Some(17_500.0));
        let members = section(&report, "members");
        assert_eq!((members.rows[0][0].clone(), value(members, 0, "CPU")), (Cell::text("api:get"), Some(24.0)));
        assert_eq!(value(members, 0, "programs each"), Some(5_000.0));
        assert!(report.html().len() < quayline_report::HTML_BYTES_MAX);
    }

    #[test]
    fn reports_of_two_days_can_be_compared() {
        let day = |begin_ms: u64| component_report(&[interval(begin_ms, 0.1)], &|ms| ms.to_string());
        let found = quayline_report::compare(&day(0), &day(86_400_000), 0.05).expect("the conditions are equal");
        assert_eq!(found.worse, 0);
        // Sums grow with the number of intervals, so the comparison takes shares.
        let failing = |count: u64, failed: u64| {
            let intervals: Vec<Interval> = (0..count)
                .map(|at| {
                    let mut one = interval(at * 60_000, 0.1);
                    for class in &mut one.classes {
                        (class.failed, class.above_s, class.above_cpu_s) = (failed, 1.0, 0.01);
                        class.members.iter_mut().for_each(|member| member.failed = failed);
                    }
                    one
                })
                .collect();
            component_report(&intervals, &|ms| ms.to_string())
        };
        let compare = |a: &Report, b: &Report| quayline_report::compare(a, b, 0.05).expect("equal conditions").worse;
        assert_eq!(compare(&failing(2, 1), &failing(6, 1)), 0);
        assert!(compare(&failing(6, 1), &failing(2, 2)) > 0);
    }

    #[test]
    fn cpu_time_in_no_class_makes_the_report_untrustworthy() {
        let report = component_report(&[interval(0, 2.0)], &|ms| ms.to_string());
        assert_eq!(report.verdict, Verdict::Untrustworthy);
        assert!(report.summary.contains("6.7 %"), "{}", report.summary);
    }
}
