//! Crash tests: the process ends at every commit in turn, and the job continues in another process. Files are byte-identical, and each message and
//! record exists once, for a chunk, partitions, and a split.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use quayline_batch::event::{self, Event, EventPosition, Keeping, TopicFilter};
use quayline_batch::record::Execution;
use quayline_batch::{Backend, BatchError, BatchStatus, Repository, Work};
use quayline_store::queue::{GetWait, Message, QueueDefinition, Select};
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};
use quayline_store::{MemoryEngine, Store};

use crate::around::{Around, AroundBackend};
use crate::kit::{Process, backend, medium, store};

/// End of the process after a number of commits.
pub(crate) struct Ending {
    left: AtomicU64,
    /// True if the last commit still happens.
    last_happens: bool,
}

impl Ending {
    /// Creates an ending that does not occur before a call of [`Ending::after`].
    pub(crate) fn new(last_happens: bool) -> Arc<Ending> {
        Arc::new(Ending { left: AtomicU64::new(u64::MAX), last_happens })
    }

    pub(crate) fn after(&self, commits: u64) {
        self.left.store(commits, Ordering::SeqCst);
    }

    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::SeqCst)
    }

    fn is_over(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    fn commit(&self) -> Outcome {
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Err(_) => Outcome::Lost,
            Ok(1) if self.last_happens => Outcome::HappensUnheard,
            Ok(1) => Outcome::Lost,
            Ok(_) => Outcome::Happens,
        }
    }
}

enum Outcome {
    Happens,
    /// The commit is durable, but the process ends before it learns the outcome.
    HappensUnheard,
    Lost,
}

fn gone() -> BatchError {
    BatchError::Damaged { what: "the process is gone" }
}

impl Around for Ending {
    fn begins(&self) -> Result<(), BatchError> {
        if self.is_over() { Err(gone()) } else { Ok(()) }
    }

    fn commit(&self, work: Box<dyn Work>) -> Result<(), BatchError> {
        match Ending::commit(self) {
            Outcome::Happens => work.commit(),
            Outcome::HappensUnheard => work.commit().and(Err(gone())),
            Outcome::Lost => Err(gone()),
        }
    }
}

const RECORDS: usize = 57;

/// Returns the places of a crash to test: some of all by default, and at least `QUAYLINE_KILLS` if that is set.
pub(crate) fn chosen<T: Clone>(all: &[T], default: usize) -> Vec<T> {
    let count = std::env::var("QUAYLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    match all.len() {
        0 => Vec::new(),
        length if count >= length => all.iter().cycle().take(count).cloned().collect(),
        length => (0..count).map(|number| all[number * length / count].clone()).collect(),
    }
}

/// Calls a function at one commit: after it, or while it happens.
pub(crate) struct At {
    left: AtomicU64,
    is_after: bool,
    call: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// The call that runs while a commit happens.
    running: Mutex<Option<JoinHandle<()>>>,
}

impl At {
    pub(crate) fn new(commits: u64, is_after: bool) -> Arc<At> {
        let (call, running) = (Mutex::default(), Mutex::default());
        Arc::new(At { left: AtomicU64::new(commits), is_after, call, running })
    }

    pub(crate) fn set(&self, call: impl FnOnce() + Send + 'static) {
        *self.call.lock() = Some(Box::new(call));
    }

    /// Waits until the call has ended.
    pub(crate) fn end(&self) {
        let running = self.running.lock().take();
        running.into_iter().for_each(|running| running.join().unwrap());
    }
}

impl Around for At {
    fn commit(&self, work: Box<dyn Work>) -> Result<(), BatchError> {
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let call = if left == Ok(1) { self.call.lock().take() } else { None };
        match call {
            Some(call) if self.is_after => {
                let done = work.commit();
                let (ended, wait) = std::sync::mpsc::channel::<()>();
                *self.running.lock() = Some(std::thread::spawn(move || {
                    call();
                    drop(ended);
                }));
                // The thread that commits may hold the lock of another unit of work, and the call then waits for it.
                let _ = wait.recv_timeout(Duration::from_millis(100));
                done
            }
            Some(call) => {
                *self.running.lock() = Some(std::thread::spawn(call));
                work.commit()
            }
            None => work.commit(),
        }
    }
}

