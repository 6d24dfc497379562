//! Parquet files: pages encoded beside the columns, row groups written in order.

use std::io::Write;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::error::ColumnError;
use crate::sink::ColumnSink;

/// How a Parquet file is written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParquetOptions {
    /// Compression of pages.
    pub codec: Codec,
    /// Encoded bytes of a row group, which are kept in memory until it is complete. Default 16 MiB: with the batches in work a conversion
    /// stays below 64 MiB.
    pub row_group_bytes_max: usize,
    /// Rows of a row group. Default 1,048,576, the bound that other writers keep.
    pub row_group_rows_max: usize,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        ParquetOptions { codec: Codec::Snappy, row_group_bytes_max: 16 << 20, row_group_rows_max: 1 << 20 }
    }
}

/// Compression of Parquet pages.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Codec {
    /// Snappy, which every reader has.
    #[default]
    Snappy,
    /// None.
    Uncompressed,
}

/// Turns the rows of a sink into pages; one for each thread.
#[derive(Clone, Debug)]
pub struct ParquetEncoder {}

/// The encoded rows of one batch, for [`ParquetWriter::write`].
#[derive(Debug)]
pub struct ParquetPages {
    batch: RecordBatch,
}

impl ParquetEncoder {
    /// The rows of `sink` as pages; the sink is empty afterwards.
    ///
    /// # Errors
    /// As [`ColumnSink::take_batch`].
    pub fn take_pages(&mut self, sink: &mut ColumnSink) -> Result<ParquetPages, ColumnError> {
        Ok(ParquetPages { batch: sink.take_batch()? })
    }
}

impl ParquetPages {
    /// Rows in these pages.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.batch.get_array_memory_size()
    }
}

/// Writes a Parquet file from pages, in the order given.
pub struct ParquetWriter<W: Write + Send> {
    inner: ArrowWriter<W>,
    options: ParquetOptions,
}

impl<W: Write + Send> core::fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ParquetWriter").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Starts a file for the documents of `sink` and its siblings.
    ///
    /// # Errors
    /// [`ColumnError::Output`].
    pub fn new(out: W, sink: &ColumnSink, options: &ParquetOptions) -> Result<Self, ColumnError> {
        let codec = match options.codec {
            Codec::Snappy => Compression::SNAPPY,
            Codec::Uncompressed => Compression::UNCOMPRESSED,
        };
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_max_row_group_row_count(Some(options.row_group_rows_max))
            .build();
        let inner = ArrowWriter::try_new(out, sink.schema(), Some(properties))?;
        Ok(ParquetWriter { inner, options: options.clone() })
    }

    /// An encoder for one thread.
    #[must_use]
    pub fn encoder(&self) -> ParquetEncoder {
        ParquetEncoder {}
    }

    /// Adds the next rows; a full row group is written out.
    ///
    /// # Errors
    /// [`ColumnError::Output`]; the output is then of no use.
    pub fn write(&mut self, pages: ParquetPages) -> Result<(), ColumnError> {
        self.inner.write(&pages.batch)?;
        if self.inner.in_progress_size() >= self.options.row_group_bytes_max {
            self.inner.flush()?;
        }
        Ok(())
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.inner.bytes_written() as u64
    }

    /// Writes the last row group and the footer; returns the output with its length in bytes. Without it the file has no footer and no
    /// reader takes it for complete.
    ///
    /// # Errors
    /// [`ColumnError::Output`].
    pub fn finish(mut self) -> Result<(W, u64), ColumnError> {
        self.inner.flush()?;
        let bytes = self.bytes_written();
        Ok((self.inner.into_inner()?, bytes))
    }
}

impl From<ParquetError> for ColumnError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(source) => match source.downcast::<std::io::Error>() {
                Ok(source) => ColumnError::Output(*source),
                Err(other) => ColumnError::library("parquet", &other),
            },
            other => ColumnError::library("parquet", &other),
        }
    }
}
