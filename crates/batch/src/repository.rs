//! The job repository: typed records over a [`Backend`].

use std::collections::BTreeMap;
use std::sync::Arc;

use quayline_core::Packed;

use crate::error::BatchError;
use crate::record::{Execution, ExecutionId, Instance, InstanceId, Lease, PartitionState, StepExecution, StepState};
use crate::status::BatchStatus;
use crate::work::{Backend, PageOf, Work};

/// Entries that are read at once.
const PAGE: usize = 256;

/// The job repository. Launching a job reads and writes a fixed number of records, however many executions there were.
pub struct Repository {
    backend: Arc<dyn Backend>,
}

/// A new execution, or the next of an instance.
pub(crate) struct Launch<'l> {
    pub(crate) job: &'l str,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) digest: u64,
    pub(crate) text: &'l str,
    pub(crate) folder: String,
}

/// An execution that this process runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Held {
    pub(crate) execution: ExecutionId,
    pub(crate) instance: InstanceId,
    pub(crate) token: u64,
}

impl Repository {
    /// The repository that a backend keeps.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Repository { backend }
    }

    /// Begins a unit of work.
    ///
    /// # Errors
    /// Those of the store.
    pub fn begin(&self) -> Result<Box<dyn Work>, BatchError> {
        self.backend.begin()
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.backend.now_ms()
    }

    /// Ends executions whose process is gone as FAILED, so that they can be restarted. Returns them.
    ///
    /// # Errors
    /// Those of the store.
    pub fn recover(&self) -> Result<Vec<Execution>, BatchError> {
        let mut work = self.begin()?;
        let (owner, now) = (self.backend.owner(), self.now_ms());
        let mut recovered = Vec::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let of = PageOf { prefix: b"l", after: after.as_deref(), newest_first: false, count: PAGE };
            let page = work.page(of)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (key, value) in &page {
                let lease: Lease = read("a lease", value)?;
                let is_gone = if self.backend.is_exclusive() { lease.owner != owner } else { lease.until_ms < now };
                if !is_gone {
                    continue;
                }
                let id = ExecutionId(number(&key[1..]));
                let mut execution = execution_of(work.as_mut(), id)?;
                if execution.status.is_running() {
                    execution.status = BatchStatus::Failed;
                    execution.exit_status = Some(BatchStatus::Failed.text().to_owned());
                    execution.cause = Some("the process that ran it ended".to_owned());
                    execution.ended_ms = Some(now);
                    execution.updated_ms = now;
                    fail_steps(work.as_mut(), &execution)?;
                    work.put(&key_of(b'e', id.0), &bytes(&execution))?;
                    recovered.push(execution);
                }
                // Without the lease, nothing that the old process may still have under way commits.
                work.delete(key)?;
            }
        }
        if !recovered.is_empty() {
            work.commit()?;
        }
        Ok(recovered)
    }

    /// Makes an instance with its first execution, STARTING.
    pub(crate) fn launch(&self, launch: Launch<'_>) -> Result<(Execution, Held), BatchError> {
        let mut work = self.begin()?;
        let instance = InstanceId(next_number(work.as_mut(), b"#i")?);
        work.put(&[b"n", launch.job.as_bytes(), &[0], &instance.0.to_be_bytes()].concat(), b"")?;
        let created = Instance {
            id: instance,
            job: launch.job.to_owned(),
            last: ExecutionId(0),
            created_ms: self.now_ms(),
            folder: launch.folder.clone(),
        };
        self.add_execution(work, created, launch)
    }

    /// Makes the next execution of an instance, STARTING. `last` must be its most recent one.
    pub(crate) fn relaunch(
        &self,
        last: ExecutionId,
        launch: Launch<'_>,
    ) -> Result<(Execution, Execution, Held), BatchError> {
        let mut work = self.begin()?;
        let before = execution_of(work.as_mut(), last)?;
        let key = key_of(b'i', before.instance.0);
        let found = work.get_for_update(&key)?.ok_or(BatchError::Damaged { what: "an instance" })?;
        let instance: Instance = read("an instance", &found)?;
        let refuse = |why: String, remedy: String| BatchError::NotRestartable { execution: last, why, remedy };
        if instance.last != last {
            let remedy = format!("restart the most recent one: {}", instance.last);
            return Err(refuse("it is not the most recent execution of its instance".to_owned(), remedy));
        }
        match before.status {
            BatchStatus::Completed => {
                let remedy = "start the job anew: quayline job start".to_owned();
                return Err(refuse("it is COMPLETED".to_owned(), remedy));
            }
            BatchStatus::Abandoned => {
                let remedy = "start the job anew: quayline job start".to_owned();
                return Err(refuse("it is ABANDONED".to_owned(), remedy));
            }
            status if status.is_running() => return Err(BatchError::IsRunning { execution: last, status }),
            _ => {}
        }
        let (execution, held) = self.add_execution(work, instance, launch)?;
        Ok((before, execution, held))
    }

    fn add_execution(
        &self,
        mut work: Box<dyn Work>,
        mut instance: Instance,
        launch: Launch<'_>,
    ) -> Result<(Execution, Held), BatchError> {
        let id = ExecutionId(next_number(work.as_mut(), b"#e")?);
        let now = self.now_ms();
        instance.last = id;
        work.put(&key_of(b'i', instance.id.0), &bytes(&instance))?;
        let text = key_of(b'd', launch.digest);
        if work.get(&text)?.is_none() {
            work.put(&text, launch.text.as_bytes())?;
        }
        let execution = Execution {
            id,
            instance: instance.id,
            job: launch.job.to_owned(),
            parameters: launch.parameters,
            created_ms: now,
            updated_ms: now,
            digest: launch.digest,
            ..Execution::default()
        };
        work.put(&key_of(b'e', id.0), &bytes(&execution))?;
        work.put(&[b"x".as_slice(), &instance.id.0.to_be_bytes(), &id.0.to_be_bytes()].concat(), b"")?;
        // Numbers of executions ascend, so a later execution of an instance has a greater token.
        let token = id.0;
        let lease = Lease { owner: self.backend.owner(), token, until_ms: u64::MAX };
        work.put(&key_of(b'l', id.0), &bytes(&lease))?;
        work.commit()?;
        Ok((execution, Held { execution: id, instance: instance.id, token }))
    }

    /// Refuses to continue if another process took the execution over. The lease stays locked until the unit of work ends.
    pub(crate) fn hold(&self, work: &mut dyn Work, held: Held) -> Result<(), BatchError> {
        let lease = work.get_for_update(&key_of(b'l', held.execution.0))?;
        let lease: Option<Lease> = lease.map(|value| read("a lease", &value)).transpose()?;
        match lease {
            Some(lease) if lease.token == held.token && lease.owner == self.backend.owner() => Ok(()),
            _ => Err(BatchError::Fenced { execution: held.execution, token: held.token }),
        }
    }

    /// Changes the execution that this process runs.
    pub(crate) fn update(&self, held: Held, change: impl FnOnce(&mut Execution)) -> Result<Execution, BatchError> {
        let mut work = self.begin()?;
        self.hold(work.as_mut(), held)?;
        let mut execution = execution_of(work.as_mut(), held.execution)?;
        change(&mut execution);
        execution.updated_ms = self.now_ms();
        work.put(&key_of(b'e', held.execution.0), &bytes(&execution))?;
        if !execution.status.is_running() {
            work.delete(&key_of(b'l', held.execution.0))?;
        }
        work.commit()?;
        Ok(execution)
    }

    /// Gives a restartable execution up for good.
    ///
    /// # Errors
    /// [`BatchError::IsRunning`], [`BatchError::NoSuchExecution`].
    pub fn abandon(&self, id: ExecutionId) -> Result<Execution, BatchError> {
        let mut work = self.begin()?;
        let mut execution = execution_of(work.as_mut(), id)?;
        if execution.status.is_running() {
            return Err(BatchError::IsRunning { execution: id, status: execution.status });
        }
        execution.status = BatchStatus::Abandoned;
        execution.updated_ms = self.now_ms();
        work.put(&key_of(b'e', id.0), &bytes(&execution))?;
        work.commit()?;
        Ok(execution)
    }

    /// An execution.
    ///
    /// # Errors
    /// [`BatchError::NoSuchExecution`].
    pub fn execution(&self, id: ExecutionId) -> Result<Execution, BatchError> {
        execution_of(self.begin()?.as_mut(), id)
    }

    /// An instance.
    ///
    /// # Errors
    /// Those of the store.
    pub fn instance(&self, id: InstanceId) -> Result<Option<Instance>, BatchError> {
        let found = self.begin()?.get(&key_of(b'i', id.0))?;
        found.map(|value| read("an instance", &value)).transpose()
    }

    /// Ids of the jobs that have instances, ascending.
    ///
    /// # Errors
    /// Those of the store.
    pub fn jobs(&self) -> Result<Vec<String>, BatchError> {
        let mut work = self.begin()?;
        let mut jobs: Vec<String> = Vec::new();
        let mut after: Option<Vec<u8>> = None;
        // Skips from one name to the next, so the cost is that of the names.
        loop {
            let page = work.page(PageOf { prefix: b"n", after: after.as_deref(), newest_first: false, count: 1 })?;
            let Some((key, _)) = page.first() else { return Ok(jobs) };
            let name = &key[1..key.len().saturating_sub(9)];
            let text = std::str::from_utf8(name).map_err(|_| BatchError::Damaged { what: "a job's name" })?;
            jobs.push(text.to_owned());
            after = Some([b"n", name, &[0], &[0xff; 8]].concat());
        }
    }

    /// Instances of a job, the newest first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn instances(&self, job: &str, skip: usize, count: usize) -> Result<Vec<InstanceId>, BatchError> {
        let prefix = [b"n", job.as_bytes(), &[0]].concat();
        let keys = self.keys(&prefix, true, skip, count)?;
        Ok(keys.iter().map(|key| InstanceId(number(&key[prefix.len()..]))).collect())
    }

    /// Executions of an instance, the newest first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn executions(&self, instance: InstanceId) -> Result<Vec<ExecutionId>, BatchError> {
        let prefix = [b"x".as_slice(), &instance.0.to_be_bytes()].concat();
        let keys = self.keys(&prefix, true, 0, usize::MAX)?;
        Ok(keys.iter().map(|key| ExecutionId(number(&key[prefix.len()..]))).collect())
    }

    /// All executions, the newest first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn latest(&self, skip: usize, count: usize) -> Result<Vec<Execution>, BatchError> {
        let keys = self.keys(b"e", true, skip, count)?;
        keys.iter().map(|key| self.execution(ExecutionId(number(&key[1..])))).collect()
    }

    /// Executions that are not over.
    ///
    /// # Errors
    /// Those of the store.
    pub fn running(&self) -> Result<Vec<ExecutionId>, BatchError> {
        let keys = self.keys(b"l", false, 0, usize::MAX)?;
        Ok(keys.iter().map(|key| ExecutionId(number(&key[1..]))).collect())
    }

    fn keys(&self, prefix: &[u8], newest_first: bool, skip: usize, count: usize) -> Result<Vec<Vec<u8>>, BatchError> {
        let mut work = self.begin()?;
        let mut keys = Vec::new();
        let mut after: Option<Vec<u8>> = None;
        let mut skipped = 0;
        while keys.len() < count {
            let page = work.page(PageOf { prefix, after: after.as_deref(), newest_first, count: PAGE })?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (key, _) in page {
                if skipped < skip {
                    skipped += 1;
                } else if keys.len() < count {
                    keys.push(key);
                }
            }
        }
        Ok(keys)
    }

    /// Step executions of an execution, in the order of their starts.
    ///
    /// # Errors
    /// Those of the store.
    pub fn steps(&self, execution: ExecutionId) -> Result<Vec<StepExecution>, BatchError> {
        steps_of(self.begin()?.as_mut(), execution)
    }

    /// A partition of a step, if it has a checkpoint or ended.
    ///
    /// # Errors
    /// Those of the store.
    pub fn partition(
        &self,
        instance: InstanceId,
        step: &str,
        partition: u32,
    ) -> Result<Option<PartitionState>, BatchError> {
        let found = self.begin()?.get(&partition_key(instance, step, partition))?;
        found.map(|value| read("a partition", &value)).transpose()
    }

    /// The state of a step.
    ///
    /// # Errors
    /// Those of the store.
    pub fn step_state(&self, instance: InstanceId, step: &str) -> Result<Option<StepState>, BatchError> {
        let found = self.begin()?.get(&step_key(instance, step))?;
        found.map(|value| read("a step", &value)).transpose()
    }

    /// The job XML that an execution ran.
    ///
    /// # Errors
    /// Those of the store.
    pub fn text(&self, digest: u64) -> Result<Option<String>, BatchError> {
        let found = self.begin()?.get(&key_of(b'd', digest))?;
        found.map(String::from_utf8).transpose().map_err(|_| BatchError::Damaged { what: "job XML" })
    }

    /// Adds a step execution and writes the step's state, in one unit of work.
    pub(crate) fn begin_step(
        &self,
        held: Held,
        step: &mut StepExecution,
        state: &mut StepState,
    ) -> Result<(), BatchError> {
        let mut work = self.begin()?;
        self.hold(work.as_mut(), held)?;
        let mut execution = execution_of(work.as_mut(), held.execution)?;
        execution.steps += 1;
        execution.updated_ms = self.now_ms();
        step.number = execution.steps;
        state.last = (held.execution, step.number);
        work.put(&key_of(b'e', held.execution.0), &bytes(&execution))?;
        work.put(&step_execution_key(held.execution, step.number), &bytes(step))?;
        work.put(&step_key(held.instance, &step.step), &bytes(state))?;
        work.commit()
    }

    /// Writes a step execution and the step's state, in one unit of work.
    pub(crate) fn save_step(&self, held: Held, step: &StepExecution, state: &StepState) -> Result<(), BatchError> {
        let mut work = self.begin()?;
        self.hold(work.as_mut(), held)?;
        work.put(&step_execution_key(held.execution, step.number), &bytes(step))?;
        work.put(&step_key(held.instance, &step.step), &bytes(state))?;
        work.commit()
    }

    /// Writes the state of a step as a part of a unit of work: the checkpoint.
    pub(crate) fn put_step(
        &self,
        work: &mut dyn Work,
        held: Held,
        step: &str,
        state: &StepState,
    ) -> Result<(), BatchError> {
        self.hold(work, held)?;
        work.put(&step_key(held.instance, step), &bytes(state))
    }

    /// Writes the state of a partition as a part of a unit of work.
    pub(crate) fn put_partition(
        &self,
        work: &mut dyn Work,
        held: Held,
        at: (&str, u32),
        state: &PartitionState,
    ) -> Result<(), BatchError> {
        // Partitions share the lease, so they look at it without a lock; the step's own record locks it when the step ends.
        let lease = work.get(&key_of(b'l', held.execution.0))?;
        let lease: Option<Lease> = lease.map(|value| read("a lease", &value)).transpose()?;
        if lease.is_none_or(|lease| lease.token != held.token) {
            return Err(BatchError::Fenced { execution: held.execution, token: held.token });
        }
        work.put(&partition_key(held.instance, at.0, at.1), &bytes(state))
    }

    /// Removes what is known of the partitions of a step.
    pub(crate) fn forget_partitions(&self, held: Held, step: &str) -> Result<(), BatchError> {
        let prefix = step_key(held.instance, step);
        loop {
            let mut work = self.begin()?;
            let page = work.page(PageOf { prefix: &prefix, after: Some(&prefix), newest_first: false, count: PAGE })?;
            if page.is_empty() {
                return Ok(());
            }
            for (key, _) in &page {
                work.delete(key)?;
            }
            work.commit()?;
        }
    }

    /// Removes an instance with its executions, in units of some hundred records. Returns the executions.
    ///
    /// # Errors
    /// [`BatchError::IsRunning`]; errors of the store.
    pub fn purge(&self, instance: InstanceId) -> Result<Vec<ExecutionId>, BatchError> {
        let executions = self.executions(instance)?;
        for id in &executions {
            let execution = self.execution(*id)?;
            if execution.status.is_running() {
                return Err(BatchError::IsRunning { execution: *id, status: execution.status });
            }
        }
        let number = instance.0.to_be_bytes();
        for id in &executions {
            self.remove_all(&[b"s".as_slice(), &id.0.to_be_bytes()].concat())?;
        }
        self.remove_all(&[b"t".as_slice(), &number].concat())?;
        let mut work = self.begin()?;
        if let Some(found) = work.get(&key_of(b'i', instance.0))? {
            let found: Instance = read("an instance", &found)?;
            work.delete(&[b"n", found.job.as_bytes(), &[0], number.as_slice()].concat())?;
        }
        for id in &executions {
            work.delete(&key_of(b'e', id.0))?;
            work.delete(&[b"x".as_slice(), &number, &id.0.to_be_bytes()].concat())?;
        }
        work.delete(&key_of(b'i', instance.0))?;
        work.commit()?;
        Ok(executions)
    }

    fn remove_all(&self, prefix: &[u8]) -> Result<(), BatchError> {
        loop {
            let mut work = self.begin()?;
            let page = work.page(PageOf { prefix, after: None, newest_first: false, count: PAGE })?;
            if page.is_empty() {
                return Ok(());
            }
            for (key, _) in &page {
                work.delete(key)?;
            }
            work.commit()?;
        }
    }
}

