//! Details of entries: the properties that no index contains, with findings and history.

use quayline_core::{Finding, Severity};
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct HistoryLine {
    /// Milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
    /// Description of the event.
    pub what: String,
}

/// A finding as the store keeps it: no payload.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct StoredFinding {
    /// Code of the finding.
    pub code: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The message.
    pub message: String,
    /// The place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The remedy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

impl StoredFinding {
    /// Converts a finding to its stored form.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        StoredFinding {
            code: finding.code.to_string(),
            severity: match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            }
            .to_owned(),
            message: finding.message.clone(),
            place: finding.place.to_string(),
            hint: finding.hint.clone().unwrap_or_default(),
        }
    }
}

/// Findings of one entry that are stored; the rest is counted.
pub const FINDINGS_KEPT_MAX: usize = 100;

/// Properties of an entry that no index contains.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct Details {
    /// `X12` or `EDIFACT`; empty where it is unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub standard: String,
    /// ST01, GS01, or the message type.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub document: String,
    /// Version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Our identity, by the name of its file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub own: String,
    /// Qualifier and identification of the sender.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sender: String,
    /// Qualifier and identification of the receiver.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub receiver: String,
    /// Number of the interchange.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub interchange: String,
    /// Number of the group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// True if the interchange is a test.
    #[serde(skip_serializing_if = "is_false")]
    pub test: bool,
    /// Entry of the interchange that it is in.
    #[serde(skip_serializing_if = "is_zero")]
    pub parent: u64,
    /// Entry that it replaces or answers.
    #[serde(skip_serializing_if = "is_zero")]
    pub about: u64,
    /// Entry that replaces it.
    #[serde(skip_serializing_if = "is_zero")]
    pub replaced_by: u64,
    /// Entry of the acknowledgment that answers it.
    #[serde(skip_serializing_if = "is_zero")]
    pub answered_by: u64,
    /// The rule that took it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Digest of the map and its files, as hexadecimal digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub map: String,
    /// Name and version of the guide that checked it, and the digest of the partner's guides, as hexadecimal digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub guide: String,
    /// Bytes.
    pub bytes: u64,
    /// Transactions, of an interchange or group.
    #[serde(skip_serializing_if = "is_zero")]
    pub transactions: u64,
    /// Number of those transactions that were rejected or unrouted.
    #[serde(skip_serializing_if = "is_zero")]
    pub transactions_bad: u64,
    /// Origin: a file, or `<stdin>`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Destinations of the output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Fields to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, String)>,
    /// Findings, at most [`FINDINGS_KEPT_MAX`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<StoredFinding>,
    /// Findings beyond those.
    #[serde(skip_serializing_if = "is_zero")]
    pub findings_more: u64,
    /// Events in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryLine>,
    /// Days until a purge may remove the entry.
    #[serde(skip_serializing_if = "is_zero")]
    pub keep_days: u64,
    /// Bytes of a received interchange that are kept as they came.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept_bytes: u64,
    /// Days until a purge may remove these bytes, if that is before the entry; 0 for as long as the entry.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept_days: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Lines of history that an entry keeps: the newest.
const HISTORY_MAX: usize = 64;

impl Details {
    /// Adds findings up to the limit and counts the rest.
    pub fn add_findings<'f>(&mut self, findings: impl IntoIterator<Item = &'f Finding>) {
        for finding in findings {
            if self.findings.len() < FINDINGS_KEPT_MAX {
                self.findings.push(StoredFinding::of(finding));
            } else {
                self.findings_more += 1;
            }
        }
    }

    /// Adds a line to the history.
    pub fn happened(&mut self, at_ms: u64, what: impl Into<String>) {
        if self.history.len() >= HISTORY_MAX {
            self.history.remove(1);
        }
        self.history.push(HistoryLine { at_ms, what: what.into() });
    }

    /// Records the entry of the acknowledgment of an interchange.
    pub(crate) fn answered(&mut self, at_ms: u64, by: u64) {
        self.answered_by = by;
        self.happened(at_ms, format!("acknowledged by entry {by}"));
    }
}
