//! A user's own XML schema of a message: the form in which many systems have their messages.
//!
//! The root element is the transaction set or message, which an `appinfo` identifies: `<guide standard="X12" version="005010"
//! transaction="850" group="PO"/>`. Mapping:
//! * an element without elements in it is a data element; its facets are its type, length and codes;
//! * an element whose name begins with a tag (`N1`, `NM1_Buyer`, `NAD`) and that holds data elements, or elements of these, is a
//!   segment; the elements of data elements in it are composites;
//! * any other is a loop;
//! * `sequence` is an order, `all` is any order, of a `choice` each is optional; `minOccurs` 0 is optional, `maxOccurs` the count; a reference to
//!   a `group` is the content of the group;
//! * a data element named by a letter and a number (`E3035`) or by its place (`NM103`) is that element; others are named by their place and
//!   keep their name for people.

use core::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use quayline_core::{Code, Findings};
use quayline_edi::Standard;
use quayline_edi::guide::{
    Codes, CompositeDef, DataType, Dictionary, ElementDef, ElementOf, Guide, Qualifier, Requirement,
};

use crate::codes;
use crate::factor::{PlacedElement, PlacedItem, PlacedLoop, PlacedSegment, factor, narrow};
use crate::imported::Imported;
use crate::source_text::SourceText;
use crate::structure::{qualify, tidy};
use crate::xml_tree::XmlElement;

/// Most characters of text without a length.
const TEXT_MAX: u32 = 4096;
/// Most digits of a number without a length. X12's longest monetary amount.
const DIGITS_MAX: u32 = 18;
/// Deepest nesting of elements: a type that holds itself ends there with a finding.
const DEPTH_MAX: usize = 32;
/// Segments and loops of a message. Types that lead to others twice multiply.
const ITEMS_MAX: usize = 100_000;
/// References to groups in the content of an element. A group that contains itself ends there with a finding.
const GROUPS_MAX: usize = 1_000;

/// Returns whether a text is a schema with a guide's `appinfo`.
pub(crate) fn is_schema(text: &str) -> bool {
    text.contains("XMLSchema") && text.contains("<guide")
}

/// Imports a schema as one guide.
///
/// # Errors
/// It is not XML, has no `guide` in an `appinfo`, or refers to types that it does not define.
pub fn import(source: SourceText<'_>) -> Result<Imported, Findings> {
    let root = XmlElement::read(source)?;
    Schema {
        source,
        root: &root,
        notes: Vec::new(),
        elements: Dictionary::default(),
        count: 0,
        left_out: RefCell::default(),
    }
    .read()
}

struct Schema<'a> {
    source: SourceText<'a>,
    root: &'a XmlElement,
    /// Warnings by their code and place.
    notes: Vec<(Code, usize, String)>,
    elements: Dictionary,
    /// Segments and loops so far, each as often as types lead to it.
    count: usize,
    /// What a guide cannot express, by its place in the file.
    left_out: RefCell<BTreeMap<usize, String>>,
}

/// An element of a content model.
struct Particle<'a> {
    element: &'a XmlElement,
    name: &'a str,
    requirement: Requirement,
    max: Option<u32>,
    position: u32,
    /// The repeated sequence that has other particles too. Their order within a repetition is lost.
    repeated: Option<&'a XmlElement>,
}

/// Properties of the particles of a group that come from the groups around it.
#[derive(Clone, Copy)]
struct Around<'a> {
    requirement: Requirement,
    max: Option<u32>,
    position: Option<u32>,
    repeated: Option<&'a XmlElement>,
}

