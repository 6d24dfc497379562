//! One server with priorities: M/G/1 by Cobham, with and without interruption.

use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, PerSecond, Seconds};

/// Interruption of customers by others of a higher priority.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Interruption {
    /// Work that has begun ends first.
    Never,
    /// The interrupted work resumes where it was.
    Resumes,
}

/// A class of customers at one server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorityClass {
    /// Arrivals a second.
    pub arrivals: PerSecond,
    /// Mean service time.
    pub service: Seconds,
    /// Squared coefficient of variation of the service time.
    pub squared_variation: f64,
}

/// Computes the mean response time of each class at one server; the first class has the highest priority.
///
/// Without interruption a customer waits for the work in progress, for the queue of its own and higher classes, and for customers of
/// higher classes that arrive during its wait: `W_k = R / ((1 - s_{k-1}) (1 - s_k))`, with the sums `s` of the utilizations. With
/// interruption, lower classes have no effect on a customer, and its service takes `S_k / (1 - s_{k-1})`.
///
/// # Errors
/// [`ModelError::Saturated`] if work arrives as fast as it can be done.
pub fn priority_responses(
    classes: &[PriorityClass],
    interruption: Interruption,
) -> Result<Estimate<Vec<Seconds>>, ModelError> {
    // Mean work left of the customer in service, by class.
    let mut residual = Vec::with_capacity(classes.len());
    for class in classes {
        let rate = not_negative("arrival rate", class.arrivals.0)?;
        let service = positive("service time", class.service.0)?;
        let squared = not_negative("squared coefficient of variation", class.squared_variation)?;
        residual.push(rate * service * service * (1.0 + squared) / 2.0);
    }
    let utilization: f64 = classes.iter().map(|class| class.arrivals * class.service).sum();
    if utilization >= 1.0 {
        return Err(ModelError::Saturated { station: "the station".to_owned(), utilization });
    }
    let mut responses = Vec::with_capacity(classes.len());
    let mut above = 0.0;
    for (at, class) in classes.iter().enumerate() {
        let with = above + class.arrivals * class.service;
        let ahead: f64 = match interruption {
            Interruption::Never => residual.iter().sum(),
            Interruption::Resumes => residual[..=at].iter().sum(),
        };
        let wait = ahead / ((1.0 - above) * (1.0 - with));
        let service = match interruption {
            Interruption::Never => class.service.0,
            Interruption::Resumes => class.service.0 / (1.0 - above),
        };
        responses.push(Seconds(wait + service));
        above = with;
    }
    Ok(Estimate::exact(Method::PriorityQueue, responses))
}
