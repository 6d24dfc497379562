//! Rows in another database than the job repository: refused rows are found by halves of their chunk, and each row is written once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_batch::artifact::{Answer, Item, Processor};
use quayline_batch::{Backend, BatchStatus, Repository};
use quayline_postgres::server::OwnServer;
use quayline_postgres::{Connection, Endpoint};

use super::{all_chunks_are_measured, artifact, backend, chunk, completed, in_file, sql};
use crate::around::{Around, AroundBackend};
use crate::crash::Ending;
use crate::kit::{Process, given, job, medium};

const ITEMS: u64 = 60;
const REFUSED: u64 = 2;

/// Another database of the server.
struct Elsewhere(String);

impl Elsewhere {
    fn new(server: &OwnServer) -> Elsewhere {
        sql(server, "CREATE DATABASE elsewhere");
        let elsewhere = Elsewhere(server.url().replacen("/postgres", "/elsewhere", 1));
        assert_ne!(elsewhere.0, server.url());
        elsewhere.script(
            "CREATE TABLE rows (id int PRIMARY KEY); CREATE TABLE late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)",
        );
        elsewhere
    }

    fn value(&self, query: &str) -> String {
        let mut connection = Connection::open(&Endpoint::parse(&self.0).unwrap()).unwrap();
        let answers = connection.query(&format!("SELECT ({query})::text"), &[]).unwrap();
        answers.row(0).and_then(|row| row.text(0)).unwrap_or("null").to_owned()
    }

    fn script(&self, text: &str) {
        Connection::open(&Endpoint::parse(&self.0).unwrap()).unwrap().script(text).unwrap();
    }

    fn truncate(&self) {
        self.script("TRUNCATE rows, late");
    }

    /// Returns a step that writes to a table. Its processor adds a line to the file `calls` for each item.
    fn counted(&self, count: u32, table: &str, send: &str, classes: &str) -> String {
        let processor = artifact("processor", "commandProcessor", &[("command", "echo >> calls; cat")]);
        self.step(count, (table, send), &processor, classes)
    }

    fn step(&self, count: u32, (table, send): (&str, &str), processor: &str, classes: &str) -> String {
        let writer = [("table", table), ("columns", "id"), ("send", send), ("database", &self.0)];
        let artifacts = format!("{processor}{}", artifact("writer", "sqlWriter", &writer));
        chunk(count, &in_file("elsewhere.json"), &artifacts, classes).replace(
            "<step id=\"s\">",
            "<step id=\"s\"><properties><property name=\"quayline.rejects\" value=\"keep\"/></properties>",
        )
    }
}

fn classes(element: &str) -> String {
    format!("<{element}><include class=\"SQLSTATE-23505\"/></{element}>")
}

/// Items 25 and 50 have the number of the first one.
fn write_items(folder: &Path) {
    let ids = (1..=ITEMS).map(|n| if n % 25 == 0 { 1 } else { n });
    let text: String = ids.map(|id| format!("{{\"id\":{id}}}\n")).collect();
    std::fs::write(folder.join("elsewhere.json"), text).unwrap();
}

pub(super) fn refused_rows_elsewhere(server: &OwnServer, folder: &Path) {
    let elsewhere = Elsewhere::new(server);
    write_items(folder);
    // Of the test before.
    calls(folder);
    the_table_of_tokens_is_made_once(folder, &elsewhere);
    refused_rows_are_processed_once(server, folder, &elsewhere);
    a_retry_elsewhere_rolls_back(folder, &elsewhere);
    a_conflict_with_the_token_is_an_error_of_the_database(folder, &elsewhere);
    a_crash_at_every_commit_writes_or_skips_each_item_once(folder, &elsewhere);
    a_process_that_was_taken_over_writes_nothing_more(server, folder, &elsewhere);
}

/// Waits at an item until it is let go.
struct Held {
    item: &'static str,
    is_there: Arc<AtomicBool>,
    go: Arc<AtomicBool>,
}

