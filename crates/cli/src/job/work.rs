//! `quayline job work` and `split`: partitions of jobs that other processes run.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quayline_batch::context::StopSignal;
use quayline_batch::record::ExecutionId;
use quayline_batch::{Assist, BatchError, Engine, StartError, StopRequests};

use super::{IN_USE, Jobs, LOOK, ask, batch, started};
use crate::args::{SplitArgs, WorkArgs};
use crate::console::Console;
use crate::exit::{Exit, Stop, argument};
use crate::interrupt;
use crate::render::count_of;
use crate::store::unreadable;

/// Runs `quayline job work`.
pub(super) fn work(args: &WorkArgs, console: &Console) -> Result<Exit, Stop> {
    if args.place.repository.is_none() {
        let finding = argument("partitions of other processes need a job repository that processes share".to_owned());
        return Err(finding.hint("name the database of the jobs with --repository").into());
    }
    let jobs = Jobs::open(&args.place)?;
    let folder = match &args.project {
        Some(folder) => Some(folder.canonicalize().map_err(|error| unreadable(folder, &error))?),
        None => None,
    };
    let engine = jobs.engine(args.place.store.local(), folder.unwrap_or_default(), console)?;
    let threads = args.threads.map_or_else(cores, usize::from);
    let stop = StopSignal::default();
    let refused = |id: ExecutionId, step: &str, error: &StartError| {
        for finding in error.findings().0 {
            eprintln!("{finding}");
        }
        eprintln!("partitions of step {step} of execution {id} do not run here; those of other steps do");
    };
    let assist = Assist {
        execution: args.execution.map(ExecutionId),
        threads,
        idle: args.idle.map(Duration::from_secs),
        stop: &stop,
        refused: &refused,
    };
    let assisted = watched(&engine, &assist)?.map_err(started);
    drop(engine);
    match assisted {
        Ok(assisted) => {
            console.line(&format!("{} run", count_of(assisted.partitions, "partition")));
            jobs.close(if assisted.refused > 0 { Exit::Rejected } else { Exit::Done })
        }
        Err(stop) => {
            jobs.close(Exit::Done)?;
            Err(stop)
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

type Assisted = Result<quayline_batch::Assisted, StartError>;

/// Runs partitions while another thread checks for signals.
fn watched(engine: &Engine, assist: &Assist<'_>) -> Result<Assisted, Stop> {
    let signalled = interrupt::stop_flag()?;
    let over = AtomicBool::new(false);
    Ok(std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if signalled.load(Ordering::Relaxed) {
                    assist.stop.set();
                    // A database that does not answer is not waited for any longer.
                    engine.repository.give_up();
                }
                std::thread::park_timeout(LOOK);
            }
        });
        let assisted = engine.assist(assist);
        over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        assisted
    }))
}

/// Runs `quayline job split`.
pub(super) fn split(args: &SplitArgs, console: &Console) -> Result<Exit, Stop> {
    let (id, partition) = (ExecutionId(args.execution), args.partition);
    let said = format!("partition {partition} of execution {id} is asked to split at its next checkpoint");
    if args.place.repository.is_some() {
        let jobs = Jobs::open(&args.place)?;
        jobs.repository.request_split(id, &args.step, partition).map_err(batch)?;
        console.line(&said);
        return jobs.close(Exit::Done);
    }
    let folder: PathBuf = args.place.store.local().to_owned();
    match Jobs::open(&args.place) {
        Ok(jobs) => {
            let status = jobs.repository.execution(id).map_err(batch)?.status;
            jobs.close(Exit::Done)?;
            Err(batch(BatchError::NotRunning { execution: id, status }))
        }
        Err(Stop::Findings(findings)) if findings.0.iter().any(|finding| finding.code == IN_USE) => {
            ask::is_running(&folder, id, findings)?;
            if ask::lacks_partition(&folder, id, &args.step, partition) {
                return Err(batch(BatchError::NoPartition { execution: id, partition }));
            }
            let requests = StopRequests::new(&folder);
            requests.request_split(id, &args.step, partition).map_err(|error| unreadable(&folder, &error))?;
            console.line(&said);
            Ok(Exit::Done)
        }
        Err(stop) => Err(stop),
    }
}
