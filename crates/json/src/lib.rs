//! JSON: a sink that writes and a source that reads.
//!
//! * [`JsonWriter`] is a [`quayline_core::Sink`]: it writes documents as JSON text into a buffer that its caller drains.
//!
//! This crate does no I/O, holds no thread and reads no clock. Grammar: RFC 8259.

mod keys;
mod number;
mod scan;
mod style;
mod text;
mod writer;

pub use style::{JsonStyle, Numbers, Spacing, Stream};
pub use writer::JsonWriter;
