//! A shape from the observations.

use quayline_core::{Findings, NodeId, Occurs, Scalar, Shape, ShapeBuilder};

use crate::edi::EdiSamples;
use crate::guess::{FEW, roomy};
use crate::seen::{Leaf, Seen};
use crate::{csv, json, wrong, xml};

/// Samples, merged.
#[derive(Debug, Default)]
pub struct Samples {
    root: Seen,
    documents: u64,
    /// Name of the outermost element of XML.
    element: Option<String>,
    /// The sign between cells of CSV.
    delimiter: Option<u8>,
}

/// A shape that was guessed.
#[derive(Debug)]
pub struct Draft {
    /// The shape.
    pub shape: Shape,
    /// Notes for the reader, by node id; empty without a note.
    pub notes: Vec<String>,
    /// By node id, true for a list of values some of which were null. Readers refuse null in a list of groups.
    pub null_items: Vec<bool>,
    /// Documents that it was guessed from.
    pub documents: u64,
    /// The sign between cells, if the samples are CSV.
    pub delimiter: Option<char>,
}

impl Samples {
    /// Creates a collector without samples.
    #[must_use]
    pub fn new() -> Samples {
        Samples::default()
    }

    /// Adds a sample and detects its form from its beginning.
    ///
    /// # Errors
    /// The sample cannot be read, or has a form with a better description of itself.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), Findings> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let start = text.trim_start();
        if start.starts_with(['{', '[']) {
            self.documents += json::read(name, text, &mut self.root)?;
        } else if start.starts_with('<') {
            self.element = Some(xml::read(name, text, &mut self.root)?);
            self.documents += 1;
        } else if EdiSamples::begins(text.as_bytes()) {
            let hint = "name samples of EDI only; a guide comes of them";
            return Err(wrong(name, text, 0, "a sample of EDI among others", hint));
        } else {
            self.documents += csv::read(name, text, &mut self.root)?;
            self.delimiter = Some(csv::delimiter(text));
        }
        if self.root.groups == 0 {
            return Err(wrong(name, text, 0, "the documents are not objects", "a document has fields with names"));
        }
        Ok(())
    }

    /// Returns the shape of all samples. `name` is that of the document.
    #[must_use]
    pub fn draft(self, name: &str) -> Draft {
        let is_xml = self.element.is_some();
        let name = self.element.as_deref().unwrap_or(name);
        let mut draft =
            Drafting { shape: Shape::builder(name), notes: vec![String::new()], null_items: vec![false], is_xml };
        draft.members(&self.root);
        let shape = draft.shape.finish();
        let delimiter = self.delimiter.map(char::from);
        Draft { shape, notes: draft.notes, null_items: draft.null_items, documents: self.documents, delimiter }
    }
}

struct Drafting {
    shape: ShapeBuilder,
    notes: Vec<String>,
    null_items: Vec<bool>,
    is_xml: bool,
}

impl Drafting {
    fn members(&mut self, group: &Seen) {
        for (name, seen) in group.members.iter() {
            let mut notes = Vec::new();
            // An XML element that repeats somewhere is a list everywhere.
            let list = seen.lists > 0;
            let always = seen.times >= group.groups && seen.nulls == 0;
            let occurs = match (list, always) {
                (true, _) => Occurs::Many { min: 0, max: None },
                (false, true) => Occurs::Once,
                (false, false) => Occurs::Optional,
            };
            if list && seen.longest == 0 && seen.times == seen.lists {
                notes.push("always empty".to_owned());
            } else if list {
                notes.push(format!("up to {}", seen.longest.max(1)));
            } else if always && group.groups < FEW {
                notes.push("always there? few samples".to_owned());
            }
            self.null_items.push(list && seen.item.as_ref().is_some_and(|item| item.nulls > 0));
            let merged;
            let item = if list {
                // Observations without a list around them.
                let alone = Seen { lists: 0, item: None, ..seen.clone() };
                merged = match &seen.item {
                    Some(item) => merge(item, &alone),
                    None => alone,
                };
                &merged
            } else {
                seen
            };
            let with_text;
            let item = if self.is_xml && item.groups > 0 && item.leaf.texts + item.leaf.empty > 0 {
                with_text = as_text_of_group(item);
                &with_text
            } else {
                item
            };
            if item.groups > 0 {
                if item.leaf.texts + item.leaf.numbers + item.leaf.bools > 0 {
                    notes.push("a value in some samples".to_owned());
                }
                self.shape.open(name, occurs);
                self.notes.push(notes.join(", "));
                self.members(item);
                self.shape.close();
            } else {
                let leaf = if name == TEXT && group.blank > 0 {
                    let Leaf { empty, longest, .. } = item.leaf;
                    &Leaf { empty: empty + 1, longest: longest.max(group.blank), ..item.leaf.clone() }
                } else {
                    &item.leaf
                };
                let (scalar, told) = scalar(leaf, item.lists > 0, self.is_xml && name == TEXT);
                notes.extend(told);
                self.shape.scalar(name, scalar, occurs);
                self.notes.push(notes.join(", "));
            }
        }
    }
}

