//! HL segments of consecutive loops, whose hierarchy is given by HL02 alone.

use std::collections::VecDeque;

use super::hl::{HlFault, Level, parse, value};
use crate::content_error::ContentErrorKind as Kind;
use crate::guide::compile::{FlatLevels, ItemId};
use crate::guide::walk::Mark;

/// Maximum number of HL segments that are kept. References to earlier ones are accepted.
const RECENT_MAX: usize = 4_096;
/// Maximum number of gaps in the numbers that are kept.
const GAPS_MAX: usize = 16;

/// Follows the HL segments of a transaction whose HL loops are consecutive rather than nested (856, 857, 861; the standard's own 837).
///
/// Source: X12.22, segment HL. HL01 identifies each segment; if the first is 1 they must count up, as implementation guides require. HL02 is
/// the HL01 of an earlier segment, and HL04 states whether a later segment refers to this one. The guide defines the allowed parents of each level
/// (HL03).
#[derive(Clone, Debug, Default)]
pub(super) struct FlatHl {
    recent: VecDeque<Known>,
    /// HL01 of the last segment, or its expected value.
    counted: u64,
    /// HL01 of the last segment, if it is a number.
    last: u64,
    /// The first was 1.
    counting: bool,
    /// Numbers that were left out: the segments may be missing.
    gaps: Vec<(u64, u64)>,
    /// True after a wrong or missing reference to a parent. A level without children then does not prove a fault.
    orphan: bool,
    /// HL01 of one is not a number that others can name.
    blurred: bool,
    unsure: bool,
}

/// An HL.
#[derive(Clone, Debug)]
struct Known {
    declared: Vec<u8>,
    ordinal: u64,
    /// Index of its level in the guide.
    level: Option<usize>,
    /// Value of HL04.
    child: Option<bool>,
    has_child: bool,
    item: ItemId,
    at: Mark,
}

impl FlatHl {
    pub(super) fn start(&mut self) {
        self.recent.clear();
        *self = FlatHl { recent: core::mem::take(&mut self.recent), ..FlatHl::default() };
    }

    /// Records a fault of the structure: an HL may be missing. For a fault of an HL itself, one is certainly missing or superfluous.
    pub(super) fn doubt(&mut self, of_hl: bool) {
        self.orphan = true;
        self.unsure |= of_hl;
    }

