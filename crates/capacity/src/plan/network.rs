//! Capacity per rated unit: transactions a second and unit, their mix, their size, and TLS.

use crate::error::{not_negative, positive, within};
use crate::{CapacityUnits, Estimate, Method, ModelError, PerSecond, Share, Validity};

const FIXTURE: &str = "metric of the source's machines; a primitive covers only a part of a real transaction";

/// Transactions a second of a machine: rating × share × metric.
///
/// # Errors
/// [`ModelError`] for negative numbers.
pub fn capacity_rate(rating: CapacityUnits, share: Share, metric: f64) -> Result<Estimate<PerSecond>, ModelError> {
    positive("rating", rating.0)?;
    within("share of the machine", share.0, 0.0, 1.0)?;
    not_negative("capacity metric", metric)?;
    let rate = PerSecond(rating.0 * share.0 * metric);
    Ok(Estimate::new(Method::NormalisedCapacity, Validity::RuleOfSource(FIXTURE), rate))
}

/// Computes the share of a machine that a rate needs: rate / (rating × metric).
///
/// # Errors
/// [`ModelError`] for ratings or metrics that are not positive.
pub fn required_utilization(
    rate: PerSecond,
    rating: CapacityUnits,
    metric: f64,
) -> Result<Estimate<Share>, ModelError> {
    not_negative("rate", rate.0)?;
    let share = rate.0 / (positive("rating", rating.0)? * positive("capacity metric", metric)?);
    Ok(Estimate::new(Method::NormalisedCapacity, Validity::RuleOfSource(FIXTURE), Share(share)))
}

/// One kind of transaction of a mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixItem {
    /// Rate of the item.
    pub rate: PerSecond,
    /// Units that one a second needs.
    pub cost: CapacityUnits,
}

/// Units that a mix needs: the sum of rate × cost.
///
/// # Errors
/// [`ModelError`] for negative numbers.
pub fn mix_need(mix: &[MixItem]) -> Result<Estimate<CapacityUnits>, ModelError> {
    let mut need = 0.0;
    for item in mix {
        need += not_negative("rate", item.rate.0)? * not_negative("cost", item.cost.0)?;
    }
    Ok(Estimate::new(Method::NormalisedCapacity, Validity::RuleOfSource(FIXTURE), CapacityUnits(need)))
}

/// Cost by size: units a transaction and second, `fixed + per_unit × size`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeFit {
    /// Cost at size zero.
    pub fixed: f64,
    /// Cost for each unit of size.
    pub per_unit: f64,
    /// The two measured sizes.
    pub measured: (f64, f64),
}

impl SizeFit {
    /// Returns the capacity metric at a size: transactions a second and unit.
    ///
    /// # Errors
    /// [`ModelError::Extrapolation`] for more than ten times the larger size.
    pub fn metric(&self, size: f64) -> Result<Estimate<f64>, ModelError> {
        let (least, most) = self.measured;
        let limit = crate::fit::LINEAR_EXTRAPOLATION_MAX;
        if not_negative("size", size)? > limit * most {
            return Err(ModelError::Extrapolation { what: "size", asked: size, measured: most, limit });
        }
        let validity = Validity::OurRule(TWO_POINTS).weaker(Validity::of_range(size, least, most));
        Ok(Estimate::new(Method::NormalisedCapacity, validity, 1.0 / (self.fixed + self.per_unit * size)))
    }
}

/// Known limitation of a line through two points.
const TWO_POINTS: &str = "two points; their error is unknown";

/// Fits fixed and per-size cost through two measured capacity metrics: `(size, transactions a second and unit)`.
///
/// # Errors
/// [`ModelError`] for equal sizes or metrics that are not positive.
pub fn size_fit(small: (f64, f64), large: (f64, f64)) -> Result<Estimate<SizeFit>, ModelError> {
    let (low, high) = (1.0 / positive("capacity metric", small.1)?, 1.0 / positive("capacity metric", large.1)?);
    positive("difference of sizes", large.0 - small.0)?;
    let per_unit = (high - low) / (large.0 - small.0);
    let fit = SizeFit { fixed: low - per_unit * small.0, per_unit, measured: (small.0, large.0) };
    Ok(Estimate::new(Method::NormalisedCapacity, Validity::OurRule(TWO_POINTS), fit))
}

/// Load of TLS handshakes on a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TlsPlan {
    /// Share of the machine.
    pub share: Share,
    /// True if offloading handshakes would help: only full handshakes include the operation that a device takes over.
    pub offload_helps: bool,
    /// Devices for the full handshakes, by the rate of one.
    pub devices: u64,
}

/// Computes the share of a machine for full and resumed handshakes, and the number of devices that would take the full ones.
///
/// # Errors
/// [`ModelError`] for metrics or ratings that are not positive.
pub fn tls_plan(
    full: PerSecond,
    resumed: PerSecond,
    full_metric: f64,
    resumed_metric: f64,
    rating: CapacityUnits,
    device_rate: PerSecond,
) -> Result<Estimate<TlsPlan>, ModelError> {
    not_negative("full handshakes", full.0)?;
    not_negative("resumed handshakes", resumed.0)?;
    let units = full.0 / positive("capacity metric of full handshakes", full_metric)?
        + resumed.0 / positive("capacity metric of resumed handshakes", resumed_metric)?;
    let devices = crate::quantity::count_up(full.0 / positive("rate of a device", device_rate.0)?);
    let share = Share(units / positive("rating", rating.0)?);
    let plan = TlsPlan { share, offload_helps: full.0 > 0.0, devices };
    Ok(Estimate::new(Method::TlsCapacity, Validity::RuleOfSource(FIXTURE), plan))
}

/// Units that a feature adds to a transaction a second: the difference of the costs with and without it. Two metrics of one workload, one
/// with a new connection or a handshake each time, give the cost of the connection.
///
/// # Errors
/// [`ModelError`] for metrics that are not positive.
pub fn added_cost(with: f64, without: f64) -> Result<Estimate<CapacityUnits>, ModelError> {
    let cost = 1.0 / positive("capacity metric", with)? - 1.0 / positive("capacity metric", without)?;
    let text = "difference of two printed metrics of one workload";
    Ok(Estimate::new(Method::NormalisedCapacity, Validity::OurRule(text), CapacityUnits(cost)))
}
