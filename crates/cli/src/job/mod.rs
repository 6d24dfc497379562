//! `quayline job`.

mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quayline_batch::artifact::Registry;
use quayline_batch::event::{CHECKPOINT, Event, Observer};
use quayline_batch::log::{JobLogs, line_of};
use quayline_batch::record::{Execution, ExecutionId, InstanceId};
use quayline_batch::{
    BatchError, BatchStatus, Drift, Engine, Launched, Repository, StartError, StopRequests, StoreBackend, builtin,
    system_property,
};
use quayline_core::{Finding, Findings, Severity};
use quayline_project::job::{JobFile, Parameters};
use quayline_store::SystemClock;

use crate::args::{FolderArg, IdArgs, JobArgs, JobCheckArgs, JobCommand, PurgeJobsArgs, RestartArgs, StartArgs};
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop, argument};
use crate::interrupt;
use crate::store::{Missing, Opened, unreadable};

/// How often stop requests and signals are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Runs `quayline job`.
pub(crate) fn run(args: &JobArgs, console: &Console) -> Result<Exit, Stop> {
    match &args.command {
        JobCommand::Check(args) => check(args, console),
        JobCommand::Plan(args) => {
            let file = JobFile::open(&args.file)?;
            let (job, unresolved) = file.resolve(&parameters(&args.parameters)?, &system_property)?;
            console.findings(&unresolved.iter().map(|reference| file.unresolved(reference)).collect::<Vec<_>>());
            write_stdout(show::plan(&job).as_bytes())?;
            Ok(Exit::Done)
        }
        JobCommand::Start(args) => start(args, console),
        JobCommand::Restart(args) => restart(args, console),
        JobCommand::Stop(args) => stop(args, console),
        JobCommand::Abandon(args) => {
            let opened = Jobs::open(&args.store)?;
            let abandoned = opened.repository.abandon(ExecutionId(args.execution)).map_err(batch)?;
            console.line(&format!("execution {} is {}", abandoned.id, abandoned.status));
            opened.close(Exit::Done)
        }
        JobCommand::List(args) => {
            let opened = Jobs::open(&args.store)?;
            let text = show::list(args, &opened.repository).map_err(batch)?;
            write_stdout(text.as_bytes())?;
            opened.close(Exit::Done)
        }
        JobCommand::Show(args) => {
            let opened = Jobs::open(&args.store)?;
            let id = ExecutionId(args.execution);
            let execution = opened.repository.execution(id).map_err(batch)?;
            let steps = opened.repository.steps(id).map_err(batch)?;
            write_stdout(show::execution(&execution, &steps, args.json).as_bytes())?;
            opened.close(Exit::Done)
        }
        JobCommand::Log(args) => log(args),
        JobCommand::Purge(args) => purge(args, console),
    }
}

/// The store with the job repository. Executions whose process is gone have become FAILED.
struct Jobs {
    opened: Opened,
    repository: Arc<Repository>,
    recovered: Vec<Execution>,
}

impl Jobs {
    fn open(folder: &FolderArg) -> Result<Self, Stop> {
        Jobs::open_or(folder, Missing::Refuse)
    }

    fn open_or(folder: &FolderArg, missing: Missing) -> Result<Self, Stop> {
        let opened = Opened::open(folder, missing)?;
        let backend = StoreBackend::new(opened.store.clone(), Arc::new(SystemClock)).map_err(batch)?;
        let repository = Arc::new(Repository::new(Arc::new(backend)));
        StopRequests::new(&folder.folder).clear();
        let recovered = repository.recover().map_err(batch)?;
        Ok(Jobs { opened, repository, recovered })
    }

    fn close(self, exit: Exit) -> Result<Exit, Stop> {
        drop(self.repository);
        self.opened.close(exit)
    }

    fn engine(&self, store: &Path, folder: PathBuf, console: &Console) -> Engine {
        let mut engine = Engine::new(Arc::clone(&self.repository), artifacts(), folder);
        engine.observers.push(Arc::new(JobLogs::new(store)));
        if !console.json() {
            engine.observers.push(Arc::new(Told));
        }
        engine
    }
}

/// The artifacts that a job may refer to.
fn artifacts() -> Registry {
    let mut registry = Registry::default();
    builtin::register(&mut registry);
    registry
}

/// Prints the job log while the job runs.
struct Told;

impl Observer for Told {
    fn event(&self, event: &Event) {
        use std::io::Write as _;
        // Where standard error is closed, the job log has the line.
        let _ = std::io::stderr().write_all(format!("{}\n", line_of(event)).as_bytes());
    }

