//! The flow study as a report.

use quayline_flow::CpuPart;
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};
use quayline_store::queue::Persistence;

use crate::flow_study::{FlowRun, FlowStudy, FlowStudyOptions, converted};

impl FlowStudy {
    /// Builds the report of kind `flow`. `options` are those of the run: only reports with the same options are comparable.
    #[must_use]
    pub fn report(&self, options: &FlowStudyOptions) -> Report {
        let (verdict, summary) = match self.failures.first() {
            None => (Verdict::Good, format!("{} runs without a failure.", self.runs.len())),
            Some(first) => (Verdict::ObjectiveMissed, format!("{} failures, the first: {first}", self.failures.len())),
        };
        Report {
            kind: "flow".to_owned(),
            title: "Flows: the samples of IBM's report on VSAM nodes".to_owned(),
            verdict,
            summary,
            conditions: vec![
                ("additional instances".to_owned(), options.instances.to_string()),
                ("seconds of a run".to_owned(), options.seconds.to_string()),
            ],
            sections: vec![self.rates(), self.cpu()],
        }
    }

    fn rates(&self) -> Section {
        let rows = self.runs.iter().map(|run| {
            let commits = match run.persistence {
                Persistence::Persistent => Cell::Number(run.syncs / run.rate()),
                Persistence::NotPersistent => Cell::Empty,
            };
            vec![
                Cell::Text(name(run)),
                Cell::Number(run.rate()),
                Cell::Number(run.driver_us + run.listener_us + run.flow_us + run.store_us),
                Cell::Number(run.commit_wait_us),
                Cell::Number(run.syncs),
                commits,
            ]
        });
        Section {
            id: "rates".to_owned(),
            title: "Rates".to_owned(),
            notes: vec![
                "A message is a request with its reply; in sample 1 it is a record. Bare syncs are those of one thread that \
                 appends and syncs just before the run. The wait for commits is that of all units of work of a message: those of the application and of the flow."
                    .to_owned(),
            ],
            picture: Some(Picture::Bars {
                across: "messages a second".to_owned(),
                rows: self.runs.iter().map(name).collect(),
                series: vec![("rate".to_owned(), self.runs.iter().map(FlowRun::rate).collect())],
            }),
            table: Table {
                columns: vec![
                    Column::new("run", ""),
                    Column::higher("rate", "1/s"),
                    Column::lower("CPU time", "µs"),
                    Column::lower("wait for commits", "µs"),
                    Column::new("bare syncs", "1/s"),
                    Column::lower("message in syncs", ""),
                ],
                rows: rows.collect(),
            },
        }
    }

    fn cpu(&self) -> Section {
        let part = |run: &FlowRun, part: CpuPart| Cell::Number(run.parts[part as usize]);
        let rows = self.runs.iter().map(|run| {
            vec![
                Cell::Text(name(run)),
                Cell::Number(run.driver_us),
                Cell::Number(run.listener_us),
                Cell::Number(run.flow_us),
                Cell::Number(run.store_us),
                part(run, CpuPart::Queues),
                part(run, CpuPart::Files),
                part(run, CpuPart::Flow),
                part(run, CpuPart::Commit),
            ]
        });
        Section {
            id: "cpu".to_owned(),
            title: "CPU time of a message".to_owned(),
            notes: vec![
                "The parts of the flow threads are measured in one unit of work of 32.".to_owned(),
                converted(),
            ],
            picture: None,
            table: Table {
                columns: vec![
                    Column::new("run", ""),
                    Column::new("driver", "µs"),
                    Column::lower("listener", "µs"),
                    Column::lower("flow threads", "µs"),
                    Column::lower("store threads", "µs"),
                    Column::new("queues", "µs"),
                    Column::new("files", "µs"),
                    Column::new("flow", "µs"),
                    Column::new("commit", "µs"),
                ],
                rows: rows.collect(),
            },
        }
    }
}

/// Returns the name of a run, which is the same in every report.
fn name(run: &FlowRun) -> String {
    let kind = match run.persistence {
        Persistence::Persistent => "persistent",
        Persistence::NotPersistent => "not persistent",
    };
    let applications = if run.applications == 1 { "application" } else { "applications" };
    format!("{}, {kind}, {} {applications}", run.title, run.applications)
}
