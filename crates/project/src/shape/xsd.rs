//! XML schemas: elements, their types, attributes; the part that says what documents look like.
//!
//! An attribute is a field `@name`; the text of an element that has attributes, or of mixed content, is a field `$text`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{DistinctFindings, Findings, Occurs, Scalar, Shape, ShapeBuilder};
use quayline_dictionary::{SourceText, XmlElement};
use quayline_xml::{Namespaces, Spacing, XmlStyle};

use crate::Schema;
use crate::shape::codes;
use crate::shape::notes::Notes;
use crate::shape::reference::Reference;
use crate::shape::shape_file::{Form, ShapeFile, ShapeOptions};
use crate::shape::source_file::SourceFile;

/// Types inside each other.
const DEPTH_MAX: usize = 64;
/// Nodes of a shape.
const NODES_MAX: usize = 100_000;
/// Schemas that include each other.
const FILES_MAX: usize = 256;

pub(crate) fn load(reference: &Reference, _: &ShapeOptions) -> Result<ShapeFile, Findings> {
    let documents = Documents::open(&reference.path)?;
    let mut reader = Reader {
        documents: &documents,
        findings: DistinctFindings::default(),
        notes: Notes::default(),
        open: Vec::new(),
        nodes: 0,
        uris: Vec::new(),
    };
    let (file, root) = reader.root(reference.part.as_deref())?;
    let name = root.attribute("name").unwrap_or("document").to_owned();
    let outermost = reader.target_namespace(file);
    let model = reader.element(file, root);
    let mut findings = core::mem::take(&mut reader.findings).into_vec();
    let notes = core::mem::take(&mut reader.notes);
    findings.extend(notes.findings(&documents.files[0].file));
    let mut builder = Shape::builder(name.clone());
    let mut of_node = vec![outermost];
    match model {
        Some(Model::Group(members)) => {
            members.into_iter().for_each(|member| build(&mut builder, &mut of_node, member));
        }
        Some(Model::Leaf(scalar)) => {
            builder.scalar("$text", scalar, Occurs::Optional);
            of_node.push(0);
        }
        None => return Err(Findings(findings)),
    }
    let namespaces = of_node.iter().any(|of| *of != 0).then_some(Namespaces { uris: reader.uris, of_node });
    let style = XmlStyle { root: None, record: name, spacing: Spacing::Compact, namespaces };
    Ok(ShapeFile {
        path: reference.path.clone(),
        form: Form::Xml(style),
        schema: Arc::new(Schema::of_shape(builder.finish())),
        findings,
        files: documents.files.iter().map(|document| document.path.clone()).collect(),
    })
}

fn build(builder: &mut ShapeBuilder, of_node: &mut Vec<u16>, member: Member) {
    of_node.push(member.namespace);
    match member.model {
        Model::Leaf(scalar) => {
            builder.scalar(member.name, scalar, member.occurs);
        }
        Model::Group(members) => {
            builder.open(member.name, member.occurs);
            members.into_iter().for_each(|member| build(builder, of_node, member));
            builder.close();
        }
    }
}

/// What an element holds.
#[derive(Clone, Debug, PartialEq)]
enum Model {
    Leaf(Scalar),
    Group(Vec<Member>),
}

#[derive(Clone, Debug, PartialEq)]
struct Member {
    name: String,
    /// As [`Namespaces::of_node`] says it.
    namespace: u16,
    occurs: Occurs,
    model: Model,
}

/// A schema with those that it includes and imports.
struct Documents {
    files: Vec<Document>,
}

struct Document {
    path: PathBuf,
    file: SourceFile,
    root: XmlElement,
    /// Of what it defines: its own, or that of the schema which includes it.
    namespace: Option<String>,
}

