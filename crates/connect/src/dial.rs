//! Connections that this side opens: TCP, and TLS over it.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Paths at which operating systems keep the certificates of public authorities.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// TLS settings of a client: the trusted authorities and an optional client certificate.
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    has_certificate: bool,
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").field("has_certificate", &self.has_certificate).finish_non_exhaustive()
    }
}

impl ClientTls {
    /// Reads PEM files: the authorities that sign servers (by default those of the system), and a certificate of this side with its private key.
    ///
    /// # Errors
    /// A description of the problem in the file.
    pub fn from_files(authorities: Option<&Path>, certificate: Option<(&Path, &Path)>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        match authorities {
            Some(path) => {
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
                }
            }
            None => {
                let path = SYSTEM_AUTHORITIES.iter().map(Path::new).find(|path| path.exists());
                let path = path.ok_or("this system has no file of authorities where they are usual; name one")?;
                // Among so many there may be some of kinds that are not known.
                roots.add_parsable_certificates(certificates(path)?);
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots);
        let config = match certificate {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let private = PrivateKeyDer::from_pem_file(key)
                    .map_err(|_| format!("{}: it holds no private key in PEM", key.display()))?;
                builder
                    .with_client_auth_cert(certificates(chain)?, private)
                    .map_err(|error| format!("certificate and private key do not go together: {error}"))?
            }
        };
        Ok(ClientTls { config: Arc::new(config), has_certificate: certificate.is_some() })
    }

    /// Returns true if a client certificate is configured.
    #[must_use]
    pub fn has_certificate(&self) -> bool {
        self.has_certificate
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = || format!("{}: it holds no certificate in PEM", path.display());
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(|_| wrong())?.collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(wrong()),
    }
}

/// A host and a port.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Place {
    /// Reads `HOST:PORT` of a URL, without user and password; the port may be missing.
    pub(crate) fn parse(text: &str, port_default: u16) -> Result<Place, String> {
        let place = text.trim_end_matches('/');
        if place.contains('@') {
            return Err("it has a user or password, and flow files are not secret".to_owned());
        }
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (place, None),
        };
        if host.is_empty() || host.contains(['/', ' ', ',']) {
            return Err("it names no host, or more than one".to_owned());
        }
        match port.map(str::parse::<u16>) {
            None => Ok(Place { host: host.to_owned(), port: port_default }),
            Some(Ok(port)) if port > 0 => Ok(Place { host: host.to_owned(), port }),
            Some(_) => Err("its port is not a number from 1 to 65535".to_owned()),
        }
    }

    /// Returns the host as TLS server names require it: an IPv6 address without brackets.
    pub(crate) fn server_name(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Returns the system's error text without its error number.
pub(crate) fn reason(error: &io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// While one becomes the other, and after that failed.
    Closed,
}

impl Wire {
    /// Opens a connection without TLS.
    pub(crate) async fn open(place: &Place) -> io::Result<Wire> {
        let stream = TcpStream::connect(place.to_string()).await?;
        stream.set_nodelay(true)?;
        Ok(Wire::Plain(stream))
    }

    /// Begins TLS on a connection.
    pub(crate) async fn encrypted(self, place: &Place, tls: &ClientTls) -> io::Result<Wire> {
        let Wire::Plain(stream) = self else { return Ok(self) };
        let name = ServerName::try_from(place.server_name().to_owned())
            .map_err(|_| io::Error::other("the host is not a name that a certificate can have"))?;
        let stream = TlsConnector::from(Arc::clone(&tls.config)).connect(name, stream).await?;
        Ok(Wire::Tls(Box::new(stream)))
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_read(context, bytes),
            Wire::Tls(stream) => Pin::new(stream).poll_read(context, bytes),
            Wire::Closed => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Wire::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Wire::Closed => Poll::Ready(Ok(0)),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(context),
            Wire::Tls(stream) => Pin::new(stream).poll_flush(context),
            Wire::Closed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Wire::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Wire::Closed => Poll::Ready(Ok(())),
        }
    }
}
