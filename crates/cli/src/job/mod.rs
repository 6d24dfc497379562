//! `quayline job`.

mod api;
mod ask;
mod details;
mod events;
mod filter;
mod links;
mod remedy;
mod retention;
mod show;
mod watch;
mod work;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_batch::artifact::Registry;
use quayline_batch::event::{Event, Observer, is_logged};
use quayline_batch::log::{JobLogs, line_of};
use quayline_batch::record::{Execution, ExecutionId, InstanceId, OWNER_GRACE_SECONDS};
use quayline_batch::{
    Backend, BatchError, BatchStatus, DatabaseBackend, Drift, Engine, Launched, Repository, StartError, StopRequests,
    StoreBackend, builtin, system_property,
};
use quayline_core::{Fault, Finding, Findings, Severity};
use quayline_postgres::Endpoint;
use quayline_project::job::{EventSettings, JobFile, JobSettings, Parameters};
use quayline_server::{Collecting, collect_work};
use quayline_store::{Store, SystemClock};
use quayline_store_embedded::Settings;
use quayline_workload::{Interval, WorkloadConfig};

use crate::args::{
    FolderArg, IdArgs, JobArgs, JobCheckArgs, JobCommand, PurgeJobsArgs, RejectsArgs, RepositoryArg, RestartArgs,
    StartArgs,
};
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop, argument, once_each};
use crate::interrupt;
use crate::store::{Missing, Opened, alone, unreadable};

/// How often stop requests and signals are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often stop requests in the repository are looked at.
const LOOK_IN_REPOSITORY: Duration = Duration::from_millis(250);

/// Runs `quayline job`.
pub(crate) fn run(args: &JobArgs, console: &Console) -> Result<Exit, Stop> {
    crate::memory::give_large_blocks_back();
    match &args.command {
        JobCommand::Check(args) => check(args, console),
        JobCommand::Plan(args) => {
            let file = JobFile::open(&args.file)?;
            let (job, unresolved) = file.resolve(&parameters(&args.parameters)?, &system_property)?;
            console.findings(&unresolved.iter().map(|reference| file.unresolved(reference)).collect::<Vec<_>>());
            write_stdout(quayline_project::job::plan_text(&job, quayline_batch::delivery).as_bytes())?;
            Ok(Exit::Done)
        }
        JobCommand::Start(args) => start(args, console),
        JobCommand::Restart(args) => restart(args, console),
        JobCommand::Stop(args) => stop(args, console),
        JobCommand::Work(args) => work::work(args, console),
        JobCommand::Split(args) => work::split(args, console),
        JobCommand::Abandon(args) => {
            let opened = Jobs::open(&args.place)?;
            let abandoned = opened.repository.abandon(ExecutionId(args.execution)).map_err(batch)?;
            console.line(&format!("execution {} is {}", abandoned.id, abandoned.status));
            opened.close(Exit::Done)
        }
        JobCommand::List(args) => {
            let question = ask::Question::List { job: args.job.clone(), count: args.count, json: args.json };
            ask::answered(&args.place, &question)
        }
        JobCommand::Show(args) => {
            let form = if args.times { show::Form::Times } else { show::Form::of(args.json) };
            let question = ask::Question::Show { execution: ExecutionId(args.execution), form };
            ask::answered(&args.place, &question)
        }
        JobCommand::Log(args) => log(args),
        JobCommand::Events(args) => events::print(args, console),
        JobCommand::Rejects(args) => rejects(args),
        JobCommand::Purge(args) => purge(args, console),
    }
}

/// The job repository, in the store or in a database. Executions whose process is gone have become FAILED.
struct Jobs {
    /// The store, if the repository or the queue of its events is in a store.
    opened: Option<Opened>,
    /// What a command that continues these jobs has to say to find them.
    place: String,
    repository: Arc<Repository>,
    recovered: Vec<Execution>,
}

/// Checks that the store can contain the job repository. A repository in the store treats executions that it finds running as abandoned, since one
/// process at a time uses a data folder.
pub(crate) fn needs_repository(store: &FolderArg) -> Result<(), Stop> {
    if store.address().is_none() {
        return Ok(());
    }
    let finding = argument("several processes share this store, so it cannot hold the job repository".to_owned());
    Err(finding
        .hint("name a database for the jobs with --repository (`serve`: --job-repository); it may be the same database")
        .into())
}

