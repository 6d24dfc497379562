//! Typed units. A number that a person reads always carries one of them.

use core::fmt;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $name(pub f64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)?;
                f.write_str($unit)
            }
        }

        impl core::ops::Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name {
                $name(self.0 + other.0)
            }
        }

        impl core::ops::Sub for $name {
            type Output = $name;
            fn sub(self, other: $name) -> $name {
                $name(self.0 - other.0)
            }
        }

        impl core::ops::Mul<f64> for $name {
            type Output = $name;
            fn mul(self, factor: f64) -> $name {
                $name(self.0 * factor)
            }
        }

        impl core::ops::Div<$name> for $name {
            type Output = f64;
            fn div(self, other: $name) -> f64 {
                self.0 / other.0
            }
        }

        impl core::iter::Sum for $name {
            fn sum<I: Iterator<Item = $name>>(values: I) -> $name {
                $name(values.map(|value| value.0).sum())
            }
        }
    };
}

quantity!(
    /// A time in seconds.
    Seconds,
    " s"
);
quantity!(
    /// A rate in events a second.
    PerSecond,
    "/s"
);
quantity!(
    /// A part of a whole: 0.7 is 70 %.
    Share,
    ""
);
quantity!(
    /// An amount of data in bytes.
    Bytes,
    " B"
);
quantity!(
    /// A machine's rating, or a part of it, in capacity units (the seed's CPW, or this product's own unit).
    CapacityUnits,
    " CU"
);
quantity!(
    /// A growth per month: 0.03 is 3 % a month, compounded.
    PerMonth,
    "/month"
);

/// Little's law: a rate for a time is a number of customers.
impl core::ops::Mul<Seconds> for PerSecond {
    type Output = f64;
    fn mul(self, time: Seconds) -> f64 {
        self.0 * time.0
    }
}

impl Share {
    /// Returns the share as a percentage.
    #[must_use]
    pub fn percent(self) -> f64 {
        self.0 * 100.0
    }

    /// Creates a share from a percentage.
    #[must_use]
    pub fn of_percent(percent: f64) -> Share {
        Share(percent / 100.0)
    }
}

/// Rounds up to a count. Negative values and NaN give 0, values above `u64` its maximum.
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is documented")]
#[must_use]
pub(crate) fn count_up(value: f64) -> u64 {
    value.ceil() as u64
}

/// Rounds down to a count. Negative values and NaN give 0, values above `u64` its maximum.
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is documented")]
#[must_use]
pub(crate) fn count_down(value: f64) -> u64 {
    value.floor() as u64
}

/// A time with its unit: `500ms`.
impl core::str::FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected a number with ns, us, ms, s, min or h, such as 500ms".to_owned();
        let at = text.find(|c: char| c.is_alphabetic() || c == 'µ').ok_or_else(expected)?;
        let (number, unit) = text.split_at(at);
        let unit = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(expected()),
        };
        let number: f64 = number.trim().parse().map_err(|_| expected())?;
        let valid = number.is_finite() && number >= 0.0;
        if valid { Ok(Seconds(number * unit)) } else { Err(expected()) }
    }
}

/// A percentage: `3%` or `3`.
impl core::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.trim().trim_end_matches('%').trim_end().parse().ok();
        let number = number.filter(|number| number.is_finite());
        number.map(Share::of_percent).ok_or_else(|| "expected a percentage, such as 3%".to_owned())
    }
}

/// Formats a number without decimals, with its noun in singular or plural: `1 user`, `20 users`.
#[must_use]
pub fn count_text(count: f64, noun: &str) -> String {
    let number = format!("{count:.0}");
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Formats a time with three digits, in a suitable unit.
#[must_use]
pub fn time_text(time: Seconds) -> String {
    let (value, unit) = match time.0 {
        time if time >= 1.0 || time == 0.0 => (time, "s"),
        time if time >= 1e-3 => (time * 1e3, "ms"),
        time => (time * 1e6, "us"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_their_unit() {
        assert_eq!(time_text(Seconds(0.012_34)), "12.3 ms");
        assert_eq!(time_text(Seconds(1.5)), "1.50 s");
        assert_eq!(time_text(Seconds(0.000_4)), "400 us");
    }
}
