//! HTTP requests: synchronous requests whose answer the flow continues with, and requests that are delivered after the commit.
//!
//! `http_request` sends while the message is processed. `http_output` sends from its outbox. Both send the message id in `Idempotency-Key`, which is
//! the same for each attempt, so that the receiver can detect a repetition. Source: RFC 9110; draft-ietf-httpapi-idempotency-key-header.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use quayline_core::hex;
use quayline_store::queue::Message;
use tokio::net::TcpStream;

use crate::codes;
use crate::deliver::Outside;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::http::Once;
use crate::message::Parcel;
use crate::run::{Gives, Run, Work};

/// Longest content of an answer. Default 100 MB: the longest message of a queue.
const ANSWER_BYTES_MAX: usize = 100 << 20;
/// Connections to one host that wait for their next request. Default 16.
const IDLE_MAX: usize = 16;
/// Longest wait for an answer, where the node sets none.
const WAIT_MS: u64 = 30_000;
/// Statuses that are success, where the node names none.
const SUCCESS: &[RangeInclusive<u16>] = &[200..=299];

/// Connections of a flow on one thread that are free, by host and port.
#[derive(Default)]
pub(crate) struct Connections(RefCell<HashMap<String, Vec<SendRequest<Once>>>>);

/// A request to send.
struct Call<'c> {
    method: Method,
    uri: Uri,
    content_type: &'c str,
    key: String,
    content: Bytes,
    /// Trace context, as headers.
    context: Vec<(&'c str, &'c str)>,
    wait: Duration,
}

/// Checks a URL and describes the error in it.
pub(crate) fn check(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|_| "it is not a URL".to_owned())?;
    match uri.scheme_str() {
        Some("http") if uri.host().is_some() => Ok(uri),
        Some("https") => Err("https is not supported: use http to a proxy on this machine that adds TLS".to_owned()),
        _ => Err("it does not begin with http:// and a host".to_owned()),
    }
}

/// Reads statuses and ranges such as `200-299,409`.
pub(crate) fn statuses(text: &str) -> Result<Vec<RangeInclusive<u16>>, String> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let wrong = || format!("`{part}` is not a status from 200 to 599 or a range such as 200-299");
        let status = |text: &str| text.trim().parse().ok().filter(|status| (200..=599).contains(status));
        let (first, last) = (status(first).ok_or_else(wrong)?, status(last).ok_or_else(wrong)?);
        if first <= last { Ok(first..=last) } else { Err(wrong()) }
    };
    text.split(',').map(range).collect()
}

fn unreachable(what: impl Into<String>) -> Failure {
    let hint = "check the URL, the server and the network";
    Failure::new(codes::HTTP_UNREACHABLE, what, hint)
}

