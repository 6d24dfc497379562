//! Generic documents as interchanges.

use std::sync::Arc;

use quayline_charset::Charset;
use quayline_core::{NodeId, Severity, Shape, Sink, Value};

use super::coding::{Coding, Page};
use super::draft::{Draft, DraftSegment, EdiDraft, EdiDrafter, Part};
use super::shape::{HeaderNodes, Nodes};
use super::write_error::EdiWriteError;
use crate::characters::delimiter_of;
use crate::control::{ControlKey, ControlMark, ControlNumbers, CountedNumbers};
use crate::delimiters::{Delimiters, Standard};
use crate::documents::GuideDocuments;
use crate::envelope::{Check, header_fields};
use crate::fault::{EdiError, EdiFault};
use crate::level::Level;
use crate::outbound::{OutboundCheck, OutboundFaults, OutboundMark, OutboundOptions};
use crate::position::Position;
use crate::splitter::LineBreak;
use crate::start::{self, CharacterSet};
use crate::state::{StateReader, StateWriter};

/// Choices of an [`EdiWriter`].
#[derive(Clone, Debug, Default)]
pub struct EdiWriterOptions {
    /// Delimiters for documents without any. `None`: usual delimiters that do not occur in the first document of an interchange.
    pub delimiters: Option<Delimiters>,
    /// Line breaks after segments of documents that do not specify them.
    pub line_break: LineBreak,
    /// Character set. `None`: the one that UNB names, otherwise ISO-8859-1.
    pub charset: Option<Charset>,
    /// The guides of the documents; absent, they are documents without one.
    pub guides: Option<Arc<GuideDocuments>>,
    /// Options for checking the output, using guides if there are any. `None`: the output is not checked.
    pub check: Option<OutboundOptions>,
    /// Control numbers of headers without one, unless [`EdiWriter::with_numbers`] provides others.
    pub numbers: CountedNumbers,
}

/// Writes documents of [`super::generic_shape`] as interchanges.
///
/// Documents of the same interchange and group share its envelope, as determined by `position`, the header fields and the delimiters. Trailers,
/// counts and control numbers are written automatically; a missing control number becomes the next one. A canonical interchange that was read is
/// written back byte for byte: fixed widths in ISA, release characters only before service characters, no superfluous segments, line breaks after
/// every segment or none.
#[derive(Clone, Debug)]
pub struct EdiWriter {
    nodes: Arc<Nodes>,
    shape: Arc<Shape>,
    options: EdiWriterOptions,
    drafter: EdiDrafter,
    /// A draft that was written, for its memory.
    used: Option<EdiDraft>,
    out: Vec<u8>,
    /// State before the last document began, so that it can be discarded; `None` if no document was begun. The saved state includes that of the
    /// check, which costs more than the bytes of a short document.
    before: Option<Saved>,
    open: Saved,
    errors: Vec<EdiWriteError>,
    encoded: Vec<u8>,
    parts: Vec<Part>,
    numbers: Box<dyn ControlNumbers>,
    check: Option<Box<OutboundCheck>>,
    /// Bytes of `out` that the check has seen.
    checked: usize,
    /// Faults found when a transaction of several pages ended.
    late: OutboundFaults,
    /// Characters that the interchange names no set for, found without a check.
    foreign: Vec<EdiFault>,
    /// True if a transaction is open whose beginning the check has not seen, because the run resumed after it.
    check_lost: bool,
}

/// Open levels after the last document.
#[derive(Clone, Debug, Default)]
struct Saved {
    out_len: usize,
    interchange: Option<OpenHeader>,
    group: Option<OpenHeader>,
    /// Open transaction; its trailer is written when no further page follows.
    transaction: Option<OpenTransaction>,
    /// Saved state of the control numbers and the check.
    numbers: ControlMark,
    check: Option<Arc<OutboundMark>>,
}

/// Saved output position of an [`EdiWriter`].
#[derive(Clone, Debug)]
pub struct EdiMark(Saved);

impl EdiMark {
    /// Bytes of the output before it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.out_len
    }

    /// Adjusts the mark after the bytes up to it were taken and the writer was cleared.
    pub fn taken(&mut self) {
        self.0.out_len = 0;
    }
}

