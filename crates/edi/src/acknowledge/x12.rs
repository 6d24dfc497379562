//! TA1, 997 and 999.

use super::collector::Acknowledger;
use super::note::{Judgment, Note};
use super::options::{Functional, SecurityFailure, When};
use super::output::{AcknowledgmentOutput, Held};
use super::step::EnvelopeStep;
use super::text::Text;
use crate::characters::first_characters;
use crate::control::ControlMark;
use crate::delimiters::Standard;
use crate::envelope::{Check, Header, dates_have_century, header_fields};
use crate::level::Level;

/// The acknowledging interchange so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// The group of acknowledgments that is open.
    group: Option<AnsweringGroup>,
    groups: u64,
    /// State of the control numbers before the first group, in case all groups are discarded.
    first: Option<ControlMark>,
}

#[derive(Clone, Debug)]
struct AnsweringGroup {
    control: String,
    sets: u64,
    /// GS02, GS03, GS07 and GS08: a different value opens another group.
    sender: Vec<u8>,
    receiver: Vec<u8>,
    agency: Vec<u8>,
    version: Vec<u8>,
}

/// Most codes of AK5, IK5 and AK9.
const CODES_MAX: usize = 5;
/// Maximum number of AK4 or IK4 after one AK3 or IK3 (X12.20; unbounded in later versions).
const ELEMENTS_MAX: usize = 99;
/// Maximum number of CTX after IK3, without that of the business unit, and after IK4.
const CONTEXTS_MAX: usize = 9;
/// The largest count that data elements 97, 123 and 2 hold.
const COUNT_MAX: u64 = 999_999;
/// Data elements 142 and 124.
const PARTNER_BYTES_MAX: usize = 15;
/// Data element 480.
const VERSION_BYTES_MAX: usize = 12;
/// AK203 names an implementation guide.
const IMPLEMENTATION_BYTES_MAX: usize = 35;
/// Data element 722.
const ELEMENT_MAX: u32 = 99;
/// Data element 724.
const COPY_MAX: usize = 99;
/// The guide of the 999 for HIPAA's transactions.
const HIPAA_999: &[u8] = b"005010X231A1";

impl Acknowledger {
    /// Returns the kind of reply to a group; `None` for no reply.
    pub(super) fn functional_of(&self, group: &Header) -> Option<Functional> {
        match self.options.functional {
            Functional::None => None,
            Functional::Implementation if !Version::of(&group.component(8, 1)).has_999() => {
                Some(Functional::Functional)
            }
            other => Some(other),
        }
    }

    /// Writes AK2 to AK5 or IK5 of the transaction that ends.
    pub(super) fn answer_transaction(&mut self, step: &EnvelopeStep<'_>) {
        let header = step.transaction;
        let version = Version::of(&step.group.component(8, 1));
        let is_999 = self.group.answer == Some(Functional::Implementation);
        let notes = &mut self.transaction.notes;
        let text = &mut self.body;
        text.begin("AK2");
        text.element(fit(&header.component(1, 1), Check::Text(3, 3), b"000"));
        text.element(set_control(&header.component(2, 1), &mut [0; 4]));
        if version.has_implementation() {
            text.element(repeated(&header.component(3, 1), IMPLEMENTATION_BYTES_MAX));
        }
        text.end();
        // A missing segment is detected at its successor, a repeated one at its own position: sorting restores the order of positions.
        notes.list.sort_by_key(|note| note.at.segment);
        let dialect = Dialect { is_999, version };
        let mut codes = Vec::new();
        let mut rest = &notes.list[..];
        while let Some((note, behind)) = rest.split_first() {
            let dialect_code = dialect.transaction_code(note);
            add(&mut codes, dialect_code);
            let same = |other: &Note| other.is_element() && other.at.segment == note.at.segment;
            let count = if note.is_element() { behind.iter().take_while(|other| same(other)).count() } else { 0 };
            for other in &behind[..count] {
                add(&mut codes, dialect.transaction_code(other));
            }
            dialect.segment(text, &rest[..=count]);
            rest = &behind[count..];
        }
        if notes.more > 0 {
            add(&mut codes, Some("5"));
        }
        text.begin(if is_999 { "IK5" } else { "AK5" });
        let security = self.transaction.security;
        add(&mut codes, security.and_then(SecurityFailure::transaction_code));
        text.element(match (security, notes.judgment) {
            (Some(failure), _) => failure.status(),
            (None, Judgment::Accepted) => b"A",
            (None, Judgment::WithErrors) => b"E",
            (None, Judgment::Rejected) => b"R",
        });
        for code in codes.iter().take(CODES_MAX) {
            text.element(code.as_bytes());
        }
        text.end();
    }

