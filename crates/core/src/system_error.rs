//! Errors of the operating system in the wording of findings.

use std::io;

/// Returns the text of an operating system's error in lower case and without Rust's `(os error 2)`.
#[must_use]
pub fn system_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_error_reads_like_a_finding() {
        assert_eq!(system_error_text(&io::Error::from_raw_os_error(2)), "no such file or directory");
    }
}
