//! Classes of faults: each puts one into a valid file.

use quayline_edi::guide::{DataType, ElementOf, ItemId, NoteKind, Qualifier, Requirement, SegmentUse, SyntaxNote};

use super::{Dice, Line, Mutant, Place, Subject};

pub(crate) type Mutator = fn(&Subject, &mut Dice) -> Option<Mutant>;

const MISSING: &[[&str; 3]] = &[["3", "", "13"]];
const QUALIFIER: &[[&str; 3]] = &[["8", "7", "12"]];

/// Classes of faults.
pub(crate) const CLASSES: [(&str, Mutator); 34] = [
    ("mandatory segment missing", mandatory_segment_missing),
    ("loop trigger missing", trigger_missing),
    ("mandatory loop missing", mandatory_loop_missing),
    ("tag misspelt", tag_misspelt),
    ("segment not in the guide", segment_not_in_guide),
    ("segment superfluous", segment_superfluous),
    ("segments in the wrong order", wrong_order),
    ("segment too often", segment_too_often),
    ("loop too often", loop_too_often),
    ("segment not used", segment_not_used),
    ("qualifier wrong", qualifier_wrong),
    ("mandatory element missing", element_missing),
    ("mandatory component missing", component_missing),
    ("element too short", too_short),
    ("element too long", too_long),
    ("code invalid", code_invalid),
    ("letters in a number", letters_in_number),
    ("date invalid", date_invalid),
    ("time invalid", time_invalid),
    ("element not used", element_not_used),
    ("element of a note not used", element_not_used_of_a_note),
    ("tag only", tag_only),
    ("elements too many", elements_too_many),
    ("components too many", components_too_many),
    ("repetitions too many", repetitions_too_many),
    ("note: required element missing", note_required),
    ("note: excluded element present", note_excluded),
    ("HL01 wrong", hl_number),
    ("HL02 wrong", hl_parent),
    ("balance broken", balance_broken),
    ("trigger and its neighbour in the wrong order", trigger_behind),
    ("terminator missing", terminator_missing),
    ("count wrong", count_wrong),
    ("control number wrong", control_wrong),
];

/// Classes of what moved past more than its neighbour.
pub(crate) const HARD_CLASSES: [(&str, Mutator); 2] =
    [("segment moved two down", moved_two), ("sibling loops swapped", loops_swapped)];

/// Removes the terminator between two segments, with or without the line break.
fn terminator_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, line, _| {
        let next = subject.segments[i + 1].tag();
        let is_body = subject.segments[i + 1].item.is_some() || matches!(next, "SE" | "UNT");
        is_body && line.elements.len() > 1 && subject.segments[i + 1].elements.len() > 1
    })?;
    let mut segments = without(subject, at + 1..at + 2);
    let next = &subject.segments[at + 1].elements;
    let line = &mut segments[at].elements;
    let element = u32::try_from(line.len() - 1).expect("few");
    let between = if dice.below(2) == 0 { "" } else { "\n" };
    let last = line.last_mut().expect("an element");
    *last = format!("{last}{between}{}", next[0]);
    line.extend_from_slice(&next[1..]);
    if matches!(next[0].as_str(), "SE" | "UNT") {
        let header = (0..at).rev().find(|i| matches!(subject.segments[*i].tag(), "ST" | "UNH")).expect("a header");
        let count = line.len() - 2;
        line[count] = (at + 2 - header).to_string();
    }
    Some(Mutant { segments, codes: &[["8", "3", "16"]], at: (at, at), element: Some((element, 0)) })
}

/// A random segment of the body that `fits`.
fn pick(subject: &Subject, dice: &mut Dice, fits: impl Fn(usize, &Line, ItemId) -> bool) -> Option<usize> {
    let places: Vec<usize> = subject
        .segments
        .iter()
        .enumerate()
        .filter(|(i, line)| line.item.is_some_and(|item| fits(*i, line, item)))
        .map(|(i, _)| i)
        .collect();
    (!places.is_empty()).then(|| places[dice.below(places.len())])
}

fn without(subject: &Subject, range: std::ops::Range<usize>) -> Vec<Line> {
    let mut segments = subject.segments.clone();
    segments.drain(range);
    segments
}

