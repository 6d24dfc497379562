//! Flows of a served project: started with the server, replaced when their files change, drained at its end.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use quayline_core::{Finding, Findings};
use quayline_flow::{
    Engine, EngineOptions, Flow, Observer, flow_files, missing_definitions, shared_addresses, shared_modules,
};
use quayline_store::{Clock, SystemClock};
use quayline_workload::Workload;

use super::{Lines, missing};
use crate::args::FolderArg;
use crate::cache::cache;
use crate::exit::{Exit, Stop};
use crate::store::{Missing, Opened};
use crate::workload::FlowSource;

/// Interval between two checks of the files of flows.
const LOOK: Duration = Duration::from_secs(1);
/// Number of checks after which a flow with an obstacle (the store, another listener) is tried again.
const TRY_AGAIN: u32 = 5;

/// Flows that run in a server.
pub(crate) struct ServedFlows {
    pub(crate) engine: Arc<Engine>,
    opened: Opened,
    watcher: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

/// Modification times of a flow's files, and the flow's own file.
type Stamp = Vec<(PathBuf, Option<SystemTime>)>;

/// The files of a flow as they were at the last look.
struct Known {
    stamp: Stamp,
    /// Number of changes of partners in the store, if the flow uses partners.
    partners: Option<u64>,
    /// Obstacle to loading this version although its files are correct, and the number of checks until the next attempt.
    obstacle: Option<(String, u32)>,
}

impl Known {
    fn new(files: &[PathBuf], partners: Option<u64>) -> Known {
        Known { stamp: stamp(files), partners, obstacle: None }
    }

    /// Compiles the programs of a flow. Returns the state of its files before the compilation: the next check detects a change during that time.
    fn made(flow: &mut Flow) -> Result<Known, Findings> {
        let before: BTreeMap<_, _> = stamp(&flow.files).into_iter().collect();
        flow.make_programs()?.iter().for_each(|line| eprintln!("{line}"));
        let mut known = Known::new(&flow.files, flow.stored_partners);
        for (path, changed) in &mut known.stamp {
            if let Some(earlier) = before.get(path) {
                *changed = *earlier;
            }
        }
        Ok(known)
    }

    fn files(&self) -> Vec<PathBuf> {
        self.stamp.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Returns true if a check has nothing to do.
    fn is_settled(&mut self, partners: Option<u64>) -> bool {
        if let Some((_, looks)) = &mut self.obstacle {
            *looks = looks.saturating_sub(1);
            if *looks == 0 {
                return false;
            }
        }
        // A store that cannot be read now does not stop flows.
        let has_same_partners = self.partners.is_none() || partners.is_none() || self.partners == partners;
        has_same_partners && stamp(&self.files()) == self.stamp
    }
}

fn stamp(files: &[PathBuf]) -> Stamp {
    let changed = |path: &PathBuf| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    files.iter().map(|path| (path.clone(), changed(path))).collect()
}

impl ServedFlows {
    /// Starts the flows of a project. Without flows nothing is opened.
    pub(crate) fn start(
        root: &Path,
        store: &FolderArg,
        threads: Option<usize>,
        workload: &Arc<Workload>,
        listeners: Vec<(String, SocketAddr)>,
    ) -> Result<Option<ServedFlows>, Stop> {
        if flow_files(root)?.is_empty() {
            return Ok(None);
        }
        // Flows may use partners in the store. Errors in flows are reported first.
        let opened = Opened::open(store, Missing::Refuse);
        let of_store = opened.as_ref().ok().map(|opened| &opened.store);
        let mut flows = Flow::open_all(root, cache().as_ref(), of_store)?;
        let mut known = BTreeMap::new();
        let shared = shared_modules(&flows, []);
        if !shared.is_empty() {
            return Err(Findings(shared).into());
        }
        for flow in &mut flows {
            let made = Known::made(flow)?;
            known.insert(flow.file.path.clone(), made);
        }
        let opened = opened?;
        missing(&opened.store, &flows)?;
        let shared = shared_addresses(&flows, &listeners, quayline_server::collide);
        if !shared.is_empty() {
            return Err(Findings(shared).into());
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let observer: Arc<dyn Observer> = Arc::new(Lines);
        let mut options = EngineOptions::default();
        options.threads = threads.unwrap_or(options.threads);
        let engine = Arc::new(Engine::start_with(&opened.store, &clock, &observer, options, Some(workload))?);
        workload.add_source(Arc::new(FlowSource(Arc::downgrade(&engine))));
        for flow in flows {
            engine.deploy(flow);
        }
        engine.warn_of_stranded(root);
        let stop = Arc::new(AtomicBool::new(false));
        let (root, shared, ended) = (root.to_owned(), Arc::clone(&engine), Arc::clone(&stop));
        let watcher = std::thread::Builder::new().name("flow-files".to_owned()).spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                std::thread::park_timeout(LOOK);
                look(&root, &shared, &listeners, &mut known);
            }
        });
        Ok(Some(ServedFlows { engine, opened, watcher: Some(watcher.map_err(Stop::from)?), stop }))
    }

