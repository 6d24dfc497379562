//! The Rust sources of x12-types: X12 standards as structs with documentation.
//!
//! Mapping:
//! * `struct _850` is a transaction set; fields of segment types are segments in order, `Vec<_850LoopN1>` a loop; a plain field is
//!   mandatory, `Option` optional, `Vec` optional and repeated without bound, since the sources have no counts.
//! * A segment's table in its documentation (`REF | ID | NAME | REQ | TYPE | MIN/MAX`) defines its elements; without one, fields
//!   typed `E98` and documented `98 - ...` do. An element that neither defines is named by its place (`BEG05`) and has any
//!   characters.
//! * Lists of codes are open unless their documentation says that they were verified: many contain the common codes only.
//! * There are no syntax notes. [`complete`] takes them, and undefined elements, from guides of the same version.

mod element_docs;
mod rust_source;
mod segment_docs;

use std::collections::BTreeMap;

use quayline_core::{Finding, Findings};
use quayline_edi::Standard;
use quayline_edi::guide::{
    CodeList, Dictionary, ElementDef, ElementOf, Guide, Item, Qualifier, Requirement, SegmentUse,
};

use crate::factor::{PlacedItem, PlacedLoop, PlacedSegment};
use crate::imported::Imported;
use crate::source_text::SourceText;
use crate::structure::tidy;
use crate::usage::used;
use crate::{codes, groups};
use rust_source::{Field, Struct};

/// One version of the standard: its elements, segments and transaction sets.
pub struct X12Types<'a> {
    /// `005010`.
    version: &'a str,
    source: Option<String>,
    elements: BTreeMap<String, ElementDef>,
    lists: BTreeMap<String, CodeList>,
    segments: Vec<Struct>,
    /// Structs of sets and loops by name, and the file that has them.
    structs: BTreeMap<String, (Struct, SourceText<'a>)>,
}

