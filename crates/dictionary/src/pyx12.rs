//! The maps of pyx12: HIPAA implementation guides and some sets of 004010 as XML.
//!
//! Mapping:
//! * `usage` R, S and N become mandatory, optional and not used; loops and segments that are not used are left out.
//! * Wrapper loops (`HEADER`, `DETAIL`, `FOOTER`) vanish; their content takes their place.
//! * `valid_codes` are codes at the place; `external` ones become open lists of the dictionary, since they are not maintained there.
//! * `syntax` becomes notes; a segment without any has none.
//! * The element that distinguishes twins becomes the qualifier: the first one, or HL03, ENT02, or the first component of the first
//!   composite.
//! * A date or time period (1251) whose format (1250) can only be `D8`, `D6` or `TM` becomes a date or a time.
//!
//! Source: pyx12's `map/README` and `map.xsd`.

use std::collections::{BTreeMap, BTreeSet};

use quayline_core::{Finding, Findings};
use quayline_edi::Standard;
use quayline_edi::guide::{
    CodeList, Codes, DataType, Dictionary, ElementDef, ElementOf, Guide, Qualifier, Requirement, SyntaxNote,
};

use crate::factor::{PlacedElement, PlacedItem, PlacedLoop, PlacedSegment, factor, plain_code};
use crate::imported::Imported;
use crate::notes::{fit, x12_note};
use crate::source_text::SourceText;
use crate::structure::{qualify, tidy};
use crate::xml_tree::XmlElement;
use crate::{codes, groups};

/// The files that all maps share: data elements, external codes, and the index of maps.
#[derive(Clone, Debug, Default)]
pub struct Pyx12 {
    elements: BTreeMap<String, ElementDef>,
    codes: BTreeMap<String, CodeList>,
    /// Maps of the index, by file name.
    index: BTreeMap<String, Listed>,
    source: Option<String>,
}

/// A map's entry in the index.
#[derive(Clone, Debug, Default)]
struct Listed {
    /// GS08.
    versions: Vec<String>,
    /// BHT02, if it distinguishes maps of one version: request and response.
    purpose: Option<String>,
}

impl Pyx12 {
    /// Reads `dataele.xml`, `codes.xml` and `maps.xml`. `source` names their origin: package, version, licence.
    ///
    /// # Errors
    /// A file is not XML or not of its form.
    pub fn new(
        data_elements: SourceText<'_>,
        external_codes: SourceText<'_>,
        maps: SourceText<'_>,
        source: Option<String>,
    ) -> Result<Self, Findings> {
        Ok(Pyx12 {
            elements: read_data_elements(data_elements)?,
            codes: read_external_codes(external_codes)?,
            index: read_index(maps)?,
            source,
        })
    }

    /// Returns whether the index of maps names a file.
    #[must_use]
    pub fn is_listed(&self, file_name: &str) -> bool {
        self.index.contains_key(file_name)
    }

    /// Imports one map: a guide for each version that it is for.
    ///
    /// # Errors
    /// The file is not XML or not a map, or it uses data elements that are not defined.
    pub fn import(&self, map: SourceText<'_>) -> Result<Imported, Findings> {
        let root = XmlElement::read(map)?;
        MapReader { shared: self, map, elements: BTreeMap::new(), lists: BTreeMap::new(), findings: Vec::new() }
            .read(&root)
    }
}

fn read_data_elements(source: SourceText<'_>) -> Result<BTreeMap<String, ElementDef>, Findings> {
    let root = XmlElement::read(source)?;
    let mut elements = BTreeMap::new();
    for element in root.children_named("data_ele") {
        let number = |name: &str| element.attribute(name).and_then(|value| value.parse().ok());
        let read = (
            element.attribute("ele_num"),
            element.attribute("data_type").and_then(x12_type),
            number("min_len"),
            number("max_len"),
        );
        let (Some(id), Some(data_type), Some(min), Some(max)) = read else {
            return Err(not_of_the_form(source, element, "data_ele needs ele_num, data_type, min_len and max_len"));
        };
        let name = element.attribute("name").map(str::to_owned);
        elements.insert(id.to_owned(), ElementDef { name, data_type, min, max, codes: None });
    }
    if elements.is_empty() {
        return Err(not_of_the_form(source, &root, "the file has no data_ele"));
    }
    Ok(elements)
}

