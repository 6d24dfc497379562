//! Control numbers of written interchanges.

use core::fmt;

use crate::delimiters::Standard;
use crate::level::Level;

/// Scope of a control number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ControlKey<'a> {
    /// Standard of the interchange.
    pub standard: Standard,
    /// ISA13, GS06 or ST02; data elements 0020, 0048 or 0062.
    pub level: Level,
    /// Identification of the sender of the interchange, without padding.
    pub sender: &'a [u8],
    /// Identification of its receiver, without padding.
    pub receiver: &'a [u8],
}

/// State of the control numbers, to return to. Only the implementation interprets it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ControlMark(pub [u64; 3]);

/// Source of control numbers for written interchanges, groups and transactions.
///
/// A writer requests a number when it needs one, and returns to a mark when it discards its output. Within a run, no number may occur
/// twice at one level, for any receiver.
pub trait ControlNumbers: fmt::Debug + Send {
    /// Returns the next number as it is written: ASCII digits, for X12 at most nine. The writer pads ISA13 with zeros.
    fn next(&mut self, key: &ControlKey<'_>) -> String;

    /// Reports the number of a document that already has one, so that [`ControlNumbers::next`] must not return it.
    fn given(&mut self, key: &ControlKey<'_>, number: &[u8]);

    /// Returns the current state of the numbers. Checkpoints store it.
    fn mark(&self) -> ControlMark;

    /// Numbers that were given since the mark were not used.
    fn back_to(&mut self, mark: ControlMark);

    /// Returns a copy in the same state.
    fn boxed(&self) -> Box<dyn ControlNumbers>;
}

impl Clone for Box<dyn ControlNumbers> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

/// Consecutive numbers for each level, regardless of the partners. [`CountedNumbers::last`] is followed by 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CountedNumbers {
    /// The next ISA13 or data element 0020 of UNB.
    pub interchange: u64,
    /// The next GS06 or data element 0048 of UNG.
    pub group: u64,
    /// The next ST02 or data element 0062 of UNH.
    pub transaction: u64,
}

impl Default for CountedNumbers {
    /// Returns counters that begin at 1.
    fn default() -> Self {
        CountedNumbers { interchange: 1, group: 1, transaction: 1 }
    }
}

impl CountedNumbers {
    /// Returns the last number: nine digits in X12, and 14 in EDIFACT, where data elements 0020, 0048 and 0062 are an..14.
    #[must_use]
    pub fn last(standard: Standard) -> u64 {
        match standard {
            Standard::X12 => 999_999_999,
            Standard::Edifact => 99_999_999_999_999,
        }
    }

    fn of(&mut self, level: Level) -> &mut u64 {
        match level {
            Level::Interchange => &mut self.interchange,
            Level::Group => &mut self.group,
            Level::Transaction => &mut self.transaction,
        }
    }
}

impl ControlNumbers for CountedNumbers {
    fn next(&mut self, key: &ControlKey<'_>) -> String {
        let number = self.of(key.level);
        let taken = if (1..=CountedNumbers::last(key.standard)).contains(number) { *number } else { 1 };
        *number = taken + 1;
        match (key.standard, key.level) {
            // ST02 has at least four digits.
            (Standard::X12, Level::Transaction) => format!("{taken:04}"),
            _ => taken.to_string(),
        }
    }

    fn given(&mut self, key: &ControlKey<'_>, number: &[u8]) {
        let digits = core::str::from_utf8(number).ok().map(str::trim).and_then(|text| text.parse::<u64>().ok());
        let next = self.of(key.level);
        if let Some(number) = digits.filter(|number| *number <= CountedNumbers::last(key.standard)) {
            *next = (*next).max(number + 1);
        }
    }

    fn mark(&self) -> ControlMark {
        ControlMark([self.interchange, self.group, self.transaction])
    }

    fn back_to(&mut self, mark: ControlMark) {
        let ControlMark([interchange, group, transaction]) = mark;
        *self = CountedNumbers { interchange, group, transaction };
    }

    fn boxed(&self) -> Box<dyn ControlNumbers> {
        Box::new(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_skip_what_was_given_and_begin_anew_at_the_end() {
        let key = |level| ControlKey { standard: Standard::X12, level, sender: b"A", receiver: b"B" };
        for (standard, last) in [(Standard::X12, "999999999"), (Standard::Edifact, "99999999999999")] {
            let key = ControlKey { standard, ..key(Level::Interchange) };
            let mut numbers =
                CountedNumbers { interchange: CountedNumbers::last(standard), ..CountedNumbers::default() };
            assert_eq!([numbers.next(&key), numbers.next(&key)], [last, "1"]);
        }
        let mut numbers = CountedNumbers::default();
        let mark = numbers.mark();
        numbers.given(&key(Level::Transaction), b"0017");
        numbers.given(&key(Level::Transaction), b"0003");
        assert_eq!(numbers.next(&key(Level::Transaction)), "0018");
        numbers.given(&key(Level::Group), b"INV-1");
        assert_eq!(numbers.next(&key(Level::Group)), "1");
        numbers.back_to(mark);
        assert_eq!(
            (numbers.next(&key(Level::Transaction)), numbers.next(&key(Level::Group))),
            ("0001".into(), "1".into())
        );
    }
}