impl Jobs {
    fn open(place: &RepositoryArg) -> Result<Self, Stop> {
        Jobs::open_or(place, Missing::Refuse)
    }

    fn open_or(place: &RepositoryArg, missing: Missing) -> Result<Self, Stop> {
        let folder = &place.store;
        let mut options = String::new();
        if folder.folder != Path::new("data") {
            options.push_str(&format!(" --store {}", crate::store::named(folder)));
        }
        let (opened, backend): (_, Arc<dyn Backend>) = match &place.repository {
            Some(address) => {
                let endpoint = Endpoint::parse(address).map_err(|error| {
                    Stop::from(argument(format!("--repository: {}", error.what)).hint(error.remedy))
                })?;
                options.push_str(&format!(" --repository postgresql://{endpoint}"));
                (None, Arc::new(DatabaseBackend::open(endpoint, Arc::new(SystemClock)).map_err(batch)?))
            }
            None => {
                needs_repository(folder)?;
                // A job whose chunks have 8,000 rows takes less than 30 MB.
                let settings =
                    Settings { apply_bytes: 2 << 20, delta_bytes_max: 8 << 20, cache_bytes: 4 << 20, ..alone() };
                let opened = Opened::open_with(folder, missing, settings)?;
                let backend = StoreBackend::new(opened.store.clone(), Arc::new(SystemClock)).map_err(batch)?;
                StopRequests::new(folder.local()).clear();
                (Some(opened), Arc::new(backend))
            }
        };
        let repository = Repository::new(backend).with_patience(Duration::from_secs(place.database_wait));
        let recovered = repository.recover().map_err(batch)?;
        Ok(Jobs { opened, place: options, repository: Arc::new(repository), recovered })
    }

    fn close(self, exit: Exit) -> Result<Exit, Stop> {
        drop(self.repository);
        match self.opened {
            Some(opened) => opened.close(exit),
            None => Ok(exit),
        }
    }

