//! `quayline job`: start, crash, restart, stop.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::world::World;

const LINES: usize = 30_000;

fn job() -> String {
    let property = |name: &str, value: &str| format!("<property name=\"{name}\" value=\"{value}\"/>");
    format!(
        "<job id=\"copy\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"copy\"><chunk item-count=\"20\"><reader ref=\"quayline.fileReader\"><properties>{}</properties></reader><writer ref=\"quayline.fileWriter\"><properties>{}</properties></writer></chunk></step></job>",
        property("file", "in.txt"),
        property("file", "out.txt"),
    )
}

fn world() -> World {
    let lines = (0..LINES).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "line {number:06}");
        text
    });
    World::with([("in.txt", lines.as_bytes()), ("job.xml", job().as_bytes())])
}

/// Waits until the output has grown by this number of bytes, or the process has ended.
fn progress(world: &World, child: &mut std::process::Child, bytes: u64) {
    let partial = world.path("out.txt.partial");
    let length = || std::fs::metadata(&partial).map_or(0, |facts| facts.len());
    let before = length();
    let deadline = Instant::now() + Duration::from_secs(60);
    while length() < before + bytes && Instant::now() < deadline && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_job_that_is_killed_again_and_again_writes_each_item_once() {
    let world = world();
    let mut arguments = "job start job.xml".to_owned();
    let limit: u64 = std::env::var("QUAYLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let mut kills = 0;
    for execution in 1..limit + 200 {
        let mut command = world.command(arguments.split(' '));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        if execution <= limit {
            // With many kills, each comes after some hundred bytes.
            progress(&world, &mut child, if limit == 8 { 500 * execution } else { execution * 7_919 % 900 });
            // The command may have ended already.
            let _ = child.kill();
        }
        let status = child.wait().expect("it ends");
        if status.success() {
            break;
        }
        kills += 1;
        // A process that was killed before it made the execution leaves nothing to restart.
        let listed = world.run("job list -n 1 --json").out();
        let number = listed.split("\"jobExecutionId\":").nth(1).and_then(|rest| rest.split(',').next());
        arguments = number.map_or_else(|| "job start job.xml".to_owned(), |number| format!("job restart {number}"));
    }
    assert!(kills > 0, "the job ended before the first kill");
    assert_eq!(world.read("out.txt"), world.read("in.txt"));
    let last = world.run("job list -n 1 --json");
    assert!(last.out().contains("\"COMPLETED\""), "{}", last.out());
}

#[test]
fn another_process_stops_a_job_at_its_next_checkpoint() {
    let world = world();
    let mut command = world.command(["job", "start", "job.xml"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    progress(&world, &mut child, 1);
    // The process that has the store open answers.
    let listed = world.run("job list");
    assert!(listed.code(0).out().contains("copy"), "{}", listed.out());
    let shown = world.run("job show 1 --json");
    assert!(shown.code(0).out().contains("\"jobExecutionId\":1"), "{}", shown.out());
    let stopped = world.run("job stop 1");
    let status = child.wait().expect("it ends");
    // On a quick machine the job may have completed before the request.
    if stopped.code == Some(0) && status.code() == Some(3) {
        assert!(world.run("job show 1").out().contains("STOPPED"));
        world.run("job restart 1").code(0);
    } else {
        assert_eq!(status.code(), Some(0));
    }
    assert_eq!(world.read("out.txt"), world.read("in.txt"));
    world.run("job purge --instance 1").code(0);
    assert_eq!(world.run("job list --json").code(0).out(), "");
}

#[test]
fn findings_say_where_and_what_to_do() {
    let world = world();
    world.write(
        "bad.xml",
        job().replace("quayline.fileReader", "fileReader").replace("item-count=\"20\"", "item-count=\"0\""),
    );
    let ran = world.run("job check bad.xml");
    ran.code(2);
    assert!(ran.err().contains("error[JOB-008]: no reader is called fileReader"), "{}", ran.err());
    assert_eq!(world.run("job start bad.xml").code, Some(2));
    assert!(!world.path("data").exists(), "a job that is wrong makes no store");
    world.run("job check job.xml").code(0);
    let ran = world.run("job restart 7");
    assert!(ran.err().contains("holds no store"), "{}", ran.err());
    world.run("job start job.xml").code(0);
    let ran = world.run("job restart 1");
    assert!(ran.err().contains("error[JOB-022]: execution 1 cannot be restarted: it is COMPLETED"), "{}", ran.err());
    let ran = world.run("job show 9");
    assert!(ran.err().contains("error[JOB-021]"), "{}", ran.err());
}

/// The printed command left the parameters out: the restarted job read the default file and completed with the data of two days.
#[test]
fn the_printed_restart_keeps_the_parameters() {
    let world = world();
    world.write("job.xml", job().replace("in.txt", "#{jobParameters['day']}?:in.txt;"));
    let failed = world.run("job start job.xml --param day=monday.txt");
    failed.code(1);
    let command =
        failed.err().split("to continue: quayline ").nth(1).and_then(|rest| rest.lines().next()).map(str::to_owned);
    let command = command.unwrap_or_else(|| panic!("no command: {}", failed.err()));
    assert!(command.starts_with("job restart 1 --same-params"), "{command}");
    world.write("monday.txt", "one\ntwo\n");
    world.run(&command).code(0);
    assert_eq!(world.read("out.txt"), b"one\ntwo\n");
    world.run("job start job.xml --param day=tuesday.txt").code(1);
    let restarted = world.run("job restart 3");
    assert!(
        restarted.err().contains("execution 3 had `day`, and this one does not: --same-params"),
        "{}",
        restarted.err()
    );
}

/// The second execution had no parameters, so `--same-params` kept none, and the printed command failed for ever.
#[test]
fn a_restart_without_parameters_names_those_of_the_first_execution() {
    let world = world();
    world.write("job.xml", job().replace("in.txt", "#{jobParameters['day']}?:in.txt;").replace("out.txt", "o.txt"));
    world.write("in.txt", "default\n");
    world.run("job start job.xml -p day=monday.txt -p other=secret").code(1);
    std::fs::remove_file(world.path("in.txt")).expect("it is there");
    let restarted = world.run("job restart 1");
    restarted.code(1);
    assert!(restarted.err().contains("execution 1 had `day`, `other`, and this one does not"), "{}", restarted.err());
    let remedy =
        "to continue: quayline job restart 2 -p day=… -p other=…, with the values of execution 1: quayline job show 1";
    assert!(restarted.err().contains(remedy), "{}", restarted.err());
    let again = world.run("job restart 2 --same-params -p other=1");
    again.code(1);
    assert!(again.err().contains("execution 1, the first of this instance, had `day`"), "{}", again.err());
    assert!(again.err().contains("execution 1 had other values of `other`"), "{}", again.err());
    assert!(again.err().contains("job restart 3 --same-params -p day=… -p other=…,"), "{}", again.err());
    assert!(!again.err().contains("secret"), "names only: {}", again.err());
    world.write("monday.txt", "one\n");
    world.run("job restart 3 -p day=monday.txt -p other=secret").code(0);
    assert_eq!(world.read("o.txt"), b"one\n");
}

/// The job was COMPLETED, and exit code 2 made a scheduler start it again; a closed pipe turned FAILED into 0.
#[test]
fn the_exit_code_is_that_of_the_job_if_printing_fails() {
    let world = world();
    let full = world.shell("\"$Q\" job start job.xml > /dev/full");
    assert!(full.code(0).err().contains("warning[CLI-001]"), "{}", full.err());
    assert_eq!(world.read("out.txt"), world.read("in.txt"));
    std::fs::remove_file(world.path("in.txt")).expect("it is there");
    let full = world.shell("\"$Q\" job start job.xml > /dev/full");
    assert!(full.code(1).err().contains("warning[CLI-001]"), "{}", full.err());
    assert!(full.err().contains("to continue: quayline job restart"), "{}", full.err());
}

#[test]
fn a_reject_of_a_writer_names_its_line_and_a_check_names_wrong_properties() {
    let world = World::with([("in.txt", b"0001ADA\n0002GRACE\n0001TWICE\n0003JEAN\n".as_slice())]);
    let job = "<job id=\"load\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">\n<step id=\"load\">\n\
        <properties><property name=\"quayline.rejects\" value=\"keep\"/></properties>\n<chunk item-count=\"10\">\n\
        <reader ref=\"quayline.fileReader\"><properties><property name=\"file\" value=\"in.txt\"/></properties></reader>\n\
        <writer ref=\"quayline.recordFileWriter\"><properties><property name=\"file\" value=\"CUST\"/></properties></writer>\n\
        <skippable-exception-classes><include class=\"java.lang.Exception\"/></skippable-exception-classes>\n</chunk></step></job>\n";
    world.write("job.xml", job);
    world.run("file define CUST --record 4-40 --key 0:4").code(0);
    let ran = world.run("job start job.xml");
    ran.code(0);
    assert!(ran.err().contains("item 3 (record 3, byte 18) is skipped in writing: STO-"), "{}", ran.err());
    let rejects = world.run("job rejects 1");
    assert!(
        rejects.code(0).out().starts_with("step load, chunk 1, item 3 (record 3, byte 18), write: STO-"),
        "{}",
        rejects.out()
    );
    let json = world.run("job rejects 1 --json");
    assert!(json.code(0).out().contains("\"byte\":18") && json.out().contains("\"record\":3"), "{}", json.out());
    world.write("bad.xml", job.replace("\"file\" value=\"in.txt\"", "\"fiel\" value=\"in.txt\""));
    world.run("job check bad.xml").check(expect![[r#"
        exit 2
        --- stderr
        error[JOB-028]: property file of quayline.fileReader is missing or empty
          at bad.xml:5:9
          |
        5 | <reader ref="quayline.fileReader"><properties><property name="fiel" value="in.txt"/></properties></reader>
          |         ^^^^^^^^^^^^^^^^^^^^^^^^^

        hint: add <property name="file" value="..."/> to the properties of quayline.fileReader

        error[JOB-028]: property fiel of quayline.fileReader is not known
          at bad.xml:5:57
          |
        5 | <reader ref="quayline.fileReader"><properties><property name="fiel" value="in.txt"/></properties></reader>
          |                                                         ^^^^^^^^^^^

        hint: the properties of quayline.fileReader are file, framing, skip, from, to, limit
    "#]]);
}

/// A COBOL program takes items in place, leaves some out, refuses some, and ends its process or never ends for others.
#[test]
fn cobol_programs_process_items() {
    const PROGRAM: &str = "
       IDENTIFICATION DIVISION.
       PROGRAM-ID. RATE.
       DATA DIVISION.
       LINKAGE SECTION.
       01 REC.
          05 KIND PIC X.
          05 AMOUNT PIC 9(5).
          05 RATED PIC 9(6).
       PROCEDURE DIVISION USING REC.
           EVALUATE KIND
             WHEN 'A' COMPUTE RATED = AMOUNT * 2
             WHEN 'F' MOVE 4 TO RETURN-CODE
             WHEN 'R' MOVE 8 TO RETURN-CODE
             WHEN 'S' STOP RUN
             WHEN 'L' PERFORM UNTIL KIND = 'Z' CONTINUE END-PERFORM
           END-EVALUATE
           GOBACK.
";
    let world = World::with([("rate.cbl", PROGRAM.as_bytes())]);
    std::fs::create_dir(world.path("programs")).expect("a folder");
    let compiled = std::process::Command::new("cobc")
        .args(["-m", "-o"])
        .arg(world.path("programs/RATE.so"))
        .arg(world.path("rate.cbl"))
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("skipped: cobol_programs_process_items: GnuCOBOL is not installed");
        return;
    }
    let property = |name: &str, value: &str| format!("<property name=\"{name}\" value=\"{value}\"/>");
    let job = |more: &str| {
        format!(
            "<job id=\"rate\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><chunk item-count=\"3\" skip-limit=\"9\">\
             <reader ref=\"quayline.fileReader\"><properties>{}</properties></reader>\
             <processor ref=\"quayline.cobolProcessor\"><properties>{}{}{}{}</properties></processor>\
             <writer ref=\"quayline.fileWriter\"><properties>{}</properties></writer>\
             <skippable-exception-classes>{more}</skippable-exception-classes></chunk></step></job>",
            property("file", "in.txt"),
            property("program", "RATE"),
            property("length", "12"),
            property("filter-code", "4"),
            property("timeout-s", "1"),
            property("file", "out.txt"),
        )
    };
    world.write("in.txt", "A00001\nF00002\nR00003\nA00004\nS00005\nA00006\nL00007\nA00008\n");
    world.write("all.xml", job("<include class=\"quayline.Program\"/>"));
    world.run("job start all.xml").code(0);
    let rated: Vec<_> =
        ["A00001000002", "A00004000008", "A00006000012", "A00008000016"].map(|line| format!("{line}\n")).into();
    assert_eq!(String::from_utf8(world.read("out.txt")), Ok(rated.concat()));
    let log = world.run("job log 1").out();
    assert!(log.contains("RATE returned RETURN-CODE 8") && log.contains("longer than its time limit"), "{log}");
    assert!(log.contains("STOP RUN"), "{log}");
    assert!(log.contains("RATE: JOB-035: 4 items are filled with `pad`, so their lengths are lost"), "{log}");
    world.write("codes.xml", job("<include class=\"quayline.ReturnCode\"/>"));
    let ran = world.run("job start codes.xml");
    assert!(ran.code(1).out().contains("quayline.Program"), "{}", ran.out());
    world.write("none.xml", job("").replace("\"RATE\"", "\"NONE\""));
    let ran = world.run("job start none.xml");
    assert!(ran.code(1).out().contains("is not in the program folders"), "{}", ran.out());
    let batchlet = "<job id=\"b\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><batchlet ref=\"quayline.cobolBatchlet\">\
        <properties><property name=\"program\" value=\"rate\"/><property name=\"parameter\" value=\"KIND\"/><property name=\"length\" value=\"12\"/>\
        <property name=\"success-max\" value=\"4\"/></properties></batchlet></step></job>";
    for (kind, code, exit) in [("F00001", 0, "exit status 4"), ("R00001", 1, "RETURN-CODE 8")] {
        world.write("batchlet.xml", batchlet.replace("KIND", kind));
        let ran = world.run("job start batchlet.xml");
        assert!(ran.code(code).out().contains(exit), "{}", ran.out());
    }
}

/// Regression: the command of a step continued after SIGKILL had ended quayline. A restart then ran the step at the same time.
#[test]
fn a_command_ends_with_the_process_that_is_killed() {
    let xml = "<job id=\"beat\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><batchlet ref=\"quayline.commandBatchlet\">\
               <properties><property name=\"command\" value=\"(while :; do echo beat; sleep 0.02; done) >> beats.txt\"/></properties></batchlet></step></job>";
    let world = World::with([("job.xml", xml.as_bytes())]);
    let mut command = world.command(["job", "start", "job.xml"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let length = || std::fs::metadata(world.path("beats.txt")).map_or(0, |facts| facts.len());
    let deadline = Instant::now() + Duration::from_secs(60);
    while length() == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    // The command writes 50 beats a second, so half a second without one means that it has ended.
    let is_quiet = (0..20).any(|_| {
        let before = length();
        std::thread::sleep(Duration::from_millis(500));
        before > 0 && length() == before
    });
    assert!(is_quiet, "the command still runs");
}

/// Regression: if Quayline was killed between the start of a command and the start of its guard, the command continued to run.
#[test]
fn a_command_does_not_outlive_a_process_that_is_killed_while_it_starts() {
    // No other process sleeps for this time.
    let command = format!("sleep 6{}", std::process::id());
    let xml = format!(
        "<job id=\"rest\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><batchlet ref=\"quayline.commandBatchlet\">\
         <properties><property name=\"command\" value=\"exec {command}\"/></properties></batchlet></step></job>"
    );
    let world = World::with([("job.xml", xml.as_bytes())]);
    for round in 0..30 {
        let mut process = world.command(["job", "start", "job.xml"]);
        let mut process = process.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        // The step has started; the command starts about now.
        let mut lines = std::io::BufReader::new(process.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("execution/step/started") {
            line.clear();
            assert!(std::io::BufRead::read_line(&mut lines, &mut line).expect("it says so") > 0);
        }
        std::thread::sleep(Duration::from_micros(150 * round));
        process.kill().expect("it runs");
        process.wait().expect("it ends");
        let deadline = Instant::now() + Duration::from_secs(20);
        let runs = || {
            let found = Command::new("pgrep").args(["-f", &format!("^{command}$")]).output().expect("pgrep");
            found.status.success()
        };
        // The command may begin a moment after the kill, so one check is not enough.
        let mut quiet = 0;
        while quiet < 5 {
            assert!(Instant::now() < deadline, "round {round}: the command still runs");
            quiet = if runs() { 0 } else { quiet + 1 };
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// `timeout` and other supervisors send a signal to the process and to its group. Two simultaneous signals ended the process, and the job was FAILED.
#[test]
fn two_signals_at_once_stop_a_job_at_its_checkpoint() {
    let world = World::with([("go.sh", b"while [ ! -e ended ]; do sleep 0.05; done".as_slice())]);
    let xml = "<job id=\"slow\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><batchlet ref=\"quayline.commandBatchlet\"><properties><property name=\"command\" value=\"sh go.sh\"/></properties></batchlet></step></job>";
    world.write("job.xml", xml);
    let mut child = world.command(["job", "start", "job.xml"]);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !world.run("job list").out().contains("STARTED") {
        assert!(Instant::now() < deadline, "it never starts");
    }
    for _ in 0..2 {
        let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    assert!(world.run("job list").code(0).out().contains("STOPPED"));
}

/// The job of IBM's paper runs unchanged, in one partition and in two.
#[test]
fn the_example_of_the_paper_runs() {
    let world = World::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/batch");
    world.shell(&format!("cp -r {example}/. .")).code(0);
    let given = "-p NumRecords=2000 -p ItemCount=100 -p AccountNumberBase=5";
    let ran = world.run(&format!("job start jobs/accounts.xml {given} -p Times=times.csv -p ItemTimes=items.csv"));
    assert!(ran.code(0).out().contains("READ_COUNT 2000, WRITE_COUNT 2000, COMMIT_COUNT 2"), "{}", ran.out());
    let times = String::from_utf8(world.read("times.csv")).expect("CSV");
    assert!(times.lines().count() >= 20, "{times}");
    let items = String::from_utf8(world.read("items.csv")).expect("CSV");
    assert_eq!(items.lines().count(), 1 + 2_000, "a line for each item");
    let ran = world.run("job start jobs/accounts-partitioned.xml -p NumRecords=1000");
    assert!(ran.code(0).out().contains("COMPLETED"), "{}", ran.out());
}

/// The other process ends without an answer, as it does if its job ends at that moment.
#[test]
fn a_list_waits_for_a_process_that_ends() {
    let world = World::with([("in.txt", b"line\n".as_slice()), ("job.xml", job().as_bytes())]);
    world.run("job start job.xml").code(0);
    world.run("queue define Q").code(0);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut holder = loop {
        let mut holder = world.command(["queue", "get", "Q", "--wait", "3"]);
        let mut holder = holder.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(300));
        // A look at a moment when the store is not locked yet may keep the holder out.
        if world.run("queue depth Q").code != Some(0) {
            break holder;
        }
        holder.wait().expect("it ends");
        assert!(Instant::now() < deadline, "the store was never locked");
    };
    let listed = world.run("job list");
    assert!(listed.code(0).out().contains("copy"), "{}", listed.err());
    assert!(holder.wait().expect("it ends").code().is_some());
}

/// Regression: with a job and a number, the list left out newer executions of older instances.
#[test]
fn the_newest_executions_of_a_job_are_listed() {
    let world = world();
    let fails = job().replace("in.txt", "missing.txt");
    world.write("fails.xml", &fails);
    for command in ["start fails.xml", "start fails.xml", "restart 1", "restart 3"] {
        assert_ne!(world.run(&format!("job {command}")).code, Some(0), "{command}");
    }
    let listed = world.run("job list --job copy -n 2 --json").code(0).out();
    let found: Vec<&str> =
        listed.lines().filter_map(|line| line.split_once("\"jobExecutionId\":")?.1.split(',').next()).collect();
    assert_eq!(found, ["4", "3"], "{listed}");
}
