//! `quayline predict`: throughput and response times for a number of users.

use quayline_capacity::simulation::{Simulation, SimulationOutcome, Variation};
use quayline_capacity::{
    Class, Estimate, ModelError, Network, Prediction, Seconds, Servers, Share, Station, Workload, count_text,
};
use quayline_workload::Headroom;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::predict_audit::predict_audit;
use super::predict_fit;
use super::predict_report::PredictionReport;
use super::report::{check_baseline, finish};
use super::{BasisWire, OriginWire, read, refused};
use crate::args::{PredictArgs, PredictCommand};
use crate::console::Console;
use crate::exit::{Exit, Stop};
use crate::quantity::{Duration, time_text};

/// Predicts users, or answers from measured runs.
pub(crate) fn predict(args: &PredictArgs, console: &Console) -> Result<Exit, Stop> {
    match &args.command {
        None => predict_users(args, console),
        Some(PredictCommand::Audit(args)) => predict_audit(args, console),
        Some(PredictCommand::ItemCount(args)) => predict_fit::item_count(args),
        Some(PredictCommand::Scaling(args)) => predict_fit::scaling(args),
        Some(PredictCommand::Cost(args)) => predict_fit::cost(args),
        Some(PredictCommand::Work(args)) => super::predict_work::work(args, console),
    }
}

/// Predicts each number of users.
fn predict_users(args: &PredictArgs, console: &Console) -> Result<Exit, Stop> {
    check_baseline(&args.report)?;
    let (workload, details) = workload(args)?;
    let objective = args.objective.objective();
    let stop = |error| Stop::from(refused(&error));
    let mut rows = Vec::new();
    for users in &args.users {
        rows.push(workload.predict(*users).map_err(stop)?);
    }
    let most_asked = args.users.iter().copied().max().unwrap_or(1);
    let headroom = args.objective.headroom(&workload, most_asked)?;
    let Some(weakest) = super::weakest(&rows) else { return Ok(Exit::Done) };
    let mut simulated = Vec::new();
    if let Some(transactions) = args.simulate {
        for users in &args.users {
            simulated.push(simulate(&workload, &details, *users, transactions, args.seed).map_err(stop)?);
        }
    }
    let largest = rows.iter().map(|row| &row.value).max_by_key(|row| row.users).expect("there is a weakest row");
    let answer = Answer {
        workload: &workload,
        rows: &rows,
        simulated: &simulated,
        headroom,
        advice: args.objective.advice(&workload, largest, "user"),
        basis: BasisWire::of(weakest),
    };
    super::answer(&args.answer, &answer.wire(), || answer.text())?;
    let contents = PredictionReport {
        workload: &workload,
        rows: &rows,
        simulated: &simulated,
        objective: &objective,
        verdict: args.objective.verdict(&workload, largest, "user")?,
        basis: &answer.basis,
        curve: if args.report.report.is_some() { workload.curve(most_asked) } else { Vec::new() },
    };
    finish(contents.report(), &args.report, console)
}

/// Properties of a station that only a simulation uses.
#[derive(Clone, Copy, Default)]
struct Detail {
    room: Option<u32>,
    variation: Option<f64>,
}

/// Users up to which a simulation is offered: each is a customer that moves.
const SIMULATED_USERS_MAX: u32 = 200_000;

fn simulate(
    workload: &Workload,
    details: &[Detail],
    users: u32,
    transactions: u64,
    seed: u64,
) -> Result<SimulationOutcome, ModelError> {
    if users > SIMULATED_USERS_MAX {
        let limit = f64::from(SIMULATED_USERS_MAX);
        return Err(ModelError::TooLarge { what: "a simulation (users)", needed: f64::from(users), limit });
    }
    let classes = vec![Class::Closed { population: users, think: workload.think }];
    let network = Network::new(workload.stations.clone(), classes)?;
    let mut simulation = Simulation::of(&network, transactions, seed)?;
    for (at, detail) in details.iter().enumerate() {
        simulation.stations[at].room = detail.room;
        if let Some(squared) = detail.variation {
            let variation = if squared > 0.0 { Variation::Squared(squared) } else { Variation::Constant };
            simulation.classes[0].service[at].variation = variation;
        }
    }
    // Users arrive at once, so the warm-up lasts until each of them has completed two transactions.
    simulation.warm_up = (transactions / 10).max(2 * u64::from(users));
    Ok(simulation.run()?.value)
}

