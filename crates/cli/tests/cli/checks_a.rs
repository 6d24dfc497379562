//! Defects that an independent check of record files found, with one test for each: the smallest input, through the command.
//!
//! | defect | test |
//! |---|---|
//! | A1 lines without their trailing blanks | `a1_cut_lines_are_padded` |
//! | A2 bytes behind the last table | `a2_bytes_behind_the_last_table_are_told` |
//! | A3 columns and compressed files as input | `columns.rs` |
//! | A4 `null` as a value | `a4_null_is_no_value` |
//! | A5 the length of a view | `a5_a_view_has_its_own_length` |
//! | A6 an unknown record type | `a6_an_unknown_type_is_told_once_with_its_value` |
//! | A7 text that tabs push behind column 72 | `a7_text_behind_column_72_is_told` |
//! | A8 comments and the source form | `a8_comments_do_not_outvote_a_line` |
//! | A9 placeholders in a copybook | `a9_a_placeholder_has_a_remedy_that_works` |
//! | A10 a remedy that changes the layout | `a10_a_remedy_keeps_the_layout` |
//! | A11 a number beyond its picture | `a11_a_number_beyond_its_picture_is_counted` |
//! | A12 errors without a remedy | `a12_errors_have_a_remedy`, `a12_remedies_of_numbers_lists_and_json_work` |
//! | A12 errors in rounds | `a12_all_errors_of_a_copybook_come_at_once`; equal findings, `a_repeated_finding_is_told_once_with_its_count` |

use expect_test::expect;

use crate::world::World;

fn world(copybook: &str) -> World {
    World::with([("c.cpy", copybook.as_bytes())])
}

#[test]
fn a1_cut_lines_are_padded() {
    let world = world("       01 L.\n          05 A PIC X(5).\n          05 B PIC X(10).\n          05 C PIC X(5).\n");
    world.write("in", "AAAAABBB\nAAAAABBB       CCC\n");
    let ran = world.run("convert in -c c.cpy -e ascii -f lines --from record");
    let both = "{\"A\":\"AAAAA\",\"B\":\"BBB\",\"C\":\"\"}\n{\"A\":\"AAAAA\",\"B\":\"BBB\",\"C\":\"CCC\"}\n";
    assert_eq!(ran.code(0).out(), both);
}

const TABLE: &str = "       01 R.\n          05 N PIC 9.\n          05 T OCCURS 0 TO 5 DEPENDING ON N PIC X.\n";

#[test]
fn a2_bytes_behind_the_last_table_are_told() {
    let world = world(TABLE);
    world.write("in", "1A2BC3");
    let ran = world.run("convert in -c c.cpy -e ascii");
    assert!(ran.code(1).err().contains("error[REC-015]: 4 bytes follow the last field"), "{}", ran.err());
    world.write("in", "1A2BC");
    let ran = world.run("convert in -c c.cpy -e ascii -f layout");
    assert_eq!(ran.code(0).out(), "{\"N\":1,\"T\":[\"A\"]}\n{\"N\":2,\"T\":[\"B\",\"C\"]}\n");
}

#[test]
fn a4_null_is_no_value() {
    let world = world("       01 R.\n          05 A PIC S9(5) COMP-3.\n          05 B PIC X.\n");
    world.write("in.jsonl", "{\"A\":null,\"B\":\"B\"}\n");
    let ran = world.run("convert in.jsonl -c c.cpy -e cp037 -o out.dat");
    assert!(ran.code(1).err().contains("error[REC-035]: null is not a value"), "{}", ran.err());
    world.run("convert in.jsonl -c c.cpy -e cp037 -o out.dat --null spaces").code(0);
    assert_eq!(world.read("out.dat"), b"\x40\x40\x40\xc2");
}

const SEGMENT: &str =
    "       01 R.\n          05 T PIC X.\n          05 A PIC X(8).\n          05 B REDEFINES A PIC X(3).\n";

