//! Hexadecimal floating point: sign, 7-bit exponent of 16 in excess 64, fraction of 24 or 56 bits (z/Architecture Principles of
//! Operation, chapter 18).
//!
//! A double has fewer bits than the long format, so decimal numbers are converted without one, with integers of any length.

use core::cmp::Ordering;

/// Bits of the fraction of COMP-2.
pub(crate) const LONG: u32 = 56;
/// Bits of the fraction of COMP-1.
pub(crate) const SHORT: u32 = 24;

/// Least exponent of 16. Values below it have fractions with leading zeros.
const EXPONENT_MIN: i32 = -64;

/// Most significant digits that a value halfway between two neighbours has: 78 hexadecimal places, one more bit, and 76 digits before
/// the point. Of the digits after them it only matters whether all are zeros.
const DIGITS_MAX: usize = 400;

/// Joins the parts of a number; `None` beyond 16^63, or if a number that is not zero has no fraction left.
fn join(negative: bool, mut fraction: u64, mut sixteen: i32, bits: u32) -> Option<u64> {
    if fraction >> bits != 0 {
        fraction >>= 4;
        sixteen += 1;
    }
    let biased = u64::try_from(sixteen - EXPONENT_MIN).ok().filter(|biased| *biased < 128 && fraction != 0)?;
    Some(u64::from(negative) << (bits + 7) | biased << bits | fraction)
}

/// Returns the nearest number to a finite double, rounded half away from zero; `None` if it does not fit or would become zero. The
/// result is normalised, except for values that only an unnormalised fraction can hold.
pub(super) fn from_double(x: f64, bits: u32) -> Option<u64> {
    let negative = x.is_sign_negative();
    if x == 0.0 {
        return Some(u64::from(negative) << (bits + 7));
    }
    let word = x.to_bits();
    let exponent = i32::try_from((word >> 52) & 0x7ff).ok()?;
    let (mut mantissa, mut power) = match exponent {
        0 => (word & 0x000f_ffff_ffff_ffff, -1074),
        _ => (word & 0x000f_ffff_ffff_ffff | 1 << 52, exponent - 1075),
    };
    let lead = mantissa.leading_zeros() - 11;
    mantissa <<= lead;
    power -= i32::try_from(lead).ok()?;
    // x = 0.1… × 2^top in binary; the hexadecimal exponent is the next multiple of four.
    let top = power + 53;
    let mut sixteen = top.div_euclid(4) + i32::from(top.rem_euclid(4) != 0);
    let right = u32::try_from(4 * sixteen - top).ok()?;
    let fraction = (mantissa << 3) >> right;
    if (sixteen, fraction, bits) == (64, 1 << 52, LONG) {
        // 16^63 itself: the double that is nearest to the largest number, which reads as it.
        return Some(u64::from(negative) << 63 | ((1 << 63) - 1));
    }
    let mut cut = LONG - bits;
    if sixteen < EXPONENT_MIN {
        cut += 4 * sixteen.abs_diff(EXPONENT_MIN);
        sixteen = EXPONENT_MIN;
    }
    let fraction = match cut {
        0 => fraction,
        1..=57 => (fraction + (1 << (cut - 1))) >> cut,
        _ => 0,
    };
    join(negative, fraction, sixteen, bits)
}

