//! The listener for operators: health, readiness, metrics, reload. Never on an address that other machines reach.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HOST, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use quayline_core::Code;
use serde::Serialize;

use crate::admin_part::{AdminAnswer, AdminDownload, AdminPart, AdminRequest, AdminStream};
use crate::api::v1::{self, Definitions, MissingPart, Paths, Readiness, Status};
use crate::body::Body;
use crate::protobuf;
use crate::request_body::read_body;
use crate::shared::Shared;
use crate::thread::Thread;

/// Sends the parts of an answer as the client takes them: at most two wait in memory.
fn downloaded(thread: &Rc<Thread>, AdminDownload { media, mut parts }: AdminDownload) -> Response<Body> {
    let (sender, receiver) = tokio::sync::mpsc::channel(2);
    let thread = Rc::clone(thread);
    thread.streams.set(thread.streams.get() + 1);
    tokio::task::spawn_local(async move {
        while !sender.is_closed() {
            let made = tokio::task::spawn_blocking(move || {
                let part = parts.next();
                (parts, part)
            });
            let part = match made.await {
                Ok((_, None)) => break,
                Ok((back, Some(part))) => {
                    parts = back;
                    part
                }
                Err(_) => {
                    let _ = sender.send(Err("a bug ended the answer; see the log".to_owned())).await;
                    break;
                }
            };
            let is_end = part.is_err();
            if sender.send(part.map(bytes::Bytes::from)).await.is_err() || is_end {
                break;
            }
        }
        thread.streams.set(thread.streams.get().saturating_sub(1));
    });
    response_of(StatusCode::OK, Body::streamed(receiver), media)
}

/// The most streams and downloads at a time.
const STREAMS_MAX: usize = 64;
/// Between two looks at a stream.
const STREAM_LOOK: std::time::Duration = std::time::Duration::from_millis(250);
/// Idle time after which a stream sends a comment, so that proxies keep the connection and a disconnected client is noticed.
const STREAM_IDLE: std::time::Duration = std::time::Duration::from_secs(15);

