//! Contexts of artifacts: the job, the step, their metrics, and the wish to stop.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use quayline_core::{Fault, Finding, Findings};
use quayline_project::job::Parameters;

use crate::codes;
use crate::error::Thrown;
use crate::record::{Counts, ExecutionId, InstanceId, Times};
use crate::status::BatchStatus;

/// Data that artifacts of one thread share and that is not saved.
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

    /// Returns true after a stop request.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed)
    }

    /// Waits for a time, or until a stop request. Returns true after a stop request.
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

/// Job context of artifacts. Each thread of a partition or of a flow of a split has a separate one, as the specification requires.
pub struct JobContext {
    /// The job's id.
    pub job: String,
    /// Instance.
    pub instance: InstanceId,
    /// Execution.
    pub execution: ExecutionId,
    /// Creation time of the instance, in milliseconds since 1970. Together with its number, it identifies the instance among those of all
    /// repositories.
    pub created_ms: u64,
    /// Properties of the job.
    pub properties: BTreeMap<String, String>,
    /// Parameters of this start or restart.
    pub parameters: BTreeMap<String, String>,
    /// Signals a stop request for the execution.
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
    /// Creates a context without exit status and data.
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

    /// Creates a context of the same job for another thread.
    #[must_use]
    pub fn for_thread(&self) -> Self {
        let ids = (self.instance, self.execution);
        let context = JobContext::new(&self.job, ids, self.properties.clone(), self.stop.clone());
        let parameters = self.parameters.clone();
        JobContext { created_ms: self.created_ms, parameters, outputs: Arc::clone(&self.outputs), ..context }
    }

