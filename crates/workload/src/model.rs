//! A member of a class as a queueing network.

use quayline_capacity::audit::LoadFigures;
use quayline_capacity::fit::{CalendarDate, Exhaustion};
use quayline_capacity::{
    GraphStep, ModelError, Objective, Origin, PerMonth, PerSecond, Prediction, Seconds, Servers, Share, Station,
    StepOrder, USERS_MAX, WorkGraph, Workload, count_text,
};
use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};
use serde::Serialize;

use crate::interval::{Interval, MemberInterval, PartInterval};

/// Demands of one transaction in seconds, as they were measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Demands {
    /// CPU time of its own threads, and of programs in other processes on its behalf.
    pub cpu_s: f64,
    /// CPU time of those programs, which is a part of `cpu_s`.
    pub programs_cpu_s: f64,
    /// CPU time of the store's threads on its behalf.
    pub helper_cpu_s: f64,
    /// Remaining response time without waits for a processor: the device, locks, other hosts. 0 if response times are not measured.
    pub other_s: f64,
    /// Time without a processor while other work had them.
    pub run_queue_s: f64,
    /// Transactions that were measured.
    pub transactions: u64,
}

impl Demands {
    /// Computes the demands of a member over all intervals.
    ///
    /// # Errors
    /// The names in the intervals, if none has a transaction of this member.
    pub fn of(intervals: &[Interval], name: &str) -> Result<Demands, Vec<String>> {
        let sum = member(intervals, name)?;
        let count = sum.count as f64;
        let cpu = sum.cpu_s + sum.programs_cpu_s;
        let other = sum.wall_s - cpu - sum.helper_cpu_s - sum.run_queue_s;
        Ok(Demands {
            cpu_s: cpu / count,
            programs_cpu_s: sum.programs_cpu_s / count,
            helper_cpu_s: sum.helper_cpu_s / count,
            other_s: if sum.wall_s > 0.0 { other.max(0.0) / count } else { 0.0 },
            run_queue_s: sum.run_queue_s / count,
            transactions: sum.count,
        })
    }

    /// Computes the demands of the parts of a member over all intervals, such as the steps of a job, by name. Parts without a transaction are omitted.
    ///
    /// Figures of the whole member are divided among its parts: CPU time outside of pieces of work in proportion to their CPU time, the store's
    /// threads in proportion to commits, and waits for a processor in proportion to their time.
    ///
    /// # Errors
    /// Those of [`Demands::of`].
    pub fn of_parts(intervals: &[Interval], name: &str) -> Result<Vec<(String, Demands)>, Vec<String>> {
        let sum = member(intervals, name)?;
        let all = |of: fn(&PartInterval) -> f64| sum.parts.iter().map(of).sum::<f64>();
        let (cpu, wall, commits) = (all(|part| part.cpu_s), all(|part| part.wall_s), all(|part| part.commits as f64));
        let share = |own: f64, all: f64| if all > 0.0 { own / all } else { 0.0 };
        let demands = |part: &PartInterval| {
            let count = part.count as f64;
            let programs_cpu_s = share(part.wall_s, wall) * sum.programs_cpu_s;
            let cpu_s = part.cpu_s.max(share(part.cpu_s, cpu) * sum.cpu_s) + programs_cpu_s;
            let helper_cpu_s = share(part.commits as f64, commits) * sum.helper_cpu_s;
            let run_queue_s = share(part.wall_s, wall) * sum.run_queue_s;
            let other = part.wall_s - cpu_s - helper_cpu_s - run_queue_s;
            let demands = Demands {
                cpu_s: cpu_s / count,
                programs_cpu_s: programs_cpu_s / count,
                helper_cpu_s: helper_cpu_s / count,
                other_s: other.max(0.0) / count,
                run_queue_s: run_queue_s / count,
                transactions: part.count,
            };
            (part.name.clone(), demands)
        };
        Ok(sum.parts.iter().filter(|part| part.count > 0).map(demands).collect())
    }
}

/// Adds up a member over all intervals.
fn member(intervals: &[Interval], name: &str) -> Result<MemberInterval, Vec<String>> {
    let mut sum = MemberInterval::default();
    let mut names: Vec<&str> = Vec::new();
    for member in intervals.iter().flat_map(|interval| &interval.classes).flat_map(|class| &class.members) {
        names.push(&member.name);
        if member.name == name {
            sum.add(member);
        }
    }
    if sum.count == 0 {
        names.sort_unstable();
        names.dedup();
        return Err(names.into_iter().map(str::to_owned).collect());
    }
    Ok(sum)
}

