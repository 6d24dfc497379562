//! The self-test: published answers and other solvers' answers, computed again by this build.

mod derived;
mod figure;
mod networks;
mod planning;
mod planning_inputs;
mod ratios;
mod series;
mod stations;

pub use figure::{Kind, Outcome};

use crate::fit::{LoadPoint, fit_usl};
use crate::{
    BlockingNetwork, Class, ManyServers, ModelError, Network, Passes, PerSecond, Seconds, Servers, Station, erlang_b,
    erlang_c, limited_queue, single_server_general,
};

/// A network and its answers.
struct NetworkCase {
    name: &'static str,
    source: &'static str,
    published: bool,
    demands: &'static [&'static [f64]],
    servers: &'static [u32],
    population: &'static [Option<u32>],
    think: &'static [f64],
    arrivals: &'static [f64],
    throughput: &'static [f64],
    response: &'static [f64],
    schweitzer: &'static [f64],
    linearizer: &'static [f64],
}

/// A network with bounded queues and the residence times of a visit.
struct BlockingCase {
    service: &'static [f64],
    capacity: &'static [u32],
    routing: &'static [&'static [f64]],
    customers: u32,
    residence: &'static [f64],
}

/// A series and its coefficients.
struct ScalabilityCase {
    name: &'static str,
    source: &'static str,
    points: &'static [(f64, f64)],
    gamma: f64,
    alpha: f64,
    beta: f64,
}

/// Computes every figure of the self-test.
#[must_use]
pub fn run() -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for case in networks::NETWORKS {
        network_figures(case, &mut outcomes);
    }
    station_figures(&mut outcomes);
    for case in series::BLOCKING {
        outcomes.push(blocking_figure(case));
    }
    for case in series::SCALABILITY {
        outcomes.push(scalability_figure(case));
    }
    outcomes.extend(planning::FIGURES.iter().chain(derived::FIGURES).chain(ratios::FIGURES).map(figure::Figure::run));
    outcomes
}

impl NetworkCase {
    fn network(&self) -> Result<Network, ModelError> {
        let stations = self.demands.iter().zip(self.servers).zip(1_u32..).map(|((demands, servers), number)| Station {
            name: format!("station {number}"),
            servers: if *servers == 0 { Servers::Delay } else { Servers::Count(*servers) },
            demands: demands.iter().copied().map(Seconds).collect(),
        });
        let classes =
            self.population.iter().zip(self.think).zip(self.arrivals).map(
                |((population, think), rate)| match population {
                    Some(population) => Class::Closed { population: *population, think: Seconds(*think) },
                    None => Class::Open { arrivals: PerSecond(*rate) },
                },
            );
        Network::new(stations.collect(), classes.collect())
    }
}

fn network_figures(case: &NetworkCase, outcomes: &mut Vec<Outcome>) {
    let kind = if case.published { Kind::Published } else { Kind::OtherSolver };
    let many = case.servers.iter().any(|servers| *servers > 1);
    let exact = || -> Result<Vec<(f64, f64)>, ModelError> {
        let solved = case.network()?.solve()?.value;
        let throughput = solved.throughput.iter().map(|rate| rate.0).zip(case.throughput.iter().copied());
        let response =
            (0..case.response.len()).map(|class| solved.response(class).0).zip(case.response.iter().copied());
        Ok(throughput.chain(response).collect())
    };
    let tolerance = if many { 1e-8 } else { 1e-9 };
    outcomes.push(Outcome::worst("network", case.name, case.source, kind, tolerance, exact()));
    let approximate = |expected: &'static [f64], solved: Result<crate::Estimate<crate::Solution>, ModelError>| {
        solved.map(|solved| solved.value.throughput.iter().map(|rate| rate.0).zip(expected.iter().copied()).collect())
    };
    if !case.schweitzer.is_empty() {
        let solved = case.network().and_then(|network| network.solve_schweitzer());
        let pairs = approximate(case.schweitzer, solved);
        outcomes.push(Outcome::worst("Schweitzer", case.name, case.source, Kind::OtherSolver, 1e-8, pairs));
    }
    if !case.linearizer.is_empty() {
        let solved = case.network().and_then(|network| network.solve_linearizer(Passes::Converged));
        let pairs = approximate(case.linearizer, solved);
        outcomes.push(Outcome::worst("Linearizer", case.name, case.source, Kind::OtherSolver, 1e-8, pairs));
    }
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
        let [servers, load, response, empty, waiting] = *row;
        let station = ManyServers::new(servers_of(servers), PerSecond(load * servers), Seconds(1.0));
        let pairs = station.map(|station| {
            vec![(station.response().value.0, response), (station.empty().0, empty), (station.waiting().0, waiting)]
        });
        add("M/M/m", &row[..2], pairs);
    }
    for row in stations::GENERAL {
        let [load, variation, response] = *row;
        let pairs = single_server_general(PerSecond(load), Seconds(1.0), variation);
        add("M/G/1", &row[..2], pairs.map(|found| vec![(found.value.0, response)]));
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

fn blocking_figure(case: &BlockingCase) -> Outcome {
    let network = BlockingNetwork {
        service: case.service.iter().copied().map(Seconds).collect(),
        capacity: case.capacity.to_vec(),
        routing: case.routing.iter().map(|row| row.to_vec()).collect(),
        customers: case.customers,
    };
    let pairs = network
        .solve()
        .map(|solved| solved.value.residence.iter().map(|time| time.0).zip(case.residence.iter().copied()).collect());
    let name = format!("{} customers, {:?} places", case.customers, case.capacity);
    Outcome::worst("blocking", &name, "Akyildiz 1988, pp. 422 to 424", Kind::Published, 1e-9, pairs)
}

fn scalability_figure(case: &ScalabilityCase) -> Outcome {
    let points: Vec<LoadPoint> =
        case.points.iter().map(|(load, throughput)| LoadPoint { load: *load, throughput: *throughput }).collect();
    let pairs = fit_usl(&points)
        .map(|fit| vec![(fit.value.gamma, case.gamma), (fit.value.alpha, case.alpha), (fit.value.beta, case.beta)]);
    Outcome::worst("scalability", case.name, case.source, Kind::OtherSolver, 1e-5, pairs)
}
