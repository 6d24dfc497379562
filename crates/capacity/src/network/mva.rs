//! Exact mean value analysis (Reiser & Lavenberg 1980): `W_kc(n) = D_kc (1 + Q_k(n - e_c))`, `X_c = n_c / (Z_c + sum_k W_kc)`, `Q = X W`.
//!
//! A mixed network is solved as a closed one, with each demand divided by the share of its station that open classes leave free.

use super::lattice::Lattice;
use super::solution::Solution;
use super::{Class, EXACT_CELLS_MAX, EXACT_STATES_MAX, Network, Servers, count};
use crate::{ModelError, PerSecond, Seconds, Share};

/// Solves a network of single servers and delays.
pub(super) fn solve(network: &Network) -> Result<Solution, ModelError> {
    let closed = network.closed();
    let queues: Vec<usize> =
        (0..network.stations.len()).filter(|&k| !matches!(network.stations[k].servers, Servers::Delay)).collect();
    // Demands of the closed classes at the queues, `[class][queue]`, divided by what open classes leave.
    let inflated: Vec<Vec<f64>> = closed
        .iter()
        .map(|&c| {
            let demand = |&k: &usize| {
                let station = &network.stations[k];
                station.demands[c].0 / (1.0 - network.open_load(station))
            };
            queues.iter().map(demand).collect()
        })
        .collect();
    let pauses: Vec<f64> = closed.iter().map(|&c| network.think(c) + delay_demand(network, c)).collect();
    let population: Vec<usize> = closed.iter().map(|&c| network.population(c) as usize).collect();
    let (throughput, waits) = recursion(&inflated, &pauses, &population)?;

    let mut residence = vec![vec![0.0; network.classes.len()]; network.stations.len()];
    let mut rates = vec![0.0; network.classes.len()];
    for (at, &c) in closed.iter().enumerate() {
        rates[c] = throughput[at];
        for (position, &k) in queues.iter().enumerate() {
            residence[k][c] = waits[at][position];
        }
        for (k, station) in network.stations.iter().enumerate() {
            if matches!(station.servers, Servers::Delay) {
                residence[k][c] = station.demands[c].0;
            }
        }
    }
    Ok(with_open_classes(network, rates, residence, None))
}

/// Returns the time that a class spends at delay stations.
pub(super) fn delay_demand(network: &Network, class: usize) -> f64 {
    let delays = network.stations.iter().filter(|station| matches!(station.servers, Servers::Delay));
    delays.map(|station| station.demands[class].0).sum()
}

/// Returns throughput by class and residence time `[class][queue]` at the full population.
fn recursion(
    demands: &[Vec<f64>],
    pauses: &[f64],
    population: &[usize],
) -> Result<(Vec<f64>, Vec<Vec<f64>>), ModelError> {
    let queues = demands.first().map_or(0, Vec::len);
    if let ([demands], [pause], [customers]) = (demands, pauses, population) {
        return Ok(single_class(demands, *pause, *customers));
    }
    let product: f64 = population.iter().map(|most| count(*most) + 1.0).product();
    let limit = count(EXACT_STATES_MAX).min(count(EXACT_CELLS_MAX) / count(queues.max(1)));
    let too_large = ModelError::TooLarge { what: "states of exact mean value analysis", needed: product, limit };
    if product > limit {
        return Err(too_large);
    }
    let lattice = Lattice::new(population).ok_or(too_large)?;
    let classes = population.len();
    // Customers at each queue, `[state][queue]`.
    let mut present = vec![0.0; lattice.states * queues];
    let mut vector = vec![0; classes];
    let mut row = vec![0.0; queues];
    let mut throughput = vec![0.0; classes];
    for state in 1..lattice.states {
        lattice.advance(&mut vector);
        row.fill(0.0);
        for c in 0..classes {
            if vector[c] == 0 {
                continue;
            }
            let before = (state - lattice.strides[c]) * queues;
            let before = &present[before..before + queues];
            let cycle: f64 = demands[c].iter().zip(before).map(|(demand, others)| demand * (1.0 + others)).sum();
            let rate = count(vector[c]) / (pauses[c] + cycle);
            throughput[c] = rate;
            for ((sum, demand), others) in row.iter_mut().zip(&demands[c]).zip(before) {
                *sum += rate * demand * (1.0 + others);
            }
        }
        present[state * queues..(state + 1) * queues].copy_from_slice(&row);
    }
    let last = lattice.states - 1;
    let waits = (0..classes).map(|c| {
        let before = (last - lattice.strides[c]) * queues;
        let before = &present[before..before + queues];
        demands[c].iter().zip(before).map(|(demand, others)| demand * (1.0 + others)).collect()
    });
    Ok((throughput, waits.collect()))
}

fn single_class(demands: &[f64], pause: f64, customers: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut present = vec![0.0; demands.len()];
    let mut waits = vec![0.0; demands.len()];
    let mut rate = 0.0;
    for n in 1..=customers {
        for ((wait, demand), others) in waits.iter_mut().zip(demands).zip(&present) {
            *wait = demand * (1.0 + others);
        }
        rate = count(n) / (pause + waits.iter().sum::<f64>());
        for (here, wait) in present.iter_mut().zip(&waits) {
            *here = rate * wait;
        }
    }
    (vec![rate], vec![waits])
}

/// Completes a solution of the closed classes by the open ones, where every station is a single server or a delay:
/// `W_open = D (1 + Q_closed) / (1 - U_open)`.
pub(super) fn with_open_classes(
    network: &Network,
    mut rates: Vec<f64>,
    mut residence: Vec<Vec<f64>>,
    passes: Option<usize>,
) -> Solution {
    let closed_queue: Vec<f64> =
        residence.iter().map(|by_class| by_class.iter().zip(&rates).map(|(wait, rate)| wait * rate).sum()).collect();
    for (c, class) in network.classes.iter().enumerate() {
        let Class::Open { arrivals } = class else { continue };
        rates[c] = arrivals.0;
        for (k, station) in network.stations.iter().enumerate() {
            let demand = station.demands[c].0;
            residence[k][c] = match station.servers {
                Servers::Delay => demand,
                // Several servers as Seidmann has them; for one server the delay is nothing.
                _ => {
                    let rate = station.servers.full_rate();
                    let queued = demand / rate * (1.0 + closed_queue[k]) / (1.0 - network.open_load(station));
                    queued + demand * (1.0 - 1.0 / rate).max(0.0)
                }
            };
        }
    }
    of_rates(network, &rates, residence, passes)
}

/// Builds a solution from throughputs and residence times: queues by Little's law, utilization by the utilization law.
pub(super) fn of_rates(network: &Network, rates: &[f64], residence: Vec<Vec<f64>>, passes: Option<usize>) -> Solution {
    let busy = |station: &super::Station| {
        let servers = if matches!(station.servers, Servers::Delay) { 1.0 } else { station.servers.full_rate() };
        station.demands.iter().zip(rates).map(|(demand, rate)| Share(demand.0 * rate / servers)).collect()
    };
    Solution {
        throughput: rates.iter().copied().map(PerSecond).collect(),
        queue: residence.iter().map(|by_class| by_class.iter().zip(rates).map(|(w, x)| w * x).collect()).collect(),
        utilization: network.stations.iter().map(busy).collect(),
        residence: residence.into_iter().map(|by_class| by_class.into_iter().map(Seconds).collect()).collect(),
        passes,
    }
}
