//! A subject against its ceiling.

use core::time::Duration;

/// One measured repetition.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Bytes that it got done, in the terms of its bar.
    pub bytes: u64,
    /// CPU time that it took.
    pub cpu: Duration,
}

impl Run {
    /// Bytes per CPU second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.cpu.as_secs_f64().max(1e-9)
    }
}

/// Result of [`compare()`].
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// Median of subject rate by ceiling rate, pair by pair.
    pub ratio: f64,
    /// Median rate of the subject, bytes per CPU second.
    pub subject: f64,
    /// Median rate of the ceiling, bytes per CPU second.
    pub ceiling: f64,
}

/// Alternates measurements of ceiling and subject and takes medians, so that a temporary slowdown of the machine affects both sides or is an outlier.
/// The first pair warms up and does not count.
pub fn compare(mut ceiling: impl FnMut() -> Run, mut subject: impl FnMut() -> Run) -> Comparison {
    const PAIRS: usize = 7;
    let pairs: Vec<(f64, f64)> = (0..=PAIRS).map(|_| (ceiling().rate(), subject().rate())).skip(1).collect();
    Comparison {
        ratio: median(pairs.iter().map(|(ceiling, subject)| subject / ceiling)),
        subject: median(pairs.iter().map(|pair| pair.1)),
        ceiling: median(pairs.iter().map(|pair| pair.0)),
    }
}

/// Returns the median; the higher of the two middle values for an even number, 0 for none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_pair_by_pair_without_the_first() {
        let runs = |rates: &'static [u64]| {
            let mut rates = rates.iter();
            move || Run { bytes: *rates.next().expect("eight pairs"), cpu: Duration::from_secs(1) }
        };
        // In the fifth pair the machine was half as fast for both sides.
        let found = compare(runs(&[1, 100, 100, 100, 50, 100, 100, 100]), runs(&[900, 20, 20, 20, 10, 20, 20, 20]));
        assert!((found.ratio - 0.2).abs() < 1e-9, "{found:?}");
        assert!((found.subject - 20.0).abs() < 1e-9, "{found:?}");
    }
}
