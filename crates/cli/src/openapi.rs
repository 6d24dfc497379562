//! OpenAPI documents of the paths for operators.

use serde_json::{Map, Value, json};

/// A path, its method, what it does, its parameters, and what its body is.
pub(crate) type Operation = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    Option<&'static str>,
);

/// What one group of paths has of its own.
pub(crate) struct Paths {
    pub(crate) title: &'static str,
    /// What all paths begin with.
    pub(crate) root: &'static str,
    /// Every operation; paths begin after `root`.
    pub(crate) operations: &'static [Operation],
    /// Parameters of paths that are numbers.
    pub(crate) integers: &'static [&'static str],
    /// Parameters of queries that are required.
    pub(crate) required: &'static [&'static str],
    /// Media type of bodies.
    pub(crate) body: &'static str,
    /// Operations whose answer is not JSON, with its media type.
    pub(crate) other_media: &'static [(&'static str, &'static str)],
    /// The operation that creates something.
    pub(crate) creates: Option<&'static str>,
    /// Answers with findings: the status and what it means.
    pub(crate) refusals: fn(&Operation) -> Vec<(&'static str, &'static str)>,
}

impl Paths {
    /// The document.
    pub(crate) fn document(&self) -> Value {
        let mut paths: Map<String, Value> = Map::new();
        for operation in self.operations {
            let (path, method, ..) = operation;
            let path = paths.entry(format!("{}{path}", self.root)).or_insert_with(|| json!({}));
            path[*method] = self.operation(operation);
        }
        json!({
            "openapi": "3.1.0",
            "info": { "title": self.title, "version": env!("CARGO_PKG_VERSION") },
            "paths": paths,
            "components": { "schemas": { "Findings": {
                "type": "object", "required": ["findings"],
                "properties": { "findings": { "type": "array", "items": { "type": "object",
                    "required": ["schema", "code", "severity", "fault", "message"] } } },
            } } },
        })
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
        let media =
            self.other_media.iter().find(|(known, _)| known == id).map_or("application/json", |(_, media)| media);
        let success = if self.creates == Some(id) { "201" } else { "200" };
        let mut operation_json = json!({
            "operationId": id, "summary": summary, "parameters": all,
            "responses": {
                success: { "description": summary, "content": { media: {} } },
                "401": { "description": "No valid credentials" }, "403": { "description": "None of the roles" },
            },
        });
        for (status, what) in (self.refusals)(operation) {
            let schema = json!({ "$ref": "#/components/schemas/Findings" });
            operation_json["responses"][status] =
                json!({ "description": what, "content": { "application/json": { "schema": schema } } });
        }
        if let Some(what) = body {
            operation_json["requestBody"] = json!({ "description": what, "content": { self.body: {} } });
        }
        operation_json
    }
}
