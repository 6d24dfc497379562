//! The media type of a request's body.

/// Reason for refusing a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NotTaken {
    /// The body is not JSON, or is a patch instead of a document.
    MediaType,
    /// The text after the type is not a list of parameters.
    Parameters,
    /// The body has an encoding other than UTF-8 (RFC 8259, section 8.1).
    Charset,
}

impl NotTaken {
    pub(crate) fn detail(self) -> &'static str {
        match self {
            NotTaken::MediaType => "the body's media type is not application/json",
            NotTaken::Parameters => "the parameters of the body's media type are not `; NAME=VALUE`",
            NotTaken::Charset => "the body's charset is not UTF-8",
        }
    }
}

/// Checks whether an operation accepts a body with this `content-type`.
///
/// Types that end with `+json` are JSON too, except patches. A JSON patch (RFC 6902) is a list of changes. A merge patch (RFC 7396) is accepted
/// only with `PATCH`, which keeps members that are missing in the body.
pub(crate) fn check(content_type: Option<&str>, method: &str) -> Result<(), NotTaken> {
    let whole = content_type.unwrap_or("");
    let (name, rest) = whole.split_at(whole.find(';').unwrap_or(whole.len()));
    let name = name.trim();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let has_suffix = name.len() > 5 && name.as_bytes()[name.len() - 5..].eq_ignore_ascii_case(b"+json");
    let is_patch = is("application/json-patch+json") || is("application/merge-patch+json") && method != "PATCH";
    if !(is("application/json") || has_suffix) || is_patch {
        return Err(NotTaken::MediaType);
    }
    let Some(parameters) = parameters(rest) else { return Err(NotTaken::Parameters) };
    let is_utf8 = |charset: &str| ["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known));
    let mut charsets = parameters.iter().filter(|(name, _)| name.eq_ignore_ascii_case("charset"));
    if charsets.all(|(_, charset)| is_utf8(charset)) { Ok(()) } else { Err(NotTaken::Charset) }
}

/// Reads the parameters of a media type (RFC 9110, section 5.6.6): `;name=value`, with a token or a quoted string as value. Returns `None` for other
/// text.
///
/// * Blanks around `=` are allowed, although the RFC forbids them, because clients send them.
fn parameters(mut rest: &str) -> Option<Vec<(&str, String)>> {
    let is_token = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    let is_charset = |name: &str| name.eq_ignore_ascii_case("charset");
    let mut all = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(all);
        }
        rest = rest.strip_prefix(';')?.trim_start();
        if rest.is_empty() || rest.starts_with(';') {
            // An empty parameter is allowed.
            continue;
        }
        let end = rest.find(';').unwrap_or(rest.len());
        if !rest[..end].contains('=') && !is_charset(rest[..end].trim_end()) {
            // The server needs no other parameter.
            rest = &rest[end..];
            continue;
        }
        let (name, value) = rest.split_once('=')?;
        let (name, value) = (name.trim_end(), value.trim_start());
        let text = match value.strip_prefix('"') {
            Some(quoted) => {
                let (text, end) = quoted_string(quoted)?;
                rest = &quoted[end..];
                text
            }
            None => {
                let end = value.find(';').unwrap_or(value.len());
                rest = &value[end..];
                value[..end].trim_end().to_owned()
            }
        };
        // Clients send values such as URLs without quotation marks.
        if !is_token(name) || is_charset(name) && !value.starts_with('"') && !is_token(&text) {
            return None;
        }
        all.push((name, text));
    }
}

/// Reads a quoted string after its first quotation mark (RFC 9110, section 5.6.4). Returns its text and the position after it, or `None` without a
/// closing mark.
fn quoted_string(quoted: &str) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = quoted.char_indices();
    loop {
        match chars.next()? {
            (at, '"') => return Some((text, at + 1)),
            (_, '\\') => text.push(chars.next()?.1),
            (_, c) => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_json_in_utf_8() {
        for good in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
            "application/json; profile=x",
            "application/json; profile=\"a;charset=x\"",
            "application/json; profile=\"\\\"; charset=x\"; charset=\"ut\\f-8\"",
            "application/json ; charset = utf-8 ;",
            "application/json;; charset=utf-8",
            "application/json; profile=\"\"",
            "application/json; profile=https://example.org/x",
            "application/json; odata.metadata; charset=utf-8",
            "application/vnd.shop+json",
        ] {
            assert_eq!(check(Some(good), "POST"), Ok(()), "{good}");
        }
        for bad in ["", "json", "+json", "text/json", "application/xml", "application/jsonx", "é"] {
            assert_eq!(check(Some(bad), "POST"), Err(NotTaken::MediaType), "{bad}");
        }
        for bad in [
            "application/json; charset=\"utf-8",
            "application/json; charset=utf-8\"",
            "application/json; charset=\"utf-8\\\"",
            "application/json; charset=\"utf-8\"x",
            "application/json; charset=",
            "application/json; =utf-8",
            "application/json; charset",
            "application/json; charset; profile=x",
            "application/json; a b=c",
        ] {
            assert_eq!(check(Some(bad), "POST"), Err(NotTaken::Parameters), "{bad}");
        }
        assert_eq!(check(None, "POST"), Err(NotTaken::MediaType));
    }

    /// Quayline read ISO-8859-1 as UTF-8, and a patch as a document.
    #[test]
    fn other_encodings_and_patches_are_not_taken() {
        for bad in [
            "application/json;charset=iso-8859-1",
            "application/json; Charset = UTF-16",
            "application/json; charset=utf-8; charset=\"utf-16\"",
            "application/json; profile=\"a\"; charset=\"\"",
        ] {
            assert_eq!(check(Some(bad), "POST"), Err(NotTaken::Charset), "{bad}");
        }
        assert_eq!(check(Some("application/json-patch+json"), "PATCH"), Err(NotTaken::MediaType));
        assert_eq!(check(Some("application/merge-patch+json"), "POST"), Err(NotTaken::MediaType));
        assert_eq!(check(Some("application/merge-patch+json"), "PATCH"), Ok(()));
    }
}
