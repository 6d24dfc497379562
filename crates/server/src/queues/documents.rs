//! The OpenAPI document of the queues, and the page that shows it.

use hyper::Response;
use quayline_gateway::{Json, Problem, document as assembled, security_of};

use super::Asked;
use super::message::SETTABLE;
use crate::body::Body;
use crate::config::ServeConfig;
use crate::pages;
use crate::queues_config::{QueueRights, QueuesConfig, Right};

/// Last parts of the paths of documents.
pub(super) const NAMES: [&str; 3] = ["openapi.json", "docs", "docs.js"];

/// Answers with one of the documents.
pub(super) fn document(asked: &Asked<'_>, name: &str) -> Result<Response<Body>, Box<Problem>> {
    let config = &asked.thread.shared.config;
    let guarded = config.authentication.required && !config.public_documents;
    let shown = pages::shown(name, guarded, || openapi(config, asked.config));
    shown.ok_or_else(|| Box::new(Problem::no_route()))
}

fn text(text: &str) -> Json {
    Json::text(text)
}

fn string() -> Json {
    Json::object([("type", text("string"))])
}

fn integer(least: u64, most: Option<u64>) -> Json {
    let integer = Json::object([("type", text("integer")), ("minimum", Json::int(least))]);
    integer.with("maximum", most.map(Json::int))
}

fn parameter(name: &str, place: &str, description: &str, schema: Json) -> Json {
    Json::object([
        ("name", text(name)),
        ("in", text(place)),
        ("required", Json::Bool(place == "path")),
        ("description", text(description)),
        ("schema", schema),
    ])
}

fn id_schema() -> Json {
    Json::object([("type", text("string")), ("pattern", text("^([0-9A-Fa-f]{2}){1,24}$"))])
}

/// Names of the queues that somebody has a right to.
fn names(config: &QueuesConfig, has: impl Fn(&QueueRights) -> bool) -> Json {
    let names: Vec<Json> = config.queue.iter().filter(|(_, rights)| has(rights)).map(|(name, _)| text(name)).collect();
    Json::object([("type", text("string"))]).with("enum", (!names.is_empty()).then_some(Json::List(names)))
}

struct Description<'c> {
    config: &'c QueuesConfig,
    security: Json,
}

impl Description<'_> {
    fn operation(
        &self,
        (id, summary): (&str, &str),
        right: Option<Right>,
        parameters: Vec<Json>,
        answers: Vec<(&str, Json)>,
    ) -> Json {
        let mut all = Vec::new();
        if let Some(right) = right {
            let names = names(self.config, |rights| !rights.roles(right).is_empty());
            all.push(parameter("queue", "path", "Name of the queue.", names));
        }
        all.extend(parameters);
        let mut responses: Vec<(String, Json)> =
            answers.into_iter().map(|(status, answer)| (status.to_owned(), answer)).collect();
        let reference = |name: &str| Json::object([("$ref", text(&format!("#/components/responses/{name}")))]);
        for (status, name) in SHARED {
            if responses.iter().all(|(known, _)| known != status) {
                responses.push(((*status).to_owned(), reference(name)));
            }
        }
        Json::object([
            ("operationId", text(id)),
            ("summary", text(summary)),
            ("tags", Json::List(vec![text("queues")])),
            ("parameters", Json::List(all)),
            ("responses", Json::Object(responses)),
            ("security", self.security.clone()),
        ])
    }
}

/// Answers that every operation has.
const SHARED: &[(&str, &str)] = &[
    ("400", "BadRequest"),
    ("401", "Unauthenticated"),
    ("403", "Forbidden"),
    ("429", "TooMany"),
    ("431", "HeadersTooLarge"),
    ("5XX", "Failed"),
];

fn plain(description: &str) -> Json {
    Json::object([("description", text(description))])
}

fn problem(description: &str) -> Json {
    let schema = Json::object([("$ref", text("#/components/schemas/Problem"))]);
    let media = Json::object([("schema", schema)]);
    Json::object([("description", text(description)), ("content", Json::object([(Problem::MEDIA_TYPE, media)]))])
}