impl Documents {
    fn open(path: &Path) -> Result<Documents, Findings> {
        let mut documents = Documents { files: Vec::new() };
        documents.add(path, None)?;
        let mut at = 0;
        while at < documents.files.len() {
            let mut more = Vec::new();
            let document = &documents.files[at];
            for child in &document.root.children {
                if !matches!(child.name.as_str(), "include" | "import" | "redefine" | "override") {
                    continue;
                }
                let refused =
                    |code, message: String, hint: &str| document.file.error(code, child.at, message).hint(hint);
                if matches!(child.name.as_str(), "redefine" | "override") {
                    let message = format!("`{}` changes what another schema defines", child.name);
                    return Err(
                        refused(codes::NOT_HELD, message, "write the changed definitions into one schema").into()
                    );
                }
                let Some(place) = child.attribute("schemaLocation") else { continue };
                if place.contains("://") {
                    // Whether anything of it is needed is found out when it is referred to.
                    continue;
                }
                let around = document.namespace.clone().filter(|_| child.name == "include");
                more.push((document.path.parent().unwrap_or_else(|| Path::new("")).join(place), around));
            }
            for (path, around) in more {
                if !documents.files.iter().any(|known| known.path == path) {
                    documents.add(&path, around)?;
                }
            }
            at += 1;
        }
        Ok(documents)
    }

    fn add(&mut self, path: &Path, around: Option<String>) -> Result<(), Findings> {
        let file = SourceFile::read(path)?;
        if self.files.len() == FILES_MAX {
            return Err(file.error(codes::NOT_HELD, 0, format!("more than {FILES_MAX} schemas")).into());
        }
        let name = file.text.name.to_string();
        let mut root = XmlElement::read(SourceText::new(&name, &file.text.text)).map_err(|Findings(mut found)| {
            found.iter_mut().for_each(|finding| finding.code = codes::SYNTAX);
            Findings(found)
        })?;
        if root.name != "schema" {
            let finding = file.error(codes::SYNTAX, root.at, "no XML schema: its outermost element is not `schema`");
            return Err(finding.hint("a schema begins with <xs:schema …>").into());
        }
        root.children.retain(|child| child.name != "annotation");
        if let Some(wrong) = misnamed(&root) {
            let finding = file.error(codes::SYNTAX, wrong.at, "the name is not valid for an element or attribute");
            return Err(finding.hint("names begin with a letter and hold letters, digits, `_`, `-` and `.`").into());
        }
        let namespace = root.attribute("targetNamespace").map(str::to_owned).or(around);
        self.files.push(Document { path: path.to_owned(), file, root, namespace });
        Ok(())
    }

    /// A global element of that name, of whichever namespace.
    fn by_local_name(&self, name: &str) -> Option<(usize, &XmlElement)> {
        let named = |element: &&XmlElement| element.name == "element" && element.attribute("name") == Some(name);
        (0..).zip(&self.files).find_map(|(number, document)| Some((number, document.root.children.iter().find(named)?)))
    }

    /// A global definition and the file it stands in, by the name that a schema uses for it.
    fn global(&self, kind: &str, reference: &str, from: usize) -> Option<(usize, &XmlElement)> {
        let (prefix, name) = reference.split_once(':').unwrap_or(("", reference));
        let declared = &self.files[from].root.namespaces;
        let uri = declared.iter().find(|(known, _)| known == prefix).map(|(_, uri)| uri.as_str());
        if uri == Some(XSD) && self.files[from].namespace.as_deref() != uri {
            return None;
        }
        let named = |element: &&XmlElement| element.name == kind && element.attribute("name") == Some(name);
        let mut found = (0..)
            .zip(&self.files)
            .filter_map(|(number, document)| Some((number, document.root.children.iter().find(named)?)));
        match uri {
            Some(uri) => found.find(|(number, _)| self.files[*number].namespace.as_deref() == Some(uri)),
            // A schema that declares no prefixes means what there is.
            None => found.next(),
        }
    }
}

/// The namespace of XML Schema itself.
const XSD: &str = "http://www.w3.org/2001/XMLSchema";

struct Reader<'d> {
    documents: &'d Documents,
    findings: DistinctFindings,
    notes: Notes,
    /// Types and elements that are being read.
    open: Vec<(&'d str, String)>,
    nodes: usize,
    /// Namespaces that were met.
    uris: Vec<String>,
}

