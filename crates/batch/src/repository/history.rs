//! Ended executions: lists with filters, abandonment and removal.
//!
//! A removal deletes the instance and its executions in one unit of work that holds the instance's lock. If a restart happens at the same time, one
//! of the two is refused. Later units of work delete their steps and checkpoints; a record `g` names them until then.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::events::event_of;
use super::takeover::{left_key, restarts_key};
use super::{PAGE, Repository, bytes, execution_of, key_of, number, read};
use crate::error::BatchError;
use crate::event;
use crate::record::{Execution, ExecutionId, Instance, InstanceId};
use crate::status::BatchStatus;
use crate::work::PageOf;

/// Maximum number of executions that one list examines, so that a filter without matches ends.
const SCAN_MAX: usize = 200_000;

/// Filter of a list of executions. An execution must match all given fields.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ExecutionFilter {
    /// Id of the job.
    pub job: Option<String>,
    /// Batch statuses, any of which matches.
    pub statuses: Vec<BatchStatus>,
    /// Pattern of the exit status, with `*` and `?`.
    pub exit_status: Option<String>,
    /// Created at or after this time, in milliseconds since 1970.
    pub from_ms: Option<u64>,
    /// Created before this time.
    pub until_ms: Option<u64>,
    /// Updated at or after this time, in milliseconds since 1970.
    pub updated_from_ms: Option<u64>,
    /// Updated before this time.
    pub updated_until_ms: Option<u64>,
    /// Job parameters with their values.
    pub parameters: BTreeMap<String, String>,
    /// User who started it.
    pub submitter: Option<String>,
    /// Ranges of numbers of instances, any of which matches; empty for all.
    pub instances: Vec<RangeInclusive<u64>>,
}

/// Order of a list of executions.
pub type Order<'o> = &'o dyn Fn(&Execution, &Execution) -> Ordering;

impl ExecutionFilter {
    fn fits(&self, execution: &Execution) -> bool {
        let exit_status = execution.exit_status.as_deref().unwrap_or("");
        self.job.as_ref().is_none_or(|job| *job == execution.job)
            && (self.statuses.is_empty() || self.statuses.contains(&execution.status))
            && self
                .exit_status
                .as_ref()
                .is_none_or(|pattern| quayline_project::job::matches_pattern(pattern, exit_status))
            && self.until_ms.is_none_or(|until| execution.created_ms < until)
            && self.from_ms.is_none_or(|from| execution.created_ms >= from)
            && self.updated_until_ms.is_none_or(|until| execution.updated_ms < until)
            && self.updated_from_ms.is_none_or(|from| execution.updated_ms >= from)
            && self.parameters.iter().all(|(name, value)| execution.parameters.get(name) == Some(value))
            && self.submitter.as_ref().is_none_or(|submitter| Some(submitter) == execution.submitter.as_ref())
            && (self.instances.is_empty() || self.instances.iter().any(|range| range.contains(&execution.instance.0)))
    }
}

