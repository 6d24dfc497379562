//! Places in guide files, and the findings at them.

use std::sync::Arc;

use quayline_core::{Code, Fault, Finding, Findings, Place};

use super::codes;

/// Characters of one line of one file.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Span {
    pub(super) file: u32,
    /// From 1.
    pub(super) line: u32,
    /// In characters, from 1.
    pub(super) column: u32,
    pub(super) width: u32,
}

/// The files that were read, and what is wrong with them.
#[derive(Debug)]
pub(super) struct Report {
    files: Vec<(Arc<str>, Arc<str>)>,
    found: Vec<(Span, Finding)>,
    max: usize,
    more: usize,
}

impl Report {
    pub(super) fn new(findings_max: usize) -> Self {
        Report { files: Vec::new(), found: Vec::new(), max: findings_max.max(1), more: 0 }
    }

    /// Adds a file; its number.
    pub(super) fn file(&mut self, name: &str, text: Arc<str>) -> u32 {
        self.files.push((name.into(), text));
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn error(&mut self, code: Code, at: Span, message: impl Into<String>, hint: impl Into<String>) {
        // A line that is looked at twice tells its faults once.
        if self.found.iter().any(|(place, finding)| *place == at && finding.code == code) {
            return;
        }
        if self.found.len() >= self.max {
            self.more += 1;
            return;
        }
        let finding = Finding::error(code, Fault::Config, message).at(self.place(at));
        let hint = hint.into();
        let finding = if hint.is_empty() { finding } else { finding.hint(hint) };
        self.found.push((at, finding));
    }

    fn place(&self, at: Span) -> Place {
        let Some((name, text)) = self.files.get(at.file as usize) else { return Place::default() };
        let line = text.lines().nth((at.line as usize).saturating_sub(1)).unwrap_or_default();
        Place::source(name, at.line, at.column.max(1), at.width, line)
    }

    /// All findings in the order of their places.
    pub(super) fn finish(mut self) -> Result<(), Findings> {
        if self.found.is_empty() {
            return Ok(());
        }
        self.found.sort_by_key(|(at, _)| *at);
        let mut findings: Vec<Finding> = self.found.into_iter().map(|(_, finding)| finding).collect();
        if self.more > 0 {
            let message = format!("{} more errors are not shown; `--limit findings=N` shows more", self.more);
            findings.push(Finding::error(codes::LIMIT, Fault::Config, message));
        }
        Err(Findings(findings))
    }
}
