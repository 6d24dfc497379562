//! Consistency checks of a guide: all references resolve, and its requirements can be satisfied.

use quayline_core::Finding;

use super::codes::{CHANGE, CODE, LENGTHS, NOTE, REFERENCE, SEGMENT_UNDEFINED, error, warning};
use super::distinguish::reference;
use super::effective;
use super::flatten::Flat;
use super::{ItemId, place, small};
use crate::guide::model::{
    Codes, CompositeDef, DataType, ElementOf, ElementUse, Guide, NoteKind, SegmentUse, SyntaxNote,
};

/// Checks elements, composites, segments and code lists individually.
pub(super) fn dictionary(guide: &Guide) -> Vec<Finding> {
    let mut findings = Vec::new();
    let dictionary = &guide.dictionary;
    for (number, def) in &dictionary.elements {
        let at = format!("element {number}");
        lengths(&at, def.data_type, def.min, def.max, &mut findings);
        if let Some(list) = &def.codes
            && !dictionary.codes.contains_key(list)
        {
            findings.push(error(REFERENCE, &at, format!("the code list `{list}` is not defined")));
        }
    }
    for (id, def) in &dictionary.composites {
        composite(guide, id, def, &mut findings);
    }
    for (tag, def) in &dictionary.segments {
        let at = format!("segment {tag}");
        for (i, usage) in def.elements.iter().enumerate() {
            let name = reference(tag, i + 1, 0);
            match &usage.of {
                ElementOf::Element(number) if !dictionary.elements.contains_key(number) => {
                    findings.push(error(REFERENCE, &at, format!("{name} is element {number}, which is not defined")));
                }
                ElementOf::Composite(id) if !dictionary.composites.contains_key(id) => {
                    findings.push(error(REFERENCE, &at, format!("{name} is composite {id}, which is not defined")));
                }
                _ => {}
            }
        }
        notes(&at, &def.notes, &def.elements, &mut findings);
    }
    for (name, list) in &dictionary.codes {
        let at = format!("codes {name}");
        for code in &list.codes {
            if code.value.is_empty() {
                findings.push(error(CODE, &at, "a code is empty"));
            }
            for day in [code.from, code.until].into_iter().flatten() {
                if !(101..=99_991_231).contains(&day)
                    || !(1..=12).contains(&(day / 100 % 100))
                    || !(1..=31).contains(&(day % 100))
                {
                    findings.push(error(CODE, &at, format!("the day {day} of code {} is not YYYYMMDD", code.value)));
                }
            }
            if let (Some(from), Some(until)) = (code.from, code.until)
                && from > until
            {
                let message = format!("code {} is never valid: it begins on {from} and ends on {until}", code.value);
                findings.push(error(CODE, &at, message));
            }
        }
        let mut values: Vec<&str> = list.codes.iter().map(|code| code.value.as_str()).collect();
        values.sort_unstable();
        for pair in values.windows(2).filter(|pair| pair[0] == pair[1]) {
            findings.push(error(CODE, &at, format!("code {} is listed twice", pair[0])));
        }
    }
    findings
}

fn composite(guide: &Guide, id: &str, def: &CompositeDef, findings: &mut Vec<Finding>) {
    let at = format!("composite {id}");
    if def.components.is_empty() {
        findings.push(error(REFERENCE, &at, "the composite has no components"));
    }
    for (i, usage) in def.components.iter().enumerate() {
        match &usage.of {
            ElementOf::Element(number) if !guide.dictionary.elements.contains_key(number) => {
                let message = format!("component {} is element {number}, which is not defined", i + 1);
                findings.push(error(REFERENCE, &at, message));
            }
            ElementOf::Composite(inner) => {
                let message = format!("component {} is composite {inner}; composites have simple elements only", i + 1);
                findings.push(error(REFERENCE, &at, message));
            }
            ElementOf::Element(_) => {}
        }
    }
    notes(&at, &def.notes, &def.components, findings);
}

