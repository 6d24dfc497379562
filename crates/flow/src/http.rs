//! Requests by HTTP as messages, and their answers.
//!
//! ```text
//! connection ─▶ request: method, path, length checked; a place and room taken; body read ─channel─▶ Input ─▶ unit of work ─▶ commit ─▶ answer
//! ```
//!
//! The answer is sent after the commit, so a client that has one knows that everything the flow did is durable. Without a `reply` node it is 204. A client
//! without an answer does not know, and repeats the request.
//!
//! A request takes its place among those that wait, and room for its content, before its content is read. A connection that does nothing is closed, so
//! neither clients that send nothing nor clients that send much keep others from being answered.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_ENCODING, HOST, HeaderName, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use quayline_project::FlowNode;
use quayline_store::queue::USER_ID;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{OwnedPermit, Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep};

/// Longest content of a request, where the node sets no limit. Default 100 MB: the longest message of a queue.
pub(crate) const CONTENT_BYTES_MAX: u64 = 100 << 20;
/// Content of all requests that are read, wait or are processed. Default 256 MB: two requests of the longest content. Beyond it a client gets 503.
const ROOM_BYTES: usize = 256 << 20;
/// Bytes that a request takes at once of that room, and the least that it takes.
const ROOM_STEP: usize = 1 << 10;
/// Requests that wait for an instance; beyond them a client gets 503.
const WAITING_MAX: usize = 1_024;
/// Connections at once, where the node sets no limit; beyond them a client waits to be accepted.
const CONNECTIONS_MAX: u64 = 1_024;
/// Pause after the system refuses a connection, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Longest time until the head of a request is complete. Default 10 s.
const HEAD_WAIT: Duration = Duration::from_secs(10);
/// Longest time without a byte in either direction while no request is processed. Default 30 s.
const IDLE_WAIT: Duration = Duration::from_secs(30);
/// Longest time for which a closing connection reads the rest of a request, and the most bytes of it.
const LINGER_WAIT: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 64 << 20;
/// Longest `Idempotency-Key`. Default 255 bytes.
const KEY_BYTES_MAX: usize = 255;

/// An answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: Option<Rc<str>>,
    pub(crate) content: Rc<[u8]>,
}

/// Outcome of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A `reply` node answered it, now or when the request came first.
    Answer(Answer),
    /// The request was processed, and no node answered it.
    Done,
    /// The flow stopped before it took the request.
    Stopping,
    /// The store did not say whether the unit of work is durable.
    Unknown,
    /// A request with the same `Idempotency-Key` is processed now.
    Busy,
    /// A request with the same `Idempotency-Key` had another content.
    OtherContent,
}

/// Receiver of the outcome. Only the first outcome counts. Without one, the unit of work was rolled back.
#[derive(Clone, Debug)]
pub(crate) struct ReplyTo(Rc<Waiting>);

#[derive(Debug)]
struct Waiting {
    sender: RefCell<Option<oneshot::Sender<Outcome>>>,
    /// The answer, and true if a failure led to it.
    answer: RefCell<Option<(Answer, bool)>>,
    /// Room for the content, as long as the message lives.
    _room: OwnedSemaphorePermit,
}

impl ReplyTo {
    pub(crate) fn end(&self, outcome: Outcome) {
        if let Some(sender) = self.0.sender.borrow_mut().take() {
            // A client that has gone does not want its answer.
            let _ = sender.send(outcome);
        }
    }

    /// Takes note of the answer that the commit will send. An answer that a failure led to takes the place of one from before the failure. False if the
    /// request has its answer.
    pub(crate) fn answers(&self, answer: Answer, after_failure: bool) -> bool {
        let mut kept = self.0.answer.borrow_mut();
        let takes = kept.as_ref().is_none_or(|(_, was_after_failure)| after_failure && !was_after_failure);
        if takes {
            *kept = Some((answer, after_failure));
        }
        takes
    }

