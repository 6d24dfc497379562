//! `quayline.fileWriter`: writes items to a file, which is truncated to the last checkpoint when the step continues.
//!
//! The file is written as `FILE.partial`, under a lock, and is renamed when the step completes. The checkpoint has 24 bytes: length of the file,
//! number of items, and a digest of the file's ends, so that a step never continues in a file that another run has written. For interchanges it has
//! 16 more bytes, with the numbers of interchanges and groups so far. Output counted by a checkpoint is synced to disk before the checkpoint commits.
//! A pipe or a device is written directly, because it cannot be truncated.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};

use quayline_core::Limits;
use quayline_edi::{Level, renumbered};
use quayline_frame::{Framer, FramerOptions, FramingSpec};

use super::file_reader::{damaged, numbers};
use super::limits::limits;
use super::partial::{Ends, Partial, changed, io, too_short};
use crate::artifact::{Answer, Injected, Item, Lent, Writer};
use crate::codes;
use crate::error::Thrown;
use crate::work::Work;
use quayline_meter::{WaitFor, waiting};

/// Texts of JOB-035 after the number of items.
pub(super) const FILLED: [&str; 2] =
    ["item is filled with `pad`, so its length is lost", "items are filled with `pad`, so their lengths are lost"];

pub(super) struct FileWriter {
    to: Partial,
    /// Framing; `None` writes items unchanged.
    framing: Option<FramingSpec>,
    limits: Limits,
    /// The first control number of interchanges that the writer numbers.
    first_number: Option<u64>,
    /// Interchanges and groups that have numbers.
    numbered: [u64; 2],
    /// Fills records of one length.
    pad: Option<u8>,
    prologue: Vec<u8>,
    separator: Vec<u8>,
    epilogue: Vec<u8>,
    file: Option<File>,
    /// True if `file` is a pipe or a device.
    is_stream: bool,
    framer: Option<Framer>,
    length: u64,
    items: u64,
    synced: u64,
    ends: Ends,
    buffer: Vec<u8>,
}

impl FileWriter {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let name = with.property("framing").unwrap_or("lines");
        let first_number = (name == "edi").then(|| with.number("first-number", 1)).transpose()?;
        if first_number.is_none() && with.property("first-number").is_some() {
            let remedy = "leave it out, or write interchanges with the property framing=\"edi\"";
            return Err(Thrown::property(&with.name, "first-number", "has no effect in this framing", remedy));
        }
        let framing = match name {
            "none" | "edi" => None,
            framing => {
                let spec = FramingSpec::parse(framing).map_err(|error| Thrown::from_finding(&error.finding()))?;
                let spec = framing_of(spec);
                Some(spec.map_err(|(what, remedy)| Thrown::property(&with.name, "framing", what, remedy))?)
            }
        };
        let text = |name: &str| with.property(name).map_or_else(Vec::new, escaped);
        Ok(FileWriter {
            to: Partial::new(with, with.path("file")?),
            framing,
            first_number,
            numbered: [0; 2],
            limits: limits(with)?,
            pad: with.property("pad").and_then(pad_of),
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
            // On file systems without locks, none was taken.
            let _ = file.unlock();
        }
    }

    fn append(&mut self) -> Answer<()> {
        let Some(file) = &mut self.file else { return Err(damaged()) };
        if let Err(error) = file.write_all(&self.buffer) {
            if self.is_stream {
                return Err(io(&self.to.path, "written", &error));
            }
            // Discard the part that was written, so that the next call begins at the same position.
            let undone = file.set_len(self.length).and_then(|()| file.seek(SeekFrom::Start(self.length)).map(|_| ()));
            return Err(io(&self.to.partial, "written", &undone.err().unwrap_or(error)));
        }
        self.ends.add(&self.buffer);
        self.length += self.buffer.len() as u64;
        Ok(())
    }

    /// Writes all items, or none of them.
    fn write_all(&mut self, items: &[Item]) -> Answer<()> {
        self.buffer.clear();
        let mut number = self.items;
        let mut numbered = self.numbered;
        let mut filled = 0;
        for item in items {
            if number > 0 {
                self.buffer.extend_from_slice(&self.separator);
            }
            if let Some(FramingSpec::Fixed { length }) = &self.framing
                && item.len() < *length
            {
                if self.pad.is_none() {
                    let message = format!("an item has {} bytes, expected {length}", item.len());
                    return Err(Thrown::of(&["quayline.Rejected"], message)
                        .hint("add the property pad, the byte that fills short items: space, or 0x40 in EBCDIC"));
                }
                filled += 1;
            }
            match &mut self.framer {
                Some(framer) => {
                    framer.frame(item, &mut self.buffer).map_err(|fault| Thrown::from_finding(&fault.finding()))?
                }
                None => match self.first_number {
                    Some(first) => {
                        let text = numbered_item(item, &self.limits, first, &mut numbered)?;
                        self.buffer.extend_from_slice(&text);
                    }
                    None => self.buffer.extend_from_slice(item),
                },
            }
            number += 1;
        }
        if let Some(framer) = &mut self.framer {
            framer.flush(&mut self.buffer);
        }
        self.append()?;
        self.to.tally(codes::PADDED, filled, FILLED);
        (self.items, self.numbered) = (number, numbered);
        Ok(())
    }

    fn sync(&mut self) -> Answer<()> {
        if self.synced != self.length
            && !self.is_stream
            && let Some(file) = &self.file
        {
            waiting(WaitFor::Device, || file.sync_data()).map_err(|error| io(&self.to.partial, "synced", &error))?;
            self.synced = self.length;
        }
        Ok(())
    }

