//! Schemas to a model of documents: references followed, `allOf` merged, alternatives put together.

use core::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use quayline_core::{DistinctFindings, Finding, Findings, Scalar, Severity, ValueLimits};

use super::beside;
use super::limits;
use super::tree::{DOUBLED, Json, JsonKind};
use super::types::{is_decimal, narrower, number_of, text_of, types_of, wider};
use crate::shape::codes;
use crate::shape::notes::{Notes, Unchecked};
use crate::shape::source_file::{SourceFile, real_path};

/// References and schemas inside each other.
const DEPTH_MAX: usize = 64;
/// Schemas that are read, with those that references lead to again: definitions that refer to others twice multiply.
const SCHEMAS_MAX: usize = 500_000;
/// Parts of one schema that only restrict its value.
const PARTS_MAX: usize = 1000;

/// Model of a value: the documents that a schema allows at one place.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) at: usize,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
    /// Names of members that must be there, whichever part describes them.
    required: Vec<Required>,
    /// True if members that the schema does not name are not allowed.
    closed: bool,
    /// True if an alternative allows any value here. The limits of the model and of its members then do not apply to sources.
    pub(crate) unlimited: bool,
}

/// Name in `required`, with its place.
#[derive(Clone, Debug)]
struct Required {
    name: String,
    document: usize,
    at: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Object(Vec<Member>),
    Array { items: Box<Model>, min: u32, max: Option<u32> },
    Scalar(Scalar, ValueLimits),
}

#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) required: bool,
    pub(crate) model: Model,
}

/// The files of a schema: the one that was named, and those that it refers to.
pub(crate) struct Documents {
    files: RefCell<Vec<std::rc::Rc<Document>>>,
}

struct Document {
    path: PathBuf,
    /// The path in the form in which each file has one.
    real: PathBuf,
    file: SourceFile,
    root: Json,
}

impl Document {
    /// Finds a definition by JSON pointer or anchor.
    fn find(&self, pointer: &str) -> Option<&Json> {
        pointed(&self.root, pointer).or_else(|| anchored(&self.root, pointer))
    }
}

impl Documents {
    pub(crate) fn new(path: &Path, file: SourceFile) -> Result<Documents, Findings> {
        let first = parse(path, file)?;
        Ok(Documents { files: RefCell::new(vec![std::rc::Rc::new(first)]) })
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.files.borrow().iter().map(|document| document.path.clone()).collect()
    }

    fn open(&self, path: &Path) -> Result<usize, Findings> {
        let real = real_path(path);
        if let Some(known) = self.files.borrow().iter().position(|document| document.real == real) {
            return Ok(known);
        }
        let document = parse(path, SourceFile::read(path)?)?;
        self.files.borrow_mut().push(std::rc::Rc::new(document));
        Ok(self.files.borrow().len() - 1)
    }

    fn get(&self, index: usize) -> std::rc::Rc<Document> {
        std::rc::Rc::clone(&self.files.borrow()[index])
    }
}

fn parse(path: &Path, file: SourceFile) -> Result<Document, Findings> {
    let root = Json::parse(&file.text.text).map_err(|(at, what)| {
        let hint = if what == DOUBLED { "programs differ in which they use: keep one" } else { "the file is not JSON" };
        file.error(codes::SYNTAX, at, what).hint(hint)
    })?;
    Ok(Document { path: path.to_owned(), real: real_path(path), file, root })
}

/// Reads schemas.
pub(crate) struct Reader<'d> {
    documents: &'d Documents,
    findings: Vec<Finding>,
    notes: Vec<(usize, Notes)>,
    /// References that are being followed.
    open: Vec<(usize, String)>,
    depth: usize,
    /// Schemas that were read, each as often as something refers to it.
    count: usize,
}

/// Keywords whose members are definitions.
const TABLES: [&str; 2] = ["$defs", "definitions"];

/// Supported keywords, including those that have no effect on the structure of documents.
const KNOWN: &[&str] = &[
    "$schema",
    "$id",
    "id",
    "$defs",
    "definitions",
    "$comment",
    "$anchor",
    "$vocabulary",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "type",
    "properties",
    "required",
    "items",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "$ref",
    "allOf",
    "oneOf",
    "anyOf",
    "nullable",
    "additionalProperties",
    "unevaluatedProperties",
    "contentEncoding",
    "contentMediaType",
    "prefixItems",
    "additionalItems",
    "discriminator",
    "xml",
];