    /// Returns the answer that the commit sends.
    pub(crate) fn answer(&self) -> Option<Answer> {
        self.0.answer.borrow().as_ref().map(|(answer, _)| answer.clone())
    }
}

/// A request whose content is complete.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) content: Rc<[u8]>,
    pub(crate) reply: ReplyTo,
    /// The `Idempotency-Key`.
    pub(crate) key: Option<String>,
    /// Trace context and user, as properties.
    pub(crate) context: Vec<(String, Vec<u8>)>,
}

/// Requests that a listener accepts.
struct Door {
    path: String,
    /// Header with the user that a proxy authenticated.
    user_header: Option<String>,
    wait: Duration,
    content_bytes_max: usize,
    sender: Sender<Asked>,
    room: Arc<Semaphore>,
}

/// Listens on an address; dropping it ends the listening. Requests that are under way get their answers.
pub(crate) struct Listener {
    pub(crate) asked: Receiver<Asked>,
    address: String,
    socket: Socket,
    tasks: Vec<JoinHandle<()>>,
}

/// A socket that the task which accepts connections shares with its owner. `None` if it is closed or handed over.
type Socket = Rc<RefCell<Option<TcpListener>>>;

impl Drop for Listener {
    fn drop(&mut self) {
        // The runtime drops an aborted task later, but another listener may need the address now.
        drop(self.socket.borrow_mut().take());
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Listener {
    /// Binds the address of a node now and accepts connections in a task of this thread. `kept` has the sockets of the flow's earlier version.
    pub(crate) fn bind(node: &FlowNode, wait: Duration, kept: &mut KeptSockets) -> Result<Listener, String> {
        let address = node.text("listen").unwrap_or_default();
        let parsed: SocketAddr =
            address.parse().map_err(|_| format!("`{address}` is not an address such as 127.0.0.1:8090"))?;
        let shown = |error: std::io::Error| {
            format!("{address} cannot be listened on: {}", quayline_core::system_error_text(&error))
        };
        let socket = match kept.remove(address) {
            Some(socket) => socket,
            None => std::net::TcpListener::bind(parsed).map_err(shown)?,
        };
        socket.set_nonblocking(true).map_err(shown)?;
        let listener = TcpListener::from_std(socket).map_err(shown)?;
        let (sender, asked) = channel(WAITING_MAX);
        let limit = |name: &str, default| usize::try_from(node.number(name).unwrap_or(default)).unwrap_or(usize::MAX);
        let door = Door {
            path: node.text("path").unwrap_or_default().to_owned(),
            user_header: node.text("user_header").map(str::to_ascii_lowercase),
            wait,
            content_bytes_max: limit("content_bytes_max", CONTENT_BYTES_MAX),
            sender,
            room: Arc::new(Semaphore::new(ROOM_BYTES / ROOM_STEP)),
        };
        let connections = limit("connections", CONNECTIONS_MAX);
        let socket = Rc::new(RefCell::new(Some(listener)));
        let accepting = tokio::task::spawn_local(accept(Rc::clone(&socket), Rc::new(door), connections));
        Ok(Listener { asked, address: address.to_owned(), socket, tasks: vec![accepting] })
    }

    /// Gives the socket to the next version of the flow, which then accepts the connections that wait in it. Requests that wait for an instance, and
    /// those that still come on old connections, get 503.
    pub(crate) fn hand_over(&mut self, kept: &mut KeptSockets) {
        self.asked.close();
        while let Ok(asked) = self.asked.try_recv() {
            asked.reply.end(Outcome::Stopping);
        }
        let socket = self.socket.borrow_mut().take();
        if let Some(socket) = socket.and_then(|socket| socket.into_std().ok()) {
            kept.insert(self.address.clone(), socket);
        }
    }

    /// Does this beside it, as long as it listens.
    pub(crate) fn forgets(&mut self, forgetting: impl Future<Output = ()> + 'static) {
        self.tasks.push(tokio::task::spawn_local(forgetting));
    }
}

/// Sockets between two versions of a flow, by address.
pub(crate) type KeptSockets = HashMap<String, std::net::TcpListener>;

async fn accept(socket: Socket, door: Rc<Door>, connections: usize) {
    let permits = Arc::new(Semaphore::new(connections));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let accepted = poll_fn(|context| match &*socket.borrow() {
            Some(listener) => listener.poll_accept(context).map(Some),
            None => Poll::Ready(None),
        });
        let Some(accepted) = accepted.await else { return };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let door = Rc::clone(&door);
        tokio::task::spawn_local(async move {
            connection(stream, &door).await;
            drop(permit);
        });
    }
}

/// Serves a connection until either side ends it or nothing happens on it.
async fn connection(stream: TcpStream, door: &Rc<Door>) {
    let life = Rc::new(Life {
        moved: Cell::new(Instant::now()),
        requests: Cell::new(0),
        is_used: Cell::new(false),
        is_early: Cell::new(false),
    });
    let watched = Watched { stream, life: Rc::clone(&life), lingers: None, rest: LINGER_BYTES };
    let service = service_fn(|request: Request<Incoming>| {
        let (door, life) = (Rc::clone(door), Rc::clone(&life));
        async move {
            life.requests.set(life.requests.get() + 1);
            life.is_used.set(true);
            let has_content = !request.body().is_end_stream();
            let response = serve(request, &door).await;
            life.is_early.set(has_content && !response.status().is_success());
            life.requests.set(life.requests.get() - 1);
            life.moved.set(Instant::now());
            Ok::<_, Infallible>(response)
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    let serving = builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .serve_connection(TokioIo::new(watched), service);
    let (mut serving, mut ends) = (std::pin::pin!(serving), std::pin::pin!(life.ends()));
    let mut stopped = std::pin::pin!(door.sender.closed());
    let (mut is_stopped, mut is_closing) = (false, false);
    // The outcome is not needed: a client that breaks its connection reads no answer.
    poll_fn(|context| {
        is_stopped = is_stopped || stopped.as_mut().poll(context).is_ready();
        if is_stopped && life.is_used.get() && !is_closing {
            // The next version of the flow has other connections, so this one closes after the current answer. A new one gets an answer first.
            is_closing = true;
            serving.as_mut().graceful_shutdown();
        }
        let is_over = serving.as_mut().poll(context).is_ready() || ends.as_mut().poll(context).is_ready();
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Activity of a connection.
struct Life {
    /// Time at which a byte was last transferred in either direction.
    moved: Cell<Instant>,
    requests: Cell<usize>,
    /// True if a request has been received.
    is_used: Cell<bool>,
    /// True if the last answer came before the end of its request.
    is_early: Cell<bool>,
}

impl Life {
    /// Ends when nothing has happened for a time.
    async fn ends(&self) {
        loop {
            let is_busy = self.requests.get() > 0;
            let until = if is_busy { Instant::now() } else { self.moved.get() } + IDLE_WAIT;
            tokio::time::sleep_until(until).await;
            if self.requests.get() == 0 && self.moved.get().elapsed() >= IDLE_WAIT {
                return;
            }
        }
    }
}

/// A connection that says when bytes move, and lets a client finish its request before it closes.
struct Watched {
    stream: TcpStream,
    life: Rc<Life>,
    /// Runs while the closing connection reads the rest of the request; `None` before it is shut down.
    lingers: Option<Pin<Box<Sleep>>>,
    /// Bytes that it may still read then.
    rest: usize,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.life.moved.set(Instant::now());
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.life.moved.set(Instant::now());
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closes the sending side, then reads the rest of a request that was refused: a socket that closes with unread bytes resets the connection, and the
    /// client may lose the answer (RFC 9112, section 9.6).
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        if self.lingers.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            if !self.life.is_early.get() {
                return Poll::Ready(Ok(()));
            }
        }
        let this = &mut *self;
        let clock = this.lingers.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER_WAIT)));
        let mut bytes = [0; 8 << 10];
        while clock.as_mut().poll(context).is_pending() && this.rest > 0 {
            let mut buffer = ReadBuf::new(&mut bytes);
            let Ok(()) = ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer)) else { break };
            if buffer.filled().is_empty() {
                break;
            }
            this.rest = this.rest.saturating_sub(buffer.filled().len());
        }
        Poll::Ready(Ok(()))
    }
}

