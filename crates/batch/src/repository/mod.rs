//! The job repository: typed records over a [`Backend`].

mod events;
mod failing;
mod history;
mod partitions;
mod position;
mod rejects;
mod relay;
mod shared;
mod split;
mod takeover;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_core::Stored;

use crate::error::BatchError;
use crate::event;
use crate::record::{
    Execution, ExecutionId, Instance, InstanceId, Lease, PartitionState, Progress, StepExecution, StepState,
};
use crate::record_bytes::{VERSION, bytes, read};
use crate::status::BatchStatus;
use crate::work::{Backend, Entry, Fence, PageOf, Work};

use position::{keep_checkpoint, read_state, without_positions};
use shared::forget_sharing;
use split::given_key;
use takeover::{left_key, restarts_key};

pub(crate) use events::{event_of, put_on, stored};
pub use history::{ExecutionFilter, Order};
pub(crate) use partitions::Begun;
pub use partitions::{PartitionProgress, Slow, StepProgress};
pub(crate) use position::Large;
pub(crate) use rejects::rejects_of;
pub(crate) use shared::Claim;
pub(crate) use split::NUMBER;
pub use takeover::LeftBehind;

/// Entries that are read at once.
const PAGE: usize = 256;
/// Maximum wait of an operation for a database that does not respond.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between two attempts: the first, and the longest.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The job repository. Launching a job reads and writes a fixed number of records, however many executions there were.
pub struct Repository {
    backend: Arc<dyn Backend>,
    /// Maximum wait of an operation for a database that does not respond.
    patience: Duration,
    /// True if operations no longer wait, because the process ends.
    has_given_up: AtomicBool,
    /// True if an operation has waited in vain, and the database has not answered since. Further operations do not wait.
    is_away: AtomicBool,
}

/// Additional operations in a unit of work of the repository.
pub(crate) type Also<'a> = &'a dyn Fn(&mut dyn Work) -> Result<(), BatchError>;

/// A new execution, or the next of an instance.
pub(crate) struct Launch<'l> {
    pub(crate) job: &'l str,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) digest: u64,
    pub(crate) text: &'l str,
    pub(crate) folder: String,
    /// Location of the execution and its job log.
    pub(crate) node: String,
    /// User who starts it.
    pub(crate) submitter: Option<String>,
    /// True if it continues the execution of an ended process, without an operator.
    pub(crate) is_automatic: bool,
    /// Keeps the event of the new execution.
    pub(crate) submitted: &'l dyn Fn(&mut dyn Work, &Execution) -> Result<(), BatchError>,
}

/// An execution that this process runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Held {
    pub(crate) execution: ExecutionId,
    pub(crate) instance: InstanceId,
    pub(crate) token: u64,
}

