//! What one server thread holds: compiled loops, providers and buffers. Nothing of it is shared, so nothing of it is locked.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use quayline_gateway::{CannedRecords, Definitions, OperationLane, Provider, ProviderFault, ProviderSpec, Service};

use crate::body::Buffers;
use crate::program::{Log, ProgramProvider};
use crate::shared::Shared;

/// One server thread.
pub(crate) struct Thread {
    pub(crate) shared: Arc<Shared>,
    pub(crate) buffers: Rc<Buffers>,
    version: RefCell<Rc<Version>>,
    generation: Cell<u64>,
}

/// What the thread made of one version of the definitions. Requests in progress keep theirs.
pub(crate) struct Version {
    pub(crate) definitions: Arc<Definitions>,
    lanes: RefCell<Vec<Option<Box<OperationLane>>>>,
    providers: Vec<(ProviderSpec, usize, Rc<dyn Provider>)>,
}

impl Thread {
    pub(crate) fn new(shared: Arc<Shared>) -> Rc<Thread> {
        let (generation, definitions) = shared.definitions();
        let version = RefCell::new(Rc::new(Version::new(&shared, definitions, &[])));
        Rc::new(Thread { shared, buffers: Rc::new(Buffers::default()), version, generation: Cell::new(generation) })
    }

    /// The current version; a new one is taken over between requests.
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
    fn new(
        shared: &Arc<Shared>,
        definitions: Arc<Definitions>,
        old: &[(ProviderSpec, usize, Rc<dyn Provider>)],
    ) -> Version {
        let mut providers: Vec<(ProviderSpec, usize, Rc<dyn Provider>)> = Vec::new();
        for service in &definitions.services {
            // A program goes on through a reload that does not concern it, and services with one program share its workers.
            let known = |(spec, length, _): &&(ProviderSpec, usize, Rc<dyn Provider>)| {
                *spec == service.provider && *length == service.length
            };
            let provider = match providers.iter().find(known).or_else(|| old.iter().find(known)) {
                Some((_, _, provider)) => Rc::clone(provider),
                None => provider(shared, service),
            };
            providers.push((service.provider.clone(), service.length, provider));
        }
        let lanes = RefCell::new(definitions.operations.iter().map(|_| None).collect());
        Version { definitions, lanes, providers }
    }

    /// Lets `use_` have the lane of an operation. It must not wait in between: a lane serves one request at a time.
    pub(crate) fn with_lane<T>(&self, operation: usize, use_: impl FnOnce(&mut OperationLane) -> T) -> T {
        let mut lanes = self.lanes.borrow_mut();
        let lane = lanes[operation]
            .get_or_insert_with(|| Box::new(OperationLane::new(&self.definitions.operations[operation])));
        use_(lane)
    }

    pub(crate) fn provider(&self, service: usize) -> Rc<dyn Provider> {
        Rc::clone(&self.providers[service].2)
    }
}

fn provider(shared: &Arc<Shared>, service: &Service) -> Rc<dyn Provider> {
    let log: Log = {
        let shared = Arc::clone(shared);
        Rc::new(move |line| shared.log(&line))
    };
    match &service.provider {
        ProviderSpec::Program(spec) => {
            let executable = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("quayline"));
            Rc::new(ProgramProvider::start(spec, service.length, executable, log))
        }
        ProviderSpec::Records(spec) => {
            let records = std::fs::read(&spec.file).map_err(|error| error.kind().to_string());
            match records.and_then(|bytes| CannedRecords::new(bytes, service.length, spec.by)) {
                Ok(records) => Rc::new(records),
                Err(why) => Rc::new(Absent(format!("{}: {why}", spec.file.display()))),
            }
        }
        _ => Rc::new(Absent("this kind of provider is not built in".to_owned())),
    }
}

/// A provider that cannot be made: every call says why.
struct Absent(String);

impl Provider for Absent {
    fn call<'a>(&'a self, _: [&[u8]; 2], _: Vec<u8>) -> quayline_gateway::Answered<'a> {
        Box::pin(core::future::ready(Err(ProviderFault::Absent { reason: self.0.clone() })))
    }

    fn ready(&self) -> Result<(), String> {
        Err(self.0.clone())
    }
}