/// Returns results without the Parquet file. A stop ends a chunk early, and a row group ends with a chunk, so the groups may differ; the rows are also in
/// `rows.json`.
pub(crate) fn without_groups(mut left: BTreeMap<String, String>) -> BTreeMap<String, String> {
    assert!(left.remove("table.parquet").is_some());
    left
}

/// Requests a stop at one commit of a job, and restarts the job until it completes. Returns the executions.
///
/// The request arrives as one of another process does: a record, which the process finds at its next look.
pub(crate) fn stopped_at(at: u64, is_after: bool, inner: Arc<dyn Backend>, folder: &Path, xml: &str) -> Vec<Execution> {
    let around = At::new(at, is_after);
    let hook = Arc::clone(&around) as Arc<dyn Around>;
    let backend = Arc::new(AroundBackend { inner: Arc::clone(&inner), around: hook });
    let mut process = Process::new(backend, folder.to_owned());
    process.engine.keeping = keeping();
    let (process, other) = (Arc::new(process), Repository::new(inner));
    let launched = process.engine.start(&crate::kit::job(xml), crate::kit::given(&[])).unwrap();
    let (id, own) = (launched.id(), Arc::downgrade(&process));
    around.set(move || {
        // The execution may have ended with this commit.
        if let (Ok(()), Some(process)) = (other.request_stop(id), own.upgrade()) {
            for id in process.engine.repository.stop_requests(&[id]).unwrap_or_default() {
                let _ = process.engine.stop(id);
            }
        }
    });
    let first = launched.run().unwrap();
    around.end();
    let is_stopped = first.status == BatchStatus::Stopped;
    assert!(is_stopped || first.status == BatchStatus::Completed, "commit {at}: {first:?}");
    let mut executions = vec![first];
    if is_stopped {
        executions.push(process.restart(id, xml, &[]));
    }
    assert_eq!(executions.last().map(|last| last.status), Some(BatchStatus::Completed), "commit {at}: {executions:?}");
    events_are_those_of(&process);
    executions
}

fn input() -> String {
    (0..RECORDS).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{number:04}line");
        text
    })
}

fn rows() -> String {
    (0..RECORDS).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{{\"id\":{number},\"name\":\"line {number}\"}}");
        text
    })
}

pub(crate) fn job() -> String {
    let property = |name: &str, value: &str| format!("<property name=\"{name}\" value=\"{value}\"/>");
    let artifact = |element: &str, name: &str, list: &[(&str, &str)]| {
        let list: String = list.iter().map(|(name, value)| property(name, value)).collect();
        format!("<{element} ref=\"quayline.{name}\"><properties>{list}</properties></{element}>")
    };
    let step = |id: &str, next: &str, reader: &str, writer: &str, more: &str| {
        let next = if next.is_empty() { String::new() } else { format!("next=\"{next}\"") };
        format!("<step id=\"{id}\" {next}><chunk item-count=\"10\">{reader}{writer}</chunk>{more}</step>")
    };
    let partitions: String = (0..3)
        .map(|number| {
            let list = property("in", &format!("part{number}.txt")) + &property("out", &format!("out{number}.txt"));
            format!("<properties partition=\"{number}\">{list}</properties>")
        })
        .collect();
    let file = |name| artifact("reader", "fileReader", &[("file", name)]);
    let flow = |id: &str, step: &str| format!("<flow id=\"{id}\">{step}</flow>");
    [
        step("load", "drain", &file("in.txt"), &artifact("writer", "recordFileWriter", &[("file", "CUST")]), ""),
        step(
            "drain",
            "both",
            &artifact("reader", "queueReader", &[("queue", "IN")]),
            &artifact("writer", "queueWriter", &[("queue", "OUT")]),
            "",
        ),
        format!(
            "<split id=\"both\" next=\"parts\">{}{}</split>",
            flow(
                "f",
                &step("copy", "", &file("in.txt"), &artifact("writer", "fileWriter", &[("file", "copy.txt")]), "")
            ),
            flow(
                "g",
                &step(
                    "unload",
                    "",
                    &artifact("reader", "recordFileReader", &[("file", "CUST")]),
                    &artifact("writer", "fileWriter", &[("file", "cust.txt"), ("prologue", "["), ("epilogue", "]\\n")]),
                    ""
                )
            ),
        ),
        step(
            "parts",
            "columns",
            &file("#{partitionPlan['in']}"),
            &artifact("writer", "fileWriter", &[("file", "#{partitionPlan['out']}")]),
            &format!("<partition><plan partitions=\"3\" threads=\"2\">{partitions}</plan></partition>"),
        ),
        step(
            "columns",
            "rows",
            &file("in.json"),
            // Two chunks make a row group.
            &artifact(
                "writer",
                "parquetWriter",
                &[("file", "table.parquet"), ("shape", "row.shape"), ("group-bytes", "400")],
            ),
            "",
        ),
        step(
            "rows",
            "",
            &artifact("reader", "parquetReader", &[("file", "table.parquet")]),
            &artifact("writer", "fileWriter", &[("file", "rows.json")]),
            "",
        ),
    ]
    .concat()
}

