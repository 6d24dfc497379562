//! The file that acknowledgments go to.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentOptions, AcknowledgmentOutput, AcknowledgmentTally, Held};
use quayline_edi::{EdiFault, EnvelopePass, Event, Level};

use crate::engine::destination::with_suffix;
use crate::engine::partial::PartialFile;
use crate::error::ConvertError;

/// Where acknowledgments are written.
pub enum AcknowledgmentTarget {
    /// A file, under its `.partial` name until all is written.
    File(PathBuf),
    /// A stream such as standard output.
    Stream(Box<dyn Write + Send>),
}

/// Acknowledgments of one source or several, on their way to a file.
///
/// What is said of an interchange is held until its end tells whether it is rejected: in memory up to 1 MiB, beyond in a file that has no name.
pub struct AcknowledgmentFile {
    acknowledger: Acknowledger,
    output: Output,
}

struct Output {
    out: Out,
    /// Beside what is held; [`STREAM`] where that is no file.
    path: PathBuf,
    group: Hold,
    interchange: Hold,
    /// What went wrong first; nothing is written behind it.
    error: Option<io::Error>,
}

enum Out {
    File(PartialFile),
    Stream(Box<dyn Write + Send>),
}

/// Text that is held.
#[derive(Default)]
struct Hold {
    memory: Vec<u8>,
    /// What came before `memory`.
    file: Option<File>,
}

/// The name of what has none.
const STREAM: &str = "<output>";

/// Bytes held in memory.
const MEMORY_BYTES: usize = 1 << 20;

impl AcknowledgmentFile {
    /// Opens it.
    ///
    /// # Errors
    /// Where the file cannot be made.
    pub fn create(target: AcknowledgmentTarget, options: AcknowledgmentOptions) -> Result<Self, ConvertError> {
        let (out, path) = match target {
            AcknowledgmentTarget::File(path) => {
                let file = PartialFile::create(&path)?;
                let beside = if file.is_stream() { PathBuf::from(STREAM) } else { file.partial().to_owned() };
                (Out::File(file), beside)
            }
            AcknowledgmentTarget::Stream(stream) => (Out::Stream(stream), PathBuf::from(STREAM)),
        };
        let output = Output { out, path, group: Hold::default(), interchange: Hold::default(), error: None };
        Ok(AcknowledgmentFile { acknowledger: Acknowledger::new(options), output })
    }

    /// What was acknowledged so far.
    #[must_use]
    pub fn tally(&self) -> AcknowledgmentTally {
        self.acknowledger.tally()
    }

    #[inline(always)]
    pub(crate) fn event(&mut self, event: Event, pass: &EnvelopePass<'_>, faults: &[EdiFault]) {
        self.acknowledger.event(event, pass, faults, &mut self.output);
    }

    /// What went wrong with the file, if something did.
    pub(crate) fn check(&mut self) -> Result<(), ConvertError> {
        match self.output.error.take() {
            None => Ok(()),
            Some(error) => Err(self.output.as_error(error)),
        }
    }

    /// Makes the file durable and gives it its name; behind the last source.
    ///
    /// # Errors
    /// Where that, or an earlier write, did not work.
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
            let (path, hold) = match level {
                Level::Interchange => (with_suffix(&output.path, ".held"), &mut output.interchange),
                Level::Group | Level::Transaction => (with_suffix(&output.path, ".held-group"), &mut output.group),
            };
            hold.push(text, &path)
        });
    }

    fn release(&mut self, level: Level, head: &[u8], held: Held, tail: &[u8]) {
        self.attempt(|output| {
            let path = with_suffix(&output.path, ".held");
            match level {
                Level::Interchange => {
                    let (hold, out) = (&mut output.interchange, &mut output.out);
                    let mut put = |text: &[u8]| match out {
                        Out::File(file) => file.write_all(text),
                        Out::Stream(stream) => stream.write_all(text),
                    };
                    put(head)?;
                    hold.release(held, &mut put)?;
                    put(tail)
                }
                Level::Group | Level::Transaction => {
                    let (hold, around) = (&mut output.group, &mut output.interchange);
                    let mut put = |text: &[u8]| around.push(text, &path);
                    put(head)?;
                    hold.release(held, &mut put)?;
                    put(tail)
                }
            }
        });
    }
}

impl Hold {
    fn push(&mut self, text: &[u8], path: &Path) -> io::Result<()> {
        self.memory.extend_from_slice(text);
        if self.memory.len() <= MEMORY_BYTES {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(nameless(path)?),
        };
        file.write_all(&self.memory)?;
        self.memory.clear();
        Ok(())
    }

    fn release(&mut self, held: Held, put: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
            if held == Held::Keep {
                let mut buffer = vec![0; 64 << 10];
                loop {
                    match file.read(&mut buffer)? {
                        0 => break,
                        n => put(&buffer[..n])?,
                    }
                }
            }
            file.seek(SeekFrom::Start(0))?;
            file.set_len(0)?;
        }
        if held == Held::Keep {
            put(&self.memory)?;
        }
        self.memory.clear();
        Ok(())
    }
}

/// A file beside the output, or among temporary files, that is gone when it is closed, however the process ends.
fn nameless(path: &Path) -> io::Result<File> {
    let path = if path.starts_with(STREAM)
        || path.parent().is_none_or(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
    {
        std::env::temp_dir().join(format!("quayline-{}", std::process::id()))
    } else {
        path.to_owned()
    };
    let unique = with_suffix(&path, &format!(".{}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&unique)?;
    std::fs::remove_file(&unique)?;
    Ok(file)
}
