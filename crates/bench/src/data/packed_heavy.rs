//! Positions: packed decimals.

use super::RecordWriter;

/// Records of `examples/bench/packed-heavy.cpy`.
#[derive(Debug)]
pub struct PackedHeavy;

impl PackedHeavy {
    /// Bytes of a record.
    pub const LENGTH: usize = 152;
    /// The copybook.
    pub const COPYBOOK: &'static str = include_str!("../../../../examples/bench/packed-heavy.cpy");

    /// Returns this many records.
    #[must_use]
    pub fn records(count: usize, seed: u64) -> Vec<u8> {
        let mut w = RecordWriter::new(seed);
        w.bytes.reserve(count * Self::LENGTH);
        for sequence in (0u32..).take(count) {
            w.zoned(12);
            w.binary4(sequence);
            w.packed(8);
            (0..12).for_each(|_| w.packed(11));
            (0..8).for_each(|_| w.packed(5));
            (0..2).for_each(|_| w.packed(17));
            (0..3).for_each(|_| w.packed(9));
            w.text("AA", 2);
        }
        debug_assert_eq!(w.bytes.len(), count * Self::LENGTH);
        w.bytes
    }
}
