//! Queues over HTTP: put, get, claim and settle, browse, depth.
//!
//! ```text
//! GET    QUEUES                         queues that the client may use
//! GET    QUEUES/NAME                    depth and counts
//! POST   QUEUES/NAME/messages           put; 201 after the message is durable
//! DELETE QUEUES/NAME/messages           get: the message leaves the queue, durably, before the answer
//! GET    QUEUES/NAME/messages           browse: a page without content
//! GET    QUEUES/NAME/messages/ID        one message, which stays
//! DELETE QUEUES/NAME/messages/ID        get it
//! POST   QUEUES/NAME/claims             claim: other clients do not get the message until the claim is settled or expires
//! POST   QUEUES/NAME/claims/CLAIM       renew
//! DELETE QUEUES/NAME/claims/CLAIM       settle: accepted, released, failed or rejected
//! ```
//!
//! A get loses its message if the answer does not reach the client; a claim does not. A waiting request holds no thread, and its wait ends when the
//! client disconnects.

mod calls;
mod documents;
mod message;

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::Response;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap};
use hyper::http::request::Parts;
use quayline_gateway::{Problem, decode_path};
use quayline_meter::Phase;

use crate::access::Guarded;
use crate::admission::{Known, admit_or_renew, charge_elsewhere};
use crate::body::Body;
use crate::cross_origin::{options, same_origin};
use crate::headers::text;
use crate::heads::{Head, Heads};
use crate::peer::Peer;
use crate::queues_config::{QueuesConfig, Right};
use crate::request_body::read_body;
use crate::shared::Shared;
use crate::thread::Thread;

pub(crate) use message::EXPOSED_HEADERS;

/// Pause between two looks at claims whose time is over.
const CLAIM_LOOK: Duration = Duration::from_millis(250);

/// Resource of a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    All,
    Document(String),
    Queue(String),
    Messages(String),
    Message(String, String),
    Claims(String),
    Claim(String, String),
    /// Below the path of queues, and nothing.
    Nothing,
}

impl Target {
    /// Returns the resource of a path, if it is one of queues.
    pub(crate) fn of(shared: &Shared, path: &str) -> Option<Target> {
        let config = shared.config.queues.as_ref()?;
        let rest = path.strip_prefix(config.path.as_str())?;
        let Some(rest) = rest.strip_prefix('/') else { return rest.is_empty().then_some(Target::All) };
        let parts: Option<Vec<String>> =
            rest.split('/').map(|part| decode_path(part).map(|part| part.into_owned())).collect();
        let Some(parts) = parts else { return Some(Target::Nothing) };
        let known = match parts.as_slice() {
            [name] if documents::NAMES.contains(&name.as_str()) => Target::Document(name.clone()),
            [name] => Target::Queue(name.clone()),
            [name, what] if what == "messages" => Target::Messages(name.clone()),
            [name, what] if what == "claims" => Target::Claims(name.clone()),
            [name, what, id] if what == "messages" => Target::Message(name.clone(), id.clone()),
            [name, what, id] if what == "claims" => Target::Claim(name.clone(), id.clone()),
            _ => Target::Nothing,
        };
        Some(known)
    }

    fn queue(&self) -> Option<&str> {
        match self {
            Target::All | Target::Document(_) | Target::Nothing => None,
            Target::Queue(name)
            | Target::Messages(name)
            | Target::Message(name, _)
            | Target::Claims(name)
            | Target::Claim(name, _) => Some(name),
        }
    }

    fn methods(&self) -> &'static [&'static str] {
        match self {
            Target::All | Target::Document(_) | Target::Queue(_) => &["GET"],
            Target::Messages(_) => &["GET", "POST", "DELETE"],
            Target::Message(..) => &["GET", "DELETE"],
            Target::Claims(_) => &["POST"],
            Target::Claim(..) => &["POST", "DELETE"],
            Target::Nothing => &[],
        }
    }

    /// Returns the path with placeholders for the parts that clients choose.
    fn shown(&self, base: &str) -> String {
        match self {
            Target::All | Target::Nothing => base.to_owned(),
            Target::Document(name) | Target::Queue(name) => format!("{base}/{name}"),
            Target::Messages(name) => format!("{base}/{name}/messages"),
            Target::Message(name, _) => format!("{base}/{name}/messages/{{messageId}}"),
            Target::Claims(name) => format!("{base}/{name}/claims"),
            Target::Claim(name, _) => format!("{base}/{name}/claims/{{claim}}"),
        }
    }
}

