//! The collector of a server: a thread that samples once a second, stores intervals and carries out the actions of alerts.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::header::{CONTENT_TYPE, HOST};
use quayline_core::Finding;
use quayline_gateway::{Compression, Operation, ProviderSpec};
use quayline_store::{FileUse, Store, StoreError};
use quayline_workload::{
    Action, Collector, Figure, Kind, MemberTotals, Message, Source, System, Tick, Workload, names,
};

use crate::collected::{AT_HAND_MAX, Collected};
use crate::journal::Log;
use crate::kept::{Kept, KeptFile, KeptIntervals, NAME as KEPT_FILE};
use crate::outbound::{Endpoint, Whole};
use crate::shared::Shared;

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Longest time for a command or a webhook of an alert.
const ACTION_MAX: Duration = Duration::from_secs(60);

/// The thread of the collector. It ends with this value.
pub struct Collecting {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Drop for Collecting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A collector that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Environment of a collector.
struct Around {
    workload: Arc<Workload>,
    store: Option<Store>,
    root: PathBuf,
    log: Log,
    collected: Arc<Collected>,
}

/// Collects the work of a process that is not a server, as long as the value lives. Relative paths of the settings begin at `root`.
#[must_use]
pub fn collect_work(
    workload: &Arc<Workload>,
    store: Option<&Store>,
    root: &Path,
    log: impl Fn(&str) + Send + Sync + 'static,
) -> Option<Collecting> {
    begin(Around {
        workload: Arc::clone(workload),
        store: store.cloned(),
        root: root.to_owned(),
        log: Arc::new(log),
        collected: Arc::default(),
    })
}

/// Starts the collector of a server.
pub(crate) fn start(shared: &Arc<Shared>) -> Option<Collecting> {
    let workload = shared.workload.as_ref()?;
    workload.add_source(Arc::new(ApiSource(Arc::downgrade(shared))));
    begin(Around {
        workload: Arc::clone(workload),
        store: shared.store.clone(),
        root: shared.root.clone(),
        log: shared.log_shared(),
        collected: Arc::clone(&shared.collected),
    })
}

/// Starts the thread, if the settings want one.
fn begin(around: Around) -> Option<Collecting> {
    if !around.workload.config().collect {
        return None;
    }
    around.workload.add_source(Arc::new(StoreSource::new(around.store.clone())));
    let stop = Arc::new(AtomicBool::new(false));
    let (ended, log) = (Arc::clone(&stop), Arc::clone(&around.log));
    let thread = std::thread::Builder::new().name("collect".to_owned()).spawn(move || collect(&around, &ended));
    match thread {
        Ok(thread) => Some(Collecting { thread: Some(thread), stop }),
        Err(error) => {
            log(&format!("no intervals are collected: no thread: {}", error.kind()));
            None
        }
    }
}

fn collect(around: &Around, stop: &AtomicBool) {
    let Around { workload, store, root, log, collected } = around;
    let config = workload.config();
    let mut kept: Option<Box<dyn Kept>> = match (store, &config.keep_file) {
        (Some(store), _) => Some(Box::new(KeptIntervals::new(store, config.keep_intervals))),
        (None, Some(path)) => Some(Box::new(KeptFile::new(path, config.keep_intervals))),
        (None, None) => None,
    };
    let known = kept.as_ref().map_or_else(|| Ok(Vec::new()), |kept| kept.last(AT_HAND_MAX));
    match known {
        Ok(known) => collected.extend(known),
        Err(why) => log(&format!("kept intervals cannot be read: {why}")),
    }
    let mut collector = Collector::new(Arc::clone(workload), Box::new(System));
    let mut fault = None;
    let mut next = Instant::now() + LOOK;
    let mut marks = HashMap::new();
    let mut poison = HashMap::new();
    loop {
        while Instant::now() < next && !stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
        }
        let is_over = stop.load(Ordering::Relaxed);
        let Tick { interval, messages } = if is_over { collector.finish() } else { collector.tick() };
        if let Some(interval) = interval {
            let alerts = collector.alerts().iter().map(|alert| (alert.config().name.clone(), alert.lasts())).collect();
            collected.take(&interval, alerts);
            // Figures of record files are statistics, not data, so a crash may lose them.
            let _ = store.as_ref().map(Store::keep_use);
            let done = kept.as_mut().map_or(Ok(()), |kept| kept.keep(&interval));
            // What fails each minute is said once.
            if done.as_ref().err() != fault.as_ref()
                && let Err(why) = &done
            {
                log(&format!("intervals are not kept: {why}"));
            }
            fault = done.err();
        }
        for message in messages {
            act((root, log), message);
        }
        if let Some(store) = store {
            log_marks(store, &mut marks, log);
            log_poison(store, &mut poison, log);
        }
        if is_over {
            return;
        }
        // After a pause of the process the missed looks are not made up for.
        next = (next + LOOK).max(Instant::now());
    }
}

