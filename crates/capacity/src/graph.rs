//! Work that is a graph of steps, such as a batch job. Each set of concurrent steps is solved as a closed network with one class per step.

use crate::error::positive;
use crate::{Class, Estimate, ModelError, Network, Origin, PerSecond, Seconds, Servers, Share, Station, Validity};

/// A step of the work.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphStep {
    /// Name, for people.
    pub name: String,
    /// Workers that do its transactions at once, at least 1.
    pub workers: u32,
    /// Transactions from its begin to its end.
    pub transactions: f64,
    /// Demand of a transaction by station, in the order of the stations.
    pub demands: Vec<Seconds>,
}

/// Order of steps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StepOrder {
    /// One step, by its index.
    Step(usize),
    /// One after another.
    Sequence(Vec<StepOrder>),
    /// Concurrent parts; they end with the last of them.
    Together(Vec<StepOrder>),
}

/// Steps, their order, and the stations that they share.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkGraph {
    /// Name and servers of each station.
    pub stations: Vec<(String, Servers)>,
    /// Steps.
    pub steps: Vec<GraphStep>,
    /// Their order.
    pub order: StepOrder,
    /// The weakest origin of the demands.
    pub origin: Origin,
}

/// A time in which the same steps run.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphPhase {
    /// Begin, since the begin of the work.
    pub begin: Seconds,
    /// Length.
    pub time: Seconds,
    /// Steps that run, with their throughput and mean response time.
    pub running: Vec<(usize, PerSecond, Seconds)>,
    /// Utilization by station; of a delay the mean number there.
    pub utilization: Vec<Share>,
}

/// Prediction for the whole work.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphPrediction {
    /// Time from the beginning to the end.
    pub elapsed: Seconds,
    /// Phases, one after another.
    pub phases: Vec<GraphPhase>,
}

/// Known limitation of this form of work.
const KNOWN: &str = "steps that run at once share stations, and each is solved as if its phase had no begin and no end";

impl WorkGraph {
    /// Predicts the work phase by phase; a phase ends when the first of its steps has done its transactions.
    ///
    /// # Errors
    /// [`ModelError`] for steps without workers, for steps that lack a demand for a station, and for orders that name a step twice or an unknown step.
    pub fn predict(&self) -> Result<Estimate<GraphPrediction>, ModelError> {
        let mut left = Vec::new();
        for step in &self.steps {
            positive("workers of a step", f64::from(step.workers))?;
            crate::error::not_negative("transactions of a step", step.transactions)?;
            if step.demands.len() != self.stations.len() {
                let (expected, found) = (self.stations.len(), step.demands.len());
                return Err(ModelError::WrongLength { what: "demands of a step", expected, found });
            }
            left.push(step.transactions);
        }
        self.check_order()?;
        let mut phases = Vec::new();
        let mut now = 0.0;
        let mut basis: Option<Estimate<()>> = None;
        loop {
            let mut running = Vec::new();
            next_steps(&self.order, &left, &mut running);
            if running.is_empty() {
                break;
            }
            let solved = self.network(&running)?.solve()?;
            let rate = |class: usize| solved.value.throughput[class].0;
            let time = (0..running.len()).map(|class| left[running[class]] / rate(class)).fold(f64::INFINITY, f64::min);
            for (class, step) in running.iter().enumerate() {
                let done = rate(class) * time;
                // The step that ends the phase is over, whatever rounding leaves of it.
                left[*step] =
                    if left[*step] - done <= 1e-9 * self.steps[*step].transactions { 0.0 } else { left[*step] - done };
            }
            phases.push(GraphPhase {
                begin: Seconds(now),
                time: Seconds(time),
                running: (0..running.len())
                    .map(|class| (running[class], solved.value.throughput[class], solved.value.response(class)))
                    .collect(),
                utilization: (0..self.stations.len()).map(|at| solved.value.station_utilization(at)).collect(),
            });
            now += time;
            let solved = solved.map(|_| ());
            basis = Some(basis.map_or_else(|| solved.clone(), |basis| basis.weaker(&solved).clone()));
        }
        let prediction = GraphPrediction { elapsed: Seconds(now), phases };
        let basis = basis.ok_or(ModelError::NoDemand { class: 0 })?;
        let mut estimate = basis.map(|()| prediction).from_inputs(self.origin);
        // A solver that approximates is further off than phases are.
        if estimate.value.phases.len() > 1 && !matches!(estimate.validity, Validity::Approximate(_)) {
            estimate.validity = Validity::Approximate(KNOWN);
        }
        Ok(estimate)
    }

    /// Returns the index of the station that limits a step running alone; `None` if all stations are delays.
    #[must_use]
    pub fn bottleneck(&self, step: usize) -> Option<usize> {
        let step = &self.steps[step];
        let demand = |at: &usize| step.demands[*at].0 / self.stations[*at].1.full_rate();
        (0..self.stations.len())
            .filter(|at| !matches!(self.stations[*at].1, Servers::Delay))
            .max_by(|a, b| demand(a).total_cmp(&demand(b)))
    }

    fn network(&self, running: &[usize]) -> Result<Network, ModelError> {
        let station = |(at, (name, servers)): (usize, &(String, Servers))| Station {
            name: name.clone(),
            servers: servers.clone(),
            demands: running.iter().map(|step| self.steps[*step].demands[at]).collect(),
        };
        let classes =
            running.iter().map(|step| Class::Closed { population: self.steps[*step].workers, think: Seconds(0.0) });
        Network::new(self.stations.iter().enumerate().map(station).collect(), classes.collect())
    }

    fn check_order(&self) -> Result<(), ModelError> {
        let mut named = Vec::new();
        steps_of(&self.order, &mut named);
        named.sort_unstable();
        if named != (0..self.steps.len()).collect::<Vec<_>>() {
            let (expected, found) = (self.steps.len(), named.len());
            return Err(ModelError::WrongLength { what: "steps in the order of the work", expected, found });
        }
        Ok(())
    }
}

fn steps_of(order: &StepOrder, out: &mut Vec<usize>) {
    match order {
        StepOrder::Step(step) => out.push(*step),
        StepOrder::Sequence(parts) | StepOrder::Together(parts) => parts.iter().for_each(|part| steps_of(part, out)),
    }
}

/// Adds the steps that run now. Returns whether this part of the work is over.
fn next_steps(order: &StepOrder, left: &[f64], out: &mut Vec<usize>) -> bool {
    match order {
        StepOrder::Step(step) => {
            if left[*step] > 0.0 {
                out.push(*step);
            }
            left[*step] <= 0.0
        }
        StepOrder::Sequence(parts) => parts.iter().all(|part| next_steps(part, left, out)),
        StepOrder::Together(parts) => {
            // All of them run, so each is looked at.
            let over: Vec<bool> = parts.iter().map(|part| next_steps(part, left, out)).collect();
            over.into_iter().all(|over| over)
        }
    }
}