/// Models a job as a graph of steps that share the processors and the store's thread. A step has a name, demands, workers and items; the
/// order refers to steps by index.
#[must_use]
pub fn job_graph(steps: &[(String, Demands, u32, f64)], order: StepOrder, processors: u32, faster: f64) -> WorkGraph {
    let step = |(name, demands, workers, items): &(String, Demands, u32, f64)| GraphStep {
        name: name.clone(),
        workers: *workers,
        transactions: *items,
        demands: vec![
            Seconds(demands.cpu_s / faster),
            Seconds(demands.helper_cpu_s / faster),
            Seconds(demands.other_s),
        ],
    };
    WorkGraph {
        stations: vec![
            ("processors".to_owned(), Servers::Count(processors.max(1))),
            ("store".to_owned(), Servers::Count(1)),
            ("other".to_owned(), Servers::Delay),
        ],
        steps: steps.iter().map(step).collect(),
        order,
        origin: Origin::Measured,
    }
}

/// Months after which a date says nothing: a thousand years.
const DATED_MONTHS_MAX: f64 = 12_000.0;

/// Largest load within the objectives, and when growth reaches it.
#[derive(Clone, Copy, Debug)]
pub struct Headroom {
    /// Largest number of users or workers within the objectives.
    pub most: u32,
    /// Largest number that was predicted.
    asked: u32,
    growth: Option<Exhaustion>,
    from: Option<CalendarDate>,
    /// Default utilization that applies in addition to the named objectives.
    default_utilization: Option<Share>,
}

impl Headroom {
    /// Computes the largest load within the objectives, and when `asked` users or workers have grown to it.
    ///
    /// # Errors
    /// [`ModelError`] for a workload without demand or a growth without meaning.
    pub fn of(
        workload: &Workload,
        objective: &Objective,
        asked: u32,
        growth: Option<PerMonth>,
        from: Option<CalendarDate>,
    ) -> Result<Headroom, ModelError> {
        let most = workload.most_users(objective)?.value;
        let growth = growth.map(|growth| workload.exhausted(asked, objective, growth)).transpose()?;
        let growth = growth.map(|found| found.value);
        Ok(Headroom { most, asked, growth, from, default_utilization: None })
    }

    /// Adds the default utilization to the text. A verdict without this limit has another number of users.
    #[must_use]
    pub fn with_default(self, utilization_max: Option<Share>) -> Headroom {
        Headroom { default_utilization: utilization_max, ..self }
    }

    /// Months until the predicted load has grown to the largest one within the objectives.
    #[must_use]
    pub fn months(&self) -> Option<f64> {
        self.growth?.months()
    }

    /// Date of that, if growth counts from a date and reaches the load within a thousand years.
    #[must_use]
    pub fn date(&self) -> Option<String> {
        let months = self.months().filter(|months| *months <= DATED_MONTHS_MAX)?;
        Some(self.from?.after_months(months).to_string())
    }

    /// Formats the headroom. `what` names the load at the start of a line: `Users`.
    #[must_use]
    pub fn text(&self, what: &str) -> String {
        let most = if self.most == USERS_MAX { format!("{USERS_MAX} or more") } else { self.most.to_string() };
        let asked = format!("{} {}", self.asked, what.to_lowercase());
        let growth = match (self.growth, self.date()) {
            (None, _) => String::new(),
            (Some(Exhaustion::Now), _) => format!("Exhausted: now, at {asked}\n"),
            (Some(Exhaustion::Never), _) if self.most == USERS_MAX => {
                format!("Exhausted: not before {USERS_MAX} {}\n", what.to_lowercase())
            }
            (Some(Exhaustion::Never), _) => "Exhausted: never without growth\n".to_owned(),
            (Some(Exhaustion::After { months }), None) => format!("Exhausted: {months:.1} months from {asked}\n"),
            (Some(Exhaustion::After { months }), Some(date)) => {
                format!("Exhausted: {date}, {months:.1} months from {asked}\n")
            }
        };
        let default = self
            .default_utilization
            .map_or_else(String::new, |share| format!(" and {:.0} % utilization, the default", share.percent()));
        format!("{what} within the objectives{default}: {most}\n{growth}")
    }
}

