//! A store, queues, the record file of the report and one running flow in a folder, and the applications that drive it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quayline_core::Finding;
use quayline_flow::{CpuPart, Engine, EngineOptions, Flow, Observer};
use quayline_meter::{Clock as _, ProcessUse};
use quayline_store::queue::{GetWait, Message, Persistence, Polled, Queue, QueueDefinition, Select};
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};
use quayline_store::{Access, Clock, Store, StoreLimits, SystemClock};
use quayline_store_embedded::{EmbeddedEngine, Folder, Settings};

use crate::error_text::shown;
use crate::flow_amqp::{AmqpApplications, amqp_listener};

/// Length of a request, as in the report.
pub(crate) const REQUEST_BYTES: usize = 200;
/// Records of the file, as in the report.
pub const FLOW_RECORDS: u32 = 65_145;
/// The file of the report.
pub(crate) const FILE: &str = "DATA.IA13.VSAM.KSDS1";
/// Bytes of a unit of work in the log, about.
const SYNC_BYTES: usize = 300;
/// Longest wait of an application for its reply.
const REPLY_WAIT: Duration = Duration::from_secs(60);
/// Room on each queue.
const DEPTH_MAX: u64 = 2_000_000;

/// Content of the bed's store.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// Records of each file.
    pub records: u32,
    /// Number of files; each application reads one of them.
    pub files: u32,
    /// Bytes of memory for the applied store, without a cache of single records. Default that of the engine.
    pub cache_bytes: Option<usize>,
}

impl Holds {
    /// Creates the setup with one file of `records` records.
    #[must_use]
    pub fn records(records: u32) -> Self {
        Holds { records, files: 1, cache_bytes: None }
    }
}

/// Keeps the first failures of flows.
#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl Observer for Failures {
    fn failed(&self, _flow: &str, finding: &Finding, handled: bool) {
        let Ok(mut failures) = self.0.lock() else { return };
        if !handled && failures.len() < 10 {
            failures.push(finding.to_string());
        }
    }

    fn trace(&self, _: &str, _: &str, _: &str) {}
}

/// A store with the file of the report, the queues of a flow, and the flow itself.
pub struct FlowBed {
    store: Store,
    embedded: Arc<EmbeddedEngine>,
    engine: Engine,
    failures: Arc<Failures>,
    files: u32,
}

/// Applications that put a request, get the first reply and commit each.
#[derive(Clone, Copy, Debug)]
pub enum Applications {
    /// A thread each, as the report's driver.
    Threads(usize),
    /// Tasks of one thread: more applications than threads are useful.
    Tasks(usize),
    /// Number of applications over AMQP 1.0 on loopback, each with a thread and a connection.
    Amqp(usize),
}

impl Applications {
    pub(crate) fn count(self) -> usize {
        match self {
            Applications::Threads(count) | Applications::Tasks(count) | Applications::Amqp(count) => count,
        }
    }
}

/// Result of a run of the applications.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    /// Requests that have their reply, or records.
    pub messages: u64,
    /// Time of the run.
    pub elapsed: Duration,
    /// CPU time of the process.
    pub cpu: Duration,
    /// CPU nanoseconds of the applications.
    pub driver_ns: f64,
    /// CPU nanoseconds of the threads of flows.
    pub flow_ns: f64,
    /// CPU nanoseconds of the threads of the AMQP listener.
    pub listener_ns: f64,
    /// Microseconds for which units of work of a message waited until their commits were done. All units count: those of the applications and of the flow.
    pub commit_wait_us: f64,
    /// CPU microseconds of the flow's threads for each message, by part ([`CpuPart`]), from samples.
    pub parts: [f64; 4],
}

impl Drive {
    /// Messages a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.messages as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Returns the CPU time of the process per message, in microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.messages.max(1) as f64
    }
}

/// Returns the key of a record of the file.
pub(crate) fn key(number: u32) -> String {
    format!("REC{number:05}")
}

/// Builds a record: key, two binary integers and a text.
pub(crate) fn record(number: u32) -> [u8; 32] {
    let mut record = [b' '; 32];
    record[..8].copy_from_slice(key(number).as_bytes());
    record[8..12].copy_from_slice(&number.to_be_bytes());
    record[12..16].copy_from_slice(&(-4i32).to_be_bytes());
    record[16..32].copy_from_slice(b"THE ????? RECORD");
    record
}

/// Returns all records of the report's file, concatenated.
#[must_use]
pub fn sample_file() -> Vec<u8> {
    (0..FLOW_RECORDS).flat_map(record).collect()
}

