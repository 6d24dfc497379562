//! The report's measurements over the dealership, and the bars.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::client::Client;
use crate::load::{Load, Pace, Run};
use crate::{ServerProcess, figures};

/// How the study runs.
#[derive(Clone, Debug)]
pub struct StudyOptions {
    /// The dealership.
    pub project: PathBuf,
    /// Seconds that are measured in each run.
    pub seconds: f64,
    /// Clients of the think-time runs.
    pub clients: Vec<usize>,
    /// Where `gateway.html` and `gateway.json` go.
    pub out: Option<PathBuf>,
    /// Whether only the saturated comparison with static bytes is made.
    pub saturated_only: bool,
    /// Whether it is only to be seen that everything runs: one round, few clients, half a second each. Figures of it say nothing.
    pub short: bool,
}

impl StudyOptions {
    /// From the words of a command line.
    ///
    /// # Errors
    /// A word that is none of the options.
    pub fn of_words(words: &[String]) -> Result<StudyOptions, String> {
        let mut options = StudyOptions {
            project: "examples/dealership".into(),
            seconds: 5.0,
            clients: vec![100, 200, 300, 400, 500],
            out: None,
            saturated_only: false,
            short: false,
        };
        let mut words = words.iter().peekable();
        if words.next_if(|word| *word == "gateway").is_none() {
            return Err(
                "write: gateway [FOLDER] [--seconds N] [--clients 100,500] [--out FOLDER] [--saturated] [--short]"
                    .to_owned(),
            );
        }
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--seconds" => options.seconds = value()?.parse().map_err(|_| "--seconds is a number".to_owned())?,
                "--clients" => {
                    let read = value()?.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>();
                    options.clients = read.map_err(|_| "--clients are numbers, joined by commas".to_owned())?;
                }
                "--out" => options.out = Some(value()?.into()),
                "--saturated" => options.saturated_only = true,
                "--short" => options.short = true,
                folder if !folder.starts_with('-') => options.project = folder.into(),
                other => return Err(format!("{other} is no option")),
            }
        }
        Ok(options)
    }

    /// The clients and seconds that count.
    fn resolved(&self) -> StudyOptions {
        let mut options = self.clone();
        if self.short {
            options.seconds = self.seconds.min(0.5);
            options.clients = vec![20, 40];
        }
        options
    }
}

/// One scenario of the report's Table 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) title: &'static str,
    pub(crate) target: &'static str,
    /// JSON bytes that the report prints.
    pub(crate) printed: usize,
}

pub(crate) const SCENARIOS: [Scenario; 7] = [
    Scenario { title: "Baseline", target: "/car100/models?maxCars=100&maxDealers=25", printed: 63_949 },
    Scenario {
        title: "Exclude dealer array",
        target: "/scenarios/exclude-dealers?maxCars=100&maxDealers=25",
        printed: 59_634,
    },
    Scenario { title: "Exclude car array", target: "/scenarios/exclude-cars?maxCars=0&maxDealers=25", printed: 4_441 },
    Scenario {
        title: "Exclude 10 of 20 fields",
        target: "/scenarios/exclude-10-fields?maxCars=100&maxDealers=25",
        printed: 35_649,
    },
    Scenario { title: "Interface rename", target: "/car100rename/models?maxCars=100&maxDealers=25", printed: 38_487 },
    Scenario { title: "ODO 50 % cars", target: "/car100/models?maxCars=50&maxDealers=25", printed: 34_298 },
    Scenario { title: "ODO 10 % cars", target: "/car100/models?maxCars=10&maxDealers=25", printed: 10_578 },
];

/// Largest CPU time a transaction by smallest, over all numbers of clients.
const SPREAD_MAX: f64 = 1.10;

/// Think time of the report's clients.
const THINK: Duration = Duration::from_millis(500);

/// A row of the think-time runs.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) scenario: Scenario,
    pub(crate) clients: usize,
    pub(crate) run: Run,
}