impl<'a> Schema<'a> {
    fn read(mut self) -> Result<Imported, Findings> {
        let schema = self.root;
        let element = schema.child("element").ok_or_else(|| self.refused(schema, "the schema has no element"))?;
        let head = guide_of(schema).or_else(|| guide_of(element)).ok_or_else(|| {
            let expected = "expected <guide standard=\"X12\" version=\"…\" transaction=\"…\"/> in an appinfo";
            self.refused(element, &format!("the schema does not name its message: {expected}"))
        })?;
        let said = |name: &str| head.attribute(name).map(str::to_owned);
        let standard = match head.attribute("standard") {
            Some("X12") => Standard::X12,
            Some("EDIFACT") => Standard::Edifact,
            _ => return Err(self.refused(head, "standard is neither X12 nor EDIFACT")),
        };
        let (Some(version), Some(transaction)) = (said("version"), said("transaction")) else {
            return Err(self.refused(head, "guide needs version and transaction"));
        };
        let mut items = self.items(element, standard, 0)?;
        let source = self.source;
        let mut notes = std::mem::take(&mut self.notes);
        tidy(&mut items, &mut |id, message| {
            notes.push((codes::NOT_CARRIED_OVER, element.at, format!("{id}: {message}")));
        });
        notes.extend(self.left_out.take().into_iter().map(|(at, message)| (codes::NOT_CARRIED_OVER, at, message)));
        qualify(&mut items, &key_field);
        let mut dictionary = self.elements;
        let (structure, disagreements) = factor(&items, &mut dictionary);
        for of in disagreements {
            let message =
                format!("element {} of {} is not the same at all places; the first is taken", of.number, of.of);
            notes.push((codes::CONTRADICTORY, element.at, message));
        }
        let name = said("name").unwrap_or_else(|| format!("{transaction}-{}", version.replace(':', "")));
        let guide = Guide {
            name,
            title: documentation(element),
            standard,
            version,
            transaction,
            functional_group: said("group"),
            source: Some(source.file_name().to_owned()),
            dictionary,
            structure,
            rules: Vec::new(),
        };
        Ok(Imported { guides: vec![guide], findings: source.warnings(&notes) })
    }

    fn items(&mut self, of: &'a XmlElement, standard: Standard, depth: usize) -> Result<Vec<PlacedItem>, Findings> {
        if depth > DEPTH_MAX {
            return Err(self.refused(of, &format!("elements are nested deeper than {DEPTH_MAX}")));
        }
        let mut items = Vec::new();
        let mut told = None;
        for particle in self.particles(of)? {
            if let Some(group) = particle.repeated.filter(|group| told.replace(group.at) != Some(group.at)) {
                let message = format!(
                    "{} repeats a sequence of several elements; the guide allows them in any order",
                    of.attribute("name").unwrap_or("the message")
                );
                self.notes.push((codes::NOT_CARRIED_OVER, group.at, message));
            }
            self.count += 1;
            if self.count > ITEMS_MAX {
                return Err(self.refused(of, &format!("more than {ITEMS_MAX} segments and loops")));
            }
            if self.is_leaf(particle.element)? {
                let message = format!("{} is a data element outside of a segment, and left out", particle.name);
                self.notes.push((codes::NOT_CARRIED_OVER, particle.element.at, message));
            } else if self.is_segment(&particle)? {
                items.push(PlacedItem::Segment(self.segment(&particle, standard)?));
            } else {
                items.push(PlacedItem::Loop(PlacedLoop {
                    id: particle.name.to_owned(),
                    wrapper: false,
                    name: documentation(particle.element),
                    requirement: particle.requirement,
                    repeat: particle.max,
                    position: particle.position,
                    items: self.items(particle.element, standard, depth + 1)?,
                }));
            }
        }
        Ok(items)
    }

    fn segment(&mut self, particle: &Particle<'a>, standard: Standard) -> Result<PlacedSegment, Findings> {
        let tag = tag_of(particle.name).unwrap_or(particle.name).to_owned();
        let mut elements = Vec::new();
        for child in self.particles(particle.element)? {
            self.leave_places(&child, &tag, &mut elements);
            let place = format!("{tag}{:02}", elements.len() + 1);
            if self.is_leaf(child.element)? {
                elements.push(self.element(&child, &place, standard)?);
                continue;
            }
            let mut components = Vec::new();
            for (part, component) in (1..).zip(self.particles(child.element)?) {
                components.push(self.element(&component, &format!("{place}-{part}"), standard)?);
            }
            let id = if is_composite(child.name) { child.name.to_owned() } else { place };
            self.elements
                .composites
                .entry(id.clone())
                .or_insert_with(|| CompositeDef { name: Some(child.name.to_owned()), ..CompositeDef::default() });
            elements.push(PlacedElement {
                of: ElementOf::Composite(id),
                name: documentation(child.element),
                requirement: child.requirement,
                repeat: child.max.unwrap_or(u32::MAX),
                codes: None,
                data_type: None,
                min: None,
                max: None,
                components,
                notes: Vec::new(),
            });
        }
        Ok(PlacedSegment {
            tag,
            name: documentation(particle.element),
            requirement: particle.requirement,
            max: particle.max,
            position: particle.position,
            qualifier: None,
            elements,
            notes: Vec::new(),
        })
    }

