//! Any bytes as samples: findings, or descriptions that are read again: an outline and a JSON Schema of texts, a guide of interchanges.

use quayline_core::Limits;
use quayline_edi::guide::{GuideSet, MemoryGuides, parse_guide};
use quayline_infer::{EdiSamples, Samples, json_schema, layout, outline};
use quayline_project::{outline_of, parse_outline};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    if EdiSamples::begins(data) {
        let mut samples = EdiSamples::new(None);
        // What was read before a fault counts.
        let _ = samples.add("a.edi", data);
        let Ok(guessed) = samples.guide(Some("a")) else { return };
        let text = guessed.text();
        let files = MemoryGuides([("a.guide".to_owned(), text.clone())].into());
        let guide = parse_guide("a.guide", &text, &files, &Limits::default());
        let guide = guide.unwrap_or_else(|findings| panic!("{findings}\n{text}"));
        GuideSet::new([guide]).unwrap_or_else(|findings| panic!("{findings}\n{text}"));
        return;
    }
    let Ok(text) = core::str::from_utf8(data) else { return };
    let mut samples = Samples::new();
    // Two samples, behind a line of dashes the second.
    for (name, text) in ["a", "b"].iter().zip(text.split("\n---\n")) {
        if samples.add(name, text).is_err() {
            return;
        }
    }
    let draft = samples.draft("document");
    let written = outline(&draft);
    let again = parse_outline("a.shape", &written).unwrap_or_else(|findings| panic!("{findings}\n{written}"));
    assert_eq!(outline_of(&again), outline_of(&draft.shape));
    assert!(!json_schema(&draft).is_empty());
    let _ = layout(&draft);
}
