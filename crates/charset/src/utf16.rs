//! UTF-16, the code of COBOL's NATIONAL items.

use crate::{Undecodable, Utf16Order};

/// Appends UTF-16 bytes as UTF-8. Source: The Unicode Standard, section 3.9, UTF-16.
pub(crate) fn decode_into(order: Utf16Order, src: &[u8], out: &mut Vec<u8>) -> Result<(), Undecodable> {
    let unit = match order {
        Utf16Order::BigEndian => u16::from_be_bytes,
        Utf16Order::LittleEndian => u16::from_le_bytes,
    };
    out.reserve(src.len() / 2);
    let (units, odd) = src.as_chunks::<2>();
    let mut at = 0;
    while at < units.len() {
        // Eight units of ASCII become eight bytes.
        while let Some(block) = units[at..].first_chunk::<8>() {
            let units = block.map(unit);
            if units.iter().fold(0, |all, unit| all | unit) >= 0x80 {
                break;
            }
            out.extend_from_slice(&units.map(|unit| unit.to_le_bytes()[0]));
            at += 8;
        }
        // At most eight characters go one by one before bulk is tried again.
        for _ in 0..8 {
            let Some(first) = units.get(at).copied().map(unit) else { break };
            let pair = [first, units.get(at + 1).copied().map_or(0, unit)];
            let Some(Ok(char)) = char::decode_utf16(pair).next() else {
                return Err(Undecodable { offset: 2 * at });
            };
            out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            at += char.len_utf16();
        }
    }
    if odd.is_empty() { Ok(()) } else { Err(Undecodable { offset: src.len() - 1 }) }
}

/// Appends text as UTF-16 bytes; every text has them.
pub(crate) fn encode_into(order: Utf16Order, text: &str, out: &mut Vec<u8>) {
    let bytes = match order {
        Utf16Order::BigEndian => u16::to_be_bytes,
        Utf16Order::LittleEndian => u16::to_le_bytes,
    };
    out.reserve(2 * text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let (plain, behind) = rest.split_at(ascii);
        out.extend(plain.bytes().flat_map(|byte| bytes(u16::from(byte))));
        let other = behind.find(|char: char| char.is_ascii()).unwrap_or(behind.len());
        let (chars, behind) = behind.split_at(other);
        for unit in chars.encode_utf16() {
            out.extend_from_slice(&bytes(unit));
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Charset;

    const BE: Charset = Charset::Utf16(Utf16Order::BigEndian);
    const LE: Charset = Charset::Utf16(Utf16Order::LittleEndian);

    fn check(charset: Charset, src: &[u8], text: &str, result: Result<(), usize>) {
        let mut out = Vec::new();
        assert_eq!(charset.decode_into(src, &mut out), result.map_err(|offset| Undecodable { offset }));
        assert_eq!(core::str::from_utf8(&out), Ok(text));
    }

    #[test]
    fn halves_of_pairs_and_odd_bytes_are_found_where_they_stand() {
        check(BE, b"\0A\xd8\x3d\xde\x00", "A😀", Ok(()));
        check(LE, b"A\0\x3d\xd8\x00\xde", "A😀", Ok(()));
        check(BE, b"\0A\xd8\x3d\0B", "A", Err(2));
        check(BE, b"\0A\0B\xde\x00", "AB", Err(4));
        check(BE, b"\0A\xd8\x3d", "A", Err(2));
        check(BE, b"\0A\0", "A", Err(2));
        check(LE, b"a\0b\0c\0d\0e\0f\0g\0h\0i\0\0\xdcj\0", "abcdefghi", Err(18));
    }

    proptest! {
        #[test]
        fn both_orders_round_trip_and_agree_with_the_standard_library(text in "[ -~é€😀\u{0}]{0,60}|[a-z]{0,60}") {
            for charset in [BE, LE] {
                let (mut bytes, mut back) = (Vec::new(), Vec::new());
                charset.encode_into(&text, &mut bytes).unwrap();
                let order = if charset == BE { u16::to_be_bytes } else { u16::to_le_bytes };
                prop_assert_eq!(&bytes, &text.encode_utf16().flat_map(order).collect::<Vec<_>>());
                prop_assert_eq!(charset.decode_into(&bytes, &mut back), Ok(()));
                prop_assert_eq!(&back, text.as_bytes());
            }
        }
    }
}
