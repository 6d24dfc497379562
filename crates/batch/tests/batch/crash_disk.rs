//! Crashes of a job whose store is on a disk: the process ends at a commit, or the power of a simulated disk is cut at a write or a sync.
//!
//! The files of the job are outside of the simulated disk. What it writes to them survives, which is one of the things that a power cut may leave.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quayline_batch::{Backend, BatchStatus, StoreBackend};
use quayline_store::{Access, Clock, Engine, Store, StoreError, StoreLimits, SystemClock};
use quayline_store_embedded::fake::{FakeDisk, Trouble};
use quayline_store_embedded::{EmbeddedEngine, Folder, Medium, Settings};

use crate::around::{Around, AroundBackend};
use crate::crash::{
    Ending, chosen, events_are_those_of, job, keeping, left_in, prepare_in, stopped_at, without_groups,
};
use crate::kit::{Process, given};

/// Small segments, so that a job fills several.
fn engine(medium: Arc<dyn Medium>) -> Arc<EmbeddedEngine> {
    let settings = Settings { segment_bytes: 64 << 10, spare_segments_max: 1, ..Settings::default() };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    loop {
        match EmbeddedEngine::open(Arc::clone(&medium), &clock, settings) {
            // The last owner of the engine before may be a thread that is ending.
            Err(StoreError::InUse { .. }) => std::thread::sleep(Duration::from_millis(1)),
            opened => return Arc::new(opened.unwrap()),
        }
    }
}

fn store(engine: &Arc<EmbeddedEngine>) -> Store {
    let engine: Arc<dyn Engine> = Arc::clone(engine) as _;
    Store::open(engine, Arc::new(SystemClock), StoreLimits::default(), Access::Write).unwrap()
}

fn backend(engine: &Arc<EmbeddedEngine>) -> Arc<dyn Backend> {
    Arc::new(StoreBackend::new(store(engine), Arc::new(SystemClock)).unwrap())
}

/// Opens the medium, runs the job to its end after whatever happened, and compares.
fn continues(medium: Arc<dyn Medium>, folder: &Path, expected: &BTreeMap<String, String>, what: &str) {
    let engine = engine(medium);
    let mut process = Process::new(backend(&engine), folder.to_owned());
    process.engine.keeping = keeping();
    let last = process.engine.repository.latest(0, 1).unwrap();
    let ended = match last.first() {
        None => process.start(&job(), &[]),
        Some(last) if last.status == BatchStatus::Completed => last.clone(),
        Some(last) => process.restart(last.id, &job(), &[]),
    };
    assert_eq!(ended.status, BatchStatus::Completed, "{what}: {ended:?}");
    events_are_those_of(&process);
    drop(process);
    assert_eq!(left_in(folder, &store(&engine)), *expected, "{what}");
    engine.close().unwrap();
}

/// Runs the job without a crash. Returns its results and commits, or the steps of the disk that it took.
fn undisturbed(medium: Arc<dyn Medium>, folder: &Path) -> (BTreeMap<String, String>, u64) {
    let engine = engine(medium);
    prepare_in(folder, &store(&engine));
    let ending = Ending::new(false);
    let around = Arc::clone(&ending) as Arc<dyn Around>;
    let mut process = Process::new(Arc::new(AroundBackend { inner: backend(&engine), around }), folder.to_owned());
    process.engine.keeping = keeping();
    ending.after(1_000_000);
    assert_eq!(process.start(&job(), &[]).status, BatchStatus::Completed);
    drop(process);
    let left = left_in(folder, &store(&engine));
    engine.close().unwrap();
    (left, 1_000_000 - ending.left())
}

fn folder_of(folder: &Path) -> Arc<dyn Medium> {
    Arc::new(Folder::create(&folder.join("store")).unwrap())
}

/// The process ends at a commit of a store in a folder, before or after the commit takes effect.
#[test]
fn a_crash_at_a_commit_of_a_store_on_disk() {
    let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (expected, commits) = undisturbed(folder_of(folder.path()), files.path());
    let places: Vec<(u64, bool)> = (1..=commits).flat_map(|at| [(at, false), (at, true)]).collect();
    for (at, last_happens) in chosen(&places, 16) {
        let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        {
            let engine = engine(folder_of(folder.path()));
            prepare_in(files.path(), &store(&engine));
            let ending = Ending::new(last_happens);
            let around = Arc::clone(&ending) as Arc<dyn Around>;
            let around = Arc::new(AroundBackend { inner: backend(&engine), around });
            let mut process = Process::new(around, files.path().to_owned());
            process.engine.keeping = keeping();
            ending.after(at);
            let _ = process.engine.start(&crate::kit::job(&job()), given(&[])).map(|launched| launched.run());
        }
        let what = format!("commit {at}, last happens: {last_happens}");
        continues(folder_of(folder.path()), files.path(), &expected, &what);
    }
}

/// The power is cut at a write or a sync of the store's disk, which then keeps any part of what was not synced.
#[test]
fn a_power_cut_at_a_write_or_a_sync_of_a_job() {
    let files = tempfile::tempdir().unwrap();
    let disk = FakeDisk::new(0);
    let (expected, _) = undisturbed(Arc::new(disk.clone()), files.path());
    let steps: Vec<u64> = (0..disk.steps()).collect();
    let mut cuts = 0;
    for at in chosen(&steps, 40) {
        let files = tempfile::tempdir().unwrap();
        let disk = FakeDisk::new(at);
        {
            let engine = engine(Arc::new(disk.clone()));
            prepare_in(files.path(), &store(&engine));
            let mut process = Process::new(backend(&engine), files.path().to_owned());
            process.engine.keeping = keeping();
            disk.set_trouble(Trouble { cut_in: Some(at), ..Trouble::default() });
            let _ = process.engine.start(&crate::kit::job(&job()), given(&[])).map(|launched| launched.run());
            // A disk that outlived the job loses its power now.
            cuts += u32::from(disk.is_off());
        }
        continues(Arc::new(disk.after_power_cut()), files.path(), &expected, &format!("step {at} of the disk"));
    }
    assert!(cuts > 10, "{cuts} cuts during the job");
}

/// A stop request at a commit of a store in a folder.
#[test]
fn a_stop_at_a_commit_of_a_store_on_disk() {
    let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (expected, commits) = undisturbed(folder_of(folder.path()), files.path());
    let expected = without_groups(expected);
    let places: Vec<(u64, bool)> = (2..=commits).flat_map(|at| [(at, false), (at, true)]).collect();
    for (at, is_after) in chosen(&places, 8) {
        let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let engine = engine(folder_of(folder.path()));
        prepare_in(files.path(), &store(&engine));
        stopped_at(at, is_after, backend(&engine), files.path(), &job());
        let left = without_groups(left_in(files.path(), &store(&engine)));
        assert_eq!(left, expected, "commit {at}, after it: {is_after}");
        engine.close().unwrap();
    }
}
