//! `[serve.authentication]`.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::Deserialize;

/// Authentication of clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AuthenticationConfig {
    /// True if non-public APIs need an authenticated client. Only an explicit `false` turns it off.
    pub required: bool,
    /// File of API keys.
    pub api_keys: Option<PathBuf>,
    /// Tokens.
    pub jwt: Option<JwtConfig>,
    /// Roles of clients with a certificate, by the certificate's subject name.
    pub certificate_roles: std::collections::BTreeMap<String, Vec<String>>,
}

impl Default for AuthenticationConfig {
    fn default() -> Self {
        AuthenticationConfig { required: true, api_keys: None, jwt: None, certificate_roles: Default::default() }
    }
}

/// Tokens (RFC 7519) that an authorization server signs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct JwtConfig {
    /// Required issuer of tokens.
    pub issuer: String,
    /// Whom it must be for.
    pub audience: String,
    /// File with the issuer's keys (JWKS, RFC 7517). Read again when it changes.
    pub jwks: Option<PathBuf>,
    /// URL of the issuer's keys, instead of a file.
    pub jwks_url: Option<String>,
    /// Authorities that the URL's certificate is checked against, PEM; by default those of the system.
    pub jwks_authorities: Option<PathBuf>,
    /// Seconds after which keys are read again. Default 300.
    pub jwks_refresh_seconds: Option<u64>,
    /// Minimum seconds between key requests that tokens with unknown keys cause. Default 10.
    pub jwks_soonest_seconds: Option<u64>,
    /// Seconds that keys stay in force while newer ones cannot be read; then no token is taken. Default 86,400.
    pub jwks_keep_seconds: Option<u64>,
    /// Milliseconds for one look. Default 5000.
    pub jwks_time_limit_ms: Option<u64>,
    /// Claim with the roles: a list, or words separated by spaces. Default `roles`.
    pub roles_claim: Option<String>,
    /// Seconds that clocks may differ. Default 60.
    pub leeway_seconds: Option<u64>,
}

impl JwtConfig {
    /// Reports values that contradict each other or are unsafe.
    pub(crate) fn wrong(&self, value: &mut dyn FnMut(&'static str, &str, &str)) {
        let path = "authentication.jwt";
        match (&self.jwks, &self.jwks_url) {
            (Some(_), Some(_)) => value(path, "the issuer's keys come from a file and from a URL", "keep one of them"),
            (None, None) => value(
                path,
                "the issuer's keys are not given",
                "add `jwks`, a file, or `jwks-url`, what the issuer's metadata calls `jwks_uri`",
            ),
            (Some(_), None) => {
                let of_url = self.jwks_authorities.is_some()
                    || self.jwks_refresh_seconds.is_some()
                    || self.jwks_soonest_seconds.is_some()
                    || self.jwks_keep_seconds.is_some()
                    || self.jwks_time_limit_ms.is_some();
                if of_url {
                    let message = "the keys come from a file, which is checked every `reload-seconds`";
                    value(path, message, "remove the keys that are about `jwks-url`");
                }
            }
            (None, Some(url)) => {
                let uri = url.parse::<hyper::Uri>().ok();
                let (scheme, host) = uri.as_ref().map_or((None, ""), |u| (u.scheme_str(), u.host().unwrap_or("")));
                let is_local = host == "localhost"
                    || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
                let key = "authentication.jwt.jwks-url";
                match scheme {
                    Some("https") if !host.is_empty() => {}
                    Some("http") if is_local => {}
                    Some("http") => {
                        value(key, "others on the network could replace the issuer's keys", "write https://")
                    }
                    _ => value(key, "this is not a URL", "write https:// and what follows it"),
                }
            }
        }
        if self.jwks_refresh_seconds == Some(0) || self.jwks_time_limit_ms == Some(0) {
            value(path, "a refresh or a time limit of nothing", "leave the key out for its default");
        }
    }
}
