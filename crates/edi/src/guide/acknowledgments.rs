//! The guides of acknowledgments that are shipped.

use std::sync::{Arc, OnceLock};

use quayline_core::Limits;

use crate::envelope::Header;
use crate::guide::{CompiledGuide, Guide, GuideSet, MemoryGuides, parse_guide};

/// Guide files of acknowledgments by their names, and the dictionary that they include.
const FILES: [(&str, &str); 8] = [
    ("997.guide", include_str!("../../guides/997.guide")),
    ("997-00401.guide", include_str!("../../guides/997-00401.guide")),
    ("997-003.guide", include_str!("../../guides/997-003.guide")),
    ("999.guide", include_str!("../../guides/999.guide")),
    ("999-005010x231a1.guide", include_str!("../../guides/999-005010x231a1.guide")),
    ("contrl-3.guide", include_str!("../../guides/contrl-3.guide")),
    ("contrl-4.guide", include_str!("../../guides/contrl-4.guide")),
    (DICTIONARY, include_str!("../../guides/x12-acknowledgments.guide")),
];

const DICTIONARY: &str = "x12-acknowledgments.guide";

/// Returns the guides of 997, 999 and CONTRL, which validate received acknowledgments and all those written here.
///
/// TA1 is outside of transactions; the [`crate::EnvelopeReader`] checks its elements.
///
/// # Panics
/// Never: a test reads all of them.
#[must_use]
pub fn acknowledgment_guides() -> Vec<Guide> {
    let files = MemoryGuides(FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect());
    let guides = FILES.iter().filter(|(name, _)| *name != DICTIONARY);
    let read = |(name, text): &(&str, &str)| {
        parse_guide(name, text, &files, &Limits::default()).expect("the guides that are shipped are right")
    };
    guides.map(read).collect()
}

/// Returns the text of a guide by its name, or of the dictionary that these guides include.
pub(super) fn acknowledgment_text(name: &str) -> Option<&'static str> {
    let is_it = |text: &str| {
        text.lines()
            .any(|line| line.strip_prefix("guide ").is_some_and(|of| of.split_whitespace().next() == Some(name)))
    };
    let found = FILES
        .iter()
        .find(|(file, text)| is_it(text) || *file == DICTIONARY && file.strip_suffix(".guide") == Some(name));
    found.map(|(_, text)| *text)
}

/// Returns the built-in guide for a transaction that is an acknowledgment; `None` for any other. The guides are compiled at the first call.
///
/// # Panics
/// Never: a test compiles all of them.
#[must_use]
pub fn acknowledgment_guide(transaction: &Header, group: Option<&Header>) -> Option<&'static Arc<CompiledGuide>> {
    static GUIDES: OnceLock<GuideSet> = OnceLock::new();
    if !matches!(&transaction.transaction_type()[..], b"997" | b"999" | b"CONTRL") {
        return None;
    }
    let guides =
        GUIDES.get_or_init(|| GuideSet::new(acknowledgment_guides()).expect("the guides that are shipped are right"));
    guides.choose(transaction, group).map(|number| guides.compiled(number))
}
