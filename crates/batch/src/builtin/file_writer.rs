//! `quayline.fileWriter`: items in a file that is cut back to the last checkpoint when the step continues.
//!
//! The file is written as `FILE.partial`, under a lock, and takes its name when the step completes. The checkpoint has 24 bytes: length of the file,
//! number of items, and a digest of the file's ends, so that a step never continues in a file that another run has written. What a checkpoint counts
//! is synced to the disk before the checkpoint commits. A pipe or a device is written directly: it cannot be cut back.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Limits, system_error_text};
use quayline_frame::{Framer, FramerOptions, FramingSpec};
use xxhash_rust::xxh3::xxh3_64;

use super::file_reader::{damaged, numbers};
use super::limits::limits;
use crate::artifact::{Answer, Injected, Item, Writer};
use crate::context::{JobContext, StepContext};
use crate::error::Thrown;
use crate::work::Work;

/// Bytes at each end of a file that tell it from others.
const END_BYTES: usize = 4 << 10;

pub(super) struct FileWriter {
    job: Arc<JobContext>,
    step: Option<Arc<StepContext>>,
    /// As the job names it; a symbolic link is followed when the file is opened.
    named: PathBuf,
    path: PathBuf,
    partial: PathBuf,
    /// `None` writes items as they are.
    framing: Option<FramingSpec>,
    limits: Limits,
    /// Fills records of one length.
    pad: Option<u8>,
    prologue: Vec<u8>,
    separator: Vec<u8>,
    epilogue: Vec<u8>,
    file: Option<File>,
    /// Whether `file` is a pipe or a device.
    is_stream: bool,
    framer: Option<Framer>,
    length: u64,
    items: u64,
    synced: u64,
    ends: Ends,
    buffer: Vec<u8>,
}

/// The first and the last bytes of what was written.
#[derive(Default)]
struct Ends {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Ends {
    /// Of the first `length` bytes of a file.
    fn of(file: &File, length: u64) -> std::io::Result<Ends> {
        let bytes = usize::try_from(length).unwrap_or(usize::MAX).min(END_BYTES);
        let mut ends = Ends { first: vec![0; bytes], last: vec![0; bytes] };
        file.read_exact_at(&mut ends.first, 0)?;
        file.read_exact_at(&mut ends.last, length - bytes as u64)?;
        Ok(ends)
    }

    fn add(&mut self, bytes: &[u8]) {
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

    fn digest(&self) -> u64 {
        xxh3_64(&self.first).rotate_left(1) ^ xxh3_64(&self.last)
    }
}

impl FileWriter {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        with.only(&["file", "framing", "pad", "prologue", "separator", "epilogue", "limit"])?;
        let named = with.path("file")?;
        let framing = match with.property("framing").unwrap_or("lines") {
            "none" => None,
            framing => {
                let spec = FramingSpec::parse(framing).map_err(|error| Thrown::from_finding(&error.finding()))?;
                let spec = framing_of(spec);
                Some(spec.map_err(|(what, remedy)| Thrown::property(&with.name, "framing", what, remedy))?)
            }
        };
        let pad = with.property("pad").map(|text| {
            pad_of(text).ok_or_else(|| {
                let remedy = "write one ASCII character, space, or a byte as 0x40";
                Thrown::property(&with.name, "pad", "is not one byte", remedy)
            })
        });
        let text = |name: &str| with.property(name).map_or_else(Vec::new, escaped);
        Ok(FileWriter {
            job: Arc::clone(&with.job),
            step: with.step.clone(),
            path: named.clone(),
            partial: named.clone(),
            named,
            framing,
            limits: limits(with)?,
            pad: pad.transpose()?,
            prologue: text("prologue"),
            separator: text("separator"),
            epilogue: text("epilogue"),
            file: None,
            is_stream: false,
            framer: None,
            length: 0,
            items: 0,
            synced: 0,
            ends: Ends::default(),
            buffer: Vec::new(),
        })
    }

    /// Gives the file up. A process that is being started may have a copy of its handle for a moment, so closing alone would not free the lock.
    fn release(&mut self) {
        if let Some(file) = self.file.take()
            && !self.is_stream
        {
            // Where locks are not supported, none was taken.
            let _ = file.unlock();
        }
    }

