//! Skip and retry (sections 8.2.1.4.1 to 8.2.1.4.5).

use quayline_project::job::Chunk;

use crate::artifact::Registry;
use crate::error::{Kind, Thrown};

/// Handling of an exception.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Remedy {
    /// The step fails.
    Fail,
    /// The item is left out.
    Skip,
    /// Repeat the call in the same unit of work.
    Retry,
    /// The chunk rolls back and runs again, one item at a time.
    RollBack,
}

/// Skips and retries so far. A restart begins at zero.
#[derive(Debug, Default)]
pub(super) struct Faults {
    skips: u64,
    retries: u64,
}

impl Faults {
    /// Resets the number of skips after a rollback: items skipped in the chunk are read and skipped again.
    pub(super) fn back_to(&mut self, skips: u64) {
        self.skips = skips;
    }

    /// Uncounts a skip that is undone: its items are processed one by one.
    pub(super) fn take_back_skip(&mut self) {
        self.skips -= 1;
    }

    /// Decides the handling of an exception, and counts it. While a chunk is retried after a rollback, skip takes precedence over retry; otherwise,
    /// retry does.
    pub(super) fn remedy(&mut self, chunk: &Chunk, registry: &Registry, thrown: &Thrown, is_retrying: bool) -> Remedy {
        if !thrown.has_remedy() {
            return Remedy::Fail;
        }
        let reopens = thrown.kind == Kind::Reopen;
        let lineage = registry.lineage(thrown);
        let below = |limit: Option<u32>, count: u64| limit.is_none_or(|limit| count < u64::from(limit));
        let can_skip = !reopens && chunk.skippable.has(&lineage) && below(chunk.skip_limit, self.skips);
        let can_retry = chunk.retryable.has(&lineage) && below(chunk.retry_limit, self.retries);
        if can_retry && !(is_retrying && can_skip) {
            self.retries += 1;
            return if !reopens && chunk.no_rollback.has(&lineage) { Remedy::Retry } else { Remedy::RollBack };
        }
        if can_skip {
            self.skips += 1;
            return Remedy::Skip;
        }
        Remedy::Fail
    }

    /// Returns the limits that prevent a skip or a retry of an exception. Without these limits, the step would not have failed.
    pub(super) fn limits_reached(&self, chunk: &Chunk, registry: &Registry, thrown: &Thrown) -> Option<String> {
        if !thrown.has_remedy() {
            return None;
        }
        let lineage = registry.lineage(thrown);
        let reached = |name: &str, limit: Option<u32>, count: u64| {
            limit.filter(|limit| count >= u64::from(*limit)).map(|limit| format!("the {name} of {limit} is reached"))
        };
        let retry = reached("retry-limit", chunk.retry_limit, self.retries).filter(|_| chunk.retryable.has(&lineage));
        let skip = reached("skip-limit", chunk.skip_limit, self.skips)
            .filter(|_| thrown.kind == Kind::Plain && chunk.skippable.has(&lineage));
        let all: Vec<String> = retry.into_iter().chain(skip).collect();
        (!all.is_empty()).then(|| all.join(", and "))
    }
}
