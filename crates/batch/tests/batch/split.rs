//! Partitions that give a part of their range away.

use std::path::Path;
use std::sync::Arc;

use quayline_batch::BatchStatus;
use quayline_batch::record::Execution;

use crate::kit::{Process, backend, medium};

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
