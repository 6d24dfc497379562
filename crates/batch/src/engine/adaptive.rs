//! Adaptive chunk size, based on the cost of commits.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::step::ns;
use crate::artifact::Answer;
use crate::error::Thrown;

/// Step property that makes its item-count a maximum: the amount of work that a rollback or a crash may repeat.
pub(super) const PROPERTY: &str = "quayline.redo-budget-ms";
/// Items of the first chunk.
const FIRST: u32 = 16;
/// Reciprocal of the maximum share of a chunk's time that its checkpoint may take.
const PARTS: u64 = 100;

/// The size of the next chunk. It doubles while checkpoints take more than 1 % of the time, and halves when a chunk takes longer than
/// the budget.
#[derive(Debug)]
pub(super) struct Adaptive {
    budget: Duration,
    most: u32,
    count: u32,
    begin: Instant,
    /// Time of checkpoints and waits in nanoseconds at the beginning of the chunk.
    overhead_ns: u64,
}

impl Adaptive {
    /// Returns the option of a step, if it is set.
    pub(super) fn of(properties: &BTreeMap<String, String>, most: u32) -> Answer<Option<Self>> {
        let Some(text) = properties.get(PROPERTY).filter(|text| !text.is_empty()) else { return Ok(None) };
        let wrong = || {
            Thrown::new(
                "quayline.Configuration",
                format!("property {PROPERTY} of the step is not a number of milliseconds from 1"),
            )
            .hint("write digits, such as 1000; chunks then take about so long, and have at most item-count items")
        };
        let budget = text.parse().ok().filter(|ms| *ms > 0).map(Duration::from_millis).ok_or_else(wrong)?;
        Ok(Some(Adaptive { budget, most, count: FIRST.min(most), begin: Instant::now(), overhead_ns: 0 }))
    }

    /// Items of the chunk that begins.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn begin(&mut self, overhead_ns: u64) {
        (self.begin, self.overhead_ns) = (Instant::now(), overhead_ns);
    }

    /// Records a chunk of `items`; `overhead_ns` as for [`Adaptive::begin`].
    pub(super) fn end(&mut self, items: u32, overhead_ns: u64) {
        self.learn(items, ns(self.begin), overhead_ns.saturating_sub(self.overhead_ns));
    }

    fn learn(&mut self, items: u32, elapsed_ns: u64, overhead_ns: u64) {
        let budget_ns = u64::try_from(self.budget.as_nanos()).unwrap_or(u64::MAX);
        if elapsed_ns > budget_ns {
            self.count = (self.count / 2).max(1);
        } else if items >= self.count
            && overhead_ns.saturating_mul(PARTS) > elapsed_ns
            && elapsed_ns.saturating_mul(2) < budget_ns
        {
            self.count = self.count.saturating_mul(2).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adaptive(ms: &str, most: u32) -> Adaptive {
        let properties = BTreeMap::from([(PROPERTY.to_owned(), ms.to_owned())]);
        Adaptive::of(&properties, most).expect("the property is right").expect("the property is there")
    }

    #[test]
    fn chunks_grow_while_commits_are_dear_and_shrink_when_they_take_too_long() {
        const MS: u64 = 1_000_000;
        let mut size = adaptive("1000", 5_000);
        let sizes: Vec<u32> = (0..12)
            .map(|_| {
                let count = size.count();
                // 10 us for an item, 3 ms for a commit.
                size.learn(count, u64::from(count) * 10_000 + 3 * MS, 3 * MS);
                count
            })
            .collect();
        assert_eq!(sizes, [16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 5_000, 5_000, 5_000]);
        size.learn(5_000, 1_500 * MS, 3 * MS);
        assert_eq!(size.count(), 2_500);
        // The time of a chunk of half the size does not predict that of larger ones.
        size.learn(1_000, 20 * MS, 10 * MS);
        assert_eq!(size.count(), 2_500);
        assert!(Adaptive::of(&BTreeMap::from([(PROPERTY.to_owned(), "fast".to_owned())]), 10).is_err());
    }
}
