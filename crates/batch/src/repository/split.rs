//! Partitions that give a part of their range away, and what partitions were made with.

use super::position::without_positions;
use super::{Held, PAGE, Repository, bytes, key_of, number, partition_key, read, step_key, steps_of};
use crate::error::BatchError;
use crate::record::{Execution, ExecutionId, InstanceId, PartitionGiven, PartitionState, Progress, StepState};
use crate::status::BatchStatus;
use crate::work::{Entry, PageOf, Work};
use std::collections::BTreeMap;

impl Repository {
    /// Makes a partition of what another gives away, as a part of the unit of work in which that one's checkpoint stops before it. Returns its
    /// number.
    pub(crate) fn split_partition(
        &self,
        work: &mut dyn Work,
        held: Held,
        at: (&str, u32),
        reader: Vec<u8>,
        properties: &BTreeMap<String, String>,
    ) -> Result<u32, BatchError> {
        let key = step_key(held.instance, at.0);
        // The lock makes partitions that split at the same time take one number each.
        let found = work.get_for_update(&key)?.ok_or(BatchError::Damaged { what: "a step" })?;
        let mut step: StepState = read("a step", &found)?;
        let number = step.plan.unwrap_or_default();
        step.plan = Some(number + 1);
        work.put(&key, &bytes(&step))?;
        let mut properties = properties.clone();
        if let Some(own) = properties.get_mut(NUMBER) {
            *own = number.to_string();
        }
        let given = PartitionGiven { parent: Some(at.1), properties };
        work.put(&given_key(held.instance, at.0, Some(number)), &bytes(&given))?;
        let progress = Progress { reader: Some(reader.into()), ..Progress::default() };
        let state = PartitionState { progress, ..PartitionState::default() };
        // Tokens of executions are their numbers, also where a partition has one of its own.
        let entry = (partition_key(held.instance, at.0, number), bytes(&state));
        work.put_all(std::slice::from_ref(&entry), held.execution.0)?;
        Ok(number)
    }

    /// Returns the properties with which the partitions of a step were created, if they differ from the plan.
    pub(crate) fn given(&self, instance: InstanceId, step: &str) -> Result<BTreeMap<u32, PartitionGiven>, BatchError> {
        let prefix = given_key(instance, step, None);
        let given = |(key, value): (Vec<u8>, Vec<u8>)| {
            let number = key.get(prefix.len()..).and_then(|number| number.try_into().ok()).map(u32::from_be_bytes);
            Ok((number.ok_or(BatchError::Damaged { what: "a partition" })?, read("a partition", &value)?))
        };
        entries(self.begin()?.as_mut(), &prefix)?.into_iter().map(given).collect()
    }

    /// Returns the properties with which one partition was created. Waits for a database that does not respond.
    pub(crate) fn given_of(
        &self,
        instance: InstanceId,
        step: &str,
        partition: u32,
    ) -> Result<Option<PartitionGiven>, BatchError> {
        let found = self.patiently(|| self.begin()?.get(&given_key(instance, step, Some(partition))))?;
        found.map(|value| read("a partition", &value)).transpose()
    }

    /// Requests that the process that runs a partition of an execution split it at its next checkpoint. An empty step matches any.
    ///
    /// # Errors
    /// [`BatchError::NotRunning`], [`BatchError::NoPartition`], [`BatchError::NoSuchExecution`]; errors of the store.
    pub fn request_split(&self, id: ExecutionId, step: &str, partition: u32) -> Result<(), BatchError> {
        let mut work = self.begin()?;
        let execution = super::execution_of(work.as_mut(), id)?;
        if !execution.status.is_running() {
            return Err(BatchError::NotRunning { execution: id, status: execution.status });
        }
        if !is_open(work.as_mut(), &execution, step, partition)? {
            return Err(BatchError::NoPartition { execution: id, partition });
        }
        work.put(&request_key(id, step, partition), step.as_bytes())?;
        work.commit()
    }

    /// Returns true if a step that runs has a partition that has not completed. An empty step matches any.
    ///
    /// # Errors
    /// [`BatchError::NoSuchExecution`]; errors of the store.
    pub fn has_open_partition(&self, id: ExecutionId, step: &str, partition: u32) -> Result<bool, BatchError> {
        let mut work = self.begin()?;
        let execution = super::execution_of(work.as_mut(), id)?;
        is_open(work.as_mut(), &execution, step, partition)
    }

