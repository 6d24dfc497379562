//! The side file of a rejects file: why each record was rejected, one JSON object a line.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use quayline_core::{Code, Fault, Finding, Place, PlacePart, RecordNumber, Severity};
use quayline_pipeline::write_json_string;

use crate::destination::partial_path;
use crate::engine::partial::PartialFile;
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

    /// Resumes with the findings of records before `next`. A checkpoint has no length of this file, but each line has its record.
    pub(crate) fn resume(path: &Path, next: RecordNumber) -> io::Result<Self> {
        let mut reader = BufReader::new(fs::File::open(partial_path(path))?);
        let (mut len, mut line) = (0u64, Vec::new());
        loop {
            line.clear();
            let n = reader.read_until(b'\n', &mut line)?;
            if n == 0 || !line.ends_with(b"\n") || record_of(&line).is_none_or(|record| record >= next.0) {
                break;
            }
            len += n as u64;
        }
        match PartialFile::resume(path, len)? {
            Ok(file) => Ok(FindingsFile { file, line: Vec::new() }),
            Err(_) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read")),
        }
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

fn record_of(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(RECORD)?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    core::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

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
