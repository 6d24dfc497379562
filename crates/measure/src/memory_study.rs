//! Study of memory: the same load on a store whose caches become smaller in steps.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quayline_report::{Cell, Column, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};
use quayline_store::record_file::{By, FileDefinition, KeyPlace, Organisation, RecordFile, Relation};
use quayline_store::{Access, Clock, LockWait, Store, StoreError, StoreLimits, SystemClock};
use quayline_store_embedded::{EmbeddedEngine, Folder, Medium, MediumFile, OpenMode, Settings};

use crate::error_text::shown;
use crate::store_study::{Repeated, random, repeated};

/// Bytes of a record. Its key and its content fit the cache of small records.
const RECORD_BYTES: u32 = 80;
/// Records that a transaction reads by key.
const READS: u64 = 10;
/// Transactions of which one also rewrites a record.
const UPDATE_EVERY: u64 = 10;
/// Part of a limit that the cache of small records gets; pages get the rest. The default settings of a store have the same parts: 32 and 256 MB.
const RECORD_CACHE_PART: usize = 9;
const NAME: &str = "MEASURED";
/// Part of the rate with the most memory that counts as kept.
const KEPT: f64 = 0.9;

/// Settings of the study.
#[derive(Clone, Debug)]
pub struct MemoryStudyOptions {
    /// Folder for the data of the run. The study empties the folder `memory` in it.
    pub scratch: PathBuf,
    /// Seconds of each step.
    pub seconds: f64,
    /// Drivers at once.
    pub drivers: usize,
    /// Records of the file.
    pub records: u64,
    /// Megabytes of the caches. The study begins with the largest number.
    pub limits_mb: Vec<u32>,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRow {
    /// Megabytes of the caches.
    pub limit_mb: u32,
    /// Transactions a second.
    pub rate: f64,
    /// CPU microseconds of the process for each.
    pub cpu_us: f64,
    /// 50th, 95th and 99th percentile of the response time in milliseconds.
    pub times_ms: [f64; 3],
    /// Pages that the store read from its files for each transaction.
    pub page_reads: f64,
    /// Bytes that it read for each transaction.
    pub read_bytes: f64,
}

/// Results of the study.
#[derive(Clone, Debug)]
pub struct MemoryStudy {
    options: MemoryStudyOptions,
    /// Steps, the most memory first.
    pub rows: Vec<MemoryRow>,
}

impl MemoryStudy {
    /// Runs the study. `say` receives the name of each step.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn run(options: &MemoryStudyOptions, say: &dyn Fn(&str)) -> Result<MemoryStudy, String> {
        let folder = options.scratch.join("memory");
        // A folder that cannot be emptied cannot be made either.
        let empty = || std::fs::remove_dir_all(&folder);
        let _ = empty();
        say(&format!("load {} records", options.records));
        load(&folder, options.records)?;
        let mut limits = options.limits_mb.clone();
        limits.sort_unstable_by(|a, b| b.cmp(a));
        limits.dedup();
        let mut study = MemoryStudy { options: options.clone(), rows: Vec::new() };
        for limit_mb in limits {
            say(&format!("{limit_mb} MB"));
            study.rows.push(step(&folder, options, limit_mb)?);
        }
        let _ = empty();
        Ok(study)
    }

    /// Returns the smallest limit that keeps nine tenths of the rate of the largest one, with all limits between them.
    #[must_use]
    pub fn least_mb(&self) -> Option<u32> {
        let first = self.rows.first()?;
        let kept = self.rows.iter().take_while(|row| row.rate >= KEPT * first.rate);
        kept.last().map(|row| row.limit_mb)
    }

    /// Builds the report of kind `memory`.
    #[must_use]
    pub fn report(&self) -> Report {
        let MemoryStudyOptions { seconds, drivers, records, .. } = &self.options;
        let summary = self.least_mb().map_or_else(String::new, |least| {
            format!("{least} MB keep {:.0} % of the rate of the largest limit.", 100.0 * KEPT)
        });
        Report {
            kind: "memory".to_owned(),
            title: "Memory: the same load with smaller caches".to_owned(),
            verdict: Verdict::Good,
            summary,
            conditions: vec![
                ("records".to_owned(), records.to_string()),
                ("bytes of a record".to_owned(), RECORD_BYTES.to_string()),
                ("drivers".to_owned(), drivers.to_string()),
                ("seconds of a step".to_owned(), seconds.to_string()),
            ],
            sections: vec![self.steps()],
        }
    }

    fn steps(&self) -> Section {
        let most = self.rows.first().map_or(1.0, |row| row.rate);
        let cells = |row: &MemoryRow| {
            let [p50, p95, p99] = row.times_ms;
            let mut cells = vec![Cell::text(format!("{} MB", row.limit_mb))];
            let relative = 100.0 * row.rate / most;
            let read_kb = row.read_bytes / 1e3;
            cells.extend([row.rate, relative, row.cpu_us, p50, p95, p99, row.page_reads, read_kb].map(Cell::Number));
            cells
        };
        let points = |of: &dyn Fn(&MemoryRow) -> f64| {
            self.rows.iter().rev().map(|row| (f64::from(row.limit_mb), of(row))).collect::<Vec<(f64, f64)>>()
        };
        let series = |name: &str, points| Series { name: name.to_owned(), style: SeriesStyle::Points, points };
        Section {
            id: "steps".to_owned(),
            title: "Steps".to_owned(),
            notes: vec![
                format!(
                    "A transaction reads {READS} records by random keys, and one of {UPDATE_EVERY} also rewrites a record and commits. Eight ninths of a \
                     limit are for pages, one ninth for small records, as in the default settings."
                ),
                "Page reads are calls to the system. It may have the file in its own memory, so a page read costs CPU time, and not always a read of the device."
                    .to_owned(),
            ],
            picture: Some(Picture::Lines {
                across: "memory, MB".to_owned(),
                up: "% of the most transactions a second; page reads of a transaction".to_owned(),
                series: vec![
                    series("rate", points(&|row| 100.0 * row.rate / most)),
                    series("page reads", points(&|row| row.page_reads)),
                ],
            }),
            table: Table {
                columns: vec![
                    Column::new("memory", ""),
                    Column::higher("rate", "1/s"),
                    Column::new("of the largest", "%"),
                    Column::lower("CPU time", "µs"),
                    Column::lower("p50", "ms"),
                    Column::lower("p95", "ms"),
                    Column::new("p99", "ms"),
                    Column::lower("page reads", "each"),
                    Column::lower("read", "kB each"),
                ],
                rows: self.rows.iter().map(cells).collect(),
            },
        }
    }
}