#[test]
fn a5_a_view_has_its_own_length() {
    let world = world(SEGMENT);
    let rules = "[records]\nby = \"T\"\n[[records.type]]\nrecord = \"R\"\nrename = \"LONG\"\nvalue = \"1\"\nview = \"A\"\n\
        [[records.type]]\nrecord = \"R\"\nrename = \"SHORT\"\nvalue = \"2\"\nview = \"B\"\n";
    let records = b"\x00\x0d\x00\x001AAAAAAAA\x00\x08\x00\x002BBB";
    world.write("in.toml", rules).write("in", records);
    let how = "-c c.cpy -i in.toml -e ascii -f rdw";
    world.run(&format!("convert in {how} -o out.jsonl")).code(0);
    world.run(&format!("convert out.jsonl {how} -o back.dat")).code(0);
    assert_eq!(world.read("back.dat"), records);
}

#[test]
fn a6_an_unknown_type_is_told_once_with_its_value() {
    let world = world("       01 R.\n          05 T PIC X.\n          05 A PIC X(3).\n");
    world.write("in.toml", "[records]\nby = \"T\"\n[[records.type]]\nrecord = \"R\"\nvalue = \"1\"\n");
    world.write("in", b"\x00\x08\x00\x009AAA".repeat(200));
    let ran = world.run("convert in -c c.cpy -i in.toml -e ascii -f rdw -o out.jsonl");
    let told = ran.code(1).err();
    assert_eq!(told.matches("CNV-026").count(), 1, "{told}");
    assert!(told.contains("value `9`") && told.contains("known values are `1`"), "{told}");
    assert!(!told.contains("FRM-040"), "{told}");
}

#[test]
fn a7_text_behind_column_72_is_told() {
    let ran = world("       01 R.\n\t\t     05  A                                   PIC S9(5)      COMP-3.\n")
        .run("inspect c.cpy");
    assert!(ran.code(2).err().contains("error[COB-004]: tabs push this text past column 72"), "{}", ran.err());
    assert!(ran.err().contains("--source-format free"), "{}", ran.err());
}

#[test]
fn a8_comments_do_not_outvote_a_line() {
    let comments = "      * a licence\n".repeat(18);
    let ran = world(&format!("{comments}01    R.\n      05 A PIC X.\n")).run("inspect c.cpy");
    assert!(ran.code(0).out().contains("05 A"), "{}", ran.out());
}

#[test]
fn a9_a_placeholder_has_a_remedy_that_works() {
    let world = world("       01 :TAG:-R.\n          05 :TAG:-A PIC X.\n");
    let ran = world.run("inspect c.cpy");
    assert!(ran.code(2).err().contains("--replacing :TAG:=CUST"), "{}", ran.err());
    assert!(world.run("inspect c.cpy --replacing :TAG:=CUST").code(0).out().contains("CUST-A"));
}

/// The remedy was to use another type, which a reader of existing data cannot.
#[test]
fn a10_a_remedy_keeps_the_layout() {
    let world = world("       01 R.\n          05 A PIC S9(19) COMP.\n");
    world.write("in", [0; 15].iter().chain(&[7]).copied().collect::<Vec<u8>>());
    let ran = world.run("convert in -c c.cpy -e ascii");
    assert!(ran.code(2).err().contains("error[COB-043]"), "{}", ran.err());
    assert!(ran.err().contains("read it with `--set binary-digits=38`"), "{}", ran.err());
    assert_eq!(world.run("convert in -c c.cpy -e ascii --set binary-digits=38").code(0).out(), "{\"A\":7}\n");
}

#[test]
fn a12_errors_have_a_remedy() {
    let world =
        world("       01 R.\n          05 K PIC X.\n          05 A PIC X(3).\n          05 B REDEFINES A PIC 9(3).\n");
    let interface = "[[choose]]\nstorage = \"A\"\nby = \"K\"\nwhen = { \"B\" = \"B\" }\n";
    world.write("i.toml", interface).write("in", "X123");
    let err = world.run("convert in -c c.cpy -i i.toml -e ascii").code(1).err();
    assert!(err.contains("error[REC-013]") && err.contains("hint: add the selector's value to `when`"), "{err}");
    // The remedy works.
    world.write("i.toml", format!("{interface}otherwise = \"A\"\n"));
    assert_eq!(world.run("convert in -c c.cpy -i i.toml -e ascii").code(0).out(), "{\"K\":\"X\",\"A\":\"123\"}\n");
    world.write("in.json", "{\"K\":1}");
    let err = world.run("convert in.json -c c.cpy -i i.toml -e ascii -o out.dat").code(1).err();
    assert!(err.contains("error[JSON-012]") && err.contains("hint: write a value of the expected kind"), "{err}");
}

