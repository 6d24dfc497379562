//! Presence of the headers that the server uses, found in one pass instead of a look-up by name for each.

use hyper::header::HeaderMap;

/// Presence of the headers that the server uses, and the number of `host` headers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Heads {
    /// Number of `host` headers.
    pub(crate) hosts: usize,
    stand: u8,
}

/// A header, or a group of headers that are treated alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Head {
    Traceparent = 1,
    Origin = 2,
    /// `authorization`, `x-api-key`.
    Credentials = 4,
    /// `content-type`, `content-encoding`.
    Content = 8,
    Accept = 16,
    AcceptEncoding = 32,
    IfNoneMatch = 64,
    IfMatch = 128,
}

impl Heads {
    pub(crate) fn of(headers: &HeaderMap) -> Heads {
        let mut heads = Heads::default();
        for (name, _) in headers {
            let head = match name.as_str() {
                "host" => {
                    heads.hosts += 1;
                    continue;
                }
                "traceparent" => Head::Traceparent,
                "origin" => Head::Origin,
                "authorization" | "x-api-key" => Head::Credentials,
                "content-type" | "content-encoding" => Head::Content,
                "accept" => Head::Accept,
                "accept-encoding" => Head::AcceptEncoding,
                "if-none-match" => Head::IfNoneMatch,
                "if-match" => Head::IfMatch,
                _ => continue,
            };
            heads.stand |= head as u8;
        }
        heads
    }

    /// Returns true if the request has one of these headers.
    pub(crate) fn have(self, head: Head) -> bool {
        self.stand & head as u8 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_its_name() {
        let of = |names: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for name in names {
                headers.append(*name, "x".parse().unwrap());
            }
            Heads::of(&headers)
        };
        let all = [
            Head::Traceparent,
            Head::Origin,
            Head::Credentials,
            Head::Content,
            Head::Accept,
            Head::AcceptEncoding,
            Head::IfNoneMatch,
            Head::IfMatch,
        ];
        let names: [&[&str]; 8] = [
            &["traceparent"],
            &["origin"],
            &["authorization", "x-api-key"],
            &["content-type", "content-encoding"],
            &["accept"],
            &["accept-encoding"],
            &["if-none-match"],
            &["if-match"],
        ];
        for (head, names) in all.iter().zip(names) {
            for name in names {
                let heads = of(&[name, "user-agent", "host"]);
                assert_eq!(all.map(|other| heads.have(other)), all.map(|other| other == *head), "{name}");
                assert_eq!(heads.hosts, 1);
            }
        }
        assert_eq!(of(&["host", "host"]).hosts, 2);
        assert_eq!(of(&["user-agent", "accept-language"]), Heads::default());
    }
}
