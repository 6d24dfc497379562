//! State of one server thread: compiled loops, providers and buffers. It is not shared, so it needs no locks.

use std::cell::{Cell, Ref, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use quayline_gateway::{
    CannedRecords, Definitions, OperationLane, Outgoing, Provider, ProviderFault, ProviderSpec, Service,
};

use quayline_store::Store;
use quayline_workload::{Kind, Workload};

use crate::access::{Access, TokenCache};
use crate::apart::Apart;
use crate::body::Buffers;
use crate::metrics::Counted;
use crate::program::{Log, ProgramProvider, Said};
use crate::shared::Shared;

/// One server thread.
pub(crate) struct Thread {
    pub(crate) shared: Arc<Shared>,
    pub(crate) buffers: Rc<Buffers>,
    /// Record from which the current answer is written: one buffer for all requests, so that it remains in the CPU cache.
    pub(crate) record: RefCell<Vec<u8>>,
    pub(crate) tokens: TokenCache,
    version: RefCell<Rc<Version>>,
    generation: Cell<u64>,
    access: RefCell<Arc<Access>>,
    access_generation: Cell<u64>,
    metrics: RefCell<Vec<(String, Counted)>>,
    /// Connections to the listener for probes.
    pub(crate) probes: Cell<usize>,
    /// Streams of events for operators.
    pub(crate) streams: Cell<usize>,
}

/// A version of the definitions with the thread's compiled state. Requests in progress keep their version.
pub(crate) struct Version {
    pub(crate) definitions: Arc<Definitions>,
    lanes: RefCell<Vec<Option<Box<OperationLane>>>>,
    /// Class of work of each operation; empty where nothing is governed.
    classes: Vec<usize>,
    /// Counters by operation, fetched at first use.
    metrics: RefCell<Vec<Option<Counted>>>,
    providers: Vec<Provided>,
}

/// Files that a provider depends on in addition to its settings. A reload that changes neither keeps the provider.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Made {
    /// Modules of a program: see [`quayline_gateway::ProgramSpec::modules_stamp`].
    Modules(u64),
    /// Size and time of the file, if it exists.
    File(Option<(u64, SystemTime)>),
    /// No files.
    Here,
}

#[derive(Clone)]
struct Provided {
    spec: ProviderSpec,
    length: usize,
    request_length: Option<usize>,
    module: Made,
    /// Reason why the program cannot be called: its module does not correspond to its source.
    stale: Option<String>,
    provider: Rc<dyn Provider>,
}

impl Thread {
    pub(crate) fn new(shared: Arc<Shared>) -> Rc<Thread> {
        let (generation, definitions) = shared.definitions();
        let version = RefCell::new(Rc::new(Version::new(&shared, definitions, &[])));
        let (access_generation, access) = shared.access();
        Rc::new(Thread {
            shared,
            buffers: Rc::new(Buffers::default()),
            record: RefCell::default(),
            tokens: TokenCache::default(),
            version,
            generation: Cell::new(generation),
            access: RefCell::new(access),
            access_generation: Cell::new(access_generation),
            metrics: RefCell::default(),
            probes: Cell::new(0),
            streams: Cell::new(0),
        })
    }