/// Keywords that have an effect next to `$ref`.
const HAVE_EFFECT: &[&str] = &[
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "format",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "allOf",
    "oneOf",
    "anyOf",
    "nullable",
    "additionalProperties",
];

/// Keywords that affect the form of documents in a way that a shape cannot represent.
const REFUSED: &[&str] = &["patternProperties", "$dynamicRef", "$recursiveRef"];

impl<'d> Reader<'d> {
    pub(crate) fn new(documents: &'d Documents) -> Self {
        Reader { documents, findings: Vec::new(), notes: Vec::new(), open: Vec::new(), depth: 0, count: 0 }
    }

    /// Returns all findings.
    pub(crate) fn findings(&mut self) -> Vec<Finding> {
        let mut distinct = DistinctFindings::default();
        distinct.extend(core::mem::take(&mut self.findings));
        let mut findings = distinct.into_vec();
        for (document, notes) in core::mem::take(&mut self.notes) {
            findings.extend(notes.findings(&self.documents.get(document).file));
        }
        findings
    }

    /// Returns the number of parts that were read.
    pub(crate) fn parts(&self) -> usize {
        self.count
    }

    /// Returns the names of the definitions of a schema that has nothing else; `None` for other schemas.
    pub(crate) fn definitions(&self) -> Option<Vec<String>> {
        const ASIDE: [&str; 7] = ["$schema", "$id", "id", "$comment", "$vocabulary", "title", "description"];
        let document = self.documents.get(0);
        let (tables, others): (Vec<&(String, Json)>, Vec<_>) =
            document.root.members().iter().partition(|(name, _)| TABLES.contains(&name.as_str()));
        let is_alone = others.iter().all(|(name, _)| ASIDE.contains(&name.as_str()));
        let names = tables.iter().flat_map(|(_, table)| table.members()).map(|(name, _)| name.clone());
        (is_alone && !tables.is_empty()).then(|| names.collect())
    }

    /// Returns the schema of the documents: the file's root, or one of its definitions.
    pub(crate) fn root(&mut self, part: Option<&str>) -> Option<Model> {
        let document = self.documents.get(0);
        let Some(part) = part else {
            self.open.push((0, String::new()));
            return self.schema(0, &document.root);
        };
        let found = if part.starts_with('/') {
            pointed(&document.root, part)
        } else {
            TABLES.iter().find_map(|table| document.root.get(table)?.get(part))
        };
        match found {
            Some(schema) => self.schema(0, schema),
            None => {
                let known: Vec<&str> = TABLES
                    .iter()
                    .filter_map(|table| document.root.get(table))
                    .flat_map(|table| table.members().iter().map(|(name, _)| name.as_str()))
                    .collect();
                let hint = if known.is_empty() {
                    "it defines none".to_owned()
                } else {
                    format!("it defines {}", known.join(", "))
                };
                let finding =
                    document.file.error(codes::NO_SUCH_PART, 0, format!("the schema has no definition `{part}`"));
                self.findings.push(finding.hint(hint));
                None
            }
        }
    }

    fn refuse(&mut self, document: usize, at: usize, message: impl Into<String>, hint: &str) {
        let finding = self.documents.get(document).file.error(codes::NOT_HELD, at, message).hint(hint);
        self.findings.push(finding);
    }

    fn note(&mut self, document: usize, word: &str, at: usize) {
        self.unchecked(document, word, Unchecked::All, at);
    }

    fn unchecked(&mut self, document: usize, word: &str, unchecked: Unchecked, at: usize) {
        let known = self.notes.iter().position(|(of, _)| *of == document);
        let index = known.unwrap_or_else(|| {
            self.notes.push((document, Notes::default()));
            self.notes.len() - 1
        });
        self.notes[index].1.add(word, unchecked, at);
    }

