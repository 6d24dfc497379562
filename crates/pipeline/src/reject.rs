//! How a rejected record stands in the rejects file: so that the file can be converted again with the same settings.

use std::sync::Arc;

use quayline_core::Limits;
use quayline_frame::{Framer, FramerOptions, FramingSpec, LineEnd};

use crate::block::{Block, Units};
use crate::source_head::ColumnsHead;

/// The form of rejected records.
#[derive(Debug)]
pub enum RejectForm {
    /// The bytes of the source from the record's framing to its end, terminator included.
    Raw(FramingSpec),
    /// The body framed anew: blocks and segments cannot be taken out of a file as they stand.
    Framed {
        /// The framing.
        spec: FramingSpec,
        /// Named bounds.
        limits: Limits,
        /// The byte that pads a short record.
        pad: u8,
    },
    /// Rows of columns, as lines of JSON of the source's shape.
    Rows(Arc<ColumnsHead>),
    /// Transactions as they stand, in interchanges that the writer puts around them.
    Interchanges,
    /// The document and a line feed, between what makes a file of such lines.
    Line {
        /// Bytes before the first document.
        prologue: Vec<u8>,
        /// Bytes after the last document.
        epilogue: Vec<u8>,
    },
}

impl RejectForm {
    pub(crate) fn records(spec: &FramingSpec, limits: &Limits, pad: u8) -> Self {
        match spec {
            FramingSpec::Blocked(_) | FramingSpec::Spanned(_) | FramingSpec::MicroFocus => {
                RejectForm::Framed { spec: *spec, limits: limits.clone(), pad }
            }
            FramingSpec::Fixed { .. }
            | FramingSpec::Rdw(_)
            | FramingSpec::Lines(_)
            | FramingSpec::LengthField(_)
            | FramingSpec::Layout => RejectForm::Raw(*spec),
        }
    }

    /// What stands before the first rejected record.
    #[must_use]
    pub fn prologue(&self) -> Vec<u8> {
        match self {
            RejectForm::Raw(_) | RejectForm::Interchanges | RejectForm::Rows(_) => Vec::new(),
            RejectForm::Framed { spec, limits, pad } => {
                let mut bytes = Vec::new();
                if let Ok(mut framer) = Framer::new(spec, options(*pad), limits) {
                    framer.finish(&mut bytes);
                }
                bytes
            }
            RejectForm::Line { prologue, .. } => prologue.clone(),
        }
    }

    /// What stands behind the last rejected record.
    #[must_use]
    pub fn epilogue(&self) -> &[u8] {
        match self {
            RejectForm::Raw(_) | RejectForm::Framed { .. } | RejectForm::Interchanges | RejectForm::Rows(_) => &[],
            RejectForm::Line { epilogue, .. } => epilogue,
        }
    }

    /// Appends record `i`.
    pub(crate) fn append(&self, block: &Block, i: usize, out: &mut Vec<u8>) {
        match (self, block.record_span(i)) {
            (RejectForm::Raw(spec), Some(span)) => {
                let body_end = (span.body + span.len) as usize;
                let end = body_end + terminator(spec, &block.bytes[body_end..block.filled]);
                out.extend_from_slice(&block.bytes[span.frame as usize..end]);
            }
            (RejectForm::Framed { spec, limits, pad }, _) => {
                let body = block.body(i);
                let resumed = Framer::resume(spec, options(*pad), limits, block.offset(i), block.number(i));
                let framed = resumed.ok().and_then(|mut framer| {
                    let done = framer.frame(body, out).is_ok();
                    framer.flush(out);
                    done.then_some(())
                });
                // What was read in this framing and does not fit into a block of ours keeps its bytes all the same.
                if framed.is_none() {
                    out.extend_from_slice(body);
                }
            }
            (RejectForm::Rows(head), _) => {
                if let Units::Rows(Some(batch)) = &block.units {
                    head.append_row(&mut head.rows.rows(batch), i, out);
                }
            }
            (RejectForm::Interchanges, _) => out.extend_from_slice(block.body(i)),
            (RejectForm::Raw(_) | RejectForm::Line { .. }, _) => {
                out.extend_from_slice(block.body(i));
                out.push(b'\n');
            }
        }
    }
}

fn options(pad: u8) -> FramerOptions {
    FramerOptions { pad, block_bytes: 32_760, ..FramerOptions::default() }
}

/// Bytes of the line terminator at the start of what follows a record.
fn terminator(spec: &FramingSpec, behind: &[u8]) -> usize {
    let FramingSpec::Lines(lines) = spec else { return 0 };
    let end = lines.end.bytes();
    let carriage = usize::from(lines.end != LineEnd::CrLf && behind.first() == Some(&b'\r'));
    if behind[carriage..].starts_with(end) { carriage + end.len() } else { 0 }
}