/// A request to a queue.
pub(crate) struct Call<'r> {
    pub(crate) target: Target,
    /// GET for HEAD.
    pub(crate) method: &'r str,
    pub(crate) query: &'r str,
    pub(crate) is_options: bool,
}

/// An operation and the right that it needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Operation {
    List,
    Document,
    Facts,
    Put,
    Get,
    Browse,
    Look,
    Claim,
    Renew,
    Settle,
}

impl Operation {
    fn of(call: &Call<'_>) -> Option<Operation> {
        match (&call.target, call.method) {
            (Target::All, "GET") => Some(Operation::List),
            (Target::Document(_), "GET") => Some(Operation::Document),
            (Target::Queue(_), "GET") => Some(Operation::Facts),
            (Target::Messages(_), "GET") => Some(Operation::Browse),
            (Target::Messages(_), "POST") => Some(Operation::Put),
            (Target::Messages(_) | Target::Message(..), "DELETE") => Some(Operation::Get),
            (Target::Message(..), "GET") => Some(Operation::Look),
            (Target::Claims(_), "POST") => Some(Operation::Claim),
            (Target::Claim(..), "POST") => Some(Operation::Renew),
            (Target::Claim(..), "DELETE") => Some(Operation::Settle),
            _ => None,
        }
    }

    /// Returns the name for metrics and audit.
    fn id(self) -> &'static str {
        match self {
            Operation::List => "queues.list",
            Operation::Document => "queues.document",
            Operation::Facts => "queues.facts",
            Operation::Put => "queues.put",
            Operation::Get => "queues.get",
            Operation::Browse => "queues.browse",
            Operation::Look => "queues.look",
            Operation::Claim => "queues.claim",
            Operation::Renew => "queues.renew",
            Operation::Settle => "queues.settle",
        }
    }

    fn right(self) -> Option<Right> {
        match self {
            Operation::List | Operation::Document => None,
            Operation::Facts | Operation::Browse | Operation::Look => Some(Right::Browse),
            Operation::Put => Some(Right::Put),
            Operation::Get | Operation::Claim | Operation::Renew | Operation::Settle => Some(Right::Get),
        }
    }
}

/// Returns the access rule of a list of roles.
fn guarded(roles: &[String]) -> Guarded<'_> {
    let everybody = roles.iter().any(|role| role == "*");
    Guarded { public: false, roles: (!everybody).then_some(roles) }
}

/// Parts of a request that a call needs.
struct Asked<'r> {
    thread: &'r Rc<Thread>,
    config: &'r QueuesConfig,
    headers: &'r HeaderMap,
    query: &'r str,
    /// Owner of claims: how the client is known, and its name.
    client: String,
    /// Name of the authenticated client.
    user: Option<String>,
}

