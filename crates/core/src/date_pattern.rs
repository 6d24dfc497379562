//! Dates and times of records, whose form a pattern describes, as ISO 8601 text.

use core::fmt;
use std::io::Write as _;

use crate::Scalar;

/// A date in a record: `yyyyMMdd`, `ddMMyy`, `yyyyDDD`, `yyyy-MM-dd`, `HHmmss`, `yyyyMMddHHmmss` and so on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DatePattern {
    parts: Vec<Part>,
    /// True if the field is a number, which loses leading zeros.
    is_number: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    Year4,
    /// 00 to 49 are 2000 to 2049, 50 to 99 are 1950 to 1999.
    Year2,
    Month,
    Day,
    DayOfYear,
    Hour,
    Minute,
    Second,
    Fixed(u8),
}

#[derive(Clone, Copy, Default)]
struct Fields {
    year: u32,
    month: u32,
    day: u32,
    day_of_year: u32,
    hour: u32,
    minute: u32,
    second: u32,
}

impl DatePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// The fault of the pattern.
    pub fn parse(text: &str) -> Result<DatePattern, String> {
        const WORDS: [(&str, Part); 8] = [
            ("yyyy", Part::Year4),
            ("yy", Part::Year2),
            ("MM", Part::Month),
            ("DDD", Part::DayOfYear),
            ("dd", Part::Day),
            ("HH", Part::Hour),
            ("mm", Part::Minute),
            ("ss", Part::Second),
        ];
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some((word, part)) = WORDS.iter().find(|(word, _)| rest.starts_with(word)) {
                if parts.contains(part) {
                    return Err(format!("`{word}` occurs twice"));
                }
                parts.push(*part);
                rest = &rest[word.len()..];
            } else if first.is_ascii_alphanumeric() || !first.is_ascii() {
                return Err(format!("`{rest}` is not one of yyyy, yy, MM, dd, DDD, HH, mm, ss"));
            } else {
                parts.push(Part::Fixed(u8::try_from(first).unwrap_or(b' ')));
                rest = &rest[1..];
            }
        }
        let has = |part: Part| parts.contains(&part);
        // What the ISO form does not show would be lost on the way back.
        if has(Part::Year4) && has(Part::Year2) {
            return Err("it has two years, `yyyy` and `yy`".to_owned());
        }
        if has(Part::DayOfYear) && (has(Part::Month) || has(Part::Day)) {
            return Err("it has `DDD`, the day of the year, beside `MM` or `dd`".to_owned());
        }
        if !has(Part::Hour) && (has(Part::Minute) || has(Part::Second)) {
            return Err("it has `mm` or `ss` without `HH`; a month is `MM`".to_owned());
        }
        let year = has(Part::Year4) || has(Part::Year2);
        let date = year && (has(Part::DayOfYear) || has(Part::Month) && has(Part::Day));
        let any_date = year || has(Part::Month) || has(Part::Day) || has(Part::DayOfYear);
        let time = has(Part::Hour) && has(Part::Minute);
        match (date, any_date, time) {
            (true, _, _) | (false, false, true) => Ok(DatePattern { parts, is_number: false }),
            _ => Err("it is neither a whole date nor a time of hours and minutes".to_owned()),
        }
    }

    fn has_date(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Year4 | Part::Year2))
    }

    fn has_time(&self) -> bool {
        self.parts.contains(&Part::Hour)
    }

    /// Returns the name of the format. JSON Schema has a format for dates only, since the times of a record have no zone.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match (self.has_date(), self.has_time()) {
            (true, true) => "date and time",
            (true, false) => "date",
            _ => "time",
        }
    }

    /// Returns whether it is a plain date, the one form that JSON Schema has a format for: its times have zones.
    #[must_use]
    pub fn is_date(&self) -> bool {
        self.has_date() && !self.has_time()
    }

    /// Returns a regular expression for the ISO forms that the record can hold: days that exist, the years of a pattern with two digits, and zero for a
    /// part without a place. In JSON Schema, `format` alone refuses nothing.
    #[must_use]
    pub fn iso_regex(&self) -> String {
        // (all years, leap years)
        let (year, leap) = if self.parts.contains(&Part::Year2) {
            ("(?:19[5-9][0-9]|20[0-4][0-9])", "(?:19(?:5[26]|[68][048]|[79][26])|20(?:[024][048]|[13][26]))")
        } else {
            (
                "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)",
                "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)",
            )
        };
        let days = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])";
        let date = if self.has_date() { format!("(?:{year}-(?:{days})|{leap}-02-29)") } else { String::new() };
        let between = if self.has_date() && self.has_time() { "T" } else { "" };
        let part = |part: Part, all: &'static str| if self.parts.contains(&part) { all } else { "00" };
        let time = if self.has_time() {
            let (hour, sixty) = ("(?:[01][0-9]|2[0-3])", "[0-5][0-9]");
            format!("{hour}:{}:{}", part(Part::Minute, sixty), part(Part::Second, sixty))
        } else {
            String::new()
        };
        format!("^{date}{between}{time}$")
    }

    /// Returns an example of the ISO form.
    #[must_use]
    pub fn example(&self) -> &'static str {
        match (self.has_date(), self.has_time()) {
            (true, true) => "2026-01-31T13:45:00",
            (true, false) => "2026-01-31",
            _ => "13:45:00",
        }
    }

    /// Returns the number of characters of the record's text.
    #[must_use]
    pub fn width(&self) -> usize {
        self.parts.iter().map(|part| Self::width_of(*part)).sum()
    }

    /// Returns whether the record's text has only digits, as a number has.
    #[must_use]
    pub fn is_digits(&self) -> bool {
        !self.parts.iter().any(|part| matches!(part, Part::Fixed(_)))
    }

    /// Returns why days in this form cannot be the values of a field, as the end of a sentence about the pattern, and the remedy; `None` if they
    /// can. A group is `None`. A longer field has zeros before the digits of a number, and blanks beside a text.
    #[must_use]
    pub fn misfit(&self, field: Option<&Scalar>) -> Option<(String, &'static str)> {
        let width = self.width();
        let Some(field) = field else {
            return Some(("is for one field, and this is a group".to_owned(), "name an elementary field of the group"));
        };
        Some(match *field {
            _ if !self.is_date() => (
                "has a time of day".to_owned(),
                "write a pattern of a year, month and day, such as `yyyyMMdd`, or of a year and its day, `yyyyDDD`",
            ),
            Scalar::Decimal { scale, .. } if scale != 0 => (
                "is for a whole number, and this one has decimals".to_owned(),
                "name a field of whole numbers, or leave `date` out",
            ),
            Scalar::Decimal { .. } if !self.is_digits() => (
                "has separators, and the field is a number".to_owned(),
                "a number has only digits: leave the separators out of the pattern",
            ),
            Scalar::Decimal { digits, .. } if usize::from(digits) < width => (
                format!("has {width} digits, and the field has {digits}"),
                "write the pattern of the digits in the record, such as `yyMMdd`",
            ),
            Scalar::Text { chars_max: Some(chars) } if u64::from(chars) < width as u64 => (
                format!("has {width} characters, and the field has {chars}"),
                "write the pattern of the characters in the record, such as `yyMMdd`",
            ),
            Scalar::Decimal { .. } | Scalar::Text { .. } => return None,
            _ => (
                "is for digits or text, and the field holds neither".to_owned(),
                "name a field of digits or text, or leave `date` out",
            ),
        })
    }

    fn width_of(part: Part) -> usize {
        match part {
            Part::Year4 => 4,
            Part::DayOfYear => 3,
            Part::Fixed(_) => 1,
            _ => 2,
        }
    }

    /// Adapts the pattern to a numeric field: leading zeros that the number lost are restored.
    #[must_use]
    pub fn of_number(self, is_number: bool) -> DatePattern {
        DatePattern { is_number, ..self }
    }

    /// Appends the ISO form of a record's text; `None` if the text does not have the form of the pattern or the day does not exist.
    pub fn iso(&self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let width = self.width();
        let mut padded = [b'0'; 40];
        let short = width.checked_sub(text.len())?;
        let digits = text.iter().all(u8::is_ascii_digit);
        if width > padded.len() || short > 0 && !(digits && self.is_number && !text.is_empty()) {
            return None;
        }
        padded[short..width].copy_from_slice(text);
        let mut at = 0;
        let mut fields = Fields::default();
        for part in &self.parts {
            let piece = &padded[at..at + Self::width_of(*part)];
            at += piece.len();
            if let Part::Fixed(expected) = part {
                if piece != [*expected] {
                    return None;
                }
                continue;
            }
            let mut n = 0;
            for digit in piece {
                n = n * 10 + u32::from(digit.checked_sub(b'0').filter(|d| *d <= 9)?);
            }
            match part {
                Part::Year4 => fields.year = n,
                Part::Year2 => fields.year = if n < 50 { 2000 + n } else { 1900 + n },
                Part::Month => fields.month = n,
                Part::Day => fields.day = n,
                Part::DayOfYear => fields.day_of_year = n,
                Part::Hour => fields.hour = n,
                Part::Minute => fields.minute = n,
                _ => fields.second = n,
            }
        }
        if self.parts.contains(&Part::DayOfYear) {
            (fields.month, fields.day) = month_and_day(fields.year, fields.day_of_year)?;
        }
        fields.check(self)?;
        let Fields { year, month, day, hour, minute, second, .. } = fields;
        if self.has_date() {
            write!(out, "{year:04}-{month:02}-{day:02}").ok()?;
        }
        if self.has_time() {
            let t = if self.has_date() { "T" } else { "" };
            write!(out, "{t}{hour:02}:{minute:02}:{second:02}").ok()?;
        }
        Some(())
    }

    /// Appends the record's text for an ISO form: the text for which [`DatePattern::iso`] gives that form. `None` if the text does not
    /// have the ISO form, the day does not exist, or the pattern has no place for a part of it.
    pub fn read_iso(&self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut fields = Fields::default();
        let mut rest = text;
        let mut number = |digits: usize, behind: Option<u8>| -> Option<u32> {
            let (piece, left) = rest.split_at_checked(digits)?;
            let n = core::str::from_utf8(piece).ok().filter(|p| p.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()?;
            rest = match behind {
                Some(expected) => left.strip_prefix(&[expected])?,
                None => left,
            };
            Some(n)
        };
        if self.has_date() {
            fields.year = number(4, Some(b'-'))?;
            fields.month = number(2, Some(b'-'))?;
            fields.day = number(2, self.has_time().then_some(b'T'))?;
        }
        if self.has_time() {
            fields.hour = number(2, Some(b':'))?;
            fields.minute = number(2, Some(b':'))?;
            fields.second = number(2, None)?;
        }
        if !rest.is_empty() {
            return None;
        }
        fields.check(self)?;
        // What the field has no place for is refused, not dropped.
        let has = |part: Part| self.parts.contains(&part);
        if [(fields.hour, Part::Hour), (fields.minute, Part::Minute), (fields.second, Part::Second)]
            .iter()
            .any(|(value, part)| *value != 0 && !has(*part))
        {
            return None;
        }
        for part in &self.parts {
            match part {
                Part::Year4 => write!(out, "{:04}", fields.year),
                Part::Year2 if (1950..2050).contains(&fields.year) => write!(out, "{:02}", fields.year % 100),
                Part::Year2 => return None,
                Part::Month => write!(out, "{:02}", fields.month),
                Part::Day => write!(out, "{:02}", fields.day),
                Part::DayOfYear => write!(out, "{:03}", day_of_year(fields.year, fields.month, fields.day)),
                Part::Hour => write!(out, "{:02}", fields.hour),
                Part::Minute => write!(out, "{:02}", fields.minute),
                Part::Second => write!(out, "{:02}", fields.second),
                Part::Fixed(byte) => out.write_all(&[*byte]),
            }
            .ok()?;
        }
        Some(())
    }
}

