//! Content negotiation: the media type that a client prefers.

use hyper::header::{ACCEPT, HeaderMap};
use quayline_gateway::Media;

/// Returns the media type that the client prefers (RFC 9110, section 12.5.1); JSON without a preference.
pub(crate) fn accepted(headers: &HeaderMap) -> Option<Media> {
    let mut best: Option<(u16, Media)> = None;
    let mut said = false;
    // The most specific range decides for a form: its own name, then application/*, then */*.
    for media in [Media::Json, Media::Xml] {
        let mut found: Option<(u8, u16)> = None;
        for range in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(',')) {
            // A list may be empty, and has empty elements (RFC 9110, section 5.6.1).
            if range.trim().is_empty() {
                continue;
            }
            said = true;
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or("");
            let specific = match name {
                "*/*" => 0,
                name if name.eq_ignore_ascii_case("application/*") => 1,
                name if name.eq_ignore_ascii_case(media.name()) => 2,
                _ => continue,
            };
            let quality = quality(parts);
            if found.is_none_or(|(known, _)| specific > known) {
                found = Some((specific, quality));
            }
        }
        if let Some((_, quality)) = found
            && quality > 0
            && best.is_none_or(|(known, _)| quality > known)
        {
            best = Some((quality, media));
        }
    }
    if said { best.map(|(_, media)| media) } else { Some(Media::Json) }
}

/// Returns the quality of a list element in thousandths: its parameter `q`, in either case.
pub(crate) fn quality<'a>(mut parameters: impl Iterator<Item = &'a str>) -> u16 {
    let of = |parameter: &'a str| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| thousandths(value.trim()))
    };
    parameters.find_map(of).unwrap_or(1000)
}

/// Parses a quality value such as `0.8` in thousandths; invalid text is 0.
fn thousandths(text: &str) -> u16 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    match (whole, part.parse::<u16>()) {
        ("1", Ok(0)) => 1000,
        ("0", Ok(part)) => part,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_for_whoever_does_not_say_otherwise() {
        let check = |accept: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(ACCEPT, value.parse().unwrap());
            }
            accepted(&headers)
        };
        assert_eq!(check(&[]), Some(Media::Json));
        assert_eq!(check(&["*/*"]), Some(Media::Json));
        assert_eq!(check(&["text/html, application/xml;q=0.9, */*;q=0.8"]), Some(Media::Xml));
        assert_eq!(check(&["application/xml;q=0.5", "application/json;q=0.6"]), Some(Media::Json));
        assert_eq!(check(&["application/json;q=0, */*"]), Some(Media::Xml));
        assert_eq!(check(&["application/xml;Q=0.5", "application/json; q=0.4"]), Some(Media::Xml));
        assert_eq!(check(&["application/xml;q=1.001, application/json;q=0.001"]), Some(Media::Json));
        // An empty header was a 406.
        assert_eq!(check(&[""]), Some(Media::Json));
        assert_eq!(check(&[" , "]), Some(Media::Json));
        assert_eq!(check(&[", application/xml"]), Some(Media::Xml));
        assert_eq!(check(&["text/html"]), None);
        assert_eq!(check(&["application/json;q=bad"]), None);
    }
}
