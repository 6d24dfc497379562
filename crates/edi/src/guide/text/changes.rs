//! Overlays: the changes of a partner's variant to its base guide.

use core::ops::Range;

use quayline_core::nearest;

use super::codes;
use super::lines::{Entry, Words};
use super::parse::{Parser, Reference, Referred};
use super::report::{Report, Span};
use super::structure::SEGMENT;
use super::words;
use crate::guide::{Guide, Item, LoopUse, Requirement, SegmentUse, item_names};

/// One change.
#[derive(Debug)]
pub(super) struct Change {
    /// Loops from the outermost that is named.
    path: Vec<String>,
    path_at: Span,
    action: Action,
    /// Name of the item.
    name: String,
    name_at: Span,
}

#[derive(Debug)]
enum Action {
    RemoveSegment,
    RemoveLoop,
    /// Replaces attributes.
    ChangeSegment {
        requirement: Option<Requirement>,
        max: Option<Option<u32>>,
        used: Box<SegmentUse>,
        references: Vec<Reference>,
    },
    ChangeLoop {
        requirement: Option<Requirement>,
        repeat: Option<Option<u32>>,
        used: Box<LoopUse>,
    },
    /// New items at a place.
    Add {
        place: AddPlace,
        items: Vec<Item>,
    },
    RemoveRule,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AddPlace {
    First,
    Last,
    Before,
    Behind,
}

const AT: &str = "at LOOP[/LOOP], at top";
const CHANGE_SEGMENT: &str =
    "change segment NAME [M|O|N] [COUNT|*] [\"NAME\"] [id NAME] [position NUMBER] [where ELEMENT = VALUE|VALUE]";
const CHANGE_LOOP: &str = "change loop ID [M|O|N] [COUNT|*] [\"NAME\"] [position NUMBER]";
const ADD: &str = "add first, add last, add before NAME, add after NAME; the segments and loops in lines below";

impl<'t> Parser<'t, '_> {
    pub(super) fn changes(&mut self, within: Range<usize>) {
        for entry in self.entries(within) {
            let mut words = self.words(&entry);
            if words.keyword("at").is_none() {
                if let Some(word) = words.take() {
                    self.unknown(words, &word.text, word.span, &["at"]);
                }
                continue;
            }
            let Some(word) = words.need("the loop", AT, self.report) else { continue };
            words.finish(AT, self.report);
            let path = match &*word.text {
                "top" if !word.quoted => Vec::new(),
                path => path.split('/').map(str::to_owned).collect(),
            };
            for entry in self.entries(entry.below.clone()) {
                self.change(&entry, &path, word.span);
            }
        }
    }

    fn change(&mut self, entry: &Entry, path: &[String], path_at: Span) {
        let mut words = self.words(entry);
        let Some(verb) = words.take() else { return };
        let push = |parser: &mut Self, action, name: String, name_at| {
            parser.content.changes.push(Change { path: path.to_vec(), path_at, action, name, name_at });
        };
        match &*verb.text {
            "remove" => {
                const FORM: &str = "remove segment NAME, remove loop ID";
                let Some(action) = self.kind_of(&mut words, FORM) else { return };
                let Some(name) = words.need("the name", FORM, self.report) else { return };
                self.end(words, entry, FORM);
                let action = if action { Action::RemoveSegment } else { Action::RemoveLoop };
                push(self, action, name.text.into_owned(), name.span);
            }
            "change" => {
                let Some(is_segment) = self.kind_of(&mut words, CHANGE_SEGMENT) else { return };
                let Some(name) = words.need("the name", CHANGE_SEGMENT, self.report) else { return };
                let (requirement, max) = self.optional_requirement_and_count(&mut words);
                let action = if is_segment {
                    // References of the elements are to the segment that it is in the base, known when the change is made.
                    let before = self.content.references.len();
                    let mut used = Box::new(empty_segment());
                    self.segment_rest(&mut words, &mut used);
                    words.finish(CHANGE_SEGMENT, self.report);
                    self.segment_changes(entry, &mut used);
                    let (places, other): (Vec<_>, Vec<_>) = self
                        .content
                        .references
                        .split_off(before)
                        .into_iter()
                        .partition(|reference| matches!(reference.what, Referred::Place { .. }));
                    self.content.references.extend(other);
                    Action::ChangeSegment { requirement, max, used, references: places }
                } else {
                    let mut used = Box::new(LoopUse {
                        id: String::new(),
                        name: None,
                        requirement: Requirement::Optional,
                        repeat: None,
                        position: 0,
                        levels: Vec::new(),
                        items: Vec::new(),
                    });
                    self.loop_rest(&mut words, &mut used);
                    self.end(words, entry, CHANGE_LOOP);
                    Action::ChangeLoop { requirement, repeat: max, used }
                };
                push(self, action, name.text.into_owned(), name.span);
            }
            "add" => {
                let Some(word) = words.need("where", ADD, self.report) else { return };
                let place = match &*word.text {
                    "first" => AddPlace::First,
                    "last" => AddPlace::Last,
                    "before" => AddPlace::Before,
                    "after" => AddPlace::Behind,
                    _ => return self.unknown(words, &word.text, word.span, &["first", "last", "before", "after"]),
                };
                let mut name = (String::new(), word.span);
                if matches!(place, AddPlace::Before | AddPlace::Behind) {
                    let Some(word) = words.need("the name", ADD, self.report) else { return };
                    name = (word.text.into_owned(), word.span);
                }
                words.finish(ADD, self.report);
                let items = self.items(entry.below.clone(), path.len() + 1);
                push(self, Action::Add { place, items }, name.0, name.1);
            }
            _ => self.unknown(words, &verb.text, verb.span, &["remove", "change", "add"]),
        }
    }

