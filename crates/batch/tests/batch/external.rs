//! Artifacts that are programs: the examples in Python and Java, programs that end, hang, talk nonsense or are stopped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use quayline_batch::{BatchStatus, Thrown};
use quayline_project::job::JobFile;

use crate::kit::{Process, backend, ended, given, medium, properties};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/batch").canonicalize().unwrap()
}

/// Returns true if a command is installed; otherwise the test is counted as skipped.
fn has(command: &str) -> bool {
    let there = Command::new(command).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: {}: {command} is not installed", std::thread::current().name().unwrap_or("a test"));
    }
    there
}

fn process(folder: &Path) -> Process {
    Process::new(backend(&medium()), folder.to_owned())
}

/// Writes `count` customers; the name of every tenth is blank.
fn customers(folder: &Path, count: u32) {
    let line = |number: u32| {
        let name = if number.is_multiple_of(10) { "" } else { "ADA LOVELACE" };
        format!("{number:04}{name:<15}{:<9}\n", "LONDON")
    };
    std::fs::write(folder.join("customers.txt"), (1..=count).map(line).collect::<String>()).unwrap();
}

fn python(kind: &str) -> String {
    format!("python3 {}/external/customers.py {kind}", examples().display())
}

fn artifact(element: &str, name: &str, list: &[(&str, &str)]) -> String {
    format!("<{element} ref=\"quayline.{name}\">{}</{element}>", properties(list))
}

/// Returns the example's job for the customers of a folder.
fn example(job: &str, command: &str) -> JobFile {
    let text = std::fs::read_to_string(examples().join("jobs").join(job)).unwrap();
    let text = text.replace("external/", &format!("{}/external/", examples().display()));
    assert!(text.contains(command), "{text}");
    JobFile::parse(job, &text).unwrap()
}

fn names(count: u32, name: &str) -> String {
    (1..=count).filter(|number| number % 10 != 0).map(|number| format!("{number};{name}\n")).collect()
}

#[test]
fn python_artifacts_read_process_and_write_a_chunk_in_one_request_each() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    customers(folder.path(), 95);
    let process = process(folder.path());
    let file = example("external-python.xml", "customers.py");
    let execution = process.engine.start(&file, given(&[("items", "20")])).unwrap().run().unwrap();
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let written = std::fs::read_to_string(folder.path().join("names.csv")).unwrap();
    assert_eq!(written, names(95, "Ada Lovelace"));
    let counts = process.steps(execution.id)[0].counts;
    assert_eq!((counts.read, counts.filter, counts.write), (95, 9, 86));
}

/// A program that records the verbs of its requests: their number equals that of chunks, not of items.
#[test]
fn requests_are_as_many_as_chunks() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    customers(folder.path(), 1_000);
    let script = format!(
        "import sys\nsys.path.insert(0, {:?})\nimport customers, quayline_artifact as q\nplain = q._answer\n\
         def counted(artifact, verb, fields, source):\n    open(sys.argv[1] + '.verbs', 'a').write(verb + '\\n')\n    \
         return plain(artifact, verb, fields, source)\nq._answer = counted\nq.run(customers.KINDS[sys.argv[1]]())\n",
        examples().join("external")
    );
    std::fs::write(folder.path().join("counted.py"), script).unwrap();
    let xml = format!(
        "<step id=\"s\"><listeners>{}</listeners><chunk item-count=\"100\">{}{}{}</chunk></step>",
        artifact("listener", "externalListener", &[("command", "python3 counted.py listener"), ("file", "heard.txt")]),
        artifact("reader", "externalReader", &[("command", "python3 counted.py reader"), ("file", "customers.txt")]),
        artifact("processor", "externalProcessor", &[("command", "python3 counted.py processor")]),
        artifact("writer", "externalWriter", &[("command", "python3 counted.py writer"), ("file", "names.csv")]),
    );
    let process = process(folder.path());
    let execution = process.start(&xml, &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    let count = |kind: &str, verb: &str| {
        let verbs = std::fs::read_to_string(folder.path().join(format!("{kind}.verbs"))).unwrap();
        verbs.lines().filter(|line| *line == verb).count()
    };
    // The first 16 items of the step are processed separately.
    assert_eq!(count("processor", "process"), 11);
    assert_eq!(count("writer", "write"), 10);
    assert!(count("reader", "read") <= 11, "{}", count("reader", "read"));
    assert!(count("listener", "hear") <= 13, "{}", count("listener", "hear"));
    let heard = std::fs::read_to_string(folder.path().join("heard.txt")).unwrap();
    assert!(heard.contains("afterRead=1000") && heard.ends_with("COMPLETED\n"), "{heard}");
    assert_eq!(process.steps(execution.id)[0].exit_status.as_deref(), Some("0 skipped"));
}

