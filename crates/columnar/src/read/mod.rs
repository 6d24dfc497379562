//! Parquet and Arrow IPC as a source: batches of rows, and rows as events of a shape.
//!
//! ```text
//! file ──▶ ColumnReader ──▶ RecordBatch of at most BATCH_ROWS_MAX rows ──▶ RowSource::send(row) ──▶ Sink
//!             schema ──▶ shape_of ─▶ Shape (or the shape of a copybook) ──▶ RowSource::new: columns bound to nodes by name
//! ```
//!
//! # What a column becomes
//! | Arrow | shape made by [`shape_of`] | value |
//! |---|---|---|
//! | struct | group, optional where nullable | `enter`, members, `leave`; a null optional group sends nothing |
//! | list, large list, list of fixed size | list | null sends nothing; empty is an empty list |
//! | map | list of groups with the members of its entries | the same |
//! | list in a list | list of groups with one member `element` | the same |
//! | integers, decimals of 32 to 256 bits | decimal | `Int`, `Decimal`; `Digits` beyond 38 digits |
//! | floats of 16, 32 and 64 bits | float | `Float32`, `Float64` |
//! | texts | text | `Text` |
//! | binary, of fixed size too | bytes | `Bytes` |
//! | date | text | `2026-11-22` |
//! | timestamp | text | `2026-11-22T10:15:30.123456`, as many decimals as the column's unit has; with a time zone the instant, and `Z` |
//! | time | text | `10:15:30.123` |
//! | dictionary | as its values | as its values |
//! | interval, duration, union, run ends, view of a list | none: `COL-034` | |
//!
//! A null in place of a struct in a list is refused with its row (`COL-041`), and so is a float that is an infinity or NaN, unless
//! the sink takes it (`COL-042`). A null leaf is [`Value::Null`](quayline_core::Value::Null), or absent if the shape allows that:
//! Parquet has one form for both. A document's values come in the order of the shape, whatever the order of the columns.
//!
//! # Bounds
//! A [`ColumnReader`] holds one page of each column and one batch. By the footer's sizes, a batch has as many rows as fit
//! [`BATCH_BYTES`], at most [`BATCH_ROWS_MAX`]. Batches of an Arrow IPC file are as large as their writer made them, and one of
//! them is in memory.

mod bind;
mod column;
mod error;
mod input;
mod int96;
mod shape;
mod time;
mod walk;

pub use error::ColumnReadError;
pub use input::{ColumnForm, ColumnInput, ColumnReader, is_reading_guarded};
pub use shape::shape_of;
pub use walk::{RowFault, RowSource, Rows, UnknownColumn};

/// Most rows of a batch that is read. Default of the readers that people compare with; more rows save nothing.
pub const BATCH_ROWS_MAX: usize = 8192;

/// Approximate bytes of a batch that is read: those of a block of the other sources.
pub const BATCH_BYTES: u64 = 1 << 20;
