//! Executions whose process ended: they become FAILED, and wait to be continued.

use std::collections::{BTreeSet, HashMap};

use super::events::event_of;
use super::failing::fail_steps;
use super::{PAGE, Repository, bytes, execution_of, forget_sharing, key_of, number, read};
use crate::error::BatchError;
use crate::event;
use crate::record::{Execution, ExecutionId, InstanceId, Lease};
use crate::status::BatchStatus;
use crate::work::{Entry, PageOf, Work};

/// An execution whose process ended, and that has not been continued since.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftBehind {
    /// The execution, FAILED.
    pub execution: Execution,
    /// Base of relative paths of the job.
    pub folder: String,
    /// Time at which the end of the process was noticed, in milliseconds since 1970.
    pub at_ms: u64,
    /// Restarts without an operator since the last one by an operator.
    pub restarts: u64,
}

/// Sees a lease and its key.
type Visit<'v> = &'v mut dyn FnMut(&mut dyn Work, &[u8], &Lease) -> Result<(), BatchError>;

/// Returns true if no process runs the execution of a lease any more.
type IsLeft<'l> = &'l mut dyn FnMut(ExecutionId, &Lease) -> Result<bool, BatchError>;

impl Repository {
    /// Ends executions whose process has ended as FAILED, so that they can be restarted. Returns them.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn recover(&self) -> Result<Vec<Execution>, BatchError> {
        self.take_over(&|_| true)
    }

    /// Returns executions that are not over but whose process has ended.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn gone(&self) -> Result<Vec<ExecutionId>, BatchError> {
        let mut work = self.begin()?;
        let (mut owners, mut gone) = (HashMap::new(), Vec::new());
        self.leases(work.as_mut(), &mut |_, key, lease| {
            if self.is_owner_gone(lease, &mut owners)? {
                gone.push(ExecutionId(number(&key[1..])));
            }
            Ok(())
        })?;
        Ok(gone)
    }

    /// Returns executions that are not over and belong to this opening of the repository.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn own(&self) -> Result<Vec<ExecutionId>, BatchError> {
        let (owner, mut own) = (self.backend.owner()?, Vec::new());
        self.leases(self.begin()?.as_mut(), &mut |_, key, lease| {
            own.extend((lease.owner == owner).then(|| ExecutionId(number(&key[1..]))));
            Ok(())
        })?;
        Ok(own)
    }

    /// Does the same as [`Repository::recover`], but only for selected executions.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn take_over(&self, wanted: &dyn Fn(ExecutionId) -> bool) -> Result<Vec<Execution>, BatchError> {
        let mut owners = HashMap::new();
        let mut is_left =
            |id, lease: &Lease| Ok::<_, BatchError>(wanted(id) && self.is_owner_gone(lease, &mut owners)?);
        self.end_those("the process that ran it ended", &mut is_left)
    }

    /// Ends selected executions of this opening as FAILED. The caller knows that no thread of this process runs them, for example because the
    /// database was away when they ended.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn take_over_own(&self, wanted: &dyn Fn(ExecutionId) -> bool) -> Result<Vec<Execution>, BatchError> {
        let owner = self.backend.owner()?;
        self.end_those("its end could not be recorded", &mut |id, lease| Ok(lease.owner == owner && wanted(id)))
    }

    fn end_those(&self, cause: &str, is_left: IsLeft<'_>) -> Result<Vec<Execution>, BatchError> {
        let mut work = self.begin()?;
        let now = self.now_ms();
        let (mut recovered, mut is_changed) = (Vec::new(), false);
        self.leases(work.as_mut(), &mut |work, key, lease| {
            let id = ExecutionId(number(&key[1..]));
            if !is_left(id, lease)? {
                return Ok(());
            }
            // Another process may recover it at the same time.
            if work.get_for_update(key)?.is_none() {
                return Ok(());
            }
            let mut execution = execution_of(work, id)?;
            if execution.status.is_running() {
                execution.status = BatchStatus::Failed;
                execution.exit_status = Some(BatchStatus::Failed.text().to_owned());
                execution.cause = Some(cause.to_owned());
                execution.ended_ms = Some(now);
                execution.updated_ms = now;
                // First prevent further commits of the old process; then read its committed work.
                work.adopt(&[b"t".as_slice(), &execution.instance.0.to_be_bytes()].concat(), 0)?;
                fail_steps(work, &execution)?;
                work.put(&key_of(b'e', id.0), &bytes(&execution))?;
                work.put(&left_key(id), &now.to_be_bytes())?;
                let ends = event_of(&execution, event::FAILED, now, format!("ends {}: {cause}", execution.status));
                let text = format!("execution {id} of instance {} ended {}", execution.instance, execution.status);
                self.keep_unattended(work, &[ends, event_of(&execution, event::INSTANCE_FAILED, now, text)])?;
                recovered.push(execution);
            }
            // Without the lease, work that the old process may still have in progress does not commit.
            work.delete(key)?;
            work.delete(&key_of(b'q', id.0))?;
            forget_sharing(work, id)?;
            is_changed = true;
            Ok(())
        })?;
        if is_changed {
            work.commit()?;
        }
        Ok(recovered)
    }

    /// Visits the leases of executions that are not over.
    fn leases(&self, work: &mut dyn Work, visit: Visit<'_>) -> Result<(), BatchError> {
        let mut after: Option<Vec<u8>> = None;
        loop {
            let of = PageOf { prefix: b"l", after: after.as_deref(), newest_first: false, count: PAGE };
            let page: Vec<Entry> = work.page(of)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            for (key, value) in &page {
                visit(work, key, &read("a lease", value)?)?;
            }
        }
    }

    /// Returns true if the process that runs an execution is connected to the repository now. After a restart of the database, one that is not
    /// counts as alive for [`OWNER_GRACE_SECONDS`](crate::record::OWNER_GRACE_SECONDS).
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_attended(&self, id: ExecutionId) -> Result<bool, BatchError> {
        let Some(lease) = self.begin()?.get(&key_of(b'l', id.0))? else { return Ok(false) };
        self.backend.is_connected(&read("a lease", &lease)?)
    }

    /// Returns true if the owner of a lease has ended; each owner is checked once.
    fn is_owner_gone(&self, lease: &Lease, owners: &mut HashMap<u64, bool>) -> Result<bool, BatchError> {
        if let Some(is_gone) = owners.get(&lease.owner) {
            return Ok(*is_gone);
        }
        let is_gone = self.backend.is_gone(lease)?;
        owners.insert(lease.owner, is_gone);
        Ok(is_gone)
    }

    /// Returns executions of selected folders whose process ended and that have not been continued, abandoned or dismissed since. `others` keeps
    /// the executions of other folders from call to call, which are then not read again.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn left_behind(
        &self,
        is_wanted: &dyn Fn(&str) -> bool,
        others: &mut BTreeSet<ExecutionId>,
    ) -> Result<Vec<LeftBehind>, BatchError> {
        let mut work = self.begin()?;
        let mut left = Vec::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let of = PageOf { prefix: b"w", after: after.as_deref(), newest_first: false, count: PAGE };
            let page: Vec<Entry> = work.page(of)?;
            let Some((last, _)) = page.last() else { return Ok(left) };
            after = Some(last.clone());
            for (key, value) in &page {
                let id = ExecutionId(number(&key[1..]));
                if others.contains(&id) {
                    continue;
                }
                let execution = execution_of(work.as_mut(), id)?;
                let Some(instance) = work.get(&key_of(b'i', execution.instance.0))? else { continue };
                let instance: crate::record::Instance = read("an instance", &instance)?;
                if !is_wanted(&instance.folder) {
                    others.insert(id);
                    continue;
                }
                let restarts = work.get(&restarts_key(instance.id))?.map_or(0, |count| number(&count));
                left.push(LeftBehind { execution, folder: instance.folder, at_ms: number(value), restarts });
            }
        }
    }

    /// Leaves an execution whose process ended to an operator. Returns true if this call changed it.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn forget_left_behind(&self, id: ExecutionId) -> Result<bool, BatchError> {
        let mut work = self.begin()?;
        let is_there = work.get_for_update(&left_key(id))?.is_some();
        if is_there {
            work.delete(&left_key(id))?;
            work.commit()?;
        }
        Ok(is_there)
    }
}

/// Returns the key of the record that a process has ended, with the time at which this was noticed.
pub(super) fn left_key(execution: ExecutionId) -> Vec<u8> {
    key_of(b'w', execution.0)
}

/// Returns the key of the number of restarts of an instance without an operator.
pub(super) fn restarts_key(instance: InstanceId) -> Vec<u8> {
    key_of(b'u', instance.0)
}
