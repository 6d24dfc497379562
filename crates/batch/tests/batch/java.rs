//! Artifacts in a Java process (`tests/tck/Host.java`), over one connection for each thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use quayline_batch::artifact::{
    Answer, Batchlet, CheckpointAlgorithm, Decider, Injected, Item, Lent, Listener, PartitionAnalyzer,
    PartitionCollector, PartitionMapper, PartitionOutcome, PartitionPlan, PartitionReducer, Processor, Reader,
    Registry, Writer,
};
use quayline_batch::record::StepExecution;
use quayline_batch::{BatchStatus, Thrown, Work};

pub(crate) type Parts = Vec<Vec<u8>>;

/// Port of the Java process.
pub(crate) static PORT: AtomicU16 = AtomicU16::new(0);
static CONTEXTS: AtomicU64 = AtomicU64::new(1);

pub(crate) struct Wire {
    input: BufReader<TcpStream>,
    output: BufWriter<TcpStream>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Wire> {
        stream.set_nodelay(true)?;
        Ok(Wire { input: BufReader::new(stream.try_clone()?), output: BufWriter::new(stream) })
    }

    pub(crate) fn send(&mut self, parts: &[Vec<u8>]) -> io::Result<()> {
        self.output.write_all(&(parts.len() as u32).to_be_bytes())?;
        for part in parts {
            self.output.write_all(&(part.len() as u32).to_be_bytes())?;
            self.output.write_all(part)?;
        }
        self.output.flush()
    }

    pub(crate) fn receive(&mut self) -> io::Result<Parts> {
        let number = |input: &mut BufReader<TcpStream>| -> io::Result<usize> {
            let mut bytes = [0; 4];
            input.read_exact(&mut bytes)?;
            Ok(u32::from_be_bytes(bytes) as usize)
        };
        let mut parts = Vec::new();
        for _ in 0..number(&mut self.input)? {
            let mut part = vec![0; number(&mut self.input)?];
            self.input.read_exact(&mut part)?;
            parts.push(part);
        }
        Ok(parts)
    }
}

thread_local! {
    static WIRE: RefCell<Option<Wire>> = const { RefCell::new(None) };
}

