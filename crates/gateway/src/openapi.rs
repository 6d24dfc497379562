//! OpenAPI 3.1 documents of APIs.

use crate::api::{Api, Operation, ResponseBody};
use crate::lane::{FIELDS_PARAMETER, has_own_fields};
use crate::named::name_schemas;
use crate::parameter::{Parameter, ParameterPlace};
use crate::provider::ProviderSpec;
use crate::record_call::FileAction;
use crate::schema::{SchemaOf, json_number, keep_examples_in, set_bound};
use crate::typed::Range;
use crate::{Json, Problem, title};

/// Ways of authentication that the server takes, for the document's security schemes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Security {
    /// API keys in the header `X-API-Key`.
    pub api_key: bool,
    /// Tokens.
    pub bearer: bool,
    /// Client certificates.
    pub mutual_tls: bool,
}

/// Builds a document for operations that are not those of an API. It adds the components that `paths` may refer to; `responses` has the names of
/// the shared responses, such as `BadRequest`.
#[must_use]
pub fn document(info: Json, paths: Json, responses: &[&str], security: Security) -> Json {
    let mut components = components(security);
    if let Json::Object(members) = &mut components
        && let Some((_, Json::Object(known))) = members.iter_mut().find(|(name, _)| name == "responses")
    {
        known.retain(|(name, _)| responses.contains(&name.as_str()));
    }
    let server = Json::object([("url", Json::text("/"))]);
    Json::object([
        ("openapi", Json::text("3.1.1")),
        ("info", info),
        ("servers", Json::List(vec![server])),
        ("paths", paths),
        ("components", components),
    ])
}

/// Returns the security requirement of an operation that is not public: any scheme that the server accepts suffices.
#[must_use]
pub fn security_of(security: Security) -> Json {
    let one = |(name, _): (&str, Json)| Json::Object(vec![(name.to_owned(), Json::List(Vec::new()))]);
    Json::List(schemes(security).into_iter().map(one).collect())
}

impl Api {
    /// Returns the document. `server` is the URL before the paths; `/` if clients use the server directly.
    #[must_use]
    pub fn openapi(&self, server: &str, security: Security) -> Json {
        // Linters report a scheme that no operation refers to.
        let security = if self.operations.iter().all(|o| o.public) { Security::default() } else { security };
        let mut paths: Vec<(String, Vec<&Operation>)> = Vec::new();
        for operation in &self.operations {
            match paths.iter_mut().find(|(path, _)| *path == operation.path) {
                Some((_, operations)) => operations.push(operation),
                None => paths.push((operation.path.clone(), vec![operation])),
            }
        }
        let item = |operations: Vec<&Operation>| {
            let members = operations.into_iter().map(|o| (o.method.to_ascii_lowercase(), operation(o, security)));
            Json::Object(members.collect())
        };
        let mut document = Json::object([
            ("openapi", Json::text("3.1.1")),
            ("info", self.info()),
            ("servers", self.about.servers(server)),
            ("paths", Json::Object(paths.into_iter().map(|(path, operations)| (path, item(operations))).collect())),
            ("components", components(security)),
        ])
        .with("tags", self.about.tags(self.operations.iter().flat_map(|operation| &operation.tags)));
        name_schemas(&mut document);
        keep_used_responses(&mut document);
        document
    }
}

impl Api {
    fn info(&self) -> Json {
        let text = |text: &str| (!text.is_empty()).then(|| Json::text(text));
        Json::object([("title", Json::text(self.title.clone())), ("version", Json::text(self.version.clone()))])
            .with("description", text(&self.description))
            .with("termsOfService", text(&self.about.terms_of_service))
            .with("contact", self.about.contact.json())
            .with("license", self.about.license.json())
    }
}

