//! Interchanges as generic documents.
//!
//! # Notes for the next editor
//!
//! **One loop, two uses.** `read` and `skip` are the same code, `go::<S, SEND>`. Readers that cut a file into blocks call `skip`;
//! other readers resume from their snapshots and call `read`. Therefore both must stop at the same places. Keep code that determines steps, pages,
//! ranges and state outside of `if SEND`. Only events and mere findings may depend on it: characters, header elements without a field, the closing
//! checks of a guide. `pages_end_before_loops_and_repeat_their_heads` runs both in parallel;
//! `nothing_is_lost_without_an_error` edits the segments at random and also checks the contract of the sink.
//!
//! **A fault belongs to one document.** `keep_faults` runs after each event and before the event is handled, because handling may end
//! one document and begin the next. A fault at or after the header of a transaction that begins counts for that transaction
//! (`header_errors`), except `GroupsMixed`. A document outside of transactions begins after its segment was checked; a truncated segment
//! is counted separately there.
//!
//! **State between two calls.**
//! * `pending`: a transaction began while a document outside of transactions was open. That document ended; the next call begins the
//!   transaction without another event.
//! * `page`: the next document continues a transaction, so `begin` must not choose its guide again. The guide's body keeps its loops
//!   open.
//! * `Sent::Page`: the page ended before a segment that was already placed. The segment is put back, and the body keeps its
//!   placement, so that the walk does not place it twice.
//!
//! **Checkpoints.** A field that outlives a document belongs in `state`, `resume` and, if a reader without guides may have another
//! value, `go_to`. `a_reader_goes_on_from_any_place` stops at every byte. `to` of a document advances with `pass_on`; a document without
//! segments has the position of its header, since a later pass over more bytes no longer has the last segment.
//!
//! **Three ways to send a segment**, all with the events of `send_any`: `send_plain` for printable ASCII without components and
//! releases, `send_ascii` for printable ASCII, `State::send` for other segments. Rare work is `#[cold]` and not inlined; the code that runs
//! for each segment is `inline(always)`, so that the loop is compiled with its sink.
//!
//! **Tried.** The loop compiled for AVX-512 as well: generic JSON took 38.9 instead of 36.9 instructions a byte, JSON by guide 97.2
//! instead of 97.0, so it was not kept. Testing for printable ASCII by window instead of by segment was kept.
//! `docs/studies/benchmarks.md` has the figures.

use std::sync::Arc;

use quayline_charset::Charset;
use quayline_core::{ByteOffset, Limits, NodeId, Run, Severity, Shape, Sink, Value};

use super::pause::Pauses;
use super::shape::{HeaderNodes, Nodes};
use crate::characters::{Characters, Fit, delimiter_name};
use crate::documents::{GuideBody, GuideDocuments, Left, Sent};
use crate::envelope::{Closed, EnvelopePass, EnvelopeReader, Event, Header, header_fields};
use crate::excerpt::Surroundings;
use crate::fault::{EdiError, EdiFault};
use crate::level::Level;
use crate::position::EndOfInput;
use crate::position::Position;
use crate::segment::{Element, Segment};
use crate::splitter::{LineBreak, Rules};
use crate::state::{StateReader, StateWriter};
use crate::validate::ValidatorOptions;

/// Choices of a [`DocumentReader`].
#[derive(Clone, Debug, Default)]
pub struct GenericOptions {
    /// Bounds.
    pub limits: Limits,
    /// Handling of departures from the standard.
    pub rules: Rules,
    /// Character set of all interchanges. `None`: UNB specifies it. Bytes outside of a one-byte set are read as ISO-8859-1; those that are not UTF-8
    /// reject the document.
    pub charset: Option<Charset>,
    /// Documents by guide; absent, all are as without one.
    pub guides: Option<Arc<GuideDocuments>>,
    /// Extent of the validation of transactions by their guides, in the same pass. Only by guide.
    pub validation: Option<ValidatorOptions>,
    /// Size of a transaction in bytes from which on it is sent in pages, each as a separate document. A page ends where, after this many bytes, a
    /// loop begins that may repeat a thousand times or more, or any loop after four times as many bytes. Each page repeats the segments before the
    /// first loop in the transaction and in the loops that it continues. With `None`, a transaction is one document, and a page that
    /// [`DocumentPass::break_page`] begins repeats nothing. Only by guide.
    pub page_bytes: Option<u64>,
}

