//! Values of elements that rules look at, taken while a transaction is read.

use quayline_edi::{Header, Segment, Standard, declared_text};
use quayline_project::partner::Rule;

/// Elements to extract, and the values found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    items: Vec<Item>,
    /// True if a rule may have to read the whole document.
    pub(crate) reads_document: bool,
}

#[derive(Clone, Debug)]
struct Item {
    reference: String,
    tag: Vec<u8>,
    element: usize,
    component: usize,
    value: Option<String>,
}

/// Longest value that is kept: rules compare short ones, and searches need no more.
const VALUE_BYTES_MAX: usize = 256;

/// Returns the part of a value that is kept, and that searches compare.
pub(crate) fn kept(value: &str) -> &str {
    &value[..value.floor_char_boundary(VALUE_BYTES_MAX)]
}

/// Returns tag, element and component of a reference such as `BEG03` or `BGM01-1`; the last two count from 1.
pub(crate) fn parts_of(reference: &str) -> (&str, usize, usize) {
    let (element, component) = reference.split_once('-').unwrap_or((reference, "1"));
    let (tag, number) = element.split_at(element.len().saturating_sub(2));
    (tag, number.parse().unwrap_or(0), component.parse().unwrap_or(1))
}

impl Watch {
    /// Watches the elements that these rules compare or record as business fields.
    pub(crate) fn of_rules<'r>(rules: impl Iterator<Item = &'r Rule> + Clone) -> Self {
        let reads_document = rules.clone().any(|rule| rule.condition.is_some());
        let references = rules.flat_map(|rule| {
            let fields = rule.fields.iter().map(|(_, element)| element.as_str());
            rule.when.iter().map(|(element, _)| element.as_str()).chain(fields)
        });
        Watch { reads_document, ..Watch::of(references) }
    }

    /// Watches these elements, such as `BEG03` or `BGM01-1`.
    pub(crate) fn of<'r>(references: impl IntoIterator<Item = &'r str>) -> Self {
        let mut items: Vec<Item> = Vec::new();
        for reference in references {
            if items.iter().any(|item| item.reference == reference) {
                continue;
            }
            let (tag, element, component) = parts_of(reference);
            let tag = tag.as_bytes().to_vec();
            items.push(Item { reference: reference.to_owned(), tag, element, component, value: None });
        }
        Watch { items, reads_document: false }
    }

    pub(crate) fn clear(&mut self) {
        self.items.iter_mut().for_each(|item| item.value = None);
    }

    /// Looks at a segment of an interchange; the first with a tag decides. Values are text in the character set of the interchange, as documents have it.
    #[inline]
    pub(crate) fn segment(&mut self, segment: &Segment<'_>, interchange: &Header) {
        for item in &mut self.items {
            if item.value.is_none() && segment.tag() == item.tag.as_slice() {
                let part = segment.element(item.element).and_then(|element| element.component(item.component));
                let mut scratch = Vec::new();
                let data = part.map(|part| part.data(&mut scratch).bytes().to_vec()).unwrap_or_default();
                let data = if segment.delimiters().standard == Standard::X12 { data.trim_ascii_end() } else { &data };
                let declared = if data.is_ascii() { None } else { declared_text(interchange, data) };
                let mut text = declared.unwrap_or_else(|| crate::time::text_of(data));
                text.truncate(kept(&text).len());
                item.value = Some(text);
            }
        }
    }

    /// Returns the value found for a reference.
    pub(crate) fn value(&self, reference: &str) -> Option<&str> {
        self.items.iter().find(|item| item.reference == reference).and_then(|item| item.value.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::kept;
    use crate::Filter;

    #[test]
    fn searches_compare_what_entries_keep_of_a_long_value() {
        for value in ["x".repeat(300), "ä".repeat(200), format!("{}ä", "x".repeat(255))] {
            let (_, searched) = Filter::field_of(&format!("po={value}")).expect("a field");
            assert_eq!(searched, kept(&value));
            assert!(searched.len() <= 256 && searched.len() >= 255);
        }
        assert_eq!(kept("PO1"), "PO1");
    }
}
