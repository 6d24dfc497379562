//! An output file that is written under a temporary name, with a lock, and renamed when its step completes.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Code, system_error_text};
use xxhash_rust::xxh3::xxh3_64;

use crate::artifact::{Answer, Injected};
use crate::context::{JobContext, StepContext};
use crate::error::Thrown;

/// Number of bytes at each end of a file that identify it.
const END_BYTES: usize = 4 << 10;

/// Location of an output.
pub(super) struct Partial {
    job: Arc<JobContext>,
    step: Option<Arc<StepContext>>,
    /// Path in the job; a symbolic link is followed when the file is opened.
    named: PathBuf,
    /// The file when it is complete.
    pub(super) path: PathBuf,
    /// The file until then.
    pub(super) partial: PathBuf,
}

impl Partial {
    pub(super) fn new(with: &Injected, named: PathBuf) -> Partial {
        let (path, partial) = (named.clone(), named.clone());
        Partial { job: Arc::clone(&with.job), step: with.step.clone(), named, path, partial }
    }

    /// Returns the location of another output of the same step.
    pub(super) fn at(&self, path: PathBuf) -> Partial {
        let (job, step) = (Arc::clone(&self.job), self.step.clone());
        let mut at = Partial { job, step, named: path.clone(), path, partial: PathBuf::new() };
        at.partial = at.beside("");
        at
    }

    /// Resolves the path to a file, which may or may not exist. Returns true for a pipe or a device.
    pub(super) fn locate(&mut self) -> Answer<bool> {
        self.path.clone_from(&self.named);
        if let Ok(target) = std::fs::read_link(&self.named) {
            // A link to nothing is followed by one step: its target is created.
            let beside = self.named.parent().unwrap_or(Path::new("")).join(target);
            self.path = std::fs::canonicalize(&self.named).unwrap_or(beside);
        }
        self.partial = self.beside("");
        match std::fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => {
                let message = format!("{} is a folder", self.path.display());
                Err(Thrown::of(&["java.io.IOException", "quayline.Environment"], message)
                    .hint("name a file in the property file"))
            }
            Ok(found) => Ok(!found.is_file()),
            Err(_) => Ok(false),
        }
    }

    /// Returns the path `FILE.partial` with a suffix.
    pub(super) fn beside(&self, more: &str) -> PathBuf {
        let mut partial = self.path.clone().into_os_string();
        partial.push(".partial");
        partial.push(more);
        partial.into()
    }

    /// Adds to a count about the file, which the job log gets at the end of the step.
    pub(super) fn tally(&self, code: Code, number: u64, after: [&str; 2]) {
        if let Some(step) = self.step.as_ref().filter(|_| number > 0) {
            step.tally(&format!("{}: {code}: ", self.path.display()), number, after);
        }
    }

    /// Refuses a file that another partition of the step writes.
    pub(super) fn claim(&self) -> Answer<()> {
        let Some(step) = &self.step else { return Ok(()) };
        let Some(other) = self.job.claim_output(&self.path, step) else { return Ok(()) };
        let message = format!("partition {other} of step {} writes {} too", step.step, self.path.display());
        Err(Thrown::of(&["quayline.Configuration"], message).hint(
            "give each partition a file of its own, for example with #{partitionPlan['number']} in the property file",
        ))
    }

    /// Opens and locks the partial file. If it was renamed during the wait for the lock, opens the new one.
    pub(super) fn locked(&self, create: bool) -> Answer<File> {
        loop {
            let file = OpenOptions::new().read(true).write(true).create(create).truncate(false).open(&self.partial);
            let file = file.map_err(|error| io(&self.partial, "opened", &error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let message = format!("another step or job writes {}", self.path.display());
                    return Err(Thrown::of(&["quayline.Environment"], message)
                        .hint("give each its own file, or let one end before the other starts"));
                }
                Err(TryLockError::Error(error)) => return Err(io(&self.partial, "locked", &error)),
            }
            let opened = file.metadata().map_err(|error| io(&self.partial, "read", &error))?;
            match std::fs::metadata(&self.partial) {
                Ok(named) if (named.dev(), named.ino()) == (opened.dev(), opened.ino()) => return Ok(file),
                _ if create => {}
                _ => return Err(io(&self.partial, "opened", &std::io::ErrorKind::NotFound.into())),
            }
        }
    }

    /// Gives the complete file its name, which then survives a power cut.
    pub(super) fn take_name(&self) -> Answer<()> {
        std::fs::rename(&self.partial, &self.path).map_err(|error| io(&self.path, "renamed", &error))
    }

    /// Makes the names in the file's folder durable.
    pub(super) fn sync_names(&self) -> Answer<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| io(folder, "synced", &error))
    }
}

pub(super) fn io(path: &Path, doing: &str, error: &std::io::Error) -> Thrown {
    let message = format!("{} cannot be {doing}: {}", path.display(), system_error_text(error));
    Thrown::of(&["java.io.IOException", "quayline.Environment"], message)
        .hint("check the folder, its permissions and its space, then restart the execution")
}

/// Creates the error for a file shorter than its checkpoint requires.
pub(super) fn too_short(path: &Path, found: u64, needed: u64) -> Thrown {
    let message = format!("{} has {found} bytes, but the checkpoint needs {needed}", path.display());
    Thrown::of(&["quayline.Environment"], message)
        .hint("the file was changed after the run stopped: start a new instance of the job")
}

/// Creates the error for a file with other bytes than the execution wrote.
pub(super) fn changed(path: &Path) -> Thrown {
    let message = format!("{} is not as this execution left it", path.display());
    Thrown::of(&["quayline.Environment"], message)
        .hint("another run has written it since: start a new instance of the job, and give each run its own file")
}

/// First and last bytes of the output.
#[derive(Default)]
pub(super) struct Ends {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Ends {
    /// Reads the ends of the first `length` bytes of a file.
    pub(super) fn of(file: &File, length: u64) -> std::io::Result<Ends> {
        let bytes = usize::try_from(length).unwrap_or(usize::MAX).min(END_BYTES);
        let mut ends = Ends { first: vec![0; bytes], last: vec![0; bytes] };
        file.read_exact_at(&mut ends.first, 0)?;
        file.read_exact_at(&mut ends.last, length - bytes as u64)?;
        Ok(ends)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let rest = END_BYTES - self.first.len();
        self.first.extend_from_slice(&bytes[..bytes.len().min(rest)]);
        if bytes.len() >= END_BYTES {
            self.last.clear();
            self.last.extend_from_slice(&bytes[bytes.len() - END_BYTES..]);
        } else {
            let over = (self.last.len() + bytes.len()).saturating_sub(END_BYTES);
            self.last.drain(..over);
            self.last.extend_from_slice(bytes);
        }
    }

    pub(super) fn digest(&self) -> u64 {
        xxh3_64(&self.first).rotate_left(1) ^ xxh3_64(&self.last)
    }
}