/// Returns the number of occurrences of the item in the loop instance that contains segment `at`.
fn occurrences(subject: &Subject, at: usize, item: ItemId) -> usize {
    let line = &subject.segments[at];
    let around = &line.loops;
    // The transaction's own segments: as far as its header and trailer.
    let start = (0..at).rev().find(|i| subject.segments[*i].item.is_none()).map_or(0, |i| i + 1);
    let end = (at..subject.segments.len()).find(|i| subject.segments[*i].item.is_none()).expect("a trailer");
    subject.segments[start..end]
        .iter()
        .filter(|other| other.item == Some(item) && other.loops.get(around.len().wrapping_sub(1)) == around.last())
        .count()
}

fn mandatory_segment_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, _, item| {
        let compiled = subject.compiled.item(item);
        compiled.requirement == Requirement::Mandatory && !compiled.is_trigger && occurrences(subject, i, item) == 1
    })?;
    Some(Mutant { segments: without(subject, at..at + 1), codes: MISSING, at: (at, at + 1), element: None })
}

fn trigger_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, line, item| {
        let next = &subject.segments[i + 1];
        let inside =
            next.item.is_some_and(|next| subject.compiled.item(next).parent == subject.compiled.item(item).parent);
        subject.compiled.item(item).is_trigger && inside && next.loops.last() == line.loops.last()
    })?;
    Some(Mutant { segments: without(subject, at..at + 1), codes: MISSING, at: (at, at), element: None })
}

/// Segments of the loop instance that begins at a trigger.
fn instance(subject: &Subject, trigger: usize) -> std::ops::Range<usize> {
    let own = *subject.segments[trigger].loops.last().expect("a trigger opens a loop");
    let end = (trigger..subject.segments.len())
        .find(|i| !subject.segments[*i].loops.contains(&own))
        .expect("a trailer ends all loops");
    trigger..end
}

fn mandatory_loop_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, _, item| {
        let compiled = subject.compiled.item(item);
        if !compiled.is_trigger || subject.compiled.item(compiled.parent).requirement != Requirement::Mandatory {
            return false;
        }
        let around = subject.segments[i].loops.len() - 1;
        let outer = around.checked_sub(1).map(|level| subject.segments[i].loops[level]);
        let start = (0..i).rev().find(|j| subject.segments[*j].item.is_none()).expect("a header");
        let end = (i..subject.segments.len()).find(|j| subject.segments[*j].item.is_none()).expect("a trailer");
        let same = |j: &usize| {
            let line = &subject.segments[*j];
            line.item == Some(item) && around.checked_sub(1).map(|level| line.loops[level]) == outer
        };
        (start..end).filter(same).count() == 1
    })?;
    let range = instance(subject, at);
    // Loops at the same position come in any order, so it may still come after the present ones.
    let around = subject.compiled.item(subject.segments[at].item?).parent;
    let own = subject.position_of_loop(around);
    let mut last = range.end;
    while let Some((id, _)) = subject.segments[last].loops.get(subject.segments[at].loops.len() - 1)
        && own != 0
        && subject.position_of_loop(*id) == own
    {
        last += 1;
    }
    let last = last - range.len();
    Some(Mutant {
        segments: without(subject, range),
        codes: &[["3", "", "13"], ["I7", "", "13"]],
        at: (at, last),
        element: None,
    })
}

fn tag_misspelt(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, _, _| true)?;
    let mut segments = subject.segments.clone();
    let last = segments[at].elements[0].pop().expect("a tag");
    let other = if last == 'Q' { 'W' } else { 'Q' };
    segments[at].elements[0].push(other);
    if subject.guide.dictionary.segments.contains_key(&segments[at].elements[0]) {
        return None;
    }
    Some(Mutant { segments, codes: &[["1", "", "15"]], at: (at, at), element: None })
}