/// The remedies of a negative number without S, of a list that is too long and of text that is not JSON.
#[test]
fn a12_remedies_of_numbers_lists_and_json_work() {
    let world = world("       01 R.\n          05 A PIC 9(3) COMP-3.\n          05 T PIC X OCCURS 2.\n");
    world.write("in", b"\x12\x3dAB");
    let err = world.run("convert in -c c.cpy -e ascii").code(1).err();
    assert!(err.contains("error[REC-003]") && err.contains("its picture needs an S"), "{err}");
    assert!(err.contains("use `quayline convert --invalid raw`"), "{err}");
    let raw = world.run("convert in -c c.cpy -e ascii --invalid raw -o raw.jsonl");
    assert_eq!(raw.code(0).out(), "");
    assert_eq!(world.read("raw.jsonl"), b"{\"A\":\"0x123d\",\"T\":[\"A\",\"B\"]}\n");
    world.run("convert raw.jsonl -c c.cpy -e ascii --invalid raw -o back.dat").code(0);
    assert_eq!(world.read("back.dat"), world.read("in"));
    world.write("signed.cpy", "       01 R.\n          05 A PIC S9(3) COMP-3.\n          05 T PIC X OCCURS 2.\n");
    let signed = world.run("convert in -c signed.cpy -e ascii");
    assert_eq!(signed.code(0).out(), "{\"A\":-123,\"T\":[\"A\",\"B\"]}\n");

    world.write("three.jsonl", "{\"A\":1,\"T\":[\"A\",\"B\",\"C\"]}\n");
    let err = world.run("convert three.jsonl -c c.cpy -e ascii -o out.dat").code(1).err();
    assert!(err.contains("error[REC-030]") && err.contains("send fewer elements"), "{err}");
    world.write("larger.cpy", "       01 R.\n          05 A PIC 9(3) COMP-3.\n          05 T PIC X OCCURS 3.\n");
    world.run("convert three.jsonl -c larger.cpy -e ascii -o out.dat").code(0);

    world.write("comma.jsonl", "{\"A\":1 \"T\":[\"A\",\"B\"]}\n");
    let err = world.run("convert comma.jsonl -c c.cpy -e ascii -o out.dat").code(1).err();
    assert!(err.contains("error[JSON-001]") && err.contains("a comma, a quote or a bracket is missing"), "{err}");
}

#[test]
fn a11_a_number_beyond_its_picture_is_counted() {
    let world = world("       01 R.\n          05 A PIC S9(9)V99 BINARY.\n");
    world.write("in", b"\xf1\x00\x00\x00\x00\x00\x00\x01");
    let ran = world.run("convert in -c c.cpy -e cp037");
    assert!(ran.code(0).err().contains("warning[REC-043]: 1 value of A"), "{}", ran.err());
}

#[test]
fn a_repeated_finding_is_told_once_with_its_count() {
    let world = world("       01 R.\n          05 A PIC 9(3).\n          05 B PIC X(2).\n");
    world.write("in.dat", "1x3ab\n".repeat(50) + "12ycd\n");
    let ran = world.run("convert in.dat -c c.cpy -e ascii -f lines --rejects bad.dat");
    let told = ran.code(1).err();
    assert_eq!(told.matches("error[REC-00").count(), 2, "{told}");
    assert!(told.contains("digit 2 is 0x78, expected a digit character (49 more like this one)"), "{told}");
    // The file beside the rejects has each.
    assert_eq!(String::from_utf8(world.read("bad.dat.findings.jsonl")).expect("UTF-8").lines().count(), 51);
}

