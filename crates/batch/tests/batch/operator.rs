//! Actions of operators while jobs run and after they ended: watch, stop, abandon, remove.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use quayline_batch::artifact::{Answer, Item, Lent, Listener, Needs, Processed, Processor, Reader, Writer};
use quayline_batch::chunk_times::ChunkTimes;
use quayline_batch::record::{Execution, ExecutionId, InstanceId, Times};
use quayline_batch::{
    Backend, BatchError, BatchStatus, Drift, ExecutionFilter, PageOf, StartError, StepProgress, Thrown, Work,
};
use quayline_store::queue::QueueDefinition;

use crate::around::{Around, AroundBackend};
use crate::kit::{Process, backend, ended, given, job, medium, properties, store};

/// Calls a function after the next commit, and counts reads.
#[derive(Default)]
struct Watched {
    after_commit: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    read: AtomicUsize,
}

impl Around for Watched {
    fn commit(&self, work: Box<dyn Work>) -> Result<(), BatchError> {
        let committed = work.commit();
        let call = self.after_commit.lock().take();
        call.into_iter().for_each(|call| call());
        committed
    }

    fn has_read(&self, bytes: usize) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

fn watched(inner: Arc<dyn Backend>) -> (Arc<Watched>, Arc<dyn Backend>) {
    let around = Arc::new(Watched::default());
    (Arc::clone(&around), Arc::new(AroundBackend { inner, around }))
}

const FAILING: &str = "<step id=\"s\"><batchlet ref=\"saying\"><properties><property name=\"fail\" value=\"Bad\"/></properties></batchlet></step>";

/// Regression: a removal deleted records of steps one by one, and a concurrent restart lost its states while it ran. Now the instance and its
/// executions are deleted first, with the instance's lock held, so the restart finds none.
#[test]
fn a_restart_during_a_removal_finds_nothing_to_restart() {
    let (around, backend) = watched(backend(&medium()));
    let process: &'static Process = Box::leak(Box::new(Process::new(backend, PathBuf::new())));
    let failed = process.start(FAILING, &[]);
    let outcome: Arc<Mutex<Option<String>>> = Arc::default();
    let (restarted, id) = (Arc::clone(&outcome), failed.id);
    *around.after_commit.lock() = Some(Box::new(move || {
        let restart = process.engine.restart(id, &job(FAILING), given(&[]), Drift::Accept);
        *restarted.lock() = Some(restart.map_or_else(|error| error.to_string(), |_| "it runs".to_owned()));
    }));
    assert_eq!(process.engine.repository.purge(failed.instance).unwrap(), [failed.id]);
    assert_eq!(outcome.lock().as_deref(), Some("no job execution has the number 1"));
    // No record of the instance is left, including its job XML.
    let mut work = process.engine.repository.begin().unwrap();
    for kind in *b"inexstbkdwug" {
        let of = PageOf { prefix: &[kind], after: None, newest_first: false, count: 10 };
        let left = work.page(of).unwrap();
        assert!(left.is_empty(), "{} of {}: {left:?}", left.len(), char::from(kind));
    }
}

/// A process that ends during a removal leaves a part of the records, which the next removal by age deletes.
#[test]
fn a_removal_that_was_cut_short_is_ended_by_the_next() {
    let memory = medium();
    let process = Process::new(backend(&memory), PathBuf::new());
    let failed = process.start(FAILING, &[]);
    let dying = AroundBackend { inner: backend(&memory), around: Arc::new(Dying(AtomicUsize::new(0))) };
    let dying = quayline_batch::Repository::new(Arc::new(dying));
    assert!(dying.purge(failed.instance).is_err());
    let repository = quayline_batch::Repository::new(backend(&memory));
    assert!(repository.execution(failed.id).is_err(), "the head is removed");
    assert_eq!(repository.steps(failed.id).unwrap().len(), 1, "what it had is not");
    assert_eq!(repository.purge_before(0, &|| false).unwrap(), (Vec::new(), 0));
    assert!(repository.steps(failed.id).unwrap().is_empty());
    assert_eq!(repository.text(failed.digest).unwrap(), None, "nothing refers to the job XML");
}

/// A removal by age listed an instance, which was then restarted and ended: its executions were removed although the last one was new.
#[test]
fn a_removal_by_age_spares_an_instance_that_was_restarted() {
    let process = Process::in_memory();
    let repository = &process.engine.repository;
    let failed = process.start(FAILING, &[]);
    std::thread::sleep(Duration::from_millis(5));
    let restart = || {
        process.restart(failed.id, FAILING, &[]);
        false
    };
    let removed = repository.purge_before(failed.ended_ms.unwrap() + 1, &restart).unwrap();
    assert_eq!(removed, (Vec::new(), 0));
    assert_eq!(repository.execution(failed.id).unwrap().id, failed.id);
}

/// Commits once.
struct Dying(AtomicUsize);

impl Around for Dying {
    fn commit(&self, work: Box<dyn Work>) -> Result<(), BatchError> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => work.commit(),
            _ => Err(BatchError::Damaged { what: "a process that ended" }),
        }
    }
}