/// Parses `Idempotency-Key`: a quoted string as in the draft, or plain text, as many clients send it.
fn idempotency_key(value: &hyper::header::HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?.trim();
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let is_good =
        !text.is_empty() && text.len() <= KEY_BYTES_MAX && text.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
    is_good.then(|| text.to_owned())
}

/// Returns the answer to a request whose headers say twice what they may say once, or that its content is coded.
fn refused_by_head(request: &Request<Incoming>) -> Option<Response<Once>> {
    let count = |name: HeaderName| request.headers().get_all(name).iter().count();
    // RFC 9112, section 3.2.
    let hosts = count(HOST);
    if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 {
        return Some(problem(StatusCode::BAD_REQUEST, "the request does not have exactly one Host header"));
    }
    if count(HeaderName::from_static("idempotency-key")) > 1 {
        return Some(problem(StatusCode::BAD_REQUEST, "the request has more than one Idempotency-Key"));
    }
    let is_other = |name: HeaderName, plain: &str| {
        request
            .headers()
            .get_all(name)
            .iter()
            .any(|value| !value.as_bytes().trim_ascii().eq_ignore_ascii_case(plain.as_bytes()))
    };
    // RFC 9112, section 6.1, and RFC 9110, section 15.5.16: the node removes chunks, and decodes nothing.
    if is_other(TRANSFER_ENCODING, "chunked") {
        return Some(problem(StatusCode::NOT_IMPLEMENTED, "the only transfer coding that a flow accepts is chunked"));
    }
    if is_other(CONTENT_ENCODING, "identity") {
        return Some(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a flow takes content without a content coding"));
    }
    None
}

async fn serve(request: Request<Incoming>, door: &Door) -> Response<Once> {
    if request.uri().path() != door.path {
        return problem(StatusCode::NOT_FOUND, "no flow listens on this path");
    }
    if request.method() != Method::POST {
        return problem(StatusCode::METHOD_NOT_ALLOWED, "a flow takes POST requests");
    }
    if let Some(refused) = refused_by_head(&request) {
        return refused;
    }
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let mut context = crate::trace::context(header("traceparent"), header("tracestate"));
    let mut users = door.user_header.iter().flat_map(|name| request.headers().get_all(name));
    let user = users.next().map(|user| std::str::from_utf8(user.as_bytes()));
    // If a proxy adds its header to the client's header, nothing says which of the two names the user.
    if users.next().is_some() {
        return problem(StatusCode::BAD_REQUEST, "the header of the user occurs twice");
    }
    let Ok(user) = user.transpose() else {
        return problem(StatusCode::BAD_REQUEST, "the header of the user is not UTF-8");
    };
    let user = user.filter(|user| !user.is_empty());
    context.extend(user.map(|user| (USER_ID.to_owned(), user.as_bytes().to_vec())));
    let key = match request.headers().get("idempotency-key").map(idempotency_key) {
        Some(None) => {
            let title = "Idempotency-Key is not 1 to 255 visible ASCII characters";
            return problem(StatusCode::BAD_REQUEST, title);
        }
        key => key.flatten(),
    };
    let (place, content, room) = match tokio::time::timeout(door.wait, collect(request.into_body(), door)).await {
        Ok(Ok(collected)) => collected,
        Ok(Err(refused)) => return refused.response(door),
        Err(_) => return problem(StatusCode::REQUEST_TIMEOUT, "the content did not arrive in time"),
    };
    let (sender, answered) = oneshot::channel();
    let waiting = Waiting { sender: RefCell::new(Some(sender)), answer: RefCell::default(), _room: room };
    // Nothing waits between this look and `send`, on the only thread of both sides.
    if door.sender.is_closed() {
        return Refused::Stopping.response(door);
    }
    place.send(Asked { content: content.into(), reply: ReplyTo(Rc::new(waiting)), key, context });
    match tokio::time::timeout(door.wait, answered).await {
        Ok(Ok(Outcome::Answer(answer))) => {
            let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
            let kind = answer.content_type.as_deref().unwrap_or("application/octet-stream");
            if status == StatusCode::NO_CONTENT {
                return empty(status);
            }
            respond(status, kind, Bytes::copy_from_slice(&answer.content))
        }
        Ok(Ok(Outcome::Done)) => empty(StatusCode::NO_CONTENT),
        Ok(Ok(Outcome::Stopping)) => Refused::Stopping.response(door),
        Ok(Ok(Outcome::Busy)) => {
            problem(StatusCode::CONFLICT, "a request with the same Idempotency-Key is being processed")
        }
        Ok(Ok(Outcome::OtherContent)) => problem(
            StatusCode::UNPROCESSABLE_ENTITY,
            "a request with the same Idempotency-Key and another content was processed before",
        ),
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

/// Reason why a request does not become a message.
enum Refused {
    TooLong,
    Broken,
    /// The maximum number of requests is waiting.
    NoPlace,
    /// The flow has stopped; its next version may listen on other connections.
    Stopping,
    /// The contents of those that are here leave no room.
    NoRoom,
}

impl Refused {
    fn response(&self, door: &Door) -> Response<Once> {
        let (status, title) = match self {
            Refused::TooLong => {
                let title = format!("the content is longer than {} bytes", door.content_bytes_max);
                return problem(StatusCode::PAYLOAD_TOO_LARGE, &title);
            }
            Refused::Broken => return problem(StatusCode::BAD_REQUEST, "the content ended too early"),
            Refused::NoPlace => (StatusCode::SERVICE_UNAVAILABLE, "the flow has too many requests waiting"),
            Refused::Stopping => {
                (StatusCode::SERVICE_UNAVAILABLE, "the flow stops or is loaded again; repeat the request")
            }
            Refused::NoRoom => {
                (StatusCode::SERVICE_UNAVAILABLE, "other requests use all memory for content; repeat the request later")
            }
        };
        let mut response = problem(status, title);
        response.headers_mut().insert(hyper::header::RETRY_AFTER, hyper::header::HeaderValue::from_static("1"));
        response
    }
}

/// Reads a content within its limits: the place of its request, the content, and the room that it takes.
async fn collect(
    mut body: Incoming,
    door: &Door,
) -> Result<(OwnedPermit<Asked>, Vec<u8>, OwnedSemaphorePermit), Refused> {
    let expected = body.size_hint().exact().map_or(Ok(0), usize::try_from).map_err(|_| Refused::TooLong)?;
    if expected > door.content_bytes_max {
        return Err(Refused::TooLong);
    }
    let place = door.sender.clone().try_reserve_owned().map_err(|refused| match refused {
        TrySendError::Full(_) => Refused::NoPlace,
        TrySendError::Closed(_) => Refused::Stopping,
    })?;
    let room = |bytes: usize| {
        let steps = u32::try_from(bytes.div_ceil(ROOM_STEP).max(1)).unwrap_or(u32::MAX);
        Arc::clone(&door.room).try_acquire_many_owned(steps).map_err(|_| Refused::NoRoom)
    };
    let mut taken = room(expected)?;
    let mut content = Vec::with_capacity(expected);
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| Refused::Broken)?;
        let Some(data) = frame.data_ref() else { continue };
        let length = content.len() + data.len();
        if length > door.content_bytes_max {
            return Err(Refused::TooLong);
        }
        let has = taken.num_permits() * ROOM_STEP;
        if length > has {
            // As much again as it has, as its memory grows.
            taken.merge(room((length - has).max(has))?);
        }
        content.extend_from_slice(data);
    }
    Ok((place, content, taken))
}

fn empty(status: StatusCode) -> Response<Once> {
    let mut response = Response::new(Once(None));
    *response.status_mut() = status;
    response
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
