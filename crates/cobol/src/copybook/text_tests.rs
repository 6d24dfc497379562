//! Reference format, COPY and REPLACE: the text that reaches the parser. Entries are shown as rows.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};

use super::{CopyError, CopyLibrary, Copybook, Format, MemoryLibrary, ParseOptions, SourceText};
use crate::layout::{Dialect, Layout, Literal};
use crate::parse;
use crate::picture::{Currency, PictureSettings};

fn read(text: &str, options: &ParseOptions<'_>) -> Result<Copybook, String> {
    parse(&SourceText::new("a.cpy", text), options).map_err(|findings| findings.to_string())
}

/// `level name description = value {condition values}` of every entry.
fn rows(copybook: &Copybook) -> String {
    let mut out = String::new();
    for record in &copybook.records {
        let layout = Layout::build(record, &Dialect::IBM).unwrap_or_else(|f| panic!("{f}"));
        for field in &layout.fields {
            let head = format!("{:02} {} {}", field.level, field.name, field.description);
            out.push_str(head.trim_end());
            if let Some(value) = &field.value {
                out.push_str(&format!(" = {}", literal(value)));
            }
            for condition in &field.conditions {
                let values = condition.values.iter().map(|(from, thru)| match thru {
                    Some(thru) => format!("{}..{}", literal(from), literal(thru)),
                    None => literal(from),
                });
                out.push_str(&format!(" {{{}: {}}}", condition.name, values.collect::<Vec<_>>().join(" ")));
            }
            out.push('\n');
        }
    }
    for warning in &copybook.warnings {
        out.push_str(&format!("{warning}\n"));
    }
    out
}

fn literal(value: &Literal) -> String {
    match value {
        Literal::Text(text) => format!("{text:?}"),
        Literal::Hex(bytes) => format!("X{bytes:02x?}"),
        Literal::Number(number) => number.clone(),
        Literal::Figurative(figurative) => format!("{figurative:?}"),
        Literal::All(inner) => format!("ALL {}", literal(inner)),
    }
}

fn check(text: &str, options: &ParseOptions<'_>, expected: Expect) {
    expected.assert_eq(&read(text, options).map_or_else(|findings| findings, |copybook| rows(&copybook)));
}

fn auto(text: &str, expected: Expect) {
    check(text, &ParseOptions::default(), expected);
}

fn copying(members: &[(&str, &str)], text: &str, expected: Expect) {
    let members: BTreeMap<String, String> = members.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect();
    check(text, &ParseOptions { library: &MemoryLibrary(members), ..ParseOptions::default() }, expected);
}