/// Returns the verdict on a predicted load, with its reason: each limit of `named` that it misses, and the largest load in `within`. `noun` is what
/// the load counts, such as `user`.
///
/// # Errors
/// [`ModelError`] for a workload without demand.
pub fn verdict_on_load(
    workload: &Workload,
    load: &Prediction,
    named: &Objective,
    within: &Objective,
    noun: &str,
) -> Result<(Verdict, String), ModelError> {
    let most = workload.most_users(within)?.value;
    let missed = workload.missed(load, named);
    if missed.is_empty() {
        return Ok((Verdict::Good, format!("{} within the objectives.", count_text(f64::from(most), noun))));
    }
    let verb = if load.users == 1 { "misses" } else { "miss" };
    let others = match most {
        0 if load.users == 1 => String::new(),
        0 => format!("; a single {noun} misses an objective, too"),
        // Rows of a model with more limits than its network.
        most if most >= load.users => String::new(),
        most => format!("; {} within them", count_text(f64::from(most), noun)),
    };
    let asked = count_text(f64::from(load.users), noun);
    Ok((Verdict::ObjectiveMissed, format!("{asked} {verb} the objectives: {}{others}", missed.join("; "))))
}

/// Returns a line of advice for each station that a predicted load fills beyond a default utilization. The text is empty if none is.
#[must_use]
pub fn advice_of_load(workload: &Workload, load: &Prediction, utilization_max: Share, noun: &str) -> String {
    let default = Objective { utilization_most: Some(utilization_max), ..Objective::default() };
    let asked = count_text(f64::from(load.users), noun);
    let missed = workload.missed(load, &default);
    missed
        .iter()
        .map(|missed| format!("Advice: {asked}: {missed} by default; --utilization-max names another limit\n"))
        .collect()
}

/// Returns the load of some members together in each interval with transactions and response times. The number of users follows from Little's law,
/// with the think time of each user.
#[must_use]
pub fn measured_loads(intervals: &[Interval], names: &[&str], think: Seconds) -> Vec<LoadFigures> {
    let of = |interval: &Interval| {
        let members = interval.classes.iter().flat_map(|class| &class.members);
        let (count, wall) = members
            .filter(|member| names.contains(&member.name.as_str()))
            .fold((0, 0.0), |(count, wall), member| (count + member.count, wall + member.wall_s));
        let (throughput, response) = (count as f64 / interval.seconds, wall / count as f64);
        let users = throughput * (response + think.0);
        (count > 0 && interval.seconds > 0.0 && wall > 0.0).then_some(LoadFigures {
            users,
            throughput: PerSecond(throughput),
            response: Seconds(response),
            percentile: None,
        })
    };
    intervals.iter().filter_map(of).collect()
}

impl Demands {
    /// Returns the demands on a machine with the measured background load: waiting for a processor counts as using one.
    #[must_use]
    pub fn contended(self) -> Demands {
        Demands { cpu_s: self.cpu_s + self.run_queue_s, run_queue_s: 0.0, ..self }
    }

    /// Builds the network: `processors` that share the CPU time, the store's single thread, and a delay for the rest. `faster` divides all CPU time.
    #[must_use]
    pub fn network(&self, processors: u32, faster: f64, think: Seconds) -> Workload {
        let station = |name: &str, servers: Servers, demand: f64| Station {
            name: name.to_owned(),
            servers,
            demands: vec![Seconds(demand)],
        };
        let mut stations = vec![station("processors", Servers::Count(processors.max(1)), self.cpu_s / faster)];
        if self.helper_cpu_s > 0.0 {
            stations.push(station("store", Servers::Count(1), self.helper_cpu_s / faster));
        }
        if self.other_s > 0.0 {
            stations.push(station("other", Servers::Delay, self.other_s));
        }
        Workload { stations, think, origin: Origin::Measured, shared: None }
    }
}

/// Returns the elapsed time in seconds of a job with a number of items.
#[must_use]
pub fn elapsed_s(row: &Prediction, items: Option<u64>) -> Option<f64> {
    let items = items? as f64;
    (row.throughput.0 > 0.0).then(|| items / row.throughput.0)
}

/// Formats predictions by number of workers, with the elapsed time in seconds for a job.
#[must_use]
pub fn prediction_text(
    name: &str,
    transactions: u64,
    workload: &Workload,
    rows: &[Prediction],
    elapsed: &[Option<f64>],
) -> String {
    let us = |seconds: f64| format!("{:.1} us", seconds * 1e6);
    let mut text = format!("{name}, from {transactions} transactions\n");
    for station in &workload.stations {
        text.push_str(&format!("  {:<12} {:>14}\n", station.name, us(station.demands[0].0)));
    }
    let titles = ["response", "p50", "p95", "p99"].map(|title| format!(" {title:>14}")).concat();
    text.push_str(&format!("\n{:>8} {:>14}{titles} {:>12}", "workers", "per second", "processors"));
    text.push_str(if elapsed.iter().any(Option::is_some) { "      elapsed\n" } else { "\n" });
    for (row, elapsed) in rows.iter().zip(elapsed) {
        let busy = row.utilization.first().map_or(0.0, |share| share.percent());
        let [p50, p95, p99] = row.percentiles;
        let times = [row.response, p50, p95, p99].map(|time| format!(" {:>14}", us(time.0))).concat();
        let rate = row.throughput.0;
        text.push_str(&format!("{:>8} {rate:>14.1}{times} {busy:>10.1} %", row.users));
        if let Some(elapsed) = elapsed {
            text.push_str(&format!(" {elapsed:>10.1} s"));
        }
        text.push('\n');
    }
    if let Some(bottleneck) = workload.bottleneck() {
        text.push_str(&format!("\nBottleneck: {}\n", workload.stations[bottleneck].name));
    }
    text
}

