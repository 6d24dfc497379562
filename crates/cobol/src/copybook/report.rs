//! Collects findings, bounded.

use quayline_core::{Code, Fault, Finding, Severity};

use super::source::{Sources, Span};

/// Findings so far. Beyond the limit they are only counted.
#[derive(Debug)]
pub(crate) struct Report {
    /// Each with its span, so that those outside the data division can be dropped.
    found: Vec<(Span, Finding)>,
    /// Findings before the data division that decide the meaning of its entries.
    in_front: Vec<(Span, Finding)>,
    max: usize,
    more: usize,
}

impl Report {
    pub(crate) fn new(findings_max: usize) -> Self {
        Report { found: Vec::new(), in_front: Vec::new(), max: findings_max, more: 0 }
    }

    pub(crate) fn error(
        &mut self,
        sources: &Sources,
        code: Code,
        at: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(at, Finding::error(code, Fault::Config, message).at(sources.place(at)).hint(hint));
    }

    pub(crate) fn warning(
        &mut self,
        sources: &Sources,
        code: Code,
        at: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(at, Finding::warning(code, Fault::Config, message).at(sources.place(at)).hint(hint));
    }

    pub(crate) fn push(&mut self, at: Span, finding: Finding) {
        if self.found.len() < self.max {
            self.found.push((at, finding));
        } else {
            self.more += usize::from(finding.severity == Severity::Error);
        }
    }

    /// Adds an error that is kept although it is before the data division.
    pub(crate) fn error_in_front(
        &mut self,
        sources: &Sources,
        code: Code,
        at: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if self.in_front.len() >= self.max {
            self.more += 1;
            return;
        }
        self.in_front.push((at, Finding::error(code, Fault::Config, message).at(sources.place(at)).hint(hint)));
    }

    /// Returns whether some of the text is missing or was not understood as text: missing parts of entries may follow from it.
    pub(crate) fn text_is_missing(&self) -> bool {
        self.found.iter().any(|(_, f)| f.severity == Severity::Error && f.code < crate::codes::NOTHING_DESCRIBED)
    }

    /// Keeps only the findings whose spans satisfy `keep`.
    pub(crate) fn retain(&mut self, keep: impl Fn(Span) -> bool) {
        self.found.retain(|(at, _)| keep(*at));
    }

    /// Returns the findings, in the order of their places if they are in one text, and whether one of them is an error.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, bool) {
        self.found.append(&mut self.in_front);
        self.found.sort_by_key(|(at, _)| (at.file, at.line, at.column));
        let failed = self.more > 0 || self.found.iter().any(|(_, f)| f.severity == Severity::Error);
        let mut findings: Vec<Finding> = self.found.into_iter().map(|(_, f)| f).collect();
        if self.more > 0 {
            let message = format!("{} more errors are not shown; `--limit findings=N` shows more", self.more);
            findings.push(Finding::error(crate::codes::SOURCE_TOO_LARGE, Fault::Config, message));
        }
        (findings, failed)
    }
}
