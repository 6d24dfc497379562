//! Hostile or unlucky uses of jobs: other parameters at a restart, files changed by others, pipes, commands that leave processes running.

use std::path::Path;
use std::time::Duration;

use quayline_batch::artifact::{Answer, Item, ItemPlace, Lent, Reader};
use quayline_batch::event::Observer;
use quayline_batch::record::Execution;
use quayline_batch::{BatchStatus, Thrown, Work};

use crate::builtins::Log;
use crate::kit::{Process, backend, given, job, medium, properties};

fn process(folder: &Path) -> Process {
    Process::new(backend(&medium()), folder.to_owned())
}

fn lines(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|number| format!("item {number}\n")).collect()
}

/// Returns a step that copies a file line by line. `fail` has the numbers of items that the processor refuses once.
fn copy(from: &[(&str, &str)], fail: &str, to: &[(&str, &str)], partition: &str) -> String {
    format!(
        "<step id=\"s\"><chunk item-count=\"1\"><reader ref=\"quayline.fileReader\">{}</reader><processor ref=\"picky\">{}</processor>\
         <writer ref=\"quayline.fileWriter\">{}</writer></chunk>{partition}</step>",
        properties(from),
        properties(&[("fail", fail)]),
        properties(to)
    )
}

fn ranges(fail: &str, out: &str, more: &[(&str, &str)]) -> String {
    let from = [("file", "in"), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")];
    let mut list = vec![("file", "in"), ("partitions", "#{jobParameters['p']}?:2;")];
    list.extend_from_slice(more);
    let mapper = format!("<partition><mapper ref=\"quayline.fileMapper\">{}</mapper></partition>", properties(&list));
    copy(&from, fail, &[("file", out)], &mapper)
}

fn failed(execution: &Execution, why: &str) {
    let cause = execution.cause.as_deref().unwrap_or_default();
    assert!(execution.status == BatchStatus::Failed && cause.contains(why), "{execution:?}");
}

fn completed(execution: &Execution) {
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
}

/// Returns the lines of all files whose names begin with a prefix, sorted.
fn together(folder: &Path, begin: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_name().into_string().unwrap().starts_with(begin) {
            found.extend(std::fs::read_to_string(entry.path()).unwrap().lines().map(str::to_owned));
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn a_restart_that_would_plan_other_ranges_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), lines(10..50)).unwrap();
    let process = process(folder.path());
    let xml = ranges("40", "out#{partitionPlan['number']}", &[]);
    let first = process.start(&xml, &[("p", "4")]);
    assert_eq!(first.status, BatchStatus::Failed);
    // Without the parameter there are two partitions; with another there are eight.
    let second = process.restart(first.id, &xml, &[]);
    failed(&second, "was planned in 4 partitions before, now in 2");
    let third = process.restart(second.id, &xml, &[("p", "8")]);
    failed(&third, "now in 8");
    // The number of partitions is the same, but the file has grown.
    std::fs::write(folder.path().join("in"), lines(10..60)).unwrap();
    let fourth = process.restart(third.id, &xml, &[("p", "4")]);
    failed(&fourth, "with other properties");
    std::fs::write(folder.path().join("in"), lines(10..50)).unwrap();
    completed(&process.restart(fourth.id, &xml, &[("p", "4")]));
    let expected: Vec<String> = lines(10..50).lines().map(str::to_owned).collect();
    assert_eq!(together(folder.path(), "out"), expected);
}

#[test]
fn a_restart_does_not_continue_in_the_file_of_another_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in1"), lines(10..16)).unwrap();
    std::fs::write(folder.path().join("in2"), lines(20..26)).unwrap();
    let process = process(folder.path());
    let xml = |input| copy(&[("file", input)], "14 24", &[("file", "out")], "");
    let first = process.start(&xml("in1"), &[]);
    let second = process.start(&xml("in2"), &[]);
    assert_eq!((first.status, second.status), (BatchStatus::Failed, BatchStatus::Failed));
    let again = process.restart(first.id, &xml("in1"), &[]);
    failed(&again, "is not as this execution left it");
    completed(&process.restart(second.id, &xml("in2"), &[]));
    assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), lines(20..26));
    // A complete file of the same length from another run is not accepted either.
    failed(&process.restart(again.id, &xml("in1"), &[]), "out.partial cannot be opened");
    assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), lines(20..26));
}