/// Writes the pattern as [`DatePattern::parse`] reads it.
impl fmt::Display for DatePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Year4 => f.write_str("yyyy"),
            Part::Year2 => f.write_str("yy"),
            Part::Month => f.write_str("MM"),
            Part::Day => f.write_str("dd"),
            Part::DayOfYear => f.write_str("DDD"),
            Part::Hour => f.write_str("HH"),
            Part::Minute => f.write_str("mm"),
            Part::Second => f.write_str("ss"),
            Part::Fixed(byte) => write!(f, "{}", char::from(*byte)),
        })
    }
}

impl Fields {
    fn check(&self, pattern: &DatePattern) -> Option<()> {
        // Maps have the years 1 to 9999, and many readers of columns fail on the year 0.
        let date = !pattern.has_date()
            || self.year > 0
                && (1..=12).contains(&self.month)
                && (1..=days_in(self.year, self.month)).contains(&self.day);
        (date && self.hour < 24 && self.minute < 60 && self.second < 60).then_some(())
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn month_and_day(year: u32, mut day: u32) -> Option<(u32, u32)> {
    for month in 1..=12 {
        if (1..=days_in(year, month)).contains(&day) {
            return Some((month, day));
        }
        day = day.checked_sub(days_in(year, month))?;
    }
    None
}

fn day_of_year(year: u32, month: u32, day: u32) -> u32 {
    (1..month).map(|month| days_in(year, month)).sum::<u32>() + day
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(pattern: &str, text: &str) -> Option<String> {
        let mut out = Vec::new();
        DatePattern::parse(pattern).unwrap().of_number(true).iso(text.as_bytes(), &mut out)?;
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn blanks_are_no_midnight_and_seconds_are_not_dropped() {
        let text =
            |pattern: &str, text: &str| DatePattern::parse(pattern).unwrap().iso(text.as_bytes(), &mut Vec::new());
        assert_eq!((text("HHmmss", ""), text("HHmmss", "1230"), text("yyMMdd", "60131")), (None, None, None));
        assert_eq!(
            (text("HHmmss", "123000"), iso("HHmmss", ""), iso("HHmm", "0")),
            (Some(()), None, Some("00:00:00".to_owned()))
        );
        let read = |pattern: &str, text: &str| {
            let mut out = Vec::new();
            DatePattern::parse(pattern).unwrap().read_iso(text.as_bytes(), &mut out)?;
            Some(String::from_utf8(out).unwrap())
        };
        assert_eq!(read("HHmm", "07:05:00").as_deref(), Some("0705"));
        assert_eq!(read("HHmm", "07:05:30"), None);
        assert_eq!((read("yyyyMMdd", "0000-01-01"), read("HHmm", "07:05:00")), (None, Some("0705".to_owned())));
        assert_eq!(read("yyyyMMddHH", "2026-01-31T13:45:00"), None);
        assert_eq!(read("yyyyMMddHH", "2026-01-31T13:00:00").as_deref(), Some("2026013113"));
    }

    #[test]
    fn dates_of_records_are_iso_dates_and_back() {
        for (pattern, text, shown) in [
            ("yyyyMMdd", "20260131", "2026-01-31"),
            ("ddMMyy", "310149", "2049-01-31"),
            ("ddMMyy", "310150", "1950-01-31"),
            ("yyyyDDD", "2024366", "2024-12-31"),
            ("yyDDD", "24060", "2024-02-29"),
            ("yyyy-MM-dd", "2026-01-31", "2026-01-31"),
            ("HHmmss", "235959", "23:59:59"),
            ("HH:mm", "07:05", "07:05:00"),
            ("yyyyMMddHHmmss", "20260131070500", "2026-01-31T07:05:00"),
        ] {
            assert_eq!(iso(pattern, text).as_deref(), Some(shown), "{pattern} {text}");
            let mut back = Vec::new();
            DatePattern::parse(pattern).unwrap().read_iso(shown.as_bytes(), &mut back).unwrap();
            assert_eq!(String::from_utf8(back).unwrap(), text, "{pattern} {text}");
        }
        assert_eq!(iso("HHmmss", "70500").as_deref(), Some("07:05:00"), "a number has lost its leading zero");
        for (pattern, text) in [
            ("yyyyMMdd", "20260231"),
            ("yyyyMMdd", "00000000"),
            ("yyyyMMdd", "00000101"),
            ("yyyyDDD", "0000366"),
            ("yyyyMMdd", ""),
            ("yyyyMMdd", "2026013x"),
            ("yyDDD", "23366"),
            ("HHmm", "2460"),
        ] {
            assert_eq!(iso(pattern, text), None, "{pattern} {text}");
        }
        for bad in ["yyyy", "ddMM", "yyyyMMddQ", "yyyyyyyy", ""] {
            assert!(DatePattern::parse(bad).is_err(), "{bad}");
        }
        // A part that the ISO form does not show would come back as another one.
        for bad in ["yyyyMMddyy", "yyyyMMddDDD", "yyyyMMDDD", "yyyyMMddmm", "yyyyMMddss"] {
            assert!(DatePattern::parse(bad).is_err(), "{bad}");
        }
    }
}
