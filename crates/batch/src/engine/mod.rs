//! The engine: an execution from its launch to its end.
//!
//! ```text
//! Engine::start | restart ──▶ Launched ──run──▶ scope (elements, transitions) ──▶ step ──▶ batchlet
//!                                                 │ flow, split, decision           ├────▶ chunk (reader, processor, writer, checkpoint)
//!                                                 └─────────────────────────────────┴────▶ partitions, each a batchlet or chunk
//! ```

mod adaptive;
mod chunk;
mod fault;
mod item_clock;
mod listeners;
mod origin;
mod partition;
mod scope;
mod shared;
mod step;
mod straggler;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use quayline_core::Findings;
use quayline_project::job::{ArtifactRef, Job, JobFile, Parameters, Unresolved};
use quayline_workload::{Kind, Turn, Working, Workload};
use xxhash_rust::xxh3::xxh3_64;

use crate::artifact::{Injected, Registry};
use crate::chunk_times::{ChunkHistograms, ChunkSpread};
use crate::context::{JobContext, StepContext, StopSignal, check_parameters};
use crate::error::{BatchError, Thrown};
use crate::event::{self, Event, Keeping, Observer};
use crate::record::{Counts, Execution, ExecutionId};
use crate::repository::{Held, Launch, Repository, event_of, put_on, stored};
use crate::status::BatchStatus;
use crate::work::Work;

use listeners::Listeners;
use scope::{FlowThread, Termination};
use straggler::Stragglers;

pub use shared::{Assist, Assisted};

/// Bounds and choices of an engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EngineSettings {
    /// Maximum number of partitions of a step that run at once. The property `quayline.partition-threads-max` of a step overrides it.
    /// Default 32, at most 1,024.
    pub partition_threads_max: usize,
    /// Number of bytes of items at which a chunk ends before it reaches its item-count. The property `quayline.chunk-bytes-max` of a step
    /// overrides it. Default 16 MiB, so that large items do not fill the memory. An item whose writer puts it into a store counts 1,536 bytes more.
    pub chunk_bytes_max: usize,
    /// True if steps measure the times of their parts. Default true. Otherwise all times are 0; a benchmark compares both.
    pub measures: bool,
}

impl Default for EngineSettings {
    fn default() -> Self {
        EngineSettings { partition_threads_max: 32, chunk_bytes_max: 16 << 20, measures: true }
    }
}

/// Runs jobs. Shared by all executions of a process.
pub struct Engine {
    /// The repository.
    pub repository: Arc<Repository>,
    /// Artifacts.
    pub registry: Registry,
    /// Base of relative paths in properties. If it is empty, partitions of other processes use the folder of their job.
    pub folder: PathBuf,
    /// Receivers of events.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Selection of events kept in the repository.
    pub keeping: Option<Keeping>,
    /// Bounds.
    pub settings: EngineSettings,
    /// Location of this engine's executions and their job logs, as `HOST:FOLDER`. Default: the name of the host.
    pub node: String,
    /// User who starts executions with this engine.
    pub submitter: Option<String>,
    /// Source of the values of `#{systemProperties['x']}`.
    pub system: SystemProperties,
    /// Classes of work that the process shares; each chunk takes its turn.
    pub workload: Option<Arc<Workload>>,
    running: Mutex<HashMap<ExecutionId, StopSignal>>,
    /// Running partitions, each of which can split its range.
    stragglers: Stragglers,
    /// Number of partitions of shared steps that this process has taken: each has a unique token.
    claims: AtomicU64,
    /// The tokens of those that it runs.
    claimed: Mutex<HashSet<u64>>,
    /// Times of the chunks of running steps.
    measured: Mutex<Measured>,
}

/// Times of chunks by execution and step.
type Measured = HashMap<(ExecutionId, String), Arc<Mutex<ChunkHistograms>>>;

