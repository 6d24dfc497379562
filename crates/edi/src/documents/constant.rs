//! Check of a constant before there is a document: whether the guide or the header allows it in its leaf.

use quayline_core::NodeId;

use super::{GuideDocuments, Kind};
use crate::content_error::ContentError;
use crate::delimiters::Standard;
use crate::envelope::{HeaderField, header_fields};
use crate::guide::compile::{Form, Spec, reference};
use crate::level::Level;
use crate::validate::{Settings, value_fault};

impl GuideDocuments {
    /// Returns the reason why a text cannot be the value of a leaf, in the words of the finding for such a document: `BIG07 (Kind of transaction) is
    /// not in its code list`. `None` if it can be, as far as this is independent of other values.
    #[must_use]
    pub fn refuses(&self, leaf: NodeId, text: &str) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        if let Some((_, field)) = self.header_field(leaf) {
            return field.expected(text.as_bytes()).map(|expected| format!("{} is not {expected}", field.reference));
        }
        let (guide, item, element, component) = self.element_of(leaf)?;
        let compiled = self.guides().compiled(guide);
        let tables = &compiled.layouts;
        let spec = self.spec_of(guide, item, element, component)?;
        let settings = Settings::default();
        let kind = value_fault(tables, settings, spec, text.as_bytes(), 0)?;
        let reference = reference(&self.plans[guide].items[item].tag, element, component).into();
        let name = tables.name(spec.name);
        let error = ContentError { kind, standard: compiled.standard(), reference, name, loops: "".into() };
        Some(error.to_string())
    }

    /// Returns the reference and required format of a header leaf that must be digits: `ISA13` and `nine digits`.
    #[must_use]
    pub fn digits_of(&self, leaf: NodeId) -> Option<(&'static str, &'static str)> {
        let (_, field) = self.header_field(leaf)?;
        // A letter is wrong wherever only digits are right.
        field.expected(b"A").filter(|_| field.has_digits()).map(|expected| (field.reference, expected))
    }

    /// Returns the forms of the dates that a leaf of X12 type `DT` can hold by its lengths; nothing for another leaf.
    #[must_use]
    pub fn dates_of(&self, leaf: NodeId) -> &'static [&'static str] {
        let spec =
            self.element_of(leaf).and_then(|(guide, item, element, part)| self.spec_of(guide, item, element, part));
        match spec {
            Some(spec) if spec.form == Form::Date => match (spec.min > 6, spec.max < 8) {
                (true, _) => &["CCYYMMDD"],
                (false, true) => &["YYMMDD"],
                (false, false) => &["CCYYMMDD", "YYMMDD"],
            },
            _ => &[],
        }
    }

    fn spec_of(&self, guide: usize, item: usize, element: usize, component: usize) -> Option<&Spec> {
        let tables = &self.guides().compiled(guide).layouts;
        let layout = tables.layouts[*tables.of_item.get(item)? as usize];
        tables.element(layout, element, component)
    }

    fn header_field(&self, leaf: NodeId) -> Option<(Level, &'static HeaderField)> {
        let standard = self.guides().compiled(0).standard();
        let head = &self.nodes.head;
        [Level::Interchange, Level::Group, Level::Transaction].into_iter().find_map(|level| {
            let nodes = head.fields(standard, level);
            let at = nodes.iter().position(|node| *node == leaf)?;
            Some((level, &header_fields(standard, level)[at]))
        })
    }

    /// Returns guide, item, element and component of a text leaf.
    fn element_of(&self, leaf: NodeId) -> Option<(usize, usize, usize, usize)> {
        let of_text = |kind: Kind| kind == Kind::Text;
        self.plans.iter().enumerate().find_map(|(guide, plan)| {
            // Items and their elements are in the order of their nodes.
            let (item, known) =
                plan.items.iter().enumerate().skip(1).filter(|(_, item)| !item.is_loop).find(|(_, item)| {
                    let end = self.shape().node(item.node).subtree_end;
                    item.node < leaf && leaf < end && item.node != NodeId::ROOT
                })?;
            plan.elements[known.elements.clone()].iter().enumerate().find_map(|(element, of)| {
                if of.node == leaf && of_text(of.kind) {
                    return Some((guide, item, element + 1, 0));
                }
                let component = plan.components(of).iter().position(|part| part.node == leaf && of_text(part.kind))?;
                Some((guide, item, element + 1, component + 1))
            })
        })
    }

    /// Returns the names of the header fields of one level in the interchanges of these documents.
    pub fn header_names(&self, level: Level) -> impl Iterator<Item = &'static str> {
        let standard: Standard = self.guides().compiled(0).standard();
        header_fields(standard, level).iter().map(|field| field.name)
    }
}
