//! Processors that take the items of a chunk together.
//!
//! The results of such a processor may be larger than its items. The engine therefore processes the first items of a step separately and measures
//! both. From these bytes it predicts when the waiting items fill the chunk. It processes them at that point and continues the chunk if it has
//! room.

use super::super::fault::Remedy;
use super::super::origin::{Origin, shown};
use super::super::step::ns;
use super::{Broken, ChunkRun, ROW_BYTES};
use crate::artifact::Item;
use crate::error::Thrown;
use crate::record::Stage;

/// Number of items from which the engine measures the size of results.
const FIRST: usize = 16;

impl ChunkRun<'_, '_> {
    /// Returns true if the waiting items should be processed before more are read. `waiting` is their size in bytes, `bytes` that of the results in
    /// this chunk.
    pub(super) fn is_portion(&self, waiting: usize, bytes: usize) -> bool {
        match self.grown {
            (0, _) => self.gathered.len() >= FIRST,
            (read, made) => {
                let waiting = waiting as u128;
                let results = waiting * u128::from(made) / u128::from(read);
                bytes as u128 + results.max(waiting) >= self.bytes_max as u128
            }
        }
    }

    /// Returns the bytes in the unit of work of the rejects after the first `seen`, and sets `seen` to the number of all rejects.
    pub(super) fn bytes_of_rejects(&self, seen: &mut usize) -> usize {
        let new = self.rejects.get(*seen..).unwrap_or_default();
        *seen = self.rejects.len();
        new.iter().map(|reject| reject.item.as_ref().map_or(0, Vec::len) + reject.message.len() + ROW_BYTES).sum()
    }

    /// Processes the waiting items until the chunk is full. Returns the size of the results in bytes.
    pub(super) fn process_portion(&mut self) -> Result<usize, Broken> {
        // The clock of reading is stopped during processing.
        let looks = self.clock.looks();
        self.clock.end_chunk(&mut self.times);
        self.count_reads();
        let first = self.items.len();
        let processed = self.process_gathered();
        self.clock.begin_chunk(looks);
        processed?;
        let made = self.items.get(first..).unwrap_or_default();
        let bytes = usize::try_from(bytes_of(made)).unwrap_or(usize::MAX);
        Ok(bytes.saturating_add(made.len() * self.bytes_more))
    }

    /// Processes the items of a chunk together. Calls the listeners of an item when its result is known.
    pub(super) fn process_gathered(&mut self) -> Result<(), Broken> {
        let gathered = std::mem::take(&mut self.gathered);
        let gathered_from = std::mem::take(&mut self.gathered_from);
        let first = self.items.len();
        let mut rest = gathered.as_slice();
        while !rest.is_empty() {
            let begin = self.now();
            let Some(processor) = &mut self.processor else { break };
            let processed = processor.process_all(rest);
            self.times.process_ns += ns(begin);
            for result in processed.results {
                let from = gathered_from.get(gathered.len() - rest.len());
                let Some((item, after)) = rest.split_first() else { break };
                rest = after;
                self.listeners.each(|listener| listener.before_process(item))?;
                self.listeners.each(|listener| listener.after_process(item, result.as_ref()))?;
                match result {
                    Some(result) => {
                        self.items.push(result);
                        self.items_from.extend(from);
                    }
                    None => self.context.count(|counts| counts.filter += 1),
                }
            }
            let (Some(thrown), Some((item, after))) = (processed.thrown, rest.split_first()) else { break };
            self.listeners.each(|listener| listener.before_process(item))?;
            let from = gathered_from.get(gathered.len() - rest.len());
            if !self.processes_again(item, from, thrown)? {
                rest = after;
            }
        }
        self.grown.0 += bytes_of(&gathered);
        self.grown.1 += bytes_of(self.items.get(first..).unwrap_or_default());
        (self.gathered, self.gathered_from) = (gathered, gathered_from);
        self.gathered.clear();
        self.gathered_from.clear();
        Ok(())
    }

    /// Handles an item that a processor refused. Returns true if it is processed again; otherwise it is skipped.
    pub(super) fn processes_again(
        &mut self,
        item: &Item,
        from: Option<&Origin>,
        thrown: Thrown,
    ) -> Result<bool, Broken> {
        self.context.set_exception(Some(&thrown));
        let told = self.listeners.each(|listener| listener.on_process_error(item, &thrown));
        self.heard("processing", &thrown, told)?;
        match self.remedy(&thrown, from.map(std::slice::from_ref).unwrap_or_default()) {
            Remedy::Fail => Err(Broken::Fail(thrown)),
            Remedy::Skip => {
                self.listeners.each(|listener| listener.on_skip_process(item, &thrown))?;
                self.context.count(|counts| counts.process_skip += 1);
                self.reject(Stage::Process, Some(item), from, &thrown);
                let what = format!("{} skipped in processing", shown(from.map_or(&[], std::slice::from_ref), 1));
                self.run.log_thrown(Some(self.context), &what, &thrown);
                Ok(false)
            }
            Remedy::Retry => {
                self.listeners.each(|listener| listener.on_retry_process(item, &thrown))?;
                Ok(true)
            }
            Remedy::RollBack => {
                self.listeners.each(|listener| listener.on_retry_process(item, &thrown))?;
                Err(Broken::RollBack(thrown))
            }
        }
    }
}

fn bytes_of(items: &[Item]) -> u64 {
    items.iter().map(|item| item.len() as u64).sum()
}

/// Result of a read.
pub(super) enum Read {
    Item(Item),
    Skipped,
    End,
}
