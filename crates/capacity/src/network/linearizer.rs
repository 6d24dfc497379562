//! Approximate mean value analysis: Schweitzer's fixed point and the Linearizer of Chandy and Neuse (1982).
//!
//! `Q_kj(n - e_c) = (n_j - [j = c]) (Q_kj(n) / n_j + F_kjc)`. Schweitzer takes `F = 0`. The Linearizer solves the network with one customer
//! less of each class too, takes `F` from the differences and repeats. Published programs differ in the number of passes, so the
//! solution names it. Several servers become one fast server and a delay (Seidmann).

use super::mva::{delay_demand, with_open_classes};
use super::solution::Solution;
use super::{Network, Servers};
use crate::ModelError;

/// Number of passes of the Linearizer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Passes {
    /// This many passes: 3 by Chandy and Neuse, 2 in JMT, 4 in LINE.
    Fixed(usize),
    /// Passes until the estimates of `F` no longer change.
    Converged,
}

/// Passes after which the estimates must have settled.
const PASSES_MAX: usize = 200;
/// Steps after which a fixed point must have settled.
const STEPS_MAX: usize = 1_000_000;
/// Change of a queue, relative to the customers, at which a fixed point has settled.
const SETTLED: f64 = 1e-14;

/// Solves by `passes`; one pass is Schweitzer's approximation.
pub(super) fn solve(network: &Network, passes: Passes) -> Result<Solution, ModelError> {
    solve_scaled(network, passes, &vec![1.0; network.stations.len()])
}

/// Rounds of a calibration.
const ROUNDS_MAX: usize = 60;
/// Relative change of the throughput at which a calibration has settled.
const CALIBRATED: f64 = 1e-6;

/// Solves with stations of several servers calibrated: all classes as one, weighted by their throughput, are solved exactly, and each such
/// station gets the factor with which the Linearizer finds that residence time. Factors and throughput depend on each other, so both are
/// repeated until they settle.
pub(super) fn calibrated(network: &Network) -> Result<Solution, ModelError> {
    let mut factors = vec![1.0; network.stations.len()];
    let mut solution = solve(network, Passes::Converged)?;
    let closed = network.closed();
    for _ in 0..ROUNDS_MAX {
        let whole = aggregate(network, &solution)?;
        let exact = super::convolution::solve(&whole)?;
        let near = solve_scaled(&whole, Passes::Converged, &factors)?;
        for (k, factor) in factors.iter_mut().enumerate() {
            let is_several =
                !matches!(network.stations[k].servers, Servers::Delay) && !network.stations[k].servers.is_single();
            if is_several && near.residence[k][0].0 > 0.0 {
                // Half of the way: at saturation, stations answer to each other's factors.
                *factor *= (exact.residence[k][0].0 / near.residence[k][0].0).sqrt();
            }
        }
        let next = solve_scaled(network, Passes::Converged, &factors)?;
        let rates = closed.iter().map(|&c| (next.throughput[c].0 / solution.throughput[c].0 - 1.0).abs());
        let change = rates.fold(0.0, f64::max);
        solution = next;
        if change < CALIBRATED {
            return Ok(within_capacity(network, solution));
        }
    }
    Err(ModelError::NoConvergence { what: "calibration of several servers", iterations: ROUNDS_MAX })
}

/// Limits the throughput to the capacity of the stations. An approximation that exceeds it is slowed down, and the added time goes to that station.
fn within_capacity(network: &Network, mut solution: Solution) -> Solution {
    let closed = network.closed();
    for k in 0..network.stations.len() {
        let station = &network.stations[k];
        if matches!(station.servers, Servers::Delay) {
            continue;
        }
        let open = network.open_load(station);
        let busy = solution.station_utilization(k).0 - open;
        let slower = (1.0 - open) / busy;
        if slower >= 1.0 {
            continue;
        }
        for &c in closed.iter().filter(|&&c| station.demands[c].0 > 0.0) {
            let rate = solution.throughput[c].0 * slower;
            let others = solution.response(c).0 - solution.residence[k][c].0;
            solution.throughput[c].0 = rate;
            solution.residence[k][c].0 = f64::from(network.population(c)) / rate - network.think(c) - others;
        }
    }
    let rates: Vec<f64> = solution.throughput.iter().map(|rate| rate.0).collect();
    let residence = solution.residence.iter().map(|row| row.iter().map(|time| time.0).collect()).collect();
    super::mva::of_rates(network, &rates, residence, solution.passes)
}

