//! Partitions that several processes share: claims, data of collectors, and outcomes.
//!
//! A process claims a partition by writing itself into the partition's record, which it locks, with a unique token for the following
//! checkpoints. A process that later takes over the partition writes another token, and so does one that takes over the execution, so the earlier
//! process commits nothing afterwards.

use std::collections::{BTreeMap, HashMap};

use super::{Held, PAGE, Repository, bytes, key_of, partition_key, read, read_state, step_key};
use crate::error::BatchError;
use crate::record::{Counts, ExecutionId, InstanceId, Lease, Offer, PartitionGiven, PartitionState, Shared};
use crate::status::BatchStatus;
use crate::work::{Entry, PageOf, Work};

/// Outcome of a claim.
pub(crate) enum Claim {
    /// This partition was claimed and continues from this state.
    Taken(u32, Box<PartitionState>),
    /// Other processes run all remaining partitions.
    Busy,
    /// No partition is left, or none may begin any more and none runs.
    Over,
}

/// Number of this process, and which tokens are those of partitions that it runs.
type Own<'o> = (u64, &'o dyn Fn(u64) -> bool);

/// Key of a collector's data, and the data.
pub(crate) type Collected = (Vec<u8>, Option<Vec<u8>>);

/// Status of a partition that any process may run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Standing {
    Free,
    Runs,
    Ended,
}

impl Repository {
    /// Lets other processes run the partitions of a step: with their properties, which others cannot plan.
    pub(crate) fn offer(
        &self,
        held: Held,
        step: &str,
        properties: &BTreeMap<u32, PartitionGiven>,
    ) -> Result<(), BatchError> {
        let entries: Vec<Entry> = properties
            .iter()
            .map(|(number, given)| (super::given_key(held.instance, step, Some(*number)), bytes(given)))
            .collect();
        let offer = Offer { instance: held.instance, step: step.to_owned(), is_closing: false };
        self.patiently(|| {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
            work.put_all(&entries, held.token)?;
            work.put(&offer_key(held.execution, step), &bytes(&offer))?;
            work.commit()
        })
    }

    /// Closes the offer: no further partition of the step begins.
    pub(crate) fn close_offer(&self, held: Held, step: &str) -> Result<(), BatchError> {
        let offer = Offer { instance: held.instance, step: step.to_owned(), is_closing: true };
        self.patiently(|| {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
            work.put(&offer_key(held.execution, step), &bytes(&offer))?;
            work.commit()
        })
    }