fn prepare(folder: &Path, medium: &Arc<MemoryEngine>) {
    prepare_in(folder, &store(medium));
}

/// Writes the input of the job, into a folder and a store.
pub(crate) fn prepare_in(folder: &Path, store: &Store) {
    std::fs::write(folder.join("in.txt"), input()).unwrap();
    std::fs::write(folder.join("in.json"), rows()).unwrap();
    std::fs::write(folder.join("row.shape"), "row\n  id decimal(9)\n  name text\n").unwrap();
    for number in 0..3 {
        let lines: String = input().lines().skip(number * 19).take(19).map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join(format!("part{number}.txt")), lines).unwrap();
    }
    let mut unit = store.begin().unwrap();
    let organisation = Organisation::KeySequenced(KeyPlace { offset: 0, length: 4 });
    let definition = FileDefinition {
        name: "CUST".to_owned(),
        organisation,
        record_bytes_min: 8,
        record_bytes_max: 8,
        alternates: Vec::new(),
    };
    store.define_file(&mut unit, definition).unwrap();
    for name in ["IN", "OUT"] {
        store.define_queue(&mut unit, QueueDefinition::local(name)).unwrap();
    }
    unit.commit().unwrap();
    let mut unit = store.begin().unwrap();
    let queue = store.queue("IN").unwrap();
    for number in 0..RECORDS {
        queue.put(&mut unit, &Message::new(format!("m{number}"))).unwrap();
    }
    unit.commit().unwrap();
}

fn left(folder: &Path, medium: &Arc<MemoryEngine>) -> BTreeMap<String, String> {
    left_in(folder, &store(medium))
}

/// Returns all results of the job: files, and the messages of the queue.
pub(crate) fn left_in(folder: &Path, store: &Store) -> BTreeMap<String, String> {
    let mut left = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let content = std::fs::read(entry.path()).unwrap();
        let content = String::from_utf8(content).unwrap_or_else(|error| error.as_bytes().escape_ascii().to_string());
        left.insert(entry.file_name().into_string().unwrap(), content);
    }
    let mut unit = store.begin().unwrap();
    let queue = store.queue("OUT").unwrap();
    let mut messages = Vec::new();
    while let Ok(message) = queue.get(&mut unit, Select::First, GetWait::No) {
        messages.push(String::from_utf8(message.payload).unwrap());
    }
    left.insert("OUT".to_owned(), messages.join(" "));
    left
}

pub(crate) fn keeping() -> Option<Keeping> {
    let filter = TopicFilter(TopicFilter::ALL.0 & !TopicFilter::of([event::LOG]).unwrap().0);
    Some(Keeping { filter, checkpoint_sample_ms: 0, retain: 1_000_000, queue: None, relay: None })
}