/// Aggregates all closed classes into one, with the mean demands and think time of a transaction.
fn aggregate(network: &Network, solution: &Solution) -> Result<Network, ModelError> {
    let closed = network.closed();
    let rate: f64 = closed.iter().map(|&c| solution.throughput[c].0).sum();
    let mean = |of: &dyn Fn(usize) -> f64| {
        crate::Seconds(closed.iter().map(|&c| solution.throughput[c].0 / rate * of(c)).sum::<f64>())
    };
    let customers = closed.iter().map(|&c| network.population(c)).sum();
    let mut classes = vec![super::Class::Closed { population: customers, think: mean(&|c| network.think(c)) }];
    let mut open = Vec::new();
    for (c, class) in network.classes.iter().enumerate() {
        if matches!(class, super::Class::Open { .. }) {
            classes.push(*class);
            open.push(c);
        }
    }
    let station = |station: &super::Station| {
        let mut demands = vec![mean(&|c| station.demands[c].0)];
        demands.extend(open.iter().map(|&c| station.demands[c]));
        super::Station { name: station.name.clone(), servers: station.servers.clone(), demands }
    };
    Network::new(network.stations.iter().map(station).collect(), classes)
}

/// Solves with a factor for the time at each station.
fn solve_scaled(network: &Network, passes: Passes, factors: &[f64]) -> Result<Solution, ModelError> {
    let closed = network.closed();
    let queues: Vec<usize> =
        (0..network.stations.len()).filter(|&k| !matches!(network.stations[k].servers, Servers::Delay)).collect();
    // Seidmann: one server as fast as all, and a delay for what a single customer would still need.
    let rates: Vec<f64> = queues.iter().map(|&k| network.stations[k].servers.full_rate()).collect();
    let extra =
        |k: usize, c: usize, rate: f64| factors[k] * network.stations[k].demands[c].0 * (1.0 - 1.0 / rate).max(0.0);
    let mut core = Core { classes: closed.len(), queues: queues.len(), demands: Vec::new(), pauses: Vec::new() };
    for &c in &closed {
        let mut pause = network.think(c) + delay_demand(network, c);
        for (&k, rate) in queues.iter().zip(&rates) {
            let station = &network.stations[k];
            core.demands.push(factors[k] * station.demands[c].0 / rate / (1.0 - network.open_load(station)));
            pause += extra(k, c, *rate);
        }
        core.pauses.push(pause);
    }
    let population: Vec<f64> = closed.iter().map(|&c| f64::from(network.population(c))).collect();
    let (answer, made) = core.linearize(&population, passes)?;

    let mut residence = vec![vec![0.0; network.classes.len()]; network.stations.len()];
    let mut throughput = vec![0.0; network.classes.len()];
    for (at, &c) in closed.iter().enumerate() {
        throughput[c] = answer.rates[at];
        for (position, (&k, rate)) in queues.iter().zip(&rates).enumerate() {
            residence[k][c] = answer.waits[at * queues.len() + position] + extra(k, c, *rate);
        }
        for (k, station) in network.stations.iter().enumerate() {
            if matches!(station.servers, Servers::Delay) {
                residence[k][c] = station.demands[c].0;
            }
        }
    }
    Ok(with_open_classes(network, throughput, residence, Some(made)))
}

/// The network as the fixed point sees it: `[class][queue]` in one row.
struct Core {
    classes: usize,
    queues: usize,
    demands: Vec<f64>,
    pauses: Vec<f64>,
}

#[derive(Clone)]
struct State {
    /// Mean number `[class][queue]`.
    present: Vec<f64>,
    rates: Vec<f64>,
    waits: Vec<f64>,
}