    pub(super) fn segment(&mut self, levels: &FlatLevels, this: &Level<'_, '_>) -> Vec<HlFault> {
        let mut faults = Vec::new();
        let told = |element: usize| this.told & 1 << element != 0;
        let given = value(this.segment, 2);
        self.unsure = this.doubtful || (self.unsure && !given.is_empty());
        let declared = value(this.segment, 1);
        if self.begins_wrong(declared)
            && let Some(first) = self.recent.front()
        {
            faults.push(HlFault { kind: Kind::HlNumber { expected: 1 }, item: first.item, at: first.at, element: 1 });
        }
        let mut tell = |kind, element| faults.push(HlFault { kind, item: this.item, at: this.at, element });
        if let Some(kind) = self.number(declared)
            && !told(1)
        {
            tell(kind, 1);
        }
        self.blurred |= told(1);
        let ordinal = self.counted;
        let level = levels.find(value(this.segment, 3));
        let above = if given.is_empty() { None } else { self.find(given, ordinal) };
        let mut parent_fault = None;
        if self.unsure || told(2) {
            self.orphan = true;
        } else if given.is_empty() {
            let fits = level.is_none_or(|level| levels.may_be_top(level));
            parent_fault = (!fits).then_some(Kind::HlLevel { allowed: level.map(|level| levels.words(level)) });
        } else if let Some(above) = above {
            let above = &self.recent[above];
            let fits = level.zip(above.level).is_none_or(|(level, above)| levels.may_be_in(level, above));
            parent_fault = (!fits).then_some(Kind::HlLevel { allowed: level.map(|level| levels.words(level)) });
        } else if self.is_left_out(given) {
            self.orphan = true;
        } else {
            parent_fault = Some(Kind::HlUnknown);
        }
        self.orphan |= parent_fault.is_some();
        match (parent_fault, above) {
            (Some(kind), _) => tell(kind, 2),
            (None, Some(above)) => {
                let above = &mut self.recent[above];
                if above.child == Some(false) && !above.has_child && !self.unsure {
                    let (item, at) = (above.item, above.at);
                    faults.push(HlFault { kind: Kind::HlChild { has: true }, item, at, element: 4 });
                    self.orphan = true;
                }
                above.has_child = true;
            }
            (None, None) => {}
        }
        if level.is_none() && levels.are_given() && !told(3) && !self.unsure && !value(this.segment, 3).is_empty() {
            faults.push(HlFault { kind: Kind::HlLevel { allowed: None }, item: this.item, at: this.at, element: 3 });
        }
        let child = match value(this.segment, 4) {
            b"1" if !told(4) => Some(true),
            b"0" if !told(4) => Some(false),
            _ => None,
        };
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Known {
            declared: declared.to_vec(),
            ordinal,
            level,
            child,
            has_child: false,
            item: this.item,
            at: this.at,
        });
        faults
    }

    /// Ends the transaction.
    pub(super) fn end(&mut self) -> Vec<HlFault> {
        if self.unsure || self.orphan {
            return Vec::new();
        }
        let without = self.recent.iter().filter(|known| known.child == Some(true) && !known.has_child);
        without
            .map(|known| HlFault { kind: Kind::HlChild { has: false }, item: known.item, at: known.at, element: 4 })
            .collect()
    }

    /// Returns true if the first number was wrong, which a second number of 2 shows.
    fn begins_wrong(&mut self, declared: &[u8]) -> bool {
        let first = self.recent.front().and_then(|first| parse(&first.declared));
        let wrong = self.counted == 1 && !self.counting && declared == b"2" && first.is_some() && !self.unsure;
        self.counting |= wrong;
        wrong
    }

    /// Checks HL01.
    fn number(&mut self, declared: &[u8]) -> Option<Kind> {
        let number = parse(declared);
        if self.counted == 0 {
            self.counting = number == Some(1);
        }
        let ordinal = self.counted + 1;
        self.counted = ordinal;
        if !self.counting {
            let twice = !declared.is_empty() && self.recent.iter().any(|known| known.declared == declared);
            return twice.then_some(Kind::HlTwice);
        }
        let Some(number) = number else {
            return (!self.unsure && !declared.is_empty()).then_some(Kind::HlNumber { expected: ordinal });
        };
        let before = core::mem::replace(&mut self.last, number);
        if self.unsure || number == ordinal || number == before + 1 {
            self.counted = number;
            return None;
        }
        if number > ordinal && self.gaps.len() < GAPS_MAX {
            self.gaps.push((ordinal, number));
        }
        Some(Kind::HlNumber { expected: ordinal })
    }

    /// Returns the latest earlier segment with a number.
    fn find(&self, number: &[u8], ordinal: u64) -> Option<usize> {
        let count = if self.counting { parse(number).filter(|count| *count < ordinal) } else { None };
        // The numbers are consecutive, so the place follows from the number.
        let place = count.zip(self.recent.front()).and_then(|(count, first)| count.checked_sub(first.ordinal));
        let place = place.and_then(|place| usize::try_from(place).ok()).filter(|place| {
            self.recent.get(*place).is_some_and(|known| Some(known.ordinal) == count && known.declared == number)
        });
        place.or_else(|| {
            let declared = self.recent.iter().rposition(|known| known.declared == number);
            // The number may mean an HL whose own number is wrong, or a missing HL.
            let count = count.filter(|_| !self.is_left_out(number));
            declared.or_else(|| self.recent.iter().rposition(|known| Some(known.ordinal) == count))
        })
    }

    /// Returns true if a number may belong to a missing HL, or to one that is no longer kept.
    fn is_left_out(&self, number: &[u8]) -> bool {
        let first = self.recent.front().map_or(0, |first| first.ordinal);
        let starts = self.recent.front().and_then(|first| parse(&first.declared)).filter(|_| !self.counting);
        let is_far = self.recent.len() == RECENT_MAX;
        match parse(number) {
            Some(number) => {
                self.blurred
                    || starts.is_some_and(|starts| number < starts)
                    || self.gaps.iter().any(|(from, to)| (*from..*to).contains(&number))
                    || (is_far && (number < first || !self.counting))
            }
            None => is_far,
        }
    }
}