fn segment_not_in_guide(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let used: Vec<&str> = subject.uses().into_iter().flatten().map(|usage| usage.tag.as_str()).collect();
    let others: Vec<&String> =
        subject.guide.dictionary.segments.keys().filter(|tag| !used.contains(&tag.as_str())).collect();
    if others.is_empty() {
        return None;
    }
    let at = pick(subject, dice, |_, _, _| true)?;
    let mut segments = subject.segments.clone();
    let elements = vec![others[dice.below(others.len())].clone(), "A".to_owned()];
    segments.insert(at, Line { elements, item: None, loops: Vec::new() });
    Some(Mutant { segments, codes: &[["6", "", "15"]], at: (at, at), element: None })
}

/// Copies a segment to a place of the same transaction where its tag is not allowed.
fn segment_superfluous(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let from = pick(subject, dice, |_, _, item| !subject.compiled.item(item).is_trigger)?;
    let tag = subject.segments[from].tag().to_owned();
    let to = pick(subject, dice, |i, line, item| {
        // The place is not beside a segment with the same tag, not in a loop that allows the tag, and not before such a loop.
        let place = if subject.compiled.item(item).is_trigger { i - 1 } else { i };
        let before = &subject.segments[place];
        let has = |id: ItemId| subject.compiled.children(id).any(|child| *subject.compiled.item(child).id == *tag);
        let nested = |id: ItemId| {
            subject.compiled.children(id).any(|child| {
                !subject.compiled.item(child).is_trigger
                    && subject.compiled.item(child).end.0 > child.0 + 1
                    && has(child)
            })
        };
        let open = before.loops.iter().chain(&line.loops).map(|(id, _)| *id).chain([ItemId::TRANSACTION]);
        before.item.is_some() && open.into_iter().all(|id| !has(id) && !nested(id))
    })?;
    let mut segments = subject.segments.clone();
    let line = segments[from].clone();
    segments.insert(to, line);
    Some(Mutant { segments, codes: &[["2", "", "15"], ["7", "", "15"]], at: (to, to), element: None })
}

fn wrong_order(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, line, item| {
        let next = &subject.segments[i + 1];
        let Some(other) = next.item else { return false };
        let (a, b) = (subject.compiled.item(item), subject.compiled.item(other));
        let same = a.parent == b.parent && line.loops.last() == next.loops.last() && item != other;
        // Segments with the same position may occur in any order.
        let uses = subject.uses();
        let position = |id: ItemId| uses[id.0 as usize].map_or(0, |usage| usage.position);
        let free = position(item) == position(other) && position(item) != 0;
        same && !free && !a.is_trigger && a.id != b.id
    })?;
    let mut segments = subject.segments.clone();
    segments.swap(at, at + 1);
    Some(Mutant { segments, codes: &[["7", "", "15"]], at: (at, at + 1), element: None })
}

/// Moves a segment two places back, in the same loop.
fn moved_two(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, line, item| {
        let behind = subject.segments.get(i + 1..i + 3).unwrap_or_default();
        let uses = subject.uses();
        let position = |id: ItemId| uses[id.0 as usize].map_or(0, |usage| usage.position);
        let fixed = |other: &Line| {
            let Some(id) = other.item else { return false };
            let free = position(item) == position(id) && position(item) != 0;
            let (a, b) = (subject.compiled.item(item), subject.compiled.item(id));
            a.parent == b.parent && line.loops.last() == other.loops.last() && a.id != b.id && !free
        };
        behind.len() == 2 && behind.iter().all(fixed) && !subject.compiled.item(item).is_trigger
    })?;
    let mut segments = subject.segments.clone();
    segments[at..at + 3].rotate_left(1);
    Some(Mutant { segments, codes: &[["7", "", "15"]], at: (at, at + 2), element: None })
}

