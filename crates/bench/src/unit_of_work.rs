//! Measurements of the store: durable units of work compared with a plain append-and-sync loop, reads compared with those of the tree itself.
//!
//! One unit of work gets a message of 200 bytes, rewrites a record of 32 bytes and puts a message of 200 bytes.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quayline_store::queue::{GetWait, Message, Queue, QueueDefinition, Select};
use quayline_store::record_file::{By, FileDefinition, KeyPlace, Organisation, RecordFile, Relation};
use quayline_store::{Access, Clock, LockWait, Store, StoreError, StoreLimits, SystemClock};
use quayline_store_embedded::{Durability, EmbeddedEngine, Folder, Settings};
use redb::{ReadableDatabase as _, TableDefinition};

use crate::clock::cpu_of;

/// Number of records of the file, as in the VSAM file of the study of 2004.
pub const RECORDS: u64 = 65_145;
/// Bytes that a unit of work adds to the log, nearly.
const UNIT_BYTES: usize = 900;
/// Messages that circulate.
const MESSAGES: u64 = 2_000;

/// Makes the changes of a unit of work, from a seed and the number of the unit.
type Make<'a> = dyn Fn(&mut u64, u64) -> Result<quayline_store::Unit, StoreError> + Sync + 'a;

/// A rate and its cost.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Operations a second.
    pub rate: f64,
    /// CPU microseconds of the process for each, the applier's included.
    pub cpu_us: f64,
}

/// A store with one record file and two queues.
#[derive(Debug)]
pub struct Bed {
    pub(crate) store: Store,
    file: RecordFile,
    pub(crate) queues: [Queue; 2],
    records: u64,
}

pub(crate) fn text(error: StoreError) -> String {
    error.to_string()
}

fn key(number: u64) -> [u8; 8] {
    (number * 1000).to_be_bytes()
}

/// Returns a number below a bound, and advances the seed.
fn below(seed: &mut u64, bound: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 8) % bound
}

