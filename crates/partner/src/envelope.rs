//! Interchanges as text: takes transactions out of an interchange, puts them into another and replaces numbers.
//!
//! The text of a transaction does not change unless the partner's delimiters differ from those of the map's output. Quayline therefore sends exactly
//! the text that the map produced and that was checked. Headers and trailers are written here, from identities, settings and registers.

use std::borrow::Cow;
use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Limits};
use quayline_edi::acknowledge::Stamp;
use quayline_edi::{
    Closed, Delimiters, EndOfInput, EnvelopeReader, Event, Header, Level, Rules, Standard, header_fields, with_element,
};

use crate::code_sets::{AsciiBytes, CodeSets, ExtendedHeaders, function_at, has_code_extension};
use crate::codes;
use crate::watch::Watch;

/// A transaction taken out of an interchange.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) delimiters: Delimiters,
    /// GS01; empty for EDIFACT.
    pub(crate) functional: String,
    /// ST01 or the message type.
    pub(crate) document: String,
    /// ST03 or GS08; version, release, agency and association of UNH.
    pub(crate) version: String,
    /// GS08.
    pub(crate) group_version: String,
    /// Qualifier and identification of the receiver that the interchange names.
    pub(crate) receiver: (String, String),
    /// Qualifier and identification of the sender.
    pub(crate) sender: (String, String),
    /// Syntax identifier of UNB, which names the character set; empty for X12.
    pub(crate) syntax: String,
    /// GS03, or data element 0026.
    pub(crate) application: String,
    /// Range of the text, from the header to the terminator of the trailer, in the source bytes. Pieces share those bytes because many pieces may wait
    /// to be sent.
    text: core::ops::Range<usize>,
    /// Escape sequences that the text needs after its header, and their place in the source: those of earlier messages that are still in force.
    selections: (usize, Vec<u8>),
    /// Elements that were looked for, and their values.
    pub(crate) values: Vec<(String, String)>,
    /// Headers and trailers of an interchange with this transaction alone, if they are wanted.
    around: Option<Arc<(Vec<u8>, Vec<u8>)>>,
}

/// Parts of transactions to extract in addition to their headers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted<'w> {
    /// Elements whose values are looked for.
    pub(crate) elements: &'w [String],
    /// True to extract each transaction as a separate interchange.
    pub(crate) alone: bool,
}

impl Piece {
    /// Returns the text. `source` are the bytes that the piece was taken from.
    pub(crate) fn text<'s>(&self, source: &'s [u8]) -> Cow<'s, [u8]> {
        let (at, selections) = &self.selections;
        if selections.is_empty() {
            return Cow::Borrowed(&source[self.text.clone()]);
        }
        Cow::Owned([&source[self.text.start..*at], selections, &source[*at..self.text.end]].concat())
    }

    /// Returns a text of this piece with other delimiters, or as it is if it has these already. It must be in the piece's character set, or in one
    /// without code extension.
    ///
    /// # Errors
    /// The delimiters cannot carry the text, such as binary data, whose length they would change.
    pub(crate) fn written(&self, text: Cow<'_, [u8]>, to: &Delimiters, line_breaks: bool) -> Result<Vec<u8>, Findings> {
        // Without repetitions, their separator does not matter. Binary data then stays as it is.
        let repetitions = [self.delimiters.repetition, to.repetition];
        let has_repetition = || text.iter().any(|byte| repetitions.contains(&Some(*byte)));
        let is_same = Delimiters { repetition: to.repetition, ..self.delimiters } == *to
            && (repetitions[0] == repetitions[1] || !has_repetition());
        let terminator = self.delimiters.terminator;
        let has_breaks =
            || text.array_windows().any(|[last, next]| *last == terminator && matches!(next, b'\r' | b'\n'));
        if is_same && !line_breaks && !has_breaks() {
            return Ok(text.into_owned());
        }
        let is_extended = self.delimiters.standard == Standard::Edifact && has_code_extension(self.syntax.as_bytes());
        match recode(&text, &self.delimiters, to, line_breaks, is_extended.then(CodeSets::default)) {
            // Binary data stays with the line breaks around it.
            Err(_) if is_same && !line_breaks => Ok(text.into_owned()),
            written => written,
        }
    }

    /// Returns the transaction with this text as a separate interchange, if that was requested.
    pub(crate) fn alone(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.around.as_ref().map(|around| [&around.0, text, &around.1].concat())
    }

    /// Returns the value of a requested element, such as `BEG03`.
    pub(crate) fn value(&self, element: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == element).map(|(_, value)| value.as_str())
    }
}

