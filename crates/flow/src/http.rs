//! Requests by HTTP as messages, and their answers.
//!
//! ```text
//! connection ─▶ request: method, path, length checked, body read ─channel─▶ Input ─▶ unit of work ─▶ commit ─▶ answer
//! ```
//!
//! The answer is sent after the commit, so a client that has one knows that everything the flow did is durable. Without a `reply` node it is 204. A client
//! without an answer does not know, and repeats the request.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Longest content of a request. Default 100 MB: the longest message of a queue.
const CONTENT_BYTES_MAX: usize = 100 << 20;
/// Requests that wait for an instance; beyond them a client gets 503.
const WAITING_MAX: usize = 1_024;
/// Connections at once; beyond them a client waits to be accepted.
const CONNECTIONS_MAX: usize = 1_024;
/// Pause after the system refuses a connection, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: Option<Rc<str>>,
    pub(crate) content: Rc<[u8]>,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A `reply` node answered it.
    Answer(Answer),
    /// It was done, and no node answered it.
    Done,
    /// The store did not say whether the unit of work is durable.
    Unknown,
}

/// Where the outcome goes. Only the first one counts; without any, the unit of work was rolled back.
#[derive(Clone, Debug)]
pub(crate) struct ReplyTo(Rc<RefCell<Option<oneshot::Sender<Outcome>>>>);

impl ReplyTo {
    pub(crate) fn end(&self, outcome: Outcome) {
        if let Some(sender) = self.0.borrow_mut().take() {
            // A client that has gone does not want its answer.
            let _ = sender.send(outcome);
        }
    }
}

/// A request whose content is complete.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) content: Rc<[u8]>,
    pub(crate) reply: ReplyTo,
    /// Trace context, as properties.
    pub(crate) context: Vec<(String, Vec<u8>)>,
}

/// Listens on an address; dropping it ends the listening. Requests that are under way get their answers.
pub(crate) struct Listener {
    pub(crate) asked: Receiver<Asked>,
    accepting: JoinHandle<()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Listener {
    /// Binds the address now and accepts connections in a task of this thread.
    pub(crate) fn bind(address: &str, path: &str, limit: Duration) -> Result<Listener, String> {
        let parsed: SocketAddr =
            address.parse().map_err(|_| format!("`{address}` is not an address such as 127.0.0.1:8090"))?;
        let shown = |error: std::io::Error| {
            format!("{address} cannot be listened on: {}", quayline_core::system_error_text(&error))
        };
        let socket = std::net::TcpListener::bind(parsed).map_err(shown)?;
        socket.set_nonblocking(true).map_err(shown)?;
        let listener = TcpListener::from_std(socket).map_err(shown)?;
        let (sender, asked) = channel(WAITING_MAX);
        let path: Arc<str> = path.into();
        let accepting = tokio::task::spawn_local(accept(listener, sender, path, limit));
        Ok(Listener { asked, accepting })
    }
}

async fn accept(listener: TcpListener, sender: Sender<Asked>, path: Arc<str>, limit: Duration) {
    let permits = Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (sender, path) = (sender.clone(), Arc::clone(&path));
        tokio::task::spawn_local(async move {
            let service = service_fn(|request| {
                let (sender, path) = (sender.clone(), Arc::clone(&path));
                async move { Ok::<_, Infallible>(serve(request, &sender, &path, limit).await) }
            });
            // A client that breaks its connection has no one to be told.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            drop(permit);
        });
    }
}

async fn serve(request: Request<Incoming>, sender: &Sender<Asked>, path: &str, limit: Duration) -> Response<Once> {
    if request.uri().path() != path {
        return problem(StatusCode::NOT_FOUND, "no flow listens on this path");
    }
    if request.method() != Method::POST {
        return problem(StatusCode::METHOD_NOT_ALLOWED, "a flow takes POST requests");
    }
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let context = crate::trace::context(header("traceparent"), header("tracestate"));
    let content = match collect(request.into_body()).await {
        Ok(content) => content,
        Err(TooLong::Yes) => return problem(StatusCode::PAYLOAD_TOO_LARGE, "the content is longer than 100 MB"),
        Err(TooLong::No) => return problem(StatusCode::BAD_REQUEST, "the content ended too early"),
    };
    let (answer, answered) = oneshot::channel();
    let reply = ReplyTo(Rc::new(RefCell::new(Some(answer))));
    if sender.try_send(Asked { content: content.into(), reply, context }).is_err() {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "the flow has too many requests waiting");
    }
    match tokio::time::timeout(limit, answered).await {
        Ok(Ok(Outcome::Answer(answer))) => {
            let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
            let kind = answer.content_type.as_deref().unwrap_or("application/octet-stream");
            respond(status, kind, Bytes::copy_from_slice(&answer.content))
        }
        Ok(Ok(Outcome::Done)) => {
            let mut response = Response::new(Once(None));
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Ok(Ok(Outcome::Unknown)) => problem(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the store failed while the flow committed; the request may have been done",
        ),
        Ok(Err(_)) => {
            problem(StatusCode::INTERNAL_SERVER_ERROR, "the flow failed, and nothing of the request was done")
        }
        Err(_) => {
            problem(StatusCode::GATEWAY_TIMEOUT, "the flow did not answer in time; the request may still be processed")
        }
    }
}

enum TooLong {
    Yes,
    No,
}

async fn collect(mut body: Incoming) -> Result<Vec<u8>, TooLong> {
    let mut content = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| TooLong::No)?;
        if let Some(data) = frame.data_ref() {
            if content.len() + data.len() > CONTENT_BYTES_MAX {
                return Err(TooLong::Yes);
            }
            content.extend_from_slice(data);
        }
    }
    Ok(content)
}

fn problem(status: StatusCode, title: &str) -> Response<Once> {
    let text = serde_json::json!({ "status": status.as_u16(), "title": title }).to_string();
    respond(status, "application/problem+json", text.into())
}

fn respond(status: StatusCode, content_type: &str, content: Bytes) -> Response<Once> {
    let mut response = Response::new(Once(Some(content)));
    *response.status_mut() = status;
    if let Ok(value) = content_type.parse() {
        response.headers_mut().insert(hyper::header::CONTENT_TYPE, value);
    }
    response
}

/// A body in one piece.
#[derive(Debug)]
pub(crate) struct Once(Option<Bytes>);

impl Once {
    pub(crate) fn new(content: Bytes) -> Once {
        Once((!content.is_empty()).then_some(content))
    }
}

impl Body for Once {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|content| Ok(Frame::data(content))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |content| content.len() as u64))
    }
}
