//! Finds the client of a request that came through proxies.

use std::net::IpAddr;
use std::str::FromStr;

use hyper::header::HeaderMap;
use serde::{Deserialize, Deserializer, de};

/// A network: addresses with a common prefix, such as `10.0.0.0/8` or `2001:db8::/32` (RFC 4632, RFC 4291 section 2.3). A single address is a
/// network of one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Returns true if the address is in the network. An IPv4 address in IPv6 notation (`::ffff:10.0.0.1`) is treated as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a network: expected an address or ADDRESS/BITS such as `10.0.0.0/8`");
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(bits), str::parse).map_err(|_| wrong())?;
        if prefix > bits { Err(wrong()) } else { Ok(Network { address, prefix }) }
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Header in which proxies name the client.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyHeader {
    /// `Forwarded` (RFC 7239).
    Forwarded,
    /// `X-Forwarded-For`.
    XForwardedFor,
}

impl ProxyHeader {
    fn name(self) -> &'static str {
        match self {
            ProxyHeader::Forwarded => "forwarded",
            ProxyHeader::XForwardedFor => "x-forwarded-for",
        }
    }
}

/// Returns the address of the client: the last address in the proxies' header that does not belong to a trusted proxy.
///
/// The list is read from its end, because only the entries that trusted proxies added are reliable: a client may send any entries of
/// its own before them. If an entry is not an address, or a header line has another form, the proxy that forwarded it counts as the client.
///
/// A proxy writes one header and forwards the other as the client sent it. `header` names the one that the proxy writes. Without it, headers that
/// name different clients are an error, and the caller treats the proxy as the client.
pub(crate) fn client_of(
    peer: IpAddr,
    trusted: &[Network],
    header: Option<ProxyHeader>,
    headers: &HeaderMap,
) -> Result<IpAddr, Conflict> {
    let is_trusted = |address| trusted.iter().any(|network| network.contains(address));
    if !is_trusted(peer) {
        return Ok(peer);
    }
    let said = |header: ProxyHeader| {
        let is_there = headers.contains_key(header.name());
        is_there.then(|| last_untrusted(peer, &is_trusted, header, headers))
    };
    match header {
        Some(header) => Ok(said(header).unwrap_or(peer)),
        None => match (said(ProxyHeader::Forwarded), said(ProxyHeader::XForwardedFor)) {
            (Some(one), Some(other)) if one != other => Err(Conflict),
            (one, other) => Ok(one.or(other).unwrap_or(peer)),
        },
    }
}

/// `Forwarded` and `X-Forwarded-For` of a request name different clients.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Conflict;

/// Remedy for a [`Conflict`].
pub(crate) const CONFLICT_REMEDY: &str =
    "name the header that your proxies write in `client-address-header` of [serve]";

fn last_untrusted(
    peer: IpAddr,
    is_trusted: &dyn Fn(IpAddr) -> bool,
    header: ProxyHeader,
    headers: &HeaderMap,
) -> IpAddr {
    let lines: Vec<_> = headers.get_all(header.name()).into_iter().collect();
    let mut client = peer;
    for line in lines.into_iter().rev() {
        let nodes = line.to_str().ok().and_then(|line| match header {
            ProxyHeader::Forwarded => for_nodes(line),
            ProxyHeader::XForwardedFor => Some(line.split(',').map(|node| Some(node.trim().to_owned())).collect()),
        });
        for node in nodes.unwrap_or_else(|| vec![None]).into_iter().rev() {
            let Some(address) = node.as_deref().and_then(address_of) else { return client };
            client = address;
            if !is_trusted(address) {
                return client;
            }
        }
    }
    client
}

/// Returns the node of `for` of each element of a `Forwarded` line (RFC 7239, section 4), without quotation marks. Returns `None` for a line
/// that has another form: a proxy may have appended its element to what a client sent.
fn for_nodes(line: &str) -> Option<Vec<Option<String>>> {
    let mut nodes = Vec::new();
    let (mut node, mut is_empty) = (None, true);
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if !rest.starts_with([',', ';']) && !rest.is_empty() {
            let (name, from_value) = rest.split_once('=')?;
            if name.is_empty() || !name.bytes().all(is_token) {
                return None;
            }
            let (value, after) = value_of(from_value)?;
            if name.eq_ignore_ascii_case("for") && node.replace(value).is_some() {
                return None;
            }
            is_empty = false;
            rest = after.trim_start_matches([' ', '\t']);
        }
        let separator = rest.chars().next();
        if !matches!(separator, Some(';')) {
            // A list may have empty elements (RFC 9110, section 5.6.1.2).
            if !is_empty {
                nodes.push(node.take());
            }
            is_empty = true;
        }
        match separator {
            None => return Some(nodes),
            Some(',' | ';') => rest = &rest[1..],
            Some(_) => return None,
        }
    }
}