    /// Writes ST to SE of the group that ends.
    pub(super) fn answer_group(&mut self, step: &EnvelopeStep<'_>, output: &mut impl AcknowledgmentOutput) {
        let header = step.group;
        let received = header.component(8, 1);
        let version = Version::of(&received);
        let is_999 = self.group.answer == Some(Functional::Implementation);
        self.head.restart(step.interchange().delimiters(), self.style.0);
        self.tail.restart(step.interchange().delimiters(), self.style.0);
        let ids = [header.component(3, 1), header.component(2, 1)].map(|id| match repeated(&id, PARTNER_BYTES_MAX) {
            b"" => b"UNKNOWN".to_vec(),
            id => id.to_vec(),
        });
        // Another agency is a fault of the received group, and would be one of ours.
        let agency = if header.component(7, 1)[..] == *b"T" { b"T".to_vec() } else { b"X".to_vec() };
        let acknowledged_as = if is_999 { version_of_999(&received) } else { version_of_997(&received) };
        self.open_answering_group(header, ids, agency, acknowledged_as);
        let Some(group) = &mut self.answers.group else { return };
        group.sets += 1;
        let control = format!("{:04}", group.sets);
        let set = if is_999 { "999" } else { "997" };
        self.head.begin("ST").element(set.as_bytes()).element(control.as_bytes());
        if is_999 && group.version == HIPAA_999 {
            self.head.element(HIPAA_999);
        }
        self.head.end();
        self.head.begin("AK1");
        self.head.element(fit(&header.component(1, 1), Check::Text(2, 2), b"00"));
        self.head.element(fit(&header.component(6, 1), Check::Digits(1, 9), b"0"));
        if version.has_implementation() {
            self.head.element(repeated(&received, VERSION_BYTES_MAX));
        }
        self.head.end();

        let state = &self.group;
        let is_rejected = state.notes.judgment == Judgment::Rejected;
        let all_rejected = state.accepted == 0 && state.received > 0;
        let accepted = if is_rejected { 0 } else { state.accepted };
        let status: &[u8] = match () {
            () if state.security.is_some() => state.security.map_or(b"R", SecurityFailure::status),
            () if is_rejected || all_rejected => b"R",
            () if accepted < state.received => b"P",
            () if state.with_errors || state.notes.judgment == Judgment::WithErrors => b"E",
            () => b"A",
        };
        self.tally.groups_rejected += u64::from(is_rejected || all_rejected);
        let mut codes = Vec::new();
        add(&mut codes, state.security.and_then(SecurityFailure::group_code));
        for note in &state.notes.list {
            add(&mut codes, note.codes.group.map(|code| version.group_code(code)));
        }
        self.tail.begin("AK9").element(status);
        for count in [state.declared.unwrap_or(state.received), state.received, accepted] {
            self.tail.number(count.min(COUNT_MAX));
        }
        for code in codes.iter().take(CODES_MAX) {
            self.tail.element(code.as_bytes());
        }
        self.tail.end();
        let held = if is_rejected { Held::Discard } else { Held::Keep };
        let inside = if is_rejected { 0 } else { self.body.segments };
        self.tail.begin("SE").number(inside + 4).element(control.as_bytes()).end();
        if is_rejected {
            self.body.bytes.clear();
        }
        self.hold(Level::Group, output);
        output.release(Level::Group, &self.head.bytes, held, &self.tail.bytes);
    }

