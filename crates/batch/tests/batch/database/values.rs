//! Values of arrays and rows, and the logs of two repositories.

use std::path::Path;
use std::sync::Arc;

use quayline_batch::BatchStatus;
use quayline_batch::event;
use quayline_batch::log::JobLogs;
use quayline_batch::record::Execution;
use quayline_postgres::server::OwnServer;

use super::{artifact, chunk, completed, in_file, process, sql, value};
use crate::kit::Process;

/// Regression: elements of arrays and parts of rows were changed without a word.
pub(super) fn arrays_and_rows(server: &OwnServer, folder: &Path, process: &Process) {
    sql(
        server,
        "CREATE TYPE pair AS (n numeric(6,2), t text); CREATE TYPE words AS (a text, b int); \
         CREATE TABLE many (n numeric(6,2)[], d date[], p price[], w words, s text[]); CREATE TABLE paired (p pair)",
    );
    let run = |items: &str, item: &str, more: (&str, &str)| {
        std::fs::write(folder.join("many.txt"), format!("{item}\n")).unwrap();
        let list = [("table", "many"), ("columns", "n,d,p,w,s"), ("items", items), more];
        process.start(&chunk(10, &in_file("many.txt"), &artifact("writer", "sqlWriter", &list), ""), &[])
    };
    let kept = "SELECT concat_ws('|', n, d, p, w, s) FROM many";
    for (items, item) in [
        ("json", r#"{"n":[1.5, null, "2.25"] ,"d":["2024-01-01"],"p":"{1.25}","w":{"a":"x","b":1},"s":["1.234"]}"#),
        ("csv", r#""{1.5,NULL,2.25}","{2024-01-01}","{1.25}","(x,1)","{1.234}""#),
    ] {
        sql(server, "TRUNCATE many");
        completed(process, &run(items, item, ("inexact", "error")));
        assert_eq!(value(server, kept), "{1.50,NULL,2.25}|{2024-01-01}|{1.25}|(x,1)|{1.234}", "{items}");
    }
    for (items, item, cause) in [
        ("json", r#"{"n":[1.5,1.234]}"#, "has 3 decimals in n, and the column keeps 2 decimals"),
        ("json", r#"{"n":"{1.5,1.234}"}"#, "has 3 decimals in n"),
        ("json", r#"{"d":["2024-01-01", "2024-01-01T10:00"]}"#, "has a time of day in d"),
        ("json", r#"{"p":[[1.5],[1.234]]}"#, "has 3 decimals in p"),
        ("csv", r#""{1.5,1.234}",,,,"#, "has 3 decimals in n"),
        ("csv", r#""[0:1]={1.5,1.234}",,,,"#, "has 3 decimals in n"),
        ("csv", r#","{""2024-01-01 10:00""}",,,"#, "has a time of day in d"),
    ] {
        let found = run(items, item, ("inexact", "error")).cause.unwrap_or_default();
        assert!(found.contains(cause), "{items} {item}: {found}");
    }
    sql(server, "TRUNCATE many");
    completed(process, &run("json", r#"{"n":[1.5,1.234]}"#, ("inexact", "round")));
    assert_eq!(value(server, kept), "{1.50,1.23}");
    std::fs::write(folder.join("many.txt"), "{\"p\":{\"n\":1.234}}\n").unwrap();
    for (inexact, fails) in [("error", true), ("round", false)] {
        let list = [("table", "paired"), ("columns", "p"), ("inexact", inexact)];
        let execution =
            process.start(&chunk(10, &in_file("many.txt"), &artifact("writer", "sqlWriter", &list), ""), &[]);
        let cause = execution.cause.clone().unwrap_or_default();
        assert_eq!(fails, cause.contains("the column p of paired has a row type"), "{execution:?}");
    }
}

/// Regression: a database that shows floats with 15 digits made two keys equal. A restart lost or repeated rows, and items had other values.
pub(super) fn floats_with_all_their_digits(server: &OwnServer, folder: &Path) {
    let set = |to: &str| {
        let statement = format!("EXECUTE format('ALTER DATABASE %I {to}', current_database())");
        sql(server, &format!("DO $$ BEGIN {statement}; END $$"));
    };
    sql(
        server,
        "CREATE TABLE near AS SELECT (0.7 + n * 1.1e-16)::float8 AS k, n FROM generate_series(1, 9) AS n; \
         CREATE TABLE copied (k float8, n int CHECK (n <> 7))",
    );
    set("SET extra_float_digits = 0");
    let process = process(server, folder);
    let reader = artifact("reader", "sqlReader", &[("query", "SELECT k, n FROM near"), ("key", "k"), ("fetch", "3")]);
    let writer = artifact("writer", "sqlWriter", &[("table", "copied"), ("columns", "k,n"), ("items", "json")]);
    let xml = chunk(1, &reader, &writer, "");
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Failed);
    sql(server, "ALTER TABLE copied DROP CONSTRAINT copied_n_check");
    completed(&process, &process.restart(execution.id, &xml, &[]));
    set("RESET extra_float_digits");
    assert_eq!(value(server, "SELECT count(*) FROM copied"), "9");
    assert_eq!(value(server, "SELECT count(*) FROM near JOIN copied USING (k, n)"), "9");
}

/// Regression: the logs of two repositories in one folder were in one file.
pub(super) fn logs_of_two_repositories(server: &OwnServer, folder: &Path) {
    let run = || {
        let mut process = process(server, folder);
        let logs = Arc::new(JobLogs::of(folder, &process.engine.repository).unwrap());
        process.engine.observers.push(Arc::clone(&logs) as Arc<dyn event::Observer>);
        let execution = process.start("<step id=\"s\"><batchlet ref=\"saying\"/></step>", &[]);
        (logs, execution)
    };
    let (logs, execution) = run();
    let path = logs.path(execution.id);
    assert!(path.is_file() && path.parent() != Some(&folder.join("job-logs")) && logs.find(&execution) == path);
    // An earlier version wrote it elsewhere, and another repository has an execution of the same number.
    let old = folder.join(format!("job-logs/{}.log", execution.id));
    std::fs::rename(&path, &old).unwrap();
    assert_eq!(logs.find(&execution), old);
    let other = Execution { created_ms: execution.created_ms + 1, ..execution.clone() };
    assert_eq!(logs.find(&other), path);
    // Another database.
    sql(server, "DELETE FROM quayline_jobs.record WHERE key = '#u'");
    let (others, other) = run();
    assert_ne!(logs.path(other.id), others.path(other.id));
    assert!(others.path(other.id).is_file());
}
