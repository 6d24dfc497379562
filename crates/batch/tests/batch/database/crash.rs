//! The process ends at every commit in turn, with the repository in a database: rows and files are those of an undisturbed run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};
use quayline_batch::record::Execution;
use quayline_batch::{Backend, BatchError, BatchStatus, DatabaseBackend, Drift, Work};
use quayline_postgres::server::OwnServer;
use quayline_store::{Clock, SystemClock};

use super::{artifact, in_file, lines, sql, value};
use crate::around::{Around, AroundBackend};
use crate::crash::{Ending, Jumping, chosen, events_are_those_of, keeping, stopped_at};
use crate::kit::{Process, given};

const ROWS: u32 = 57;

/// Returns a job with a chunk step, a split, partitions, and rows that are written to a file.
fn job() -> String {
    job_to(&artifact("writer", "fileWriter", &[("file", "out.json")]))
}

/// Returns the job with another writer of the rows.
fn job_to(writer: &str) -> String {
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
            step("unload", "", &unload, writer, ""),
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
    sql(server, "TRUNCATE loaded, copied, parted, unloaded; DROP SCHEMA IF EXISTS quayline_jobs CASCADE");
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
        ["loaded", "copied", "parted", "unloaded"].iter().map(|table| ((*table).to_owned(), all(table))).collect();
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
        rows_count_once(&process, &ended, at);
    }
}

/// Each row counts in one of the executions.
fn rows_count_once(process: &Process, ended: &Execution, at: u64) {
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

fn tables(server: &OwnServer) {
    let table = "(id bigint PRIMARY KEY, name varchar(12), amount numeric(12,2) NOT NULL)";
    let like =
        ["copied", "parted", "unloaded"].map(|name| format!("; CREATE TABLE {name} (LIKE loaded INCLUDING ALL)"));
    sql(server, &format!("CREATE TABLE loaded {table}{}", like.concat()));
}

#[test]
fn a_crash_at_every_commit_leaves_the_rows_of_an_undisturbed_run() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = super::server(folder.path()) else { return };
    tables(&server);
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

/// A stop request during or after a commit: rows and files are those of a run without a stop.
#[test]
fn a_stop_at_a_commit_leaves_the_rows_of_an_undisturbed_run() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = super::server(folder.path()) else { return };
    tables(&server);
    let files = tempfile::tempdir().unwrap();
    let kit = Kit { server: &server, folder: files.path(), clock: Arc::new(SystemClock) };
    prepare(&server, files.path());
    let (process, ending) = kit.mortal(1_000_000, false);
    assert_eq!(process.start(&job(), &[]).status, BatchStatus::Completed);
    let commits = 1_000_000 - ending.left();
    // Its session has a lock with the number of the first process, which the next repository uses again.
    drop(process);
    let expected = left(&server, files.path());
    let places: Vec<(u64, bool)> = (2..=commits).flat_map(|at| [(at, false), (at, true)]).collect();
    let mut stopped = 0;
    for (at, is_after) in chosen(&places, 16) {
        prepare(&server, files.path());
        let backend = kit.backend();
        let executions = stopped_at(at, is_after, Arc::clone(&backend), files.path(), &job());
        stopped += executions.len() - 1;
        assert_eq!(left(&server, files.path()), expected, "commit {at}, after it: {is_after}");
        let last = executions.last().unwrap();
        rows_count_once(&Process::new(backend, files.path().to_owned()), last, at);
    }
    assert!(stopped > 5, "{stopped} executions stopped");
}

/// Pauses a process at a commit, as SIGSTOP does: none of its threads begins or commits anything until it continues.
struct Pause {
    left: AtomicU64,
    /// True if the commit happens, but the process does not learn it before it continues.
    happens: bool,
    is_paused: Mutex<bool>,
    changed: Condvar,
}

impl Pause {
    fn new(commits: u64, happens: bool) -> Arc<Pause> {
        Arc::new(Pause { left: AtomicU64::new(commits), happens, is_paused: Mutex::default(), changed: Condvar::new() })
    }

    fn set(&self, is_paused: bool) {
        *self.is_paused.lock() = is_paused;
        self.changed.notify_all();
    }

    /// Blocks until the process continues.
    fn pass(&self) {
        self.changed.wait_while(&mut self.is_paused.lock(), |is_paused| *is_paused);
    }

