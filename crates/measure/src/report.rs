//! The gateway study as a report: the tables and figures of IBM's report, and the bars.

use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

use crate::load::Run;
use crate::study::{Fit, GatewayStudy, Runs, SCENARIOS, Scenario};

impl GatewayStudy {
    /// Builds the report of kind `gateway`.
    #[must_use]
    pub fn report(&self) -> Report {
        let missed = self.missed();
        let (verdict, summary) = if self.failures > 0 {
            (Verdict::ObjectiveMissed, format!("{} requests failed.", self.failures))
        } else if self.short {
            (Verdict::Good, "A short run, to see that every part works: its figures mean nothing.".to_owned())
        } else if missed.is_empty() {
            (Verdict::Good, "Every target is met.".to_owned())
        } else {
            (Verdict::ObjectiveMissed, format!("Missed targets: {}.", missed.join("; ")))
        };
        let mut sections = vec![self.saturated_section()];
        sections.extend((!self.linear.is_empty()).then(|| self.linearity_section()));
        sections.extend(self.waste_section());
        if !self.rows.is_empty() {
            sections.push(self.payload_section());
            sections.push(self.think_time_section());
            sections.push(self.spread_section());
        }
        sections.push(self.load_section());
        let clients: Vec<String> = self.clients().iter().map(usize::to_string).collect();
        Report {
            kind: "gateway".to_owned(),
            title: "Gateway: the measurements of IBM's report on payload size".to_owned(),
            verdict,
            summary,
            conditions: vec![
                ("clients".to_owned(), clients.join(", ")),
                ("run".to_owned(), if self.short { "short" } else { "full" }.to_owned()),
            ],
            sections,
        }
    }

    fn saturated_section(&self) -> Section {
        let mut rows = Vec::new();
        for twin in &self.twins {
            let (low, high) = twin.middle();
            rows.push(vec![
                Cell::text(twin.title),
                Cell::Number(twin.gateway.body_bytes() as f64),
                Cell::Number(twin.gateway.cpu_us()),
                Cell::Number(twin.gateway.median(program_us)),
                Cell::Number(twin.fixed.cpu_us()),
                Cell::Number(twin.ratio()),
                Cell::text(format!("{low:.2} to {high:.2}")),
                Cell::Number(twin.bar),
                counted(twin.gateway.kilo_instructions()),
                Cell::Number(twin.gateway.median(Run::tps)),
            ]);
        }
        Section {
            id: "saturated".to_owned(),
            title: "Saturated, server on one core".to_owned(),
            notes: vec![
                "CPU time of a request against the same HTTP stack with static bytes, in turns. CPU time is the time of the \
                 server and of its program workers, by the accounting of the kernel."
                    .to_owned(),
            ],
            picture: Some(Picture::Bars {
                across: "CPU time, µs".to_owned(),
                rows: self.twins.iter().map(|twin| twin.title.to_owned()).collect(),
                series: vec![
                    ("server".to_owned(), self.twins.iter().map(|twin| twin.gateway.median(Run::server_us)).collect()),
                    ("COBOL program".to_owned(), self.twins.iter().map(|twin| twin.gateway.median(program_us)).collect()),
                    ("static bytes".to_owned(), self.twins.iter().map(|twin| twin.fixed.cpu_us()).collect()),
                ],
            }),
            table: Table {
                columns: vec![
                    Column::new("payload", ""),
                    Column::new("size", "B"),
                    Column::lower("gateway", "µs"),
                    Column::new("of it the program", "µs"),
                    Column::new("static bytes", "µs"),
                    Column::lower("ratio", ""),
                    Column::new("middle half", ""),
                    Column::new("target", ""),
                    Column::lower("instructions", "thousands"),
                    Column::new("gateway rate", "1/s"),
                ],
                rows,
            },
        }
    }

