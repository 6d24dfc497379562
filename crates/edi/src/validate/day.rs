//! Days of dates and ranges, for rules.

use super::element::{Settings, edifact_period, is_date, number, x12_period};
use crate::delimiters::Standard;
use crate::guide::code_set::Key;
use crate::guide::rules::Data;
use crate::segment::Segment;

/// Digits of the days in a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Days {
    /// Eight or six.
    Any,
    /// `CCYYMMDD`. Six digits are a month, or their meaning is unknown.
    Long,
    /// `YYMMDD`.
    Short,
}

/// An end of a range.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Which {
    First,
    Last,
}

/// Returns the digits of the days in an element: those of its type, or those of the format code beside it, which is before it in X12 (1250) and
/// after it in EDIFACT (2379).
pub(super) fn days_of_format(
    segment: &Segment<'_>,
    element: usize,
    component: usize,
    data: Data,
    settings: Settings,
) -> Days {
    if data == Data::Date {
        return Days::Any;
    }
    let part = |element: usize, component: usize| {
        let first = segment.element(element)?.repetitions().next()?;
        Some(Key::of(first.component(component)?.raw()).word)
    };
    let period = match settings.numbers.standard {
        Standard::X12 if component > 1 => part(element, component - 1).and_then(x12_period),
        Standard::X12 => element.checked_sub(1).and_then(|before| part(before, 1)).and_then(x12_period),
        Standard::Edifact => part(element, component.max(1) + 1).and_then(edifact_period),
    };
    if period.is_some_and(|period| period.has_short_days()) { Days::Short } else { Days::Long }
}

/// Returns the first or last day, `CCYYMMDD`, of a date or of a range with or without a hyphen; times after them are ignored.
pub(super) fn day(text: &[u8], which: Which, days: Days) -> Option<u32> {
    let (first, last) = match text.iter().position(|byte| *byte == b'-') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None if text.len() == 16 => text.split_at(8),
        None => (text, text),
    };
    let text = if which == Which::First { first } else { last };
    let lengths: &[usize] = match days {
        Days::Any => &[8, 6],
        Days::Long => &[8],
        Days::Short => &[6],
    };
    let date = lengths.iter().filter_map(|len| text.get(..*len)).find(|date| is_date(date))?;
    let day = number(date);
    Some(if date.len() == 6 { 20_000_000 + day } else { day })
}