impl Held {
    /// Registers the processor `held` in a process. The first result tells that it waits, and the second lets it go.
    fn at(item: &'static str, process: &mut Process) -> (Arc<AtomicBool>, Arc<AtomicBool>) {
        let (is_there, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let both = (Arc::clone(&is_there), Arc::clone(&go));
        process.engine.registry.processor("held", move |_| {
            Ok(Box::new(Held { item, is_there: Arc::clone(&both.0), go: Arc::clone(&both.1) }))
        });
        (is_there, go)
    }
}

impl Processor for Held {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        if item == self.item.as_bytes() {
            self.is_there.store(true, Ordering::SeqCst);
            until("the item is let go", || self.go.load(Ordering::SeqCst));
        }
        Ok(Some(item.clone()))
    }
}

fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A process is slow, and another one takes its execution over and begins. The slow one then has a chunk to write, which it may not commit, although it
/// does not know yet that it lost the execution. Without a unique key, its rows would be there twice.
fn a_process_that_was_taken_over_writes_nothing_more(server: &OwnServer, folder: &Path, elsewhere: &Elsewhere) {
    elsewhere.script("CREATE TABLE many (id int)");
    std::fs::write(
        folder.join("elsewhere.json"),
        (1..=ITEMS).map(|id| format!("{{\"id\":{id}}}\n")).collect::<String>(),
    )
    .unwrap();
    let xml = elsewhere.step(10, ("many", "set"), "<processor ref=\"held\"/>", "");
    let mut slow = Process::new(backend(server), folder.to_owned());
    let (slow_is_there, slow_goes) = Held::at("{\"id\":25}", &mut slow);
    let launched = slow.engine.start(&job(&xml), given(&[])).unwrap();
    let id = launched.id();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| launched.run());
        until("the first process is in its third chunk", || slow_is_there.load(Ordering::SeqCst));
        // The server ends its sessions, so the second process may take over.
        let second = Repository::new(backend(server));
        until("the execution is taken over", || {
            super::sql(
                server,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
                 AND application_name = 'quayline' AND datname = 'postgres'",
            );
            second.recover().unwrap_or_default().iter().any(|execution| execution.id == id)
        });
        let mut other = Process::new(backend(server), folder.to_owned());
        let (other_is_there, other_goes) = Held::at("{\"id\":21}", &mut other);
        let again = scope.spawn(move || {
            let again = other.engine.restart(id, &job(&xml), given(&[]), quayline_batch::Drift::Refuse).unwrap().run();
            (again, other)
        });
        until("the second process is in the same chunk", || other_is_there.load(Ordering::SeqCst));
        slow_goes.store(true, Ordering::SeqCst);
        let refused = first.join().unwrap();
        assert!(
            refused.as_ref().map_or(true, |execution| execution.status == BatchStatus::Failed),
            "the slow process does not complete: {refused:?}"
        );
        assert_eq!(elsewhere.value("SELECT count(*) FROM many"), "20", "none of its third chunk");
        other_goes.store(true, Ordering::SeqCst);
        let (again, other) = again.join().unwrap();
        completed(&other, &again.unwrap());
    });
    assert_eq!(elsewhere.value("SELECT count(*) || ' ' || count(DISTINCT id) FROM many"), format!("{ITEMS} {ITEMS}"));
    assert_eq!(elsewhere.value("SELECT count(*) FROM quayline_chunk"), "0");
}

/// Partitions that begin at once all need the table, which is missing or has the form of earlier versions.
fn the_table_of_tokens_is_made_once(folder: &Path, elsewhere: &Elsewhere) {
    const PARTITIONS: u32 = 8;
    let before = [
        "DROP TABLE IF EXISTS quayline_chunk",
        "DROP TABLE quayline_chunk; CREATE TABLE quayline_chunk (origin text PRIMARY KEY, chunk bigint NOT NULL, items bigint NOT NULL)",
    ];
    let plan: String = (0..PARTITIONS)
        .map(|number| {
            std::fs::write(folder.join(format!("part{number}.json")), format!("{{\"id\":{number}}}\n")).unwrap();
            let property = format!("<property name=\"in\" value=\"part{number}.json\"/>");
            format!("<properties partition=\"{number}\">{property}</properties>")
        })
        .collect();
    let partition =
        format!("<partition><plan partitions=\"{PARTITIONS}\" threads=\"{PARTITIONS}\">{plan}</plan></partition>");
    for table in before.into_iter().cycle().take(6) {
        elsewhere.script(table);
        let process = Process::new(crate::kit::backend(&medium()), folder.to_owned());
        let step = elsewhere.step(10, ("rows", "set"), "", "").replace("elsewhere.json", "#{partitionPlan['in']}");
        let execution = process.start(&step.replace("</step>", &format!("{partition}</step>")), &[]);
        completed(&process, &execution);
        assert_eq!(elsewhere.value("SELECT count(*) FROM rows"), PARTITIONS.to_string(), "{table}");
        elsewhere.truncate();
    }
}

