//! One request to one response.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use quayline_gateway::{
    Answer, Api, Conditions, FileAction, Media, Operation, Problem, Returned, Routed, asked_fields, check_form, etag,
    record_tag,
};
use quayline_meter::{Phase, interruptions};

use crate::access::Guarded;
use crate::admission::{Known, Places, admit, admit_or_renew, charge_elsewhere};
use crate::api::v1;
use crate::body::Body;
use crate::clients::{CONFLICT_REMEDY, Conflict, client_of};
use crate::compress::{self, Taken};
use crate::cross_origin::{cross_origin, options, same_origin};
use crate::guard::{Panicked, caught};
use crate::headers::{insert, text};
use crate::heads::{Head, Heads};
use crate::journal::Journal;
use crate::metrics::OperationMetrics;
use crate::negotiate::accepted;
use crate::otlp;
use crate::pages;
use crate::peer::Peer;
use crate::queues;
use crate::request_body::read_body;
use crate::shared::Shared;
use crate::thread::{Thread, Version};
use crate::trace::Trace;

/// Status that audit, access log and metrics have for a request whose client left before the answer. Its effect may have happened.
const CLIENT_LEFT: u16 = 499;

/// Request that [`record`] writes down when it is dropped without an answer, because its client left.
struct OnRecord {
    thread: Rc<Thread>,
    peer: Rc<Peer>,
    method: Method,
    began: Instant,
    trace: Trace,
    known: Known,
    is_answered: bool,
}

impl Drop for OnRecord {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        if let Some(metrics) = self.known.metrics.take() {
            metrics.answered(CLIENT_LEFT, 0, self.began.elapsed());
        }
        record(&self.thread, &self.peer, &self.known, &self.method, CLIENT_LEFT, 0, self.began, &self.trace);
    }
}

pub(crate) async fn handle(
    thread: Rc<Thread>,
    peer: Rc<Peer>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let began = Instant::now();
    let (mut parts, body) = request.into_parts();
    let heads = Heads::of(&parts.headers);
    let is_resumed = peer.is_resumed.take();
    let peer = behind_proxies(&thread, peer, &parts.headers);
    let head = parts.method == Method::HEAD;
    let mut trace = Trace::of(if heads.have(Head::Traceparent) { text(&parts.headers, "traceparent") } else { None });
    if let Some(otlp) = thread.shared.otlp.as_ref().filter(|_| trace.parent.is_none()) {
        trace.sampled = otlp.samples(trace.trace);
    }
    let method = parts.method.clone();
    let origin = if heads.have(Head::Origin) { parts.headers.get(header::ORIGIN).cloned() } else { None };
    let mut on_record = OnRecord {
        thread: Rc::clone(&thread),
        peer: Rc::clone(&peer),
        method: method.clone(),
        began,
        trace,
        known: Known::default(),
        is_answered: false,
    };
    let OnRecord { trace, known, .. } = &mut on_record;
    let trace = &*trace;
    if thread.shared.access_log.is_some() {
        known.agent = parts.headers.get(header::USER_AGENT).cloned();
    }
    let answered = caught(respond(&thread, &peer, (&mut parts, heads, body), (trace, began), known)).await;
    let mut response = match answered {
        Ok(Ok(response)) => response,
        Ok(Err(problem)) => problem_response(&thread, &problem, trace),
        Err(Panicked) => {
            // What the panic left half done must not show in the next request.
            if let Some((version, operation)) = &known.operation {
                version.forget_lane(*operation);
            }
            let problem = Problem::broken().logged(
                "a bug in Quayline ended the request; the log has its place before this line, or at its first occurrence",
            );
            problem_response(&thread, &problem, trace)
        }
    };
    known.places = Places::default();
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(id) = HeaderValue::from_bytes(&trace.request_id()) {
        headers.insert(HeaderName::from_static("x-request-id"), id);
    }
    cross_origin(&thread, origin.as_ref(), headers);
    if known.queue.is_some() && headers.contains_key(header::ACCESS_CONTROL_EXPOSE_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(queues::EXPOSED_HEADERS));
    }
    let (status, bytes) = (response.status().as_u16(), response.body().len());
    if let Some(metrics) = known.metrics.take() {
        if let Some(is_resumed) = is_resumed {
            metrics.shook_hands(is_resumed);
        }
        let now = known.answered.unwrap_or_else(Instant::now);
        metrics.answered(status, bytes, now - began);
        response.body_mut().time_writing(metrics, now);
    } else if let Some(is_resumed) = is_resumed {
        thread.shared.metrics.other_handshakes[usize::from(is_resumed)].fetch_add(1, Ordering::Relaxed);
    }
    record(&thread, &peer, known, &method, status, bytes, began, trace);
    if let Some(otlp) = thread.shared.otlp.as_ref().filter(|_| trace.sampled) {
        let method = method.as_str();
        otlp.span(&otlp::Answered { trace, method, operation: known.route(), status, bytes, began });
    }
    on_record.is_answered = true;
    // The length of what GET would answer with; an answer that never has a body says none.
    if head && !matches!(status, 204 | 304) {
        *response.body_mut() = Body::empty();
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    }
    Ok(response)
}