/// Sends the events of a stream until it ends, the client disconnects or the server stops.
fn streamed(thread: &Rc<Thread>, mut stream: Box<dyn AdminStream>) -> Response<Body> {
    let (sender, receiver) = tokio::sync::mpsc::channel(2);
    let thread = Rc::clone(thread);
    thread.streams.set(thread.streams.get() + 1);
    tokio::task::spawn_local(async move {
        let mut idle = std::time::Duration::ZERO;
        while !thread.shared.stopping.load(Ordering::Relaxed) && !sender.is_closed() {
            let asked = tokio::task::spawn_blocking(move || {
                let next = stream.next();
                (stream, next)
            });
            let Ok((back, Some(mut text))) = asked.await else { break };
            stream = back;
            if text.is_empty() {
                tokio::time::sleep(STREAM_LOOK).await;
                idle += STREAM_LOOK;
                if idle < STREAM_IDLE {
                    continue;
                }
                text = b":\n\n".to_vec();
            }
            idle = std::time::Duration::ZERO;
            if sender.send(Ok(bytes::Bytes::from(text))).await.is_err() {
                break;
            }
        }
        thread.streams.set(thread.streams.get().saturating_sub(1));
    });
    let mut response = Response::new(Body::streamed(receiver));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers operators until the server ends.
pub(crate) async fn serve(thread: Rc<Thread>, listener: tokio::net::TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let thread = Rc::clone(&thread);
        tokio::task::spawn_local(async move {
            let service = service_fn(move |request| {
                let thread = Rc::clone(&thread);
                async move { Ok::<_, Infallible>(answer(&thread, request).await) }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(std::time::Duration::from_secs(30));
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Answers load balancers, container platforms and scrapers, until the server ends. Its three paths change nothing and show no client's data.
pub(crate) async fn serve_probes(thread: Rc<Thread>, listener: tokio::net::TcpListener) {
    loop {
        let Ok((stream, address)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let from = &thread.shared.config.admin.probes_from;
        let open = thread.probes.get();
        if !(from.is_empty() || from.iter().any(|network| network.contains(address.ip()))) || open >= PROBES_MAX {
            continue;
        }
        thread.probes.set(open + 1);
        let thread = Rc::clone(&thread);
        tokio::task::spawn_local(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let thread = Rc::clone(&thread);
                async move {
                    let known = matches!(request.uri().path(), "/health" | "/ready" | "/metrics");
                    let answered = match *request.method() {
                        Method::GET | Method::HEAD if request.uri().path() == "/ready" => {
                            ready(&thread, Reasons::Hidden).await
                        }
                        Method::GET | Method::HEAD if known => operate(&thread, request, Operator::default()).await,
                        _ if known => not_allowed(),
                        _ => response(StatusCode::NOT_FOUND, "GET /health, /ready or /metrics\n", "text/plain"),
                    };
                    Ok::<_, Infallible>(answered)
                }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(std::time::Duration::from_secs(30)).max_buf_size(8192);
            let connection = server.serve_connection(TokioIo::new(stream), service);
            let _ = tokio::time::timeout(PROBE_LASTS, connection).await;
            thread.probes.set(thread.probes.get().saturating_sub(1));
        });
    }
}

/// Answers with status 405 (RFC 9110, section 15.5.6).
fn not_allowed() -> Response<Body> {
    let mut response = response(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD\n", "text/plain");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

/// The most connections of probes at a time. Further ones are closed, so that probes cannot use up the open files that clients need.
const PROBES_MAX: usize = 64;

/// Maximum duration of a probe's connection.
const PROBE_LASTS: std::time::Duration = std::time::Duration::from_secs(600);

fn json(status: StatusCode, answer: &impl Serialize) -> Response<Body> {
    response(status, v1::text(answer) + "\n", "application/json")
}

async fn answer(thread: &Rc<Thread>, request: Request<Incoming>) -> Response<Body> {
    // A page in an operator's browser is no operator: neither one of elsewhere, nor one whose host's name was made to mean this machine.
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    if request.headers().contains_key(ORIGIN) || !is_local(host) {
        let message = "the request comes from a page in a browser: it has the header `Origin`, or a `Host` that is not this machine";
        let hint = "send it from a program on this machine, to localhost or a loopback address";
        return json(StatusCode::FORBIDDEN, &Status::refused("not for pages of a browser", FORBIDDEN, message, hint));
    }
    let operator = match operator(thread, &request) {
        Ok(operator) => operator,
        Err((status, why)) => return json(status, &why),
    };
    operate(thread, request, operator).await
}

/// Visibility of reasons in `/ready`. Reasons name files, fields and users, which only operators may see.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Reasons {
    Shown,
    Hidden,
}

async fn ready(thread: &Rc<Thread>, reasons: Reasons) -> Response<Body> {
    let shared = &thread.shared;
    let mut missing = thread.version().not_ready();
    let issuer = shared.issuer.as_ref().and_then(|issuer| issuer.not_ready());
    let failing = shared.audit.as_ref().is_some_and(crate::journal::Journal::is_failing);
    missing.extend(failing.then(|| ("audit".to_owned(), "it cannot be written".to_owned())));
    let stopped = shared.store.as_ref().and_then(|store| store.engine().stopped());
    missing.extend(stopped.map(|why| ("store".to_owned(), why)));
    missing.extend(of_parts(shared).await);
    missing.extend(issuer.map(|why| ("authentication".to_owned(), why)));
    let draining = shared.stopping.load(Ordering::Relaxed);
    let ready = missing.is_empty() && !draining;
    let hidden = reasons == Reasons::Hidden;
    let part = |(service, reason): (String, String)| MissingPart {
        service,
        reason: if hidden { String::new() } else { reason },
    };
    let services = missing.into_iter().map(part).collect();
    let mut reload = shared.reload_faults();
    if hidden && !reload.is_empty() {
        reload = vec!["the last reload failed; the log says why".to_owned()];
    }
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = if draining {
        "stopping"
    } else if ready {
        "ready"
    } else {
        "not ready"
    };
    json(status, &Readiness { status: word, services, reload })
}

/// Answers a request that may be answered. `operator`: who sends it, where that is known.
async fn operate(thread: &Rc<Thread>, request: Request<Incoming>, operator: Operator) -> Response<Body> {
    let shared = &thread.shared;
    match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/health") => json(StatusCode::OK, &Status::new("up")),
        (&Method::GET | &Method::HEAD, "/ready") => ready(thread, Reasons::Shown).await,
        (&Method::GET | &Method::HEAD, "/metrics") => {
            let connections = shared.connections.open();
            let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
            if protobuf::is_wanted(accept) {
                response(StatusCode::OK, protobuf::delimited(&shared.metrics, connections), protobuf::MEDIA_TYPE)
            } else {
                let mut text = shared.metrics.text(connections);
                shared.parts.iter().for_each(|part| text.push_str(&part.metrics()));
                if shared.workload.is_some() {
                    text.push_str(&shared.collected.metrics());
                }
                response(StatusCode::OK, text, "text/plain; version=0.0.4; charset=utf-8")
            }
        }
        (&Method::GET | &Method::HEAD, "/profile") => {
            response(StatusCode::OK, shared.metrics.profile(shared.began.elapsed()).json(), "application/json")
        }
        (&Method::GET, "/intervals") if shared.workload.is_some() => {
            let last = request.uri().query().and_then(|query| query.strip_prefix("last="));
            match last.map_or(Ok(usize::MAX), str::parse) {
                Ok(last) => response(StatusCode::OK, shared.collected.json(last), "application/json"),
                Err(_) => json(StatusCode::BAD_REQUEST, &Status::new("`last` is not a number of intervals")),
            }
        }
        (&Method::POST, "/reload") => {
            let (shared, counted) = (Arc::clone(shared), shared);
            let again = move || (shared.reload(), shared.reload_secrets());
            match tokio::task::spawn_blocking(again).await {
                Ok((Ok(()), Ok(()))) => json(StatusCode::OK, &Status::new("read again")),
                Ok((definitions, secrets)) => {
                    let mut text = definitions.err().map(|findings| format!("{findings}\n")).unwrap_or_default();
                    if let Err(why) = secrets {
                        text.push_str(&format!("the old keys and certificates stay in force: {why}\n"));
                        counted.reload_failed(1, why);
                    }
                    response(StatusCode::UNPROCESSABLE_ENTITY, text, "text/plain; charset=utf-8")
                }
                Err(_) => {
                    counted.reload_failed(0, "a bug in Quayline ended the reload; the log has its place");
                    json(StatusCode::INTERNAL_SERVER_ERROR, &Status::new("not read"))
                }
            }
        }
        (&Method::GET, "/definitions") => {
            let version = thread.version();
            let operations = version.definitions.operations.iter().map(|operation| v1::Operation {
                id: &operation.id,
                method: &operation.method,
                path: &operation.path,
                service: &operation.service.name,
                public: operation.public,
            });
            json(StatusCode::OK, &Definitions { operations: operations.collect() })
        }
        _ if !shared.parts.is_empty() => {
            let parts = shared.parts.clone();
            let (head, body) = request.into_parts();
            let Ok(body) = read_body(body, AdminRequest::BODY_BYTES_MAX).await else {
                let status = StatusCode::PAYLOAD_TOO_LARGE;
                return json(status, &Status::new("the body is too large or incomplete"));
            };
            let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
            let wants_stream = head.method == Method::GET
                && header("accept").is_some_and(|accept| accept.contains("text/event-stream"));
            let (last, if_match, if_none_match) =
                (header("last-event-id"), header("if-match"), header("if-none-match"));
            if wants_stream && thread.streams.get() >= STREAMS_MAX {
                let text = format!("{STREAMS_MAX} streams of events are open");
                return json(StatusCode::SERVICE_UNAVAILABLE, &Status::new(text));
            }
            let may_download = thread.streams.get() < STREAMS_MAX;
            let answered = tokio::task::spawn_blocking(move || {
                let request = AdminRequest {
                    // The library leaves out the body of the answer to HEAD.
                    method: if head.method == Method::HEAD { "GET" } else { head.method.as_str() },
                    path: head.uri.path(),
                    query: head.uri.query().unwrap_or(""),
                    body: &body,
                    operator: operator.name.as_deref(),
                    owns_only: operator.owns_only,
                    if_match: if_match.as_deref(),
                    if_none_match: if_none_match.as_deref(),
                };
                let stream = |part: &Arc<dyn AdminPart>| part.stream(&request, last.as_deref());
                if let Some(streaming) = wants_stream.then(|| parts.iter().find_map(stream)).flatten() {
                    return Some(streaming.map_or_else(Answered::Whole, Answered::Stream));
                }
                if request.method == "GET"
                    && let Some(download) = parts.iter().find_map(|part| part.download(&request))
                {
                    return Some(download.map_or_else(Answered::Whole, Answered::Download));
                }
                parts.iter().find_map(|part| part.request(&request)).map(Answered::Whole)
            });
            match answered.await {
                Ok(Some(Answered::Stream(stream))) => streamed(thread, stream),
                Ok(Some(Answered::Download(download))) if may_download => downloaded(thread, download),
                Ok(Some(Answered::Download(_))) => {
                    let text = format!("{STREAMS_MAX} streams and downloads are open");
                    json(StatusCode::SERVICE_UNAVAILABLE, &Status::new(text))
                }
                Ok(Some(Answered::Whole(AdminAnswer { status, media, body, allow, version }))) => {
                    let mut response = response(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), body, media);
                    if let Some(allow) = allow.and_then(|methods| HeaderValue::from_str(&methods).ok()) {
                        response.headers_mut().insert(ALLOW, allow);
                    }
                    let tag = version.map(|version| HeaderValue::from_str(&format!("\"{version}\"")));
                    if let Some(Ok(tag)) = tag {
                        response.headers_mut().insert(ETAG, tag);
                    }
                    response
                }
                Ok(None) => json(StatusCode::NOT_FOUND, &Status::new("no such path")),
                Err(_) => {
                    let status = StatusCode::INTERNAL_SERVER_ERROR;
                    json(status, &Status::new("a bug ended the request; see the log"))
                }
            }
        }
        _ => json(
            StatusCode::NOT_FOUND,
            &Paths { paths: "/health /ready /metrics /definitions /intervals; POST /reload" },
        ),
    }
}

/// Answer of a part of the program.
enum Answered {
    Whole(AdminAnswer),
    Stream(Box<dyn AdminStream>),
    Download(AdminDownload),
}

/// Returns the reports of parts that do not work. A part that does not answer in time counts as not working and is not asked again until it has answered.
async fn of_parts(shared: &Arc<Shared>) -> Vec<(String, String)> {
    if shared.parts.is_empty() {
        return Vec::new();
    }
    let parts = shared.parts.clone();
    let asked = async {
        let asking = Arc::clone(&shared.asking_parts).lock_owned().await;
        let asked = tokio::task::spawn_blocking(move || {
            let _asking = asking;
            parts.iter().flat_map(|part| part.not_ready()).collect()
        });
        asked.await.unwrap_or_else(|_| vec![("parts".to_owned(), "a bug ended the check; see the log".to_owned())])
    };
    let late = |_| vec![("parts".to_owned(), format!("no answer within {} s", PARTS_ANSWER.as_secs()))];
    tokio::time::timeout(PARTS_ANSWER, asked).await.unwrap_or_else(late)
}

/// Longest time that readiness waits for the parts of the program.
const PARTS_ANSWER: std::time::Duration = std::time::Duration::from_secs(2);

/// Sender of a request.
#[derive(Default)]
struct Operator {
    name: Option<String>,
    /// True if the operator has access only through the role `submit`.
    owns_only: bool,
}

/// Returns the sender of a request. If `[serve.admin]` names roles, `read` allows requests that change nothing, `operate` allows all, and `submit`
/// allows requests for jobs of the sender. Health, readiness and metrics need no role.
fn operator(thread: &Thread, request: &Request<Incoming>) -> Result<Operator, (StatusCode, Status)> {
    let config = &thread.shared.config.admin;
    let path = request.uri().path();
    if config.is_open() || matches!(path, "/health" | "/ready" | "/metrics") {
        return Ok(Operator::default());
    }
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let identity = thread.access().identify(&header, None, &thread.tokens);
    let Ok(Some(identity)) = identity else {
        // Without credentials, the answer names no roles.
        let hint = "send a key in `X-API-Key`, or a token in `Authorization: Bearer TOKEN`";
        let why = Status::refused("no valid credentials", UNAUTHORIZED, "the request has no valid credentials", hint);
        return Err((StatusCode::UNAUTHORIZED, why));
    };
    let has = |roles: &[String]| roles.iter().any(|role| identity.roles.contains(role));
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_free = has(&config.operate) || (reads && has(&config.read));
    let is_for_submitters = thread.shared.parts.iter().any(|part| part.is_for_submitters(path));
    let may_submit = has(&config.submit) && is_for_submitters;
    if is_free || may_submit {
        Ok(Operator { name: Some(identity.name.clone()), owns_only: !is_free })
    } else {
        // The names of roles are no secret for a client that has authenticated: with them, it knows which one to request.
        let mut roles: Vec<&str> = config.operate.iter().map(String::as_str).collect();
        roles.extend(config.read.iter().filter(|_| reads).map(String::as_str));
        roles.extend(config.submit.iter().filter(|_| is_for_submitters).map(String::as_str));
        let message = format!("the client has none of the roles that {} {path} needs", request.method());
        let hint = match roles.as_slice() {
            [] => "no client has the right: name a role in `operate` of [serve.admin]".to_owned(),
            [role] => format!("use a client with the role {role}"),
            roles => format!("use a client with one of the roles {}", roles.join(", ")),
        };
        Err((StatusCode::FORBIDDEN, Status::refused("none of the roles", FORBIDDEN, message, hint)))
    }
}

/// Code of a request without valid credentials.
const UNAUTHORIZED: Code = Code("SRV-015");
/// Code of a request that the client may not send.
const FORBIDDEN: Code = Code("SRV-016");

/// Returns true for `localhost` or a loopback address, with or without a port.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    name.eq_ignore_ascii_case("localhost") || name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok()
}

fn response(status: StatusCode, text: impl Into<bytes::Bytes>, media: &'static str) -> Response<Body> {
    response_of(status, Body::shared(text), media)
}

fn response_of(status: StatusCode, body: Body, media: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in ["localhost", "LOCALHOST:9090", "127.0.0.1:9090", "[::1]:9090", "10.0.0.1"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:9090", "127.0.0.1.evil.example", ""] {
            assert!(!is_local(host), "{host}");
        }
    }
}