fn calls(folder: &Path) -> u64 {
    let count = std::fs::read(folder.join("calls")).map_or(0, |calls| calls.len() as u64);
    let _ = std::fs::remove_file(folder.join("calls"));
    count
}

/// No item is read or processed again, wherever the repository is. The same holds for a constraint that the database checks with the commit.
fn refused_rows_are_processed_once(server: &OwnServer, folder: &Path, elsewhere: &Elsewhere) {
    let skip = classes("skippable-exception-classes");
    let no_rollback = classes("retryable-exception-classes") + &classes("no-rollback-exception-classes");
    let places: [Arc<dyn Backend>; 2] = [crate::kit::backend(&medium()), backend(server)];
    for place in places {
        let process = Process::new(place, folder.to_owned());
        for (table, send) in [("rows", "set"), ("rows", "rows"), ("late", "set"), ("late", "rows")] {
            for retry in ["", &no_rollback] {
                let step = elsewhere.counted(20, table, send, &format!("{skip}{retry}"));
                let xml = step.replace("item-count=\"20\"", "item-count=\"20\" retry-limit=\"1\"");
                let execution = process.start(&xml, &[]);
                completed(&process, &execution);
                let counts = process.steps(execution.id)[0].counts;
                let found = (counts.read, counts.write, counts.write_skip, counts.rollback);
                assert_eq!(found, (ITEMS, ITEMS - REFUSED, REFUSED, 0), "{table}, {send}: {counts:?}");
                assert_eq!(counts.commit, 4, "one commit for each chunk");
                all_chunks_are_measured(&process, &execution);
                let rejects = process.engine.repository.rejects(execution.id, None, 10).unwrap();
                let numbers: Vec<_> = rejects.iter().map(|(reject, _)| reject.number).collect();
                assert_eq!(numbers, [Some(25), Some(50)], "{table}, {send}");
                // The number was that in the part of the chunk that the writer got.
                let told: Vec<_> = rejects.iter().map(|(reject, _)| reject.message.as_str()).collect();
                if table == "rows" {
                    let right = told[0].contains("item 5 of the chunk") && told[1].contains("item 10 of the chunk");
                    assert!(right, "{send}: {told:?}");
                }
                assert_eq!(elsewhere.value(&format!("SELECT count(*) FROM {table}")), "58");
                assert_eq!(elsewhere.value("SELECT count(*) FROM quayline_chunk"), "0");
                assert_eq!(calls(folder), ITEMS, "{table}, {send}");
                elsewhere.truncate();
            }
        }
    }
}

/// A retry with a rollback reads and processes the items of the chunk again, one by one (section 8.2.1.4.4).
fn a_retry_elsewhere_rolls_back(folder: &Path, elsewhere: &Elsewhere) {
    let process = Process::new(crate::kit::backend(&medium()), folder.to_owned());
    let both = classes("skippable-exception-classes") + &classes("retryable-exception-classes");
    let execution = process.start(&elsewhere.counted(20, "rows", "set", &both), &[]);
    completed(&process, &execution);
    let counts = process.steps(execution.id)[0].counts;
    let found = (counts.read, counts.write, counts.write_skip, counts.rollback);
    assert_eq!(found, (ITEMS, ITEMS - REFUSED, REFUSED, 2), "{counts:?}");
    all_chunks_are_measured(&process, &execution);
    assert_eq!(elsewhere.value("SELECT count(*) FROM rows"), "58");
    assert_eq!(calls(folder), ITEMS + 40, "two chunks of 20 are processed again");
    elsewhere.truncate();
}

