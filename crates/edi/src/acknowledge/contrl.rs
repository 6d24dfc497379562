//! CONTRL, syntax versions 3 and 4.

use super::collector::Acknowledger;
use super::note::{Judgment, Note, Notes};
use super::options::{SecurityFailure, When};
use super::output::{AcknowledgmentOutput, Held};
use super::step::EnvelopeStep;
use super::text::{Part, Text};
use crate::delimiters::Delimiters;
use crate::envelope::Header;
use crate::level::{Level, Side};

/// Data element 0083: this level and all below it are rejected.
const REJECTED: &[u8] = b"4";
/// Action code 7: this level is acknowledged, and so are those below it that are not rejected.
const ACKNOWLEDGED: &[u8] = b"7";
/// Action code 8: the interchange was received, without a statement about its content.
const RECEIVED: &[u8] = b"8";

/// Data element 0085, code 18: unspecified error.
const UNSPECIFIED: &[u8] = b"18";
/// Data element 0085: a security function failed.
const SECURITY: &[u8] = b"27";

/// Most UCS of a message, most UCD of a segment.
const SEGMENTS_MAX: usize = 999;
const ELEMENTS_MAX: usize = 99;
/// Data element 0096.
const POSITION_MAX: u64 = 999_999;

/// 0020, 0048, 0062.
const REFERENCE: [Part; 1] = [(14, "0")];
/// S001.
const SYNTAX: [Part; 4] = [(4, "UNOA"), (1, "3"), (6, ""), (3, "")];
/// S002 and S003 of syntax versions 1 to 3, and of 4.
const PARTNER_3: [Part; 3] = [(35, "UNKNOWN"), (4, ""), (14, "")];
const PARTNER_4: [Part; 4] = [(35, "UNKNOWN"), (4, ""), (35, ""), (35, "")];
/// S006 and S007.
const GROUP_PARTNER: [Part; 2] = [(35, "UNKNOWN"), (4, "")];
/// S009 of syntax versions 1 to 3, and of 4.
const MESSAGE_3: [Part; 5] = [(6, "0"), (3, "0"), (3, "0"), (2, "0"), (6, "")];
const MESSAGE_4: [Part; 7] = [(6, "0"), (3, "0"), (3, "0"), (3, "0"), (6, ""), (6, ""), (6, "")];

impl Acknowledger {
    /// Writes UCM to UCD of the message that ends. A message without faults is acknowledged by its enclosing level.
    pub(super) fn answer_message(&mut self, step: &EnvelopeStep<'_>) {
        let notes = &mut self.transaction.notes;
        if notes.judgment != Judgment::Rejected {
            return;
        }
        let version = syntax_version(step.interchange());
        let segment = step.transaction.segment();
        let text = &mut self.body;
        text.begin("UCM");
        text.parts(segment.element(1), &REFERENCE);
        text.parts(segment.element(2), if version == 4 { &MESSAGE_4 } else { &MESSAGE_3 });
        answer(text, notes, self.transaction.security, Level::Transaction, version, ACKNOWLEDGED);
        notes.list.retain(|note| note.service.is_none());
        notes.list.sort_by_key(|note| note.own_segment());
        let mut rest = &notes.list[..];
        let mut segments = 0;
        while let Some((first, behind)) = rest.split_first() {
            let at = first.own_segment();
            let count = behind.iter().take_while(|note| note.own_segment() == at).count();
            let (these, others) = rest.split_at(count + 1);
            rest = others;
            if at > POSITION_MAX || segments == SEGMENTS_MAX {
                continue;
            }
            segments += 1;
            let whole = these.iter().find(|note| note.at.element == 0 && note.codes.contrl.is_some());
            text.begin("UCS").number(at);
            text.element(whole.and_then(|note| note.contrl_code(version)).unwrap_or("").as_bytes()).end();
            for note in these.iter().filter(|note| note.at.element > 0).take(ELEMENTS_MAX) {
                let Some(code) = note.contrl_code(version) else { continue };
                text.begin("UCD").element(code.as_bytes());
                place(text, note, version);
                text.end();
            }
        }
    }

