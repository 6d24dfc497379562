//! Interchanges in memory, checked by their guides and acknowledged.

use std::sync::Arc;

use quayline_core::{Finding, Limits, Severity};
use quayline_edi::GuideDocuments;
use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentOptions, MemoryOutput, OnError, Stamp};
use quayline_edi::{EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Standard, Validator, ValidatorOptions};
use quayline_project::{EdiRead, SourceFormat};

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

/// Reason for which the documents of a format are not acknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotAcknowledged {
    /// They are not interchanges, or Quayline reads them without guides.
    NoGuide,
    /// The kind acknowledges interchanges of one standard, and each guide is for the other one.
    OtherStandard {
        /// Name of the standard of the kind.
        own: &'static str,
        /// Name of the standard of the guides.
        other: &'static str,
        /// Kinds for the guides.
        kinds: &'static str,
    },
}

impl Acknowledging {
    /// Creates the acknowledging of kind `997`, `999`, `ta1` or `contrl`.
    ///
    /// # Errors
    /// Documents of this format are not acknowledged, or not by this kind.
    pub fn new(source: &SourceFormat, kind: &str) -> Result<Acknowledging, NotAcknowledged> {
        let SourceFormat::Edi(EdiRead { guides: Some(guides), .. }) = source else {
            return Err(NotAcknowledged::NoGuide);
        };
        let (standard, other, kinds) = match kind {
            "contrl" => (Standard::Edifact, Standard::X12, "`999`, `997` or `ta1`"),
            _ => (Standard::X12, Standard::Edifact, "`contrl`"),
        };
        if guides.guides().is_without(standard) {
            let (own, other) = (standard.name(), other.name());
            return Err(NotAcknowledged::OtherStandard { own, other, kinds });
        }
        Ok(Acknowledging { guides: Arc::clone(guides), kind: kind.to_owned() })
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
            let check = validator.event(event, |_| Some(self.guides.guides()), &mut pass, &mut faults);
            if first.is_none() {
                let wrong = faults.iter().find(|fault| fault.severity == Severity::Error);
                first = wrong.map(|fault| fault.finding(None));
            }
            acknowledger.event(event, &pass, &faults, &mut output);
            if let (Event::TransactionStart, Some(decision)) = (event, decision) {
                acknowledger.decide(decision);
            }
            check.end(&mut pass);
            if matches!(event, Event::Done | Event::NeedMore) {
                break;
            }
        }
        (output.written().to_vec(), first)
    }
}
