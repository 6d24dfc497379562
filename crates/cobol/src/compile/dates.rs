//! Items whose values are dates.

use std::collections::HashMap;

use quayline_core::{Code, Fault, Finding, Scalar, Value};

use super::scalar;
use super::select::Selection;
use crate::item::encode_item;
use crate::layout::{FieldKind, Layout};
use crate::plan::{Dated, Item, ItemForm, ItemIndex, Plan};

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
