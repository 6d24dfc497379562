//! JSON Schema (2020-12) of a shape: lengths, digits, ranges and codes of a layout.

use std::collections::BTreeSet;
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::RecordPlan;
use quayline_cobol::layout::{Encoding, Field, FieldKind, Literal};
use quayline_core::{NodeId, NodeKind, Occurs, Scalar, Shape};

use crate::Json;
use crate::service::single_values;
use crate::typed::{Range, Typed};

/// The side of an operation that a schema is for.
pub(crate) struct SchemaOf<'a> {
    pub(crate) plan: &'a RecordPlan,
    pub(crate) shape: &'a Shape,
    pub(crate) typed: &'a [Option<Arc<Typed>>],
    /// Default of each node, by node, for a request; empty without defaults.
    pub(crate) defaults: &'a [Option<String>],
    pub(crate) charset: Charset,
    /// True if a request refuses text with control characters.
    pub(crate) refuses_controls: bool,
    /// For a request: members that the body must not have.
    pub(crate) closed: Option<&'a [bool]>,
    /// For a request: required members.
    pub(crate) required: &'a [NodeId],
    /// True if the schema has the minimum length of lists.
    pub(crate) minimum_items: bool,
    /// For a response: true if numbers may be null for blanks in the record, and members may be absent.
    pub(crate) nullable: bool,
    pub(crate) optional: bool,
    /// For a response: true if an element of a list may be null for low-values in the record.
    pub(crate) null_elements: bool,
}

impl SchemaOf<'_> {
    /// Returns the schema of the document.
    pub(crate) fn document(&self) -> Json {
        self.group(NodeId::ROOT)
    }

    /// Returns the schema of one member.
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

    /// Returns true if the node or one of its descendants is required.
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
                Scalar::Decimal { .. } => {
                    if let Some(number) = json_number(default) {
                        schema.put("default", Json::Number(number));
                    }
                }
                _ => {}
            }
        }
        let may = self.nullable || self.null_elements && self.shape.node(node).is_list();
        let null = may && !matches!(scalar, Scalar::Text { .. }) || self.may_be_null(node);
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
                edited(mask, &class().unwrap_or_else(|| "[\\s\\S]".to_owned()))
            }
            // UTF-16 and UTF-8 can encode every character, regardless of the code page of the other fields.
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

