//! A repository in memory, artifacts that fail on purpose, and jobs from short XML.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use quayline_batch::artifact::{
    Answer, Batchlet, Decider, Injected, Item, Lent, Listener, Processor, Reader, Registry, Writer,
};
use quayline_batch::record::{Execution, ExecutionId, StepExecution};
use quayline_batch::{Backend, Drift, Engine, Repository, StoreBackend, Thrown, Work, builtin};
use quayline_project::job::{JobFile, Parameters};
use quayline_store::{Access, MemoryEngine, Store, StoreLimits, SystemClock};

pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// Creates a store in memory that outlives the "processes" that open it.
pub(crate) fn medium() -> Arc<MemoryEngine> {
    Arc::new(MemoryEngine::new())
}

pub(crate) fn store(medium: &Arc<MemoryEngine>) -> Store {
    let engine: Arc<MemoryEngine> = Arc::clone(medium);
    Store::open(engine, Arc::new(SystemClock), StoreLimits::default(), Access::Write).unwrap()
}

pub(crate) fn backend(medium: &Arc<MemoryEngine>) -> Arc<dyn Backend> {
    Arc::new(StoreBackend::new(store(medium), Arc::new(SystemClock)).unwrap())
}

/// A process: an engine over the repository, and the log of its artifacts.
pub(crate) struct Process {
    pub(crate) engine: Engine,
    pub(crate) said: Log,
}

impl Process {
    pub(crate) fn new(backend: Arc<dyn Backend>, folder: PathBuf) -> Self {
        let said = Log::default();
        let mut registry = Registry::default();
        builtin::register(&mut registry);
        register(&mut registry, &said);
        let repository = Arc::new(Repository::new(backend));
        repository.recover().unwrap();
        Process { engine: Engine::new(repository, registry, folder), said }
    }

    pub(crate) fn in_memory() -> Self {
        Process::new(backend(&medium()), PathBuf::new())
    }

    pub(crate) fn start(&self, xml: &str, parameters: &[(&str, &str)]) -> Execution {
        self.engine.start(&job(xml), given(parameters)).unwrap().run().unwrap()
    }

    pub(crate) fn restart(&self, last: ExecutionId, xml: &str, parameters: &[(&str, &str)]) -> Execution {
        self.engine.restart(last, &job(xml), given(parameters), Drift::Accept).unwrap().run().unwrap()
    }

    pub(crate) fn steps(&self, execution: ExecutionId) -> Vec<StepExecution> {
        self.engine.repository.steps(execution).unwrap()
    }

    pub(crate) fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.said.lock())
    }
}

