//! The property `limit` of artifacts that read data: `line-bytes=32M, record-bytes=64M`.

use quayline_core::Limits;

use crate::artifact::{Answer, Injected};
use crate::error::Thrown;
use crate::job_limits::LIMITS;

/// Returns the limits with the changes of a property, or a description of the fault and a remedy.
pub(super) fn limit_of(text: &str) -> Result<Limits, (String, String)> {
    let mut limits = Limits::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let Some(bound) = limits.by_name(name).filter(|_| LIMITS.contains(&name)) else {
            return Err(("names no limit".to_owned(), format!("the limits are {}", LIMITS.join(", "))));
        };
        let Some(number) = Limits::number_of(value) else {
            let remedy = "write NAME=N, such as line-bytes=32M; K, M and G are units".to_owned();
            return Err(("has a limit without a number".to_owned(), remedy));
        };
        *bound = number;
    }
    Ok(limits)
}

/// Returns the limits of an artifact.
pub(super) fn limits(with: &Injected) -> Answer<Limits> {
    limit_of(with.property("limit").unwrap_or_default())
        .map_err(|(what, remedy)| Thrown::property(&with.name, "limit", what, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_names_and_numbers() {
        let limits = limit_of("line-bytes=32M, record-bytes=7").unwrap();
        assert_eq!((limits.line_bytes_max, limits.record_bytes_max), (32 << 20, 7));
        assert_eq!(limit_of("").unwrap(), Limits::default());
        for wrong in
            ["line-bytes", "line-bytes=", "line-bytes=x", "line-bytes=0", "line-bytes=1MM", "lines=3", "columns=3"]
        {
            assert!(limit_of(wrong).is_err(), "{wrong}");
        }
    }
}
