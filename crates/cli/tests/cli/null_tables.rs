//! Tables with nulls, by way of CSV.

use crate::world::World;

const COPYBOOK: &str = "
       01 R.
          05 K PIC X.
          05 T PIC S9(3) COMP-3 OCCURS 3.
          05 G OCCURS 2.
             10 N PIC 9(2).
             10 X PIC X.
          05 C PIC 9.
          05 V OCCURS 0 TO 3 DEPENDING ON C.
             10 D PIC 9.
             10 W PIC S9(3) COMP-3 OCCURS 2.
";

/// Regression: tables whose cells are all null came back as zeros, and those that end with nulls were refused by their counter.
#[test]
fn tables_of_nulls_come_back_from_csv() {
    let blanks = |count: usize| vec![0x40; count];
    let first = [vec![0xc1], blanks(6), blanks(6), vec![0xf2], blanks(10)].concat();
    let second = [
        vec![0xc2, 0x40, 0x40, 0x01, 0x2c, 0x40, 0x40],
        vec![0xf0, 0xf1, 0x81, 0x40, 0x40, 0x40],
        vec![0xf3, 0xf5, 0x00, 0x1c, 0x40, 0x40],
        blanks(10),
    ]
    .concat();
    let third = [vec![0xc3], blanks(6), blanks(6), vec![0xf0]].concat();
    let data: Vec<u8> = [first, second, third]
        .iter()
        .flat_map(|record| [vec![0, u8::try_from(record.len() + 4).expect("short"), 0, 0], record.clone()].concat())
        .collect();
    let world = World::with([("t.cpy", COPYBOOK.as_bytes()), ("t.dat", &data[..])]);
    for null in ["--blank null", "--blank null --preserve"] {
        world.run(&format!("convert t.dat -c t.cpy -e cp037 --framing rdw {null} -o t.csv")).code(0);
        world.run(&format!("convert t.csv -c t.cpy -e cp037 --framing rdw {null} --to record -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), data, "{null}: {}", String::from_utf8(world.read("t.csv")).expect("text"));
    }
}
