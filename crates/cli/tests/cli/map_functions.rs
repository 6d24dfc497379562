//! Functions of maps that programs compute: commands and COBOL, in `translate`, `map test` and jobs.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::{Ran, World};

const SOURCE: &str = "in\n  id text(5)\n  total decimal(7,2)\n  due? text(8)\n";
const TARGET: &str = "out\n  id text(5)\n  amount? decimal(9,2)\n  due? text(10)\n";
const MAP: &str = "source \"in.shape\"\ntarget out \"out.shape\"\n\
    fn charge(id: text(5), total: decimal(7, 2)) -> decimal(9, 2)\n\
    fn workday(due: date) -> date cached\n\
    id = id\namount = charge(id, total)\ndue = format(workday(date(due, \"CCYYMMDD\")), \"YYYY-MM-DD\")\n";

/// `charge` adds one to the integer part of its argument, refuses C, answers D twice, ends at E, sleeps at S, says that it works at Y for ever, and counts its processes and calls in a file.
const PROGRAM: &str = r#"echo start >> "$2"
while read -r verb count; do
    values=
    while [ "$count" -gt 0 ]; do
        read -r length
        value=-
        [ "$length" = - ] || IFS= read -r value
        values="$values $value"
        count=$((count - 1))
    done
    case $verb in hello) echo "ok 0"; continue ;; esac
    echo call >> "$2"
    set -- "$1" "$2" $values
    case $1$3 in
    chargeA) answer=$((${4%%.*} + 1)).${4##*.} ;;
    chargeC) printf 'throw 1\n11\nnot for you\n'; continue ;;
    chargeE) exit 7 ;;
    chargeS) sleep 60 ;;
    chargeD) printf 'ok 1\n4\n1.00\nok 1\n4\n2.00\n'; continue ;;
    chargeY) while :; do printf 'say 1\n2\nhi\n'; sleep 0.1; done ;;
    chargeN) printf 'ok 1\n-\n'; continue ;;
    chargeW) answer=much ;;
    workday*) answer=2026-02-02 ;;
    esac
    printf 'ok 1\n%s\n%s\n' ${#answer} "$answer"
done
"#;

fn world() -> World {
    World::with([
        ("in.shape", SOURCE.as_bytes()),
        ("out.shape", TARGET.as_bytes()),
        ("m.qmap", MAP.as_bytes()),
        ("f.sh", PROGRAM.as_bytes()),
    ])
}

const FUNCTIONS: [&str; 2] = ["charge=sh f.sh charge charge.log", "workday=sh f.sh workday workday.log"];

fn translate(world: &World, input: &str, more: &[&str]) -> Ran {
    world.write("in.jsonl", input);
    let mut arguments = vec!["translate", "--map", "m.qmap", "in.jsonl", "--no-progress"];
    for function in FUNCTIONS {
        arguments.extend(["--function", function]);
    }
    arguments.extend(more);
    Ran::of(world.command(arguments).output().expect("quayline runs"))
}

fn lines(world: &World, file: &str) -> (usize, usize) {
    let text = String::from_utf8(world.read(file)).expect("UTF-8");
    let of = |word: &str| text.lines().filter(|line| *line == word).count();
    (of("start"), of("call"))
}

#[test]
fn a_command_computes_a_function() {
    let world = world();
    let input = "{\"id\":\"A\",\"total\":12.50,\"due\":\"20260131\"}\n{\"id\":\"N\",\"total\":1}\n{\"id\":\"A\",\"total\":0.05,\"due\":\"20260131\"}\n";
    let ran = translate(&world, input, &[]);
    let expected = "{\"id\":\"A\",\"amount\":13.50,\"due\":\"2026-02-02\"}\n{\"id\":\"N\"}\n{\"id\":\"A\",\"amount\":1.05,\"due\":\"2026-02-02\"}\n";
    assert_eq!((ran.code(0).out(), ran.err()), (expected.to_owned(), String::new()));
    // One process each; a cached function is called once, and a call without its argument does not happen.
    assert_eq!((lines(&world, "charge.log"), lines(&world, "workday.log")), ((1, 3), (1, 1)));
    assert_eq!(translate(&world, input, &["-j", "2"]).code(0).out(), expected);
}

#[test]
fn what_fails_is_one_finding_that_names_the_function() {
    let world = world();
    for (id, reason) in [
        ("C", "not for you"),
        ("E", "the program of charge ended with code 7 before it answered call"),
        ("W", "its result is not a number"),
        ("S", "the program of charge gave no answer to call within 1 s"),
    ] {
        let begin = Instant::now();
        let ran = translate(&world, &format!("{{\"id\":\"{id}\",\"total\":1}}\n"), &["--function-timeout", "1"]);
        let (found, expected) =
            (ran.code(1).err(), format!("error[MAP-224]: the function `charge` failed: {reason}\n"));
        assert!(found.starts_with(&expected) && found.matches("error[").count() == 1, "{id}: {found}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{id}");
    }
}

/// The second of two answers was taken for the answer to the next call: a value of another document, without a finding.
#[test]
fn an_answer_before_its_call_is_a_failure() {
    let world = world();
    let of = |id: &str| format!("{{\"id\":\"{id}\",\"total\":5.00}}\n");
    let ran = translate(&world, &[of("D"), of("A"), of("A")].concat(), &["--rejects", "r", "-o", "out.jsonl"]);
    let found = ran.code(1).err();
    assert!(found.contains("charge: an answer came before the request call"), "{found}");
    assert_eq!(world.read("out.jsonl"), b"{\"id\":\"D\",\"amount\":1.00}\n{\"id\":\"A\",\"amount\":6.00}\n");
    assert_eq!(world.read("r"), of("A").into_bytes());
}

/// `say` began the time limit again, so a call had no end.
#[test]
fn a_call_has_its_time_whatever_the_program_says() {
    let world = world();
    let begin = Instant::now();
    let ran = translate(&world, "{\"id\":\"Y\",\"total\":1}\n", &["--function-timeout", "1"]);
    let found = ran.code(1).err();
    assert!(found.contains("charge: hi\n") && found.contains("gave no answer to call within 1 s"), "{found}");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_program_that_only_fails_is_given_up_and_the_others_are_mapped() {
    let world = world();
    let bad = "{\"id\":\"E\",\"total\":1}\n";
    let input = [bad, bad, "{\"id\":\"A\",\"total\":1.00}\n", bad, bad, bad, bad, bad].concat();
    let ran = translate(&world, &input, &["--rejects", "r", "-o", "out.jsonl"]);
    assert!(ran.code(1).err().contains("after 3 such calls it is not called again"), "{}", ran.err());
    assert_eq!(world.read("out.jsonl"), b"{\"id\":\"A\",\"amount\":2.00}\n");
    // Two, then one that is right, then three: the rest is not called.
    assert_eq!(lines(&world, "charge.log"), (5, 6));
    let rejects = String::from_utf8(world.read("r")).expect("UTF-8");
    assert_eq!(rejects.lines().count(), 7, "no document is lost: {rejects}");
}

#[test]
fn functions_and_programs_that_do_not_match_are_found_before_the_run() {
    let world = world();
    world.write("in.jsonl", "");
    let run = |functions: &[&str]| {
        let mut arguments = vec!["translate", "--map", "m.qmap", "in.jsonl"];
        functions.iter().for_each(|function| arguments.extend(["--function", function]));
        Ran::of(world.command(arguments).output().expect("quayline runs")).code(2).err()
    };
    for (functions, expected) in [
        (&["charge=true"][..], "the function `workday` of the map has no program"),
        (&["charg=true"], "the map declares no function `charg`"),
        (&["charge=true", "charge=false"], "the function `charge` has two programs"),
        (&["charge"], "`--function charge` has no `=`"),
    ] {
        let found = run(functions);
        assert!(found.contains(expected), "{found}");
    }
    world.write("m.qmap", MAP.replace("id: text(5)", "id: text"));
    assert!(
        run(&["charge=cobol:CHARGE", "workday=true"]).contains("`id` is text, and a COBOL program needs its length")
    );
}

#[test]
fn a_cobol_program_computes_a_function() {
    const CHARGE: &str = "       IDENTIFICATION DIVISION.
       PROGRAM-ID. CHARGE.
       DATA DIVISION.
       LINKAGE SECTION.
       01 PARM.
          05 ID-TEXT PIC X(5).
          05 TOTAL PIC S9(5)V99 SIGN LEADING SEPARATE.
          05 AMOUNT PIC S9(7)V99 SIGN LEADING SEPARATE.
       PROCEDURE DIVISION USING PARM.
           EVALUATE ID-TEXT
             WHEN 'R' MOVE 8 TO RETURN-CODE
             WHEN 'N' CONTINUE
             WHEN 'L' PERFORM UNTIL ID-TEXT = 'Z' CONTINUE END-PERFORM
             WHEN 'S' STOP RUN
             WHEN OTHER COMPUTE AMOUNT = TOTAL * -3
           END-EVALUATE
           GOBACK.
";
    let world = world();
    world.write("charge.cbl", CHARGE);
    std::fs::create_dir(world.path("programs")).expect("a folder");
    let module = world.path("programs/CHARGE.so");
    let compiled =
        std::process::Command::new("cobc").args(["-m", "-o"]).arg(&module).arg(world.path("charge.cbl")).status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("skipped: a_cobol_program_computes_a_function: GnuCOBOL is not installed");
        return;
    }
    let run = |id: &str, total: &str| {
        world.write("in.jsonl", format!("{{\"id\":\"{id}\",\"total\":{total}}}\n"));
        let of = ["--function", "charge=cobol:programs/charge", "--function", FUNCTIONS[1], "--function-timeout", "1"];
        let arguments = ["translate", "--map", "m.qmap", "in.jsonl", "--no-progress"].into_iter().chain(of);
        Ran::of(world.command(arguments).output().expect("quayline runs"))
    };
    assert_eq!(run("A", "-12345.67").code(0).out(), "{\"id\":\"A\",\"amount\":37037.01}\n");
    assert_eq!(run("A", "0.01").code(0).out(), "{\"id\":\"A\",\"amount\":-0.03}\n");
    assert_eq!(run("N", "1").code(0).out(), "{\"id\":\"N\"}\n");
    for (id, reason) in [
        ("R", "its program returned RETURN-CODE 8"),
        ("L", "its program gave no answer within 1 s"),
        ("S", "the program ended its process with STOP RUN"),
        ("é", "its argument `id` has characters beyond ASCII"),
    ] {
        let found = run(id, "1").code(1).err();
        assert!(found.starts_with(&format!("error[MAP-224]: the function `charge` failed: {reason}")), "{id}: {found}");
    }
}

#[test]
fn a_job_calls_functions_too() {
    let world = world();
    let job = |functions: &str| {
        let property = |name: &str, value: &str| format!("<property name=\"{name}\" value=\"{value}\"/>");
        format!(
            "<job id=\"j\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><chunk item-count=\"3\">\
             <reader ref=\"quayline.fileReader\"><properties>{}</properties></reader>\
             <processor ref=\"quayline.mapProcessor\"><properties>{}{}</properties></processor>\
             <writer ref=\"quayline.fileWriter\"><properties>{}</properties></writer></chunk></step></job>",
            property("file", "in.txt"),
            property("map", "m.qmap"),
            property("functions", functions),
            property("file", "out.txt"),
        )
    };
    world.write("in.txt", "{\"id\":\"A\",\"total\":12.50}\n{\"id\":\"A\",\"total\":1.00,\"due\":\"20260131\"}\n");
    world.write("job.xml", job(&FUNCTIONS.join(" | ")));
    world.run("job start job.xml").code(0);
    let expected = "{\"id\":\"A\",\"amount\":13.50}\n{\"id\":\"A\",\"amount\":2.00,\"due\":\"2026-02-02\"}\n";
    assert_eq!(String::from_utf8(world.read("out.txt")).as_deref(), Ok(expected));
    world.write("lacks.xml", job(FUNCTIONS[0]));
    let ran = world.run("job start lacks.xml");
    assert!(ran.code(2).err().contains("the function `workday` of the map has no program"), "{}", ran.err());
}

#[test]
fn the_example_gives_the_same_in_shell_and_cobol() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let world = World::new();
    let run = |function: &str| {
        let (map, input) = (format!("{examples}/maps/maps/order-labels.qmap"), format!("{examples}/edi/850.x12"));
        let arguments = ["translate", "--map", &map, &input, "--no-progress", "--function", function];
        Ran::of(world.command(arguments).output().expect("quayline runs")).code(0).out()
    };
    let by_shell = run(&format!("check-digit={examples}/maps/functions/gs1-check-digit.sh"));
    let expected =
        std::fs::read_to_string(format!("{examples}/maps/maps/tests/order-labels/two-orders/expected.jsonl"));
    assert_eq!(by_shell, expected.expect("the case has an output"));
    let compiled = std::process::Command::new("cobc")
        .args(["-m", "-o"])
        .arg(world.path("CHECKDIG.so"))
        .arg(format!("{examples}/maps/functions/CHECKDIG.cbl"))
        .status();
    if compiled.is_ok_and(|status| status.success()) {
        assert_eq!(run("check-digit=cobol:CHECKDIG"), by_shell);
    } else {
        eprintln!("skipped in part: the_example_gives_the_same_in_shell_and_cobol: GnuCOBOL is not installed");
    }
}

