//! Types that every other crate uses: shapes, values, the sink seam, documents, places and findings.
//!
//! * A [`Shape`] is the format-neutral tree that a copybook, a guide or a schema compiles to; a [`NodeId`] names one node of it.
//! * A *source* (a record decoder, a JSON reader, a running map) drives a [`Sink`]: `enter`, `value`, `leave`, `open_list`,
//!   `close_list`. Values are borrowed, so no field causes an allocation, and only values that a sink keeps are copied.
//! * A [`Document`] is one decoded unit in memory. It is a sink, and it can replay its events into another sink.
//! * A [`Finding`] describes a problem: what it is, where it is, who can fix it, and how.
//!
//! This crate does no I/O and reads no clock.

mod checkpoint;
mod date_pattern;
pub mod digest;
mod document;
mod expectation;
mod field_name;
mod finding;
mod hex;
mod limits;
mod moment;
mod named;
pub mod near;
mod number;
mod position;
mod preserve;
mod shape;
mod sink;
mod source_limits;
mod spelling;
mod stored;
mod system_error;
mod value;

pub use checkpoint::{Checkpoint, CheckpointError, SourceDigest, Tally};
pub use date_pattern::DatePattern;
pub use document::Document;
pub use expectation::{plain_expectation, plain_reason, refused_range};
pub use field_name::FieldName;
pub use finding::{Code, DistinctFindings, Fault, Finding, Findings, Place, PlaceName, PlacePart, Severity};
pub use hex::{from_hex, hex, hex_number};
pub use limits::Limits;
pub use moment::Moment;
pub use named::{Choice, Named};
pub use number::{
    NoFloat, NumberScratch, RoundedLeaves, is_kept_by_float, is_rounded_float, nearest_float, read_bool, read_float32,
    read_float64, read_number, write_number,
};
pub use position::{ByteOffset, RecordNumber};
pub use preserve::{PRESERVE, PRESERVE_REMEDY};
pub use shape::{Node, NodeId, NodeKind, Occurs, Scalar, Shape, ShapeBuilder};
pub use sink::{Sink, Tee, TextPlace, TextRows};
pub use source_limits::{Bound, Breach, Definition, NodeLimits, SourceLimits, ValueLimits};
pub use spelling::nearest;
pub use stored::{Stored, StoredReader, store_bytes};
pub use system_error::system_error_text;
pub use value::{Decimal, Digits, Run, Value};
