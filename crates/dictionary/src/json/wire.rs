//! The JSON form, key by key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Guide {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    pub(super) standard: Standard,
    pub(super) version: String,
    pub(super) transaction: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    #[serde(default)]
    pub(super) elements: BTreeMap<String, Element>,
    #[serde(default)]
    pub(super) composites: BTreeMap<String, Composite>,
    #[serde(default)]
    pub(super) segments: BTreeMap<String, Segment>,
    #[serde(default)]
    pub(super) codes: BTreeMap<String, CodeList>,
    pub(super) structure: Vec<Item>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) rules: Vec<Rule>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) enum Standard {
    X12,
    #[serde(rename = "EDIFACT")]
    Edifact,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Element {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(rename = "type")]
    pub(super) data_type: String,
    pub(super) min: u32,
    pub(super) max: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) codes: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Composite {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) components: Vec<Use>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Segment {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) elements: Vec<Use>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Use {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) element: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) composite: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Use::is_optional")]
    pub(super) requirement: Requirement,
    #[serde(default, skip_serializing_if = "Count::is_one")]
    pub(super) repeat: Count,
}

impl Use {
    fn is_optional(requirement: &Requirement) -> bool {
        matches!(requirement, Requirement::Optional)
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) enum Requirement {
    #[serde(rename = "mandatory")]
    Mandatory,
    #[default]
    #[serde(rename = "optional")]
    Optional,
    #[serde(rename = "not used")]
    NotUsed,
}

/// A number, or `"*"` for any.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a number or \"*\"")]
pub(super) enum Count {
    Number(u32),
    Any(Star),
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Star {
    #[serde(rename = "*")]
    Star,
}

impl Default for Count {
    fn default() -> Self {
        Count::Number(1)
    }
}

impl Count {
    fn is_one(&self) -> bool {
        matches!(self, Count::Number(1))
    }
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeList {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) open: bool,
    pub(super) codes: Vec<Code>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A code alone, or one with a name or days.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a code as a string, or an object with `value`")]
pub(super) enum Code {
    Plain(String),
    Full(FullCode),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FullCode {
    pub(super) value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<u32>,
}

/// A segment or a loop; its keys determine which.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) segment: Option<String>,
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub(super) loop_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Use::is_optional")]
    pub(super) requirement: Requirement,
    #[serde(default, skip_serializing_if = "Count::is_one")]
    pub(super) max: Count,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) position: u32,
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub(super) qualifier: Option<Qualifier>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Change>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) notes: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) levels: Vec<Level>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) items: Vec<Item>,
}

/// A level of a loop of HL segments.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Level {
    pub(super) code: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) top: bool,
    #[serde(default, rename = "in", skip_serializing_if = "Vec::is_empty")]
    pub(super) within: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_none_number(value: &u8) -> bool {
    *value == 0
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Qualifier {
    pub(super) element: u8,
    #[serde(default, skip_serializing_if = "is_none_number")]
    pub(super) component: u8,
    pub(super) values: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) element: u8,
    #[serde(default, skip_serializing_if = "is_none_number")]
    pub(super) component: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) requirement: Option<Requirement>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) data_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) min: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repeat: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) codes: Option<Codes>,
}

/// Codes themselves, the name of a list, or `"*"` for any.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected an array of codes, the name of a code list, or \"*\"")]
pub(super) enum Codes {
    These(Vec<String>),
    List(String),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) name: String,
    #[serde(default)]
    pub(super) at: String,
    pub(super) expression: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) warning: bool,
}
