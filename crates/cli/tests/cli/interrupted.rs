//! Runs that do not complete: full disk, closed pipe, Ctrl-C; and resuming them.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::convert::{ITEMS, items, world};
use crate::world::{Ran, World};

#[test]
fn a_full_disk_names_the_partial_output() {
    let world = world();
    world.write("many.dat", items().repeat(20_000));
    // A limit on the size of files simulates a full disk: the same write fails, with another reason.
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$Q\" convert many.dat -c items.cpy -e cp037 -o out.jsonl";
    world.shell(limited).check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-001]: cannot write: file too large
          at out.jsonl.partial

        hint: the shell (`ulimit -f`) or the file system allows no larger file: raise it, or name a file elsewhere

        note[CLI-004]: the output is not complete: out.jsonl.partial holds what was done
    "#]]);
    assert_eq!(world.files(), ["items.cpy", "items.dat", "many.dat", "out.jsonl.partial"]);
    world.shell("\"$Q\" convert many.dat -c items.cpy -e cp037 > /dev/full").check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-001]: cannot write: no space left on device
          at <output>

        hint: free space where the output goes
    "#]]);
}

#[test]
fn a_closed_pipe_is_quiet() {
    let world = world();
    world.write("many.dat", items().repeat(20_000));
    let ran = world.shell("\"$Q\" convert many.dat -c items.cpy -e cp037 --stats | head -1");
    ran.check(expect![[r#"
        exit 0
        --- stdout
        {"SKU":"A1","QUANTITY":123,"PRICE":1.50}
    "#]]);
    world.shell("{ \"$Q\" convert many.dat -c items.cpy -e cp037; echo $? > code; } | head -1").code(0);
    assert_eq!(world.read("code"), b"0\n");
    // The rejects are not complete, and that is no success.
    let ran =
        world.shell("{ \"$Q\" convert many.dat -c items.cpy -e cp037 --rejects r.dat; echo $? > code; } | head -1");
    let said = "standard output was closed before the input ended, so `r.dat` is incomplete";
    assert!(ran.err().contains(said), "{}", ran.err());
    assert_ne!(world.read("code"), b"0\n");
}

/// Megabytes of records: some seconds of work, so that a signal comes in time.
fn large() -> World {
    let world = World::with([("items.cpy", ITEMS.as_bytes())]);
    world.write("large.dat", items().repeat(1_500_000));
    world
}

#[test]
fn ctrl_c_leaves_a_run_to_go_on_with() {
    let world = large();
    world.run("convert large.dat -c items.cpy -e cp037 -o whole.jsonl").code(0);
    let whole = world.read("whole.jsonl");

    let child = start(&world, "convert large.dat -c items.cpy -e cp037 -o out.jsonl");
    let partial = world.path("out.jsonl.partial");
    wait_for(|| std::fs::metadata(&partial).is_ok_and(|metadata| metadata.len() > 0));
    interrupt(&child);
    let ran = end(child);
    ran.code(3);
    assert!(ran.stdout.is_empty());
    let err = ran.err();
    assert!(err.starts_with("error[CNV-002]: stopped before record "), "{err}");
    assert!(err.contains(": out.jsonl.partial is not complete\n"), "{err}");
    assert!(err.contains("hint: continue with --resume; the checkpoint is out.jsonl.checkpoint"), "{err}");
    assert!(!world.path("out.jsonl").exists() && partial.exists());
    let stopped_at = std::fs::metadata(&partial).expect("the partial file").len();
    assert!(stopped_at < whole.len() as u64, "the signal came too late");

    let ran = world.run("convert large.dat -c items.cpy -e cp037 -o out.jsonl --resume --stats");
    assert!(ran.code(0).err().contains("resumed   at record "), "{}", ran.err());
    assert!(world.read("out.jsonl") == whole, "the resumed output differs");
    assert!(!partial.exists() && !world.path("out.jsonl.checkpoint").exists());
}

/// `--resume` without a checkpoint began anew without a word.
#[test]
fn a_resumed_run_without_a_checkpoint_says_that_it_begins_anew() {
    let world = world();
    let line = "convert items.dat -c items.cpy -e cp037 -o out.jsonl";
    let note = "note[CNV-037]: out.jsonl.checkpoint does not exist, so the run begins at the start of the input\n";
    let ran = world.run(&format!("{line} --resume"));
    assert!(ran.err().starts_with(note), "{}", ran.err());
    assert!(!world.run(line).err().contains("CNV-037"));
}

#[test]
fn a_checkpoint_of_other_settings_is_refused() {
    let world = large();
    let child = start(&world, "convert large.dat -c items.cpy -e cp037 -o out.jsonl --checkpoint state");
    let partial = world.path("out.jsonl.partial");
    wait_for(|| std::fs::metadata(&partial).is_ok_and(|metadata| metadata.len() > 0));
    interrupt(&child);
    end(child).code(3);
    world
        .run("convert large.dat -c items.cpy -e cp037 -o out.jsonl --checkpoint state --resume --key-style snake")
        .check(expect![[r#"
            exit 2
            --- stderr
            error[CNV-007]: the run began with another copybook, interface file or other settings
              at state

            hint: resume with the settings of that run, or run again without --resume
        "#]]);
    world.write("state", "nonsense");
    world.run("convert large.dat -c items.cpy -e cp037 -o out.jsonl --checkpoint state --resume").check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-008]: checkpoint line 1 is not `quayline-checkpoint N`
          at state

        hint: delete it and convert again
    "#]]);
}

#[test]
fn a_checkpoint_of_another_copy_member_is_refused() {
    let world = large();
    world
        .write("items.cpy", "       01  ITEM.\n           COPY BODY.\n")
        .write("body.cpy", ITEMS.replace("       01  ITEM.\n", ""));
    let child = start(&world, "convert large.dat -c items.cpy -e cp037 -o out.jsonl");
    let partial = world.path("out.jsonl.partial");
    wait_for(|| std::fs::metadata(&partial).is_ok_and(|metadata| metadata.len() > 0));
    interrupt(&child);
    end(child).code(3);
    world.write("body.cpy", ITEMS.replace("       01  ITEM.\n", "").replace("SKU  ", "CODE "));
    let ran = world.run("convert large.dat -c items.cpy -e cp037 -o out.jsonl --resume");
    assert!(ran.code(2).err().starts_with("error[CNV-007]"), "{}", ran.err());
}

#[test]
fn ctrl_c_without_anything_to_resume_from() {
    let world = large();
    let child = start(&world, "convert large.dat -c items.cpy -e cp037 -o out.parquet");
    let partial = world.path("out.parquet.partial");
    wait_for(|| partial.exists());
    interrupt(&child);
    let ran = end(child);
    ran.code(130);
    let err = ran.err();
    assert!(err.starts_with("error[CNV-002]: stopped before record "), "{err}");
    assert!(err.contains(": out.parquet.partial is not complete\n"), "{err}");
    assert!(!world.path("out.parquet").exists());
}

#[test]
fn only_files_can_be_resumed() {
    let world = world();
    world.run("convert items.dat -c items.cpy -e cp037 --resume").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: only a conversion from a file to a file of lines or records can be resumed; compressed files and columns cannot

        hint: leave --checkpoint and --resume out
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -o a.parquet --checkpoint state").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: only a conversion from a file to a file of lines or records can be resumed; compressed files and columns cannot

        hint: leave --checkpoint and --resume out
    "#]]);
    world.run_with("convert - -c items.cpy -e cp037 -o a.jsonl --checkpoint state", &items()).check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: only a conversion from a file to a file of lines or records can be resumed; compressed files and columns cannot

        hint: leave --checkpoint and --resume out
    "#]]);
}

/// Regression: a run that waited for standard input could not be stopped, because the system restarts the read that a signal interrupts, and the flag
/// that the signal sets is checked only after it. Now a run in such a read ends within a second of the signal, regardless of its earlier input.
#[test]
fn a_signal_ends_a_run_that_waits_for_standard_input() {
    let world = World::new();
    for (command, signal) in
        [("validate -", "-TERM"), ("validate -", "-INT"), ("convert - --from edi -o out.jsonl", "-TERM")]
    {
        let mut child = world.command(command.split_whitespace());
        let mut child =
            child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        let isa = "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~";
        let text = format!("{isa}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~{}", "PO1*1*5*EA~".repeat(30_000));
        std::io::Write::write_all(&mut input, text.as_bytes()).expect("it reads");
        // The command has read the whole text by then, and waits for more input.
        std::thread::sleep(Duration::from_millis(500));
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("it can be waited for") {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "`{command}` does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(!status.success(), "{status}");
        drop(input);
    }
}

/// Endless input must not make a command endless: a signal ends each command within seconds, for any input.
#[test]
fn a_signal_ends_commands_whose_input_never_ends() {
    let world = crate::edi::examples();
    let isa =
        "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~";
    let head = format!("{isa}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~");
    world.write("orders.shape", "out\n  number? text(22)\n");
    world.write("orders.qmap", "map \"orders\"\nsource \"850.guide\"\ntarget \"orders.shape\"\n\nnumber = BEG.BEG03\n");
    // Each file that `check` compiles is one without an end.
    std::fs::create_dir_all(world.path("project/maps")).expect("a folder");
    std::os::unix::fs::symlink("/dev/zero", world.path("project/maps/endless.qmap")).expect("a link");
    let inputs: [(&str, &str); 3] = [(&head, "PO1*1*5*EA~"), (&head, " \n"), ("{\"a\":[", "1,")];
    for signal in ["-INT", "-TERM"] {
        for (head, unit) in inputs {
            for command in [
                "translate -m orders.qmap - -o out.jsonl",
                "inspect -",
                "convert - -o out.json",
                "validate -",
                "infer /dev/stdin",
            ] {
                ends_by(&world, command, signal, head, unit);
            }
        }
        ends_by(&world, "check project", signal, "", "x");
    }
}

/// Feeds a command without end, and expects it to end soon after a signal.
fn ends_by(world: &World, command: &str, signal: &str, head: &str, unit: &str) {
    let of_world = world.command(command.split_whitespace());
    // A test may be run where SIGINT is ignored, which a child inherits.
    let mut command_of_child = Command::new("env");
    command_of_child.arg("--default-signal=INT").arg(of_world.get_program()).args(of_world.get_args());
    command_of_child.current_dir(of_world.get_current_dir().expect("a folder"));
    let mut child =
        command_of_child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let (head, units) = (head.as_bytes().to_vec(), unit.repeat(10_000).into_bytes());
    let feeder = std::thread::spawn(move || {
        let mut write = |bytes: &[u8]| std::io::Write::write_all(&mut input, bytes).is_ok();
        if write(&head) {
            while write(&units) {}
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    // A process that has read enough may have ended already.
    let _ =
        Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status().expect("kill runs");
    let begun = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(10), "`{command}` does not end by {signal}: {unit}");
        std::thread::sleep(Duration::from_millis(10));
    }
    feeder.join().expect("the feeder ends with the pipe");
}

fn start(world: &World, arguments: &str) -> Child {
    let mut command = world.command(arguments.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

fn end(child: Child) -> Ran {
    Ran::of(child.wait_with_output().expect("the command ends"))
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

/// Waits until the condition is true, for at most a minute, which suffices on any machine.
fn wait_for(mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never came to be");
        std::thread::yield_now();
    }
}

/// A run that was stopped went on with other control numbers, another program, or another table: half of the output was of each.
#[test]
fn a_translation_resumes_with_its_own_arguments_only() {
    let world = World::new();
    world
        .write("in.shape", "in\n  id text(9)\n  amount decimal(9)\n")
        .write("out.shape", "out\n  id text(9)\n  name? text(9)\n");
    world.write("names.csv", "id,name\nK1,one\n");
    world.write(
        "t.qmap",
        "source \"in.shape\"\ntarget out \"out.shape\"\nlookup names(id: text) -> (name: text(9))\nid = id\nname = names(id).name ?? envelope.sender\n",
    );
    let mut rows = String::new();
    (0..400_000).for_each(|n| rows.push_str(&format!("{{\"id\":\"K{}\",\"amount\":{n}}}\n", n % 7)));
    world.write("large.jsonl", rows);
    let line = "translate -m t.qmap large.jsonl -o out.jsonl --lookup names=names.csv";
    let child = start(&world, line);
    let partial = world.path("out.jsonl.partial");
    wait_for(|| std::fs::metadata(&partial).is_ok_and(|metadata| metadata.len() > 0));
    interrupt(&child);
    end(child).code(3);
    for more in ["--sender 7", "--function-folder .."] {
        let ran = world.run(&format!("{line} {more} --resume"));
        assert!(ran.code(2).err().contains("error[CNV-007]"), "{more}: {}", ran.err());
    }
    world.write("names.csv", "id,name\nK1,two\n");
    let ran = world.run(&format!("{line} --resume"));
    assert!(ran.code(2).err().contains("error[CNV-007]"), "{}", ran.err());
    world.write("names.csv", "id,name\nK1,one\n");
    world.run(&format!("{line} --resume")).code(0);
    let whole = world.read("out.jsonl");
    world.run(&format!("{line} --quiet")).code(0);
    assert!(world.read("out.jsonl") == whole, "the resumed output differs");
}

/// A run that stopped at its rejects, or at a signal, printed its error only, and the run that continued it printed what it had seen itself: nobody
/// learned of the values before the checkpoint.
#[test]
fn a_stopped_run_prints_its_warnings() {
    let world = World::with([("f.cpy", b"       01 R.\n          05 F COMP-1.\n".as_slice())]);
    let line = |number: u32| match number {
        1..=1000 => "{\"F\":16777217}\n",
        20_001 => "{\"F\":\"x\"}\n",
        _ => "{\"F\":1}\n",
    };
    world.write("in.jsonl", (1..=40_000).map(line).collect::<String>());
    let convert = "convert in.jsonl -c f.cpy -e cp037 -o out.dat --rejects bad.jsonl";
    world.run(&format!("{convert} --max-rejects 0")).check(expect![[r#"
        exit 1
        --- stderr
        warning[REC-049]: 1000 values of F (COMP-1) with more digits than the float keeps, written as the nearest float; the first is here
          at in.jsonl:1:1, record 1, byte 0, F

        hint: only a decimal field, such as COMP-3, keeps all digits

        error[CNV-004]: 1 record rejected, more than the 0 allowed

        hint: bad.jsonl.partial has the records, bad.jsonl.findings.jsonl.partial says what is wrong with each

        note[CLI-004]: the output is not complete: out.dat.partial holds what was done
    "#]]);
    world.run(&format!("{convert} --max-rejects 5 --resume")).check(expect![[r#"
        exit 1
        --- stderr
        1 of 40,000 records rejected: bad.jsonl contains the rejected ones, bad.jsonl.findings.jsonl the reasons
    "#]]);

    // A map, and no rejects file. The first blocks are written, and the last one has the wrong record.
    world.write("r.cpy", "       01 R.\n          05 N PIC 9(3).\n");
    let layout =
        "layout = \"record\"\ncopybook = \"r.cpy\"\nencoding = \"ascii\"\nframing = \"lines\"\nlong = \"accept\"\n";
    world.write("in.toml", layout);
    world.write("out.shape", "row\n  n decimal(9)\n");
    world.write("m.qmap", "source \"in.toml\"\ntarget row \"out.shape\"\n\nn = N\n");
    world.write("in.txt", format!("{}{}12x\n", "1234\n".repeat(1000), "123\n".repeat(400_000)));
    world.run("translate --map m.qmap in.txt -o out.jsonl").check(expect![[r#"
        exit 1
        --- stderr
        warning[REC-042]: 1000 records have more bytes after the last field, which were ignored; the first is here
          at in.txt, record 1, byte 3

        hint: `quayline convert --preserve` keeps these bytes

        error[REC-002]: sign is 0x78, expected a digit with a sign zone
          at in.txt, record 401001, byte 1605000, N (offset 0 in the record, 3 bytes, PIC 9(3))

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        note[CLI-004]: the output is not complete: out.jsonl.partial holds what was done

        hint: if the error is in one document, run again with --rejects FILE and without --resume to continue past such documents
    "#]]);
}

/// Regression: `serve` ended only after the units of work of its flows, whatever `drain-seconds` said and however many signals came.
#[test]
fn a_server_ends_in_its_time_although_a_flow_waits() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address");
    let world = World::with([("m", b"text".as_slice())]);
    world.write(
        "flows/ask.toml",
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"ask\"\n[node.ask]\ntype = \"http_request\"\n\
             url = \"http://{address}/\"\nwait_limit = \"100s\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        ),
    );
    for queue in ["IN", "OUT"] {
        world.run(&format!("queue define {queue}")).code(0);
    }
    world.run("queue put IN m").code(0);
    // Seconds of drain, signals, exit code and reason.
    for (drain, signals, code, why) in [(60, 2, 130, "a second signal came"), (1, 1, 0, "longer than drain-seconds")] {
        world.write("quayline.toml", format!("[serve]\nlisten = \"127.0.0.1:0\"\ndrain-seconds = {drain}\n"));
        let mut server = world.command(["serve"]);
        let server = server.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        // The request has arrived and gets no answer.
        let _asking = other.accept().expect("a request");
        let begin = Instant::now();
        for _ in 0..signals {
            let done = Command::new("kill").arg(server.id().to_string()).status().expect("kill runs");
            assert!(done.success());
            std::thread::sleep(Duration::from_millis(1_500));
        }
        let ended = server.wait_with_output().expect("it ends");
        let said = String::from_utf8(ended.stderr).expect("UTF-8");
        assert!(begin.elapsed() < Duration::from_secs(30), "{:?}: {said}", begin.elapsed());
        assert_eq!(ended.status.code(), Some(code), "{said}");
        assert!(said.contains(why), "{said}");
        assert_eq!(world.run("queue depth IN").code(0).out(), "IN  1\n");
    }
    assert_eq!(world.run("queue depth OUT").code(0).out(), "OUT  0\n");
}

/// Regression: a run that a fault at the end of its file had ended left a checkpoint after the fault. The resumed run ended with exit code 0 and an
/// incomplete output. A checkpoint before the first interchange could not be resumed at all.
#[test]
fn a_resumed_run_finds_the_fault_that_ended_it() {
    let world = World::new();
    world.write("d.shape", "d\n  id text(10)\n").run("map new --from d.shape --to d.shape -o d.qmap").code(0);
    for (name, text, from, code) in [
        ("x.xml", "<records><record><id>1</id></record>", " --from xml", "XML-013"),
        ("w.xml", "<records><record><id>1</id></record></wrong>", " --from xml", "XML-010"),
        ("e.xml", "", " --from xml", "XML-010"),
        ("a.json", "[{\"id\":\"1\"},{\"id\":\"2\"}", "", "JSON-023"),
        ("e.x12", "", "", "EDI-002"),
        ("g.x12", "hello", "", "EDI-002"),
    ] {
        let run = match from {
            "" if name.ends_with("x12") => format!("convert {name} -o out.jsonl"),
            _ => format!("translate -m d.qmap{from} {name} -o out.jsonl"),
        };
        world.write(name, text);
        for again in ["", " --resume", " --resume"] {
            let err = world.run(&format!("{run}{again}")).code(1).err();
            assert!(err.contains(&format!("error[{code}]")), "{name}{again}: {err}");
            assert!(!world.path("out.jsonl").exists(), "{name}{again}");
        }
        let _ = std::fs::remove_file(world.path("out.jsonl.partial"));
    }
    // Too many rejects end the first run before the fault.
    let long = "{\"id\":\"01234567890\"},";
    world.write("b.json", format!("[{long}{long}{{\"id\":\"1\"}}"));
    let run = "translate -m d.qmap b.json -o b.jsonl --rejects b.rejects --max-rejects";
    assert!(world.run(&format!("{run} 1")).code(1).err().contains("CNV-"));
    let err = world.run(&format!("{run} 5 --resume")).code(1).err();
    assert!(err.contains("error[JSON-023]") && !world.path("b.jsonl").exists(), "{err}");
    // A rejected document leaves a checkpoint, here at the start of the file.
    let world = crate::edi::examples();
    let bad = String::from_utf8(world.read("850.x12")).expect("ASCII").replacen("20260330", "2026033X", 1);
    world.write("bad.x12", bad);
    for again in ["", " --resume"] {
        let err = world.run(&format!("convert bad.x12 -g 850.guide -o out.jsonl{again}")).code(1).err();
        assert!(err.contains("error[EDI-117]"), "{again}: {err}");
        assert!(world.path("out.jsonl.checkpoint").exists());
    }
}
