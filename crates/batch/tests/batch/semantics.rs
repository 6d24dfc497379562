//! Requirements of the specification on transitions, restarts, chunks, skip and retry, listeners and partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::{Expect, expect};
use quayline_batch::artifact::{
    Answer, Item, Lent, Listener, PartitionMapper, PartitionPlan, PartitionReducer, Reader, Writer,
};
use quayline_batch::{BatchStatus, Thrown, Work};
use quayline_project::job::matches_pattern;

use crate::kit::{Log, Process, ended, job, properties};

fn saying(id: &str, attributes: &str, more: &[(&str, &str)], inside: &str) -> String {
    format!("<step id=\"{id}\" {attributes}><batchlet ref=\"saying\">{}</batchlet>{inside}</step>", properties(more))
}

fn chunk(attributes: &str, reader: &[(&str, &str)], writer: &[(&str, &str)], inside: &str) -> String {
    format!(
        "<step id=\"s\">{}<chunk {attributes}><reader ref=\"counting\">{}</reader><writer ref=\"picky\">{}</writer>{inside}</chunk></step>",
        "<listeners><listener ref=\"hearing\"><properties><property name=\"hear\" value=\"skip retry error\"/></properties></listener></listeners>",
        properties(reader),
        properties(writer)
    )
}

const SKIP: &str = "<skippable-exception-classes><include class=\"Bad\"/></skippable-exception-classes>";
const RETRY: &str = "<retryable-exception-classes><include class=\"Bad\"/></retryable-exception-classes>";
const NO_ROLLBACK: &str = "<no-rollback-exception-classes><include class=\"Bad\"/></no-rollback-exception-classes>";

/// Runs a job in a separate repository. Checks the log of its artifacts, its outcome, and the metrics of its last step.
fn check(xml: &str, expected: Expect) {
    let process = Process::in_memory();
    let execution = process.start(xml, &[]);
    let mut text: String = process.said().iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&format!("{}\n", ended(&execution)));
    if let Some(step) = process.steps(execution.id).last() {
        let counts: Vec<String> = step
            .counts
            .named()
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name}={count}"))
            .collect();
        text.push_str(&counts.join(" "));
    }
    expected.assert_eq(text.trim_end());
}