/// Commits, rolls back, marks or restores the changes of this thread's Java artifacts in the database of the suite.
pub(crate) fn transaction(how: &str) -> Result<(), String> {
    WIRE.with(|wire| {
        let mut wire = wire.borrow_mut();
        let Some(wire) = wire.as_mut() else { return Ok(()) };
        wire.send(&[part("transaction"), part(how)]).map_err(|error| error.to_string())?;
        let answer = wire.receive().map_err(|error| error.to_string())?;
        if answer[0] == b"ok" {
            Ok(())
        } else {
            Err(answer.iter().map(|part| text(part)).collect::<Vec<_>>().join(" "))
        }
    })
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn part(value: impl ToString) -> Vec<u8> {
    value.to_string().into_bytes()
}

pub(crate) fn pairs(properties: &BTreeMap<String, String>, to: &mut Parts) {
    to.push(part(properties.len()));
    for (name, value) in properties {
        to.push(part(name));
        to.push(part(value));
    }
}

/// Handle of the Java exception, at the end of the lineage.
const HANDLE: &str = "handle:";

fn handle(thrown: &Thrown) -> Vec<u8> {
    let found = thrown.lineage.iter().find_map(|class| class.strip_prefix(HANDLE));
    part(found.unwrap_or("0"))
}

pub(crate) fn step_id(execution: u64, number: u32) -> u64 {
    execution * 100_000 + u64::from(number)
}

pub(crate) fn step_parts(step: &StepExecution, to: &mut Parts) {
    let ms = |at: Option<u64>| at.map_or_else(Vec::new, part);
    to.push(part(step_id(step.execution.0, step.number)));
    to.push(part(&step.step));
    to.push(part(step.status));
    to.push(part(step.exit_status.as_deref().unwrap_or("")));
    to.push(ms(Some(step.started_ms)));
    to.push(ms(step.ended_ms));
    to.push(step.user_data.clone().unwrap_or_default());
    for (name, count) in step.counts.named() {
        to.push(part(name));
        to.push(part(count));
    }
}

/// A Java artifact.
struct Remote {
    id: Vec<u8>,
    with: Injected,
    /// Listener interfaces that it has.
    hears: Vec<String>,
}

/// Returns a number of a context for the Java side, which is kept in the context's transient data.
fn context_id(
    transient: quayline_batch::context::TransientData,
    set: impl FnOnce(quayline_batch::context::TransientData),
) -> u64 {
    match transient.and_then(|data| data.downcast::<u64>().ok()) {
        Some(id) => *id,
        None => {
            let id = CONTEXTS.fetch_add(1, Ordering::Relaxed);
            set(Some(Arc::new(id)));
            id
        }
    }
}

impl Remote {
    fn new(with: &Injected) -> Answer<Remote> {
        let job = &with.job;
        let mut request = vec![part("new"), part(&with.name)];
        request.push(part(context_id(job.transient(), |data| job.set_transient(data))));
        request.push(part(&job.job));
        request.push(part(job.instance));
        request.push(part(job.execution));
        let none = BTreeMap::new();
        let properties = match &with.step {
            Some(step) => {
                request.push(part(context_id(step.transient(), |data| step.set_transient(data))));
                request.push(part(&step.step));
                let number = step.number + step.partition.map_or(0, |number| 1_000 * (number + 1));
                request.push(part(step_id(job.execution.0, number)));
                &step.properties
            }
            None => {
                request.extend([part(0), part(""), part(0)]);
                &none
            }
        };
        pairs(&job.properties, &mut request);
        pairs(properties, &mut request);
        pairs(&with.properties, &mut request);
        let mut remote = Remote { id: Vec::new(), with: with.clone(), hears: Vec::new() };
        let mut answer = remote.exchange(&request)?.into_iter();
        remote.id = answer.next().unwrap_or_default();
        remote.hears = answer.map(|name| text(&name)).collect();
        Ok(remote)
    }

    fn call(&self, method: &str, arguments: &[&[u8]]) -> Answer<Parts> {
        let mut request = vec![part("call"), self.id.clone(), part(method)];
        request.extend(arguments.iter().map(|argument| argument.to_vec()));
        self.exchange(&request)
    }

    fn run(&self, method: &str, arguments: &[&[u8]]) -> Answer<()> {
        self.call(method, arguments).map(|_| ())
    }

    fn exchange(&self, request: &[Vec<u8>]) -> Answer<Parts> {
        WIRE.with(|wire| {
            let mut wire = wire.borrow_mut();
            let lost =
                |error: io::Error| Thrown::new("java.lang.IllegalStateException", format!("the host is gone: {error}"));
            if wire.is_none() {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, PORT.load(Ordering::SeqCst))).map_err(lost)?;
                *wire = Some(Wire::new(stream).map_err(lost)?);
            }
            let wire = wire.as_mut().unwrap();
            wire.send(request).map_err(lost)?;
            loop {
                let mut answer = wire.receive().map_err(lost)?;
                match answer[0].as_slice() {
                    b"ctx" => {
                        let mut reply = vec![part("ok")];
                        reply.extend(self.context(&answer[1..]));
                        wire.send(&reply).map_err(lost)?;
                    }
                    b"ok" => {
                        answer.remove(0);
                        return Ok(answer);
                    }
                    _ => {
                        let mut lineage: Vec<String> = answer[3..].iter().map(|class| text(class)).collect();
                        lineage.push(format!("{HANDLE}{}", text(&answer[1])));
                        let classes: Vec<&str> = lineage.iter().map(String::as_str).collect();
                        return Err(Thrown::of(&classes, text(&answer[2])));
                    }
                }
            }
        })
    }

    /// Handles a request of a running artifact for its contexts.
    fn context(&self, request: &[Vec<u8>]) -> Parts {
        let job = &self.with.job;
        let step = || self.with.step.as_ref().unwrap();
        let maybe = |value: Option<String>| value.map(part).into_iter().collect::<Parts>();
        match text(&request[0]).as_str() {
            "job.status" => vec![part(job.status())],
            "job.exit" => maybe(job.exit_status()),
            "job.exit.set" => {
                match request.get(1) {
                    Some(status) => job.set_exit_status(text(status)),
                    None => job.clear_exit_status(),
                }
                Vec::new()
            }
            "step.status" => vec![part(step().status())],
            "step.exit" => maybe(step().exit_status()),
            "step.exit.set" => {
                match request.get(1) {
                    Some(status) => step().set_exit_status(text(status)),
                    None => step().clear_exit_status(),
                }
                Vec::new()
            }
            "step.data" => step().user_data().into_iter().collect(),
            "step.data.set" => {
                step().set_user_data(request.get(1).cloned());
                Vec::new()
            }
            "step.exception" => step().exception().map(|thrown| handle(&thrown)).into_iter().collect(),
            "step.metrics" => {
                step().counts().named().iter().flat_map(|(name, count)| [part(name), part(count)]).collect()
            }
            other => panic!("the host wants {other}"),
        }
    }

    fn hears(&self, interface: &str, method: &str, arguments: &[&[u8]]) -> Answer<()> {
        if self.hears.iter().any(|known| known == interface) { self.run(method, arguments) } else { Ok(()) }
    }
}

