//! JSON Schema (2020-12) of a shape: lengths, digits, ranges and codes of a layout.

use std::collections::BTreeSet;
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::RecordPlan;
use quayline_cobol::layout::{Encoding, Field, FieldKind, Literal};
use quayline_core::{NodeId, NodeKind, Occurs, Scalar, Shape};

use crate::Json;
use crate::service::single_values;
use crate::typed::Typed;

/// The side of an operation that a schema is for.
pub(crate) struct SchemaOf<'a> {
    pub(crate) plan: &'a RecordPlan,
    pub(crate) shape: &'a Shape,
    pub(crate) typed: &'a [Option<Arc<Typed>>],
    /// For a request: the value of each node that is not set, by node; empty for all.
    pub(crate) defaults: &'a [Option<String>],
    pub(crate) charset: Charset,
    /// For a request: whether text has no control characters.
    pub(crate) refuses_controls: bool,
    /// For a request: members that the body does not have.
    pub(crate) closed: Option<&'a [bool]>,
    /// For a request: required members.
    pub(crate) required: &'a [NodeId],
    /// Whether lists have their minimum in the schema.
    pub(crate) minimum_items: bool,
    /// For a response: whether numbers may be null if the record has blanks, and members may be left out.
    pub(crate) nullable: bool,
    pub(crate) optional: bool,
}

