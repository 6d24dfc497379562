//! Findings as text and as JSON.

use quayline_core::{Fault, Finding, PlaceName, PlacePart, Severity};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::{Paint, Style};

/// Formats a finding as text, without a final newline. With colors, severity and code, the caret and the word `hint` are painted.
pub(crate) fn finding_text(finding: &Finding, color: bool) -> String {
    let plain = finding.to_string();
    if !color {
        return plain;
    }
    let paint = Paint::new(true);
    let style = match finding.severity {
        Severity::Note => Style::Note,
        Severity::Warning => Style::Warning,
        Severity::Error => Style::Error,
    };
    let mut lines = plain.split('\n');
    let first = lines.next().unwrap_or_default();
    let (head, message) = first.split_once(": ").unwrap_or((first, ""));
    let mut text = format!("{}: {}", paint.text(style, head), paint.text(Style::Strong, message));
    for line in lines {
        text.push('\n');
        text.push_str(&paint_line(line, paint, style));
    }
    text
}

fn paint_line(line: &str, paint: Paint, style: Style) -> String {
    if let Some(hint) = line.strip_prefix("hint: ") {
        return format!("{}: {hint}", paint.text(Style::Note, "hint"));
    }
    if let Some(at) = line.find('^')
        && line[at..].bytes().all(|b| b == b'^')
    {
        return format!("{}{}", &line[..at], paint.text(style, &line[at..]));
    }
    line.to_owned()
}

/// Formats a finding as one line of JSON, `quayline.finding/1` in docs/reference/json.md.
pub(crate) fn finding_json(finding: &Finding) -> String {
    serde_json::to_string(&FindingWire::of(finding)).expect("a finding has string keys and plain values")
}

impl<'a> FindingWire<'a> {
    /// Converts the finding for JSON.
    pub(crate) fn of(finding: &'a Finding) -> Self {
        FindingWire {
            schema: "quayline.finding/1",
            code: finding.code.0,
            severity: match finding.severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
                Severity::Error => "error",
            },
            fault: match finding.fault {
                Fault::Sender => "sender",
                Fault::Config => "config",
                Fault::Caller => "caller",
                Fault::Environment => "environment",
                Fault::Ours => "ours",
            },
            message: &finding.message,
            file: finding.place.file.as_deref(),
            line: finding.place.line,
            column: finding.place.column,
            record: finding.place.record.map(|record| record.0),
            byte: finding.place.byte.map(|byte| byte.0),
            path: finding.place.path.as_deref(),
            detail: finding.place.detail.as_deref(),
            place: (!finding.place.parts.is_empty()).then_some(PartsWire(&finding.place.parts)),
            hint: finding.hint.as_deref(),
        }
    }
}

/// The parts of a place as an object.
struct PartsWire<'a>(&'a [(PlaceName, PlacePart)]);

impl Serialize for PartsWire<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, part) in self.0 {
            match part {
                PlacePart::Number(number) => map.serialize_entry(name.as_str(), number)?,
                PlacePart::Text(text) => map.serialize_entry(name.as_str(), text)?,
            }
        }
        map.end()
    }
}

/// A finding as programs read it.
#[derive(Serialize)]
pub(crate) struct FindingWire<'a> {
    schema: &'static str,
    code: &'a str,
    severity: &'static str,
    fault: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PartsWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use quayline_core::{ByteOffset, Code, Place, RecordNumber};

    use super::*;

    fn finding() -> Finding {
        let place = Place {
            line_text: Some("       05 A PIC S9(7)V99.".to_owned()),
            width: Some(9),
            record: Some(RecordNumber(48_213)),
            byte: Some(ByteOffset(5_785_481)),
            path: Some("AMOUNT-DUE".to_owned()),
            ..Place::source(&"a.cpy".into(), 3, 17, 9, "       05 A PIC S9(7)V99.")
        };
        Finding::error(Code("COB-021"), Fault::Sender, "not a packed number: sign nibble is 0x0")
            .at(place)
            .hint("see docs")
    }

    fn check(found: &str, expected: Expect) {
        expected.assert_eq(found);
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let colored = finding_text(&finding(), true);
        let mut stripped = colored.clone();
        for code in ["\u{1b}[1;31m", "\u{1b}[1;36m", "\u{1b}[1m", "\u{1b}[0m"] {
            stripped = stripped.replace(code, "");
        }
        assert_eq!(stripped, finding_text(&finding(), false));
        check(
            &colored.replace('\u{1b}', "<esc>"),
            expect![[r#"
                <esc>[1;31merror[COB-021]<esc>[0m: <esc>[1mnot a packed number: sign nibble is 0x0<esc>[0m
                  at a.cpy:3:17, record 48213, byte 5785481, AMOUNT-DUE
                  |
                3 |        05 A PIC S9(7)V99.
                  |                 <esc>[1;31m^^^^^^^^^<esc>[0m

                <esc>[1;36mhint<esc>[0m: see docs"#]],
        );
    }

    #[test]
    fn json_has_only_what_is_known() {
        check(
            &finding_json(&finding()),
            expect![[
                r#"{"schema":"quayline.finding/1","code":"COB-021","severity":"error","fault":"sender","message":"not a packed number: sign nibble is 0x0","file":"a.cpy","line":3,"column":17,"record":48213,"byte":5785481,"path":"AMOUNT-DUE","hint":"see docs"}"#
            ]],
        );
    }
}
