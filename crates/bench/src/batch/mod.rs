//! The job of IBM's paper on Liberty Batch, run by this program's own engine beside the floor: the same SQL with nothing around it.

mod floor;
mod memory;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_batch::artifact::Registry;
use quayline_batch::record::Times;
use quayline_batch::{Backend, BatchStatus, DatabaseBackend, Engine, Repository, StoreBackend, builtin};
use quayline_postgres::Connection;
use quayline_postgres::server::{Durable, OwnServer};
use quayline_project::job::JobFile;
use quayline_store::{Access, MemoryEngine, Store, StoreLimits, SystemClock};

pub use floor::floor;
pub use memory::peak_memory;

/// How rows are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rows {
    /// No rows: what is left is the container.
    None,
    /// A statement for each row to delete, sent together.
    Pipelined,
    /// One statement for a chunk.
    Set,
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
    /// How rows are written.
    pub rows: Rows,
    /// Bytes of checkpoint data of reader and writer each.
    pub checkpoint_bytes: usize,
}

impl Load {
    /// Chunks in all.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        (self.records / self.partitions).div_ceil(self.items) * self.partitions
    }
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// From start to end.
    pub wall: Duration,
    /// Without reading: what a checkpoint waits for where no rows are written.
    pub container: Duration,
}

impl Took {
    /// Microseconds of the container for each checkpoint.
    #[must_use]
    pub fn checkpoint_us(&self, load: &Load) -> f64 {
        self.container.as_secs_f64() * 1e6 / load.chunks() as f64
    }
}

/// A database server and a data file.
pub struct World {
    server: OwnServer,
    folder: PathBuf,
}

/// Records of the data file, which readers open again at its end.
const LINES: usize = 10_000;
/// Partitions that run at once, here and on the floor.
const THREADS: usize = 32;

impl World {
    /// A world on a disk, or in memory (`/dev/shm`), where a sync costs nothing.
    ///
    /// # Errors
    /// `None` if PostgreSQL is not installed; errors of the system.
    pub fn new(in_memory: bool) -> Result<Option<World>, String> {
        let parent = if in_memory { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
        let folder = parent.join(format!("quayline-bench-batch-{}", std::process::id()));
        // Of a run that was ended.
        let _ = std::fs::remove_dir_all(&folder);
        let server = match OwnServer::start(&folder, Durable::Yes) {
            Ok(server) => server,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("PostgreSQL does not start in {}: {error}", folder.display())),
        };
        data_file(&folder)?;
        let world = World { server, folder };
        world.sql(
            "CREATE TABLE account (account_number bigint PRIMARY KEY, balance int NOT NULL, instance_id bigint NOT NULL, acct_code varchar(30));
             CREATE TABLE floor_ckpt (id bigint PRIMARY KEY, version bigint NOT NULL, reads bigint, writes bigint, commits bigint, data bytea, updated timestamptz)",
        )?;
        Ok(Some(world))
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &OwnServer {
        &self.server
    }

    /// Folder of the data file.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn sql(&self, text: &str) -> Result<(), String> {
        let mut connection = Connection::open(&self.server.endpoint()).map_err(|error| error.to_string())?;
        connection.script(text).map_err(|error| error.to_string())
    }

    fn fresh(&self) -> Result<(), String> {
        // CHECKPOINT cannot run with others in one string.
        self.sql("TRUNCATE account; TRUNCATE floor_ckpt")?;
        self.sql("CHECKPOINT")
    }

    /// Runs the job in the database.
    ///
    /// # Errors
    /// Those of the job.
    pub fn job(&self, load: &Load) -> Result<Took, String> {
        self.fresh()?;
        let backend =
            DatabaseBackend::open(self.server.endpoint(), Arc::new(SystemClock)).map_err(|error| error.to_string())?;
        run(Arc::new(backend), &self.folder, load, &mut |_| {})
    }

    /// Runs the floor.
    ///
    /// # Errors
    /// Those of the database.
    pub fn floor(&self, load: &Load) -> Result<Took, String> {
        self.fresh()?;
        floor(&self.server.endpoint(), &self.folder.join("accounts.txt"), load, THREADS)
    }
}

