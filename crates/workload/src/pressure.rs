//! Pressure stall information of the kernel.

/// Parses `avg10` of the line `some`, as a share.
pub(crate) fn pressure(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let value = line.split_ascii_whitespace().find_map(|field| field.strip_prefix("avg10="))?;
    value.parse::<f64>().ok().map(|percent| percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_read_from_the_line_of_some() {
        let text = "some avg10=12.50 avg60=3.00 avg300=1.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(pressure(text), Some(0.125));
        assert_eq!(pressure("full avg10=0.00"), None);
    }
}
