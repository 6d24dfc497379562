//! Operational laws (Denning & Buzen 1978): true for every measured interval in which arrivals equal completions.

use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, PerSecond, Seconds, Share};

/// Calculates utilization by the utilization law: `U = X D / m`.
///
/// # Errors
/// [`ModelError`] for negative numbers or no servers.
pub fn utilization(throughput: PerSecond, demand: Seconds, servers: u32) -> Result<Estimate<Share>, ModelError> {
    not_negative("throughput", throughput.0)?;
    not_negative("demand", demand.0)?;
    positive("number of servers", f64::from(servers))?;
    Ok(Estimate::exact(Method::OperationalLaws, Share(throughput * demand / f64::from(servers))))
}

/// Calculates throughput: `X = C / T`, for `completions` in an interval.
///
/// # Errors
/// [`ModelError`] for a negative number of completions or an interval that is not positive.
pub fn throughput(completions: f64, interval: Seconds) -> Result<Estimate<PerSecond>, ModelError> {
    not_negative("completions", completions)?;
    positive("interval", interval.0)?;
    Ok(Estimate::exact(Method::OperationalLaws, PerSecond(completions / interval.0)))
}

/// Calculates the number of customers by Little's law: `Q = X R`.
///
/// # Errors
/// [`ModelError`] for negative numbers.
pub fn little(throughput: PerSecond, residence: Seconds) -> Result<Estimate<f64>, ModelError> {
    not_negative("throughput", throughput.0)?;
    not_negative("residence time", residence.0)?;
    Ok(Estimate::exact(Method::OperationalLaws, throughput * residence))
}

/// Calculates response time by the interactive response time law: `R = N / X - Z`. A result at or below zero means that the three
/// figures contradict each other.
///
/// # Errors
/// [`ModelError`] for negative numbers or no throughput.
pub fn interactive_response(
    customers: f64,
    throughput: PerSecond,
    think: Seconds,
) -> Result<Estimate<Seconds>, ModelError> {
    not_negative("customers", customers)?;
    positive("throughput", throughput.0)?;
    not_negative("think time", think.0)?;
    Ok(Estimate::exact(Method::OperationalLaws, Seconds(customers / throughput.0 - think.0)))
}

/// Calculates the throughput of a station by the forced flow law: `X_k = V_k X`.
///
/// # Errors
/// [`ModelError`] for negative numbers.
pub fn forced_flow(throughput: PerSecond, visits: f64) -> Result<Estimate<PerSecond>, ModelError> {
    not_negative("throughput", throughput.0)?;
    not_negative("visits", visits)?;
    Ok(Estimate::exact(Method::OperationalLaws, PerSecond(throughput.0 * visits)))
}

/// Calculates service demand by the service demand law: `D = U m T / C`, for `completions` in an interval.
///
/// # Errors
/// [`ModelError`] for negative numbers or no completions.
pub fn service_demand(
    utilization: Share,
    servers: u32,
    interval: Seconds,
    completions: f64,
) -> Result<Estimate<Seconds>, ModelError> {
    not_negative("utilization", utilization.0)?;
    positive("interval", interval.0)?;
    positive("completions", completions)?;
    let demand = utilization.0 * f64::from(servers) * interval.0 / completions;
    Ok(Estimate::exact(Method::OperationalLaws, Seconds(demand)))
}
