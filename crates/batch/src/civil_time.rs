//! Times and dates in UTC as text.

/// Formats a time as `2026-11-22T20:00:00.000Z`.
#[must_use]
pub fn time_text(ms: u64) -> String {
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    // Days from 1 March of the year 0, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year_of_era + carry;
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", of_day % 1_000)
}

/// Converts a date such as `2026-11-22` to the first millisecond of that day since 1970 in UTC. Returns `None` if the day does not exist.
#[must_use]
pub fn day_ms(text: &str) -> Option<u64> {
    let mut parts = text.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if text.len() != 10 || parts.next().is_some() || !(1970..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    // Years begin in March, so that a leap day is the last of its year.
    let (year, of_year) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * of_year + 2) / 5 + day - 1;
    let ms = days.checked_sub(719_468)? * 86_400_000;
    // A day that the month does not have is another day.
    time_text(ms).starts_with(text).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::{day_ms, time_text};

    #[test]
    fn days_are_those_of_the_civil_calendar() {
        for text in ["1970-01-01", "2000-02-29", "2026-11-22", "2100-03-01", "1999-12-31"] {
            let ms = day_ms(text).unwrap();
            assert!(time_text(ms).starts_with(text), "{text}: {ms}");
        }
        for none in ["2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "1969-12-31", "today", "2026-11-31", ""] {
            assert_eq!(day_ms(none), None, "{none}");
        }
    }

    #[test]
    fn times_are_those_of_the_civil_calendar() {
        assert_eq!(time_text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time_text(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(time_text(1_795_380_000_123), "2026-11-22T20:40:00.123Z");
    }
}