    /// Parses `remove rule NAME` among the rules.
    pub(super) fn remove_rule(&mut self, mut words: Words<'t>, entry: &Entry) {
        const FORM: &str = "remove rule NAME";
        words.keyword("rule");
        let Some(name) = words.need("the name of the rule", FORM, self.report) else { return };
        self.end(words, entry, FORM);
        self.content.changes.push(Change {
            path: Vec::new(),
            path_at: name.span,
            action: Action::RemoveRule,
            name: name.text.into_owned(),
            name_at: name.span,
        });
    }

    /// Parses `segment` or `loop`; true for a segment.
    fn kind_of(&mut self, words: &mut Words<'t>, form: &str) -> Option<bool> {
        let word = words.need("`segment` or `loop`", form, self.report)?;
        match &*word.text {
            "segment" => Some(true),
            "loop" => Some(false),
            _ => {
                let message = format!("`{}` is not expected here", word.text);
                words.fault(codes::WORD, word.span, message, format!("form: {form}"), self.report);
                None
            }
        }
    }

    fn optional_requirement_and_count(&mut self, words: &mut Words<'t>) -> (Option<Requirement>, Option<Option<u32>>) {
        let requirement = words.peek_bare().and_then(words::read_requirement);
        if requirement.is_some() {
            words.take();
        }
        let counts =
            words.peek_bare().is_some_and(|word| word == "*" || word.starts_with(|c: char| c.is_ascii_digit()));
        let max = if counts { self.count(words, "the maximum count", SEGMENT) } else { None };
        (requirement, max)
    }
}

fn empty_segment() -> SegmentUse {
    SegmentUse {
        tag: String::new(),
        id: None,
        name: None,
        requirement: Requirement::Optional,
        max: None,
        position: 0,
        qualifier: None,
        changes: Vec::new(),
        notes: None,
    }
}

/// Makes the changes in the order in which they are written. References of changed elements are added to `references`.
pub(super) fn apply(guide: &mut Guide, changes: Vec<Change>, references: &mut Vec<Reference>, report: &mut Report) {
    for change in changes {
        if matches!(change.action, Action::RemoveRule) {
            let before = guide.rules.len();
            guide.rules.retain(|rule| rule.name != change.name);
            if guide.rules.len() == before {
                missing(
                    report,
                    "rule",
                    &change.name,
                    change.name_at,
                    guide.rules.iter().map(|rule| rule.name.as_str()),
                );
            }
            continue;
        }
        if let Some(items) = at_path(&mut guide.structure, &change.path, change.path_at, report) {
            make(items, change, references, report);
        }
    }
}

fn make(items: &mut Vec<Item>, change: Change, references: &mut Vec<Reference>, report: &mut Report) {
    let names = item_names(items);
    let found = names.iter().position(|name| *name == change.name);
    let is_segment = |at: usize| matches!(items[at], Item::Segment(_));
    let wants_segment = matches!(change.action, Action::RemoveSegment | Action::ChangeSegment { .. });
    let wants_any = matches!(change.action, Action::Add { .. });
    let at = match (&change.action, found) {
        (Action::Add { place: AddPlace::First, .. }, _) => 0,
        (Action::Add { place: AddPlace::Last, .. }, _) => items.len(),
        (_, Some(at)) if wants_any || is_segment(at) == wants_segment => at,
        _ => {
            let what = if wants_any {
                "segment or loop"
            } else if wants_segment {
                "segment"
            } else {
                "loop"
            };
            missing(report, what, &change.name, change.name_at, names.iter().map(String::as_str));
            return;
        }
    };
    match change.action {
        Action::RemoveSegment | Action::RemoveLoop => {
            items.remove(at);
        }
        Action::Add { place, items: new } => {
            let at = if place == AddPlace::Behind { at + 1 } else { at };
            items.splice(at..at, new);
        }
        Action::ChangeSegment { requirement, max, used, references: places } => {
            if let Item::Segment(segment) = &mut items[at] {
                for mut reference in places {
                    if let Referred::Place { tag, .. } = &mut reference.what {
                        tag.clone_from(&segment.tag);
                    }
                    references.push(reference);
                }
                change_segment(segment, requirement, max, *used);
            }
        }
        Action::ChangeLoop { requirement, repeat, used } => {
            if let Item::Loop(inner) = &mut items[at] {
                inner.requirement = requirement.unwrap_or(inner.requirement);
                inner.repeat = repeat.unwrap_or(inner.repeat);
                inner.name = used.name.or(inner.name.take());
                if used.position != 0 {
                    inner.position = used.position;
                }
            }
        }
        Action::RemoveRule => {}
    }
}

