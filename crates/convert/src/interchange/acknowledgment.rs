//! The file that acknowledgments go to.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Finding, Place};
use quayline_edi::acknowledge::{
    Acknowledger, AcknowledgmentOptions, AcknowledgmentOutput, AcknowledgmentTally, Held, RecordedEvents,
    ReplayedHeaders,
};
use quayline_edi::{EdiFault, EnvelopePass, Event, Header, Level, Standard};
use quayline_pipeline::Spool;

use crate::engine::partial::PartialFile;
use crate::engine::temporary::TemporaryFolder;
use crate::error::ConvertError;

/// Destination of acknowledgments.
pub enum AcknowledgmentTarget {
    /// A file, under its `.partial` name until all is written.
    File(PathBuf),
    /// A stream such as standard output.
    Stream(Box<dyn Write + Send>),
}

/// Acknowledgments of one source or several, written to a file.
///
/// The acknowledgment of an interchange waits until its end shows whether it is rejected: in memory up to 1 MiB, beyond that in a file without a name.
pub struct AcknowledgmentFile {
    acknowledger: Acknowledger,
    headers: ReplayedHeaders,
    output: Output,
    /// The only standard that is acknowledged, and the reason to refuse others.
    only: Option<(Standard, Finding)>,
    refused: Option<Finding>,
}

/// Returns the only standard that an acknowledgment answers, by its name as in [`AcknowledgmentOptions::by_name`], and the finding about an interchange of
/// the other standard. `None` for `auto`, which answers both. `argument` creates a finding about the argument `--ack`.
pub fn only_standard(kind: &str, argument: impl FnOnce(String) -> Finding) -> Option<(Standard, Finding)> {
    let (standard, other, hint) = match kind {
        "auto" => return None,
        "contrl" => (Standard::Edifact, Standard::X12, "--ack 999 or --ack 997"),
        _ => (Standard::X12, Standard::Edifact, "--ack contrl"),
    };
    let (own, other) = (standard.name(), other.name());
    let finding = argument(format!("`--ack {kind}` acknowledges {own}, and the interchange is {other}"));
    Some((standard, finding.hint(format!("write --ack auto, which answers both standards, or {hint}"))))
}

struct Output {
    out: Out,
    /// Name for messages.
    path: PathBuf,
    /// Folder for text that does not fit in memory: that of the file, or the one for temporary files.
    folder: TemporaryFolder,
    group: Spool,
    interchange: Spool,
    /// First error; nothing is written after it.
    error: Option<io::Error>,
}

enum Out {
    File(PartialFile),
    Stream(Box<dyn Write + Send>),
}

/// Name of an output without a file.
const STREAM: &str = "<output>";

impl AcknowledgmentFile {
    /// Opens the file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(target: AcknowledgmentTarget, options: AcknowledgmentOptions) -> Result<Self, ConvertError> {
        let (out, path) = match target {
            AcknowledgmentTarget::File(path) => {
                let file = PartialFile::create(&path)?;
                let beside = if file.is_stream() { PathBuf::from(STREAM) } else { file.partial().to_owned() };
                (Out::File(file), beside)
            }
            AcknowledgmentTarget::Stream(stream) => (Out::Stream(stream), PathBuf::from(STREAM)),
        };
        let folder = TemporaryFolder(folder_of(&path));
        let output = Output { out, path, folder, group: Spool::default(), interchange: Spool::default(), error: None };
        let (acknowledger, headers) = (Acknowledger::new(options), ReplayedHeaders::default());
        Ok(AcknowledgmentFile { acknowledger, headers, output, only: None, refused: None })
    }

    /// Refuses interchanges of the standard that an acknowledgment does not answer; see [`only_standard`].
    #[must_use]
    pub fn only(mut self, only: Option<(Standard, Finding)>) -> Self {
        self.only = only;
        self
    }

    /// Returns the counts of acknowledged interchanges, groups and transactions so far.
    #[must_use]
    pub fn tally(&self) -> AcknowledgmentTally {
        self.acknowledger.tally()
    }

    #[inline(always)]
    pub(crate) fn event(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: &[EdiFault], source: &Arc<str>) {
        if event == Event::InterchangeStart {
            refuse_other(&self.only, pass.interchange(), source, &mut self.refused);
        }
        if self.refused.is_none() {
            self.acknowledger.event(event, pass, faults, &mut self.output);
        }
    }

    /// Acknowledges a part of the source from the events that were recorded where it was read, with all its faults.
    pub(crate) fn recorded(&mut self, recorded: &RecordedEvents, faults: &[EdiFault], source: &Arc<str>) {
        let AcknowledgmentFile { acknowledger, headers, output, only, refused } = self;
        headers.replay(recorded, faults, &mut |step, faults| {
            if step.event() == Event::InterchangeStart {
                refuse_other(only, step.interchange(), source, refused);
            }
            if refused.is_none() {
                acknowledger.step(step, faults, output);
            }
        });
    }

    /// Returns the first error of the file.
    pub(crate) fn check(&mut self) -> Result<(), ConvertError> {
        if let Some(refused) = self.refused.take() {
            if let Out::File(file) = &self.output.out
                && !file.is_stream()
            {
                // Nothing in the file is of use. If it stays, the next run replaces it.
                let _ = std::fs::remove_file(file.partial());
            }
            return Err(ConvertError::Refused(refused.into()));
        }
        match self.output.error.take() {
            None => Ok(()),
            Some(error) => Err(self.output.as_error(error)),
        }
    }

    /// Makes the file durable and renames it, after the last source.
    ///
    /// # Errors
    /// This, or an earlier write, failed.
    pub fn commit(mut self) -> Result<AcknowledgmentTally, ConvertError> {
        self.check()?;
        let done = match &mut self.output.out {
            Out::Stream(stream) => stream.flush(),
            Out::File(file) => file.sync().and_then(|()| file.rename()).and_then(|()| file.sync_folder()),
        };
        done.map_err(|error| self.output.as_error(error))?;
        Ok(self.tally())
    }
}