/// Returns the nearest number to `digits × 10^-scale`, rounded half away from zero; `None` as in [`from_double`].
pub(super) fn from_decimal(negative: bool, digits: &[u8], scale: i32, bits: u32) -> Option<u64> {
    let Some(first) = digits.iter().position(|digit| *digit != b'0') else {
        return Some(u64::from(negative) << (bits + 7));
    };
    let last = digits.iter().rposition(|digit| *digit != b'0')?;
    let mut scale = i64::from(scale) - i64::try_from(digits.len() - 1 - last).ok()?;
    let mut digits = &digits[first..=last];
    // The number is less than 10^magnitude, and at least a tenth of it. The largest is about 7.2 × 10^75; half of the least about
    // 6 × 10^-95.
    let magnitude = i64::try_from(digits.len()).ok()? - scale;
    if !(-94..=76).contains(&magnitude) {
        return None;
    }
    if digits.len() <= 15 && scale == 0 {
        let n = digits.iter().fold(0.0, |n, digit| 10.0 * n + f64::from(digit & 0x0f));
        return from_double(if negative { -n } else { n }, bits);
    }
    let is_cut = digits.len() > DIGITS_MAX;
    if is_cut {
        scale -= i64::try_from(digits.len() - DIGITS_MAX).ok()?;
        digits = &digits[..DIGITS_MAX];
    }
    let mut over = Natural::of_digits(digits);
    if is_cut {
        // Digits that are not zeros follow.
        over.multiply_add(10, 1);
        scale += 1;
    }
    let mut under = Natural::from(1);
    let power = usize::try_from(scale.unsigned_abs()).ok()?;
    if scale < 0 {
        over.multiply_power_of_ten(power)
    } else {
        under.multiply_power_of_ten(power)
    }

    // The number is less than 2^(top + 1).
    let top = i32::try_from(over.bits()).ok()? - i32::try_from(under.bits()).ok()?;
    let mut sixteen = ((top + 1).div_euclid(4) + i32::from((top + 1).rem_euclid(4) != 0)).max(EXPONENT_MIN);
    loop {
        let left = i32::try_from(bits).ok()? - 4 * sixteen;
        let (mut over, mut under) = (over.clone(), under.clone());
        if left < 0 {
            under.shift_left(left.unsigned_abs())
        } else {
            over.shift_left(left.unsigned_abs())
        }
        let (fraction, is_half) = over.divide(under);
        if fraction >> (bits - 4) == 0 && sixteen > EXPONENT_MIN {
            sixteen -= 1;
            continue;
        }
        return join(negative, fraction + u64::from(is_half), sixteen, bits);
    }
}

/// Returns a decimal number `(n, scale)`, `n × 10^-scale`, whose nearest COMP-2 is `word`, if the shortest text of `x`, the nearest double,
/// is not such a number. Returns `None` too for unnormalised words with a normalised form, since writing normalises.
pub(crate) fn decimal_of(word: u64, x: f64) -> Option<(u64, i16)> {
    const EXACT: u64 = 1_000_000_000_000_000;
    let fraction = word & 0x00ff_ffff_ffff_ffff;
    let biased = i32::try_from((word >> 56) & 0x7f).ok()?;
    if fraction == 0 || fraction >> 52 == 0 && biased > 0 {
        return None;
    }
    let power = 4 * (biased + EXPONENT_MIN) - 56;
    let zeros = fraction.trailing_zeros();
    let odd = fraction >> zeros;
    let places = power + i32::try_from(zeros).ok()?;
    let is_short = match u32::try_from(-places) {
        // The decimal digits of fractions: each bit after the point is one.
        Ok(places) => {
            places <= 21 && 5u64.checked_pow(places).and_then(|five| odd.checked_mul(five)).is_some_and(|n| n < EXACT)
        }
        Err(_) => x.abs() < 9_007_199_254_740_992.0,
    };
    // With 53 bits, the double and the hexadecimal number have the same neighbours.
    if is_short || fraction >> 52 == 1 && odd > 1 {
        return None;
    }
    let magnitude = word & !(1 << 63);
    let shortest = format!("{:e}", x.abs());
    let (mantissa, exponent) = shortest.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    if from_decimal(false, &digits, i32::try_from(digits.len()).ok()? - 1 - exponent, LONG) == Some(magnitude) {
        return None;
    }
    (15..=18).find_map(|count| {
        let scale = count - 1 - exponent;
        let mut over = Natural::from(fraction);
        let mut under = Natural::from(1);
        let by_ten = usize::try_from(scale.unsigned_abs()).ok()?;
        if scale < 0 {
            under.multiply_power_of_ten(by_ten)
        } else {
            over.multiply_power_of_ten(by_ten)
        }
        if power < 0 {
            under.shift_left(power.unsigned_abs())
        } else {
            over.shift_left(power.unsigned_abs())
        }
        let (n, is_half) = over.divide(under);
        let n = n + u64::from(is_half);
        let is_found = from_decimal(false, n.to_string().as_bytes(), scale, LONG) == Some(magnitude);
        is_found.then_some((n, i16::try_from(scale).ok()?))
    })
}