/// Job XML stays as long as one execution refers to it.
#[test]
fn job_xml_goes_with_the_last_execution_that_ran_it() {
    let process = Process::in_memory();
    let repository = &process.engine.repository;
    let (first, second) = (process.start(FAILING, &[]), process.start(FAILING, &[]));
    let other = process.start("<step id=\"s\"><batchlet ref=\"saying\"/></step>", &[]);
    assert_eq!(first.digest, second.digest);
    repository.purge(first.instance).unwrap();
    assert!(repository.text(second.digest).unwrap().is_some());
    repository.purge(second.instance).unwrap();
    assert_eq!(repository.text(second.digest).unwrap(), None);
    assert!(repository.text(other.digest).unwrap().is_some());
}

/// Only the most recent execution of an instance can be abandoned, and only while nothing of the instance runs. The TCK abandons a completed one.
#[test]
fn only_the_most_recent_execution_is_abandoned() {
    let process = Process::in_memory();
    let repository = &process.engine.repository;
    let first = process.start(FAILING, &[]);
    let second = process.restart(first.id, FAILING, &[]);
    let refused = repository.abandon(first.id).unwrap_err();
    assert!(
        matches!(&refused, BatchError::NotAbandonable { why, .. } if why.contains("not the most recent")),
        "{refused}"
    );
    assert_eq!(refused.finding().hint.as_deref(), Some("abandon the most recent one: 2"));
    let running = process.engine.restart(second.id, &job(FAILING), given(&[]), Drift::Accept).unwrap();
    for id in [second.id, running.id()] {
        let refused = repository.abandon(id).unwrap_err();
        assert!(matches!(refused, BatchError::IsRunning { .. }), "{refused}");
    }
    let last = running.run().unwrap();
    assert_eq!(repository.abandon(last.id).unwrap().status, BatchStatus::Abandoned);
    assert_eq!(repository.abandon(last.id).unwrap().status, BatchStatus::Abandoned, "twice is once");
    let refused = process.engine.restart(last.id, &job(FAILING), given(&[]), Drift::Accept).err().unwrap();
    assert!(matches!(refused, StartError::Batch(BatchError::NotRestartable { .. })), "{refused}");
    let good = process.start("<step id=\"s\"><batchlet ref=\"saying\"/></step>", &[]);
    assert_eq!(repository.abandon(good.id).unwrap().status, BatchStatus::Abandoned);
}

