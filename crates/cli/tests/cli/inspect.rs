//! `quayline inspect`.

use expect_test::expect;

use crate::world::{World, ebcdic};

/// Every feature that the tree shows.
const ORDERS: &str = "      * Orders of the day
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
    World::with([("orders.cpy", ORDERS.as_bytes())]).run("inspect orders.cpy").check(expect![[r#"
        exit 0
        --- stdout
        ORDER-RECORD  77 to 628 bytes, orders.cpy:2

          from 0   from 1   length  level and name                         type
               0        1      628  01 ORDER-RECORD                        group
               0        1        8    05 ORDER-ID                          PIC 9(8)
               8        9        1    05 ORDER-STATUS                      PIC X
                                         88 OPEN-ORDER                     'O'
                                         88 CLOSED-ORDER                   'C', 'X' thru 'Z'
                                         88 NO-STATUS                      SPACE
               9       10        8    05 ORDER-DATE                        PIC X(8)
               9       10        8    05 ORDER-DATE-N                      PIC 9(8), redefines ORDER-DATE
              17       18        8    05 TOTALS                            group
              17       18        5      10 NET-AMOUNT                      PIC S9(7)V99 COMP-3
              22       23        3      10 TAX-RATE                        PIC V999, value .190
              25       26        3    -- slack                             before SEQUENCE-NO
              28       29        4    05 SEQUENCE-NO                       PIC S9(9) COMP SYNC
              32       33        2    05 LINE-COUNT                        PIC 9(2)
              34       35       29    05 ORDER-LINE [1..20 by LINE-COUNT]  group
              34       35        6      10 SKU                             PIC X(6)
              40       41        2      10 QUANTITY                        PIC S9(4) COMP
              42       43        7      10 PRICES [3]                      PIC 9(5)V99
            ~614     ~615        4    05 FILLER                            PIC X(4)
            ~618     ~619       10    05 NOTE-TEXT                         PIC X(10)
               0        1        9    66 KEY-PART                          renames ORDER-ID thru ORDER-STATUS

        13 items in 3 groups, 2 tables (1 variable), 1 redefinition, 1 rename, 3 conditions, 1 filler, 3 slack bytes
        ~ moves to the front when a table before it is shorter than its maximum
    "#]]);
}

#[test]
fn a_copybook_is_json_for_programs() {
    let world = World::with([("small.cpy", &b"       01 R.\n          05 A PIC X(2).\n             88 YES VALUE 'Y' 'A' THRU 'C'.\n          05 N PIC S9(3)V9 COMP-3 OCCURS 0 TO 5 DEPENDING ON C.\n          05 C PIC 9.\n"[..])]);
    world.run("inspect small.cpy --json").check(expect![[r#"
        exit 2
        --- stderr
        {"schema":"quayline.finding/1","code":"COB-075","severity":"error","fault":"config","message":"the counter C is after the table it counts, N","file":"small.cpy","line":4,"column":62,"hint":"move the counter in front of the table, outside other tables"}
    "#]]);
    let world = World::with([("small.cpy", &b"       01 R.\n          05 C PIC 9.\n          05 N PIC S9(3)V9 COMP-3 OCCURS 0 TO 5 DEPENDING ON C.\n          05 A PIC X(2).\n             88 YES VALUE 'Y' 'A' THRU 'C'.\n"[..])]);
    world.run("inspect small.cpy --json").check(expect![[r#"
        exit 0
        --- stdout
        {
          "schema": "quayline.layout/1",
          "file": "small.cpy",
          "records": [
            {
              "name": "R",
              "file": "small.cpy",
              "line": 1,
              "length_min": 3,
              "length_max": 18,
              "dialect": {
                "binary-digits": "18",
                "binary-order": "big",
                "binary-sizes": "2-4-8",
                "currency": "$",
                "decimal": "point",
                "float": "hexadecimal",
                "index": "4",
                "native-order": "big",
                "native-sizes": "2-4-8",
                "odo-slide": "yes",
                "overpunch": "ebcdic",
                "pointer": "4",
                "sync": "4",
                "truncate": "yes"
              },
              "totals": {
                "items": 3,
                "groups": 1,
                "tables": 1,
                "variable_tables": 1,
                "redefinitions": 0,
                "renames": 0,
                "conditions": 1,
                "fillers": 0,
                "slack_bytes": 0
              },
              "fields": [
                {
                  "index": 0,
                  "parent": null,
                  "level": 1,
                  "name": "R",
                  "path": "R",
                  "filler": false,
                  "offset": 0,
                  "start": 1,
                  "length": 18,
                  "slides": false,
                  "type": {
                    "kind": "group"
                  },
                  "file": "small.cpy",
                  "line": 1
                },
                {
                  "index": 1,
                  "parent": 0,
                  "level": 5,
                  "name": "C",
                  "path": "C",
                  "filler": false,
                  "offset": 0,
                  "start": 1,
                  "length": 1,
                  "slides": false,
                  "type": {
                    "blank_when_zero": false,
                    "digits": 1,
                    "kind": "zoned",
                    "scale": 0,
                    "sign": "none"
                  },
                  "description": "PIC 9",
                  "file": "small.cpy",
                  "line": 2
                },
                {
                  "index": 2,
                  "parent": 0,
                  "level": 5,
                  "name": "N",
                  "path": "N",
                  "filler": false,
                  "offset": 1,
                  "start": 2,
                  "length": 3,
                  "slides": false,
                  "type": {
                    "digits": 4,
                    "kind": "packed",
                    "scale": 1,
                    "signed": true
                  },
                  "description": "PIC S9(3)V9 COMP-3",
                  "occurs": {
                    "min": 0,
                    "max": 5,
                    "depending_on": "C",
                    "stride": 3
                  },
                  "file": "small.cpy",
                  "line": 3
                },
                {
                  "index": 3,
                  "parent": 0,
                  "level": 5,
                  "name": "A",
                  "path": "A",
                  "filler": false,
                  "offset": 16,
                  "start": 17,
                  "length": 2,
                  "slides": true,
                  "type": {
                    "alphabetic": false,
                    "justified": false,
                    "kind": "text"
                  },
                  "description": "PIC X(2)",
                  "conditions": [
                    {
                      "name": "YES",
                      "values": [
                        [
                          "'Y'"
                        ],
                        [
                          "'A'",
                          "'C'"
                        ]
                      ]
                    }
                  ],
                  "file": "small.cpy",
                  "line": 4
                }
              ],
              "renames": []
            }
          ]
        }
    "#]]);
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
    World::new().run_with("inspect -", b"       01 R.\n          05 A PIC X.\n").check(expect![[r#"
        exit 0
        --- stdout
        R  1 byte, <stdin>:1

          from 0   from 1   length  level and name  type
               0        1        1  01 R            group
               0        1        1    05 A          PIC X

        1 item in 1 group
    "#]]);
}

#[test]
fn dialects_and_settings_change_the_layout() {
    let world = World::with([(
        "a.cpy",
        &b"       01 R.\n          05 A PIC X.\n          05 B PIC S9(18) COMP SYNC.\n          05 C PIC 9(2) COMP.\n"
            [..],
    )]);
    world.run("inspect a.cpy").check(expect![[r#"
        exit 0
        --- stdout
        R  14 bytes, a.cpy:1

          from 0   from 1   length  level and name  type
               0        1       14  01 R            group
               0        1        1    05 A          PIC X
               1        2        3    -- slack      before B
               4        5        8    05 B          PIC S9(18) COMP SYNC
              12       13        2    05 C          PIC 9(2) COMP

        3 items in 1 group, 3 slack bytes
    "#]]);
    world.run("inspect a.cpy --set sync=8").check(expect![[r#"
        exit 0
        --- stdout
        R  18 bytes, a.cpy:1

          from 0   from 1   length  level and name  type
               0        1       18  01 R            group
               0        1        1    05 A          PIC X
               1        2        7    -- slack      before B
               8        9        8    05 B          PIC S9(18) COMP SYNC
              16       17        2    05 C          PIC 9(2) COMP

        3 items in 1 group, 7 slack bytes
    "#]]);
    world.run("inspect a.cpy --dialect gnucobol").check(expect![[r#"
        exit 0
        --- stdout
        R  17 bytes, a.cpy:1

          from 0   from 1   length  level and name  type
               0        1       17  01 R            group
               0        1        1    05 A          PIC X
               1        2        7    -- slack      before B
               8        9        8    05 B          PIC S9(18) COMP SYNC
              16       17        1    05 C          PIC 9(2) COMP

        3 items in 1 group, 7 slack bytes
    "#]]);
    world.run("inspect a.cpy --set synk=8").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: no dialect setting is named `synk`

        hint: did you mean sync? There are binary-sizes, native-sizes, binary-order, native-order, truncate, binary-digits, sync, pointer, index, float, overpunch, odo-slide, decimal, currency
    "#]]);
    world.run("inspect a.cpy --set sync=16").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: `16` is not a value of the dialect setting sync, which takes 4, 8, no

        hint: the settings are binary-sizes, native-sizes, binary-order, native-order, truncate, binary-digits, sync, pointer, index, float, overpunch, odo-slide, decimal, currency
    "#]]);
    world.run("inspect a.cpy --set sync").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: `--set sync` has no `=`

        hint: write it as `--set sync=8`
    "#]]);
}

#[test]
fn copy_members_are_found_beside_the_copybook_and_in_folders() {
    let world = World::with([
        ("a.cpy", &b"       01 R.\n           COPY PART.\n           COPY OTHER.\n"[..]),
        ("part.cpy", &b"           05 A PIC X.\n"[..]),
        ("lib/OTHER.CPY", &b"           05 B PIC X.\n"[..]),
    ]);
    world.run("inspect a.cpy -I lib").check(expect![[r#"
        exit 0
        --- stdout
        R  2 bytes, a.cpy:1

          from 0   from 1   length  level and name  type
               0        1        2  01 R            group
               0        1        1    05 A          PIC X
               1        2        1    05 B          PIC X

        2 items in 1 group
    "#]]);
    world.run("inspect a.cpy").check(expect![[r#"
        exit 2
        --- stderr
        error[COB-010]: COPY member OTHER is not in the library
          at a.cpy:3:12
          |
        3 |            COPY OTHER.
          |            ^^^^^^^^^^

        hint: looked for ./OTHER.cpy (or .cbl, .cob, .copy, .inc, .txt, none); name the folder that holds it with `-I`
    "#]]);
}

#[test]
fn one_of_several_records_is_shown_by_name() {
    let world = World::with([(
        "a.cpy",
        &b"       01 FIRST-REC.\n          05 A PIC X.\n       01 OTHER-REC.\n          05 B PIC X(2).\n"[..],
    )]);
    world.run("inspect a.cpy").check(expect![[r#"
        exit 0
        --- stdout
        FIRST-REC  1 byte, a.cpy:1

          from 0   from 1   length  level and name  type
               0        1        1  01 FIRST-REC    group
               0        1        1    05 A          PIC X

        1 item in 1 group

        OTHER-REC  2 bytes, a.cpy:3

          from 0   from 1   length  level and name  type
               0        1        2  01 OTHER-REC    group
               0        1        2    05 B          PIC X(2)

        1 item in 1 group
    "#]]);
    world.run("inspect a.cpy --record other-rec").check(expect![[r#"
        exit 0
        --- stdout
        OTHER-REC  2 bytes, a.cpy:3

          from 0   from 1   length  level and name  type
               0        1        2  01 OTHER-REC    group
               0        1        2    05 B          PIC X(2)

        1 item in 1 group
    "#]]);
    world.run("inspect a.cpy --record OTHER-REK").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the copybook has no record `OTHER-REK`

        hint: did you mean OTHER-REC? It has FIRST-REC, OTHER-REC
    "#]]);
}

/// A program: the second record's table has its counter in the first, as programs may and files may not.
const PROGRAM: &str = "\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. P.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  COUNTERS.
           05  N             PIC 9.
       01  TABLES.
           05  T             PIC X OCCURS 1 TO 3 DEPENDING ON N.
       01  ITEM.
           05  A             PIC X(2).
           05  B             REDEFINES A PIC X(3).
       PROCEDURE DIVISION.
";

/// Only the requested record needs a layout; other records of a program may have faults.
#[test]
fn a_fault_in_one_record_of_a_program_is_no_fault_of_another() {
    let world = World::with([("p.cbl", PROGRAM.as_bytes())]);
    world.run("inspect p.cbl --record ITEM").check(expect![[r#"
        exit 0
        --- stdout
        ITEM  3 bytes, p.cbl:9

          from 0   from 1   length  level and name  type
               0        1        3  01 ITEM         group
               0        1        2    05 A          PIC X(2)
               0        1        3    05 B          PIC X(3), redefines A

        2 items in 1 group, 1 redefinition
        --- stderr
        warning[COB-062]: B has 3 bytes, but it redefines A, which has 2
          at p.cbl:11:30
           |
        11 |            05  B             REDEFINES A PIC X(3).
           |                              ^^^^^^^^^

        hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
    "#]]);
    world.run("inspect p.cbl").check(expect![[r#"
        exit 2
        --- stdout
        COUNTERS  1 byte, p.cbl:5

          from 0   from 1   length  level and name  type
               0        1        1  01 COUNTERS     group
               0        1        1    05 N          PIC 9

        1 item in 1 group

        ITEM  3 bytes, p.cbl:9

          from 0   from 1   length  level and name  type
               0        1        3  01 ITEM         group
               0        1        2    05 A          PIC X(2)
               0        1        3    05 B          PIC X(3), redefines A

        2 items in 1 group, 1 redefinition
        --- stderr
        error[COB-072]: the counter N is not in this record
          at p.cbl:8:63
          |
        8 |            05  T             PIC X OCCURS 1 TO 3 DEPENDING ON N.
          |                                                               ^

        hint: the counter is a field of the same record, in front of the table; a counter outside the record cannot be read with it

        warning[COB-062]: B has 3 bytes, but it redefines A, which has 2
          at p.cbl:11:30
           |
        11 |            05  B             REDEFINES A PIC X(3).
           |                              ^^^^^^^^^

        hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
    "#]]);
    world.run("inspect p.cbl --record TABLES").check(expect![[r#"
        exit 2
        --- stderr
        error[COB-072]: the counter N is not in this record
          at p.cbl:8:63
          |
        8 |            05  T             PIC X OCCURS 1 TO 3 DEPENDING ON N.
          |                                                               ^

        hint: the counter is a field of the same record, in front of the table; a counter outside the record cannot be read with it
    "#]]);
    world.run_with("convert - -c p.cbl -e ascii --record ITEM", b"xyz").check(expect![[r#"
        exit 0
        --- stdout
        {"A":"xy","B":"xyz"}
        --- stderr
        warning[COB-062]: B has 3 bytes, but it redefines A, which has 2
          at p.cbl:11:30
           |
        11 |            05  B             REDEFINES A PIC X(3).
           |                              ^^^^^^^^^

        hint: the storage is taken to be as large as the largest view; the Language Reference allows a larger view at level 01 only
    "#]]);
    world.run_with("convert - -c p.cbl -e ascii", b"xyz").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the copybook describes 3 records and one is needed

        hint: name one with --record: COUNTERS, TABLES, ITEM
    "#]]);
    world.write("p.toml", "[records]\nby = \"N\"\n[[records.type]]\nrecord = \"COUNTERS\"\nvalue = \"7\"\n");
    world.run_with("convert - -c p.cbl -e ascii -i p.toml", b"77").check(expect![[r#"
        exit 0
        --- stdout
        {"COUNTERS":{"N":7}}
        {"COUNTERS":{"N":7}}
    "#]]);
}

#[test]
fn files_that_are_not_there_get_a_suggestion() {
    let world = World::with([("orders.cpy", ORDERS.as_bytes())]);
    world.run("inspect order.cpy").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: cannot be read: no such file or directory
          at order.cpy

        hint: did you mean orders.cpy?
    "#]]);
    world.run("inspect order.cpy --json").check(expect![[r#"
        exit 2
        --- stderr
        {"schema":"quayline.finding/1","code":"CLI-002","severity":"error","fault":"environment","message":"cannot be read: no such file or directory","file":"order.cpy","hint":"did you mean orders.cpy?"}
    "#]]);
    world.run("inspect nothing").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: cannot be read: no such file or directory
          at nothing

        hint: check the path
    "#]]);
    world.run("inspect .").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: cannot be read: is a directory
          at .

        hint: name a file, not a folder
    "#]]);
}

const ACCOUNTS: &str = "       01  ACCOUNT.
           05  ACCOUNT-ID    PIC 9(6).
           05  OWNER         PIC X(20).
           05  BALANCE       PIC S9(7)V99 COMP-3.
           05  OPENED        PIC X(8).
";

fn accounts() -> Vec<u8> {
    let owners = ["ADA LOVELACE", "GRACE HOPPER", "KONRAD ZUSE", "EDSGER DIJKSTRA", "BARBARA LISKOV"];
    let mut file = Vec::new();
    for i in 0..200u32 {
        let owner = owners[(i * i / 3) as usize % owners.len()];
        file.extend(ebcdic(&format!("{:06}{owner:<20}", 1000 + i)));
        file.extend([0, u8::try_from(i % 10).expect("a digit") << 4, 0x12, 0x34, 0x5c]);
        file.extend(ebcdic("20240131"));
    }
    file
}

#[test]
fn a_data_file_gets_proposals_and_a_command_to_try() {
    let world = World::with([("accounts.dat", accounts().as_slice()), ("accounts.cpy", ACCOUNTS.as_bytes())]);
    world.run("inspect accounts.dat").check(expect![[r#"
        exit 0
        --- stdout
        accounts.dat  7,800 bytes

        code page
          IBM037  99 of 100
            - the text of this sample reads the same in IBM1047, IBM500, IBM273, IBM285, IBM297, IBM284, IBM280, IBM1140, IBM1141, IBM1146, IBM1147, IBM1145, IBM1144, IBM1148, IBM278, IBM277, IBM871, IBM1143, IBM1142, IBM1149, IBM870, IBM1026, IBM1025, IBM875
            - 87 % of the bytes are in runs of EBCDIC letters, digits and blanks, 0 % in such runs of ASCII
            - 22 % are blanks (0x40), 36 % digits (0xF0 to 0xF9), 9 % below 0x40, which in text are controls
            - no byte of the text means different things in the EBCDIC pages, so the sample cannot distinguish them
            - 60 other bytes on which EBCDIC pages differ are taken for parts of numbers

        framing
          fixed:39  90 of 100, 200 records
            - bytes repeat at a distance of 39: 60 % more than at its neighbours
            - blanks change to zeros at offset 26 in 200 of 200 records
            - the file's 7800 bytes are 200 records exactly

        try
          quayline convert accounts.dat --copybook COPYBOOK.cpy --encoding ibm037 --framing fixed:39 -o accounts.jsonl
    "#]]);
    world.run("inspect accounts.dat --copybook accounts.cpy").check(expect![[r#"
        exit 0
        --- stdout
        accounts.dat  7,800 bytes

        code page
          IBM037  99 of 100
            - the text of this sample reads the same in IBM1047, IBM500, IBM273, IBM285, IBM297, IBM284, IBM280, IBM1140, IBM1141, IBM1146, IBM1147, IBM1145, IBM1144, IBM1148, IBM278, IBM277, IBM871, IBM1143, IBM1142, IBM1149, IBM870, IBM1026, IBM1025, IBM875
            - 87 % of the bytes are in runs of EBCDIC letters, digits and blanks, 0 % in such runs of ASCII
            - 22 % are blanks (0x40), 36 % digits (0xF0 to 0xF9), 9 % below 0x40, which in text are controls
            - no byte of the text means different things in the EBCDIC pages, so the sample cannot distinguish them
            - 60 other bytes on which EBCDIC pages differ are taken for parts of numbers

        framing
          fixed:39  90 of 100, 200 records
            - the layout has 39 bytes
            - bytes repeat at a distance of 39: 60 % more than at its neighbours
            - blanks change to zeros at offset 26 in 200 of 200 records
            - the file's 7800 bytes are 200 records exactly

        copybook
          ACCOUNT has 39 bytes
            - the file is 200 times that
          IBM037, fixed:39: all 200 records tried decode

        try
          quayline convert accounts.dat --copybook accounts.cpy --encoding ibm037 --framing fixed:39 -o accounts.jsonl
    "#]]);
}

#[test]
fn what_inspect_proposes_converts() {
    let world = World::with([("accounts.dat", accounts().as_slice()), ("accounts.cpy", ACCOUNTS.as_bytes())]);
    let ran = world.run("inspect accounts.dat --copybook accounts.cpy --json");
    let answer: serde_json::Value = serde_json::from_slice(&ran.code(0).stdout).expect("the answer is JSON");
    let words: Vec<&str> =
        answer["try"].as_array().expect("words").iter().map(|word| word.as_str().expect("a word")).collect();
    assert_eq!(words[..2], ["quayline", "convert"]);
    world.run(&words[1..].join(" ")).code(0);
    let text = String::from_utf8(world.read("accounts.jsonl")).expect("UTF-8");
    assert_eq!(text.lines().count(), 200);
    assert_eq!(
        text.lines().next(),
        Some(r#"{"ACCOUNT-ID":1000,"OWNER":"ADA LOVELACE","BALANCE":123.45,"OPENED":"20240131"}"#)
    );
}

#[test]
fn a_copybook_that_does_not_fit_says_by_how_much() {
    let world = World::with([
        ("accounts.dat", accounts().as_slice()),
        ("other.cpy", ACCOUNTS.replace("X(20)", "X(22)").as_bytes()),
    ]);
    world.run("inspect accounts.dat --copybook other.cpy --encoding cp037 --framing fixed").check(expect![[r#"
        exit 0
        --- stdout
        accounts.dat  7,800 bytes

        code page
          IBM037
            - you named it

        framing
          fixed:41
            - you named it

        copybook
          ACCOUNT has 41 bytes
            - the file is 190 times that and 10 bytes more, so its records are not all of that length
          IBM037, fixed:41: 4 of 191 records tried decode
            - the first that does not:
                error[REC-001]: digit 6 is 0xc, expected 0 to 9
                  at accounts.dat, record 1, byte 28, BALANCE (offset 28 in the record, 5 bytes, PIC S9(7)V99 COMP-3)
                hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`
            - likely:
                error[FRM-040]: junk from the first record on: the framing `fixed:41` does not fit this file
                  at accounts.dat, record 1
                hint: its records seem to have 39 bytes, so the copybook's are 2 bytes longer; `fixed:39` fits all 200 records in the first 7800 bytes (bytes repeat at a distance of 39: 60 % more than at its neighbours; blanks change to zeros at offset 26 in 200 of 200 records; the file's 7800 bytes are 200 records exactly), but the description has records of 41 bytes: check that it belongs to this file

        try
          quayline convert accounts.dat --copybook other.cpy --encoding ibm037 --framing fixed:41 -o accounts.jsonl
    "#]]);
}

/// Records without their trailing blanks did not count as decodable, so `inspect` preferred records of the layout's length, of which a few
/// decode by chance, to lengths that lead through the whole file. A chain of lengths within the layout now wins, with `--short pad`.
#[test]
fn a_chain_of_lengths_wins_over_the_length_of_the_layout() {
    const CUT: &str = "
       01 CUT-REC.
          05 ID   PIC 9(6).
          05 AMT  PIC S9(7)V99 COMP-3.
          05 NAME PIC X(30).
";
    let record = |i: usize| {
        let mut body: Vec<u8> = format!("{:06}", i * 7919 % 1_000_000).bytes().map(|b| b + 0xc0).collect();
        let byte = |n: usize| u8::try_from(n % 10 * 16 + n / 7 % 10).expect("two digits");
        body.extend([
            byte(i),
            byte(i * 3),
            byte(i * 17),
            byte(i * 31),
            u8::try_from(i * 13 % 10 * 16).expect("one") | 12,
        ]);
        body.extend((0..4 + i * 11 % 27).map(|k| 0xc1 + u8::try_from((i * 31 + k * 17) % 9).expect("a letter")));
        body
    };
    let prefixed = |prefix: &dyn Fn(usize) -> Vec<u8>| -> Vec<u8> {
        (0..400).map(record).flat_map(|body| [prefix(body.len()), body].concat()).collect()
    };
    let two = |n: usize| u16::try_from(n).expect("short").to_be_bytes();
    let world = World::with([("cut.cpy", CUT.as_bytes())]);
    for (data, framing) in [
        (prefixed(&|n| [&two(n + 4)[..], &[0, 0]].concat()), "rdw"),
        (prefixed(&|n| [&two(n)[..], &[0, 0]].concat()), "rdw:body,max=65535"),
        (prefixed(&|n| two(n).to_vec()), "rdw:ll,body,max=65535"),
        (prefixed(&|n| format!("{:04}", n + 4).into_bytes()), "d"),
    ] {
        world.write("cut.dat", data);
        let ran = world.run("inspect cut.dat --copybook cut.cpy --encoding cp037");
        let shown = ran.out();
        let command = format!("--encoding ibm037 --framing {framing} --short pad -o cut.jsonl");
        assert!(shown.contains(&command), "{framing}: {shown}");
        let fit = format!("IBM037, {framing}, --short pad: all 400 records tried decode");
        assert!(shown.contains(&fit), "{framing}: {shown}");
        world.run(&format!("convert cut.dat --copybook cut.cpy {command}")).code(0);
    }
}

/// Numbers at the end of a record that were left out are not blanks.
#[test]
fn fields_that_are_left_out_are_proposed_as_null() {
    let copybook = "       01 R.\n          05 A PIC 9(4).\n          05 B PIC 9(4).\n          05 C PIC 9(4).\n";
    let data: Vec<u8> = (0..60u16)
        .flat_map(|i| {
            let body = format!("{:04}", i * 97).repeat(1 + usize::from(i) % 3);
            [&u16::try_from(body.len() + 4).expect("short").to_be_bytes()[..], &[0, 0], body.as_bytes()].concat()
        })
        .collect();
    let world = World::with([("r.cpy", copybook.as_bytes()), ("r.dat", data.as_slice())]);
    let shown = world.run("inspect r.dat --copybook r.cpy --encoding ascii").out();
    assert!(shown.contains("rdw, --short null: all 60 records tried decode"), "{shown}");
    assert!(shown.contains("--framing rdw --short null -o r.jsonl"), "{shown}");
    let json = world.run("inspect r.dat --copybook r.cpy --encoding ascii --json").out();
    assert!(json.contains(r#""short": "null""#), "{json}");
    // Records of one length are not cut, so parts of a record are not short records.
    world.write("r.dat", "00000007".repeat(90));
    world.write("r.cpy", "       01 R PIC X(16).\n");
    let shown = world.run("inspect r.dat --copybook r.cpy --encoding ascii").out();
    assert!(shown.contains("--framing fixed:16 -o") && !shown.contains(", --short"), "{shown}");
}

#[test]
fn an_empty_file_and_noise_are_said_to_be_that() {
    let noise: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
    let world = World::with([("empty.dat", &b""[..]), ("noise.bin", noise.as_slice())]);
    world.run("inspect empty.dat").check(expect![[r#"
        exit 0
        --- stdout
        empty.dat  0 bytes

        the file is empty
    "#]]);
    world.run("inspect noise.bin").check(expect![[r#"
        exit 0
        --- stdout
        noise.bin  4,000 bytes

        code page
          none: too few bytes are text; the file may be compressed, encrypted or binary

        framing
          none: no framing explains the bytes; ask the sender for RECFM and LRECL

        try
          quayline convert noise.bin --copybook COPYBOOK.cpy --encoding CODE-PAGE --framing FRAMING -o noise.jsonl
    "#]]);
}

/// The printed command did not run for record files with the name of another format, and for `j.jsonl` it wrote to the input itself.
#[test]
fn the_command_runs_for_any_name() {
    let world = World::with([("accounts.cpy", ACCOUNTS.as_bytes())]);
    for (name, out) in [
        ("a.csv", "a.jsonl"),
        ("a.json", "a.jsonl"),
        ("a.xml", "a.jsonl"),
        ("a.dat", "a.jsonl"),
        ("a.jsonl", "a.out.jsonl"),
    ] {
        world.write(name, accounts());
        let ran = world.run(&format!("inspect {name} --copybook accounts.cpy --json"));
        let answer: serde_json::Value = serde_json::from_slice(&ran.code(0).stdout).expect("the answer is JSON");
        let words: Vec<&str> =
            answer["try"].as_array().expect("words").iter().map(|word| word.as_str().expect("a word")).collect();
        world.run(&words[1..].join(" ")).code(0);
        let text = String::from_utf8(world.read(out)).expect("UTF-8");
        assert_eq!(text.lines().count(), 200, "{name}");
        std::fs::remove_file(world.path(out)).expect("the output is there");
    }
}

/// CSV, XML, JSON and PDF got a command for records.
#[test]
fn a_file_that_has_no_records_is_named() {
    let world = World::new();
    let utf16: Vec<u8> = "\u{feff}<a><b>1</b></a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    world.write("utf16.dat", utf16);
    world.write("c.dat", "id;name\n1;ADA\n2;GRACE\n");
    world.write("l.dat", b"id;name\n1;M\xfcller\n2;J\xf6rg A\n");
    world.write("x.dat", "<?xml version=\"1.0\"?>\n<a><b>1</b></a>\n");
    world.write("j.dat", "{\"a\":1}\n{\"a\":2}\n");
    world.write("p.dat", "%PDF-1.4\n1 0 obj\n");
    for (name, says, ends) in [
        ("c.dat", "this looks like CSV: `quayline infer c.dat`", "  quayline infer c.dat\n"),
        ("l.dat", "this looks like CSV that is not in UTF-8: `iconv -f PAGE -t UTF-8 l.dat > NEW.csv`", "\n"),
        ("x.dat", "this looks like XML: `quayline infer x.dat`", "  quayline infer x.dat\n"),
        ("j.dat", "this looks like JSON: `quayline infer j.dat`", "  quayline infer j.dat\n"),
        ("utf16.dat", "this looks like XML in UTF-16: `iconv -f UTF-16 -t UTF-8 utf16.dat > NEW.xml`", "\n"),
        ("p.dat", "this looks like PDF: no command reads it\n", "\n"),
    ] {
        let shown = world.run(&format!("inspect {name}")).out();
        assert!(shown.contains(says) && shown.ends_with(ends) && !shown.contains("--copybook"), "{shown}");
    }
    // Who says that it has records gets a command for them.
    let shown = world.run("inspect j.dat --as data").out();
    assert!(shown.contains("quayline convert j.dat --from record --copybook"), "{shown}");
}

/// Lines that end in CR alone were fixed records of half the file.
#[test]
fn lines_that_end_in_cr_are_said_to_be_that() {
    let world = World::new();
    let lines: Vec<String> = (0..300).map(|i| format!("{i:06} CUSTOMER {} END\r", "NAME ".repeat(i % 7))).collect();
    world.write("cr.txt", lines.concat());
    let shown = world.run("inspect cr.txt").out();
    assert!(shown.contains("its lines end in CR (0x0D) alone"), "{shown}");
}
