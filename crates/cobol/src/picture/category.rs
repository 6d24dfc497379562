//! Category of an item from the symbols of its picture.

use super::EditedPicture;
use super::edited;
use super::string::{Run, Symbol, Symbols};
use super::{Picture, PictureError, PictureSettings};
use crate::codes;

/// The item that a picture describes. Counts are character positions.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum PictureKind {
    /// A only.
    Alphabetic {
        /// Positions.
        chars: usize,
    },
    /// X, or a mixture of X, A and 9.
    Alphanumeric {
        /// Positions.
        chars: usize,
    },
    /// X or A with B, 0 or /.
    AlphanumericEdited {
        /// One entry a position: `None` for a character, `Some(c)` for an inserted one.
        mask: Vec<Option<char>>,
    },
    /// 9 with S, V, P.
    Numeric {
        /// Digits with a place in storage.
        digits: u16,
        /// Digits after the point; negative if P is on the right.
        scale: i16,
        /// S.
        signed: bool,
    },
    /// Z * + - CR DB , . currency B 0 /. BLANK WHEN ZERO is not set here: it is a clause.
    NumericEdited(EditedPicture),
    /// N, also with B, 0, /.
    National {
        /// Positions.
        chars: usize,
    },
    /// G, also with B.
    Dbcs {
        /// Positions.
        chars: usize,
    },
    /// U.
    Utf8 {
        /// Positions, up to four bytes each.
        chars: usize,
    },
    /// 1.
    Boolean {
        /// Positions.
        chars: usize,
    },
}

pub(super) fn categorize(symbols: &Symbols, settings: &PictureSettings) -> Result<PictureKind, PictureError> {
    use Symbol::{Any, Blank, Boolean, Exponent, Graphic, InsertZero, Letter, National, Nine, Slash, Utf8};
    if let Some(run) = symbols.runs.iter().find(|r| r.symbol == Exponent) {
        return Err(PictureError {
            code: codes::PICTURE_FLOAT,
            at: run.at.clone(),
            message: "external floating-point items (`E`) are not supported".to_owned(),
            hint: "describe the field as text of the same length, `PIC X(n)`, and convert it later",
        });
    }
    let all: usize = symbols.runs.iter().map(|r| r.count).sum();
    let insertion = [Blank, InsertZero, Slash];
    for (symbol, kind) in [
        (Graphic, PictureKind::Dbcs { chars: all }),
        (National, PictureKind::National { chars: all }),
        (Utf8, PictureKind::Utf8 { chars: all }),
        (Boolean, PictureKind::Boolean { chars: all }),
    ] {
        if symbols.has(symbol) {
            let with: &[Symbol] = match symbol {
                Graphic => &[Blank],
                National => &insertion,
                _ => &[],
            };
            only(
                symbols,
                |s| s == symbol || with.contains(&s),
                "it allows only itself and insertion symbols next to it",
            )?;
            return Ok(kind);
        }
    }
    if symbols.has(Any) || symbols.has(Letter) {
        only(
            symbols,
            |s| matches!(s, Any | Letter | Nine) || insertion.contains(&s),
            "combine X and A only with X, A, 9, B, 0 and /",
        )?;
        let edited = symbols.runs.iter().any(|r| insertion.contains(&r.symbol));
        let alphabetic = symbols.runs.iter().all(|r| r.symbol == Letter);
        return match (edited, alphabetic) {
            (true, _) => mask(symbols, all).map(|mask| PictureKind::AlphanumericEdited { mask }),
            (false, true) => Ok(PictureKind::Alphabetic { chars: all }),
            (false, false) => Ok(PictureKind::Alphanumeric { chars: all }),
        };
    }
    if symbols.runs.iter().all(|r| matches!(r.symbol, Nine | Symbol::Sign | Symbol::Point | Symbol::Scaling)) {
        numeric(symbols)
    } else {
        edited::numeric_edited(symbols, settings).map(PictureKind::NumericEdited)
    }
}

fn only(symbols: &Symbols, allowed: impl Fn(Symbol) -> bool, rule: &str) -> Result<(), PictureError> {
    match symbols.runs.iter().find(|r| !allowed(r.symbol)) {
        None => Ok(()),
        Some(run) => {
            Err(structure(run, format!("this symbol does not belong to the others: {rule}"), "split the item in two"))
        }
    }
}

fn mask(symbols: &Symbols, all: usize) -> Result<Vec<Option<char>>, PictureError> {
    edited_positions(symbols, all)?;
    let mut mask = Vec::with_capacity(all);
    for run in &symbols.runs {
        let inserted = match run.symbol {
            Symbol::Blank => Some(' '),
            Symbol::InsertZero => Some('0'),
            Symbol::Slash => Some('/'),
            _ => None,
        };
        mask.extend(std::iter::repeat_n(inserted, run.count));
    }
    Ok(mask)
}

