//! Dates of records, which documents show as ISO 8601 text.

use quayline_core::{Run, Value, write_number};

use super::{Scratch, integer, is_raw_text, loaded, read};
use crate::FaultKind;
use crate::layout::Encoding;
use crate::plan::{Dated, Item, ItemForm, ItemIndex, Plan};

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
            FaultKind::NotADate if self.is_null_number(plan, item, bytes) => None,
            FaultKind::NotADate | FaultKind::Blank if all(0) => Some(FaultKind::LowValues),
            // Spaces are zero in a field with BLANK WHEN ZERO, and a number of their own in a binary one.
            FaultKind::NotADate if all(plan.text.space) && !matches!(item.encoding, Encoding::Binary { .. }) => {
                Some(FaultKind::Blank)
            }
            kind => Some(kind),
        }
    }

    /// Returns whether packed or zoned bytes are the number of null, with any valid sign.
    fn is_null_number(&self, plan: &Plan, item: &Item, bytes: &[u8]) -> bool {
        let number =
            |bytes: &[u8]| read(plan, item, &loaded(plan, bytes), 0, &mut Scratch::default()).ok().and_then(integer);
        let is_signed = matches!(item.encoding, Encoding::Packed { .. } | Encoding::Zoned { .. });
        is_signed && self.null.as_deref().and_then(number).is_some_and(|null| number(bytes) == Some(null))
    }
}

/// Returns the fault of an item, which may be more specific for a date; `None` if its bytes are those of null. `bytes` begin with the item's.
pub(crate) fn fault_of_date(
    plan: &Plan,
    index: ItemIndex,
    item: &Item,
    kind: FaultKind,
    bytes: &[u8],
) -> Option<FaultKind> {
    match (item.form, bytes.get(..item.size)) {
        (ItemForm::Date, Some(bytes)) => plan.dates[&index].fault(plan, item, kind, bytes),
        _ => Some(kind),
    }
}

/// Returns the plain value of a date in a document. Null and bytes in hexadecimal are left as they are.
///
/// # Errors
/// [`FaultKind::NotADate`] for any other value.
pub(crate) fn plain_date<'t>(
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
