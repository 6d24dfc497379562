//! Journal entries of a commit interval, and which indexes to journal for a recovery-time objective.

use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, Seconds, Validity};

/// Computes the journal entries of `changes` with a commit after each `interval`. Each unit of work adds a begin and an end entry.
///
/// # Errors
/// [`ModelError`] for a commit interval of zero.
pub fn journal_entries(changes: u64, interval: u64) -> Result<Estimate<u64>, ModelError> {
    positive("commit interval", interval as f64)?;
    let units = changes.div_ceil(interval);
    Ok(Estimate::exact(Method::JournalEntries, changes.saturating_add(units.saturating_mul(2))))
}

/// Indexes to journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Protection {
    /// Positions of the indexes to journal, in the order of their rebuild times.
    pub journalled: Vec<usize>,
    /// Time to rebuild the others after a failure.
    pub exposure: Seconds,
}

/// Journals the indexes that take longest to rebuild until the others take at most `target`.
///
/// # Errors
/// [`ModelError`] for negative times.
pub fn protect(rebuild: &[Seconds], target: Seconds) -> Result<Estimate<Protection>, ModelError> {
    not_negative("recovery target", target.0)?;
    for time in rebuild {
        not_negative("rebuild time", time.0)?;
    }
    let mut order: Vec<usize> = (0..rebuild.len()).collect();
    order.sort_by(|a, b| rebuild[*b].0.total_cmp(&rebuild[*a].0));
    let mut exposure: f64 = rebuild.iter().map(|time| time.0).sum();
    let mut journalled = Vec::new();
    for at in order {
        if exposure <= target.0 {
            break;
        }
        exposure -= rebuild[at].0;
        journalled.push(at);
    }
    if journalled.len() == rebuild.len() {
        exposure = 0.0;
    }
    let text = "largest first, which journals the fewest indexes";
    let protection = Protection { journalled, exposure: Seconds(exposure) };
    Ok(Estimate::new(Method::RecoveryTime, Validity::OurRule(text), protection))
}
