//! Report of a prediction: the load, its curve with the bounds, the stations, and the effect of a faster station.

use quayline_capacity::simulation::SimulationOutcome;
use quayline_capacity::{
    Estimate, Objective, Prediction, Seconds, Servers, Share, Station, Workload, asymptotic_bounds, count_text,
};
use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

use super::BasisWire;
use super::report::basis_section;

/// A prediction with everything that was calculated for it.
pub(super) struct PredictionReport<'a> {
    pub(super) workload: &'a Workload,
    pub(super) rows: &'a [Estimate<Prediction>],
    pub(super) simulated: &'a [SimulationOutcome],
    pub(super) objective: &'a Objective,
    /// Verdict on the largest number of users, with its reason.
    pub(super) verdict: (Verdict, String),
    pub(super) basis: &'a BasisWire,
    /// Predictions up to beyond the knee; none without a report, or for very many users.
    pub(super) curve: Vec<Prediction>,
}

impl PredictionReport<'_> {
    fn largest(&self) -> u32 {
        self.rows.iter().map(|row| row.value.users).max().unwrap_or(0)
    }

    pub(super) fn report(&self) -> Report {
        let (verdict, summary) = self.verdict.clone();
        let mut sections = vec![self.load()];
        if !self.simulated.is_empty() {
            sections.push(self.simulation());
        }
        if !self.curve.is_empty() {
            sections.push(self.responses());
        }
        sections.extend([self.stations(), self.changes()]);
        sections.push(basis_section(self.basis));
        let conditions = self.workload.stations.iter().map(|station| {
            let servers = match &station.servers {
                Servers::Delay => "a delay".to_owned(),
                Servers::Count(servers) => format!("{servers} servers"),
                Servers::Rates(_) => "rates by load".to_owned(),
            };
            (format!("station {}", station.name), servers)
        });
        let think = ("think time".to_owned(), format!("{} s", self.workload.think.0));
        Report {
            kind: "prediction".to_owned(),
            title: "Prediction".to_owned(),
            verdict,
            summary,
            conditions: conditions.chain([think]).collect(),
            sections,
        }
    }

    fn load(&self) -> Section {
        let columns = vec![
            Column::new("users", ""),
            Column::higher("throughput", "tx/s"),
            Column::lower("response", "s"),
            Column::lower("p50", "s"),
            Column::lower("p95", "s"),
            Column::lower("p99", "s"),
        ];
        let rows = self.rows.iter().map(|row| {
            let Prediction { users, throughput, response, percentiles, .. } = &row.value;
            let mut cells = vec![Cell::text(users.to_string()), Cell::Number(throughput.0), Cell::Number(response.0)];
            cells.extend(percentiles.iter().map(|time| Cell::Number(time.0)));
            cells
        });
        Section {
            id: "load".to_owned(),
            title: "Throughput and response time".to_owned(),
            notes: vec![
                "Percentiles are those of the gamma distribution of the mean and the variance of independent residence times.".to_owned(),
                "The bounds are the asymptotes: no load does better, whatever the queues do.".to_owned(),
            ],
            table: Table { columns, rows: rows.collect() },
            picture: Some(self.throughput_picture()),
        }
    }

    fn throughput_picture(&self) -> Picture {
        let workload = self.workload;
        let asked = self.rows.iter().map(|row| (f64::from(row.value.users), row.value.throughput.0)).collect();
        let mut series = vec![Series { name: "predicted".to_owned(), style: SeriesStyle::Points, points: asked }];
        if !self.curve.is_empty() {
            let users: Vec<u32> = self.curve.iter().map(|point| point.users).collect();
            let model = self.curve.iter().map(|point| (f64::from(point.users), point.throughput.0));
            series.push(Series { name: "model".to_owned(), style: SeriesStyle::Line, points: model.collect() });
            let demands: Vec<Seconds> = workload.stations.iter().map(|station| station.demands[0]).collect();
            let servers: Vec<u32> = workload.stations.iter().map(servers_of).collect();
            let bound = users.iter().filter_map(|users| {
                let bounds = asymptotic_bounds(&demands, &servers, *users, workload.think).ok()?;
                Some((f64::from(*users), bounds.value.throughput_most.0))
            });
            series.push(Series { name: "bound".to_owned(), style: SeriesStyle::Dashes, points: bound.collect() });
        }
        if !self.simulated.is_empty() {
            let pairs = self.rows.iter().zip(self.simulated);
            let points = pairs.map(|(row, found)| (f64::from(row.value.users), found.classes[0].throughput.mean));
            series.push(Series { name: "simulated".to_owned(), style: SeriesStyle::Points, points: points.collect() });
        }
        Picture::Lines { across: "users".to_owned(), up: "transactions a second".to_owned(), series }
    }

    /// Builds a table and a separate chart of response times up to their steep rise: both axes differ from those of the throughput.
    fn responses(&self) -> Section {
        let columns = vec![
            Column::new("users", ""),
            Column::new("throughput", "tx/s"),
            Column::new("response", "s"),
            Column::new("p95", "s"),
        ];
        let row = |point: &Prediction| {
            let Prediction { users, throughput, response, percentiles, .. } = point;
            let numbers = [throughput.0, response.0, percentiles[1].0].map(Cell::Number);
            [Cell::text(users.to_string())].into_iter().chain(numbers).collect()
        };
        let line = |name: &str, style, of: fn(&Prediction) -> f64| Series {
            name: name.to_owned(),
            style,
            points: self.curve.iter().map(|point| (f64::from(point.users), of(point))).collect(),
        };
        Section {
            id: "curve".to_owned(),
            title: "Response time by users".to_owned(),
            notes: Vec::new(),
            table: Table { columns, rows: self.curve.iter().map(row).collect() },
            picture: Some(Picture::Lines {
                across: "users".to_owned(),
                up: "seconds".to_owned(),
                series: vec![
                    line("mean", SeriesStyle::Line, |point| point.response.0),
                    line("95th percentile", SeriesStyle::Dashes, |point| point.percentiles[1].0),
                ],
            }),
        }
    }

    fn simulation(&self) -> Section {
        let columns = vec![
            Column::new("users", ""),
            Column::new("throughput", "tx/s"),
            Column::new("± throughput", "tx/s"),
            Column::new("response", "s"),
            Column::new("± response", "s"),
            Column::new("p50", "s"),
            Column::new("p95", "s"),
            Column::new("p99", "s"),
        ];
        let rows = self.rows.iter().zip(self.simulated).map(|(row, found)| {
            let class = &found.classes[0];
            let mut cells = vec![
                Cell::text(row.value.users.to_string()),
                Cell::Number(class.throughput.mean),
                Cell::Number(class.throughput.half_width),
                Cell::Number(class.response.mean),
                Cell::Number(class.response.half_width),
            ];
            for share in [0.5, 0.95, 0.99] {
                cells.push(class.percentile(Share(share)).map_or(Cell::Empty, |time| Cell::Number(time.0)));
            }
            cells
        });
        Section {
            id: "simulation".to_owned(),
            title: "The same by simulation".to_owned(),
            notes: vec!["± is half of the 95 % interval of the mean.".to_owned()],
            table: Table { columns, rows: rows.collect() },
            picture: None,
        }
    }

    fn stations(&self) -> Section {
        let stations = &self.workload.stations;
        let mut columns = vec![Column::new("station", ""), Column::new("demand", "s")];
        columns.extend(self.rows.iter().map(|row| Column::new(&format!("{} users", row.value.users), "% busy")));
        let busy = |row: &Estimate<Prediction>, at: usize| row.value.utilization[at].percent();
        let queues = |station: &Station| !matches!(station.servers, Servers::Delay);
        let rows = stations.iter().enumerate().map(|(at, station)| {
            let mut cells = vec![Cell::text(&station.name), Cell::Number(station.demands[0].0)];
            cells.extend(
                self.rows.iter().map(|row| if queues(station) { Cell::Number(busy(row, at)) } else { Cell::Empty }),
            );
            cells
        });
        let bottleneck = self.workload.bottleneck().map_or_else(
            || "Every station is a delay: nothing limits.".to_owned(),
            |at| {
                let limit = count_text(self.workload.saturation_users(), "user");
                format!("The bottleneck is {}, from {limit}.", stations[at].name)
            },
        );
        let limit = self.objective.utilization_most.map(|share| format!("At most {} % are allowed.", share.percent()));
        let bars: Vec<usize> = (0..stations.len()).filter(|at| queues(&stations[*at])).collect();
        let series = self.rows.iter().map(|row| {
            (format!("{} users", row.value.users), bars.iter().map(|at| busy(row, *at)).collect::<Vec<f64>>())
        });
        Section {
            id: "stations".to_owned(),
            title: "Stations".to_owned(),
            notes: [bottleneck].into_iter().chain(limit).collect(),
            table: Table { columns, rows: rows.collect() },
            picture: (!bars.is_empty()).then(|| Picture::Bars {
                across: "utilization, %".to_owned(),
                rows: bars.iter().map(|at| stations[*at].name.clone()).collect(),
                series: series.collect(),
            }),
        }
    }

    /// Builds a section about the largest number of users if one station needed half of the time, or had twice the servers.
    fn changes(&self) -> Section {
        let users = self.largest().max(1);
        let columns = vec![Column::new("change", ""), Column::new("throughput", "tx/s"), Column::new("response", "s")];
        let mut rows = Vec::new();
        let mut add = |name: String, workload: &Workload| {
            if let Ok(predicted) = workload.predict(users) {
                let Prediction { throughput, response, .. } = predicted.value;
                rows.push(vec![Cell::Text(name), Cell::Number(throughput.0), Cell::Number(response.0)]);
            }
        };
        add("as it is".to_owned(), self.workload);
        for (at, station) in self.workload.stations.iter().enumerate() {
            let mut faster = self.workload.clone();
            faster.stations[at].demands[0] = station.demands[0] * 0.5;
            add(format!("{}: half of the demand", station.name), &faster);
            if let Servers::Count(servers) = station.servers {
                let mut wider = self.workload.clone();
                wider.stations[at].servers = Servers::Count(servers.saturating_mul(2));
                add(format!("{}: {} servers", station.name, servers.saturating_mul(2)), &wider);
            }
        }
        Section {
            id: "changes".to_owned(),
            title: format!("What a change would do for {users} users"),
            notes: vec!["One change at a time; demands stay as they are otherwise.".to_owned()],
            table: Table { columns, rows },
            picture: None,
        }
    }
}

/// Servers as the bounds count them; 0 is a delay.
fn servers_of(station: &Station) -> u32 {
    match &station.servers {
        Servers::Delay => 0,
        Servers::Count(servers) => *servers,
        Servers::Rates(_) => 1,
    }
}
