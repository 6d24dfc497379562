//! A map between a source and its outputs: a target whose sink maps.
//!
//! A source document can become any number of documents in any number of outputs. They are kept or discarded together: a fault in one
//! of them rejects the source document with all its results. If a source document extends over several blocks, its results so far
//! wait in spools, so that they can be discarded as well.

mod columns;
mod edi;
mod part;
mod records;
mod several;
mod text;
mod trace;
mod waiting;
mod world;

use quayline_cobol::NoteKind;
use quayline_core::{ByteOffset, Finding, Limits, NodeId, Place, RecordNumber, Severity, Sink, TextPlace, Value};
use quayline_map::{MapPlan, Mapper, Outcome, Outputs};
use quayline_meter::Phase;

use crate::block::Block;
use crate::codes;
use crate::payload::Payload;
use crate::repeats::{RepeatKey, Repeats, Words};
use crate::settle::mention_more;
use crate::target::{MapExtras, Target};

pub(crate) use columns::ColumnsPart;
pub(crate) use edi::{EdiPart, EnvelopeDefaults, counted_from, usual_envelope};
pub(crate) use part::Part;
pub(crate) use records::RecordPart;
pub(crate) use several::{AnyPart, Several};
pub(crate) use text::TextPart;
pub use trace::TraceOut;
pub(crate) use trace::{SharedPlaces, Traced, Tracer, Waits};
pub(crate) use world::RunHost;

/// The outputs of a map in a lane.
pub(crate) trait Parts: Outputs + Send {
    /// Calls `work` for each, in the map's order.
    fn each(&mut self, work: impl FnMut(usize, &mut dyn Part));
    /// Returns true if the writer makes the final decision on documents of one of them.
    fn defers(&self) -> bool;
}

/// The only output of a map, of a known kind.
pub(crate) struct Alone<P>(pub(crate) P);

impl<P: Part + Sink> Outputs for Alone<P> {
    type Sink = P;

    #[inline(always)]
    fn sink(&mut self, _: usize) -> &mut P {
        &mut self.0
    }
}

impl<P: Part + Sink> Parts for Alone<P> {
    fn each(&mut self, mut work: impl FnMut(usize, &mut dyn Part)) {
        work(0, &mut self.0);
    }

    fn defers(&self) -> bool {
        self.0.defers()
    }
}

/// Sink of the source: the map, and for traces the positions of values.
pub(crate) struct Front<'p, O: Parts, V: Waits> {
    mapper: Mapper<'p, O, RunHost, V>,
    places: Option<SharedPlaces>,
    /// Addresses of the block's bytes, their position in the source, and the beginning of the document.
    block: (usize, usize),
    from: (u64, u64),
    /// True if the steps of the document are measured: decoding, map, output.
    is_measured: bool,
    /// Number of the document that the source reads. Ids and envelope values begin anew where the document begins, not where a block continues it.
    number: RecordNumber,
}

impl<O: Parts, V: Waits> Front<'_, O, V> {
    #[cold]
    fn at(&mut self, value: Value<'_>) {
        let Some(places) = &self.places else { return };
        let bytes = match value {
            Value::Text(run) | Value::Ascii(run) => run.bytes(),
            Value::Digits(digits) => digits.digits.bytes(),
            Value::Bytes(bytes) | Value::Raw(bytes) => bytes,
            _ => &[],
        };
        let (start, len) = self.block;
        let inside = (bytes.as_ptr() as usize).checked_sub(start).filter(|at| *at < len && !bytes.is_empty());
        // A value that was decoded into other memory is attributed to the position of the preceding value, or of the record.
        if let Some(at) = inside {
            self.from.1 = self.from.0 + at as u64;
        }
        trace::at_source(places, self.from.1);
    }
}

impl<'p, O: Parts, V: Waits> Sink for Front<'p, O, V> {
    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.mapper.host().number(self.number);
        }
        self.mapper.enter(node);
    }
    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        if self.is_measured && self.mapper.runs_at(node) {
            let before = quayline_meter::step(Phase::Map);
            self.mapper.leave(node);
            quayline_meter::step(before);
            return;
        }
        self.mapper.leave(node);
    }
    #[inline(always)]
    fn open_list(&mut self, node: NodeId) {
        self.mapper.open_list(node);
    }
    #[inline(always)]
    fn close_list(&mut self, node: NodeId) {
        self.mapper.close_list(node);
    }
    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if V::WATCHES {
            self.at(value);
        }
        self.mapper.value(node, value);
    }
    fn discard(&mut self) {
        self.mapper.discard();
    }

    // A map checks the floats that it reads, and reports those that it writes.
    const TAKES_NOT_FINITE: bool = true;
    const TAKES_TEXTS: bool = !V::WATCHES && <Mapper<'p, O, RunHost, V> as Sink>::TAKES_TEXTS;

    #[inline(always)]
    fn texts(&mut self, places: &[TextPlace], text: &[u8], shift: u32) -> usize {
        self.mapper.texts(places, text, shift)
    }
}

