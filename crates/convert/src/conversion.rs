//! What a user asks for: from where, to where, how.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quayline_charset::Charset;
use quayline_core::Limits;
use quayline_edi::guide::GuideDocuments;
use quayline_edi::{EdiWriterOptions, Rules, ValidationLevel};
use quayline_flat::CsvStyle;
use quayline_frame::FramingSpec;
use quayline_xml::XmlStyle;

use crate::engine::checkpoint_file::{CheckpointFile, States};
use crate::{ConvertError, MapStage, Progress, Report, Schema, SyncHook};

/// One conversion: a source, a target and how to go from one to the other. [`Conversion::run`](crate::Conversion::run) does it.
///
/// The fields are public and have plain defaults by [`Conversion::new`]; set what differs.
pub struct Conversion {
    /// Where documents come from.
    pub source: Source,
    /// Where documents go.
    pub target: Target,
    /// The shape of the documents; the record description(s) for a source or target of records.
    pub schema: Arc<Schema>,
    /// Another record description for a *target* of records, where both ends are record files; its shape must be the same
    /// (same copybook and interface, another code page or other policies). `None`: the target uses [`Conversion::schema`].
    pub target_schema: Option<Arc<Schema>>,
    /// A map that every document goes through; its first output goes to [`Conversion::target`]. Without one, source and target have one shape.
    pub map: Option<MapStage>,
    /// What becomes of records that do not convert.
    pub rejects: Rejects,
    /// Whether and how often to write checkpoints; whether to go on from one.
    pub checkpoints: Option<Checkpoints>,
    /// Threads that convert, at least 1. One thread runs one loop; the output is the same for any number.
    pub lanes: usize,
    /// Named bounds.
    pub limits: Limits,
    /// Set it to stop at the next block: what was read is finished, a checkpoint is written, the run ends with
    /// [`ConvertError::Stopped`].
    pub cancel: Arc<AtomicBool>,
    /// Told after every block that was written.
    pub progress: Option<Box<dyn Progress>>,
    /// Fault injection at sync points, for crash tests.
    pub sync_hook: Option<Box<dyn SyncHook>>,
    /// Where the report of a run that ends early goes: what was written until then.
    pub early: Option<Arc<Mutex<Option<Report>>>>,
}

impl Conversion {
    /// A conversion on one thread that stops at the first record that does not convert, without checkpoints.
    #[must_use]
    pub fn new(source: Source, target: Target, schema: Arc<Schema>) -> Self {
        Conversion {
            source,
            target,
            schema,
            target_schema: None,
            map: None,
            rejects: Rejects::Stop,
            checkpoints: None,
            lanes: 1,
            limits: Limits::default(),
            cancel: Arc::new(AtomicBool::new(false)),
            progress: None,
            sync_hook: None,
            early: None,
        }
    }
}

/// Where documents come from.
pub struct Source {
    /// Name for messages: the path as the user gave it, or `<stdin>`.
    pub name: Arc<str>,
    /// The bytes.
    pub input: Input,
    /// How bytes are records or documents.
    pub format: SourceFormat,
}

/// The bytes of a source.
pub enum Input {
    /// A file; it can be resumed when it is a regular file.
    File(PathBuf),
    /// A stream such as standard input; it cannot be resumed.
    Stream(Box<dyn Read + Send>),
}

/// How bytes are records or documents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SourceFormat {
    /// Records in this framing, described by [`Conversion::schema`].
    Records(FramingSpec),
    /// JSON: documents one after another (lines or any white space between them) or one array of documents; which, the first
    /// non-blank byte tells.
    Json(JsonRead),
    /// CSV; with a header its first row names the columns.
    Csv(CsvStyle),
    /// XML: one root element whose children are the documents.
    Xml(XmlStyle),
    /// X12 and EDIFACT: interchanges one after another; a document is a transaction.
    Edi(EdiRead),
}

/// How interchanges are read.
#[derive(Clone)]
pub struct EdiRead {
    /// How departures from the standards are judged.
    pub rules: Rules,
    /// The character set of all interchanges; absent, they name it.
    pub charset: Option<Charset>,
    /// What becomes a document.
    pub documents: EdiDocuments,
    /// Guides, by which transactions become documents of the shape [`Schema::edi_by_guide`]; only for [`EdiDocuments::Transactions`]. Their
    /// digest belongs to [`Checkpoints::definitions`].
    pub guides: Option<Arc<GuideDocuments>>,
    /// How much of a transaction is checked by its guide; one with errors is rejected.
    pub level: ValidationLevel,
    /// Bytes from which on a transaction is converted in pages, each a document of its own with `transaction.page`, so that memory does not
    /// depend on its length. Default 512 KiB: a page and what it becomes, six times as much XML, stay within 32 MiB, on two threads too.
    pub page_bytes: usize,
}

impl Default for EdiRead {
    fn default() -> Self {
        EdiRead {
            rules: Rules::default(),
            charset: None,
            documents: EdiDocuments::default(),
            guides: None,
            level: ValidationLevel::default(),
            page_bytes: 512 << 10,
        }
    }
}

