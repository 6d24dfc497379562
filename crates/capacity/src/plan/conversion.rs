//! Costs of one machine on another: by one rating, or by a vector of kernels.

use crate::error::{not_negative, positive, within};
use crate::{Estimate, Method, ModelError, Seconds, Share, Validity};

/// A machine's rating for a kind of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostRating {
    /// Throughput ratio of the whole machine.
    pub rating: f64,
    /// Engines (processors) that it has.
    pub engines: u32,
}

impl HostRating {
    /// Calculates the rating of one engine.
    fn per_engine(self) -> Result<f64, ModelError> {
        Ok(positive("rating", self.rating)? / positive("engines", f64::from(self.engines))?)
    }
}

/// Computes the CPU time on the target: the base's time times base rating per engine over target rating per engine. The ratio is not rounded;
/// documents that round it to two digits differ by up to a percent.
///
/// # Errors
/// [`ModelError`] for ratings or engines that are not positive.
pub fn convert_by_rating(cost: Seconds, base: HostRating, target: HostRating) -> Result<Estimate<Seconds>, ModelError> {
    not_negative("cost", cost.0)?;
    let ratio = base.per_engine()? / target.per_engine()?;
    let text = "one rating for one kind of work; others may differ by a third";
    Ok(Estimate::new(Method::RatingConversion, Validity::Approximate(text), Seconds(cost.0 * ratio)))
}

/// A kernel of the host profile: its share of the cost and its rate on both machines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelShare {
    /// Share of the CPU time.
    pub share: Share,
    /// Operations a second on the base.
    pub base: f64,
    /// Operations a second on the target.
    pub target: f64,
}

/// Projects the CPU time to the target with a vector of kernels. The error band is the smallest and the largest result of any single kernel.
///
/// # Errors
/// [`ModelError::OutOfRange`] if the shares do not add up to 1 within 1 %, [`ModelError`] for rates that are not positive.
pub fn convert_by_kernels(
    cost: Seconds,
    kernels: &[KernelShare],
) -> Result<Estimate<(Seconds, Seconds, Seconds)>, ModelError> {
    not_negative("cost", cost.0)?;
    let (mut sum, mut ratio) = (0.0, 0.0);
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for kernel in kernels {
        let here = positive("rate on the base", kernel.base)? / positive("rate on the target", kernel.target)?;
        let share = within("share of a kernel", kernel.share.0, 0.0, 1.0)?;
        sum += share;
        ratio += share * here;
        if share > 0.0 {
            least = least.min(here);
            most = most.max(here);
        }
    }
    within("sum of shares", sum, 0.99, 1.01)?;
    let band = (Seconds(cost.0 * least), Seconds(cost.0 * ratio / sum), Seconds(cost.0 * most));
    let text = "the band is that of the kernels; work that none of them resembles lies outside";
    Ok(Estimate::new(Method::VectorConversion, Validity::Approximate(text), band))
}

/// A difference to a baseline, both ways, since documents mix them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// New over base, minus one.
    pub relative: Share,
    /// New minus base, in the unit of both.
    pub absolute: f64,
}

/// Computes the overhead of `new` over `base`.
///
/// # Errors
/// [`ModelError`] for a base that is not positive.
pub fn relative_overhead(base: f64, new: f64) -> Result<Estimate<Overhead>, ModelError> {
    positive("baseline", base)?;
    not_negative("measurement", new)?;
    let overhead = Overhead { relative: Share(new / base - 1.0), absolute: new - base };
    Ok(Estimate::exact(Method::Overhead, overhead))
}