#[test]
fn an_item_that_a_program_refuses_is_skipped_alone() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("customers.txt"), "0001ADA\nxxxxBAD\n0003KONRAD\nyyyyBAD\n0005JEAN\n").unwrap();
    let process = process(folder.path());
    let file = example("external-python.xml", "customers.py");
    let execution = process.engine.start(&file, given(&[])).unwrap().run().unwrap();
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("names.csv")).unwrap(), "1;Ada\n3;Konrad\n5;Jean\n");
    assert_eq!(process.steps(execution.id)[0].counts.process_skip, 2);
}

#[test]
fn java_artifacts_of_one_file_do_the_same() {
    if !has("java") || !has("javac") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    customers(folder.path(), 45);
    let process = process(folder.path());
    let file = example("external-java.xml", "Customers.java");
    let execution = process.engine.start(&file, given(&[("items", "10")])).unwrap().run().unwrap();
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("names.csv")).unwrap(), names(45, "ADA LOVELACE"));
}

/// Writes a shell script that implements the protocol, followed by the rest of a script.
fn shell(folder: &Path, name: &str, rest: &str) -> String {
    let script = format!(
        "answer() {{ printf 'ok %s\\n' \"$1\"; }}\nfields() {{ for n in $(seq \"$1\"); do read -r length; test \"$length\" = - || head -c $((length + 1)) >/dev/null; done; }}\n\
         request() {{ read -r verb count || exit 0; fields \"$count\"; }}\nrequest; answer 0\n{rest}\n"
    );
    std::fs::write(folder.join(name), script).unwrap();
    format!("exec bash {name}")
}

fn one_batchlet(command: &str, more: &[(&str, &str)]) -> String {
    let list: Vec<(&str, &str)> = [("command", command)].into_iter().chain(more.iter().copied()).collect();
    format!("<step id=\"s\">{}</step>", artifact("batchlet", "externalBatchlet", &list))
}

fn cause(process: &Process, xml: &str) -> (String, Duration) {
    let begin = Instant::now();
    let execution = process.start(xml, &[]);
    assert_eq!(execution.status, BatchStatus::Failed, "{execution:?}");
    (execution.cause.unwrap_or_default(), begin.elapsed())
}

#[test]
fn programs_that_hang_end_or_talk_nonsense_fail_the_step_and_leave_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let process = process(folder.path());
    let hangs = shell(folder.path(), "hangs.sh", "request; echo $$ > pid; sleep 600 & wait");
    let (text, took) = cause(&process, &one_batchlet(&hangs, &[("timeout-s", "1")]));
    assert!(
        text.contains("quayline.ProgramTimeout") && text.contains("gave no answer to process within 1 s"),
        "{text}"
    );
    assert!(took < Duration::from_secs(20), "{took:?}");
    let id = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(id.trim()).exists(), "the process {id} still runs");

    let ends = shell(folder.path(), "ends.sh", "request; exit 7");
    let (text, _) = cause(&process, &one_batchlet(&ends, &[]));
    assert!(
        text.contains("quayline.ProgramFailed") && text.contains("ended with code 7 before it answered process"),
        "{text}"
    );

    let killed = shell(folder.path(), "killed.sh", "request; kill -9 $$");
    let (text, _) = cause(&process, &one_batchlet(&killed, &[]));
    assert!(text.contains("was ended by signal 9"), "{text}");

    let (text, _) = cause(&process, &one_batchlet("echo Hello, world", &[]));
    assert!(text.contains("quayline.ProgramAnswer") && text.contains("not a verb and a number"), "{text}");

    let (text, _) = cause(&process, &one_batchlet("no-such-command-here", &[]));
    assert!(text.contains("quayline.ProgramFailed") && text.contains("ended with code 127"), "{text}");
}

