//! `[serve.tls]`.

use std::path::PathBuf;

use serde::Deserialize;

/// Certificates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsConfig {
    /// Certificate chain, PEM. Read again when it changes.
    pub certificate: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
    /// Authorities of client certificates, PEM. If present, the server requests a certificate from clients.
    pub client_authorities: Option<PathBuf>,
    /// True to refuse a client without a certificate at the handshake.
    #[serde(default)]
    pub require_client_certificate: bool,
    /// Lowest version, `1.2` (default) or `1.3`.
    pub minimum_version: Option<String>,
}