/// A process that ends leaves a mark until its execution is continued or abandoned.
#[test]
fn what_a_process_left_is_known_until_somebody_continues_it() {
    let memory = medium();
    let first = Process::new(backend(&memory), PathBuf::from("/project"));
    let id = first.engine.start(&job(FAILING), given(&[("day", "1")])).unwrap().id();
    // Another opening of the store: the preceding process has ended.
    let second = Process::new(backend(&memory), PathBuf::from("/project"));
    let repository = &second.engine.repository;
    let left = repository.left_behind(&|_| true, &mut BTreeSet::new()).unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].execution.id, left[0].folder.as_str(), left[0].restarts), (id, "/project", 0));
    let resumed = second.engine.resume(id, &job(FAILING), given(&[])).unwrap().id();
    assert_eq!(repository.left_behind(&|_| true, &mut BTreeSet::new()).unwrap(), []);
    let third = Process::new(backend(&memory), PathBuf::from("/project"));
    let left = third.engine.repository.left_behind(&|_| true, &mut BTreeSet::new()).unwrap();
    assert_eq!(left.iter().map(|left| (left.execution.id, left.restarts)).collect::<Vec<_>>(), [(resumed, 1)]);
    let by_operator = third.engine.restart(resumed, &job(FAILING), given(&[]), Drift::Accept).unwrap().id();
    let last = Process::new(backend(&memory), PathBuf::from("/project"));
    let repository = &last.engine.repository;
    let left = repository.left_behind(&|_| true, &mut BTreeSet::new()).unwrap();
    assert_eq!(left.iter().map(|left| (left.execution.id, left.restarts)).collect::<Vec<_>>(), [(by_operator, 0)]);
    repository.abandon(by_operator).unwrap();
    assert_eq!(repository.left_behind(&|_| true, &mut BTreeSet::new()).unwrap(), []);
}

/// Has a large position. Fails in the partition that the job names.
struct Heavy {
    next: u32,
    fails: bool,
}

const HEAVY: usize = 100_000;

impl Reader for Heavy {
    fn open(&mut self, checkpoint: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        self.next = checkpoint.map_or(0, |bytes| u32::from(bytes[0]));
        Ok(())
    }

    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        if self.fails && self.next == 2 {
            return Err(Thrown::new("Bad", "on purpose"));
        }
        self.next += 1;
        Ok((self.next <= 3).then(|| b"item".to_vec()))
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        // Random bytes, which no store can compress.
        let mut bytes: Vec<u8> =
            (0..HEAVY as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        bytes[0] = self.next.min(3) as u8;
        Ok(Some(bytes.into()))
    }
}

/// A restart read the large positions of all partitions at once, also of those that had completed: 10,000 of 100 kB were 1 GB.
/// Now it reads those of partitions that run again, each when it begins.
#[test]
fn a_restart_reads_no_positions_of_completed_partitions() {
    const PARTITIONS: usize = 300;
    let (around, backend) = watched(backend(&medium()));
    let mut process = Process::new(backend, PathBuf::new());
    process.engine.registry.reader("heavy", |with| {
        let fails = with.property("fails").is_some_and(|partition| {
            with.step.as_ref().and_then(|step| step.partition).is_some_and(|own| partition == own.to_string())
        });
        Ok(Box::new(Heavy { next: 0, fails }))
    });
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"1\"><reader ref=\"heavy\">{}</reader><writer ref=\"picky\"/></chunk>\
         <partition><plan partitions=\"{PARTITIONS}\" threads=\"2\"/></partition></step>",
        properties(&[("fails", "#{jobParameters['fails']}")])
    );
    let failed = process.start(&xml, &[("fails", "7")]);
    assert_eq!(failed.status, BatchStatus::Failed, "{failed:?}");
    around.read.store(0, Ordering::Relaxed);
    let last = process.restart(failed.id, &xml, &[("fails", "none")]);
    let read = around.read.load(Ordering::Relaxed);
    assert_eq!(ended(&last), "COMPLETED COMPLETED");
    assert_eq!(process.steps(last.id)[0].counts.read, 1, "one partition continued, at its third item");
    assert!(read < 8 * HEAVY, "{read} bytes read");
}

/// A writer that stops at a chunk until it is let go.
struct Gate(Arc<AtomicUsize>, Arc<AtomicBool>, usize);

