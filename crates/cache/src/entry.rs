//! Header of a cache entry.

use xxhash_rust::xxh3::Xxh3;

/// Digest by which an entry is found.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Key(pub(crate) u128);

impl Key {
    /// Returns the key as 32 hexadecimal digits.
    #[must_use]
    pub fn digits(self) -> String {
        format!("{:032x}", self.0)
    }
}

const MAGIC: &[u8; 8] = b"QLCACHE1";

/// Magic, key, length of the payload, digest.
pub(crate) type Head = [u8; 48];

/// Builds the header that precedes a payload.
pub(crate) fn head(key: Key, payload: &[u8]) -> Head {
    let mut head = [0; 48];
    head[..8].copy_from_slice(MAGIC);
    head[8..24].copy_from_slice(&key.0.to_le_bytes());
    head[24..32].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    head[32..].copy_from_slice(&digest(key, payload).to_le_bytes());
    head
}

fn digest(key: Key, payload: &[u8]) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&key.0.to_le_bytes());
    hash.update(payload);
    hash.digest128()
}
