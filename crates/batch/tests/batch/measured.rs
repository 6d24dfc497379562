//! What jobs count in the intervals of a server.

use std::sync::Arc;

use quayline_batch::BatchStatus;
use quayline_workload::{Collector, Interval, System, Workload, WorkloadConfig};

use crate::kit::{Process, backend, medium};

/// Runs a job of one step and returns its interval.
fn interval(step: &str) -> Interval {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::new(backend(&medium()), folder.path().to_owned());
    let workload = Workload::new(WorkloadConfig::default(), 2);
    let mut collector = Collector::new(Arc::clone(&workload), Box::new(System));
    process.engine.workload = Some(workload);
    let execution = process.start(step, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    collector.finish().interval.unwrap()
}

fn counts(interval: &Interval) -> (u64, u64, u64) {
    let class = interval.classes.iter().find(|class| class.count > 0).unwrap();
    (class.count, class.failed, class.commits)
}

fn reader(more: &str) -> String {
    let count = "<property name=\"count\" value=\"7\"/>";
    format!("<reader ref=\"counting\"><properties>{count}{more}</properties></reader><writer ref=\"picky\"/>")
}

/// Regression: each step and each partition counted an item more, for the read that finds the end, and rolled back chunks counted as commits.
#[test]
fn items_and_commits_are_those_of_the_step() {
    let plain = |items: u32| format!("<step id=\"s\"><chunk item-count=\"{items}\">{}</chunk></step>", reader(""));
    assert_eq!(counts(&interval(&plain(3))), (7, 0, 3));
    assert_eq!(counts(&interval(&plain(7))), (7, 0, 2));
    let partitions =
        plain(3).replace("</chunk>", "</chunk><partition><plan partitions=\"4\" threads=\"2\"/></partition>");
    assert_eq!(counts(&interval(&partitions)), (28, 0, 12));
}
