//! PICTURE character-strings.

mod category;
mod edited;
mod string;
mod symbols;

use core::ops::Range;

use quayline_core::Code;

pub use self::category::PictureKind;
use self::string::Symbols;
pub use self::symbols::{EditSymbol, EditedPicture};

/// Settings of SPECIAL-NAMES for pictures.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PictureSettings {
    /// DECIMAL-POINT IS COMMA: `,` is the point and `.` the separator, in pictures and in numeric literals.
    pub decimal_comma: bool,
    /// CURRENCY SIGN IS sign WITH PICTURE SYMBOL symbol. Without entries `$` is its own sign.
    pub currencies: Vec<Currency>,
}

impl PictureSettings {
    /// Decimal point, `$`.
    pub const DEFAULT: PictureSettings = PictureSettings { decimal_comma: false, currencies: Vec::new() };

    /// Returns the currency sign of a picture symbol.
    fn currency(&self, symbol: char) -> Option<char> {
        match self.currencies.iter().find(|c| c.symbol == symbol) {
            Some(currency) => Some(currency.sign),
            None => (self.currencies.is_empty() && symbol == '$').then_some('$'),
        }
    }
}

impl Default for PictureSettings {
    fn default() -> Self {
        PictureSettings::DEFAULT
    }
}

/// A currency sign.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Currency {
    /// The character in pictures.
    pub symbol: char,
    /// The character in data.
    pub sign: char,
}

/// A picture, understood.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Picture {
    /// Upper case, counts without leading zeros: `S9(7)V99`.
    pub text: String,
    /// The item that it describes.
    pub kind: PictureKind,
}

/// Reason why a character-string is not a picture.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PictureError {
    /// Stable code.
    pub code: Code,
    /// The characters (not bytes) of the string that are wrong.
    pub at: Range<usize>,
    /// Expected and found text.
    pub message: String,
    /// A remedy.
    pub hint: &'static str,
}

impl Picture {
    /// Most digit positions of a number, those of `P` included. Enterprise COBOL has 31 with ARITH(EXTEND), GnuCOBOL 38.
    pub const DIGITS_MAX: usize = 38;

    /// Most character positions of an edited item. Enterprise COBOL has 249 for numeric-edited items.
    pub const EDITED_POSITIONS_MAX: usize = 32_760;

    /// Reads a character-string; case does not matter.
    ///
    /// `positions_max` bounds the character positions of an item that is not edited.
    ///
    /// # Errors
    /// [`PictureError`] with the characters that are wrong; codes `COB-040` to `COB-044`.
    ///
    /// Source: IBM Enterprise COBOL for z/OS 6.4, Language Reference, PICTURE clause.
    pub fn parse(text: &str, settings: &PictureSettings, positions_max: usize) -> Result<Picture, PictureError> {
        let symbols = Symbols::parse(text, settings, positions_max)?;
        let kind = category::categorize(&symbols, settings)?;
        Ok(Picture { text: symbols.text, kind })
    }
}