fn optional(checkpoint: Option<&[u8]>) -> Vec<&[u8]> {
    checkpoint.into_iter().collect()
}

fn first(parts: Parts) -> Option<Vec<u8>> {
    parts.into_iter().next()
}

fn slices(items: &[Item]) -> Vec<&[u8]> {
    items.iter().map(Vec::as_slice).collect()
}

impl Reader for Remote {
    fn open(&mut self, checkpoint: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        self.run("reader.open", &optional(checkpoint))
    }
    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        self.call("reader.read", &[]).map(first)
    }
    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        self.call("reader.checkpoint", &[]).map(|given| first(given).map(Lent::from))
    }
    fn close(&mut self) -> Answer<()> {
        self.run("reader.close", &[])
    }
}

impl Processor for Remote {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        self.call("process", &[item]).map(first)
    }
}

impl Writer for Remote {
    fn open(&mut self, checkpoint: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        self.run("writer.open", &optional(checkpoint))
    }
    fn write(&mut self, items: &[Item], _: &mut dyn Work) -> Answer<()> {
        self.run("writer.write", &slices(items))
    }
    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        self.call("writer.checkpoint", &[]).map(|given| first(given).map(Lent::from))
    }
    fn close(&mut self, _: bool) -> Answer<()> {
        self.run("writer.close", &[])
    }
}

impl Batchlet for Remote {
    fn process(&mut self) -> Answer<Option<String>> {
        let over = AtomicBool::new(false);
        let other = Remote { id: self.id.clone(), with: self.with.clone(), hears: Vec::new() };
        let stop = self.with.job.stop.clone();
        std::thread::scope(|scope| {
            // Injected contexts are shared between threads, so a batchlet can be stopped from another one.
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    if stop.wait(Duration::from_millis(20)) {
                        let _ = other.run("batchlet.stop", &[]);
                        return;
                    }
                }
            });
            let answer = self.call("batchlet.process", &[]);
            over.store(true, Ordering::SeqCst);
            answer.map(|parts| first(parts).map(|status| text(&status)))
        })
    }
}

impl CheckpointAlgorithm for Remote {
    fn timeout_s(&mut self) -> Answer<u32> {
        self.call("algorithm.timeout", &[]).map(|parts| text(&parts[0]).parse().unwrap_or(0))
    }
    fn begin(&mut self) -> Answer<()> {
        self.run("algorithm.begin", &[])
    }
    fn is_ready(&mut self) -> Answer<bool> {
        self.call("algorithm.ready", &[]).map(|parts| parts[0] == b"true")
    }
    fn end(&mut self) -> Answer<()> {
        self.run("algorithm.end", &[])
    }
}

impl Decider for Remote {
    fn decide(&mut self, steps: &[StepExecution]) -> Answer<String> {
        let mut parts = Vec::new();
        steps.iter().for_each(|step| step_parts(step, &mut parts));
        self.call("decide", &slices(&parts)).map(|parts| text(&parts[0]))
    }
}

impl PartitionMapper for Remote {
    fn plan(&mut self) -> Answer<PartitionPlan> {
        let parts = self.call("plan", &[])?;
        let mut rest = parts.iter().map(|part| text(part));
        let mut next = || rest.next().unwrap();
        let count: usize = next().parse().unwrap();
        let (threads, replaces) = (next().parse().unwrap(), next() == "true");
        let mut properties = Vec::new();
        for _ in 0..count {
            let pairs: usize = next().parse().unwrap();
            properties.push((0..pairs).map(|_| (next(), next())).collect());
        }
        Ok(PartitionPlan { properties, threads, replaces })
    }
}

impl PartitionReducer for Remote {
    fn begin(&mut self) -> Answer<()> {
        self.run("reducer.begin", &[])
    }
    fn before_completion(&mut self) -> Answer<()> {
        self.run("reducer.before", &[])
    }
    fn rollback(&mut self) -> Answer<()> {
        self.run("reducer.rollback", &[])
    }
    fn after_completion(&mut self, outcome: PartitionOutcome) -> Answer<()> {
        let outcome = match outcome {
            PartitionOutcome::Commit => "COMMIT",
            PartitionOutcome::Rollback => "ROLLBACK",
        };
        self.run("reducer.after", &[outcome.as_bytes()])
    }
}

impl PartitionCollector for Remote {
    fn collect(&mut self) -> Answer<Option<Vec<u8>>> {
        self.call("collect", &[]).map(first)
    }
}

