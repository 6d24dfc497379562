//! Documents of a source one by one, for callers that save a position after each: batch jobs.
//!
//! ```text
//! file ─▶ BlockReader ─▶ block of documents ─▶ one document, with its framing, header row or root element ─▶ bytes for UnitLane::run
//! file ─▶ DocumentReader ─▶ transactions ─▶ one transaction, in its own interchange ───────────────────────▶
//! ```
//!
//! A position consists of the beginning of a block and the number of its documents that were returned, so the cutters need no state between two
//! documents. For interchanges it is the last point between two documents at which the reader could be copied. The format of
//! [`DocumentsPlace::to_bytes`] is:
//!
//! ```text
//! 1 byte   version, 1
//! 8 bytes  offset of the block, little-endian, like the others
//! 8 bytes  number of its first document, from 1
//! 8 bytes  state of the cutter
//! 8 bytes  number of documents of the block that were returned
//! rest     for interchanges: state of the reader
//! ```

use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use quayline_core::{ByteOffset, Fault, Finding, Findings, Limits, RecordNumber, Severity};
use quayline_edi::{DocumentReader, DocumentStep, EndOfInput, ExcerptWriter};
use quayline_flat::Header;
use quayline_project::{JsonWrite, Schema, SourceFormat, TargetFormat};

use crate::block::{Block, Position};
use crate::block_reader::{BlockRead, BlockReader};
use crate::codes;
use crate::csv_header::read_csv_header;
use crate::error::PipelineError;
use crate::lot::FINDINGS_A_LOT;
use crate::reject::RejectForm;
use crate::source_head::SourceHead;
use crate::unit::Pipeline;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Version of a place. Version 1 had splitter states without packages of EDIFACT.
const VERSION: u8 = 2;
const HEAD: usize = 1 + 4 * 8;

/// A source that can be read again from a place.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// Position of a document in its source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DocumentPlace {
    /// Number of the document, from 1.
    pub number: RecordNumber,
    /// Position of its first byte; for documents inside a stream, the beginning of the block that contains it.
    pub offset: ByteOffset,
}

/// A point between two documents of a source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DocumentsPlace {
    offset: u64,
    next: u64,
    state: u64,
    given: u64,
    reader: Vec<u8>,
}

impl DocumentsPlace {
    /// The beginning of a source.
    pub const START: DocumentsPlace = DocumentsPlace { offset: 0, next: 1, state: 0, given: 0, reader: Vec::new() };

    /// Returns the number of bytes of the source before the block that this position is in.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Encodes the position.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for number in [self.offset, self.next, self.state, self.given] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.reader);
        bytes
    }

    /// Decodes the output of [`DocumentsPlace::to_bytes`]; `None` for other bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, reader) = bytes.split_at_checked(HEAD)?;
        let (version, numbers) = head.split_first()?;
        let mut numbers = numbers.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let place = DocumentsPlace {
            offset: numbers.next()?,
            next: numbers.next()?,
            state: numbers.next()?,
            given: numbers.next()?,
            reader: reader.to_vec(),
        };
        (*version == VERSION).then_some(place)
    }
}

/// Result of [`Documents::next`].
#[derive(Debug)]
pub enum Next {
    /// A document; its bytes are a whole file of the source's format.
    Document(DocumentPlace),
    /// A faulty document, or a fault between two documents. The following documents can be read.
    Wrong(DocumentPlace, Findings),
    /// The rest of the source cannot be read. Every further call returns the same.
    Lost(Findings),
    /// The source has ended.
    End,
}

/// Reads a source document by document.
pub struct Documents<'p> {
    feed: Feed<'p>,
    /// Warnings about the head of the source.
    warnings: Vec<Finding>,
    lost: Option<Findings>,
}

