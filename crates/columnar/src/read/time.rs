//! Dates and times as text.

use arrow_schema::TimeUnit;

const DAY_SECONDS: i64 = 86_400;

/// Writes days since 1970-01-01 as `YYYY-MM-DD`, in the proleptic Gregorian calendar. Years outside 0000 to 9999 have a sign and
/// more digits, as ISO 8601 writes them by mutual agreement.
pub(super) fn date(out: &mut Vec<u8>, days: i64) {
    // Eras of 400 years that begin on 1 March: the leap day is the last of its year.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    if (0..=9999).contains(&year) {
        push(out, format_args!("{year:04}-{month:02}-{day:02}"));
    } else {
        push(out, format_args!("{year:+05}-{month:02}-{day:02}"));
    }
}

/// Formats an instant or a local time, counted in this unit since 1970-01-01T00:00:00.
pub(super) fn timestamp(out: &mut Vec<u8>, value: i64, unit: TimeUnit, is_instant: bool) {
    let second = per_second(unit);
    let (seconds, fraction) = (value.div_euclid(second), value.rem_euclid(second));
    date(out, seconds.div_euclid(DAY_SECONDS));
    out.push(b'T');
    clock(out, seconds.rem_euclid(DAY_SECONDS), fraction, unit);
    if is_instant {
        out.push(b'Z');
    }
}

/// Formats a time of day, counted in this unit since midnight.
pub(super) fn time(out: &mut Vec<u8>, value: i64, unit: TimeUnit) {
    let second = per_second(unit);
    clock(out, value.div_euclid(second), value.rem_euclid(second), unit);
}

/// Returns true if a count of this unit since midnight is less than a day.
pub(super) fn is_time_of_day(value: i64, unit: TimeUnit) -> bool {
    (0..DAY_SECONDS).contains(&value.div_euclid(per_second(unit)))
}

fn clock(out: &mut Vec<u8>, seconds: i64, fraction: i64, unit: TimeUnit) {
    push(out, format_args!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
    match unit {
        TimeUnit::Second => {}
        TimeUnit::Millisecond => push(out, format_args!(".{fraction:03}")),
        TimeUnit::Microsecond => push(out, format_args!(".{fraction:06}")),
        TimeUnit::Nanosecond => push(out, format_args!(".{fraction:09}")),
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn push(out: &mut Vec<u8>, text: core::fmt::Arguments<'_>) {
    use std::io::Write as _;
    out.write_fmt(text).expect("writing to a vector does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn days_are_dates_of_the_gregorian_calendar() {
        let dates = [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_779, "2026-11-22"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
            (-25_509, "1900-02-28"),
            (-25_508, "1900-03-01"),
        ];
        for (days, date_text) in dates {
            assert_eq!(text(|out| date(out, days)), date_text, "{days}");
        }
    }

    #[test]
    fn every_decimal_of_the_unit_is_written() {
        assert_eq!(text(|out| timestamp(out, -1, TimeUnit::Millisecond, true)), "1969-12-31T23:59:59.999Z");
        assert_eq!(text(|out| timestamp(out, 1, TimeUnit::Nanosecond, false)), "1970-01-01T00:00:00.000000001");
        assert_eq!(text(|out| timestamp(out, 86_399, TimeUnit::Second, false)), "1970-01-01T23:59:59");
        assert_eq!(text(|out| time(out, 3_661_000_001, TimeUnit::Microsecond)), "01:01:01.000001");
        assert_eq!(text(|out| time(out, 86_400, TimeUnit::Second)), "24:00:00");
        assert!(is_time_of_day(0, TimeUnit::Second) && is_time_of_day(86_399_999, TimeUnit::Millisecond));
        assert!(!is_time_of_day(86_400, TimeUnit::Second) && !is_time_of_day(-1, TimeUnit::Millisecond));
    }
}