fn json(description: &str, schema: Json) -> Json {
    let content = Json::object([("application/json", Json::object([("schema", schema)]))]);
    Json::object([("description", text(description)), ("content", content)])
}

/// Describes an answer whose body is the content of a message.
fn message(description: &str) -> Json {
    let header = |description: &str| Json::object([("description", text(description)), ("schema", string())]);
    let mut headers = vec![("quayline-message-id".to_owned(), header("Message id."))];
    headers.extend(SETTABLE.iter().map(|(name, what)| ((*name).to_owned(), header(what))));
    headers.push(("quayline-put-ms".to_owned(), header("Milliseconds since 1970 when it was put.")));
    headers.push(("quayline-backout-count".to_owned(), header("Times that the message was given back.")));
    headers.push(("quayline-reason".to_owned(), header("Why the message is on a backout queue.")));
    let content = Json::object([("*/*", Json::object([]))]);
    Json::object([("description", text(description)), ("headers", Json::Object(headers)), ("content", content)])
}

fn openapi(serve: &ServeConfig, config: &QueuesConfig) -> Json {
    let security = pages::security(serve);
    let of = Description { config, security: security_of(security) };
    let wait = || {
        let what = "Milliseconds to wait for a message. Default 0.";
        parameter("wait-ms", "query", what, integer(0, Some(config.wait_ms_max)))
    };
    let selection = || {
        [
            ("id", "The message with this id."),
            ("correlation", "The first with this correlation id."),
            ("group", "The first of this group."),
        ]
        .map(|(name, what)| parameter(name, "query", what, id_schema()))
    };
    let seconds = || {
        let schema = integer(1, Some(config.claim_seconds_max)).with("default", Some(Json::int(config.claim_seconds)));
        parameter("seconds", "query", "Seconds after which the claim ends.", schema)
    };
    let id = || parameter("messageId", "path", "Message id.", id_schema());
    let claim = || parameter("claim", "path", "Claim, from the header `quayline-claim`.", string());
    let no_queue = || problem("No such queue is open to clients, or no such message or claim.");
    let none = || plain("No message fits within the wait.");
    let topic = || problem("The name is a topic, or the queue has no backout queue.");

    let list = json("Queues that the client may use.", object(&[("queues", "array")]));
    let list = of.operation(("listQueues", "List queues"), None, Vec::new(), vec![("200", list)]);
    let counts = ["depth", "depthHigh", "depthMax", "messageBytesMax", "put", "got", "expired", "backedOut", "moved"];
    let members: Vec<(&str, &str)> =
        std::iter::once(("queue", "string")).chain(counts.map(|name| (name, "integer"))).collect();
    let facts = json("Depth, and counts since the server started.", object(&members));
    let facts = of.operation(
        ("queueFacts", "Read depth and counts"),
        Some(Right::Browse),
        Vec::new(),
        vec![("200", facts), ("404", no_queue()), ("409", topic())],
    );
    let page = json(
        "A page, without content; `next` is `after` of the next page.",
        object(&[("messages", "array"), ("next", "string")]),
    );
    let place = Json::object([("type", text("string")), ("pattern", text("^[0-9a-f]{18}$"))]);
    let browse = of.operation(
        ("browseMessages", "Look at messages without getting them"),
        Some(Right::Browse),
        vec![
            parameter("limit", "query", "Messages of a page.", integer(1, Some(config.page as u64))),
            parameter("after", "query", "`next` of the page before.", place),
        ],
        vec![("200", page), ("404", no_queue()), ("409", topic())],
    );
    let settable = SETTABLE.map(|(name, what)| parameter(name, "header", what, string())).to_vec();
    let put = json("The message is durable, and can be got.", object(&[("messageId", "string")]));
    let put = of
        .operation(
            ("putMessage", "Put a message"),
            Some(Right::Put),
            settable,
            vec![
                ("201", put),
                ("404", no_queue()),
                ("408", Json::object([("$ref", text("#/components/responses/TooSlow"))])),
                ("413", Json::object([("$ref", text("#/components/responses/TooLarge"))])),
                ("507", problem("The queue or the disk is full.")),
            ],
        )
        .with("requestBody", Some(Json::object([("content", Json::object([("*/*", Json::object([]))]))])));
    let got = || message("The message. It has left the queue, durably.");
    let get = of.operation(
        ("getMessage", "Get a message"),
        Some(Right::Get),
        std::iter::once(wait()).chain(selection()).collect(),
        vec![("200", got()), ("204", none()), ("404", no_queue()), ("409", topic())],
    );
    let look = of.operation(
        ("lookAtMessage", "Read a message, which stays"),
        Some(Right::Browse),
        vec![id()],
        vec![("200", message("The message.")), ("404", no_queue()), ("409", topic())],
    );
    let get_one = of.operation(
        ("getMessageById", "Get the message with an id"),
        Some(Right::Get),
        vec![id(), wait()],
        vec![("200", got()), ("404", no_queue()), ("409", topic())],
    );
    let claimed = message("The message. No other client gets it while the claim in `quayline-claim` is open.");
    let claim_one = of.operation(
        ("claimMessage", "Claim a message"),
        Some(Right::Get),
        std::iter::once(wait()).chain(selection()).chain([seconds()]).collect(),
        vec![("201", claimed), ("204", none()), ("404", no_queue()), ("409", topic())],
    );
    let renew = of.operation(
        ("renewClaim", "Give a claim more time"),
        Some(Right::Get),
        vec![claim(), seconds()],
        vec![("204", plain("The claim ends this many seconds from now.")), ("404", no_queue())],
    );
    let outcomes = ["accepted", "released", "failed", "rejected"].map(text).to_vec();
    let outcome =
        Json::object([("type", text("string")), ("enum", Json::List(outcomes)), ("default", text("accepted"))]);
    let what = "`accepted` deletes the message; `released` gives it back; `failed` gives it back and counts; `rejected` moves it to the backout queue.";
    let reason = parameter("quayline-reason", "header", "Why it is rejected, percent-encoded.", string());
    let settle = of.operation(
        ("settleClaim", "Settle a claim"),
        Some(Right::Get),
        vec![claim(), parameter("outcome", "query", what, outcome), reason],
        vec![("204", plain("The outcome is durable.")), ("404", no_queue()), ("409", topic())],
    );
    let base = &config.path;
    let item = |methods: Vec<(&str, Json)>| {
        Json::Object(methods.into_iter().map(|(method, operation)| (method.to_owned(), operation)).collect())
    };
    let paths = [
        (base.clone(), item(vec![("get", list)])),
        (format!("{base}/{{queue}}"), item(vec![("get", facts)])),
        (format!("{base}/{{queue}}/messages"), item(vec![("get", browse), ("post", put), ("delete", get)])),
        (format!("{base}/{{queue}}/messages/{{messageId}}"), item(vec![("get", look), ("delete", get_one)])),
        (format!("{base}/{{queue}}/claims"), item(vec![("post", claim_one)])),
        (format!("{base}/{{queue}}/claims/{{claim}}"), item(vec![("post", renew), ("delete", settle)])),
    ];
    let info = Json::object([
        ("title", text("Queues")),
        ("version", text("1")),
        ("description", text("Messages of queues: put, get, claim and settle, browse.")),
    ]);
    let shared: Vec<&str> = SHARED.iter().map(|(_, name)| *name).chain(["TooSlow", "TooLarge"]).collect();
    assembled(info, Json::Object(paths.to_vec()), &shared, security).with(
        "tags",
        Some(Json::List(vec![Json::object([("name", text("queues")), ("description", text("Messages of queues."))])])),
    )
}

/// Builds the schema of an object with these members.
fn object(members: &[(&str, &str)]) -> Json {
    let schema = |kind: &str| match kind {
        "array" => Json::object([("type", text("array")), ("items", Json::object([("type", text("object"))]))]),
        kind => Json::object([("type", text(kind))]),
    };
    let properties = members.iter().map(|(name, kind)| ((*name).to_owned(), schema(kind))).collect();
    Json::object([("type", text("object")), ("properties", Json::Object(properties))])
}