/// Drives a sink of [`super::generic_shape`] with one document for each transaction.
///
/// Segments outside of transactions (TA1) are documents without `transaction`. A group or interchange that contains no other document is a
/// document without segments. Therefore no content of an interchange is lost.
///
/// A document is sent while its segments are read, so memory does not depend on its length.
#[derive(Clone, Debug)]
pub struct DocumentReader {
    envelope: EnvelopeReader,
    charset: Option<Charset>,
    state: State,
}

#[derive(Clone, Debug)]
pub(super) struct State {
    nodes: Arc<Nodes>,
    shape: Arc<Shape>,
    /// Body of documents by guide.
    pub(super) body: Option<Box<GuideBody>>,
    /// Segments of the page in which a terminator is missing.
    pub(super) cuts: u64,
    pub(super) characters: Characters,
    pub(super) told: bool,
    pub(super) open: Option<Draft>,
    /// Page number of the transaction that begins next, if [`DocumentPass::break_page`] ended the preceding page.
    page: Option<u64>,
    /// Errors in the header of a document that is to begin.
    header_errors: u64,
    last_in_group: bool,
    /// True if a document begins when the preceding one has been returned.
    pending: bool,
    pub(super) in_group: u64,
    pub(super) in_interchange: u64,
    interchange: u64,
    pub(super) faults: Vec<EdiFault>,
    scratch: Vec<u8>,
    decoded: Vec<u8>,
}

/// The document that is being sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    from: ByteOffset,
    /// End of its last segment so far.
    to: ByteOffset,
    is_transaction: bool,
    has_segments: bool,
    /// True if the fault of bytes that reject the document is reported.
    pub(super) told: bool,
    pub(super) errors: u64,
    page: u64,
}

/// Result of [`DocumentPass::read`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DocumentStep {
    /// A document was sent.
    Document {
        /// First byte in the file: that of the transaction's header.
        from: ByteOffset,
        /// Byte after its last segment.
        to: ByteOffset,
        /// True for a transaction.
        is_transaction: bool,
        /// Errors found in it; the caller may discard it for them.
        errors: u64,
        /// Page number in the transaction, from 1; 1 for a complete transaction.
        page: u64,
        /// True if another page follows.
        more: bool,
    },
    /// The input ends before the document does: finish the pass and begin another, with the same sink and more bytes.
    NeedMore,
    /// The source has ended.
    Done,
}

impl DocumentReader {
    /// Starts at the beginning of a stream.
    #[must_use]
    pub fn new(options: &GenericOptions) -> Self {
        let (shape, nodes) = match &options.guides {
            Some(documents) => (documents.shared_shape(), Arc::clone(&documents.nodes)),
            None => Nodes::shared(),
        };
        let body = options.guides.as_ref().map(|guides| {
            Box::new(GuideBody::new(Arc::clone(guides), options.page_bytes, options.validation.as_ref()))
        });
        DocumentReader {
            envelope: envelope(options),
            charset: options.charset,
            state: State {
                cuts: 0,
                nodes,
                shape,
                body,
                characters: Characters::of(&Header::new(crate::Level::Interchange), options.charset),
                told: false,
                open: None,
                page: None,
                header_errors: 0,
                last_in_group: false,
                pending: false,
                in_group: 0,
                in_interchange: 0,
                interchange: 0,
                faults: Vec::new(),
                scratch: Vec::new(),
                decoded: Vec::new(),
            },
        }
    }

