//! Paths and queries of request targets (RFC 3986).

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns the parts between bytes of one kind: like `str::split` with an ASCII character, which costs more for parts as short as
/// these.
pub(crate) fn parts(text: &str, at: u8) -> impl Iterator<Item = &str> + Clone {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.bytes().position(|byte| byte == at) else { return rest.take() };
        rest = Some(&text[end + 1..]);
        Some(&text[..end])
    })
}

/// Returns names and values of a query, undecoded.
pub fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = query;
    core::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            // By bytes: the standard library's search for a character costs more than these few.
            let bytes = rest.as_bytes();
            let mut equals = None;
            let mut end = 0;
            while end < bytes.len() && bytes[end] != b'&' {
                if bytes[end] == b'=' && equals.is_none() {
                    equals = Some(end);
                }
                end += 1;
            }
            let pair = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or("");
            match equals {
                Some(at) => return Some((&pair[..at], &pair[at + 1..])),
                None if pair.is_empty() => {}
                None => return Some((pair, "")),
            }
        }
    })
}

/// Percent-encodes all bytes but the unreserved characters (RFC 3986, section 2.3), and appends the result to `to`.
pub(crate) fn encode(bytes: &[u8], to: &mut String) {
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            to.push(char::from(*byte));
        } else {
            let _ = write!(to, "%{byte:02X}");
        }
    }
}

/// Returns the text with all but unreserved characters percent-encoded.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    encode(text.as_bytes(), &mut encoded);
    encoded
}

/// Decodes a name or value of a query: `+` is a space, `%XX` a byte of UTF-8. `None` for a `%` without two digits, and for invalid UTF-8.
#[must_use]
pub fn decode_query(text: &str) -> Option<Cow<'_, str>> {
    decode(text, true)
}

/// Decodes a segment of a path: `%XX` is a byte of UTF-8. `None` for a `%` without two digits, and for invalid UTF-8.
#[must_use]
pub fn decode_path(text: &str) -> Option<Cow<'_, str>> {
    decode(text, false)
}

fn decode(text: &str, plus: bool) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| byte == b'%' || plus && byte == b'+') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'%' => {
                let (hex, behind) = tail.split_at_checked(2)?;
                bytes.extend(quayline_core::from_hex(hex)?);
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
        assert_eq!(pairs("&a&é=ü&").collect::<Vec<_>>(), [("a", ""), ("é", "ü")]);
        for path in ["", "/", "/a//b/", "a/é"] {
            assert_eq!(parts(path, b'/').collect::<Vec<_>>(), path.split('/').collect::<Vec<_>>());
        }
        assert_eq!(decode_query("a+b%C3%A9").as_deref(), Some("a bé"));
        assert_eq!(decode_path("a+b%2F").as_deref(), Some("a+b/"));
        for bad in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decode_query(bad), None, "{bad}");
        }
    }
}
