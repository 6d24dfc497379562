//! `quayline.fileReader`: records of a framed file, lines, or interchanges, one item each.
//!
//! The checkpoint has 48 bytes: offset of the next item, its number from 1, state of the framing, bytes of the file, and a fingerprint of what was read.
//! A restart seeks. A reader that has given a part of its range away has the first byte that it does not read before the fingerprint. Checkpoints of
//! earlier versions have no fingerprint.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{ByteOffset, Finding, Findings, Limits, Place, RecordNumber, system_error_text};
use quayline_edi::{Rules, SegmentSplitter};
use quayline_frame::{EndOfInput, FramingSpec, Splitter, Step};
use quayline_pipeline::StrayLineEnds;

use super::fingerprint::{self, FINGERPRINT_BYTES};
use super::limits::limits;
use crate::artifact::{Answer, Injected, Item, ItemPlace, Lent, Reader};
use crate::codes;
use crate::context::StepContext;
use crate::error::{Kind, Thrown};
use crate::work::Work;
use quayline_meter::{WaitFor, waiting};

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Delimitation of items.
enum Items {
    Framed(FramingSpec),
    Interchanges,
}

pub(super) struct FileReader {
    path: PathBuf,
    items: Items,
    /// Items at the start of the file that are left out: a header line.
    skip: u64,
    /// First byte of the range, which begins at an item.
    from: u64,
    /// First byte after the range: no item begins there or later.
    to: u64,
    /// End of the range in the properties; `to` is less if a part of the range was given away.
    given_to: u64,
    limits: Limits,
    file: Option<File>,
    splitter: Option<Splitter>,
    bytes: Vec<u8>,
    at: usize,
    end: EndOfInput,
    /// Offset of `bytes[at]`, for interchanges; a splitter counts itself.
    offset: u64,
    number: u64,
    length: u64,
    /// Position of the last item.
    place: ItemPlace,
    /// Step whose log has the notes; none for a reader that only searches for boundaries.
    step: Option<Arc<StepContext>>,
    stray: Option<StrayLineEnds>,
}

