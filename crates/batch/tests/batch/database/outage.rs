//! Outages of the database, of the repository and of a writer: a job waits and continues, or ends and can be restarted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quayline_batch::event::{Event, LOG, Observer};
use quayline_batch::{BatchError, BatchStatus, Repository};
use quayline_postgres::Connection;
use quayline_postgres::server::OwnServer;

use super::{artifact, backend, chunk, completed, in_file, into, lines, process, sql, value};
use crate::kit::{Process, given, job};

/// Lines of job logs.
#[derive(Default)]
struct LogLines(Mutex<Vec<String>>);

impl Observer for LogLines {
    fn event(&self, event: &Event) {
        self.0.lock().push(event.text.clone());
    }

    fn wants(&self, topic: &str) -> bool {
        topic == LOG
    }
}

/// Returns the duration of an outage, which is longer than the first pauses between two attempts. `QUAYLINE_OUTAGE_MS` overrides it: an outage of
/// 30 seconds takes the same path, with more attempts.
fn outage() -> Duration {
    let ms = std::env::var("QUAYLINE_OUTAGE_MS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(ms.unwrap_or(500))
}

/// The server stops in the middle of a job and returns: the job waits and ends with each row once. Then it stops for good: the job ends, and
/// continues when a database is available again.
pub(super) fn the_database_goes(server: &OwnServer, folder: &Path) {
    // More than a fast machine writes while the server stops.
    const ROWS: u32 = 240_000;
    lines(folder, "in.json", 1..=ROWS);
    let xml = chunk(50, &in_file("in.json"), &into("u", &[]), "");
    let waits = |patience| {
        let repository = Repository::new(backend(server)).with_patience(Duration::from_secs(patience));
        repository.recover().unwrap();
        let mut process = process(server, folder);
        process.engine.repository = Arc::new(repository);
        process
    };
    let rows = || {
        let mut connection = Connection::open(&server.endpoint()).ok()?;
        let answers = connection.query("SELECT count(*) FROM u", &[]).ok()?;
        answers.row(0).and_then(|row| row.int8(0))
    };
    let until = |count: i64| {
        for _ in 0..2_000 {
            if rows().is_some_and(|found| found >= count) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the job does not reach {count} rows");
    };
    let mut patient = waits(120);
    let lines = Arc::new(LogLines::default());
    patient.engine.observers.push(Arc::clone(&lines) as Arc<dyn Observer>);
    let execution = std::thread::scope(|scope| {
        let running = scope.spawn(|| patient.start(&xml, &[]));
        for _ in 0..2 {
            // The rows grow again only after the job has connected again, so the second outage is one of its own.
            until(rows().unwrap() + 5_000);
            server.stop();
            std::thread::sleep(outage());
            server.run().unwrap();
        }
        running.join().unwrap()
    });
    completed(&patient, &execution);
    let step = patient.steps(execution.id).remove(0);
    // The step has waited through both outages, and has said so.
    let said = |text: &str| lines.0.lock().iter().filter(|line| line.contains(text)).count();
    assert!(said("the database does not answer; the step waits for it, at most 120 s") >= 2, "{:?}", lines.0.lock());
    assert!(said("the database answers again after") >= 2, "{:?}", lines.0.lock());
    assert!(Duration::from_nanos(step.times.wait_ns) >= outage() * 2, "{:?}", step.times);
    let counts = step.counts;
    assert_eq!((counts.read, counts.write), (u64::from(ROWS), u64::from(ROWS)));
    assert_eq!(value(server, "SELECT count(*) || ' ' || count(DISTINCT id) FROM u"), format!("{ROWS} {ROWS}"));
    sql(server, "TRUNCATE u");
    let impatient = waits(1);
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| impatient.engine.start(&job(&xml), given(&[])).unwrap().run());
        until(5_000);
        server.stop();
        running.join().unwrap()
    });
    assert!(matches!(ended, Err(BatchError::Lost(_))), "{ended:?}");
    drop(impatient);
    server.run().unwrap();
    let next = process(server, folder);
    let last = next.engine.repository.latest(0, 1).unwrap().remove(0);
    // By the server's clock the process may count as alive for a minute after the server's restart; the test does not wait.
    if last.status.is_running() {
        sql(server, "UPDATE quayline_jobs.owner SET until = now() - interval '1 second'");
        assert_eq!(next.engine.repository.recover().unwrap().len(), 1);
    }
    let again = next.restart(last.id, &xml, &[]);
    completed(&next, &again);
    assert_eq!(value(server, "SELECT count(*) || ' ' || count(DISTINCT id) FROM u"), format!("{ROWS} {ROWS}"));
}

