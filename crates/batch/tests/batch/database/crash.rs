//! The process ends at every commit in turn, with the repository in a database: rows and files are those of an undisturbed run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use quayline_batch::{Backend, BatchStatus, DatabaseBackend};
use quayline_postgres::server::OwnServer;
use quayline_store::{Clock, SystemClock};

use super::{artifact, in_file, lines, sql, value};
use crate::around::{Around, AroundBackend};
use crate::crash::{Ending, Jumping, events_are_those_of, keeping};
use crate::kit::{Process, given};

const ROWS: u32 = 57;

/// Returns a job with a chunk step, a split, partitions, and rows that are written to a file.
fn job() -> String {
    let step = |id: &str, next: &str, reader: &str, writer: &str, more: &str| {
        let next = if next.is_empty() { String::new() } else { format!("next=\"{next}\"") };
        format!("<step id=\"{id}\" {next}><chunk item-count=\"10\">{reader}{writer}</chunk>{more}</step>")
    };
    let into = |table: &str, send: &str| {
        artifact("writer", "sqlWriter", &[("table", table), ("columns", "id,name,amount"), ("send", send)])
    };
    let partitions: String = (0..3)
        .map(|number| {
            let property = format!("<property name=\"in\" value=\"part{number}.json\"/>");
            format!("<properties partition=\"{number}\">{property}</properties>")
        })
        .collect();
    let query = "SELECT id, name, amount FROM loaded ORDER BY id";
    let unload = artifact("reader", "sqlReader", &[("query", query), ("key", "id")]);
    [
        step("load", "both", &in_file("in.json"), &into("loaded", "set"), ""),
        format!(
            "<split id=\"both\" next=\"parts\"><flow id=\"f\">{}</flow><flow id=\"g\">{}</flow></split>",
            step("copy", "", &in_file("in.json"), &into("copied", "rows"), ""),
            step("unload", "", &unload, &artifact("writer", "fileWriter", &[("file", "out.json")]), ""),
        ),
        step(
            "parts",
            "",
            &in_file("#{partitionPlan['in']}"),
            &into("parted", "set"),
            &format!("<partition><plan partitions=\"3\" threads=\"2\">{partitions}</plan></partition>"),
        ),
    ]
    .concat()
}

fn prepare(server: &OwnServer, folder: &Path) {
    sql(server, "TRUNCATE loaded, copied, parted; DROP SCHEMA IF EXISTS quayline_jobs CASCADE");
    lines(folder, "in.json", 1..=ROWS);
    for number in 0..3 {
        lines(folder, &format!("part{number}.json"), number * 19 + 1..=number * 19 + 19);
    }
    let _ = std::fs::remove_file(folder.join("out.json"));
}

/// Returns all results of the job.
fn left(server: &OwnServer, folder: &Path) -> BTreeMap<String, String> {
    let all = |table: &str| value(server, &format!("SELECT string_agg(t::text, ' ' ORDER BY id) FROM {table} AS t"));
    let mut left: BTreeMap<String, String> =
        ["loaded", "copied", "parted"].iter().map(|table| ((*table).to_owned(), all(table))).collect();
    for entry in std::fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        left.insert(entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap());
    }
    left
}

struct Kit<'s> {
    server: &'s OwnServer,
    folder: &'s Path,
    clock: Arc<dyn Clock>,
}

impl Kit<'_> {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::new(DatabaseBackend::open(self.server.endpoint(), Arc::clone(&self.clock)).unwrap())
    }

    fn mortal(&self, commits: u64, last_happens: bool) -> (Process, Arc<Ending>) {
        let ending = Ending::new(last_happens);
        let around = Arc::clone(&ending) as Arc<dyn Around>;
        let mut process =
            Process::new(Arc::new(AroundBackend { inner: self.backend(), around }), self.folder.to_owned());
        process.engine.keeping = keeping();
        ending.after(commits);
        (process, ending)
    }

    /// Ends the process at a commit, and runs the job to its end in another process.
    fn crash(&self, at: u64, last_happens: bool, expected: &BTreeMap<String, String>) {
        prepare(self.server, self.folder);
        let (process, _) = self.mortal(at, last_happens);
        let started = process.engine.start(&crate::kit::job(&job()), given(&[])).map(|launched| launched.run());
        drop(process);
        let mut process = Process::new(self.backend(), self.folder.to_owned());
        process.engine.keeping = keeping();
        let last = process.engine.repository.latest(0, 1).unwrap();
        let ended = match last.first() {
            None => process.start(&job(), &[]),
            Some(last) if last.status == BatchStatus::Completed => last.clone(),
            Some(last) => process.restart(last.id, &job(), &[]),
        };
        assert_eq!(ended.status, BatchStatus::Completed, "commit {at}: {ended:?} after {started:?}");
        assert_eq!(left(self.server, self.folder), *expected, "commit {at}, last happens: {last_happens}");
        events_are_those_of(&process);
        // Each row counts in one of the executions.
        let repository = &process.engine.repository;
        for (step, count) in [("load", ROWS), ("copy", ROWS), ("unload", ROWS), ("parts", ROWS)] {
            let executions = repository.executions(ended.instance).unwrap();
            let steps = executions.iter().flat_map(|id| repository.steps(*id).unwrap());
            let counts: Vec<_> = steps.filter(|run| run.step == step).map(|run| run.counts).collect();
            let written: u64 = counts.iter().map(|counts| counts.write).sum();
            let read: u64 = counts.iter().map(|counts| counts.read).sum();
            assert_eq!((read, written), (count.into(), count.into()), "commit {at}, step {step}: {counts:?}");
        }
    }
}

#[test]
fn a_crash_at_every_commit_leaves_the_rows_of_an_undisturbed_run() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = super::server(folder.path()) else { return };
    let table = "(id bigint PRIMARY KEY, name varchar(12), amount numeric(12,2) NOT NULL)";
    sql(
        &server,
        &format!("CREATE TABLE loaded {table}; CREATE TABLE copied (LIKE loaded); CREATE TABLE parted (LIKE loaded)"),
    );
    let files = tempfile::tempdir().unwrap();
    let kit = Kit { server: &server, folder: files.path(), clock: Arc::new(SystemClock) };
    prepare(&server, files.path());
    let (process, ending) = kit.mortal(1_000_000, false);
    let execution = process.start(&job(), &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let commits = 1_000_000 - ending.left();
    drop(process);
    let expected = left(&server, files.path());
    assert_eq!(expected["out.json"].lines().count(), ROWS as usize);
    assert!(expected["loaded"] == expected["copied"] && expected["copied"] == expected["parted"]);
    assert!(commits > 40, "{commits} commits");
    for at in 1..=commits {
        for last_happens in [false, true] {
            kit.crash(at, last_happens, &expected);
        }
    }
    // The clock of a process jumps forward and back by years. Leases depend on sessions.
    let kit = Kit { clock: Arc::new(Jumping::default()), ..kit };
    for at in (3..=commits).step_by(6) {
        kit.crash(at, at % 2 == 0, &expected);
    }
}
