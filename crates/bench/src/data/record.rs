//! Fields of EBCDIC records.

use quayline_charset::CodePage;

use super::Random;

/// Words of names and notes; `&` and `'` are there so that text is not letters only.
const WORDS: [&str; 20] = [
    "ALDER",
    "BIRCH",
    "CEDAR",
    "DOGWOOD",
    "ELM",
    "FIR",
    "GINKGO",
    "HAZEL",
    "IRONWOOD",
    "JUNIPER",
    "KAURI",
    "LARCH",
    "MAPLE",
    "O'NEILL",
    "OAK & SONS",
    "PALM-POPLAR",
    "ROWAN",
    "SEQUOIA",
    "TEAK",
    "WILLOW",
];

/// Appends fields in EBCDIC code page 037 to a buffer.
#[derive(Debug)]
pub struct RecordWriter {
    /// The written bytes.
    pub bytes: Vec<u8>,
    table: &'static [u8; 256],
    random: Random,
}

impl RecordWriter {
    /// Creates an empty buffer; the seed determines random fields.
    ///
    /// # Panics
    /// Never: code page 037 is built in.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let page = CodePage::by_name("cp037").expect("code page 037 is built in");
        RecordWriter { bytes: Vec::new(), table: page.from_ascii_table(), random: Random::new(seed) }
    }

    /// Returns the random number generator.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Writes `PIC X(width)`: printable ASCII, cut or padded with spaces.
    pub fn text(&mut self, text: &str, width: usize) {
        let start = self.bytes.len();
        self.bytes.extend(text.bytes().take(width).map(|byte| self.table[usize::from(byte)]));
        self.bytes.resize(start + width, 0x40);
    }

    /// Writes `PIC X(width)` with random words.
    pub fn words(&mut self, count: usize, width: usize) {
        let start = self.bytes.len();
        for i in 0..count {
            let word = WORDS[usize::try_from(self.random.below(20)).expect("below 20")];
            if i > 0 {
                self.bytes.push(0x40);
            }
            self.bytes.extend(word.bytes().map(|byte| self.table[usize::from(byte)]));
        }
        self.bytes.resize(start + width, 0x40);
    }

    /// Writes `PIC 9(digits)` with a random number.
    pub fn zoned(&mut self, digits: u32) {
        let value = self.random.below(10u64.pow(digits));
        self.zoned_value(value, digits);
    }

    /// Writes `PIC S9(digits)` with a random number, three in ten negative.
    pub fn zoned_signed(&mut self, digits: u32) {
        let value = self.random.below(10u64.pow(digits));
        let negative = self.random.percent(30);
        self.zoned_signed_value(value, negative, digits);
    }

    /// Writes `PIC 9(digits)` with a number.
    pub fn zoned_value(&mut self, value: u64, digits: u32) {
        self.bytes.extend(decimal_digits(value, digits).map(|digit| 0xf0 | digit));
    }

    /// Writes `PIC S9(digits)` with a number, sign in the zone of the last digit.
    pub fn zoned_signed_value(&mut self, value: u64, negative: bool, digits: u32) {
        self.zoned_value(value, digits);
        if let Some(last) = self.bytes.last_mut() {
            *last = (if negative { 0xd0 } else { 0xc0 }) | (*last & 0x0f);
        }
    }

    /// Writes `PIC S9(digits) COMP-3` with a random number, three in ten negative.
    pub fn packed(&mut self, digits: u32) {
        let value = self.random.below(10u64.pow(digits));
        let negative = self.random.percent(30);
        self.packed_value(value, negative, digits);
    }

    /// Writes `PIC S9(digits) COMP-3` with a number.
    pub fn packed_value(&mut self, value: u64, negative: bool, digits: u32) {
        let sign = if negative { 0x0d } else { 0x0c };
        // An even picture has a pad nibble in front.
        let pad = digits.is_multiple_of(2).then_some(0);
        let nibbles: Vec<u8> = pad.into_iter().chain(decimal_digits(value, digits)).chain([sign]).collect();
        self.bytes.extend(nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    }

    /// Writes `PIC 9(09) COMP` and other 4-byte binaries.
    pub fn binary4(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Writes `PIC S9(04) COMP` and other 2-byte binaries.
    pub fn binary2(&mut self, value: i16) {
        self.bytes.extend(value.to_be_bytes());
    }
}

/// Iterates over the decimal digits, high digit first.
fn decimal_digits(value: u64, digits: u32) -> impl Iterator<Item = u8> {
    (0..digits).rev().map(move |power| u8::try_from(value / 10u64.pow(power) % 10).expect("a digit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut RecordWriter)) -> Vec<u8> {
        let mut writer = RecordWriter::new(1);
        write(&mut writer);
        writer.bytes
    }

    #[test]
    fn numbers_are_written_as_the_language_reference_says() {
        assert_eq!(written(|w| w.zoned_value(42, 4)), [0xf0, 0xf0, 0xf4, 0xf2]);
        assert_eq!(written(|w| w.zoned_signed_value(42, true, 3)), [0xf0, 0xf4, 0xd2]);
        assert_eq!(written(|w| w.packed_value(12345, false, 5)), [0x12, 0x34, 0x5c]);
        assert_eq!(written(|w| w.packed_value(1234, true, 4)), [0x01, 0x23, 0x4d]);
    }

    #[test]
    fn text_is_padded_with_ebcdic_spaces() {
        assert_eq!(written(|w| w.text("A1", 4)), [0xc1, 0xf1, 0x40, 0x40]);
        assert_eq!(written(|w| w.text("ABC", 2)), [0xc1, 0xc2]);
    }
}