/// Answers a request to a queue.
pub(crate) async fn respond(
    (thread, peer): (&Rc<Thread>, &Peer),
    call: Call<'_>,
    (head, heads, body): (&Parts, Heads, Incoming),
    began: Instant,
    known: &mut Known,
) -> Result<Response<Body>, Box<Problem>> {
    let shared = &thread.shared;
    let Some(config) = &shared.config.queues else { return Err(Box::new(Problem::no_route())) };
    let methods = call.target.methods();
    // A request that no operation answers counts like one elsewhere.
    let nowhere = |problem: Problem| {
        shared.metrics.elsewhere.fetch_add(1, Ordering::Relaxed);
        charge_elsewhere(thread, peer, &head.headers).err().unwrap_or_else(|| Box::new(problem))
    };
    if methods.is_empty() {
        return Err(nowhere(Problem::no_route()));
    }
    if call.is_options {
        let parameters = message::SETTABLE.map(|(name, _)| name.to_owned()).to_vec();
        return Ok(options(thread, methods, parameters, &head.headers));
    }
    let operation = Operation::of(&call).ok_or_else(|| nowhere(Problem::no_method(methods)))?;
    same_origin(thread, &head.headers)?;
    unambiguous(&head.headers)?;
    let metrics = thread.metrics_of(operation.id());
    known.metrics = Some(Rc::clone(&metrics));
    known.queue = Some((operation.id(), config.path.clone()));
    let credentials = heads.have(Head::Credentials).then_some(&head.headers);
    match (call.target.queue(), operation.right()) {
        (Some(name), Some(right)) => {
            let rights = config.queue.get(name).ok_or_else(|| {
                charge_elsewhere(thread, peer, &head.headers).err().unwrap_or_else(|| Box::new(Problem::no_queue()))
            })?;
            known.queue = Some((operation.id(), call.target.shown(&config.path)));
            let roles = rights.roles(right);
            // A right that nobody has is refused, to clients without credentials as a matter of who they are.
            admit_or_renew(thread, peer, guarded(roles), credentials, known).await?;
            if roles.is_empty() {
                return Err(Box::new(Problem::forbidden()));
            }
        }
        _ => {
            let open = operation == Operation::Document && shared.config.public_documents;
            let anybody = Guarded { public: open, roles: None };
            admit_or_renew(thread, peer, anybody, credentials, known).await?;
        }
    }
    let received = Instant::now();
    metrics.phase(Phase::Parse, received - began);
    let client =
        known.identity.as_ref().map_or_else(String::new, |identity| format!("{}:{}", identity.how, identity.name));
    let user = known.identity.as_ref().map(|identity| identity.name.clone());
    let asked = Asked { thread, config, headers: &head.headers, query: call.query, client, user };
    let answered = match (operation, call.target) {
        (Operation::List, _) => {
            let roles = known.identity.as_ref().map(|identity| identity.roles.clone());
            calls::list(&asked, roles.as_deref())
        }
        (Operation::Document, Target::Document(name)) => documents::document(&asked, &name),
        (Operation::Facts, Target::Queue(name)) => calls::facts(&asked, &name),
        (Operation::Put, Target::Messages(name)) => {
            let payload = content(thread, config, &head.headers, body).await?;
            metrics.phase(Phase::Wait, received.elapsed());
            calls::put(&asked, &name, payload).await
        }
        (Operation::Get, Target::Messages(name)) => calls::get(&asked, &name, None).await,
        (Operation::Get, Target::Message(name, id)) => calls::get(&asked, &name, Some(&id)).await,
        (Operation::Browse, Target::Messages(name)) => calls::browse(&asked, &name),
        (Operation::Look, Target::Message(name, id)) => calls::look(&asked, &name, &id),
        (Operation::Claim, Target::Claims(name)) => calls::claim(&asked, &name).await,
        (Operation::Renew, Target::Claim(name, id)) => calls::renew(&asked, &name, &id),
        (Operation::Settle, Target::Claim(name, id)) => calls::settle(&asked, &name, &id).await,
        _ => Err(Box::new(Problem::no_method(methods))),
    };
    let now = Instant::now();
    metrics.phase(Phase::Call, now - received);
    known.answered = Some(now);
    answered
}

/// Refuses headers that two readers may take for different things.
fn unambiguous(headers: &HeaderMap) -> Result<(), Box<Problem>> {
    for name in headers.keys() {
        let once = matches!(name.as_str(), "authorization" | "x-api-key" | "content-type" | "content-encoding")
            || name.as_str().starts_with("quayline-") && name.as_str() != "quayline-property";
        if once && headers.get_all(name).iter().nth(1).is_some() {
            return Err(Box::new(Problem::bad_header(name.as_str(), "once", "the header occurs twice")));
        }
    }
    if text(headers, "content-encoding").is_some_and(|coding| !coding.trim().eq_ignore_ascii_case("identity")) {
        return Err(Box::new(Problem::content_coding()));
    }
    Ok(())
}

/// Reads the content of a message that a client puts.
async fn content(
    thread: &Thread,
    config: &QueuesConfig,
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Vec<u8>, Box<Problem>> {
    if body.is_end_stream() {
        return Ok(Vec::new());
    }
    // RFC 9112, section 6.1: chunks are all that is undone here.
    let coding = headers.get(header::TRANSFER_ENCODING);
    if coding.is_some_and(|all| !all.as_bytes().eq_ignore_ascii_case(b"chunked")) {
        return Err(Box::new(Problem::transfer_coding()));
    }
    let limits = &thread.shared.config.limits;
    let bytes_max = config.message_bytes.unwrap_or(limits.body_bytes);
    let read = tokio::time::timeout(Duration::from_secs(limits.body_seconds), read_body(body, bytes_max)).await;
    read.map_err(|_| Box::new(Problem::too_slow(limits.body_seconds)))?
}

/// Releases claims whose time is over, until the server ends.
pub(crate) async fn end_claims(thread: Rc<Thread>) {
    loop {
        tokio::time::sleep(CLAIM_LOOK).await;
        let count = thread.shared.claims.end_late(Instant::now());
        thread.shared.metrics.claims_ended.fetch_add(count as u64, Ordering::Relaxed);
    }
}