#[test]
fn wildcards_are_stars_and_question_marks_only() {
    for (pattern, text, expected) in [
        ("*", "", true),
        ("a*c", "abbbc", true),
        ("a*c", "ab", false),
        ("?", "", false),
        ("R?=*", "RC=4", true),
        ("a.c", "abc", false),
        ("*a*b*", "xxaxxbxx", true),
    ] {
        assert_eq!(matches_pattern(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn transitions_are_tried_in_document_order_and_a_failed_step_follows_only_them() {
    let step = saying("a", "next=\"b\"", &[("exit", "RC=4")], "<next on=\"RC=?\" to=\"c\"/><fail on=\"*\"/>");
    let xml =
        format!("{step}{}{}", saying("b", "", &[], ""), saying("c", "", &[], "<end on=\"*\" exit-status=\"DONE\"/>"));
    check(&xml, expect!["a\nc\nCOMPLETED DONE"]);
    let xml = format!("{}{}", saying("a", "next=\"b\"", &[("fail", "Bad")], ""), saying("b", "", &[], ""));
    check(&xml, expect!["a\nFAILED FAILED"]);
    let caught = "<next on=\"FAILED\" to=\"b\"/>";
    let xml = format!("{}{}", saying("a", "", &[("fail", "Bad")], caught), saying("b", "", &[], ""));
    check(&xml, expect!["a\nb\nCOMPLETED COMPLETED"]);
}

#[test]
fn a_stop_element_restarts_where_it_says_and_old_exit_statuses_count() {
    let process = Process::in_memory();
    let stop = "<stop on=\"HALT\" exit-status=\"WAITING\" restart=\"b\"/>";
    let xml = format!(
        "{}{}{}",
        saying("a", "next=\"b\"", &[("exit", "#{jobParameters['exit']}?:OK;")], stop),
        saying("b", "next=\"c\"", &[], ""),
        saying("c", "", &[("fail", "#{jobParameters['fail']}")], ""),
    );
    let first = process.start(&xml, &[("exit", "HALT")]);
    assert_eq!((ended(&first), process.said()), ("STOPPED WAITING".to_owned(), vec!["a".to_owned()]));
    let second = process.restart(first.id, &xml, &[("fail", "Bad")]);
    assert_eq!((ended(&second), process.said()), ("FAILED FAILED".to_owned(), vec!["b".to_owned(), "c".to_owned()]));
    // The restart begins at the first element: a and b completed and are passed over; a's old exit status stops the job once more.
    let third = process.restart(second.id, &xml, &[]);
    assert_eq!((ended(&third), process.said()), ("STOPPED WAITING".to_owned(), Vec::<String>::new()));
    let fourth = process.restart(third.id, &xml, &[]);
    assert_eq!((ended(&fourth), process.said()), ("COMPLETED COMPLETED".to_owned(), vec!["c".to_owned()]));
}

#[test]
fn start_limit_and_allow_start_if_complete_count_starts_of_an_instance() {
    let process = Process::in_memory();
    let xml = format!(
        "{}{}",
        saying("a", "next=\"b\" start-limit=\"2\" allow-start-if-complete=\"true\"", &[], ""),
        saying("b", "", &[("fail", "Bad")], "")
    );
    let first = process.start(&xml, &[]);
    let second = process.restart(first.id, &xml, &[]);
    assert_eq!(process.said(), ["a", "b", "a", "b"]);
    let third = process.restart(second.id, &xml, &[]);
    assert_eq!(third.status, BatchStatus::Failed);
    assert!(third.cause.as_ref().is_some_and(|cause| cause.contains("start-limit is 2")), "{third:?}");
    assert_eq!(process.said(), Vec::<String>::new());
}

#[test]
fn flows_splits_and_decisions() {
    let flow = |id: &str, steps: &str| format!("<flow id=\"{id}\">{steps}</flow>");
    let xml = format!(
        "<split id=\"both\" next=\"d\">{}{}</split><decision id=\"d\" ref=\"deciding\"><end on=\"x=COMPLETED,y=Y\" exit-status=\"JOINED\"/></decision>",
        flow("f", &saying("x", "", &[], "")),
        flow("g", &saying("y", "", &[("exit", "Y")], "")),
    );
    let process = Process::in_memory();
    let execution = process.start(&xml, &[]);
    let mut said = process.said();
    said.sort();
    assert_eq!(ended(&execution), "COMPLETED JOINED");
    assert_eq!(said, ["decide on x=COMPLETED,y=Y", "x", "y"]);
    let failing = format!(
        "<split id=\"both\" next=\"z\">{}{}</split>{}",
        flow("f", &saying("x", "", &[("fail", "Bad")], "")),
        flow("g", &saying("y", "", &[], "")),
        saying("z", "", &[], "")
    );
    let execution = process.start(&failing, &[]);
    assert_eq!(execution.status, BatchStatus::Failed);
    assert!(!process.said().contains(&"z".to_owned()));
}

#[test]
fn chunks_count_items_and_filtered_ones_are_not_written() {
    let process =
        "<processor ref=\"picky\"><properties><property name=\"filter\" value=\"2\"/></properties></processor>";
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"3\"><reader ref=\"counting\">{}</reader>{process}<writer ref=\"picky\"/></chunk></step>",
        properties(&[("count", "7")])
    );
    check(
        &xml,
        expect![
            "write 1 3\nwrite 4 5 6\nwrite 7\nCOMPLETED COMPLETED\nREAD_COUNT=7 WRITE_COUNT=6 COMMIT_COUNT=3 FILTER_COUNT=1"
        ],
    );
}

#[test]
fn a_read_is_skipped_up_to_the_limit() {
    let reader = [("fail", "2 5"), ("consume", "yes"), ("count", "6")];
    check(
        &chunk("item-count=\"3\"", &reader, &[], SKIP),
        expect![
            "read error\nskip read item 2\nwrite 1 3\nread error\nskip read item 5\nwrite 4 6\nCOMPLETED COMPLETED\nREAD_COUNT=4 WRITE_COUNT=4 COMMIT_COUNT=3 READ_SKIP_COUNT=2"
        ],
    );
    check(
        &chunk("item-count=\"3\" skip-limit=\"1\"", &reader, &[], SKIP),
        expect![
            "read error\nskip read item 2\nwrite 1 3\nread error\nchunk error item 5\nFAILED FAILED\nREAD_COUNT=2 WRITE_COUNT=2 COMMIT_COUNT=1 ROLLBACK_COUNT=1 READ_SKIP_COUNT=1"
        ],
    );
    let other =
        "<skippable-exception-classes><include class=\"Bad\"/><exclude class=\"Worse\"/></skippable-exception-classes>";
    let worse = [("fail", "2"), ("class", "Worse"), ("count", "6")];
    check(
        &chunk("item-count=\"3\"", &worse, &[], other),
        expect!["read error\nchunk error item 2\nFAILED FAILED\nROLLBACK_COUNT=1"],
    );
}

#[test]
fn a_retry_rolls_back_and_runs_one_by_one_until_past_the_item() {
    check(
        &chunk("item-count=\"3\"", &[("count", "7")], &[("fail", "5")], RETRY),
        expect![
            "write 1 2 3\nwrite error\nretry write item 5\nchunk error item 5\nwrite 4\nwrite 5\nwrite 6\nwrite 7\nCOMPLETED COMPLETED\nREAD_COUNT=7 WRITE_COUNT=7 COMMIT_COUNT=5 ROLLBACK_COUNT=1"
        ],
    );
    check(
        &chunk("item-count=\"3\"", &[("count", "4"), ("fail", "2")], &[], &format!("{RETRY}{NO_ROLLBACK}")),
        expect![
            "read error\nretry read item 2\nwrite 1 2 3\nwrite 4\nCOMPLETED COMPLETED\nREAD_COUNT=4 WRITE_COUNT=4 COMMIT_COUNT=2"
        ],
    );
}

#[test]
fn retry_wins_first_and_skip_wins_while_retrying() {
    let both = format!("{SKIP}{RETRY}");
    check(
        &chunk("item-count=\"3\"", &[("count", "4")], &[("fail", "2"), ("always", "yes")], &both),
        expect![
            "write error\nretry write item 2\nchunk error item 2\nwrite 1\nwrite error\nskip write of 1\nwrite 3\nwrite 4\nCOMPLETED COMPLETED\nREAD_COUNT=4 WRITE_COUNT=3 COMMIT_COUNT=4 ROLLBACK_COUNT=1 WRITE_SKIP_COUNT=1"
        ],
    );
}

#[test]
fn a_skipped_write_loses_the_chunk_unless_the_writer_isolates() {
    let writer = [("fail", "2"), ("always", "yes")];
    check(
        &chunk("item-count=\"4\"", &[("count", "4")], &writer, SKIP),
        expect!["write error\nskip write of 4\nCOMPLETED COMPLETED\nREAD_COUNT=4 COMMIT_COUNT=2 WRITE_SKIP_COUNT=1"],
    );
    let writer = [("fail", "2"), ("always", "yes"), ("isolates", "yes")];
    check(
        &chunk("item-count=\"4\"", &[("count", "4")], &writer, SKIP),
        expect![
            "write error\nwrite error\nwrite 1\nwrite error\nskip write of 1\nwrite 3 4\nCOMPLETED COMPLETED\nREAD_COUNT=4 WRITE_COUNT=3 COMMIT_COUNT=2 WRITE_SKIP_COUNT=1"
        ],
    );
}

#[test]
fn a_stop_commits_what_was_read_and_a_restart_continues_there() {
    let process = Process::in_memory();
    let xml = chunk("item-count=\"4\"", &[("count", "9"), ("stop", "#{jobParameters['stop']}")], &[], "");
    let first = process.start(&xml, &[("stop", "6")]);
    assert_eq!(
        (ended(&first), process.said()),
        ("STOPPED STOPPED".to_owned(), vec!["write 1 2 3 4".into(), "write 5 6".into()])
    );
    let second = process.restart(first.id, &xml, &[]);
    assert_eq!((ended(&second), process.said()), ("COMPLETED COMPLETED".to_owned(), vec!["write 7 8 9".to_owned()]));
}

#[test]
fn listeners_hear_everything_in_order() {
    let xml = format!(
        "<listeners><listener ref=\"hearing\"/></listeners><step id=\"s\"><listeners><listener ref=\"hearing\"/></listeners><chunk item-count=\"1\"><reader ref=\"counting\">{}</reader><processor ref=\"picky\"/><writer ref=\"picky\"/></chunk></step>",
        properties(&[("count", "1")])
    );
    check(
        &xml,
        expect![[r#"
            before job
            before step
            before chunk
            before read
            after read
            before process
            after process
            before write
            write 1
            after write
            after chunk
            before chunk
            before read
            after chunk
            after step COMPLETED
            after job COMPLETED
            COMPLETED COMPLETED
            READ_COUNT=1 WRITE_COUNT=1 COMMIT_COUNT=2"#]],
    );
}

#[test]
fn partitions_have_their_properties_and_only_failed_ones_run_again() {
    let process = Process::in_memory();
    let plan: String = (0..3)
        .map(|number| {
            let fails = if number == 1 { "#{jobParameters['fail']}" } else { "" };
            let list = properties(&[("say", &format!(" part {number}")), ("fail", fails)]);
            list.replacen("<properties>", &format!("<properties partition=\"{number}\">"), 1)
        })
        .collect();
    let batchlet = properties(&[("say", "#{partitionPlan['say']}"), ("fail", "#{partitionPlan['fail']}")]);
    let xml = format!(
        "<step id=\"s\"><batchlet ref=\"saying\">{batchlet}</batchlet><partition><plan partitions=\"3\" threads=\"2\">{plan}</plan></partition></step>"
    );
    let first = process.start(&xml, &[("fail", "Bad")]);
    let mut said = process.said();
    said.sort();
    assert_eq!(said, ["s[0] part 0", "s[1] part 1", "s[2] part 2"]);
    assert_eq!((ended(&first), process.steps(first.id)[0].partitions), ("FAILED FAILED".to_owned(), 3));
    let second = process.restart(first.id, &xml, &[]);
    assert_eq!((ended(&second), process.said()), ("COMPLETED COMPLETED".to_owned(), vec!["s[1] part 1".to_owned()]));
}

#[test]
fn ten_thousand_partitions_are_tasks_not_threads() {
    let process = Process::in_memory();
    let xml = "<step id=\"s\"><batchlet ref=\"saying\"/><partition><plan partitions=\"10000\" threads=\"4\"/></partition></step>";
    let execution = process.start(xml, &[]);
    assert_eq!((ended(&execution), process.said().len()), ("COMPLETED COMPLETED".to_owned(), 10_000));
}

#[test]
fn an_execution_restarts_only_if_it_is_the_last_and_did_not_complete() {
    let process = Process::in_memory();
    let xml = saying("a", "", &[("fail", "#{jobParameters['fail']}")], "");
    let first = process.start(&xml, &[("fail", "Bad")]);
    let second = process.restart(first.id, &xml, &[("fail", "Bad")]);
    let file = crate::kit::job(&xml);
    let again =
        |id| process.engine.restart(id, &file, crate::kit::given(&[]), quayline_batch::Drift::Refuse).map(|_| ());
    let refused = again(first.id).unwrap_err().to_string();
    assert!(refused.contains("not the most recent"), "{refused}");
    let other = crate::kit::job(&saying("b", "", &[], ""));
    let drift = process.engine.restart(second.id, &other, crate::kit::given(&[]), quayline_batch::Drift::Refuse);
    let drift = drift.map(|_| ()).unwrap_err().to_string();
    assert!(drift.contains("differs"), "{drift}");
    let third = process.restart(second.id, &xml, &[]);
    assert!(again(third.id).unwrap_err().to_string().contains("COMPLETED"));
    let refused = process.engine.repository.abandon(second.id).unwrap_err().to_string();
    assert!(refused.contains("not the most recent"), "{refused}");
}

/// After a takeover, work in progress of the old process no longer commits.
#[test]
fn a_process_that_lost_its_execution_commits_nothing() {
    let medium = crate::kit::medium();
    let old = Process::new(crate::kit::backend(&medium), std::path::PathBuf::new());
    let xml = chunk("item-count=\"2\"", &[("count", "4")], &[], "");
    let launched = old.engine.start(&crate::kit::job(&xml), crate::kit::given(&[])).unwrap();
    let new = Process::new(crate::kit::backend(&medium), std::path::PathBuf::new());
    let id = launched.id();
    let refused = launched.run().unwrap_err();
    assert!(refused.to_string().contains("taken over"), "{refused}");
    let again = new.restart(id, &xml, &[]);
    assert_eq!(
        (ended(&again), new.said()),
        ("COMPLETED COMPLETED".to_owned(), vec!["write 1 2".into(), "write 3 4".into()])
    );
}

/// The progress of a step includes that of its partitions, and names the slowest.
#[test]
fn the_slowest_partitions_are_shown_until_the_step_completes() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (1..=12).map(|number| format!("item {number}\n")).collect();
    std::fs::write(folder.path().join("in.txt"), lines).unwrap();
    let memory = crate::kit::medium();
    let process = Process::new(crate::kit::backend(&memory), folder.path().to_owned());
    let xml = |fail: &str| {
        let range = [("file", "in.txt"), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")];
        format!(
            "<step id=\"s\"><chunk item-count=\"1\"><reader ref=\"quayline.fileReader\">{}</reader><processor ref=\"picky\">{}</processor>\
             <writer ref=\"picky\"/></chunk><partition><mapper ref=\"quayline.fileMapper\">{}</mapper></partition></step>",
            properties(&range),
            properties(&[("fail", fail), ("always", "yes")]),
            properties(&[("file", "in.txt"), ("partitions", "3"), ("threads", "1")])
        )
    };
    let progress = |execution: &quayline_batch::record::Execution| {
        let found = process.engine.repository.step_progress(execution, &process.steps(execution.id)[0]).unwrap();
        found.and_then(|found| found.partitions)
    };
    // Lines 6 to 9 are the second partition.
    let failed = process.start(&xml("8"), &[]);
    let found = progress(&failed).unwrap();
    assert_eq!((found.completed, found.begun, found.waiting), (2, 1, 0), "{found:?}");
    let slowest: Vec<(u32, u64)> = found.slowest.iter().map(|slow| (slow.partition, slow.counts.read)).collect();
    assert_eq!(slowest, [(1, 2)]);
    // The step has ended, so it has no remaining time.
    assert!(found.slowest.iter().all(|slow| slow.pace.is_none() && !slow.is_straggler), "{found:?}");
    let last = process.restart(failed.id, &xml("none"), &[]);
    assert_eq!(last.status, BatchStatus::Completed, "{last:?}");
    assert_eq!((progress(&last), progress(&failed)), (None, None));
}

/// For an exception that matches both lists, the nearest class decides; for the same class, the exclusion.
#[test]
fn the_nearest_class_decides_between_include_and_exclude() {
    let run = |thrown: &str, include: &str, exclude: &str| {
        let process = Process::in_memory();
        let xml = format!(
            "<step id=\"s\"><chunk><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/>\
             <skippable-exception-classes><include class=\"{include}\"/><exclude class=\"{exclude}\"/></skippable-exception-classes></chunk></step>",
            properties(&[("fail", "3"), ("class", thrown), ("consume", "1")])
        );
        process.start(&xml, &[]).status
    };
    assert_eq!(run("Worse", "Worse", "Bad"), BatchStatus::Completed);
    assert_eq!(run("Worse", "Bad", "Worse"), BatchStatus::Failed);
    assert_eq!(run("Bad", "Bad", "Worse"), BatchStatus::Completed);
    assert_eq!(run("Bad", "java.lang.Exception", "Bad"), BatchStatus::Failed);
    assert_eq!(run("Bad", "Bad", "Bad"), BatchStatus::Failed);
}

#[test]
fn a_start_limit_fails_the_job_whatever_the_transitions_are() {
    let process = Process::in_memory();
    let xml = format!(
        "{}{}{}",
        saying("a", "start-limit=\"1\" allow-start-if-complete=\"true\"", &[], "<next on=\"*\" to=\"b\"/>"),
        saying("b", "next=\"c\"", &[], ""),
        saying("c", "", &[("fail", "#{jobParameters['fail']}")], ""),
    );
    let first = process.start(&xml, &[("fail", "Bad")]);
    assert_eq!(process.said(), ["a", "b", "c"]);
    let second = process.restart(first.id, &xml, &[]);
    assert_eq!((second.status, process.said()), (BatchStatus::Failed, Vec::<String>::new()), "{second:?}");
}

/// Logs the calls of the engine.
struct Watched {
    name: &'static str,
    left: u32,
    fail: bool,
    said: Log,
}

impl Watched {
    fn say(&self, what: &str) -> Answer<()> {
        self.said.lock().push(format!("{} {what}", self.name));
        Ok(())
    }
}

impl Reader for Watched {
    fn open(&mut self, checkpoint: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        self.left = checkpoint.map_or(2, |bytes| u32::from(bytes[0]));
        self.say("open")
    }
    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(b"item".to_vec()))
    }
    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        self.say("checkpoint")?;
        Ok(Some(vec![u8::try_from(self.left).unwrap()].into()))
    }
    fn close(&mut self) -> Answer<()> {
        self.say("close")
    }
}

impl Writer for Watched {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        self.say("open")
    }
    fn write(&mut self, _: &[Item], _: &mut dyn Work) -> Answer<()> {
        if std::mem::take(&mut self.fail) {
            return Err(Thrown::new("Bad", "on purpose"));
        }
        self.say("write")
    }
    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        self.say("checkpoint")?;
        Ok(None)
    }
    fn close(&mut self, _: bool) -> Answer<()> {
        self.say("close")
    }
}