impl Writer for Gate {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        Ok(())
    }

    fn write(&mut self, _: &[Item], _: &mut dyn Work) -> Answer<()> {
        if self.0.fetch_add(1, Ordering::SeqCst) >= self.2 {
            while !self.1.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        } else {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// Runs a job whose writers wait after this number of chunks, and returns the progress of its step at that time.
fn looked_at(xml: &str, input: impl Fn(&Path), chunks: usize) -> (StepProgress, Execution) {
    let folder = tempfile::tempdir().unwrap();
    input(folder.path());
    let mut process = Process::new(backend(&medium()), folder.path().to_owned());
    let (writes, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, gate) = (Arc::clone(&writes), Arc::clone(&go));
    process.engine.registry.writer("gate", move |_| Ok(Box::new(Gate(Arc::clone(&count), Arc::clone(&gate), chunks))));
    let file = job(xml);
    let launched = process.engine.start(&file, given(&[])).unwrap();
    let id = launched.id();
    let repository = &process.engine.repository;
    std::thread::scope(|scope| {
        let running = scope.spawn(|| launched.run().unwrap());
        let begin = Instant::now();
        let found = loop {
            let steps = repository.steps(id).unwrap();
            let progress = steps.first().map(|step| {
                assert!(step.status.is_running() && step.counts.read == 0);
                repository.step_progress(&repository.execution(id).unwrap(), step).unwrap().unwrap()
            });
            if let Some(progress) = progress.filter(|progress| progress.counts.write >= 10 * chunks as u64) {
                break progress;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "the step does not advance");
            std::thread::sleep(Duration::from_millis(5));
        };
        go.store(true, Ordering::SeqCst);
        (found, running.join().unwrap())
    })
}

/// Writes a file of numbered lines.
fn lines(count: usize) -> impl Fn(&Path) {
    move |folder| {
        let text: String = (0..count).map(|number| format!("item {number:04}\n")).collect();
        std::fs::write(folder.join("in.txt"), text).unwrap();
    }
}

/// Documents and the files of a folder had no share and no time left.
#[test]
fn readers_of_documents_and_folders_know_what_is_left() {
    let folder = |folder: &Path| {
        std::fs::create_dir(folder.join("in")).unwrap();
        (0..200).for_each(|number| std::fs::write(folder.join(format!("in/{number:03}")), "item").unwrap());
    };
    let documents = |folder: &Path| {
        std::fs::write(folder.join("in.shape"), "in\n  id text(5000)\n").unwrap();
        let text: String = (0..4_000).map(|number| format!("{{\"id\":\"{number:04000}\"}}\n")).collect();
        std::fs::write(folder.join("in.json"), text).unwrap();
    };
    let xml = |reader: &str, all: &[(&str, &str)], count: usize| {
        format!(
            "<step id=\"s\"><chunk item-count=\"{count}\"><reader ref=\"quayline.{reader}\">{}</reader><writer ref=\"gate\"/></chunk></step>",
            properties(all)
        )
    };
    let (of_folder, _) = looked_at(&xml("folderReader", &[("folder", "in")], 10), folder, 10);
    assert!(of_folder.share_left.is_some_and(|left| (0.4..=0.5).contains(&left)), "{of_folder:?}");
    // The place of documents is known to a block of the file.
    let reader = xml("documentReader", &[("file", "in.json"), ("shape", "in.shape")], 200);
    let (of_documents, _) = looked_at(&reader, documents, 10);
    assert!(of_documents.share_left.is_some_and(|left| left > 0.0 && left < 1.0), "{of_documents:?}");
    assert!(of_documents.seconds_left.is_some(), "{of_documents:?}");
}

/// A step without partitions showed no metrics before its end.
#[test]
fn a_step_that_runs_shows_its_metrics_rate_and_time_left() {
    let xml = "<step id=\"s\"><chunk item-count=\"10\"><reader ref=\"quayline.fileReader\"><properties>\
        <property name=\"file\" value=\"in.txt\"/></properties></reader><writer ref=\"gate\"/></chunk></step>";
    let (progress, execution) = looked_at(xml, lines(200), 10);
    assert_eq!(execution.status, BatchStatus::Completed);
    assert_eq!((progress.counts.write, progress.counts.commit), (100, 10));
    // The next chunk may have been read by then, but its checkpoint was not made.
    assert!(progress.share_left.is_some_and(|left| (0.4..=0.5).contains(&left)), "{progress:?}");
    assert!(progress.rate.is_some_and(|rate| rate > 1.0 && rate < 1_000.0), "{progress:?}");
    assert!(progress.seconds_left.is_some() && progress.at_ms.is_some() && progress.partitions.is_none());
}

/// The slowest of the running partitions is marked as a straggler.
#[test]
fn partitions_that_run_show_their_rates_and_the_straggler() {
    let range = |from: usize, to: usize, number: usize| {
        format!(
            "<properties partition=\"{number}\"><property name=\"from\" value=\"{from}\"/><property name=\"to\" value=\"{to}\"/></properties>"
        )
    };
    let plan: String = [range(0, 200, 0), range(200, 400, 1), range(400, 4_000, 2)].concat();
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"10\"><reader ref=\"quayline.fileReader\">{}</reader><writer ref=\"gate\"/></chunk>\
         <partition><plan partitions=\"3\" threads=\"3\">{plan}</plan></partition></step>",
        properties(&[("file", "in.txt"), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")])
    );
    let (progress, execution) = looked_at(&xml, lines(400), 12);
    assert_eq!(execution.status, BatchStatus::Completed);
    let partitions = progress.partitions.as_ref().unwrap();
    assert_eq!((partitions.completed, partitions.begun), (2, 1), "{progress:?}");
    let slowest = partitions.slowest[0];
    assert!(slowest.partition == 2 && slowest.is_straggler, "{progress:?}");
    assert!(slowest.rate().is_some() && progress.seconds_left.is_some(), "{progress:?}");
    assert!(progress.share_left.is_some_and(|left| left > 0.0 && left < 0.5), "{progress:?}");
}

/// Makes a megabyte of each item, together.
struct Swell;

impl Processor for Swell {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        let mut large = item.clone();
        large.resize(1 << 20, b' ');
        Ok(Some(large))
    }

    fn takes_chunks(&self) -> bool {
        true
    }

    fn process_all(&mut self, items: &[Item]) -> Processed {
        let results = items.iter().map(|item| self.process(item).unwrap()).collect();
        Processed { results, thrown: None }
    }
}

/// Notes the bytes of each chunk.
struct Weigh(Arc<Mutex<Vec<usize>>>);

impl Writer for Weigh {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        Ok(())
    }

    fn write(&mut self, items: &[Item], _: &mut dyn Work) -> Answer<()> {
        self.0.lock().push(items.iter().map(Vec::len).sum());
        Ok(())
    }
}

/// Regression: the limit of bytes in a chunk counted the input of a processor that changes the size of items, and not its output. The limit is also a
/// property of the step.
#[test]
fn a_chunk_ends_at_the_bytes_of_results() {
    let chunks = |of_step: &str, of_engine: usize| {
        let (mut process, weights) = (Process::in_memory(), Arc::<Mutex<Vec<usize>>>::default());
        process.engine.settings.chunk_bytes_max = of_engine;
        process.engine.registry.processor("swell", |_| Ok(Box::new(Swell)));
        let noted = Arc::clone(&weights);
        process.engine.registry.writer("weigh", move |_| Ok(Box::new(Weigh(Arc::clone(&noted)))));
        let xml = format!(
            "<step id=\"s\"><properties><property name=\"quayline.chunk-bytes-max\" value=\"{of_step}\"/></properties>\
             <chunk item-count=\"1000\"><reader ref=\"counting\">{}</reader><processor ref=\"swell\"/><writer ref=\"weigh\"/></chunk></step>",
            properties(&[("count", "100")])
        );
        let execution = process.start(&xml, &[]);
        let counts = process.steps(execution.id)[0].counts;
        (ended(&execution), counts.write, weights.lock().iter().map(|bytes| bytes >> 20).collect::<Vec<_>>())
    };
    let done = "COMPLETED COMPLETED".to_owned();
    assert_eq!(chunks("20971520", 16 << 20), (done.clone(), 100, vec![20; 5]));
    assert_eq!(chunks("", 50 << 20), (done.clone(), 100, vec![50; 2]));
    // The first 16 items show how large results are.
    assert_eq!(chunks("4194304", 16 << 20), (done, 100, [vec![16], vec![4; 21]].concat()));
    let (status, written, _) = chunks("4M", 16 << 20);
    assert_eq!((status.as_str(), written), ("FAILED FAILED", 0));
}

/// Regression: a reader that waited an hour for a message did not notice a stop.
#[test]
fn a_stop_ends_the_wait_for_a_message() {
    let memory = medium();
    let of = store(&memory);
    let mut unit = of.begin().unwrap();
    of.define_queue(&mut unit, QueueDefinition::local("IN")).unwrap();
    unit.commit().unwrap();
    let process = Process::new(backend(&memory), PathBuf::new());
    let xml = format!(
        "<step id=\"s\"><chunk><reader ref=\"quayline.queueReader\">{}</reader><writer ref=\"picky\"/></chunk></step>",
        properties(&[("queue", "IN"), ("wait-ms", "3600000")])
    );
    let file = job(&xml);
    let launched = process.engine.start(&file, given(&[])).unwrap();
    let begin = Instant::now();
    let execution = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            process.engine.stop_all();
        });
        launched.run().unwrap()
    });
    assert_eq!(ended(&execution), "STOPPED STOPPED");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    // The next start waits again, because the step is not complete.
    let short = xml.replace("3600000", "1");
    assert_eq!(ended(&process.restart(execution.id, &short, &[])), "COMPLETED COMPLETED");
}

