//! The report's measurements over the dealership, and the bars.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ServerProcess;
use crate::client::Client;
use crate::load::{Load, Pace, Run};
use crate::scratch::Scratch;

/// Settings of the study.
#[derive(Clone, Debug)]
pub struct StudyOptions {
    /// The dealership.
    pub project: PathBuf,
    /// Seconds that are measured in each run.
    pub seconds: f64,
    /// Clients of the think-time runs.
    pub clients: Vec<usize>,
    /// Whether only the saturated comparison with static bytes is made.
    pub saturated_only: bool,
    /// True for a short run that only shows that everything works: one round, few clients, half a second each. Its figures are not measurements.
    pub short: bool,
}

impl StudyOptions {
    /// Parses command line arguments.
    ///
    /// # Errors
    /// The argument that is not an option.
    pub fn of_words(words: &[String]) -> Result<StudyOptions, String> {
        let mut options = StudyOptions {
            project: "examples/dealership".into(),
            seconds: 5.0,
            clients: vec![100, 200, 300, 400, 500],
            saturated_only: false,
            short: false,
        };
        let mut words = words.iter().peekable();
        if words.next_if(|word| *word == "gateway").is_none() {
            return Err("write: gateway [FOLDER] [--seconds N] [--clients 100,500] [--saturated] [--short]".to_owned());
        }
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--seconds" => options.seconds = value()?.parse().map_err(|_| "--seconds is a number".to_owned())?,
                "--clients" => {
                    let read = value()?.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>();
                    options.clients = read.map_err(|_| "--clients are numbers, joined by commas".to_owned())?;
                }
                "--saturated" => options.saturated_only = true,
                "--short" => options.short = true,
                folder if !folder.starts_with('-') => options.project = folder.into(),
                other => return Err(format!("{other} is not an option")),
            }
        }
        Ok(options)
    }

    /// Returns the options with the clients and seconds of a short run, if the run is short.
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

/// Largest cost of a transaction by smallest, over all numbers of clients.
pub(crate) const SPREAD_MAX: f64 = 1.10;

/// Least part of the variance of CPU time that a straight line over payload explains.
pub(crate) const LINEAR_MIN: f64 = 0.98;

/// Think time of the report's clients.
const THINK: Duration = Duration::from_millis(500);

/// Cars of the linearity runs.
const LINEAR_CARS: [u32; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// Turns of a saturated comparison, each of so many seconds.
const TURNS: usize = 11;
const TURN_S: f64 = 0.4;

/// Time in which instructions are counted.
const COUNT: Duration = Duration::from_millis(300);

/// A row of the think-time runs.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) scenario: Scenario,
    pub(crate) clients: usize,
    pub(crate) run: Run,
}

/// Runs of the same load, some at another time than others: medians count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs(pub(crate) Vec<Run>);

impl Runs {
    pub(crate) fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        median(self.0.iter().map(of))
    }

    pub(crate) fn cpu_us(&self) -> f64 {
        self.median(Run::cpu_us)
    }

    /// Thousands of instructions a transaction, where they were counted.
    pub(crate) fn kilo_instructions(&self) -> Option<f64> {
        let counted: Vec<f64> = self.0.iter().filter_map(Run::kilo_instructions).collect();
        (!counted.is_empty()).then(|| median(counted.into_iter()))
    }

    pub(crate) fn body_bytes(&self) -> usize {
        self.0.last().map_or(0, |run| run.body_bytes)
    }
}

/// The saturated comparison of one payload.
#[derive(Clone, Debug)]
pub(crate) struct Twin {
    pub(crate) title: &'static str,
    pub(crate) gateway: Runs,
    pub(crate) fixed: Runs,
    /// Largest ratio of CPU time that is allowed.
    pub(crate) bar: f64,
}

impl Twin {
    /// Returns the median ratio of the gateway's CPU time to that of static bytes.
    pub(crate) fn ratio(&self) -> f64 {
        median(self.ratios())
    }