    /// Opens a group unless one with the same partners and version is open; first closes the preceding one.
    fn open_answering_group(&mut self, header: &Header, ids: [Vec<u8>; 2], agency: Vec<u8>, version: Vec<u8>) {
        let [sender, receiver] = ids;
        let same = self.answers.group.as_ref().is_some_and(|open| {
            open.version == version && open.sender == sender && open.receiver == receiver && open.agency == agency
        });
        if same {
            return;
        }
        self.answers.close(&mut self.head);
        let mark = self.numbers.mark();
        self.answers.first.get_or_insert(mark);
        let control = self.next_number(Standard::X12, Level::Group, &receiver, &sender);
        self.answers.groups += 1;
        let stamp = self.options.stamp;
        let is_short = !dates_have_century(&version).unwrap_or(header.component(4, 1).len() == 8);
        self.head.begin("GS").element(b"FA").element(&sender).element(&receiver);
        self.head.element(if is_short { stamp.short_date() } else { stamp.date() }).element(stamp.time());
        self.head.element(control.as_bytes()).element(&agency).element(&version).end();
        self.answers.group = Some(AnsweringGroup { control, sets: 0, sender, receiver, agency, version });
    }

    /// Writes ISA to IEA.
    pub(super) fn answer_interchange(&mut self, step: &EnvelopeStep<'_>, output: &mut impl AcknowledgmentOutput) {
        let header = step.interchange();
        let judgment = self.interchange.notes.judgment;
        let state = &self.interchange;
        // An interchange of acknowledgments gets a reply only if requested or faulty, one of TA1 never.
        let is_acknowledgment = state.subjects == 0 && (state.acknowledgments > 0 || state.has_ta1);
        let only_ta1 = state.subjects == 0 && state.acknowledgments == 0 && state.has_ta1;
        let is_asked = judgment != Judgment::Accepted || &header.component(14, 1)[..] == b"1";
        let with_ta1 = match self.options.interchange {
            When::Never => false,
            _ if only_ta1 => false,
            When::Asked => is_asked,
            When::Always => is_asked || !is_acknowledgment,
        };
        let with_groups = self.answers.groups > 0 && !(with_ta1 && judgment == Judgment::Rejected);
        if !with_groups {
            self.body.bytes.clear();
            if let Some(first) = self.answers.first {
                self.numbers.back_to(first);
            }
        }
        if !with_ta1 && !with_groups {
            self.discard_interchange(output);
            return;
        }
        let control = self.next_number(Standard::X12, Level::Interchange, &header.sender(), &header.receiver());
        self.head.restart(step.interchange().delimiters(), self.style.0);
        self.tail.restart(step.interchange().delimiters(), self.style.0);
        let received = IsaFields::of(header);
        self.isa(&received, &control);
        if with_ta1 {
            let (status, note) = self.interchange_note();
            self.ta1(&received, status, note);
        }
        if with_groups {
            self.answers.close(&mut self.tail);
        }
        let groups = if with_groups { self.answers.groups } else { 0 };
        self.tail.begin("IEA").number(groups).element(format!("{control:0>9}").as_bytes()).end();
        let held = if with_groups { Held::Keep } else { Held::Discard };
        self.hold(Level::Interchange, output);
        output.release(Level::Interchange, &self.head.bytes, held, &self.tail.bytes);
        self.tally.written += 1;
    }

    /// Writes ISA with sender and receiver exchanged; fields other than the security information are copied.
    pub(super) fn isa(&mut self, received: &IsaFields, control: &str) {
        let value = |number: usize| &received.0[number][..];
        // The lists of ISA05 and ISA07 are the same.
        let listed = header_fields(Standard::X12, Level::Interchange)[4].check;
        let qualifier = |number: usize| fit(value(number), listed, b"ZZ");
        let partner = |number: usize| {
            let id = match repeated(value(number), PARTNER_BYTES_MAX) {
                b"" => b"UNKNOWN",
                id => id,
            };
            let mut padded = [b' '; PARTNER_BYTES_MAX];
            padded[..id.len()].copy_from_slice(id);
            padded
        };
        let stamp = self.options.stamp;
        let text = &mut self.head;
        let repetition = text.delimiters.repetition;
        let version = fit(value(12), Check::Version, if repetition.is_some() { b"00501" } else { b"00401" });
        let usage = fit(value(15), Check::OneOf("PTI"), b"P");
        let separator = text.delimiters.element;
        let control = format!("{control:0>9}");
        let fields: [&[u8]; 16] = [
            b"00",
            b"          ",
            b"00",
            b"          ",
            qualifier(7),
            &partner(8),
            qualifier(5),
            &partner(6),
            stamp.short_date(),
            stamp.time(),
            // ISA11: U, if it is not a repetition separator.
            &[repetition.unwrap_or(b'U')],
            version,
            control.as_bytes(),
            b"0",
            usage,
            &[text.delimiters.component],
        ];
        let mut isa = Vec::with_capacity(106);
        isa.extend_from_slice(b"ISA");
        for field in fields {
            isa.push(separator);
            isa.extend_from_slice(field);
        }
        text.raw(&isa);
    }

