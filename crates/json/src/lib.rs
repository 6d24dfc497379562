//! JSON: a sink that writes and a source that reads.
//!
//! * [`JsonWriter`] is a [`quayline_core::Sink`]: it writes documents as JSON text into a buffer that its caller drains.
//! * [`JsonReader`] is a source: it reads one document and drives a sink by the shape.
//! * [`JsonSplitter`] finds the documents in a stream, in an array or one after another.
//!
//! This crate does no I/O, holds no thread and reads no clock. Grammar: RFC 8259.

mod fault;
mod keys;
mod members;
mod number;
mod reader;
mod splitter;
mod style;
mod text;
mod token;
mod writer;

pub use fault::{JsonError, JsonFault, JsonProblem};
pub use reader::{JsonReader, ReaderOptions, Unknown};
pub use splitter::{EndOfInput, JsonSplitter, Split, SplitFault};
pub use style::{JsonStyle, Numbers, Spacing, Stream};
pub use text::write_string;
pub use writer::JsonWriter;