    /// Returns the lower and upper quartile of the ratios.
    pub(crate) fn middle(&self) -> (f64, f64) {
        let mut ratios: Vec<f64> = self.ratios().collect();
        ratios.sort_by(f64::total_cmp);
        let at = |i: usize| ratios.get(i).copied().unwrap_or(f64::NAN);
        (at(ratios.len() / 4), at(ratios.len().saturating_sub(1 + ratios.len() / 4)))
    }

    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.gateway.0.iter().zip(&self.fixed.0).map(|(gateway, fixed)| gateway.cpu_us() / fixed.cpu_us())
    }
}

/// Spread of the cost of a transaction over the numbers of clients: largest by smallest.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) title: &'static str,
    pub(crate) time: f64,
    pub(crate) instructions: Option<f64>,
}

/// A straight line through points, by least squares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    /// Cost at zero.
    pub(crate) rest: f64,
    /// Cost for each unit.
    pub(crate) slope: f64,
    /// The part of the variance that it explains.
    pub(crate) explained: f64,
}

/// Results of the study.
#[derive(Clone, Debug, Default)]
pub struct GatewayStudy {
    pub(crate) rows: Vec<Row>,
    /// Static bytes of the baseline under the same loads: clients and run.
    pub(crate) control: Vec<(usize, Run)>,
    /// Cars and the saturated runs, for the linearity of cost in payload.
    pub(crate) linear: Vec<(u32, Runs)>,
    /// The car array left out of the answer: read all the same, and not read; saturated.
    pub(crate) wasted: Option<(Runs, Runs)>,
    pub(crate) open: Option<(f64, Run)>,
    pub(crate) twins: Vec<Twin>,
    pub(crate) failures: u64,
    /// True if the figures are not measurements.
    pub(crate) short: bool,
    /// Processes that could run, by the kernel's count over the last minute, at the begin and at the end: a busy machine measures badly.
    pub(crate) busy: (f64, f64),
}

impl GatewayStudy {
    /// Runs the study, and reports its progress on standard error.
    ///
    /// # Errors
    /// A server does not start, or answers with a status other than 200.
    pub fn run(options: &StudyOptions) -> Result<GatewayStudy, String> {
        let options = &options.resolved();
        let mut study = GatewayStudy { short: options.short, ..GatewayStudy::default() };
        study.busy.0 = load_average();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // The server has the first core to itself, the driver the last.
        let core = (cores > 1).then_some(0);
        if cores > 1 {
            crate::server::pin(cores - 1);
        }
        let place = Scratch::new(None)?;
        study.saturated(options, core, place.folder())?;
        if !options.saturated_only {
            study.think_times(options, core, place.folder())?;
        }
        study.busy.1 = load_average();
        Ok(study)
    }