impl FileReader {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let whole = FileReader::of_file(with.path("file")?, with.property("framing").unwrap_or("lines"))?;
        Ok(FileReader {
            skip: with.number("skip", 0)?,
            from: with.number("from", 0)?,
            to: with.number("to", u64::MAX)?,
            given_to: with.number("to", u64::MAX)?,
            limits: limits(with)?,
            step: with.step.clone(),
            ..whole
        })
    }

    /// Creates a reader of a complete file.
    pub(super) fn of_file(path: PathBuf, framing: &str) -> Answer<Self> {
        let items = match framing {
            "edi" => Items::Interchanges,
            framing => {
                let spec = FramingSpec::parse(framing).map_err(|error| Thrown::from_finding(&error.finding()))?;
                Items::Framed(spec)
            }
        };
        Ok(FileReader {
            path,
            items,
            skip: 0,
            from: 0,
            to: u64::MAX,
            given_to: u64::MAX,
            limits: Limits::default(),
            place: ItemPlace::default(),
            file: None,
            splitter: None,
            bytes: Vec::new(),
            at: 0,
            end: EndOfInput::No,
            offset: 0,
            number: 1,
            length: 0,
            step: None,
            stray: None,
        })
    }

    fn more(&mut self, at_least: usize) -> Answer<()> {
        let wanted = at_least.max(READ_BYTES);
        // One long item makes the buffer long. To move its rest before each later item would take quadratic time.
        if self.bytes.len() - self.at >= wanted {
            return Ok(());
        }
        self.bytes.drain(..std::mem::take(&mut self.at));
        while self.bytes.len() < wanted && self.end == EndOfInput::No {
            let before = self.bytes.len();
            self.bytes.resize(before + READ_BYTES, 0);
            let Some(file) = &mut self.file else { return Ok(()) };
            let read = waiting(WaitFor::Device, || file.read(&mut self.bytes[before..]));
            let count = match read {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {
                    self.bytes.truncate(before);
                    continue;
                }
                Err(error) => {
                    self.bytes.truncate(before);
                    return Err(io(&self.path, "read", &error));
                }
            };
            self.bytes.truncate(before + count);
            if count == 0 {
                self.end = EndOfInput::Yes;
            }
        }
        Ok(())
    }

    fn next_record(&mut self) -> Answer<Option<Item>> {
        loop {
            let splitter = self.splitter.as_mut().expect("open made a splitter");
            if splitter.offset().0 >= self.to {
                return Ok(None);
            }
            let needed = match splitter.split(&self.bytes[self.at..], self.end) {
                Ok(Step::Record { body, consumed, .. }) => {
                    let item = body.to_vec();
                    if let (Some(step), Some(stray)) = (&self.step, &mut self.stray) {
                        let (record, byte) = (self.place.record, self.place.byte.map(ByteOffset));
                        stray.add(body, || Place { record: record.map(RecordNumber), byte, ..Place::default() });
                        stray.take().iter().for_each(|finding| note(step, &self.path, finding));
                    }
                    self.at += consumed;
                    self.number += 1;
                    return Ok(Some(item));
                }
                Ok(Step::Done { .. }) => return Ok(None),
                Ok(Step::NeedMore { at_least }) => at_least,
                // The ends of records are unknown from here on. A skip would lose the rest of the file, so it is not allowed.
                Err(fault) => return Err(Thrown { kind: Kind::Fatal, ..Thrown::from_finding(&fault.finding()) }),
            };
            self.more(needed)?;
        }
    }

    /// Reads one interchange, with the white space before it.
    fn next_interchange(&mut self) -> Answer<Option<Item>> {
        let mut window = READ_BYTES;
        if self.offset >= self.to {
            return Ok(None);
        }
        loop {
            self.more(window)?;
            let end = match self.end {
                EndOfInput::Yes => quayline_edi::EndOfInput::Yes,
                EndOfInput::No => quayline_edi::EndOfInput::No,
            };
            let offset = ByteOffset(self.offset);
            let mut splitter = SegmentSplitter::new(&self.limits, Rules::Lenient);
            let mut found = None;
            let mut seen = false;
            {
                let mut pass = splitter.over(&self.bytes[self.at..], end);
                loop {
                    match pass.advance() {
                        quayline_edi::Step::Interchange if seen => {
                            // The preceding interchange has no trailer: it ends where the next one begins.
                            found = Some(pass.segment_start());
                            break;
                        }
                        quayline_edi::Step::Interchange => seen = true,
                        quayline_edi::Step::Segment => {
                            if matches!(pass.segment().tag(), b"IEA" | b"UNZ") {
                                found = Some(pass.consumed());
                                break;
                            }
                        }
                        quayline_edi::Step::NeedMore => break,
                        _ => {
                            if seen || self.end == EndOfInput::Yes {
                                found = Some(self.bytes.len() - self.at);
                            }
                            break;
                        }
                    }
                }
            }
            if let Some(length) = found {
                let item = self.bytes[self.at..self.at + length].to_vec();
                self.at += length;
                self.offset = offset.0 + length as u64;
                if item.trim_ascii().is_empty() {
                    return Ok(None);
                }
                self.number += 1;
                return Ok(Some(item));
            }
            let most = self.limits.record_bytes_max;
            if window >= most {
                let message =
                    format!("interchange {} of {} has more than {most} bytes", self.number, self.path.display());
                let thrown = Thrown::of(&["quayline.Rejected"], message).hint(
                    "raise record-bytes in the property limit, or read transactions with quayline.documentReader",
                );
                return Err(Thrown { kind: Kind::Fatal, ..thrown });
            }
            window = (window * 2).min(most);
        }
    }
}