impl<'a> X12Types<'a> {
    /// Reads the files of one version's folder, in any order. `source` names their origin: package, version, licence.
    ///
    /// # Errors
    /// A file is not readable as Rust.
    pub fn new(version: &'a str, files: &[SourceText<'a>], source: Option<String>) -> Result<Self, Findings> {
        let mut read = X12Types {
            version,
            source,
            elements: BTreeMap::new(),
            lists: BTreeMap::new(),
            segments: Vec::new(),
            structs: BTreeMap::new(),
        };
        for file in files {
            let rust = rust_source::read(*file)?;
            for element in &rust.elements {
                if let Some(parsed) = element_docs::element(element) {
                    read.lists.extend(parsed.codes.map(|list| (parsed.number.clone(), list)));
                    read.elements.insert(parsed.number, parsed.def);
                }
            }
            for of in rust.structs {
                if is_set(&of.name) || of.name.starts_with('_') {
                    read.structs.insert(of.name.clone(), (of, *file));
                } else if of.fields.first().is_some_and(|field| field.name == "_01") {
                    read.segments.push(of);
                }
            }
        }
        Ok(read)
    }

    /// Imports all transaction sets.
    ///
    /// # Errors
    /// A set refers to a segment or loop that is not defined.
    pub fn import(&self) -> Result<Imported, Findings> {
        let mut imported = Imported::default();
        let dictionary = self.dictionary();
        for (set, file) in self.structs.values().filter(|(of, _)| is_set(&of.name)) {
            let guide = self.set(set, *file, &dictionary, &mut imported.findings)?;
            imported.guides.push(guide);
        }
        Ok(imported)
    }

    fn dictionary(&self) -> Dictionary {
        let mut dictionary =
            Dictionary { elements: self.elements.clone(), codes: self.lists.clone(), ..Dictionary::default() };
        for segment in &self.segments {
            let def = segment_docs::segment(segment, &mut dictionary);
            dictionary.segments.insert(segment.name.clone(), def);
        }
        dictionary
    }

    fn set(
        &self,
        set: &Struct,
        file: SourceText<'a>,
        dictionary: &Dictionary,
        findings: &mut Vec<Finding>,
    ) -> Result<Guide, Findings> {
        let number = set.name.trim_start_matches('_');
        let mut items = self.items(set, file, dictionary, 0)?;
        tidy(&mut items, &mut |id, message| {
            findings.push(file.warning(codes::NOT_CARRIED_OVER, set.at, format!("{number}, loop {id}: {message}")));
        });
        let mut structure: Vec<Item> = items.into_iter().map(item).collect();
        levels(number, &mut structure);
        let title = set.docs.iter().find_map(|line| line.split_once(" - ")).map(|(_, title)| title.trim().to_owned());
        Ok(Guide {
            name: format!("{number}-{}", self.version),
            title,
            standard: Standard::X12,
            version: self.version.to_owned(),
            transaction: number.to_owned(),
            functional_group: groups::functional_group(number).map(str::to_owned),
            source: self.source.clone(),
            dictionary: used(dictionary, &structure),
            structure,
            rules: Vec::new(),
        })
    }

    fn items(
        &self,
        of: &Struct,
        file: SourceText<'a>,
        dictionary: &Dictionary,
        depth: usize,
    ) -> Result<Vec<PlacedItem>, Findings> {
        let mut items = Vec::new();
        for (at, field) in of.fields.iter().enumerate() {
            let Some(name) = field.types.last().map(String::as_str) else { continue };
            if matches!(name, "ST" | "SE") {
                continue;
            }
            let position = u32::try_from(at + 1).unwrap_or(u32::MAX) * 10;
            let (requirement, count) = counts(field);
            if let Some((inner, file)) = self.structs.get(name).filter(|_| depth < 30) {
                items.push(PlacedItem::Loop(PlacedLoop {
                    id: loop_id(field, name),
                    wrapper: false,
                    name: None,
                    requirement,
                    repeat: count,
                    position,
                    items: self.items(inner, *file, dictionary, depth + 1)?,
                }));
            } else if dictionary.segments.contains_key(name) {
                items.push(PlacedItem::Segment(PlacedSegment {
                    tag: name.to_owned(),
                    name: None,
                    requirement,
                    max: count,
                    position,
                    qualifier: None,
                    elements: Vec::new(),
                    notes: Vec::new(),
                }));
            } else {
                let message = format!("{}: neither a segment nor a loop is named {name}", of.name);
                return Err(file.refused(codes::UNDEFINED, of.at, message));
            }
        }
        Ok(items)
    }
}

/// Fills gaps of x12-types from guides of the same version of the standard: elements named by their place, and syntax notes.
pub fn complete(guides: &mut [Guide], others: &[Guide]) {
    for guide in guides {
        let same = |other: &&Guide| other.standard == guide.standard && other.version.starts_with(&guide.version);
        let dictionaries: Vec<&Dictionary> = others.iter().filter(same).map(|other| &other.dictionary).collect();
        let Dictionary { elements, composites, segments, codes } = &mut guide.dictionary;
        for (tag, segment) in segments.iter_mut() {
            for other in &dictionaries {
                let Some(known) = other.segments.get(tag) else { continue };
                for (own, known) in segment.elements.iter_mut().zip(&known.elements) {
                    let unknown = matches!(&own.of, ElementOf::Element(id) if is_placeholder(id, tag));
                    if !unknown || matches!(&known.of, ElementOf::Element(id) if is_placeholder(id, tag)) {
                        continue;
                    }
                    own.of = known.of.clone();
                    match &known.of {
                        ElementOf::Element(id) => take(id, elements, other),
                        ElementOf::Composite(id) => {
                            if !composites.contains_key(id) {
                                let Some(def) = other.composites.get(id) else { continue };
                                for component in &def.components {
                                    if let ElementOf::Element(id) = &component.of {
                                        take(id, elements, other);
                                    }
                                }
                                composites.insert(id.clone(), def.clone());
                            }
                        }
                    }
                }
                if segment.notes.is_empty() {
                    let fit =
                        known.notes.iter().filter_map(|note| crate::notes::fit(note.clone(), segment.elements.len()));
                    segment.notes = fit.collect();
                }
            }
        }
        let _ = codes;
        guide.dictionary = used(&guide.dictionary, &guide.structure);
    }
}

