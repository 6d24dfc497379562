//! Complaints of users of other batch engines, each with a test. `docs/studies/batch.md` lists all twelve and the tests of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use quayline_batch::artifact::{Answer, CheckpointAlgorithm, Item, Processor, Writer};
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

/// Three items are a chunk. Logs its calls.
struct Threes(Arc<Mutex<Vec<&'static str>>>, u32);

impl CheckpointAlgorithm for Threes {
    fn begin(&mut self) -> Answer<()> {
        self.0.lock().push("begin");
        self.1 = 0;
        Ok(())
    }
    fn is_ready(&mut self) -> Answer<bool> {
        self.1 += 1;
        Ok(self.1 == 3)
    }
    fn end(&mut self) -> Answer<()> {
        self.0.lock().push("end");
        Ok(())
    }
}

/// Complaint 11: the specification does not say whether a retried chunk runs item by item with a custom algorithm. It does, and the engine does not call the algorithm meanwhile.
#[test]
fn a_retry_runs_one_by_one_also_with_a_custom_algorithm() {
    let mut process = Process::in_memory();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let given = Arc::clone(&calls);
    process.engine.registry.checkpoint_algorithm("threes", move |_| Ok(Box::new(Threes(Arc::clone(&given), 0))));
    let xml = format!(
        "<step id=\"s\"><chunk checkpoint-policy=\"custom\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\">{}</writer>\
         <checkpoint-algorithm ref=\"threes\"/>\
         <retryable-exception-classes><include class=\"Bad\"/></retryable-exception-classes></chunk></step>",
        properties(&[("count", "9")]),
        properties(&[("fail", "5")])
    );
    assert_eq!(ended(&process.start(&xml, &[])), "COMPLETED COMPLETED");
    assert_eq!(process.said(), ["write 1 2 3", "write 4", "write 5", "write 6", "write 7 8 9"]);
    // The chunk that rolled back had begun; the last one is empty.
    assert_eq!(*calls.lock(), ["begin", "end", "begin", "begin", "end", "begin", "end"]);
}

/// Complaint 11: the specification does not say whether limits are those of a partition or of the step. They are those of a partition.
#[test]
fn each_partition_has_its_own_skip_limit_and_retry_limit() {
    for (limit, classes) in [
        ("skip-limit", "<skippable-exception-classes><include class=\"Bad\"/></skippable-exception-classes>"),
        (
            "retry-limit",
            "<retryable-exception-classes><include class=\"Bad\"/></retryable-exception-classes>\
             <no-rollback-exception-classes><include class=\"Bad\"/></no-rollback-exception-classes>",
        ),
    ] {
        // Partition 0 fails at the items of its property, and partition 1 at item 3; a retry is successful.
        let run = |first: &str| {
            let always = if limit == "skip-limit" { "yes" } else { "" };
            let writer = properties(&[("fail", "#{partitionPlan['fail']}"), ("always", always), ("isolates", "yes")]);
            let plan: String = [(0, first), (1, "3")]
                .iter()
                .map(|(number, fail)| {
                    properties(&[("fail", *fail)]).replacen(
                        "<properties>",
                        &format!("<properties partition=\"{number}\">"),
                        1,
                    )
                })
                .collect();
            let xml = format!(
                "<step id=\"s\"><chunk item-count=\"1\" {limit}=\"1\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\">{writer}</writer>{classes}</chunk>\
                 <partition><plan partitions=\"2\" threads=\"1\">{plan}</plan></partition></step>",
                properties(&[("count", "4")])
            );
            Process::in_memory().start(&xml, &[])
        };
        assert_eq!(ended(&run("2")), "COMPLETED COMPLETED", "{limit}: one in each partition");
        assert_eq!(ended(&run("2 4")), "FAILED FAILED", "{limit}: two in one");
    }
}