    /// Measures the gateway and static bytes at saturation, in short alternating turns, and takes the ratio of each turn. The machine's speed can
    /// change by half from one second to the next, so only neighbouring turns are compared. The median of the ratios counts.
    fn saturated(&mut self, options: &StudyOptions, core: Option<usize>, place: &Path) -> Result<(), String> {
        let rounds = if options.short { 1 } else { 3 };
        let load = |target: &str, seconds: f64| Load {
            clients: 100,
            pace: Pace::NoPause,
            warm_up: Duration::from_millis(if options.short { 100 } else { 500 }),
            time: Duration::from_secs_f64(options.seconds.min(seconds)),
            count: COUNT,
            target: target.to_owned(),
        };
        for (title, scenario, bar) in [("Baseline, 100 cars", &SCENARIOS[0], 2.2), ("10 cars", &SCENARIOS[6], 2.5)] {
            let mut twin = Twin { title, gateway: Runs::default(), fixed: Runs::default(), bar };
            let gateway = ServerProcess::project(&options.project, 1, core).map_err(|e| e.to_string())?;
            let fixed = fixed(place, &fetch(gateway.address, scenario.target)?, core)?;
            let turns = if options.short { 1 } else { TURNS };
            say(&format!("saturated: {title}, {turns} turns"));
            for turn in 0..turns {
                let load = Load {
                    warm_up: Duration::from_millis(100),
                    time: Duration::from_secs_f64(options.seconds.min(TURN_S)),
                    count: if turn == 0 { COUNT } else { Duration::ZERO },
                    ..load(scenario.target, TURN_S)
                };
                twin.gateway.0.push(self.measured(&load, &gateway)?);
                twin.fixed.0.push(self.measured(&load, &fixed)?);
            }
            self.twins.push(twin);
        }
        if options.saturated_only {
            return Ok(());
        }
        let server = ServerProcess::project(&options.project, 1, core).map_err(|e| e.to_string())?;
        let every = if options.short { 5 } else { 1 };
        self.linear = LINEAR_CARS.iter().step_by(every).map(|cars| (*cars, Runs::default())).collect();
        let (mut read, mut not) = (Runs::default(), Runs::default());
        for round in 1..=rounds {
            say(&format!("saturated: linearity and maxCars, round {round} of {rounds}"));
            for i in 0..self.linear.len() {
                let target = format!("/car100/models?maxCars={}&maxDealers=25", self.linear[i].0);
                let run = self.measured(&load(&target, 1.5), &server)?;
                self.linear[i].1.0.push(run);
            }
            // In short turns: the difference is smaller than what a busy machine does from second to second.
            for _ in 0..rounds {
                for (runs, cars) in [(&mut read, 100), (&mut not, 0)] {
                    let target = format!("/scenarios/exclude-cars?maxCars={cars}&maxDealers=25");
                    runs.0.push(self.measured(&load(&target, 1.0), &server)?);
                }
            }
        }
        self.wasted = Some((read, not));
        Ok(())
    }

    /// Measures the load of IBM's report, with think times, and static bytes under the same load, in turns.
    fn think_times(&mut self, options: &StudyOptions, core: Option<usize>, place: &Path) -> Result<(), String> {
        let server = ServerProcess::project(&options.project, 1, core).map_err(|e| e.to_string())?;
        let body = fetch(server.address, SCENARIOS[0].target)?;
        let static_bytes = fixed(place, &body, core)?;
        let think = if options.short { THINK / 5 } else { THINK };
        let load = |target: &str, clients: usize| Load {
            clients,
            pace: Pace::Think(think),
            warm_up: think * 3,
            time: Duration::from_secs_f64(options.seconds),
            count: if options.short { COUNT } else { COUNT * 3 },
            target: target.to_owned(),
        };
        for clients in &options.clients {
            say(&format!("{clients} clients: static bytes"));
            let run = self.measured(&load("/", *clients), &static_bytes)?;
            self.control.push((*clients, run));
            for scenario in SCENARIOS {
                say(&format!("{clients} clients: {}", scenario.title));
                let run = self.measured(&load(scenario.target, *clients), &server)?;
                self.rows.push(Row { scenario, clients: *clients, run });
            }
        }
        // By scenario, as the report has them.
        let place_of = |row: &Row| SCENARIOS.iter().position(|known| known.title == row.scenario.title);
        self.rows.sort_by_key(|row| (place_of(row), row.clients));
        say("open arrivals");
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

    /// Returns true if the bars hold; for a short study, if nothing failed.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failures == 0 && (self.short || self.missed().is_empty())
    }

