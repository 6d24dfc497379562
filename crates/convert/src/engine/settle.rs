//! The last word on documents, where an output is interchanges: its writer, which knows what is open, may still refuse a document.

use core::ops::Range;
use std::io;
use std::path::Path;

use quayline_core::Finding;
use quayline_edi::EdiMark;

use crate::engine::lot::{Deferred, Lot, Payload};
use crate::engine::output::{EdiOutput, OutputWriter};
use crate::engine::spool::Spool;
use crate::error::ConvertError;

/// Makes the output of a lot from its documents, and rejects those that cannot be written.
///
/// # Errors
/// A temporary file cannot be written.
pub(crate) fn settle(
    outputs: &mut [OutputWriter],
    lot: &mut Lot,
    stop_at_reject: bool,
    open: &mut Option<OpenDrafts>,
    spool_folder: &Path,
) -> Result<(), ConvertError> {
    if !outputs.iter().any(|output| matches!(output, OutputWriter::Edi(_))) {
        return Ok(());
    }
    let deferred = core::mem::take(&mut lot.deferred);
    let raws = core::mem::take(&mut lot.deferred_raw);
    let mut names = core::mem::take(&mut lot.payload.names).into_iter();
    lot.deferring = false;
    let mut course = vec![Course::default(); outputs.len()];
    for mut document in deferred {
        if let Some(page) = document.page {
            let name = if document.rejected.is_none() { names.next() } else { None };
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
                match write(outputs, &mut lot.payload, &mut course, &document, name) {
                    Ok(()) => {
                        lot.tally.records_in += document.records;
                        lot.tally.records_out += document.records;
                        lot.documents += document.documents;
                        continue;
                    }
                    Err(finding) => vec![*finding],
                }
            }
        };
        let raw = &raws[document.raw];
        match document.around {
            Some((around, is_transaction)) => lot.excerpt(around, is_transaction, document.front, raw),
            None => lot.rejects.extend_from_slice(raw),
        }
        // The others of its records are rejected with it.
        lot.tally.records_in += document.records - 1;
        lot.tally.records_rejected += document.records - 1;
        lot.rejected_already(findings);
        if stop_at_reject {
            break;
        }
    }
    for (number, course) in course.iter().enumerate() {
        let payload = payload_of(&mut lot.payload, number);
        match &mut outputs[number] {
            OutputWriter::Edi(output) => {
                payload.fill(output.writer.bytes());
                output.writer.clear();
                if let Some(open) = open {
                    open.mark.taken();
                }
            }
            _ if course.dropped.is_empty() => {}
            _ => without(payload, &course.dropped, spool_folder)
                .map_err(ConvertError::io("write a temporary file in", spool_folder))?,
        }
    }
    lot.deferred_raw = raws;
    Ok(())
}

/// A transaction of several pages that is being written as one of interchanges.
#[derive(Debug)]
pub(crate) struct OpenDrafts {
    /// The writer before its first page.
    mark: EdiMark,
    is_bad: bool,
}

