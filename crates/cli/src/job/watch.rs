//! Background work of a server for jobs: it answers commands, receives stop requests of other processes, takes over executions whose process ended,
//! and removes old instances.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quayline_batch::record::{Execution, ExecutionId};
use quayline_batch::{BatchError, Engine, LeftBehind, StopRequests};
use quayline_project::job::TakeOver;

use super::api::{Begin, Refused, Shared};
use super::{DAY_MS, LOOK, LOOK_IN_REPOSITORY, ask, events, retention};

/// Between two looks for executions whose process ended.
const LOOK_FOR_LEFT: Duration = Duration::from_secs(2);
/// Between two removals of old instances.
const RETAIN: Duration = Duration::from_secs(3_600);

/// Starts the threads that watch.
pub(super) fn begin(shared: &Arc<Shared>) -> std::io::Result<Vec<JoinHandle<()>>> {
    let watched = Arc::clone(shared);
    let mut threads = vec![std::thread::Builder::new().name("jobs".to_owned()).spawn(move || watch(&watched))?];
    if let Some(days) = shared.settings.retain_days {
        let kept = Arc::clone(shared);
        let retain = move || retain(&kept, days);
        threads.push(std::thread::Builder::new().name("job retention".to_owned()).spawn(retain)?);
    }
    Ok(threads)
}

/// Checks for questions of commands and for stop requests of other processes.
fn watch(shared: &Arc<Shared>) {
    let requests = StopRequests::of(&shared.store, &shared.repository);
    let mut asked = Instant::now();
    let mut told = None;
    let mut left = Left { looked: None, gone: BTreeSet::new(), others: BTreeSet::new() };
    while !shared.is_over.load(Ordering::Relaxed) {
        let running: Vec<(ExecutionId, Arc<Engine>)> = shared.running.lock().clone();
        for (_, engine) in &running {
            requests.iter().for_each(|requests| requests.look(engine));
        }
        ask::answer(&shared.store, &shared.repository);
        let is_time = asked.elapsed() >= LOOK_IN_REPOSITORY;
        if is_time {
            asked = Instant::now();
            let left = events::relay(shared.keeping.as_ref(), &shared.repository);
            left.iter().filter(|_| left != told).for_each(|left| eprintln!("{left}"));
            told = left;
        }
        if is_time && !running.is_empty() {
            let ids: Vec<ExecutionId> = running.iter().map(|(id, _)| *id).collect();
            // A database that does not answer is asked again.
            for id in shared.repository.stop_requests(&ids).unwrap_or_default() {
                if let Some((_, engine)) = running.iter().find(|(running, _)| *running == id) {
                    // The execution may have ended in the meantime.
                    let _ = engine.stop(id);
                }
            }
            running.iter().for_each(|(_, engine)| engine.take_split_requests());
        }
        if !shared.is_ending.load(Ordering::Relaxed)
            && left.looked.is_none_or(|looked| looked.elapsed() >= LOOK_FOR_LEFT)
        {
            // A database that does not answer is asked again, and `/health/ready` reports it.
            let _ = left.look(shared);
            left.looked = Some(Instant::now());
        }
        std::thread::park_timeout(LOOK);
    }
    // Move the events of executions that have just ended.
    events::relay(shared.keeping.as_ref(), &shared.repository);
    requests.iter().for_each(StopRequests::clear);
    ask::clear(&shared.store, &shared.repository);
}

/// Executions whose process ended.
struct Left {
    looked: Option<Instant>,
    /// Executions found without a process by the last check. A process whose connection broke reconnects at once, so it counts as ended only after
    /// two checks.
    gone: BTreeSet<ExecutionId>,
    /// Executions that processes of other projects left.
    others: BTreeSet<ExecutionId>,
}

impl Left {
    fn look(&mut self, shared: &Arc<Shared>) -> Result<(), BatchError> {
        let repository = &shared.repository;
        if repository.is_shared() {
            let gone: BTreeSet<ExecutionId> = repository.gone()?.into_iter().collect();
            let again: BTreeSet<ExecutionId> = gone.intersection(&self.gone).copied().collect();
            self.gone = gone;
            if !again.is_empty() {
                repository.take_over(&|id| again.contains(&id))?.iter().for_each(report);
            }
        }
        shared.take_over_lost(&|_| true)?.iter().for_each(report);
        // Jobs of other projects belong to their servers.
        let left =
            repository.left_behind(&|folder| std::path::Path::new(folder) == shared.project, &mut self.others)?;
        left.into_iter().try_for_each(|left| resume(shared, left))
    }
}

