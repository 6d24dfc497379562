//! A map between a source and its outputs: a target whose sink maps.
//!
//! A source document may become any number of documents in any number of outputs. They are kept or taken back together: what is wrong with one
//! of them rejects the source document with all that came of it. Where a source document reaches over several blocks, what came of it so far
//! waits in spools, so that it can be taken back as well.

mod columns;
mod edi;
mod part;
mod records;
mod several;
mod text;
mod trace;
mod waiting;
mod world;

use quayline_core::{ByteOffset, Finding, Limits, NodeId, RecordNumber, Sink, TextPlace, Value};
use quayline_map::{MapPlan, Mapper, Outputs};

use crate::block::Block;
use crate::lane::{Extra, Target};
use crate::lot::Payload;

pub(crate) use columns::ColumnsPart;
pub(crate) use edi::{EdiPart, counted_from, usual_envelope};
pub(crate) use part::Part;
pub(crate) use records::{One as OneRecord, RecordPart};
pub(crate) use several::{AnyPart, Several};
pub(crate) use text::TextPart;
pub use trace::TraceOut;
pub(crate) use trace::{SharedPlaces, Traced, Tracer, Waits};
pub(crate) use world::RunHost;

/// The outputs of a map in a lane.
pub(crate) trait Parts: Outputs + Send {
    /// Calls `work` for each, in the map's order.
    fn each(&mut self, work: impl FnMut(usize, &mut dyn Part));
    /// Whether the writer has the last word on documents of one of them.
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

/// What a source drives: the map, and where somebody watches, word of where values stand.
pub(crate) struct Front<'p, O: Parts, V: Waits> {
    mapper: Mapper<'p, O, RunHost, V>,
    places: Option<SharedPlaces>,
    /// Addresses of the block's bytes, where they stand in the source, and where the document begins.
    block: (usize, usize),
    from: (u64, u64),
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
        // What was decoded elsewhere stands behind the value before it, or in the record.
        if let Some(at) = inside {
            self.from.1 = self.from.0 + at as u64;
        }
        trace::at_source(places, self.from.1);
    }
}

impl<'p, O: Parts, V: Waits> Sink for Front<'p, O, V> {
    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        self.mapper.enter(node);
    }
    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
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

    // A map judges the floats that it reads, and says so where it writes one.
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
    /// Of the document accepted last.
    extra: Option<Extra>,
}

impl<'p, O: Parts, V: Waits> MapTarget<'p, O, V> {
    pub(crate) fn new(plan: &'p MapPlan, mut outputs: O, host: RunHost, observer: V, limits: &Limits) -> Self {
        let defers = outputs.defers();
        let places = observer.places().cloned();
        outputs.each(|_, part| part.look_at(&host.envelope_set()));
        let mapper = Mapper::watched(plan, outputs, host, observer, limits);
        let outputs = (0..).take_while(|output| plan.output(*output).is_some()).count();
        let front = Front { mapper, places, block: (0, 0), from: (0, 0) };
        MapTarget { front, outputs, defers, extra: None }
    }

    fn back(&mut self) {
        let mapper = &mut self.front.mapper;
        mapper.outputs().each(|_, part| part.back());
        mapper.host().forget();
        let _ = mapper.observer().end(false);
    }

    /// Ends what is pending in the outputs, with the envelope values that the document has set.
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

    fn kept(&mut self, notes: Vec<Finding>) {
        let mut extra = Extra { notes, documents: 0, taken: Vec::new() };
        let defers = self.defers;
        self.front.mapper.outputs().each(|_, part| {
            let taken = part.keep();
            extra.documents += taken.documents;
            if defers {
                extra.taken.push(taken);
            }
        });
        self.extra = Some(extra);
    }
}

impl<'p, O: Parts, V: Waits + Send> Target for MapTarget<'p, O, V> {
    type Sink = Front<'p, O, V>;

    fn defers(&self) -> bool {
        self.defers
    }

    #[inline]
    fn begin(&mut self, number: RecordNumber, from: ByteOffset, block: &Block) {
        self.front.mapper.host().number(number);
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
        let mut notes = Vec::new();
        if !self.front.mapper.is_clean() {
            let outcome = self.front.mapper.outcome();
            let good = outcome.is_good();
            notes = outcome.findings.into_iter().map(of_document).collect();
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

    fn void(&mut self) {
        self.front.mapper.discard();
        let _ = self.front.mapper.outcome();
        self.back();
    }

    fn take_extra(&mut self) -> Option<Extra> {
        self.extra.take()
    }

    /// A map takes transactions whole, so nobody asks.
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

/// A finding of a map at the document that it is about: where in the map goes to the detail, since the place is the document's.
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
