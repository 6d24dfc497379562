//! Transactions of interchanges as generic documents.

use core::ops::Range;

use quayline_core::{ByteOffset, Finding, Findings, RecordNumber, Severity};
use quayline_edi::{
    DocumentPass, DocumentReader, DocumentStep, EdiError, EdiFault, EndOfInput, GenericOptions, Surroundings,
};

use crate::block::{Block, EdiPart, Units};
use crate::cut::{next_page_end, page_bytes};
use crate::error::PipelineError;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::{FINDINGS_A_LOT, Lot, Page, edi_place, keep_worst, locate};
use crate::spool::Spool;
use crate::target::Target;

pub(crate) struct EdiSource {
    reader: DocumentReader,
    /// True if the preceding block ended inside a document that continues. `front` has the document's bytes so far.
    goes_on: bool,
    front: Option<Spool>,
    /// Findings of that document so far, up to the limit of a lot.
    early: Vec<Finding>,
    /// Set if the cutter does not detect pages.
    alone: Option<Alone>,
}

/// State of a lane that detects pages itself.
struct Alone {
    /// Size of a transaction in bytes after which a page ends at any segment.
    page_bytes: u64,
    /// Number of the next document, after the first block.
    next: Option<RecordNumber>,
}

impl EdiSource {
    pub(crate) fn new(options: &GenericOptions) -> Self {
        EdiSource { reader: DocumentReader::new(options), goes_on: false, front: None, early: Vec::new(), alone: None }
    }

    /// Creates a source for a single lane that detects pages itself.
    pub(crate) fn alone(options: &GenericOptions) -> Self {
        EdiSource { alone: Some(Alone { page_bytes: page_bytes(options), next: None }), ..EdiSource::new(options) }
    }

    /// Returns the size of a transaction in bytes after which a page ends at any segment, unless the cutter decides it.
    fn page_bytes(&self) -> u64 {
        self.alone.as_ref().map_or(u64::MAX, |alone| alone.page_bytes)
    }

    /// Returns the position from byte `at` on at which a page ends at any segment, if none ended before.
    fn page_end(&self, at: u64) -> u64 {
        self.reader.open_since().map_or(at, |since| since.0).saturating_add(self.page_bytes())
    }
}

impl Source for EdiSource {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        if !core::mem::take(&mut self.goes_on)
            && let Some(reader) = &block.before.reader
        {
            self.reader.go_to(reader);
            self.front = None;
            self.early.clear();
        }
        let (len, begin) = (block.interchanges(part_of(block)).len(), block.before.offset.0);
        let number = self.alone.as_ref().and_then(|alone| alone.next).unwrap_or(block.before.next);
        let mut marks = PageMarks::of(part_of(block), number);
        marks.every = self.alone.is_some();
        let mut going = BlockProgress { number, marks };
        // A piece ends where a page may end at any segment, so the ends of pages do not depend on blocks.
        let mut page_end = self.page_end(begin);
        let mut from = 0;
        loop {
            let until = usize::try_from(page_end - begin).map_or(len, |until| until.min(len));
            let passed = self.piece(facts, block, from..until, &mut going, target, lot);
            let Some(passed) = passed else { break };
            from = passed;
            page_end = next_page_end(self.page_end(begin + from as u64), begin + until as u64, self.page_bytes());
        }
        if let Some(alone) = &mut self.alone {
            alone.next = Some(going.number);
            lot.after.next = going.number;
        }
        at + 1
    }
}

/// Progress of a lane in its block.
struct BlockProgress {
    number: RecordNumber,
    marks: PageMarks,
}

