//! TLS of connections to databases: verification of the server, and channel binding for passwords.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use ring::digest;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// Checks of TLS, with the names of libpq's `sslmode`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum TlsMode {
    /// TLS is not used.
    #[default]
    Off,
    /// Encryption; the certificate is checked if there are roots.
    Require,
    /// The certificate must come from the roots.
    VerifyCa,
    /// The certificate is trusted, and its name is the host's.
    VerifyFull,
}

/// TLS of an address.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TlsSettings {
    /// Checks to make.
    pub mode: TlsMode,
    /// File with the certificates that may sign the server's, in PEM.
    pub roots: Option<PathBuf>,
}

impl TlsSettings {
    /// Settings of a client; none without TLS.
    ///
    /// # Errors
    /// The file of the roots cannot be read or holds no certificate.
    pub fn client(&self) -> io::Result<Option<Arc<ClientConfig>>> {
        if self.mode == TlsMode::Off {
            return Ok(None);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = match &self.roots {
            None => None,
            Some(path) => {
                let wrong = |what: &str| io::Error::new(ErrorKind::InvalidInput, format!("{} {what}", path.display()));
                let mut roots = RootCertStore::empty();
                let found = CertificateDer::pem_file_iter(path).map_err(|_| wrong("cannot be read"))?;
                for certificate in found {
                    let certificate = certificate.map_err(|_| wrong("is not PEM"))?;
                    roots.add(certificate).map_err(|_| wrong("has a certificate that cannot be used"))?;
                }
                if roots.is_empty() {
                    return Err(wrong("holds no certificate"));
                }
                let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
                Some(inner.build().map_err(|_| wrong("has no certificate that can be used"))?)
            }
        };
        let checks_name = self.mode == TlsMode::VerifyFull;
        let verifier = Verifier { roots, checks_name, provider: Arc::clone(&provider) };
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config =
            versions.map_err(io::Error::other)?.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        Ok(Some(Arc::new(config.with_no_client_auth())))
    }
}

/// Certificate verifier for the modes of libpq between no check and all checks, for which rustls has none.
#[derive(Debug)]
struct Verifier {
    roots: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else {
            // Only `require` comes without roots: it encrypts, and SCRAM binds the password to this certificate.
            return if self.checks_name {
                Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
            } else {
                Ok(ServerCertVerified::assertion())
            };
        };
        match roots.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is checked after the chain.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Parses the server name to send and to verify: a host name or an IP address.
///
/// # Errors
/// The text is neither.
pub fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    let wrong = |_| io::Error::new(ErrorKind::InvalidInput, "the host is not a name that a certificate can have");
    ServerName::try_from(host.to_owned()).map_err(wrong)
}

/// Computes the data of the channel binding `tls-server-end-point`, a digest of the server's certificate.
///
/// Source: RFC 5929, clause 4.1. `None` for signature algorithms without a digest, such as Ed25519.
#[must_use]
pub fn channel_binding(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let algorithm = match signature_algorithm(certificate)? {
        // sha1WithRSA, sha256WithRSA, ecdsa-with-SHA1, ecdsa-with-SHA256: the weak ones count as SHA-256.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 4 | 5 | 11]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 2] => &digest::SHA256,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 12] | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 3] => {
            &digest::SHA384
        }
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 13] | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 4] => {
            &digest::SHA512
        }
        _ => return None,
    };
    Some(digest::digest(algorithm, certificate).as_ref().to_vec())
}

/// Extracts the object identifier of the signature: Certificate is SEQUENCE { tbsCertificate SEQUENCE, SEQUENCE { OBJECT IDENTIFIER, .. }, .. }.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (whole, _) = element(certificate, 0x30)?;
    let (_, rest) = element(whole, 0x30)?;
    let (algorithm, _) = element(rest, 0x30)?;
    element(algorithm, 0x06).map(|(identifier, _)| identifier)
}

/// Returns the content of a DER element with this tag, and the bytes after the element.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    (found == tag).then(|| rest.split_at_checked(length)).flatten()
}

/// A socket with TLS, blocking or not as the socket is.
pub(crate) struct TlsSocket {
    pub(crate) socket: TcpStream,
    tls: ClientConnection,
}

impl TlsSocket {
    /// Does the handshake.
    pub(crate) fn open(mut socket: TcpStream, host: &str, config: Arc<ClientConfig>) -> io::Result<Self> {
        let mut tls = ClientConnection::new(config, server_name(host)?).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        Ok(TlsSocket { socket, tls })
    }

    /// Returns the channel binding data of the server's certificate.
    pub(crate) fn binding(&self) -> Option<Vec<u8>> {
        self.tls.peer_certificates().and_then(<[_]>::first).and_then(channel_binding)
    }

    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if self.tls.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            self.tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        }
    }

    /// Accepts bytes after the earlier ones were sent. Bytes that cannot be sent immediately wait for [`Self::flush`] or the next call.
    pub(crate) fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let count = self.tls.writer().write(from)?;
        match self.flush() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(count),
            other => other.map(|()| count),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        send(&mut self.tls, &mut self.socket)
    }
}

/// Sends the encrypted bytes. An interrupted call is repeated: a caller that saw it would write bytes again that TLS has already.
fn send(tls: &mut ClientConnection, socket: &mut impl Write) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(socket) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => drop(other?),
        }
    }
    Ok(())
}
