//! Parser of one guide file: its head and the kinds of its sections.

use core::ops::Range;

use quayline_core::nearest;

use super::changes::Change;
use super::codes;
use super::lines::{Entry, Lines, Words};
use super::report::{Report, Span};
use crate::delimiters::Standard;
use crate::guide::{Dictionary, Item, Rule};

/// Content of one file, before its includes and base are resolved.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) kind: Option<Kind>,
    /// Position of the statement of the kind, or the first line.
    pub(super) at: Span,
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) standard: Option<Standard>,
    pub(super) version: Option<String>,
    pub(super) transaction: Option<String>,
    pub(super) functional_group: Option<String>,
    pub(super) source: Option<String>,
    pub(super) includes: Vec<(String, Span)>,
    /// Code lists and the files that hold their codes.
    pub(super) code_files: Vec<(String, String, Span)>,
    pub(super) overlay: Option<(String, Span)>,
    pub(super) dictionary: Dictionary,
    pub(super) structure: Option<Vec<Item>>,
    pub(super) changes: Vec<Change>,
    pub(super) rules: Vec<(Rule, Span)>,
    /// References that must be defined.
    pub(super) references: Vec<Reference>,
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Guide,
    Dictionary,
}

/// A reference that must be defined, here or in an include.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) what: Referred,
    pub(super) at: Span,
}

/// Referenced definition.
#[derive(Clone, Debug)]
pub(super) enum Referred {
    Element(String),
    Composite(String),
    Codes(String),
    Segment(String),
    /// Element and component of a segment: the change or qualifier of a place.
    Place {
        tag: String,
        element: u8,
        component: u8,
    },
    /// A loop of the structure, by a rule.
    Loop(String),
}

const SECTIONS: [&str; 15] = [
    "guide",
    "dictionary",
    "standard",
    "version",
    "transaction",
    "source",
    "include",
    "overlay",
    "element",
    "composite",
    "segment",
    "codes",
    "structure",
    "changes",
    "rules",
];

/// Reads one file.
pub(super) fn parse(file: u32, text: &str, report: &mut Report, depth_max: usize) -> Content {
    let lines = Lines::new(file, text, report);
    let mut parser = Parser {
        lines: &lines,
        report,
        content: Content { at: Span { file, line: 1, column: 1, width: 1 }, ..Content::default() },
        depth_max,
    };
    for entry in lines.top(parser.report) {
        parser.section(&entry);
    }
    parser.content
}

/// The file that is being read.
pub(super) struct Parser<'t, 'r> {
    pub(super) lines: &'r Lines<'t>,
    pub(super) report: &'r mut Report,
    pub(super) content: Content,
    pub(super) depth_max: usize,
}