impl Run<'_> {
    fn call<'c>(
        &'c self,
        at: usize,
        url: &str,
        key: String,
        content: Bytes,
        properties: &'c [(String, Vec<u8>)],
    ) -> Result<Call<'c>, Failure> {
        let node = &self.flow.file.nodes[at];
        let wrong =
            |why: String| Failure::new(codes::BAD_URL, format!("`url`: {why}"), "write it as http://HOST:PORT/PATH");
        Ok(Call {
            method: node.text("method").and_then(|method| method.parse().ok()).unwrap_or(Method::POST),
            uri: check(url).map_err(wrong)?,
            content_type: node.text("content_type").unwrap_or("application/octet-stream"),
            key,
            content,
            context: crate::trace::headers(properties),
            wait: Duration::from_millis(node.number("wait_limit").unwrap_or(WAIT_MS)),
        })
    }

    /// Sends one request. A connection that was free and turns out to be closed is replaced once.
    async fn send(&self, call: &Call<'_>) -> Result<(u16, Vec<u8>), Failure> {
        let host = call.uri.host().unwrap_or_default();
        let port = call.uri.port_u16().unwrap_or(80);
        let place = format!("{host}:{port}");
        let wait = call.wait.as_millis();
        let asked = async {
            loop {
                let free = self.http.0.borrow_mut().get_mut(&place).and_then(Vec::pop);
                let is_reused = free.is_some();
                let mut sender = match free {
                    Some(sender) => sender,
                    None => connect(&place).await?,
                };
                let mut request = Request::builder()
                    .method(&call.method)
                    .uri(call.uri.path_and_query().map_or("/", |path| path.as_str()))
                    .header("host", &place)
                    .header("content-type", call.content_type)
                    .header("idempotency-key", &call.key);
                for (name, value) in &call.context {
                    request = request.header(*name, *value);
                }
                let request = request
                    .body(Once::new(call.content.clone()))
                    .map_err(|_| unreachable("the request cannot be made from the properties of the node"))?;
                let sent = match sender.ready().await {
                    Ok(()) => sender.send_request(request).await,
                    Err(error) => Err(error),
                };
                let answer = match sent {
                    Ok(answer) => answer,
                    // The other side may close a connection that waits at any time.
                    Err(_) if is_reused => continue,
                    Err(_) => return Err(unreachable(format!("{place} ended the connection without an answer"))),
                };
                let status = answer.status().as_u16();
                let content = collect(answer, &place).await?;
                let mut all = self.http.0.borrow_mut();
                let idle = all.entry(place.clone()).or_default();
                if idle.len() < IDLE_MAX {
                    idle.push(sender);
                }
                return Ok((status, content));
            }
        };
        match tokio::time::timeout(call.wait, asked).await {
            Ok(done) => done,
            Err(_) => Err(unreachable(format!("{place} did not answer within {wait} ms"))),
        }
    }

    /// Sends the content and continues with the answer.
    pub(crate) async fn http_request(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let url = self.needed(at, values, "url")?;
        let content = Bytes::copy_from_slice(&parcel.content);
        let call = self.call(at, url, parcel.idempotency_key(), content, &parcel.received.header.properties)?;
        let answer = self.send(&call).await;
        self.resumed(work);
        let (status, content) = answer?;
        if !self.is_success(at, status) {
            let message =
                format!("{} answers with status {status}", call.uri.authority().map_or("", |place| place.as_str()));
            let hint = "see what the server expects; connect `failure` to handle the message, or add the status to `success` if it is not a failure";
            return Err(Failure::new(codes::HTTP_STATUS, message, hint));
        }
        Ok(Gives::Out(vec![("out", parcel.with_content(content))]))
    }

    /// Keeps the content and its URL in the outbox.
    pub(crate) async fn http_output(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let url = self.needed(at, values, "url")?;
        // What can never be sent fails here, where a wire can handle it.
        self.call(at, url, String::new(), Bytes::new(), &[])?;
        let mut payload = url.as_bytes().to_vec();
        payload.push(b'\n');
        payload.extend_from_slice(&parcel.content);
        self.keep(work, at, parcel, payload).await?;
        Ok(Gives::Same("out"))
    }

    /// Returns true if a status reports success. A redirect does not, since it delivers the message nowhere.
    fn is_success(&self, at: usize, status: u16) -> bool {
        let named = self.flow.file.nodes[at].text("success").and_then(|text| statuses(text).ok());
        named.as_deref().unwrap_or(SUCCESS).iter().any(|range| range.contains(&status))
    }

    /// Sends a message of the outbox.
    pub(crate) async fn deliver_http(&self, at: usize, message: &Message) -> Result<(), Outside> {
        let end = message.payload.iter().position(|byte| *byte == b'\n').unwrap_or(message.payload.len());
        let url = std::str::from_utf8(&message.payload[..end]).unwrap_or_default();
        let content = Bytes::copy_from_slice(message.payload.get(end + 1..).unwrap_or_default());
        let call = self.call(at, url, hex(&message.id), content, &message.properties).map_err(Outside::Refuses)?;
        let (status, _) = self.send(&call).await.map_err(Outside::Waits)?;
        if self.is_success(at, status) {
            return Ok(());
        }
        let message =
            format!("{} answers with status {status}", call.uri.authority().map_or("", |place| place.as_str()));
        let hint = "see what the server expects; `success` names the statuses that are success";
        let failure = Failure::new(codes::HTTP_STATUS, message, hint);
        // Too many, too early, conflict with an attempt that is not over, and faults of the server pass.
        Err(if status >= 500 || matches!(status, 408 | 409 | 425 | 429) {
            Outside::Waits(failure)
        } else {
            Outside::Refuses(failure)
        })
    }
}

async fn connect(place: &str) -> Result<SendRequest<Once>, Failure> {
    let stream = TcpStream::connect(place).await.map_err(|error| {
        unreachable(format!("{place} cannot be reached: {}", quayline_core::system_error_text(&error)))
    })?;
    // A system that does not know the option is slower, and nothing else.
    let _ = stream.set_nodelay(true);
    let (sender, connection) =
        handshake(TokioIo::new(stream)).await.map_err(|_| unreachable(format!("{place} does not speak HTTP/1.1")))?;
    tokio::task::spawn_local(async move { drop(connection.await) });
    Ok(sender)
}

async fn collect(answer: Response<Incoming>, place: &str) -> Result<Vec<u8>, Failure> {
    let mut body = answer.into_body();
    let mut content = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| unreachable(format!("the answer of {place} ended too early")))?;
        if let Some(data) = frame.data_ref() {
            if content.len() + data.len() > ANSWER_BYTES_MAX {
                return Err(unreachable(format!("the answer of {place} is longer than 100 MB")));
            }
            content.extend_from_slice(data);
        }
    }
    Ok(content)
}
