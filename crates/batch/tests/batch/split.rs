//! Partitions that give a part of their range away.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use quayline_batch::artifact::{Answer, Item, Processor};
use quayline_batch::context::StopSignal;
use quayline_batch::event::{Event, Observer, PARTITION_COMPLETED, PARTITION_STOPPED};
use quayline_batch::record::Execution;
use quayline_batch::{BatchError, BatchStatus, PageOf, Repository, Work};
use quayline_postgres::SqlError;

use crate::around::{Around, AroundBackend};
use crate::kit::{Process, backend, given, job, medium};

const LINES: u32 = 12_000;

/// Returns a job with one long partition and a short one; `more` are properties of the step.
fn xml(writer: &str, more: &str) -> String {
    let file = |list: &[(&str, &str)]| -> String {
        list.iter().map(|(name, value)| format!("<property name=\"{name}\" value=\"{value}\"/>")).collect()
    };
    let range = file(&[("file", "in.txt"), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")]);
    let plan = |number: u32, from: u32, to: u32| {
        let list = file(&[("number", &number.to_string()), ("from", &from.to_string()), ("to", &to.to_string())]);
        format!("<properties partition=\"{number}\">{list}</properties>")
    };
    format!(
        "<step id=\"s\"><properties>{more}</properties><chunk item-count=\"4\">\
         <reader ref=\"quayline.fileReader\"><properties>{range}</properties></reader>\
         <processor ref=\"picky\"><properties>{}</properties></processor>{writer}</chunk>\
         <partition><plan partitions=\"2\" threads=\"4\">{}{}</plan></partition></step>",
        file(&[("fail", "#{jobParameters['fail']}")]),
        plan(0, 0, 66),
        plan(1, 66, LINES * 11),
    )
}

const SPLIT: &str = "<property name=\"quayline.stragglers\" value=\"split\"/>";
const APART: &str = "<writer ref=\"quayline.fileWriter\"><properties><property name=\"file\" value=\"out-#{partitionPlan['number']}.txt\"/></properties></writer>";
const TOGETHER: &str = "<writer ref=\"quayline.fileWriter\"><properties><property name=\"file\" value=\"out-#{partitionPlan['from']}.txt\"/></properties></writer>";

fn input(folder: &Path) -> String {
    let text: String = (0..LINES).map(|number| format!("item {number:05}\n")).collect();
    std::fs::write(folder.join("in.txt"), &text).unwrap();
    text
}

/// Returns the lines of all outputs, sorted.
fn written(folder: &Path) -> String {
    let mut lines: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("out-") {
            assert!(!name.ends_with(".partial"), "{name} is left");
            lines.extend(std::fs::read_to_string(&path).unwrap().lines().map(|line| format!("{line}\n")));
        }
    }
    lines.sort();
    lines.concat()
}

fn partitions(process: &Process, execution: &Execution) -> u32 {
    process.steps(execution.id)[0].partitions
}

/// A thread without a partition takes a part of the longest: nothing is lost or written twice.
#[test]
fn a_straggler_is_split_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let text = input(folder.path());
    let process = Process::new(backend(&medium()), folder.path().to_owned());
    let execution = process.start(&xml(APART, SPLIT), &[("fail", "")]);
    assert_eq!(execution.status, BatchStatus::Completed, "{:?}", execution.cause);
    assert!(partitions(&process, &execution) > 2, "the long partition was split");
    assert_eq!(written(folder.path()), text);
    assert_eq!(process.steps(execution.id)[0].counts.read, u64::from(LINES));
}

/// Without the property, or with shared outputs, partitions stay as planned.
#[test]
fn partitions_are_split_only_where_they_can() {
    for (writer, more) in [(APART, ""), (TOGETHER, SPLIT)] {
        let folder = tempfile::tempdir().unwrap();
        let text = input(folder.path());
        let process = Process::new(backend(&medium()), folder.path().to_owned());
        let execution = process.start(&xml(writer, more), &[("fail", "")]);
        assert_eq!(execution.status, BatchStatus::Completed, "{:?}", execution.cause);
        assert_eq!(partitions(&process, &execution), 2);
        assert_eq!(written(folder.path()), text);
    }
    let process = Process::in_memory();
    let wrong = "<property name=\"quayline.stragglers\" value=\"sometimes\"/>";
    let execution = process.start(&xml(APART, wrong), &[("fail", "")]);
    assert!(execution.cause.unwrap_or_default().contains("quayline.stragglers"));
}

