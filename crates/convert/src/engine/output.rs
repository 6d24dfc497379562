//! The output: a file or stream, and the writers that turn lots into its bytes.

use core::ops::Range;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use quayline_columnar::{ArrowIpcWriter, ColumnError, ParquetEncoder, ParquetWriter};
use quayline_edi::EdiWriter;
use quayline_pipeline::{Columns, DraftOutput, Drafts, OutputStart, Payload, Spool, SpoolFolder, SpoolWriter};

use crate::checkpoint_file::bad_state;
use crate::compression::Compressor;
use crate::engine::partial::PartialFile;
use crate::engine::split::SplitFolder;
use crate::error::ConvertError;

/// Destination of an output's bytes.
pub(crate) enum OutFile {
    File(PartialFile),
    Stream {
        stream: Box<dyn Write + Send>,
        bytes: u64,
    },
    Folder(SplitFolder),
    /// Output that is compressed and then written to `to`; `bytes` counts the uncompressed bytes.
    Compressed {
        to: Box<Compressor<OutFile>>,
        bytes: u64,
    },
    /// A stream, in which nothing can be undone, with the bytes that must wait.
    Held {
        stream: Box<OutFile>,
        held: SpoolWriter,
    },
}

impl OutFile {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            OutFile::File(file) => file.len(),
            OutFile::Stream { bytes, .. } => *bytes,
            OutFile::Folder(folder) => folder.bytes,
            OutFile::Compressed { bytes, .. } => *bytes,
            OutFile::Held { stream, held } => stream.bytes() + held.spool.len(),
        }
    }

    /// Returns the name of a file while it is incomplete.
    pub(crate) fn partial(&self) -> Option<PathBuf> {
        match self {
            OutFile::File(file) if !file.is_stream() => Some(file.partial().to_owned()),
            OutFile::Compressed { to, .. } => to.inner().partial(),
            _ => None,
        }
    }

    fn name(&self) -> PathBuf {
        match self {
            OutFile::File(file) => file.partial().to_owned(),
            OutFile::Stream { .. } => Path::new("<output>").to_owned(),
            OutFile::Folder(folder) => folder.folder.clone(),
            OutFile::Compressed { to, .. } => to.inner().name(),
            OutFile::Held { stream, .. } => stream.name(),
        }
    }

    /// Returns true if written bytes cannot be truncated.
    fn is_stream(&self) -> bool {
        match self {
            OutFile::File(file) => file.is_stream(),
            // Nothing can be cut off what is compressed.
            OutFile::Stream { .. } | OutFile::Held { .. } | OutFile::Compressed { .. } => true,
            OutFile::Folder(_) => false,
        }
    }

    /// Starts output that may be undone.
    pub(crate) fn hold(&mut self, folder: &SpoolFolder) {
        match self {
            OutFile::Folder(split) => split.hold(),
            _ if self.is_stream() => {
                let stream = Box::new(core::mem::replace(self, OutFile::nowhere()));
                *self = OutFile::Held {
                    stream,
                    held: SpoolWriter { spool: Spool::default(), folder: SpoolFolder::clone(folder) },
                };
            }
            // A file is cut.
            _ => {}
        }
    }

    /// Keeps the output since [`OutFile::hold`].
    pub(crate) fn release(&mut self) -> io::Result<()> {
        match core::mem::replace(self, OutFile::nowhere()) {
            OutFile::Held { stream, mut held } => {
                *self = *stream;
                held.spool.read(0, |part| self.write_all(part))
            }
            mut out => {
                let done = if let OutFile::Folder(split) = &mut out { split.release() } else { Ok(()) };
                *self = out;
                done
            }
        }
    }

    /// Undoes the output since [`OutFile::hold`], when the output had `bytes`.
    pub(crate) fn back_to(&mut self, bytes: u64) -> io::Result<()> {
        match core::mem::replace(self, OutFile::nowhere()) {
            OutFile::Held { stream, .. } => {
                *self = *stream;
                Ok(())
            }
            mut out => {
                let done = match &mut out {
                    OutFile::Folder(split) => split.back(),
                    OutFile::File(file) => file.cut(bytes),
                    OutFile::Stream { .. } | OutFile::Held { .. } | OutFile::Compressed { .. } => Ok(()),
                };
                *self = out;
                done
            }
        }
    }

    /// Ends the compressed data. Called only at the end of the output.
    fn end_compression(&mut self) -> io::Result<()> {
        match core::mem::replace(self, OutFile::nowhere()) {
            OutFile::Compressed { to, .. } => *self = to.finish()?,
            out => *self = out,
        }
        self.flush()
    }

    fn nowhere() -> OutFile {
        OutFile::Stream { stream: Box::new(io::sink()), bytes: 0 }
    }

    pub(crate) fn error(&self, error: io::Error) -> ConvertError {
        match error.kind() {
            io::ErrorKind::BrokenPipe if self.is_stream() => ConvertError::ClosedPipe,
            _ => ConvertError::io("write", self.name())(error),
        }
    }
}

