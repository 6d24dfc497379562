//! Times, percentages and counts as people write them.

use quayline_capacity::calibration::Kernel;
use quayline_capacity::{Seconds, Share};
use serde::Deserialize;

pub(crate) use quayline_capacity::time_text;

/// Formats a number of things: `1 record`, `2 records`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// A time with its unit: `500ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Duration(pub(crate) Seconds);

impl std::str::FromStr for Duration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Duration)
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
        text.parse().map(Percent)
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
}