    fn open_stream(&mut self, checkpoint: Option<[u64; 2]>) -> Answer<()> {
        match checkpoint {
            Some([length, items]) if self.file.is_some() && length == self.length && items == self.items => Ok(()),
            // After a rollback of the first chunk, the pipe has only the prologue.
            None if self.file.is_some() && self.items == 0 => Ok(()),
            None if self.file.is_none() => {
                let file = OpenOptions::new().write(true).open(&self.to.path);
                self.file = Some(file.map_err(|error| io(&self.to.path, "opened", &error))?);
                Ok(())
            }
            _ => {
                let message = format!(
                    "{} is a pipe or a device: what was written there cannot be undone",
                    self.to.path.display()
                );
                Err(Thrown::of(&["quayline.Environment"], message)
                    .hint("start a new instance of the job, or write a file and send it afterwards"))
            }
        }
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        self.release();
    }
}

/// The highest control number of X12; the next one is 1.
pub(super) const LAST_NUMBER: u64 = 999_999_999;

/// Renumbers an item with the next control numbers, which `numbered` counts.
fn numbered_item(item: &[u8], limits: &Limits, first: u64, numbered: &mut [u64; 2]) -> Answer<Vec<u8>> {
    let before = numbered[0];
    let text = renumbered::<Thrown>(item, limits, &mut |level| {
        let counted = &mut numbered[usize::from(level == Level::Group)];
        let number = (first.max(1) - 1 + *counted) % LAST_NUMBER + 1;
        *counted += 1;
        Ok(number)
    })?;
    if numbered[0] == before {
        return Err(no_interchange());
    }
    Ok(text)
}

/// Creates the error for an item that cannot be numbered.
pub(super) fn no_interchange() -> Thrown {
    Thrown::of(&["quayline.Rejected"], "the item is not an interchange")
        .hint("write items that a map to X12 or EDIFACT has made, or choose another framing")
}

/// Checks that a job can write a framing; otherwise returns a description of the fault and a remedy.
pub(super) fn framing_of(spec: FramingSpec) -> Result<FramingSpec, (&'static str, &'static str)> {
    match spec {
        FramingSpec::MicroFocus => Err((
            "cannot be written by a job",
            "write another framing; the header of a Micro Focus file describes the whole file, so that it cannot be continued",
        )),
        spec => Ok(spec),
    }
}

/// Parses one byte: `0x40`, `space` or a character.
pub(super) fn pad_of(text: &str) -> Option<u8> {
    match (text.strip_prefix("0x"), text.as_bytes()) {
        (Some(digits), _) if digits.len() == 2 => {
            quayline_core::hex_number(digits).and_then(|byte| u8::try_from(byte).ok())
        }
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
        self.is_stream = self.to.locate()?;
        self.to.claim()?;
        // Checkpoints of earlier versions have no digest.
        self.numbered = [0; 2];
        let known = checkpoint.map(|bytes| match (numbers::<3>(bytes), numbers::<5>(bytes)) {
            (Some([length, items, digest]), _) => Ok(([length, items], Some(digest))),
            (_, Some([length, items, digest, interchanges, groups])) => {
                self.numbered = [interchanges, groups];
                Ok(([length, items], Some(digest)))
            }
            _ => numbers::<2>(bytes).map(|numbers| (numbers, None)).ok_or_else(damaged),
        });
        let known = known.transpose()?;
        if self.is_stream {
            let has_prologue = self.file.is_some();
            self.open_stream(known.map(|(numbers, _)| numbers))?;
            if has_prologue {
                return Ok(());
            }
        }
        let Some(([length, items], digest)) = known else {
            if !self.is_stream {
                let file = self.to.locked(true)?;
                file.set_len(0).map_err(|error| io(&self.to.partial, "cut back", &error))?;
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
        if !self.to.partial.exists()
            && let Ok(found) = std::fs::metadata(&self.to.path)
            && found.len() == length + self.epilogue.len() as u64
            && File::open(&self.to.path).is_ok_and(is_this)
        {
            // The preceding run ended between renaming the file and recording the rename.
            std::fs::rename(&self.to.path, &self.to.partial).map_err(|error| io(&self.to.path, "renamed", &error))?;
        }
        let mut file = self.to.locked(false)?;
        let found = file.metadata().map_err(|error| io(&self.to.partial, "read", &error))?.len();
        if found < length {
            return Err(too_short(&self.to.partial, found, length));
        }
        self.ends = Ends::of(&file, length).map_err(|error| io(&self.to.partial, "read", &error))?;
        if digest.is_some_and(|digest| digest != self.ends.digest()) {
            return Err(changed(&self.to.partial));
        }
        let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
        cut.map_err(|error| io(&self.to.partial, "cut back", &error))?;
        self.file = Some(file);
        (self.length, self.items, self.synced) = (length, items, length);
        Ok(())
    }

    fn write(&mut self, items: &[Item], _work: &mut dyn Work) -> Answer<()> {
        let mark = self.framer.as_ref().map(Framer::mark);
        let written = self.write_all(items);
        if written.is_err()
            && let (Some(framer), Some(mark)) = (&mut self.framer, mark)
        {
            // The items before the refused one may be in the open block, and are written again.
            framer.back_to(mark);
        }
        written
    }

    fn isolates(&self) -> bool {
        !self.is_stream
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        self.sync()?;
        let numbers = [self.length, self.items, self.ends.digest()];
        let numbered = self.first_number.map(|_| self.numbered).into_iter().flatten();
        Ok(Some(numbers.into_iter().chain(numbered).flat_map(u64::to_le_bytes).collect::<Vec<_>>().into()))
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
        self.to.take_name()?;
        // Only now another may lock the partial file.
        self.release();
        self.to.sync_names()
    }
}

/// Unescapes `\n`, `\t`, `\r` and `\\` in a property.
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