impl Repository {
    /// Returns executions that match a filter, in an order or the newest first. The flag is false if the list ended at the maximum number of examined
    /// executions.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn executions_of(
        &self,
        filter: &ExecutionFilter,
        order: Option<Order<'_>>,
        page: (usize, usize),
    ) -> Result<(Vec<Execution>, bool), BatchError> {
        self.listed(filter, order, page, &mut |_| true)
    }

    /// Returns the last executions of instances, if they match a filter. Otherwise the same as [`Repository::executions_of`].
    ///
    /// # Errors
    /// Errors of the store.
    pub fn instances_of(
        &self,
        filter: &ExecutionFilter,
        order: Option<Order<'_>>,
        page: (usize, usize),
    ) -> Result<(Vec<Execution>, bool), BatchError> {
        let mut seen = BTreeSet::new();
        // The first of an instance that comes is its last execution.
        self.listed(filter, order, page, &mut |execution| seen.insert(execution.instance))
    }

    /// Returns `count` executions after `skip` others.
    fn listed(
        &self,
        filter: &ExecutionFilter,
        order: Option<Order<'_>>,
        (skip, count): (usize, usize),
        is_wanted: &mut dyn FnMut(&Execution) -> bool,
    ) -> Result<(Vec<Execution>, bool), BatchError> {
        let most = skip.saturating_add(count);
        let (mut found, mut skipped) = (Vec::new(), 0);
        let is_whole = self.newest(&filter.instances, &mut |execution| {
            if filter.from_ms.is_some_and(|from| execution.created_ms < from) {
                // The following executions are older.
                return false;
            }
            if is_wanted(&execution) && filter.fits(&execution) {
                match order {
                    None if skipped < skip => skipped += 1,
                    _ => found.push(execution),
                }
            }
            let Some(order) = order else { return found.len() < count };
            // Only the first of the order so far can be on the page.
            if found.len() >= most.saturating_mul(2).saturating_add(PAGE) {
                found.sort_by(order);
                found.truncate(most);
            }
            true
        })?;
        if let Some(order) = order {
            found.sort_by(order);
            found.drain(..skip.min(found.len()));
            found.truncate(count);
        }
        Ok((found, is_whole))
    }

    /// Visits executions, the newest first, until the visitor returns false. Returns false if the maximum number of examined executions was reached.
    /// If `instances` has few numbers, it visits only executions of these.
    fn newest(
        &self,
        instances: &[RangeInclusive<u64>],
        visit: &mut dyn FnMut(Execution) -> bool,
    ) -> Result<bool, BatchError> {
        let numbers = |range: &RangeInclusive<u64>| range.end().saturating_sub(*range.start()).saturating_add(1);
        let are_few = instances.iter().map(numbers).fold(0, u64::saturating_add) <= PAGE as u64;
        if are_few && !instances.is_empty() {
            let numbers: BTreeSet<u64> = instances.iter().cloned().flatten().collect();
            let mut all = BTreeSet::new();
            for number in numbers {
                all.extend(self.executions(InstanceId(number))?);
            }
            for id in all.into_iter().rev() {
                let found = self.execution(id);
                if matches!(found, Err(BatchError::NoSuchExecution(_))) {
                    // The instance was removed in the meantime.
                    continue;
                }
                if !visit(found?) {
                    break;
                }
            }
            return Ok(true);
        }
        let mut work = self.begin()?;
        let mut after: Option<Vec<u8>> = None;
        let mut looked = 0;
        loop {
            let page = work.page(PageOf { prefix: b"e", after: after.as_deref(), newest_first: true, count: PAGE })?;
            let Some((last, _)) = page.last() else { return Ok(true) };
            after = Some(last.clone());
            for (_, value) in &page {
                if !visit(read("an execution", value)?) {
                    return Ok(true);
                }
            }
            looked += page.len();
            if looked >= SCAN_MAX {
                return Ok(false);
            }
        }
    }

    /// Abandons the most recent execution of an instance.
    ///
    /// # Errors
    /// [`BatchError::IsRunning`], [`BatchError::NotAbandonable`], [`BatchError::NoSuchExecution`].
    pub fn abandon(&self, id: ExecutionId) -> Result<Execution, BatchError> {
        let mut work = self.begin()?;
        let instance = execution_of(work.as_mut(), id)?.instance;
        let found = work.get_for_update(&key_of(b'i', instance.0))?.ok_or(BatchError::NoSuchExecution(id))?;
        let instance: Instance = read("an instance", &found)?;
        // With the lock held, a concurrent restart has either created a later execution or will be refused.
        let mut execution = execution_of(work.as_mut(), id)?;
        if instance.last != id {
            let last = execution_of(work.as_mut(), instance.last)?;
            if last.status.is_running() {
                return Err(BatchError::IsRunning { execution: instance.last, status: last.status });
            }
            return Err(BatchError::NotAbandonable {
                execution: id,
                why: "it is not the most recent execution of its instance".to_owned(),
                remedy: format!("abandon the most recent one: {}", instance.last),
            });
        }
        match execution.status {
            status if status.is_running() => return Err(BatchError::IsRunning { execution: id, status }),
            // The specification only requires that nothing runs, so a completed execution may also be abandoned.
            BatchStatus::Abandoned => return Ok(execution),
            _ => {}
        }
        execution.status = BatchStatus::Abandoned;
        execution.updated_ms = self.now_ms();
        work.put(&key_of(b'e', id.0), &bytes(&execution))?;
        work.delete(&left_key(id))?;
        work.delete(&restarts_key(instance.id))?;
        work.commit()?;
        Ok(execution)
    }

    /// Instances whose last execution ended before a time, in milliseconds since 1970.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn ended_before(&self, ms: u64) -> Result<Vec<InstanceId>, BatchError> {
        let mut work = self.begin()?;
        let mut ended = Vec::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = work.page(PageOf { prefix: b"e", after: after.as_deref(), newest_first: false, count: PAGE })?;
            let Some((last, _)) = page.last() else { return Ok(ended) };
            after = Some(last.clone());
            for (_, value) in &page {
                let execution: Execution = read("an execution", value)?;
                if execution.created_ms >= ms {
                    // The following executions were created later.
                    return Ok(ended);
                }
                if execution.ended_ms.is_some_and(|at| at < ms) && !execution.status.is_running() {
                    let found = work.get(&key_of(b'i', execution.instance.0))?;
                    let instance: Option<Instance> = found.map(|value| read("an instance", &value)).transpose()?;
                    if instance.is_some_and(|instance| instance.last == execution.id) {
                        ended.push(execution.instance);
                    }
                }
            }
        }
    }

    /// Removes an instance with its executions, and job XML that no other execution refers to. Returns the executions.
    ///
    /// # Errors
    /// [`BatchError::IsRunning`]; errors of the store.
    pub fn purge(&self, instance: InstanceId) -> Result<Vec<ExecutionId>, BatchError> {
        let mut digests = BTreeSet::new();
        let removed = self.purge_instance(instance, None, &mut digests)?;
        self.forget_texts(digests)?;
        Ok(removed)
    }

    /// Removes instances whose last execution ended before a time, and then all job XML that no execution refers to. Returns the executions, and
    /// the number of instances. `over` returns true to leave the rest for the next call.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn purge_before(&self, ms: u64, over: &dyn Fn() -> bool) -> Result<(Vec<ExecutionId>, usize), BatchError> {
        self.finish_purges()?;
        let (mut removed, mut instances) = (Vec::new(), 0);
        for instance in self.ended_before(ms)? {
            if over() {
                return Ok((removed, instances));
            }
            match self.purge_instance(instance, Some(ms), &mut BTreeSet::new()) {
                Ok(executions) => {
                    instances += usize::from(!executions.is_empty());
                    removed.extend(executions);
                }
                // The instance was restarted in the meantime.
                Err(BatchError::IsRunning { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut digests = BTreeSet::new();
        for key in self.keys(b"d", false, 0, usize::MAX)? {
            digests.insert(number(&key[1..]));
        }
        self.forget_texts(digests)?;
        Ok((removed, instances))
    }

    /// Removes an instance, with `before_ms` only if its last execution ended before that time.
    fn purge_instance(
        &self,
        instance: InstanceId,
        before_ms: Option<u64>,
        digests: &mut BTreeSet<u64>,
    ) -> Result<Vec<ExecutionId>, BatchError> {
        let own = instance.0.to_be_bytes();
        let mut work = self.begin()?;
        let Some(found) = work.get_for_update(&key_of(b'i', instance.0))? else { return Ok(Vec::new()) };
        let known: Instance = read("an instance", &found)?;
        // After taking the lock: the instance may have been restarted since it was listed.
        if let Some(ms) = before_ms
            && execution_of(work.as_mut(), known.last)?.ended_ms.is_some_and(|at| at >= ms)
        {
            return Ok(Vec::new());
        }
        let prefix = [b"x".as_slice(), &own].concat();
        let (mut executions, mut newest) = (Vec::new(), None);
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page =
                work.page(PageOf { prefix: &prefix, after: after.as_deref(), newest_first: true, count: PAGE })?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            executions.extend(page.iter().map(|(key, _)| ExecutionId(number(&key[prefix.len()..]))));
        }
        for id in &executions {
            let execution = execution_of(work.as_mut(), *id)?;
            if execution.status.is_running() {
                return Err(BatchError::IsRunning { execution: *id, status: execution.status });
            }
            digests.insert(execution.digest);
            if newest.is_none() {
                let text = format!("instance {instance} and its executions are removed");
                newest = Some(event_of(&execution, event::INSTANCE_PURGED, self.now_ms(), text));
            }
            work.delete(&key_of(b'e', id.0))?;
            work.delete(&[prefix.as_slice(), &id.0.to_be_bytes()].concat())?;
            work.delete(&left_key(*id))?;
            work.delete(&key_of(b'q', id.0))?;
        }
        work.delete(&[b"n", known.job.as_bytes(), &[0], own.as_slice()].concat())?;
        work.delete(&restarts_key(instance))?;
        work.delete(&key_of(b'i', instance.0))?;
        work.put(&key_of(b'g', instance.0), &bytes(&executions))?;
        self.keep_unattended(work.as_mut(), newest.as_slice())?;
        work.commit()?;
        self.finish_purge(instance, &executions)?;
        Ok(executions)
    }

    /// Removes the remaining records of a removed instance, in units of some hundred records.
    fn finish_purge(&self, instance: InstanceId, executions: &[ExecutionId]) -> Result<(), BatchError> {
        let own = instance.0.to_be_bytes();
        for id in executions {
            for kind in [b"s", b"r"] {
                self.remove_all(None, &[kind.as_slice(), &id.0.to_be_bytes()].concat())?;
            }
        }
        for kind in [b"t", b"b", b"m", b"k"] {
            self.remove_all(None, &[kind.as_slice(), &own].concat())?;
        }
        let mut work = self.begin()?;
        work.delete(&key_of(b'g', instance.0))?;
        work.commit()
    }

    /// Ends removals during which a process ended.
    fn finish_purges(&self) -> Result<(), BatchError> {
        loop {
            let page = self.begin()?.page(PageOf { prefix: b"g", after: None, newest_first: false, count: PAGE })?;
            if page.is_empty() {
                return Ok(());
            }
            for (key, value) in &page {
                let executions: Vec<ExecutionId> = read("a removal", value)?;
                self.finish_purge(InstanceId(number(&key[1..])), &executions)?;
            }
        }
    }

    /// Removes those of these job XMLs that no execution refers to.
    fn forget_texts(&self, mut digests: BTreeSet<u64>) -> Result<(), BatchError> {
        let mut newest: Option<Vec<u8>> = None;
        let mut after: Option<Vec<u8>> = None;
        let mut work = self.begin()?;
        while !digests.is_empty() {
            let page = work.page(PageOf { prefix: b"e", after: after.as_deref(), newest_first: true, count: PAGE })?;
            let Some((last, _)) = page.last() else { break };
            newest = newest.or_else(|| page.first().map(|(key, _)| key.clone()));
            after = Some(last.clone());
            for (_, value) in &page {
                digests.remove(&read::<Execution>("an execution", value)?.digest);
            }
        }
        drop(work);
        if digests.is_empty() {
            return Ok(());
        }
        let mut work = self.begin()?;
        // A start takes its number first, so no start is in progress while this lock is held; check those since the scan above.
        work.get_for_update(b"#e")?;
        let mut look = self.begin()?;
        loop {
            let page =
                look.page(PageOf { prefix: b"e", after: newest.as_deref(), newest_first: false, count: PAGE })?;
            let Some((last, _)) = page.last() else { break };
            newest = Some(last.clone());
            for (_, value) in &page {
                digests.remove(&read::<Execution>("an execution", value)?.digest);
            }
        }
        for digest in digests {
            work.delete(&key_of(b'd', digest))?;
        }
        work.commit()
    }
}
