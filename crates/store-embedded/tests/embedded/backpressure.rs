//! Bounds of memory and disk: commits wait, nothing grows beyond them, and nothing is lost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use quayline_store::{Change, Engine as _, FullKey};
use quayline_store_embedded::fake::FakeDisk;
use quayline_store_embedded::{EmbeddedEngine, Medium, MediumFile, OpenMode, Settings, Work};

use crate::support::{SPACES, clock, open, small, state};

/// A disk on which the syncs of some files wait until the gate opens.
#[derive(Clone, Debug)]
struct GatedDisk {
    disk: FakeDisk,
    /// Beginning of the names of those files.
    files: &'static str,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, closed: bool) {
        *self.closed.lock() = closed;
        self.opened.notify_all();
    }
}

#[derive(Debug)]
struct GatedFile(Arc<dyn MediumFile>, Arc<Gate>);

impl MediumFile for GatedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read(at, into)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(at, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        let mut closed = self.1.closed.lock();
        while *closed {
            self.1.opened.wait(&mut closed);
        }
        drop(closed);
        self.0.sync()
    }
}

impl Medium for GatedDisk {
    fn name(&self) -> String {
        self.disk.name()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn MediumFile>> {
        let file = self.disk.open(name, mode)?;
        Ok(if name.starts_with(self.files) { Arc::new(GatedFile(file, Arc::clone(&self.gate))) } else { file })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.disk.sync_folder()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.disk.lock()
    }
}

fn gated(files: &'static str, settings: Settings) -> (GatedDisk, EmbeddedEngine) {
    let disk = GatedDisk { disk: FakeDisk::new(1), files, gate: Arc::default() };
    let settings = Settings { work: Work::Background, ..settings };
    let engine = EmbeddedEngine::open(Arc::new(disk.clone()), &clock(1), settings).expect("a store");
    (disk, engine)
}

/// Waits until a count has not changed for some time, and returns it.
fn settled(count: &AtomicU64) -> u64 {
    let mut last = (count.load(Ordering::SeqCst), Instant::now());
    while last.1.elapsed() < Duration::from_millis(300) {
        std::thread::sleep(Duration::from_millis(5));
        let now = count.load(Ordering::SeqCst);
        if now != last.0 {
            last = (now, Instant::now());
        }
    }
    last.0
}

/// Bytes of a value of these tests.
const VALUE: usize = 1_000;
const WORKERS: u64 = 4;
const EACH: u64 = 300;

fn key(me: u64, number: u64) -> FullKey {
    FullKey::new(SPACES[0], &[me.to_be_bytes(), number.to_be_bytes()].concat())
}

/// Workers commit while the applier cannot: at some point they wait. `passing` values are deleted again, so that only the log grows.
fn held_by_the_applier(settings: Settings, passing: bool, bytes_of: impl Fn(&EmbeddedEngine) -> u64, most: u64) {
    let (disk, engine) = gated("store.redb", settings);
    disk.gate.set(true);
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for me in 0..WORKERS {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || {
                for number in 0..EACH {
                    let value: Arc<[u8]> = Arc::from([7; VALUE].as_slice());
                    let change = if passing { Change::Fresh(value) } else { Change::Put(value) };
                    engine.commit(vec![(key(me, number), change)], Box::new(|_| ())).expect("committed");
                    if passing && number + 1 < EACH {
                        let delete = vec![(key(me, number), Change::Delete)];
                        engine.commit(delete, Box::new(|_| ())).expect("committed");
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let stopped = settled(&done);
        let bytes = bytes_of(&engine);
        disk.gate.set(false);
        assert!(stopped > 0 && stopped < WORKERS * EACH, "the commits did not wait: {stopped} are done");
        assert!(bytes <= most, "{bytes} bytes, expected at most {most}");
        // One unit of each worker entered after the last look.
        assert!(bytes + WORKERS * 2 * (VALUE as u64) >= most / 2, "commits waited early: {bytes} of {most} bytes");
    });
    assert_eq!(done.load(Ordering::SeqCst), WORKERS * EACH, "all commits ended");
    assert!(engine.facts().stalled_us > 0);
    let expected = if passing { WORKERS } else { WORKERS * EACH };
    assert_eq!(state(&engine).expect("readable").len() as u64, expected, "nothing is lost");
    drop(engine);
    let again = open(&disk.disk.after_power_cut(), small(), 2).expect("opens again");
    assert_eq!(state(&again).expect("readable").len() as u64, expected, "nothing is lost after a power cut");
}

#[test]
fn commits_wait_while_changes_in_memory_reach_their_bound() {
    const MAX: usize = 100_000;
    // Only the bound wakes the applier, which then cannot finish.
    let settings = Settings { delta_bytes_max: MAX, apply_bytes: usize::MAX, apply_interval_ms: 3_600_000, ..small() };
    // The last group was written while there was room.
    let group = WORKERS * 2 * VALUE as u64;
    held_by_the_applier(settings, false, |engine| engine.facts().delta_bytes, MAX as u64 + group);
}

#[test]
fn commits_wait_while_the_log_reaches_its_bound() {
    const MAX: u64 = 200_000;
    let settings = Settings { log_bytes_max: MAX, apply_interval_ms: 3_600_000, ..small() };
    let group = WORKERS * 2 * VALUE as u64;
    held_by_the_applier(settings, true, |engine| engine.facts().log_bytes, MAX + group);
}

/// The log cannot be synced, so all submitted units remain in progress.
fn held_by_the_log(settings: Settings, at_most: u64) {
    const UNITS: u64 = 600;
    let (disk, engine) = gated("log-", settings);
    disk.gate.set(true);
    let (submitted, completed) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
    std::thread::scope(|scope| {
        let (engine, submitted, completed) = (&engine, &submitted, &completed);
        scope.spawn(move || {
            for number in 0..UNITS {
                let completed = Arc::clone(completed);
                let batch = vec![(key(0, number), Change::Put(Arc::from([7; VALUE].as_slice())))];
                engine.submit(
                    batch,
                    Box::new(move |outcome| {
                        outcome.expect("committed");
                        completed.fetch_add(1, Ordering::SeqCst);
                    }),
                );
                submitted.fetch_add(1, Ordering::SeqCst);
            }
        });
        let stopped = settled(submitted);
        assert_eq!(completed.load(Ordering::SeqCst), 0, "nothing is durable");
        disk.gate.set(false);
        // One group is at the disk, and another one waits.
        assert!(stopped > 0 && stopped <= 2 * at_most, "{stopped} units are on their way, expected {at_most} a group");
    });
    engine.wait(engine.position()).expect("durable");
    let began = Instant::now();
    while completed.load(Ordering::SeqCst) < UNITS && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(completed.load(Ordering::SeqCst), UNITS, "each unit got its outcome");
    assert_eq!(state(&engine).expect("readable").len() as u64, UNITS, "nothing is lost");
}

#[test]
fn submitters_wait_while_the_units_on_their_way_reach_their_bound() {
    held_by_the_log(Settings { in_flight_units_max: 20, ..small() }, 20);
}

#[test]
fn submitters_wait_while_the_bytes_on_their_way_reach_their_bound() {
    // A unit has its value, its key and some bytes around them.
    held_by_the_log(Settings { in_flight_bytes_max: 30 * VALUE, ..small() }, 30);
}
