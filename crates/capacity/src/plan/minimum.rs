//! Checks of a machine against the minimum of a function, and thread counts by capacity.

use crate::error::{not_negative, within};
use crate::{Bytes, CapacityUnits, Estimate, Method, ModelError, Share, Validity};

/// The least machine that a function needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minimum {
    /// Rating.
    pub rating: CapacityUnits,
    /// Memory.
    pub memory: Bytes,
}

/// Result of comparing a machine with the minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinimumVerdict {
    /// Rating that is missing; 0 where it is enough.
    pub rating_missing: CapacityUnits,
    /// Memory that is missing; 0 where it is enough.
    pub memory_missing: Bytes,
    /// True if rating and memory are sufficient.
    pub enough: bool,
}

/// Checks a machine against the sum of the needs of its functions: ratings do not add up, so the largest counts; memory adds up.
///
/// # Errors
/// [`ModelError`] for negative numbers.
pub fn minimum_check(machine: &Minimum, needs: &[Minimum]) -> Result<Estimate<MinimumVerdict>, ModelError> {
    not_negative("rating", machine.rating.0)?;
    not_negative("memory", machine.memory.0)?;
    let rating = needs.iter().map(|need| need.rating.0).fold(0.0, f64::max);
    let memory: f64 = needs.iter().map(|need| need.memory.0).sum();
    let rating_missing = CapacityUnits((rating - machine.rating.0).max(0.0));
    let memory_missing = Bytes((memory - machine.memory.0).max(0.0));
    let enough = rating_missing.0 == 0.0 && memory_missing.0 == 0.0;
    let verdict = MinimumVerdict { rating_missing, memory_missing, enough };
    let text = "below the minimum it still runs: longer start, lower throughput";
    Ok(Estimate::new(Method::MinimumCheck, Validity::RuleOfSource(text), verdict))
}

/// Computes the initial number of worker threads: the class' units over twenty.
///
/// # Errors
/// [`ModelError`] for a share outside 0 to 1.
pub fn worker_threads(rating: CapacityUnits, share: Share) -> Result<Estimate<f64>, ModelError> {
    not_negative("rating", rating.0)?;
    within("share of the machine", share.0, 0.0, 1.0)?;
    let text = "a start value for the source's machines; measure and adjust";
    Ok(Estimate::new(Method::MinimumCheck, Validity::RuleOfSource(text), rating.0 * share.0 / 20.0))
}