/// Returns the client itself if the connection comes from a trusted proxy.
fn behind_proxies(thread: &Thread, peer: Rc<Peer>, headers: &HeaderMap) -> Rc<Peer> {
    let trusted = &thread.shared.config.trusted_proxies;
    if trusted.is_empty() {
        return peer;
    }
    let shared = &thread.shared;
    let client = client_of(peer.address.ip(), trusted, shared.config.client_address_header, headers);
    let client = client.unwrap_or_else(|Conflict| {
        if let Some(count) = shared.seldom.client_headers.due() {
            let proxy = peer.address.ip();
            shared.log(&format!(
                "requests whose Forwarded and X-Forwarded-For name different clients since the last such line: {count}, the last by {proxy}, which counts as the client; {CONFLICT_REMEDY}"
            ));
        }
        peer.address.ip()
    });
    if client == peer.address.ip() {
        return peer;
    }
    Rc::new(Peer::new((client, 0).into(), peer.certificate.clone()))
}

async fn respond(
    thread: &Rc<Thread>,
    peer: &Peer,
    (head, heads, body): (&mut Parts, Heads, Incoming),
    (trace, began): (&Trace, Instant),
    known: &mut Known,
) -> Result<Response<Body>, Box<Problem>> {
    let shared = &thread.shared;
    let limits = &shared.config.limits;
    known.places.all = Some(Rc::clone(thread));
    if shared.requests.fetch_add(1, Ordering::Relaxed) >= limits.requests {
        shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
        return Err(Box::new(Problem::overloaded("the server has as many requests in progress as it may")));
    }
    if shared.audit.as_ref().is_some_and(Journal::is_failing) {
        known.unaudited = true;
        shared.metrics.unaudited.fetch_add(1, Ordering::Relaxed);
        return Err(Box::new(Problem::unaudited()));
    }
    let version = thread.version();
    // RFC 9112, section 3.2: a request that does not say for whom it is, or says it twice, is none.
    if heads.hosts > 1 || heads.hosts == 0 && head.version == hyper::Version::HTTP_11 {
        return Err(Box::new(Problem::bad_header("host", "once", "the request has one Host header")));
    }
    if !head.headers.get(header::HOST).is_none_or(|host| is_host(host.as_bytes())) {
        return Err(Box::new(Problem::bad_header("host", "form", "the value is not a host and port")));
    }
    if head.method == Method::OPTIONS && head.uri.path() == "*" {
        return Ok(options(thread, &["GET", "POST", "PUT", "PATCH", "DELETE"], Vec::new(), &head.headers));
    }
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    if target.len() > limits.target_bytes {
        return Err(Box::new(Problem::too_large(414, "the request's path and query", limits.target_bytes)));
    }
    let (path, query) = (head.uri.path(), head.uri.query().unwrap_or(""));
    let method = if head.method == Method::HEAD { "GET" } else { head.method.as_str() };
    let (index, path_values) = match version.definitions.find(method, path) {
        Routed::To(index, values) => (index, values),
        Routed::Methods(methods) if head.method == Method::OPTIONS => {
            let operations = methods.iter().filter_map(|method| match version.definitions.find(method, path) {
                Routed::To(index, _) => Some(&version.definitions.operations[index]),
                Routed::Methods(_) | Routed::Nowhere => None,
            });
            let parameters =
                operations.flat_map(|operation| operation.header_parameters().map(str::to_owned)).collect();
            return Ok(options(thread, &methods, parameters, &head.headers));
        }
        Routed::Methods(methods) => {
            shared.metrics.elsewhere.fetch_add(1, Ordering::Relaxed);
            charge_elsewhere(thread, peer, &head.headers)?;
            return Err(Box::new(Problem::no_method(&methods)));
        }
        Routed::Nowhere => {
            if let Some(target) = queues::Target::of(shared, path) {
                let call = queues::Call { target, method, query, is_options: head.method == Method::OPTIONS };
                return queues::respond((thread, peer), call, (head, heads, body), began, known).await;
            }
            if method == "GET"
                && let Some(page) =
                    pages::page(thread, &version, path, |api| may_read(thread, peer, api, heads, &head.headers))?
            {
                return Ok(page);
            }
            shared.metrics.elsewhere.fetch_add(1, Ordering::Relaxed);
            charge_elsewhere(thread, peer, &head.headers)?;
            return Err(Box::new(Problem::no_route()));
        }
    };
    let operation = &version.definitions.operations[index];
    known.operation = Some((Rc::clone(&version), index));
    let metrics = thread.metrics(&version, index);
    known.metrics = Some(Rc::clone(&metrics));
    // A page can send a request without a body, or a form, to any server, and the browser adds its user's certificate.
    if heads.have(Head::Origin) && method != "GET" {
        same_origin(thread, &head.headers)?;
    }
    unambiguous(operation, heads, &head.headers)?;
    let credentials = heads.have(Head::Credentials).then_some(&head.headers);
    admit_or_renew(thread, peer, Guarded::from(&**operation), credentials, known).await?;
    // A condition that needs the answer is judged with it.
    let is_of_file = operation.file_action().is_some();
    let tags_answer = operation.etag && !is_of_file && matches!(head.method, Method::GET | Method::HEAD);
    if !is_of_file {
        precondition(heads, tags_answer, matches!(head.method, Method::GET | Method::HEAD), &head.headers)?;
    }
    let media = if heads.have(Head::Accept) { accepted(&head.headers) } else { Some(Media::Json) };
    let media = media.ok_or_else(|| Box::new(Problem::not_acceptable()))?;
    check_form(operation, media)?;
    let mut parsed = Instant::now();
    metrics.phase(Phase::Parse, parsed - began);
    let class = version.class(index);
    let pause = shared.workload.as_ref().and_then(|workload| {
        workload.sign(class);
        workload.pause(class)
    });
    if let Some(pause) = pause {
        tokio::time::sleep(pause).await;
        let resumed = Instant::now();
        metrics.phase(Phase::Wait, resumed - parsed);
        parsed = resumed;
    }
    let (body, received) = if body.is_end_stream() {
        (Vec::new(), parsed)
    } else {
        // RFC 9112, section 6.1: chunks are all that is undone here.
        if head
            .headers
            .get(header::TRANSFER_ENCODING)
            .is_some_and(|all| !all.as_bytes().eq_ignore_ascii_case(b"chunked"))
        {
            return Err(Box::new(Problem::transfer_coding()));
        }
        let limit = limits.body_seconds;
        let read = tokio::time::timeout(Duration::from_secs(limit), read_body(body, limits.body_bytes));
        let body = read.await.map_err(|_| Box::new(Problem::too_slow(limit)))??;
        let received = Instant::now();
        metrics.phase(Phase::Wait, received - parsed);
        metrics.received(body.len());
        (body, received)
    };
    let media_type = if heads.have(Head::Content) { text(&head.headers, "content-type") } else { None };
    let header = |name: &str| text(&head.headers, name);
    let parts =
        quayline_gateway::Request { path_values: &path_values, query, header: &header, body: &body, media_type };
    let provider = version.provider(operation.service_index);
    let seen = interruptions();
    let mut browsed = Vec::new();
    let answered = version.with_lane(index, |lane| {
        if is_of_file {
            let all = |name| head.headers.get_all(name).iter().map(HeaderValue::as_bytes);
            let conditions = Conditions::new(all(header::IF_MATCH), all(header::IF_NONE_MATCH));
            let call = lane.record_call(operation, &parts, conditions)?;
            metrics.rounded(lane.take_rounded());
            if call.action == FileAction::Browse {
                browsed.clone_from(&call.key);
            }
            return Ok(provider.act(call));
        }
        let record = lane.record(operation, &parts)?;
        let called = provider.call(record, &|| trace.traceparent());
        metrics.rounded(lane.take_rounded());
        Ok::<_, Box<Problem>>(called)
    })?;
    let called = Instant::now();
    metrics.computed(Phase::Decode, called - received, kept(seen));
    charge(shared, class, called - received);
    let mut client = Client {
        peer,
        media,
        taken: if heads.have(Head::AcceptEncoding) { compress::taken(&head.headers) } else { Taken::default() },
        tags_answer,
        tags: if (tags_answer || operation.file_action() == Some(FileAction::Read)) && heads.have(Head::IfNoneMatch) {
            head.headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect()
        } else {
            Vec::new()
        },
        wanted: if tags_answer && heads.have(Head::IfMatch) {
            head.headers.get_all(header::IF_MATCH).iter().cloned().collect()
        } else {
            Vec::new()
        },
        fields: asked_fields(operation, query),
        record_tag: None,
        headers: HeaderMap::new(),
    };
    // The request's headers are done with; the answer's go into their place.
    head.headers.clear();
    client.headers = core::mem::take(&mut head.headers);
    let returned = answered.await.map_err(|fault| Box::new(fault.problem()))?;
    let back = Instant::now();
    metrics.phase(Phase::Call, back - called);
    let seen = interruptions();
    let response = match returned {
        Returned::Bytes(mut record) => answer(thread, &version, index, &metrics, &mut record, client),
        Returned::Held(held) => {
            let mut record = thread.record.borrow_mut();
            version.with_lane(index, |lane| lane.take(held, &mut record));
            answer(thread, &version, index, &metrics, &mut record, client)
        }
        Returned::Record(mut record) => {
            client.record_tag = Some(record_tag(&record));
            let location = operation.location_of(&record);
            let mut answered = answer(thread, &version, index, &metrics, &mut record, client);
            if let (Ok(response), Some(location)) = (&mut answered, location)
                && response.status() == StatusCode::CREATED
            {
                insert(response.headers_mut(), header::LOCATION, &location);
            }
            answered
        }
        Returned::Records { records, next } => {
            let (fields, buffer) = (client.fields.take(), thread.buffers.take());
            let page = version.with_lane(index, |lane| {
                lane.page(operation, (&browsed, records, next), client.media, fields.as_deref(), buffer)
            });
            page.and_then(|page| finish(thread, operation, &metrics, page, client))
        }
        Returned::Deleted => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::from_u16(operation.status()).unwrap_or(StatusCode::NO_CONTENT);
            Ok(response)
        }
        Returned::Accepted(id) => {
            let mut response = Response::new(Body::shared(v1::text(&v1::MessageId { message_id: &id })));
            *response.status_mut() = StatusCode::from_u16(operation.status()).unwrap_or(StatusCode::ACCEPTED);
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(Media::Json.name()));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            Ok(response)
        }
    };
    let answered = Instant::now();
    known.answered = Some(answered);
    metrics.computed(Phase::Encode, answered - back, kept(seen));
    charge(shared, class, answered - back);
    response
}