    fn schema(&mut self, document: usize, schema: &Json) -> Option<Model> {
        self.count += 1;
        if self.count > SCHEMAS_MAX {
            if self.count == SCHEMAS_MAX + 1 {
                let message = format!("the schema has more than {SCHEMAS_MAX} parts");
                let finding = self.documents.get(document).file.error(codes::ITSELF, schema.at, message);
                self.findings.push(finding.hint("a part counts as often as references lead to it; refer to fewer"));
            }
            return None;
        }
        if self.depth >= DEPTH_MAX {
            let finding = self.documents.get(document).file.error(codes::ITSELF, schema.at, "schemas lie too deep");
            self.findings.push(finding.hint(format!("at most {DEPTH_MAX}, references included")));
            return None;
        }
        self.depth += 1;
        let model = self.one(document, schema);
        self.depth -= 1;
        model
    }

    fn one(&mut self, document: usize, schema: &Json) -> Option<Model> {
        if let Some(allowed) = schema.bool() {
            let what = if allowed { "any value at all is allowed here" } else { "no value is allowed here" };
            self.refuse(document, schema.at, what, "say its type");
            return None;
        }
        let mut drafts = Vec::new();
        let mut required = names_required(document, schema);
        // Parts that restrict the value and do not say its type.
        let mut restrictions = Vec::new();
        if let Some(reference) = schema.get("$ref") {
            self.beside_reference(document, schema);
            if !self.refers_to_restrictions(document, reference, &mut restrictions) {
                drafts.push((self.follow(document, reference)?, false));
            }
        }
        for part in schema.get("allOf").map(Json::items).unwrap_or_default() {
            if !self.restricts(document, part, &mut restrictions) {
                drafts.push((self.schema(document, part)?, allows_null(part)));
            }
        }
        for (document, part) in &restrictions {
            required.extend(names_required(*document, part));
            self.unknown(*document, part);
        }
        for word in ["oneOf", "anyOf"] {
            let of = |branches: &Json| alternatives(schema).is_some_and(|used| core::ptr::eq(used, branches.items()));
            if let Some(unused) = schema.get(word).filter(|branches| !of(branches)) {
                self.note(document, word, unused.at);
            }
        }
        if let Some(branches) = alternatives(schema) {
            drafts.push((self.union(document, schema, branches)?, false));
        }
        self.unknown(document, schema);
        if says_a_type(schema) {
            // Alternatives may say what a list holds.
            let list = drafts.iter().find_map(|(draft, _)| draft.as_list(document, schema));
            let own = match list {
                Some(list) => list,
                None => self.own(document, schema)?,
            };
            drafts.push((own, allows_null(schema)));
        }
        // A part without a type does not say that null is not allowed.
        if drafts.iter().any(|(_, open)| !open) {
            drafts.iter_mut().for_each(|(model, open)| model.nullable |= *open);
        }
        let mut drafts = drafts.into_iter().map(|(model, _)| model);
        let Some(mut model) = drafts.next() else {
            self.refuse(document, schema.at, "the schema does not say what this is", "say its type");
            return None;
        };
        for next in drafts {
            model = self.merge(document, model, next)?;
        }
        if !says_a_type(schema) {
            model.kind = limits::restricted(model.kind, schema);
        }
        for (_, part) in &restrictions {
            model.kind = limits::restricted(model.kind, part);
        }
        model.at = schema.at;
        model.required.extend(required);
        model.require();
        model.nullable |= schema.get("nullable").and_then(Json::bool) == Some(true);
        Some(model)
    }

    /// Collects the parts of a schema that restricts a value and does not say its type. Returns false if the schema says it.
    fn restricts(&mut self, document: usize, schema: &Json, parts: &mut Vec<(usize, Json)>) -> bool {
        if let Some(allowed) = schema.bool() {
            return allowed;
        }
        if self.depth >= DEPTH_MAX || parts.len() >= PARTS_MAX || says_a_type(schema) || alternatives(schema).is_some()
        {
            return false;
        }
        let known = parts.len();
        self.depth += 1;
        let inner = schema.get("allOf").map(Json::items).unwrap_or_default();
        let restricts =
            schema.get("$ref").is_none_or(|reference| self.refers_to_restrictions(document, reference, parts))
                && inner.iter().all(|part| self.restricts(document, part, parts));
        self.depth -= 1;
        match restricts {
            true => parts.push((document, schema.clone())),
            false => parts.truncate(known),
        }
        restricts
    }

