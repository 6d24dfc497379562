//! Rows of Parquet files in jobs.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use quayline_batch::BatchStatus;
use quayline_batch::event::Observer;
use quayline_batch::record::Execution;

use crate::builtins::Log;
use crate::kit::{Process, backend, ended, medium, properties};

const SHAPE: &str = "row\n  id decimal(9)\n  name? text\n  tags* text\n";

fn rows(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = match number % 3 {
            0 => writeln!(text, "{{\"id\":{number},\"name\":\"row {number}\",\"tags\":[]}}"),
            1 => writeln!(text, "{{\"id\":{number},\"tags\":[\"a\",\"b {number}\"]}}"),
            _ => writeln!(text, "{{\"id\":{number},\"name\":\"é\",\"tags\":[\"\"]}}"),
        };
        text
    })
}

fn artifact(element: &str, name: &str, list: &[(&str, &str)]) -> String {
    format!("<{element} ref=\"quayline.{name}\">{}</{element}>", properties(list))
}

fn step(id: &str, next: &str, items: usize, inside: &str) -> String {
    let next = if next.is_empty() { String::new() } else { format!(" next=\"{next}\"") };
    format!("<step id=\"{id}\"{next}><chunk item-count=\"{items}\">{inside}</chunk></step>")
}

/// Writes JSON lines to a Parquet file and reads them back.
fn there_and_back(items: usize, group_bytes: &str) -> String {
    let write = [("file", "t.parquet"), ("shape", "row.shape"), ("group-bytes", group_bytes)];
    let there = artifact("reader", "fileReader", &[("file", "in.json")])
        + "<processor ref=\"picky\"><properties><property name=\"fail\" value=\"x\"/></properties></processor>"
        + &artifact("writer", "parquetWriter", &write);
    let back = artifact("reader", "parquetReader", &[("file", "t.parquet"), ("shape", "row.shape")])
        + &artifact("writer", "fileWriter", &[("file", "out.json")]);
    step("there", "back", items, &there) + &step("back", "", items, &back)
}

fn prepare(folder: &Path, count: usize) -> Process {
    std::fs::write(folder.join("in.json"), rows(count)).unwrap();
    std::fs::write(folder.join("row.shape"), SHAPE).unwrap();
    Process::new(backend(&medium()), folder.to_owned())
}

fn completed(execution: &Execution) {
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
}

/// Small chunks and large ones, one row group and many: the rows come back as they went.
#[test]
fn rows_go_to_parquet_and_come_back() {
    let mut lengths = Vec::new();
    for (items, group_bytes, count) in [
        (1, "100", 40),
        (7, "16777216", 5_000),
        (1_000, "16777216", 5_500),
        (2_000, "100000", 9_000),
        (10, "0", 95),
        (5, "1", 0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let process = prepare(folder.path(), count);
        completed(&process.start(&there_and_back(items, group_bytes), &[]));
        assert!(
            std::fs::read_to_string(folder.path().join("out.json")).unwrap() == rows(count),
            "{items} {group_bytes}"
        );
        let mut names: Vec<String> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["in.json", "out.json", "row.shape", "t.parquet"]);
        lengths.push(std::fs::metadata(folder.path().join("t.parquet")).unwrap().len());
    }
    // Rows of many small chunks are one page of a row group.
    assert!(lengths[1] < lengths[2], "{lengths:?}");
}

