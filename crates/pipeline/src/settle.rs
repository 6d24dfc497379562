//! Final decision on documents of interchange outputs: the writer, which tracks the open envelopes, may still refuse a document.

use core::ops::Range;
use std::io;

use quayline_core::{Finding, Place, Severity};
use quayline_edi::{EdiError, EdiMark, EdiWriter, OutboundFaults};

use crate::error::PipelineError;
use crate::lot::{Deferred, Lot};
use crate::payload::Payload;
use crate::spool::{Spool, SpoolFiles};

/// An output that may be interchanges.
pub trait DraftOutput {
    /// Returns the writer of its interchanges; `None` for other formats.
    fn drafts(&mut self) -> Option<Drafts<'_>>;
}

/// An output of interchanges.
pub struct Drafts<'w> {
    /// Writer, which tracks the open envelopes.
    pub writer: &'w mut EdiWriter,
    /// True if each document is an interchange in a separate file.
    pub is_split: bool,
    /// Name of the output in the map, if the map has several.
    pub name: Option<&'w str>,
}

/// State of a run that is undecided between two lots.
#[derive(Debug, Default)]
pub struct Unsettled {
    /// A transaction of several pages that is being written.
    drafts: Option<OpenDrafts>,
    /// The last document of a lot, if it is right only if a further page of its transaction follows.
    document: Option<OpenDocument>,
}

impl Unsettled {
    /// Returns true if the run can continue from here without this state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.document.is_none()
    }
}

/// A transaction of several pages that is being written as one of interchanges.
#[derive(Debug)]
struct OpenDrafts {
    /// The writer before its first page.
    mark: EdiMark,
    is_bad: bool,
}

/// A document that is written and not yet kept.
#[derive(Debug)]
struct OpenDocument {
    mark: EdiMark,
    document: Deferred,
    /// Bytes of the source document, for the rejects.
    raw: Vec<u8>,
}

/// Successor of a written document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Follows {
    /// A further page of its transaction.
    Page,
    /// Another transaction, or nothing.
    Other,
    /// The successor is known only with the next lot.
    Unknown,
}

/// Makes the output of a lot from its documents, and rejects those that cannot be written.
///
/// # Errors
/// A temporary file cannot be written.
pub fn settle<O: DraftOutput>(
    outputs: &mut [O],
    lot: &mut Lot,
    stop_at_reject: bool,
    unsettled: &mut Unsettled,
    files: &dyn SpoolFiles,
) -> Result<(), PipelineError> {
    if !outputs.iter_mut().any(|output| output.drafts().is_some()) {
        return Ok(());
    }
    let mut deferred = core::mem::take(&mut lot.deferred);
    let raws = core::mem::take(&mut lot.deferred_raw);
    let mut names = core::mem::take(&mut lot.payload.names).into_iter();
    lot.deferring = false;
    settle_open(outputs, lot, deferred.first(), unsettled);
    let mut course = vec![OutputProgress::default(); outputs.len()];
    let count = if stop_at_reject && lot.tally.records_rejected > 0 { 0 } else { deferred.len() };
    for (number, mut document) in deferred.drain(..).take(count).enumerate() {
        if let Some(page) = document.page {
            let name = if document.rejected.is_none() { names.next() } else { None };
            let open = &mut unsettled.drafts;
            let refused = settle_page(&mut outputs[0], lot, &mut course[0], &document, page, name, open);
            if refused && stop_at_reject {
                break;
            }
            continue;
        }
        let findings = match document.rejected.take() {
            Some(findings) => findings,
            None => {
                let name = names.next();
                let last = if number + 1 == count { Follows::Unknown } else { Follows::Other };
                match write(outputs, lot, &mut course, &document, name, last) {
                    Ok(None) => {
                        lot.settled(document.records, document.documents);
                        continue;
                    }
                    Ok(Some(mark)) => {
                        let raw = raws[document.raw.clone()].to_vec();
                        unsettled.document = Some(OpenDocument { mark, document, raw });
                        continue;
                    }
                    Err(findings) => findings,
                }
            }
        };
        let raw = document.raw.clone();
        reject(lot, document, &raws[raw], findings);
        if stop_at_reject {
            break;
        }
    }
    for (number, course) in course.iter().enumerate() {
        let payload = payload_of(&mut lot.payload, number);
        match outputs[number].drafts() {
            Some(output) => {
                let writer = output.writer;
                if let Some(open) = &mut unsettled.document {
                    payload.fill(&writer.bytes()[..open.mark.bytes()]);
                    writer.clear_to(&mut open.mark);
                } else {
                    payload.fill(writer.bytes());
                    writer.clear();
                }
                if let Some(open) = &mut unsettled.drafts {
                    open.mark.taken();
                }
            }
            _ if course.dropped.is_empty() => {}
            _ => without(payload, &course.dropped, files).map_err(PipelineError::spool(files))?,
        }
    }
    lot.deferred_raw = raws;
    Ok(())
}