/// Converts an XML element that has attributes or elements in some places and only text in others: its text becomes `$text` everywhere.
fn as_text_of_group(item: &Seen) -> Seen {
    let mut all = item.clone();
    let leaf = core::mem::take(&mut all.leaf);
    let only_text = Seen { times: leaf.texts + leaf.empty, leaf, ..Seen::default() };
    all.groups += only_text.times;
    if only_text.leaf.texts > 0 || all.members.contains(TEXT) {
        let text = all.member(TEXT);
        let times = text.times;
        *text = if times == 0 { only_text.clone() } else { merge(text, &only_text) };
        // An empty element has none.
        text.times = times + only_text.leaf.texts;
    }
    all.members.sort_by_key(|name| match name {
        name if name.starts_with('@') => 0,
        name if name == TEXT => 1,
        _ => 2,
    });
    all
}

/// Name of the text of an element that has more than that.
const TEXT: &str = "$text";

/// Merges observations in lists with those outside of lists.
fn merge(item: &Seen, alone: &Seen) -> Seen {
    let mut all = item.clone();
    for (name, seen) in alone.members.iter() {
        let target = all.member(name);
        let times = target.times;
        *target = if times == 0 { seen.clone() } else { merge(target, seen) };
        target.times = times + seen.times;
    }
    all.groups += alone.groups;
    all.nulls += alone.nulls;
    all.lists += alone.lists;
    all.longest = all.longest.max(alone.longest);
    all.blank = all.blank.max(alone.blank);
    all.item = match (all.item.take(), &alone.item) {
        (Some(mine), Some(theirs)) => Some(Box::new(merge(&mine, theirs))),
        (mine, theirs) => mine.or_else(|| theirs.clone()),
    };
    let (mine, theirs) = (&mut all.leaf, &alone.leaf);
    mine.shortest = if mine.texts == 0 {
        theirs.shortest
    } else {
        mine.shortest.min(if theirs.texts == 0 { mine.shortest } else { theirs.shortest })
    };
    mine.longest = mine.longest.max(theirs.longest);
    mine.whole = mine.whole.max(theirs.whole);
    mine.scale = mine.scale.max(theirs.scale);
    mine.negative |= theirs.negative;
    mine.texts += theirs.texts;
    mine.numbers += theirs.numbers;
    mine.bools += theirs.bools;
    mine.empty += theirs.empty;
    mine.odd += theirs.odd;
    mine.like_numbers += theirs.like_numbers;
    mine.like_bools += theirs.like_bools;
    mine.like_days += theirs.like_days;
    all
}

/// Maximum number of digits of a decimal field.
const DIGITS_MAX: u16 = 38;

/// Returns the type of a field and the notes on it.
fn scalar(leaf: &Leaf, lists: bool, may_be_empty: bool) -> (Scalar, Vec<String>) {
    let mut told = Vec::new();
    if lists {
        told.push("lists in lists have no place: text".to_owned());
        return (Scalar::Text { chars_max: None }, told);
    }
    let all = leaf.texts + leaf.numbers + leaf.bools;
    if all == 0 {
        told.push("never a value".to_owned());
        return (Scalar::Text { chars_max: None }, told);
    }
    let is_long = leaf.whole.saturating_add(leaf.scale) > DIGITS_MAX;
    let decimal = || {
        // Two more digits before the point than were seen, and the same number after it.
        let digits = leaf.whole.saturating_add(leaf.scale).saturating_add(2).min(DIGITS_MAX);
        let scale = i16::try_from(leaf.scale.min(DIGITS_MAX)).unwrap_or(0);
        Scalar::Decimal { digits, scale, signed: leaf.negative }
    };
    if leaf.numbers == all {
        if leaf.odd > 0 {
            return (Scalar::Float64, told);
        }
        if !leaf.negative {
            told.push("never negative".to_owned());
        }
        if is_long {
            told.push(format!("a number has more than the {DIGITS_MAX} digits of a field"));
        }
        return (decimal(), told);
    }
    if leaf.bools == all || (leaf.texts == all && leaf.like_bools == all && leaf.empty == 0 && !may_be_empty) {
        return (Scalar::Bool, told);
    }
    // An empty text is a value of a text, and not of a number. An empty cell of CSV is absent, and does not count.
    if leaf.texts == all && leaf.like_numbers == all && leaf.empty == 0 && !is_long {
        told.push("a number? written as text".to_owned());
        return (decimal(), told);
    }
    if leaf.texts < all {
        told.push("text in some samples, a number or truth value in others".to_owned());
    }
    if leaf.texts > 0 && leaf.like_days == leaf.texts {
        told.push("a date, CCYY-MM-DD".to_owned());
        return (Scalar::Text { chars_max: Some(10) }, told);
    }
    let longest = leaf.longest.max(u32::from(leaf.whole + leaf.scale) + 2 * u32::from(leaf.texts < all));
    if leaf.texts >= FEW && leaf.shortest == leaf.longest && leaf.texts == all {
        told.push(format!("always {longest}"));
        return (Scalar::Text { chars_max: Some(longest) }, told);
    }
    told.push(format!("longest {longest}"));
    (Scalar::Text { chars_max: Some(roomy(longest)) }, told)
}

/// Returns the note of a node.
pub(crate) fn note(draft: &Draft, node: NodeId) -> &str {
    draft.notes.get(node.index()).map_or("", String::as_str)
}