    /// Writes TA1 with status and note.
    pub(super) fn ta1(&mut self, received: &IsaFields, status: &str, note: &str) {
        let stamp = self.options.stamp;
        let value = |number: usize| &received.0[number][..];
        let is_date = value(9).len() == 6 && Check::Date.expected(value(9)).is_none();
        let is_time = value(10).len() == 4 && Check::Time.expected(value(10)).is_none();
        self.head.begin("TA1");
        self.head.element(fit(value(13), Check::Digits(9, 9), b"000000000"));
        self.head.element(if is_date { value(9) } else { stamp.short_date() });
        self.head.element(if is_time { value(10) } else { stamp.time() });
        self.head.element(status.as_bytes()).element(note.as_bytes()).end();
    }

    /// Returns the status and note of TA1 for the interchange that ends.
    fn interchange_note(&self) -> (&'static str, &'static str) {
        let notes = &self.interchange.notes;
        // TA1 has room for one note: that of the first fault.
        let first = notes.list.iter().find_map(|note| note.codes.interchange_note);
        match notes.judgment {
            Judgment::Accepted => ("A", "000"),
            Judgment::WithErrors => ("E", first.unwrap_or("022")),
            Judgment::Rejected => ("R", first.unwrap_or("022")),
        }
    }
}

/// The elements of a received ISA by their numbers, blanks at their ends trimmed.
pub(super) struct IsaFields(pub(super) [Vec<u8>; 17]);

impl IsaFields {
    fn of(header: &Header) -> Self {
        IsaFields(core::array::from_fn(|number| header.component(number, 1).into_owned()))
    }
}

impl Answers {
    /// Writes GE of the open group of acknowledgments.
    fn close(&mut self, text: &mut Text) {
        if let Some(open) = self.group.take() {
            text.begin("GE").number(open.sets).element(open.control.as_bytes()).end();
        }
    }
}

/// Code usage of a 997 or 999 of a version.
#[derive(Clone, Copy)]
struct Dialect {
    is_999: bool,
    version: Version,
}

