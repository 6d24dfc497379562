//! COBOL programs that flows call.

use expect_test::expect;

use crate::world::World;

const COPYBOOK: &str = "       01  CALL-AREA.
           05  ACTION    PIC X.
           05  AMOUNT    PIC 9(4).
           05  CALLS     PIC 9(4).
           05  FILLER    PIC X(7).
";

const PROGRAM: &str = "       IDENTIFICATION DIVISION.
       PROGRAM-ID. WORKER.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  COUNTED PIC 9(4) VALUE 0.
       01  NANOS BINARY-DOUBLE UNSIGNED VALUE 1500000000.
       LINKAGE SECTION.
       COPY \"area.cpy\".
       PROCEDURE DIVISION USING CALL-AREA.
           ADD 1 TO COUNTED
           MOVE COUNTED TO CALLS
           EVALUATE ACTION
             WHEN 'A' ADD 1 TO AMOUNT
             WHEN 'P' CALL 'CBL_GC_NANOSLEEP' USING NANOS
             WHEN 'L' PERFORM UNTIL ACTION = 'Z' CONTINUE END-PERFORM
             WHEN 'S' STOP RUN
             WHEN 'X' CALL 'NOT-THERE'
             WHEN OTHER MOVE AMOUNT TO RETURN-CODE
           END-EVALUATE
           GOBACK.
";

const LAYOUT: &str =
    "layout = \"record\"\ncopybook = \"../copybooks/area.cpy\"\nencoding = \"ascii\"\nframing = \"fixed:16\"\n";

const FLOW: &str = r#"additional_instances = 1
[node.get]
type = "queue_input"
queue = "IN"
message = "layouts/area.toml"
out = "call"

[node.call]
type = "cobol_program"
program = "WORKER"
request = "layouts/area.toml"
workers = 2
time_limit = "10s"
return_code_max = 4
out = "put"
failure = "tell"

[node.tell]
type = "trace"
text.from = 'envelope.error_code & " " & envelope.error_text'
out = "put-bad"

[node.put]
type = "queue_output"
queue = "OUT"

[node.put-bad]
type = "queue_output"
queue = "BAD"
"#;

/// Creates a project with a program; `None` if GnuCOBOL is not installed.
fn project(program: &str, copybook: &str) -> Option<World> {
    let world = World::with([
        ("copybooks/area.cpy", copybook.as_bytes()),
        ("program.cbl", program.as_bytes()),
        ("layouts/area.toml", LAYOUT.as_bytes()),
        ("flows/call.toml", FLOW.as_bytes()),
    ]);
    std::fs::create_dir(world.path("modules")).expect("a folder");
    let mut compiler = std::process::Command::new("cobc");
    compiler.current_dir(world.path("")).args(["-m", "-I", "copybooks", "-o", "modules/WORKER.so", "program.cbl"]);
    if !compiler.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: {}: GnuCOBOL is not installed", std::thread::current().name().unwrap_or("a test"));
        return None;
    }
    world.run("flow define").code(0);
    Some(world)
}

fn put(world: &World, queue: &str, content: &str) {
    world.write("m", content);
    world.run(&format!("queue put {queue} m")).code(0);
}