/// Only the length of the input was compared: a file of the same length was read on from the middle, and records were lost and doubled.
#[test]
fn a_restart_does_not_continue_in_another_input_of_the_same_length() {
    let folder = tempfile::tempdir().unwrap();
    let input = |text: String| std::fs::write(folder.path().join("in"), text).unwrap();
    input(lines(10..16));
    let process = process(folder.path());
    let xml = copy(&[("file", "in")], "14", &[("file", "out")], "");
    let first = process.start(&xml, &[]);
    assert_eq!(first.status, BatchStatus::Failed);
    input((10..16).rev().map(|number| lines(number..number + 1)).collect());
    let again = process.restart(first.id, &xml, &[]);
    failed(&again, "in is not the file that the job read: its content before byte");
    // A record after the checkpoint may be corrected.
    input(lines(10..16).replace("14", "44"));
    completed(&process.restart(again.id, &xml, &[]));
    let out = std::fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(out, lines(10..16).replace("14", "44"));
}

#[test]
fn partitions_that_write_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), lines(10..50)).unwrap();
    for threads in ["1", "2"] {
        let execution = process(folder.path()).start(&ranges("", "out", &[("threads", threads)]), &[]);
        let cause = execution.cause.as_deref().unwrap_or_default();
        assert!(cause.contains("of step s writes") && cause.contains("partition"), "{execution:?}");
    }
}

#[test]
fn a_file_that_another_job_writes_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), lines(10..12)).unwrap();
    let xml = copy(&[("file", "in")], "", &[("file", "out")], "");
    let other = std::fs::File::create(folder.path().join("out.partial")).unwrap();
    other.lock().unwrap();
    let process = process(folder.path());
    let execution = process.start(&xml, &[]);
    failed(&execution, "another step or job writes");
    // A process that another test starts at this moment may have the file open, too.
    other.unlock().unwrap();
    completed(&process.restart(execution.id, &xml, &[]));
}

#[test]
fn pipes_are_written_and_links_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("in"), lines(10..14)).unwrap();
    let xml = |fail| copy(&[("file", "in")], fail, &[("file", "out")], "");
    let made = std::process::Command::new("mkfifo").arg(at("out")).status().unwrap();
    assert!(made.success());
    for fail in ["", "12"] {
        let pipe = at("out");
        let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
        let process = process(folder.path());
        let execution = process.start(&xml(fail), &[]);
        if fail.is_empty() {
            completed(&execution);
            assert_eq!(reader.join().unwrap(), lines(10..14));
        } else {
            assert_eq!(execution.status, BatchStatus::Failed);
            assert_eq!(reader.join().unwrap(), lines(10..12));
            failed(&process.restart(execution.id, &xml(fail), &[]), "cannot be undone");
        }
        assert!(!std::fs::metadata(at("out")).unwrap().is_file() && !at("out.partial").exists());
    }
    std::fs::remove_file(at("out")).unwrap();
    std::fs::create_dir(at("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere/real", at("out")).unwrap();
    for _ in 0..2 {
        completed(&process(folder.path()).start(&xml(""), &[]));
        assert!(std::fs::symlink_metadata(at("out")).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(at("elsewhere/real")).unwrap(), lines(10..14));
    }
}

