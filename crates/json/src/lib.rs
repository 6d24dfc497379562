//! JSON: a sink that writes and a source that reads.
//!
//! * [`JsonWriter`] is a [`quayline_core::Sink`]: it writes documents as JSON text into a buffer that its caller drains.
//! * [`JsonReader`] is a source: it reads one document and drives a sink by the shape.
//! * [`JsonSplitter`] finds the documents in a stream, in an array or one after another.
//!
//! ```
//! use quayline_core::{Occurs, Scalar, Shape};
//! use quayline_json::{JsonReader, JsonStyle, JsonWriter, ReaderOptions};
//!
//! let mut shape = Shape::builder("PERSON");
//! shape.scalar("ID", Scalar::Decimal { digits: 4, scale: 0, signed: false }, Occurs::Once);
//! shape.scalar("NAME", Scalar::Text { chars_max: Some(6) }, Occurs::Once);
//! let shape = shape.finish();
//!
//! // The reader drives any sink; here the writer of another style.
//! let mut writer = JsonWriter::new(&shape, JsonStyle::default());
//! JsonReader::new(&shape, ReaderOptions::default()).read(br#"{ "NAME": "ADA", "ID": 42 }"#, &mut writer)?;
//! assert_eq!(writer.bytes(), b"{\"NAME\":\"ADA\",\"ID\":42}\n");
//! # Ok::<(), quayline_json::JsonFault>(())
//! ```
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
