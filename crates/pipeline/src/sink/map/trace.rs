//! Trace of the statement and source bytes of each output value: a line of JSON for each value that a map writes.
//!
//! Lines wait until their source document is kept; those of a rejected document are discarded.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use quayline_core::{Finding, NodeId, Sink, Value};
use quayline_json::write_string;
use quayline_map::{Coverage, MapPlan, Observer, Outputs, StatementId};

use super::Parts;
use super::part::Part;
use super::several::AnyPart;
use super::world::EnvelopeSet;
use crate::error::PipelineError;
use crate::payload::Payload;
use crate::repeats::Repeats;
use crate::spool::{Spool, SpoolFolder};
use crate::target::OutputExtent;

/// Destination of traces.
pub type TraceOut = Arc<Mutex<Box<dyn Write + Send>>>;

/// Positions that the ends of a lane report to its observer.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Position of the current value in the source.
    source: u64,
    /// Byte range of the last value in the output; `None` if the format determines its position later.
    target: Option<(u64, u64)>,
    /// Documents of each output so far.
    documents: Vec<u64>,
}

pub(crate) type SharedPlaces = Arc<Mutex<Places>>;

fn with<T>(places: &SharedPlaces, work: impl FnOnce(&mut Places) -> T) -> T {
    work(&mut places.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Records the position of a source value.
pub(crate) fn at_source(places: &SharedPlaces, byte: u64) {
    with(places, |places| places.source = byte);
}

/// The observer of a lane.
pub(crate) struct Tracer<'p> {
    plan: &'p MapPlan,
    places: SharedPlaces,
    out: TraceOut,
    folder: SpoolFolder,
    waiting: Spool,
    line: Vec<u8>,
    failed: Option<std::io::Error>,
    coverage: Option<Arc<Mutex<Coverage>>>,
}

impl<'p> Tracer<'p> {
    pub(crate) fn new(plan: &'p MapPlan, places: SharedPlaces, out: TraceOut, folder: SpoolFolder) -> Self {
        Tracer { plan, places, out, folder, waiting: Spool::default(), line: Vec::new(), failed: None, coverage: None }
    }
}

impl Tracer<'_> {
    /// Adds the counting of statements and source values.
    pub(crate) fn counting(self, coverage: Option<Arc<Mutex<Coverage>>>) -> Self {
        Tracer { coverage, ..self }
    }
}

/// An observer that buffers its output until the source document is decided.
pub(crate) trait Waits: Observer {
    /// Writes the buffered output if the source document is kept, and otherwise discards it.
    ///
    /// # Errors
    /// The output cannot be written.
    fn end(&mut self, _kept: bool) -> Result<(), Vec<Finding>> {
        Ok(())
    }

    /// Returns the place to store positions, if the observer needs them.
    fn places(&self) -> Option<&SharedPlaces> {
        None
    }
}

impl Waits for quayline_map::Unwatched {}

impl Waits for Tracer<'_> {
    fn end(&mut self, kept: bool) -> Result<(), Vec<Finding>> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = self.failed.take().map_or(Ok(()), Err);
        let written =
            failed.and_then(|()| if kept { self.waiting.read(0, |part| out.write_all(part)) } else { Ok(()) });
        let done = written.and_then(|()| self.waiting.truncate(0));
        done.map_err(|error| PipelineError::io("write", "<trace>")(error).findings().0)
    }

    fn places(&self) -> Option<&SharedPlaces> {
        Some(&self.places)
    }
}