#[test]
fn short_items_of_one_length_are_filled_on_request_only() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), "a\nbb\n").unwrap();
    let with = |more: &[(&str, &str)]| {
        let mut list = vec![("file", "out"), ("framing", "fixed:4")];
        list.extend_from_slice(more);
        process(folder.path()).start(&copy(&[("file", "in")], "", &list, ""), &[])
    };
    failed(&with(&[]), "an item has 1 bytes, expected 4");
    for (pad, expected) in [("space", b"a   bb  "), ("0x40", b"a@@@bb@@"), ("*", b"a***bb**")] {
        completed(&with(&[("pad", pad)]));
        assert_eq!(std::fs::read(folder.path().join("out")).unwrap(), expected);
    }
    failed(&with(&[("pad", "two")]), "pad");
    let mf = process(folder.path()).start(&copy(&[("file", "in")], "", &[("file", "o"), ("framing", "mf")], ""), &[]);
    failed(&mf, "framing");
}

/// Items that were filled, and a file that `skip` leaves out as a whole, had no trace.
#[test]
fn filled_items_and_skipped_files_are_in_the_job_log() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), "a\nbbbb\n\n").unwrap();
    let run = |reader: &[(&str, &str)], writer: &[(&str, &str)]| {
        let mut process = process(folder.path());
        let log = std::sync::Arc::new(Log::default());
        process.engine.observers.push(std::sync::Arc::clone(&log) as std::sync::Arc<dyn Observer>);
        completed(&process.start(&copy(reader, "", writer, ""), &[]));
        log.0.lock().clone()
    };
    let filled = [("file", "out"), ("framing", "fixed:4"), ("pad", "space")];
    let said = run(&[("file", "in")], &filled);
    assert!(said.contains("out: JOB-035: 2 items are filled with `pad`, so their lengths are lost"), "{said}");
    assert_eq!(said.matches("JOB-035").count(), 1, "{said}");
    let plain = [("file", "out")];
    let said = run(&[("file", "in"), ("skip", "9")], &plain);
    assert!(said.contains("JOB-036: the file has 3 items, and the property skip leaves out 9"), "{said}");
    assert!(!run(&[("file", "in"), ("skip", "3")], &plain).contains("JOB-036"));
}

/// Processes that a command starts end together with the command.
#[test]
fn a_stop_ends_a_command_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let command = "(echo begun &gt; begun; sleep 1; echo late &gt; late) &amp; wait; true";
    let xml = format!(
        "<step id=\"s\"><batchlet ref=\"quayline.commandBatchlet\">{}</batchlet></step>",
        properties(&[("command", command)])
    );
    let process = process(folder.path());
    let execution = std::thread::scope(|scope| {
        let runs = scope.spawn(|| process.start(&xml, &[]));
        while !folder.path().join("begun").exists() && !runs.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        process.engine.stop_all();
        runs.join().unwrap()
    });
    assert_eq!(execution.status, BatchStatus::Stopped, "{execution:?}");
    std::thread::sleep(Duration::from_millis(1_200));
    assert!(!folder.path().join("late").exists());
}

/// Skips of a chunk that rolls back happen again, and count once; an item keeps its number.
#[test]
fn skips_count_once_whatever_rolls_back() {
    let xml = |limit: &str, reader: &str, writer: &str| {
        format!(
            "<step id=\"s\"><properties><property name=\"quayline.rejects\" value=\"keep\"/></properties>\
             <chunk item-count=\"6\" {limit}><reader ref=\"counting\">{}</reader><writer ref=\"picky\">{}</writer>\
             <skippable-exception-classes><include class=\"SkEx\"/></skippable-exception-classes>\
             <retryable-exception-classes><include class=\"MyEx\"/></retryable-exception-classes></chunk></step>",
            properties(&[("count", "6"), ("fail", reader), ("class", "SkEx"), ("always", "1"), ("consume", "1")]),
            properties(&[("fail", writer), ("class", "MyEx")])
        )
    };
    let process = Process::in_memory();
    let execution = process.start(&xml("", "2 4", "5 6"), &[]);
    completed(&execution);
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.read_skip, counts.write), (4, 2, 4), "{counts:?}");
    let rejects = process.engine.repository.rejects(execution.id, None, 10).unwrap();
    let numbers: Vec<Option<u64>> = rejects.iter().map(|(reject, _)| reject.number).collect();
    assert_eq!(numbers, [Some(2), Some(4)]);
    // One bad item passes a limit of one.
    let process = Process::in_memory();
    completed(&process.start(&xml("skip-limit=\"1\"", "4", "5"), &[]));
}

