//! Exact decimals of rules.

use core::cmp::Ordering;

/// Exact decimal `units × 10^-scale`. Every operation reports if its result would be inexact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal {
    units: i128,
    scale: u32,
}

/// Maximum number of decimal places of a result.
const SCALE_MAX: u32 = 24;

impl Decimal {
    pub(crate) const ZERO: Decimal = Decimal { units: 0, scale: 0 };

    pub(crate) fn of(n: u64) -> Self {
        Decimal { units: n.into(), scale: 0 }
    }

    /// Parses digits with a minus sign, a decimal mark, an exponent (X12), and `implied` further places; `None` for other text.
    #[inline]
    pub(crate) fn parse(text: &[u8], mark: u8, implied: u32) -> Option<Self> {
        match text.iter().position(|byte| *byte == b'E') {
            None => Decimal::parse_plain(text, mark, implied),
            Some(at) => {
                let exponent: i32 = core::str::from_utf8(&text[at + 1..]).ok()?.parse().ok()?;
                Decimal::parse_plain(&text[..at], mark, implied)?.shifted(exponent)
            }
        }
    }

    /// Returns the number times ten to a power.
    fn shifted(self, exponent: i32) -> Option<Self> {
        if self.units == 0 {
            return Some(Decimal::ZERO);
        }
        match self.scale.checked_sub_signed(exponent) {
            Some(scale) => (scale <= SCALE_MAX).then_some(Decimal { scale, ..self }),
            None => {
                let power = 10i128.checked_pow(exponent.unsigned_abs() - self.scale)?;
                Some(Decimal { units: self.units.checked_mul(power)?, scale: 0 })
            }
        }
    }

    fn parse_plain(text: &[u8], mark: u8, implied: u32) -> Option<Self> {
        let (negative, digits) = match text.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, text),
        };
        let (units, behind, any) = match digits.len() {
            0 | 35.. => return None,
            // This number of digits always fits.
            1..=19 => {
                let (units, behind, any) = units(digits, mark, 0u64, |units, digit| units * 10 + u64::from(digit))?;
                (i128::from(units), behind, any)
            }
            _ => units(digits, mark, 0i128, |units, digit| units * 10 + i128::from(digit))?,
        };
        let scale = behind + implied;
        any.then_some(Decimal { units: if negative { -units } else { units }, scale })
    }

    /// Returns the units with a scale of at least `scale`.
    fn at(self, scale: u32) -> Option<i128> {
        let power = 10i128.checked_pow(scale.checked_sub(self.scale)?)?;
        self.units.checked_mul(power)
    }

    #[inline]
    pub(crate) fn add(self, other: Decimal) -> Option<Decimal> {
        if self.scale == other.scale {
            return Some(Decimal { units: self.units.checked_add(other.units)?, scale: self.scale });
        }
        let scale = self.scale.max(other.scale);
        Some(Decimal { units: self.at(scale)?.checked_add(other.at(scale)?)?, scale })
    }

    pub(crate) fn subtract(self, other: Decimal) -> Option<Decimal> {
        self.add(Decimal { units: other.units.checked_neg()?, ..other })
    }

    pub(crate) fn multiply(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale + other.scale;
        let units = self.units.checked_mul(other.units)?;
        (scale <= SCALE_MAX).then_some(Decimal { units, scale })
    }

    pub(crate) fn absolute(self) -> Option<Decimal> {
        Some(Decimal { units: self.units.checked_abs()?, ..self })
    }

    /// Rounds half away from zero.
    pub(crate) fn round(self, places: u32) -> Option<Decimal> {
        if self.scale <= places {
            return Some(self);
        }
        let power = 10i128.checked_pow(self.scale - places)?;
        let (whole, rest) = (self.units / power, self.units % power);
        let up = rest.checked_abs()?.checked_mul(2)? >= power;
        Some(Decimal { units: if up { whole + self.units.signum() } else { whole }, scale: places })
    }

    pub(crate) fn compare(self, other: Decimal) -> Option<Ordering> {
        if self.scale == other.scale {
            return Some(self.units.cmp(&other.units));
        }
        let scale = self.scale.max(other.scale);
        Some(self.at(scale)?.cmp(&other.at(scale)?))
    }
}

quayline_core::stored!(struct Decimal { units, scale });

/// Returns the digits as an integer, the number of digits after the mark, and whether there are any digits.
#[inline(always)]
fn units<N: Copy>(digits: &[u8], mark: u8, zero: N, push: impl Fn(N, u8) -> N) -> Option<(N, u32, bool)> {
    let (mut units, mut behind, mut step, mut any) = (zero, 0, 0, false);
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            units = push(units, digit);
            behind += step;
            any = true;
        } else if (*byte == mark || *byte == b'.') && step == 0 {
            step = 1;
        } else {
            return None;
        }
    }
    Some((units, behind, any))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact() {
        let of = |text: &str| Decimal::parse(text.as_bytes(), b',', 0).expect("a number");
        let same =
            |a: Option<Decimal>, b: &str| assert_eq!(a.and_then(|a| a.compare(of(b))), Some(Ordering::Equal), "{b}");
        same(of("0.1").add(of("0.2")), "0,30");
        same(of("-1").subtract(of("2.50")), "-3.5");
        same(of("1.05").multiply(of("-3")), "-3.15");
        same(of("2.675").round(2), "2.68");
        same(of("-2.675").round(2), "-2.68");
        same(of("2.674").round(2), "2.67");
        same(of("-5").absolute(), "5");
        same(Decimal::parse(b"12345", b'.', 2), "123.45");
        same(Some(of("12,5E2")), "1250");
        same(Some(of("-12.5E-2")), "-0.125");
        same(Some(of("0E2147483647")), "0");
        same(Some(of("1E-24")), "0.000000000000000000000001");
        for text in [
            "",
            "-",
            ".",
            "1.2.3",
            "1E",
            "E5",
            "1E5.0",
            "1E5E1",
            "1E39",
            "1E-25",
            "1E99999999999",
            "A",
            "99999999999999999999999999999999999",
        ] {
            assert!(Decimal::parse(text.as_bytes(), b'.', 0).is_none(), "{text}");
        }
        let most = of("9999999999999999999999999999999999");
        assert!(most.multiply(most).is_none());
    }
}
