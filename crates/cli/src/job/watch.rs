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
    let requests = StopRequests::new(&shared.store);
    let mut asked = Instant::now();
    let mut told = None;
    let mut left = Left { looked: None, gone: BTreeSet::new() };
    while !shared.is_over.load(Ordering::Relaxed) {
        let running: Vec<(ExecutionId, Arc<Engine>)> = shared.running.lock().clone();
        for (_, engine) in &running {
            requests.look(engine);
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
    requests.clear();
    ask::clear(&shared.store);
}

/// Executions whose process ended.
struct Left {
    looked: Option<Instant>,
    /// Executions found without a process by the last check. A process whose connection broke reconnects at once, so it counts as ended only after
    /// two checks.
    gone: BTreeSet<ExecutionId>,
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
        for left in repository.left_behind()? {
            // Jobs of other projects belong to their servers.
            if std::path::Path::new(&left.folder) == shared.project {
                resume(shared, left)?;
            }
        }
        Ok(())
    }
}

/// Reports that the process of an execution ended.
pub(super) fn report(execution: &Execution) {
    eprintln!("job execution {} of {} is FAILED: the process that ran it ended", execution.id, execution.job);
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
        match retention::retain(&shared.repository, &shared.store, days, &over) {
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
