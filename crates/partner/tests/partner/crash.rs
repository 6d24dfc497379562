//! Ends the process before and after every commit, and compares the output of the next run with that of an uninterrupted run.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quayline_core::Findings;
use quayline_partner::{Again, Desk, DeskLimits, Filter, Release, SendRequest};
use quayline_store::{
    Batch, Completion, Direction, Engine, EngineFacts, FullKey, KeyRange, LoadSource, Page, PageLimit, Position,
    Snapshot, Space, StoreError, Value,
};

use crate::answers::answering;
use crate::world::{World, interchange, orders};

/// Time at which the process ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    BeforeCommit,
    AfterCommit,
    /// The disk of the store is full, but the process continues to its end.
    DiskFull,
}

impl End {
    fn error(self) -> StoreError {
        match self {
            End::BeforeCommit | End::AfterCommit => StoreError::Poisoned { cause: "the process ended".to_owned() },
            End::DiskFull => StoreError::io("log-1", "written", &std::io::Error::from(std::io::ErrorKind::StorageFull)),
        }
    }
}

/// An engine whose process ends at a commit.
#[derive(Debug)]
struct Mortal {
    inner: Arc<dyn Engine>,
    commits: AtomicU64,
    dies_at: u64,
    end: End,
}

impl Engine for Mortal {
    fn get(&self, key: &FullKey) -> Result<Option<Value>, StoreError> {
        self.inner.get(key)
    }
    fn page(
        &self,
        space: Space,
        range: KeyRange<'_>,
        direction: Direction,
        limit: PageLimit,
        page: &mut Page,
    ) -> Result<(), StoreError> {
        self.inner.page(space, range, direction, limit, page)
    }
    fn commit(&self, batch: Batch, after: Completion) -> Result<Position, StoreError> {
        let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if number < self.dies_at {
            return self.inner.commit(batch, after);
        }
        if number == self.dies_at && self.end == End::AfterCommit {
            self.inner.commit(batch, Box::new(|_| ()))?;
        }
        after(Err(self.end.error()));
        Err(self.end.error())
    }
    fn submit(&self, batch: Batch, after: Completion) {
        let _ = self.commit(batch, after);
    }
    fn load(&self, space: Space, source: &mut LoadSource<'_>) -> Result<u64, StoreError> {
        self.inner.load(space, source)
    }
    fn position(&self) -> Position {
        self.inner.position()
    }
    fn wait(&self, position: Position) -> Result<(), StoreError> {
        self.inner.wait(position)
    }
    fn facts(&self) -> EngineFacts {
        self.inner.facts()
    }
    fn check(&self) -> Result<Vec<StoreError>, StoreError> {
        self.inner.check()
    }
    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.inner.snapshot()
    }
    fn compact(&self) -> Result<(u64, u64), StoreError> {
        self.inner.compact()
    }
}

/// Small units of work, for many commits.
const LIMITS: DeskLimits = DeskLimits {
    unit_transactions_max: 2,
    unit_bytes_max: 4 << 20,
    transaction_bytes_max: 64 << 20,
    send_bytes_max: 256 << 20,
    entry_numbers_ahead: 1,
};

