//! Types that `xsi:type` may name in the place of another.
//!
//! The content of a restriction is also valid for its base, so its documents fit the shape of the base. An extension has further content, which
//! only the name of the type identifies. A shape has no place for that name.

use std::collections::HashSet;
use std::sync::Arc;

use quayline_dictionary::XmlElement;
use quayline_xml::TypeNames;

use super::{DEPTH_MAX, Documents, Reader};
use crate::shape::codes;

impl Documents {
    /// Records the complex types that restrict each complex type.
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

    /// Returns the names of all complex types.
    pub(super) fn complex_types(&self) -> Arc<HashSet<Box<str>>> {
        let names = self.globals.get("complexType").into_iter().flat_map(|types| types.keys());
        Arc::new(names.map(|name| name.as_str().into()).collect())
    }

    /// Returns a type and the types that restrict it, up to the limit on depth. Without this limit, each type in a long chain would list all
    /// later types.
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
    /// Returns the complex types that documents of an element may have. Returns none for a simple type or an anonymous one.
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
                "`{name}` is abstract: documents name a derived type with xsi:type, which a shape cannot express"
            );
            let hint = "in a copy of the schema, give the element the derived type that documents have";
            let finding = self.documents.files[file].file.warning(codes::NOT_HELD, element.at, message).hint(hint);
            self.findings.push(finding);
        }
        names
    }
}
