//! Parquet files: pages are encoded in the worker threads, row groups are written in order.
//!
//! The parquet crate encodes the schema, the page headers and the footer entry of a row group; this module encodes the pages. The
//! Arrow writer of that crate reads every value several times (levels, dictionary, statistics, encoder) and took 700 ns for a record
//! of 14 fields on the machine of the measurement, more than the time of the whole conversion. Here a batch is one page in each column,
//! and a page is its column's buffer preceded by the levels. Numbers are copied unchanged; texts are dictionary keys already, and
//! numbers become keys if a sample has repetitions.
//!
//! # What is written
//! * Data pages of version 1, which every reader takes; encodings `PLAIN` and `RLE_DICTIONARY`, levels `RLE`.
//! * One dictionary a column chunk for text, bytes and numbers that repeat, as long as it stays below
//!   [`ParquetOptions::dictionary_bytes_max`]; later pages of that chunk are plain.
//! * Minimum, maximum and null count a chunk. There is no page index: it stays in memory until the footer is written and would grow
//!   with the file (3 MB a gigabyte of records of 14 fields), and row groups are small enough to skip whole. Floats have null
//!   counts only: NaN and the two zeros have no order that all readers share. Texts are cut to 64 bytes there.
//! * A footer that is kept compressed until the end, 7 KB for a row group of sixty columns instead of 60 KB.
//! * The Arrow schema as metadata, so that Arrow readers get the types of [`ColumnSink::schema`](crate::ColumnSink::schema) back.
//! * A page that Snappy would make less than an eighth smaller is a Snappy stream of literals: numbers that do not repeat hardly
//!   shrink, and looking for matches in them costs more than all other work on them.
//!
//! LZ4 and Zstandard are not offered: the latter is a C library, and the former saves little over Snappy on keys and numbers.

mod chunk;
mod compress;
mod footer;
mod hybrid;
mod levels;
mod pages;
mod range;
mod writer;

pub use pages::{ParquetEncoder, ParquetPages};
pub use writer::{ParquetMark, ParquetState, ParquetWriter};

/// Options for writing a Parquet file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParquetOptions {
    /// Compression of pages.
    pub codec: Codec,
    /// Encoded bytes of a row group, which are kept in memory until it is complete. Default 16 MiB: with the batches in work a conversion
    /// stays below 64 MiB.
    pub row_group_bytes_max: usize,
    /// Rows of a row group. Default 1,048,576, the bound that other writers keep.
    pub row_group_rows_max: usize,
    /// Bytes of distinct values in the dictionary of a column chunk. Default 1 MiB, the bound that other writers keep.
    pub dictionary_bytes_max: usize,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        ParquetOptions {
            codec: Codec::Snappy,
            row_group_bytes_max: 16 << 20,
            row_group_rows_max: 1 << 20,
            dictionary_bytes_max: 1 << 20,
        }
    }
}

/// Compression of Parquet pages.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Codec {
    /// Snappy, which every reader has.
    #[default]
    Snappy,
    /// No compression.
    Uncompressed,
}
