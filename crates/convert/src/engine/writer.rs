//! The writing end: output, rejects, findings, checkpoints, in order.

use core::iter::Peekable;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use quayline_core::{Checkpoint, Code, Fault, Finding, SourceDigest, Tally};
use quayline_edi::{ExcerptWriter, Surroundings};
use quayline_meter::Phase;
use quayline_pipeline::{
    Clock, CodeCounts, Excerpt, Lot, OrderedSink, Position, Repeats, Spool, SpoolFolder, Unsettled, keep_worst, settle,
    settle_end,
};

use crate::checkpoint_file::{CheckpointFile, DONE, States};
use crate::codes;
use crate::conversion::Checkpoints;
use crate::destination::real_path;
use crate::engine::findings_file::FindingsFile;
use crate::engine::output::OutputWriter;
use crate::engine::page_transaction::PageTransaction;
use crate::engine::partial::{PartialFile, sync_folder_of};
use crate::error::ConvertError;
use crate::progress::{Advance, Progress};
use crate::sync::{SyncHook, SyncPoint};

/// Bytes that are not in the character set of their interchange.
const CHARACTERS: Code = quayline_edi::EdiError::Characters.code();

/// Last bytes of a long transaction that [`ExcerptWriter::end`] sees: its last terminator, and some white space behind it.
const TAIL_BYTES: u64 = 256;

/// Writes lots and tracks the progress of the run.
pub(crate) struct Writer<'r> {
    /// The outputs; for a map with several, all in its order.
    pub(crate) outputs: Vec<OutputWriter>,
    /// Folder for temporary files.
    pub(crate) spool_folder: SpoolFolder,
    pub(crate) rejects: Option<RejectFiles>,
    /// Most rejects; `Some(0)` where the first ends the run.
    pub(crate) rejects_max: Option<u64>,
    pub(crate) findings_max: usize,
    pub(crate) checkpoints: Option<CheckpointWriter>,
    pub(crate) hook: Option<&'r dyn SyncHook>,
    pub(crate) progress: Option<&'r dyn Progress>,
    pub(crate) source_bytes_total: Option<u64>,
    /// True if the form of the source determines its end: JSON, XML, CSV and EDI. Record files end with their bytes.
    pub(crate) ends_by_form: bool,
    pub(crate) state: Written,
    /// A transaction of which only some pages were written yet, and the same of drafts.
    pub(crate) page_transaction: Option<PageTransaction>,
    pub(crate) unsettled: Unsettled,
    /// True while the files do not agree with the position: from the first write of a lot, or before it if a document of the lot before waits, until all
    /// output of the lot is written.
    pub(crate) is_amid_lot: bool,
    /// True if a reject ended the run. After any other fault, a checkpoint would hide the fault from the run that continues.
    pub(crate) stopped_at_reject: bool,
}

/// Position of the run.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) position: Position,
    pub(crate) tally: Tally,
    pub(crate) documents: u64,
    pub(crate) errors: u64,
    /// The last interchange for which bytes beyond its character set were reported.
    pub(crate) named_interchange: String,
    pub(crate) findings: Vec<Finding>,
    pub(crate) counts: CodeCounts,
    pub(crate) repeats: Repeats,
    pub(crate) misfit: Option<Finding>,
}

/// The rejects file and its side file.
#[derive(Debug)]
pub(crate) struct RejectFiles {
    pub(crate) records: PartialFile,
    pub(crate) findings: FindingsFile,
    /// Bytes before the first rejected record, written only if there is one.
    pub(crate) prologue: Vec<u8>,
    /// Bytes after the last rejected record.
    pub(crate) epilogue: Vec<u8>,
    /// Bytes at the start of the epilogue that are records.
    pub(crate) trailers: usize,
    /// Puts envelopes around rejected parts of interchanges.
    pub(crate) excerpt: ExcerptWriter,
}

/// Writer of checkpoints: their path and their times.
#[derive(Debug)]
pub(crate) struct CheckpointWriter {
    pub(crate) file: CheckpointFile,
    pub(crate) spec: Checkpoints,
    pub(crate) digest: SourceDigest,
    pub(crate) last: Instant,
    pub(crate) last_offset: u64,
}

