//! Times and header fields as text.

/// Bytes of an interchange as text, without loss: UTF-8 where it is UTF-8, ISO 8859-1 otherwise.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    match core::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

/// Formats milliseconds since 1970-01-01 UTC as `CCYY-MM-DDTHH:MM:SSZ`.
#[must_use]
pub fn time_text(ms: u64) -> String {
    let (days, second) = (ms / 86_400_000, ms / 1_000 % 86_400);
    // Years of 365.2425 days from 0000-03-01, so that the leap day is the last of its year.
    let days = days.min(2_932_896) + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

/// Parses the format of [`time_text`]. A date alone is its midnight; seconds and `Z` are optional.
#[must_use]
pub fn time_of(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, sign: char, widths: &[usize]| -> Option<Vec<i64>> {
        let parts: Vec<&str> = text.split(sign).collect();
        let fits = parts.len() <= widths.len() && parts.iter().zip(widths).all(|(part, width)| part.len() == *width);
        let digits = fits && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        digits.then(|| parts.iter().filter_map(|part| part.parse().ok()).collect())
    };
    let date = numbers(date, '-', &[4, 2, 2]).filter(|date| date.len() == 3)?;
    let time = numbers(time, ':', &[2, 2, 2]).filter(|time| time.len() >= 2)?;
    let (year, month, day) = (date[0], date[1], date[2]);
    let second = time.get(2).copied().unwrap_or(0);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => 31,
    };
    if year < 1970
        || !(1..=12).contains(&month)
        || !(1..=length).contains(&day)
        || time[0] > 23
        || time[1] > 59
        || second > 59
    {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    u64::try_from((days * 86_400 + time[0] * 3_600 + time[1] * 60 + second) * 1_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back() {
        for text in ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2026-11-22T20:30:00Z", "2100-03-01T00:00:00Z"] {
            assert_eq!(time_text(time_of(text).expect("a time")), text);
        }
        assert_eq!(time_of("2026-01-02"), time_of("2026-01-02T00:00"));
        for wrong in ["2026-02-29", "2026-13-01", "26-01-01", "2026-01-01T24:00", "1969-12-31", "now", "2026-01-01T10"]
        {
            assert_eq!(time_of(wrong), None, "{wrong}");
        }
    }
}