impl Dialect {
    /// Returns the code of data element 718 or 618.
    fn transaction_code(self, note: &Note) -> Option<&'static str> {
        let codes = &note.codes;
        let code = if self.is_999 { codes.implementation_transaction.or(codes.transaction) } else { codes.transaction };
        // 5: one or more segments in error.
        let code = code.or(codes.segment.or(codes.element).map(|_| "5"))?;
        Some(match code {
            "23" if !self.version.is_from(b"003060") => "7",
            // The kind of transaction set is missing or wrong.
            "18" if !self.version.is_from(b"004041") => "6",
            code => code,
        })
    }

    /// Returns the code of data element 720 or 620.
    fn segment_code(self, note: &Note) -> Option<&'static str> {
        let codes = &note.codes;
        if self.is_999 { codes.implementation_segment.or(codes.segment) } else { codes.segment }
    }

    /// Returns the code of data element 723 or 621.
    fn element_code(self, note: &Note) -> Option<&'static str> {
        let codes = &note.codes;
        let code = if self.is_999 { codes.implementation_element.or(codes.element) } else { codes.element };
        match code {
            // Earlier versions report too many repetitions or components as too many data elements.
            Some("12" | "13") if !self.version.has_repetition() => Some("3"),
            code => code,
        }
    }

    /// Writes AK3 or IK3 of one segment, with an AK4 or IK4 for each fault of its elements.
    fn segment(self, text: &mut Text, notes: &[Note]) {
        let Some((first, _)) = notes.split_first() else { return };
        let in_element = first.is_element();
        // 8: segment has data element errors.
        let code = if in_element { Some("8") } else { self.segment_code(first) };
        let tag = first.context.as_ref().map_or(&b""[..], |context| context.tag.as_bytes());
        let position = first.at.segment;
        let most = self.version.position_max();
        let (Some(code), true, true) = (code, is_tag(tag), (1..=most).contains(&position)) else { return };
        text.begin(if self.is_999 { "IK3" } else { "AK3" });
        text.element(tag).number(position);
        text.element(
            first
                .context
                .as_ref()
                .and_then(|context| context.loop_id.as_ref())
                .map_or(b"", |id| self.version.loop_id(id)),
        );
        text.element(code.as_bytes()).end();
        if self.is_999 {
            if !in_element {
                self.triggers(text, notes);
            }
            self.unit(text, first);
        }
        if !in_element {
            return;
        }
        for note in notes.iter().take(ELEMENTS_MAX) {
            let Some(code) = self.element_code(note).filter(|_| note.at.element <= ELEMENT_MAX) else { continue };
            text.begin(if self.is_999 { "IK4" } else { "AK4" });
            self.place(text, note.at.element, note.at.component, note.at.repetition);
            let context = note.context.as_deref();
            // Data element 725 is a number, and a guide may write a reference with leading zeros.
            let number =
                context.and_then(|context| context.data_element.as_deref()).unwrap_or("").trim_start_matches('0');
            let is_number = !number.is_empty() && number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit());
            text.element(if is_number { number.as_bytes() } else { b"" });
            text.element(code.as_bytes());
            text.element(context.map_or(b"", |context| copy(&context.copy, text)));
            text.end();
            if self.is_999 {
                self.triggers(text, core::slice::from_ref(note));
            }
        }
    }

    /// Writes C030: element, component, repetition.
    fn place(self, text: &mut Text, element: u32, component: u32, repetition: u32) {
        let number =
            |number: u32, most: u32| if (1..=most).contains(&number) { number.to_string() } else { String::new() };
        let element = number(element, ELEMENT_MAX);
        let component = if self.version.has_component() { number(component, 99) } else { String::new() };
        let repetition = if self.version.has_repetition() { number(repetition, 9_999) } else { String::new() };
        text.composite(&[element.as_bytes(), component.as_bytes(), repetition.as_bytes()]);
    }

    /// Writes CTX for the triggers of situational requirements.
    fn triggers(self, text: &mut Text, notes: &[Note]) {
        let triggers = notes.iter().filter_map(|note| note.context.as_ref()?.trigger.as_ref());
        for (tag, at) in triggers.take(CONTEXTS_MAX) {
            if !is_tag(tag.as_bytes()) || !(1..=self.version.position_max()).contains(&at.segment) {
                continue;
            }
            text.begin("CTX").element(b"SITUATIONAL TRIGGER").element(tag.as_bytes()).number(at.segment).element(b"");
            if (1..=ELEMENT_MAX).contains(&at.element) {
                self.place(text, at.element, at.component, at.repetition);
            }
            text.end();
        }
    }

    /// Writes CTX for the business unit.
    fn unit(self, text: &mut Text, note: &Note) {
        if let Some((name, value)) = &note.unit {
            let value = copy(value, text);
            if !value.is_empty() {
                text.begin("CTX").composite(&[name.as_bytes(), value]).end();
            }
        }
    }
}

impl Note {
    /// Returns true if the fault concerns an element of a segment, not the segment as a whole.
    fn is_element(&self) -> bool {
        self.codes.element.or(self.codes.implementation_element).is_some() && self.at.element > 0
    }
}

/// The first six characters of GS08: version, release and subrelease.
#[derive(Clone, Copy)]
struct Version([u8; 6]);

impl Version {
    fn of(received: &[u8]) -> Self {
        Version(base(received))
    }

    fn is_from(self, version: &[u8; 6]) -> bool {
        self.0 >= *version
    }

