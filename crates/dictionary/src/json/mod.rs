//! A guide as JSON: for users who describe their own messages, and for other programs.
//!
//! One object is one guide, an array several. `docs/guides/import-guides.md` describes every key. Unknown keys are refused.

mod from_wire;
mod to_wire;
mod wire;

use quayline_core::{Finding, Findings};
use quayline_edi::guide::Guide;

use crate::codes;
use crate::imported::Imported;
use crate::source_text::SourceText;

/// Reads one guide, or an array of guides.
///
/// # Errors
/// The text is not JSON, has unknown or missing keys, or values that no guide can have; all faults of a guide at once, each with its place.
pub fn read_guides(source: SourceText<'_>) -> Result<Imported, Findings> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let source = SourceText { text, ..source };
    let parsed: Result<Vec<wire::Guide>, serde_json::Error> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)
    } else {
        serde_json::from_str(text).map(|guide| vec![guide])
    };
    let wires = parsed.map_err(|e| Findings(vec![syntax(source, &e)]))?;
    let mut imported = Imported::default();
    let mut faults = Vec::new();
    for wire in wires {
        match from_wire::guide(wire, source) {
            Ok(guide) => imported.guides.push(guide),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(imported) } else { Err(Findings(faults)) }
}

/// Writes a guide as one JSON object, two spaces a level, keys in the order of the documentation, with a final newline.
#[must_use]
pub fn write_guide(guide: &Guide) -> String {
    let mut text = serde_json::to_string_pretty(&to_wire::guide(guide)).expect("string keys only: JSON can hold it");
    text.push('\n');
    text
}

fn syntax(source: SourceText<'_>, error: &serde_json::Error) -> Finding {
    let line = error.line().saturating_sub(1);
    let start: usize = source.text.split_inclusive('\n').take(line).map(str::len).sum();
    let at = (start + error.column().saturating_sub(1)).min(source.text.len());
    // The finding already has the place.
    let message = error.to_string();
    let message = quayline_core::plain_expectation(message.split(" at line ").next().unwrap_or_default());
    source.error(codes::NOT_WELL_FORMED, at, format!("not a guide in JSON: {message}"))
}
