//! The artifacts that come with Quayline.

use std::path::Path;

use quayline_batch::BatchStatus;
use quayline_store::record_file::{FileDefinition, KeyPlace, Organisation};

use crate::kit::{Process, backend, ended, medium, properties};

fn process(folder: &Path) -> Process {
    Process::new(backend(&medium()), folder.to_owned())
}

fn chunk(reader: &[(&str, &str)], processor: &str, writer: &[(&str, &str)]) -> String {
    format!(
        "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"quayline.fileReader\">{}</reader>{processor}<writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>",
        properties(reader),
        properties(writer)
    )
}

#[test]
fn framed_records_become_lines_with_a_beginning_and_an_end() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.dat"), b"aaabbbcccddd").unwrap();
    let writer =
        [("file", "out.json"), ("framing", "none"), ("prologue", "["), ("separator", ",\\n"), ("epilogue", "]\\n")];
    let xml = chunk(&[("file", "in.dat"), ("framing", "fixed:3")], "", &writer);
    let process = process(folder.path());
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(std::fs::read(folder.path().join("out.json")).unwrap(), b"[aaa,\nbbb,\nccc,\nddd]\n");
    assert!(!folder.path().join("out.json.partial").exists());
}

/// Two interchanges through a map: the items are interchanges, the documents what the map makes of each.
#[test]
fn interchanges_go_through_a_map() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let case = examples.join("maps/maps/tests/claims/two-claims/input.x12");
    let map = examples.join("maps/maps/claims.qmap");
    let folder = tempfile::tempdir().unwrap();
    let one = std::fs::read_to_string(case).unwrap();
    std::fs::write(folder.path().join("in.x12"), format!("{one}\n{one}\n")).unwrap();
    let processor = format!(
        "<processor ref=\"quayline.mapProcessor\">{}</processor>",
        properties(&[("map", &map.canonicalize().unwrap().display().to_string())])
    );
    let writer = [("file", "claims.dat"), ("framing", "none")];
    let xml = chunk(&[("file", "in.x12"), ("framing", "edi")], &processor, &writer);
    let process = process(folder.path());
    let execution = process.start(&xml, &[]);
    assert_eq!(ended(&execution), "COMPLETED COMPLETED", "{execution:?}");
    let steps = process.steps(execution.id);
    assert_eq!((steps[0].counts.read, steps[0].counts.write), (2, 2));
    let written = std::fs::read(folder.path().join("claims.dat")).unwrap();
    let (first, second) = written.split_at(written.len() / 2);
    assert!(!first.is_empty() && first == second, "each interchange makes the same records");
}

#[test]
fn a_command_gives_its_code_as_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let step = |command: &str, more: &str| {
        format!(
            "<step id=\"s\"><batchlet ref=\"quayline.commandBatchlet\">{}</batchlet>{more}</step>",
            properties(&[("command", command), ("success-max", "4")])
        )
    };
    let process = process(folder.path());
    let execution = process
        .start(&step("echo $QUAYLINE_JOB_STEP &gt; made; exit 4", "<end on=\"4\" exit-status=\"WARNED\"/>"), &[]);
    assert_eq!(ended(&execution), "COMPLETED WARNED", "{execution:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("made")).unwrap(), "s\n");
    let execution = process.start(&step("exit 5", ""), &[]);
    assert_eq!(
        execution.cause.as_deref(),
        Some("quayline.CommandFailed: the command ended with code 5, expected 0 to 4")
    );
}

#[test]
fn wrong_properties_name_the_property_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let process = process(folder.path());
    let cause = |reader: &[(&str, &str)]| {
        let execution = process.start(&chunk(reader, "", &[("file", "out")]), &[]);
        assert_eq!(execution.status, BatchStatus::Failed);
        execution.cause.unwrap_or_default()
    };
    assert_eq!(cause(&[]), "JOB-028: property file of quayline.fileReader is missing or empty");
    assert_eq!(cause(&[("file", "a"), ("frame", "x")]), "JOB-028: property frame of quayline.fileReader is not known");
    assert!(cause(&[("file", "a")]).contains("cannot be opened"));
    assert!(!folder.path().join("out").exists(), "an output that is not complete has no name");
}

