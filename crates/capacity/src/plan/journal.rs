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

/// Setting of the recovery-time objective. The source's names are in parentheses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecoveryObjective {
    /// Rebuilding takes at most this time after a failure.
    Within(Seconds),
    /// Every index is journalled (`*MIN`).
    AllIndexes,
    /// No index is journalled, but statistics show what a failure costs (`*NONE`).
    StatisticsOnly,
    /// Neither journalled indexes nor statistics (`*OFF`). The source advises against this setting.
    Off,
}

/// Indexes to journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Protection {
    /// Positions of the indexes to journal, in the order of their rebuild times.
    pub journalled: Vec<usize>,
    /// Time to rebuild the others after a failure; unknown without statistics.
    pub exposure: Option<Seconds>,
}

/// Chooses the indexes to journal. For a time, these are the indexes that take longest to rebuild, until the others take at most that time.
///
/// # Errors
/// [`ModelError`] for negative times.
pub fn protect(rebuild: &[Seconds], objective: RecoveryObjective) -> Result<Estimate<Protection>, ModelError> {
    for time in rebuild {
        not_negative("rebuild time", time.0)?;
    }
    let estimate = |validity, journalled, exposure| {
        Ok(Estimate::new(Method::RecoveryTime, validity, Protection { journalled, exposure }))
    };
    let target = match objective {
        RecoveryObjective::Within(target) => not_negative("recovery target", target.0)?,
        RecoveryObjective::AllIndexes => {
            let text = "every index is journalled, which costs most while nothing fails";
            return estimate(Validity::RuleOfSource(text), by_time(rebuild), Some(Seconds(0.0)));
        }
        RecoveryObjective::StatisticsOnly => {
            let all = Seconds(rebuild.iter().map(|time| time.0).sum());
            return estimate(Validity::RuleOfSource("nothing is journalled"), Vec::new(), Some(all));
        }
        RecoveryObjective::Off => {
            let text = "nothing is journalled or estimated; the source advises against it";
            return estimate(Validity::RuleOfSource(text), Vec::new(), None);
        }
    };
    let mut exposure: f64 = rebuild.iter().map(|time| time.0).sum();
    let mut journalled = Vec::new();
    for at in by_time(rebuild) {
        if exposure <= target {
            break;
        }
        exposure -= rebuild[at].0;
        journalled.push(at);
    }
    if journalled.len() == rebuild.len() {
        exposure = 0.0;
    }
    let text = "largest first, which journals the fewest indexes";
    estimate(Validity::OurRule(text), journalled, Some(Seconds(exposure)))
}

/// Positions of the indexes, the one with the longest rebuild time first.
fn by_time(rebuild: &[Seconds]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rebuild.len()).collect();
    order.sort_by(|a, b| rebuild[*b].0.total_cmp(&rebuild[*a].0));
    order
}
