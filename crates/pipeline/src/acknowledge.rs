//! Interchanges in memory, checked by their guides and acknowledged.

use std::sync::Arc;

use quayline_core::{Finding, Limits, Severity};
use quayline_edi::GuideDocuments;
use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentOptions, MemoryOutput, OnError, Stamp};
use quayline_edi::{EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Validator, ValidatorOptions};
use quayline_project::SourceFormat;

/// Checks and acknowledges interchanges of one format.
#[derive(Clone, Debug)]
pub struct Acknowledging {
    guides: Arc<GuideDocuments>,
    kind: String,
}

/// An acknowledgment for the sender, and whether the interchanges were accepted.
#[derive(Clone, Debug)]
pub struct Acknowledged {
    /// The acknowledging interchanges, with control numbers from 1; empty if nothing is to be acknowledged.
    pub content: Vec<u8>,
    /// Finding that rejects the interchanges. It rejects all transactions, because they were received as one unit.
    pub rejected: Option<Finding>,
}

impl Acknowledging {
    /// Creates the acknowledging of kind `997`, `999`, `ta1` or `contrl`. `None` for an unknown kind or a format that is not read with guides.
    #[must_use]
    pub fn new(source: &SourceFormat, kind: &str) -> Option<Acknowledging> {
        let SourceFormat::Edi(read) = source else { return None };
        AcknowledgmentOptions::by_name(kind, Stamp::from_unix(0))?;
        Some(Acknowledging { guides: Arc::clone(read.guides.as_ref()?), kind: kind.to_owned() })
    }

    /// Checks whole interchanges at this time, in seconds since 1970.
    #[must_use]
    pub fn acknowledge(&self, bytes: &[u8], now_s: u64) -> Acknowledged {
        let (content, rejected) = self.pass(bytes, now_s, None);
        if rejected.is_none() {
            return Acknowledged { content, rejected };
        }
        // If one transaction is invalid, the valid ones are not processed either, so the acknowledgment must not accept them.
        let (content, _) = self.pass(bytes, now_s, Some(OnError::Reject));
        Acknowledged { content, rejected }
    }

    fn pass(&self, bytes: &[u8], now_s: u64, decision: Option<OnError>) -> (Vec<u8>, Option<Finding>) {
        let mut first = None;
        let Some(options) = AcknowledgmentOptions::by_name(&self.kind, Stamp::from_unix(now_s)) else {
            return (Vec::new(), first);
        };
        // A fault that is not reported does not reject.
        let limits = Limits { findings_max: usize::MAX, ..Limits::default() };
        let mut reader = EnvelopeReader::new(&limits, Rules::Lenient);
        let mut validator =
            Validator::new(ValidatorOptions { findings_max: usize::MAX, ..ValidatorOptions::default() });
        let mut acknowledger = Acknowledger::new(options);
        let mut output = MemoryOutput::default();
        let mut faults: Vec<EdiFault> = Vec::new();
        let mut pass = reader.over(bytes, EndOfInput::Yes);
        loop {
            let event = pass.advance();
            match event {
                Event::TransactionStart => {
                    validator.begin_by(Some(self.guides.guides()), &mut pass);
                }
                Event::Segment => {
                    validator.segment(&pass);
                    if let Some((error, at)) = validator.characters(&pass) {
                        pass.put_segment_fault(error, at);
                    }
                }
                Event::TransactionEnd(closed) => {
                    validator.end(closed, &pass);
                }
                _ => {}
            }
            faults.clear();
            if pass.has_faults() || validator.has_faults() {
                faults.extend(pass.take_faults());
                faults.extend(validator.take_faults());
            }
            if first.is_none() {
                let wrong = faults.iter().find(|fault| fault.severity == Severity::Error);
                first = wrong.map(|fault| fault.finding(None));
            }
            acknowledger.event(event, &pass, &faults, &mut output);
            if let (Event::TransactionStart, Some(decision)) = (event, decision) {
                acknowledger.decide(decision);
            }
            if matches!(event, Event::Done | Event::NeedMore) {
                break;
            }
        }
        (output.written().to_vec(), first)
    }
}
