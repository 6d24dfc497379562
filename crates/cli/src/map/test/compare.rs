//! Comparison of actual and expected output.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use quayline_convert::{Conversion, Input, Output, Source, Target};
use quayline_edi::ValidationLevel;
use quayline_project::{EdiRead, Form, JsonWrite, ShapeFile, SourceFormat, TargetFormat};

use super::flatten::{Field, documents};
use crate::render::{Paint, Style, diff};

/// Maximum number of fields reported for one output; the rest is counted.
const FIELDS_SHOWN: usize = 20;
/// Maximum number of lines reported for a text.
const LINES_SHOWN: usize = 60;

/// Method of comparing an output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reading {
    /// Byte by byte.
    AsIs,
    /// Read back by its shape, as JSON lines: records and EDI whose expected file is one of JSON.
    AsJson,
}

/// Determines whether an expected file has the format of the target, or JSON.
pub(super) fn reading(expected: &Path, form: &Form) -> Reading {
    let json = expected.extension().is_some_and(|extension| extension == "jsonl");
    let other = matches!(form, Form::Guide(_) | Form::Records { .. } | Form::Xml(_) | Form::Csv(_));
    if json && other { Reading::AsJson } else { Reading::AsIs }
}

/// Converts the documents of a file to JSON lines, by the shape that wrote them; `None` if they cannot be read.
pub(super) fn as_json(file: &Path, shape: &ShapeFile, scratch: &Path) -> Option<String> {
    let format = match shape.source().ok()? {
        // Validation is not needed here.
        SourceFormat::Edi(read) => SourceFormat::Edi(EdiRead { level: ValidationLevel::Envelope, ..read }),
        format => format,
    };
    let source = Source { name: "output".into(), input: Input::File(file.to_owned()), format };
    let target =
        Target { output: Output::File(scratch.to_owned()), format: TargetFormat::JsonLines(JsonWrite::default()) };
    Conversion::new(source, target, shape.schema().clone()).run().ok()?;
    fs::read_to_string(scratch).ok()
}

/// Describes the difference between two outputs, in terms of fields if possible; empty if they are equal.
pub(super) fn difference(
    expected: &[u8],
    found: &[u8],
    as_json: impl FnOnce() -> Option<(String, String)>,
    paint: Paint,
) -> String {
    if expected == found {
        return String::new();
    }
    let texts = core::str::from_utf8(expected).ok().zip(core::str::from_utf8(found).ok());
    let fields = texts
        .filter(|(expected, found)| is_json(expected) || is_json(found))
        .and_then(|(expected, found)| Some((documents(expected)?, documents(found)?)))
        .or_else(|| as_json().and_then(|(expected, found)| Some((documents(&expected)?, documents(&found)?))));
    if let Some((expected, found)) = fields {
        let told = of_documents(&expected, &found, paint);
        if !told.is_empty() {
            return told;
        }
    }
    match texts {
        Some((expected, found)) => shortened(&diff(&segments(expected), &segments(found), paint)),
        None => of_bytes(expected, found),
    }
}

/// Interchanges without line breaks, a segment a line.
fn segments(text: &str) -> String {
    let terminator = match text.get(..3) {
        Some("ISA") => text.chars().nth(105),
        Some("UNA" | "UNB") => Some('\''),
        _ => None,
    };
    match terminator {
        Some(terminator) if !text.contains('\n') => text.replace(terminator, &format!("{terminator}\n")),
        _ => text.to_owned(),
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn of_documents(expected: &[Vec<Field>], found: &[Vec<Field>], paint: Paint) -> String {
    let mut told = String::new();
    let mut rows: Vec<String> = Vec::new();
    for (number, (expected, found)) in (1..).zip(expected.iter().zip(found)) {
        of_fields(number, expected, found, paint, &mut rows);
    }
    let more = rows.len().saturating_sub(FIELDS_SHOWN);
    rows.truncate(FIELDS_SHOWN);
    rows.iter().for_each(|row| told.push_str(row));
    if more > 0 {
        let _ = writeln!(told, "… and {more} more");
    }
    if expected.len() != found.len() {
        let _ = writeln!(told, "{} documents are expected, and {} came", expected.len(), found.len());
    }
    told
}

fn of_fields(number: usize, expected: &[Field], found: &[Field], paint: Paint, rows: &mut Vec<String>) {
    let by_path = |fields: &[Field]| -> BTreeMap<String, String> {
        fields.iter().map(|field| (field.path.clone(), field.raw.clone())).collect()
    };
    let (wanted, came) = (by_path(expected), by_path(found));
    let mut row = |path: &str, what: String| {
        let path = if path.is_empty() { "the document" } else { path };
        rows.push(format!("document {number}: {}: {what}\n", paint.text(Style::Strong, path)));
    };
    for Field { path, raw } in expected {
        match came.get(path) {
            Some(other) if other == raw => {}
            Some(other) => row(path, format!("expected {raw}, found {other}")),
            None => row(path, format!("expected {raw}, found nothing")),
        }
    }
    for Field { path, raw } in found.iter().filter(|field| !wanted.contains_key(&field.path)) {
        row(path, format!("expected nothing, found {raw}"));
    }
}

/// Shortens a long difference.
fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown: String = lines.iter().take(LINES_SHOWN).map(|line| format!("{line}\n")).collect();
    if lines.len() > LINES_SHOWN {
        let _ = writeln!(shown, "… and {} more lines", lines.len() - LINES_SHOWN);
    }
    shown
}

fn of_bytes(expected: &[u8], found: &[u8]) -> String {
    let at = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
    format!("the files differ from byte {at} on; {} bytes are expected, and {} came\n", expected.len(), found.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn check(expected: &str, found: &str, expect: &expect_test::Expect) {
        expect.assert_eq(&difference(expected.as_bytes(), found.as_bytes(), || None, Paint::new(false)));
    }

    #[test]
    fn fields_are_told_by_their_paths() {
        check("{\"a\":1}\n", "{\"a\":1}\n", &expect![[""]]);
        check(
            "{\"a\":1,\"b\":[{\"c\":1.5},{\"c\":2}]}\n{\"a\":2}\n",
            "{\"a\":1,\"b\":[{\"c\":1.50},{\"d\":2}]}\n",
            &expect![[r#"
                document 1: b[0].c: expected 1.5, found 1.50
                document 1: b[1].c: expected 2, found nothing
                document 1: b[1].d: expected nothing, found 2
                2 documents are expected, and 1 came
            "#]],
        );
    }

    #[test]
    fn what_has_no_fields_is_told_by_lines_or_bytes() {
        check(
            "a\nb\n",
            "a\nc\n",
            &expect![[r#"
            @@ -1,2 +1,2 @@
             a
            -b
            +c
        "#]],
        );
        check(
            "UNB+a'UNZ+1'",
            "UNB+a'UNZ+2'",
            &expect![[r#"
            @@ -1,2 +1,2 @@
             UNB+a'
            -UNZ+1'
            +UNZ+2'
        "#]],
        );
        // The fields are the same, in another order.
        check(
            "{\"a\":1,\"b\":2}\n",
            "{\"b\":2,\"a\":1}\n",
            &expect![[r#"
            @@ -1,1 +1,1 @@
            -{"a":1,"b":2}
            +{"b":2,"a":1}
        "#]],
        );
        assert_eq!(
            difference(b"\xff1", b"\xff2", || None, Paint::new(false)),
            "the files differ from byte 1 on; 2 bytes are expected, and 2 came\n"
        );
    }
}