#[test]
fn a_program_that_gives_signs_of_life_is_not_ended() {
    let folder = tempfile::tempdir().unwrap();
    let process = process(folder.path());
    let works = shell(
        folder.path(),
        "works.sh",
        "request; for n in 1 2 3 4; do sleep 0.5; printf 'say 1\\n4\\nwork\\n'; done; printf 'ok 1\\n4\\nDONE\\n'; request",
    );
    let execution = process.start(&one_batchlet(&works, &[("timeout-s", "1")]), &[]);
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(process.steps(execution.id)[0].exit_status.as_deref(), Some("DONE"));
}

#[test]
fn a_batchlet_is_asked_to_stop() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let process = process(folder.path());
    let xml = one_batchlet(&python("batchlet"), &[("seconds", "600")]);
    let file = crate::kit::job(&xml);
    let launched = process.engine.start(&file, given(&[])).unwrap();
    let id = launched.id();
    let execution = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(700));
            process.engine.stop(id).unwrap();
        });
        launched.run().unwrap()
    });
    assert_eq!(ended(&execution), "STOPPED STOPPED");
    assert_eq!(process.steps(id)[0].exit_status.as_deref(), Some("STOPPED"));
}

/// A writer crashes in the middle of its third chunk, after writing half of it: a restart, and a retry within the job, produce the same file.
#[test]
fn a_crash_of_a_program_repeats_nothing_and_loses_nothing() {
    if !has("python3") {
        return;
    }
    for retries in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        customers(folder.path(), 95);
        let script = format!(
            "import os, sys\nsys.path.insert(0, {:?})\nimport customers, quayline_artifact as q\nclass Dies(customers.Append):\n    chunks = 0\n    \
             def write(self, items):\n        self.chunks += 1\n        if self.chunks == 3 and not os.path.exists('died'):\n            \
             open('died', 'w').close()\n            super().write(items[:5])\n            os.kill(os.getpid(), 9)\n        \
             return super().write(items)\nq.run(Dies())\n",
            examples().join("external")
        );
        std::fs::write(folder.path().join("dies.py"), script).unwrap();
        let retry =
            "<retryable-exception-classes><include class=\"quayline.ProgramFailed\"/></retryable-exception-classes>";
        let xml = format!(
            "<step id=\"s\"><chunk item-count=\"20\">{}{}{}{}</chunk></step>",
            artifact("reader", "externalReader", &[("command", &python("reader")), ("file", "customers.txt")]),
            artifact("processor", "externalProcessor", &[("command", &python("processor"))]),
            artifact("writer", "externalWriter", &[("command", "python3 dies.py"), ("file", "names.csv")]),
            if retries { retry } else { "" },
        );
        let process = process(folder.path());
        let mut execution = process.start(&xml, &[]);
        if !retries {
            assert_eq!(execution.status, BatchStatus::Failed);
            assert!(execution.cause.as_ref().is_some_and(|cause| cause.contains("was ended by signal 9")));
            execution = process.restart(execution.id, &xml, &[]);
        }
        assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
        let written = std::fs::read_to_string(folder.path().join("names.csv")).unwrap();
        assert_eq!(written, names(95, "Ada Lovelace"), "retries: {retries}");
    }
}