/// Returns the version of a transaction from its headers.
pub(crate) fn version_of(transaction: &Header, group: Option<&Header>) -> String {
    let text = |header: &Header, name: &str| crate::time::text_of(&header.field(name));
    match transaction.delimiters().standard {
        Standard::X12 => {
            let own = text(transaction, "implementation");
            if own.is_empty() { group.map(|group| text(group, "version")).unwrap_or_default() } else { own }
        }
        Standard::Edifact => {
            let parts = ["version", "release", "agency", "association"].map(|name| text(transaction, name));
            parts.join(":").trim_end_matches(':').to_owned()
        }
    }
}

/// Splits interchanges from a map or a user into their transactions, with the parts that `wanted` requests.
pub(crate) fn pieces(edi: &[u8], limits: &Limits, wanted: Wanted<'_>) -> Result<Vec<Piece>, Findings> {
    let references = wanted.elements;
    let mut around: Option<Arc<(Vec<u8>, Vec<u8>)>> = None;
    let mut watch = Watch::of(references.iter().map(String::as_str));
    let mut reader = EnvelopeReader::new(limits, Rules::Lenient);
    let mut pass = reader.over(edi, EndOfInput::Yes);
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut headers = ExtendedHeaders::default();
    let mut selections: (Option<usize>, Vec<u8>) = (None, Vec::new());
    let not_edi = || {
        let finding =
            Finding::error(codes::NOT_EDI, Fault::Config, "the document to send is not a whole EDI transaction");
        Findings::from(finding.hint("send what a map with an EDI target makes, or whole interchanges"))
    };
    loop {
        let event = pass.advance();
        if matches!(event, Event::Segment | Event::TransactionEnd(_)) {
            selections.0.get_or_insert(pass.segment_start());
        }
        match event {
            Event::InterchangeStart | Event::GroupStart => around = None,
            Event::TransactionStart => {
                let start = pass.segment_start();
                let (before, needed) = headers.after_header(&edi[start..pass.consumed()]);
                (from, selections) = (start + before, (None, needed));
                watch.clear();
                if wanted.alone && around.is_none() {
                    around =
                        Some(Arc::new(around_alone(pass.interchange(), pass.group(), headers.unchanged().as_deref())));
                }
            }
            Event::Segment if !references.is_empty() => watch.segment(&pass.segment(), pass.interchange()),
            Event::TransactionEnd(Closed::Unclosed) | Event::InterchangeEnd(Closed::Unclosed) => return Err(not_edi()),
            Event::TransactionEnd(Closed::ByTrailer) => {
                let text = |header: &Header, name: &str| crate::time::text_of(header.field(name).trim_ascii());
                let (transaction, interchange) = (pass.transaction(), pass.interchange());
                let group = |name: &str| pass.group().map(|group| text(group, name)).unwrap_or_default();
                let is_x12 = pass.delimiters().standard == Standard::X12;
                pieces.push(Piece {
                    delimiters: *pass.delimiters(),
                    functional: if is_x12 { group("functional_id") } else { String::new() },
                    document: text(transaction, "type"),
                    version: version_of(transaction, pass.group()),
                    group_version: group("version"),
                    receiver: (text(interchange, "receiver_qualifier"), text(interchange, "receiver")),
                    sender: (text(interchange, "sender_qualifier"), text(interchange, "sender")),
                    syntax: if is_x12 { String::new() } else { text(interchange, "syntax_identifier") },
                    application: if is_x12 { group("receiver") } else { text(interchange, "application_reference") },
                    text: from..pass.consumed(),
                    selections: (selections.0.unwrap_or(from), std::mem::take(&mut selections.1)),
                    values: references
                        .iter()
                        .filter_map(|element| Some((element.clone(), watch.value(element)?.to_owned())))
                        .collect(),
                    around: around.clone(),
                });
            }
            Event::Done => break,
            _ => {}
        }
        headers.see(event, &pass, edi);
    }
    let _ = pass.finish();
    let errors: Vec<Finding> = reader
        .take_faults()
        .map(|fault| fault.finding(None))
        .filter(|one| one.severity == quayline_core::Severity::Error)
        .collect();
    if errors.is_empty() && !pieces.is_empty() {
        Ok(pieces)
    } else if errors.is_empty() {
        Err(not_edi())
    } else {
        Err(Findings(errors))
    }
}

