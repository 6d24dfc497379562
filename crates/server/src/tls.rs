//! TLS 1.2 and 1.3: certificates from files, read again when they change; clients' certificates where they are asked for.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

use crate::config::TlsConfig;

/// The settings of handshakes.
///
/// # Errors
/// The file and what is wrong with it; never what it holds.
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

/// The common name of a certificate's subject (X.509: `tbsCertificate.subject`, attribute 2.5.4.3). The certificate was verified before.
pub(crate) fn common_name(certificate: &[u8]) -> Option<String> {
    const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
    let (_, whole, _) = element(certificate)?;
    let (_, body, _) = element(whole)?;
    let mut rest = body;
    // version [0], serialNumber, signature, issuer, validity, subject
    let (tag, _, behind) = element(rest)?;
    if tag == 0xa0 {
        rest = behind;
    }
    for _ in 0..4 {
        rest = element(rest)?.2;
    }
    let (_, mut names, _) = element(rest)?;
    while !names.is_empty() {
        let (_, set, behind) = element(names)?;
        names = behind;
        let (_, pair, _) = element(set)?;
        let (_, kind, value) = element(pair)?;
        if kind == COMMON_NAME {
            let (_, text, _) = element(value)?;
            return String::from_utf8(text.to_vec()).ok().filter(|name| !name.is_empty());
        }
    }
    None
}

/// Tag, content and what follows of the first DER element.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0usize, |n, digit| n << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, behind) = rest.split_at_checked(length)?;
    Some((*tag, content, behind))
}