    /// Writes UCF of the group that ends, with the buffered text of its messages.
    pub(super) fn answer_edifact_group(&mut self, step: &EnvelopeStep<'_>, output: &mut impl AcknowledgmentOutput) {
        let version = syntax_version(step.interchange());
        let segment = step.group.segment();
        let is_rejected = self.group.notes.judgment == Judgment::Rejected;
        self.tally.groups_rejected += u64::from(is_rejected);
        // A group of acknowledgments is not answered unless it is wrong itself.
        let is_said = is_rejected || self.body.segments > self.group.before || self.interchange.subjects > 0;
        self.head.answer(step.interchange(), self.style.0);
        if is_said {
            self.head.begin("UCF");
            self.head.parts(segment.element(5), &REFERENCE);
            self.head.parts(segment.element(2), &GROUP_PARTNER);
            self.head.parts(segment.element(3), &GROUP_PARTNER);
            answer(&mut self.head, &self.group.notes, self.group.security, Level::Group, version, ACKNOWLEDGED);
        }
        if is_rejected {
            self.body.bytes.clear();
            self.body.segments = self.group.before;
        }
        self.body.segments += self.head.segments;
        self.hold(Level::Group, output);
        let held = if is_rejected { Held::Discard } else { Held::Keep };
        output.release(Level::Group, &self.head.bytes, held, b"");
    }

    /// Writes UNB to UNZ.
    pub(super) fn answer_edifact_interchange(
        &mut self,
        step: &EnvelopeStep<'_>,
        output: &mut impl AcknowledgmentOutput,
    ) {
        let header = step.interchange();
        let is_rejected = self.interchange.notes.judgment == Judgment::Rejected;
        let only_acknowledgments = self.interchange.subjects == 0 && self.interchange.acknowledgments > 0;
        let request = header.field("acknowledgment_requested");
        let receipt_only = &request[..] == b"2";
        let is_asked = receipt_only || &request[..] == b"1" || is_rejected || self.body.segments > 0;
        let is_said = match self.options.contrl {
            When::Never => false,
            _ if only_acknowledgments => false,
            When::Asked => is_asked,
            When::Always => true,
        };
        if !is_said {
            self.discard_interchange(output);
            return;
        }
        let version = syntax_version(header);
        let keep = !is_rejected && !receipt_only;
        if !keep {
            self.body.bytes.clear();
            self.body.segments = 0;
        }
        let control =
            self.next_number(header.delimiters().standard, Level::Interchange, &header.sender(), &header.receiver());
        self.head.answer(step.interchange(), self.style.0);
        self.tail.answer(step.interchange(), self.style.0);
        if self.style.1 || needs_una(header.delimiters(), version) {
            una(&mut self.head);
        }
        self.unb(header, version, control.as_bytes());
        let kind: &[&[u8]] =
            if version == 4 { &[b"CONTRL", b"4", b"1", b"UN"] } else { &[b"CONTRL", b"D", b"3", b"UN"] };
        self.head.begin("UNH").element(b"1").composite(kind).end();
        let segment = header.segment();
        self.head.begin("UCI");
        self.head.parts(segment.element(5), &REFERENCE);
        self.head.parts(segment.element(2), partner(version));
        self.head.parts(segment.element(3), partner(version));
        let accepted = if receipt_only { RECEIVED } else { ACKNOWLEDGED };
        answer(&mut self.head, &self.interchange.notes, None, Level::Interchange, version, accepted);
        // UNH, UCI and UNT.
        self.tail.begin("UNT").number(self.body.segments + 3).element(b"1").end();
        self.tail.begin("UNZ").element(b"1").element(control.as_bytes()).end();
        self.hold(Level::Interchange, output);
        let held = if keep { Held::Keep } else { Held::Discard };
        output.release(Level::Interchange, &self.head.bytes, held, &self.tail.bytes);
        self.tally.written += 1;
    }

    /// Writes UNB with sender and receiver exchanged.
    fn unb(&mut self, received: &Header, version: u8, control: &[u8]) {
        let stamp = self.options.stamp;
        let date = if version == 4 { stamp.date() } else { stamp.short_date() };
        let is_test = received.is_test();
        let segment = received.segment();
        let text = &mut self.head;
        text.begin("UNB");
        text.parts(segment.element(1), &SYNTAX);
        text.parts(segment.element(3), partner(version));
        text.parts(segment.element(2), partner(version));
        text.composite(&[date, stamp.time()]).element(control);
        if is_test {
            for _ in 6..11 {
                text.element(b"");
            }
            text.element(b"1");
        }
        text.end();
    }
}

impl Note {
    /// Returns the position of the segment; for a missing one, that of its predecessor (data element 0096), which belongs to the same loop or to
    /// one before it.
    pub(super) fn own_segment(&self) -> u64 {
        // 3: mandatory segment missing, found at its successor. A rule that asks for a segment is found at the first segment of the group that lacks it.
        let is_missing =
            self.codes.segment == Some("3") && self.codes.implementation_segment != Some("I6") && self.at.element == 0;
        if is_missing { self.at.segment.saturating_sub(1).max(1) } else { self.at.segment.max(1) }
    }