/// Swaps two consecutive loops of one parent.
fn loops_swapped(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let position = |id: ItemId| uses[id.0 as usize].map_or(0, |usage| usage.position);
    let at = pick(subject, dice, |i, _, item| {
        let compiled = subject.compiled.item(item);
        if !compiled.is_trigger {
            return false;
        }
        let end = instance(subject, i).end;
        let Some(next) = subject.segments[end].item.map(|id| (id, subject.compiled.item(id))) else { return false };
        let free = position(item) == position(next.0) && position(item) != 0;
        let siblings = subject.compiled.item(next.1.parent).parent == subject.compiled.item(compiled.parent).parent;
        // HL loops are ordered by their levels.
        next.1.is_trigger && siblings && next.1.parent != compiled.parent && !free && &*compiled.id != "HL"
    })?;
    let (first, second) = (instance(subject, at), instance(subject, instance(subject, at).end));
    // If the second loop may contain the first one's trigger, the file stays valid: RFF after NAD is a reference of the party.
    let holder = subject.compiled.item(subject.segments[second.start].item?).parent;
    let inside = holder.0 + 1..subject.compiled.item(holder).end.0;
    let trigger = &subject.segments[first.start];
    let takes = |usage: &SegmentUse| {
        let fits = |qualifier: &Qualifier| {
            let value = trigger.elements.get(usize::from(qualifier.element)).map_or("", |value| value.as_str());
            let part = value.split(':').nth(usize::from(qualifier.component).saturating_sub(1));
            qualifier.values.iter().any(|of| Some(of.as_str()) == part)
        };
        usage.tag == trigger.tag() && usage.qualifier.as_ref().is_none_or(fits)
    };
    if inside.into_iter().any(|id| uses[id as usize].is_some_and(takes)) {
        return None;
    }
    let mut segments = subject.segments.clone();
    segments[first.start..second.end].rotate_left(first.len());
    Some(Mutant { segments, codes: &[["7", "", "15"]], at: (at, second.end - 1), element: None })
}

fn segment_too_often(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, _, item| {
        let compiled = subject.compiled.item(item);
        compiled.max == Some(1) && !compiled.is_trigger
    })?;
    let mut segments = subject.segments.clone();
    let copy = segments[at].clone();
    segments.insert(at + 1, copy);
    Some(Mutant { segments, codes: &[["5", "", "35"]], at: (at + 1, at + 1), element: None })
}

fn loop_too_often(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, _, item| {
        let compiled = subject.compiled.item(item);
        compiled.is_trigger && subject.compiled.item(compiled.parent).max == Some(1)
    })?;
    let range = instance(subject, at);
    let copies: Vec<Line> = subject.segments[range.clone()].to_vec();
    let mut segments = subject.segments.clone();
    let behind = range.end;
    segments.splice(behind..behind, copies);
    Some(Mutant { segments, codes: &[["4", "", "36"]], at: (behind, behind), element: None })
}

fn segment_not_used(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let forbidden: Vec<usize> =
        (0..uses.len()).filter(|i| uses[*i].is_some_and(|usage| usage.requirement == Requirement::NotUsed)).collect();
    let forbidden = forbidden.get(dice.below(forbidden.len().max(1)))?;
    let parent = subject.compiled.item(ItemId(u32::try_from(*forbidden).expect("small"))).parent;
    // After the last segment of the preceding loop.
    let at = pick(subject, dice, |i, line, item| {
        let next = &subject.segments[i + 1];
        let inside = line.loops.last().map(|(id, _)| *id) == Some(parent) && next.loops.len() > line.loops.len();
        inside && (item.0 as usize) < *forbidden
    })?;
    let mut segments = subject.segments.clone();
    let tag = uses[*forbidden].expect("a segment").tag.clone();
    segments.insert(at + 1, Line { elements: vec![tag, "A1".into()], item: None, loops: Vec::new() });
    Some(Mutant { segments, codes: &[["2", "", "15"], ["I4", "", "15"]], at: (at + 1, at + 1), element: None })
}

fn qualifier_wrong(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let at = pick(subject, dice, |_, line, item| {
        uses[item.0 as usize]
            .and_then(|usage| usage.qualifier.as_ref())
            .is_some_and(|qualifier| line.elements.len() > usize::from(qualifier.element) && line.tag() != "HL")
    })?;
    let qualifier = uses[subject.segments[at].item?.0 as usize]?.qualifier.as_ref()?;
    let mut segments = subject.segments.clone();
    let element = usize::from(qualifier.element);
    "W8".clone_into(&mut segments[at].elements[element]);
    Some(Mutant { segments, codes: QUALIFIER, at: (at, at), element: Some((u32::from(qualifier.element), 0)) })
}