/// Takes times of chunks and nothing else.
pub(crate) struct Timed(pub(crate) Arc<Mutex<Vec<ChunkTimes>>>, pub(crate) Needs);

impl Listener for Timed {
    fn needs(&self) -> Needs {
        self.1
    }
    fn takes_times(&self) -> bool {
        true
    }
    fn on_chunk_times(&mut self, times: &ChunkTimes) -> Answer<()> {
        self.0.lock().push(*times);
        Ok(())
    }
}

/// The times of all durable chunks add up to those of the step.
#[test]
fn the_times_of_chunks_add_up_to_those_of_the_step() {
    for needs in [Needs::Chunks, Needs::Items, Needs::Results] {
        let mut process = Process::in_memory();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let given = Arc::clone(&taken);
        process.engine.registry.listener("timed", move |_| Ok(Box::new(Timed(Arc::clone(&given), needs))));
        let xml = format!(
            "<step id=\"s\"><listeners><listener ref=\"timed\"/></listeners>\
             <chunk item-count=\"10\"><reader ref=\"counting\">{}</reader><processor ref=\"picky\"/><writer ref=\"picky\"/></chunk></step>",
            properties(&[("count", "95")])
        );
        let execution = process.start(&xml, &[]);
        let step = &process.steps(execution.id)[0];
        let (times, taken) = (step.times, std::mem::take(&mut *taken.lock()));
        assert!(times.container_ns() > 0 && times.commit_ns > 0, "{times:?}");
        let named = times.read_ns + times.process_ns + times.write_ns + times.commit_ns + times.wait_ns;
        assert_eq!(named + times.container_ns(), times.total_ns);
        assert_eq!(taken.iter().map(|chunk| chunk.chunk).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
        assert_eq!(taken.iter().map(|chunk| chunk.items).sum::<u64>(), 95);
        let sum = |part: fn(&Times) -> u64| taken.iter().map(|chunk| part(&chunk.times)).sum::<u64>();
        assert_eq!(sum(|times| times.read_ns), times.read_ns);
        assert_eq!(sum(|times| times.process_ns), times.process_ns);
        assert_eq!(sum(|times| times.write_ns), times.write_ns);
        assert_eq!(sum(|times| times.commit_ns), times.commit_ns);
        assert!(sum(|times| times.total_ns) <= times.total_ns);
        assert!(taken.iter().all(|chunk| chunk.cpu.total_ns > 0), "{taken:?}");
        let spread = step.chunks.expect("a distribution");
        assert_eq!(spread.chunks, 10);
        let longest = taken.iter().map(|chunk| chunk.times.total_ns).max();
        assert_eq!(spread.named().find(|(part, _)| *part == "total").map(|(_, of)| of.max_ns), longest);
        assert!(process.engine.chunk_spread(execution.id, "s").is_none(), "the step has ended");
    }
}

/// Partitions of a step have one distribution, and a chunk that rolls back is not in it.
#[test]
fn partitions_share_the_distribution_of_chunk_times() {
    let process = Process::in_memory();
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"10\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/></chunk>\
         <partition><plan partitions=\"3\" threads=\"2\"/></partition></step>",
        properties(&[("count", "25")])
    );
    let execution = process.start(&xml, &[]);
    assert_eq!(process.steps(execution.id)[0].chunks.map(|spread| spread.chunks), Some(9));
    let fails = xml.replace(
        "<writer ref=\"picky\"/>",
        &format!("<writer ref=\"picky\">{}</writer>", properties(&[("fail", "15")])),
    );
    let execution = process.start(&fails, &[]);
    assert_eq!(ended(&execution), "FAILED FAILED");
    assert_eq!(
        process.steps(execution.id)[0].chunks.map(|spread| spread.chunks),
        Some(7),
        "two whole partitions, and one chunk"
    );
}

