//! A listener over a store in a folder, on a free port of this machine.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quayline_connect::{Anonymous, Listener, ListenerLimits, ListenerSettings};
use quayline_store::queue::QueueDefinition;
use quayline_store::{Access, Clock, Store, StoreLimits, SystemClock, Unit};
use quayline_store_embedded::{EmbeddedEngine, Folder, Medium, MediumFile, OpenMode, Settings};

/// Queues that every server of these tests has.
const QUEUES: [&str; 16] = [
    "TYPES",
    "HEADERS",
    "ORDER",
    "TX.IN",
    "TX.OUT",
    "POISON",
    "RECOVER",
    "SERVICE",
    "SELECT",
    "BROWSE",
    "EXPIRY",
    "LARGE",
    "MANY",
    "Q",
    "OTHER",
    "DEAD.LETTER",
];

pub(crate) fn settings() -> ListenerSettings {
    ListenerSettings {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        container_id: "quayline-test".to_owned(),
        tls: None,
        authenticator: Arc::new(Anonymous),
        threads: 2,
        limits: ListenerLimits::default(),
    }
}

pub(crate) fn store(folder: &Path) -> Store {
    store_on(Arc::new(Folder::create(folder).unwrap()))
}

fn store_on(medium: Arc<dyn Medium>) -> Store {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let engine = EmbeddedEngine::open(medium, &clock, Settings::default()).unwrap();
    let store = Store::open(Arc::new(engine), clock, StoreLimits::default(), Access::Write).unwrap();
    let mut unit = store.begin().unwrap();
    let known = store.queues(&unit).unwrap();
    for name in QUEUES.into_iter().filter(|name| !known.iter().any(|known| known == name)) {
        store.define_queue(&mut unit, QueueDefinition::local(name)).unwrap();
    }
    if !known.iter().any(|name| name == "FULL") {
        store.define_queue(&mut unit, QueueDefinition { depth_max: 2, ..QueueDefinition::local("FULL") }).unwrap();
    }
    unit.commit().unwrap();
    store
}

/// A server and its store.
pub(crate) struct Server {
    pub(crate) listener: Listener,
    pub(crate) store: Store,
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::with(settings())
    }

    pub(crate) fn with(settings: ListenerSettings) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let listener = Listener::start(store.clone(), settings).unwrap();
        Server { listener, store, _folder: folder }
    }

    /// Starts a server whose disk takes `sync` for each sync of a file.
    pub(crate) fn on_slow_disk(sync: Duration) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let store = store_on(Arc::new(SlowFolder { folder: Folder::create(folder.path()).unwrap(), sync }));
        let listener = Listener::start(store.clone(), settings()).unwrap();
        Server { listener, store, _folder: folder }
    }

    /// Takes all units of work that the store permits, so that no other can begin.
    pub(crate) fn all_units(&self) -> Vec<Unit> {
        std::iter::from_fn(|| self.store.begin().ok()).collect()
    }

    pub(crate) fn depth(&self, queue: &str) -> u64 {
        self.store.queue(queue).unwrap().facts().unwrap().depth
    }
}

/// A folder on a disk whose syncs are slow.
#[derive(Debug)]
struct SlowFolder {
    folder: Folder,
    sync: Duration,
}

impl Medium for SlowFolder {
    fn name(&self) -> String {
        self.folder.name()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.folder.list()
    }

    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn MediumFile>> {
        Ok(Arc::new(SlowFile { file: self.folder.open(name, mode)?, sync: self.sync }))
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
struct SlowFile {
    file: Arc<dyn MediumFile>,
    sync: Duration,
}

impl MediumFile for SlowFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read(at, into)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write(at, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        std::thread::sleep(self.sync);
        self.file.sync()
    }
}