/// Handles the document that the preceding lot left open: keeps it open if the first document of this lot is a page of its transaction, and otherwise
/// checks its end.
fn settle_open<O: DraftOutput>(outputs: &mut [O], lot: &mut Lot, next: Option<&Deferred>, unsettled: &mut Unsettled) {
    let Some(next) = next else { return };
    let draft = next.rejected.is_none().then(|| lot.payload.drafts.first()).flatten();
    let Some(mut output) = outputs[0].drafts() else { return };
    let goes_on = draft.is_some_and(|draft| output.writer.continues(draft));
    close(&mut output, lot, unsettled, goes_on);
}

/// Handles the documents that are open after the last lot.
pub fn settle_end<O: DraftOutput>(outputs: &mut [O], lot: &mut Lot, unsettled: &mut Unsettled) {
    if let Some(mut output) = outputs.first_mut().and_then(O::drafts) {
        close(&mut output, lot, unsettled, false);
    }
    for output in outputs {
        let Some(output) = output.drafts() else { continue };
        output.writer.end_transaction();
        let mut faults = output.writer.take_late_faults();
        let at_end = output.writer.take_faults();
        faults.more += at_end.more;
        faults.faults.extend(at_end.faults);
        lot.keep_with_errors(findings_of(faults, &Place::default(), output.name));
    }
}

fn close(output: &mut Drafts<'_>, lot: &mut Lot, unsettled: &mut Unsettled, goes_on: bool) {
    let Some(OpenDocument { mark, document, raw }) = unsettled.document.take() else { return };
    if !goes_on {
        output.writer.end_transaction();
        let faults = output.writer.take_faults();
        if faults.has_errors {
            output.writer.back_to(mark);
            let findings = findings_of(faults, &document.place, output.name);
            return reject(lot, document, &raw, findings);
        }
    }
    lot.settled(document.records, document.documents);
}

/// Puts a document, with all its records, to the rejects.
fn reject(lot: &mut Lot, document: Deferred, raw: &[u8], findings: Vec<Finding>) {
    match document.around {
        Some((around, is_transaction)) => lot.excerpt(around, is_transaction, document.front, raw),
        None => lot.rejects.extend_from_slice(raw),
    }
    // The others of its records are rejected with it.
    lot.tally.records_in += document.records - 1;
    lot.tally.records_rejected += document.records - 1;
    lot.rejected_already(findings);
}

/// Converts the faults of an outbound check to findings at the source document, with the position in the output.
fn findings_of(faults: OutboundFaults, place: &Place, output: Option<&str>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::with_capacity(faults.faults.len());
    for fault in faults.faults {
        let mut finding = fault.finding(None);
        let path = format!("output {}{}", output.map(|name| format!("{name}, ")).unwrap_or_default(), fault.at);
        finding.place = Place { path: Some(path), detail: finding.place.detail.take(), ..place.clone() };
        finding.hint = match fault.error {
            EdiError::ControlTwice { .. } => {
                Some("leave control numbers out, so that they count, or give each its own".to_owned())
            }
            EdiError::FieldFormat { .. } | EdiError::FieldMissing { .. } => {
                Some("correct the envelope value, in the document, the map or the arguments".to_owned())
            }
            EdiError::LineBreakInside | EdiError::Unterminated | EdiError::Tag { .. } => None,
            _ => finding.hint,
        };
        findings.push(finding);
    }
    mention_more(&mut findings, faults.more);
    findings
}

/// Adds the number of further findings of the document to the last finding.
pub(crate) fn mention_more(findings: &mut [Finding], more: u64) {
    let Some(last) = findings.last_mut().filter(|_| more > 0) else { return };
    let noun = if more == 1 { "finding" } else { "findings" };
    last.message = format!("{} ({more} more {noun} in this document)", last.message);
}

