//! Values of items at and after the end of a short record.

use quayline_charset::{Charset, Utf16Order};
use quayline_core::Value;

use super::PAD;
use crate::item::{Loaded, Scratch, read};
use crate::layout::Encoding;
use crate::plan::{Item, Plan};
use crate::{FaultKind, ShortRecord};

/// Reads the value of `item` at `at`, where the record may end before the item does.
///
/// A text keeps the characters that are present. A number of which only some bytes are present is [`FaultKind::CutField`], because
/// the rest would read as another number. `padded` holds the bytes that the value borrows.
pub(crate) fn read_short<'a>(
    plan: &Plan,
    item: &Item,
    loaded: &Loaded,
    at: usize,
    short: ShortRecord,
    padded: &'a mut Loaded,
    scratch: &'a mut Scratch,
) -> Result<Value<'a>, FaultKind> {
    let present = loaded.len.saturating_sub(at).min(item.size);
    let textual = is_textual(&item.encoding);
    match (short, present) {
        (ShortRecord::Error, _) => {
            return Err(FaultKind::ShortRecord { found: loaded.len, need: at.saturating_add(item.size) });
        }
        (ShortRecord::Null, 0) => return Ok(Value::Null),
        // Blanks are a number in these, and no value of the field was sent.
        (ShortRecord::Pad, 0) if has_no_blank(&item.encoding) => {
            pad(plan, item, loaded, at, present, padded);
            return Err(FaultKind::Blank);
        }
        (ShortRecord::Pad, 0) => {}
        (ShortRecord::Pad | ShortRecord::Null, _) if textual && present.is_multiple_of(blank(plan, item).len()) => {}
        (ShortRecord::Pad | ShortRecord::Null, _) => return Err(FaultKind::CutField { present, size: item.size }),
    }
    pad(plan, item, loaded, at, present, padded);
    let single = matches!(plan.charset, Charset::SingleByte(_)) && matches!(item.encoding, Encoding::Text { .. });
    let cut = present > 0 && !single;
    read(plan, item, padded, 0, scratch).map_err(|kind| {
        // A character or an insertion that the end cuts.
        if cut { FaultKind::CutField { present, size: item.size } } else { kind }
    })
}

/// Returns whether the front of such a value is itself a valid value with the same meaning.
fn is_textual(encoding: &Encoding) -> bool {
    matches!(encoding, Encoding::Text { .. } | Encoding::TextEdited { .. } | Encoding::National { .. } | Encoding::Utf8)
}

/// Returns whether spaces in such a field are a value like any other.
fn has_no_blank(encoding: &Encoding) -> bool {
    matches!(encoding, Encoding::Binary { .. } | Encoding::Float32(_) | Encoding::Float64(_) | Encoding::Dbcs)
}

/// Returns the padding of such a field.
fn blank<'p>(plan: &'p Plan, item: &Item) -> &'p [u8] {
    match &item.encoding {
        Encoding::National { .. } => Charset::Utf16(Utf16Order::BigEndian).space(),
        Encoding::Utf8 => b" ",
        Encoding::Text { .. } => plan.charset.space(),
        _ => core::slice::from_ref(&plan.text.space),
    }
}

/// Puts the item's bytes into `padded`, blanks for those that the record does not have.
fn pad(plan: &Plan, item: &Item, loaded: &Loaded, at: usize, present: usize, padded: &mut Loaded) {
    let Loaded { raw, text, len } = padded;
    raw.clear();
    raw.extend_from_slice(loaded.raw.get(at..at + present).unwrap_or_default());
    raw.extend(blank(plan, item).iter().cycle().take(item.size - raw.len()).copied());
    *len = item.size;
    raw.resize(item.size + PAD, 0);
    text.resize(item.size + PAD, 0);
    quayline_charset::translate(plan.text.to_ascii, &raw[..item.size], &mut text[..item.size]);
}