/// Logs marks of queue depths that were crossed since the last look.
fn log_marks(store: &Store, known: &mut HashMap<String, (u64, u64)>, log: &Log) {
    let marked = store.marked_queues();
    let names: HashSet<&str> = marked.iter().map(|(name, _)| name.as_str()).collect();
    known.retain(|name, _| names.contains(name.as_str()));
    for (name, facts) in marked {
        let now = (facts.depth_high_events, facts.depth_low_events);
        // After an alteration of the queue, its counts begin at 0.
        let before = known.insert(name.clone(), now).filter(|before| before.0 <= now.0 && before.1 <= now.1);
        let before = before.unwrap_or_default();
        if now.0 > before.0 {
            log(&format!("queue {name} rose to its high mark; its depth is {}", facts.depth));
        }
        if now.1 > before.1 {
            log(&format!("queue {name} fell to its low mark; its depth is {}", facts.depth));
        }
    }
}

/// Logs queues whose poison message cannot move: once for each queue and reason, and again after a message could move.
fn log_poison(store: &Store, known: &mut HashMap<String, String>, log: &Log) {
    let now: HashMap<String, Finding> = store.poison_findings().into_iter().collect();
    known.retain(|queue, _| now.contains_key(queue));
    for (queue, finding) in now {
        let remedy = finding.hint.unwrap_or_default();
        // The number of messages is not a reason.
        if known.insert(queue, remedy.clone()).as_ref() != Some(&remedy) {
            log(&format!("{}: {}; {remedy}", finding.code, finding.message));
        }
    }
}

/// Performs the actions of a message on a separate thread, since commands and other hosts may be slow.
fn act((root, log): (&Path, &Log), message: Message) {
    let (root, of_thread) = (root.to_owned(), Arc::clone(log));
    let run = move || {
        for action in &message.actions {
            let done = match action {
                Action::Log => {
                    of_thread(&message.text());
                    Ok(())
                }
                Action::Command(path) => command(&root.join(path), &message),
                Action::Webhook(url) => webhook(url, &message),
            };
            if let Err(why) = done {
                of_thread(&format!("an action of the alert {} failed: {why}", message.alert));
            }
        }
    };
    if let Err(error) = std::thread::Builder::new().name("alert".to_owned()).spawn(run) {
        log(&format!("an alert has no thread for its actions: {}", error.kind()));
    }
}

fn json_of(message: &Message) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}

/// Runs a program with the message on its standard input, without a shell.
fn command(path: &Path, message: &Message) -> Result<(), String> {
    let shown = path.display();
    let child = Command::new(path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("{shown} cannot be started: {}", error.kind()))?;
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read its input is no failure.
        let _ = input.write_all(&json_of(message));
    }
    let until = Instant::now() + ACTION_MAX;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{shown} ended with {status}")),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(50)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{shown} took longer than {} s and was stopped", ACTION_MAX.as_secs()));
            }
            Err(error) => return Err(format!("{shown}: {}", error.kind())),
        }
    }
}

