//! Keys of records, and the numbers that choose them.

/// Returns a pseudo-random number below a bound and advances the seed.
pub(crate) fn below(seed: &mut u64, bound: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 8) % bound
}

/// Encodes a key of 8 bytes.
pub(crate) fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}
