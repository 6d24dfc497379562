//! Contents of checkpoints, rejects of skipped items, and chunks whose size adapts to the cost of commits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quayline_batch::artifact::{Answer, Item, Lent, Reader};
use quayline_batch::event::{self, EventPosition, Keeping, TopicFilter};
use quayline_batch::record::{Lease, Stage};
use quayline_batch::{Backend, BatchError, BatchStatus, Fence, PageOf, Pending, Work, WorkMark};
use quayline_store::Unit;

use crate::kit::{Process, backend, given, job, medium, properties};

/// A repository that counts writes.
struct Counted {
    inner: Arc<dyn Backend>,
    bytes: Arc<AtomicU64>,
    commits: Arc<AtomicU64>,
}

impl Backend for Counted {
    fn begin(&self) -> Result<Box<dyn Work>, BatchError> {
        let (bytes, commits) = (Arc::clone(&self.bytes), Arc::clone(&self.commits));
        Ok(Box::new(CountedWork { inner: self.inner.begin()?, bytes, commits }))
    }
    fn owner(&self) -> Result<u64, BatchError> {
        self.inner.owner()
    }
    fn is_gone(&self, lease: &Lease) -> Result<bool, BatchError> {
        self.inner.is_gone(lease)
    }
    fn now_ms(&self) -> u64 {
        self.inner.now_ms()
    }
}

struct CountedWork {
    inner: Box<dyn Work>,
    bytes: Arc<AtomicU64>,
    commits: Arc<AtomicU64>,
}

impl Work for CountedWork {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        self.inner.get(key)
    }
    fn get_for_update(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, BatchError> {
        self.inner.get_for_update(key)
    }
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), BatchError> {
        self.bytes.fetch_add(value.len() as u64, Ordering::Relaxed);
        self.inner.put(key, value)
    }
    fn delete(&mut self, key: &[u8]) -> Result<(), BatchError> {
        self.inner.delete(key)
    }
    fn page(&mut self, page: PageOf<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>, BatchError> {
        self.inner.page(page)
    }
    fn put_fenced(&mut self, key: &[u8], value: &[u8], fence: &Fence) -> Result<(), BatchError> {
        self.bytes.fetch_add(value.len() as u64, Ordering::Relaxed);
        self.inner.put_fenced(key, value, fence)
    }
    fn keep_event(&mut self, event: Vec<u8>) -> Result<(), BatchError> {
        self.inner.keep_event(event)
    }
    fn events(&mut self, after: EventPosition, count: usize) -> Result<Vec<(EventPosition, Vec<u8>)>, BatchError> {
        self.inner.events(after, count)
    }
    fn newest_event(&mut self) -> Result<Option<EventPosition>, BatchError> {
        self.inner.newest_event()
    }
    fn trim_events(&mut self, retain: u64, count: u64) -> Result<u64, BatchError> {
        self.inner.trim_events(retain, count)
    }
    fn unit(&mut self) -> Option<&mut Unit> {
        self.inner.unit()
    }
    fn is_untouched(&self) -> bool {
        self.inner.is_untouched()
    }
    fn mark(&mut self) -> WorkMark {
        self.inner.mark()
    }
    fn back_to(&mut self, mark: WorkMark) -> Result<(), BatchError> {
        self.inner.back_to(mark)
    }
    fn commit(self: Box<Self>) -> Result<(), BatchError> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.inner.commit()
    }
    fn submit(self: Box<Self>) -> Pending {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.inner.submit()
    }
}

/// Reads numbers. Its position has 100,000 bytes, which change every `every` items.
struct Heavy {
    next: u64,
    count: u64,
    every: u64,
    /// True if it reports an unchanged position. The last position follows.
    says_so: bool,
    given: Option<u64>,
}

impl Heavy {
    fn new(count: u64, every: u64, says_so: bool) -> Box<Self> {
        Box::new(Heavy { next: 0, count, every, says_so, given: None })
    }

    fn position(&self) -> u64 {
        let read = self.next.min(self.count);
        read - read % self.every
    }
}

const HEAVY: usize = 100_000;

impl Reader for Heavy {
    fn open(&mut self, checkpoint: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        self.given = None;
        self.next = checkpoint.map_or(0, |bytes| u64::from_le_bytes(bytes[..8].try_into().unwrap()));
        assert!(checkpoint.is_none_or(|bytes| bytes.len() == HEAVY && bytes[8..].iter().all(|byte| *byte == bytes[0])));
        Ok(())
    }
    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        self.next += 1;
        Ok((self.next <= self.count).then(|| format!("item {}", self.next).into_bytes()))
    }
    fn has_moved(&self) -> bool {
        !self.says_so || self.given != Some(self.position())
    }
    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        let position = self.position();
        assert!(!self.says_so || self.given != Some(position), "it is asked only where it has moved");
        self.given = Some(position);
        let mut bytes = position.to_le_bytes().to_vec();
        bytes.resize(HEAVY, bytes[0]);
        Ok(Some(bytes.into()))
    }
}