fn read_external_codes(source: SourceText<'_>) -> Result<BTreeMap<String, CodeList>, Findings> {
    let root = XmlElement::read(source)?;
    let mut lists = BTreeMap::new();
    for set in root.children_named("codeset") {
        let id = set.property("id").ok_or_else(|| not_of_the_form(source, set, "codeset needs an id"))?;
        let mut list = CodeList { name: set.property("name").map(str::to_owned), codes: Vec::new(), open: true };
        let mut known = BTreeSet::from([""]);
        let codes = set.children_named("version").flat_map(|version| version.children_named("code"));
        list.codes.extend(codes.filter(|code| known.insert(&code.text)).map(|code| plain_code(&code.text)));
        lists.insert(id.to_owned(), list);
    }
    Ok(lists)
}

fn read_index(source: SourceText<'_>) -> Result<BTreeMap<String, Listed>, Findings> {
    let root = XmlElement::read(source)?;
    let mut index: BTreeMap<String, Listed> = BTreeMap::new();
    for map in root.children_named("version").flat_map(|version| version.children_named("map")) {
        let listed = index.entry(map.text.clone()).or_default();
        listed.versions.extend(map.attribute("vriic").filter(|version| !version.is_empty()).map(str::to_owned));
        listed.purpose = map.attribute("tspc").map(str::to_owned);
    }
    Ok(index)
}

/// Parses an X12 data type: `AN`, `ID`, `N0`, `R`, `DT`, `TM`, `B`.
pub(crate) fn x12_type(text: &str) -> Option<DataType> {
    Some(match text {
        "AN" => DataType::Text,
        "ID" => DataType::Identifier,
        "R" => DataType::Decimal,
        "DT" => DataType::Date,
        "TM" => DataType::Time,
        "B" => DataType::Binary,
        "N" => DataType::Implied(0),
        _ => DataType::Implied(text.strip_prefix('N')?.parse().ok().filter(|places| *places <= 9)?),
    })
}

fn not_of_the_form(source: SourceText<'_>, at: &XmlElement, message: impl Into<String>) -> Findings {
    source.refused(codes::NOT_OF_THE_FORM, at.at, message)
}

struct MapReader<'a> {
    shared: &'a Pyx12,
    map: SourceText<'a>,
    /// Elements that the map uses.
    elements: BTreeMap<String, ElementDef>,
    lists: BTreeMap<String, CodeList>,
    findings: Vec<Finding>,
}

