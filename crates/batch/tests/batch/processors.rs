//! Built-in processors without external dependencies.

use std::path::Path;
use std::sync::Arc;

use quayline_batch::BatchStatus;
use quayline_batch::event::Observer;
use quayline_batch::record::{Counts, Execution};

use crate::builtins::Log;
use crate::kit::{Process, backend, medium, properties};

/// Runs a job with one processor over a file. Returns its execution and the counts of the step.
fn run(folder: &Path, file: &str, artifact: &str, given: &[(&str, &str)]) -> (Execution, Counts) {
    let text = |value: &str| value.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let given: Vec<(&str, String)> = given.iter().map(|(name, value)| (*name, text(value))).collect();
    let given: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"quayline.fileReader\">{}</reader><processor ref=\"quayline.{artifact}\">{}</processor><writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>",
        properties(&[("file", file), ("limit", "line-bytes=1M")]),
        properties(&given),
        properties(&[("file", "out.txt"), ("limit", "line-bytes=1M")]),
    );
    let process = Process::new(backend(&medium()), folder.to_owned());
    let execution = process.start(&xml, &[]);
    let counts = process.steps(execution.id).first().map(|step| step.counts).unwrap_or_default();
    (execution, counts)
}

/// A command processes each item. The cases are output, filtered items, failures, and processes that the command leaves running.
#[test]
fn items_go_through_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let large = "x".repeat(300_000);
    std::fs::write(folder.path().join("in.txt"), format!("a\ndrop\nb\n{large}\nc\n")).unwrap();
    let run = |command: &str, more: &[(&str, &str)]| {
        let given = [&[("command", command)], more].concat();
        run(folder.path(), "in.txt", "commandProcessor", &given)
    };
    let out = || std::fs::read_to_string(folder.path().join("out.txt")).unwrap();
    let (execution, counts) =
        run("read x; [ \"$x\" = drop ] && exit 3; echo \"$QUAYLINE_JOB_STEP $x\"", &[("filter-code", "3")]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!((counts.read, counts.filter, counts.write), (5, 1, 4));
    assert_eq!(out(), format!("s a\ns b\ns {large}\ns c\n"));
    // One command reads nothing, and another writes more than its input while it reads.
    let (execution, _) = run("echo same", &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(out(), "same\n".repeat(5));
    // `tee` writes each part twice, and one of the two while it still reads.
    let (execution, _) = run("tee /dev/stdout", &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert!(out().len() >= 2 * large.len(), "{}", out().len());
    // The commands of the next items start although one has ended the whole group.
    let (execution, counts) = run("trap : TERM; cat; kill -s TERM 0", &[]);
    assert_eq!((execution.status, counts.write), (BatchStatus::Completed, 5), "{execution:?}");
    let (execution, _) = run("cat", &[("timeout-s", "99999999999")]);
    assert!(execution.cause.as_ref().is_some_and(|cause| cause.contains("timeout-s")), "{execution:?}");
    // No other process sleeps for this time.
    let sleep = format!("sleep 6{}", std::process::id());
    // `setsid` moves the command to a separate group.
    let hides = format!("exec setsid {sleep}");
    let (waits, leaves) = (format!("cat; {sleep}"), format!("cat; {sleep} &"));
    let causes = [
        ("exit 4", "the command ended with code 4"),
        ("kill -9 $$", "a signal ended the command"),
        (waits.as_str(), "the command did not end within 1 s"),
        (leaves.as_str(), "the command did not end within 1 s"),
        (hides.as_str(), "the command did not end within 1 s"),
        ("yes", "the command wrote more than 1024 bytes"),
    ];
    for (command, cause) in causes {
        let began = std::time::Instant::now();
        let (execution, _) = run(command, &[("timeout-s", "1"), ("limit", "record-bytes=1K")]);
        let found = execution.cause.clone().unwrap_or_default();
        assert!(execution.status == BatchStatus::Failed && found.contains(cause), "{command}: {execution:?}");
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{command}");
    }
    let began = std::time::Instant::now();
    loop {
        let pids = std::process::Command::new("pgrep").args(["-f", &format!("^{sleep}$")]).output().unwrap();
        if pids.stdout.is_empty() {
            break;
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{}", pids.stdout.escape_ascii());
    }
}

/// A condition on the fields of an item decides whether the job writes it. The item itself is unchanged.
#[test]
fn items_are_filtered_by_a_condition() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "in.jsonl",
        "{\"id\": 1,  \"kind\":\"A\"}\n{\"kind\":\"B\",\"id\":2}\n{\"id\":3}\n{\"id\":40,\"kind\":\"A\"}\n",
    );
    write("in.shape", "order\n  id decimal(9,0)\n  kind? text(3)\n");
    let run = |condition: &str| {
        run(folder.path(), "in.jsonl", "filterProcessor", &[("where", condition), ("shape", "in.shape")])
    };
    let (execution, counts) = run("kind = \"A\" and id < 10");
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!((counts.read, counts.filter, counts.write), (4, 3, 1));
    assert_eq!(std::fs::read_to_string(folder.path().join("out.txt")).unwrap(), "{\"id\": 1,  \"kind\":\"A\"}\n");
    for (condition, cause) in [
        ("knd = \"A\"", "`knd`"),
        ("knd = \"A\"", "where:1:1"),
        ("id +", "end of the expression"),
        ("envelope.x = \"1\"", "envelope.x"),
    ] {
        let (execution, _) = run(condition);
        let found = execution.cause.clone().unwrap_or_default();
        assert!(execution.status == BatchStatus::Failed && found.contains(cause), "{condition}: {execution:?}");
    }
    write("in.jsonl", "{\"id\":\"many\"}\n");
    let (execution, _) = run("id = 1");
    assert_eq!(execution.status, BatchStatus::Failed, "{execution:?}");
}

/// A warning before the error was the cause of a failed step, and its code the class of the exception.
#[test]
fn the_cause_of_a_refused_item_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("in.shape", "row\n  id text\n");
    write(
        "m.qmap",
        "source \"in.shape\"\ntarget row \"in.shape\"\n\nid = id\nwarning \"odd\" code \"ODD-1\"\nif id = \"b\" {\n  error \"bad\" code \"BAD-1\"\n}\n",
    );
    write("in.txt", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
    let (execution, _) = run(folder.path(), "in.txt", "mapProcessor", &[("map", "m.qmap")]);
    let cause = execution.cause.unwrap_or_default();
    assert!(cause.starts_with("MAP-200: BAD-1: bad") && cause.ends_with("; and 1 more"), "{cause}");
}

/// Records that an interface file skips vanished in jobs: only `convert` and `translate` counted them.
#[test]
fn records_that_a_map_skips_are_in_the_job_log() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("r.cpy", "       01 R.\n          05 K PIC X.\n          05 A PIC X(2).\n");
    write(
        "r.iface",
        "[records]\nby = \"K\"\notherwise = \"skip\"\n[[records.type]]\nrecord = \"R\"\nvalues = [\"1\"]\n",
    );
    write(
        "r.toml",
        "layout = \"record\"\ncopybook = \"r.cpy\"\ninterface = \"r.iface\"\nframing = \"fixed\"\nencoding = \"ascii\"\n",
    );
    write("row.shape", "row\n  a text\n");
    write("m.qmap", "source \"r.toml\"\ntarget row \"row.shape\"\n\na = R.A\n");
    write("in.txt", "1aa\n9bb\n1cc\n9dd\n");
    let mut process = Process::new(backend(&medium()), folder.path().to_owned());
    let log = Arc::new(Log::default());
    process.engine.observers.push(Arc::clone(&log) as Arc<dyn Observer>);
    let xml = format!(
        "<step id=\"s\"><chunk><reader ref=\"quayline.fileReader\">{}</reader><processor ref=\"quayline.mapProcessor\">{}</processor><writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>",
        properties(&[("file", "in.txt")]),
        properties(&[("map", "m.qmap")]),
        properties(&[("file", "out.txt")]),
    );
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("out.txt")).unwrap(), "{\"a\":\"aa\"}\n{\"a\":\"cc\"}\n");
    let said = log.0.lock().clone();
    assert_eq!(said.matches("CNV-039: 1 record is of no record type").count(), 2, "{said}");
}

