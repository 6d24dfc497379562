//! The `[serve]` part of `quayline.toml`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use quayline_core::{Code, Fault, Finding, Findings, Place};
use serde::Deserialize;

const SYNTAX: Code = Code("SRV-001");
const UNSAFE: Code = Code("SRV-002");

/// How a server runs. Everything has a default that is safe: this machine only, authentication required.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ServeConfig {
    /// Address and port; 127.0.0.1:8080 by default.
    pub listen: Option<SocketAddr>,
    /// Whether `listen` may be an address that other machines reach.
    pub open_to_network: bool,
    /// Whether other machines may be served without TLS, for a server behind a proxy that ends it.
    pub plain_http: bool,
    /// Server threads; by default one for each core.
    pub threads: Option<usize>,
    /// TLS.
    pub tls: Option<TlsConfig>,
    /// Who may call.
    pub authentication: AuthenticationConfig,
    /// Whether the documents of APIs that are not public are shown to anybody.
    pub public_documents: bool,
    /// Bounds.
    pub limits: LimitsConfig,
    /// Cross-origin requests of browsers.
    pub cors: CorsConfig,
    /// The listener for operators.
    pub admin: AdminConfig,
    /// A line for each request, for auditors.
    pub audit: Option<PathBuf>,
    /// A line for each request, for operators: a file, `stderr` or `off` (the default).
    pub access_log: Option<String>,
    /// Seconds between looks at the files of definitions; 0 never looks, and SIGHUP or the admin listener reload. Default 2.
    pub reload_seconds: Option<u64>,
    /// Seconds that requests in progress may take when the server stops. Default 30.
    pub drain_seconds: Option<u64>,
}

/// Certificates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsConfig {
    /// Certificate chain, PEM. Read again when it changes.
    pub certificate: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
    /// Authorities of client certificates, PEM: clients are asked for one.
    pub client_authorities: Option<PathBuf>,
    /// Whether a client without a certificate is refused at the handshake.
    #[serde(default)]
    pub require_client_certificate: bool,
    /// Lowest version, `1.2` (default) or `1.3`.
    pub minimum_version: Option<String>,
}

/// Who may call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AuthenticationConfig {
    /// Whether APIs that are not public need an authenticated client. Only `false` written here turns it off.
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
    /// Who must have issued a token.
    pub issuer: String,
    /// Whom it must be for.
    pub audience: String,
    /// File with the issuer's keys (JWKS, RFC 7517). Read again when it changes.
    pub jwks: PathBuf,
    /// Claim with the roles: a list, or words separated by spaces. Default `roles`.
    pub roles_claim: Option<String>,
    /// Seconds that clocks may differ. Default 60.
    pub leeway_seconds: Option<u64>,
}

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
    /// Connections. Default 20,000.
    pub connections: usize,
    /// Requests in progress. Default 10,000.
    pub requests: usize,
    /// Requests a second of one client, on average; none by default.
    pub client_requests_per_second: Option<f64>,
    /// Requests that a client may send at once before that average holds. Default: two seconds' worth.
    pub client_burst: Option<f64>,
    /// Requests in progress of one client; none by default.
    pub client_concurrent: Option<usize>,
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
            connections: 20_000,
            requests: 10_000,
            client_requests_per_second: None,
            client_burst: None,
            client_concurrent: None,
        }
    }
}

/// Cross-origin requests (Fetch standard).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CorsConfig {
    /// Origins that may call, `https://app.example`; `*` for any, which never goes with credentials.
    pub origins: Vec<String>,
    /// Seconds that a browser may remember an answer. Default 600.
    pub max_age_seconds: Option<u32>,
}

/// The listener for operators.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AdminConfig {
    /// Address and port; a loopback address. None by default.
    pub listen: Option<SocketAddr>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Whole {
    serve: ServeConfig,
}

