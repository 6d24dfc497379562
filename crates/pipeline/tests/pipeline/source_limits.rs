//! Random schemas and documents: a check that knows neither the readers nor their table agrees on each fault.

use std::fmt::Write as _;

use proptest::prelude::*;
use quayline_pipeline::{Pipeline, UnitReport};
use quayline_project::{ShapeFile, ShapeOptions};

use crate::support::{jsonl, pipeline, run, shown};

/// Numbers are integers in units of 10^-9, so that the check compares them exactly and without digits.
const UNIT: i128 = 1_000_000_000;

#[derive(Clone, Debug)]
enum Schema {
    Text { max: Option<usize> },
    Number { integer: bool, decimals: Option<u32>, low: Option<(i128, bool)>, high: Option<(i128, bool)> },
    List { min: usize, max: Option<usize>, items: Box<Schema> },
    Object(Vec<Member>),
}

#[derive(Clone, Debug)]
struct Member {
    required: bool,
    nullable: bool,
    schema: Schema,
}

#[derive(Clone, Debug)]
enum Value {
    Null,
    Text(String),
    Number(i128, u8),
    List(Vec<Value>),
    Object(Vec<Option<Value>>),
}

/// Faults of a document by kind: missing or null, too long, number, occurrences.
type Faults = [u64; 4];

fn bound() -> impl Strategy<Value = Option<(i128, bool)>> {
    let number = prop_oneof![
        (-20i128..20).prop_map(|n| n * UNIT),
        -2 * UNIT..2 * UNIT,
        Just(89_999_999_999_999_999_999_999_999_999i128 * UNIT + 7),
    ];
    prop::option::of((number, any::<bool>()))
}

fn leaf() -> impl Strategy<Value = Schema> {
    prop_oneof![
        prop::option::of(0usize..6).prop_map(|max| Schema::Text { max }),
        (any::<bool>(), prop::option::of(0u32..5), bound(), bound())
            .prop_map(|(integer, decimals, low, high)| Schema::Number { integer, decimals, low, high }),
    ]
}

fn object(schema: impl Strategy<Value = Schema>) -> impl Strategy<Value = Schema> {
    let member = (any::<bool>(), any::<bool>(), schema);
    let member = member.prop_map(|(required, nullable, schema)| Member { required, nullable, schema });
    prop::collection::vec(member, 1..5).prop_map(Schema::Object)
}

fn schemas() -> impl Strategy<Value = Schema> {
    let nested = leaf().prop_recursive(3, 20, 4, |inner| {
        let items = prop_oneof![leaf(), object(inner.clone())];
        let list = (0usize..3, prop::option::of(0usize..3), items).prop_map(|(min, more, items)| Schema::List {
            min,
            max: more.map(|more| (min + more).max(1)),
            items: Box::new(items),
        });
        prop_oneof![list, object(inner)]
    });
    object(prop_oneof![leaf(), nested])
}

/// Builds documents near the limits of a schema from a stream of random bytes.
struct Chooser<'b>(&'b [u8], usize, Format);

/// A null occurrence of a list is a fault only in JSON.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Json,
    Xml,
}

impl Chooser<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.1 += 1;
        usize::from(self.0[self.1 % self.0.len()].wrapping_add(u8::try_from(self.1 % 251).expect("below 256"))) % n
    }

    fn value(&mut self, schema: &Schema) -> Value {
        match schema {
            Schema::Text { max } => {
                let chars = ["a", "é", "€", "😀", "&", "\"", " "];
                let count = match max {
                    Some(max) => (max + self.below(4)).saturating_sub(2),
                    None => self.below(9),
                };
                Value::Text((0..count).map(|_| chars[self.below(chars.len())]).collect())
            }
            Schema::Number { low, high, .. } => {
                let near = [*low, *high, None][self.below(3)].map_or(0, |(bound, _)| bound);
                let step = [0, 1, -1, UNIT, -UNIT, UNIT / 100, 10 * UNIT, 5 * UNIT / 10][self.below(8)];
                Value::Number(near + step, u8::try_from(self.below(6)).expect("below 6"))
            }
            Schema::List { min, max, items } => {
                let count = (max.unwrap_or(*min) + self.below(4)).saturating_sub(2);
                let is_leaf = self.2 == Format::Json && !matches!(**items, Schema::Object(_));
                let item = |_| if is_leaf && self.below(12) == 0 { Value::Null } else { self.value(items) };
                Value::List((0..count).map(item).collect())
            }
            Schema::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|member| match self.below(12) {
                        0 => None,
                        1 => Some(Value::Null),
                        _ => Some(self.value(&member.schema)),
                    })
                    .collect(),
            ),
        }
    }
}

