//! Keys of `PARTNER.FIELDS`, by which entries are found.
//!
//! ```text
//!    0  1  what                       1 16  by what                                    17  8  id, high byte first
//!    3 a state                        state (1), time when it is due (8), zeros        id
//! kind a number in context            context (8), number (8)                          id
//!
//!    0  1  what                       1  6  block   7 16  by what                      23  2  end of the id
//!    1 a business field               id / 65,536   digest of name and value           id mod 65,536
//!    2 a control number               id / 65,536   digest of the number without leading zeros
//! ```
//! **Digests are sorted within blocks of 65,536 entries.** A new key is then near other new keys: many of one save share a page of the tree, in a store of any
//! size. Sorted by digest alone, each key of a large store changed a page of its own, which is read, copied and written. A search looks once into each
//! block, which takes about 8 µs.
//!
//! With its space a key has 29 bytes, which the store keeps without an allocation and compares without following a pointer. Keys with the texts
//! themselves had 68 bytes, and comparing them was an eighth of the cost of a document. Two texts with one digest are not expected in the life
//! of the universe. Digests are keyed where the store has a key: nobody can look up guesses in the file.

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::entry::{Entry, EntryId, Kind, State, Way, kept_number};
use crate::seal::StoreKey;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 25;
/// Bytes before an id.
const PREFIX_BYTES: usize = 17;
/// Bytes of a digest's key before the end of the id.
const BLOCK_BYTES: usize = 23;
/// Bits of an id within its block.
const BLOCK_BITS: u32 = 16;

const FIELD: u8 = 1;
const NUMBER: u8 = 2;
const STATE: u8 = 3;

/// Prefix of a key: all bytes before the id, or fewer for a range.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Prefix {
    bytes: [u8; PREFIX_BYTES],
    used: usize,
}

/// Digest of a business field or a control number, by which entries are found block by block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Digest {
    what: u8,
    digest: [u8; 16],
}

impl Digest {
    fn new(what: u8, texts: &[&str], key: Option<&StoreKey>) -> Digest {
        let length = texts.iter().map(|text| 8 + text.len()).sum::<usize>();
        let (mut short, mut long) = ([0; 96], Vec::new());
        let joined = match short.get_mut(..length) {
            Some(short) => short,
            None => {
                long.resize(length, 0);
                &mut long[..]
            }
        };
        let mut at = 0;
        for text in texts {
            joined[at..at + 8].copy_from_slice(&(text.len() as u64).to_le_bytes());
            joined[at + 8..at + 8 + text.len()].copy_from_slice(text.as_bytes());
            at += 8 + text.len();
        }
        let digest = key.map_or_else(|| xxh3_128(joined).to_be_bytes(), |key| key.digest_of(joined));
        Digest { what, digest }
    }

    /// Entries with a value of a business field.
    pub(crate) fn field(name: &str, value: &str, key: Option<&StoreKey>) -> Digest {
        Digest::new(FIELD, &[name, value.trim()], key)
    }

    /// Entries with a control number.
    pub(crate) fn number(number: &str, key: Option<&StoreKey>) -> Digest {
        Digest::new(NUMBER, &[trimmed(kept_number(number.trim()))], key)
    }

    /// Returns the prefix of its keys in the block of an entry.
    pub(crate) fn in_block_of(&self, id: EntryId) -> [u8; BLOCK_BYTES] {
        let mut prefix = [0; BLOCK_BYTES];
        prefix[0] = self.what;
        prefix[1..7].copy_from_slice(&id.0.to_be_bytes()[..6]);
        prefix[7..].copy_from_slice(&self.digest);
        prefix
    }

