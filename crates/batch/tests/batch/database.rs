//! Job repository in PostgreSQL, SQL artifacts, and outages of the database. One server serves all tests here.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use quayline_batch::artifact::Needs;
use quayline_batch::event::{self, EventPosition, Keeping, TopicFilter};
use quayline_batch::record::Execution;
use quayline_batch::{Backend, BatchError, BatchStatus, DatabaseBackend, Drift, Relay, Repository};
use quayline_postgres::Connection;
use quayline_postgres::server::{Durable, OwnServer};
use quayline_store::SystemClock;
use quayline_store::queue::{GetWait, QueueDefinition, Select};

use crate::around::{Around, AroundBackend};
use crate::builtins::Log;
use crate::kit::{Process, given, job};
use crate::operator::Timed;

mod crash;
mod elsewhere;
mod outage;
mod refused;
mod shared;
mod values;

/// Starts the server, or returns `None` if PostgreSQL is not installed: the test is then counted as skipped.
fn server(folder: &Path) -> Option<OwnServer> {
    match OwnServer::start(&folder.join("server"), Durable::No) {
        Ok(server) => Some(server),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {}: PostgreSQL is not installed", std::thread::current().name().unwrap_or("a test"));
            None
        }
        Err(error) => panic!("the server does not start: {error}"),
    }
}

fn backend(server: &OwnServer) -> Arc<dyn Backend> {
    Arc::new(DatabaseBackend::open(server.endpoint(), Arc::new(SystemClock)).unwrap())
}

fn process(server: &OwnServer, folder: &Path) -> Process {
    Process::new(backend(server), folder.to_owned())
}

fn sql(server: &OwnServer, text: &str) {
    Connection::open(&server.endpoint()).unwrap().script(text).unwrap();
}

/// Returns the only value of a query, as text.
fn value(server: &OwnServer, query: &str) -> String {
    let mut connection = Connection::open(&server.endpoint()).unwrap();
    let answers = connection.query(&format!("SELECT ({query})::text"), &[]).unwrap();
    answers.row(0).and_then(|row| row.text(0)).unwrap_or("null").to_owned()
}

fn properties(list: &[(&str, &str)]) -> String {
    let quoted = |value: &str| value.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let one = |(name, value): &(&str, &str)| format!("<property name=\"{name}\" value=\"{}\"/>", quoted(value));
    format!("<properties>{}</properties>", list.iter().map(one).collect::<String>())
}

fn artifact(element: &str, name: &str, list: &[(&str, &str)]) -> String {
    format!("<{element} ref=\"quayline.{name}\">{}</{element}>", properties(list))
}

/// Returns the XML of a step with one chunk.
fn chunk(count: u32, reader: &str, writer: &str, more: &str) -> String {
    format!("<step id=\"s\"><chunk item-count=\"{count}\">{reader}{writer}{more}</chunk></step>")
}

fn lines(folder: &Path, name: &str, numbers: impl Iterator<Item = u32>) {
    let text: String = numbers.map(|n| format!("{{\"id\":{n},\"name\":\"row {n}\",\"amount\":{n}.50}}\n")).collect();
    std::fs::write(folder.join(name), text).unwrap();
}

fn in_file(name: &str) -> String {
    artifact("reader", "fileReader", &[("file", name)])
}

fn into(table: &str, more: &[(&str, &str)]) -> String {
    let mut list = vec![("table", table), ("columns", "id,name,amount")];
    list.extend_from_slice(more);
    artifact("writer", "sqlWriter", &list)
}

/// The times of each chunk that committed are known, and of no other.
fn all_chunks_are_measured(process: &Process, execution: &Execution) {
    for step in process.steps(execution.id) {
        assert_eq!(step.chunks.map(|spread| spread.chunks), Some(step.counts.commit), "{step:?}");
    }
}

/// Regression: a process that waited for another one to create the tables did not see them, and failed.
fn created_together(server: &OwnServer) {
    for _ in 0..5 {
        sql(server, "DROP SCHEMA IF EXISTS quayline_jobs CASCADE");
        std::thread::scope(|scope| {
            let open = || DatabaseBackend::open(server.endpoint(), Arc::new(SystemClock)).map(|_| ());
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads.into_iter().for_each(|thread| thread.join().expect("no panic").expect("the tables are there"));
        });
    }
}

fn completed(process: &Process, execution: &Execution) {
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?} {:?}", process.steps(execution.id));
}

#[test]
fn jobs_in_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = server(folder.path()) else { return };
    sql(
        &server,
        "CREATE TABLE t (id bigint PRIMARY KEY, name varchar(12), amount numeric(12,2) NOT NULL); CREATE TABLE u (LIKE t INCLUDING ALL)",
    );
    all_modes(&server, folder.path());
    items_that_fail(&server, folder.path());
    read_and_restarted(&server, folder.path());
    a_token_in_another_database(&server, folder.path());
    two_processes(&server, folder.path());
    partitions(&server, folder.path());
    shared::partitions_run_wherever_somebody_works(&server, folder.path());
    shared::whoever_ends_leaves_its_partitions(&server, folder.path());
    shared::what_a_process_leaves_to_a_step_that_stops_counts(&server, folder.path());
    shared::a_stop_reaches_all_processes(&server, folder.path());
    shared::a_job_that_does_not_resolve_stops_no_other(&server, folder.path());
    shared::a_partition_that_fails_does_not_end_a_helper(&server, folder.path());
    events_in_the_order_of_commits(&server, folder.path());
    repeated_and_missing_keys(&server, folder.path());
    outage::a_query_that_fails_is_not_at_its_end(&server, folder.path());
    losses_are_counted(&server, folder.path());
    columns_keep_what_items_say(&server, folder.path());
    refused_rows_are_processed_once(&server, folder.path());
    elsewhere::refused_rows_elsewhere(&server, folder.path());
    a_last_chunk_that_is_refused(&server, folder.path());
    a_commit_that_is_refused(&server, folder.path());
    tokens_belong_to_one_run_of_a_step(&server, folder.path());
    a_start_after_a_long_history(&server, folder.path());
    times_of_chunks_cost_no_round_trip(&server, folder.path());
    statements_of_a_batchlet(&server, folder.path());
    created_together(&server);
    values::floats_with_all_their_digits(&server, folder.path());
    values::logs_of_two_repositories(&server, folder.path());
    refused::a_text_that_does_not_parse(&server);
    outage::the_database_of_a_writer_goes(&server, folder.path());
    outage::the_database_goes(&server, folder.path());
}