impl EdiSource {
    /// Converts a piece of the block. Returns the position in the block after its last segment, or `None` after the last piece and
    /// if the run stops.
    fn piece<T: Target>(
        &mut self,
        facts: &LaneFacts,
        block: &Block,
        piece: Range<usize>,
        going: &mut BlockProgress,
        target: &mut T,
        lot: &mut Lot,
    ) -> Option<usize> {
        let part = part_of(block);
        let input = block.interchanges(part);
        let (is_last, begin, page_bytes) = (piece.end == input.len(), block.before.offset.0, self.page_bytes());
        let BlockProgress { number, marks } = going;
        let mut front = self.front.take();
        let end = if is_last { end_of(part) } else { EndOfInput::No };
        let mut pass = self.reader.over(&input[piece.clone()], end);
        let mut ended = false;
        loop {
            if facts.is_cancelled() {
                lot.is_abandoned = true;
                return None;
            }
            if pass.open_since().is_none()
                && let Err(found) = marks.before(*number, target)
            {
                lot.end = Some(Findings(found).into());
                return None;
            }
            // For a continued document, nothing changes.
            target.begin(*number, block.before.offset, block);
            let mut step = if ended { DocumentStep::NeedMore } else { pass.read(target.sink()) };
            if step == DocumentStep::NeedMore && !ended {
                let passed = begin + (piece.start + pass.consumed()) as u64;
                let is_page = |since: ByteOffset| {
                    begin + piece.end as u64 >= since.0.saturating_add(page_bytes) && passed > since.0
                };
                if (is_last && part.ends_page) || pass.open_since().is_some_and(is_page) {
                    step = pass.break_page(target.sink()).unwrap_or(step);
                    ended = true;
                }
            }
            let DocumentStep::Document { from, to, is_transaction, errors, page, more } = step else {
                if !is_last {
                    self.front = front;
                    return Some(piece.start + pass.finish());
                }
                debug_assert!(
                    marks.every || part.is_whole || number.0 - block.before.next.0 == part.documents,
                    "the cutter found the same documents"
                );
                if !part.goes_on {
                    keep_between(&mut pass, facts, *number, lot);
                    return None;
                }
                let found = findings_of(pass.take_faults(), facts, *number);
                self.early.extend(found);
                keep_worst(&mut self.early, FINDINGS_A_LOT);
                let since = pass.open_since();
                drop(pass);
                self.goes_on = true;
                if let Some(since) = since.filter(|_| !facts.stop_at_reject) {
                    let mut front = front.unwrap_or_default();
                    let from = offset(since.0.max(begin), block);
                    if let Err(error) = front.push(&input[from..], &*facts.spool_folder) {
                        lot.end = Some(PipelineError::spool(&*facts.spool_folder)(error));
                    }
                    self.front = Some(front);
                }
                return None;
            };
            let mut findings = core::mem::take(&mut self.early);
            findings.extend(findings_of(pass.take_faults(), facts, *number));
            let refused = if errors > 0 {
                target.void();
                true
            } else {
                match target.accept() {
                    Ok(()) => false,
                    Err(found) => {
                        findings.extend(locate(found, &edi_place(facts, *number, from)));
                        true
                    }
                }
            };
            let mut front = front.take();
            if more || page > 1 {
                if facts.split && !refused {
                    lot.payload.names.push(name_of(&pass, is_transaction));
                }
                let (documents, around) = (u64::from(!refused), pass.surroundings());
                // A page that its block ends has the line break behind its last segment, which the cutter passed to find the segment that begins
                // the next page, but this pass did not.
                let next = if ended && is_last { part.len } else { piece.start + pass.consumed() };
                let ended = EndedPage {
                    page,
                    more: more.then_some(next),
                    is_bad: refused,
                    documents,
                    number: *number,
                    from,
                    to,
                    around,
                    findings,
                };
                let done = marks.page(ended, front, block, facts, target, lot);
                if let Err(found) = done {
                    lot.end = Some(Findings(found).into());
                    return None;
                }
                if refused && facts.stop_at_reject {
                    return None;
                }
                number.0 += 1;
                if piece.start + pass.consumed() > part.len {
                    return None;
                }
                continue;
            }
            // White space behind a document that ended in an earlier block is not a part of it.
            if let Some(front) = front.as_mut().filter(|_| to.0 < begin)
                && let Err(error) = front.truncate(to.0.saturating_sub(from.0))
            {
                lot.end = Some(PipelineError::spool(&*facts.spool_folder)(error));
                return None;
            }
            let raw = &input[offset(from.0.max(begin), block)..offset(to.0, block)];
            if refused {
                lot.rejected_excerpt((pass.surroundings(), is_transaction), front, raw, findings);
                if facts.stop_at_reject {
                    return None;
                }
            } else {
                lot.keep_with_errors(findings);
                if facts.split {
                    lot.payload.names.push(name_of(&pass, is_transaction));
                }
                let around = (lot.deferring && !facts.stop_at_reject).then(|| (pass.surroundings(), is_transaction));
                lot.accepted_excerpt(target, edi_place(facts, *number, from), around, front, raw);
            }
            number.0 += 1;
            // The header that ended it begins the next block.
            if piece.start + pass.consumed() > part.len {
                return None;
            }
        }
    }
}

/// Positions of pages in the output of their block.
pub(crate) struct PageMarks {
    /// The document that begins a transaction of several pages, the last one of its block.
    first: Option<RecordNumber>,
    /// True if the pages are not known in advance, so that every document is marked.
    every: bool,
    /// Position after the last page, or before the first.
    at: usize,
    raw_from: usize,
}

impl PageMarks {
    pub(crate) fn of(part: EdiPart, next: RecordNumber) -> Self {
        let first = part.ends_page.then(|| RecordNumber((next.0 + part.documents).saturating_sub(1)));
        PageMarks { first, every: false, at: 0, raw_from: 0 }
    }