#[derive(Clone, Debug)]
struct OpenTransaction {
    /// The header as written, without its terminator.
    text: Vec<u8>,
    control: Vec<u8>,
    page: u64,
    /// Segments so far, the header too.
    segments: u64,
}

#[derive(Clone, Debug)]
struct OpenHeader {
    delimiters: Delimiters,
    line_break: LineBreak,
    position: Vec<u8>,
    /// The header as written, without its terminator.
    text: Vec<u8>,
    control: Vec<u8>,
    counted: u64,
}

impl EdiWriter {
    /// Creates a writer whose control numbers continue from those of the options.
    #[must_use]
    pub fn new(options: EdiWriterOptions) -> Self {
        let numbers = Box::new(options.numbers);
        EdiWriter::with_numbers(options, numbers)
    }

    /// Creates a writer with external control numbers.
    #[must_use]
    pub fn with_numbers(options: EdiWriterOptions, numbers: Box<dyn ControlNumbers>) -> Self {
        let (shape, nodes, drafter) = match &options.guides {
            Some(documents) => {
                let drafter = EdiDrafter::by_guide(documents);
                (documents.shared_shape(), Arc::clone(&documents.nodes), drafter)
            }
            None => {
                let (shape, nodes) = Nodes::build();
                let nodes = Arc::new(nodes);
                let drafter = EdiDrafter::of(Arc::clone(&nodes));
                (Arc::new(shape), nodes, drafter)
            }
        };
        let check = options.check.as_ref();
        let check = check.map(|check| Box::new(OutboundCheck::new(check, options.guides.as_ref(), options.charset)));
        EdiWriter {
            drafter,
            nodes,
            shape,
            options,
            used: None,
            out: Vec::new(),
            before: None,
            open: Saved::default(),
            errors: Vec::new(),
            encoded: Vec::new(),
            parts: Vec::new(),
            numbers,
            check,
            checked: 0,
            late: OutboundFaults::default(),
            foreign: Vec::new(),
            check_lost: false,
        }
    }

    /// Returns the shape of the documents.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the written bytes that were not taken. The last document may still be discarded, so take them before the next one begins.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Forgets the bytes, once they are taken.
    pub fn clear(&mut self) {
        self.out.clear();
        self.open.out_len = 0;
        self.checked = 0;
        self.before = None;
    }

    /// Drops the bytes before the mark after they were taken; bytes written since can still be discarded.
    pub fn clear_to(&mut self, mark: &mut EdiMark) {
        self.out.drain(..mark.0.out_len);
        self.open.out_len -= mark.0.out_len;
        self.checked -= mark.0.out_len;
        mark.taken();
        self.before = None;
    }

    /// Returns the errors because of which the last document was not written; it left no bytes in that case.
    pub fn take_errors(&mut self) -> Vec<EdiWriteError> {
        core::mem::take(&mut self.errors)
    }

    /// Closes all open levels; call it after the last document.
    pub fn finish(&mut self) {
        self.end_transaction();
        self.close_interchange();
        self.open.out_len = self.out.len();
        self.look();
        self.before = None;
    }

    /// Writes a document that was taken from an [`EdiDrafter`]. [`EdiWriter::take_faults`] returns the faults found by the check; the caller decides
    /// whether to discard the document ([`EdiWriter::back_to`]).
    ///
    /// # Errors
    /// The reason why it cannot be written; it left no bytes in that case.
    pub fn write(&mut self, draft: &EdiDraft) -> Result<(), EdiWriteError> {
        if self.check.is_some() && self.open.transaction.is_some() && !self.continues(draft) {
            // The faults of the open transaction do not belong to this document.
            self.end_transaction();
            let faults = self.take_faults();
            self.late.append(faults);
        }
        self.before = Some(self.saved());
        let done = match draft.errors.first() {
            Some(error) => Err(error.clone()),
            None => self.document(&draft.draft),
        };
        match done {
            Ok(()) => {
                self.look_at_characters(draft);
                self.open.out_len = self.out.len();
                self.look();
            }
            Err(_) => self.back(),
        }
        done
    }

    /// Returns true if a document is a further page of its transaction. The writer learns only from the next document whether the open transaction
    /// has ended.
    #[must_use]
    pub fn continues(&self, draft: &EdiDraft) -> bool {
        draft.draft.page(self.nodes.transaction.page).is_ok_and(|page| page > 1)
    }

