//! Contexts of artifacts: the job, the step, their metrics, and the wish to stop.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::error::Thrown;
use crate::record::{Counts, ExecutionId, InstanceId, Times};
use crate::status::BatchStatus;

/// Data that artifacts of one thread share and that nobody keeps.
pub type TransientData = Option<Arc<dyn Any + Send + Sync>>;

/// Files that steps write, each with its step and partition.
type Outputs = BTreeMap<PathBuf, (String, Option<u32>)>;

/// The wish that an execution stops. Clones share it.
#[derive(Clone, Default)]
pub struct StopSignal(Arc<Signal>);

#[derive(Default)]
struct Signal {
    is_set: AtomicBool,
    lock: Mutex<()>,
    set: Condvar,
}

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StopSignal({})", self.is_set())
    }
}

impl StopSignal {
    /// Asks to stop.
    pub fn set(&self) {
        let _guard = self.0.lock.lock();
        self.0.is_set.store(true, Ordering::SeqCst);
        self.0.set.notify_all();
    }

    /// Whether somebody asked to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed)
    }

    /// Waits, but no longer than until somebody asks to stop. Whether somebody did.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        let deadline = Instant::now() + at_most;
        let mut guard = self.0.lock.lock();
        while !self.is_set() {
            if self.0.set.wait_until(&mut guard, deadline).timed_out() {
                return self.is_set();
            }
        }
        true
    }
}

/// The job, as artifacts see it. Threads of partitions and of flows of a split have one each, as the specification says.
pub struct JobContext {
    /// The job's id.
    pub job: String,
    /// Instance.
    pub instance: InstanceId,
    /// Execution.
    pub execution: ExecutionId,
    /// When the instance was created, in milliseconds since 1970: with its number, it names the instance among those of all repositories.
    pub created_ms: u64,
    /// Properties of the job.
    pub properties: BTreeMap<String, String>,
    /// Parameters of this start or restart.
    pub parameters: BTreeMap<String, String>,
    /// Whether somebody asked the execution to stop.
    pub stop: StopSignal,
    /// Files that steps write, each with its step and partition; shared by all threads.
    outputs: Arc<Mutex<Outputs>>,
    state: Mutex<JobContextState>,
}

#[derive(Default)]
struct JobContextState {
    status: BatchStatus,
    exit_status: Option<String>,
    transient: TransientData,
}

impl JobContext {
    /// A context without exit status and data.
    #[must_use]
    pub fn new(
        job: &str,
        ids: (InstanceId, ExecutionId),
        properties: BTreeMap<String, String>,
        stop: StopSignal,
    ) -> Self {
        JobContext {
            job: job.to_owned(),
            instance: ids.0,
            execution: ids.1,
            created_ms: 0,
            properties,
            parameters: BTreeMap::new(),
            stop,
            outputs: Arc::default(),
            state: Mutex::new(JobContextState { status: BatchStatus::Started, ..JobContextState::default() }),
        }
    }

    /// The same job for another thread.
    #[must_use]
    pub fn for_thread(&self) -> Self {
        let ids = (self.instance, self.execution);
        let context = JobContext::new(&self.job, ids, self.properties.clone(), self.stop.clone());
        let parameters = self.parameters.clone();
        JobContext { created_ms: self.created_ms, parameters, outputs: Arc::clone(&self.outputs), ..context }
    }

    /// What programs of a job find in their environment.
    pub(crate) fn environment(&self, step: Option<&StepContext>) -> Vec<(String, String)> {
        let mut all = vec![
            ("QUAYLINE_JOB".to_owned(), self.job.clone()),
            ("QUAYLINE_JOB_EXECUTION".to_owned(), self.execution.to_string()),
        ];
        all.extend(step.map(|step| ("QUAYLINE_JOB_STEP".to_owned(), step.step.clone())));
        let variable = |name: &str| -> String {
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
        };
        // A zero byte cannot be in an environment.
        let given = self.parameters.iter().filter(|(_, value)| !value.contains('\0'));
        all.extend(given.map(|(name, value)| (format!("QUAYLINE_JOB_PARAM_{}", variable(name)), value.clone())));
        all
    }

    /// Notes that a step writes a file. Returns the number of another partition of the same step that writes it in this execution.
    pub(crate) fn claim_output(&self, path: &Path, step: &StepContext) -> Option<u32> {
        let mut outputs = self.outputs.lock();
        let owner = (step.step.clone(), step.partition);
        match outputs.insert(path.to_owned(), owner.clone()) {
            Some((name, Some(other))) if name == owner.0 && owner.1.is_some_and(|partition| partition != other) => {
                outputs.insert(path.to_owned(), (name, Some(other)));
                Some(other)
            }
            _ => None,
        }
    }

    /// Batch status.
    #[must_use]
    pub fn status(&self) -> BatchStatus {
        let status = self.state.lock().status;
        if status == BatchStatus::Started && self.stop.is_set() { BatchStatus::Stopping } else { status }
    }

    pub(crate) fn set_status(&self, status: BatchStatus) {
        self.state.lock().status = status;
    }

    /// Exit status, if somebody has set one.
    #[must_use]
    pub fn exit_status(&self) -> Option<String> {
        self.state.lock().exit_status.clone()
    }

    /// Sets the exit status.
    pub fn set_exit_status(&self, exit_status: impl Into<String>) {
        self.state.lock().exit_status = Some(exit_status.into());
    }

    /// Removes the exit status, so that the batch status is the default again.
    pub fn clear_exit_status(&self) {
        self.state.lock().exit_status = None;
    }

    /// Transient user data.
    #[must_use]
    pub fn transient(&self) -> TransientData {
        self.state.lock().transient.clone()
    }

