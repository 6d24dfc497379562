//! The OpenAPI document of the paths for trading partners.

use quayline_server::{Operation, OperatorPaths};

const PAGE: [(&str, &str); 2] = [
    ("count", "Entries of a page, 1 to 1000; 50 by default"),
    ("after", "Where the page begins: `next` of the page before"),
];

const PLACE: (&str, &str) = ("in", "`store` or `files`; by default where the partner is, and a new one in files");

/// Parameters of an export, then those of a search: they share the conditions between the first and the last two.
const SEARCH: &[(&str, &str)] = &[
    ("format", "`jsonl` by default, `csv` or `parquet`"),
    ("kind", "`interchange`, `group` or `transaction`"),
    ("partner", "Name of the partner"),
    ("state", "State"),
    ("way", "`received` or `sent`"),
    ("document", "Type of document"),
    ("guide", "Name of the guide that checked it, or the digest of the partner's guides"),
    ("map", "Digest of a map"),
    ("rule", "Rule, as OWNER/NAME"),
    ("finding", "Code of a finding"),
    ("number", "Control number of an interchange, with what is in it, or of a group"),
    ("field", "Business field, as NAME=VALUE"),
    ("from", "Not before this time, in UTC"),
    ("to", "Before this time, in UTC"),
    PAGE[0],
    PAGE[1],
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
        "/partners/{name}",
        "put",
        "putPartner",
        "Adds a partner, or replaces it where it is; checked with all others first",
        &[PLACE],
        Some("A partner file, in TOML or JSON"),
    ),
    ("/partners/{name}", "delete", "removePartner", "Removes a partner", &[PLACE], None),
    ("/partners/{name}/text", "get", "readPartner", "The text of a partner, as it was written", &[], None),
    (
        "/export",
        "get",
        "exportPartners",
        "Partners in the form that import reads",
        &[("name", "Name of one partner; all by default"), PLACE],
        None,
    ),
    (
        "/import",
        "post",
        "importPartners",
        "Adds partners and replaces those that are there, all or none",
        &[PLACE],
        Some("Partners in JSON, or one partner file"),
    ),
    (
        "/changes",
        "get",
        "listChanges",
        "Who changed which partner when, the newest first",
        &[("count", "Maximum number of changes, 1 to 1000; 50 by default")],
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
        SEARCH.split_at(1).1,
        None,
    ),
    (
        "/entries/export",
        "get",
        "exportEntries",
        "All entries that a search finds, the newest first, as a stream of JSON lines or CSV or as a Parquet file",
        SEARCH.split_at(SEARCH.len() - 2).0,
        None,
    ),
    (
        "/entries/purge",
        "post",
        "purgeEntries",
        "Removes entries that are older than their retention, about 100,000 entries at a time; `next` is where the next request continues",
        &[
            ("older_than", "Number of days, instead of the retention of each entry"),
            ("after", "Where the purge continues: `next` of the answer before"),
        ],
        None,
    ),
    ("/entries/{entry}", "get", "showEntry", "An entry", &[], None),
    (
        "/entries/{entry}/story",
        "get",
        "tellStory",
        "An entry with its interchange, acknowledgment, replaced entry, segments with their findings, and the values that its maps write",
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
    (
        "/entries/{entry}/advise",
        "post",
        "advise",
        "Sends the partner an application advice about a received document: an 824 or APERAK",
        &[
            ("outcome", "`rejected` by default, `accepted` or `accepted-with-errors`"),
            ("text", "The reason, instead of the findings of the document"),
        ],
        None,
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
    (
        "/outbox",
        "get",
        "listOutbox",
        "Files that are committed and not yet written, those of the oldest entries first",
        &[("count", "Files of a page, 1 to 1000; 50 by default"), PAGE[1]],
        None,
    ),
    ("/envelopes", "get", "listEnvelopes", "Envelopes that documents wait for", &[], None),
    (
        "/envelopes/release",
        "post",
        "release",
        "Releases envelopes: all, those of a partner, or those that are due",
        &[("partner", "Name of the partner"), ("due", "`true`: only envelopes that are due")],
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

/// The paths.
pub(super) const PATHS: OperatorPaths = OperatorPaths {
    title: "Trading partners",
    root: "/partner",
    operations: OPERATIONS,
    integers: &["entry"],
    required: &[],
    body: "application/octet-stream",
    other_bodies: &[],
    other_media: &[
        ("readBytes", "application/octet-stream"),
        ("readPartner", "application/toml"),
        ("exportEntries", "application/x-ndjson"),
        ("exportEntries", "text/csv"),
        ("exportEntries", "application/vnd.apache.parquet"),
    ],
    versioned: &["showPartner", "readPartner", "putPartner"],
    conditional: &["putPartner", "removePartner"],
    creates: &[],
    refusals,
};

fn refusals((path, _, id, ..): &Operation) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("400", "The request or the document is wrong"),
        ("422", "A partner file, map or guide is wrong"),
        ("503", "The store or a folder cannot be used"),
    ];
    if path.contains('{') {
        all.push(("404", "There is no such entry or partner"));
        all.push(("409", "The entry's state does not allow it, or its bytes are not kept"));
    }
    if *id == "receive" {
        all.push(("409", "The same bytes were received before"));
    }
    all
}
