//! A discrete-event simulation: an independent check of the solvers, and the method for cases that no solver covers.
//!
//! Solvers assume product form, and their percentiles assume independent, exponential residence times. The simulation assumes neither. It
//! moves single customers through [`SimulatedStation`]s that share their servers, serve in order or serve by priority. Stations can have
//! bounded room (a customer whose next station is full keeps its server), and a [`Spread`] gives the variation of times. A [`Regulation`]
//! moves a class through the bands of [`crate::plan::BandRegulator`] while it exceeds its share.
//!
//! The outcome is a pure function of the [`Simulation`] and its seed: the same seed gives the same outcome on every machine. Means have
//! 95 % intervals from [`BATCHES`] batch means after a warm-up, so an outcome includes its own error estimate. Work and memory are bounded:
//! [`TRANSACTIONS_MAX`] transactions, [`EVENTS_MAX`] events, and one number for each measured transaction.

mod engine;
mod floor;
mod outcome;
mod random;

pub use outcome::{ClassOutcome, Sampled, SimulationOutcome, StationOutcome};
pub use random::{Spread, Variation};

use crate::error::{not_negative, positive, within};
use crate::plan::Band;
use crate::{Estimate, Method, ModelError, Seconds, Servers, Share, Station, Validity};

/// Batches that the measured transactions are divided into.
pub const BATCHES: usize = 20;
/// Most transactions of a run.
pub const TRANSACTIONS_MAX: u64 = 5_000_000;
/// Most events of a run: about ten seconds of one core.
pub const EVENTS_MAX: u64 = 100_000_000;

/// The order in which a station serves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Discipline {
    /// All customers share the servers (PS).
    Shared,
    /// Service in order of arrival (FCFS).
    InOrder,
    /// Service by the band of the class, then in order of arrival; service that has begun ends first.
    Priority,
    /// Service by the band of the class. A customer of a better band interrupts one of a worse band, which resumes later.
    PriorityInterrupts,
}

/// A station of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedStation {
    /// Name, for people.
    pub name: String,
    /// Identical servers; none is a delay without a queue.
    pub servers: Option<u32>,
    /// Order of service.
    pub discipline: Discipline,
    /// Customers that fit, those in service included.
    pub room: Option<u32>,
}

/// Source of the customers of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A fixed number, each of which thinks between two transactions.
    Closed {
        /// Customers.
        population: u32,
        /// Think time.
        think: Spread,
    },
    /// Customers that arrive from outside and leave.
    Open {
        /// Time between two arrivals.
        gap: Spread,
    },
}

/// A class of customers.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedClass {
    /// Source of its customers.
    pub source: Source,
    /// Priority number, 10 (highest) to 89; only its band counts.
    pub priority: u8,
    /// Station at which a transaction begins.
    pub entry: usize,
    /// Time of service of one visit, by station.
    pub service: Vec<Spread>,
    /// Probability of visiting a station next, `[from][to]`. The remainder to 1 is the probability that the transaction ends. If all rows sum
    /// to 1, a transaction ends with the next arrival at the entry.
    pub next: Vec<Vec<f64>>,
}

impl SimulatedClass {
    /// Creates a class that visits each station once, in order. It skips stations at which it needs no time.
    #[must_use]
    pub fn in_sequence(source: Source, service: Vec<Spread>) -> SimulatedClass {
        let mut next = vec![vec![0.0; service.len()]; service.len()];
        let visited: Vec<usize> = (0..service.len()).filter(|at| service[*at].mean.0 > 0.0).collect();
        for pair in visited.windows(2) {
            next[pair[0]][pair[1]] = 1.0;
        }
        SimulatedClass { source, priority: 20, entry: visited.first().copied().unwrap_or(0), next, service }
    }

    fn is_endless(&self) -> bool {
        self.next.iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9)
    }
}

/// A class that is held to its share of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regulation {
    /// Index of the class.
    pub class: usize,
    /// Index of the station whose use counts.
    pub station: usize,
    /// Share of the station's servers that the class is entitled to.
    pub share: Share,
    /// Time between two decisions.
    pub interval: Seconds,
}

