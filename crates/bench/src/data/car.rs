//! Car inquiry responses: two arrays whose lengths are in an earlier group, each followed by other items.

use super::RecordWriter;

/// Records of `examples/dealership/car100.cpy`.
///
/// Values are as long as the sizes in the report's Table 1 say: 56 characters a car and 1,316 in 25 dealers, trailing blanks cut.
/// The response block has the values of a good answer; `FILLER2` and the fillers are blank.
#[derive(Clone, Copy, Debug)]
pub struct CarRecords {
    /// Cars a record, at most 100.
    pub cars: u32,
    /// Dealers a record, at most 25.
    pub dealers: u32,
    /// Length of records: that of the COMMAREA, or of their content only.
    pub length: Length,
}

/// Length of car records.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Length {
    /// 30,128 bytes each: bytes after the last field are 0x00, as in a partly filled COMMAREA.
    Commarea,
    /// The fields only: 3,028 bytes, 240 a car, 124 a dealer.
    Fields,
}

impl CarRecords {
    /// 100 cars and 25 dealers.
    pub const FULL: CarRecords = CarRecords { cars: 100, dealers: 25, length: Length::Commarea };
    /// Bytes of a COMMAREA.
    pub const COMMAREA: usize = 30_128;
    /// The copybook.
    pub const COPYBOOK: &'static str = include_str!("../../../../examples/dealership/car100.cpy");

    /// Bytes of one record.
    #[must_use]
    pub fn record_length(&self) -> usize {
        match self.length {
            Length::Commarea => Self::COMMAREA,
            Length::Fields => 52 + 76 + 240 * self.cars as usize + 124 * self.dealers as usize + 2_900,
        }
    }

    /// Returns this many records; references and costs differ between records.
    ///
    /// # Panics
    /// With more cars or dealers than the copybook's tables have.
    #[must_use]
    pub fn records(&self, count: usize) -> Vec<u8> {
        assert!(self.cars <= 100 && self.dealers <= 25, "the copybook has 100 cars and 25 dealers");
        let mut w = RecordWriter::new(0);
        w.bytes.reserve(count * self.record_length());
        for record in (0u32..).take(count) {
            let end = w.bytes.len() + self.record_length();
            self.blocks(&mut w);
            (1..=self.cars).for_each(|car| self.car(&mut w, record * 100 + car));
            (1..=self.dealers).for_each(|dealer| Self::dealer(&mut w, dealer));
            w.text("", 2_900);
            debug_assert!(w.bytes.len() <= end);
            w.bytes.resize(end, 0);
        }
        w.bytes
    }

    fn blocks(&self, w: &mut RecordWriter) {
        w.text("ASTRAL", 8);
        w.text("", 36);
        w.binary4(self.cars);
        w.binary4(self.dealers);
        w.text("A", 1);
        w.binary4(self.cars);
        w.binary4(self.dealers);
        // Input, output and whole length of the COMMAREA.
        w.binary4(52);
        w.binary4(30_076);
        w.binary4(30_128);
        w.text("", 8);
        w.binary2(0);
        w.binary2(0);
        w.text("20200910", 8);
        w.text("--", 2);
        w.text("13:33:06", 8);
        w.text("", 25);
    }

    /// Writes a car: 8 + 6 + 6 characters, fifteen times NO, twice YES: 56.
    fn car(&self, w: &mut RecordWriter, number: u32) {
        w.text(&format!("CAR{:05}", number % 100_000), 12);
        w.text("ASTRAL", 12);
        w.text(&format!("{:06}", (10_000 + 137 * u64::from(number)) % 1_000_000), 12);
        (4..=18).for_each(|_| w.text("NO", 12));
        (19..=20).for_each(|_| w.text("YES", 12));
    }

    /// Writes a dealer: 8 or 9 + 2 + 30 + 12 characters: 1,316 in 25.
    fn dealer(w: &mut RecordWriter, number: u32) {
        w.text(&format!("DEALER {number}"), 16);
        w.text(["UK", "FR", "DE"][number as usize % 3], 2);
        w.text("7 HARBOUR STREET, NEWPORT QUAY", 90);
        w.text("044196281500", 16);
    }
}
