//! The operations on queues.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use quayline_core::{from_hex, hex};
use quayline_gateway::{Problem, decode_path, decode_query, pairs};
use quayline_store::queue::{Attempt, Claim, Claimed, Content, Message, Queue, Select, USER_ID};
use quayline_store::{Store, StoreError};
use serde::Serialize;

use super::message::{self, CLAIM, MESSAGE_ID, REASON, id_of, number};
use super::{Asked, guarded};
use crate::api::v1;
use crate::body::Body;
use crate::headers::{insert, text};
use crate::queues_config::Right;
use crate::records::fault;
use crate::shared::Shared;
use crate::waiting_task::WaitingTask;

/// Bytes of messages that one page of a browse reads.
const PAGE_BYTES: usize = 4 << 20;
/// Maximum time between checks of a waiting request whether the server stops.
const LOOK: Duration = Duration::from_secs(1);
/// Characters of a reason.
const REASON_MAX: usize = 200;

type Answered = Result<Response<Body>, Box<Problem>>;

/// Converts an error of the store to a problem for the client.
fn problem(error: &StoreError) -> Box<Problem> {
    Box::new(match error {
        StoreError::Unsupported { organisation, operation, .. } => {
            Problem::not_supported(format!("the name is {organisation}, which does not support {operation}"))
        }
        StoreError::QueueMissing { .. } => Problem::no_queue().logged(error.to_string()),
        other => fault(other).problem(),
    })
}

