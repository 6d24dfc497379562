//! Inserts one fault of a class into a valid file, and judges the findings. The tests of `quayline-dictionary` also use it, for imported guides.

#[path = "classes.rs"]
mod classes;
#[path = "oracle.rs"]
mod oracle;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use quayline_core::{Limits, Severity};
use quayline_edi::guide::{
    Codes, CompiledGuide, DataType, ElementChange, ElementOf, Guide, Item, ItemId, Requirement, SegmentUse, SyntaxNote,
    Walk,
};
use quayline_edi::{EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Standard, Validator, ValidatorOptions};

pub(crate) use classes::{CLASSES, HARD_CLASSES, Mutator};
use oracle::Remedy;

/// Returns all findings of a text.
pub(crate) fn findings(text: &[u8], guide: &Arc<CompiledGuide>, options: &ValidatorOptions) -> Vec<EdiFault> {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut validator = Validator::new(options.clone());
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut found = Vec::new();
    loop {
        match pass.advance() {
            Event::TransactionStart => validator.begin(Some(guide), &pass),
            Event::Segment if pass.in_transaction() => {
                validator.segment(&pass);
                if let Some(bytes) = validator.take_cut() {
                    pass.take_break_back(bytes);
                    pass.end_segment_at(bytes);
                }
            }
            Event::TransactionEnd(closed) => {
                validator.end(closed, &pass);
            }
            Event::Done => {
                found.extend(pass.take_faults());
                return found;
            }
            _ => {}
        }
        found.extend(pass.take_faults());
        found.extend(validator.take_faults());
    }
}

/// A valid file with its guide.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) guide: Guide,
    pub(crate) compiled: Arc<CompiledGuide>,
    pub(crate) segments: Vec<Line>,
    head: String,
}

/// A segment of a file.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Original elements, the tag first.
    elements: Vec<String>,
    pub(crate) item: Option<ItemId>,
    /// Loops that are open after it: item and number of the instance in the file.
    loops: Vec<(ItemId, usize)>,
}

impl Line {
    pub(crate) fn tag(&self) -> &str {
        &self.elements[0]
    }
}

/// A file with one fault, and its expected finding.
pub(crate) struct Mutant {
    pub(crate) segments: Vec<Line>,
    /// Codes that the standard gives the class: AK304 or IK304, AK403 or IK403 (or AK502), data element 0085.
    pub(crate) codes: &'static [[&'static str; 3]],
    /// Range of segments at which the finding may be.
    pub(crate) at: (usize, usize),
    element: Option<(u32, u32)>,
}

impl Subject {
    pub(crate) fn new(name: &str, guide: Guide, text: &str) -> Self {
        let compiled = Arc::new(CompiledGuide::new(&guide).unwrap_or_else(|findings| panic!("{findings}")));
        let is_x12 = guide.standard == Standard::X12;
        let (head, text) = if is_x12 { ("", text) } else { text.split_at(text.find("UNB").expect("a header")) };
        let mut subject =
            Subject { name: name.to_owned(), guide, compiled, segments: Vec::new(), head: head.trim_end().to_owned() };
        subject.segments = subject.lines(text);
        subject
    }

    pub(crate) fn is_x12(&self) -> bool {
        self.guide.standard == Standard::X12
    }

    fn lines(&self, text: &str) -> Vec<Line> {
        let (element, release, terminator) = if self.is_x12() { ('*', '\0', '~') } else { ('+', '?', '\'') };
        let mut walk = Walk::new(Arc::clone(&self.compiled));
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
        let (mut lines, mut open, mut serial): (Vec<Line>, Vec<(ItemId, usize)>, usize) = (Vec::new(), Vec::new(), 0);
        let split = |raw: &[u8]| {
            let (mut elements, mut released) = (vec![String::new()], false);
            for c in raw.iter().map(|byte| char::from(*byte)) {
                assert!(c != terminator || released);
                if c == element && !released {
                    elements.push(String::new());
                    continue;
                }
                released = c == release && !released;
                elements.last_mut().expect("one").push(c);
            }
            elements
        };
        loop {
            let event = pass.advance();
            let mut item = None;
            match event {
                Event::TransactionStart => walk.start(),
                Event::Segment => {
                    let placement = walk.segment(&pass.segment());
                    item = placement.item;
                    open.truncate(open.len() - placement.left as usize);
                    let entered: Vec<ItemId> = walk.open_loops().skip(open.len()).collect();
                    for id in entered {
                        serial += 1;
                        open.push((id, serial));
                    }
                }
                Event::TransactionEnd(_) => {
                    walk.finish();
                    open.clear();
                }
                Event::Done => return lines,
                Event::NeedMore => panic!("all is there"),
                _ => {}
            }
            lines.push(Line { elements: split(pass.segment().raw()), item, loops: open.clone() });
        }
    }