    fn wants(&self, topic: &str) -> bool {
        topic != CHECKPOINT
    }
}

fn check(args: &JobCheckArgs, console: &Console) -> Result<Exit, Stop> {
    let file = JobFile::open(&args.file)?;
    let given = parameters(&args.parameters)?;
    let given = (!args.parameters.is_empty()).then_some(&given);
    let findings = file.check(given, &system_property, &artifacts());
    console.findings(&findings);
    if findings.is_empty() {
        console.paragraph("nothing is wrong with the job");
    }
    Ok(Exit::of_findings(&findings))
}

/// Everything that is wrong with a job, whatever its parameters will be.
pub(crate) fn findings_of(path: &Path) -> Vec<Finding> {
    match JobFile::open(path) {
        Ok(file) => file.check(None, &system_property, &artifacts()),
        Err(Findings(findings)) => findings,
    }
}

fn parameters(given: &[String]) -> Result<Parameters, Stop> {
    let mut parameters = Parameters::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            return Err(argument(format!("--param {text} has no value")).hint("write --param NAME=VALUE").into());
        };
        parameters.insert(name.to_owned(), value.to_owned());
    }
    Ok(parameters)
}

/// The folder of a job's relative paths, absolute, so that a restart from elsewhere finds the same files.
fn project_of(file: &Path, project: Option<&PathBuf>) -> Result<PathBuf, Stop> {
    let folder = match project {
        Some(folder) => folder.clone(),
        None => {
            let folder = file.parent().unwrap_or_else(|| Path::new(""));
            let is_jobs = folder.file_name().is_some_and(|name| name == "jobs");
            let above = folder.parent().filter(|_| is_jobs).unwrap_or(folder);
            if above.as_os_str().is_empty() { PathBuf::from(".") } else { above.to_owned() }
        }
    };
    folder.canonicalize().map_err(|error| unreadable(&folder, &error))
}

fn start(args: &StartArgs, console: &Console) -> Result<Exit, Stop> {
    let file = JobFile::open(&args.file)?;
    let given = parameters(&args.parameters)?;
    let folder = project_of(&args.file, args.project.as_ref())?;
    checked(&file, &given, console)?;
    let jobs = Jobs::open_or(&args.store, Missing::Create)?;
    told(&jobs.recovered, console);
    let engine = jobs.engine(&args.store.folder, folder, console);
    let ended =
        engine.start(&file, given).map_err(started).and_then(|launched| watched(&engine, &args.store.folder, launched));
    drop(engine);
    finish(jobs, ended, console)
}

/// Refuses a job with errors; prints warnings.
fn checked(file: &JobFile, given: &Parameters, console: &Console) -> Result<(), Stop> {
    let findings = file.check(Some(given), &system_property, &artifacts());
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(Findings(findings).into());
    }
    console.findings(&findings);
    Ok(())
}

fn restart(args: &RestartArgs, console: &Console) -> Result<Exit, Stop> {
    let jobs = Jobs::open(&args.store)?;
    told(&jobs.recovered, console);
    let id = ExecutionId(args.execution);
    let before = jobs.repository.execution(id).map_err(batch)?;
    let mut given = if args.same_params { before.parameters.clone() } else { Parameters::new() };
    given.extend(parameters(&args.parameters)?);
    let file = match &args.file {
        Some(path) => JobFile::open(path)?,
        None => {
            let text = jobs.repository.text(before.digest).map_err(batch)?.unwrap_or_default();
            JobFile::parse(&format!("job XML of execution {id}"), &text)?
        }
    };
    checked(&file, &given, console)?;
    let instance = jobs.repository.instance(before.instance).map_err(batch)?;
    let folder = instance.map_or_else(PathBuf::new, |instance| PathBuf::from(instance.folder));
    let engine = jobs.engine(&args.store.folder, folder, console);
    let drift = if args.accept_drift { Drift::Accept } else { Drift::Refuse };
    let ended = engine
        .restart(id, &file, given, drift)
        .map_err(started)
        .and_then(|launched| watched(&engine, &args.store.folder, launched));
    drop(engine);
    finish(jobs, ended, console)
}

