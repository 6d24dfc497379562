//! `quayline file run`: its words and answers, and the same operations on an indexed file of GnuCOBOL.
//!
//! One difference is GnuCOBOL's: a read by an alternate key that the next record has too answers 00 there, and 02 here and in VSAM.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use expect_test::expect;

use crate::world::World;

/// Returns a number below a bound, and advances the seed.
fn below(seed: &mut u64, bound: u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    usize::try_from((*seed >> 8) % bound).expect("a small number")
}

/// Lines of an operation, a key, an alternate key and data, each of fixed length, as the COBOL program reads them.
fn script(seed: &mut u64, operations: usize) -> Vec<String> {
    let mut lines = Vec::new();
    while lines.len() < operations {
        let key = format!("{:04}", below(seed, 60));
        let alternate = ["ANN", "BEN", "CAT", "DAN", "EVE"][below(seed, 5)];
        let line = |op: char, number: usize| format!("{op}{key}{alternate}{:<10}", format!("v{number}"));
        let op = char::from(b"WWWWRRAUUUDDSET"[below(seed, 15)]);
        lines.push(line(op, lines.len()));
        if "SET".contains(op) {
            // A browse keeps its direction: the programs stop at its first failure.
            let way = if below(seed, 3) == 0 { 'P' } else { 'N' };
            for _ in 0..below(seed, 8) {
                lines.push(line(way, lines.len()));
            }
        }
    }
    // At last, everything by the key and by the alternate key.
    for start in ["S0000   ", "T    ANN"] {
        lines.push(format!("{start}{:<10}", ""));
        lines.extend((0..61).map(|_| format!("N{:<17}", "")));
    }
    lines
}

/// Converts an operation of the COBOL program to the words of the command.
fn words(line: &str) -> String {
    let (key, alternate, record) = (&line[1..5], &line[5..8], &line[1..18]);
    match line.as_bytes()[0] {
        b'W' => format!("insert '{record}'"),
        b'R' => format!("get {key}"),
        b'A' => format!("get {alternate} by alternate"),
        b'U' => format!("rewrite '{record}'"),
        b'D' => format!("delete {key}"),
        b'S' => format!("start {key} at-least"),
        b'E' => format!("start {key}"),
        b'T' => format!("start {alternate} by alternate at-least"),
        b'N' => "next".to_owned(),
        _ => "previous".to_owned(),
    }
}

const OPERATIONS: usize = 6_000;