#[test]
fn fixed_form_has_margins() {
    auto(
        "000100* a comment\n000200 01  REC.                                                         PROG0001\n000300     05  A PIC X(2).                                               PROG0002\n000400D    05  DEBUGGED PIC X.\n000500/\nXX    *    05 C PIC X.\nCHG001     05  B                                                PIC X(3)PROG0003\n000600             .\n",
        expect![[r#"
            01 REC
            05 A PIC X(2)
            05 B PIC X(3)
        "#]],
    );
}

#[test]
fn free_form_has_none() {
    auto(
        "*> comment\n01 REC. *> another\n* an old comment\n  05 A PIC X(2). 05 B\nPIC X(3).",
        expect![[r#"
            01 REC
            05 A PIC X(2)
            05 B PIC X(3)
        "#]],
    );
}

#[test]
fn both_line_ends_byte_order_mark_and_control_z() {
    auto(
        "\u{feff}       01  REC.\r\n           05  A PIC X.\r\n\u{1a}garbage behind the end '",
        expect![[r#"
            01 REC
            05 A PIC X
        "#]],
    );
}

#[test]
fn tabs_stop_every_eight_columns() {
    auto(
        "\t01 REC.\n\t*\tcomment\n\t    05 A\tPIC X(2).\n      *\t05 B PIC X.\n",
        expect![[r#"
            01 REC
            05 A PIC X(2)
        "#]],
    );
}

#[test]
fn words_and_literals_are_continued() {
    auto(
        "       01  REC.\n           05  LONG-NA\n      -        ME PIC X(100) VALUE 'begins and goes on to column seventy-tw\n      * between\n      -    'o and ends here'.\n           05  B PIC X(90) VALUE \"trailing blanks belong to it           \n      -    \"until column 72\".\n           05  C PIC X(4) VALUE 'it''s                            at the en''\n      -    '''s'.\n",
        expect![[r#"
            01 REC
            05 LONG-NAME PIC X(100) = "begins and goes on to column seventyo and ends here"
            05 B PIC X(90) = "trailing blanks belong to it          until column 72"
            05 C PIC X(4) = "it's                            at the's"
        "#]],
    );
}

#[test]
fn a_quote_in_column_72_is_half_of_a_doubled_one() {
    let line = format!("{:<67}'abc'", "           05  A PIC X(9) VALUE");
    assert_eq!(line.len(), 72);
    auto(
        &format!("       01  REC.\n{line}\n      -    ''def'.\n"),
        expect![[r#"
            01 REC
            05 A PIC X(9) = "abc'def"
        "#]],
    );
}

#[test]
fn source_format_directives_switch() {
    auto(
        "       >>SOURCE FORMAT IS FREE\n01 REC.\n05 A PIC X.\n>>SOURCE FORMAT FIXED\n       01 B PIC X.                                                       ignored",
        expect![[r#"
            01 REC
            05 A PIC X
            01 B PIC X
        "#]],
    );
    auto(
        "      $SET SOURCEFORMAT\"FREE\"\n01 REC PIC X.\n$SET NOBOUND\n",
        expect![[r#"
        01 REC PIC X
    "#]],
    );
}

#[test]
fn a_line_may_begin_with_a_currency_symbol() {
    auto(
        "       01 A.\n           05 B PIC IS\n           $(3)9.99.\n           05 C PIC\n           99 OCCURS 2.\n",
        expect![[r#"
            01 A
            05 B PIC $(3)9.99
            05 C PIC 99
        "#]],
    );
}

#[test]
fn commas_and_semicolons_separate() {
    auto(
        "01 A; PIC 9(3),9(3).9,; BLANK ZERO ,.\n01 B, PIC X. 88 C VALUES 'A','B', 'C' ; 'D'.",
        expect![[r#"
            01 A PIC 9(3),9(3).9, BLANK WHEN ZERO
            01 B PIC X {C: "A" "B" "C" "D"}
        "#]],
    );
}

#[test]
fn literals_of_every_kind() {
    auto(
        "01 R.
  05 A PIC X(3) VALUE 'A.B'.
  05 B PIC X VALUE \"'\".
  05 C PIC X(4) VALUE \"say \"\"x\"\"\".
  05 D PIC X(2) VALUE X'0aFf'.
  05 E PIC N(2) VALUE N'ab'. 05 F PIC N(2) VALUE NX'00410042'. 05 G PIC U(2) VALUE U'é'. 05 H PIC U(2) VALUE UX'c3a9'.
  05 I PIC X(3) VALUE Z'ab'. 05 J PIC X(5) VALUE ALL '*-'. 05 K PIC X VALUE ALL SPACES. 05 L PIC X(6) VALUE 'abc' & 'def'.
  05 M PIC S9(3)V99 VALUE -1.50. 05 N PIC 9 VALUE +5. 05 O PIC V9 VALUE .5. 05 P COMP-2 VALUE 1.5E-3.
  05 Q PIC X VALUE IS LOW-VALUES. 05 S PIC X VALUE HIGH-VALUE. 05 T PIC X VALUE QUOTES. 05 U POINTER VALUE NULL. 05 V PIC 9 VALUE ZEROES.
  05 W PIC X(3) VALUE'a;b'.",
        expect![[r#"
            01 R
            05 A PIC X(3) = "A.B"
            05 B PIC X = "'"
            05 C PIC X(4) = "say \"x\""
            05 D PIC X(2) = X[0a, ff]
            05 E PIC N(2) = "ab"
            05 F PIC N(2) = "AB"
            05 G PIC U(2) = "é"
            05 H PIC U(2) = "é"
            05 I PIC X(3) = "ab\0"
            05 J PIC X(5) = ALL "*-"
            05 K PIC X = Space
            05 L PIC X(6) = "abcdef"
            05 M PIC S9(3)V99 = -1.50
            05 N PIC 9 = 5
            05 O PIC V9 = .5
            05 P COMP-2 = 1.5E-3
            05 Q PIC X = LowValue
            05 S PIC X = HighValue
            05 T PIC X = Quote
            05 U POINTER = Null
            05 V PIC 9 = Zero
            05 W PIC X(3) = "a;b"
        "#]],
    );
}

#[test]
fn conditions_of_every_kind() {
    auto(
        "01 R. 88 WHOLE VALUE SPACES.
  05 A PIC X. 88 ONE VALUE 'A'. 88 LIST VALUES ARE 'A' 'B' THRU 'D', 'X' THROUGH HIGH-VALUES. 88 H VALUE X'00' THRU X'3F'.
     88 F VALUE 'Y' WHEN SET TO FALSE IS 'N'. 88 G VALUE 'Y' FALSE 'N'.
  05 N PIC S9(3). 88 NEG VALUES -5 THRU -1. 88 MANY VALUE 1 2 3,4, 5
       6 THRU 9. 88 Z VALUE ZERO. 88 UP VALUE 1 THRU HIGH-VALUES. 88 DOWN VALUE LOW-VALUES THRU 0.
  05 FILLER PIC X. 88 Y VALUE ALL 'Y'.",
        expect![[r#"
            01 R {WHOLE: Space}
            05 A PIC X {ONE: "A"} {LIST: "A" "B".."D" "X"..HighValue} {H: X[00]..X[3f]} {F: "Y"} {G: "Y"}
            05 N PIC S9(3) {NEG: -5..-1} {MANY: 1 2 3 4 5 6..9} {Z: Zero} {UP: 1..HighValue} {DOWN: LowValue..0}
            05 FILLER PIC X {Y: ALL "Y"}
        "#]],
    );
}

#[test]
fn clauses_stand_in_any_order_and_spelling() {
    auto(
        "01 r is external.
  05 a pic is s9(3) usage is computational-3 value is zero.
  05 b usage comp-3 value +1 picture s9(3).
  05 occurs 2 times pic x.
  05 pic x(2).
  05 e pic x(2).
  05 c redefines e sign leading separate character pic s9.
  05 filler value 'x' pic x synchronized left justified right.
  05 d global pic 9 blank when zeros.
  05 type pic x. 05 date pic x(8). 05 bit. 10 object pic x. 05 volatile pic x volatile.",
        expect![[r#"
            01 R
            05 A PIC S9(3) COMP-3 = Zero
            05 B PIC S9(3) COMP-3 = 1
            05 FILLER PIC X
            05 FILLER PIC X(2)
            05 E PIC X(2)
            05 C PIC S9 SIGN LEADING SEPARATE
            05 FILLER PIC X JUSTIFIED SYNC = "x"
            05 D PIC 9 BLANK WHEN ZERO
            05 TYPE PIC X
            05 DATE PIC X(8)
            05 BIT
            10 OBJECT PIC X
            05 VOLATILE PIC X
        "#]],
    );
}

#[test]
fn a_member_is_looked_up_once() {
    #[derive(Default)]
    struct Counting(std::cell::RefCell<Vec<String>>);
    impl CopyLibrary for Counting {
        fn member(&self, member: &str, library: Option<&str>) -> Result<SourceText, CopyError> {
            self.0.borrow_mut().push(format!("{library:?}/{member}"));
            match member {
                "THERE" => Ok(SourceText::new("THERE.cpy", "       05 A PIC X.\n")),
                _ => Err(CopyError::NotFound { tried: vec![member.to_owned()] }),
            }
        }
    }
    let library = Counting::default();
    let copy = |name: &str| format!("       COPY {name}.\n").repeat(3);
    let text = format!("       01 R.\n{}{}{}", copy("THERE"), copy("MISSING"), copy("MISSING OF L"));
    let options = ParseOptions { library: &library, ..ParseOptions::default() };
    let findings = read(&text, &options).unwrap_err();
    assert_eq!(*library.0.borrow(), ["None/THERE", "None/MISSING", "Some(\"L\")/MISSING"]);
    assert_eq!(findings.matches("is not in the library").count(), 6, "{findings}");
}

#[test]
fn copy_brings_members_in() {
    copying(
        &[
            ("CUST", "           05  CUST-ID PIC 9(5).\n           COPY ADDR.\n"),
            ("ADDR", "05 STREET PIC X(3). 05 CITY PIC X(4)."),
            ("LIB/CUST", "           05 OTHER PIC X.\n"),
        ],
        "       01  REC.\n           COPY CUST.\n           COPY 'cust' SUPPRESS.\n       01  S. COPY CUST OF LIB. COPY CUST IN LIB SUPPRESS PRINTING.\n",
        expect![[r#"
            01 REC
            05 CUST-ID PIC 9(5)
            05 STREET PIC X(3)
            05 CITY PIC X(4)
            05 CUST-ID PIC 9(5)
            05 STREET PIC X(3)
            05 CITY PIC X(4)
            01 S
            05 OTHER PIC X
            05 OTHER PIC X
        "#]],
    );
}

#[test]
fn replacing_matches_text_words() {
    copying(
        &[(
            "M",
            "01 :TAG:-REC.\n  05 :TAG:-ID PIC X(:LEN:).\n  05 (P)-NAME PIC X(30) VALUE 'old TAG'.\n  05 OLD-AMOUNT PIC S9(5) COMP.\n  05 OLD PIC 9.\n  05 X-OLD, PIC  X VALUE 'Q'.",
        )],
        "COPY M REPLACING ==:TAG:== BY ==CUST== ==:LEN:== BY ==12== ==(P)== BY ==FULL== OLD BY NEW 'Q' BY 'R'
            LEADING ==OLD== BY ==MY== TRAILING ==-OLD== BY ==-NEW== ==s9(5) comp== BY ==S9(7) COMP-3==.",
        expect![[r#"
            01 CUST-REC
            05 CUST-ID PIC X(12)
            05 FULL-NAME PIC X(30) = "old TAG"
            05 MY-AMOUNT PIC S9(7) COMP-3
            05 NEW PIC 9
            05 X-NEW PIC X = "R"
        "#]],
    );
}

#[test]
fn replacing_can_remove_and_reach_into_nested_members() {
    copying(
        &[("M", "05 A PIC X VALUE 'A'. COPY N REPLACING B BY C."), ("N", "05 B PIC X. 05 D-X PIC X.")],
        "01 R. COPY M REPLACING ==VALUE 'A'== BY ==== ==C== BY ==E== ==D-X== BY ==D-Y==. 05 C PIC X.",
        expect![[r#"
            01 R
            05 A PIC X
            05 E PIC X
            05 D-Y PIC X
            05 C PIC X
        "#]],
    );
}

#[test]
fn replace_holds_until_the_next() {
    copying(
        &[("M", "05 :X:-B PIC X.")],
        "REPLACE ==:X:== BY ==ONE== ==ZZ== BY ==X(3)==. 01 :X:-R. COPY M. 05 C PIC ZZ.
         REPLACE ==:X:== BY ==TWO==. 01 :X:-R. COPY M. REPLACE OFF. 05 ZZ PIC X.",
        expect![[r#"
            01 ONE-R
            05 ONE-B PIC X
            05 C PIC X(3)
            01 TWO-R
            05 TWO-B PIC X
            05 ZZ PIC X
        "#]],
    );
}

#[test]
fn the_caller_can_replace_too() {
    let options =
        ParseOptions { replacing: Some("==:TAG:== BY ==CUST== LEADING ==WS-== BY ===="), ..ParseOptions::default() };
    check(
        "01 :TAG:-REC.\n  05 :TAG:-ID PIC X.\n  05 WS-NAME PIC X.",
        &options,
        expect![[r#"
            01 CUST-REC
            05 CUST-ID PIC X
            05 NAME PIC X
        "#]],
    );
}

#[test]
fn a_whole_program_gives_its_records() {
    copying(
        &[("CUST", "       01  WS-CUST.\n           05  WS-ID PIC 9(5).\n")],
        "       IDENTIFICATION DIVISION.
       PROGRAM-ID. PAYROLL.
       AUTHOR. JOHN'S TEAM.
       ENVIRONMENT DIVISION.
       CONFIGURATION SECTION.
       SPECIAL-NAMES.
           DECIMAL-POINT IS COMMA
           CURRENCY SIGN IS 'E' WITH PICTURE SYMBOL '#'.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           COPY NOWHERE.
           SELECT MASTER ASSIGN TO MASTER.
       DATA DIVISION.
       FILE SECTION.
       FD  MASTER RECORDING MODE IS F
           RECORD CONTAINS 10 CHARACTERS.
       01  MASTER-A PIC X(10).
       01  MASTER-B.
           05  AMOUNT PIC ###.##9,99.
       SD  SORTED.
       01  SORT-REC. 05 K PIC 9(3)V9 VALUE 1,5.
       WORKING-STORAGE SECTION.
       EXEC SQL BEGIN DECLARE SECTION END-EXEC.
       77  COUNTER PIC 9(3).
           COPY CUST.
       EJECT
       EXEC SQL END DECLARE SECTION END-EXEC.
       LINKAGE SECTION.
       01  PARM PIC X.
       PROCEDURE DIVISION USING PARM.
           DISPLAY 'it''s' COPY. 'unclosed
           STOP RUN.
",
        expect![[r#"
            01 MASTER-A PIC X(10)
            01 MASTER-B
            05 AMOUNT PIC ###.##9,99
            01 SORT-REC
            05 K PIC 9(3)V9 = 1.5
            77 COUNTER PIC 9(3)
            01 WS-CUST
            05 WS-ID PIC 9(5)
            01 PARM PIC X
        "#]],
    );
}

#[test]
fn sections_and_files_are_known() {
    let copybook = read(
        "DATA DIVISION. FILE SECTION. FD MASTER. 01 A PIC X. WORKING-STORAGE SECTION. 01 B PIC X. LOCAL-STORAGE SECTION. 77 C PIC X.",
        &ParseOptions { format: Format::Free, ..ParseOptions::default() },
    )
    .unwrap();
    let shown: Vec<String> = copybook
        .records
        .iter()
        .map(|r| format!("{} {:?} {:?} {}", r.name(), r.section(), r.file_name(), r.is_fragment()))
        .collect();
    expect![[r#"
        A Some(File) Some("MASTER") false
        B Some(WorkingStorage) None false
        C Some(LocalStorage) None false"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn settings_stand_for_special_names() {
    let settings = PictureSettings { decimal_comma: true, currencies: vec![Currency { symbol: '£', sign: '£' }] };
    let options = ParseOptions { picture: &settings, format: Format::Free, ..ParseOptions::default() };
    check(
        "01 A. 05 B PIC £££.££9,99 VALUE '£1,00'. 05 C PIC 9V9 VALUE 1,5.",
        &options,
        expect![[r#"
            01 A
            05 B PIC £££.££9,99 = "£1,00"
            05 C PIC 9V9 = 1.5
        "#]],
    );
}

#[test]
fn a_fragment_is_named_by_its_caller_or_its_file() {
    let name = |source: &str, given: Option<&str>| {
        let options = ParseOptions { fragment_name: given, format: Format::Free, ..ParseOptions::default() };
        parse(&SourceText::new(source, "05 A PIC X."), &options).unwrap().records[0].name().to_owned()
    };
    assert_eq!(name("copybooks/car100.cpy", None), "CAR100");
    assert_eq!(name("C:\\x\\cust rec.v2.cbl", None), "CUST-REC");
    assert_eq!(name("<stdin>", None), "STDIN");
    assert_eq!(name("", None), "RECORD");
    assert_eq!(name("a.cpy", Some("given")), "GIVEN");
}
