//! The artifacts that come with Quayline.

use std::path::Path;

use quayline_batch::BatchStatus;
use quayline_batch::event::{Event, LOG, Observer};
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

/// Maps two interchanges: the items are interchanges, and each yields the documents of the map.
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

/// An interchange that its guide refuses is an exception of its item: here it is skipped, and the others are written.
#[test]
fn interchanges_that_a_map_makes_are_checked_by_their_guide() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/edi/850.guide");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("in.shape", "in\n  no text(22)\n  purpose text(2)\n");
    write(
        "in.jsonl",
        "{\"no\":\"1\",\"purpose\":\"00\"}\n{\"no\":\"2\",\"purpose\":\"7Z\"}\n{\"no\":\"3\",\"purpose\":\"00\"}\n",
    );
    let map = format!(
        "map \"m\"\nsource \"in.shape\"\ntarget o \"{}\"\ninterchange.sender = \"A\"\ninterchange.receiver = \"B\"\nomit standard\n\
         make BEG {{ BEG01 = purpose BEG02 = \"NE\" BEG03 = no BEG05 = \"20260101\" }}\n\
         make PO1 {{ make PO1 {{ PO101 = \"1\" PO102 = 1 PO103 = \"EA\" PO104 = 1 PO106 = \"VP\" PO107 = \"X\" }} }}\nomit CTT\n",
        guide.display()
    );
    write("m.qmap", &map);
    let processor = format!(
        "<processor ref=\"quayline.mapProcessor\">{}</processor>",
        properties(&[("map", &folder.path().join("m.qmap").display().to_string())])
    );
    let step = |more: &str| {
        let writer = [("file", "out.x12"), ("framing", "edi")];
        let step = chunk(&[("file", "in.jsonl")], &processor, &writer);
        step.replace("</chunk>", &format!("{more}</chunk>"))
    };
    let process = process(folder.path());
    let refused = process.start(&step(""), &[]);
    assert_eq!(refused.status, BatchStatus::Failed);
    let cause = refused.cause.unwrap_or_default();
    assert!(cause.contains("EDI-114") && cause.contains("BEG01"), "{cause}");
    let skipping = "<skippable-exception-classes><include class=\"EDI-114\"/></skippable-exception-classes>";
    let execution = process.start(&step(skipping), &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write, counts.process_skip), (3, 2, 1));
    let written = std::fs::read_to_string(folder.path().join("out.x12")).unwrap();
    assert!(
        written.contains("BEG*00*NE*1*") && written.contains("BEG*00*NE*3*") && !written.contains("7Z"),
        "{written}"
    );
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

/// Regression: ranges of lines began after each byte 0x0a, also in framings in which lines end otherwise. A record that has the byte became two.
#[test]
fn ranges_of_lines_begin_where_the_framing_ends_lines() {
    let folder = tempfile::tempdir().unwrap();
    let process = process(folder.path());
    for (end, bytes, other) in
        [("crlf", "\r\n", "\n"), ("nl", "\x15", "\n"), ("lf25", "\x25", "\n"), ("lf", "\n", "\r")]
    {
        let line = |number: usize| format!("{}{other}{}\r{bytes}", "x".repeat(number % 7), "y".repeat(number % 5));
        let long: String = (0..200).map(line).collect();
        for input in
            [long, format!("aa{bytes}bb{other}cc{bytes}dd{bytes}"), format!("{bytes}{bytes}"), "none".to_owned()]
        {
            std::fs::write(folder.path().join("in"), &input).unwrap();
            let framing = format!("lines:{end}");
            let run = |range: &[(&str, &str)], out: &str, mapper: &str| {
                let reader = [&[("file", "in"), ("framing", &framing)], range].concat();
                let chunk = chunk(&reader, "", &[("file", out), ("framing", "rdw")]);
                let execution = process.start(&chunk.replace("</step>", mapper), &[]);
                assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
            };
            run(&[], "whole", "</step>");
            let mapper = properties(&[("file", "in"), ("framing", &framing), ("partitions", "7")]);
            let mapper = format!("<partition><mapper ref=\"quayline.fileMapper\">{mapper}</mapper></partition></step>");
            let range = [("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")];
            run(&range, "out.#{partitionPlan['number']}", &mapper);
            let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
            let joined: Vec<u8> = (0..7).flat_map(|number| read(&format!("out.{number}"))).collect();
            assert!(joined == read("whole"), "{end}, {} bytes", input.len());
        }
    }
}

