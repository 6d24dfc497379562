//! Arrow IPC: the file format (Feather 2) and the stream format.

use std::io::{Read, Write};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::SchemaRef;

use crate::counted::Counted;
use crate::error::ColumnError;
use crate::sink::ColumnSink;

/// The two Arrow IPC formats.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Framing {
    /// The file format: a stream with magic bytes and a footer of block offsets, so readers can seek.
    #[default]
    File,
    /// Messages one after another, for pipes.
    Stream,
}

/// Writes batches as an Arrow IPC file or stream, uncompressed.
///
/// Each batch is written when it is handed over, so memory is that of one batch. A file that was not finished has no footer, a stream no
/// end-of-stream mark.
pub struct ArrowIpcWriter<W: Write> {
    inner: Inner<Counted<W>>,
    schema: SchemaRef,
}

enum Inner<W: Write> {
    File(Box<FileWriter<W>>),
    Stream(Box<StreamWriter<W>>),
}

impl<W: Write> ArrowIpcWriter<W> {
    /// Starts a file or stream with the schema of `sink`.
    ///
    /// # Errors
    /// [`ColumnError::Output`].
    pub fn new(out: W, sink: &ColumnSink, framing: Framing) -> Result<Self, ColumnError> {
        ArrowIpcWriter::of(out, sink.schema(), framing)
    }

    fn of(out: W, schema: SchemaRef, framing: Framing) -> Result<Self, ColumnError> {
        let out = Counted::new(out);
        let inner = match framing {
            Framing::File => Inner::File(Box::new(FileWriter::try_new(out, &schema)?)),
            Framing::Stream => Inner::Stream(Box::new(StreamWriter::try_new(out, &schema)?)),
        };
        Ok(ArrowIpcWriter { inner, schema })
    }

    /// Creates a separate stream of the same schema for batches that may not be written yet. [`ArrowIpcWriter::append`] adds them later.
    ///
    /// # Errors
    /// [`ColumnError::Output`].
    pub fn beside<V: Write>(&self, out: V) -> Result<ArrowIpcWriter<V>, ColumnError> {
        ArrowIpcWriter::of(out, SchemaRef::clone(&self.schema), Framing::Stream)
    }

    /// Appends the batches of a stream that [`ArrowIpcWriter::beside`] wrote. Only one batch is in memory at a time.
    ///
    /// # Errors
    /// [`ColumnError::Output`], and [`ColumnError::Library`] if the input is not such a stream. The output is then unusable.
    pub fn append(&mut self, stream: impl Read) -> Result<(), ColumnError> {
        for batch in StreamReader::try_new(stream, None)? {
            self.write(&batch?)?;
        }
        Ok(())
    }

    /// Writes a batch; a batch without rows is left out.
    ///
    /// # Errors
    /// [`ColumnError::Output`]; the output is then of no use.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ColumnError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        match &mut self.inner {
            Inner::File(writer) => writer.write(batch)?,
            Inner::Stream(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        match &self.inner {
            Inner::File(writer) => writer.get_ref().bytes(),
            Inner::Stream(writer) => writer.get_ref().bytes(),
        }
    }

    /// Writes the end and returns the output with its length in bytes.
    ///
    /// # Errors
    /// [`ColumnError::Output`].
    pub fn finish(self) -> Result<(W, u64), ColumnError> {
        let mut counted = match self.inner {
            Inner::File(mut writer) => {
                writer.finish()?;
                writer.into_inner()?
            }
            Inner::Stream(mut writer) => {
                writer.finish()?;
                writer.into_inner()?
            }
        };
        counted.flush().map_err(ColumnError::Output)?;
        Ok(counted.take())
    }
}

impl<W: Write> core::fmt::Debug for ArrowIpcWriter<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ArrowIpcWriter").field("bytes_written", &self.bytes_written()).finish_non_exhaustive()
    }
}