    /// Adds the elements of a segment that the schema leaves out in front of one that is named by its place, as `BEG03`.
    fn leave_places(&mut self, child: &Particle<'a>, tag: &str, elements: &mut Vec<PlacedElement>) {
        let number = child.name.strip_prefix(tag).filter(|number| number.len() == 2);
        let Some(number) = number.and_then(|number| number.parse::<usize>().ok()).filter(|number| *number > 0) else {
            return;
        };
        if number <= elements.len() {
            let next = elements.len() + 1;
            let message =
                format!("{} follows element {} of its segment, so it becomes {tag}{next:02}", child.name, next - 1);
            self.notes.push((codes::CONTRADICTORY, child.element.at, message));
        }
        while elements.len() + 1 < number {
            let place = format!("{tag}{:02}", elements.len() + 1);
            let def = ElementDef { name: None, data_type: DataType::Text, min: 1, max: TEXT_MAX, codes: None };
            self.elements.elements.entry(place.clone()).or_insert(def);
            elements.push(PlacedElement {
                of: ElementOf::Element(place),
                name: None,
                requirement: Requirement::NotUsed,
                repeat: 1,
                codes: None,
                data_type: None,
                min: None,
                max: None,
                components: Vec::new(),
                notes: Vec::new(),
            });
        }
    }