/// Without the guides, whose tables are long.
impl core::fmt::Debug for EdiRead {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("EdiRead")
            .field("rules", &self.rules)
            .field("charset", &self.charset)
            .field("documents", &self.documents)
            .field("by_guide", &self.guides.is_some())
            .field("level", &self.level)
            .field("page_bytes", &self.page_bytes)
            .finish()
    }
}

/// What of an interchange becomes a document.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum EdiDocuments {
    /// A transaction, of the shape [`Schema::edi`].
    #[default]
    Transactions,
    /// A segment, of the shape [`Schema::edi_rows`]: for tables.
    Rows,
}

/// How JSON is read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JsonRead {
    /// Members that the shape does not have are passed over; by default they are errors, since most often a name is misspelt.
    pub ignore_unknown: bool,
}

/// Where documents go.
pub struct Target {
    /// The file or stream.
    pub output: Output,
    /// How documents become bytes.
    pub format: TargetFormat,
}

/// The file or stream of a target.
pub enum Output {
    /// A file. It is written as `PATH.partial` and takes its name only when it is complete and durable, replacing a file of that name.
    File(PathBuf),
    /// A folder that is there: one file a document of JSON lines, XML or EDI, named by its number and, of a transaction, type and control
    /// number. Each is written under a `.partial` name; such a run cannot be resumed, but run again, since the names are the same.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Extension of the files.
        extension: &'static str,
    },
    /// A stream such as standard output. A closed pipe ends the run with [`ConvertError::ClosedPipe`].
    Stream(Box<dyn Write + Send>),
}

/// How documents become bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TargetFormat {
    /// One JSON document a line.
    JsonLines(JsonWrite),
    /// One JSON array of documents, a document a line.
    JsonArray(JsonWrite),
    /// CSV; lists become numbered columns, `NAME[0]`.
    Csv(CsvStyle),
    /// XML: a root element with a child element a document.
    Xml(XmlStyle),
    /// Records in this framing.
    Records(FramingSpec),
    /// A Parquet file.
    Parquet(ParquetWrite),
    /// An Arrow IPC file.
    ArrowFile,
    /// An Arrow IPC stream.
    ArrowStream,
    /// Interchanges of generic documents.
    Edi(EdiWriterOptions),
}

/// How JSON is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JsonWrite {
    /// Numbers that common readers would change.
    pub numbers: JsonNumbers,
}

/// Numbers that readers with 64-bit floats would change: more than 15 significant digits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum JsonNumbers {
    /// As JSON numbers with all digits.
    #[default]
    Exact,
    /// As strings where the field may hold more than 15 digits, so that every value of a field has one type.
    SafeStrings,
    /// Always as strings.
    Strings,
}

/// How Parquet is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ParquetWrite {
    /// Compression of pages.
    pub compression: ParquetCompression,
}

/// Compression of Parquet pages.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ParquetCompression {
    /// Snappy: fast, read everywhere.
    #[default]
    Snappy,
    /// None.
    None,
}

/// What becomes of records that do not convert.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Rejects {
    /// The first ends the run with its findings.
    #[default]
    Stop,
    /// They go whole, as they stand in the source, to `path`, which can be converted again with the same settings; why stands in
    /// `path` + `.findings.jsonl`, one finding a line: record, byte, code, message, path, never the payload. Both are written under
    /// `.partial` names like the output.
    File {
        /// The rejects file.
        path: PathBuf,
        /// More rejects than this end the run; `None` is no bound.
        max: Option<u64>,
    },
}

/// Checkpoints: from where a stopped run goes on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoints {
    /// The checkpoint file; conventionally the output's path + `.checkpoint`. It is deleted when the run is complete.
    pub path: PathBuf,
    /// Source bytes between two; default 256 MiB.
    pub every_bytes: u64,
    /// Time between two, where bytes come slowly; default 30 s. Looked at after each block.
    pub every: Duration,
    /// Begin anew or go on.
    pub start: Start,
    /// Digest of everything outside this crate that shapes the output: copybook text, interface file, policies
    /// (see [`definition_digest`](crate::definition_digest)). A checkpoint of other definitions is refused.
    pub definitions: u64,
    /// What the caller wants to have again when the run goes on: [`Checkpoints::kept`] gives it back.
    pub run: Vec<u8>,
}

impl Checkpoints {
    /// What the run that wrote the checkpoint at `path` kept; `None` where there is no checkpoint.
    ///
    /// # Errors
    /// The checkpoint cannot be read.
    pub fn kept(path: &Path) -> Result<Option<Vec<u8>>, ConvertError> {
        let Some(checkpoint) = CheckpointFile::new(path).read()? else { return Ok(None) };
        Ok(Some(States::of(&checkpoint.state)?.run))
    }

    /// Checkpoints at this path with the default intervals.
    #[must_use]
    pub fn new(path: PathBuf, definitions: u64) -> Self {
        let every = Duration::from_secs(30);
        Checkpoints { path, every_bytes: 256 << 20, every, start: Start::Anew, definitions, run: Vec::new() }
    }
}

/// Begin anew or go on.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Start {
    /// From the first record; an earlier checkpoint and partial output are overwritten.
    #[default]
    Anew,
    /// From the checkpoint. It must exist and belong to this source and these definitions.
    Resume,
}