/// Builds the report of predictions by number of workers, with the elapsed time in seconds for a job.
#[must_use]
pub fn prediction_report(name: &str, workload: &Workload, rows: &[Prediction], elapsed: &[Option<f64>]) -> Report {
    let mut columns =
        vec![Column::new("workers", ""), Column::higher("throughput", "per s"), Column::lower("response", "us")];
    columns.extend(["p50", "p95", "p99"].map(|name| Column::lower(name, "us")));
    columns.extend(workload.stations.iter().map(|station| Column::new(&station.name, "%")));
    columns.push(Column::lower("elapsed", "s"));
    let cells = |(row, elapsed): (&Prediction, &Option<f64>)| {
        let mut cells = vec![
            Cell::Number(f64::from(row.users)),
            Cell::Number(row.throughput.0),
            Cell::Number(1e6 * row.response.0),
        ];
        cells.extend(row.percentiles.iter().map(|time| Cell::Number(1e6 * time.0)));
        cells.extend(row.utilization.iter().map(|share| Cell::Number(100.0 * share.0)));
        cells.push(elapsed.map_or(Cell::Empty, Cell::Number));
        cells
    };
    let points = rows.iter().map(|row| (f64::from(row.users), row.throughput.0)).collect();
    let predictions = Section {
        id: "workers".to_owned(),
        title: "Throughput by workers".to_owned(),
        notes: vec![
            "Columns of stations have their utilization; of a delay the mean number there, times 100.".to_owned(),
        ],
        table: Table { columns, rows: rows.iter().zip(elapsed).map(cells).collect() },
        picture: (rows.len() > 1).then(|| Picture::Lines {
            across: "workers".to_owned(),
            up: "transactions per s".to_owned(),
            series: vec![Series { name: "predicted".to_owned(), style: SeriesStyle::Line, points }],
        }),
    };
    Report {
        kind: "work-prediction".to_owned(),
        title: format!("Prediction of {}", name),
        verdict: Verdict::Good,
        summary: workload
            .bottleneck()
            .map_or_else(String::new, |at| format!("The bottleneck is {}.", workload.stations[at].name)),
        conditions: vec![("work".to_owned(), name.to_owned())],
        sections: vec![predictions],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::ClassInterval;

    #[test]
    fn demands_are_those_of_one_transaction_and_bound_the_throughput() {
        let member = MemberInterval {
            name: "job:settle".to_owned(),
            count: 1_000,
            wall_s: 10.0,
            cpu_s: 4.0,
            helper_cpu_s: 1.0,
            run_queue_s: 2.0,
            ..MemberInterval::default()
        };
        let class = ClassInterval { name: "batch".to_owned(), members: vec![member], ..ClassInterval::default() };
        let intervals = [Interval { classes: vec![class], ..Interval::default() }];
        let demands = Demands::of(&intervals, "job:settle").expect("it is there");
        assert_eq!(
            demands,
            Demands {
                cpu_s: 0.004,
                programs_cpu_s: 0.0,
                helper_cpu_s: 0.001,
                other_s: 0.003,
                run_queue_s: 0.002,
                transactions: 1_000
            }
        );
        // A program in another process uses the processors as well; it is no delay.
        let mut with_program = intervals.clone();
        with_program[0].classes[0].members[0].programs_cpu_s = 2.0;
        let program = Demands::of(&with_program, "job:settle").expect("it is there");
        assert!((program.cpu_s - 0.006).abs() < 1e-12 && (program.other_s - 0.001).abs() < 1e-12, "{program:?}");
        let most = program.network(2, 1.0, Seconds(0.0)).predict(500).expect("a prediction").value.throughput.0;
        assert!((most - 2.0 / 0.006).abs() < 1e-2, "{most}");
        assert!((demands.contended().cpu_s - 0.006).abs() < 1e-12);
        assert_eq!(Demands::of(&intervals, "job:settl"), Err(vec!["job:settle".to_owned()]));
        let network = demands.network(2, 1.0, Seconds(0.0));
        let throughput = |workers| network.predict(workers).expect("a prediction").value.throughput.0;
        // Alone: 8 ms each. With very many: two processors of 4 ms, before one thread of 1 ms.
        assert!((throughput(1) - 125.0).abs() < 1e-9 && (throughput(500) - 500.0).abs() < 1e-3);
        let faster = demands.network(2, 2.0, Seconds(0.0)).predict(500).expect("a prediction").value;
        assert!((faster.throughput.0 - 1_000.0).abs() < 1e-2);
    }

    /// 2,000 transactions in 10 s at 40 ms each keep 8 of them in progress; with 10 ms of think time they are those of 10 users.
    #[test]
    fn loads_of_intervals_have_their_users_by_littles_law() {
        let member =
            |count, wall_s| MemberInterval { name: "api:get".to_owned(), count, wall_s, ..MemberInterval::default() };
        let interval = |member| Interval {
            seconds: 10.0,
            classes: vec![ClassInterval { members: vec![member], ..ClassInterval::default() }],
            ..Interval::default()
        };
        let intervals = [interval(member(2_000, 80.0)), interval(member(0, 0.0)), interval(member(1_000, 20.0))];
        let loads = measured_loads(&intervals, &["api:get"], Seconds(0.010));
        let figures: Vec<[f64; 3]> =
            loads.iter().map(|load| [load.users, load.throughput.0, load.response.0]).collect();
        let expected = [[10.0, 200.0, 0.040], [3.0, 100.0, 0.020]];
        assert_eq!(figures.len(), 2);
        for (found, expected) in figures.concat().iter().zip(expected.concat()) {
            assert!((found - expected).abs() < 1e-9, "{figures:?}");
        }
        assert!(measured_loads(&intervals, &["api:put"], Seconds(0.0)).is_empty());
        // Operations of one API are one load: 200 a second of 40 ms and 50 a second of 80 ms.
        let mut both = intervals[..1].to_vec();
        let put = MemberInterval { name: "api:put".to_owned(), count: 500, wall_s: 40.0, ..MemberInterval::default() };
        both[0].classes[0].members.push(put);
        let load = measured_loads(&both, &["api:get", "api:put"], Seconds(0.0))[0];
        assert!((load.throughput.0 - 250.0).abs() < 1e-9 && (load.response.0 - 0.048).abs() < 1e-9, "{load:?}");
    }

    #[test]
    fn steps_share_what_only_the_job_counts() {
        let part = |name: &str, count, commits, wall_s, cpu_s| PartInterval {
            name: name.to_owned(),
            count,
            failed: 0,
            commits,
            wall_s,
            cpu_s,
        };
        let member = MemberInterval {
            name: "job:settle".to_owned(),
            count: 3_000,
            wall_s: 12.0,
            cpu_s: 5.0,
            helper_cpu_s: 1.0,
            run_queue_s: 3.0,
            parts: vec![
                part("load", 1_000, 30, 8.0, 1.0),
                part("sort", 2_000, 10, 4.0, 3.0),
                part("idle", 0, 0, 0.0, 0.0),
            ],
            ..MemberInterval::default()
        };
        let class = ClassInterval { name: "batch".to_owned(), members: vec![member], ..ClassInterval::default() };
        let parts = Demands::of_parts(&[Interval { classes: vec![class], ..Interval::default() }], "job:settle");
        let parts = parts.expect("it is there");
        let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["load", "sort"]);
        // 5 s of CPU time 1 to 3, 1 s of the store 30 to 10, 3 s without a processor 8 to 4.
        let expected = [(1.25e-3, 0.75e-3, (8.0 - 1.25 - 0.75 - 2.0) / 1e3), (1.875e-3, 0.125e-3, 0.0)];
        for ((_, found), (cpu, helper, other)) in parts.iter().zip(expected) {
            assert!((found.cpu_s - cpu).abs() < 1e-12 && (found.helper_cpu_s - helper).abs() < 1e-12, "{found:?}");
            assert!((found.other_s - other).abs() < 1e-12, "{found:?}");
        }
        let steps = parts.into_iter().map(|(name, demands)| (name, demands, 1, 1_000.0)).collect::<Vec<_>>();
        let order = StepOrder::Sequence(vec![StepOrder::Step(0), StepOrder::Step(1)]);
        let elapsed = job_graph(&steps, order, 2, 1.0).predict().expect("a prediction").value.elapsed.0;
        assert!((elapsed - (1.25 + 0.75 + 4.0) - (1.875 + 0.125)).abs() < 1e-9, "{elapsed}");
    }
}
