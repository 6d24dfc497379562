//! The story of one document: its entry, its interchange, its acknowledgment, the entry that it replaces and its segments. The current definitions
//! give the findings of the segments, and the values that each statement of its maps writes from which values.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use quayline_core::{Finding, Findings};
use quayline_edi::{Closed, EndOfInput, EnvelopeReader, Event, Rules};
use quayline_pipeline::TraceOut;
use serde_json::Value;

use crate::desk::Desk;
use crate::entry::{Entry, EntryId, Kind, Part, Way};
use crate::ledger::of_store;

/// A segment of a stored document.
#[derive(Clone, Debug, Default)]
pub struct StorySegment {
    /// Offset of its first byte in the stored bytes.
    pub byte: u64,
    /// Text of the segment without the terminator.
    pub text: String,
    /// Findings at the segment.
    pub findings: Vec<Finding>,
}

/// Values that one map of the document's rule writes, with the current version of the map.
#[derive(Clone, Debug, Default)]
pub struct StoryTrace {
    /// File of the map, as the rule names it.
    pub map: String,
    /// Values that the map writes, each with its statement and source values, in the form of `translate --trace`. At most
    /// [`Story::TRACE_MAX`]. Empty if the map rejects the document.
    pub values: Vec<Value>,
    /// Number of further values.
    pub more: u64,
    /// Findings of the map in the document.
    pub findings: Vec<Finding>,
}

/// One document's whole story.
#[derive(Clone, Debug)]
pub struct Story {
    /// The entry.
    pub entry: Entry,
    /// The interchange that it is in.
    pub interchange: Option<Entry>,
    /// The acknowledgment: our acknowledgment of a received document, or the partner's of a sent one.
    pub answer: Option<Entry>,
    /// Entries that it replaces, newest first, and the entry that an acknowledgment answers.
    pub before: Vec<Entry>,
    /// Entries that replace it, the oldest first.
    pub after: Vec<Entry>,
    /// The first segments of its bytes, at most [`Story::SEGMENTS_MAX`]; empty where no bytes are kept.
    pub segments: Vec<StorySegment>,
    /// Segments beyond those.
    pub segments_more: u64,
    /// Findings that are in no segment, or in one beyond those.
    pub elsewhere: Vec<Finding>,
    /// True if the document was checked with the current definitions, as received documents are.
    pub is_checked: bool,
    /// Trace of each map of the rule that matched the document. Empty if no map matched, if the store does not keep the input of the map, or if
    /// that input is larger than [`Story::TRACE_BYTES_MAX`].
    pub traces: Vec<StoryTrace>,
}

impl Story {
    /// Segments that a story has.
    pub const SEGMENTS_MAX: usize = 2_000;
    /// Entries before and after that a story has.
    pub const CHAIN_MAX: usize = 100;
    /// Maximum number of values in each trace.
    pub const TRACE_MAX: usize = 2_000;
    /// Maximum bytes of a document with a trace. The trace is in memory, and is much larger than the document.
    pub const TRACE_BYTES_MAX: usize = 1 << 20;
}

