//! Comparison of values of different forms.

use quayline_core::Value;

/// Returns a value in the form for comparisons; `None` for null.
pub(super) fn owned(value: Value<'_>) -> Option<Vec<u8>> {
    let mut scratch = Vec::new();
    let text = text(value, &mut scratch)?.to_vec();
    Some(text)
}

/// Returns whether a value kept by [`owned`] is the value that an item's bytes hold, by [`is_said`].
pub(super) fn same_as(kept: &[u8], said: Value<'_>) -> bool {
    is_said(said, Value::Text(kept.into()))
}

/// Returns whether a document's value is the one that an item's bytes hold. An item of text decides character by character: `12` and `012` are
/// two texts.
pub(super) fn is_said(said: Value<'_>, value: Value<'_>) -> bool {
    if let Value::Text(run) | Value::Ascii(run) = said {
        return text(value, &mut Vec::new()).is_some_and(|given| given == run.bytes());
    }
    same(said, value)
}

/// Returns whether two values are the same: numbers by value, with -0 different from 0, and other text character by character.
pub(super) fn same(a: Value<'_>, b: Value<'_>) -> bool {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let (Some(left), Some(right)) = (text(a, &mut left), text(b, &mut right)) else { return false };
    left == right || number(left).is_some_and(|number_left| number(right) == Some(number_left))
}

/// Returns whether two values of one field are the same for a reader of documents: texts character by character, numbers by value. Zeros
/// are equal, because columns have no sign for them.
pub(super) fn same_content(a: Value<'_>, b: Value<'_>) -> bool {
    if let (Value::Text(a) | Value::Ascii(a), Value::Text(b) | Value::Ascii(b)) = (a, b) {
        return a.bytes() == b.bytes();
    }
    same(a, b) || is_zero(a) && is_zero(b)
}

/// Returns whether a value is the empty text.
pub(super) fn is_empty(value: Value<'_>) -> bool {
    matches!(value, Value::Text(run) | Value::Ascii(run) if run.len() == 0)
}

fn is_zero(value: Value<'_>) -> bool {
    let mut scratch = Vec::new();
    text(value, &mut scratch)
        .and_then(number)
        .is_some_and(|(_, whole, fraction)| whole.is_empty() && fraction.is_empty())
}

fn text<'a>(value: Value<'a>, scratch: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    match value {
        Value::Text(run) | Value::Ascii(run) => return Some(run.bytes()),
        Value::Bytes(bytes) | Value::Raw(bytes) => return Some(bytes),
        number => quayline_core::write_number(scratch, number)?,
    }
    Some(scratch)
}

/// Returns the sign, the digits before the point without leading zeros, and those after it without trailing ones.
fn number(text: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let point = rest.iter().position(|b| *b == b'.').unwrap_or(rest.len());
    let (whole, fraction) = (&rest[..point], rest.get(point + 1..).unwrap_or_default());
    if whole.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return None;
    }
    let first = whole.iter().position(|b| *b != b'0').unwrap_or(whole.len());
    let last = fraction.iter().rposition(|b| *b != b'0').map_or(0, |i| i + 1);
    Some((negative, &whole[first..], &fraction[..last]))
}
