//! Exact decimals: an integer and a count of decimals.

use core::cmp::Ordering;

/// Rounding mode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// To the nearest; ties away from zero.
    HalfUp = 0,
    /// To the nearest; ties to the even digit.
    HalfEven = 1,
    /// To the nearest; ties toward zero.
    HalfDown = 2,
    /// Away from zero.
    Up = 3,
    /// Towards zero: digits are cut.
    Down = 4,
    /// Towards the greater.
    Ceiling = 5,
    /// Towards the smaller.
    Floor = 6,
}

impl Mode {
    pub(crate) const NAMES: [&'static str; 7] = ["half-up", "half-even", "half-down", "up", "down", "ceiling", "floor"];
    const ALL: [Mode; 7] =
        [Mode::HalfUp, Mode::HalfEven, Mode::HalfDown, Mode::Up, Mode::Down, Mode::Ceiling, Mode::Floor];

    pub(crate) fn by_name(name: &str) -> Option<Mode> {
        Mode::NAMES.iter().position(|known| *known == name).map(|at| Mode::ALL[at])
    }

    pub(crate) fn by_number(number: i128) -> Mode {
        usize::try_from(number).ok().and_then(|at| Mode::ALL.get(at)).copied().unwrap_or(Mode::HalfUp)
    }
}

/// Returns a power of ten, or `None` on overflow.
pub(crate) fn power(exponent: u32) -> Option<i128> {
    10i128.checked_pow(exponent)
}

/// Returns `n` times ten to the power `by`.
fn shift(n: i128, by: i32) -> Option<i128> {
    if n == 0 { Some(0) } else { n.checked_mul(power(u32::try_from(by).ok()?)?) }
}

/// Returns both numbers with the greater scale.
fn aligned(a: (i128, i16), b: (i128, i16)) -> Option<(i128, i128, i16)> {
    let scale = a.1.max(b.1);
    Some((shift(a.0, i32::from(scale) - i32::from(a.1))?, shift(b.0, i32::from(scale) - i32::from(b.1))?, scale))
}

pub(crate) fn add(a: (i128, i16), b: (i128, i16)) -> Option<(i128, i16)> {
    if a.1 == b.1 {
        return Some((a.0.checked_add(b.0)?, a.1));
    }
    let (x, y, scale) = aligned(a, b)?;
    Some((x.checked_add(y)?, scale))
}

pub(crate) fn subtract(a: (i128, i16), b: (i128, i16)) -> Option<(i128, i16)> {
    add(a, (b.0.checked_neg()?, b.1))
}

pub(crate) fn multiply(a: (i128, i16), b: (i128, i16)) -> Option<(i128, i16)> {
    Some((a.0.checked_mul(b.0)?, a.1.checked_add(b.1)?))
}

pub(crate) fn compare(a: (i128, i16), b: (i128, i16)) -> Ordering {
    if a.1 == b.1 {
        return a.0.cmp(&b.0);
    }
    match aligned(a, b) {
        Some((x, y, _)) => x.cmp(&y),
        // One number is too large to be aligned, so its sign or its size decides.
        None if a.0.signum() != b.0.signum() => a.0.signum().cmp(&b.0.signum()),
        None => {
            let larger = if a.1 < b.1 { a } else { b };
            let by_size = if larger == a { Ordering::Greater } else { Ordering::Less };
            if larger.0 < 0 { by_size.reverse() } else { by_size }
        }
    }
}

/// Returns `numerator / denominator` rounded to an integer.
fn quotient(numerator: i128, denominator: i128, mode: Mode) -> Option<i128> {
    let whole = numerator.checked_div(denominator)?;
    let rest = numerator.checked_rem(denominator)?;
    if rest == 0 {
        return Some(whole);
    }
    let negative = (numerator < 0) != (denominator < 0);
    let twice = rest.unsigned_abs().checked_mul(2)?.cmp(&denominator.unsigned_abs());
    let away = match mode {
        Mode::HalfUp => twice != Ordering::Less,
        Mode::HalfDown => twice == Ordering::Greater,
        Mode::HalfEven => twice == Ordering::Greater || (twice == Ordering::Equal && whole % 2 != 0),
        Mode::Up => true,
        Mode::Down => false,
        Mode::Ceiling => !negative,
        Mode::Floor => negative,
    };
    Some(if !away {
        whole
    } else if negative {
        whole.checked_sub(1)?
    } else {
        whole.checked_add(1)?
    })
}

/// Rounds a number to at most `places` decimals. A number with fewer decimals gets trailing zeros.
pub(crate) fn round(a: (i128, i16), places: i16, mode: Mode) -> Option<(i128, i16)> {
    if a.1 <= places {
        return Some((shift(a.0, i32::from(places) - i32::from(a.1))?, places));
    }
    let cut = u32::try_from(i32::from(a.1) - i32::from(places)).ok()?;
    match power(cut) {
        Some(unit) => Some((quotient(a.0, unit, mode)?, places)),
        // Less than half a unit in any case.
        None => {
            let away = a.0 != 0
                && (mode == Mode::Up || (mode == Mode::Ceiling && a.0 > 0) || (mode == Mode::Floor && a.0 < 0));
            Some((if away { i128::from(a.0 > 0) * 2 - 1 } else { 0 }, places))
        }
    }
}

/// Returns `a / b` with `places` decimals; `None` for division by zero and on overflow.
pub(crate) fn divide(a: (i128, i16), b: (i128, i16), places: i16, mode: Mode) -> Option<(i128, i16)> {
    if b.0 == 0 {
        return None;
    }
    let by = i32::from(places) - i32::from(a.1) + i32::from(b.1);
    let (numerator, denominator) = if by >= 0 { (shift(a.0, by)?, b.0) } else { (a.0, shift(b.0, -by)?) };
    Some((quotient(numerator, denominator, mode)?, places))
}

/// Returns the remainder of the truncated division `a / b`; it has the sign of `a`.
pub(crate) fn remainder(a: (i128, i16), b: (i128, i16)) -> Option<(i128, i16)> {
    let (x, y, scale) = aligned(a, b)?;
    Some((x.checked_rem(y)?, scale))
}

/// Removes trailing zeros of the decimals.
pub(crate) fn trimmed(mut a: (i128, i16)) -> (i128, i16) {
    while a.1 > 0 && a.0 % 10 == 0 {
        a = (a.0 / 10, a.1 - 1);
    }
    a
}

/// Digits before the point, leading zeros not counted.
pub(crate) fn whole_digits(a: (i128, i16)) -> u32 {
    let digits = if a.0 == 0 { 0 } else { a.0.unsigned_abs().ilog10() + 1 };
    u32::try_from((i64::from(digits) - i64::from(a.1)).max(0)).unwrap_or(0)
}

/// Picture of `format` for numbers: `00000`, `#0.00`, `-0000000.00`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Picture {
    /// Digits before the point.
    pub(crate) whole: u8,
    /// Number of integer digits that are always written.
    pub(crate) least: u8,
    pub(crate) decimals: u8,
    /// A number below zero has a `-` in front; others have nothing there.
    pub(crate) sign: bool,
    pub(crate) point: Option<char>,
    /// `#` in front: more digits may follow.
    pub(crate) open: bool,
}