/// Returns the name of a file. The file with number 0 has the name that IBM's report uses.
fn file_name(number: u32) -> String {
    format!("{}{}", FILE.trim_end_matches('1'), number + 1)
}

/// Returns the request of a sample that [`FlowBed::requests`] sends.
#[must_use]
pub fn sample_request(sample: &str, number: u64) -> Vec<u8> {
    content(sample, number, 1)
}

/// Builds the request of a sample for one of `files` files. The keys repeat after as many as IBM's report uses, and are spread over the file.
pub(crate) fn content(sample: &str, number: u64, files: u32) -> Vec<u8> {
    let file = file_name(u32::try_from(number % u64::from(files)).unwrap_or(0));
    let spread = |keys: u64| key(u32::try_from(number % keys * u64::from(FLOW_RECORDS) / keys).unwrap_or(0));
    let request = |key: &str| {
        format!("<VSAM><Request><FileName>/'{file}'</FileName><Position><Key>{key}</Key></Position></Request></VSAM>")
    };
    let mut text = match sample {
        "2b" => format!(
            "<msg_SampleStruct><intField1>000</intField1><intField2>-4</intField2><charField1>{}</charField1><charField2>THE ????? RECORD</charField2></msg_SampleStruct>",
            added(number)
        ),
        "3" => request(&spread(29)),
        "4" => request(&spread(27)),
        _ => format!(
            "<VSAM><Request><Position><Mode>KEY_EQ</Mode><Key>{}</Key><KeyType>Parser String</KeyType></Position></Request></VSAM>",
            added(number)
        ),
    };
    // Blanks after the root element.
    text.extend(std::iter::repeat_n(' ', REQUEST_BYTES.saturating_sub(text.len())));
    text.into_bytes()
}

/// Returns the key of a record that sample 2B adds. Consecutive numbers are spread over the file.
pub(crate) fn added(number: u64) -> String {
    // Multiplication by an odd number permutes the numbers of 28 bits.
    format!("K{:07X}", (number.wrapping_mul(0x09e3_779b)) & 0x0fff_ffff)
}

/// Puts one message and commits.
pub(crate) fn put(store: &Store, queue: &Queue, content: Vec<u8>, persistence: Persistence) -> Result<(), String> {
    let mut unit = store.begin().map_err(shown)?;
    queue.put(&mut unit, &Message { persistence, ..Message::new(content) }).map_err(shown)?;
    unit.commit().map_err(shown)?;
    Ok(())
}

/// Appends with sync a second, on one thread, in a folder.
///
/// # Errors
/// The folder cannot be written.
pub fn bare_syncs(folder: &Path) -> Result<f64, String> {
    use std::io::Write as _;
    std::fs::create_dir_all(folder).map_err(shown)?;
    let path = folder.join("bare-sync");
    let mut file = std::fs::File::create(&path).map_err(shown)?;
    let began = Instant::now();
    let mut count = 0u32;
    while began.elapsed() < Duration::from_millis(300) {
        file.write_all(&[7; SYNC_BYTES]).map_err(shown)?;
        file.sync_data().map_err(shown)?;
        count += 1;
    }
    let rate = f64::from(count) / began.elapsed().as_secs_f64();
    std::fs::remove_file(&path).map_err(shown)?;
    Ok(rate)
}