    /// Returns true if the version has AK103 and AK203.
    fn has_implementation(self) -> bool {
        self.is_from(b"004041")
    }

    /// Returns true if AK401 is the composite C030 and not a simple element.
    fn has_component(self) -> bool {
        self.is_from(b"003050")
    }

    /// Returns true if the version has repeated elements, and the repetition in C030.
    fn has_repetition(self) -> bool {
        self.is_from(b"004030")
    }

    fn has_999(self) -> bool {
        self.is_from(b"005010")
    }

    /// Returns the maximum of data element 719.
    fn position_max(self) -> u64 {
        if self.is_from(b"005010") { 9_999_999_999 } else { 999_999 }
    }

    /// Returns the loop id for data element 447: four characters, six from version 008010 on; longer ids (`2010AA`) are cut.
    fn loop_id(self, id: &str) -> &[u8] {
        let most = if self.is_from(b"008010") { 6 } else { 4 };
        let good = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if good { &id.as_bytes()[..id.len().min(most)] } else { b"" }
    }

    /// Returns the code of data element 716. Before 005010, code 19 had another meaning; 6 means that the control number violates the syntax.
    fn group_code(self, code: &'static str) -> &'static str {
        if code == "19" && !self.is_from(b"005010") { "6" } else { code }
    }
}

fn base(received: &[u8]) -> [u8; 6] {
    match received.first_chunk::<6>() {
        Some(version) if version.iter().all(u8::is_ascii_digit) => *version,
        _ => *b"004010",
    }
}

/// Returns GS08 of a 997: the version of the group without the guide of its transactions.
fn version_of_997(received: &[u8]) -> Vec<u8> {
    base(received).to_vec()
}

/// Returns GS08 of a 999. The guide for HIPAA's transactions requires AK103, which repeats the received version; a version that cannot be repeated
/// gets a 999 without the guide.
fn version_of_999(received: &[u8]) -> Vec<u8> {
    let is_repeated = !repeated(received, VERSION_BYTES_MAX).is_empty();
    if received.starts_with(b"005010X") && is_repeated { HIPAA_999.to_vec() } else { base(received).to_vec() }
}

/// Returns a value to be repeated, or the substitute if its format is invalid.
fn fit<'a>(value: &'a [u8], check: Check, otherwise: &'a [u8]) -> &'a [u8] {
    let good = check.expected(value).is_none() && value.iter().all(u8::is_ascii_graphic);
    if good { value } else { otherwise }
}

/// Returns a value to be repeated; empty if it is too long or has characters that X12 text does not have.
fn repeated(value: &[u8], most: usize) -> &[u8] {
    let good = value.len() <= most && value.iter().all(|byte| (b' '..0x7f).contains(byte));
    if good { value } else { b"" }
}

/// Returns AK202, padded with zeros to its minimum of four characters.
fn set_control<'a>(received: &'a [u8], padded: &'a mut [u8; 4]) -> &'a [u8] {
    let good = received.len() <= 9 && received.iter().all(u8::is_ascii_graphic);
    match received.len() {
        4.. if good => received,
        len if good => {
            *padded = *b"0000";
            padded[4 - len..].copy_from_slice(received);
            padded
        }
        _ => b"0000",
    }
}

fn is_tag(tag: &[u8]) -> bool {
    matches!(tag.len(), 2 | 3) && tag.iter().all(u8::is_ascii_alphanumeric)
}

/// Returns the copy for data element 724; empty if the value contains delimiters or control characters.
fn copy<'a>(value: &'a [u8], text: &Text) -> &'a [u8] {
    let value = first_characters(value, COPY_MAX, false);
    let good = value.iter().all(|byte| *byte >= b' ' && *byte != 0x7f && !text.delimiters.is_service(*byte));
    if good { value.trim_ascii_end() } else { b"" }
}