/// Gives a system property its value.
pub type SystemProperties = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Reason why a job did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The job XML.
    #[error("{0}")]
    Job(Findings),
    /// The repository or the operator.
    #[error("{0}")]
    Batch(#[from] BatchError),
}

impl StartError {
    /// Returns all findings.
    #[must_use]
    pub fn findings(&self) -> Findings {
        match self {
            StartError::Job(findings) => findings.clone(),
            StartError::Batch(error) => error.finding().into(),
        }
    }
}

/// Initiator of a restart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum By {
    Operator,
    Itself,
}

/// Returns the name of the host.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Handling of a restart with other job XML than the preceding execution.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Drift {
    /// Refuse the restart.
    Refuse,
    /// Accept the restart.
    Accept,
}

impl Engine {
    /// Creates an engine over a repository, with artifacts.
    #[must_use]
    pub fn new(repository: Arc<Repository>, registry: Registry, folder: PathBuf) -> Self {
        Engine {
            repository,
            registry,
            folder,
            observers: Vec::new(),
            keeping: None,
            settings: EngineSettings::default(),
            node: host(),
            submitter: None,
            system: Box::new(system_property),
            workload: None,
            running: Mutex::default(),
            stragglers: Stragglers::default(),
            claims: AtomicU64::new(1),
            claimed: Mutex::default(),
            measured: Mutex::default(),
        }
    }

    fn chunk_histograms(&self, execution: ExecutionId, step: &str) -> Arc<Mutex<ChunkHistograms>> {
        Arc::clone(self.measured.lock().entry((execution, step.to_owned())).or_default())
    }

    /// Returns the distribution of the times of a step's chunks so far, if this process runs the step.
    #[must_use]
    pub fn chunk_spread(&self, execution: ExecutionId, step: &str) -> Option<ChunkSpread> {
        let histograms = self.measured.lock().get(&(execution, step.to_owned())).map(Arc::clone)?;
        histograms.lock().spread()
    }