impl FlowBed {
    /// Creates a store in `folder`, which is emptied, defines everything that the flow names, adds `records` records to the report's file, and runs the flow.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn new(folder: &Path, flow: Flow, records: u32, options: EngineOptions) -> Result<FlowBed, String> {
        FlowBed::with(folder, flow, Holds::records(records), options)
    }

    /// Creates a bed with more files, or with less memory for them.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn with(folder: &Path, flow: Flow, holds: Holds, options: EngineOptions) -> Result<FlowBed, String> {
        let _ = std::fs::remove_dir_all(folder);
        let medium = Folder::create(folder).map_err(shown)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut settings = Settings::default();
        if let Some(bytes) = holds.cache_bytes {
            (settings.cache_bytes, settings.record_cache_bytes) = (bytes, 0);
        }
        let embedded = Arc::new(EmbeddedEngine::open(Arc::new(medium), &clock, settings).map_err(shown)?);
        let shared: Arc<EmbeddedEngine> = Arc::clone(&embedded);
        let store = Store::open(shared, Arc::clone(&clock), StoreLimits::default(), Access::Write).map_err(shown)?;
        let mut unit = store.begin().map_err(shown)?;
        let mut files = Vec::new();
        for number in 0..holds.files {
            let definition = FileDefinition {
                name: file_name(number),
                organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
                record_bytes_min: 32,
                record_bytes_max: 32,
                alternates: Vec::new(),
            };
            files.push(store.define_file(&mut unit, definition).map_err(shown)?);
        }
        for name in flow.input_queues().chain(flow.output_queues()).collect::<BTreeSet<_>>() {
            let definition = QueueDefinition { depth_max: DEPTH_MAX, ..QueueDefinition::local(name) };
            store.define_queue(&mut unit, definition).map_err(shown)?;
        }
        unit.commit().map_err(shown)?;
        for file in &files {
            for from in (0..holds.records).step_by(5_000) {
                let mut unit = store.begin().map_err(shown)?;
                for number in from..holds.records.min(from + 5_000) {
                    file.insert(&mut unit, &record(number)).map_err(shown)?;
                }
                unit.commit().map_err(shown)?;
            }
        }
        let failures = Arc::new(Failures::default());
        let observer: Arc<dyn Observer> = Arc::clone(&failures) as Arc<dyn Observer>;
        let engine = Engine::start(&store, &clock, &observer, options).map_err(shown)?;
        engine.deploy(flow);
        Ok(FlowBed { store, embedded, engine, failures, files: holds.files.max(1) })
    }

    /// Loads a sample flow of a project and sets its additional instances.
    ///
    /// # Errors
    /// The findings of the flow as text.
    pub fn sample(project: &Path, sample: &str, instances: u32) -> Result<Flow, String> {
        let path: PathBuf = project.join(format!("flows/sample{sample}.toml"));
        let mut flow = Flow::open(&path, project, None).map_err(shown)?;
        flow.file.additional_instances = instances;
        Ok(flow)
    }

    /// Loads a flow with a part of its text replaced; the new text is written to a folder.
    pub(crate) fn changed(
        project: &Path,
        sample: &str,
        instances: u32,
        (from, to): (&str, &str),
        folder: &Path,
    ) -> Result<Flow, String> {
        let name = format!("sample{sample}.toml");
        let text = std::fs::read_to_string(project.join("flows").join(&name)).map_err(shown)?;
        if !text.contains(from) {
            return Err(format!("{name} does not have `{from}`"));
        }
        std::fs::create_dir_all(folder).map_err(shown)?;
        let path = folder.join(name);
        std::fs::write(&path, text.replace(from, to)).map_err(shown)?;
        let mut flow = Flow::open(&path, project, None).map_err(shown)?;
        flow.file.additional_instances = instances;
        Ok(flow)
    }

    /// Adds records to delete.
    pub(crate) fn add_records(&self, count: u64) -> Result<(), String> {
        let mut unit = self.store.begin().map_err(shown)?;
        let file = self.store.file(&unit, FILE).map_err(shown)?;
        for number in 0..count {
            let mut record = record(0);
            record[..8].copy_from_slice(added(number).as_bytes());
            file.insert(&mut unit, &record).map_err(shown)?;
            if number % 5_000 == 4_999 {
                unit.commit().map_err(shown)?;
                unit = self.store.begin().map_err(shown)?;
            }
        }
        unit.commit().map_err(shown)?;
        Ok(())
    }

    /// Appends the failures of the flow to an error message.
    fn explained(&self, error: &str) -> String {
        let failures = self.failures.0.lock().map(|failures| failures.join("\n")).unwrap_or_default();
        format!("{error}\n{failures}")
    }

    /// Runs sample 1: one request, one message for each record on a queue.
    ///
    /// # Errors
    /// A failure, or a wrong number of messages.
    pub fn pass(&self, records: u32, persistence: Persistence) -> Result<Drive, String> {
        let (request, status) = (self.store.queue("SAMPLE1.REQUEST"), self.store.queue("SAMPLE1.STATUS"));
        let (request, status) = (request.map_err(shown)?, status.map_err(shown)?);
        let queue = self.store.queue("SAMPLE1.RECORD").map_err(shown)?;
        let already = queue.facts().map_err(shown)?.depth;
        let before = Used::now(&self.store);
        let began = Instant::now();
        let text = format!("<VSAM><Request><FileName>/'{FILE}'</FileName></Request></VSAM>");
        put(&self.store, &request, text.into_bytes(), persistence)?;
        let mut unit = self.store.begin().map_err(shown)?;
        status
            .get(&mut unit, Select::First, GetWait::AtMostMs(120_000))
            .map_err(|error| self.explained(&error.to_string()))?;
        unit.commit().map_err(shown)?;
        let elapsed = began.elapsed();
        let depth = queue.facts().map_err(shown)?.depth - already;
        if depth != u64::from(records) {
            return Err(format!("sample 1 made {depth} messages of {records} records"));
        }
        Ok(self.drive_of(u64::from(records), elapsed, 0.0, &before))
    }

    /// Sends requests and receives replies for some time. Each application starts at its own number and advances by the number of applications, up to `limit`.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn requests(
        &self,
        sample: &str,
        applications: Applications,
        persistence: Persistence,
        time: Duration,
        limit: u64,
    ) -> Result<Drive, String> {
        let name = sample.to_uppercase();
        let driver = Driver {
            bed: self,
            sample,
            request: self.store.queue(&format!("SAMPLE{name}.REQUEST")).map_err(shown)?,
            reply: self.store.queue(&format!("SAMPLE{name}.REPLY")).map_err(shown)?,
            persistence,
            until: Instant::now() + time,
            step: applications.count() as u64,
            limit,
        };
        let listener = match applications {
            Applications::Amqp(_) => Some(amqp_listener(&self.store)?),
            Applications::Threads(_) | Applications::Tasks(_) => None,
        };
        let before = Used::now(&self.store);
        let began = Instant::now();
        let driver_ns = AtomicU64::new(0);
        let measured = |work: &mut dyn FnMut() -> Result<u64, String>| {
            let cpu = quayline_meter::SystemClock.now().cpu;
            let done = work();
            let used = quayline_meter::SystemClock.now().cpu.saturating_sub(cpu);
            driver_ns.fetch_add(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            done
        };
        let messages = match applications {
            Applications::Threads(count) => on_threads(count, &|first| measured(&mut || driver.thread(first)))?,
            Applications::Amqp(count) => {
                let broker = listener.as_ref().expect("it was started above").address();
                let (request, reply) = (format!("SAMPLE{name}.REQUEST"), format!("SAMPLE{name}.REPLY"));
                let all = AmqpApplications {
                    broker,
                    user: None,
                    request: &request,
                    reply: &reply,
                    persistence,
                    count,
                    until: driver.until,
                    limit,
                };
                let content = |number| content(sample, number, self.files);
                let done = on_threads(count, &|first| measured(&mut || all.run(first, &content)));
                done.map_err(|error| self.explained(&error))?
            }
            Applications::Tasks(count) => measured(&mut || driver.tasks(count))?,
        };
        let drive = self.drive_of(messages, began.elapsed(), driver_ns.load(Ordering::Relaxed) as f64, &before);
        if let Some(listener) = listener {
            listener.stop();
        }
        Ok(drive)
    }

    /// Measures the messages a second that the flow takes from a filled queue until the queue is empty and everything is committed. The flow must be
    /// stopped; this starts it.
    ///
    /// # Errors
    /// A description of the failure.
    pub fn drain(&self, queue: &str, messages: &[Message]) -> Result<Drive, String> {
        let name = self.engine.flows().first().map(|flow| flow.flow.name().to_owned()).unwrap_or_default();
        self.engine.stop(&name);
        let input = self.store.queue(queue).map_err(shown)?;
        for some in messages.chunks(1_000) {
            let mut unit = self.store.begin().map_err(shown)?;
            for message in some {
                input.put(&mut unit, message).map_err(shown)?;
            }
            unit.commit().map_err(shown)?;
        }
        let before = Used::now(&self.store);
        let began = Instant::now();
        self.engine.restart(&name);
        while input.facts().map_err(shown)?.depth > 0 {
            if began.elapsed() > REPLY_WAIT {
                return Err(self.explained("the flow does not empty its queue"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(self.drive_of(messages.len() as u64, began.elapsed(), 0.0, &before))
    }

    fn drive_of(&self, messages: u64, elapsed: Duration, driver_ns: f64, before: &Used) -> Drive {
        let now = Used::now(&self.store);
        let states = self.engine.flows();
        let cpu = &states[0].stats.cpu;
        let parts =
            [CpuPart::Queues, CpuPart::Files, CpuPart::Flow, CpuPart::Commit].map(|part| cpu.us_per_message(part));
        Drive {
            messages,
            elapsed,
            cpu: now.process.since(&before.process).cpu,
            driver_ns,
            flow_ns: now.flow_ns - before.flow_ns,
            listener_ns: now.listener_ns - before.listener_ns,
            commit_wait_us: (now.commit_us - before.commit_us) as f64 / messages.max(1) as f64,
            parts,
        }
    }

    /// Ends everything; the failures of the flow.
    pub fn end(self) -> Vec<String> {
        self.engine.drain();
        drop(self.store);
        let mut failures = self.failures.0.lock().map(|failures| failures.clone()).unwrap_or_default();
        failures.extend(self.embedded.close().err().map(shown));
        failures
    }
}

/// State that all applications of a run share.
struct Driver<'b> {
    bed: &'b FlowBed,
    sample: &'b str,
    request: Queue,
    reply: Queue,
    persistence: Persistence,
    until: Instant,
    step: u64,
    limit: u64,
}

impl Driver<'_> {
    fn goes_on(&self, number: u64) -> bool {
        number < self.limit && Instant::now() < self.until
    }

    /// Runs one application: sends requests and waits for each reply. Returns the number of replies.
    fn thread(&self, first: u64) -> Result<u64, String> {
        let mut done = 0;
        let mut number = first;
        while self.goes_on(number) {
            put(&self.bed.store, &self.request, content(self.sample, number, self.bed.files), self.persistence)?;
            let mut unit = self.bed.store.begin().map_err(shown)?;
            let wait = GetWait::AtMostMs(60_000);
            self.reply.get(&mut unit, Select::First, wait).map_err(|error| self.bed.explained(&error.to_string()))?;
            unit.commit().map_err(shown)?;
            number += self.step;
            done += 1;
        }
        Ok(done)
    }

    /// Applications as tasks of this thread.
    fn tasks(&self, count: usize) -> Result<u64, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(shown)?;
        let all = (0..count).map(|first| self.task(first as u64));
        let done = runtime.block_on(async {
            let all = futures_util::future::try_join_all(all);
            tokio::time::timeout(self.until.saturating_duration_since(Instant::now()) + REPLY_WAIT, all).await
        });
        match done {
            Ok(done) => Ok(done?.into_iter().sum()),
            Err(_) => Err(self.bed.explained("a reply does not come")),
        }
    }

    async fn task(&self, first: u64) -> Result<u64, String> {
        let mut done = 0;
        let mut number = first;
        while self.goes_on(number) {
            let mut unit = self.bed.store.begin().map_err(shown)?;
            let message =
                Message { persistence: self.persistence, ..Message::new(content(self.sample, number, self.bed.files)) };
            self.request.put(&mut unit, &message).map_err(shown)?;
            unit.submit().await.map_err(shown)?;
            let mut unit = self.bed.store.begin().map_err(shown)?;
            std::future::poll_fn(|context| match self.reply.poll_get(&mut unit, Select::First, context.waker()) {
                Ok(Polled::Message(_)) => std::task::Poll::Ready(Ok(())),
                Ok(Polled::Nothing { .. }) => std::task::Poll::Pending,
                Err(error) => std::task::Poll::Ready(Err(shown(error))),
            })
            .await?;
            unit.submit().await.map_err(shown)?;
            number += self.step;
            done += 1;
        }
        Ok(done)
    }
}

/// Runs each application on its own thread, and returns the sum of their results.
fn on_threads(count: usize, application: &(dyn Fn(u64) -> Result<u64, String> + Sync)) -> Result<u64, String> {
    let outcomes: Vec<Result<u64, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|first| scope.spawn(move || application(first as u64))).collect();
        let joined = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err("an application panicked".to_owned()))
        };
        threads.into_iter().map(joined).collect()
    });
    outcomes.into_iter().sum()
}

/// CPU time of the process, and of its threads for flows and for the listener.
struct Used {
    process: ProcessUse,
    flow_ns: f64,
    listener_ns: f64,
    commit_us: u64,
}

impl Used {
    fn now(store: &Store) -> Used {
        Used {
            process: ProcessUse::now(),
            flow_ns: threads_ns("flow-"),
            listener_ns: threads_ns("amqp-"),
            commit_us: store.usage().commit_us,
        }
    }
}

/// Returns the CPU time of all threads whose names begin with `begin`, in nanoseconds. Source: proc(5), `schedstat`.
fn threads_ns(begin: &str) -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let of = |path: PathBuf| -> Option<f64> {
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        if !name.starts_with(begin) {
            return None;
        }
        std::fs::read_to_string(path.join("schedstat")).ok()?.split_ascii_whitespace().next()?.parse().ok()
    };
    tasks.flatten().filter_map(|task| of(task.path())).sum()
}
