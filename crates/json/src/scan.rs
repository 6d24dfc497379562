//! Byte searches on 16-byte blocks.

const LOW7: u64 = 0x7f7f_7f7f_7f7f_7f7f;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Bytes that a JSON string must escape: below 0x20, `"`, `\`.
#[inline(always)]
pub(crate) fn mask_json_special(block: &[u8; 16]) -> u16 {
    both(block, special)
}

/// Bytes that a JSON string must escape or that are not ASCII: below 0x20, `"`, `\`, 0x80 and above.
#[inline(always)]
pub(crate) fn mask_json_special_or_high(block: &[u8; 16]) -> u16 {
    both(block, |word| special(word) | word & HIGH)
}

/// Bytes equal to `byte`.
#[inline(always)]
pub(crate) fn mask_eq(block: &[u8; 16], byte: u8) -> u16 {
    both(block, |word| {
        let other = word ^ spread(byte);
        !(((other & LOW7) + LOW7) | other) & HIGH
    })
}

/// Bytes `0` to `9` of ASCII.
#[inline(always)]
pub(crate) fn mask_digits(block: &[u8; 16]) -> u16 {
    both(block, |word| {
        let from_zero = (word & LOW7) + spread(0x80 - b'0');
        let above_nine = (word & LOW7) + spread(0x7f - b'9');
        from_zero & !above_nine & !word & HIGH
    })
}

#[inline(always)]
fn both(block: &[u8; 16], high_bits: impl Fn(u64) -> u64) -> u16 {
    let all = u128::from_le_bytes(*block);
    #[expect(clippy::cast_possible_truncation, reason = "splits the block into its halves")]
    let (low, high) = (all as u64, (all >> 64) as u64);
    gather(high_bits(low)) | gather(high_bits(high)) << 8
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
                let mask = |is: fn(u8) -> bool| {
                    block.iter().enumerate().fold(0u16, |mask, (i, b)| mask | u16::from(is(*b)) << i)
                };
                let special = |b: u8| b < 0x20 || b == b'"' || b == b'\\';
                assert_eq!(mask_json_special(&block), mask(special), "{block:?}");
                assert_eq!(mask_json_special_or_high(&block), mask(special) | mask(|b| b >= 0x80), "{block:?}");
                assert_eq!(mask_digits(&block), mask(|b| b.is_ascii_digit()), "{block:?}");
                assert_eq!(mask_eq(&block, 0x7f), mask(|b| b == 0x7f), "{block:?}");
            }
        }
    }
}
