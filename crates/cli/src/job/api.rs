//! Jobs on the listener for operators, with the resource names of Liberty: start, stop, restart, list, show, logs, rejects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use quayline_batch::event::{EventPosition, EventsWanted, Keeping};
use quayline_batch::log::JobLogs;
use quayline_batch::record::{Execution, ExecutionId, Instance, InstanceId, StepExecution};
use quayline_batch::{BatchError, BatchStatus, Drift, Engine, Repository, StartError, StopRequests};
use quayline_core::{Fault, Finding, Findings, Severity, hex};
use quayline_gateway::decode_path;
use quayline_project::job::{JobFile, JobSettings, Parameters};
use quayline_server::{AdminAnswer, AdminPart, AdminRequest, AdminStream, JOB_PATHS};
use quayline_workload::Workload;
use serde_json::{Value, json};

use super::events::{self, EventStream};
use super::links::{self, Links};
use super::{artifacts, filter, show, watch};
use crate::admin::{Query, answer, elsewhere, raw, wrong};

/// Executions that run at once in a server; each has a thread, and those of its partitions.
const RUNNING_MAX: usize = 64;
/// Default and maximum number of entries on a page.
const PAGE: usize = 50;
const PAGE_MAX: usize = 1_000;

/// The jobs of a project, for operators.
pub(crate) struct JobsPart {
    shared: Arc<Shared>,
    watchers: Mutex<Vec<JoinHandle<()>>>,
}

/// Location and settings of a server's jobs.
pub(crate) struct Place {
    /// The project's folder.
    pub(crate) project: PathBuf,
    /// The data folder: logs, requests of commands.
    pub(crate) store: PathBuf,
    /// Selection of kept events.
    pub(crate) keeping: Option<Keeping>,
    /// `jobs/settings.toml`.
    pub(crate) settings: JobSettings,
    /// Classes of work that the server shares.
    pub(crate) workload: Arc<Workload>,
}

pub(super) struct Shared {
    pub(super) project: PathBuf,
    /// The data folder: logs, requests of commands.
    pub(super) store: PathBuf,
    pub(super) repository: Arc<Repository>,
    /// What is kept of the events.
    pub(super) keeping: Option<Keeping>,
    pub(super) settings: JobSettings,
    workload: Arc<Workload>,
    pub(super) running: Mutex<Vec<(ExecutionId, Arc<Engine>)>>,
    /// Threads of executions.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Executions that run or are about to, at most [`RUNNING_MAX`].
    slots: AtomicUsize,
    /// Threads that may have an execution in the repository that is not in `running` yet.
    starting: AtomicUsize,
    /// True after the first start.
    has_started: AtomicBool,
    /// Job logs of the repository, after the first use.
    logs: OnceLock<Arc<JobLogs>>,
    /// True if no further execution may start.
    pub(super) is_ending: AtomicBool,
    /// True if no execution runs any more.
    pub(super) is_over: AtomicBool,
    /// Executions that ended COMPLETED, STOPPED and FAILED.
    ended: [AtomicU64; 3],
}

/// The right to run one execution.
struct Slot(Arc<Shared>);