#[test]
fn a_program_answers_a_message_and_its_end_is_a_failure_with_the_reason() {
    let Some(world) = project(PROGRAM, COPYBOOK) else { return };
    world.run("flow check").check(expect![[r#"
        exit 0
        --- stderr
        call, call (cobol_program): at least once: the program runs again after a rollback, so what it changes outside of its record happens again
        1 flow, 5 nodes: no errors
    "#]]);
    // Each call finds fresh storage, also in a process that had one before.
    for amount in ["0001", "0002", "0003"] {
        put(&world, "IN", &format!("A{amount}0000       "));
    }
    put(&world, "IN", "R00040000       ");
    world.run("flow run --until-idle 400ms --threads 1").check(expect![[r#"
        exit 0
        --- stderr
        call: 4 messages received, 4 units of work committed, 0 rolled back
    "#]]);
    let mut answers: Vec<String> = (0..4).map(|_| world.run("queue get OUT").out()).collect();
    answers.sort();
    assert_eq!(answers, ["A00020001       ", "A00030001       ", "A00040001       ", "R00040001       "]);
    for (message, why) in [
        ("S00000000       ", "FLO-075 WORKER: the program ended its process with STOP RUN instead of GOBACK"),
        (
            "X00000000       ",
            "FLO-075 WORKER: the program ended its process with code 1: a run-time error, or STOP RUN",
        ),
        ("R00080000       ", "FLO-076 the program WORKER returned RETURN-CODE 8"),
        ("A0001", "FLO-040 the message has 5 bytes, and the record of the program WORKER has 16"),
    ] {
        put(&world, "IN", message);
        let ran = world.run("flow run --until-idle 300ms");
        assert!(ran.code(0).err().contains(&format!("trace call, tell: {why}\n")), "{}", ran.err());
        assert_eq!(world.run("queue get BAD").out(), message, "the message as it arrived");
    }
    // A program in a loop is stopped, and the next message has a new process.
    world.write("flows/call.toml", FLOW.replace("10s", "300ms"));
    put(&world, "IN", "L00000000       ");
    put(&world, "IN", "A00050000       ");
    let ran = world.run("flow run --until-idle 600ms");
    let why = "trace call, tell: FLO-075 the program WORKER ran longer than 300 ms and was stopped\n";
    assert!(ran.code(0).err().contains(why), "{}", ran.err());
    assert_eq!(world.run("queue get BAD").out(), "L00000000       ");
    assert_eq!(world.run("queue get OUT").out(), "A00060001       ");
}

/// There is one thread, and the program of the first message sleeps: the next message overtakes it.
#[test]
fn a_program_holds_no_thread_while_it_runs() {
    let Some(world) = project(PROGRAM, COPYBOOK) else { return };
    put(&world, "IN", "P00000000       ");
    put(&world, "IN", "A00010000       ");
    world.run("flow run --until-idle 300ms --threads 1").code(0);
    assert_eq!(world.run("queue get OUT").out(), "A00020001       ");
    assert_eq!(world.run("queue get OUT").out(), "P00000001       ");
}

#[test]
fn working_storage_may_be_kept() {
    let Some(world) = project(PROGRAM, COPYBOOK) else { return };
    let keep = FLOW
        .replace("workers = 2", "workers = 1\nworking_storage = \"keep\"")
        .replace("instances = 1", "instances = 0");
    world.write("flows/call.toml", keep);
    put(&world, "IN", "A00010000       ");
    put(&world, "IN", "A00010000       ");
    world.run("flow run --until-idle 300ms --threads 1").code(0);
    assert_eq!(world.run("queue get OUT").out(), "A00020001       ");
    assert_eq!(world.run("queue get OUT").out(), "A00020002       ");
}

/// Quayline compiles the source that a flow names, and compiles it again after changes of source and copybook.
#[test]
fn a_source_is_compiled_when_the_flow_is_loaded() {
    if project(PROGRAM, COPYBOOK).is_none() {
        return;
    }
    let named = FLOW.replace("program = \"WORKER\"\n", "program = \"WORKER\"\nsource = \"program.cbl\"\n");
    let world = World::with([
        ("copybooks/area.cpy", COPYBOOK.as_bytes()),
        ("program.cbl", PROGRAM.as_bytes()),
        ("layouts/area.toml", LAYOUT.as_bytes()),
        ("flows/call.toml", named.as_bytes()),
    ]);
    world.run("flow check").code(0);
    assert!(!world.path("modules").exists(), "a check keeps nothing");
    world.run("flow define").code(0);
    let answer = |message: &str| {
        put(&world, "IN", message);
        let ran = world.run("flow run --until-idle 300ms");
        let compiled = ran.code(0).err().contains("program.cbl is compiled to");
        (world.run("queue get OUT").out(), compiled)
    };
    assert_eq!(answer("A00010000       "), ("A00020001       ".to_owned(), true));
    assert_eq!(answer("A00010000       "), ("A00020001       ".to_owned(), false));
    // A project in a folder that is named relative to this one.
    world.shell("mkdir named && cp -r copybooks layouts flows program.cbl data named/").code(0);
    world.run("flow run --project named --until-idle 100ms").code(0);
    assert!(world.path("named/modules/WORKER.so").is_file(), "compiled in the project");
    // Two flows that make one module in different ways.
    let other = named
        .replace("source = \"program.cbl\"", "source = \"program.cbl\"\ncompiler_options = \"-O0 -std=ibm\"")
        .replace("\"IN\"", "\"IN2\"");
    world.write("flows/other.toml", other);
    for command in ["flow check", "flow run --until-idle 100ms"] {
        let found = world.run(command).code(2).err();
        assert!(found.contains("from another source or with other options"), "{command}: {found}");
    }
    std::fs::remove_file(world.path("flows/other.toml")).expect("it is there");
    // Another source, the same record.
    world.write("program.cbl", PROGRAM.replace("ADD 1 TO AMOUNT", "ADD 5 TO AMOUNT"));
    assert_eq!(answer("A00010000       "), ("A00060001       ".to_owned(), true));
    // Another copybook: the program moves its fields, and so does the layout.
    world.write("copybooks/area.cpy", COPYBOOK.replace("X(7)", "X(6)").replace("PIC X.\n", "PIC XX.\n"));
    assert_eq!(answer("A 00010000      "), ("A 00060001      ".to_owned(), true));
    // A changed copybook that the compiler accepts.
    assert_eq!(answer("A 00010000      "), ("A 00060001      ".to_owned(), false));
    world.write(
        "area.cpy",
        COPYBOOK.replace("X(7)", "X(6)").replace("PIC X.\n", "PIC XX.\n").replace("9(4)", "9(4) VALUE 1"),
    );
    assert_eq!(answer("A 00010000      "), ("A 00060001      ".to_owned(), true));
    std::fs::remove_file(world.path("area.cpy")).expect("it is there");
    // Options of the dialect are passed: the counter of a layout by GnuCOBOL's sizes is one byte.
    world.write(
        "copybooks/area.cpy",
        COPYBOOK.replace("CALLS     PIC 9(4)", "CALLS     PIC 9(2) COMP").replace("X(7)", "X(10)"),
    );
    world.write("layouts/area.toml", format!("dialect = \"gnucobol\"\n{LAYOUT}"));
    let (made, compiled) = answer("A0001\0          ");
    assert!(compiled && made.starts_with("A0006\u{1}"), "{made:?}");
    let wrong = |from: &str, to: &str| {
        world.write("flows/call.toml", named.replace(from, to));
        world.run("flow check").code(2).err()
    };
    let found = wrong("program.cbl", "programs.cbl");
    assert!(
        found.contains("error[FLO-074]: the source `programs.cbl` does not exist") && found.contains("call.toml:11"),
        "{found}"
    );
    let found = wrong("program.cbl\"", "program.cbl\"\ncompiler_options = \"-O2 -fbinary-size=2-4-8\"");
    assert!(found.contains("`-fbinary-size=2-4-8` contradicts the dialect"), "{found}");
    let found = wrong("program.cbl\"", "program.cbl\"\ncompiler_options = \"-O2 -o ../x.so\"");
    assert!(found.contains("`-o` selects the type or file of the compiler output"), "{found}");
    let found = wrong("source = \"program.cbl\"", "compiler_options = \"-O2\"");
    assert!(found.contains("`compiler_options` without a `source`"), "{found}");
    world.write("program.cbl", PROGRAM.replace("PROGRAM-ID. WORKER", "PROGRAM-ID. WORKERS"));
    let found = wrong("it", "it");
    assert!(found.contains("it has no program WORKER: its PROGRAM-ID is another name"), "{found}");
    world.write("program.cbl", PROGRAM.replace("GOBACK", "GO BACK BACK"));
    for command in ["flow check", "flow run --until-idle 100ms"] {
        world.write("flows/call.toml", &named);
        let found = world.run(command).code(2).err();
        assert!(
            found.contains("error[FLO-074]") && found.contains("cobc says") && found.contains("by hand: cd "),
            "{found}"
        );
    }
}

/// The counter of a table determines the length of a reply.
#[test]
fn an_answer_is_as_long_as_its_counts_say() {
    const TABLE: &str = "       01  CALL-AREA.
           05  N         PIC 9(2).
           05  ITEM      PIC X(3) OCCURS 0 TO 9 DEPENDING ON N.
";
    const FILLS: &str = "       IDENTIFICATION DIVISION.
       PROGRAM-ID. WORKER.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  I PIC 9(2).
       LINKAGE SECTION.
       COPY \"area.cpy\".
       PROCEDURE DIVISION USING CALL-AREA.
           ADD 1 TO N
           PERFORM VARYING I FROM 1 BY 1 UNTIL I > N
             MOVE 'abc' TO ITEM(I)
           END-PERFORM
           GOBACK.
";
    let Some(world) = project(FILLS, TABLE) else { return };
    world.write("layouts/area.toml", LAYOUT.replace("fixed:16", "layout"));
    for (message, answer) in [("00", "01abc"), ("02xyzuvw", "03abcabcabc")] {
        put(&world, "IN", message);
        let ran = world.run("flow run --until-idle 300ms");
        assert_eq!(ran.code, Some(0), "{}", ran.err());
        assert_eq!(world.run("queue get OUT").out(), answer, "{}", ran.err());
    }
}

#[test]
fn what_a_call_cannot_take_is_found_by_the_check() {
    let Some(world) = project(PROGRAM, COPYBOOK) else { return };
    let check = |flow: String| {
        world.write("flows/call.toml", flow);
        world.run("flow check").code(2).err()
    };
    expect![[r#"
        error[FLO-074]: the program OTHER has no module: OTHER.so is not in ./modules
          at ./flows/call.toml:10:11
           |
        10 | program = "OTHER"
           |           ^^^^^^^

        hint: name its `source`, compile it with `cobc -m -o FOLDER/PROGRAM.so SOURCE`, or name its folder with `modules`
    "#]]
    .assert_eq(&check(FLOW.replace("\"WORKER\"", "\"OTHER\"")));
    world.write("layouts/other.json", "{\"type\": \"object\", \"properties\": {\"id\": {\"type\": \"string\"}}}");
    let found = check(FLOW.replacen("layouts/area.toml", "layouts/other.json", 1));
    let expected = "error[FLO-021]: the program takes records of ./layouts/area.toml, but the messages here are ./layouts/other.json";
    assert!(found.contains(expected), "{found}");
    let found = check(FLOW.replacen("request = \"layouts/area.toml\"", "request = \"layouts/other.json\"", 1));
    assert!(found.contains("error[FLO-074]: `request`: the shape is not one of records"), "{found}");
    world.write("layouts/rdw.toml", LAYOUT.replace("fixed:16", "rdw"));
    let found = check(FLOW.replacen("request = \"layouts/area.toml\"", "request = \"layouts/rdw.toml\"", 1));
    assert!(found.contains("error[FLO-074]: `request`: its framing adds bytes to the record"), "{found}");
    let found = check(FLOW.replacen("request = \"layouts/area.toml\"", "request = \"layouts/missing.toml\"", 1));
    assert!(found.contains("missing.toml"), "{found}");
}

/// The commands of the example's page.
#[test]
fn the_example_runs_as_its_page_shows() {
    if !std::process::Command::new("cobc").arg("--version").output().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: the_example_runs_as_its_page_shows: GnuCOBOL is not installed");
        return;
    }
    let world = World::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/interest");
    world.shell(&format!("cp -r {example}/. .")).code(0);
    let page = String::from_utf8(world.read("README.md")).expect("UTF-8");
    let commands = page.split_once("```sh\n").and_then(|(_, rest)| rest.split_once("```")).expect("a block").0;
    let mut printed = String::new();
    for command in commands.lines() {
        let ran = world.shell(&command.replace("quayline ", "$Q "));
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.err());
        printed.push_str(&ran.out());
    }
    assert!(printed.contains("{\"account\":\"4711\",\"interest\":22.51}"), "{printed}");
    assert!(printed.ends_with("INTEREST.REFUSED  1\n"), "{printed}");
}
