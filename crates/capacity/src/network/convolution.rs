//! Normalising constants by convolution in logarithms (Buzen 1973; Bruell & Balbo 1980).
//!
//! `G(n) = sum_j F_k(j) G_without_k(n - j)` with `F_k(j) = |j|! / (j_1! ⋯ j_C!) D_k1^j_1 ⋯ D_kC^j_C w_k(|j|)`. From `L` customers on the
//! weights are geometric, so the sum over all larger `j` is a recursion, and one station costs states × (vectors of at most `L` customers).
//! Mean value recursions for several servers subtract probabilities from one and lose every digit near saturation; this method only adds.

use super::lattice::Lattice;
use super::mva::{delay_demand, of_rates};
use super::solution::Solution;
use super::weights::{Weights, log_sum};
use super::{CONVOLUTION_TERMS_MAX, Class, Network, Servers, count};
use crate::ModelError;

/// A station as the convolution sees it.
struct Factor {
    /// Index in the network.
    station: usize,
    /// Logarithm of the scaled demand, by closed class.
    demand: Vec<f64>,
    weights: Weights,
}

/// Solves a closed or mixed network.
pub(super) fn solve(network: &Network) -> Result<Solution, ModelError> {
    let closed = network.closed();
    let population: Vec<usize> = closed.iter().map(|&c| network.population(c) as usize).collect();
    let total: usize = population.iter().sum();
    let (delays, queues) = split(network, total);
    let loads: Vec<f64> = network.stations.iter().map(|station| open_work(network, station)).collect();
    let weights: Vec<Weights> = queues.iter().map(|&k| Weights::new(&network.stations[k], loads[k])).collect();
    let pauses: Vec<f64> = closed.iter().map(|&c| pause(network, c, &delays)).collect();
    let scales = scales(network, &closed, &queues, &weights, &pauses);
    let mut factors = Vec::new();
    for (&k, weights) in queues.iter().zip(&weights) {
        let station = &network.stations[k];
        if closed.iter().any(|&c| station.demands[c].0 > 0.0) {
            let demand = closed.iter().zip(&scales).map(|(&c, scale)| (station.demands[c].0 / scale).ln()).collect();
            factors.push(Factor { station: k, demand, weights: weights.clone() });
        }
    }
    let lattice = checked_lattice(&population, &factors, total)?;
    let space = Space { lattice: &lattice, factorials: factorials(total + 1) };

    let think =
        space.delays(&pauses.iter().zip(&scales).map(|(pause, scale)| (pause / scale).ln()).collect::<Vec<_>>());
    let constant = factors.iter().fold(think.clone(), |base, factor| space.convolve(&base, factor));
    let last = lattice.states - 1;
    let mut rates = vec![0.0; network.classes.len()];
    for (at, &c) in closed.iter().enumerate() {
        rates[c] = (constant[last - lattice.strides[at]] - constant[last]).exp() / scales[at];
    }
    let mut residence = vec![vec![0.0; network.classes.len()]; network.stations.len()];
    for &k in &delays {
        for &c in &closed {
            residence[k][c] = network.stations[k].demands[c].0;
        }
    }
    let mut open_queue = vec![None; network.stations.len()];
    for (index, factor) in factors.iter().enumerate() {
        let k = factor.station;
        let (present, open) = if factor.weights.is_single() {
            let present = space.present_at_single_server(&constant, factor);
            let load = loads[k] / network.stations[k].servers.full_rate();
            let open = load * (1.0 + present.iter().sum::<f64>()) / (1.0 - load);
            (present, open)
        } else {
            let others = factors.iter().enumerate().filter(|(other, _)| *other != index);
            let without = others.fold(think.clone(), |base, (_, other)| space.convolve(&base, other));
            space.present_at_many_servers(&constant, &without, factor, loads[k])
        };
        open_queue[k] = Some(open);
        for (at, &c) in closed.iter().enumerate() {
            residence[k][c] = present[at] / rates[c];
        }
    }
    for (&k, weights) in queues.iter().zip(&weights) {
        let without_closed = loads[k] * weights.at(1).exp();
        let open = open_queue[k].unwrap_or(without_closed);
        open_residence(network, k, open, loads[k], &mut residence);
    }
    for (c, class) in network.classes.iter().enumerate() {
        let Class::Open { arrivals } = class else { continue };
        rates[c] = arrivals.0;
        for &k in &delays {
            residence[k][c] = network.stations[k].demands[c].0;
        }
    }
    Ok(of_rates(network, &rates, residence, None))
}

