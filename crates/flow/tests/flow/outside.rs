//! Nodes that reach other systems: a real database, a real HTTP server, and both sides killed.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quayline_store::Store;
use quayline_store::queue::{DEAD_LETTER, FAILED_ON, FAILURE_CODE, FAILURE_PLACE, Message};

use crate::bridge::{Bridge, PER_ROUND, depth, until_empty};
use crate::postgres::Postgres;
use crate::proxy::Proxy;
use crate::support::{World, bridge_kills, ended, until};

const FOLDER: &str = "QUAYLINE_TEST_OUTSIDE_FOLDER";
const MESSAGES: usize = 400;

const ITEM: &str = "item\n  id text(12)\n  amount? decimal(9,2)\n";

fn input(properties: &str) -> String {
    format!("[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"item.shape\"\nout = \"sql\"\n{properties}")
}

fn output(database: &str) -> String {
    input(&format!(
        "[node.sql]\ntype = \"sql_output\"\ndatabase = \"{database}\"\noutbox = \"SQL.OUT\"\n\
         statement = \"INSERT INTO effect VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = effect.n + 1\"\nparameters = ['id', 'amount']\n"
    ))
}

fn skip(test: &str) {
    eprintln!("skipped: {test}: PostgreSQL's server is not installed");
}

#[test]
fn rows_of_a_query_are_messages() {
    let Some(postgres) = Postgres::start() else { return skip("rows_of_a_query_are_messages") };
    let made = "CREATE TABLE price (id text, region text, price numeric(12,4), at timestamptz); \
                INSERT INTO price VALUES ('a', 'north', 12345678.1000, '2026-01-02 03:04:05+00'), ('a', 'south', NULL, NULL)";
    postgres.sql(made).expect("a table");
    let world = World::new();
    world.write("item.shape", ITEM);
    let (queue, out, none) = (world.queue("IN"), world.queue("OUT"), world.queue("NONE"));
    let node = |rows: &str, statement: &str| {
        input(&format!(
            "[node.sql]\ntype = \"sql_query\"\ndatabase = \"{}\"\nstatement = \"{statement}\"\nparameters = ['id']\n{rows}\nout = \"put\"\nno_row = \"none\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n[node.none]\ntype = \"queue_output\"\nqueue = \"NONE\"\n",
            postgres.name()
        ))
    };
    let select = "SELECT region, price FROM price WHERE id = $1 ORDER BY region";
    let engine = world.engine(&node("", select));
    world.put(&queue, &Message::new(*br#"{"id":"a"}"#));
    world.put(&queue, &Message::new(*br#"{"id":"zz"}"#));
    assert_eq!(world.get_text(&out), r#"{"region":"north","price":12345678.1000}"#);
    assert_eq!(world.get_text(&none), r#"{"id":"zz"}"#);
    drop(engine);
    let engine = world.engine(&node("rows = \"each\"", select));
    world.put(&queue, &Message::new(*br#"{"id":"a"}"#));
    let rows = [world.get_text(&out), world.get_text(&out)];
    assert_eq!(rows, [r#"{"region":"north","price":12345678.1000}"#, r#"{"region":"south","price":null}"#]);
    drop(engine);
    // While the database is down, the message waits.
    postgres.stop("-INT");
    let engine = world.engine(&node("", select));
    world.put(&queue, &Message::new(*br#"{"id":"a"}"#));
    until("the node says that it waits", || world.errors().contains("FLO-054"));
    postgres.again();
    assert_eq!(world.get_text(&out), r#"{"region":"north","price":12345678.1000}"#);
    drop(engine);
    // An error of the statement names no value.
    let engine = world.engine(&node("failure = \"none\"", "SELECT 1/0 AS x FROM price WHERE id = $1"));
    world.put(&queue, &Message::new(*br#"{"id":"a"}"#));
    assert_eq!(world.get_text(&none), r#"{"id":"a"}"#);
    assert!(world.errors().contains("SQLSTATE 22012"), "{}", world.errors());
    drop(engine);
}

#[test]
fn a_statement_has_its_effect_once_while_the_database_crashes() {
    let Some(postgres) = Postgres::start() else {
        return skip("a_statement_has_its_effect_once_while_the_database_crashes");
    };
    postgres.sql("CREATE TABLE effect (id text PRIMARY KEY, amount numeric(9,2), n int DEFAULT 0)").expect("a table");
    let world = World::new();
    world.write("item.shape", ITEM);
    let (queue, dead) = (world.queue("IN"), world.queue(DEAD_LETTER));
    let outbox = world.queue("SQL.OUT");
    let statement = "$1, $2) ON";
    let engine = world.engine(&output(&postgres.name()).replace(statement, "$1, $2::int / $2::int) ON"));
    for number in 0..MESSAGES {
        // The database refuses one of them: it divides by zero.
        let amount = if number == 17 { "0" } else { "2" };
        world.put(&queue, &Message::new(format!(r#"{{"id":"{number}","amount":{amount}}}"#)));
        if number % 100 == 50 {
            postgres.stop("-QUIT");
            std::thread::sleep(Duration::from_millis(100));
            postgres.again();
        }
    }
    // Each message is a unit of work of the flow and one of its delivery.
    let units = 2 * MESSAGES as u64;
    until("every message is delivered", || outbox.facts().expect("facts").depth == 0 && ended(&engine).0 >= units);
    let refused = world.get(&dead);
    assert_eq!(refused.payload, br#"["17","0"]"#);
    assert!(refused.reason.starts_with("FLO-055: ") && refused.reason.contains("22012"), "{}", refused.reason);
    until("the database answers", || postgres.sql("SELECT 1").is_some());
    let found = postgres.sql("SELECT count(*), sum(n) FROM effect").expect("a count");
    assert_eq!(found, format!("{}|0", MESSAGES - 1), "every statement once: {}", world.errors());
}

#[test]
fn statements_and_requests_over_connections_that_end_have_their_effect_once() {
    let Some(postgres) = Postgres::start() else {
        return skip("statements_and_requests_over_connections_that_end_have_their_effect_once");
    };
    postgres.sql("CREATE TABLE effect (id text PRIMARY KEY, amount numeric(9,2), n int DEFAULT 0)").expect("a table");
    let (address, asked) = server(|_| 201);
    let (database, web) = (Proxy::to(postgres.port()), Proxy::to(address.port()));
    let world = World::new();
    world.write("item.shape", ITEM);
    let (queue, dead) = (world.queue("IN"), world.queue(DEAD_LETTER));
    world.queue("SQL.OUT");
    world.queue("HTTP.OUT");
    let name = postgres.name().replace(&postgres.port().to_string(), &database.port.to_string());
    let text = output(&name).replace("out = \"sql\"", "out = [\"sql\", \"web\"]");
    let engine = world.engine(&format!(
        "{text}[node.web]\ntype = \"http_output\"\nurl = \"http://127.0.0.1:{}/\"\noutbox = \"HTTP.OUT\"\n",
        web.port
    ));
    for number in 0..MESSAGES {
        world.put(&queue, &Message::new(format!(r#"{{"id":"{number}"}}"#)));
    }
    crate::bridge::until_empty(&world.store, &["IN", "SQL.OUT", "HTTP.OUT"]);
    drop(engine);
    assert_eq!(dead.facts().expect("facts").depth, 0, "{}", world.errors());
    let found = postgres.sql("SELECT count(*), sum(n) FROM effect").expect("a count");
    assert_eq!(found, format!("{MESSAGES}|0"), "every statement once: {}", world.errors());
    // A server that remembers keys sees each message once.
    let asked = asked.lock().expect("no panic");
    let known: BTreeSet<(&str, &str)> =
        asked.iter().map(|(_, key, content)| (key.as_str(), content.as_str())).collect();
    let contents: BTreeSet<&str> = known.iter().map(|(_, content)| *content).collect();
    assert_eq!((known.len(), contents.len()), (MESSAGES, MESSAGES));
    assert!(database.cuts() > 3, "{} connections ended", database.cuts());
}

/// An error at the commit counted as one of the connection, so the message was repeated without end, and all after it waited.
#[test]
fn a_message_that_the_commit_refuses_moves_to_the_backout_queue() {
    let Some(postgres) = Postgres::start() else {
        return skip("a_message_that_the_commit_refuses_moves_to_the_backout_queue");
    };
    let made = "CREATE TABLE known (id text PRIMARY KEY); INSERT INTO known VALUES ('good'); \
                CREATE TABLE effect (id text PRIMARY KEY REFERENCES known DEFERRABLE INITIALLY DEFERRED, amount numeric(9,2), n int DEFAULT 0)";
    postgres.sql(made).expect("a table");
    let world = World::new();
    world.write("item.shape", ITEM);
    let (queue, dead, outbox) = (world.queue("IN"), world.queue(DEAD_LETTER), world.queue("SQL.OUT"));
    let _engine = world.engine(&output(&postgres.name()));
    for id in ["bad", "good"] {
        world.put(&queue, &Message::new(format!(r#"{{"id":"{id}","amount":1}}"#)));
    }
    let refused = world.get(&dead);
    assert_eq!(refused.payload, br#"["bad","1"]"#);
    assert!(refused.reason.starts_with("FLO-055: ") && refused.reason.contains("23503"), "{}", refused.reason);
    until("the good one is delivered", || outbox.facts().expect("facts").depth == 0);
    assert_eq!(postgres.sql("SELECT id, n FROM effect").expect("rows"), "good|0");
}

/// A statement that waited for a lock had no time limit, so neither a stop nor a reload of the flow ended.
#[test]
fn a_statement_that_waits_ends_with_its_limit_and_with_the_flow() {
    let Some(postgres) = Postgres::start() else {
        return skip("a_statement_that_waits_ends_with_its_limit_and_with_the_flow");
    };
    postgres.sql("CREATE TABLE effect (id text PRIMARY KEY, amount numeric(9,2), n int DEFAULT 0)").expect("a table");
    let world = World::new();
    world.write("item.shape", ITEM);
    let (queue, outbox) = (world.queue("IN"), world.queue("SQL.OUT"));
    world.queue(DEAD_LETTER);
    let locks = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let waits = |what: &str| until(what, || postgres.sql(locks).is_some_and(|count| count == "1"));
    let with = |limit: &str| world.engine(&output(&postgres.name()).replace("outbox =", &format!("{limit}\noutbox =")));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let is_ended = postgres.sql("BEGIN; LOCK effect; SELECT pg_sleep(150); COMMIT").is_none();
            assert!(is_ended && is_over.load(Ordering::Relaxed));
        });
        until("the table is locked", || {
            let held = "SELECT count(*) FROM pg_locks WHERE relation = 'effect'::regclass AND mode = 'AccessExclusiveLock' AND granted";
            postgres.sql(held).is_some_and(|count| count == "1")
        });
        let engine = with("wait_limit = \"200ms\"");
        world.put(&queue, &Message::new(r#"{"id":"a","amount":1}"#));
        until("the node says that it waits", || world.errors().contains("did not execute the statement within 200 ms"));
        drop(engine);
        let engine = with("");
        waits("the statement waits for the lock");
        let begun = Instant::now();
        drop(engine);
        assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
        is_over.store(true, Ordering::Relaxed);
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK%'";
        postgres.sql(end).expect("an end");
    });
    let _engine = with("");
    until("it is delivered", || outbox.facts().expect("facts").depth == 0);
    assert_eq!(postgres.sql("SELECT id, n FROM effect").expect("rows"), "a|0");
}

/// The database knew only the last message of an outbox. One that comes first in the queue but committed later was delivered in between after a restart.
#[test]
fn a_statement_is_not_repeated_after_others_that_came_in_between() {
    let Some(postgres) = Postgres::start() else {
        return skip("a_statement_is_not_repeated_after_others_that_came_in_between");
    };
    postgres.sql("CREATE TABLE effect (id text PRIMARY KEY, amount numeric(9,2), n int DEFAULT 0)").expect("a table");
    let world = World::new();
    world.write("item.shape", ITEM);
    world.queue("IN");
    let outbox = world.queue("SQL.OUT");
    let message = |id: u8| Message { id: [id; 24], ..Message::new(format!(r#"["{id}","1"]"#)) };
    let delivered = |ids: &[u8]| {
        ids.iter().for_each(|id| world.put(&outbox, &message(*id)));
        let engine = world.engine(&output(&postgres.name()));
        until("all are delivered", || outbox.facts().expect("facts").depth == 0);
        drop(engine);
    };
    delivered(&[1, 2]);
    // The get of 2 did not survive a crash.
    delivered(&[3, 4, 2, 5]);
    assert_eq!(postgres.sql("SELECT count(*), sum(n) FROM effect").expect("a count"), "5|0");
    // Only the last message of each run can come again.
    let known = postgres.sql("SELECT last FROM quayline_delivered").expect("a row");
    let hex = |id: u8| format!("{id:02x}").repeat(24);
    assert_eq!(known, hex(5));
    (6..90).for_each(|id| delivered(&[id]));
    let known = postgres.sql("SELECT last FROM quayline_delivered").expect("a row");
    let expected: Vec<String> = (26..90).rev().map(hex).collect();
    assert_eq!(known, expected.join(" "));
}

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_that_delivers() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    crate::bridge::child(&folder);
}

#[test]
fn a_statement_has_its_effect_once_however_often_both_sides_are_killed() {
    let Some(postgres) = Postgres::start() else {
        return skip("a_statement_has_its_effect_once_however_often_both_sides_are_killed");
    };
    postgres.sql("CREATE TABLE effect (id text PRIMARY KEY, amount numeric(9,2), n int DEFAULT 0)").expect("a table");
    let bridge = Bridge::with(&output(&postgres.name()), "SQL.OUT", &["IN"]);
    std::fs::write(bridge.path().join("item.shape"), ITEM).expect("a file");
    let mut sent = 0;
    let put = |store: &Store, _| {
        let queue = store.queue("IN").expect("a queue");
        let mut unit = store.begin().expect("a unit");
        for number in sent..sent + PER_ROUND {
            queue.put(&mut unit, &Message::new(format!(r#"{{"id":"{number}"}}"#))).expect("a put");
        }
        sent += PER_ROUND;
        unit.commit().expect("a commit");
    };
    let kill_other = || {
        postgres.kill();
        postgres.again();
    };
    let child = ("outside::child_that_delivers", FOLDER);
    bridge.kills_of_queues(child, (bridge_kills(6), 60), put, kill_other, &["IN", "SQL.OUT"]);
    bridge.ends(|store, failed| {
        until_empty(store, &["IN", "SQL.OUT"]);
        assert_eq!(depth(store, DEAD_LETTER), 0, "{}", failed());
        until("the database answers", || postgres.sql("SELECT 1").is_some());
        let found = postgres.sql("SELECT count(*), sum(n) FROM effect").expect("a count");
        assert_eq!(found, format!("{sent}|0"), "every statement once: {}", failed());
    });
}

/// A request: path, idempotency key, content.
pub(crate) type Asked = (String, String, String);

/// Starts an HTTP server that answers with the status that `status` returns for the number of the request.
pub(crate) fn server(status: impl Fn(usize) -> u16 + Send + 'static) -> (SocketAddr, Arc<Mutex<Vec<Asked>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        let count = AtomicUsize::new(0);
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let mut first = String::new();
            if reader.read_line(&mut first).unwrap_or(0) == 0 {
                continue;
            }
            let (mut length, mut key) = (0, String::new());
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                let Some((name, value)) = line.trim().split_once(':') else { break };
                match name {
                    "content-length" => length = value.trim().parse().expect("a length"),
                    "idempotency-key" => key = value.trim().to_owned(),
                    _ => {}
                }
            }
            let mut content = vec![0; length];
            reader.read_exact(&mut content).expect("the content");
            let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
            let content = String::from_utf8(content).expect("text");
            let status = status(count.fetch_add(1, Ordering::Relaxed));
            let answer = format!("answer to {content}");
            kept.lock().expect("no panic").push((path, key, content));
            let text = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
            // The connection ends with each answer, so each reuse fails first.
            let _ = stream.write_all(text.as_bytes());
        }
    });
    (address, asked)
}

#[test]
fn a_flow_continues_with_the_answer_of_a_server() {
    let (address, asked) = server(|number| if number == 1 { 404 } else { 200 });
    let world = World::new();
    let (queue, out, bad) = (world.queue("IN"), world.queue("OUT"), world.queue("BAD"));
    let engine = world.engine(&format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"ask\"\n\
         [node.ask]\ntype = \"http_request\"\nurl.from = '\"http://{address}/\" & envelope.property_key'\nmethod = \"PUT\"\nout = \"put\"\nfailure = \"bad\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n[node.bad]\ntype = \"queue_output\"\nqueue = \"BAD\"\n"
    ));
    let message =
        |text: &str| Message { properties: vec![("key".into(), text.into())], ..Message::new(text.as_bytes()) };
    for (text, answered) in [("one", true), ("two", false), ("three", true)] {
        world.put(&queue, &message(text));
        if answered {
            assert_eq!(world.get_text(&out), format!("answer to {text}"));
        } else {
            assert_eq!(world.get_text(&bad), text);
        }
    }
    assert!(world.errors().contains("FLO-057") && world.errors().contains("status 404"), "{}", world.errors());
    let asked = asked.lock().expect("no panic");
    let keys: BTreeSet<&str> = asked.iter().map(|(_, key, _)| key.as_str()).collect();
    assert_eq!((asked.len(), keys.len(), asked[2].0.as_str()), (3, 3, "/three"));
    // The flow waited for the server, and for nothing else that is outside.
    let stats = Arc::clone(&engine.flows()[0].stats);
    drop(engine);
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    assert!((1..=count(&stats.wall_ns)).contains(&count(&stats.external_ns)), "{stats:?}");
}

#[test]
fn requests_of_an_outbox_are_repeated_with_the_same_key_until_they_are_accepted() {
    let (address, asked) = server(|number| [503, 500, 201, 422, 200][number.min(4)]);
    let world = World::new();
    let (queue, dead, outbox) = (world.queue("IN"), world.queue(DEAD_LETTER), world.queue("HTTP.OUT"));
    let engine = world.engine(&format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = [\"send\", \"check\"]\n\
         [node.send]\ntype = \"http_output\"\nurl = \"http://{address}/orders\"\noutbox = \"HTTP.OUT\"\n\
         [node.check]\ntype = \"filter\"\nwhen = 'envelope.property_bad = \"yes\"'\nout = \"fail\"\n\
         [node.fail]\ntype = \"throw\"\ntext = \"no\"\n"
    ));
    let bad = Message { properties: vec![("bad".into(), b"yes".to_vec())], ..Message::new(*b"never sent") };
    world.put(&queue, &bad);
    for text in ["one", "two", "three"] {
        world.put(&queue, &Message::new(text.as_bytes()));
    }
    until("the outbox is empty", || outbox.facts().expect("facts").depth == 0 && ended(&engine).0 >= 6);
    assert_eq!(world.get(&dead).payload.as_slice(), b"never sent", "what is rolled back does not leave");
    let refused = world.get(&dead);
    assert!(refused.reason.contains("status 422") && refused.payload.ends_with(b"\ntwo"), "{}", refused.reason);
    // `quayline queue retry` reads the first property; the node counts the failure that it did not repeat, too.
    for (name, value) in [(FAILED_ON, "HTTP.OUT"), (FAILURE_CODE, "FLO-057"), (FAILURE_PLACE, "flow test, node send")] {
        let carried = refused.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice());
        assert_eq!(carried, Some(value.as_bytes()), "{name}");
    }
    let node = &engine.flows()[0].stats.nodes[1];
    assert_eq!(node.failures.load(Ordering::Relaxed), 3);
    assert!(node.last_error().is_some_and(|last| last.finding.message.contains("422")), "{:?}", node.last_error());
    let asked = asked.lock().expect("no panic");
    let contents: Vec<&str> = asked.iter().map(|(_, _, content)| content.as_str()).collect();
    assert_eq!(contents, ["one", "one", "one", "two", "three"]);
    assert!(asked[0].1 == asked[2].1 && asked[2].1 != asked[3].1, "{asked:?}");
}

/// A redirect, to a login page for example, counted as delivered: the message was lost.
#[test]
fn a_redirect_is_no_success_unless_the_flow_says_so() {
    let (address, asked) = server(|_| 302);
    let world = World::new();
    let (queue, out, dead, outbox) =
        (world.queue("IN"), world.queue("OUT"), world.queue(DEAD_LETTER), world.queue("HTTP.OUT"));
    let flow = |success: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = [\"ask\", \"send\"]\n\
             [node.ask]\ntype = \"http_request\"\nurl = \"http://{address}/\"\n{success}\nout = \"put\"\nfailure = \"failed\"\n\
             [node.send]\ntype = \"http_output\"\nurl = \"http://{address}/\"\n{success}\noutbox = \"HTTP.OUT\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n[node.failed]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        )
    };
    let engine = world.engine(&flow(""));
    world.put(&queue, &Message::new("a"));
    assert_eq!(world.get_text(&out), "a");
    assert!(world.get(&dead).reason.contains("status 302"));
    drop(engine);
    let _engine = world.engine(&flow("success = \"200-299,300 - 303\""));
    world.put(&queue, &Message::new("b"));
    assert_eq!(world.get_text(&out), "answer to b");
    until("it is delivered", || {
        outbox.facts().expect("facts").depth == 0 && asked.lock().expect("no panic").len() == 4
    });
    assert_eq!(dead.facts().expect("facts").depth, 0);
    for wrong in ["", "200-", "199", "600", "299-200", "2xx"] {
        let found = world.compile(&flow(&format!("success = \"{wrong}\""))).expect_err("an error").to_string();
        assert!(found.contains("FLO-072"), "{wrong}: {found}");
    }
}

#[test]
fn what_a_flow_may_lose_is_stated() {
    let world = World::new();
    let text = |sync: &str, transaction: &str| {
        let text = format!(
            "{sync}\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\n{transaction}\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        );
        let flow = world.compile(&text).expect("a flow");
        flow.edges().map(|edge| edge.guarantee).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(text("", ""), "");
    assert!(text("", "transaction = \"no\"").starts_with("at most once"));
    assert!(text("", "transaction = \"automatic\"").contains("at most once for non-persistent messages"));
    assert!(text("sync = \"persistent\"", "").contains("a power failure may undo"));
    assert_eq!(text("sync = \"persistent\"", "transaction = \"no\"").matches("; `sync").count(), 1);
}

#[test]
fn the_guarantee_of_each_edge_is_stated() {
    let world = World::new();
    world.write("item.shape", ITEM);
    let flow = world.compile(&output("host=127.0.0.1 user=quay")).expect("a flow");
    let edges: Vec<_> = flow.edges().map(|edge| (edge.node, edge.kind, edge.guarantee.split(':').next())).collect();
    assert_eq!(edges, [("sql", "sql_output", Some("exactly once"))]);
    assert_eq!(flow.output_queues().collect::<Vec<_>>(), ["SQL.OUT"]);
}

#[test]
fn databases_urls_and_outboxes_are_checked() {
    let world = World::new();
    let wrong = |text: &str| world.compile(text).expect_err("an error").to_string();
    let start = "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = [\"a\", \"b\"]\n";
    let text = wrong(&format!(
        "{start}[node.a]\ntype = \"sql_output\"\ndatabase = \"host=h user=u password=p\"\nstatement = \"x\"\noutbox = \"IN\"\n\
         [node.b]\ntype = \"http_output\"\nurl = \"https://h/\"\noutbox = \"O\"\n"
    ));
    for part in [
        "FLO-027",
        "it has a password",
        "FLO-028",
        "https is not supported",
        "FLO-029",
        "another node uses the outbox `IN` too",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
