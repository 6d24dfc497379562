//! Queues on the listener for operators: a server has its store open, so commands and programs ask it instead.

use quayline_core::{Finding, hex};
use quayline_gateway::decode_path;
use quayline_server::{AdminAnswer, AdminPart, AdminRequest, Operation, OperatorPaths};
use quayline_store::queue::{Content, DrainStopped, QueueChange, QueueDefinition, QueueKind, RetryOutcome};
use quayline_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::queue::{alter_with, define_with, messages};
use crate::admin::{Query, answer, elsewhere, raw, wrong};
use crate::exit::Stop;

/// Prefix of the paths.
pub(super) const ROOT: &str = "/store/queues";
/// Messages of a page, and bytes that one page reads.
const PAGE: (usize, usize) = (1_000, 1 << 20);

const COUNT: (&str, &str) = ("count", "Maximum number of messages; all by default");

/// Every operation. Paths begin after [`ROOT`].
const OPERATIONS: &[Operation] = &[
    ("/openapi.json", "get", "describe", "This document", &[], None),
    ("", "get", "listQueues", "All queues, aliases and topics with their depth", &[], None),
    ("/{queue}", "get", "showQueue", "The definition of a queue, and its figures since the server started", &[], None),
    (
        "/{queue}",
        "put",
        "defineQueue",
        "Defines a queue, alias or topic",
        &[],
        Some("Attributes that differ from their defaults, in JSON"),
    ),
    (
        "/{queue}",
        "patch",
        "alterQueue",
        "Changes attributes of a queue, which keeps its messages",
        &[],
        Some("Attributes to change, in JSON"),
    ),
    (
        "/{queue}",
        "delete",
        "deleteQueue",
        "Deletes a queue that nothing has open",
        &[("messages", "`delete`: also if the queue has messages")],
        None,
    ),
    (
        "/{queue}/messages",
        "get",
        "browseMessages",
        "Messages in the order of gets, without their content",
        &[
            ("count", "Messages of a page, 1 to 1000; 1000 by default"),
            ("after", "Where the page begins: `next` of the page before"),
        ],
        None,
    ),
    ("/{queue}/retry", "post", "retryMessages", "Returns messages to the queues on which they failed", &[COUNT], None),
    (
        "/{queue}/move",
        "post",
        "moveMessages",
        "Moves messages to another queue",
        &[("to", "Name of the other queue"), COUNT],
        None,
    ),
    ("/{queue}/purge", "post", "purgeMessages", "Deletes messages that no unit of work has got", &[COUNT], None),
];

const PATHS: OperatorPaths = OperatorPaths {
    title: "Queues",
    root: ROOT,
    operations: OPERATIONS,
    integers: &[],
    required: &["to"],
    body: "application/json",
    other_bodies: &[],
    other_media: &[],
    versioned: &[],
    conditional: &[],
    creates: &["defineQueue"],
    refusals,
};

fn refusals((path, method, ..): &Operation) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("400", "The request is wrong"), ("503", "The store cannot be used")];
    if path.contains('{') {
        all.push(("404", "The store has no queue with this name"));
    }
    if matches!(*method, "put" | "patch" | "delete") {
        all.push(("409", "The queue exists, is in use, has messages, or cannot have this definition"));
    }
    all
}

/// Attributes of a queue in a request.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Attributes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) alias: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subscribers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) depth_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message_bytes_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backout_threshold: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backout_queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) depth_high_mark: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) depth_low_mark: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event_queue: Option<String>,
}

impl Attributes {
    /// All attributes of a queue with messages.
    fn of(definition: &QueueDefinition) -> Self {
        Attributes {
            alias: None,
            subscribers: None,
            depth_max: Some(definition.depth_max),
            message_bytes_max: Some(definition.message_bytes_max),
            backout_threshold: Some(definition.backout_threshold),
            backout_queue: Some(definition.backout_target().to_owned()),
            retry_ms: Some(definition.retry_ms),
            depth_high_mark: Some(definition.depth_high_mark),
            depth_low_mark: Some(definition.depth_low_mark),
            event_queue: Some(definition.event_queue.clone()),
        }
    }
}

impl From<QueueChange> for Attributes {
    fn from(change: QueueChange) -> Self {
        Attributes {
            alias: change.alias,
            subscribers: change.subscribers,
            depth_max: change.depth_max,
            message_bytes_max: change.message_bytes_max,
            backout_threshold: change.backout_threshold,
            backout_queue: change.backout_queue,
            retry_ms: change.retry_ms,
            depth_high_mark: change.depth_high_mark,
            depth_low_mark: change.depth_low_mark,
            event_queue: change.event_queue,
        }
    }
}

