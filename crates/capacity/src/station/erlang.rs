//! Erlang's formulas, by the recursion that neither overflows nor cancels.

use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, Share};

/// Calculates the probability that a call is lost (Erlang B): `B_j = a B_(j-1) / (j + a B_(j-1))`.
fn erlang_b_of(servers: u32, offered: f64) -> f64 {
    (1..=servers).fold(1.0, |b, j| offered * b / (f64::from(j) + offered * b))
}

/// Calculates the probability that a customer waits (Erlang C), for offered work below the number of servers.
pub(crate) fn erlang_c_of(servers: u32, offered: f64) -> f64 {
    let b = erlang_b_of(servers, offered);
    let load = offered / f64::from(servers);
    b / (1.0 - load * (1.0 - b))
}

/// Computes Erlang B: the share of arrivals that `servers` without a queue reject, with `offered` work (rate times service time).
///
/// # Errors
/// [`ModelError`] for negative work or no servers.
pub fn erlang_b(servers: u32, offered: f64) -> Result<Estimate<Share>, ModelError> {
    positive("number of servers", f64::from(servers))?;
    not_negative("offered work", offered)?;
    Ok(Estimate::exact(Method::ErlangB, Share(erlang_b_of(servers, offered))))
}

/// Computes Erlang C: the share of arrivals that wait for one of `servers`, with `offered` work (rate times service time).
///
/// # Errors
/// [`ModelError::Saturated`] if the work reaches the capacity of the servers, [`ModelError`] for negative work or no servers.
pub fn erlang_c(servers: u32, offered: f64) -> Result<Estimate<Share>, ModelError> {
    positive("number of servers", f64::from(servers))?;
    not_negative("offered work", offered)?;
    let utilization = offered / f64::from(servers);
    if utilization >= 1.0 {
        return Err(ModelError::Saturated { station: "the station".to_owned(), utilization });
    }
    Ok(Estimate::exact(Method::ErlangC, Share(erlang_c_of(servers, offered))))
}
