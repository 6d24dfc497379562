//! Content of a received acknowledgment, as types.

use core::fmt;

use super::list::AcknowledgmentList;
use crate::position::Position;

/// One statement of a received acknowledgment. Transactions come before their group (X12), or after it (EDIFACT, which judges
/// groups and interchanges first).
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Report {
    /// TA1 or UCI.
    Interchange(InterchangeReport),
    /// AK1 with AK9, or UCF.
    Group(GroupReport),
    /// AK2 with AK5 or IK5, or UCM.
    Transaction(TransactionReport),
}

/// Kind of acknowledgment.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AcknowledgmentKind {
    /// TA1 segment.
    Ta1,
    /// Functional acknowledgment 997.
    Functional,
    /// Implementation acknowledgment 999.
    Implementation,
    /// EDIFACT's CONTRL.
    Contrl,
}

/// Outcome of an interchange, a group or a transaction.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// `A`; CONTRL 7.
    Accepted,
    /// `E`.
    AcceptedWithErrors,
    /// `P`: of a group, some transactions are rejected.
    PartiallyAccepted,
    /// `R`; CONTRL 4.
    Rejected,
    /// `M`: rejected, the message authentication code is wrong.
    AuthenticationFailed,
    /// `W`: rejected, the assurance is not valid.
    AssuranceFailed,
    /// `X`: rejected, the decrypted content is not readable.
    NotReadable,
    /// CONTRL 8: received, without further statement.
    Received,
    /// A code that the standard does not have.
    Other(String),
}

impl Outcome {
    pub(super) fn of(code: &str) -> Self {
        match code {
            "A" | "7" => Outcome::Accepted,
            "E" => Outcome::AcceptedWithErrors,
            "P" => Outcome::PartiallyAccepted,
            "R" | "4" => Outcome::Rejected,
            "M" => Outcome::AuthenticationFailed,
            "W" => Outcome::AssuranceFailed,
            "X" => Outcome::NotReadable,
            "8" => Outcome::Received,
            other => Outcome::Other(other.to_owned()),
        }
    }

    /// Returns true if the unit is rejected completely.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        matches!(
            self,
            Outcome::Rejected | Outcome::AuthenticationFailed | Outcome::AssuranceFailed | Outcome::NotReadable
        )
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Accepted => "accepted",
            Outcome::AcceptedWithErrors => "accepted, with errors",
            Outcome::PartiallyAccepted => "partially accepted",
            Outcome::Rejected => "rejected",
            Outcome::AuthenticationFailed => "rejected, its authentication failed",
            Outcome::AssuranceFailed => "rejected, its assurance is not valid",
            Outcome::NotReadable => "rejected, what was decrypted is not readable",
            Outcome::Received => "received",
            Outcome::Other(_) => "answered with a code that the standard does not have",
        })
    }
}

/// An error code of one of the lists.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AcknowledgmentCode {
    /// Code list.
    pub list: AcknowledgmentList,
    /// The code as received.
    pub code: String,
}

impl AcknowledgmentCode {
    /// Returns the meaning of the code.
    #[must_use]
    pub fn words(&self) -> &'static str {
        self.list.words(&self.code).unwrap_or("a code that the standard does not have")
    }
}

impl fmt::Display for AcknowledgmentCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// Content of TA1 or UCI.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InterchangeReport {
    /// TA1 or CONTRL.
    pub kind: AcknowledgmentKind,
    /// Position of the statement.
    pub at: Position,
    /// Sender of the acknowledged interchange.
    pub sender: String,
    /// Receiver of that interchange.
    pub receiver: String,
    /// ISA13 or data element 0020 of that interchange.
    pub control_number: String,
    /// ISA09 of that interchange (TA102).
    pub date: Option<String>,
    /// ISA10 of that interchange (TA103).
    pub time: Option<String>,
    /// Outcome of that interchange.
    pub outcome: Outcome,
    /// Reported faults.
    pub codes: Vec<AcknowledgmentCode>,
    /// Position in its service segments.
    pub service: Option<ServicePlace>,
}

