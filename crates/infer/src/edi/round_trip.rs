//! Whether samples that a guide describes come back from its documents.

use std::sync::Arc;

use quayline_core::{Limits, Severity};
use quayline_edi::guide::{Asked, Guide, GuideSet};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiError, EdiWriter, EdiWriterOptions, EndOfInput, EnvelopeReader, Event,
    GenericOptions, GuideDocuments, NodeNames, Rules,
};

use super::EdiSamples;
use super::structure::Part;

impl EdiSamples {
    /// Returns whether the transactions of a guide have all their segments, in their order, after a conversion to documents and back.
    pub(super) fn comes_back(&self, guide: &Guide) -> bool {
        let Ok(set) = GuideSet::new([guide.clone()]) else { return false };
        let documents = Arc::new(GuideDocuments::new(set, NodeNames::References));
        self.texts
            .iter()
            .all(|text| written(&documents, text).is_some_and(|again| parts(guide, text).eq(&parts(guide, &again))))
    }
}

/// Converts a sample to documents and these to interchanges; `None` if something has no place.
fn written(documents: &Arc<GuideDocuments>, text: &[u8]) -> Option<Vec<u8>> {
    let guides = || Some(Arc::clone(documents));
    let options = GenericOptions { guides: guides(), rules: Rules::Lenient, ..GenericOptions::default() };
    let mut reader = DocumentReader::new(&options);
    let mut writer = EdiWriter::new(EdiWriterOptions { guides: guides(), ..EdiWriterOptions::default() });
    let mut pass = reader.over(text, EndOfInput::Yes);
    loop {
        let step = pass.read(&mut writer);
        // Other errors are faults of the sample, by any guide.
        let lost = |error: &EdiError| matches!(error, EdiError::NotInDocument { .. });
        if pass.take_faults().any(|fault| fault.severity == Severity::Error && lost(&fault.error)) {
            return None;
        }
        if !writer.take_errors().is_empty() {
            return None;
        }
        if !matches!(step, DocumentStep::Document { .. }) {
            break;
        }
    }
    writer.finish();
    Some(writer.bytes().to_vec())
}

/// Returns the segments of the transactions that a guide describes.
fn parts(guide: &Guide, text: &[u8]) -> Vec<Part> {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut pass = reader.over(text, EndOfInput::Yes);
    let (mut ours, mut parts) = (false, Vec::new());
    loop {
        match pass.advance() {
            Event::TransactionStart => {
                ours = Asked::of(pass.transaction(), pass.group()).transaction == guide.transaction;
            }
            Event::Segment if ours && pass.in_transaction() => {
                let segment = pass.segment();
                let tag: String = segment.tag().iter().map(|byte| char::from(*byte)).collect();
                parts.push(Part::of(&tag, &segment));
            }
            Event::Done | Event::NeedMore => return parts,
            _ => {}
        }
    }
}
