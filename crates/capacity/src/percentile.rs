//! Percentiles of response times from mean values.

use crate::error::{positive, within};
use crate::{Estimate, Method, ModelError, Seconds, Share, Validity};

/// The time at which `tail`, which falls from 1 to 0, reaches `1 - share`. `scale` is a time of the right size.
pub(crate) fn quantile_of_tail(share: f64, scale: f64, tail: impl Fn(f64) -> f64) -> f64 {
    if share <= 0.0 {
        return 0.0;
    }
    let target = 1.0 - share;
    let (mut low, mut high) = (0.0, scale);
    while tail(high) > target && high < f64::MAX / 4.0 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if tail(middle) > target { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Percentile of a response time that is the sum of residence times, each taken as exponential and independent of the others.
///
/// The sum's distribution has a form without a loss of digits only for rates that differ, so this takes the two-moment fit that is exact
/// for one station: a gamma distribution of the same mean and variance.
///
/// # Errors
/// [`ModelError::OutOfRange`] for a share outside 0 to 1, and where no residence time is above zero.
pub fn response_percentile(residence: &[Seconds], share: Share) -> Result<Estimate<Seconds>, ModelError> {
    within("share of a percentile", share.0, 0.0, 1.0 - f64::EPSILON)?;
    let mean: f64 = residence.iter().map(|time| time.0).sum();
    positive("response time", mean)?;
    let variance: f64 = residence.iter().map(|time| time.0 * time.0).sum();
    let shape = mean * mean / variance;
    let scale = variance / mean;
    let time = quantile_of_tail(share.0, mean, |t| 1.0 - gamma_share(shape, t / scale));
    let text = "residence times are taken as exponential and independent; the error is not measured";
    Ok(Estimate::new(Method::Hypoexponential, Validity::Approximate(text), Seconds(time)))
}

/// Regularised lower incomplete gamma function: by its series below `shape + 1`, else by its continued fraction (Lentz).
fn gamma_share(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let scale = shape * x.ln() - x - ln_gamma(shape);
    if x < shape + 1.0 {
        let (mut term, mut sum, mut at) = (1.0 / shape, 1.0 / shape, shape);
        for _ in 0..10_000 {
            at += 1.0;
            term *= x / at;
            sum += term;
            if term < sum * 1e-16 {
                break;
            }
        }
        return (sum.ln() + scale).exp().min(1.0);
    }
    let tiny = 1e-300;
    let mut b = x + 1.0 - shape;
    let mut c = 1.0 / tiny;
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..10_000_u32 {
        let i = f64::from(i);
        let a = -i * (i - shape);
        b += 2.0;
        d = a * d + b;
        d = if d.abs() < tiny { tiny } else { d };
        c = b + a / c;
        c = if c.abs() < tiny { tiny } else { c };
        d = 1.0 / d;
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    1.0 - (scale + h.ln()).exp()
}

/// `ln(gamma(x))` for `x` above 0, by Lanczos' series (g = 7, n = 9).
pub(crate) fn ln_gamma(x: f64) -> f64 {
    const SERIES: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let mut sum = 0.999_999_999_999_809_9;
    let x = x - 1.0;
    for (i, factor) in (1_u32..).zip(SERIES) {
        sum += factor / (x + f64::from(i));
    }
    let t = x + 7.5;
    0.5 * (2.0 * core::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}
