//! Distribution of sizes or times in a fixed table.

/// Counts of `u64` values in buckets whose width grows with the value: exact below 32, then 16 buckets for each doubling, so a
/// percentile is off by at most 1 in 32 of its value. It takes 8 KiB once; recording allocates nothing. The caller chooses the
/// unit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Histogram {
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Buckets per doubling, as a power of two.
const BITS: u32 = 4;
const PER_DOUBLING: usize = 1 << BITS;
/// Doublings that have their own buckets: those from `PER_DOUBLING` up to 2^63, and the values below it.
const BUCKETS: usize = (64 - BITS as usize + 1) * PER_DOUBLING;

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: Box::new([0; BUCKETS]), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Creates an empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Histogram::default()
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Adds a value `times` times, such as a batch's mean time for each of its records.
    #[inline]
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.buckets[bucket(value)] += times;
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Histogram) {
        for (own, other) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *own += other;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact mean; `None` if empty.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the exact smallest value; `None` if empty.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the exact largest value; `None` if empty.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the value that `percent` (0 to 100) of the values do not exceed; `None` if empty. 100 gives the largest value
    /// exactly. `percent` has up to six decimals.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = rank(percent, self.count);
        if rank == self.count {
            return Some(self.max);
        }
        let mut seen = 0;
        let found = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let (low, width) = range(found.unwrap_or(BUCKETS - 1));
        Some((low + width / 2).clamp(self.min, self.max))
    }
}

/// Returns the rank, from 1, of the value that `percent` (0 to 100) of `count` values do not exceed; 0 for no values. It calculates in millionths of a
/// percent: `99.9 / 100.0` is more than 0.999, so the rank of 1,000 values would be 1,000.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100 million")]
pub(crate) fn rank(percent: f64, count: u64) -> u64 {
    let millionths = (percent.clamp(0.0, 100.0) * 1e6).round() as u64;
    let rank = (u128::from(millionths) * u128::from(count)).div_ceil(100_000_000);
    u64::try_from(rank).unwrap_or(count).max(1).min(count)
}

fn bucket(value: u64) -> usize {
    // Values below 2 × PER_DOUBLING have a bucket each. Above, the highest BITS + 1 bits choose: the position of the highest one
    // gives the doubling, the others the bucket in it.
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    let mantissa = usize::try_from(value >> shift).expect("at most BITS + 1 bits are left");
    shift as usize * PER_DOUBLING + mantissa
}

/// Returns the lowest value and the width of a bucket.
fn range(bucket: usize) -> (u64, u64) {
    let shift = (bucket / PER_DOUBLING).saturating_sub(1);
    let mantissa = (bucket - shift * PER_DOUBLING) as u64;
    (mantissa << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_cover_all_values_without_gap() {
        let mut next = 0u64;
        for i in 0..BUCKETS {
            let (low, width) = range(i);
            assert_eq!((low, bucket(low)), (next, i));
            assert_eq!(bucket(low + (width - 1)), i);
            next = low.wrapping_add(width);
        }
        assert_eq!(next, 0, "the last bucket ends at 2^64");
    }

    #[test]
    fn an_empty_one_has_no_numbers() {
        let empty = Histogram::new();
        assert_eq!((empty.mean(), empty.min(), empty.max(), empty.percentile(50.0)), (None, None, None, None));
    }

    /// 99.9 % of 1,000 values are 999: p99.9 was the outlier, because `99.9 / 100.0 * 1000.0` is more than 999.
    #[test]
    fn one_outlier_of_a_thousand_is_beyond_the_last_permille() {
        let mut times = Histogram::new();
        (1..1_000).for_each(|value| times.record(value));
        times.record(1_000_000);
        let found = times.percentile(99.9).unwrap();
        assert!(found.abs_diff(999) <= 999 / 32, "{found}");
        assert_eq!(times.percentile(100.0), Some(1_000_000));
        let ranks = [(99.9, 1_000), (99.9, 1_001), (99.9, 10_000), (7.0, 100), (0.0, 5), (100.0, 5), (50.0, 0)];
        assert_eq!(ranks.map(|(percent, count)| rank(percent, count)), [999, 1_000, 9_990, 7, 1, 5, 0]);
        assert_eq!(rank(99.9, u64::MAX / 1_000 * 1_000), u64::MAX / 1_000 * 999);
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_values(values in prop::collection::vec(prop_oneof![0..40u64, any::<u64>(), 900..1100u64], 1..200), thousandths in 0..=100_000usize) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let (mut whole, mut half) = (Histogram::new(), Histogram::new());
            for (i, value) in values.iter().enumerate() {
                if i % 2 == 0 { whole.record(*value) } else { half.record(*value) }
            }
            whole.merge(&half);
            let rank = (1..sorted.len()).find(|rank| rank * 100_000 >= thousandths * sorted.len()).unwrap_or(sorted.len());
            let exact = sorted[rank - 1];
            let found = whole.percentile(thousandths as f64 / 1e3).unwrap();
            prop_assert!(found.abs_diff(exact) <= exact / 32, "{found} {exact}");
            prop_assert_eq!(whole.min(), sorted.first().copied());
            prop_assert_eq!(whole.percentile(100.0), sorted.last().copied());
            prop_assert_eq!(whole.count(), sorted.len() as u64);
        }
    }
}