/// Sections 11.8 to 11.11: the reader opens first, the writer closes first, listeners are called before checkpoints, and a rollback closes both
/// before the call of the listener.
#[test]
fn readers_and_writers_are_called_in_the_order_of_the_specification() {
    let mut process = Process::in_memory();
    let said = Arc::clone(&process.said);
    let log = Arc::clone(&said);
    process.engine.registry.reader("watched", move |_| {
        Ok(Box::new(Watched { name: "reader", left: 0, fail: false, said: Arc::clone(&log) }))
    });
    let log = Arc::clone(&said);
    process.engine.registry.writer("watched", move |with| {
        let fail = with.property("fail").is_some();
        Ok(Box::new(Watched { name: "writer", left: 0, fail, said: Arc::clone(&log) }))
    });
    let run = |fail: &[(&str, &str)]| {
        let xml = format!(
            "<step id=\"s\"><listeners><listener ref=\"hearing\">{}</listener></listeners><chunk item-count=\"2\"><reader ref=\"watched\"/>\
             <writer ref=\"watched\">{}</writer><retryable-exception-classes><include class=\"Bad\"/></retryable-exception-classes></chunk></step>",
            properties(&[("hear", "chunk")]),
            properties(fail)
        );
        assert_eq!(process.start(&xml, &[]).status, BatchStatus::Completed);
        process.said().join(", ")
    };
    let whole = "before chunk, writer write, after chunk, reader checkpoint, writer checkpoint";
    let last = "before chunk, after chunk, reader checkpoint, writer checkpoint";
    assert_eq!(run(&[]), format!("reader open, writer open, {whole}, {last}, writer close, reader close"));
    let broken = "before chunk, writer close, reader close, chunk error on purpose, writer open, reader open";
    assert_eq!(
        run(&[("fail", "1")]),
        format!("reader open, writer open, {broken}, {whole}, {whole}, {last}, writer close, reader close")
    );
}