    /// Ends the open transaction, which has no further page: writes its trailer, and completes its check.
    pub fn end_transaction(&mut self) {
        if self.open.transaction.is_some() {
            self.close_transaction();
            self.open.out_len = self.out.len();
            self.look();
        }
    }

    /// Returns true if the output is checked.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        self.check.is_some()
    }

    /// Returns the faults found by the check since the last call; without a check, characters outside of the interchange's character set.
    pub fn take_faults(&mut self) -> OutboundFaults {
        let mut faults = self.check.as_mut().map(|check| check.take_faults()).unwrap_or_default();
        faults.faults.append(&mut self.foreign);
        faults
    }

    /// Returns the faults found at the end of transactions of several pages. Their documents were already kept, so they cannot be discarded.
    pub fn take_late_faults(&mut self) -> OutboundFaults {
        core::mem::take(&mut self.late)
    }

    /// Returns the faults that the check would find if the open transaction ended now. Changes nothing.
    #[must_use]
    pub fn faults_at_end(&self) -> OutboundFaults {
        let (Some(check), Some(_)) = (&self.check, &self.open.transaction) else { return OutboundFaults::default() };
        // The trial does not need the bytes so far, which the check has already processed.
        let mut trial = EdiWriter { open: self.open.clone(), ..EdiWriter::new(EdiWriterOptions::default()) };
        trial.close_transaction();
        check.trial(&trial.out)
    }

    /// Reports characters outside of the interchange's character set even without a check, because a receiver may read them as other letters.
    fn look_at_characters(&mut self, draft: &EdiDraft) {
        let from = self.open.out_len;
        if self.check.is_some() || self.options.charset.is_some() || self.out[from..].is_ascii() {
            return;
        }
        let set = CharacterSet::of(draft.draft.field(self.nodes.interchange.edifact[0]));
        let standard = self.open.interchange.as_ref().map_or(Standard::X12, |open| open.delimiters.standard);
        if standard == Standard::X12 || !set.is_some_and(CharacterSet::has_more_than_ascii) {
            let (error, at, severity) = (EdiError::Characters, Position::default(), Severity::Warning);
            self.foreign.push(EdiFault { error, at, severity, context: None });
        }
    }

    fn look(&mut self) {
        if let Some(check) = &mut self.check {
            check.feed(&self.out[self.checked..]);
            self.checked = self.out.len();
        }
    }

    /// Returns a copy of the open state.
    fn saved(&mut self) -> Saved {
        let check = self.check.as_mut().map(|check| check.mark());
        Saved { check, numbers: self.numbers.mark(), ..self.open.clone() }
    }

    /// Returns the output position, for [`EdiWriter::back_to`] before the output is taken.
    #[must_use]
    pub fn mark(&mut self) -> EdiMark {
        EdiMark(self.saved())
    }

    /// Discards the output since the mark.
    pub fn back_to(&mut self, mark: EdiMark) {
        self.before = Some(mark.0);
        self.back();
    }

    /// Takes the last document back.
    fn back(&mut self) {
        self.foreign.clear();
        let Some(before) = &self.before else {
            // Faults found since belong to the discarded output.
            if let Some(check) = &mut self.check {
                drop(check.take_faults());
            }
            return;
        };
        self.out.truncate(before.out_len);
        self.open = before.clone();
        self.numbers.back_to(self.open.numbers);
        if let (Some(check), Some(mark)) = (&mut self.check, self.open.check.take()) {
            check.back_to(&mark);
            self.checked = self.out.len();
        }
    }

    /// Encodes the open state for a checkpoint after the taken output.
    #[must_use]
    pub fn state(&self) -> Vec<u8> {
        let mut out = StateWriter::new();
        self.numbers.mark().0.into_iter().for_each(|number| out.number(number));
        for header in [&self.open.interchange, &self.open.group] {
            out.flag(header.is_some());
            let Some(OpenHeader { delimiters, line_break, position, text, control, counted }) = header else {
                continue;
            };
            out.number(delimiters.to_bits());
            out.number(match line_break {
                LineBreak::None => 0,
                LineBreak::Lf => 1,
                LineBreak::CrLf => 2,
            });
            [position, text, control].iter().for_each(|bytes| out.text(bytes));
            out.number(*counted);
        }
        out.flag(self.open.transaction.is_some());
        if let Some(OpenTransaction { text, control, page, segments }) = &self.open.transaction {
            out.text(text);
            out.text(control);
            out.number(*page);
            out.number(*segments);
        }
        out.flag(self.check.is_some());
        if let Some(check) = &self.check {
            check.put_state(&mut out);
        }
        out.bytes
    }

    /// Continues from the result of [`EdiWriter::state`]. `None` for other bytes.
    #[must_use]
    pub fn resume(options: EdiWriterOptions, state: &[u8]) -> Option<Self> {
        let mut from = StateReader::new(state);
        let mut writer = EdiWriter::new(options);
        writer.numbers.back_to(ControlMark([from.number()?, from.number()?, from.number()?]));
        let mut header = || {
            if !from.flag()? {
                return Some(None);
            }
            Some(Some(OpenHeader {
                delimiters: Delimiters::from_bits(from.number()?),
                line_break: match from.number()? {
                    0 => LineBreak::None,
                    1 => LineBreak::Lf,
                    2 => LineBreak::CrLf,
                    _ => return None,
                },
                position: from.text()?.to_vec(),
                text: from.text()?.to_vec(),
                control: from.text()?.to_vec(),
                counted: from.number()?,
            }))
        };
        writer.open.interchange = header()?;
        writer.open.group = header()?;
        if from.flag()? {
            writer.open.transaction = Some(OpenTransaction {
                text: from.text()?.to_vec(),
                control: from.text()?.to_vec(),
                page: from.number()?,
                segments: from.number()?,
            });
        }
        if from.flag()? != writer.check.is_some() {
            return None;
        }
        if let (Some(check), Some(options)) = (&mut writer.check, &writer.options.check) {
            **check =
                OutboundCheck::from_state(options, writer.options.guides.as_ref(), writer.options.charset, &mut from)?;
            writer.check_lost = writer.open.transaction.is_some();
        }
        from.is_empty().then_some(writer)
    }

    fn document(&mut self, draft: &Draft) -> Result<(), EdiWriteError> {
        let nodes = Arc::clone(&self.nodes);
        let standard = match draft.field(nodes.standard) {
            b"X12" => Standard::X12,
            b"EDIFACT" => Standard::Edifact,
            _ => return Err(EdiWriteError::Standard),
        };
        let delimiters = self.delimiters(draft, &nodes, standard)?;
        let line_break = match draft.field(nodes.line_break) {
            b"LF" => LineBreak::Lf,
            b"CRLF" => LineBreak::CrLf,
            _ if draft.field(nodes.element).is_empty() => self.options.line_break,
            _ => LineBreak::None,
        };
        let set = CharacterSet::of(draft.field(nodes.interchange.edifact[0]));
        let charset = Coding::of(self.options.charset, standard, set);
        let page = Page::new(delimiters, charset, line_break);

        let position = draft.field(nodes.interchange.position).to_vec();
        let page_number = draft.page(nodes.transaction.page)?;
        if page_number == 1 {
            self.close_transaction();
        }
        let given = draft.field(control_node(&nodes.interchange, standard, Level::Interchange));
        let open =
            self.open.interchange.as_ref().filter(|open| {
                open.delimiters == delimiters && open.position == position && open.line_break == line_break
            });
        let same = match open.map(|open| (open.control.clone(), open.text.clone())) {
            Some((control, text)) => {
                let control = if given.is_empty() { &control } else { given };
                self.header(draft, &nodes.interchange, Level::Interchange, page, control)? == text
            }
            None => false,
        };
        if !same {
            self.close_interchange();
            let control = self.control(draft, &nodes, standard, Level::Interchange);
            let header = self.header(draft, &nodes.interchange, Level::Interchange, page, &control)?;
            self.una(draft, &nodes, page);
            self.out.extend_from_slice(&header);
            self.end_segment(page);
            self.open.interchange =
                Some(OpenHeader { delimiters, line_break, position, text: header, control, counted: 0 });
        }
        self.group(draft, &nodes, standard, page)?;
        self.transaction(draft, &nodes, page, page_number)
    }

    /// Returns the control number of a header that begins: that of the document, or the next one.
    fn control(&mut self, draft: &Draft, nodes: &Nodes, standard: Standard, level: Level) -> Vec<u8> {
        let fields = header_fields(standard, Level::Interchange);
        let partner = |name: &str| {
            let at = fields.iter().position(|field| field.name == name);
            at.map_or(&b""[..], |at| draft.field(nodes.interchange.fields(standard)[at])).trim_ascii_end()
        };
        let key = ControlKey { standard, level, sender: partner("sender"), receiver: partner("receiver") };
        let of_level = match level {
            Level::Interchange => &nodes.interchange,
            Level::Group => &nodes.group,
            Level::Transaction => &nodes.transaction,
        };
        let given = draft.field(control_node(of_level, standard, level));
        if given.is_empty() {
            return self.numbers.next(&key).into_bytes();
        }
        self.numbers.given(&key, given);
        given.to_vec()
    }

    fn group(&mut self, draft: &Draft, nodes: &Nodes, standard: Standard, page: Page) -> Result<(), EdiWriteError> {
        if !draft.has_group {
            // A further page of a message outside of a group leaves the message open.
            if self.open.group.is_some() || self.open.transaction.is_none() {
                self.close_group();
            }
            return Ok(());
        }
        let given = draft.field(control_node(&nodes.group, standard, Level::Group));
        let position = draft.field(nodes.group.position).to_vec();
        let open = self.open.group.as_ref().filter(|open| open.position == position);
        if let Some((control, text)) = open.map(|open| (open.control.clone(), open.text.clone())) {
            let control = if given.is_empty() { &control } else { given };
            if self.header(draft, &nodes.group, Level::Group, page, control)? == text {
                return Ok(());
            }
        }
        self.close_group();
        let control = self.control(draft, nodes, standard, Level::Group);
        let header = self.header(draft, &nodes.group, Level::Group, page, &control)?;
        self.out.extend_from_slice(&header);
        self.end_segment(page);
        if let Some(interchange) = &mut self.open.interchange {
            interchange.counted += 1;
        }
        let Page { delimiters, line_break, .. } = page;
        self.open.group = Some(OpenHeader { delimiters, line_break, position, text: header, control, counted: 0 });
        Ok(())
    }

    fn transaction(&mut self, draft: &Draft, nodes: &Nodes, page: Page, page_number: u64) -> Result<(), EdiWriteError> {
        let standard = page.delimiters.standard;
        if !draft.has_transaction {
            for segment in &draft.segments {
                self.segment(draft, *segment, page)?;
            }
            return Ok(());
        }
        let given = draft.field(control_node(&nodes.transaction, standard, Level::Transaction));
        if page_number > 1 {
            if self.check_lost {
                return Err(EdiWriteError::PageBehindCheckpoint);
            }
            let control = match &self.open.transaction {
                Some(open) if open.page + 1 == page_number => {
                    if given.is_empty() {
                        open.control.clone()
                    } else {
                        given.to_vec()
                    }
                }
                _ => return Err(EdiWriteError::Page { page: page_number }),
            };
            let header = self.header(draft, &nodes.transaction, Level::Transaction, page, &control)?;
            match &mut self.open.transaction {
                Some(open) if open.text == header => open.page = page_number,
                _ => return Err(EdiWriteError::Page { page: page_number }),
            }
        } else {
            if let Some(around) = self.open.group.as_mut().or(self.open.interchange.as_mut()) {
                around.counted += 1;
            }
            let control = self.control(draft, nodes, standard, Level::Transaction);
            let text = self.header(draft, &nodes.transaction, Level::Transaction, page, &control)?;
            self.out.extend_from_slice(&text);
            self.end_segment(page);
            self.open.transaction = Some(OpenTransaction { text, control, page: 1, segments: 1 });
        }
        for segment in &draft.segments {
            if Level::of(standard, draft.bytes(segment.tag)).is_some() {
                return Err(EdiWriteError::Envelope);
            }
            self.segment(draft, *segment, page)?;
        }
        if let Some(open) = &mut self.open.transaction {
            open.segments += draft.segments.len() as u64;
        }
        Ok(())
    }

    fn segment(&mut self, draft: &Draft, segment: DraftSegment, page: Page) -> Result<(), EdiWriteError> {
        let tag = draft.bytes(segment.tag);
        let shortest = if page.delimiters.standard == Standard::X12 { 2 } else { 3 };
        let good = (shortest..=3).contains(&tag.len())
            && tag[0].is_ascii_uppercase()
            && tag.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        if !good {
            return Err(EdiWriteError::Tag);
        }
        // ISX gives the release character, so nothing in it is released.
        let page = if tag == b"ISX" { page.without_release() } else { page };
        let begin = self.out.len();
        self.out.extend_from_slice(tag);
        let mut parts = core::mem::take(&mut self.parts);
        let done = self.parts(draft, tag, draft.parts(segment, &mut parts), page);
        self.parts = parts;
        done?;
        page.check_binary_length(&self.out[begin..])?;
        self.end_segment(page);
        Ok(())
    }

    fn parts(&mut self, draft: &Draft, tag: &[u8], parts: &[Part], page: Page) -> Result<(), EdiWriteError> {
        let (mut first_repetition, mut first_component) = (true, true);
        for part in parts {
            let is_component = !matches!(part, Part::Element | Part::Repetition);
            if is_component && !core::mem::replace(&mut first_component, false) {
                self.out.push(page.delimiters.component);
            }
            match part {
                Part::Element => {
                    self.out.push(page.delimiters.element);
                    (first_repetition, first_component) = (true, true);
                }
                Part::Repetition => {
                    if !core::mem::replace(&mut first_repetition, false) {
                        self.out.push(page.delimiters.repetition.ok_or(EdiWriteError::Repetition)?);
                    }
                    first_component = true;
                }
                Part::Component(span) => page.text(draft.bytes(*span), &mut self.encoded, &mut self.out)?,
                Part::Number(span) => {
                    // A decimal mark is not a delimiter (ISO 9735-1, service characters).
                    let mark = page.delimiters.decimal_mark;
                    let text = draft.bytes(*span);
                    let number: Vec<u8> = text.iter().map(|byte| if *byte == b'.' { mark } else { *byte }).collect();
                    page.text(&number, &mut self.encoded, &mut self.out)?;
                }
                // Only these two segments contain the length of their data.
                Part::Binary(span) if matches!(tag, b"BIN" | b"BDS") => self.out.extend_from_slice(draft.bytes(*span)),
                Part::Binary(span) => page.release(draft.bytes(*span), &mut self.out)?,
            }
        }
        Ok(())
    }

    fn end_segment(&mut self, page: Page) {
        self.out.push(page.delimiters.terminator);
        self.out.extend_from_slice(page.line_break.bytes());
    }

    fn una(&mut self, draft: &Draft, nodes: &Nodes, page: Page) {
        let d = page.delimiters;
        let version_4 = draft.field(nodes.interchange.edifact[1]) == b"4";
        let default = if version_4 { Delimiters::EDIFACT_4 } else { Delimiters::EDIFACT };
        let wanted = draft.field(nodes.una) == b"true" || (d != default && d != Delimiters::EDIFACT_B);
        if d.standard == Standard::Edifact && wanted {
            let reserved = core::str::from_utf8(draft.field(nodes.reserved)).ok().and_then(delimiter_of);
            let (release, repetition) = (d.release.unwrap_or(b' '), d.repetition.or(reserved).unwrap_or(b' '));
            self.out.extend_from_slice(b"UNA");
            self.out.extend_from_slice(&[d.component, d.element, d.decimal_mark, release, repetition, d.terminator]);
            self.out.extend_from_slice(page.line_break.bytes());
        }
    }

    /// Writes a header without its terminator.
    fn header(
        &mut self,
        draft: &Draft,
        nodes: &HeaderNodes,
        level: Level,
        page: Page,
        control: &[u8],
    ) -> Result<Vec<u8>, EdiWriteError> {
        let standard = page.delimiters.standard;
        let fields = header_fields(standard, level);
        if level == Level::Interchange && standard == Standard::X12 {
            return self.isa(draft, nodes, page, control);
        }
        let mut out = level.header(standard).as_bytes().to_vec();
        let (mut element, mut component) = (0, 1);
        for (field, node) in fields.iter().zip(nodes.fields(standard)) {
            let value = if field.name == "control_number" { control } else { draft.field(*node) };
            if value.is_empty() {
                // A fault of a group or interchange rejects no transaction, so the header can be written as it was read.
                let is_required = match level {
                    Level::Transaction => field.check.is_mandatory(),
                    Level::Group | Level::Interchange => matches!(field.check, Check::Present | Check::Name(_)),
                };
                if is_required {
                    return Err(self.missing(*node, field.reference));
                }
                continue;
            }
            while element < field.element {
                out.push(page.delimiters.element);
                (element, component) = (element + 1, 1);
            }
            while component < field.component {
                out.push(page.delimiters.component);
                component += 1;
            }
            page.text(value, &mut self.encoded, &mut out)?;
        }
        Ok(out)
    }

    /// Writes ISA with its fixed widths.
    fn isa(
        &mut self,
        draft: &Draft,
        nodes: &HeaderNodes,
        page: Page,
        control: &[u8],
    ) -> Result<Vec<u8>, EdiWriteError> {
        const WIDTHS: [usize; 15] = [2, 10, 2, 10, 2, 15, 2, 15, 6, 4, 1, 5, 9, 1, 1];
        let d = page.delimiters;
        let mut out = b"ISA".to_vec();
        let fields = header_fields(Standard::X12, Level::Interchange);
        for ((field, node), width) in fields.iter().zip(&nodes.x12).zip(WIDTHS) {
            let given = draft.field(*node);
            let repetition = d.repetition.map(|byte| [byte]);
            let padded;
            let value = match (field.element, given) {
                (11, b"") => repetition.as_ref().map_or(&b"U"[..], |byte| byte),
                (11, _) if repetition.is_some() => repetition.as_ref().map_or(given, |byte| byte),
                (13, _) => {
                    padded = [&b"000000000"[control.len().min(9)..], control].concat();
                    &padded[..]
                }
                (1 | 3, b"") => b"00",
                (2 | 4, b"") => b"",
                (14, b"") => b"0",
                (15, b"") => b"P",
                (_, b"") => return Err(self.missing(*node, field.reference)),
                _ => given,
            };
            out.push(d.element);
            let from = out.len();
            // The repetition separator is the value itself.
            if field.element == 11 {
                out.extend_from_slice(value)
            } else {
                page.text(value, &mut self.encoded, &mut out)?
            }
            let found = out.len() - from;
            if found > width {
                return Err(EdiWriteError::FieldTooLong {
                    path: self.shape.path(*node),
                    reference: field.reference,
                    found,
                    width,
                });
            }
            out.resize(from + width, b' ');
        }
        out.extend_from_slice(&[d.element, d.component]);
        Ok(out)
    }

    fn missing(&self, node: NodeId, reference: &'static str) -> EdiWriteError {
        EdiWriteError::FieldMissing { path: self.shape.path(node), reference }
    }

    fn close_interchange(&mut self) {
        self.close_group();
        if let Some(open) = self.open.interchange.take() {
            let page = Page::of_header(self.options.charset, open.delimiters, open.line_break, &open.text);
            let control = if open.delimiters.standard == Standard::X12 {
                [&b"000000000"[open.control.len().min(9)..], &open.control].concat()
            } else {
                open.control
            };
            self.trailer(Level::Interchange, open.counted, &control, page);
        }
    }

    fn close_transaction(&mut self) {
        self.check_lost = false;
        if let (Some(open), Some(around)) = (self.open.transaction.take(), &self.open.interchange) {
            let page = Page::of_header(self.options.charset, around.delimiters, around.line_break, &around.text);
            self.trailer(Level::Transaction, open.segments + 1, &open.control, page);
        }
    }

    fn close_group(&mut self) {
        self.close_transaction();
        if let (Some(open), Some(around)) = (self.open.group.take(), &self.open.interchange) {
            let page = Page::of_header(self.options.charset, around.delimiters, around.line_break, &around.text);
            self.trailer(Level::Group, open.counted, &open.control, page);
        }
    }

    fn trailer(&mut self, level: Level, count: u64, control: &[u8], page: Page) {
        let Delimiters { standard, element, .. } = page.delimiters;
        self.out.extend_from_slice(level.trailer(standard).as_bytes());
        self.out.push(element);
        self.out.extend_from_slice(count.to_string().as_bytes());
        self.out.push(element);
        // The header was written with the same control number.
        let written = page.text(control, &mut self.encoded, &mut self.out);
        debug_assert!(written.is_ok(), "the header holds it");
        self.end_segment(page);
    }

    /// Returns the delimiters of the document, those of the open interchange, or some that do not occur in its data.
    fn delimiters(&self, draft: &Draft, nodes: &Nodes, standard: Standard) -> Result<Delimiters, EdiWriteError> {
        let one = |node| {
            let text = draft.field(node);
            if text.is_empty() {
                return Ok(None);
            }
            core::str::from_utf8(text).ok().and_then(delimiter_of).map(Some).ok_or(EdiWriteError::Delimiters)
        };
        let given = (one(nodes.element)?, one(nodes.component)?, one(nodes.terminator)?);
        let delimiters = if let (Some(element), Some(component), Some(terminator)) = given {
            Delimiters {
                standard,
                element,
                component,
                terminator,
                repetition: one(nodes.repetition)?,
                release: one(nodes.release)?,
                decimal_mark: one(nodes.decimal_mark)?.unwrap_or(b'.'),
            }
        } else {
            let fits = |delimiters: &Delimiters| delimiters.standard == standard;
            let open = self.open.interchange.as_ref().map(|open| open.delimiters).filter(fits);
            let usual = open.or(self.options.delimiters.filter(fits));
            let usual = usual.unwrap_or_else(|| free_delimiters(draft, nodes, standard));
            Delimiters {
                standard,
                element: given.0.unwrap_or(usual.element),
                component: given.1.unwrap_or(usual.component),
                terminator: given.2.unwrap_or(usual.terminator),
                repetition: one(nodes.repetition)?.or(usual.repetition),
                release: one(nodes.release)?.or(usual.release),
                decimal_mark: one(nodes.decimal_mark)?.unwrap_or(usual.decimal_mark),
            }
        };
        if start::check(&delimiters).is_some() { Err(EdiWriteError::Delimiters) } else { Ok(delimiters) }
    }
}

