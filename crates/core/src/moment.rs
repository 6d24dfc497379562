//! Dates and timestamps as text, where a format has types for them.

/// Kind of date or time that a text leaf contains.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moment {
    /// `2026-01-31`.
    Date,
    /// `2026-01-31T23:59:59`, with up to six decimals and without a time zone. A blank in the place of `T`, as databases write it, is
    /// read too; readers and writers of text put the `T` there, so that all texts have one form.
    Timestamp,
}

impl Moment {
    /// Characters of the longest text.
    #[must_use]
    pub fn chars_max(self) -> u32 {
        match self {
            Moment::Date => 10,
            Moment::Timestamp => 26,
        }
    }

    /// Describes the form of the text, for findings.
    #[must_use]
    pub fn form(self) -> &'static str {
        match self {
            Moment::Date => "a date YYYY-MM-DD",
            Moment::Timestamp => "a timestamp YYYY-MM-DDThh:mm:ss with up to 6 decimals",
        }
    }

    /// Bytes of the date, before the `T` of a timestamp.
    pub const DATE_LEN: usize = 10;

    /// Returns true if the text, which is valid, has a blank in the place of `T`.
    #[must_use]
    pub fn has_blank(self, text: &[u8]) -> bool {
        self == Moment::Timestamp && text.get(Moment::DATE_LEN) == Some(&b' ')
    }

    /// Returns the text with `T` in the place of a blank; `None` if it has no such blank or is not valid.
    #[must_use]
    pub fn in_one_form(self, text: &[u8]) -> Option<Vec<u8>> {
        if !self.has_blank(text) || self.read(text).is_none() {
            return None;
        }
        let mut text = text.to_vec();
        text[Moment::DATE_LEN] = b'T';
        Some(text)
    }

    /// Days, or microseconds, since 1970-01-01 in the proleptic Gregorian calendar; `None` for text of another form and for days and times that
    /// do not exist. Years are 1 to 9999: many readers of Parquet and Arrow fail on the year 0.
    #[must_use]
    pub fn read(self, text: &[u8]) -> Option<i64> {
        let (date, rest) = text.split_at_checked(10)?;
        let days = days(date)?;
        match (self, rest) {
            (Moment::Date, []) => Some(days),
            (Moment::Timestamp, [b'T' | b' ', time @ ..]) => Some(days * 86_400_000_000 + micros(time)?),
            _ => None,
        }
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
}

fn days(date: &[u8]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else { return None };
    let (year, month, day) = (number(&[*y1, *y2, *y3, *y4])?, number(&[*m1, *m2])?, number(&[*d1, *d2])?);
    if year == 0 {
        return None;
    }
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    // Years begin in March here, so that a leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468)
}

fn micros(time: &[u8]) -> Option<i64> {
    let (clock, fraction) = time.split_at_checked(8)?;
    let [h1, h2, b':', m1, m2, b':', s1, s2] = clock else { return None };
    let (hours, minutes, seconds) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?, number(&[*s1, *s2])?);
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let fraction = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            let missing = u32::try_from(6 - digits.len()).unwrap_or(0);
            number(digits)? * 10i64.pow(missing)
        }
        _ => return None,
    };
    Some((hours * 3600 + minutes * 60 + seconds) * 1_000_000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_instants_that_exist_are_read() {
        let date = |text: &str| Moment::Date.read(text.as_bytes());
        assert_eq!((date("1970-01-01"), date("1969-12-31"), date("2000-02-29")), (Some(0), Some(-1), Some(11_016)));
        assert_eq!(
            (date("2026-11-23"), date("0001-01-01"), date("9999-12-31")),
            (Some(20_780), Some(-719_162), Some(2_932_896))
        );
        for wrong in [
            "0000-01-01",
            "0000-12-31",
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-04-31",
            "20260101",
            "2026-1-01",
            "2026-01-01 ",
            "",
        ] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
        let at = |text: &str| Moment::Timestamp.read(text.as_bytes());
        assert_eq!(at("1970-01-01T00:00:01.5"), Some(1_500_000));
        assert_eq!(at("1969-12-31 23:59:59.999999"), Some(-1));
        for wrong in [
            "0000-12-31T23:59:59",
            "1970-01-01",
            "1970-01-01T24:00:00",
            "1970-01-01T00:60:00",
            "1970-01-01T00:00:00Z",
            "1970-01-01T00:00:00.",
            "1970-01-01T00:00:00.1234567",
        ] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
