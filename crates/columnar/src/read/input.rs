//! The file: its form, its schema, and its rows in batches.

use core::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::{ChunkReader, Length};

use super::int96::{self, Int96};
use super::{BATCH_BYTES, BATCH_ROWS_MAX, ColumnReadError};

/// The form of a file of columns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ColumnForm {
    /// Parquet.
    Parquet,
    /// Arrow IPC with a footer, also known as Feather 2.
    ArrowFile,
    /// Arrow IPC messages one after another.
    ArrowStream,
}

impl ColumnForm {
    /// Bytes that [`ColumnForm::of`] looks at.
    pub const HEAD_BYTES: usize = 12;

    /// Recognizes the form of a file by its first bytes, `head`.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<ColumnForm> {
        if head.starts_with(b"PAR1") {
            Some(ColumnForm::Parquet)
        } else if head.starts_with(b"ARROW1\0\0") {
            Some(ColumnForm::ArrowFile)
        } else {
            is_arrow_stream(head).then_some(ColumnForm::ArrowStream)
        }
    }

    /// Returns the name of the form for messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            ColumnForm::Parquet => "Parquet file",
            ColumnForm::ArrowFile => "Arrow IPC file",
            ColumnForm::ArrowStream => "Arrow IPC stream",
        }
    }
}

/// Returns whether a file starts with the continuation marker, a length of metadata in whole words, and a FlatBuffers root a few
/// bytes after it.
fn is_arrow_stream(head: &[u8]) -> bool {
    let word = |at: usize| head.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
    word(0) == Some(u32::MAX)
        && word(4).is_some_and(|length| length % 8 == 0 && (8..1 << 24).contains(&length))
        && word(8).is_some_and(|root| root % 4 == 0 && (4..=64).contains(&root))
}

/// The bytes of a file of columns. They are read in places, so a pipe must have been copied.
#[derive(Debug)]
pub enum ColumnInput {
    /// A file that is open for reading.
    File(File),
    /// Bytes in memory.
    Memory(Bytes),
}

impl ColumnInput {
    /// Returns a second handle to the same bytes. Handles of one file share its position.
    fn twin(&self) -> io::Result<ColumnInput> {
        Ok(match self {
            ColumnInput::File(file) => ColumnInput::File(file.try_clone()?),
            ColumnInput::Memory(bytes) => ColumnInput::Memory(bytes.clone()),
        })
    }

    fn into_reader(self) -> Bytewise {
        match self {
            ColumnInput::File(file) => Bytewise::File(BufReader::with_capacity(64 << 10, file)),
            ColumnInput::Memory(bytes) => Bytewise::Memory(Cursor::new(bytes)),
        }
    }
}

/// One position over the bytes.
enum Bytewise {
    File(BufReader<File>),
    Memory(Cursor<Bytes>),
}

impl Read for Bytewise {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Bytewise::File(file) => file.read(to),
            Bytewise::Memory(bytes) => bytes.read(to),
        }
    }
}

impl Seek for Bytewise {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Bytewise::File(file) => file.seek(to),
            Bytewise::Memory(bytes) => bytes.seek(to),
        }
    }
}

impl Length for ColumnInput {
    fn len(&self) -> u64 {
        match self {
            ColumnInput::File(file) => file.metadata().map_or(0, |meta| meta.len()),
            ColumnInput::Memory(bytes) => bytes.len() as u64,
        }
    }
}

/// Several column readers share one file, so every read seeks first.
impl ChunkReader for ColumnInput {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(match self {
            ColumnInput::File(file) => {
                let at = At { file: file.try_clone()?, next: start };
                Box::new(BufReader::with_capacity(16 << 10, at))
            }
            ColumnInput::Memory(bytes) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX).min(bytes.len());
                Box::new(Cursor::new(bytes.slice(start..)))
            }
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // A length that the file does not have is an error before memory is taken for it.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(parquet::errors::ParquetError::EOF(format!(
                "{length} bytes at byte {start} lie beyond the end of the file"
            )));
        }
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A file with a separate offset, independent of the shared file position.
struct At {
    file: File,
    next: u64,
}

impl Read for At {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        use std::os::unix::fs::FileExt as _;
        let n = self.file.read_at(to, self.next)?;
        self.next += n as u64;
        Ok(n)
    }
}

/// Reads the rows of a file in batches, in order.
pub struct ColumnReader {
    form: ColumnForm,
    schema: SchemaRef,
    batches: Batches,
    /// Rows that are read and not handed out: batches of Arrow are as large as their writer made them.
    rest: Option<RecordBatch>,
    rows_max: usize,
    rows_total: Option<u64>,
    rows_done: u64,
    bytes: u64,
}

