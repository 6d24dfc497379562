//! Rows of a database as messages: a real PostgreSQL, with both sides killed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quayline_flow::{Engine, EngineOptions, Flow, Observer};
use quayline_project::FlowFile;
use quayline_store::queue::{DEAD_LETTER, GetWait, QueueDefinition, Select};
use quayline_store::{Clock, Direction, KeyRange, Page, PageLimit, Space, Store, SystemClock};

use crate::crash::open;
use crate::postgres::Postgres;
use crate::support::{PATIENCE, Said, World, bridge_kills, ended, until};

const FOLDER: &str = "QUAYLINE_TEST_SQL_ROWS_FOLDER";
const ROWS: usize = 300;
const DONE: &str = "done = \"DELETE FROM orders WHERE id = $1\"\n";
const BY_KEY: &str = "order = \"by_key\"\n";

fn skip(test: &str) {
    eprintln!("skipped: {test}: PostgreSQL's server is not installed");
}

fn flow(database: &str, properties: &str) -> String {
    format!(
        "additional_instances = 15\n[node.rows]\ntype = \"sql_input\"\ndatabase = \"{database}\"\nkey = \"id\"\n\
         statement = \"SELECT id, amount FROM orders\"\ninterval = \"20ms\"\nattempts = 2\n{properties}message = \"item.shape\"\nout = \"choose\"\n\
         [node.choose]\ntype = \"filter\"\nwhen = 'amount < 0'\nout = \"fail\"\nno_match = \"put\"\n\
         [node.fail]\ntype = \"throw\"\ntext = \"a negative amount\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
    )
}

const ITEM: &str = "item\n  id decimal(18)\n  amount decimal(9,2)\n";

fn world() -> World {
    let world = World::new();
    world.write("item.shape", ITEM);
    for name in ["OUT", DEAD_LETTER] {
        world.queue_with(QueueDefinition { depth_max: 1_000_000, ..QueueDefinition::local(name) });
    }
    world
}

fn table(postgres: &Postgres, rows: usize) {
    let made = format!(
        "CREATE TABLE orders (id bigint PRIMARY KEY, amount numeric(9,2)); \
         INSERT INTO orders SELECT n, n / 4.0 FROM generate_series(1, {rows}) n"
    );
    postgres.sql(&made).expect("a table");
}

fn row(number: usize) -> String {
    format!("{{\"id\":{number},\"amount\":{:.2}}}", number as f64 / 4.0)
}

#[test]
fn rows_become_messages_in_the_order_of_their_key_and_once_across_restarts() {
    let Some(postgres) = Postgres::start() else { return skip("rows_become_messages") };
    table(&postgres, 1_300);
    let world = world();
    let out = world.store.queue("OUT").expect("a queue");
    let text = flow(&postgres.name(), BY_KEY);
    let engine = world.engine(&text);
    for number in 1..=1_300 {
        assert_eq!(world.get_text(&out), row(number));
    }
    // A row that comes later, and one that was read already.
    postgres.sql("INSERT INTO orders VALUES (1301, 325.25); UPDATE orders SET amount = 1 WHERE id = 7").expect("rows");
    let message = world.get(&out);
    assert_eq!(message.payload, row(1_301).into_bytes());
    assert!(message.properties.iter().any(|(name, value)| name == "sql_key" && value == b"1301"));
    drop(engine);
    postgres.sql("INSERT INTO orders VALUES (1302, 325.50)").expect("a row");
    // While the database is down, the input waits and says so.
    postgres.stop("-INT");
    let engine = world.engine(&text);
    until("the node says that it waits", || world.errors().contains("FLO-054"));
    postgres.again();
    assert_eq!(world.get_text(&out), row(1_302));
    until("one unit of work", || ended(&engine).0 == 1);
    drop(engine);
    // Another reader begins again.
    let engine = world.engine(&flow(&postgres.name(), &format!("{BY_KEY}reader = \"again\"\n")));
    assert_eq!(world.get_text(&out), row(1));
    drop(engine);
}

