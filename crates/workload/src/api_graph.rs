//! An API as a queueing network: its operations by the providers that answer them, with measured demands.

use std::collections::BTreeMap;

use quayline_capacity::{
    Estimate, ModelError, Origin, Prediction, Seconds, Servers, Share, Station, Validity, Workload,
};
use serde::Serialize;

use crate::interval::Interval;
use crate::model::Demands;

/// Place where the call of an operation is answered.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Answers {
    /// The server itself, from records of a file.
    Here,
    /// The store: a record file or a queue.
    Store,
    /// A pool whose members each do one call at a time: workers of a program, or connections of a database.
    Pool {
        /// Name of the station, `program ORDERS`.
        station: String,
        /// Members for each thread of the server.
        each_thread: u32,
        /// True if the calls run on the processors of this machine.
        runs_here: bool,
    },
    /// Another host without a limit that the definition knows.
    Elsewhere {
        /// Name of the station, `http ORDERS`.
        station: String,
    },
}

/// An operation with its measured demands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApiOperation {
    /// Name in intervals, `api:getOrder`.
    pub name: String,
    /// Place where its call is answered.
    pub answered: Answers,
    /// Demands of a request.
    pub demands: Demands,
}

/// Adds measured demands to defined operations. Returns those that were measured, and the names of the others.
#[must_use]
pub fn measured_operations(
    defined: Vec<(String, Answers)>,
    intervals: &[Interval],
) -> (Vec<ApiOperation>, Vec<String>) {
    let (mut operations, mut missing) = (Vec::new(), Vec::new());
    for (name, answered) in defined {
        match Demands::of(intervals, &name) {
            Ok(demands) => operations.push(ApiOperation { name, answered, demands }),
            Err(_) => missing.push(name),
        }
    }
    (operations, missing)
}

/// Operations, and the machine that serves them.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiGraph {
    /// Operations; each has at least one measured request.
    pub operations: Vec<ApiOperation>,
    /// Processors of the machine.
    pub processors: u32,
    /// Threads of the server, each with its own pools.
    pub threads: u32,
    /// Factor by which each processor is faster than the measured one.
    pub faster: f64,
    /// Mean think time of a user between two requests.
    pub think: Seconds,
}

/// Prediction for a number of users.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiPrediction {
    /// All operations together.
    pub all: Prediction,
    /// Mean response time of each operation, in the order of the operations.
    pub responses: Vec<Seconds>,
}

/// Caveat of pools.
const POOLS: &str =
    "threads of the server share their pools here, and a call waits for a member before it waits for a processor";