    /// Collects the parts of the definition that a reference names, as [`Reader::restricts`] does.
    fn refers_to_restrictions(&mut self, document: usize, reference: &Json, parts: &mut Vec<(usize, Json)>) -> bool {
        let Some((index, pointer)) = self.target(document, reference) else { return false };
        let there = self.documents.get(index);
        let Some(schema) = there.find(&pointer) else { return false };
        self.open.push((index, pointer));
        let restricts = self.restricts(index, schema, parts);
        self.open.pop();
        restricts
    }

    /// Reports keywords next to `$ref` in a draft that ignores them.
    fn beside_reference(&mut self, document: usize, schema: &Json) {
        let Some((word, value)) = schema.members().iter().find(|(word, _)| HAVE_EFFECT.contains(&word.as_str())) else {
            return;
        };
        let own = self.documents.get(document);
        let draft = own.root.get("$schema").and_then(Json::text).unwrap_or_default();
        if ["draft-04", "draft-06", "draft-07"].iter().any(|old| draft.contains(old)) {
            let message = format!("`{word}` next to `$ref` applies here, although drafts 4 to 7 ignore it");
            self.noted(document, value.at, message, "remove it, or write both as parts of `allOf`");
        }
    }

    /// Reports names in `required` that no part of the schema describes.
    pub(crate) fn check_required(&mut self, model: &Model) {
        match &model.kind {
            Kind::Object(members) => {
                let known: HashSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
                for missing in model.required.iter().filter(|required| !known.contains(required.name.as_str())) {
                    let message =
                        format!("`required` names `{}`, which has no definition: it is not checked", missing.name);
                    let hint = "describe it in `properties`; otherwise, documents that have it are refused unless unknown members are ignored";
                    self.noted(missing.document, missing.at, message, hint);
                }
                members.iter().for_each(|member| self.check_required(&member.model));
            }
            Kind::Array { items, .. } => self.check_required(items),
            Kind::Scalar(..) => {}
        }
    }

    /// Reports the limits of the array that holds all documents, because the documents are a stream.
    pub(crate) fn check_root(&mut self, at: usize, min: u32, max: Option<u32>) {
        let words = [("minItems", min > 0), ("maxItems", max.is_some())];
        for (word, _) in words.iter().filter(|(_, is_limited)| *is_limited) {
            self.note(0, &format!("{word} of the array of documents"), at);
        }
    }

    fn noted(&mut self, document: usize, at: usize, message: String, hint: &str) {
        let mut finding = self.documents.get(document).file.warning(codes::NOT_CHECKED, at, message).hint(hint);
        finding.severity = Severity::Note;
        self.findings.push(finding);
    }

    /// Reports keywords that have no effect here, and refuses unsupported ones that would have one.
    fn unknown(&mut self, document: usize, schema: &Json) {
        for (word, value) in schema.members() {
            if REFUSED.contains(&word.as_str()) {
                self.refuse(
                    document,
                    value.at,
                    format!("`{word}`: members without names of their own"),
                    "list them as `properties`",
                );
            } else if !KNOWN.contains(&word.as_str()) && !word.starts_with("x-") {
                self.note(document, word, value.at);
            }
        }
    }

    fn follow(&mut self, document: usize, reference: &Json) -> Option<Model> {
        let (index, pointer) = self.target(document, reference)?;
        let there = self.documents.get(index);
        let schema = there.find(&pointer)?;
        self.open.push((index, pointer));
        let model = self.schema(index, schema);
        self.open.pop();
        model
    }