/// Writes a page. If it cannot be written, or the lane rejected it, discards the whole transaction. Returns true in that case.
fn settle_page<O: DraftOutput>(
    output: &mut O,
    lot: &mut Lot,
    course: &mut OutputProgress,
    document: &Deferred,
    page: usize,
    name: Option<String>,
    open: &mut Option<OpenDrafts>,
) -> bool {
    let Some(mut output) = output.drafts() else { return false };
    let split = output.is_split;
    let stands = |output: &Drafts<'_>, payload: &Payload| {
        if split { payload.cuts.len() } else { output.writer.bytes().len() }
    };
    let from = stands(&output, &lot.payload);
    if lot.pages[page].is_first {
        *open = Some(OpenDrafts { mark: output.writer.mark(), is_bad: false });
    }
    let open_drafts = open.as_mut().expect("the first page of a transaction comes first");
    let mut refused = document.rejected.is_some();
    if !refused {
        let draft = course.drafts..course.drafts + 1;
        course.drafts = draft.end;
        let follows = if lot.pages[page].more { Follows::Page } else { Follows::Other };
        if !open_drafts.is_bad {
            let mut notes = Vec::new();
            let written =
                write_drafts(&mut output, &mut lot.payload, draft, document, name.as_ref(), follows, &mut notes);
            lot.keep(notes);
            if let Err(findings) = written {
                refused = true;
                lot.keep(findings);
            }
        }
    }
    lot.pages[page].output = from..from;
    lot.pages[page].is_bad |= refused;
    if refused && !core::mem::replace(&mut open_drafts.is_bad, true) {
        output.writer.back_to(open_drafts.mark.clone());
        let end = if split { from } else { output.writer.bytes().len() };
        for page in lot.pages[..=page].iter_mut().rev() {
            page.output = end..end;
            if page.is_first {
                break;
            }
        }
    } else if !open_drafts.is_bad {
        lot.pages[page].output = from..stands(&output, &lot.payload);
    }
    if !lot.pages[page].more {
        *open = None;
    }
    refused
}

/// Progress of an output in its lot.
#[derive(Clone, Debug, Default)]
struct OutputProgress {
    /// Drafts that were written or refused.
    drafts: usize,
    /// For text: the end of the last document, and the length of the unwritten part.
    end: u64,
    dropped: Vec<Range<u64>>,
}

fn payload_of(payload: &mut Payload, number: usize) -> &mut Payload {
    match number {
        0 => payload,
        _ => &mut payload.more[number - 1],
    }
}

/// Writes the results of one source document, all or none. Returns a mark at its beginning if it is valid only if a page of its transaction
/// follows.
fn write<O: DraftOutput>(
    outputs: &mut [O],
    lot: &mut Lot,
    course: &mut [OutputProgress],
    document: &Deferred,
    name: Option<String>,
    last: Follows,
) -> Result<Option<EdiMark>, Vec<Finding>> {
    let mut before = Vec::new();
    let mut failed = None;
    let mut notes = Vec::new();
    let mut is_open = false;
    let by_map = !document.taken.is_empty();
    for (number, output) in outputs.iter_mut().enumerate() {
        // Without a map a document is one draft.
        let taken = document.taken.get(number).map_or((1, 0), |taken| (taken.drafts, taken.end));
        let Some(mut output) = output.drafts() else { continue };
        let payload = payload_of(&mut lot.payload, number);
        before.push((number, output.writer.mark(), payload.cuts.len()));
        let drafts = course[number].drafts..course[number].drafts + taken.0;
        course[number].drafts = drafts.end;
        if failed.is_none() {
            // A map makes transactions whole.
            let next = payload.drafts.get(drafts.end).filter(|_| !by_map);
            let follows = match next {
                Some(draft) if output.writer.continues(draft) => Follows::Page,
                None if !by_map && !output.is_split => last,
                _ => Follows::Other,
            };
            let written = write_drafts(&mut output, payload, drafts, document, name.as_ref(), follows, &mut notes);
            is_open = written.as_ref().is_ok_and(|is_open| *is_open);
            failed = written.err();
        }
    }
    if let Some(findings) = &failed {
        for (number, mark, cuts) in before.drain(..) {
            let Some(output) = outputs[number].drafts() else { continue };
            output.writer.back_to(mark);
            let payload = payload_of(&mut lot.payload, number);
            payload.cuts.truncate(cuts);
            payload.names.truncate(cuts);
        }
        debug_assert!(!findings.is_empty());
    } else {
        lot.keep(notes);
    }
    for output in outputs.iter_mut() {
        let Some(output) = output.drafts() else { continue };
        let late = output.writer.take_late_faults();
        if !late.is_empty() {
            lot.keep_with_errors(findings_of(late, &Place::default(), output.name));
        }
    }
    for (taken, course) in document.taken.iter().zip(course) {
        if taken.end > 0 {
            if failed.is_some() {
                course.dropped.push(course.end..taken.end);
            }
            course.end = taken.end;
        }
    }
    let mark = before.pop().filter(|_| is_open).map(|(_, mark, _)| mark);
    failed.map_or(Ok(mark), Err)
}