fn checked(xml: &str) -> Vec<String> {
    let findings = crate::kit::job(xml).check(None, &|_| None, &());
    findings.iter().map(|finding| format!("{} {}", finding.code.0, finding.message)).collect()
}

#[test]
fn a_check_without_parameters_finds_what_is_written_without_references() {
    let batchlet = "<batchlet ref=\"saying\"/>";
    for (xml, expected) in [
        (format!("<step id=\"a\" start-limit=\"abc\">{batchlet}</step>"), "JOB-002 start-limit"),
        (format!("<step id=\"a\" allow-start-if-complete=\"yes\">{batchlet}</step>"), "JOB-002 allow-start"),
        ("<step id=\"a\"/>".to_owned(), "JOB-002 step a does nothing"),
        (
            format!("<step id=\"a\">{batchlet}<partition><plan partitions=\"0\"/></partition></step>"),
            "JOB-002 a plan of 0",
        ),
        (
            format!(
                "<step id=\"a\">{batchlet}<partition><plan partitions=\"2\"><properties partition=\"0\"/><properties partition=\"0\"/></plan></partition></step>"
            ),
            "JOB-002 properties of a partition that has",
        ),
        (
            format!(
                "<step id=\"a\"><properties><property name=\"quayline.reject\" value=\"keep\"/></properties>{batchlet}</step>"
            ),
            "JOB-002 quayline.reject has no effect",
        ),
        (
            format!("<step id=\"a\" start-limit=\"#{{jobParameter['x']}}\">{batchlet}</step>"),
            "JOB-007 `#{` begins no reference",
        ),
    ] {
        let found = checked(&xml);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{xml}: {found:?}");
    }
    for policy in ["item-count=\"abc\"", "item-count=\"0\"", "item-count=\"-1\"", "checkpoint-policy=\"foo\""] {
        let xml =
            format!("<step id=\"a\"><chunk {policy}><reader ref=\"counting\"/><writer ref=\"picky\"/></chunk></step>");
        let found = checked(&xml);
        assert!(found.len() == 1 && found[0].starts_with("JOB-002"), "{policy}: {found:?}");
    }
    let open =
        "<step id=\"a\" start-limit=\"#{jobParameters['x']}\" allow-start-if-complete=\"#{jobParameters['y']}\">";
    assert_eq!(checked(&format!("{open}{batchlet}</step>")), Vec::<String>::new());
}