    /// Withdraws the offer at the end of the step.
    pub(crate) fn withdraw_offer(&self, held: Held, step: &str) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            work.delete(&offer_key(held.execution, step))?;
            work.commit()
        })
    }

    /// Returns the offer of a step, if it exists.
    pub(crate) fn offered(&self, execution: ExecutionId, step: &str) -> Result<Option<Offer>, BatchError> {
        let found = self.begin()?.get(&offer_key(execution, step))?;
        found.map(|value| read("an offer", &value)).transpose()
    }

    /// Claims the next free partition, from a number on and then from the first, with `held.token` for its checkpoints. `runs` returns true for
    /// tokens of partitions that this process runs.
    pub(crate) fn claim(
        &self,
        held: Held,
        step: &str,
        from: &mut u32,
        runs: &dyn Fn(u64) -> bool,
    ) -> Result<Claim, BatchError> {
        self.patiently(|| self.claim_once(held, step, from, runs))
    }

    fn claim_once(
        &self,
        held: Held,
        step: &str,
        from: &mut u32,
        runs: &dyn Fn(u64) -> bool,
    ) -> Result<Claim, BatchError> {
        let own = (self.backend.owner()?, runs);
        let mut gone: HashMap<u64, bool> = HashMap::new();
        let prefix = step_key(held.instance, step);
        let mut is_busy = false;
        let closing = self.offered(held.execution, step)?.is_none_or(|offer| offer.is_closing);
        let first = *from;
        // Search from the given number to the end, and then from the beginning.
        for (begin, end) in [(first, u32::MAX), (0, first)] {
            let mut after = match begin {
                0 => prefix.clone(),
                begin => [prefix.as_slice(), &(begin - 1).to_be_bytes()].concat(),
            };
            loop {
                let of = PageOf { prefix: &prefix, after: Some(&after), newest_first: false, count: PAGE };
                let page = self.begin()?.page(of)?;
                let Some((last, _)) = page.last() else { break };
                after.clone_from(last);
                for (key, value) in &page {
                    let number = partition_of(key, &prefix)?;
                    if number >= end {
                        break;
                    }
                    let state: PartitionState = super::position::without_positions("a partition", value)?;
                    match self.standing(held, &state, own, &mut gone)? {
                        Standing::Ended => {}
                        Standing::Runs => is_busy = true,
                        Standing::Free if closing => {
                            if self.is_left(held, &state) && !self.end_left(held, (step, number), own)? {
                                is_busy = true;
                            }
                        }
                        Standing::Free => {
                            if let Some(state) = self.take(held, (step, number), own)? {
                                *from = number + 1;
                                return Ok(Claim::Taken(number, Box::new(state)));
                            }
                            is_busy = true;
                        }
                    }
                }
                if partition_of(&after, &prefix)? >= end {
                    break;
                }
            }
        }
        Ok(if is_busy { Claim::Busy } else { Claim::Over })
    }

    fn take(&self, held: Held, at: (&str, u32), own: Own<'_>) -> Result<Option<PartitionState>, BatchError> {
        let mut work = self.begin()?;
        let key = partition_key(held.instance, at.0, at.1);
        let Some(found) = work.get_for_update(&key)? else { return Ok(None) };
        let mut state: PartitionState = read_state(work.as_mut(), &key, "a partition", &found)?;
        let standing = self.standing(held, &state, own, &mut HashMap::new())?;
        // After taking the lock: a process that takes over the execution withdraws the offer before it takes the partitions.
        let offer = work.get(&offer_key(held.execution, at.0))?;
        let offer: Option<Offer> = offer.map(|value| read("an offer", &value)).transpose()?;
        if state.shared.as_ref().is_some_and(|shared| shared.token == held.token) {
            // An attempt whose outcome was not known.
            return Ok(Some(state));
        }
        if standing != Standing::Free || offer.is_none_or(|offer| offer.is_closing) {
            return Ok(None);
        }
        if state.execution != held.execution {
            // Counts of an earlier execution are in its own metrics.
            state.progress.counts = Counts::default();
            state.pace = None;
        }
        state.status = BatchStatus::Started;
        state.execution = held.execution;
        state.shared = Some(Shared { owner: own.0, token: held.token, ..Shared::default() });
        work.put_all(std::slice::from_ref(&(key, bytes(&state))), held.token)?;
        work.commit()?;
        Ok(Some(state))
    }

    /// Returns true if a process of this execution has begun the partition, and no end is written.
    fn is_left(&self, held: Held, state: &PartitionState) -> bool {
        state.execution == held.execution && state.shared.is_some() && state.status.is_running()
    }

    /// Ends a partition as STOPPED whose process ended while the step was closing: it is not taken over any more, and its
    /// committed work counts in this execution. Returns false if another process did this earlier.
    fn end_left(&self, held: Held, at: (&str, u32), own: Own<'_>) -> Result<bool, BatchError> {
        let mut work = self.begin()?;
        let key = partition_key(held.instance, at.0, at.1);
        let Some(found) = work.get_for_update(&key)? else { return Ok(true) };
        let mut state: PartitionState = read_state(work.as_mut(), &key, "a partition", &found)?;
        if !self.is_left(held, &state) {
            return Ok(true);
        }
        if self.standing(held, &state, own, &mut HashMap::new())? != Standing::Free {
            return Ok(false);
        }
        state.status = BatchStatus::Stopped;
        state.exit_status = Some(BatchStatus::Stopped.text().to_owned());
        // The token refuses commits that its process may still have in progress.
        work.put_all(std::slice::from_ref(&(key, bytes(&state))), held.token)?;
        work.commit()?;
        Ok(true)
    }

    fn standing(
        &self,
        held: Held,
        state: &PartitionState,
        (own, runs): Own<'_>,
        gone: &mut HashMap<u64, bool>,
    ) -> Result<Standing, BatchError> {
        if state.status == BatchStatus::Completed {
            return Ok(Standing::Ended);
        }
        let Some(shared) = state.shared.as_ref().filter(|_| state.execution == held.execution) else {
            return Ok(Standing::Free);
        };
        if !state.status.is_running() {
            return Ok(Standing::Ended);
        }
        if shared.owner == own {
            return Ok(match shared.token {
                token if token == held.token => Standing::Free,
                token if runs(token) => Standing::Runs,
                // The end of the partition could not be written, but was reported.
                _ => Standing::Ended,
            });
        }
        let is_gone = match gone.get(&shared.owner) {
            Some(is_gone) => *is_gone,
            None => {
                let lease = Lease { owner: shared.owner, token: 0, until_ms: u64::MAX };
                let is_gone = self.backend.is_gone(&lease)?;
                gone.insert(shared.owner, is_gone);
                is_gone
            }
        };
        Ok(if is_gone { Standing::Free } else { Standing::Runs })
    }

    /// Returns the partitions of a step that ended in this execution, except the known ones.
    pub(crate) fn ended(
        &self,
        held: Held,
        step: &str,
        known: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<(u32, PartitionState)>, BatchError> {
        let mut ended = Vec::new();
        self.patiently(|| {
            ended.clear();
            super::partitions::each(self.begin()?.as_mut(), &step_key(held.instance, step), &mut |number, state| {
                if state.execution == held.execution && !state.status.is_running() && !known(number) {
                    ended.push((number, state));
                }
            })
        })?;
        Ok(ended)
    }

    /// Returns true if a partition of a step has not completed.
    pub(crate) fn has_partitions_left(&self, instance: InstanceId, step: &str) -> Result<bool, BatchError> {
        let mut is_left = false;
        self.patiently(|| {
            super::partitions::each(self.begin()?.as_mut(), &step_key(instance, step), &mut |_, state| {
                is_left |= state.status != BatchStatus::Completed;
            })
        })?;
        Ok(is_left)
    }

    /// Sends the data of a collector to the process of the step. `sequence` ascends while a process has the partition.
    pub(crate) fn send_collected(
        &self,
        held: Held,
        at: (&str, u32),
        sequence: u64,
        data: Option<Vec<u8>>,
    ) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            let mut key = collected_key(held.execution, at.0);
            key.extend_from_slice(&at.1.to_be_bytes());
            // A process that takes over the partition has another token, and does not replace what the one before it sent.
            key.extend_from_slice(&held.token.to_be_bytes());
            key.extend_from_slice(&sequence.to_be_bytes());
            work.put(&key, &bytes(&data))?;
            work.commit()
        })
    }

    /// Returns the data of collectors in other processes, each with its key: by partition, by the process that had it, and in the order of sending.
    pub(crate) fn collected(&self, held: Held, step: &str) -> Result<Vec<Collected>, BatchError> {
        let prefix = collected_key(held.execution, step);
        let of = PageOf { prefix: &prefix, after: None, newest_first: false, count: PAGE };
        let page = self.patiently(|| self.begin()?.page(of))?;
        page.into_iter().map(|(key, value)| Ok((key, read("what a collector gave", &value)?))).collect()
    }

    /// Removes the data of collectors by key.
    pub(crate) fn forget_collected(&self, places: &[Vec<u8>]) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            places.iter().try_for_each(|key| work.delete(key))?;
            work.commit()
        })
    }

    /// Returns a token that no other process and no other partition of this one has.
    pub(crate) fn partition_token(&self, sequence: u64) -> Result<u64, BatchError> {
        // Tokens of executions are their numbers; these are far above.
        Ok((1 << 62) | (self.backend.owner()? & 0x3fff_ffff) << 32 | (sequence & 0xffff_ffff))
    }
}