fn check(schema: &Schema, value: &Value, faults: &mut Faults) {
    match (schema, value) {
        (Schema::Text { max }, Value::Text(text)) => {
            faults[1] += u64::from(max.is_some_and(|max| text.chars().count() > max));
        }
        (Schema::Number { integer, decimals, low, high }, Value::Number(n, _)) => {
            let decimals = if *integer { Some(0) } else { *decimals };
            let beyond = decimals.is_some_and(|decimals| n % 10i128.pow(9 - decimals) != 0)
                || low.is_some_and(|(low, exclusive)| *n < low || exclusive && *n == low)
                || high.is_some_and(|(high, exclusive)| *n > high || exclusive && *n == high);
            faults[2] += u64::from(beyond);
        }
        (Schema::List { min, max, items }, Value::List(values)) => {
            faults[3] += u64::from(values.len() < *min || max.is_some_and(|max| values.len() > max));
            for value in values {
                match value {
                    Value::Null => faults[0] += 1,
                    value => check(items, value, faults),
                }
            }
        }
        (Schema::Object(members), Value::Object(values)) => {
            for (member, value) in members.iter().zip(values) {
                match value {
                    None => faults[0] += u64::from(member.required),
                    Some(Value::Null) => faults[0] += u64::from(member.required && !member.nullable),
                    Some(value) => check(&member.schema, value, faults),
                }
            }
        }
        _ => unreachable!("the document has the form of the schema"),
    }
}

