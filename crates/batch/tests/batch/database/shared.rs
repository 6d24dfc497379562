//! Partitions of one step that several processes run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use quayline_batch::artifact::{Answer, Batchlet, Injected, Lent, PartitionAnalyzer, PartitionCollector, Reader};
use quayline_batch::context::StopSignal;
use quayline_batch::event::{Event, Observer, PARTITION_FAILED};
use quayline_batch::record::ExecutionId;
use quayline_batch::{Assist, Assisted, BatchStatus, StartError, Work};
use quayline_postgres::server::OwnServer;

use super::{artifact, completed, into, lines, process, sql, value};
use crate::kit::Process;

const ROWS: u32 = 24_000;
const PARTITIONS: u32 = 12;

/// Returns a partitioned step whose partitions any process may run, with a collector.
fn xml(more: &str) -> String {
    let range = [("file", "rows.json"), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")];
    let mapper = artifact("mapper", "fileMapper", &[("file", "rows.json"), ("partitions", "12"), ("threads", "2")]);
    format!(
        "<step id=\"s\"><properties><property name=\"quayline.partitions\" value=\"shared\"/>{more}</properties>\
         <chunk item-count=\"5\">{}{}</chunk>\
         <partition>{mapper}<collector ref=\"counted\"/><analyzer ref=\"counted\"/></partition></step>",
        artifact("reader", "fileReader", &range),
        into("u", &[])
    )
}

/// Collects the number of its partition; the analyzer saves what it receives.
struct Counted(Injected, crate::kit::Log);

impl PartitionCollector for Counted {
    fn collect(&mut self) -> Answer<Option<Vec<u8>>> {
        let partition = self.0.step.as_ref().and_then(|step| step.partition).unwrap_or_default();
        Ok(Some(partition.to_string().into_bytes()))
    }
}

impl PartitionAnalyzer for Counted {
    fn data(&mut self, data: Option<&[u8]>) -> Answer<()> {
        let data = String::from_utf8(data.unwrap_or_default().to_vec()).unwrap();
        self.1.lock().push(data);
        Ok(())
    }

    fn status(&mut self, status: BatchStatus, _: &str) -> Answer<()> {
        self.1.lock().push(status.to_string());
        Ok(())
    }
}

fn node(server: &OwnServer, folder: &Path) -> Process {
    let mut process = process(server, folder);
    process.engine.registry.collector("counted", |with| Ok(Box::new(Counted(with.clone(), Arc::default()))));
    let said = Arc::clone(&process.said);
    process.engine.registry.analyzer("counted", move |with| Ok(Box::new(Counted(with.clone(), Arc::clone(&said)))));
    process
}

fn works(process: &Process, stop: &StopSignal) -> Assisted {
    let assist = Assist { execution: None, threads: 2, idle: None, stop, refused: &|_, _, _| () };
    process.engine.assist(&assist).unwrap()
}

fn prepare(server: &OwnServer, folder: &Path) {
    lines(folder, "rows.json", 1..=ROWS);
    sql(server, "TRUNCATE u");
}

fn exact(server: &OwnServer) {
    let expected = format!("{ROWS} {}", u64::from(ROWS) * u64::from(ROWS + 1) / 2);
    assert_eq!(value(server, "SELECT count(*) || ' ' || sum(id) FROM u"), expected);
}

/// Two further processes run partitions of the step; the analyzer receives the data of all, and each row is written once.
pub(super) fn partitions_run_wherever_somebody_works(server: &OwnServer, folder: &Path) {
    // On a busy machine, all partitions may be done before the other processes check for work.
    let helped = (0..5).any(|_| once(server, folder) > 0);
    assert!(helped, "others ran partitions");
}

/// Partitions that others ran.
fn once(server: &OwnServer, folder: &Path) -> u64 {
    prepare(server, folder);
    let (own, first, second) = (node(server, folder), node(server, folder), node(server, folder));
    let stop = StopSignal::default();
    let (execution, helped) = std::thread::scope(|scope| {
        let helpers = [&first, &second].map(|helper| scope.spawn(|| works(helper, &stop)));
        let execution = own.start(&xml(""), &[]);
        stop.set();
        (execution, helpers.map(|helper| helper.join().unwrap().partitions))
    });
    completed(&own, &execution);
    exact(server);
    let steps = own.steps(execution.id);
    assert_eq!((steps[0].counts.read, steps[0].partitions), (u64::from(ROWS), PARTITIONS));
    let said = own.said();
    assert_eq!(said.iter().filter(|said| *said == "COMPLETED").count(), PARTITIONS as usize, "{said:?}");
    // Each partition has some 400 chunks and its end.
    for partition in 0..PARTITIONS {
        let collected = said.iter().filter(|said| **said == partition.to_string()).count();
        assert!(collected > 300, "partition {partition} gave data {collected} times");
    }
    assert_eq!(
        value(server, "SELECT count(*) FROM quayline_jobs.record WHERE get_byte(key, 0) IN (111, 121, 122)"),
        "0"
    );
    helped.iter().sum()
}

/// A process that runs partitions ends abruptly, or appears to have ended: others take its partitions over at their last checkpoints. The same holds
/// for the process of the step.
pub(super) fn whoever_ends_leaves_its_partitions(server: &OwnServer, folder: &Path) {
    for order in ["DESC", "ASC"] {
        prepare(server, folder);
        let own = node(server, folder);
        let helper = node(server, folder);
        let stop = StopSignal::default();
        let execution = std::thread::scope(|scope| {
            let own = &own;
            let job = scope.spawn(move || own.start(&xml(""), &[]));
            let helping = scope.spawn(|| works(&helper, &stop));
            while !job.is_finished() && value(server, "SELECT count(*) FROM quayline_jobs.owner") != "2" {
                std::thread::sleep(Duration::from_millis(1));
            }
            // The session of the process ends as if the process was killed, and its lock ends with it. The process of the step has the first number.
            let end = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid IN \
                 (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' ORDER BY objid {order} LIMIT 1)"
            );
            sql(server, &end);
            let execution = job.join().unwrap();
            stop.set();
            let _ = helping.join();
            execution
        });
        completed(&own, &execution);
        exact(server);
        assert_eq!(own.steps(execution.id)[0].counts.read, u64::from(ROWS), "each row counts once");
    }
}

/// Waits in its third chunk until it is released.
struct Waiting {
    calls: u32,
    waits: Arc<AtomicBool>,
    go: Arc<AtomicBool>,
}

impl PartitionCollector for Waiting {
    fn collect(&mut self) -> Answer<Option<Vec<u8>>> {
        self.calls += 1;
        if self.calls == 3 {
            self.waits.store(true, Ordering::SeqCst);
            while !self.go.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(None)
    }
}

/// While the step stops, a process that runs a partition ends. The partition is not taken over any more, but its committed work counts.
pub(super) fn what_a_process_leaves_to_a_step_that_stops_counts(server: &OwnServer, folder: &Path) {
    let (waits, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // On a busy machine, all partitions may be done before the other process checks for work.
    for _ in 0..5 {
        prepare(server, folder);
        let (own, mut helper) = (node(server, folder), node(server, folder));
        let (waiting, going) = (Arc::clone(&waits), Arc::clone(&go));
        helper.engine.registry.collector("counted", move |_| {
            Ok(Box::new(Waiting { calls: 0, waits: Arc::clone(&waiting), go: Arc::clone(&going) }))
        });
        let stop = StopSignal::default();
        let assist = Assist { execution: None, threads: 1, idle: None, stop: &stop, refused: &|_, _, _| () };
        let stopped = std::thread::scope(|scope| {
            let job = scope.spawn(|| own.start(&xml(""), &[]));
            let helping = scope.spawn(|| helper.engine.assist(&assist));
            while !job.is_finished() && !waits.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            if waits.load(Ordering::SeqCst) {
                own.engine.stop_all();
                // The process of the step waits until the other one has ended.
                std::thread::sleep(Duration::from_millis(300));
                assert!(!job.is_finished(), "a partition runs");
                sql(
                    server,
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid IN \
                     (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' ORDER BY objid DESC LIMIT 1)",
                );
            }
            let stopped = job.join().unwrap();
            go.store(true, Ordering::SeqCst);
            stop.set();
            let _ = helping.join();
            stopped
        });
        if !waits.load(Ordering::SeqCst) {
            completed(&own, &stopped);
            continue;
        }
        assert_eq!(stopped.status, BatchStatus::Stopped);
        let counted = own.steps(stopped.id)[0].counts;
        assert_eq!(value(server, "SELECT count(*) FROM u"), counted.write.to_string(), "{counted:?}");
        let execution = own.restart(stopped.id, &xml(""), &[]);
        completed(&own, &execution);
        exact(server);
        assert_eq!(counted.read + own.steps(execution.id)[0].counts.read, u64::from(ROWS), "each row counts once");
        return;
    }
    panic!("the other process ran no partition");
}

/// Runs until it is let go.
struct Endless(Arc<AtomicBool>);

impl Batchlet for Endless {
    fn process(&mut self) -> Answer<Option<String>> {
        while !self.0.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(None)
    }
}

/// Regression: one job that does not resolve in a process ended its work for all jobs. Now it is refused once, and partitions of the others run.
pub(super) fn a_job_that_does_not_resolve_stops_no_other(server: &OwnServer, folder: &Path) {
    let (mut bad, mut helper, go) = (node(server, folder), node(server, folder), Arc::new(AtomicBool::new(false)));
    let waits = Arc::clone(&go);
    bad.engine.registry.batchlet("endless", move |_| Ok(Box::new(Endless(Arc::clone(&waits)))));
    bad.engine.system = Box::new(|_| Some("5".to_owned()));
    helper.engine.system = Box::new(|_| Some("many".to_owned()));
    let never =
        "<chunk item-count=\"#{systemProperties['items']}\"><reader ref=\"counting\"/><writer ref=\"picky\"/></chunk>";
    let refusing = format!(
        "<step id=\"w\" next=\"n\"><properties><property name=\"quayline.partitions\" value=\"shared\"/></properties><batchlet ref=\"endless\"/>\
         <partition><plan partitions=\"2\" threads=\"1\"/></partition></step><step id=\"n\">{never}</step>"
    );
    let (stop, refused) = (StopSignal::default(), parking_lot::Mutex::new(Vec::new()));
    let hear = |execution: ExecutionId, step: &str, error: &StartError| {
        refused.lock().push(format!("{execution} {step} {error}"));
    };
    let assist = Assist { execution: None, threads: 2, idle: None, stop: &stop, refused: &hear };
    let ran = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| bad.start(&refusing, &[]));
        let helping = scope.spawn(|| helper.engine.assist(&assist));
        let begin = std::time::Instant::now();
        while refused.lock().is_empty() && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        // On a busy machine, all partitions may be done before the other process checks for work.
        for _ in 0..5 {
            prepare(server, folder);
            let own = node(server, folder);
            let execution = own.start(&xml(""), &[]);
            completed(&own, &execution);
        }
        stop.set();
        let assisted = helping.join().unwrap();
        go.store(true, Ordering::SeqCst);
        waiting.join().unwrap();
        assisted
    });
    let (assisted, refused) = (ran.unwrap(), refused.lock());
    assert_eq!((assisted.refused, refused.len()), (1, 1), "{refused:?}");
    assert!(refused[0].contains(" w ") && refused[0].contains("item-count"), "{refused:?}");
    assert!(assisted.partitions > 0, "it ran partitions of the other job");
    sql(server, "TRUNCATE u");
}

/// Counts partitions that failed.
#[derive(Default)]
struct Failures(AtomicUsize);

impl Observer for Failures {
    fn event(&self, _: &Event) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn wants(&self, topic: &str) -> bool {
        topic == PARTITION_FAILED
    }
}

/// Reads nothing, but only after `go`.
struct Late(Arc<AtomicBool>);

impl Reader for Late {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        while !self.0.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Vec<u8>>> {
        Ok(None)
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(None)
    }
}

/// Regression: a partition with a file that cannot be read to its end ended the process that helped, as if its database were lost.
pub(super) fn a_partition_that_fails_does_not_end_a_helper(server: &OwnServer, folder: &Path) {
    std::fs::write(folder.join("bad.dat"), [0xff; 100]).unwrap();
    let (mut own, mut helper, go) = (node(server, folder), node(server, folder), Arc::new(AtomicBool::new(false)));
    let waits = Arc::clone(&go);
    own.engine.registry.reader("quayline.fileReader", move |_| Ok(Box::new(Late(Arc::clone(&waits)))));
    let failures = Arc::new(Failures::default());
    helper.engine.observers.push(Arc::clone(&failures) as Arc<dyn Observer>);
    let reader = artifact("reader", "fileReader", &[("file", "bad.dat"), ("framing", "rdw")]);
    let xml = format!(
        "<step id=\"s\"><properties><property name=\"quayline.partitions\" value=\"shared\"/></properties>\
         <chunk>{reader}<writer ref=\"picky\"/></chunk><partition><plan partitions=\"6\" threads=\"1\"/></partition></step>"
    );
    let stop = StopSignal::default();
    let assist = Assist { execution: None, threads: 1, idle: None, stop: &stop, refused: &|_, _, _| () };
    let (execution, assisted) = std::thread::scope(|scope| {
        let running = scope.spawn(|| own.start(&xml, &[]));
        let helping = scope.spawn(|| helper.engine.assist(&assist));
        while failures.0.load(Ordering::SeqCst) < 5 && !helping.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        go.store(true, Ordering::SeqCst);
        let execution = running.join().unwrap();
        stop.set();
        (execution, helping.join().unwrap())
    });
    assert_eq!(execution.status, BatchStatus::Failed);
    assert_eq!(assisted.unwrap().partitions, 5);
}

/// Stopping the job stops the partitions in other processes; a restart completes them.
pub(super) fn a_stop_reaches_all_processes(server: &OwnServer, folder: &Path) {
    prepare(server, folder);
    let (own, helper) = (node(server, folder), node(server, folder));
    let stop = StopSignal::default();
    let execution = std::thread::scope(|scope| {
        let helping = scope.spawn(|| works(&helper, &stop));
        let job = scope.spawn(|| own.start(&xml(""), &[]));
        while !job.is_finished() && value(server, "SELECT count(*) < 500 FROM u") == "true" {
            std::thread::sleep(Duration::from_millis(1));
        }
        own.engine.stop_all();
        let stopped = job.join().unwrap();
        let execution = match stopped.status {
            BatchStatus::Stopped => {
                // No process works on it any more.
                let before = value(server, "SELECT count(*) FROM u");
                std::thread::sleep(Duration::from_millis(300));
                assert_eq!(value(server, "SELECT count(*) FROM u"), before);
                own.restart(stopped.id, &xml(""), &[])
            }
            _ => stopped,
        };
        stop.set();
        let _ = helping.join();
        execution
    });
    completed(&own, &execution);
    exact(server);
    sql(server, "TRUNCATE u");
}
