//! The DFDL schemas of Smooks: all messages and segments of a UN/EDIFACT directory.
//!
//! Mapping:
//! * an element with an initiator is a segment, `SegGrp-7` the segment group `SG7`; `minOccurs` 0 is optional, `maxOccurs` the count;
//! * `alpha0-35` becomes `an..35`, `numeric1-18` becomes `n..18`, `numeric3` becomes `n3`; the source does not distinguish
//!   letters-only elements from others;
//! * enumerations are codes of the element, closed ones, as the directory has them;
//! * a repeated part of a composite or segment occupies as many consecutive places, as in syntax version 3; the first of a
//!   segment's may also be repeated in place, as in version 4;
//! * UNS, UGH and UGT, which are not part of a directory, are defined here.

use std::collections::BTreeMap;

use quayline_core::Findings;
use quayline_edi::Standard;
use quayline_edi::guide::{
    CodeList, CompositeDef, DataType, Dictionary, ElementDef, ElementOf, ElementUse, Guide, Item, LoopUse, Requirement,
    SegmentDef, SegmentUse,
};

use crate::codes;
use crate::factor::plain_code;
use crate::imported::Imported;
use crate::source_text::SourceText;
use crate::usage::used;
use crate::xml_tree::XmlElement;

/// Places that one element may have in a segment or composite. Directories have at most 99.
const PLACES_MAX: u32 = 1_000;

/// Imports the messages of a directory from its `EDIFACT-Messages` and `EDIFACT-Segments` schemas. `source` names their origin.
///
/// # Errors
/// A file is not XML or not of the form.
pub fn import(
    messages: SourceText<'_>,
    segments: SourceText<'_>,
    source: Option<String>,
) -> Result<Imported, Findings> {
    let types = XmlElement::read(segments)?;
    let dictionary = Directory { source: segments }.dictionary(&types)?;
    let root = XmlElement::read(messages)?;
    let version = version(&root).ok_or_else(|| {
        messages.refused(
            codes::NOT_OF_THE_FORM,
            root.at,
            "the target namespace does not end in a directory such as D96A",
        )
    })?;
    let directory = Directory { source: messages };
    let mut imported = Imported::default();
    for message in root.children_named("complexType") {
        let name = directory.name(message)?;
        // Elements outside of the directory's messages.
        if name.len() != 6 || !name.bytes().all(|b| b.is_ascii_uppercase()) {
            continue;
        }
        let sequence = directory.sequence(message)?;
        let mut structure = Vec::new();
        directory.items(sequence, &dictionary, &mut structure)?;
        let guide = Guide {
            name: format!("{name}-{}", version.replace(':', "")),
            title: None,
            standard: Standard::Edifact,
            version: format!("{version}:UN"),
            transaction: name.to_owned(),
            functional_group: None,
            source: source.clone(),
            dictionary: used(&dictionary, &structure),
            structure,
            rules: Vec::new(),
        };
        imported.guides.push(guide);
    }
    if imported.guides.is_empty() {
        return Err(messages.refused(codes::NOT_OF_THE_FORM, root.at, "the schema has no message"));
    }
    Ok(imported)
}

/// Extracts the version `D:96A` from a target namespace that ends with `D96A`.
fn version(root: &XmlElement) -> Option<String> {
    let directory = root.attribute("targetNamespace")?.rsplit('/').next()?;
    let release = directory.strip_prefix('D').filter(|release| release.len() == 3)?;
    Some(format!("D:{release}"))
}

struct Directory<'a> {
    source: SourceText<'a>,
}

