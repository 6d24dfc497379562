//! A guide file with its includes and its base, as one guide.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quayline_core::{Findings, Limits, nearest};

use super::changes;
use super::code_file;
use super::codes;
use super::parse::{self, Content, Kind, Reference, Referred};
use super::report::{Report, Span};
use super::words;
use super::{GuideResolver, ResolveError};
use crate::guide::{Dictionary, ElementOf, Guide};

/// Resolves the names in guide files and loads the files.
pub(super) struct Loader<'r> {
    pub(super) resolver: &'r dyn GuideResolver,
    pub(super) limits: &'r Limits,
    pub(super) report: Report,
    /// Files that are being read, outermost first, by the names that the resolver gives.
    open: Vec<String>,
    /// Dictionaries that were read.
    dictionaries: BTreeMap<String, Arc<Dictionary>>,
    bytes: usize,
}

/// A file with everything that it includes.
struct Whole {
    content: Content,
    dictionary: Dictionary,
}

impl<'r> Loader<'r> {
    pub(super) fn new(resolver: &'r dyn GuideResolver, limits: &'r Limits) -> Self {
        Loader {
            resolver,
            limits,
            report: Report::new(limits.findings_max),
            open: Vec::new(),
            dictionaries: BTreeMap::new(),
            bytes: 0,
        }
    }

    pub(super) fn guide_file(mut self, name: &str, text: &str) -> Result<Guide, Findings> {
        let guide = self.guide(name, text.into());
        self.report.finish()?;
        // Without findings there is a guide.
        guide.ok_or(Findings(Vec::new()))
    }

    pub(super) fn dictionary_file(mut self, name: &str, text: &str) -> Result<Dictionary, Findings> {
        let whole = self.whole(name, text.into());
        if let Some(whole) = &whole {
            self.check(&whole.dictionary, &whole.content.references, &[]);
        }
        self.report.finish()?;
        // Without findings there is a dictionary.
        whole.map(|whole| whole.dictionary).ok_or(Findings(Vec::new()))
    }

    fn guide(&mut self, name: &str, text: Arc<str>) -> Option<Guide> {
        self.open.push(name.to_owned());
        let whole = self.whole_open(name, text);
        let guide = whole.and_then(|whole| self.put_together(whole));
        self.open.pop();
        guide
    }

    fn put_together(&mut self, whole: Whole) -> Option<Guide> {
        let Whole { mut content, dictionary } = whole;
        let base = match content.overlay.take() {
            None => None,
            Some((base, at)) => Some((self.base(&base, at)?, at)),
        };
        self.head(&content, base.is_some());
        let mut guide = match base {
            Some((mut base, _)) => {
                base.dictionary.elements.extend(dictionary.elements);
                base.dictionary.composites.extend(dictionary.composites);
                base.dictionary.segments.extend(dictionary.segments);
                base.dictionary.codes.extend(dictionary.codes);
                base
            }
            None => Guide {
                name: String::new(),
                title: None,
                standard: content.standard?,
                version: String::new(),
                transaction: String::new(),
                functional_group: None,
                source: None,
                dictionary,
                structure: Vec::new(),
                rules: Vec::new(),
            },
        };
        guide.name = content.name;
        guide.title = content.title.or(guide.title);
        guide.standard = content.standard.unwrap_or(guide.standard);
        guide.version = content.version.unwrap_or(guide.version);
        guide.transaction = content.transaction.unwrap_or(guide.transaction);
        guide.functional_group = content.functional_group.or(guide.functional_group);
        // A changed imported guide counts as written by the user.
        guide.source = content.source;
        if let Some(structure) = content.structure {
            guide.structure = structure;
        }
        let mut references = content.references;
        changes::apply(&mut guide, content.changes, &mut references, &mut self.report);
        for (rule, _) in content.rules {
            match guide.rules.iter_mut().find(|old| old.name == rule.name) {
                Some(old) => *old = rule,
                None => guide.rules.push(rule),
            }
        }
        let loops = changes::loop_ids(&guide.structure);
        self.check(&guide.dictionary, &references, &loops);
        Some(guide)
    }

    /// Loads the guide that an overlay changes.
    fn base(&mut self, name: &str, at: Span) -> Option<Guide> {
        let (name, text) = self.read(name, at)?;
        self.guide(&name, text)
    }