pub(crate) fn given(parameters: &[(&str, &str)]) -> Parameters {
    parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Parses a job with this content.
pub(crate) fn job(xml: &str) -> JobFile {
    let text = if xml.trim_start().starts_with("<job") || xml.starts_with("<?xml") {
        xml.to_owned()
    } else {
        format!("<job id=\"j\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">{xml}</job>")
    };
    JobFile::parse("test.xml", &text).unwrap_or_else(|findings| panic!("{findings}"))
}

/// Formats `status exit-status` of an execution.
pub(crate) fn ended(execution: &Execution) -> String {
    format!("{} {}", execution.status, execution.exit_status.as_deref().unwrap_or("-"))
}

fn number(with: &Injected, name: &str) -> Option<u64> {
    with.property(name).map(|value| value.parse().unwrap())
}

/// `count` items, `item 1` and so on; throws before the items whose numbers are in `fail`, once each unless `always`.
struct Counting {
    next: u64,
    count: u64,
    fail: Vec<u64>,
    failed: Arc<Mutex<Vec<u64>>>,
    always: bool,
    class: String,
    stop_at: Option<u64>,
    with: Injected,
}

impl Reader for Counting {
    fn open(&mut self, checkpoint: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        self.next = checkpoint.map_or(1, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        Ok(())
    }

    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        if self.next > self.count {
            return Ok(None);
        }
        let number = self.next;
        if self.stop_at == Some(number) {
            self.with.job.stop.set();
        }
        let fresh = self.always || !self.failed.lock().contains(&number);
        if self.fail.contains(&number) && fresh {
            self.failed.lock().push(number);
            if self.with.property("consume").is_some() {
                self.next += 1;
            }
            return Err(Thrown::new(&self.class, format!("item {number}")));
        }
        self.next += 1;
        Ok(Some(format!("item {number}").into_bytes()))
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(Some(self.next.to_le_bytes().to_vec().into()))
    }
}

/// Fails and filters by the number in the item; logs its writes.
struct Picky {
    with: Injected,
    fail: Vec<String>,
    once: Arc<Mutex<Vec<String>>>,
    said: Log,
}

impl Picky {
    fn check(&self, item: &Item) -> Answer<()> {
        let text = String::from_utf8_lossy(item).into_owned();
        let fails = self.fail.iter().any(|number| text == format!("item {number}"));
        if fails && (self.with.property("always").is_some() || !self.once.lock().contains(&text)) {
            self.once.lock().push(text.clone());
            return Err(Thrown::new(self.with.property("class").unwrap_or("Bad"), text));
        }
        Ok(())
    }
}

impl Processor for Picky {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        self.check(item)?;
        let filtered = self.with.property("filter").is_some_and(|number| item == format!("item {number}").as_bytes());
        Ok((!filtered).then(|| item.clone()))
    }
}

impl Writer for Picky {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        Ok(())
    }

    fn write(&mut self, items: &[Item], _: &mut dyn Work) -> Answer<()> {
        items.iter().try_for_each(|item| self.check(item))?;
        let numbers: Vec<String> =
            items.iter().map(|item| String::from_utf8_lossy(item).replace("item ", "")).collect();
        self.said.lock().push(format!("write {}", numbers.join(" ")));
        Ok(())
    }

    fn isolates(&self) -> bool {
        self.with.property("isolates").is_some()
    }
}

/// Logs its step, and returns `exit`; throws if `fail` is set; saves and shows persistent data.
struct Saying(Injected, Log);

impl Batchlet for Saying {
    fn process(&mut self) -> Answer<Option<String>> {
        let step = self.0.step.as_ref().unwrap();
        let partition = step.partition.map(|number| format!("[{number}]")).unwrap_or_default();
        let say = self.0.property("say").unwrap_or("");
        self.1.lock().push(format!("{}{partition}{say}", step.step));
        if self.0.property("stop").is_some() {
            self.0.job.stop.set();
        }
        match self.0.property("fail") {
            Some(class) => Err(Thrown::new(class, "on purpose")),
            None => Ok(self.0.property("exit").map(str::to_owned)),
        }
    }
}

struct Deciding(Injected, Log);

impl Decider for Deciding {
    fn decide(&mut self, steps: &[StepExecution]) -> Answer<String> {
        let seen: Vec<String> =
            steps.iter().map(|step| format!("{}={}", step.step, step.exit_status.as_deref().unwrap_or("-"))).collect();
        self.1.lock().push(format!("decide on {}", seen.join(",")));
        if let Some(class) = self.0.property("fail") {
            return Err(Thrown::new(class, "no decision"));
        }
        Ok(self.0.property("answer").map_or_else(|| seen.join(","), str::to_owned))
    }
}

struct Hearing(Injected, Log);

impl Hearing {
    fn say(&self, text: impl Into<String>) -> Answer<()> {
        let text = text.into();
        let wanted = self.0.property("hear").is_none_or(|wanted| wanted.split(' ').any(|word| text.contains(word)));
        let throws = self.0.property("throw").is_some_and(|word| text.contains(word));
        let thrown = Thrown::new("Deaf", format!("cannot hear {text}"));
        if wanted {
            self.1.lock().push(text);
        }
        if throws { Err(thrown) } else { Ok(()) }
    }
}