/// Lists by job, status, exit status, time, parameter and submitter.
#[test]
fn executions_are_found_by_what_they_are() {
    let mut process = Process::in_memory();
    let good = "<step id=\"s\"><batchlet ref=\"saying\"><properties><property name=\"exit\" value=\"FINE 7\"/></properties></batchlet></step>";
    process.start(good, &[("day", "1")]);
    process.engine.submitter = Some("ann".to_owned());
    process.start(FAILING, &[("day", "2")]);
    let last = process.start(good, &[("day", "2")]);
    let repository = &process.engine.repository;
    let found = |filter: ExecutionFilter| -> Vec<u64> {
        let (found, is_whole) = repository.executions_of(&filter, None, (0, 10)).unwrap();
        assert!(is_whole);
        found.iter().map(|execution| execution.id.0).collect()
    };
    let any = ExecutionFilter::default;
    assert_eq!(found(any()), [3, 2, 1]);
    assert_eq!(found(ExecutionFilter { statuses: vec![BatchStatus::Failed], ..any() }), [2]);
    assert_eq!(found(ExecutionFilter { submitter: Some("ann".to_owned()), ..any() }), [3, 2]);
    let day = given(&[("day", "2")]);
    assert_eq!(found(ExecutionFilter { parameters: day, statuses: vec![BatchStatus::Completed], ..any() }), [3]);
    assert_eq!(found(ExecutionFilter { exit_status: Some("FAIL*".to_owned()), ..any() }), [2]);
    assert_eq!(found(ExecutionFilter { job: Some("other".to_owned()), ..any() }), Vec::<u64>::new());
    assert_eq!(found(ExecutionFilter { from_ms: Some(last.created_ms + 1), ..any() }), Vec::<u64>::new());
    assert_eq!(found(ExecutionFilter { until_ms: Some(last.created_ms + 1), ..any() }), [3, 2, 1]);
    let instances = repository.instances_of(&any(), None, (1, 1)).unwrap().0;
    assert_eq!(
        instances.iter().map(|last| (last.instance, last.id)).collect::<Vec<_>>(),
        [(InstanceId(2), ExecutionId(2))]
    );
}

/// Regression: only the first page of executions that processes left was looked at, so that those of other projects hid the others.
#[test]
fn all_executions_that_a_process_left_are_found() {
    let memory = medium();
    for (folder, count) in [("/other", 300), ("/project", 2)] {
        let process = Process::new(backend(&memory), PathBuf::from(folder));
        for _ in 0..count {
            process.engine.start(&job(FAILING), given(&[])).unwrap();
        }
    }
    let next = Process::new(backend(&memory), PathBuf::new());
    let left = |folder| next.engine.repository.left_behind(&|of| of == folder, &mut BTreeSet::new()).unwrap().len();
    assert_eq!((left("/other"), left("/project")), (300, 2));
}