    /// Returns the file and the place of the definition that a reference names.
    fn target(&mut self, document: usize, reference: &Json) -> Option<(usize, String)> {
        let Some(target) = reference.text() else {
            self.refuse(
                document,
                reference.at,
                "`$ref` is not a text",
                "write the place of the definition: \"#/$defs/Name\"",
            );
            return None;
        };
        let own = self.documents.get(document);
        let (file, pointer) = target.split_once('#').unwrap_or((target, ""));
        let index = if file.is_empty() {
            document
        } else if file.contains("://") {
            let hint = "Quayline downloads nothing: put a copy next to the schema, and refer to its file";
            self.refuse(document, reference.at, format!("a schema on the network: {file}"), hint);
            return None;
        } else {
            match self.documents.open(&beside(&own.path, file)) {
                Ok(index) => index,
                Err(Findings(mut found)) => {
                    found.iter_mut().for_each(|finding| finding.message = format!("`{target}`: {}", finding.message));
                    self.findings.extend(found);
                    return None;
                }
            }
        };
        let key = (index, pointer.to_owned());
        if self.open.contains(&key) {
            let finding = own.file.error(codes::ITSELF, reference.at, format!("`{target}` contains itself"));
            self.findings.push(finding.hint("a shape is finite: write down as many levels as documents have"));
            return None;
        }
        if self.documents.get(index).find(pointer).is_none() {
            let finding =
                own.file.error(codes::NO_SUCH_PART, reference.at, format!("the schema does not define `{target}`"));
            self.findings.push(finding.hint("check its spelling: `#/$defs/Name` or `#/definitions/Name`"));
            return None;
        }
        Some(key)
    }

    /// Combines `oneOf` and `anyOf`. Objects become one object with the members of all branches, mandatory only if mandatory in all. Values become one
    /// type that holds all of them.
    fn union(&mut self, document: usize, schema: &Json, branches: &[Json]) -> Option<Model> {
        let at = schema.at;
        let mut nullable = false;
        let mut models = Vec::new();
        for branch in branches.iter().filter(|branch| shares_a_type(schema, branch)) {
            if branch.get("type").and_then(Json::text) == Some("null") {
                nullable = true;
            } else if let Some(items) = schema.get("items").filter(|_| is_bare_list(branch)) {
                // The schema around the alternatives says what the list holds.
                let items = Box::new(self.schema(document, items)?);
                let kind = Kind::Array { items, min: 0, max: None };
                let list = Model { at, kind, nullable: false, required: Vec::new(), closed: false, unlimited: false };
                models.extend(list.as_list(document, branch));
            } else {
                models.push(self.schema(document, branch)?);
            }
        }
        let mut models = models.into_iter();
        let Some(mut model) = models.next() else {
            if nullable || branches.is_empty() {
                self.refuse(document, at, "alternatives of which none is a value", "say what it may be");
            } else {
                let hint = "no value fits: correct the type or the alternatives";
                self.refuse(document, at, "alternatives of which none has the type of the schema", hint);
            }
            return None;
        };
        for next in models {
            model = self.either(document, at, model, next)?;
        }
        model.nullable |= nullable;
        Some(model)
    }

    fn either(&mut self, document: usize, at: usize, a: Model, b: Model) -> Option<Model> {
        let nullable = a.nullable || b.nullable;
        let is_required = |of: &Required| b.required.iter().any(|other| other.name == of.name);
        let required = a.required.into_iter().filter(is_required).collect();
        let kind = match (a.kind, b.kind) {
            (Kind::Object(mut all), Kind::Object(others)) => {
                for member in &mut all {
                    let other = others.iter().find(|other| other.name == member.name);
                    member.required &= other.is_some_and(|other| other.required);
                    // An alternative that does not name the member allows any value of it.
                    member.model.unlimited |= other.is_none() && !b.closed;
                }
                for mut other in others {
                    match all.iter().position(|member| member.name == other.name) {
                        Some(known) => {
                            let member = all.remove(known);
                            let required = member.required && other.required;
                            let model = self.either(document, at, member.model, other.model)?;
                            all.insert(known, Member { name: other.name, required, model });
                        }
                        None => {
                            other.model.unlimited |= !a.closed;
                            all.push(Member { required: false, ..other });
                        }
                    }
                }
                Kind::Object(all)
            }
            (Kind::Array { items, min, max }, Kind::Array { items: others, min: less, max: more }) => {
                let items = self.either(document, at, *items, *others)?;
                let max = max.zip(more).map(|(a, b)| a.max(b));
                Kind::Array { items: Box::new(items), min: min.min(less), max }
            }
            (Kind::Scalar(a, limits), Kind::Scalar(b, others)) => match wider(&a, &b) {
                Some(scalar) => {
                    let is_number = |scalar: &Scalar| matches!(scalar, Scalar::Decimal { .. });
                    if is_number(&a) != is_number(&b) {
                        self.only_text(document, at, "alternatives of text and numbers are text here");
                    }
                    Kind::Scalar(scalar, limits.wider(others))
                }
                None => {
                    self.refuse(document, at, "alternatives of types that no field holds both", "choose one of them");
                    return None;
                }
            },
            _ => {
                let hint = "a node is a value, an object or a list; describe the one that your partner sends";
                self.refuse(document, at, "alternatives of which one is a value and another an object or list", hint);
                return None;
            }
        };
        let (closed, unlimited) = (a.closed && b.closed, a.unlimited || b.unlimited);
        Some(Model { at, kind, nullable, required, closed, unlimited })
    }