/// Counts the savepoints of chunks that wait for the answers to their writes.
#[derive(Default)]
struct Marks(AtomicUsize);

impl Around for Marks {
    fn marked(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A listener that takes the times of chunks does not make them wait for the answers to their writes.
fn times_of_chunks_cost_no_round_trip(server: &OwnServer, folder: &Path) {
    lines(folder, "in.json", 1..=95);
    for (needs, marks) in [(Needs::Chunks, 0), (Needs::Items, 0), (Needs::Results, 10)] {
        sql(server, "TRUNCATE t");
        let around = Arc::new(Marks::default());
        let counted = Arc::clone(&around) as Arc<dyn Around>;
        let mut process =
            Process::new(Arc::new(AroundBackend { inner: backend(server), around: counted }), folder.to_owned());
        let taken = Arc::new(Mutex::new(Vec::new()));
        let given = Arc::clone(&taken);
        process.engine.registry.listener("timed", move |_| Ok(Box::new(Timed(Arc::clone(&given), needs))));
        let xml = chunk(10, &in_file("in.json"), &into("t", &[]), "")
            .replace("<chunk", "<listeners><listener ref=\"timed\"/></listeners><chunk");
        let execution = process.start(&xml, &[]);
        completed(&process, &execution);
        assert_eq!(around.0.load(Ordering::Relaxed), marks, "{needs:?}");
        assert_eq!(taken.lock().iter().map(|chunk| chunk.items).sum::<u64>(), 95, "{needs:?}");
        assert_eq!(value(server, "SELECT count(*) FROM t"), "95");
    }
}

/// The statements of a batchlet are one transaction: a faulty one undoes the preceding ones.
fn statements_of_a_batchlet(server: &OwnServer, folder: &Path) {
    let process = process(server, folder);
    sql(server, "CREATE TABLE told (n int)");
    let run = |statement: &str| {
        let batchlet = artifact("batchlet", "sqlBatchlet", &[("database", &server.url()), ("statement", statement)]);
        let xml = job(&format!("<step id=\"s\">{batchlet}</step>"));
        process.engine.start(&xml, self::given(&[])).unwrap().run().unwrap()
    };
    let done = run("INSERT INTO told VALUES (1); INSERT INTO told VALUES (2)");
    assert_eq!(done.status, BatchStatus::Completed, "{done:?}");
    let wrong = run("INSERT INTO told VALUES (3); INSERT INTO told VALUES (1 / 0)");
    assert_eq!(wrong.status, BatchStatus::Failed);
    assert!(wrong.cause.as_deref().is_some_and(|cause| cause.contains("22012")), "{wrong:?}");
    assert_eq!(value(server, "SELECT string_agg(n::text, ',' ORDER BY n) FROM told"), "1,2");
}

/// A start costs the same after many executions. `QUAYLINE_HISTORY` sets their number.
fn a_start_after_a_long_history(server: &OwnServer, folder: &Path) {
    let history = std::env::var("QUAYLINE_HISTORY").ok().and_then(|text| text.parse().ok()).unwrap_or(300u64);
    let process = process(server, folder);
    let xml = job("<step id=\"s\"><batchlet ref=\"saying\"/></step>");
    let start = || {
        let begin = std::time::Instant::now();
        let launched = process.engine.start(&xml, given(&[])).unwrap();
        let took = begin.elapsed();
        assert_eq!(launched.run().unwrap().status, BatchStatus::Completed);
        took
    };
    // The shortest of some: other work on the machine makes starts longer, never shorter.
    let shortest = || (0..100).map(|_| start()).min().unwrap_or_default();
    let first = shortest();
    let real = history.min(2_000);
    for _ in 0..real {
        start();
    }
    copy_history(server, history - real);
    let last = shortest();
    eprintln!("a start takes {first:?}, and {last:?} after {history} executions, in a database");
    let there = value(server, "SELECT count(*) FROM quayline_jobs.record WHERE get_byte(key, 0) = 101");
    assert!(there.parse::<u64>().unwrap() >= history, "{there} executions");
    assert!(last < first * 10, "{first:?} became {last:?}");
}

/// Columns truncate nothing, and values that a column cannot store exactly are refused, for both forms of items and both ways of sending them.
fn columns_keep_what_items_say(server: &OwnServer, folder: &Path) {
    sql(
        server,
        "CREATE DOMAIN price AS numeric(6,2); CREATE TABLE kept (id int, c char(5), v varchar(3), b bit(4), n price, d date, t timestamp(0))",
    );
    let process = process(server, folder);
    let whole = ["1,abcde,abc,1010,1.50,2024-01-01,2024-01-01T10:00:00.0", "2,ab,,0001,100e-2,2024-01-01 00:00,"];
    let wrong = [
        ("3,abcdef,,,,,", "SQLSTATE-22001"),
        ("3,,abcd,,,,", "SQLSTATE-22001"),
        ("3,,,10101,,,", "SQLSTATE-22026"),
        ("3,,,,1.005,,", "has 3 decimals in n, and the column keeps 2 decimals"),
        ("3,,,,,2024-01-01T10:00,", "has a time of day in d"),
        ("3,,,,,,2024-01-01T10:00:00.5", "has 1 decimal of a second in t, and the column keeps 0"),
        ("3,,,,,,2024-01-01T10:00:00+02:00", "has a time zone in t, and the column keeps times without one"),
    ];
    let names = ["id", "c", "v", "b", "n", "d", "t"];
    let json = |row: &str| {
        let members = names.iter().zip(row.split(','));
        let member = |(name, text): (&&str, &str)| match (*name, text) {
            (_, "") => format!("\"{name}\":null"),
            ("id" | "n", number) => format!("\"{name}\":{number}"),
            _ => format!("\"{name}\":\"{text}\""),
        };
        format!("{{{}}}", members.map(member).collect::<Vec<_>>().join(","))
    };
    let run = |items: &str, send: &str, rows: &[String], more: &[(&str, &str)]| {
        sql(server, "TRUNCATE kept");
        std::fs::write(folder.join("kept.txt"), rows.join("\n") + "\n").unwrap();
        let mut list = vec![("table", "kept"), ("columns", "id,c,v,b,n,d,t"), ("items", items), ("send", send)];
        list.extend_from_slice(more);
        process.start(&chunk(10, &in_file("kept.txt"), &artifact("writer", "sqlWriter", &list), ""), &[])
    };
    for (items, send) in [("csv", "set"), ("csv", "rows"), ("json", "set"), ("json", "rows")] {
        let row = |text: &str| if items == "csv" { text.to_owned() } else { json(text) };
        completed(&process, &run(items, send, &whole.map(row), &[]));
        let kept = "SELECT string_agg(concat_ws('|', id, c, v, b, n, d, t), ' / ' ORDER BY id) FROM kept";
        assert_eq!(
            value(server, kept),
            "1|abcde|abc|1010|1.50|2024-01-01|2024-01-01 10:00:00 / 2|ab   |0001|1.00|2024-01-01",
            "{items} {send}"
        );
        for (text, cause) in wrong {
            let execution = run(items, send, &[row(text)], &[]);
            let found = execution.cause.unwrap_or_default();
            assert!(execution.status == BatchStatus::Failed && found.contains(cause), "{items} {send}: {found}");
        }
        completed(&process, &run(items, send, &[row("3,,,,1.005,2024-01-01T10:00,")], &[("inexact", "round")]));
        assert_eq!(value(server, kept), "3|1.01|2024-01-01");
    }
    let execution = run("json", "set", &["{\"id\":1,\"c\":\"a\",\"id\":2}".to_owned()], &[]);
    let cause = execution.cause.unwrap_or_default();
    assert!(cause.contains("item 1 of the chunk has the member id twice"), "{cause}");
    binary_numbers_and_others(server, folder, &process);
    // A key of fixed length leads a restart to the row after the checkpoint, regardless of padding.
    sql(
        server,
        "CREATE TABLE coded (c char(5)); INSERT INTO coded SELECT 'c' || n FROM generate_series(100, 199) AS n",
    );
    let reader = artifact("reader", "sqlReader", &[("query", "SELECT c FROM coded"), ("key", "c")]);
    let writer = artifact("writer", "sqlWriter", &[("table", "once"), ("columns", "c")]);
    sql(server, "CREATE TABLE once (c char(5) PRIMARY KEY CHECK (c <> 'c150'))");
    let xml = chunk(10, &reader, &writer, "");
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Failed);
    sql(server, "ALTER TABLE once DROP CONSTRAINT once_c_check");
    let again = process.restart(execution.id, &xml, &[]);
    completed(&process, &again);
    assert_eq!(process.steps(again.id)[0].counts.read, 50);
    assert_eq!(value(server, "SELECT count(*) FROM once"), "100");
}

/// Types whose values PostgreSQL changes without a word.
fn binary_numbers_and_others(server: &OwnServer, folder: &Path, process: &Process) {
    sql(server, "CREATE TABLE odd (r real, f float8, m money, o time, a name, j jsonb, z timestamptz)");
    let run = |item: &str| {
        std::fs::write(folder.join("odd.json"), format!("{item}\n")).unwrap();
        let list = [("table", "odd"), ("columns", "r,f,m,o,a,j,z")];
        process.start(&chunk(10, &in_file("odd.json"), &artifact("writer", "sqlWriter", &list), ""), &[])
    };
    completed(
        process,
        &run(
            r#"{"r":0.1,"f":0.30000000000000004,"m":1.5,"o":"10:00","a":"n","j":{"a":{"b":1}},"z":"2024-01-01T10:00:00+02"}"#,
        ),
    );
    for (item, cause) in [
        (r#"{"r":16777217}"#, "has more digits in r, and the column keeps those of a float"),
        (r#"{"f":0.123456789012345678}"#, "has more digits in f"),
        (r#"{"m":1.005}"#, "has 3 decimals in m"),
        (r#"{"o":"2024-01-01T10:00"}"#, "has a date in o, and the column keeps times of day"),
        (r#"{"j":{"a":{"b":1,"b":2}}}"#, "an object with two members b in j"),
    ] {
        let found = run(item).cause.unwrap_or_default();
        assert!(found.contains(cause), "{item}: {found}");
    }
    let found = run(&format!("{{\"a\":\"{}\"}}", "n".repeat(64))).cause.unwrap_or_default();
    assert!(found.contains("has 64 bytes in a, and the column keeps 63"), "{found}");
    values::arrays_and_rows(server, folder, process);
}

/// Adds executions with instances that are as the last one, without running them: a million runs would take a quarter of an hour.
fn copy_history(server: &OwnServer, count: u64) {
    let number = |key: &str| {
        value(
            server,
            &format!(
                "SELECT ('x' || encode(value, 'hex'))::bit(64)::bigint FROM quayline_jobs.record WHERE key = '{key}'"
            ),
        )
    };
    let (instance, execution) = (number("#i"), number("#e"));
    // Instance, its executions, its steps' states, its name; execution, its steps.
    let script = format!(
        "INSERT INTO quayline_jobs.record (key, value, token) \
         SELECT substring(key FOR strpos_ - 1) || int8send({{}} + n) || \
                CASE WHEN get_byte(key, 0) = 120 THEN int8send({execution} + n) ELSE substring(key FROM strpos_ + 8) END, value, token \
         FROM (SELECT *, position(int8send({{}}) IN key) AS strpos_ FROM quayline_jobs.record \
               WHERE get_byte(key, 0) IN ({{}}) AND position(int8send({{}}) IN key) > 0) AS of_last, generate_series(1, {count}) AS n"
    );
    let of = |number: &str, kinds: &str| {
        script.replacen("{}", number, 1).replacen("{}", number, 1).replacen("{}", kinds, 1).replacen("{}", number, 1)
    };
    // i, n, t and x have the number of the instance; e and s that of the execution.
    sql(server, &of(&instance, "105, 110, 116, 120"));
    sql(server, &of(&execution, "101, 115"));
    for (key, last) in [("#i", &instance), ("#e", &execution)] {
        sql(server, &format!("UPDATE quayline_jobs.record SET value = int8send({last} + {count}) WHERE key = '{key}'"));
    }
    // Maintenance that a server does in the days that these executions would have taken.
    sql(server, "VACUUM ANALYZE quayline_jobs.record");
    sql(server, "CHECKPOINT");
}

/// A set of items has the same effect as a statement for each item.
fn repeated_and_missing_keys(server: &OwnServer, folder: &Path) {
    let process = process(server, folder);
    let run = |items: &str, more: &[(&str, &str)]| {
        std::fs::write(folder.join("keys.json"), items).unwrap();
        let mut list = vec![("table", "keyed"), ("columns", "id,bal"), ("key", "id")];
        list.extend_from_slice(more);
        process.start(&chunk(10, &in_file("keys.json"), &artifact("writer", "sqlWriter", &list), ""), &[])
    };
    let rows = || value(server, "SELECT coalesce(string_agg(id || '=' || bal, ' ' ORDER BY id, bal), '') FROM keyed");
    let twice = "{\"id\":1,\"bal\":10}\n{\"id\":1,\"bal\":20}\n";
    sql(server, "CREATE TABLE keyed (id int, bal int)");
    for send in ["set", "rows"] {
        for missing in ["ignore", "error"] {
            sql(server, "TRUNCATE keyed; INSERT INTO keyed VALUES (1, 0)");
            let execution = run(twice, &[("mode", "update"), ("missing", missing), ("send", send)]);
            completed(&process, &execution);
            assert_eq!(rows(), "1=20", "{send} {missing}");
        }
        // Two rows for one item do not make up for an item without a row.
        for mode in ["update", "delete"] {
            sql(server, "TRUNCATE keyed; INSERT INTO keyed VALUES (1, 0), (1, 0), (2, 0)");
            let execution = run("{\"id\":1,\"bal\":5}\n{\"id\":9,\"bal\":5}\n", &[("mode", mode), ("send", send)]);
            assert_eq!(execution.status, BatchStatus::Failed, "{send} {mode}");
            assert_eq!(rows(), "1=0 1=0 2=0");
        }
        // A row cannot be deleted twice.
        sql(server, "TRUNCATE keyed; INSERT INTO keyed VALUES (1, 0)");
        assert_eq!(run(twice, &[("mode", "delete"), ("send", send)]).status, BatchStatus::Failed, "{send}");
    }
    sql(server, "TRUNCATE keyed; CREATE UNIQUE INDEX ON keyed (id)");
    for send in ["set", "rows"] {
        let execution = run(twice, &[("mode", "upsert"), ("send", send)]);
        completed(&process, &execution);
        let counts = process.steps(execution.id)[0].counts;
        assert_eq!((counts.read, counts.write, rows().as_str()), (2, 2, "1=20"), "{send}");
    }
}

/// Items without a row, values that were rounded, and members without a column had no trace. Each has one note with a count.
fn losses_are_counted(server: &OwnServer, folder: &Path) {
    let log = Arc::new(Log::default());
    let memory = crate::kit::medium();
    let mut processes = [process(server, folder), Process::new(crate::kit::backend(&memory), folder.to_owned())];
    for process in &mut processes {
        process.engine.observers.push(Arc::clone(&log) as Arc<dyn event::Observer>);
    }
    sql(server, "CREATE TABLE lossy (id int, n numeric(6,2))");
    let items =
        "{\"id\":1,\"n\":1.005}\n{\"id\":7,\"n\":1,\"x\":1}\n{\"id\":8,\"n\":2.001,\"x\":2,\"y\":0}\n{\"id\":1}\n";
    std::fs::write(folder.join("lossy.json"), items).unwrap();
    let url = server.url();
    for (send, elsewhere) in [("set", false), ("rows", false), ("set", true), ("rows", true)] {
        sql(server, "TRUNCATE lossy; INSERT INTO lossy VALUES (1, 0)");
        log.0.lock().clear();
        let mut list = vec![
            ("table", "lossy"),
            ("columns", "id,n"),
            ("key", "id"),
            ("mode", "update"),
            ("missing", "ignore"),
            ("inexact", "round"),
            ("send", send),
        ];
        if elsewhere {
            list.push(("database", url.as_str()));
        }
        let writer = artifact("writer", "sqlWriter", &list);
        let process = &processes[usize::from(elsewhere)];
        completed(process, &process.start(&chunk(3, &in_file("lossy.json"), &writer, ""), &[]));
        let said = log.0.lock().clone();
        for note in [
            "lossy: JOB-037: 2 items have no row to change",
            "lossy: JOB-038: 2 values have more than the column n keeps",
            "lossy: JOB-039: 1 item has no member n, so the column is null",
            "lossy: JOB-040: 2 items have a member x, which `columns` does not name",
            "lossy: JOB-040: 1 item has a member y",
        ] {
            assert_eq!(said.matches(note).count(), 1, "{send} {elsewhere} {note}: {said}");
        }
        assert_eq!(said.matches("JOB-0").count(), 5, "{said}");
    }
    // A chunk with a refused row is written again in parts. Its items were counted each time.
    sql(server, "CREATE TABLE refused (id int PRIMARY KEY)");
    let items = "{\"id\":1}\n{\"id\":2,\"x\":1}\n{\"id\":1}\n{\"id\":3}\n";
    std::fs::write(folder.join("refused.json"), items).unwrap();
    let skip = "<skippable-exception-classes><include class=\"SQLSTATE-23505\"/></skippable-exception-classes>";
    for (send, elsewhere) in [("set", false), ("rows", false), ("set", true), ("rows", true)] {
        sql(server, "TRUNCATE refused");
        log.0.lock().clear();
        let mut list = vec![("table", "refused"), ("columns", "id"), ("send", send)];
        if elsewhere {
            list.push(("database", url.as_str()));
        }
        let process = &processes[usize::from(elsewhere)];
        let xml = chunk(4, &in_file("refused.json"), &artifact("writer", "sqlWriter", &list), skip);
        completed(process, &process.start(&xml, &[]));
        let said = log.0.lock().clone();
        assert_eq!(said.matches("refused: JOB-040: 1 item has a member x").count(), 1, "{send} {elsewhere}: {said}");
        assert_eq!(value(server, "SELECT count(*) FROM refused"), "3");
    }
}

/// Rows that the database refuses are found by halves of their chunk. No item is read or processed twice.
fn refused_rows_are_processed_once(server: &OwnServer, folder: &Path) {
    sql(server, "TRUNCATE keyed");
    let ids = (1..=60).map(|n| if n % 25 == 0 { 1 } else { n });
    std::fs::write(folder.join("once.json"), ids.map(|id| format!("{{\"id\":{id}}}\n")).collect::<String>()).unwrap();
    let process = process(server, folder);
    let skip = "<skippable-exception-classes><include class=\"SQLSTATE-23505\"/></skippable-exception-classes>";
    let retry = "<retryable-exception-classes><include class=\"SQLSTATE-23505\"/></retryable-exception-classes>\
        <no-rollback-exception-classes><include class=\"SQLSTATE-23505\"/></no-rollback-exception-classes>";
    let processor = artifact("processor", "commandProcessor", &[("command", "echo >> calls; cat")]);
    for send in ["set", "rows"] {
        for classes in [skip.to_owned(), format!("{skip}{retry}")] {
            let _ = std::fs::remove_file(folder.join("calls"));
            sql(server, "TRUNCATE keyed");
            let writer = artifact("writer", "sqlWriter", &[("table", "keyed"), ("columns", "id"), ("send", send)]);
            let xml = chunk(20, &in_file("once.json"), &format!("{processor}{writer}"), &classes)
                .replace("item-count=\"20\"", "item-count=\"20\" retry-limit=\"1\"");
            let xml = xml.replace(
                "<step id=\"s\">",
                "<step id=\"s\"><properties><property name=\"quayline.rejects\" value=\"keep\"/></properties>",
            );
            let execution = process.start(&xml, &[]);
            completed(&process, &execution);
            let counts = process.steps(execution.id)[0].counts;
            let found = (counts.read, counts.write, counts.write_skip, counts.rollback);
            assert_eq!(found, (60, 58, 2, 0), "{send}: {counts:?}");
            let rejects = process.engine.repository.rejects(execution.id, None, 10).unwrap();
            let told: Vec<_> = rejects.iter().map(|(reject, _)| reject.message.as_str()).collect();
            let right = told[0].contains("item 5 of the chunk") && told[1].contains("item 10 of the chunk");
            assert!(right, "{send}: {told:?}");
            all_chunks_are_measured(&process, &execution);
            assert_eq!(value(server, "SELECT count(*) FROM keyed"), "58");
            assert_eq!(std::fs::read(folder.join("calls")).unwrap().len(), 60, "{send}");
        }
    }
}

/// A refusal is also detected at the end of a step.
fn a_last_chunk_that_is_refused(server: &OwnServer, folder: &Path) {
    sql(server, "TRUNCATE keyed");
    std::fs::write(folder.join("last.json"), "{\"id\":1}\n{\"id\":1}\n{\"id\":3}\n").unwrap();
    let process = process(server, folder);
    let skip = "<skippable-exception-classes><include class=\"SQLSTATE-23505\"/></skippable-exception-classes>";
    let writer = artifact("writer", "sqlWriter", &[("table", "keyed"), ("columns", "id")]);
    let execution = process.start(&chunk(10, &in_file("last.json"), &writer, skip), &[]);
    completed(&process, &execution);
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write, counts.write_skip, counts.rollback), (3, 2, 1, 0), "{counts:?}");
    all_chunks_are_measured(&process, &execution);
    assert_eq!(value(server, "SELECT count(*) FROM keyed"), "2");
}

/// For a constraint that is checked at commit, the item at fault is found and skipped without reading the chunk again, or the step fails.
fn a_commit_that_is_refused(server: &OwnServer, folder: &Path) {
    sql(server, "CREATE TABLE late (id int, CONSTRAINT late_key UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)");
    std::fs::write(folder.join("late.json"), "{\"id\":1}\n{\"id\":2}\n{\"id\":1}\n{\"id\":4}\n{\"id\":5}\n").unwrap();
    let process = process(server, folder);
    let writer = artifact("writer", "sqlWriter", &[("table", "late"), ("columns", "id")]);
    for (count, more) in [(10, ""), (3, ""), (1, "")] {
        let execution = process.start(&chunk(count, &in_file("late.json"), &writer, more), &[]);
        assert_eq!(execution.status, BatchStatus::Failed);
        let cause = execution.cause.unwrap_or_default();
        assert!(cause.contains("SQLSTATE-23505"), "{cause}");
        sql(server, "TRUNCATE late");
    }
    let skip = "<skippable-exception-classes><include class=\"SQLSTATE-23505\"/></skippable-exception-classes>";
    for count in [10, 3, 2, 1] {
        let processor = artifact("processor", "commandProcessor", &[("command", "echo >> late; cat")]);
        let artifacts = format!("{processor}{writer}");
        let execution = process.start(&chunk(count, &in_file("late.json"), &artifacts, skip), &[]);
        completed(&process, &execution);
        let counts = process.steps(execution.id)[0].counts;
        assert_eq!((counts.read, counts.write, counts.write_skip), (5, 4, 1), "item-count {count}: {counts:?}");
        all_chunks_are_measured(&process, &execution);
        assert_eq!(std::fs::read(folder.join("late")).unwrap().len(), 5, "item-count {count}");
        std::fs::remove_file(folder.join("late")).unwrap();
        assert_eq!(value(server, "SELECT string_agg(id::text, ' ' ORDER BY id) FROM late"), "1 2 4 5", "{count}");
        sql(server, "TRUNCATE late");
    }
}

/// A step that restarts from the beginning in its instance writes its first chunk, although a chunk with this number was written earlier. After a
/// restart, chunks may be smaller than the stored one.
fn tokens_belong_to_one_run_of_a_step(server: &OwnServer, folder: &Path) {
    sql(server, "CREATE TABLE twice (id int)");
    std::fs::write(folder.join("twice.json"), "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n").unwrap();
    let url = server.url();
    let writer = artifact("writer", "sqlWriter", &[("table", "twice"), ("columns", "id"), ("database", url.as_str())]);
    let memory = crate::kit::medium();
    let process = Process::new(crate::kit::backend(&memory), folder.to_owned());
    let step = chunk(10, &in_file("twice.json"), &writer, "")
        .replace("id=\"s\"", "id=\"s\" next=\"t\" allow-start-if-complete=\"true\"");
    let fails = "<property name=\"fail\" value=\"#{jobParameters['fail']}\"/>";
    let xml =
        format!("{step}<step id=\"t\"><batchlet ref=\"saying\"><properties>{fails}</properties></batchlet></step>");
    let first = process.start(&xml, &[("fail", "Bad")]);
    assert_eq!((first.status, value(server, "SELECT count(*) FROM twice").as_str()), (BatchStatus::Failed, "3"));
    let again = process.restart(first.id, &xml, &[]);
    completed(&process, &again);
    assert_eq!(value(server, "SELECT count(*) FROM twice"), "6");
    // A chunk of ten is there, as from before a crash, and the restart reads chunks of two.
    sql(server, "TRUNCATE twice");
    lines(folder, "in.json", 1..=13);
    let xml = |count| chunk(count, &in_file("in.json"), &writer, "");
    sql(server, "ALTER TABLE twice ADD CONSTRAINT small CHECK (id < 1)");
    let execution = process.start(&xml(10), &[]);
    assert_eq!(execution.status, BatchStatus::Failed);
    sql(server, "ALTER TABLE twice DROP CONSTRAINT small; INSERT INTO twice SELECT generate_series(1, 10)");
    let origin = format!(
        "j/{}/{}/s",
        execution.instance,
        process.engine.repository.instance(execution.instance).unwrap().unwrap().created_ms
    );
    sql(server, &format!("UPDATE quayline_chunk SET items = 10 WHERE origin = '{origin}' AND chunk = 0"));
    let again = process.restart(execution.id, &xml(4), &[]);
    completed(&process, &again);
    assert_eq!(value(server, "SELECT count(*) || ' ' || count(DISTINCT id) FROM twice"), "13 13");
    sql(server, "TRUNCATE quayline_chunk");
}

/// Partitions commit beside each other, and a reader that never looks back misses nothing. A queue of a store gets each event once, although it is full
/// again and again and two processes relay.
fn events_in_the_order_of_commits(server: &OwnServer, folder: &Path) {
    lines(folder, "events.json", 1..=3_000);
    sql(server, "TRUNCATE t");
    let mut process = process(server, folder);
    let store = crate::kit::store(&crate::kit::medium());
    let mut unit = store.begin().unwrap();
    store.define_queue(&mut unit, QueueDefinition { depth_max: 20, ..QueueDefinition::local("EVENTS") }).unwrap();
    unit.commit().unwrap();
    let queue = store.queue("EVENTS").unwrap();
    let relay = || Relay::new(store.clone(), queue.clone(), TopicFilter::ALL);
    let (filter, relayed) = (TopicFilter::ALL, Some(Arc::new(relay())));
    process.engine.keeping =
        Some(Keeping { filter, checkpoint_sample_ms: 0, retain: 100_000, queue: None, relay: relayed });
    // It takes events from here on.
    assert!(relay().run(&process.engine.repository).unwrap());
    let mapper = artifact("mapper", "fileMapper", &[("file", "events.json"), ("partitions", "6"), ("threads", "4")]);
    let reader = artifact(
        "reader",
        "fileReader",
        &[("file", "events.json"), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")],
    );
    let chunk = format!("<chunk item-count=\"10\">{reader}{}</chunk>", into("t", &[]));
    let xml = format!("<step id=\"s\">{chunk}<partition>{mapper}</partition></step>");
    let over = std::sync::atomic::AtomicBool::new(false);
    let begin = process.engine.repository.newest_event().unwrap();
    let (execution, heard) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let repository = Repository::new(backend(server));
            let (mut at, mut heard) = (begin, Vec::new());
            loop {
                let was_over = over.load(std::sync::atomic::Ordering::SeqCst);
                let found = repository.events(at, 7).unwrap();
                if let Some((last, _)) = found.last() {
                    at = *last;
                } else if was_over {
                    return heard;
                }
                heard.extend(found);
            }
        });
        let relays = || {
            let (repository, relay) = (Repository::new(backend(server)), relay());
            loop {
                let was_over = over.load(std::sync::atomic::Ordering::SeqCst);
                if relay.run(&repository).unwrap() && was_over {
                    break;
                }
            }
        };
        let both = [scope.spawn(relays), scope.spawn(relays)];
        let got = scope.spawn(|| {
            let mut got = Vec::new();
            loop {
                let mut unit = store.begin().unwrap();
                match queue.get(&mut unit, Select::First, GetWait::AtMostMs(10_000)) {
                    Ok(message) => got.push(String::from_utf8(message.payload).unwrap()),
                    Err(_) => return got,
                }
                unit.commit().unwrap();
            }
        });
        let execution = process.start(&xml, &[]);
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        both.into_iter().for_each(|relay| assert!(relay.join().is_ok()));
        let heard = reader.join().unwrap();
        let expected: Vec<String> = heard.iter().map(|(_, event)| event.json().to_string()).collect();
        assert_eq!(got.join().unwrap(), expected);
        (execution, heard)
    });
    completed(&process, &execution);
    assert_eq!(heard, process.engine.repository.events(begin, usize::MAX).unwrap());
    let of = |topic: &str| heard.iter().filter(|(_, event)| event.topic == topic).count() as u64;
    assert_eq!(of(event::PARTITION_COMPLETED), 6);
    assert!(of(event::CHECKPOINT) >= 300, "{}", of(event::CHECKPOINT));
    assert_eq!(heard.last().unwrap().1.topic, event::INSTANCE_COMPLETED);
    process.engine.repository.trim_events(100).unwrap();
    let left = process.engine.repository.events(EventPosition::default(), usize::MAX).unwrap();
    assert_eq!(left, heard[heard.len() - 100..]);
}

/// Insert, upsert, update and delete, in one statement for a chunk and in one for each item, from JSON and CSV.
fn all_modes(server: &OwnServer, folder: &Path) {
    lines(folder, "in.json", 1..=1_050);
    let csv: String = (1..=1_050).map(|n| format!("{n},\"new, {n}\",{}\n", n * 2)).collect();
    std::fs::write(folder.join("in.csv"), csv).unwrap();
    let process = process(server, folder);
    for send in ["set", "rows"] {
        let run = |file: &str, more: &[(&str, &str)]| {
            let mut list = vec![("send", send)];
            list.extend_from_slice(more);
            let execution = process.start(&chunk(100, &in_file(file), &into("t", &list), ""), &[]);
            completed(&process, &execution);
            let step = &process.steps(execution.id)[0];
            assert_eq!((step.counts.read, step.counts.write, step.counts.commit), (1_050, 1_050, 11));
        };
        run("in.json", &[]);
        assert_eq!(value(server, "SELECT count(*) || ' ' || sum(amount) FROM t"), "1050 552300.00");
        run("in.csv", &[("items", "csv"), ("mode", "upsert"), ("key", "id")]);
        assert_eq!(value(server, "SELECT name || ' ' || amount FROM t WHERE id = 7"), "new, 7 14.00");
        run("in.json", &[("mode", "update"), ("key", "id")]);
        assert_eq!(value(server, "SELECT name || ' ' || amount FROM t WHERE id = 7"), "row 7 7.50");
        run("in.csv", &[("items", "csv"), ("mode", "delete"), ("key", "id")]);
        assert_eq!(value(server, "SELECT count(*) FROM t"), "0");
    }
}

/// A refused commit loses nothing: the error names the item, a skip loses only that item, a restart continues.
fn items_that_fail(server: &OwnServer, folder: &Path) {
    lines(folder, "in.json", 1..=300);
    sql(server, "INSERT INTO t VALUES (137, 'there', 0)");
    let process = process(server, folder);
    for send in ["set", "rows"] {
        let failing = chunk(50, &in_file("in.json"), &into("t", &[("send", send)]), "");
        let execution = process.start(&failing, &[]);
        assert_eq!(execution.status, BatchStatus::Failed);
        let cause = execution.cause.clone().unwrap();
        assert!(cause.contains("item 37 of the chunk") && cause.contains("SQLSTATE-23505"), "{cause}");
        assert!(!cause.contains("137"), "no value: {cause}");
        let counts = process.steps(execution.id)[0].counts;
        assert_eq!((counts.read, counts.write, counts.commit), (100, 100, 2), "two chunks are durable");
        assert_eq!(value(server, "SELECT count(*) FROM t WHERE id <= 100"), "100");
        assert_eq!(value(server, "SELECT count(*) FROM t"), "101", "nothing of the third chunk");
        sql(server, "DELETE FROM t WHERE id = 137");
        let again = process.restart(execution.id, &failing, &[]);
        completed(&process, &again);
        assert_eq!(process.steps(again.id)[0].counts.read, 200, "what is durable is not read again");
        assert_eq!(value(server, "SELECT count(*) || ' ' || max(id) FROM t"), "300 300");
        sql(server, "DELETE FROM t WHERE id NOT IN (137, 205)");
        let skip = "<skippable-exception-classes><include class=\"java.sql.SQLIntegrityConstraintViolationException\"/></skippable-exception-classes>";
        let execution = process.start(&chunk(50, &in_file("in.json"), &into("t", &[("send", send)]), skip), &[]);
        completed(&process, &execution);
        let counts = process.steps(execution.id)[0].counts;
        assert_eq!((counts.read, counts.write, counts.write_skip), (300, 298, 2));
        assert_eq!(value(server, "SELECT count(*) FROM t"), "300");
        // Rows that are not there to be deleted.
        sql(server, "DELETE FROM t WHERE id = 260");
        let delete = into("t", &[("send", send), ("mode", "delete"), ("key", "id")]);
        let execution = process.start(&chunk(50, &in_file("in.json"), &delete, ""), &[]);
        let cause = execution.cause.unwrap_or_default();
        assert!(cause.contains("item 10 of the chunk") && cause.contains("SQLSTATE-02000"), "{cause}");
        assert_eq!(value(server, "SELECT count(*) FROM t"), "49");
        sql(server, "TRUNCATE t; INSERT INTO t VALUES (137, 'there', 0)");
    }
    sql(server, "TRUNCATE t");
    std::fs::write(folder.join("bad.json"), "{\"id\":1,\"name\":\"a\",\"amount\":1}\n{\"id\":2},{\"id\":3}\n").unwrap();
    let execution = process.start(&chunk(50, &in_file("bad.json"), &into("t", &[]), ""), &[]);
    let cause = execution.cause.unwrap_or_default();
    assert!(cause.contains("item 2 of the chunk") && cause.contains("SQLSTATE-22P02"), "{cause}");
    assert_eq!(value(server, "SELECT count(*) FROM t"), "0");
}

/// Reads rows in the order of a key of two columns. A restart continues after the key, ignoring rows inserted before it.
fn read_and_restarted(server: &OwnServer, folder: &Path) {
    sql(
        server,
        "CREATE TABLE k (a int, b text, v text, PRIMARY KEY (a, b)); INSERT INTO k SELECT n / 3, 'b' || n % 3, repeat('x', n % 50) FROM generate_series(1, 2500) AS n",
    );
    let reader = |items: &str| {
        artifact(
            "reader",
            "sqlReader",
            &[("query", "SELECT a, b, v FROM k WHERE a >= 0;"), ("key", "a,b"), ("items", items), ("fetch", "100")],
        )
    };
    let process = process(server, folder);
    let writer = artifact("writer", "fileWriter", &[("file", "rows.csv")]);
    let execution = process.start(&chunk(70, &reader("csv"), &writer, ""), &[]);
    completed(&process, &execution);
    let rows = std::fs::read_to_string(folder.join("rows.csv")).unwrap();
    assert_eq!(rows.lines().count(), 2_500);
    assert_eq!(rows.lines().nth(2), Some("1,b0,xxx"));
    // The target refuses one row; the reader continues after the last chunk.
    sql(server, "CREATE TABLE copy (a int, b text, v text CHECK (v <> repeat('x', 49)), PRIMARY KEY (a, b))");
    let write = artifact("writer", "sqlWriter", &[("table", "copy"), ("columns", "a,b,v")]);
    let xml = chunk(20, &reader("json"), &write, "");
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Failed, "{execution:?}");
    assert_eq!(process.steps(execution.id)[0].counts.read, 40);
    sql(
        server,
        "ALTER TABLE copy DROP CONSTRAINT copy_v_check; INSERT INTO k VALUES (-1, 'z', 'excluded'), (0, 'a', 'before')",
    );
    let again = process.restart(execution.id, &xml, &[]);
    completed(&process, &again);
    assert_eq!(process.steps(again.id)[0].counts.read, 2_460);
    assert_eq!(value(server, "SELECT count(*) || ' ' || count(DISTINCT (a, b)) FROM copy"), "2500 2500");
    assert_eq!(value(server, "SELECT count(*) FROM k JOIN copy USING (a, b, v)"), "2500");
    let twice = artifact("reader", "sqlReader", &[("query", "SELECT a, v FROM k"), ("key", "a")]);
    let execution = process.start(&chunk(20, &twice, &writer, ""), &[]);
    let cause = execution.cause.unwrap_or_default();
    assert!(cause.contains("have the same a"), "{cause}");
    // Regression: keys that are equal but have different texts were not noticed, also with a page and a checkpoint between them.
    sql(
        server,
        "CREATE TABLE decimals (k numeric, v text); INSERT INTO decimals VALUES (1.0, 'a'), (1.00, 'b'), (2, 'c')",
    );
    for fetch in ["1", "100"] {
        let list = [("query", "SELECT k, v FROM decimals"), ("key", "k"), ("fetch", fetch)];
        let execution = process.start(&chunk(1, &artifact("reader", "sqlReader", &list), &writer, ""), &[]);
        let cause = execution.cause.unwrap_or_default();
        assert!(cause.contains("have the same k"), "{cause}");
        assert_eq!(process.steps(execution.id)[0].counts.write, 0, "a restart would leave the second row out");
    }
}

