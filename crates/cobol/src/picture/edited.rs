//! Numeric-edited pictures.

use super::category::{digits_and_scale, edited_positions, no_digit, structure};
use super::string::{Run, Symbol, Symbols};
use super::{EditSymbol, EditedPicture};
use super::{PictureError, PictureSettings};

pub(super) fn numeric_edited(symbols: &Symbols, settings: &PictureSettings) -> Result<EditedPicture, PictureError> {
    let all: usize = symbols.runs.iter().map(|r| r.count).sum();
    edited_positions(symbols, all)?;
    if let Some(run) = symbols.runs.iter().find(|r| r.symbol == Symbol::Sign) {
        let hint = "use a trailing or leading `-` or `+` instead of S in an edited picture";
        return Err(structure(run, "S does not belong to an edited picture".to_owned(), hint));
    }
    let floating = floating(symbols)?;
    signs(symbols, floating)?;
    suppression(symbols, floating)?;

    let outside = |s: Symbol| match s {
        Symbol::Plus | Symbol::Minus | Symbol::Currency(_) => Some(s) != floating,
        Symbol::Credit | Symbol::Debit | Symbol::Separator | Symbol::Blank | Symbol::InsertZero | Symbol::Slash => true,
        _ => false,
    };
    let mut runs = symbols.runs.clone();
    if let Some(first) = runs.iter_mut().find(|r| Some(r.symbol) == floating) {
        // The first floating symbol never holds a digit.
        first.count -= 1;
    }
    let (digits, scale) = digits_and_scale(&runs, outside)?;
    if digits == 0 {
        return Err(no_digit(symbols));
    }
    let currency =
        symbols.runs.iter().find_map(|r| if let Symbol::Currency(sign) = r.symbol { Some(sign) } else { None });
    Ok(EditedPicture {
        symbols: expand(&symbols.runs, floating),
        digits,
        scale,
        decimal_point: if settings.decimal_comma { ',' } else { '.' },
        currency: currency.unwrap_or('$'),
        blank_when_zero: false,
    })
}

/// Returns the symbol that floats: `+`, `-` or the currency symbol, if it occurs at least twice.
fn floating(symbols: &Symbols) -> Result<Option<Symbol>, PictureError> {
    let mut found: Option<Symbol> = None;
    for run in &symbols.runs {
        let floats =
            matches!(run.symbol, Symbol::Plus | Symbol::Minus | Symbol::Currency(_)) && symbols.count(run.symbol) > 1;
        match found {
            Some(symbol) if floats && symbol != run.symbol => {
                let hint = "let one symbol float; put the other once, at the start";
                return Err(structure(run, "two symbols float in one picture".to_owned(), hint));
            }
            _ if floats => found = Some(run.symbol),
            _ => {}
        }
    }
    let Some(symbol) = found else { return Ok(None) };
    let first = symbols.runs.iter().position(|r| r.symbol == symbol).unwrap_or(0);
    let last = symbols.runs.iter().rposition(|r| r.symbol == symbol).unwrap_or(0);
    let inside = |s: Symbol| {
        s == symbol
            || matches!(
                s,
                Symbol::Separator
                    | Symbol::Blank
                    | Symbol::InsertZero
                    | Symbol::Slash
                    | Symbol::Point
                    | Symbol::DecimalPoint
            )
    };
    if let Some(run) = symbols.runs[first..=last].iter().find(|r| !inside(r.symbol)) {
        let hint = "a sign or currency symbol that occurs twice floats: only insertion symbols and the point may be between them";
        return Err(structure(run, "this symbol breaks a floating string".to_owned(), hint));
    }
    let is_point = |r: &Run| matches!(r.symbol, Symbol::Point | Symbol::DecimalPoint);
    let before: usize =
        symbols.runs.iter().take_while(|r| !is_point(r)).filter(|r| r.symbol == symbol).map(|r| r.count).sum();
    if before == 1 {
        let hint = "put a second one before the point, or remove those after it";
        return Err(structure(&symbols.runs[first], "only one floating symbol is before the point".to_owned(), hint));
    }
    Ok(Some(symbol))
}

