//! Correction of coordinated omission: a driver that waits for an answer does not send the requests that fall due in the meantime, so
//! the long response times of those requests are missing from its recording.
//!
//! Prefer times that start when a request was due. Correct only recordings without such times, and never twice.

use crate::error::positive;
use crate::{Estimate, Method, ModelError, Seconds, Share, Validity};

/// Response times with how often each was seen, in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    times: Vec<(f64, u64)>,
}

/// Entries that a correction may add.
const ENTRIES_MAX: usize = 10_000_000;

impl Recording {
    /// Sorts and keeps `times` with their counts.
    ///
    /// # Errors
    /// [`ModelError`] for times that are not positive numbers.
    pub fn new(times: &[(Seconds, u64)]) -> Result<Recording, ModelError> {
        let mut kept = Vec::with_capacity(times.len());
        for (time, count) in times {
            kept.push((positive("response time", time.0)?, *count));
        }
        kept.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Recording { times: kept })
    }

    /// Returns the number of responses.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.times.iter().map(|(_, count)| count).sum()
    }

    /// Returns the mean of the times; `None` for an empty recording.
    #[must_use]
    pub fn mean(&self) -> Option<Seconds> {
        let total: f64 = self.times.iter().map(|(time, count)| time * *count as f64).sum();
        (self.count() > 0).then(|| Seconds(total / self.count() as f64))
    }

    /// Returns the smallest time that a share of the responses does not exceed; `None` for an empty recording.
    #[must_use]
    pub fn percentile(&self, share: Share) -> Option<Seconds> {
        let wanted = crate::quantity::count_up(share.0 * self.count() as f64).max(1);
        let mut seen = 0;
        for (time, count) in &self.times {
            seen += count;
            if seen >= wanted {
                return Some(Seconds(*time));
            }
        }
        self.times.last().map(|(time, _)| Seconds(*time))
    }

    /// Adds the requests that a driver omitted although it should have sent one every `interval`: for each longer response time, the times that the
    /// omitted requests would have had, `interval` apart.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`] for more than ten million entries.
    pub fn corrected(&self, interval: Seconds) -> Result<Estimate<Recording>, ModelError> {
        let step = positive("interval", interval.0)?;
        let mut times = self.times.clone();
        for (time, count) in &self.times {
            // Each time is calculated from the first: repeated subtraction loses the last request of a long stall.
            for omitted in 1_u32.. {
                let left = time - f64::from(omitted) * step;
                if left < step - time * 1e-12 {
                    break;
                }
                if times.len() >= ENTRIES_MAX {
                    let needed = self.times.iter().map(|(time, _)| time / step).sum();
                    let limit = ENTRIES_MAX as f64;
                    return Err(ModelError::TooLarge { what: "entries of a corrected recording", needed, limit });
                }
                times.push((left, *count));
            }
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let text = "the omitted requests are assumed to have been sent on time";
        Ok(Estimate::new(Method::CoordinatedOmission, Validity::Approximate(text), Recording { times }))
    }
}