/// Everything that is in the repository is among the events, once and in order, and nothing else is.
pub(crate) fn events_are_those_of(process: &Process) {
    let repository = &process.engine.repository;
    let events = repository.events(EventPosition::default(), i64::MAX as usize).unwrap();
    // In a database, a position has the number of the transaction, and numbers may be missing.
    let is_database = repository.begin().unwrap().transaction().is_some();
    assert!(events.iter().is_sorted_by(|(one, _), (next, _)| one < next));
    for (number, (at, _)) in (1..).zip(&events) {
        assert!(is_database || *at == EventPosition(0, number), "{at:?}");
    }
    for execution in repository.latest(0, 100).unwrap() {
        let of = |topic: &str| -> Vec<&Event> {
            let own = events.iter().map(|(_, event)| event).filter(|event| event.execution == execution.id);
            own.filter(|event| event.topic == topic).collect()
        };
        assert_eq!(of(event::SUBMITTED).len(), 1);
        let begun = of(event::STARTED).len() + of(event::RESTARTING).len();
        assert_eq!(begun, usize::from(execution.started_ms.is_some()));
        let ended = [event::COMPLETED, event::FAILED, event::STOPPED].map(|topic| of(topic).len());
        let is = [BatchStatus::Completed, BatchStatus::Failed, BatchStatus::Stopped];
        assert_eq!(ended, is.map(|status| usize::from(execution.status == status)), "{execution:?}");
        for step in repository.steps(execution.id).unwrap() {
            let own = |topic| {
                of(topic).into_iter().filter(|event| event.step.as_ref() == Some(&step.step)).collect::<Vec<_>>()
            };
            assert_eq!(own(event::STEP_STARTED).len(), 1);
            assert_eq!(own(event::STEP_COMPLETED).len(), usize::from(step.status == BatchStatus::Completed));
            let checkpoints = own(event::CHECKPOINT);
            if step.step != "parts" {
                let commits: Vec<u64> = checkpoints.iter().map(|event| event.counts.unwrap().commit).collect();
                // The last chunk of a step may have had nothing to commit.
                assert_eq!(commits, (1..=commits.len() as u64).collect::<Vec<_>>());
                let last = checkpoints.last().map_or(0, |event| event.counts.unwrap().write);
                assert_eq!(last, step.counts.write, "{step:?}");
            }
        }
    }
}

fn mortal(medium: &Arc<MemoryEngine>, folder: &Path, commits: u64, last_happens: bool) -> (Process, Arc<Ending>) {
    // Opening and recovering belong to the next process, which lives long enough for them.
    let ending = Ending::new(last_happens);
    let backend = Arc::new(AroundBackend { inner: backend(medium), around: Arc::clone(&ending) as Arc<dyn Around> });
    let mut process = Process::new(backend, folder.to_owned());
    process.engine.keeping = keeping();
    ending.after(commits);
    (process, ending)
}

#[test]
fn a_crash_at_every_commit_leaves_what_an_undisturbed_run_leaves() {
    let whole = tempfile::tempdir().unwrap();
    let memory = medium();
    prepare(whole.path(), &memory);
    let (process, ending) = mortal(&memory, whole.path(), 1_000_000, false);
    let execution = process.start(&job(), &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    events_are_those_of(&process);
    let commits = 1_000_000 - ending.left();
    let expected = left(whole.path(), &memory);
    assert!(
        expected["copy.txt"] == input() && expected["OUT"].ends_with("m56") && expected["cust.txt"].ends_with("]\n")
    );
    assert_eq!(expected["rows.json"], rows());
    assert_eq!(expected.len(), 14, "nothing else is left: {:?}", expected.keys());
    assert!(commits > 50, "{commits} commits");
    let mut crashes = 0;
    for at in 1..=commits {
        for last_happens in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let memory = medium();
            prepare(folder.path(), &memory);
            let file = crate::kit::job(&job());
            let (process, _) = mortal(&memory, folder.path(), at, last_happens);
            // The first commit makes the execution; without it there is nothing to restart.
            let started = process.engine.start(&file, crate::kit::given(&[])).map(|launched| launched.run());
            drop(process);
            crashes += 1;
            let mut process = Process::new(backend(&memory), folder.path().to_owned());
            process.engine.keeping = keeping();
            let last = process.engine.repository.latest(0, 1).unwrap();
            let ended = match last.first() {
                None => process.start(&job(), &[]),
                Some(last) if last.status == BatchStatus::Completed => last.clone(),
                Some(last) => process.restart(last.id, &job(), &[]),
            };
            assert_eq!(ended.status, BatchStatus::Completed, "commit {at}: {ended:?} after {started:?}");
            events_are_those_of(&process);
            assert_eq!(left(folder.path(), &memory), expected, "commit {at}, last happens: {last_happens}");
        }
    }
    assert!(crashes >= 80, "{crashes} crashes");
}

