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
mod listeners;
mod partition;
mod scope;
mod step;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use quayline_core::Findings;
use quayline_project::job::{ArtifactRef, Job, JobFile, Parameters, Unresolved};
use xxhash_rust::xxh3::xxh3_64;

use crate::artifact::{Injected, Registry};
use crate::context::{JobContext, StepContext, StopSignal};
use crate::error::{BatchError, Thrown};
use crate::event::{self, Event, Observer};
use crate::record::{Counts, Execution, ExecutionId};
use crate::repository::{Held, Launch, Repository};
use crate::status::BatchStatus;

use listeners::Listeners;
use scope::{FlowThread, Termination};

/// Bounds and choices of an engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EngineSettings {
    /// Partitions of a step that run at once, whatever a plan asks for. Default 32.
    pub partition_threads_max: usize,
    /// Bytes of items at which a chunk ends although its item-count is not reached. Default 16 MB, so that large items do not fill the memory.
    pub chunk_bytes_max: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        EngineSettings { partition_threads_max: 32, chunk_bytes_max: 16 << 20 }
    }
}

/// Runs jobs. Shared by all executions of a process.
pub struct Engine {
    /// The repository.
    pub repository: Arc<Repository>,
    /// Artifacts.
    pub registry: Registry,
    /// Where relative paths of properties begin.
    pub folder: PathBuf,
    /// Who hears what happens.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Bounds.
    pub settings: EngineSettings,
    /// Where `#{systemProperties['x']}` finds its values.
    pub system: SystemProperties,
    running: Mutex<HashMap<ExecutionId, StopSignal>>,
}

/// Gives a system property its value.
pub type SystemProperties = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Why a job did not start.
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
    /// All that is wrong.
    #[must_use]
    pub fn findings(&self) -> Findings {
        match self {
            StartError::Job(findings) => findings.clone(),
            StartError::Batch(error) => error.finding().into(),
        }
    }
}

/// Whether a restart may run another job XML than the execution before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Drift {
    /// It is refused.
    Refuse,
    /// It is accepted.
    Accept,
}

impl Engine {
    /// An engine over a repository, with artifacts.
    #[must_use]
    pub fn new(repository: Arc<Repository>, registry: Registry, folder: PathBuf) -> Self {
        Engine {
            repository,
            registry,
            folder,
            observers: Vec::new(),
            settings: EngineSettings::default(),
            system: Box::new(system_property),
            running: Mutex::default(),
        }
    }

    /// Creates an instance of a job with its first execution. [`Launched::run`] runs it.
    ///
    /// # Errors
    /// Values in the job XML; errors of the store.
    pub fn start(&self, file: &JobFile, parameters: Parameters) -> Result<Launched<'_>, StartError> {
        let (job, unresolved) = file.resolve(&parameters, &self.system).map_err(StartError::Job)?;
        let text = &file.text.text;
        let launch = Launch {
            job: &job.id,
            parameters,
            digest: xxh3_64(text.as_bytes()),
            text,
            folder: self.folder.display().to_string(),
        };
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
        let before = self.repository.execution(last)?;
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
                remedy: "start the job anew: quayline job start".to_owned(),
            }
            .into());
        }
        let launch = Launch { job: &job.id, parameters, digest, text, folder: String::new() };
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
        let run = Run { engine: self, job, held, context: Arc::new(context), restart_of: before };
        run.event(
            event::SUBMITTED,
            None,
            None,
            format!("execution {} of instance {}", execution.id, execution.instance),
        );
        Ok(Launched { run, unresolved, execution })
    }

    /// Asks an execution of this process to stop at its next checkpoint.
    ///
    /// # Errors
    /// [`BatchError::NotRunning`], [`BatchError::NoSuchExecution`].
    pub fn stop(&self, id: ExecutionId) -> Result<(), BatchError> {
        match self.running.lock().get(&id) {
            Some(stop) => {
                stop.set();
                Ok(())
            }
            None => {
                let execution = self.repository.execution(id)?;
                Err(BatchError::NotRunning { execution: id, status: execution.status })
            }
        }
    }

    /// Asks all executions of this process to stop.
    pub fn stop_all(&self) {
        self.running.lock().values().for_each(StopSignal::set);
    }

    /// The executions that this process runs.
    #[must_use]
    pub fn running(&self) -> Vec<ExecutionId> {
        self.running.lock().keys().copied().collect()
    }
}

