//! Schemas to a model of documents: references followed, `allOf` merged, alternatives put together.

use core::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use quayline_core::{DistinctFindings, Finding, Findings, Scalar, ValueLimits};

use super::limits;
use super::tree::{Json, JsonKind};
use super::{TEXT, beside};
use crate::shape::codes;
use crate::shape::notes::{Notes, Unchecked};
use crate::shape::source_file::SourceFile;

/// Decimal places of a number whose schema does not restrict them.
const SCALE: i16 = 12;
/// Digits of such a number.
const DIGITS: u16 = 36;
/// Digits of an integer whose schema does not restrict them.
const INTEGER_DIGITS: u16 = 19;
/// References and schemas inside each other.
const DEPTH_MAX: usize = 64;

/// Model of a value: the documents that a schema allows at one place.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) at: usize,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
    /// Names of members that must be there, whichever part describes them.
    required: Vec<String>,
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
    file: SourceFile,
    root: Json,
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
        if let Some(known) = self.files.borrow().iter().position(|document| document.path == path) {
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
    let root = Json::parse(&file.text.text)
        .map_err(|(at, what)| file.error(codes::SYNTAX, at, what).hint("the file is not JSON"))?;
    Ok(Document { path: path.to_owned(), file, root })
}

/// Reads schemas.
pub(crate) struct Reader<'d> {
    documents: &'d Documents,
    findings: Vec<Finding>,
    notes: Vec<(usize, Notes)>,
    /// References that are being followed.
    open: Vec<(usize, String)>,
    depth: usize,
}

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

/// Keywords that affect the form of documents in a way that a shape cannot represent.
const REFUSED: &[&str] = &["patternProperties", "$dynamicRef", "$recursiveRef"];

