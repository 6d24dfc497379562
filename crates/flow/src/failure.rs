//! Failure of a node while it processes a message.

use quayline_core::{Code, Fault, Finding, Findings, Place, Severity};
use quayline_pipeline::UnitReport;
use quayline_store::queue::MessageId;
use quayline_store::{Cause, StoreError};

use crate::codes;

/// A failure of a node. It travels to the `failure` terminal, to the nearest `try`, to the `catch` terminal of the input, or rolls the unit of work
/// back.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) finding: Box<Finding>,
    /// Name of the node, once it is known.
    pub(crate) node: Option<String>,
    /// COBOL file status, of a record operation.
    pub(crate) status: Option<&'static str>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure { finding: Box::new(Finding::error(code, Fault::Sender, message).hint(hint)), node: None, status: None }
    }

    /// Creates the failure of other work: its first finding, and the number of the others.
    pub(crate) fn of(Findings(found): Findings) -> Self {
        let more = found.len().saturating_sub(1);
        let error = |finding: &Finding| finding.severity == Severity::Error;
        let at = found.iter().position(error).unwrap_or(0);
        let unknown = || Finding::error(codes::BROKEN, Fault::Ours, "the work failed without a finding");
        let mut finding = found.into_iter().nth(at).unwrap_or_else(unknown);
        if more > 0 {
            finding.message = format!("{}; {more} more findings", finding.message);
        }
        Failure { finding: Box::new(finding), node: None, status: None }
    }

    /// Creates the failure of a conversion that refused a message.
    pub(crate) fn unreadable(code: Code, report: UnitReport, what: &str) -> Self {
        let lost = report.lost.map(|findings| findings.0).unwrap_or_default();
        let found = Findings(report.findings.into_iter().chain(lost).collect());
        let first = found.first_error().cloned();
        let message = match &first {
            Some(first) => format!("{what}: {} ({})", first.message, first.code),
            None => what.to_owned(),
        };
        let mut finding = Finding::error(code, Fault::Sender, message);
        if let Some(first) = first {
            finding.place = first.place;
            finding.hint = first.hint;
        }
        Failure { finding: Box::new(finding), node: None, status: None }
    }

    /// Creates the failure of a message that violates its standard.
    pub(crate) fn rejected(code: Code, first: Finding) -> Self {
        let message = format!("the message does not fit its shape: {} ({})", first.message, first.code);
        let finding = Finding { code, message, ..first };
        Failure { finding: Box::new(finding), node: None, status: None }
    }

    /// Returns the cause that a message carries to its backout queue.
    pub(crate) fn cause(&self, flow: &str) -> Cause {
        let finding = self.located(flow);
        Cause { code: finding.code.to_string(), place: finding.place.to_string(), text: finding.message.to_string() }
    }

    /// Returns the finding with the flow, node and message as its place. The id is as `quayline queue browse` prints it.
    pub(crate) fn located_for(&self, flow: &str, id: &MessageId) -> Finding {
        let mut finding = self.located(flow);
        if let Some(at) = &mut finding.place.path {
            at.push_str(&format!(", message {}", quayline_core::hex(id)));
        }
        finding
    }

    /// Returns the finding with the flow and node as its place.
    pub(crate) fn located(&self, flow: &str) -> Finding {
        let mut finding = (*self.finding).clone();
        let at = self.node.as_ref().map_or_else(|| format!("flow {flow}"), |node| format!("flow {flow}, node {node}"));
        let inner = finding.place.to_string();
        let detail = (!inner.is_empty()).then_some(inner);
        finding.place = Place { path: Some(at), detail, ..Place::default() };
        finding
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let status = Some(error.status().digits());
        Failure { finding: Box::new(error.finding()), node: None, status }
    }
}