fn data_file(folder: &Path) -> Result<(), String> {
    let text: String = (0..LINES).map(|number| format!("{number:08}CHK{:>60}\n", "")).collect();
    std::fs::write(folder.join("accounts.txt"), text).map_err(|error| error.to_string())
}

/// Runs the job in memory: no database and no disk.
///
/// # Errors
/// Those of the job.
pub fn job_in_memory(folder: &Path, load: &Load) -> Result<Took, String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    data_file(folder)?;
    run(memory_backend()?, folder, load, &mut |_| {})
}

fn memory_backend() -> Result<Arc<dyn Backend>, String> {
    let store =
        Store::open(Arc::new(MemoryEngine::new()), Arc::new(SystemClock), StoreLimits::default(), Access::Write);
    let store = store.map_err(|error| error.to_string())?;
    Ok(Arc::new(StoreBackend::new(store, Arc::new(SystemClock)).map_err(|error| error.to_string())?))
}

/// The job XML of a load.
#[must_use]
pub fn job_xml(load: &Load) -> String {
    let deletes = match load.rows {
        Rows::None => "none",
        Rows::Pipelined => "rows",
        Rows::Set => "set",
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
    format!(
        "<job id=\"accounts\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"step\"><chunk item-count=\"{}\">\
         <reader ref=\"quayline.accountReader\"><properties>{reader}</properties></reader>\
         <writer ref=\"quayline.accountWriter\"><properties>{writer}</properties></writer></chunk>{partition}</step></job>",
        load.items
    )
}

/// Runs a job over a repository, with more artifacts.
fn run(
    backend: Arc<dyn Backend>,
    folder: &Path,
    load: &Load,
    more: &mut dyn FnMut(&mut Registry),
) -> Result<Took, String> {
    run_xml(backend, folder, &job_xml(load), more)
}

/// The same for any job XML of one step.
pub(crate) fn run_xml(
    backend: Arc<dyn Backend>,
    folder: &Path,
    xml: &str,
    more: &mut dyn FnMut(&mut Registry),
) -> Result<Took, String> {
    let mut registry = Registry::default();
    builtin::register(&mut registry);
    more(&mut registry);
    let engine = Engine::new(Arc::new(Repository::new(backend)), registry, folder.to_owned());
    let file = JobFile::parse("accounts.xml", xml).map_err(|findings| findings.to_string())?;
    let launched = engine.start(&file, BTreeMap::new()).map_err(|error| error.to_string())?;
    let id = launched.id();
    let begin = Instant::now();
    let ended = launched.run().map_err(|error| error.to_string())?;
    let wall = begin.elapsed();
    if ended.status != BatchStatus::Completed {
        return Err(format!("the job ended {}: {}", ended.status, ended.cause.unwrap_or_default()));
    }
    let steps = engine.repository.steps(id).map_err(|error| error.to_string())?;
    let times = steps.first().map_or_else(Times::default, |step| step.times);
    let read = Duration::from_nanos(times.read_ns);
    Ok(Took { wall, container: wall.saturating_sub(read) })
}

/// A job whose reader has a position of `bytes` bytes that never changes: what a checkpoint costs that says what the one before did.
///
/// # Errors
/// Those of the job.
pub fn unchanged(world: &World, bytes: usize, chunks: u64) -> Result<Took, String> {
    world.fresh()?;
    let backend =
        DatabaseBackend::open(world.server.endpoint(), Arc::new(SystemClock)).map_err(|error| error.to_string())?;
    let xml = "<job id=\"accounts\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"step\"><chunk item-count=\"10\">\
               <reader ref=\"constant\"/><writer ref=\"quayline.accountWriter\"><properties><property name=\"Deletes\" value=\"none\"/>\
               <property name=\"WriterCheckpointDataSize\" value=\"16\"/></properties></writer></chunk></step></job>";
    run_xml(Arc::new(backend), &world.folder, xml, &mut |registry| {
        registry.reader("constant", move |_| Ok(Box::new(memory::Constant::new(bytes, chunks * 10))));
    })
}