/// Rewrites a transaction with other delimiters. `sets` follows the character sets of a text with code extension.
fn recode(
    text: &[u8],
    from: &Delimiters,
    to: &Delimiters,
    line_breaks: bool,
    mut sets: Option<CodeSets>,
) -> Result<Vec<u8>, Findings> {
    let mut out = Vec::with_capacity(text.len() + 16);
    let refuse = |what: &str| {
        let message = format!("the document holds {what}, which the partner's delimiters cannot carry");
        let finding = Finding::error(codes::DELIMITER, Fault::Config, message);
        Findings::from(finding.hint(match what {
            "repetitions" => "agree with the partner on a `version` that has repetitions, such as 00402 or UNOC:4, or write the values separately in the map",
            _ => "choose other delimiters in the partner's settings, or replace the character in the map",
        }))
    };
    let mut at = 0;
    let mut between = true;
    let mut tag: Vec<u8> = Vec::new();
    let mut in_tag = true;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if between && byte.is_ascii_whitespace() {
            continue;
        }
        if let Some(sets) = &mut sets {
            if let Some(function) = function_at(&text[at - 1..]) {
                out.extend_from_slice(function);
                at += function.len() - 1;
                sets.select(function);
                if sets.ascii() == AsciiBytes::Unknown || matches!(function, [_, b'N' | b'O']) {
                    return Err(refuse("text in a character set without ASCII"));
                }
                continue;
            }
            if matches!(byte, 0x8e | 0x8f) {
                return Err(refuse("text in a character set without ASCII"));
            }
            if sets.ascii() == AsciiBytes::Parts && matches!(byte, 0x21..=0x7e) {
                out.push(byte);
                continue;
            }
        }
        between = false;
        if Some(byte) == from.release {
            in_tag = false;
            let Some(&data) = text.get(at) else { break };
            at += 1;
            put_data(&mut out, data, to).map_err(|()| refuse("one of them as data"))?;
        } else if byte == from.element {
            if matches!(tag.as_slice(), b"BIN" | b"BDS") {
                return Err(refuse("binary data"));
            }
            in_tag = false;
            out.push(to.element);
        } else if byte == from.component {
            out.push(to.component);
        } else if Some(byte) == from.repetition {
            out.push(to.repetition.ok_or_else(|| refuse("repetitions"))?);
        } else if byte == from.terminator {
            out.push(to.terminator);
            if line_breaks {
                out.push(b'\n');
            }
            between = true;
            in_tag = true;
            tag.clear();
        } else {
            if in_tag {
                tag.push(byte);
            }
            put_data(&mut out, byte, to).map_err(|()| refuse("one of them as data"))?;
        }
    }
    Ok(out)
}

fn put_data(out: &mut Vec<u8>, byte: u8, to: &Delimiters) -> Result<(), ()> {
    let is_service = byte == to.element
        || byte == to.component
        || byte == to.terminator
        || Some(byte) == to.repetition
        || Some(byte) == to.release;
    match (is_service, to.release) {
        (false, _) => out.push(byte),
        (true, Some(release)) => out.extend_from_slice(&[release, byte]),
        (true, None) => return Err(()),
    }
    Ok(())
}