/// Separates delays from queues. A station with as many servers as customers is a delay, unless open customers also arrive.
fn split(network: &Network, total: usize) -> (Vec<usize>, Vec<usize>) {
    (0..network.stations.len()).partition(|&k| {
        let station = &network.stations[k];
        match &station.servers {
            Servers::Delay => true,
            Servers::Count(servers) => *servers as usize >= total && open_work(network, station) == 0.0,
            Servers::Rates(_) => false,
        }
    })
}

fn open_work(network: &Network, station: &super::Station) -> f64 {
    if matches!(station.servers, Servers::Delay) {
        return 0.0;
    }
    network.open_load(station) * station.servers.full_rate()
}

/// Returns the time that a class spends without queueing: think time and delays.
fn pause(network: &Network, class: usize, delays: &[usize]) -> f64 {
    let plenty = delays.iter().filter(|&&k| !matches!(network.stations[k].servers, Servers::Delay));
    let plenty: f64 = plenty.map(|&k| network.stations[k].demands[class].0).sum();
    network.think(class) + delay_demand(network, class) + plenty
}

/// Returns a unit of time for each class that keeps its normalising constants near one, where logarithms have the most digits.
fn scales(network: &Network, closed: &[usize], queues: &[usize], weights: &[Weights], pauses: &[f64]) -> Vec<f64> {
    let scale = |(&c, pause): (&usize, &f64)| {
        let slowest = queues.iter().zip(weights).map(|(&k, w)| network.stations[k].demands[c].0 * w.ratio.exp());
        let slowest = slowest.fold(0.0, f64::max);
        if slowest > 0.0 { slowest } else { *pause }
    };
    closed.iter().zip(pauses).map(scale).collect()
}

fn open_residence(network: &Network, k: usize, open: f64, work: f64, residence: &mut [Vec<f64>]) {
    for (c, class) in network.classes.iter().enumerate() {
        if let Class::Open { .. } = class {
            let demand = network.stations[k].demands[c].0;
            // Little's law, with the queue shared by work: Q_c = Q lambda_c D_c / work, so W_c = Q D_c / work. Without any open work a
            // transaction that arrives finds the closed customers alone.
            residence[k][c] = if work > 0.0 { open * demand / work } else { demand };
        }
    }
}

fn checked_lattice(population: &[usize], factors: &[Factor], total: usize) -> Result<Lattice, ModelError> {
    let states: f64 = population.iter().map(|most| count(*most) + 1.0).product();
    let several = factors.iter().filter(|factor| !factor.weights.is_single()).count();
    let heads = factors.iter().map(|factor| {
        let most = (factor.weights.head.len() - 1).min(total);
        // Vectors of at most `most` customers, each class within its population.
        let vectors: f64 = population.iter().map(|all| count(most.min(*all)) + 1.0).product();
        vectors.min(states) + 1.0
    });
    let needed = states * heads.sum::<f64>() * (count(several) + 1.0);
    let limit = count(CONVOLUTION_TERMS_MAX);
    let too_large = ModelError::TooLarge { what: "terms of the convolution", needed, limit };
    // A station takes some vectors of all states at a time: 16 MiB each.
    if needed > limit || states > count(1 << 21) {
        return Err(too_large);
    }
    Lattice::new(population).ok_or(too_large)
}

/// Returns `ln(n!)` for `n` from 0 to `most`.
fn factorials(most: usize) -> Vec<f64> {
    let mut table = vec![0.0];
    for n in 1..=most {
        table.push(table[n - 1] + count(n).ln());
    }
    table
}

struct Space<'a> {
    lattice: &'a Lattice,
    factorials: Vec<f64>,
}