/// The file of a step that failed and went on is the file of a step that did not fail.
#[test]
fn a_restart_goes_on_where_the_rows_end() {
    let whole = tempfile::tempdir().unwrap();
    let process = prepare(whole.path(), 700);
    completed(&process.start(&there_and_back(10, "3000"), &[]));
    let expected = std::fs::read(whole.path().join("t.parquet")).unwrap();
    for bad in [0, 5, 99, 100, 312, 699] {
        let folder = tempfile::tempdir().unwrap();
        let process = prepare(folder.path(), 700);
        let line = rows(700).lines().nth(bad).unwrap().to_owned();
        // The replacement is as long as the row, so that the checkpoint of the reader stays valid when the file is corrected.
        let input = rows(700).replace(&line, &"x".repeat(line.len()));
        std::fs::write(folder.path().join("in.json"), &input).unwrap();
        let first = process.start(&there_and_back(10, "3000"), &[]);
        assert_eq!(first.status, BatchStatus::Failed);
        assert!(folder.path().join("t.parquet.partial").exists() && !folder.path().join("t.parquet").exists());
        std::fs::write(folder.path().join("in.json"), rows(700)).unwrap();
        completed(&process.restart(first.id, &there_and_back(10, "3000"), &[]));
        assert!(std::fs::read(folder.path().join("t.parquet")).unwrap() == expected, "row {bad}");
        assert!(std::fs::read_to_string(folder.path().join("out.json")).unwrap() == rows(700));
    }
}

/// An invalid row is skipped individually, and the reject has the reason.
#[test]
fn a_row_that_does_not_fit_is_skipped_alone() {
    let folder = tempfile::tempdir().unwrap();
    let process = prepare(folder.path(), 0);
    std::fs::write(
        folder.path().join("in.json"),
        "{\"id\":1,\"tags\":[]}\n{\"id\":1234567890123,\"tags\":[]}\n{\"id\":3,\"tags\":[]}\n{\"id\":4,\"tags\":[]}{\"id\":5,\"tags\":[]}\nno\n{\"id\":6,\"tags\":[]}\n",
    )
    .unwrap();
    let skip = "<skippable-exception-classes><include class=\"quayline.Rejected\"/></skippable-exception-classes>";
    let xml = there_and_back(4, "16777216").replacen("<chunk", "<chunk skip-limit=\"9\"", 1).replacen(
        "</chunk>",
        &format!("{skip}</chunk>"),
        1,
    );
    let execution = process.start(&xml, &[]);
    completed(&execution);
    let out = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
    assert_eq!(out, "{\"id\":1,\"tags\":[]}\n{\"id\":3,\"tags\":[]}\n{\"id\":6,\"tags\":[]}\n");
    let steps = process.steps(execution.id);
    assert_eq!((steps[0].counts.write, steps[0].counts.write_skip), (3, 3));
}

/// Ranges of rows: the parts are the whole.
#[test]
fn a_parquet_file_is_split_into_ranges_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let process = prepare(folder.path(), 1_000);
    completed(&process.start(&there_and_back(50, "2000"), &[]));
    let from = [("file", "t.parquet"), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")];
    let inside = artifact("reader", "parquetReader", &from)
        + &artifact("writer", "fileWriter", &[("file", "part-#{partitionPlan['number']}.json")]);
    let mapper =
        artifact("mapper", "fileMapper", &[("file", "t.parquet"), ("framing", "parquet"), ("partitions", "7")]);
    let xml = step("s", "", 13, &inside).replace("</step>", &format!("<partition>{mapper}</partition></step>"));
    completed(&process.start(&xml, &[]));
    let parts: String =
        (0..7).map(|n| std::fs::read_to_string(folder.path().join(format!("part-{n}.json"))).unwrap()).collect();
    // Without a shape, an absent text is a null of its column.
    let nulls = rows(1_000).replace(",\"tags\":[\"a\"", ",\"name\":null,\"tags\":[\"a\"");
    assert!(parts == rows(1_000) || parts == nulls, "{}", &parts[..300]);
}

