//! Study of the store: messages and records by number of drivers, and recovery after a killed process.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quayline_meter::ProcessUse;
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};
use quayline_store::queue::{GetWait, Message, Persistence, Queue, QueueDefinition, Select};
use quayline_store::record_file::{By, FileDefinition, KeyPlace, Organisation, RecordFile, Relation};
use quayline_store::save::{Packing, SaveFacts, SaveOptions};
use quayline_store::{Access, Clock, LockWait, Store, StoreError, StoreLimits, SystemClock, Unit};
use quayline_store_embedded::{EmbeddedEngine, Folder, SaveSource, Settings, save_to_folder};

use crate::error_text::shown;

/// The hidden command of the executable that opens units of work until it is killed.
pub const STORE_CHILD: &str = "measured-store";

/// Records of the file.
const RECORDS: u64 = 50_000;
const RECORD_BYTES: u32 = 200;
/// Records that [`StoreWork::Browse`] reads.
const BROWSED: u64 = 1_000;
/// Messages that are committed before the units of work open.
const COMMITTED: u64 = 20_000;
/// Content of the messages of open units of work, in place of a number.
const NEVER: u64 = u64::MAX;
/// Messages of a unit of work that fills or empties a queue.
const CHUNK: u64 = 1_000;
const QUEUE: &str = "MEASURED";
const DEPTH_MAX: u64 = 10_000_000;

/// Settings of the study.
#[derive(Clone, Debug)]
pub struct StoreStudyOptions {
    /// Folder whose folder `store` is emptied.
    pub scratch: PathBuf,
    /// Seconds of each run.
    pub seconds: f64,
    /// Numbers of drivers.
    pub drivers: Vec<usize>,
    /// Bytes of a message.
    pub bytes: usize,
    /// Numbers of open units of work of the process that is killed.
    pub open: Vec<u32>,
    /// Largest 95th percentile in milliseconds, for the most drivers that keep it.
    pub p95_ms: f64,
}

/// Operation that a driver repeats.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoreWork {
    /// A put and a get, each in a separate unit of work that is synced.
    Persistent,
    /// A put and a get, each in a separate unit of work, without sync.
    NotPersistent,
    /// A read by key.
    Read,
    /// A read for update and a rewrite in a unit of work.
    Update,
    /// An insert in a unit of work.
    Insert,
    /// A read of consecutive records in the order of their keys, from any key.
    Browse,
    /// A read of the whole file in the order of its key.
    Scan,
}

impl StoreWork {
    const ALL: [StoreWork; 7] = [
        StoreWork::Persistent,
        StoreWork::NotPersistent,
        StoreWork::Read,
        StoreWork::Update,
        StoreWork::Browse,
        StoreWork::Scan,
        // Inserts come last, because they lengthen the file that the others read.
        StoreWork::Insert,
    ];

    fn name(self) -> &'static str {
        match self {
            StoreWork::Persistent => "message, persistent",
            StoreWork::NotPersistent => "message, not persistent",
            StoreWork::Read => "record, read by key",
            StoreWork::Update => "record, update",
            StoreWork::Insert => "record, insert",
            StoreWork::Browse => "1,000 records by key",
            StoreWork::Scan => "the file of 50,000 records",
        }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct StoreRow {
    /// Repeated operation.
    pub work: StoreWork,
    /// Drivers at once.
    pub drivers: usize,
    /// Transactions a second.
    pub rate: f64,
    /// CPU microseconds of the process for each, drivers included.
    pub cpu_us: f64,
    /// 50th, 95th and 99th percentile of the response time in milliseconds.
    pub times_ms: [f64; 3],
}

/// Result of recovery after a kill.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryRow {
    /// Units of work that were open.
    pub open: u32,
    /// Seconds until the store was open again.
    pub seconds: f64,
    /// Committed messages that are not there.
    pub lost: u64,
    /// Messages that exist twice, or that were never committed.
    pub wrong: u64,
}