impl Reader for FileReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        self.begin(checkpoint)
    }

    fn read(&mut self, _work: &mut dyn Work) -> Answer<Option<Item>> {
        self.next()
    }

    fn place(&self) -> ItemPlace {
        self.place
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        let (offset, state) = self.position();
        Ok(Some(self.checkpoint_at([offset, self.number, state, self.length]).into()))
    }

    fn left(&self) -> Option<u64> {
        Some(self.to.min(self.length).saturating_sub(self.position().0))
    }

    /// Gives away the second half of the remaining range. Another reader searches for the boundary from the current position, so the first half is
    /// read twice.
    fn split(&mut self) -> Answer<Option<Vec<u8>>> {
        let (offset, state) = self.position();
        let end = self.to.min(self.length);
        let middle = offset + end.saturating_sub(offset) / 2;
        let framing = match &self.items {
            Items::Framed(spec) => Items::Framed(*spec),
            Items::Interchanges => Items::Interchanges,
        };
        let whole = FileReader::of_file(self.path.clone(), "edi")?;
        let mut other = FileReader { items: framing, limits: self.limits.clone(), ..whole };
        other.begin(Some(&self.checkpoint_at([offset, self.number, state, self.length])))?;
        other.to = end;
        let boundary = other.boundary_from(middle)?;
        if middle <= offset || boundary >= end {
            return Ok(None);
        }
        let mut begin = [boundary, other.number, 0, self.length].map(u64::to_le_bytes).concat();
        begin.extend_from_slice(&end.to_le_bytes());
        self.to = boundary;
        Ok(Some(begin))
    }

    fn close(&mut self) -> Answer<()> {
        self.file = None;
        Ok(())
    }
}

impl FileReader {
    /// Returns the offset of the next item and the state of the framing.
    fn position(&self) -> (u64, u64) {
        match &self.splitter {
            Some(splitter) => (splitter.offset().0, splitter.state()),
            None => (self.offset, 0),
        }
    }

    fn checkpoint_at(&self, numbers: [u64; 4]) -> Vec<u8> {
        let end = (self.to != self.given_to).then_some(self.to);
        let print = self.file.as_ref().map(|file| fingerprint::fingerprint(file, numbers[0]));
        numbers.into_iter().chain(end).flat_map(u64::to_le_bytes).chain(print.into_iter().flatten()).collect()
    }

    /// Opens the file at its begin or at a checkpoint.
    pub(super) fn begin(&mut self, checkpoint: Option<&[u8]>) -> Answer<()> {
        let mut file = File::open(&self.path).map_err(|error| io(&self.path, "opened", &error))?;
        self.length = file.metadata().map_err(|error| io(&self.path, "read", &error))?.len();
        (self.bytes, self.at, self.end) = (Vec::new(), 0, EndOfInput::No);
        let (offset, number, state) = match checkpoint {
            Some(bytes) => {
                let (start, end) = bytes.split_at_checked(32).ok_or_else(damaged)?;
                let [offset, number, state, length] = numbers(start).ok_or_else(damaged)?;
                let print_at = end.len().checked_sub(FINGERPRINT_BYTES);
                let (end, print) = end.split_at(print_at.unwrap_or(end.len()));
                [self.to] = if end.is_empty() { [self.given_to] } else { numbers(end).ok_or_else(damaged)? };
                if length != self.length {
                    let message = format!(
                        "{} has {} bytes, but had {length} at the checkpoint",
                        self.path.display(),
                        self.length
                    );
                    return Err(Thrown::of(&["quayline.Environment"], message)
                        .hint("restore the file that the job began with, or start a new instance of the job"));
                }
                if !print.is_empty() {
                    fingerprint::check(&file, &self.path, offset, print)?;
                }
                (offset, number, state)
            }
            None => {
                self.to = self.given_to;
                (self.from, 1, 0)
            }
        };
        file.seek(SeekFrom::Start(offset)).map_err(|error| io(&self.path, "read", &error))?;
        self.file = Some(file);
        (self.offset, self.number) = (offset, number);
        if let Items::Framed(spec) = &self.items {
            let record = RecordNumber(number);
            let splitter = Splitter::resume(spec, &self.limits, ByteOffset(offset), record, state);
            self.splitter = Some(splitter.map_err(|error| Thrown::from_finding(&error.finding()))?);
            self.stray = self.step.is_some().then(|| StrayLineEnds::of(spec));
        }
        // A range that begins later has nothing of the file's begin.
        while checkpoint.is_none() && self.from == 0 && self.number <= self.skip {
            if self.next()?.is_none() {
                if self.position().0 < self.length {
                    let message = format!(
                        "the first range of {} ends after {} items, and the property skip leaves out {}",
                        self.path.display(),
                        self.number - 1,
                        self.skip
                    );
                    return Err(Thrown::of(&["quayline.Configuration"], message)
                        .hint("divide the file into fewer ranges, or remove these items from the file"));
                }
                if let Some(step) = &self.step {
                    let (path, items, skip) = (self.path.display(), self.number - 1, self.skip);
                    step.note(codes::SKIPPED_ALL.0, || {
                        let code = codes::SKIPPED_ALL;
                        format!("{path}: {code}: the file has {items} items, and the property skip leaves out {skip}")
                    });
                }
                break;
            }
        }
        Ok(())
    }