    /// Creates an instance of a job with its first execution. [`Launched::run`] runs it.
    ///
    /// # Errors
    /// Values in the job XML; errors of the store.
    pub fn start(&self, file: &JobFile, parameters: Parameters) -> Result<Launched<'_>, StartError> {
        check_parameters(&parameters).map_err(StartError::Job)?;
        let (job, unresolved) = file.resolve(&parameters, &self.system).map_err(StartError::Job)?;
        let text = &file.text.text;
        let launch = Launch {
            job: &job.id,
            parameters,
            digest: xxh3_64(text.as_bytes()),
            text,
            folder: self.folder.display().to_string(),
            node: self.node.clone(),
            submitter: self.submitter.clone(),
            is_automatic: false,
            submitted: &|work, execution| self.submitted(work, execution),
        };
        self.begin_keeping()?;
        let (execution, held) = self.repository.launch(launch)?;
        self.launched(job, execution, held, None, unresolved)
    }

    /// Creates the next execution of an instance.
    ///
    /// # Errors
    /// Values in the job XML; executions that cannot be restarted; another job XML; errors of the store.
    pub fn restart(
        &self,
        last: ExecutionId,
        file: &JobFile,
        parameters: Parameters,
        drift: Drift,
    ) -> Result<Launched<'_>, StartError> {
        self.restart_by(last, file, parameters, drift, By::Operator)
    }

    /// Continues an execution whose process ended, without an operator. The repository counts such restarts until an
    /// operator restarts the instance.
    ///
    /// # Errors
    /// Errors of [`Engine::restart`].
    pub fn resume(
        &self,
        last: ExecutionId,
        file: &JobFile,
        parameters: Parameters,
    ) -> Result<Launched<'_>, StartError> {
        self.restart_by(last, file, parameters, Drift::Refuse, By::Itself)
    }

    fn restart_by(
        &self,
        last: ExecutionId,
        file: &JobFile,
        parameters: Parameters,
        drift: Drift,
        by: By,
    ) -> Result<Launched<'_>, StartError> {
        let before = self.repository.execution(last)?;
        // An execution of an earlier version continues without an operator.
        if matches!(by, By::Operator) {
            check_parameters(&parameters).map_err(StartError::Job)?;
        }
        let (job, unresolved) = file.resolve(&parameters, &self.system).map_err(StartError::Job)?;
        let text = &file.text.text;
        let digest = xxh3_64(text.as_bytes());
        if digest != before.digest && drift == Drift::Refuse {
            let old = self.repository.text(before.digest)?.unwrap_or_default();
            let differences = differences(&old, text);
            return Err(BatchError::Drift { execution: last, differences }.into());
        }
        if !job.restartable {
            return Err(BatchError::NotRestartable {
                execution: last,
                why: "the job has restartable=\"false\"".to_owned(),
                remedy: "start a new instance of the job: quayline job start".to_owned(),
            }
            .into());
        }
        let submitted = |work: &mut dyn Work, execution: &Execution| self.submitted(work, execution);
        let launch = Launch {
            job: &job.id,
            parameters,
            digest,
            text,
            folder: String::new(),
            node: self.node.clone(),
            submitter: self.submitter.clone(),
            is_automatic: by == By::Itself,
            submitted: &submitted,
        };
        self.begin_keeping()?;
        let (before, execution, held) = self.repository.relaunch(last, launch)?;
        self.launched(job, execution, held, Some(before), unresolved)
    }

    fn launched(
        &self,
        job: Job,
        execution: Execution,
        held: Held,
        before: Option<Execution>,
        unresolved: Vec<Unresolved>,
    ) -> Result<Launched<'_>, StartError> {
        let created_ms = self.repository.instance(held.instance)?.map_or(0, |instance| instance.created_ms);
        let stop = StopSignal::default();
        self.running.lock().insert(held.execution, stop.clone());
        let mut context = JobContext::new(&job.id, (held.instance, held.execution), job.properties.clone(), stop);
        context.created_ms = created_ms;
        context.parameters.clone_from(&execution.parameters);
        let job = Arc::new(job);
        let run = Run {
            engine: self,
            job,
            held,
            context: Arc::new(context),
            restart_of: before,
            is_helper: false,
            folder: self.folder.clone(),
        };
        begun(&execution).into_iter().for_each(|event| self.tell(Some(event)));
        Ok(Launched { run, unresolved, execution })
    }

    /// Returns true if an observer or the repository needs a topic.
    fn wants(&self, topic: &str) -> bool {
        self.keeps(topic) || self.observers.iter().any(|observer| observer.wants(topic))
    }

    fn keeps(&self, topic: &str) -> bool {
        self.keeping.as_ref().is_some_and(|keeping| keeping.filter.wants(topic))
    }

    fn tell(&self, event: Option<Event>) {
        if let Some(event) = event {
            let wanting = self.observers.iter().filter(|observer| observer.wants(event.topic));
            wanting.for_each(|observer| observer.event(&event));
        }
    }

    /// Keeps an event as a part of a unit of work, if it is to be kept.
    fn keep(&self, work: &mut dyn Work, event: Option<&Event>) -> Result<(), BatchError> {
        let (Some(event), Some(keeping)) = (event, &self.keeping) else { return Ok(()) };
        if !keeping.filter.wants(event.topic) {
            return Ok(());
        }
        work.keep_event(stored(event))?;
        if let Some(queue) = &keeping.queue
            && !put_on(work, queue, event)?
        {
            // The event stays in the repository, and the job log describes the missing message.
            let text = format!("the queue is full, so an event of {} is only among the kept events", event.topic);
            self.tell(Some(Event { topic: event::LOG, counts: None, text, ..event.clone() }));
        }
        Ok(())
    }

    fn begin_keeping(&self) -> Result<(), BatchError> {
        self.repository.remember(self.keeping.as_ref())?;
        let Some(keeping) = &self.keeping else { return Ok(()) };
        // Events stay until the queue has them. Jobs also run if the queue is full or unavailable.
        let is_relayed = keeping.relay.as_ref().is_none_or(|relay| relay.run(&self.repository).unwrap_or(false));
        if is_relayed { self.repository.trim_events(keeping.retain) } else { Ok(()) }
    }

    fn submitted(&self, work: &mut dyn Work, execution: &Execution) -> Result<(), BatchError> {
        begun(execution).iter().try_for_each(|event| self.keep(work, Some(event)))
    }

    /// Asks an execution of this process to stop at its next checkpoint.
    ///
    /// # Errors
    /// [`BatchError::NotRunning`], [`BatchError::NoSuchExecution`].
    pub fn stop(&self, id: ExecutionId) -> Result<(), BatchError> {
        let running = self.running.lock().get(&id).cloned();
        match running {
            Some(stop) => {
                if !stop.is_set() {
                    stop.set();
                    // The execution stops even if the repository cannot be written now.
                    let _ = self.repository.note_stopping(id);
                }
                Ok(())
            }
            None => {
                let execution = self.repository.execution(id)?;
                Err(BatchError::NotRunning { execution: id, status: execution.status })
            }
        }
    }

    /// Requests that a partition of this process give the second half of its remaining range to a new partition, at its next checkpoint. An empty
    /// step matches any step. Returns true if this process runs the partition.
    #[must_use]
    pub fn split(&self, execution: ExecutionId, step: &str, partition: u32) -> bool {
        self.stragglers.ask(execution, step, partition)
    }

    /// Splits the partitions of this process for which the repository has a request to split.
    pub fn take_split_requests(&self) {
        for id in self.running() {
            self.take_split_requests_of(id);
        }
    }

    fn take_split_requests_of(&self, id: ExecutionId) {
        // A database that does not answer is asked again.
        for (step, partition) in self.repository.split_requests(id).unwrap_or_default() {
            if self.split(id, &step, partition) {
                // Another process that finds the request does not run the partition.
                let _ = self.repository.take_split_request(id, &step, partition);
            }
        }
    }

    /// Requests a stop of all executions, because this process ends. Does not write the repository, so their status stays STARTED.
    pub fn stop_all(&self) {
        self.running.lock().values().for_each(StopSignal::set);
    }

    /// Returns the executions that this process runs.
    #[must_use]
    pub fn running(&self) -> Vec<ExecutionId> {
        self.running.lock().keys().copied().collect()
    }
}

