//! The output: a file or stream, and what turns lots into its bytes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use quayline_columnar::{ArrowIpcWriter, ColumnError, ParquetWriter};
use quayline_edi::EdiWriter;

use crate::engine::lot::{Columns, Payload};
use crate::engine::partial::PartialFile;
use crate::engine::split::SplitFolder;
use crate::error::ConvertError;

/// Where bytes go.
pub(crate) enum OutFile {
    File(PartialFile),
    Stream { stream: Box<dyn Write + Send>, bytes: u64 },
    Folder(SplitFolder),
}

impl OutFile {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            OutFile::File(file) => file.len(),
            OutFile::Stream { bytes, .. } => *bytes,
            OutFile::Folder(folder) => folder.bytes,
        }
    }

    fn name(&self) -> PathBuf {
        match self {
            OutFile::File(file) => file.partial().to_owned(),
            OutFile::Stream { .. } => Path::new("<output>").to_owned(),
            OutFile::Folder(folder) => folder.folder.clone(),
        }
    }

    /// Whether bytes go out as they are written.
    fn is_stream(&self) -> bool {
        match self {
            OutFile::File(file) => file.is_stream(),
            OutFile::Stream { .. } => true,
            OutFile::Folder(_) => false,
        }
    }

    fn error(&self, error: io::Error) -> ConvertError {
        match error.kind() {
            io::ErrorKind::BrokenPipe if self.is_stream() => ConvertError::ClosedPipe,
            _ => ConvertError::io("write", self.name())(error),
        }
    }
}

impl Write for OutFile {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            OutFile::File(file) => file.write(from),
            OutFile::Stream { stream, bytes } => {
                let n = stream.write(from)?;
                *bytes += n as u64;
                Ok(n)
            }
            // Documents go to files of their own.
            OutFile::Folder(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            OutFile::File(file) => file.flush(),
            OutFile::Stream { stream, .. } => stream.flush(),
            OutFile::Folder(folder) => folder.finish(),
        }
    }
}

/// Turns lots into the bytes of a file or stream.
pub(crate) enum OutputWriter {
    Text(TextOutput),
    Parquet(Box<ColumnOutput<ParquetWriter<OutFile>>>),
    Arrow(ColumnOutput<ArrowIpcWriter<OutFile>>),
    Edi(Box<EdiOutput>),
}

/// Interchanges: what is open is known here only.
pub(crate) struct EdiOutput {
    text: TextOutput,
    pub(crate) writer: EdiWriter,
    /// The writer's state behind the last lot that was written.
    state: Vec<u8>,
}

impl EdiOutput {
    pub(crate) fn new(text: TextOutput, writer: EdiWriter) -> Self {
        EdiOutput { text, state: writer.state(), writer }
    }

    /// Whether each document goes to a file of its own.
    pub(crate) fn is_split(&self) -> bool {
        matches!(self.text.out, OutFile::Folder(_))
    }
}

/// Bytes of lots one after another, between a beginning and an end.
pub(crate) struct TextOutput {
    pub(crate) out: OutFile,
    /// What stands behind the last lot.
    pub(crate) epilogue: Vec<u8>,
    /// Bytes of the first output that are left out: a separator that separates it from nothing.
    pub(crate) drop_first: usize,
}

/// Columns on their way out; the file comes back when the writer has written its end.
pub(crate) struct ColumnOutput<W> {
    pub(crate) writer: Option<W>,
    pub(crate) name: PathBuf,
    pub(crate) stream: bool,
    pub(crate) finished: Option<OutFile>,
}

impl TextOutput {
    /// Starts with `prologue`, unless the file goes on.
    pub(crate) fn start(
        mut out: OutFile,
        prologue: &[u8],
        mut epilogue: Vec<u8>,
        drop_first: usize,
    ) -> Result<Self, ConvertError> {
        if let OutFile::Folder(folder) = &mut out {
            folder.prologue = prologue.to_vec();
            folder.epilogue = core::mem::take(&mut epilogue);
            return Ok(TextOutput { out, epilogue, drop_first: 0 });
        }
        let mut output = TextOutput { out, epilogue, drop_first };
        if output.out.bytes() == 0 {
            output.put(prologue)?;
        }
        Ok(output)
    }

    /// The output of a lot.
    fn put_lot(&mut self, payload: &mut Payload, mut from: usize) -> Result<(), ConvertError> {
        if let OutFile::Folder(folder) = &mut self.out {
            return folder.write(payload);
        }
        if let Some(mut front) = payload.front.take() {
            let out = &mut self.out;
            let done = front.read(from as u64, |part| out.write_all(part));
            done.map_err(|error| self.out.error(error))?;
            from = 0;
        }
        self.put(&payload.bytes[from..payload.len])
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), ConvertError> {
        self.out.write_all(bytes).map_err(|error| self.out.error(error))
    }
}

