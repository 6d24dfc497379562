//! Groups of paths of the listener for operators: their OpenAPI documents, and answers to requests that match no operation.

use quayline_core::{Code, Fault, Finding};
use serde_json::{Map, Value, json};

use crate::admin_part::AdminRequest;

/// Path that does not exist, or does not support the method.
const NO_OPERATION: Code = Code("SRV-014");

/// A path, its method, what it does, its parameters, and what its body is.
pub type Operation = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    Option<&'static str>,
);

/// Description of one group of paths.
pub struct OperatorPaths {
    /// Title of the document.
    pub title: &'static str,
    /// Prefix of all paths.
    pub root: &'static str,
    /// Every operation; paths begin after `root`.
    pub operations: &'static [Operation],
    /// Parameters of paths that are numbers.
    pub integers: &'static [&'static str],
    /// Parameters of queries that are required.
    pub required: &'static [&'static str],
    /// Media type of bodies.
    pub body: &'static str,
    /// Operations whose body has another media type, with that type.
    pub other_bodies: &'static [(&'static str, &'static str)],
    /// Operations whose answer is not JSON, with its media type; once for each type.
    pub other_media: &'static [(&'static str, &'static str)],
    /// Operations whose answer has the version of what it shows, in `ETag`.
    pub versioned: &'static [&'static str],
    /// Operations that compare `If-Match` and `If-None-Match` with the version before the change, and answer 412 if it differs.
    pub conditional: &'static [&'static str],
    /// Operations that create something.
    pub creates: &'static [&'static str],
    /// Answers with findings: the status and what it means.
    pub refusals: fn(&Operation) -> Vec<(&'static str, &'static str)>,
}

impl OperatorPaths {
    /// Returns the document. `operator` is the client if the listener authenticates its clients; without roles, it does not.
    #[must_use]
    pub fn document(&self, operator: Option<&str>) -> Value {
        let mut paths: Map<String, Value> = Map::new();
        for operation in self.operations {
            let (path, method, ..) = operation;
            let path = paths.entry(format!("{}{path}", self.root)).or_insert_with(|| json!({}));
            path[*method] = self.operation(operation);
        }
        let string = || json!({ "type": "string" });
        let mut document = json!({
            "openapi": "3.1.0",
            "info": { "title": self.title, "version": env!("CARGO_PKG_VERSION") },
            "servers": [{ "url": "/" }],
            "security": [],
            "paths": paths,
            "components": { "schemas": { "Findings": {
                "type": "object", "required": ["findings"],
                "properties": { "findings": { "type": "array", "items": { "type": "object",
                    "required": ["schema", "code", "severity", "fault", "message"],
                    "properties": { "schema": string(), "code": string(), "severity": string(),
                        "fault": string(), "message": string(), "hint": string() } } } },
            } } },
        });
        if operator.is_some() {
            document["security"] = json!([{ "apiKey": [] }, { "bearer": [] }]);
            document["components"]["securitySchemes"] = json!({
                "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
                "bearer": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" },
            });
        }
        document
    }

    /// Returns a finding for a request that matches no operation. For a known path, also returns the methods that it supports.
    #[must_use]
    pub fn elsewhere(&self, request: &AdminRequest<'_>) -> (Finding, Option<String>) {
        let mut methods: Vec<String> = self.at(request).map(|(_, method, ..)| method.to_uppercase()).collect();
        methods.dedup();
        let finding = |message: String, hint: String| Finding::error(NO_OPERATION, Fault::Caller, message).hint(hint);
        if methods.is_empty() {
            let hint = format!("GET {}/openapi.json lists the paths", self.root);
            return (finding(format!("the path {} does not exist", request.path), hint), None);
        }
        let message = format!("{} does not support {}", request.path, request.method);
        let finding = finding(
            message,
            match methods.as_slice() {
                [only] => format!("send {only}"),
                several => format!("send one of {}", several.join(", ")),
            },
        );
        if methods.iter().any(|method| method == "GET") {
            methods.push("HEAD".to_owned());
        }
        (finding, Some(methods.join(", ")))
    }