/// Returns the events of a new execution.
fn begun(execution: &Execution) -> [Event; 2] {
    [event::SUBMITTED, event::STARTING].map(|topic| {
        let text = format!("execution {} of instance {}", execution.id, execution.instance);
        event_of(execution, topic, execution.created_ms, text)
    })
}

/// An execution that can run.
pub struct Launched<'e> {
    run: Run<'e>,
    /// References of the job XML that have no value.
    pub unresolved: Vec<Unresolved>,
    execution: Execution,
}

impl Launched<'_> {
    /// Returns the number of the execution.
    #[must_use]
    pub fn id(&self) -> ExecutionId {
        self.execution.id
    }

    /// Returns the execution as it was created.
    #[must_use]
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Runs the execution on this thread, to its end.
    ///
    /// # Errors
    /// The repository cannot be written, or another process took over the execution. Any other failure ends the execution with status FAILED.
    pub fn run(self) -> Result<Execution, BatchError> {
        let ended = self.run.run();
        self.run.engine.running.lock().remove(&self.execution.id);
        ended
    }
}

/// An execution that runs.
struct Run<'e> {
    engine: &'e Engine,
    job: Arc<Job>,
    held: Held,
    context: Arc<JobContext>,
    restart_of: Option<Execution>,
    /// True if this process runs only partitions, for an execution of another process.
    is_helper: bool,
    /// Base of relative paths in properties.
    folder: PathBuf,
}