/// Returns the usual delimiters, or others if the data contains those.
fn free_delimiters(draft: &Draft, nodes: &Nodes, standard: Standard) -> Delimiters {
    if standard == Standard::Edifact {
        let version_4 = draft.field(nodes.interchange.edifact[1]) == b"4";
        return if version_4 { Delimiters::EDIFACT_4 } else { Delimiters::EDIFACT };
    }
    let mut used: Vec<u8> = Vec::new();
    let mut pick = |candidates: &[u8]| {
        let free = candidates.iter().find(|byte| !used.contains(byte) && !draft.holds(**byte)).or(candidates.first());
        let byte = free.copied().unwrap_or(b'*');
        used.push(byte);
        byte
    };
    let version = draft.field(nodes.interchange.x12[11]);
    Delimiters {
        standard,
        element: pick(b"*|\x1d"),
        component: pick(b":>\\\x1f"),
        terminator: pick(b"~\n\x1c"),
        repetition: (version >= &b"00402"[..]).then(|| pick(b"^!`\x1e")),
        release: None,
        decimal_mark: b'.',
    }
}

fn control_node(nodes: &HeaderNodes, standard: Standard, level: Level) -> NodeId {
    let fields = header_fields(standard, level);
    let at = fields.iter().position(|field| field.name == "control_number").expect("every header has a control number");
    nodes.fields(standard)[at]
}

impl Sink for EdiWriter {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.before = Some(self.saved());
            self.errors.clear();
        }
        self.drafter.enter(node);
    }

    fn leave(&mut self, node: NodeId) {
        self.drafter.leave(node);
        if node == NodeId::ROOT
            && let Some(draft) = self.drafter.take(self.used.take())
        {
            if let Err(error) = self.write(&draft) {
                self.errors.push(error);
            }
            self.used = Some(draft);
        }
    }

    fn open_list(&mut self, node: NodeId) {
        self.drafter.open_list(node);
    }

    fn close_list(&mut self, node: NodeId) {
        self.drafter.close_list(node);
    }

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.drafter.value(node, value);
    }

    fn discard(&mut self) {
        self.drafter.discard();
        self.back();
    }
}