fn take(id: &str, elements: &mut BTreeMap<String, ElementDef>, from: &Dictionary) {
    if let (false, Some(def)) = (elements.contains_key(id), from.elements.get(id)) {
        // Its codes are those of another guide.
        elements.insert(id.to_owned(), ElementDef { codes: None, ..def.clone() });
    }
}

/// Returns whether an element is named by its place in a segment.
fn is_placeholder(id: &str, tag: &str) -> bool {
    id.strip_prefix(tag).is_some_and(|number| number.len() == 2) && !id.bytes().all(|b| b.is_ascii_digit())
}

fn is_set(name: &str) -> bool {
    name.len() == 4 && name.starts_with('_') && name.bytes().skip(1).all(|b| b.is_ascii_digit())
}

fn counts(field: &Field) -> (Requirement, Option<u32>) {
    match field.types.first().map(String::as_str) {
        Some("Vec") => (Requirement::Optional, None),
        Some("Option") => (Requirement::Optional, Some(1)),
        _ => (Requirement::Mandatory, Some(1)),
    }
}

/// Derives the id of a loop: `loop_2000a` becomes `2000A`. A field without that prefix takes the name of its struct.
fn loop_id(field: &Field, name: &str) -> String {
    let id = field.name.strip_prefix("loop_").or_else(|| name.split_once("Loop").map(|(_, id)| id));
    id.unwrap_or(&field.name).trim_matches('_').to_ascii_uppercase()
}

fn item(item: PlacedItem) -> Item {
    match item {
        PlacedItem::Segment(of) => Item::Segment(SegmentUse {
            tag: of.tag,
            id: None,
            name: of.name,
            requirement: of.requirement,
            max: of.max,
            position: of.position,
            qualifier: of.qualifier,
            changes: Vec::new(),
            notes: None,
        }),
        PlacedItem::Loop(of) => Item::Loop(quayline_edi::guide::LoopUse {
            id: of.id,
            name: of.name,
            requirement: of.requirement,
            repeat: of.repeat,
            position: of.position,
            levels: Vec::new(),
            items: of.items.into_iter().map(self::item).collect(),
        }),
    }
}

/// Turns the hierarchical levels of 276 and 277 into loops of their own, in the order of the tree of levels and distinguished by
/// HL03. Their structs treat as mandatory what is so in one situation only; here only the segment that begins a loop is mandatory.
fn levels(set: &str, items: &mut [Item]) {
    if !matches!(set, "276" | "277") {
        return;
    }
    let mut first = None;
    for item in items {
        let Item::Loop(of) = item else { continue };
        only_triggers_mandatory(&mut of.items);
        let level = LEVELS.iter().find(|(id, _)| *id == of.id).map(|(_, level)| *level);
        if let (Some(level), Some(Item::Segment(trigger))) = (level, of.items.first_mut())
            && trigger.tag == "HL"
        {
            trigger.qualifier = Some(Qualifier { element: 3, component: 0, values: vec![level.to_owned()] });
            of.position = *first.get_or_insert(of.position);
        }
    }
}

fn only_triggers_mandatory(items: &mut [Item]) {
    for (at, item) in items.iter_mut().enumerate() {
        match item {
            Item::Segment(of) if at > 0 => of.requirement = Requirement::Optional,
            Item::Segment(_) => {}
            Item::Loop(of) => {
                of.requirement = Requirement::Optional;
                only_triggers_mandatory(&mut of.items);
            }
        }
    }
}

/// Data element 735: information source and receiver, service provider, subscriber, dependent.
const LEVELS: [(&str, &str); 5] = [("2000A", "20"), ("2000B", "21"), ("2000C", "19"), ("2000D", "22"), ("2000E", "23")];
