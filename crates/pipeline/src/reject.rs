//! Format of the rejects file: it can be converted again with the same settings.

use std::sync::{Arc, OnceLock};

use quayline_core::Limits;
use quayline_frame::{Edges, Framer, FramerOptions, FramingSpec, LineEnd};

use quayline_project::{RecordTypes, Schema, SkipBytes};

use crate::block::{Block, Units};
use crate::source_head::ColumnsHead;

/// The form of rejected records.
#[derive(Debug)]
pub enum RejectForm {
    /// The bytes of the source from the record's framing to its end, terminator included.
    Raw {
        /// The framing.
        spec: FramingSpec,
        /// Fillers for the content at the beginning and the end that the settings skip.
        edges: Fillers,
    },
    /// The body with new framing, because blocks and segments cannot be copied individually from a file.
    Framed {
        /// The framing.
        spec: FramingSpec,
        /// Named bounds.
        limits: Limits,
        /// The byte that pads a short record.
        pad: u8,
        /// Fillers for the content at the beginning and the end that the settings skip.
        edges: Fillers,
    },
    /// Rows of columns, as lines of JSON of the source's shape.
    Rows(Arc<ColumnsHead>),
    /// Unchanged transactions, in interchanges that the writer adds.
    Interchanges,
    /// The document and a line feed, inside the prologue and epilogue of such a file.
    Line {
        /// Bytes before the first document.
        prologue: Vec<u8>,
        /// Bytes after the last document.
        epilogue: Vec<u8>,
    },
}

/// Bytes in place of those that the settings leave out at both ends of a file (`skip-first`, `skip-bytes-first` and so on): without
/// them the same settings would leave rejected records out. They are made when a file of rejects needs them.
#[derive(Debug)]
pub struct Fillers {
    edges: Edges,
    skip: SkipBytes,
    spec: FramingSpec,
    limits: Limits,
    pad: u8,
    made: OnceLock<FillerBytes>,
}

#[derive(Debug, Default)]
struct FillerBytes {
    before: Vec<u8>,
    after: Vec<u8>,
    /// Bytes of `after` that are records.
    trailers: usize,
}

impl Fillers {
    fn new(schema: &Schema, spec: &FramingSpec, limits: &Limits, pad: u8) -> Fillers {
        let edges = schema.types().map(RecordTypes::edges).unwrap_or_default();
        Fillers { edges, skip: schema.skip_bytes(), spec: *spec, limits: limits.clone(), pad, made: OnceLock::new() }
    }

    fn bytes(&self) -> &FillerBytes {
        self.made.get_or_init(|| {
            let filled = |count: u64| vec![self.pad; usize::try_from(count).unwrap_or(0)];
            let trailers = self.records(self.edges.skip_last as u64);
            FillerBytes {
                before: [filled(self.skip.first), self.records(self.edges.skip_first)].concat(),
                trailers: trailers.len(),
                after: [trailers, filled(self.skip.last as u64)].concat(),
            }
        })
    }

    fn records(&self, count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        if count > 0
            && let Ok(mut framer) = Framer::new(&self.spec, options(self.pad), &self.limits)
        {
            for _ in 0..count {
                // One byte, which is padded if records have a fixed length.
                if framer.frame(&[self.pad], &mut bytes).is_err() {
                    break;
                }
            }
            framer.flush(&mut bytes);
        }
        bytes
    }
}

impl RejectForm {
    pub(crate) fn records(schema: &Schema, spec: &FramingSpec, limits: &Limits, pad: u8) -> Self {
        let edges = Fillers::new(schema, spec, limits, pad);
        match spec {
            FramingSpec::Blocked(_) | FramingSpec::Spanned(_) | FramingSpec::MicroFocus => {
                RejectForm::Framed { spec: *spec, limits: limits.clone(), pad, edges }
            }
            FramingSpec::Fixed { .. }
            | FramingSpec::Rdw(_)
            | FramingSpec::Lines(_)
            | FramingSpec::LengthField(_)
            | FramingSpec::Layout => RejectForm::Raw { spec: *spec, edges },
        }
    }

    /// Returns the content before the first rejected record.
    #[must_use]
    pub fn prologue(&self) -> Vec<u8> {
        match self {
            RejectForm::Interchanges | RejectForm::Rows(_) => Vec::new(),
            RejectForm::Raw { edges, .. } => edges.bytes().before.clone(),
            RejectForm::Framed { spec, limits, pad, edges } => {
                let mut bytes = Vec::new();
                if let Ok(mut framer) = Framer::new(spec, options(*pad), limits) {
                    framer.finish(&mut bytes);
                }
                bytes.extend_from_slice(&edges.bytes().before);
                bytes
            }
            RejectForm::Line { prologue, .. } => prologue.clone(),
        }
    }

    /// Returns the content after the last rejected record.
    #[must_use]
    pub fn epilogue(&self) -> &[u8] {
        match self {
            RejectForm::Raw { edges, .. } | RejectForm::Framed { edges, .. } => &edges.bytes().after,
            RejectForm::Interchanges | RejectForm::Rows(_) => &[],
            RejectForm::Line { epilogue, .. } => epilogue,
        }
    }

    /// Returns the number of bytes at the start of [`RejectForm::epilogue`] that are records.
    #[must_use]
    pub fn trailers(&self) -> usize {
        match self {
            RejectForm::Raw { edges, .. } | RejectForm::Framed { edges, .. } => edges.bytes().trailers,
            RejectForm::Interchanges | RejectForm::Rows(_) | RejectForm::Line { .. } => 0,
        }
    }

    /// Appends record `i`.
    pub(crate) fn append(&self, block: &Block, i: usize, out: &mut Vec<u8>) {
        match (self, block.record_span(i)) {
            (RejectForm::Raw { spec, .. }, Some(span)) => {
                let body_end = (span.body + span.len) as usize;
                let end = body_end + terminator(spec, &block.bytes[body_end..block.filled]);
                out.extend_from_slice(&block.bytes[span.frame as usize..end]);
            }
            (RejectForm::Framed { spec, limits, pad, .. }, _) => {
                let body = block.body(i);
                let mut options = options(*pad);
                // A block that was longer than those that Quayline writes.
                let needed = u32::try_from(body.len() + BLOCK_HEADERS).unwrap_or(u32::MAX);
                options.block_bytes = options.block_bytes.max(needed);
                let resumed = Framer::resume(spec, options, limits, block.offset(i), block.number(i));
                let framed = resumed.ok().and_then(|mut framer| {
                    let done = framer.frame(body, out).is_ok();
                    framer.flush(out);
                    done.then_some(())
                });
                // A record that was read in this framing but does not fit a new block keeps its bytes.
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
            (RejectForm::Raw { .. } | RejectForm::Line { .. }, _) => {
                out.extend_from_slice(block.body(i));
                out.push(b'\n');
            }
        }
    }
}

/// Bytes of a block descriptor, extended, and a record descriptor.
const BLOCK_HEADERS: usize = 12;

fn options(pad: u8) -> FramerOptions {
    FramerOptions { pad, block_bytes: 32_760, ..FramerOptions::default() }
}

/// Returns the length of the line terminator at the start of the bytes after a record.
fn terminator(spec: &FramingSpec, behind: &[u8]) -> usize {
    let FramingSpec::Lines(lines) = spec else { return 0 };
    let end = lines.end.bytes();
    let carriage = usize::from(lines.end != LineEnd::CrLf && behind.first() == Some(&b'\r'));
    if behind[carriage..].starts_with(end) { carriage + end.len() } else { 0 }
}
