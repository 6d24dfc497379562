//! Character codes of a plan and the record that encoding starts from.

use std::collections::HashMap;

use quayline_charset::{Charset, CodePage};
use quayline_core::{Code, Fault, Finding, Run, Value};

use super::select::Selection;
use super::{Item, ItemForm, ItemIndex, Plan, TextCode};
use crate::encode::encode_item;
use crate::layout::{Condition, Encoding, FieldIndex, FieldKind, Figurative, Literal, OverpunchVariant, dbcs_bytes};
use crate::{Absent, encode};

pub(super) fn text_code(charset: Charset) -> TextCode {
    let page = charset.code_page().unwrap_or(CodePage::ASCII);
    let byte = |c: char| page.from_char(c);
    let mut from_ascii = [0u8; 128];
    let mut ascii_whole = !matches!(charset, Charset::Utf16(_));
    for code in 0u8..128 {
        match byte(char::from(code)) {
            Some(b) => from_ascii[usize::from(code)] = b,
            None if (0x20..0x7f).contains(&code) => ascii_whole = false,
            None => {}
        }
    }
    TextCode {
        to_ascii: page.ascii_table(),
        from_ascii,
        ascii_whole,
        space: byte(' ').unwrap_or(b' '),
        zero: byte('0').unwrap_or(b'0'),
        plus: byte('+').unwrap_or(b'+'),
        minus: byte('-').unwrap_or(b'-'),
        bulk: (ascii_whole && charset.code_page().is_some()).then(|| page.from_ascii_table()),
    }
}

/// Bytes that hold a digit and a sign.
#[derive(Debug)]
pub(crate) struct SignCode {
    /// Digit of each record byte, with [`SignCode::NEGATIVE`] for minus; [`SignCode::INVALID`] for any other byte.
    pub(crate) decode: [u8; 256],
    /// Digit to byte, plus sign.
    pub(crate) plus: [u8; 10],
    /// Digit to byte, minus sign.
    pub(crate) minus: [u8; 10],
}

impl SignCode {
    pub(crate) const NEGATIVE: u8 = 0x80;
    pub(crate) const INVALID: u8 = 0xff;

    /// Creates the sign codes. EBCDIC: zones 0xB and 0xD are minus, 0xA, 0xC, 0xE and 0xF plus; 0xC and 0xD are written (z/Architecture
    /// Principles of Operation, decimal codes). ASCII: by the dialect's overpunch variant; a plain digit is plus in both.
    pub(super) fn new(charset: Charset, overpunch: OverpunchVariant) -> Self {
        let mut code = SignCode { decode: [Self::INVALID; 256], plus: [0; 10], minus: [0; 10] };
        for digit in 0u8..10 {
            let mut set = |byte: u8, sign: u8| code.decode[usize::from(byte)] = digit | sign;
            let d = usize::from(digit);
            if charset.code_page().is_some_and(CodePage::is_ebcdic) {
                for zone in [0xa0, 0xc0, 0xe0, 0xf0] {
                    set(zone | digit, 0);
                }
                for zone in [0xb0, 0xd0] {
                    set(zone | digit, Self::NEGATIVE);
                }
                code.plus[d] = 0xc0 | digit;
                code.minus[d] = 0xd0 | digit;
                continue;
            }
            set(b'0' + digit, 0);
            match overpunch {
                OverpunchVariant::Ebcdic => {
                    let plus = b"{ABCDEFGHI"[d];
                    let minus = b"}JKLMNOPQR"[d];
                    set(plus, 0);
                    set(minus, Self::NEGATIVE);
                    code.plus[d] = plus;
                    code.minus[d] = minus;
                }
                OverpunchVariant::Ascii => {
                    set(b'p' + digit, Self::NEGATIVE);
                    code.plus[d] = b'0' + digit;
                    code.minus[d] = b'p' + digit;
                }
            }
        }
        code
    }
}

