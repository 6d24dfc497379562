//! Loops, guessed from repetition.
//!
//! A segment that recurs with others in between begins a loop; the segments between two of its occurrences are in the loop. If two
//! each occur between the other's, no sample shows which is the outer one: the usual outer loops of the standards are, otherwise
//! the one that came first. The same applies inside each loop.

use std::collections::{BTreeMap, BTreeSet};

use quayline_edi::Segment;
use quayline_edi::guide::{Item, LoopUse, Qualifier, Requirement, SegmentUse};

use super::hl;

/// Loops in loops that are looked for.
const DEPTH_MAX: usize = 12;

/// One segment of a sample.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) tag: String,
    /// Id, parent id and level code of an HL segment.
    pub(crate) level: Option<[String; 3]>,
}

impl Part {
    pub(crate) fn of(tag: &str, segment: &Segment<'_>) -> Part {
        let text = |number: usize| {
            let raw = segment.element(number).map_or(&[][..], |element| element.raw());
            raw.iter().map(|byte| char::from(*byte)).collect::<String>()
        };
        let level = (tag == "HL").then(|| [text(1), text(2), text(3)]);
        Part { tag: tag.to_owned(), level }
    }
}

/// Guesses the structure of these transactions.
pub(crate) fn guess(transactions: &[Vec<Part>], is_x12: bool) -> Vec<Item> {
    let all: Vec<&[Part]> = transactions.iter().map(Vec::as_slice).collect();
    items(&all, is_x12, 0)
}

/// Returns all segments, any number of times and in any order: a structure that certainly holds.
pub(crate) fn any_order(transactions: &[Vec<Part>]) -> Vec<Item> {
    let mut tags: Vec<&str> = Vec::new();
    for part in transactions.iter().flatten() {
        if !tags.contains(&part.tag.as_str()) {
            tags.push(&part.tag);
        }
    }
    let item = |tag: &&str| Item::Segment(SegmentUse { max: None, position: 1, ..segment(tag, Requirement::Optional) });
    tags.iter().map(item).collect()
}

pub(crate) fn segment(tag: &str, requirement: Requirement) -> SegmentUse {
    SegmentUse {
        tag: tag.to_owned(),
        id: None,
        name: None,
        requirement,
        max: Some(1),
        position: 0,
        qualifier: None,
        changes: Vec::new(),
        notes: None,
    }
}

/// Builds a loop with the segment that opens it.
pub(crate) fn looped(id: String, tag: &str, qualifier: Option<Qualifier>, inner: Vec<Item>) -> LoopUse {
    let opens = SegmentUse { qualifier, ..segment(tag, Requirement::Mandatory) };
    let items = core::iter::once(Item::Segment(opens)).chain(inner).collect();
    LoopUse { id, name: None, requirement: Requirement::Optional, repeat: None, position: 0, levels: Vec::new(), items }
}

/// Returns the items of a loop, over all of its occurrences.
pub(crate) fn items(occurrences: &[&[Part]], is_x12: bool, depth: usize) -> Vec<Item> {
    let loops = if depth < DEPTH_MAX { Loops::of(occurrences) } else { Loops::default() };
    let mut nodes = Nodes::default();
    for occurrence in occurrences {
        nodes.occurrence(occurrence, &loops);
    }
    nodes.items(occurrences.len(), is_x12, depth)
}

/// Returns how far outside the loop of such a segment usually is; 0 is the outermost.
fn rank(tag: &str) -> u8 {
    match tag {
        "HL" => 0,
        // Lines and other details.
        "PO1" | "IT1" | "POC" | "LX" | "ENT" | "INS" | "CLM" | "CLP" | "LIN" | "CPS" | "GID" | "CNI" | "DOC"
        | "SEQ" => DETAIL,
        // Parties.
        "N1" | "NM1" | "NAD" => 2,
        _ => OTHER,
    }
}

/// Ranks of lines, and of unknown segments.
const DETAIL: u8 = 1;
const OTHER: u8 = 3;

/// Segment that follows all loops of a transaction, even if the last loop is the only one seen with it.
const SUMMARY: &str = "CTT";

/// The segments that begin loops, and the possible content of those.
#[derive(Debug, Default)]
struct Loops<'p> {
    bodies: BTreeMap<&'p str, BTreeSet<&'p str>>,
}

/// The tags between two occurrences of a segment.
type Gap<'p> = BTreeSet<&'p str>;

