//! A number in printed form: its value and the uncertainty of its last digit.

/// A printed number: all values that round to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The number.
    pub value: f64,
    /// Half a unit of its last digit; 0 for a setting, which is exact.
    pub half: f64,
}

impl Printed {
    /// Creates a setting or a count, which is exact.
    #[must_use]
    pub fn exact(value: f64) -> Printed {
        Printed { value, half: 0.0 }
    }

    /// Parses a printed number such as `1.75` or `12,951`; `None` for other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Printed> {
        let text: String = text.trim().chars().filter(|digit| *digit != ',' && *digit != '_').collect();
        let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text.as_str(), 0),
        };
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let last = exponent - i32::try_from(decimals).ok()?;
        Some(Printed { value, half: 0.5 * 10_f64.powi(last) })
    }

    /// Returns the smallest and the largest value that rounds to the number.
    #[must_use]
    pub fn range(self) -> (f64, f64) {
        (self.value - self.half, self.value + self.half)
    }

    /// Returns true if any value that rounds to the number is within `low..=high`.
    #[must_use]
    pub fn meets(self, low: f64, high: f64) -> bool {
        // Digits that are exact in decimals are not in binary.
        let slack = 1e-9 * self.value.abs().max(high.abs());
        let (least, most) = self.range();
        most >= low - slack && least <= high + slack
    }
}
