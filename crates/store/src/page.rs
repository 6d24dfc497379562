//! Ranges of keys, and pages of the entries in them.

use std::ops::Bound;

use crate::{FullKey, Space};

/// Direction of a browse.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// Entries of one space in browse order, and the position at which to continue. Reuse one page for many reads to reuse its memory.
#[derive(Debug, Default)]
pub struct Page {
    bytes: Vec<u8>,
    /// End of the key and end of the value of each entry in `bytes`.
    ends: Vec<(usize, usize)>,
    /// Bound from which the next page continues; `None` when the range is exhausted.
    pub next: Option<Bound<Vec<u8>>>,
}

impl Page {
    /// Removes all entries.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.next = None;
    }

    /// Adds an entry.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if the page has no entry. The range may still continue at [`Self::next`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all keys and values.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the key and value at an index below [`Self::len`].
    #[must_use]
    pub fn entry(&self, index: usize) -> (&[u8], &[u8]) {
        let begin = if index == 0 { 0 } else { self.ends[index - 1].1 };
        let (key_end, end) = self.ends[index];
        (&self.bytes[begin..key_end], &self.bytes[key_end..end])
    }

    /// Iterates over all entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.len()).map(|index| self.entry(index))
    }
}

/// Keys of a browse, inside one space.
#[derive(Clone, Copy, Debug)]
pub struct KeyRange<'a> {
    /// Lower bound.
    pub from: Bound<&'a [u8]>,
    /// Upper bound.
    pub to: Bound<&'a [u8]>,
}

impl KeyRange<'_> {
    /// The whole space.
    pub const ALL: KeyRange<'static> = KeyRange { from: Bound::Unbounded, to: Bound::Unbounded };

    /// Returns true if the range cannot contain a key. Ordered maps refuse such ranges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match (self.from, self.to) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(from), Bound::Included(to)) => from > to,
            (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
        }
    }

    /// Returns the bounds as full keys of a space.
    #[must_use]
    pub fn full(&self, space: Space) -> (Bound<FullKey>, Bound<FullKey>) {
        let from = match self.from {
            Bound::Unbounded => Bound::Included(FullKey::new(space, b"")),
            Bound::Included(key) => Bound::Included(FullKey::new(space, key)),
            Bound::Excluded(key) => Bound::Excluded(FullKey::new(space, key)),
        };
        let to = match self.to {
            Bound::Unbounded => match space.0.checked_add(1) {
                Some(after) => Bound::Excluded(FullKey::new(Space(after), b"")),
                None => Bound::Unbounded,
            },
            Bound::Included(key) => Bound::Included(FullKey::new(space, key)),
            Bound::Excluded(key) => Bound::Excluded(FullKey::new(space, key)),
        };
        (from, to)
    }

    /// Narrows the range to the part that follows a page.
    #[must_use]
    pub fn after<'n>(self, direction: Direction, next: &'n Bound<Vec<u8>>) -> KeyRange<'n>
    where
        Self: 'n,
    {
        let bound = match next {
            Bound::Included(key) => Bound::Included(key.as_slice()),
            Bound::Excluded(key) => Bound::Excluded(key.as_slice()),
            Bound::Unbounded => Bound::Unbounded,
        };
        match direction {
            Direction::Forward => KeyRange { from: bound, to: self.to },
            Direction::Backward => KeyRange { from: self.from, to: bound },
        }
    }
}

/// Size limits of one page. The page ends with the entry that reaches either limit.
#[derive(Clone, Copy, Debug)]
pub struct PageLimit {
    /// Entries.
    pub entries: usize,
    /// Bytes of keys and values.
    pub bytes: usize,
}

impl Default for PageLimit {
    fn default() -> Self {
        PageLimit { entries: 512, bytes: 256 << 10 }
    }
}