impl<'p> Loops<'p> {
    fn of(occurrences: &[&'p [Part]]) -> Loops<'p> {
        let mut gaps: BTreeMap<&str, Vec<Gap<'p>>> = BTreeMap::new();
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for occurrence in occurrences {
            let mut last: BTreeMap<&str, usize> = BTreeMap::new();
            for (at, part) in occurrence.iter().enumerate() {
                let known = first.len();
                first.entry(&part.tag).or_insert(known);
                if let Some(before) = last.insert(&part.tag, at) {
                    let gap = occurrence[before + 1..at].iter().map(|part| part.tag.as_str()).collect();
                    gaps.entry(&part.tag).or_default().push(gap);
                }
            }
        }
        gaps.retain(|_, gaps| gaps.iter().any(|gap| !gap.is_empty()));
        // If each of two occurs in the gaps of the other, one is the outer.
        let outer = |of: &str, other: &str| {
            let mutual = gaps.get(other).is_some_and(|gaps| gaps.iter().any(|gap| gap.contains(of)));
            let detail = rank(of) == OTHER && rank(other) <= DETAIL;
            detail || (mutual && (rank(other), first[other]) < (rank(of), first[of]))
        };
        let mut bodies = BTreeMap::new();
        for (of, gaps) in &gaps {
            let own = gaps.iter().filter(|gap| !gap.iter().any(|other| outer(of, other)));
            let mut body: BTreeSet<&str> = own.flatten().copied().collect();
            if rank(of) == DETAIL {
                // A segment that occurs before the lines and again after one of them is about that line.
                for occurrence in occurrences.iter().filter(|parts| parts.iter().any(|part| part.tag == *of)) {
                    let before = occurrence.iter().map(|part| part.tag.as_str()).take_while(|tag| tag != of);
                    body.extend(before.filter(|tag| rank(tag) > DETAIL));
                }
            }
            if !body.is_empty() || *of == "HL" {
                bodies.insert(*of, body);
            }
        }
        Loops { bodies }
    }
}

/// A segment or loop of a structure.
#[derive(Debug, Default)]
struct Node<'p> {
    /// Number of outer occurrences that have it.
    within: usize,
    /// Most in a row.
    most: usize,
    /// For each occurrence of a loop, its first segment and the segments after it.
    bodies: Vec<(&'p Part, &'p [Part])>,
    is_loop: bool,
}

#[derive(Debug, Default)]
struct Nodes<'p> {
    /// Tags in the order of first occurrence.
    order: Vec<&'p str>,
    nodes: BTreeMap<&'p str, Node<'p>>,
    /// Pairs of a segment and one that came after it.
    before: BTreeSet<(&'p str, &'p str)>,
}

impl<'p> Nodes<'p> {
    fn occurrence(&mut self, parts: &'p [Part], loops: &Loops<'p>) {
        let mut seen: Vec<&str> = Vec::new();
        let (mut at, mut row) = (0, 0);
        while let Some(part) = parts.get(at) {
            let tag = part.tag.as_str();
            if !self.nodes.contains_key(tag) {
                self.order.push(tag);
            }
            let node = self.nodes.entry(tag).or_default();
            if seen.last() == Some(&tag) {
                row += 1;
            } else {
                row = 1;
                node.within += usize::from(!seen.contains(&tag));
                for other in &seen {
                    if *other != tag {
                        self.before.insert((other, tag));
                    }
                }
                seen.push(tag);
            }
            node.most = node.most.max(row);
            at += 1;
            if let Some(body) = loops.bodies.get(tag) {
                // Levels are followed only by totals, so the last one has all that is left.
                let fits = |inner: &&Part| match tag {
                    "HL" => inner.level.is_none() && inner.tag != SUMMARY,
                    _ => body.contains(inner.tag.as_str()),
                };
                let inside = parts[at..].iter().take_while(fits).count();
                node.bodies.push((part, &parts[at..at + inside]));
                node.is_loop = true;
                at += inside;
            }
        }
    }

    fn items(&self, occurrences: usize, is_x12: bool, depth: usize) -> Vec<Item> {
        let places = self.places();
        let mut all = Vec::new();
        for (number, place) in (1u32..).zip(&places) {
            let position = if place.len() > 1 { number } else { 0 };
            for tag in place {
                let node = &self.nodes[tag];
                let always = if node.within == occurrences { Requirement::Mandatory } else { Requirement::Optional };
                let several = node.most > 1 || place.len() > 1;
                if !node.is_loop {
                    let max = if several { None } else { Some(1) };
                    all.push(Item::Segment(SegmentUse { max, position, ..segment(tag, always) }));
                    continue;
                }
                if is_x12 && *tag == "HL" {
                    all.extend(
                        hl::levels(&node.bodies, depth)
                            .into_iter()
                            .map(|level| Item::Loop(LoopUse { position: number, ..level })),
                    );
                    continue;
                }
                let bodies: Vec<&[Part]> = node.bodies.iter().map(|(_, body)| *body).collect();
                let inner = items(&bodies, is_x12, depth + 1);
                let made = looped((*tag).to_owned(), tag, None, inner);
                let repeat = if several { None } else { Some(1) };
                all.push(Item::Loop(LoopUse { requirement: always, position, repeat, ..made }));
            }
        }
        all
    }

    /// Returns the nodes in order; those that came in more than one order share a place.
    fn places(&self) -> Vec<Vec<&'p str>> {
        let count = self.order.len();
        let number: BTreeMap<&str, usize> = self.order.iter().enumerate().map(|(at, tag)| (*tag, at)).collect();
        // The order of nodes, including indirect order.
        let mut reach = vec![vec![false; count]; count];
        for (a, b) in &self.before {
            reach[number[a]][number[b]] = true;
        }
        for by in 0..count {
            let onwards = reach[by].clone();
            for row in reach.iter_mut().filter(|row| row[by]) {
                row.iter_mut().zip(&onwards).for_each(|(reached, on)| *reached |= on);
            }
        }
        let mut left: Vec<usize> = (0..count).collect();
        let mut places = Vec::new();
        // The first one that no node outside its own place must precede.
        while let Some(next) =
            left.iter().copied().find(|at| left.iter().all(|other| !reach[*other][*at] || reach[*at][*other]))
        {
            let (place, rest): (Vec<usize>, Vec<usize>) =
                left.iter().partition(|at| **at == next || (reach[next][**at] && reach[**at][next]));
            places.push(place.into_iter().map(|at| self.order[at]).collect());
            left = rest;
        }
        places
    }
}