fn operation(operation: &Operation, security: Security) -> Json {
    let some = |text: &str| (!text.is_empty()).then(|| Json::text(text));
    let mut parameters: Vec<Json> = operation.parameters.iter().map(|p| parameter(operation, p)).collect();
    if !has_own_fields(operation) {
        parameters.push(Json::object([
            ("name", Json::text(FIELDS_PARAMETER)),
            ("in", Json::text("query")),
            ("required", Json::Bool(false)),
            (
                "description",
                Json::text(
                    "Members of the answer that are wanted, by name or path: `a,b.c` or `b(c,d)`. All by default.",
                ),
            ),
            ("schema", fields_schema(operation)),
        ]));
    }
    parameters.extend(file_parameters(operation));
    let mut json = Json::object([("operationId", Json::text(operation.id.clone()))])
        // Linters require a summary, and pages list operations by it.
        .with("summary", some(&operation.summary).or_else(|| some(&operation.id)))
        .with("description", some(&operation.description))
        .with("tags", (!operation.tags.is_empty()).then(|| Json::List(operation.tags.iter().map(Json::text).collect())))
        .with("parameters", Some(Json::List(parameters)))
        .with("requestBody", operation.body.as_ref().map(|body| request_body(operation, body.required)))
        .with("responses", Some(responses(operation)));
    let schemes = schemes(security);
    if !operation.public && !schemes.is_empty() {
        let scopes = |_: &str| Json::List(Vec::new());
        let all = schemes.iter().map(|(name, _)| Json::Object(vec![((*name).to_owned(), scopes(name))])).collect();
        json.put("security", Json::List(all));
    } else {
        // An operation without `security` inherits that of the document, and linters report it as missing. A server without any authentication has
        // no scheme to name.
        json.put("security", Json::List(Vec::new()));
    }
    json.with("x-roles", operation.roles.as_ref().map(|roles| Json::List(roles.iter().map(Json::text).collect())))
}

/// Parameters that operations on records have without saying so.
fn file_parameters(operation: &Operation) -> Vec<Json> {
    let Some(file) = &operation.file else { return Vec::new() };
    let one = |name: &str, place: &str, description: &str, schema: Json| {
        Json::object([
            ("name", Json::text(name)),
            ("in", Json::text(place)),
            ("required", Json::Bool(false)),
            ("description", Json::text(description)),
            ("schema", schema),
        ])
    };
    let text = || Json::object([("type", Json::text("string")), ("minLength", Json::int(1))]);
    let number = |n: usize| Json::int(i64::try_from(n).unwrap_or(i64::MAX));
    match file.action {
        FileAction::Browse => {
            let limit = Json::object([
                ("type", Json::text("integer")),
                ("minimum", Json::int(1)),
                ("maximum", number(file.page.1)),
                ("default", number(file.page.0)),
            ]);
            vec![
                one("limit", "query", "Records of a page.", limit),
                one("after", "query", "Where the page begins: `next` of the page before.", text()),
            ]
        }
        FileAction::Replace | FileAction::Update | FileAction::Delete => {
            vec![one("If-Match", "header", "The ETag of the record that the request changes; 412 for another.", text())]
        }
        FileAction::Read | FileAction::Insert => Vec::new(),
    }
}

/// Returns the schema of a page of records.
fn page_schema(record: Json) -> Json {
    let items = Json::object([("type", Json::text("array")), ("items", record)]);
    let next = Json::object([
        ("type", Json::text("string")),
        ("description", Json::text("`after` of the next page; the last page has none.")),
    ]);
    Json::object([
        ("type", Json::text("object")),
        ("required", Json::List(vec![Json::text("items")])),
        ("properties", Json::object([("items", items), ("next", next)])),
    ])
}

/// Returns the schema of the answer to a message without a reply.
fn accepted_schema() -> Json {
    let id = Json::object([("type", Json::text("string")), ("pattern", Json::text("^[0-9a-f]{48}$"))]);
    Json::object([
        ("type", Json::text("object")),
        ("required", Json::List(vec![Json::text("messageId")])),
        ("properties", Json::object([("messageId", id)])),
    ])
}

/// Names or paths with commas between them, and parentheses; an enumeration of names would keep generated clients from sending two.
fn fields_schema(operation: &Operation) -> Json {
    let names = field_names(operation);
    let schema = Json::object([("type", Json::text("string")), ("minLength", Json::int(1))]);
    schema.with("examples", (!names.is_empty()).then_some(Json::List(names)))
}

/// Returns members of the answers, as examples for `fields`.
fn field_names(operation: &Operation) -> Vec<Json> {
    let mut names: Vec<String> = Vec::new();
    for response in &operation.responses {
        if let ResponseBody::Answer(projection) = &response.body {
            let shape = &projection.shape;
            let every = names.is_empty();
            let hidden = |name: &str| projection.array.as_ref().is_some_and(|array| array.hides(name));
            let here = shape.iter().skip(1).map(|(_, node)| node.name.clone()).filter(|name| !hidden(name));
            let here: Vec<String> = here.collect();
            // A name that one of the answers does not have selects nothing there.
            if every {
                names = here;
            } else {
                names.retain(|name| here.contains(name));
            }
        }
    }
    names.sort();
    names.dedup();
    names.into_iter().map(Json::Text).collect()
}