    /// Returns the partitions of an execution for which a split was requested, with their steps.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn split_requests(&self, id: ExecutionId) -> Result<Vec<(String, u32)>, BatchError> {
        let prefix = key_of(b'z', id.0);
        let entries = entries(self.begin()?.as_mut(), &prefix)?;
        let request = |(key, step): (Vec<u8>, Vec<u8>)| {
            // Requests of earlier versions have no step before the number.
            let number = key.get(prefix.len()..)?.last_chunk()?;
            Some((String::from_utf8(step).ok()?, u32::from_be_bytes(*number)))
        };
        Ok(entries.into_iter().filter_map(request).collect())
    }

    /// Removes a request to split that was claimed.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn take_split_request(&self, id: ExecutionId, step: &str, partition: u32) -> Result<(), BatchError> {
        let mut work = self.begin()?;
        work.delete(&request_key(id, step, partition))?;
        work.delete(&request_key(id, "", partition))?;
        work.commit()
    }

    /// Executions that have steps whose partitions any process may run, with these steps.
    pub(crate) fn offers(&self) -> Result<Vec<(ExecutionId, crate::record::Offer)>, BatchError> {
        let entries = self.patiently(|| entries(self.begin()?.as_mut(), b"o"))?;
        entries.iter().map(|(key, value)| Ok((ExecutionId(number(&key[1..])), read("an offer", value)?))).collect()
    }
}

/// Returns all entries with a prefix.
pub(super) fn entries(work: &mut dyn Work, prefix: &[u8]) -> Result<Vec<Entry>, BatchError> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map(|(key, _)| key.as_slice());
        let page = work.page(PageOf { prefix, after, newest_first: false, count: PAGE })?;
        // Large values make a page shorter, so only an empty page is the end.
        if page.is_empty() {
            return Ok(entries);
        }
        entries.extend(page);
    }
}

fn request_key(id: ExecutionId, step: &str, partition: u32) -> Vec<u8> {
    [key_of(b'z', id.0).as_slice(), step.as_bytes(), &partition.to_be_bytes()].concat()
}

/// Returns true if a step that runs has a partition that has not completed.
fn is_open(work: &mut dyn Work, execution: &Execution, step: &str, partition: u32) -> Result<bool, BatchError> {
    for running in steps_of(work, execution.id)? {
        if !running.status.is_running() || !(step.is_empty() || step == running.step) {
            continue;
        }
        let state = work.get(&partition_key(execution.instance, &running.step, partition))?;
        let state: Option<PartitionState> = state.map(|state| without_positions("a partition", &state)).transpose()?;
        if state.is_some_and(|state| state.status != BatchStatus::Completed) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The property that numbers partitions, by which they name files of their own.
pub(crate) const NUMBER: &str = "number";

pub(super) fn given_key(instance: InstanceId, step: &str, partition: Option<u32>) -> Vec<u8> {
    let mut key = step_key(instance, step);
    key[0] = b'k';
    key.extend(partition.into_iter().flat_map(u32::to_be_bytes));
    key
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quayline_store::{Access, ManualClock, MemoryEngine, Store, StoreLimits};

    use super::*;
    use crate::StoreBackend;
    use crate::record::Offer;

    /// Regression: offers and requests beyond one page were not found.
    #[test]
    fn offers_and_requests_of_several_pages_are_found() {
        const COUNT: u32 = 600;
        let clock = || Arc::new(ManualClock::new(1_000, 1));
        let store = Store::open(Arc::new(MemoryEngine::new()), clock(), StoreLimits::default(), Access::Write).unwrap();
        let repository = Repository::new(Arc::new(StoreBackend::new(store, clock()).unwrap()));
        for number in 0..COUNT {
            let mut work = repository.begin().unwrap();
            let offer = Offer { instance: InstanceId(1), step: "s".to_owned(), is_closing: false };
            work.put(&[key_of(b'o', number.into()).as_slice(), b"s"].concat(), &bytes(&offer)).unwrap();
            work.put(&request_key(ExecutionId(7), "s", number), b"s").unwrap();
            work.commit().unwrap();
        }
        let offers: Vec<u64> = repository.offers().unwrap().into_iter().map(|(execution, _)| execution.0).collect();
        assert_eq!(offers, (0..u64::from(COUNT)).collect::<Vec<_>>());
        let requests = repository.split_requests(ExecutionId(7)).unwrap();
        assert_eq!(requests, (0..COUNT).map(|number| ("s".to_owned(), number)).collect::<Vec<_>>());
    }
}