impl Slot {
    fn take(shared: &Arc<Shared>) -> Option<Slot> {
        let more = |taken: usize| (taken < RUNNING_MAX).then_some(taken + 1);
        shared.slots.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok().map(|_| Slot(Arc::clone(shared)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.slots.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Kind of start of an execution.
pub(super) enum Begin {
    /// The first of an instance, for an operator.
    Start,
    /// The next of an instance, for an operator.
    Restart(Execution),
    /// A restart without an operator.
    Resume(Execution),
}

impl Begin {
    fn before(&self) -> Option<&Execution> {
        match self {
            Begin::Start => None,
            Begin::Restart(before) | Begin::Resume(before) => Some(before),
        }
    }
}

/// Reason for refusing a request.
pub(super) enum Refused {
    Batch(BatchError),
    Findings(u16, Findings),
}

impl From<BatchError> for Refused {
    fn from(error: BatchError) -> Self {
        Refused::Batch(error)
    }
}

/// Findings about the request.
impl From<Findings> for Refused {
    fn from(findings: Findings) -> Self {
        Refused::Findings(400, findings)
    }
}

impl From<StartError> for Refused {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Batch(error) => Refused::Batch(error),
            StartError::Job(findings) => Refused::Findings(422, findings),
        }
    }
}

impl Refused {
    fn answer(&self) -> AdminAnswer {
        let (status, findings) = self.parts();
        answer(status, &json!({ "findings": findings.0.iter().map(raw).collect::<Vec<_>>() }))
    }

    /// Returns the HTTP status and the findings.
    pub(super) fn parts(&self) -> (u16, Findings) {
        match self {
            Refused::Findings(status, findings) => (*status, findings.clone()),
            Refused::Batch(error) => {
                let status = match error {
                    BatchError::NoSuchExecution(_) => 404,
                    BatchError::NotRestartable { .. }
                    | BatchError::NotAbandonable { .. }
                    | BatchError::IsRunning { .. }
                    | BatchError::NotRunning { .. }
                    | BatchError::NoPartition { .. }
                    | BatchError::Fenced { .. }
                    | BatchError::Drift { .. } => 409,
                    _ => 503,
                };
                (status, error.finding().into())
            }
        }
    }
}

pub(super) type Answer = Result<(u16, Value), Refused>;

/// Body of a start or restart request.
#[derive(Default)]
struct Body {
    job: Option<String>,
    parameters: Parameters,
}

impl JobsPart {
    /// Creates the jobs API of a project over a repository. Commands that find the store open are answered here.
    pub(crate) fn new(place: Place, repository: Arc<Repository>) -> std::io::Result<Self> {
        let Place { project, store, keeping, settings, workload } = place;
        let shared = Arc::new(Shared {
            project: project.canonicalize().unwrap_or(project),
            store,
            repository,
            keeping,
            settings,
            workload,
            running: Mutex::default(),
            threads: Mutex::default(),
            slots: AtomicUsize::new(0),
            starting: AtomicUsize::new(0),
            has_started: AtomicBool::new(false),
            logs: OnceLock::new(),
            is_ending: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            ended: Default::default(),
        });
        Ok(JobsPart { watchers: Mutex::new(watch::begin(&shared)?), shared })
    }

    /// Stops running executions at their next checkpoint, and waits for them.
    pub(crate) fn end(&self) {
        {
            let running = self.shared.running.lock();
            self.shared.is_ending.store(true, Ordering::Relaxed);
            running.iter().for_each(|(_, engine)| engine.stop_all());
        }
        self.shared.repository.give_up();
        self.shared.join();
        self.shared.is_over.store(true, Ordering::Relaxed);
        for watcher in std::mem::take(&mut *self.watchers.lock()) {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
        // Executions that the watcher has just begun.
        self.shared.join();
    }

    fn route(&self, request: &AdminRequest<'_>, parts: &[&str]) -> Option<Answer> {
        let query = match Query::parse(request.query) {
            Ok(query) => query,
            Err(findings) => return Some(Err(findings.into())),
        };
        let shared = &self.shared;
        let takes_none = matches!(
            parts,
            ["openapi.json" | "jobs"]
                | ["jobinstances" | "jobexecutions" | "stepexecutions", _]
                | [_, _, "jobinstance"]
                | [_, _, _, _]
        );
        if let ("GET" | "DELETE", true, Err(findings)) = (request.method, takes_none, query.only(&[])) {
            return Some(Err(findings.into()));
        }
        Some(match (request.method, parts) {
            ("GET", ["openapi.json"]) => Ok((200, JOB_PATHS.document(request.operator))),
            ("GET", ["jobs"]) => Ok((200, shared.jobs())),
            ("GET", ["jobinstances"]) => shared.instances(request, &query),
            ("POST", ["jobinstances"]) => body(request.body).and_then(|body| shared.start(body, request.operator)),
            ("GET", ["jobinstances", id]) => instance(id).and_then(|id| shared.instance(id)),
            ("GET", ["jobinstances", id, "jobexecutions"]) => {
                instance(id).and_then(|id| shared.executions_of(id, &query))
            }
            ("GET", ["jobinstances", id, "joblogs"]) => instance(id).and_then(|id| shared.logs_of(id, &query)),
            ("PUT", ["jobinstances", id]) => instance(id).and_then(|id| {
                let last = shared.need_instance(id)?.last;
                shared.change(last, &query, &["stop", "restart"], request)
            }),
            ("DELETE", ["jobinstances", id]) => instance(id).and_then(|id| shared.purge(id)),
            ("GET", ["jobexecutions"]) => shared.executions(request, &query),
            ("GET", ["jobexecutions", id]) => execution(id).and_then(|id| shared.execution(id)),
            ("PUT", ["jobexecutions", id]) if query.value("action") == Some("split") => {
                execution(id).and_then(|id| shared.split(id, &query))
            }
            ("PUT", ["jobexecutions", id]) => execution(id)
                .and_then(|id| shared.change(id, &query, &["stop", "restart", "abandon", "split"], request)),
            ("GET", ["jobexecutions", id, "jobinstance"]) => {
                execution(id).and_then(|id| shared.instance(shared.repository.execution(id)?.instance))
            }
            ("GET", ["jobexecutions", id, "stepexecutions"]) => execution(id).and_then(|id| shared.steps(id, &query)),
            ("GET", ["jobexecutions", id, "stepexecutions", step]) => {
                execution(id).and_then(|id| shared.steps_named(id, step))
            }
            ("GET", ["stepexecutions", id]) => number("step execution", id).and_then(|id| shared.step(id)),
            ("GET", ["jobexecutions", id, "rejects"]) => execution(id).and_then(|id| shared.rejects(id, &query)),
            ("GET", ["events"]) => shared.events(&query),
            _ => return None,
        })
    }
}

impl Shared {
    /// Waits for the threads of executions.
    fn join(&self) {
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // The outcome is in the repository, even after a panic.
            let _ = thread.join();
        }
    }

    fn start(self: &Arc<Self>, body: Body, submitter: Option<&str>) -> Answer {
        let Some(name) = body.job else {
            let hint = "send {\"jobXMLName\": \"settle\"} for jobs/settle.xml; GET /batch/jobs lists the names";
            return Err(wrong("the body has no jobXMLName".to_owned(), hint.to_owned()).into());
        };
        let path = self.job_path(&name)?;
        let file = JobFile::open(&path).map_err(|findings| Refused::Findings(422, findings))?;
        self.answered(&self.launch(file, body.parameters, Begin::Start, submitter)?, 201)
    }

    fn change(
        self: &Arc<Self>,
        id: ExecutionId,
        query: &Query,
        actions: &[&str],
        request: &AdminRequest<'_>,
    ) -> Answer {
        query.only(&["action"])?;
        match query.value("action").filter(|action| actions.contains(action)) {
            Some("stop") => self.stop(id),
            Some("abandon") => {
                self.current(id)?;
                self.repository.abandon(id)?;
                self.execution(id)
            }
            Some(_) => {
                let Body { job, parameters } = body(request.body)?;
                if job.is_some() {
                    let hint = "leave jobXMLName out: a restart runs the job XML of the execution before";
                    return Err(wrong("a restart does not take a jobXMLName".to_owned(), hint.to_owned()).into());
                }
                let before = self.current(id)?;
                let file = self.file_of(&before)?;
                let begin = Begin::Restart(before);
                self.answered(&self.launch(file, parameters, begin, request.operator)?, 200)
            }
            None => {
                let hint = format!("write action={}", actions.join(" or action="));
                Err(wrong("the request names no action that can be done".to_owned(), hint).into())
            }
        }
    }

    /// Returns the current state of an execution. If its process has ended, it becomes FAILED now.
    fn current(&self, id: ExecutionId) -> Result<Execution, Refused> {
        let found = self.repository.execution(id)?;
        if !found.status.is_running() {
            return Ok(found);
        }
        let mut left = self.repository.take_over(&|one| one == id)?;
        left.extend(self.take_over_lost(&|one| one == id)?);
        left.iter().for_each(watch::report);
        Ok(left.into_iter().next().unwrap_or(found))
    }

    /// Ends executions of this server that no thread runs any more as FAILED: the database was away when they ended, the thread panicked, or the
    /// answer to the commit of a start was lost.
    pub(super) fn take_over_lost(&self, wanted: &dyn Fn(ExecutionId) -> bool) -> Result<Vec<Execution>, BatchError> {
        if !self.has_started.load(Ordering::SeqCst) {
            return Ok(Vec::new());
        }
        // Each of these is in `running` once no start is in progress, unless its thread has ended.
        let own = self.repository.own()?;
        if own.is_empty() || self.starting.load(Ordering::SeqCst) > 0 {
            return Ok(Vec::new());
        }
        let lost: BTreeSet<ExecutionId> = {
            let running = self.running.lock();
            let runs = |id: &ExecutionId| running.iter().any(|(running, _)| running == id);
            own.into_iter().filter(|id| wanted(*id) && !runs(id)).collect()
        };
        if lost.is_empty() { Ok(Vec::new()) } else { self.repository.take_over_own(&|id| lost.contains(&id)) }
    }

    /// Returns the job logs of the repository.
    pub(super) fn logs(&self) -> Result<Arc<JobLogs>, BatchError> {
        if let Some(logs) = self.logs.get() {
            return Ok(Arc::clone(logs));
        }
        let logs = Arc::new(JobLogs::of(&self.store, &self.repository)?);
        Ok(Arc::clone(self.logs.get_or_init(|| logs)))
    }

    /// Returns the job XML of an execution.
    pub(super) fn file_of(&self, execution: &Execution) -> Result<JobFile, Refused> {
        let text = self.repository.text(execution.digest)?.unwrap_or_default();
        JobFile::parse(&format!("job XML of execution {}", execution.id), &text)
            .map_err(|findings| Refused::Findings(422, findings))
    }

    fn answered(&self, execution: &Execution, status: u16) -> Answer {
        let value = show::execution_json(execution);
        Ok((status, Links::new(&self.repository).execution(execution, value, &[])?))
    }

    /// Starts or restarts a job on a separate thread. Returns when the execution is in the repository.
    pub(super) fn launch(
        self: &Arc<Self>,
        file: JobFile,
        parameters: Parameters,
        begin: Begin,
        submitter: Option<&str>,
    ) -> Result<Execution, Refused> {
        let shared = Arc::clone(self);
        let folder = match begin.before() {
            Some(before) => {
                let instance = shared.repository.instance(before.instance)?;
                instance.map_or_else(|| shared.project.clone(), |instance| PathBuf::from(instance.folder))
            }
            None => shared.project.clone(),
        };
        let findings = super::before_start(&file, &parameters, &folder);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Refused::Findings(422, Findings(findings)));
        }
        let slot = if shared.is_ending.load(Ordering::Relaxed) { None } else { Slot::take(&shared) };
        let Some(slot) = slot else {
            let message = format!("{RUNNING_MAX} jobs run in this server already, or it is ending");
            let finding = Finding::error(crate::exit::CLI_INPUT, Fault::Environment, message);
            let hint = "wait until one of them has ended: GET /batch/jobexecutions lists them";
            return Err(Refused::Findings(503, finding.hint(hint).into()));
        };
        let mut engine = Engine::new(Arc::clone(&shared.repository), artifacts(), folder);
        super::settle(&mut engine, &shared.settings);
        engine.node = super::node(&shared.store);
        // A restart keeps the submitter of the instance.
        let first = begin.before().and_then(|before| before.submitter.clone());
        engine.submitter = first.or(submitter.map(str::to_owned));
        engine.observers.push(shared.logs()?);
        engine.keeping = shared.keeping.clone();
        engine.workload = Some(Arc::clone(&shared.workload));
        let engine = Arc::new(engine);
        let (told, launched) = sync_channel(1);
        let run = move || {
            let _slot = slot;
            shared.has_started.store(true, Ordering::SeqCst);
            shared.starting.fetch_add(1, Ordering::SeqCst);
            // Also after a panic.
            let began = super::Finally(|| {
                shared.starting.fetch_sub(1, Ordering::SeqCst);
            });
            let started = match &begin {
                Begin::Restart(before) => engine.restart(before.id, &file, parameters, Drift::Refuse),
                Begin::Resume(before) => engine.resume(before.id, &file, parameters),
                Begin::Start => engine.start(&file, parameters),
            };
            let started = match started {
                Ok(started) => started,
                Err(error) => {
                    // The requester may have disconnected.
                    let _ = told.send(Err(error));
                    return;
                }
            };
            let id = started.id();
            {
                let mut running = shared.running.lock();
                running.push((id, Arc::clone(&engine)));
                if shared.is_ending.load(Ordering::Relaxed) {
                    engine.stop_all();
                }
            }
            drop(began);
            let _ = told.send(Ok(started.execution().clone()));
            let end = super::Finally(|| {
                StopRequests::of(&shared.store, &shared.repository).iter().for_each(|requests| requests.remove(id));
                shared.running.lock().retain(|(running, _)| *running != id);
            });
            let ended = started.run();
            drop(end);
            let place = match ended.map(|execution| execution.status) {
                Ok(BatchStatus::Completed) => 0,
                Ok(BatchStatus::Stopped) => 1,
                Ok(_) => 2,
                Err(error) => {
                    eprintln!("{}", error.finding());
                    2
                }
            };
            shared.ended[place].fetch_add(1, Ordering::Relaxed);
        };
        let thread = std::thread::Builder::new().name("job".to_owned()).stack_size(4 << 20).spawn(run);
        let thread = thread.map_err(|error| {
            let finding = Finding::error(
                crate::exit::CLI_INPUT,
                Fault::Environment,
                format!("no thread for a job: {}", error.kind()),
            );
            Refused::Findings(503, finding.hint("end other jobs first").into())
        })?;
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        drop(threads);
        match launched.recv() {
            Ok(Ok(execution)) => Ok(execution),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Refused::Batch(BatchError::Damaged { what: "a job that ended before it began" })),
        }
    }

    /// Lists the job XML files of the project.
    fn jobs(&self) -> Value {
        let entries = std::fs::read_dir(self.project.join("jobs")).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "xml")).collect();
        paths.sort();
        let jobs: Vec<Value> = paths
            .iter()
            .map(|path| {
                let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
                let findings: Vec<_> = super::findings_of(path, &self.project).iter().map(raw).collect();
                json!({ "jobXMLName": name, "findings": findings })
            })
            .collect();
        json!({ "jobs": jobs })
    }

    /// Returns the file of a job. Refuses names that could leave the folder.
    fn job_path(&self, name: &str) -> Result<PathBuf, Refused> {
        let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        let path = self.project.join("jobs").join(format!("{name}.xml"));
        if is_plain && path.is_file() {
            return Ok(path);
        }
        let finding =
            wrong(format!("the project has no job XML named `{name}`"), "GET /batch/jobs lists the names".to_owned());
        Err(Refused::Findings(404, finding))
    }

    pub(super) fn need_instance(&self, id: InstanceId) -> Result<Instance, Refused> {
        self.repository.instance(id)?.ok_or_else(|| {
            let finding =
                wrong(format!("no job instance has the number {id}"), "GET /batch/jobinstances lists them".to_owned());
            Refused::Findings(404, finding)
        })
    }

    fn instance_json(&self, id: InstanceId, last: &Execution, links: &mut Links<'_>) -> Result<Value, Refused> {
        let instance = self.need_instance(id)?;
        Ok(json!({
            "jobName": instance.job, "instanceId": id.0, "batchStatus": last.status.text(), "exitStatus": last.exit_status,
            "createTime": quayline_batch::log::time_text(instance.created_ms), "lastExecutionId": last.id.0,
            "submitter": last.submitter, "_links": links.instance(id, last)?,
        }))
    }

    /// Refuses jobs that an operator did not start, if the operator may only see its own jobs. An instance belongs to every operator who started one
    /// of its executions.
    fn is_own(&self, request: &AdminRequest<'_>, parts: &[&str]) -> Result<(), Refused> {
        let refused = || {
            let finding = wrong(
                "operators who may only submit jobs see only their own, and no events".to_owned(),
                "GET /batch/jobinstances lists your own; the roles of `read` and `operate` in [serve.admin] see all"
                    .to_owned(),
            );
            Err(Refused::Findings(403, finding))
        };
        let id = match parts {
            _ if !request.owns_only => return Ok(()),
            ["openapi.json" | "jobs" | "jobinstances" | "jobexecutions"] => return Ok(()),
            ["jobinstances", id, ..] => instance(id)?,
            ["jobexecutions", id, ..] => self.repository.execution(execution(id)?)?.instance,
            ["stepexecutions", id] => {
                self.repository.execution(StepExecution::of_id(number("step execution", id)?).0)?.instance
            }
            ["events"] => return refused(),
            _ => return Ok(()),
        };
        let executions = self.repository.executions(id)?;
        if executions.is_empty() {
            // A later step reports that the instance does not exist.
            return Ok(());
        }
        for one in executions {
            if self.repository.execution(one)?.submitter.as_deref() == request.operator {
                return Ok(());
            }
        }
        refused()
    }

    fn instances(&self, request: &AdminRequest<'_>, query: &Query) -> Answer {
        let (filter, order) = filter::of(query, request, self.repository.now_ms())?;
        let (page, size) = paging(query)?;
        let part = (page.saturating_mul(size), size + 1);
        let (mut found, is_whole) = self.repository.instances_of(&filter, order.as_deref(), part)?;
        let has_more = found.len() > size;
        found.truncate(size);
        let mut links = Links::new(&self.repository);
        let mut instances = Vec::new();
        for last in &found {
            match self.instance_json(last.instance, last, &mut links) {
                Ok(value) => instances.push(value),
                // The instance was removed in the meantime.
                Err(Refused::Findings(404, _)) => {}
                Err(refused) => return Err(refused),
            }
        }
        let links = links::page("/batch/jobinstances", query, page, has_more);
        Ok((200, json!({ "jobInstances": instances, "complete": is_whole, "_links": links })))
    }

    fn instance(&self, id: InstanceId) -> Answer {
        let last = self.repository.execution(self.need_instance(id)?.last)?;
        let mut links = Links::new(&self.repository);
        let mut value = self.instance_json(id, &last, &mut links)?;
        let newest = self.repository.executions(id)?.into_iter().take(PAGE).collect();
        value["jobExecutions"] = self.executions_json(newest, &mut links)?;
        Ok((200, value))
    }

    fn executions(&self, request: &AdminRequest<'_>, query: &Query) -> Answer {
        let (filter, order) = filter::of(query, request, self.repository.now_ms())?;
        let (page, size) = paging(query)?;
        let part = (page.saturating_mul(size), size + 1);
        let (mut found, is_whole) = self.repository.executions_of(&filter, order.as_deref(), part)?;
        let has_more = found.len() > size;
        found.truncate(size);
        let mut links = Links::new(&self.repository);
        let executions = found.iter().map(|one| links.execution(one, show::execution_json(one), &[]));
        let executions = executions.collect::<Result<Vec<_>, _>>()?;
        let links = links::page("/batch/jobexecutions", query, page, has_more);
        Ok((200, json!({ "jobExecutions": executions, "complete": is_whole, "_links": links })))
    }

    pub(super) fn execution(&self, id: ExecutionId) -> Answer {
        let found = self.repository.execution(id)?;
        let steps = self.step_executions(id)?;
        let progress = show::progress(&self.repository, &found, &steps)?;
        let value = show::whole_json(&found, &steps, &progress);
        Ok((200, Links::new(&self.repository).execution(&found, value, &progress)?))
    }

    /// Returns the engine of an execution, if this server runs it.
    pub(super) fn engine_of(&self, id: ExecutionId) -> Option<Arc<Engine>> {
        self.running.lock().iter().find(|(running, _)| *running == id).map(|(_, engine)| Arc::clone(engine))
    }

    fn stop(&self, id: ExecutionId) -> Answer {
        match self.engine_of(id) {
            Some(engine) => engine.stop(id)?,
            // Another process of a shared repository may run it, or have ended.
            None => {
                self.current(id)?;
                self.repository.request_stop(id)?;
            }
        }
        self.execution(id)
    }

    /// Requests a split; the process that runs the partition finds the request in the repository.
    fn split(&self, id: ExecutionId, query: &Query) -> Answer {
        query.only(&["action", "partition", "step"])?;
        let Some(partition) = query.value("partition").and_then(|number| number.parse().ok()) else {
            let hint = "write action=split&partition=2; GET /batch/jobexecutions/NUMBER shows the partitions that run";
            return Err(wrong("the request names no partition by its number".to_owned(), hint.to_owned()).into());
        };
        self.repository.request_split(id, query.value("step").unwrap_or_default(), partition)?;
        self.execution(id)
    }

    fn purge(&self, id: InstanceId) -> Answer {
        let last = self.need_instance(id)?.last;
        self.current(last)?;
        let removed = self.repository.purge(id)?;
        let logs = self.logs()?;
        for execution in &removed {
            // A log that cannot be removed is harmless; the next purge does not list it again.
            let _ = logs.remove(*execution);
        }
        Ok((200, json!({ "instanceId": id.0, "executionsRemoved": removed.len() })))
    }

    /// Returns a page of kept events.
    fn events(&self, query: &Query) -> Answer {
        query.only(&["topic", "jobName", "jobExecutionId", "after", "pageSize"])?;
        let (_, size) = paging(query)?;
        let wanted = wanted(query)?;
        let page = self.repository.event_page(&wanted, after(query.value("after"))?.unwrap_or_default(), size)?;
        Ok((200, events::page_json(&page)))
    }

    /// Opens a stream of kept events.
    fn event_stream(&self, query: &str, last: Option<&str>) -> Result<EventStream, Refused> {
        let query = Query::parse(query)?;
        query.only(&["topic", "jobName", "jobExecutionId", "after"])?;
        let after = after(last.or(query.value("after")))?;
        Ok(EventStream::new(Arc::clone(&self.repository), wanted(&query)?, after)?)
    }

    fn rejects(&self, id: ExecutionId, query: &Query) -> Answer {
        query.only(&["pageSize", "after"])?;
        let (_, size) = paging(query)?;
        let after = match query.value("after") {
            None => None,
            Some(text) => {
                let place = crate::store::from_hex("after", text);
                Some(place.map_err(|_| {
                    wrong("`after` is not a place".to_owned(), "send `next` of the page before".to_owned())
                })?)
            }
        };
        self.repository.execution(id)?;
        let found = self.repository.rejects(id, after.as_deref(), size)?;
        let last = found.last().map(|(_, place)| place.as_slice());
        // Large items make a page short.
        let has_more = last.is_some() && !self.repository.rejects(id, last, 1)?.is_empty();
        let next = last.filter(|_| has_more).map(hex);
        let rejects: Vec<Value> = found.iter().map(|(reject, _)| show::reject_json(reject, false)).collect();
        Ok((200, json!({ "rejects": rejects, "next": next })))
    }
}

