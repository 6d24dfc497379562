//! Byte searches on 16-byte blocks.

const LOW7: u64 = 0x7f7f_7f7f_7f7f_7f7f;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Bit `i` is set where `block[i]` may not stand in a JSON string as it is: below 0x20, `"` or `\`.
#[inline(always)]
pub(crate) fn mask_json_special(block: [u8; 16]) -> u16 {
    let all = u128::from_le_bytes(block);
    #[expect(clippy::cast_possible_truncation, reason = "splits the block into its halves")]
    let (low, high) = (all as u64, (all >> 64) as u64);
    gather(special(low)) | gather(special(high)) << 8
}

/// The high bit of each byte that is below 0x20, `"` or `\`; exact per byte.
#[inline(always)]
fn special(word: u64) -> u64 {
    let control = (word & LOW7) + spread(0x60);
    let quote = ((word ^ spread(b'"')) & LOW7) + LOW7;
    let backslash = ((word ^ spread(b'\\')) & LOW7) + LOW7;
    !(control & quote & backslash) & !word & HIGH
}

#[inline(always)]
const fn spread(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The high bits of eight bytes as eight bits, first byte lowest.
#[inline(always)]
fn gather(high_bits: u64) -> u16 {
    ((high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place() {
        for at in 0..16 {
            for byte in 0..=255u8 {
                let mut block = *b"abcdefgh\x7f\x80\xff #[]!";
                block[at] = byte;
                let want = block
                    .iter()
                    .enumerate()
                    .fold(0u16, |mask, (i, b)| mask | u16::from(*b < 0x20 || *b == b'"' || *b == b'\\') << i);
                assert_eq!(mask_json_special(block), want, "{block:?}");
            }
        }
    }
}
