//! Connections to other HTTP servers: services that answer with a record, issuers of tokens.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::net::ToSocketAddrs as _;
use std::sync::Arc;

use bytes::Bytes;
use hyper::Uri;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A URL that can be called.
pub(crate) struct Endpoint {
    uri: Uri,
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
}

/// A request's body. (That of answers belongs to one thread, which the client side does not take.)
pub(crate) struct Whole(pub(crate) Option<Bytes>);

impl hyper::body::Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, Bytes::len) as u64)
    }
}

impl Endpoint {
    /// Creates the client without connecting. `authorities` is called for an https URL.
    ///
    /// # Errors
    /// A description of the error in the URL, without secrets.
    pub(crate) fn new(
        url: &str,
        authorities: impl FnOnce() -> Result<RootCertStore, String>,
    ) -> Result<Endpoint, String> {
        let uri: Uri = url.parse().map_err(|_| "it is not a URL".to_owned())?;
        let host = uri.host().ok_or("the URL has no host")?.trim_matches(['[', ']']).to_owned();
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err("the URL has a user and password, which would appear in logs".to_owned());
        }
        let tls = match uri.scheme_str() {
            Some("http") => None,
            Some("https") => {
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let config = rustls::ClientConfig::builder_with_provider(provider)
                    .with_safe_default_protocol_versions()
                    .map_err(|error| error.to_string())?
                    .with_root_certificates(authorities()?)
                    .with_no_client_auth();
                Some(TlsConnector::from(Arc::new(config)))
            }
            _ => return Err("the URL begins with http:// or https://".to_owned()),
        };
        let port = uri.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
        Ok(Endpoint { uri, host, port, tls })
    }

    /// Returns host and port as in the URL.
    pub(crate) fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// Returns path and query.
    pub(crate) fn target(&self) -> &str {
        self.uri.path_and_query().map_or("/", |target| target.as_str())
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// The reason for the failure.
    pub(crate) async fn connect(&self) -> Result<SendRequest<Whole>, String> {
        let (host, port) = (self.host.clone(), self.port);
        // Names are looked up by the system, which may wait; that is not this thread's to do.
        let addresses = tokio::task::spawn_blocking(move || {
            (host.as_str(), port).to_socket_addrs().map(|all| all.collect::<Vec<_>>())
        });
        let addresses = addresses.await.map_err(|e| e.to_string())?.map_err(|e| e.kind().to_string())?;
        let stream = TcpStream::connect(addresses.as_slice()).await.map_err(|e| e.kind().to_string())?;
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => greet(TokioIo::new(stream)).await,
            Some(connector) => {
                let name = ServerName::try_from(self.host.clone())
                    .map_err(|_| "the host is not a name of a server".to_owned())?;
                let stream = connector.connect(name, stream).await.map_err(|e| e.to_string())?;
                greet(TokioIo::new(stream)).await
            }
        }
    }
}

async fn greet<T>(io: T) -> Result<SendRequest<Whole>, String>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + 'static,
{
    let (send, connection) = handshake(io).await.map_err(|e| e.to_string())?;
    tokio::task::spawn_local(async move {
        let _ = connection.await;
    });
    Ok(send)
}

/// Reason why an answer's body could not be read.
pub(crate) enum BodyFault {
    /// The body exceeds its limit.
    TooLong,
    /// The connection broke.
    Broken(String),
}

/// Reads a body of at most `bytes_max` bytes.
pub(crate) async fn read_all(mut body: Incoming, bytes_max: usize, to: &mut Vec<u8>) -> Result<(), BodyFault> {
    while let Some(frame) = core::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| BodyFault::Broken(error.to_string()))?;
        if let Ok(data) = frame.into_data() {
            if to.len() + data.len() > bytes_max {
                return Err(BodyFault::TooLong);
            }
            to.extend_from_slice(&data);
        }
    }
    Ok(())
}