    /// Returns the shape of the documents.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.state.shape
    }

    /// Begins a pass over `input`, which must begin with the first byte that no pass has consumed.
    pub fn over<'s>(&'s mut self, input: &'s [u8], end: EndOfInput) -> DocumentPass<'s> {
        let offset = self.envelope.offset();
        let pass = self.envelope.over(input, end);
        DocumentPass { pass, offset, charset: self.charset, state: &mut self.state, pauses: Pauses::Never }
    }

    /// The faults since the last call.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.state.faults.drain(..)
    }

    /// Returns the position of the first byte that no pass has consumed.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.envelope.offset()
    }

    /// Returns the state of the envelope, for another reader that continues from it.
    #[must_use]
    pub fn envelope(&self) -> &EnvelopeReader {
        &self.envelope
    }

    /// Returns the first byte of the open document.
    #[must_use]
    pub fn open_since(&self) -> Option<ByteOffset> {
        self.state.open.map(|open| open.from)
    }

    /// Returns a copy that continues from here, for another thread. Call it between two passes and, except with [`DocumentPass::break_page`], two
    /// documents.
    #[must_use]
    pub fn snapshot(&mut self) -> DocumentReader {
        self.envelope.drop_index();
        self.clone()
    }

    /// Copies the state of a snapshot of another reader with the same options; keeps the buffers. Between two documents, but not two pages, the other
    /// reader may be one without guides, because transactions begin and end at the same positions.
    pub fn go_to(&mut self, snapshot: &DocumentReader) {
        self.envelope.go_to(&snapshot.envelope);
        self.charset = snapshot.charset;
        let (state, other) = (&mut self.state, &snapshot.state);
        let buffers = (core::mem::take(&mut state.scratch), core::mem::take(&mut state.decoded));
        if state.body.is_some() == other.body.is_some() {
            *state = other.clone();
        } else {
            debug_assert!(other.open.is_none() && other.page.is_none(), "between two documents");
            let own = (Arc::clone(&state.nodes), Arc::clone(&state.shape), state.body.take());
            *state = other.clone();
            (state.nodes, state.shape, state.body) = own;
        }
        (state.scratch, state.decoded) = buffers;
    }

    /// Encodes the position between two documents for a checkpoint. The result has some hundred bytes, more if control numbers are not consecutive.
    /// `None` inside a document.
    ///
    /// Source of the format: `state.rs`.
    #[must_use]
    pub fn state(&self) -> Option<Vec<u8>> {
        let state = &self.state;
        let between = state.open.is_none() && !state.pending && state.page.is_none();
        between.then(|| {
            let mut out = StateWriter::new();
            self.envelope.put_state(&mut out);
            out.number(state.interchange);
            out.number(state.in_group);
            out.number(state.in_interchange);
            out.flag(state.told);
            out.bytes
        })
    }

    /// Continues at `offset` from the result of [`DocumentReader::state`] there. `None` for other bytes.
    #[must_use]
    pub fn resume(options: &GenericOptions, offset: ByteOffset, state: &[u8]) -> Option<Self> {
        let mut from = StateReader::new(state);
        let mut reader = DocumentReader::new(options);
        reader.envelope = EnvelopeReader::from_state(&options.limits, options.rules, offset, &mut from)?;
        reader.state.interchange = from.number()?;
        reader.state.in_group = from.number()?;
        reader.state.in_interchange = from.number()?;
        reader.state.told = from.flag()?;
        reader.state.characters = Characters::of(reader.envelope.interchange(), options.charset);
        from.is_empty().then_some(reader)
    }
}

/// One look at the bytes that the caller has.
#[derive(Debug)]
pub struct DocumentPass<'s> {
    pub(super) pass: EnvelopePass<'s>,
    offset: ByteOffset,
    charset: Option<Charset>,
    pub(super) state: &'s mut State,
    pub(super) pauses: Pauses,
}