/// A restart in another process continues a part that was given away, and the earlier parts.
#[test]
fn a_restart_continues_all_parts() {
    let folder = tempfile::tempdir().unwrap();
    let text = input(folder.path());
    let medium = medium();
    // Each run fails at another line, so that parts of all ages are left.
    let mut last: Option<Execution> = None;
    let mut read = 0;
    let mut split = 0;
    for fail in ["02700", "11990", "07500", "05100", ""] {
        let process = Process::new(backend(&medium), folder.path().to_owned());
        let given = [("fail", fail)];
        let execution = match &last {
            None => process.start(&xml(APART, SPLIT), &given),
            Some(last) => process.restart(last.id, &xml(APART, SPLIT), &given),
        };
        let steps = process.steps(execution.id);
        read += steps.iter().map(|step| step.counts.read).sum::<u64>();
        split = split.max(partitions(&process, &execution));
        if execution.status == BatchStatus::Completed {
            last = Some(execution);
            break;
        }
        assert_eq!(execution.status, BatchStatus::Failed);
        last = Some(execution);
    }
    assert_eq!(last.map(|last| last.status), Some(BatchStatus::Completed));
    assert!(split > 2);
    assert_eq!(written(folder.path()), text);
    assert_eq!(read, u64::from(LINES), "each line counts once");
}

