//! The result of receiving a source.

use quayline_core::{Finding, Severity};

use crate::entry::EntryId;

/// Result of receiving a source.
#[derive(Clone, Debug, Default)]
pub struct ReceiveReport {
    /// Interchanges, including those that an earlier run processed.
    pub interchanges: u64,
    /// Transactions of this run.
    pub transactions: u64,
    /// Transactions that were delivered, including acknowledgments.
    pub delivered: u64,
    /// Transactions that were rejected, and rejected interchanges without transactions.
    pub rejected: u64,
    /// Transactions in duplicate interchanges, and duplicate interchanges without transactions.
    pub duplicates: u64,
    /// Transactions that matched no rule.
    pub unrouted: u64,
    /// Acknowledgments sent.
    pub acknowledgments: u64,
    /// Reports of acknowledgments that were matched to sent documents.
    pub matched: u64,
    /// True if the run continued an earlier one.
    pub resumed: bool,
    /// Findings with the entry that they are about, at most [`ReceiveReport::FINDINGS_MAX`].
    pub findings: Vec<(EntryId, Finding)>,
    /// Findings beyond those.
    pub findings_more: u64,
}

impl ReceiveReport {
    /// Findings that a report keeps.
    pub const FINDINGS_MAX: usize = 100;

    /// Returns true if everything was delivered.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.rejected == 0
            && self.duplicates == 0
            && self.unrouted == 0
            && !self.findings.iter().any(|(_, finding)| finding.severity == Severity::Error)
    }

    pub(crate) fn find(&mut self, id: EntryId, finding: &Finding) {
        if self.findings.len() < ReceiveReport::FINDINGS_MAX {
            self.findings.push((id, finding.clone()));
        } else {
            self.findings_more += 1;
        }
    }
}