    /// Marks the output before a document is sent.
    pub(crate) fn before<T: Target>(&mut self, number: RecordNumber, target: &mut T) -> Result<(), Vec<Finding>> {
        if self.every || self.first == Some(number) {
            self.at = target.mark()?;
        }
        Ok(())
    }

    /// Hands a page in, which was sent or is bad.
    pub(crate) fn page<T: Target>(
        &mut self,
        ended: EndedPage,
        front: Option<Spool>,
        block: &Block,
        facts: &LaneFacts,
        target: &mut T,
        lot: &mut Lot,
    ) -> Result<(), Vec<Finding>> {
        let EndedPage { page, more, is_bad, documents, number, from, to, around, findings } = ended;
        let output = self.at..target.mark()?;
        self.at = output.end;
        // No bytes of a transaction may be lost between two pages.
        let raw_from = if page == 1 { offset(from.0.max(block.before.offset.0), block) } else { self.raw_from };
        let raw_to = more.unwrap_or_else(|| offset(to.0, block));
        self.raw_from = raw_to;
        let raw = if facts.stop_at_reject { &[][..] } else { &block.body(0)[raw_from..raw_to] };
        let page =
            Page { is_first: page == 1, more: more.is_some(), is_bad, output, documents, around, front, raw: 0..0 };
        lot.page(page, edi_place(facts, number, from), raw, findings);
        Ok(())
    }
}

/// A page of a transaction, as it ended.
pub(crate) struct EndedPage {
    /// Number of the page, from 1.
    pub(crate) page: u64,
    /// If another page follows: the byte of the block at which it begins.
    pub(crate) more: Option<usize>,
    pub(crate) is_bad: bool,
    /// Documents that it became.
    pub(crate) documents: u64,
    pub(crate) number: RecordNumber,
    pub(crate) from: ByteOffset,
    pub(crate) to: ByteOffset,
    pub(crate) around: Surroundings,
    pub(crate) findings: Vec<Finding>,
}

/// Returns the part of a file name that describes the document.
fn name_of(pass: &DocumentPass<'_>, is_transaction: bool) -> String {
    if !is_transaction {
        return String::new();
    }
    let header = pass.transaction();
    name_of_parts(&[&header.transaction_type(), &header.control_number()])
}

pub(crate) fn part_of(block: &Block) -> EdiPart {
    let Units::Interchanges(part) = block.units else {
        unreachable!("interchanges are cut into parts of interchanges")
    };
    part
}

pub(crate) fn end_of(part: EdiPart) -> EndOfInput {
    if part.is_last { EndOfInput::Yes } else { EndOfInput::No }
}

/// Converts a byte position of the source to a position in the block. A document that continues from an earlier block may have ended before this one:
/// its end is known only when the next segment begins, and between them may be any amount of white space.
pub(crate) fn offset(byte: u64, block: &Block) -> usize {
    usize::try_from(byte.saturating_sub(block.before.offset.0)).unwrap_or(usize::MAX)
}

/// Faults as findings of the document that has this number, or will.
pub(crate) fn findings_of(
    faults: impl Iterator<Item = EdiFault>,
    facts: &LaneFacts,
    number: RecordNumber,
) -> Vec<Finding> {
    let finding = |fault: EdiFault| {
        let mut finding = fault.finding(Some(&facts.file));
        finding.place.record = Some(number);
        finding
    };
    faults.map(finding).collect()
}

/// Keeps the faults after the last document. A source without any interchange ends the run.
pub(crate) fn keep_between(pass: &mut DocumentPass<'_>, facts: &LaneFacts, number: RecordNumber, lot: &mut Lot) {
    let mut none = None;
    let mut faults = Vec::new();
    for fault in pass.take_faults() {
        if fault.error == EdiError::NoInterchange {
            none = Some(fault.finding(Some(&facts.file)));
        } else {
            faults.push(fault);
        }
    }
    lot.keep_with_errors(findings_of(faults.into_iter(), facts, number));
    if let Some(finding) = none {
        debug_assert_eq!(finding.severity, Severity::Error);
        lot.end = Some(finding.into());
    }
}

/// Returns the part of a file name for a transaction: type and control number, reduced to letters, digits and inner points.
fn name_of_parts(parts: &[&[u8]]) -> String {
    const PART_MAX: usize = 35;
    let mut name = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        name.push('-');
        for byte in part.iter().take(PART_MAX) {
            name.push(if byte.is_ascii_alphanumeric() { char::from(*byte) } else { '_' });
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_number_leads_out_of_the_folder() {
        assert_eq!(name_of_parts(&[b"837", b"0001"]), "-837-0001");
        assert_eq!(name_of_parts(&[b"OR/..", b"../../etc\0\n"]), "-OR___-______etc__");
        assert_eq!(name_of_parts(&[b"", b""]), "");
    }
}