impl<W> ColumnOutput<W> {
    pub(crate) fn start(
        out: OutFile,
        make: impl FnOnce(OutFile) -> Result<W, ColumnError>,
    ) -> Result<Self, ConvertError> {
        let (name, stream) = (out.name(), out.is_stream());
        let writer = make(out).map_err(|error| column_error(error, &name, stream))?;
        Ok(ColumnOutput { writer: Some(writer), name, stream, finished: None })
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut W) -> Result<T, ColumnError>) -> Result<T, ConvertError> {
        let writer = self.writer.as_mut().expect("nothing is written behind the end of the output");
        work(writer).map_err(|error| column_error(error, &self.name, self.stream))
    }

    fn end(&mut self, work: impl FnOnce(W) -> Result<(OutFile, u64), ColumnError>) -> Result<(), ConvertError> {
        let writer = self.writer.take().expect("an output ends once");
        let (mut file, _) = work(writer).map_err(|error| column_error(error, &self.name, self.stream))?;
        file.flush().map_err(|error| file.error(error))?;
        self.finished = Some(file);
        Ok(())
    }
}

fn column_error(error: ColumnError, name: &Path, stream: bool) -> ConvertError {
    match error {
        ColumnError::Output(error) if stream && error.kind() == io::ErrorKind::BrokenPipe => ConvertError::ClosedPipe,
        ColumnError::Output(error) => ConvertError::io("write", name)(error),
        other => other.finding().into(),
    }
}

impl OutputWriter {
    /// Bytes of the output so far.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            OutputWriter::Text(text) => text.out.bytes(),
            OutputWriter::Edi(output) => output.text.out.bytes(),
            OutputWriter::Parquet(columns) => columns
                .finished
                .as_ref()
                .map_or_else(|| columns.writer.as_ref().map_or(0, ParquetWriter::bytes_written), OutFile::bytes),
            OutputWriter::Arrow(columns) => columns
                .finished
                .as_ref()
                .map_or_else(|| columns.writer.as_ref().map_or(0, ArrowIpcWriter::bytes_written), OutFile::bytes),
        }
    }

    /// The file, if the output is one whose bytes are all in it.
    pub(crate) fn file(&self) -> Option<&PartialFile> {
        let out = match self {
            OutputWriter::Text(text) => Some(&text.out),
            OutputWriter::Edi(output) => Some(&output.text.out),
            OutputWriter::Parquet(columns) => columns.finished.as_ref(),
            OutputWriter::Arrow(columns) => columns.finished.as_ref(),
        };
        match out {
            Some(OutFile::File(file)) if !file.is_stream() => Some(file),
            Some(_) | None => None,
        }
    }

    /// The name that the output has while it is not complete, if it is a file.
    pub(crate) fn partial(&self) -> Option<PathBuf> {
        let (stream, name) = match self {
            OutputWriter::Text(text) => (text.out.is_stream(), text.out.name()),
            OutputWriter::Edi(output) => (output.text.out.is_stream(), output.text.out.name()),
            OutputWriter::Parquet(columns) => (columns.stream, columns.name.clone()),
            OutputWriter::Arrow(columns) => (columns.stream, columns.name.clone()),
        };
        (!stream).then_some(name)
    }

    /// Writes the output of one lot.
    pub(crate) fn write(&mut self, payload: &mut Payload) -> Result<(), ConvertError> {
        match self {
            OutputWriter::Text(text) => {
                if payload.len == 0 && payload.front.is_none() {
                    return Ok(());
                }
                let drop = core::mem::take(&mut text.drop_first);
                text.put_lot(payload, drop)
            }
            OutputWriter::Edi(output) => {
                output.text.put_lot(payload, 0)?;
                output.state = output.writer.state();
                Ok(())
            }
            OutputWriter::Parquet(_) | OutputWriter::Arrow(_) => {
                payload.columns.drain(..).try_for_each(|columns| self.write_columns(columns))
            }
        }
    }

    fn write_columns(&mut self, columns: Columns) -> Result<(), ConvertError> {
        match (self, columns) {
            (OutputWriter::Parquet(output), Columns::Pages(pages)) => output.with(|writer| writer.write(pages)),
            (OutputWriter::Arrow(output), Columns::Batch(batch)) => output.with(|writer| writer.write(&batch)),
            _ => unreachable!("lanes make the columns of their output"),
        }
    }

    /// Writes the end of the output.
    pub(crate) fn finish(&mut self) -> Result<(), ConvertError> {
        match self {
            OutputWriter::Text(text) => {
                let epilogue = core::mem::take(&mut text.epilogue);
                text.put(&epilogue)?;
                text.out.flush().map_err(|error| text.out.error(error))
            }
            OutputWriter::Parquet(columns) => columns.end(ParquetWriter::finish),
            OutputWriter::Arrow(columns) => columns.end(ArrowIpcWriter::finish),
            OutputWriter::Edi(output) => {
                output.writer.finish();
                output.text.put(output.writer.bytes())?;
                output.writer.clear();
                let out = &mut output.text.out;
                out.flush().map_err(|error| out.error(error))
            }
        }
    }

    /// What is open behind the last lot that was written, for a checkpoint.
    pub(crate) fn state(&self) -> &[u8] {
        match self {
            OutputWriter::Edi(output) => &output.state,
            OutputWriter::Text(_) | OutputWriter::Parquet(_) | OutputWriter::Arrow(_) => &[],
        }
    }
}