/// Replaces the control number in header and trailer of a transaction; `None` if the text is not a transaction with these delimiters.
pub(crate) fn with_number(text: &[u8], delimiters: &Delimiters, number: &str) -> Option<Vec<u8>> {
    let is_end = |at: &usize| text[*at] == delimiters.terminator && !released(text, *at, delimiters);
    let (tag, header_element) = if delimiters.standard == Standard::X12 { (&b"ST"[..], 2) } else { (&b"UNH"[..], 1) };
    let body = text.trim_ascii_end();
    // A line feed may be the terminator.
    let last_end = (body.len().saturating_sub(1)..text.len()).find(is_end)?;
    let first = (0..last_end).find(is_end)?;
    if text.strip_prefix(tag)?.first() != Some(&delimiters.element) {
        return None;
    }
    let trailer = (first..last_end).rev().find(is_end)? + 1;
    let trailer = trailer + text[trailer..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let header = with_element(&text[..first], delimiters, header_element, number.as_bytes());
    let end = with_element(text.get(trailer..last_end)?, delimiters, 2, number.as_bytes());
    Some([&header, &text[first..trailer], &end, &text[last_end..]].concat())
}

fn released(text: &[u8], at: usize, delimiters: &Delimiters) -> bool {
    let Some(release) = delimiters.release else { return false };
    text[..at].iter().rev().take_while(|byte| **byte == release).count() % 2 == 1
}

/// Returns true if interchanges of a version have a repetition separator. Readers of the others take it for data.
pub(crate) fn has_repetition(standard: Standard, version: &str) -> bool {
    match standard {
        Standard::X12 => version >= "00402",
        Standard::Edifact => version.ends_with(":4"),
    }
}

/// One side of an interchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Party {
    pub(crate) qualifier: String,
    pub(crate) id: String,
    pub(crate) group: String,
}

/// Content of an interchange header.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(crate) delimiters: Delimiters,
    /// ISA12, or syntax identifier and version.
    pub(crate) version: String,
    pub(crate) sender: Party,
    pub(crate) receiver: Party,
    pub(crate) test: bool,
    pub(crate) stamp: Stamp,
    /// Fields by `interchange.NAME` or `group.NAME`.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) line_breaks: bool,
}

/// Writes an interchange.
#[derive(Debug)]
pub(crate) struct EnvelopeText<'e> {
    envelope: &'e Envelope,
    pub(crate) out: Vec<u8>,
    number: String,
    groups: u64,
    group_number: String,
    transactions: u64,
    messages: u64,
}

impl<'e> EnvelopeText<'e> {
    /// Writes the header.
    pub(crate) fn open(envelope: &'e Envelope, number: u64) -> Self {
        let mut text = EnvelopeText {
            envelope,
            out: Vec::new(),
            number: String::new(),
            groups: 0,
            group_number: String::new(),
            transactions: 0,
            messages: 0,
        };
        match envelope.delimiters.standard {
            Standard::X12 => {
                text.number = format!("{number:09}");
                text.isa();
            }
            Standard::Edifact => {
                text.number = number.to_string();
                text.unb();
            }
        }
        text
    }