/// Regression: a job skipped the crash of a reader or writer. The new process then got requests without `open`, so all further items were skipped or
/// came twice.
#[test]
fn a_job_cannot_skip_the_crash_of_a_reader_or_writer() {
    if !has("python3") {
        return;
    }
    let skip = "<skippable-exception-classes><include class=\"java.lang.Exception\"/></skippable-exception-classes>";
    let retry = "<retryable-exception-classes><include class=\"quayline.ProgramFailed\"/></retryable-exception-classes>\
                 <no-rollback-exception-classes><include class=\"java.lang.Exception\"/></no-rollback-exception-classes>";
    for (dies, class, when, retries) in [
        (
            "reader",
            "Lines",
            "def read(self):\n        self.die(self.file.tell() > 500)\n        return super().read()",
            false,
        ),
        (
            "writer",
            "Append",
            "def write(self, items):\n        self.die(self.length > 0)\n        return super().write(items)",
            false,
        ),
        (
            "reader",
            "Lines",
            "def read(self):\n        self.die(self.file.tell() > 500)\n        return super().read()",
            true,
        ),
        (
            "writer",
            "Append",
            "def write(self, items):\n        self.die(self.length > 0)\n        return super().write(items)",
            true,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        customers(folder.path(), 95);
        let script = format!(
            "import os, sys\nsys.path.insert(0, {:?})\nimport customers, quayline_artifact as q\nclass Dies(customers.{class}):\n    \
             def die(self, is_time):\n        if is_time and not os.path.exists('died'):\n            open('died', 'w').close()\n            \
             os.kill(os.getpid(), 9)\n    {when}\nq.run(Dies())\n",
            examples().join("external")
        );
        std::fs::write(folder.path().join("dies.py"), script).unwrap();
        let command = |kind: &str| if kind == dies { "python3 dies.py".to_owned() } else { python(kind) };
        let xml = format!(
            "<step id=\"s\"><chunk item-count=\"20\" skip-limit=\"90\" retry-limit=\"2\">{}{}{}{skip}{}</chunk></step>",
            artifact("reader", "externalReader", &[("command", &command("reader")), ("file", "customers.txt")]),
            artifact("processor", "externalProcessor", &[("command", &python("processor"))]),
            artifact("writer", "externalWriter", &[("command", &command("writer")), ("file", "names.csv")]),
            if retries { retry } else { "" },
        );
        let process = process(folder.path());
        let mut execution = process.start(&xml, &[]);
        if !retries {
            assert_eq!(execution.status, BatchStatus::Failed, "{dies}");
            assert!(execution.cause.as_ref().is_some_and(|cause| cause.contains("was ended by signal 9")), "{dies}");
            execution = process.restart(execution.id, &xml, &[]);
        }
        assert_eq!(execution.status, BatchStatus::Completed, "{dies}: {execution:?}");
        let written = std::fs::read_to_string(folder.path().join("names.csv")).unwrap();
        assert_eq!(written, names(95, "Ada Lovelace"), "{dies}, retries: {retries}");
    }
}

#[test]
fn exceptions_have_the_classes_that_the_program_names() {
    let folder = tempfile::tempdir().unwrap();
    let process = process(folder.path());
    let throws = shell(
        folder.path(),
        "throws.sh",
        "request; printf 'throw 3\\n6\\nno ink\\n9\\nPaper.Jam\\n13\\nPrinter.Fault\\n'; request",
    );
    let (text, _) = cause(&process, &one_batchlet(&throws, &[]));
    assert_eq!(text, Thrown::new("Paper.Jam", "no ink").to_string());
}

/// Returns the files of all partitions, in the order of their ranges.
fn of_partitions(folder: &Path) -> String {
    let mut names: Vec<(u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(from) = name.strip_prefix("names-").and_then(|name| name.strip_suffix(".csv")) {
            names.push((from.parse().unwrap(), path));
        }
    }
    names.sort();
    names.iter().map(|(_, path)| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn programs_plan_partitions_end_chunks_and_see_the_whole() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    customers(folder.path(), 95);
    let process = process(folder.path());
    let file = example("external-partitions.xml", "partitions.py");
    let execution = process.engine.start(&file, given(&[("partitions", "3")])).unwrap().run().unwrap();
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(of_partitions(folder.path()), names(95, "Ada Lovelace"));
    let step = &process.steps(execution.id)[0];
    assert_eq!((step.partitions, step.counts.read, step.counts.write), (3, 95, 86));
    // Chunks of 2, 4, 8 and 16 items, and the rest: about 32 lines in each partition.
    assert!((12..=18).contains(&step.counts.commit), "{step:?}");
    assert_eq!(step.exit_status.as_deref(), Some("86"), "the analyzer's");
    assert_eq!(std::fs::read_to_string(folder.path().join("names.done")).unwrap(), "all partitions completed\n");
}

/// A restart plans again: different ranges are refused, and the reducer is informed of each failure.
#[test]
fn a_restart_with_another_plan_of_a_program_is_refused() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    customers(folder.path(), 40);
    let process = process(folder.path());
    let file = example("external-partitions.xml", "partitions.py");
    std::fs::write(folder.path().join("names.done"), "of an earlier run").unwrap();
    // A writer that cannot write fails one partition.
    std::fs::create_dir(folder.path().join("names-0.csv.partial")).unwrap();
    let execution = process.engine.start(&file, given(&[("partitions", "2")])).unwrap().run().unwrap();
    assert_eq!(execution.status, BatchStatus::Failed, "{execution:?}");
    assert!(!folder.path().join("names.done").exists(), "the reducer rolled back");
    let restart = |last, count: &str| {
        let restarted =
            process.engine.restart(last, &file, given(&[("partitions", count)]), quayline_batch::Drift::Refuse);
        restarted.unwrap().run().unwrap()
    };
    let other = restart(execution.id, "3");
    assert_eq!(other.status, BatchStatus::Failed);
    assert!(
        other.cause.as_ref().is_some_and(|cause| cause.contains("planned in 2 partitions before, now in 3")),
        "{other:?}"
    );
    std::fs::remove_dir(folder.path().join("names-0.csv.partial")).unwrap();
    let last = restart(other.id, "2");
    assert_eq!(last.status, BatchStatus::Completed, "{last:?}");
    assert_eq!(of_partitions(folder.path()), names(40, "Ada Lovelace"));
}

/// A program that is not a mapper, and one whose plan is too short, fail the step with a description of the fault.
#[test]
fn a_plan_that_is_none_fails_the_step() {
    let folder = tempfile::tempdir().unwrap();
    let process = process(folder.path());
    let short =
        shell(folder.path(), "short.sh", "request; printf 'ok 4\\n-\\n4\\nkeep\\n1\\n2\\n4\\nfrom\\n'; request");
    let xml = format!(
        "<step id=\"s\"><batchlet ref=\"saying\"/><partition>{}</partition></step>",
        artifact("mapper", "externalMapper", &[("command", &short)])
    );
    let (text, _) = cause(&process, &xml);
    assert!(
        text.contains("quayline.ProgramAnswer") && text.contains("ends within the properties of partition 0"),
        "{text}"
    );
}

#[test]
fn java_artifacts_of_partitions_do_the_same() {
    if !has("java") || !has("javac") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    customers(folder.path(), 95);
    let text = std::fs::read_to_string(examples().join("jobs/external-partitions.xml")).unwrap();
    let programs = examples().join("external");
    // A range of a file needs no program.
    let text = text
        .replace("quayline.externalReader", "quayline.fileReader")
        .replace("<property name=\"command\" value=\"python3 external/partitions.py reader\"/>", "")
        .replace("python3 external/partitions.py", &format!("java {}/Customers.java", programs.display()))
        .replace("python3 external/customers.py", &format!("java {}/Customers.java", programs.display()));
    let process = process(folder.path());
    let file = JobFile::parse("java.xml", &text).unwrap();
    let execution = process.engine.start(&file, given(&[("partitions", "2")])).unwrap().run().unwrap();
    assert_eq!(execution.status, BatchStatus::Completed, "{execution:?}");
    assert_eq!(of_partitions(folder.path()), names(95, "ADA LOVELACE"));
    let step = &process.steps(execution.id)[0];
    // Chunks of 20 items: three for each half.
    assert_eq!((step.partitions, step.counts.commit, step.exit_status.as_deref()), (2, 6, Some("86")), "{step:?}");
    assert_eq!(std::fs::read_to_string(folder.path().join("names.done")).unwrap(), "all partitions completed\n");
}