/// The repository is in memory, the rows are in the database: each chunk is written once, for a crash at any point between the two commits.
fn a_token_in_another_database(server: &OwnServer, folder: &Path) {
    lines(folder, "in.json", 1..=95);
    let url = server.url();
    let writer = |table: &str| into(table, &[("database", url.as_str())]);
    let medium = crate::kit::medium();
    let process = Process::new(crate::kit::backend(&medium), folder.to_owned());
    sql(server, "INSERT INTO u VALUES (55, 'there', 0)");
    let xml = chunk(10, &in_file("in.json"), &writer("u"), "");
    let execution = process.start(&xml, &[]);
    let cause = execution.cause.clone().unwrap_or_default();
    assert!(cause.contains("item 5 of the chunk"), "{cause}");
    assert_eq!(value(server, "SELECT count(*) FROM u"), "51");
    // The state is the same as if the chunk had been committed there, and the process had ended before its own commit.
    sql(
        server,
        "DELETE FROM u WHERE id = 55; INSERT INTO u SELECT n, 'x', 0 FROM generate_series(51, 60) AS n; UPDATE quayline_chunk SET chunk = 5, items = 10",
    );
    let again = process.restart(execution.id, &xml, &[]);
    completed(&process, &again);
    assert_eq!(value(server, "SELECT count(*) || ' ' || count(*) FILTER (WHERE name = 'x') FROM u"), "95 10");
    // Completed steps remove their tokens. Otherwise the table would grow with each run.
    assert_eq!(value(server, "SELECT count(*) FROM quayline_chunk"), "0");
    sql(server, "TRUNCATE u");
}

