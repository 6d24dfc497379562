//! A network with its answers, and the figures that the self-test derives from them.

use super::figure::{Kind, Outcome};
use crate::{
    Bounds, Class, Estimate, ModelError, Network, Passes, PerSecond, Seconds, Servers, Solution, Station,
    asymptotic_bounds, balanced_bounds, proportional_bounds,
};

/// A network and its answers.
pub(super) struct NetworkCase {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) published: bool,
    pub(super) demands: &'static [&'static [f64]],
    pub(super) servers: &'static [u32],
    pub(super) population: &'static [Option<u32>],
    pub(super) think: &'static [f64],
    pub(super) arrivals: &'static [f64],
    pub(super) throughput: &'static [f64],
    pub(super) response: &'static [f64],
    /// Residence time, all visits together.
    pub(super) residence: &'static [&'static [f64]],
    /// Mean number present.
    pub(super) queue: &'static [&'static [f64]],
    pub(super) approximations: Option<Approximations>,
    pub(super) bounds: Option<CaseBounds>,
    /// Figures of the exact solution as the source prints them.
    pub(super) prints: &'static [Print],
}

/// Throughput by class: Schweitzer's approximation, and the Linearizer after two (JMT), three (Chandy and Neuse) and four passes (LINE), and
/// converged.
pub(super) struct Approximations {
    pub(super) schweitzer: &'static [f64],
    pub(super) two: &'static [f64],
    pub(super) three: &'static [f64],
    pub(super) four: &'static [f64],
    /// Relative tolerance of four passes. In one case LINE's figure is further from all the others than these are from each other.
    pub(super) four_within: f64,
    pub(super) converged: &'static [f64],
}

/// Least and most throughput, then least and most response time. Proportional bounds have no think time and bound the throughput.
pub(super) struct CaseBounds {
    pub(super) asymptotic: [f64; 4],
    pub(super) balanced: [f64; 4],
    pub(super) proportional: Option<[f64; 2]>,
}

/// A printed figure.
pub(super) struct Print {
    name: &'static str,
    expected: f64,
    /// Half a unit of the last printed digit.
    half: f64,
    of: fn(&Solution) -> f64,
}

pub(super) const fn print(name: &'static str, expected: f64, half: f64, of: fn(&Solution) -> f64) -> Print {
    Print { name, expected, half, of }
}

/// Computed and expected figures.
type Pairs = Result<Vec<(f64, f64)>, ModelError>;

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

    /// Adds the figures of the case.
    pub(super) fn figures(&self, outcomes: &mut Vec<Outcome>) {
        let solved = self.network().and_then(|network| network.solve()).map(|solved| solved.value);
        self.exact_figures(&solved, outcomes);
        for figure in self.prints {
            let name = format!("{}: {}", self.name, figure.name);
            let found = solved.as_ref().map(figure.of).map_err(Clone::clone);
            outcomes.push(Outcome::of(
                "printed",
                name,
                self.source,
                Kind::Published,
                figure.expected,
                figure.half,
                found,
            ));
        }
        if let Some(answers) = &self.approximations {
            self.approximate_figures(answers, outcomes);
        }
        if let Some(bounds) = &self.bounds {
            self.bound_figures(bounds, outcomes);
        }
    }

    fn exact_figures(&self, solved: &Result<Solution, ModelError>, outcomes: &mut Vec<Outcome>) {
        let kind = if self.published { Kind::Published } else { Kind::OtherSolver };
        let tolerance = if self.servers.iter().any(|servers| *servers > 1) { 1e-8 } else { 1e-9 };
        let mut add = |group, kind, pairs: Pairs| {
            outcomes.push(Outcome::worst(group, self.name, self.source, kind, tolerance, pairs));
        };
        let of = |pairs: fn(&NetworkCase, &Solution) -> Vec<(f64, f64)>| -> Pairs {
            solved.as_ref().map(|solved| pairs(self, solved)).map_err(Clone::clone)
        };
        add(
            "network",
            kind,
            of(|case, solved| {
                let throughput = solved.throughput.iter().map(|rate| rate.0).zip(case.throughput.iter().copied());
                let response = (0..case.response.len()).map(|class| solved.response(class).0);
                throughput.chain(response.zip(case.response.iter().copied())).collect()
            }),
        );
        add(
            "residence",
            Kind::OtherSolver,
            of(|case, solved| {
                let rows = solved.residence.iter().zip(case.residence);
                rows.flat_map(|(found, row)| found.iter().map(|time| time.0).zip(row.iter().copied())).collect()
            }),
        );
        add(
            "queue",
            Kind::OtherSolver,
            of(|case, solved| {
                let rows = solved.queue.iter().zip(case.queue);
                rows.flat_map(|(found, row)| found.iter().copied().zip(row.iter().copied())).collect()
            }),
        );
    }

    fn approximate_figures(&self, answers: &Approximations, outcomes: &mut Vec<Outcome>) {
        let mut add =
            |group, name: &str, expected: &[f64], within: f64, solved: Result<Estimate<Solution>, ModelError>| {
                let pairs = solved.map(|solved| {
                    let found = solved.value.throughput.iter().map(|rate| rate.0);
                    found.zip(expected.iter().copied()).collect()
                });
                outcomes.push(Outcome::worst(group, name, self.source, Kind::OtherSolver, within, pairs));
            };
        let network = self.network();
        let with = |passes| network.clone().and_then(|network| network.solve_linearizer(passes));
        let schweitzer = network.clone().and_then(|network| network.solve_schweitzer());
        add("Schweitzer", self.name, answers.schweitzer, 1e-8, schweitzer);
        let fixed = [(2, answers.two, 1e-8), (3, answers.three, 1e-8), (4, answers.four, answers.four_within)];
        for (passes, expected, within) in fixed {
            add(
                "Linearizer",
                &format!("{}, {passes} passes", self.name),
                expected,
                within,
                with(Passes::Fixed(passes)),
            );
        }
        add("Linearizer", self.name, answers.converged, 1e-8, with(Passes::Converged));
    }

    fn bound_figures(&self, expected: &CaseBounds, outcomes: &mut Vec<Outcome>) {
        let demands: Vec<Seconds> = self.demands.iter().map(|row| Seconds(row[0])).collect();
        let customers = self.population[0].unwrap_or(0);
        let think = Seconds(self.think[0]);
        let mut add = |name: &str, found: Result<Estimate<Bounds>, ModelError>, expected: &[f64]| {
            let pairs = found.map(|found| {
                let of = found.value;
                let throughput = [of.throughput_least.0, of.throughput_most.0];
                let response = [of.response_least.0, of.response_most.0];
                throughput.into_iter().chain(response).zip(expected.iter().copied()).collect()
            });
            let name = format!("{}, {name}", self.name);
            outcomes.push(Outcome::worst("bounds", &name, self.source, Kind::OtherSolver, 1e-9, pairs));
        };
        add("asymptotic", asymptotic_bounds(&demands, self.servers, customers, think), &expected.asymptotic);
        add("balanced", balanced_bounds(&demands, customers, think), &expected.balanced);
        if let Some(proportional) = &expected.proportional {
            add("proportional", proportional_bounds(&demands, customers), proportional);
        }
    }
}
