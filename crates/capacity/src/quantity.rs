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