impl Directory<'_> {
    fn dictionary(&self, types: &XmlElement) -> Result<Dictionary, Findings> {
        let mut dictionary = Dictionary::default();
        for of in types.children_named("simpleType") {
            if let Some((id, name)) = split(self.name(of)?).filter(|(id, _)| id.starts_with('E')) {
                self.element(of, &id[1..], name, &mut dictionary)?;
            }
        }
        for of in types.children_named("complexType") {
            let Some((id, name)) = split(self.name(of)?) else { continue };
            let uses = self.uses(self.sequence(of)?, id.len() == 3)?;
            if id.len() == 3 {
                let def = SegmentDef { name: Some(words(name)), elements: uses, notes: Vec::new() };
                dictionary.segments.insert(id.to_owned(), def);
            } else {
                let def = CompositeDef { name: Some(words(name)), components: uses, notes: Vec::new() };
                dictionary.composites.insert(id.to_owned(), def);
            }
        }
        service_segments(&mut dictionary);
        Ok(dictionary)
    }

    fn element(&self, of: &XmlElement, id: &str, name: &str, dictionary: &mut Dictionary) -> Result<(), Findings> {
        let restriction = of.child("restriction");
        let base = restriction.and_then(|of| of.attribute("base")).map(local);
        let read = base.and_then(representation);
        let (restriction, (data_type, min, max)) = restriction.zip(read).ok_or_else(|| {
            let expected = "expected a restriction of alphaN-M, numericN-M or numericN";
            self.source.refused(codes::NOT_OF_THE_FORM, of.at, format!("element {id} has no readable type: {expected}"))
        })?;
        let mut list = CodeList { name: Some(words(name)), ..CodeList::default() };
        let mut seen: BTreeMap<&str, ()> = BTreeMap::new();
        for value in restriction.children_named("enumeration").filter_map(|code| code.attribute("value")) {
            if seen.insert(value, ()).is_none() {
                list.codes.push(plain_code(value));
            }
        }
        let codes = (!list.codes.is_empty()).then(|| id.to_owned());
        if let Some(codes) = &codes {
            dictionary.codes.insert(codes.clone(), list);
        }
        let def = ElementDef { name: Some(words(name)), data_type, min, max, codes };
        dictionary.elements.insert(id.to_owned(), def);
        Ok(())
    }

    /// Returns the elements of a segment or the components of a composite. A repeated one occupies several consecutive places.
    fn uses(&self, sequence: &XmlElement, segment: bool) -> Result<Vec<ElementUse>, Findings> {
        let mut uses = Vec::new();
        for child in &sequence.children {
            if child.name == "sequence" {
                uses.extend(self.uses(child, segment)?);
                continue;
            }
            let (min, max) = self.occurs(child)?;
            let max = max.unwrap_or(1);
            if max > PLACES_MAX {
                let message = format!("more than {PLACES_MAX} places for an element of a segment");
                return Err(self.source.refused(codes::NOT_OF_THE_FORM, child.at, message));
            }
            // The name may have a letter after it if one occurs twice; the type's name has none.
            let typed = child.attribute("type").map(local).and_then(split).map(|(id, _)| id);
            let id = typed.map_or_else(|| self.name(child), Ok)?;
            let of = id
                .strip_prefix('E')
                .map_or_else(|| ElementOf::Composite(id.to_owned()), |number| ElementOf::Element(number.to_owned()));
            for at in 0..max {
                let requirement = if at < min { Requirement::Mandatory } else { Requirement::Optional };
                let repeat = if segment && at == 0 { max } else { 1 };
                uses.push(ElementUse { of: of.clone(), name: None, requirement, repeat: Some(repeat) });
            }
        }
        Ok(uses)
    }

    /// Segments and groups in order.
    fn items(&self, sequence: &XmlElement, dictionary: &Dictionary, items: &mut Vec<Item>) -> Result<(), Findings> {
        for child in &sequence.children {
            if child.name == "sequence" {
                self.items(child, dictionary, items)?;
                continue;
            }
            let name = self.name(child)?;
            let (min, max) = self.occurs(child)?;
            let requirement = if min > 0 { Requirement::Mandatory } else { Requirement::Optional };
            let position = u32::try_from(items.len() + 1).unwrap_or(u32::MAX) * 10;
            if let Some(number) = name.strip_prefix("SegGrp-") {
                let mut inner = Vec::new();
                let of = child.child("complexType").ok_or_else(|| {
                    self.source.refused(codes::NOT_OF_THE_FORM, child.at, format!("group {number} has no content"))
                })?;
                self.items(self.sequence(of)?, dictionary, &mut inner)?;
                let id = format!("SG{number}");
                items.push(Item::Loop(LoopUse {
                    id,
                    name: None,
                    requirement,
                    repeat: max,
                    position,
                    levels: Vec::new(),
                    items: inner,
                }));
                continue;
            }
            if !dictionary.segments.contains_key(name) {
                let message = format!("segment {name} is not defined in the schema of segments");
                return Err(self.source.refused(codes::UNDEFINED, child.at, message));
            }
            items.push(Item::Segment(SegmentUse {
                tag: name.to_owned(),
                id: None,
                name: None,
                requirement,
                max,
                position,
                qualifier: None,
                changes: Vec::new(),
                notes: None,
            }));
        }
        Ok(())
    }

    fn name<'x>(&self, of: &'x XmlElement) -> Result<&'x str, Findings> {
        let message = || format!("{} has no name", of.name);
        of.attribute("name").ok_or_else(|| self.source.refused(codes::NOT_OF_THE_FORM, of.at, message()))
    }

    fn sequence<'x>(&self, of: &'x XmlElement) -> Result<&'x XmlElement, Findings> {
        of.child("sequence")
            .ok_or_else(|| self.source.refused(codes::NOT_OF_THE_FORM, of.at, "the type has no sequence in it"))
    }

    /// Returns minimum and maximum; `None` is unbounded. Both default to one.
    fn occurs(&self, of: &XmlElement) -> Result<(u32, Option<u32>), Findings> {
        let number = |name: &str| match of.attribute(name) {
            None => Ok(Some(1)),
            Some("unbounded") => Ok(None),
            Some(digits) => digits
                .parse()
                .map(Some)
                .map_err(|_| self.source.refused(codes::NOT_OF_THE_FORM, of.at, format!("{name} is not a number"))),
        };
        Ok((number("minOccurs")?.unwrap_or(1), number("maxOccurs")?))
    }
}