    /// Finishes the units of work that are open and closes the store.
    pub(crate) fn end(mut self, exit: Exit) -> Result<Exit, Stop> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // A watcher that panicked has printed a message.
            let _ = watcher.join();
        }
        for flow in self.engine.flows() {
            self.engine.stop(flow.flow.name());
        }
        drop(self.engine);
        self.opened.close(exit)
    }
}

/// Replaces flows whose files changed. A flow with an error stays as it was.
fn look(root: &Path, engine: &Engine, listeners: &[(String, SocketAddr)], known: &mut BTreeMap<PathBuf, Known>) {
    let Ok(paths) = flow_files(root) else { return };
    let partners = quayline_partner::stored_version(engine.store()).ok();
    let mut is_changed = false;
    for path in &paths {
        if known.get_mut(path).is_some_and(|known| known.is_settled(partners)) {
            continue;
        }
        let before = known.remove(path);
        let made = Flow::open_with(path, root, cache(), Some(engine.store())).and_then(|mut flow| {
            let flows: Vec<_> = engine.flows().into_iter().map(|state| state.flow).collect();
            let others = flows.iter().map(|other| &**other).filter(|other| other.name() != flow.name());
            let shared = shared_modules([&flow], others);
            if shared.is_empty() { Ok((Known::made(&mut flow)?, flow)) } else { Err(Findings(shared)) }
        });
        let (mut now, wrong) = match made {
            Ok((now, flow)) => {
                let obstacles = obstacles(&flow, engine, listeners);
                if obstacles.is_empty() {
                    eprintln!("flow {} is loaded", flow.name());
                    engine.deploy(flow);
                    is_changed = true;
                }
                (now, obstacles)
            }
            Err(Findings(findings)) => {
                let files = before.as_ref().map(Known::files).filter(|files| !files.is_empty());
                let partners = before.as_ref().map_or(partners, |before| before.partners.and(partners));
                (Known::new(&files.unwrap_or_else(|| vec![path.clone()]), partners), findings)
            }
        };
        if !wrong.is_empty() {
            // The queue, the address or the copybook may become available without a change of these files. The finding is reported once.
            let text = wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            let before = before.filter(|before| before.stamp == now.stamp).and_then(|before| before.obstacle);
            if before.is_none_or(|(known, _)| known != text) {
                eprintln!("{text}\nthe flow of {} stays as it was", path.display());
            }
            now.obstacle = Some((text, TRY_AGAIN));
        }
        known.insert(path.clone(), now);
    }
    let gone: Vec<PathBuf> = known.keys().filter(|path| !paths.contains(path)).cloned().collect();
    for path in gone {
        known.remove(&path);
        if let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) {
            eprintln!("flow {name} is removed");
            engine.remove(name);
            is_changed = true;
        }
    }
    if is_changed {
        engine.warn_of_stranded(root);
    }
}

/// Returns the obstacles to running a flow: missing queues and record files, and addresses in use.
fn obstacles(flow: &Flow, engine: &Engine, listeners: &[(String, SocketAddr)]) -> Vec<Finding> {
    let mut taken = listeners.to_vec();
    let others = engine.flows().into_iter().map(|state| state.flow).filter(|other| other.name() != flow.name());
    taken.extend(others.flat_map(|other| other.addresses()));
    let mut findings = shared_addresses([flow], &taken, quayline_server::collide);
    match missing_definitions(engine.store(), [flow]) {
        Ok(missing) => findings.extend(missing),
        Err(error) => findings.push(error.finding()),
    }
    findings
}