/// Content of AK1 and AK9, or of UCF.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GroupReport {
    /// 997, 999 or CONTRL.
    pub kind: AcknowledgmentKind,
    /// Position of the statement.
    pub at: Position,
    /// GS01 of the group; EDIFACT does not say it.
    pub functional_id: Option<String>,
    /// GS06 or data element 0048.
    pub control_number: String,
    /// GS08.
    pub version: Option<String>,
    /// Outcome of the group; `None` if the acknowledgment ends before it.
    pub outcome: Option<Outcome>,
    /// Transactions that the group's trailer declared.
    pub declared: Option<u64>,
    /// Transactions received.
    pub received: Option<u64>,
    /// Transactions accepted.
    pub accepted: Option<u64>,
    /// Reported faults.
    pub codes: Vec<AcknowledgmentCode>,
    /// Position in its service segments.
    pub service: Option<ServicePlace>,
    /// Number of transactions that the acknowledgment reported individually.
    pub told: u64,
    /// Number of those that are rejected.
    pub told_rejected: u64,
}

impl GroupReport {
    /// Returns a contradiction between the counts of the acknowledgment, or between them and the outcome. A careful receiver inquires in that case.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        if self.kind == AcknowledgmentKind::Contrl {
            return None;
        }
        let Some(outcome) = &self.outcome else { return Some("the acknowledgment of the group has no end (AK9)") };
        let (Some(received), Some(accepted)) = (self.received, self.accepted) else {
            return Some("a count of the group is not a number");
        };
        let told = self.told - self.told_rejected;
        if accepted > received {
            Some("more transaction sets are accepted than were received")
        } else if self.told > 0 && self.told != received {
            Some("the number of transaction sets received differs from those reported")
        } else if self.told > 0 && !outcome.is_rejected() && told != accepted {
            Some("the number of transaction sets accepted differs from those reported")
        } else if *outcome == Outcome::Accepted && accepted < received {
            Some("the group is accepted, but not all of its transaction sets")
        } else if outcome.is_rejected() && accepted > 0 {
            Some("the group is rejected, but some of its transaction sets are accepted")
        } else {
            None
        }
    }
}

/// Content of AK2 to AK5, of AK2 to IK5, or of UCM to UCD.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TransactionReport {
    /// 997, 999 or CONTRL.
    pub kind: AcknowledgmentKind,
    /// Position of the statement.
    pub at: Position,
    /// Control number of the group that the transaction is of.
    pub group: Option<String>,
    /// Control number of the interchange that it is of (EDIFACT).
    pub interchange: Option<String>,
    /// ST01, or the message type.
    pub transaction: String,
    /// ST03; version, release, agency and association code of UNH S009 with colons.
    pub version: Option<String>,
    /// ST02 or data element 0062.
    pub control_number: String,
    /// Outcome of the transaction; `None` if the acknowledgment ends before it.
    pub outcome: Option<Outcome>,
    /// Reported faults of the transaction.
    pub codes: Vec<AcknowledgmentCode>,
    /// Position in its service segments.
    pub service: Option<ServicePlace>,
    /// Reported faults of its segments.
    pub segments: Vec<SegmentReport>,
    /// Segments and elements beyond those that a reader keeps.
    pub more: u64,
}

/// A place in a service segment (UCI, UCF, UCM).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServicePlace {
    /// Tag: `UNB`, `UNT`.
    pub tag: String,
    /// Element, from 1; 0 is the segment.
    pub element: u32,
    /// Component, from 1; 0 is the element.
    pub component: u32,
}

/// Content of AK3, IK3 or UCS.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SegmentReport {
    /// Tag; EDIFACT does not say it.
    pub tag: Option<String>,
    /// Position in the transaction, counting its header as 1. For a missing segment: its expected position (X12), or the preceding one (EDIFACT).
    pub position: u64,
    /// Loop.
    pub loop_id: Option<String>,
    /// Reported faults.
    pub codes: Vec<AcknowledgmentCode>,
    /// Triggers of a situational requirement (CTX).
    pub triggers: Vec<TriggerReport>,
    /// The unit of business that the segment is of (CTX).
    pub unit: Option<UnitReport>,
    /// Reported faults of its elements.
    pub elements: Vec<ElementReport>,
}

/// The unit of business that a fault is in, such as a claim.
#[derive(Clone, Eq, PartialEq)]
pub struct UnitReport {
    /// Element that identifies the unit: `CLM01`.
    pub name: String,
    /// Value of that element. It is payload.
    pub value: String,
}

