//! The self-test: published answers and other solvers' answers, computed again by this build.

mod choices;
mod derived;
mod figure;
mod network_case;
mod networks;
mod oracles;
mod planning;
mod planning_inputs;
mod ratios;
mod series;
mod stations;

pub use figure::{Kind, Outcome};

use crate::fit::{LoadPoint, UslFit, fit_usl};
use crate::laws;
use crate::{
    BlockingNetwork, ManyServers, ModelError, PerSecond, Seconds, erlang_b, erlang_c, limited_queue,
    single_server_general,
};

/// A network with bounded queues and the residence times of a visit.
struct BlockingCase {
    service: &'static [f64],
    capacity: &'static [u32],
    routing: &'static [&'static [f64]],
    customers: u32,
    residence: &'static [f64],
    queue: &'static [f64],
    throughput: &'static [f64],
    /// Residence times as printed.
    printed: &'static [f64],
}

/// A series and its coefficients.
struct ScalabilityCase {
    name: &'static str,
    source: &'static str,
    points: &'static [(f64, f64)],
    gamma: f64,
    alpha: f64,
    beta: f64,
    peak: f64,
    peak_throughput: f64,
    limit: f64,
    explained: f64,
}

/// Computes every figure of the self-test.
#[must_use]
pub fn run() -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for case in networks::NETWORKS {
        case.figures(&mut outcomes);
    }
    station_figures(&mut outcomes);
    for case in series::BLOCKING {
        blocking_figures(case, &mut outcomes);
    }
    for case in series::SCALABILITY {
        scalability_figures(case, &mut outcomes);
    }
    let figures = planning::FIGURES.iter().chain(derived::FIGURES).chain(ratios::FIGURES).chain(oracles::FIGURES);
    let figures = figures.chain(choices::FIGURES);
    outcomes.extend(figures.map(figure::Figure::run));
    outcomes
}

fn station_figures(outcomes: &mut Vec<Outcome>) {
    let source = "Kleinrock 1975, ch. 3 and 5; octave-queueing 1.2.7";
    // The first columns name a row.
    let mut add = |group, row: &[f64], pairs: Result<Vec<(f64, f64)>, ModelError>| {
        let name = row.iter().map(|value| format!("{value}")).collect::<Vec<_>>().join(", ");
        outcomes.push(Outcome::worst(group, &name, source, Kind::OtherSolver, 1e-9, pairs));
    };
    for row in stations::ERLANG {
        let [servers, load, b, c] = *row;
        let servers = servers_of(servers);
        let offered = load * f64::from(servers);
        let pairs = erlang_b(servers, offered)
            .and_then(|found_b| Ok(vec![(found_b.value.0, b), (erlang_c(servers, offered)?.value.0, c)]));
        add("Erlang", &row[..2], pairs);
    }
    for row in stations::MANY_SERVERS {
        let [servers, load, utilization, response, present, throughput, empty, waiting] = *row;
        let station = ManyServers::new(servers_of(servers), PerSecond(load * servers), Seconds(1.0));
        let pairs = station.map(|station| {
            vec![
                (station.utilization().0, utilization),
                (station.response().value.0, response),
                (station.present(), present),
                (station.utilization().0 * servers, throughput),
                (station.empty().0, empty),
                (station.waiting().0, waiting),
            ]
        });
        add("M/M/m", &row[..2], pairs);
    }
    for row in stations::GENERAL {
        let [load, variation, utilization, response, present, throughput] = *row;
        let rate = PerSecond(load);
        let pairs = single_server_general(rate, Seconds(1.0), variation).and_then(|found| {
            let busy = laws::utilization(rate, Seconds(1.0), 1)?.value.0;
            let inside = laws::little(rate, found.value)?.value;
            Ok(vec![(found.value.0, response), (inside, present), (busy, utilization), (rate.0, throughput)])
        });
        add("M/G/1", &row[..2], pairs);
    }
    for row in stations::LIMITED {
        let [servers, room, load, utilization, response, present, throughput, empty, full] = *row;
        let station = limited_queue(servers_of(servers), servers_of(room), PerSecond(load * servers), Seconds(1.0));
        let pairs = station.map(|station| {
            let station = station.value;
            vec![
                (station.utilization.0, utilization),
                (station.response.0, response),
                (station.present, present),
                (station.throughput.0, throughput),
                (station.empty.0, empty),
                (station.full.0, full),
            ]
        });
        add("M/M/m/K", &row[..3], pairs);
    }
}

fn servers_of(value: f64) -> u32 {
    u32::try_from(crate::quantity::count_down(value)).unwrap_or(u32::MAX)
}

fn blocking_figures(case: &BlockingCase, outcomes: &mut Vec<Outcome>) {
    let source = "Akyildiz 1988, pp. 422 to 424";
    let network = BlockingNetwork {
        service: case.service.iter().copied().map(Seconds).collect(),
        capacity: case.capacity.to_vec(),
        routing: case.routing.iter().map(|row| row.to_vec()).collect(),
        customers: case.customers,
    };
    let solved = network.solve().map(|solved| solved.value);
    let name = format!("{} customers, {:?} places", case.customers, case.capacity);
    let pairs = solved.clone().map(|solved| {
        let residence = solved.residence.iter().map(|time| time.0).zip(case.residence.iter().copied());
        let queue = solved.queue.iter().copied().zip(case.queue.iter().copied());
        let throughput = solved.throughput.iter().map(|rate| rate.0).zip(case.throughput.iter().copied());
        residence.chain(queue).chain(throughput).collect()
    });
    outcomes.push(Outcome::worst("blocking", &name, source, Kind::OtherSolver, 1e-9, pairs));
    for (station, printed) in case.printed.iter().enumerate() {
        let name = format!("{name}, station {}", station + 1);
        let found = solved.clone().map(|solved| solved.residence[station].0);
        // The source cuts digits off instead of rounding.
        let digits = if case.customers == 27 { 0.01 } else { 0.001 };
        outcomes.push(Outcome::of("blocking", name, source, Kind::Published, *printed, digits, found));
    }
}

fn scalability_figures(case: &ScalabilityCase, outcomes: &mut Vec<Outcome>) {
    let points: Vec<LoadPoint> =
        case.points.iter().map(|(load, throughput)| LoadPoint { load: *load, throughput: *throughput }).collect();
    let fit = fit_usl(&points).map(|fit| fit.value);
    let mut add = |name: String, relative, pairs: Result<Vec<(f64, f64)>, ModelError>| {
        outcomes.push(Outcome::worst("scalability", &name, case.source, Kind::OtherSolver, relative, pairs));
    };
    let coefficients = |fit: UslFit| vec![(fit.gamma, case.gamma), (fit.alpha, case.alpha), (fit.beta, case.beta)];
    add(case.name.to_owned(), 1e-5, fit.clone().map(coefficients));
    // The second solver stops at a larger residual.
    let peak = |fit: UslFit| {
        let [load, throughput] = [fit.peak_load(), fit.peak_throughput().map(|rate| rate.0)];
        let limit = fit.limit().map(|rate| rate.0);
        let or_none = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let at_peak = [(or_none(load), case.peak), (or_none(throughput), case.peak_throughput)];
        at_peak.into_iter().chain([(or_none(limit), case.limit), (fit.r_squared, case.explained)]).collect()
    };
    add(format!("{}, peak and limit", case.name), 1e-5, fit.map(peak));
}