impl OrderedSink for Writer<'_> {
    type Error = ConvertError;

    fn write(&mut self, lot: &mut Lot, clock: &mut Clock) -> Result<(), ConvertError> {
        let stop_at_reject = self.rejects.is_none();
        // A page that waits counts in the position already. It is settled here, and written with this lot.
        self.is_amid_lot = !self.unsettled.is_empty();
        settle(&mut self.outputs, lot, stop_at_reject, &mut self.unsettled, &*self.spool_folder)?;
        let rejects = lot.tally.records_rejected > 0 || lot.pages.iter().any(|page| page.is_bad);
        if stop_at_reject && rejects {
            self.take_back()?;
            let mut findings = core::mem::take(&mut lot.findings);
            keep_worst(&mut findings, 1.max(self.findings_max));
            findings.extend(lot.misfit.take());
            // Nothing of the lot is written, so nothing of it counts: a checkpoint says what the output holds.
            self.stopped_at_reject = true;
            return Err(ConvertError::Refused(quayline_core::Findings(findings)));
        }
        self.tell_characters_once(lot);
        let (bytes, tally) = (self.output_bytes(), self.state.tally);
        self.is_amid_lot = true;
        self.write_lot(lot)?;
        self.is_amid_lot = false;
        let counters = &mut clock.counters;
        counters.bytes_out += self.output_bytes().saturating_sub(bytes);
        counters.records += lot.tally.records_out + lot.tally.records_skipped;
        counters.rejected += lot.tally.records_rejected;
        // Pages count when their transaction has ended.
        counters.records += self.state.tally.records_out - tally.records_out;
        counters.rejected += self.state.tally.records_rejected - tally.records_rejected;
        self.advance(lot);
        if self.rejects_max.is_some_and(|max| self.state.tally.records_rejected > max) {
            self.stopped_at_reject = true;
            return Err(self.too_many());
        }
        if lot.end.is_none() && self.checkpoint_is_due() && !self.is_at_end() {
            clock.within(Phase::Commit, |_| self.checkpoint())?;
        }
        Ok(())
    }
}

impl RejectFiles {
    /// Writes a rejected transaction that spans blocks. The bytes before it are in `rejects`, which is written too.
    pub(crate) fn write_long(
        &mut self,
        around: &Surroundings,
        is_transaction: bool,
        mut front: Spool,
        bytes: &[u8],
        rejects: &mut Vec<u8>,
    ) -> Result<(), ConvertError> {
        let path = self.records.partial().to_owned();
        let mut head = Vec::new();
        front
            .read_range(0, front.len().min(16), |part| {
                head.extend_from_slice(part);
                Ok(())
            })
            .map_err(ConvertError::io("read a temporary file of", &path))?;
        if !self.excerpt.begin(around, is_transaction, &head, rejects) {
            return Ok(());
        }
        let records = &mut self.records;
        let tail = front.len().saturating_sub(TAIL_BYTES);
        let done = records.write_all(rejects).and_then(|()| front.read_range(0, tail, |part| records.write_all(part)));
        done.map_err(ConvertError::io("write", &path))?;
        rejects.clear();
        front
            .read(tail, |part| {
                rejects.extend_from_slice(part);
                Ok(())
            })
            .map_err(ConvertError::io("read a temporary file of", &path))?;
        rejects.extend_from_slice(bytes);
        self.excerpt.end(around, is_transaction, rejects);
        Ok(())
    }
}

/// The rejects of a lot on their way to the file: parts of interchanges and transactions in pages, in the order of the source.
pub(crate) struct LotRejects {
    excerpts: Peekable<std::vec::IntoIter<Excerpt>>,
    /// Bytes of the excerpts.
    raw: Vec<u8>,
    /// Bytes for the file, the next after those that are written.
    pub(crate) bytes: Vec<u8>,
}

impl LotRejects {
    fn of(lot: &mut Lot) -> LotRejects {
        let excerpts = core::mem::take(&mut lot.excerpts);
        let rejects = core::mem::take(&mut lot.rejects);
        let (raw, bytes) = if excerpts.is_empty() { (Vec::new(), rejects) } else { (rejects, Vec::new()) };
        LotRejects { excerpts: excerpts.into_iter().peekable(), raw, bytes }
    }

