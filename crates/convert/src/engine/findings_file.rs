//! The side file of a rejects file: why each record was rejected, one JSON object a line.

use std::io::{self, Write};
use std::path::Path;

use quayline_core::{Code, Fault, Finding, Place, PlacePart, RecordNumber, Severity};
use quayline_pipeline::write_json_string;

use crate::engine::partial::PartialFile;
use crate::engine::resume;
use crate::error::ConvertError;

/// Findings as JSON lines: record, byte, code, severity, message, place, path, detail, hint. Never the payload: findings hold none.
#[derive(Debug)]
pub(crate) struct FindingsFile {
    pub(crate) file: PartialFile,
    line: Vec<u8>,
}

impl FindingsFile {
    pub(crate) fn create(path: &Path) -> Result<Self, ConvertError> {
        Ok(FindingsFile { file: PartialFile::create(path)?, line: Vec::new() })
    }

    /// Resumes after the `len` bytes that were durable at the checkpoint. The number of the record does not tell what is durable: the header of an
    /// interchange has findings before its first transaction is a record.
    pub(crate) fn resume(path: &Path, len: u64) -> Result<Self, ConvertError> {
        Ok(FindingsFile { file: resume::reopen(path, len)?, line: Vec::new() })
    }

    /// Appends all findings. The maximum number of findings applies to the displayed ones only; the file has the reason for each rejected record.
    pub(crate) fn append(&mut self, findings: &[Finding], bare: &[(RecordNumber, Code)]) -> io::Result<()> {
        self.line.clear();
        for finding in findings {
            json(finding, &mut self.line);
            self.write_part()?;
        }
        for (record, code) in bare {
            let place = Place { record: Some(*record), ..Place::default() };
            let message = "rejected; too many records near it were rejected to keep the details";
            let finding = Finding::error(*code, Fault::Sender, message).at(place);
            json(
                &finding.hint("correct the cause of the other findings, and convert the rejects again"),
                &mut self.line,
            );
            self.write_part()?;
        }
        self.file.write_all(&self.line)
    }

    /// Writes a full part: a block of short records may have more findings than memory for their text.
    fn write_part(&mut self) -> io::Result<()> {
        if self.line.len() >= PART_BYTES {
            self.file.write_all(&self.line)?;
            self.line.clear();
        }
        Ok(())
    }
}

/// Bytes of lines that are written at once.
const PART_BYTES: usize = 64 << 10;

const RECORD: &[u8] = b"{\"record\":";

fn json(finding: &Finding, out: &mut Vec<u8>) {
    let place = &finding.place;
    let severity = match finding.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    out.extend_from_slice(RECORD);
    // Writing to memory does not fail.
    let _ = write!(out, "{}", place.record.map_or(0, |record| record.0));
    if let Some(byte) = place.byte {
        let _ = write!(out, ",\"byte\":{byte}");
    }
    let _ = write!(out, ",\"code\":\"{}\",\"severity\":\"{severity}\",\"message\":", finding.code);
    write_json_string(&finding.message, out);
    if !place.parts.is_empty() {
        let mut before = ",\"place\":{";
        for (name, part) in &place.parts {
            let _ = write!(out, "{before}\"{}\":", name.as_str());
            before = ",";
            match part {
                PlacePart::Number(number) => {
                    let _ = write!(out, "{number}");
                }
                PlacePart::Text(text) => write_json_string(text, out),
            }
        }
        out.push(b'}');
    }
    for (key, text) in [("path", &place.path), ("detail", &place.detail), ("hint", &finding.hint)] {
        if let Some(text) = text {
            let _ = write!(out, ",\"{key}\":");
            write_json_string(text, out);
        }
    }
    out.extend_from_slice(b"}\n");
}