enum Batches {
    Parquet(Box<ParquetRecordBatchReader>),
    /// Parquet with INT96 columns.
    Int96 {
        /// All columns, with timestamps in microseconds.
        wide: Box<ParquetRecordBatchReader>,
        /// The timestamp columns in nanoseconds, which overflow outside the years 1677 to 2262.
        exact: Box<ParquetRecordBatchReader>,
        columns: Vec<usize>,
    },
    File(Box<FileReader<Bytewise>>),
    Stream(Box<StreamReader<Bytewise>>),
    /// The input has ended.
    Ended,
}

impl ColumnReader {
    /// Opens a file and reads its schema; the form follows from its first bytes.
    ///
    /// # Errors
    /// [`ColumnReadError`].
    pub fn open(input: ColumnInput) -> Result<ColumnReader, ColumnReadError> {
        let mut head = [0; ColumnForm::HEAD_BYTES];
        let mut start = input.get_read(0).map_err(|error| damaged(ColumnForm::Parquet, &error))?;
        let mut filled = 0;
        while filled < head.len() {
            match start.read(&mut head[filled..]).map_err(ColumnReadError::Input)? {
                0 => break,
                n => filled += n,
            }
        }
        if head.starts_with(b"PARE") {
            return Err(ColumnReadError::Encrypted);
        }
        let form = ColumnForm::of(&head[..filled]).ok_or(ColumnReadError::UnknownForm)?;
        let bytes = input.len();
        let mut twin = input.twin().map_err(ColumnReadError::Input)?;
        if let ColumnInput::File(file) = &mut twin {
            file.seek(SeekFrom::Start(0)).map_err(ColumnReadError::Input)?;
        }
        guarded(form, || {
            Ok(match form {
                ColumnForm::Parquet => ColumnReader::parquet(input, bytes, 0)?,
                ColumnForm::ArrowFile => {
                    let reader = FileReader::try_new(twin.into_reader(), None).map_err(|e| damaged(form, &e))?;
                    let schema = reader.schema();
                    ColumnReader::of(form, schema, Batches::File(Box::new(reader)), None, bytes, BATCH_ROWS_MAX)
                }
                ColumnForm::ArrowStream => {
                    let reader = StreamReader::try_new(twin.into_reader(), None).map_err(|e| damaged(form, &e))?;
                    let schema = reader.schema();
                    ColumnReader::of(form, schema, Batches::Stream(Box::new(reader)), None, bytes, BATCH_ROWS_MAX)
                }
            })
        })
    }

    /// Opens a Parquet file at a row, counted from 0. Row groups before it are not read.
    ///
    /// # Errors
    /// [`ColumnReadError`]; a file of another form is [`ColumnReadError::UnknownForm`].
    pub fn parquet_from(input: ColumnInput, row: u64) -> Result<ColumnReader, ColumnReadError> {
        let mut head = [0; 4];
        let start = input.get_read(0).and_then(|mut start| Ok(start.read_exact(&mut head)?));
        if start.is_err() || head != *b"PAR1" && head != *b"PARE" {
            return Err(ColumnReadError::UnknownForm);
        }
        if head == *b"PARE" {
            return Err(ColumnReadError::Encrypted);
        }
        let bytes = input.len();
        guarded(ColumnForm::Parquet, || ColumnReader::parquet(input, bytes, row))
    }

    fn parquet(input: ColumnInput, bytes: u64, row: u64) -> Result<ColumnReader, ColumnReadError> {
        let form = ColumnForm::Parquet;
        let again = input.twin().map_err(ColumnReadError::Input)?;
        let plain = ParquetRecordBatchReaderBuilder::try_new(input).map_err(|e| damaged(form, &e))?;
        let int96 = Int96::find(&plain);
        let (builder, plain) = match &int96 {
            None => (plain, None),
            Some(int96) => {
                let options = ArrowReaderOptions::new().with_schema(int96.schema.clone());
                let wide = ParquetRecordBatchReaderBuilder::try_new_with_options(again, options);
                (wide.map_err(|e| damaged(form, &e))?, Some(plain))
            }
        };
        let groups = builder.metadata().row_groups();
        let rows: u64 = groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum();
        let size = |group: &parquet::file::metadata::RowGroupMetaData| {
            let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
            u64::try_from(group.total_byte_size()).unwrap_or(0) / rows
        };
        let row_bytes = groups.iter().map(size).max().unwrap_or(0).max(1);
        let rows_max = usize::try_from(BATCH_BYTES / row_bytes).unwrap_or(0).clamp(1, BATCH_ROWS_MAX);
        let schema = builder.schema().clone();
        let mut before = 0;
        let mut first = 0;
        for group in groups {
            let end = before + u64::try_from(group.num_rows()).unwrap_or(0);
            if end > row {
                break;
            }
            (before, first) = (end, first + 1);
        }
        let left: Vec<usize> = (first..groups.len()).collect();
        let skipped = usize::try_from(row.min(rows) - before).unwrap_or(usize::MAX);
        let same_rows = |builder: ParquetRecordBatchReaderBuilder<ColumnInput>| {
            let builder = builder.with_row_groups(left.clone()).with_offset(skipped).with_batch_size(rows_max);
            builder.build().map(Box::new).map_err(|e| damaged(form, &e))
        };
        let wide = same_rows(builder)?;
        let batches = match (int96, plain) {
            (Some(int96), Some(plain)) if !int96.columns.is_empty() => {
                let mask = ProjectionMask::roots(plain.parquet_schema(), int96.columns.iter().copied());
                Batches::Int96 { wide, exact: same_rows(plain.with_projection(mask))?, columns: int96.columns }
            }
            _ => Batches::Parquet(wide),
        };
        let mut reader = ColumnReader::of(form, schema, batches, Some(rows), bytes, rows_max);
        reader.rows_done = row.min(rows);
        Ok(reader)
    }

