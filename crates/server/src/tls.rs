//! TLS 1.2 and 1.3: server certificates from files, reloaded when they change, and optional client certificates.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

use crate::tls_config::TlsConfig;

/// Loads the settings of handshakes.
///
/// # Errors
/// The file and the problem, without any content of the file.
pub(crate) fn load(config: &TlsConfig) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions: &[&rustls::SupportedProtocolVersion] = match config.minimum_version.as_deref() {
        None | Some("1.2") => &[&TLS13, &TLS12],
        Some("1.3") => &[&TLS13],
        Some(_) => return Err("minimum-version is 1.2 or 1.3".to_owned()),
    };
    let chain = certificates(&config.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&config.key)
        .map_err(|_| format!("{}: it holds no private key in PEM", config.key.display()))?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?;
    let builder = match &config.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let roots = authorities(path)?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = if config.require_client_certificate { verifier } else { verifier.allow_unauthenticated() };
            let verifier = verifier.build().map_err(|error| format!("{}: {error}", path.display()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut server = builder
        .with_single_cert(chain, key)
        .map_err(|error| format!("certificate and key do not go together: {error}"))?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    server.ticketer = rustls::crypto::ring::Ticketer::new().map_err(|error| error.to_string())?;
    Ok(Arc::new(server))
}

/// Authorities from a PEM file.
pub(crate) fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = || format!("{}: it holds no certificate in PEM", path.display());
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(|_| wrong())?.collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(wrong()),
    }
}

/// Paths at which operating systems keep the certificates of public authorities.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Loads the authorities that this system trusts.
pub(crate) fn system_authorities() -> Result<RootCertStore, String> {
    let path = SYSTEM_AUTHORITIES.iter().map(Path::new).find(|path| path.exists());
    let path = path.ok_or("this system has no file of authorities where they are looked for; name one")?;
    let mut roots = RootCertStore::empty();
    // Among so many there may be some of kinds that are not known.
    roots.add_parsable_certificates(certificates(path)?);
    Ok(roots)
}
