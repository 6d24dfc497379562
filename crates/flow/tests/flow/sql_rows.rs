//! Rows of a database as messages: a real PostgreSQL, with both sides killed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use quayline_store::queue::{DEAD_LETTER, GetWait, QueueDefinition, Select};
use quayline_store::{Direction, KeyRange, Page, PageLimit, Space};

use crate::crash::open;
use crate::postgres::Postgres;
use crate::support::{PATIENCE, World, bridge_kills, ended, run, running, until};

const FOLDER: &str = "QUAYLINE_TEST_SQL_ROWS_FOLDER";
const ROWS: usize = 5_000;
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

/// Entries of the store for rows.
fn remembered(world: &World) -> usize {
    let unit = world.store.begin().expect("a unit");
    let mut page = Page::default();
    let limit = PageLimit { entries: 100_000, bytes: 100 << 20 };
    unit.page(Space::CHECKPOINTS, KeyRange::ALL, Direction::Forward, limit, &mut page).expect("a page");
    page.iter().filter(|(key, _)| key.starts_with(b"flow-sql/")).count()
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
    until("nothing is remembered", || remembered(&world) == 0);
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

/// Two rows with the same key stopped the thread for ten seconds, or the input removed one of them unread. Later, they also kept back the rows before them.
#[test]
fn a_key_that_is_not_unique_is_reported() {
    let Some(postgres) = Postgres::start() else { return skip("a_key_that_is_not_unique_is_reported") };
    postgres
        .sql("CREATE TABLE orders (id bigint, amount numeric(9,2)); INSERT INTO orders SELECT n, 1 FROM generate_series(1, 499) n; INSERT INTO orders VALUES (500, 1), (500, 2)")
        .expect("a table");
    for properties in ["", DONE] {
        let world = world();
        let out = world.store.queue("OUT").expect("a queue");
        let engine = world.engine(&flow(&postgres.name(), properties));
        let reports = || world.errors().matches("two rows have the same value in the key column `id`").count();
        until("the key is reported", || reports() > 0);
        let mut got: Vec<String> = (0..499).map(|_| world.get_text(&out)).collect();
        let mut expected: Vec<String> = (1..500).map(|number| format!("{{\"id\":{number},\"amount\":1.00}}")).collect();
        got.sort();
        expected.sort();
        assert_eq!(got, expected);
        let rows = if properties == DONE { "2" } else { "501" };
        until("the rows before the two are done", || {
            postgres.sql("SELECT count(*) FROM orders").as_deref() == Some(rows)
        });
        let before = reports();
        until("the key is reported again", || reports() > before + 1);
        drop(engine);
        assert_eq!(out.facts().expect("facts").depth, 0, "neither of the two is read");
        assert_eq!(postgres.sql("SELECT count(*) FROM orders WHERE id = 500").as_deref(), Some("2"), "both stay");
    }
}

const LEFT: &str = "the statement `done` did not remove a row from the query";

/// If `done` removed nothing, Quayline processed each row again: at each look if `done` changed another row, otherwise after a restart.
#[test]
fn a_statement_that_removes_nothing_repeats_nothing() {
    let Some(postgres) = Postgres::start() else { return skip("a_statement_that_removes_nothing_repeats_nothing") };
    let changes_none = "DELETE FROM orders WHERE id = 0 - $1::bigint";
    let changes_its_row = "UPDATE orders SET amount = amount WHERE id = $1";
    let changes_another = "INSERT INTO taken VALUES ($1)";
    for done in [changes_none, changes_its_row, changes_another] {
        postgres
            .sql("DROP TABLE IF EXISTS orders; DROP TABLE IF EXISTS taken; CREATE TABLE taken (id bigint)")
            .expect("a table");
        table(&postgres, 3);
        let world = world();
        let out = world.store.queue("OUT").expect("a queue");
        let text = flow(&postgres.name(), &format!("done = \"{done}\"\n"));
        let engine = world.engine(&text);
        let mut got: Vec<String> = (0..3).map(|_| world.get_text(&out)).collect();
        got.sort();
        assert_eq!(got, [row(1), row(2), row(3)]);
        until("the statement is reported", || world.errors().contains(LEFT));
        // After several looks, the input has not read a row again. It still reads a new row.
        postgres.sql("INSERT INTO orders VALUES (4, 1)").expect("a row");
        assert_eq!(world.get_text(&out), row(4));
        let looks = || world.errors().matches(LEFT).count();
        let before = looks();
        until("some looks later", || looks() > before + 5);
        assert_eq!(ended(&engine).0, 4, "{done}");
        drop(engine);
        assert_eq!(remembered(&world), 4, "{done}");
        // The same after a restart.
        let engine = world.engine(&text);
        postgres.sql("INSERT INTO orders VALUES (5, 1.25)").expect("a row");
        assert_eq!(world.get_text(&out), row(5));
        let before = looks();
        until("some looks later", || looks() > before + 5);
        assert_eq!(ended(&engine).0, 1, "{done}");
        // A row that the query returns no longer is forgotten.
        postgres.sql("DELETE FROM orders WHERE id <> 3").expect("rows");
        until("one row is remembered", || remembered(&world) == 1);
        postgres.sql("INSERT INTO orders VALUES (4, 1)").expect("a row");
        assert_eq!(world.get_text(&out), row(4));
        postgres.sql("DELETE FROM orders").expect("rows");
        until("no row is remembered", || remembered(&world) == 0);
        drop(engine);
    }
}

/// Quayline remembered rows that `done` left without a limit.
#[test]
fn an_input_reads_no_more_when_a_statement_left_many_rows() {
    let Some(postgres) = Postgres::start() else { return skip("an_input_reads_no_more") };
    table(&postgres, 13_000);
    let world = world();
    let out = world.store.queue("OUT").expect("a queue");
    let done = "done = \"UPDATE orders SET amount = amount WHERE id = 0 - $1::bigint\"\n";
    let engine = world.engine(&flow(&postgres.name(), done));
    until("the input reads no more", || ended(&engine).0 >= 10_000);
    // Each of these looks finds the rows that are left.
    let looks = || world.errors().matches(LEFT).count();
    let before = looks();
    until("some looks later", || looks() > before + 3);
    let read = ended(&engine).0;
    assert!(read <= 11_501, "{read}: the limit, the rows that an input holds and one answer");
    postgres.sql("DELETE FROM orders WHERE id <= 12000").expect("rows");
    until("the rest is read", || ended(&engine).0 == read + 1_000);
    assert_eq!(out.facts().expect("facts").depth, read + 1_000);
    drop(engine);
}

/// One failed statement caused the statements of all other rows to run again. So did a shared limit of 60 seconds.
#[test]
fn a_statement_that_fails_repeats_no_other() {
    let Some(postgres) = Postgres::start() else { return skip("a_statement_that_fails_repeats_no_other") };
    table(&postgres, 40);
    postgres.sql("CREATE TABLE tries (id bigint)").expect("a table");
    let world = world();
    let done =
        "WITH gone AS (DELETE FROM orders WHERE id = $1) INSERT INTO tries SELECT $1::bigint + 0 / ($1::bigint - 2)";
    let engine = world.engine(&flow(&postgres.name(), &format!("done = \"{done}\"\n")));
    // The statement for the second row divides by zero.
    until("it fails several times", || world.errors().matches("SQLSTATE 22012").count() >= 4);
    assert_eq!(postgres.sql("SELECT count(*), count(DISTINCT id) FROM tries").as_deref(), Some("39|39"));
    assert_eq!(postgres.sql("SELECT id FROM orders").as_deref(), Some("2"));
    assert_eq!((ended(&engine).0, remembered(&world)), (40, 1));
    // Other rows are read meanwhile.
    postgres.sql("INSERT INTO orders VALUES (50, 1), (51, 1)").expect("rows");
    until("the new rows are done", || postgres.sql("SELECT id FROM orders").as_deref() == Some("2"));
    assert_eq!((ended(&engine).0, remembered(&world)), (42, 1));
    drop(engine);
}

#[test]
fn keys_of_many_types_are_found_again() {
    let Some(postgres) = Postgres::start() else { return skip("keys_of_many_types_are_found_again") };
    postgres.sql("CREATE TYPE size AS ENUM ('small', 'large'); CREATE DOMAIN number AS int").expect("types");
    for (kind, keys) in [
        ("text", r#"('a"b'), ('c\d'), ('{e,f}'), (''), ('NULL'), (' ')"#),
        ("varchar(9)", "('x'), ('y z')"),
        ("char(5)", "('x'), ('y z')"),
        ("name", "('x'), ('y')"),
        ("size", "('small'), ('large')"),
        ("number", "(1), (2)"),
        ("numeric", "(1.50), (2e30)"),
        ("float8", "(0.1), ('infinity')"),
        ("uuid", "('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')"),
        ("timestamptz", "('2026-01-01 00:00:00.123456+05')"),
        ("bytea", r"('\x00ff'), ('\x41')"),
        ("int4range", "('[1,5)'), ('[7,9)')"),
    ] {
        let made = format!(
            "DROP TABLE IF EXISTS orders; CREATE TABLE orders (id {kind} PRIMARY KEY, amount int DEFAULT 1); \
             INSERT INTO orders (id) VALUES {keys}"
        );
        postgres.sql(&made).expect("a table");
        let world = world();
        let text = format!(
            "[node.rows]\ntype = \"sql_input\"\ndatabase = \"{}\"\nkey = \"id\"\nstatement = \"SELECT id FROM orders\"\n\
             interval = \"20ms\"\n{DONE}out = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
            postgres.name()
        );
        let engine = world.engine(&text);
        let rows = || postgres.sql("SELECT count(*) FROM orders");
        until(kind, || rows().as_deref() == Some("0") && remembered(&world) == 0);
        assert_eq!(world.errors(), "", "{kind}");
        drop(engine);
        // Quayline recognizes a row that stays.
        postgres.sql(&format!("INSERT INTO orders (id) VALUES {keys}")).expect("rows");
        let stays = text.replace(DONE, "done = \"UPDATE orders SET amount = 2 WHERE id = $1\"\n");
        let engine = world.engine(&stays);
        let all = rows().expect("a number");
        until(kind, || postgres.sql("SELECT count(*) FROM orders WHERE amount = 2").as_ref() == Some(&all));
        until(kind, || world.errors().matches(LEFT).count() > 3);
        assert_eq!(ended(&engine).0.to_string(), all, "{kind}: {}", world.errors());
        assert_eq!(remembered(&world).to_string(), all, "{kind}");
        drop(engine);
    }
}

/// When a user added `done` to a flow, the input processed all earlier rows again.
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

/// The child. Without the variable this is no test of its own.
#[test]
fn child_that_reads_rows() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let text = std::fs::read_to_string(folder.join("flow")).expect("a file");
    let (store, _engine) = open(&folder.join("data"));
    let _running = run(&store, &folder, &text, 2);
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
    let (mut seed, mut with_work) = (0x0bad_5eed_u32, 0);
    for round in 0..rounds {
        let first = round * ROWS + 1;
        let rows =
            format!("INSERT INTO orders SELECT n, n / 4.0 FROM generate_series({first}, {}) n", first + ROWS - 1);
        until("the rows are there", || {
            postgres.again_if_ended();
            postgres.sql(&rows).is_some()
        });
        let mut child = running("sql_rows::child_that_reads_rows", FOLDER, place.path());
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(Duration::from_millis(u64::from((seed >> 16) % 40)));
        if round % 3 == 2 {
            // The other processes continue for a while.
            postgres.stop("-KILL");
        } else {
            postgres.kill();
        }
        postgres.again();
        child.kill().expect("kill -9");
        child.wait().expect("the child ended");
        let (store, engine) = open(&folder);
        let done = store.queue("OUT").and_then(|queue| queue.facts()).expect("facts").depth;
        with_work += usize::from(done < (first + ROWS - 1) as u64);
        drop(store);
        engine.close().expect("closed");
    }
    assert!(with_work * 2 >= rounds, "only {with_work} of {rounds} kills left work");
    let (store, engine) = open(&folder);
    let (flows, said) = run(&store, place.path(), &text, 2);
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
    let more: Vec<String> = crate::bridge::all(&store, "OUT")
        .iter()
        .filter_map(|message| message.properties.iter().find(|(name, _)| name == "sql_key"))
        .map(|(_, key)| String::from_utf8(key.clone()).expect("text"))
        .collect();
    assert!(
        more.is_empty(),
        "{} rows twice with {properties:?}, first {:?}: {failed}",
        more.len(),
        &more[..more.len().min(20)]
    );
    assert_eq!(found.len(), rounds * ROWS, "every row once, with {properties:?}: {failed}");
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