impl Observer for Tracer<'_> {
    const WATCHES: bool = true;

    fn source_position(&mut self) -> u64 {
        with(&self.places, |places| places.source)
    }

    fn value(&mut self, node: NodeId) {
        if let Some(coverage) = &self.coverage {
            coverage.lock().unwrap_or_else(PoisonError::into_inner).value(node);
        }
    }

    fn ran(&mut self, statement: StatementId) {
        if let Some(coverage) = &self.coverage {
            coverage.lock().unwrap_or_else(PoisonError::into_inner).ran(statement);
        }
    }

    fn wrote(&mut self, statement: StatementId, output: usize, target: NodeId, sources: &[(NodeId, u64)]) {
        let (range, document) =
            with(&self.places, |places| (places.target.take(), places.documents.get(output).copied().unwrap_or(0)));
        let line = &mut self.line;
        line.clear();
        let name = self.plan.output_name(output).unwrap_or_default();
        let path = self.plan.output(output).map_or_else(String::new, |shape| shape.path(target));
        line.extend_from_slice(b"{\"output\":");
        write_string(name, line);
        let _ = write!(line, ",\"document\":{document},\"path\":");
        write_string(&path, line);
        if let Some((begin, end)) = range {
            let _ = write!(line, ",\"begin\":{begin},\"end\":{end}");
        }
        if let Some(statement) = self.plan.statement(statement) {
            line.extend_from_slice(b",\"map\":");
            write_string(statement.file, line);
            let _ = write!(line, ",\"line\":{},\"statement\":", statement.line);
            write_string(statement.words.lines().next().unwrap_or_default(), line);
        }
        line.extend_from_slice(b",\"from\":[");
        for (number, (node, byte)) in sources.iter().enumerate() {
            let begin: &[u8] = if number > 0 { b",{\"path\":" } else { b"{\"path\":" };
            line.extend_from_slice(begin);
            write_string(&self.plan.source().path(*node), line);
            let _ = write!(line, ",\"byte\":{byte}}}");
        }
        line.extend_from_slice(b"]}\n");
        if let Err(error) = self.waiting.push(line, &*self.folder) {
            self.failed = Some(error);
        }
    }
}

/// An output whose positions are traced.
pub(crate) struct TracedPart<'s> {
    part: AnyPart<'s>,
    number: usize,
    places: SharedPlaces,
    /// Position in the output at which the positions of the part begin.
    base: u64,
}

impl Sink for TracedPart<'_> {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            with(&self.places, |places| places.documents[self.number] += 1);
        }
        self.part.enter(node);
    }
    fn leave(&mut self, node: NodeId) {
        self.part.leave(node);
    }
    fn open_list(&mut self, node: NodeId) {
        self.part.open_list(node);
    }
    fn close_list(&mut self, node: NodeId) {
        self.part.close_list(node);
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        let before = self.part.at();
        self.part.value(node, value);
        let range = before.zip(self.part.at()).filter(|(begin, end)| begin < end);
        let base = self.base;
        with(&self.places, |places| places.target = range.map(|(begin, end)| (base + begin, base + end)));
    }
    fn discard(&mut self) {
        with(&self.places, |places| places.documents[self.number] -= 1);
        self.part.discard();
    }
}

/// All outputs of a map, traced.
pub(crate) struct Traced<'s>(Vec<TracedPart<'s>>);

impl<'s> Traced<'s> {
    /// Creates traced outputs. `bases` has the number of bytes already in each output.
    pub(crate) fn new(parts: Vec<AnyPart<'s>>, bases: &[u64], places: &SharedPlaces) -> Self {
        with(places, |places| places.documents = vec![0; parts.len()]);
        let traced = parts.into_iter().zip(bases).enumerate().map(|(number, (part, base))| TracedPart {
            part,
            number,
            places: Arc::clone(places),
            base: *base,
        });
        Traced(traced.collect())
    }
}

impl<'s> Outputs for Traced<'s> {
    type Sink = TracedPart<'s>;

    fn sink(&mut self, output: usize) -> &mut TracedPart<'s> {
        &mut self.0[output]
    }
}

impl Part for TracedPart<'_> {
    fn defers(&self) -> bool {
        self.part.defers()
    }
    fn look_at(&mut self, set: &EnvelopeSet) {
        self.part.look_at(set);
    }
    fn envelope(&mut self, values: &[(String, String)], now: Option<i64>) {
        self.part.envelope(values, now);
    }
    fn settle(&mut self) -> Result<(), Vec<Finding>> {
        self.part.settle()
    }
    fn keep(&mut self) -> OutputExtent {
        self.part.keep()
    }
    fn take_zero_signs(&mut self) -> Vec<(NodeId, u64)> {
        self.part.take_zero_signs()
    }
    fn take_notes(&mut self) -> Repeats {
        self.part.take_notes()
    }
    fn back(&mut self) {
        self.part.back();
    }
    fn drain(&mut self, payload: &mut Payload, goes_on: bool) -> Result<(), Vec<Finding>> {
        if !goes_on {
            self.base += self.part.at().unwrap_or(0);
        }
        self.part.drain(payload, goes_on)
    }
}

impl Parts for Traced<'_> {
    fn each(&mut self, mut work: impl FnMut(usize, &mut dyn Part)) {
        self.0.iter_mut().enumerate().for_each(|(number, part)| work(number, part));
    }

    fn defers(&self) -> bool {
        self.0.iter().any(Part::defers)
    }
}