    fn append(&mut self) -> Answer<()> {
        let Some(file) = &mut self.file else { return Err(damaged()) };
        if let Err(error) = file.write_all(&self.buffer) {
            if self.is_stream {
                return Err(io(&self.path, "written", &error));
            }
            // Whatever part of it was written goes, so that the next call begins where this one did.
            let undone = file.set_len(self.length).and_then(|()| file.seek(SeekFrom::Start(self.length)).map(|_| ()));
            return Err(io(&self.partial, "written", &undone.err().unwrap_or(error)));
        }
        self.ends.add(&self.buffer);
        self.length += self.buffer.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Answer<()> {
        if self.synced != self.length
            && !self.is_stream
            && let Some(file) = &self.file
        {
            file.sync_data().map_err(|error| io(&self.partial, "synced", &error))?;
            self.synced = self.length;
        }
        Ok(())
    }

    /// Finds what the name leads to: a file, which may be there or not, or a pipe or device.
    fn locate(&mut self) -> Answer<()> {
        self.path.clone_from(&self.named);
        if let Ok(target) = std::fs::read_link(&self.named) {
            // A link to nothing is followed by one step: its target is created.
            let beside = self.named.parent().unwrap_or(Path::new("")).join(target);
            self.path = std::fs::canonicalize(&self.named).unwrap_or(beside);
        }
        let mut partial = self.path.clone().into_os_string();
        partial.push(".partial");
        self.partial = partial.into();
        self.is_stream = match std::fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => {
                let message = format!("{} is a folder", self.path.display());
                return Err(Thrown::of(&["java.io.IOException", "quayline.Environment"], message)
                    .hint("name a file in the property file"));
            }
            Ok(found) => !found.is_file(),
            Err(_) => false,
        };
        Ok(())
    }

    /// Refuses a file that another partition of the step writes.
    fn claim(&self) -> Answer<()> {
        let Some(step) = &self.step else { return Ok(()) };
        let Some(other) = self.job.claim_output(&self.path, step) else { return Ok(()) };
        let message = format!("partition {other} of step {} writes {} too", step.step, self.path.display());
        Err(Thrown::of(&["quayline.Configuration"], message).hint(
            "give each partition a file of its own, for example with #{partitionPlan['number']} in the property file",
        ))
    }

    /// The partial file, locked. A file that took its name while this waited for the lock is not it.
    fn locked(&self, create: bool) -> Answer<File> {
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

    fn open_stream(&mut self, checkpoint: Option<[u64; 2]>) -> Answer<()> {
        match checkpoint {
            Some([length, items]) if self.file.is_some() && length == self.length && items == self.items => Ok(()),
            Some(_) => {
                let message = format!(
                    "{} is a pipe or a device: what was written there cannot be taken back",
                    self.path.display()
                );
                Err(Thrown::of(&["quayline.Environment"], message)
                    .hint("start the job anew, or write a file and send it afterwards"))
            }
            None => {
                let file = OpenOptions::new().write(true).open(&self.path);
                self.file = Some(file.map_err(|error| io(&self.path, "opened", &error))?);
                Ok(())
            }
        }
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        self.release();
    }
}

/// One byte: `0x40`, `space` or a character.
/// A framing in which a job can write; otherwise what is wrong, and what to do.
pub(super) fn framing_of(spec: FramingSpec) -> Result<FramingSpec, (&'static str, &'static str)> {
    match spec {
        FramingSpec::MicroFocus => Err((
            "cannot be written by a job",
            "write another framing; the header of a Micro Focus file describes the whole file, so that it cannot be continued",
        )),
        spec => Ok(spec),
    }
}

pub(super) fn pad_of(text: &str) -> Option<u8> {
    match (text.strip_prefix("0x"), text.as_bytes()) {
        (Some(digits), _) if digits.len() == 2 => u8::from_str_radix(digits, 16).ok(),
        (None, b"space") => Some(b' '),
        (None, [byte]) => Some(*byte),
        _ => None,
    }
}

impl Writer for FileWriter {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        let limits = self.limits.clone();
        self.framer = match &self.framing {
            Some(spec) => {
                let options = FramerOptions { pad: self.pad.unwrap_or_default(), ..FramerOptions::default() };
                let framer = Framer::new(spec, options, &limits);
                Some(framer.map_err(|error| Thrown::from_finding(&error.finding()))?)
            }
            None => None,
        };
        self.locate()?;
        self.claim()?;
        // Checkpoints of earlier versions have no digest.
        let known = checkpoint.map(|bytes| match numbers::<3>(bytes) {
            Some([length, items, digest]) => Ok(([length, items], Some(digest))),
            None => numbers::<2>(bytes).map(|numbers| (numbers, None)).ok_or_else(damaged),
        });
        let known = known.transpose()?;
        if self.is_stream {
            self.open_stream(known.map(|(numbers, _)| numbers))?;
        }
        let Some(([length, items], digest)) = known else {
            if !self.is_stream {
                let file = self.locked(true)?;
                file.set_len(0).map_err(|error| io(&self.partial, "cut back", &error))?;
                self.file = Some(file);
            }
            (self.length, self.items, self.synced, self.ends) = (0, 0, 0, Ends::default());
            self.buffer.clear();
            self.buffer.extend_from_slice(&self.prologue);
            return self.append();
        };
        if self.is_stream {
            return Ok(());
        }
        let is_this = |file: File| {
            let ends = Ends::of(&file, length).ok();
            ends.is_some_and(|ends| digest.is_none_or(|digest| digest == ends.digest()))
        };
        if !self.partial.exists()
            && let Ok(found) = std::fs::metadata(&self.path)
            && found.len() == length + self.epilogue.len() as u64
            && File::open(&self.path).is_ok_and(is_this)
        {
            // The run before ended after it gave the file its name and before it could say so.
            std::fs::rename(&self.path, &self.partial).map_err(|error| io(&self.path, "renamed", &error))?;
        }
        let mut file = self.locked(false)?;
        let found = file.metadata().map_err(|error| io(&self.partial, "read", &error))?.len();
        if found < length {
            let message = format!("{} has {found} bytes, but the checkpoint needs {length}", self.partial.display());
            return Err(Thrown::of(&["quayline.Environment"], message)
                .hint("the file was changed after the run stopped: start the job anew"));
        }
        self.ends = Ends::of(&file, length).map_err(|error| io(&self.partial, "read", &error))?;
        if digest.is_some_and(|digest| digest != self.ends.digest()) {
            let message = format!("{} is not as this execution left it", self.partial.display());
            return Err(Thrown::of(&["quayline.Environment"], message)
                .hint("another run has written it since: start the job anew, and give each run its own file"));
        }
        let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
        cut.map_err(|error| io(&self.partial, "cut back", &error))?;
        self.file = Some(file);
        (self.length, self.items, self.synced) = (length, items, length);
        Ok(())
    }