    /// Builds the section that corresponds to figure 10 of IBM's report.
    fn linearity_section(&self) -> Section {
        let measured = self.linear.iter().map(|(_, runs)| (runs.body_bytes() as f64 / 1e3, runs.cpu_us())).collect();
        let mut series = vec![Series { name: "measured".to_owned(), style: SeriesStyle::Points, points: measured }];
        let mut notes = Vec::new();
        if let Some(fit) = self.fit(Runs::cpu_us) {
            notes.push(line(fit, "µs"));
            let end = self.linear.iter().map(|(_, runs)| runs.body_bytes() as f64 / 1e3).fold(0.0, f64::max);
            let points = vec![(0.0, fit.rest), (end, fit.rest + fit.slope * end)];
            series.push(Series { name: "straight line".to_owned(), style: SeriesStyle::Line, points });
        }
        notes.extend(self.fit_instructions().map(|fit| line(fit, "thousand instructions")));
        let rows = self.linear.iter().map(|(cars, runs)| {
            vec![
                Cell::text(cars.to_string()),
                Cell::Number(runs.body_bytes() as f64),
                Cell::Number(runs.cpu_us()),
                counted(runs.kilo_instructions()),
                Cell::Number(runs.0.iter().map(|run| run.answers).sum::<u64>() as f64),
            ]
        });
        Section {
            id: "linearity".to_owned(),
            title: "Cost by payload, saturated (figure 10)".to_owned(),
            notes,
            picture: Some(Picture::Lines { across: "JSON, KB".to_owned(), up: "CPU time, µs".to_owned(), series }),
            table: Table {
                columns: vec![
                    Column::new("cars", ""),
                    Column::new("size", "B"),
                    Column::lower("CPU time", "µs"),
                    Column::lower("instructions", "thousands"),
                    Column::new("transactions", ""),
                ],
                rows: rows.collect(),
            },
        }
    }

    /// Builds the section that corresponds to table 2 of IBM's report. `None` if it was not measured.
    fn waste_section(&self) -> Option<Section> {
        let (read, not) = self.wasted.as_ref()?;
        let row = |name: &str, runs: &Runs, reported: f64| {
            vec![
                Cell::text(name),
                Cell::Number(runs.cpu_us()),
                Cell::Number(runs.median(Run::server_us)),
                Cell::Number(runs.median(program_us)),
                counted(runs.kilo_instructions()),
                Cell::Number(reported),
            ]
        };
        Some(Section {
            id: "excluded".to_owned(),
            title: "An excluded array that the program fills, and one that it does not (table 2)".to_owned(),
            notes: vec![format!(
                "Filling an array that no client sees costs {:.1} % more CPU time; IBM's report measured 83 %.",
                (read.cpu_us() / not.cpu_us() - 1.0) * 100.0
            )],
            picture: None,
            table: Table {
                columns: vec![
                    Column::new("request", ""),
                    Column::lower("CPU time", "µs"),
                    Column::new("of it the gateway", "µs"),
                    Column::new("of it the program", "µs"),
                    Column::lower("instructions", "thousands"),
                    Column::new("IBM's report", "ms"),
                ],
                rows: vec![row("maxCars=100", read, 0.64), row("maxCars=0", not, 0.35)],
            },
        })
    }

    /// Builds the section that corresponds to table 1 of IBM's report.
    fn payload_section(&self) -> Section {
        let bytes = |scenario: &Scenario| self.of(scenario).next().map_or(0, |row| row.1.body_bytes);
        let baseline = bytes(&SCENARIOS[0]).max(1) as f64;
        let rows = SCENARIOS.iter().map(|scenario| {
            vec![
                Cell::text(scenario.title),
                Cell::Number(scenario.printed as f64),
                Cell::Number(bytes(scenario) as f64),
                Cell::Number(bytes(scenario) as f64 / baseline * 100.0),
            ]
        });
        Section {
            id: "payloads".to_owned(),
            title: "Scenarios (table 1)".to_owned(),
            notes: Vec::new(),
            picture: None,
            table: Table {
                columns: vec![
                    Column::new("scenario", ""),
                    Column::new("IBM's report", "B"),
                    Column::new("size", "B"),
                    Column::new("of the baseline", "%"),
                ],
                rows: rows.collect(),
            },
        }
    }