impl<'t> Parser<'t, '_> {
    fn section(&mut self, entry: &Entry) {
        let mut words = self.words(entry);
        let Some(keyword) = words.take() else { return };
        let keyword_text = if keyword.quoted { "" } else { &*keyword.text };
        match keyword_text {
            "guide" => self.guide(words, entry, keyword.span),
            "dictionary" => {
                self.kind(Kind::Dictionary, keyword.span);
                self.content.title = words.text();
                self.end(words, entry, "dictionary [\"TITLE\"]");
            }
            "standard" => self.standard(words, entry),
            "version" => {
                const FORM: &str = "version 005010X222A1, version D:96A:UN";
                let version = words.need("the version", FORM, self.report).map(|word| word.text.into_owned());
                let at = words.span();
                let before = self.content.version.is_some();
                self.once("version", before, at);
                self.content.version = version.or(self.content.version.take());
                self.end(words, entry, FORM);
            }
            "transaction" => self.transaction(words, entry),
            "source" => {
                const FORM: &str = "source \"WHERE IT COMES FROM\"";
                let before = self.content.source.is_some();
                self.once("source", before, keyword.span);
                self.content.source = words.need("the source", FORM, self.report).map(|word| word.text.into_owned());
                self.end(words, entry, FORM);
            }
            "include" => {
                const FORM: &str = "include \"FILE\"";
                if let Some(name) = words.need("the file to include", FORM, self.report) {
                    self.content.includes.push((name.text.into_owned(), name.span));
                }
                self.end(words, entry, FORM);
            }
            "overlay" => {
                const FORM: &str = "overlay of \"FILE\"";
                words.keyword("of");
                let base = words.need("the guide that this one changes", FORM, self.report);
                let before = self.content.overlay.is_some();
                self.once("overlay", before, keyword.span);
                self.content.overlay = base.map(|name| (name.text.into_owned(), name.span));
                self.end(words, entry, FORM);
            }
            "element" => self.element(words, entry),
            "composite" => self.composite(words, entry),
            "segment" => self.segment_definition(words, entry),
            "codes" => self.code_list(words, entry),
            "structure" => {
                let before = self.content.structure.is_some();
                self.once("structure", before, keyword.span);
                words.finish("structure", self.report);
                let items = self.items(entry.below.clone(), 1);
                self.content.structure.get_or_insert_with(Vec::new).extend(items);
            }
            "changes" => {
                words.finish("changes", self.report);
                self.changes(entry.below.clone());
            }
            "rules" => {
                words.finish("rules", self.report);
                self.rules(entry.below.clone());
            }
            _ => self.unknown(words, &keyword.text, keyword.span, &SECTIONS),
        }
    }

    fn guide(&mut self, mut words: Words<'t>, entry: &Entry, at: Span) {
        const FORM: &str = "guide NAME [\"TITLE\"]";
        self.kind(Kind::Guide, at);
        if let Some(name) = words.need("the name of the guide", FORM, self.report) {
            self.content.name = name.text.into_owned();
        }
        self.content.title = words.text();
        self.end(words, entry, FORM);
    }

    fn kind(&mut self, kind: Kind, at: Span) {
        if self.content.kind.is_some() {
            let hint = "a file is one guide or one dictionary: make two files of it";
            self.report.error(codes::TWICE, at, "the file has begun as a guide or dictionary already", hint);
            return;
        }
        self.content.kind = Some(kind);
        self.content.at = at;
    }

    fn standard(&mut self, mut words: Words<'t>, entry: &Entry) {
        const FORM: &str = "standard X12, standard EDIFACT";
        if let Some(word) = words.need("the standard", FORM, self.report) {
            let standard = match &*word.text {
                "X12" => Some(Standard::X12),
                "EDIFACT" => Some(Standard::Edifact),
                _ => None,
            };
            if standard.is_none() {
                let message = format!("`{}` is not a standard, expected X12 or EDIFACT", word.text);
                words.fault(codes::VALUE, word.span, message, format!("form: {FORM}"), self.report);
            }
            let before = self.content.standard.is_some();
            self.once("standard", before, word.span);
            // Assume a value, so that only one fault is reported.
            self.content.standard = standard.or(self.content.standard).or(Some(Standard::X12));
        }
        self.end(words, entry, FORM);
    }

    fn transaction(&mut self, mut words: Words<'t>, entry: &Entry) {
        const FORM: &str = "transaction 837 group HC, transaction ORDERS";
        let transaction = words.need("the transaction set or message", FORM, self.report);
        if words.keyword("group").is_some() {
            let group = words.need("the functional group (GS01)", FORM, self.report);
            self.content.functional_group = group.map(|word| word.text.into_owned());
        }
        let before = self.content.transaction.is_some();
        self.once("transaction", before, words.span());
        self.content.transaction = transaction.map(|word| word.text.into_owned()).or(self.content.transaction.take());
        self.end(words, entry, FORM);
    }

    fn rules(&mut self, within: Range<usize>) {
        const FORM: &str = "rule NAME [at LOOP] [warning] [\"MESSAGE\"], and the expression in lines below";
        for entry in self.entries(within) {
            let mut words = self.words(&entry);
            if words.keyword("remove").is_some() {
                self.remove_rule(words, &entry);
                continue;
            }
            if words.keyword("rule").is_none() {
                if let Some(word) = words.take() {
                    self.unknown(words, &word.text, word.span, &["rule", "remove"]);
                }
                continue;
            }
            let Some(name) = words.need("the name of the rule", FORM, self.report) else { continue };
            let at = name.span;
            let mut rule = Rule {
                name: name.text.into_owned(),
                at: String::new(),
                expression: self.lines.raw(entry.below.clone()),
                message: None,
                warning: false,
            };
            loop {
                if words.keyword("at").is_some() {
                    if let Some(word) = words.need("the loop of the rule", FORM, self.report) {
                        self.refer(Referred::Loop(word.text.to_string()), word.span);
                        rule.at = word.text.into_owned();
                    }
                } else if words.keyword("warning").is_some() {
                    rule.warning = true;
                } else if let Some(text) = words.text() {
                    rule.message = Some(text);
                } else {
                    break;
                }
            }
            words.finish(FORM, self.report);
            if rule.expression.is_empty() {
                let message = format!("rule {} has no expression", rule.name);
                self.report.error(codes::MISSING, at, message, "write what must be true in indented lines below it");
            }
            if self.content.rules.iter().any(|(other, _)| other.name == rule.name) {
                let message = format!("rule {} occurs twice", rule.name);
                self.report.error(codes::TWICE, at, message, "give one of them another name");
                continue;
            }
            self.content.rules.push((rule, at));
        }
    }

    pub(super) fn words(&mut self, entry: &Entry) -> Words<'t> {
        self.lines.words(entry, self.report)
    }

    pub(super) fn entries(&mut self, within: Range<usize>) -> Vec<Entry> {
        self.lines.entries(within, self.report)
    }

    pub(super) fn refer(&mut self, what: Referred, at: Span) {
        self.content.references.push(Reference { what, at });
    }

    /// Ends a line that must have no lines below it.
    pub(super) fn end(&mut self, words: Words<'t>, entry: &Entry, form: &str) {
        words.finish(form, self.report);
        if let Some(first) = self.entries(entry.below.clone()).first() {
            let words = self.words(first);
            let hint = format!("form: {form}; indentation says what belongs to what");
            self.report.error(codes::INDENTATION, words.span(), "nothing may be indented below the line above", hint);
        }
    }

    /// Reports a duplicate.
    fn once(&mut self, what: &str, before: bool, at: Span) {
        if before {
            self.report.error(codes::TWICE, at, format!("`{what}` occurs twice"), "remove one of them");
        }
    }

    /// Reports an unknown keyword, with the nearest known one.
    pub(super) fn unknown(&mut self, mut words: Words<'t>, found: &str, at: Span, known: &[&str]) {
        let hint = match nearest(found, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? Known here: {}", known.join(", ")),
            None => format!("known here: {}", known.join(", ")),
        };
        words.fault(codes::WORD, at, format!("`{found}` is not expected here"), hint, self.report);
    }
}