/// Returns the bytes and commits of a job of 100 chunks whose reader's position changes every `every` items.
fn written(every: u64, says_so: bool) -> (u64, u64) {
    let (bytes, commits) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counted = Counted { inner: backend(&medium()), bytes: Arc::clone(&bytes), commits: Arc::clone(&commits) };
    let mut process = Process::new(Arc::new(counted), Path::new("").to_owned());
    process.engine.registry.reader("heavy", move |_| Ok(Heavy::new(200, every, says_so)));
    let xml = "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"heavy\"/><writer ref=\"picky\"/></chunk></step>";
    let execution = process.start(xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    (bytes.load(Ordering::Relaxed), commits.load(Ordering::Relaxed))
}

#[test]
fn a_position_that_did_not_change_is_not_written_again() {
    let heavy = HEAVY as u64;
    for says_so in [false, true] {
        let (always, _) = written(2, says_so);
        // The end of a step that completed needs no position.
        assert!((100 * heavy..101 * heavy).contains(&always), "{always}");
        let (never, commits) = written(1_000, says_so);
        assert!((heavy..2 * heavy).contains(&never), "{never}");
        // 100 chunks, and a few of job and step: the last chunk, which is empty, commits nothing.
        assert!((101..=110).contains(&commits), "{commits}");
        let (sometimes, _) = written(50, says_so);
        assert!(sometimes < 8 * heavy, "{sometimes}");
    }
}

/// A restart finds the large position of the last checkpoint, and not that of a chunk that was rolled back.
#[test]
fn a_restart_continues_at_a_large_position() {
    let memory = medium();
    let mut process = Process::new(backend(&memory), Path::new("").to_owned());
    let register = |process: &mut Process| {
        process.engine.registry.reader("heavy", move |_| Ok(Heavy::new(20, 2, true)));
    };
    register(&mut process);
    let xml = |more: &str| {
        format!(
            "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"heavy\"/><writer ref=\"picky\">{more}</writer></chunk></step>"
        )
    };
    let execution = process.start(&xml(&properties(&[("fail", "13")])), &[]);
    assert_eq!(execution.status, BatchStatus::Failed);
    drop(process);
    let mut process = Process::new(backend(&memory), Path::new("").to_owned());
    register(&mut process);
    let execution = process.restart(execution.id, &xml(""), &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(process.said(), ["write 13 14", "write 15 16", "write 17 18", "write 19 20"]);
}

/// Reads numbers. Its position is a table of 300,000 bytes and more, in which each item changes one entry and every hundredth adds a page.
struct Ledger {
    next: u32,
    table: Vec<u8>,
}

const LEDGER: usize = 300_000;

impl Ledger {
    fn enter(table: &mut Vec<u8>, number: u32) {
        if number.is_multiple_of(100) {
            table.extend(std::iter::repeat_n(number as u8, 4_096));
        }
        let at = 4 + number as usize * 7_919 % (LEDGER - 8);
        table[at..at + 4].copy_from_slice(&number.to_le_bytes());
        table[..4].copy_from_slice(&number.to_le_bytes());
        if number == 650 {
            table.truncate(LEDGER + 1_000);
        }
    }
}

impl Reader for Ledger {
    fn open(&mut self, checkpoint: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        self.table = vec![0; LEDGER];
        self.next = checkpoint.map_or(0, |bytes| u32::from_le_bytes(bytes[..4].try_into().unwrap()));
        (1..=self.next).for_each(|number| Ledger::enter(&mut self.table, number));
        assert!(checkpoint.is_none_or(|bytes| bytes == self.table), "after item {}", self.next);
        Ok(())
    }
    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        if self.next == 800 {
            return Ok(None);
        }
        self.next += 1;
        Ledger::enter(&mut self.table, self.next);
        Ok(Some(format!("item {}", self.next).into_bytes()))
    }
    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(Some((&self.table).into()))
    }
}