/// Refuses an interchange of another standard than the only one.
fn refuse_other(only: &Option<(Standard, Finding)>, header: &Header, source: &Arc<str>, refused: &mut Option<Finding>) {
    if let Some((standard, refusal)) = only
        && header.delimiters().standard != *standard
    {
        let place = || Place { file: Some(Arc::clone(source)), byte: Some(header.position().byte), ..Place::default() };
        refused.get_or_insert_with(|| refusal.clone().at(place()));
    }
}

impl Output {
    fn as_error(&self, error: io::Error) -> ConvertError {
        match &self.out {
            Out::Stream(_) if error.kind() == io::ErrorKind::BrokenPipe => ConvertError::ClosedPipe,
            Out::File(file) if file.is_stream() && error.kind() == io::ErrorKind::BrokenPipe => {
                ConvertError::ClosedPipe
            }
            Out::Stream(_) => ConvertError::io("write", &self.path)(error),
            Out::File(file) => ConvertError::io("write", file.partial())(error),
        }
    }

    fn attempt(&mut self, work: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.error.is_none()
            && let Err(error) = work(self)
        {
            self.error = Some(error);
        }
    }
}

impl AcknowledgmentOutput for Output {
    fn hold(&mut self, level: Level, text: &[u8]) {
        self.attempt(|output| {
            let spool = match level {
                Level::Interchange => &mut output.interchange,
                Level::Group | Level::Transaction => &mut output.group,
            };
            spool.push(text, &output.folder)
        });
    }

    fn release(&mut self, level: Level, head: &[u8], held: Held, tail: &[u8]) {
        self.attempt(|output| match level {
            Level::Interchange => {
                let (spool, out) = (&mut output.interchange, &mut output.out);
                let mut put = |text: &[u8]| match out {
                    Out::File(file) => file.write_all(text),
                    Out::Stream(stream) => stream.write_all(text),
                };
                put(head)?;
                release(spool, held, &mut put)?;
                put(tail)
            }
            Level::Group | Level::Transaction => {
                let (spool, around) = (&mut output.group, &mut output.interchange);
                let mut put = |text: &[u8]| around.push(text, &output.folder);
                put(head)?;
                release(spool, held, &mut put)?;
                put(tail)
            }
        });
    }
}

/// Writes the held bytes, or drops them. The spool is empty afterwards.
fn release(spool: &mut Spool, held: Held, put: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    if held == Held::Keep {
        spool.read(0, &mut *put)?;
    }
    spool.truncate(0)
}

/// Returns the folder of a file if it has one, since the user has room for output there.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() && path != Path::new(STREAM) => PathBuf::from("."),
        Some(folder) if folder.is_dir() => folder.to_owned(),
        _ => std::env::temp_dir(),
    }
}
