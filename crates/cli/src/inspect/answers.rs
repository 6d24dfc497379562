//! Content of received acknowledgments, as text and as JSON: unit, outcome, reason and position, never a value of the data.

use quayline_convert::Survey;
use quayline_edi::acknowledge::{
    AcknowledgmentCode, AcknowledgmentKind, GroupReport, Outcome, Report, SegmentReport, ServicePlace,
    TransactionReport,
};
use serde::Serialize;

use super::edi::printable;
use crate::render::grouped;

/// Reports that are shown to people.
const SHOWN_MAX: usize = 100;

/// Formats each report in one or more lines. Groups come before their transactions.
pub(super) fn text(survey: &Survey) -> String {
    let mut text = String::new();
    let mut waiting: Vec<&TransactionReport> = Vec::new();
    for report in survey.answers.iter().take(SHOWN_MAX) {
        match report {
            // X12 reports a group after its transactions, EDIFACT before.
            Report::Transaction(transaction) if transaction.kind != AcknowledgmentKind::Contrl => {
                waiting.push(transaction);
            }
            Report::Transaction(_) => push(&mut text, 4, &report.to_string()),
            Report::Interchange(_) => push(&mut text, 2, &report.to_string()),
            Report::Group(group) => {
                push(&mut text, 2, &report.to_string());
                if let Some(contradiction) = group.contradiction() {
                    push(&mut text, 4, &format!("but {contradiction}"));
                }
                push_all(&mut text, &mut waiting);
            }
        }
    }
    push_all(&mut text, &mut waiting);
    let shown = survey.answers.len().min(SHOWN_MAX) as u64;
    let rest = survey.answers.len() as u64 + survey.answers_unlisted - shown;
    if rest > 0 {
        text.push_str(&format!("  and {} more\n", grouped(rest)));
    }
    text
}

fn push_all(text: &mut String, waiting: &mut Vec<&TransactionReport>) {
    for transaction in waiting.drain(..) {
        push(text, 4, &Report::Transaction(transaction.clone()).to_string());
    }
}

fn push(text: &mut String, indent: usize, lines: &str) {
    for line in lines.lines() {
        text.push_str(&format!("{:indent$}{}\n", "", printable(line)));
    }
}

/// `answers[]` of `quayline.interchanges/1` in docs/reference/json.md.
#[derive(Serialize)]
pub(super) struct AnswerWire<'a> {
    kind: &'static str,
    level: &'static str,
    byte: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receiver: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interchange: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    functional_group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    control_number: &'a str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contradiction: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    codes: Vec<CodeWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<ServiceWire<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    segments: Vec<SegmentWire<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    more: u64,
}

#[derive(Serialize)]
struct CodeWire<'a> {
    data_element: &'static str,
    code: &'a str,
    words: &'static str,
}

#[derive(Serialize)]
struct ServiceWire<'a> {
    tag: &'a str,
    element: u32,
    component: u32,
}

#[derive(Serialize)]
struct SegmentWire<'a> {
    position: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<&'a str>,
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    loop_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    codes: Vec<CodeWire<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    elements: Vec<ElementWire<'a>>,
}

#[derive(Serialize)]
struct ElementWire<'a> {
    element: u32,
    component: u32,
    repetition: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_element: Option<&'a str>,
    code: CodeWire<'a>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl<'a> AnswerWire<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        match report {
            Report::Interchange(report) => AnswerWire {
                sender: Some(&report.sender),
                receiver: Some(&report.receiver),
                outcome: outcome(Some(&report.outcome)),
                codes: codes(&report.codes),
                service: report.service.as_ref().map(service),
                ..AnswerWire::new(report.kind, "interchange", report.at.byte.0, &report.control_number)
            },
            Report::Group(report) => AnswerWire::group(report),
            Report::Transaction(report) => AnswerWire {
                interchange: report.interchange.as_deref(),
                group: report.group.as_deref(),
                transaction: Some(&report.transaction),
                version: report.version.as_deref(),
                outcome: outcome(report.outcome.as_ref()),
                codes: codes(&report.codes),
                service: report.service.as_ref().map(service),
                segments: report.segments.iter().map(segment).collect(),
                more: report.more,
                ..AnswerWire::new(report.kind, "transaction", report.at.byte.0, &report.control_number)
            },
        }
    }

    fn group(report: &'a GroupReport) -> Self {
        AnswerWire {
            functional_group: report.functional_id.as_deref(),
            version: report.version.as_deref(),
            outcome: outcome(report.outcome.as_ref()),
            declared: report.declared,
            received: report.received,
            accepted: report.accepted,
            contradiction: report.contradiction(),
            codes: codes(&report.codes),
            service: report.service.as_ref().map(service),
            ..AnswerWire::new(report.kind, "group", report.at.byte.0, &report.control_number)
        }
    }

    fn new(kind: AcknowledgmentKind, level: &'static str, byte: u64, control_number: &'a str) -> Self {
        let kind = match kind {
            AcknowledgmentKind::Ta1 => "TA1",
            AcknowledgmentKind::Functional => "997",
            AcknowledgmentKind::Implementation => "999",
            AcknowledgmentKind::Contrl => "CONTRL",
        };
        AnswerWire {
            kind,
            level,
            byte,
            sender: None,
            receiver: None,
            interchange: None,
            group: None,
            functional_group: None,
            transaction: None,
            version: None,
            control_number,
            outcome: "undecided",
            declared: None,
            received: None,
            accepted: None,
            contradiction: None,
            codes: Vec::new(),
            service: None,
            segments: Vec::new(),
            more: 0,
        }
    }
}

fn outcome(outcome: Option<&Outcome>) -> &'static str {
    match outcome {
        None => "undecided",
        Some(Outcome::Accepted) => "accepted",
        Some(Outcome::AcceptedWithErrors) => "accepted-with-errors",
        Some(Outcome::PartiallyAccepted) => "partially-accepted",
        Some(Outcome::Rejected) => "rejected",
        Some(Outcome::AuthenticationFailed) => "authentication-failed",
        Some(Outcome::AssuranceFailed) => "assurance-failed",
        Some(Outcome::NotReadable) => "not-readable",
        Some(Outcome::Received) => "received",
        Some(Outcome::Other(_)) => "unknown",
    }
}

fn codes(codes: &[AcknowledgmentCode]) -> Vec<CodeWire<'_>> {
    codes.iter().map(code).collect()
}

fn code(code: &AcknowledgmentCode) -> CodeWire<'_> {
    CodeWire { data_element: code.list.data_element(), code: &code.code, words: code.words() }
}

fn service(place: &ServicePlace) -> ServiceWire<'_> {
    ServiceWire { tag: &place.tag, element: place.element, component: place.component }
}

fn segment(report: &SegmentReport) -> SegmentWire<'_> {
    let elements = report.elements.iter().map(|element| ElementWire {
        element: element.element,
        component: element.component,
        repetition: element.repetition,
        data_element: element.data_element.as_deref(),
        code: code(&element.code),
    });
    SegmentWire {
        position: report.position,
        tag: report.tag.as_deref(),
        loop_id: report.loop_id.as_deref(),
        codes: codes(&report.codes),
        elements: elements.collect(),
    }
}
