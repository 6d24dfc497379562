//! Text functions. Positions count characters of UTF-8; in a text that is not UTF-8 they count bytes.

/// Returns the byte position of a character, or the end of the text.
pub(crate) fn char_offset(text: &[u8], chars: usize) -> usize {
    if text.is_ascii() {
        return chars.min(text.len());
    }
    let mut seen = 0;
    for (at, byte) in text.iter().enumerate() {
        if byte & 0xc0 != 0x80 {
            if seen == chars {
                return at;
            }
            seen += 1;
        }
    }
    text.len()
}

pub(crate) fn char_count(text: &[u8]) -> usize {
    text.iter().filter(|byte| *byte & 0xc0 != 0x80).count()
}

pub(crate) fn trim_start(text: &[u8]) -> usize {
    text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(text.len())
}

pub(crate) fn trim_end(text: &[u8]) -> usize {
    text.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1)
}

pub(crate) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}

/// Matches a pattern in which `?` is any character and `*` any number of characters.
pub(crate) fn like(text: &[u8], pattern: &[u8]) -> bool {
    let (text, pattern) = match (core::str::from_utf8(text), core::str::from_utf8(pattern)) {
        (Ok(text), Ok(pattern)) => (text.chars().collect::<Vec<_>>(), pattern.chars().collect::<Vec<_>>()),
        _ => return text == pattern,
    };
    let (mut t, mut p, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            p = at + 1;
            t = from + 1;
            star = Some((at, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Returns the part with this number, counted from 1, of a text split at a separator.
pub(crate) fn split<'a>(text: &'a [u8], separator: &[u8], number: usize) -> Option<&'a [u8]> {
    let mut rest = text;
    let mut at = 1;
    loop {
        let end = if separator.is_empty() { None } else { find(rest, separator) };
        if at == number {
            return Some(&rest[..end.unwrap_or(rest.len())]);
        }
        rest = &rest[end? + separator.len()..];
        at += 1;
    }
}

/// Runs of blanks as one blank, none at the ends.
pub(crate) fn squeeze(text: &[u8], out: &mut Vec<u8>) {
    for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(word);
    }
}

/// Replaces every occurrence of a part. Returns `None` if the result has more than `max` bytes.
pub(crate) fn replace(text: &[u8], what: &[u8], by: &[u8], max: usize, out: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    while let Some(at) = find(rest, what).filter(|_| !what.is_empty()) {
        if out.len() + at + by.len() > max {
            return None;
        }
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(by);
        rest = &rest[at + what.len()..];
    }
    out.extend_from_slice(rest);
    (out.len() <= max).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, pattern, holds) in [
            ("abc", "a*", true),
            ("abc", "a?c", true),
            ("abc", "*c", true),
            ("abc", "b*", false),
            ("", "*", true),
            ("", "?", false),
            ("aXbXc", "*X?", true),
        ] {
            assert_eq!(like(text.as_bytes(), pattern.as_bytes()), holds, "{text} {pattern}");
        }
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        let text = "é1ü2".as_bytes();
        assert_eq!(char_count(text), 4);
        assert_eq!(char_offset(text, 1), 2);
        assert_eq!(char_offset(text, 9), text.len());
        assert_eq!(split(b"a:b:c", b":", 2), Some(&b"b"[..]));
        assert_eq!(split(b"a:b:c", b":", 4), None);
    }
}