fn fail_steps(work: &mut dyn Work, execution: &Execution) -> Result<(), BatchError> {
    for mut step in steps_of(work, execution.id)? {
        if !step.status.is_running() {
            continue;
        }
        let key = step_key(execution.instance, &step.step);
        if let Some(found) = work.get(&key)? {
            let mut state: StepState = read("a step", &found)?;
            step.counts = state.progress.counts;
            step.user_data = state.progress.user_data.clone();
            state.status = BatchStatus::Failed;
            state.exit_status = Some(BatchStatus::Failed.text().to_owned());
            work.put(&key, &bytes(&state))?;
        }
        step.status = BatchStatus::Failed;
        step.exit_status = Some(BatchStatus::Failed.text().to_owned());
        step.ended_ms = execution.ended_ms;
        step.cause = execution.cause.clone();
        work.put(&step_execution_key(execution.id, step.number), &bytes(&step))?;
    }
    Ok(())
}

fn steps_of(work: &mut dyn Work, execution: ExecutionId) -> Result<Vec<StepExecution>, BatchError> {
    let prefix = [b"s".as_slice(), &execution.0.to_be_bytes()].concat();
    let mut steps = Vec::new();
    let mut after: Option<Vec<u8>> = None;
    loop {
        let of = PageOf { prefix: &prefix, after: after.as_deref(), newest_first: false, count: PAGE };
        let page = work.page(of)?;
        let Some((last, _)) = page.last() else { return Ok(steps) };
        after = Some(last.clone());
        for (_, value) in &page {
            steps.push(read("a step execution", value)?);
        }
    }
}