impl SchemaOf<'_> {
    /// The schema of the document.
    pub(crate) fn document(&self) -> Json {
        self.group(NodeId::ROOT)
    }

    /// The schema of one member.
    pub(crate) fn member(&self, node: NodeId) -> Json {
        let inner = match &self.shape.node(node).kind {
            NodeKind::Group => self.group(node),
            NodeKind::Scalar(scalar) => self.leaf(node, scalar),
        };
        let Occurs::Many { max, .. } = self.shape.node(node).occurs else { return inner };
        let occurs = self.plan.field_of(node).and_then(|field| self.plan.layout().field(field).occurs);
        let min = occurs.map_or(0, |occurs| occurs.min);
        let list = Json::object([("type", Json::text("array")), ("items", inner)]);
        list.with("minItems", (self.minimum_items && min > 0).then(|| Json::int(min)))
            .with("maxItems", max.map(Json::int))
    }

    fn is_shown(&self, node: NodeId) -> bool {
        let Some(closed) = self.closed else { return true };
        match self.shape.node(node).kind {
            NodeKind::Scalar(_) => !closed[node.index()],
            NodeKind::Group => self.shape.children(node).any(|child| self.is_shown(child)),
        }
    }

    /// Returns whether it contains something that is required.
    fn is_required(&self, node: NodeId) -> bool {
        let end = self.shape.node(node).subtree_end;
        match self.closed {
            Some(_) => self.required.iter().any(|required| (node..end).contains(required)),
            // The answer has every member of the record, unless an option leaves members out.
            None => !self.optional && !self.is_view(node),
        }
    }

    /// Returns whether the member is one of several views of its bytes.
    fn is_view(&self, node: NodeId) -> bool {
        let layout = self.plan.layout();
        let Some(mut at) = self.plan.field_of(node) else { return false };
        loop {
            let field = layout.field(at);
            let shared = layout.fields.iter().any(|other| other.redefines == Some(at));
            if field.redefines.is_some() || shared {
                return true;
            }
            match field.parent {
                Some(parent) => at = parent,
                None => return false,
            }
        }
    }

    fn group(&self, node: NodeId) -> Json {
        let children: Vec<NodeId> = self.shape.children(node).filter(|child| self.is_shown(*child)).collect();
        let name = |id: NodeId| self.shape.node(id).name.clone();
        let members = children.iter().map(|child| (name(*child), self.member(*child))).collect();
        let required: Vec<Json> =
            children.iter().filter(|child| self.is_required(**child)).map(|child| Json::text(name(*child))).collect();
        let mut schema = Json::object([("type", Json::text("object")), ("properties", Json::Object(members))])
            .with("required", (!required.is_empty()).then_some(Json::List(required)));
        // A client's misspelt member is refused; an answer may grow members in a later version.
        if self.closed.is_some() {
            schema.put("additionalProperties", Json::Bool(false));
        }
        schema
    }

    fn leaf(&self, node: NodeId, scalar: &Scalar) -> Json {
        let field = self.plan.field_of(node).map(|index| self.plan.layout().field(index));
        let typed = self.typed[node.index()].as_deref();
        let range = if let Some(Typed::Range(range)) = typed { Some(*range) } else { None };
        let mut schema = match (typed.filter(|_| range.is_none()), scalar) {
            (Some(typed), _) => self.typed(typed),
            (None, Scalar::Text { chars_max }) => self.text(*chars_max, field),
            (None, Scalar::Decimal { digits, scale, signed }) => {
                let side = if self.closed.is_some() { Side::Request } else { Side::Response };
                decimal((*digits, *scale, *signed), field, side)
            }
            (None, Scalar::Float32) => number("float"),
            (None, Scalar::Float64) => number("double"),
            (None, Scalar::Bool) => Json::object([("type", Json::text("boolean"))]),
            (None, Scalar::Bytes { len_max }) => {
                let schema =
                    Json::object([("type", Json::text("string")), ("pattern", Json::text("^([0-9a-fA-F]{2})*$"))]);
                schema.with("maxLength", len_max.map(|len| Json::int(2 * len)))
            }
        };
        if let Some(range) = range {
            set_bound(&mut schema, "minimum", "exclusiveMinimum", range.minimum);
            set_bound(&mut schema, "maximum", "exclusiveMaximum", range.maximum);
        }
        if let (Some(Some(default)), None | Some(Typed::Range(_))) = (self.defaults.get(node.index()), typed) {
            match scalar {
                Scalar::Text { .. } => schema.put("default", Json::text(default.trim_end())),
                Scalar::Decimal { .. } if is_json_number(default) => {
                    schema.put("default", Json::Number(default.clone()))
                }
                _ => {}
            }
        }
        let null = self.nullable && !matches!(scalar, Scalar::Text { .. }) || self.may_be_null(node);
        if null && self.closed.is_none() {
            nullable(&mut schema);
        }
        if let Some(field) = field {
            schema.put("description", Json::text(format!("{} {}", field.name, field.description)));
            if let Some(example) = example(field, &self.typed[node.index()], scalar) {
                schema.put("examples", Json::List(vec![example]));
            }
        }
        schema
    }

    /// Returns whether a value may be null: a truth value or date that the record does not hold.
    fn may_be_null(&self, node: NodeId) -> bool {
        matches!(self.typed[node.index()].as_deref(), Some(Typed::Boolean { .. } | Typed::Date(_)))
    }

    fn typed(&self, typed: &Typed) -> Json {
        match typed {
            Typed::Boolean { .. } => Json::object([("type", Json::text("boolean"))]),
            Typed::Date(pattern) => {
                let schema = Json::object([("type", Json::text("string"))]);
                let schema = schema.with("format", pattern.is_date().then(|| Json::text("date")));
                schema.with("pattern", Some(Json::text(pattern.iso_regex())))
            }
            Typed::Codes(codes) => {
                let names = crate::typed::names(codes).into_iter().map(Json::text).collect();
                let schema = Json::object([("type", Json::text("string"))]);
                // Codes are open lists: an answer may hold one that has no name.
                if self.closed.is_some() {
                    schema.with("enum", Some(Json::List(names)))
                } else {
                    schema.with("x-names", Some(Json::List(names)))
                }
            }
            Typed::Range(_) => Json::object([("type", Json::text("number"))]),
            Typed::Digits(digits) => {
                let least = if self.closed.is_some() { 1 } else { *digits };
                let pattern = format!("^[0-9]{{{least},{digits}}}$");
                Json::object([("type", Json::text("string")), ("pattern", Json::text(pattern))])
            }
        }
    }

    fn text(&self, chars_max: Option<u32>, field: Option<&Field>) -> Json {
        let schema = Json::object([("type", Json::text("string"))]).with("maxLength", chars_max.map(Json::int));
        let class = || repertoire(self.charset, self.refuses_controls);
        let pattern = match field.map(|field| &field.kind) {
            _ if self.closed.is_none() => None,
            Some(FieldKind::Item(Encoding::Boolean)) => None,
            Some(FieldKind::Item(Encoding::TextEdited { mask })) => {
                Some(edited(mask, &class().unwrap_or_else(|| "[\\s\\S]".to_owned())))
            }
            // UTF-16 and UTF-8 hold every character, whatever the code page of the other fields is.
            Some(FieldKind::Item(Encoding::National { .. } | Encoding::Utf8)) => {
                self.refuses_controls.then(|| "^[^\\u0000-\\u001F\\u007F-\\u009F]*$".to_owned())
            }
            _ => class().map(|class| format!("^{class}*$")),
        };
        let schema = schema.with("pattern", pattern.map(Json::Text));
        let values: Vec<Json> = field.map_or_else(Vec::new, |field| {
            single_values(field)
                .into_iter()
                .map(|(name, value)| Json::object([("const", Json::text(value)), ("title", Json::text(name))]))
                .collect()
        });
        // Level-88 names give meanings of values and do not exclude others.
        schema.with("x-conditions", (!values.is_empty()).then_some(Json::List(values)))
    }
}