/// Particles of a content model, as they are gathered.
#[derive(Default)]
struct Content {
    members: Vec<Member>,
    /// In a choice: what stands once does so at most.
    choice: bool,
    /// In a group of particles that repeats.
    repeats: bool,
}

impl<'d> Reader<'d> {
    fn refuse(&mut self, file: usize, at: usize, code: quayline_core::Code, message: String, hint: &str) {
        let finding = self.documents.files[file].file.error(code, at, message).hint(hint);
        self.findings.push(finding);
    }

    /// The number of a schema's own namespace.
    fn target_namespace(&mut self, file: usize) -> u16 {
        let Some(uri) = &self.documents.files[file].namespace else { return 0 };
        let at = match self.uris.iter().position(|known| known == uri) {
            Some(at) => at,
            None => {
                self.uris.push(uri.clone());
                self.uris.len() - 1
            }
        };
        u16::try_from(at + 1).unwrap_or(0)
    }

    /// The namespace of an element or attribute that is declared where it stands.
    fn local_namespace(&mut self, file: usize, of: &XmlElement, default: &str) -> u16 {
        let form = of.attribute("form").or_else(|| self.documents.files[file].root.attribute(default));
        if form == Some("qualified") { self.target_namespace(file) } else { 0 }
    }

    fn root(&self, part: Option<&str>) -> Result<(usize, &'d XmlElement), Findings> {
        let first = &self.documents.files[0];
        let elements: Vec<&XmlElement> = first.root.children.iter().filter(|child| child.name == "element").collect();
        let names = || elements.iter().filter_map(|element| element.attribute("name")).collect::<Vec<_>>().join(", ");
        let refused = |message: String| {
            let hint = if elements.is_empty() { "it has none".to_owned() } else { format!("it has {}", names()) };
            Findings::from(first.file.error(codes::NO_SUCH_PART, first.root.at, message).hint(hint))
        };
        match (part, elements.as_slice()) {
            (Some(part), _) => {
                self.documents.by_local_name(part).ok_or_else(|| refused(format!("the schema has no element `{part}`")))
            }
            (None, [one]) => Ok((0, one)),
            (None, _) => Err(refused(format!(
                "the schema has {} elements, and one is the document's: name it after the file, \"x.xsd#name\"",
                elements.len()
            ))),
        }
    }

