//! Failures of deciders, listeners and limits. None may vanish or hide another.

use std::path::PathBuf;
use std::sync::Arc;

use quayline_batch::artifact::{Answer, Batchlet};
use quayline_batch::event::{Event, LOG, Observer};
use quayline_batch::{BatchError, BatchStatus, StoreBackend};
use quayline_store::SystemClock;
use quayline_store::queue::{Message, Persistence, QueueDefinition};

use crate::kit::{Log, Process, ended, given, job, medium, properties, store};

struct LogLines(Log);

impl Observer for LogLines {
    fn event(&self, event: &Event) {
        self.0.lock().push(event.text.clone());
    }

    fn wants(&self, topic: &str) -> bool {
        topic == LOG
    }
}

/// Returns a process and the lines of its job logs that report failures.
fn logged() -> (Process, Log) {
    let (mut process, log) = (Process::in_memory(), Log::default());
    process.engine.observers.push(Arc::new(LogLines(Arc::clone(&log))));
    (process, log)
}

fn step(id: &str, attributes: &str, more: &[(&str, &str)], inside: &str) -> String {
    format!("<step id=\"{id}\" {attributes}><batchlet ref=\"saying\">{}</batchlet>{inside}</step>", properties(more))
}

fn listeners(more: &[(&str, &str)]) -> String {
    format!("<listeners><listener ref=\"hearing\">{}</listener></listeners>", properties(more))
}

/// Regression: a decider that threw had the exit status FAILED, a transition with `on="*"` matched it, and the job ended COMPLETED.
/// Section 8.5.2: the job ends FAILED, and job listeners see the cause.
#[test]
fn a_decider_that_throws_fails_the_job_whatever_the_transitions_are() {
    let (process, log) = logged();
    for transition in ["<end on=\"*\"/>", "<next on=\"FAILED\" to=\"b\"/>", "<stop on=\"F*\" restart=\"b\"/>"] {
        let xml = format!(
            "{}<decision id=\"d\" ref=\"deciding\">{}{transition}</decision>{}",
            step("a", "next=\"d\"", &[], ""),
            properties(&[("fail", "#{jobParameters['fail']}"), ("answer", "ok")]),
            step("b", "", &[], "")
        );
        let failed = process.start(&xml, &[("fail", "Undecided")]);
        assert_eq!((ended(&failed), process.said().len()), ("FAILED FAILED".to_owned(), 2), "{transition}");
        assert_eq!(failed.cause.as_deref(), Some("Undecided: no decision"));
        let again = process.restart(failed.id, &xml, &[]);
        assert_eq!(ended(&again), "COMPLETED ok", "{transition}");
        assert_eq!(process.said(), ["decide on a=COMPLETED"]);
    }
    assert!(log.lock().contains(&"decision d: Undecided: no decision".to_owned()), "{:?}", log.lock());
}

/// An exit status that matches no transition ended the job COMPLETED, and the job log had nothing about it.
#[test]
fn exit_statuses_that_match_no_transition_are_noted() {
    let (process, log) = logged();
    let run = |answer: &str| {
        log.lock().clear();
        let xml = format!(
            "{}<decision id=\"d\" ref=\"deciding\">{}<next on=\"GO\" to=\"b\"/></decision>{}",
            step("a", "next=\"d\"", &[], ""),
            properties(&[("answer", answer)]),
            step("b", "", &[], "<end on=\"NEVER\"/>")
        );
        assert_eq!(process.start(&xml, &[]).status, BatchStatus::Completed);
        log.lock().join("\n")
    };
    let said = run("HALT");
    let expected = "d: JOB-041: no transition matches the exit status HALT, so the job or flow ends here";
    assert!(said.contains(expected), "{said}");
    assert!(!run("GO").contains("JOB-041"));
}

/// Regression: a partition element without a plan and without a mapper created no partition, so the step was COMPLETED and its batchlet never
/// ran. The default is one partition (section 8.2.6.1).
#[test]
fn a_partition_element_without_plan_is_one_partition() {
    let process = Process::in_memory();
    for inside in ["<partition/>", "<partition><plan/></partition>"] {
        let execution = process.start(&step("s", "", &[], inside), &[]);
        assert_eq!(
            (ended(&execution), process.said().join(" ")),
            ("COMPLETED COMPLETED".to_owned(), "s[0]".to_owned())
        );
    }
}