/// Writes a number with a point, if needed, and with zeros that do not change it.
fn decimal(n: i128, style: u8) -> String {
    let (whole, fraction) = (n.unsigned_abs() / UNIT.unsigned_abs(), n.unsigned_abs() % UNIT.unsigned_abs());
    let sign = if n < 0 || n == 0 && style == 1 { "-" } else { "" };
    let fraction = format!("{fraction:09}");
    let fraction = if style == 2 { fraction.as_str() } else { fraction.trim_end_matches('0') };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

fn json_number(n: i128, style: u8) -> String {
    match style {
        3 => format!("{n}e-9"),
        4 if n % UNIT == 0 => format!("{}.0E+0", n / UNIT),
        5 => format!("\"{}\"", decimal(n, 0)),
        _ => decimal(n, style),
    }
}

fn json_schema(schema: &Schema, nullable: bool) -> serde_json::Value {
    let of = |name: &str| if nullable { serde_json::json!([name, "null"]) } else { serde_json::json!(name) };
    let mut text = serde_json::Map::new();
    match schema {
        Schema::Text { max } => {
            text.insert("type".into(), of("string"));
            text.extend(max.map(|max| ("maxLength".into(), max.into())));
        }
        Schema::List { min, max, items } => {
            text.insert("type".into(), of("array"));
            text.insert("items".into(), json_schema(items, false));
            text.insert("minItems".into(), (*min).into());
            text.extend(max.map(|max| ("maxItems".into(), max.into())));
        }
        Schema::Object(members) => {
            text.insert("type".into(), of("object"));
            let named = || members.iter().enumerate().map(|(at, member)| (format!("m{at}"), member));
            let properties: serde_json::Map<_, _> =
                named().map(|(name, member)| (name, json_schema(&member.schema, member.nullable))).collect();
            text.insert("properties".into(), properties.into());
            let required: Vec<String> = named().filter(|(_, member)| member.required).map(|(name, _)| name).collect();
            text.insert("required".into(), required.into());
        }
        Schema::Number { integer, decimals, low, high } => {
            text.insert("type".into(), of(if *integer { "integer" } else { "number" }));
            // The bounds have more digits than a number of serde_json.
            let mut marks = |name: &str, value: String| text.insert(name.into(), format!("#{value}#").into());
            if let Some(decimals) = decimals {
                marks("multipleOf", decimal(UNIT / 10i128.pow(*decimals), 0));
            }
            for (bound, names) in [(low, ["minimum", "exclusiveMinimum"]), (high, ["maximum", "exclusiveMaximum"])] {
                if let Some((bound, exclusive)) = bound {
                    marks(names[usize::from(*exclusive)], decimal(*bound, 0));
                }
            }
        }
    }
    text.into()
}

fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Number(n, style) => json_number(*n, *style),
        Value::List(values) => format!("[{}]", values.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Object(values) => {
            let members =
                (0..).zip(values).filter_map(|(at, value)| Some(format!("\"m{at}\":{}", json(value.as_ref()?))));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

fn xml_schema(name: &str, schema: &Schema, occurs: &str, out: &mut String) {
    let facet = |name: &str, value: String| format!("<xs:{name} value=\"{value}\"/>");
    let restriction = |base: &str, facets: String| {
        format!("<xs:simpleType><xs:restriction base=\"xs:{base}\">{facets}</xs:restriction></xs:simpleType>")
    };
    let content = match schema {
        Schema::Text { max } => {
            restriction("string", max.map(|max| facet("maxLength", max.to_string())).unwrap_or_default())
        }
        Schema::Number { integer, decimals, low, high } => {
            let mut facets = decimals.map(|n| facet("fractionDigits", n.to_string())).unwrap_or_default();
            for (bound, names) in [(low, ["minInclusive", "minExclusive"]), (high, ["maxInclusive", "maxExclusive"])] {
                if let Some((bound, exclusive)) = bound {
                    facets.push_str(&facet(names[usize::from(*exclusive)], decimal(*bound, 0)));
                }
            }
            restriction(if *integer { "integer" } else { "decimal" }, facets)
        }
        Schema::List { .. } => unreachable!("the list is in the element's occurrences"),
        Schema::Object(members) => {
            let mut inner = String::new();
            for (at, member) in members.iter().enumerate() {
                let least = u8::from(member.required);
                let mut occurs = format!(" minOccurs=\"{least}\" nillable=\"{}\"", member.nullable);
                let mut of = &member.schema;
                if let Schema::List { min, max, items } = of {
                    let min = if member.required { *min } else { 0 };
                    let max = max.map_or("unbounded".to_owned(), |max| max.to_string());
                    occurs = format!(" minOccurs=\"{min}\" maxOccurs=\"{max}\"");
                    of = items;
                }
                // A list of at most one element is no list in a shape.
                xml_schema(&format!("m{at}"), of, &occurs, &mut inner);
            }
            format!("<xs:complexType><xs:sequence>{inner}</xs:sequence></xs:complexType>")
        }
    };
    let _ = write!(out, "<xs:element name=\"{name}\"{occurs}>{content}</xs:element>");
}

fn xml(name: &str, value: &Value, out: &mut String) {
    match value {
        Value::Null => {
            let xsi = "http://www.w3.org/2001/XMLSchema-instance";
            let _ = write!(out, "<{name} xmlns:xsi=\"{xsi}\" xsi:nil=\"true\"/>");
        }
        Value::Text(text) => {
            let _ = write!(out, "<{name}>{}</{name}>", text.replace('&', "&amp;"));
        }
        Value::Number(n, style) => {
            let number = decimal(*n, *style);
            let zeros = if *style == 3 && *n >= 0 { "00" } else { "" };
            let _ = write!(out, "<{name}> {zeros}{number} </{name}>");
        }
        Value::List(values) => values.iter().for_each(|value| xml(name, value, out)),
        Value::Object(values) => {
            let _ = write!(out, "<{name}>");
            for (at, value) in values.iter().enumerate() {
                value.iter().for_each(|value| xml(&format!("m{at}"), value, out));
            }
            let _ = write!(out, "</{name}>");
        }
    }
}

/// Returns the schema and document as XML can have them: an empty list and one that is null are absent.
fn as_xml(schema: &mut Schema, value: &mut Value) {
    match (schema, value) {
        (Schema::Object(members), Value::Object(values)) => {
            for (member, value) in members.iter_mut().zip(values) {
                if let Schema::List { min, max, .. } = &mut member.schema {
                    if *max == Some(1) {
                        *max = Some(2);
                    }
                    if matches!(value, Some(Value::Null)) || matches!(value, Some(Value::List(list)) if list.is_empty())
                    {
                        *value = None;
                    }
                    if *min == 0 {
                        member.required = false;
                    }
                    if !member.required {
                        *min = 0;
                    }
                }
                if let Some(value) = value {
                    as_xml(&mut member.schema, value);
                }
            }
        }
        (Schema::List { items, .. }, Value::List(values)) => {
            values.iter_mut().for_each(|value| as_xml(items, value));
        }
        _ => {}
    }
}

fn load(name: &str, text: &str) -> Pipeline {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), text).expect("a file");
    let loaded = ShapeFile::load(folder.path(), name, &ShapeOptions::default());
    let shape = loaded.unwrap_or_else(|findings| panic!("{findings}\n{text}"));
    pipeline(shape.source().expect("a source"), shape.schema(), jsonl())
}

fn agrees(report: &UnitReport, codes: [&str; 4], expected: Faults, document: &str) -> Result<(), TestCaseError> {
    let count = |code: &str| report.findings_by_code.iter().filter(|(of, _)| of.0 == code).map(|(_, n)| n).sum();
    let found: Faults = codes.map(count);
    prop_assert_eq!(found, expected, "{}\n{}", document, shown(report));
    prop_assert_eq!(report.is_good(), expected == Faults::default(), "{}\n{}", document, shown(report));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn json_documents_are_refused_for_each_limit_that_they_exceed(
        schema in schemas(),
        bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 1..6),
    ) {
        let text = json_schema(&schema, false).to_string().replace("\"#", "").replace("#\"", "");
        let pipeline = load("s.json", &text);
        for bytes in bytes {
            let value = Chooser(&bytes, 0, Format::Json).value(&schema);
            let mut expected = Faults::default();
            check(&schema, &value, &mut expected);
            let document = json(&value);
            let (report, _) = run(&pipeline, document.as_bytes());
            agrees(&report, ["JSON-016", "JSON-017", "JSON-018", "JSON-019"], expected, &format!("{text}\n{document}"))?;
        }
    }

    #[test]
    fn xml_documents_are_refused_for_each_limit_that_they_exceed(
        schema in schemas(),
        bytes in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut schema = schema;
        let mut value = Chooser(&bytes, 0, Format::Xml).value(&schema);
        as_xml(&mut schema, &mut value);
        let mut expected = Faults::default();
        check(&schema, &value, &mut expected);
        let mut element = String::new();
        xml_schema("s", &schema, "", &mut element);
        let text = format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{element}</xs:schema>");
        let mut document = String::new();
        xml("s", &value, &mut document);
        let (report, _) = run(&load("s.xsd", &text), document.as_bytes());
        agrees(&report, ["XML-032", "XML-033", "XML-034", "XML-035"], expected, &format!("{text}\n{document}"))?;
    }
}
