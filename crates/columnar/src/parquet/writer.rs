//! Row groups and footer.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::Type;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::SchemaDescriptor;

use crate::counted::Counted;
use crate::error::ColumnError;
use crate::parquet::ParquetOptions;
use crate::parquet::chunk::Chunk;
use crate::parquet::compress::Compressor;
use crate::parquet::footer::{Footer, FooterMark, Group, MAGIC};
use crate::parquet::levels::{TooDeep, columns};
use crate::parquet::pages::{Form, ParquetEncoder, ParquetPages, Table};
use crate::sink::ColumnSink;

/// Writes a Parquet file from pages, in the order given.
///
/// Pages are kept until their row group has [`ParquetOptions::row_group_bytes_max`] bytes or [`ParquetOptions::row_group_rows_max`]
/// rows, then written column by column. [`ParquetWriter::finish`] writes the footer; a file without it is not a Parquet file to any
/// reader.
pub struct ParquetWriter<W: Write + Send> {
    out: BufWriter<Counted<W>>,
    /// Bytes written.
    offset: u64,
    footer: Footer,
    table: Arc<Table>,
    options: ParquetOptions,
    compressor: Compressor,
    chunks: Vec<Chunk>,
    /// Rows of the current row group.
    rows: usize,
    memory: usize,
}

/// State of a file between two row groups, for [`ParquetWriter::back_to`].
#[derive(Clone, Copy, Debug)]
pub struct ParquetMark {
    bytes: u64,
    footer: FooterMark,
}

impl ParquetMark {
    /// Bytes of the file there.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A file between two row groups, for [`ParquetWriter::resume`].
#[derive(Clone, Debug, Default)]
pub struct ParquetState {
    /// Bytes of the file up to the end of its last row group.
    pub bytes: u64,
    /// Rows in its row groups.
    pub rows: u64,
    /// Footer entry of each row group, as [`ParquetWriter::groups`] returned it.
    pub groups: Vec<Box<[u8]>>,
}

/// Pages are written in portions of this many bytes.
const BUFFER_BYTES: usize = 64 << 10;

impl<W: Write + Send> ParquetWriter<W> {
    /// Starts a file for the documents of `sink` and its siblings.
    ///
    /// # Errors
    /// [`ColumnError::Output`]; [`ColumnError::Library`] for a leaf below more than 127 lists.
    pub fn new(out: W, sink: &ColumnSink, options: &ParquetOptions) -> Result<Self, ColumnError> {
        let mut writer = ParquetWriter::made(out, sink, options)?;
        writer.out.write_all(MAGIC).map_err(ColumnError::Output)?;
        writer.offset = MAGIC.len() as u64;
        Ok(writer)
    }

    /// Resumes a file that an earlier writer began. `out` is positioned after its last whole row group.
    ///
    /// # Errors
    /// As [`ParquetWriter::new`].
    pub fn resume(
        out: W,
        sink: &ColumnSink,
        options: &ParquetOptions,
        state: ParquetState,
    ) -> Result<Self, ColumnError> {
        let mut writer = ParquetWriter::made(out, sink, options)?;
        writer.out.get_mut().cut(state.bytes);
        writer.offset = state.bytes;
        writer.footer.resume(state.groups, state.rows);
        Ok(writer)
    }

    fn made(out: W, sink: &ColumnSink, options: &ParquetOptions) -> Result<Self, ColumnError> {
        let schema = sink.schema();
        let descriptor = ArrowSchemaConverter::new().convert(&schema)?;
        let (columns, containers) = columns(&sink.plan).map_err(|TooDeep(node)| ColumnError::Library {
            library: "parquet",
            message: format!(
                "{} lies below more lists than levels of eight bits count",
                sink.plan.nodes[node.index()].name
            ),
        })?;
        for (column, described) in columns.iter().zip(descriptor.columns()) {
            let container = &containers[column.container];
            let ours = (i16::from(container.def_max), i16::from(container.rep_max));
            if ours != (described.max_def_level(), described.max_rep_level())
                || columns.len() != descriptor.num_columns()
            {
                let message = format!("levels of {} are {ours:?} to us", described.path().string());
                return Err(ColumnError::Library { library: "parquet", message });
            }
        }
        let forms: Vec<Form> = descriptor
            .columns()
            .iter()
            .map(|column| match (column.physical_type(), usize::try_from(column.type_length())) {
                (Type::FIXED_LEN_BYTE_ARRAY, Ok(bytes)) => Form::Fixed(bytes),
                (Type::INT32 | Type::FLOAT, _) => Form::Fixed(4),
                (Type::INT64 | Type::DOUBLE, _) => Form::Fixed(8),
                _ => Form::Prefixed,
            })
            .collect();
        let mut properties = WriterProperties::builder().build();
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let descriptor = Arc::new(SchemaDescriptor::new(descriptor.root_schema_ptr()));
        let footer = Footer::new(descriptor, properties.key_value_metadata().cloned());
        let out = BufWriter::with_capacity(BUFFER_BYTES, Counted::new(out));
        let chunks = forms.iter().map(|form| Chunk::new(*form)).collect();
        let table = Arc::new(Table { columns, containers, forms, codec: options.codec });
        let compressor = Compressor::new(options.codec);
        let options = options.clone();
        Ok(ParquetWriter { out, offset: 0, footer, table, options, compressor, chunks, rows: 0, memory: 0 })
    }