/// Regression: the processor dropped an empty line silently, although `translate` makes a document from it. An empty file in a folder is not an item.
/// For records of fixed length, an empty item is an error, as is every item that is too short.
#[test]
fn an_empty_record_goes_through_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("r.cpy", "       01 R.\n          05 A PIC X(2).\n          05 B PIC X(3).\n");
    write("lines.toml", "layout = \"record\"\ncopybook = \"r.cpy\"\nencoding = \"ascii\"\nframing = \"lines\"\n");
    write("fixed.toml", "layout = \"record\"\ncopybook = \"r.cpy\"\nencoding = \"ascii\"\nframing = \"fixed\"\n");
    write("row.shape", "row\n  a? text\n  b? text\n");
    for source in ["lines", "fixed"] {
        let map = format!("source \"{source}.toml\"\ntarget row \"row.shape\"\n\na = A\nb = B\n");
        write(&format!("{source}.qmap"), &map);
    }
    write("in.txt", "AB123\n\nCD   \n");
    let (execution, counts) = run(folder.path(), "in.txt", "mapProcessor", &[("map", "lines.qmap")]);
    assert_eq!((execution.status, counts.filter, counts.write), (BatchStatus::Completed, 0, 3), "{execution:?}");
    let out = std::fs::read_to_string(folder.path().join("out.txt")).unwrap();
    assert_eq!(out.lines().nth(1), Some("{\"a\":\"\",\"b\":\"\"}"), "{out}");
    let (execution, _) = run(folder.path(), "in.txt", "mapProcessor", &[("map", "fixed.qmap")]);
    let cause = execution.cause.unwrap_or_default();
    assert!(execution.status == BatchStatus::Failed && cause.starts_with("FRM-001"), "{cause}");

    std::fs::create_dir(folder.path().join("files")).unwrap();
    write("files/1.txt", "");
    write("files/2.txt", "AB123\n");
    let xml = format!(
        "<step id=\"s\"><chunk><reader ref=\"quayline.folderReader\">{}</reader><processor ref=\"quayline.mapProcessor\">{}</processor><writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>",
        properties(&[("folder", "files")]),
        properties(&[("map", "lines.qmap")]),
        properties(&[("file", "files.out")]),
    );
    let execution = Process::new(backend(&medium()), folder.path().to_owned()).start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("files.out")).unwrap(), "{\"a\":\"AB\",\"b\":\"123\"}\n");
}