/// Existing records are skipped individually: the changes of the failing writes in the unit of work are undone, and each valid record is written
/// once.
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

/// Runs a job whose reader skips nothing, whose processor filters nothing, and whose writer refuses two records.
fn with_a_bad_pair(folder: &Path, items: &str) -> (Process, quayline_batch::record::Execution) {
    let lines: String = (1..=20).map(|number| format!("{number:04}line\n")).collect();
    std::fs::write(folder.join("in.txt"), lines.replace("0013line", "0012line").replace("0018line", "0003line"))
        .unwrap();
    let memory = medium();
    let process = Process::new(backend(&memory), folder.to_owned());
    let store = crate::kit::store(&memory);
    let mut unit = store.begin().unwrap();
    let definition = FileDefinition {
        name: "CUST".to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 4 }),
        record_bytes_min: 8,
        record_bytes_max: 8,
        alternates: Vec::new(),
    };
    store.define_file(&mut unit, definition).unwrap();
    unit.commit().unwrap();
    let xml = format!(
        "<step id=\"s\"><properties><property name=\"quayline.rejects\" value=\"keep\"/></properties><chunk item-count=\"{items}\">\
         <reader ref=\"quayline.fileReader\">{}</reader><writer ref=\"quayline.recordFileWriter\">{}</writer>\
         <skippable-exception-classes><include class=\"java.lang.Exception\"/></skippable-exception-classes></chunk></step>",
        properties(&[("file", "in.txt")]),
        properties(&[("file", "CUST")])
    );
    let execution = process.start(&xml, &[]);
    (process, execution)
}

/// Refused items of a writer are saved with the number and position in the input, and the job log names both.
#[test]
fn rejects_of_a_writer_name_item_and_place() {
    for items in ["1", "4", "100"] {
        let folder = tempfile::tempdir().unwrap();
        let (process, execution) = with_a_bad_pair(folder.path(), items);
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        let rejects = process.engine.repository.rejects(execution.id, None, 10).unwrap();
        let told: Vec<_> = rejects.iter().map(|(reject, _)| (reject.number, reject.record, reject.byte)).collect();
        assert_eq!(told, [(Some(13), Some(13), Some(108)), (Some(18), Some(18), Some(153))], "item-count {items}");
    }
}

