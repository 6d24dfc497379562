//! Stations with general service times and gaps: M/G/1 exactly, G/G/m by Allen and Cunneen.

use super::erlang::erlang_c_of;
use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, PerSecond, Seconds, Validity};

/// Squared coefficients of variation: variance over squared mean. 1 is exponential, 0 constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variability {
    /// Squared coefficient of variation of the gaps between arrivals.
    pub arrivals: f64,
    /// Squared coefficient of variation of the service times.
    pub service: f64,
}

/// Computes the mean response time of M/G/1 by Pollaczek and Khinchine: `S + rho S (1 + c^2) / 2 / (1 - rho)`.
///
/// # Errors
/// [`ModelError::Saturated`] if work arrives as fast as it can be done.
pub fn single_server_general(
    arrivals: PerSecond,
    service: Seconds,
    squared_variation: f64,
) -> Result<Estimate<Seconds>, ModelError> {
    let utilization = load(1, arrivals, service)?;
    not_negative("squared coefficient of variation", squared_variation)?;
    let wait = utilization * service.0 * (1.0 + squared_variation) / 2.0 / (1.0 - utilization);
    Ok(Estimate::exact(Method::MG1, Seconds(service.0 + wait)))
}

/// Approximates the mean response time of G/G/m by Allen and Cunneen: the wait of M/M/m times the mean of both squared variations.
///
/// # Errors
/// [`ModelError::Saturated`] if work arrives as fast as it can be done.
pub fn allen_cunneen(
    servers: u32,
    arrivals: PerSecond,
    service: Seconds,
    variability: Variability,
) -> Result<Estimate<Seconds>, ModelError> {
    let utilization = load(servers, arrivals, service)?;
    not_negative("squared coefficient of variation", variability.arrivals)?;
    not_negative("squared coefficient of variation", variability.service)?;
    let servers_f = f64::from(servers);
    let wait = erlang_c_of(servers, utilization * servers_f) * service.0 / (servers_f * (1.0 - utilization));
    let wait = wait * (variability.arrivals + variability.service) / 2.0;
    let text = "usually within 10 % at high load; worse for light load and very variable gaps";
    Ok(Estimate::new(Method::AllenCunneen, Validity::Approximate(text), Seconds(service.0 + wait)))
}

fn load(servers: u32, arrivals: PerSecond, service: Seconds) -> Result<f64, ModelError> {
    positive("number of servers", f64::from(servers))?;
    not_negative("arrival rate", arrivals.0)?;
    positive("service time", service.0)?;
    let utilization = arrivals.0 * service.0 / f64::from(servers);
    if utilization >= 1.0 {
        return Err(ModelError::Saturated { station: "the station".to_owned(), utilization });
    }
    Ok(utilization)
}
