//! The job of IBM's paper "WebSphere Liberty Batch: Thoughts on Performance", run by this program's own engine.

mod accounts;
mod experiments;
mod floor;
mod positions;
mod study;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use quayline_batch::artifact::{Answer, Batchlet, Item, Processor, Registry};
use quayline_batch::event::{CHECKPOINT, Keeping, TopicFilter, number_of};
use quayline_batch::record::Times;
use quayline_batch::{
    Backend, BatchStatus, DatabaseBackend, Engine as JobEngine, EngineSettings, Repository, StoreBackend, builtin,
};
use quayline_postgres::Connection;
use quayline_postgres::server::{Durable, OwnServer};
use quayline_project::job::JobFile;
use quayline_store::{Access, Clock, Engine, MemoryEngine, Store, StoreLimits, SystemClock};
use quayline_store_embedded::{Durability, EmbeddedEngine, Folder, Settings};
use rustix::time::{ClockId, clock_gettime};

pub use accounts::register;
pub use positions::{Moves, Positioned};
pub use study::{BatchStudy, BatchStudyOptions, Repositories};

/// Way of writing rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rows {
    /// No rows; only the container is measured.
    None,
    /// A statement for each row to delete, sent together.
    Pipelined,
    /// One statement for a chunk.
    Set,
    /// A statement for each row to delete, each answered before the next is sent, as in the paper.
    OneByOne,
}

/// A run of the job.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Records in all.
    pub records: u64,
    /// Item-count.
    pub items: u64,
    /// Partitions; 1 is a step without partitions.
    pub partitions: u64,
    /// Way of writing rows.
    pub rows: Rows,
    /// Bytes of checkpoint data of reader and writer each.
    pub checkpoint_bytes: usize,
    /// Whether the listener of the paper writes times.
    pub listens: Listens,
    /// Events to store.
    pub events: KeptEvents,
    /// Bytes of each item that is written; 0 writes it as it was read.
    pub object_bytes: usize,
    /// Whether the engine measures the times of the step.
    pub measures: bool,
}

/// The listener of the paper, which writes `times.csv`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Listens {
    /// No listener.
    No,
    /// Writes the times of each chunk.
    Chunks,
    /// Writes also the times of each item, to `items.csv`.
    Items,
    /// Writes the times of each chunk, whose writer waits for the database as in the paper.
    Answers,
}

/// Events that a run stores.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeptEvents {
    /// The engine has no settings for events.
    Off,
    /// All events except those of checkpoints.
    Filtered,
    /// All events, including those of checkpoints.
    All,
}

impl KeptEvents {
    fn keeping(self) -> Option<Keeping> {
        let mut filter = TopicFilter::ALL;
        match self {
            KeptEvents::Off => return None,
            KeptEvents::Filtered => filter.0 &= !number_of(CHECKPOINT).map_or(0, |number| 1 << number),
            KeptEvents::All => {}
        }
        Some(Keeping { filter, checkpoint_sample_ms: 0, retain: 1_000_000, queue: None, relay: None })
    }
}

/// Makes items of a length, as the processor of the paper's seventh experiment.
struct Inflate(usize);

impl Processor for Inflate {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        let mut object = Vec::with_capacity(self.0.max(item.len()));
        object.extend_from_slice(item);
        object.resize(self.0.max(item.len()), b' ');
        Ok(Some(object))
    }
}

/// A batchlet that does nothing.
struct Nothing;

impl Batchlet for Nothing {
    fn process(&mut self) -> Answer<Option<String>> {
        Ok(None)
    }
}

impl Load {
    /// Chunks in all.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        (self.records / self.partitions).div_ceil(self.items) * self.partitions
    }
}

/// Times of a run.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// Wall time from start to end.
    pub wall: Duration,
    /// The step's own times; those of partitions are added.
    pub times: Times,
    /// CPU time of this process; zero for the floor.
    pub cpu: Duration,
}

impl Took {
    /// Microseconds of each checkpoint without reading: the container, where no rows are written.
    #[must_use]
    pub fn checkpoint_us(&self, load: &Load) -> f64 {
        self.wall.saturating_sub(Duration::from_nanos(self.times.read_ns)).as_secs_f64() * 1e6 / load.chunks() as f64
    }
}