struct Plans(u32, bool);

impl PartitionMapper for Plans {
    fn plan(&mut self) -> Answer<PartitionPlan> {
        let each = |number: u32| BTreeMap::from([("who".to_owned(), number.to_string())]);
        Ok(PartitionPlan { properties: (0..self.0).map(each).collect(), threads: 1, replaces: self.1 })
    }
}

struct Reduces(Log);

impl PartitionReducer for Reduces {
    fn begin(&mut self) -> Answer<()> {
        self.0.lock().push("begin".to_owned());
        Ok(())
    }
    fn rollback(&mut self) -> Answer<()> {
        self.0.lock().push("rollback".to_owned());
        Ok(())
    }
}

/// A plan that discards the earlier partitions has them rolled back first; one with fewer properties than partitions is refused.
#[test]
fn partitions_that_are_planned_anew_are_taken_back_first() {
    let mut process = Process::in_memory();
    process.engine.registry.mapper("plans", |with| {
        Ok(Box::new(Plans(with.number("count", 2)? as u32, with.property("replaces").is_some())))
    });
    let log = Arc::clone(&process.said);
    process.engine.registry.reducer("reduces", move |_| Ok(Box::new(Reduces(Arc::clone(&log)))));
    let xml = "<step id=\"s\"><batchlet ref=\"saying\"><properties><property name=\"say\" value=\"#{partitionPlan['who']}\"/>\
               <property name=\"fail\" value=\"#{jobParameters['fail']}\"/></properties></batchlet><partition><mapper ref=\"plans\"><properties>\
               <property name=\"count\" value=\"#{jobParameters['count']}\"/><property name=\"replaces\" value=\"#{jobParameters['replaces']}\"/>\
               </properties></mapper><reducer ref=\"reduces\"/></partition></step>";
    let first = process.start(xml, &[("count", "2"), ("fail", "Bad")]);
    assert_eq!(
        (first.status, process.said().join(" ")),
        (BatchStatus::Failed, "begin s[0]0 s[1]1 rollback".to_owned())
    );
    let fewer = process.restart(first.id, xml, &[("count", "1")]);
    let cause = fewer.cause.clone().unwrap_or_default();
    assert!(cause.contains("planned in 2 partitions before, and the plan now has properties for 1"), "{cause}");
    process.said();
    let anew = process.restart(fewer.id, xml, &[("count", "1"), ("replaces", "yes")]);
    assert_eq!(
        (anew.status, process.said().join(" ")),
        (BatchStatus::Completed, "begin rollback s[0]0".to_owned()),
        "{anew:?}"
    );
}

