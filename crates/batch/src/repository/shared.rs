//! Partitions that several processes share: who takes which, what collectors give, and how each ended.
//!
//! A process takes a partition by writing itself into the partition's record, which it locks, with a token of its own for the checkpoints that
//! follow. Whoever takes the partition later writes another token, and so does whoever takes the execution over, so nothing of the process
//! before commits afterwards.

use std::collections::{BTreeMap, HashMap};

use super::{Held, PAGE, Repository, bytes, key_of, partition_key, read, read_state, step_key};
use crate::error::BatchError;
use crate::record::{Counts, ExecutionId, InstanceId, Lease, Offer, PartitionGiven, PartitionState, Shared};
use crate::status::BatchStatus;
use crate::work::{Entry, PageOf, Work};

/// What came of the wish to take a partition.
pub(crate) enum Claim {
    /// This one, which runs from this state on.
    Taken(u32, Box<PartitionState>),
    /// Others run all that are left.
    Busy,
    /// None is left, or no partition begins any more and none runs.
    Over,
}

/// Number of this process, and which tokens are those of partitions that it runs.
type Own<'o> = (u64, &'o dyn Fn(u64) -> bool);

/// The place of what a collector gave, and that.
pub(crate) type Collected = (Vec<u8>, Option<Vec<u8>>);

/// How a partition that any process may run is.
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

    /// From now on no partition of the step begins.
    pub(crate) fn close_offer(&self, held: Held, step: &str) -> Result<(), BatchError> {
        let offer = Offer { instance: held.instance, step: step.to_owned(), is_closing: true };
        self.patiently(|| {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
            work.put(&offer_key(held.execution, step), &bytes(&offer))?;
            work.commit()
        })
    }

    /// The step is over.
    pub(crate) fn withdraw_offer(&self, held: Held, step: &str) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            work.delete(&offer_key(held.execution, step))?;
            work.commit()
        })
    }

    /// The offer of a step, if it is open.
    pub(crate) fn offered(&self, execution: ExecutionId, step: &str) -> Result<Option<Offer>, BatchError> {
        let found = self.begin()?.get(&offer_key(execution, step))?;
        found.map(|value| read("an offer", &value)).transpose()
    }

    /// Takes the next partition that is free, from a number on and then from the first, with `held.token` for its checkpoints. `runs` says which
    /// tokens are those of partitions that this process runs.
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
        // From the place on, and then what is before it.
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
        // Behind the lock: whoever takes the execution over withdraws the offer before it takes the partitions.
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
            // What an earlier execution counted is in its own metrics.
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

    /// Whether a process of this execution has begun the partition, and no end is written.
    fn is_left(&self, held: Held, state: &PartitionState) -> bool {
        state.execution == held.execution && state.shared.is_some() && state.status.is_running()
    }

    /// Ends a partition that a process has left by its own end while the step closes, as STOPPED: nobody takes it over any more, and what it
    /// committed counts in this execution. Returns false if somebody else was there before.
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
        // The token keeps out what its process may still have under way.
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
                // Its end could not be written; it has been told.
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

    /// The partitions of a step that ended in this execution, but for those that are known.
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

    /// Whether a partition of a step has not completed.
    pub(crate) fn has_partitions_left(&self, instance: InstanceId, step: &str) -> Result<bool, BatchError> {
        let mut is_left = false;
        self.patiently(|| {
            super::partitions::each(self.begin()?.as_mut(), &step_key(instance, step), &mut |_, state| {
                is_left |= state.status != BatchStatus::Completed;
            })
        })?;
        Ok(is_left)
    }

    /// Sends what a collector gave to the process of the step. `sequence` ascends.
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
            key.extend_from_slice(&sequence.to_be_bytes());
            work.put(&key, &bytes(&data))?;
            work.commit()
        })
    }

    /// What collectors in other processes gave, in the order of partitions and of time, each with its place.
    pub(crate) fn collected(&self, held: Held, step: &str) -> Result<Vec<Collected>, BatchError> {
        let prefix = collected_key(held.execution, step);
        let of = PageOf { prefix: &prefix, after: None, newest_first: false, count: PAGE };
        let page = self.patiently(|| self.begin()?.page(of))?;
        page.into_iter().map(|(key, value)| Ok((key, read("what a collector gave", &value)?))).collect()
    }

    /// Removes what collectors gave, by its places.
    pub(crate) fn forget_collected(&self, places: &[Vec<u8>]) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            places.iter().try_for_each(|key| work.delete(key))?;
            work.commit()
        })
    }

    /// A number for a token that no other process and no other partition of this one has.
    pub(crate) fn partition_token(&self, sequence: u64) -> Result<u64, BatchError> {
        // Tokens of executions are their numbers; these are far above.
        Ok((1 << 62) | (self.backend.owner()? & 0x3fff_ffff) << 32 | (sequence & 0xffff_ffff))
    }
}

/// Removes what processes tell one another of an execution that is over.
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
