//! Converts between any two formats without a map: streaming, ordered, parallel, resumable.
//!
//! ```text
//! source ──cut──▶ block of whole records ──lane: decode ▶ sink──▶ lot of output, rejects, findings ──in order──▶ target
//! ```
//!
//! * A [`Conversion`] names source, target and settings; [`Conversion::run`] executes it and returns a [`Report`].
//! * Every record is written, rejected or skipped, and exactly one of these: the [`Tally`](quayline_core::Tally) of the report adds up.
//! * An output file is complete or it is named `.partial`. A target that is not a regular file is written directly, never replaced.
//! * The same source and settings give the same bytes for any number of lanes, and after a stop and a resume.

mod checkpoint_file;
mod codes;
mod columns;
mod compression;
mod conversion;
mod destination;
mod engine;
mod error;
mod interchange;
mod map_stage;
mod progress;
mod report;
mod sync;

pub use columns::ColumnsSurvey;
pub use compression::{Compression, WINDOW_BYTES_MAX};
pub use conversion::*;

pub use destination::{Destination, partial_path};
pub use engine::{NewFiles, definition_digest, replaced_by_documents, to_temporary_file, write_complete, write_whole};
pub use error::{ConvertError, Stopped};
pub use interchange::*;
pub use map_stage::MapStage;
pub use progress::{Advance, Progress};
pub use report::Report;
pub use sync::{SyncHook, SyncPoint};