/// Posts the message as JSON.
fn webhook(url: &str, message: &Message) -> Result<(), String> {
    let endpoint = Endpoint::new(url, crate::tls::system_authorities)?;
    let body = json_of(message);
    let mut ended = Err("there is no runtime".to_owned());
    crate::local_runtime::on_thread(async {
        let post = async {
            let mut sender = endpoint.connect().await?;
            let request = Request::post(endpoint.target())
                .header(HOST, endpoint.authority())
                .header(CONTENT_TYPE, "application/json")
                .body(Whole(Some(body.into())))
                .map_err(|error| error.to_string())?;
            let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
            let status = answer.status();
            if status.is_success() { Ok(()) } else { Err(format!("{} answers {status}", endpoint.authority())) }
        };
        ended = match tokio::time::timeout(ACTION_MAX, post).await {
            Ok(ended) => ended,
            Err(_) => Err(format!("{} does not answer in {} s", endpoint.authority(), ACTION_MAX.as_secs())),
        };
    })
    .map_err(|error| error.kind().to_string())?;
    ended
}

/// Counters of the store, and the processes of programs.
struct StoreSource {
    store: Option<Store>,
    files: Mutex<Files>,
}

/// Uses of record files that this process has counted. Counts of a file end when the file is deleted, but sums over all files must not fall.
#[derive(Default)]
struct Files {
    /// Uses by file at the last collection.
    known: HashMap<String, FileUse>,
    inserted: u64,
    lookups: u64,
    missed: u64,
    /// Number of files that were emptied record by record.
    emptied: u64,
}

/// Maximum number of queues whose depths are read.
const QUEUES_MAX: usize = 100;
/// Records that are deleted one by one between two looks from which a file counts as emptied record by record.
const EMPTIED_LEAST: u64 = 100;

impl StoreSource {
    fn new(store: Option<Store>) -> StoreSource {
        StoreSource { store, files: Mutex::default() }
    }

    fn of_files(&self, store: &Store) -> Result<Vec<Figure>, StoreError> {
        let files = &mut *self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let used = store.used_files()?;
        let listed: HashSet<&str> = used.iter().map(|(name, _)| name.as_str()).collect();
        files.known.retain(|name, _| listed.contains(name.as_str()));
        let mut indexes = 0;
        for (name, uses) in used.into_iter().filter(|(name, _)| name != KEPT_FILE) {
            let before = files.known.get(&name).copied().unwrap_or_default();
            let more = uses.since(&before);
            if uses.inserted > 0 || more.deleted >= EMPTIED_LEAST {
                // An error ends this look before the counts are noted, so the next interval judges them again.
                let unit = store.begin()?;
                // The file may have been deleted since the listing.
                if let Ok(file) = store.file(&unit, &name) {
                    if uses.inserted > 0 {
                        indexes = indexes.max(file.definition().alternates.len());
                    }
                    if more.deleted >= EMPTIED_LEAST && file.is_empty(&unit)? {
                        files.emptied += 1;
                    }
                }
            }
            files.known.insert(name, uses);
            files.inserted += more.inserted;
            files.lookups += more.lookups;
            files.missed += more.data_missed.max(more.index_missed);
        }
        Ok(vec![
            Figure::total(names::RECORDS_INSERTED, files.inserted as f64),
            Figure::total(names::LOOKUPS, files.lookups as f64),
            Figure::total(names::LOOKUPS_MISSED, files.missed as f64),
            Figure::total(names::FILES_EMPTIED, files.emptied as f64),
            Figure::now(names::INDEXES, indexes as f64),
        ])
    }
}

impl Source for StoreSource {
    fn totals(&self) -> Vec<MemberTotals> {
        Vec::new()
    }

    fn programs_cpu_s(&self) -> Option<f64> {
        Some(quayline_program::worker_use().cpu_s)
    }

    fn figures(&self) -> Vec<Figure> {
        let mut found = vec![Figure::total(names::PROGRAM_STARTS, quayline_program::worker_use().started as f64)];
        let Some(store) = &self.store else { return found };
        found.push(Figure::now(names::OPEN_UNITS, store.units_open() as f64));
        found.push(Figure::total(names::STALLED, store.facts().stalled_us as f64 / 1e6));
        found.push(Figure::total(names::UNITS_INSERTING, store.usage().units_inserting as f64));
        let queues = store.open_queues().into_iter().take(QUEUES_MAX);
        found.extend(
            queues.map(|(name, facts)| Figure::now(format!("{}:{name}", names::QUEUE_DEPTH), facts.depth as f64)),
        );
        // If the store has no free unit of work, this interval has no figures of the store.
        found.extend(self.of_files(store).unwrap_or_default());
        found
    }
}

