//! Places in guide files, and the findings at them.

use std::collections::BTreeMap;
use std::sync::Arc;

use quayline_core::{Code, Fault, Finding, Findings, Place};

use super::codes;

/// Characters of one line of one file.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Span {
    pub(super) file: u32,
    /// Line, from 1.
    pub(super) line: u32,
    /// Column in characters, from 1.
    pub(super) column: u32,
    pub(super) width: u32,
}

/// The files that were read, and their faults.
#[derive(Debug)]
pub(super) struct Report {
    files: Vec<(Arc<str>, Arc<str>)>,
    /// Faults by place; the code distinguishes faults at one place.
    found: BTreeMap<(Span, &'static str), Told>,
    max: usize,
    more: usize,
}

#[derive(Debug)]
struct Told {
    message: String,
    hint: String,
}

impl Report {
    pub(super) fn new(findings_max: usize) -> Self {
        Report { files: Vec::new(), found: BTreeMap::new(), max: findings_max.max(1), more: 0 }
    }

    /// Adds a file; its number.
    pub(super) fn file(&mut self, name: &str, text: Arc<str>) -> u32 {
        self.files.push((name.into(), text));
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn error(&mut self, code: Code, at: Span, message: impl Into<String>, hint: impl Into<String>) {
        // A line that is parsed twice reports its faults once.
        if self.found.contains_key(&(at, code.0)) {
            return;
        }
        if self.found.len() >= self.max {
            self.more += 1;
            return;
        }
        self.found.insert((at, code.0), Told { message: message.into(), hint: hint.into() });
    }

    /// Returns all findings in the order of their places.
    pub(super) fn finish(self) -> Result<(), Findings> {
        if self.found.is_empty() {
            return Ok(());
        }
        let mut findings = Vec::new();
        // Findings are in the order of their lines, so that each file is read once.
        let mut lines = (u32::MAX, 0, "".lines(), "");
        for ((at, code), Told { message, hint }) in self.found {
            let Some((name, text)) = self.files.get(at.file as usize) else { continue };
            if lines.0 != at.file {
                lines = (at.file, 0, text.lines(), "");
            }
            while lines.1 < at.line {
                (lines.1, lines.3) = (lines.1 + 1, lines.2.next().unwrap_or_default());
            }
            let place = Place::source(name, at.line, at.column.max(1), at.width, lines.3);
            let finding = Finding::error(Code(code), Fault::Config, message).at(place);
            findings.push(if hint.is_empty() { finding } else { finding.hint(hint) });
        }
        if self.more > 0 {
            let message = format!("{} more errors are not shown; `--limit findings=N` shows more", self.more);
            findings.push(Finding::error(codes::LIMIT, Fault::Config, message));
        }
        Err(Findings(findings))
    }
}