/// Ten times ten times ten: a short text whose values would fill the memory.
#[test]
fn values_that_grow_as_powers_are_refused() {
    let property = |number: u32| {
        let value = if number == 0 {
            "aaaaaaaaaa".to_owned()
        } else {
            format!("#{{jobProperties['p{}']}}", number - 1).repeat(10)
        };
        format!("<property name=\"p{number}\" value=\"{value}\"/>")
    };
    let properties: String = (0..40).map(property).collect();
    let xml = format!("<properties>{properties}</properties><step id=\"a\"><batchlet ref=\"saying\"/></step>");
    let begin = std::time::Instant::now();
    let found = crate::kit::job(&xml).check(Some(&crate::kit::given(&[])), &|_| None, &());
    assert!(found.iter().any(|finding| finding.message.contains("more than 1048576 bytes")), "{found:?}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

/// Nested defaults took time with the square of their number, and many enough of them more stack than a thread has.
#[test]
fn defaults_inside_of_each_other_have_a_limit() {
    let step = |value: &str| {
        format!(
            "<step id=\"a\"><properties><property name=\"p\" value=\"{value}\"/></properties><batchlet ref=\"saying\"/></step>"
        )
    };
    let check = |value: &str| {
        let begin = std::time::Instant::now();
        let found = crate::kit::job(&step(value)).check(Some(&crate::kit::given(&[])), &|_| None, &());
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
        found.into_iter().filter(|finding| finding.severity == quayline_core::Severity::Error).collect::<Vec<_>>()
    };
    for operator in ["jobParameters", "jobProperties", "partitionPlan"] {
        let one = format!("#{{{operator}['x']}}?:");
        let nested = |depth: usize| format!("{}end{}", one.repeat(depth), ";".repeat(depth));
        assert_eq!(check(&nested(64)), [], "{operator}");
        for value in [nested(65), nested(30_000), one.repeat(30_000)] {
            let found = check(&value);
            assert!(found.len() == 1 && found[0].code.0 == "JOB-002", "{operator}: {found:?}");
            assert!(found[0].message.contains("the value nests more than 64 defaults"), "{found:?}");
        }
        // Defaults after each other are no deeper than one.
        assert_eq!(check(&format!("{one}end;").repeat(1_000)), [], "{operator}");
    }
}

#[test]
fn an_empty_parameter_takes_the_default() {
    let process = Process::in_memory();
    let say = properties(&[("say", "#{jobParameters['x']}?:default;")]);
    let xml = format!("<step id=\"s\"><batchlet ref=\"saying\">{say}</batchlet></step>");
    for (given, said) in [(vec![], "sdefault"), (vec![("x", "")], "sdefault"), (vec![("x", "y")], "sy")] {
        completed(&process.start(&xml, &given));
        assert_eq!(process.said(), [said]);
    }
}

#[test]
fn commands_find_parameters_in_their_environment() {
    let folder = tempfile::tempdir().unwrap();
    let command = "printf %s \"$QUAYLINE_JOB_PARAM_A_B\" &gt; out";
    let xml = format!(
        "<step id=\"s\"><batchlet ref=\"quayline.commandBatchlet\">{}</batchlet></step>",
        properties(&[("command", &command.replace('"', "&quot;"))])
    );
    let value = "x' ; touch PWNED ; '$(touch PWNED)";
    completed(&process(folder.path()).start(&xml, &[("a-b", value)]));
    assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), value);
    assert!(!folder.path().join("PWNED").exists());
}

/// Regression: the command got one of the values and no finding.
#[test]
fn parameters_with_the_same_variable_are_refused() {
    let process = Process::in_memory();
    let xml = "<step id=\"s\"><batchlet ref=\"saying\"/></step>";
    let refused = process.engine.start(&job(xml), given(&[("a-b", "1"), ("a.b", "2")]));
    let text = refused.err().expect("one variable").findings().to_string();
    assert!(text.contains("JOB-034") && text.contains("`a-b` and `a.b`"), "{text}");
    completed(&process.start(xml, &[("a-b", "1"), ("a-c", "2")]));
}

#[test]
fn rejects_of_no_execution_or_step_are_refused() {
    let process = Process::in_memory();
    completed(&process.start("<step id=\"s\"><batchlet ref=\"saying\"/></step>", &[]));
    let xml = |list: &[(&str, &str)]| {
        let reader = format!("<reader ref=\"quayline.rejectReader\">{}</reader>", properties(list));
        format!("<step id=\"again\"><chunk>{reader}<writer ref=\"picky\"/></chunk></step>")
    };
    failed(&process.start(&xml(&[("execution", "999")]), &[]), "999");
    failed(&process.start(&xml(&[("execution", "1"), ("step", "nope")]), &[]), "has no step nope");
    completed(&process.start(&xml(&[("execution", "1"), ("step", "s")]), &[]));
}