/// Trigger of a situational requirement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TriggerReport {
    /// Tag of the segment.
    pub tag: String,
    /// Position in the transaction.
    pub position: u64,
    /// Loop that contains it.
    pub loop_id: Option<String>,
    /// Element, component and repetition, from 1; 0 if absent.
    pub place: (u32, u32, u32),
}

/// Content of AK4, IK4 or UCD.
#[derive(Clone, Eq, PartialEq)]
pub struct ElementReport {
    /// Element in its segment, from 1.
    pub element: u32,
    /// Component, from 1; 0 is the element.
    pub component: u32,
    /// Repetition, from 1; 0 if absent.
    pub repetition: u32,
    /// Number of the data element in the standard's directory.
    pub data_element: Option<String>,
    /// Reported fault.
    pub code: AcknowledgmentCode,
    /// The value that is wrong. It is payload.
    pub copy: Option<String>,
    /// Triggers of a situational requirement (CTX).
    pub triggers: Vec<TriggerReport>,
}

// Debug output ends up in logs, so it has no payload.
impl fmt::Debug for UnitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnitReport").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for ElementReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElementReport")
            .field("element", &self.element)
            .field("component", &self.component)
            .field("repetition", &self.repetition)
            .field("data_element", &self.data_element)
            .field("code", &self.code)
            .field("has_copy", &self.copy.is_some())
            .field("triggers", &self.triggers)
            .finish()
    }
}

/// Formats the report as one line for each statement: unit, outcome, reason and position, never a value of the data.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Interchange(report) => {
                write!(f, "interchange {}: {}", report.control_number, report.outcome)?;
                reasons(f, &report.codes, report.service.as_ref())
            }
            Report::Group(report) => {
                let id = report.functional_id.as_deref().unwrap_or("");
                write!(f, "group {id}{}{}: ", if id.is_empty() { "" } else { " " }, report.control_number)?;
                outcome(f, report.outcome.as_ref())?;
                if let (Some(accepted), Some(received)) = (report.accepted, report.received) {
                    write!(f, ", {accepted} of {received} transactions accepted")?;
                }
                reasons(f, &report.codes, report.service.as_ref())
            }
            Report::Transaction(report) => {
                write!(f, "transaction {} {}: ", report.transaction, report.control_number)?;
                outcome(f, report.outcome.as_ref())?;
                reasons(f, &report.codes, report.service.as_ref())?;
                for segment in &report.segments {
                    write!(f, "\n  segment {}", segment.position)?;
                    if let Some(tag) = &segment.tag {
                        write!(f, " {tag}")?;
                    }
                    if let Some(id) = &segment.loop_id {
                        write!(f, " in loop {id}")?;
                    }
                    reasons(f, &segment.codes, None)?;
                    for element in &segment.elements {
                        write!(f, "\n    element {}", element.element)?;
                        if element.component > 0 {
                            write!(f, ", component {}", element.component)?;
                        }
                        if element.repetition > 0 {
                            write!(f, ", repetition {}", element.repetition)?;
                        }
                        if let Some(number) = &element.data_element {
                            write!(f, " (data element {number})")?;
                        }
                        write!(f, ": {}", element.code)?;
                    }
                }
                if report.more > 0 { write!(f, "\n  and {} more", report.more) } else { Ok(()) }
            }
        }
    }
}

fn outcome(f: &mut fmt::Formatter<'_>, outcome: Option<&Outcome>) -> fmt::Result {
    match outcome {
        Some(outcome) => write!(f, "{outcome}"),
        None => f.write_str("not decided: the acknowledgment ends too early"),
    }
}

fn reasons(f: &mut fmt::Formatter<'_>, codes: &[AcknowledgmentCode], service: Option<&ServicePlace>) -> fmt::Result {
    let mut separator = ": ";
    for code in codes {
        write!(f, "{separator}{code}")?;
        separator = "; ";
    }
    let Some(place) = service else { return Ok(()) };
    write!(f, " (in {}", place.tag)?;
    if place.element > 0 {
        write!(f, ", element {}", place.element)?;
    }
    if place.component > 0 {
        write!(f, ", component {}", place.component)?;
    }
    f.write_str(")")
}