/// Converts a type name into a representation such as `an..35`, `n..18` or `n3`.
fn representation(base: &str) -> Option<(DataType, u32, u32)> {
    let (data_type, length) = match base.strip_prefix("alpha") {
        Some(length) => (DataType::Alphanumeric, length),
        None => (DataType::Number, base.strip_prefix("numeric")?),
    };
    let (min, max) = length.split_once('-').unwrap_or((length, length));
    let (min, max): (u32, u32) = (min.parse().ok()?, max.parse().ok()?);
    // An element that is present has at least one character.
    (min <= max && max > 0).then_some((data_type, min.max(1), max))
}

/// Splits `NAD-NameAndAddress` into id and name.
fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once('-').filter(|(id, _)| id.len() >= 3)
}

/// Splits `NameAndAddress` into words.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let mut before = '-';
    for char in name.chars() {
        if char.is_uppercase() && before.is_lowercase() {
            words.push(' ');
            words.extend(char.to_lowercase());
        } else {
            words.push(char);
        }
        before = char;
    }
    words
}

/// Removes the namespace prefix of a name.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Adds the segments of the service directory that occur inside messages.
///
/// Source: ISO 9735-1, UNS, UGH and UGT.
fn service_segments(dictionary: &mut Dictionary) {
    let element = |data_type, min, max| ElementDef { name: None, data_type, min, max, codes: None };
    let mut section = element(DataType::Letters, 1, 1);
    section.codes = Some("0081".into());
    let sections = CodeList { name: None, codes: ["D", "S"].map(plain_code).into(), open: false };
    dictionary.codes.insert("0081".into(), sections);
    for (tag, name, number, def) in [
        ("UNS", "Section control", "0081", section),
        ("UGH", "Anti-collision segment group header", "0087", element(DataType::Alphanumeric, 1, 4)),
        ("UGT", "Anti-collision segment group trailer", "0087", element(DataType::Alphanumeric, 1, 4)),
    ] {
        dictionary.elements.insert(number.into(), def);
        let of = ElementOf::Element(number.into());
        let of = ElementUse { of, name: None, requirement: Requirement::Mandatory, repeat: Some(1) };
        let def = SegmentDef { name: Some(name.into()), elements: vec![of], notes: Vec::new() };
        dictionary.segments.insert(tag.into(), def);
    }
}