/// Opens the store with caches of some megabytes.
fn open(medium: Arc<Counted>, limit_mb: u32) -> Result<Store, String> {
    let bytes = usize::try_from(limit_mb).unwrap_or(usize::MAX).saturating_mul(1_000_000);
    let record_cache_bytes = bytes / RECORD_CACHE_PART;
    let settings = Settings { cache_bytes: bytes - record_cache_bytes, record_cache_bytes, ..Settings::default() };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let engine = EmbeddedEngine::open(medium, &clock, settings).map_err(shown)?;
    Store::open(Arc::new(engine), clock, StoreLimits::default(), Access::Write).map_err(shown)
}

/// Makes the store with its file.
fn load(folder: &Path, records: u64) -> Result<(), String> {
    let store = open(Counted::new(folder)?, 64)?;
    let mut unit = store.begin().map_err(shown)?;
    let definition = FileDefinition {
        name: NAME.to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
        record_bytes_min: RECORD_BYTES,
        record_bytes_max: RECORD_BYTES,
        alternates: Vec::new(),
    };
    let file = store.define_file(&mut unit, definition).map_err(shown)?;
    unit.commit().map_err(shown)?;
    let mut number = 0_u64;
    let loaded = file.load_sorted(&store, &mut |record| {
        record.clear();
        record.extend_from_slice(&number.to_be_bytes());
        record.resize(RECORD_BYTES as usize, b'.');
        number += 1;
        Ok(number <= records)
    });
    loaded.map(drop).map_err(shown)
}

/// Runs the load with one limit, on a store that has read its file once.
fn step(folder: &Path, options: &MemoryStudyOptions, limit_mb: u32) -> Result<MemoryRow, String> {
    let medium = Counted::new(folder)?;
    let store = open(Arc::clone(&medium), limit_mb)?;
    let unit = store.begin().map_err(shown)?;
    let file = store.file(&unit, NAME).map_err(shown)?;
    file.scan(&unit, &mut |_, _| Ok(())).map_err(shown)?;
    drop(unit);
    let records = options.records;
    let once = |seed: &mut u64| transaction(&store, &file, records, seed);
    let time = Duration::from_secs_f64(options.seconds);
    // The cache of small records fills as the load reads them.
    repeated(options.drivers, time / 2, &once)?;
    let before = medium.reads();
    let Repeated { count, rate, cpu_us, times_ms } = repeated(options.drivers, time, &once)?;
    let after = medium.reads();
    let each = |at: usize| (after[at] - before[at]) as f64 / count.max(1) as f64;
    Ok(MemoryRow { limit_mb, rate, cpu_us, times_ms, page_reads: each(0), read_bytes: each(1) })
}

fn transaction(store: &Store, file: &RecordFile, records: u64, seed: &mut u64) -> Result<(), StoreError> {
    let mut unit = store.begin()?;
    for _ in 0..READS {
        let key = (random(seed) % records).to_be_bytes();
        file.read(&unit, By::Key(&key), Relation::Equal)?;
    }
    let number = random(seed);
    if !number.is_multiple_of(UPDATE_EVERY) {
        return Ok(());
    }
    let key = (number / UPDATE_EVERY % records).to_be_bytes();
    let read = file.read_for_update(&mut unit, By::Key(&key), Relation::Equal, LockWait::Default)?;
    let mut record = read.bytes.to_vec();
    record[8..16].copy_from_slice(&number.to_be_bytes());
    file.rewrite(&mut unit, &read, &record)?;
    unit.commit()?;
    Ok(())
}

/// Reads and bytes so far.
type Reads = [AtomicU64; 2];

/// A folder that counts what the store reads from its files.
#[derive(Debug)]
struct Counted {
    folder: Folder,
    reads: Arc<Reads>,
}

impl Counted {
    fn new(folder: &Path) -> Result<Arc<Counted>, String> {
        let folder = Folder::create(folder).map_err(shown)?;
        Ok(Arc::new(Counted { folder, reads: Arc::default() }))
    }

    fn reads(&self) -> [u64; 2] {
        std::array::from_fn(|at| self.reads[at].load(Ordering::Relaxed))
    }
}

impl Medium for Counted {
    fn name(&self) -> String {
        self.folder.name()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.folder.list()
    }

    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn MediumFile>> {
        let file = self.folder.open(name, mode)?;
        Ok(Arc::new(CountedFile { file, reads: Arc::clone(&self.reads) }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.folder.sync_folder()
    }

    fn lock(&self) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.folder.lock()
    }
}

#[derive(Debug)]
struct CountedFile {
    file: Arc<dyn MediumFile>,
    reads: Arc<Reads>,
}

impl MediumFile for CountedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.reads[0].fetch_add(1, Ordering::Relaxed);
        self.reads[1].fetch_add(into.len() as u64, Ordering::Relaxed);
        self.file.read(at, into)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write(at, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}