/// Two crashes in one instance, at every third pair of commits.
#[test]
fn a_crash_of_the_restart_is_survived_too() {
    let expected = {
        let folder = tempfile::tempdir().unwrap();
        let memory = medium();
        prepare(folder.path(), &memory);
        let process = Process::new(backend(&memory), folder.path().to_owned());
        assert_eq!(process.start(&job(), &[]).status, BatchStatus::Completed);
        left(folder.path(), &memory)
    };
    for (first, second) in (5..45).step_by(5).flat_map(|first| (3..30).step_by(4).map(move |second| (first, second))) {
        let folder = tempfile::tempdir().unwrap();
        let memory = medium();
        prepare(folder.path(), &memory);
        let file = crate::kit::job(&job());
        let (process, _) = mortal(&memory, folder.path(), first, true);
        let _ = process.engine.start(&file, crate::kit::given(&[])).unwrap().run();
        let (process, _) = mortal(&memory, folder.path(), second, false);
        let last = process.engine.repository.latest(0, 1).unwrap();
        let again = process.engine.restart(last[0].id, &file, crate::kit::given(&[]), quayline_batch::Drift::Refuse);
        let _ = again.map(|launched| launched.run());
        let process = Process::new(backend(&memory), folder.path().to_owned());
        let last = process.engine.repository.latest(0, 1).unwrap();
        let ended = match &last[0] {
            last if last.status == BatchStatus::Completed => last.clone(),
            last => process.restart(last.id, &job(), &[]),
        };
        assert_eq!(ended.status, BatchStatus::Completed, "{first} then {second}");
        assert_eq!(left(folder.path(), &memory), expected, "{first} then {second}");
    }
}

/// A process that takes over what another one left ends at each of its commits: first of the recovery, then of the restart.
#[test]
fn a_crash_of_the_takeover_is_survived_too() {
    let expected = {
        let folder = tempfile::tempdir().unwrap();
        let memory = medium();
        prepare(folder.path(), &memory);
        let process = Process::new(backend(&memory), folder.path().to_owned());
        assert_eq!(process.start(&job(), &[]).status, BatchStatus::Completed);
        left(folder.path(), &memory)
    };
    let (mut in_recovery, mut in_restart) = (0, 0);
    for (first, last_happens) in (5..50).step_by(3).flat_map(|first| [(first, false), (first, true)]) {
        // The commits of a recovery are few; the first ones of a restart take over the steps.
        for second in 1..=6 {
            let folder = tempfile::tempdir().unwrap();
            let memory = medium();
            prepare(folder.path(), &memory);
            let file = crate::kit::job(&job());
            let (process, _) = mortal(&memory, folder.path(), first, true);
            let _ = process.engine.start(&file, crate::kit::given(&[])).unwrap().run();
            drop(process);
            let ending = Ending::new(last_happens);
            ending.after(second);
            let around = Arc::clone(&ending) as Arc<dyn Around>;
            let repository = Repository::new(Arc::new(AroundBackend { inner: backend(&memory), around }));
            if repository.recover().is_err() {
                in_recovery += 1;
            } else {
                let (process, _) = mortal(&memory, folder.path(), ending.left().max(1), last_happens);
                let last = process.engine.repository.latest(0, 1).unwrap();
                if last[0].status != BatchStatus::Completed {
                    let drift = quayline_batch::Drift::Refuse;
                    let again = process.engine.restart(last[0].id, &file, crate::kit::given(&[]), drift);
                    in_restart += u32::from(again.is_err());
                    let _ = again.map(|launched| launched.run());
                }
            }
            drop(repository);
            let process = Process::new(backend(&memory), folder.path().to_owned());
            let last = process.engine.repository.latest(0, 1).unwrap();
            let ended = match &last[0] {
                last if last.status == BatchStatus::Completed => last.clone(),
                last => process.restart(last.id, &job(), &[]),
            };
            assert_eq!(ended.status, BatchStatus::Completed, "{first} then {second}");
            assert_eq!(left(folder.path(), &memory), expected, "{first} then {second}, last happens: {last_happens}");
        }
    }
    eprintln!("{in_recovery} ends in a recovery, {in_restart} in the first commit of a restart");
    assert!(in_recovery > 0 && in_restart > 0);
}