/// The repository is in memory, and the database of the writer goes: the step waits for it, and each row is written once.
pub(super) fn the_database_of_a_writer_goes(server: &OwnServer, folder: &Path) {
    const ROWS: u32 = 20_000;
    sql(server, "TRUNCATE u");
    lines(folder, "in.json", 1..=ROWS);
    let xml = chunk(4, &in_file("in.json"), &into("u", &[("database", server.url().as_str())]), "");
    let lines = Arc::new(LogLines::default());
    let mut process = Process::new(crate::kit::backend(&crate::kit::medium()), folder.to_owned());
    process.engine.observers.push(Arc::clone(&lines) as Arc<dyn Observer>);
    let execution = std::thread::scope(|scope| {
        let running = scope.spawn(|| process.start(&xml, &[]));
        while value(server, "SELECT count(*) FROM u").parse::<u32>().unwrap() < 2_000 {
            std::thread::sleep(Duration::from_millis(5));
        }
        server.stop();
        std::thread::sleep(outage());
        server.run().unwrap();
        running.join().unwrap()
    });
    completed(&process, &execution);
    assert!(
        lines.0.lock().iter().any(|line| line.contains("the database answers again after")),
        "{:?}",
        lines.0.lock()
    );
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write), (u64::from(ROWS), u64::from(ROWS)));
    assert_eq!(value(server, "SELECT count(*) || ' ' || count(DISTINCT id) FROM u"), format!("{ROWS} {ROWS}"));
    assert_eq!(execution.status, BatchStatus::Completed);
    sql(server, "TRUNCATE u");
}

/// Regression: a job that skips exceptions skipped the failure of a query. The reader was then at its end, and the step ended COMPLETED without the
/// remaining rows.
pub(super) fn a_query_that_fails_is_not_at_its_end(server: &OwnServer, folder: &Path) {
    sql(
        server,
        "CREATE TABLE parts (id int, d int); INSERT INTO parts SELECT n, 1 FROM generate_series(1, 5000) AS n; \
         UPDATE parts SET d = 0 WHERE id = 2500",
    );
    let reader = artifact("reader", "sqlReader", &[("query", "SELECT id, 10 / d AS q FROM parts"), ("key", "id")]);
    let skip = "<skippable-exception-classes><include class=\"java.lang.Exception\"/></skippable-exception-classes>";
    let xml = chunk(100, &reader, "<writer ref=\"picky\"/>", skip).replace("<chunk", "<chunk skip-limit=\"50\"");
    let process = process(server, folder);
    let mut last = process.start(&xml, &[]);
    let mut read = 0;
    for (cause, repair) in [
        ("SQLSTATE-22012", "UPDATE parts SET d = 1; UPDATE parts SET id = 3501 WHERE id = 3500"),
        ("have the same id", "UPDATE parts SET id = 3500 WHERE ctid = (SELECT min(ctid) FROM parts WHERE id = 3501)"),
    ] {
        assert_eq!(last.status, BatchStatus::Failed, "{cause}");
        assert!(last.cause.as_deref().is_some_and(|found| found.contains(cause)), "{last:?}");
        read += process.steps(last.id)[0].counts.read;
        sql(server, repair);
        last = process.restart(last.id, &xml, &[]);
    }
    completed(&process, &last);
    let counts = process.steps(last.id)[0].counts;
    assert_eq!((read + counts.read, counts.read_skip), (5_000, 0));
}
