//! Segments as rows.

use quayline_core::{Findings, NodeId, Run, Sink, Value};
use quayline_edi::{DocumentReader, DocumentStep, EdiError, GenericOptions, RowPass, RowReader, RowStep};

use super::edi::{EndedPage, PageMarks, end_of, findings_of, keep_between, offset, part_of};
use crate::block::Block;
use crate::lane::Source;
use crate::lane_facts::LaneFacts;
use crate::lot::Lot;
use crate::target::Target;

/// Reads twice: a transaction is judged before its first row is written, so that none of a bad one is.
pub(crate) struct EdiRowSource {
    documents: DocumentReader,
    rows: RowReader,
    /// Reader that checks a document before it is written.
    trial: RowReader,
}

impl EdiRowSource {
    pub(crate) fn new(options: &GenericOptions) -> Self {
        EdiRowSource {
            documents: DocumentReader::new(options),
            rows: RowReader::new(options),
            trial: RowReader::new(options),
        }
    }
}

impl Source for EdiRowSource {
    fn step<T: Target>(&mut self, facts: &LaneFacts, block: &Block, at: usize, target: &mut T, lot: &mut Lot) -> usize {
        let part = part_of(block);
        if let Some(reader) = &block.before.reader {
            self.documents.go_to(reader);
            self.rows.go_to(reader.envelope());
            self.trial.go_to(reader.envelope());
        }
        let input = block.interchanges(part);
        let mut documents = self.documents.over(input, end_of(part));
        let mut rows = self.rows.over(input, end_of(part));
        let mut trial = self.trial.over(input, end_of(part));
        let mut number = block.before.next;
        let mut ended = false;
        let mut marks = PageMarks::of(part, number);
        loop {
            if let Err(found) = marks.before(number, target) {
                lot.end = Some(Findings(found).into());
                return at + 1;
            }
            let mut step = if ended { DocumentStep::NeedMore } else { documents.skip() };
            if step == DocumentStep::NeedMore && part.ends_page && !ended {
                step = documents.skip_page().unwrap_or(step);
                ended = true;
            }
            let DocumentStep::Document { from, to, is_transaction, errors, page, more } = step else {
                keep_between(&mut documents, facts, number, lot);
                return at + 1;
            };
            let until = offset(to.0, block);
            let mut findings = findings_of(documents.take_faults(), facts, number);
            let mut refused = errors > 0;
            judge_each(&mut trial, until);
            // The trial finds the same envelope faults; only rows can have too many elements or invalid characters.
            let is_own = |error: &EdiError| {
                matches!(error, EdiError::Characters | EdiError::Encoding { .. } | EdiError::Columns { .. })
            };
            let own = trial.take_faults().filter(|fault| is_own(&fault.error));
            let own = findings_of(own, facts, number);
            refused |= own.iter().any(|finding| finding.severity == quayline_core::Severity::Error);
            findings.extend(own);
            findings.sort_by_key(|finding| finding.place.byte);
            let mut count = 0;
            if refused {
                judge_each(&mut rows, until);
            } else {
                let mut driven = Driven(target);
                let sent = each_row(&mut rows, until, &mut driven, |driven| {
                    count += 1;
                    driven.0.accept()
                });
                if let Err(found) = sent {
                    // Rows already in the output cannot be discarded.
                    lot.end = Some(Findings(found).into());
                    return at + 1;
                }
            }
            if more || page > 1 {
                let around = documents.surroundings();
                let documents = if refused { 0 } else { count.max(1) };
                // The block ends with it.
                let more = more.then_some(input.len());
                let ended = EndedPage { page, more, is_bad: refused, documents, number, from, to, around, findings };
                let done = marks.page(ended, None, block, facts, target, lot);
                if let Err(found) = done {
                    lot.end = Some(Findings(found).into());
                    return at + 1;
                }
            } else if refused {
                let raw = &input[offset(from.0, block)..until];
                lot.rejected_excerpt((documents.surroundings(), is_transaction), None, raw, findings);
            } else {
                lot.keep_with_errors(findings);
                lot.written(1);
                // An interchange or a group without segments has no row.
                lot.documents = lot.documents + count - 1;
            }
            if refused && facts.stop_at_reject {
                return at + 1;
            }
            rows.take_faults().for_each(drop);
            number.0 += 1;
            // The header that ended it begins the next block.
            if documents.consumed() > part.len {
                return at + 1;
            }
        }
    }
}

/// Judges the rows up to a byte of the input.
fn judge_each(pass: &mut RowPass<'_>, until: usize) {
    while pass.judge_to(until) == RowStep::Row {}
}

/// Sends the rows up to a byte of the input.
fn each_row<S: Sink, E>(
    pass: &mut RowPass<'_>,
    until: usize,
    sink: &mut S,
    mut accept: impl FnMut(&mut S) -> Result<(), E>,
) -> Result<(), E> {
    while pass.read_to(until, sink) == RowStep::Row {
        accept(sink)?;
    }
    Ok(())
}

/// A target as the sink that it has.
struct Driven<'t, T>(&'t mut T);

impl<T: Target> Sink for Driven<'_, T> {
    fn enter(&mut self, node: NodeId) {
        self.0.sink().enter(node);
    }
    fn leave(&mut self, node: NodeId) {
        self.0.sink().leave(node);
    }
    fn open_list(&mut self, node: NodeId) {
        self.0.sink().open_list(node);
    }
    fn close_list(&mut self, node: NodeId) {
        self.0.sink().close_list(node);
    }
    #[inline(always)]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        self.0.sink().value(node, value);
    }
    #[inline(always)]
    fn first_texts<'v>(&mut self, key: &[u8], texts: impl Iterator<Item = (NodeId, Run<'v>)>) {
        self.0.sink().first_texts(key, texts);
    }
    fn discard(&mut self) {
        self.0.sink().discard();
    }
}