/// Checks the signs: at most one; fixed ones at an end, CR and DB at the right.
fn signs(symbols: &Symbols, floating: Option<Symbol>) -> Result<(), PictureError> {
    let is_sign = |s: Symbol| matches!(s, Symbol::Plus | Symbol::Minus | Symbol::Credit | Symbol::Debit);
    let is_currency = |s: Symbol| matches!(s, Symbol::Currency(_));
    let mut seen: Option<Symbol> = None;
    for (i, run) in symbols.runs.iter().enumerate() {
        if is_sign(run.symbol) {
            if seen.is_some_and(|s| s != run.symbol || Some(s) != floating)
                || (run.count > 1 && Some(run.symbol) != floating)
            {
                return Err(structure(run, "the picture has a second sign".to_owned(), "keep one of + - CR DB"));
            }
            seen = Some(run.symbol);
            let leading = i == 0;
            let trailing = i + 1 == symbols.runs.len();
            let allowed = trailing || (leading && matches!(run.symbol, Symbol::Plus | Symbol::Minus));
            if Some(run.symbol) != floating && !allowed {
                let hint = "put a sign before or after everything; put CR and DB at the end";
                return Err(structure(run, "the sign is inside the picture".to_owned(), hint));
            }
        }
        if is_currency(run.symbol) && Some(run.symbol) != floating {
            let leading = symbols.runs[..i].iter().all(|r| is_sign(r.symbol) && Some(r.symbol) != floating);
            if !leading {
                let hint = "put the currency symbol at the start; only a leading sign may precede it";
                return Err(structure(run, "the currency symbol is inside the picture".to_owned(), hint));
            }
        }
    }
    Ok(())
}

/// Checks that Z, `*` and floating symbols exclude each other and are left of every 9.
fn suppression(symbols: &Symbols, floating: Option<Symbol>) -> Result<(), PictureError> {
    let suppresses = |r: &Run| matches!(r.symbol, Symbol::Zero | Symbol::Asterisk) || Some(r.symbol) == floating;
    let mut first: Option<Symbol> = None;
    let mut nine = false;
    let mut point = false;
    let mut fraction: Option<&Run> = None;
    for run in &symbols.runs {
        if suppresses(run) {
            if first.is_some_and(|s| s != run.symbol) {
                let hint = "use one of Z, * and a floating symbol";
                return Err(structure(run, "two ways to suppress zeros in one picture".to_owned(), hint));
            }
            if nine {
                let hint = "put the 9s to the right of Z, * and floating symbols";
                return Err(structure(run, "zeros are suppressed to the right of a 9".to_owned(), hint));
            }
            first = Some(run.symbol);
            fraction = fraction.or(point.then_some(run));
        }
        nine |= run.symbol == Symbol::Nine;
        point |= matches!(run.symbol, Symbol::Point | Symbol::DecimalPoint);
    }
    match fraction {
        Some(run) if nine => {
            let hint = "after the point, suppress all digits or no digit";
            Err(structure(run, "some digits after the point are suppressed, others not".to_owned(), hint))
        }
        _ => Ok(()),
    }
}

fn expand(runs: &[Run], floating: Option<Symbol>) -> Vec<EditSymbol> {
    let mut symbols = Vec::with_capacity(runs.iter().map(|r| r.count).sum());
    for run in runs {
        let floats = Some(run.symbol) == floating;
        let symbol = match run.symbol {
            Symbol::Nine => EditSymbol::Digit,
            Symbol::Zero => EditSymbol::Zero,
            Symbol::Asterisk => EditSymbol::Asterisk,
            Symbol::Currency(_) if floats => EditSymbol::FloatCurrency,
            Symbol::Plus if floats => EditSymbol::FloatPlus,
            Symbol::Minus if floats => EditSymbol::FloatMinus,
            Symbol::Currency(_) => EditSymbol::Currency,
            Symbol::Plus => EditSymbol::Plus,
            Symbol::Minus => EditSymbol::Minus,
            Symbol::Credit => EditSymbol::Credit,
            Symbol::Debit => EditSymbol::Debit,
            Symbol::DecimalPoint => EditSymbol::Point,
            Symbol::Point => EditSymbol::ImpliedPoint,
            Symbol::Scaling => EditSymbol::Scaling,
            Symbol::Separator => EditSymbol::Separator,
            Symbol::Blank => EditSymbol::Blank,
            Symbol::InsertZero => EditSymbol::InsertZero,
            Symbol::Slash => EditSymbol::Slash,
            Symbol::Any
            | Symbol::Letter
            | Symbol::National
            | Symbol::Graphic
            | Symbol::Utf8
            | Symbol::Boolean
            | Symbol::Sign
            | Symbol::Exponent => continue,
        };
        symbols.extend(std::iter::repeat_n(symbol, run.count));
    }
    symbols
}
