//! The first pass over a source: its digest, and which groups and interchanges are rejected for their envelopes.

use std::collections::BTreeSet;
use std::io::{self, Read};

use quayline_core::{Limits, Severity};
use quayline_edi::{Closed, EdiError, EdiFault, EndOfInput, EnvelopeReader, Event, Level, Rules};
use xxhash_rust::xxh3::Xxh3;

use crate::refusal::is_refused;

/// Result of a pass over the envelopes of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// Digest of all bytes.
    pub(crate) digest: [u8; 16],
    pub(crate) bytes: u64,
    pub(crate) interchanges: u32,
    /// True if the source has a header that cannot be used.
    pub(crate) has_refused: bool,
    /// Numbers of interchanges with an error of their own.
    pub(crate) bad_interchanges: BTreeSet<u32>,
    /// Numbers of interchange and group of groups with an error of their own.
    pub(crate) bad_groups: BTreeSet<(u32, u32)>,
    /// First errors before the first interchange: the reasons if the source has none.
    pub(crate) before: Vec<EdiFault>,
}

/// Most errors before the first interchange that are kept.
const BEFORE_MAX: usize = 10;

/// Bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// Bytes that were read and are not processed yet.
pub(crate) struct Feed<R> {
    pub(crate) reader: R,
    pub(crate) buffer: Vec<u8>,
    pub(crate) filled: usize,
    pub(crate) ended: bool,
}

impl<R: Read> Feed<R> {
    pub(crate) fn new(reader: R) -> Self {
        Feed { reader, buffer: vec![0; READ_BYTES], filled: 0, ended: false }
    }

    /// Drops `done` bytes and reads until the buffer is full or the source ends.
    pub(crate) fn advance(&mut self, done: usize, seen: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.buffer.copy_within(done..self.filled, 0);
        self.filled -= done;
        if self.filled + READ_BYTES / 2 > self.buffer.len() {
            // One segment that is longer than the buffer; its limit bounds the growth.
            self.buffer.resize(self.filled + READ_BYTES.max(self.filled / 8), 0);
        }
        while self.filled < self.buffer.len() && !self.ended {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    seen(&self.buffer[self.filled..self.filled + n]);
                    self.filled += n;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(crate) fn end(&self) -> EndOfInput {
        if self.ended { EndOfInput::Yes } else { EndOfInput::No }
    }
}

/// Looks over a source.
pub(crate) fn survey(source: impl Read, limits: &Limits) -> io::Result<Survey> {
    let mut survey = Survey::default();
    let mut hash = Xxh3::new();
    let limits = Limits { findings_max: usize::MAX, ..limits.clone() };
    let mut reader = EnvelopeReader::new(&limits, Rules::Lenient);
    let mut feed = Feed::new(source);
    let mut done = 0;
    let mut faults = Vec::new();
    loop {
        feed.advance(done, &mut |bytes| {
            hash.update(bytes);
            survey.bytes += bytes.len() as u64;
        })?;
        let end = feed.end();
        let mut pass = reader.over(&feed.buffer[..feed.filled], end);
        let finished = loop {
            let event = pass.advance();
            match event {
                Event::InterchangeStart => survey.interchanges += 1,
                Event::InterchangeEnd(Closed::Unclosed) => {
                    survey.bad_interchanges.insert(pass.interchange().position().interchange);
                }
                _ => {}
            }
            if pass.has_faults() {
                faults.clear();
                faults.extend(pass.take_faults());
                for fault in faults.iter().filter(|fault| fault.severity == Severity::Error) {
                    survey.has_refused |= is_refused(fault);
                    if survey.interchanges == 0 && survey.before.len() < BEFORE_MAX {
                        survey.before.push(fault.clone());
                    }
                    match level_of(&fault.error) {
                        Some(Level::Interchange) => {
                            survey.bad_interchanges.insert(fault.at.interchange);
                        }
                        Some(Level::Group) => {
                            survey.bad_groups.insert((fault.at.interchange, fault.at.group));
                        }
                        Some(Level::Transaction) | None => {}
                    }
                }
            }
            match event {
                Event::NeedMore => break false,
                Event::Done => break true,
                _ => {}
            }
        };
        done = pass.finish();
        if finished {
            survey.digest = hash.digest128().to_be_bytes();
            return Ok(survey);
        }
    }
}

/// Returns the level that an error of an envelope rejects.
fn level_of(error: &EdiError) -> Option<Level> {
    match error {
        EdiError::TrailerMissing { level, .. }
        | EdiError::TrailerAlone { level, .. }
        | EdiError::ControlDiffers { level, .. }
        | EdiError::ControlZeros { level, .. }
        | EdiError::DateWidth { level, .. }
        | EdiError::CountDiffers { level, .. }
        | EdiError::CountFormat { level, .. }
        | EdiError::Nested { level, .. }
        | EdiError::FieldMissing { level, .. }
        | EdiError::FieldFormat { level, .. }
        | EdiError::ControlTwice { level, .. }
        | EdiError::EnvelopeElements { level, .. } => Some(*level),
        // The source is cut off, perhaps in the trailer itself.
        EdiError::Unterminated | EdiError::BinaryCut { .. } => Some(Level::Interchange),
        _ => None,
    }
}
