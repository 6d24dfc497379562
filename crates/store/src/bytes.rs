//! Keys and values.

use std::fmt;
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
    /// First space that a file or queue may own.
    pub const FIRST_FREE: Space = Space(16);
}

/// A key with its space: four bytes of space, high byte first, then the key. The order of these bytes is the order of the store.
#[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FullKey(Arc<[u8]>);

impl FullKey {
    /// Joins a space and a key.
    #[must_use]
    pub fn new(space: Space, key: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(4 + key.len());
        bytes.extend_from_slice(&space.0.to_be_bytes());
        bytes.extend_from_slice(key);
        FullKey(bytes.into())
    }

    /// Takes bytes that [`Self::bytes`] gave; `None` if they are too short to hold a space.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() >= 4).then(|| FullKey(bytes.into()))
    }

    /// The space.
    #[must_use]
    pub fn space(&self) -> Space {
        let mut space = [0; 4];
        space.copy_from_slice(&self.0[..4]);
        Space(u32::from_be_bytes(space))
    }

    /// The key inside its space.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.0[4..]
    }

    /// Space and key together.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Shows the space and the length of the key: a key is payload.
impl fmt::Debug for FullKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FullKey(space {}, {} bytes)", self.space().0, self.key().len())
    }
}