    /// Returns the code of data element 0085. Codes that the version lacks become 12, invalid value.
    fn contrl_code(&self, version: u8) -> Option<&'static str> {
        Some(match (self.codes.contrl?, version) {
            ("45" | "46" | "47" | "48", ..4) | ("19", 4..) => "12",
            (code, _) => code,
        })
    }
}

/// Writes action code, error code, service segment and element of UCI, UCF or UCM.
fn answer(
    text: &mut Text,
    notes: &Notes,
    security: Option<SecurityFailure>,
    level: Level,
    version: u8,
    accepted: &[u8],
) {
    if notes.judgment != Judgment::Rejected {
        text.element(accepted).end();
        return;
    }
    text.element(REJECTED);
    if security.is_some() {
        text.element(SECURITY).end();
        return;
    }
    let own = |note: &&Note| note.codes.contrl.is_some() && (level != Level::Transaction || note.service.is_some());
    if let Some(note) = notes.list.iter().find(own) {
        text.element(note.contrl_code(version).unwrap_or("").as_bytes());
        if let Some((level, side)) = note.service {
            let standard = text.delimiters.standard;
            let tag = if side == Side::Header { level.header(standard) } else { level.trailer(standard) };
            text.element(tag.as_bytes());
            place(text, note, version);
        }
    } else if !notes.list.iter().any(|note| note.codes.contrl.is_some()) {
        text.element(UNSPECIFIED);
    }
    text.end();
}

/// Writes S011: position of the element, counting the tag as 1, and of the component; the occurrence from version 4 on.
fn place(text: &mut Text, note: &Note, version: u8) {
    let at = note.at;
    if at.element == 0 || at.element > 998 {
        return;
    }
    let number = |number: u32| if (1..=999).contains(&number) { number.to_string() } else { String::new() };
    let (element, component) = (number(at.element + 1), number(at.component));
    let repetition = if version == 4 { number(at.repetition) } else { String::new() };
    text.composite(&[element.as_bytes(), component.as_bytes(), repetition.as_bytes()]);
}

/// Returns the components of S002 and S003.
pub(super) fn partner(version: u8) -> &'static [Part] {
    if version == 4 { &PARTNER_4 } else { &PARTNER_3 }
}

fn syntax_version(interchange: &Header) -> u8 {
    if &interchange.component(1, 2)[..] == b"4" { 4 } else { 3 }
}

/// Returns true if a reader would assume other delimiters without UNA.
fn needs_una(delimiters: &Delimiters, version: u8) -> bool {
    let default = if version == 4 { Delimiters::EDIFACT_4 } else { Delimiters::EDIFACT };
    *delimiters != default && *delimiters != Delimiters::EDIFACT_B
}

fn una(text: &mut Text) {
    let d = text.delimiters;
    let (release, repetition) = (d.release.unwrap_or(b' '), d.repetition.unwrap_or(b' '));
    text.bytes.extend_from_slice(b"UNA");
    text.bytes.extend_from_slice(&[d.component, d.element, d.decimal_mark, release, repetition, d.terminator]);
    text.bytes.extend_from_slice(text.line_break.bytes());
}

#[cfg(test)]
mod tests {
    use super::super::list::AcknowledgmentList;
    use super::*;
    use crate::acknowledgment_codes::AcknowledgmentCodes;
    use crate::guide::acknowledgment_guides;
    use crate::position::Position;

    #[test]
    fn the_guide_of_each_version_has_the_codes_that_are_written() {
        let guides = acknowledgment_guides();
        for version in [3, 4] {
            let name = format!("CONTRL-{version}");
            let guide = guides.iter().find(|guide| guide.name == name).expect("the guide");
            let list = &guide.dictionary.codes["0085"].codes;
            // No fault has the codes of the older CONTRL.
            let codes =
                AcknowledgmentList::SyntaxError.codes().iter().filter(|(_, words)| !words.contains("before D:3"));
            for (code, _) in codes {
                let codes = AcknowledgmentCodes { contrl: Some(code), ..AcknowledgmentCodes::default() };
                let note = Note { codes, at: Position::default(), service: None, context: None, unit: None };
                let written = note.contrl_code(version).expect("a code");
                assert!(list.iter().any(|entry| entry.value == written), "{name}: {code}");
            }
        }
    }
}
