//! An HTTP service as provider: the record goes there as a POST, its answer is the record.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::cell::RefCell;
use std::net::ToSocketAddrs as _;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use quayline_gateway::{Answered, HttpSpec, Outgoing, Provider, ProviderFault, Returned};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::tls;

/// Connections to one service from one thread.
pub(crate) struct Upstream {
    uri: Uri,
    authority: String,
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    headers: Vec<(HeaderName, HeaderValue)>,
    length: usize,
    spec: HttpSpec,
    idle: RefCell<Vec<SendRequest<Whole>>>,
}

/// A request's body. (That of answers belongs to one thread, which the client side does not take.)
struct Whole(Option<Bytes>);

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

/// Connections that are kept for later calls.
const IDLE_MAX: usize = 32;

impl Upstream {
    /// Prepares calls; nothing is connected yet.
    ///
    /// # Errors
    /// What is wrong with the specification, without a secret.
    pub(crate) fn new(spec: &HttpSpec, length: usize) -> Result<Upstream, String> {
        let uri: Uri = spec.url.parse().map_err(|_| format!("`{}` is no URL", spec.url))?;
        let host = uri.host().ok_or_else(|| format!("`{}` has no host", spec.url))?.to_owned();
        let tls = match (uri.scheme_str(), &spec.authorities) {
            (Some("http"), _) => None,
            (Some("https"), Some(path)) => {
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let config = rustls::ClientConfig::builder_with_provider(provider)
                    .with_safe_default_protocol_versions()
                    .map_err(|error| error.to_string())?
                    .with_root_certificates(tls::authorities(path)?)
                    .with_no_client_auth();
                Some(TlsConnector::from(Arc::new(config)))
            }
            (Some("https"), None) => {
                return Err("https needs `authorities`: the certificates that its own is checked against".to_owned());
            }
            _ => return Err("the URL begins with http:// or https://".to_owned()),
        };
        let mut headers = Vec::new();
        for (name, value) in &spec.headers {
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{name}` is no header"))?;
            let mut value = HeaderValue::from_str(&from_environment(value)?)
                .map_err(|_| format!("the value of the header `{name}` has characters that a header does not have"))?;
            value.set_sensitive(header == AUTHORIZATION);
            headers.push((header, value));
        }
        let port = uri.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
        let authority = uri.authority().map_or_else(String::new, ToString::to_string);
        Ok(Upstream { authority, host, port, tls, headers, length, spec: spec.clone(), uri, idle: RefCell::default() })
    }

    async fn connect(&self) -> Result<SendRequest<Whole>, String> {
        let host = (self.host.trim_matches(['[', ']']).to_owned(), self.port);
        // Names are looked up by the system, which may wait; that is not this thread's to do.
        let addresses = tokio::task::spawn_blocking(move || {
            (host.0.as_str(), host.1).to_socket_addrs().map(|all| all.collect::<Vec<_>>())
        });
        let addresses = addresses.await.map_err(|e| e.to_string())?.map_err(|e| e.kind().to_string())?;
        let stream = TcpStream::connect(addresses.as_slice()).await.map_err(|e| e.kind().to_string())?;
        let _ = stream.set_nodelay(true);
        let send = match &self.tls {
            None => self.greet(TokioIo::new(stream)).await?,
            Some(connector) => {
                let name = ServerName::try_from(self.host.clone())
                    .map_err(|_| "the host is no name of a server".to_owned())?;
                let stream = connector.connect(name, stream).await.map_err(|e| e.to_string())?;
                self.greet(TokioIo::new(stream)).await?
            }
        };
        Ok(send)
    }

    async fn greet<T>(&self, io: T) -> Result<SendRequest<Whole>, String>
    where
        T: hyper::rt::Read + hyper::rt::Write + Unpin + 'static,
    {
        let (send, connection) = handshake(io).await.map_err(|e| e.to_string())?;
        tokio::task::spawn_local(async move {
            let _ = connection.await;
        });
        Ok(send)
    }

    async fn exchange(&self, record: Vec<u8>, trace: String) -> Result<Returned, ProviderFault> {
        let absent = |reason: String| ProviderFault::Absent { reason: format!("{}: {reason}", self.authority) };
        // The borrow ends here: what follows waits.
        let kept = self.idle.borrow_mut().pop();
        let mut send = match kept.filter(|send| !send.is_closed()) {
            Some(send) => send,
            None => self.connect().await.map_err(absent)?,
        };
        send.ready().await.map_err(|error| absent(error.to_string()))?;
        let mut request = Request::post(self.uri.path_and_query().map_or("/", |path| path.as_str()))
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/octet-stream")
            .header("traceparent", trace);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Whole(Some(record.into()))).map_err(|error| absent(error.to_string()))?;
        let response = send.send_request(request).await.map_err(|error| absent(error.to_string()))?;
        let status = response.status();
        let mut answer = Vec::new();
        read(response.into_body(), self.length, &mut answer).await?;
        if self.idle.borrow().len() < IDLE_MAX {
            self.idle.borrow_mut().push(send);
        }
        if !status.is_success() {
            return Err(ProviderFault::BadAnswer { reason: format!("{} answered {status}", self.authority) });
        }
        Ok(Returned::Bytes(answer))
    }
}

impl Provider for Upstream {
    fn call<'a>(&'a self, record: Outgoing<'_>, traceparent: &dyn Fn() -> String) -> Answered<'a> {
        let record = record.to_vec();
        let trace = traceparent();
        Box::pin(async move {
            let limit = self.spec.time_limit;
            let call = tokio::time::timeout(limit, self.exchange(record, trace));
            call.await.unwrap_or(Err(ProviderFault::TimeLimit { limit }))
        })
    }
}

async fn read(mut body: Incoming, length: usize, to: &mut Vec<u8>) -> Result<(), ProviderFault> {
    while let Some(frame) = core::future::poll_fn(|cx| core::pin::Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| ProviderFault::Absent { reason: error.to_string() })?;
        if let Ok(data) = frame.into_data() {
            if to.len() + data.len() > length {
                return Err(ProviderFault::BadAnswer { reason: format!("the answer is longer than {length} bytes") });
            }
            to.extend_from_slice(&data);
        }
    }
    Ok(())
}

/// Replaces `${NAME}` by the environment's value.
fn from_environment(text: &str) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, after) = behind.split_once('}').ok_or("a `${` is not closed")?;
        whole.push_str(before);
        whole.push_str(&std::env::var(name).map_err(|_| format!("the environment has no {name}"))?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// A provider for the service, or why there is none.
pub(crate) fn provider(spec: &HttpSpec, length: usize) -> Result<Rc<dyn Provider>, String> {
    Ok(Rc::new(Upstream::new(spec, length)?))
}