/// With `delta`, a checkpoint writes the changed pages, and a restart finds the complete position: also after growth and shrinkage,
/// after a rollback, and after runs with and without the property.
#[test]
fn a_checkpoint_of_a_large_position_writes_what_changed() {
    let xml = |form: &str, fail: &str| {
        format!(
            "<step id=\"s\"><properties><property name=\"quayline.checkpoints\" value=\"{form}\"/></properties>\
             <chunk item-count=\"2\" retry-limit=\"5\"><reader ref=\"ledger\"/><writer ref=\"picky\">{}</writer>\
             <retryable-exception-classes><include class=\"Worse\"/></retryable-exception-classes></chunk></step>",
            properties(&[("fail", fail), ("class", if fail == "9" { "Worse" } else { "Bad" })])
        )
    };
    let mut wrote = Vec::new();
    for form in ["whole", "delta"] {
        let (bytes, commits) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let counted = Counted { inner: backend(&medium()), bytes: Arc::clone(&bytes), commits };
        let mut process = Process::new(Arc::new(counted), Path::new("").to_owned());
        process.engine.registry.reader("ledger", |_| Ok(Box::new(Ledger { next: 0, table: Vec::new() })));
        let execution = process.start(&xml(form, "9"), &[]);
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        wrote.push(bytes.load(Ordering::Relaxed));
    }
    assert!(wrote[1] * 20 < wrote[0], "{wrote:?}");
    // 400 checkpoints of at most four pages, the complete position after the rollback and at both ends, and the growth.
    assert!(wrote[1] < 400 * 4 * 4_200 + 5 * (LEDGER as u64 + 40_000), "{wrote:?}");
    let memory = medium();
    let mut last = None;
    for (form, fail) in
        [("delta", "101"), ("delta", "411"), ("whole", "501"), ("delta", "653"), ("whole", "700"), ("delta", "")]
    {
        let mut process = Process::new(backend(&memory), Path::new("").to_owned());
        process.engine.registry.reader("ledger", |_| Ok(Box::new(Ledger { next: 0, table: Vec::new() })));
        let execution = match last {
            None => process.start(&xml(form, fail), &[]),
            Some(last) => process.restart(last, &xml(form, fail), &[]),
        };
        let expected = if fail.is_empty() { BatchStatus::Completed } else { BatchStatus::Failed };
        assert_eq!(execution.status, expected, "{form} {fail}: {execution:?}");
        last = Some(execution.id);
    }
    let process = Process::new(backend(&memory), Path::new("").to_owned());
    let instance = process.engine.repository.latest(0, 1).unwrap()[0].instance;
    process.engine.repository.purge(instance).unwrap();
    let mut work = process.engine.repository.begin().unwrap();
    let left = work.page(PageOf { prefix: b"b", after: None, newest_first: false, count: 10 }).unwrap();
    assert!(left.is_empty(), "pages go with the instance");
}

fn with_rejects(folder: &Path, fail: &str) -> String {
    let _ = folder;
    format!(
        "<step id=\"s\"><properties><property name=\"quayline.rejects\" value=\"keep\"/></properties>\
         <chunk item-count=\"4\"><reader ref=\"counting\">{}</reader><processor ref=\"picky\">{}</processor><writer ref=\"picky\">{}</writer>\
         <skippable-exception-classes><include class=\"Bad\"/></skippable-exception-classes></chunk></step>",
        properties(&[("count", "12"), ("fail", "2"), ("always", "yes"), ("consume", "yes")]),
        properties(&[("fail", fail), ("always", "yes")]),
        properties(&[("fail", "10 11"), ("always", "yes"), ("isolates", "yes")]),
    )
}

