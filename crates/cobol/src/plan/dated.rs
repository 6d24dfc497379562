//! Dates of records, which documents show as ISO 8601 text.

use std::collections::HashMap;

use quayline_core::{Code, DatePattern, Fault, Finding, Run, Scalar, Value, write_number};

use super::compile::scalar;
use super::select::Selection;
use super::{Item, ItemForm, ItemIndex, Plan};
use crate::FaultKind;
use crate::encode::{encode_item, is_raw_text};
use crate::layout::{Encoding, FieldKind, Layout};

/// An item whose values are dates.
#[derive(Debug)]
pub(crate) struct Dated {
    pub(crate) pattern: DatePattern,
    /// Bytes of null, if a rule or policy defines them.
    pub(crate) null: Option<Vec<u8>>,
}

/// Returns the form of dates, for the items that have some.
pub(super) fn of(plan: &Plan, selection: &Selection) -> HashMap<ItemIndex, Dated> {
    let dated = |(index, item): (ItemIndex, &Item)| {
        let (pattern, _) = selection.date[item.field.index()].as_ref().filter(|_| item.form == ItemForm::Date)?;
        let is_number = !matches!(scalar(&item.encoding, item.size), Scalar::Text { .. });
        let mut null = vec![0; item.size];
        let has_null = encode_item(plan, item, Value::Null, &mut null).is_ok();
        Some((index, Dated { pattern: pattern.clone().of_number(is_number), null: has_null.then_some(null) }))
    };
    (0..).zip(&plan.items).filter_map(dated).collect()
}

/// Checks that dates fit their fields.
pub(super) fn check(layout: &Layout, selection: &Selection, findings: &mut Vec<Finding>) {
    for (index, field) in layout.iter() {
        let Some((pattern, name)) = &selection.date[index.index()] else { continue };
        let item = if let FieldKind::Item(encoding) = &field.kind { Some(scalar(encoding, field.size)) } else { None };
        findings.extend(pattern.misfit(item.as_ref()).map(|(what, hint)| {
            let message = format!("`{name}` has the date `{pattern}`, which {what}");
            Finding::error(Code("PLN-008"), Fault::Config, message).hint(hint)
        }));
    }
}

impl Dated {
    /// Returns the ISO form of a value.
    ///
    /// # Errors
    /// [`FaultKind::Blank`] and [`FaultKind::NotADate`] for any other value but null.
    pub(crate) fn show<'t>(&self, item: &Item, value: Value<'t>, out: &'t mut Vec<u8>) -> Result<Value<'t>, FaultKind> {
        let mut digits = Vec::new();
        let text = match (value, &item.encoding) {
            (Value::Null, _) => return Ok(value),
            (
                Value::Text(run) | Value::Ascii(run),
                Encoding::Text { justified, .. } | Encoding::National { justified },
            ) if *justified => run.bytes().trim_ascii_start(),
            (Value::Text(run) | Value::Ascii(run), _) => run.bytes().trim_ascii_end(),
            (number, _) => {
                write_number(&mut digits, number);
                &digits
            }
        };
        out.clear();
        let none = if text.is_empty() { FaultKind::Blank } else { FaultKind::NotADate };
        self.pattern.iso(text, out).ok_or(none)?;
        Ok(Value::Ascii(Run::from(&out[..])))
    }

    /// Returns the more specific fault of bytes that are not a date; `None` if they are those of null.
    fn fault(&self, plan: &Plan, item: &Item, kind: FaultKind, bytes: &[u8]) -> Option<FaultKind> {
        let all = |byte: u8| bytes.iter().all(|found| *found == byte);
        match kind {
            FaultKind::ShortRecord { .. } | FaultKind::CutField { .. } => Some(kind),
            _ if self.null.as_deref() == Some(bytes) => None,
            FaultKind::NotADate | FaultKind::Blank if all(0) => Some(FaultKind::LowValues),
            // Spaces are zero in a field with BLANK WHEN ZERO, and a number of their own in a binary one.
            FaultKind::NotADate if all(plan.text.space) && !matches!(item.encoding, Encoding::Binary { .. }) => {
                Some(FaultKind::Blank)
            }
            kind => Some(kind),
        }
    }
}

/// Returns the fault of an item, which may be more specific for a date; `None` if its bytes are those of null. `bytes` begin with the item's.
pub(crate) fn fault(plan: &Plan, index: ItemIndex, item: &Item, kind: FaultKind, bytes: &[u8]) -> Option<FaultKind> {
    match (item.form, bytes.get(..item.size)) {
        (ItemForm::Date, Some(bytes)) => plan.dates[&index].fault(plan, item, kind, bytes),
        _ => Some(kind),
    }
}

/// Returns the plain value of a date in a document. Null and bytes in hexadecimal are left as they are.
///
/// # Errors
/// [`FaultKind::NotADate`] for any other value.
pub(crate) fn plain<'t>(
    plan: &Plan,
    index: ItemIndex,
    value: Value<'t>,
    out: &'t mut Vec<u8>,
) -> Result<Value<'t>, FaultKind> {
    match value {
        Value::Null | Value::Raw(_) => return Ok(value),
        Value::Text(run) | Value::Ascii(run) if run.len() == 0 => return Ok(Value::Null),
        Value::Text(run) | Value::Ascii(run) => {
            if is_raw_text(plan, run.bytes(), plan.items[index as usize].size) {
                return Ok(value);
            }
            plan.dates[&index].pattern.read_iso(run.bytes(), out).ok_or(FaultKind::NotADate)?;
        }
        _ => return Err(FaultKind::NotADate),
    }
    Ok(Value::Ascii(Run::from(&out[..])))
}
