//! Queueing networks: stations, classes, and the choice of a solver.

mod blocking;
mod bounds;
mod convolution;
mod lattice;
mod linearizer;
mod mva;
mod open;
mod solution;
mod weights;

pub use blocking::{BlockingNetwork, BlockingSolution};
pub use bounds::{Bounds, asymptotic_bounds, balanced_bounds, proportional_bounds};
pub use linearizer::Passes;
pub use solution::Solution;

use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, PerSecond, Seconds, Validity};

/// States up to which the exact recursion of Reiser and Lavenberg is used.
pub const EXACT_STATES_MAX: usize = 5_000_000;
/// Numbers that the exact recursion may keep at a time, 8 bytes each: 128 MiB.
pub const EXACT_CELLS_MAX: usize = 1 << 24;
/// Terms up to which the convolution is used: about two seconds of one core.
pub const CONVOLUTION_TERMS_MAX: usize = 200_000_000;

/// Service rate of a station by the number of customers present.
#[derive(Clone, Debug, PartialEq)]
pub enum Servers {
    /// A delay without a queue: think time, a sleep, a fixed latency.
    Delay,
    /// This many identical servers, at least 1.
    Count(u32),
    /// Service rate with 1, 2, … customers, relative to one customer alone; the last value holds for more. The rate with one customer is the
    /// unit of the demand, so the first value is 1 for a demand that was measured alone.
    Rates(Vec<f64>),
}

impl Servers {
    /// Returns the service rate with `customers` present, relative to one server.
    #[must_use]
    pub fn rate(&self, customers: usize) -> f64 {
        match self {
            Servers::Delay => count(customers),
            Servers::Count(servers) => count(customers.min(*servers as usize)),
            Servers::Rates(rates) => {
                let at = customers.clamp(1, rates.len().max(1)) - 1;
                rates.get(at).copied().unwrap_or(1.0)
            }
        }
    }

    /// Returns the rate under full load; infinite for a delay.
    #[must_use]
    pub fn full_rate(&self) -> f64 {
        match self {
            Servers::Delay => f64::INFINITY,
            Servers::Count(servers) => f64::from(*servers),
            Servers::Rates(rates) => rates.last().copied().unwrap_or(1.0),
        }
    }

    /// Returns true if this is one server of constant speed.
    fn is_single(&self) -> bool {
        matches!(self, Servers::Count(1))
    }
}

/// Converts a number of customers to the number type of the solvers.
pub(crate) fn count(customers: usize) -> f64 {
    customers as f64
}

/// A place where work is done or time passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Name, for people.
    pub name: String,
    /// Speed by number of customers.
    pub servers: Servers,
    /// Service demand of a transaction at this station, all visits together, by class.
    pub demands: Vec<Seconds>,
}

impl Station {
    /// Creates a station with `servers` identical servers.
    #[must_use]
    pub fn queue(name: &str, servers: u32, demands: &[Seconds]) -> Station {
        Station { name: name.to_owned(), servers: Servers::Count(servers), demands: demands.to_vec() }
    }

    /// Creates a station without a queue.
    #[must_use]
    pub fn delay(name: &str, demands: &[Seconds]) -> Station {
        Station { name: name.to_owned(), servers: Servers::Delay, demands: demands.to_vec() }
    }
}

/// Arrivals of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Class {
    /// A fixed number of customers, each of which thinks between two transactions.
    Closed {
        /// Customers.
        population: u32,
        /// Mean think time.
        think: Seconds,
    },
    /// Transactions arrive independently of the system's state.
    Open {
        /// Mean rate.
        arrivals: PerSecond,
    },
}

/// A network of stations and classes of which every number was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    stations: Vec<Station>,
    classes: Vec<Class>,
}

/// Known accuracy of the calibrated Linearizer.
const CALIBRATED: &str = "several servers are calibrated: within 5 % of the exact solution in tests with two classes";
/// Known accuracy of the Linearizer with Seidmann's approximation.
const SEIDMANN: &str = "several servers are approximated: throughput is up to 21 % low where the customers just saturate them, up to 6 % at half or twice as many";