/// The properties of artifacts are checked before the run: each fault is reported with its line and a remedy.
#[test]
fn properties_are_checked_before_the_run() {
    let mut registry = quayline_batch::artifact::Registry::default();
    quayline_batch::builtin::register(&mut registry);
    let xml = "<step id=\"s\"><chunk>\n<reader ref=\"quayline.fileReader\"><properties>\n\
        <property name=\"file\" value=\"in.txt\"/>\n<property name=\"skip\" value=\"one\"/>\n<property name=\"fraiming\" value=\"rdw\"/>\n\
        <property name=\"to\" value=\"#{partitionPlan['to']}\"/></properties></reader>\n\
        <processor ref=\"quayline.mapProcessor\"/>\n\
        <writer ref=\"quayline.sqlWriter\"><properties>\n<property name=\"table\" value=\"t\"/><property name=\"columns\" value=\"a,b\"/>\n\
        <property name=\"mode\" value=\"merge\"/>\n<property name=\"database\" value=\"mysql://x\"/></properties></writer></chunk></step>";
    let found = |xml: &str| -> Vec<(Option<u32>, String, String)> {
        let findings = crate::kit::job(xml).check(None, &|_| None, &registry);
        findings
            .into_iter()
            .map(|finding| {
                (
                    finding.place.line,
                    format!("{} {}", finding.code.0, finding.message),
                    finding.hint.unwrap_or_default(),
                )
            })
            .collect()
    };
    let told = found(xml);
    let short: Vec<(u32, &str)> = told.iter().map(|(line, message, _)| (line.unwrap(), message.as_str())).collect();
    assert_eq!(
        short[..4],
        [
            (4, "JOB-028 property skip of quayline.fileReader is not a number"),
            (5, "JOB-028 property fraiming of quayline.fileReader is not known"),
            (7, "JOB-028 property map of quayline.mapProcessor is missing or empty"),
            (10, "JOB-028 property mode of quayline.sqlWriter is not known"),
        ]
    );
    assert!(short[4].0 == 11 && short[4].1.contains("property database of quayline.sqlWriter"), "{short:?}");
    assert_eq!(short.len(), 5, "{short:?}");
    assert_eq!(told[0].2, "write digits; the default is 0");
    assert_eq!(told[1].2, "the properties of quayline.fileReader are file, framing, skip, from, to, limit");
    assert!(told[2].2.contains("add <property name=\"map\""), "{}", told[2].2);
    assert_eq!(told[3].2, "write insert, update, upsert or delete");
    assert!(told[4].2.contains("postgresql://"), "{}", told[4].2);
    // An update finds its row by a key.
    let update = xml.replace("\"merge\"", "\"update\"").replace("mysql://x", "postgresql://u@h/d");
    assert!(found(&update).iter().any(|(_, message, _)| {
        message.contains("key of quayline.sqlWriter is missing or empty, and mode update needs it")
    }));
    // Properties without an effect, or with another effect than their names say.
    let with = |old: &str, new: &str| {
        let insert =
            xml.replace("\"merge\"", "\"insert\"").replace("mysql://x", "postgresql://u@h/d").replace(old, new);
        found(&insert).into_iter().map(|(_, message, _)| message).collect::<Vec<_>>().join("; ")
    };
    let more = |name: &str, value: &str| {
        with(
            "<property name=\"table\"",
            &format!("<property name=\"{name}\" value=\"{value}\"/><property name=\"table\""),
        )
    };
    assert!(
        more("key", "a").contains("key of quayline.sqlWriter has no effect in mode insert"),
        "{}",
        more("key", "a")
    );
    assert!(more("missing", "ignore").contains("missing of quayline.sqlWriter has no effect in mode insert"));
    assert!(more("table", "t").contains("a later property `table` replaces this one"));
    let update = xml
        .replace("\"merge\"", "\"update\"/><property name=\"key\" value=\"a,c\"")
        .replace("mysql://x", "postgresql://u@h/d");
    let told = found(&update);
    assert!(told.iter().any(|(_, message, _)| message.contains("names `c`, which is not in `columns`")), "{told:?}");
    assert!(with("a,b", "a,,b").contains("columns of quayline.sqlWriter has an empty name"));
    assert!(with("\"fraiming\" value=\"rdw\"", "\"framing\" value=\"fixed:0\"").contains("a fixed record length of 0"));
    // A reference without a value is missing; one that is known only in a partition is not.
    let open = "<step id=\"s\"><batchlet ref=\"quayline.commandBatchlet\"><properties><property name=\"command\" value=\"#{jobParameters['c']}\"/>\
        </properties></batchlet></step>";
    assert_eq!(found(open), []);
    let given = crate::kit::job(open).check(Some(&crate::kit::given(&[])), &|_| None, &registry);
    assert!(
        given.iter().any(|finding| finding.code.0 == "JOB-028" && finding.message.contains("command")),
        "{given:?}"
    );
    // Programs have properties of their own.
    let external = "<step id=\"s\"><batchlet ref=\"quayline.externalBatchlet\"><properties><property name=\"timeout-s\" value=\"0\"/>\
        <property name=\"mine\" value=\"x\"/></properties></batchlet></step>";
    let told: Vec<String> = found(external).into_iter().map(|(_, message, _)| message).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter().any(|message| message.contains("timeout-s of quayline.externalBatchlet is out of range")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|message| message.contains("command of quayline.externalBatchlet is missing or empty")),
        "{told:?}"
    );
}

