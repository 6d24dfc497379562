//! What one block became: output, rejects, findings and counts, on its way to the writer.

use quayline_columnar::{ParquetPages, RecordBatch};
use quayline_core::{Code, Finding, Place, Tally};

use crate::engine::block::{Block, Position};
use crate::engine::reject::RejectForm;
use crate::error::ConvertError;

/// What one block became. Lots circulate between lanes and writer; their memory is reused.
#[derive(Debug)]
pub(crate) struct Lot {
    pub(crate) seq: u64,
    pub(crate) payload: Payload,
    /// Rejected records, as they go to the rejects file.
    pub(crate) rejects: Vec<u8>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) counts: CodeCounts,
    pub(crate) tally: Tally,
    pub(crate) documents: u64,
    /// Where the source stands behind the lot.
    pub(crate) after: Position,
    /// A word on why so many records of the first block were rejected.
    pub(crate) misfit: Option<Finding>,
    /// Ends the run behind this lot.
    pub(crate) end: Option<ConvertError>,
}

/// Output of one block.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    /// Bytes of output: `..len` of it. A writer may keep the whole vector initialised, so length is told apart.
    pub(crate) bytes: Vec<u8>,
    pub(crate) len: usize,
    /// Output as columns.
    pub(crate) columns: Option<Columns>,
}

/// Output that a columnar writer takes.
#[derive(Debug)]
pub(crate) enum Columns {
    Pages(ParquetPages),
    Batch(RecordBatch),
}

impl Payload {
    /// Copies a writer's bytes.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.len = bytes.len();
    }
}

impl Lot {
    pub(crate) fn new() -> Self {
        Lot {
            seq: 0,
            payload: Payload::default(),
            rejects: Vec::new(),
            findings: Vec::new(),
            counts: CodeCounts::default(),
            tally: Tally::default(),
            documents: 0,
            after: Position::START,
            misfit: None,
            end: None,
        }
    }

    /// Empties the lot and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.payload.len = 0;
        self.payload.columns = None;
        self.rejects.clear();
        self.findings.clear();
        self.counts.0.clear();
        self.tally = Tally::default();
        self.documents = 0;
        self.misfit = None;
        self.end = None;
    }

    /// `records` of the block went into one document of the output.
    #[inline]
    pub(crate) fn written(&mut self, records: u64) {
        self.tally.records_in += records;
        self.tally.records_out += records;
        self.documents += 1;
    }

    /// `records` were left out on purpose.
    #[inline]
    pub(crate) fn skipped(&mut self, records: u64) {
        self.tally.records_in += records;
        self.tally.records_skipped += records;
    }

    /// Record `i` of the block goes to the rejects.
    #[cold]
    pub(crate) fn rejected(&mut self, form: &RejectForm, block: &Block, i: usize, findings: Vec<Finding>) {
        form.append(block, i, &mut self.rejects);
        self.rejected_already(findings);
    }

    /// A record whose bytes are in `rejects` already.
    pub(crate) fn rejected_already(&mut self, findings: Vec<Finding>) {
        self.tally.records_in += 1;
        self.tally.records_rejected += 1;
        self.keep(findings);
    }

    /// Keeps findings up to a bound for a lot, and counts all.
    pub(crate) fn keep(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            self.counts.add(finding.code, 1);
            if self.findings.len() < FINDINGS_A_LOT {
                self.findings.push(finding);
            }
        }
    }
}

/// Findings kept of one lot before the writer applies the limit of the run; enough for that limit's default.
const FINDINGS_A_LOT: usize = 10_000;

/// How often each code was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeCounts(pub(crate) Vec<(Code, u64)>);

impl CodeCounts {
    pub(crate) fn add(&mut self, code: Code, times: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += times,
            None => self.0.push((code, times)),
        }
    }

    pub(crate) fn add_all(&mut self, other: &CodeCounts) {
        other.0.iter().for_each(|(code, times)| self.add(*code, *times));
    }

    pub(crate) fn sorted(mut self) -> Vec<(Code, u64)> {
        self.0.sort_unstable();
        self.0
    }
}

/// The place of record `i` of a block.
pub(crate) fn place_of(block: &Block, i: usize, file: &std::sync::Arc<str>) -> Place {
    Place {
        file: Some(std::sync::Arc::clone(file)),
        record: Some(block.number(i)),
        byte: Some(block.offset(i)),
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
