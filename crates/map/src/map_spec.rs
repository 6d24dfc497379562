//! A map as read from its text.

use std::sync::Arc;

use quayline_core::{Finding, Severity};

use crate::syntax::ast::{Item, Name, Quote, Stmt};
use crate::syntax::parser;
use crate::syntax::text::SourceText;

/// A parsed map, not yet checked against shapes.
#[derive(Clone, Debug)]
pub struct MapSpec {
    pub(crate) text: Arc<SourceText>,
    items: Vec<Item>,
    body: Vec<Stmt>,
    pub(crate) findings: Vec<Finding>,
}

/// Reference of a map to one of its shapes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShapeReference {
    /// Name in the map.
    pub name: Option<String>,
    /// The file that describes it, as written.
    pub file: Option<String>,
}

impl MapSpec {
    /// Parses a map. Errors are among its findings; the parser continues after them.
    #[must_use]
    pub fn parse(name: &str, text: &str) -> MapSpec {
        let text = Arc::new(SourceText::new(name, text));
        let parsed = parser::parse(&text, 0);
        MapSpec { text, items: parsed.items, body: parsed.body, findings: parsed.findings }
    }

    /// Returns the findings of the text alone; [`crate::compile`] includes them.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns true if parsing found no error.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }

    /// Returns the title.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.items.iter().find_map(|item| match item {
            Item::Title(title) => Some(title.text.as_str()),
            _ => None,
        })
    }

    /// Returns the reference to the source.
    #[must_use]
    pub fn source(&self) -> Option<ShapeReference> {
        self.items.iter().find_map(|item| match item {
            Item::Source { name, reference } => Some(shape_reference(name.as_ref(), reference.as_ref())),
            _ => None,
        })
    }

    /// Returns the references to the targets, in order.
    #[must_use]
    pub fn targets(&self) -> Vec<ShapeReference> {
        let targets = self.items.iter().filter_map(|item| match item {
            Item::Target { name, reference } => Some(shape_reference(name.as_ref(), reference.as_ref())),
            _ => None,
        });
        targets.collect()
    }

    /// Names of the maps that it includes, as written.
    #[must_use]
    pub fn includes(&self) -> Vec<&str> {
        let includes = self.items.iter().filter_map(|item| match item {
            Item::Include(quote) => Some(quote.text.as_str()),
            _ => None,
        });
        includes.collect()
    }

    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    pub(crate) fn body(&self) -> &[Stmt] {
        &self.body
    }
}

fn shape_reference(name: Option<&Name>, reference: Option<&Quote>) -> ShapeReference {
    ShapeReference { name: name.map(|name| name.text.clone()), file: reference.map(|quote| quote.text.clone()) }
}
