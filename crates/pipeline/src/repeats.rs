//! Findings that are one however often they come: the same thing of the same field, or the same value in many records.

use std::collections::HashMap;

use quayline_cobol::layout::FieldIndex;
use quayline_cobol::{RecordNote, RecordPlan};
use quayline_core::{ByteOffset, Code, Fault, Finding, NodeId, Place, Severity};

/// Maximum number of different findings that are kept; further ones are counted together by code.
const KEYS_MAX: usize = 1_000;

/// Common property of repeated findings of one code.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum RepeatKey {
    /// A field of the plan of a record type.
    Field(usize, Option<FieldIndex>),
    /// A leaf of the source's shape.
    Leaf(NodeId),
    /// A leaf of an output of a map.
    Target(usize, NodeId),
    /// Value that identifies a record's type.
    Value(String),
    /// Further findings beyond the limit.
    Others,
}

/// Repeated findings, grouped by their common property.
#[derive(Clone, Debug, Default)]
pub struct Repeats(HashMap<(Code, RepeatKey), Repeat>);

#[derive(Clone, Debug)]
struct Repeat {
    count: u64,
    first: Place,
    words: Words,
}

/// Text of a finding about its count.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// Text after `1`.
    pub(crate) one: String,
    /// Text after any other number.
    pub(crate) many: String,
    pub(crate) hint: String,
    pub(crate) severity: Severity,
}

impl Repeats {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts one finding. `words` is called only for the first of its kind.
    pub(crate) fn add(
        &mut self,
        code: Code,
        key: RepeatKey,
        place: impl FnOnce() -> Place,
        words: impl FnOnce() -> Words,
    ) {
        let full = self.0.len() >= KEYS_MAX;
        let key = if full && !self.0.contains_key(&(code, key.clone())) { RepeatKey::Others } else { key };
        let repeat = self.0.entry((code, key)).or_insert_with(|| Repeat { count: 0, first: place(), words: words() });
        repeat.count += 1;
    }

    /// Adds the notes about a converted record.
    #[cold]
    pub(crate) fn add_notes(&mut self, plan: &RecordPlan, of_type: usize, notes: &[RecordNote], place: &Place) {
        for note in notes {
            let first = || {
                let path = note.field.map(|field| plan.layout().path(field));
                let byte = place.byte.map(|byte| ByteOffset(byte.0 + note.offset as u64));
                Place { path, byte, ..place.clone() }
            };
            let words = || {
                let (one, many) = note.kind.words(plan, note.field);
                Words { one, many, hint: note.kind.hint().to_owned(), severity: Severity::Warning }
            };
            self.add(note.kind.code(), RepeatKey::Field(of_type, note.field), first, words);
        }
    }

    /// Merges notes on the records that a map made of the document at `place`.
    #[cold]
    pub(crate) fn merge_of_map(&mut self, mut later: Repeats, place: impl Fn() -> Place) {
        for repeat in later.0.values_mut() {
            repeat.first = Place { path: repeat.first.path.take(), ..place() };
        }
        self.merge(&mut later);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Merges the findings of a later lot.
    pub fn merge(&mut self, later: &mut Repeats) {
        for ((code, key), repeat) in later.0.drain() {
            let full = self.0.len() >= KEYS_MAX;
            let key = if full && !self.0.contains_key(&(code, key.clone())) { RepeatKey::Others } else { key };
            match self.0.entry((code, key)) {
                std::collections::hash_map::Entry::Occupied(mut known) => known.get_mut().count += repeat.count,
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(repeat);
                }
            }
        }
    }

    /// Returns one finding for each kind, in the order of their first places.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut all: Vec<(&Code, &Repeat)> = self.0.iter().map(|((code, _), repeat)| (code, repeat)).collect();
        all.sort_by_key(|(code, repeat)| (repeat.first.record, repeat.first.byte, **code));
        let finding = |(code, repeat): (&Code, &Repeat)| {
            let words = &repeat.words;
            let message = match repeat.count {
                1 => format!("1 {}", words.one),
                count => format!("{count} {}; the first is here", words.many),
            };
            let finding = Finding::warning(*code, Fault::Sender, message).at(repeat.first.clone());
            Finding { severity: words.severity, ..finding.hint(words.hint.clone()) }
        };
        all.into_iter().map(finding).collect()
    }
}
