//! Predictions for a number of users: throughput, response times, the bottleneck, and the date at which growth exhausts the system.

use crate::error::{positive, within};
use crate::fit::{Exhaustion, exhaustion};
use crate::percentile::{Residence, percentile_of_sum, waiting_variations};
use crate::{
    Class, Estimate, ModelError, Network, Origin, PerMonth, PerSecond, Seconds, Servers, Share, Station, time_text,
};

/// A closed workload: stations with the demands of one transaction, and users who think between two.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Stations, each with one demand.
    pub stations: Vec<Station>,
    /// Mean think time.
    pub think: Seconds,
    /// The weakest origin of the demands.
    pub origin: Origin,
    /// Servers that the work at other stations needs as well.
    pub shared: Option<SharedServers>,
}

/// Servers of one station that the work at other stations needs as well, such as the processors of threads that read, compute and write. They
/// only limit the throughput: the waits for them at the other stations are not in the model below that limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedServers {
    /// Index of the station.
    pub station: usize,
    /// Demand of a transaction on its servers at all stations together.
    pub demand: Seconds,
}

/// Predicted figures for a number of users.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Users.
    pub users: u32,
    /// Transactions a second.
    pub throughput: PerSecond,
    /// Mean response time.
    pub response: Seconds,
    /// 50th, 95th and 99th percentile of the response time: the gamma distribution of the mean and the variance of independent residence
    /// times. Within 7 % of the simulation in tests from light load to far beyond the knee.
    pub percentiles: [Seconds; 3],
    /// Utilization by station; of a delay the mean number there.
    pub utilization: Vec<Share>,
    /// Mean time at each station, waiting included. They add up to the response time.
    pub residence: Vec<Seconds>,
}

/// Limits that a system must keep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Objective {
    /// Largest mean response time.
    pub response_most: Option<Seconds>,
    /// Largest 95th percentile of the response time.
    pub percentile_most: Option<Seconds>,
    /// Largest utilization of a station.
    pub utilization_most: Option<Share>,
}

/// Users up to which a search for the limit goes.
pub const USERS_MAX: u32 = 1_000_000;

impl Workload {
    fn network(&self, users: u32) -> Result<Network, ModelError> {
        Network::new(self.stations.clone(), vec![Class::Closed { population: users, think: self.think }])
    }

    /// Predicts one number of users.
    ///
    /// # Errors
    /// [`ModelError`] for a workload without demand, or no users.
    pub fn predict(&self, users: u32) -> Result<Estimate<Prediction>, ModelError> {
        positive("users", f64::from(users))?;
        let solved = self.network(users).and_then(|network| network.solve()).map_err(|error| match error {
            // Its users know of one class only.
            ModelError::NoDemand { .. } => ModelError::NoTime,
            error => error,
        })?;
        let solution = &solved.value;
        let times: Vec<Seconds> = solution.residence.iter().map(|row| row[0]).collect();
        let variations = waiting_variations(&self.stations, users, self.think.0);
        // The own service is exponential; what is left of the time is waiting.
        let residence = |((station, time), squared): ((&Station, &Seconds), f64)| {
            let service = station.demands[0].0.min(time.0);
            let wait = time.0 - service;
            Residence { mean: time.0, variance: service * service + squared * wait * wait }
        };
        let residence: Vec<Residence> = self.stations.iter().zip(&times).zip(variations).map(residence).collect();
        let percentile = |share| Seconds(percentile_of_sum(&residence, share));
        let mut prediction = Prediction {
            users,
            throughput: solution.throughput[0],
            response: solution.response(0),
            percentiles: [percentile(0.5), percentile(0.95), percentile(0.99)],
            utilization: (0..self.stations.len()).map(|k| solution.station_utilization(k)).collect(),
            residence: times,
        };
        self.share(&mut prediction);
        Ok(solved.clone().map(|_| prediction).from_inputs(self.origin))
    }

    /// The station that limits throughput, by its index: the one with the largest demand per server. None where nothing needs a server.
    #[must_use]
    pub fn bottleneck(&self) -> Option<usize> {
        (0..self.stations.len())
            .filter(|k| !matches!(self.stations[*k].servers, Servers::Delay) && self.demand_each(*k) > 0.0)
            .max_by(|a, b| self.demand_each(*a).total_cmp(&self.demand_each(*b)))
    }

    /// Returns the demand for each server of a station.
    fn demand_each(&self, station: usize) -> f64 {
        let shared = self.shared.filter(|shared| shared.station == station).map_or(0.0, |shared| shared.demand.0);
        self.stations[station].demands[0].0.max(shared) / self.stations[station].servers.full_rate()
    }