/// Returns true if the thread kept its processor since a look at its interruptions; `None` if the system does not report them.
fn kept(seen: Option<u64>) -> Option<bool> {
    seen.map(|seen| interruptions() == Some(seen))
}

/// Charges the computing time of a request to its class. Both phases compute without waiting, so wall time is CPU time unless other threads
/// have the processor.
fn charge(shared: &Shared, class: usize, time: Duration) {
    if let Some(workload) = shared.workload.as_ref().filter(|workload| workload.is_held(class)) {
        workload.charge(class, time);
    }
}

/// Returns true for a valid Host value: a name or an address, and an optional port (RFC 9110, section 7.2; RFC 3986, section 3.2.2). An empty
/// value is valid, since it means that the target has no authority.
fn is_host(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:[]%!$&'()*+,;=".contains(byte))
}

/// Refuses headers that two readers may interpret differently: repeated ones, and values that are not text.
fn unambiguous(operation: &Operation, heads: Heads, headers: &HeaderMap) -> Result<(), Box<Problem>> {
    let ours = heads.have(Head::Credentials) || heads.have(Head::Content);
    let once = ["authorization", "x-api-key", "content-type", "content-encoding"];
    for name in once.into_iter().filter(|_| ours).chain(operation.header_parameters()) {
        let mut values = headers.get_all(name).iter();
        let Some(first) = values.next() else { continue };
        if values.next().is_some() {
            return Err(Box::new(Problem::bad_header(name, "once", "the header occurs twice")));
        }
        if first.to_str().is_err() {
            return Err(Box::new(Problem::bad_header(
                name,
                "text",
                "the value has other characters than visible ASCII",
            )));
        }
    }
    if ours && text(headers, "content-encoding").is_some_and(|coding| !coding.trim().eq_ignore_ascii_case("identity")) {
        return Err(Box::new(Problem::content_coding()));
    }
    Ok(())
}