    /// Checks the mandatory statements of the head.
    fn head(&mut self, content: &Content, has_base: bool) {
        let at = content.at;
        let mut head = |missing: bool, what: &str, hint: &str| {
            if missing {
                self.report.error(codes::HEAD, at, format!("the guide does not say {what}"), hint);
            }
        };
        if content.kind != Some(Kind::Guide) {
            let hint = "begin it with `guide NAME`; a file that begins with `dictionary` is for includes";
            head(true, "that it is one", hint);
            return;
        }
        if !has_base {
            head(content.standard.is_none(), "its standard", "write `standard X12` or `standard EDIFACT`");
            head(content.version.is_none(), "its version", "write `version 005010X222A1` or `version D:96A:UN`");
            head(content.transaction.is_none(), "its transaction", "write `transaction 837` or `transaction ORDERS`");
            head(
                content.structure.is_none(),
                "its structure",
                "write `structure`, and segments and loops indented below it",
            );
        }
        if !has_base && !content.changes.is_empty() {
            let hint = "name the guide to change with `overlay of \"FILE\"`";
            self.report.error(codes::HEAD, at, "there are changes, but no guide that they change", hint);
        }
    }

    fn whole(&mut self, name: &str, text: Arc<str>) -> Option<Whole> {
        self.open.push(name.to_owned());
        let whole = self.whole_open(name, text);
        self.open.pop();
        whole
    }

    /// Reads a file and its includes, unless they are too long; the file is open already.
    fn whole_open(&mut self, name: &str, text: Arc<str>) -> Option<Whole> {
        let file = self.report.file(name, Arc::clone(&text));
        self.bytes += text.len();
        if self.bytes > self.limits.guide_bytes_max {
            let at = Span { file, line: 1, column: 1, width: 1 };
            let message = format!("the guide and its includes are longer than {} bytes", self.limits.guide_bytes_max);
            self.report.error(codes::LIMIT, at, message, "allow more with `--limit guide-bytes=N`");
            return None;
        }
        let mut content = parse::parse(file, &text, &mut self.report, self.limits.depth_max);
        self.code_files(&mut content);
        let own = core::mem::take(&mut content.dictionary);
        let mut dictionary = Dictionary::default();
        for (include, at) in core::mem::take(&mut content.includes) {
            let Some(included) = self.include(&include, at) else { continue };
            let report = &mut self.report;
            merge("element", &mut dictionary.elements, &included.elements, &own.elements, &include, at, report);
            merge("composite", &mut dictionary.composites, &included.composites, &own.composites, &include, at, report);
            merge("segment", &mut dictionary.segments, &included.segments, &own.segments, &include, at, report);
            merge("code list", &mut dictionary.codes, &included.codes, &own.codes, &include, at, report);
        }
        dictionary.elements.extend(own.elements);
        dictionary.composites.extend(own.composites);
        dictionary.segments.extend(own.segments);
        dictionary.codes.extend(own.codes);
        Some(Whole { content, dictionary })
    }

    /// Adds the codes that files of their own hold to their lists.
    fn code_files(&mut self, content: &mut Content) {
        for (list, name, at) in core::mem::take(&mut content.code_files) {
            let Some((name, text)) = self.read(&name, at) else { continue };
            self.bytes += text.len();
            if self.bytes > self.limits.guide_bytes_max {
                let message = format!("the guide and its files are longer than {} bytes", self.limits.guide_bytes_max);
                self.report.error(codes::LIMIT, at, message, "allow more with `--limit guide-bytes=N`");
                continue;
            }
            let file = self.report.file(&name, Arc::clone(&text));
            let found = code_file::read(file, &text, &mut self.report);
            let Some(list) = content.dictionary.codes.get_mut(&list) else { continue };
            let mut known: BTreeSet<String> = list.codes.iter().map(|code| code.value.clone()).collect();
            for code in found {
                if known.insert(code.value.clone()) {
                    list.codes.push(code);
                } else {
                    let message = format!("`{name}` has the code `{}`, which the list has already", code.value);
                    self.report.error(codes::TWICE, at, message, "remove one of them");
                }
            }
        }
    }

    fn include(&mut self, name: &str, at: Span) -> Option<Arc<Dictionary>> {
        let (name, text) = self.read(name, at)?;
        if let Some(dictionary) = self.dictionaries.get(&name) {
            return Some(Arc::clone(dictionary));
        }
        let whole = self.whole(&name, text)?;
        // Definitions may refer to those of their own file and of its includes.
        let definitions: Vec<Reference> =
            if whole.content.kind == Some(Kind::Guide) { Vec::new() } else { whole.content.references };
        self.check(&whole.dictionary, &definitions, &[]);
        let dictionary = Arc::new(whole.dictionary);
        self.dictionaries.insert(name, Arc::clone(&dictionary));
        Some(dictionary)
    }

