//! Results of a simulation run, with confidence intervals of the means.

use crate::fit::t95;
use crate::plan::Band;
use crate::{Seconds, Share};

/// A mean with its 95 % interval, from batch means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The mean.
    pub mean: f64,
    /// Half of the width of the interval.
    pub half_width: f64,
}

impl Sampled {
    /// Computes the mean of batches and its interval.
    pub(super) fn of(batches: &[f64]) -> Sampled {
        if batches.len() < 2 {
            return Sampled { mean: batches.first().copied().unwrap_or(f64::NAN), half_width: f64::INFINITY };
        }
        let count = batches.len() as f64;
        let mean = batches.iter().sum::<f64>() / count;
        let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        Sampled { mean, half_width: t95(batches.len() - 1) * deviation / count.sqrt() }
    }

    /// Returns whether a value lies within `half_widths` half widths of the mean.
    #[must_use]
    pub fn is_near(&self, value: f64, half_widths: f64) -> bool {
        (value - self.mean).abs() <= half_widths * self.half_width
    }
}

/// Results for a class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassOutcome {
    /// Transactions a second.
    pub throughput: Sampled,
    /// Response time in seconds.
    pub response: Sampled,
    /// Response times, ascending.
    times: Vec<f64>,
}

impl ClassOutcome {
    pub(super) fn new(throughput: Sampled, response: Sampled, mut times: Vec<f64>) -> ClassOutcome {
        times.sort_by(f64::total_cmp);
        ClassOutcome { throughput, response, times }
    }

    /// Transactions that were measured.
    #[must_use]
    pub fn count(&self) -> usize {
        self.times.len()
    }

    /// Returns the response time that a share of the transactions does not exceed; `None` for a class without transactions.
    #[must_use]
    pub fn percentile(&self, share: Share) -> Option<Seconds> {
        let rank = crate::quantity::count_up(share.0.clamp(0.0, 1.0) * self.times.len() as f64).max(1);
        let rank = usize::try_from(rank).unwrap_or(usize::MAX).min(self.times.len());
        self.times.get(rank.checked_sub(1)?).map(|time| Seconds(*time))
    }
}

/// Results for a station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationOutcome {
    /// Visits that ended, a second.
    pub visits: Sampled,
    /// Time of a visit in seconds, waiting and blocking included.
    pub residence: Sampled,
    /// Customers present.
    pub present: Sampled,
    /// Share of the servers that work; for a delay the number of customers.
    pub utilization: Sampled,
    /// Share of the servers that hold finished work which waits for room.
    pub blocked: Sampled,
    /// Share of the servers that work for each class.
    pub by_class: Vec<Sampled>,
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationOutcome {
    /// Results by class.
    pub classes: Vec<ClassOutcome>,
    /// Results by station.
    pub stations: Vec<StationOutcome>,
    /// Bands of the regulated class: since when each.
    pub bands: Vec<(Seconds, Band)>,
    /// Transactions that were measured.
    pub transactions: u64,
    /// Simulated time that was measured.
    pub elapsed: Seconds,
}
