//! Days, times and their formats. The calendar is the proleptic Gregorian one, years 1 to 9999.

/// Microseconds of a day.
pub(crate) const DAY: i64 = 86_400_000_000;

/// Converts a date to days since 1970-01-01; `None` for an invalid date.
pub(crate) fn days_from_civil(year: i32, month: i32, day: i32) -> Option<i32> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    // Years begin in March, so that the leap day is the last one.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Converts days since 1970-01-01 to year, month and day.
pub(crate) fn civil_from_days(days: i32) -> (i32, i32, i32) {
    let shifted = i64::from(days) + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let small = |n: i64| i32::try_from(n).unwrap_or(0);
    (small(year), small(month), small(day))
}

/// Parses a date such as `2026-01-31` to days since 1970-01-01.
pub(crate) fn iso_day(text: &[u8]) -> Option<i32> {
    let [_, _, _, _, b'-', _, _, b'-', _, _] = text else { return None };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0, |n, digit| digit.is_ascii_digit().then(|| n * 10 + i32::from(digit - b'0')))
    };
    days_from_civil(number(&text[..4])?, number(&text[5..7])?, number(&text[8..])?)
}

/// Parses a time of day such as `12:30:45.5` to microseconds; seconds and decimals are optional.
pub(crate) fn iso_time(text: &[u8]) -> Option<i64> {
    use Piece::{Fraction, Hour, Literal, Minute, Second};
    let pieces = vec![Hour, Literal(':'), Minute, Literal(':'), Second, Literal('.'), Fraction(u8::MAX)];
    Format { pieces, century: 1950, is_ascii: true }.read(text).map(|(_, micros)| micros)
}

/// Parses a timestamp such as `2026-01-31T12:30:45.5` to microseconds since 1970-01-01.
pub(crate) fn iso_moment(text: &[u8]) -> Option<i64> {
    let (day, time) = text.split_at_checked(10)?;
    let [b'T', time @ ..] = time else { return None };
    Some(i64::from(iso_day(day)?) * DAY + iso_time(time)?)
}

pub(crate) fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Returns the days since 1970-01-01 if they are within the years 1 to 9999.
pub(crate) fn in_range(days: i64) -> Option<i32> {
    // 0001-01-01 and 9999-12-31.
    (-719_162..=2_932_896).contains(&days).then(|| i32::try_from(days).unwrap_or(0))
}

/// Returns the same day of another month, or the last day of that month if it is shorter.
pub(crate) fn add_months(days: i32, months: i64) -> Option<i32> {
    let (year, month, day) = civil_from_days(days);
    let count = i64::from(year) * 12 + i64::from(month) - 1 + months;
    let year = i32::try_from(count.div_euclid(12)).ok()?;
    let month = i32::try_from(count.rem_euclid(12)).ok()? + 1;
    if !(1..=9999).contains(&year) {
        return None;
    }
    days_from_civil(year, month, day.min(days_in_month(year, month)))
}

/// A piece of a format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Piece {
    /// `CCYY` or `YYYY`.
    Year,
    /// `YY`: needs the century rule.
    ShortYear,
    /// `MM` next to a year or day.
    Month,
    /// `DD`.
    Day,
    /// `DDD`: day of the year.
    YearDay,
    /// `HH`.
    Hour,
    /// Minute: `MM` or `NN` after `HH`.
    Minute,
    /// `SS`.
    Second,
    /// Fraction of a second with this many digits. Those after the sixth must be zeros, because timestamps have microseconds.
    Fraction(u8),
    /// A literal character.
    Literal(char),
}

impl Piece {
    /// Returns whether two pieces are the same part of a date or time. Their widths may differ.
    fn says_the_same(self, other: Piece) -> bool {
        match (self, other) {
            (Piece::Literal(_), _) => false,
            (Piece::Year | Piece::ShortYear, Piece::Year | Piece::ShortYear) => true,
            (Piece::Fraction(_), Piece::Fraction(_)) => true,
            (a, b) => a == b,
        }
    }

    fn width(self) -> usize {
        match self {
            Piece::Year => 4,
            Piece::YearDay => 3,
            Piece::Fraction(n) => usize::from(n),
            Piece::Literal(_) => 1,
            _ => 2,
        }
    }
}

/// A date or time format, compiled.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Format {
    pub(crate) pieces: Vec<Piece>,
    /// First year of the hundred-year range for two-digit years.
    pub(crate) century: i32,
    /// True if the formatted text is printable ASCII.
    pub(crate) is_ascii: bool,
}

/// Error in a date format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FormatError {
    /// A letter that means nothing.
    Letter(char),
    /// The format contains the same part twice.
    Twice,
    Empty,
}

