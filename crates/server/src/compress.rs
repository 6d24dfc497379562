//! Compressed answers, where that pays: wire time saved against CPU time spent (M21: not within one network).

use std::io::Write as _;
use std::net::IpAddr;

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use hyper::header::{ACCEPT_ENCODING, HeaderMap};
use quayline_gateway::Compression;

use crate::negotiate::quality;

/// Answers below this fit into two packets anyway.
const BYTES_MIN: usize = 2048;

/// Returns true if compression of an answer of `bytes` bytes pays for `peer`, which accepts it.
pub(crate) fn pays(when: Compression, bytes: usize, peer: IpAddr) -> bool {
    match when {
        Compression::Off => false,
        Compression::Always => true,
        Compression::Auto => bytes >= BYTES_MIN && !is_near(peer),
    }
}

/// Returns true for this machine or a private network (RFC 1918, RFC 4193, link-local).
fn is_near(peer: IpAddr) -> bool {
    match peer.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// Content codings that a client accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Taken {
    pub(crate) gzip: bool,
    /// True unless the client explicitly refuses an uncompressed answer.
    pub(crate) identity: bool,
}

/// Codings of a client that sends no header.
impl Default for Taken {
    fn default() -> Self {
        Taken { gzip: false, identity: true }
    }
}

/// Parses `accept-encoding` (RFC 9110, section 12.5.3).
pub(crate) fn taken(headers: &HeaderMap) -> Taken {
    let mut all = headers.get_all(ACCEPT_ENCODING).iter().peekable();
    if all.peek().is_none() {
        return Taken::default();
    }
    let (mut gzip, mut identity, mut rest) = (None, None, None);
    for part in all.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        let mut words = part.split(';').map(str::trim);
        let coding = words.next().unwrap_or("");
        let is_taken = quality(words) > 0;
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            gzip = Some(is_taken);
        } else if coding.eq_ignore_ascii_case("identity") {
            identity = Some(is_taken);
        } else if coding == "*" {
            rest = Some(is_taken);
        }
    }
    Taken { gzip: gzip.or(rest).unwrap_or(false), identity: identity.or(rest).unwrap_or(true) }
}

/// Compresses with gzip at its fastest level; further savings would cost more CPU time than they are worth.
pub(crate) fn gzip(bytes: &[u8], buffer: Vec<u8>) -> Option<Vec<u8>> {
    let mut buffer = buffer;
    buffer.clear();
    let mut encoder = GzEncoder::new(buffer, Level::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_for_far_clients_that_take_it() {
        let far: IpAddr = "203.0.113.5".parse().unwrap();
        let near: IpAddr = "::ffff:10.1.2.3".parse().unwrap();
        assert!(pays(Compression::Auto, 4000, far));
        assert!(!pays(Compression::Auto, 400, far));
        assert!(!pays(Compression::Auto, 4000, near));
        assert!(pays(Compression::Always, 400, near));
        assert!(!pays(Compression::Off, 4000, far));
        let check = |accept: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(ACCEPT_ENCODING, value.parse().unwrap());
            }
            let taken = taken(&headers);
            (taken.gzip, taken.identity)
        };
        assert_eq!(check(&[]), (false, true));
        assert_eq!(check(&[""]), (false, true));
        assert_eq!(check(&["br, gzip"]), (true, true));
        assert_eq!(check(&["br", "GZIP;Q=0.5"]), (true, true));
        assert_eq!(check(&["*;q=0.1"]), (true, true));
        assert_eq!(check(&["gzip;q=0"]), (false, true));
        assert_eq!(check(&["gzip;q=0.000, *"]), (false, true));
        assert_eq!(check(&["gzip, identity;q=0"]), (true, false));
        assert_eq!(check(&["identity;q=0"]), (false, false));
        assert_eq!(check(&["*;q=0"]), (false, false));
        assert_eq!(check(&["*;q=0, identity"]), (false, true));
        assert_eq!(check(&["gzip;q=nonsense"]), (false, true));
    }
}