/// Runs an execution while another thread looks at signals and stop requests.
fn watched(engine: &Engine, store: &Path, launched: Launched<'_>) -> Result<Execution, Stop> {
    let signalled = interrupt::stop_flag()?;
    let over = AtomicBool::new(false);
    let requests = StopRequests::new(store);
    let ended = std::thread::scope(|scope| {
        let watch = || {
            while !over.load(Ordering::Relaxed) {
                if signalled.load(Ordering::Relaxed) {
                    engine.stop_all();
                }
                requests.look(engine);
                std::thread::park_timeout(LOOK);
            }
        };
        let watcher = scope.spawn(watch);
        let ended = launched.run();
        over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        ended
    });
    requests.clear();
    ended.map_err(batch)
}

fn finish(jobs: Jobs, ended: Result<Execution, Stop>, console: &Console) -> Result<Exit, Stop> {
    let execution = match ended {
        Ok(execution) => execution,
        Err(stop) => {
            jobs.close(Exit::Done)?;
            return Err(stop);
        }
    };
    let steps = jobs.repository.steps(execution.id).map_err(batch)?;
    write_stdout(show::execution(&execution, &steps, console.json()).as_bytes())?;
    let exit = match execution.status {
        BatchStatus::Completed => Exit::Done,
        BatchStatus::Stopped => Exit::Resumable,
        _ => Exit::Rejected,
    };
    if exit != Exit::Done {
        console.paragraph(&format!("to continue: quayline job restart {}", execution.id));
    }
    jobs.close(exit)
}

fn told(recovered: &[Execution], console: &Console) {
    for execution in recovered {
        console.paragraph(&format!(
            "execution {} of {} is FAILED: the process that ran it ended; quayline job restart {} continues it",
            execution.id, execution.job, execution.id
        ));
    }
}

fn stop(args: &IdArgs, console: &Console) -> Result<Exit, Stop> {
    let id = ExecutionId(args.execution);
    // Only the process that runs executions has the store open.
    match Jobs::open(&args.store) {
        Ok(jobs) => {
            let status = jobs.repository.execution(id).map_err(batch)?.status;
            jobs.close(Exit::Done)?;
            Err(batch(BatchError::NotRunning { execution: id, status }))
        }
        Err(Stop::Findings(findings)) if findings.0.iter().any(|finding| finding.code == IN_USE) => {
            let requests = StopRequests::new(&args.store.folder);
            requests.request(id).map_err(|error| unreadable(&args.store.folder, &error))?;
            console.line(&format!("execution {id} is asked to stop at its next checkpoint"));
            Ok(Exit::Done)
        }
        Err(stop) => Err(stop),
    }
}

fn log(args: &IdArgs) -> Result<Exit, Stop> {
    let path = JobLogs::new(&args.store.folder).path(ExecutionId(args.execution));
    let text = std::fs::read(&path).map_err(|error| unreadable(&path, &error))?;
    write_stdout(&text)?;
    Ok(Exit::Done)
}

fn purge(args: &PurgeJobsArgs, console: &Console) -> Result<Exit, Stop> {
    const DAY_MS: u64 = 86_400_000;
    let jobs = Jobs::open(&args.store)?;
    let repository = &jobs.repository;
    let mut instances = Vec::new();
    match (args.instance, args.older_than_days) {
        (Some(number), _) => {
            if repository.instance(InstanceId(number)).map_err(batch)?.is_none() {
                let finding = argument(format!("no job instance has the number {number}"));
                return Err(finding.hint("quayline job list shows instances").into());
            }
            instances.push(InstanceId(number));
        }
        (None, days) => {
            let before = repository.now_ms().saturating_sub(days.unwrap_or(0).saturating_mul(DAY_MS));
            for job in repository.jobs().map_err(batch)? {
                for id in repository.instances(&job, 0, usize::MAX).map_err(batch)? {
                    let Some(instance) = repository.instance(id).map_err(batch)? else { continue };
                    let last = repository.execution(instance.last).map_err(batch)?;
                    if last.ended_ms.is_some_and(|ended| ended < before) {
                        instances.push(id);
                    }
                }
            }
        }
    }
    let logs = JobLogs::new(&args.store.folder);
    for id in &instances {
        for execution in repository.purge(*id).map_err(batch)? {
            logs.remove(execution).map_err(|error| unreadable(&logs.path(execution), &error))?;
        }
    }
    console.line(&format!("{} instances removed", instances.len()));
    jobs.close(Exit::Done)
}

/// The store is open in another process.
const IN_USE: quayline_core::Code = quayline_store::STO_IN_USE;

fn batch(error: BatchError) -> Stop {
    error.finding().into()
}

fn started(error: StartError) -> Stop {
    error.findings().into()
}