/// Regression: a batchlet threw, and then a listener after the step threw. The step and the job named the listener's exception as their cause,
/// and the batchlet's exception was lost.
#[test]
fn listeners_that_throw_hide_no_cause() {
    let (process, log) = logged();
    let after_step = listeners(&[("throw", "after step"), ("hear", "none")]);
    let failing = step("s", "", &[("fail", "Bad")], "").replacen("<batchlet", &format!("{after_step}<batchlet"), 1);
    let execution = process.start(&failing, &[]);
    assert_eq!(execution.cause.as_deref(), Some("Bad: on purpose"));
    assert_eq!(process.steps(execution.id)[0].cause.as_deref(), Some("Bad: on purpose"));
    let lines = std::mem::take(&mut *log.lock());
    assert!(lines.contains(&"a listener after step s: Deaf: cannot hear after step FAILED".to_owned()), "{lines:?}");
    // If only the listener throws, its exception fails the step.
    let fine = step("s", "", &[], "").replacen("<batchlet", &format!("{after_step}<batchlet"), 1);
    let execution = process.start(&fine, &[]);
    assert_eq!(execution.cause.as_deref(), Some("Deaf: cannot hear after step COMPLETED"));

    let after_job = listeners(&[("throw", "after job"), ("hear", "none")]);
    let execution = process.start(&format!("{after_job}{}", step("s", "", &[("fail", "Bad")], "")), &[]);
    assert_eq!(execution.cause.as_deref(), Some("Bad: on purpose"));
    let lines = std::mem::take(&mut *log.lock());
    assert!(lines.contains(&"a listener after the job: Deaf: cannot hear after job FAILED".to_owned()), "{lines:?}");
    let execution = process.start(&format!("{after_job}{}", step("s", "", &[], "")), &[]);
    assert_eq!(
        (execution.status, execution.cause.as_deref()),
        (BatchStatus::Failed, Some("Deaf: cannot hear after job COMPLETED"))
    );

    // A listener that receives an exception and throws fails the step. The log has the exception that it received.
    log.lock().clear();
    for (event, stage) in [("read error", "reading"), ("process error", "processing"), ("write error", "writing")] {
        let fail = |kind: &str| properties(&[("fail", if stage == kind { "3" } else { "none" }), ("always", "1")]);
        let reader = if stage == "reading" { properties(&[("fail", "3")]) } else { String::new() };
        let xml = format!(
            "<step id=\"s\">{}<chunk item-count=\"2\"><reader ref=\"counting\">{reader}</reader><processor ref=\"picky\">{}</processor>\
             <writer ref=\"picky\">{}</writer></chunk></step>",
            listeners(&[("throw", event), ("hear", "none")]),
            fail("processing"),
            fail("writing")
        );
        let execution = process.start(&xml, &[]);
        assert_eq!(execution.cause, Some(format!("Deaf: cannot hear {event}")));
        let lines = std::mem::take(&mut *log.lock());
        assert!(lines.contains(&format!("{stage}: Bad: item 3")), "{lines:?}");
    }
}

/// The log names the limit that failed the step, not the kind of the exception.
#[test]
fn the_log_names_the_limit_that_is_reached() {
    let (process, log) = logged();
    let run = |attributes: &str, classes: &str| {
        log.lock().clear();
        let classes: String = classes
            .split(' ')
            .map(|kind| format!("<{kind}-exception-classes><include class=\"Bad\"/></{kind}-exception-classes>"))
            .collect();
        let xml = format!(
            "<step id=\"s\"><chunk item-count=\"4\" {attributes}><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/>{classes}</chunk></step>",
            properties(&[("fail", "2 5"), ("consume", "1"), ("always", "1")])
        );
        assert_eq!(process.start(&xml, &[]).status, BatchStatus::Failed);
        let lines = log.lock();
        lines.iter().filter(|line| line.contains("reached")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(run("skip-limit=\"1\"", "skippable"), ["the skip-limit of 1 is reached at item 5: Bad: item 5"]);
    assert_eq!(run("retry-limit=\"1\"", "retryable"), ["the retry-limit of 1 is reached: Bad: item 2"]);
    assert_eq!(
        run("skip-limit=\"0\" retry-limit=\"0\"", "skippable retryable"),
        ["the retry-limit of 0 is reached, and the skip-limit of 0 is reached at item 2: Bad: item 2"]
    );
}

/// Batchlet that reports its start and waits for a stop.
struct Waits(Arc<quayline_batch::context::JobContext>, Arc<std::sync::Barrier>);

impl Batchlet for Waits {
    fn process(&mut self) -> Answer<Option<String>> {
        self.1.wait();
        while !self.0.stop.wait(std::time::Duration::from_secs(10)) {}
        // Waits until the test has read the status.
        self.1.wait();
        Ok(None)
    }
}

/// Regression: between the stop request and the end, lists showed STARTED. Section 8.7: the status is STOPPING.
#[test]
fn an_execution_that_is_asked_to_stop_is_stopping() {
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let mut process = Process::in_memory();
    let waits = Arc::clone(&barrier);
    process
        .engine
        .registry
        .batchlet("waits", move |with| Ok(Box::new(Waits(Arc::clone(&with.job), Arc::clone(&waits)))));
    let xml = "<step id=\"s\"><batchlet ref=\"waits\"/></step>";
    let launched = process.engine.start(&job(xml), given(&[])).unwrap();
    let id = launched.id();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| launched.run().unwrap());
        barrier.wait();
        let status = || process.engine.repository.execution(id).unwrap().status;
        assert_eq!(status(), BatchStatus::Started);
        process.engine.stop(id).unwrap();
        assert_eq!(status(), BatchStatus::Stopping);
        let again =
            process.engine.restart(id, &job(xml), given(&[]), quayline_batch::Drift::Refuse).map(|_| ()).unwrap_err();
        assert!(again.to_string().contains("is STOPPING"), "{again}");
        assert!(matches!(process.engine.repository.abandon(id), Err(BatchError::IsRunning { .. })));
        barrier.wait();
        assert_eq!(run.join().unwrap().status, BatchStatus::Stopped);
    });
    assert_eq!(process.steps(id)[0].status, BatchStatus::Stopped);
}

