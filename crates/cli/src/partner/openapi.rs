//! The OpenAPI document of the paths for trading partners.

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

const PAGE: [(&str, &str); 2] = [
    ("count", "Entries of a page, 1 to 1000; 50 by default"),
    ("after", "Where the page begins: `next` of the page before"),
];

/// Every operation. Paths begin after `/partner`.
pub(super) const OPERATIONS: &[Operation] = &[
    ("/openapi.json", "get", "describe", "This document", &[], None),
    ("/partners", "get", "listPartners", "All partners, with identities and number of rules", &[], None),
    (
        "/partners/{name}",
        "get",
        "showPartner",
        "A partner, with its rules and where each setting comes from",
        &[],
        None,
    ),
    (
        "/explain",
        "post",
        "explain",
        "Why each document of an interchange is handled as it is",
        &[],
        Some("An interchange"),
    ),
    (
        "/entries",
        "get",
        "findEntries",
        "Entries of the transaction store, the newest first",
        &[
            ("kind", "`interchange`, `group` or `transaction`"),
            ("partner", "Name of the partner"),
            ("state", "State"),
            ("way", "`received` or `sent`"),
            ("document", "Type of document"),
            ("number", "Control number of an interchange, with what is in it, or of a group"),
            ("field", "Business field, as NAME=VALUE"),
            ("from", "Not before this time, in UTC"),
            ("to", "Before this time, in UTC"),
            PAGE[0],
            PAGE[1],
        ],
        None,
    ),
    ("/entries/{entry}", "get", "showEntry", "An entry", &[], None),
    (
        "/entries/{entry}/story",
        "get",
        "tellStory",
        "An entry with its interchange, its acknowledgment, what it replaces, and its segments with their findings",
        &[],
        None,
    ),
    ("/entries/{entry}/bytes", "get", "readBytes", "The stored bytes of an entry", &[], None),
    (
        "/entries/{entry}/reprocess",
        "post",
        "reprocess",
        "Processes a received document again, as it is kept or with a corrected interchange",
        &[],
        Some("Nothing, or an interchange with one transaction"),
    ),
    ("/entries/{entry}/resend", "post", "resend", "Sends the bytes of an interchange again", &[], None),
    (
        "/entries/{entry}/reenvelope",
        "post",
        "reenvelope",
        "Puts the documents of an interchange into a new one",
        &[],
        None,
    ),
    (
        "/overdue",
        "get",
        "findOverdue",
        "Expected acknowledgments that are overdue",
        &[("at", "At this time, in UTC; now by default"), PAGE[0], PAGE[1]],
        None,
    ),
    ("/envelopes", "get", "listEnvelopes", "Envelopes that documents wait for", &[], None),
    (
        "/envelopes/release",
        "post",
        "release",
        "Closes envelopes: all, those of a partner, or those that are due",
        &[("partner", "Name of the partner"), ("due", "`true`: those whose close policy says so now")],
        None,
    ),
    (
        "/receive",
        "post",
        "receive",
        "Receives interchanges",
        &[("name", "Name of the source in entries"), ("again", "`true`: also if the same bytes came before")],
        Some("Interchanges"),
    ),
    (
        "/send",
        "post",
        "send",
        "Sends documents",
        &[
            ("document", "Kind of document, which rules look at"),
            ("to", "Name of the partner"),
            ("from", "Name of your own file"),
            ("name", "Name of the source in entries"),
            ("again", "`true`: also if the same bytes were sent before"),
        ],
        Some("Documents in the format of the map's source, or interchanges"),
    ),
];

/// The document.
pub(super) fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for (path, method, id, summary, parameters, body) in OPERATIONS {
        let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let mut all: Vec<Value> = in_path
            .map(|name| {
                let kind = if name == "entry" { "integer" } else { "string" };
                json!({ "name": name, "in": "path", "required": true, "schema": { "type": kind } })
            })
            .collect();
        all.extend(parameters.iter().map(
            |(name, what)| json!({ "name": name, "in": "query", "description": what, "schema": { "type": "string" } }),
        ));
        let media = if *id == "readBytes" { "application/octet-stream" } else { "application/json" };
        let answer = |what: &str, media: &str| json!({ "description": what, "content": { media: {} } });
        let findings = |what: &str| json!({ "description": what, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Findings" } } } });
        let mut operation = json!({
            "operationId": id, "summary": summary, "parameters": all,
            "responses": {
                "200": answer(summary, media), "400": findings("The request or the document is wrong"),
                "401": { "description": "No valid credentials" }, "403": { "description": "None of the roles" },
                "422": findings("A partner file, map or guide is wrong"), "503": findings("The store or a folder cannot be used"),
            },
        });
        if path.contains('{') {
            operation["responses"]["404"] = findings("There is no such entry or partner");
            operation["responses"]["409"] = findings("The entry's state does not allow it, or its bytes are not kept");
        }
        if *id == "receive" {
            operation["responses"]["409"] = findings("The same bytes were received before");
        }
        if let Some(what) = body {
            operation["requestBody"] = json!({ "description": what, "content": { "application/octet-stream": {} } });
        }
        let path = paths.entry(format!("/partner{path}")).or_insert_with(|| json!({}));
        path[*method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Trading partners", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": { "schemas": { "Findings": {
            "type": "object", "required": ["findings"],
            "properties": { "findings": { "type": "array", "items": { "type": "object",
                "required": ["schema", "code", "severity", "fault", "message"] } } },
        } } },
    })
}
