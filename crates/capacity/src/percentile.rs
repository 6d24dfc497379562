//! Percentiles of response times from mean values.

use crate::error::{positive, within};
use crate::{Estimate, Method, ModelError, Seconds, Share, Validity};

/// Returns the time at which `tail`, which falls from 1 to 0, reaches `1 - share`. `scale` is a time of the right order of magnitude.
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

/// Calculates a percentile of a response time that is the sum of residence times, each taken as exponential and independent of the others.
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

/// A mean residence time with its variance, in seconds and seconds squared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Residence {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

/// Calculates a percentile of the sum of independent residence times, from the gamma distribution with their mean and variance.
pub(crate) fn percentile_of_sum(residence: &[Residence], share: f64) -> f64 {
    let mean: f64 = residence.iter().map(|time| time.mean).sum();
    let variance: f64 = residence.iter().map(|time| time.variance).sum();
    if mean <= 0.0 {
        return 0.0;
    }
    // Without variance every response takes the mean; far below it the quantile is the mean too, to all digits that are shown.
    if variance <= 1e-9 * mean * mean {
        return mean;
    }
    let (shape, scale) = (mean * mean / variance, variance / mean);
    quantile_of_tail(share, mean, |t| 1.0 - gamma_share(shape, t / scale))
}

/// Calculates the squared coefficients of variation of the waiting times of a closed class with exponential service, by station.
///
/// A customer that arrives sees the station as it is with one customer fewer (arrival theorem), and waits for those whom it sees: the variance
/// is `S^2 Q + S^2 Var(Q)`. The moments of `Q` follow from `p(j | n) = D X(n) p(j - 1 | n - 1)`, whose sums have positive terms only. The queue
/// of several servers is that of one server of their speed (Seidmann). Near saturation the queue hardly varies, so neither do response times:
/// an exponential residence time would put the 95th percentile at three times the mean.
pub(crate) fn waiting_variations(stations: &[crate::Station], users: u32, think: f64) -> Vec<f64> {
    let parts: Vec<(f64, f64)> = stations
        .iter()
        .map(|station| {
            let demand = station.demands[0].0;
            match &station.servers {
                crate::Servers::Delay => (0.0, demand),
                crate::Servers::Count(servers) => {
                    let queue = demand / f64::from(*servers);
                    (queue, demand - queue)
                }
                crate::Servers::Rates(rates) => {
                    let queue = demand / rates.last().copied().unwrap_or(1.0).max(1.0);
                    (queue, demand - queue)
                }
            }
        })
        .collect();
    let delays: f64 = parts.iter().map(|(_, delay)| delay).sum();
    // Mean and second moment of each queue, with as many customers as were added.
    let mut moments = vec![(0.0_f64, 0.0_f64); parts.len()];
    let mut seen = moments.clone();
    for customers in 1..=users {
        seen.clone_from(&moments);
        let residence: f64 = parts.iter().zip(&moments).map(|((queue, _), (mean, _))| queue * (1.0 + mean)).sum();
        let rate = f64::from(customers) / (think + delays + residence);
        for ((queue, _), (mean, square)) in parts.iter().zip(&mut moments) {
            let busy = rate * queue;
            (*mean, *square) = (busy * (1.0 + *mean), busy * (*square + 2.0 * *mean + 1.0));
        }
    }
    seen.into_iter()
        .map(|(mean, square)| {
            let spread = (square - mean * mean).max(0.0);
            if mean > 0.0 { (mean + spread) / (mean * mean) } else { 0.0 }
        })
        .collect()
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

/// Calculates `ln(gamma(x))` for `x` above 0 by Lanczos' series (g = 7, n = 9).
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