    fn write(&mut self, items: &[Item], _work: &mut dyn Work) -> Answer<()> {
        self.buffer.clear();
        let mut number = self.items;
        for item in items {
            if number > 0 {
                self.buffer.extend_from_slice(&self.separator);
            }
            if let (Some(FramingSpec::Fixed { length }), None) = (&self.framing, self.pad)
                && item.len() < *length
            {
                let message = format!("an item has {} bytes, expected {length}", item.len());
                return Err(Thrown::of(&["quayline.Rejected"], message)
                    .hint("add the property pad, the byte that fills short items: space, or 0x40 in EBCDIC"));
            }
            match &mut self.framer {
                Some(framer) => {
                    framer.frame(item, &mut self.buffer).map_err(|fault| Thrown::from_finding(&fault.finding()))?
                }
                None => self.buffer.extend_from_slice(item),
            }
            number += 1;
        }
        if let Some(framer) = &mut self.framer {
            framer.flush(&mut self.buffer);
        }
        self.append()?;
        self.items = number;
        Ok(())
    }

    fn isolates(&self) -> bool {
        !self.is_stream
    }

    fn checkpoint(&mut self) -> Answer<Option<Vec<u8>>> {
        self.sync()?;
        let numbers = [self.length, self.items, self.ends.digest()];
        Ok(Some(numbers.into_iter().flat_map(u64::to_le_bytes).collect()))
    }

    fn close(&mut self, complete: bool) -> Answer<()> {
        if !complete || self.file.is_none() {
            if !self.is_stream {
                self.release();
            }
            return Ok(());
        }
        self.buffer.clear();
        if let Some(framer) = &mut self.framer {
            framer.finish(&mut self.buffer);
        }
        self.buffer.extend_from_slice(&self.epilogue);
        self.append()?;
        self.sync()?;
        if self.is_stream {
            self.file = None;
            return Ok(());
        }
        std::fs::rename(&self.partial, &self.path).map_err(|error| io(&self.path, "renamed", &error))?;
        // Only now another may lock the partial file.
        self.release();
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // The name must survive a power cut too.
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| io(folder, "synced", &error))
    }
}

fn io(path: &Path, doing: &str, error: &std::io::Error) -> Thrown {
    let message = format!("{} cannot be {doing}: {}", path.display(), system_error_text(error));
    Thrown::of(&["java.io.IOException", "quayline.Environment"], message)
        .hint("check the folder, its permissions and its space, then restart the execution")
}

/// `\n`, `\t`, `\r` and `\\` in a property.
fn escaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (_, true) => match rest.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(other) => other,
                None => b'\\',
            },
            (byte, false) => byte,
        });
    }
    bytes
}