    fn of(
        form: ColumnForm,
        schema: SchemaRef,
        batches: Batches,
        rows_total: Option<u64>,
        bytes: u64,
        rows_max: usize,
    ) -> ColumnReader {
        ColumnReader { form, schema, batches, rest: None, rows_max, rows_total, rows_done: 0, bytes }
    }

    /// Returns the form of the file.
    #[must_use]
    pub fn form(&self) -> ColumnForm {
        self.form
    }

    /// Returns the schema of the file.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the rows of the whole file, if its footer gives them.
    #[must_use]
    pub fn rows_total(&self) -> Option<u64> {
        self.rows_total
    }

    /// Returns approximately the number of bytes of the file that were read, estimated from the share of the rows returned so far.
    #[must_use]
    pub fn bytes_done(&self) -> u64 {
        match (&self.batches, self.rows_total) {
            (Batches::Ended, _) => self.bytes,
            (_, Some(total)) if total > 0 => {
                let done = u128::from(self.bytes) * u128::from(self.rows_done) / u128::from(total);
                u64::try_from(done).unwrap_or(self.bytes).min(self.bytes)
            }
            _ => 0,
        }
    }

    /// Returns the next rows; `None` after the last.
    ///
    /// # Errors
    /// [`ColumnReadError`]; no batch follows it.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ColumnReadError> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.read() {
                Ok(Some(batch)) => batch,
                Ok(None) => {
                    self.batches = Batches::Ended;
                    return Ok(None);
                }
                Err(error) => {
                    self.batches = Batches::Ended;
                    return Err(error);
                }
            },
        };
        let rows = batch.num_rows().min(self.rows_max);
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        self.rows_done += rows as u64;
        Ok(Some(batch.slice(0, rows)))
    }

    /// Returns the next batch that is not empty.
    fn read(&mut self) -> Result<Option<RecordBatch>, ColumnReadError> {
        let form = self.form;
        loop {
            let batches = &mut self.batches;
            let next = guarded(form, || {
                let next = match batches {
                    Batches::Parquet(reader) => reader.next(),
                    Batches::Int96 { wide, exact, .. } => match (wide.next(), exact.next()) {
                        (Some(Ok(wide)), Some(Ok(exact))) => return Ok(Some((wide, Some(exact)))),
                        (None, _) => None,
                        (wide, Some(Err(error))) => Some(wide.and_then(Result::err).map_or(Err(error), Err)),
                        (wide, _) => wide,
                    },
                    Batches::File(reader) => reader.next(),
                    Batches::Stream(reader) => reader.next(),
                    Batches::Ended => None,
                };
                let batch = next.transpose().map_err(|error| damaged(form, &error))?;
                Ok(batch.map(|batch| (batch, None)))
            })?;
            let next = match (next, &self.batches) {
                (Some((wide, Some(exact))), Batches::Int96 { columns, .. }) => {
                    Some(int96::exact(&wide, &exact, columns)?)
                }
                (next, _) => next.map(|(batch, _)| batch),
            };
            match next {
                Some(batch) if batch.num_rows() == 0 => {}
                next => return Ok(next),
            }
        }
    }
}

pub(super) fn damaged(form: ColumnForm, error: &dyn core::fmt::Display) -> ColumnReadError {
    // The library's messages may go over lines.
    let message = error.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ");
    ColumnReadError::Damaged { form: form.words(), message }
}

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread runs the library over untrusted bytes, where a panic is a finding about the file and not a bug. A panic
/// hook asks it before it reports a bug.
#[must_use]
pub fn is_reading_guarded() -> bool {
    IS_GUARDED.get()
}

/// Runs the library over untrusted bytes. If it panics, the file is damaged, and the program reports that and continues.
fn guarded<T>(form: ColumnForm, work: impl FnOnce() -> Result<T, ColumnReadError>) -> Result<T, ColumnReadError> {
    IS_GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    match done {
        Ok(done) => done,
        Err(_) => Err(damaged(form, &"its structure contradicts itself")),
    }
}
