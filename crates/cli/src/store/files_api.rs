//! Definitions of record files on the listener for operators.

use quayline_gateway::decode_path;
use quayline_server::{AdminAnswer, AdminPart, AdminRequest, Operation, OperatorPaths};
use quayline_store::record_file::{AlternateIndex, Duplicates, FileDefinition, KeyPlace, Organisation};
use quayline_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::{Refused, Routed, refused};
use crate::admin::{Query, answer, elsewhere, wrong};

/// Prefix of the paths.
pub(super) const ROOT: &str = "/store/files";

/// Every operation. Paths begin after [`ROOT`].
const OPERATIONS: &[Operation] = &[
    ("/openapi.json", "get", "describe", "This document", &[], None),
    ("", "get", "listFiles", "All record files with their definitions", &[], None),
    ("/{file}", "get", "showFile", "The definition of a record file", &[], None),
    ("/{file}", "put", "defineFile", "Defines a record file", &[], Some("The definition, in JSON")),
];

const PATHS: OperatorPaths = OperatorPaths {
    title: "Record files",
    root: ROOT,
    operations: OPERATIONS,
    integers: &[],
    required: &[],
    body: "application/json",
    other_media: &[],
    versioned: &[],
    conditional: &[],
    creates: Some("defineFile"),
    refusals,
};

fn refusals((path, method, ..): &Operation) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("400", "The request is wrong"), ("503", "The store cannot be used")];
    match (path.contains('{'), *method) {
        (true, "put") => all.push(("409", "The file exists")),
        (true, _) => all.push(("404", "The store has no file with this name")),
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
    fn named(self, name: &str) -> Result<FileDefinition, Refused> {
        let organisation = match (self.organisation, self.key) {
            (OrganisationWire::KeySequenced, Some(PlaceWire { offset, length })) => {
                Organisation::KeySequenced(KeyPlace { offset, length })
            }
            (OrganisationWire::EntrySequenced, None) => Organisation::EntrySequenced,
            (OrganisationWire::Relative, None) => Organisation::Relative,
            (OrganisationWire::KeySequenced, None) => {
                let hint = "add \"key\": {\"offset\": 0, \"length\": 8}".to_owned();
                return Err(wrong("a key-sequenced file needs a key".to_owned(), hint).into());
            }
            (_, Some(_)) => {
                let hint = "leave \"key\" out".to_owned();
                return Err(wrong("only a key-sequenced file has a key".to_owned(), hint).into());
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

impl AdminPart for FilesPart {
    fn request(&self, request: &AdminRequest<'_>) -> Option<AdminAnswer> {
        let rest = request.path.strip_prefix(ROOT)?;
        let name = match rest.strip_prefix('/') {
            Some(rest) => decode_path(rest),
            None if rest.is_empty() => Some("".into()),
            None => return None,
        };
        let Some(name) = name else {
            return Some(refused(wrong("the path is not UTF-8".to_owned(), "encode it".to_owned()).into()));
        };
        if let Some((message, hint)) = PATHS.unread_body(request) {
            return Some(refused(wrong(message, hint).into()));
        }
        if let Err(findings) = Query::parse(request.query).and_then(|query| query.only(&[])) {
            return Some(refused(findings.into()));
        }
        let routed = match (request.method, &*name) {
            ("GET", "openapi.json") => Ok((200, PATHS.document(request.operator))),
            ("GET", "") if rest.is_empty() => list(&self.0),
            ("GET", name) if !name.is_empty() => show(&self.0, name),
            ("PUT", name) if !name.is_empty() => define(&self.0, name, request.body),
            _ => return Some(elsewhere(&PATHS, request)),
        };
        Some(match routed {
            Ok((status, value)) => answer(status, &value),
            Err(why) => refused(why),
        })
    }

    fn answer(&self, _method: &str, _path: &str) -> Option<(u16, String)> {
        None
    }

    fn metrics(&self) -> String {
        String::new()
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
    Ok((200, json!({ "files": files })))
}

fn show(store: &Store, name: &str) -> Routed {
    let unit = store.begin()?;
    Ok((200, file_json(store.file(&unit, name)?.definition())))
}

fn file_json(file: &FileDefinition) -> Value {
    let mut value = serde_json::to_value(DefinitionWire::from(file)).unwrap_or_default();
    value["name"] = file.name.as_str().into();
    value
}

fn define(store: &Store, name: &str, body: &[u8]) -> Routed {
    let wire = serde_json::from_slice::<DefinitionWire>(body).map_err(|error| {
        let hint = format!("send a JSON object; GET {ROOT} shows the definitions of files");
        wrong(format!("the body is not the definition of a record file: {error}"), hint)
    })?;
    let mut unit = store.begin()?;
    store.define_file(&mut unit, wire.named(name)?)?;
    unit.commit()?;
    Ok((201, json!({ "status": "defined" })))
}