fn wanted(query: &Query) -> Result<EventsWanted, Refused> {
    let patterns = query.value("topic").unwrap_or("").split(',').filter(|pattern| !pattern.is_empty());
    let execution = query.value("jobExecutionId").map(execution).transpose()?;
    Ok(EventsWanted { topics: events::topics(patterns)?, job: query.value("jobName").map(str::to_owned), execution })
}

fn after(text: Option<&str>) -> Result<Option<EventPosition>, Refused> {
    let read = |text: &str| {
        text.parse().map_err(|()| {
            let hint = "send `next` of a page, or the id of a server-sent event; 0.0 is before the first event";
            Refused::from(wrong("`after` is not the position of an event".to_owned(), hint.to_owned()))
        })
    };
    text.map(read).transpose()
}

pub(super) fn paging(query: &Query) -> Result<(usize, usize), Refused> {
    let number = |name: &str, default: usize, from: usize, to: usize| match query.value(name) {
        None => Ok(default),
        Some(text) => text.parse().ok().filter(|number| (from..=to).contains(number)).ok_or_else(|| {
            Refused::from(wrong(
                format!("`{name}` is not a number that is allowed"),
                format!("write a number from {from} to {to}"),
            ))
        }),
    };
    Ok((number("page", 0, 0, 1_000_000_000)?, number("pageSize", PAGE, 1, PAGE_MAX)?))
}

