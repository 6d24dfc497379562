//! Customers: text and zoned numbers.

use super::RecordWriter;

/// Records of `examples/bench/display-heavy.cpy`.
#[derive(Debug)]
pub struct DisplayHeavy;

impl DisplayHeavy {
    /// Bytes of a record.
    pub const LENGTH: usize = 200;
    /// The copybook.
    pub const COPYBOOK: &'static str = include_str!("../../../../examples/bench/display-heavy.cpy");

    /// Returns this many records.
    #[must_use]
    pub fn records(count: usize, seed: u64) -> Vec<u8> {
        let mut w = RecordWriter::new(seed);
        w.bytes.reserve(count * Self::LENGTH);
        for _ in 0..count {
            w.zoned(10);
            w.words(1, 25);
            w.words(1, 15);
            w.words(3, 40);
            w.words(1, 20);
            let state = ["NY", "CA", "TX", "WA"][usize::try_from(w.random().below(4)).expect("below 4")];
            w.text(state, 2);
            w.zoned(5);
            w.zoned(8);
            w.zoned_signed(11);
            w.zoned_signed(11);
            w.zoned_signed(7);
            w.zoned(6);
            w.text("A", 1);
            w.words(3, 39);
        }
        debug_assert_eq!(w.bytes.len(), count * Self::LENGTH);
        w.bytes
    }
}