/// A server's counters of its operations.
struct ApiSource(Weak<Shared>);

impl Source for ApiSource {
    fn totals(&self) -> Vec<MemberTotals> {
        let Some(shared) = self.0.upgrade() else { return Vec::new() };
        let definitions = shared.definitions().1;
        let commits = |id: &str| {
            let operation = definitions.operations.iter().find(|operation| operation.id == id);
            operation.is_some_and(|operation| {
                matches!(operation.service.provider, ProviderSpec::File(_) | ProviderSpec::Queue(_))
            })
        };
        let profile = shared.metrics.profile(shared.began.elapsed());
        let member = |class: quayline_meter::ProfileClass| {
            let failed = shared.metrics.failed(&class.name);
            let computes = |phase: &&quayline_meter::ProfilePhase| {
                quayline_meter::Phase::of_name(&phase.phase).is_some_and(|p| p.computes())
            };
            let operation = definitions.operations.iter().find(|operation| operation.id == class.name);
            let of_program = operation.is_some_and(|operation| is_program(operation));
            let is_external = operation.is_some_and(|operation| {
                let provider = &operation.service.provider;
                matches!(provider, ProviderSpec::Program(_) | ProviderSpec::Http(_) | ProviderSpec::Sql(_))
            });
            let in_calls = class.phases.iter().filter(|phase| phase.phase == quayline_meter::Phase::Call.name());
            let called_s: f64 = in_calls.map(|phase| phase.wall_s).sum();
            MemberTotals {
                handshakes: shared.metrics.handshakes_of(&class.name),
                programs_s: if of_program { called_s } else { 0.0 },
                external_s: if is_external { called_s } else { 0.0 },
                count: class.count,
                failed,
                wall_s: class.wall_s,
                weight_s: class.phases.iter().filter(computes).map(|phase| phase.wall_s).sum(),
                commits: if commits(&class.name) { class.count } else { 0 },
                phases: class
                    .phases
                    .iter()
                    .filter_map(|phase| Some((quayline_meter::Phase::of_name(&phase.phase)?.name(), phase.wall_s)))
                    .collect(),
                times: class.times.clone(),
                ..MemberTotals::new(Kind::Api, class.name)
            }
        };
        let mut members: Vec<MemberTotals> = profile.classes.into_iter().map(member).collect();
        // Connections whose first request was for no operation, or for a queue.
        let mut others = MemberTotals::new(Kind::Api, "(others)");
        others.handshakes = [0, 1].map(|at: usize| shared.metrics.other_handshakes[at].load(Ordering::Relaxed));
        if others.handshakes != [0; 2] {
            members.push(others);
        }
        members
    }

