//! Open product-form networks (Jackson 1957; Baskett, Chandy, Muntz & Palacios 1975): each station is solved separately as M/M/m.

use super::mva::of_rates;
use super::solution::Solution;
use super::weights::Weights;
use super::{Class, Network, Servers};
use crate::station::erlang_c_of;

/// Solves a network without closed customers.
pub(super) fn solve(network: &Network) -> Solution {
    let rates: Vec<f64> = network
        .classes
        .iter()
        .map(|class| match class {
            Class::Open { arrivals } => arrivals.0,
            Class::Closed { .. } => 0.0,
        })
        .collect();
    let mut residence = Vec::new();
    for station in &network.stations {
        let load = network.open_load(station);
        // Residence time over demand.
        let stretch = match &station.servers {
            Servers::Delay => 1.0,
            Servers::Count(1) => 1.0 / (1.0 - load),
            Servers::Count(servers) => {
                let offered = load * f64::from(*servers);
                1.0 + erlang_c_of(*servers, offered) / (f64::from(*servers) * (1.0 - load))
            }
            Servers::Rates(_) => {
                let work = load * station.servers.full_rate();
                Weights::new(station, work).at(1).exp()
            }
        };
        residence.push(station.demands.iter().map(|demand| demand.0 * stretch).collect());
    }
    of_rates(network, &rates, residence, None)
}