fn parameter(operation: &Operation, parameter: &Parameter) -> Json {
    let side = &operation.service.request;
    let schema = SchemaOf {
        plan: &side.plan,
        shape: &side.shape,
        typed: &side.typed,
        // The parameter's own default goes before the service's.
        defaults: if parameter.default.is_some() { &[] } else { &side.defaults },
        charset: operation.service.charset,
        refuses_controls: operation.service.options.refuse_controls,
        closed: Some(&[]),
        required: &[],
        minimum_items: false,
        nullable: false,
        null_elements: false,
        optional: false,
    };
    let mut schema = schema.member(parameter.node);
    set_bound(&mut schema, "minimum", "exclusiveMinimum", parameter.minimum);
    set_bound(&mut schema, "maximum", "exclusiveMaximum", parameter.maximum);
    keep_examples_in(&mut schema, Range { minimum: parameter.minimum, maximum: parameter.maximum });
    let numeric = matches!(schema.get("type"), Some(Json::Text(kind)) if kind == "integer" || kind == "number");
    let boolean = matches!(schema.get("type"), Some(Json::Text(kind)) if kind == "boolean");
    let value = |text: &String| match text.as_str() {
        "true" if boolean => Some(Json::Bool(true)),
        "false" if boolean => Some(Json::Bool(false)),
        _ if numeric => json_number(text).map(Json::Number),
        _ => Some(Json::text(text.clone())),
    };
    if parameter.place == ParameterPlace::Path && !numeric {
        schema.put("minLength", Json::int(1));
    }
    if let Some(default) = parameter.default.as_ref().and_then(value) {
        schema.put("default", default);
    }
    let some = |text: &str| (!text.is_empty()).then(|| Json::text(text));
    Json::object([
        ("name", Json::text(parameter.name.clone())),
        ("in", Json::text(parameter.place.name())),
        ("required", Json::Bool(parameter.required)),
    ])
    .with("description", some(&parameter.description))
    .with("schema", Some(schema))
    .with("example", parameter.example.as_ref().and_then(value))
}

fn request_body(operation: &Operation, required: bool) -> Json {
    let side = &operation.service.request;
    let schema = SchemaOf {
        plan: &side.plan,
        shape: &side.shape,
        typed: &side.typed,
        defaults: &side.defaults,
        charset: operation.service.charset,
        refuses_controls: operation.service.options.refuse_controls,
        closed: Some(&operation.gate.closed),
        required: &operation.gate.required,
        minimum_items: operation.service.options.enforce_minimum_items,
        nullable: false,
        null_elements: false,
        optional: true,
    };
    let array = operation.body.as_ref().and_then(|body| body.array.as_ref());
    let schema = array.map_or_else(|| schema.document(), |array| array.schema(schema.document()));
    let media = Json::object([("schema", schema)]);
    Json::object([("required", Json::Bool(required)), ("content", Json::object([("application/json", media)]))])
}