/// Reports that the process of an execution ended.
pub(super) fn report(execution: &Execution) {
    let cause = execution.cause.as_deref().unwrap_or_default();
    eprintln!("job execution {} of {} is FAILED: {cause}", execution.id, execution.job);
}

/// Restarts an execution whose process ended, or leaves it to an operator.
fn resume(shared: &Arc<Shared>, left: LeftBehind) -> Result<(), BatchError> {
    let (id, restarts) = (left.execution.id, left.restarts);
    let most = shared.settings.restarts_max;
    let is_old = shared.repository.now_ms().saturating_sub(left.at_ms) > DAY_MS;
    let why = match shared.settings.take_over {
        TakeOver::Mark => None,
        TakeOver::Restart if is_old => Some("its process ended more than a day ago".to_owned()),
        TakeOver::Restart if restarts >= most => {
            Some(format!("it was restarted {restarts} times in a row, and restarts-max is {most}"))
        }
        TakeOver::Restart => match restarted(shared, left.execution) {
            Ok(next) => {
                eprintln!("job execution {} of {} continues execution {id}", next.id, next.job);
                return Ok(());
            }
            Err(Refused::Batch(error @ (BatchError::Lost(_) | BatchError::Database(_)))) => return Err(error),
            Err(refused) => match refused.parts() {
                // Too many jobs run, or the server is ending: another node may take it, or this one later.
                (503, _) => return Ok(()),
                (_, findings) => Some(findings.to_string()),
            },
        },
    };
    // If another node was faster, nothing is left to say.
    if shared.repository.forget_left_behind(id)?
        && let Some(why) = why
    {
        eprintln!("job execution {id} waits for an operator: {why}");
    }
    Ok(())
}

fn restarted(shared: &Arc<Shared>, before: Execution) -> Result<Execution, Refused> {
    let file = shared.file_of(&before)?;
    let (parameters, submitter) = (before.parameters.clone(), before.submitter.clone());
    shared.launch(file, parameters, Begin::Resume(before), submitter.as_deref())
}