    /// Opens the store that has the queue of `topic`, if the repository is in a database.
    fn open_topic(&mut self, store: &FolderArg, folder: &Path, console: &Console) -> Result<(), Stop> {
        if self.opened.is_none() && EventSettings::open(folder)?.is_some_and(|settings| settings.topic.is_some()) {
            match Opened::open_with(store, Missing::Refuse, alone()) {
                Ok(opened) => self.opened = Some(opened),
                Err(Stop::Findings(Findings(found))) if found.iter().any(|finding| finding.code == IN_USE) => {
                    console.paragraph("another process uses the store of `topic`: a server with this job repository, or the next job, brings the events there");
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    fn engine(&self, store: &Path, folder: PathBuf, console: &Console) -> Result<Engine, Stop> {
        let keeping = events::keeping(&folder, self.opened.as_ref().map(|opened| &opened.store), &self.repository)?;
        let settings = JobSettings::open(&folder)?;
        let mut engine = Engine::new(Arc::clone(&self.repository), artifacts(), folder);
        settle(&mut engine, &settings);
        engine.node = node(store);
        engine.observers.push(Arc::new(JobLogs::of(store, &self.repository).map_err(batch)?));
        if !console.json() {
            engine.observers.push(Arc::new(Told));
        }
        engine.keeping = keeping;
        Ok(engine)
    }
}

pub(crate) use api::{JobsPart, Place, has_jobs};
pub(crate) use events::keeping;

/// Opens the repository of a server: in its store, or in a database. Marks executions whose process has ended as FAILED.
pub(crate) fn served(store: &Store, repository: Option<&str>) -> Result<Arc<Repository>, Stop> {
    let backend: Arc<dyn Backend> = match repository {
        Some(address) => {
            let endpoint = Endpoint::parse(address).map_err(|error| {
                Stop::from(argument(format!("--job-repository: {}", error.what)).hint(error.remedy))
            })?;
            Arc::new(DatabaseBackend::open(endpoint, Arc::new(SystemClock)).map_err(batch)?)
        }
        None => Arc::new(StoreBackend::new(store.clone(), Arc::new(SystemClock)).map_err(batch)?),
    };
    let repository = Repository::new(backend);
    for execution in repository.recover().map_err(batch)? {
        eprintln!("job execution {} of {} is FAILED: the process that ran it ended", execution.id, execution.job);
    }
    Ok(Arc::new(repository))
}

/// Gives an engine the bounds of a project.
fn settle(engine: &mut Engine, settings: &JobSettings) {
    let bounds = &mut engine.settings;
    bounds.chunk_bytes_max = settings.chunk_bytes_max.unwrap_or(bounds.chunk_bytes_max);
    bounds.partition_threads_max = settings.partition_threads_max.unwrap_or(bounds.partition_threads_max);
}

/// Returns this machine and the data folder with its job logs, in the form saved in executions.
fn node(store: &Path) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let folder = store.canonicalize().unwrap_or_else(|_| store.to_owned());
    format!("{}:{}", host.trim(), folder.display())
}

/// Creates the finding for a missing job log, with its location.
fn no_log(execution: &Execution, store: &Path, path: &Path) -> Finding {
    let (id, here) = (execution.id, node(store));
    let message = format!("the job log of execution {id} is not in {}", path.display());
    let finding = Finding::error(crate::exit::CLI_INPUT, Fault::Environment, message);
    match execution.node.split_once(':') {
        Some((host, folder)) if execution.node != here => finding.hint(format!(
            "the execution ran on the node {host}:{folder}; there, run quayline job log {id} --store {folder}, or send the request to its server"
        )),
        _ => finding.hint("somebody has removed it, or the disk was full; quayline job show has the causes of failures"),
    }
}

/// Returns the artifacts that a job may refer to.
fn artifacts() -> Registry {
    let mut registry = Registry::default();
    builtin::register(&mut registry);
    quayline_measure::batch::register(&mut registry);
    registry
}

/// Prints the job log while the job runs.
struct Told;

impl Observer for Told {
    fn event(&self, event: &Event) {
        use std::io::Write as _;
        // If standard error is closed, the job log still has the line.
        let _ = std::io::stderr().write_all(format!("{}\n", line_of(event)).as_bytes());
    }

    fn wants(&self, topic: &str) -> bool {
        is_logged(topic)
    }
}

fn check(args: &JobCheckArgs, console: &Console) -> Result<Exit, Stop> {
    let file = JobFile::open(&args.file)?;
    let given = parameters(&args.parameters)?;
    let given = (!args.parameters.is_empty()).then_some(&given);
    let folder = folder_of(&args.file, args.project.as_deref());
    let mut findings = file.check(given, &system_property, &artifacts().in_folder(&folder));
    // A run reads them too.
    findings.extend(JobSettings::open(&folder).err().into_iter().flat_map(|wrong| wrong.0));
    findings.extend(EventSettings::open(&folder).err().into_iter().flat_map(|wrong| wrong.0));
    console.findings(&findings);
    if findings.is_empty() {
        console.paragraph("nothing is wrong with the job");
    }
    Ok(Exit::of_findings(&findings))
}

/// Returns all findings about a job of a project, for any parameters.
pub(crate) fn findings_of(path: &Path, project: &Path) -> Vec<Finding> {
    match JobFile::open(path) {
        Ok(file) => file.check(None, &system_property, &artifacts().in_folder(project)),
        Err(Findings(findings)) => findings,
    }
}

/// Returns the findings about a job that starts. A missing file is a warning, because an earlier step may write it.
fn before_start(file: &JobFile, given: &Parameters, folder: &Path) -> Vec<Finding> {
    let mut findings = file.check(Some(given), &system_property, &artifacts().in_folder(folder));
    let missing = findings.iter_mut().filter(|finding| finding.fault != Fault::Config);
    missing.for_each(|finding| finding.severity = Severity::Warning);
    findings
}

pub(crate) fn parameters(given: &[String]) -> Result<Parameters, Stop> {
    let mut parameters = Parameters::new();
    for text in given {
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(argument(format!("--param {text} has no name or no value"))
                .hint("write --param NAME=VALUE")
                .into());
        };
        parameters.insert(name.to_owned(), value.to_owned());
    }
    once_each("--param", given.iter().filter_map(|text| text.split_once('=')).map(|(name, _)| name))?;
    Ok(parameters)
}

/// The folder of a job's relative paths, absolute, so that a restart from elsewhere finds the same files.
fn project_of(file: &Path, project: Option<&Path>) -> Result<PathBuf, Stop> {
    let folder = Path::new(".").join(folder_of(file, project));
    folder.canonicalize().map_err(|error| unreadable(&folder, &error))
}

fn folder_of(file: &Path, project: Option<&Path>) -> PathBuf {
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let is_jobs = folder.file_name().is_some_and(|name| name == "jobs");
    project.unwrap_or(folder.parent().filter(|_| is_jobs).unwrap_or(folder)).to_owned()
}

fn start(args: &StartArgs, console: &Console) -> Result<Exit, Stop> {
    let file = JobFile::open(&args.file)?;
    let given = parameters(&args.parameters)?;
    let folder = project_of(&args.file, args.project.as_deref())?;
    checked(&file, &given, &folder, console)?;
    let mut jobs = Jobs::open_or(&args.place, Missing::Create)?;
    jobs.open_topic(&args.place.store, &folder, console)?;
    told(&jobs, console)?;
    let store = args.place.store.local();
    let mut engine = jobs.engine(store, folder, console)?;
    let collecting = args.intervals.as_deref().map(|path| collected(&mut engine, path)).transpose()?;
    let ended = engine.start(&file, given).map_err(started).and_then(|launched| watched(&engine, store, launched));
    drop((collecting, engine));
    finish(jobs, ended, is_restartable(&file), console)
}

/// Collects intervals of the jobs of an engine into a file, as long as the value lives. Nothing is governed: the job runs as it would without.
fn collected(engine: &mut Engine, path: &Path) -> Result<Option<Collecting>, Stop> {
    let known = match std::fs::read_to_string(path) {
        Ok(known) => known,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unreadable(path, &error)),
    };
    if known.lines().next().is_some_and(|line| Interval::from_json(line).is_err()) {
        let wrong = argument(format!("--intervals: {} does not hold intervals", path.display()));
        return Err(wrong.hint("name a file that does not exist, or one of earlier intervals").into());
    }
    let config = WorkloadConfig { govern: false, keep_file: Some(path.to_owned()), ..WorkloadConfig::default() };
    let workload = crate::workload::of_process(&config);
    engine.workload = Some(Arc::clone(&workload));
    Ok(collect_work(&workload, None, Path::new("."), |line| eprintln!("{line}")))
}

fn is_restartable(file: &JobFile) -> bool {
    file.resolve(&Parameters::new(), &system_property).map_or(true, |(job, _)| job.restartable)
}

/// Refuses a job with errors; prints warnings.
fn checked(file: &JobFile, given: &Parameters, folder: &Path, console: &Console) -> Result<(), Stop> {
    let findings = before_start(file, given, folder);
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(Findings(findings).into());
    }
    console.findings(&findings);
    Ok(())
}