enum Feed<'p> {
    Blocks(Box<Blocks<'p>>),
    Interchanges(Box<Interchanges<'p>>),
}

impl Pipeline {
    /// Creates a pipeline that only supports [`Pipeline::documents`].
    ///
    /// # Errors
    /// A source that does not match the schema, or a source of columns, whose rows have no bytes.
    pub fn of_source(source: SourceFormat, schema: Arc<Schema>, limits: Limits) -> Result<Pipeline, Findings> {
        if let SourceFormat::Columns(_) = source {
            let message = "rows of columns are not documents that can be cut out of their file";
            let finding = Finding::error(codes::COLUMNS_OF_UNIT, Fault::Config, message);
            return Err(finding.hint("read Parquet files with the reader for them").into());
        }
        Pipeline::new(source, schema, TargetFormat::JsonLines(JsonWrite::default()), limits)
    }

    /// Returns the complete documents of `file` from the position `from` on, up to the maximum record length. `name` names the file in findings.
    ///
    /// # Errors
    /// A file that cannot be read, a header that does not match, or a position that does not belong to this source.
    pub fn documents<'p>(
        &'p self,
        mut file: Box<dyn Source + 'p>,
        name: &Arc<str>,
        from: &DocumentsPlace,
    ) -> Result<Documents<'p>, Findings> {
        let ends = self.ends();
        let read = |error: std::io::Error| PipelineError::io("read", &**name)(error).findings();
        let mut position = Position::at(ByteOffset(from.offset), RecordNumber(from.next), from.state);
        let mut head = None;
        if let SourceFormat::Csv(style) = ends.source
            && style.header != Header::Absent
        {
            file.rewind().map_err(read)?;
            let io_error = PipelineError::io("read", &**name);
            let found = read_csv_header(Box::new(&mut file), *style, ends.limits, name, io_error);
            let (header, _) = found.map_err(|error| error.findings())?;
            if let Some(header) = &header
                && from.offset == 0
            {
                position = header.behind.clone();
            }
            head = header.map(SourceHead::Csv);
        }
        let warnings = ends.head_warnings(head.as_ref())?;
        let feed = if let SourceFormat::Edi(_) = ends.source {
            let at = (!from.reader.is_empty()).then_some((position.offset, &from.reader[..]));
            let reader = ends.envelope_reader(at).ok_or_else(|| damaged(name))?;
            file.seek(SeekFrom::Start(from.offset)).map_err(read)?;
            Feed::Interchanges(Box::new(Interchanges::new(file, reader, from, ends.limits, name)))
        } else {
            file.seek(SeekFrom::Start(position.offset.0)).map_err(read)?;
            let first_row = head.as_ref().and_then(SourceHead::csv).map(|header| &header.raw[..]);
            let cutter = ends.cutter(&position, first_row, name).map_err(|error| error.findings())?;
            let form = ends.reject_form(head.as_ref()).map_err(|error| error.findings())?;
            Feed::Blocks(Box::new(Blocks {
                block_reader: BlockReader::new(Box::new(file), cutter, READ_BYTES, ends.limits),
                block: ends.block(),
                prologue: form.prologue(),
                form,
                is_json: matches!(ends.source, SourceFormat::Json(_)),
                name: Arc::clone(name),
                at: 0,
                count: 0,
                behind: None,
                block_at: position,
                is_at_end: false,
            }))
        };
        let mut documents = Documents { feed, warnings, lost: None };
        // The documents before the place were given.
        let mut unread = Vec::new();
        for _ in 0..from.given {
            match documents.next(&mut unread) {
                Next::Document(_) | Next::Wrong(..) => {}
                Next::Lost(findings) => return Err(findings),
                Next::End => return Err(damaged(name)),
            }
        }
        Ok(documents)
    }
}

/// Creates the findings for a position that does not belong to the source or to its current content.
fn damaged(name: &Arc<str>) -> Findings {
    let message = format!("the place in {name} at which to continue does not exist in it");
    let finding = Finding::error(codes::PLACE, Fault::Config, message);
    finding.hint("restore the file and the definitions that were there when the place was kept, or begin again").into()
}

impl Documents<'_> {
    /// Puts the next document into `document`.
    pub fn next(&mut self, document: &mut Vec<u8>) -> Next {
        document.clear();
        if let Some(lost) = &self.lost {
            return Next::Lost(lost.clone());
        }
        let next = match &mut self.feed {
            Feed::Blocks(blocks) => blocks.next(document),
            Feed::Interchanges(interchanges) => interchanges.next(document),
        };
        if let Next::Lost(findings) = &next {
            self.lost = Some(findings.clone());
        }
        next
    }

    /// Warnings about the head of the source, such as columns that its shape does not have.
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }

    /// Returns the position after the document that was returned last.
    #[must_use]
    pub fn place(&self) -> DocumentsPlace {
        match &self.feed {
            Feed::Blocks(blocks) => blocks.place(),
            Feed::Interchanges(interchanges) => interchanges.place(),
        }
    }
}

