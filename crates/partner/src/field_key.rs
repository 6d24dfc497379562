//! Keys of `PARTNER.FIELDS`, by which entries are found.
//!
//! ```text
//!  0  1  what    1  17  by what              18  8  id, high byte first
//!  1 a business field     digest of name and value (16), 0
//!  2 a control number     digest of the number without leading zeros (16), 0
//!  3 a state              state (1), time when it is due (8), zeros
//!  4 a number in context  kind and direction (1), context (8), number (8)
//! ```
//! With its space a key has 30 bytes, which the store keeps without an allocation and compares without following a pointer. Keys with the texts
//! themselves had 68 bytes, and comparing them was an eighth of the cost of a document. Two texts with one digest are not expected in the life
//! of the universe. Digests are keyed where the store has a key: nobody can look up guesses in the file.

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::entry::{Entry, EntryId, Kind, State, Way, kept_number};
use crate::seal::StoreKey;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 26;
/// Bytes before the id.
pub(crate) const PREFIX_BYTES: usize = 18;

const FIELD: u8 = 1;
const NUMBER: u8 = 2;
const STATE: u8 = 3;
const IN_CONTEXT: u8 = 4;

/// Prefix of a key: all bytes before the id, or fewer for a range.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Prefix {
    bytes: [u8; PREFIX_BYTES],
    used: usize,
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

    /// Creates the prefix of all entries with a digest: its last byte is zero.
    fn of_digest(what: u8, texts: &[&str], key: Option<&StoreKey>) -> Prefix {
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
        Prefix { used: PREFIX_BYTES, ..Prefix::new(what, &[&digest]) }
    }

    /// Entries with a value of a business field.
    pub(crate) fn field(name: &str, value: &str, key: Option<&StoreKey>) -> Prefix {
        Prefix::of_digest(FIELD, &[name, value.trim()], key)
    }

    /// Entries with a control number.
    pub(crate) fn number(number: &str, key: Option<&StoreKey>) -> Prefix {
        Prefix::of_digest(NUMBER, &[trimmed(kept_number(number.trim()))], key)
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
        let which = kind.byte() & 0x7f | if way == Way::Sent { 0x80 } else { 0 };
        let context = context.to_be_bytes();
        match number {
            Some(number) => Prefix::new(IN_CONTEXT, &[&[which], &context, &short_number(number)]),
            None => Prefix::new(IN_CONTEXT, &[&[which], &context]),
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

/// Returns the entry number at the end of a key.
pub(crate) fn id_of(key: &[u8]) -> EntryId {
    EntryId(key.last_chunk::<8>().map_or(0, |id| u64::from_be_bytes(*id)))
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
        let prefixes = [
            Prefix::field("a", "bc", None),
            Prefix::field("ab", "c", None),
            Prefix::field("ab", "c", Some(&key)),
            Prefix::number("12", None),
            Prefix::number("12", Some(&key)),
            Prefix::state(State::Rejected, Some(7)),
            Prefix::in_context(Kind::Group, Way::Sent, 5, Some("0012")),
            Prefix::in_context(Kind::Group, Way::Sent, 5, Some("012")),
            Prefix::in_context(Kind::Group, Way::Sent, 5, Some("A12")),
            Prefix::in_context(Kind::Group, Way::Sent, 5, Some("B12")),
            Prefix::in_context(Kind::Group, Way::Received, 5, Some("0012")),
            Prefix::in_context(Kind::Group, Way::Sent, 6, Some("0012")),
        ];
        for (at, one) in prefixes.iter().enumerate() {
            assert!(prefixes[..at].iter().all(|other| other.of(EntryId(1)) != one.of(EntryId(1))), "{at}");
            assert_eq!(id_of(&one.of(EntryId(at as u64))), EntryId(at as u64));
        }
        assert_eq!(Prefix::field("ab", " c ", None), Prefix::field("ab", "c", None));
        assert_eq!(Prefix::number("0012", None), Prefix::number("12", None));
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