/// Creates the estimate of an approximation with its number of passes.
fn approximate(method: Method, text: &'static str, solution: Solution) -> Estimate<Solution> {
    Estimate { passes: solution.passes, ..Estimate::new(method, Validity::Approximate(text), solution) }
}

impl Network {
    /// Checks and keeps stations and classes.
    ///
    /// # Errors
    /// [`ModelError::WrongLength`] where a station has not one demand for each class, [`ModelError::OutOfRange`] and
    /// [`ModelError::NotFinite`] for numbers without a meaning, [`ModelError::NoDemand`] for a closed class that takes no time.
    pub fn new(stations: Vec<Station>, classes: Vec<Class>) -> Result<Network, ModelError> {
        for station in &stations {
            if station.demands.len() != classes.len() {
                let found = station.demands.len();
                return Err(ModelError::WrongLength { what: "demands of a station", expected: classes.len(), found });
            }
            for demand in &station.demands {
                not_negative("demand", demand.0)?;
            }
            match &station.servers {
                Servers::Delay => {}
                Servers::Count(servers) => {
                    positive("number of servers", f64::from(*servers))?;
                }
                Servers::Rates(rates) => {
                    if rates.is_empty() {
                        return Err(ModelError::WrongLength { what: "service rates", expected: 1, found: 0 });
                    }
                    for rate in rates {
                        positive("service rate", *rate)?;
                    }
                }
            }
        }
        for (index, class) in classes.iter().enumerate() {
            let (time, endless) = match class {
                Class::Closed { think, population } => (not_negative("think time", think.0)?, *population > 0),
                Class::Open { arrivals } => (not_negative("arrival rate", arrivals.0)?, false),
            };
            if endless && time + stations.iter().map(|station| station.demands[index].0).sum::<f64>() <= 0.0 {
                return Err(ModelError::NoDemand { class: index });
            }
        }
        let network = Network { stations, classes };
        network.check_saturation()?;
        Ok(network)
    }

    /// Returns the stations.
    #[must_use]
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// Returns the classes.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Returns the utilization of a station by open classes alone, per server.
    pub(crate) fn open_load(&self, station: &Station) -> f64 {
        let busy = self.classes.iter().zip(&station.demands).map(|(class, demand)| match class {
            Class::Open { arrivals } => arrivals.0 * demand.0,
            Class::Closed { .. } => 0.0,
        });
        busy.sum::<f64>() / station.servers.full_rate()
    }

    fn check_saturation(&self) -> Result<(), ModelError> {
        for station in &self.stations {
            let utilization = self.open_load(station);
            if utilization >= 1.0 {
                return Err(ModelError::Saturated { station: station.name.clone(), utilization });
            }
        }
        Ok(())
    }

    /// Indices of the closed classes that have customers.
    pub(crate) fn closed(&self) -> Vec<usize> {
        let classes = self.classes.iter().enumerate();
        classes
            .filter(|(_, class)| matches!(class, Class::Closed { population, .. } if *population > 0))
            .map(|(i, _)| i)
            .collect()
    }

    /// Customers of a closed class.
    pub(crate) fn population(&self, class: usize) -> u32 {
        match self.classes[class] {
            Class::Closed { population, .. } => population,
            Class::Open { .. } => 0,
        }
    }

    /// Returns the think time of a closed class.
    pub(crate) fn think(&self, class: usize) -> f64 {
        match self.classes[class] {
            Class::Closed { think, .. } => think.0,
            Class::Open { .. } => 0.0,
        }
    }

    pub(crate) fn has_open(&self) -> bool {
        self.classes.iter().any(|class| matches!(class, Class::Open { arrivals } if arrivals.0 > 0.0))
    }

    fn has_many_servers(&self) -> bool {
        self.stations.iter().any(|station| !matches!(station.servers, Servers::Delay) && !station.servers.is_single())
    }