pub(crate) type Work<'w> = &'w dyn Fn(&mut Desk<'_>) -> Result<(), Findings>;

/// Returns all output of a run: files, and entries without the folder of the test.
fn left(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for folder in ["orders", "outbox/ACME"] {
        all.extend(world.files(folder).into_iter().map(|(name, text)| format!("{folder}/{name}: {text}")));
    }
    let ledger = world.ledger();
    let unit = ledger.begin().expect("a unit");
    for entry in world.search(&Filter { limit: 10_000, ..Filter::default() }) {
        if entry.details.kept_bytes > 0 {
            let keep = &mut |bytes: &[u8]| {
                all.push(String::from_utf8(bytes.to_vec()).expect("text"));
                Ok(())
            };
            ledger.bytes_of(&unit, &entry, keep).expect("kept");
        }
        all.push(format!("{entry:?}").replace(&world.path("").display().to_string(), ""));
    }
    all
}

pub(crate) fn at_every_commit(settings: &str, prepare: Work<'_>, work: Work<'_>) {
    at_every_commit_in(&|| World::with(settings, ""), prepare, work);
}

/// Ends the process at every commit of `work`, and lets it run again.
pub(crate) fn at_every_commit_in(new_world: &dyn Fn() -> World, prepare: Work<'_>, work: Work<'_>) {
    let unharmed = new_world();
    unharmed.at_desk(LIMITS, |desk| prepare(desk)).expect("prepared");
    let counted = Arc::new(Mortal {
        inner: Arc::clone(&unharmed.engine),
        commits: AtomicU64::new(0),
        dies_at: u64::MAX,
        end: End::BeforeCommit,
    });
    let engine: Arc<dyn Engine> = counted.clone();
    unharmed.at_desk_over(&unharmed.store_over(&engine), LIMITS, |desk| work(desk)).expect("unharmed");
    let expected = left(&unharmed);
    let commits = counted.commits.load(Ordering::SeqCst);
    assert!(commits > 2, "{commits} commits");
    for dies_at in 2..=commits {
        for end in [End::BeforeCommit, End::AfterCommit, End::DiskFull] {
            let world = new_world();
            world.at_desk(LIMITS, |desk| prepare(desk)).expect("prepared");
            let engine: Arc<dyn Engine> =
                Arc::new(Mortal { inner: Arc::clone(&world.engine), commits: AtomicU64::new(0), dies_at, end });
            let died = world.at_desk_over(&world.store_over(&engine), LIMITS, |desk| work(desk));
            let Err(findings) = died else { panic!("commit {dies_at} of {commits}") };
            if end == End::DiskFull {
                let text = findings.to_string();
                assert!(
                    text.contains("log-1 cannot be written: no storage space"),
                    "the error names what is full: {text}"
                );
            }
            world.at_desk(LIMITS, |desk| work(desk)).expect("the next run");
            let found = left(&world);
            assert_eq!(found, expected, "ended {end:?} {dies_at} of {commits}");
        }
    }
}

pub(crate) fn receive(desk: &mut Desk<'_>, edi: &str) -> Result<(), Findings> {
    let mut source = Cursor::new(edi.as_bytes().to_vec());
    desk.receive("in.x12", &mut source, Again::No).map(|_| ())
}

pub(crate) fn send(desk: &mut Desk<'_>, orders: &[&str]) -> Result<(), Findings> {
    let text: String = orders.iter().map(|order| format!("{{\"number\":\"{order}\",\"kind\":\"SA\"}}\n")).collect();
    let request = SendRequest { name: "out.json", to: Some("ACME"), from: None, document: "order", again: Again::No };
    desk.send(&request, &mut Cursor::new(text.into_bytes())).map(|_| ())
}

#[test]
fn receiving_loses_nothing_and_does_nothing_twice() {
    let bad = orders(8, &["PO6", "PO7", "PO8"]).replacen("PO1*1*1*EA", "PO1*1*X*EA", 1);
    let wrong_group = orders(10, &["PO9", "PO10"]).replace("GE*2*10~", "GE*3*10~");
    let test = interchange(11, "T", &[("PO11", "SA"), ("PO12", "SA"), ("PO13", "SA")]);
    let edi = orders(7, &["PO1", "PO2", "PO3", "PO4", "PO5"]) + &bad + &wrong_group + &test;
    let settings = "usage = \"production\"\nacknowledge = [\"997\", \"ta1\"]\nkeep-interchanges = \"all\"";
    at_every_commit(settings, &|_| Ok(()), &|desk| receive(desk, &edi));
}

/// Headers that cannot be used, alone and after an interchange.
#[test]
fn unusable_headers_are_answered_once() {
    let broken = |number: u32| orders(number, &["PO9"]).replacen("*0*P*:~", "*0*P~", 1);
    at_every_commit("usage = \"both\"", &|_| Ok(()), &|desk| receive(desk, &broken(7)));
    let edi = orders(8, &["PO1", "PO2", "PO3"]) + &broken(9);
    at_every_commit("usage = \"both\"", &|_| Ok(()), &|desk| receive(desk, &edi));
}

#[test]
fn answers_commit_with_what_they_answer() {
    let edi = interchange(7, "P", &[("PO1", "RO"), ("PO2", "RO"), ("PO3", "SA"), ("PO4", "RO"), ("PO5", "RO")]);
    for envelope in ["immediate", "delayed"] {
        let settings = format!("envelope = \"{envelope}\"\nclose = {{ count = 3 }}");
        at_every_commit_in(&|| answering(&settings), &|_| Ok(()), &|desk| receive(desk, &edi));
    }
}

#[test]
fn sending_numbers_each_document_once() {
    at_every_commit("expect = \"997\"", &|_| Ok(()), &|desk| send(desk, &["A1", "A2", "A3", "A4", "A5"]));
}

#[test]
fn delayed_documents_are_enveloped_once() {
    at_every_commit("envelope = \"delayed\"\nclose = { count = 3 }", &|_| Ok(()), &|desk| {
        send(desk, &["A1", "A2", "A3", "A4", "A5"])?;
        desk.release(&Release::All).map(|_| ())
    });
}

#[test]
fn acknowledgments_are_matched_once() {
    let answer = "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*000000001*0*P*:~\
        GS*FA*ACME*US*20260401*1200*1*X*005010~ST*997*0001~AK1*PO*1~AK2*850*0001~AK5*A~AK2*850*0002~AK5*R*5~AK9*P*2*2*1~\
        SE*8*0001~ST*997*0002~AK1*PO*2~AK9*A*1*1*1~SE*4*0002~GE*2*1~IEA*1*000000001~";
    at_every_commit(
        "envelope = \"delayed\"\nclose = { count = 2 }\nexpect = \"997\"",
        &|desk| {
            send(desk, &["A1", "A2", "A3"])?;
            desk.release(&Release::All).map(|_| ())
        },
        &|desk| receive(desk, answer),
    );
}

/// A TA1 is outside of groups, so the place that a run continues from counts it.
#[test]
fn answers_to_interchanges_are_matched_once() {
    let header =
        "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*000000001*0*P*:~";
    let body = "GS*FA*ACME*US*20260401*1200*1*X*005010~ST*997*0001~AK1*PO*1~AK9*A*1*1*1~SE*4*0001~ST*997*0002~AK1*PO*2~AK9*A*1*1*1~SE*4*0002~GE*2*1~";
    let ta1 = |number: u32| format!("TA1*{number:09}*260401*1200*A*000~");
    let answer = format!("{header}{}{}{}{body}IEA*1*000000001~", ta1(1), ta1(2), ta1(3));
    at_every_commit("expect = \"ta1\"", &|desk| send(desk, &["A1", "A2", "A3"]), &|desk| receive(desk, &answer));
}

#[test]
fn a_folder_that_is_full_gets_its_files_with_the_next_run() {
    let world = World::new();
    // A file where the folder should be fails as a full disk does: after the commit.
    world.write("orders", "not a folder");
    let edi = orders(7, &["PO1", "PO2", "PO3"]);
    let failed = world.receive(&edi);
    let (_, finding) = &failed.findings[0];
    assert_eq!((finding.code.0, failed.is_good(), failed.delivered), ("PTN-300", false, 3));
    assert!(finding.hint.as_deref().is_some_and(|hint| hint.contains("nothing is lost")), "{failed:?}");
    std::fs::remove_file(world.path("orders")).expect("removed");
    world.at_desk(LIMITS, |_| Ok(())).expect("the next run");
    assert_eq!(world.files("orders").len(), 3);
    assert_eq!(world.entries(quayline_partner::Kind::Transaction).len(), 3, "none came twice");
}
