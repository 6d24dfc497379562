//! Bytes in, documents out: a source, an optional map and outputs, combined into one compiled loop. The crate opens no files and starts no threads.
//!
//! ```text
//!            BlockReader (a reader) ─┐                                                    ┌─ OrderedSink: writes lots in order (convert)
//!                                    ▼                                                    │
//! bytes ─▶ Cutter ─▶ Block of whole records ─▶ Lane: Source ▶ (map ▶) sink ─▶ Lot ─▶ settle ─▶ Payload, rejects, findings, tally
//!                                                                                         │
//!                          Pipeline::lane ─▶ UnitLane::run(bytes of one unit) ────────────┴─ OutputBuffer: Revocable
//! ```
//!
//! There are three entry points:
//!
//! * [`Pipeline`] is for callers that have a unit in memory: a record, a message, a complete interchange. [`UnitLane::run`] converts it and
//!   appends the results to [`OutputBuffer`]s, which the caller can reset to a mark.
//! * [`Documents`] is for callers that save a position after each document: it returns them one by one, as units for [`UnitLane::run`].
//! * [`Ends`] is for callers that stream: it makes a cutter, lanes and outputs from the same formats, and [`Scheduler`] keeps the order of the
//!   source for any number of lanes. The caller opens files, starts threads and writes.
//!
//! ```
//! use std::sync::Arc;
//!
//! use quayline_core::Limits;
//! use quayline_pipeline::{Pipeline, World};
//! use quayline_project::{MapFile, ShapeOptions};
//!
//! // From claims in X12 to COBOL records, through a map, in memory.
//! let maps = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/maps/maps");
//! let options = ShapeOptions::default();
//! let map = MapFile::open(format!("{maps}/claims.qmap").as_ref(), &options, &options)?;
//! let pipeline = Pipeline::through(map, Arc::new(World::default()), Limits::default())?;
//! let (mut lane, mut outputs) = (pipeline.lane()?, pipeline.buffers()?);
//!
//! let interchange = std::fs::read(format!("{maps}/tests/claims/two-claims/input.x12"))?;
//! let report = lane.run(&"claims".into(), &interchange, &mut outputs);
//! assert!(report.is_good() && !outputs[0].take().is_empty());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! Invariants:
//!
//! * A document is written whole or not at all; one that is refused goes to the rejects with its findings.
//! * Every record is written, rejected or skipped, and exactly one of these: the [`Tally`](quayline_core::Tally) adds up.
//! * The same bytes and settings give the same output for any number of lanes.
//! * Only [`SpoolFiles`] opens temporary files, and the caller provides it.

mod acknowledge;
mod apart;
mod block;
mod block_reader;
mod codes;
mod csv_header;
mod csv_table;
mod cut;
mod documents;
mod error;
mod expression;
mod lane;
mod lane_facts;
mod lanes;
mod lot;
mod misfit;
mod numbers;
mod output;
mod payload;
mod record_extent;
mod reject;
mod repeats;
mod revocable;
mod scheduler;
mod settle;
mod sink;
mod source;
mod source_head;
mod spool;
mod stray;
mod target;
mod text_place;
mod unit;
mod world;

pub use acknowledge::{Acknowledged, Acknowledging, NotAcknowledged};
pub use apart::Apart;
pub use block::{BLOCK_BYTES, Block, DocumentSpan, EdiPart, Position, Units};
pub use block_reader::{BlockReader, Cut, CutEnd, Cutter, SourceEnd};
pub use codes::UNKNOWN_TYPE;
pub use csv_header::{CsvHeader, read_csv_header};
pub use csv_table::CsvTable;
pub use documents::{DocumentPlace, Documents, DocumentsPlace, Next, Source as DocumentSource};
pub use error::{PipelineError, io_finding};
pub use expression::{Evaluated, ExpressionFault, Expressions, Gives, Written as WrittenExpression};
pub use lane::Lane;
pub use lane_facts::{LaneFacts, SourceFacts};
pub use lanes::{Ends, MapEnds, Paging};
pub use lot::{Attachment, CodeCounts, Excerpt, Lot, Page, keep_worst};
pub use numbers::{NumberKind, has_control_numbers, renumber};
pub use output::{LaneOutput, OutputStart};
pub use payload::{Columns, Payload};
/// Appends a text as a string of JSON.
pub use quayline_json::write_string as write_json_string;
pub use reject::RejectForm;
pub use repeats::Repeats;
pub use revocable::Revocable;
pub use scheduler::{Clock, OrderedSink, Scheduler};
pub use settle::{DraftOutput, Drafts, Unsettled, settle, settle_end};
pub use sink::map::TraceOut;
pub use source_head::{ColumnsHead, SourceHead};
pub use spool::{Spool, SpoolFile, SpoolFiles, SpoolFolder, SpoolMemory, SpoolReader, SpoolWriter};
pub use stray::StrayLineEnds;
pub use unit::{MapStep, OutputBuffer, OutputMark, Pipeline, UnitLane, UnitReport};
pub use world::{Function, FunctionSource, Lookup, OwnFunction, OwnType, UnitWorld, World};