impl Core {
    fn linearize(&self, population: &[f64], passes: Passes) -> Result<(State, usize), ModelError> {
        let (classes, queues) = (self.classes, self.queues);
        let most = match passes {
            Passes::Fixed(passes) => passes.max(1),
            Passes::Converged => PASSES_MAX,
        };
        // F[lost class][class][queue].
        let mut drift = vec![0.0; classes * classes * queues];
        let fewer = |lost: usize| -> Vec<f64> {
            population.iter().enumerate().map(|(j, n)| if j == lost { n - 1.0 } else { *n }).collect()
        };
        let mut whole = self.start(population);
        let mut parts: Vec<State> = (0..classes).map(|lost| self.start(&fewer(lost))).collect();
        for pass in 1..=most {
            self.settle(population, &drift, &mut whole)?;
            if pass == most && passes != Passes::Converged {
                return Ok((whole, pass));
            }
            let mut change = 0.0_f64;
            for (lost, part) in parts.iter_mut().enumerate() {
                let left = fewer(lost);
                self.settle(&left, &drift, part)?;
            }
            for (lost, part) in parts.iter().enumerate() {
                let left = fewer(lost);
                for j in 0..classes {
                    for k in 0..queues {
                        let at = j * queues + k;
                        let now = if left[j] > 0.0 { part.present[at] / left[j] } else { 0.0 };
                        let next = now - whole.present[at] / population[j];
                        let slot = &mut drift[lost * classes * queues + at];
                        change = change.max((next - *slot).abs());
                        *slot = next;
                    }
                }
            }
            if passes == Passes::Converged && change < 1e-13 {
                self.settle(population, &drift, &mut whole)?;
                return Ok((whole, pass + 1));
            }
        }
        Err(ModelError::NoConvergence { what: "Linearizer", iterations: most })
    }

    /// Customers spread evenly over the queues.
    fn start(&self, population: &[f64]) -> State {
        let queues = self.queues;
        let spread = |at: usize| population[at / queues.max(1)] / super::count(queues.max(1));
        State {
            present: (0..self.classes * queues).map(spread).collect(),
            rates: vec![0.0; self.classes],
            waits: vec![0.0; self.classes * queues],
        }
    }

    /// Iterates to the fixed point of a population, starting from `state`.
    fn settle(&self, population: &[f64], drift: &[f64], state: &mut State) -> Result<(), ModelError> {
        let (classes, queues) = (self.classes, self.queues);
        let mut seen = vec![0.0; queues];
        for step in 0..STEPS_MAX {
            let mut change = 0.0_f64;
            let before = state.present.clone();
            for c in 0..classes {
                let row = c * queues..(c + 1) * queues;
                if population[c] <= 0.0 {
                    state.present[row.clone()].fill(0.0);
                    state.waits[row].fill(0.0);
                    state.rates[c] = 0.0;
                    continue;
                }
                seen.fill(1.0);
                for j in 0..classes {
                    let others = if j == c { population[j] - 1.0 } else { population[j] };
                    if others <= 0.0 {
                        continue;
                    }
                    let share = others / population[j];
                    let drift = &drift[(c * classes + j) * queues..][..queues];
                    for ((sum, present), drift) in seen.iter_mut().zip(&before[j * queues..]).zip(drift) {
                        *sum += share * present + others * drift;
                    }
                }
                let waits = &mut state.waits[row.clone()];
                for ((wait, demand), seen) in waits.iter_mut().zip(&self.demands[row.clone()]).zip(&seen) {
                    *wait = demand * seen;
                }
                let rate = population[c] / (self.pauses[c] + waits.iter().sum::<f64>());
                state.rates[c] = rate;
                for (present, wait) in state.present[row].iter_mut().zip(waits.iter()) {
                    let next = rate * wait;
                    change = change.max((next - *present).abs() / population[c].max(1.0));
                    *present = next;
                }
            }
            // The last digits of large queues are noise, so the bar rises a little with the steps.
            if change <= SETTLED * (1.0 + super::count(step / 1000)) {
                return Ok(());
            }
        }
        Err(ModelError::NoConvergence { what: "Schweitzer's fixed point", iterations: STEPS_MAX })
    }
}