fn restart(args: &RestartArgs, console: &Console) -> Result<Exit, Stop> {
    let mut jobs = Jobs::open(&args.place)?;
    told(&jobs, console)?;
    let store = args.place.store.local();
    let id = ExecutionId(args.execution);
    let before = jobs.repository.execution(id).map_err(batch)?;
    let mut given = if args.same_params { before.parameters.clone() } else { Parameters::new() };
    given.extend(parameters(&args.parameters)?);
    let first = remedy::first_of(&jobs.repository, &before)?;
    remedy::differing(&before, &first, &given).iter().for_each(|note| console.paragraph(note));
    let file = match &args.file {
        Some(path) => JobFile::open(path)?,
        None => {
            let text = jobs.repository.text(before.digest).map_err(batch)?.unwrap_or_default();
            JobFile::parse(&format!("job XML of execution {id}"), &text)?
        }
    };
    let instance = jobs.repository.instance(before.instance).map_err(batch)?;
    let folder = instance.map_or_else(PathBuf::new, |instance| PathBuf::from(instance.folder));
    checked(&file, &given, &folder, console)?;
    jobs.open_topic(&args.place.store, &folder, console)?;
    let mut engine = jobs.engine(store, folder, console)?;
    let collecting = args.intervals.as_deref().map(|path| collected(&mut engine, path)).transpose()?;
    let drift = if args.accept_drift { Drift::Accept } else { Drift::Refuse };
    let ended =
        engine.restart(id, &file, given, drift).map_err(started).and_then(|launched| watched(&engine, store, launched));
    drop((collecting, engine));
    finish(jobs, ended, is_restartable(&file), console)
}

