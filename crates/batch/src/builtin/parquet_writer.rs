//! `quayline.parquetWriter`: writes items as rows of a Parquet file.
//!
//! A row group is written as a whole, and a chunk is rarely large enough for one. Rows outside of a row group are kept in a separate file,
//! in the form of the items, and synced at each checkpoint. The first checkpoint with [`GROUP_BYTES`] of them converts them to a row group.
//!
//! ```text
//! FILE.partial         PAR1 │ row group │ row group │               truncated to the checkpoint's length
//! FILE.partial.groups  length, footer entry │ length, footer entry │ footer entries of the row groups
//! FILE.partial.rows-0  items since the last row group               a row group empties the other of the two files,
//! FILE.partial.rows-1                                               so that the preceding checkpoint still has its rows
//! ```
//!
//! The checkpoint has 80 bytes. A chunk costs one append and one sync; a row group costs three syncs.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_columnar::{
    ColumnError, ColumnSink, ParquetOptions, ParquetPages, ParquetState, ParquetWriter as Columns,
};
use quayline_core::{Finding, Findings, Limits};
use quayline_frame::{Framer, FramerOptions, FramingSpec};
use quayline_meter::{WaitFor, waiting};
use quayline_pipeline::{OutputBuffer, Pipeline, Revocable as _};
use quayline_project::{Form, JsonRead, SourceFormat};
use xxhash_rust::xxh3::xxh3_64;

use super::file_reader::{damaged, note, numbers, of_findings};
use super::file_writer::framing_of;
use super::limits::limits;
use super::parquet_reader::shape_file;
use super::partial::{Ends, Partial, changed, io, too_short};
use crate::artifact::{Answer, Injected, Item, Lent, Writer};
use crate::context::StepContext;
use crate::error::Thrown;
use crate::work::Work;

/// Bytes of items that become a row group.
const GROUP_BYTES: u64 = 16 << 20;
/// Rows of a chunk from which on its pages are kept. Pages of fewer rows would make a larger file, so their rows are encoded again, all of the
/// row group at once.
const PAGE_ROWS: usize = 1_000;

pub(super) struct ParquetWriter {
    to: Partial,
    step: Option<Arc<StepContext>>,
    /// Items to pages.
    pipeline: Pipeline,
    buffers: Vec<OutputBuffer>,
    sink: Box<ColumnSink>,
    options: ParquetOptions,
    /// Digest of the schema: a file is not continued with other columns.
    schema: u64,
    /// Framing of items that are records.
    framing: Option<FramingSpec>,
    limits: Limits,
    group_bytes: u64,
    name: Arc<str>,
    open: Option<Open>,
    /// The checkpoint of a step that continues although its file has its name already.
    done: Option<Vec<u8>>,
}

/// A file that is being written.
struct Open {
    columns: Columns<File>,
    /// The output file of `columns`, which holds the lock.
    file: File,
    groups: Journal,
    rows: Journal,
    /// Row groups whose footer entry is in `groups`.
    groups_kept: usize,
    /// Number of the current one of the two files of rows.
    turn: u64,
    /// Rows in `rows`.
    rows_count: u64,
    /// Pages of all rows in `rows`, if chunks are large enough.
    pages: Option<Vec<ParquetPages>>,
}

/// A file that grows, and is cut back when the step continues.
struct Journal {
    file: File,
    path: PathBuf,
    length: u64,
    synced: u64,
    ends: Ends,
}

impl Journal {
    fn create(path: PathBuf) -> Answer<Journal> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(|error| io(&path, "opened", &error))?;
        Ok(Journal { file, path, length: 0, synced: 0, ends: Ends::default() })
    }

    /// Opens it with the length and the digest that a checkpoint names.
    fn resume(path: PathBuf, length: u64, digest: u64) -> Answer<Journal> {
        let file = OpenOptions::new().read(true).write(true).create(length == 0).truncate(false).open(&path);
        let mut file = file.map_err(|error| io(&path, "opened", &error))?;
        let ends = cut_back(&mut file, &path, length, digest)?;
        Ok(Journal { file, path, length, synced: length, ends })
    }

    fn append(&mut self, bytes: &[u8]) -> Answer<()> {
        if let Err(error) = self.file.write_all(bytes) {
            let undone = self.file.set_len(self.length);
            let undone = undone.and_then(|()| self.file.seek(SeekFrom::Start(self.length)).map(|_| ()));
            return Err(io(&self.path, "written", &undone.err().unwrap_or(error)));
        }
        self.ends.add(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Answer<()> {
        if self.synced != self.length {
            waiting(WaitFor::Device, || self.file.sync_data()).map_err(|error| io(&self.path, "synced", &error))?;
            self.synced = self.length;
        }
        Ok(())
    }

    fn content(&self) -> Answer<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut bytes, 0).map_err(|error| io(&self.path, "read", &error))?;
        Ok(bytes)
    }
}

