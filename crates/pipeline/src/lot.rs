//! Result of converting one block, passed to the writer: output, rejects, findings and counts.

use core::any::Any;
use core::fmt::Debug;
use core::ops::Range;
use std::sync::Arc;

use quayline_core::{ByteOffset, Code, Finding, NodeId, Place, RecordNumber, Severity, Shape, Tally};
use quayline_edi::Surroundings;

use crate::block::{Block, Position, Units};
use crate::block_reader::BlockRead;
use crate::codes;
use crate::error::PipelineError;
use crate::lane_facts::LaneFacts;
use crate::payload::Payload;
use crate::reject::RejectForm;
use crate::repeats::{RepeatKey, Repeats, Words};
use crate::spool::Spool;
use crate::target::{MapExtras, OutputExtent, Target};

/// The output of one block: documents, rejects, findings and counts. Lots circulate between lanes and writer; their memory is reused.
#[derive(Debug)]
pub struct Lot {
    /// Number of the block among those of the source, from 0 in this run.
    pub seq: u64,
    /// The documents, in the output's format.
    pub payload: Payload,
    /// Rejected records, as they go to the rejects file.
    pub rejects: Vec<u8>,
    /// If `rejects` contains parts of interchanges: description of each part and its envelope.
    pub excerpts: Vec<Excerpt>,
    /// True if the writer makes the final decision on documents.
    pub(crate) deferring: bool,
    /// In that case, all documents of the block in order, and their bytes as they go to the rejects.
    pub(crate) deferred: Vec<Deferred>,
    pub(crate) deferred_raw: Vec<u8>,
    /// Documents of the block that are pages of a transaction, in order, and their bytes. They are not in the tally, because their outcome is
    /// known only when the transaction has ended.
    pub pages: Vec<Page>,
    /// The bytes of `pages`.
    pub page_raw: Vec<u8>,
    /// Findings of severity error that reject no document.
    pub errors: u64,
    /// Findings about the documents, up to a bound.
    pub findings: Vec<Finding>,
    /// Rejected records whose findings are all beyond the bound, with the code of the first.
    pub bare: Vec<(RecordNumber, Code)>,
    /// Number of findings by code, including those beyond the limit.
    pub counts: CodeCounts,
    /// Findings that are one however often they come.
    pub repeats: Repeats,
    /// Records of the block: written, rejected, skipped.
    pub tally: Tally,
    /// Documents that were written.
    pub documents: u64,
    /// Result of another kind of lane than those of this crate, for its own sink.
    pub attachment: Option<Box<dyn Attachment>>,
    /// Position of the source after the lot.
    pub after: Position,
    /// True if the last record is cut off at the end of the source. Bytes written after such a record would be read as its end.
    pub is_torn: bool,
    /// Finding that explains why most records of the first block were rejected.
    pub misfit: Option<Finding>,
    /// Error that ends the run after this lot.
    pub end: Option<PipelineError>,
    /// True if the run was stopped before the end of the block: the lot is not written.
    pub(crate) is_abandoned: bool,
}

/// A lane's own result in a lot.
pub trait Attachment: Any + Debug + Send {
    /// Bytes of memory, about.
    fn memory(&self) -> usize;
}

/// A rejected part of an interchange.
#[derive(Debug)]
pub struct Excerpt {
    /// Bytes that precede the document's bytes, if it extends over several blocks.
    pub front: Option<Spool>,
    /// The envelopes around it, which neighbours share.
    pub around: Arc<Surroundings>,
    /// True for a transaction, false for content between two transactions.
    pub is_transaction: bool,
    /// Range of its bytes in [`Lot::rejects`].
    pub raw: Range<usize>,
    /// Number of the lot's pages before it.
    pub pages: usize,
}