/// Writes a page; where it cannot be written, or the lane rejected it, all of its transaction is taken back. Whether that is so.
fn settle_page(
    output: &mut OutputWriter,
    lot: &mut Lot,
    course: &mut Course,
    document: &Deferred,
    page: usize,
    name: Option<String>,
    open: &mut Option<OpenDrafts>,
) -> bool {
    let OutputWriter::Edi(output) = output else { return false };
    let split = output.is_split();
    let stands = |output: &EdiOutput, payload: &Payload| {
        if split { payload.cuts.len() } else { output.writer.bytes().len() }
    };
    let from = stands(output, &lot.payload);
    if lot.pages[page].is_first {
        *open = Some(OpenDrafts { mark: output.writer.mark(), is_bad: false });
    }
    let open_drafts = open.as_mut().expect("the first page of a transaction comes first");
    let mut refused = document.rejected.is_some();
    if !refused {
        let draft = course.drafts..course.drafts + 1;
        course.drafts = draft.end;
        if !open_drafts.is_bad
            && let Err(finding) = write_drafts(output, &mut lot.payload, draft, document, name.as_ref())
        {
            refused = true;
            lot.keep(vec![*finding]);
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
        lot.pages[page].output = from..stands(output, &lot.payload);
    }
    if !lot.pages[page].more {
        *open = None;
    }
    refused
}

/// How far an output is in its lot.
#[derive(Clone, Debug, Default)]
struct Course {
    /// Drafts that were written or refused.
    drafts: usize,
    /// Of text: where the last document ends, and what of it is not written.
    end: u64,
    dropped: Vec<Range<u64>>,
}

fn payload_of(payload: &mut Payload, number: usize) -> &mut Payload {
    match number {
        0 => payload,
        _ => &mut payload.more[number - 1],
    }
}

/// Writes what came of one source document, all of it or nothing.
fn write(
    outputs: &mut [OutputWriter],
    payload: &mut Payload,
    course: &mut [Course],
    document: &Deferred,
    name: Option<String>,
) -> Result<(), Box<Finding>> {
    let mut before = Vec::new();
    let mut failed = None;
    for (number, output) in outputs.iter_mut().enumerate() {
        // Without a map a document is one draft.
        let taken = document.taken.get(number).map_or((1, 0), |taken| (taken.drafts, taken.end));
        let OutputWriter::Edi(output) = output else { continue };
        let payload = payload_of(payload, number);
        before.push((number, output.writer.mark(), payload.cuts.len()));
        let drafts = course[number].drafts..course[number].drafts + taken.0;
        course[number].drafts = drafts.end;
        if failed.is_none() {
            failed = write_drafts(output, payload, drafts, document, name.as_ref()).err();
        }
    }
    if let Some(finding) = &failed {
        for (number, mark, cuts) in before {
            let OutputWriter::Edi(output) = &mut outputs[number] else { continue };
            output.writer.back_to(mark);
            let payload = payload_of(payload, number);
            payload.cuts.truncate(cuts);
            payload.names.truncate(cuts);
        }
        debug_assert!(!finding.message.is_empty());
    }
    for (taken, course) in document.taken.iter().zip(course) {
        if taken.end > 0 {
            if failed.is_some() {
                course.dropped.push(course.end..taken.end);
            }
            course.end = taken.end;
        }
    }
    failed.map_or(Ok(()), Err)
}

fn write_drafts(
    output: &mut EdiOutput,
    payload: &mut Payload,
    drafts: Range<usize>,
    document: &Deferred,
    name: Option<&String>,
) -> Result<(), Box<Finding>> {
    let split = output.is_split();
    for draft in drafts {
        let draft = payload.drafts.get(draft).expect("every document that no lane rejected has its drafts");
        output.writer.write(draft).map_err(|error| Box::new(error.finding(document.place.clone())))?;
        if split {
            // Each is an interchange of its own.
            output.writer.finish();
            payload.cuts.push(output.writer.bytes().len());
            payload.names.push(name.cloned().unwrap_or_default());
        }
    }
    Ok(())
}

/// Leaves ranges of a payload out; they do not overlap and rise.
fn without(payload: &mut Payload, dropped: &[Range<u64>], folder: &Path) -> io::Result<()> {
    let in_front = payload.front.as_ref().map_or(0, Spool::len);
    if let Some(mut front) = payload.front.take() {
        let mut kept = Spool::default();
        let mut at = 0;
        front.read(0, |part| {
            for range in outside(dropped, at..at + part.len() as u64) {
                let local = |place: u64| usize::try_from(place - at).unwrap_or(usize::MAX);
                kept.push(&part[local(range.start)..local(range.end)], folder)?;
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

/// The parts of a range that lie in none of the others.
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

    #[test]
    fn what_is_dropped_leaves_the_rest_in_order() {
        let parts = |dropped: &[Range<u64>], of| {
            outside(dropped, of).iter().map(|part| (part.start, part.end)).collect::<Vec<_>>()
        };
        assert_eq!(parts(&[2..4, 6..9], 0..8), [(0, 2), (4, 6)]);
        assert_eq!(parts(&[2..4, 6..9], 3..7), [(4, 6)]);
        assert_eq!(parts(&[], 3..7), [(3, 7)]);
        let folder = tempfile::tempdir().unwrap();
        let mut front = Spool::default();
        front.push(b"0123", folder.path()).unwrap();
        let mut payload = Payload {
            bytes: b"456789".to_vec(),
            len: 6,
            front: Some(front),
            cuts: vec![2, 4, 6, 10],
            ..Payload::default()
        };
        without(&mut payload, &[2..4, 6..7], folder.path()).unwrap();
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