pub(crate) struct MapTarget<'p, O: Parts, V: Waits> {
    front: Front<'p, O, V>,
    outputs: usize,
    defers: bool,
    /// Additional results of the document that was accepted last.
    extra: Option<MapExtras>,
    /// Documents that the map left out of the results of the document that was accepted last.
    dropped: u64,
    /// Leaves, with their outputs, of that document whose 32-bit floats changed the number.
    rounded: Vec<(usize, NodeId)>,
    /// True if outputs have notes on their results.
    has_notes: bool,
    plan: &'p MapPlan,
}

impl<'p, O: Parts, V: Waits> MapTarget<'p, O, V> {
    pub(crate) fn new(plan: &'p MapPlan, mut outputs: O, host: RunHost, observer: V, limits: &Limits) -> Self {
        let defers = outputs.defers();
        let places = observer.places().cloned();
        outputs.each(|_, part| part.look_at(&host.envelope_set()));
        let mapper = Mapper::watched(plan, outputs, host, observer, limits);
        let outputs = (0..).take_while(|output| plan.output(*output).is_some()).count();
        let front = Front { mapper, places, block: (0, 0), from: (0, 0), is_measured: false, number: RecordNumber(0) };
        MapTarget { front, outputs, defers, extra: None, dropped: 0, rounded: Vec::new(), has_notes: false, plan }
    }

    fn back(&mut self) {
        let mapper = &mut self.front.mapper;
        mapper.outputs().each(|_, part| part.back());
        mapper.host().forget();
        let _ = mapper.observer().end(false);
    }

    /// Completes pending output, with the envelope values that the document has set.
    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        let mapper = &mut self.front.mapper;
        let envelope = mapper.host().take_envelope();
        let now = mapper.host().unit_time();
        let mut findings = Vec::new();
        mapper.outputs().each(|_, part| {
            part.envelope(&envelope, now);
            if let Err(found) = part.settle() {
                findings.extend(found);
            }
        });
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// Completes the output of the document, or withdraws it.
    fn complete(&mut self) -> Result<(), Vec<Finding>> {
        let mut notes = Vec::new();
        self.dropped = 0;
        self.rounded.clear();
        if !self.front.mapper.is_clean() {
            let outcome = self.front.mapper.outcome();
            let good = outcome.is_good();
            self.dropped = outcome.dropped;
            self.rounded = outcome.rounded;
            notes = outcome.findings.into_iter().map(of_document).collect();
            mention_more(&mut notes, outcome.findings_not_kept);
            if !good {
                self.back();
                return Err(notes);
            }
        }
        let settled = self.settle().and_then(|()| self.front.mapper.observer().end(true));
        if let Err(findings) = settled {
            self.back();
            return Err(findings);
        }
        self.kept(notes);
        Ok(())
    }

    fn kept(&mut self, notes: Vec<Finding>) {
        let mut extra = MapExtras { notes, documents: 0, taken: Vec::new() };
        let (defers, mut has_notes) = (self.defers, false);
        self.front.mapper.outputs().each(|_, part| {
            let taken = part.keep();
            extra.documents += taken.documents;
            has_notes |= taken.has_notes;
            if defers {
                extra.taken.push(taken);
            }
        });
        self.extra = Some(extra);
        self.has_notes = has_notes;
    }
}

impl<'p, O: Parts, V: Waits + Send> Target for MapTarget<'p, O, V> {
    type Sink = Front<'p, O, V>;

    fn defers(&self) -> bool {
        self.defers
    }

    #[inline]
    fn begin(&mut self, number: RecordNumber, from: ByteOffset, block: &Block) {
        self.front.is_measured = quayline_meter::document();
        self.front.number = number;
        if V::WATCHES {
            self.front.block = (block.bytes.as_ptr() as usize, block.filled);
            self.front.from = (block.before.offset.0, from.0);
        }
    }

