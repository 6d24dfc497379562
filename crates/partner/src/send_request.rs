//! A request to send documents, and its result.

use quayline_core::{Finding, Severity};

use crate::entry::EntryId;
use crate::source::Again;

/// A request to send documents.
#[derive(Clone, Debug)]
pub struct SendRequest<'a> {
    /// Name of the source in entries.
    pub name: &'a str,
    /// Name of the partner; `None` for the receiver in the interchange that the map makes.
    pub to: Option<&'a str>,
    /// Name of our identity; `None` for the first of our files.
    pub from: Option<&'a str>,
    /// Kind of document, which rules test.
    pub document: &'a str,
    /// Treatment of a source that was sent before.
    pub again: Again,
}

/// Result of sending documents.
#[derive(Clone, Debug, Default)]
pub struct SendReport {
    /// Documents of this run.
    pub transactions: u64,
    /// Documents that were put into interchanges at once.
    pub sent: u64,
    /// Documents that wait for their envelope.
    pub waiting: u64,
    /// Documents that were rejected.
    pub rejected: u64,
    /// Documents that an earlier run of the same source rejected.
    pub rejected_before: u64,
    /// Interchanges written.
    pub interchanges: u64,
    /// Entries of these documents, at most 100.
    pub entries: Vec<EntryId>,
    /// True if the run continued an earlier one.
    pub resumed: bool,
    /// True if the same bytes were sent before, so that nothing was done.
    pub repeated: bool,
    /// Findings with the entry that they are about, at most [`SendReport::FINDINGS_MAX`].
    pub findings: Vec<(EntryId, Finding)>,
    /// Findings beyond those.
    pub findings_more: u64,
}

impl SendReport {
    /// Findings that a report keeps.
    pub const FINDINGS_MAX: usize = 100;

    pub(crate) fn find(&mut self, id: EntryId, finding: &Finding) {
        if self.findings.len() >= SendReport::FINDINGS_MAX {
            self.findings_more += 1;
            // An error takes the place of the last warning.
            let is_error = |finding: &Finding| finding.severity == Severity::Error;
            let last = self.findings.iter().rposition(|(_, kept)| !is_error(kept));
            let Some(last) = last.filter(|_| is_error(finding)) else { return };
            self.findings.remove(last);
        }
        self.findings.push((id, finding.clone()));
    }

    pub(crate) fn keep_entry(&mut self, id: EntryId) {
        if self.entries.len() < 100 {
            self.entries.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use quayline_core::{Code, Fault};

    use super::*;

    #[test]
    fn an_error_after_many_warnings_is_kept() {
        let mut report = SendReport::default();
        let warning = Finding::warning(Code("PTN-300"), Fault::Config, "a warning");
        (0..2 * SendReport::FINDINGS_MAX).for_each(|_| report.find(EntryId(1), &warning));
        report.find(EntryId(2), &Finding::error(Code("PTN-300"), Fault::Environment, "an error"));
        assert_eq!(report.findings.len(), SendReport::FINDINGS_MAX);
        assert_eq!(report.findings_more, SendReport::FINDINGS_MAX as u64 + 1);
        assert_eq!(
            report.findings.last().map(|(id, finding)| (*id, finding.severity)),
            Some((EntryId(2), Severity::Error))
        );
    }
}