/// Standard error ended after ten findings. The others are counted, and `--json` shows them.
#[test]
fn findings_that_are_not_shown_are_counted() {
    let world = world("       01 R.\n          05 A PIC 9(3).\n");
    world.write("in.dat", ('a'..='o').map(|letter| format!("1{letter}3\n")).collect::<String>());
    let ran = world.run("convert in.dat -c c.cpy -e ascii -f lines --rejects bad.dat");
    let told = ran.code(1).err();
    assert_eq!(told.matches("error[REC-00").count(), 10, "{told}");
    assert!(told.contains("\n\n5 more findings not shown: 5 REC-00"), "{told}");
    let ran = world.run("convert in.dat -c c.cpy -e ascii -f lines --rejects bad.dat --json");
    assert_eq!(ran.code(1).err().matches("\"REC-00").count(), 15, "{}", ran.err());
    assert!(!ran.err().contains("not shown"), "{}", ran.err());

    // The same in `translate`, whose equal findings are one.
    world.write("in.shape", "row\n  id? text\n");
    world.write("m.qmap", "source \"in.shape\"\ntarget row \"in.shape\"\n\nid = id\n");
    let documents =
        |count: usize| (0..count).map(|number| format!("{{\"id\":\"1\",\"m{number:02}\":1}}\n")).collect::<String>();
    world.write("in.jsonl", documents(12) + &documents(1).repeat(30));
    let ran = world.run("translate in.jsonl -m m.qmap -o out.jsonl --rejects bad.jsonl");
    let told = ran.code(1).err();
    assert_eq!(told.matches("error[JSON-").count(), 10, "{told}");
    assert!(told.contains("(30 more like this one)") && told.contains("2 more findings not shown: 2 JSON-"), "{told}");
    let told = world.run("translate in.jsonl -m m.qmap -o out.jsonl").code(1).err().to_owned();
    assert!(!told.contains("not shown"), "{told}");
}

#[test]
fn a12_all_errors_of_a_copybook_come_at_once() {
    let world = world(
        "       01 R.\n          05 A PIC 9(3.\n          05 B PIC X(2) COMP-3.\n          05 C PIC 9(2) COMP-8.\n          05 D PIC A JUSTIFIED COMP.\n",
    );
    world.write("in.dat", "123");
    let ran = world.run("convert in.dat -c c.cpy -e ascii");
    let told = ran.code(2).err();
    for line in 2..=5 {
        assert_eq!(told.matches(&format!("c.cpy:{line}:")).count(), 1, "line {line}: {told}");
    }
}

/// Regression: a negative value of a type was refused for zoned and packed fields, and an unknown -22 was shown as `022`.
#[test]
fn types_have_negative_values() {
    let rules = "[records]\nby = \"K\"\n[[records.type]]\nrecord = \"R\"\nvalues = [-1, 22]\n";
    let zoned: (&[u8], &[u8]) = (b"00JAA022AA02BAA", b"02KAA");
    let packed: (&[u8], &[u8]) = (b"\x00\x1dAA\x00\x1bAA\x02\x2cAA\x02\x2fAA", b"\x02\x2dAA");
    let binary: (&[u8], &[u8]) = (b"\xff\xffAA\x00\x16AA", b"\xff\xeaAA");
    for (usage, good, bad) in
        [("S9(3)", zoned.0, zoned.1), ("S9(3) COMP-3", packed.0, packed.1), ("S9(4) COMP", binary.0, binary.1)]
    {
        let world = world(&format!("       01 R.\n          05 K PIC {usage}.\n          05 A PIC X(2).\n"));
        world.write("in.toml", rules).write("good", good).write("bad", bad);
        let how = "-c c.cpy -i in.toml -e ascii -f fixed";
        world.run(&format!("convert good {how} -o out.jsonl")).code(0);
        let ran = world.run(&format!("convert bad {how} -o bad.jsonl"));
        let told = ran.code(1).err();
        assert!(told.contains("value `-22`") && told.contains("known values are `-1`, `22`"), "{usage}: {told}");
    }
    let world = world("       01 R.\n          05 K PIC 9(3).\n");
    world.write("in.toml", rules).write("in", b"001");
    let ran = world.run("convert in -c c.cpy -i in.toml -e ascii -o out.jsonl");
    assert!(ran.code(2).err().contains("CNV-024") && ran.err().contains("a sign in the picture"), "{}", ran.err());
}