    fn field(&self, level: &str, name: &str) -> Option<&str> {
        let is_it = |key: &str| match key.split_once(['.', '-']) {
            Some((of, field)) if of == "interchange" || of == "group" => of == level && field.replace('-', "_") == name,
            _ => level == "interchange" && key.replace('-', "_") == name,
        };
        self.envelope.fields.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value.as_str())
    }

    fn isa(&mut self) {
        let envelope = self.envelope;
        let (date, time) = (envelope.stamp.short_date().to_vec(), envelope.stamp.time().to_vec());
        let take = |name: &str, default: &str| self.field("interchange", name).unwrap_or(default).to_owned();
        let repetition = match envelope.delimiters.repetition {
            Some(byte) if has_repetition(Standard::X12, &envelope.version) => char::from(byte).to_string(),
            _ => "U".to_owned(),
        };
        let elements = [
            take("authorization_qualifier", "00"),
            format!("{:<10}", take("authorization", "")),
            take("security_qualifier", "00"),
            format!("{:<10}", take("security", "")),
            envelope.sender.qualifier.clone(),
            format!("{:<15}", envelope.sender.id),
            envelope.receiver.qualifier.clone(),
            format!("{:<15}", envelope.receiver.id),
            crate::time::text_of(&date),
            crate::time::text_of(&time),
            repetition,
            envelope.version.clone(),
            self.number.clone(),
            take("acknowledgment_requested", "0"),
            if envelope.test { "T" } else { "P" }.to_owned(),
            char::from(envelope.delimiters.component).to_string(),
        ];
        self.segment("ISA", &elements.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    fn unb(&mut self) {
        let envelope = self.envelope;
        let delimiters = envelope.delimiters;
        let is_4 = has_repetition(Standard::Edifact, &envelope.version);
        let usual = if is_4 { Delimiters::EDIFACT_4 } else { Delimiters::EDIFACT };
        if delimiters != usual {
            let last = if is_4 { delimiters.repetition } else { None };
            let service = [
                delimiters.component,
                delimiters.element,
                delimiters.decimal_mark,
                delimiters.release.unwrap_or(b' '),
                last.unwrap_or(b' '),
                delimiters.terminator,
            ];
            self.out.extend_from_slice(b"UNA");
            self.out.extend_from_slice(&service);
            self.break_line();
        }
        // Elements and components by the standard's table, so that any field of the header can be set.
        let fields = header_fields(Standard::Edifact, Level::Interchange);
        let (identifier, version) = envelope.version.split_once(':').unwrap_or(("UNOC", "3"));
        let stamp = &envelope.stamp;
        let date = crate::time::text_of(if is_4 { stamp.date() } else { stamp.short_date() });
        let time = crate::time::text_of(stamp.time());
        let mut elements: Vec<Vec<String>> = vec![Vec::new(); 12];
        for field in fields {
            let value = match field.name {
                "syntax_identifier" => identifier,
                "syntax_version" => version,
                "sender" => &envelope.sender.id,
                "sender_qualifier" => &envelope.sender.qualifier,
                "receiver" => &envelope.receiver.id,
                "receiver_qualifier" => &envelope.receiver.qualifier,
                "date" => &date,
                "time" => &time,
                "control_number" => &self.number,
                "test" if envelope.test => "1",
                name => self.field("interchange", name).unwrap_or(""),
            };
            let components = &mut elements[field.element];
            components.resize(components.len().max(field.component), String::new());
            components[field.component - 1] = value.to_owned();
        }
        let join = |components: &Vec<String>| {
            let mut text = Vec::new();
            let used = components.iter().rposition(|one| !one.is_empty()).map_or(0, |last| last + 1);
            for (number, component) in components[..used].iter().enumerate() {
                if number > 0 {
                    text.push(delimiters.component);
                }
                for byte in component.bytes() {
                    // EDIFACT has a release character unless the partner turned it off; then the byte is written as it is.
                    if put_data(&mut text, byte, &delimiters).is_err() {
                        text.push(byte);
                    }
                }
            }
            text
        };
        let mut elements: Vec<Vec<u8>> = elements[1..].iter().map(join).collect();
        while elements.last().is_some_and(Vec::is_empty) {
            elements.pop();
        }
        self.segment("UNB", &elements.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }

    /// Writes the header of a group; EDIFACT has none here.
    pub(crate) fn open_group(&mut self, functional: &str, version: &str, number: u64) {
        self.groups += 1;
        self.transactions = 0;
        self.group_number = number.to_string();
        let envelope = self.envelope;
        let of = |party: &Party| if party.group.is_empty() { party.id.clone() } else { party.group.clone() };
        let (sender, receiver) = (of(&envelope.sender), of(&envelope.receiver));
        let agency = self.field("group", "agency").unwrap_or("X").to_owned();
        let group_number = self.group_number.clone();
        let elements: [&[u8]; 8] = [
            functional.as_bytes(),
            sender.as_bytes(),
            receiver.as_bytes(),
            envelope.stamp.date(),
            envelope.stamp.time(),
            group_number.as_bytes(),
            agency.as_bytes(),
            version.as_bytes(),
        ];
        self.segment("GS", &elements);
    }

    /// Adds a transaction, which has the delimiters of the envelope.
    /// `false` if it has others.
    #[must_use]
    pub(crate) fn transaction(&mut self, text: &[u8], number: &str) -> bool {
        let Some(text) = with_number(text, &self.envelope.delimiters, number) else { return false };
        self.transactions += 1;
        self.messages += 1;
        self.out.extend_from_slice(&text);
        true
    }

    /// Writes the trailer of a group.
    pub(crate) fn close_group(&mut self) {
        let (count, number) = (self.transactions.to_string(), self.group_number.clone());
        self.segment("GE", &[count.as_bytes(), number.as_bytes()]);
    }

    /// Writes the trailer.
    pub(crate) fn close(mut self) -> Vec<u8> {
        let number = self.number.clone();
        match self.envelope.delimiters.standard {
            Standard::X12 => self.segment("IEA", &[self.groups.to_string().as_bytes(), number.as_bytes()]),
            Standard::Edifact => self.segment("UNZ", &[self.messages.to_string().as_bytes(), number.as_bytes()]),
        }
        self.out
    }

    fn segment(&mut self, tag: &str, elements: &[&[u8]]) {
        self.out.extend_from_slice(tag.as_bytes());
        for element in elements {
            self.out.push(self.envelope.delimiters.element);
            self.out.extend_from_slice(element);
        }
        self.out.push(self.envelope.delimiters.terminator);
        self.break_line();
    }

    fn break_line(&mut self) {
        if self.envelope.line_breaks {
            self.out.push(b'\n');
        }
    }
}

/// Begins a transaction as a separate interchange with copies of its headers. `unchanged` has the bytes of the source for text with code extension,
/// because the text of its headers is decoded.
pub(crate) fn begin_alone(
    service: Option<&Delimiters>,
    (interchange, group): (&Header, Option<&Header>),
    unchanged: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    out.clear();
    let delimiters = interchange.delimiters();
    if let Some(service) = service {
        out.extend_from_slice(b"UNA");
        let repetition = service.repetition.unwrap_or(b' ');
        let release = service.release.unwrap_or(b' ');
        out.extend_from_slice(&[
            service.component,
            service.element,
            service.decimal_mark,
            release,
            repetition,
            service.terminator,
        ]);
    }
    if let Some(unchanged) = unchanged {
        return out.extend_from_slice(unchanged);
    }
    out.extend_from_slice(interchange.segment().raw());
    out.push(delimiters.terminator);
    if let (Standard::X12, Some(release)) = (delimiters.standard, delimiters.release) {
        out.extend_from_slice(&[b'I', b'S', b'X', delimiters.element, release, delimiters.terminator]);
    }
    if let Some(group) = group {
        out.extend_from_slice(group.segment().raw());
        out.push(delimiters.terminator);
    }
}

/// Returns the bytes before and after a transaction in a separate interchange.
fn around_alone(interchange: &Header, group: Option<&Header>, unchanged: Option<&[u8]>) -> (Vec<u8>, Vec<u8>) {
    let delimiters = interchange.delimiters();
    let service = (delimiters.standard == Standard::Edifact).then_some(delimiters);
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    begin_alone(service, (interchange, group), unchanged, &mut head);
    end_alone(interchange, group, 0, &mut tail);
    // The terminator of the transaction's trailer is in its text.
    tail.remove(0);
    (head, tail)
}

/// Ends it: the trailers of those headers. `begin` is where the transaction begins in `out`.
pub(crate) fn end_alone(interchange: &Header, group: Option<&Header>, begin: usize, out: &mut Vec<u8>) {
    let delimiters = interchange.delimiters();
    let used = out[begin..].trim_ascii_end().len();
    out.truncate(begin + used);
    if out.last() != Some(&delimiters.terminator) {
        out.push(delimiters.terminator);
    }
    let is_x12 = delimiters.standard == Standard::X12;
    let mut trailer = |tag: &[u8], header: &Header, element: usize| {
        out.extend_from_slice(tag);
        out.extend_from_slice(&[delimiters.element, b'1', delimiters.element]);
        if let Some(number) = header.segment().element(element) {
            out.extend_from_slice(number.raw());
        }
        out.push(delimiters.terminator);
    };
    if let Some(group) = group {
        trailer(if is_x12 { b"GE" } else { b"UNE" }, group, if is_x12 { 6 } else { 5 });
    }
    trailer(if is_x12 { b"IEA" } else { b"UNZ" }, interchange, if is_x12 { 13 } else { 5 });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(delimiters: Delimiters, version: &str) -> Envelope {
        let party =
            |qualifier: &str, id: &str| Party { qualifier: qualifier.into(), id: id.into(), group: String::new() };
        Envelope {
            delimiters,
            version: version.into(),
            sender: party("ZZ", "US"),
            receiver: party("14", "ACME"),
            test: true,
            stamp: Stamp::new("20260401", "1200").expect("a date and a time"),
            fields: vec![("interchange.application_reference".into(), "APP+1".into())],
            line_breaks: false,
        }
    }

    #[test]
    fn an_x12_envelope_has_its_widths_counts_and_numbers() {
        let envelope = envelope(Delimiters::X12, "00501");
        let mut text = EnvelopeText::open(&envelope, 7);
        text.open_group("IN", "005010", 3);
        assert!(text.transaction(b"ST*810*0009~BIG*1~SE*3*0009~", "0001"));
        assert!(text.transaction(b"ST*810*0009*005010~\nBIG*1~\nSE*3*0009~\n", "0002"));
        text.close_group();
        let out = String::from_utf8(text.close()).expect("text");
        assert_eq!(
            out,
            "ISA*00*          *00*          *ZZ*US             *14*ACME           *260401*1200*^*00501*000000007*0*T*:~\
             GS*IN*US*ACME*20260401*1200*3*X*005010~ST*810*0001~BIG*1~SE*3*0001~ST*810*0002*005010~\nBIG*1~\nSE*3*0002~\n\
             GE*2*3~IEA*1*000000007~"
        );
        let found = pieces(out.as_bytes(), &Limits::default(), Wanted::default()).expect("a good interchange");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].functional.as_str(), found[0].version.as_str()), ("IN", "005010"));
    }

    #[test]
    fn an_edifact_envelope_releases_what_it_must() {
        let envelope = envelope(Delimiters::EDIFACT, "UNOC:3");
        let mut text = EnvelopeText::open(&envelope, 7);
        assert!(text.transaction(b"UNH+9+INVOIC:D:96A:UN'FTX+AAI+++IT?'S'UNT+3+9'", "1"));
        let out = String::from_utf8(text.close()).expect("text");
        assert_eq!(
            out,
            "UNB+UNOC:3+US:ZZ+ACME:14+260401:1200+7++APP?+1++++1'UNH+1+INVOIC:D:96A:UN'FTX+AAI+++IT?'S'UNT+3+1'UNZ+1+7'"
        );
    }

    #[test]
    fn other_delimiters_are_written_or_refused() {
        let to = Delimiters { element: b'|', terminator: b'\n', ..Delimiters::X12 };
        let done = recode(b"ST*850*1~REF*A:B^C*D~", &Delimiters::X12, &to, false, None).expect("fits");
        assert_eq!(done, b"ST|850|1\nREF|A:B^C|D\n");
        let refused = recode(b"ST*850*1~REF*A|B~", &Delimiters::X12, &to, false, None).expect_err("| is data");
        assert_eq!(refused.0[0].code, codes::DELIMITER);
        let back = recode(
            b"UNH+1'FTX+A?+B|C'",
            &Delimiters::EDIFACT,
            &Delimiters { element: b'|', ..Delimiters::EDIFACT },
            false,
            None,
        );
        assert_eq!(back.expect("released"), b"UNH|1'FTX|A+B?|C'");
    }
}