/// STARTED overwrote a request to stop before the first step, and lists showed STARTED until the end.
#[test]
fn an_execution_that_is_asked_to_stop_before_it_starts_stays_stopping() {
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let mut process = Process::in_memory();
    let waits = Arc::clone(&barrier);
    process
        .engine
        .registry
        .batchlet("waits", move |with| Ok(Box::new(Waits(Arc::clone(&with.job), Arc::clone(&waits)))));
    let launched = process.engine.start(&job("<step id=\"s\"><batchlet ref=\"waits\"/></step>"), given(&[])).unwrap();
    let id = launched.id();
    let status = || process.engine.repository.execution(id).unwrap().status;
    assert_eq!(status(), BatchStatus::Starting);
    process.engine.repository.request_stop(id).unwrap();
    assert_eq!(status(), BatchStatus::Stopping);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| launched.run().unwrap());
        barrier.wait();
        assert_eq!(status(), BatchStatus::Stopping);
        process.engine.stop(id).unwrap();
        barrier.wait();
        assert_eq!(run.join().unwrap().status, BatchStatus::Stopped);
    });
}

/// Regression: rollbacks of a chunk counted as failures of all its messages. Those that waited for their retry were missing from a step that ended
/// COMPLETED, and after some restarts good messages were on the backout queue.
#[test]
fn rollbacks_of_a_chunk_charge_no_message() {
    let memory = medium();
    let of = store(&memory);
    let mut unit = of.begin().unwrap();
    let waits = QueueDefinition { backout_threshold: 3, retry_ms: 60_000, ..QueueDefinition::local("IN") };
    of.define_queue(&mut unit, waits).unwrap();
    unit.commit().unwrap();
    let backend = StoreBackend::new(of.clone(), Arc::new(SystemClock)).unwrap();
    let process = Process::new(Arc::new(backend), PathBuf::new());
    let queue = of.queue("IN").unwrap();
    let put = || {
        let mut unit = of.begin().unwrap();
        for number in 1..=12 {
            queue.put(&mut unit, &Message::new(format!("item {number}").into_bytes())).unwrap();
        }
        unit.commit().unwrap();
    };
    let xml = |picky: &[(&str, &str)]| {
        format!(
            "<step id=\"s\"><chunk item-count=\"5\" retry-limit=\"20\"><reader ref=\"quayline.queueReader\">{}</reader>\
             <processor ref=\"picky\">{}</processor><writer ref=\"picky\"/><retryable-exception-classes><include class=\"Bad\"/>\
             </retryable-exception-classes></chunk></step>",
            properties(&[("queue", "IN")]),
            properties(picky)
        )
    };
    let read = |execution| process.steps(execution).iter().map(|step| step.counts.read).sum::<u64>();
    put();
    let execution = process.start(&xml(&[("fail", "3 7 8")]), &[]);
    assert_eq!((ended(&execution).as_str(), read(execution.id)), ("COMPLETED COMPLETED", 12));

    put();
    let always = xml(&[("fail", "3"), ("always", "1"), ("class", "Other")]);
    let mut last = process.start(&always, &[]);
    for _ in 0..4 {
        assert_eq!(ended(&last), "FAILED FAILED");
        last = process.restart(last.id, &always, &[]);
    }
    assert_eq!(queue.facts().unwrap().depth, 12);
    let done = process.restart(last.id, &xml(&[]), &[]);
    assert_eq!((ended(&done).as_str(), read(done.id)), ("COMPLETED COMPLETED", 12));
}

/// Regression: a last chunk whose messages were all non-persistent, and that wrote nothing to the store, did not commit. Its messages returned to the
/// queue although the step had processed them.
#[test]
fn a_last_chunk_of_messages_without_persistence_commits() {
    let memory = medium();
    let of = store(&memory);
    let mut unit = of.begin().unwrap();
    of.define_queue(&mut unit, QueueDefinition::local("IN")).unwrap();
    unit.commit().unwrap();
    let backend = StoreBackend::new(of.clone(), Arc::new(SystemClock)).unwrap();
    let process = Process::new(Arc::new(backend), PathBuf::new());
    let queue = of.queue("IN").unwrap();
    let mut unit = of.begin().unwrap();
    for number in 1..=3 {
        let message = Message { persistence: Persistence::NotPersistent, ..Message::new(format!("item {number}")) };
        queue.put(&mut unit, &message).unwrap();
    }
    unit.commit().unwrap();
    let reader = properties(&[("queue", "IN")]);
    let execution = process.start(
        &format!(
            "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"quayline.queueReader\">{reader}</reader><writer ref=\"picky\"/></chunk></step>"
        ),
        &[],
    );
    assert_eq!(ended(&execution), "COMPLETED COMPLETED");
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write, queue.facts().unwrap().depth), (3, 3, 0));
}