fn execution_of(work: &mut dyn Work, id: ExecutionId) -> Result<Execution, BatchError> {
    let found = work.get(&key_of(b'e', id.0))?.ok_or(BatchError::NoSuchExecution(id))?;
    read("an execution", &found)
}

fn next_number(work: &mut dyn Work, key: &[u8]) -> Result<u64, BatchError> {
    let last = work.get_for_update(key)?.map_or(0, |value| number(&value));
    work.put(key, &(last + 1).to_be_bytes())?;
    Ok(last + 1)
}

/// Version of the records' form, their first byte.
const VERSION: u8 = 1;

fn bytes<T: Packed>(record: &T) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    record.pack(&mut bytes);
    bytes
}

fn read<T: Packed>(what: &'static str, bytes: &[u8]) -> Result<T, BatchError> {
    let rest = bytes.strip_prefix(&[VERSION]).ok_or(BatchError::Damaged { what })?;
    T::unpack_all(rest).ok_or(BatchError::Damaged { what })
}

fn key_of(kind: u8, number: u64) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&number.to_be_bytes());
    key
}

fn step_execution_key(execution: ExecutionId, number: u32) -> Vec<u8> {
    [b"s".as_slice(), &execution.0.to_be_bytes(), &number.to_be_bytes()].concat()
}

fn step_key(instance: InstanceId, step: &str) -> Vec<u8> {
    [b"t".as_slice(), &instance.0.to_be_bytes(), step.as_bytes(), &[0]].concat()
}

fn partition_key(instance: InstanceId, step: &str, partition: u32) -> Vec<u8> {
    [step_key(instance, step).as_slice(), &partition.to_be_bytes()].concat()
}

/// The number at the begin of a part of a key.
fn number(bytes: &[u8]) -> u64 {
    bytes.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}