/// A process that lost its execution while its mapper ran removed the partitions of the process that had taken it over.
#[test]
fn a_process_that_lost_its_execution_removes_no_partition() {
    let medium = crate::kit::medium();
    let mut process = Process::new(crate::kit::backend(&medium), std::path::PathBuf::new());
    let new: Arc<parking_lot::Mutex<Option<Process>>> = Arc::default();
    let partitions = |process: &Process| {
        let mut work = process.engine.repository.begin().unwrap();
        let of = quayline_batch::PageOf { prefix: b"t", after: None, newest_first: false, count: 10 };
        work.page(of).unwrap().len()
    };
    let (taken, on) = (Arc::clone(&new), medium.clone());
    process.engine.registry.mapper("plans", move |with| {
        let replaces = with.property("replaces").is_some();
        if replaces {
            *taken.lock() = Some(Process::new(crate::kit::backend(&on), std::path::PathBuf::new()));
        }
        Ok(Box::new(Plans(2, replaces)))
    });
    let xml = "<step id=\"s\"><batchlet ref=\"saying\"><properties><property name=\"fail\" value=\"#{jobParameters['fail']}\"/></properties></batchlet>\
               <partition><mapper ref=\"plans\"><properties><property name=\"replaces\" value=\"#{jobParameters['replaces']}\"/></properties></mapper>\
               </partition></step>";
    let first = process.start(xml, &[("fail", "Bad")]);
    let before = partitions(&process);
    assert_eq!(before, 3, "a step and two partitions");
    let again = crate::kit::given(&[("replaces", "yes")]);
    let launched = process.engine.restart(first.id, &crate::kit::job(xml), again, quayline_batch::Drift::Refuse);
    let refused = launched.unwrap().run().unwrap_err();
    assert!(refused.to_string().contains("taken over"), "{refused}");
    assert_eq!(partitions(new.lock().as_ref().unwrap()), before);
}

