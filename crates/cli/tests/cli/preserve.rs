//! Edited documents with `--preserve`.

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