/// Writes and checks the drafts of one source document. Returns true if they are valid only if a page of the last transaction follows. `notes`
/// receives findings that are not errors.
fn write_drafts(
    output: &mut Drafts<'_>,
    payload: &mut Payload,
    drafts: Range<usize>,
    document: &Deferred,
    name: Option<&String>,
    last: Follows,
    notes: &mut Vec<Finding>,
) -> Result<bool, Vec<Finding>> {
    let split = output.is_split;
    let end = drafts.end;
    for number in drafts {
        let draft = payload.drafts.get(number).expect("every document that no lane rejected has its drafts");
        output.writer.write(draft).map_err(|error| vec![error.finding(document.place.clone())])?;
        let is_page = |draft| output.writer.continues(draft);
        let follows = match payload.drafts.get(number + 1) {
            _ if number + 1 == end => last,
            Some(next) if is_page(next) => Follows::Page,
            _ => Follows::Other,
        };
        if split {
            // Each document is a separate interchange.
            output.writer.finish();
            payload.cuts.push(output.writer.bytes().len());
            payload.names.push(name.cloned().unwrap_or_default());
        } else if follows == Follows::Other && output.writer.is_checked() {
            output.writer.end_transaction();
        }
        let faults = output.writer.take_faults();
        let has_errors = faults.has_errors;
        let findings = findings_of(faults, &document.place, output.name);
        if has_errors {
            return Err(findings);
        }
        notes.extend(findings.into_iter().filter(|finding| finding.severity != Severity::Error));
        if follows == Follows::Unknown && output.writer.faults_at_end().has_errors {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Leaves ranges of a payload out; they do not overlap and rise.
fn without(payload: &mut Payload, dropped: &[Range<u64>], files: &dyn SpoolFiles) -> io::Result<()> {
    // Which keys are left is not known. The last key of the file is not that of the document before the next one.
    payload.keys = None;
    payload.keys_unknown = true;
    let in_front = payload.front.as_ref().map_or(0, Spool::len);
    if let Some(mut front) = payload.front.take() {
        let mut kept = Spool::default();
        let mut at = 0;
        front.read(0, |part| {
            for range in outside(dropped, at..at + part.len() as u64) {
                let local = |place: u64| usize::try_from(place - at).unwrap_or(usize::MAX);
                kept.push(&part[local(range.start)..local(range.end)], files)?;
            }
            at += part.len() as u64;
            Ok(())
        })?;
        payload.front = Some(kept);
    }
    let mut kept = Vec::with_capacity(payload.len);
    for range in outside(dropped, in_front..in_front + payload.len as u64) {
        let local = |place: u64| usize::try_from(place - in_front).unwrap_or(usize::MAX);
        kept.extend_from_slice(&payload.bytes[local(range.start)..local(range.end)]);
    }
    payload.len = kept.len();
    payload.bytes = kept;
    payload.cuts.retain(|cut| !dropped.iter().any(|range| range.start < *cut as u64 && *cut as u64 <= range.end));
    for cut in &mut payload.cuts {
        let before: u64 =
            dropped.iter().filter(|range| range.end <= *cut as u64).map(|range| range.end - range.start).sum();
        *cut -= usize::try_from(before).unwrap_or(0);
    }
    Ok(())
}

/// Returns the parts of a range outside of all the other ranges.
fn outside(dropped: &[Range<u64>], of: Range<u64>) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    let mut at = of.start;
    for range in dropped {
        let (start, end) = (range.start.max(of.start), range.end.min(of.end));
        if start < end {
            parts.push(at..start);
            at = end;
        }
    }
    parts.push(at..of.end);
    parts.retain(|part| part.start < part.end);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::SpoolMemory;

    #[test]
    fn what_is_dropped_leaves_the_rest_in_order() {
        let parts = |dropped: &[Range<u64>], of| {
            outside(dropped, of).iter().map(|part| (part.start, part.end)).collect::<Vec<_>>()
        };
        assert_eq!(parts(&[2..4, 6..9], 0..8), [(0, 2), (4, 6)]);
        assert_eq!(parts(&[2..4, 6..9], 3..7), [(4, 6)]);
        assert_eq!(parts(&[], 3..7), [(3, 7)]);
        let mut front = Spool::default();
        front.push(b"0123", &SpoolMemory).unwrap();
        let mut payload = Payload {
            bytes: b"456789".to_vec(),
            len: 6,
            front: Some(front),
            cuts: vec![2, 4, 6, 10],
            ..Payload::default()
        };
        without(&mut payload, &[2..4, 6..7], &SpoolMemory).unwrap();
        let mut all = Vec::new();
        let mut front = payload.front.unwrap();
        let done = front.read(0, |part| {
            all.extend_from_slice(part);
            Ok(())
        });
        done.unwrap();
        all.extend_from_slice(&payload.bytes[..payload.len]);
        assert_eq!((all.as_slice(), payload.cuts.as_slice()), (&b"0145789"[..], &[2, 4, 7][..]));
    }
}
