//! The file as serde sees it.

use serde::Deserialize;
use toml::Spanned;

/// Every key, of the file and of its tables.
pub(crate) const KEYS: &[&str] = &[
    "layout",
    "name",
    "delimiter",
    "header",
    "line-end",
    "quotes",
    "encoding",
    "framing",
    "copybook",
    "record-name",
    "interface",
    "dialect",
    "short",
    "long",
    "blank",
    "low-values",
    "invalid",
    "field",
    "key",
    "group-by",
    "key-order",
    "list",
    "record",
    "start",
    "length",
    "column",
    "type",
    "digits",
    "decimals",
    "signed",
    "required",
    "point",
    "sign",
    "value",
    "values",
    "parent",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Layout {
    pub(crate) layout: Spanned<Kind>,
    pub(crate) name: Option<String>,
    pub(crate) delimiter: Option<Spanned<String>>,
    pub(crate) header: Option<bool>,
    pub(crate) line_end: Option<LineEndName>,
    pub(crate) quotes: Option<QuotesName>,
    pub(crate) encoding: Option<Spanned<String>>,
    pub(crate) framing: Option<String>,
    pub(crate) copybook: Option<Spanned<String>>,
    pub(crate) record_name: Option<String>,
    pub(crate) interface: Option<Spanned<String>>,
    pub(crate) dialect: Option<Spanned<String>>,
    pub(crate) short: Option<Spanned<String>>,
    pub(crate) long: Option<Spanned<String>>,
    pub(crate) blank: Option<Spanned<String>>,
    pub(crate) low_values: Option<Spanned<String>>,
    pub(crate) invalid: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) field: Vec<Spanned<Field>>,
    pub(crate) key: Option<Spanned<Key>>,
    pub(crate) group_by: Option<Spanned<Vec<String>>>,
    pub(crate) key_order: Option<Spanned<KeyOrderName>>,
    #[serde(default)]
    pub(crate) record: Vec<Spanned<Record>>,
}

impl Layout {
    pub(crate) fn has(&self, key: &str) -> bool {
        match key {
            "delimiter" => self.delimiter.is_some(),
            "header" => self.header.is_some(),
            "line-end" => self.line_end.is_some(),
            "quotes" => self.quotes.is_some(),
            "framing" => self.framing.is_some(),
            "copybook" => self.copybook.is_some(),
            "record-name" => self.record_name.is_some(),
            "interface" => self.interface.is_some(),
            "dialect" => self.dialect.is_some(),
            "short" => self.short.is_some(),
            "long" => self.long.is_some(),
            "blank" => self.blank.is_some(),
            "low-values" => self.low_values.is_some(),
            "invalid" => self.invalid.is_some(),
            "field" => !self.field.is_empty(),
            "key" => self.key.is_some(),
            "group-by" => self.group_by.is_some(),
            "key-order" => self.key_order.is_some(),
            "record" => !self.record.is_empty(),
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Csv,
    Fixed,
    Record,
    Parquet,
    Arrow,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Csv => "csv",
            Kind::Fixed => "fixed",
            Kind::Record => "record",
            Kind::Parquet => "parquet",
            Kind::Arrow => "arrow",
        }
    }
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LineEndName {
    Lf,
    Crlf,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum QuotesName {
    Needed,
    Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Field {
    pub(crate) name: Spanned<String>,
    #[serde(rename = "type", default)]
    pub(crate) kind: TypeName,
    /// First byte, from 1.
    pub(crate) start: Option<usize>,
    /// Characters: at most, in CSV; exactly, in fixed fields.
    pub(crate) length: Option<u32>,
    pub(crate) digits: Option<u16>,
    pub(crate) decimals: Option<i16>,
    pub(crate) signed: Option<bool>,
    pub(crate) required: Option<bool>,
    pub(crate) list: Option<Spanned<String>>,
    pub(crate) point: Option<Point>,
    pub(crate) sign: Option<Sign>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TypeName {
    #[default]
    Text,
    Decimal,
    Integer,
    Float,
    Bool,
    Date,
    Timestamp,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Point {
    Implied,
    Written,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sign {
    None,
    Leading,
    Trailing,
    Overpunch,
}

/// Discriminator of record kinds: bytes of a fixed record (`start` from 1), or a cell of a row (`column` from 1).
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Key {
    pub(crate) start: Option<usize>,
    pub(crate) length: Option<usize>,
    pub(crate) column: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KeyOrderName {
    Together,
    Ascending,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Record {
    pub(crate) name: Spanned<String>,
    pub(crate) value: Option<String>,
    #[serde(default)]
    pub(crate) values: Vec<String>,
    pub(crate) parent: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) field: Vec<Spanned<Field>>,
}
