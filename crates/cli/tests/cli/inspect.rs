//! `quayline inspect`.

use expect_test::expect;

use crate::world::{World, ebcdic};

/// Every feature that the tree shows.
const ORDERS: &str = "\
      * Orders of the day
       01  ORDER-RECORD.
           05  ORDER-ID              PIC 9(8).
           05  ORDER-STATUS          PIC X.
               88  OPEN-ORDER        VALUE 'O'.
               88  CLOSED-ORDER      VALUES 'C' 'X' THRU 'Z'.
               88  NO-STATUS         VALUE SPACE.
           05  ORDER-DATE            PIC X(8).
           05  ORDER-DATE-N REDEFINES ORDER-DATE PIC 9(8).
           05  TOTALS.
               10  NET-AMOUNT        PIC S9(7)V99 COMP-3.
               10  TAX-RATE          PIC V999 VALUE .190.
           05  SEQUENCE-NO           PIC S9(9) COMP SYNC.
           05  LINE-COUNT            PIC 9(2).
           05  ORDER-LINE OCCURS 1 TO 20 TIMES DEPENDING ON LINE-COUNT.
               10  SKU               PIC X(6).
               10  QUANTITY          PIC S9(4) COMP.
               10  PRICES            PIC 9(5)V99 OCCURS 3.
           05  FILLER                PIC X(4).
           05  NOTE-TEXT             PIC X(10).
           66  KEY-PART RENAMES ORDER-ID THRU ORDER-STATUS.
";

#[test]
fn a_copybook_is_a_tree() {
    World::with([("orders.cpy", ORDERS.as_bytes())]).run("inspect orders.cpy").check(expect![""]);
}

#[test]
fn a_copybook_is_json_for_programs() {
    let world = World::with([("small.cpy", &b"       01 R.\n          05 A PIC X(2).\n             88 YES VALUE 'Y' 'A' THRU 'C'.\n          05 N PIC S9(3)V9 COMP-3 OCCURS 0 TO 5 DEPENDING ON C.\n          05 C PIC 9.\n"[..])]);
    world.run("inspect small.cpy --json").check(expect![""]);
    let world = World::with([("small.cpy", &b"       01 R.\n          05 C PIC 9.\n          05 N PIC S9(3)V9 COMP-3 OCCURS 0 TO 5 DEPENDING ON C.\n          05 A PIC X(2).\n             88 YES VALUE 'Y' 'A' THRU 'C'.\n"[..])]);
    world.run("inspect small.cpy --json").check(expect![""]);
}

#[test]
fn colour_comes_on_request_only() {
    let world = World::with([("a.cpy", &b"       01 R.\n          05 A PIC X.\n"[..])]);
    let plain = world.run("inspect a.cpy");
    assert!(!plain.out().contains('\u{1b}'));
    let colored = world.run("inspect a.cpy --color always");
    assert!(colored.out().contains("\u{1b}[1mR\u{1b}[0m"), "{}", colored.out());
    assert!(world.run("inspect b.cpy --color always").err().contains("\u{1b}[1;31merror[CLI-002]"));
    assert!(!world.run("inspect b.cpy --color always --json").err().contains('\u{1b}'));
}

#[test]
fn a_copybook_comes_from_standard_input_too() {
    World::new().run_with("inspect -", b"       01 R.\n          05 A PIC X.\n").check(expect![""]);
}

#[test]
fn dialects_and_settings_change_the_layout() {
    let world = World::with([("a.cpy", &b"       01 R.\n          05 A PIC X.\n          05 B PIC S9(18) COMP SYNC.\n          05 C PIC 9(2) COMP.\n"[..])]);
    world.run("inspect a.cpy").check(expect![""]);
    world.run("inspect a.cpy --set sync=8").check(expect![""]);
    world.run("inspect a.cpy --dialect gnucobol").check(expect![""]);
    world.run("inspect a.cpy --set synk=8").check(expect![""]);
    world.run("inspect a.cpy --set sync=16").check(expect![""]);
    world.run("inspect a.cpy --set sync").check(expect![""]);
}