/// A document that is one of the pages of its transaction.
#[derive(Debug)]
pub struct Page {
    /// True for the first page of its transaction.
    pub is_first: bool,
    /// True if another page follows.
    pub more: bool,
    /// True if the page, and thereby its transaction, was refused.
    pub is_bad: bool,
    /// Range of its output, in the unit of `Target::mark`.
    pub output: Range<usize>,
    /// Documents of the output.
    pub documents: u64,
    /// The envelopes around it.
    pub around: Surroundings,
    /// Bytes that precede its bytes, if it extends over several blocks.
    pub front: Option<Spool>,
    /// Range of its bytes in `page_raw`.
    pub raw: Range<usize>,
}

/// A document that the writer has the last word on.
#[derive(Debug)]
pub(crate) struct Deferred {
    pub(crate) place: Place,
    /// Set if the lane already rejected it; each other document has a draft.
    pub(crate) rejected: Option<Vec<Finding>>,
    /// Range of its bytes in `deferred_raw`.
    pub(crate) raw: Range<usize>,
    pub(crate) around: Option<(Surroundings, bool)>,
    pub(crate) front: Option<Spool>,
    /// Index of its page in the lot.
    pub(crate) page: Option<usize>,
    /// Number of the lot's pages before it.
    pub(crate) pages: usize,
    /// Numbers of its records and documents, and for a map its extent in each output.
    pub(crate) records: u64,
    pub(crate) documents: u64,
    pub(crate) taken: Vec<OutputExtent>,
}

impl Deferred {
    fn new(place: Place) -> Self {
        Deferred {
            place,
            rejected: None,
            raw: 0..0,
            around: None,
            front: None,
            page: None,
            pages: 0,
            records: 1,
            documents: 1,
            taken: Vec::new(),
        }
    }
}

impl Default for Lot {
    fn default() -> Self {
        Lot::new()
    }
}

impl Lot {
    /// Counts a document with parts that the source does not have and the user chose to ignore.
    #[cold]
    pub(crate) fn note_ignored(&mut self, place: impl FnOnce() -> Place) {
        let words = || Words {
            one: "document has parts that the source does not describe; they are left out".to_owned(),
            many: "documents have parts that the source does not describe; they are left out".to_owned(),
            hint: "describe them to keep them; without `--unknown ignore`, a finding names each".to_owned(),
            severity: Severity::Note,
        };
        self.repeats.add(codes::IGNORED, RepeatKey::Others, place, words);
    }

    /// Counts a document with numbers that were rounded to floats, for each of these leaves of `shape`.
    pub(crate) fn note_rounded(&mut self, shape: &Shape, leaves: &[NodeId], place: impl Fn() -> Place) {
        for leaf in leaves {
            self.note_rounded_leaf(shape, *leaf, &place);
        }
    }

    #[cold]
    fn note_rounded_leaf(&mut self, shape: &Shape, leaf: NodeId, place: impl FnOnce() -> Place) {
        let words = || {
            let what = format!("with more digits than the float {} keeps; the nearest float is used", shape.path(leaf));
            Words {
                one: format!("document has a number {what}"),
                many: format!("documents have a number {what}"),
                hint: "describe the field as a decimal to keep all digits".to_owned(),
                severity: Severity::Warning,
            }
        };
        self.repeats.add(codes::ROUNDED, RepeatKey::Leaf(leaf), place, words);
    }

    /// Creates an empty lot.
    #[must_use]
    pub fn new() -> Self {
        Lot {
            seq: 0,
            payload: Payload::default(),
            rejects: Vec::new(),
            excerpts: Vec::new(),
            deferring: false,
            deferred: Vec::new(),
            deferred_raw: Vec::new(),
            pages: Vec::new(),
            page_raw: Vec::new(),
            errors: 0,
            findings: Vec::new(),
            bare: Vec::new(),
            counts: CodeCounts::default(),
            repeats: Repeats::default(),
            tally: Tally::default(),
            documents: 0,
            attachment: None,
            after: Position::START,
            is_torn: false,
            misfit: None,
            end: None,
            is_abandoned: false,
        }
    }

