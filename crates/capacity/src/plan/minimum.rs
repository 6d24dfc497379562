//! Checks of a machine against the minimum of a function, and thread counts by capacity.

use crate::error::{not_negative, within};
use crate::{Bytes, CapacityUnits, Estimate, Method, ModelError, Share, Validity};

/// Rating and memory of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineSize {
    /// Rating.
    pub rating: CapacityUnits,
    /// Memory.
    pub memory: Bytes,
}

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// The least machine that a document recommends for a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minimum {
    /// Recommended least size.
    pub recommended: MachineSize,
    /// Smallest rating on which the document ran the function, with a longer start and less throughput. That of the recommendation if it ran on none.
    pub runs_from: CapacityUnits,
}

impl Minimum {
    /// Express edition of an application server.
    pub const EXPRESS: Minimum = Minimum::new(300.0, 512.0, 150.0);
    /// Administration of its sites by a browser, in addition.
    pub const CONSOLE: Minimum = Minimum::new(0.0, 256.0, 0.0);
    /// All functions of the system's own application server, for a limited number of users.
    pub const ADMINISTRATION: Minimum = Minimum::new(450.0, 1280.0, 450.0);
    /// One function of that server.
    pub const ONE_FUNCTION: Minimum = Minimum::new(450.0, 1024.0, 450.0);

    const fn new(rating: f64, megabytes: f64, runs_from: f64) -> Minimum {
        let recommended = MachineSize { rating: CapacityUnits(rating), memory: Bytes(megabytes * MIB) };
        Minimum { recommended, runs_from: CapacityUnits(runs_from) }
    }
}

/// Outcome of a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MinimumOutcome {
    /// Rating and memory are sufficient.
    Enough,
    /// Memory is sufficient, and the document ran such a rating: the start is longer and throughput lower.
    RunsWithWarning,
    /// The functions do not fit.
    TooSmall,
}

/// Result of comparing a machine with the minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinimumVerdict {
    /// Missing rating; 0 if it is sufficient.
    pub rating_missing: CapacityUnits,
    /// Missing memory; 0 if it is sufficient.
    pub memory_missing: Bytes,
    /// The outcome.
    pub outcome: MinimumOutcome,
}

/// Checks a machine against the sum of the needs of its functions: ratings do not add up, so the largest counts; memory adds up.
///
/// # Errors
/// [`ModelError`] for negative numbers.
pub fn minimum_check(machine: &MachineSize, needs: &[Minimum]) -> Result<Estimate<MinimumVerdict>, ModelError> {
    not_negative("rating", machine.rating.0)?;
    not_negative("memory", machine.memory.0)?;
    let rating = needs.iter().map(|need| need.recommended.rating.0).fold(0.0, f64::max);
    let runs_from = needs.iter().map(|need| need.runs_from.0).fold(0.0, f64::max);
    let memory: f64 = needs.iter().map(|need| need.recommended.memory.0).sum();
    let rating_missing = CapacityUnits((rating - machine.rating.0).max(0.0));
    let memory_missing = Bytes((memory - machine.memory.0).max(0.0));
    let (outcome, text) = if memory_missing.0 > 0.0 || machine.rating.0 < runs_from {
        (MinimumOutcome::TooSmall, "smaller than any machine of the source that ran it")
    } else if rating_missing.0 > 0.0 {
        (MinimumOutcome::RunsWithWarning, "not recommended: longer start, lower throughput")
    } else {
        (MinimumOutcome::Enough, "the recommended minimum, not a size for a load")
    };
    let verdict = MinimumVerdict { rating_missing, memory_missing, outcome };
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