impl Bed {
    /// Creates the store in a new folder, loads the records and puts the messages. Also returns the number of records loaded per second.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn new(folder: &Path, records: u64, durability: Durability) -> Result<(Bed, f64), String> {
        // Left over from a run that was stopped.
        let _ = std::fs::remove_dir_all(folder);
        Bed::of(open(folder, durability)?, records)
    }

    /// Creates the test bed in an empty store.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn of(store: Store, records: u64) -> Result<(Bed, f64), String> {
        let mut unit = store.begin().map_err(text)?;
        let definition = FileDefinition {
            name: "BENCH".to_owned(),
            organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
            record_bytes_min: 32,
            record_bytes_max: 32,
            alternates: Vec::new(),
        };
        let file = store.define_file(&mut unit, definition).map_err(text)?;
        for name in ["A", "B"] {
            store
                .define_queue(&mut unit, QueueDefinition { depth_max: 200_000_000, ..QueueDefinition::local(name) })
                .map_err(text)?;
        }
        unit.commit().map_err(text)?;
        let began = Instant::now();
        let mut number = 0;
        file.load_sorted(&store, &mut |record| {
            record.clear();
            record.extend_from_slice(&key(number));
            record.resize(32, 7);
            number += 1;
            Ok(number <= records)
        })
        .map_err(|stopped| text(stopped.error))?;
        let load = records as f64 / began.elapsed().as_secs_f64();
        let queues = [store.queue("A").map_err(text)?, store.queue("B").map_err(text)?];
        for _ in 0..MESSAGES / 100 {
            let mut unit = store.begin().map_err(text)?;
            for _ in 0..100 {
                queues[0].put(&mut unit, &Message::new(vec![5; 200])).map_err(text)?;
            }
            unit.commit().map_err(text)?;
        }
        Ok((Bed { store, file, queues, records }, load))
    }

    /// Changes of one unit of work, ready to commit.
    pub(crate) fn unit(&self, seed: &mut u64, turn: u64) -> Result<quayline_store::Unit, StoreError> {
        self.unit_at(below(seed, self.records), turn)
    }

    /// Creates the unit of work for a given record: units that are open at once need separate records.
    pub(crate) fn unit_at(&self, record: u64, turn: u64) -> Result<quayline_store::Unit, StoreError> {
        let mut unit = self.store.begin()?;
        let mut from = usize::from(turn % 2 == 1);
        // Messages circulate: if one queue is empty, the other is not.
        let message = loop {
            match self.queues[from].get(&mut unit, Select::First, GetWait::No) {
                Ok(message) => break message,
                Err(StoreError::NoMessage { .. }) => from = 1 - from,
                Err(error) => return Err(error),
            }
        };
        let key = key(record);
        let read = self.file.read_for_update(&mut unit, By::Key(&key), Relation::Equal, LockWait::Default)?;
        let mut record = read.bytes.to_vec();
        record[8..16].copy_from_slice(&turn.to_le_bytes());
        self.file.rewrite(&mut unit, &read, &record)?;
        self.queues[1 - from].put(&mut unit, &Message::new(message.payload))?;
        Ok(unit)
    }

    /// Runs units of work in `workers` threads. Each thread waits for its commits.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn units(&self, workers: u64, time: Duration) -> Result<Pace, String> {
        self.commits(workers, time, &|seed, turn| self.unit(seed, turn))
    }

    /// Runs durable rewrites of random records in `workers` threads, each with a commit.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn updates(&self, workers: u64, time: Duration) -> Result<Pace, String> {
        self.commits(workers, time, &|seed, _| self.update(seed))
    }

    /// Commits of units that `make` returns, by `workers` threads.
    fn commits(&self, workers: u64, time: Duration, make: &Make<'_>) -> Result<Pace, String> {
        let (count, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let began = Instant::now();
        let (done, cpu) = cpu_of(|| {
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..workers)
                    .map(|me| {
                        let (count, stop) = (&count, &stop);
                        scope.spawn(move || {
                            let mut seed = 0x9e37_79b9_7f4a_7c15 ^ (me + 1);
                            while !stop.load(Ordering::Relaxed) {
                                let turn = count.fetch_add(1, Ordering::Relaxed);
                                make(&mut seed, turn)?.commit()?;
                            }
                            Ok::<(), StoreError>(())
                        })
                    })
                    .collect();
                std::thread::sleep(time);
                stop.store(true, Ordering::Relaxed);
                workers
                    .into_iter()
                    .try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?.map_err(text))
            })
        });
        done?;
        let count = count.load(Ordering::Relaxed) as f64;
        Ok(Pace { rate: count / began.elapsed().as_secs_f64(), cpu_us: cpu.as_secs_f64() * 1e6 / count })
    }

    fn update(&self, seed: &mut u64) -> Result<quayline_store::Unit, StoreError> {
        let mut unit = self.store.begin()?;
        let key = key(below(seed, self.records));
        let read = self.file.read_for_update(&mut unit, By::Key(&key), Relation::Equal, LockWait::Default)?;
        let mut record = read.bytes.to_vec();
        record[8..16].copy_from_slice(&seed.to_le_bytes());
        self.file.rewrite(&mut unit, &read, &record)?;
        Ok(unit)
    }

    /// Runs units of work in one thread with several commits in flight.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn in_flight(&self, window: u64, time: Duration) -> Result<Pace, String> {
        let (done, failed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (mut seed, mut begun) = (77, 0);
        let began = Instant::now();
        let (outcome, cpu) = cpu_of(|| -> Result<(), String> {
            let me = std::thread::current();
            while began.elapsed() < time || begun > done.load(Ordering::Acquire) {
                if failed.load(Ordering::Relaxed) {
                    return Err("a commit failed".to_owned());
                }
                if began.elapsed() >= time || begun - done.load(Ordering::Acquire) >= window {
                    std::thread::park_timeout(Duration::from_millis(1));
                    continue;
                }
                let unit = self.unit(&mut seed, begun).map_err(text)?;
                begun += 1;
                let (done, failed, me) = (Arc::clone(&done), Arc::clone(&failed), me.clone());
                unit.submit_with(Box::new(move |outcome| {
                    failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    // The thread is woken for every 64th unit only, because waking costs more than a unit of work.
                    if done.fetch_add(1, Ordering::Release) % 64 == 63 {
                        me.unpark();
                    }
                }));
            }
            Ok(())
        });
        outcome?;
        let count = begun as f64;
        Ok(Pace { rate: count / began.elapsed().as_secs_f64(), cpu_us: cpu.as_secs_f64() * 1e6 / count })
    }

    /// Runs random reads in several threads.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn reads(&self, threads: u64, each: u64) -> Result<f64, String> {
        read_by(threads, each, &|seed| {
            let unit = self.store.begin().map_err(text)?;
            for _ in 0..100 {
                let key = key(below(seed, self.records));
                self.file.read(&unit, By::Key(&key), Relation::Equal).map_err(text)?;
            }
            Ok(())
        })
    }

    /// Returns the number of records per second of a scan of the whole file into a counting sink.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn browse(&self) -> Result<f64, String> {
        let unit = self.store.begin().map_err(text)?;
        let began = Instant::now();
        let mut bytes = 0;
        let count = self.file.scan(&unit, &mut |_, record| {
            bytes += record.len();
            Ok(())
        });
        let count = count.map_err(text)?;
        if bytes as u64 != 32 * self.records {
            return Err(format!("{bytes} bytes of {count} records"));
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }

    /// Waits until all changes in memory were applied.
    pub fn settle(&self) {
        let began = Instant::now();
        while self.store.facts().delta_bytes > 0 && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Opens the store in a folder.
///
/// # Errors
/// Errors of the store.
pub(crate) fn open(folder: &Path, durability: Durability) -> Result<Store, String> {
    let medium = Folder::create(folder).map_err(|error| error.to_string())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let settings = Settings { durability, ..Settings::default() };
    let engine = EmbeddedEngine::open(Arc::new(medium), &clock, settings).map_err(text)?;
    Store::open(Arc::new(engine), clock, StoreLimits::default(), Access::Write).map_err(text)
}

fn read_by(threads: u64, each: u64, hundred: &(dyn Fn(&mut u64) -> Result<(), String> + Sync)) -> Result<f64, String> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|me| {
                scope.spawn(move || {
                    let mut seed = 0x1234_5678_9abc_def1 ^ (me + 1);
                    (0..each / 100).try_for_each(|_| hundred(&mut seed))
                })
            })
            .collect();
        readers.into_iter().try_for_each(|reader| reader.join().map_err(|_| "a reader panicked".to_owned())?)
    })?;
    Ok((threads * each) as f64 / began.elapsed().as_secs_f64())
}