fn body(bytes: &[u8]) -> Result<Body, Refused> {
    let mut found = Body::default();
    if bytes.trim_ascii().is_empty() {
        return Ok(found);
    }
    let hint = "send {\"jobXMLName\": \"settle\", \"jobParameters\": {\"day\": \"2026-11-22\"}}";
    let refuse = |what: String| Refused::from(wrong(what, hint.to_owned()));
    let value: Value = serde_json::from_slice(bytes).map_err(|_| refuse("the body is not JSON".to_owned()))?;
    let Value::Object(members) = value else { return Err(refuse("the body is not a JSON object".to_owned())) };
    for (name, value) in members {
        match (name.as_str(), value) {
            ("jobXMLName", Value::String(job)) => found.job = Some(job),
            ("jobParameters", Value::Object(parameters)) => {
                for (name, value) in parameters {
                    let text = match value {
                        Value::String(text) => text,
                        // Other numbers can be written in several ways, and the job would not receive the original text.
                        Value::Number(number) if number.is_i64() || number.is_u64() => number.to_string(),
                        Value::Bool(flag) => flag.to_string(),
                        _ => {
                            return Err(refuse(format!(
                                "the job parameter `{name}` is not a text, a whole number, true or false"
                            )));
                        }
                    };
                    found.parameters.insert(name, text);
                }
            }
            _ => return Err(refuse(format!("the member `{name}` of the body is not known, or of another type"))),
        }
    }
    Ok(found)
}