#[test]
fn skipped_items_are_kept_with_cause_and_position_and_can_be_submitted_again() {
    let process = Process::in_memory();
    let execution = process.start(&with_rejects(Path::new(""), "5 7"), &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let kept = process.engine.repository.rejects(execution.id, None, 100).unwrap();
    let told: Vec<String> = kept
        .iter()
        .map(|(reject, _)| {
            let item = reject.item.as_ref().map(|item| String::from_utf8_lossy(item).into_owned());
            format!("{} {:?} chunk {} {:?} {}", reject.stage.text(), reject.number, reject.chunk, item, reject.message)
        })
        .collect();
    assert_eq!(
        told,
        [
            "read Some(2) chunk 1 None item 2",
            "process Some(5) chunk 2 Some(\"item 5\") item 5",
            "process Some(7) chunk 2 Some(\"item 7\") item 7",
            "write Some(10) chunk 3 Some(\"item 10\") item 10",
            "write Some(11) chunk 3 Some(\"item 11\") item 11",
        ]
    );
    assert!(kept.iter().all(|(reject, _)| reject.class == "Bad" && reject.step == "s"));
    process.said();
    // The items that the processor refused, in a job of their own.
    let id = execution.id.to_string();
    let again = format!(
        "<step id=\"again\"><chunk item-count=\"10\"><reader ref=\"quayline.rejectReader\">{}</reader><writer ref=\"picky\"/></chunk></step>",
        properties(&[("execution", &id), ("stage", "process")])
    );
    assert_eq!(process.start(&again, &[]).status, BatchStatus::Completed);
    assert_eq!(process.said(), ["write 5 7"]);
    assert_eq!(kept.iter().filter(|(reject, _)| reject.stage == Stage::Write).count(), 2);
}

/// A chunk that rolls back saves no rejects; an item that is skipped again in the repeated chunk is saved once.
#[test]
fn a_chunk_that_rolls_back_keeps_no_rejects_twice() {
    let process = Process::in_memory();
    let xml = format!(
        "<step id=\"s\"><properties><property name=\"quayline.rejects\" value=\"keep\"/></properties>\
         <chunk item-count=\"4\"><reader ref=\"counting\">{}</reader><processor ref=\"picky\">{}</processor><writer ref=\"picky\">{}</writer>\
         <skippable-exception-classes><include class=\"Bad\"/></skippable-exception-classes>\
         <retryable-exception-classes><include class=\"Odd\"/></retryable-exception-classes></chunk></step>",
        properties(&[("count", "8")]),
        properties(&[("fail", "2"), ("always", "yes")]),
        properties(&[("fail", "4"), ("class", "Odd")]),
    );
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(process.steps(execution.id)[0].counts.rollback, 1);
    let kept = process.engine.repository.rejects(execution.id, None, 100).unwrap();
    assert_eq!(kept.len(), 1);
    process.engine.repository.purge(execution.instance).unwrap();
    assert!(process.engine.repository.rejects(execution.id, None, 100).unwrap().is_empty());
}

#[test]
fn the_size_of_chunks_follows_what_a_commit_costs() {
    let process = Process::in_memory();
    let xml = |budget: &str| {
        format!(
            "<step id=\"s\"><properties><property name=\"quayline.redo-budget-ms\" value=\"{budget}\"/></properties>\
             <chunk item-count=\"1000\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/></chunk></step>",
            properties(&[("count", "100")])
        )
    };
    let execution = process.start(&xml("10000"), &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let first = process.said().first().map(|line| line.split(' ').count() - 1);
    assert_eq!(first, Some(16), "the first chunk is small");
    let wrong = process.engine.start(&job(&xml("soon")), given(&[])).unwrap().run().unwrap();
    assert!(wrong.cause.is_some_and(|cause| cause.contains("quayline.redo-budget-ms of the step is not a number")));
}

/// The commit of the third chunk happens, its answer is lost, and the step is asked to stop.
struct LosesAnAnswer {
    said: crate::kit::Log,
    is_lost: std::sync::atomic::AtomicBool,
}

impl crate::around::Around for LosesAnAnswer {
    fn commit(&self, work: Box<dyn Work>) -> Result<(), BatchError> {
        work.commit()?;
        let is_third = self.said.lock().last().is_some_and(|last| last == "write 5 6");
        if is_third && !self.is_lost.swap(true, std::sync::atomic::Ordering::SeqCst) {
            let (database, why) = ("d".to_owned(), "no answer".to_owned());
            return Err(BatchError::Lost(quayline_postgres::SqlError::Lost { database, why }));
        }
        Ok(())
    }
}

#[test]
fn a_checkpoint_whose_answer_was_lost_counts_when_the_step_ends() {
    let memory = crate::kit::medium();
    let around = Arc::new(LosesAnAnswer { said: crate::kit::Log::default(), is_lost: false.into() });
    let backend =
        crate::around::AroundBackend { inner: crate::kit::backend(&memory), around: Arc::clone(&around) as Arc<_> };
    let mut process = crate::kit::Process::new(Arc::new(backend), std::path::PathBuf::new());
    let said = Arc::clone(&around.said);
    process.engine.registry.writer("picky", move |_| Ok(Box::new(Says(Arc::clone(&said)))));
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/></chunk></step>",
        crate::kit::properties(&[("count", "10"), ("stop", "7")])
    );
    let first = process.start(&xml, &[]);
    assert_eq!(first.status, quayline_batch::BatchStatus::Failed, "{first:?}");
    let counts = process.steps(first.id)[0].counts;
    assert_eq!((counts.read, counts.write, counts.commit), (6, 6, 3), "{counts:?}");
    around.said.lock().clear();
    let again = process.restart(first.id, &xml.replace("name=\"stop\" value=\"7\"", "name=\"stop\" value=\"0\""), &[]);
    assert_eq!(again.status, quayline_batch::BatchStatus::Completed, "{again:?}");
    assert_eq!(*around.said.lock(), ["write 7 8", "write 9 10"]);
}

struct Says(crate::kit::Log);

impl quayline_batch::artifact::Writer for Says {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> quayline_batch::artifact::Answer<()> {
        Ok(())
    }

    fn write(&mut self, items: &[Vec<u8>], _: &mut dyn Work) -> quayline_batch::artifact::Answer<()> {
        let numbers: Vec<String> =
            items.iter().map(|item| String::from_utf8(item.clone()).unwrap().replace("item ", "")).collect();
        self.0.lock().push(format!("write {}", numbers.join(" ")));
        Ok(())
    }
}

/// With `checkpoint-sample-ms`, a step keeps the event of a checkpoint only if the last kept one is old enough.
#[test]
fn events_of_checkpoints_are_sampled() {
    let kept = |sample_ms: u64| {
        let mut process = Process::in_memory();
        let filter = TopicFilter::of([event::CHECKPOINT]).unwrap();
        process.engine.keeping =
            Some(Keeping { filter, checkpoint_sample_ms: sample_ms, retain: 1_000, queue: None, relay: None });
        let step = |name: &str, next: &str| {
            format!(
                "<step id=\"{name}\"{next}><chunk item-count=\"2\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/></chunk></step>",
                properties(&[("count", "20")])
            )
        };
        let xml = step("one", " next=\"two\"") + &step("two", "");
        assert_eq!(process.start(&xml, &[]).status, BatchStatus::Completed);
        let events = process.engine.repository.events(EventPosition::default(), 1_000).unwrap();
        let of = |name: &str| events.iter().filter(|(_, event)| event.step.as_deref() == Some(name)).count();
        (of("one"), of("two"))
    };
    assert_eq!(kept(0), (10, 10));
    assert_eq!(kept(3_600_000), (1, 1), "the first of each step");
}

/// Regression: a page of rejects that large items made short counted as the last one.
#[test]
fn large_rejects_are_all_submitted_again() {
    const ITEMS: usize = 60;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), format!("{}\n", "x".repeat(400_000)).repeat(ITEMS)).unwrap();
    let process = Process::new(backend(&medium()), folder.path().to_owned());
    let xml = format!(
        "<step id=\"s\"><properties><property name=\"quayline.rejects\" value=\"keep\"/></properties>\
         <chunk item-count=\"5\"><reader ref=\"quayline.fileReader\">{}</reader><writer ref=\"quayline.fileWriter\">{}</writer>\
         <skippable-exception-classes><include class=\"quayline.Rejected\"/></skippable-exception-classes></chunk></step>",
        properties(&[("file", "in")]),
        properties(&[("file", "out"), ("framing", "fixed:4")]),
    );
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(process.steps(execution.id)[0].counts.write_skip, ITEMS as u64);
    let id = execution.id.to_string();
    let again = format!(
        "<step id=\"again\"><chunk item-count=\"5\"><reader ref=\"quayline.rejectReader\">{}</reader>\
         <writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>",
        properties(&[("execution", &id)]),
        properties(&[("file", "again")]),
    );
    let execution = process.start(&again, &[]);
    assert_eq!(process.steps(execution.id)[0].counts.read, ITEMS as u64, "{execution:?}");
}

/// Regression: the items that a chunk keeps as rejects did not count for its size, so that its unit of work had no limit.
#[test]
fn rejects_that_are_kept_fill_a_chunk() {
    let process = Process::in_memory();
    let all: Vec<String> = (1..=100).map(|number| number.to_string()).collect();
    let xml = |rejects: &str| {
        format!(
            "<step id=\"s\"><properties><property name=\"quayline.rejects\" value=\"{rejects}\"/>\
             <property name=\"quayline.chunk-bytes-max\" value=\"16000\"/></properties>\
             <chunk item-count=\"1000\"><reader ref=\"counting\">{}</reader><processor ref=\"picky\">{}</processor><writer ref=\"picky\"/>\
             <skippable-exception-classes><include class=\"Bad\"/></skippable-exception-classes></chunk></step>",
            properties(&[("count", "100")]),
            properties(&[("fail", &all.join(" ")), ("always", "yes")]),
        )
    };
    let commits = |rejects: &str| {
        let execution = process.start(&xml(rejects), &[]);
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        process.steps(execution.id)[0].counts.commit
    };
    assert_eq!(commits("drop"), 1);
    let kept = commits("keep");
    assert!((9..=12).contains(&kept), "{kept} chunks of about ten rejects");
}