    /// Returns the message and the remedy for a body that the operation does not read; its sender expects it to have an effect.
    #[must_use]
    pub fn unread_body(&self, request: &AdminRequest<'_>) -> Option<(String, String)> {
        let (_, method, _, _, parameters, body) =
            self.at(request).find(|(_, method, ..)| method.eq_ignore_ascii_case(request.method))?;
        if body.is_some() || request.body.is_empty() {
            return None;
        }
        let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
        let hint = match names.as_slice() {
            [] => "send the request without a body".to_owned(),
            names => format!("send parameters in the query, not in a body: {}", names.join(", ")),
        };
        Some((format!("{} {} has no body", method.to_uppercase(), request.path), hint))
    }

    /// Returns the operations of a path. One that names the path precedes those with a parameter in its place.
    fn at<'a>(&'a self, request: &'a AdminRequest<'_>) -> impl Iterator<Item = &'a Operation> {
        let path = request.path.strip_prefix(self.root).unwrap_or(request.path);
        let is_named = self.operations.iter().any(|(known, ..)| *known == path);
        let fits = move |known: &str| {
            let is_same = |(known, part): (&str, &str)| known == part || known.starts_with('{') && !part.is_empty();
            known.split('/').count() == path.split('/').count() && known.split('/').zip(path.split('/')).all(is_same)
        };
        self.operations.iter().filter(move |(known, ..)| if is_named { *known == path } else { fits(known) })
    }

    fn operation(&self, operation: &Operation) -> Value {
        let (path, _, id, summary, parameters, body) = operation;
        let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let mut all: Vec<Value> = in_path
            .map(|name| {
                let kind = if self.integers.contains(&name) { "integer" } else { "string" };
                json!({ "name": name, "in": "path", "required": true, "schema": { "type": kind } })
            })
            .collect();
        all.extend(parameters.iter().map(|(name, what)| {
            let required = self.required.contains(name);
            json!({ "name": name, "in": "query", "required": required, "description": what, "schema": { "type": "string" } })
        }));
        if self.conditional.contains(id) {
            let header = |name: &str, what: &str| json!({ "name": name, "in": "header", "description": what, "schema": { "type": "string" } });
            all.push(header("If-Match", "Versions of which the partner must have one, or `*` for any version"));
            all.push(header("If-None-Match", "`*`: the change adds and never replaces"));
        }
        let media = self.other_media.iter().filter(|(known, _)| known == id).map(|(_, media)| *media);
        let mut content: Map<String, Value> = media.map(|media| (media.to_owned(), json!({}))).collect();
        if content.is_empty() {
            content.insert("application/json".to_owned(), json!({}));
        }
        let refused = |what: &str| {
            let schema = json!({ "$ref": "#/components/schemas/Findings" });
            json!({ "description": what, "content": { "application/json": { "schema": schema } } })
        };
        let success = if self.creates.contains(id) { "201" } else { "200" };
        let mut operation_json = json!({
            "operationId": id, "summary": summary, "parameters": all,
            "responses": {
                success: { "description": summary, "content": content },
                "401": refused("No valid credentials"), "403": refused("None of the roles"),
            },
        });
        if self.versioned.contains(id) {
            let tag = json!({ "description": "The version", "schema": { "type": "string" } });
            operation_json["responses"][success]["headers"] = json!({ "ETag": tag });
        }
        let changed = self.conditional.contains(id).then_some(("412", "It was changed since the client read it"));
        for (status, what) in (self.refusals)(operation).into_iter().chain(changed) {
            operation_json["responses"][status] = refused(what);
        }
        if let Some(what) = body {
            let other = self.other_bodies.iter().find(|(known, _)| known == id);
            let media = other.map_or(self.body, |(_, media)| *media);
            operation_json["requestBody"] = json!({ "description": what, "content": { media: {} } });
        }
        operation_json
    }
}
