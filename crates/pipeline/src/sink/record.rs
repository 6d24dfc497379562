//! Records in a framing: encoders of documents, and the target that frames their records as they are.

use core::convert::Infallible;
use std::sync::Arc;

use quayline_cobol::{RecordEncoder, RecordFaults, RecordPlan};
use quayline_core::{ByteOffset, Finding, Limits, NodeId, Place, RecordNumber, Sink, Value};
use quayline_frame::{Framer, FramerOptions, FramingSpec, SpecError};
use quayline_project::Schema;

use crate::payload::Payload;
use crate::record_extent::extent;
use crate::repeats::Repeats;
use crate::revocable::Revocable;
use crate::sink::map::{AnyPart, RecordPart};
use crate::target::Target;

/// Frames the records of a block. Blocks and segments of the framing end with it, so that a checkpoint can be written there and lanes are
/// independent of each other.
pub(crate) struct Framed {
    framer: Framer,
    out: Vec<u8>,
}

/// State of a [`Framed`] and its output.
pub(crate) struct FramedMark(Framer, usize);

impl Framed {
    pub(crate) fn new(
        spec: &FramingSpec,
        options: FramerOptions,
        limits: &Limits,
        schema: &Arc<Schema>,
    ) -> Result<Self, SpecError> {
        // The run writes the beginning of the file, so every lane continues after it.
        let framer = Framer::resume(spec, options, limits, ByteOffset(1), RecordNumber::FIRST)?;
        let framer = framer.with_extent(extent(spec, schema));
        Ok(Framed { framer, out: Vec::new() })
    }

    /// Returns the content before the first record.
    pub(crate) fn prologue(spec: &FramingSpec, options: FramerOptions, limits: &Limits) -> Result<Vec<u8>, SpecError> {
        let mut prologue = Vec::new();
        Framer::new(spec, options, limits)?.finish(&mut prologue);
        Ok(prologue)
    }

    pub(crate) fn add(&mut self, body: &[u8]) -> Result<(), Vec<Finding>> {
        self.framer.frame(body, &mut self.out).map_err(|fault| vec![fault.finding()])
    }

    /// Discards the output since the mark, if bytes were taken since, so that the mark is now at another length.
    pub(crate) fn back_to_len(&mut self, FramedMark(framer, _): FramedMark, len: usize) {
        self.framer = framer;
        self.out.truncate(len);
    }

    /// Bytes that were framed.
    pub(crate) fn written(&self) -> usize {
        self.out.len()
    }

    /// Returns the framed bytes, including an open block.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Discards the bytes; the framing continues.
    pub(crate) fn forget(&mut self) {
        self.out.clear();
    }

    pub(crate) fn drain(&mut self, payload: &mut Payload) {
        self.framer.flush(&mut self.out);
        core::mem::swap(&mut self.out, &mut payload.bytes);
        payload.len = payload.bytes.len();
        self.out.clear();
    }
}

impl Revocable for Framed {
    type Mark = FramedMark;
    type Error = Infallible;

    fn mark(&mut self) -> Result<FramedMark, Infallible> {
        Ok(FramedMark(self.framer.clone(), self.out.len()))
    }

    fn back_to(&mut self, mark: FramedMark) -> Result<(), Infallible> {
        let len = mark.1;
        self.back_to_len(mark, len);
        Ok(())
    }

    fn keep(&mut self, _: FramedMark) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Encoder of a document's records.
pub(crate) trait DocumentEncoder: Sink + Send + Sized {
    /// Frames the records of the last document.
    ///
    /// # Errors
    /// Values that the records cannot represent; none of the records is then framed.
    fn frame(&mut self, framed: &mut Framed) -> Result<(), Vec<Finding>>;
    /// Counts the notes on the records of the last document.
    fn add_repeats(&self, repeats: &mut Repeats, place: impl Fn() -> Place);
    /// Returns an output of a map, of a kind that is known at run time.
    fn any<'s>(part: RecordPart<Self>) -> AnyPart<'s>
    where
        Self: 's;
}

/// Records of one description.
pub(crate) struct OneRecord {
    plan: RecordPlan,
    encoder: RecordEncoder,
}

impl OneRecord {
    pub(crate) fn new(plan: &RecordPlan) -> Self {
        OneRecord { encoder: RecordEncoder::of_files(plan), plan: plan.clone() }
    }
}

impl DocumentEncoder for OneRecord {
    #[inline]
    fn frame(&mut self, framed: &mut Framed) -> Result<(), Vec<Finding>> {
        let body = self.encoder.take().map_err(|faults| findings(&faults, &self.plan))?;
        framed.add(body)
    }

    #[inline]
    fn add_repeats(&self, repeats: &mut Repeats, place: impl Fn() -> Place) {
        let notes = self.encoder.notes();
        if !notes.is_empty() {
            repeats.add_notes(&self.plan, 0, notes, &place());
        }
    }

    fn any<'s>(part: RecordPart<Self>) -> AnyPart<'s> {
        AnyPart::Record(Box::new(part))
    }
}

impl Sink for OneRecord {
    #[inline(always)]
    fn enter(&mut self, node: NodeId) {
        self.encoder.enter(node);
    }
    #[inline(always)]
    fn leave(&mut self, node: NodeId) {
        self.encoder.leave(node);
    }
    #[inline(always)]
    fn open_list(&mut self, node: NodeId) {
        self.encoder.open_list(node);
    }
    #[inline(always)]
    fn close_list(&mut self, node: NodeId) {
        self.encoder.close_list(node);
    }
    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.encoder.value(node, value);
    }
    fn null_branch(&mut self, node: NodeId) {
        self.encoder.null_branch(node);
    }
    fn discard(&mut self) {
        self.encoder.discard();
    }
}

/// Records of a source's documents.
pub(crate) struct RecordTarget<E> {
    encoder: E,
    framed: Framed,
}

impl<E> RecordTarget<E> {
    pub(crate) fn new(encoder: E, framed: Framed) -> Self {
        RecordTarget { encoder, framed }
    }
}

impl<E: DocumentEncoder> Target for RecordTarget<E> {
    type Sink = E;

    #[inline(always)]
    fn sink(&mut self) -> &mut E {
        &mut self.encoder
    }

    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        self.encoder.frame(&mut self.framed)
    }

    fn add_repeats(&mut self, repeats: &mut Repeats, place: impl Fn() -> Place) {
        self.encoder.add_repeats(repeats, place);
    }

    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        Ok(self.framed.written())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        self.framed.drain(payload);
        Ok(())
    }
}

pub(crate) fn findings(faults: &RecordFaults, plan: &RecordPlan) -> Vec<Finding> {
    faults.findings(plan, None, RecordNumber::FIRST, None)
}