/// Another process takes over from an ended process, which then commits nothing more. A live process is not taken over.
fn two_processes(server: &OwnServer, folder: &Path) {
    lines(folder, "in.json", 1..=100);
    let xml = chunk(10, &in_file("in.json"), &into("u", &[]), "");
    let first = process(server, folder);
    let launched = first.engine.start(&job(&xml), given(&[])).unwrap();
    let id = launched.id();
    let second = Repository::new(backend(server));
    assert!(second.recover().unwrap().is_empty(), "the first process lives");
    // The server ends all sessions of the first process, as it does when the process is killed.
    sql(
        server,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'quayline'",
    );
    let mut taken = Vec::new();
    for _ in 0..100 {
        // The first process opens a session again within half a second; then it lives.
        taken = second.recover().unwrap_or_default();
        if !taken.is_empty() {
            break;
        }
        sql(
            server,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'quayline'",
        );
    }
    assert_eq!(taken.iter().map(|execution| execution.id).collect::<Vec<_>>(), [id]);
    // The first process tries to continue and is refused: none of its work is stored.
    let refused = launched.run();
    assert!(matches!(refused, Err(BatchError::Fenced { .. })), "{refused:?}");
    assert_eq!(value(server, "SELECT count(*) FROM u"), "0");
    let third = process(server, folder);
    let again = third.engine.restart(id, &job(&xml), given(&[]), Drift::Refuse).unwrap().run().unwrap();
    completed(&third, &again);
    assert_eq!(value(server, "SELECT count(*) FROM u"), "100");
    sql(server, "TRUNCATE u");
}