/// A network to simulate, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Stations.
    pub stations: Vec<SimulatedStation>,
    /// Classes.
    pub classes: Vec<SimulatedClass>,
    /// A class that is held to its share.
    pub regulation: Option<Regulation>,
    /// Transactions to measure, of all classes together.
    pub transactions: u64,
    /// Transactions before those, which are not measured.
    pub warm_up: u64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Simulation {
    /// Converts a solver's network into a simulation: exponential times, and the service order that product form allows (shared for several
    /// classes, in order of arrival for one).
    ///
    /// # Errors
    /// [`ModelError::NotCovered`] for stations whose speed depends on load other than by their servers.
    pub fn of(network: &crate::Network, transactions: u64, seed: u64) -> Result<Simulation, ModelError> {
        let classes = network.classes();
        let discipline = if classes.len() > 1 { Discipline::Shared } else { Discipline::InOrder };
        let station = |station: &Station| -> Result<SimulatedStation, ModelError> {
            let servers = match &station.servers {
                Servers::Delay => None,
                Servers::Count(servers) => Some(*servers),
                Servers::Rates(_) => {
                    return Err(ModelError::NotCovered { method: "simulation", what: "rates that depend on load" });
                }
            };
            Ok(SimulatedStation { name: station.name.clone(), servers, discipline, room: None })
        };
        let stations: Result<Vec<_>, ModelError> = network.stations().iter().map(station).collect();
        let class = |(at, class): (usize, &crate::Class)| {
            let service = network.stations().iter().map(|station| Spread::exponential(station.demands[at]));
            let source = match class {
                crate::Class::Closed { population, think } => {
                    Source::Closed { population: *population, think: Spread::exponential(*think) }
                }
                crate::Class::Open { arrivals } => {
                    Source::Open { gap: Spread::exponential(Seconds(1.0 / arrivals.0.max(f64::MIN_POSITIVE))) }
                }
            };
            SimulatedClass::in_sequence(source, service.collect())
        };
        let classes = classes.iter().enumerate().map(class).collect();
        let warm_up = transactions / 10;
        Ok(Simulation { stations: stations?, classes, regulation: None, transactions, warm_up, seed })
    }

    /// Runs the simulation.
    ///
    /// # Errors
    /// [`ModelError`] for numbers out of range, [`ModelError::TooLarge`] for a run above its limits, [`ModelError::Deadlock`] if
    /// every customer waits for room that only another waiting customer could free.
    pub fn run(&self) -> Result<Estimate<SimulationOutcome>, ModelError> {
        self.check()?;
        let outcome = engine::run(self)?;
        let text = "simulated; the intervals of the means hold 95 % of the time";
        Ok(Estimate::new(Method::Simulation, Validity::Approximate(text), outcome))
    }

    fn check(&self) -> Result<(), ModelError> {
        let stations = self.stations.len();
        within("transactions", self.transactions as f64, BATCHES as f64, TRANSACTIONS_MAX as f64)?;
        within("warm-up", self.warm_up as f64, 0.0, TRANSACTIONS_MAX as f64)?;
        positive("stations", stations as f64)?;
        positive("classes", self.classes.len() as f64)?;
        let bounded = self.stations.iter().any(|station| station.room.is_some());
        for station in &self.stations {
            positive("servers", station.servers.map_or(1.0, f64::from))?;
            positive("room", station.room.map_or(1.0, f64::from))?;
            if bounded && station.discipline == Discipline::Shared && station.servers.is_some() {
                return Err(ModelError::NotCovered { method: "simulation", what: "bounded room with shared servers" });
            }
        }
        for class in &self.classes {
            class.check(stations)?;
        }
        if let Some(regulation) = &self.regulation {
            within("index of the regulated class", regulation.class as f64, 0.0, self.classes.len() as f64 - 1.0)?;
            within("index of the regulated station", regulation.station as f64, 0.0, stations as f64 - 1.0)?;
            within("share of the class", regulation.share.0, 0.0, 1.0)?;
            positive("interval", regulation.interval.0)?;
        }
        Ok(())
    }
}

impl SimulatedClass {
    fn check(&self, stations: usize) -> Result<(), ModelError> {
        if self.service.len() != stations || self.next.len() != stations {
            let found = self.service.len().min(self.next.len());
            return Err(ModelError::WrongLength { what: "service times or routing", expected: stations, found });
        }
        within("index of the entry", self.entry as f64, 0.0, stations as f64 - 1.0)?;
        if Band::of(self.priority).is_none() {
            let found = f64::from(self.priority);
            return Err(ModelError::OutOfRange { what: "priority", found, least: 10.0, most: 89.0 });
        }
        for spread in &self.service {
            spread.check()?;
        }
        for row in &self.next {
            if row.len() != stations {
                return Err(ModelError::WrongLength { what: "routing row", expected: stations, found: row.len() });
            }
            for share in row {
                not_negative("routing probability", *share)?;
            }
            within("sum of a routing row", row.iter().sum(), 0.0, 1.0 + 1e-9)?;
        }
        match &self.source {
            Source::Closed { think, population } => {
                within("population", f64::from(*population), 0.0, 1_000_000.0)?;
                think.check()
            }
            Source::Open { gap } => {
                positive("gap between arrivals", gap.mean.0)?;
                gap.check()
            }
        }
    }
}