/// Holds the positions of an edited item under the limit.
pub(super) fn edited_positions(symbols: &Symbols, all: usize) -> Result<(), PictureError> {
    if all <= Picture::EDITED_POSITIONS_MAX {
        return Ok(());
    }
    Err(PictureError {
        code: codes::PICTURE_COUNT,
        at: 0..symbols.runs.last().map_or(1, |r| r.at.end),
        message: format!("an edited picture of {all} positions, more than {}", Picture::EDITED_POSITIONS_MAX),
        hint: "check the repeat counts",
    })
}

fn numeric(symbols: &Symbols) -> Result<PictureKind, PictureError> {
    let mut signed = false;
    for (i, run) in symbols.runs.iter().enumerate() {
        if run.symbol == Symbol::Sign {
            if i > 0 || run.count > 1 {
                return Err(structure(
                    run,
                    "write S once, before everything else".to_owned(),
                    "move it to the front: `S9(5)`",
                ));
            }
            signed = true;
        }
    }
    let (digits, scale) = digits_and_scale(&symbols.runs, |s| matches!(s, Symbol::Sign))?;
    if digits == 0 {
        return Err(no_digit(symbols));
    }
    Ok(PictureKind::Numeric { digits, scale, signed })
}

/// Returns the digits with storage and the digits after the point. P is at one end of the digit positions only.
///
/// `transparent` selects symbols outside the row of digit positions. Runs other than V, `.` and P count as digit positions.
pub(super) fn digits_and_scale(runs: &[Run], transparent: impl Fn(Symbol) -> bool) -> Result<(u16, i16), PictureError> {
    let row: Vec<&Run> = runs.iter().filter(|r| !transparent(r.symbol)).collect();
    let points: Vec<&Run> =
        row.iter().copied().filter(|r| matches!(r.symbol, Symbol::Point | Symbol::DecimalPoint)).collect();
    if let Some(second) = points.get(1).copied().or_else(|| points.first().copied().filter(|r| r.count > 1)) {
        return Err(structure(second, "the picture has a second decimal point".to_owned(), "keep one V or one point"));
    }
    let is_digit = |r: &&Run| !matches!(r.symbol, Symbol::Point | Symbol::DecimalPoint | Symbol::Scaling);
    let digits: usize = row.iter().copied().filter(is_digit).map(|r| r.count).sum();
    let scaling: Vec<usize> =
        row.iter().enumerate().filter(|(_, r)| r.symbol == Symbol::Scaling).map(|(i, _)| i).collect();
    let scale = match scaling[..] {
        [] => {
            let behind = row.iter().skip_while(|r| !matches!(r.symbol, Symbol::Point | Symbol::DecimalPoint));
            i64::try_from(behind.copied().filter(is_digit).map(|r| r.count).sum::<usize>()).unwrap_or(i64::MAX)
        }
        [at, ..] => scaled(&row, at, scaling.len(), digits)?,
    };
    let all = digits + scaling.iter().map(|i| row[*i].count).sum::<usize>();
    if all > Picture::DIGITS_MAX {
        let at = row.first().map_or(0, |r| r.at.start)..row.last().map_or(1, |r| r.at.end);
        return Err(PictureError {
            code: codes::PICTURE_DIGITS,
            at,
            message: format!("the picture has {all} digit positions, at most {} are supported", Picture::DIGITS_MAX),
            hint: "if the field is not a number, describe it as text, `PIC X(n)`",
        });
    }
    let fits = "at most 38 digit positions, checked above";
    Ok((u16::try_from(digits).expect(fits), i16::try_from(scale).expect(fits)))
}

/// Computes the scale of a picture with P at index `at` of its row.
fn scaled(row: &[&Run], at: usize, strings: usize, digits: usize) -> Result<i64, PictureError> {
    let run = row[at];
    let ends = "put P left or right of all digit positions; only V may be outside it";
    let wrong = || structure(run, ends.to_owned(), "write `PPP999`, `VPPP999`, `999PPP` or `999PPPV`");
    let point = row.iter().position(|r| r.symbol == Symbol::Point);
    if strings > 1 || row.iter().any(|r| r.symbol == Symbol::DecimalPoint) {
        return Err(wrong());
    }
    let count = i64::try_from(run.count).unwrap_or(i64::MAX);
    let digits = i64::try_from(digits).unwrap_or(i64::MAX);
    match (at, point) {
        // Left end: .PPP999
        (0, None) | (1, Some(0)) => Ok(count.saturating_add(digits)),
        // Right end: 999PPP.
        _ if at + 1 == row.len() && point.is_none() => Ok(-count),
        _ if at + 2 == row.len() && point == Some(at + 1) => Ok(-count),
        _ => Err(wrong()),
    }
}

pub(super) fn no_digit(symbols: &Symbols) -> PictureError {
    PictureError {
        code: codes::PICTURE_STRUCTURE,
        at: 0..symbols.runs.last().map_or(1, |r| r.at.end),
        message: "the picture has no digit position".to_owned(),
        hint: "write at least one 9, Z or *, or two of a floating symbol",
    }
}

pub(super) fn structure(run: &Run, message: String, hint: &'static str) -> PictureError {
    PictureError { code: codes::PICTURE_STRUCTURE, at: run.at.clone(), message, hint }
}
