//! A service file as serde sees it.

use std::collections::BTreeMap;

use quayline_project::InterfaceTable;
use serde::Deserialize;
use toml::Spanned;

type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) name: Option<Text>,
    #[serde(default)]
    pub(super) description: String,
    pub(super) copybook: Option<Text>,
    pub(super) record: Option<Text>,
    pub(super) response_copybook: Option<Text>,
    pub(super) response_record: Option<Text>,
    #[serde(default, rename = "parameter")]
    pub(super) parameters: Vec<Spanned<Parameter>>,
    pub(super) encoding: Text,
    pub(super) dialect: Option<Text>,
    #[serde(default)]
    pub(super) dialect_settings: BTreeMap<Text, Text>,
    pub(super) length: Option<Spanned<usize>>,
    pub(super) provider: Spanned<Provider>,
    #[serde(default)]
    pub(super) options: Options,
    pub(super) request: Option<InterfaceTable>,
    pub(super) request_interface: Option<Text>,
    pub(super) response: Option<InterfaceTable>,
    pub(super) response_interface: Option<Text>,
    #[serde(default)]
    pub(super) required: Vec<Text>,
    #[serde(default, rename = "type")]
    pub(super) types: Vec<Spanned<TypeHint>>,
    #[serde(default, rename = "counter")]
    pub(super) counters: Vec<Spanned<Counter>>,
}

/// One parameter of a program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Parameter {
    pub(super) copybook: Option<Text>,
    pub(super) record: Option<Text>,
    pub(super) name: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Provider {
    pub(super) kind: Text,
    pub(super) program: Option<Text>,
    #[serde(default)]
    pub(super) modules: Vec<Text>,
    pub(super) source: Option<Text>,
    #[serde(default)]
    pub(super) compiler_options: Vec<Text>,
    pub(super) work_folder: Option<Text>,
    pub(super) workers: Option<Spanned<u64>>,
    pub(super) slots: Option<Spanned<u64>>,
    pub(super) queue: Option<Spanned<toml::Value>>,
    pub(super) time_limit_ms: Option<Spanned<u64>>,
    pub(super) wait_limit_ms: Option<Spanned<u64>>,
    pub(super) memory_mib: Option<Spanned<u64>>,
    pub(super) working_storage: Option<Text>,
    #[serde(default)]
    pub(super) environment: BTreeMap<Text, String>,
    pub(super) file: Option<Text>,
    pub(super) by: Option<Text>,
    pub(super) url: Option<Text>,
    #[serde(default)]
    pub(super) headers: BTreeMap<Text, String>,
    pub(super) authorities: Option<Text>,
    pub(super) host: Option<Text>,
    pub(super) port: Option<Spanned<u16>>,
    pub(super) database: Option<Text>,
    pub(super) user: Option<Text>,
    pub(super) password_file: Option<Text>,
    pub(super) password_environment: Option<Text>,
    pub(super) query: Option<Text>,
    #[serde(default)]
    pub(super) parameters: Vec<Text>,
    pub(super) rows: Option<Text>,
    pub(super) count: Option<Text>,
    pub(super) connections: Option<Spanned<u64>>,
    pub(super) plain_text: Option<Spanned<bool>>,
    pub(super) key: Option<Text>,
    #[serde(default, rename = "index")]
    pub(super) indexes: Vec<Spanned<Index>>,
    pub(super) reply_queue: Option<Text>,
    pub(super) late_limit_ms: Option<Spanned<u64>>,
    pub(super) waiting: Option<Spanned<u64>>,
    pub(super) priority: Option<Spanned<u64>>,
    pub(super) persistent: Option<Spanned<bool>>,
    pub(super) expires_ms: Option<Spanned<u64>>,
    pub(super) format: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Index {
    pub(super) name: Text,
    pub(super) field: Text,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Options {
    pub(super) initialize: Initialize,
    pub(super) trim: Trim,
    pub(super) omit_empty: bool,
    pub(super) omit_low_values: bool,
    pub(super) control_characters: Controls,
    pub(super) request_control_characters: RequestControls,
    pub(super) blank_numbers: Blank,
    pub(super) lenient_requests: bool,
    pub(super) inexact_floats: InexactFloats,
    pub(super) enforce_minimum_items: bool,
    pub(super) enforce_minimum_items_of_answers: bool,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Initialize {
    #[default]
    LowValues,
    Initial,
    Value,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Trim {
    #[default]
    Trailing,
    Both,
    None,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Controls {
    #[default]
    Escape,
    Space,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RequestControls {
    #[default]
    Accept,
    Refuse,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InexactFloats {
    #[default]
    Error,
    Round,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Blank {
    #[default]
    Error,
    Null,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TypeHint {
    pub(super) field: Text,
    pub(super) is: Text,
    pub(super) pattern: Option<Text>,
    #[serde(rename = "true")]
    pub(super) yes: Option<Text>,
    #[serde(rename = "false")]
    pub(super) no: Option<Text>,
    #[serde(default)]
    pub(super) names: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) write: BTreeMap<String, Text>,
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Counter {
    pub(super) list: Text,
    pub(super) field: Text,
}