impl Picture {
    pub(crate) fn parse(text: &str) -> Option<Picture> {
        let mut picture = Picture { whole: 0, least: 0, decimals: 0, sign: false, point: None, open: false };
        let rest = match text.strip_prefix('-') {
            Some(rest) => {
                picture.sign = true;
                rest
            }
            None => text,
        };
        for c in rest.chars() {
            match c {
                '#' if picture.point.is_none() && picture.least == 0 => {
                    picture.open = true;
                    picture.whole = picture.whole.checked_add(1)?;
                }
                '0' if picture.point.is_none() => {
                    picture.whole = picture.whole.checked_add(1)?;
                    picture.least = picture.least.checked_add(1)?;
                }
                '0' => picture.decimals = picture.decimals.checked_add(1)?,
                '.' | ',' if picture.point.is_none() => picture.point = Some(c),
                _ => return None,
            }
        }
        let fits = picture.whole <= 38 && picture.decimals <= 38 && picture.whole + picture.decimals > 0;
        (fits && (picture.point.is_none() || picture.decimals > 0)).then_some(picture)
    }

    /// Returns the maximum number of characters, if it is bounded.
    pub(crate) fn width(self) -> u32 {
        u32::from(self.whole) + u32::from(self.decimals) + u32::from(self.point.is_some()) + u32::from(self.sign)
    }

