//! Complaints of users of other batch engines, each with a test. `docs/studies/batch.md` lists all twelve and the tests of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quayline_batch::artifact::{Answer, Item, Processor, Writer};
use quayline_batch::{BatchStatus, PageOf, Thrown, Work};

use crate::kit::{Process, ended, given, job, properties};

/// Counts its calls.
struct CountingProcessor(Arc<AtomicU64>);

impl Processor for CountingProcessor {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Some(item.clone()))
    }
}

/// Refuses some items, and counts its calls.
struct Refusing(Arc<AtomicU64>, Vec<&'static str>);

impl Writer for Refusing {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        Ok(())
    }
    fn write(&mut self, items: &[Item], _: &mut dyn Work) -> Answer<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match items.iter().find(|item| self.1.iter().any(|bad| item.as_slice() == bad.as_bytes())) {
            Some(_) => Err(Thrown::new("Bad", "refused")),
            None => Ok(()),
        }
    }
    fn isolates(&self) -> bool {
        true
    }
}

/// Runs a job of one chunk of 1,000 items whose writer refuses some. Returns the calls of processor and writer, and the items written and skipped.
fn skipping(bad: &[&'static str]) -> (u64, u64, u64, u64) {
    let (processed, written) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut process = Process::in_memory();
    let calls = Arc::clone(&processed);
    process.engine.registry.processor("calls", move |_| Ok(Box::new(CountingProcessor(Arc::clone(&calls)))));
    let (calls, bad) = (Arc::clone(&written), bad.to_vec());
    process.engine.registry.writer("refusing", move |_| Ok(Box::new(Refusing(Arc::clone(&calls), bad.clone()))));
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"1000\"><reader ref=\"counting\">{}</reader><processor ref=\"calls\"/><writer ref=\"refusing\"/>\
         <skippable-exception-classes><include class=\"Bad\"/></skippable-exception-classes></chunk></step>",
        properties(&[("count", "1000")])
    );
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let counts = process.steps(execution.id)[0].counts;
    (processed.load(Ordering::Relaxed), written.load(Ordering::Relaxed), counts.write, counts.write_skip)
}

/// Complaint 5: two bad items in a row lost data, or the second one ended the job.
#[test]
fn two_bad_items_in_a_row_are_skipped_alone() {
    let (_, _, written, skipped) = skipping(&["item 500", "item 501"]);
    assert_eq!((written, skipped), (998, 2));
}

/// Complaint 6: a skipped write made the engine process and write the whole chunk again, item by item.
#[test]
fn a_skipped_write_needs_a_logarithm_of_writes_and_processes_nothing_again() {
    let (processed, calls, written, skipped) = skipping(&["item 700"]);
    assert_eq!((processed, written, skipped), (1_000, 999, 1));
    // Two halves at each of ten levels, and the first attempt.
    assert!(calls <= 21, "{calls} writes");
}

/// Complaint 4: a stop request and the step wrote the same record, so one of them failed.
#[test]
fn a_stop_at_any_moment_conflicts_with_nothing() {
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"3\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/></chunk></step>",
        properties(&[("count", "200")])
    );
    for round in 0..40u64 {
        let process = Process::in_memory();
        let file = job(&xml);
        let launched = process.engine.start(&file, given(&[])).unwrap();
        let id = launched.id();
        let execution = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_micros(round * 53));
                // The execution may have ended before.
                let _ = process.engine.stop(id);
            });
            launched.run().unwrap()
        });
        let execution = match ended(&execution).as_str() {
            "STOPPED STOPPED" => process.restart(id, &xml, &[]),
            _ => execution,
        };
        assert_eq!(ended(&execution), "COMPLETED COMPLETED", "round {round}");
        let written: Vec<String> = process.said().iter().map(|line| line.replace("write ", "")).collect();
        let expected: Vec<String> = (1..=200).map(|number: u32| number.to_string()).collect();
        assert_eq!(written.join(" "), expected.join(" "), "round {round}");
    }
}

/// Records of a kind in the repository.
fn records(process: &Process, kind: &[u8]) -> usize {
    let mut work = process.engine.repository.begin().unwrap();
    work.page(PageOf { prefix: kind, after: None, newest_first: false, count: 100_000 }).unwrap().len()
}

/// Complaints 2 and 12: the repository grew with each chunk, and each start read the history.
#[test]
fn a_long_job_keeps_one_state_and_a_start_adds_the_same_records_whatever_the_history() {
    let process = Process::in_memory();
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"1\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/></chunk></step>",
        properties(&[("count", "5000")])
    );
    assert_eq!(ended(&process.start(&xml, &[])), "COMPLETED COMPLETED");
    let all = |process: &Process| -> usize {
        [b"t", b"s", b"e", b"i", b"x", b"n", b"l", b"d", b"b"].iter().map(|kind| records(process, *kind)).sum()
    };
    assert_eq!(records(&process, b"t"), 1, "one state after 5,000 chunks");
    let short = "<step id=\"s\"><batchlet ref=\"saying\"/></step>";
    process.start(short, &[]);
    let one = all(&process);
    process.start(short, &[]);
    let growth = all(&process) - one;
    for _ in 0..200 {
        process.start(short, &[]);
    }
    let many = all(&process);
    process.start(short, &[]);
    assert_eq!(all(&process) - many, growth);
}

/// A start costs the same after many executions. `QUAYLINE_HISTORY` sets their number; 1,000,000 take some minutes.
#[test]
fn a_start_costs_the_same_after_a_long_history() {
    let history = std::env::var("QUAYLINE_HISTORY").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000u64);
    let process = Process::in_memory();
    let xml = job("<step id=\"s\"><batchlet ref=\"saying\"/></step>");
    // The shortest of some: other work on the machine makes starts longer, never shorter.
    let start = || {
        let begin = std::time::Instant::now();
        let launched = process.engine.start(&xml, given(&[])).unwrap();
        let took = begin.elapsed();
        assert_eq!(launched.run().unwrap().status, BatchStatus::Completed);
        took
    };
    let shortest = || (0..200).map(|_| start()).min().unwrap_or_default();
    let first = shortest();
    for _ in 0..history {
        start();
    }
    let last = shortest();
    eprintln!("a start takes {first:?}, and {last:?} after {history} executions");
    assert!(last < first * 10, "{first:?} became {last:?}");
}