/// Returns true if the client may call an operation of the API, and so may read its documents. Failed attempts are limited as for operations.
///
/// # Errors
/// 429 if the client has exceeded a limit.
fn may_read(thread: &Thread, peer: &Peer, api: &Api, heads: Heads, headers: &HeaderMap) -> Result<bool, Box<Problem>> {
    if !heads.have(Head::Credentials) && peer.certificate.is_none() {
        return Ok(false);
    }
    let header = |name: &str| text(headers, name).map(str::to_owned);
    // A borrow would end with a panic if `admit` finds newer keys.
    let access = Arc::clone(&thread.access());
    // Not those of another API whose paths are below.
    let mut operations = api.operations.iter();
    let mut known = operations.clone().filter(|operation| {
        !operation.public
            && access.check(Guarded::from(&***operation), &header, peer.certificate.as_deref(), &thread.tokens).is_ok()
    });
    let Some(operation) = known.next().or_else(|| operations.find(|operation| !operation.public)) else {
        return Ok(false);
    };
    let mut found = Known::default();
    match admit(thread, peer, Guarded::from(&**operation), Some(headers), &mut found) {
        Err(denied) if denied.is_limited => Err(denied.problem),
        admitted => Ok(admitted.is_ok()),
    }
}

/// Parts of the request that shape the answer.
struct Client<'a> {
    peer: &'a Peer,
    media: Media,
    taken: Taken,
    /// True if the answer has a tag. An answer to POST, which does not represent a resource, has none.
    tags_answer: bool,
    /// Values of `if-none-match` of a read whose answer has a tag.
    tags: Vec<HeaderValue>,
    /// Values of `if-match`.
    wanted: Vec<HeaderValue>,
    fields: Option<String>,
    /// Tag of the record of a file that is the answer.
    record_tag: Option<String>,
    /// Empty, with room for the answer's.
    headers: HeaderMap,
}