impl Listener for Hearing {
    fn before_job(&mut self) -> Answer<()> {
        self.say("before job")
    }
    fn after_job(&mut self) -> Answer<()> {
        self.say(format!("after job {}", self.0.job.status()))
    }
    fn before_step(&mut self) -> Answer<()> {
        self.say("before step")
    }
    fn after_step(&mut self) -> Answer<()> {
        self.say(format!("after step {}", self.0.step.as_ref().unwrap().status()))
    }
    fn before_chunk(&mut self) -> Answer<()> {
        self.say("before chunk")
    }
    fn after_chunk(&mut self) -> Answer<()> {
        self.say("after chunk")
    }
    fn on_chunk_error(&mut self, thrown: &Thrown) -> Answer<()> {
        self.say(format!("chunk error {}", thrown.message))
    }
    fn before_read(&mut self) -> Answer<()> {
        self.say("before read")
    }
    fn after_read(&mut self, _: &Item) -> Answer<()> {
        self.say("after read")
    }
    fn on_read_error(&mut self, _: &Thrown) -> Answer<()> {
        self.say("read error")
    }
    fn before_process(&mut self, _: &Item) -> Answer<()> {
        self.say("before process")
    }
    fn after_process(&mut self, _: &Item, _: Option<&Item>) -> Answer<()> {
        self.say("after process")
    }
    fn on_process_error(&mut self, _: &Item, _: &Thrown) -> Answer<()> {
        self.say("process error")
    }
    fn before_write(&mut self, _: &[Item]) -> Answer<()> {
        self.say("before write")
    }
    fn after_write(&mut self, _: &[Item]) -> Answer<()> {
        self.say("after write")
    }
    fn on_write_error(&mut self, _: &[Item], _: &Thrown) -> Answer<()> {
        self.say("write error")
    }
    fn on_skip_read(&mut self, thrown: &Thrown) -> Answer<()> {
        self.say(format!("skip read {}", thrown.message))
    }
    fn on_skip_process(&mut self, _: &Item, thrown: &Thrown) -> Answer<()> {
        self.say(format!("skip process {}", thrown.message))
    }
    fn on_skip_write(&mut self, items: &[Item], _: &Thrown) -> Answer<()> {
        self.say(format!("skip write of {}", items.len()))
    }
    fn on_retry_read(&mut self, thrown: &Thrown) -> Answer<()> {
        self.say(format!("retry read {}", thrown.message))
    }
    fn on_retry_process(&mut self, _: &Item, thrown: &Thrown) -> Answer<()> {
        self.say(format!("retry process {}", thrown.message))
    }
    fn on_retry_write(&mut self, _: &[Item], thrown: &Thrown) -> Answer<()> {
        self.say(format!("retry write {}", thrown.message))
    }
}

fn numbers(with: &Injected, name: &str) -> Vec<String> {
    with.property(name).map_or_else(Vec::new, |list| list.split(' ').map(str::to_owned).collect())
}

fn register(registry: &mut Registry, said: &Log) {
    let failed = Arc::new(Mutex::new(Vec::new()));
    registry.reader("counting", move |with| {
        Ok(Box::new(Counting {
            next: 1,
            count: number(with, "count").unwrap_or(10),
            fail: numbers(with, "fail").iter().map(|number| number.parse().unwrap()).collect(),
            failed: Arc::clone(&failed),
            always: with.property("always").is_some(),
            class: with.property("class").unwrap_or("Bad").to_owned(),
            stop_at: number(with, "stop"),
            with: with.clone(),
        }))
    });
    let picky = |said: &Log| {
        let (once, said) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(said));
        move |with: &Injected| Picky {
            fail: numbers(with, "fail"),
            with: with.clone(),
            once: Arc::clone(&once),
            said: Arc::clone(&said),
        }
    };
    let make = picky(said);
    registry.processor("picky", move |with| Ok(Box::new(make(with))));
    let make = picky(said);
    registry.writer("picky", move |with| Ok(Box::new(make(with))));
    let log = Arc::clone(said);
    registry.batchlet("saying", move |with| Ok(Box::new(Saying(with.clone(), Arc::clone(&log)))));
    let log = Arc::clone(said);
    registry.decider("deciding", move |with| Ok(Box::new(Deciding(with.clone(), Arc::clone(&log)))));
    let log = Arc::clone(said);
    registry.listener("hearing", move |with| Ok(Box::new(Hearing(with.clone(), Arc::clone(&log)))));
    registry.class("Worse", "Bad");
}

/// Properties as XML.
pub(crate) fn properties(list: &[(&str, &str)]) -> String {
    let each: String =
        list.iter().map(|(name, value)| format!("<property name=\"{name}\" value=\"{value}\"/>")).collect();
    format!("<properties>{each}</properties>")
}