impl Desk<'_> {
    /// Returns the story of an entry.
    ///
    /// # Errors
    /// The entry does not exist, or the store cannot be read.
    pub fn story(&mut self, id: EntryId) -> Result<Story, Findings> {
        let ledger = self.ledger;
        let unit = ledger.begin().map_err(of_store)?;
        let entry = ledger.need(&unit, id)?;
        // A purge may have removed entries that others name.
        let named = |id: u64| if id == 0 { Ok(None) } else { ledger.get(&unit, EntryId(id)) };
        let interchange = named(entry.details.parent)?;
        let answered_by = match (&interchange, entry.details.answered_by) {
            (Some(interchange), 0) => interchange.details.answered_by,
            (_, own) => own,
        };
        let answer = named(answered_by)?;
        let chain = |next: fn(&Entry) -> u64| -> Result<Vec<Entry>, Findings> {
            let mut chain: Vec<Entry> = Vec::new();
            let mut next_id = next(&entry);
            while chain.len() < Story::CHAIN_MAX
                && let Some(found) = named(next_id)?
            {
                next_id = next(&found);
                chain.push(found);
            }
            Ok(chain)
        };
        let before = chain(|entry| entry.details.about)?;
        let after = chain(|entry| entry.details.replaced_by)?;
        let bytes = ledger.body(&unit, id, Part::Document)?;
        // The input of a map is the received document, or the source of a document to send.
        let mapped = match entry.way {
            Way::Received => bytes.clone(),
            Way::Sent => ledger.body(&unit, id, Part::Source)?,
        };
        drop(unit);
        let mut story = Story {
            interchange,
            answer,
            before,
            after,
            segments: Vec::new(),
            segments_more: 0,
            elsewhere: Vec::new(),
            is_checked: false,
            traces: Vec::new(),
            entry,
        };
        if let Some(bytes) = bytes {
            story.read(self, &bytes);
        }
        if let Some(mapped) = mapped.filter(|mapped| mapped.len() <= Story::TRACE_BYTES_MAX) {
            story.traces = self.traces(&story.entry, &mapped)?;
        }
        Ok(story)
    }

    /// Runs the maps of the rule that matched a document, and discards their output.
    fn traces(&mut self, entry: &Entry, bytes: &[u8]) -> Result<Vec<StoryTrace>, Findings> {
        let book = self.book;
        let Some(rule) = book.rule_named(&entry.details.rule) else { return Ok(Vec::new()) };
        let mut traces = Vec::new();
        for of in &book.rule(rule).maps {
            let name = of.path.display().to_string();
            let map = match book.map(of) {
                Ok(map) => map,
                Err(Findings(found)) => {
                    traces.push(StoryTrace { map: name, findings: found.clone(), ..StoryTrace::default() });
                    continue;
                }
            };
            let told = Told::default();
            let out: TraceOut = Arc::new(Mutex::new(Box::new(told.clone())));
            let (mut lane, mut buffers) =
                match map.pipeline.traced_lane(out).and_then(|lane| Ok((lane, map.pipeline.buffers()?))) {
                    Ok(both) => both,
                    Err(Findings(findings)) => {
                        traces.push(StoryTrace { map: name, findings, ..StoryTrace::default() });
                        continue;
                    }
                };
            let (_, run) = self.begin_map();
            map.begin_unit(entry.time_ms, run);
            let mut report = lane.run(&format!("entry {}", entry.id).into(), bytes, &mut buffers);
            let lost = report.lost.take().map(|Findings(lost)| lost).unwrap_or_default();
            let mut trace = told.end(name);
            trace.findings.extend(report.findings.drain(..).chain(lost));
            traces.push(trace);
        }
        Ok(traces)
    }
}

/// Collector of the lines of a trace.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<ToldLines>>);

#[derive(Default)]
struct ToldLines {
    bytes: Vec<u8>,
    lines: usize,
    more: u64,
}

impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = part.ends_with(b"\n");
            if told.lines < Story::TRACE_MAX {
                told.bytes.extend_from_slice(part);
                told.lines += usize::from(is_end);
            } else {
                told.more += u64::from(is_end);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Told {
    fn end(&self, map: String) -> StoryTrace {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = told.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        // Every line is an object that the tracer wrote.
        let values = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        StoryTrace { map, values, more: told.more, findings: Vec::new() }
    }
}

impl Story {
    /// Splits the bytes into segments, and checks a document that came.
    fn read(&mut self, desk: &Desk<'_>, bytes: &[u8]) {
        let mut reader = EnvelopeReader::new(desk.book.limits(), Rules::Lenient);
        let mut pass = reader.over(bytes, EndOfInput::Yes);
        loop {
            let event = pass.advance();
            match event {
                Event::InterchangeStart
                | Event::GroupStart
                | Event::TransactionStart
                | Event::Segment
                | Event::TransactionEnd(Closed::ByTrailer)
                | Event::GroupEnd(Closed::ByTrailer)
                | Event::InterchangeEnd(Closed::ByTrailer) => {
                    if self.segments.len() < Story::SEGMENTS_MAX {
                        self.segments.push(StorySegment {
                            byte: pass.segment_start() as u64,
                            text: crate::time::text_of(pass.segment().raw().trim_ascii()),
                            findings: Vec::new(),
                        });
                    } else {
                        self.segments_more += 1;
                    }
                }
                Event::Done => break,
                _ => {}
            }
        }
        if self.entry.kind != Kind::Transaction || self.entry.way != Way::Received {
            return;
        }
        // Bytes that are not one transaction are those of a source that nothing could be made of.
        let Ok(checked) = desk.check(bytes, self.entry.id, &self.entry) else { return };
        self.is_checked = true;
        let starts: BTreeMap<u64, usize> =
            self.segments.iter().enumerate().map(|(number, segment)| (segment.byte, number)).collect();
        for finding in checked.findings {
            let place = finding.place.byte.map(|byte| byte.0);
            let number = place.and_then(|byte| starts.range(..=byte).next_back()).map(|(_, number)| *number);
            let is_beyond = self.segments_more > 0 && number == Some(self.segments.len() - 1);
            match number.filter(|_| !is_beyond) {
                Some(number) => self.segments[number].findings.push(finding),
                None => self.elsewhere.push(finding),
            }
        }
    }
}