fn responses(operation: &Operation) -> Json {
    let mut by_status: Vec<(u16, Vec<String>, Vec<Json>, bool)> = Vec::new();
    for response in &operation.responses {
        let (schema, problem) = match &response.body {
            ResponseBody::None => (None, false),
            ResponseBody::Problem { .. } => (None, true),
            ResponseBody::Answer(projection) => {
                let options = operation.service.options;
                let schema = SchemaOf {
                    plan: &projection.plan,
                    shape: &projection.shape,
                    typed: projection.rules.typed(),
                    defaults: &[],
                    charset: operation.service.charset,
                    refuses_controls: operation.service.options.refuse_controls,
                    closed: None,
                    required: &[],
                    minimum_items: options.enforce_minimum_items_of_answers,
                    nullable: operation.service.nullable_numbers(),
                    null_elements: options.omit_low_values,
                    // `fields` leaves members out too.
                    optional: options.omit_empty || options.omit_low_values || !has_own_fields(operation),
                };
                let schema = if operation.is_put() {
                    accepted_schema()
                } else if operation.file_action() == Some(FileAction::Browse) {
                    page_schema(schema.document())
                } else {
                    projection.array.as_ref().map_or_else(|| schema.document(), |array| array.schema(schema.document()))
                };
                (Some(schema), false)
            }
        };
        let known = by_status.iter().position(|(status, ..)| *status == response.status);
        let at = known.unwrap_or_else(|| {
            by_status.push((response.status, Vec::new(), Vec::new(), false));
            by_status.len() - 1
        });
        let (_, descriptions, schemas, problems) = &mut by_status[at];
        if !response.description.is_empty() {
            descriptions.push(response.description.clone());
        }
        schemas.extend(schema);
        *problems |= problem;
    }
    let reference = |name: &str| Json::object([("$ref", Json::text(format!("#/components/responses/{name}")))]);
    let mut members: Vec<(String, Json)> = Vec::new();
    for (status, descriptions, mut schemas, problem) in by_status {
        let text = if descriptions.is_empty() { title(status).to_owned() } else { descriptions.join(" ") };
        let mut content = Vec::new();
        if !schemas.is_empty() {
            let schema =
                if schemas.len() == 1 { schemas.remove(0) } else { Json::object([("anyOf", Json::List(schemas))]) };
            content.push(("application/json".to_owned(), Json::object([("schema", schema.clone())])));
            let has_xml = |response: &crate::api::Response| {
                let xml = matches!(&response.body, ResponseBody::Answer(projection) if projection.xml);
                response.status == status && xml
            };
            if !operation.is_put()
                && operation.file_action() != Some(FileAction::Browse)
                && operation.responses.iter().any(has_xml)
            {
                // XML has the same members as elements. Without a schema for XML, generated clients would not know the type for JSON either.
                content.push(("application/xml".to_owned(), Json::object([("schema", schema)])));
            }
        }
        if problem || status >= 400 {
            content.push((Problem::MEDIA_TYPE.to_owned(), problem_media()));
        }
        let header = |description: &str, format: Option<Json>| {
            let schema = Json::object([("type", Json::text("string"))]).with("format", format);
            Json::object([("description", Json::text(description)), ("schema", schema)])
        };
        let place = || header("Path that reads the record.", Some(Json::text("uri-reference")));
        let tag = || {
            Json::object([("ETag", header("Validator of the record, for If-Match and If-None-Match.", None))])
                .with("Location", (status == 201 && operation.location.is_some()).then(place))
        };
        let has_tag = status < 300
            && operation.file_action().is_some_and(|action| !matches!(action, FileAction::Browse | FileAction::Delete));
        let response = Json::object([("description", Json::text(text))]).with("headers", has_tag.then(tag));
        members.push((
            status.to_string(),
            response.with("content", (!content.is_empty()).then_some(Json::Object(content))),
        ));
    }
    for (status, name) in [
        ("400", "BadRequest"),
        ("401", "Unauthenticated"),
        ("403", "Forbidden"),
        ("406", "NotAcceptable"),
        ("414", "TooLong"),
        ("429", "TooMany"),
        ("431", "HeadersTooLarge"),
    ] {
        let needless = operation.public && matches!(status, "401" | "403");
        if !needless && members.iter().all(|(known, _)| known != status) {
            members.push((status.to_owned(), reference(name)));
        }
    }
    if let Some(action) = operation.file_action() {
        let mut more = Vec::new();
        if action.needs_key() {
            more.push(("404", "NoRecord"));
        }
        if action.takes_body() {
            more.push(("409", "DuplicateKey"));
        }
        if action.changes() {
            more.push(("412", "OtherRecord"));
        }
        for (status, name) in more {
            if members.iter().all(|(known, _)| known != status) {
                members.push((status.to_owned(), reference(name)));
            }
        }
    }
    let reads_tagged = operation.etag && operation.method == "GET" || operation.file_action() == Some(FileAction::Read);
    let is_looked_up = matches!(&operation.service.provider, ProviderSpec::Canned(canned) if canned.by.is_some());
    let more =
        [(reads_tagged, "304", "NotModified"), (is_looked_up, "404", "NoRecord"), (reads_tagged, "412", "OtherRecord")];
    for (_, status, name) in more.into_iter().filter(|(applies, ..)| *applies) {
        if members.iter().all(|(known, _)| known != status) {
            members.push((status.to_owned(), reference(name)));
        }
    }
    if operation.body.is_some() {
        for (status, name) in [("408", "TooSlow"), ("413", "TooLarge"), ("415", "MediaType")] {
            if members.iter().all(|(known, _)| known != status) {
                members.push((status.to_owned(), reference(name)));
            }
        }
    }
    members.push(("5XX".to_owned(), reference("Failed")));
    Json::Object(members)
}

fn problem_media() -> Json {
    Json::object([("schema", Json::object([("$ref", Json::text("#/components/schemas/Problem"))]))])
}