impl ApiGraph {
    /// Returns the share of each operation in the measured requests.
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        let count = |operation: &ApiOperation| operation.demands.transactions as f64;
        let all: f64 = self.operations.iter().map(count).sum();
        self.operations.iter().map(|operation| Share(count(operation) / all)).collect()
    }

    /// Builds the network: processors, the store's thread, a station for each pool, and delays. A request visits the stations of its
    /// operation, in the measured mix.
    #[must_use]
    pub fn network(&self) -> Workload {
        let shares = self.shares();
        let demand = |at: usize| -> f64 {
            (0..self.operations.len()).map(|operation| shares[operation].0 * self.demands(operation)[at]).sum()
        };
        let stations = self.stations().into_iter().enumerate().map(|(at, (name, servers))| Station {
            name,
            servers,
            demands: vec![Seconds(demand(at))],
        });
        Workload { stations: stations.collect(), think: self.think, origin: Origin::Measured, shared: None }
    }

    /// Predicts throughput, and the response time of each operation. A request of an operation has its part of the time at a station in
    /// proportion to its demand there, which is exact if a station shares its servers among all.
    ///
    /// # Errors
    /// [`ModelError`] for operations without demand, or no users.
    pub fn predict(&self, users: u32) -> Result<Estimate<ApiPrediction>, ModelError> {
        let network = self.network();
        let mut estimate = network.predict(users)?;
        if !self.pools().is_empty() && !matches!(estimate.validity, Validity::Approximate(_)) {
            estimate.validity = Validity::Approximate(POOLS);
        }
        let slower: Vec<f64> = (network.stations.iter().zip(&estimate.value.residence))
            .map(|(station, time)| if station.demands[0].0 > 0.0 { time.0 / station.demands[0].0 } else { 0.0 })
            .collect();
        let response = |operation: usize| {
            Seconds(self.demands(operation).iter().zip(&slower).map(|(demand, slower)| demand * slower).sum())
        };
        let responses = (0..self.operations.len()).map(response).collect();
        Ok(estimate.map(|all| ApiPrediction { all, responses }))
    }

    /// Returns the operations with their shares, and their response times for each prediction, as JSON.
    #[must_use]
    pub fn wire(&self, predictions: &[&ApiPrediction]) -> serde_json::Value {
        let times = |at: usize| predictions.iter().map(|found| found.responses[at].0).collect::<Vec<f64>>();
        let operations = self.operations.iter().zip(self.shares()).enumerate().map(|(at, (operation, share))| {
            let ApiOperation { name, answered, demands } = operation;
            serde_json::json!({
                "name": name, "answered": answered, "demands": demands, "share": share.0, "response_s": times(at),
            })
        });
        operations.collect()
    }

    /// Formats the response time of each operation for each prediction.
    #[must_use]
    pub fn text(&self, predictions: &[&ApiPrediction]) -> String {
        let mut text = format!("\n{:<28} {:>8}", "mean response by operation", "share");
        for found in predictions {
            text.push_str(&format!(" {:>14}", found.all.users));
        }
        for (at, (operation, share)) in self.operations.iter().zip(self.shares()).enumerate() {
            text.push_str(&format!("\n{:<28} {:>6.1} %", operation.name, share.percent()));
            for found in predictions {
                text.push_str(&format!(" {:>11.1} us", 1e6 * found.responses[at].0));
            }
        }
        text.push_str("\n\n");
        text
    }

    /// Returns the members of each pool in the whole server, by the name of its station.
    fn pools(&self) -> BTreeMap<&str, u32> {
        let mut pools = BTreeMap::new();
        for operation in &self.operations {
            if let Answers::Pool { station, each_thread, .. } = &operation.answered {
                pools.insert(station.as_str(), each_thread.saturating_mul(self.threads.max(1)).max(1));
            }
        }
        pools
    }

    /// Returns the stations: processors, the store's thread, the rest of the time, then pools and other hosts by name.
    fn stations(&self) -> Vec<(String, Servers)> {
        let mut stations = vec![
            ("processors".to_owned(), Servers::Count(self.processors.max(1))),
            ("store".to_owned(), Servers::Count(1)),
            ("other".to_owned(), Servers::Delay),
        ];
        stations.extend(self.pools().into_iter().map(|(name, members)| (name.to_owned(), Servers::Count(members))));
        let mut hosts: Vec<&str> = self
            .operations
            .iter()
            .filter_map(|operation| match &operation.answered {
                Answers::Elsewhere { station } => Some(station.as_str()),
                _ => None,
            })
            .collect();
        hosts.sort_unstable();
        hosts.dedup();
        stations.extend(hosts.into_iter().map(|name| (name.to_owned(), Servers::Delay)));
        stations
    }

    /// Returns the demands of an operation in seconds, in the order of the stations.
    fn demands(&self, operation: usize) -> Vec<f64> {
        let ApiOperation { demands, answered, .. } = &self.operations[operation];
        let (programs, server) = (demands.programs_cpu_s, demands.cpu_s - demands.programs_cpu_s);
        let stations = self.stations();
        let mut found = vec![0.0; stations.len()];
        let at = |name: &str| stations.iter().position(|(station, _)| station == name);
        found[1] = demands.helper_cpu_s / self.faster;
        let (place, here, there) = match answered {
            Answers::Here | Answers::Store => (None, demands.cpu_s, demands.other_s),
            Answers::Elsewhere { station } => (at(station), demands.cpu_s, demands.other_s),
            Answers::Pool { station, runs_here, .. } => {
                // A member holds its call for the program's CPU time too. The narrower of pool and processors has this time: a pool of
                // fewer members than processors never lets a call wait for a processor.
                let members = self.pools().get(station.as_str()).copied().unwrap_or(1);
                let in_pool = if *runs_here && members < self.processors { programs } else { 0.0 };
                (at(station), server + programs - in_pool, demands.other_s + in_pool / self.faster)
            }
        };
        found[0] = here / self.faster;
        found[place.unwrap_or(2)] += there;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(
        name: &str,
        answered: Answers,
        cpu_s: f64,
        programs_cpu_s: f64,
        other_s: f64,
        count: u64,
    ) -> ApiOperation {
        let demands =
            Demands { cpu_s, programs_cpu_s, helper_cpu_s: 0.0, other_s, run_queue_s: 0.0, transactions: count };
        ApiOperation { name: name.to_owned(), answered, demands }
    }

    fn program(each_thread: u32) -> Answers {
        Answers::Pool { station: "program P".to_owned(), each_thread, runs_here: true }
    }

    fn graph(operations: Vec<ApiOperation>) -> ApiGraph {
        ApiGraph { operations, processors: 4, threads: 2, faster: 1.0, think: Seconds(0.0) }
    }

    fn throughput(graph: &ApiGraph, users: u32) -> f64 {
        graph.predict(users).expect("a prediction").value.all.throughput.0
    }

    #[test]
    fn the_definition_decides_which_station_limits_the_same_demands() {
        // 1 ms here and 9 ms there: processors bear 4,000 a second.
        let of = |answered| graph(vec![operation("api:a", answered, 0.001, 0.0, 0.009, 100)]);
        assert!((throughput(&of(Answers::Here), 5_000) - 4_000.0).abs() < 1.0);
        let elsewhere = Answers::Elsewhere { station: "http S".to_owned() };
        assert!((throughput(&of(elsewhere), 5_000) - 4_000.0).abs() < 1.0);
        // A worker for each of two threads: 2 / 9 ms. Three for each: 6 / 9 ms.
        for (each, most) in [(1, 2.0 / 0.009), (3, 6.0 / 0.009)] {
            let found = of(program(each));
            assert!((throughput(&found, 500) - most).abs() < 1e-3 * most, "{}", throughput(&found, 500));
            let network = found.network();
            assert_eq!(network.stations[network.bottleneck().expect("a station")].name, "program P");
        }
        // A single user waits for nothing, wherever the time passes.
        assert!((throughput(&of(program(1)), 1) - 100.0).abs() < 1e-6);
    }

    #[test]
    fn a_program_that_computes_is_limited_by_its_workers_or_by_the_processors() {
        // 1 ms of the server and 3 ms of the program, all CPU time.
        let of = |each| graph(vec![operation("api:a", program(each), 0.004, 0.003, 0.0, 100)]);
        // Two workers on four processors: 2 / 3 ms. Eight workers: 4 / 4 ms.
        assert!((throughput(&of(1), 1_000) - 2.0 / 0.003).abs() < 1.0, "{}", throughput(&of(1), 1_000));
        assert!((throughput(&of(4), 1_000) - 1_000.0).abs() < 1.0, "{}", throughput(&of(4), 1_000));
        assert!((throughput(&of(1), 1) - 250.0).abs() < 1e-6 && (throughput(&of(4), 1) - 250.0).abs() < 1e-6);
        let validity = of(1).predict(3).expect("a prediction").validity;
        assert_eq!(validity, Validity::Approximate(POOLS));
    }

    #[test]
    fn operations_share_stations_in_the_measured_mix_and_keep_their_own_times() {
        let slow = operation("api:slow", program(1), 0.002, 0.0, 0.010, 100);
        let quick = operation("api:quick", Answers::Here, 0.001, 0.0, 0.0, 300);
        let both = graph(vec![slow, quick]);
        let shares: Vec<f64> = both.shares().iter().map(|share| share.0).collect();
        assert_eq!(shares, [0.25, 0.75]);
        // One user: each operation takes its own demands.
        let alone = both.predict(1).expect("a prediction").value;
        assert!((alone.responses[0].0 - 0.012).abs() < 1e-9 && (alone.responses[1].0 - 0.001).abs() < 1e-9);
        // Many: the pool fills up, and its wait is that of the slow operation only. Little's law holds for all.
        let full = both.predict(100).expect("a prediction").value;
        assert!(full.responses[0].0 > 0.4 && full.responses[1].0 < 0.01, "{full:?}");
        let mean: f64 = shares.iter().zip(&full.responses).map(|(share, time)| share * time.0).sum();
        assert!((mean - full.all.response.0).abs() < 1e-9 * mean);
        assert!((full.all.throughput.0 * full.all.response.0 - 100.0).abs() < 1e-6);
        // The slow quarter is limited by 2 / 10 ms, so all are by four times that.
        assert!((full.all.throughput.0 - 800.0).abs() < 1.0, "{full:?}");
    }
}
