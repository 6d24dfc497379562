//! Types of values that a schema states, and combinations of two types.

use quayline_core::Scalar;

use super::TEXT;
use super::tree::{Json, JsonKind};

/// Decimal places of a number whose schema does not restrict them.
const SCALE: i16 = 12;
/// Digits of such a number.
const DIGITS: u16 = 36;
/// Digits of an integer whose schema does not restrict them.
const INTEGER_DIGITS: u16 = 19;

/// Returns the types that a schema allows except null, and true if it allows null. Without `type`, the other keywords determine the type.
pub(super) fn types_of(schema: &Json) -> (Vec<&str>, bool) {
    let mut nullable = false;
    let mut types = Vec::new();
    let said: Vec<&str> = match schema.get("type").map(|of| (of.text(), of.items())) {
        Some((Some(one), _)) => vec![one],
        Some((None, several)) => several.iter().filter_map(Json::text).collect(),
        None => Vec::new(),
    };
    for one in said {
        if one == "null" {
            nullable = true;
        } else {
            types.push(one);
        }
    }
    let listed = schema.get("enum").map(Json::items).unwrap_or_default().iter().chain(schema.get("const"));
    if schema.get("type").is_none() {
        if schema.get("properties").is_some() {
            types.push("object");
        } else if schema.get("items").is_some() || schema.get("prefixItems").is_some() {
            types.push("array");
        } else if schema.get("multipleOf").is_some() {
            types.push("number");
        }
        for value in listed {
            let of = match value.kind {
                JsonKind::Text(_) => "string",
                JsonKind::Number(_) => "number",
                JsonKind::Bool(_) => "boolean",
                JsonKind::Object(_) => "object",
                JsonKind::Array(_) => "array",
                JsonKind::Null => {
                    nullable = true;
                    continue;
                }
            };
            if !types.contains(&of) {
                types.push(of);
            }
        }
        if types.is_empty() && !nullable {
            types.push("string");
        }
    }
    (types, nullable)
}

/// Returns the type of a text: its length is `maxLength`, or a guess.
pub(super) fn text_of(schema: &Json) -> Scalar {
    let listed = schema.get("enum").map(Json::items).unwrap_or_default().iter().chain(schema.get("const"));
    let longest =
        listed.filter_map(|value| value.text().or_else(|| value.number())).map(|text| text.chars().count()).max();
    let longest = longest.and_then(|longest| u32::try_from(longest).ok());
    let of_format = match schema.get("format").and_then(Json::text) {
        Some("date") => Some(10),
        Some("uuid") => Some(36),
        _ => None,
    };
    let max = schema.get("maxLength").and_then(Json::count).or(longest).or(of_format);
    Scalar::Text { chars_max: max }
}

/// Returns the type of a number that holds every value of the schema.
pub(super) fn number_of(schema: &Json, integer: bool) -> Scalar {
    let listed: Vec<&str> = schema
        .get("enum")
        .map(Json::items)
        .unwrap_or_default()
        .iter()
        .chain(schema.get("const"))
        .filter_map(Json::number)
        .collect();
    let step = schema.get("multipleOf").and_then(Json::number).and_then(decimals);
    let scale = if integer {
        0
    } else if !listed.is_empty() {
        listed.iter().filter_map(|number| decimals(number)).max().unwrap_or(0)
    } else {
        step.unwrap_or(SCALE)
    };
    let bound = |names: [&str; 2]| {
        names.iter().filter_map(|name| schema.get(name)).filter_map(Json::number).map(str::to_owned).next()
    };
    let (low, high) = (bound(["minimum", "exclusiveMinimum"]), bound(["maximum", "exclusiveMaximum"]));
    let bounds: Vec<&str> =
        if listed.is_empty() { low.iter().chain(&high).map(String::as_str).collect() } else { listed.clone() };
    let signed = if listed.is_empty() {
        low.as_deref().is_none_or(|low| low.starts_with('-'))
    } else {
        listed.iter().any(|number| number.starts_with('-'))
    };
    let whole = bounds.iter().map(|bound| whole_digits(bound)).max();
    let bounded = !listed.is_empty() || (high.is_some() && low.is_some());
    let whole = whole.filter(|_| bounded);
    let unbounded = if integer || step.is_some() { INTEGER_DIGITS } else { DIGITS - SCALE.unsigned_abs() };
    let digits = whole.unwrap_or(unbounded).saturating_add(scale.unsigned_abs()).clamp(1, 38);
    Scalar::Decimal { digits, scale, signed }
}

/// Counts the decimal places of a number as written.
pub(super) fn decimals(number: &str) -> Option<i16> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let fraction = mantissa.split_once('.').map_or("", |(_, fraction)| fraction.trim_end_matches('0'));
    let exponent: i16 = exponent.trim_start_matches('+').parse().ok()?;
    let scale = i16::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some(scale.clamp(0, 30))
}

/// Returns whether a number is 1, 0.1, 0.01 and so on, up to the number of decimals that is checked.
pub(super) fn is_decimal(number: &str) -> bool {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default().replace('.', "");
    let is_one = mantissa.trim_matches('0') == "1";
    is_one && whole_digits(number) <= 1 && decimals(number).is_some_and(|decimals| decimals < 30)
}

/// Digits in front of the point of a number as written.
fn whole_digits(number: &str) -> u16 {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let whole = mantissa.trim_start_matches('-').split('.').next().unwrap_or("").trim_start_matches('0');
    let exponent: u16 = exponent.trim_start_matches('+').parse().unwrap_or(0);
    u16::try_from(whole.len()).unwrap_or(38).saturating_add(exponent)
}

/// Returns the type that holds the values of both types.
pub(super) fn wider(a: &Scalar, b: &Scalar) -> Option<Scalar> {
    Some(match (a, b) {
        (Scalar::Text { chars_max: a }, Scalar::Text { chars_max: b }) => {
            Scalar::Text { chars_max: a.zip(*b).map(|(a, b)| a.max(b)) }
        }
        (Scalar::Decimal { digits: a, scale: s, signed: x }, Scalar::Decimal { digits: b, scale: t, signed: y }) => {
            let scale = (*s).max(*t);
            let whole = (i32::from(*a) - i32::from(*s)).max(i32::from(*b) - i32::from(*t));
            let digits = u16::try_from(whole + i32::from(scale)).ok()?.clamp(1, 38);
            Scalar::Decimal { digits, scale, signed: *x || *y }
        }
        (a, b) if a == b => a.clone(),
        (Scalar::Text { .. }, Scalar::Decimal { .. }) | (Scalar::Decimal { .. }, Scalar::Text { .. }) => TEXT,
        _ => return None,
    })
}

/// Returns the type of the values that fit both types.
pub(super) fn narrower(a: &Scalar, b: &Scalar) -> Option<Scalar> {
    Some(match (a, b) {
        (Scalar::Text { chars_max: a }, Scalar::Text { chars_max: b }) => Scalar::Text {
            chars_max: match (a, b) {
                (Some(a), Some(b)) => Some(*a.min(b)),
                (a, b) => a.or(*b),
            },
        },
        (Scalar::Decimal { digits: a, scale: s, signed: x }, Scalar::Decimal { digits: b, scale: t, signed: y }) => {
            let scale = (*s).min(*t);
            let whole = (i32::from(*a) - i32::from(*s)).min(i32::from(*b) - i32::from(*t));
            let digits = u16::try_from(whole + i32::from(scale)).ok()?.clamp(1, 38);
            Scalar::Decimal { digits, scale, signed: *x && *y }
        }
        (a, b) if a == b => a.clone(),
        _ => return None,
    })
}
