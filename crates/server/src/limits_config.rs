//! `[serve.limits]`.

use serde::Deserialize;

/// Bounds, each with its unit in its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LimitsConfig {
    /// Bytes of a request's body. Default 1 MiB.
    pub body_bytes: usize,
    /// Bytes of a request's line and headers. Default 16 KiB.
    pub header_bytes: usize,
    /// Bytes of a request's path and query. Default 4 KiB.
    pub target_bytes: usize,
    /// Seconds for a request's headers, also between requests of a connection. Default 75.
    pub idle_seconds: u64,
    /// Seconds for a request's body. Default 20.
    pub body_seconds: u64,
    /// Seconds without progress after which a client that does not read its answer is cut off. Default 30.
    pub write_seconds: u64,
    /// Maximum number of connections. Default: 20,000, or as many as the limit of open files allows.
    pub connections: Option<usize>,
    /// Maximum number of connections from one address, or one /64 network of IPv6. Default: half of all connections, or all if there are at most 64.
    pub connections_per_address: Option<usize>,
    /// Requests in progress. Default 10,000.
    pub requests: usize,
    /// Requests a second of one client, on average; none by default.
    pub client_requests_per_second: Option<f64>,
    /// Requests that a client may send at once before that average holds. Default: two seconds' worth.
    pub client_burst: Option<f64>,
    /// Requests in progress of one client; none by default.
    pub client_concurrent: Option<usize>,
    /// Limits of clients with a role. They replace those of a client in general.
    pub roles: std::collections::BTreeMap<String, RoleLimits>,
}

/// Limits of a client with a role. A client with several roles gets the largest of each limit. A limit that is not set is the one for clients in general.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RoleLimits {
    /// Requests a second of one client, on average.
    pub client_requests_per_second: Option<f64>,
    /// Requests that a client may send at once before that average holds. Default: two seconds' worth.
    pub client_burst: Option<f64>,
    /// Requests in progress of one client.
    pub client_concurrent: Option<usize>,
}

impl LimitsConfig {
    /// Returns the limits of a client in general.
    pub(crate) fn of_client(&self) -> RoleLimits {
        RoleLimits {
            client_requests_per_second: self.client_requests_per_second,
            client_burst: self.client_burst,
            client_concurrent: self.client_concurrent,
        }
    }
}

impl RoleLimits {
    /// Calls `value` with each wrong number; `keys` are the places of rate, burst and requests in progress.
    pub(crate) fn wrong(&self, keys: [&'static str; 3], value: &mut dyn FnMut(&'static str, &str, &str)) {
        let [rate, burst, concurrent] = keys;
        let fits = [
            (concurrent, self.client_concurrent != Some(0), "`client-concurrent`: expected at least 1 request"),
            (
                rate,
                self.client_requests_per_second.is_none_or(|rate| rate > 0.0 && rate.is_finite()),
                "`client-requests-per-second`: expected a number above 0",
            ),
            (
                burst,
                self.client_burst.is_none_or(|burst| burst >= 1.0 && burst.is_finite()),
                "`client-burst`: expected at least 1 request",
            ),
        ];
        for (key, _, message) in fits.iter().filter(|(_, fits, _)| !fits) {
            value(key, message, "leave the key out for its default, which docs/reference/gateway.md gives");
        }
        if self.client_burst.is_some() && self.client_requests_per_second.is_none() {
            value(burst, "`client-burst` is set without a rate", "add `client-requests-per-second`");
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        LimitsConfig {
            body_bytes: 1 << 20,
            header_bytes: 16 << 10,
            target_bytes: 4 << 10,
            idle_seconds: 75,
            body_seconds: 20,
            write_seconds: 30,
            connections: None,
            connections_per_address: None,
            requests: 10_000,
            client_requests_per_second: None,
            client_burst: None,
            client_concurrent: None,
            roles: std::collections::BTreeMap::new(),
        }
    }
}
