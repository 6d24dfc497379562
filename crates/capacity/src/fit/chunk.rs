//! Cost of a batch step by its number of checkpoints, and the best distance between checkpoints.

use super::LINEAR_EXTRAPOLATION_MAX;
use super::least_squares::{Coefficient, Sign, least_squares};
use crate::error::{not_negative, positive};
use crate::{Estimate, Method, ModelError, Seconds, Validity};

/// `elapsed = fixed + per_checkpoint × checkpoints`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkModel {
    /// Time that does not depend on checkpoints.
    pub fixed: Coefficient,
    /// Time of one checkpoint.
    pub per_checkpoint: Coefficient,
    /// Records of the step.
    pub records: u64,
    /// Smallest and largest number of checkpoints measured.
    pub measured: (f64, f64),
}

impl ChunkModel {
    /// Fits runs of the same records with different item counts: `(item count, elapsed)`.
    ///
    /// # Errors
    /// [`ModelError::TooFewPoints`] below two runs, [`ModelError::NotIdentifiable`] where the item count never changes, [`ModelError::Noise`] where
    /// the runs show a negative cost.
    pub fn fit(records: u64, runs: &[(u64, Seconds)]) -> Result<Estimate<ChunkModel>, ModelError> {
        let mut rows = Vec::new();
        let mut values = Vec::new();
        for (items, elapsed) in runs {
            positive("item count", *items as f64)?;
            rows.push(vec![1.0, checkpoints(records, *items)]);
            values.push(not_negative("elapsed time", elapsed.0)?);
        }
        let fit = least_squares(&rows, &values, Sign::Any)?.value;
        let whats = ["the step without checkpoints", "a checkpoint"];
        if let Some((what, _)) = whats.into_iter().zip(&fit.coefficients).find(|(_, of)| of.value < 0.0) {
            return Err(ModelError::Noise { what });
        }
        let counts = || rows.iter().map(|row| row[1]);
        let measured = (counts().fold(f64::INFINITY, f64::min), counts().fold(0.0, f64::max));
        let model = ChunkModel { fixed: fit.coefficients[0], per_checkpoint: fit.coefficients[1], records, measured };
        Ok(Estimate::new(Method::ChunkModel, Validity::WithinData, model))
    }

    /// Predicts the elapsed time for an item count. With fewer checkpoints than were measured, it never falls below the time without checkpoints.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] for an item count of zero, [`ModelError::Extrapolation`] for more than ten times the largest number of
    /// checkpoints that was measured.
    pub fn elapsed(&self, items: u64) -> Result<Estimate<Seconds>, ModelError> {
        positive("item count", items as f64)?;
        let count = checkpoints(self.records, items);
        let limit = LINEAR_EXTRAPOLATION_MAX;
        if count > limit * self.measured.1 {
            let what = "number of checkpoints";
            return Err(ModelError::Extrapolation { what, asked: count, measured: self.measured.1, limit });
        }
        let time = self.fixed.value + self.per_checkpoint.value * count;
        Ok(Estimate::new(Method::ChunkModel, self.validity(items), Seconds(time)))
    }

    /// Returns the validity of an item count relative to the measured ones.
    fn validity(&self, items: u64) -> Validity {
        Validity::of_range(checkpoints(self.records, items), self.measured.0, self.measured.1)
    }

    /// Returns the smallest item count at which checkpoints take at most `share` of the elapsed time. The result needs at most ten times the
    /// measured number of checkpoints.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] for shares outside 0 to 1.
    pub fn item_count_for_overhead(&self, share: f64) -> Result<Estimate<u64>, ModelError> {
        crate::error::within("share of checkpoints", share, f64::MIN_POSITIVE, 1.0 - f64::EPSILON)?;
        let most = share / (1.0 - share) * self.fixed.value / self.per_checkpoint.value.max(f64::MIN_POSITIVE);
        let most = most.min(LINEAR_EXTRAPOLATION_MAX * self.measured.1);
        let items =
            crate::quantity::count_up(self.records as f64 / most.max(1.0).floor()).clamp(1, self.records.max(1));
        Ok(Estimate::new(Method::ChunkModel, self.validity(items), items))
    }
}

fn checkpoints(records: u64, items: u64) -> f64 {
    records.div_ceil(items.max(1)) as f64
}

/// Computes the interval between checkpoints with the smallest loss, to first order: `sqrt(2 c MTBF)` (Young 1974).
///
/// # Errors
/// [`ModelError`] for times that are not positive.
pub fn checkpoint_interval_young(cost: Seconds, between_failures: Seconds) -> Result<Estimate<Seconds>, ModelError> {
    positive("checkpoint cost", cost.0)?;
    positive("time between failures", between_failures.0)?;
    let interval = (2.0 * cost.0 * between_failures.0).sqrt();
    let text = "holds while a checkpoint costs far less than the time between failures";
    Ok(Estimate::new(Method::YoungInterval, Validity::Approximate(text), Seconds(interval)))
}

/// Computes the interval between checkpoints to higher order (Daly 2006, equation 37). If a checkpoint costs twice the time between failures
/// or more, the result is the time between failures.
///
/// # Errors
/// [`ModelError`] for times that are not positive.
pub fn checkpoint_interval_daly(cost: Seconds, between_failures: Seconds) -> Result<Estimate<Seconds>, ModelError> {
    let (c, m) = (positive("checkpoint cost", cost.0)?, positive("time between failures", between_failures.0)?);
    let ratio = c / (2.0 * m);
    let interval = if c < 2.0 * m { (2.0 * c * m).sqrt() * (1.0 + ratio.sqrt() / 3.0 + ratio / 9.0) - c } else { m };
    let text =
        "relative error of the lost time below 1 % while a checkpoint costs less than half the time between failures";
    Ok(Estimate::new(Method::DalyInterval, Validity::Approximate(text), Seconds(interval)))
}
