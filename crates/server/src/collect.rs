//! The collector of a server: a thread that looks once a second, keeps intervals, and does what alerts say.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::header::{CONTENT_TYPE, HOST};
use quayline_gateway::ProviderSpec;
use quayline_store::Store;
use quayline_workload::{
    Action, Collector, Interval, Kind, MemberTotals, Message, Source, System, Tick, Workload, component_json,
};

use crate::journal::Log;
use crate::kept::{KeptFile, KeptIntervals};
use crate::outbound::{Endpoint, Whole};
use crate::shared::Shared;

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Intervals that the listener for operators has at hand: a day of minutes.
const AT_HAND_MAX: usize = 1_440;
/// Longest time for a command or a webhook of an alert.
const ACTION_MAX: Duration = Duration::from_secs(60);

/// What the listener for operators shows.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    intervals: VecDeque<Interval>,
    /// Sums since the start by class: for counters of Prometheus.
    sums: Vec<Sums>,
    alerts: Vec<(String, bool)>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    class: String,
    count: u64,
    failed: u64,
    cpu_s: f64,
    helper_cpu_s: f64,
    run_queue_s: f64,
    held_s: f64,
    above_s: f64,
    band: u8,
}

impl Collected {
    /// The last intervals as `quayline.intervals/1`.
    pub(crate) fn json(&self, last: usize) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let skip = state.intervals.len().saturating_sub(last);
        let intervals: Vec<Interval> = state.intervals.iter().skip(skip).cloned().collect();
        format!("{}\n", component_json(&intervals))
    }

    /// Metrics in the text form of Prometheus.
    pub(crate) fn metrics(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, value: &dyn Fn(&Sums) -> f64| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for sums in &state.sums {
                let _ = writeln!(text, "{name}{{class=\"{}\"}} {}", escaped(&sums.class), value(sums));
            }
        };
        let counter = "counter";
        family("quayline_class_transactions_total", counter, "Transactions that ended, good or failed.", &|s| {
            s.count as f64
        });
        family("quayline_class_failed_total", counter, "Transactions that failed.", &|s| s.failed as f64);
        family("quayline_class_cpu_seconds_total", counter, "CPU time of the threads of a class.", &|s| s.cpu_s);
        family("quayline_class_helper_cpu_seconds_total", counter, "CPU time of helpers for a class.", &|s| {
            s.helper_cpu_s
        });
        family(
            "quayline_class_run_queue_seconds_total",
            counter,
            "Time for which threads of a class waited for a processor.",
            &|s| s.run_queue_s,
        );
        family("quayline_class_held_seconds_total", counter, "Time for which work waited for its turn.", &|s| s.held_s);
        family("quayline_class_above_seconds_total", counter, "Time above the threshold of a class.", &|s| s.above_s);
        family("quayline_class_band", "gauge", "Band of priorities of a class, 1 (highest) to 6.", &|s| {
            f64::from(s.band)
        });
        let _ = writeln!(text, "# HELP quayline_alert 1 while an alert lasts.\n# TYPE quayline_alert gauge");
        for (name, lasts) in &state.alerts {
            let _ = writeln!(text, "quayline_alert{{alert=\"{}\"}} {}", escaped(name), u8::from(*lasts));
        }
        text
    }

    fn take(&self, interval: &Interval, alerts: Vec<(String, bool)>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for class in &interval.classes {
            if !state.sums.iter().any(|sums| sums.class == class.name) {
                state.sums.push(Sums { class: class.name.clone(), ..Sums::default() });
            }
            let Some(sums) = state.sums.iter_mut().find(|sums| sums.class == class.name) else { continue };
            sums.count += class.count;
            sums.failed += class.failed;
            sums.cpu_s += class.cpu_s;
            sums.helper_cpu_s += class.helper_cpu_s;
            sums.run_queue_s += class.run_queue_s;
            sums.held_s += class.held_s;
            sums.above_s += class.above_s;
            sums.band = class.band;
        }
        state.alerts = alerts;
        state.intervals.push_back(interval.clone());
        while state.intervals.len() > AT_HAND_MAX {
            state.intervals.pop_front();
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

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

/// What a collector needs beside the work.
struct Around {
    workload: Arc<Workload>,
    store: Option<Store>,
    root: PathBuf,
    log: Log,
    collected: Arc<Collected>,
}

/// Collects the work of a process that is no server, as long as the value lives. Relative paths of the settings begin at `root`.
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
        Ok(known) => collected.state.lock().unwrap_or_else(PoisonError::into_inner).intervals.extend(known),
        Err(why) => log(&format!("kept intervals cannot be read: {why}")),
    }
    let mut collector = Collector::new(Arc::clone(workload), Box::new(System));
    let mut fault = None;
    let mut next = Instant::now() + LOOK;
    loop {
        while Instant::now() < next && !stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
        }
        let is_over = stop.load(Ordering::Relaxed);
        let Tick { interval, messages } = if is_over { collector.finish() } else { collector.tick() };
        if let Some(interval) = interval {
            let alerts = collector.alerts().iter().map(|alert| (alert.config().name.clone(), alert.lasts())).collect();
            collected.take(&interval, alerts);
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
        if is_over {
            return;
        }
        // After a pause of the process the missed looks are not made up for.
        next = (next + LOOK).max(Instant::now());
    }
}

/// Where intervals outlive the process.
pub(crate) trait Kept {
    /// Keeps one more, and removes those that are too many.
    fn keep(&mut self, interval: &Interval) -> Result<(), String>;
    /// The last ones, ascending.
    fn last(&self, count: usize) -> Result<Vec<Interval>, String>;
}

/// Does what a message is for, on a thread of its own, since commands and other hosts may be slow.
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
    crate::run::on_thread(async {
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

/// What a server counts of its operations.
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
            MemberTotals {
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
        profile.classes.into_iter().map(member).collect()
    }

    fn handshakes(&self) -> Option<[u64; 2]> {
        let shared = self.0.upgrade()?;
        Some([0, 1].map(|at: usize| shared.metrics.handshakes[at].load(Ordering::Relaxed)))
    }
}
