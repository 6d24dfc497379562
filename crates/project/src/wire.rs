//! The file as serde sees it; [`crate::InterfaceFile`] is made from it by hand.

use std::collections::BTreeMap;

use quayline_cobol::{FieldValues, Fillers, KeyStyle, NullAs, RedefinesPolicy};
use serde::Deserialize;
use toml::Spanned;

use crate::word::Word;

type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct File {
    pub(crate) wrapper: Option<Text>,
    pub(crate) key_style: Option<Word<KeyStyle>>,
    #[serde(default)]
    pub(crate) prefix: BTreeMap<Text, String>,
    pub(crate) fillers: Option<Word<Fillers>>,
    pub(crate) redefines: Option<Word<RedefinesPolicy>>,
    #[serde(default)]
    pub(crate) include: Vec<Text>,
    #[serde(default)]
    pub(crate) exclude: Vec<Text>,
    #[serde(default)]
    pub(crate) rename: BTreeMap<Text, Text>,
    #[serde(default)]
    pub(crate) default: BTreeMap<Text, Spanned<Plain>>,
    #[serde(default)]
    pub(crate) field: Vec<Spanned<Field>>,
    #[serde(default)]
    pub(crate) choose: Vec<Spanned<Choose>>,
    pub(crate) records: Option<Spanned<Records>>,
    pub(crate) skip_bytes_first: Option<Spanned<u64>>,
    pub(crate) skip_bytes_last: Option<Spanned<u64>>,
    pub(crate) record_number: Option<Text>,
    pub(crate) parent_number: Option<Text>,
    pub(crate) source_file: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Field {
    pub(crate) name: Text,
    pub(crate) include: Option<bool>,
    pub(crate) rename: Option<Text>,
    pub(crate) default: Option<Spanned<Plain>>,
    pub(crate) null: Option<Word<NullAs>>,
    pub(crate) values: Option<Spanned<Word<FieldValues>>>,
    pub(crate) date: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Choose {
    pub(crate) storage: Text,
    pub(crate) by: Text,
    #[serde(default)]
    pub(crate) when: BTreeMap<Text, Text>,
    pub(crate) otherwise: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Records {
    pub(crate) by: Option<Spanned<By>>,
    pub(crate) skip_first: Option<Spanned<u64>>,
    pub(crate) skip_last: Option<Spanned<u64>>,
    pub(crate) otherwise: Option<Text>,
    #[serde(default, rename = "type")]
    pub(crate) types: Vec<Spanned<Type>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Type {
    pub(crate) record: Option<Text>,
    pub(crate) view: Option<Text>,
    pub(crate) rename: Option<Text>,
    pub(crate) by: Option<Spanned<By>>,
    pub(crate) value: Option<Spanned<Plain>>,
    #[serde(default)]
    pub(crate) values: Vec<Spanned<Plain>>,
    pub(crate) parent: Option<Text>,
    #[serde(default)]
    pub(crate) skip: bool,
}

/// A field's name, or bytes of the record.
#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a field's name or { offset = …, length = … }")]
pub(crate) enum By {
    Field(String),
    Bytes(ByteRange),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByteRange {
    pub(crate) offset: u32,
    pub(crate) length: u32,
}

/// A plain value. Numbers are taken from the source text, so that `12.50` keeps its form.
#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a string, a number, true or false")]
pub(crate) enum Plain {
    Text(String),
    Bool(bool),
    Int(#[expect(dead_code, reason = "its text is taken from the source")] i64),
    Float(#[expect(dead_code, reason = "its text is taken from the source")] f64),
}