/// Replaces the value of a random simple element that `fits`; `change` makes it wrong.
fn with_element(
    subject: &Subject,
    dice: &mut Dice,
    codes: &'static [[&'static str; 3]],
    fits: impl Fn(&Place<'_>, &str) -> bool,
    change: impl Fn(&Place<'_>, &str) -> String,
) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        for (e, value) in line.elements.iter().enumerate().skip(1) {
            let components: Vec<&str> = value.split(':').collect();
            let composite = subject.is_composite(usage, e);
            for (c, value) in components.iter().enumerate() {
                let component = if composite { c + 1 } else { 0 };
                // The release character would have to stay with the released one; dates by format are a separate class.
                if value.contains('?') || subject.is_qualifier(usage, e, component) || value.is_empty() {
                    continue;
                }
                if subject.element(usage, e, component).is_some_and(|place| fits(&place, value)) {
                    places.push((i, e, component));
                }
            }
        }
    }
    if places.is_empty() {
        return None;
    }
    let (at, element, component) = places[dice.below(places.len())];
    let usage = uses[subject.segments[at].item?.0 as usize]?;
    let place = subject.element(usage, element, component)?;
    let mut segments = subject.segments.clone();
    let old = segments[at].elements[element].clone();
    let mut parts: Vec<String> = old.split(':').map(str::to_owned).collect();
    let part = &mut parts[component.max(1) - 1];
    *part = change(&place, part);
    segments[at].elements[element] = parts.join(":");
    while segments[at].elements[element].ends_with(':') {
        segments[at].elements[element].pop();
    }
    Some(Mutant { segments, codes, at: (at, at), element: Some((small(element), small(component))) })
}

fn is_text(place: &Place<'_>) -> bool {
    matches!(place.data_type, DataType::Text | DataType::Alphanumeric | DataType::Identifier)
}

fn is_number(place: &Place<'_>) -> bool {
    matches!(place.data_type, DataType::Decimal | DataType::Number | DataType::Implied(_))
}

fn element_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        for (e, value) in line.elements.iter().enumerate().skip(1) {
            let noted = subject.notes(usage).iter().any(|note| note.elements.iter().any(|n| usize::from(*n) == e));
            let qualifies = subject.is_qualifier(usage, e, 1);
            if !value.is_empty() && subject.requirement(usage, e) == Requirement::Mandatory && !noted && !qualifies {
                places.push((i, e));
            }
        }
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    segments[at].elements[element].clear();
    while segments[at].elements.last().is_some_and(String::is_empty) {
        segments[at].elements.pop();
    }
    if segments[at].elements.len() < 2 {
        return None;
    }
    let element = u32::try_from(element).expect("small");
    Some(Mutant { segments, codes: &[["8", "1", "13"]], at: (at, at), element: Some((element, 0)) })
}

fn component_missing(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        for (e, value) in line.elements.iter().enumerate().skip(1) {
            let parts: Vec<&str> = value.split(':').collect();
            for (c, part) in parts.iter().enumerate() {
                let place = subject.element(usage, e, c + 1);
                let mandatory = place.is_some_and(|place| place.requirement == Requirement::Mandatory);
                if parts.len() > 1 && mandatory && !part.is_empty() && !subject.is_qualifier(usage, e, c + 1) {
                    places.push((i, e, c));
                }
            }
        }
    }
    let (at, element, component) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    let old = segments[at].elements[element].clone();
    let mut parts: Vec<&str> = old.split(':').collect();
    parts[component] = "";
    while parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    segments[at].elements[element] = parts.join(":");
    Some(Mutant {
        segments,
        codes: &[["8", "1", "13"]],
        at: (at, at),
        element: Some((small(element), small(component + 1))),
    })
}

fn too_short(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let fits = |place: &Place<'_>, _: &str| is_text(place) && !place.coded && place.min > 1;
    with_element(subject, dice, &[["8", "4", "40"]], fits, |place, _| "X".repeat(place.min - 1))
}

fn too_long(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let fits = |place: &Place<'_>, _: &str| is_text(place) && !place.coded && place.max < 500;
    with_element(subject, dice, &[["8", "5", "39"]], fits, |place, _| "X".repeat(place.max + 1))
}