    /// Returns the key of an entry.
    pub(crate) fn of(&self, id: EntryId) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        key[..BLOCK_BYTES].copy_from_slice(&self.in_block_of(id));
        key[BLOCK_BYTES..].copy_from_slice(&id.0.to_be_bytes()[6..]);
        key
    }

    /// Returns true if the key has this digest, in whichever block.
    pub(crate) fn is_of(&self, key: &[u8]) -> bool {
        key.len() == KEY_BYTES && key[0] == self.what && key[7..BLOCK_BYTES] == self.digest
    }
}

/// Returns the first entry of the block of an entry.
pub(crate) fn begin_of_block(id: EntryId) -> EntryId {
    EntryId(id.0 >> BLOCK_BITS << BLOCK_BITS)
}

impl Prefix {
    fn new(what: u8, parts: &[&[u8]]) -> Prefix {
        let mut bytes = [0; PREFIX_BYTES];
        bytes[0] = what;
        let mut used = 1;
        for part in parts {
            bytes[used..used + part.len()].copy_from_slice(part);
            used += part.len();
        }
        Prefix { bytes, used }
    }

    /// Entries in a state, or those that are due at a time.
    pub(crate) fn state(state: State, due_ms: Option<u64>) -> Prefix {
        match due_ms {
            Some(due) => Prefix::new(STATE, &[&[state.byte()], &due.to_be_bytes()]),
            None => Prefix::new(STATE, &[&[state.byte()]]),
        }
    }

    /// Entries of a context, or those that have a number in it.
    pub(crate) fn in_context(kind: Kind, way: Way, context: u64, number: Option<&str>) -> Prefix {
        // Kinds are letters, so they differ from what else a key begins with.
        let what = kind.byte() | if way == Way::Sent { 0x80 } else { 0 };
        let context = context.to_be_bytes();
        match number {
            Some(number) => Prefix::new(what, &[&context, &short_number(number)]),
            None => Prefix::new(what, &[&context]),
        }
    }

    /// Returns the bytes of the prefix.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Returns the key of an entry.
    pub(crate) fn of(self, id: EntryId) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        key[..PREFIX_BYTES].copy_from_slice(&self.bytes);
        key[PREFIX_BYTES..].copy_from_slice(&id.0.to_be_bytes());
        key
    }
}

/// Encodes a number in eight bytes, such that numbers of the same width keep their order. Text that is not digits becomes a digest; a search compares
/// the entry's own number.
fn short_number(number: &str) -> [u8; 8] {
    let number = kept_number(number);
    let digits = number.len() <= 14 && number.bytes().all(|byte| byte.is_ascii_digit());
    let value = match number.parse::<u64>() {
        Ok(value) if digits => (number.len() as u64) << 56 | value,
        _ => xxh3_64(number.as_bytes()) | 0xff << 56,
    };
    value.to_be_bytes()
}

/// Returns the entry number of a key.
pub(crate) fn id_of(key: &[u8]) -> EntryId {
    let mut id = [0; 8];
    match key {
        [FIELD | NUMBER, ..] if key.len() == KEY_BYTES => {
            id[..6].copy_from_slice(&key[1..7]);
            id[6..].copy_from_slice(&key[BLOCK_BYTES..]);
        }
        _ => id = key.last_chunk().copied().unwrap_or_default(),
    }
    EntryId(u64::from_be_bytes(id))
}

/// Returns the prefixes under which an entry is found in addition to its business fields: its state if it needs attention, and its numbers.
pub(crate) fn prefixes_of(entry: &Entry) -> impl Iterator<Item = Prefix> + use<> {
    let state = entry.state.needs_attention().then(|| Prefix::state(entry.state, Some(entry.due_ms)));
    // Nobody looks for a received document by its number in its interchange.
    let is_looked_for = !entry.number.is_empty() && (entry.way == Way::Sent || entry.kind == Kind::Interchange);
    let number = is_looked_for.then(|| Prefix::in_context(entry.kind, entry.way, entry.context, Some(&entry.number)));
    state.into_iter().chain(number)
}