    /// Empties the lot and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.payload.clear();
        self.rejects.clear();
        self.excerpts.clear();
        self.deferred.clear();
        self.deferred_raw.clear();
        self.pages.clear();
        self.page_raw.clear();
        self.errors = 0;
        self.findings.clear();
        self.bare.clear();
        self.counts.0.clear();
        self.repeats.clear();
        self.tally = Tally::default();
        self.documents = 0;
        self.attachment = None;
        self.is_torn = false;
        self.misfit = None;
        self.end = None;
        self.is_abandoned = false;
    }

    /// Counts `records` of the block that became one document of the output.
    #[inline]
    pub(crate) fn written(&mut self, records: u64) {
        self.tally.records_in += records;
        self.tally.records_out += records;
        self.documents += 1;
    }

    /// Counts `records` of an accepted document, of which a map may have made no document.
    fn read(&mut self, records: u64, extra: Option<MapExtras>, place: impl FnOnce() -> Place) {
        match extra {
            None => self.written(records),
            Some(extra) => {
                self.settled(records, extra.documents);
                if !extra.notes.is_empty() {
                    self.keep(locate(extra.notes, &place()));
                }
            }
        }
    }

    /// Counts a document of these records that the target accepted; the writer may still refuse it.
    #[inline]
    pub(crate) fn accepted<T: Target>(
        &mut self,
        facts: &LaneFacts,
        block: &Block,
        records: impl ExactSizeIterator<Item = usize>,
        target: &mut T,
        place: impl Fn() -> Place,
    ) {
        let count = records.len() as u64;
        target.add_repeats(&mut self.repeats, &place);
        let extra = target.take_extras();
        if !self.deferring {
            self.read(count, extra, place);
            return;
        }
        let raw = self.raw(|raw| {
            if !facts.stop_at_reject {
                records.for_each(|i| facts.reject_form.append(block, i, raw));
            }
        });
        let deferred = Deferred { raw, records: count, ..Deferred::new(place()) };
        self.defer(deferred, extra);
    }

    /// Counts an accepted document of an interchange.
    pub(crate) fn accepted_excerpt<T: Target>(
        &mut self,
        target: &mut T,
        place: Place,
        around: Option<(Surroundings, bool)>,
        front: Option<Spool>,
        bytes: &[u8],
    ) {
        target.add_repeats(&mut self.repeats, || place.clone());
        let extra = target.take_extras();
        if !self.deferring {
            self.read(1, extra, || place);
            return;
        }
        let raw = self.raw(|raw| {
            if around.is_some() {
                raw.extend_from_slice(bytes);
            }
        });
        let deferred = Deferred { raw, around, front, ..Deferred::new(place) };
        self.defer(deferred, extra);
    }

    fn defer(&mut self, mut deferred: Deferred, extra: Option<MapExtras>) {
        if let Some(extra) = extra {
            deferred.documents = extra.documents;
            deferred.taken = extra.taken;
            if !extra.notes.is_empty() {
                self.keep(locate(extra.notes, &deferred.place));
            }
        }
        deferred.pages = self.pages.len();
        self.deferred.push(deferred);
    }

    fn raw(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let from = self.deferred_raw.len();
        append(&mut self.deferred_raw);
        from..self.deferred_raw.len()
    }

    /// Returns the approximate memory in bytes that the lot uses while it waits to be written.
    pub(crate) fn memory(&self) -> usize {
        self.payload.memory()
            + self.rejects.capacity()
            + self.deferred_raw.capacity()
            + self.page_raw.capacity()
            + self.excerpts.capacity() * size_of::<Excerpt>()
            + self.deferred.capacity() * size_of::<Deferred>()
            + self.findings.len() * FINDING_BYTES
            + self.attachment.as_ref().map_or(0, |attachment| attachment.memory())
    }

    /// Returns true if a document was rejected so far.
    pub(crate) fn has_rejects(&self) -> bool {
        self.tally.records_rejected > 0
            || self.pages.last().is_some_and(|page| page.is_bad)
            || self.deferred.last().is_some_and(|last| last.rejected.is_some())
    }

    /// Counts the records of a source document that waited for the writer, and the documents that a map made from it.
    pub(crate) fn settled(&mut self, records: u64, documents: u64) {
        if documents == 0 {
            self.skipped(records);
        } else {
            self.written(records);
            self.documents += documents - 1;
        }
    }

    /// Counts `records` that were skipped intentionally.
    #[inline]
    pub(crate) fn skipped(&mut self, records: u64) {
        self.tally.records_in += records;
        self.tally.records_skipped += records;
    }

    /// Adds record `i` of the block to the rejects.
    #[cold]
    pub(crate) fn rejected(&mut self, form: &RejectForm, block: &Block, i: usize, findings: Vec<Finding>) {
        if self.deferring {
            let raw = self.raw(|raw| form.append(block, i, raw));
            self.deferred.push(Deferred { rejected: Some(findings), raw, ..Deferred::new(Place::default()) });
            return;
        }
        form.append(block, i, &mut self.rejects);
        self.rejected_already(findings);
    }

    /// Adds a part of an interchange to the rejects.
    #[cold]
    pub(crate) fn rejected_excerpt(
        &mut self,
        (around, is_transaction): (Surroundings, bool),
        front: Option<Spool>,
        bytes: &[u8],
        findings: Vec<Finding>,
    ) {
        if self.deferring {
            let raw = self.raw(|raw| raw.extend_from_slice(bytes));
            let around = Some((around, is_transaction));
            self.deferred.push(Deferred {
                rejected: Some(findings),
                raw,
                around,
                front,
                pages: self.pages.len(),
                ..Deferred::new(Place::default())
            });
            return;
        }
        self.excerpt((around, is_transaction), front, bytes, self.pages.len());
        self.rejected_already(findings);
    }

    /// Adds a page with its findings. `raw` is empty if rejects are not kept.
    pub(crate) fn page(&mut self, page: Page, place: Place, raw: &[u8], findings: Vec<Finding>) {
        let from = self.page_raw.len();
        self.page_raw.extend_from_slice(raw);
        if page.is_bad {
            self.keep(findings);
        } else {
            self.keep_with_errors(findings);
        }
        if self.deferring {
            let rejected = page.is_bad.then(Vec::new);
            self.deferred.push(Deferred { rejected, page: Some(self.pages.len()), ..Deferred::new(place) });
        }
        self.pages.push(Page { raw: from..self.page_raw.len(), ..page });
    }

    /// Adds the bytes of a part of an interchange to the rejects, after `pages` of the lot's pages.
    pub(crate) fn excerpt(
        &mut self,
        (around, is_transaction): (Surroundings, bool),
        front: Option<Spool>,
        bytes: &[u8],
        pages: usize,
    ) {
        let from = self.rejects.len();
        self.rejects.extend_from_slice(bytes);
        // For short documents, a copy of the headers for each one would take more memory than the documents.
        let around = match self.excerpts.last() {
            Some(last) if *last.around == around => Arc::clone(&last.around),
            _ => Arc::new(around),
        };
        self.excerpts.push(Excerpt { front, around, is_transaction, raw: from..self.rejects.len(), pages });
    }

    /// Keeps findings that reject nothing.
    pub(crate) fn keep_with_errors(&mut self, findings: Vec<Finding>) {
        self.errors += findings.iter().filter(|finding| finding.severity == Severity::Error).count() as u64;
        self.keep(findings);
    }

    /// Counts a rejected record whose bytes are already in `rejects`.
    pub(crate) fn rejected_already(&mut self, findings: Vec<Finding>) {
        self.tally.records_in += 1;
        self.tally.records_rejected += 1;
        if !findings.iter().any(|finding| self.has_room_for(finding))
            && let Some((record, first)) = findings.iter().find_map(|finding| Some((finding.place.record?, finding)))
        {
            self.bare.push((record, first.code));
        }
        self.keep(findings);
    }

    /// Adds the end of the source after the block: trailing bytes that are not a record, or an unreadable source.
    pub(crate) fn end_with(&mut self, taken: BlockRead) {
        match taken {
            BlockRead::Torn { finding, rest } => {
                self.rejects.extend_from_slice(&rest);
                self.is_torn = true;
                self.rejected_already(vec![finding]);
                self.after.offset.0 += rest.len() as u64;
                self.after.next.0 += 1;
            }
            BlockRead::Lost(finding) => self.end = Some(finding.into()),
            BlockRead::Block | BlockRead::End | BlockRead::Stopped => {}
        }
    }

    /// Keeps findings up to a bound for a lot, and counts all.
    pub(crate) fn keep(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            self.counts.add(finding.code, 1);
            if self.has_room_for(&finding) {
                self.findings.push(finding);
            }
        }
    }

    /// Returns true if the lot keeps the finding. Errors have as much room again, so that warnings before them do not hide them.
    fn has_room_for(&self, finding: &Finding) -> bool {
        let max = if finding.severity == Severity::Error { 2 * FINDINGS_A_LOT } else { FINDINGS_A_LOT };
        self.findings.len() < max
    }
}

