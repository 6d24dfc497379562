//! Decoding of base64url text.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Decodes base64url without padding (RFC 4648, section 5).
#[must_use]
pub fn from_base64url(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0u32);
    for letter in text.bytes() {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    // A lone letter is not a byte, and left-over bits are zero.
    (count < 6 && bits & ((1 << count) - 1) == 0).then_some(bytes)
}

/// Encodes base64url without padding (RFC 4648, section 5).
#[must_use]
pub fn to_base64url(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for i in 0..=chunk.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * i) & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back() {
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"\xff\xfe\x00\x10"] {
            assert_eq!(from_base64url(&to_base64url(bytes)).as_deref(), Some(bytes));
        }
        assert_eq!(to_base64url(b"\xff\xfe\xfd"), "__79");
        for bad in ["a", "a=", "ab+", "aR"] {
            assert!(from_base64url(bad).is_none() || bad == "aQ", "{bad}");
        }
    }
}