/// Returns a number in the form of JSON (RFC 8259, section 6): no plus, no leading zeros, digits on both sides of a point. `None` for other texts.
pub(crate) fn json_number(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(front, end)| (front, Some(end)));
    let (sign, size) = match mantissa.strip_prefix('-') {
        Some(size) => ("-", size),
        None => ("", mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, part) = size.split_once('.').unwrap_or((size, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |text: &str| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits.is_empty() && is_digits(digits)
    };
    if !is_digits(whole) || !is_digits(part) || whole.is_empty() && part.is_empty() {
        return None;
    }
    let exponent = match exponent {
        Some(exponent) => format!("e{}", Some(exponent).filter(|exponent| is_exponent(exponent))?),
        None => String::new(),
    };
    let whole = Some(whole.trim_start_matches('0')).filter(|whole| !whole.is_empty()).unwrap_or("0");
    let point = if part.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{part}{exponent}"))
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

/// Returns the schema for the range of a decimal. A binary field that uses its whole range has the range of its storage. So has every binary field
/// of a response, because programs write values beyond a picture, and responses show them. JSON Schema has no keyword for the number of places: with
/// `multipleOf: 0.01`, validators that compute in binary floating point refuse 0.07 and 0.29. Therefore the description has the picture, and
/// `format` is `decimal`.
fn decimal((digits, scale, signed): (u16, i16, bool), field: Option<&Field>, side: Side) -> Json {
    let (low, high) = match field.map(|field| (&field.kind, field.size)) {
        Some((FieldKind::Item(Encoding::Binary { digits: written, full_range, signed, .. }), size @ 1..=8))
            if *full_range || *written == 0 || side == Side::Response =>
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
    // oapi-codegen makes a float32, which loses cents, of a number whose format is neither `float` nor `double`.
    let go_type = (scale > 0).then(|| Json::text("float64"));
    schema.with("multipleOf", step).with("format", format).with("x-go-type", go_type)
}

/// Side of an operation that a schema describes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Side {
    Request,
    Response,
}

/// Bound of a number.
struct Limit {
    number: String,
    is_exclusive: bool,
}

/// Returns the bound `n × 10^-scale`. Validators read numbers into binary floating point. From 2^53 units on, this may round a bound away from
/// zero, to a number that does not fit in the field. The bound of a request is then exclusive: the next power of ten or of two beyond it.
/// The bound of a response is exact. A validator rounds a value and the bound in the same way, so it accepts every value of the field.
fn limit(n: i128, scale: i16, side: Side) -> Limit {
    let is_exact = n.unsigned_abs() < 1 << 53 || n.unsigned_abs().is_power_of_two();
    if is_exact || side == Side::Response {
        return Limit { number: scaled(n, scale), is_exclusive: false };
    }
    Limit { number: scaled(n.saturating_add(n.signum()), scale), is_exclusive: true }
}

/// Gives the schema of a number the inclusive bound `value`, instead of its own lower or upper bound.
pub(crate) fn set_bound(schema: &mut Json, name: &str, exclusive: &str, value: Option<i64>) {
    let is_number = matches!(schema.get("type"), Some(Json::Text(kind)) if kind == "number" || kind == "integer");
    let (Some(value), Json::Object(members)) = (value, schema) else { return };
    if let Some((known, old)) = members.iter_mut().find(|(known, _)| known == name || known == exclusive) {
        name.clone_into(known);
        *old = Json::int(value);
    } else if is_number {
        // The schema of a float has no bounds of its own.
        members.push((name.to_owned(), Json::int(value)));
    }
}

/// Replaces an example outside of the range.
pub(crate) fn keep_examples_in(schema: &mut Json, range: Range) {
    let Json::Object(members) = schema else { return };
    if let Some((_, Json::List(examples))) = members.iter_mut().find(|(name, _)| name == "examples") {
        for example in examples {
            if matches!(example, Json::Number(text) if !range.holds(text)) {
                *example = Json::int(range.nearest_to_zero());
            }
        }
    }
}

/// Formats `n × 10^-scale` as a JSON number.
fn scaled(n: i128, scale: i16) -> String {
    let places = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        return if n == 0 { "0".to_owned() } else { format!("{n}{}", "0".repeat(places)) };
    }
    let digits = format!("{:0>width$}", n.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    format!("{}{whole}.{part}", if n < 0 { "-" } else { "" })
}

/// Returns the characters of a code page as a class of a regular expression, or `None` for a page with all characters.
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

/// Maximum number of characters of a picture with a pattern, and of its runs of equal characters. Longer patterns cost clients more than they help,
/// and parsers of regular expressions limit the depth of groups.
const MASK_CHARS_MAX: usize = 200;
const MASK_RUNS_MAX: usize = 60;

/// Returns a regular expression for the texts of an alphanumeric-edited field: `XX/X` accepts `a`, `ab`, `ab/`, `ab/c` and blanks. Each run is inside
/// the group of the run before it, so the length of the expression is proportional to that of the picture. Returns `None` for a picture that is too
/// long.
fn edited(mask: &[Option<char>], class: &str) -> Option<String> {
    let runs: Vec<&[Option<char>]> = mask.chunk_by(PartialEq::eq).collect();
    if mask.len() > MASK_CHARS_MAX || runs.len() > MASK_RUNS_MAX {
        return None;
    }
    let mut rest = String::new();
    for run in runs.iter().rev() {
        let n = run.len();
        let one = run[0].map_or_else(|| class.to_owned(), |inserted| format!("\\u{:04X}", u32::from(inserted)));
        // A text may end inside the run, or continue after it.
        rest =
            if rest.is_empty() { format!("{one}{{0,{n}}}") } else { format!("(?:{one}{{{n}}}{rest}|{one}{{0,{n}}})") };
    }
    Some(format!("^(?:\\u0020*|{rest})$"))
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
        (Some(Typed::Range(range)), Scalar::Decimal { scale: 0.., .. }) => Some(Json::int(range.nearest_to_zero())),
        (None, Scalar::Decimal { scale, .. }) => {
            let written = value.as_deref().and_then(json_number);
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
        assert_eq!(
            check(5, 2, true),
            r#"{"type":"number","minimum":-999.99,"maximum":999.99,"format":"decimal","x-go-type":"float64"}"#
        );
        assert_eq!(
            check(3, -3, false),
            r#"{"type":"integer","minimum":0,"maximum":999000,"multipleOf":1000,"format":"int64"}"#
        );
        assert_eq!(
            check(2, 4, false),
            r#"{"type":"number","minimum":0.0000,"maximum":0.0099,"format":"decimal","x-go-type":"float64"}"#
        );
    }

    #[test]
    fn numbers_have_the_form_of_json() {
        for (text, number) in [
            ("7", Some("7")),
            ("-05", Some("-5")),
            ("+007.50", Some("7.50")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            ("000", Some("0")),
            ("1E+3", Some("1e+3")),
            ("about 5", None),
            ("1e", None),
            ("1e5.0", None),
            ("", None),
            (".", None),
            ("-", None),
            ("NaN", None),
        ] {
            assert_eq!(json_number(text).as_deref(), number, "{text}");
            assert!(number.is_none_or(|number| serde_json::from_str::<serde_json::Number>(number).is_ok()));
        }
    }

    /// In generated clients, 9(16)V99 had `maximum: 1e+16`, which does not fit in the field. A later maximum was below the largest value of the field.
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
        let powers = (0..126).map(|power| 1i128 << power);
        let nines = (1..=31).map(|digits| 10i128.pow(digits) - 1);
        for n in powers.flat_map(|n| [n - 1, n, n + 1]).chain(nines) {
            for (n, scale) in (0..=31).flat_map(|scale| [(n, scale), (-n, scale)]) {
                let Limit { number, is_exclusive } = limit(n, scale, Side::Request);
                let size = n.unsigned_abs();
                assert_eq!(is_exclusive, size >= 1 << 53 && !size.is_power_of_two(), "{n} {scale}");
                assert_eq!(number, scaled(if is_exclusive { n + n.signum() } else { n }, scale));
                assert_eq!(limit(n, scale, Side::Response).number, scaled(n, scale));
            }
            // An inclusive bound in units is the same number in a validator's binary floating point.
            let Limit { number, is_exclusive } = limit(n, 0, Side::Request);
            let float: f64 = number.parse().unwrap();
            assert!(is_exclusive || format!("{float:.0}") == number, "{number}");
        }
    }

    /// Returns whether a text matches the pattern that [`edited`] returns. Uses only the picture.
    fn fits(mask: &[Option<char>], text: &str) -> bool {
        let fit = text.chars().zip(mask).all(|(c, at)| at.is_none_or(|inserted| inserted == c) && c.is_ascii());
        text.chars().all(|c| c == ' ') || fit && text.len() <= mask.len()
    }

    /// Matches the few forms of [`edited`]: `\uXXXX`, `[…]`, `{n}`, `{0,n}`, `*`, `(?:…|…)`. Returns the end of each possible match.
    fn ends(pattern: &[u8], text: &[u8], at: usize) -> (Vec<usize>, usize) {
        let (mut all, mut ways, mut i) = (Vec::new(), vec![at], 0);
        while i < pattern.len() && pattern[i] != b')' {
            if pattern[i] == b'|' {
                all.append(&mut ways);
                (ways, i) = (vec![at], i + 1);
            } else if pattern[i] == b'(' {
                let inner = &pattern[i + 3..];
                let found: Vec<(Vec<usize>, usize)> = ways.iter().map(|at| ends(inner, text, *at)).collect();
                let length = found.first().map_or_else(|| ends(inner, text, 0).1, |(_, length)| *length);
                (ways, i) = (found.into_iter().flat_map(|(ends, _)| ends).collect(), i + 3 + length + 1);
            } else {
                let one =
                    if pattern[i] == b'[' { pattern[i..].iter().position(|b| *b == b']').unwrap() + 1 } else { 6 };
                let of = |at: usize| {
                    u8::from_str_radix(core::str::from_utf8(&pattern[at + 4..at + 6]).unwrap(), 16).unwrap()
                };
                let (low, high) = if one == 6 { (of(i), of(i)) } else { (of(i + 1), of(i + one - 7)) };
                i += one;
                let count = if pattern[i] == b'*' {
                    i += 1;
                    (0, usize::MAX)
                } else {
                    let end = i + pattern[i..].iter().position(|b| *b == b'}').unwrap();
                    let numbers = core::str::from_utf8(&pattern[i + 1..end]).unwrap();
                    i = end + 1;
                    let (least, most) = numbers.split_once(',').unwrap_or((numbers, numbers));
                    (least.parse().unwrap(), most.parse().unwrap())
                };
                let go_on = |at: &usize| {
                    let long = text[*at..].iter().take_while(|b| (low..=high).contains(b)).count().min(count.1);
                    (count.0..=long).map(|n| at + n).collect::<Vec<_>>()
                };
                ways = ways.iter().flat_map(go_on).collect();
            }
            ways.sort_unstable();
            ways.dedup();
        }
        all.append(&mut ways);
        (all, i)
    }

    #[test]
    fn the_pattern_of_an_edited_text_takes_what_its_picture_takes() {
        for picture in ["XX/X", "X", "/X", "X//", "XX/XB0", "0XX00X", "X/X/X/X", "BBXB", "/"] {
            let inserted = |c| if c == 'B' { ' ' } else { c };
            let mask: Vec<_> = picture.chars().map(|c| (c != 'X').then(|| inserted(c))).collect();
            let pattern = edited(&mask, "[\\u0000-\\u007F]").unwrap();
            let inner = pattern.strip_prefix('^').unwrap().strip_suffix('$').unwrap();
            let mut texts = vec![String::new()];
            for length in 0..=mask.len() + 1 {
                for text in texts.iter().filter(|text| text.len() == length) {
                    let found = ends(inner.as_bytes(), text.as_bytes(), 0).0.contains(&text.len());
                    assert_eq!(found, fits(&mask, text), "{picture} {text:?} {pattern}");
                }
                let longer = |text: &String| ["a", "/", "0", " "].map(|c| format!("{text}{c}"));
                texts = texts.iter().flat_map(longer).collect();
            }
        }
    }

    /// PIC XB(100000) would have had a pattern of 30 GB.
    #[test]
    fn the_pattern_of_an_edited_text_is_no_longer_than_its_picture_and_a_long_one_has_none() {
        let mask = |n: usize| -> Vec<_> { (0..n).map(|at| (at % 2 == 1).then_some('/')).collect() };
        let length = |n: usize| edited(&mask(n), "[a]").unwrap().len();
        assert_eq!(length(60) - length(40), length(40) - length(20));
        assert_eq!(edited(&mask(MASK_RUNS_MAX + 1), "[a]"), None);
        let blanks = |n: usize| [vec![None], vec![Some(' '); n - 1]].concat();
        assert!(edited(&blanks(200), "[a]").is_some_and(|pattern| pattern.len() < 60));
        assert_eq!(edited(&blanks(201), "[a]"), None);
    }

    #[test]
    fn a_code_page_is_a_class_of_characters() {
        let ascii = repertoire(Charset::SingleByte(quayline_charset::CodePage::ASCII), false);
        assert_eq!(ascii.as_deref(), Some("[\\u0000-\\u007F]"));
        let printable = repertoire(Charset::SingleByte(quayline_charset::CodePage::ASCII), true);
        assert_eq!(printable.as_deref(), Some("[\\u0020-\\u007E]"));
    }
}