struct Blocks<'p> {
    block_reader: BlockReader<'p>,
    block: Block,
    prologue: Vec<u8>,
    form: RejectForm,
    is_json: bool,
    name: Arc<str>,
    /// Number of documents of the block that were returned.
    at: usize,
    count: usize,
    /// Fault after the block's documents.
    behind: Option<Next>,
    block_at: Position,
    is_at_end: bool,
}

impl Blocks<'_> {
    fn next(&mut self, document: &mut Vec<u8>) -> Next {
        loop {
            if self.at < self.count {
                document.extend_from_slice(&self.prologue);
                let from = document.len();
                self.form.append(&self.block, self.at, document);
                if self.is_json && document[from..].trim_ascii_start().starts_with(b"[") {
                    // Alone, an array would be a file whose documents are its elements.
                    document.insert(from, b'[');
                    document.push(b']');
                }
                document.extend_from_slice(self.form.epilogue());
                let place = DocumentPlace { number: self.block.number(self.at), offset: self.block.offset(self.at) };
                self.at += 1;
                return Next::Document(place);
            }
            if let Some(behind) = self.behind.take() {
                self.at += 1;
                return behind;
            }
            if self.is_at_end {
                return Next::End;
            }
            let never = AtomicBool::new(false);
            let taken = match self.block_reader.take(&mut self.block, &never) {
                Ok(taken) => taken,
                Err(error) => return Next::Lost(PipelineError::io("read", &*self.name)(error).findings()),
            };
            if let BlockRead::End | BlockRead::Stopped = taken {
                self.is_at_end = true;
                return Next::End;
            }
            (self.at, self.count) = (0, self.block.len());
            self.block_at = self.block.before.clone();
            self.behind = match taken {
                BlockRead::Torn { finding, .. } => {
                    let number = RecordNumber(self.block.before.next.0 + self.count as u64);
                    let place = DocumentPlace { number, offset: self.block.after.offset };
                    Some(Next::Wrong(place, finding.into()))
                }
                BlockRead::Lost(finding) => Some(Next::Lost(finding.into())),
                _ => None,
            };
        }
    }

    fn place(&self) -> DocumentsPlace {
        DocumentsPlace {
            offset: self.block_at.offset.0,
            next: self.block_at.next.0,
            state: self.block_at.state,
            given: self.at as u64,
            reader: Vec::new(),
        }
    }
}

struct Interchanges<'p> {
    file: Box<dyn Source + 'p>,
    reader: DocumentReader,
    name: Arc<str>,
    limits: Limits,
    /// Bytes from the first that a document may still need; `base` is the first one's place in the file.
    bytes: Vec<u8>,
    base: u64,
    /// Bytes that the reader is done with.
    passed: usize,
    /// True if the last scan reached the end of the buffered bytes.
    needs_more: bool,
    is_drained: bool,
    is_at_end: bool,
    /// Number of the next document.
    number: u64,
    /// Results not yet returned: the bytes of a document, or its findings.
    found: VecDeque<(DocumentPlace, Result<Vec<u8>, Findings>)>,
    /// Errors that belong to the open document, or between the last document and the next. Only the next document decides, so that the results do not
    /// depend on where a read ends.
    early: Vec<Finding>,
    /// Position of the last copy of the reader, and the number of documents returned since.
    kept: DocumentsPlace,
    given: u64,
}

impl<'p> Interchanges<'p> {
    fn new(
        file: Box<dyn Source + 'p>,
        reader: DocumentReader,
        from: &DocumentsPlace,
        limits: &Limits,
        name: &Arc<str>,
    ) -> Self {
        Interchanges {
            file,
            reader,
            name: Arc::clone(name),
            limits: limits.clone(),
            bytes: Vec::new(),
            base: from.offset,
            passed: 0,
            needs_more: true,
            is_drained: false,
            is_at_end: false,
            number: from.next,
            found: VecDeque::new(),
            early: Vec::new(),
            kept: DocumentsPlace { given: 0, ..from.clone() },
            given: 0,
        }
    }

    fn next(&mut self, document: &mut Vec<u8>) -> Next {
        loop {
            if let Some((place, found)) = self.found.pop_front() {
                self.given += 1;
                return match found {
                    Ok(bytes) => {
                        *document = bytes;
                        Next::Document(place)
                    }
                    Err(findings) => Next::Wrong(place, findings),
                };
            }
            if self.is_at_end {
                return Next::End;
            }
            self.keep_place();
            if let Err(lost) = self.look() {
                return Next::Lost(lost);
            }
        }
    }