/// Calls a function when dropped.
struct Finally<F: Fn()>(F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs an execution while another thread checks for signals and stop requests.
fn watched(engine: &Engine, store: &Path, launched: Launched<'_>) -> Result<Execution, Stop> {
    let signalled = interrupt::stop_flag()?;
    let over = AtomicBool::new(false);
    let requests = StopRequests::of(store, &engine.repository);
    let ended = std::thread::scope(|scope| {
        let watch = || {
            let mut asked = Instant::now();
            while !over.load(Ordering::Relaxed) {
                if signalled.load(Ordering::Relaxed) {
                    engine.stop_all();
                    // A database that does not answer is not waited for any longer.
                    engine.repository.give_up();
                }
                requests.iter().for_each(|requests| requests.look(engine));
                ask::answer(store, &engine.repository);
                if asked.elapsed() >= LOOK_IN_REPOSITORY {
                    asked = Instant::now();
                    // A database that does not answer is asked again.
                    for id in engine.repository.stop_requests(&engine.running()).unwrap_or_default() {
                        let _ = engine.stop(id);
                    }
                    engine.take_split_requests();
                    let _ = events::relay(engine.keeping.as_ref(), &engine.repository);
                }
                std::thread::park_timeout(LOOK);
            }
        };
        let watcher = scope.spawn(watch);
        // Also after a panic, which would otherwise wait for the watcher forever.
        let _end = Finally(|| {
            over.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
        });
        launched.run()
    });
    events::relay(engine.keeping.as_ref(), &engine.repository).iter().for_each(|left| eprintln!("{left}"));
    requests.iter().for_each(StopRequests::clear);
    ask::clear(store, &engine.repository);
    ended.map_err(batch)
}

fn finish(jobs: Jobs, ended: Result<Execution, Stop>, is_restartable: bool, console: &Console) -> Result<Exit, Stop> {
    let execution = match ended {
        Ok(execution) => execution,
        Err(stop) => {
            jobs.close(Exit::Done)?;
            return Err(stop);
        }
    };
    let steps = jobs.repository.steps(execution.id).map_err(batch)?;
    let progress = show::progress(&jobs.repository, &execution, &steps).map_err(batch)?;
    let text = show::execution(&execution, &steps, &progress, show::Form::of(console.json()));
    let printed = write_stdout(text.as_bytes()).map_err(Stop::from);
    let exit = match execution.status {
        BatchStatus::Completed => Exit::Done,
        BatchStatus::Stopped => Exit::Resumable,
        _ => Exit::Rejected,
    };
    // Do not offer a restart that cannot succeed.
    let can_restart = execution.cause.as_ref().is_none_or(|cause| !cause.starts_with("quayline.StartLimitReached"));
    if exit != Exit::Done && is_restartable && can_restart {
        console.paragraph(&format!("to continue: {}", remedy::restart_of(&jobs.repository, &execution, &jobs.place)?));
    }
    // The exit code is that of the job, which a scheduler would otherwise start again.
    if let Err(Stop::Findings(mut findings)) = printed {
        findings.0.iter_mut().for_each(|finding| finding.severity = Severity::Warning);
        console.findings(&findings.0);
    }
    jobs.close(exit)
}

fn told(jobs: &Jobs, console: &Console) -> Result<(), Stop> {
    for execution in &jobs.recovered {
        console.paragraph(&format!(
            "execution {} of {} is FAILED: the process that ran it ended; to continue: {}",
            execution.id,
            execution.job,
            remedy::restart_of(&jobs.repository, execution, &jobs.place)?
        ));
    }
    Ok(())
}

fn stop(args: &IdArgs, console: &Console) -> Result<Exit, Stop> {
    let id = ExecutionId(args.execution);
    if args.place.repository.is_some() {
        let jobs = Jobs::open(&args.place)?;
        jobs.repository.request_stop(id).map_err(batch)?;
        console.line(&format!("execution {id} is asked to stop at its next checkpoint"));
        if !jobs.repository.is_attended(id).map_err(batch)? {
            console.paragraph(&format!(
                "the process that runs execution {id} is not connected to the database; if the database was restarted and the process has \
                 ended, the execution is FAILED {OWNER_GRACE_SECONDS} seconds after the process's last sign of life, and can be restarted"
            ));
        }
        return jobs.close(Exit::Done);
    }
    // Only the process that runs executions has the store open.
    match Jobs::open(&args.place) {
        Ok(jobs) => {
            let status = jobs.repository.execution(id).map_err(batch)?.status;
            jobs.close(Exit::Done)?;
            Err(batch(BatchError::NotRunning { execution: id, status }))
        }
        Err(Stop::Findings(findings)) if findings.0.iter().any(|finding| finding.code == IN_USE) => {
            let folder = args.place.store.local();
            ask::is_running(folder, id, findings)?;
            let requests = StopRequests::new(folder);
            requests.request(id).map_err(|error| unreadable(folder, &error))?;
            console.line(&format!("execution {id} is asked to stop at its next checkpoint"));
            Ok(Exit::Done)
        }
        Err(stop) => Err(stop),
    }
}

fn log(args: &IdArgs) -> Result<Exit, Stop> {
    let (store, id) = (args.place.store.local(), ExecutionId(args.execution));
    let find = || -> Result<(Execution, PathBuf), Stop> {
        let jobs = Jobs::open(&args.place)?;
        let execution = jobs.repository.execution(id).map_err(batch)?;
        let path = JobLogs::of(store, &jobs.repository).map_err(batch)?.find(&execution);
        jobs.close(Exit::Done)?;
        Ok((execution, path))
    };
    // Another process may have the store open. Only a repository in a database has its logs in a folder of its own.
    let path = match args.place.repository {
        Some(_) => find()?.1,
        None => JobLogs::new(store).path(id),
    };
    match std::fs::read(&path) {
        Ok(text) => {
            write_stdout(&text)?;
            Ok(Exit::Done)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let (execution, path) = find()?;
            Err(no_log(&execution, store, &path).into())
        }
        Err(error) => Err(unreadable(&path, &error)),
    }
}

/// Rejects that are read at once.
const REJECTS: usize = 1_000;

fn rejects(args: &RejectsArgs) -> Result<Exit, Stop> {
    let jobs = Jobs::open(&args.place)?;
    let id = ExecutionId(args.execution);
    jobs.repository.execution(id).map_err(batch)?;
    let mut after: Option<Vec<u8>> = None;
    loop {
        let found = jobs.repository.rejects(id, after.as_deref(), REJECTS).map_err(batch)?;
        let Some((_, last)) = found.last() else { break };
        after = Some(last.clone());
        let mut text = String::new();
        for (reject, _) in &found {
            text.push_str(&show::reject(reject, args.json, args.show_data));
        }
        write_stdout(text.as_bytes())?;
    }
    jobs.close(Exit::Done)
}

fn purge(args: &PurgeJobsArgs, console: &Console) -> Result<Exit, Stop> {
    let jobs = Jobs::open(&args.place)?;
    let repository = &jobs.repository;
    let (removed, instances) = match (args.instance, args.older_than_days) {
        (Some(number), _) => {
            if repository.instance(InstanceId(number)).map_err(batch)?.is_none() {
                let finding = argument(format!("no job instance has the number {number}"));
                return Err(finding.hint("quayline job list shows instances").into());
            }
            (repository.purge(InstanceId(number)).map_err(batch)?, 1)
        }
        (None, days) => {
            let before = repository.now_ms().saturating_sub(days.unwrap_or(0).saturating_mul(DAY_MS));
            repository.purge_before(before, &|| false).map_err(batch)?
        }
    };
    let logs = JobLogs::of(args.place.store.local(), repository).map_err(batch)?;
    for execution in removed {
        logs.remove(execution).map_err(|error| unreadable(&logs.path(execution), &error))?;
    }
    console.line(&format!("{instances} {} removed", if instances == 1 { "instance" } else { "instances" }));
    jobs.close(Exit::Done)
}

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// The store is open in another process.
const IN_USE: quayline_core::Code = quayline_store::STO_IN_USE;

fn batch(error: BatchError) -> Stop {
    error.finding().into()
}

fn started(error: StartError) -> Stop {
    error.findings().into()
}
