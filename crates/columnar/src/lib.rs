//! Arrow columns from record events, their way into Parquet files and Arrow IPC, and back.
//!
//! A [`ColumnSink`] is a [`quayline_core::Sink`] over one shape: each leaf has a buffer of plain values, each list its offsets.
//! When a batch is full, the columns leave as a [`RecordBatch`] ([`ColumnSink::take_batch`]) for an [`ArrowIpcWriter`], or as
//! encoded pages ([`ParquetEncoder::take_pages`]) for a [`ParquetWriter`]. Sinks and encoders may work in several threads; one
//! thread writes their output, in order.
//!
//! # Types
//! | shape | Arrow | Parquet |
//! |---|---|---|
//! | group that occurs once | non-null `Struct` (its members alone with [`Nesting::Flat`]) | required group |
//! | optional group | nullable `Struct` | optional group |
//! | list | nullable `List` whose field is named `element`: absent is null, empty is empty | `LIST`, three levels |
//! | list element | a group is not null, a leaf is nullable | `element` |
//! | text | `Utf8` | `STRING` |
//! | decimal, scale 0 or less, to 9 / 18 digits | `Int32` / `Int64` | `INT32` / `INT64` |
//! | other decimals, to 38 / 76 digits | `Decimal128` / `Decimal256` | `DECIMAL` on `INT32` (to 9), `INT64` (to 18), fixed bytes |
//! | float 32, 64 | `Float32`, `Float64` | `FLOAT`, `DOUBLE` |
//! | truth value | `Boolean` | `BOOLEAN` |
//! | bytes | `Binary` | `BYTE_ARRAY` |
//!
//! Leaves are always nullable: a blank field is null by policy. A decimal with a negative scale (`9(3)PPP`) becomes an integer with
//! the zeros written out, since Parquet has no negative scale; one with more decimals than digits (`VPP9(3)`) has as many digits as
//! decimals. Integer columns accept any value of their bits. Groups without a leaf have no column.
//!
//! # What a column refuses
//! A value beyond the column's digits or bits, with non-zero digits beyond its scale, or of another type refuses its whole
//! document. The rows are removed and [`ColumnSink::take_refusal`] returns the reason. Nothing is rounded.
//!
//! # Example
//! ```
//! use quayline_columnar::{ColumnOptions, ColumnSink, ParquetOptions, ParquetWriter};
//! use quayline_core::{NodeId, Occurs, Scalar, Shape, Sink, Value};
//!
//! let mut shape = Shape::builder("CUSTOMER");
//! let id = shape.scalar("ID", Scalar::Decimal { digits: 5, scale: 0, signed: false }, Occurs::Once);
//! let mut sink = ColumnSink::new(&shape.finish(), &ColumnOptions::default())?;
//! let mut writer = ParquetWriter::new(Vec::new(), &sink, &ParquetOptions::default())?;
//! let mut encoder = writer.encoder();
//! for n in 0..3 {
//!     sink.enter(NodeId::ROOT);
//!     sink.value(id, Value::Int(n, 0));
//!     sink.leave(NodeId::ROOT);
//!     assert!(sink.take_refusal().is_none());
//!     if sink.is_full() {
//!         writer.write(encoder.take_pages(&mut sink)?)?;
//!     }
//! }
//! writer.write(encoder.take_pages(&mut sink)?)?;
//! let (file, bytes) = writer.finish()?;
//! assert!(file.ends_with(b"PAR1") && bytes == file.len() as u64);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Reading
//! A [`ColumnReader`] returns the rows of a Parquet or Arrow IPC file in batches, and a [`RowSource`] drives a sink with them. The
//! table of the module `read` lists the result for each type.
//!
//! This crate opens no file; writers take any [`std::io::Write`], the reader takes a file that is open, or bytes.

mod batch;
mod bytes_column;
mod counted;
mod dictionary;
mod error;
mod ipc;
mod leaf;
mod number;
mod parquet;
mod plan;
mod read;
mod sink;
mod validity;

pub use arrow_array::RecordBatch;
pub use error::{ColumnError, Refusal};
pub use ipc::{ArrowIpcWriter, Framing};
pub use parquet::{Codec, ParquetEncoder, ParquetMark, ParquetOptions, ParquetPages, ParquetState, ParquetWriter};
pub use plan::{ColumnOptions, Nesting, TextStore};
pub use read::{
    BATCH_BYTES, BATCH_ROWS_MAX, ColumnForm, ColumnInput, ColumnReadError, ColumnReader, RowFault, RowSource, Rows,
    UnknownColumn, is_reading_guarded, shape_of,
};
pub use sink::ColumnSink;