fn number(what: &str, text: &str) -> Result<u64, Refused> {
    text.parse().map_err(|_| {
        wrong(
            format!("`{text}` is not the number of a job {what}"),
            format!("write the number that a list of {what}s shows"),
        )
        .into()
    })
}

fn instance(text: &str) -> Result<InstanceId, Refused> {
    number("instance", text).map(InstanceId)
}

fn execution(text: &str) -> Result<ExecutionId, Refused> {
    number("execution", text).map(ExecutionId)
}

impl AdminPart for JobsPart {
    fn request(&self, request: &AdminRequest<'_>) -> Option<AdminAnswer> {
        let rest = request.path.strip_prefix("/batch/")?;
        let decoded: Option<Vec<_>> = rest.split('/').map(decode_path).collect();
        let Some(decoded) = decoded else {
            return Some(Refused::from(wrong("the path is not UTF-8".to_owned(), "encode it".to_owned())).answer());
        };
        let parts: Vec<&str> = decoded.iter().map(|part| &**part).collect();
        if let Err(refused) = self.shared.is_own(request, &parts) {
            return Some(refused.answer());
        }
        let text = match (request.method, parts.as_slice(), request.query) {
            ("GET", ["jobexecutions", id, "joblogs"], "") => Some(execution(id).and_then(|id| self.shared.log(id))),
            ("GET", ["jobinstances", id, "joblogs"], "type=text") => {
                Some(instance(id).and_then(|id| self.shared.log_of_all(id)))
            }
            _ => None,
        };
        if let Some(text) = text {
            return Some(text.unwrap_or_else(|refused| refused.answer()));
        }
        Some(match self.route(request, &parts) {
            Some(Ok((status, value))) => answer(status, &value),
            Some(Err(refused)) => refused.answer(),
            None => elsewhere(&JOB_PATHS, request),
        })
    }

