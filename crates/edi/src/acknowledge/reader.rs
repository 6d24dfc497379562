//! Reads acknowledgments that were received.

use super::list::AcknowledgmentList;
use super::report::{
    AcknowledgmentCode, AcknowledgmentKind, ElementReport, GroupReport, InterchangeReport, Outcome, Report,
    SegmentReport, ServicePlace, TransactionReport, TriggerReport, UnitReport,
};
use crate::delimiters::Standard;
use crate::envelope::{EnvelopePass, Event, Header};
use crate::position::Position;
use crate::segment::{Element, Segment};

/// Segments and elements that are kept of one transaction's report.
const PARTS_MAX: usize = 10_000;

/// Converts TA1, 997, 999 and CONTRL into [`Report`]s while the interchanges that contain them are read.
///
/// It is tolerant: it skips unknown segments and counts segments without a context ([`AcknowledgmentReader::stray`]).
/// Validation, not this reader, checks an acknowledgment against the guide for it.
///
/// ```
/// use quayline_core::Limits;
/// use quayline_edi::acknowledge::AcknowledgmentReader;
/// use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules};
///
/// let input = b"UNB+UNOA:3+B+A+990802:1557+1'UNH+1+CONTRL:D:3:UN'UCI+9+A+B+7'UCM+2+ORDERS:D:96A:UN+4+29+UNT+2'UNT+4+1'UNZ+1+1'";
/// let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
/// let mut acknowledgments = AcknowledgmentReader::default();
/// let mut lines = Vec::new();
/// let mut pass = reader.over(input, EndOfInput::Yes);
/// loop {
///     let event = pass.advance();
///     acknowledgments.event(event, &pass, &mut |report| lines.push(report.to_string()));
///     if event == Event::Done {
///         break;
///     }
/// }
/// assert_eq!(lines[0], "interchange 9: accepted");
/// assert_eq!(lines[1], "transaction ORDERS 2: rejected: the count of the trailer is wrong (in UNT, element 1)");
/// ```
#[derive(Clone, Debug, Default)]
pub struct AcknowledgmentReader {
    /// The acknowledgment that is being read; `None` outside of one.
    kind: Option<AcknowledgmentKind>,
    group: Option<GroupReport>,
    transaction: Option<TransactionReport>,
    /// Control numbers of the interchange that a CONTRL is about, and of the group that its messages are of.
    interchange: Option<String>,
    edifact_group: Option<String>,
    parts: usize,
    stray: u64,
}

impl AcknowledgmentReader {
    /// Takes an event of the reader; gives `take` each report that it completes.
    #[inline]
    pub fn event(&mut self, event: Event, pass: &EnvelopePass<'_>, take: &mut dyn FnMut(Report)) {
        match event {
            Event::TransactionStart => {
                let header = pass.transaction();
                self.kind = match (&header.transaction_type()[..], header.delimiters().standard) {
                    (b"997", Standard::X12) => Some(AcknowledgmentKind::Functional),
                    (b"999", Standard::X12) => Some(AcknowledgmentKind::Implementation),
                    (b"CONTRL", Standard::Edifact) => Some(AcknowledgmentKind::Contrl),
                    _ => None,
                };
            }
            Event::Segment if !pass.in_transaction() => {
                let segment = pass.segment();
                if segment.tag() == b"TA1" && segment.delimiters().standard == Standard::X12 {
                    take(Report::Interchange(ta1(&segment, pass.interchange(), pass.position())));
                }
            }
            Event::Segment => {
                if let Some(kind) = self.kind {
                    self.segment(kind, &pass.segment(), pass.position(), take);
                }
            }
            Event::TransactionEnd(_) => {
                self.end_transaction(take);
                self.end_group(take);
                self.kind = None;
                self.interchange = None;
                self.edifact_group = None;
            }
            _ => {}
        }
    }

    /// Segments of acknowledgments that belonged to nothing: an AK5 without AK2, a UCD without UCS.
    #[must_use]
    pub fn stray(&self) -> u64 {
        self.stray
    }

