//! Distinct byte strings, each with a key in order of first appearance.

use std::hash::{BuildHasher, Hasher, RandomState};

use quayline_core::Run;

/// Distinct byte strings in an arena.
///
/// Each string begins at a multiple of 16 bytes and is followed by zeros up to the next, so that comparing is comparing 16-byte blocks.
/// The seed of the hash is random, so that no file can be made to collide; keys do not depend on it.
#[derive(Clone, Debug)]
pub(crate) struct Dictionary {
    seed: u64,
    /// Open addressing; 0 is empty, otherwise key + 1. The length is a power of two.
    slots: Vec<u32>,
    entries: Vec<Entry>,
    arena: Vec<u8>,
    /// Bytes of all strings without padding.
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    len: u32,
    hash: u64,
}

impl Default for Dictionary {
    fn default() -> Self {
        Dictionary {
            seed: RandomState::new().build_hasher().finish(),
            slots: Vec::new(),
            entries: Vec::new(),
            arena: Vec::new(),
            bytes: 0,
        }
    }
}

impl Dictionary {
    /// Initial number of slots. It is small because a guide can have two thousand columns, most of them with one or two values.
    const SLOTS_MIN: usize = 16;

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of all strings.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn memory(&self) -> usize {
        self.arena.len() + self.entries.len() * size_of::<Entry>() + self.slots.len() * 4
    }

    pub(crate) fn get(&self, key: usize) -> Run<'_> {
        let entry = self.entries[key];
        Run::new(&self.arena[entry.start as usize..], entry.len as usize)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| &self.arena[entry.start as usize..][..entry.len as usize])
    }

    /// Returns the key of a string, and true if the string is new.
    #[inline(always)]
    pub(crate) fn intern(&mut self, value: Run<'_>) -> (u32, bool) {
        let hash = hash(value, self.seed);
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = fold(hash) & mask;
        while let Some(&slot) = self.slots.get(at)
            && slot != 0
        {
            let entry = self.entries[slot as usize - 1];
            if entry.hash == hash && entry.len as usize == value.len() && self.same(entry, value) {
                return (slot - 1, false);
            }
            at = (at + 1) & mask;
        }
        (self.insert(value, hash), true)
    }

    #[inline(always)]
    fn same(&self, entry: Entry, value: Run<'_>) -> bool {
        let mut at = 0;
        let stored = &self.arena[entry.start as usize..];
        while at < value.len() {
            if stored
                .get(at..at + 16)
                .and_then(|block| block.first_chunk::<16>())
                .map(|block| u128::from_le_bytes(*block))
                != Some(block(value, at))
            {
                return false;
            }
            at += 16;
        }
        true
    }

    #[cold]
    fn insert(&mut self, value: Run<'_>, hash: u64) -> u32 {
        if self.slots.len() < Self::SLOTS_MIN || self.entries.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let key =
            u32::try_from(self.entries.len()).expect("a dictionary is bounded by its owner far below 2^32 entries");
        let start = u32::try_from(self.arena.len()).expect("a dictionary is bounded by its owner far below 4 GiB");
        let len = u32::try_from(value.len()).expect("a value is shorter than 4 GiB");
        self.arena.extend_from_slice(value.bytes());
        self.arena.resize(self.arena.len().next_multiple_of(16), 0);
        self.bytes += value.len();
        self.entries.push(Entry { start, len, hash });
        self.place(key, hash);
        key
    }

    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(Self::SLOTS_MIN);
        self.slots.clear();
        self.slots.resize(len, 0);
        for key in 0..self.entries.len() {
            let hash = self.entries[key].hash;
            self.place(u32::try_from(key).expect("keys are 32 bits"), hash);
        }
    }

    fn place(&mut self, key: u32, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = fold(hash) & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = key + 1;
    }

    /// Forgets all strings and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
        self.entries.clear();
        self.arena.clear();
        self.bytes = 0;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits choose the slot")]
#[inline(always)]
fn fold(hash: u64) -> usize {
    hash as usize
}

/// Returns sixteen bytes of the run from `at`, with zeros after its end.
#[inline(always)]
fn block(value: Run<'_>, at: usize) -> u128 {
    let left = value.len() - at;
    match value.tail().get(at..at + 16).and_then(|bytes| bytes.first_chunk::<16>()) {
        Some(bytes) => u128::from_le_bytes(*bytes) & MASKS[left.min(16)],
        None => last_block(&value.bytes()[at..]),
    }
}

#[inline(never)]
fn last_block(bytes: &[u8]) -> u128 {
    let mut block = [0; 16];
    let len = bytes.len().min(16);
    block[..len].copy_from_slice(&bytes[..len]);
    u128::from_le_bytes(block)
}

const MASKS: [u128; 17] = {
    let mut masks = [u128::MAX; 17];
    let mut n = 0;
    while n < 16 {
        masks[n] = (1 << (8 * n)) - 1;
        n += 1;
    }
    masks
};

/// Hashes with folded 64 x 64 multiplications over the blocks. Strings are also compared, so a weak spot costs time and never gives
/// a wrong key.
#[inline(always)]
fn hash(value: Run<'_>, seed: u64) -> u64 {
    let mut hash = seed ^ value.len() as u64;
    let mut at = 0;
    while at < value.len() {
        let block = block(value, at);
        hash = multiply(low(block) ^ hash, high(block) ^ SALT);
        at += 16;
    }
    multiply(hash ^ SALT, PRIME)
}

const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
const SALT: u64 = 0xd1b5_4a32_d192_ed03;

#[inline(always)]
fn multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    low(product) ^ high(product)
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
#[inline(always)]
fn low(n: u128) -> u64 {
    n as u64
}

#[inline(always)]
fn high(n: u128) -> u64 {
    low(n >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_first_appearance_whatever_lies_behind_a_value() {
        let mut dictionary = Dictionary::default();
        let mut keys = Vec::new();
        let buffer: Vec<u8> = (0..=255).cycle().take(2000).collect();
        for len in 0..70 {
            for start in [0, 1, 16, 300] {
                let (key, new) = dictionary.intern(Run::new(&buffer[start..], len));
                keys.push((key, new));
                let (again, new) = dictionary.intern(buffer[start..start + len].into());
                assert_eq!((again, new), (key, false), "{len} bytes from {start}");
                assert_eq!(dictionary.get(key as usize).bytes(), &buffer[start..start + len]);
            }
        }
        // The empty value once, then four values of each length.
        assert_eq!(dictionary.len(), 1 + 69 * 4);
        assert!(keys.iter().filter(|(_, new)| *new).map(|(key, _)| *key).eq(0..277));
        dictionary.clear();
        assert_eq!(dictionary.intern(b"x"[..].into()), (0, true));
    }

    #[test]
    fn thousands_of_values_keep_their_keys() {
        let mut dictionary = Dictionary::default();
        for round in 0..2 {
            for n in 0..5000u32 {
                assert_eq!(dictionary.intern(format!("value {n}").as_bytes().into()), (n, round == 0));
            }
        }
        assert_eq!(dictionary.iter().nth(4999), Some(&b"value 4999"[..]));
    }
}
