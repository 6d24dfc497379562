//! Definitions: elements, composites, segments, code lists.

use super::codes;
use super::lines::{Entry, Words};
use super::parse::{Parser, Referred};
use super::report::Span;
use super::words;
use crate::guide::{
    CodeEntry, CodeList, CompositeDef, DataType, ElementDef, ElementOf, ElementUse, SegmentDef, SyntaxNote,
};

const ELEMENT: &str = "element NUMBER TYPE MIN..MAX [\"NAME\"] [codes LIST]";
const COMPOSITE: &str = "composite ID [\"NAME\"]";
const SEGMENT: &str = "segment TAG [\"NAME\"]";
const CODES: &str = "codes NAME [\"TITLE\"] [open] [file \"FILE\"]";
const CODE: &str = "CODE [\"NAME\"] [from YYYYMMDD] [until YYYYMMDD], or several codes without names";
const USE: &str = "[composite|element] ID M|O|N [repeat COUNT|*] [\"NAME\"]";

impl<'t> Parser<'t, '_> {
    pub(super) fn element(&mut self, mut words: Words<'t>, entry: &Entry) {
        let id = words.need("the number of the element", ELEMENT, self.report);
        let representation = self.representation(&mut words);
        let mut name = None;
        let mut list = None;
        loop {
            if let Some(text) = words.text() {
                name = Some(text);
            } else if words.keyword("codes").is_some() {
                if let Some(word) = words.need("the name of the code list", ELEMENT, self.report) {
                    self.refer(Referred::Codes(word.text.to_string()), word.span);
                    list = Some(word.text.into_owned());
                }
            } else {
                break;
            }
        }
        self.end(words, entry, ELEMENT);
        let Some(id) = id else { return };
        // An element with a faulty line is still defined, so that the fault is reported once.
        let (data_type, min, max) = representation.unwrap_or((DataType::Text, 1, u32::MAX));
        let defined = ElementDef { name, data_type, min, max, codes: list };
        let before = self.content.dictionary.elements.insert(id.text.to_string(), defined).is_some();
        self.defined_twice("element", &id.text, before, id.span);
    }

    /// Parses a representation: `AN 1..35`, or `an..35` and `an3` as in the directories of EDIFACT.
    fn representation(&mut self, words: &mut Words<'t>) -> Option<(DataType, u32, u32)> {
        let word = words.need("the data type", ELEMENT, self.report)?;
        let letters = word.text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let joined =
            word.text.get(letters.len()..).filter(|rest| matches!(letters, "a" | "an" | "n") && !rest.is_empty());
        let (type_text, length_text, length_span) = match joined {
            Some(rest) => (letters, rest.to_owned(), word.span),
            None => {
                if words::read_data_type(&word.text).is_none() {
                    let message = format!("`{}` is not a data type", word.text);
                    words.fault(
                        codes::VALUE,
                        word.span,
                        message,
                        format!("known are {}", words::DATA_TYPES),
                        self.report,
                    );
                    return None;
                }
                let length = words.need("the length", ELEMENT, self.report)?;
                (&*word.text, length.text.to_string(), length.span)
            }
        };
        let data_type = words::read_data_type(type_text)?;
        let lengths = words::read_length(&length_text).and_then(|(min, max)| Some((min.unwrap_or(1), max?)));
        match lengths {
            Some((min, max)) if min <= max && max > 0 => Some((data_type, min, max)),
            _ => {
                let message = format!("`{length_text}` is not a length");
                let hint = "write the fewest and the most characters, such as 1..35, or 3 for exactly three";
                words.fault(codes::VALUE, length_span, message, hint, self.report);
                None
            }
        }
    }

    pub(super) fn composite(&mut self, mut words: Words<'t>, entry: &Entry) {
        let id = words.need("the id of the composite", COMPOSITE, self.report);
        let name = words.text();
        words.finish(COMPOSITE, self.report);
        let (components, notes) = self.uses(entry, InComposite::Yes);
        let Some(id) = id else { return };
        let defined = CompositeDef { name, components, notes };
        let before = self.content.dictionary.composites.insert(id.text.to_string(), defined).is_some();
        self.defined_twice("composite", &id.text, before, id.span);
    }

    pub(super) fn segment_definition(&mut self, mut words: Words<'t>, entry: &Entry) {
        let tag = words.need("the tag of the segment", SEGMENT, self.report);
        let name = words.text();
        words.finish(SEGMENT, self.report);
        let (elements, notes) = self.uses(entry, InComposite::No);
        let Some(tag) = tag else { return };
        let defined = SegmentDef { name, elements, notes };
        let before = self.content.dictionary.segments.insert(tag.text.to_string(), defined).is_some();
        self.defined_twice("segment", &tag.text, before, tag.span);
    }

    /// Elements of a segment or components of a composite, and their notes.
    fn uses(&mut self, entry: &Entry, inside: InComposite) -> (Vec<ElementUse>, Vec<SyntaxNote>) {
        let (mut uses, mut notes) = (Vec::new(), Vec::new());
        let mut note_places: Vec<(u8, Span)> = Vec::new();
        for entry in self.entries(entry.below.clone()) {
            let mut words = self.words(&entry);
            if words.keyword("notes").is_some() {
                self.notes(&mut words, &mut notes, &mut note_places);
                self.end(words, &entry, "notes NOTE ...");
                continue;
            }
            if let Some(used) = self.element_use(words, &entry, inside) {
                uses.push(used);
            }
        }
        if uses.len() > 255 {
            let at = self.words(entry).span();
            let message = format!("{} elements, expected at most 255", uses.len());
            self.report.error(codes::STRUCTURE, at, message, "the standards number elements with two digits");
        }
        for (element, at) in note_places {
            if usize::from(element) > uses.len() {
                let message = format!("the note names element {element}, but there are {}", uses.len());
                self.report.error(codes::UNDEFINED, at, message, "notes count elements from 1");
            }
        }
        (uses, notes)
    }

    fn element_use(&mut self, mut words: Words<'t>, entry: &Entry, inside: InComposite) -> Option<ElementUse> {
        let said =
            if words.keyword("composite").is_some() { Some(true) } else { words.keyword("element").map(|_| false) };
        let id = words.need("an element or composite", USE, self.report)?;
        let composite = said.unwrap_or_else(|| words::looks_composite(&id.text) && inside == InComposite::No);
        let id_text = id.text.to_string();
        if composite && inside == InComposite::Yes {
            words.fault(
                codes::STRUCTURE,
                id.span,
                "a composite is inside a composite",
                "components are elements",
                self.report,
            );
        }
        let what = if composite { Referred::Composite(id_text.clone()) } else { Referred::Element(id_text.clone()) };
        self.refer(what, id.span);
        let word = words.need("the requirement", USE, self.report);
        let requirement = word.and_then(|word| {
            let requirement = words::read_requirement(&word.text);
            if requirement.is_none() {
                let message = format!("`{}` is not a requirement", word.text);
                words.fault(
                    codes::VALUE,
                    word.span,
                    message,
                    "write M (mandatory), O (optional) or N (not used)",
                    self.report,
                );
            }
            requirement
        });
        let mut name = None;
        let mut repeat = Some(1);
        loop {
            if words.keyword("repeat").is_some() {
                repeat = self.count(&mut words, "the number of repetitions", USE).unwrap_or(Some(1));
            } else if let Some(text) = words.text() {
                name = Some(text);
            } else {
                break;
            }
        }
        self.end(words, entry, USE);
        let of = if composite { ElementOf::Composite(id_text) } else { ElementOf::Element(id_text) };
        // Add a placeholder, so that the elements after it keep their numbers.
        Some(ElementUse { of, name, requirement: requirement.unwrap_or(crate::guide::Requirement::Optional), repeat })
    }

    /// Notes until the end of the line.
    pub(super) fn notes(&mut self, words: &mut Words<'t>, notes: &mut Vec<SyntaxNote>, places: &mut Vec<(u8, Span)>) {
        while let Some(word) = words.take() {
            match words::read_note(&word.text) {
                Some(note) => {
                    places.extend(note.elements.iter().max().map(|element| (*element, word.span)));
                    notes.push(note);
                }
                None => {
                    let message = format!("`{}` is not a note", word.text);
                    words.fault(codes::VALUE, word.span, message, format!("write {}", words::NOTES), self.report);
                }
            }
        }
    }

    /// Parses a number or `*`. `None` is a fault, `Some(None)` is unbounded.
    pub(super) fn count(&mut self, words: &mut Words<'t>, what: &str, form: &str) -> Option<Option<u32>> {
        let word = words.need(what, form, self.report)?;
        if word.text == "*" {
            return Some(None);
        }
        let number = words::number(&word.text).filter(|n| *n > 0);
        if number.is_none() {
            let message = format!("`{}` is not {what}", word.text);
            words.fault(codes::VALUE, word.span, message, "write a number from 1, or * for any number", self.report);
        }
        number.map(Some)
    }

    pub(super) fn code_list(&mut self, mut words: Words<'t>, entry: &Entry) {
        let id = words.need("the name of the code list", CODES, self.report);
        let name = words.text();
        let open = words.keyword("open").is_some();
        let at = words.span();
        let file = words.keyword("file").map(|_| words.text());
        if let Some(None) = file {
            words.fault(codes::MISSING, at, "the name of the file is missing", format!("form: {CODES}"), self.report);
        }
        words.finish(CODES, self.report);
        let mut list = CodeList { name, codes: Vec::new(), open };
        let mut spans: Vec<Span> = Vec::new();
        for entry in self.entries(entry.below.clone()) {
            self.code_line(&entry, &mut list.codes, &mut spans);
        }
        let mut order: Vec<usize> = (0..list.codes.len()).collect();
        order.sort_by(|a, b| list.codes[*a].value.cmp(&list.codes[*b].value).then(a.cmp(b)));
        for pair in order.windows(2) {
            if list.codes[pair[0]].value == list.codes[pair[1]].value {
                let message = format!("code `{}` occurs twice", list.codes[pair[1]].value);
                self.report.error(codes::TWICE, spans[pair[1]], message, "remove one of them");
            }
        }
        let Some(id) = id else { return };
        if let Some(Some(file)) = file {
            self.content.code_files.push((id.text.to_string(), file, at));
        }
        let before = self.content.dictionary.codes.insert(id.text.to_string(), list).is_some();
        self.defined_twice("code list", &id.text, before, id.span);
    }

    fn code_line(&mut self, entry: &Entry, codes: &mut Vec<CodeEntry>, spans: &mut Vec<Span>) {
        let mut words = self.words(entry);
        let from = codes.len();
        while let Some(word) = words.take() {
            codes.push(CodeEntry { value: word.text.into_owned(), name: None, from: None, until: None });
            spans.push(word.span);
            if words.peek().is_none_or(|next| !next.quoted) && !matches!(words.peek_bare(), Some("from" | "until")) {
                continue;
            }
            if codes.len() > from + 1 {
                let at = words.span();
                words.fault(
                    codes::WORD,
                    at,
                    "a line with a name or a date has several codes",
                    format!("form: {CODE}"),
                    self.report,
                );
                break;
            }
            let name = words.text();
            let since = words.keyword("from").and_then(|_| self.day(&mut words));
            let until = words.keyword("until").and_then(|_| self.day(&mut words));
            if let Some(code) = codes.last_mut() {
                *code = CodeEntry { value: core::mem::take(&mut code.value), name, from: since, until };
            }
            break;
        }
        self.end(words, entry, CODE);
    }

    fn day(&mut self, words: &mut Words<'t>) -> Option<u32> {
        let word = words.need("the day", CODE, self.report)?;
        let day = words::number(&word.text).filter(|day| word.text.len() == 8 && crate::calendar::is_day(*day));
        if day.is_none() {
            let message = format!("`{}` is not a day", word.text);
            words.fault(codes::VALUE, word.span, message, "write year, month and day: 20260401", self.report);
        }
        day
    }

    fn defined_twice(&mut self, what: &str, id: &str, before: bool, at: Span) {
        if before {
            let message = format!("{what} {id} is defined twice in this file");
            self.report.error(codes::TWICE, at, message, "remove one of the definitions");
        }
    }
}

/// Owner of the parsed elements: a composite, or a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum InComposite {
    No,
    Yes,
}