    fn segment(&mut self, kind: AcknowledgmentKind, segment: &Segment<'_>, at: Position, take: &mut dyn FnMut(Report)) {
        let is_999 = kind == AcknowledgmentKind::Implementation;
        let lists = if is_999 { &LISTS_999 } else { &LISTS_997 };
        match segment.tag() {
            b"AK1" => {
                self.end_transaction(take);
                self.end_group(take);
                self.group = Some(GroupReport {
                    functional_id: some(text(segment, 1, 1)),
                    control_number: text(segment, 2, 1),
                    version: some(text(segment, 3, 1)),
                    ..group(kind, at)
                });
            }
            b"AK2" => {
                self.end_transaction(take);
                self.parts = 0;
                self.transaction = Some(TransactionReport {
                    group: self.group.as_ref().map(|group| group.control_number.clone()),
                    transaction: text(segment, 1, 1),
                    control_number: text(segment, 2, 1),
                    version: some(text(segment, 3, 1)),
                    ..transaction(kind, at)
                });
            }
            b"AK3" | b"IK3" => self.note(SegmentReport {
                tag: some(text(segment, 1, 1)),
                position: number(&text(segment, 2, 1)).unwrap_or(0),
                loop_id: some(text(segment, 3, 1)),
                codes: codes(lists.segment, segment, 4..=8),
                ..SegmentReport::default()
            }),
            b"AK4" | b"IK4" => {
                let (element, component, repetition) = place(segment, 1);
                self.note_element(ElementReport {
                    element,
                    component,
                    repetition,
                    data_element: some(text(segment, 2, 1)),
                    code: AcknowledgmentCode { list: lists.element, code: text(segment, 3, 1) },
                    copy: some(text(segment, 4, 1)),
                    triggers: Vec::new(),
                });
            }
            b"CTX" => self.context(segment),
            b"AK5" | b"IK5" => match &mut self.transaction {
                Some(report) => {
                    report.outcome = Some(Outcome::of(&text(segment, 1, 1)));
                    report.codes = codes(lists.transaction, segment, 2..=6);
                    self.end_transaction(take);
                }
                None => self.stray += 1,
            },
            b"AK9" => {
                self.end_transaction(take);
                match &mut self.group {
                    Some(report) => {
                        report.outcome = Some(Outcome::of(&text(segment, 1, 1)));
                        report.declared = number(&text(segment, 2, 1));
                        report.received = number(&text(segment, 3, 1));
                        report.accepted = number(&text(segment, 4, 1));
                        report.codes = codes(AcknowledgmentList::Group, segment, 5..=9);
                        self.end_group(take);
                    }
                    None => self.stray += 1,
                }
            }
            b"UCI" => {
                self.interchange = Some(text(segment, 1, 1));
                take(Report::Interchange(InterchangeReport {
                    kind,
                    at,
                    sender: text(segment, 2, 1),
                    receiver: text(segment, 3, 1),
                    control_number: text(segment, 1, 1),
                    date: None,
                    time: None,
                    outcome: Outcome::of(&text(segment, 4, 1)),
                    codes: codes(AcknowledgmentList::SyntaxError, segment, 5..=5),
                    service: service(segment, 6),
                }));
            }
            b"UCF" => {
                self.end_transaction(take);
                self.edifact_group = Some(text(segment, 1, 1));
                take(Report::Group(GroupReport {
                    control_number: text(segment, 1, 1),
                    outcome: Some(Outcome::of(&text(segment, 4, 1))),
                    codes: codes(AcknowledgmentList::SyntaxError, segment, 5..=5),
                    service: service(segment, 6),
                    ..group(kind, at)
                }));
            }
            b"UCM" => {
                self.end_transaction(take);
                self.parts = 0;
                let version: Vec<String> = (2..=5).map(|component| text(segment, 2, component)).collect();
                let version = version.join(":");
                self.transaction = Some(TransactionReport {
                    group: self.edifact_group.clone(),
                    interchange: self.interchange.clone(),
                    transaction: text(segment, 2, 1),
                    version: some(version.trim_end_matches(':').to_owned()),
                    control_number: text(segment, 1, 1),
                    outcome: Some(Outcome::of(&text(segment, 3, 1))),
                    codes: codes(AcknowledgmentList::SyntaxError, segment, 4..=4),
                    service: service(segment, 5),
                    ..transaction(kind, at)
                });
            }
            b"UCS" => self.note(SegmentReport {
                position: number(&text(segment, 1, 1)).unwrap_or(0),
                codes: codes(AcknowledgmentList::SyntaxError, segment, 2..=2),
                ..SegmentReport::default()
            }),
            b"UCD" => {
                let (element, component, repetition) = place(segment, 2);
                self.note_element(ElementReport {
                    // The tag is position 1 there.
                    element: element.saturating_sub(1),
                    component,
                    repetition,
                    data_element: None,
                    code: AcknowledgmentCode { list: AcknowledgmentList::SyntaxError, code: text(segment, 1, 1) },
                    copy: None,
                    triggers: Vec::new(),
                });
            }
            _ => {}
        }
    }

    fn note(&mut self, note: SegmentReport) {
        match &mut self.transaction {
            None => self.stray += 1,
            Some(report) if self.parts < PARTS_MAX => {
                self.parts += 1;
                report.segments.push(note);
            }
            Some(report) => report.more += 1,
        }
    }

    fn note_element(&mut self, note: ElementReport) {
        match self.transaction.as_mut().map(|report| (report.segments.last_mut(), &mut report.more)) {
            Some((Some(segment), _)) if self.parts < PARTS_MAX => {
                self.parts += 1;
                segment.elements.push(note);
            }
            Some((Some(_), more)) => *more += 1,
            _ => self.stray += 1,
        }
    }