impl Space<'_> {
    /// Constants of the delays alone: `prod_c a_c^n_c / n_c!`.
    fn delays(&self, ln_pauses: &[f64]) -> Vec<f64> {
        let mut vector = vec![0; self.lattice.population.len()];
        let mut constants = Vec::with_capacity(self.lattice.states);
        for state in 0..self.lattice.states {
            if state > 0 {
                self.lattice.advance(&mut vector);
            }
            constants.push(self.power(&vector, ln_pauses) - vector.iter().map(|n| self.factorials[*n]).sum::<f64>());
        }
        constants
    }

    /// Returns `ln(prod_c base_c^n_c)`, where zero to the power of zero is one.
    fn power(&self, vector: &[usize], ln_bases: &[f64]) -> f64 {
        vector.iter().zip(ln_bases).filter(|(n, _)| **n > 0).map(|(n, base)| count(*n) * base).sum()
    }

    /// Returns `ln F(j)`.
    fn factor(&self, vector: &[usize], factor: &Factor) -> f64 {
        let all: usize = vector.iter().sum();
        let ways = self.factorials[all] - vector.iter().map(|n| self.factorials[*n]).sum::<f64>();
        ways + self.power(vector, &factor.demand) + factor.weights.at(all)
    }

    /// Constants with one more station.
    fn convolve(&self, base: &[f64], factor: &Factor) -> Vec<f64> {
        let lattice = self.lattice;
        let edge = factor.weights.head.len() - 1;
        let total: usize = lattice.population.iter().sum();
        let head: Vec<(Vec<usize>, usize, f64, bool)> = lattice
            .up_to(edge.min(total))
            .into_iter()
            .map(|(vector, index)| {
                let at_edge = vector.iter().sum::<usize>() == edge;
                let value = self.factor(&vector, factor);
                (vector, index, value, at_edge)
            })
            .filter(|(_, _, value, _)| *value > f64::NEG_INFINITY)
            .collect();
        let steps: Vec<f64> = factor.demand.iter().map(|demand| demand + factor.weights.ratio).collect();
        let mut constants = vec![f64::NEG_INFINITY; lattice.states];
        // What stations with `edge` customers and with more add, by state: the source of the recursion over larger numbers.
        let mut beyond = vec![f64::NEG_INFINITY; lattice.states];
        let mut vector = vec![0; lattice.population.len()];
        let (mut terms, mut edges) = (Vec::new(), Vec::new());
        for state in 0..lattice.states {
            if state > 0 {
                lattice.advance(&mut vector);
            }
            terms.clear();
            edges.clear();
            for (customers, index, value, at_edge) in &head {
                if customers.iter().zip(&vector).all(|(here, most)| here <= most) {
                    let term = value + base[state - index];
                    if *at_edge {
                        edges.push(term);
                    }
                    terms.push(term);
                }
            }
            let mut tail = f64::NEG_INFINITY;
            for (c, step) in steps.iter().enumerate() {
                if vector[c] > 0 {
                    tail = log_add(tail, step + beyond[state - lattice.strides[c]]);
                }
            }
            constants[state] = log_add(log_sum(&terms), tail);
            beyond[state] = log_add(log_sum(&edges), tail);
        }
        constants
    }

    /// Returns the mean number at a single server by class: `Q_c = D_c G_with_k_twice(N - e_c) / G(N)`.
    fn present_at_single_server(&self, constant: &[f64], factor: &Factor) -> Vec<f64> {
        let twice = self.convolve(constant, factor);
        let last = self.lattice.states - 1;
        let classes = factor.demand.iter().zip(&self.lattice.strides);
        classes
            .map(|(demand, stride)| (demand + factor.weights.ratio + twice[last - stride] - constant[last]).exp())
            .collect()
    }

    /// Returns the mean number by class at a station of several servers, from its marginal probabilities, and the mean number of open customers.
    fn present_at_many_servers(
        &self,
        constant: &[f64],
        without: &[f64],
        factor: &Factor,
        work: f64,
    ) -> (Vec<f64>, f64) {
        let last = self.lattice.states - 1;
        let mut present = vec![0.0; self.lattice.population.len()];
        let mut open = 0.0;
        let mut vector = vec![0; self.lattice.population.len()];
        for state in 0..self.lattice.states {
            if state > 0 {
                self.lattice.advance(&mut vector);
            }
            let probability = (self.factor(&vector, factor) + without[last - state] - constant[last]).exp();
            for (sum, customers) in present.iter_mut().zip(&vector) {
                *sum += probability * count(*customers);
            }
            if work > 0.0 {
                let here: usize = vector.iter().sum();
                let growth = (factor.weights.at(here + 1) - factor.weights.at(here)).exp();
                open += probability * count(here + 1) * work * growth;
            }
        }
        (present, open)
    }
}

/// Returns `ln(exp(a) + exp(b))`.
fn log_add(a: f64, b: f64) -> f64 {
    let (most, least) = if a >= b { (a, b) } else { (b, a) };
    if least == f64::NEG_INFINITY { most } else { most + (least - most).exp().ln_1p() }
}