    /// Combines two schemas that must both hold.
    fn merge(&mut self, document: usize, mut a: Model, mut b: Model) -> Option<Model> {
        let (closed, unlimited) = (a.closed || b.closed, a.unlimited && b.unlimited);
        if a.unlimited != b.unlimited {
            // Only the limits of the other apply.
            if a.unlimited { a.free() } else { b.free() }
        }
        let at = b.at;
        let nullable = a.nullable && b.nullable;
        let mut required = a.required;
        required.extend(b.required);
        let kind = match (a.kind, b.kind) {
            (Kind::Object(mut all), Kind::Object(others)) => {
                for other in others {
                    match all.iter().position(|member| member.name == other.name) {
                        Some(known) => {
                            let member = all.remove(known);
                            let required = member.required || other.required;
                            let model = self.merge(document, member.model, other.model)?;
                            all.insert(known, Member { name: other.name, required, model });
                        }
                        None => all.push(other),
                    }
                }
                Kind::Object(all)
            }
            (Kind::Array { items, min, max }, Kind::Array { items: others, min: more, max: less }) => {
                let items = self.merge(document, *items, *others)?;
                let max = match (max, less) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                Kind::Array { items: Box::new(items), min: min.max(more), max }
            }
            (Kind::Scalar(a, limits), Kind::Scalar(b, others)) => match narrower(&a, &b) {
                Some(scalar) => Kind::Scalar(scalar, limits.narrower(others)),
                None => {
                    self.contradiction(document, at);
                    return None;
                }
            },
            _ => {
                self.contradiction(document, at);
                return None;
            }
        };
        let mut model = Model { at, kind, nullable, required, closed, unlimited };
        model.require();
        Some(model)
    }

    /// Reports that a value that may be text or a number is read as text, so that numbers are refused.
    fn only_text(&mut self, document: usize, at: usize, message: impl Into<String>) {
        let finding = self.documents.get(document).file.warning(codes::NOT_HELD, at, message);
        let hint = "a document with a number there is refused when it is read (JSON-012): choose one type";
        self.findings.push(finding.hint(hint));
    }

    fn contradiction(&mut self, document: usize, at: usize) {
        let finding = self.documents.get(document).file.error(
            codes::CONTRADICTORY,
            at,
            "the parts of `allOf` are of different types",
        );
        self.findings.push(finding.hint("no value fits them all: correct one"));
    }