    /// Reads CTX: the business unit of a segment, or the trigger of a requirement on it or its element.
    fn context(&mut self, segment: &Segment<'_>) {
        let Some(note) = self.transaction.as_mut().and_then(|report| report.segments.last_mut()) else {
            self.stray += 1;
            return;
        };
        let triggered = text(segment, 2, 1);
        if triggered.is_empty() {
            note.unit = Some(UnitReport { name: text(segment, 1, 1), value: text(segment, 1, 2) });
            return;
        }
        let trigger = TriggerReport {
            tag: triggered,
            position: number(&text(segment, 3, 1)).unwrap_or(0),
            loop_id: some(text(segment, 4, 1)),
            place: place(segment, 5),
        };
        let triggers = note.elements.last_mut().map_or(&mut note.triggers, |element| &mut element.triggers);
        if triggers.len() < 10 {
            triggers.push(trigger);
        }
    }

    fn end_transaction(&mut self, take: &mut dyn FnMut(Report)) {
        let Some(report) = self.transaction.take() else { return };
        if let Some(group) = &mut self.group {
            group.told += 1;
            group.told_rejected += u64::from(report.outcome.as_ref().is_none_or(Outcome::is_rejected));
        }
        take(Report::Transaction(report));
    }

    fn end_group(&mut self, take: &mut dyn FnMut(Report)) {
        if let Some(report) = self.group.take() {
            take(Report::Group(report));
        }
    }
}

struct Lists {
    segment: AcknowledgmentList,
    element: AcknowledgmentList,
    transaction: AcknowledgmentList,
}

const LISTS_997: Lists = Lists {
    segment: AcknowledgmentList::Segment,
    element: AcknowledgmentList::Element,
    transaction: AcknowledgmentList::Transaction,
};
const LISTS_999: Lists = Lists {
    segment: AcknowledgmentList::ImplementationSegment,
    element: AcknowledgmentList::ImplementationElement,
    transaction: AcknowledgmentList::ImplementationTransaction,
};

fn ta1(segment: &Segment<'_>, interchange: &Header, at: Position) -> InterchangeReport {
    let note = text(segment, 5, 1);
    let list = AcknowledgmentList::InterchangeNote;
    InterchangeReport {
        kind: AcknowledgmentKind::Ta1,
        at,
        // The sender of the interchange receives the acknowledgment.
        sender: characters(&interchange.receiver()),
        receiver: characters(&interchange.sender()),
        control_number: text(segment, 1, 1),
        date: some(text(segment, 2, 1)),
        time: some(text(segment, 3, 1)),
        outcome: Outcome::of(&text(segment, 4, 1)),
        codes: if note.is_empty() || note == "000" {
            Vec::new()
        } else {
            vec![AcknowledgmentCode { list, code: note }]
        },
        service: None,
    }
}

fn group(kind: AcknowledgmentKind, at: Position) -> GroupReport {
    GroupReport {
        kind,
        at,
        functional_id: None,
        control_number: String::new(),
        version: None,
        outcome: None,
        declared: None,
        received: None,
        accepted: None,
        codes: Vec::new(),
        service: None,
        told: 0,
        told_rejected: 0,
    }
}

fn transaction(kind: AcknowledgmentKind, at: Position) -> TransactionReport {
    TransactionReport {
        kind,
        at,
        group: None,
        interchange: None,
        transaction: String::new(),
        version: None,
        control_number: String::new(),
        outcome: None,
        codes: Vec::new(),
        service: None,
        segments: Vec::new(),
        more: 0,
    }
}

fn codes(
    list: AcknowledgmentList,
    segment: &Segment<'_>,
    elements: core::ops::RangeInclusive<usize>,
) -> Vec<AcknowledgmentCode> {
    let codes = elements.map(|element| text(segment, element, 1)).filter(|code| !code.is_empty());
    codes.map(|code| AcknowledgmentCode { list, code }).collect()
}

/// Reads the tag and S011 of a service segment.
fn service(segment: &Segment<'_>, element: usize) -> Option<ServicePlace> {
    let tag = some(text(segment, element, 1))?;
    let (position, component, _) = place(segment, element + 1);
    // The tag is position 1 there.
    Some(ServicePlace { tag, element: position.saturating_sub(1), component })
}

/// Reads C030 or S011: element, component, repetition.
fn place(segment: &Segment<'_>, element: usize) -> (u32, u32, u32) {
    let part = |component| {
        number(&text(segment, element, component)).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    };
    (part(1), part(2), part(3))
}

fn number(digits: &str) -> Option<u64> {
    let good = !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if good { digits.parse().ok() } else { None }
}

fn some(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}

/// Returns the data of a component without trailing spaces.
fn text(segment: &Segment<'_>, element: usize, component: usize) -> String {
    let element = segment.element(element).and_then(|element| element.component(component));
    element.map_or(String::new(), |element: Element<'_>| {
        let mut scratch = Vec::new();
        characters(element.data(&mut scratch).bytes())
    })
}

/// Converts bytes to text. Codes, tags and numbers are ASCII; other bytes of a copy are read as ISO-8859-1.
fn characters(bytes: &[u8]) -> String {
    bytes.trim_ascii_end().iter().map(|byte| char::from(*byte)).collect()
}