impl From<Attributes> for QueueChange {
    fn from(wire: Attributes) -> Self {
        QueueChange {
            alias: wire.alias,
            subscribers: wire.subscribers,
            depth_max: wire.depth_max,
            message_bytes_max: wire.message_bytes_max,
            backout_threshold: wire.backout_threshold,
            backout_queue: wire.backout_queue,
            retry_ms: wire.retry_ms,
            depth_high_mark: wire.depth_high_mark,
            depth_low_mark: wire.depth_low_mark,
            event_queue: wire.event_queue,
        }
    }
}

/// Answers with the findings of a refusal.
pub(super) fn refused(Refused { status, findings, done }: Refused) -> AdminAnswer {
    let mut value = json!({ "findings": findings });
    if let Some((name, count)) = done {
        value[name] = count.into();
    }
    answer(status, &value)
}

/// Queues of a store, for operators.
pub(crate) struct QueuesPart(pub(crate) Store);

/// A refused request.
pub(super) struct Refused {
    status: u16,
    findings: Vec<Value>,
    /// What the request did before the failure.
    done: Option<(&'static str, u64)>,
}

impl Refused {
    pub(super) fn new(status: u16, findings: &[Finding]) -> Refused {
        Refused { status, findings: findings.iter().map(raw).collect(), done: None }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        let status = match error {
            StoreError::QueueMissing { .. }
            | StoreError::FileMissing { .. }
            | StoreError::IndexMissing { .. }
            | StoreError::NotFound { .. } => 404,
            StoreError::Exists { .. }
            | StoreError::QueueInUse { .. }
            | StoreError::FileInUse { .. }
            | StoreError::DuplicateKey { .. }
            | StoreError::LockTimeout { .. }
            | StoreError::Deadlock { .. } => 409,
            StoreError::BadDefinition { .. }
            | StoreError::Unsupported { .. }
            | StoreError::TooLong { .. }
            | StoreError::WrongLength { .. }
            | StoreError::OutOfRange { .. } => 400,
            _ => 503,
        };
        Refused::new(status, &[error.finding()])
    }
}

impl From<Stop> for Refused {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Findings(findings) => findings.into(),
            Stop::ClosedPipe => Refused::new(503, &[]),
        }
    }
}

impl From<quayline_core::Findings> for Refused {
    fn from(findings: quayline_core::Findings) -> Self {
        Refused::new(400, &findings.0)
    }
}

type Routed = Result<(u16, Value), Refused>;

impl AdminPart for QueuesPart {
    fn request(&self, request: &AdminRequest<'_>) -> Option<AdminAnswer> {
        let rest = request.path.strip_prefix(ROOT)?;
        let parts = match rest.strip_prefix('/') {
            Some(rest) => rest.split('/').map(decode_path).collect(),
            None if rest.is_empty() => Some(Vec::new()),
            None => return None,
        };
        let Some(parts) = parts else {
            return Some(refused(wrong("the path is not UTF-8".to_owned(), "encode it".to_owned()).into()));
        };
        let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
        if let Some((message, hint)) = PATHS.unread_body(request) {
            return Some(refused(wrong(message, hint).into()));
        }
        let routed = match Query::parse(request.query) {
            Ok(query) => self.route(request, &parts, &query),
            Err(findings) => Some(Err(findings.into())),
        };
        Some(match routed {
            Some(Ok((status, value))) => answer(status, &value),
            Some(Err(why)) => refused(why),
            None => elsewhere(&PATHS, request),
        })
    }

    fn answer(&self, _method: &str, _path: &str) -> Option<(u16, String)> {
        None
    }

    fn metrics(&self) -> String {
        String::new()
    }
}