impl Run<'_> {
    fn repository(&self) -> &Repository {
        &self.engine.repository
    }

    /// Registers the current thread as working for the job as long as the value lives.
    fn working(&self) -> Option<Working> {
        self.engine.workload.as_ref().map(|workload| workload.join(Kind::Batch, Some(&self.job.id)))
    }

    /// Waits for the step's turn to run a chunk.
    fn turn(&self, step: &str) -> Option<Turn> {
        self.engine.workload.as_ref().map(|workload| workload.turn_of(Kind::Batch, &self.job.id, Some(step)))
    }

    fn run(&self) -> Result<Execution, BatchError> {
        let _working = self.working();
        let now = self.repository().now_ms();
        let (topic, text) = match &self.restart_of {
            Some(before) => (event::RESTARTING, format!("restarts execution {}", before.id)),
            None => (event::STARTED, "starts".to_owned()),
        };
        let on = format!("execution {} on {}", self.held.execution, self.engine.node);
        let events = [self.made(event::INSTANCE_DISPATCHED, None, None, on), self.made(topic, None, None, text)];
        let start = |execution: &mut Execution| {
            // A stop request before the start has already kept the event.
            if execution.status != BatchStatus::Stopping {
                execution.status = BatchStatus::Started;
            }
            execution.started_ms = Some(now);
        };
        self.repository().update(self.held, start, &self.keeper(&events))?;
        events.into_iter().for_each(|event| self.engine.tell(event));
        let mut cause = None;
        let mut listeners = Listeners::default();
        let made = listeners.make(self, &self.job.listeners, &self.context, None);
        let mut end = match made.and_then(|()| listeners.each(|listener| listener.before_job())) {
            Ok(()) => {
                let thread = FlowThread::main(Arc::clone(&self.context));
                let begin = self.restart_of.as_ref().and_then(|before| before.restart_at.clone());
                self.scope(&self.job.elements, begin.as_deref(), &thread)?.termination()
            }
            Err(thrown) => Termination::Failed { exit_status: None, cause: Some(thrown) },
        };
        self.context.set_status(end.status());
        if let Some(exit_status) = end.exit_status() {
            self.context.set_exit_status(exit_status);
        }
        if let Err(thrown) = listeners.each(|listener| listener.after_job()) {
            self.log_thrown(None, "a listener after the job", &thrown);
            // The first exception is the cause.
            if !matches!(end, Termination::Failed { cause: Some(_), .. }) {
                end = Termination::Failed { exit_status: None, cause: Some(thrown) };
            }
        }
        let status = end.status();
        self.context.set_status(status);
        if let Termination::Failed { cause: Some(thrown), .. } = &end {
            cause = Some(thrown.to_string());
        }
        let exit_status = self.context.exit_status().unwrap_or_else(|| status.text().to_owned());
        let (topic, of_instance) = match status {
            BatchStatus::Completed => (event::COMPLETED, event::INSTANCE_COMPLETED),
            BatchStatus::Stopped => (event::STOPPED, event::INSTANCE_STOPPED),
            _ => (event::FAILED, event::INSTANCE_FAILED),
        };
        let because = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
        let text = format!("ends {status}, exit status {exit_status}{because}");
        let ended = format!("execution {} of instance {} ended {status}", self.held.execution, self.held.instance);
        let events = [self.made(topic, None, None, text), self.made(of_instance, None, None, ended)];
        let end = |execution: &mut Execution| {
            execution.status = status;
            execution.exit_status = Some(exit_status.clone());
            execution.ended_ms = Some(self.repository().now_ms());
            execution.restart_at = end.restart_at();
            execution.cause = cause.clone();
        };
        let ended = self.repository().update(self.held, end, &self.keeper(&events))?;
        events.into_iter().for_each(|event| self.engine.tell(event));
        Ok(ended)
    }

    /// Builds an event if an observer or the repository needs its topic.
    fn made(
        &self,
        topic: &'static str,
        step: Option<&StepContext>,
        counts: Option<Counts>,
        text: String,
    ) -> Option<Event> {
        self.engine.wants(topic).then(|| Event {
            at_ms: self.repository().now_ms(),
            topic,
            job: self.job.id.clone(),
            instance: self.held.instance,
            execution: self.held.execution,
            step: step.map(|step| step.step.clone()),
            partition: step.and_then(|step| step.partition),
            counts,
            text,
        })
    }

    /// Keeps events as a part of a unit of work.
    fn keeper<'k>(&'k self, events: &'k [Option<Event>]) -> impl Fn(&mut dyn Work) -> Result<(), BatchError> + 'k {
        move |work| events.iter().try_for_each(|event| self.engine.keep(work, event.as_ref()))
    }

    /// Sends an event that belongs to no change of the repository. If it is kept, this happens in a separate unit of work.
    fn event(&self, topic: &'static str, step: Option<&StepContext>, counts: Option<Counts>, text: String) {
        let event = self.made(topic, step, counts, text);
        if self.engine.keeps(topic)
            && let Err(error) = self.keep_alone(&event)
        {
            // The next operation on the repository fails in the same way, and ends the execution.
            let text = format!("an event of {topic} is not kept: {error}");
            self.engine.tell(event.clone().map(|event| Event { topic: event::LOG, text, ..event }));
        }
        self.engine.tell(event);
    }

    /// Keeps an event in a separate unit of work. An event of a process that runs only partitions needs no lease.
    fn keep_alone(&self, event: &Option<Event>) -> Result<(), BatchError> {
        if self.is_helper {
            let mut work = self.repository().begin()?;
            self.engine.keep(work.as_mut(), event.as_ref())?;
            return work.commit();
        }
        self.repository().alone(self.held, &self.keeper(std::slice::from_ref(event)))
    }

    fn inject(&self, artifact: &ArtifactRef, job: &Arc<JobContext>, step: Option<&Arc<StepContext>>) -> Injected {
        Injected {
            name: artifact.name.clone(),
            properties: artifact.properties.clone(),
            job: Arc::clone(job),
            step: step.map(Arc::clone),
            folder: self.folder.clone(),
        }
    }

    fn log_thrown(&self, step: Option<&StepContext>, what: &str, thrown: &Thrown) {
        let remedy = thrown.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        self.event(event::LOG, step, None, format!("{what}: {thrown}{remedy}"));
    }
}