    /// The file, with counts that are right unless `counts` is false.
    pub(crate) fn text(&self, segments: &[Line], counts: bool) -> String {
        self.text_of(segments, counts, None)
    }

    /// Writes a mutant as a file. Its counts are those of its segments, except that a sender counts two merged segments as two.
    pub(crate) fn mutant_text(&self, mutant: &Mutant, class: &str) -> String {
        let merged = (class == "terminator missing").then_some(mutant.at.0);
        self.text_of(&mutant.segments, class != "count wrong", merged)
    }

    fn text_of(&self, segments: &[Line], counts: bool, merged: Option<usize>) -> String {
        let (element, terminator) = if self.is_x12() { ("*", "~\n") } else { ("+", "'\n") };
        let mut out = self.head.clone();
        let mut first = 0;
        for (i, line) in segments.iter().enumerate() {
            let mut elements = line.elements.clone();
            match line.tag() {
                "ST" | "UNH" => first = i,
                "SE" | "UNT" if counts => {
                    let more = usize::from(merged.is_some_and(|at| (first..i).contains(&at)));
                    elements[1] = (i - first + 1 + more).to_string();
                }
                _ => {}
            }
            out.push_str(&elements.join(element));
            out.push_str(terminator);
        }
        out
    }

    fn position_of_loop(&self, id: ItemId) -> u32 {
        fn walk(items: &[Item], left: &mut usize) -> Option<u32> {
            for item in items {
                *left = left.checked_sub(1)?;
                let (position, inner) = match item {
                    Item::Segment(_) => (0, &[][..]),
                    Item::Loop(inner) => (inner.position, &inner.items[..]),
                };
                if *left == 0 {
                    return Some(position);
                }
                if let Some(position) = walk(inner, left) {
                    return Some(position);
                }
            }
            None
        }
        walk(&self.guide.structure, &mut (id.0 as usize)).unwrap_or(0)
    }

    fn uses(&self) -> Vec<Option<&SegmentUse>> {
        fn walk<'g>(items: &'g [Item], out: &mut Vec<Option<&'g SegmentUse>>) {
            for item in items {
                match item {
                    Item::Segment(segment) => out.push(Some(segment)),
                    Item::Loop(inner) => {
                        out.push(None);
                        walk(&inner.items, out);
                    }
                }
            }
        }
        let mut out = vec![None];
        walk(&self.guide.structure, &mut out);
        out
    }

    /// Returns an element or component at a place with its definition in the guide.
    fn element<'g>(&'g self, usage: &'g SegmentUse, element: usize, component: usize) -> Option<Place<'g>> {
        let dictionary = &self.guide.dictionary;
        let of_segment = dictionary.segments.get(&usage.tag)?.elements.get(element - 1)?;
        let used = match (&of_segment.of, component) {
            (ElementOf::Element(_), 0) => of_segment,
            (ElementOf::Composite(id), 1..) => dictionary.composites[id].components.get(component - 1)?,
            _ => return None,
        };
        let ElementOf::Element(number) = &used.of else { return None };
        let def = &dictionary.elements[number];
        let mut place = Place {
            data_type: def.data_type,
            min: def.min as usize,
            max: def.max as usize,
            requirement: used.requirement,
            coded: def.codes.is_some(),
            closed: def.codes.as_ref().is_some_and(|list| self.is_closed(list)),
            list: def.codes.as_deref(),
            repeat: used.repeat,
        };
        for change in self.changes(usage, element, component) {
            place.min = change.min.map_or(place.min, |min| min as usize);
            place.max = change.max.map_or(place.max, |max| max as usize);
            place.requirement = change.requirement.unwrap_or(place.requirement);
            place.data_type = change.data_type.unwrap_or(place.data_type);
            match &change.codes {
                None => {}
                Some(Codes::Any) => (place.coded, place.closed) = (false, false),
                Some(Codes::List(list)) => {
                    (place.coded, place.closed, place.list) = (true, self.is_closed(list), Some(list.as_str()));
                }
                // The codes of one place are a subset of the codes of the list.
                Some(Codes::These(_)) => (place.coded, place.closed) = (true, true),
            }
        }
        Some(place)
    }

    fn has_code(&self, list: Option<&str>, code: &str) -> bool {
        let list = list.and_then(|list| self.guide.dictionary.codes.get(list));
        list.is_some_and(|list| list.codes.iter().any(|entry| entry.value == code))
    }

    /// Returns true if `^` separates repetitions.
    fn repeats(&self) -> bool {
        let isa = &self.segments[0].elements;
        self.is_x12() && isa[11] == "^" && *isa[12] >= *"00402"
    }

    fn is_closed(&self, list: &str) -> bool {
        self.guide.dictionary.codes.get(list).is_some_and(|list| !list.open)
    }

    fn changes<'g>(
        &self,
        usage: &'g SegmentUse,
        element: usize,
        component: usize,
    ) -> impl Iterator<Item = &'g ElementChange> + use<'g> {
        usage
            .changes
            .iter()
            .filter(move |change| usize::from(change.element) == element && usize::from(change.component) == component)
    }

    fn is_composite(&self, usage: &SegmentUse, element: usize) -> bool {
        let def = &self.guide.dictionary.segments[&usage.tag];
        matches!(def.elements.get(element - 1).map(|used| &used.of), Some(ElementOf::Composite(_)))
    }

    fn requirement(&self, usage: &SegmentUse, element: usize) -> Requirement {
        let changed = self.changes(usage, element, 0).find_map(|change| change.requirement);
        changed.unwrap_or(self.guide.dictionary.segments[&usage.tag].elements[element - 1].requirement)
    }

    fn notes<'g>(&'g self, usage: &'g SegmentUse) -> &'g [SyntaxNote] {
        usage.notes.as_deref().unwrap_or(&self.guide.dictionary.segments[&usage.tag].notes)
    }

    /// Returns true if an element (or its first component) distinguishes the segment from others.
    fn is_qualifier(&self, usage: &SegmentUse, element: usize, component: usize) -> bool {
        usage.qualifier.as_ref().is_some_and(|qualifier| {
            usize::from(qualifier.element) == element && usize::from(qualifier.component).max(1) == component.max(1)
        })
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Place<'g> {
    data_type: DataType,
    min: usize,
    max: usize,
    requirement: Requirement,
    coded: bool,
    /// True if a code outside of the list is an error.
    closed: bool,
    list: Option<&'g str>,
    repeat: Option<u32>,
}