/// Removes the shared state of an execution that is over.
pub(super) fn forget_sharing(work: &mut dyn Work, execution: ExecutionId) -> Result<(), BatchError> {
    for kind in [b'o', b'y', b'z'] {
        let prefix = key_of(kind, execution.0);
        loop {
            let page = work.page(PageOf { prefix: &prefix, after: None, newest_first: false, count: PAGE })?;
            if page.is_empty() {
                break;
            }
            page.iter().try_for_each(|(key, _)| work.delete(key))?;
        }
    }
    Ok(())
}

fn offer_key(execution: ExecutionId, step: &str) -> Vec<u8> {
    [key_of(b'o', execution.0).as_slice(), step.as_bytes()].concat()
}

fn collected_key(execution: ExecutionId, step: &str) -> Vec<u8> {
    [key_of(b'y', execution.0).as_slice(), step.as_bytes(), &[0]].concat()
}

fn partition_of(key: &[u8], prefix: &[u8]) -> Result<u32, BatchError> {
    let number = key.get(prefix.len()..).and_then(|number| number.try_into().ok()).map(u32::from_be_bytes);
    number.ok_or(BatchError::Damaged { what: "a partition" })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quayline_store::{Access, ManualClock, MemoryEngine, Store, StoreLimits};

    use super::*;
    use crate::StoreBackend;

    /// Regression: a process that took over a partition replaced the data that the process before it had sent.
    #[test]
    fn each_process_adds_its_data_of_a_partition() {
        let clock = || Arc::new(ManualClock::new(1_000, 1));
        let store = Store::open(Arc::new(MemoryEngine::new()), clock(), StoreLimits::default(), Access::Write).unwrap();
        let repository = Repository::new(Arc::new(StoreBackend::new(store, clock()).unwrap()));
        let held = |token| Held { execution: ExecutionId(1), instance: InstanceId(1), token };
        for (token, sequence, data) in [(7, 1, b"a"), (7, 2, b"b"), (8, 1, b"c")] {
            repository.send_collected(held(token), ("s", 3), sequence, Some(data.to_vec())).unwrap();
        }
        let collected = repository.collected(held(1), "s").unwrap();
        let given: Vec<Vec<u8>> = collected.into_iter().filter_map(|(_, data)| data).collect();
        assert_eq!(given, [b"a", b"b", b"c"]);
    }
}
