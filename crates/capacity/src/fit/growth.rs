//! Time until growth exhausts a machine.

use crate::error::{positive, within};
use crate::{Estimate, Method, ModelError, PerMonth, Share};

/// A date of the Gregorian calendar.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct CalendarDate {
    year: i32,
    month: u8,
    day: u8,
}

impl CalendarDate {
    /// Creates a date; `None` if the calendar does not have it.
    #[must_use]
    pub fn new(year: i32, month: u8, day: u8) -> Option<CalendarDate> {
        let valid = (1..=12).contains(&month) && day >= 1 && day <= days_of(year, month);
        valid.then_some(CalendarDate { year, month, day })
    }

    /// Parses a date of the form `YYYY-MM-DD`.
    #[must_use]
    pub fn parse(text: &str) -> Option<CalendarDate> {
        let mut parts = text.splitn(3, '-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        CalendarDate::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
    }

    /// Returns the date `months` later. A day that the month does not have becomes its last day. A fraction of a month is converted to days,
    /// rounded down, so that a date of exhaustion is never late.
    #[must_use]
    pub fn after_months(self, months: f64) -> CalendarDate {
        let whole = crate::quantity::count_down(months).min(1_200_000);
        let part = (months - whole as f64).clamp(0.0, 1.0);
        let at = i64::from(self.year) * 12 + i64::from(self.month) - 1 + i64::try_from(whole).unwrap_or(0);
        let year = i32::try_from(at.div_euclid(12)).unwrap_or(i32::MAX);
        let month = u8::try_from(at.rem_euclid(12) + 1).unwrap_or(12);
        let mut date = CalendarDate { year, month, day: self.day.min(days_of(year, month)) };
        for _ in 0..crate::quantity::count_down(part * f64::from(days_of(year, month))) {
            date = date.next();
        }
        date
    }

    fn next(self) -> CalendarDate {
        if self.day < days_of(self.year, self.month) {
            CalendarDate { day: self.day + 1, ..self }
        } else if self.month < 12 {
            CalendarDate { month: self.month + 1, day: 1, ..self }
        } else {
            CalendarDate { year: self.year.saturating_add(1), month: 1, day: 1 }
        }
    }
}

impl core::fmt::Display for CalendarDate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

fn days_of(year: i32, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Time at which a utilization is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exhaustion {
    /// The utilization is reached already.
    Now,
    /// The utilization is reached after a number of months.
    After {
        /// Months from the measurement.
        months: f64,
    },
    /// The utilization is never reached, because the load does not grow.
    Never,
}

impl Exhaustion {
    /// Returns the months until the utilization is reached: 0 if it is reached now, `None` if it never is.
    #[must_use]
    pub fn months(&self) -> Option<f64> {
        match self {
            Exhaustion::Now => Some(0.0),
            Exhaustion::After { months } => Some(*months),
            Exhaustion::Never => None,
        }
    }
}

/// Computes the time in which compound growth takes utilization from `now` to `target`: `ln(target / now) / ln(1 + growth)` months.
///
/// # Errors
/// [`ModelError`] for shares that are not positive, or a shrinkage of 100 % or more.
pub fn exhaustion(now: Share, target: Share, growth: PerMonth) -> Result<Estimate<Exhaustion>, ModelError> {
    let (now, target) = (positive("utilization", now.0)?, positive("target utilization", target.0)?);
    within("growth a month", growth.0, -1.0 + f64::EPSILON, 1e6)?;
    let answer = if now >= target {
        Exhaustion::Now
    } else if growth.0 <= 0.0 {
        Exhaustion::Never
    } else {
        Exhaustion::After { months: (target / now).ln() / growth.0.ln_1p() }
    };
    Ok(Estimate::exact(Method::CompoundGrowth, answer))
}