impl Format {
    /// Parses a format: `CCYYMMDD`, `YYMMDD`, `YYYY-MM-DD`, `HHMM`, `HH:MM:SS`, `CCYYDDD`, `CCYYMMDDHHMMSSff`.
    ///
    /// `MM` is a minute after an hour and otherwise a month. Letters that are not parts are refused, except for the literals `T` and `Z`.
    pub(crate) fn parse(text: &str, century: i32) -> Result<Self, FormatError> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (piece, len) = if rest.starts_with("CCYY") || rest.starts_with("YYYY") {
                (Piece::Year, 4)
            } else if rest.starts_with("YY") {
                (Piece::ShortYear, 2)
            } else if rest.starts_with("DDD") {
                (Piece::YearDay, 3)
            } else if rest.starts_with("DD") {
                (Piece::Day, 2)
            } else if rest.starts_with("HH") {
                (Piece::Hour, 2)
            } else if rest.starts_with("SS") {
                (Piece::Second, 2)
            } else if rest.starts_with("NN") {
                (Piece::Minute, 2)
            } else if rest.starts_with("MM") {
                let minute = pieces.contains(&Piece::Hour) && !pieces.contains(&Piece::Minute);
                (if minute { Piece::Minute } else { Piece::Month }, 2)
            } else if first == 'f' {
                let len = rest.bytes().take_while(|byte| *byte == b'f').count().min(usize::from(u8::MAX));
                (Piece::Fraction(u8::try_from(len).unwrap_or(u8::MAX)), len)
            } else if first.is_alphabetic() && !matches!(first, 'T' | 'Z') {
                return Err(FormatError::Letter(first));
            } else {
                (Piece::Literal(first), first.len_utf8())
            };
            if pieces.iter().any(|before| before.says_the_same(piece)) {
                return Err(FormatError::Twice);
            }
            pieces.push(piece);
            rest = &rest[len..];
        }
        if pieces.iter().all(|piece| matches!(piece, Piece::Literal(_))) {
            return Err(FormatError::Empty);
        }
        let is_ascii = pieces.iter().all(|piece| !matches!(piece, Piece::Literal(c) if !matches!(c, ' '..='~')));
        Ok(Format { pieces, century, is_ascii })
    }

    /// Returns true if the format determines the day.
    pub(crate) fn has_date(&self) -> bool {
        let has = |piece| self.pieces.contains(&piece);
        (has(Piece::Year) || has(Piece::ShortYear)) && (has(Piece::YearDay) || (has(Piece::Month) && has(Piece::Day)))
    }

    /// Returns true if the format contains the hour.
    pub(crate) fn has_time(&self) -> bool {
        self.pieces.contains(&Piece::Hour)
    }

    /// Returns true if the format contains parts of a time of day.
    pub(crate) fn needs_time(&self) -> bool {
        self.pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Hour | Piece::Minute | Piece::Second | Piece::Fraction(_)))
    }

    /// Returns true if the format contains parts of a date.
    pub(crate) fn needs_date(&self) -> bool {
        self.pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Year | Piece::ShortYear | Piece::Month | Piece::Day | Piece::YearDay))
    }

    /// Returns true if the format has a two-digit year.
    pub(crate) fn is_short(&self) -> bool {
        self.pieces.contains(&Piece::ShortYear)
    }

    /// Characters that it writes.
    pub(crate) fn width(&self) -> usize {
        self.pieces.iter().map(|piece| piece.width()).sum()
    }

    /// Returns the minimum number of characters that it parses.
    pub(crate) fn width_least(&self) -> usize {
        let end = (0..self.pieces.len()).find(|at| self.may_end(*at)).unwrap_or(self.pieces.len());
        self.pieces[..end].iter().map(|piece| piece.width()).sum()
    }

    /// Returns true if a text may end before a piece: all following pieces are seconds and fractions, each with its separator.
    fn may_end(&self, at: usize) -> bool {
        let mut rest = &self.pieces[at..];
        loop {
            rest = match rest {
                [] => return true,
                [Piece::Literal(':' | '.' | ','), Piece::Second | Piece::Fraction(_), rest @ ..]
                | [Piece::Second | Piece::Fraction(_), rest @ ..] => rest,
                _ => return false,
            };
        }
    }

    /// Reads a text: days and microseconds of the day. A text may end before seconds and fractions (X12 `TM` leaves them out); a fraction
    /// may have fewer digits, and no more than microseconds hold.
    pub(crate) fn read(&self, text: &[u8]) -> Option<(i32, i64)> {
        let (mut year, mut month, mut day, mut year_day) = (1970, 1, 1, None);
        let (mut hour, mut minute, mut second, mut micros) = (0i64, 0i64, 0i64, 0i64);
        let mut rest = text;
        for (at, piece) in self.pieces.iter().enumerate() {
            // After the mark of seconds there are seconds.
            let is_marked = at > 0 && matches!(self.pieces[at - 1], Piece::Literal(':' | '.' | ','));
            if rest.is_empty() && !is_marked && self.may_end(at) {
                break;
            }
            match piece {
                Piece::Year => year = take(&mut rest, 4)?,
                Piece::ShortYear => {
                    let n = take(&mut rest, 2)?;
                    let base = self.century.rem_euclid(100);
                    year = self.century - base + n + if n < base { 100 } else { 0 };
                }
                Piece::Month => month = take(&mut rest, 2)?,
                Piece::Day => day = take(&mut rest, 2)?,
                Piece::YearDay => year_day = Some(take(&mut rest, 3)?),
                Piece::Hour => hour = i64::from(take(&mut rest, 2)?),
                Piece::Minute => minute = i64::from(take(&mut rest, 2)?),
                Piece::Second => second = i64::from(take(&mut rest, 2)?),
                Piece::Fraction(n) => {
                    let (digits, after) = rest.split_at(usize::from(*n).min(rest.len()));
                    rest = after;
                    micros = micros_of(digits)?;
                }
                Piece::Literal(c) => {
                    let mut bytes = [0; 4];
                    rest = rest.strip_prefix(c.encode_utf8(&mut bytes).as_bytes())?;
                }
            }
        }
        if !rest.is_empty() || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = match year_day {
            Some(n) => {
                let first = days_from_civil(year, 1, 1)?;
                let length = if days_in_month(year, 2) == 29 { 366 } else { 365 };
                ((1..=length).contains(&n)).then_some(first + n - 1)?
            }
            None => days_from_civil(year, month, day)?,
        };
        Some((days, ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros))
    }

    /// Writes a day and a time.
    pub(crate) fn write(&self, days: i32, micros: i64, out: &mut Vec<u8>) {
        let (year, month, day) = civil_from_days(days);
        let seconds = micros / 1_000_000;
        for piece in &self.pieces {
            let (n, width): (i64, usize) = match piece {
                Piece::Year => (year.into(), 4),
                Piece::ShortYear => ((year % 100).into(), 2),
                Piece::Month => (month.into(), 2),
                Piece::Day => (day.into(), 2),
                Piece::YearDay => ((days - days_from_civil(year, 1, 1).unwrap_or(days) + 1).into(), 3),
                Piece::Hour => (seconds / 3600, 2),
                Piece::Minute => (seconds / 60 % 60, 2),
                Piece::Second => (seconds % 60, 2),
                Piece::Fraction(n) => {
                    let kept = (*n).min(6);
                    (micros % 1_000_000 / 10i64.pow(6 - u32::from(kept)), usize::from(kept))
                }
                Piece::Literal(c) => {
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
            };
            let mut digits = [b'0'; 6];
            let mut rest = n.unsigned_abs();
            for digit in digits[..width].iter_mut().rev() {
                *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
                rest /= 10;
            }
            out.extend_from_slice(&digits[..width]);
            out.extend(core::iter::repeat_n(b'0', piece.width() - width));
        }
    }
}