/// A small generator: the same numbers for the same seed on every machine.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % (n as u64)).expect("less than n")
    }
}

/// Verdict on a mutant.
enum Verdict {
    /// The planted fault is reported, once.
    Right,
    /// The file is not a mutant: its structure is still valid by its guide.
    StillValid,
    /// The findings report another single mistake that explains the file equally well: its correction makes the file valid.
    Alike(String),
    Wrong(String),
}

fn verdict(subject: &Subject, mutant: &Mutant, class: &str) -> Verdict {
    let Some((why, told)) = wrong(subject, mutant, class) else { return Verdict::Right };
    match told {
        Told::Nothing if oracle::is_built_right(subject, &mutant.segments) => Verdict::StillValid,
        Told::Place(at, remedy) if oracle::is_remedied(subject, &mutant.segments, at, remedy) => Verdict::Alike(why),
        _ => Verdict::Wrong(why),
    }
}

/// Report in place of the planted fault.
#[derive(Clone, Copy)]
enum Told {
    Nothing,
    /// One finding at a segment of the file, with its correction.
    Place(usize, Remedy),
    Other,
}

/// What is wrong with what was found of a mutant; `None` is nothing.
fn wrong(subject: &Subject, mutant: &Mutant, class: &str) -> Option<(String, Told)> {
    let text = subject.mutant_text(mutant, class);
    let found = findings(text.as_bytes(), &subject.compiled, &ValidatorOptions::default());
    let told = |fault: &EdiFault| format!("{} at {}: {}", fault.error.code(), fault.at, fault.error);
    let [fault] = &found[..] else {
        let all: Vec<String> = found.iter().map(told).collect();
        let of = if found.is_empty() { Told::Nothing } else { Told::Other };
        return Some((format!("{} findings: {}", found.len(), all.join("\n      ")), of));
    };
    if fault.severity != Severity::Error {
        return Some((format!("not an error: {}", told(fault)), Told::Other));
    }
    // The segment of the file that the finding names.
    let (mut transaction, mut first) = (0, 0);
    let mut index = None;
    for (i, line) in mutant.segments.iter().enumerate() {
        if matches!(line.tag(), "ST" | "UNH") {
            (transaction, first) = (transaction + 1, i);
        }
        if transaction == fault.at.transaction && (i - first) as u64 + 1 == fault.at.segment {
            index = index.or(Some(i));
        }
    }
    let codes = fault.error.acknowledgment();
    let remedy = match codes.segment {
        Some("4" | "5") => Some(Remedy::Without),
        Some("7") => Some(Remedy::Elsewhere),
        _ => None,
    };
    let of = index.zip(remedy).map_or(Told::Other, |(index, remedy)| Told::Place(index, remedy));
    let Some(index) = index.filter(|index| (mutant.at.0..=mutant.at.1).contains(index)) else {
        return Some((format!("segment {index:?} of the file, expected {:?}: {}", mutant.at, told(fault)), of));
    };
    if let Some((element, component)) = mutant.element
        && (fault.at.element != element || (component != u32::MAX && component > 0 && fault.at.component != component))
    {
        let why = format!("at the wrong element of segment {index}, expected {element}-{component}: {}", told(fault));
        return Some((why, Told::Other));
    }
    let of_element =
        [codes.element, codes.implementation_element, if codes.segment.is_none() { codes.transaction } else { None }];
    let of_segment = [codes.segment, codes.implementation_segment];
    let good = mutant.codes.iter().any(|[segment, element, contrl]| {
        (segment.is_empty() || of_segment.contains(&Some(*segment)))
            && (element.is_empty() || of_element.contains(&Some(*element)))
            && codes.contrl == Some(*contrl)
    });
    (!good).then(|| (format!("other codes than {:?}: {}", mutant.codes, told(fault)), of))
}