    /// Solves by the best method that its limits allow: exact mean value analysis, convolution where a station has several servers, otherwise
    /// the Linearizer, calibrated for several servers. The result names the method.
    ///
    /// # Errors
    /// [`ModelError::NoConvergence`] where the Linearizer does not settle.
    pub fn solve(&self) -> Result<Estimate<Solution>, ModelError> {
        if self.closed().is_empty() {
            return Ok(self.solve_open());
        }
        let exact = if self.has_many_servers() { self.solve_convolution() } else { self.solve_exact_mva() };
        match exact {
            Err(ModelError::TooLarge { .. }) if self.has_many_servers() => {
                // Two stations that saturate together may not settle; then the plain approximation is close.
                self.solve_calibrated().or_else(|_| self.solve_linearizer(Passes::Converged))
            }
            Err(ModelError::TooLarge { .. }) => self.solve_linearizer(Passes::Converged),
            other => other,
        }
    }

    /// Solves closed and mixed networks of single servers and delays by the recursion of Reiser and Lavenberg.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`] above [`EXACT_STATES_MAX`] states, [`ModelError::NotCovered`] for stations of several servers.
    pub fn solve_exact_mva(&self) -> Result<Estimate<Solution>, ModelError> {
        if self.has_many_servers() {
            return Err(ModelError::NotCovered { method: "exact mean value analysis", what: "several servers" });
        }
        let method = if self.has_open() { Method::MixedMva } else { Method::ExactMva };
        Ok(Estimate::exact(method, mva::solve(self)?))
    }

    /// Solves closed and mixed networks with any servers by convolution in logarithms, which adds positive terms only, so no digit is
    /// lost to cancellation.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`] above [`CONVOLUTION_TERMS_MAX`] terms.
    pub fn solve_convolution(&self) -> Result<Estimate<Solution>, ModelError> {
        let method = if self.has_open() { Method::MixedConvolution } else { Method::Convolution };
        Ok(Estimate::exact(method, convolution::solve(self)?))
    }

    /// Solves by Schweitzer's approximation, iterated to a fixed point of 1e-12.
    ///
    /// # Errors
    /// [`ModelError::NoConvergence`] where the iteration does not settle.
    pub fn solve_schweitzer(&self) -> Result<Estimate<Solution>, ModelError> {
        let solution = linearizer::solve(self, Passes::Fixed(1))?;
        let text = "throughput of small classes is up to 7 % low; use the Linearizer or an exact solver for these";
        Ok(approximate(Method::Schweitzer, text, solution))
    }

    /// Solves with the Linearizer and the given passes; the solution has the number of passes made.
    ///
    /// # Errors
    /// [`ModelError::NoConvergence`] if an iteration does not converge.
    pub fn solve_linearizer(&self, passes: Passes) -> Result<Estimate<Solution>, ModelError> {
        let solution = linearizer::solve(self, passes)?;
        let (method, text) = if self.has_many_servers() {
            (Method::SeidmannLinearizer, SEIDMANN)
        } else if self.has_open() {
            (Method::MixedLinearizer, "usually within 1 % of the exact solution")
        } else {
            (Method::Linearizer, "usually within 1 % of the exact solution")
        };
        Ok(approximate(method, text, solution))
    }

    /// Solves by the Linearizer, with each station of several servers calibrated by the exact solution of all classes as one.
    ///
    /// # Errors
    /// [`ModelError::NoConvergence`] where an iteration does not settle, [`ModelError::TooLarge`] if even one class is too large.
    pub fn solve_calibrated(&self) -> Result<Estimate<Solution>, ModelError> {
        let solution = linearizer::calibrated(self)?;
        Ok(approximate(Method::CalibratedLinearizer, CALIBRATED, solution))
    }

    fn solve_open(&self) -> Estimate<Solution> {
        Estimate::exact(Method::OpenNetwork, open::solve(self))
    }
}