/// A clock that jumps forward and back by years.
#[derive(Debug, Default)]
pub(crate) struct Jumping(AtomicU64);

impl quayline_store::Clock for Jumping {
    fn now_ms(&self) -> u64 {
        const YEAR_MS: u64 = 365 * 86_400_000;
        let calls = self.0.fetch_add(1, Ordering::Relaxed);
        50 * YEAR_MS + calls * 7 % 41 * YEAR_MS
    }
    fn random(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Leases depend on the ownership of the repository, not on time: a clock that jumps loses and repeats nothing, and never lets two processes run one
/// execution.
#[test]
fn a_clock_that_jumps_changes_nothing() {
    let expected = {
        let folder = tempfile::tempdir().unwrap();
        let memory = medium();
        prepare(folder.path(), &memory);
        let process = Process::new(backend(&memory), folder.path().to_owned());
        assert_eq!(process.start(&job(), &[]).status, BatchStatus::Completed);
        left(folder.path(), &memory)
    };
    let clock = Arc::new(Jumping::default());
    let jumping = |memory: &Arc<MemoryEngine>| -> Arc<dyn quayline_batch::Backend> {
        let engine: Arc<MemoryEngine> = Arc::clone(memory);
        let limits = quayline_store::StoreLimits::default();
        let store = quayline_store::Store::open(engine, Arc::clone(&clock) as _, limits, quayline_store::Access::Write);
        Arc::new(quayline_batch::StoreBackend::new(store.unwrap(), Arc::clone(&clock) as _).unwrap())
    };
    for at in (3..60).step_by(8) {
        let folder = tempfile::tempdir().unwrap();
        let memory = medium();
        prepare(folder.path(), &memory);
        let ending = Ending::new(at % 2 == 0);
        let around = Arc::clone(&ending) as Arc<dyn Around>;
        let process =
            Process::new(Arc::new(AroundBackend { inner: jumping(&memory), around }), folder.path().to_owned());
        ending.after(at);
        let file = crate::kit::job(&job());
        let _ = process.engine.start(&file, crate::kit::given(&[])).map(|launched| launched.run());
        drop(process);
        let process = Process::new(jumping(&memory), folder.path().to_owned());
        let last = process.engine.repository.latest(0, 1).unwrap();
        let ended = process.restart(last[0].id, &job(), &[]);
        assert_eq!(ended.status, BatchStatus::Completed, "commit {at}: {ended:?}");
        assert_eq!(left(folder.path(), &memory), expected, "commit {at}");
    }
}

/// A stop request during and after each commit: the restart continues where the stop was, and the results are those of a run without a stop.
#[test]
fn a_stop_at_every_commit_leaves_what_an_undisturbed_run_leaves() {
    let whole = tempfile::tempdir().unwrap();
    let memory = medium();
    prepare(whole.path(), &memory);
    let (process, ending) = mortal(&memory, whole.path(), 1_000_000, false);
    assert_eq!(process.start(&job(), &[]).status, BatchStatus::Completed);
    let commits = 1_000_000 - ending.left();
    drop(process);
    let expected = without_groups(left(whole.path(), &memory));
    // The first commit makes the execution.
    let places: Vec<(u64, bool)> = (2..=commits).flat_map(|at| [(at, false), (at, true)]).collect();
    let mut stopped = 0;
    for (at, is_after) in chosen(&places, places.len()) {
        let folder = tempfile::tempdir().unwrap();
        let memory = medium();
        prepare(folder.path(), &memory);
        let executions = stopped_at(at, is_after, backend(&memory), folder.path(), &job());
        stopped += executions.len() - 1;
        let left = without_groups(left(folder.path(), &memory));
        assert_eq!(left, expected, "commit {at}, after it: {is_after}");
    }
    assert!(stopped > 40, "{stopped} executions stopped");
}
