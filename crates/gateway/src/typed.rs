//! Types that a copybook cannot express: truth values, dates, names for codes and ranges of numbers.

use core::num::IntErrorKind;

use quayline_core::DatePattern;

/// Representation of a field's text in JSON, and its way back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Typed {
    /// `true` and `false` for two texts.
    Boolean {
        /// The record's text for `true`, without blanks at the end.
        yes: String,
        /// The record's text for `false`, without blanks at the end.
        no: String,
    },
    /// An ISO 8601 date, time or both.
    Date(DatePattern),
    /// Names for codes: text in the record, name in JSON. A code without a name is passed on unchanged. Requests write the first code of a name.
    Codes(Vec<(String, String)>),
    /// A whole number without sign as text, with exactly this many digits: `0000000042`.
    Digits(usize),
    /// A number that requests limit more narrowly than its digits do. Answers show the value of the record.
    Range(Range),
}

/// Bounds of a number, both included.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Range {
    /// The least.
    pub minimum: Option<i64>,
    /// The most.
    pub maximum: Option<i64>,
}

impl Range {
    /// Returns the whole number of the range that is nearest to zero.
    pub(crate) fn nearest_to_zero(self) -> i64 {
        0i64.max(self.minimum.unwrap_or(i64::MIN)).min(self.maximum.unwrap_or(i64::MAX))
    }

    /// Returns whether a number in plain decimal notation is in the range.
    pub(crate) fn holds(self, text: &str) -> bool {
        let point = text.bytes().position(|byte| byte == b'.');
        let (whole, part) = point.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
        let has_part = part.bytes().any(|b| b != b'0');
        let negative = text.starts_with('-');
        // The writers here never produce `-.5`, but a whole part may be missing. Eighteen digits fit the smaller number, which is
        // read in a quarter of the time.
        let n = match whole {
            "" | "-" => Ok(0),
            whole if whole.len() <= 18 => whole.parse::<i64>().map(i128::from),
            whole => whole.parse::<i128>(),
        };
        let n = match n.map_err(|error| *error.kind()) {
            Ok(n) => n,
            // Floats have up to 309 digits. All bounds have fewer.
            Err(IntErrorKind::PosOverflow) => i128::MAX,
            Err(IntErrorKind::NegOverflow) => i128::MIN,
            Err(_) => return false,
        };
        let below = |min| n < i128::from(min) || n == i128::from(min) && has_part && negative;
        let above = |max| n > i128::from(max) || n == i128::from(max) && has_part && !negative;
        !self.minimum.is_some_and(below) && !self.maximum.is_some_and(above)
    }

    /// Returns the expected form, for messages.
    pub(crate) fn expected(self) -> String {
        let low = self.minimum.map_or_else(String::new, |n| format!(" at least {n}"));
        let high = self.maximum.map_or_else(String::new, |n| format!(" at most {n}"));
        format!("a number{low}{high}")
    }
}

/// Result for a record's text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shown {
    /// The text in the scratch buffer.
    Text,
    Bool(bool),
    /// The text is not set: it has only blanks, zeros, low-values and separators.
    Null,
    /// The text is set, but is not a value of the type. It is shown as null.
    Replaced,
    /// Unchanged.
    Same,
}

/// Returns whether a text without a value of its type is only not set.
fn no_value(text: &[u8]) -> Shown {
    let is_unset = text.iter().all(|byte| matches!(byte, b' ' | b'0' | 0 | b'-' | b'/' | b'.' | b':'));
    if is_unset { Shown::Null } else { Shown::Replaced }
}

impl Typed {
    /// Shows `text` of a record.
    pub(crate) fn show(&self, text: &[u8], out: &mut Vec<u8>) -> Shown {
        out.clear();
        match self {
            // Blanks at the end are there where the service keeps them.
            Typed::Boolean { yes, no } => match text.trim_ascii_end() {
                text if text == yes.as_bytes() => Shown::Bool(true),
                text if text == no.as_bytes() => Shown::Bool(false),
                _ => no_value(text),
            },
            Typed::Date(pattern) => {
                pattern.iso(text.trim_ascii_end(), out).map_or_else(|| no_value(text), |()| Shown::Text)
            }
            Typed::Codes(codes) => match codes.iter().find(|(code, _)| code.as_bytes() == text.trim_ascii_end()) {
                Some((_, name)) => {
                    out.extend_from_slice(name.as_bytes());
                    Shown::Text
                }
                None => Shown::Same,
            },
            Typed::Range(_) => Shown::Same,
            Typed::Digits(digits) => {
                out.extend(core::iter::repeat_n(b'0', digits.saturating_sub(text.len())));
                out.extend_from_slice(text);
                Shown::Text
            }
        }
    }

    /// Returns the record's text for the text that a client sent; `None` if it is not a value of the type.
    pub(crate) fn read(&self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        out.clear();
        match self {
            Typed::Boolean { yes, no } => {
                let text = match text {
                    b"true" => yes,
                    b"false" => no,
                    _ => return None,
                };
                out.extend_from_slice(text.as_bytes());
                Some(())
            }
            Typed::Date(pattern) => pattern.read_iso(text, out),
            Typed::Codes(codes) => {
                let (code, _) = codes.iter().find(|(_, name)| name.as_bytes() == text)?;
                out.extend_from_slice(code.as_bytes());
                Some(())
            }
            Typed::Digits(digits) => {
                let fits = (1..=*digits).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
                fits.then(|| out.extend_from_slice(text))
            }
            Typed::Range(range) => {
                let holds = core::str::from_utf8(text).is_ok_and(|text| range.holds(text));
                holds.then(|| out.extend_from_slice(text))
            }
        }
    }

    /// Returns the rule that a value of another form breaks.
    pub(crate) fn rule(&self) -> &'static str {
        match self {
            Typed::Range(_) => "range",
            _ => "type",
        }
    }

    /// Returns the expected form, for messages.
    pub(crate) fn expected(&self) -> String {
        match self {
            Typed::Boolean { .. } => "true or false".to_owned(),
            Typed::Date(pattern) => format!("a {} such as {}", pattern.format(), pattern.example()),
            Typed::Codes(codes) => format!("one of {}", names(codes).join(", ")),
            Typed::Range(range) => range.expected(),
            Typed::Digits(digits) => format!("1 to {digits} digits"),
        }
    }
}

/// Returns the distinct names of codes.
pub(crate) fn names(codes: &[(String, String)]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, name) in codes {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_truth_values_go_both_ways() {
        let codes = Typed::Codes(vec![("A".into(), "available".into())]);
        let mut out = Vec::new();
        assert_eq!(codes.show(b"A", &mut out), Shown::Text);
        assert_eq!(out, b"available");
        assert_eq!(codes.show(b"Q", &mut out), Shown::Same);
        assert_eq!(codes.read(b"available", &mut out), Some(()));
        assert_eq!(out, b"A");
        assert_eq!(codes.read(b"A", &mut out), None);
        let flag = Typed::Boolean { yes: "Y".into(), no: "N".into() };
        assert_eq!(
            (flag.show(b"Y", &mut out), flag.show(b"N", &mut out), flag.show(b"", &mut out)),
            (Shown::Bool(true), Shown::Bool(false), Shown::Null)
        );
        assert_eq!(flag.read(b"false", &mut out), Some(()));
        assert_eq!(out, b"N");
    }
}