/// The saturated comparison of one payload.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    pub(crate) title: &'static str,
    pub(crate) bytes: usize,
    pub(crate) gateway_us: f64,
    pub(crate) fixed_us: f64,
    pub(crate) gateway_rps: f64,
    pub(crate) fixed_rps: f64,
    /// Largest ratio that is allowed.
    pub(crate) bar: f64,
}

impl Twin {
    pub(crate) fn ratio(&self) -> f64 {
        self.gateway_us / self.fixed_us
    }
}

/// Everything that was measured.
#[derive(Clone, Debug, Default)]
pub struct GatewayStudy {
    pub(crate) rows: Vec<Row>,
    /// Cars and the run, for the linearity of CPU time in payload.
    pub(crate) linear: Vec<(u32, Run)>,
    /// The car array left out of the answer: read all the same, and not read.
    pub(crate) wasted: Option<(Run, Run)>,
    pub(crate) open: Option<(f64, Run)>,
    pub(crate) twins: Vec<Twin>,
    pub(crate) failures: u64,
    /// Whether the figures are none to go by.
    pub(crate) short: bool,
}

impl GatewayStudy {
    /// Runs the study; it says on standard error where it is.
    ///
    /// # Errors
    /// A server that does not start, or answers with something else than 200.
    pub fn run(options: &StudyOptions) -> Result<GatewayStudy, String> {
        let options = &options.resolved();
        let mut study = GatewayStudy { short: options.short, ..GatewayStudy::default() };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // The server has the first core to itself, the driver the last.
        let core = (cores > 1).then_some(0);
        if cores > 1 {
            crate::server::pin(cores - 1);
        }
        study.saturated(options, core)?;
        if !options.saturated_only {
            study.think_times(options, core)?;
        }
        if let Some(out) = &options.out {
            let write = |name: &str, text: String| {
                std::fs::create_dir_all(out)
                    .and_then(|()| std::fs::write(out.join(name), text))
                    .map_err(|e| format!("{name}: {e}"))
            };
            write("gateway.html", figures::page(&study))?;
            write("gateway.json", figures::json(&study))?;
        }
        Ok(study)
    }

    /// Gateway and static bytes in turns, so that a busy machine treats both alike; the medians count.
    fn saturated(&mut self, options: &StudyOptions, core: Option<usize>) -> Result<(), String> {
        let place = std::env::temp_dir().join(format!("quayline-measure-{}", std::process::id()));
        std::fs::create_dir_all(&place).map_err(|e| e.to_string())?;
        for (title, scenario, bar) in [("Baseline, 100 cars", &SCENARIOS[0], 2.2), ("10 cars", &SCENARIOS[6], 2.5)] {
            let mut gateway = Vec::new();
            let mut fixed = Vec::new();
            let mut bytes = 0;
            let rounds = if options.short { 1 } else { 3 };
            for round in 1..=rounds {
                eprint_line(&format!("saturated: {title}, round {round} of {rounds}"));
                let server = ServerProcess::project(&options.project, 1, core).map_err(|e| e.to_string())?;
                let body = fetch(server.address, scenario.target)?;
                bytes = body.len();
                let file = place.join("fixed.json");
                std::fs::write(&file, &body).map_err(|e| e.to_string())?;
                let load = Load {
                    clients: 100,
                    pace: Pace::NoPause,
                    warm_up: Duration::from_millis(500),
                    time: Duration::from_secs_f64(options.seconds.min(3.0)),
                    target: scenario.target.to_owned(),
                };
                gateway.push(self.measured(&load, &server)?);
                drop(server);
                let server = ServerProcess::fixed(&file, core).map_err(|e| e.to_string())?;
                fixed.push(self.measured(&load, &server)?);
            }
            let us = |runs: &[Run]| median(runs.iter().map(|run| run.cpu_ms() * 1e3));
            let rps = |runs: &[Run]| median(runs.iter().map(Run::tps));
            self.twins.push(Twin {
                title,
                bytes,
                gateway_us: us(&gateway),
                fixed_us: us(&fixed),
                gateway_rps: rps(&gateway),
                fixed_rps: rps(&fixed),
                bar,
            });
        }
        let _ = std::fs::remove_dir_all(&place);
        Ok(())
    }