impl ServeConfig {
    /// Reads `quayline.toml` of a project's folder; without such a file everything has its default. Relative paths begin at the folder.
    ///
    /// # Errors
    /// What is wrong with the file, or unsafe in it.
    pub fn load(root: &Path) -> Result<ServeConfig, Findings> {
        let path = root.join("quayline.toml");
        let in_file = || Place { file: Some(path.display().to_string().into()), ..Place::default() };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let message = format!("the settings cannot be read: {}", error.kind());
                return Err(Finding::error(SYNTAX, Fault::Environment, message).at(in_file()).into());
            }
        };
        let whole: Whole = toml::from_str(&text).map_err(|error| {
            let source =
                quayline_gateway::UserText { name: path.display().to_string().into(), text: text.as_str().into() };
            let place = error.span().map_or_else(in_file, |span| source.place(&span));
            Finding::error(SYNTAX, Fault::Config, error.message().trim().replace('\n', "; "))
                .at(place)
                .hint("docs/gateway.md shows every key of [serve]")
        })?;
        let mut config = whole.serve;
        config.resolve(root);
        config
            .check()
            .map_err(|findings| Findings(findings.0.into_iter().map(|finding| finding.at(in_file())).collect()))?;
        Ok(config)
    }

    fn resolve(&mut self, root: &Path) {
        let mut paths: Vec<&mut PathBuf> = Vec::new();
        paths.extend(self.audit.as_mut());
        paths.extend(self.authentication.api_keys.as_mut());
        paths.extend(self.authentication.jwt.as_mut().map(|jwt| &mut jwt.jwks));
        if let Some(tls) = &mut self.tls {
            paths.extend([&mut tls.certificate, &mut tls.key]);
            paths.extend(tls.client_authorities.as_mut());
        }
        for path in paths {
            *path = root.join(&*path);
        }
    }

    /// Refuses what would be open by mistake.
    ///
    /// # Errors
    /// The setting and what to write if it is meant.
    pub fn check(&self) -> Result<(), Findings> {
        let unsafe_ =
            |message: &str, hint: &str| Err(Findings::from(Finding::error(UNSAFE, Fault::Config, message).hint(hint)));
        let open = !self.listen().ip().is_loopback();
        if open && !self.open_to_network {
            return unsafe_(
                "`listen` is an address that other machines reach",
                "if that is meant, write `open-to-network = true` in [serve]",
            );
        }
        if open && self.tls.is_none() && !self.plain_http {
            return unsafe_(
                "other machines would be served without TLS",
                "add [serve.tls], or write `plain-http = true` where a proxy in front ends TLS",
            );
        }
        if self.admin.listen.is_some_and(|listen| !listen.ip().is_loopback()) {
            return unsafe_(
                "the admin listener would be open to other machines",
                "give it a loopback address; reach it through a tunnel or a sidecar",
            );
        }
        if self.cors.origins.iter().any(|origin| origin != "*" && !origin.contains("://")) {
            return unsafe_("an origin has no scheme", "write origins as browsers send them: `https://app.example`");
        }
        Ok(())
    }

    /// Address and port.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("quayline.toml"), text).unwrap();
        match ServeConfig::load(folder.path()) {
            Ok(config) => format!("{} authenticated={}", config.listen(), config.authentication.required),
            Err(findings) => {
                findings.0.iter().map(|f| format!("{} {}", f.code, f.message)).collect::<Vec<_>>().join("\n")
            }
        }
    }

    #[test]
    fn nothing_is_open_unless_it_says_so_in_so_many_words() {
        assert_eq!(check(""), "127.0.0.1:8080 authenticated=true");
        assert!(check("[serve]\nlisten = \"0.0.0.0:80\"").starts_with("SRV-002"));
        assert!(check("[serve]\nlisten = \"0.0.0.0:80\"\nopen-to-network = true").starts_with("SRV-002"));
        assert_eq!(
            check("[serve]\nlisten = \"0.0.0.0:80\"\nopen-to-network = true\nplain-http = true"),
            "0.0.0.0:80 authenticated=true"
        );
        assert_eq!(check("[serve.authentication]\nrequired = false"), "127.0.0.1:8080 authenticated=false");
        assert!(check("[serve.admin]\nlisten = \"10.0.0.1:9\"").starts_with("SRV-002"));
        assert!(check("[serve]\nport = 80").starts_with("SRV-001"));
        assert!(check("[serve.cors]\norigins = [\"app.example\"]").starts_with("SRV-002"));
    }
}