    #[inline(always)]
    fn sink(&mut self) -> &mut Self::Sink {
        &mut self.front
    }

    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        if !self.front.is_measured {
            return self.complete();
        }
        let before = quayline_meter::step(Phase::Encode);
        let done = self.complete();
        quayline_meter::step(before);
        done
    }

    fn void(&mut self) {
        self.front.mapper.discard();
        let _ = self.front.mapper.outcome();
        self.back();
    }

    fn take_extras(&mut self) -> Option<MapExtras> {
        self.extra.take()
    }

    fn add_repeats(&mut self, repeats: &mut Repeats, place: impl Fn() -> Place) {
        if core::mem::take(&mut self.has_notes) {
            let plan = self.plan;
            self.front.mapper.outputs().each(|number, part| {
                repeats.merge_of_map(part.take_notes(), &place);
                for (leaf, count) in part.take_zero_signs() {
                    add_zero_signs(repeats, plan, (number, leaf), count, &place);
                }
            });
        }
        for (output, leaf) in &self.rounded {
            add_rounded(repeats, self.plan, *output, *leaf, &place);
        }
        let words = || Words {
            one: "document is left out by `drop` in the map".to_owned(),
            many: "documents are left out by `drop` in the map".to_owned(),
            hint: "check the condition of `drop` if you expect these documents in the output".to_owned(),
            severity: Severity::Note,
        };
        for _ in 0..self.dropped {
            repeats.add(codes::DROPPED, RepeatKey::Others, &place, words);
        }
    }

    /// A map receives complete transactions, so this is never called.
    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        Ok(0)
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        let goes_on = payload.goes_on;
        let mut first = Ok(());
        let mut more = core::mem::take(&mut payload.more);
        more.resize_with(self.outputs.saturating_sub(1), Payload::default);
        self.front.mapper.outputs().each(|number, part| {
            let into = if number == 0 { &mut *payload } else { &mut more[number - 1] };
            let done = part.drain(into, goes_on);
            if first.is_ok() {
                first = done;
            }
        });
        payload.more = more;
        first
    }
}

/// Counts a document with floats that a 32-bit float of an output does not give back.
#[cold]
fn add_rounded(repeats: &mut Repeats, plan: &MapPlan, output: usize, leaf: NodeId, place: impl Fn() -> Place) {
    let path = plan.output(output).map(|shape| shape.path(leaf)).unwrap_or_default();
    let at = || Place { path: Some(path.clone()), ..place() };
    let words = || {
        let what = format!("with more digits than the 32-bit float {path} keeps; the nearest float is written");
        Words {
            one: format!("document has a float {what}"),
            many: format!("documents have a float {what}"),
            hint: "a 64-bit float or a decimal field of the target keeps the digits".to_owned(),
            severity: Severity::Warning,
        }
    };
    repeats.add(Outcome::ROUNDED, RepeatKey::Target(output, leaf), at, words);
}

/// Counts zeros whose minus sign a column does not have.
#[cold]
fn add_zero_signs(
    repeats: &mut Repeats,
    plan: &MapPlan,
    (output, leaf): (usize, NodeId),
    count: u64,
    place: impl Fn() -> Place,
) {
    let path = plan.output(output).map(|shape| shape.path(leaf)).unwrap_or_default();
    let at = || Place { path: Some(path.clone()), ..place() };
    let words = || Words {
        one: format!("value of {path} lost the minus sign of a zero"),
        many: format!("values of {path} lost the minus sign of a zero"),
        hint: "the numbers are equal; a text field of the target keeps the sign".to_owned(),
        severity: Severity::Warning,
    };
    for _ in 0..count {
        repeats.add(NoteKind::ZeroSign.code(), RepeatKey::Target(output, leaf), at, words);
    }
}

/// Moves a map's finding to the source document: the position in the map becomes the detail, because the place is that of the document.
fn of_document(mut finding: Finding) -> Finding {
    let place = &mut finding.place;
    let mut detail = String::new();
    if let (Some(file), Some(line)) = (&place.file, place.line) {
        detail = format!("{file}:{line}");
    }
    if let Some(own) = place.detail.take() {
        detail = if detail.is_empty() { own } else { format!("{detail}, {own}") };
    }
    place.detail = (!detail.is_empty()).then_some(detail);
    (place.file, place.line, place.column, place.width, place.line_text) = (None, None, None, None, None);
    place.byte = None;
    finding
}