/// Regression: the processor removed bytes 0x0A and 0x0D from the end of a record, as if they were a line end. They may belong to a binary number.
#[test]
fn a_record_keeps_its_last_byte() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("row.shape", "row\n  n decimal(4,0)\n");
    write("in.txt", "{\"n\":10}\n{\"n\":2570}\n{\"n\":13}\n{\"n\":7}\n");
    write("n.cpy", "       01 R.\n          05 N PIC S9(4) COMP.\n");
    write("t.cpy", "       01 R.\n          05 N PIC 9(4).\n");
    let run = |copybook: &str, framing: &str, written: &str| {
        let layout =
            format!("layout = \"record\"\ncopybook = \"{copybook}\"\nencoding = \"ascii\"\nframing = \"{framing}\"\n");
        write("r.toml", &layout);
        write("m.qmap", "source \"row.shape\"\ntarget R \"r.toml\"\n\nN = n\n");
        let xml = format!(
            "<step id=\"s\"><chunk><reader ref=\"quayline.fileReader\">{}</reader><processor ref=\"quayline.mapProcessor\">{}</processor><writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>",
            properties(&[("file", "in.txt")]),
            properties(&[("map", "m.qmap")]),
            properties(&[("file", "out"), ("framing", written)]),
        );
        let execution = Process::new(backend(&medium()), folder.path().to_owned()).start(&xml, &[]);
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        std::fs::read(folder.path().join("out")).unwrap()
    };
    assert_eq!(run("n.cpy", "fixed", "fixed:2"), [0, 10, 10, 10, 0, 13, 0, 7]);
    assert_eq!(run("n.cpy", "fixed", "none"), [0, 10, 10, 10, 0, 13, 0, 7]);
    for end in ["lf", "crlf", "nl"] {
        let bytes = ["lf", "crlf", "nl"].iter().zip(["\n", "\r\n", "\x15"]).find(|(name, _)| **name == end).unwrap().1;
        let expected: String = ["0010", "2570", "0013", "0007"].map(|line| format!("{line}{bytes}")).concat();
        let framing = format!("lines:{end}");
        assert_eq!(run("t.cpy", &framing, &framing), expected.as_bytes(), "{end}");
    }
}
