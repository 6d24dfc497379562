//! A layout as JSON, `quayline.layout/1` in docs/reference/json.md.

use quayline_cobol::layout::{
    ByteOrder, Condition, Encoding, Field, FieldIndex, FieldKind, Figurative, FloatFormat, Layout, Literal, Rename,
    ZonedSign,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::tree::Totals;

/// One layout as programs read it.
#[derive(Serialize)]
pub(crate) struct LayoutWire<'a> {
    name: &'a str,
    file: &'a str,
    line: u32,
    length_min: usize,
    length_max: usize,
    dialect: Map<String, Value>,
    totals: TotalsWire,
    fields: Vec<FieldWire<'a>>,
    renames: Vec<RenameWire<'a>>,
}

#[derive(Serialize)]
struct TotalsWire {
    items: usize,
    groups: usize,
    tables: usize,
    variable_tables: usize,
    redefinitions: usize,
    renames: usize,
    conditions: usize,
    fillers: usize,
    slack_bytes: usize,
}

#[derive(Serialize)]
struct FieldWire<'a> {
    index: u32,
    parent: Option<u32>,
    level: u8,
    name: &'a str,
    path: String,
    filler: bool,
    offset: usize,
    start: usize,
    length: usize,
    slides: bool,
    #[serde(rename = "type")]
    kind: Value,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurs: Option<OccursWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redefines: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    slack_before: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<ConditionWire<'a>>,
    #[serde(skip_serializing_if = "is_false")]
    external: bool,
    #[serde(skip_serializing_if = "is_false")]
    global: bool,
    file: &'a str,
    line: u32,
}

#[derive(Serialize)]
struct OccursWire {
    min: u32,
    max: u32,
    depending_on: Option<String>,
    stride: usize,
}

/// A condition name and its values: one literal, or two for a range.
#[derive(Serialize)]
struct ConditionWire<'a> {
    name: &'a str,
    values: Vec<Vec<String>>,
}

#[derive(Serialize)]
struct RenameWire<'a> {
    name: &'a str,
    from: String,
    thru: Option<String>,
    offset: usize,
    start: usize,
    length: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(yes: &bool) -> bool {
    !yes
}

impl<'a> LayoutWire<'a> {
    /// Converts the layout for JSON.
    pub(crate) fn of(layout: &'a Layout) -> Self {
        let record = layout.field(FieldIndex::RECORD);
        LayoutWire {
            name: &record.name,
            file: &record.source.file,
            line: record.source.line,
            length_min: layout.length_min,
            length_max: layout.length_max,
            dialect: layout
                .dialect
                .settings()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect(),
            totals: TotalsWire::of(Totals::of(layout)),
            fields: layout
                .iter()
                .zip(layout.sliding())
                .map(|(field, slides)| FieldWire::of(layout, field, slides))
                .collect(),
            renames: layout.renames.iter().map(|rename| RenameWire::of(layout, rename)).collect(),
        }
    }
}

impl TotalsWire {
    fn of(totals: Totals) -> Self {
        TotalsWire {
            items: totals.items,
            groups: totals.groups,
            tables: totals.tables,
            variable_tables: totals.variable_tables,
            redefinitions: totals.redefinitions,
            renames: totals.renames,
            conditions: totals.conditions,
            fillers: totals.fillers,
            slack_bytes: totals.slack_bytes,
        }
    }
}

impl<'a> FieldWire<'a> {
    fn of(layout: &'a Layout, (index, field): (FieldIndex, &'a Field), slides: bool) -> Self {
        FieldWire {
            index: index.0,
            parent: field.parent.map(|parent| parent.0),
            level: field.level,
            name: &field.name,
            path: layout.path(index),
            filler: field.filler,
            offset: field.offset,
            start: field.offset + 1,
            length: field.size,
            slides,
            kind: type_json(&field.kind),
            description: &field.description,
            occurs: field.occurs.map(|occurs| OccursWire {
                min: occurs.min,
                max: occurs.max,
                depending_on: occurs.depending_on.map(|counter| layout.path(counter)),
                stride: field.stride,
            }),
            redefines: field.redefines.map(|original| layout.path(original)),
            slack_before: field.slack_before,
            value: field.value.as_ref().map(literal_text),
            conditions: field.conditions.iter().map(ConditionWire::of).collect(),
            external: field.external,
            global: field.global,
            file: &field.source.file,
            line: field.source.line,
        }
    }
}

