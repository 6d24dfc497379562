//! Differences between compilers.

use crate::picture::{Currency, PictureSettings};

/// Bytes of binary items by digits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BinarySizes {
    /// 1-4 digits 2 bytes, 5-9 4, 10-18 8 (IBM; GnuCOBOL `binary-size: 2-4-8`).
    TwoFourEight,
    /// 1-2 digits 1 byte, 3-4 2, 5-9 4, 10-18 8 (GnuCOBOL's default).
    OneTwoFourEight,
    /// The fewest bytes that hold the digits, 1 to 8, and up to 16 beyond 18 digits (Micro Focus without IBMCOMP).
    OneToEight,
}

/// Byte order of binary numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ByteOrder {
    /// High byte first.
    Big,
    /// Low byte first.
    Little,
}

/// Format of COMP-1 and COMP-2.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FloatFormat {
    /// IBM hexadecimal floating point, big-endian.
    Hexadecimal,
    /// IEEE 754, big-endian.
    IeeeBig,
    /// IEEE 754, little-endian.
    IeeeLittle,
}

/// Overpunch of a sign on an ASCII digit. In EBCDIC the zone determines it: 0xC plus, 0xD minus, 0xF none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OverpunchVariant {
    /// EBCDIC's bytes after translation of a file: `{` `A`-`I` plus, `}` `J`-`R` minus.
    Ebcdic,
    /// GnuCOBOL's and Micro Focus's ASCII default: plus is the digit, minus is `p` to `y` (0x70-0x79).
    Ascii,
}

/// Effect of SYNCHRONIZED.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SyncRule {
    /// Items are aligned; a binary of 8 bytes or more to 4 (Enterprise COBOL, where a boundary is a fullword at most, except for
    /// COMP-2).
    EightBytesAtFour,
    /// Items are aligned; a binary of 8 bytes or more to 8 (GnuCOBOL).
    EightBytesAtEight,
    /// SYNC is a comment (Micro Focus without IBMCOMP).
    Ignored,
}

/// Settings by name; [`Dialect::IBM`], [`Dialect::GNUCOBOL`] and [`Dialect::MICRO_FOCUS`] are presets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dialect {
    /// Sizes of COMP, COMP-4 and BINARY.
    pub binary_sizes: BinarySizes,
    /// Sizes of COMP-5.
    pub native_sizes: BinarySizes,
    /// Byte order of COMP, COMP-4, BINARY.
    pub binary_order: ByteOrder,
    /// Byte order of COMP-5, INDEX and POINTER.
    pub native_order: ByteOrder,
    /// True if COMP holds only the digits of its picture (`TRUNC(STD)`). Encoding checks it; decoding accepts the whole range.
    pub binary_truncate: bool,
    /// Most digits of a binary item: 18 in Enterprise COBOL and GnuCOBOL 3.1, 38 in Micro Focus COBOL. From 19 on it has 16 bytes, or
    /// with [`BinarySizes::OneToEight`] the fewest that hold the digits.
    pub binary_digits_max: u16,
    /// Effect of SYNCHRONIZED.
    pub sync: SyncRule,
    /// Bytes of a POINTER: 4 or 8.
    pub pointer_bytes: usize,
    /// Bytes of an INDEX: 4 or 8.
    pub index_bytes: usize,
    /// Format of COMP-1 and COMP-2.
    pub float_format: FloatFormat,
    /// Sign overpunch in ASCII data.
    pub overpunch: OverpunchVariant,
    /// True if the fields after an OCCURS DEPENDING ON move with its count.
    pub odo_slide: bool,
    /// DECIMAL-POINT IS COMMA, for copybooks without SPECIAL-NAMES.
    pub decimal_comma: bool,
    /// CURRENCY SIGN, likewise.
    pub currency: char,
}

impl Dialect {
    /// Enterprise COBOL for z/OS, 31-bit.
    pub const IBM: Dialect = Dialect {
        binary_sizes: BinarySizes::TwoFourEight,
        native_sizes: BinarySizes::TwoFourEight,
        binary_order: ByteOrder::Big,
        native_order: ByteOrder::Big,
        binary_truncate: true,
        binary_digits_max: 18,
        sync: SyncRule::EightBytesAtFour,
        pointer_bytes: 4,
        index_bytes: 4,
        float_format: FloatFormat::Hexadecimal,
        overpunch: OverpunchVariant::Ebcdic,
        odo_slide: true,
        decimal_comma: false,
        currency: '$',
    };

    /// GnuCOBOL 3 with its default configuration on a 64-bit little-endian machine.
    pub const GNUCOBOL: Dialect = Dialect {
        binary_sizes: BinarySizes::OneTwoFourEight,
        native_sizes: BinarySizes::OneTwoFourEight,
        binary_order: ByteOrder::Big,
        native_order: ByteOrder::Little,
        binary_truncate: true,
        binary_digits_max: 18,
        sync: SyncRule::EightBytesAtEight,
        pointer_bytes: 8,
        index_bytes: 4,
        float_format: FloatFormat::IeeeLittle,
        overpunch: OverpunchVariant::Ascii,
        odo_slide: false,
        decimal_comma: false,
        currency: '$',
    };

    /// Micro Focus (Rocket) COBOL with its defaults on a little-endian machine.
    pub const MICRO_FOCUS: Dialect = Dialect {
        binary_sizes: BinarySizes::OneToEight,
        native_sizes: BinarySizes::OneToEight,
        binary_order: ByteOrder::Big,
        native_order: ByteOrder::Little,
        binary_truncate: true,
        binary_digits_max: 38,
        sync: SyncRule::Ignored,
        pointer_bytes: 8,
        index_bytes: 4,
        float_format: FloatFormat::IeeeLittle,
        overpunch: OverpunchVariant::Ascii,
        odo_slide: false,
        decimal_comma: false,
        currency: '$',
    };
}

impl Dialect {
    /// Returns the settings of pictures, for [`crate::copybook::ParseOptions::picture`].
    #[must_use]
    pub fn picture_settings(&self) -> PictureSettings {
        let currency = Currency { symbol: self.currency, sign: self.currency };
        let currencies = if self.currency == '$' { Vec::new() } else { vec![currency] };
        PictureSettings { decimal_comma: self.decimal_comma, currencies }
    }
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect::IBM
    }
}
