//! Sizing of this product's own work beside what was then measured: a gateway, a mix of flows, and an overnight batch window.
//!
//! ```text
//!  light load ─▶ CPU time of a transaction ─▶ size: processors, elapsed time, machine ─▶ ┐
//!  load of the question ───────────────────────────────────────────▶ measured ─▶ ┴─▶ error
//! ```
//!
//! Costs come from one client, each flow alone and small jobs, so they are known before the load. The load of the question has several times as
//! much work. A message of a flow costs less if several applications are at work: threads find work without a wake-up, and one commit serves several
//! units of work. Its cost is therefore measured with as many applications as the question has. The verdict needs a quiet machine; the figures are always in the report.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quayline_capacity::{
    Bytes, CapacityUnits, Machine, Origin, PerMonth, PerSecond, Share, SizedWorkload, SizingQuestion, size,
};
use quayline_flow::EngineOptions;
use quayline_meter::ProcessUse;
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};
use quayline_store::queue::Persistence;

use crate::batch;
use crate::flow_bed::{Applications, Drive, FlowBed};
use crate::load::{Load, Pace, Run};
use crate::pressure::{OUTSIDE_MAX, beside_others};
use crate::server::ServerProcess;

/// Peak rate of the gateway, as a part of the rate of one client without pauses: the driver reaches it on any machine.
const GATEWAY_PEAK: f64 = 0.5;
/// Connections of the gateway's clients at the peak rate.
const CONNECTIONS: usize = 32;
/// The flows of the mix: one reads a record for each message, one updates a record.
const FLOWS: [(&str, &str); 2] = [("3", "read"), ("4", "update")];
/// Records of each flow's file.
const FILE_RECORDS: u32 = 5_000;
/// Applications of each flow alone while its cost is measured. The last number is also that of each flow in the mix.
const APPLICATIONS: [usize; 2] = [1, 3];
/// Parts of the CPU time of a message.
const FLOW_PARTS: [&str; 3] = ["applications", "threads of flows", "store and other threads"];
/// Parts of the night's records that the small jobs process.
const PARTS: [u64; 2] = [8, 3];
/// Runs of each small job, of which the shortest counts.
const REPEATS: usize = 3;
/// Sizes of the catalogue's machines, in processors of this machine.
const CATALOGUE: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Utilization that the sized machine may reach.
const TARGET: f64 = 0.70;

/// Settings of the study.
#[derive(Clone, Debug)]
pub struct SizingStudyOptions {
    /// Folder of the sample flows.
    pub flows: PathBuf,
    /// Folder for the data of the runs; it is emptied.
    pub scratch: PathBuf,
    /// Seconds of each run of the gateway and the flows.
    pub seconds: f64,
    /// Records of the night.
    pub records: u64,
    /// Largest error of a prediction, as a share.
    pub tolerance: f64,
}

/// A figure that was predicted and then measured.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Workload.
    pub workload: &'static str,
    /// Figure, such as `processors busy`.
    pub figure: &'static str,
    /// Unit of both values.
    pub unit: &'static str,
    /// Predicted value.
    pub predicted: f64,
    /// Measured value.
    pub measured: f64,
}

impl Beside {
    /// Returns the error of the prediction as a share of the measured value.
    #[must_use]
    pub fn error(&self) -> f64 {
        if self.measured > 0.0 { self.predicted / self.measured - 1.0 } else { f64::INFINITY }
    }
}

/// A workload of the question.
#[derive(Clone, Debug)]
struct Asked {
    name: &'static str,
    /// Transactions a second at the peak.
    rate: f64,
    /// CPU seconds of a transaction.
    cost: f64,
    source: String,
}

/// Results of the study.
#[derive(Clone, Debug, Default)]
pub struct SizingStudy {
    /// Figures, predicted and measured.
    pub beside: Vec<Beside>,
    asked: Vec<Asked>,
    /// Processors busy of the mix of flows by part: from each number of [`APPLICATIONS`], and measured.
    flow_parts: [[f64; 3]; 3],
    /// Largest part of the machine that other programs used during a run.
    pub outside: f64,
}

