//! `quayline.fileWriter`: items in a file that is cut back to the last checkpoint when the step continues.
//!
//! The file is written as `FILE.partial` and takes its name when the step completes. The checkpoint has 16 bytes: length of the file and
//! number of items. What a checkpoint counts is synced to the disk before the checkpoint commits.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use quayline_core::{Limits, system_error_text};
use quayline_frame::{Framer, FramerOptions, FramingSpec};

use super::file_reader::{damaged, numbers};
use crate::artifact::{Answer, Injected, Item, Writer};
use crate::error::Thrown;
use crate::work::Work;

pub(super) struct FileWriter {
    path: PathBuf,
    partial: PathBuf,
    /// `None` writes items as they are.
    framing: Option<FramingSpec>,
    prologue: Vec<u8>,
    separator: Vec<u8>,
    epilogue: Vec<u8>,
    file: Option<File>,
    framer: Option<Framer>,
    length: u64,
    items: u64,
    synced: u64,
    buffer: Vec<u8>,
}

impl FileWriter {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        with.only(&["file", "framing", "prologue", "separator", "epilogue"])?;
        let path = with.path("file")?;
        let framing = match with.property("framing").unwrap_or("lines") {
            "none" => None,
            framing => Some(FramingSpec::parse(framing).map_err(|error| Thrown::from_finding(&error.finding()))?),
        };
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let text = |name: &str| with.property(name).map_or_else(Vec::new, escaped);
        Ok(FileWriter {
            path,
            partial: partial.into(),
            framing,
            prologue: text("prologue"),
            separator: text("separator"),
            epilogue: text("epilogue"),
            file: None,
            framer: None,
            length: 0,
            items: 0,
            synced: 0,
            buffer: Vec::new(),
        })
    }

    fn append(&mut self) -> Answer<()> {
        let Some(file) = &mut self.file else { return Err(damaged()) };
        if let Err(error) = file.write_all(&self.buffer) {
            // Whatever part of it was written goes, so that the next call begins where this one did.
            let undone = file.set_len(self.length).and_then(|()| file.seek(SeekFrom::Start(self.length)).map(|_| ()));
            return Err(io(&self.partial, "written", &undone.err().unwrap_or(error)));
        }
        self.length += self.buffer.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Answer<()> {
        if self.synced != self.length
            && let Some(file) = &self.file
        {
            file.sync_data().map_err(|error| io(&self.partial, "synced", &error))?;
            self.synced = self.length;
        }
        Ok(())
    }
}

impl Writer for FileWriter {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        let limits = Limits::default();
        self.framer = match &self.framing {
            Some(spec) => {
                let framer = Framer::new(spec, FramerOptions::default(), &limits);
                Some(framer.map_err(|error| Thrown::from_finding(&error.finding()))?)
            }
            None => None,
        };
        let Some(checkpoint) = checkpoint else {
            let file = OpenOptions::new().write(true).create(true).truncate(true).open(&self.partial);
            self.file = Some(file.map_err(|error| io(&self.partial, "created", &error))?);
            (self.length, self.items, self.synced) = (0, 0, 0);
            self.buffer.clear();
            self.buffer.extend_from_slice(&self.prologue);
            return self.append();
        };
        let [length, items] = numbers(checkpoint).ok_or_else(damaged)?;
        if !self.partial.exists()
            && let Ok(found) = std::fs::metadata(&self.path)
            && found.len() == length + self.epilogue.len() as u64
        {
            // The run before ended after it gave the file its name and before it could say so.
            std::fs::rename(&self.path, &self.partial).map_err(|error| io(&self.path, "renamed", &error))?;
        }
        let file = OpenOptions::new().write(true).open(&self.partial);
        let mut file = file.map_err(|error| io(&self.partial, "opened", &error))?;
        let found = file.metadata().map_err(|error| io(&self.partial, "read", &error))?.len();
        if found < length {
            let message = format!("{} has {found} bytes, but the checkpoint needs {length}", self.partial.display());
            return Err(Thrown::of(&["quayline.Environment"], message)
                .hint("the file was changed after the run stopped: start the job anew"));
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
        true
    }

    fn checkpoint(&mut self) -> Answer<Option<Vec<u8>>> {
        self.sync()?;
        Ok(Some([self.length.to_le_bytes(), self.items.to_le_bytes()].concat()))
    }

    fn close(&mut self, complete: bool) -> Answer<()> {
        if !complete || self.file.is_none() {
            self.file = None;
            return Ok(());
        }
        self.buffer.clear();
        if let Some(framer) = &mut self.framer {
            framer.finish(&mut self.buffer);
        }
        self.buffer.extend_from_slice(&self.epilogue);
        self.append()?;
        self.sync()?;
        self.file = None;
        std::fs::rename(&self.partial, &self.path).map_err(|error| io(&self.path, "renamed", &error))?;
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
