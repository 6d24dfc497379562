//! Search for the next key from which a damaged tree can be read.
//!
//! Keys are numbers of a fixed length here: one byte longer than the keys in view, with zeros at the end. The steps from the last good key grow until
//! the tree can be read. Then the search halves the distance, so that it passes over the damaged page and not over the intact pages after it.

use std::ops::Bound;

/// Four steps for each power of two. With more steps, the search finds more intact pages between two damaged ones.
const STEPS: std::ops::Range<u8> = 4..8;
/// Length of keys, beyond that of the bounds, if the last key of the range cannot be read. Default 8 bytes, which cover most numbers.
const UNKNOWN_BYTES: usize = 8;

/// Place of a search: after a key and up to the end of a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damaged<'k> {
    /// The last key before the damage.
    pub(crate) after: &'k [u8],
    /// Last key of the range; `None` if it cannot be read.
    pub(crate) last: Option<&'k [u8]>,
    /// End of the range.
    pub(crate) to: Bound<&'k [u8]>,
}

impl Damaged<'_> {
    /// Returns the smallest key from which the tree can be read; `None` without one. With several damaged pages, an intact page between them can be
    /// missed. `reads` tries a key. At most 40 tries for each byte of a key are needed.
    pub(crate) fn next_readable(&self, reads: &mut dyn FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
        let (mut fails, mut found) = self.first_step(reads)?;
        while let Some(middle) = between(&fails, &found) {
            if reads(&middle) {
                found = middle;
            } else {
                fails = middle;
            }
        }
        // A shorter key is less than itself with zeros.
        while found.last() == Some(&0) && found[..found.len() - 1] > *self.after && reads(&found[..found.len() - 1]) {
            found.pop();
        }
        Some(found)
    }

    /// Returns a key that cannot be read and a greater one that can be read. If the key before the damage can be read with zeros after it, both are
    /// that key.
    fn first_step(&self, reads: &mut dyn FnMut(&[u8]) -> bool) -> Option<(Vec<u8>, Vec<u8>)> {
        let end = match self.to {
            Bound::Included(to) | Bound::Excluded(to) => to.len(),
            Bound::Unbounded => 0,
        };
        let length = self.after.len().max(self.last.map_or(end + UNKNOWN_BYTES, <[u8]>::len)) + 1;
        let padded = |key: &[u8]| [key, &vec![0; length - key.len()]].concat();
        let begin = padded(self.after);
        if reads(&begin) {
            return Some((begin.clone(), begin));
        }
        let mut fails = begin.clone();
        for (bit, step) in (0..8 * length).flat_map(|bit| STEPS.map(move |step| (bit, step))) {
            let Some(next) = plus(&begin, step, bit).filter(|next| self.is_inside(next)) else { break };
            if reads(&next) {
                return Some((fails, next));
            }
            fails = next;
        }
        let last = self.last.filter(|last| reads(last))?;
        Some((fails, padded(last)))
    }

    fn is_inside(&self, key: &[u8]) -> bool {
        match (self.last, self.to) {
            (Some(last), _) => key < last,
            (None, Bound::Included(to)) => key <= to,
            (None, Bound::Excluded(to)) => key < to,
            (None, Bound::Unbounded) => true,
        }
    }
}

/// Returns a number plus `step * 2^bit`; `None` if it becomes longer.
fn plus(number: &[u8], step: u8, bit: usize) -> Option<Vec<u8>> {
    let mut sum = number.to_vec();
    let mut carry = u32::from(step) << (bit % 8);
    for byte in sum.iter_mut().rev().skip(bit / 8) {
        carry += u32::from(*byte);
        *byte = carry.to_le_bytes()[0];
        carry >>= 8;
    }
    (carry == 0).then_some(sum)
}

/// Returns the number in the middle of two of equal length; `None` if none is between them.
fn between(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    let mut carry = 0u32;
    let mut sum: Vec<u32> = low.iter().zip(high).map(|(low, high)| u32::from(*low) + u32::from(*high)).collect();
    for digit in sum.iter_mut().rev() {
        carry += *digit;
        *digit = carry & 0xff;
        carry >>= 8;
    }
    let mut middle = Vec::with_capacity(low.len());
    for digit in sum {
        carry = (carry << 8) | digit;
        middle.push((carry >> 1).to_le_bytes()[0]);
        carry &= 1;
    }
    (middle.as_slice() > low).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a search finds in a tree whose keys from one up to another cannot be read, and its number of tries.
    fn found(after: &str, last: Option<&str>, damaged: &[(&str, &str)]) -> (Option<Vec<u8>>, usize) {
        let mut tries = 0;
        let place = Damaged { after: after.as_bytes(), last: last.map(str::as_bytes), to: Bound::Excluded(b"Z") };
        let next = place.next_readable(&mut |key| {
            tries += 1;
            !damaged.iter().any(|(from, to)| (from.as_bytes()..to.as_bytes()).contains(&key))
        });
        (next, tries)
    }

    #[test]
    fn a_search_finds_the_end_of_the_damage() {
        for (after, last, end) in [
            ("F00001965", Some("F00002999"), "F00002014"),
            ("F00001965", None, "F00002014"),
            ("F00000009", Some("F00000010"), "F00000010"),
            // The first page, with nothing but the prefix of the space before it.
            ("F", Some("FCUSTOMER-00002999"), "FCUSTOMER-00000049"),
            ("F", None, "F0049"),
            ("", Some("F9"), "F5"),
            // Keys of several lengths.
            ("FA", Some("FABCDE"), "FAB"),
            ("FA\0", Some("FABCDE"), "FA\0\0\0\0"),
        ] {
            let (next, tries) = found(after, last, &[("", end)]);
            assert_eq!(next.as_deref(), Some(end.as_bytes()), "after {after:?}");
            let bytes = after.len().max(last.map_or(9, str::len)) + 1;
            assert!(tries <= 40 * bytes + 1, "{tries} tries after {after:?}");
        }
        assert_eq!(found("F0001", Some("F0009"), &[("", "G")]).0, None);
        assert_eq!(found("F0001", None, &[("", "Z")]).0, None);
    }

    #[test]
    fn an_intact_page_between_two_damaged_ones_is_found() {
        let damaged = [("", "F00002014"), ("F00002500", "F00002550")];
        assert_eq!(found("F00001965", Some("F00002999"), &damaged).0.as_deref(), Some(b"F00002014".as_slice()));
    }
}
