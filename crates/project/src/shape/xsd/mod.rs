//! XML schemas: the elements, types and attributes that determine the structure of documents.
//!
//! An attribute is a field `@name`; the text of an element that has attributes, or of mixed content, is a field `$text`.

mod counts;
mod derived;
mod limits;
mod members;
mod particles;
mod simple;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{
    Definition, DistinctFindings, Finding, Findings, NodeLimits, Occurs, Shape, ShapeBuilder, SourceLimits,
};
use quayline_dictionary::{SourceText, XmlElement};
use quayline_xml::{LeafTexts, Namespaces, Spacing, TypeNames, WhiteSpace, XmlStyle};

use crate::Schema;
use crate::shape::codes;
use crate::shape::notes::{Notes, Unchecked};
use crate::shape::reference::Reference;
use crate::shape::shape_file::{Form, ShapeFile, ShapeOptions};
use crate::shape::source_file::{SourceFile, real_path};
use members::{Content, Members};
use simple::{Simple, built_in};

/// Types inside each other.
const DEPTH_MAX: usize = 64;
/// Nodes of a shape.
const NODES_MAX: usize = 100_000;
/// Maximum number of attributes of all elements of a shape. Schemas of public authorities declare attributes for most elements.
const ATTRIBUTES_MAX: usize = 500_000;
/// Schemas that include each other.
const FILES_MAX: usize = 256;

pub(crate) fn load(reference: &Reference, _: &ShapeOptions) -> Result<ShapeFile, Findings> {
    let documents = Documents::open(&reference.path)?;
    let mut reader = Reader::new(&documents);
    let (file, root) = reader.root(reference.part.as_deref())?;
    let name = root.attribute("name").unwrap_or("document").to_owned();
    let outermost = reader.target_namespace(file);
    let model = reader.element(file, root);
    let root_types = reader.types_of(file, root);
    let findings = reader.take_findings();
    let members = match model {
        Some(Model::Group(mut members)) => {
            if let Some(text) = members.iter_mut().find(|member| member.name == "$text") {
                text.default = default_of(root);
            }
            members
        }
        Some(Model::Leaf(simple)) => vec![text_beside(simple, default_of(root))],
        None => return Err(Findings(findings)),
    };
    let mut building = Building {
        builder: Shape::builder(name.clone()),
        of_node: vec![outermost],
        leaves: LeafTexts::default(),
        limits: vec![NodeLimits::default()],
    };
    building.leaves.white_space.push(WhiteSpace::default());
    building.leaves.defaults.push(None);
    building.leaves.types.push(root_types);
    building.leaves.complex_types = documents.complex_types();
    members.into_iter().for_each(|member| building.add(member));
    let Building { builder, of_node, leaves, limits } = building;
    let limits = SourceLimits::new(Definition::XmlSchema, limits);
    let namespaces = of_node.iter().any(|of| *of != 0).then_some(Namespaces { uris: reader.uris, of_node });
    let style = XmlStyle {
        root: None,
        record: name,
        spacing: Spacing::Compact,
        namespaces,
        leaves,
        is_described: true,
        ..XmlStyle::default()
    };
    Ok(ShapeFile {
        path: reference.path.clone(),
        form: Form::Xml(style),
        schema: Arc::new(Schema::of_shape(builder.finish()).with_source_limits(limits)),
        findings,
        files: documents.files.iter().map(|document| document.path.clone()).collect(),
    })
}

/// Reads each element of a schema that has none or several, and returns what is found; `None` if it has one, which is the document's.
///
/// # Errors
/// The schema or one that it includes cannot be read.
pub(crate) fn definitions(path: &Path) -> Result<Option<Vec<Finding>>, Findings> {
    let documents = Documents::open(path)?;
    let elements: Vec<&XmlElement> =
        documents.files[0].root.children.iter().filter(|child| child.name == "element").collect();
    if elements.len() == 1 {
        return Ok(None);
    }
    let mut findings = DistinctFindings::default();
    let mut nodes = 0;
    for element in elements {
        let mut reader = Reader::new(&documents);
        reader.element(0, element);
        let size = reader.nodes + reader.attributes;
        nodes += size;
        // An element this large need not be a document: maps may use only elements inside it.
        if size > NODES_MAX {
            continue;
        }
        // A check of a schema has an end, even if each element refers to all others.
        if nodes > 100 * NODES_MAX {
            break;
        }
        reader.take_findings().into_iter().for_each(|finding| findings.push(finding));
    }
    Ok(Some(findings.into_vec()))
}