    /// Returns the missed targets as text.
    pub(crate) fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for twin in self.twins.iter().filter(|twin| twin.ratio() > twin.bar) {
            missed.push(format!("{}: {:.2} times static bytes, target {}", twin.title, twin.ratio(), twin.bar));
        }
        for spread in self.spreads().iter().filter(|spread| !self.is_constant(spread)) {
            missed.push(format!("{}: cost by clients {}", spread.title, spread.text()));
        }
        let counted = self.fit_instructions().filter(|_| !self.machine_is_constant());
        if let Some(fit) = counted.or_else(|| self.fit(Runs::cpu_us)).filter(|fit| fit.explained < LINEAR_MIN) {
            missed.push(format!("linearity: r² {:.4}, target {LINEAR_MIN}", fit.explained));
        }
        missed
    }

    /// Returns true if static bytes take the same time for any number of clients. Otherwise time shows more about the machine than about
    /// the gateway, and instructions decide.
    pub(crate) fn machine_is_constant(&self) -> bool {
        self.control_spread().is_some_and(|control| control.time <= SPREAD_MAX)
    }

    fn is_constant(&self, spread: &Spread) -> bool {
        match spread.instructions {
            Some(instructions) if !self.machine_is_constant() => instructions <= SPREAD_MAX,
            _ => spread.time <= SPREAD_MAX,
        }
    }

    /// Fits a straight line to the cost of the linearity runs over the size of the JSON text in kilobytes.
    pub(crate) fn fit(&self, cost: impl Fn(&Runs) -> f64) -> Option<Fit> {
        let point = |(_, runs): &(u32, Runs)| (runs.body_bytes() as f64 / 1e3, cost(runs));
        fit(&self.linear.iter().map(point).collect::<Vec<_>>())
    }

    /// Fits a line to the instructions, if they were counted.
    pub(crate) fn fit_instructions(&self) -> Option<Fit> {
        self.linear.iter().all(|(_, runs)| runs.kilo_instructions().is_some()).then_some(())?;
        self.fit(|runs| runs.kilo_instructions().unwrap_or(0.0))
    }

    pub(crate) fn spreads(&self) -> Vec<Spread> {
        let of = |scenario: &Scenario| {
            let rows = self.rows.iter().filter(|row| row.scenario.title == scenario.title);
            Spread::of(scenario.title, rows.map(|row| &row.run))
        };
        SCENARIOS.iter().filter_map(of).collect()
    }

    pub(crate) fn control_spread(&self) -> Option<Spread> {
        Spread::of("Static bytes", self.control.iter().map(|(_, run)| run))
    }
}

impl Spread {
    fn of<'a>(title: &'static str, runs: impl Iterator<Item = &'a Run>) -> Option<Spread> {
        let runs: Vec<&Run> = runs.collect();
        let apart = |values: Vec<f64>| {
            let (low, high) = values.iter().fold((f64::MAX, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
            (high > 0.0).then_some(high / low)
        };
        let time = apart(runs.iter().map(|run| run.cpu_us()).collect())?;
        let counted: Option<Vec<f64>> = runs.iter().map(|run| run.kilo_instructions()).collect();
        Some(Spread { title, time, instructions: counted.and_then(apart) })
    }

    pub(crate) fn text(&self) -> String {
        let instructions = self.instructions.map_or_else(String::new, |spread| format!(", instructions {spread:.2}"));
        format!("CPU time {:.2}{instructions} (largest by smallest, target {SPREAD_MAX:.2})", self.time)
    }
}

/// Fits a straight line by least squares. `None` for fewer than three points, or if all have the same x or the same y.
fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(px, py)| of(px - x, py - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|dx, _| dx * dx), sum(&|dx, dy| dx * dy), sum(&|_, dy| dy * dy));
    (points.len() > 2 && xx > 0.0 && yy > 0.0).then(|| Fit {
        rest: y - xy / xx * x,
        slope: xy / xx,
        explained: xy * xy / (xx * yy),
    })
}

fn fixed(place: &Path, body: &[u8], core: Option<usize>) -> Result<ServerProcess, String> {
    let file = place.join("fixed.json");
    std::fs::write(&file, body).map_err(|e| e.to_string())?;
    ServerProcess::fixed(&file, core).map_err(|e| e.to_string())
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

fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn say(line: &str) {
    use std::io::Write as _;
    // Where the study is; nothing can be done where nobody listens.
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_noise_is_told() {
        let line = fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
        assert!((line.rest - 1.0).abs() < 1e-9 && (line.slope - 2.0).abs() < 1e-9 && line.explained > 0.999);
        assert!(fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 0.0), (3.0, 2.0)]).unwrap().explained < 0.2);
        assert!(fit(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]).is_none());
    }
}