/// Measures appends and syncs of the bytes of one unit of work, sequentially, in a preallocated file: the upper limit for durable commits.
///
/// # Errors
/// Errors of the system.
pub fn floor(file: &Path, time: Duration) -> std::io::Result<f64> {
    const LENGTH: u64 = 16 << 20;
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(file)?;
    open.write_all_at(&vec![1; usize::try_from(LENGTH).unwrap_or(0)], 0)?;
    open.sync_all()?;
    let block = [9; UNIT_BYTES];
    let began = Instant::now();
    let mut count = 0u64;
    while began.elapsed() < time {
        open.write_all_at(&block, count * UNIT_BYTES as u64 % (LENGTH - UNIT_BYTES as u64))?;
        open.sync_data()?;
        count += 1;
    }
    Ok(count as f64 / began.elapsed().as_secs_f64())
}

/// Measures random reads of redb itself over the same records.
///
/// # Errors
/// Errors of redb.
pub fn redb_reads(file: &Path, records: u64, each: u64) -> Result<f64, String> {
    const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("entries");
    fn shown(error: impl std::fmt::Display) -> String {
        error.to_string()
    }
    // Left over from a run that was stopped.
    let _ = std::fs::remove_file(file);
    let database = redb::Database::create(file).map_err(shown)?;
    let write = database.begin_write().map_err(shown)?;
    {
        let mut table = write.open_table(TABLE).map_err(shown)?;
        for number in 0..records {
            let mut record = key(number).to_vec();
            record.resize(32, 7);
            table.insert(key(number).as_slice(), record.as_slice()).map_err(shown)?;
        }
    }
    write.commit().map_err(shown)?;
    let read = database.begin_read().map_err(shown)?;
    let table = read.open_table(TABLE).map_err(shown)?;
    read_by(1, each, &|seed| {
        for _ in 0..100 {
            let found = table.get(key(below(seed, records)).as_slice()).map_err(shown)?;
            let copy: Option<Arc<[u8]>> = found.map(|found| found.value().into());
            if copy.is_none_or(|record| record.len() != 32) {
                return Err("a record is missing".to_owned());
            }
        }
        Ok(())
    })
}