/// Returns the distinct control numbers under which an entry is found: that of its interchange, and that of a group.
pub(crate) fn numbers_of(entry: &Entry) -> impl Iterator<Item = &str> {
    let interchange = if entry.kind == Kind::Interchange { &entry.number } else { &entry.details.interchange };
    let interchange = trimmed(kept_number(interchange));
    let group = if entry.kind == Kind::Group { trimmed(kept_number(&entry.number)) } else { "" };
    let group = if group == interchange { "" } else { group };
    [interchange, group].into_iter().filter(|number| !number.is_empty())
}

fn trimmed(number: &str) -> &str {
    number.trim().trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_where_what_they_are_of_differs() {
        let key = StoreKey::parse(&"0a".repeat(32)).expect("a key");
        let digests = [
            Digest::field("a", "bc", None),
            Digest::field("ab", "c", None),
            Digest::field("ab", "c", Some(&key)),
            Digest::number("12", None),
            Digest::number("12", Some(&key)),
        ];
        let prefixes = [
            Prefix::state(State::Rejected, Some(7)),
            Prefix::in_context(Kind::Group, Way::Sent, 5, Some("0012")),
            Prefix::in_context(Kind::Group, Way::Sent, 5, Some("012")),
            Prefix::in_context(Kind::Group, Way::Sent, 5, Some("A12")),
            Prefix::in_context(Kind::Group, Way::Sent, 5, Some("B12")),
            Prefix::in_context(Kind::Group, Way::Received, 5, Some("0012")),
            Prefix::in_context(Kind::Group, Way::Sent, 6, Some("0012")),
        ];
        let all = |id: EntryId| -> Vec<[u8; KEY_BYTES]> {
            digests.iter().map(|digest| digest.of(id)).chain(prefixes.iter().map(|prefix| prefix.of(id))).collect()
        };
        for id in [0, 1, 0xffff, 0x1_0000, 0x1234_5678_9abc_def0, u64::MAX].map(EntryId) {
            let keys = all(id);
            for (at, one) in keys.iter().enumerate() {
                assert!(!keys[..at].contains(one), "{at}");
                assert_eq!(id_of(one), id);
                assert!(digests.iter().filter(|digest| digest.is_of(one)).count() == usize::from(at < digests.len()));
            }
        }
        assert_eq!(Digest::field("ab", " c ", None), Digest::field("ab", "c", None));
        assert_eq!(Digest::number("0012", None), Digest::number("12", None));
    }

    #[test]
    fn keys_of_a_digest_are_in_the_order_of_entries() {
        let digest = Digest::field("order", "4711", None);
        let ids = [1, 2, 0xffff, 0x1_0000, 0x1_0001, 0x2_0000, u64::MAX].map(EntryId);
        assert!(ids.map(|id| digest.of(id)).is_sorted());
        assert!(ids.iter().all(|id| digest.of(*id).starts_with(&digest.in_block_of(begin_of_block(*id)))));
        // A key of an older block comes before all keys of a newer one.
        assert!(Digest::field("order", "1", None).of(EntryId(0xffff)) < digest.of(EntryId(0x1_0000)));
        assert!(digest.of(EntryId(0xffff)) < Digest::field("order", "1", None).of(EntryId(0x1_0000)));
    }

    #[test]
    fn ranges_begin_with_their_prefix_in_order() {
        let key = |number: &str| Prefix::in_context(Kind::Group, Way::Sent, 5, Some(number)).of(EntryId(1));
        let context = Prefix::in_context(Kind::Group, Way::Sent, 5, None);
        assert!(["1", "0001", "A1"].iter().all(|number| key(number).starts_with(context.bytes())));
        assert!(key("0009") < key("0010") && key("9") < key("10"));
        let due = |due: u64| Prefix::state(State::Expecting, Some(due)).of(EntryId(u64::MAX));
        assert!(due(1) < due(2) && due(1).starts_with(Prefix::state(State::Expecting, None).bytes()));
    }
}