    fn think_times(&mut self, options: &StudyOptions, core: Option<usize>) -> Result<(), String> {
        let server = ServerProcess::project(&options.project, 1, core).map_err(|e| e.to_string())?;
        let think = if options.short { THINK / 5 } else { THINK };
        let load = |target: &str, clients: usize| Load {
            clients,
            pace: Pace::Think(think),
            warm_up: think * 3,
            time: Duration::from_secs_f64(options.seconds),
            target: target.to_owned(),
        };
        for scenario in SCENARIOS {
            for clients in &options.clients {
                eprint_line(&format!("{}: {clients} clients", scenario.title));
                let run = self.measured(&load(scenario.target, *clients), &server)?;
                self.rows.push(Row { scenario, clients: *clients, run });
            }
        }
        let clients = options.clients.get(options.clients.len() / 2).copied().unwrap_or(300);
        for cars in [20, 40, 60, 80, 100] {
            eprint_line(&format!("linearity: {cars} cars"));
            let run =
                self.measured(&load(&format!("/car100/models?maxCars={cars}&maxDealers=25"), clients), &server)?;
            self.linear.push((cars, run));
        }
        eprint_line("maxCars: read and left out, and not read");
        let read = self.measured(&load("/scenarios/exclude-cars?maxCars=100&maxDealers=25", clients), &server)?;
        let not = self.measured(&load(SCENARIOS[2].target, clients), &server)?;
        self.wasted = Some((read, not));
        eprint_line("open arrivals");
        let open = Load { pace: Pace::Open(1000.0), ..load(SCENARIOS[0].target, 500) };
        self.open = Some((1000.0, self.measured(&open, &server)?));
        Ok(())
    }

    fn measured(&mut self, load: &Load, server: &ServerProcess) -> Result<Run, String> {
        let run = load.run(server.address, &server.cpu()).map_err(|error| format!("{}: {error}", load.target))?;
        self.failures += run.failures;
        if run.answers == 0 {
            return Err(format!("{}: no request was answered with 2xx", load.target));
        }
        Ok(run)
    }

    /// Whether the bars hold: the ratios to static bytes, no failed request, CPU per transaction the same for any number of clients. Of a
    /// short study only that nothing failed.
    #[must_use]
    pub fn holds(&self) -> bool {
        let figures = self.twins.iter().all(|twin| twin.ratio() <= twin.bar)
            && self.spreads().iter().all(|(_, spread)| *spread <= SPREAD_MAX);
        self.failures == 0 && (self.short || figures)
    }