/// A split on request of an operator.
#[test]
fn an_operator_splits_a_partition() {
    let folder = tempfile::tempdir().unwrap();
    let text = input(folder.path());
    let process = Arc::new(Process::new(backend(&medium()), folder.path().to_owned()));
    let asked = std::thread::scope(|scope| {
        let job = scope.spawn(|| process.start(&xml(APART, ""), &[("fail", "")]));
        let mut asked = false;
        while !job.is_finished() {
            for id in process.engine.running() {
                asked |= process.engine.split(id, "s", 1);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let execution = job.join().unwrap();
        assert_eq!(execution.status, BatchStatus::Completed);
        asked.then_some(execution)
    });
    assert_eq!(written(folder.path()), text);
    let execution = asked.expect("the partition ran when somebody asked");
    assert!(partitions(&process, &execution) > 2);
}

/// An artifact that panics ends the run, as it does without partitions: the other threads do not wait for its partition.
#[test]
fn a_partition_that_panics_holds_up_nobody() {
    struct Panics;
    impl quayline_batch::artifact::Processor for Panics {
        fn process(&mut self, item: &Vec<u8>) -> quayline_batch::artifact::Answer<Option<Vec<u8>>> {
            assert!(item.as_slice() != b"item 00003", "this artifact is wrong");
            Ok(Some(item.clone()))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    input(folder.path());
    let mut process = Process::new(backend(&medium()), folder.path().to_owned());
    process.engine.registry.processor("picky", |_| Ok(Box::new(Panics)));
    let run = std::panic::AssertUnwindSafe(|| process.start(&xml(APART, SPLIT), &[("fail", "")]));
    assert!(std::panic::catch_unwind(run).is_err());
}

/// An outage at some moment of a step that splits a partition.
#[derive(Default)]
struct Outage {
    /// True if the answer to the commit of the split is lost.
    loses_split: bool,
    /// True if a stop is requested when the planned partitions have completed.
    stops: bool,
    /// Units of work that cannot begin after the last partition.
    loses_begins: u32,
    left: AtomicU32,
    splits: AtomicU32,
    ended: AtomicU32,
    stop: Mutex<Option<StopSignal>>,
}

impl Outage {
    fn lost() -> BatchError {
        BatchError::Lost(SqlError::Lost { database: "the repository".to_owned(), why: "connection reset".to_owned() })
    }
}

impl Around for Outage {
    fn begins(&self) -> Result<(), BatchError> {
        let is_lost = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if is_lost { Err(Outage::lost()) } else { Ok(()) }
    }

    fn commit(&self, mut work: Box<dyn Work>) -> Result<(), BatchError> {
        let of = PageOf { prefix: b"k", after: None, newest_first: false, count: 10 };
        let splits = u32::try_from(work.page(of)?.len()).unwrap();
        work.commit()?;
        let is_split = self.splits.fetch_max(splits, Ordering::SeqCst) < splits;
        if is_split && self.loses_split { Err(Outage::lost()) } else { Ok(()) }
    }
}

impl Observer for Outage {
    fn event(&self, _: &Event) {
        let ended = self.ended.fetch_add(1, Ordering::SeqCst) + 1;
        if self.stops && ended == 2 {
            self.stop.lock().as_ref().unwrap().set();
        }
        if ended == 2 + self.splits.load(Ordering::SeqCst) {
            self.left.store(self.loses_begins, Ordering::SeqCst);
        }
    }

    fn wants(&self, topic: &str) -> bool {
        topic == PARTITION_COMPLETED || topic == PARTITION_STOPPED
    }
}

/// Passes items through, in one partition only after a stop.
struct Passing(Option<StopSignal>);

impl Processor for Passing {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        if let Some(stop) = &self.0 {
            assert!(stop.wait(Duration::from_secs(60)));
        }
        Ok(Some(item.clone()))
    }
}

/// Runs the job with one split and an outage, and again in another process unless it has completed. Returns the first end.
fn split_with(outage: Outage, patience: Duration) -> Result<Execution, BatchError> {
    let folder = tempfile::tempdir().unwrap();
    let text = input(folder.path());
    let (medium, outage) = (medium(), Arc::new(outage));
    let around = Arc::clone(&outage) as Arc<dyn Around>;
    let inner = backend(&medium);
    let mut process = Process::new(
        Arc::new(AroundBackend { inner: Arc::clone(&inner), around: Arc::clone(&around) }),
        folder.path().to_owned(),
    );
    let repository = Repository::new(Arc::new(AroundBackend { inner, around })).with_patience(patience);
    process.engine.repository = Arc::new(repository);
    process.engine.observers.push(Arc::clone(&outage) as Arc<dyn Observer>);
    let signal = Arc::clone(&outage);
    process.engine.registry.processor("picky", move |with| {
        let stop = with.job.stop.clone();
        *signal.stop.lock() = Some(stop.clone());
        let waits = signal.stops && with.step.as_ref().is_some_and(|step| step.partition == Some(2));
        Ok(Box::new(Passing(waits.then_some(stop))))
    });
    let xml = xml(APART, "").replace("item-count=\"4\"", "item-count=\"40\"");
    let launched = process.engine.start(&job(&xml), given(&[("fail", "")])).unwrap();
    let id = launched.id();
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| launched.run());
        while !running.is_finished() && !process.engine.split(id, "s", 1) {
            std::thread::sleep(Duration::from_micros(100));
        }
        running.join().unwrap()
    });
    assert_eq!(outage.splits.load(Ordering::SeqCst), 1, "the partition was split");
    drop(process);
    let next = Process::new(backend(&medium), folder.path().to_owned());
    if next.engine.repository.execution(id).unwrap().status != BatchStatus::Completed {
        let again = next.restart(id, &xml, &[("fail", "")]);
        assert_eq!(again.status, BatchStatus::Completed, "{:?}", again.cause);
        assert_eq!(partitions(&next, &again), 3);
    }
    assert!(written(folder.path()) == text, "each line once");
    ended
}

/// Regression: the connection was lost after the commit of a split and before its answer. The new partition never ran, and the step ended
/// COMPLETED without a part of its input.
#[test]
fn a_partition_whose_making_was_not_answered_runs() {
    let outage = Outage { loses_split: true, ..Outage::default() };
    assert_eq!(split_with(outage, Duration::from_secs(60)).unwrap().status, BatchStatus::Completed);
    let outage = Outage { loses_split: true, stops: true, ..Outage::default() };
    assert_eq!(split_with(outage, Duration::from_secs(60)).unwrap().status, BatchStatus::Stopped);
}

/// Regression: a database that did not answer after the last partition left the planned number of partitions in the state of the step. A restart
/// then did not know the partition that was split off.
#[test]
fn an_outage_after_a_split_forgets_no_partition() {
    for (stops, status) in [(false, BatchStatus::Completed), (true, BatchStatus::Stopped)] {
        for loses_begins in 1..=3 {
            let outage = Outage { loses_begins, stops, ..Outage::default() };
            // Two attempts of the same operation, and none after that.
            let ended = split_with(outage, Duration::from_millis(250));
            let is_as_without = ended.is_ok_and(|ended| ended.status == status);
            assert_eq!(is_as_without, loses_begins < 2, "{status} {loses_begins}");
        }
    }
}