/// A natural number: 64-bit limbs, the lowest first, and none that is 0 at the end.
#[derive(Clone)]
struct Natural(Vec<u64>);

impl From<u64> for Natural {
    fn from(n: u64) -> Natural {
        Natural(if n == 0 { Vec::new() } else { vec![n] })
    }
}

impl Natural {
    /// Largest power of ten in a limb.
    const CHUNK: usize = 19;

    fn of_digits(digits: &[u8]) -> Natural {
        let mut number = Natural(Vec::new());
        for chunk in digits.chunks(Natural::CHUNK) {
            let n = chunk.iter().fold(0, |n, digit| 10 * n + u64::from(digit & 0x0f));
            number.multiply_add(10u64.pow(u32::try_from(chunk.len()).unwrap_or(0)), n);
        }
        number
    }

    fn multiply_add(&mut self, factor: u64, summand: u64) {
        let mut carry = u128::from(summand);
        for limb in &mut self.0 {
            carry += u128::from(*limb) * u128::from(factor);
            *limb = low(carry);
            carry >>= 64;
        }
        if carry != 0 {
            self.0.push(low(carry));
        }
    }

    fn multiply_power_of_ten(&mut self, mut power: usize) {
        while power > 0 {
            let step = power.min(Natural::CHUNK);
            self.multiply_add(10u64.pow(u32::try_from(step).unwrap_or(0)), 0);
            power -= step;
        }
    }

    fn bits(&self) -> u32 {
        let Some(top) = self.0.last() else { return 0 };
        u32::try_from(64 * self.0.len()).unwrap_or(u32::MAX) - top.leading_zeros()
    }

    fn shift_left(&mut self, bits: u32) {
        self.multiply_add(1 << (bits % 64), 0);
        if !self.0.is_empty() {
            self.0.splice(..0, core::iter::repeat_n(0, (bits / 64) as usize));
        }
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for limb in self.0.iter_mut().rev() {
            (*limb, carry) = (*limb >> 1 | carry, *limb << 63);
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn compare(&self, other: &Natural) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// Subtracts a number that is not greater.
    fn subtract(&mut self, other: &Natural) {
        let mut borrow = false;
        let others = other.0.iter().copied().chain(core::iter::repeat(0));
        for (limb, other) in self.0.iter_mut().zip(others) {
            let (less, first) = limb.overflowing_sub(other);
            let (less, second) = less.overflowing_sub(u64::from(borrow));
            (*limb, borrow) = (less, first || second);
        }
        self.trim();
    }

    /// Divides, with a quotient of at most 63 bits. Returns it and whether the remainder is at least half of the divisor.
    fn divide(mut self, mut by: Natural) -> (u64, bool) {
        let steps = (self.bits() + 1).saturating_sub(by.bits());
        by.shift_left(steps);
        let mut quotient = 0;
        for step in (0..=steps).rev() {
            quotient <<= 1;
            if self.compare(&by) != Ordering::Less {
                self.subtract(&by);
                quotient |= 1;
            }
            if step > 0 {
                by.halve();
            }
        }
        self.shift_left(1);
        (quotient, self.compare(&by) != Ordering::Less)
    }
}

/// Returns the low 64 bits.
fn low(wide: u128) -> u64 {
    u64::try_from(wide & u128::from(u64::MAX)).unwrap_or(0)
}
