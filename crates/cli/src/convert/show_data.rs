//! `--show-data`: the bytes that a finding refers to. Only on request, because they may be personal health or financial data.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use quayline_cobol::layout::Layout;
use quayline_core::Finding;

use super::definitions::Definitions;

/// Most bytes shown of one field.
const BYTES_MAX: usize = 64;
/// Number of bytes shown if the field is unknown.
const BYTES_UNKNOWN: usize = 16;

/// Adds to each finding with a byte position in `file` the bytes there, in hexadecimal and in the code page.
pub(crate) fn add(findings: &mut [Finding], file: &Path, definitions: &Definitions) {
    let Ok(mut source) = File::open(file) else { return };
    for finding in findings {
        let Some(byte) = finding.place.byte else { continue };
        let size = finding.place.path.as_deref().and_then(|path| size_of(&definitions.layouts, path));
        let shown = size.unwrap_or(BYTES_UNKNOWN).min(BYTES_MAX);
        let mut bytes = Vec::new();
        let read = source
            .seek(SeekFrom::Start(byte.0))
            .and_then(|_| source.by_ref().take(shown as u64).read_to_end(&mut bytes));
        if read.is_err() || bytes.is_empty() {
            continue;
        }
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let more = if size.is_some_and(|size| size > shown) { " …" } else { "" };
        finding.message.push_str(&format!(
            "\n    the bytes: {}{more}\n    as text:   {}",
            hex.join(" "),
            text(&bytes, definitions)
        ));
    }
}

/// Bytes of the field at a path such as `CARS[3].REF`.
fn size_of(layouts: &[Layout], path: &str) -> Option<usize> {
    let mut plain = String::new();
    let mut inside = false;
    for c in path.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            c if !inside => plain.push(c),
            _ => {}
        }
    }
    layouts.iter().find_map(|layout| {
        let (_, field) = layout.iter().find(|(index, _)| layout.path(*index) == plain)?;
        Some(field.size)
    })
}

/// Decodes the bytes; undefined and control characters become `.`.
fn text(bytes: &[u8], definitions: &Definitions) -> String {
    let character = |byte: &u8| match definitions.charset.code_page() {
        Some(page) => page.to_char(*byte),
        None => byte.is_ascii().then_some(char::from(*byte)),
    };
    bytes.iter().map(|byte| character(byte).filter(|c| !c.is_control()).unwrap_or('.')).collect()
}