    fn figures(&self) -> Vec<Figure> {
        let Some(shared) = self.0.upgrade() else { return Vec::new() };
        let config = &shared.config;
        let threads = std::thread::available_parallelism().map_or(1, core::num::NonZero::get);
        let is_asked = config.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some());
        let is_required = config.tls.as_ref().is_some_and(|tls| tls.require_client_certificate);
        let is_needed = is_required || !config.authentication.certificate_roles.is_empty();
        let definitions = shared.definitions().1;
        // What compresses only where it pays needs no advice.
        let compresses = match &definitions.operations {
            operations if operations.iter().any(|of| of.compression == Compression::Always) => Some(true),
            operations if operations.iter().all(|of| of.compression == Compression::Off) => Some(false),
            _ => None,
        };
        let mut found = vec![
            Figure::total(names::CONNECTIONS, shared.metrics.connections.load(Ordering::Relaxed) as f64),
            Figure::now(names::LISTENER_THREADS, config.threads.unwrap_or(threads) as f64),
            Figure::holds(names::OPERATOR_LISTENER, config.admin.listen.is_some()),
            Figure::holds(names::CLIENT_AUTHENTICATION, is_asked),
            Figure::holds(names::CLIENT_AUTHENTICATION_NEEDED, is_needed),
            Figure::now(names::PATH_DEPTH, shared.root.components().count() as f64),
            Figure::total(names::DATABASE_CALLS, crate::sql::CALLS[0].load(Ordering::Relaxed) as f64),
            Figure::total(names::DATABASE_CONNECTS, crate::sql::CALLS[1].load(Ordering::Relaxed) as f64),
        ];
        found.extend(compresses.map(|compresses| Figure::holds(names::COMPRESSION, compresses)));
        let of_programs = definitions.operations.iter().filter(|operation| is_program(operation));
        let calls: u64 = of_programs.map(|operation| shared.metrics.count(&operation.id)).sum();
        found.push(Figure::total(names::PROGRAM_CALLS, calls as f64));
        if let Some(audit) = &shared.audit {
            let (came, waiting) = audit.lines();
            found.push(Figure::total(names::AUDIT_LINES, came as f64));
            found.push(Figure::now(names::AUDIT_WAITING, waiting as f64));
        }
        found
    }

    fn handshakes(&self) -> Option<[u64; 2]> {
        let shared = self.0.upgrade()?;
        Some([0, 1].map(|at: usize| shared.metrics.handshakes[at].load(Ordering::Relaxed)))
    }
}

/// Returns true if an operation calls a COBOL program.
fn is_program(operation: &Operation) -> bool {
    matches!(operation.service.provider, ProviderSpec::Program(_))
}

#[cfg(test)]
mod tests {
    use quayline_store::queue::{GetWait, Message as Put, QueueDefinition, Select};
    use quayline_store::{Access, ManualClock, MemoryEngine, StoreLimits};

    use super::*;

    /// A message that fails on and on without a backout queue is logged once.
    #[test]
    fn a_poison_message_that_cannot_move_is_logged_once_for_each_reason() {
        let clock = Arc::new(ManualClock::new(1_000, 1));
        let shared: Arc<ManualClock> = Arc::clone(&clock);
        let store = Store::open(Arc::new(MemoryEngine::new()), shared, StoreLimits::default(), Access::Write);
        let store = store.expect("a new store");
        let define = |definition| {
            let mut unit = store.begin().expect("a unit");
            store.define_queue(&mut unit, definition).expect("defined");
            unit.commit().expect("committed");
        };
        define(QueueDefinition { backout_threshold: 1, ..QueueDefinition::local("Q") });
        let queue = store.queue("Q").expect("opened");
        let mut unit = store.begin().expect("a unit");
        queue.put(&mut unit, &Put::new(*b"poison")).expect("put");
        unit.commit().expect("committed");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let log: Log = Arc::new(move |line: &str| kept.lock().expect("no panic").push(line.to_owned()));
        let mut known = HashMap::new();
        let mut fail = |at_ms: u64| {
            clock.set(at_ms);
            let mut unit = store.begin().expect("a unit");
            queue.get(&mut unit, Select::First, GetWait::No).expect("due after a second");
            unit.roll_back();
            log_poison(&store, &mut known, &log);
        };
        (2u64..6).for_each(|second| fail(second * 1_000));
        let line = "1 message of queue Q failed too often and cannot move to backout queue DEAD.LETTER: no queue DEAD.LETTER; \
            define the backout queue with `quayline queue define DEAD.LETTER`, or name another one with `quayline queue alter Q --backout-queue NAME`";
        let line = format!("{}: {line}", quayline_store::STO_POISON);
        assert_eq!(lines.lock().expect("no panic").as_slice(), [line]);
        define(QueueDefinition::local("DEAD.LETTER"));
        fail(10_000);
        assert_eq!(lines.lock().expect("no panic").len(), 1);
        assert!(store.poison_findings().is_empty(), "the message moved");
        assert_eq!(queue.facts().expect("facts").moved, 1);
    }
}