impl SizingStudy {
    /// Runs the study. `say` receives the name of each part.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn run(options: &SizingStudyOptions, say: &dyn Fn(&str)) -> Result<SizingStudy, String> {
        let mut study = SizingStudy::default();
        say("gateway");
        study.gateway(options)?;
        say("flow mix");
        study.flows(options)?;
        say("overnight batch");
        study.batch(options)?;
        Ok(study)
    }

    fn gateway(&mut self, options: &SizingStudyOptions) -> Result<(), String> {
        let root = options.scratch.join("gateway");
        write_api(&root)?;
        let server = ServerProcess::project(&root, 1, None).map_err(|error| error.to_string())?;
        let load = |clients: usize, pace: Pace| Load {
            clients,
            pace,
            warm_up: Duration::from_millis(200),
            time: Duration::from_secs_f64(options.seconds),
            count: Duration::ZERO,
            target: "/sizing/x".to_owned(),
        };
        let mut drive = |load: &Load| -> Result<Run, String> {
            let (run, outside) = beside_others(Some(&server), || load.run(server.address, &server.cpu()));
            let run = run.map_err(|error| error.to_string())?;
            self.outside = self.outside.max(outside);
            if run.answers == 0 || run.failures > 0 {
                return Err(format!("the gateway answered {} requests and failed {}", run.answers, run.failures));
            }
            Ok(run)
        };
        let light = drive(&load(1, Pace::NoPause))?;
        let cost = light.cpu.as_secs_f64() / light.answers as f64;
        let rate = (GATEWAY_PEAK * light.tps()).floor().max(1.0);
        let peak = drive(&load(CONNECTIONS, Pace::Open(rate)))?;
        self.beside.push(Beside {
            workload: "gateway",
            figure: "rate",
            unit: "1/s",
            predicted: rate,
            measured: peak.tps(),
        });
        self.beside.push(Beside {
            workload: "gateway",
            figure: "processors busy",
            unit: "",
            predicted: rate * cost,
            measured: peak.cpu.as_secs_f64() / peak.seconds,
        });
        let source = "CPU time of the server with one client, without pauses".to_owned();
        self.asked.push(Asked { name: "gateway", rate, cost, source });
        Ok(())
    }

    fn flows(&mut self, options: &SizingStudyOptions) -> Result<(), String> {
        let mut beds = Vec::new();
        for (sample, name) in FLOWS {
            let flow = FlowBed::sample(&options.flows, sample, 3)?;
            let folder = options.scratch.join(format!("flow-{name}"));
            beds.push((sample, name, FlowBed::new(&folder, flow, FILE_RECORDS, EngineOptions::default())?));
        }
        let time = Duration::from_secs_f64(options.seconds);
        let drive = |sample: &str, bed: &FlowBed, applications: usize, time: Duration| {
            bed.requests(sample, Applications::Threads(applications), Persistence::NotPersistent, time, u64::MAX)
        };
        let mut costs = Vec::new();
        for (sample, _, bed) in &beds {
            // The first messages open files and compile maps.
            drive(sample, bed, 1, time / 10)?;
            let mut alone = [[0.0; 3]; 2];
            for (parts, applications) in alone.iter_mut().zip(APPLICATIONS) {
                let (light, outside) = beside_others(None, || drive(sample, bed, applications, time));
                self.outside = self.outside.max(outside);
                let light = light?;
                *parts = flow_parts(&light).map(|seconds| seconds / light.messages.max(1) as f64);
            }
            costs.push(alone);
        }
        let before = ProcessUse::now();
        let began = Instant::now();
        let (drives, outside): (Result<Vec<Drive>, String>, f64) = beside_others(None, || {
            std::thread::scope(|scope| {
                let run = |sample: &'static str, bed: &'_ FlowBed| drive(sample, bed, APPLICATIONS[1], time);
                let threads: Vec<_> =
                    beds.iter().map(|(sample, _, bed)| scope.spawn(move || run(sample, bed))).collect();
                threads.into_iter().map(|thread| thread.join().map_err(|_| "a driver panicked".to_owned())?).collect()
            })
        });
        let drives = drives?;
        let (elapsed, cpu) = (began.elapsed().as_secs_f64(), ProcessUse::now().since(&before).cpu.as_secs_f64());
        self.outside = self.outside.max(outside);
        let mut predicted = 0.0;
        for ((drive, alone), (_, name, _)) in drives.iter().zip(&costs).zip(&beds) {
            let cost: f64 = alone[1].iter().sum();
            predicted += drive.messages as f64 * cost;
            for (part, busy) in self.flow_parts.iter_mut().enumerate() {
                for (busy, parts) in busy.iter_mut().zip(alone) {
                    *busy += drive.messages as f64 * parts[part] / elapsed;
                }
            }
            self.asked.push(Asked {
                name: if *name == "read" { "flow that reads" } else { "flow that updates" },
                rate: drive.rate(),
                cost,
                source: format!("CPU time of the process with {} applications of this flow alone", APPLICATIONS[1]),
            });
        }
        // The threads of both flows have the same names, so the run of each flow has the CPU time of both.
        let applications: f64 = drives.iter().map(|drive| drive.driver_ns / 1e9).sum();
        let flows = drives.iter().map(|drive| drive.flow_ns / 1e9).fold(0.0, f64::max);
        for (busy, seconds) in self.flow_parts.iter_mut().zip([applications, flows, cpu - applications - flows]) {
            busy[2] = seconds.max(0.0) / elapsed;
        }
        self.beside.push(Beside {
            workload: "flow mix",
            figure: "processors busy",
            unit: "",
            predicted: predicted / elapsed,
            measured: cpu / elapsed,
        });
        let failures: Vec<String> = beds.into_iter().flat_map(|(_, _, bed)| bed.end()).collect();
        failures.into_iter().next().map_or(Ok(()), Err)
    }

    fn batch(&mut self, options: &SizingStudyOptions) -> Result<(), String> {
        let world = batch::World::embedded()?;
        let load = |records: u64| batch::Load {
            records,
            items: 1_000,
            partitions: 1,
            rows: batch::Rows::None,
            checkpoint_bytes: 1_024,
            listens: batch::Listens::No,
            events: batch::KeptEvents::Off,
            object_bytes: 0,
            measures: true,
        };
        let mut job = |records: u64| -> Result<(f64, f64), String> {
            let before = ProcessUse::now();
            let (took, outside) = beside_others(None, || world.job(&load(records)));
            self.outside = self.outside.max(outside);
            Ok((took?.wall.as_secs_f64(), ProcessUse::now().since(&before).cpu.as_secs_f64()))
        };
        let mut small = Vec::new();
        for part in PARTS {
            let records = (options.records / part).max(1);
            let mut least = (f64::INFINITY, f64::INFINITY);
            for _ in 0..REPEATS {
                let (wall, cpu) = job(records)?;
                least = (least.0.min(wall), least.1.min(cpu));
            }
            small.push((records as f64, least));
        }
        let night = options.records as f64;
        let line = |of: &dyn Fn(&(f64, f64)) -> f64| {
            let (from, to) = (&small[0], &small[1]);
            let each = (of(&to.1) - of(&from.1)) / (to.0 - from.0).max(1.0);
            // Other programs can make the smaller job the longer one. Then the larger one alone gives the cost of a record.
            let each = if each > 0.0 { each } else { of(&to.1) / to.0 };
            (each, of(&to.1) + each * (night - to.0))
        };
        let (_, elapsed) = line(&|(wall, _)| *wall);
        let (each, cpu) = line(&|(_, cpu)| *cpu);
        let (wall, used) = job(options.records)?;
        let figure = |figure, unit, predicted, measured| Beside {
            workload: "overnight batch",
            figure,
            unit,
            predicted,
            measured,
        };
        self.beside.push(figure("elapsed time", "s", elapsed, wall));
        self.beside.push(figure("CPU time", "s", cpu, used));
        let source = format!("two small jobs of {} and {} records", small[0].0, small[1].0);
        self.asked.push(Asked {
            name: "overnight batch",
            rate: night / elapsed.max(1e-9),
            cost: each.max(0.0),
            source,
        });
        Ok(())
    }

    /// Returns the largest error of all predictions, as a share.
    #[must_use]
    pub fn error_max(&self) -> f64 {
        self.beside.iter().map(|beside| beside.error().abs()).fold(0.0, f64::max)
    }

    /// Builds the report of kind `sizing-study`.
    ///
    /// # Errors
    /// The sizing model refuses a figure.
    pub fn report(&self, options: &SizingStudyOptions) -> Result<Report, String> {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let error = self.error_max();
        let is_quiet = self.outside <= OUTSIDE_MAX;
        let is_off = error > options.tolerance;
        let (verdict, judged) = match (is_off, is_quiet) {
            (true, true) => (Verdict::OutOfTolerance, ", beyond the tolerance."),
            (_, false) => (Verdict::Good, ". Other programs used the machine, so the run has no verdict."),
            (false, true) => (Verdict::Good, ", within the tolerance."),
        };
        let (sized, chosen) = self.machines_section()?;
        Ok(Report {
            kind: "sizing-study".to_owned(),
            title: "Sizing beside measurements: gateway, flow mix, overnight batch".to_owned(),
            verdict,
            summary: format!("The largest error of a prediction is {}{judged} {chosen}", percent(error)),
            conditions: vec![
                ("seconds of a run".to_owned(), options.seconds.to_string()),
                ("records of the night".to_owned(), options.records.to_string()),
                ("tolerance".to_owned(), percent(options.tolerance)),
            ],
            sections: vec![self.beside_section(), self.flow_section(), sized],
        })
    }

    fn beside_section(&self) -> Section {
        let row = |beside: &Beside| {
            vec![
                Cell::text(format!("{}, {}", beside.workload, beside.figure)),
                Cell::Number(beside.predicted),
                Cell::Number(beside.measured),
                Cell::text(beside.unit),
                Cell::Number(100.0 * beside.error()),
            ]
        };
        let busy: Vec<&Beside> = self.beside.iter().filter(|beside| beside.figure == "processors busy").collect();
        Section {
            id: "beside".to_owned(),
            title: "Predicted and measured".to_owned(),
            notes: vec![
                format!(
                    "Other programs used at most {:.0} % of the machine during a run. Above {:.0} %, a run has no verdict.",
                    100.0 * self.outside,
                    100.0 * OUTSIDE_MAX
                ),
                "Costs are those of a lighter load, measured before: one client, each flow alone, small jobs. The rates of the flows are those that \
                 the mix reached."
                    .to_owned(),
            ],
            table: Table {
                columns: vec![
                    Column::new("figure", ""),
                    Column::new("predicted", ""),
                    Column::new("measured", ""),
                    Column::new("unit", ""),
                    Column::new("error", "%"),
                ],
                rows: self.beside.iter().map(row).collect(),
            },
            picture: Some(Picture::Bars {
                across: "processors busy".to_owned(),
                rows: busy.iter().map(|beside| beside.workload.to_owned()).collect(),
                series: vec![
                    ("predicted".to_owned(), busy.iter().map(|beside| beside.predicted).collect()),
                    ("measured".to_owned(), busy.iter().map(|beside| beside.measured).collect()),
                ],
            }),
        }
    }

    /// Shows from which part of a message the error of the mix of flows comes.
    fn flow_section(&self) -> Section {
        let row = |(name, busy): (&str, [f64; 3])| {
            let mut cells = vec![Cell::text(name)];
            cells.extend(busy.map(Cell::Number));
            cells
        };
        let sum = |at: usize| self.flow_parts.iter().map(|busy| busy[at]).sum::<f64>();
        let mut rows: Vec<Vec<Cell>> = FLOW_PARTS.into_iter().zip(self.flow_parts).map(row).collect();
        rows.push(row(("together", [sum(0), sum(1), sum(2)])));
        Section {
            id: "flow-parts".to_owned(),
            title: "Flow mix by part".to_owned(),
            notes: vec![format!(
                "Processors that the mix keeps busy, from the cost of a message of each flow alone. With {} application, each message pays for its \
                 own wake-ups and commits, so that cost is only for comparison.",
                APPLICATIONS[0]
            )],
            table: Table {
                columns: vec![
                    Column::new("part", ""),
                    Column::new(&format!("from {} application", APPLICATIONS[0]), ""),
                    Column::new(&format!("from {} applications", APPLICATIONS[1]), ""),
                    Column::new("measured", ""),
                ],
                rows,
            },
            picture: None,
        }
    }

    /// Sizes all workloads together. Returns the section and its result as a sentence.
    fn machines_section(&self) -> Result<(Section, String), String> {
        let workload = |asked: &Asked| SizedWorkload {
            name: asked.name.to_owned(),
            rate: PerSecond(asked.rate),
            cost: CapacityUnits(asked.cost),
            growth: PerMonth(0.0),
            memory: Bytes(0.0),
            disk: Bytes(0.0),
            origin: Origin::Measured,
        };
        let machine = |processors: u32| Machine {
            name: format!("{processors} processors"),
            rating: CapacityUnits(f64::from(processors)),
            memory: Bytes(f64::MAX),
            disk: Bytes(f64::MAX),
        };
        let question = SizingQuestion {
            workloads: self.asked.iter().map(workload).collect(),
            catalogue: CATALOGUE.map(machine).to_vec(),
            target: Share(TARGET),
            horizon_months: 0.0,
        };
        let answer = size(&question).map_err(|error| error.to_string())?.value;
        let row = |(asked, now): (&Asked, &CapacityUnits)| {
            vec![
                Cell::text(asked.name),
                Cell::Number(asked.rate),
                Cell::Number(1e6 * asked.cost),
                Cell::Number(now.0),
                Cell::text(&asked.source),
            ]
        };
        let chosen = answer.machine.map_or("none of the catalogue", |at| question.catalogue[at].name.as_str());
        let result = format!(
            "Together they need {:.2} processors like those of this machine; the smallest machine that remains below {:.0} %: {chosen}.",
            answer.now.iter().map(|need| need.0).sum::<f64>(),
            100.0 * TARGET
        );
        let section = Section {
            id: "sized".to_owned(),
            title: "Machine for all workloads together".to_owned(),
            notes: vec![result.clone()],
            table: Table {
                columns: vec![
                    Column::new("workload", ""),
                    Column::new("rate", "1/s"),
                    Column::lower("CPU each", "us"),
                    Column::new("processors", ""),
                    Column::new("source of the cost", ""),
                ],
                rows: self.asked.iter().zip(&answer.now).map(row).collect(),
            },
            picture: None,
        };
        Ok((section, result))
    }
}