/// A save of the whole store, and the store that was made from it.
#[derive(Clone, Copy, Debug)]
pub struct SaveRow {
    /// Compression of the save.
    pub packing: Packing,
    /// Threads that pack and check.
    pub threads: usize,
    /// Entries of the store.
    pub entries: u64,
    /// Bytes of the save.
    pub bytes: u64,
    /// Seconds to save, to check the save, and to make a store from it, checked.
    pub seconds: [f64; 3],
}

/// Results of the study.
#[derive(Clone, Debug)]
pub struct StoreStudy {
    options: StoreStudyOptions,
    /// Runs, by work and drivers.
    pub rows: Vec<StoreRow>,
    /// Kills, by open units of work.
    pub recovery: Vec<RecoveryRow>,
    /// Saves and restores.
    pub saves: Vec<SaveRow>,
}

fn packing_name(packing: Packing) -> &'static str {
    match packing {
        Packing::None => "plain",
        Packing::Deflate => "compressed",
    }
}

/// Opens the store in a folder, and creates it if it is missing.
pub(crate) fn open(folder: &Path, settings: Settings) -> Result<Store, String> {
    open_engine(folder, settings).map(|(store, _)| store)
}

/// Opens the store as [`open`] does, with its engine.
fn open_engine(folder: &Path, settings: Settings) -> Result<(Store, Arc<EmbeddedEngine>), String> {
    let medium = Folder::create(folder).map_err(shown)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let engine = Arc::new(EmbeddedEngine::open(Arc::new(medium), &clock, settings).map_err(shown)?);
    let shared: Arc<EmbeddedEngine> = Arc::clone(&engine);
    let store = Store::open(shared, clock, StoreLimits::default(), Access::Write).map_err(shown)?;
    Ok((store, engine))
}

fn define_queue(store: &Store) -> Result<Queue, StoreError> {
    let mut unit = store.begin()?;
    store.define_queue(&mut unit, QueueDefinition { depth_max: DEPTH_MAX, ..QueueDefinition::local(QUEUE) })?;
    unit.commit()?;
    store.queue(QUEUE)
}

impl StoreStudy {
    /// Runs the study. `executable` is the program to start as the process to kill. `say` receives the name of each part.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn run(options: &StoreStudyOptions, executable: &Path, say: &dyn Fn(&str)) -> Result<StoreStudy, String> {
        let folder = options.scratch.join("store");
        let empty = || {
            // A folder that cannot be emptied cannot be made either.
            let _ = std::fs::remove_dir_all(&folder);
        };
        let mut study =
            StoreStudy { options: options.clone(), rows: Vec::new(), recovery: Vec::new(), saves: Vec::new() };
        empty();
        let bed = Bed::new(&folder, options.bytes)?;
        for work in StoreWork::ALL {
            say(work.name());
            for drivers in &options.drivers {
                study.rows.push(bed.measured(work, *drivers, Duration::from_secs_f64(options.seconds))?);
            }
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for (packing, threads) in [(Packing::None, 1), (Packing::Deflate, 1), (Packing::Deflate, processors.max(2))] {
            say(&format!("save and restore, {}, {threads} threads", packing_name(packing)));
            study.saves.push(bed.saved(&options.scratch, packing, threads)?);
        }
        drop(bed);
        for units in &options.open {
            say(&format!("recovery with {units} open units of work"));
            empty();
            study.recovery.push(recovered(&folder, *units, executable)?);
        }
        empty();
        Ok(study)
    }

    /// Returns the largest number of drivers whose 95th percentile meets the objective; `None` if none does.
    #[must_use]
    pub fn most_drivers(&self, work: StoreWork) -> Option<usize> {
        let keeps = |row: &&StoreRow| row.work == work && row.times_ms[1] <= self.options.p95_ms;
        self.rows.iter().filter(keeps).map(|row| row.drivers).max()
    }