fn code_invalid(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    with_element(
        subject,
        dice,
        QUALIFIER,
        |place, _| is_text(place) && place.closed,
        |place, old| {
            // The element with the format of an adjacent date is wrong only in itself.
            let len = old.len().max(place.min);
            let candidates = ["W", "V", "Q", "7"].map(|letter| letter.repeat(len));
            let known = |code: &str| code == old || subject.has_code(place.list, code);
            candidates.into_iter().find(|code| !known(code)).expect("a code that the list does not have")
        },
    )
}

fn letters_in_number(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    with_element(subject, dice, &[["8", "6", "37"]], |place, _| is_number(place), |_, old| format!("{}A", &old[1..]))
}

fn date_invalid(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let like_date = |place: &Place<'_>, value: &str| {
        let text = matches!(place.data_type, DataType::Text | DataType::Alphanumeric) && place.max == 35;
        let digits = value.len() == 8 && value.starts_with("20") && value.bytes().all(|byte| byte.is_ascii_digit());
        place.data_type == DataType::Date || (text && digits)
    };
    with_element(subject, dice, &[["8", "8", "12"]], like_date, |_, old| format!("{}1341", &old[..4]))
}

fn time_invalid(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let fits = |place: &Place<'_>, _: &str| place.data_type == DataType::Time;
    with_element(subject, dice, &[["8", "9", "12"]], fits, |_, _| "2561".to_owned())
}

fn element_not_used(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        let elements = subject.guide.dictionary.segments[&usage.tag].elements.len();
        places.extend(
            (1..=elements)
                .filter(|e| subject.requirement(usage, *e) == Requirement::NotUsed)
                .filter(|e| {
                    !subject.notes(usage).iter().any(|note| note.elements.iter().any(|n| usize::from(*n) == *e))
                })
                .map(|e| (i, e)),
        );
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    let elements = &mut segments[at].elements;
    while elements.len() <= element {
        elements.push(String::new());
    }
    "1".clone_into(&mut elements[element]);
    let element = u32::try_from(element).expect("small");
    Some(Mutant {
        segments,
        codes: &[["8", "10", "15"], ["8", "I10", "15"]],
        at: (at, at),
        element: Some((element, 0)),
    })
}

/// Adds an element that the guide excludes, and that a syntax note names: `DTM03`, by `C0403`.
fn element_not_used_of_a_note(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        let elements = subject.guide.dictionary.segments[&usage.tag].elements.len();
        let in_note =
            |e: &usize| subject.notes(usage).iter().any(|note| note.elements.iter().any(|n| usize::from(*n) == *e));
        let not_used = |e: &usize| subject.requirement(usage, *e) == Requirement::NotUsed;
        places.extend((1..=elements).filter(not_used).filter(in_note).map(|e| (i, e)));
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    let elements = &mut segments[at].elements;
    while elements.len() <= element {
        elements.push(String::new());
    }
    "1".clone_into(&mut elements[element]);
    let element = u32::try_from(element).expect("small");
    let codes = &[["8", "10", "15"], ["8", "I10", "15"]];
    Some(Mutant { segments, codes, at: (at, at), element: Some((element, 0)) })
}

/// Reduces a segment to its tag; its first mandatory element is missing, or the one that decides its place.
fn tag_only(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let needed = |usage: &SegmentUse| {
        let elements = subject.guide.dictionary.segments[&usage.tag].elements.len();
        (1..=elements).any(|e| subject.requirement(usage, e) == Requirement::Mandatory)
    };
    let at = pick(subject, dice, |_, line, item| {
        // HL has separate checks, and an item with a trigger of one element is a trigger with a wrong value.
        line.tag() != "HL" && line.elements.len() > 2 && uses[item.0 as usize].is_some_and(needed)
    })?;
    let mut segments = subject.segments.clone();
    segments[at].elements.truncate(1);
    Some(Mutant { segments, codes: &[["8", "1", "13"]], at: (at, at), element: None })
}

fn elements_too_many(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, _, _| true)?;
    let mut segments = subject.segments.clone();
    let count = subject.guide.dictionary.segments[segments[at].tag()].elements.len();
    segments[at].elements.resize(count + 1, String::new());
    segments[at].elements.push("A".to_owned());
    let element = u32::try_from(count + 1).expect("small");
    Some(Mutant { segments, codes: &[["8", "3", "16"]], at: (at, at), element: Some((element, 0)) })
}