/// Returns a system property: an environment variable, also with its name in upper case and `_` for `.`, or one that job XML written for Java
/// expects.
pub fn system_property(name: &str) -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok();
    match name {
        "file.separator" => Some(std::path::MAIN_SEPARATOR.to_string()),
        "line.separator" => Some("\n".to_owned()),
        "path.separator" => Some(":".to_owned()),
        "user.dir" => std::env::current_dir().ok().map(|path| path.display().to_string()),
        "java.io.tmpdir" => Some(std::env::temp_dir().display().to_string()),
        name => variable(name).or_else(|| variable(&name.to_uppercase().replace(['.', '-'], "_"))),
    }
}

/// Returns up to four lines that occur in only one of two texts, with their numbers.
fn differences(old: &str, new: &str) -> String {
    let missing = |from: &str, other: &str, sign: char| -> Vec<String> {
        let known: std::collections::HashSet<&str> = other.lines().map(str::trim).collect();
        let lines = from.lines().enumerate().filter(|(_, line)| !known.contains(line.trim()));
        lines.take(2).map(|(number, line)| format!("{sign}line {}: {}", number + 1, line.trim())).collect()
    };
    let mut all = missing(old, new, '-');
    all.extend(missing(new, old, '+'));
    if all.is_empty() { "order or white space".to_owned() } else { all.join("; ") }
}