/// The shape under construction, with the XML form of each node.
struct Building {
    builder: ShapeBuilder,
    of_node: Vec<u16>,
    leaves: LeafTexts,
    limits: Vec<NodeLimits>,
}

impl Building {
    fn add(&mut self, member: Member) {
        self.of_node.push(member.namespace);
        self.leaves.types.push(member.types);
        match member.model {
            Model::Leaf(simple) => {
                self.leaves.white_space.push(simple.white_space);
                self.leaves.defaults.push(member.default.map(Into::into));
                self.limits.push(NodeLimits { value: simple.limits.boxed(), ..member.limits });
                self.builder.scalar(member.name, simple.scalar, member.occurs);
            }
            Model::Group(members) => {
                self.leaves.white_space.push(WhiteSpace::default());
                self.leaves.defaults.push(None);
                self.limits.push(member.limits);
                self.builder.open(member.name, member.occurs);
                members.into_iter().for_each(|member| self.add(member));
                self.builder.close();
            }
        }
    }
}

/// Returns the default value of a declaration.
fn default_of(declared: &XmlElement) -> Option<String> {
    declared.attribute("default").or_else(|| declared.attribute("fixed")).map(str::to_owned)
}

/// Creates the `$text` member of an element with attributes.
fn text_beside(simple: Simple, default: Option<String>) -> Member {
    let types = TypeNames::default();
    Member {
        name: "$text".to_owned(),
        namespace: 0,
        occurs: Occurs::Optional,
        limits: NodeLimits::default(),
        model: Model::Leaf(simple),
        default,
        types,
    }
}

/// Content of an element.
#[derive(Clone, Debug, PartialEq)]
enum Model {
    Leaf(Simple),
    Group(Vec<Member>),
}

#[derive(Clone, Debug, PartialEq)]
struct Member {
    name: String,
    /// Namespace number, as in [`Namespaces::of_node`].
    namespace: u16,
    occurs: Occurs,
    /// Limits apart from those of the value.
    limits: NodeLimits,
    model: Model,
    /// The value of an attribute that is missing, or of an element that is empty.
    default: Option<String>,
    /// Types for [`LeafTexts::types`].
    types: TypeNames,
}

/// A schema with those that it includes and imports.
struct Documents {
    files: Vec<Document>,
    /// Global definitions by kind and name. Each has its file and its position among the definitions of the file, in order.
    globals: HashMap<String, HashMap<String, Vec<(usize, usize)>>>,
    /// Members of the substitution group of each global element.
    members: HashMap<(usize, usize), Vec<(usize, usize)>>,
    /// Restrictions of each complex type.
    restrictions: HashMap<(usize, usize), Vec<(usize, usize)>>,
}

struct Document {
    path: PathBuf,
    /// The path in the form in which each file has one.
    real: PathBuf,
    file: SourceFile,
    root: XmlElement,
    /// Namespace of the definitions: the schema's own, or that of the schema that includes it.
    namespace: Option<String>,
}