    /// Builds the report of kind `store`.
    #[must_use]
    pub fn report(&self) -> Report {
        let bad = self.recovery.iter().any(|row| row.lost > 0 || row.wrong > 0);
        let summary = match (bad, self.recovery.len()) {
            (true, _) => "A kill lost or repeated messages.".to_owned(),
            (false, kills) => format!("{} runs; after {kills} kills every message was there once.", self.rows.len()),
        };
        let options = &self.options;
        Report {
            kind: "store".to_owned(),
            title: "Store: messages, records and recovery".to_owned(),
            verdict: if bad { Verdict::ObjectiveMissed } else { Verdict::Good },
            summary,
            conditions: vec![
                ("bytes of a message".to_owned(), options.bytes.to_string()),
                ("seconds of a run".to_owned(), options.seconds.to_string()),
            ],
            sections: vec![self.rates(), self.objectives(), self.kills(), self.saves()],
        }
    }

    fn rates(&self) -> Section {
        let name = |row: &StoreRow| format!("{}, {} at once", row.work.name(), row.drivers);
        let cells = |row: &StoreRow| {
            let [p50, p95, p99] = row.times_ms;
            let mut cells = vec![Cell::Text(name(row)), Cell::Number(row.rate), Cell::Number(row.cpu_us)];
            cells.extend([p50, p95, p99].map(Cell::Number));
            cells
        };
        Section {
            id: "rates".to_owned(),
            title: "Rates".to_owned(),
            notes: vec![
                "A message is a put and a get, each in a unit of work of its own. A file is read in the order of its key. CPU time is that of the process: drivers and the threads of \
                 the store."
                    .to_owned(),
            ],
            picture: Some(Picture::Bars {
                across: "transactions a second".to_owned(),
                rows: self.rows.iter().map(name).collect(),
                series: vec![("rate".to_owned(), self.rows.iter().map(|row| row.rate).collect())],
            }),
            table: Table {
                columns: vec![
                    Column::new("work", ""),
                    Column::higher("rate", "1/s"),
                    Column::lower("CPU time", "µs"),
                    Column::lower("p50", "ms"),
                    Column::lower("p95", "ms"),
                    Column::new("p99", "ms"),
                ],
                rows: self.rows.iter().map(cells).collect(),
            },
        }
    }

    fn objectives(&self) -> Section {
        let peak =
            |work: StoreWork| self.rows.iter().filter(|row| row.work == work).map(|row| row.rate).fold(0.0, f64::max);
        let cells = |work: StoreWork| {
            let most = self.most_drivers(work).map_or(Cell::Empty, |drivers| Cell::Number(drivers as f64));
            vec![Cell::text(work.name()), most, Cell::Number(peak(work))]
        };
        Section {
            id: "objectives".to_owned(),
            title: "Drivers within the objective".to_owned(),
            notes: vec![format!(
                "The most measured drivers whose 95th percentile is at most {} ms, beside the largest rate, which more drivers may reach.",
                self.options.p95_ms
            )],
            picture: None,
            table: Table {
                columns: vec![
                    Column::new("work", ""),
                    Column::higher("drivers", ""),
                    Column::new("largest rate", "1/s"),
                ],
                rows: StoreWork::ALL.into_iter().map(cells).collect(),
            },
        }
    }

    fn saves(&self) -> Section {
        let name = |row: &SaveRow| format!("{}, {} threads", packing_name(row.packing), row.threads);
        // The save without compression has the bytes of all entries.
        let all = self.saves.first().map_or(0, |row| row.bytes);
        let per_hour = |seconds: f64| all as f64 / 1e9 / seconds.max(1e-9) * 3_600.0;
        let cells = |row: &SaveRow| {
            let mut cells = vec![Cell::Text(name(row)), Cell::Number(row.entries as f64)];
            cells.push(Cell::Number(100.0 * row.bytes as f64 / all.max(1) as f64));
            cells.extend(row.seconds.map(|seconds| Cell::Number(per_hour(seconds))));
            cells
        };
        let series = |at: usize| self.saves.iter().map(|row| per_hour(row.seconds[at])).collect();
        Section {
            id: "saves".to_owned(),
            title: "Save and restore".to_owned(),
            notes: vec![
                "Rates are bytes of entries without compression. A restore makes a new store from the save, and checks its structure."
                    .to_owned(),
            ],
            picture: Some(Picture::Bars {
                across: "GB an hour".to_owned(),
                rows: self.saves.iter().map(name).collect(),
                series: vec![("save".to_owned(), series(0)), ("restore".to_owned(), series(2))],
            }),
            table: Table {
                columns: vec![
                    Column::new("save", ""),
                    Column::new("entries", ""),
                    Column::lower("size", "%"),
                    Column::higher("save", "GB/h"),
                    Column::higher("check", "GB/h"),
                    Column::higher("restore", "GB/h"),
                ],
                rows: self.saves.iter().map(cells).collect(),
            },
        }
    }

