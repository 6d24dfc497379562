//! Highest utilization of a station at which response times still meet an objective, from Erlang C instead of a flat 70 %.

use super::ManyServers;
use crate::error::{positive, within};
use crate::{Estimate, Method, ModelError, PerSecond, Seconds, Share};

/// Utilization that a response objective allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headroom {
    /// Utilization at which the mean response time is `stretch` service times.
    pub by_mean: Share,
    /// Utilization at which the percentile is `percentile_stretch` service times.
    pub by_percentile: Share,
}

/// Computes the utilization of `servers` at which the mean reaches `stretch` service times, and the one at which the `percentile` reaches
/// `percentile_stretch` service times.
///
/// # Errors
/// [`ModelError::OutOfRange`] if an objective is not above the response time of an idle station.
pub fn headroom(
    servers: u32,
    stretch: f64,
    percentile: Share,
    percentile_stretch: f64,
) -> Result<Estimate<Headroom>, ModelError> {
    positive("number of servers", f64::from(servers))?;
    within("objective over service time", stretch, 1.0, f64::MAX)?;
    within("percentile", percentile.0, 0.0, 1.0 - f64::EPSILON)?;
    let idle = -(-percentile.0).ln_1p();
    within("percentile objective over service time", percentile_stretch, idle, f64::MAX)?;
    let station = |load: f64| ManyServers::new(servers, PerSecond(load * f64::from(servers)), Seconds(1.0));
    let by_mean = largest(|load| station(load).is_ok_and(|station| station.response().value.0 <= stretch));
    let by_percentile = largest(|load| {
        station(load).is_ok_and(|station| station.tail(Seconds(percentile_stretch)) <= 1.0 - percentile.0)
    });
    Ok(Estimate::exact(Method::MMm, Headroom { by_mean: Share(by_mean), by_percentile: Share(by_percentile) }))
}

/// Finds the largest load from 0 to 1 that passes. Above it, no load passes.
fn largest(passes: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if passes(middle) { low = middle } else { high = middle }
    }
    low
}