/// Parses and removes this many digits at the start of a text.
fn take(rest: &mut &[u8], len: usize) -> Option<i32> {
    let (digits, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    digits.iter().try_fold(0i32, |n, digit| digit.is_ascii_digit().then(|| n * 10 + i32::from(digit - b'0')))
}

/// Parses the fraction of a second as microseconds. It has at least one digit; `None` if a digit after the sixth is not 0.
fn micros_of(digits: &[u8]) -> Option<i64> {
    let (kept, more) = digits.split_at(digits.len().min(6));
    if kept.is_empty() || !kept.iter().all(u8::is_ascii_digit) || more.iter().any(|digit| *digit != b'0') {
        return None;
    }
    let read = kept.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0'));
    Some((kept.len()..6).fold(read, |n, _| n * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_civil_dates_are_inverse() {
        for days in (-719_162..=2_932_896).step_by(97) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), Some(days));
        }
        assert_eq!(days_from_civil(1970, 1, 1), Some(0));
        assert_eq!(days_from_civil(2026, 2, 29), None);
        assert_eq!(days_from_civil(2000, 2, 29), Some(11_016));
        assert_eq!(add_months(days_from_civil(2026, 1, 31).unwrap(), 1), days_from_civil(2026, 2, 28));
    }

    #[test]
    fn formats_read_what_they_write() {
        for text in ["CCYYMMDD", "YYYY-MM-DD", "CCYYDDD", "CCYYMMDDHHMMSSff", "DD.MM.CCYY", "CCYY-MM-DDTHH:MM:SSZ"] {
            let format = Format::parse(text, 1970).unwrap();
            let mut out = Vec::new();
            format.write(20_000, if format.has_time() { 45_296_120_000 } else { 0 }, &mut out);
            let (days, _) = format.read(&out).unwrap();
            assert_eq!(days, 20_000, "{text}");
        }
        let short = Format::parse("YYMMDD", 1970).unwrap();
        assert_eq!(short.read(b"691231").map(|(days, _)| civil_from_days(days).0), Some(2069));
        assert_eq!(short.read(b"700101").map(|(days, _)| civil_from_days(days).0), Some(1970));
        assert_eq!(short.read(b"701301"), None);
        assert_eq!(Format::parse("HHMMSSff", 1970).unwrap().read(b"1230"), Some((0, 45_000_000_000)));
        assert_eq!(Format::parse("CCYYMM?W", 1970), Err(FormatError::Letter('W')));
        assert_eq!(Format::parse("MMDDMM", 1970), Err(FormatError::Twice));
    }
}