/// Adds a code that is not there yet.
fn add(codes: &mut Vec<&'static str>, code: Option<&'static str>) {
    if let Some(code) = code
        && !codes.contains(&code)
    {
        codes.push(code);
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::AcknowledgmentList;
    use super::*;
    use crate::acknowledgment_codes::AcknowledgmentCodes;
    use crate::guide::{Guide, acknowledgment_guides};
    use crate::position::Position;

    /// Data elements with their code lists, and the codes of a note that a reply of the version contains for each.
    type Written = (&'static str, Vec<&'static str>);

    fn written(dialect: Dialect) -> Vec<Written> {
        let all = |list: AcknowledgmentList| list.codes().iter().map(|(code, _)| *code);
        let note = |codes| Note { codes, at: Position::default(), service: None, context: None, unit: None };
        let none = AcknowledgmentCodes::default;
        let transaction = |code| dialect.transaction_code(&note(AcknowledgmentCodes { transaction: code, ..none() }));
        let segment = |code| dialect.segment_code(&note(AcknowledgmentCodes { segment: code, ..none() }));
        let element = |code| dialect.element_code(&note(AcknowledgmentCodes { element: code, ..none() }));
        // No fault has the codes of X12's own security segments, which have another meaning from 005010 on.
        let is_security = |code: &&str| matches!(*code, "19" | "20" | "21" | "22");
        let transactions = all(AcknowledgmentList::Transaction).filter(|code| !is_security(code));
        let groups = all(AcknowledgmentList::Group).map(|code| dialect.version.group_code(code));
        // No fault has them: the sender, the receiver and the agency of a group are reported otherwise.
        let groups = groups.filter(|code| !matches!(*code, "7" | "8" | "9"));
        let statuses = [SecurityFailure::Authentication, SecurityFailure::Assurance, SecurityFailure::Decryption];
        let statuses = statuses.map(|failure| str::from_utf8(failure.status()).unwrap());
        let status = |others: &[&'static str]| [&statuses, others].concat();
        let mut written = vec![
            (
                if dialect.is_999 { "618" } else { "718" },
                transactions.filter_map(|code| transaction(Some(code))).collect(),
            ),
            (
                if dialect.is_999 { "620" } else { "720" },
                all(AcknowledgmentList::Segment).filter_map(|code| segment(Some(code))).collect(),
            ),
            (
                if dialect.is_999 { "621" } else { "723" },
                all(AcknowledgmentList::Element).filter_map(|code| element(Some(code))).collect(),
            ),
            ("716", groups.collect()),
            ("715", status(&["A", "E", "P", "R"])),
            ("717", status(&["A", "E", "R"])),
        ];
        if dialect.is_999 {
            written[0].1.extend(all(AcknowledgmentList::ImplementationTransaction));
            written[1].1.extend(all(AcknowledgmentList::ImplementationSegment));
            written[2].1.extend(all(AcknowledgmentList::ImplementationElement));
        }
        written
    }

    /// Regression: AK502 18 in a 997 of version 004010, whose list does not have it.
    #[test]
    fn the_guide_of_each_version_has_the_codes_that_are_written() {
        let guides = acknowledgment_guides();
        let mut wrong = Vec::new();
        for received in [
            "003010",
            "003020",
            "003030",
            "003040",
            "003050",
            "003060",
            "003070",
            "003072",
            "004010",
            "004020",
            "004030",
            "004041",
            "004060",
            "005010",
            "005010X222A1",
            "005020",
            "006020",
            "007030",
            "008010",
            "008060",
        ] {
            let version = Version::of(received.as_bytes());
            for is_999 in [false, true] {
                if is_999 && !version.has_999() {
                    continue;
                }
                let received = received.as_bytes();
                let answer = if is_999 { version_of_999(received) } else { version_of_997(received) };
                let answer = String::from_utf8(answer).unwrap();
                let set = if is_999 { "999" } else { "997" };
                let fits = |guide: &&Guide| guide.transaction == set && answer.starts_with(&guide.version);
                let guide = guides.iter().filter(fits).max_by_key(|guide| guide.version.len()).unwrap();
                for (element, codes) in written(Dialect { is_999, version }) {
                    let list = &guide.dictionary.codes[element].codes;
                    let is_listed = |code: &str| list.iter().any(|entry| entry.value == code);
                    wrong.extend(
                        codes
                            .iter()
                            .filter(|code| !is_listed(code))
                            .map(|code| format!("{set} {answer} {element} {code}")),
                    );
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