    fn kills(&self) -> Section {
        let cells = |row: &RecoveryRow| {
            vec![
                Cell::text(format!("{} open units of work", row.open)),
                Cell::Number(row.seconds),
                Cell::Number(row.lost as f64),
                Cell::Number(row.wrong as f64),
            ]
        };
        Section {
            id: "recovery".to_owned(),
            title: "Recovery after a kill".to_owned(),
            notes: vec![format!(
                "A process with {COMMITTED} committed messages is killed while each of its clients has a unit of work open that got one message \
                 and put another."
            )],
            picture: None,
            table: Table {
                columns: vec![
                    Column::new("killed with", ""),
                    Column::lower("open again", "s"),
                    Column::lower("lost", ""),
                    Column::lower("twice or never committed", ""),
                ],
                rows: self.recovery.iter().map(cells).collect(),
            },
        }
    }
}

/// A store with a queue and a file.
struct Bed {
    store: Store,
    engine: Arc<EmbeddedEngine>,
    queue: Queue,
    file: RecordFile,
    bytes: usize,
    /// Key of the next record to insert.
    next: AtomicU64,
}

impl Bed {
    fn new(folder: &Path, bytes: usize) -> Result<Bed, String> {
        let (store, engine) = open_engine(folder, Settings::default())?;
        let queue = define_queue(&store).map_err(shown)?;
        let mut unit = store.begin().map_err(shown)?;
        let definition = FileDefinition {
            name: "MEASURED".to_owned(),
            organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
            record_bytes_min: RECORD_BYTES,
            record_bytes_max: RECORD_BYTES,
            alternates: Vec::new(),
        };
        let file = store.define_file(&mut unit, definition).map_err(shown)?;
        unit.commit().map_err(shown)?;
        let mut number = 0;
        let loaded = file.load_sorted(&store, &mut |record| {
            fill(record, number);
            number += 1;
            Ok(number <= RECORDS)
        });
        loaded.map_err(shown)?;
        Ok(Bed { store, engine, queue, file, bytes, next: AtomicU64::new(RECORDS) })
    }

    /// Saves the store to a folder and makes another store from it.
    fn saved(&self, scratch: &Path, packing: Packing, threads: usize) -> Result<SaveRow, String> {
        let (folder, made) = (scratch.join("save"), scratch.join("restored"));
        let empty = || [&folder, &made].map(std::fs::remove_dir_all);
        let _ = empty();
        let options = SaveOptions { packing, threads, ..SaveOptions::default() };
        let timed = |work: &mut dyn FnMut() -> Result<SaveFacts, String>| {
            let began = Instant::now();
            work().map(|facts| (facts, began.elapsed().as_secs_f64()))
        };
        let save = || save_to_folder(&folder, &*self.engine, options, &|| false).map(|saved| saved.facts);
        let (facts, save_s) = timed(&mut || save().map_err(shown))?;
        let source = SaveSource::new(&folder);
        let first = |errors: Vec<StoreError>| errors.into_iter().next().map_or_else(String::new, shown);
        let (_, check_s) = timed(&mut || source.check(threads).map_err(first))?;
        let (restored, restore_s) = timed(&mut || source.make_store(&made).map_err(shown))?;
        let _ = empty();
        if restored.entries != facts.entries {
            return Err(format!("the save has {} entries, the restored store {}", facts.entries, restored.entries));
        }
        let seconds = [save_s, check_s, restore_s];
        Ok(SaveRow { packing, threads, entries: facts.entries, bytes: facts.bytes, seconds })
    }

    /// Runs some work on a number of threads for a time.
    fn measured(&self, work: StoreWork, drivers: usize, time: Duration) -> Result<StoreRow, String> {
        let Repeated { rate, cpu_us, times_ms, .. } = repeated(drivers, time, &|seed| self.once(work, seed))?;
        Ok(StoreRow { work, drivers, rate, cpu_us, times_ms })
    }