    /// Creates an encoder for one thread.
    #[must_use]
    pub fn encoder(&self) -> ParquetEncoder {
        ParquetEncoder::new(Arc::clone(&self.table))
    }

    /// Adds the next rows; a full row group is written out.
    ///
    /// # Errors
    /// [`ColumnError::Output`]; the output is then of no use.
    pub fn write(&mut self, pages: ParquetPages) -> Result<(), ColumnError> {
        if pages.rows == 0 {
            return Ok(());
        }
        if pages.pages.len() != self.chunks.len() {
            return Err(ColumnError::OtherShape);
        }
        if self.rows + pages.rows > self.options.row_group_rows_max {
            self.flush()?;
        }
        self.rows += pages.rows;
        for (chunk, page) in self.chunks.iter_mut().zip(pages.pages) {
            self.memory += chunk.push(page, &self.options, &mut self.compressor)?;
        }
        if self.memory >= self.options.row_group_bytes_max {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the row group out that was begun.
    fn flush(&mut self) -> Result<(), ColumnError> {
        if self.rows == 0 {
            return Ok(());
        }
        let from = self.offset;
        let schema = Arc::clone(self.footer.schema());
        let mut columns = Vec::with_capacity(self.chunks.len());
        for ((chunk, form), column) in self.chunks.iter_mut().zip(&self.table.forms).zip(schema.columns()) {
            let chunk = core::mem::replace(chunk, Chunk::new(*form));
            let (parts, metadata) = chunk.finish(column, self.offset, self.options.codec, &mut self.compressor)?;
            for part in parts {
                self.out.write_all(&part).map_err(ColumnError::Output)?;
                self.offset += part.len() as u64;
            }
            columns.push(metadata);
        }
        let bytes = columns.iter().map(|column| column.uncompressed_size()).sum();
        self.footer.push(Group { columns, rows: self.rows, bytes, offset: from })?;
        self.rows = 0;
        self.memory = 0;
        Ok(())
    }

    /// Ends the current row group and returns the state of the file, all of which is in the output then.
    ///
    /// # Errors
    /// [`ColumnError::Output`]; the output is then of no use.
    pub fn mark(&mut self) -> Result<ParquetMark, ColumnError> {
        self.flush()?;
        self.out.flush().map_err(ColumnError::Output)?;
        Ok(ParquetMark { bytes: self.offset, footer: self.footer.mark() })
    }

    /// Returns the output, which has everything that was written up to the last mark.
    pub fn output(&mut self) -> &mut W {
        self.out.get_mut().get_mut()
    }

    /// Ends the row group that was begun; all that was written is in the output then.
    ///
    /// # Errors
    /// [`ColumnError::Output`]; the output is then of no use.
    pub fn settle(&mut self) -> Result<&mut W, ColumnError> {
        self.mark()?;
        Ok(self.output())
    }

    /// Withdraws everything written since the mark. The caller truncates the returned output to [`ParquetMark::bytes`].
    ///
    /// # Errors
    /// [`ColumnError::Output`]; the output is then of no use.
    pub fn back_to(&mut self, mark: ParquetMark) -> Result<&mut W, ColumnError> {
        for (chunk, form) in self.chunks.iter_mut().zip(&self.table.forms) {
            *chunk = Chunk::new(*form);
        }
        (self.rows, self.memory) = (0, 0);
        self.footer.back_to(mark.footer);
        self.offset = mark.bytes;
        self.out.flush().map_err(ColumnError::Output)?;
        Ok(self.out.get_mut().cut(mark.bytes))
    }

    /// Returns the footer entry of each whole row group in a format of this crate. A caller that stores it, and syncs the output after
    /// [`ParquetWriter::mark`], can resume the file in another process.
    #[must_use]
    pub fn groups(&self) -> &[Box<[u8]>] {
        self.footer.groups()
    }

    /// Rows in the whole row groups.
    #[must_use]
    pub fn rows_written(&self) -> u64 {
        self.footer.rows()
    }

    /// Returns the bytes of memory of the current row group and of the footer entries.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory + self.footer.memory()
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.offset
    }

    /// Ends the open row group and appends bytes that readers never see, since they follow the offsets in the footer.
    ///
    /// # Errors
    /// [`ColumnError::Output`]; the output is then unusable.
    pub fn pad(&mut self, bytes: &[u8]) -> Result<(), ColumnError> {
        self.flush()?;
        self.out.write_all(bytes).map_err(ColumnError::Output)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes the last row group and the footer; returns the output with its length in bytes.
    ///
    /// # Errors
    /// [`ColumnError::Output`].
    pub fn finish(mut self) -> Result<(W, u64), ColumnError> {
        self.flush()?;
        self.footer.write(&mut self.out)?;
        self.out.flush().map_err(ColumnError::Output)?;
        Ok(self.out.get_mut().take())
    }
}

impl<W: Write + Send> core::fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ParquetWriter")
            .field("options", &self.options)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
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