    /// Reads a file that another names, unless that file is already being read.
    fn read(&mut self, name: &str, at: Span) -> Option<(String, Arc<str>)> {
        let from = self.open.last().map_or("", String::as_str);
        let found = match self.resolver.read(name, from) {
            Ok(found) => found,
            Err(error) => {
                let hint = match &error {
                    ResolveError::NotFound { tried } if !tried.is_empty() => format!("looked for {}", tried.join(", ")),
                    ResolveError::NotFound { .. } => "name a file next to this one".to_owned(),
                    ResolveError::Unreadable { .. } => String::new(),
                };
                self.report.error(codes::UNREADABLE, at, format!("`{name}` cannot be included: {error}"), hint);
                return None;
            }
        };
        if self.open.contains(&found.name) {
            let way = self.open.join(" → ");
            let message = format!("`{name}` includes itself: {way} → {}", found.name);
            self.report.error(codes::CIRCLE, at, message, "put what both need into a third file");
            return None;
        }
        if self.open.len() > self.limits.copy_depth_max {
            let message = format!("includes nest deeper than {}", self.limits.copy_depth_max);
            self.report.error(
                codes::CIRCLE,
                at,
                message,
                "look for a circle, or allow more with `--limit copy-depth=N`",
            );
            return None;
        }
        Some((found.name, found.text.into()))
    }

    /// Reports references that are defined nowhere.
    fn check(&mut self, dictionary: &Dictionary, references: &[Reference], loops: &[String]) {
        let loops: BTreeSet<&str> = loops.iter().map(String::as_str).collect();
        let report = &mut self.report;
        for reference in references {
            let at = reference.at;
            match &reference.what {
                Referred::Element(id) => defined("element", id, &dictionary.elements, at, report),
                Referred::Composite(id) => defined("composite", id, &dictionary.composites, at, report),
                Referred::Codes(id) => defined("code list", id, &dictionary.codes, at, report),
                Referred::Segment(tag) => defined("segment", tag, &dictionary.segments, at, report),
                Referred::Place { tag, element, component } => {
                    place(dictionary, tag, *element, *component, at, report);
                }
                Referred::Loop(path) => {
                    let id = path.rsplit('/').next().unwrap_or_default();
                    // A rule may be at a segment.
                    if !loops.contains(id) && !dictionary.segments.contains_key(id) {
                        let hint = nearest(id, loops.iter().copied()).map(|near| format!("did you mean `{near}`?"));
                        let message = format!("loop {id} is not in the structure");
                        report.error(codes::UNDEFINED, at, message, hint.unwrap_or_default());
                    }
                }
            }
        }
    }
}

fn defined<T>(what: &str, id: &str, known: &BTreeMap<String, T>, at: Span, report: &mut Report) {
    if known.contains_key(id) {
        return;
    }
    let hint = match nearest(id, known.keys().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? Otherwise define it, or include a dictionary that does"),
        None => "define it, or include a dictionary that does".to_owned(),
    };
    report.error(codes::UNDEFINED, at, format!("{what} {id} is not defined"), hint);
}

/// Checks that a segment has the element and component.
fn place(dictionary: &Dictionary, tag: &str, element: u8, component: u8, at: Span, report: &mut Report) {
    // An undefined segment or composite is reported where it is used, not here.
    let Some(segment) = dictionary.segments.get(tag) else { return };
    let Some(used) = segment.elements.get(usize::from(element) - 1) else {
        let message =
            format!("{tag} has {} elements, {} is not one of them", segment.elements.len(), words::place(element, 0));
        report.error(codes::UNDEFINED, at, message, "elements count from 01");
        return;
    };
    if component == 0 {
        return;
    }
    match &used.of {
        ElementOf::Element(_) => {
            let message = format!("{tag}{element:02} is not a composite, so it has no component {component}");
            report.error(codes::UNDEFINED, at, message, "leave the component out");
        }
        ElementOf::Composite(id) => {
            let Some(composite) = dictionary.composites.get(id) else { return };
            if usize::from(component) > composite.components.len() {
                let message = format!(
                    "{tag}{element:02} has {} components, {component} is not one of them",
                    composite.components.len()
                );
                report.error(codes::UNDEFINED, at, message, "components count from 1");
            }
        }
    }
}

/// Adds the definitions of an include. Those of the including file take precedence.
fn merge<T: Clone + PartialEq>(
    what: &str,
    into: &mut BTreeMap<String, T>,
    from: &BTreeMap<String, T>,
    own: &BTreeMap<String, T>,
    file: &str,
    at: Span,
    report: &mut Report,
) {
    for (id, definition) in from {
        match into.get(id) {
            _ if own.contains_key(id) => {}
            None => {
                into.insert(id.clone(), definition.clone());
            }
            Some(before) if before == definition => {}
            Some(_) => {
                let message = format!("{what} {id} of `{file}` is defined differently by an include before");
                report.error(codes::CONFLICT, at, message, "define it in this file, which goes before all includes");
                return;
            }
        }
    }
}