/// More partitions than threads, each with separate checkpoints, rows and counters.
fn partitions(server: &OwnServer, folder: &Path) {
    let reader = artifact(
        "reader",
        "sqlReader",
        &[
            (
                "query",
                "SELECT n AS id, 'n' AS name, 1 AS amount FROM generate_series(#{partitionPlan['from']}::bigint, #{partitionPlan['from']}::bigint + 9) AS n",
            ),
            ("key", "id"),
        ],
    );
    let plan: String = (0..60)
        .map(|n| format!("<properties partition=\"{n}\"><property name=\"from\" value=\"{}\"/></properties>", n * 10))
        .collect();
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"4\">{reader}{}</chunk><partition><plan partitions=\"60\" threads=\"8\">{plan}</plan></partition></step>",
        into("u", &[])
    );
    let process = process(server, folder);
    sql(server, "INSERT INTO u VALUES (307, 'there', 0)");
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Failed);
    assert_eq!(value(server, "SELECT count(*) FROM u"), "595", "59 partitions, and the first chunk of one");
    sql(server, "DELETE FROM u WHERE id = 307");
    let again = process.restart(execution.id, &xml, &[]);
    completed(&process, &again);
    assert_eq!(process.steps(again.id)[0].counts.read, 6, "only what was left of one partition");
    assert_eq!(value(server, "SELECT count(*) || ' ' || sum(id) FROM u"), "600 179700");
    sql(server, "TRUNCATE u");
}