/// Returns whether a decimal is valid JSON: no plus, no leading zeros, digits on both sides of a point.
fn is_json_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = text.split_once('.').map_or((text, None), |(whole, part)| (whole, Some(part)));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && (whole.len() == 1 || !whole.starts_with('0')) && part.is_none_or(digits)
}

fn nullable(schema: &mut Json) {
    if let Json::Object(members) = schema {
        for (name, value) in members.iter_mut() {
            if name == "type"
                && let Json::Text(kind) = value
            {
                *value = Json::List(vec![Json::text(kind.clone()), Json::text("null")]);
            }
        }
    }
}

fn number(format: &str) -> Json {
    Json::object([("type", Json::text("number")), ("format", Json::text(format))])
}

/// Returns the schema for the range of a decimal. A binary field that uses its whole range has that range. The number of places has
/// no keyword: `multipleOf: 0.01` makes validators that compute in binary floating point refuse 0.07 and 0.29, so the description
/// has the picture, and `format` is `decimal`.
fn decimal((digits, scale, signed): (u16, i16, bool), field: Option<&Field>, side: Side) -> Json {
    let (low, high) = match field.map(|field| (&field.kind, field.size)) {
        Some((FieldKind::Item(Encoding::Binary { digits: written, full_range, signed, .. }), size @ 1..=8))
            if *full_range || *written == 0 =>
        {
            let bits = 8 * u32::try_from(size).unwrap_or(8);
            let high = if *signed { (1i128 << (bits - 1)) - 1 } else { (1i128 << bits) - 1 };
            (if *signed { -high - 1 } else { 0 }, high)
        }
        _ => {
            let high = 10i128.checked_pow(u32::from(digits)).map_or(i128::MAX, |n| n - 1);
            (if signed { -high } else { 0 }, high)
        }
    };
    let kind = if scale > 0 { "number" } else { "integer" };
    let (least, most) = (limit(low, scale, side), limit(high, scale, side));
    let schema = Json::object([
        ("type", Json::text(kind)),
        (if least.is_exclusive { "exclusiveMinimum" } else { "minimum" }, Json::Number(least.number)),
        (if most.is_exclusive { "exclusiveMaximum" } else { "maximum" }, Json::Number(most.number)),
    ]);
    // Whole numbers are exact in validators too.
    let step = (scale < 0).then(|| Json::Number(scaled(1, scale)));
    let whole = (scale <= 0 && high <= i128::from(i64::MAX)).then_some("int64");
    let format = whole.or((scale > 0).then_some("decimal")).map(Json::text);
    schema.with("multipleOf", step).with("format", format)
}

/// What a schema describes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Side {
    Request,
    Response,
}

/// A bound of a number.
struct Limit {
    number: String,
    is_exclusive: bool,
}