    /// Applies the limit of the shared servers to a prediction.
    fn share(&self, prediction: &mut Prediction) {
        let Some(SharedServers { station, demand }) = self.shared.filter(|shared| shared.demand.0 > 0.0) else {
            return;
        };
        let most = self.stations[station].servers.full_rate() / demand.0;
        if prediction.throughput.0 > most {
            let slower = prediction.throughput.0 / most;
            let response = (f64::from(prediction.users) / most - self.think.0).max(prediction.response.0);
            let longer = response / prediction.response.0;
            prediction.throughput = PerSecond(most);
            prediction.response = Seconds(response);
            prediction.percentiles.iter_mut().chain(&mut prediction.residence).for_each(|time| time.0 *= longer);
            prediction.utilization.iter_mut().for_each(|share| share.0 /= slower);
        }
        prediction.utilization[station] = Share((prediction.throughput.0 / most).min(1.0));
    }

    /// Users from which the bottleneck limits: `N* = (D + Z) / D_max`; infinite where nothing queues.
    #[must_use]
    pub fn saturation_users(&self) -> f64 {
        let total: f64 = self.stations.iter().map(|station| station.demands[0].0).sum();
        self.bottleneck().map_or(f64::INFINITY, |k| (total + self.think.0) / self.demand_each(k))
    }

    /// Returns the limits of the objective that a prediction misses, each with its figure: `95th percentile 31.4 ms, at most 20.0 ms`.
    #[must_use]
    pub fn missed(&self, at: &Prediction, objective: &Objective) -> Vec<String> {
        let mut missed = Vec::new();
        let times = [
            ("mean response time", at.response, objective.response_most),
            ("95th percentile", at.percentiles[1], objective.percentile_most),
        ];
        for (what, time, most) in times {
            if let Some(most) = most.filter(|most| time.0 > most.0) {
                missed.push(format!("{what} {}, at most {}", time_text(time), time_text(most)));
            }
        }
        if let (Some(busiest), Some(most)) = (self.bottleneck(), objective.utilization_most)
            && let Some(share) = at.utilization.get(busiest).filter(|share| share.0 > most.0)
        {
            let (name, percent) = (&self.stations[busiest].name, share.percent());
            missed.push(format!("utilization of {name} {percent:.1} %, at most {:.0} %", most.percent()));
        }
        missed
    }

    /// Returns the largest number of users that keeps the objective: 0 if one user does not, [`USERS_MAX`] if nothing limits it.
    ///
    /// # Errors
    /// [`ModelError`] for a workload without demand.
    pub fn most_users(&self, objective: &Objective) -> Result<Estimate<u32>, ModelError> {
        let keeps = |users: u32| -> Result<bool, ModelError> {
            Ok(self.missed(&self.predict(users)?.value, objective).is_empty())
        };
        // The basis is that of the answer: other numbers of users may need another solver.
        let answer = |users: u32| self.predict(users.max(1)).map(|basis| basis.map(|_| users));
        if !keeps(1)? {
            return answer(0);
        }
        let (mut low, mut high) = (1_u32, 2_u32);
        while high < USERS_MAX && keeps(high)? {
            low = high;
            high = high.saturating_mul(2).min(USERS_MAX);
        }
        if high >= USERS_MAX && keeps(USERS_MAX)? {
            return answer(USERS_MAX);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if keeps(middle)? { low = middle } else { high = middle }
        }
        answer(low)
    }

    /// When growth of the users reaches the largest number that keeps the objective. [`Exhaustion::Never`] if up to [`USERS_MAX`] users keep it.
    ///
    /// # Errors
    /// [`ModelError`] for a workload without demand or a growth without meaning.
    pub fn exhausted(
        &self,
        users: u32,
        objective: &Objective,
        growth: PerMonth,
    ) -> Result<Estimate<Exhaustion>, ModelError> {
        let most = self.most_users(objective)?.value;
        within("users", f64::from(users), 1.0, f64::from(USERS_MAX))?;
        if most == 0 {
            return exhaustion(Share(1.0), Share(1.0), growth);
        }
        if most == USERS_MAX && users < USERS_MAX {
            // The search ended, not the system.
            return exhaustion(Share(1.0), Share(1.0), growth).map(|basis| basis.map(|_| Exhaustion::Never));
        }
        let share = f64::from(users) / f64::from(most);
        Ok(exhaustion(Share(share), Share(1.0), growth)?.from_inputs(self.origin))
    }
}
