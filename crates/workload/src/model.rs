//! A member of a class as a queueing network.

use quayline_capacity::{Origin, Prediction, Seconds, Servers, Station, Workload};
use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};
use serde::Serialize;

use crate::interval::{Interval, MemberInterval};

/// Demands of one transaction in seconds, as they were measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Demands {
    /// CPU time of its own threads.
    pub cpu_s: f64,
    /// CPU time of the store's threads on its behalf.
    pub helper_cpu_s: f64,
    /// The rest of the response time without waits for a processor: the device, locks, other hosts. 0 if response times are not measured.
    pub other_s: f64,
    /// Transactions that were measured.
    pub transactions: u64,
}

impl Demands {
    /// The demands of a member over all intervals.
    ///
    /// # Errors
    /// The names that the intervals have, if they have no transaction of this one.
    pub fn of(intervals: &[Interval], name: &str) -> Result<Demands, Vec<String>> {
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
        let count = sum.count as f64;
        let other = sum.wall_s - sum.cpu_s - sum.helper_cpu_s - sum.run_queue_s;
        Ok(Demands {
            cpu_s: sum.cpu_s / count,
            helper_cpu_s: sum.helper_cpu_s / count,
            other_s: if sum.wall_s > 0.0 { other.max(0.0) / count } else { 0.0 },
            transactions: sum.count,
        })
    }

    /// The network: `processors` that share the CPU time, the one thread of the store, and a delay for the rest. `faster` divides all CPU time.
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
        Workload { stations, think, origin: Origin::Measured }
    }
}

/// Elapsed time of a job of so many items in seconds.
#[must_use]
pub fn elapsed_s(row: &Prediction, items: Option<u64>) -> Option<f64> {
    let items = items? as f64;
    (row.throughput.0 > 0.0).then(|| items / row.throughput.0)
}

/// The report of predictions for numbers of workers; `items` of a job give their elapsed time.
#[must_use]
pub fn prediction_report(name: &str, workload: &Workload, rows: &[Prediction], items: Option<u64>) -> Report {
    let mut columns =
        vec![Column::new("workers", ""), Column::higher("throughput", "per s"), Column::lower("response", "us")];
    columns.extend(workload.stations.iter().map(|station| Column::new(&station.name, "%")));
    columns.push(Column::lower("elapsed", "s"));
    let cells = |row: &Prediction| {
        let mut cells = vec![
            Cell::Number(f64::from(row.users)),
            Cell::Number(row.throughput.0),
            Cell::Number(1e6 * row.response.0),
        ];
        cells.extend(row.utilization.iter().map(|share| Cell::Number(100.0 * share.0)));
        cells.push(elapsed_s(row, items).map_or(Cell::Empty, Cell::Number));
        cells
    };
    let points = rows.iter().map(|row| (f64::from(row.users), row.throughput.0)).collect();
    let predictions = Section {
        id: "workers".to_owned(),
        title: "Throughput by workers".to_owned(),
        notes: vec![
            "Columns of stations have their utilization; of a delay the mean number there, times 100.".to_owned(),
        ],
        table: Table { columns, rows: rows.iter().map(cells).collect() },
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
        assert_eq!(demands, Demands { cpu_s: 0.004, helper_cpu_s: 0.001, other_s: 0.003, transactions: 1_000 });
        assert_eq!(Demands::of(&intervals, "job:settl"), Err(vec!["job:settle".to_owned()]));
        let network = demands.network(2, 1.0, Seconds(0.0));
        let throughput = |workers| network.predict(workers).expect("a prediction").value.throughput.0;
        // Alone: 8 ms each. With very many: two processors of 4 ms, before one thread of 1 ms.
        assert!((throughput(1) - 125.0).abs() < 1e-9 && (throughput(500) - 500.0).abs() < 1e-3);
        let faster = demands.network(2, 2.0, Seconds(0.0)).predict(500).expect("a prediction").value;
        assert!((faster.throughput.0 - 1_000.0).abs() < 1e-2);
    }
}
