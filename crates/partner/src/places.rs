//! Checks of the elements that rules read, by the guides of their documents.

use std::path::PathBuf;
use std::sync::Arc;

use quayline_core::{Fault, Finding};
use quayline_edi::GuideDocuments;
use quayline_edi::guide::{ElementOf, GuideSet, ItemKind};
use quayline_project::partner::{Direction, PartnerFile, Rule, RuleMap, Settings};
use quayline_project::{ShapeFile, SourceFormat};

use crate::book::{Book, LoadedGuides};
use crate::codes;
use crate::watch::parts_of;

impl Book {
    /// Finds business fields and conditions of a rule that read an element that no guide of its documents has. Without a guide for its documents,
    /// every element is possible.
    pub(crate) fn check_places(&self, partner: &PartnerFile, rule: &Rule) -> Vec<Finding> {
        let fields = rule.fields.iter().map(|(name, element)| (format!("the field `{name}`"), element));
        let read: Vec<_> = fields.chain(rule.when.iter().map(|(element, _)| ("`when`".to_owned(), element))).collect();
        if read.is_empty() {
            return Vec::new();
        }
        let sets = self.sets_of(partner, rule);
        let guides: Vec<(&GuideSet, usize)> = sets
            .iter()
            .map(|set| &**set)
            .flat_map(|set| (0..set.len()).map(move |number| (set, number)))
            .filter(|(set, number)| is_for(rule, set, *number))
            .collect();
        let mut found = Vec::new();
        for (what, element) in read {
            let mut first = None;
            // A rule may take documents of several guides.
            let is_possible = guides.iter().any(|(set, number)| match lack(set, *number, element) {
                None => true,
                Some(lack) => {
                    first.get_or_insert(lack);
                    false
                }
            });
            if let (false, Some(lack)) = (is_possible, first) {
                let message = format!("{what} of rule `{}` reads {element}, but {lack}", rule.name);
                let finding = Finding::error(codes::ELEMENT, Fault::Config, message).at(rule.place.clone());
                found.push(
                    finding.hint("name an element of the guide, which `quayline inspect` lists, or correct the guide"),
                );
            }
        }
        found
    }

    /// Returns the guides that may describe the documents of a rule: those of its maps, and otherwise those that check the documents.
    fn sets_of(&self, partner: &PartnerFile, rule: &Rule) -> Vec<GuideSource> {
        let of_map = |map: &RuleMap| {
            let loaded = self.map(map).ok()?;
            let shape = match rule.direction {
                Direction::Receive => Some(&loaded.source),
                Direction::Send => loaded.edi_target.as_ref(),
            };
            shape.and_then(GuideSource::of_shape)
        };
        if !rule.maps.is_empty() {
            return rule.maps.iter().filter_map(of_map).collect();
        }
        let of = |settings: &Arc<Settings>| settings.guides.clone();
        let mut paths: Vec<Vec<PathBuf>> = match of(&rule.settings) {
            Some(guides) => vec![guides],
            None => {
                // A rule of our own file is for documents of every partner.
                let files =
                    self.partners().iter().filter(|file| file.is_own || partner.is_own || file.name == partner.name);
                let settings = files.flat_map(|file| {
                    std::iter::once(&file.settings).chain(file.agreements.iter().map(|one| &one.settings))
                });
                settings.filter_map(of).collect()
            }
        };
        paths.sort();
        paths.dedup();
        let loaded = paths.iter().filter(|paths| !paths.is_empty()).filter_map(|paths| self.guides_of(paths).ok());
        loaded.map(GuideSource::Loaded).collect()
    }
}

/// A set of guides and its owner.
enum GuideSource {
    Loaded(Arc<LoadedGuides>),
    Shape(Arc<GuideDocuments>),
}

impl GuideSource {
    fn of_shape(shape: &ShapeFile) -> Option<GuideSource> {
        match shape.source().ok()? {
            SourceFormat::Edi(read) => read.guides.map(GuideSource::Shape),
            _ => None,
        }
    }
}

impl std::ops::Deref for GuideSource {
    type Target = GuideSet;

    fn deref(&self) -> &GuideSet {
        match self {
            GuideSource::Loaded(guides) => &guides.set,
            GuideSource::Shape(documents) => documents.guides(),
        }
    }
}

/// Returns true if documents of a guide may reach a rule. The `document` of a rule to send with a map is the sender's own name.
fn is_for(rule: &Rule, set: &GuideSet, number: usize) -> bool {
    let guide = set.compiled(number);
    let is_type = rule.direction == Direction::Receive || rule.maps.is_empty();
    let document = rule.document.as_deref().filter(|_| is_type);
    let version = rule.version.as_deref().unwrap_or_default();
    rule.standard.is_none_or(|standard| standard == guide.standard())
        && document.is_none_or(|document| document == guide.transaction())
        && (version.starts_with(guide.version()) || guide.version().starts_with(version))
}

/// Returns what a guide has instead of an element, or `None` if it has the element.
fn lack(set: &GuideSet, number: usize, reference: &str) -> Option<String> {
    let (tag, element, component) = parts_of(reference);
    let (guide, compiled) = (set.guide(number), set.compiled(number));
    let name = compiled.name();
    if !compiled.items().iter().any(|item| item.kind == ItemKind::Segment && &*item.id == tag) {
        return Some(format!("guide {name} has no segment {tag}"));
    }
    let elements = &guide.dictionary.segments.get(tag)?.elements;
    let Some(used) = elements.get(element.checked_sub(1)?) else {
        return Some(format!("segment {tag} of guide {name} ends with element {:02}", elements.len()));
    };
    let components = match &used.of {
        ElementOf::Element(_) => 1,
        ElementOf::Composite(id) => guide.dictionary.composites.get(id)?.components.len(),
    };
    match (component > components, components) {
        (false, _) => None,
        (true, 1) => Some(format!("element {element:02} of {tag} in guide {name} has no components")),
        (true, _) => Some(format!("element {element:02} of {tag} in guide {name} ends with component {components}")),
    }
}