/// After Ctrl-C, a run called the functions of all documents that it had read: 2,000 calls of 0.1 s here.
#[test]
fn ctrl_c_does_not_wait_for_the_other_documents_of_a_block() {
    let world = world();
    world.write("slow.sh", PROGRAM.replace("    chargeA)", "    charge*) sleep 0.1; answer=1.00 ;;\n    chargeA)"));
    world.write("in.jsonl", "{\"id\":\"B\",\"total\":1}\n".repeat(2_000));
    for lanes in ["1", "2"] {
        let _ = std::fs::remove_file(world.path("slow.log"));
        let line = "translate --map m.qmap in.jsonl -o out.jsonl --no-progress -j";
        let functions = ["--function", "charge=sh slow.sh charge slow.log", "--function", FUNCTIONS[1]];
        let mut command = world.command(line.split(' ').chain([lanes]).chain(functions));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("quayline runs");
        let calls = || std::fs::read_to_string(world.path("slow.log")).unwrap_or_default().matches("call").count();
        let began = Instant::now();
        while calls() < 3 {
            assert!(began.elapsed() < Duration::from_secs(60), "no call");
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let ran = Ran::of(child.wait_with_output().expect("it ends"));
        assert!(ran.code(3).err().contains("CNV-002"), "{}", ran.err());
        assert!(calls() < 500, "{}", calls());
    }
}