impl Documents {
    fn open(path: &Path) -> Result<Documents, Findings> {
        let mut documents = Documents {
            files: Vec::new(),
            globals: HashMap::new(),
            members: HashMap::new(),
            restrictions: HashMap::new(),
        };
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
                let real = real_path(&path);
                if !documents.files.iter().any(|known| known.real == real) {
                    documents.add(&path, around)?;
                }
            }
            at += 1;
        }
        documents.index();
        Ok(documents)
    }

    /// Records the position of each global definition, because a search for each reference would be slow.
    fn index(&mut self) {
        let mut globals: HashMap<String, HashMap<String, Vec<(usize, usize)>>> = HashMap::new();
        let mut grouped = Vec::new();
        for (number, document) in self.files.iter().enumerate() {
            for (at, child) in document.root.children.iter().enumerate() {
                let Some(name) = child.attribute("name") else { continue };
                globals.entry(child.name.clone()).or_default().entry(name.to_owned()).or_default().push((number, at));
                let groups = child.attribute("substitutionGroup").unwrap_or_default();
                grouped.extend(groups.split_ascii_whitespace().map(|group| ((number, at), group.to_owned())));
            }
        }
        self.globals = globals;
        for (member, group) in grouped {
            if let Some(head) = self.place("element", &group, member.0) {
                self.members.entry(head).or_default().push(member);
            }
        }
        self.index_types();
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
        self.files.push(Document { path: path.to_owned(), real: real_path(path), file, root, namespace });
        Ok(())
    }

    /// Finds a global element by local name in any namespace.
    fn by_local_name(&self, name: &str) -> Option<(usize, &XmlElement)> {
        let place = *self.globals.get("element")?.get(name)?.first()?;
        Some((place.0, self.at(place)))
    }

    fn at(&self, (file, at): (usize, usize)) -> &XmlElement {
        &self.files[file].root.children[at]
    }

    /// Finds a global definition and its file by the name that a schema uses for it.
    fn global(&self, kind: &str, reference: &str, from: usize) -> Option<(usize, &XmlElement)> {
        let place = self.place(kind, reference, from)?;
        Some((place.0, self.at(place)))
    }

    fn place(&self, kind: &str, reference: &str, from: usize) -> Option<(usize, usize)> {
        let (prefix, name) = reference.split_once(':').unwrap_or(("", reference));
        let declared = &self.files[from].root.namespaces;
        let uri = declared.iter().find(|(known, _)| known == prefix).map(|(_, uri)| uri.as_str());
        if uri == Some(XSD) && self.files[from].namespace.as_deref() != uri {
            return None;
        }
        let mut found = self.globals.get(kind)?.get(name)?.iter().copied();
        match uri {
            Some(uri) => found.find(|(number, _)| self.files[*number].namespace.as_deref() == Some(uri)),
            // A schema that declares no prefixes means what there is.
            None => found.next(),
        }
    }
}

impl Documents {
    /// Returns the members of the substitution group of a global element, transitively.
    fn substitutes(&self, file: usize, head: &XmlElement) -> Vec<(usize, &XmlElement)> {
        let named = self.globals.get("element").zip(head.attribute("name")).and_then(|(all, name)| all.get(name));
        let of_file = |place: &&(usize, usize)| place.0 == file;
        let Some(head) = named.and_then(|places| places.iter().find(of_file)) else { return Vec::new() };
        let mut seen = HashSet::from([*head]);
        let (mut all, mut heads) = (Vec::new(), vec![*head]);
        while let Some(head) = heads.pop() {
            for member in self.members.get(&head).into_iter().flatten() {
                if seen.insert(*member) {
                    all.push((member.0, self.at(*member)));
                    heads.push(*member);
                }
            }
        }
        all
    }
}

/// The namespace of XML Schema itself.
const XSD: &str = "http://www.w3.org/2001/XMLSchema";

struct Reader<'d> {
    documents: &'d Documents,
    findings: DistinctFindings,
    /// Notes for each file.
    notes: Vec<Notes>,
    /// Types and elements that are being read.
    open: Vec<(&'d str, String)>,
    nodes: usize,
    attributes: usize,
    /// Namespaces that were met.
    uris: Vec<String>,
    /// Types found so far, with the types that may replace them.
    types: HashMap<(usize, usize), TypeNames>,
}

