//! Numbers as people read them.

/// Formats `30128` as `30,128`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a size such as `1 byte` or `30,128 bytes`.
pub(crate) fn bytes_text(n: usize) -> String {
    count_of(n as u64, "byte")
}

/// Formats a count such as `1 table` or `2 tables`.
pub(crate) fn count_of(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(30_128), "30,128");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(count_of(1, "table"), "1 table");
        assert_eq!(bytes_text(2), "2 bytes");
    }
}