    fn once(&self, work: StoreWork, seed: &mut u64) -> Result<(), StoreError> {
        let mut unit = self.store.begin()?;
        let number = random(seed) % RECORDS;
        let key = number.to_be_bytes();
        match work {
            StoreWork::Persistent | StoreWork::NotPersistent => {
                let persistence =
                    if work == StoreWork::Persistent { Persistence::Persistent } else { Persistence::NotPersistent };
                let end = |unit: Unit| match work {
                    StoreWork::Persistent => unit.submit().wait(),
                    _ => unit.submit_written().wait(),
                };
                let message = Message { persistence, ..Message::new(vec![b'm'; self.bytes]) };
                self.queue.put(&mut unit, &message)?;
                end(unit)?;
                // Each driver puts before it gets, so there is always one.
                let mut unit = self.store.begin()?;
                self.queue.get(&mut unit, Select::First, GetWait::AtMostMs(10_000))?;
                end(unit)?;
            }
            StoreWork::Read => {
                self.file.read(&unit, By::Key(&key), Relation::Equal)?;
            }
            StoreWork::Update => {
                let read = self.file.read_for_update(&mut unit, By::Key(&key), Relation::Equal, LockWait::Default)?;
                let mut record = read.bytes.to_vec();
                record[8..16].copy_from_slice(&seed.to_be_bytes());
                self.file.rewrite(&mut unit, &read, &record)?;
                unit.commit()?;
            }
            StoreWork::Browse => {
                let mut browse = self.file.browse();
                browse.start(&unit, By::Key(&number.min(RECORDS - BROWSED).to_be_bytes()), Relation::Equal)?;
                for _ in 0..BROWSED {
                    browse.next(&unit)?;
                }
            }
            StoreWork::Scan => {
                self.file.scan(&unit, &mut |_, _| Ok(()))?;
            }
            StoreWork::Insert => {
                let mut record = Vec::new();
                fill(&mut record, self.next.fetch_add(1, Ordering::Relaxed));
                self.file.insert(&mut unit, &record)?;
                unit.commit()?;
            }
        }
        Ok(())
    }
}

/// Transactions that drivers repeated.
pub(crate) struct Repeated {
    /// Transactions.
    pub(crate) count: usize,
    /// Transactions a second.
    pub(crate) rate: f64,
    /// CPU microseconds of the process for each.
    pub(crate) cpu_us: f64,
    /// 50th, 95th and 99th percentile of the response time in milliseconds.
    pub(crate) times_ms: [f64; 3],
}

/// Repeats a transaction on a number of threads for a time. Each thread has random numbers of its own, the same in each run.
pub(crate) fn repeated(
    drivers: usize,
    time: Duration,
    once: &(dyn Fn(&mut u64) -> Result<(), StoreError> + Sync),
) -> Result<Repeated, String> {
    let before = ProcessUse::now();
    let began = Instant::now();
    let driver = |first: usize| -> Result<Vec<u32>, String> {
        let mut seed = 0x9e37_79b9_7f4a_7c15 ^ (first as u64 + 1);
        let mut times_us = Vec::new();
        while began.elapsed() < time {
            let sent = Instant::now();
            once(&mut seed).map_err(shown)?;
            times_us.push(u32::try_from(sent.elapsed().as_nanos() / 100).unwrap_or(u32::MAX));
        }
        Ok(times_us)
    };
    let outcomes: Vec<Result<Vec<u32>, String>> = std::thread::scope(|scope| {
        let driver = &driver;
        let threads: Vec<_> = (0..drivers.max(1)).map(|first| scope.spawn(move || driver(first))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a driver panicked".to_owned())))
            .collect()
    });
    let elapsed = began.elapsed();
    let cpu = ProcessUse::now().since(&before).cpu;
    let mut times: Vec<u32> = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    times.sort_unstable();
    let count = times.len();
    let at = |percent: usize| {
        let rank = (count * percent).div_ceil(100).max(1);
        times.get(rank - 1).map_or(0.0, |time| f64::from(*time) / 1e4)
    };
    Ok(Repeated {
        count,
        rate: count as f64 / elapsed.as_secs_f64(),
        cpu_us: cpu.as_secs_f64() * 1e6 / count.max(1) as f64,
        times_ms: [at(50), at(95), at(99)],
    })
}

/// Returns the next random number of a driver.
pub(crate) fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed >> 8
}

