//! The first pass over a source: its digest, and which groups and interchanges are rejected for their envelopes.

use std::collections::BTreeSet;
use std::io::{self, Read};

use quayline_core::{Limits, Severity};
use quayline_edi::acknowledge::Rejections;
use quayline_edi::{
    EdiFault, EndOfInput, EnvelopeReader, Event, Level, Position, Rules, ValidationLevel, Validator, ValidatorOptions,
};
use quayline_project::partner::{LowestRefused, Settings};
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
    /// What errors reject.
    by_errors: Rejected,
    /// What warnings reject with `reject-on = "warning"`.
    by_warnings: Rejected,
    /// First errors before the first interchange: the reasons if the source has none.
    pub(crate) before: Vec<EdiFault>,
}

/// Interchanges and groups that their own faults reject, as the acknowledgment reports it.
#[derive(Clone, Debug, Default)]
struct Rejected {
    /// Numbers of interchanges.
    interchanges: BTreeSet<u32>,
    /// Numbers of interchange and group.
    groups: BTreeSet<(u32, u32)>,
}

impl Rejected {
    fn add(&mut self, level: Level, at: Position) {
        match level {
            Level::Interchange => {
                self.interchanges.insert(at.interchange);
            }
            Level::Group => {
                self.groups.insert((at.interchange, at.group));
            }
            Level::Transaction => {}
        }
    }
}

impl Survey {
    /// Returns true if an interchange is rejected for its envelope.
    pub(crate) fn rejects_interchange(&self, number: u32, settings: &Settings) -> bool {
        self.rejected(settings).any(|rejected| rejected.interchanges.contains(&number))
    }

    /// Returns true if a group, or its interchange, is rejected for its envelope. `place` has the numbers of interchange and group.
    pub(crate) fn rejects_group(&self, place: (u32, u32), settings: &Settings) -> bool {
        self.rejects_interchange(place.0, settings)
            || self.rejected(settings).any(|rejected| rejected.groups.contains(&place))
    }

    fn rejected(&self, settings: &Settings) -> impl Iterator<Item = &Rejected> {
        let by_warnings = rejects_warnings(settings).then_some(&self.by_warnings);
        std::iter::once(&self.by_errors).chain(by_warnings)
    }
}

/// Returns true if warnings reject what errors reject, in documents and envelopes.
pub(crate) fn rejects_warnings(settings: &Settings) -> bool {
    settings.reject_on == Some(LowestRefused::Warning)
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
    let options =
        ValidatorOptions { level: ValidationLevel::Envelope, findings_max: usize::MAX, ..ValidatorOptions::default() };
    let mut validator = Validator::new(options);
    let mut rejections = Rejections::default();
    loop {
        feed.advance(done, &mut |bytes| {
            hash.update(bytes);
            survey.bytes += bytes.len() as u64;
        })?;
        let end = feed.end();
        let mut pass = reader.over(&feed.buffer[..feed.filled], end);
        let finished = loop {
            let event = pass.advance();
            if event == Event::InterchangeStart {
                survey.interchanges += 1;
            }
            // Without guides, it checks the envelope and the characters, which reject groups and interchanges.
            let check = validator.event(event, |_| None, &mut pass, &mut faults);
            for fault in faults.iter().filter(|fault| fault.severity == Severity::Error) {
                survey.has_refused |= is_refused(fault);
                if survey.interchanges == 0 && survey.before.len() < BEFORE_MAX {
                    survey.before.push(fault.clone());
                }
            }
            let Survey { by_errors, by_warnings, .. } = &mut survey;
            rejections.event(event, &pass, &faults, &mut |level, severity, at| match severity {
                Severity::Error => by_errors.add(level, at),
                Severity::Warning => by_warnings.add(level, at),
                Severity::Note => {}
            });
            check.end(&mut pass);
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