fn components_too_many(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let at = pick(subject, dice, |_, line, item| {
        uses[item.0 as usize].is_some_and(|usage| subject.is_composite(usage, 1)) && line.elements.len() > 1
    })?;
    let mut segments = subject.segments.clone();
    let tag = segments[at].tag().to_owned();
    let ElementOf::Composite(id) = &subject.guide.dictionary.segments[&tag].elements[0].of else { return None };
    let count = subject.guide.dictionary.composites[id].components.len();
    let value = &mut segments[at].elements[1];
    let have = value.matches(':').count() + 1;
    value.push_str(&":".repeat(count + 1 - have));
    value.push('A');
    Some(Mutant { segments, codes: &[["8", "13", "16"]], at: (at, at), element: Some((1, u32::MAX)) })
}

fn repetitions_too_many(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    if !subject.repeats() {
        return None;
    }
    let fits = |place: &Place<'_>, _: &str| place.repeat == Some(1) && !place.coded;
    let mut mutant = with_element(subject, dice, &[["8", "12", "35"]], fits, |_, old| format!("{old}^{old}"))?;
    // The repetition is of the whole composite, so the component must be 0.
    if let Some((_, component)) = &mut mutant.element {
        if *component > 0 {
            return None;
        }
        *component = 0;
    }
    Some(mutant)
}

/// Breaks the note of a segment by removing an element (`REQUIRED`) or adding one.
fn note_required(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        let there = |n: u8| line.elements.get(usize::from(n)).is_some_and(|value| !value.is_empty());
        for note in subject.notes(usage) {
            let all = note.elements.iter().all(|n| there(*n));
            let takes = matches!(note.kind, NoteKind::AllOrNone | NoteKind::IfFirstThenAll);
            let last = *note.elements.last().expect("a note has elements");
            // Another note may only ask for one of several elements: it is silent if this one asks for one of them.
            let asks = |other: &&SyntaxNote| other.elements.contains(&last) && other.kind != NoteKind::OneOrMore;
            let others = subject.notes(usage).iter().filter(asks).count();
            let qualifies = subject.is_qualifier(usage, usize::from(last), 1);
            let mandatory = subject.requirement(usage, usize::from(last)) == Requirement::Mandatory;
            if all && takes && others == 1 && !mandatory && !qualifies {
                places.push((i, last));
            }
            // R0203: the only present one of them.
            let only = note.elements.iter().filter(|n| there(**n)).count() == 1;
            if note.kind == NoteKind::OneOrMore && only {
                let one = *note.elements.iter().find(|n| there(**n)).expect("one");
                let others = subject.notes(usage).iter().filter(|other| other.elements.contains(&one)).count();
                if others == 1 && subject.requirement(usage, usize::from(one)) != Requirement::Mandatory {
                    places.push((i, one));
                }
            }
        }
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    segments[at].elements[usize::from(element)].clear();
    while segments[at].elements.last().is_some_and(String::is_empty) {
        segments[at].elements.pop();
    }
    Some(Mutant { segments, codes: &[["8", "2", "13"]], at: (at, at), element: None })
}

fn note_excluded(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let uses = subject.uses();
    let mut places = Vec::new();
    for (i, line) in subject.segments.iter().enumerate() {
        let Some(usage) = line.item.and_then(|item| uses[item.0 as usize]) else { continue };
        let there = |n: u8| line.elements.get(usize::from(n)).is_some_and(|value| !value.is_empty());
        for note in subject.notes(usage).iter().filter(|note| note.kind == NoteKind::OneOrNone) {
            let (here, gone): (Vec<u8>, Vec<u8>) = note.elements.iter().partition(|n| there(**n));
            for add in gone.iter().filter(|_| here.len() == 1) {
                let others = subject.notes(usage).iter().filter(|other| other.elements.contains(add)).count();
                let plain =
                    subject.element(usage, usize::from(*add), 0).is_some_and(|place| is_text(&place) && !place.coded);
                if others == 1 && plain {
                    places.push((i, *add));
                }
            }
        }
    }
    let (at, element) = *places.get(dice.below(places.len().max(1)))?;
    let mut segments = subject.segments.clone();
    let usage = uses[segments[at].item?.0 as usize]?;
    let place = subject.element(usage, usize::from(element), 0)?;
    let elements = &mut segments[at].elements;
    while elements.len() <= usize::from(element) {
        elements.push(String::new());
    }
    elements[usize::from(element)] = "A".repeat(place.min.max(1));
    Some(Mutant { segments, codes: &[["8", "10", "15"]], at: (at, at), element: None })
}

