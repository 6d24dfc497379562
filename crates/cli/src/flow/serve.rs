//! The flows of a project beside its APIs: started with the server, replaced when their files change, drained at its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use quayline_core::Findings;
use quayline_flow::{Engine, EngineOptions, Flow, Observer, flow_files};
use quayline_store::{Clock, SystemClock};
use quayline_workload::Workload;

use super::{Lines, missing};
use crate::args::FolderArg;
use crate::cache::cache;
use crate::exit::{Exit, Stop};
use crate::store::{Missing, Opened};
use crate::workload::FlowSource;

/// Pause between two looks at the files of flows.
const LOOK: Duration = Duration::from_secs(1);

/// Flows that run beside a server.
pub(crate) struct ServedFlows {
    pub(crate) engine: Arc<Engine>,
    opened: Opened,
    watcher: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

/// When the files of a flow changed last, and the flow's own file.
type Stamp = Vec<(PathBuf, Option<SystemTime>)>;

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
    ) -> Result<Option<ServedFlows>, Stop> {
        let flows = Flow::open_all(root, cache().as_ref())?;
        if flows.is_empty() {
            return Ok(None);
        }
        let opened = Opened::open(store, Missing::Refuse)?;
        missing(&opened.store, &flows)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let observer: Arc<dyn Observer> = Arc::new(Lines);
        let mut options = EngineOptions::default();
        options.threads = threads.unwrap_or(options.threads);
        let engine = Arc::new(Engine::start_with(&opened.store, &clock, &observer, options, Some(workload))?);
        workload.add_source(Arc::new(FlowSource(Arc::downgrade(&engine))));
        let mut known = BTreeMap::new();
        for flow in flows {
            known.insert(flow.file.path.clone(), stamp(&flow.files));
            engine.deploy(flow);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (root, shared, ended) = (root.to_owned(), Arc::clone(&engine), Arc::clone(&stop));
        let watcher = std::thread::Builder::new().name("flow-files".to_owned()).spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                std::thread::park_timeout(LOOK);
                look(&root, &shared, &mut known);
            }
        });
        Ok(Some(ServedFlows { engine, opened, watcher: Some(watcher.map_err(Stop::from)?), stop }))
    }

    /// Finishes the units of work that are open and closes the store.
    pub(crate) fn end(mut self, exit: Exit) -> Result<Exit, Stop> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.thread().unpark();
            // A watcher that panicked has said so.
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
fn look(root: &Path, engine: &Engine, known: &mut BTreeMap<PathBuf, Stamp>) {
    let Ok(paths) = flow_files(root) else { return };
    for path in &paths {
        if known
            .get(path)
            .is_some_and(|before| stamp(&before.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>()) == *before)
        {
            continue;
        }
        let stamps = match Flow::open(path, root, cache()) {
            Ok(flow) => {
                let stamps = stamp(&flow.files);
                eprintln!("flow {} is loaded", flow.name());
                engine.deploy(flow);
                stamps
            }
            Err(Findings(findings)) => {
                findings.iter().for_each(|finding| eprintln!("{finding}"));
                eprintln!("the flow of {} stays as it was", path.display());
                let mut files: Vec<PathBuf> =
                    known.get(path).into_iter().flatten().map(|(path, _)| path.clone()).collect();
                if files.is_empty() {
                    files.push(path.clone());
                }
                stamp(&files)
            }
        };
        known.insert(path.clone(), stamps);
    }
    let gone: Vec<PathBuf> = known.keys().filter(|path| !paths.contains(path)).cloned().collect();
    for path in gone {
        known.remove(&path);
        if let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) {
            eprintln!("flow {name} is removed");
            engine.remove(name);
        }
    }
}
