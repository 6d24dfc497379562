//! M/M/m/K: a station with room for `K` customers that turns the others away.

use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, PerSecond, Seconds, Share};

/// Behaviour of a station with limited room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitedQueue {
    /// Share of the time that a server is busy.
    pub utilization: Share,
    /// Mean response time of those that are admitted.
    pub response: Seconds,
    /// Mean number present.
    pub present: f64,
    /// Rate of admitted customers.
    pub throughput: PerSecond,
    /// Probability that the station is empty.
    pub empty: Share,
    /// Probability that the station is full: the share of customers that are turned away.
    pub full: Share,
}

/// Solves M/M/m/K with `room` places, including those at the servers.
///
/// # Errors
/// [`ModelError`] if there are fewer places than servers, or for numbers out of range.
pub fn limited_queue(
    servers: u32,
    room: u32,
    arrivals: PerSecond,
    service: Seconds,
) -> Result<Estimate<LimitedQueue>, ModelError> {
    positive("number of servers", f64::from(servers))?;
    crate::error::within("places", f64::from(room), f64::from(servers), f64::from(u32::MAX))?;
    not_negative("arrival rate", arrivals.0)?;
    positive("service time", service.0)?;
    let offered = arrivals.0 * service.0;
    // Probabilities relative to the largest so far, so that they neither overflow nor all vanish.
    let mut weights = vec![1.0_f64];
    for n in 1..=room {
        let weight = weights[weights.len() - 1] * offered / f64::from(n.min(servers));
        weights.push(weight);
        if weight > 1e200 {
            weights.iter_mut().for_each(|earlier| *earlier /= weight);
        }
    }
    let sum: f64 = weights.iter().sum();
    let (mut present, mut busy) = (0.0, 0.0);
    for (n, weight) in (0_u32..).zip(&weights) {
        present += f64::from(n) * weight / sum;
        busy += f64::from(n.min(servers)) * weight / sum;
    }
    let full = weights[weights.len() - 1] / sum;
    let admitted = busy / service.0;
    Ok(Estimate::exact(
        Method::MMmK,
        LimitedQueue {
            utilization: Share(busy / f64::from(servers)),
            response: Seconds(if admitted > 0.0 { present / admitted } else { service.0 }),
            present,
            throughput: PerSecond(admitted),
            empty: Share(weights[0] / sum),
            full: Share(full),
        },
    ))
}
