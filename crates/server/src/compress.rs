//! Compressed answers, where that pays: wire time saved against CPU time spent (M21: not within one network).

use std::io::Write as _;
use std::net::IpAddr;

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use quayline_gateway::Compression;

/// Answers below this fit into two packets anyway.
const BYTES_MIN: usize = 2048;

/// Whether an answer of `bytes` bytes to `peer` is compressed, given what the client takes.
pub(crate) fn pays(when: Compression, bytes: usize, peer: IpAddr, accept_encoding: Option<&str>) -> bool {
    let wanted = match when {
        Compression::Off => false,
        Compression::Always => true,
        Compression::Auto => bytes >= BYTES_MIN && !is_near(peer),
    };
    wanted && accept_encoding.is_some_and(takes_gzip)
}

/// This machine or a private network (RFC 1918, RFC 4193, link-local).
fn is_near(peer: IpAddr) -> bool {
    match peer.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// RFC 9110, section 12.5.3.
fn takes_gzip(accept: &str) -> bool {
    let quality = |coding: &str| {
        accept.split(',').find_map(|part| {
            let mut words = part.split(';').map(str::trim);
            let named = words.next()?.eq_ignore_ascii_case(coding);
            named.then(|| words.find_map(|w| w.strip_prefix("q=")).and_then(|q| q.parse::<f32>().ok()).unwrap_or(1.0))
        })
    };
    quality("gzip").or_else(|| quality("*")).is_some_and(|quality| quality > 0.0)
}

/// gzip at its fastest level: what it saves beyond that costs more CPU time than a wire is worth.
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
        let check = |when, bytes, peer, accept| pays(when, bytes, peer, accept);
        assert!(check(Compression::Auto, 4000, far, Some("br, gzip")));
        assert!(check(Compression::Auto, 4000, far, Some("*;q=0.1")));
        assert!(!check(Compression::Auto, 4000, far, Some("gzip;q=0")));
        assert!(!check(Compression::Auto, 4000, far, None));
        assert!(!check(Compression::Auto, 400, far, Some("gzip")));
        assert!(!check(Compression::Auto, 4000, near, Some("gzip")));
        assert!(check(Compression::Always, 400, near, Some("gzip")));
        assert!(!check(Compression::Off, 4000, far, Some("gzip")));
    }
}