impl QueuesPart {
    fn route(&self, request: &AdminRequest<'_>, parts: &[&str], query: &Query) -> Option<Routed> {
        let store = &self.0;
        let known: &[&str] = match (request.method, parts) {
            ("DELETE", [_]) => &["messages"],
            ("GET", [_, "messages"]) => &["count", "after"],
            ("POST", [_, "retry" | "purge"]) => &["count"],
            ("POST", [_, "move"]) => &["to", "count"],
            _ => &[],
        };
        if let Err(findings) = query.only(known) {
            return Some(Err(findings.into()));
        }
        Some(match (request.method, parts) {
            ("GET", ["openapi.json"]) => Ok((200, PATHS.document(request.operator))),
            ("GET", []) => list(store),
            ("GET", [name]) => show(store, name),
            ("PUT", [name]) => define(store, name, request.body),
            ("PATCH", [name]) => alter(store, name, request.body),
            ("DELETE", [name]) => delete(store, name, query.value("messages")),
            ("GET", [name, "messages"]) => browse(store, name, query),
            ("POST", [name, "retry"]) => retry(store, name, query),
            ("POST", [name, "move"]) => move_to(store, name, query),
            ("POST", [name, "purge"]) => purge(store, name, query),
            _ => return None,
        })
    }
}

fn list(store: &Store) -> Routed {
    let names = store.queues(&store.begin()?)?;
    let (mut queues, mut findings) = (Vec::with_capacity(names.len()), Vec::new());
    for name in names {
        // Another request may have deleted it in the meantime.
        let Ok(definition) = store.queue_definition(&name) else { continue };
        let mut queue = kind_json(&definition);
        match store.queue(&name) {
            Ok(open) => {
                if let Ok(facts) = open.facts() {
                    queue.insert("depth".to_owned(), facts.depth.into());
                }
                findings.extend(open.poison_finding(store).ok().flatten().as_ref().map(raw));
            }
            Err(StoreError::QueueMissing { name: missing }) => {
                queue.insert("missing".to_owned(), missing.into());
            }
            Err(error) => return Err(error.into()),
        }
        queues.push(Value::Object(queue));
    }
    Ok((200, json!({ "queues": queues, "findings": findings })))
}

/// Name and kind of a queue, with what it leads to.
fn kind_json(definition: &QueueDefinition) -> Map<String, Value> {
    let mut queue = Map::new();
    queue.insert("name".to_owned(), definition.name.as_str().into());
    let (kind, name, targets) = match &definition.kind {
        QueueKind::Local => ("queue", "", Value::Null),
        QueueKind::Alias(target) => ("alias", "alias", target.as_str().into()),
        QueueKind::Topic(subscribers) => ("topic", "subscribers", subscribers.as_slice().into()),
    };
    queue.insert("kind".to_owned(), kind.into());
    if !name.is_empty() {
        queue.insert(name.to_owned(), targets);
    }
    queue
}

fn show(store: &Store, name: &str) -> Routed {
    let definition = store.queue_definition(name)?;
    let mut queue = kind_json(&definition);
    if definition.kind == QueueKind::Local {
        let attributes = serde_json::to_value(Attributes::of(&definition)).unwrap_or_default();
        let open = store.queue(name)?;
        let facts = open.facts()?;
        let figures = json!({
            "depth": facts.depth,
            "depth_high": facts.depth_high,
            "put": facts.put,
            "got": facts.got,
            "expired": facts.expired,
            "backed_out": facts.backed_out,
            "moved": facts.moved,
            "poison": facts.poison,
        });
        for part in [attributes, figures] {
            queue.extend(part.as_object().cloned().unwrap_or_default());
        }
        let findings: Vec<Value> = open.poison_finding(store).ok().flatten().as_ref().map(raw).into_iter().collect();
        queue.insert("findings".to_owned(), findings.into());
    } else if let Ok(facts) = store.queue(name).and_then(|open| open.facts()) {
        // The depth of an alias is that of its queue.
        queue.insert("depth".to_owned(), facts.depth.into());
    }
    Ok((200, Value::Object(queue)))
}

/// Reads the attributes in a body; an empty one has none.
fn change(body: &[u8]) -> Result<QueueChange, Refused> {
    if body.is_empty() {
        return Ok(QueueChange::default());
    }
    serde_json::from_slice::<Attributes>(body).map(QueueChange::from).map_err(|error| {
        let hint = format!("send a JSON object; GET {ROOT}/QUEUE shows the attributes of a queue");
        wrong(format!("the body is not a set of attributes: {error}"), hint).into()
    })
}

fn define(store: &Store, name: &str, body: &[u8]) -> Routed {
    define_with(store, name, change(body)?)?;
    Ok((201, json!({ "status": "defined" })))
}

fn alter(store: &Store, name: &str, body: &[u8]) -> Routed {
    let change = change(body)?;
    if change.is_empty() {
        let hint = "send the attributes to change in the body, such as {\"retry_ms\": 1000}";
        return Err(wrong("the request names nothing to change".to_owned(), hint.to_owned()).into());
    }
    alter_with(store, name, change)?;
    Ok((200, json!({ "status": "altered" })))
}