impl PartitionAnalyzer for Remote {
    fn data(&mut self, data: Option<&[u8]>) -> Answer<()> {
        self.run("analyze.data", &optional(data))
    }
    fn status(&mut self, status: BatchStatus, exit_status: &str) -> Answer<()> {
        self.run("analyze.status", &[status.text().as_bytes(), exit_status.as_bytes()])
    }
}

fn with_items<'a>(handle: &'a [u8], items: &'a [Item]) -> Vec<&'a [u8]> {
    let mut arguments = vec![handle];
    arguments.extend(slices(items));
    arguments
}

impl Listener for Remote {
    fn before_job(&mut self) -> Answer<()> {
        self.hears("JobListener", "job.before", &[])
    }
    fn after_job(&mut self) -> Answer<()> {
        self.hears("JobListener", "job.after", &[])
    }
    fn before_step(&mut self) -> Answer<()> {
        self.hears("StepListener", "step.before", &[])
    }
    fn after_step(&mut self) -> Answer<()> {
        self.hears("StepListener", "step.after", &[])
    }
    fn before_chunk(&mut self) -> Answer<()> {
        self.hears("ChunkListener", "chunk.before", &[])
    }
    fn after_chunk(&mut self) -> Answer<()> {
        self.hears("ChunkListener", "chunk.after", &[])
    }
    fn on_chunk_error(&mut self, thrown: &Thrown) -> Answer<()> {
        self.hears("ChunkListener", "chunk.error", &[&handle(thrown)])
    }
    fn before_read(&mut self) -> Answer<()> {
        self.hears("ItemReadListener", "read.before", &[])
    }
    fn after_read(&mut self, item: &Item) -> Answer<()> {
        self.hears("ItemReadListener", "read.after", &[item])
    }
    fn on_read_error(&mut self, thrown: &Thrown) -> Answer<()> {
        self.hears("ItemReadListener", "read.error", &[&handle(thrown)])
    }
    fn before_process(&mut self, item: &Item) -> Answer<()> {
        self.hears("ItemProcessListener", "process.before", &[item])
    }
    fn after_process(&mut self, item: &Item, result: Option<&Item>) -> Answer<()> {
        let mut arguments: Vec<&[u8]> = vec![item];
        arguments.extend(result.map(Vec::as_slice));
        self.hears("ItemProcessListener", "process.after", &arguments)
    }
    fn on_process_error(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        self.hears("ItemProcessListener", "process.error", &[&handle(thrown), item])
    }
    fn before_write(&mut self, items: &[Item]) -> Answer<()> {
        self.hears("ItemWriteListener", "write.before", &slices(items))
    }
    fn after_write(&mut self, items: &[Item]) -> Answer<()> {
        self.hears("ItemWriteListener", "write.after", &slices(items))
    }
    fn on_write_error(&mut self, items: &[Item], thrown: &Thrown) -> Answer<()> {
        self.hears("ItemWriteListener", "write.error", &with_items(&handle(thrown), items))
    }
    fn on_skip_read(&mut self, thrown: &Thrown) -> Answer<()> {
        self.hears("SkipReadListener", "skip.read", &[&handle(thrown)])
    }
    fn on_skip_process(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        self.hears("SkipProcessListener", "skip.process", &[&handle(thrown), item])
    }
    fn on_skip_write(&mut self, items: &[Item], thrown: &Thrown) -> Answer<()> {
        self.hears("SkipWriteListener", "skip.write", &with_items(&handle(thrown), items))
    }
    fn on_retry_read(&mut self, thrown: &Thrown) -> Answer<()> {
        self.hears("RetryReadListener", "retry.read", &[&handle(thrown)])
    }
    fn on_retry_process(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        self.hears("RetryProcessListener", "retry.process", &[&handle(thrown), item])
    }
    fn on_retry_write(&mut self, items: &[Item], thrown: &Thrown) -> Answer<()> {
        self.hears("RetryWriteListener", "retry.write", &with_items(&handle(thrown), items))
    }
}

/// Registers the names of a `batch.xml` as artifacts of every kind, because only the job defines the kind of each.
pub(crate) fn register(registry: &mut Registry, names: &[String]) {
    for name in names {
        registry.reader(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.processor(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.writer(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.batchlet(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.checkpoint_algorithm(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.decider(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.mapper(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.reducer(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.collector(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.analyzer(name, |with| Ok(Box::new(Remote::new(with)?)));
        registry.listener(name, |with| Ok(Box::new(Remote::new(with)?)));
    }
}
