//! One request to one response.

use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response};
use quayline_gateway::{Media, Operation, Problem, Routed, allowed, asked_fields};

use crate::body::Body;
use crate::thread::{Thread, Version};

/// The connection a request came over.
pub(crate) struct Peer {
    /// Where from.
    pub(crate) address: std::net::SocketAddr,
}

pub(crate) async fn handle(
    thread: Rc<Thread>,
    peer: Rc<Peer>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let _ = &peer.address;
    let head = request.method() == Method::HEAD;
    let mut response = match respond(&thread, request).await {
        Ok(response) => response,
        Err(problem) => problem_response(&thread, &problem),
    };
    if head {
        let length = response.body().len();
        *response.body_mut() = Body::empty();
        response.headers_mut().insert(hyper::header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(response)
}

async fn respond(thread: &Rc<Thread>, request: Request<Incoming>) -> Result<Response<Body>, Box<Problem>> {
    let limits = &thread.shared.config.limits;
    let version = thread.version();
    let (head, body) = request.into_parts();
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    if target.len() > limits.target_bytes {
        return Err(Box::new(Problem::too_large(414, "the request's path and query", limits.target_bytes)));
    }
    let path = head.uri.path();
    let query = head.uri.query().unwrap_or("");
    let method = if head.method == Method::HEAD { "GET" } else { head.method.as_str() };
    let (index, path_values) = match version.definitions.find(method, path) {
        Routed::To(index, values) => (index, values),
        Routed::Methods(methods) if head.method == Method::OPTIONS => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = hyper::StatusCode::NO_CONTENT;
            insert(response.headers_mut(), ALLOW, &allowed(&methods));
            return Ok(response);
        }
        Routed::Methods(methods) => return Err(Box::new(Problem::no_method(&methods))),
        Routed::Nowhere => return Err(Box::new(Problem::no_route())),
    };
    let operation = &version.definitions.operations[index];
    if thread.shared.config.authentication.required && !operation.public {
        return Err(Box::new(Problem::unauthenticated("Bearer", "no way of authentication is set")));
    }
    let media = accepted(&head.headers).ok_or_else(|| Box::new(Problem::not_acceptable()))?;
    let body = if body.is_end_stream() {
        Vec::new()
    } else {
        let limit = limits.body_seconds;
        let read = tokio::time::timeout(Duration::from_secs(limit), read_body(body, limits.body_bytes));
        read.await.map_err(|_| Box::new(Problem::too_slow(limit)))??
    };
    let media_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.map(|value| value.split(';').next().unwrap_or("").trim());
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let parts =
        quayline_gateway::Request { path_values: &path_values, query, header: &header, body: &body, media_type };
    let provider = version.provider(operation.service_index);
    let answered = version.with_lane(index, |lane| {
        let record = lane.record(operation, &parts)?;
        Ok::<_, Box<Problem>>(provider.call(record, thread.buffers.take()))
    })?;
    let record = answered.await.map_err(|fault| Box::new(fault.problem()))?;
    let response = answer(thread, &version, index, operation, &record, media, query);
    thread.buffers.give(record);
    response
}

fn answer(
    thread: &Rc<Thread>,
    version: &Version,
    index: usize,
    operation: &Operation,
    record: &[u8],
    media: Media,
    query: &str,
) -> Result<Response<Body>, Box<Problem>> {
    let fields = asked_fields(operation, query);
    let answer = version
        .with_lane(index, |lane| lane.answer(operation, record, media, fields.as_deref(), thread.buffers.take()))?;
    let mut response = match answer.media {
        Some(media) => {
            let mut response = Response::new(Body::pooled(answer.buffer, answer.len, &thread.buffers));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media.name()));
            response
        }
        None => {
            thread.buffers.give(answer.buffer);
            Response::new(Body::empty())
        }
    };
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status).unwrap_or(hyper::StatusCode::OK);
    Ok(response)
}

async fn read_body(mut body: Incoming, limit: usize) -> Result<Vec<u8>, Box<Problem>> {
    let too_large = || Box::new(Problem::too_large(413, "the request's body", limit));
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(frame) = core::future::poll_fn(|cx| core::pin::Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(frame) = frame else { return Err(Box::new(Problem::too_slow(0))) };
        if let Ok(data) = frame.into_data() {
            if bytes.len() + data.len() > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

/// The form that the client likes best (RFC 9110, section 12.5.1); JSON where it does not say.
fn accepted(headers: &HeaderMap) -> Option<Media> {
    let mut best: Option<(u16, Media)> = None;
    let mut said = false;
    // The most specific range decides for a form: its own name, then application/*, then */*.
    for media in [Media::Json, Media::Xml] {
        let mut found: Option<(u8, u16)> = None;
        for range in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(',')) {
            said = true;
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or("");
            let specific = match name {
                "*/*" => 0,
                "application/*" => 1,
                name if name.eq_ignore_ascii_case(media.name()) => 2,
                _ => continue,
            };
            let quality = parts.find_map(|p| p.strip_prefix("q=")).map_or(1000, thousandths);
            if found.is_none_or(|(known, _)| specific > known) {
                found = Some((specific, quality));
            }
        }
        if let Some((_, quality)) = found
            && quality > 0
            && best.is_none_or(|(known, _)| quality > known)
        {
            best = Some((quality, media));
        }
    }
    if said { best.map(|(_, media)| media) } else { Some(Media::Json) }
}

/// A quality value such as `0.8` in thousandths; what is none is 0.
fn thousandths(text: &str) -> u16 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part: String = part.chars().chain("000".chars()).take(3).collect();
    match (whole, part.parse::<u16>()) {
        ("1", Ok(0)) => 1000,
        ("0", Ok(part)) => part,
        _ => 0,
    }
}

pub(crate) fn problem_response(thread: &Thread, problem: &Problem) -> Response<Body> {
    if let Some(note) = &problem.for_log {
        thread.shared.log(&format!("{} {}: {note}", problem.status, problem.code));
    }
    let mut response = Response::new(Body::shared(problem.json("").to_string()));
    *response.status_mut() =
        hyper::StatusCode::from_u16(problem.status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(Problem::MEDIA_TYPE));
    if let Some(seconds) = problem.retry_after_s {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some((name, value)) = &problem.header {
        insert(headers, HeaderName::from_static(name), value);
    }
    response
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
