//! Paths and queries of request targets (RFC 3986).

use std::borrow::Cow;

/// Names and values of a query, as they stand.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// A name or value of a query: `+` is a space, `%XX` a byte of UTF-8.
pub(crate) fn decode_query(text: &str) -> Option<Cow<'_, str>> {
    decode(text, true)
}

/// A part of a path: `%XX` is a byte of UTF-8.
pub(crate) fn decode_path(text: &str) -> Option<Cow<'_, str>> {
    decode(text, false)
}

fn decode(text: &str, plus: bool) -> Option<Cow<'_, str>> {
    if !(text.contains('%') || plus && text.contains('+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'%' => {
                let (hex, behind) = tail.split_at_checked(2)?;
                let nibble = |byte: u8| char::from(byte).to_digit(16).and_then(|n| u8::try_from(n).ok());
                bytes.push(nibble(hex[0])? << 4 | nibble(hex[1])?);
                rest = behind;
            }
            b'+' if plus => bytes.push(b' '),
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_paths() {
        assert_eq!(pairs("a=1&&b&c=d=e").collect::<Vec<_>>(), [("a", "1"), ("b", ""), ("c", "d=e")]);
        assert_eq!(decode_query("a+b%C3%A9").as_deref(), Some("a bé"));
        assert_eq!(decode_path("a+b%2F").as_deref(), Some("a+b/"));
        for bad in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decode_query(bad), None, "{bad}");
        }
    }
}
