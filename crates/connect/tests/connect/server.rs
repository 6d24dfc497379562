//! A listener over a store in a folder, on a free port of this machine.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use quayline_connect::{Anonymous, Listener, ListenerLimits, ListenerSettings};
use quayline_store::queue::QueueDefinition;
use quayline_store::{Access, Clock, Store, StoreLimits, SystemClock};
use quayline_store_embedded::{EmbeddedEngine, Folder, Settings};

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
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let medium = Arc::new(Folder::create(folder).unwrap());
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

    pub(crate) fn depth(&self, queue: &str) -> u64 {
        self.store.queue(queue).unwrap().facts().unwrap().depth
    }
}