    /// CPU time as a straight line over JSON bytes: microseconds at none, microseconds a kilobyte, and how much of the variance that is.
    pub(crate) fn fit(&self) -> Option<(f64, f64, f64)> {
        let points: Vec<(f64, f64)> =
            self.linear.iter().map(|(_, run)| (run.body_bytes as f64 / 1e3, run.cpu_ms() * 1e3)).collect();
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|p| p.0), mean(|p| p.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(px, py)| of(px - x, py - y)).sum::<f64>();
        let (xx, xy, yy) = (sum(&|dx, _| dx * dx), sum(&|dx, dy| dx * dy), sum(&|_, dy| dy * dy));
        (points.len() > 2 && xx > 0.0 && yy > 0.0).then(|| (y - xy / xx * x, xy / xx, xy * xy / (xx * yy)))
    }

    /// Spread of CPU time a transaction over the numbers of clients, largest by smallest, for each scenario.
    pub(crate) fn spreads(&self) -> Vec<(&'static str, f64)> {
        SCENARIOS
            .iter()
            .filter_map(|scenario| {
                let of =
                    self.rows.iter().filter(|row| row.scenario.title == scenario.title).map(|row| row.run.cpu_ms());
                let (low, high) = of.fold((f64::MAX, 0.0f64), |(low, high), ms| (low.min(ms), high.max(ms)));
                (high > 0.0).then(|| (scenario.title, high / low))
            })
            .collect()
    }

    /// The tables as Markdown.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = String::new();
        let _ = self.write_tables(&mut text);
        text
    }

    fn write_tables(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "## Saturated, server on one core: CPU a request against the same HTTP stack with static bytes\n"
        )?;
        writeln!(text, "| payload | bytes | gateway us | static us | ratio | bar | gateway req/s | static req/s |")?;
        writeln!(text, "|---|---|---|---|---|---|---|---|")?;
        for twin in &self.twins {
            let Twin { title, bytes, gateway_us, fixed_us, gateway_rps, fixed_rps, bar } = twin;
            let ratio = twin.ratio();
            writeln!(
                text,
                "| {title} | {bytes} | {gateway_us:.1} | {fixed_us:.1} | {ratio:.2} | {bar} | {gateway_rps:.0} | {fixed_rps:.0} |"
            )?;
        }
        writeln!(text, "\nFailed requests so far: {}", self.failures)?;
        if self.rows.is_empty() {
            return Ok(());
        }
        writeln!(text, "\n## Think time 500 ms (the report's Tables 1 and 2, figures 9 to 15)\n")?;
        writeln!(
            text,
            "| scenario | printed bytes | bytes | clients | TPS | CPU ms/tx | CPU % | mean ms | p50 | p90 | p99 |"
        )?;
        writeln!(text, "|---|---|---|---|---|---|---|---|---|---|---|")?;
        for Row { scenario, clients, run } in &self.rows {
            let busy = run.cpu.as_secs_f64() / run.seconds * 100.0;
            writeln!(
                text,
                "| {} | {} | {} | {clients} | {:.0} | {:.4} | {busy:.1} | {:.2} | {:.2} | {:.2} | {:.2} |",
                scenario.title,
                scenario.printed,
                run.body_bytes,
                run.tps(),
                run.cpu_ms(),
                run.mean_ms(),
                run.ms(50.0),
                run.ms(90.0),
                run.ms(99.0)
            )?;
        }
        writeln!(text, "\nCPU a transaction over all numbers of clients, largest by smallest (bar {SPREAD_MAX}):")?;
        for (title, spread) in self.spreads() {
            writeln!(text, "- {title}: {spread:.2}")?;
        }
        writeln!(text, "\n| cars | bytes | CPU ms/tx |\n|---|---|---|")?;
        for (cars, run) in &self.linear {
            writeln!(text, "| {cars} | {} | {:.4} |", run.body_bytes, run.cpu_ms())?;
        }
        if let Some((rest, slope, explained)) = self.fit() {
            writeln!(text, "\nLinear: {rest:.1} us and {slope:.3} us a kilobyte of JSON, r² {explained:.4}.")?;
        }
        if let Some((read, not)) = &self.wasted {
            writeln!(
                text,
                "\nCar array left out of the answer: maxCars=100 costs {:.4} ms, maxCars=0 {:.4} ms (the report: 0.64 and 0.35).",
                read.cpu_ms(),
                not.cpu_ms()
            )?;
        }
        if let Some((rate, run)) = &self.open {
            writeln!(
                text,
                "\nOpen arrivals, {rate:.0} a second, baseline: {:.0} TPS, mean {:.2} ms, p50 {:.2}, p99 {:.2} from when each was due.",
                run.tps(),
                run.mean_ms(),
                run.ms(50.0),
                run.ms(99.0)
            )?;
        }
        writeln!(text, "\nFailed requests: {}", self.failures)
    }
}

fn fetch(address: std::net::SocketAddr, target: &str) -> Result<Vec<u8>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let request = format!("GET {target} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let (status, body) = runtime
        .block_on(async { Client::connect(address).await?.fetch(request.as_bytes()).await })
        .map_err(|e| e.to_string())?;
    if status == 200 {
        Ok(body)
    } else {
        Err(format!("{target}: {status}: {}", String::from_utf8(body).unwrap_or_default()))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn eprint_line(line: &str) {
    use std::io::Write as _;
    // Where the study is; nothing can be done where nobody listens.
    let _ = writeln!(std::io::stderr(), "{line}");
}