    /// Returns the model of a schema without its references and combinations.
    fn own(&mut self, document: usize, schema: &Json) -> Option<Model> {
        let (types, nullable) = types_of(schema);
        let kind = match types.as_slice() {
            ["object"] => Kind::Object(self.members(document, schema)?),
            ["array"] => self.array(document, schema)?,
            ["boolean"] => Kind::Scalar(Scalar::Bool, ValueLimits::default()),
            ["string"] => Kind::Scalar(text_of(schema), limits::of_text(schema)),
            ["integer"] | ["number"] | ["number", "integer"] | ["integer", "number"] => {
                let integer = types == ["integer"];
                if let Some(step) = schema.get("multipleOf").filter(|step| !step.number().is_some_and(is_decimal)) {
                    self.unchecked(document, "multipleOf", Unchecked::ButDecimals, step.at);
                }
                Kind::Scalar(number_of(schema, integer), limits::of_number(schema, integer))
            }
            [] => {
                self.refuse(document, schema.at, "nothing but null is allowed here", "say what it may be");
                return None;
            }
            several if several.iter().all(|of| matches!(*of, "string" | "integer" | "number")) => {
                let message = format!("a value that may be {} is text here", several.join(" or "));
                self.only_text(document, schema.at, message);
                Kind::Scalar(text_of(schema), limits::of_text(schema))
            }
            several => {
                let message = format!("a value that may be {}", several.join(" or "));
                self.refuse(document, schema.at, message, "no field holds them all: choose one type");
                return None;
            }
        };
        let is_closed = |word: &str| schema.get(word).and_then(Json::bool) == Some(false);
        let closed = is_closed("additionalProperties") || is_closed("unevaluatedProperties");
        let required = names_required(document, schema);
        let mut model = Model { at: schema.at, kind, nullable, required, closed, unlimited: false };
        model.require();
        Some(model)
    }

    fn members(&mut self, document: usize, schema: &Json) -> Option<Vec<Member>> {
        let mut members: Vec<Member> = Vec::new();
        let mut whole = true;
        for (name, value) in schema.get("properties").map(Json::members).unwrap_or_default() {
            if value.bool() == Some(false) {
                continue;
            }
            match self.schema(document, value) {
                Some(model) => members.push(Member { name: name.clone(), required: false, model }),
                None => whole = false,
            }
        }
        if let Some(more) = schema.get("additionalProperties")
            && matches!(more.kind, JsonKind::Object(_))
        {
            let hint = "a shape has members with names; list them as `properties`";
            self.refuse(document, more.at, "an object with members of any name", hint);
            whole = false;
        }
        whole.then_some(members)
    }

    fn array(&mut self, document: usize, schema: &Json) -> Option<Kind> {
        let tuple = schema
            .get("prefixItems")
            .or_else(|| schema.get("items").filter(|items| matches!(items.kind, JsonKind::Array(_))));
        if let Some(tuple) = tuple {
            self.refuse(document, tuple.at, "a list whose places differ in meaning", "describe it as an object");
            return None;
        }
        let Some(items) = schema.get("items") else {
            self.refuse(document, schema.at, "the schema does not say what the list holds", "say it: \"items\": { … }");
            return None;
        };
        let items = self.schema(document, items)?;
        match items.kind {
            Kind::Object(_) if items.nullable => {
                let file = &self.documents.get(document).file;
                let finding =
                    file.warning(codes::NOT_HELD, items.at, "a list of objects or null is a list of objects here");
                let hint = "a document with null in the list is refused when it is read (JSON-012): have the sender omit null items";
                self.findings.push(finding.hint(hint));
            }
            _ => {}
        }
        Some(list_of(schema, items))
    }
}

fn list_of(schema: &Json, items: Model) -> Kind {
    let count = |name: &str| schema.get(name).and_then(Json::count);
    Kind::Array { items: Box::new(items), min: count("minItems").unwrap_or(0), max: count("maxItems") }
}

/// Returns whether a schema says that a value is a list, and not what the list holds.
fn is_bare_list(schema: &Json) -> bool {
    let elsewhere = ["items", "prefixItems", "$ref", "allOf", "oneOf", "anyOf"];
    types_of(schema).0 == ["array"] && elsewhere.iter().all(|word| schema.get(word).is_none())
}

impl Model {
    /// Returns the model of a schema of a list that leaves its items to this model, another part of the same schema.
    fn as_list(&self, document: usize, schema: &Json) -> Option<Model> {
        let Kind::Array { items, .. } = &self.kind else { return None };
        let (types, nullable) = types_of(schema);
        if types != ["array"] || ["items", "prefixItems"].iter().any(|word| schema.get(word).is_some()) {
            return None;
        }
        let required = names_required(document, schema);
        let kind = list_of(schema, Model::clone(items));
        Some(Model { at: schema.at, kind, nullable, required, closed: false, unlimited: false })
    }
}