    fn element(&mut self, of: &Particle<'a>, place: &str, standard: Standard) -> Result<PlacedElement, Findings> {
        let (data_type, min, max, codes) = self.facets(of.element, standard)?;
        let number = of.name.get(1..).filter(|number| {
            number.len() >= 2
                && number.bytes().all(|b| b.is_ascii_digit())
                && of.name.as_bytes()[0].is_ascii_alphabetic()
        });
        // A name such as `N104` is a place of N1, not the element 104.
        let is_place = of.name.len() == place.len() && of.name[..of.name.len() - 2] == place[..place.len() - 2];
        let id = number.filter(|_| !is_place).unwrap_or(place).to_owned();
        let name = documentation(of.element).or_else(|| (number.is_none()).then(|| of.name.to_owned()));
        let def = ElementDef { name: name.clone(), data_type, min, max, codes: None };
        self.elements.elements.entry(id.clone()).or_insert(def);
        Ok(PlacedElement {
            of: ElementOf::Element(id),
            name,
            requirement: of.requirement,
            repeat: of.max.unwrap_or(u32::MAX),
            codes,
            data_type: Some(data_type),
            min: Some(min),
            max: Some(max),
            components: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// Reads the facets of a simple type or of simple content: data type, minimum and maximum length, codes.
    fn facets(
        &self,
        element: &'a XmlElement,
        standard: Standard,
    ) -> Result<(DataType, u32, u32, Option<Codes>), Findings> {
        let mut restrictions = Vec::new();
        let mut base = element.attribute("type");
        let mut own = element.child("simpleType").or_else(|| element.child("complexType"));
        loop {
            if let Some(of) = own {
                // A list or a union of types: a text.
                let derived = derivation(of);
                restrictions.extend(derived);
                base = derived.and_then(|of| of.attribute("base"));
            }
            let Some(name) = base.filter(|name| !self.is_built_in(name)).map(local) else { break };
            own = Some(match self.complex(name) {
                Some(complex) => complex,
                None => self.named("simpleType", name, element)?,
            });
            if restrictions.len() > DEPTH_MAX {
                return Err(self.refused(element, "its type is a restriction of itself"));
            }
        }
        for of in restrictions.iter().flat_map(|of| &of.children).filter(|of| LOST_FACETS.contains(&of.name.as_str())) {
            self.leave_out(of, || format!("the importer leaves out `{}`, which has no form in a guide", of.name));
        }
        let facet = |name: &str| -> Option<u32> {
            restrictions.iter().find_map(|of| of.child(name)?.attribute("value")?.parse().ok())
        };
        let base = base.map_or("string", local);
        let numeric = matches!(base, "decimal" | "float" | "double") || base.contains("nteger") || base.contains("Int");
        let numeric = numeric || matches!(base, "int" | "long" | "short" | "byte");
        let data_type = match (standard, base) {
            (Standard::Edifact, _) if numeric => DataType::Number,
            (Standard::Edifact, _) => DataType::Alphanumeric,
            (Standard::X12, "decimal" | "float" | "double") => DataType::Decimal,
            (Standard::X12, _) if numeric => DataType::Implied(0),
            (Standard::X12, "date") => DataType::Date,
            (Standard::X12, "time") => DataType::Time,
            (Standard::X12, "base64Binary" | "hexBinary") => DataType::Binary,
            (Standard::X12, _) => DataType::Text,
        };
        let listed = restrictions.iter().find(|of| of.child("enumeration").is_some());
        let enumerated = listed.iter().flat_map(|of| of.children_named("enumeration"));
        let mut known = BTreeSet::new();
        let enumerated = enumerated.filter_map(|of| of.attribute("value")).filter(|value| known.insert(*value));
        let mut values: Vec<String> = enumerated.map(str::to_owned).collect();
        values.extend(element.attribute("fixed").map(str::to_owned).filter(|_| values.is_empty()));
        let longest =
            values.iter().map(|value| value.chars().count()).max().and_then(|longest| u32::try_from(longest).ok());
        let (least, most) = match data_type {
            DataType::Date => (8, 8),
            DataType::Time => (4, 8),
            _ if numeric => (1, DIGITS_MAX),
            _ => (1, TEXT_MAX),
        };
        let max =
            facet("length").or_else(|| facet("maxLength")).or_else(|| facet("totalDigits")).or(longest).unwrap_or(most);
        let min = facet("length").or_else(|| facet("minLength")).unwrap_or(least).clamp(1, max.max(1));
        let data_type =
            if !values.is_empty() && data_type == DataType::Text { DataType::Identifier } else { data_type };
        Ok((data_type, min, max.max(1), (!values.is_empty()).then_some(Codes::These(values))))
    }

    fn is_segment(&self, particle: &Particle<'a>) -> Result<bool, Findings> {
        if tag_of(particle.name).is_none() {
            return Ok(false);
        }
        for child in self.particles(particle.element)? {
            if self.is_leaf(child.element)? {
                continue;
            }
            for component in self.particles(child.element)? {
                if tag_of(child.name).is_some() || !self.is_leaf(component.element)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn is_leaf(&self, element: &'a XmlElement) -> Result<bool, Findings> {
        Ok(self.content(element)?.is_none())
    }

    /// Returns the particles of an element, through named types, groups and references.
    fn particles(&self, of: &'a XmlElement) -> Result<Vec<Particle<'a>>, Findings> {
        let mut particles = Vec::new();
        if let Some(content) = self.content(of)? {
            let around = Around { requirement: Requirement::Mandatory, max: Some(1), position: None, repeated: None };
            self.collect(content, around, &mut 0, &mut particles)?;
        }
        Ok(particles)
    }

    fn collect(
        &self,
        group: &'a XmlElement,
        around: Around<'a>,
        groups: &mut usize,
        particles: &mut Vec<Particle<'a>>,
    ) -> Result<(), Findings> {
        let next = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX).saturating_mul(10);
        let own = self.max(group)?;
        if own == Some(0) {
            return Ok(());
        }
        self.note_least(group);
        let max = times(around.max, own);
        let of_group = requirement_of(group, around.requirement);
        if group.name == "group" {
            *groups += 1;
            let content = self.group(group, *groups)?;
            return self.collect(content, Around { requirement: of_group, max, ..around }, groups, particles);
        }
        let is_particle = |of: &&XmlElement| MODELS.contains(&of.name.as_str()) || of.name == "element";
        let is_alternating =
            group.name == "sequence" && max != Some(1) && group.children.iter().filter(is_particle).count() > 1;
        let repeated = if is_alternating { Some(group) } else { around.repeated };
        // The content of `all`, of a `choice` or of a repeated sequence has one place.
        let is_together = group.name != "sequence" || is_alternating;
        let position = around.position.or_else(|| is_together.then(|| next(particles.len())));
        for child in &group.children {
            let requirement = if group.name == "choice" { Requirement::Optional } else { of_group };
            match child.name.as_str() {
                name if MODELS.contains(&name) => {
                    self.collect(child, Around { requirement, max, position, repeated }, groups, particles)?;
                }
                "element" => {
                    let element = match child.attribute("ref").map(local) {
                        Some(name) => self.named("element", name, child)?,
                        None => child,
                    };
                    let name =
                        element.attribute("name").ok_or_else(|| self.refused(child, "an element has no name"))?;
                    let own = self.max(child)?;
                    if own == Some(0) {
                        continue;
                    }
                    self.note_least(child);
                    let position = position.unwrap_or_else(|| next(particles.len()));
                    let requirement = requirement_of(child, requirement);
                    let max = times(max, own);
                    if particles.len() >= ITEMS_MAX {
                        return Err(self.refused(child, &format!("more than {ITEMS_MAX} segments and loops")));
                    }
                    particles.push(Particle { element, name, requirement, max, position, repeated });
                }
                "annotation" => {}
                name => {
                    self.leave_out(child, || format!("the importer leaves out `{name}`, which has no form in a guide"));
                }
            }
        }
        Ok(())
    }

    /// Returns the content of the group that a reference names, the reference of this number in the content of an element.
    fn group(&self, reference: &'a XmlElement, number: usize) -> Result<&'a XmlElement, Findings> {
        if number > GROUPS_MAX {
            let message =
                format!("an element refers to more than {GROUPS_MAX} groups; a group must not contain itself");
            return Err(self.refused(reference, &message));
        }
        let name = reference.attribute("ref").map(local);
        let group =
            self.named("group", name.ok_or_else(|| self.refused(reference, "a group has no ref"))?, reference)?;
        model(group).ok_or_else(|| self.refused(group, "a group has no content"))
    }

    fn leave_out(&self, of: &XmlElement, message: impl FnOnce() -> String) {
        self.left_out.borrow_mut().entry(of.at).or_insert_with(message);
    }

    /// Notes a `minOccurs` above 1: a guide requires a part once.
    fn note_least(&self, of: &XmlElement) {
        let least = of.attribute("minOccurs").filter(|least| least.parse::<u32>().is_ok_and(|least| least > 1));
        if let Some(least) = least {
            let what = of.attribute("name").or(of.attribute("ref")).unwrap_or(&of.name);
            self.leave_out(of, || format!("{what} has minOccurs {least}; a guide can require it once only"));
        }
    }

    /// Returns whether a reference names a type of XML Schema, by the namespace of its prefix.
    fn is_built_in(&self, reference: &str) -> bool {
        let (prefix, name) = reference.rsplit_once(':').unwrap_or(("", reference));
        let declared = self.root.namespaces.iter().find(|(declared, _)| declared == prefix);
        let is_of_xml_schema = match declared {
            Some((_, namespace)) => namespace == "http://www.w3.org/2001/XMLSchema",
            // The prefix is declared elsewhere, or nowhere.
            None => !self.root.children.iter().any(|of| {
                matches!(of.name.as_str(), "simpleType" | "complexType") && of.attribute("name") == Some(name)
            }),
        };
        is_of_xml_schema && is_built_in(name)
    }

    /// Returns `maxOccurs`; `None` is unbounded.
    fn max(&self, of: &XmlElement) -> Result<Option<u32>, Findings> {
        match of.attribute("maxOccurs") {
            Some("unbounded") => Ok(None),
            Some(number) => number.parse().map(Some).map_err(|_| self.refused(of, "maxOccurs is not a number")),
            None => Ok(Some(1)),
        }
    }

    /// Returns the content model of an element's type; `None` for simple content.
    fn content(&self, element: &'a XmlElement) -> Result<Option<&'a XmlElement>, Findings> {
        let named = element.attribute("type").filter(|name| !self.is_built_in(name)).map(local);
        let complex = match (element.child("complexType"), named) {
            (Some(complex), _) => Some(complex),
            (None, Some(name)) => {
                let complex = self.complex(name);
                if complex.is_none() {
                    self.named("simpleType", name, element)?;
                }
                complex
            }
            (None, None) => None,
        };
        let Some(complex) = complex else { return Ok(None) };
        if complex.child("complexContent").is_some() {
            return Err(
                self.refused(complex, "a type that extends or restricts another; expected its content written out")
            );
        }
        Ok(model(complex))
    }

    fn complex(&self, name: &str) -> Option<&'a XmlElement> {
        self.root.children_named("complexType").find(|of| of.attribute("name") == Some(name))
    }

    fn named(&self, kind: &'static str, name: &str, from: &XmlElement) -> Result<&'a XmlElement, Findings> {
        let found = self.root.children_named(kind).find(|of| of.attribute("name") == Some(name));
        found.ok_or_else(|| {
            self.source.refused(codes::UNDEFINED, from.at, format!("{kind} {name} is not defined in the schema"))
        })
    }

    fn refused(&self, at: &XmlElement, message: &str) -> Findings {
        self.source.refused(codes::NOT_OF_THE_FORM, at.at, message)
    }
}

/// Facets that a guide does not have.
const LOST_FACETS: [&str; 6] =
    ["pattern", "minInclusive", "minExclusive", "maxInclusive", "maxExclusive", "fractionDigits"];

/// Content models.
const MODELS: [&str; 4] = ["sequence", "choice", "all", "group"];

/// Returns the content model of a type or a group.
fn model(of: &XmlElement) -> Option<&XmlElement> {
    MODELS.iter().find_map(|name| of.child(name))
}

/// Returns the restriction or extension that a type with simple content is; `None` for other types, a list and a union.
fn derivation(of: &XmlElement) -> Option<&XmlElement> {
    let content = if of.name == "complexType" { of.child("simpleContent")? } else { of };
    content.child("restriction").or_else(|| content.child("extension"))
}

/// Returns the count of an element of a group: its own for each repetition of the group.
fn times(group: Option<u32>, own: Option<u32>) -> Option<u32> {
    Some(group?.saturating_mul(own?))
}

/// Returns the requirement on a part of a group.
fn requirement_of(of: &XmlElement, group: Requirement) -> Requirement {
    if of.attribute("minOccurs") == Some("0") { Requirement::Optional } else { group }
}

/// Returns the first element, or the first component of the first element, that has codes.
fn key_field(segment: &PlacedSegment) -> Option<Qualifier> {
    let these = |element: &PlacedElement| match &element.codes {
        Some(Codes::These(values)) => Some(values.clone()),
        _ => None,
    };
    segment.elements.iter().enumerate().find_map(|(at, element)| {
        let (component, values) = match these(element) {
            Some(values) => (0, values),
            None => (1, these(element.components.first()?)?),
        };
        Some(Qualifier { element: narrow(at + 1), component, values })
    })
}

fn guide_of(element: &XmlElement) -> Option<&XmlElement> {
    let annotations = element.children_named("annotation");
    annotations.flat_map(|of| of.children_named("appinfo")).find_map(|of| of.child("guide"))
}

fn documentation(element: &XmlElement) -> Option<String> {
    let text =
        element.child("annotation")?.child("documentation")?.text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the segment tag at the start of a name: two or three capital letters and digits, alone or before `_` or `-`.
fn tag_of(name: &str) -> Option<&str> {
    let tag = name.split(['_', '-']).next()?;
    let right = (2..=3).contains(&tag.len())
        && tag.starts_with(|c: char| c.is_ascii_uppercase())
        && tag.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    right.then_some(tag)
}

fn is_composite(name: &str) -> bool {
    name.len() == 4 && name.starts_with(['C', 'S']) && name.bytes().skip(1).all(|b| b.is_ascii_digit())
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Returns whether a name is one of the supported simple types of XML Schema.
fn is_built_in(name: &str) -> bool {
    const TYPES: [&str; 24] = [
        "string",
        "normalizedString",
        "token",
        "decimal",
        "float",
        "double",
        "integer",
        "nonNegativeInteger",
        "positiveInteger",
        "negativeInteger",
        "nonPositiveInteger",
        "int",
        "long",
        "short",
        "byte",
        "unsignedInt",
        "unsignedLong",
        "unsignedShort",
        "date",
        "time",
        "dateTime",
        "base64Binary",
        "hexBinary",
        "NMTOKEN",
    ];
    TYPES.contains(&name)
}