/// Regression: findings showed an unknown byte as `0x08` with the advice to add the value, but the interface file read `0x08` as a text.
#[test]
fn types_have_values_that_are_not_text() {
    let world = world("       01 R.\n          05 K PIC X.\n          05 A PIC X(2).\n");
    world.write("in", b"1AA\x08BB");
    let types = |by: &str| {
        let of_type = |rename: &str, value: &str| {
            format!("[[records.type]]\nrecord = \"R\"\nrename = \"{rename}\"\nvalue = \"{value}\"\n")
        };
        format!("[records]\nby = {by}\n{}{}", of_type("ONE", "1"), of_type("EIGHT", "0x08"))
    };
    for by in ["{ offset = 0, length = 1 }", "\"K\""] {
        world.write("in.toml", types(by));
        let how = "-c c.cpy -i in.toml -e ascii -f fixed";
        world.run(&format!("convert in {how} -o out.jsonl")).code(0);
        world.run(&format!("convert out.jsonl {how} -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), b"1AA\x08BB", "{by}");
        world.write("new.jsonl", "{\"EIGHT\":{\"A\":\"XY\"}}\n");
        if by == "\"K\"" {
            world.run(&format!("convert new.jsonl {how} -o new.dat")).code(0);
            assert_eq!(world.read("new.dat"), b"\x08XY");
        }
    }
    world.write("in.toml", types("\"K\"").replace("0x08", "0x09"));
    let ran = world.run("convert in -c c.cpy -i in.toml -e ascii -f fixed -o out.jsonl");
    assert!(ran.code(1).err().contains("value `0x08`") && ran.err().contains("are `1`, `0x09`"), "{}", ran.err());
}

/// Regression: the hint for `12p` named code page and framing, although the byte is a sign of another COBOL.
#[test]
fn a_sign_of_another_overpunch_has_a_hint() {
    let world = world("       01 R.\n          05 A PIC S9(3).\n");
    for (record, options, hint) in [
        ("12p", "", Some("--dialect gnucobol")),
        ("12C", "--set overpunch=ascii", Some("--set overpunch=ebcdic")),
        ("12!", "", None),
    ] {
        world.write("in", record);
        let ran = world.run(&format!("convert in -c c.cpy -e ascii {options} -o out.jsonl"));
        let told = ran.code(1).err();
        let is_right = hint.map_or(!told.contains("overpunch"), |hint| told.contains(hint));
        assert!(told.contains("REC-002") && is_right, "{told}");
    }
}

/// Findings of fixed layouts named the fields `F2` and `F4` of a copybook that nobody wrote, and keys of interface files.
#[test]
fn findings_of_fixed_layouts_have_the_names_and_keys_of_the_layout() {
    let field = |name: &str, more: &str| format!("[[record.field]]\nname = \"{name}\"\n{more}\n");
    let layout = format!(
        "layout = \"fixed\"\nencoding = \"ascii\"\nkey = {{ start = 1, length = 1 }}\n[[record]]\nname = \"head\"\nvalue = \"H\"\n{}{}[[record]]\nname = \"line\"\nvalue = \"L\"\nparent = \"head\"\n{}{}",
        field("kind", "length = 1"),
        field("F1", "length = 2"),
        field("kind", "length = 1"),
        field("order.number", "length = 3\ntype = \"integer\""),
    );
    let world = World::with([("in.toml", layout.as_bytes())]);
    world.write("out.shape", "row\n  a text\n");
    world.write("m.qmap", "source \"in.toml\"\ntarget row \"out.shape\"\n\na = head.F1\n");
    world.write("in.txt", "HAA\nL12x\nHBB\nX\nHCC\nL123\n");
    world.run("translate --map m.qmap in.txt -o out.jsonl --rejects bad").check(expect![[r#"
        exit 1
        --- stderr
        warning[MAP-055]: `a` must have a value, and this may be absent
          at m.qmap:4:5
          |
        4 | a = head.F1
          |     ^^^^^^^

        hint: give a default: … ?? "…"; or write it only if it is present: if present(…) { … }

        error[CNV-027]: rejected along with record 2
          at in.txt, record 1, byte 0

        hint: a record and those nested in it are written or rejected together

        error[REC-002]: sign is 0x78, expected a digit with a sign zone
          at in.txt, record 2, byte 5, order.number (offset 1 in the record, 3 bytes, PIC 9(3))

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        error[CNV-027]: rejected along with record 4
          at in.txt, record 3, byte 9

        hint: a record and those nested in it are written or rejected together

        error[CNV-026]: 1 record has the value `X` (1 byte from byte 0 on), which no record type has
          at in.txt, record 4, byte 13

        hint: known values are `H`, `L`; add the value to `values` of a [[record]] of the layout, or add a [[record]] for it

        warning[CNV-030]: 4 of the first 6 records were rejected
          at in.txt

        hint: no other framing fits better; check that code page and copybook belong to this file: `quayline inspect` with both shows how they read it

        4 of 6 documents rejected: bad contains the rejected ones, bad.findings.jsonl the reasons
    "#]]);
}
