//! Audit of predictions: their errors relative to later measurements.

use crate::error::positive;
use crate::{Estimate, Method, ModelError, Origin, PerSecond, Seconds, Share, Validity};

/// A load that was predicted or measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadFigures {
    /// Users.
    pub users: f64,
    /// Transactions a second.
    pub throughput: PerSecond,
    /// Mean response time.
    pub response: Seconds,
    /// 95th percentile of the response time, if it is known.
    pub percentile: Option<Seconds>,
}

/// Relative errors of a prediction: predicted over measured, minus one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Users.
    pub users: f64,
    /// Relative error of the throughput.
    pub throughput: f64,
    /// Relative error of the mean response time.
    pub response: f64,
    /// Relative error of the 95th percentile, if both are known.
    pub percentile: Option<f64>,
    /// Relative deviation of the measured numbers from Little's law: `X (R + Z) / N - 1`, with `N` the number of users.
    pub law: f64,
}

/// Result of an audit.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// Errors by load.
    pub scores: Vec<Score>,
    /// Mean absolute error of the throughput.
    pub throughput: Share,
    /// Mean absolute error of the response time.
    pub response: Share,
    /// Largest absolute errors.
    pub worst: (Share, Share),
    /// Measured loads that no prediction is for.
    pub unmatched: Vec<f64>,
}

/// Relative break of Little's law above which a measurement cannot be right: users, throughput and response time were not of one run.
pub const LAW_MAX: f64 = 0.1;

/// Scores predictions by the measured loads of the same users: the nearest prediction, less than half a user away.
///
/// # Errors
/// [`ModelError::TooFewPoints`] if no measured load was predicted, [`ModelError`] for numbers that are not positive.
pub fn audit(
    predicted: &[LoadFigures],
    measured: &[LoadFigures],
    think: Seconds,
) -> Result<Estimate<Audit>, ModelError> {
    let nearest = |came: &LoadFigures| {
        let off = |forecast: &&LoadFigures| (forecast.users - came.users).abs();
        predicted.iter().min_by(|a, b| off(a).total_cmp(&off(b))).filter(|forecast| off(forecast) < 0.5).copied()
    };
    audit_by(nearest, measured, think)
}

/// Scores the predictions that `forecast` returns for measured loads.
///
/// # Errors
/// As for [`audit`].
pub fn audit_by(
    forecast: impl Fn(&LoadFigures) -> Option<LoadFigures>,
    measured: &[LoadFigures],
    think: Seconds,
) -> Result<Estimate<Audit>, ModelError> {
    let mut scores = Vec::new();
    let mut unmatched = Vec::new();
    for came in measured {
        positive("users", came.users)?;
        positive("measured throughput", came.throughput.0)?;
        positive("measured response time", came.response.0)?;
        let Some(forecast) = forecast(came) else {
            unmatched.push(came.users);
            continue;
        };
        let percentile = forecast.percentile.zip(came.percentile).map(|(forecast, came)| forecast.0 / came.0 - 1.0);
        scores.push(Score {
            users: came.users,
            throughput: forecast.throughput.0 / came.throughput.0 - 1.0,
            response: forecast.response.0 / came.response.0 - 1.0,
            percentile: percentile.filter(|error| error.is_finite()),
            law: came.throughput.0 * (came.response.0 + think.0) / came.users - 1.0,
        });
    }
    if scores.is_empty() {
        return Err(ModelError::TooFewPoints { needed: 1, found: 0 });
    }
    let count = scores.len() as f64;
    let mean = |of: fn(&Score) -> f64| Share(scores.iter().map(|score| of(score).abs()).sum::<f64>() / count);
    let worst = |of: fn(&Score) -> f64| Share(scores.iter().map(|score| of(score).abs()).fold(0.0, f64::max));
    let audit = Audit {
        throughput: mean(|score| score.throughput),
        response: mean(|score| score.response),
        worst: (worst(|score| score.throughput), worst(|score| score.response)),
        scores,
        unmatched,
    };
    Ok(Estimate::new(Method::Audit, Validity::WithinData, audit).from_inputs(Origin::Measured))
}

/// Returns the prediction for a load between two predicted numbers of users, on the line between them. `None` outside of all predictions.
///
/// A load of less than one user is one user who is there for a part of the time: it has the response time of one user, and that part of the
/// throughput. The same holds for a load that is less than half a user below the smallest prediction.
#[must_use]
pub fn interpolated(predicted: &[LoadFigures], users: f64) -> Option<LoadFigures> {
    let mut sorted: Vec<&LoadFigures> = predicted.iter().collect();
    sorted.sort_by(|a, b| a.users.total_cmp(&b.users));
    let above = sorted.iter().position(|load| load.users >= users)?;
    let high = sorted[above];
    let Some(low) = above.checked_sub(1).map(|below| sorted[below]) else {
        let throughput = PerSecond(high.throughput.0 * users / high.users);
        return (high.users <= 1.0 || high.users - users < 0.5).then_some(LoadFigures { users, throughput, ..*high });
    };
    let part = (users - low.users) / (high.users - low.users);
    let between = |low: f64, high: f64| low + part * (high - low);
    Some(LoadFigures {
        users,
        throughput: PerSecond(between(low.throughput.0, high.throughput.0)),
        response: Seconds(between(low.response.0, high.response.0)),
        percentile: low.percentile.zip(high.percentile).map(|(low, high)| Seconds(between(low.0, high.0))),
    })
}

/// Audits before drift is judged.
const HISTORY_LEAST: usize = 3;

/// Returns true if an error differs from those of earlier audits by more than twice their median and more than a percent. `None` with fewer
/// than three earlier audits.
#[must_use]
pub fn drifts(history: &[f64], now: f64) -> Option<bool> {
    if history.len() < HISTORY_LEAST {
        return None;
    }
    let mut sorted = history.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    Some(now > 2.0 * median && now > 0.01)
}