fn workload(args: &PredictArgs) -> Result<(Workload, Vec<Detail>), Stop> {
    let Some(path) = &args.model else {
        let mut stations = Vec::new();
        if let Some(cpu) = args.cpu {
            stations.push(Station::queue("cpu", args.cores, &[cpu.0]));
        }
        if let Some(delay) = args.delay {
            stations.push(Station::delay("delay", &[delay.0]));
        }
        let think = args.think.map_or(Seconds(0.0), |think| think.0);
        let details = vec![Detail::default(); stations.len()];
        return Ok((Workload { stations, think, origin: OriginWire::Assumed.into(), shared: None }, details));
    };
    let (mut file, model): (_, Model) = read(path)?;
    if model.station.is_empty() {
        file.find_in_file(super::CAP_FILE, "the model has no [[station]]", "add a station with its demand");
        return Err(quayline_core::Findings(file.findings).into());
    }
    let mut origin = quayline_capacity::Origin::Measured;
    let mut stations = Vec::new();
    let mut details = Vec::new();
    for spanned in model.station {
        let detail = Detail { room: spanned.get_ref().room, variation: spanned.get_ref().variation };
        if args.simulate.is_none() && (detail.room.is_some() || detail.variation.is_some()) {
            let message = "`room` and `variation` need a simulation";
            file.find(super::CAP_FILE, message, &spanned, "add --simulate 100000, or remove the keys");
        }
        if detail.variation.is_some_and(|squared| !squared.is_finite() || squared < 0.0) {
            let message = "`variation` is negative or not a number, expected a squared coefficient of variation";
            file.find(super::CAP_FILE, message, &spanned, "write 0 for a constant time, 1 for an exponential one");
        }
        details.push(detail);
        let station = spanned.into_inner();
        origin = origin.weaker(station.origin.into());
        let servers = if station.servers == 0 { Servers::Delay } else { Servers::Count(station.servers) };
        stations.push(Station { name: station.name, servers, demands: vec![station.demand.0] });
    }
    if !file.findings.is_empty() {
        return Err(quayline_core::Findings(file.findings).into());
    }
    let think = args.think.or(model.think).map_or(Seconds(0.0), |think| think.0);
    Ok((Workload { stations, think, origin, shared: None }, details))
}

/// A model file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    think: Option<Duration>,
    #[serde(default)]
    station: Vec<Spanned<StationWire>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StationWire {
    name: String,
    /// 0 is a delay.
    #[serde(default = "one")]
    servers: u32,
    demand: Duration,
    /// Users that fit the station; for a simulation.
    room: Option<u32>,
    /// Squared coefficient of variation of the demand; for a simulation.
    variation: Option<f64>,
    #[serde(default)]
    origin: OriginWire,
}

fn one() -> u32 {
    1
}

struct Answer<'a> {
    workload: &'a Workload,
    rows: &'a [Estimate<Prediction>],
    simulated: &'a [SimulationOutcome],
    headroom: Headroom,
    /// A line of text about the default limit, or none.
    advice: String,
    basis: BasisWire,
}