    /// Blocks until the process is paused, or a job is over.
    fn is_reached(&self, is_over: impl Fn() -> bool) -> bool {
        while !*self.is_paused.lock() {
            if is_over() {
                return *self.is_paused.lock();
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        true
    }
}

impl Around for Pause {
    fn begins(&self) -> Result<(), BatchError> {
        self.pass();
        Ok(())
    }

    fn commit(&self, work: Box<dyn Work>) -> Result<(), BatchError> {
        self.pass();
        let is_it = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) == Ok(1);
        if is_it && !self.happens {
            self.set(true);
            self.pass();
        }
        let done = work.commit();
        if is_it && self.happens {
            self.set(true);
        }
        self.pass();
        done
    }
}

/// A process is paused at a commit. While its sessions live, another process cannot continue the execution. When they have ended, another process takes
/// over; then the first one continues, and none of its work commits.
#[test]
fn a_takeover_from_a_process_that_is_paused_at_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = super::server(folder.path()) else { return };
    tables(&server);
    let files = tempfile::tempdir().unwrap();
    let kit = Kit { server: &server, folder: files.path(), clock: Arc::new(SystemClock) };
    // A paused process keeps the locks of its files, so this job writes tables only.
    let xml = job_to(&super::into("unloaded", &[]));
    prepare(&server, files.path());
    let (process, ending) = kit.mortal(1_000_000, false);
    assert_eq!(process.start(&xml, &[]).status, BatchStatus::Completed);
    let commits = 1_000_000 - ending.left();
    drop(process);
    let expected = left(&server, files.path());
    // The first commit makes the execution.
    let places: Vec<(u64, bool)> = (1..commits).flat_map(|at| [(at, false), (at, true)]).collect();
    let (mut fenced, mut refused) = (0, 0);
    for (at, happens) in chosen(&places, 24) {
        prepare(&server, files.path());
        let pause = Pause::new(u64::MAX, happens);
        let around = Arc::clone(&pause) as Arc<dyn Around>;
        let mut first = Process::new(Arc::new(AroundBackend { inner: kit.backend(), around }), files.path().to_owned());
        first.engine.keeping = keeping();
        let launched = first.engine.start(&crate::kit::job(&xml), given(&[])).unwrap();
        let id = launched.id();
        pause.left.store(at, Ordering::SeqCst);
        let ended = std::thread::scope(|scope| {
            let run = scope.spawn(|| launched.run());
            // The last commits are fewer if a chunk at the end of a step had nothing to commit.
            if !pause.is_reached(|| run.is_finished()) {
                return None;
            }
            let mut second = Process::new(kit.backend(), files.path().to_owned());
            second.engine.keeping = keeping();
            let restart = |process: &Process| {
                process
                    .engine
                    .restart(id, &crate::kit::job(&xml), given(&[]), Drift::Refuse)
                    .map(|launched| launched.id())
            };
            let is_running = second.engine.repository.execution(id).unwrap().status.is_running();
            if is_running {
                assert!(restart(&second).is_err(), "commit {at}: two processes at one execution");
                refused += 1;
            }
            // Its machine is gone: the server ends all sessions of the process. A thread of the paused process opens its own again after some time, which a
            // process with SIGSTOP cannot.
            while second.engine.repository.execution(id).unwrap().status.is_running() {
                sql(
                    &server,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() \
                     AND (state <> 'idle' OR pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory'))",
                );
                second.engine.repository.recover().unwrap();
            }
            let last = second.engine.repository.execution(id).unwrap();
            let execution = if last.status == BatchStatus::Completed {
                pause.set(false);
                last
            } else {
                let file = crate::kit::job(&xml);
                let again = second.engine.restart(id, &file, given(&[]), Drift::Refuse).unwrap();
                // From now on both processes run.
                pause.set(false);
                again.run().unwrap()
            };
            Some((second, execution, run.join().unwrap()))
        });
        let Some((second, execution, outcome)) = ended else { continue };
        assert_eq!(execution.status, BatchStatus::Completed, "commit {at}, happens {happens}: {execution:?}");
        if execution.id != id {
            let is_completed = outcome.as_ref().is_ok_and(|outcome| outcome.status == BatchStatus::Completed);
            assert!(!is_completed, "commit {at}, happens {happens}: {outcome:?}");
            fenced += 1;
        }
        drop(first);
        assert_eq!(left(&server, files.path()), expected, "commit {at}, happens: {happens}");
        events_are_those_of(&second);
        rows_count_once(&second, &execution, at);
    }
    eprintln!("{fenced} takeovers; {refused} restarts refused while the paused process had its sessions");
    assert!(fenced > 10 && refused > 10, "{fenced} {refused}");
}