impl Repository {
    /// Creates the repository of a backend.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Repository {
            backend,
            patience: PATIENCE,
            has_given_up: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
        }
    }

    /// Sets the maximum wait for a database that does not respond.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the maximum wait for a database that does not respond.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let waits = !self.has_given_up.load(Ordering::Relaxed) && !self.is_away.load(Ordering::Relaxed);
        if waits { self.patience } else { Duration::ZERO }
    }

    /// Ends all waiting for a database that does not answer, now and later, because the process ends.
    pub fn give_up(&self) {
        self.has_given_up.store(true, Ordering::Relaxed);
    }

    /// Ends all waiting until the database answers again.
    pub(crate) fn has_waited(&self) {
        self.is_away.store(true, Ordering::Relaxed);
    }

    /// Notes that the database answers.
    pub(crate) fn answers(&self) {
        // Most calls change nothing, so they only read.
        if self.is_away.load(Ordering::Relaxed) {
            self.is_away.store(false, Ordering::Relaxed);
        }
    }

    /// Retries an operation while the database does not respond.
    fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, BatchError>) -> Result<T, BatchError> {
        let begin = Instant::now();
        let mut pause = PAUSE;
        loop {
            match attempt() {
                Err(BatchError::Lost(_)) if begin.elapsed() + pause < self.patience() => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Err(BatchError::Lost(error)) => {
                    self.has_waited();
                    return Err(BatchError::Lost(error));
                }
                outcome => {
                    self.answers();
                    return outcome;
                }
            }
        }
    }

    /// Begins a unit of work.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn begin(&self) -> Result<Box<dyn Work>, BatchError> {
        self.backend.begin()
    }

    /// Returns true if several processes can use the repository at the same time.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.backend.is_shared()
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.backend.now_ms()
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
        // If the instance is missing, it was removed in the meantime.
        let found = work.get_for_update(&key)?.ok_or(BatchError::NoSuchExecution(last))?;
        // After taking the lock: an operator may have abandoned it.
        let before = execution_of(work.as_mut(), last)?;
        let instance: Instance = read("an instance", &found)?;
        let refuse = |why: String, remedy: String| BatchError::NotRestartable { execution: last, why, remedy };
        if instance.last != last {
            let remedy = format!("restart the most recent one: {}", instance.last);
            return Err(refuse("it is not the most recent execution of its instance".to_owned(), remedy));
        }
        match before.status {
            BatchStatus::Completed => {
                let remedy = "start a new instance of the job: quayline job start".to_owned();
                return Err(refuse("it is COMPLETED".to_owned(), remedy));
            }
            BatchStatus::Abandoned => {
                let remedy = "start a new instance of the job: quayline job start".to_owned();
                return Err(refuse("it is ABANDONED".to_owned(), remedy));
            }
            status if status.is_running() => return Err(BatchError::IsRunning { execution: last, status }),
            _ => {}
        }
        work.delete(&left_key(last))?;
        let restarts = restarts_key(instance.id);
        if launch.is_automatic {
            let count = work.get(&restarts)?.map_or(0, |count| number(&count));
            work.put(&restarts, &(count + 1).to_be_bytes())?;
        } else {
            work.delete(&restarts)?;
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
            node: launch.node,
            submitter: launch.submitter,
            ..Execution::default()
        };
        work.put(&key_of(b'e', id.0), &bytes(&execution))?;
        work.put(&[b"x".as_slice(), &instance.id.0.to_be_bytes(), &id.0.to_be_bytes()].concat(), b"")?;
        // Numbers of executions ascend, so a later execution of an instance has a greater token.
        let token = id.0;
        let lease = Lease { owner: self.backend.owner()?, token, until_ms: u64::MAX };
        work.adopt(&[b"t".as_slice(), &instance.id.0.to_be_bytes()].concat(), token)?;
        work.put(&key_of(b'l', id.0), &bytes(&lease))?;
        (launch.submitted)(work.as_mut(), &execution)?;
        work.commit()?;
        Ok((execution, Held { execution: id, instance: instance.id, token }))
    }

    /// Refuses to continue if another process took the execution over. The lease stays locked until the unit of work ends.
    pub(crate) fn hold(&self, work: &mut dyn Work, held: Held) -> Result<(), BatchError> {
        let fence = self.fence(held)?;
        let lease = work.get_for_update(&fence.lease)?;
        fence.check(lease.as_deref())
    }

    fn fence(&self, held: Held) -> Result<Fence, BatchError> {
        let lease = key_of(b'l', held.execution.0);
        Ok(Fence { execution: held.execution, lease, token: held.token, owner: self.backend.owner()? })
    }

    /// Changes the execution that this process runs.
    pub(crate) fn update(
        &self,
        held: Held,
        change: impl Fn(&mut Execution),
        also: Also<'_>,
    ) -> Result<Execution, BatchError> {
        let mut is_again = false;
        self.patiently(|| {
            let ended = self.update_once(held, &change, also, is_again);
            is_again = true;
            ended
        })
    }

    fn update_once(
        &self,
        held: Held,
        change: &dyn Fn(&mut Execution),
        also: Also<'_>,
        is_again: bool,
    ) -> Result<Execution, BatchError> {
        let mut work = self.begin()?;
        if is_again {
            // The preceding attempt may have committed, which removed the lease.
            let execution = execution_of(work.as_mut(), held.execution)?;
            let mut wanted = execution.clone();
            change(&mut wanted);
            let has_started = execution.started_ms.is_some() && wanted.started_ms == execution.started_ms;
            if (!wanted.status.is_running() || has_started) && wanted.status == execution.status {
                return Ok(execution);
            }
        }
        self.hold(work.as_mut(), held)?;
        let mut execution = execution_of(work.as_mut(), held.execution)?;
        change(&mut execution);
        execution.updated_ms = self.now_ms();
        work.put(&key_of(b'e', held.execution.0), &bytes(&execution))?;
        if !execution.status.is_running() {
            work.delete(&key_of(b'l', held.execution.0))?;
            work.delete(&key_of(b'q', held.execution.0))?;
            forget_sharing(work.as_mut(), held.execution)?;
        }
        also(work.as_mut())?;
        work.commit()?;
        Ok(execution)
    }

    /// Returns an execution.
    ///
    /// # Errors
    /// [`BatchError::NoSuchExecution`].
    pub fn execution(&self, id: ExecutionId) -> Result<Execution, BatchError> {
        execution_of(self.begin()?.as_mut(), id)
    }

    /// Returns an instance.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn instance(&self, id: InstanceId) -> Result<Option<Instance>, BatchError> {
        let found = self.begin()?.get(&key_of(b'i', id.0))?;
        found.map(|value| read("an instance", &value)).transpose()
    }

    /// Ids of the jobs that have instances, ascending.
    ///
    /// # Errors
    /// Errors of the store.
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
    /// Errors of the store.
    pub fn instances(&self, job: &str, skip: usize, count: usize) -> Result<Vec<InstanceId>, BatchError> {
        let prefix = [b"n", job.as_bytes(), &[0]].concat();
        let keys = self.keys(&prefix, true, skip, count)?;
        Ok(keys.iter().map(|key| InstanceId(number(&key[prefix.len()..]))).collect())
    }

    /// Executions of an instance, the newest first.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn executions(&self, instance: InstanceId) -> Result<Vec<ExecutionId>, BatchError> {
        let prefix = [b"x".as_slice(), &instance.0.to_be_bytes()].concat();
        let keys = self.keys(&prefix, true, 0, usize::MAX)?;
        Ok(keys.iter().map(|key| ExecutionId(number(&key[prefix.len()..]))).collect())
    }

    /// Checks that the repository responds.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn reached(&self) -> Result<(), BatchError> {
        self.begin()?.page(PageOf { prefix: b"n", after: None, newest_first: false, count: 1 }).map(drop)
    }

    /// Returns all executions, the newest first.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn latest(&self, skip: usize, count: usize) -> Result<Vec<Execution>, BatchError> {
        let keys = self.keys(b"e", true, skip, count)?;
        keys.iter().map(|key| self.execution(ExecutionId(number(&key[1..])))).collect()
    }

    /// Returns executions of a job, the newest first.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn latest_of(&self, job: &str, count: usize) -> Result<Vec<Execution>, BatchError> {
        let filter = ExecutionFilter { job: Some(job.to_owned()), ..ExecutionFilter::default() };
        let (found, is_whole) = self.executions_of(&filter, None, (0, count))?;
        if is_whole {
            return Ok(found);
        }
        // The job rarely ran. An instance that has one of the newest executions is among those with the newest last executions.
        let mut last = Vec::new();
        for id in self.instances(job, 0, usize::MAX)? {
            last.extend(self.instance(id)?.map(|instance| (instance.last, id)));
        }
        last.sort_unstable_by(|a, b| b.cmp(a));
        let mut all = BTreeSet::new();
        for (_, id) in last.into_iter().take(count) {
            all.extend(self.executions(id)?);
        }
        all.into_iter().rev().take(count).map(|id| self.execution(id)).collect()
    }

    /// Executions that are not over.
    ///
    /// # Errors
    /// Errors of the store.
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

    /// Returns the step executions of an execution, in the order of their starts.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn steps(&self, execution: ExecutionId) -> Result<Vec<StepExecution>, BatchError> {
        steps_of(self.begin()?.as_mut(), execution)
    }

    /// Returns a partition of a step, if it has a checkpoint or has ended.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn partition(
        &self,
        instance: InstanceId,
        step: &str,
        partition: u32,
    ) -> Result<Option<PartitionState>, BatchError> {
        let (mut work, key) = (self.begin()?, partition_key(instance, step, partition));
        let found = work.get(&key)?;
        found.map(|value| read_state(work.as_mut(), &key, "a partition", &value)).transpose()
    }

    /// Returns the state of a step.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn step_state(&self, instance: InstanceId, step: &str) -> Result<Option<StepState>, BatchError> {
        let (mut work, key) = (self.begin()?, step_key(instance, step));
        let found = work.get(&key)?;
        found.map(|value| read_state(work.as_mut(), &key, "a step", &value)).transpose()
    }

    /// Returns the job XML of an execution.
    ///
    /// # Errors
    /// Errors of the store.
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
        also: Also<'_>,
    ) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
            let mut execution = execution_of(work.as_mut(), held.execution)?;
            // An attempt whose outcome is not known may have taken the number.
            let taken = work.get(&step_execution_key(held.execution, step.number.max(1)))?;
            let is_there = step.number > 0 && taken.is_some_and(|taken| taken == bytes(step));
            if !is_there {
                execution.steps += 1;
                execution.updated_ms = self.now_ms();
                step.number = execution.steps;
            }
            state.last = (held.execution, step.number);
            work.put(&key_of(b'e', held.execution.0), &bytes(&execution))?;
            work.put(&step_execution_key(held.execution, step.number), &bytes(step))?;
            let entry = (step_key(held.instance, &step.step), bytes(state));
            work.put_all(std::slice::from_ref(&entry), held.token)?;
            also(work.as_mut())?;
            work.commit()
        })
    }

    /// Writes a step execution and the step's state, in one unit of work. If it is uncertain which checkpoint is the last one, the stored one
    /// stays, with its metrics. The stored number of partitions always stays.
    pub(crate) fn save_step(
        &self,
        held: Held,
        (step, state): (&mut StepExecution, &mut StepState),
        is_uncertain: bool,
        also: Also<'_>,
    ) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
            let key = step_key(held.instance, &step.step);
            if state.plan.is_some() {
                // Each split has raised the stored number.
                let found = work.get_for_update(&key)?.ok_or(BatchError::Damaged { what: "a step" })?;
                state.plan = without_positions::<StepState>("a step", &found)?.plan;
                step.partitions = state.plan.unwrap_or_default();
            }
            if is_uncertain {
                keep_checkpoint(work.as_mut(), &key, "a step", state)?;
                step.counts = state.progress.counts;
            }
            work.put(&step_execution_key(held.execution, step.number), &bytes(step))?;
            self.put_end(work.as_mut(), held, (&step.step, None), state, step.status)?;
            also(work.as_mut())?;
            work.commit()
        })
    }

    /// Writes the initial state of partitions and the changed state of the step, in one unit of work.
    pub(crate) fn plan_partitions(
        &self,
        held: Held,
        step: &str,
        state: &StepState,
        new: impl Iterator<Item = u32>,
        digest: Option<u64>,
    ) -> Result<(), BatchError> {
        let first = bytes(&PartitionState::default());
        let entries: Vec<Entry> =
            new.map(|number| (partition_key(held.instance, step, number), first.clone())).collect();
        self.patiently(|| {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
            let own = (step_key(held.instance, step), bytes(state));
            work.put_all(std::slice::from_ref(&own), held.token)?;
            work.put_all(&entries, held.token)?;
            if let Some(digest) = digest {
                work.put(&plan_key(held.instance, step), &digest.to_be_bytes())?;
            }
            work.commit()
        })
    }

    /// Returns the digest of a step's plan, if its mapper must repeat it.
    pub(crate) fn plan_digest(&self, instance: InstanceId, step: &str) -> Result<Option<u64>, BatchError> {
        let found = self.begin()?.get(&plan_key(instance, step))?;
        Ok(found.map(|digest| number(&digest)))
    }

    /// Writes the state of a partition that ended.
    pub(crate) fn save_partition(
        &self,
        held: Held,
        at: (&str, u32),
        (state, is_uncertain): (&mut PartitionState, bool),
        also: Also<'_>,
    ) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            also(work.as_mut())?;
            if is_uncertain {
                let key = partition_key(held.instance, at.0, at.1);
                keep_checkpoint(work.as_mut(), &key, "a partition", state)?;
            }
            self.put_end(work.as_mut(), held, (at.0, Some(at.1)), state, state.status)?;
            work.commit()
        })
    }

    /// Asks the process that runs an execution to stop it, wherever it is.
    ///
    /// # Errors
    /// [`BatchError::NotRunning`], [`BatchError::NoSuchExecution`]; errors of the store.
    pub fn request_stop(&self, id: ExecutionId) -> Result<(), BatchError> {
        self.patiently(|| {
            let mut work = self.begin()?;
            let is_held = work.get_for_update(&key_of(b'l', id.0))?.is_some();
            let execution = execution_of(work.as_mut(), id)?;
            if !execution.status.is_running() {
                return Err(BatchError::NotRunning { execution: id, status: execution.status });
            }
            work.put(&key_of(b'q', id.0), b"")?;
            if is_held {
                self.put_stopping(work.as_mut(), id, execution)?;
            }
            work.commit()
        })
    }

    /// Sets the status of a running execution to STOPPING. Like every change of an execution, it locks the lease.
    pub(crate) fn note_stopping(&self, id: ExecutionId) -> Result<(), BatchError> {
        let mut work = self.begin()?;
        if work.get_for_update(&key_of(b'l', id.0))?.is_none() {
            return Ok(());
        }
        let execution = execution_of(work.as_mut(), id)?;
        self.put_stopping(work.as_mut(), id, execution)?;
        work.commit()
    }

    fn put_stopping(&self, work: &mut dyn Work, id: ExecutionId, mut execution: Execution) -> Result<(), BatchError> {
        if !matches!(execution.status, BatchStatus::Starting | BatchStatus::Started) {
            return Ok(());
        }
        execution.status = BatchStatus::Stopping;
        execution.updated_ms = self.now_ms();
        work.put(&key_of(b'e', id.0), &bytes(&execution))?;
        let text = format!("execution {id} of instance {} is asked to stop", execution.instance);
        let event = event_of(&execution, event::INSTANCE_STOPPING, execution.updated_ms, text);
        self.keep_unattended(work, &[event])
    }

    /// Returns those of these executions for which a stop was requested.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn stop_requests(&self, running: &[ExecutionId]) -> Result<Vec<ExecutionId>, BatchError> {
        let mut work = self.begin()?;
        let mut asked = Vec::new();
        for id in running {
            if work.get(&key_of(b'q', id.0))?.is_some() {
                asked.push(*id);
            }
        }
        Ok(asked)
    }

    /// Removes the state of the partitions of a step.
    pub(crate) fn forget_partitions(&self, held: Held, step: &str) -> Result<(), BatchError> {
        let prefix = step_key(held.instance, step);
        self.remove_all(Some(held), &given_key(held.instance, step, None))?;
        loop {
            let mut work = self.begin()?;
            self.hold(work.as_mut(), held)?;
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

    /// Removes the records with a prefix, as the holder of an execution unless the instance is removed already.
    fn remove_all(&self, held: Option<Held>, prefix: &[u8]) -> Result<(), BatchError> {
        loop {
            let mut work = self.begin()?;
            if let Some(held) = held {
                self.hold(work.as_mut(), held)?;
            }
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

pub(crate) fn steps_of(work: &mut dyn Work, execution: ExecutionId) -> Result<Vec<StepExecution>, BatchError> {
    let prefix = [b"s".as_slice(), &execution.0.to_be_bytes()].concat();
    let steps = split::entries(work, &prefix)?;
    steps.iter().map(|(_, value)| read("a step execution", value)).collect()
}

pub(crate) fn execution_of(work: &mut dyn Work, id: ExecutionId) -> Result<Execution, BatchError> {
    let found = work.get(&key_of(b'e', id.0))?.ok_or(BatchError::NoSuchExecution(id))?;
    read("an execution", &found)
}

fn next_number(work: &mut dyn Work, key: &[u8]) -> Result<u64, BatchError> {
    let last = work.get_for_update(key)?.map_or(0, |value| number(&value));
    work.put(key, &(last + 1).to_be_bytes())?;
    Ok(last + 1)
}

/// State that contains a checkpoint.
pub(crate) trait State: Stored {
    /// Returns the checkpoint.
    fn progress(&mut self) -> &mut Progress;
}

impl State for StepState {
    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}

impl State for PartitionState {
    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
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

fn plan_key(instance: InstanceId, step: &str) -> Vec<u8> {
    [b"m".as_slice(), &instance.0.to_be_bytes(), step.as_bytes()].concat()
}

fn partition_key(instance: InstanceId, step: &str, partition: u32) -> Vec<u8> {
    [step_key(instance, step).as_slice(), &partition.to_be_bytes()].concat()
}

/// Returns the number at the beginning of a part of a key.
fn number(bytes: &[u8]) -> u64 {
    bytes.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}