impl DocumentPass<'_> {
    /// Sends events up to the end of a document.
    pub fn read<S: Sink>(&mut self, sink: &mut S) -> DocumentStep {
        self.go::<S, true>(sink)
    }

    /// Skips to the end of a document without sending it. The steps are those of [`DocumentPass::read`]. So are the faults, except those about
    /// characters and about header elements without a field in documents.
    pub fn skip(&mut self) -> DocumentStep {
        self.go::<Nobody, false>(&mut Nobody)
    }

    /// Ends the document that is open as a page of its transaction; what follows is the next page. Between [`DocumentStep::NeedMore`] and
    /// [`DocumentPass::finish`]. `None` where no document is open.
    pub fn break_page<S: Sink>(&mut self, sink: &mut S) -> Option<DocumentStep> {
        self.state.open?;
        Some(self.page_end::<S, true>(sink))
    }

    /// Skips to the end of a page: [`DocumentPass::break_page`] for [`DocumentPass::skip`].
    pub fn skip_page(&mut self) -> Option<DocumentStep> {
        self.state.open?;
        Some(self.page_end::<Nobody, false>(&mut Nobody))
    }

    fn page_end<S: Sink, const SEND: bool>(&mut self, sink: &mut S) -> DocumentStep {
        let open = self.state.open;
        let step = self.end::<S, SEND>(sink);
        self.state.cuts = 0;
        match (step, open) {
            (DocumentStep::Document { from, to, is_transaction: true, errors, page, .. }, Some(_)) => {
                self.state.page = Some(page + 1);
                DocumentStep::Document { from, to, is_transaction: true, errors, page, more: true }
            }
            (step, _) => step,
        }
    }

    fn go<S: Sink, const SEND: bool>(&mut self, sink: &mut S) -> DocumentStep {
        if core::mem::take(&mut self.state.pending) {
            self.begin_transaction::<S, SEND>(sink);
        }
        if self.state.page.is_some() {
            let at = ByteOffset(self.offset.0 + self.pass.consumed() as u64);
            self.begin::<S, SEND>(sink, (at, at), true, self.pass.group().is_some());
        }
        loop {
            let event = self.pass.advance();
            if self.pass.has_faults() {
                self.keep_faults(event == Event::TransactionStart);
            }
            match event {
                Event::Segment => {
                    if self.state.open.is_none() {
                        let from = self.pass.position().byte;
                        self.begin::<S, SEND>(sink, (from, from), false, self.pass.group().is_some());
                        // The fault of the segment was reported before the document existed.
                        if let Some(open) = self.state.open.as_mut().filter(|_| self.pass.is_cut()) {
                            open.errors += 1;
                        }
                    }
                    if self.state.body.as_ref().is_some_and(|body| body.is_active()) {
                        if self.by_guide::<S, SEND>(sink) == Sent::Page {
                            self.pass.put_back();
                            return self.page_end::<S, SEND>(sink);
                        }
                    } else {
                        if self.pass.segment().raw_elements().next().is_none_or(<[u8]>::is_empty) {
                            self.no_elements();
                        }
                        if SEND {
                            self.segment(sink);
                        }
                    }
                    self.pass_on();
                }
                Event::NeedMore => return DocumentStep::NeedMore,
                Event::Done => return DocumentStep::Done,
                Event::InterchangeStart => {
                    self.state.interchange += 1;
                    self.state.in_interchange = 0;
                    self.state.told = false;
                    self.state.characters = Characters::of(self.pass.interchange(), self.charset);
                    if self.pauses_here() {
                        return DocumentStep::NeedMore;
                    }
                }
                Event::TransactionStart => {
                    if self.state.open.is_some() {
                        self.state.pending = true;
                        return self.end::<S, SEND>(sink);
                    }
                    self.begin_transaction::<S, SEND>(sink);
                }
                Event::TransactionEnd(closed) => {
                    self.check_trailer_elements(crate::Level::Transaction, closed);
                    if SEND && let Some(body) = &mut self.state.body {
                        body.finish(closed, &self.pass);
                        self.keep_found();
                    }
                    if self.state.cuts > 0 {
                        self.drop_count();
                    }
                    // At the end of the source, the rest may be binary data that is cut off, which is no segment.
                    if closed == Closed::ByTrailer || self.pass.is_at_end() {
                        self.pass_on();
                    }
                    return self.end::<S, SEND>(sink);
                }
                Event::GroupStart => {
                    self.state.in_group = 0;
                    if self.state.open.is_some() {
                        return self.end::<S, SEND>(sink);
                    }
                    if self.pauses_here() {
                        return DocumentStep::NeedMore;
                    }
                }
                Event::GroupEnd(closed) => {
                    self.check_trailer_elements(crate::Level::Group, closed);
                    if self.state.open.is_none() && self.state.in_group == 0 {
                        let at = self.within(self.pass.last_group().bytes());
                        self.begin::<S, SEND>(sink, at, false, true);
                    }
                    if self.state.open.is_some() {
                        return self.end::<S, SEND>(sink);
                    }
                    if self.pauses_here() {
                        return DocumentStep::NeedMore;
                    }
                }
                Event::InterchangeEnd(closed) => {
                    self.check_trailer_elements(crate::Level::Interchange, closed);
                    if self.state.open.is_none() && self.state.in_interchange == 0 {
                        let at = self.within(self.pass.interchange().bytes());
                        self.begin::<S, SEND>(sink, at, false, false);
                    }
                    if self.state.open.is_some() {
                        return self.end::<S, SEND>(sink);
                    }
                    if self.pauses_here() {
                        return DocumentStep::NeedMore;
                    }
                }
            }
        }
    }

    /// The faults since the last call.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.state.faults.drain(..)
    }

    /// Header of the transaction that began last.
    #[must_use]
    pub fn transaction(&self) -> &Header {
        self.pass.transaction()
    }

    /// Returns the headers around the last document that ended, as they are in the file.
    #[must_use]
    pub fn surroundings(&self) -> Surroundings {
        Surroundings::of(&self.pass, self.state.last_in_group)
    }

    /// Bytes of the input that are done with.
    #[must_use]
    pub fn consumed(&self) -> usize {
        self.pass.consumed()
    }

    /// Returns the first byte of the open document.
    #[must_use]
    pub fn open_since(&self) -> Option<ByteOffset> {
        self.state.open.map(|open| open.from)
    }

    /// Returns true if a document is open, or if one begins as soon as the caller has the document before it.
    pub(super) fn is_open(&self) -> bool {
        self.state.open.is_some() || self.state.pending
    }

    /// Returns true if the pass has reported everything that it read, so that another reader may continue here.
    #[must_use]
    pub fn is_between(&self) -> bool {
        !self.is_open() && self.pass.is_between()
    }

    /// Ends the pass. The caller drops the returned number of bytes from the start of its buffer.
    #[must_use]
    pub fn finish(self) -> usize {
        self.pass.finish()
    }

    /// Collects faults. `begins` is true after the header of a transaction, whose faults belong to the document that begins.
    #[cold]
    pub(super) fn keep_faults(&mut self, begins: bool) {
        let header = self.pass.transaction().position().byte;
        for fault in self.pass.take_faults() {
            let of_header = begins && fault.at.byte >= header && !matches!(fault.error, EdiError::GroupsMixed { .. });
            if fault.severity == Severity::Error {
                match &mut self.state.open {
                    _ if of_header => self.state.header_errors += 1,
                    Some(open) => open.errors += 1,
                    None => {}
                }
            }
            self.state.faults.push(fault);
        }
    }

    #[cold]
    pub(super) fn fault(&mut self, error: EdiError, at: Position) {
        self.pass.put_fault(error, at);
        self.keep_faults(false);
    }

    /// Extends the open document to the current position.
    #[inline(always)]
    fn pass_on(&mut self) {
        if let Some(open) = &mut self.state.open {
            open.to = ByteOffset(self.offset.0 + self.pass.consumed() as u64);
        }
    }

    /// Limits a range to the consumed bytes, for a header that the source truncates before its terminator.
    fn within(&self, (from, to): (ByteOffset, ByteOffset)) -> (ByteOffset, ByteOffset) {
        (from, to.min(ByteOffset(self.offset.0 + self.pass.consumed() as u64)))
    }

    fn begin_transaction<S: Sink, const SEND: bool>(&mut self, sink: &mut S) {
        let at = self.pass.transaction().bytes();
        self.state.cuts = 0;
        self.begin::<S, SEND>(sink, at, true, self.pass.group().is_some());
    }

    /// Begins a document. `in_group` is also true if the group has just been closed.
    fn begin<S: Sink, const SEND: bool>(
        &mut self,
        sink: &mut S,
        (from, to): (ByteOffset, ByteOffset),
        is_transaction: bool,
        in_group: bool,
    ) {
        let errors = core::mem::take(&mut self.state.header_errors);
        let page = self.state.page.take().unwrap_or(1);
        self.state.open = Some(Draft { from, to, is_transaction, has_segments: false, told: false, errors, page });
        self.state.last_in_group = in_group;
        self.state.in_group += 1;
        self.state.in_interchange += 1;
        if let Some(body) = &mut self.state.body
            && page == 1
        {
            if !is_transaction {
                body.rest();
            } else if !body.choose(&self.pass) {
                self.no_guide(in_group);
            }
        }
        if SEND {
            self.send_headers(sink, is_transaction, in_group, page);
        }
        if let Some(body) = &mut self.state.body {
            let characters = self.state.characters;
            if SEND {
                body.begin(sink, from.0, self.pass.delimiters(), characters);
            } else {
                body.begin(&mut Nobody, from.0, self.pass.delimiters(), characters);
            }
        }
    }

    #[cold]
    fn no_guide(&mut self, in_group: bool) {
        let Some(body) = &self.state.body else { return };
        let header = self.pass.transaction();
        let group = in_group.then(|| self.pass.last_group());
        let error = body.documents().guides().none_for(header, group);
        let at = header.position();
        self.fault(error, at);
    }

    /// Handles a segment of a transaction with a guide.
    #[inline(always)]
    fn by_guide<S: Sink, const SEND: bool>(&mut self, sink: &mut S) -> Sent {
        let state = &mut *self.state;
        let Some(body) = &mut state.body else { return Sent::Whole(Fit::Fits) };
        let sent = body.segment::<S, SEND>(sink, &self.pass, state.characters);
        let late = body.has_late();
        if body.has_faults() {
            self.keep_found();
        }
        if late {
            self.tell_late();
        }
        if sent != Sent::Whole(Fit::Fits) && sent != Sent::Page {
            let at = self.pass.position();
            self.not_whole::<SEND>(sent, at);
        }
        sent
    }

    #[cold]
    fn tell_late(&mut self) {
        let late = self.state.body.as_mut().map_or(Vec::new(), |body| body.take_late());
        for (at, sent) in late {
            self.not_whole::<true>(sent, at);
        }
    }

    #[cold]
    fn not_whole<const SEND: bool>(&mut self, sent: Sent, at: Position) {
        let (Sent::Whole(fit) | Sent::Part(fit, _)) = sent else { return };
        if fit == Fit::Foreign {
            self.foreign(at);
        }
        let Sent::Part(_, left) = sent else { return };
        // The guide's own checks report content without a place.
        let checked = self.state.body.as_mut().is_some_and(|body| body.validator().is_some());
        if SEND && (!checked || left == Left::Loop) {
            let (error, element) = left.error();
            self.fault(error, element.map_or(at, |number| at.element(number.into())));
        }
    }

    fn send_headers<S: Sink>(&mut self, sink: &mut S, is_transaction: bool, in_group: bool, page: u64) {
        let delimiters = *self.pass.delimiters();
        let (line_break, una) = self.pass.style();
        let state = &mut *self.state;
        let nodes = &state.nodes;
        sink.enter(NodeId::ROOT);
        let ascii = |sink: &mut S, node, text: &str| sink.value(node, Value::Ascii(text.as_bytes().into()));
        ascii(sink, nodes.standard, delimiters.standard.name());
        sink.enter(nodes.delimiters);
        ascii(sink, nodes.element, &delimiter_name(delimiters.element));
        ascii(sink, nodes.component, &delimiter_name(delimiters.component));
        if let Some(repetition) = delimiters.repetition {
            ascii(sink, nodes.repetition, &delimiter_name(repetition));
        }
        if let Some(release) = delimiters.release {
            ascii(sink, nodes.release, &delimiter_name(release));
        }
        ascii(sink, nodes.terminator, &delimiter_name(delimiters.terminator));
        ascii(sink, nodes.decimal_mark, &delimiter_name(delimiters.decimal_mark));
        match line_break {
            LineBreak::None => {}
            LineBreak::Lf => ascii(sink, nodes.line_break, "LF"),
            LineBreak::CrLf => ascii(sink, nodes.line_break, "CRLF"),
        }
        if una {
            sink.value(nodes.una, Value::Bool(true));
            let reserved = self.pass.reserved();
            if reserved != b' ' {
                ascii(sink, nodes.reserved, &delimiter_name(reserved));
            }
        }
        sink.leave(nodes.delimiters);
        let (mut lost, mut foreign) = ([None; 3], [None; 3]);
        let add = |to: &mut [Option<(Level, Position)>; 3], level, at| {
            *to.iter_mut().find(|one| one.is_none()).expect("three headers") = Some((level, at));
        };
        let repeated = state.body.as_ref().map_or(0, |body| if body.is_active() { body.repeated() } else { 0 });
        let mut put = |sink: &mut S, nodes: &HeaderNodes, header: &Header, number: u64| {
            let is_page = header.level() == crate::Level::Transaction && page > 1;
            let page = is_page.then_some((page, repeated));
            let found = send_header(sink, nodes, header, (number, page), state.characters, &mut state.decoded);
            if let Some(at) = found {
                add(&mut foreign, header.level(), at);
            }
            if header.has_surplus() {
                add(&mut lost, header.level(), header.position());
            }
        };
        put(sink, &nodes.interchange, self.pass.interchange(), state.interchange);
        if in_group {
            put(sink, &nodes.group, self.pass.last_group(), self.pass.last_group().position().group.into());
        }
        if is_transaction {
            let header = self.pass.transaction();
            put(sink, &nodes.transaction, header, header.position().transaction.into());
        }
        if foreign[0].is_some() {
            self.header_characters(foreign, page);
        }
        if page == 1 && lost[0].is_some() {
            self.header_elements(lost);
        }
    }

    fn end<S: Sink, const SEND: bool>(&mut self, sink: &mut S) -> DocumentStep {
        if let Some(body) = self.state.body.as_mut().filter(|_| self.state.open.is_some()) {
            let characters = self.state.characters;
            if SEND {
                body.end(sink, self.pass.delimiters(), characters);
            } else {
                body.end(&mut Nobody, self.pass.delimiters(), characters);
            }
            if body.has_late() {
                self.tell_late();
            }
        }
        let Some(open) = self.state.open.take() else { return DocumentStep::NeedMore };
        if SEND {
            if open.has_segments {
                sink.close_list(self.state.nodes.segments);
            }
            sink.leave(NodeId::ROOT);
        }
        let Draft { from, to, is_transaction, errors, page, .. } = open;
        DocumentStep::Document { from, to, is_transaction, errors, page, more: false }
    }

    #[inline(always)]
    fn segment<S: Sink>(&mut self, sink: &mut S) {
        let segment = self.pass.segment();
        let state = &mut *self.state;
        if let Some(open) = &mut state.open
            && !core::mem::replace(&mut open.has_segments, true)
        {
            sink.open_list(state.nodes.segments);
        }
        let ascii = segment.is_printable() && !segment.binary;
        let fit = match ascii {
            true if segment.is_plain() => send_plain(sink, &state.nodes, &segment),
            true => send_ascii(sink, &state.nodes, &segment, &mut state.scratch),
            false => state.send(sink, &segment),
        };
        if fit == Fit::Foreign {
            let at = self.pass.position();
            self.foreign(at);
        }
    }
}