/// Splits a value, a quoted string or the text up to a separator, from what follows. Many proxies write an address with a port, which is not a token,
/// without quotation marks.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ';', ' ', '\t']).unwrap_or(text.len());
        let value = &text[..end];
        return (!value.is_empty() && !value.contains(['"', '\\', '='])).then(|| (value.to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            letter => value.push(letter),
        }
    }
    None
}

/// Returns true for a character of a token (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Parses the address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`.
fn address_of(node: &str) -> Option<IpAddr> {
    let bare = match node.strip_prefix('[') {
        Some(rest) => {
            let (bare, port) = rest.split_once(']')?;
            (port.is_empty() || port.starts_with(':')).then_some(bare)?
        }
        None if node.matches(':').count() == 1 => node.split_once(':')?.0,
        None => node,
    };
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_has_the_addresses_of_its_prefix() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"),
            ("10.1.0.0/16", "::ffff:10.1.9.9", "::ffff:10.2.0.0"),
        ] {
            assert!(network(text).contains(ip(inside)), "{text} {inside}");
            assert!(!network(text).contains(ip(outside)), "{text} {outside}");
        }
        assert!(network("0.0.0.0/0").contains(ip("203.0.113.9")));
        assert!(!network("0.0.0.0/0").contains(ip("2001:db8::1")));
        for text in ["10.0.0.0/33", "10.0.0", "::1/129", "", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    fn client(peer: &str, lines: &[(&'static str, &str)]) -> IpAddr {
        client_by(None, peer, lines)
    }

    fn client_by(header: Option<ProxyHeader>, peer: &str, lines: &[(&'static str, &str)]) -> IpAddr {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        let networks = [network("10.0.0.0/8"), network("fd00::/8")];
        client_of(ip(peer), &networks, header, &headers).unwrap_or_else(|Conflict| panic!("a conflict"))
    }

    #[test]
    fn only_trusted_proxies_are_believed_and_only_what_they_wrote() {
        // A client that is no proxy of ours writes what it likes.
        assert_eq!(client("203.0.113.5", &[("x-forwarded-for", "198.51.100.1")]), ip("203.0.113.5"));
        assert_eq!(client("10.0.0.1", &[]), ip("10.0.0.1"));
        assert_eq!(client("10.0.0.1", &[("x-forwarded-for", "198.51.100.1")]), ip("198.51.100.1"));
        // The first entry is a lie of the client; the proxy added the second.
        assert_eq!(client("10.0.0.1", &[("x-forwarded-for", "8.8.8.8, 198.51.100.1")]), ip("198.51.100.1"));
        // Two proxies, two lines.
        let chain = [("x-forwarded-for", "8.8.8.8, 198.51.100.1"), ("x-forwarded-for", "10.9.9.9")];
        assert_eq!(client("10.0.0.1", &chain), ip("198.51.100.1"));
        assert_eq!(client("10.0.0.1", &[("x-forwarded-for", "10.2.2.2, 10.3.3.3")]), ip("10.2.2.2"));
        assert_eq!(client("10.0.0.1", &[("x-forwarded-for", "198.51.100.1, unknown")]), ip("10.0.0.1"));
        assert_eq!(client("10.0.0.1", &[("x-forwarded-for", "198.51.100.1:4711")]), ip("198.51.100.1"));
    }

    /// A client behind a proxy that writes `X-Forwarded-For` could send its own `Forwarded` header and claim any address.
    #[test]
    fn a_header_that_the_proxy_does_not_write_names_nobody() {
        let both = [("forwarded", "For=\"[2001:db8:cafe::17]:4711\";proto=https"), ("x-forwarded-for", "8.8.8.8")];
        let mut headers = HeaderMap::new();
        for (name, value) in both {
            headers.append(name, value.parse().unwrap());
        }
        assert_eq!(client_of(ip("fd00::1"), &[network("fd00::/8")], None, &headers), Err(Conflict));
        assert_eq!(client_of(ip("fd00::1"), &[], None, &headers), Ok(ip("fd00::1")));
        assert_eq!(client_by(Some(ProxyHeader::Forwarded), "fd00::1", &both), ip("2001:db8:cafe::17"));
        assert_eq!(client_by(Some(ProxyHeader::XForwardedFor), "fd00::1", &both), ip("8.8.8.8"));
        assert_eq!(client_by(Some(ProxyHeader::XForwardedFor), "fd00::1", &both[..1]), ip("fd00::1"));
        let alike = [("forwarded", "for=198.51.100.1"), ("x-forwarded-for", "8.8.8.8, 198.51.100.1")];
        assert_eq!(client("10.0.0.1", &alike), ip("198.51.100.1"));
    }

    #[test]
    fn the_standard_header_has_nodes_in_several_forms() {
        assert_eq!(
            client("fd00::1", &[("forwarded", "For=\"[2001:db8:cafe::17]:4711\";proto=https")]),
            ip("2001:db8:cafe::17")
        );
        assert_eq!(
            client("10.0.0.1", &[("forwarded", "for=192.0.2.43, for=198.51.100.17;by=10.0.0.1")]),
            ip("198.51.100.17")
        );
        assert_eq!(client("10.0.0.1", &[("forwarded", "for=_hidden")]), ip("10.0.0.1"));
        assert_eq!(client("10.0.0.1", &[("forwarded", "by=10.0.0.1")]), ip("10.0.0.1"));
    }

    /// A comma in a quoted string ended the element, so that a client chose its own address with `host="x,for=6.6.6.6"`.
    #[test]
    fn a_quoted_string_of_the_standard_header_is_one_value() {
        let of = |line: &str| client("10.0.0.1", &[("forwarded", line)]).to_string();
        for (line, named) in [
            ("for=1.1.1.1;host=\"x,for=6.6.6.6\"", "1.1.1.1"),
            ("for=6.6.6.6, for=1.1.1.1;host=\"x;for=7.7.7.7\"", "1.1.1.1"),
            ("for=1.1.1.1;host=\"x\\\",for=6.6.6.6\"", "1.1.1.1"),
            ("host=\"a,b\";for=\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("for=\"[2001:db8::1]\"", "2001:db8::1"),
            ("for=\"1.1.1.1\\:80\"", "1.1.1.1"),
            ("for=1.1.1.1:80", "1.1.1.1"),
            ("For = 6.6.6.6", "10.0.0.1"),
            (",for=1.1.1.1 ; proto=http , ,", "1.1.1.1"),
            ("for=6.6.6.6, for=_x", "10.0.0.1"),
            ("for=6.6.6.6, for=unknown", "10.0.0.1"),
            ("for=6.6.6.6, for=\"_x:80\", for=10.0.0.7", "10.0.0.7"),
            ("for=6.6.6.6, proto=http", "10.0.0.1"),
            ("for=6.6.6.6, for=7.7.7.7;for=8.8.8.8", "10.0.0.1"),
            // What the client left open, and the element of the proxy.
            ("for=6.6.6.6, a=\", for=1.1.1.1", "10.0.0.1"),
            ("for=6.6.6.6, a=\", for=\"1.1.1.1\"", "10.0.0.1"),
            ("for=6.6.6.6, a=\"x\\", "10.0.0.1"),
            ("for=6.6.6.6, a=\"b\"c", "10.0.0.1"),
            ("for=6.6.6.6, for", "10.0.0.1"),
            ("for=6.6.6.6 7.7.7.7", "10.0.0.1"),
            ("for=\"[2001:db8::1]x\"", "10.0.0.1"),
            ("", "10.0.0.1"),
        ] {
            assert_eq!(of(line), named, "{line}");
        }
        // A line that the client left open does not reach into the next, which the proxy added.
        let lines = [("forwarded", "for=6.6.6.6;a=\""), ("forwarded", "for=1.1.1.1")];
        assert_eq!(client("10.0.0.1", &lines), ip("1.1.1.1"));
        let lines = [("forwarded", "for=6.6.6.6"), ("forwarded", "for=10.0.0.2;a=\"")];
        assert_eq!(client("10.0.0.1", &lines), ip("10.0.0.1"));
    }
}