/// Verdicts on many mutants.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    seed: u64,
    pub(crate) made: u32,
    pub(crate) right: u32,
    /// The findings report another equally valid explanation; these count as correct.
    pub(crate) alike: BTreeMap<&'static str, u32>,
    /// Made and right.
    pub(crate) by_class: BTreeMap<&'static str, (u32, u32)>,
    pub(crate) wrong: Vec<String>,
}

impl Tally {
    /// Judges this many mutants of each class and subject; prints them if `QUAYLINE_MUTANTS` is set.
    pub(crate) fn of(subjects: &[Subject], classes: &[(&'static str, Mutator)], seed: u64, each: usize) -> Self {
        let mut tally = Tally { seed, ..Tally::default() };
        for subject in subjects {
            let mut dice = Dice(seed);
            for &(class, mutate) in classes {
                for _ in 0..each {
                    let Some(mutant) = mutate(subject, &mut dice) else { continue };
                    let verdict = verdict(subject, &mutant, class);
                    if matches!(verdict, Verdict::StillValid) {
                        continue;
                    }
                    tally.made += 1;
                    let of_class = tally.by_class.entry(class).or_default();
                    of_class.0 += 1;
                    if let Verdict::Right | Verdict::Alike(_) = verdict {
                        tally.right += 1;
                        of_class.1 += 1;
                    }
                    if let Verdict::Alike(_) = verdict {
                        *tally.alike.entry(class).or_default() += 1;
                    }
                    let (word, why) = match verdict {
                        Verdict::Alike(why) => ("alike", why),
                        Verdict::Wrong(why) => ("wrong", why),
                        Verdict::Right | Verdict::StillValid => continue,
                    };
                    tally.wrong.push(format!("{word}: {} {class}, segment {}: {why}", subject.name, mutant.at.0));
                }
            }
        }
        tally.wrong.dedup();
        if std::env::var_os("QUAYLINE_MUTANTS").is_some() {
            eprintln!("{tally}");
        }
        tally
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: Tally) {
        self.made += other.made;
        self.right += other.right;
        for (class, (made, right)) in other.by_class {
            let of_class = self.by_class.entry(class).or_default();
            *of_class = (of_class.0 + made, of_class.1 + right);
        }
        for (class, alike) in other.alike {
            *self.alike.entry(class).or_default() += alike;
        }
        self.wrong.extend(other.wrong);
    }

    /// Formats the classes, without the faulty verdicts.
    pub(crate) fn table(&self) -> String {
        let mut table = format!("{} of {} are right\n", self.right, self.made);
        for (class, (made, right)) in &self.by_class {
            let alike = self.alike.get(class).copied().unwrap_or_default();
            let said = if alike > 0 { format!(", {alike} as another mistake") } else { String::new() };
            let _ = writeln!(table, "{class}: {right} of {made}{said}");
        }
        table
    }

    /// Asserts that 95 of 100 mutants of each class are correct; in a class of few mutants, all but one.
    pub(crate) fn assert_each_class(&self) {
        for (class, (made, right)) in &self.by_class {
            assert!((made - right) * 20 <= *made.max(&20), "{class}: {right} of {made}\n{self}");
        }
    }
}

impl core::fmt::Display for Tally {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.table())?;
        self.wrong.iter().try_for_each(|wrong| writeln!(f, "{wrong}"))
    }
}