    /// Returns the access rules; new ones take effect between requests.
    pub(crate) fn access(&self) -> Ref<'_, Arc<Access>> {
        if self.shared.access_generation.load(Ordering::Acquire) != self.access_generation.get() {
            let (generation, access) = self.shared.access();
            *self.access.borrow_mut() = access;
            self.access_generation.set(generation);
            self.tokens.clear();
        }
        self.access.borrow()
    }

    /// Returns the counters of an operation.
    pub(crate) fn metrics(&self, version: &Version, operation: usize) -> Counted {
        let mut of_version = version.metrics.borrow_mut();
        let id = &version.definitions.operations[operation].id;
        Rc::clone(of_version[operation].get_or_insert_with(|| self.metrics_of(id)))
    }

    /// Returns the counters of an operation by id. Versions of the definitions share them.
    pub(crate) fn metrics_of(&self, id: &str) -> Counted {
        let mut known = self.metrics.borrow_mut();
        if let Some((_, metrics)) = known.iter().find(|(known, _)| known == id) {
            return Rc::clone(metrics);
        }
        let metrics = Rc::new(self.shared.metrics.of(id));
        known.push((id.to_owned(), Rc::clone(&metrics)));
        metrics
    }

    /// Returns the current version; a new one takes effect between requests.
    pub(crate) fn version(&self) -> Rc<Version> {
        if self.shared.generation.load(Ordering::Acquire) != self.generation.get() {
            let (generation, definitions) = self.shared.definitions();
            let old = self.version.borrow().clone();
            *self.version.borrow_mut() = Rc::new(Version::new(&self.shared, definitions, &old.providers));
            self.generation.set(generation);
        }
        self.version.borrow().clone()
    }
}

impl Version {
    fn new(shared: &Arc<Shared>, definitions: Arc<Definitions>, old: &[Provided]) -> Version {
        let mut providers: Vec<Provided> = Vec::new();
        for service in &definitions.services {
            let module = match &service.provider {
                ProviderSpec::Program(program) => Made::Modules(program.modules_stamp()),
                ProviderSpec::Canned(records) => {
                    let data = std::fs::metadata(&records.file).ok();
                    Made::File(data.and_then(|data| Some((data.len(), data.modified().ok()?))))
                }
                ProviderSpec::Http(_) | ProviderSpec::Sql(_) | ProviderSpec::File(_) | ProviderSpec::Queue(_) => {
                    Made::Here
                }
            };
            let stale = match &service.provider {
                ProviderSpec::Program(program) => shared.stale(program),
                _ => None,
            };
            // A program goes on through a reload that does not concern it, and services with one program share its workers.
            let same = |known: &&Provided| {
                known.spec == service.provider
                    && (known.length, known.request_length) == (service.length, service.request_length)
                    && known.module == module
                    && known.stale == stale
            };
            let provider: Rc<dyn Provider> = match providers.iter().find(same).or_else(|| old.iter().find(same)) {
                Some(known) => Rc::clone(&known.provider),
                None => match &stale {
                    Some(why) => Rc::new(Absent(why.clone())),
                    None => provider(shared, service),
                },
            };
            let spec = service.provider.clone();
            let (length, request_length) = (service.length, service.request_length);
            providers.push(Provided { spec, length, request_length, module, stale, provider });
        }
        let lanes = RefCell::new(definitions.operations.iter().map(|_| None).collect());
        let metrics = RefCell::new(vec![None; definitions.operations.len()]);
        let class = |workload: &Arc<Workload>| {
            let ids = definitions.operations.iter().map(|operation| &operation.id);
            ids.map(|id| workload.classes().of(Kind::Api, id)).collect()
        };
        let classes = shared.workload.as_ref().map(class).unwrap_or_default();
        Version { definitions, lanes, classes, metrics, providers }
    }

    /// Lets `use_` have the lane of an operation. It must not wait in between: a lane serves one request at a time.
    pub(crate) fn with_lane<T>(&self, operation: usize, use_: impl FnOnce(&mut OperationLane) -> T) -> T {
        let mut lanes = self.lanes.borrow_mut();
        let lane = lanes[operation]
            .get_or_insert_with(|| Box::new(OperationLane::new(&self.definitions.operations[operation])));
        use_(lane)
    }

    /// Class of work of an operation.
    pub(crate) fn class(&self, operation: usize) -> usize {
        self.classes.get(operation).copied().unwrap_or(0)
    }

    /// Discards the lane of an operation; its next request gets a new one.
    pub(crate) fn forget_lane(&self, operation: usize) {
        if let Ok(mut lanes) = self.lanes.try_borrow_mut() {
            lanes[operation] = None;
        }
    }

