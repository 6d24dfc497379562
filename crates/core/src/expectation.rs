//! Messages of parsers in the words of people who write files.

/// Rust types in messages of serde, and what they accept.
const EXPECTED: [(&str, &str); 14] = [
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65,535"),
    ("u32", "a whole number from 0 to 4,294,967,295"),
    ("u64", "a whole number from 0"),
    ("usize", "a whole number from 0"),
    ("i8", "a whole number from -128 to 127"),
    ("i16", "a whole number from -32,768 to 32,767"),
    ("i32", "a whole number from -2,147,483,648 to 2,147,483,647"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a sequence", "a list"),
    ("a map", "keys with values"),
    ("unit", "nothing"),
];

/// Replaces the Rust type that a message of serde expects: `expected u32` becomes `expected a whole number from 0 to 4,294,967,295`.
#[must_use]
pub fn plain_expectation(message: &str) -> String {
    let Some((what, rest)) = message.rsplit_once("expected ") else { return message.to_owned() };
    // JSON messages end with the place.
    let (expected, place) = rest.find(" at line ").map_or((rest, ""), |at| rest.split_at(at));
    let plain = match EXPECTED.iter().find(|(name, _)| *name == expected) {
        Some((_, plain)) => plain,
        None if expected.starts_with("struct ") && !expected[7..].contains(' ') => "keys with values",
        None => return message.to_owned(),
    };
    format!("{what}expected {plain}{place}")
}

/// Texts of Rust's parsers of whole numbers.
const WHOLE: [&str; 4] = [
    "invalid digit found in string",
    "cannot parse integer from empty string",
    "number too large to fit in target type",
    "number too small to fit in target type",
];

/// Returns what to say in place of the reason of one of Rust's parsers for refusing a value. `range` returns the range of whole numbers if the reason does
/// not name it. `None` for another reason.
pub fn plain_reason(reason: &str, range: impl FnOnce() -> Option<(u64, u64)>) -> Option<String> {
    let (first, last) = match reason {
        "invalid float literal" | "cannot parse float from empty string" => {
            return Some("expected a number".to_owned());
        }
        "provided string was not `true` or `false`" => return Some("expected true or false".to_owned()),
        whole if WHOLE.contains(&whole) => range().unwrap_or((0, u64::MAX)),
        other => refused_range(other)?,
    };
    // A number of 64 bits has no end that means anything.
    let end = if last < i64::MAX.unsigned_abs() { format!(" to {}", grouped(last)) } else { String::new() };
    Some(format!("expected a whole number from {}{end}", grouped(first)))
}

/// Reads the range in a reason such as `0 is not in 1..=256`.
#[must_use]
pub fn refused_range(reason: &str) -> Option<(u64, u64)> {
    let (first, last) = reason.split_once(" is not in ")?.1.split_once("..=")?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{plain_expectation, plain_reason};

    #[test]
    fn reasons_become_ranges() {
        let plain = |reason| plain_reason(reason, || Some((1, 10_000)));
        let range = Some("expected a whole number from 1 to 10,000".to_owned());
        assert_eq!(plain("invalid digit found in string"), range);
        assert_eq!(plain("0 is not in 1..=10000"), range);
        assert_eq!(plain("0 is not in 1..=18446744073709551615"), Some("expected a whole number from 1".to_owned()));
        assert_eq!(plain("invalid float literal"), Some("expected a number".to_owned()));
        assert_eq!(plain("expected a date"), None);
    }

    #[test]
    fn types_become_what_they_accept() {
        for (message, plain) in [
            (
                "invalid type: string \"x\", expected u32",
                "invalid type: string \"x\", expected a whole number from 0 to 4,294,967,295",
            ),
            (
                "invalid value: integer `-1`, expected u64 at line 3 column 7",
                "invalid value: integer `-1`, expected a whole number from 0 at line 3 column 7",
            ),
            ("invalid type: integer `1`, expected a sequence", "invalid type: integer `1`, expected a list"),
            (
                "invalid type: integer `1`, expected struct WireType",
                "invalid type: integer `1`, expected keys with values",
            ),
            ("expected u32 or more", "expected u32 or more"),
            ("unknown field `a`, expected `b`", "unknown field `a`, expected `b`"),
        ] {
            assert_eq!(plain_expectation(message), plain);
        }
    }
}
