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
#[derive(Clone, Debug, PartialEq)]
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

/// Whether the transactions are X12, and the treatment of segments in any order.
pub(crate) type Style = (bool, Mixed);

/// Most different segments of transactions whose loops are guessed: several times as many as the largest transactions of the
/// standards have.
const TAGS_MAX: usize = 256;
/// Most different level codes of HL segments: X12 defines fewer (element 735) than this.
const LEVEL_CODES_MAX: usize = 256;

/// Treatment of segments that come in any order with others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mixed {
    /// They stay segments. Documents have those of one kind together.
    Together,
    /// Each becomes a loop. Documents keep the order of loops.
    InOrder,
}

/// Guesses the structure of these transactions; `None` if they have too many kinds of segments.
pub(crate) fn guess(transactions: &[Vec<Part>], is_x12: bool, mixed: Mixed) -> Option<Vec<Item>> {
    let parts = || transactions.iter().flatten();
    let tags: BTreeSet<&str> = parts().map(|part| part.tag.as_str()).collect();
    let codes: BTreeSet<&str> = parts().filter_map(|part| Some(part.level.as_ref()?[2].as_str())).collect();
    if tags.len() > TAGS_MAX || codes.len() > LEVEL_CODES_MAX {
        return None;
    }
    let all: Vec<&[Part]> = transactions.iter().map(Vec::as_slice).collect();
    Some(items(&all, (is_x12, mixed), 0))
}

/// Returns all segments, any number of times and in any order. As segments, this is a structure that certainly holds; the numbers of HL loops may
/// be wrong.
pub(crate) fn any_order(transactions: &[Vec<Part>], mixed: Mixed) -> Vec<Item> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let tags = transactions.iter().flatten().map(|part| part.tag.as_str()).filter(|tag| known.insert(tag));
    let item = |tag: &str| match mixed {
        Mixed::InOrder => Item::Loop(LoopUse { position: 1, ..looped(tag.to_owned(), tag, None, Vec::new()) }),
        Mixed::Together => Item::Segment(SegmentUse { max: None, position: 1, ..segment(tag, Requirement::Optional) }),
    };
    tags.map(item).collect()
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
pub(crate) fn items(occurrences: &[&[Part]], style: Style, depth: usize) -> Vec<Item> {
    let loops = if depth < DEPTH_MAX { Loops::of(occurrences) } else { Loops::default() };
    let mut nodes = Nodes::default();
    for occurrence in occurrences {
        nodes.occurrence(occurrence, &loops);
    }
    nodes.items(occurrences.len(), style, depth)
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

/// The tags between two occurrences of a segment: a bit for each, by its number.
type Gap = [u64; TAGS_MAX / 64];

impl<'p> Loops<'p> {
    fn of(occurrences: &[&'p [Part]]) -> Loops<'p> {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut gaps: Vec<BTreeSet<Gap>> = Vec::new();
        for occurrence in occurrences {
            // The tags so far; the one that occurred last is at the end.
            let mut recent: Vec<usize> = Vec::new();
            for part in *occurrence {
                let known = numbers.len();
                let number = *numbers.entry(&part.tag).or_insert(known);
                if number == known {
                    gaps.push(BTreeSet::new());
                }
                if let Some(before) = recent.iter().rposition(|other| *other == number) {
                    let mut gap = Gap::default();
                    recent[before + 1..].iter().for_each(|other| gap[other / 64] |= 1 << (other % 64));
                    gaps[number].insert(gap);
                    recent.remove(before);
                }
                recent.push(number);
            }
        }
        let has = |gap: &Gap, number: usize| gap[number / 64] >> (number % 64) & 1 == 1;
        let mut tags = vec![""; numbers.len()];
        numbers.iter().for_each(|(tag, number)| tags[*number] = *tag);
        let begins = |number: &usize| gaps[*number].iter().any(|gap| *gap != Gap::default());
        // If each of two occurs in the gaps of the other, one is the outer.
        let outer = |of: usize, other: usize| {
            let mutual = begins(&other) && gaps[other].iter().any(|gap| has(gap, of));
            let detail = rank(tags[of]) == OTHER && rank(tags[other]) <= DETAIL;
            detail || (mutual && (rank(tags[other]), other) < (rank(tags[of]), of))
        };
        let mut bodies = BTreeMap::new();
        for (of, number) in numbers.iter().filter(|(_, number)| begins(number)) {
            let outside: Vec<usize> = (0..tags.len()).filter(|other| outer(*number, *other)).collect();
            let own = gaps[*number].iter().filter(|gap| !outside.iter().any(|other| has(gap, *other)));
            let body = own.fold(Gap::default(), |body, gap| core::array::from_fn(|word| body[word] | gap[word]));
            let mut body: BTreeSet<&str> =
                (0..tags.len()).filter(|other| has(&body, *other)).map(|other| tags[other]).collect();
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
        // Different tags in the order of first occurrence, and how many of them `before` has for each.
        let mut seen: Vec<&str> = Vec::new();
        let mut paired: BTreeMap<&str, usize> = BTreeMap::new();
        let mut last = "";
        let (mut at, mut row) = (0, 0);
        while let Some(part) = parts.get(at) {
            let tag = part.tag.as_str();
            if !self.nodes.contains_key(tag) {
                self.order.push(tag);
            }
            let node = self.nodes.entry(tag).or_default();
            if last == tag {
                row += 1;
            } else {
                row = 1;
                let known = paired.get(tag).copied();
                for other in seen[known.unwrap_or(0)..].iter().filter(|other| **other != tag) {
                    self.before.insert((other, tag));
                }
                if known.is_none() {
                    node.within += 1;
                    seen.push(tag);
                }
                paired.insert(tag, seen.len());
                last = tag;
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

    fn items(&self, occurrences: usize, (is_x12, mixed): Style, depth: usize) -> Vec<Item> {
        let places = self.places();
        let mut all = Vec::new();
        for (number, place) in (1u32..).zip(&places) {
            let position = if place.len() > 1 { number } else { 0 };
            for tag in place {
                let node = &self.nodes[tag];
                let always = if node.within == occurrences { Requirement::Mandatory } else { Requirement::Optional };
                let several = node.most > 1 || place.len() > 1;
                if !node.is_loop && place.len() > 1 && mixed == Mixed::InOrder {
                    let made = looped((*tag).to_owned(), tag, None, Vec::new());
                    all.push(Item::Loop(LoopUse { requirement: always, position, ..made }));
                    continue;
                }
                if !node.is_loop {
                    let max = if several { None } else { Some(1) };
                    all.push(Item::Segment(SegmentUse { max, position, ..segment(tag, always) }));
                    continue;
                }
                if is_x12 && *tag == "HL" {
                    all.extend(
                        hl::levels(&node.bodies, mixed, depth)
                            .into_iter()
                            .map(|level| Item::Loop(LoopUse { position: number, ..level })),
                    );
                    continue;
                }
                let bodies: Vec<&[Part]> = node.bodies.iter().map(|(_, body)| *body).collect();
                let inner = items(&bodies, (is_x12, mixed), depth + 1);
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
