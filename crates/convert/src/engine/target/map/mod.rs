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
mod waiting;
mod world;

use quayline_core::{ByteOffset, Finding, Limits, RecordNumber, Sink};
use quayline_map::{MapPlan, Mapper, Observer, Outputs};

use crate::engine::lane::{Extra, Target};
use crate::engine::lot::Payload;

pub(crate) use columns::ColumnsPart;
pub(crate) use edi::{EdiPart, usual_envelope};
pub(crate) use part::{Part, SpoolFolder};
pub(crate) use records::{One as OneRecord, RecordPart};
pub(crate) use several::{AnyPart, Several};
pub(crate) use text::TextPart;
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

impl<P: Part> Outputs for Alone<P> {
    type Sink = P;

    #[inline(always)]
    fn sink(&mut self, _: usize) -> &mut P {
        &mut self.0
    }
}

impl<P: Part> Parts for Alone<P> {
    fn each(&mut self, mut work: impl FnMut(usize, &mut dyn Part)) {
        work(0, &mut self.0);
    }

    fn defers(&self) -> bool {
        self.0.defers()
    }
}

pub(crate) struct MapTarget<'p, O: Parts, V: Observer> {
    plan: &'p MapPlan,
    mapper: Mapper<'p, O, RunHost, V>,
    defers: bool,
    /// Of the document accepted last.
    extra: Option<Extra>,
}

impl<'p, O: Parts, V: Observer> MapTarget<'p, O, V> {
    pub(crate) fn new(plan: &'p MapPlan, outputs: O, host: RunHost, observer: V, limits: &Limits) -> Self {
        let defers = outputs.defers();
        let mapper = Mapper::watched(plan, outputs, host, observer, limits);
        MapTarget { plan, mapper, defers, extra: None }
    }

    fn back(&mut self) {
        self.mapper.outputs().each(|_, part| part.back());
        self.mapper.host().forget();
    }

    /// Ends what is pending in the outputs, with the envelope values that the document has set.
    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        let envelope = self.mapper.host().take_envelope();
        let mut findings = Vec::new();
        self.mapper.outputs().each(|_, part| {
            part.envelope(&envelope);
            if let Err(found) = part.settle() {
                findings.extend(found);
            }
        });
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    fn kept(&mut self, notes: Vec<Finding>) {
        let mut extra = Extra { notes, documents: 0, taken: Vec::new() };
        let defers = self.defers;
        self.mapper.outputs().each(|_, part| {
            let taken = part.keep();
            extra.documents += taken.documents;
            if defers {
                extra.taken.push(taken);
            }
        });
        self.extra = Some(extra);
    }
}

impl<'p, O: Parts, V: Observer + Send> Target for MapTarget<'p, O, V> {
    type Sink = Mapper<'p, O, RunHost, V>;

    fn defers(&self) -> bool {
        self.defers
    }

    fn number(&mut self, number: RecordNumber) {
        self.mapper.host().number(number);
    }

    #[inline(always)]
    fn sink(&mut self) -> &mut Self::Sink {
        &mut self.mapper
    }

    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        let mut notes = Vec::new();
        if !self.mapper.is_clean() {
            let outcome = self.mapper.outcome();
            let good = outcome.is_good();
            notes = outcome.findings.into_iter().map(of_document).collect();
            if !good {
                self.back();
                return Err(notes);
            }
        }
        if let Err(findings) = self.settle() {
            self.back();
            return Err(findings);
        }
        self.kept(notes);
        Ok(())
    }

    fn void(&mut self) {
        self.mapper.discard();
        let _ = self.mapper.outcome();
        self.back();
    }

    fn take_extra(&mut self) -> Option<Extra> {
        self.extra.take()
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        let goes_on = payload.goes_on;
        let mut first = Ok(());
        let mut more = core::mem::take(&mut payload.more);
        more.resize_with(self.plan_outputs().saturating_sub(1), Payload::default);
        self.mapper.outputs().each(|number, part| {
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

impl<O: Parts, V: Observer> MapTarget<'_, O, V> {
    fn plan_outputs(&self) -> usize {
        (0..).take_while(|output| self.plan.output(*output).is_some()).count()
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
    place.byte = None::<ByteOffset>;
    finding
}
