//! Transactions of interchanges as generic documents.

use quayline_core::{ByteOffset, Finding, Findings, RecordNumber, Severity};
use quayline_edi::{
    DocumentPass, DocumentReader, DocumentStep, EdiError, EdiFault, EndOfInput, GenericOptions, Surroundings,
};

use crate::engine::block::{Block, EdiPart, Units};
use crate::engine::lane::{LaneFacts, Source, Target};
use crate::engine::lot::{FINDINGS_A_LOT, Lot, Page, edi_place, locate};
use crate::engine::split;
use crate::engine::spool::Spool;
use crate::error::ConvertError;

pub(crate) struct EdiSource {
    reader: DocumentReader,
    /// Whether the block before ended inside a document that goes on, and the document's bytes so far.
    goes_on: bool,
    front: Option<Spool>,
    /// What was found wrong with it so far, as far as a lot would keep it.
    early: Vec<Finding>,
}

impl EdiSource {
    pub(crate) fn new(options: &GenericOptions) -> Self {
        EdiSource { reader: DocumentReader::new(options), goes_on: false, front: None, early: Vec::new() }
    }
}

impl Source for EdiSource {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        let part = part_of(block);
        if !core::mem::take(&mut self.goes_on)
            && let Some(reader) = &block.before.reader
        {
            self.reader.go_to(reader);
            self.front = None;
            self.early.clear();
        }
        let input = block.body(at);
        let mut front = self.front.take();
        let mut pass = self.reader.over(input, end_of(part));
        let mut number = block.before.next;
        let mut ended = false;
        let mut marks = PageMarks::of(part, number);
        loop {
            if let Err(found) = marks.before(number, target) {
                lot.end = Some(Findings(found).into());
                return at + 1;
            }
            // Of one that goes on it is the same.
            target.begin(number, block.before.offset, block);
            let mut step = if ended { DocumentStep::NeedMore } else { pass.read(target.sink()) };
            if step == DocumentStep::NeedMore && part.ends_page && !ended {
                step = pass.break_page(target.sink()).unwrap_or(step);
                ended = true;
            }
            let DocumentStep::Document { from, to, is_transaction, errors, page, more } = step else {
                debug_assert_eq!(number.0 - block.before.next.0, part.documents, "the cutter found the same documents");
                if !part.goes_on {
                    keep_between(&mut pass, facts, number, lot);
                    return at + 1;
                }
                let found = findings_of(pass.take_faults(), facts, number);
                self.early.extend(found);
                self.early.truncate(FINDINGS_A_LOT);
                let since = pass.open_since().map_or(block.before.offset.0, |since| since.0);
                drop(pass);
                self.goes_on = true;
                if !facts.stop_at_reject {
                    let mut front = front.unwrap_or_default();
                    let from = offset(since.max(block.before.offset.0), block);
                    if let Err(error) = front.push(&input[from..], &facts.spool_folder) {
                        lot.end = Some(ConvertError::io("write a temporary file in", &*facts.spool_folder)(error));
                    }
                    self.front = Some(front);
                }
                return at + 1;
            };
            let mut findings = core::mem::take(&mut self.early);
            findings.extend(findings_of(pass.take_faults(), facts, number));
            let refused = if errors > 0 {
                target.void();
                true
            } else {
                match target.accept() {
                    Ok(()) => false,
                    Err(found) => {
                        findings.extend(locate(found, &edi_place(facts, number, from)));
                        true
                    }
                }
            };
            if more || page > 1 {
                if facts.split && !refused {
                    lot.payload.names.push(name_of(&pass, is_transaction));
                }
                let (documents, around) = (u64::from(!refused), pass.surroundings());
                let ended = EndedPage { page, more, is_bad: refused, documents, number, from, to, around, findings };
                let done = marks.page(ended, block, facts, target, lot);
                if let Err(found) = done {
                    lot.end = Some(Findings(found).into());
                    return at + 1;
                }
                if refused && facts.stop_at_reject {
                    return at + 1;
                }
                number.0 += 1;
                continue;
            }
            let raw = &input[offset(from.0.max(block.before.offset.0), block)..offset(to.0, block)];
            let front = front.take();
            if refused {
                lot.rejected_excerpt((pass.surroundings(), is_transaction), front, raw, findings);
                if facts.stop_at_reject {
                    return at + 1;
                }
            } else {
                lot.keep_with_errors(findings);
                if facts.split {
                    lot.payload.names.push(name_of(&pass, is_transaction));
                }
                let around = (lot.deferring && !facts.stop_at_reject).then(|| (pass.surroundings(), is_transaction));
                lot.accepted_excerpt(target, edi_place(facts, number, from), around, front, raw);
            }
            number.0 += 1;
        }
    }
}

/// Where the output of pages lies in that of their block.
pub(crate) struct PageMarks {
    /// The document that begins a transaction of several pages, the last one of its block.
    first: Option<RecordNumber>,
    /// Behind the last page, or before the first.
    at: usize,
    raw_from: usize,
}

impl PageMarks {
    pub(crate) fn of(part: EdiPart, next: RecordNumber) -> Self {
        let first = part.ends_page.then(|| RecordNumber((next.0 + part.documents).saturating_sub(1)));
        PageMarks { first, at: 0, raw_from: 0 }
    }

    /// Before a document is sent.
    pub(crate) fn before<T: Target>(&mut self, number: RecordNumber, target: &mut T) -> Result<(), Vec<Finding>> {
        if self.first == Some(number) {
            self.at = target.mark()?;
        }
        Ok(())
    }

    /// Hands a page in, which was sent or is bad.
    pub(crate) fn page<T: Target>(
        &mut self,
        ended: EndedPage,
        block: &Block,
        facts: &LaneFacts,
        target: &mut T,
        lot: &mut Lot,
    ) -> Result<(), Vec<Finding>> {
        let EndedPage { page, more, is_bad, documents, number, from, to, around, findings } = ended;
        let output = self.at..target.mark()?;
        self.at = output.end;
        // Nothing of a transaction may be lost between two pages.
        let raw_from = if page == 1 { offset(from.0, block) } else { self.raw_from };
        let raw_to = if more { block.body(0).len() } else { offset(to.0, block) };
        self.raw_from = raw_to;
        let raw = if facts.stop_at_reject { &[][..] } else { &block.body(0)[raw_from..raw_to] };
        let page = Page { is_first: page == 1, more, is_bad, output, documents, around, raw: 0..0 };
        lot.page(page, edi_place(facts, number, from), raw, findings);
        Ok(())
    }
}

/// A page of a transaction, as it ended.
pub(crate) struct EndedPage {
    /// From 1.
    pub(crate) page: u64,
    pub(crate) more: bool,
    pub(crate) is_bad: bool,
    /// Documents that it became.
    pub(crate) documents: u64,
    pub(crate) number: RecordNumber,
    pub(crate) from: ByteOffset,
    pub(crate) to: ByteOffset,
    pub(crate) around: Surroundings,
    pub(crate) findings: Vec<Finding>,
}

/// What the name of a document's file says of it.
fn name_of(pass: &DocumentPass<'_>, is_transaction: bool) -> String {
    if !is_transaction {
        return String::new();
    }
    let header = pass.transaction();
    split::name_of(&[&header.transaction_type(), &header.control_number()])
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

/// A byte of the source as one of the block.
pub(crate) fn offset(byte: u64, block: &Block) -> usize {
    usize::try_from(byte - block.before.offset.0).expect("a document lies in its block")
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

/// Keeps what is wrong behind the last document. A source without any interchange ends the run.
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