/// A misspelt property would be an empty text in each partition, and an empty range is the whole file.
#[test]
fn a_reference_to_a_property_that_no_partition_has_is_refused() {
    let mut process = Process::in_memory();
    process.engine.registry.mapper("plans", |_| Ok(Box::new(Plans(2, false))));
    let step = |name: &str, source: &str| {
        format!(
            "<step id=\"s\"><batchlet ref=\"saying\"><properties><property name=\"say\" value=\"#{{partitionPlan['{name}']}}\"/></properties></batchlet>\
             <partition>{source}</partition></step>"
        )
    };
    let mapper = "<mapper ref=\"plans\"/>";
    assert_eq!(process.start(&step("who", mapper), &[]).status, BatchStatus::Completed);
    let execution = process.start(&step("whom", mapper), &[]);
    let cause = execution.cause.unwrap_or_default();
    assert!(cause.contains("#{partitionPlan['whom']} has no value in any partition of step s"), "{cause}");
    let plan =
        "<plan partitions=\"2\"><properties partition=\"0\"><property name=\"who\" value=\"a\"/></properties></plan>";
    let found = |name: &str| {
        let findings = job(&step(name, plan)).check(None, &|_| None, &process.engine.registry);
        findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(found("who"), Vec::<String>::new());
    assert_eq!(found("whom"), ["#{partitionPlan['whom']} has no value in any partition"]);
    let empty = step("whom", plan).replace("['whom']}", "['whom']}?:;");
    assert_eq!(job(&empty).check(None, &|_| None, &process.engine.registry).len(), 0);
}

/// Fails the chunk after the one that it wrote, and logs each.
struct Ends(Log);

impl Listener for Ends {
    fn after_chunk(&mut self) -> Answer<()> {
        self.0.lock().push("after chunk".to_owned());
        if self.0.lock().len() == 2 { Err(Thrown::new("Bad", "on purpose")) } else { Ok(()) }
    }
}

/// A chunk that a listener fails after its write is rolled back, with its metrics.
#[test]
fn metrics_of_a_chunk_that_fails_at_its_end_are_taken_back() {
    let mut process = Process::in_memory();
    let log = Arc::clone(&process.said);
    process.engine.registry.listener("ends", move |_| Ok(Box::new(Ends(Arc::clone(&log)))));
    process
        .engine
        .registry
        .writer("quiet", |_| Ok(Box::new(Watched { name: "writer", left: 0, fail: false, said: Log::default() })));
    let xml = "<step id=\"s\"><listeners><listener ref=\"ends\"/></listeners><chunk item-count=\"4\"><reader ref=\"counting\"/><writer ref=\"quiet\"/></chunk></step>";
    let execution = process.start(xml, &[]);
    assert_eq!(execution.status, BatchStatus::Failed);
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write, counts.commit, counts.rollback), (4, 4, 1, 1), "{counts:?}");
}