/// Remedy if a queue to delete has messages. The command has an option for the parameter.
pub(super) const NOT_EMPTY: &str = "get or move them first, or add messages=delete";

fn delete(store: &Store, name: &str, with_messages: Option<&str>) -> Routed {
    let definition = store.queue_definition(name)?;
    let refuse = |message: String, hint: &str| {
        let findings = wrong(message, hint.to_owned());
        Err(Refused::new(409, &findings.0))
    };
    if let Some(other) = with_messages.filter(|value| *value != "delete") {
        return Err(wrong(format!("`messages` is `{other}`"), "write messages=delete".to_owned()).into());
    }
    if definition.kind == QueueKind::Local {
        let depth = store.queue(name)?.facts()?.depth;
        if depth > 0 && with_messages.is_none() {
            return refuse(format!("queue {name} has {}", messages(depth)), NOT_EMPTY);
        }
        if store.is_queue_open(name) {
            let hint = "stop the flow or the clients that use it, then repeat the request";
            return refuse(format!("queue {name} is in use"), hint);
        }
    }
    store.delete_queue(name)?;
    Ok((200, json!({ "status": "deleted" })))
}

/// Reads a number of messages.
fn count(query: &Query, max: u64) -> Result<Option<u64>, Refused> {
    let read = |text: &str| match text.parse() {
        Ok(count) if (1..=max).contains(&count) => Ok(count),
        _ => {
            let hint = format!("write a whole number from 1 to {max}");
            Err(wrong(format!("`count` is `{text}`"), hint).into())
        }
    };
    query.value("count").map(read).transpose()
}

fn browse(store: &Store, name: &str, query: &Query) -> Routed {
    let count = count(query, PAGE.0 as u64)?.and_then(|count| usize::try_from(count).ok()).unwrap_or(PAGE.0);
    let place = |text: &str| {
        let place = quayline_core::from_hex(text).and_then(|bytes| <[u8; 9]>::try_from(bytes).ok());
        let hint = "write `next` of the page before, or leave it out".to_owned();
        place.ok_or_else(|| Refused::from(wrong("`after` is not the end of a page".to_owned(), hint)))
    };
    let after = query.value("after").map(place).transpose()?;
    let unit = store.begin()?;
    let page = store.queue(name)?.browse_within(&unit, after, count, PAGE.1, Content::LeftOut)?;
    let next = page.last().map(|last| hex(&last.after));
    let messages: Vec<Value> =
        page.iter().map(|browsed| serde_json::from_str(&browsed.as_json()).unwrap_or_default()).collect();
    let mut value = json!({ "messages": messages });
    if let Some(next) = next {
        value["next"] = next.into();
    }
    Ok((200, value))
}

fn retry(store: &Store, name: &str, query: &Query) -> Routed {
    let count = count(query, u64::MAX)?.unwrap_or(u64::MAX);
    let RetryOutcome { returned, left } = store.queue(name)?.retry(store, count)?;
    Ok((200, json!({ "returned": returned, "left": left })))
}

fn move_to(store: &Store, name: &str, query: &Query) -> Routed {
    let Some(to) = query.value("to") else {
        let hint = "write to=QUEUE".to_owned();
        return Err(wrong("the request names no queue to move messages to".to_owned(), hint).into());
    };
    let (from, to) = (store.queue(name)?, store.queue(to)?);
    if from.name() == to.name() {
        let hint = "name another queue".to_owned();
        return Err(wrong("both names are the same queue".to_owned(), hint).into());
    }
    let most = count(query, u64::MAX)?.unwrap_or(u64::MAX);
    match from.move_to(store, &to, most) {
        Ok(count) => Ok((200, json!({ "moved": count }))),
        Err(stopped) => Err(partial("moved", *stopped)),
    }
}

fn purge(store: &Store, name: &str, query: &Query) -> Routed {
    let most = count(query, u64::MAX)?.unwrap_or(u64::MAX);
    match store.queue(name)?.purge_up_to(store, most) {
        Ok(count) => Ok((200, json!({ "dropped": count }))),
        Err(stopped) => Err(partial("dropped", *stopped)),
    }
}

/// Answers with the findings and the number of messages that were moved or dropped before the failure.
fn partial(name: &'static str, stopped: DrainStopped) -> Refused {
    Refused { done: Some((name, stopped.done)), ..stopped.error.into() }
}
