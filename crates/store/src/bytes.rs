//! Keys and values.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A stored value. Clones share the bytes.
pub type Value = Arc<[u8]>;

/// A key space: one record file, one index of a file, one queue. Keys of two spaces never meet.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Space(pub u32);

impl Space {
    /// Definitions of files and queues, and the store's own settings.
    pub const CATALOG: Space = Space(0);
    /// Control numbers by name.
    pub const NUMBERS: Space = Space(1);
    /// Job checkpoints by name.
    pub const CHECKPOINTS: Space = Space(2);
    /// The transaction log, by stamp.
    pub const LOG: Space = Space(3);
    /// Job repository: instances, executions, steps and their restart positions.
    pub const JOBS: Space = Space(8);
    /// First space that a file or queue may own.
    pub const FIRST_FREE: Space = Space(16);
}

/// Longest key, with its space, that needs no allocation.
const INLINE: usize = 30;

/// A key with its space: four bytes of space, high byte first, then the key. The order of these bytes is the order of the store.
///
/// Keys of up to 26 bytes lie in the value itself: comparing them follows no pointer, and making one allocates nothing.
#[derive(Clone)]
pub struct FullKey(Repr);

#[derive(Clone)]
enum Repr {
    /// Bytes after `length` are zero.
    Inline {
        length: u8,
        bytes: [u8; INLINE],
    },
    Shared(Arc<[u8]>),
}

impl FullKey {
    /// Joins a space and a key.
    #[must_use]
    pub fn new(space: Space, key: &[u8]) -> Self {
        let space = space.0.to_be_bytes();
        let length = 4 + key.len();
        match u8::try_from(length) {
            Ok(inline) if length <= INLINE => {
                let mut bytes = [0; INLINE];
                bytes[..4].copy_from_slice(&space);
                bytes[4..length].copy_from_slice(key);
                FullKey(Repr::Inline { length: inline, bytes })
            }
            _ => FullKey(Repr::Shared([space.as_slice(), key].concat().into())),
        }
    }

    /// Takes bytes that [`Self::bytes`] gave; `None` if they are too short to hold a space.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (space, key) = bytes.split_first_chunk::<4>()?;
        Some(FullKey::new(Space(u32::from_be_bytes(*space)), key))
    }

    /// Returns the space.
    #[must_use]
    pub fn space(&self) -> Space {
        let mut space = [0; 4];
        space.copy_from_slice(&self.bytes()[..4]);
        Space(u32::from_be_bytes(space))
    }

    /// Returns the key without its space.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.bytes()[4..]
    }

    /// Returns the space followed by the key.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Repr::Shared(bytes) => bytes,
        }
    }
}

impl Ord for FullKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            // The bytes after the end are zero, so keys that differ there differ in length.
            (Repr::Inline { length, bytes }, Repr::Inline { length: other_length, bytes: other }) => {
                words(bytes).cmp(&words(other)).then(length.cmp(other_length))
            }
            _ => self.bytes().cmp(other.bytes()),
        }
    }
}

/// Converts the bytes to integers that compare in the same order.
fn words(bytes: &[u8; INLINE]) -> [u64; 4] {
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_be_bytes(word)
    };
    // The last word repeats two bytes that are equal when it matters.
    [word(0), word(8), word(16), word(INLINE - 8)]
}

impl PartialOrd for FullKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FullKey {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for FullKey {}

impl Hash for FullKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

/// Shows the space and the length of the key: a key is payload.
impl fmt::Debug for FullKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FullKey(space {}, {} bytes)", self.space().0, self.key().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_is_the_order_of_their_bytes() {
        let mut keys: Vec<Vec<u8>> = vec![vec![], vec![0], vec![0, 0], vec![1], vec![1, 0, 0], vec![255; 26]];
        for length in [3, 4, 12, 19, 20, 25, 26, 27, 28, 60] {
            for last in [0, 1, 127, 128, 255] {
                let mut key = vec![7; length];
                key.push(last);
                keys.push(key);
            }
        }
        for one in &keys {
            for other in &keys {
                let (a, b) = (FullKey::new(Space(5), one), FullKey::new(Space(5), other));
                assert_eq!(a.cmp(&b), one.cmp(other), "{one:?} {other:?}");
                assert_eq!(a == b, one == other);
                assert_eq!((a.key(), a.space()), (one.as_slice(), Space(5)));
                assert_eq!(FullKey::from_bytes(a.bytes()), Some(a));
            }
        }
    }
}