    /// Sets the transient user data.
    pub fn set_transient(&self, data: TransientData) {
        self.state.lock().transient = data;
    }
}

/// The step, as artifacts see it. A partition has one of its own.
pub struct StepContext {
    /// The step's id.
    pub step: String,
    /// Number of the step execution in its execution.
    pub number: u32,
    /// Properties of the step.
    pub properties: BTreeMap<String, String>,
    /// The partition, from 0.
    pub partition: Option<u32>,
    /// Execution in which the step started again from its beginning in this instance, for example after it had completed. 0: never. An artifact that
    /// keeps data of a step outside the repository must keep it for this execution.
    pub began: ExecutionId,
    item_count: AtomicU32,
    state: Mutex<StepContextState>,
}

#[derive(Default)]
struct StepContextState {
    status: BatchStatus,
    exit_status: Option<String>,
    user_data: Option<Vec<u8>>,
    transient: TransientData,
    exception: Option<Thrown>,
    counts: Counts,
    times: Times,
    notes: Notes,
}

/// What artifacts note about items that are good all the same, by code.
#[derive(Default)]
struct Notes(BTreeMap<String, Note>);

#[derive(Default)]
struct Note {
    /// Of chunks that hold.
    told: u64,
    /// Of the chunk under way, with the first texts.
    count: u64,
    texts: Vec<String>,
}

/// Notes of one code that the job log has in full; the others are counted at the end of the step.
const NOTES_TOLD: u64 = 10;

impl StepContext {
    /// A context with the persistent user data of the last checkpoint.
    #[must_use]
    pub fn new(
        step: &str,
        number: u32,
        properties: BTreeMap<String, String>,
        partition: Option<u32>,
        user_data: Option<Vec<u8>>,
    ) -> Self {
        let state = StepContextState { status: BatchStatus::Started, user_data, ..StepContextState::default() };
        StepContext {
            step: step.to_owned(),
            number,
            properties,
            partition,
            began: ExecutionId::default(),
            item_count: AtomicU32::new(0),
            state: Mutex::new(state),
        }
    }

    /// Items of a chunk as the job says; 0 in a step without chunks.
    #[must_use]
    pub fn item_count(&self) -> u32 {
        self.item_count.load(Ordering::Relaxed)
    }

    pub(crate) fn set_item_count(&self, count: u32) {
        self.item_count.store(count, Ordering::Relaxed);
    }

    /// Batch status.
    #[must_use]
    pub fn status(&self) -> BatchStatus {
        self.state.lock().status
    }

    pub(crate) fn set_status(&self, status: BatchStatus) {
        self.state.lock().status = status;
    }

    /// Exit status, if somebody has set one.
    #[must_use]
    pub fn exit_status(&self) -> Option<String> {
        self.state.lock().exit_status.clone()
    }

    /// Sets the exit status.
    pub fn set_exit_status(&self, exit_status: impl Into<String>) {
        self.state.lock().exit_status = Some(exit_status.into());
    }

    /// Removes the exit status, so that the batch status is the default again.
    pub fn clear_exit_status(&self) {
        self.state.lock().exit_status = None;
    }

    /// Persistent user data: kept with each checkpoint.
    #[must_use]
    pub fn user_data(&self) -> Option<Vec<u8>> {
        self.state.lock().user_data.clone()
    }

    /// Sets the persistent user data.
    pub fn set_user_data(&self, data: Option<Vec<u8>>) {
        self.state.lock().user_data = data;
    }

    /// Transient user data.
    #[must_use]
    pub fn transient(&self) -> TransientData {
        self.state.lock().transient.clone()
    }

    /// Sets the transient user data.
    pub fn set_transient(&self, data: TransientData) {
        self.state.lock().transient = data;
    }

    /// The last exception of a reader, processor, writer or batchlet.
    #[must_use]
    pub fn exception(&self) -> Option<Thrown> {
        self.state.lock().exception.clone()
    }

    pub(crate) fn set_exception(&self, thrown: Option<&Thrown>) {
        self.state.lock().exception = thrown.cloned();
    }

    /// Metrics.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.state.lock().counts
    }

    /// Times of the step or partition up to the chunk under way, as its listeners see them after the chunk.
    #[must_use]
    pub fn times(&self) -> Times {
        self.state.lock().times
    }

    pub(crate) fn set_times(&self, times: Times) {
        self.state.lock().times = times;
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.state.lock().counts);
    }

    /// Notes something about the item under way, which is good all the same: the warning of a map. The job log has it when the chunk holds; of
    /// notes that share a code, the first ten and then their number.
    pub fn note(&self, code: &str, text: impl FnOnce() -> String) {
        let notes = &mut self.state.lock().notes.0;
        let note = match notes.get_mut(code) {
            Some(note) => note,
            None => notes.entry(code.to_owned()).or_default(),
        };
        note.count += 1;
        if note.told + note.count <= NOTES_TOLD {
            note.texts.push(text());
        }
    }

    /// The notes of the chunk, which holds now.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for note in self.state.lock().notes.0.values_mut() {
            note.told += std::mem::take(&mut note.count);
            texts.append(&mut note.texts);
        }
        texts
    }

    /// The chunk is rolled back: its items are noted again when it runs again.
    pub(crate) fn drop_notes(&self) {
        for note in self.state.lock().notes.0.values_mut() {
            note.count = 0;
            note.texts.clear();
        }
    }

    /// How many notes the log does not have, at the end of the step.
    pub(crate) fn notes_left(&self) -> Vec<String> {
        let notes = std::mem::take(&mut self.state.lock().notes.0);
        let more = notes.into_iter().filter(|(_, note)| note.told > NOTES_TOLD);
        more.map(|(code, note)| format!("{code} was noted {} times more", note.told - NOTES_TOLD)).collect()
    }
}