    /// Returns the first position from an offset on at which another reader can begin, or the end of the file. Offsets ascend from call to call.
    pub(super) fn boundary_from(&mut self, about: u64) -> Answer<u64> {
        loop {
            let (offset, state) = self.position();
            // A record in the middle of a block depends on the block's header.
            if offset >= about && state == 0 {
                return Ok(offset.min(self.length));
            }
            if self.next()?.is_none() {
                return Ok(self.length);
            }
        }
    }

    fn next(&mut self) -> Answer<Option<Item>> {
        let byte = self.splitter.as_ref().map_or(self.offset, |splitter| splitter.offset().0);
        // Records of a range are not counted from the begin of the file.
        self.place = ItemPlace { record: (self.from == 0).then_some(self.number), byte: Some(byte) };
        match &self.items {
            Items::Framed(_) => self.next_record(),
            Items::Interchanges => self.next_interchange(),
        }
    }
}

/// Notes a finding about a file in the job log.
pub(super) fn note(step: &StepContext, path: &Path, finding: &Finding) {
    step.note(finding.code.0, || {
        let record = finding.place.record.map(|record| format!(", record {}", record.0)).unwrap_or_default();
        format!("{}{record}: {}: {}", path.display(), finding.code.0, finding.message)
    });
}

/// Numbers of 8 bytes each that make up the whole of a checkpoint.
pub(super) fn numbers<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    if bytes.len() != 8 * N {
        return None;
    }
    let mut numbers = [0; N];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *number = u64::from_le_bytes(*bytes);
    }
    Some(numbers)
}

/// Creates the error for an input file that the system refuses to open or read.
pub(super) fn io(path: &Path, doing: &str, error: &std::io::Error) -> Thrown {
    let message = format!("{} cannot be {doing}: {}", path.display(), system_error_text(error));
    Thrown::of(&["java.io.IOException", "quayline.Environment"], message)
        .hint("check the property file and the permissions; relative paths begin at the project's folder")
}

/// Creates the error for a checkpoint of unknown form.
pub(super) fn damaged() -> Thrown {
    Thrown::of(&["quayline.Environment"], "the checkpoint is of no known form")
        .hint("the step had another reader or writer: restore the job XML, or start a new instance of the job")
}

/// Converts the first error to an exception.
pub(super) fn of_findings(findings: &Findings) -> Thrown {
    let first = findings.first_error().map(Thrown::from_finding);
    let thrown = first.unwrap_or_else(|| Thrown::new("quayline.Internal", "an error without a finding"));
    let message = match findings.0.len() {
        0 | 1 => thrown.message,
        count => format!("{}; and {} more", thrown.message, count - 1),
    };
    let found = (!findings.0.is_empty()).then(|| Box::new(findings.clone()));
    Thrown { message, findings: found, ..thrown }
}

#[cfg(test)]
mod tests {
    use super::{FileReader, READ_BYTES};

    /// Regression: after a long interchange, the reader moved the rest of its long buffer before each short one.
    #[test]
    fn short_interchanges_after_a_long_one_move_no_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.edi");
        let interchange = |segments: usize| {
            let inner = "FTX+AAI+++0123456789'".repeat(segments);
            format!("UNB+UNOA:1+A+B+240101:1000+1'UNH+1+ORDERS:D:96A:UN'{inner}UNT+{}+1'UNZ+1+1'", segments + 2)
        };
        let text = interchange(27_000) + &interchange(1).repeat(10_000);
        std::fs::write(&path, text).expect("a file");
        let mut reader = FileReader::of_file(path, "edi").expect("a framing");
        reader.begin(None).expect("it opens");
        let first = reader.next().expect("it reads").expect("an item").len();
        assert!(first > 2 * READ_BYTES && reader.bytes.len() - reader.at > READ_BYTES + READ_BYTES / 2);
        for _ in 0..100 {
            let before = reader.at;
            assert!(reader.next().expect("it reads").is_some());
            assert!(reader.at > before, "the bytes before the item are still there");
        }
    }
}
