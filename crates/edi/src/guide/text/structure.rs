//! Segments and loops at their places.

use core::ops::Range;

use super::codes;
use super::lines::{Entry, Words};
use super::parse::{Parser, Referred};
use super::report::Span;
use super::words;
use crate::guide::{Codes, ElementChange, HlLevel, Item, LoopUse, Qualifier, Requirement, SegmentUse};

pub(super) const SEGMENT: &str =
    "segment TAG M|O|N [COUNT|*] [\"NAME\"] [id NAME] [position NUMBER] [where ELEMENT = VALUE|VALUE]";
const LOOP: &str = "loop ID M|O|N [COUNT|*] [\"NAME\"] [position NUMBER]";
const LEVEL: &str = "level CODE top, level CODE in CODE ..., level CODE top in CODE ...";
const CHANGE: &str =
    "ELEMENT[-COMPONENT] [M|O|N] [as TYPE] [MIN..MAX] [repeat COUNT] [\"NAME\"] [codes list NAME|any|CODE ...]";

impl<'t> Parser<'t, '_> {
    /// Segments and loops in order; `depth` counts loops around them.
    pub(super) fn items(&mut self, within: Range<usize>, depth: usize) -> Vec<Item> {
        self.items_behind(0, within, depth)
    }

    /// Parses the items after the given number of other lines.
    fn items_behind(&mut self, lines: usize, within: Range<usize>, depth: usize) -> Vec<Item> {
        let entries = self.entries(within);
        if depth > self.depth_max {
            if let Some(first) = entries.first() {
                let at = self.words(first).span();
                let message = format!("loops nest deeper than {}", self.depth_max);
                self.report.error(
                    codes::LIMIT,
                    at,
                    message,
                    "look at the indentation, or allow more with `--limit depth=N`",
                );
            }
            return Vec::new();
        }
        entries[lines..].iter().filter_map(|entry| self.item(entry, depth)).collect()
    }

    fn item(&mut self, entry: &Entry, depth: usize) -> Option<Item> {
        let mut words = self.words(entry);
        if words.keyword("segment").is_some() {
            return self.segment_use(words, entry).map(Item::Segment);
        }
        if words.keyword("loop").is_some() {
            return self.loop_use(words, entry, depth).map(Item::Loop);
        }
        if let Some(word) = words.take() {
            self.unknown(words, &word.text, word.span, &["segment", "loop"]);
        }
        None
    }

    fn segment_use(&mut self, mut words: Words<'t>, entry: &Entry) -> Option<SegmentUse> {
        let tag = words.need("the tag of the segment", SEGMENT, self.report)?;
        self.refer(Referred::Segment(tag.text.to_string()), tag.span);
        let (requirement, max) = self.requirement_and_count(&mut words, SEGMENT);
        let mut used = SegmentUse {
            tag: tag.text.into_owned(),
            id: None,
            name: None,
            requirement,
            max,
            position: 0,
            qualifier: None,
            changes: Vec::new(),
            notes: None,
        };
        self.segment_rest(&mut words, &mut used);
        words.finish(SEGMENT, self.report);
        self.segment_changes(entry, &mut used);
        Some(used)
    }

    /// Parses the optional words after requirement and count.
    pub(super) fn segment_rest(&mut self, words: &mut Words<'t>, used: &mut SegmentUse) {
        loop {
            if let Some(text) = words.text() {
                used.name = Some(text);
            } else if words.keyword("id").is_some() {
                used.id = words.need("the name in documents", SEGMENT, self.report).map(|word| word.text.into_owned());
            } else if words.keyword("position").is_some() {
                used.position = self.position(words, SEGMENT);
            } else if words.keyword("where").is_some() {
                used.qualifier = self.qualifier(words, &used.tag);
            } else {
                break;
            }
        }
    }

    fn qualifier(&mut self, words: &mut Words<'t>, tag: &str) -> Option<Qualifier> {
        let word = words.need("the element of the qualifier", SEGMENT, self.report)?;
        let Some((element, component)) = words::read_place(&word.text) else {
            self.no_place(words, &word.text, word.span);
            return None;
        };
        self.refer(Referred::Place { tag: tag.to_owned(), element, component }, word.span);
        if words.keyword("=").is_none() {
            let at = words.peek().map_or_else(|| words.span(), |word| word.span);
            words.fault(codes::MISSING, at, "`=` is missing", format!("form: {SEGMENT}"), self.report);
        }
        let mut values = Vec::new();
        loop {
            values.push(words.need("a value of the qualifier", SEGMENT, self.report)?.text.into_owned());
            if words.keyword("|").is_none() {
                return Some(Qualifier { element, component, values });
            }
        }
    }

    fn no_place(&mut self, words: &mut Words<'t>, found: &str, at: Span) {
        let message = format!("`{found}` is not an element");
        let hint = "write its number from 1, and the component's after a dash: 05 or 05-1";
        words.fault(codes::VALUE, at, message, hint, self.report);
    }

    fn position(&mut self, words: &mut Words<'t>, form: &str) -> u32 {
        let Some(word) = words.need("the position", form, self.report) else { return 0 };
        words::number(&word.text).unwrap_or_else(|| {
            let message = format!("`{}` is not a position", word.text);
            words.fault(
                codes::VALUE,
                word.span,
                message,
                "write a number; those with the same may come in any order",
                self.report,
            );
            0
        })
    }

    /// Parses requirement and maximum count, which defaults to 1.
    fn requirement_and_count(&mut self, words: &mut Words<'t>, form: &str) -> (Requirement, Option<u32>) {
        let Some(word) = words.need("the requirement", form, self.report) else {
            return (Requirement::Optional, Some(1));
        };
        let Some(requirement) = words::read_requirement(&word.text).filter(|_| !word.quoted) else {
            let message = format!("`{}` is not a requirement", word.text);
            words.fault(
                codes::VALUE,
                word.span,
                message,
                "write M (mandatory), O (optional) or N (not used)",
                self.report,
            );
            return (Requirement::Optional, Some(1));
        };
        let counts =
            words.peek_bare().is_some_and(|word| word == "*" || word.starts_with(|c: char| c.is_ascii_digit()));
        let max = if counts { self.count(words, "the maximum count", form).unwrap_or(Some(1)) } else { Some(1) };
        (requirement, max)
    }

    fn loop_use(&mut self, mut words: Words<'t>, entry: &Entry, depth: usize) -> Option<LoopUse> {
        let id = words.need("the id of the loop", LOOP, self.report)?;
        let below = self.entries(entry.below.clone());
        let levels = below.iter().take_while(|entry| self.is_level(entry)).count();
        let opens = match below.get(levels) {
            Some(first) => self.words(first).peek_bare() != Some("loop"),
            None => false,
        };
        let (requirement, repeat) = self.requirement_and_count(&mut words, LOOP);
        let mut used = LoopUse {
            id: id.text.into_owned(),
            name: None,
            requirement,
            repeat,
            position: 0,
            levels: below[..levels].iter().filter_map(|entry| self.level(entry)).collect(),
            items: self.items_behind(levels, entry.below.clone(), depth + 1),
        };
        self.loop_rest(&mut words, &mut used);
        words.finish(LOOP, self.report);
        if !opens {
            let message = format!("loop {} does not begin with a segment", used.id);
            let hint = "the first segment of a loop opens each repetition: write it first, below the loop";
            self.report.error(codes::STRUCTURE, id.span, message, hint);
        }
        Some(used)
    }

    /// Returns true if a line at the beginning of a loop defines one of its levels.
    fn is_level(&mut self, entry: &Entry) -> bool {
        self.words(entry).peek_bare() == Some("level")
    }

    fn level(&mut self, entry: &Entry) -> Option<HlLevel> {
        let mut words = self.words(entry);
        words.keyword("level")?;
        let code = words.need("the code of the level", LEVEL, self.report)?;
        let mut level = HlLevel { code: code.text.into_owned(), ..HlLevel::default() };
        level.top = words.keyword("top").is_some();
        if words.keyword("in").is_some() {
            while let Some(word) = words.take() {
                level.within.push(word.text.into_owned());
            }
        }
        if !level.top && level.within.is_empty() {
            let at = words.peek().map_or(code.span, |word| word.span);
            let message = format!("level {} says neither `top` nor its parent level", level.code);
            words.fault(codes::MISSING, at, message, format!("form: {LEVEL}"), self.report);
        }
        self.end(words, entry, LEVEL);
        Some(level)
    }

    /// Parses the optional words after requirement and count.
    pub(super) fn loop_rest(&mut self, words: &mut Words<'t>, used: &mut LoopUse) {
        loop {
            if let Some(text) = words.text() {
                used.name = Some(text);
            } else if words.keyword("position").is_some() {
                used.position = self.position(words, LOOP);
            } else {
                break;
            }
        }
    }

    /// Parses the lines below a segment: the differences of its elements from the dictionary.
    pub(super) fn segment_changes(&mut self, entry: &Entry, used: &mut SegmentUse) {
        for entry in self.entries(entry.below.clone()) {
            let mut words = self.words(&entry);
            if words.keyword("notes").is_some() {
                let (mut notes, mut places) = (Vec::new(), Vec::new());
                if words.keyword("none").is_none() {
                    self.notes(&mut words, &mut notes, &mut places);
                }
                for (element, at) in places {
                    self.refer(Referred::Place { tag: used.tag.clone(), element, component: 0 }, at);
                }
                self.end(words, &entry, "notes NOTE ..., notes none");
                used.notes = Some(notes);
                continue;
            }
            self.element_change(words, &entry, used);
        }
    }

    fn element_change(&mut self, mut words: Words<'t>, entry: &Entry, used: &mut SegmentUse) {
        let Some(place) = words.take() else { return };
        let Some((element, component)) = words::read_place(&place.text).filter(|_| !place.quoted) else {
            if place.text.starts_with(|c: char| c.is_ascii_digit()) {
                self.no_place(&mut words, &place.text, place.span);
            } else {
                let known = ["notes"];
                let at = place.span;
                self.unknown(words, &place.text, at, &known);
            }
            return;
        };
        self.refer(Referred::Place { tag: used.tag.clone(), element, component }, place.span);
        let mut change = ElementChange { element, component, ..ElementChange::default() };
        let mut has_codes = false;
        while let Some(word) = words.peek().cloned() {
            if let Some(text) = words.text() {
                change.name = Some(text);
            } else if words.keyword("repeat").is_some() {
                let count = self.count(&mut words, "the number of repetitions", CHANGE);
                change.repeat = count.map(|count| count.unwrap_or(u32::MAX));
            } else if words.keyword("codes").is_some() {
                change.codes = self.place_codes(&mut words, entry);
                has_codes = true;
            } else if words.keyword("as").is_some() {
                change.data_type = self.data_type(&mut words);
            } else if let Some(requirement) = words::read_requirement(&word.text) {
                words.take();
                change.requirement = Some(requirement);
            } else if let Some((min, max)) = words::read_length(&word.text) {
                words.take();
                if min.zip(max).is_some_and(|(min, max)| min > max) || max == Some(0) {
                    let message = format!("`{}` is not a length", word.text);
                    words.fault(
                        codes::VALUE,
                        word.span,
                        message,
                        "write the fewest, then the most characters",
                        self.report,
                    );
                }
                (change.min, change.max) = (min, max);
            } else {
                break;
            }
        }
        if has_codes {
            words.finish(CHANGE, self.report);
        } else {
            self.end(words, entry, CHANGE);
        }
        if used.changes.iter().any(|other| (other.element, other.component) == (element, component)) {
            let message = format!("element {} is changed twice", words::place(element, component));
            self.report.error(codes::TWICE, place.span, message, "write what differs in one line");
            return;
        }
        used.changes.push(change);
    }

    fn data_type(&mut self, words: &mut Words<'t>) -> Option<crate::guide::DataType> {
        let word = words.need("the data type", CHANGE, self.report)?;
        let data_type = words::read_data_type(&word.text);
        if data_type.is_none() {
            let message = format!("`{}` is not a data type", word.text);
            words.fault(codes::VALUE, word.span, message, format!("known are {}", words::DATA_TYPES), self.report);
        }
        data_type
    }

    /// Parses `list NAME`, `any`, or codes in this line and in those below.
    fn place_codes(&mut self, words: &mut Words<'t>, entry: &Entry) -> Option<Codes> {
        if words.keyword("any").is_some() {
            return Some(Codes::Any);
        }
        if words.keyword("list").is_some() {
            let word = words.need("the name of the code list", CHANGE, self.report)?;
            self.refer(Referred::Codes(word.text.to_string()), word.span);
            return Some(Codes::List(word.text.into_owned()));
        }
        let mut values: Vec<String> = Vec::new();
        while let Some(word) = words.take() {
            values.push(word.text.into_owned());
        }
        for entry in self.entries(entry.below.clone()) {
            let mut line = self.words(&entry);
            while let Some(word) = line.take() {
                values.push(word.text.into_owned());
            }
            self.end(line, &entry, "CODE ...");
        }
        if values.is_empty() {
            let at = words.span();
            words.fault(codes::MISSING, at, "the codes are missing", format!("form: {CHANGE}"), self.report);
            return None;
        }
        Some(Codes::These(values))
    }
}