impl<'d> Reader<'d> {
    pub(crate) fn new(documents: &'d Documents) -> Self {
        Reader { documents, findings: Vec::new(), notes: Vec::new(), open: Vec::new(), depth: 0 }
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

    /// Returns the schema of the documents: the file's root, or one of its definitions.
    pub(crate) fn root(&mut self, part: Option<&str>) -> Option<Model> {
        let document = self.documents.get(0);
        let Some(part) = part else {
            self.open.push((0, String::new()));
            return self.schema(0, &document.root);
        };
        let tables = ["$defs", "definitions"];
        let found = if part.starts_with('/') {
            pointed(&document.root, part)
        } else {
            tables.iter().find_map(|table| document.root.get(table)?.get(part))
        };
        match found {
            Some(schema) => self.schema(0, schema),
            None => {
                let known: Vec<&str> = tables
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
        let known = self.notes.iter().position(|(of, _)| *of == document);
        let index = known.unwrap_or_else(|| {
            self.notes.push((document, Notes::default()));
            self.notes.len() - 1
        });
        self.notes[index].1.add(word, Unchecked::All, at);
    }

    fn schema(&mut self, document: usize, schema: &Json) -> Option<Model> {
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
        let mut required = names_required(schema);
        // Keywords that restrict the value and do not say its type.
        let mut restrictions = Vec::new();
        if !says_a_type(schema) {
            restrictions.push(schema);
        }
        if let Some(reference) = schema.get("$ref") {
            drafts.push((self.follow(document, reference)?, false));
        }
        for part in schema.get("allOf").map(Json::items).unwrap_or_default() {
            // A part that only restricts has no type of its own.
            if says_a_type(part)
                || part.get("$ref").is_some()
                || part.get("allOf").is_some()
                || alternatives(part).is_some()
            {
                drafts.push((self.schema(document, part)?, allows_null(part)));
            } else {
                required.extend(names_required(part));
                restrictions.push(part);
                self.unknown(document, part);
            }
        }
        if let Some(branches) = alternatives(schema) {
            drafts.push((self.union(document, schema.at, branches)?, false));
        }
        self.unknown(document, schema);
        if says_a_type(schema) {
            drafts.push((self.own(document, schema)?, allows_null(schema)));
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
        for part in restrictions {
            model.kind = limits::restricted(model.kind, part);
        }
        model.at = schema.at;
        model.required.extend(required);
        model.require();
        model.nullable |= schema.get("nullable").and_then(Json::bool) == Some(true);
        Some(model)
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
        let there = self.documents.get(index);
        let found = pointed(&there.root, pointer).or_else(|| anchored(&there.root, pointer));
        let Some(schema) = found else {
            let finding = own.file.error(codes::NO_SUCH_PART, reference.at, format!("there is no `{target}`"));
            self.findings.push(finding.hint("check its spelling: `#/$defs/Name` or `#/definitions/Name`"));
            return None;
        };
        self.open.push(key);
        let model = self.schema(index, schema);
        self.open.pop();
        model
    }

    /// Combines `oneOf` and `anyOf`. Objects become one object with the members of all branches, mandatory only if mandatory in all. Values become one
    /// type that holds all of them.
    fn union(&mut self, document: usize, at: usize, branches: &[Json]) -> Option<Model> {
        let mut nullable = false;
        let mut models = Vec::new();
        for branch in branches {
            if branch.get("type").and_then(Json::text) == Some("null") {
                nullable = true;
            } else {
                models.push(self.schema(document, branch)?);
            }
        }
        let mut models = models.into_iter();
        let Some(mut model) = models.next() else {
            self.refuse(document, at, "alternatives of which none is a value", "say what it may be");
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
        let required = a.required.into_iter().filter(|name| b.required.contains(name)).collect();
        let kind = match (a.kind, b.kind) {
            (Kind::Object(mut all), Kind::Object(others)) => {
                for member in &mut all {
                    member.required &= others.iter().any(|other| other.name == member.name && other.required);
                }
                for other in others {
                    match all.iter().position(|member| member.name == other.name) {
                        Some(known) => {
                            let member = all.remove(known);
                            let required = member.required && other.required;
                            let model = self.either(document, at, member.model, other.model)?;
                            all.insert(known, Member { name: other.name, required, model });
                        }
                        None => all.push(Member { required: false, ..other }),
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
        Some(Model { at, kind, nullable, required })
    }

    /// Combines two schemas that must both hold.
    fn merge(&mut self, document: usize, a: Model, b: Model) -> Option<Model> {
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
        let mut model = Model { at, kind, nullable, required };
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
        let mut model = Model { at: schema.at, kind, nullable, required: names_required(schema) };
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
        if items.nullable {
            self.note(document, "null in a list", items.at);
        }
        let count = |name: &str| schema.get(name).and_then(Json::count);
        Some(Kind::Array { items: Box::new(items), min: count("minItems").unwrap_or(0), max: count("maxItems") })
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

fn alternatives(schema: &Json) -> Option<&[Json]> {
    let branches = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.items();
    // Branches that only say what must be there, or what values, choose nothing of the form.
    branches
        .iter()
        .any(|branch| says_a_type(branch) || branch.get("$ref").is_some() || branch.get("allOf").is_some())
        .then_some(branches)
}

impl Model {
    /// Marks the members that must be there.
    fn require(&mut self) {
        let Kind::Object(members) = &mut self.kind else { return };
        let names: HashSet<&str> = self.required.iter().map(String::as_str).collect();
        members.iter_mut().for_each(|member| member.required |= names.contains(member.name.as_str()));
    }
}

fn names_required(schema: &Json) -> Vec<String> {
    let names = schema.get("required").map(Json::items).unwrap_or_default();
    names.iter().filter_map(Json::text).map(str::to_owned).collect()
}

/// Returns the types that a schema allows except null, and true if it allows null. Without `type`, the other keywords determine the type.
fn types_of(schema: &Json) -> (Vec<&str>, bool) {
    let mut nullable = false;
    let mut types = Vec::new();
    let said: Vec<&str> = match schema.get("type").map(|of| (of.text(), of.items())) {
        Some((Some(one), _)) => vec![one],
        Some((None, several)) => several.iter().filter_map(Json::text).collect(),
        None => Vec::new(),
    };
    for one in said {
        if one == "null" {
            nullable = true;
        } else {
            types.push(one);
        }
    }
    let listed = schema.get("enum").map(Json::items).unwrap_or_default().iter().chain(schema.get("const"));
    if schema.get("type").is_none() {
        if schema.get("properties").is_some() {
            types.push("object");
        } else if schema.get("items").is_some() || schema.get("prefixItems").is_some() {
            types.push("array");
        } else if schema.get("multipleOf").is_some() {
            types.push("number");
        }
        for value in listed {
            let of = match value.kind {
                JsonKind::Text(_) => "string",
                JsonKind::Number(_) => "number",
                JsonKind::Bool(_) => "boolean",
                JsonKind::Object(_) => "object",
                JsonKind::Array(_) => "array",
                JsonKind::Null => {
                    nullable = true;
                    continue;
                }
            };
            if !types.contains(&of) {
                types.push(of);
            }
        }
        if types.is_empty() && !nullable {
            types.push("string");
        }
    }
    (types, nullable)
}

fn text_of(schema: &Json) -> Scalar {
    let listed = schema.get("enum").map(Json::items).unwrap_or_default().iter().chain(schema.get("const"));
    let longest =
        listed.filter_map(|value| value.text().or_else(|| value.number())).map(|text| text.chars().count()).max();
    let longest = longest.and_then(|longest| u32::try_from(longest).ok());
    let of_format = match schema.get("format").and_then(Json::text) {
        Some("date") => Some(10),
        Some("uuid") => Some(36),
        _ => None,
    };
    let max = schema.get("maxLength").and_then(Json::count).or(longest).or(of_format);
    Scalar::Text { chars_max: max }
}

fn number_of(schema: &Json, integer: bool) -> Scalar {
    let listed: Vec<&str> = schema
        .get("enum")
        .map(Json::items)
        .unwrap_or_default()
        .iter()
        .chain(schema.get("const"))
        .filter_map(Json::number)
        .collect();
    let step = schema.get("multipleOf").and_then(Json::number).and_then(decimals);
    let scale = if integer {
        0
    } else if !listed.is_empty() {
        listed.iter().filter_map(|number| decimals(number)).max().unwrap_or(0)
    } else {
        step.unwrap_or(SCALE)
    };
    let bound = |names: [&str; 2]| {
        names.iter().filter_map(|name| schema.get(name)).filter_map(Json::number).map(str::to_owned).next()
    };
    let (low, high) = (bound(["minimum", "exclusiveMinimum"]), bound(["maximum", "exclusiveMaximum"]));
    let bounds: Vec<&str> =
        if listed.is_empty() { low.iter().chain(&high).map(String::as_str).collect() } else { listed.clone() };
    let signed = if listed.is_empty() {
        low.as_deref().is_none_or(|low| low.starts_with('-'))
    } else {
        listed.iter().any(|number| number.starts_with('-'))
    };
    let whole = bounds.iter().map(|bound| whole_digits(bound)).max();
    let bounded = !listed.is_empty() || (high.is_some() && low.is_some());
    let whole = whole.filter(|_| bounded);
    let unbounded = if integer || step.is_some() { INTEGER_DIGITS } else { DIGITS - SCALE.unsigned_abs() };
    let digits = whole.unwrap_or(unbounded).saturating_add(scale.unsigned_abs()).clamp(1, 38);
    Scalar::Decimal { digits, scale, signed }
}

/// Counts the decimal places of a number as written.
pub(super) fn decimals(number: &str) -> Option<i16> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let fraction = mantissa.split_once('.').map_or("", |(_, fraction)| fraction.trim_end_matches('0'));
    let exponent: i16 = exponent.trim_start_matches('+').parse().ok()?;
    let scale = i16::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some(scale.clamp(0, 30))
}

/// Digits in front of the point of a number as written.
fn whole_digits(number: &str) -> u16 {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let whole = mantissa.trim_start_matches('-').split('.').next().unwrap_or("").trim_start_matches('0');
    let exponent: u16 = exponent.trim_start_matches('+').parse().unwrap_or(0);
    u16::try_from(whole.len()).unwrap_or(38).saturating_add(exponent)
}

/// Returns the type that holds the values of both types.
fn wider(a: &Scalar, b: &Scalar) -> Option<Scalar> {
    Some(match (a, b) {
        (Scalar::Text { chars_max: a }, Scalar::Text { chars_max: b }) => {
            Scalar::Text { chars_max: a.zip(*b).map(|(a, b)| a.max(b)) }
        }
        (Scalar::Decimal { digits: a, scale: s, signed: x }, Scalar::Decimal { digits: b, scale: t, signed: y }) => {
            let scale = (*s).max(*t);
            let whole = (i32::from(*a) - i32::from(*s)).max(i32::from(*b) - i32::from(*t));
            let digits = u16::try_from(whole + i32::from(scale)).ok()?.clamp(1, 38);
            Scalar::Decimal { digits, scale, signed: *x || *y }
        }
        (a, b) if a == b => a.clone(),
        (Scalar::Text { .. }, Scalar::Decimal { .. }) | (Scalar::Decimal { .. }, Scalar::Text { .. }) => TEXT,
        _ => return None,
    })
}

/// Returns the type of the values that fit both types.
fn narrower(a: &Scalar, b: &Scalar) -> Option<Scalar> {
    Some(match (a, b) {
        (Scalar::Text { chars_max: a }, Scalar::Text { chars_max: b }) => Scalar::Text {
            chars_max: match (a, b) {
                (Some(a), Some(b)) => Some(*a.min(b)),
                (a, b) => a.or(*b),
            },
        },
        (Scalar::Decimal { digits: a, scale: s, signed: x }, Scalar::Decimal { digits: b, scale: t, signed: y }) => {
            let scale = (*s).min(*t);
            let whole = (i32::from(*a) - i32::from(*s)).min(i32::from(*b) - i32::from(*t));
            let digits = u16::try_from(whole + i32::from(scale)).ok()?.clamp(1, 38);
            Scalar::Decimal { digits, scale, signed: *x && *y }
        }
        (a, b) if a == b => a.clone(),
        _ => return None,
    })
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