impl<'d> Reader<'d> {
    fn new(documents: &'d Documents) -> Reader<'d> {
        Reader {
            documents,
            findings: DistinctFindings::default(),
            notes: documents.files.iter().map(|_| Notes::default()).collect(),
            open: Vec::new(),
            nodes: 0,
            attributes: 0,
            uris: Vec::new(),
            types: HashMap::new(),
        }
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        let mut findings = core::mem::take(&mut self.findings).into_vec();
        for (notes, document) in core::mem::take(&mut self.notes).into_iter().zip(&self.documents.files) {
            findings.extend(notes.findings(&document.file));
        }
        findings
    }

    fn refuse(&mut self, file: usize, at: usize, code: quayline_core::Code, message: String, hint: &str) {
        let finding = self.documents.files[file].file.error(code, at, message).hint(hint);
        self.findings.push(finding);
    }

    /// Records a construct that is not checked.
    fn note(&mut self, file: usize, word: &str, at: usize) {
        self.notes[file].add(word, Unchecked::All, at);
    }

    /// Returns the number of a schema's target namespace.
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

    /// Returns the namespace of a locally declared element or attribute.
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

    /// Returns the content of a named element; `None` if it was refused or contains itself.
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
                self.note(file, "an element without a type", element.at);
                Some(Model::Leaf(Simple::text(None)))
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
            Some(simple) => Some(Model::Leaf(simple)),
            None => {
                let hint = "define it, or include the schema that does from a file next to this one";
                self.refuse(file, from.at, codes::NO_SUCH_PART, format!("there is no type `{name}`"), hint);
                None
            }
        }
    }

    fn complex(&mut self, file: usize, of: &'d XmlElement) -> Option<Model> {
        if let Some(simple) = of.child("simpleContent") {
            let derived =
                simple.children.iter().find(|child| matches!(child.name.as_str(), "extension" | "restriction"))?;
            let base = derived.attribute("base").unwrap_or("string");
            let text = self.simple_base(file, derived, base)?;
            let mut attributes = Members::from(text.1);
            self.attributes(file, derived, &mut attributes);
            let mut attributes = attributes.into_vec();
            if attributes.is_empty() {
                return Some(Model::Leaf(text.0));
            }
            attributes.push(text_beside(text.0, None));
            return Some(Model::Group(attributes));
        }
        let mut members = Members::default();
        let mut mixed = of.is_true("mixed");
        let mut holder = of;
        if let Some(content) = of.child("complexContent") {
            mixed |= content.is_true("mixed");
            let derived =
                content.children.iter().find(|child| matches!(child.name.as_str(), "extension" | "restriction"))?;
            let base = derived.attribute("base").unwrap_or_default();
            if derived.name == "extension" {
                match self.named_type(file, derived, base)? {
                    Model::Group(base) => members = base.into(),
                    Model::Leaf(_) => {
                        let hint = "extend a simple type by simpleContent";
                        self.refuse(file, derived.at, codes::NOT_HELD, format!("`{base}` is a simple type"), hint);
                        return None;
                    }
                }
            }
            if derived.name == "restriction" {
                self.inherited(file, base, &mut members, 0);
            }
            holder = derived;
        }
        self.attributes(file, holder, &mut members);
        let mut content = Content::of(members);
        for child in &holder.children {
            self.particle(file, child, &mut content);
        }
        let mut members = content.into_members();
        // Attributes first, whatever they were inherited behind.
        members.sort_by_key(|member| !member.name.starts_with('@'));
        if mixed && !members.iter().any(|member| member.name == "$text") {
            members.push(text_beside(Simple::text(None), None));
        }
        Some(Model::Group(members))
    }

    /// Returns a simple type as the base of another, with its attributes if it is a complex type with simple content.
    fn simple_base(&mut self, file: usize, derived: &'d XmlElement, base: &str) -> Option<(Simple, Vec<Member>)> {
        let (simple, attributes) = match self.named_type(file, derived, base)? {
            Model::Leaf(simple) => (simple, Vec::new()),
            Model::Group(mut members) => {
                let text = members.iter().position(|member| member.name == "$text")?;
                match members.remove(text).model {
                    Model::Leaf(simple) => (simple, members),
                    Model::Group(_) => return None,
                }
            }
        };
        Some((self.faceted(file, derived, simple), attributes))
    }

    /// Adds the attributes of a restricted type: a restriction repeats the content, but only the attributes that change.
    fn inherited(&mut self, file: usize, base: &str, members: &mut Members, depth: usize) {
        let Some((file, of)) = self.documents.global("complexType", base, file).filter(|_| depth < DEPTH_MAX) else {
            return;
        };
        let mut holder = of;
        if let Some(content) = of.child("complexContent") {
            let is_derived = |child: &&XmlElement| matches!(child.name.as_str(), "extension" | "restriction");
            let Some(derived) = content.children.iter().find(is_derived) else { return };
            self.inherited(file, derived.attribute("base").unwrap_or_default(), members, depth + 1);
            holder = derived;
        }
        self.attributes(file, holder, members);
    }

    fn attributes(&mut self, file: usize, of: &'d XmlElement, members: &mut Members) {
        for child in &of.children {
            match child.name.as_str() {
                "attribute" => self.attribute(file, child, members),
                "attributeGroup" => {
                    let name = child.attribute("ref").unwrap_or_default();
                    match self.documents.global("attributeGroup", name, file) {
                        Some((of_file, group)) => {
                            if self.enters("attributeGroup", of_file, name, file, child.at) {
                                self.attributes(of_file, group, members);
                                self.open.pop();
                            }
                        }
                        None => {
                            let message = format!("the schema does not define the group of attributes `{name}`");
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
                "anyAttribute" => self.note(file, "anyAttribute", child.at),
                _ => {}
            }
        }
    }

    /// Opens a group, unless it is open already or lies too deep, which is reported.
    fn enters(&mut self, kind: &'d str, of_file: usize, name: &str, file: usize, at: usize) -> bool {
        let key = (kind, format!("{of_file} {}", local(name)));
        // If an element of a group refers to the group again, the element contains itself. Quayline leaves it out at that point.
        let is_inside = |(kind, _): &&(&str, String)| matches!(*kind, "group" | "attributeGroup");
        let is_circle = self.open.iter().rev().take_while(is_inside).any(|open| *open == key);
        // Groups without elements may refer to each other twice at each level, which doubles the work.
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            if self.nodes == NODES_MAX + 1 {
                let message = format!("the schema has more than {NODES_MAX} elements and groups");
                self.refuse(file, at, codes::NOT_HELD, message, "name the element that you need: \"x.xsd#name\"");
            }
            return false;
        }
        // Elements stop at their own limit on depth, so the remaining depth is for groups.
        if !is_circle && self.open.len() < 2 * DEPTH_MAX {
            self.open.push(key);
            return true;
        }
        let name = local(name);
        let message = match is_circle {
            true => format!("the group `{name}` contains itself"),
            false => format!("the groups at `{name}` are nested more than {DEPTH_MAX} deep"),
        };
        self.refuse(file, at, codes::ITSELF, message, "a shape is finite: end the circle");
        false
    }

    fn attribute(&mut self, file: usize, of: &'d XmlElement, members: &mut Members) {
        self.attributes += 1;
        if self.attributes > ATTRIBUTES_MAX {
            if self.attributes == ATTRIBUTES_MAX + 1 {
                let message = format!("the schema has more than {ATTRIBUTES_MAX} attributes");
                self.refuse(file, of.at, codes::NOT_HELD, message, "name the element that you need: \"x.xsd#name\"");
            }
            return;
        }
        let required = of.attribute("use") == Some("required");
        if of.attribute("use") == Some("prohibited") {
            let name = of.attribute("name").or_else(|| of.attribute("ref").map(local));
            let name = format!("@{}", name.unwrap_or_default());
            members.remove(&name);
            return;
        }
        let mut default = default_of(of);
        let (name, namespace, simple) = match of.attribute("ref") {
            // The attributes of XML itself, such as xml:lang.
            Some(reference) if reference.starts_with("xml:") => {
                (local(reference).to_owned(), Namespaces::OF_XML, Some(Simple::text(None)))
            }
            Some(reference) => match self.documents.global("attribute", reference, file) {
                Some((file, global)) => {
                    default = default.or_else(|| default_of(global));
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
        let Some(simple) = simple else { return };
        if of.attribute("fixed").is_some() {
            self.note(file, "fixed", of.at);
        }
        let name = format!("@{name}");
        if required {
            // A document without it is wrong, so the value is not added.
            default = None;
        }
        if members.get(&name).is_some_and(|member| member.namespace != namespace) {
            let message =
                format!("attributes `{name}` of two namespaces: Quayline reads only the one that is declared here");
            let hint = "a shape has one attribute of each name: remove the other from documents, or rename it in a copy of the schema";
            let finding = self.documents.files[file].file.warning(codes::NOT_HELD, of.at, message).hint(hint);
            self.findings.push(finding);
        }
        members.remove(&name);
        let occurs = if required { Occurs::Once } else { Occurs::Optional };
        members.push(Member {
            name,
            namespace,
            occurs,
            limits: NodeLimits { required, ..NodeLimits::default() },
            model: Model::Leaf(simple),
            default,
            types: TypeNames::default(),
        });
    }

    fn attribute_type(&mut self, file: usize, of: &'d XmlElement) -> Option<Simple> {
        match (of.attribute("type"), of.child("simpleType")) {
            (Some(name), _) => match self.named_type(file, of, name)? {
                Model::Leaf(simple) => Some(simple),
                Model::Group(_) => None,
            },
            (None, Some(simple)) => self.simple(file, simple, 0),
            (None, None) => Some(Simple::text(None)),
        }
    }
}

/// Returns the first declaration whose name is not an XML name.
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
