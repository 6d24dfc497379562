//! A layout as JSON, `quayline.layout/1` in docs/json.md.

use quayline_cobol::layout::{
    ByteOrder, Encoding, Field, FieldIndex, FieldKind, Figurative, FloatFormat, Layout, Literal, ZonedSign,
};
use serde_json::{Map, Value, json};

use super::tree::{Totals, slides};

/// One layout as a JSON object.
pub(crate) fn layout_json(layout: &Layout) -> Value {
    let record = layout.field(FieldIndex::RECORD);
    let totals = Totals::of(layout);
    json!({
        "name": record.name,
        "file": &*record.source.file,
        "line": record.source.line,
        "length_min": layout.length_min,
        "length_max": layout.length_max,
        "dialect": layout.dialect.settings().into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect::<Map<_, _>>(),
        "totals": {
            "items": totals.items,
            "groups": totals.groups,
            "tables": totals.tables,
            "variable_tables": totals.variable_tables,
            "redefinitions": totals.redefinitions,
            "renames": totals.renames,
            "conditions": totals.conditions,
            "fillers": totals.fillers,
            "slack_bytes": totals.slack_bytes,
        },
        "fields": layout.iter().map(|(index, field)| field_json(layout, index, field)).collect::<Vec<_>>(),
        "renames": layout.renames.iter().map(|rename| json!({
            "name": rename.name,
            "from": layout.path(rename.from),
            "thru": rename.thru.map(|thru| layout.path(thru)),
            "offset": rename.offset,
            "start": rename.offset + 1,
            "length": rename.size,
        })).collect::<Vec<_>>(),
    })
}

fn field_json(layout: &Layout, index: FieldIndex, field: &Field) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.to_owned(), value);
    };
    put("index", json!(index.0));
    put("parent", json!(field.parent.map(|parent| parent.0)));
    put("level", json!(field.level));
    put("name", json!(field.name));
    put("path", json!(layout.path(index)));
    put("filler", json!(field.filler));
    put("offset", json!(field.offset));
    put("start", json!(field.offset + 1));
    put("length", json!(field.size));
    put("slides", json!(slides(layout, index)));
    put("type", type_json(&field.kind));
    if !field.description.is_empty() {
        put("description", json!(field.description));
    }
    if let Some(occurs) = field.occurs {
        put(
            "occurs",
            json!({
                "min": occurs.min,
                "max": occurs.max,
                "depending_on": occurs.depending_on.map(|counter| layout.path(counter)),
                "stride": field.stride,
            }),
        );
    }
    if let Some(original) = field.redefines {
        put("redefines", json!(layout.path(original)));
    }
    if field.slack_before > 0 {
        put("slack_before", json!(field.slack_before));
    }
    if let Some(value) = &field.value {
        put("value", json!(literal_text(value)));
    }
    if !field.conditions.is_empty() {
        let conditions = field.conditions.iter().map(|condition| {
            let values = condition.values.iter().map(|(low, high)| match high {
                None => json!([literal_text(low)]),
                Some(high) => json!([literal_text(low), literal_text(high)]),
            });
            json!({ "name": condition.name, "values": values.collect::<Vec<_>>() })
        });
        put("conditions", json!(conditions.collect::<Vec<_>>()));
    }
    if field.external {
        put("external", json!(true));
    }
    if field.global {
        put("global", json!(true));
    }
    put("line", json!(field.source.line));
    Value::Object(object)
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

/// A literal as COBOL writes it: `'A'`, `X'00'`, `12.5`, `SPACE`, `ALL '*'`.
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
