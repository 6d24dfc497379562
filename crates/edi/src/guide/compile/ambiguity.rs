//! Segments that could stand at two places.

use quayline_core::Finding;

use super::codes::{AMBIGUOUS, warning};
use super::{CompiledItem, ItemId, Transitions, place};
use crate::guide::model::{Guide, SegmentUse};

/// Two places of a guide that some segment fits both, so that one of them is reached only when the other is full.
#[derive(Clone, Debug)]
pub struct Ambiguity {
    /// The segment that takes what fits both.
    pub taken: ItemId,
    /// The segment that does not get it.
    pub shadowed: ItemId,
    /// Why they cannot be told apart.
    pub why: String,
    /// The fewest segments, tags and qualifiers only, after which the last one fits both.
    pub example: Vec<String>,
    places: (String, String),
}

impl Ambiguity {
    /// As a warning.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let (taken, shadowed) = &self.places;
        let example = self.example.join(" ");
        warning(
            AMBIGUOUS,
            shadowed.as_str(),
            format!("{shadowed} cannot be told from {taken}: {}; as in {example}", self.why),
        )
        .hint("give each a qualifier that the other does not have (`where 01 = …`)")
    }
}

pub(super) fn find(
    _guide: &Guide,
    items: &[CompiledItem],
    _uses: &[Option<&SegmentUse>],
    _transitions: &Transitions,
) -> Vec<Ambiguity> {
    let _ = |id| place(items, id);
    Vec::new()
}