/// A range that begins after the last row had no trace.
#[test]
fn a_range_beyond_the_file_is_in_the_job_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = prepare(folder.path(), 10);
    completed(&process.start(&there_and_back(5, "2000"), &[]));
    let log = Arc::new(Log::default());
    process.engine.observers.push(Arc::clone(&log) as Arc<dyn Observer>);
    for (from, is_noted) in [("10", false), ("11", true)] {
        log.0.lock().clear();
        let inside = artifact("reader", "parquetReader", &[("file", "t.parquet"), ("from", from)])
            + &artifact("writer", "fileWriter", &[("file", "none.json")]);
        completed(&process.start(&step("s", "", 5, &inside), &[]));
        let said = log.0.lock().clone();
        let note = format!("JOB-036: the file has 10 rows, and the property from begins at {from}");
        assert_eq!(said.contains(&note), is_noted, "{said}");
    }
}

/// Another file, other columns, another form: each fault is reported with a remedy.
#[test]
fn wrong_files_and_shapes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let process = prepare(folder.path(), 10);
    let cause = |reader: &[(&str, &str)]| {
        let inside = artifact("reader", "parquetReader", reader) + &artifact("writer", "fileWriter", &[("file", "o")]);
        process.start(&step("s", "", 2, &inside), &[]).cause.unwrap()
    };
    assert!(cause(&[("file", "in.json")]).contains("in.json"), "not a Parquet file");
    assert!(cause(&[("file", "none")]).contains("cannot be opened"));
    completed(&process.start(&there_and_back(2, "100"), &[]));
    std::fs::write(folder.path().join("other.shape"), "row\n  id decimal(9)\n  nom text\n").unwrap();
    let told = cause(&[("file", "t.parquet"), ("shape", "other.shape")]);
    assert!(told.contains("name"), "{told}");
    std::fs::write(folder.path().join("x.xsd"), "<no/>").unwrap();
    let inside = artifact("reader", "fileReader", &[("file", "in.json")])
        + &artifact("writer", "parquetWriter", &[("file", "p"), ("shape", "nowhere.shape")]);
    let told = process.start(&step("s", "", 2, &inside), &[]);
    assert_eq!(ended(&told), "FAILED FAILED");
    assert!(told.cause.unwrap().contains("nowhere.shape"));
}

/// Values that columns change and columns that the shape leaves out are in the job log, as a conversion reports them.
#[test]
fn what_columns_change_or_lose_is_in_the_job_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = prepare(folder.path(), 0);
    let log = Arc::new(Log::default());
    process.engine.observers.push(Arc::clone(&log) as Arc<dyn Observer>);
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("r.cpy", b"       01 R.\n          05 A PIC S9(3) COMP-3.\n          05 B PIC S9(3) COMP-3.\n");
    write("r.toml", b"layout = \"record\"\ncopybook = \"r.cpy\"\nframing = \"fixed\"\nencoding = \"ascii\"\n");
    // B is -0 in the second and the fourth record.
    write("in.dat", b"\x00\x1c\x00\x0c\x00\x1c\x00\x0d\x00\x1c\x00\x0c\x00\x1c\x00\x0d");
    write("a.shape", b"row\n  A decimal(3)\n  C? text\n");
    let there = artifact("reader", "fileReader", &[("file", "in.dat"), ("framing", "fixed:4")])
        + &artifact("writer", "parquetWriter", &[("file", "t.parquet"), ("shape", "r.toml"), ("group-bytes", "1")]);
    completed(&process.start(&step("s", "", 3, &there), &[]));
    let said = std::mem::take(&mut *log.0.lock());
    assert!(said.contains("REC-044") && said.contains("t.parquet"), "{said}");
    // A note for each chunk that has such values, and none for a row group.
    assert_eq!(said.matches("REC-044: 1 ").count(), 2, "{said}");

    let from = [("file", "t.parquet"), ("shape", "a.shape"), ("unknown", "ignore")];
    let back = artifact("reader", "parquetReader", &from) + &artifact("writer", "fileWriter", &[("file", "out.json")]);
    completed(&process.start(&step("s", "", 3, &back), &[]));
    let said = std::mem::take(&mut *log.0.lock());
    assert!(said.contains("COL-037: 1 column is left out"), "{said}");
}