/// Regression: the step ended with JOB-026, which says that another process continues it.
fn a_conflict_with_the_token_is_an_error_of_the_database(folder: &Path, elsewhere: &Elsewhere) {
    elsewhere.script(
        "CREATE SEQUENCE tries; CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF nextval('tries') = 2 \
         THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$; \
         CREATE TRIGGER conflict BEFORE UPDATE ON quayline_chunk FOR EACH ROW WHEN (NEW.chunk > 0) EXECUTE FUNCTION conflict()",
    );
    let process = Process::new(crate::kit::backend(&medium()), folder.to_owned());
    let execution = process.start(&elsewhere.counted(20, "rows", "set", &classes("skippable-exception-classes")), &[]);
    let message = format!("{execution:?}");
    assert!(message.contains("40001") && !message.contains("another process"), "{message}");
    elsewhere.script(
        "DROP TRIGGER conflict ON quayline_chunk; DROP FUNCTION conflict; DROP SEQUENCE tries; TRUNCATE quayline_chunk",
    );
    elsewhere.truncate();
}

/// The process ends at every commit of its repository, once before the commit takes effect and once after. Also the second process may end.
fn a_crash_at_every_commit_writes_or_skips_each_item_once(folder: &Path, elsewhere: &Elsewhere) {
    let skip = classes("skippable-exception-classes");
    let mut ends = 0;
    for at in 1.. {
        for (last_happens, sizes) in [(false, [20, 20]), (true, [20, 7]), (false, [7, 20]), (false, [30, 4])] {
            let memory = medium();
            let mut ids = Vec::new();
            let mut last = None;
            for count in sizes {
                let ending = Ending::new(last_happens);
                let around = Arc::clone(&ending) as Arc<dyn Around>;
                let inner = crate::kit::backend(&memory);
                let process = Process::new(Arc::new(AroundBackend { inner, around }), folder.to_owned());
                ending.after(at);
                last = process.engine.repository.latest(0, 1).unwrap().pop();
                if last.as_ref().is_some_and(|last| last.status == BatchStatus::Completed) {
                    break;
                }
                let xml = job(&elsewhere.step(count, ("rows", "set"), "", &skip));
                let begun = match &last {
                    None => process.engine.start(&xml, given(&[])),
                    Some(last) => process.engine.restart(last.id, &xml, given(&[]), quayline_batch::Drift::Accept),
                };
                let _ = begun.map(|launched| launched.run());
                ends += u64::from(ending.left() == 0);
            }
            let process = Process::new(crate::kit::backend(&memory), folder.to_owned());
            let xml = elsewhere.step(11, ("rows", "rows"), "", &skip);
            let newest = process.engine.repository.latest(0, 1).unwrap().pop();
            let execution = match newest {
                None => process.start(&xml, &[]),
                Some(done) if done.status == BatchStatus::Completed => done,
                Some(open) => process.restart(open.id, &xml, &[]),
            };
            completed(&process, &execution);
            let repository = &process.engine.repository;
            let (mut written, mut skipped) = (0, 0);
            for id in repository.executions(execution.instance).unwrap() {
                let steps = repository.steps(id).unwrap();
                written += steps.iter().map(|step| step.counts.write).sum::<u64>();
                skipped += steps.iter().map(|step| step.counts.write_skip).sum::<u64>();
                ids.extend(repository.rejects(id, None, 10).unwrap().into_iter().map(|(reject, _)| reject.item));
            }
            let place = format!("commit {at}, happens: {last_happens}, item-counts {sizes:?}, {last:?}");
            assert_eq!(elsewhere.value("SELECT count(*) FROM rows"), "58", "{place}");
            assert_eq!((written, skipped, ids.len()), (ITEMS - REFUSED, REFUSED, 2), "{place}");
            elsewhere.truncate();
            if ends == 0 {
                assert!(at > 8, "{at} commits");
                return;
            }
        }
        ends = 0;
    }
}