    pub(crate) fn provider(&self, service: usize) -> &dyn Provider {
        &*self.providers[service].provider
    }

    /// Services that cannot be called now, and why.
    pub(crate) fn not_ready(&self) -> Vec<(String, String)> {
        let services = self.definitions.services.iter().zip(&self.providers);
        services.filter_map(|(service, known)| Some((service.name.clone(), known.provider.ready().err()?))).collect()
    }
}

fn provider(shared: &Arc<Shared>, service: &Service) -> Rc<dyn Provider> {
    let provider = provider_of_answers(shared, service, service.length - service.request_length.unwrap_or(0));
    match service.request_length {
        Some(request) => Rc::new(Apart { provider, request }),
        None => provider,
    }
}

/// Creates the provider of a service. `length` is the maximum length of an answer in bytes.
fn provider_of_answers(shared: &Arc<Shared>, service: &Service, length: usize) -> Rc<dyn Provider> {
    let log: Log = {
        let shared = Arc::clone(shared);
        Rc::new(move |said: Said| match said {
            Said::Ended(line) => {
                shared.metrics.workers_ended.fetch_add(1, Ordering::Relaxed);
                line.into_iter().for_each(|line| shared.log(&line));
            }
            Said::Line(line) => shared.log(&line),
        })
    };
    match &service.provider {
        ProviderSpec::Program(spec) => {
            let executable = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("quayline"));
            Rc::new(ProgramProvider::start(spec, length, executable, log))
        }
        ProviderSpec::Canned(spec) => {
            let records = std::fs::read(&spec.file).map_err(|error| error.kind().to_string());
            match records.and_then(|bytes| CannedRecords::new(bytes, length, spec.by)) {
                Ok(records) => Rc::new(records),
                Err(why) => Rc::new(Absent(format!("{}: {why}", spec.file.display()))),
            }
        }
        ProviderSpec::Http(spec) => match crate::upstream::provider(spec, length) {
            Ok(provider) => provider,
            Err(why) => Rc::new(Absent(why)),
        },
        ProviderSpec::Sql(spec) => match crate::sql::provider(spec) {
            Ok(provider) => provider,
            Err(why) => Rc::new(Absent(why)),
        },
        ProviderSpec::File(spec) => of_store(shared, |store| crate::records::record_file(store, spec)),
        ProviderSpec::Queue(spec) => {
            let log = Arc::clone(shared);
            of_store(shared, |store| crate::records::queue(store, spec, length, Rc::new(move |line| log.log(line))))
        }
    }
}

/// Creates a provider that needs the store.
fn of_store(shared: &Shared, make: impl FnOnce(Store) -> Rc<dyn Provider>) -> Rc<dyn Provider> {
    match &shared.store {
        Some(store) => make(store.clone()),
        None => Rc::new(Absent("the server was started without a store; start it again".to_owned())),
    }
}

/// A provider that cannot be made: every call says why.
struct Absent(String);

impl Provider for Absent {
    fn call<'a>(&'a self, _: Outgoing<'_>, _: &dyn Fn() -> String) -> quayline_gateway::Answered<'a> {
        Box::pin(core::future::ready(Err(ProviderFault::Absent { reason: self.0.clone() })))
    }

