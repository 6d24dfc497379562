//! Times and percentages as people write them.

use quayline_capacity::calibration::Kernel;
use quayline_capacity::{Seconds, Share};
use serde::Deserialize;

/// A time with its unit: `500ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Duration(pub(crate) Seconds);

impl std::str::FromStr for Duration {
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
        if valid { Ok(Duration(Seconds(number * unit))) } else { Err(expected()) }
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A percentage: `3%` or `3`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(pub(crate) Share);

impl std::str::FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.trim().trim_end_matches('%').trim_end().parse().ok();
        let number = number.filter(|number| number.is_finite());
        number
            .map(|number| Percent(Share::of_percent(number)))
            .ok_or_else(|| "expected a percentage, such as 3%".to_owned())
    }
}

/// A part of a cost that resembles a kernel: `json-write=40%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KernelPart(pub(crate) Kernel, pub(crate) Share);

impl std::str::FromStr for KernelPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, share) =
            text.split_once('=').ok_or_else(|| "expected KERNEL=PERCENT, such as json-write=40%".to_owned())?;
        let kernel = Kernel::by_name(name.trim()).ok_or_else(|| {
            let names: Vec<&str> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
            format!("unknown kernel `{name}`, expected one of {}", names.join(", "))
        })?;
        let share: Percent = share.parse()?;
        Ok(KernelPart(kernel, share.0))
    }
}

/// A time in the unit that shows three digits of it.
pub(super) fn time_text(time: Seconds) -> String {
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
    fn times_need_a_unit() {
        let seconds = |text: &str| text.parse::<Duration>().map(|time| time.0.0);
        assert_eq!(seconds("500ms"), Ok(0.5));
        assert_eq!(seconds("2 min"), Ok(120.0));
        assert!((seconds("15us").expect("a time") - 15e-6).abs() < 1e-18);
        assert!(
            seconds("500").is_err()
                && seconds("-1s").is_err()
                && seconds("5 days").is_err()
                && seconds("infs").is_err()
        );
    }

    #[test]
    fn times_are_shown_in_their_unit() {
        assert_eq!(time_text(Seconds(0.012_34)), "12.3 ms");
        assert_eq!(time_text(Seconds(1.5)), "1.50 s");
        assert_eq!(time_text(Seconds(0.000_4)), "400 us");
    }
}