fn fill(record: &mut Vec<u8>, number: u64) {
    record.clear();
    record.extend_from_slice(&number.to_be_bytes());
    record.resize(RECORD_BYTES as usize, b'.');
}

/// Kills a process with open units of work, and opens its store.
fn recovered(folder: &Path, units: u32, executable: &Path) -> Result<RecoveryRow, String> {
    let mut child = Command::new(executable)
        .args([OsString::from(STORE_CHILD), folder.into(), units.to_string().into()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(shown)?;
    let mut line = String::new();
    let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    let killed = child.kill().and_then(|()| child.wait());
    if !matches!(read, Some(Ok(_))) || line.trim() != "open" {
        return Err(format!("the process with {units} open units of work did not begin"));
    }
    killed.map_err(shown)?;
    let began = Instant::now();
    let store = open(folder, Settings::default())?;
    let queue = store.queue(QUEUE).map_err(shown)?;
    let seconds = began.elapsed().as_secs_f64();
    let mut seen = vec![false; usize::try_from(COMMITTED).unwrap_or(0)];
    let mut wrong = 0;
    loop {
        let mut unit = store.begin().map_err(shown)?;
        let mut got = 0;
        while got < CHUNK {
            match queue.get(&mut unit, Select::First, GetWait::No) {
                Ok(message) => {
                    got += 1;
                    let number = <[u8; 8]>::try_from(&message.payload[..]).map_or(NEVER, u64::from_be_bytes);
                    match usize::try_from(number).ok().and_then(|number| seen.get_mut(number)) {
                        Some(seen) if !*seen => *seen = true,
                        _ => wrong += 1,
                    }
                }
                Err(StoreError::NoMessage { .. }) => break,
                Err(error) => return Err(shown(error)),
            }
        }
        unit.commit().map_err(shown)?;
        if got == 0 {
            break;
        }
    }
    let lost = seen.iter().filter(|seen| !**seen).count() as u64;
    Ok(RecoveryRow { open: units, seconds, lost, wrong })
}

/// Runs as the process with open units of work. `arguments` are those after [`STORE_CHILD`]. Prints `open` and waits until it is killed, or until its
/// input ends with the process that started it.
#[must_use]
pub fn run_store_child(arguments: &[OsString]) -> i32 {
    let [folder, units] = arguments else { return 2 };
    let Some(units) = units.to_str().and_then(|units| units.parse::<u32>().ok()) else { return 2 };
    let held = hold(Path::new(folder), units);
    match held {
        Ok(_units) => {
            let mut out = std::io::stdout();
            let _ = writeln!(out, "open").and_then(|()| out.flush());
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            0
        }
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            2
        }
    }
}

/// Commits messages, and opens units of work that each got one and put another.
fn hold(folder: &Path, units: u32) -> Result<Vec<Unit>, String> {
    let store = open(folder, Settings::default())?;
    let queue = define_queue(&store).map_err(shown)?;
    for first in (0..COMMITTED).step_by(usize::try_from(CHUNK).unwrap_or(1)) {
        let mut unit = store.begin().map_err(shown)?;
        for number in first..(first + CHUNK).min(COMMITTED) {
            queue.put(&mut unit, &Message::new(number.to_be_bytes().to_vec())).map_err(shown)?;
        }
        unit.commit().map_err(shown)?;
    }
    let one = |_| {
        let mut unit = store.begin()?;
        queue.get(&mut unit, Select::First, GetWait::No)?;
        queue.put(&mut unit, &Message::new(NEVER.to_be_bytes().to_vec()))?;
        Ok(unit)
    };
    (0..units).map(one).collect::<Result<Vec<Unit>, StoreError>>().map_err(shown)
}