/// The position refers to the whole input even after a restart, when the number counts from the checkpoint.
#[test]
fn the_job_log_names_the_items_that_are_skipped() {
    struct Lines(parking_lot::Mutex<Vec<String>>);
    impl Observer for Lines {
        fn event(&self, event: &Event) {
            self.0.lock().push(event.text.clone());
        }
        fn wants(&self, topic: &str) -> bool {
            topic == LOG
        }
    }
    let lines = std::sync::Arc::new(Lines(parking_lot::Mutex::default()));
    let mut process = Process::in_memory();
    process.engine.observers.push(std::sync::Arc::clone(&lines) as std::sync::Arc<dyn Observer>);
    let xml = |isolates: &str| {
        format!(
            "<step id=\"s\"><chunk item-count=\"4\"><reader ref=\"counting\">{}</reader><processor ref=\"picky\">{}</processor>\
             <writer ref=\"picky\">{}</writer><skippable-exception-classes><include class=\"Bad\"/></skippable-exception-classes></chunk></step>",
            properties(&[("count", "12"), ("fail", "2"), ("always", "yes"), ("consume", "yes")]),
            properties(&[("fail", "7"), ("always", "yes")]),
            properties(&[("fail", "10"), ("always", "yes"), ("isolates", isolates)])
        )
    };
    assert_eq!(process.start(&xml("yes"), &[]).status, BatchStatus::Completed);
    let told = std::mem::take(&mut *lines.0.lock()).join("\n");
    for expected in [
        "item 2 is skipped in reading: Bad",
        "item 7 is skipped in processing: Bad",
        "item 10 is skipped in writing: Bad",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    // A writer that cannot isolate loses the chunk, and the log names its items.
    assert_eq!(process.start(&xml(""), &[]).status, BatchStatus::Completed);
    let told = lines.0.lock().join("\n");
    assert!(told.contains("4 items, item 9 to item 12, are skipped in writing: Bad"), "{told}");
}

/// Interchanges, and records that can be found only from their predecessor, are split into ranges of whole items.
#[test]
fn every_framing_is_split_into_ranges() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let one = std::fs::read(examples.join("maps/maps/tests/claims/two-claims/input.x12")).unwrap();
    let one = one.trim_ascii_end().to_vec();
    let interchanges: Vec<Vec<u8>> =
        (0..10_u8).map(|number| [one.clone(), vec![b'\n'; usize::from(number % 3)]].concat()).collect();
    let rdw: Vec<Vec<u8>> = (0..50_u8)
        .map(|number| {
            let body = vec![number; usize::from(number)];
            [&[0, 4 + number, 0, 0], body.as_slice()].concat()
        })
        .collect();
    for (framing, items) in [("edi", interchanges), ("rdw", rdw)] {
        for partitions in ["1", "3", "7", "60"] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("in.dat"), items.concat()).unwrap();
            let list = [
                ("file", "in.dat"),
                ("framing", framing),
                ("from", "#{partitionPlan['from']}"),
                ("to", "#{partitionPlan['to']}"),
            ];
            let out = [
                ("file", "out-#{partitionPlan['number']}.dat"),
                ("framing", if framing == "edi" { "none" } else { framing }),
            ];
            let xml = chunk(&list, "", &out).replace(
                "</chunk>",
                &format!(
                    "</chunk><partition><mapper ref=\"quayline.fileMapper\">{}</mapper></partition>",
                    properties(&[("file", "in.dat"), ("framing", framing), ("partitions", partitions)])
                ),
            );
            let process = process(folder.path());
            let execution = process.start(&xml, &[]);
            assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
            let count: u64 = partitions.parse().unwrap();
            let written: Vec<Vec<u8>> = (0..count)
                .map(|number| std::fs::read(folder.path().join(format!("out-{number}.dat"))).unwrap())
                .collect();
            assert!(written.concat() == items.concat(), "{framing} {partitions}");
            assert_eq!(process.steps(execution.id)[0].counts.read, items.len() as u64, "{framing} {partitions}");
            let filled = written.iter().filter(|bytes| !bytes.is_empty()).count();
            assert!(filled as u64 >= count.min(7), "{framing}: {filled} of {partitions} have items");
        }
    }
}

/// Text of the job logs.
#[derive(Default)]
pub(crate) struct Log(pub(crate) parking_lot::Mutex<String>);

impl Observer for Log {
    fn event(&self, event: &Event) {
        self.0.lock().push_str(&event.text);
    }

    fn wants(&self, topic: &str) -> bool {
        topic == LOG
    }
}

/// Jobs have properties in place of command options: a remedy names the property.
#[test]
fn remedies_name_what_a_job_has() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.txt"), vec![b'x'; 3_000]).unwrap();
    let process = process(folder.path());
    let xml = |limit: &str| chunk(&[("file", "in.txt"), ("limit", limit)], "", &[("file", "out.txt")]);
    let log = std::sync::Arc::new(Log(parking_lot::Mutex::default()));
    let mut process = process;
    process.engine.observers.push(std::sync::Arc::clone(&log) as std::sync::Arc<dyn Observer>);
    let execution = process.start(&xml("line-bytes=1K"), &[]);
    assert!(execution.cause.as_ref().is_some_and(|cause| cause.starts_with("FRM-006")), "{execution:?}");
    let told = log.0.lock().clone();
    assert!(told.contains("allow more with the property limit: `line-bytes=N`"), "{told}");
    assert!(told.contains("`quayline inspect FILE` proposes a value for the property framing"), "{told}");
    assert!(!told.contains("--limit"), "{told}");
    assert_eq!(process.start(&xml("line-bytes=4K"), &[]).status, BatchStatus::Completed);
}

