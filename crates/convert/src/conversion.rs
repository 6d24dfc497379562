//! Description of a run: source, target and settings.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quayline_core::{Fault, Finding, Limits, Severity};
use quayline_project::{Schema, SourceFormat, TargetFormat};

use crate::checkpoint_file::{CheckpointFile, States};
use crate::codes;
use crate::{Compression, ConvertError, MapStage, Progress, Report, SyncHook};

/// Settings of a conversion. [`Conversion::run`](crate::Conversion::run) executes it.
///
/// [`Conversion::new`] sets the public fields to defaults.
pub struct Conversion {
    /// Source of the documents.
    pub source: Source,
    /// Target of the documents.
    pub target: Target,
    /// The shape of the documents; the record description(s) for a source or target of records.
    pub schema: Arc<Schema>,
    /// Record description of the target, if both ends are record files with different descriptions. Its shape must be the same
    /// (same copybook and interface, another code page or other policies). `None`: the target uses [`Conversion::schema`].
    pub target_schema: Option<Arc<Schema>>,
    /// A map that every document goes through; its first output goes to [`Conversion::target`]. Without one, source and target have one shape.
    pub map: Option<MapStage>,
    /// Treatment of records that do not convert.
    pub rejects: Rejects,
    /// Checkpoints to write, and the checkpoint to resume from.
    pub checkpoints: Option<Checkpoints>,
    /// Threads that convert, at least 1. One thread runs one loop; the output is the same for any number.
    pub lanes: usize,
    /// Named bounds.
    pub limits: Limits,
    /// Set it to stop the run at the next block. The run completes the blocks that it has read, writes a checkpoint and returns
    /// [`ConvertError::Stopped`].
    pub cancel: Arc<AtomicBool>,
    /// Receiver of progress, called after every block that was written.
    pub progress: Option<Box<dyn Progress>>,
    /// Fault injection at sync points, for crash tests.
    pub sync_hook: Option<Box<dyn SyncHook>>,
    /// Receives the report of a run that ends early, with the counts up to that point.
    pub early: Option<Arc<Mutex<Option<Report>>>>,
}

impl Conversion {
    /// Creates a conversion on one thread that stops at the first record that does not convert, without checkpoints.
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

/// Source of the documents.
pub struct Source {
    /// Name for messages: the path as the user gave it, or `<stdin>`.
    pub name: Arc<str>,
    /// The bytes.
    pub input: Input,
    /// Format of the source.
    pub format: SourceFormat,
}

/// The bytes of a source.
pub enum Input {
    /// A file; it can be resumed when it is a regular file.
    File(PathBuf),
    /// A stream such as standard input; it cannot be resumed.
    Stream(Box<dyn Read + Send>),
    /// A file without a name, such as a stream that was copied: columns are not read from one end to the other.
    Opened(File),
}

/// Target of the documents.
pub struct Target {
    /// The file or stream.
    pub output: Output,
    /// Format of the target.
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
    /// Another output, compressed. Such an output cannot be resumed.
    Compressed(Box<Output>, Compression),
    /// A stream such as standard output. A closed pipe ends the run with [`ConvertError::ClosedPipe`].
    Stream(Box<dyn Write + Send>),
}

/// Treatment of records that do not convert.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Rejects {
    /// The first ends the run with its findings.
    #[default]
    Stop,
    /// Whole records, exactly as in the source, go to `path`, which can be converted again with the same settings. `path` +
    /// `.findings.jsonl` gets the reasons, one finding on each line: record, byte, code, message, path, never the payload. Both have
    /// `.partial` names until the run is complete, like the output.
    File {
        /// The rejects file.
        path: PathBuf,
        /// Maximum number of rejects, beyond which the run ends; `None` is unlimited.
        max: Option<u64>,
    },
}

/// Checkpoints, from which a stopped run resumes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoints {
    /// The checkpoint file; conventionally the output's path + `.checkpoint`. It is deleted when the run is complete.
    pub path: PathBuf,
    /// Source bytes between two; default 256 MiB.
    pub every_bytes: u64,
    /// Time between two checkpoints if bytes arrive slowly; default 30 s. It is checked after each block.
    pub every: Duration,
    /// Start of the run: from the beginning, or from a checkpoint.
    pub start: Start,
    /// Digest of everything outside this crate that shapes the output: copybook text, interface file, policies
    /// (see [`definition_digest`](crate::definition_digest)). A checkpoint of other definitions is refused.
    pub definitions: u64,
    /// Data of the caller that the checkpoint stores; [`Checkpoints::kept`] returns it when the run is resumed.
    pub run: Vec<u8>,
}

impl Checkpoints {
    /// Returns the caller's data in the checkpoint at `path`; `None` without a checkpoint.
    ///
    /// # Errors
    /// The checkpoint cannot be read.
    pub fn kept(path: &Path) -> Result<Option<Vec<u8>>, ConvertError> {
        let Some(checkpoint) = CheckpointFile::new(path).read()? else { return Ok(None) };
        Ok(Some(States::of(&checkpoint.state)?.run))
    }

    /// Resumes from the checkpoint. Without one, the run begins at the start, and this returns a note.
    pub fn resume(&mut self) -> Option<Finding> {
        self.start = Start::Resume;
        let note = || {
            let message =
                format!("{} does not exist, so the run begins at the start of the input", self.path.display());
            let finding = Finding::error(codes::NO_CHECKPOINT, Fault::Caller, message);
            Finding { severity: Severity::Note, ..finding }
        };
        (!self.path.exists()).then(note)
    }

    /// Checkpoints at this path with the default intervals.
    #[must_use]
    pub fn new(path: PathBuf, definitions: u64) -> Self {
        let every = Duration::from_secs(30);
        Checkpoints { path, every_bytes: 256 << 20, every, start: Start::Anew, definitions, run: Vec::new() }
    }
}

/// Start of a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Start {
    /// From the first record. An earlier checkpoint and partial output are overwritten.
    #[default]
    Anew,
    /// From the checkpoint. It must exist and belong to this source and these definitions.
    Resume,
}