impl Asked<'_> {
    fn store(&self) -> Result<&Store, Box<Problem>> {
        let missing = || {
            Box::new(Problem::overloaded("the server has no store").logged("the server was started without a store"))
        };
        self.thread.shared.store.as_ref().ok_or_else(missing)
    }

    fn queue(&self, name: &str) -> Result<(&Store, Queue), Box<Problem>> {
        let store = self.store()?;
        let queue = store.queue(name).map_err(|error| problem(&error))?;
        Ok((store, queue))
    }

    /// Parameters of the query, each known and at most once.
    fn parameters(&self, known: &[&'static str]) -> Result<Vec<(&'static str, String)>, Box<Problem>> {
        let mut found: Vec<(&'static str, String)> = Vec::new();
        for (name, value) in pairs(self.query) {
            let bad = |rule: &str, detail: &str| Box::new(Problem::bad_parameter("query", name, rule, detail));
            let Some(known) = known.iter().find(|known| **known == name) else {
                return Err(bad("unknown", "the operation has no such parameter"));
            };
            let value = decode_query(value).ok_or_else(|| bad("form", "the value is not percent-encoded UTF-8"))?;
            if found.iter().any(|(name, _)| name == known) {
                return Err(bad("once", "the parameter occurs twice"));
            }
            found.push((known, value.into_owned()));
        }
        Ok(found)
    }
}

fn value<'p>(parameters: &'p [(&'static str, String)], name: &str) -> Option<&'p str> {
    parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

/// Returns the selection of a request: `id`, `correlation` or `group`, otherwise the first message.
fn select(parameters: &[(&'static str, String)]) -> Result<Select, Box<Problem>> {
    let id = |name: &'static str| value(parameters, name).map(|digits| id_of("query", name, digits)).transpose();
    match (id("id")?, id("correlation")?, id("group")?) {
        (None, None, None) => Ok(Select::First),
        (Some(id), None, None) => Ok(Select::Id(id)),
        (None, Some(id), None) => Ok(Select::Correlation(id)),
        (None, None, Some(id)) => Ok(Select::Group(id)),
        _ => {
            let detail = "a message is selected by one of `id`, `correlation` and `group`";
            Err(Box::new(Problem::bad_parameter("query", "id", "one-of", detail)))
        }
    }
}

fn wait_of(asked: &Asked<'_>, parameters: &[(&'static str, String)]) -> Result<Duration, Box<Problem>> {
    let wait_ms = match value(parameters, "wait-ms") {
        Some(text) => number("query", "wait-ms", text, (0, asked.config.wait_ms_max))?,
        None => 0,
    };
    Ok(Duration::from_millis(wait_ms))
}

fn lasts_of(asked: &Asked<'_>, parameters: &[(&'static str, String)]) -> Result<Duration, Box<Problem>> {
    let seconds = match value(parameters, "seconds") {
        Some(text) => number("query", "seconds", text, (1, asked.config.claim_seconds_max))?,
        None => asked.config.claim_seconds,
    };
    Ok(Duration::from_secs(seconds))
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn json(status: StatusCode, answer: &impl Serialize) -> Response<Body> {
    let mut response = Response::new(Body::shared(v1::text(answer)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn empty() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Builds an answer from a message.
fn answer(status: StatusCode, mut message: Message) -> Response<Body> {
    let payload = std::mem::take(&mut message.payload);
    let mut response = Response::new(Body::shared(payload));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    message::to_headers(&message, now_ms(), headers);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Whoever puts a page into a queue must not have it run in the name of this server.
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// Lists the queues that the client may use, with its rights.
pub(super) fn list(asked: &Asked<'_>, roles: Option<&[String]>) -> Answered {
    asked.parameters(&[])?;
    let required = asked.thread.shared.config.authentication.required;
    let may = |needed: &[String]| {
        !needed.is_empty()
            && match guarded(needed).roles {
                None => roles.is_some() || !required,
                Some(needed) => roles.is_some_and(|roles| needed.iter().any(|role| roles.contains(role))),
            }
    };
    let queues = asked.config.queue.iter().filter_map(|(name, rights)| {
        let all = [(Right::Put, "put"), (Right::Get, "get"), (Right::Browse, "browse")];
        let mine = all.into_iter().filter(|(right, _)| may(rights.roles(*right)));
        let rights: Vec<_> = mine.map(|(_, name)| name).collect();
        (!rights.is_empty()).then(|| v1::QueueRights { queue: name, rights })
    });
    Ok(json(StatusCode::OK, &v1::QueueList { queues: queues.collect() }))
}

/// Answers with depth and counts.
pub(super) fn facts(asked: &Asked<'_>, name: &str) -> Answered {
    asked.parameters(&[])?;
    let (_, queue) = asked.queue(name)?;
    let facts = queue.facts().map_err(|error| problem(&error))?;
    let definition = queue.definition().map_err(|error| problem(&error))?;
    let facts = v1::QueueFacts {
        queue: name,
        depth: facts.depth,
        depth_high: facts.depth_high,
        depth_max: definition.depth_max,
        message_bytes_max: definition.message_bytes_max,
        put: facts.put,
        got: facts.got,
        expired: facts.expired,
        backed_out: facts.backed_out,
        moved: facts.moved,
    };
    Ok(json(StatusCode::OK, &facts))
}

/// Puts a message; the answer follows the commit.
pub(super) async fn put(asked: &Asked<'_>, name: &str, payload: Vec<u8>) -> Answered {
    asked.parameters(&[])?;
    let (store, queue) = asked.queue(name)?;
    let mut message = message::from_request(asked.headers, payload, now_ms())?;
    message.properties.extend(asked.user.iter().map(|user| (USER_ID.to_owned(), user.clone().into_bytes())));
    let put = async {
        let mut unit = store.begin()?;
        let id = queue.put(&mut unit, &message)?;
        drop(message);
        unit.submit().await?;
        Ok(id)
    };
    let id = hex(&put.await.map_err(|error: StoreError| problem(&error))?);
    let mut response = json(StatusCode::CREATED, &v1::MessageId { message_id: &id });
    let headers = response.headers_mut();
    insert(headers, HeaderName::from_static(MESSAGE_ID), &id);
    insert(headers, header::LOCATION, &format!("{}/{name}/messages/{id}", asked.config.path));
    Ok(response)
}

/// Gets a message: it leaves the queue, durably, before the answer.
pub(super) async fn get(asked: &Asked<'_>, name: &str, id: Option<&str>) -> Answered {
    let known: &[&'static str] = if id.is_some() { &["wait-ms"] } else { &["wait-ms", "id", "correlation", "group"] };
    let parameters = asked.parameters(known)?;
    let select = match id {
        Some(id) => Select::Id(id_of("path", "messageId", id)?),
        None => select(&parameters)?,
    };
    let wait = wait_of(asked, &parameters)?;
    let (store, queue) = asked.queue(name)?;
    let Some((claim, message)) = claimed(asked, store, &queue, select, wait).await? else {
        return if id.is_some() { Err(Box::new(Problem::no_message())) } else { Ok(empty()) };
    };
    let got = async {
        let mut unit = store.begin()?;
        claim.get(&mut unit)?;
        unit.submit().await
    };
    got.await.map_err(|error| problem(&error))?;
    Ok(answer(StatusCode::OK, *message))
}

/// Claims a message.
pub(super) async fn claim(asked: &Asked<'_>, name: &str) -> Answered {
    let parameters = asked.parameters(&["wait-ms", "id", "correlation", "group", "seconds"])?;
    let (select, wait) = (select(&parameters)?, wait_of(asked, &parameters)?);
    let lasts = lasts_of(asked, &parameters)?;
    let (store, queue) = asked.queue(name)?;
    let room = asked.thread.shared.claims.room(&asked.client)?;
    let Some((claim, message)) = claimed(asked, store, &queue, select, wait).await? else { return Ok(empty()) };
    let id = room.keep(name, claim, lasts)?;
    let mut response = answer(StatusCode::CREATED, *message);
    let headers = response.headers_mut();
    insert(headers, HeaderName::from_static(CLAIM), &id);
    insert(headers, header::LOCATION, &format!("{}/{name}/claims/{id}", asked.config.path));
    Ok(response)
}

/// Gives a claim more time, from now on.
pub(super) fn renew(asked: &Asked<'_>, name: &str, id: &str) -> Answered {
    let parameters = asked.parameters(&["seconds"])?;
    let lasts = lasts_of(asked, &parameters)?;
    if asked.thread.shared.claims.renew(name, id, &asked.client, lasts) {
        return Ok(empty());
    }
    Err(Box::new(Problem::no_claim()))
}

/// Settles a claim.
pub(super) async fn settle(asked: &Asked<'_>, name: &str, id: &str) -> Answered {
    let parameters = asked.parameters(&["outcome"])?;
    let outcome = value(&parameters, "outcome").unwrap_or("accepted");
    if !matches!(outcome, "accepted" | "released" | "failed" | "rejected") {
        let detail = "expected `accepted`, `released`, `failed` or `rejected`";
        return Err(Box::new(Problem::bad_parameter("query", "outcome", "one-of", detail)));
    }
    let reason = text(asked.headers, REASON).map(decode_path);
    let form = || Box::new(Problem::bad_header(REASON, "form", "expected percent-encoded UTF-8"));
    let reason = reason.map(|reason| reason.ok_or_else(form)).transpose()?;
    let reason: String = reason.as_deref().unwrap_or("a client rejected it").chars().take(REASON_MAX).collect();
    let store = asked.store()?;
    let claims = &asked.thread.shared.claims;
    // Before the claim is taken: without a unit of work, the client keeps it and can settle it later.
    let unit = if matches!(outcome, "accepted" | "rejected") { Some(store.begin()) } else { None };
    let unit = unit.transpose().map_err(|error| problem(&error))?;
    let (id, claim, until) = claims.take(name, id, &asked.client).ok_or_else(|| Box::new(Problem::no_claim()))?;
    let Some(mut unit) = unit else {
        claim.release(if outcome == "failed" { Attempt::Failed } else { Attempt::NotMade });
        return Ok(empty());
    };
    let settled = match outcome {
        "rejected" => {
            async {
                if let Err(failed) = claim.move_to_backout(&mut unit, &reason, None) {
                    let (claim, error) = *failed;
                    // The client may settle it otherwise.
                    claims.put_back(name, &asked.client, (id, claim, until));
                    return Err(error);
                }
                unit.submit().await
            }
            .await
        }
        _ => {
            async {
                claim.get(&mut unit)?;
                unit.submit().await
            }
            .await
        }
    };
    match settled {
        Ok(_) => Ok(empty()),
        Err(StoreError::QueueMissing { name: target }) => {
            let detail =
                format!("there is no backout queue {target} to move the message to: settle the claim in another way");
            Err(Box::new(Problem::not_supported(detail)))
        }
        Err(error) => Err(problem(&error)),
    }
}

/// Answers with a page of messages, without their content.
pub(super) fn browse(asked: &Asked<'_>, name: &str) -> Answered {
    let parameters = asked.parameters(&["limit", "after"])?;
    let limit = match value(&parameters, "limit") {
        Some(text) => number("query", "limit", text, (1, asked.config.page as u64))?,
        None => asked.config.page as u64,
    };
    let limit = usize::try_from(limit).unwrap_or(asked.config.page);
    let after = value(&parameters, "after").map(|after| {
        let place = from_hex(after).and_then(|bytes| <[u8; 9]>::try_from(bytes).ok());
        place.ok_or_else(|| Box::new(Problem::bad_parameter("query", "after", "form", "expected `next` of a page")))
    });
    let after = after.transpose()?;
    let (store, queue) = asked.queue(name)?;
    let page = store.begin().and_then(|unit| queue.browse_within(&unit, after, limit, PAGE_BYTES, Content::LeftOut));
    let page = page.map_err(|error| problem(&error))?;
    // Fewer than the limit may be a page that reached its bytes: the last page is the empty one.
    let next = page.last().map(|last| hex(&last.after));
    let messages = page.iter().map(|browsed| message::head(&browsed.message, browsed.bytes, browsed.due_ms)).collect();
    Ok(json(StatusCode::OK, &v1::MessagePage { messages, next }))
}

/// Returns one message without removing it from the queue.
pub(super) fn look(asked: &Asked<'_>, name: &str, id: &str) -> Answered {
    asked.parameters(&[])?;
    let id = id_of("path", "messageId", id)?;
    let (store, queue) = asked.queue(name)?;
    match queue.peek(store, Select::Id(id)).map_err(|error| problem(&error))? {
        Some(message) => Ok(answer(StatusCode::OK, message)),
        None => Err(Box::new(Problem::no_message())),
    }
}

/// A place among requests that wait.
struct Place<'s>(&'s AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn place<'s>(shared: &'s Shared, waiting_max: usize) -> Result<Place<'s>, Box<Problem>> {
    let place = Place(&shared.queue_waiting);
    if shared.queue_waiting.fetch_add(1, Ordering::Relaxed) >= waiting_max {
        return Err(Box::new(Problem::overloaded("as many requests wait for messages as `queues.waiting` allows")));
    }
    Ok(place)
}

/// Claims a message, at once or when one comes within the wait.
async fn claimed(
    asked: &Asked<'_>,
    store: &Store,
    queue: &Queue,
    select: Select,
    wait: Duration,
) -> Result<Option<(Claim, Box<Message>)>, Box<Problem>> {
    match queue.claim(store, select, None).map_err(|error| problem(&error))? {
        Claimed::Message(claim, message) => return Ok(Some((claim, message))),
        Claimed::Nothing { .. } if wait.is_zero() => return Ok(None),
        Claimed::Nothing { .. } => {}
    }
    let shared = &asked.thread.shared;
    let _place = place(shared, asked.config.waiting)?;
    let deadline = Instant::now() + wait;
    let mut waiting = WaitingTask::new(queue);
    loop {
        let due: Cell<Option<u64>> = Cell::new(None);
        let mut is_first = true;
        let look = poll_fn(|cx| {
            waiting.notes(cx.waker());
            match queue.claim(store, select, Some(cx.waker())) {
                Err(error) => Poll::Ready(Err(error)),
                Ok(Claimed::Message(claim, message)) => Poll::Ready(Ok(Some((claim, message)))),
                // What was due may have changed: the pause is made again.
                Ok(Claimed::Nothing { .. }) if !std::mem::take(&mut is_first) => Poll::Ready(Ok(None)),
                Ok(Claimed::Nothing { due_ms }) => {
                    due.set(due_ms);
                    Poll::Pending
                }
            }
        });
        let pause = async {
            let until_due = due.get().map(|due_ms| Duration::from_millis(due_ms.saturating_sub(now_ms()) + 1));
            let left = deadline.saturating_duration_since(Instant::now());
            tokio::time::sleep(left.min(LOOK).min(until_due.unwrap_or(LOOK))).await;
        };
        let looked = tokio::select! {
            biased;
            looked = look => looked.map_err(|error| problem(&error))?,
            () = pause => None,
        };
        if looked.is_some() {
            return Ok(looked);
        }
        if Instant::now() >= deadline || shared.stopping.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
}