/// Files of a folder in the order of their names; a restart continues after the last one that committed.
#[test]
fn files_of_a_folder_are_items() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = folder.path().join("inbox");
    std::fs::create_dir_all(inbox.join("sub.edi")).unwrap();
    for name in ["b.edi", "a.edi", "c.edi", "d.txt", "e.edi"] {
        std::fs::write(inbox.join(name), format!("item {}", &name[..1])).unwrap();
    }
    let xml = |fail: &str| {
        let reader = properties(&[("folder", "inbox"), ("name", "*.edi")]);
        format!(
            "<step id=\"s\"><chunk item-count=\"1\"><reader ref=\"quayline.folderReader\">{reader}</reader>\
             <writer ref=\"picky\">{}</writer></chunk></step>",
            properties(&[("fail", fail)])
        )
    };
    let memory = medium();
    let process = Process::new(backend(&memory), folder.path().to_owned());
    let execution = process.start(&xml("c"), &[]);
    assert_eq!(execution.status, BatchStatus::Failed);
    assert_eq!(process.said(), ["write a", "write b"]);
    let process = Process::new(backend(&memory), folder.path().to_owned());
    let again = process.restart(execution.id, &xml(""), &[]);
    assert_eq!(again.status, BatchStatus::Completed);
    assert_eq!(process.said(), ["write c", "write e"]);
}

/// Files are copied and moved whole, and a step that runs again does no harm.
#[test]
fn files_are_transferred_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("out")).unwrap();
    for name in ["1.dat", "2.dat", "3.txt"] {
        std::fs::write(at(name), name.repeat(400_000)).unwrap();
    }
    let process = Process::new(backend(&medium()), folder.path().to_owned());
    let run = |list: &[(&str, &str)]| {
        let xml = format!(
            "<step id=\"s\"><batchlet ref=\"quayline.transferBatchlet\">{}</batchlet></step>",
            properties(list)
        );
        let execution = process.start(&xml, &[]);
        let exit = process.steps(execution.id)[0].exit_status.clone().unwrap_or_default();
        (exit, execution.cause.unwrap_or_default())
    };
    for _ in 0..2 {
        assert_eq!(run(&[("from", "*.dat"), ("to", "out")]), ("2".to_owned(), String::new()));
    }
    assert_eq!(std::fs::read(at("out/2.dat")).unwrap(), std::fs::read(at("2.dat")).unwrap());
    std::fs::write(at("out/3.txt"), "other").unwrap();
    let (exit, cause) = run(&[("from", "3.txt"), ("to", "out")]);
    assert!(exit == "FAILED" && cause.contains("is there already, with other content"), "{cause}");
    assert_eq!(std::fs::read(at("out/3.txt")).unwrap(), b"other");
    let moved = [("from", "3.txt"), ("to", "out"), ("mode", "move"), ("existing", "replace")];
    // The second run has nothing left to do, as after a crash that follows the move.
    for count in ["1", "0"] {
        assert_eq!(run(&moved), (count.to_owned(), String::new()));
    }
    assert!(!at("3.txt").exists() && at("out/3.txt").metadata().unwrap().len() == 2_000_000);
    let (_, cause) = run(&[("from", "*.dat"), ("to", "nowhere")]);
    assert!(cause.contains("2 files fit"), "{cause}");
    // Another job writes the target now. Both wrote one temporary file, one of them gave it the name, and a move removed its source.
    std::fs::write(at("out/4.dat.partial"), "half of it").unwrap();
    std::fs::write(at("4.dat"), "four").unwrap();
    let other = std::fs::File::open(at("out/4.dat.partial")).unwrap();
    other.lock().unwrap();
    let moved = [("from", "4.dat"), ("to", "out"), ("mode", "move")];
    let (_, cause) = run(&moved);
    assert!(cause.contains("another step or job writes"), "{cause}");
    assert_eq!(std::fs::read(at("out/4.dat.partial")).unwrap(), b"half of it");
    drop(other);
    assert_eq!(run(&moved), ("1".to_owned(), String::new()));
    assert_eq!(std::fs::read(at("out/4.dat")).unwrap(), b"four");
    let (_, cause) = run(&[("from", "1.dat"), ("to", "1.dat")]);
    assert!(cause.contains("is the file itself"), "{cause}");
    assert!(
        std::fs::read_dir(at("out")).unwrap().all(|entry| !entry
            .unwrap()
            .path()
            .display()
            .to_string()
            .ends_with(".partial"))
    );
}

