//! Results of a solver: by class, by station and by both.

use crate::{PerSecond, Seconds, Share};

/// Throughput, residence times, queues and utilization of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Throughput by class.
    pub throughput: Vec<PerSecond>,
    /// Residence time `[station][class]`, all visits together.
    pub residence: Vec<Vec<Seconds>>,
    /// Mean number present, in service included, `[station][class]`.
    pub queue: Vec<Vec<f64>>,
    /// Share of the station's servers that a class keeps busy, `[station][class]`; for a delay the mean number present.
    pub utilization: Vec<Vec<Share>>,
    /// Passes of the Linearizer; none for exact methods.
    pub passes: Option<usize>,
}

impl Solution {
    /// Returns the response time of a class, without think time.
    #[must_use]
    pub fn response(&self, class: usize) -> Seconds {
        self.residence.iter().map(|by_class| by_class[class]).sum()
    }

    /// Returns the utilization of a station by all classes.
    #[must_use]
    pub fn station_utilization(&self, station: usize) -> Share {
        self.utilization[station].iter().copied().sum()
    }

    /// Customers at a station, of all classes.
    #[must_use]
    pub fn station_queue(&self, station: usize) -> f64 {
        self.queue[station].iter().sum()
    }
}