#[test]
fn a_statement_removes_rows_and_those_that_come_late_are_read() {
    let Some(postgres) = Postgres::start() else { return skip("a_statement_removes_rows") };
    table(&postgres, 700);
    // One fails always, so it moves to the backout queue, and its row goes, too.
    postgres.sql("UPDATE orders SET amount = -1 WHERE id = 50; DELETE FROM orders WHERE id = 20").expect("rows");
    let world = world();
    let out = world.store.queue("OUT").expect("a queue");
    let engine = world.engine(&flow(&postgres.name(), DONE));
    let mut got: Vec<String> = (0..698).map(|_| world.get_text(&out)).collect();
    let dead = world.get(&world.store.queue(DEAD_LETTER).expect("a queue"));
    assert_eq!(dead.payload, br#"{"id":50,"amount":-1.00}"#);
    assert!(dead.reason.starts_with("FLO-044: a negative amount"), "{}", dead.reason);
    // A transaction that was open for long makes a row visible below those that were read.
    postgres.sql("INSERT INTO orders VALUES (20, 5)").expect("a row");
    got.push(world.get_text(&out));
    let mut expected: Vec<String> = (1..=700).filter(|number| *number != 50).map(row).collect();
    expected.sort();
    got.sort();
    assert_eq!(got, expected);
    until("all rows are removed", || postgres.sql("SELECT count(*) FROM orders").as_deref() == Some("0"));
    until("nothing is remembered", || {
        let unit = world.store.begin().expect("a unit");
        let mut page = Page::default();
        unit.page(Space::CHECKPOINTS, KeyRange::ALL, Direction::Forward, PageLimit::default(), &mut page)
            .expect("a page");
        page.iter().filter(|(key, _)| key.starts_with(b"flow-sql/")).count() == 0
    });
    assert_eq!(ended(&engine).0, 700);
    drop(engine);
}

#[test]
fn what_an_input_cannot_read_is_reported() {
    let Some(postgres) = Postgres::start() else { return skip("what_an_input_cannot_read_is_reported") };
    postgres
        .sql("CREATE TABLE orders (id bigint, amount numeric(9,2)); INSERT INTO orders VALUES (NULL, 1), (3, 1)")
        .expect("a table");
    let world = world();
    let out = world.store.queue("OUT").expect("a queue");
    let engine = world.engine(&flow(&postgres.name(), ""));
    assert_eq!(world.get_text(&out), r#"{"id":3,"amount":1.00}"#);
    until("the row without a key is reported", || world.errors().contains("a row has no value in the key column `id`"));
    drop(engine);
    let engine = world.engine(&flow(&postgres.name(), "").replace("key = \"id\"", "key = \"number\""));
    until("the column is reported", || {
        world.errors().contains("SQLSTATE 42703: column quayline_row.number does not exist")
    });
    drop(engine);
    let engine = world.engine(&flow(&postgres.name(), "done = \"DELETE FROM orders\"\nreader = \"again\"\n"));
    until("the statement is reported", || world.errors().contains("`done` has 0 parameters, expected one: the key"));
    drop(engine);
}

/// Two rows with one key stopped the thread for ten seconds, or one was removed unread.
#[test]
fn a_key_that_is_not_unique_is_reported() {
    let Some(postgres) = Postgres::start() else { return skip("a_key_that_is_not_unique_is_reported") };
    postgres
        .sql("CREATE TABLE orders (id bigint, amount numeric(9,2)); INSERT INTO orders SELECT n, 1 FROM generate_series(1, 499) n; INSERT INTO orders VALUES (500, 1), (500, 2)")
        .expect("a table");
    for properties in ["", DONE] {
        let world = world();
        let engine = world.engine(&flow(&postgres.name(), properties));
        until("the key is reported", || {
            world.errors().contains("two rows have the same value in the key column `id`, expected a unique key")
        });
        drop(engine);
        assert_eq!(postgres.sql("SELECT count(*) FROM orders").as_deref(), Some("501"), "nothing is removed");
    }
}

/// A statement `done` that removes nothing gave each row its effect again at each look.
#[test]
fn a_statement_that_removes_nothing_repeats_nothing() {
    let Some(postgres) = Postgres::start() else { return skip("a_statement_that_removes_nothing_repeats_nothing") };
    table(&postgres, 3);
    let world = world();
    let out = world.store.queue("OUT").expect("a queue");
    let engine = world.engine(&flow(&postgres.name(), "done = \"DELETE FROM orders WHERE id = 0 - $1::bigint\"\n"));
    let mut got: Vec<String> = (0..3).map(|_| world.get_text(&out)).collect();
    got.sort();
    assert_eq!(got, [row(1), row(2), row(3)]);
    until("the statement is reported", || world.errors().contains("`done` did not remove a row from the query"));
    // Some looks later, no row has come again. A new one is read.
    postgres.sql("INSERT INTO orders VALUES (4, 1)").expect("a row");
    assert_eq!(world.get_text(&out), row(4));
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(ended(&engine).0, 4);
    drop(engine);
}

/// With `done`, which a flow got later, every row that had been read had its effect once more.
#[test]
fn a_reader_by_key_does_not_become_one_that_removes() {
    let Some(postgres) = Postgres::start() else { return skip("a_reader_by_key_does_not_become_one_that_removes") };
    table(&postgres, 3);
    let world = world();
    let out = world.store.queue("OUT").expect("a queue");
    let engine = world.engine(&flow(&postgres.name(), BY_KEY));
    (1..=3).for_each(|number| assert_eq!(world.get_text(&out), row(number)));
    drop(engine);
    let engine = world.engine(&flow(&postgres.name(), DONE));
    until("the change is reported", || world.errors().contains("earlier rows were processed without `done`"));
    assert_eq!(postgres.sql("SELECT count(*) FROM orders").as_deref(), Some("3"));
    drop(engine);
    let engine = world.engine(&flow(&postgres.name(), "").replace("FROM orders", "FROM orders WHERE id > $1"));
    until("the parameter is reported", || world.errors().contains("`statement` has 1 parameters, expected none"));
    drop(engine);
}

fn run(store: &Store, project: &Path, text: &str) -> (Engine, Arc<Said>) {
    let said = Arc::new(Said::default());
    let observer: Arc<dyn Observer> = Arc::clone(&said) as Arc<dyn Observer>;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = EngineOptions { threads: 2, ..EngineOptions::default() };
    let engine = Engine::start(store, &clock, &observer, options).expect("threads");
    let file = FlowFile::parse("rows.toml", text).expect("a flow file");
    engine.deploy(Flow::compile(file, project, None).expect("a flow"));
    (engine, said)
}

/// The child. Without the variable this is no test of its own.
#[test]
fn child_that_reads_rows() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let text = std::fs::read_to_string(folder.join("flow")).expect("a file");
    let (store, _engine) = open(&folder.join("data"));
    let _running = run(&store, &folder, &text);
    std::fs::write(folder.join("running"), "").expect("a file");
    std::thread::sleep(PATIENCE);
}

fn killed(postgres: &Postgres, properties: &str) {
    let place = tempfile::TempDir::new().expect("a temporary folder");
    std::fs::write(place.path().join("item.shape"), ITEM).expect("a file");
    let text = flow(&postgres.name(), properties);
    std::fs::write(place.path().join("flow"), &text).expect("a file");
    let folder = place.path().join("data");
    {
        let (store, engine) = open(&folder);
        let mut unit = store.begin().expect("a unit");
        for name in ["OUT", DEAD_LETTER] {
            let definition = QueueDefinition { depth_max: 1_000_000, ..QueueDefinition::local(name) };
            store.define_queue(&mut unit, definition).expect("a definition");
        }
        unit.commit().expect("a commit");
        drop(store);
        engine.close().expect("closed");
    }
    let rounds = bridge_kills(4) as usize;
    let mut seed = 0x0bad_5eed_u32;
    for round in 0..rounds {
        let first = round * ROWS + 1;
        let rows =
            format!("INSERT INTO orders SELECT n, n / 4.0 FROM generate_series({first}, {}) n", first + ROWS - 1);
        until("the rows are there", || postgres.sql(&rows).is_some());
        let mark = place.path().join("running");
        let _ = std::fs::remove_file(&mark);
        let mut child = Command::new(std::env::current_exe().expect("this test has a path"))
            .args(["--exact", "sql_rows::child_that_reads_rows", "--test-threads", "1"])
            .env(FOLDER, place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        until("the child runs the flow", || mark.exists());
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(Duration::from_millis(u64::from((seed >> 16) % 250)));
        if round % 3 == 1 {
            postgres.stop("-QUIT");
            postgres.again();
        }
        child.kill().expect("kill -9");
        child.wait().expect("the child ended");
    }
    let (store, engine) = open(&folder);
    let before = store.queue("OUT").and_then(|queue| queue.facts()).expect("facts").depth;
    let (flows, said) = run(&store, place.path(), &text);
    let out = store.queue("OUT").expect("a queue");
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut last = 0;
    for _ in 0..rounds * ROWS {
        let mut unit = store.begin().expect("a unit");
        let message = out.get(&mut unit, Select::First, GetWait::AtMostMs(60_000)).expect("a message");
        unit.commit().expect("a commit");
        let key = message.properties.iter().find(|(name, _)| name == "sql_key").expect("a key");
        let key = String::from_utf8(key.1.clone()).expect("text");
        if properties.contains(BY_KEY) {
            let number: u64 = key.parse().expect("a number");
            assert!(last < number, "{number} came after {last}");
            last = number;
        }
        *found.entry(key).or_default() += 1;
    }
    if properties.contains(DONE) {
        until("all rows are removed", || postgres.sql("SELECT count(*) FROM orders").as_deref() == Some("0"));
    }
    flows.drain();
    let failed = said.failed.lock().expect("no panic").iter().map(|(f, _)| f.to_string()).collect::<String>();
    assert_eq!(out.facts().expect("facts").depth, 0, "no row twice: {failed}");
    assert_eq!(found.len(), rounds * ROWS, "every row once: {failed}");
    assert!(before > 0, "the kills come while rows are processed");
    drop(store);
    engine.close().expect("closed");
}

#[test]
fn every_row_has_its_effect_once_however_often_both_sides_are_killed() {
    let Some(postgres) = Postgres::start() else { return skip("every_row_has_its_effect_once") };
    for properties in ["", BY_KEY, DONE] {
        postgres
            .sql("DROP TABLE IF EXISTS orders; CREATE TABLE orders (id bigint PRIMARY KEY, amount numeric(9,2))")
            .expect("a table");
        killed(&postgres, properties);
    }
}