/// Editors of other systems save job XML in other encodings.
#[test]
fn job_xml_has_the_encoding_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let text = |encoding: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"{encoding}\"?>\n<job id=\"M\u{fc}ller\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">\
             <step id=\"s\"><batchlet ref=\"saying\"/></step></job>"
        )
    };
    let utf16 = |mark: bool, big: bool| -> Vec<u8> {
        let units = mark.then_some(0xfeff).into_iter().chain(text("UTF-16").encode_utf16().collect::<Vec<u16>>());
        units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let latin: Vec<u8> = text("ISO-8859-1").chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let mut marked = vec![0xef, 0xbb, 0xbf];
    marked.extend_from_slice(text("UTF-8").as_bytes());
    for bytes in [utf16(true, true), utf16(true, false), utf16(false, true), utf16(false, false), latin, marked] {
        let path = folder.path().join("job.xml");
        std::fs::write(&path, &bytes).unwrap();
        let file = quayline_project::job::JobFile::open(&path).unwrap_or_else(|findings| panic!("{findings}"));
        assert_eq!(file.id(), "M\u{fc}ller");
        let process = Process::in_memory();
        let execution = process.engine.start(&file, crate::kit::given(&[])).unwrap().run().unwrap();
        assert_eq!((execution.job.as_str(), execution.status), ("M\u{fc}ller", BatchStatus::Completed));
    }
}

/// Regression: after the loss of a framing, the reader failed repeatedly at the same byte, each failure was a skip, and a step that skips
/// everything never ended and filled its log. The unreadable part is the rest of the file, so no step may skip it.
#[test]
fn a_lost_framing_is_never_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let skip =
        "<skippable-exception-classes><include class=\"java.lang.Exception\"/></skippable-exception-classes></chunk>";
    let copy = |framing: &str| {
        copy(&[("file", "in"), ("framing", framing)], "", &[("file", "out")], "").replace("</chunk>", skip)
    };
    std::fs::write(folder.path().join("in"), b"\x00\x08\x00\x00AAAA\x00\x02\x00\x00BBBB\x00\x08\x00\x00CCCC").unwrap();
    let process = process(folder.path());
    let execution = process.start(&copy("rdw"), &[]);
    failed(&execution, "FRM-002");
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write, counts.read_skip), (1, 1, 0), "{counts:?}");
    let long = format!("ISA*00*{}", "A".repeat(5 << 20));
    std::fs::write(folder.path().join("in"), long).unwrap();
    let execution = process.start(
        &copy("edi").replace("value=\"edi\"", "value=\"edi\"/><property name=\"limit\" value=\"record-bytes=1M\""),
        &[],
    );
    failed(&execution, "has more than 1048576 bytes");
}

/// Fails at one position regardless of skips.
struct Stuck {
    next: u64,
}

impl Reader for Stuck {
    fn open(&mut self, _: Option<&[u8]>, _: &mut dyn Work) -> Answer<()> {
        Ok(())
    }

    fn read(&mut self, _: &mut dyn Work) -> Answer<Option<Item>> {
        if self.next == 3 {
            return Err(Thrown::new("Bad", "no way on".to_owned()));
        }
        self.next += 1;
        Ok(Some(b"item".to_vec()))
    }