    /// Returns the environment variables for programs of a job.
    pub(crate) fn environment(&self, step: Option<&StepContext>) -> Vec<(String, String)> {
        let mut all = vec![
            ("QUAYLINE_JOB".to_owned(), self.job.clone()),
            ("QUAYLINE_JOB_EXECUTION".to_owned(), self.execution.to_string()),
        ];
        all.extend(step.map(|step| ("QUAYLINE_JOB_STEP".to_owned(), step.step.clone())));
        // A zero byte cannot be in an environment.
        let given = self.parameters.iter().filter(|(_, value)| !value.contains('\0'));
        all.extend(given.map(|(name, value)| (parameter_variable(name), value.clone())));
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

    /// Returns the batch status.
    #[must_use]
    pub fn status(&self) -> BatchStatus {
        let status = self.state.lock().status;
        if status == BatchStatus::Started && self.stop.is_set() { BatchStatus::Stopping } else { status }
    }

    pub(crate) fn set_status(&self, status: BatchStatus) {
        self.state.lock().status = status;
    }

    /// Returns the exit status if one was set.
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

    /// Returns the transient user data.
    #[must_use]
    pub fn transient(&self) -> TransientData {
        self.state.lock().transient.clone()
    }

    /// Sets the transient user data.
    pub fn set_transient(&self, data: TransientData) {
        self.state.lock().transient = data;
    }
}

/// Step context of artifacts. Each partition has a separate one.
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
    items_are_files: AtomicBool,
    written_from: AtomicU32,
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

/// Notes of artifacts about valid items, by code.
#[derive(Default)]
struct Notes {
    by_code: BTreeMap<String, Note>,
    /// Notes that are counts only, by the texts before and after the number.
    tallies: BTreeMap<[String; 3], Tally>,
}

/// Notes of a chunk at one time.
pub(crate) struct NotesMark {
    /// Number of notes and of their texts.
    by_code: BTreeMap<String, (u64, usize)>,
    tallies: BTreeMap<[String; 3], u64>,
}

/// A count for the end of the step.
#[derive(Default)]
struct Tally {
    /// Count in committed chunks.
    told: u64,
    /// Count in the current chunk.
    count: u64,
}

#[derive(Default)]
struct Note {
    /// Number of notes in committed chunks.
    told: u64,
    /// Number of notes in the current chunk, and its first texts.
    count: u64,
    texts: Vec<String>,
}

/// Notes of one code that the job log has in full; the others are counted at the end of the step.
const NOTES_TOLD: u64 = 10;

impl StepContext {
    /// Creates a context with the persistent user data of the last checkpoint.
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
            items_are_files: AtomicBool::new(false),
            written_from: AtomicU32::new(0),
            state: Mutex::new(state),
        }
    }

    /// Returns the configured number of items of a chunk; 0 in a step without chunks.
    #[must_use]
    pub fn item_count(&self) -> u32 {
        self.item_count.load(Ordering::Relaxed)
    }

    pub(crate) fn set_item_count(&self, count: u32) {
        self.item_count.store(count, Ordering::Relaxed);
    }

    /// Returns the number of items of the chunk before those that the writer gets: the engine writes parts of a chunk to find the items that fail.
    pub(crate) fn written_from(&self) -> u32 {
        self.written_from.load(Ordering::Relaxed)
    }

    pub(crate) fn set_written_from(&self, items: usize) {
        self.written_from.store(u32::try_from(items).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Returns true if an item of the step is a whole file: an empty one has no record.
    pub(crate) fn items_are_files(&self) -> bool {
        self.items_are_files.load(Ordering::Relaxed)
    }

    pub(crate) fn set_items_are_files(&self) {
        self.items_are_files.store(true, Ordering::Relaxed);
    }

    /// Returns the batch status.
    #[must_use]
    pub fn status(&self) -> BatchStatus {
        self.state.lock().status
    }

    pub(crate) fn set_status(&self, status: BatchStatus) {
        self.state.lock().status = status;
    }

    /// Returns the exit status if one was set.
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

    /// Returns the persistent user data, which is saved with each checkpoint.
    #[must_use]
    pub fn user_data(&self) -> Option<Vec<u8>> {
        self.state.lock().user_data.clone()
    }

    /// Sets the persistent user data.
    pub fn set_user_data(&self, data: Option<Vec<u8>>) {
        self.state.lock().user_data = data;
    }

    /// Returns the transient user data.
    #[must_use]
    pub fn transient(&self) -> TransientData {
        self.state.lock().transient.clone()
    }

    /// Sets the transient user data.
    pub fn set_transient(&self, data: TransientData) {
        self.state.lock().transient = data;
    }

    /// Returns the last exception of a reader, processor, writer or batchlet.
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

    /// Returns the times of the step or partition including the current chunk, for listeners called after the chunk.
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

    /// Adds a note about the current item, which is still valid, such as a warning of a map. The job log gets it when the chunk commits: of
    /// notes with the same code, the first ten and then their number.
    pub fn note(&self, code: &str, text: impl FnOnce() -> String) {
        let notes = &mut self.state.lock().notes.by_code;
        let note = match notes.get_mut(code) {
            Some(note) => note,
            None => notes.entry(code.to_owned()).or_default(),
        };
        note.count += 1;
        if note.told + note.count <= NOTES_TOLD {
            note.texts.push(text());
        }
    }

    /// Adds to a count that the job log gets once, at the end of the step. The two texts are the note after the numbers 1 and above: `item was filled`,
    /// `items were filled`.
    pub(crate) fn tally(&self, before: &str, number: u64, after: [&str; 2]) {
        if number > 0 {
            let key = [before, after[0], after[1]].map(str::to_owned);
            self.state.lock().notes.tallies.entry(key).or_default().count += number;
        }
    }

    /// Returns the notes of the chunk, which was committed.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let notes = &mut self.state.lock().notes;
        for note in notes.by_code.values_mut() {
            note.told += std::mem::take(&mut note.count);
            texts.append(&mut note.texts);
        }
        notes.tallies.values_mut().for_each(|tally| tally.told += std::mem::take(&mut tally.count));
        texts
    }

    /// Returns the notes of the chunk so far, for [`Self::back_to_notes`].
    pub(crate) fn mark_notes(&self) -> NotesMark {
        let notes = &self.state.lock().notes;
        let of_code = |(code, note): (&String, &Note)| (code.clone(), (note.count, note.texts.len()));
        NotesMark {
            by_code: notes.by_code.iter().map(of_code).collect(),
            tallies: notes.tallies.iter().map(|(key, tally)| (key.clone(), tally.count)).collect(),
        }
    }

    /// Drops the notes since a mark: what they were about was undone, and will be written again in parts.
    pub(crate) fn back_to_notes(&self, mark: &NotesMark) {
        let notes = &mut self.state.lock().notes;
        for (code, note) in &mut notes.by_code {
            let (count, texts) = mark.by_code.get(code).copied().unwrap_or_default();
            note.count = count;
            note.texts.truncate(texts);
        }
        for (key, tally) in &mut notes.tallies {
            tally.count = mark.tallies.get(key).copied().unwrap_or_default();
        }
    }

    /// Drops the notes of a chunk that is rolled back; they are added again when it runs again.
    pub(crate) fn drop_notes(&self) {
        let notes = &mut self.state.lock().notes;
        for note in notes.by_code.values_mut() {
            note.count = 0;
            note.texts.clear();
        }
        notes.tallies.values_mut().for_each(|tally| tally.count = 0);
    }

    /// Returns the counts, and a text for the number of notes that the log does not contain, at the end of the step.
    pub(crate) fn notes_left(&self) -> Vec<String> {
        let Notes { by_code, tallies } = std::mem::take(&mut self.state.lock().notes);
        let more = by_code.into_iter().filter(|(_, note)| note.told > NOTES_TOLD);
        let more = more.map(|(code, note)| format!("{code} was noted {} times more", note.told - NOTES_TOLD));
        let tallies = tallies.into_iter().filter(|(_, tally)| tally.told > 0).map(|([before, one, many], tally)| {
            format!("{before}{} {}", tally.told, if tally.told == 1 { one } else { many })
        });
        more.chain(tallies).collect()
    }
}

/// Returns the environment variable of a job parameter.
fn parameter_variable(name: &str) -> String {
    let upper = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    "QUAYLINE_JOB_PARAM_".chars().chain(upper).collect()
}

/// Checks that each parameter has its own environment variable: commands of the job would get only one of two values.
///
/// # Errors
/// The first two parameters with the same variable.
pub(crate) fn check_parameters(parameters: &Parameters) -> Result<(), Findings> {
    let mut names: HashMap<String, &str> = HashMap::with_capacity(parameters.len());
    for name in parameters.keys() {
        let variable = parameter_variable(name);
        if let Some(other) = names.get(&variable) {
            let message =
                format!("the parameters `{other}` and `{name}` have the same environment variable {variable}");
            let hint =
                "give only one of them, or rename one in the job XML, so that the names differ in letters or digits";
            return Err(Finding::error(codes::SAME_VARIABLE, Fault::Caller, message).hint(hint).into());
        }
        names.insert(variable, name);
    }
    Ok(())
}
