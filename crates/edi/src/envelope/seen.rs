//! Record of earlier control numbers, in bounded memory.

use crate::state::{StateReader, StateWriter};

/// Runs of control numbers. Consecutive numbers, by far the most frequent case, form one run of any length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Disjoint, in order.
    runs: Vec<(u64, u64)>,
    /// The run that grew last.
    last: usize,
}

/// Maximum number of runs; further numbers are not checked. Detecting more distant repetitions is the task of the register of control numbers.
const RUNS_MAX: usize = 4096;

impl Seen {
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.last = 0;
    }

    /// Writes the starts of runs and their lengths, each relative to the end of the preceding run.
    pub(crate) fn put_state(&self, out: &mut StateWriter) {
        out.number(self.runs.len() as u64);
        out.number(self.last as u64);
        let mut before = 0;
        for (start, end) in &self.runs {
            out.number(start.wrapping_sub(before));
            out.number(end - start);
            before = *end;
        }
    }

    pub(crate) fn from_state(from: &mut StateReader<'_>) -> Option<Self> {
        let count = usize::try_from(from.number()?).ok().filter(|count| *count <= RUNS_MAX)?;
        let last = usize::try_from(from.number()?).ok()?;
        let mut before = 0u64;
        let mut runs = Vec::with_capacity(count);
        for _ in 0..count {
            let start = before.wrapping_add(from.number()?);
            let end = start.checked_add(from.number()?)?;
            runs.push((start, end));
            before = end;
        }
        Some(Seen { runs, last })
    }

    /// Adds a control number; false if it was there.
    pub(crate) fn add(&mut self, control: &[u8]) -> bool {
        self.add_number(number(control))
    }

    /// Adds a control number that is a text: with other leading zeros it is another one.
    pub(crate) fn add_text(&mut self, control: &[u8]) -> bool {
        // Numbers of a length are a run of their own: the length is above their 47 bits.
        let is_number = control.len() <= 14 && control.iter().all(u8::is_ascii_digit);
        self.add_number(if is_number { (control.len() as u64) << 48 | number(control) } else { hash(control) })
    }

    fn add_number(&mut self, number: u64) -> bool {
        if let Some((_, end)) = self.runs.get_mut(self.last)
            && end.checked_add(1) == Some(number)
        {
            *end = number;
            if self.runs.get(self.last + 1).is_some_and(|(start, _)| *start <= number) {
                // The run met the next one.
                let (start, next_end) = self.runs.remove(self.last + 1);
                self.runs[self.last].1 = next_end;
                return start != number;
            }
            return true;
        }
        let at = self.runs.partition_point(|(_, end)| *end < number);
        if self.runs.get(at).is_some_and(|(start, _)| *start <= number) {
            return false;
        }
        if at > 0 && self.runs[at - 1].1.checked_add(1) == Some(number) {
            self.runs[at - 1].1 = number;
            self.last = at - 1;
        } else if self.runs.len() < RUNS_MAX {
            self.runs.insert(at, (number, number));
            self.last = at;
        }
        true
    }
}

/// Converts a control number to an integer so that consecutive numbers form runs; other values become a hash in the upper half.
fn number(control: &[u8]) -> u64 {
    if control.len() < 19 && !control.is_empty() && control.iter().all(u8::is_ascii_digit) {
        return control.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0'));
    }
    hash(control)
}

fn hash(control: &[u8]) -> u64 {
    let hash = control
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    hash | 1 << 63
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_again_in_any_order() {
        let mut seen = Seen::default();
        let order = [5u64, 6, 7, 1, 2, 3, 4, 9, 8, 20, 10];
        for (i, n) in order.into_iter().enumerate() {
            assert!(seen.add(n.to_string().as_bytes()), "{n}");
            for earlier in &order[..=i] {
                assert!(!seen.add(earlier.to_string().as_bytes()), "{earlier} after {n}");
            }
        }
        assert!(seen.add(b"A1") && seen.add(b"A2") && !seen.add(b"A1"));
        let mut texts = Seen::default();
        assert!(texts.add_text(b"1") && texts.add_text(b"01") && texts.add_text(b"2") && texts.add_text(b"02"));
        assert!(!texts.add_text(b"01") && !texts.add_text(b"2") && texts.add_text(b"A") && !texts.add_text(b"A"));
        assert_eq!(texts.runs.len(), 3);
        assert!(seen.runs.len() <= 5);
    }
}