    fn ready(&self) -> Result<(), String> {
        Err(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::guard::{caught, report_once};
    use crate::peer::Peer;
    use crate::run::{exchange, take_connections};
    use crate::{Beside, ServeConfig};

    fn shared(root: &std::path::Path, lines: &Arc<Mutex<Vec<String>>>) -> Arc<Shared> {
        for folder in ["services", "apis"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("a.cpy"), "       01 A.\n          05 T PIC X(4).\n").unwrap();
        std::fs::write(root.join("a.dat"), "good").unwrap();
        let service = "copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"a.dat\"\n";
        std::fs::write(root.join("services/a.toml"), service).unwrap();
        let api = "base-path = \"/v\"\n[[operation]]\nid = \"get\"\nmethod = \"GET\"\npath = \"/x\"\nservice = \"a\"\n";
        std::fs::write(root.join("apis/a.toml"), api).unwrap();
        let mut config = ServeConfig { audit: Some(root.join("audit.jsonl")), ..ServeConfig::default() };
        config.authentication.required = false;
        let definitions = Definitions::load(root).unwrap();
        let lines = Arc::clone(lines);
        let log = Box::new(move |line: &str| lines.lock().unwrap().push(line.to_owned()));
        Arc::new(Shared::new(config, root.to_owned(), definitions, Beside::default(), log).unwrap())
    }

    /// A panic left the client without an answer, its connection counted for ever, and the call out of the audit.
    #[test]
    fn a_panic_in_a_request_is_a_500_on_record_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let shared = shared(folder.path(), &lines);
        report_once(&shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let thread = Thread::new(Arc::clone(&shared));
            let version = thread.version();
            let (mut client, server) = tokio::net::UnixStream::pair().unwrap();
            let address: SocketAddr = "192.0.2.1:1000".parse().unwrap();
            let place = shared.connections.enter(address.ip()).unwrap();
            let (_stop, stopped) = tokio::sync::watch::channel(false);
            let serving = Rc::clone(&thread);
            tokio::task::spawn_local(async move {
                let _place = place;
                let _ = caught(exchange(&serving, server, Peer::new(address, None), stopped)).await;
            });
            let mut statuses = Vec::new();
            for round in 0..3 {
                // A lane that another holds is a bug; here it stands for all of them.
                let held = (round < 2).then(|| version.lanes.borrow_mut());
                client.write_all(b"GET /v/x HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
                let mut answer = [0; 4096];
                let n = client.read(&mut answer).await.unwrap();
                drop(held);
                let text = String::from_utf8(answer[..n].to_vec()).unwrap();
                assert!(text.starts_with("HTTP/1.1 200") || text.contains("GTW-127"), "{text}");
                statuses.push(text[9..12].to_owned());
            }
            assert_eq!(statuses, ["500", "500", "200"]);
            assert_eq!((shared.connections.open(), shared.requests.load(Ordering::Relaxed)), (1, 0));
            drop(client);
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert_eq!(shared.connections.open(), 0);
        });
        assert_eq!(shared.metrics.panics.load(Ordering::Relaxed), 2);
        let told = lines.lock().unwrap().clone();
        assert_eq!(told.iter().filter(|line| line.contains("GTW-127 request")).count(), 2, "{told:?}");
        assert!(
            told.iter().any(|line| line.contains(" again")) && told.iter().all(|line| line.len() < 400),
            "{told:?}"
        );
        drop(shared);
        let audit = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
        let statuses: Vec<bool> = audit.lines().map(|line| line.contains("\"status\":500")).collect();
        assert_eq!(statuses, [true, true, false], "{audit}");
    }

    /// A connection that was handed over at the moment of the stop kept its place, and the server waited for it as long as `drain-seconds`.
    #[test]
    fn a_connection_that_arrives_with_the_stop_does_not_delay_it() {
        let folder = tempfile::tempdir().unwrap();
        let shared = shared(folder.path(), &Arc::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let thread = Thread::new(Arc::clone(&shared));
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let (sender, connections) = tokio::sync::mpsc::unbounded_channel();
            let (stop, stopped) = tokio::sync::watch::channel(false);
            let mut clients = Vec::new();
            for _ in 0..8 {
                clients.push(std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap());
                let (stream, address) = listener.accept().unwrap();
                stream.set_nonblocking(true).unwrap();
                let place = shared.connections.enter(address.ip()).unwrap();
                sender.send((stream, address, place)).unwrap();
            }
            stop.send(true).unwrap();
            let ended = take_connections(&thread, connections, stopped);
            tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.expect("the drain ends");
            assert_eq!(shared.connections.open(), 0);
        });
    }
}