/// An execution that can run.
pub struct Launched<'e> {
    run: Run<'e>,
    /// References of the job XML that have no value.
    pub unresolved: Vec<Unresolved>,
    execution: Execution,
}

impl Launched<'_> {
    /// Number of the execution.
    #[must_use]
    pub fn id(&self) -> ExecutionId {
        self.execution.id
    }

    /// The execution as it was created.
    #[must_use]
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Runs the execution on this thread, to its end.
    ///
    /// # Errors
    /// The repository cannot be written, or another process took the execution over. Everything else ends the execution FAILED.
    pub fn run(self) -> Result<Execution, BatchError> {
        let ended = self.run.run();
        self.run.engine.running.lock().remove(&self.execution.id);
        ended
    }
}

/// An execution that runs.
struct Run<'e> {
    engine: &'e Engine,
    job: Job,
    held: Held,
    context: Arc<JobContext>,
    restart_of: Option<Execution>,
}

impl Run<'_> {
    fn repository(&self) -> &Repository {
        &self.engine.repository
    }

    fn run(&self) -> Result<Execution, BatchError> {
        let now = self.repository().now_ms();
        self.repository().update(self.held, |execution| {
            execution.status = BatchStatus::Started;
            execution.started_ms = Some(now);
        })?;
        let (topic, text) = match &self.restart_of {
            Some(before) => (event::RESTARTING, format!("restarts execution {}", before.id)),
            None => (event::STARTED, "starts".to_owned()),
        };
        self.event(topic, None, None, text);
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
            end = Termination::Failed { exit_status: None, cause: Some(thrown) };
        }
        let status = end.status();
        self.context.set_status(status);
        if let Termination::Failed { cause: Some(thrown), .. } = &end {
            cause = Some(thrown.to_string());
        }
        let exit_status = self.context.exit_status().unwrap_or_else(|| status.text().to_owned());
        let ended = self.repository().update(self.held, |execution| {
            execution.status = status;
            execution.exit_status = Some(exit_status.clone());
            execution.ended_ms = Some(self.repository().now_ms());
            execution.restart_at = end.restart_at();
            execution.cause = cause.clone();
        })?;
        let topic = match status {
            BatchStatus::Completed => event::COMPLETED,
            BatchStatus::Stopped => event::STOPPED,
            _ => event::FAILED,
        };
        let because = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        self.event(topic, None, None, format!("ends {status}, exit status {exit_status}{because}"));
        Ok(ended)
    }

    fn event(&self, topic: &'static str, step: Option<&StepContext>, counts: Option<Counts>, text: String) {
        let wanted: Vec<_> = self.engine.observers.iter().filter(|observer| observer.wants(topic)).collect();
        if wanted.is_empty() {
            return;
        }
        let event = Event {
            at_ms: self.repository().now_ms(),
            topic,
            job: self.job.id.clone(),
            instance: self.held.instance,
            execution: self.held.execution,
            step: step.map(|step| step.step.clone()),
            partition: step.and_then(|step| step.partition),
            counts,
            text,
        };
        wanted.iter().for_each(|observer| observer.event(&event));
    }

    fn inject(&self, artifact: &ArtifactRef, job: &Arc<JobContext>, step: Option<&Arc<StepContext>>) -> Injected {
        Injected {
            name: artifact.name.clone(),
            properties: artifact.properties.clone(),
            job: Arc::clone(job),
            step: step.map(Arc::clone),
            folder: self.engine.folder.clone(),
        }
    }

    fn log_thrown(&self, step: Option<&StepContext>, what: &str, thrown: &Thrown) {
        let remedy = thrown.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        self.event(event::LOG, step, None, format!("{what}: {thrown}{remedy}"));
    }
}

/// System properties: environment variables, with `.` written as `_` in upper case too, and those that job XML written for Java expects.
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

/// Up to four lines that two texts do not share, with their numbers.
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
