//! Any text as a guide file, and any bytes as interchanges by it: findings or a guide that is written and read as the same; documents that keep
//! the sink's contract; the same documents when they are skipped; writing that is stable.

use std::sync::Arc;

use quayline_core::Limits;
use quayline_edi::guide::{GuideSet, MemoryGuides, parse_dictionary, parse_guide, write_guide};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiWriter, EdiWriterOptions, EndOfInput, GenericOptions, ValidatorOptions,
};
use quayline_edi::{GuideDocuments, NodeNames};

#[path = "../../crates/edi/tests/edi/contract.rs"]
mod contract;
use contract::Contract;

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    // A guide, and behind a line of dashes the interchanges.
    let at = data.windows(5).position(|window| window == b"\n---\n");
    let (guide, interchanges) = at.map_or((data, &[][..]), |at| (&data[..at + 1], &data[at + 5..]));
    let Ok(text) = core::str::from_utf8(guide) else { return };
    let limits = Limits { guide_bytes_max: 1 << 20, ..Limits::default() };
    // It may include itself.
    let files = MemoryGuides([("a.guide".to_owned(), text.to_owned())].into());
    let _ = parse_dictionary("a.guide", text, &files, &limits);
    let Ok(guide) = parse_guide("a.guide", text, &files, &limits) else { return };
    let written = write_guide(&guide);
    let again =
        parse_guide("b.guide", &written, &files, &limits).unwrap_or_else(|findings| panic!("{findings}\n{written}"));
    assert_eq!(again, guide);
    assert_eq!(write_guide(&again), written);

    let Ok(set) = GuideSet::new([guide]) else { return };
    let guides = Arc::new(GuideDocuments::new(set, NodeNames::References));
    for (page_bytes, checked) in [(None, false), (Some(60), true)] {
        let options = GenericOptions {
            guides: Some(Arc::clone(&guides)),
            page_bytes,
            validation: checked.then(ValidatorOptions::default),
            ..GenericOptions::default()
        };
        let mut contract = Contract::new(guides.shape());
        let steps = drive(&options, interchanges, |pass| pass.read(&mut contract));
        let skipped = drive(&options, interchanges, |pass| pass.skip());
        assert_eq!(steps.len(), skipped.len());
        let ends = |steps: &[DocumentStep]| {
            let ends = steps.iter().map(|step| match step {
                DocumentStep::Document { from, to, page, more, .. } => Some((*from, *to, *page, *more)),
                _ => None,
            });
            ends.collect::<Vec<_>>()
        };
        assert_eq!(ends(&steps), ends(&skipped));
        if steps.iter().any(|step| matches!(step, DocumentStep::Document { errors: 1.., .. })) {
            continue;
        }
        let write = |text: &[u8]| {
            let mut writer =
                EdiWriter::new(EdiWriterOptions { guides: Some(Arc::clone(&guides)), ..EdiWriterOptions::default() });
            let mut errors = 0;
            drive(&options, text, |pass| {
                let step = pass.read(&mut writer);
                errors += writer.take_errors().len();
                step
            });
            writer.finish();
            (writer.bytes().to_vec(), errors)
        };
        let (once, errors) = write(interchanges);
        if errors == 0 {
            let (twice, _) = write(&once);
            assert_eq!(once.escape_ascii().to_string(), twice.escape_ascii().to_string(), "writing is stable");
        }
    }
}

fn drive(
    options: &GenericOptions,
    text: &[u8],
    mut step: impl FnMut(&mut quayline_edi::DocumentPass<'_>) -> DocumentStep,
) -> Vec<DocumentStep> {
    let mut reader = DocumentReader::new(options);
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut steps = Vec::new();
    loop {
        let next = step(&mut pass);
        steps.push(next);
        if !matches!(next, DocumentStep::Document { .. }) {
            return steps;
        }
    }
}