fn schemes(security: Security) -> Vec<(&'static str, Json)> {
    let mut schemes = Vec::new();
    if security.api_key {
        let key = [("type", Json::text("apiKey")), ("in", Json::text("header")), ("name", Json::text("X-API-Key"))];
        schemes.push(("apiKey", Json::object(key)));
    }
    if security.bearer {
        let bearer =
            [("type", Json::text("http")), ("scheme", Json::text("bearer")), ("bearerFormat", Json::text("JWT"))];
        schemes.push(("bearer", Json::object(bearer)));
    }
    if security.mutual_tls {
        schemes.push(("certificate", Json::object([("type", Json::text("mutualTLS"))])));
    }
    schemes
}

/// Removes the shared responses that no operation refers to.
fn keep_used_responses(document: &mut Json) {
    fn collect<'j>(json: &'j Json, used: &mut Vec<&'j str>) {
        match json {
            Json::Object(members) => {
                for (name, value) in members {
                    match value {
                        Json::Text(to) if name == "$ref" => used.extend(to.strip_prefix("#/components/responses/")),
                        _ => collect(value, used),
                    }
                }
            }
            Json::List(items) => items.iter().for_each(|item| collect(item, used)),
            _ => {}
        }
    }
    let mut used = Vec::new();
    if let Some(paths) = document.get("paths") {
        collect(paths, &mut used);
    }
    let used: Vec<String> = used.into_iter().map(str::to_owned).collect();
    let Json::Object(members) = document else { return };
    let components = members.iter_mut().find(|(name, _)| name == "components");
    if let Some((_, Json::Object(components))) = components
        && let Some((_, Json::Object(responses))) = components.iter_mut().find(|(name, _)| name == "responses")
    {
        responses.retain(|(name, _)| used.contains(name));
    }
}

fn components(security: Security) -> Json {
    let string = || Json::object([("type", Json::text("string"))]);
    let list = |names: &[&str]| Json::List(names.iter().map(|name| Json::text(*name)).collect());
    let error = Json::object([
        ("type", Json::text("object")),
        ("required", list(&["in", "field", "rule", "detail"])),
        ("properties", Json::object([("in", string()), ("field", string()), ("rule", string()), ("detail", string())])),
    ]);
    let problem = Json::object([
        ("type", Json::text("object")),
        ("description", Json::text("RFC 9457: what went wrong, and which fields break which rule.")),
        ("required", list(&["type", "title", "status", "detail", "code"])),
        (
            "properties",
            Json::object([
                ("type", string()),
                ("title", string()),
                ("status", Json::object([("type", Json::text("integer"))])),
                ("detail", string()),
                ("code", string()),
                ("requestId", string()),
                ("errors", Json::object([("type", Json::text("array")), ("items", error)])),
            ]),
        ),
    ]);
    let response = |text: &str| {
        let content = Json::Object(vec![(Problem::MEDIA_TYPE.to_owned(), problem_media())]);
        Json::object([("description", Json::text(text)), ("content", content)])
    };
    let responses = Json::object([
        ("BadRequest", response("A parameter or member breaks a rule.")),
        ("Unauthenticated", response("The request is not authenticated.")),
        ("Forbidden", response("The client has none of the roles that the operation needs.")),
        ("NotAcceptable", response("Answers are JSON or XML.")),
        ("TooLong", response("Path and query are longer than their limit.")),
        ("TooMany", response("More requests than the client may send.")),
        // The server answers this before it knows the API, and without a body.
        ("HeadersTooLarge", Json::object([("description", Json::text("The headers are larger than their limit."))])),
        ("NotModified", Json::object([("description", Json::text("The client has the current answer."))])),
        ("NoRecord", response("No record has the key.")),
        ("DuplicateKey", response("A record with the key exists.")),
        ("OtherRecord", response("The record is not the one that the client has seen.")),
        ("TooSlow", response("The body did not arrive in time.")),
        ("TooLarge", response("The body is larger than its limit.")),
        ("MediaType", response("The body is not application/json.")),
        ("Failed", response("The service of the API failed.")),
    ]);
    let schemes = schemes(security);
    let schemes = Json::Object(schemes.into_iter().map(|(name, scheme)| (name.to_owned(), scheme)).collect());
    Json::object([("schemas", Json::object([("Problem", problem)])), ("responses", responses)])
        .with("securitySchemes", (schemes != Json::Object(Vec::new())).then_some(schemes))
}