/// Removes instances that ended more than this number of days ago.
fn retain(shared: &Shared, days: u64) {
    let over = || shared.is_ending.load(Ordering::Relaxed);
    while !over() {
        match shared.logs().and_then(|logs| retention::retain(&shared.repository, &logs, days, &over)) {
            Ok(0) => {}
            Ok(count) => eprintln!("{count} job instances removed: they ended more than {days} days ago"),
            Err(error) => eprintln!("{}", error.finding()),
        }
        let next = Instant::now() + RETAIN;
        while !over() && Instant::now() < next {
            std::thread::park_timeout(Duration::from_secs(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use quayline_batch::record::Lease;
    use quayline_batch::{Backend, BatchStatus, Repository, StoreBackend, Work};
    use quayline_postgres::SqlError;
    use quayline_project::job::JobSettings;
    use quayline_server::{AdminPart as _, AdminRequest};
    use quayline_store::{Access, MemoryEngine, Store, StoreLimits, SystemClock};
    use quayline_workload::{Workload, WorkloadConfig};
    use serde_json::{Value, json};

    use super::*;
    use crate::job::{JobsPart, Place};

    /// A repository whose database is away at times.
    struct Away {
        inner: StoreBackend,
        is_away: Arc<AtomicBool>,
    }

    impl Backend for Away {
        fn begin(&self) -> Result<Box<dyn Work>, BatchError> {
            if self.is_away.load(Ordering::SeqCst) {
                return Err(BatchError::Lost(SqlError::Lost { database: "it".to_owned(), why: "away".to_owned() }));
            }
            self.inner.begin()
        }

        fn owner(&self) -> Result<u64, BatchError> {
            self.inner.owner()
        }

        fn is_gone(&self, lease: &Lease) -> Result<bool, BatchError> {
            self.inner.is_gone(lease)
        }

        fn now_ms(&self) -> u64 {
            self.inner.now_ms()
        }
    }

    fn asked(part: &JobsPart, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string().into_bytes();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let body = if method == "GET" { &[][..] } else { &body };
        let request = AdminRequest {
            method,
            path,
            query,
            body,
            operator: None,
            owns_only: false,
            if_match: None,
            if_none_match: None,
        };
        let answer = part.request(&request).expect("a path of jobs");
        (answer.status, serde_json::from_slice(&answer.body).expect("JSON"))
    }

    fn until(what: &str, is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Regression: an execution that ended while the database was away stayed STARTED until the server ended, and no operation waited for the database
    /// any more. Large rejects made a page short, which counted as the last one.
    #[test]
    fn a_database_that_returns_finds_the_server_as_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
        std::fs::create_dir(folder.path().join("jobs")).expect("a folder");
        let job = |name: &str, step: &str| {
            let head = format!("<job id=\"{name}\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">");
            write(&format!("jobs/{name}.xml"), &format!("{head}<step id=\"s\">{step}</step></job>"));
        };
        let property = |name: &str, value: &str| format!("<property name=\"{name}\" value=\"{value}\"/>");
        let command = property("command", "until test -e go; do sleep 0.05; done");
        job(
            "wait",
            &format!("<batchlet ref=\"quayline.commandBatchlet\"><properties>{command}</properties></batchlet>"),
        );
        job(
            "reject",
            &format!(
                "<properties>{}</properties><chunk item-count=\"5\"><reader ref=\"quayline.fileReader\"><properties>{}</properties></reader>\
                 <writer ref=\"quayline.fileWriter\"><properties>{}{}</properties></writer>\
                 <skippable-exception-classes><include class=\"quayline.Rejected\"/></skippable-exception-classes></chunk>",
                property("quayline.rejects", "keep"),
                property("file", "in"),
                property("file", "out"),
                property("framing", "fixed:4"),
            ),
        );
        let engine = Arc::new(MemoryEngine::new());
        let store = Store::open(engine, Arc::new(SystemClock), StoreLimits::default(), Access::Write).expect("a store");
        let is_away = Arc::new(AtomicBool::new(false));
        let inner = StoreBackend::new(store, Arc::new(SystemClock)).expect("a repository");
        let backend = Away { inner, is_away: Arc::clone(&is_away) };
        let patience = Duration::from_millis(300);
        let repository = Arc::new(Repository::new(Arc::new(backend)).with_patience(patience));
        let place = Place {
            project: folder.path().to_owned(),
            store: folder.path().to_owned(),
            keeping: None,
            settings: JobSettings::default(),
            workload: Workload::new(WorkloadConfig::default(), 2),
        };
        let part = JobsPart::new(place, Arc::clone(&repository)).expect("threads");
        let start = |name: &str| {
            let (status, value) = asked(&part, "POST", "/batch/jobinstances", &json!({ "jobXMLName": name }));
            assert_eq!(status, 201, "{value}");
            ExecutionId(value["jobExecutionId"].as_u64().expect("a number"))
        };
        let is_over = |id| repository.execution(id).is_ok_and(|execution| !execution.status.is_running());
        let lost = start("wait");
        until("the step runs", || repository.steps(lost).is_ok_and(|steps| !steps.is_empty()));
        is_away.store(true, Ordering::SeqCst);
        write("go", "");
        until("the thread ends", || part.metrics().contains("quayline_jobs_running 0"));
        is_away.store(false, Ordering::SeqCst);
        until("the server notices it", || is_over(lost));
        let ended = repository.execution(lost).expect("it is there");
        assert_eq!(
            (ended.status, ended.cause.as_deref()),
            (BatchStatus::Failed, Some("its end could not be recorded"))
        );
        let again = asked(&part, "PUT", &format!("/batch/jobexecutions/{lost}?action=restart"), &json!({}));
        assert_eq!(again.0, 200, "{}", again.1);
        let again = ExecutionId(again.1["jobExecutionId"].as_u64().expect("a number"));
        until("the restart ends", || is_over(again));
        assert_eq!(repository.execution(again).expect("it is there").status, BatchStatus::Completed);
        assert_eq!(repository.patience(), patience);
        write("in", &format!("{}\n", "x".repeat(400_000)).repeat(45));
        let rejects = start("reject");
        until("the rejects are there", || is_over(rejects));
        let (mut found, mut next) = (0, String::new());
        loop {
            let path = format!("/batch/jobexecutions/{rejects}/rejects?pageSize=1000{next}");
            let page = asked(&part, "GET", &path, &Value::Null).1;
            found += page["rejects"].as_array().expect("a page").len();
            let Some(place) = page["next"].as_str() else { break };
            next = format!("&after={place}");
        }
        assert_eq!(found, 45);
        part.end();
    }
}