fn answer(
    thread: &Rc<Thread>,
    version: &Version,
    index: usize,
    metrics: &OperationMetrics,
    record: &mut Vec<u8>,
    client: Client<'_>,
) -> Result<Response<Body>, Box<Problem>> {
    let operation = &version.definitions.operations[index];
    let buffer = thread.buffers.take();
    let answer = version
        .with_lane(index, |lane| lane.answer(operation, record, client.media, client.fields.as_deref(), buffer))?;
    finish(thread, operation, metrics, answer, client)
}

/// Answers 304, since the client has the answer already.
fn not_modified(tag: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    let headers = response.headers_mut();
    insert(headers, header::ETAG, tag);
    headers.insert(header::VARY, HeaderValue::from_static(VARIES));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Finishes the answer: adds its tag and compresses it if that pays.
fn finish(
    thread: &Rc<Thread>,
    operation: &Operation,
    metrics: &OperationMetrics,
    answer: Answer,
    client: Client<'_>,
) -> Result<Response<Body>, Box<Problem>> {
    metrics.replaced(answer.replaced);
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let Some(media) = answer.media else {
        thread.buffers.give(answer.buffer);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        return Ok(response);
    };
    let bytes = &answer.buffer[..answer.len];
    let form = if media == Media::Xml { "-xml" } else { "" };
    let tag = match &client.record_tag {
        Some(record) => Some(format!("\"{record}{form}\"")),
        None => (client.tags_answer && status == StatusCode::OK).then(|| etag(bytes)),
    };
    if let Some(tag) = &tag
        && !client.wanted.is_empty()
        && !client.wanted.iter().any(|known| is_etag(known.as_bytes(), tag))
    {
        thread.buffers.give(answer.buffer);
        return Err(Box::new(Problem::precondition("if-match")));
    }
    let taken = client.taken;
    // The compressed form of a record has a tag of its own.
    let coded_tag = client.record_tag.as_ref().map(|record| format!("\"{record}{form}-gzip\""));
    let acceptable = tag.iter().chain(coded_tag.as_ref().filter(|_| taken.gzip));
    for tag in acceptable {
        if client.tags.iter().any(|known| matches_etag(known.as_bytes(), tag)) {
            let response = not_modified(tag);
            thread.buffers.give(answer.buffer);
            return Ok(response);
        }
    }
    let zipped = if !taken.gzip {
        None
    } else if !taken.identity || compress::pays(operation.compression, answer.len, client.peer.address.ip()) {
        compress::gzip(bytes, thread.buffers.take())
    } else {
        None
    };
    if zipped.is_none() && !taken.identity {
        thread.buffers.give(answer.buffer);
        return Err(Box::new(Problem::no_coding()));
    }
    let coded = zipped.is_some();
    let body = match zipped {
        Some(zipped) => {
            thread.buffers.give(answer.buffer);
            let len = zipped.len();
            Body::pooled(zipped, len, &thread.buffers)
        }
        None => Body::pooled(answer.buffer, answer.len, &thread.buffers),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = client.headers;
    let headers = response.headers_mut();
    if coded {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media.name()));
    headers.insert(header::VARY, HeaderValue::from_static(VARIES));
    match &tag {
        Some(tag) => {
            // The compressed form is another representation; a weak tag says only that the content is the same. That of a record names its form.
            let tag = match coded_tag {
                Some(coded_tag) if coded => coded_tag,
                _ if coded => format!("W/{tag}"),
                _ => tag.clone(),
            };
            insert(headers, header::ETAG, &tag);
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        None => {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
    }
    Ok(response)
}

/// Request headers on which an answer depends.
const VARIES: &str = "accept, accept-encoding";

/// Compares tags weakly (RFC 9110, section 13.1.2).
fn matches_etag(known: &[u8], tag: &str) -> bool {
    let weak = |one: &[u8]| {
        let one = one.trim_ascii();
        one.strip_prefix(b"W/").unwrap_or(one) == tag.as_bytes()
    };
    known.trim_ascii() == b"*" || known.split(|byte| *byte == b',').any(weak)
}

/// Compares tags strongly (RFC 9110, section 13.1.1).
fn is_etag(known: &[u8], tag: &str) -> bool {
    known.trim_ascii() == b"*" || known.split(|byte| *byte == b',').any(|one| one.trim_ascii() == tag.as_bytes())
}

/// Refuses a request whose precondition is false before any processing (RFC 9110, section 13.2.1).
///
/// The resource of an operation exists, so `if-none-match: *` is false for an operation that would change something. Only answers of GET with
/// `etag` have tags: `if-match` with tags is false for other operations, and `if-none-match` with tags is true. Dates are not compared.
fn precondition(heads: Heads, tags_answer: bool, is_read: bool, headers: &HeaderMap) -> Result<(), Box<Problem>> {
    let is_any = |name| headers.get_all(name).iter().any(|value| value.as_bytes().trim_ascii() == b"*");
    if heads.have(Head::IfMatch) && !tags_answer && !is_any(header::IF_MATCH) {
        return Err(Box::new(Problem::precondition("if-match")));
    }
    if heads.have(Head::IfNoneMatch) && !is_read && is_any(header::IF_NONE_MATCH) {
        return Err(Box::new(Problem::precondition("if-none-match")));
    }
    Ok(())
}

pub(crate) fn problem_response(thread: &Thread, problem: &Problem, trace: &Trace) -> Response<Body> {
    let id = trace.id();
    if let Some(note) = &problem.for_log {
        thread.shared.log(&format!("{} {} request {id}: {note}", problem.status, problem.code));
    }
    let mut response = Response::new(Body::shared(problem.json(&id).to_string()));
    *response.status_mut() = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(Problem::MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = problem.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some((name, value)) = &problem.header {
        insert(headers, HeaderName::from_static(name), value);
    }
    response
}

/// Writes audit and access log.
#[expect(clippy::too_many_arguments, reason = "what one line holds")]
fn record(
    thread: &Thread,
    peer: &Peer,
    known: &Known,
    method: &Method,
    status: u16,
    bytes: usize,
    began: Instant,
    trace: &Trace,
) {
    let shared = &thread.shared;
    if shared.audit.is_none() && shared.access_log.is_none() {
        return;
    }
    // The path as the API has it: values of parameters are the clients' affair.
    let (id, path) = known.route().unwrap_or(("-", "-"));
    let client = known.identity.as_ref().map_or("-", |identity| identity.name.as_str());
    let how = known.identity.as_ref().map_or("none", |identity| identity.how);
    let micros = began.elapsed().as_micros();
    let (now, ip) = (crate::access::now_s(), peer.address.ip());
    if let Some(audit) = shared.audit.as_ref().filter(|_| !known.unaudited) {
        audit.line(&v1::text(&v1::AuditLine {
            time: now,
            request: trace.id(),
            span: format!("{:016x}", trace.span),
            from: ip,
            client,
            by: how,
            operation: id,
            method: method.as_str(),
            path,
            status,
            bytes,
            micros,
        }));
    }
    if let Some(log) = &shared.access_log {
        // One line and one word, whatever an issuer or a certificate calls a client.
        let word = |c: char| if c.is_control() || c.is_whitespace() { '_' } else { c };
        let client: String = client.chars().map(word).collect();
        let now = crate::access::now_text();
        let agent = known.agent.as_ref().map_or(&b"-"[..], |agent| agent.as_bytes()).escape_ascii();
        let line = format!("{now} {ip} {client} {method} {path} {status} {bytes} {micros}us");
        log.line(&format!("{line} {} \"{agent}\"", trace.id()));
    }
}