    /// Writes a number. Returns `None` if its sign, digits or decimals do not fit the picture.
    pub(crate) fn write(self, a: (i128, i16), out: &mut Vec<u8>) -> Option<()> {
        let a = trimmed(a);
        let decimals = i16::from(self.decimals);
        if a.1 > decimals || (a.0 < 0 && !self.sign) {
            return None;
        }
        let n = shift(a.0, i32::from(decimals) - i32::from(a.1))?;
        let digits = n.unsigned_abs().to_string();
        let least = usize::from(self.least) + usize::from(self.decimals);
        let zeros = least.saturating_sub(digits.len());
        let whole = (zeros + digits.len()).saturating_sub(usize::from(self.decimals));
        // A number below 1 has no integer digit if the picture requires none.
        let (digits, whole) =
            if whole == 0 && n == 0 && self.decimals == 0 { ("0".to_owned(), 1) } else { (digits, whole) };
        if whole > usize::from(self.whole) && !self.open {
            return None;
        }
        if n < 0 {
            out.push(b'-');
        }
        let start = out.len();
        out.extend(core::iter::repeat_n(b'0', zeros));
        out.extend_from_slice(digits.as_bytes());
        if let Some(point) = self.point {
            out.insert(start + whole, if point == ',' { b',' } else { b'.' });
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_rounds_the_middle_its_way() {
        let table = [
            (Mode::HalfUp, [3, 3, -3]),
            (Mode::HalfEven, [2, 3, -2]),
            (Mode::HalfDown, [2, 3, -2]),
            (Mode::Up, [3, 3, -3]),
            (Mode::Down, [2, 2, -2]),
            (Mode::Ceiling, [3, 3, -2]),
            (Mode::Floor, [2, 2, -3]),
        ];
        for (mode, expected) in table {
            let got = [(25, 1), (26, 1), (-25, 1)].map(|n| round(n, 0, mode).unwrap().0);
            assert_eq!(got, expected, "{mode:?}");
        }
        assert_eq!(round((25, 1), 3, Mode::HalfUp), Some((2500, 3)));
        assert_eq!(round((1250, 0), -2, Mode::HalfEven), Some((12, -2)));
    }

    #[test]
    fn division_is_exact_to_the_last_place() {
        assert_eq!(divide((1, 0), (3, 0), 5, Mode::HalfUp), Some((33333, 5)));
        assert_eq!(divide((-2, 0), (3, 0), 2, Mode::HalfUp), Some((-67, 2)));
        assert_eq!(divide((1000, 2), (4, 1), 0, Mode::HalfUp), Some((25, 0)));
        assert_eq!(divide((1, 0), (0, 0), 2, Mode::HalfUp), None);
    }

    #[test]
    fn comparison_does_not_overflow() {
        assert_eq!(compare((i128::MAX, 0), (1, 30)), Ordering::Greater);
        assert_eq!(compare((i128::MIN + 1, 0), (1, 30)), Ordering::Less);
        assert_eq!(compare((-1, 0), (-1, 30)), Ordering::Less);
        assert_eq!(compare((10, 1), (100, 2)), Ordering::Equal);
    }

    #[test]
    fn pictures_write_numbers() {
        let write = |picture: &str, a| {
            let mut out = Vec::new();
            Picture::parse(picture).unwrap().write(a, &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(write("00000", (42, 0)).as_deref(), Some("00042"));
        assert_eq!(write("#0.00", (5, 1)).as_deref(), Some("0.50"));
        assert_eq!(write("#0.00", (123_456, 1)).as_deref(), Some("12345.60"));
        assert_eq!(write("-000.0", (-15, 1)).as_deref(), Some("-001.5"));
        assert_eq!(write("000", (-1, 0)), None);
        assert_eq!(write("00", (100, 0)), None);
        assert_eq!(write("00.0", (1234, 2)), None);
        assert_eq!(write("0,00", (1234, 2)), None);
        assert_eq!(write("00,00", (1234, 2)).as_deref(), Some("12,34"));
        for bad in ["", "0#", "0.", "-", "0.0.0", "9"] {
            assert_eq!(Picture::parse(bad), None, "{bad}");
        }
    }
}
