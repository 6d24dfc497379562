//! Oracle for the placement of a file's segments: it tries all readings, slowly, without any code of the walk that it judges.

use std::collections::{BTreeSet, HashMap};

use quayline_edi::guide::{Codes, ElementOf, Item, Requirement, SegmentUse};

use super::{Line, Subject};

/// Correction implied by a finding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Remedy {
    /// Remove the segment, or it and some of those after it.
    Without,
    /// Move the segment, or it and some of those after it.
    Elsewhere,
}

/// Most segments that one remedy concerns.
const TOGETHER_MAX: usize = 12;

/// Returns true if all transactions of a file have the structure of the guide.
pub(crate) fn is_built_right(subject: &Subject, segments: &[Line]) -> bool {
    transactions(segments).all(|body| is_right(subject, &segments[body].iter().collect::<Vec<_>>()))
}

/// Returns true if the correction of the segment at `at` is one change that makes the file valid.
pub(crate) fn is_remedied(subject: &Subject, segments: &[Line], at: usize, remedy: Remedy) -> bool {
    let Some(body) = transactions(segments).find(|body| body.contains(&at)) else { return false };
    let (line, at) = (segments[body.clone()].iter().collect::<Vec<_>>(), at - body.start);
    (1..=TOGETHER_MAX.min(line.len() - at)).any(|together| {
        let mut rest = line.clone();
        let moved: Vec<&Line> = rest.drain(at..at + together).collect();
        // Numbers of levels are not checked here, so levels are not moved.
        if moved.iter().any(|line| line.tag() == "HL") {
            return false;
        }
        match remedy {
            Remedy::Without => is_right(subject, &rest),
            Remedy::Elsewhere => (0..=rest.len()).filter(|to| *to != at).any(|to| {
                let mut body = rest.clone();
                body.splice(to..to, moved.iter().copied());
                is_right(subject, &body)
            }),
        }
    })
}

/// Returns the bodies of the transactions.
fn transactions(segments: &[Line]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let headers = (0..segments.len()).filter(|i| matches!(segments[*i].tag(), "ST" | "UNH"));
    headers.map(|header| {
        let is_trailer = |i: &usize| matches!(segments[*i].tag(), "SE" | "UNT");
        header + 1..(header..segments.len()).find(is_trailer).expect("a trailer")
    })
}

fn is_right(subject: &Subject, body: &[&Line]) -> bool {
    let mut matcher = Matcher { subject, body, known: HashMap::new() };
    matcher.ends(&subject.guide.structure, false, 0).contains(&body.len())
}

struct Matcher<'m> {
    subject: &'m Subject,
    body: &'m [&'m Line],
    /// Ends of items by their address and beginning.
    known: HashMap<(usize, usize), BTreeSet<usize>>,
}

impl Matcher<'_> {
    /// Returns the possible ends of items that begin at a segment.
    fn ends(&mut self, items: &[Item], is_loop: bool, from: usize) -> BTreeSet<usize> {
        let key = (items.as_ptr() as usize, from);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let mut ends = BTreeSet::from([from]);
        let mut first = 0;
        while first < items.len() && !ends.is_empty() {
            let same = |item: &&Item| position(item) != 0 && position(item) == position(&items[first]);
            let behind = items[first + 1..].iter().take_while(same).count();
            let (is_trigger, behind) = if is_loop && first == 0 { (true, 0) } else { (false, behind) };
            let group = &items[first..=first + behind];
            ends = ends.into_iter().flat_map(|from| self.group_ends(group, is_trigger, from)).collect();
            first += group.len();
        }
        self.known.insert(key, ends.clone());
        ends
    }

    /// Returns the possible ends of items in any order.
    fn group_ends(&mut self, group: &[Item], is_trigger: bool, from: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::from([(from, vec![0u32; group.len()])]);
        let mut open: Vec<(usize, Vec<u32>)> = seen.iter().cloned().collect();
        while let Some((from, counts)) = open.pop() {
            for (i, item) in group.iter().enumerate() {
                let (requirement, max) = match item {
                    Item::Segment(usage) => (usage.requirement, usage.max),
                    Item::Loop(inner) => (inner.requirement, inner.repeat),
                };
                if requirement == Requirement::NotUsed || max.is_some_and(|max| counts[i] >= max) {
                    continue;
                }
                let ends = match item {
                    Item::Segment(usage) => {
                        let fits = self.body.get(from).is_some_and(|line| fits(self.subject, usage, line));
                        if fits { BTreeSet::from([from + 1]) } else { BTreeSet::new() }
                    }
                    Item::Loop(inner) => self.ends(&inner.items, true, from),
                };
                let mut counts = counts.clone();
                // For an item without a limit, only the first occurrence is counted.
                counts[i] = if max.is_none() { 1 } else { counts[i] + 1 };
                for end in ends {
                    if seen.insert((end, counts.clone())) {
                        open.push((end, counts.clone()));
                    }
                }
            }
        }
        let must = |item: &Item| match item {
            Item::Segment(usage) => is_trigger || usage.requirement == Requirement::Mandatory,
            Item::Loop(inner) => inner.requirement == Requirement::Mandatory,
        };
        let complete = |counts: &[u32]| group.iter().zip(counts).all(|(item, count)| *count > 0 || !must(item));
        seen.into_iter().filter(|(_, counts)| complete(counts)).map(|(end, _)| end).collect()
    }
}

fn position(item: &Item) -> u32 {
    match item {
        Item::Segment(usage) => usage.position,
        Item::Loop(inner) => inner.position,
    }
}

/// Returns true if a segment has the qualifier and the elements of a place.
fn fits(subject: &Subject, usage: &SegmentUse, line: &Line) -> bool {
    if usage.tag != line.tag() {
        return false;
    }
    let part = |element: u8, component: u8| {
        let value = line.elements.get(usize::from(element)).map_or("", |value| value.as_str());
        if component == 0 { value } else { value.split(':').nth(usize::from(component) - 1).unwrap_or("") }
    };
    let has = |element: u8, component: u8, values: &[String]| {
        let value = part(element, component.max(1));
        values.iter().any(|of| of == value)
    };
    if let Some(qualifier) = &usage.qualifier
        && !has(qualifier.element, qualifier.component, &qualifier.values)
    {
        return false;
    }
    let Some(def) = subject.guide.dictionary.segments.get(&usage.tag) else { return true };
    def.elements.iter().zip(1..).all(|(of_segment, element)| {
        let change = usage.changes.iter().rfind(|change| (change.element, change.component) == (element, 0));
        let requirement = change.and_then(|change| change.requirement).unwrap_or(of_segment.requirement);
        let value = part(element, 0);
        let codes = match change.and_then(|change| change.codes.as_ref()) {
            Some(Codes::These(values)) if matches!(of_segment.of, ElementOf::Element(_)) => Some(values),
            _ => None,
        };
        match requirement {
            Requirement::Mandatory if value.is_empty() => false,
            Requirement::NotUsed if !value.is_empty() => false,
            _ => value.is_empty() || codes.is_none_or(|codes| codes.iter().any(|code| code == value)),
        }
    })
}