/// Truncates a file to the length in a checkpoint, and checks that it is the file of the checkpoint.
fn cut_back(file: &mut File, path: &Path, length: u64, digest: u64) -> Answer<Ends> {
    let found = file.metadata().map_err(|error| io(path, "read", &error))?.len();
    if found < length {
        return Err(too_short(path, found, length));
    }
    let ends = Ends::of(file, length).map_err(|error| io(path, "read", &error))?;
    if ends.digest() != digest {
        return Err(changed(path));
    }
    let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
    cut.map_err(|error| io(path, "cut back", &error))?;
    Ok(ends)
}

/// Returns the mark before the footer of a complete file, for a step that continues although its file is complete: a digest of its last checkpoint.
fn mark_of(numbers: &[u64; 10]) -> u64 {
    xxh3_64(&numbers.map(u64::to_le_bytes).concat())
}

impl Open {
    fn numbers(&self, schema: u64, partial: &Path) -> Answer<[u64; 10]> {
        let (length, digest) = match self.groups_kept {
            // The first four bytes may not be written yet.
            0 => (0, 0),
            _ => {
                let length = self.columns.bytes_written();
                let ends = Ends::of(&self.file, length).map_err(|error| io(partial, "read", &error))?;
                (length, ends.digest())
            }
        };
        let (groups, rows) = (&self.groups, &self.rows);
        Ok([
            length,
            digest,
            self.columns.rows_written(),
            groups.length,
            groups.ends.digest(),
            self.turn,
            rows.length,
            rows.ends.digest(),
            self.rows_count,
            schema,
        ])
    }
}

