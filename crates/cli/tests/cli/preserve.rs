//! Bytes that come back from documents: `--preserve`, and null.

use expect_test::expect;

use crate::world::World;

const COPYBOOK: &str = "       01 R.\n          05 A PIC S9(5) COMP-3.\n          05 FILLER PIC X.\n";

#[test]
fn edited_values_are_written_and_counted() {
    let edited = "{\"A\":-456,\"_preserve\":\";2:3f7f\"}\n{\"A\":123,\"_preserve\":\";2:3f7f\"}\n{\"A\":7,\"_preserve\":\";2:3f7f\"}\n";
    let world = World::with([("r.cpy", COPYBOOK.as_bytes()), ("edited.jsonl", edited.as_bytes())]);
    world.run("convert edited.jsonl -c r.cpy -e cp037 --preserve -o back.dat").check(expect![[r#"
        exit 0
        --- stderr
        warning[REC-046]: 2 documents have other values than the bytes in `_preserve`: the values were written; the first is here
          at edited.jsonl:1:1, record 1, byte 0

        hint: nothing to do if the documents were edited on purpose: all other bytes were restored
    "#]]);
    assert_eq!(world.read("back.dat"), b"\x00\x45\x6d\x7f\x00\x12\x3f\x7f\x00\x00\x7c\x7f");
}

/// Regression: low-values of a number came back from CSV as zero, because an empty cell was a missing member there.
#[test]
fn low_values_that_are_null_come_back_through_each_format() {
    let copybook = "       01 R.\n          05 A PIC S9(3) COMP-3.\n          05 Z PIC 9(2).\n          05 T PIC X(2).\n          05 B PIC S9(4) COMP.\n";
    let record = b"\0\0\0\0\x40\x40\0\x07\x12\x3c\xf1\xf2\xc1\xc2\0\0";
    let world = World::with([("r.cpy", copybook.as_bytes()), ("in.dat", record.as_slice())]);
    for form in ["jsonl", "xml", "csv", "tsv", "parquet"] {
        let options = "-c r.cpy -e cp037 --low-values null";
        world.run(&format!("convert in.dat {options} -o out.{form}")).check(expect![[r#"
            exit 0
        "#]]);
        world.run(&format!("convert out.{form} {options} -o back.dat")).check(expect![[r#"
            exit 0
        "#]]);
        assert_eq!(world.read("back.dat"), record, "{form}");
    }
    // A spreadsheet writes empty text without quotes.
    world.write("sheet.csv", b"A,Z,T,B\n,,,0\n");
    world.run("convert sheet.csv -c r.cpy -e cp037 --low-values null -o back.dat").check(expect![[r#"
        exit 0
    "#]]);
    assert_eq!(world.read("back.dat"), b"\0\0\0\0\x40\x40\0\0");
}

/// Regression: a field with a `null` of its own was initialized from an empty cell of CSV, although JSON, XML and Parquet gave its null.
#[test]
fn the_null_of_a_field_comes_back_from_an_empty_cell() {
    let copybook =
        "       01 R.\n          05 A PIC S9(3) COMP-3.\n          05 D PIC X(8).\n          05 N PIC 9(2).\n";
    let interface = "[[field]]\nname = \"A\"\nnull = \"low-values\"\n[[field]]\nname = \"D\"\ndate = \"yyyyMMdd\"\nnull = \"low-values\"\n";
    let record = b"\0\0\0\0\0\0\0\0\0\0\xf0\xf7\x12\x3c\xf2\xf0\xf2\xf6\xf0\xf1\xf3\xf1\xf0\xf8";
    let world = World::with([
        ("r.cpy", copybook.as_bytes()),
        ("r.toml", interface.as_bytes()),
        ("in.dat", record.as_slice()),
        // Other fields are missing members, as before.
        ("sheet.csv", b"A,D,N\n,,\n"),
    ]);
    for form in ["jsonl", "xml", "csv", "parquet"] {
        world.run(&format!("convert in.dat -c r.cpy -i r.toml -e cp037 --low-values null -o out.{form}")).code(0);
        world.run(&format!("convert out.{form} -c r.cpy -i r.toml -e cp037 -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), record, "{form}");
    }
    world.run("convert sheet.csv -c r.cpy -i r.toml -e cp037 -o back.dat").code(0);
    assert_eq!(world.read("back.dat"), b"\0\0\0\0\0\0\0\0\0\0\xf0\xf0");
}