fn change_segment(
    segment: &mut SegmentUse,
    requirement: Option<Requirement>,
    max: Option<Option<u32>>,
    used: SegmentUse,
) {
    segment.requirement = requirement.unwrap_or(segment.requirement);
    segment.max = max.unwrap_or(segment.max);
    segment.id = used.id.or(segment.id.take());
    segment.name = used.name.or(segment.name.take());
    segment.qualifier = used.qualifier.or(segment.qualifier.take());
    segment.notes = used.notes.or(segment.notes.take());
    if used.position != 0 {
        segment.position = used.position;
    }
    for new in used.changes {
        let same = segment.changes.iter_mut().find(|old| (old.element, old.component) == (new.element, new.component));
        let Some(old) = same else {
            segment.changes.push(new);
            continue;
        };
        old.name = new.name.or(old.name.take());
        old.requirement = new.requirement.or(old.requirement);
        old.min = new.min.or(old.min);
        old.max = new.max.or(old.max);
        old.repeat = new.repeat.or(old.repeat);
        old.codes = new.codes.or(old.codes.take());
        old.data_type = new.data_type.or(old.data_type);
    }
}

/// Returns the items of a loop. The first id is searched at any depth and must be unique, the others directly below it.
fn at_path<'g>(
    structure: &'g mut Vec<Item>,
    path: &[String],
    at: Span,
    report: &mut Report,
) -> Option<&'g mut Vec<Item>> {
    let Some((first, rest)) = path.split_first() else { return Some(structure) };
    let mut routes = Vec::new();
    find_loops(structure, first, &mut Vec::new(), &mut routes);
    if routes.len() > 1 {
        // The way from the top settles it.
        routes.retain(|route| route.len() == 1);
    }
    let [route] = &routes[..] else {
        let ids = loop_ids(structure);
        let mut all: Vec<&str> = ids.iter().map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        if all.contains(&first.as_str()) {
            let message = format!("there is more than one loop {first}");
            report.error(
                codes::NOT_IN_BASE,
                at,
                message,
                "write the loops around it too, from the outermost: 2000B/2300",
            );
        } else {
            missing(report, "loop", first, at, all);
        }
        return None;
    };
    let mut items = structure;
    for index in route {
        items = match &mut items[*index] {
            Item::Loop(inner) => &mut inner.items,
            Item::Segment(_) => return None,
        };
    }
    for id in rest {
        let found = items.iter().position(|item| matches!(item, Item::Loop(inner) if inner.id == *id));
        let Some(index) = found else {
            let ids: Vec<&str> = items.iter().filter_map(|item| loop_of(item).map(|inner| inner.id.as_str())).collect();
            missing(report, "loop", id, at, ids);
            return None;
        };
        items = match &mut items[index] {
            Item::Loop(inner) => &mut inner.items,
            Item::Segment(_) => return None,
        };
    }
    Some(items)
}

fn loop_of(item: &Item) -> Option<&LoopUse> {
    match item {
        Item::Loop(inner) => Some(inner),
        Item::Segment(_) => None,
    }
}

fn find_loops(items: &[Item], id: &str, route: &mut Vec<usize>, routes: &mut Vec<Vec<usize>>) {
    for (index, item) in items.iter().enumerate() {
        let Some(inner) = loop_of(item) else { continue };
        route.push(index);
        if inner.id == id {
            routes.push(route.clone());
        }
        find_loops(&inner.items, id, route, routes);
        route.pop();
    }
}

/// Ids of all loops.
pub(super) fn loop_ids(items: &[Item]) -> Vec<String> {
    let mut ids = Vec::new();
    for inner in items.iter().filter_map(loop_of) {
        ids.push(inner.id.clone());
        ids.extend(loop_ids(&inner.items));
    }
    ids
}

fn missing<'a>(report: &mut Report, what: &str, name: &str, at: Span, known: impl IntoIterator<Item = &'a str>) {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? There are {}", known.join(", ")),
        None if known.is_empty() => format!("the base has no {what}"),
        None => format!("there are {}", known.join(", ")),
    };
    report.error(codes::NOT_IN_BASE, at, format!("the base has no {what} {name} here"), hint);
}