    fn is_for_submitters(&self, path: &str) -> bool {
        path.starts_with("/batch/")
    }

    fn stream(
        &self,
        request: &AdminRequest<'_>,
        last: Option<&str>,
    ) -> Option<Result<Box<dyn AdminStream>, AdminAnswer>> {
        if request.path != "/batch/events" {
            return None;
        }
        if let Err(refused) = self.shared.is_own(request, &["events"]) {
            return Some(Err(refused.answer()));
        }
        Some(match self.shared.event_stream(request.query, last) {
            Ok(stream) => Ok(Box::new(stream)),
            Err(refused) => Err(refused.answer()),
        })
    }

    fn answer(&self, _method: &str, _path: &str) -> Option<(u16, String)> {
        None
    }

    fn not_ready(&self) -> Vec<(String, String)> {
        let away = self.shared.repository.reached().err();
        away.map(|error| ("job repository".to_owned(), error.to_string())).into_iter().collect()
    }

    fn metrics(&self) -> String {
        let mut text =
            String::from("# HELP quayline_jobs_running Job executions that run.\n# TYPE quayline_jobs_running gauge\n");
        text.push_str(&format!("quayline_jobs_running {}\n", self.shared.running.lock().len()));
        text.push_str(
            "# HELP quayline_job_executions_total Job executions that ended.\n# TYPE quayline_job_executions_total counter\n",
        );
        for (status, count) in ["COMPLETED", "STOPPED", "FAILED"].iter().zip(&self.shared.ended) {
            text.push_str(&format!(
                "quayline_job_executions_total{{status=\"{status}\"}} {}\n",
                count.load(Ordering::Relaxed)
            ));
        }
        text
    }
}

/// Returns true if a project has jobs.
pub(crate) fn has_jobs(project: &Path) -> bool {
    project.join("jobs").is_dir()
}