    /// Copies the reader if it is between two documents and all results were returned, including errors before the next document.
    fn keep_place(&mut self) {
        let at = self.base + self.passed as u64;
        if at == self.kept.offset || !self.early.is_empty() {
            return;
        }
        if let Some(state) = self.reader.state() {
            self.kept = DocumentsPlace { offset: at, next: self.number, state: 0, given: 0, reader: state };
            self.given = 0;
        }
    }

    /// Scans the buffered bytes, after reading more if necessary. A scan that begins inside a document ends after it, where the reader can be copied,
    /// so the saved position is always recent.
    fn look(&mut self) -> Result<(), Findings> {
        let was_open = self.reader.open_since().is_some();
        if self.needs_more {
            self.read()?;
        }
        let end = if self.is_drained { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = self.reader.over(&self.bytes[self.passed..], end);
        loop {
            let step = pass.skip();
            for fault in pass.take_faults() {
                let mut finding = fault.finding(Some(&self.name));
                finding.place.record = Some(RecordNumber(self.number));
                if finding.severity == Severity::Error && self.early.len() < FINDINGS_A_LOT {
                    self.early.push(finding);
                }
            }
            match step {
                DocumentStep::Document { from, to, is_transaction, errors, .. } => {
                    let place = DocumentPlace { number: RecordNumber(self.number), offset: from };
                    // Faults before the document, for example of a group, do not belong to the document.
                    if errors == 0 && !self.early.is_empty() {
                        self.found.push_back((place, Err(Findings(core::mem::take(&mut self.early)))));
                    }
                    let range = (from.0.saturating_sub(self.base), to.0.saturating_sub(self.base));
                    let range = usize::try_from(range.0).unwrap_or(0)..usize::try_from(range.1).unwrap_or(0);
                    let raw = self.bytes.get(range).unwrap_or_default();
                    let found = if errors == 0 {
                        let (mut writer, mut document) = (ExcerptWriter::new(), Vec::with_capacity(raw.len() + 512));
                        writer.add(&pass.surroundings(), is_transaction, raw, &mut document);
                        writer.finish(&mut document);
                        Ok(document)
                    } else {
                        Err(Findings(core::mem::take(&mut self.early)))
                    };
                    self.found.push_back((place, found));
                    self.number += 1;
                    self.needs_more = false;
                    if was_open && pass.is_between() {
                        break;
                    }
                }
                DocumentStep::NeedMore | DocumentStep::Done => {
                    self.is_at_end = step == DocumentStep::Done;
                    self.needs_more = true;
                    if self.is_at_end && !self.early.is_empty() {
                        let offset = ByteOffset(self.base + (self.passed + pass.consumed()) as u64);
                        let place = DocumentPlace { number: RecordNumber(self.number), offset };
                        self.found.push_back((place, Err(Findings(core::mem::take(&mut self.early)))));
                    }
                    break;
                }
            }
        }
        self.passed += pass.finish();
        Ok(())
    }

    /// Reads more bytes, and discards those that no document needs.
    fn read(&mut self) -> Result<(), Findings> {
        let open = self.reader.open_since().map(|since| since.0.saturating_sub(self.base));
        let first = open.and_then(|open| usize::try_from(open).ok()).unwrap_or(self.passed).min(self.passed);
        self.bytes.drain(..first);
        self.base += first as u64;
        self.passed -= first;
        let most = self.limits.record_bytes_max;
        if self.passed > most {
            let message = format!("a transaction has more than {most} bytes");
            let mut finding = Finding::error(codes::LONG_DOCUMENT, Fault::Sender, message);
            finding.place.file = Some(Arc::clone(&self.name));
            finding.place.byte = Some(ByteOffset(self.base));
            finding.place.record = Some(RecordNumber(self.number));
            return Err(finding.hint("raise the limit `record-bytes`, if there is memory for it").into());
        }
        let mut wanted = READ_BYTES;
        while wanted > 0 && !self.is_drained {
            let before = self.bytes.len();
            self.bytes.resize(before + wanted, 0);
            let read = self.file.read(&mut self.bytes[before..]);
            self.bytes.truncate(before + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => self.is_drained = true,
                Ok(count) => wanted -= count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(PipelineError::io("read", &*self.name)(error).findings()),
            }
        }
        Ok(())
    }

    fn place(&self) -> DocumentsPlace {
        DocumentsPlace { given: self.given, ..self.kept.clone() }
    }
}