impl ParquetWriter {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let limits = limits(with)?;
        let path = with.path("shape")?;
        let shape = shape_file(&path, &limits)?;
        let source = match shape.form() {
            Form::Records { .. } => shape.source().map_err(|findings| of_findings(&findings))?,
            Form::Json { .. } | Form::Outline | Form::Parquet | Form::Arrow => SourceFormat::Json(JsonRead::default()),
            _ => {
                let remedy = "name a copybook or layout of records, a JSON Schema, an outline or a layout of columns, \
                              and map the items to it before";
                return Err(Thrown::property(&with.name, "shape", "describes neither records nor JSON", remedy));
            }
        };
        let framing = match &source {
            SourceFormat::Records(spec) => {
                let spec = framing_of(*spec);
                Some(spec.map_err(|(what, remedy)| Thrown::property(&with.name, "shape", what, remedy))?)
            }
            _ => None,
        };
        let told = |findings: Findings| of_findings(&findings);
        let pipeline = Pipeline::into_pages(source, Arc::clone(shape.schema()), limits.clone()).map_err(told)?;
        let (sink, options) = pipeline.columns().map_err(told)?;
        Ok(ParquetWriter {
            to: Partial::new(with, with.path("file")?),
            step: with.step.clone(),
            buffers: pipeline.buffers().map_err(told)?,
            pipeline,
            schema: xxh3_64(format!("{:?}", sink.schema()).as_bytes()),
            sink,
            options,
            framing,
            limits,
            group_bytes: with.number("group-bytes", GROUP_BYTES)?,
            name: Arc::from(with.name.as_str()),
            open: None,
            done: None,
        })
    }

    fn begin(&self) -> Answer<Open> {
        let file = self.to.locked(true)?;
        file.set_len(0).map_err(|error| io(&self.to.partial, "cut back", &error))?;
        let output = file.try_clone().map_err(|error| io(&self.to.partial, "opened", &error))?;
        let columns = Columns::new(output, &self.sink, &self.options).map_err(|error| self.column_error(error))?;
        let groups = Journal::create(self.to.beside(".groups"))?;
        Journal::create(self.to.beside(".rows-1"))?;
        let rows = Journal::create(self.to.beside(".rows-0"))?;
        self.to.sync_names()?;
        Ok(Open { columns, file, groups, rows, groups_kept: 0, turn: 0, rows_count: 0, pages: Some(Vec::new()) })
    }

    fn resume(&self, checkpoint: &[u8]) -> Answer<Open> {
        let [length, digest, rows, groups_length, groups_digest, turn, rows_length, rows_digest, rows_count, schema] =
            numbers(checkpoint).ok_or_else(damaged)?;
        if schema != self.schema {
            let message = format!("{} has other columns than the property shape says", self.to.path.display());
            return Err(Thrown::of(&["quayline.Configuration"], message)
                .hint("restore the file of the shape, or start a new instance of the job"));
        }
        let mut file = self.to.locked(false)?;
        if length > 0 {
            cut_back(&mut file, &self.to.partial, length, digest)?;
        }
        let groups = Journal::resume(self.to.beside(".groups"), groups_length, groups_digest)?;
        let mut entries = Vec::new();
        let content = groups.content()?;
        let mut left = content.as_slice();
        while let Some((count, rest)) = left.split_first_chunk::<4>() {
            let count = u32::from_le_bytes(*count) as usize;
            let (entry, rest) = rest.split_at_checked(count).ok_or_else(|| changed(&groups.path))?;
            entries.push(Box::from(entry));
            left = rest;
        }
        let output = file.try_clone().map_err(|error| io(&self.to.partial, "opened", &error))?;
        let groups_kept = entries.len();
        let columns = if length == 0 {
            file.set_len(0).map_err(|error| io(&self.to.partial, "cut back", &error))?;
            Columns::new(output, &self.sink, &self.options)
        } else {
            let state = ParquetState { bytes: length, rows, groups: entries };
            Columns::resume(output, &self.sink, &self.options, state)
        };
        let columns = columns.map_err(|error| self.column_error(error))?;
        let rows = Journal::resume(self.to.beside(&format!(".rows-{}", turn & 1)), rows_length, rows_digest)?;
        let pages = (rows_count == 0).then(Vec::new);
        Ok(Open { columns, file, groups, rows, groups_kept, turn, rows_count, pages })
    }

    /// Returns true if the file with the final name is the result of a checkpoint: the preceding run ended between renaming the file and
    /// recording the rename.
    fn is_complete(&self, checkpoint: &[u8]) -> Answer<bool> {
        let numbers = numbers::<10>(checkpoint).ok_or_else(damaged)?;
        let Ok(file) = File::open(&self.to.path) else { return Ok(false) };
        let length = file.metadata().map_err(|error| io(&self.to.path, "read", &error))?.len();
        // The last bytes are the footer's length and `PAR1`.
        let mut bytes = [0; 8];
        let mut read = |back: u64| {
            let at = length.checked_sub(back)?;
            file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
        };
        let Some(end) = read(8) else { return Ok(false) };
        let footer = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
        let found = read(8 + u64::from(footer) + 8);
        Ok(found.map(u64::from_le_bytes) == Some(mark_of(&numbers)))
    }

    fn column_error(&self, error: ColumnError) -> Thrown {
        match error {
            ColumnError::Output(error) => io(&self.to.partial, "written", &error),
            error => Thrown::from_finding(&error.finding()),
        }
    }

    /// Items as a file of their form.
    fn framed(&self, items: &[Item]) -> Answer<Vec<u8>> {
        let mut bytes = Vec::with_capacity(items.iter().map(|item| item.len() + 8).sum());
        let Some(spec) = &self.framing else {
            for item in items {
                bytes.extend_from_slice(item);
                bytes.push(b'\n');
            }
            return Ok(bytes);
        };
        if let FramingSpec::Fixed { length } = spec
            && let Some(short) = items.iter().find(|item| item.len() < *length)
        {
            let message = format!("an item has {} bytes, expected {length}", short.len());
            return Err(
                Thrown::of(&["quayline.Rejected"], message).hint("fill the items to the record's length before")
            );
        }
        let framer = Framer::new(spec, FramerOptions::default(), &self.limits);
        let mut framer = framer.map_err(|error| Thrown::from_finding(&error.finding()))?;
        for item in items {
            framer.frame(item, &mut bytes).map_err(|fault| Thrown::from_finding(&fault.finding()))?;
        }
        framer.flush(&mut bytes);
        Ok(bytes)
    }

    /// Encodes rows as pages, and returns the warnings about them too.
    fn encode(&mut self, bytes: &[u8], rows: u64) -> Answer<(Vec<ParquetPages>, Vec<Finding>)> {
        let Some(open) = &self.open else { return Err(damaged()) };
        let mut lane = self.pipeline.page_lane(open.columns.encoder()).map_err(|findings| of_findings(&findings))?;
        let [buffer] = self.buffers.as_mut_slice() else { return Err(damaged()) };
        let Ok(mark) = buffer.mark();
        let report = lane.run(&self.name, bytes, std::slice::from_mut(buffer));
        if !report.is_good() {
            let Ok(()) = buffer.back_to(mark);
            let lost = report.lost.iter().flat_map(|findings| &findings.0);
            return Err(of_findings(&Findings(report.findings.iter().chain(lost).cloned().collect())));
        }
        let pages = buffer.take_pages();
        let found: usize = pages.iter().map(ParquetPages::rows).sum();
        if found as u64 != rows {
            let message = format!("{rows} items hold {found} documents, expected one in each");
            return Err(Thrown::of(&["quayline.Rejected"], message)
                .hint("read or map the data so that each item is one document"));
        }
        Ok((pages, report.warnings().cloned().collect()))
    }

    /// Writes the pending rows as a row group.
    fn end_group(&mut self) -> Answer<()> {
        let Some(open) = &mut self.open else { return Err(damaged()) };
        if open.rows_count == 0 {
            return Ok(());
        }
        let pages = match open.pages.take() {
            Some(pages) => pages,
            None => {
                let (content, count) = (open.rows.content()?, open.rows_count);
                // The warnings about these rows were noted with their chunks.
                self.encode(&content, count)?.0
            }
        };
        let Some(open) = &mut self.open else { return Err(damaged()) };
        let write = || {
            for page in pages {
                open.columns.write(page)?;
            }
            open.columns.mark().map(|_| ())
        };
        if let Err(error) = write() {
            return Err(self.column_error(error));
        }
        let mut entries = Vec::new();
        for entry in &open.columns.groups()[open.groups_kept..] {
            entries.extend_from_slice(&u32::try_from(entry.len()).unwrap_or(u32::MAX).to_le_bytes());
            entries.extend_from_slice(entry);
        }
        open.groups.append(&entries)?;
        open.groups_kept = open.columns.groups().len();
        waiting(WaitFor::Device, || open.file.sync_data()).map_err(|error| io(&self.to.partial, "synced", &error))?;
        open.groups.sync()?;
        open.turn += 1;
        open.rows = Journal::create(self.to.beside(&format!(".rows-{}", open.turn & 1)))?;
        (open.rows_count, open.pages) = (0, Some(Vec::new()));
        Ok(())
    }

    /// Removes the auxiliary files.
    fn tidy(&self) -> Answer<()> {
        for beside in [".groups", ".rows-0", ".rows-1"] {
            match std::fs::remove_file(self.to.beside(beside)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io(&self.to.beside(beside), "removed", &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn release(&mut self) {
        if let Some(open) = self.open.take() {
            // A process that is being started may have a copy of the handle for a moment. On file systems without locks, none was taken.
            let _ = open.file.unlock();
        }
    }
}

impl Drop for ParquetWriter {
    fn drop(&mut self) {
        self.release();
    }
}

impl Writer for ParquetWriter {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        self.release();
        if self.to.locate()? {
            let message =
                format!("{} is a pipe or a device, but a Parquet file is written in places", self.to.path.display());
            return Err(Thrown::of(&["quayline.Configuration"], message).hint("name a file in the property file"));
        }
        self.to.claim()?;
        self.done = None;
        self.open = match checkpoint {
            Some(bytes) if !self.to.partial.exists() && self.is_complete(bytes)? => {
                self.done = Some(bytes.to_vec());
                None
            }
            Some(bytes) => Some(self.resume(bytes)?),
            None => Some(self.begin()?),
        };
        Ok(())
    }

    fn write(&mut self, items: &[Item], _work: &mut dyn Work) -> Answer<()> {
        if items.is_empty() {
            return Ok(());
        }
        let bytes = self.framed(items)?;
        let (pages, warnings) = self.encode(&bytes, items.len() as u64)?;
        if let Some(step) = &self.step {
            warnings.iter().for_each(|finding| note(step, &self.to.path, finding));
        }
        let Some(open) = &mut self.open else { return Err(damaged()) };
        open.rows.append(&bytes)?;
        open.rows_count += items.len() as u64;
        match &mut open.pages {
            Some(kept) if items.len() >= PAGE_ROWS => kept.extend(pages),
            kept => *kept = None,
        }
        Ok(())
    }

    fn isolates(&self) -> bool {
        true
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        if self.done.is_some() {
            return Ok(self.done.as_deref().map(Lent::from));
        }
        if self.open.as_ref().is_some_and(|open| open.rows.length >= self.group_bytes) {
            self.end_group()?;
        }
        let Some(open) = &mut self.open else { return Err(damaged()) };
        open.rows.sync()?;
        let numbers = open.numbers(self.schema, &self.to.partial)?;
        Ok(Some(numbers.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<_>>().into()))
    }

    fn close(&mut self, complete: bool) -> Answer<()> {
        if complete && self.done.is_some() {
            return self.tidy();
        }
        let mark = match &self.open {
            Some(open) if complete => mark_of(&open.numbers(self.schema, &self.to.partial)?),
            _ => {
                self.release();
                return Ok(());
            }
        };
        self.end_group()?;
        let Some(mut open) = self.open.take() else { return Err(damaged()) };
        let file = open.file;
        open.columns.pad(&mark.to_le_bytes()).map_err(|error| self.column_error(error))?;
        open.columns.finish().map_err(|error| self.column_error(error))?;
        file.sync_all().map_err(|error| io(&self.to.partial, "synced", &error))?;
        self.to.take_name()?;
        self.to.sync_names()?;
        self.tidy()?;
        // Only now another may lock the partial file.
        let _ = file.unlock();
        Ok(())
    }
}