/// Returns the bound `n × 10^-scale`. Validators read numbers into binary floating point. From 2^53 units on, that may round a bound away from
/// zero, to a number that the field does not hold. The bound of a request is then the next number beyond it, exclusive: a power of ten or of two.
/// The bound of a response is exact: a validator rounds a value as it rounds the bound, so every value of the field is inside.
fn limit(n: i128, scale: i16, side: Side) -> Limit {
    let is_exact = n.unsigned_abs() < 1 << 53 || n.unsigned_abs().is_power_of_two();
    if is_exact || side == Side::Response {
        return Limit { number: scaled(n, scale), is_exclusive: false };
    }
    Limit { number: scaled(n.saturating_add(n.signum()), scale), is_exclusive: true }
}

/// Sets the bound `minimum` or `maximum` of a schema that has one, exclusive or not.
pub(crate) fn set_bound(schema: &mut Json, name: &str, exclusive: &str, value: Option<i64>) {
    let (Some(value), Json::Object(members)) = (value, schema) else { return };
    if let Some((known, old)) = members.iter_mut().find(|(known, _)| known == name || known == exclusive) {
        name.clone_into(known);
        *old = Json::int(value);
    }
}

/// `n × 10^-scale` as a JSON number.
fn scaled(n: i128, scale: i16) -> String {
    let places = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        return if n == 0 { "0".to_owned() } else { format!("{n}{}", "0".repeat(places)) };
    }
    let digits = format!("{:0>width$}", n.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    format!("{}{whole}.{part}", if n < 0 { "-" } else { "" })
}

/// The characters of a code page as a class of a regular expression; none for a page that has all.
fn repertoire(charset: Charset, without_controls: bool) -> Option<String> {
    let page = charset.code_page()?;
    let is_taken = |c: &char| !(without_controls && c.is_control());
    let all: BTreeSet<u32> =
        (0..=255u8).filter_map(|byte| page.to_char(byte)).filter(is_taken).map(u32::from).collect();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for c in all {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == c => *end = c,
            _ => ranges.push((c, c)),
        }
    }
    let mut class = String::new();
    for (start, end) in ranges {
        class.push_str(&format!("\\u{start:04X}"));
        if end > start {
            class.push_str(&format!("-\\u{end:04X}"));
        }
    }
    Some(format!("[{class}]"))
}

/// The texts of an alphanumeric-edited field as a regular expression: `XX/X` takes `a`, `ab`, `ab/`, `ab/c` and blanks.
fn edited(mask: &[Option<char>], class: &str) -> String {
    let mut texts = vec!["\\u0020*".to_owned()];
    let mut before = String::new();
    for run in mask.chunk_by(|one, other| one.is_none() && other.is_none()) {
        match run {
            [Some(inserted)] => {
                before.push_str(&format!("\\u{:04X}", u32::from(*inserted)));
                texts.push(before.clone());
            }
            free => {
                texts.push(format!("{before}{class}{{0,{}}}", free.len()));
                before.push_str(&format!("{class}{{{}}}", free.len()));
            }
        }
    }
    format!("^(?:{})$", texts.join("|"))
}