    fn place(&self) -> ItemPlace {
        ItemPlace { record: Some(self.next + 1), byte: None }
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(Some(self.next.to_le_bytes().to_vec().into()))
    }
}

#[test]
fn a_reader_that_does_not_move_ends_its_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = process(folder.path());
    process.engine.registry.reader("stuck", |_| Ok(Box::new(Stuck { next: 0 })));
    let xml = "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"stuck\"/><writer ref=\"picky\"/>\
               <skippable-exception-classes><include class=\"java.lang.Exception\"/></skippable-exception-classes></chunk></step>";
    let execution = process.start(xml, &[]);
    failed(&execution, "no way on");
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.write, counts.read_skip), (3, 3, 1), "{counts:?}");
}

/// An operator can end a step that would try one item for ever.
#[test]
fn a_retry_without_limit_sees_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let process = process(folder.path());
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"2\"><reader ref=\"counting\">{}</reader><writer ref=\"picky\"/>\
         <retryable-exception-classes><include class=\"Bad\"/></retryable-exception-classes></chunk></step>",
        properties(&[("fail", "3"), ("always", "true"), ("stop", "3")])
    );
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Stopped, "{execution:?}");
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.write, counts.commit), (2, 1), "{counts:?}");
}

#[test]
fn the_reader_of_a_folder_goes_past_a_file_that_is_too_long() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("files")).unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(folder.path().join("files").join(name), vec![b'x'; if name == "b" { 9 } else { 2 }]).unwrap();
    }
    let xml = format!(
        "<step id=\"s\"><chunk item-count=\"1\"><reader ref=\"quayline.folderReader\">{}</reader><writer ref=\"quayline.fileWriter\">{}</writer>\
         <skippable-exception-classes><include class=\"java.lang.Exception\"/></skippable-exception-classes></chunk></step>",
        properties(&[("folder", "files"), ("limit", "record-bytes=5")]),
        properties(&[("file", "out")])
    );
    let process = process(folder.path());
    let execution = process.start(&xml, &[]);
    let counts = process.steps(execution.id)[0].counts;
    completed(&execution);
    assert_eq!((counts.read, counts.read_skip), (2, 1), "{counts:?}");
}

/// Regression: the pipe got the prologue once more when the first chunk rolled back.
#[test]
fn a_pipe_gets_the_prologue_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("in"), lines(10..14)).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("out")).status().unwrap().success());
    let xml = copy(&[("file", "in")], "10", &[("file", "out"), ("prologue", "head\\n")], "").replace(
        "</chunk>",
        "<retryable-exception-classes><include class=\"Bad\"/></retryable-exception-classes></chunk>",
    );
    let pipe = at("out");
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    let process = process(folder.path());
    let execution = process.start(&xml, &[]);
    completed(&execution);
    assert_eq!(process.steps(execution.id)[0].counts.rollback, 1);
    drop(process);
    assert_eq!(reader.join().unwrap(), format!("head\n{}", lines(10..14)));
}

/// Regression: a link that leads nowhere ended the step, even if its name did not match.
#[test]
fn entries_of_a_folder_that_are_no_files_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["in", "moved"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    std::fs::write(at("in/a.txt"), "one").unwrap();
    for name in ["in/b.tmp", "in/c.txt"] {
        std::os::unix::fs::symlink("nowhere", at(name)).unwrap();
    }
    let xml = format!(
        "<step id=\"s\" next=\"t\"><chunk><reader ref=\"quayline.folderReader\">{}</reader><writer ref=\"quayline.fileWriter\">{}</writer></chunk></step>\
         <step id=\"t\"><batchlet ref=\"quayline.transferBatchlet\">{}</batchlet></step>",
        properties(&[("folder", "in"), ("name", "*.txt")]),
        properties(&[("file", "out")]),
        properties(&[("from", "in/*.txt"), ("to", "moved")]),
    );
    completed(&process(folder.path()).start(&xml, &[]));
    assert_eq!(std::fs::read_to_string(at("out")).unwrap(), "one\n");
    assert!(at("moved/a.txt").is_file() && !at("moved/c.txt").exists());
}
