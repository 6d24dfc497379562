//! Requests from pages of other origins.

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use quayline_gateway::{Problem, allowed};

use crate::body::Body;
use crate::headers::insert;
use crate::thread::Thread;

/// Answers OPTIONS for an existing path: the allowed methods, and the answer to a browser's preflight.
pub(crate) fn options(
    thread: &Thread,
    methods: &[&str],
    parameters: Vec<String>,
    headers: &HeaderMap,
) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let all = allowed(methods);
    insert(response.headers_mut(), header::ALLOW, &all);
    let preflight = headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if preflight && allowed_origin(thread, headers.get(header::ORIGIN)).is_some() {
        let out = response.headers_mut();
        insert(out, header::ACCESS_CONTROL_ALLOW_METHODS, &all);
        let mut names: Vec<String> = ALLOWED_HEADERS.map(str::to_owned).to_vec();
        for name in parameters {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        insert(out, header::ACCESS_CONTROL_ALLOW_HEADERS, &names.join(", "));
        let age = thread.shared.config.cors.max_age_seconds.unwrap_or(600);
        out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(age));
    }
    response
}

pub(crate) fn allowed_origin(thread: &Thread, origin: Option<&HeaderValue>) -> Option<HeaderValue> {
    let origin = origin?;
    let origins = &thread.shared.config.cors.origins;
    if origins.iter().any(|known| known == "*") {
        return Some(HeaderValue::from_static("*"));
    }
    origins.iter().any(|known| known.as_bytes() == origin.as_bytes()).then(|| origin.clone())
}

/// Refuses a request from a page of another origin that `cors.origins` does not list. A browser adds its user's certificate to such a request, and
/// sends it without a preflight if it has no body, or one of a form.
pub(crate) fn same_origin(thread: &Thread, headers: &HeaderMap) -> Result<(), Box<Problem>> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    let of_origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host.as_bytes());
    // Browsers alone set `sec-fetch-site`. It holds also behind a proxy that replaces the host.
    let is_same = of_origin.is_some() && of_origin == host
        || headers.get("sec-fetch-site").is_some_and(|site| site.as_bytes() == b"same-origin");
    if is_same || allowed_origin(thread, Some(origin)).is_some() {
        Ok(())
    } else {
        Err(Box::new(Problem::other_origin()))
    }
}

/// Response headers that pages of other origins may read.
const EXPOSED_HEADERS: &str = "etag, retry-after, location, x-request-id";

pub(crate) fn cross_origin(thread: &Thread, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
    let origins = &thread.shared.config.cors.origins;
    // Also where the origin is none of them: a cache must not give this answer to one that is.
    if !origins.is_empty() && origins.iter().all(|known| known != "*") {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
    if let Some(origin) = allowed_origin(thread, origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    }
}

/// Headers that a browser may send to every operation; those that are its parameters come on top.
const ALLOWED_HEADERS: [&str; 6] =
    ["authorization", "content-type", "x-api-key", "if-match", "if-none-match", "traceparent"];