impl MapReader<'_> {
    fn read(mut self, root: &XmlElement) -> Result<Imported, Findings> {
        let Some((group, set)) = (root.name == "transaction").then(|| transaction_loop(root)).flatten() else {
            return Err(not_of_the_form(self.map, root, "a transaction has no loop ST_LOOP"));
        };
        let header = set.children_named("segment").find(|segment| segment.attribute("xid") == Some("ST"));
        let transaction = header.map(|st| codes_of(st, 1)).and_then(|codes| codes.first().cloned());
        let transaction = transaction
            .or_else(|| root.attribute("xid").map(|xid| xid.chars().take(3).collect()))
            .ok_or_else(|| not_of_the_form(self.map, root, "the map does not tell ST01"))?;
        let versions = self.versions(root, header, group)?;
        let functional_group = self.functional_group(&transaction, &versions, group);

        let inside = |item: &&XmlElement| !matches!(item.attribute("xid"), Some("ST" | "SE"));
        let items: Vec<&XmlElement> = set
            .children
            .iter()
            .filter(|child| matches!(child.name.as_str(), "loop" | "segment"))
            .filter(inside)
            .collect();
        let mut items = self.items(&items)?;
        tidy(&mut items, &mut |id, message| {
            self.findings.push(self.map.warning(codes::NOT_CARRIED_OVER, set.at, format!("loop {id}: {message}")));
        });
        qualify(&mut items, &key_field);
        let mut dictionary = Dictionary { codes: self.lists, elements: self.elements, ..Dictionary::default() };
        let (structure, disagreements) = factor(&items, &mut dictionary);
        for disagreement in disagreements {
            let message = format!(
                "element {} of {} is not the same at all places; the first is taken",
                disagreement.number, disagreement.of
            );
            self.findings.push(self.map.warning(codes::CONTRADICTORY, set.at, message));
        }
        let title = root.property("name").map(str::to_owned);
        let purpose = self.shared.index.get(self.map.file_name()).and_then(|listed| listed.purpose.clone());
        let purpose = purpose.map(|purpose| format!("-{purpose}")).unwrap_or_default();
        let guides = versions.into_iter().map(|version| Guide {
            name: format!("{transaction}-{version}{purpose}"),
            title: title.clone(),
            standard: Standard::X12,
            version,
            transaction: transaction.clone(),
            functional_group: functional_group.clone(),
            source: self.shared.source.clone(),
            dictionary: dictionary.clone(),
            structure: structure.clone(),
            rules: Vec::new(),
        });
        Ok(Imported { guides: guides.collect(), findings: self.findings })
    }

    /// Determines the versions of a set: from ST03 first, then the index, then GS08. If one of several is a prefix of all others, it represents them.
    fn versions(
        &self,
        root: &XmlElement,
        header: Option<&XmlElement>,
        group: Option<&XmlElement>,
    ) -> Result<Vec<String>, Findings> {
        let listed = self.shared.index.get(self.map.file_name());
        let mut versions = header.map(|st| codes_of(st, 3)).unwrap_or_default();
        if versions.is_empty() {
            versions = listed.map(|listed| listed.versions.clone()).unwrap_or_default();
        }
        if versions.is_empty() {
            versions = group.map(|gs| codes_of(gs, 8)).unwrap_or_default();
        }
        versions.sort();
        versions.dedup();
        let Some(first) = versions.first().cloned() else {
            let message = "neither ST03, GS08 nor the index of maps gives the version";
            return Err(not_of_the_form(self.map, root, message));
        };
        if versions.iter().all(|version| version.starts_with(&first)) {
            versions.truncate(1);
        }
        Ok(versions)
    }

    fn functional_group(
        &mut self,
        transaction: &str,
        versions: &[String],
        group: Option<&XmlElement>,
    ) -> Option<String> {
        let known = groups::functional_group(transaction).map(str::to_owned);
        let Some(gs) = group else { return known };
        let told = codes_of(gs, 1);
        if !known.as_ref().is_none_or(|known| told.contains(known)) {
            let message = format!("GS01 of {transaction} {} is another in the standard, which is taken", versions[0]);
            self.findings.push(self.map.warning(codes::CONTRADICTORY, gs.at, message));
        }
        known.or_else(|| told.first().cloned())
    }

    /// Returns items in the order of the file. If positions contradict it, hierarchical levels follow the content of their parent.
    fn items(&mut self, elements: &[&XmlElement]) -> Result<Vec<PlacedItem>, Findings> {
        let mut items = Vec::new();
        for element in elements {
            if element.property("usage") == Some("N") {
                continue;
            }
            match element.name.as_str() {
                "segment" => items.push(PlacedItem::Segment(self.segment(element)?)),
                "loop" => items.push(PlacedItem::Loop(self.r#loop(element)?)),
                _ => {}
            }
        }
        Ok(items)
    }

    fn r#loop(&mut self, element: &XmlElement) -> Result<PlacedLoop, Findings> {
        let children: Vec<&XmlElement> = element.children.iter().collect();
        Ok(PlacedLoop {
            id: self.required(element, "xid")?.to_owned(),
            wrapper: element.attribute("type") == Some("wrapper"),
            name: element.property("name").map(str::to_owned),
            requirement: self.usage(element)?,
            repeat: self.count(element, "repeat")?,
            position: self.number(element, "pos")?,
            items: self.items(&children)?,
        })
    }

    fn segment(&mut self, element: &XmlElement) -> Result<PlacedSegment, Findings> {
        let mut elements: Vec<(u32, PlacedElement)> = Vec::new();
        for child in &element.children {
            if matches!(child.name.as_str(), "element" | "composite") {
                elements.push((self.number(child, "seq")?, self.element(child)?));
            }
        }
        let tag = self.required(element, "xid")?.to_owned();
        let mut elements = self.in_sequence(element, elements)?;
        let count = elements.len();
        narrow_periods(&mut elements);
        Ok(PlacedSegment {
            tag,
            name: element.property("name").map(str::to_owned),
            requirement: self.usage(element)?,
            max: self.count(element, "max_use")?,
            position: self.number(element, "pos")?,
            qualifier: None,
            elements,
            notes: self.notes(element, count),
        })
    }

    fn element(&mut self, element: &XmlElement) -> Result<PlacedElement, Findings> {
        let id = self.required(element, "data_ele")?.to_owned();
        let requirement = self.usage(element)?;
        let mut placed = PlacedElement {
            of: ElementOf::Element(id.clone()),
            name: element.property("name").map(str::to_owned),
            requirement,
            repeat: match element.property("repeat") {
                None => 1,
                Some(_) => self.count(element, "repeat")?.unwrap_or(u32::MAX),
            },
            codes: None,
            data_type: None,
            min: None,
            max: None,
            components: Vec::new(),
            notes: Vec::new(),
        };
        if element.name == "composite" {
            let mut components = Vec::new();
            for child in element.children_named("element") {
                components.push((self.number(child, "seq")?, self.element(child)?));
            }
            placed.of = ElementOf::Composite(id);
            placed.components = self.in_sequence(element, components)?;
            narrow_periods(&mut placed.components);
            placed.notes = self.notes(element, placed.components.len());
            return Ok(placed);
        }
        let Some(definition) = self.shared.elements.get(&id) else {
            let message = format!("data element {id} is not defined in dataele.xml");
            return Err(self.map.refused(codes::UNDEFINED, element.at, message));
        };
        self.elements.entry(id).or_insert_with(|| definition.clone());
        if requirement != Requirement::NotUsed {
            placed.codes = self.codes(element)?;
            self.pattern(element);
        }
        Ok(placed)
    }

    fn codes(&mut self, element: &XmlElement) -> Result<Option<Codes>, Findings> {
        let Some(valid) = element.child("valid_codes") else { return Ok(None) };
        let mut known = BTreeSet::from([""]);
        let codes = valid.children_named("code").filter(|code| known.insert(&code.text));
        let values: Vec<String> = codes.map(|code| code.text.clone()).collect();
        let Some(external) = valid.attribute("external") else {
            return Ok((!values.is_empty()).then_some(Codes::These(values)));
        };
        let Some(list) = self.shared.codes.get(external) else {
            let message = format!("external codes {external} are not defined in codes.xml");
            return Err(self.map.refused(codes::UNDEFINED, valid.at, message));
        };
        let list = self.lists.entry(external.to_owned()).or_insert_with(|| list.clone());
        if !values.is_empty() {
            // Several places can add the same values.
            let known: BTreeSet<&str> = list.codes.iter().map(|code| code.value.as_str()).collect();
            let added = values.iter().filter(|value| !known.contains(value.as_str()));
            let added: Vec<_> = added.map(|value| plain_code(value)).collect();
            list.codes.extend(added);
        }
        Ok(Some(Codes::List(external.to_owned())))
    }

    /// Warns about a pattern, which a guide cannot represent.
    fn pattern(&mut self, element: &XmlElement) {
        if element.property("regex").is_some() {
            let message = format!(
                "{}: a guide has no patterns; this one is left out",
                element.attribute("xid").unwrap_or_default()
            );
            self.findings.push(self.map.warning(codes::NOT_CARRIED_OVER, element.at, message));
        }
    }

    fn notes(&mut self, element: &XmlElement, count: usize) -> Vec<SyntaxNote> {
        let mut notes = Vec::new();
        for syntax in element.children_named("syntax") {
            let Some(note) = x12_note(&syntax.text) else {
                let message = "not a syntax note: expected P, R, E, C or L and pairs of digits";
                self.findings.push(self.map.warning(codes::NOT_CARRIED_OVER, syntax.at, message));
                continue;
            };
            let fitted = fit(note.clone(), count);
            if fitted.as_ref() != Some(&note) && count > 0 {
                let message = format!("the note {} names missing elements", syntax.text);
                self.findings.push(self.map.warning(codes::CONTRADICTORY, syntax.at, message));
            }
            notes.extend(fitted.filter(|note| !notes.contains(note)));
        }
        notes
    }

    fn in_sequence(
        &self,
        of: &XmlElement,
        mut elements: Vec<(u32, PlacedElement)>,
    ) -> Result<Vec<PlacedElement>, Findings> {
        elements.sort_by_key(|(sequence, _)| *sequence);
        if !elements.iter().map(|(sequence, _)| *sequence).eq((1..).take(elements.len())) {
            return Err(not_of_the_form(self.map, of, "seq of elements does not count from 1"));
        }
        Ok(elements.into_iter().map(|(_, element)| element).collect())
    }

    fn required<'x>(&self, element: &'x XmlElement, name: &str) -> Result<&'x str, Findings> {
        let message = || format!("{} has no {name}", element.name);
        element.property(name).ok_or_else(|| not_of_the_form(self.map, element, message()))
    }

    fn number(&self, element: &XmlElement, name: &str) -> Result<u32, Findings> {
        let message = || format!("{name} of {} is not a number", element.name);
        self.required(element, name)?.parse().map_err(|_| not_of_the_form(self.map, element, message()))
    }

    /// Parses a count: a number, or `>1` for no limit.
    fn count(&self, element: &XmlElement, name: &str) -> Result<Option<u32>, Findings> {
        match element.property(name) {
            None | Some(">1") => Ok(None),
            Some(_) => self.number(element, name).map(Some),
        }
    }

    fn usage(&self, element: &XmlElement) -> Result<Requirement, Findings> {
        match self.required(element, "usage")? {
            "R" => Ok(Requirement::Mandatory),
            "S" => Ok(Requirement::Optional),
            "N" => Ok(Requirement::NotUsed),
            _ => Err(not_of_the_form(self.map, element, "usage is neither R, S nor N")),
        }
    }
}