/// Place of the job repository and of the rows.
enum Place {
    Database(OwnServer),
    Embedded,
    Memory,
}

/// A place for the job, with a data file.
pub struct World {
    place: Place,
    folder: PathBuf,
    /// Whether commits of a store wait for their sync.
    syncs: Cell<bool>,
}

/// Records of the data file, which readers open again at its end.
const LINES: usize = 10_000;
/// Starts of which the quickest counts.
pub const STARTS: u64 = 200;
/// Partitions of a step that run at once.
pub const THREADS: usize = 32;

impl World {
    /// Creates a separate database on a disk, or in memory (`/dev/shm`), where a sync costs nothing. `None` if PostgreSQL is not installed.
    ///
    /// # Errors
    /// An error of the system.
    pub fn database(in_memory: bool) -> Result<Option<World>, String> {
        let disk = std::env::temp_dir();
        let folder = fresh_folder(if in_memory { Path::new("/dev/shm") } else { &disk });
        let server = match OwnServer::start(&folder, Durable::Yes) {
            Ok(server) => server,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("PostgreSQL does not start in {}: {error}", folder.display())),
        };
        data_file(&folder)?;
        let world = World { place: Place::Database(server), folder, syncs: Cell::new(true) };
        world.sql(
            "CREATE TABLE account (account_number bigint PRIMARY KEY, balance int NOT NULL, instance_id bigint NOT NULL, acct_code varchar(30))",
        )?;
        Ok(Some(world))
    }

    /// Creates an embedded store in a temporary folder.
    ///
    /// # Errors
    /// An error of the system.
    pub fn embedded() -> Result<World, String> {
        let folder = fresh_folder(&std::env::temp_dir());
        data_file(&folder)?;
        Ok(World { place: Place::Embedded, folder, syncs: Cell::new(true) })
    }

    /// Creates a repository in memory.
    ///
    /// # Errors
    /// An error of the system.
    pub fn memory() -> Result<World, String> {
        let folder = fresh_folder(&std::env::temp_dir());
        data_file(&folder)?;
        Ok(World { place: Place::Memory, folder, syncs: Cell::new(true) })
    }

    /// Returns the database server, if there is one.
    #[must_use]
    pub fn server(&self) -> Option<&OwnServer> {
        match &self.place {
            Place::Database(server) => Some(server),
            _ => None,
        }
    }

    /// Returns the folder of the data file.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs statements in the database, if there is one.
    ///
    /// # Errors
    /// Those of the database.
    pub fn sql(&self, text: &str) -> Result<(), String> {
        let Some(server) = self.server() else { return Ok(()) };
        let mut connection = Connection::open(&server.endpoint()).map_err(|error| error.to_string())?;
        connection.script(text).map_err(|error| error.to_string())
    }

    /// Removes the rows of earlier runs and runs a checkpoint of the server.
    ///
    /// # Errors
    /// Those of the database.
    pub fn fresh(&self) -> Result<(), String> {
        // CHECKPOINT cannot run with others in one string.
        self.sql("TRUNCATE account")?;
        self.sql("CHECKPOINT")
    }

    /// Runs the job.
    ///
    /// # Errors
    /// Those of the job.
    pub fn job(&self, load: &Load) -> Result<Took, String> {
        let bytes = load.object_bytes;
        let mut more = |registry: &mut Registry| {
            registry.processor("inflate", move |_| Ok(Box::new(Inflate(bytes))));
        };
        self.run_with(&job_xml(load), &mut more, (load.events, load.measures))
    }

    /// Runs `run` with commits that do not wait for a sync.
    ///
    /// # Errors
    /// Those of the database and of `run`.
    pub fn unsynced<T>(&self, run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let set = |value: &str| self.sql(&format!("ALTER ROLE CURRENT_USER {value}"));
        set("SET synchronous_commit = off")?;
        self.syncs.set(false);
        let done = run();
        self.syncs.set(true);
        set("RESET synchronous_commit")?;
        done
    }

    /// Runs a job of one step, with more artifacts.
    ///
    /// # Errors
    /// Those of the job.
    pub fn run(&self, xml: &str, more: &mut dyn FnMut(&mut Registry)) -> Result<Took, String> {
        self.run_with(xml, more, (KeptEvents::Off, true))
    }

    fn run_with(
        &self,
        xml: &str,
        more: &mut dyn FnMut(&mut Registry),
        with: (KeptEvents, bool),
    ) -> Result<Took, String> {
        let (events, measures) = with;
        let settings = EngineSettings { measures, ..EngineSettings::default() };
        self.with_backend(|backend| run(backend, &self.folder, xml, more, (events, settings)))
    }

    /// Runs a job of one batchlet, which does nothing, `executions` times. Returns the time of the quickest of the last [`STARTS`] starts, in
    /// microseconds, for each of these numbers: other work on the machine makes a start longer, never shorter.
    ///
    /// # Errors
    /// Those of the job.
    pub fn quickest_starts(&self, executions: &[u64]) -> Result<Vec<f64>, String> {
        self.with_backend(|backend| {
            let mut registry = Registry::default();
            registry.batchlet("nothing", |_| Ok(Box::new(Nothing)));
            let engine = JobEngine::new(Arc::new(Repository::new(backend)), registry, self.folder.clone());
            let xml = "<job id=\"nothing\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\">\
                       <batchlet ref=\"nothing\"/></step></job>";
            let file = JobFile::parse("nothing.xml", xml).map_err(|findings| findings.to_string())?;
            let (mut ran, mut found) = (0, Vec::new());
            for target in executions {
                let mut quickest = f64::INFINITY;
                while ran < *target {
                    let begin = Instant::now();
                    let launched = engine.start(&file, BTreeMap::new()).map_err(|error| error.to_string())?;
                    if ran + STARTS >= *target {
                        quickest = quickest.min(begin.elapsed().as_secs_f64() * 1e6);
                    }
                    launched.run().map_err(|error| error.to_string())?;
                    ran += 1;
                }
                found.push(quickest);
            }
            Ok(found)
        })
    }

    /// Runs `run` with a repository. A store is empty, and closes afterwards.
    fn with_backend<T>(&self, run: impl FnOnce(Arc<dyn Backend>) -> Result<T, String>) -> Result<T, String> {
        self.fresh()?;
        match &self.place {
            Place::Database(server) => {
                let backend = DatabaseBackend::open(server.endpoint(), Arc::new(SystemClock));
                run(Arc::new(backend.map_err(|error| error.to_string())?))
            }
            Place::Memory => run(store_backend(Arc::new(MemoryEngine::new()))?),
            Place::Embedded => {
                let path = self.folder.join("store");
                // Of the run before.
                let _ = std::fs::remove_dir_all(&path);
                let medium = Folder::create(&path).map_err(|error| error.to_string())?;
                let clock: Arc<dyn Clock> = Arc::new(SystemClock);
                let durability = if self.syncs.get() { Durability::Sync } else { Durability::Buffered };
                let settings = Settings { durability, ..Settings::default() };
                let engine = EmbeddedEngine::open(Arc::new(medium), &clock, settings);
                let engine = Arc::new(engine.map_err(|error| error.to_string())?);
                let done = run(store_backend(Arc::clone(&engine) as Arc<dyn Engine>)?);
                engine.close().map_err(|error| error.to_string())?;
                done
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.server().is_none() {
            // A server removes its folder itself.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Runs the floor of a load: its SQL over a bare connection, a chunk with its checkpoint and `COMMIT` in one round trip.
///
/// # Errors
/// The database is missing or returned an error.
pub fn floor(world: &World, load: &Load) -> Result<Took, String> {
    let server = world.server().ok_or("the floor needs a database")?;
    world.fresh()?;
    world.sql(
        "DROP TABLE IF EXISTS floor_ckpt; CREATE TABLE floor_ckpt (id bigint PRIMARY KEY, version bigint NOT NULL, reads bigint, writes bigint, \
         commits bigint, data bytea, updated timestamptz)",
    )?;
    floor::floor(&server.endpoint(), &world.folder().join("accounts.txt"), load, THREADS)
}

fn fresh_folder(parent: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = parent.join(format!("quayline-batch-{}-{number}", std::process::id()));
    // Of a run that was ended.
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn data_file(folder: &Path) -> Result<(), String> {
    let text: String = (0..LINES).map(|number| format!("{number:08}CHK{:>60}\n", "")).collect();
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(folder.join("accounts.txt"), text))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

fn store_backend(engine: Arc<dyn Engine>) -> Result<Arc<dyn Backend>, String> {
    let store = Store::open(engine, Arc::new(SystemClock), StoreLimits::default(), Access::Write);
    let store = store.map_err(|error| error.to_string())?;
    Ok(Arc::new(StoreBackend::new(store, Arc::new(SystemClock)).map_err(|error| error.to_string())?))
}

/// Returns the job XML of a load.
#[must_use]
pub fn job_xml(load: &Load) -> String {
    let deletes = match load.rows {
        Rows::None => "none",
        Rows::Pipelined => "rows",
        Rows::Set => "set",
        Rows::OneByOne => "one-by-one",
    };
    let property = |name: &str, value: &str| format!("<property name=\"{name}\" value=\"{value}\"/>");
    let (base, partition) = if load.partitions > 1 {
        let each: String = (0..load.partitions)
            .map(|number| {
                let base = property("base", &(number * 100_000_000).to_string());
                format!("<properties partition=\"{number}\">{base}</properties>")
            })
            .collect();
        let plan = format!("<plan partitions=\"{}\" threads=\"{THREADS}\">{each}</plan>", load.partitions);
        ("#{partitionPlan['base']}", format!("<partition>{plan}</partition>"))
    } else {
        ("0", String::new())
    };
    let bytes = load.checkpoint_bytes.to_string();
    let reader = [
        property("FileName", "accounts.txt"),
        property("NumRecords", &(load.records / load.partitions).to_string()),
        property("ReaderCheckpointDataSize", &bytes),
    ]
    .concat();
    let writer = [
        property("AccountNumberBase", base),
        property("WriterCheckpointDataSize", &bytes),
        property("Deletes", deletes),
    ]
    .concat();
    let listener = match load.listens {
        Listens::No => None,
        Listens::Chunks => Some(String::new()),
        Listens::Items => Some(property("IterationFile", "items.csv")),
        Listens::Answers => Some(property("Writes", "answered")),
    };
    let listener = listener.map_or_else(String::new, |more| {
        let file = property("File", "times.csv");
        format!(
            "<listeners><listener ref=\"quayline.chunkTimesListener\"><properties>{file}{more}</properties></listener></listeners>"
        )
    });
    let processor = if load.object_bytes > 0 { "<processor ref=\"inflate\"/>" } else { "" };
    format!(
        "<job id=\"accounts\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"step\">{listener}<chunk item-count=\"{}\">\
         <reader ref=\"quayline.accountReader\"><properties>{reader}</properties></reader>{processor}\
         <writer ref=\"quayline.accountWriter\"><properties>{writer}</properties></writer></chunk>{partition}</step></job>",
        load.items
    )
}

/// Returns the CPU time of this process.
fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Runs a job over a repository, with more artifacts.
fn run(
    backend: Arc<dyn Backend>,
    folder: &Path,
    xml: &str,
    more: &mut dyn FnMut(&mut Registry),
    (events, settings): (KeptEvents, EngineSettings),
) -> Result<Took, String> {
    let mut registry = Registry::default();
    builtin::register(&mut registry);
    register(&mut registry);
    more(&mut registry);
    let mut engine = JobEngine::new(Arc::new(Repository::new(backend)), registry, folder.to_owned());
    engine.keeping = events.keeping();
    engine.settings = settings;
    let file = JobFile::parse("accounts.xml", xml).map_err(|findings| findings.to_string())?;
    let launched = engine.start(&file, BTreeMap::new()).map_err(|error| error.to_string())?;
    let id = launched.id();
    let (begin, cpu) = (Instant::now(), process_cpu());
    let ended = launched.run().map_err(|error| error.to_string())?;
    let (wall, cpu) = (begin.elapsed(), process_cpu().saturating_sub(cpu));
    if ended.status != BatchStatus::Completed {
        return Err(format!("the job ended {}: {}", ended.status, ended.cause.unwrap_or_default()));
    }
    let steps = engine.repository.steps(id).map_err(|error| error.to_string())?;
    Ok(Took { wall, times: steps.first().map_or_else(Times::default, |step| step.times), cpu })
}
