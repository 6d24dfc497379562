//! Character data: escapes, and characters that XML cannot hold.

/// Class of a UTF-8 byte by the way to write it.
const PLAIN: u8 = 0;
/// `<`, `>`, `&`, CR.
const ESCAPE: u8 = 1;
/// A control character that XML 1.0 does not allow.
const FORBIDDEN: u8 = 2;
/// First byte of U+F000 to U+FFFF, two of which are not allowed.
const MAYBE: u8 = 3;

static CLASS: [u8; 256] = {
    let mut table = [PLAIN; 256];
    let mut b = 0;
    while b < 0x20 {
        table[b] = FORBIDDEN;
        b += 1;
    }
    table[b'\t' as usize] = PLAIN;
    table[b'\n' as usize] = PLAIN;
    table[b'\r' as usize] = ESCAPE;
    table[b'<' as usize] = ESCAPE;
    table[b'>' as usize] = ESCAPE;
    table[b'&' as usize] = ESCAPE;
    table[0xef] = MAYBE;
    table
};

/// U+FFFE and U+FFFF.
const NONCHARACTERS: [&[u8]; 2] = [b"\xef\xbf\xbe", b"\xef\xbf\xbf"];

/// Returns whether XML 1.0 can hold the text, with references if necessary. Source: XML 1.0 (Fifth Edition), production 2.
pub(crate) fn is_holdable(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| CLASS[usize::from(*b)] >= FORBIDDEN) {
        if CLASS[usize::from(rest[at])] == FORBIDDEN || NONCHARACTERS.iter().any(|n| rest[at..].starts_with(n)) {
            return false;
        }
        rest = &rest[at + 1..];
    }
    true
}

/// Appends text that XML can hold.
pub(crate) fn write(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| CLASS[usize::from(*b)] == ESCAPE) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(reference(rest[at]));
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Returns the reference for a byte that must be escaped. An unescaped CR would be read as a line feed (XML 1.0, 2.11).
fn reference(byte: u8) -> &'static [u8] {
    match byte {
        b'<' => b"&lt;",
        b'>' => b"&gt;",
        b'&' => b"&amp;",
        _ => b"&#13;",
    }
}

/// Appends text as the value of an attribute in double quotes. Characters that XML cannot hold are written as `\uHHHH`.
pub(crate) fn write_attribute(out: &mut Vec<u8>, text: &[u8]) {
    let from = out.len();
    if is_holdable(text) {
        write(out, text)
    } else {
        write_escaped(out, text)
    }
    // Unescaped line ends and tabs would be read as blanks (XML 1.0, 3.3.3).
    if !out[from..].iter().any(|b| matches!(b, b'"' | b'\t' | b'\n')) {
        return;
    }
    let plain = out.split_off(from);
    for byte in plain {
        match byte {
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\t' => out.extend_from_slice(b"&#9;"),
            b'\n' => out.extend_from_slice(b"&#10;"),
            _ => out.push(byte),
        }
    }
}

/// Appends any text in the form of `escaped="true"`.
pub(crate) fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        let noncharacter = NONCHARACTERS.iter().find(|n| rest.starts_with(n));
        if let Some(bytes) = noncharacter {
            out.extend_from_slice(if bytes[2] == 0xbe { b"\\uFFFE" } else { b"\\uFFFF" });
            rest = &rest[3..];
            continue;
        }
        match CLASS[usize::from(*byte)] {
            FORBIDDEN => out.extend_from_slice(format!("\\u{byte:04X}").as_bytes()),
            ESCAPE => out.extend_from_slice(reference(*byte)),
            _ if *byte == b'\\' => out.extend_from_slice(b"\\\\"),
            _ => out.push(*byte),
        }
        rest = tail;
    }
}

/// Reverses [`write_escaped`] after the references are resolved. Returns `None` for a backslash that begins neither `\\` nor
/// `\uHHHH`.
pub(crate) fn read_escaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('\\');
    out.push_str(parts.next()?);
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if part.is_empty() {
            // Two backslashes: the text up to the next one is plain.
            out.push('\\');
            out.push_str(parts.next()?);
        } else {
            let code = part.strip_prefix('u')?.get(..4)?;
            out.push(char::from_u32(quayline_core::hex_number(code)?)?);
            out.push_str(&part[5..]);
        }
    }
    Some(out)
}

/// Returns whether XML documents may contain a character, including by reference.
pub(crate) fn is_allowed(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Finds the first byte of a raw document that XML does not allow.
pub(crate) fn find_forbidden(raw: &str) -> Option<usize> {
    // One pass without a branch finds nothing nearly always.
    let odd = |b: u8| (b < 0x20 && b != b'\t' && b != b'\n' && b != b'\r') || b == 0xef;
    if !raw.bytes().fold(false, |found, b| found | odd(b)) {
        return None;
    }
    raw.char_indices().find(|(_, c)| !is_allowed(*c)).map(|(at, _)| at)
}

/// Returns the name of an attribute without its prefix.
pub(crate) fn local_name(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

/// Returns a name as messages may show it: a long one is rather data.
pub(crate) fn short(name: &str) -> String {
    if name.chars().count() <= 60 { name.to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_escaped_and_read_back() {
        let all: String = (0..0x30u32)
            .chain([0x5c, 0x5c, 0x75, 0xe9, 0xf000, 0xfffd, 0xfffe, 0xffff, 0x10000])
            .filter_map(char::from_u32)
            .collect();
        assert!(!is_holdable(all.as_bytes()));
        let mut out = Vec::new();
        write_escaped(&mut out, all.as_bytes());
        let text = String::from_utf8(out).unwrap();
        assert!(is_holdable(text.as_bytes()));
        let plain = text.replace("&#13;", "\r").replace("&amp;", "&");
        assert_eq!(read_escaped(&plain).as_deref(), Some(all.as_str()));
        for bad in ["\\", "\\x", "\\u12", "\\uD800", "a\\\\\\", "\\u00e"] {
            assert_eq!(read_escaped(bad), None, "{bad}");
        }
        assert_eq!(read_escaped("\\\\\\\\u0041\\u0041").as_deref(), Some("\\\\u0041A"));
    }

    #[test]
    fn holdable_text_is_what_the_production_says() {
        for c in (0..0x11_0000).filter_map(char::from_u32) {
            let mut bytes = [0; 4];
            let text = c.encode_utf8(&mut bytes);
            assert_eq!(find_forbidden(text).is_none(), is_allowed(c), "{:x}", u32::from(c));
            assert_eq!(is_holdable(text.as_bytes()), is_allowed(c), "{:x}", u32::from(c));
        }
    }
}