fn example(field: &Field, typed: &Option<Arc<Typed>>, scalar: &Scalar) -> Option<Json> {
    let value = match (&field.value, single_values(field).first()) {
        (Some(Literal::Text(text) | Literal::Number(text)), _) => Some(text.clone()),
        (_, Some((_, value))) => Some(value.clone()),
        _ => None,
    };
    match (typed.as_deref(), scalar) {
        (Some(Typed::Boolean { .. }), _) => Some(Json::Bool(true)),
        (Some(Typed::Date(pattern)), _) => Some(Json::text(pattern.example())),
        (Some(Typed::Digits(digits)), _) => Some(Json::text("0".repeat(*digits))),
        (Some(Typed::Codes(codes)), _) => codes.first().map(|(_, name)| Json::text(name.clone())),
        (None, Scalar::Text { .. }) => value.map(Json::Text),
        (Some(Typed::Range(range)), Scalar::Decimal { scale: 0.., .. }) => {
            let near = 0i64.max(range.minimum.unwrap_or(i64::MIN)).min(range.maximum.unwrap_or(i64::MAX));
            Some(Json::int(near))
        }
        (None, Scalar::Decimal { scale, .. }) => {
            let written = value.filter(|text| text.parse::<f64>().is_ok() && !text.starts_with(['+', '.', '0']));
            Some(Json::Number(written.unwrap_or_else(|| scaled(0, (*scale).max(0)))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_steps_come_from_digits_and_scale() {
        let check = |digits, scale, signed| decimal((digits, scale, signed), None, Side::Request).to_string();
        assert_eq!(check(9, 0, false), r#"{"type":"integer","minimum":0,"maximum":999999999,"format":"int64"}"#);
        assert_eq!(check(5, 2, true), r#"{"type":"number","minimum":-999.99,"maximum":999.99,"format":"decimal"}"#);
        assert_eq!(
            check(3, -3, false),
            r#"{"type":"integer","minimum":0,"maximum":999000,"multipleOf":1000,"format":"int64"}"#
        );
        assert_eq!(check(2, 4, false), r#"{"type":"number","minimum":0.0000,"maximum":0.0099,"format":"decimal"}"#);
    }

    /// 9(16)V99 had `maximum: 1e+16` in generated clients, which the field does not hold, and then a maximum that its largest value exceeds.
    #[test]
    fn no_bound_is_rounded_to_a_number_that_the_field_does_not_hold() {
        let request = |n, scale| {
            let Limit { number, is_exclusive } = limit(n, scale, Side::Request);
            (number, is_exclusive)
        };
        assert_eq!(request(999_999_999_999_999_999, 2), ("10000000000000000.00".to_owned(), true));
        assert_eq!(request(-999_999_999_999_999_999, 0), ("-1000000000000000000".to_owned(), true));
        assert_eq!(request(99_999_999_999, 2), ("999999999.99".to_owned(), false));
        assert_eq!(request(i128::from(u64::MAX), 0), ("18446744073709551616".to_owned(), true));
        assert_eq!(request(i128::from(i64::MIN), 0), ("-9223372036854775808".to_owned(), false));
        assert_eq!(limit(999_999_999_999_999_999, 2, Side::Response).number, "9999999999999999.99");
        for digits in 1..=31u32 {
            for scale in 0..=31i16 {
                let n = 10i128.pow(digits) - 1;
                let Limit { number, is_exclusive } = limit(n, scale, Side::Request);
                let float: f64 = number.parse().unwrap();
                let unit = 10u128.pow(u32::from(scale.unsigned_abs()));
                // A validator takes no float beyond the field, and without rounding it takes every value of the field. (A power of ten that is no
                // float itself, such as 10^-15, is off by less than a validator's own rounding of values.)
                let is_float = digits >= scale.unsigned_abs().into() && digits - u32::from(scale.unsigned_abs()) <= 22;
                let largest = if is_exclusive { float.next_down() } else { float };
                assert!(
                    !is_exclusive || !is_float || fits(largest, n.unsigned_abs(), unit),
                    "{digits} {scale}: {number}"
                );
                assert_eq!(number, scaled(if is_exclusive { n + 1 } else { n }, scale));
            }
        }
    }

    /// Returns whether a float is at most `n / unit`, by its exact decimal digits.
    fn fits(float: f64, n: u128, unit: u128) -> bool {
        let (whole, limit) = (float.trunc(), n / unit);
        let text = format!("{whole:.0}");
        match text.parse::<u128>() {
            Ok(whole_digits) if whole_digits == limit => {
                // A float of this size has at most this many places, so nothing is rounded.
                let fraction = format!("{:.200}", float.fract());
                let digits = fraction.trim_start_matches("0.");
                let places = unit.ilog10() as usize;
                let rest = format!("{:0>places$}", n % unit);
                digits.trim_end_matches('0') <= rest.trim_end_matches('0')
            }
            Ok(whole_digits) => whole_digits < limit,
            Err(_) => false,
        }
    }

    #[test]
    fn a_code_page_is_a_class_of_characters() {
        let ascii = repertoire(Charset::SingleByte(quayline_charset::CodePage::ASCII), false);
        assert_eq!(ascii.as_deref(), Some("[\\u0000-\\u007F]"));
        let printable = repertoire(Charset::SingleByte(quayline_charset::CodePage::ASCII), true);
        assert_eq!(printable.as_deref(), Some("[\\u0020-\\u007E]"));
    }
}