/// Bisection gives the writer the same items again, so that those before the refused one may not stay in a block.
#[test]
fn what_a_writer_refuses_leaves_nothing_in_its_block() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(40_000);
    std::fs::write(folder.path().join("in.txt"), format!("a\nb\n{long}\nc\n")).unwrap();
    let process = process(folder.path());
    for framing in ["vb", "vbs", "rdw"] {
        let skip = "<skippable-exception-classes><include class=\"java.lang.Exception\"/></skippable-exception-classes></chunk>";
        let xml = chunk(&[("file", "in.txt")], "", &[("file", "out.dat"), ("framing", framing)])
            .replace("item-count=\"2\"", "item-count=\"10\"")
            .replace("</chunk>", skip);
        let execution = process.start(&xml, &[]);
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        let counts = process.steps(execution.id)[0].counts;
        let skipped = u64::from(framing != "vbs");
        assert_eq!((counts.read, counts.write, counts.write_skip), (4, 4 - skipped, skipped), "{framing}");
        let back = chunk(&[("file", "out.dat"), ("framing", framing)], "", &[("file", "back.txt")]);
        assert_eq!(process.start(&back, &[]).status, BatchStatus::Completed);
        let expected = if skipped == 1 { "a\nb\nc\n".to_owned() } else { format!("a\nb\n{long}\nc\n") };
        assert_eq!(std::fs::read_to_string(folder.path().join("back.txt")).unwrap(), expected, "{framing}");
    }
}

/// The header is at the start of the file, and no other range has one.
#[test]
fn a_header_of_a_file_is_skipped_once() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..100).map(|number| format!("row {number}\n")).collect();
    std::fs::write(folder.path().join("in"), format!("head\n{rows}")).unwrap();
    let process = process(folder.path());
    let run = |skip: &str| {
        let range =
            [("file", "in"), ("skip", skip), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")];
        let chunk = chunk(&range, "", &[("file", "out.#{partitionPlan['number']}")]);
        let mapper = properties(&[("file", "in"), ("partitions", "4")]);
        let partition = format!("<partition><mapper ref=\"quayline.fileMapper\">{mapper}</mapper></partition></step>");
        process.start(&chunk.replace("</step>", &partition), &[])
    };
    let execution = run("1");
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let joined: String =
        (0..4).map(|number| std::fs::read_to_string(folder.path().join(format!("out.{number}"))).unwrap()).collect();
    assert_eq!(joined, rows);
    let execution = run("90");
    let cause = execution.cause.unwrap_or_default();
    assert!(cause.contains("the first range of") && cause.contains("leaves out 90"), "{cause}");
}