#[test]
fn copy_members_are_found_beside_the_copybook_and_in_folders() {
    let world = World::with([
        ("a.cpy", &b"       01 R.\n           COPY PART.\n           COPY OTHER.\n"[..]),
        ("part.cpy", &b"           05 A PIC X.\n"[..]),
        ("lib/OTHER.CPY", &b"           05 B PIC X.\n"[..]),
    ]);
    world.run("inspect a.cpy -I lib").check(expect![""]);
    world.run("inspect a.cpy").check(expect![""]);
}

#[test]
fn one_of_several_records_is_shown_by_name() {
    let world = World::with([("a.cpy", &b"       01 FIRST-REC.\n          05 A PIC X.\n       01 OTHER-REC.\n          05 B PIC X(2).\n"[..])]);
    world.run("inspect a.cpy").check(expect![""]);
    world.run("inspect a.cpy --record other-rec").check(expect![""]);
    world.run("inspect a.cpy --record OTHER-REK").check(expect![""]);
}

#[test]
fn files_that_are_not_there_get_a_suggestion() {
    let world = World::with([("orders.cpy", ORDERS.as_bytes())]);
    world.run("inspect order.cpy").check(expect![""]);
    world.run("inspect order.cpy --json").check(expect![""]);
    world.run("inspect nothing").check(expect![""]);
    world.run("inspect .").check(expect![""]);
}

const ACCOUNTS: &str = "\
       01  ACCOUNT.
           05  ACCOUNT-ID    PIC 9(6).
           05  OWNER         PIC X(20).
           05  BALANCE       PIC S9(7)V99 COMP-3.
           05  OPENED        PIC X(8).
";

fn accounts() -> Vec<u8> {
    let owners = ["ADA LOVELACE", "GRACE HOPPER", "KONRAD ZUSE", "EDSGER DIJKSTRA", "BARBARA LISKOV"];
    let mut file = Vec::new();
    for i in 0..200u32 {
        let owner = owners[i as usize % owners.len()];
        file.extend(ebcdic(&format!("{:06}{owner:<20}", 1000 + i)));
        file.extend([0, u8::try_from(i % 10).expect("a digit") << 4, 0x12, 0x34, 0x5c]);
        file.extend(ebcdic("20240131"));
    }
    file
}

#[test]
fn a_data_file_gets_proposals_and_a_command_to_try() {
    let world = World::with([("accounts.dat", accounts().as_slice()), ("accounts.cpy", ACCOUNTS.as_bytes())]);
    world.run("inspect accounts.dat").check(expect![""]);
    world.run("inspect accounts.dat --copybook accounts.cpy").check(expect![""]);
}

#[test]
fn what_inspect_proposes_converts() {
    let world = World::with([("accounts.dat", accounts().as_slice()), ("accounts.cpy", ACCOUNTS.as_bytes())]);
    let ran = world.run("inspect accounts.dat --copybook accounts.cpy --json");
    let answer: serde_json::Value = serde_json::from_slice(&ran.code(0).stdout).expect("the answer is JSON");
    let words: Vec<&str> = answer["try"].as_array().expect("words").iter().map(|word| word.as_str().expect("a word")).collect();
    assert_eq!(words[..2], ["quayline", "convert"]);
    world.run(&words[1..].join(" ")).code(0);
    let text = String::from_utf8(world.read("accounts.jsonl")).expect("UTF-8");
    assert_eq!(text.lines().count(), 200);
    assert_eq!(text.lines().next(), Some(r#"{"ACCOUNT-ID":1000,"OWNER":"ADA LOVELACE","BALANCE":123.45,"OPENED":"20240131"}"#));
}

#[test]
fn a_copybook_that_does_not_fit_says_by_how_much() {
    let world = World::with([
        ("accounts.dat", accounts().as_slice()),
        ("other.cpy", ACCOUNTS.replace("X(20)", "X(22)").as_bytes()),
    ]);
    world.run("inspect accounts.dat --copybook other.cpy --encoding cp037 --format fixed").check(expect![""]);
}

#[test]
fn an_empty_file_and_noise_are_said_to_be_that() {
    let noise: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
    let world = World::with([("empty.dat", &b""[..]), ("noise.bin", noise.as_slice())]);
    world.run("inspect empty.dat").check(expect![""]);
    world.run("inspect noise.bin").check(expect![""]);
}
