//! Records of one description in a framing.

use std::sync::Arc;

use quayline_cobol::{RecordEncoder, RecordFaults, RecordPlan};
use quayline_core::{ByteOffset, Finding, Limits, RecordNumber};
use quayline_frame::{Framer, FramerOptions, FramingSpec, SpecError};
use quayline_project::Schema;

use crate::payload::Payload;
use crate::record_extent::extent;
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

    /// Returns the state of the output for [`Framed::back_to`].
    pub(crate) fn mark(&self) -> FramedMark {
        FramedMark(self.framer.clone(), self.out.len())
    }

    /// Discards the output since the mark.
    pub(crate) fn back_to(&mut self, mark: FramedMark) {
        let len = mark.1;
        self.back_to_len(mark, len);
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

pub(crate) struct RecordTarget {
    plan: RecordPlan,
    encoder: RecordEncoder,
    framed: Framed,
}

impl RecordTarget {
    pub(crate) fn new(plan: &RecordPlan, framed: Framed) -> Self {
        RecordTarget { plan: plan.clone(), encoder: RecordEncoder::of_files(plan), framed }
    }
}

impl Target for RecordTarget {
    type Sink = RecordEncoder;

    #[inline(always)]
    fn sink(&mut self) -> &mut RecordEncoder {
        &mut self.encoder
    }

    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        let body = self.encoder.take().map_err(|faults| findings(&faults, &self.plan))?;
        self.framed.add(body)
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
