//! Initial values of items: those of VALUE clauses and of INITIALIZE.

use quayline_charset::{Charset, CodePage};
use quayline_core::{Run, Value};

use super::{char_byte, encode_item};
use crate::layout::{Encoding, Figurative, Literal, dbcs_bytes};
use crate::plan::{Item, Plan};

/// Writes the bytes of a VALUE clause, or otherwise those that INITIALIZE writes.
pub(crate) fn initial(plan: &Plan, item: &Item, value: Option<&Literal>, bytes: &mut [u8]) {
    initialise(plan, item, bytes);
    if let Some(value) = value {
        literal(plan, item, value, bytes);
    }
}

/// Writes what INITIALIZE writes: spaces in text, zero in numbers.
pub(crate) fn initialise(plan: &Plan, item: &Item, bytes: &mut [u8]) {
    let zero = Value::Int(0, 0);
    let empty = Value::Text(Run::from(&b""[..]));
    let first = match item.encoding {
        Encoding::Text { .. } | Encoding::National { .. } | Encoding::Utf8 | Encoding::TextEdited { .. } => empty,
        Encoding::Dbcs => {
            bytes.fill(0x40);
            return;
        }
        Encoding::Boolean => {
            bytes.fill(plan.text.zero);
            return;
        }
        _ => zero,
    };
    // An initial value always fits: spaces in text, zero in numbers.
    if encode_item(plan, item, first, bytes).is_err() {
        bytes.fill(plan.text.space);
    }
}

/// Writes a VALUE literal and returns whether it fits; one that does not fit leaves the initial value, as the compiler would have
/// refused it.
pub(crate) fn literal(plan: &Plan, item: &Item, value: &Literal, bytes: &mut [u8]) -> bool {
    let before = bytes.to_vec();
    let done = match value {
        // JUSTIFIED has no effect on a VALUE.
        Literal::Text(text)
            if matches!(
                item.encoding,
                Encoding::Text { justified: true, .. } | Encoding::National { justified: true }
            ) =>
        {
            let encoding = match item.encoding {
                Encoding::National { .. } => Encoding::National { justified: false },
                _ => Encoding::Text { justified: false, alphabetic: false },
            };
            let left = Item { encoding, ..item.clone() };
            encode_item(plan, &left, Value::Text(Run::from(text.as_bytes())), bytes).is_ok()
        }
        // The literal is in its edited form and is stored without editing (Enterprise COBOL, Language Reference, VALUE clause).
        Literal::Text(text) if matches!(item.encoding, Encoding::Edited(_) | Encoding::TextEdited { .. }) => {
            let left = Item { encoding: Encoding::Text { justified: false, alphabetic: false }, ..item.clone() };
            encode_item(plan, &left, Value::Text(Run::from(text.as_bytes())), bytes).is_ok()
        }
        Literal::Text(text) if item.encoding == Encoding::Dbcs => double_byte(plan, text, 1, bytes),
        Literal::Number(text) | Literal::Text(text) => {
            encode_item(plan, item, Value::Text(Run::from(text.as_bytes())), bytes).is_ok()
        }
        Literal::Hex(hex) => {
            let n = hex.len().min(bytes.len());
            bytes[..n].copy_from_slice(&hex[..n]);
            true
        }
        Literal::All(inner) => match &**inner {
            Literal::Hex(unit) => {
                bytes.iter_mut().zip(unit.iter().cycle()).for_each(|(to, from)| *to = *from);
                true
            }
            Literal::Text(unit) if item.encoding == Encoding::Dbcs => double_byte(plan, unit, usize::MAX, bytes),
            Literal::Text(unit) => repeated(plan, item, unit, bytes),
            _ => true,
        },
        Literal::Figurative(figurative) => match figurative {
            Figurative::Zero if is_text(&item.encoding) || matches!(item.encoding, Encoding::TextEdited { .. }) => {
                repeated(plan, item, "0", bytes)
            }
            Figurative::Zero => {
                initialise(plan, item, bytes);
                true
            }
            Figurative::Space => repeated(plan, item, " ", bytes),
            // Source: Enterprise COBOL, Language Reference, figurative constants: SPACES is the only one for a double-byte item.
            Figurative::Quote if item.encoding == Encoding::Dbcs => false,
            Figurative::Quote => repeated(plan, item, "\"", bytes),
            Figurative::HighValue => {
                bytes.fill(0xff);
                true
            }
            Figurative::LowValue | Figurative::Null => {
                bytes.fill(0);
                true
            }
        },
    };
    if !done {
        bytes.copy_from_slice(&before);
    }
    done
}

/// Writes the characters of a double-byte literal, at most `times` times, and returns whether their bytes are known.
fn double_byte(plan: &Plan, text: &str, times: usize, bytes: &mut [u8]) -> bool {
    let is_ebcdic = plan.charset.code_page().is_some_and(CodePage::is_ebcdic);
    let Some(unit) = dbcs_bytes(text).filter(|unit| is_ebcdic && !unit.is_empty() && unit.len() <= bytes.len()) else {
        return false;
    };
    bytes.iter_mut().zip(unit.iter().cycle().take(unit.len().saturating_mul(times))).for_each(|(to, from)| *to = *from);
    true
}

fn is_text(encoding: &Encoding) -> bool {
    matches!(encoding, Encoding::Text { .. } | Encoding::National { .. } | Encoding::Utf8)
}

/// Fills an item with text again and again, in the characters of its class. Source: Enterprise COBOL, Language Reference, figurative
/// constants: they take the class of the item.
fn repeated(plan: &Plan, item: &Item, unit: &str, bytes: &mut [u8]) -> bool {
    let width = match (&item.encoding, plan.charset) {
        (Encoding::National { .. }, _) => |c: char| 2 * c.len_utf16(),
        (Encoding::Utf8, _) => char::len_utf8,
        (Encoding::Text { .. }, Charset::Utf16(_)) => |c: char| 2 * c.len_utf16(),
        (Encoding::Text { .. }, Charset::Utf8) => char::len_utf8,
        (Encoding::Dbcs, _) if unit == " " => {
            initialise(plan, item, bytes);
            return true;
        }
        _ => {
            let unit: Vec<u8> = unit.chars().map(|c| char_byte(plan, c)).collect();
            bytes.iter_mut().zip(unit.iter().cycle()).for_each(|(to, from)| *to = *from);
            return true;
        }
    };
    let mut text = String::new();
    let mut used = 0;
    for c in unit.chars().cycle() {
        used += width(c);
        if used > bytes.len() {
            break;
        }
        text.push(c);
    }
    let encoding = match item.encoding {
        Encoding::National { .. } => Encoding::National { justified: false },
        Encoding::Utf8 => Encoding::Utf8,
        _ => Encoding::Text { justified: false, alphabetic: false },
    };
    encode_item(plan, &Item { encoding, ..item.clone() }, Value::Text(Run::from(text.as_bytes())), bytes).is_ok()
}
