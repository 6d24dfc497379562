//! Numeric-edited pictures, expanded.

/// A numeric-edited picture, expanded: one symbol a byte (two for CR and DB).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EditedPicture {
    /// Symbols in order.
    pub symbols: Vec<EditSymbol>,
    /// Digit positions that can hold a digit of the value (one less than the floating symbols of a float string).
    pub digits: u16,
    /// Digits after the point.
    pub scale: i16,
    /// The decimal point in data: `.` or, with DECIMAL-POINT IS COMMA, `,`.
    pub decimal_point: char,
    /// The currency character in data.
    pub currency: char,
    /// BLANK WHEN ZERO.
    pub blank_when_zero: bool,
}

/// One symbol of an expanded numeric-edited picture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EditSymbol {
    /// `9`.
    Digit,
    /// `Z`: digit, leading zero as space.
    Zero,
    /// `*`: digit, leading zero as asterisk.
    Asterisk,
    /// Floating currency sign.
    FloatCurrency,
    /// Floating `+`.
    FloatPlus,
    /// Floating `-`.
    FloatMinus,
    /// Single currency sign.
    Currency,
    /// Single `+`: `+` or `-`.
    Plus,
    /// Single `-`: space or `-`.
    Minus,
    /// `CR`, two bytes: `CR` for minus, otherwise spaces.
    Credit,
    /// `DB`, two bytes.
    Debit,
    /// The decimal point in the data.
    Point,
    /// `V`: no byte.
    ImpliedPoint,
    /// `P`: no byte, a scaling position.
    Scaling,
    /// The grouping separator: `,` or, with DECIMAL-POINT IS COMMA, `.`.
    Separator,
    /// `B`: a space.
    Blank,
    /// `0`: a zero.
    InsertZero,
    /// `/`.
    Slash,
}

impl EditSymbol {
    /// Bytes of the field it takes: two for CR and DB, none for V and P.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            EditSymbol::Credit | EditSymbol::Debit => 2,
            EditSymbol::ImpliedPoint | EditSymbol::Scaling => 0,
            _ => 1,
        }
    }
}