/// Keeps at most `max` findings in their order, errors rather than others: an error says why a document is missing.
pub fn keep_worst(findings: &mut Vec<Finding>, max: usize) {
    if findings.len() <= max {
        return;
    }
    let is_error = |finding: &Finding| finding.severity == Severity::Error;
    let mut errors = findings.iter().filter(|finding| is_error(finding)).count().min(max);
    let mut others = max - errors;
    findings.retain(|finding| {
        let left = if is_error(finding) { &mut errors } else { &mut others };
        let is_kept = *left > 0;
        *left -= usize::from(is_kept);
        is_kept
    });
}

/// Approximate memory of a finding with its texts in bytes.
const FINDING_BYTES: usize = 512;

/// Findings kept of one lot before the writer applies the limit of the run; enough for that limit's default.
pub(crate) const FINDINGS_A_LOT: usize = 10_000;

/// Number of findings by code.
#[derive(Clone, Debug, Default)]
pub struct CodeCounts(pub Vec<(Code, u64)>);

impl CodeCounts {
    pub(crate) fn add(&mut self, code: Code, times: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += times,
            None => self.0.push((code, times)),
        }
    }

    /// Takes findings away that are not reported after all.
    pub fn take(&mut self, code: Code, times: u64) {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == code) {
            *count -= times;
        }
        self.0.retain(|(_, count)| *count > 0);
    }

    /// Adds the counts of another block.
    pub fn add_all(&mut self, other: &CodeCounts) {
        other.0.iter().for_each(|(code, times)| self.add(*code, *times));
    }

    /// Returns the counts sorted by code.
    #[must_use]
    pub fn sorted(mut self) -> Vec<(Code, u64)> {
        self.0.sort_unstable();
        self.0
    }
}

/// Returns the place of record `i` of a block.
pub(crate) fn place_of(block: &Block, i: usize, file: &std::sync::Arc<str>) -> Place {
    Place {
        file: Some(std::sync::Arc::clone(file)),
        record: Some(block.number(i)),
        // A row has no byte position: its values are in as many positions as it has columns.
        byte: (!matches!(block.units, Units::Rows(_))).then(|| block.offset(i)),
        ..Place::default()
    }
}

/// Findings of an encoder, at the record that they are about.
pub(crate) fn locate(mut findings: Vec<Finding>, place: &Place) -> Vec<Finding> {
    for finding in &mut findings {
        let own = &mut finding.place;
        own.file = place.file.clone();
        own.record = place.record;
        own.byte = place.byte;
        if own.line.is_none() {
            own.line = place.line;
        }
    }
    findings
}

/// Returns the place of a document of an interchange.
pub(crate) fn edi_place(facts: &LaneFacts, number: RecordNumber, from: ByteOffset) -> Place {
    Place { file: Some(std::sync::Arc::clone(&facts.file)), record: Some(number), byte: Some(from), ..Place::default() }
}