impl<'a> ConditionWire<'a> {
    fn of(condition: &'a Condition) -> Self {
        let range =
            |(low, high): &(Literal, Option<Literal>)| std::iter::once(low).chain(high).map(literal_text).collect();
        ConditionWire { name: &condition.name, values: condition.values.iter().map(range).collect() }
    }
}

impl<'a> RenameWire<'a> {
    fn of(layout: &Layout, rename: &'a Rename) -> Self {
        RenameWire {
            name: &rename.name,
            from: layout.path(rename.from),
            thru: rename.thru.map(|thru| layout.path(thru)),
            offset: rename.offset,
            start: rename.offset + 1,
            length: rename.size,
        }
    }
}

fn type_json(kind: &FieldKind) -> Value {
    let encoding = match kind {
        FieldKind::Group => return json!({ "kind": "group" }),
        FieldKind::Item(encoding) => encoding,
    };
    match encoding {
        Encoding::Text { justified, alphabetic } => {
            json!({ "kind": "text", "justified": justified, "alphabetic": alphabetic })
        }
        Encoding::TextEdited { .. } => json!({ "kind": "text-edited" }),
        Encoding::Zoned { digits, scale, sign, blank_when_zero } => json!({
            "kind": "zoned", "digits": digits, "scale": scale, "sign": sign_text(*sign), "blank_when_zero": blank_when_zero,
        }),
        Encoding::Packed { digits, scale, signed } => {
            json!({ "kind": "packed", "digits": digits, "scale": scale, "signed": signed })
        }
        Encoding::PackedUnsigned { digits, scale } => {
            json!({ "kind": "packed-unsigned", "digits": digits, "scale": scale })
        }
        Encoding::Binary { digits, scale, signed, order, full_range } => json!({
            "kind": "binary", "digits": digits, "scale": scale, "signed": signed, "order": order_text(*order), "full_range": full_range,
        }),
        Encoding::Float32(format) => json!({ "kind": "float32", "format": float_text(*format) }),
        Encoding::Float64(format) => json!({ "kind": "float64", "format": float_text(*format) }),
        Encoding::Edited(picture) => {
            json!({ "kind": "edited", "digits": picture.digits, "scale": picture.scale, "blank_when_zero": picture.blank_when_zero })
        }
        Encoding::National { justified } => json!({ "kind": "national", "justified": justified }),
        Encoding::Utf8 => json!({ "kind": "utf-8" }),
        Encoding::Dbcs => json!({ "kind": "dbcs" }),
        Encoding::Boolean => json!({ "kind": "boolean" }),
        _ => json!({ "kind": "other" }),
    }
}

fn sign_text(sign: ZonedSign) -> &'static str {
    match sign {
        ZonedSign::Unsigned => "none",
        ZonedSign::TrailingOverpunch => "trailing",
        ZonedSign::LeadingOverpunch => "leading",
        ZonedSign::TrailingSeparate => "trailing-separate",
        ZonedSign::LeadingSeparate => "leading-separate",
    }
}

fn order_text(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Big => "big",
        ByteOrder::Little => "little",
    }
}

fn float_text(format: FloatFormat) -> &'static str {
    match format {
        FloatFormat::Hexadecimal => "hexadecimal",
        FloatFormat::IeeeBig => "ieee-big",
        FloatFormat::IeeeLittle => "ieee-little",
    }
}

/// Formats a literal in COBOL notation: `'A'`, `X'00'`, `12.5`, `SPACE`, `ALL '*'`.
pub(crate) fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Literal::Hex(bytes) => format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>()),
        Literal::Number(number) => number.clone(),
        Literal::Figurative(word) => match word {
            Figurative::Zero => "ZERO",
            Figurative::Space => "SPACE",
            Figurative::HighValue => "HIGH-VALUE",
            Figurative::LowValue => "LOW-VALUE",
            Figurative::Quote => "QUOTE",
            Figurative::Null => "NULL",
        }
        .to_owned(),
        Literal::All(literal) => format!("ALL {}", literal_text(literal)),
    }
}