/// Lengths that no value can have.
fn lengths(at: &str, data_type: DataType, min: u32, max: u32, findings: &mut Vec<Finding>) {
    let mut wrong = |message: String| findings.push(error(LENGTHS, at, message));
    if min > max {
        wrong(format!("at least {min} characters and at most {max} is not a length"));
        return;
    }
    if max == 0 {
        wrong("at most 0 characters is not a length".to_owned());
    }
    match data_type {
        DataType::Date if max < 6 || min > 8 => wrong(format!("a date has 6 or 8 digits, not {min} to {max}")),
        DataType::Time if max < 4 || min > 8 => wrong(format!("a time has 4 to 8 digits, not {min} to {max}")),
        DataType::Implied(places) if u32::from(places) > max => {
            findings.push(warning(LENGTHS, at, format!("{places} implied decimal places, but at most {max} digits")));
        }
        _ => {}
    }
}

fn notes(at: &str, notes: &[SyntaxNote], elements: &[ElementUse], findings: &mut Vec<Finding>) {
    for note in notes {
        let name = note_name(note);
        let mut wrong = |message: String| findings.push(error(NOTE, at, message));
        if note.elements.len() < 2 {
            wrong(format!("the note {name} names fewer than two elements"));
        }
        for number in &note.elements {
            if *number == 0 || usize::from(*number) > elements.len() {
                wrong(format!("the note {name} names element {number}, but there are {}", elements.len()));
            }
        }
        let mut sorted = note.elements.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            wrong(format!("the note {name} names an element twice"));
        }
    }
}

/// Formats a note in X12 notation; kinds of EDIFACT that X12 lacks are in EDIFACT notation.
pub(crate) fn note_name(note: &SyntaxNote) -> String {
    let letter = match note.kind {
        NoteKind::AllOrNone => "P",
        NoteKind::OneOrMore => "R",
        NoteKind::OneOrNone => "E",
        NoteKind::IfFirstThenAll => "C",
        NoteKind::IfFirstThenOne => "L",
        NoteKind::ExactlyOne => "D1 ",
        NoteKind::IfFirstThenNone => "D7 ",
    };
    let numbers: Vec<String> = note.elements.iter().map(|number| format!("{number:02}")).collect();
    format!("{letter}{}", numbers.join(""))
}

/// Segments at their places.
pub(super) fn structure(guide: &Guide, flat: &Flat<'_>, findings: &mut Vec<Finding>) {
    for (i, usage) in flat.uses.iter().enumerate() {
        let Some(usage) = usage else { continue };
        let at = || place(&flat.items, ItemId(small(i)));
        let Some(def) = guide.dictionary.segments.get(&usage.tag) else {
            let message = format!("the segment {} is not defined", usage.tag);
            findings
                .push(error(SEGMENT_UNDEFINED, at(), message).hint("include a dictionary that has it, or define it"));
            continue;
        };
        changes(guide, usage, &at, findings);
        if let Some(own) = &usage.notes {
            notes(&at(), own, &def.elements, findings);
        }
    }
}

fn changes(guide: &Guide, usage: &SegmentUse, at: &dyn Fn() -> String, findings: &mut Vec<Finding>) {
    let widths = effective::widths(guide, &usage.tag);
    for (i, change) in usage.changes.iter().enumerate() {
        let (element, component) = (usize::from(change.element), usize::from(change.component));
        let name = reference(&usage.tag, element, component);
        let width = element.checked_sub(1).and_then(|element| widths.get(element));
        if width.is_none_or(|width| component > *width) {
            findings.push(error(CHANGE, at(), format!("{name} is changed, but there is no such element")));
            continue;
        }
        if usage.changes[..i].iter().any(|other| (other.element, other.component) == (change.element, change.component))
        {
            findings.push(error(CHANGE, at(), format!("{name} is changed twice")));
        }
        if let Some(Codes::List(list)) = &change.codes
            && !guide.dictionary.codes.contains_key(list)
        {
            findings.push(error(REFERENCE, at(), format!("the code list `{list}` of {name} is not defined")));
        }
        if matches!(&change.codes, Some(Codes::These(values)) if values.is_empty()) {
            findings.push(error(CODE, at(), format!("{name} has an empty list of codes, so nothing is valid")));
        }
        if (change.min.is_some() || change.max.is_some())
            && let Some(element) = effective::element(guide, usage, element, component)
        {
            lengths(&format!("{}, {name}", at()), element.data_type, element.min, element.max, findings);
        }
    }
}