/// Returns the record with every item at its initial value: default of the interface, VALUE clause, or spaces and zeros, as the
/// policy says.
pub(super) fn template(
    plan: &Plan,
    selection: &Selection,
    items: &HashMap<FieldIndex, ItemIndex>,
    findings: &mut Vec<Finding>,
) -> Vec<u8> {
    let layout = &plan.layout;
    let fill = if plan.policies.absent == Absent::LowValues { 0 } else { plan.text.space };
    let mut record = vec![fill; layout.length_max];
    // Slack bytes belong to no item; compilers leave them at binary zero.
    for (index, field) in layout.iter() {
        let behind = if field.occurs.is_some() { field.stride - field.size } else { 0 };
        if field.slack_before + behind == 0 {
            continue;
        }
        for (i, start) in starts(plan, index).into_iter().enumerate() {
            // A table's own slack precedes its first occurrence only; `starts` has those of all its parents together.
            let first = field.occurs.is_none_or(|occurs| i * (occurs.max as usize) < starts_of(plan, index));
            let before = if first { field.slack_before } else { 0 };
            record[start - before..start].fill(0);
            record[start + field.size..][..behind].fill(0);
        }
    }
    if plan.policies.absent == Absent::Value {
        group_values(plan, &mut record);
    }
    for (index, field) in layout.iter() {
        let FieldKind::Item(encoding) = &field.kind else { continue };
        let default = selection.default[index.index()].as_deref();
        let has_value = in_redefinition(plan, index) || plan.policies.absent == Absent::Value && in_value(plan, index);
        if has_value && default.is_none() {
            continue;
        }
        let item = items.get(&index).map_or_else(
            || Item {
                field: index,
                node: super::compile::HIDDEN,
                offset: field.offset,
                size: field.size,
                encoding: encoding.clone(),
                null: crate::NullAs::Error,
                form: ItemForm::Plain,
            },
            |item| plan.items[*item as usize].clone(),
        );
        let mut bytes = vec![fill; field.size];
        match plan.policies.absent {
            Absent::LowValues => {}
            Absent::Value => initial(plan, &item, field.value.as_ref(), &mut bytes),
            Absent::Initialize | Absent::Error => initial(plan, &item, None, &mut bytes),
        }
        if let Some(default) = default
            && let Err(fault) = encode_item(plan, &item, Value::Text(Run::from(default.as_bytes())), &mut bytes)
        {
            findings.push(
                Finding::error(
                    Code("PLN-005"),
                    Fault::Config,
                    format!("default of {} does not fit it: {fault}", field.name),
                )
                .hint(format!("the field is {}", field.description)),
            );
        }
        place(plan, index, &bytes, &mut record);
    }
    record
}

/// Splits the template into text and the rest, if all of its text is printable ASCII and no bytes are text in one view only.
pub(super) fn ascii_twin(plan: &mut Plan) {
    let fits = |i: usize, plan: &Plan| plan.text.to_ascii[usize::from(plan.template[i])] != 0xff;
    let mut is_text = vec![0u8; plan.template.len()];
    let mut whole = plan.text.bulk.is_some() && plan.layout.fields.iter().all(|field| field.redefines.is_none());
    for (index, field) in plan.layout.iter() {
        if !matches!(field.kind, FieldKind::Item(Encoding::Text { justified: false, .. })) {
            continue;
        }
        for start in starts(plan, index) {
            let range = start..start + field.size;
            whole &= range.clone().all(|i| fits(i, plan));
            is_text[range].fill(0xff);
        }
    }
    if !whole {
        plan.text.bulk = None;
        return;
    }
    plan.ascii = plan.template.iter().map(|b| plan.text.to_ascii[usize::from(*b)] & 0x7f).collect();
    plan.is_text = is_text;
}

fn in_redefinition(plan: &Plan, index: FieldIndex) -> bool {
    let mut at = Some(index);
    while let Some(field) = at {
        if plan.layout.field(field).redefines.is_some() {
            return true;
        }
        at = plan.layout.field(field).parent;
    }
    false
}

/// Writes the bytes of a VALUE clause, or otherwise those that INITIALIZE writes.
pub(crate) fn initial(plan: &Plan, item: &Item, value: Option<&Literal>, bytes: &mut [u8]) {
    initialise(plan, item, bytes);
    if let Some(value) = value {
        literal(plan, item, value, bytes);
    }
}