/// Creates a reader of envelopes. A character set that the user names overrides that of UNB.
pub(super) fn envelope(options: &GenericOptions) -> EnvelopeReader {
    let reader = EnvelopeReader::new(&options.limits, options.rules);
    if options.charset.is_some() { reader.without_code_extension() } else { reader }
}

/// A sink that ignores all events.
struct Nobody;

impl Sink for Nobody {
    fn enter(&mut self, _node: NodeId) {}
    fn leave(&mut self, _node: NodeId) {}
    fn open_list(&mut self, _node: NodeId) {}
    fn close_list(&mut self, _node: NodeId) {}
    fn value(&mut self, _node: NodeId, _value: Value<'_>) {}
    fn discard(&mut self) {}
}

/// Sends a segment of simple elements in printable ASCII.
#[inline(always)]
fn send_plain<S: Sink>(sink: &mut S, nodes: &Nodes, segment: &Segment<'_>) -> Fit {
    sink.enter(nodes.segments);
    sink.value(nodes.tag, Value::Ascii(segment.tag_run()));
    if segment.len() > 0 {
        sink.open_list(nodes.elements);
        sink.each_text_alone(nodes.elements, nodes.value, segment.raw_runs());
        sink.close_list(nodes.elements);
    }
    sink.leave(nodes.segments);
    Fit::Fits
}

/// Sends a segment in printable ASCII.
fn send_ascii<S: Sink>(sink: &mut S, nodes: &Nodes, segment: &Segment<'_>, scratch: &mut Vec<u8>) -> Fit {
    let tag = Value::Ascii(segment.tag_run());
    if !segment.is_marked() && segment.len() > 0 {
        send_unmarked(sink, nodes, segment);
        return Fit::Fits;
    }
    send_any(sink, nodes, segment, tag, |sink, node, part| sink.value(node, Value::Ascii(part.data(scratch))));
    Fit::Fits
}

/// Sends a segment in printable ASCII whose text equals the input.
#[inline(always)]
fn send_unmarked<S: Sink>(sink: &mut S, nodes: &Nodes, segment: &Segment<'_>) {
    sink.enter(nodes.segments);
    sink.value(nodes.tag, Value::Ascii(segment.tag_run()));
    sink.open_list(nodes.elements);
    for element in segment.elements() {
        if element.is_simple() {
            sink.text_alone(nodes.elements, nodes.value, element.run());
        } else if !element.is_repeated() {
            sink.texts_alone(nodes.elements, nodes.components, element.components().map(|part| part.run()));
        } else {
            sink.enter(nodes.elements);
            sink.open_list(nodes.repetitions);
            for repetition in element.repetitions() {
                if repetition.is_simple() {
                    sink.text_alone(nodes.repetitions, nodes.repetition_value, repetition.run());
                } else {
                    let components = repetition.components().map(|part| part.run());
                    sink.texts_alone(nodes.repetitions, nodes.repetition_components, components);
                }
            }
            sink.close_list(nodes.repetitions);
            sink.leave(nodes.elements);
        }
    }
    sink.close_list(nodes.elements);
    sink.leave(nodes.segments);
}

impl State {
    /// Sends any segment.
    fn send<S: Sink>(&mut self, sink: &mut S, segment: &Segment<'_>) -> Fit {
        let mut tag = Vec::new();
        let (tag, mut fit) = self.characters.value(segment.tag_run(), &mut tag);
        send_any(sink, &self.nodes, segment, tag, |sink, node, part| {
            let (value, found) = self.characters.value(part.data(&mut self.scratch), &mut self.decoded);
            if found == Fit::Foreign {
                fit = found;
            }
            sink.value(node, value);
        });
        fit
    }
}

/// Sends a segment whose texts are sent by `text`.
#[inline(always)]
fn send_any<S: Sink>(
    sink: &mut S,
    nodes: &Nodes,
    segment: &Segment<'_>,
    tag: Value<'_>,
    mut text: impl FnMut(&mut S, NodeId, &Element<'_>),
) {
    sink.enter(nodes.segments);
    sink.value(nodes.tag, tag);
    if segment.len() > 0 {
        sink.open_list(nodes.elements);
        let binary_at = if segment.binary { segment.len() } else { 0 };
        for (i, element) in segment.elements().enumerate() {
            sink.enter(nodes.elements);
            if i + 1 == binary_at {
                sink.value(nodes.binary, Value::Bytes(element.raw()));
            } else if element.is_simple() {
                if !element.is_empty() {
                    text(sink, nodes.value, &element);
                }
            } else if !element.is_repeated() {
                sink.open_list(nodes.components);
                element.components().for_each(|part| text(sink, nodes.components, &part));
                sink.close_list(nodes.components);
            } else {
                sink.open_list(nodes.repetitions);
                for repetition in element.repetitions() {
                    sink.enter(nodes.repetitions);
                    if !repetition.is_simple() {
                        sink.open_list(nodes.repetition_components);
                        repetition.components().for_each(|part| text(sink, nodes.repetition_components, &part));
                        sink.close_list(nodes.repetition_components);
                    } else if !repetition.is_empty() {
                        text(sink, nodes.repetition_value, &repetition);
                    }
                    sink.leave(nodes.repetitions);
                }
                sink.close_list(nodes.repetitions);
            }
            sink.leave(nodes.elements);
        }
        sink.close_list(nodes.elements);
    }
    sink.leave(nodes.segments);
}

/// Sends the fields of a header. Returns the position of the first one with characters that are not in the character set.
fn send_header<S: Sink>(
    sink: &mut S,
    nodes: &HeaderNodes,
    header: &Header,
    (number, page): (u64, Option<(u64, u64)>),
    characters: Characters,
    decoded: &mut Vec<u8>,
) -> Option<Position> {
    let standard = header.delimiters().standard;
    let fields = header_fields(standard, header.level());
    let mut foreign = None;
    sink.enter(nodes.group);
    sink.value(nodes.position, Value::Int(i64::try_from(number).unwrap_or(i64::MAX), 0));
    if let Some((page, repeated)) = page {
        sink.value(nodes.page, Value::Int(i64::try_from(page).unwrap_or(i64::MAX), 0));
        if repeated > 0 && nodes.repeated != nodes.position {
            sink.value(nodes.repeated, Value::Int(i64::try_from(repeated).unwrap_or(i64::MAX), 0));
        }
    }
    for (field, node) in fields.iter().zip(nodes.fields(standard)) {
        let value = header.component(field.element, field.component);
        let separator = field.reference == "ISA11" && header.delimiters().repetition.is_some();
        if !value.is_empty() && !separator {
            let (value, fit) = characters.value(Run::from(&value[..]), decoded);
            if fit == Fit::Foreign && foreign.is_none() {
                foreign = Some(header.position().element(u32::try_from(field.element).unwrap_or(u32::MAX)));
            }
            sink.value(*node, value);
        }
    }
    sink.leave(nodes.group);
    foreign
}
