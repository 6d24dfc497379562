//! An API file as serde sees it.

use std::collections::BTreeMap;

use quayline_project::UserText;
use serde::Deserialize;
use toml::Spanned;

use crate::about::{Contact, License, Tag};

type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) name: Option<Text>,
    pub(super) title: Option<String>,
    pub(super) version: Option<String>,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) terms_of_service: String,
    #[serde(default)]
    pub(super) contact: Contact,
    pub(super) license: Option<Spanned<License>>,
    #[serde(default)]
    pub(super) servers: Vec<String>,
    #[serde(default, rename = "tag")]
    pub(super) tag: Vec<Tag>,
    /// Tags of operations that name none of their own.
    #[serde(default)]
    pub(super) tags: Vec<String>,
    pub(super) base_path: Text,
    #[serde(default)]
    pub(super) etag: bool,
    #[serde(default)]
    pub(super) compression: Compression,
    pub(super) roles: Option<Vec<String>>,
    #[serde(default)]
    pub(super) public: bool,
    #[serde(default)]
    pub(super) unknown_parameters: Unknown,
    #[serde(default, rename = "operation")]
    pub(super) operations: Vec<Spanned<Operation>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Compression {
    #[default]
    Auto,
    Off,
    Always,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unknown {
    #[default]
    Refuse,
    Ignore,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Operation {
    pub(super) id: Option<Text>,
    pub(super) method: Text,
    pub(super) path: Text,
    #[serde(default)]
    pub(super) summary: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) tags: Option<Vec<String>>,
    pub(super) service: Text,
    pub(super) action: Option<Text>,
    pub(super) by: Option<Text>,
    #[serde(rename = "match")]
    pub(super) matching: Option<Text>,
    pub(super) page: Option<Spanned<Page>>,
    pub(super) roles: Option<Vec<String>>,
    #[serde(default, rename = "parameter")]
    pub(super) parameters: Vec<Spanned<Parameter>>,
    pub(super) body: Option<Spanned<Body>>,
    #[serde(default)]
    pub(super) assign: BTreeMap<Text, Spanned<Plain>>,
    #[serde(default)]
    pub(super) omit: Vec<Text>,
    #[serde(default, rename = "response")]
    pub(super) responses: Vec<Spanned<Response>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Parameter {
    pub(super) name: Text,
    #[serde(rename = "in")]
    pub(super) place: Text,
    pub(super) field: Text,
    #[serde(default)]
    pub(super) required: bool,
    pub(super) default: Option<Spanned<Plain>>,
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
    #[serde(default)]
    pub(super) description: String,
    pub(super) example: Option<Spanned<Plain>>,
}

/// Records of a page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Page {
    pub(super) default: Option<Spanned<u64>>,
    pub(super) most: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Body {
    #[serde(default)]
    pub(super) required: bool,
    #[serde(default)]
    pub(super) array: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Response {
    pub(super) status: Spanned<u16>,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) when: Vec<Spanned<Condition>>,
    #[serde(default)]
    pub(super) include: Vec<Text>,
    #[serde(default)]
    pub(super) exclude: Vec<Text>,
    #[serde(default)]
    pub(super) body: BodyKind,
    #[serde(default)]
    pub(super) array: bool,
    pub(super) detail: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BodyKind {
    #[default]
    Answer,
    None,
    Problem,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Condition {
    pub(super) field: Text,
    pub(super) equals: Option<Spanned<Plain>>,
    pub(super) not: Option<Spanned<Plain>>,
    pub(super) one_of: Option<Vec<Spanned<Plain>>>,
    pub(super) at_least: Option<Spanned<Plain>>,
    pub(super) at_most: Option<Spanned<Plain>>,
}

/// A plain value.
#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a string, a number, true or false")]
pub(super) enum Plain {
    Text(String),
    Bool(bool),
    Int(i64),
    Float(f64),
}

impl Plain {
    /// Returns the text of a value in a file. A number with decimals has the digits of the file: a binary float does not keep all of them.
    pub(super) fn text(value: &Spanned<Plain>, file: &UserText) -> String {
        match value.get_ref() {
            Plain::Text(text) => text.clone(),
            Plain::Bool(value) => value.to_string(),
            Plain::Int(n) => n.to_string(),
            Plain::Float(x) => {
                let written = file.text.get(value.span()).unwrap_or_default().trim().replace('_', "");
                let digits = written.strip_prefix('+').unwrap_or(&written);
                let is_plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b"-.".contains(&b));
                if is_plain { digits.to_owned() } else { x.to_string() }
            }
        }
    }
}