fn initialise(plan: &Plan, item: &Item, bytes: &mut [u8]) {
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

/// Returns the value of a condition that has exactly one.
pub(super) fn single(condition: &Condition) -> Option<&Literal> {
    match &condition.values[..] {
        [(value, None)] => Some(value),
        _ => None,
    }
}

/// Returns the names of values, for the items that show them. If two names have the same value, the first is written and both are accepted.
pub(super) fn names(plan: &Plan) -> HashMap<ItemIndex, Vec<(String, Vec<u8>)>> {
    let mut names = HashMap::new();
    for (index, item) in plan.items.iter().enumerate().filter(|(_, item)| item.form == ItemForm::Named) {
        // A value that is shorter than the item is compared with spaces after it. A value that does not fit names none.
        let bytes = |value: &Literal| {
            let mut bytes = vec![0; item.size];
            initialise(plan, item, &mut bytes);
            literal(plan, item, value, &mut bytes).then_some(bytes)
        };
        let conditions = plan.layout.field(item.field).conditions.iter();
        let of_item = conditions.filter_map(|condition| Some((condition.name.clone(), bytes(single(condition)?)?)));
        let index = ItemIndex::try_from(index).expect("a layout has fewer than 2^32 fields");
        names.insert(index, of_item.collect());
    }
    names
}

/// Writes the VALUE clauses of groups, which are text over all items of the group.
fn group_values(plan: &Plan, record: &mut [u8]) {
    for (index, field) in plan.layout.iter() {
        let Some(value) = field.value.as_ref().filter(|_| !field.is_item()) else { continue };
        if in_redefinition(plan, index) || in_value(plan, index) {
            continue;
        }
        let item = Item {
            field: index,
            node: super::compile::HIDDEN,
            offset: field.offset,
            size: field.size,
            encoding: Encoding::Text { justified: false, alphabetic: false },
            null: crate::NullAs::Error,
            form: ItemForm::Plain,
        };
        let mut bytes = vec![0; field.size];
        initial(plan, &item, Some(value), &mut bytes);
        place(plan, index, &bytes, record);
    }
}

/// Returns true if a group around a field has a VALUE clause.
fn in_value(plan: &Plan, index: FieldIndex) -> bool {
    let mut at = plan.layout.field(index).parent;
    while let Some(field) = at {
        let field = plan.layout.field(field);
        if field.value.is_some() {
            return true;
        }
        at = field.parent;
    }
    false
}

/// Writes a VALUE literal and returns whether it fits; one that does not fit leaves the initial value, as the compiler would have
/// refused it.
fn literal(plan: &Plan, item: &Item, value: &Literal, bytes: &mut [u8]) -> bool {
    let before = bytes.to_vec();
    let done = match value {
        // JUSTIFIED has no effect on a VALUE.
        Literal::Text(text) if matches!(item.encoding, Encoding::Text { justified: true, .. }) => {
            let encoding = Encoding::Text { justified: false, alphabetic: false };
            let left = Item { encoding, ..item.clone() };
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
            Figurative::Zero if is_text(&item.encoding) => repeated(plan, item, "0", bytes),
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
            let unit: Vec<u8> = unit.chars().map(|c| encode::char_byte(plan, c)).collect();
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

/// Writes `bytes` to every occurrence of the item.
fn place(plan: &Plan, index: FieldIndex, bytes: &[u8], record: &mut [u8]) {
    for start in starts(plan, index) {
        record[start..start + bytes.len()].copy_from_slice(bytes);
    }
}

/// Returns how often an item occurs, tables at their maximum.
fn starts_of(plan: &Plan, index: FieldIndex) -> usize {
    let mut count = 1;
    let mut at = Some(index);
    while let Some(field) = at {
        let field = plan.layout.field(field);
        count *= field.occurs.map_or(1, |occurs| occurs.max as usize);
        at = field.parent;
    }
    count
}

/// Returns the start of each occurrence of an item, tables at their maximum; those of the outer tables together for each of the inner.
fn starts(plan: &Plan, index: FieldIndex) -> Vec<usize> {
    let mut starts = vec![plan.layout.field(index).offset];
    let mut at = Some(index);
    while let Some(field) = at {
        let Some(occurs) = plan.layout.field(field).occurs else {
            at = plan.layout.field(field).parent;
            continue;
        };
        let stride = plan.layout.field(field).stride;
        starts = starts.iter().flat_map(|s| (0..occurs.max as usize).map(move |i| s + i * stride)).collect();
        at = plan.layout.field(field).parent;
    }
    starts
}
