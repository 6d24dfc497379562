//! The media type of a request's body.

/// Why a body is not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NotTaken {
    /// It is not JSON, or a kind of JSON that changes a document instead of being one.
    MediaType,
    /// Its characters are in another encoding than UTF-8 (RFC 8259, section 8.1).
    Charset,
}

impl NotTaken {
    pub(crate) fn detail(self) -> &'static str {
        match self {
            NotTaken::MediaType => "the body's media type is not application/json",
            NotTaken::Charset => "the body's charset is not UTF-8",
        }
    }
}

/// Returns whether an operation takes a body with this `content-type`.
///
/// Types that end with `+json` are JSON too, except patches: a JSON patch (RFC 6902) is a list of changes, and a merge patch (RFC 7396) is taken
/// where `PATCH` keeps what the body does not have.
pub(crate) fn check(content_type: Option<&str>, method: &str) -> Result<(), NotTaken> {
    let mut parts = content_type.unwrap_or("").split(';');
    let name = parts.next().unwrap_or("").trim();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let has_suffix = name.len() > 5 && name.as_bytes()[name.len() - 5..].eq_ignore_ascii_case(b"+json");
    let is_patch = is("application/json-patch+json") || is("application/merge-patch+json") && method != "PATCH";
    if !(is("application/json") || has_suffix) || is_patch {
        return Err(NotTaken::MediaType);
    }
    let mut charsets = parts.filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    let is_utf8 = |charset: &str| ["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known));
    if charsets.all(is_utf8) { Ok(()) } else { Err(NotTaken::Charset) }
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
            "application/vnd.shop+json",
        ] {
            assert_eq!(check(Some(good), "POST"), Ok(()), "{good}");
        }
        for bad in ["", "json", "+json", "text/json", "application/xml", "application/jsonx", "é"] {
            assert_eq!(check(Some(bad), "POST"), Err(NotTaken::MediaType), "{bad}");
        }
        assert_eq!(check(None, "POST"), Err(NotTaken::MediaType));
    }

    /// ISO-8859-1 was read as UTF-8, and a patch as a document.
    #[test]
    fn other_encodings_and_patches_are_not_taken() {
        for bad in ["application/json;charset=iso-8859-1", "application/json; Charset = UTF-16"] {
            assert_eq!(check(Some(bad), "POST"), Err(NotTaken::Charset), "{bad}");
        }
        assert_eq!(check(Some("application/json-patch+json"), "PATCH"), Err(NotTaken::MediaType));
        assert_eq!(check(Some("application/merge-patch+json"), "POST"), Err(NotTaken::MediaType));
        assert_eq!(check(Some("application/merge-patch+json"), "PATCH"), Ok(()));
    }
}