fn hl_number(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, line, _| line.tag() == "HL")?;
    let mut segments = subject.segments.clone();
    let number: usize = segments[at].elements[1].parse().ok()?;
    segments[at].elements[1] = (number + 50).to_string();
    Some(Mutant { segments, codes: &[["8", "7", "12"], ["8", "I12", "12"]], at: (at, at), element: Some((1, 0)) })
}

fn hl_parent(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |_, line, _| line.tag() == "HL" && !line.elements[2].is_empty())?;
    let mut segments = subject.segments.clone();
    let number: usize = segments[at].elements[2].parse().expect("a number");
    segments[at].elements[2] = (number + 70).to_string();
    Some(Mutant { segments, codes: &[["8", "7", "12"], ["8", "I12", "12"]], at: (at, at), element: Some((2, 0)) })
}

/// Changes the total of a balance in the guide's rules.
fn balance_broken(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    if subject.guide.rules.is_empty() {
        return None;
    }
    let totals: &[(&str, usize, usize)] = match &*subject.name {
        "837P" => &[("CLM", 2, 0)],
        "835" => &[("BPR", 2, 0), ("CLP", 3, 0), ("SVC", 2, 0)],
        "850" => &[("CTT", 1, 0)],
        "ORDERS" => &[("CNT", 1, 2)],
        _ => &[("QTY", 1, 2), ("PRI", 1, 2)],
    };
    let (tag, element, component) = totals[dice.below(totals.len())];
    let at = pick(subject, dice, |_, line, _| line.tag() == tag)?;
    let mut segments = subject.segments.clone();
    let value = &mut segments[at].elements[element];
    let mut parts: Vec<String> = value.split(':').map(str::to_owned).collect();
    parts[component.max(1) - 1].insert(0, '1');
    *value = parts.join(":");
    // For a line of an invoice, the amount is reported.
    let (last, at_element) = if subject.name == "INVOIC" { (at + 2, None) } else { (at, Some((small(element), 0))) };
    let first = if subject.name == "INVOIC" { at - 1 } else { at };
    let codes = &[["8", "7", "12"], ["8", "I12", "12"]];
    Some(Mutant { segments, codes, at: (first, last), element: at_element })
}

fn trigger_behind(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = pick(subject, dice, |i, line, item| {
        let next = &subject.segments[i + 1];
        let inside =
            next.item.is_some_and(|next| subject.compiled.item(next).parent == subject.compiled.item(item).parent);
        subject.compiled.item(item).is_trigger && inside && next.loops.last() == line.loops.last()
    })?;
    let mut segments = subject.segments.clone();
    segments.swap(at, at + 1);
    Some(Mutant { segments, codes: &[["7", "", "15"]], at: (at, at + 1), element: None })
}

fn small(n: usize) -> u32 {
    u32::try_from(n).expect("small")
}

fn trailer(subject: &Subject, dice: &mut Dice) -> usize {
    let trailers: Vec<usize> =
        (0..subject.segments.len()).filter(|i| matches!(subject.segments[*i].tag(), "SE" | "UNT")).collect();
    trailers[dice.below(trailers.len())]
}

fn count_wrong(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = trailer(subject, dice);
    let mut segments = subject.segments.clone();
    segments[at].elements[1].push('7');
    Some(Mutant { segments, codes: &[["", "4", "29"]], at: (at, at), element: Some((1, 0)) })
}

fn control_wrong(subject: &Subject, dice: &mut Dice) -> Option<Mutant> {
    let at = trailer(subject, dice);
    let mut segments = subject.segments.clone();
    segments[at].elements[2].push('7');
    Some(Mutant { segments, codes: &[["", "3", "28"]], at: (at, at), element: Some((2, 0)) })
}
