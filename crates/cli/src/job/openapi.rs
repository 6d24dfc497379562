//! The OpenAPI document of the paths for jobs.

use serde_json::{Map, Value, json};

/// A path, its method, what it does, its parameters, and what its body is.
type Operation = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    Option<&'static str>,
);

const PAGE: [(&str, &str); 2] =
    [("page", "Number of the page, from 0"), ("pageSize", "Entries of a page, 1 to 1000; 50 by default")];
const START: &str = "{\"jobXMLName\": \"settle\", \"jobParameters\": {\"day\": \"2026-11-22\"}}; jobXMLName is a file of the folder jobs without `.xml`";
const RESTART: &str = "Nothing, or {\"jobParameters\": {...}}: those of the execution before are not remembered";

/// Every operation. Paths begin after `/batch`.
pub(super) const OPERATIONS: &[Operation] = &[
    ("/openapi.json", "get", "describeJobs", "This document", &[], None),
    ("/jobs", "get", "listJobs", "Job XML files of the project, each with what is wrong with it", &[], None),
    (
        "/jobinstances",
        "get",
        "listInstances",
        "Instances of a job, or of all jobs, the newest first",
        &[("jobName", "Id of the job"), PAGE[0], PAGE[1]],
        None,
    ),
    ("/jobinstances", "post", "startJob", "Starts a job", &[], Some(START)),
    ("/jobinstances/{instance}", "get", "showInstance", "An instance with its executions", &[], None),
    (
        "/jobinstances/{instance}",
        "put",
        "changeInstance",
        "Stops or restarts the last execution of an instance",
        &[("action", "`stop` or `restart`")],
        Some(RESTART),
    ),
    (
        "/jobinstances/{instance}",
        "delete",
        "purgeInstance",
        "Removes an instance that ended, with its executions and logs",
        &[],
        None,
    ),
    ("/jobexecutions", "get", "listExecutions", "Executions, the newest first", &[PAGE[0], PAGE[1]], None),
    ("/jobexecutions/{execution}", "get", "showExecution", "An execution with its steps", &[], None),
    (
        "/jobexecutions/{execution}",
        "put",
        "changeExecution",
        "Stops, restarts or abandons an execution, or splits a partition of it at its next checkpoint",
        &[
            ("action", "`stop`, `restart`, `abandon` or `split`"),
            ("partition", "number of the partition, for `split`"),
            ("step", "id of the step, for `split`; any without it"),
        ],
        Some(RESTART),
    ),
    (
        "/jobexecutions/{execution}/stepexecutions",
        "get",
        "listSteps",
        "Step executions in the order of their starts",
        &[],
        None,
    ),
    ("/jobexecutions/{execution}/joblogs", "get", "readLog", "The job log", &[], None),
    (
        "/jobexecutions/{execution}/rejects",
        "get",
        "listRejects",
        "Items that the execution skipped and kept: cause and position, without the item",
        &[PAGE[1]],
        None,
    ),
    (
        "/events",
        "get",
        "listEvents",
        "Kept events in the order of their commits; with `Accept: text/event-stream`, server-sent events as they happen",
        &[
            ("topic", "Topics, separated by commas: `*` is one level, `#` at the end is all levels that follow"),
            ("jobName", "Id of the job"),
            ("jobExecutionId", "Number of the execution"),
            ("after", "Position of an event: only later ones"),
            PAGE[1],
        ],
        None,
    ),
];

/// The document.
pub(super) fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for (path, method, id, summary, parameters, body) in OPERATIONS {
        let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let mut all: Vec<Value> = in_path
            .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "integer" } }))
            .collect();
        all.extend(parameters.iter().map(|(name, what)| {
            json!({ "name": name, "in": "query", "required": *name == "action", "description": what, "schema": { "type": "string" } })
        }));
        let media = if *id == "readLog" { "text/plain" } else { "application/json" };
        let findings = |what: &str| json!({ "description": what, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Findings" } } } });
        let success = if *id == "startJob" { "201" } else { "200" };
        let mut operation = json!({
            "operationId": id, "summary": summary, "parameters": all,
            "responses": {
                success: { "description": summary, "content": { media: {} } },
                "400": findings("The request is wrong"),
                "401": { "description": "No valid credentials" }, "403": { "description": "None of the roles" },
                "503": findings("The store or the database cannot be used, or too many jobs run"),
            },
        });
        if path.contains('{') {
            operation["responses"]["404"] = findings("There is no such instance or execution");
            operation["responses"]["409"] = findings("The state does not allow it");
        }
        if matches!(*method, "post" | "put") {
            operation["responses"]["422"] = findings("The job XML is wrong");
        }
        if let Some(what) = body {
            operation["requestBody"] = json!({ "description": what, "content": { "application/json": {} } });
        }
        let path = paths.entry(format!("/batch{path}")).or_insert_with(|| json!({}));
        path[*method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Batch jobs", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": { "schemas": { "Findings": {
            "type": "object", "required": ["findings"],
            "properties": { "findings": { "type": "array", "items": { "type": "object",
                "required": ["schema", "code", "severity", "fault", "message"] } } },
        } } },
    })
}