fn says_a_type(schema: &Json) -> bool {
    ["type", "properties", "items", "prefixItems", "enum", "const", "maxLength", "format", "multipleOf"]
        .iter()
        .any(|word| schema.get(word).is_some())
}

/// Returns whether a schema only has keywords that do not apply to null.
fn allows_null(schema: &Json) -> bool {
    ["type", "enum", "const", "$ref", "allOf", "oneOf", "anyOf"].iter().all(|word| schema.get(word).is_none())
}

/// Returns false if a value cannot have the types of both schemas.
fn shares_a_type(a: &Json, b: &Json) -> bool {
    if a.get("type").is_none() || b.get("type").is_none() {
        return true;
    }
    let is_number = |of: &str| matches!(of, "integer" | "number");
    let ((types, null), (others, other_null)) = (types_of(a), types_of(b));
    let fits = |one: &str, other: &str| one == other || is_number(one) && is_number(other);
    null && other_null || types.iter().any(|one| others.iter().any(|other| fits(one, other)))
}

fn alternatives(schema: &Json) -> Option<&[Json]> {
    let branches = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.items();
    // A branch such as `{"format": "int32"}` would be text without the type that the schema itself says.
    let types = ["type", "properties", "items", "prefixItems", "enum", "const", "multipleOf", "$ref", "allOf"];
    let is_format = |branch: &Json| {
        says_a_type(branch) && types.iter().chain(&["oneOf", "anyOf"]).all(|word| branch.get(word).is_none())
    };
    if schema.get("type").is_some() && types_of(schema).0 != ["string"] && branches.iter().any(is_format) {
        return None;
    }
    // Branches that only say what must be there, or what values, choose nothing of the form.
    branches
        .iter()
        .any(|branch| says_a_type(branch) || branch.get("$ref").is_some() || branch.get("allOf").is_some())
        .then_some(branches)
}

impl Model {
    /// Removes all limits.
    fn free(&mut self) {
        match &mut self.kind {
            Kind::Object(members) => {
                self.required.clear();
                self.closed = false;
                members.iter_mut().for_each(|member| {
                    member.required = false;
                    member.model.free();
                });
            }
            Kind::Array { items, min, max } => {
                (*min, *max) = (0, None);
                items.nullable = true;
                items.free();
            }
            Kind::Scalar(_, limits) => *limits = ValueLimits::default(),
        }
        self.nullable = true;
    }

    /// Marks the members that must be there.
    fn require(&mut self) {
        let Kind::Object(members) = &mut self.kind else { return };
        let names: HashSet<&str> = self.required.iter().map(|required| required.name.as_str()).collect();
        members.iter_mut().for_each(|member| member.required |= names.contains(member.name.as_str()));
    }
}

fn names_required(document: usize, schema: &Json) -> Vec<Required> {
    let names = schema.get("required").map(Json::items).unwrap_or_default();
    let required = |name: &Json| Some(Required { name: name.text()?.to_owned(), document, at: name.at });
    names.iter().filter_map(required).collect()
}

/// Resolves a JSON pointer.
fn pointed<'j>(root: &'j Json, pointer: &str) -> Option<&'j Json> {
    let mut at = root;
    for part in pointer.split('/').skip(1) {
        let name = unescaped(part);
        at = match &at.kind {
            JsonKind::Array(items) => items.get(name.parse::<usize>().ok()?)?,
            _ => at.get(&name)?,
        };
    }
    (pointer.is_empty() || pointer.starts_with('/')).then_some(at)
}

fn unescaped(part: &str) -> String {
    let part = part.replace("~1", "/").replace("~0", "~");
    part.replace("%24", "$").replace("%20", " ")
}

/// Finds the schema with this anchor.
fn anchored<'j>(at: &'j Json, name: &str) -> Option<&'j Json> {
    let is = |word: &str| at.get(word).and_then(Json::text).is_some_and(|text| text.trim_start_matches('#') == name);
    if !name.is_empty() && (is("$anchor") || is("$id") || is("id")) {
        return Some(at);
    }
    match &at.kind {
        JsonKind::Object(members) => members.iter().find_map(|(_, value)| anchored(value, name)),
        JsonKind::Array(items) => items.iter().find_map(|value| anchored(value, name)),
        _ => None,
    }
}
