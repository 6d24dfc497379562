//! Types that `xsi:type` may name in the place of another.
//!
//! A restriction has no content that its base does not have, so the shape of the base holds its documents. An extension has more, and the
//! name of the type, which says what that is, has no place in a shape.

use std::collections::HashSet;
use std::sync::Arc;

use quayline_dictionary::XmlElement;
use quayline_xml::TypeNames;

use super::{DEPTH_MAX, Documents, Reader};
use crate::shape::codes;

impl Documents {
    /// Notes which complex types restrict which.
    pub(super) fn index_types(&mut self) {
        let mut restrictions = Vec::new();
        for (number, document) in self.files.iter().enumerate() {
            for (at, child) in document.root.children.iter().enumerate() {
                let content = child.child("complexContent").or_else(|| child.child("simpleContent"));
                let base = content.and_then(|content| content.child("restriction")?.attribute("base"));
                let base = base
                    .filter(|_| child.name == "complexType")
                    .and_then(|base| self.place("complexType", base, number));
                restrictions.extend(base.map(|base| (base, (number, at))));
            }
        }
        for (base, derived) in restrictions {
            self.restrictions.entry(base).or_default().push(derived);
        }
    }

    /// The names of all complex types.
    pub(super) fn complex_types(&self) -> Arc<HashSet<Box<str>>> {
        let names = self.globals.get("complexType").into_iter().flat_map(|types| types.keys());
        Arc::new(names.map(|name| name.as_str().into()).collect())
    }

    /// A type with all that restrict it, up to the limit on depth: in a long chain, each type would have all after it.
    fn restricted(&self, of: (usize, usize)) -> TypeNames {
        let mut seen = HashSet::from([of]);
        let (mut names, mut bases) = (Vec::new(), vec![(of, 0)]);
        while let Some((base, depth)) = bases.pop() {
            names.extend(self.at(base).attribute("name").map(Box::from));
            if depth < DEPTH_MAX {
                let derived = self.restrictions.get(&base).into_iter().flatten().copied();
                bases.extend(derived.filter(|derived| seen.insert(*derived)).map(|derived| (derived, depth + 1)));
            }
        }
        names.into()
    }
}

impl<'d> Reader<'d> {
    /// The complex types that documents of an element may have; none for a simple type, or for one without a name.
    pub(super) fn types_of(&mut self, file: usize, element: &'d XmlElement) -> TypeNames {
        let named = element.attribute("type").and_then(|name| self.documents.place("complexType", name, file));
        let Some(place) = named else { return TypeNames::default() };
        if let Some(known) = self.types.get(&place) {
            return Arc::clone(known);
        }
        let names = self.documents.restricted(place);
        self.types.insert(place, Arc::clone(&names));
        let of = self.documents.at(place);
        if matches!(of.attribute("abstract"), Some("true" | "1")) {
            let name = of.attribute("name").unwrap_or_default();
            let message = format!(
                "`{name}` is abstract: documents name a type derived from it by xsi:type, and a shape does not"
            );
            let hint = "in a copy of the schema, give the element the derived type that documents have";
            let finding = self.documents.files[file].file.warning(codes::NOT_HELD, element.at, message).hint(hint);
            self.findings.push(finding);
        }
        names
    }
}
