//! Double-byte characters whose bytes are the same in all double-byte EBCDIC pages.

/// Returns the bytes of a double-byte literal, without the shift-out and shift-in around it. Returns `None` if a character is not a
/// full-width letter or digit, or a space, because its bytes depend on the page.
///
/// Sources: IBM code pages 300, 834, 835 and 837: ward X'42' repeats the single-byte letters and digits, and X'4040' is the space.
pub(crate) fn dbcs_bytes(literal: &str) -> Option<Vec<u8>> {
    let text = literal.strip_prefix('\u{e}').and_then(|text| text.strip_suffix('\u{f}')).unwrap_or(literal);
    let mut bytes = Vec::with_capacity(2 * text.len());
    for c in text.chars() {
        let (base, first, code) = match c {
            '\u{3000}' => (c, 0x40, 0x40),
            'Ａ'..='Ｉ' => ('Ａ', 0x42, 0xc1),
            'Ｊ'..='Ｒ' => ('Ｊ', 0x42, 0xd1),
            'Ｓ'..='Ｚ' => ('Ｓ', 0x42, 0xe2),
            'ａ'..='ｉ' => ('ａ', 0x42, 0x81),
            'ｊ'..='ｒ' => ('ｊ', 0x42, 0x91),
            'ｓ'..='ｚ' => ('ｓ', 0x42, 0xa2),
            '０'..='９' => ('０', 0x42, 0xf0),
            _ => return None,
        };
        let step = u8::try_from(u32::from(c) - u32::from(base)).ok()?;
        bytes.extend([first, code + step]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::dbcs_bytes;

    /// The bytes are what `iconv -t IBM930`, `IBM933`, `IBM935` and `IBM937` write between shift-out and shift-in.
    #[test]
    fn full_width_letters_have_one_code_in_all_pages() {
        let hex = |text: &str| {
            dbcs_bytes(text).map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        };
        assert_eq!(
            hex("ＡＢＩＪＲＳＺａｂｉｊｒｓｚ０９\u{3000}").as_deref(),
            Some("42c142c242c942d142d942e242e94281428242894291429942a242a942f042f94040")
        );
        assert_eq!(hex("\u{e}Ａ\u{f}").as_deref(), Some("42c1"));
        assert_eq!([hex("AB"), hex("山"), hex("4142")], [None, None, None]);
    }
}
