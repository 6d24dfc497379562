//! Days of the calendar.

/// Returns true if `YYYYMMDD` is a valid date.
#[inline(always)]
pub(crate) fn is_day(date: u32) -> bool {
    const DAYS: [u8; 16] = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0, 0, 0];
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    if month > 12 || day == 0 || day > u32::from(DAYS[month as usize]) {
        return false;
    }
    (month, day) != (2, 29) || (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
}