    /// What an element with a name holds. `None`: it was refused, or holds itself.
    fn element(&mut self, file: usize, element: &'d XmlElement) -> Option<Model> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            let message = format!("the schema has more than {NODES_MAX} elements");
            self.refuse(0, 0, codes::NOT_HELD, message, "name the element that you need: \"x.xsd#name\"");
            return None;
        }
        if let Some(name) = element.attribute("type") {
            return self.named_type(file, element, name);
        }
        match element.children.iter().find(|child| matches!(child.name.as_str(), "simpleType" | "complexType")) {
            Some(of) if of.name == "simpleType" => self.simple(file, of, 0).map(Model::Leaf),
            Some(of) => self.complex(file, of),
            None => {
                self.notes.add("an element without a type", element.at);
                Some(Model::Leaf(Scalar::Text { chars_max: None }))
            }
        }
    }

    fn named_type(&mut self, file: usize, from: &XmlElement, name: &str) -> Option<Model> {
        if let Some((file, of)) = self.documents.global("complexType", name, file) {
            let key = ("type", format!("{file} {}", local(name)));
            if self.open.contains(&key) || self.open.len() >= DEPTH_MAX {
                return None;
            }
            self.open.push(key);
            let model = self.complex(file, of);
            self.open.pop();
            return model;
        }
        if let Some((file, of)) = self.documents.global("simpleType", name, file) {
            return self.simple(file, of, 0).map(Model::Leaf);
        }
        match built_in(local(name)) {
            Some(scalar) => Some(Model::Leaf(scalar)),
            None => {
                let hint = "define it, or include the schema that does from a file next to this one";
                self.refuse(file, from.at, codes::NO_SUCH_PART, format!("there is no type `{name}`"), hint);
                None
            }
        }
    }

    fn complex(&mut self, file: usize, of: &'d XmlElement) -> Option<Model> {
        let mut members = Vec::new();
        if let Some(simple) = of.child("simpleContent") {
            let derived =
                simple.children.iter().find(|child| matches!(child.name.as_str(), "extension" | "restriction"))?;
            let base = derived.attribute("base").unwrap_or("string");
            let text = self.simple_base(file, derived, base)?;
            let mut attributes = text.1;
            self.attributes(file, derived, &mut attributes);
            if attributes.is_empty() {
                return Some(Model::Leaf(text.0));
            }
            attributes.push(Member {
                name: "$text".to_owned(),
                namespace: 0,
                occurs: Occurs::Optional,
                model: Model::Leaf(text.0),
            });
            return Some(Model::Group(attributes));
        }
        let mut mixed = of.attribute("mixed") == Some("true");
        let mut holder = of;
        if let Some(content) = of.child("complexContent") {
            mixed |= content.attribute("mixed") == Some("true");
            let derived =
                content.children.iter().find(|child| matches!(child.name.as_str(), "extension" | "restriction"))?;
            if derived.name == "extension" {
                let base = derived.attribute("base").unwrap_or_default();
                match self.named_type(file, derived, base)? {
                    Model::Group(base) => members = base,
                    Model::Leaf(_) => {
                        let hint = "extend a simple type by simpleContent";
                        self.refuse(file, derived.at, codes::NOT_HELD, format!("`{base}` is a simple type"), hint);
                        return None;
                    }
                }
            }
            holder = derived;
        }
        self.attributes(file, holder, &mut members);
        let mut content = Content { members, ..Content::default() };
        for child in &holder.children {
            self.particle(file, child, &mut content);
        }
        let mut members = content.members;
        // Attributes first, whatever they were inherited behind.
        members.sort_by_key(|member| !member.name.starts_with('@'));
        if mixed && !members.iter().any(|member| member.name == "$text") {
            let text = Model::Leaf(Scalar::Text { chars_max: None });
            members.push(Member { name: "$text".to_owned(), namespace: 0, occurs: Occurs::Optional, model: text });
        }
        Some(Model::Group(members))
    }

    /// A simple type as the base of another, with the attributes that it has where it is a complex type with simple content.
    fn simple_base(&mut self, file: usize, derived: &'d XmlElement, base: &str) -> Option<(Scalar, Vec<Member>)> {
        let (scalar, attributes) = match self.named_type(file, derived, base)? {
            Model::Leaf(scalar) => (scalar, Vec::new()),
            Model::Group(mut members) => {
                let text = members.iter().position(|member| member.name == "$text")?;
                match members.remove(text).model {
                    Model::Leaf(scalar) => (scalar, members),
                    Model::Group(_) => return None,
                }
            }
        };
        Some((self.faceted(derived, scalar), attributes))
    }

    fn attributes(&mut self, file: usize, of: &'d XmlElement, members: &mut Vec<Member>) {
        for child in &of.children {
            match child.name.as_str() {
                "attribute" => self.attribute(file, child, members),
                "attributeGroup" => {
                    let name = child.attribute("ref").unwrap_or_default();
                    match self.documents.global("attributeGroup", name, file) {
                        Some((file, group)) => self.attributes(file, group, members),
                        None => {
                            let message = format!("there is no group of attributes `{name}`");
                            self.refuse(
                                file,
                                child.at,
                                codes::NO_SUCH_PART,
                                message,
                                "define it, or include its schema",
                            );
                        }
                    }
                }
                "anyAttribute" => self.notes.add("anyAttribute", child.at),
                _ => {}
            }
        }
    }

    fn attribute(&mut self, file: usize, of: &'d XmlElement, members: &mut Vec<Member>) {
        let required = of.attribute("use") == Some("required");
        if of.attribute("use") == Some("prohibited") {
            let name = format!("@{}", of.attribute("name").unwrap_or_default());
            members.retain(|member| member.name != name);
            return;
        }
        let (name, namespace, scalar) = match of.attribute("ref") {
            // The attributes of XML itself, such as xml:lang.
            Some(reference) if reference.starts_with("xml:") => {
                (local(reference).to_owned(), Namespaces::OF_XML, Some(Scalar::Text { chars_max: None }))
            }
            Some(reference) => match self.documents.global("attribute", reference, file) {
                Some((file, global)) => {
                    (local(reference).to_owned(), self.target_namespace(file), self.attribute_type(file, global))
                }
                None => {
                    let message = format!("there is no attribute `{reference}`");
                    self.refuse(file, of.at, codes::NO_SUCH_PART, message, "define it, or include its schema");
                    return;
                }
            },
            None => {
                let namespace = self.local_namespace(file, of, "attributeFormDefault");
                (of.attribute("name").unwrap_or_default().to_owned(), namespace, self.attribute_type(file, of))
            }
        };
        let Some(scalar) = scalar else { return };
        let name = format!("@{name}");
        members.retain(|member| member.name != name);
        let occurs = if required { Occurs::Once } else { Occurs::Optional };
        members.push(Member { name, namespace, occurs, model: Model::Leaf(scalar) });
    }

    fn attribute_type(&mut self, file: usize, of: &'d XmlElement) -> Option<Scalar> {
        match (of.attribute("type"), of.child("simpleType")) {
            (Some(name), _) => match self.named_type(file, of, name)? {
                Model::Leaf(scalar) => Some(scalar),
                Model::Group(_) => None,
            },
            (None, Some(simple)) => self.simple(file, simple, 0),
            (None, None) => Some(Scalar::Text { chars_max: None }),
        }
    }

    fn particle(&mut self, file: usize, of: &'d XmlElement, content: &mut Content) {
        let optional = of.attribute("minOccurs") == Some("0");
        let max = match of.attribute("maxOccurs") {
            Some("unbounded") => None,
            Some(number) => Some(number.parse().unwrap_or(1)),
            None => Some(1u32),
        };
        if max == Some(0) {
            return;
        }
        let outer = (content.choice, content.repeats);
        match of.name.as_str() {
            "sequence" | "all" | "choice" => {
                content.choice |= optional || of.name == "choice";
                content.repeats |= max != Some(1);
                of.children.iter().for_each(|child| self.particle(file, child, content));
            }
            "group" => {
                let name = of.attribute("ref").unwrap_or_default();
                content.choice |= optional;
                content.repeats |= max != Some(1);
                match self.documents.global("group", name, file) {
                    Some((file, group)) => group.children.iter().for_each(|child| self.particle(file, child, content)),
                    None => {
                        let message = format!("there is no group `{name}`");
                        self.refuse(file, of.at, codes::NO_SUCH_PART, message, "define it, or include its schema");
                    }
                }
            }
            "element" => self.member(file, of, optional, max, content),
            "any" => self.notes.add("any", of.at),
            _ => {}
        }
        (content.choice, content.repeats) = outer;
    }

    fn member(&mut self, file: usize, of: &'d XmlElement, optional: bool, max: Option<u32>, content: &mut Content) {
        let (of_file, element) = match of.attribute("ref") {
            Some(reference) => match self.documents.global("element", reference, file) {
                Some(found) => found,
                None => {
                    let message = format!("there is no element `{reference}`");
                    let hint = "define it, or include or import its schema from a file next to this one";
                    return self.refuse(file, of.at, codes::NO_SUCH_PART, message, hint);
                }
            },
            None => (file, of),
        };
        let Some(name) = element.attribute("name") else { return };
        let namespace = if of.attribute("ref").is_some() {
            self.target_namespace(of_file)
        } else {
            self.local_namespace(file, of, "elementFormDefault")
        };
        let key = ("element", format!("{of_file} {name}"));
        let of_itself = of.attribute("ref").is_some() && self.open.contains(&key);
        let model = if of_itself || self.open.len() >= DEPTH_MAX {
            None
        } else {
            self.open.push(key);
            let errors = self.findings.len();
            let model = self.element(of_file, element);
            self.open.pop();
            if model.is_none() && self.findings.len() > errors {
                return;
            }
            model
        };
        let Some(model) = model else {
            let hint = "a shape is finite: a document that has it is refused when it is read; write down as many levels as documents have";
            let message = format!("`{name}` contains itself, and is left out here");
            let mut finding = self.documents.files[file].file.warning(codes::ITSELF, of.at, message).hint(hint);
            if !(optional || content.choice) {
                finding.severity = quayline_core::Severity::Error;
            }
            self.findings.push(finding);
            return;
        };
        let least = u32::from(!(optional || content.choice || element.attribute("nillable") == Some("true")));
        let occurs = match max {
            Some(1) if !content.repeats => {
                if least == 1 {
                    Occurs::Once
                } else {
                    Occurs::Optional
                }
            }
            max => Occurs::Many {
                min: if least == 0 {
                    0
                } else {
                    of.attribute("minOccurs").and_then(|min| min.parse().ok()).unwrap_or(1)
                },
                max: max.filter(|_| !content.repeats),
            },
        };
        match content.members.iter_mut().find(|member| member.name == name) {
            None => content.members.push(Member { name: name.to_owned(), namespace, occurs, model }),
            Some(known) if known.namespace != namespace => {
                let message = format!("`{name}` occurs in two namespaces");
                self.refuse(file, of.at, codes::NOT_HELD, message, "give both different names");
            }
            // Again in another branch, or further on.
            Some(known) if known.model == model || outline(&known.model) == outline(&model) => {
                known.occurs = match (content.choice, known.occurs, occurs) {
                    (true, Occurs::Once | Occurs::Optional, Occurs::Once | Occurs::Optional) => Occurs::Optional,
                    _ => Occurs::Many { min: 0, max: None },
                };
            }
            Some(_) => {
                let message = format!("`{name}` has two types");
                self.refuse(file, of.at, codes::NOT_HELD, message, "give both the same type, or different names");
            }
        }
    }

    /// The type of a simple type.
    fn simple(&mut self, file: usize, of: &'d XmlElement, depth: usize) -> Option<Scalar> {
        if depth > DEPTH_MAX {
            self.refuse(file, of.at, codes::ITSELF, "a type that restricts itself".to_owned(), "end the circle");
            return None;
        }
        if let Some(restriction) = of.child("restriction") {
            let base = match (restriction.attribute("base"), restriction.child("simpleType")) {
                (Some(name), _) => match self.documents.global("simpleType", name, file) {
                    Some((file, base)) => self.simple(file, base, depth + 1)?,
                    None => match built_in(local(name)) {
                        Some(scalar) => scalar,
                        None => {
                            let message = format!("there is no type `{name}`");
                            self.refuse(
                                file,
                                restriction.at,
                                codes::NO_SUCH_PART,
                                message,
                                "define it, or include its schema",
                            );
                            return None;
                        }
                    },
                },
                (None, Some(inner)) => self.simple(file, inner, depth + 1)?,
                (None, None) => Scalar::Text { chars_max: None },
            };
            return Some(self.faceted(restriction, base));
        }
        // A list is one text; of a union, text holds all.
        Some(Scalar::Text { chars_max: None })
    }

    /// A type as facets restrict it.
    fn faceted(&mut self, of: &XmlElement, base: Scalar) -> Scalar {
        let facet = |name: &str| of.child(name).and_then(|facet| facet.attribute("value"));
        let mut listed = false;
        for child in &of.children {
            // A list of values is one restriction.
            if core::mem::replace(&mut listed, child.name == "enumeration") && listed {
                continue;
            }
            if matches!(child.name.as_str(), "pattern" | "minLength" | "enumeration" | "assertion") {
                self.notes.add(&child.name, child.at);
            }
        }
        match base {
            Scalar::Text { chars_max } => {
                let values = of.children_named("enumeration").filter_map(|value| value.attribute("value"));
                let longest =
                    values.map(|value| value.chars().count()).max().and_then(|longest| u32::try_from(longest).ok());
                let said = facet("maxLength").or_else(|| facet("length")).and_then(|max| max.parse().ok());
                Scalar::Text { chars_max: said.or(longest).or(chars_max) }
            }
            Scalar::Decimal { digits, scale, signed } => {
                let fraction = facet("fractionDigits").and_then(|n| n.parse::<i16>().ok());
                let scale = fraction.map_or(scale, |fraction| fraction.clamp(0, 30));
                let total = facet("totalDigits").and_then(|n| n.parse::<u16>().ok());
                let bound = ["minInclusive", "minExclusive"].iter().find_map(|name| facet(name));
                let signed = signed && bound.is_none_or(|bound| bound.starts_with('-'));
                let high = ["maxInclusive", "maxExclusive"].iter().find_map(|name| facet(name));
                let whole = high.filter(|_| bound.is_some() && total.is_none()).map(|high| {
                    let whole =
                        high.trim_start_matches('-').split('.').next().unwrap_or_default().trim_start_matches('0');
                    u16::try_from(whole.len()).unwrap_or(38).max(1)
                });
                let digits = total.or_else(|| whole.map(|whole| whole + scale.unsigned_abs())).unwrap_or(digits);
                Scalar::Decimal { digits: digits.clamp(1, 38), scale, signed }
            }
            other => other,
        }
    }
}