/// A flush is the end of an output.
impl Write for OutFile {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            OutFile::File(file) => file.write(from),
            OutFile::Stream { stream, bytes } => {
                let n = stream.write(from)?;
                *bytes += n as u64;
                Ok(n)
            }
            OutFile::Compressed { to, bytes } => {
                let n = to.write(from)?;
                *bytes += n as u64;
                Ok(n)
            }
            OutFile::Held { held, .. } => held.write(from),
            // Documents go to files of their own.
            OutFile::Folder(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            OutFile::File(file) => file.flush(),
            OutFile::Stream { stream, .. } => stream.flush(),
            OutFile::Folder(folder) => folder.finish(),
            OutFile::Compressed { .. } => self.end_compression(),
            OutFile::Held { stream, .. } => stream.flush(),
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

/// Output of interchanges. Its writer knows the open interchange and group.
pub(crate) struct EdiOutput {
    text: TextOutput,
    pub(crate) writer: EdiWriter,
    /// Name of the output in the map, if the map has several.
    pub(crate) name: Option<String>,
    /// State of the writer after the last lot that was written.
    state: Vec<u8>,
}

impl EdiOutput {
    pub(crate) fn new(text: TextOutput, writer: EdiWriter) -> Self {
        EdiOutput { text, state: writer.state(), writer, name: None }
    }

    /// Writes a part of the output of a lot.
    pub(crate) fn put_part(&mut self, payload: &mut Payload, part: Range<usize>) -> Result<(), ConvertError> {
        self.state = self.writer.state();
        self.text.put_part(payload, part)
    }

    pub(crate) fn text(&mut self) -> &mut TextOutput {
        &mut self.text
    }

    /// Returns true if each document goes to a separate file.
    pub(crate) fn is_split(&self) -> bool {
        matches!(self.text.out, OutFile::Folder(_))
    }
}

/// Bytes of lots one after another, between a beginning and an end.
pub(crate) struct TextOutput {
    pub(crate) out: OutFile,
    /// Bytes to write after the last lot.
    pub(crate) epilogue: Vec<u8>,
    /// Bytes of the first output that are left out: a separator that separates it from nothing.
    pub(crate) drop_first: usize,
    /// The key of the last document, where documents of several rows have keys. It is never empty.
    key: Option<Vec<u8>>,
}

/// Column output. `finished` receives the file after the writer has written its footer.
pub(crate) struct ColumnOutput<W> {
    pub(crate) writer: Option<W>,
    pub(crate) name: PathBuf,
    pub(crate) stream: bool,
    pub(crate) finished: Option<OutFile>,
}

impl TextOutput {
    /// Starts with `prologue`, unless the file is resumed. The first `separator` bytes of the first document are left out. `state` is that of a
    /// resumed output.
    pub(crate) fn start(
        mut out: OutFile,
        prologue: &[u8],
        mut epilogue: Vec<u8>,
        separator: usize,
        state: &[u8],
    ) -> Result<Self, ConvertError> {
        if let OutFile::Folder(folder) = &mut out {
            folder.prologue = prologue.to_vec();
            folder.epilogue = core::mem::take(&mut epilogue);
            return Ok(TextOutput { out, epilogue, drop_first: 0, key: None });
        }
        let drop_first = if out.bytes() > prologue.len() as u64 { 0 } else { separator };
        let key = (!state.is_empty()).then(|| state.to_vec());
        let mut output = TextOutput { out, epilogue, drop_first, key };
        if output.out.bytes() == 0 {
            output.put(prologue)?;
        }
        Ok(output)
    }

    /// Writes the output of a lot.
    fn put_lot(&mut self, payload: &mut Payload, mut from: usize) -> Result<(), ConvertError> {
        if let OutFile::Folder(folder) = &mut self.out {
            let all = 0..payload.cuts.len();
            return folder.write(payload, all);
        }
        if core::mem::take(&mut payload.keys_unknown) {
            self.key = None;
        }
        if let Some(keys) = payload.keys.take() {
            keys.follow(&mut self.key).map_err(|fault| fault.finding())?;
        }
        if let Some(mut front) = payload.front.take() {
            let out = &mut self.out;
            let done = front.read(from as u64, |part| out.write_all(part));
            done.map_err(|error| self.out.error(error))?;
            from = 0;
        }
        self.put(&payload.bytes[from..payload.len])
    }

    /// Writes a part of the output of a lot that did not have to wait.
    pub(crate) fn put_part(&mut self, payload: &mut Payload, part: Range<usize>) -> Result<(), ConvertError> {
        if part.is_empty() {
            return Ok(());
        }
        if let OutFile::Folder(folder) = &mut self.out {
            return folder.write(payload, part);
        }
        // Which documents the part has is not known.
        self.key = None;
        let drop = core::mem::take(&mut self.drop_first);
        self.put(&payload.bytes[part.start + drop..part.end])
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

    pub(crate) fn with<T>(&mut self, work: impl FnOnce(&mut W) -> Result<T, ColumnError>) -> Result<T, ConvertError> {
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
    /// Starts an output, or resumes one that has this state after its last lot.
    pub(crate) fn start(start: OutputStart, out: OutFile, state: &[u8]) -> Result<OutputWriter, ConvertError> {
        Ok(match start {
            OutputStart::Text { prologue, epilogue, separator } => {
                OutputWriter::Text(TextOutput::start(out, &prologue, epilogue, separator, state)?)
            }
            OutputStart::Edi(options) => {
                let text = TextOutput::start(out, &[], Vec::new(), 0, &[])?;
                let writer =
                    if state.is_empty() { Some(EdiWriter::new(*options)) } else { EdiWriter::resume(*options, state) };
                OutputWriter::Edi(Box::new(EdiOutput::new(text, writer.ok_or_else(bad_state)?)))
            }
            OutputStart::Parquet { sink, options } => {
                let output = ColumnOutput::start(out, |out| ParquetWriter::new(out, &sink, &options))?;
                OutputWriter::Parquet(Box::new(output))
            }
            OutputStart::Arrow { sink, framing } => {
                OutputWriter::Arrow(ColumnOutput::start(out, |out| ArrowIpcWriter::new(out, &sink, framing))?)
            }
        })
    }

    /// Returns an encoder of the pages of a Parquet file.
    pub(crate) fn encoder(&self) -> Option<ParquetEncoder> {
        match self {
            OutputWriter::Parquet(output) => output.writer.as_ref().map(ParquetWriter::encoder),
            OutputWriter::Text(_) | OutputWriter::Arrow(_) | OutputWriter::Edi(_) => None,
        }
    }

    /// Bytes of the next document that are not written.
    pub(crate) fn drop_first(&self) -> u64 {
        match self {
            OutputWriter::Text(output) => output.drop_first as u64,
            OutputWriter::Parquet(_) | OutputWriter::Arrow(_) | OutputWriter::Edi(_) => 0,
        }
    }

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

    /// Returns the file, if the output has all of its bytes in it.
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

    /// Returns the name of the output while it is incomplete, if it is a file.
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

    pub(crate) fn write_columns(&mut self, columns: Columns) -> Result<(), ConvertError> {
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

    /// Returns the state of the writer after the last lot that was written, for a checkpoint: the key of the last document for text.
    pub(crate) fn state(&self) -> &[u8] {
        match self {
            OutputWriter::Edi(output) => &output.state,
            OutputWriter::Text(output) => output.key.as_deref().unwrap_or_default(),
            OutputWriter::Parquet(_) | OutputWriter::Arrow(_) => &[],
        }
    }
}

impl DraftOutput for OutputWriter {
    fn drafts(&mut self) -> Option<Drafts<'_>> {
        match self {
            OutputWriter::Edi(output) => {
                let is_split = output.is_split();
                Some(Drafts { writer: &mut output.writer, is_split, name: output.name.as_deref() })
            }
            OutputWriter::Text(_) | OutputWriter::Parquet(_) | OutputWriter::Arrow(_) => None,
        }
    }
}
