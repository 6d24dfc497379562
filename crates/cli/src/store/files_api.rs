//! Record files on the listener for operators: their definitions, figures and records.

use quayline_core::Findings;
use quayline_gateway::decode_path;
use quayline_server::{AdminAnswer, AdminPart, AdminRequest, Operation, OperatorPaths};
use quayline_store::record_file::{AlternateIndex, Duplicates, FileDefinition, KeyPlace, Organisation};
use quayline_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::{Refused, refused};
use super::records;
use super::records_api::{PAGE_PARAMETERS, Page, delete, insert, page, read, replace};
use crate::admin::{Query, answer, elsewhere, wrong};

/// Prefix of the paths.
pub(super) const ROOT: &str = "/store/files";

/// Every operation. Paths begin after [`ROOT`].
const OPERATIONS: &[Operation] = &[
    ("/openapi.json", "get", "describe", "This document", &[], None),
    ("", "get", "listFiles", "All record files with their definitions", &[], None),
    ("/{file}", "get", "showFile", "The definition of a record file", &[], None),
    ("/{file}", "put", "defineFile", "Defines a record file", &[], Some("The definition, in JSON")),
    ("/{file}/facts", "get", "showFacts", "The definition of a file and figures of its records, as text", &[], None),
    (
        "/{file}/records",
        "get",
        "browseRecords",
        "Records in the order of the primary key or of an alternate index, from a key on",
        &PAGE_PARAMETERS,
        None,
    ),
    ("/{file}/records", "post", "insertRecord", "Inserts a record", &[], Some("The bytes of the record")),
    ("/{file}/record", "get", "readRecord", "The bytes of one record", &READ_PARAMETERS, None),
    (
        "/{file}/record",
        "put",
        "replaceRecord",
        "Replaces the record of a key-sequenced file that has the same key",
        &[],
        Some("The bytes of the record"),
    ),
    ("/{file}/record", "delete", "deleteRecord", "Deletes one record", &records::KEYS, None),
];

const READ_PARAMETERS: [(&str, &str); 6] = {
    let [key, key_hex, address, number, index] = records::KEYS;
    [key, key_hex, address, number, index, ("relation", "`at-least` accepts the next greater key; `equal` by default")]
};

/// Media type of a record.
const BYTES: &str = "application/octet-stream";

const PATHS: OperatorPaths = OperatorPaths {
    title: "Record files",
    root: ROOT,
    operations: OPERATIONS,
    integers: &[],
    required: &[],
    body: "application/json",
    other_bodies: &[("insertRecord", BYTES), ("replaceRecord", BYTES)],
    other_media: &[("showFacts", "text/plain"), ("readRecord", BYTES)],
    versioned: &[],
    conditional: &[],
    creates: &["defineFile", "insertRecord"],
    refusals,
};

fn refusals((path, method, id, ..): &Operation) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("400", "The request is wrong"), ("503", "The store cannot be used")];
    if path.contains('{') && *id != "defineFile" {
        all.push(("404", "The store has no file with this name, or the file has no such record or index"));
    }
    match *id {
        "defineFile" => all.push(("409", "The file exists")),
        "insertRecord" => all.push(("409", "A record with this key exists, or another unit of work holds the record")),
        _ if matches!(*method, "put" | "delete") => {
            all.push(("409", "Another unit of work holds the record, or several records have this key"));
        }
        _ => {}
    }
    all
}

/// Access method of a record file.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum OrganisationWire {
    KeySequenced,
    EntrySequenced,
    Relative,
}

/// Place of a key in the record.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PlaceWire {
    offset: u32,
    length: u32,
}

/// An alternate index.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct IndexWire {
    name: String,
    offset: u32,
    length: u32,
    #[serde(default)]
    duplicates: bool,
}

/// The definition of a record file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DefinitionWire {
    /// Name of the file, in answers only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    organisation: OrganisationWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<PlaceWire>,
    record_bytes_min: u32,
    record_bytes_max: u32,
    #[serde(default)]
    indexes: Vec<IndexWire>,
}

impl From<&FileDefinition> for DefinitionWire {
    fn from(file: &FileDefinition) -> Self {
        let (organisation, key) = match file.organisation {
            Organisation::KeySequenced(KeyPlace { offset, length }) => {
                (OrganisationWire::KeySequenced, Some(PlaceWire { offset, length }))
            }
            Organisation::EntrySequenced => (OrganisationWire::EntrySequenced, None),
            Organisation::Relative => (OrganisationWire::Relative, None),
        };
        let indexes = file.alternates.iter().map(|index| IndexWire {
            name: index.name.clone(),
            offset: index.place.offset,
            length: index.place.length,
            duplicates: index.duplicates == Duplicates::Allowed,
        });
        DefinitionWire {
            name: None,
            organisation,
            key,
            record_bytes_min: file.record_bytes_min,
            record_bytes_max: file.record_bytes_max,
            indexes: indexes.collect(),
        }
    }
}

