//! Values that documents show by the names of level-88 conditions.

use quayline_core::{Run, Value, write_number};

use crate::FaultKind;
use crate::item::{Loaded, encode_item};
use crate::plan::{Item, ItemIndex, Plan};

/// Returns the name of the value at `at`, if its bytes are those of a condition.
pub(super) fn name<'p>(plan: &'p Plan, index: ItemIndex, item: &Item, loaded: &Loaded, at: usize) -> Option<Value<'p>> {
    if at + item.size > loaded.len {
        return None;
    }
    let bytes = loaded.raw.get(at..at + item.size)?;
    let (name, _) = plan.names.get(&index)?.iter().find(|(_, value)| value == bytes)?;
    Some(Value::Text(Run::from(name.as_bytes())))
}

/// Turns a value without a name into a text. A number has the name of its canonical bytes: it may be stored with another sign code.
///
/// # Errors
/// [`FaultKind::LooksLikeName`] for a text that would be read as a name, so that another value would be written for it.
pub(super) fn plain<'t>(
    plan: &'t Plan,
    index: ItemIndex,
    item: &Item,
    value: Value<'t>,
    out: &'t mut Vec<u8>,
) -> Result<Value<'t>, FaultKind> {
    if let Value::Text(run) | Value::Ascii(run) = value {
        let is_name = |(name, _): &(String, Vec<u8>)| name.as_bytes() == run.bytes();
        if plan.names.get(&index).is_some_and(|names| names.iter().any(is_name)) {
            return Err(FaultKind::LooksLikeName);
        }
        return Ok(value);
    }
    out.resize(item.size, 0);
    if encode_item(plan, item, value, out).is_ok()
        && let Some((name, _)) = plan.names.get(&index).and_then(|names| names.iter().find(|(_, value)| value == out))
    {
        return Ok(Value::Text(Run::from(name.as_bytes())));
    }
    out.clear();
    match write_number(out, value) {
        Some(()) => Ok(Value::Ascii(Run::from(&out[..]))),
        None => Ok(value),
    }
}