/// A retry without a rollback reads the same item again, so that it fails again, and none is left out.
#[test]
fn a_retried_read_leaves_no_item_out() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = folder.path().join("in");
    std::fs::create_dir(&inbox).unwrap();
    for (name, text) in [("a", "1"), ("b", "22222"), ("c", "3")] {
        std::fs::write(inbox.join(name), text).unwrap();
    }
    let process = process(folder.path());
    let again = "<retryable-exception-classes><include class=\"java.lang.Exception\"/></retryable-exception-classes>\
                 <no-rollback-exception-classes><include class=\"java.lang.Exception\"/></no-rollback-exception-classes></chunk>";
    let reader = properties(&[("folder", "in"), ("limit", "record-bytes=3")]);
    let xml = format!(
        "<step id=\"s\"><chunk retry-limit=\"2\"><reader ref=\"quayline.folderReader\">{reader}</reader><writer ref=\"quayline.fileWriter\">{}</writer>{again}</step>",
        properties(&[("file", "out")])
    );
    let execution = process.start(&xml, &[]);
    let cause = execution.cause.clone().unwrap_or_default();
    assert!(cause.contains("in/b has more than 3 bytes"), "{execution:?}");
}

/// Only conversions reported line ends that a framing keeps in its records. The job log has a note for each of the first ones.
#[test]
fn line_ends_in_records_are_noted_in_the_job_log() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.txt"), b"aa\r\nbb\ncc\r\ndd\r\n").unwrap();
    let writer = [("file", "out.dat"), ("framing", "rdw")];
    let xml = chunk(&[("file", "in.txt"), ("framing", "lines:crlf")], "", &writer);
    let mut process = process(folder.path());
    let log = std::sync::Arc::new(Log(parking_lot::Mutex::default()));
    process.engine.observers.push(std::sync::Arc::clone(&log) as std::sync::Arc<dyn Observer>);
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let log = log.0.lock().clone();
    assert!(log.contains("CNV-038") && log.contains("in.txt, record 2") && !log.contains("record 3"), "{log}");
}

/// The remedy for an item that the framing of the output cannot hold is to skip it, but its class was `quayline.Configuration`.
#[test]
fn an_item_that_the_output_cannot_hold_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.txt"), "abc\nabcdef\nxyz\n").unwrap();
    let skipping = "<skippable-exception-classes><include class=\"quayline.Rejected\"/></skippable-exception-classes>";
    let xml = format!(
        "<step id=\"s\"><chunk><reader ref=\"quayline.fileReader\">{}</reader><writer ref=\"quayline.fileWriter\">{}</writer>{skipping}</chunk></step>",
        properties(&[("file", "in.txt")]),
        properties(&[("file", "out.dat"), ("framing", "fixed:3")]),
    );
    let execution = Process::new(backend(&medium()), folder.path().to_owned()).start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(std::fs::read(folder.path().join("out.dat")).unwrap(), b"abcxyz");
}

/// An item that was shorter than the key deleted the first record whose key begins with it.
#[test]
fn a_part_of_a_key_deletes_no_record() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.txt"), "00\n0002\n0003cccc\n").unwrap();
    let medium = medium();
    let store = crate::kit::store(&medium);
    let mut unit = store.begin().unwrap();
    let definition = FileDefinition {
        name: "F".to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 4 }),
        record_bytes_min: 8,
        record_bytes_max: 8,
        alternates: Vec::new(),
    };
    let file = store.define_file(&mut unit, definition).unwrap();
    for record in ["0001aaaa", "0002bbbb", "0003cccc", "0004dddd"] {
        file.insert(&mut unit, record.as_bytes()).unwrap();
    }
    unit.commit().unwrap();
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"10\"><reader ref=\"quayline.fileReader\">{}</reader><writer ref=\"quayline.recordFileWriter\">{}</writer>\
         <skippable-exception-classes><include class=\"quayline.Rejected\"/></skippable-exception-classes></chunk></step>",
        properties(&[("file", "in.txt")]),
        properties(&[("file", "F"), ("mode", "delete")]),
    );
    let process = Process::new(backend(&medium), folder.path().to_owned());
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write, counts.write_skip), (3, 2, 1));
    let unit = store.begin().unwrap();
    let mut left = Vec::new();
    let file = store.file(&unit, "F").unwrap();
    file.scan(&unit, &mut |_, record| {
        left.push(String::from_utf8(record.to_vec()).unwrap());
        Ok(())
    })
    .unwrap();
    assert_eq!(left, ["0001aaaa", "0004dddd"]);
}
