//! The record that encoding starts from.

use std::collections::HashMap;

use quayline_core::{Code, Fault, Finding, Run, Value};

use super::select::Selection;
use crate::item::{encode_item, hex_into, initial, initialise, is_nearest_float, literal};
use crate::layout::{Condition, Encoding, FieldIndex, FieldKind, Literal};
use crate::plan::{HIDDEN, Item, ItemForm, ItemIndex, Plan};
use crate::{Absent, FaultKind};

/// Writes a default. If the text is `0x` and all bytes of the field in hexadecimal, it means these bytes; as characters, it would not fit.
fn encode_default(plan: &Plan, item: &Item, default: &str, bytes: &mut [u8]) -> Result<(), FaultKind> {
    let is_text = matches!(item.encoding, Encoding::Text { .. });
    if is_text && default.starts_with("0x") && hex_into(default.as_bytes(), bytes).is_some() {
        return Ok(());
    }
    encode_item(plan, item, Value::Text(Run::from(default.as_bytes())), bytes)
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
                node: HIDDEN,
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
        if let Some(default) = default {
            let finding = |text| Finding::error(Code("PLN-005"), Fault::Config, text);
            let value = Value::Text(Run::from(default.as_bytes()));
            if let Err(fault) = encode_default(plan, &item, default, &mut bytes) {
                let text = format!("default of `{}` does not fit it: {fault}", field.name);
                findings.push(finding(text).hint(format!("the field is {}", field.description)));
            } else if is_nearest_float(plan, &item, value, &bytes) {
                let text = format!("default of `{}` has more digits than the float keeps", field.name);
                findings.push(finding(text).hint("write the number with fewer digits"));
            }
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
            node: HIDDEN,
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