impl Answer<'_> {
    fn text(&self) -> String {
        let mut text =
            format!("{:>8} {:>12} {:>10} {:>10} {:>10} {:>10}", "users", "tx/s", "response", "p50", "p95", "p99");
        for station in &self.workload.stations {
            text.push_str(&format!(" {:>10}", station.name));
        }
        text.push('\n');
        for row in self.rows {
            let Prediction { users, throughput, response, percentiles, utilization, .. } = &row.value;
            text.push_str(&format!("{users:>8} {:>12.2} {:>10}", throughput.0, time_text(*response)));
            for percentile in percentiles {
                text.push_str(&format!(" {:>10}", time_text(*percentile)));
            }
            for (station, share) in self.workload.stations.iter().zip(utilization) {
                let cell = match station.servers {
                    Servers::Delay => format!("{:.2}", share.0),
                    _ => format!("{:.1} %", share.percent()),
                };
                text.push_str(&format!(" {cell:>10}"));
            }
            text.push('\n');
        }
        text.push_str(&self.simulated_text());
        if let Some(bottleneck) = self.workload.bottleneck() {
            let name = &self.workload.stations[bottleneck].name;
            let users = count_text(self.workload.saturation_users(), "user");
            text.push_str(&format!("\nBottleneck: {name}, from {users}\n"));
        }
        text.push_str(&self.headroom.text("Users"));
        text.push_str(&self.advice);
        text.push_str(&self.basis.text());
        text.push_str("Percentiles: gamma distribution of mean and variance; residence times taken as independent\n");
        text
    }

    /// Formats the simulated rows, each mean with half of its 95 % interval.
    fn simulated_text(&self) -> String {
        let Some(first) = self.simulated.first() else { return String::new() };
        let mut text = format!(
            "\nSimulated, {} transactions each; ± is half of the 95 % interval\n{:>8} {:>19} {:>20} {:>10} {:>10}",
            first.transactions, "users", "tx/s", "response", "p95", "p99"
        );
        for station in &self.workload.stations {
            text.push_str(&format!(" {:>10}", station.name));
        }
        text.push('\n');
        for (row, found) in self.rows.iter().zip(self.simulated) {
            let class = &found.classes[0];
            let percentile = |share| class.percentile(Share(share)).map_or_else(|| "none".to_owned(), time_text);
            text.push_str(&format!(
                "{:>8} {:>10.2} ± {:>6.2} {:>9} ± {:>8} {:>10} {:>10}",
                row.value.users,
                class.throughput.mean,
                class.throughput.half_width,
                time_text(Seconds(class.response.mean)),
                time_text(Seconds(class.response.half_width)),
                percentile(0.95),
                percentile(0.99)
            ));
            for (station, found) in self.workload.stations.iter().zip(&found.stations) {
                let cell = match station.servers {
                    Servers::Delay => format!("{:.2}", found.utilization.mean),
                    _ => format!("{:.1} %", found.utilization.mean * 100.0),
                };
                text.push_str(&format!(" {cell:>10}"));
            }
            text.push('\n');
            for (station, found) in self.workload.stations.iter().zip(&found.stations) {
                if found.blocked.mean > 0.0 {
                    let share = found.blocked.mean * 100.0;
                    text.push_str(&format!("{:>8} {} is blocked for {share:.1} % of the time\n", "", station.name));
                }
            }
        }
        text
    }

    fn wire(&self) -> Wire<'_> {
        let row = |row: &Estimate<Prediction>| {
            let Prediction { users, throughput, response, percentiles, utilization, .. } = &row.value;
            RowWire {
                users: *users,
                throughput: throughput.0,
                response_s: response.0,
                p50_s: percentiles[0].0,
                p95_s: percentiles[1].0,
                p99_s: percentiles[2].0,
                utilization: utilization.iter().map(|share| share.0).collect(),
                method: row.method.name(),
                passes: row.passes,
                validity: row.validity.to_string(),
            }
        };
        Wire {
            schema: "quayline.prediction/1",
            think_s: self.workload.think.0,
            stations: self.workload.stations.iter().map(|station| station.name.as_str()).collect(),
            predictions: self.rows.iter().map(row).collect(),
            simulated: self.rows.iter().zip(self.simulated).map(SimulatedWire::of).collect(),
            bottleneck: self.workload.bottleneck().map(|k| self.workload.stations[k].name.as_str()),
            saturation_users: Some(self.workload.saturation_users()).filter(|users| users.is_finite()),
            users_max: self.headroom.most,
            exhausted_months: self.headroom.months(),
            exhausted: self.headroom.date(),
            basis: &self.basis,
        }
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    think_s: f64,
    stations: Vec<&'a str>,
    predictions: Vec<RowWire>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    simulated: Vec<SimulatedWire>,
    bottleneck: Option<&'a str>,
    saturation_users: Option<f64>,
    users_max: u32,
    exhausted_months: Option<f64>,
    exhausted: Option<String>,
    basis: &'a BasisWire,
}

#[derive(Serialize)]
struct RowWire {
    users: u32,
    throughput: f64,
    response_s: f64,
    p50_s: f64,
    p95_s: f64,
    p99_s: f64,
    utilization: Vec<f64>,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    passes: Option<usize>,
    validity: String,
}

#[derive(Serialize)]
struct SimulatedWire {
    users: u32,
    transactions: u64,
    throughput: f64,
    throughput_half_width: f64,
    response_s: f64,
    response_half_width_s: f64,
    p50_s: Option<f64>,
    p95_s: Option<f64>,
    p99_s: Option<f64>,
    utilization: Vec<f64>,
    blocked: Vec<f64>,
}

impl SimulatedWire {
    fn of((row, found): (&Estimate<Prediction>, &SimulationOutcome)) -> SimulatedWire {
        let class = &found.classes[0];
        let percentile = |share| class.percentile(Share(share)).map(|time| time.0);
        SimulatedWire {
            users: row.value.users,
            transactions: found.transactions,
            throughput: class.throughput.mean,
            throughput_half_width: class.throughput.half_width,
            response_s: class.response.mean,
            response_half_width_s: class.response.half_width,
            p50_s: percentile(0.5),
            p95_s: percentile(0.95),
            p99_s: percentile(0.99),
            utilization: found.stations.iter().map(|station| station.utilization.mean).collect(),
            blocked: found.stations.iter().map(|station| station.blocked.mean).collect(),
        }
    }
}