/// Returns GS, if there is one, and the loop that begins with ST.
fn transaction_loop(root: &XmlElement) -> Option<(Option<&XmlElement>, &XmlElement)> {
    let of = |parent: &'_ XmlElement, id: &str| -> Option<usize> {
        parent.children.iter().position(|child| child.name == "loop" && child.attribute("xid") == Some(id))
    };
    if let Some(at) = of(root, "ST_LOOP") {
        return Some((None, &root.children[at]));
    }
    let interchange = &root.children[of(root, "ISA_LOOP")?];
    let group = &interchange.children[of(interchange, "GS_LOOP")?];
    let gs = group.children_named("segment").find(|segment| segment.attribute("xid") == Some("GS"));
    Some((gs, &group.children[of(group, "ST_LOOP")?]))
}

/// Returns the codes that an element of an envelope segment may have.
fn codes_of(segment: &XmlElement, number: u32) -> Vec<String> {
    let is = |element: &&XmlElement| element.property("seq").and_then(|seq| seq.parse().ok()) == Some(number);
    let element = segment.children_named("element").find(is);
    let valid = element.and_then(|element| element.child("valid_codes"));
    valid.map(|valid| valid.children_named("code").map(|code| code.text.clone()).collect()).unwrap_or_default()
}

/// Returns the element whose codes distinguish a segment from its twins, as pyx12 matches them.
fn key_field(segment: &PlacedSegment) -> Option<Qualifier> {
    let these = |element: &PlacedElement| match &element.codes {
        Some(Codes::These(values)) if element.requirement != Requirement::NotUsed => Some(values.clone()),
        _ => None,
    };
    let key = |element: u8, component: u8, values| Some(Qualifier { element, component, values });
    let first = segment.elements.first()?;
    if let Some(values) = these(first).filter(|_| first.requirement == Requirement::Mandatory) {
        return key(1, 0, values);
    }
    if let Some(values) = first.components.first().and_then(these) {
        return key(1, 1, values);
    }
    let other = match segment.tag.as_str() {
        "ENT" => 2,
        "HL" => 3,
        _ => return None,
    };
    key(other, 0, segment.elements.get(usize::from(other) - 1).and_then(these)?)
}

/// Turns a period whose format has one code of fixed length into a date or a time.
fn narrow_periods(elements: &mut [PlacedElement]) {
    for at in 1..elements.len() {
        let (before, rest) = elements.split_at_mut(at);
        let (format, period) = (&before[at - 1], &mut rest[0]);
        if format.of != ElementOf::Element("1250".into()) || period.of != ElementOf::Element("1251".into()) {
            continue;
        }
        let Some(Codes::These(formats)) = &format.codes else { continue };
        let ([only], true) = (formats.as_slice(), period.requirement != Requirement::NotUsed) else { continue };
        let (data_type, min, max) = match only.as_str() {
            "D8" => (DataType::Date, 8, 8),
            "D6" => (DataType::Date, 6, 6),
            "TM" => (DataType::Time, 4, 8),
            _ => continue,
        };
        (period.data_type, period.min, period.max) = (Some(data_type), Some(min), Some(max));
    }
}