#[test]
fn the_command_answers_as_the_indexed_file_of_gnucobol() {
    const NAME: &str = "the_command_answers_as_the_indexed_file_of_gnucobol";
    let world = World::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../store-embedded/tests/embedded/ksds.cob");
    let made = Command::new("cobc").args(["-x", "-free", "-o"]).arg(world.path("ksds")).arg(source).output();
    let Ok(made) = made else {
        eprintln!("skipped: {NAME}: GnuCOBOL is not installed");
        return;
    };
    assert!(made.status.success(), "{}", made.stderr.escape_ascii());
    let lines = script(&mut 0x9e37_79b9_7f4a_7c15, OPERATIONS);
    world.write("script", lines.join("\n") + "\n");
    let ran = Command::new(world.path("ksds")).current_dir(world.path("")).output().expect("the program runs");
    if !ran.status.success() || !world.path("results").exists() {
        // Some builds of GnuCOBOL have no indexed files.
        eprintln!("skipped: {NAME}: GnuCOBOL has no indexed files");
        return;
    }
    let results = String::from_utf8(world.read("results")).expect("text");
    let results: Vec<&str> = results.lines().map(str::trim_end).collect();
    assert_eq!(results.len(), lines.len());

    world.run("file define CUSTOMERS --record 17 --key 0:4 --index alternate=4:3:duplicates").code(0);
    let operations: String = lines.iter().map(|line| words(line) + "\n").collect();
    world.write("operations", format!("open CUSTOMERS\n{operations}"));
    let ran = world.run("file run operations --commit-interval 50");
    let answers = ran.code(0).out();
    let answers: Vec<&str> = answers.lines().skip(1).collect();
    assert_eq!(answers.len(), lines.len());

    let (mut differences, mut compared, mut lost) = (String::new(), 0, true);
    let mut statuses = std::collections::BTreeSet::new();
    for (number, ((line, expected), answer)) in lines.iter().zip(&results).zip(&answers).enumerate() {
        let op = char::from(line.as_bytes()[0]);
        let answer = answer.strip_prefix(&format!("{} ", number + 2)).expect("the number of the line");
        let (status, record) = answer.split_at(2);
        let is_read = "RANP".contains(op);
        let shown = if is_read && status == "02" { "00" } else { status };
        let found = format!("{op}{shown}{}", record.trim_start().trim_matches('\''));
        // COBOL does not define operations after a failed browse.
        let counts = !("NP".contains(op) && lost);
        if "SETNP".contains(op) {
            lost = shown != "00";
        }
        if counts {
            compared += 1;
            statuses.insert(format!("{op}{status}"));
            if found.trim_end() != *expected && differences.len() < 2_000 {
                let _ = writeln!(differences, "line {}: {line}: found {found}, GnuCOBOL {expected}", number + 1);
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(compared > 5_400, "{compared} of {OPERATIONS} operations were compared");
    for status in [
        "W00", "W02", "W22", "R00", "R23", "A00", "A02", "U00", "U02", "U23", "D00", "D23", "S00", "E23", "T00", "N00",
        "N02", "N10", "P00", "P10",
    ] {
        assert!(statuses.contains(status), "no operation answers {status}: {statuses:?}");
    }
    world.run("file verify CUSTOMERS").code(0);
    // The final content of the file equals the program's last read by key.
    let last = results.iter().skip(lines.len() - 2 * 62 + 1);
    let last: Vec<&str> = last.map_while(|result| result.strip_prefix("N00")).collect();
    let unloaded = world.run("file unload CUSTOMERS --framing lines").code(0).out();
    assert!(unloaded.lines().count() > 30);
    assert_eq!(unloaded.lines().map(str::trim_end).collect::<Vec<_>>(), last);
}

fn world() -> World {
    let world = World::new();
    world.run("file define CUST --record 4-8 --key 0:2 --index kind=2:1:duplicates").code(0);
    world.run("file define JOURNAL --organisation esds --record 1-20").code(0);
    world.run("file define SLOTS --organisation rrds --record 1-20").code(0);
    world
}

#[test]
fn a_script_prints_the_status_of_each_operation() {
    let world = world();
    let script = "\
# All organisations in one unit of work
open CUST
insert '01A it''s'
insert x'3032411F'
get 01 for-update
rewrite '01Bx'
get A by kind
next
next
next
start
next
end
previous
insert '01zz'
insert 'x'
get 05
get 0
get 015 at-least
open JOURNAL
insert 'first'
insert 'second'
get address 5
delete address 0
open SLOTS
insert 'slot' number 7
insert 'next'
get number 8
rewrite 'SLOT' number 7
open CUST
previous
open NONE
commit
delete 02
get 02
rollback
get 02
";
    world.run_with("file run", script.as_bytes()).check(expect![[r#"
        exit 0
        --- stdout
        2 00
        3 00
        4 02
        5 00 '01A it''s'
        6 00
        7 00 x'3032411F'
        8 00 '01Bx'
        9 00 x'3032411F'
        10 10
        11 00
        12 00 '01Bx'
        13 00
        14 00 x'3032411F'
        15 22
        16 44
        17 23
        18 00 '01Bx'
        19 44
        20 00
        21 00
        22 00
        23 00 'second'
        24 37
        25 00
        26 00
        27 00
        28 00 'next'
        29 00
        30 00
        31 00 '01Bx'
        32 35
        33 00
        34 00
        35 23
        36 00
        37 00 x'3032411F'
    "#]]);
    world.run_with("file run --json", b"open CUST\nget 02\nget 07\n").check(expect![[r#"
        exit 0
        --- stdout
        {"line":1,"operation":"open","status":"00"}
        {"line":2,"operation":"get","record":"02A\u001f","status":"00"}
        {"code":"STO-013","hint":"read the next greater key (`--at-least`, `at-least`, or `KEY_GE` in a flow), or insert the record","line":3,"message":"no record of CUST has this key","operation":"get","status":"23"}
    "#]]);
}

#[test]
fn a_line_that_is_no_operation_undoes_what_is_not_committed() {
    let world = world();
    world.write("script", "open CUST\ninsert '01AA'\ncommit\ninsert '02AA'\nfetch 02\n");
    world.run("file run script").check(expect![[r#"
        exit 2
        --- stdout
        1 00
        2 00
        3 00
        4 02
        --- stderr
        error[CLI-003]: fetch is not an operation, expected one of open, get, insert, rewrite, delete, start, end, next, previous, commit, rollback
          at script:5

        hint: correct the line; see `quayline file run --help`. What was not committed is undone
    "#]]);
    world.run_with("file run", b"open CUST\nget 01\nget 02\nget 02 03\n").check(expect![[r#"
        exit 2
        --- stdout
        1 00
        2 00 '01AA'
        3 23
        --- stderr
        error[CLI-003]: 03 follows the end of the operation
          at <input>:4

        hint: correct the line; see `quayline file run --help`. What was not committed is undone
    "#]]);
}

/// Another program sends an operation, reads its outcome, and then decides on the next.
#[test]
fn answers_come_while_the_input_is_open() {
    let world = world();
    let mut command = world.command(["file", "run"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the command starts");
    let mut to = child.stdin.take().expect("its input");
    let mut from = BufReader::new(child.stdout.take().expect("its output"));
    for (operation, expected) in [("open CUST", "1 00\n"), ("insert '01AA'", "2 00\n"), ("get 01", "3 00 '01AA'\n")] {
        writeln!(to, "{operation}").expect("sent");
        let mut answer = String::new();
        from.read_line(&mut answer).expect("an answer");
        assert_eq!(answer, expected);
    }
    drop(to);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(world.run("file get CUST --key 01").code(0).out(), "01AA");
}

/// Regression: such a delete ended the script and rolled back what it had not committed, although the outcome depends on the records.
#[test]
fn a_delete_by_the_key_of_several_records_has_a_status() {
    let world = World::new();
    world.run("file define A --record 8 --key 0:4 --index colour=4:2:duplicates").code(0);
    let script = "open A\ninsert 0001xx01\ninsert 0002yy01\ninsert 0003xx01\ndelete xx by colour\ndelete 000\ndelete yy by colour\ncommit\n";
    world.run_with("file run", script.as_bytes()).check(expect![[r#"
        exit 0
        --- stdout
        1 00
        2 00
        3 00
        4 02
        5 43
        6 43
        7 00
        8 00
    "#]]);
    assert_eq!(world.run("file unload A").code(0).out(), "0001xx010003xx01");
}

/// Regression: after a rollback or delete of the greatest number, the process inserted no more records without a number.
#[test]
fn the_greatest_number_of_a_relative_file_is_free_again() {
    let world = World::new();
    world.run("file define N --organisation rrds --record 1-20").code(0);
    let greatest = "insert aa number 4294967295\n";
    let script = format!(
        "open N\n{greatest}rollback\ninsert bb\n{greatest}insert cc\ndelete number 4294967295\ncommit\ninsert cc\ncommit\n"
    );
    world.run_with("file run", script.as_bytes()).check(expect![[r#"
        exit 0
        --- stdout
        1 00
        2 00
        3 00
        4 00
        5 00
        6 24
        7 00
        8 00
        9 00
        10 00
    "#]]);
    let left = world.run("file unload N").code(0).out();
    assert_eq!(left, format!("bb{0}cc{0}", "@".repeat(18)), "padded to the greatest length");
}