impl DefinitionWire {
    /// Returns the definition under a name.
    pub(super) fn named(self, name: &str) -> Result<FileDefinition, Findings> {
        let organisation = match (self.organisation, self.key) {
            (OrganisationWire::KeySequenced, Some(PlaceWire { offset, length })) => {
                Organisation::KeySequenced(KeyPlace { offset, length })
            }
            (OrganisationWire::EntrySequenced, None) => Organisation::EntrySequenced,
            (OrganisationWire::Relative, None) => Organisation::Relative,
            (OrganisationWire::KeySequenced, None) => {
                let hint = "add \"key\": {\"offset\": 0, \"length\": 8}".to_owned();
                return Err(wrong("a key-sequenced file needs a key".to_owned(), hint));
            }
            (_, Some(_)) => {
                let hint = "leave \"key\" out".to_owned();
                return Err(wrong("only a key-sequenced file has a key".to_owned(), hint));
            }
        };
        let alternates = self.indexes.into_iter().map(|index| AlternateIndex {
            name: index.name,
            place: KeyPlace { offset: index.offset, length: index.length },
            duplicates: if index.duplicates { Duplicates::Allowed } else { Duplicates::Unique },
        });
        Ok(FileDefinition {
            name: name.to_owned(),
            organisation,
            record_bytes_min: self.record_bytes_min,
            record_bytes_max: self.record_bytes_max,
            alternates: alternates.collect(),
        })
    }
}

/// Record files of a store, for operators.
pub(crate) struct FilesPart(pub(crate) Store);

/// A successful answer.
pub(super) enum Answer {
    Json(u16, Value),
    Page(Page),
    Text(String),
    Bytes(Vec<u8>),
}

pub(super) type Routed = Result<Answer, Refused>;

impl AdminPart for FilesPart {
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
            Some(Ok(Answer::Json(status, value))) => answer(status, &value),
            Some(Ok(Answer::Page(page))) => AdminAnswer::new(200, "application/json", page.json()),
            Some(Ok(Answer::Text(text))) => AdminAnswer::new(200, "text/plain; charset=utf-8", text.into_bytes()),
            Some(Ok(Answer::Bytes(bytes))) => AdminAnswer::new(200, BYTES, bytes),
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

impl FilesPart {
    fn route(&self, request: &AdminRequest<'_>, parts: &[&str], query: &Query) -> Option<Routed> {
        let store = &self.0;
        let known: &[(&str, &str)] = match (request.method, parts) {
            ("GET", [_, "records"]) => &PAGE_PARAMETERS,
            ("GET", [_, "record"]) => &READ_PARAMETERS,
            ("DELETE", [_, "record"]) => &records::KEYS,
            _ => &[],
        };
        let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        if let Err(findings) = query.only(&known) {
            return Some(Err(findings.into()));
        }
        Some(match (request.method, parts) {
            ("GET", ["openapi.json"]) => Ok(Answer::Json(200, PATHS.document(request.operator))),
            ("GET", []) => list(store),
            (_, ["", ..]) => return None,
            ("GET", [name]) => show(store, name),
            ("PUT", [name]) => define(store, name, request.body),
            ("GET", [name, "facts"]) => records::facts(store, name).map(Answer::Text).map_err(Refused::from),
            ("GET", [name, "records"]) => page(store, name, query),
            ("POST", [name, "records"]) => insert(store, name, request.body),
            ("GET", [name, "record"]) => read(store, name, query),
            ("PUT", [name, "record"]) => replace(store, name, request.body),
            ("DELETE", [name, "record"]) => delete(store, name, query),
            _ => return None,
        })
    }
}

fn list(store: &Store) -> Routed {
    let unit = store.begin()?;
    let mut files = Vec::new();
    for name in store.files(&unit)? {
        match store.file(&unit, &name) {
            Ok(file) => files.push(file_json(file.definition())),
            // Another request may have deleted it in the meantime.
            Err(StoreError::FileMissing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Answer::Json(200, json!({ "files": files })))
}

fn show(store: &Store, name: &str) -> Routed {
    let unit = store.begin()?;
    Ok(Answer::Json(200, file_json(store.file(&unit, name)?.definition())))
}

fn file_json(file: &FileDefinition) -> Value {
    let wire = DefinitionWire { name: Some(file.name.clone()), ..DefinitionWire::from(file) };
    serde_json::to_value(wire).unwrap_or_default()
}

fn define(store: &Store, name: &str, body: &[u8]) -> Routed {
    let wire = serde_json::from_slice::<DefinitionWire>(body).map_err(|error| {
        let hint = format!("send a JSON object; GET {ROOT} shows the definitions of files");
        wrong(format!("the body is not the definition of a record file: {error}"), hint)
    })?;
    if wire.name.as_ref().is_some_and(|other| other != name) {
        let hint = "leave \"name\" out".to_owned();
        return Err(wrong("the body has another name than the path".to_owned(), hint).into());
    }
    let mut unit = store.begin()?;
    store.define_file(&mut unit, wire.named(name)?)?;
    unit.commit()?;
    Ok(Answer::Json(201, json!({ "status": "defined" })))
}