#[test]
fn a_step_that_failed_before_its_first_checkpoint_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.txt");
    std::fs::write(&input, "1\n2\n3\n4\n5\n").unwrap();
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"quayline.fileReader\">{}</reader><processor ref=\"picky\">{}</processor><writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>",
        properties(&[("file", "in.txt")]),
        "<properties><property name=\"fail\" value=\"x\"/></properties>",
        properties(&[("file", "#{jobParameters['out']}")]),
    );
    let process = process(folder.path());
    // A writer whose folder is missing fails the step before its first checkpoint, so there is nothing to continue yet.
    let first = process.start(&xml, &[("out", "missing/out.txt")]);
    assert_eq!(first.status, BatchStatus::Failed);
    let second = process.restart(first.id, &xml, &[("out", "out.txt")]);
    assert_eq!(second.status, BatchStatus::Completed, "{second:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("out.txt")).unwrap(), "1\n2\n3\n4\n5\n");
}

#[test]
fn a_file_is_split_into_ranges_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..1_000).map(|number| format!("{}\n", "x".repeat(number % 37))).collect();
    let process = process(folder.path());
    for (framing, input) in [("lines", lines), ("fixed:3", "aaabbbcccdddeee".to_owned()), ("lines", String::new())] {
        std::fs::write(folder.path().join("in"), &input).unwrap();
        let out = if framing == "lines" { "lines" } else { "none" };
        let range = [
            ("file", "in"),
            ("framing", framing),
            ("from", "#{partitionPlan['from']}"),
            ("to", "#{partitionPlan['to']}"),
        ];
        let chunk = chunk(&range, "", &[("file", "out.#{partitionPlan['number']}"), ("framing", out)]);
        let mapper = properties(&[("file", "in"), ("framing", framing), ("partitions", "7")]);
        let partition = format!("<partition><mapper ref=\"quayline.fileMapper\">{mapper}</mapper></partition></step>");
        let execution = process.start(&chunk.replace("</step>", &partition), &[]);
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        let joined: String = (0..7)
            .map(|number| std::fs::read_to_string(folder.path().join(format!("out.{number}"))).unwrap())
            .collect();
        assert_eq!(joined, input);
    }
}

/// Records that exist already are skipped alone: what the failing writes did in the unit of work is undone, the good records are there once.
#[test]
fn a_skipped_write_loses_only_the_records_that_fail() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.txt"), "1a\n2b\n2c\n3d\n1e\n4f\n").unwrap();
    let medium = medium();
    let store = crate::kit::store(&medium);
    let mut unit = store.begin().unwrap();
    let definition = FileDefinition {
        name: "F".to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 1 }),
        record_bytes_min: 2,
        record_bytes_max: 2,
        alternates: Vec::new(),
    };
    store.define_file(&mut unit, definition).unwrap();
    unit.commit().unwrap();
    let xml = format!(
        "<step id=\"s\" next=\"t\"><chunk item-count=\"100\"><reader ref=\"quayline.fileReader\">{}</reader><writer ref=\"quayline.recordFileWriter\">{}</writer><skippable-exception-classes><include class=\"STO-012\"/></skippable-exception-classes></chunk></step><step id=\"t\"><chunk><reader ref=\"quayline.recordFileReader\">{}</reader><writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>",
        properties(&[("file", "in.txt")]),
        properties(&[("file", "F")]),
        properties(&[("file", "F")]),
        properties(&[("file", "out.txt")]),
    );
    let process = Process::new(backend(&medium), folder.path().to_owned());
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write, counts.write_skip), (6, 4, 2));
    assert_eq!(std::fs::read_to_string(folder.path().join("out.txt")).unwrap(), "1a\n2b\n3d\n4f\n");
}
