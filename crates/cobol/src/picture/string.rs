//! The character-string of a picture as symbols with repeat counts.

use core::ops::Range;

use super::{PictureError, PictureSettings};
use crate::codes;

/// One symbol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Symbol {
    /// X
    Any,
    /// A
    Letter,
    /// 9
    Nine,
    /// N
    National,
    /// G
    Graphic,
    /// U
    Utf8,
    /// 1
    Boolean,
    /// S
    Sign,
    /// V
    Point,
    /// P
    Scaling,
    /// Z
    Zero,
    Asterisk,
    Plus,
    Minus,
    Credit,
    Debit,
    /// `.` or, with DECIMAL-POINT IS COMMA, `,`.
    DecimalPoint,
    /// `,` or, with DECIMAL-POINT IS COMMA, `.`.
    Separator,
    /// The currency symbol with its sign.
    Currency(char),
    /// B
    Blank,
    /// 0
    InsertZero,
    Slash,
    /// E
    Exponent,
}

/// A symbol, its number of repetitions, and its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Run {
    pub(super) symbol: Symbol,
    pub(super) count: usize,
    /// Characters of the string.
    pub(super) at: Range<usize>,
}

/// A whole string.
#[derive(Clone, Debug)]
pub(super) struct Symbols {
    pub(super) text: String,
    pub(super) runs: Vec<Run>,
}

impl Symbols {
    pub(super) fn parse(text: &str, settings: &PictureSettings, positions_max: usize) -> Result<Symbols, PictureError> {
        let chars: Vec<char> = text.chars().flat_map(char::to_uppercase).collect();
        let mut symbols = Symbols { text: String::with_capacity(text.len()), runs: Vec::new() };
        let mut at = 0;
        let mut positions = 0usize;
        while let Some(&c) = chars.get(at) {
            let start = at;
            let symbol = match (c, chars.get(at + 1)) {
                ('C', Some('R')) if settings.currency(c).is_none() => Some(Symbol::Credit),
                ('D', Some('B')) if settings.currency(c).is_none() => Some(Symbol::Debit),
                _ => symbol(c, settings),
            };
            let Some(symbol) = symbol else { return Err(unknown(c, at)) };
            at += if matches!(symbol, Symbol::Credit | Symbol::Debit) { 2 } else { 1 };
            symbols.text.extend(&chars[start..at]);
            let mut count = 1;
            if chars.get(at) == Some(&'(') {
                (count, at) = repeat(&chars, at, positions_max)?;
                symbols.text.push_str(&format!("({count})"));
            }
            positions = positions.saturating_add(count);
            if positions > positions_max {
                return Err(too_many(start..at, positions_max));
            }
            match symbols.runs.last_mut() {
                Some(run) if run.symbol == symbol => {
                    run.count += count;
                    run.at.end = at;
                }
                _ => symbols.runs.push(Run { symbol, count, at: start..at }),
            }
        }
        if symbols.runs.is_empty() {
            let message = "the picture is empty".to_owned();
            return Err(PictureError {
                code: codes::PICTURE_SYMBOL,
                at: 0..1,
                message,
                hint: "write one, such as `X(10)` or `S9(5)V99`",
            });
        }
        Ok(symbols)
    }

    pub(super) fn has(&self, symbol: Symbol) -> bool {
        self.runs.iter().any(|r| r.symbol == symbol)
    }

    pub(super) fn count(&self, symbol: Symbol) -> usize {
        self.runs.iter().filter(|r| r.symbol == symbol).map(|r| r.count).sum()
    }
}

fn symbol(c: char, settings: &PictureSettings) -> Option<Symbol> {
    if let Some(sign) = settings.currency(c) {
        return Some(Symbol::Currency(sign));
    }
    let (point, separator) = if settings.decimal_comma { (',', '.') } else { ('.', ',') };
    Some(match c {
        'X' => Symbol::Any,
        'A' => Symbol::Letter,
        '9' => Symbol::Nine,
        'N' => Symbol::National,
        'G' => Symbol::Graphic,
        'U' => Symbol::Utf8,
        '1' => Symbol::Boolean,
        'S' => Symbol::Sign,
        'V' => Symbol::Point,
        'P' => Symbol::Scaling,
        'Z' => Symbol::Zero,
        '*' => Symbol::Asterisk,
        '+' => Symbol::Plus,
        '-' => Symbol::Minus,
        'B' => Symbol::Blank,
        '0' => Symbol::InsertZero,
        '/' => Symbol::Slash,
        'E' => Symbol::Exponent,
        c if c == point => Symbol::DecimalPoint,
        c if c == separator => Symbol::Separator,
        _ => return None,
    })
}

/// Parses `(n)` at `open` and returns the count and its end.
fn repeat(chars: &[char], open: usize, positions_max: usize) -> Result<(usize, usize), PictureError> {
    let error = |at: Range<usize>, message: String| PictureError {
        code: codes::PICTURE_COUNT,
        at,
        message,
        hint: "a repeat count is a whole number from 1 on in parentheses: `X(10)`",
    };
    let Some(length) = chars[open..].iter().position(|c| *c == ')') else {
        return Err(error(open..chars.len(), "the repeat count has no closing parenthesis".to_owned()));
    };
    let close = open + length;
    let digits: String = chars[open + 1..close].iter().collect();
    let digits = digits.trim();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(error(open + 1..close.max(open + 2), "the repeat count is not a whole number".to_owned()));
    }
    match digits.trim_start_matches('0') {
        "" => Err(error(open + 1..close, "the repeat count is zero".to_owned())),
        // Nine digits are more than any limit allows and fit every usize.
        digits if digits.len() > 9 => Err(too_many(open + 1..close, positions_max)),
        digits => Ok((digits.parse().unwrap_or(usize::MAX), close + 1)),
    }
}

fn too_many(at: Range<usize>, positions_max: usize) -> PictureError {
    PictureError {
        code: codes::PICTURE_COUNT,
        at,
        message: format!("the picture has more than {positions_max} character positions"),
        hint: "check the repeat count, or allow more with `--limit record-bytes=N`",
    }
}

fn unknown(c: char, at: usize) -> PictureError {
    let hint = match c {
        '$' => "the currency symbol was set to another character by CURRENCY SIGN; use that one",
        '£' | '€' | '¥' | '¢' => {
            "name it as the currency symbol: CURRENCY SIGN IS in SPECIAL-NAMES, or the dialect setting currency"
        }
        'C' | 'D' => "`CR` and `DB` are the two-letter symbols that begin so",
        ')' => "remove the parenthesis, or open it in front of the repeat count",
        _ => {
            "the symbols are X A 9 N G U 1 S V P, and for edited items Z * + - CR DB , . B 0 / and the currency symbol"
        }
    };
    PictureError {
        code: codes::PICTURE_SYMBOL,
        at: at..at + 1,
        message: format!("`{c}` is not a picture symbol"),
        hint,
    }
}
