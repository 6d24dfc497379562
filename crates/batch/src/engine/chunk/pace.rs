//! Progress of the step or partition, for commands that show it.

use super::{ChunkRun, Place};
use crate::record::Pace;

impl ChunkRun<'_, '_> {
    /// Notes that reading begins, or continues after a rollback.
    pub(super) fn set_out(&mut self) {
        let (left, now) = (self.reader.left(), self.run.repository().now_ms());
        let begun = || Pace { began_ms: now, at_ms: now, ahead: left.map(|left| (left, left)) };
        self.place.pace().get_or_insert_with(begun);
        self.tell_left(left);
    }

    /// Updates the progress before a checkpoint. `left` is the remaining input, including the part that this chunk gave to another partition.
    pub(super) fn advance(&mut self, left: Option<u64>) {
        let (now_left, now) = (self.reader.left(), self.run.repository().now_ms());
        if let Some(pace) = self.place.pace() {
            let given = left.unwrap_or_default().saturating_sub(now_left.unwrap_or_default());
            let ahead = pace.ahead.zip(now_left);
            pace.ahead = ahead.map(|((whole, _), left)| (whole.saturating_sub(given).max(left), left));
            pace.at_ms = now;
        }
    }

    /// Publishes the amount of remaining input. A thread without work splits the partition with the largest amount.
    pub(super) fn tell_left(&self, left: Option<u64>) {
        if let Place::Partition(_, _, splits) = &*self.place {
            splits.straggler.set_left(left.unwrap_or_default());
        }
    }
}
