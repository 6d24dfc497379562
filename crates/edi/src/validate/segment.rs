//! Quick check of a segment at its place: one pass over its elements, with tables and without an allocation.

use super::element::{Settings, edifact_period, is_of_form};
use crate::guide::code_set::{Key, Standing};
use crate::guide::compile::{Cell, Layouts, Way};
use crate::segment::Segment;

/// Returns true if the segment certainly has no findings. Otherwise `explain` determines the findings, and may find the segment valid.
#[inline(always)]
pub(super) fn is_quickly_right(tables: &Layouts, layout: u32, segment: &Segment<'_>, settings: Settings) -> bool {
    let row = &tables.cells.rows[layout as usize];
    let cells = row.cells(&tables.cells);
    let text = segment.text;
    let [tag_end, ends @ ..] = segment.ends.positions() else { return false };
    // An invalid tag may also have parts.
    let in_tag = segment.parts.first().is_some_and(|at| at < tag_end);
    let unusual = in_tag
        || segment.binary
        || !segment.marks.is_empty()
        || !segment.printable && {
            let end = ends.last().unwrap_or(tag_end);
            is_unusual(text, segment.start as usize, *end as usize)
        };
    if ends.len() > cells.len() || unusual {
        return false;
    }
    let check = Check { tables, text, settings };
    let mut before = (*tag_end as usize, *tag_end as usize);
    let mut start = before.1 + 1;
    let (mut present, mut bit) = (0u64, 1u64);
    let mut parts = segment.parts;
    for (cell, end) in cells.iter().zip(ends) {
        let (from, end) = (start, *end as usize);
        start = end + 1;
        if from < end {
            present |= bit;
            let mut own: &[u32] = &[];
            if parts.first().is_some_and(|at| (*at as usize) < end) {
                let count = parts.iter().take_while(|at| (**at as usize) < end).count();
                (own, parts) = parts.split_at(count);
            }
            let right = if cell.way == Way::Composite {
                check.composite(cell, segment.delimiters.component, (from, end), own)
            } else {
                own.is_empty() && check.value(cell, (from, end), before)
            };
            if !right {
                return false;
            }
        }
        bit <<= 1;
        before = (from, end);
    }
    // Separators at the end separate nothing, and a segment has an element.
    before.0 < before.1 && row.allows(&tables.cells, present)
}

/// Context for checking the values of one segment.
struct Check<'a> {
    tables: &'a Layouts,
    text: &'a [u8],
    settings: Settings,
}

impl Check<'_> {
    /// Checks a value, given its range and that of the preceding one.
    #[inline(always)]
    fn value(&self, cell: &Cell, (from, end): (usize, usize), before: (usize, usize)) -> bool {
        let len = end - from;
        let key = || Key::within(self.text, from, len);
        let form = |key| is_of_form(cell, key, self.settings.numbers, || self.word(before));
        match cell.way {
            Way::Length => cell.fits(len),
            // Text that begins with a space is rare; the careful check determines whether it is all spaces.
            Way::Filled => cell.fits(len) && self.text[from] != b' ',
            Way::Code => cell.fits(len) && self.is_code(cell, key()),
            Way::Form => form(key()),
            Way::FormAndCode => form(key()) && self.is_code(cell, key()),
            Way::Composite | Way::EdifactPeriod | Way::Never => false,
        }
    }

    #[inline(always)]
    fn is_code(&self, cell: &Cell, key: Key<'_>) -> bool {
        let set = &self.tables.code_sets[cell.more as usize].set;
        matches!(set.standing(key, self.settings.day), Standing::Valid)
    }

    #[inline(always)]
    fn word(&self, (from, end): (usize, usize)) -> u64 {
        Key::within(self.text, from, end - from).word
    }

    /// Checks a composite without repetitions.
    #[inline(never)]
    fn composite(&self, cell: &Cell, separator: u8, (start, end): (usize, usize), parts: &[u32]) -> bool {
        let row = &self.tables.cells.composites[cell.more as usize];
        let cells = row.cells(&self.tables.cells);
        if parts.len() >= cells.len() {
            return false;
        }
        let mut before = (start, start);
        let mut from = start;
        let (mut present, mut bit) = (0u64, 1u64);
        for (number, cell) in cells[..=parts.len()].iter().enumerate() {
            let to = parts.get(number).map_or(end, |at| *at as usize);
            if to < end && self.text[to] != separator {
                return false;
            }
            if from < to {
                present |= bit;
                let right = if cell.way == Way::EdifactPeriod {
                    let next = parts.get(number + 1).map_or(end, |at| *at as usize);
                    self.period(cell, (from, to), (next.min(to + 1), next))
                } else {
                    self.value(cell, (from, to), before)
                };
                if !right {
                    return false;
                }
            }
            bit <<= 1;
            before = (from, to);
            from = to + 1;
        }
        before.0 < before.1 && row.allows(&self.tables.cells, present)
    }

    /// Checks a date, time or range against the format in the next component.
    fn period(&self, cell: &Cell, (from, end): (usize, usize), behind: (usize, usize)) -> bool {
        let key = Key::within(self.text, from, end - from);
        let period = edifact_period(self.word(behind));
        cell.fits(end - from)
            && period.is_none_or(|period| period.fits(key.bytes))
            && (cell.more as usize >= self.tables.code_sets.len() || self.is_code(cell, key))
    }
}

/// Returns true if there may be bytes other than printable ASCII, examined by words; no such byte is missed.
#[inline(always)]
fn is_unusual(text: &[u8], start: usize, end: usize) -> bool {
    let mut at = start;
    let mut found = 0u64;
    while at < end {
        let word = match text[at..].first_chunk::<8>() {
            Some(block) => u64::from_le_bytes(*block),
            None => return text[at..end].iter().any(|byte| !(0x20..0x7f).contains(byte)) || found != 0,
        };
        let left = end - at;
        let word = if left < 8 { (word & (u64::MAX >> (64 - 8 * left))) | (BLANKS << (8 * left)) } else { word };
        // Adding 1 to each byte finds 0x7f; it carries only out of 0xff, which is found already.
        found |= (word.wrapping_sub(BLANKS) | word | word.wrapping_add(ONES)) & 0x8080_8080_8080_8080;
        at += 8;
    }
    found != 0
}

const BLANKS: u64 = 0x2020_2020_2020_2020;
const ONES: u64 = 0x0101_0101_0101_0101;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_bytes_are_found_at_any_place() {
        let text: Vec<u8> = (0..40u8).map(|n| b'A' + n % 26).collect();
        for start in 0..20 {
            for end in start..text.len() {
                assert!(!is_unusual(&text, start, end));
                for at in 0..text.len() {
                    for byte in [0, 0x1f, 0x7f, 0x80, 0xff] {
                        let mut text = text.clone();
                        text[at] = byte;
                        assert_eq!(is_unusual(&text, start, end), (start..end).contains(&at), "{at} in {start}..{end}");
                    }
                }
            }
        }
    }
}
