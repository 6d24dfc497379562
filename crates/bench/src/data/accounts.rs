//! File of the demo: a dozen fictitious accounts.

use super::RecordWriter;

const FAMILY: [&str; 12] = [
    "QUAYSIDE",
    "HARBOUR",
    "O'MALLEY",
    "PIER",
    "LIGHTHOUSE",
    "ANCHOR",
    "FAIRWAY",
    "BREAKWATER",
    "JETTY",
    "MOORING",
    "BUOY",
    "DOCK & SONS",
];
const GIVEN: [&str; 12] =
    ["ADA", "BRUNO", "CLARA", "DAVID", "ELIN", "FARID", "GRETA", "HUGO", "INES", "JONAS", "KARIN", "LEO"];

/// Returns twelve records of `examples/accounts/accounts.cpy`, 120 bytes each.
#[must_use]
pub fn accounts() -> Vec<u8> {
    let mut w = RecordWriter::new(12);
    for (i, (family, given)) in (0u64..).zip(FAMILY.iter().zip(GIVEN)) {
        w.zoned_value(10_000_000 + i * 7_919, 8);
        w.text(if i % 3 == 0 { "S" } else { "C" }, 1);
        w.text(family, 18);
        w.text(given, 12);
        w.zoned_value(20_000_101 + i * 10_000, 8);
        let cents = w.random().below(10_000_000);
        w.packed_value(cents, i % 4 == 3, 11);
        w.zoned_signed_value(100_000 * (i % 4), false, 9);
        w.packed_value(125 * i, false, 5);
        w.binary2(i16::try_from(100 + i).expect("a dozen accounts"));
        for movement in 0..3 {
            w.zoned_value(20_240_101 + i * 100 + movement, 8);
            let cents = w.random().below(500_000);
            w.packed_value(cents, movement == 1, 9);
        }
        w.text("", 14);
    }
    w.bytes
}
