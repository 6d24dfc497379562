//! Hexadecimal digits.
//!
//! The standard library's `from_str_radix` also takes a sign, so it would accept `+1` as two digits.

/// Returns the bytes as lowercase digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the bytes of pairs of digits in either case, or `None` for any other text.
#[must_use]
pub fn from_hex(digits: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_ref().as_chunks::<2>();
    let pair = |[high, low]: &[u8; 2]| Some(nibble(*high)? << 4 | nibble(*low)?);
    if rest.is_empty() { pairs.iter().map(pair).collect() } else { None }
}

/// Returns the number of one to eight digits in either case, or `None` for any other text.
#[must_use]
pub fn hex_number(digits: impl AsRef<[u8]>) -> Option<u32> {
    let digits = digits.as_ref();
    let add = |number: u32, digit: &u8| Some(number << 4 | u32::from(nibble(*digit)?));
    if (1..=8).contains(&digits.len()) { digits.iter().try_fold(0, add) } else { None }
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_read() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(hex(&all)).as_ref(), Some(&all));
        assert_eq!(from_hex(hex(&all).to_uppercase()), Some(all));
        for wrong in ["1", "+1", "-1", "0x", " 1", "1g", "é"] {
            assert_eq!(from_hex(wrong), None, "{wrong}");
        }
        assert_eq!((hex_number("e9"), hex_number("FFFFFFFF")), (Some(0xe9), Some(u32::MAX)));
        for wrong in ["", "+e9", "123456789", "e_"] {
            assert_eq!(hex_number(wrong), None, "{wrong}");
        }
    }
}
