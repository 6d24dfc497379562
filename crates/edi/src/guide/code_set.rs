//! Sets of codes that are looked up by up to eight bytes at a time.

/// Values of an element, each found by one multiplication and, nearly always, one comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeSet {
    /// Open addressing; 0 is free, since no value is empty.
    slots: Vec<u64>,
    shift: u32,
    /// Values of more than eight bytes, in order.
    long: Vec<Box<[u8]>>,
    /// First and last valid day by slot, then by `long`; empty if no code is limited.
    days: Vec<(u32, u32)>,
}

/// A value for lookup: up to eight bytes, low byte first; 0 for longer values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) word: u64,
    pub(crate) bytes: &'a [u8],
}

/// Status of a value in a set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Standing {
    Absent,
    /// Listed, but not valid on the day.
    OutOfDate,
    Valid,
}

impl<'a> Key<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Key { word: word(bytes), bytes }
    }

    /// Creates the key of the value of `len` bytes at `start` of `text`.
    #[inline(always)]
    pub(crate) fn within(text: &'a [u8], start: usize, len: usize) -> Self {
        let tail = &text[start..];
        let bytes = &tail[..len];
        let word = match tail.first_chunk::<8>() {
            Some(block) if len <= 8 => u64::from_le_bytes(*block) & MASKS[len],
            _ => word(bytes),
        };
        Key { word, bytes }
    }
}

/// The low bytes of a word.
const MASKS: [u64; 9] = {
    let mut masks = [0; 9];
    let mut len = 1;
    while len <= 8 {
        masks[len] = u64::MAX >> (64 - 8 * len);
        len += 1;
    }
    masks
};

#[inline(never)]
fn word(bytes: &[u8]) -> u64 {
    if bytes.len() > 8 {
        return 0;
    }
    let mut block = [0; 8];
    block[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(block)
}

const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl CodeSet {
    /// Creates a set of values with their optional first and last days.
    pub(crate) fn new<'v>(values: impl IntoIterator<Item = (&'v str, Option<u32>, Option<u32>)>) -> Self {
        let values: Vec<_> = values.into_iter().filter(|(value, ..)| !value.is_empty()).collect();
        let dated = values.iter().any(|(_, from, until)| from.is_some() || until.is_some());
        let size = (values.len() * 2).next_power_of_two().max(4);
        let mut set = CodeSet {
            slots: vec![0; size],
            shift: 64 - size.trailing_zeros(),
            long: values
                .iter()
                .filter(|(value, ..)| value.len() > 8)
                .map(|(value, ..)| value.as_bytes().into())
                .collect(),
            days: Vec::new(),
        };
        set.long.sort();
        set.long.dedup();
        if dated {
            set.days = vec![(0, u32::MAX); size + set.long.len()];
        }
        for (value, from, until) in values {
            let day = (from.unwrap_or(0), until.unwrap_or(u32::MAX));
            let at = if value.len() > 8 {
                size + set.long.partition_point(|long| &**long < value.as_bytes())
            } else {
                let key = word(value.as_bytes());
                let mut at = set.home(key);
                while set.slots[at] != 0 && set.slots[at] != key {
                    at = (at + 1) & (size - 1);
                }
                set.slots[at] = key;
                at
            };
            if dated {
                set.days[at] = day;
            }
        }
        set
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the shift leaves an index into `slots`")]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    #[inline(always)]
    pub(crate) fn contains(&self, key: Key<'_>) -> bool {
        self.find(key).is_some()
    }

    /// Returns whether the set has a value, or has it without the blanks after it: identifiers shorter than their least length are filled with blanks
    /// (X12.6, type ID).
    #[inline(always)]
    pub(crate) fn holds(&self, key: Key<'_>) -> bool {
        self.contains(key) || key.bytes.last() == Some(&b' ') && self.contains_without_blanks(key.bytes)
    }

    #[cold]
    fn contains_without_blanks(&self, bytes: &[u8]) -> bool {
        let bytes = bytes.trim_ascii_end();
        !bytes.is_empty() && self.contains(Key::of(bytes))
    }

    /// Returns whether a value is listed, and valid on a day (`YYYYMMDD`) if one is given.
    #[inline(always)]
    pub(crate) fn standing(&self, key: Key<'_>, day: Option<u32>) -> Standing {
        match self.find(key) {
            None => Standing::Absent,
            Some(_) if self.days.is_empty() => Standing::Valid,
            Some(at) => {
                let (from, until) = self.days[at];
                match day {
                    Some(day) if day < from || day > until => Standing::OutOfDate,
                    _ => Standing::Valid,
                }
            }
        }
    }

    #[inline(always)]
    fn find(&self, key: Key<'_>) -> Option<usize> {
        if key.word == 0 {
            return self.find_long(key.bytes);
        }
        let mut at = self.home(key.word);
        loop {
            let here = *self.slots.get(at)?;
            if here == key.word {
                return Some(at);
            }
            if here == 0 {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[cold]
    fn find_long(&self, bytes: &[u8]) -> Option<usize> {
        self.long.binary_search_by(|long| (**long).cmp(bytes)).ok().map(|at| self.slots.len() + at)
    }
}

quayline_core::stored!(struct CodeSet { slots, shift, long, days });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_codes_are_found_with_their_days() {
        let names: Vec<String> = (0..500).map(|n| format!("{n:X}")).collect();
        let set = CodeSet::new(names.iter().map(|name| (name.as_str(), None, None)));
        for n in 0..1000 {
            assert_eq!(set.contains(Key::of(format!("{n:X}").as_bytes())), n < 500, "{n}");
        }
        let set =
            CodeSet::new([("A", Some(20_200_101), None), ("NINEBYTES", None, Some(20_200_101)), ("B", None, None)]);
        let standing = |value: &str, day| set.standing(Key::of(value.as_bytes()), day);
        assert!(matches!(standing("A", Some(20_191_231)), Standing::OutOfDate));
        assert!(matches!(standing("A", None), Standing::Valid));
        assert!(matches!(standing("NINEBYTES", Some(20_200_102)), Standing::OutOfDate));
        assert!(matches!(standing("NINEBYTES", Some(20_200_101)), Standing::Valid));
        assert!(matches!(standing("NINEBYTER", None), Standing::Absent));
        assert!(matches!(standing("B", Some(1)), Standing::Valid));
        let text = b"xxABCDEFGHyy";
        assert_eq!(Key::within(text, 2, 3).word, Key::of(b"ABC").word);
        assert_eq!(Key::within(text, 10, 2).word, Key::of(b"yy").word);
    }
}