/// Two models with the same names.
fn outline(model: &Model) -> Vec<String> {
    match model {
        Model::Leaf(scalar) => vec![format!("{scalar:?}")],
        Model::Group(members) => members.iter().map(|member| member.name.clone()).collect(),
    }
}

/// The first declaration whose name is no XML name.
fn misnamed(element: &XmlElement) -> Option<&XmlElement> {
    let is_name = |name: &str| {
        let inside = |c: char| {
            c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') || (!c.is_ascii() && c.is_alphanumeric())
        };
        let first = |c: char| c == '_' || c.is_alphabetic();
        name.starts_with(first) && name.chars().all(inside)
    };
    let wrong = matches!(element.name.as_str(), "element" | "attribute")
        && element.attribute("name").is_some_and(|name| !is_name(name));
    if wrong { Some(element) } else { element.children.iter().find_map(misnamed) }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// A type of XML Schema part 2.
fn built_in(name: &str) -> Option<Scalar> {
    let text = |chars_max| Some(Scalar::Text { chars_max });
    let whole = |digits, signed| Some(Scalar::Decimal { digits, scale: 0, signed });
    match name {
        "string" | "normalizedString" | "token" | "language" | "Name" | "NCName" | "NMTOKEN" | "NMTOKENS" | "ID"
        | "IDREF" | "IDREFS" | "ENTITY" | "ENTITIES" | "anyURI" | "QName" | "NOTATION" | "anySimpleType"
        | "anyAtomicType" | "anyType" | "dateTime" | "dateTimeStamp" | "time" | "duration" | "dayTimeDuration"
        | "yearMonthDuration" | "base64Binary" | "hexBinary" => text(None),
        "date" => text(Some(16)),
        "gYear" | "gYearMonth" | "gMonth" | "gMonthDay" | "gDay" => text(Some(16)),
        "boolean" => Some(Scalar::Bool),
        "decimal" => Some(Scalar::Decimal { digits: 36, scale: 12, signed: true }),
        "float" => Some(Scalar::Float32),
        "double" => Some(Scalar::Float64),
        "integer" | "nonPositiveInteger" | "negativeInteger" | "long" => whole(19, true),
        "nonNegativeInteger" | "positiveInteger" => whole(19, false),
        "unsignedLong" => whole(20, false),
        "int" => whole(10, true),
        "unsignedInt" => whole(10, false),
        "short" => whole(5, true),
        "unsignedShort" => whole(5, false),
        "byte" => whole(3, true),
        "unsignedByte" => whole(3, false),
        _ => None,
    }
}