/// Returns the CPU seconds of a run by [`FLOW_PARTS`].
fn flow_parts(drive: &Drive) -> [f64; 3] {
    let (applications, flows) = (drive.driver_ns / 1e9, drive.flow_ns / 1e9);
    [applications, flows, (drive.cpu.as_secs_f64() - applications - flows).max(0.0)]
}

/// Writes a project with one operation that answers 50 rows.
fn write_api(root: &Path) -> Result<(), String> {
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        let folder = path.parent().unwrap_or(root);
        let done = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        done.map_err(|error| format!("{}: {}", path.display(), quayline_core::system_error_text(&error)))
    };
    write("quayline.toml", "")?;
    write(
        "sizing.cpy",
        "       01 SIZING.\n          05 ROWS OCCURS 50.\n             10 NAME PIC X(10).\n             10 AMOUNT PIC 9(5).\n",
    )?;
    write("sizing.dat", &"some text 12345".repeat(50))?;
    write(
        "services/sizing.toml",
        "copybook = \"sizing.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"sizing.dat\"\n",
    )?;
    write(
        "apis/sizing.toml",
        "base-path = \"/sizing\"\npublic = true\n[[operation]]\nid = \"get\"\nmethod = \"GET\"\npath = \"/x\"\nservice = \"sizing\"\n",
    )
}
