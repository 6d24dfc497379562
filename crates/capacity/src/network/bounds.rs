//! Bounds on throughput and response time of a closed class, which need demands only.

use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, PerSecond, Seconds, Validity};

/// Bounds of throughput and response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Throughput is at least this.
    pub throughput_least: PerSecond,
    /// Throughput is at most this.
    pub throughput_most: PerSecond,
    /// Response time is at least this.
    pub response_least: Seconds,
    /// Response time is at most this.
    pub response_most: Seconds,
    /// Customers from which the slowest station limits: `N* = (D + Z) / D_max`.
    pub saturation_population: f64,
}

struct Demands {
    total: f64,
    most: f64,
    average: f64,
    think: f64,
    customers: f64,
}

fn demands(demands: &[Seconds], servers: &[u32], customers: u32, think: Seconds) -> Result<Demands, ModelError> {
    if demands.len() != servers.len() {
        return Err(ModelError::WrongLength { what: "servers", expected: demands.len(), found: servers.len() });
    }
    for demand in demands {
        not_negative("demand", demand.0)?;
    }
    let total: f64 = demands.iter().map(|demand| demand.0).sum();
    let queues = || demands.iter().zip(servers).filter(|(_, servers)| **servers > 0);
    let most = queues().map(|(demand, servers)| demand.0 / f64::from(*servers)).fold(0.0, f64::max);
    let average = queues().map(|(demand, _)| demand.0).sum::<f64>() / super::count(queues().count().max(1));
    not_negative("think time", think.0)?;
    positive("cycle time", total + think.0)?;
    positive("population", f64::from(customers))?;
    Ok(Demands { total, most, average, think: think.0, customers: f64::from(customers) })
}

/// Computes asymptotic bounds (Lazowska et al. 1984, section 5.2). `servers` 0 is a delay. Response times include delays but not the think time.
///
/// # Errors
/// [`ModelError`] for lists of different length, negative demands, or no customers.
pub fn asymptotic_bounds(
    station_demands: &[Seconds],
    servers: &[u32],
    customers: u32,
    think: Seconds,
) -> Result<Estimate<Bounds>, ModelError> {
    let of = demands(station_demands, servers, customers, think)?;
    let n = of.customers;
    let ceiling = if of.most > 0.0 { 1.0 / of.most } else { f64::INFINITY };
    let bounds = Bounds {
        throughput_least: PerSecond(n / (n * of.total + of.think)),
        throughput_most: PerSecond(ceiling.min(n / (of.total + of.think))),
        response_least: Seconds(of.total.max(n * of.most - of.think)),
        response_most: Seconds(n * of.total),
        saturation_population: if of.most > 0.0 { (of.total + of.think) / of.most } else { f64::INFINITY },
    };
    Ok(Estimate::new(Method::AsymptoticBounds, Validity::Bound, bounds))
}

/// Computes balanced system bounds (Zahorjan et al. 1982) for single servers. Add delays to the think time.
///
/// # Errors
/// [`ModelError`] as for [`asymptotic_bounds`].
pub fn balanced_bounds(
    station_demands: &[Seconds],
    customers: u32,
    think: Seconds,
) -> Result<Estimate<Bounds>, ModelError> {
    let of = demands(station_demands, &vec![1; station_demands.len()], customers, think)?;
    positive("demand", of.total)?;
    let (n, d, z) = (of.customers, of.total, of.think);
    let slow = n / (d + z + (n - 1.0) * of.most / (1.0 + z / (n * d)));
    let fast = (1.0 / of.most).min(n / (d + z + (n - 1.0) * of.average / (1.0 + z / d)));
    let bounds = Bounds {
        throughput_least: PerSecond(slow),
        throughput_most: PerSecond(fast),
        response_least: Seconds((n * of.most - z).max(d + (n - 1.0) * of.average / (1.0 + z / d))),
        response_most: Seconds(d + (n - 1.0) * of.most / (1.0 + z / (n * d))),
        saturation_population: (d + z) / of.most,
    };
    Ok(Estimate::new(Method::BalancedBounds, Validity::Bound, bounds))
}

/// Computes proportional bounds (Hsieh & Lam 1987) for single servers without think time. With think time the method's bounds cross the
/// asymptotic ones, so it is not offered.
///
/// # Errors
/// [`ModelError`] as for [`asymptotic_bounds`].
pub fn proportional_bounds(station_demands: &[Seconds], customers: u32) -> Result<Estimate<Bounds>, ModelError> {
    let of = demands(station_demands, &vec![1; station_demands.len()], customers, Seconds(0.0))?;
    positive("demand", of.total)?;
    let n = of.customers;
    // Demands relative to the largest, so that high powers neither overflow nor vanish.
    let power = |exponent: f64| station_demands.iter().map(|demand| (demand.0 / of.most).powf(exponent)).sum::<f64>();
    let slow = of.total + (n - 1.0) * of.most * power(n) / power(n - 1.0);
    let fast = of.total + (n - 1.0) * of.most * power(2.0) / power(1.0);
    let bounds = Bounds {
        throughput_least: PerSecond(n / slow),
        throughput_most: PerSecond((n / fast).min(1.0 / of.most)),
        response_least: Seconds(fast.max(n * of.most)),
        response_most: Seconds(slow),
        saturation_population: of.total / of.most,
    };
    Ok(Estimate::new(Method::ProportionalBounds, Validity::Bound, bounds))
}