    /// Writes the excerpts that precede page `page` of the lot.
    pub(crate) fn write_before(&mut self, page: usize, files: &mut RejectFiles) -> Result<(), ConvertError> {
        while let Some(excerpt) = self.excerpts.next_if(|excerpt| excerpt.pages <= page) {
            let bytes = &self.raw[excerpt.raw];
            match excerpt.front {
                None => files.excerpt.add(&excerpt.around, excerpt.is_transaction, bytes, &mut self.bytes),
                Some(front) => {
                    files.write_long(&excerpt.around, excerpt.is_transaction, front, bytes, &mut self.bytes)?;
                }
            }
        }
        Ok(())
    }
}

impl Writer<'_> {
    /// Keeps one finding about bytes beyond the character set for each interchange; lanes report one for each block.
    fn tell_characters_once(&mut self, lot: &mut Lot) {
        let named_interchange = &mut self.state.named_interchange;
        let mut again = 0;
        lot.findings.retain(|finding| {
            if finding.code != CHARACTERS {
                return true;
            }
            let path = finding.place.path.as_deref().unwrap_or_default();
            let interchange = path.split(',').next().unwrap_or_default();
            let known = named_interchange == interchange;
            if !known {
                interchange.clone_into(named_interchange);
            }
            again += u64::from(known);
            !known
        });
        lot.counts.take(CHARACTERS, again);
    }

    /// Bytes of all outputs so far.
    pub(crate) fn output_bytes(&self) -> u64 {
        self.outputs.iter().map(OutputWriter::bytes).sum()
    }

    fn write_lot(&mut self, lot: &mut Lot) -> Result<(), ConvertError> {
        let mut more = core::mem::take(&mut lot.payload.more);
        let mut rejected = LotRejects::of(lot);
        let payloads = core::iter::once(&mut lot.payload).chain(&mut more);
        if lot.pages.is_empty() {
            self.outputs.iter_mut().zip(payloads).try_for_each(|(output, payload)| output.write(payload))?;
        } else {
            let raw = core::mem::take(&mut lot.page_raw);
            self.write_pages(&mut lot.payload, core::mem::take(&mut lot.pages), &raw, &mut rejected)?;
            lot.page_raw = raw;
        }
        lot.payload.more = more;
        if let Some(files) = &mut self.rejects {
            let path = files.records.partial().to_owned();
            rejected.write_before(usize::MAX, files)?;
            lot.rejects = rejected.bytes;
            if lot.is_torn {
                files.epilogue.drain(..core::mem::take(&mut files.trailers));
            }
            if !lot.rejects.is_empty() {
                let prologue = core::mem::take(&mut files.prologue);
                files.records.write_all(&prologue).map_err(ConvertError::io("write", &path))?;
            }
            files.records.write_all(&lot.rejects).map_err(ConvertError::io("write", path))?;
            let path = files.findings.file.partial().to_owned();
            files.findings.append(&lot.findings, &lot.bare).map_err(ConvertError::io("write", path))?;
        }
        Ok(())
    }

    fn advance(&mut self, lot: &mut Lot) {
        let state = &mut self.state;
        state.position = lot.after.clone();
        state.tally.add(lot.tally);
        state.documents += lot.documents;
        state.errors += lot.errors;
        state.counts.add_all(&lot.counts);
        state.repeats.merge(&mut lot.repeats);
        state.findings.append(&mut lot.findings);
        keep_worst(&mut state.findings, self.findings_max);
        state.misfit = state.misfit.take().or(lot.misfit.take());
        if let Some(progress) = self.progress {
            progress.advance(Advance {
                source_bytes: state.position.offset.0,
                source_bytes_total: self.source_bytes_total,
                records: state.tally.records_in,
                rejected: state.tally.records_rejected,
                output_bytes: self.output_bytes(),
            });
        }
    }

    fn too_many(&self) -> ConvertError {
        let (rejected, max) = (self.state.tally.records_rejected, self.rejects_max.unwrap_or(0));
        let records = if rejected == 1 { "record" } else { "records" };
        let message = format!("{rejected} {records} rejected, more than the {max} allowed");
        let finding = Finding::error(codes::TOO_MANY_REJECTS, Fault::Sender, message);
        let mut findings = match &self.rejects {
            Some(files) => {
                let (records, why) = (files.records.partial().display(), files.findings.file.partial().display());
                vec![finding.hint(format!("{records} has the records, {why} says what is wrong with each"))]
            }
            None => vec![finding],
        };
        findings.extend(self.state.misfit.clone());
        ConvertError::Refused(quayline_core::Findings(findings))
    }

    /// Returns true if all bytes of a document file are read. A checkpoint there would hide a fault that only the end shows, such as a missing end tag.
    pub(crate) fn is_at_end(&self) -> bool {
        self.ends_by_form && self.source_bytes_total.is_some_and(|total| self.state.position.offset.0 >= total)
    }

    fn checkpoint_is_due(&self) -> bool {
        self.checkpoints.as_ref().is_some_and(|c| {
            self.state.position.offset.0.saturating_sub(c.last_offset) >= c.spec.every_bytes
                || c.last.elapsed() >= c.spec.every
        })
    }

    /// Makes everything so far durable and writes the checkpoint.
    pub(crate) fn checkpoint(&mut self) -> Result<(), ConvertError> {
        // A run cannot continue after a page of a large transaction or amid the output of a lot: the checkpoint before it stays.
        let is_resumable = self.state.position.can_resume() && self.unsettled.is_empty() && !self.is_amid_lot;
        if self.checkpoints.is_none() || !is_resumable {
            return Ok(());
        }
        self.sync_files()?;
        self.write_checkpoint(self.state.position.state)
    }

    fn sync_files(&mut self) -> Result<(), ConvertError> {
        if let Some(files) = &self.rejects {
            self.step(SyncPoint::Rejects, "sync", files.records.partial(), || files.records.sync())?;
            self.step(SyncPoint::Findings, "sync", files.findings.file.partial(), || files.findings.file.sync())?;
        }
        for file in self.outputs.iter().filter_map(OutputWriter::file) {
            self.step(SyncPoint::Output, "sync", file.partial(), || file.sync())?;
        }
        Ok(())
    }

    fn write_checkpoint(&mut self, decoder: u64) -> Result<(), ConvertError> {
        let Some(checkpoints) = &self.checkpoints else { return Ok(()) };
        let state = &self.state;
        let checkpoint = Checkpoint {
            digest: checkpoints.digest,
            offset: state.position.offset,
            next: state.position.next,
            output_bytes: self.outputs.first().map_or(0, OutputWriter::bytes),
            rejects_bytes: self.rejects.as_ref().map_or(0, |files| files.records.len()),
            decoder,
            tally: state.tally,
            state: States {
                source: state.position.reader.as_ref().and_then(|reader| reader.state()).unwrap_or_default(),
                output: self.outputs.first().map_or_else(Vec::new, |output| output.state().to_vec()),
                more: self.outputs.iter().skip(1).map(|output| (output.bytes(), output.state().to_vec())).collect(),
                rejects: match &self.rejects {
                    Some(files) if state.position.reader.is_some() => files.excerpt.state(),
                    _ => Vec::new(),
                },
                findings_bytes: self.rejects.as_ref().map_or(0, |files| files.findings.file.len()),
                named_interchange: state.named_interchange.clone().into_bytes(),
                errors: state.errors,
                run: checkpoints.spec.run.clone(),
            }
            .to_bytes(),
        };
        let file = &checkpoints.file;
        let (path, new) = (file.path(), file.new_path());
        let made = self.step(SyncPoint::CheckpointWrite, "write", &new, || file.write_new(&checkpoint))?;
        self.step(SyncPoint::CheckpointSync, "sync", &new, || made.sync_all())?;
        self.step(SyncPoint::CheckpointRename, "rename", &new, || file.rename_new())?;
        self.step(SyncPoint::Folder, "sync the folder of", path, || self.sync_folders())?;
        let offset = state.position.offset.0;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.last = Instant::now();
            checkpoints.last_offset = offset;
        }
        Ok(())
    }

    /// Completes a run: makes all outputs durable, and renames them.
    pub(crate) fn commit(&mut self, clock: &mut Clock) -> Result<(), ConvertError> {
        clock.enter(Phase::Write);
        self.settle_end()?;
        self.outputs.iter_mut().try_for_each(OutputWriter::finish)?;
        if let Some(files) = &mut self.rejects {
            let path = files.records.partial().to_owned();
            files.excerpt.finish(&mut files.epilogue);
            // A file without rejected records is empty.
            if files.records.len() > 0 {
                files.records.write_all(&files.epilogue).map_err(ConvertError::io("write", path))?;
            }
        }
        clock.enter(Phase::Commit);
        self.sync_files()?;
        self.write_checkpoint(DONE)?;
        self.take_names()
    }

    /// Writes the last document, which waited because another page of its transaction could have followed.
    fn settle_end(&mut self) -> Result<(), ConvertError> {
        let mut lot = Lot::new();
        lot.after = self.state.position.clone();
        settle_end(&mut self.outputs, &mut lot, &mut self.unsettled);
        if lot.tally == Tally::default() && lot.findings.is_empty() {
            return Ok(());
        }
        if self.rejects.is_none() && lot.tally.records_rejected > 0 {
            let mut findings = core::mem::take(&mut lot.findings);
            keep_worst(&mut findings, 1.max(self.findings_max));
            return Err(ConvertError::Refused(quayline_core::Findings(findings)));
        }
        self.write_lot(&mut lot)?;
        self.advance(&mut lot);
        if self.rejects_max.is_some_and(|max| self.state.tally.records_rejected > max) {
            return Err(self.too_many());
        }
        Ok(())
    }

    fn take_names(&self) -> Result<(), ConvertError> {
        if let Some(files) = &self.rejects {
            let (findings, records) = (&files.findings.file, &files.records);
            self.step(SyncPoint::FindingsRename, "rename", findings.partial(), || findings.rename())?;
            self.step(SyncPoint::RejectsRename, "rename", records.partial(), || records.rename())?;
        }
        for file in self.outputs.iter().filter_map(OutputWriter::file) {
            self.step(SyncPoint::OutputRename, "rename", file.partial(), || file.rename())?;
        }
        if let Some(file) = self.outputs.iter().find_map(OutputWriter::file) {
            self.step(SyncPoint::Folder, "sync the folder of", file.path(), || self.sync_folders())?;
        }
        if let Some(checkpoints) = &self.checkpoints {
            let file = &checkpoints.file;
            self.step(SyncPoint::CheckpointRemove, "remove", file.path(), || file.remove())?;
        }
        Ok(())
    }

    fn sync_folders(&self) -> io::Result<()> {
        let mut folders: Vec<PathBuf> = Vec::new();
        let outputs = self.outputs.iter().filter_map(OutputWriter::file).map(PartialFile::path);
        let others = [
            self.rejects.as_ref().map(|files| &files.records).filter(|file| !file.is_stream()).map(PartialFile::path),
            self.checkpoints.as_ref().map(|c| c.file.path()),
        ];
        for path in outputs.chain(others.into_iter().flatten()) {
            let path = real_path(path);
            let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
            if !folders.contains(&folder) {
                sync_folder_of(&path)?;
                folders.push(folder);
            }
        }
        Ok(())
    }

    fn step<T>(
        &self,
        point: SyncPoint,
        doing: &'static str,
        path: &Path,
        work: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, ConvertError> {
        sync_step(self.hook, point, doing, path, work)
    }
}

/// Performs one sync step, after calling the hook.
pub(crate) fn sync_step<T>(
    hook: Option<&dyn SyncHook>,
    point: SyncPoint,
    doing: &'static str,
    path: &Path,
    work: impl FnOnce() -> io::Result<T>,
) -> Result<T, ConvertError> {
    hook.map_or(Ok(()), |hook| hook.before(point)).and_then(|()| work()).map_err(ConvertError::io(doing, path))
}
