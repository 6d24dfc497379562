//! Time as a power of size: whether a program streams.

use super::least_squares::{Coefficient, Sign, least_squares};
use crate::error::positive;
use crate::{Estimate, Method, ModelError, Validity};

/// Exponent above which a program does not stream: time grows faster than size.
const NOT_STREAMING: f64 = 1.15;

/// Verdict whether time grows in proportion to size.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Streaming {
    /// The exponent is at most 1.15.
    Streams,
    /// The exponent is above 1.15 over the whole range.
    DoesNotStream,
    /// The whole range looks linear or not, but between two sizes the exponent jumps above 2: memory runs out, or a table fills.
    Cliff {
        /// Index of the size before the jump.
        after: usize,
    },
}

/// `time = factor size^exponent`.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerFit {
    /// Time of size one.
    pub factor: f64,
    /// Exponent, with its 95 % confidence interval.
    pub exponent: Coefficient,
    /// Exponents between neighbouring sizes.
    pub local: Vec<f64>,
    /// The verdict.
    pub streaming: Streaming,
}

/// Fits a power law by least squares of logarithms. Sizes are in ascending order.
///
/// # Errors
/// [`ModelError::TooFewPoints`] below two points, [`ModelError`] for sizes or times that are not positive or do not ascend.
pub fn fit_power(points: &[(f64, f64)]) -> Result<Estimate<PowerFit>, ModelError> {
    if points.len() < 2 {
        return Err(ModelError::TooFewPoints { needed: 2, found: points.len() });
    }
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for (size, time) in points {
        rows.push(vec![1.0, positive("size", *size)?.ln()]);
        values.push(positive("time", *time)?.ln());
    }
    let fit = least_squares(&rows, &values, Sign::Any)?.value;
    let mut local = Vec::new();
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        if to.0 <= from.0 {
            return Err(ModelError::OutOfRange { what: "size", found: to.0, least: from.0, most: f64::MAX });
        }
        local.push((to.1 / from.1).ln() / (to.0 / from.0).ln());
    }
    let exponent = fit.coefficients[1];
    let cliff = local.iter().enumerate().skip(1).find(|(at, slope)| **slope > 2.0 && **slope > 2.0 * local[at - 1]);
    let streaming = match cliff {
        Some((after, _)) => Streaming::Cliff { after },
        None if exponent.value > NOT_STREAMING => Streaming::DoesNotStream,
        None => Streaming::Streams,
    };
    let fit = PowerFit { factor: fit.coefficients[0].value.exp(), exponent, local, streaming };
    Ok(Estimate::new(Method::PowerFit, Validity::WithinData, fit))
}