    /// Figures 9 and 11 to 15 of IBM's report.
    fn think_time_section(&self) -> Section {
        let row = |title: &str, clients: usize, run: &Run| {
            vec![
                Cell::text(format!("{title}, {clients} clients")),
                Cell::Number(run.body_bytes as f64),
                Cell::Number(run.tps()),
                Cell::Number(run.cpu_us()),
                Cell::Number(run.server_us()),
                counted(run.kilo_instructions()),
                Cell::Number(run.busy_percent()),
                Cell::Number(run.mean_ms()),
                Cell::Number(run.ms(50.0)),
                Cell::Number(run.ms(90.0)),
                Cell::Number(run.ms(99.0)),
                Cell::Number(run.ms(99.9)),
            ]
        };
        let mut rows: Vec<Vec<Cell>> =
            self.rows.iter().map(|found| row(found.scenario.title, found.clients, &found.run)).collect();
        rows.extend(self.control.iter().map(|(clients, run)| row("Static bytes", *clients, run)));
        let mut notes = Vec::new();
        if let Some((rate, run)) = &self.open {
            rows.push(row(&format!("Baseline, open arrivals, {rate:.0} a second"), 0, run));
            notes.push("Times of open arrivals begin when a request was due.".to_owned());
        }
        let by_clients = |scenario: &Scenario| Series {
            name: scenario.title.to_owned(),
            style: SeriesStyle::Line,
            points: self.of(scenario).map(|(clients, run)| (clients as f64, run.cpu_us())).collect(),
        };
        let mut series: Vec<Series> = SCENARIOS.iter().map(by_clients).collect();
        series.push(Series {
            name: "static bytes".to_owned(),
            style: SeriesStyle::Dashes,
            points: self.control.iter().map(|(clients, run)| (*clients as f64, run.cpu_us())).collect(),
        });
        Section {
            id: "think-time".to_owned(),
            title: "Think time 500 ms (figures 9 and 11 to 15)".to_owned(),
            notes,
            picture: Some(Picture::Lines { across: "clients".to_owned(), up: "CPU time, µs".to_owned(), series }),
            table: Table {
                columns: vec![
                    Column::new("load", ""),
                    Column::new("size", "B"),
                    Column::higher("rate", "1/s"),
                    Column::lower("CPU time", "µs"),
                    Column::new("of it the gateway", "µs"),
                    Column::lower("instructions", "thousands"),
                    Column::new("CPU use", "%"),
                    Column::lower("mean", "ms"),
                    Column::lower("p50", "ms"),
                    Column::lower("p90", "ms"),
                    Column::lower("p99", "ms"),
                    Column::new("p99.9", "ms"),
                ],
                rows,
            },
        }
    }

    fn spread_section(&self) -> Section {
        let note = if self.machine_is_constant() {
            "Static bytes take the same time for every number of clients, so time decides."
        } else {
            "Static bytes do not take the same time on this machine, so instructions decide if they are counted."
        };
        let spreads = self.spreads().into_iter().chain(self.control_spread());
        let rows = spreads
            .map(|spread| vec![Cell::text(spread.title), Cell::Number(spread.time), counted(spread.instructions)]);
        Section {
            id: "cost-by-clients".to_owned(),
            title: "Cost of a transaction over all numbers of clients, largest by smallest".to_owned(),
            notes: vec![note.to_owned()],
            picture: None,
            table: Table {
                columns: vec![
                    Column::new("scenario", ""),
                    Column::lower("CPU time", "times"),
                    Column::lower("instructions", "times"),
                ],
                rows: rows.collect(),
            },
        }
    }

    fn load_section(&self) -> Section {
        let row = |name: &str, value: f64| vec![Cell::text(name), Cell::Number(value)];
        Section {
            id: "machine-load".to_owned(),
            title: "Load of the machine".to_owned(),
            notes: vec!["A machine with other work measures badly.".to_owned()],
            picture: None,
            table: Table {
                columns: vec![Column::new("when", ""), Column::new("load average", "")],
                rows: vec![row("begin", self.busy.0), row("end", self.busy.1)],
            },
        }
    }

    fn of(&self, scenario: &Scenario) -> impl Iterator<Item = (usize, &Run)> {
        let title = scenario.title;
        self.rows.iter().filter(move |row| row.scenario.title == title).map(|row| (row.clients, &row.run))
    }

    fn clients(&self) -> Vec<usize> {
        self.control.iter().map(|(clients, _)| *clients).collect()
    }
}

/// Returns the CPU time of the program workers per transaction, in microseconds.
fn program_us(run: &Run) -> f64 {
    run.cpu_us() - run.server_us()
}

fn counted(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

fn line(fit: Fit, unit: &str) -> String {
    format!("{:.2} {unit} and {:.4} {unit} for each kilobyte of JSON, r² {:.4}.", fit.rest, fit.slope, fit.explained)
}
