//! Detailed check of a segment: the careful twin of `segment::is_quickly_right`.

use super::element::{self, Settings, is_letters};
use crate::characters::first_characters;
use crate::content_error::ContentErrorKind as Kind;
use crate::guide::NoteKind;
use crate::guide::code_set::{Key, Standing};
use crate::guide::compile::{Form, Layouts, Note, Spec};
use crate::segment::{Element, Segment};

/// A fault of an element of a segment.
#[derive(Clone, Debug)]
pub(super) struct ElementFault {
    pub(super) kind: Kind,
    /// Element, from 1; 0 for the segment.
    pub(super) element: usize,
    /// Repetition, from 1 if there are several; otherwise 0.
    pub(super) repetition: usize,
    /// Component, from 1; 0 for the element.
    pub(super) component: usize,
    /// Index in `Layouts::specs`.
    pub(super) spec: Option<u32>,
}

/// Characters of a value that acknowledgments repeat (AK404).
pub(super) const COPY_MAX: usize = 99;

impl ElementFault {
    /// Returns the beginning of the original value.
    pub(super) fn copy(&self, segment: &Segment<'_>, settings: Settings) -> Vec<u8> {
        let part = segment.element(self.element).and_then(|element| {
            let repetition = element.repetitions().nth(self.repetition.max(1) - 1)?;
            if self.component == 0 { Some(repetition) } else { repetition.component(self.component) }
        });
        part.map_or_else(Vec::new, |part| first_characters(part.raw(), COPY_MAX, settings.single_byte).to_vec())
    }
}

/// A segment at its place.
pub(super) struct Explanation<'x, 's> {
    pub(super) tables: &'x Layouts,
    pub(super) layout: u32,
    pub(super) segment: &'x Segment<'s>,
    pub(super) settings: Settings,
    /// Syntax notes are checked.
    pub(super) notes: bool,
}

impl Explanation<'_, '_> {
    pub(super) fn explain(&self, faults: &mut Vec<ElementFault>) {
        let tables = self.tables;
        let layout = &tables.layouts[self.layout as usize];
        let (first, end) = layout.specs;
        let specs = &tables.specs[first as usize..end as usize];
        let segment = self.segment;
        let given =
            segment.raw_elements().enumerate().filter(|(_, raw)| !raw.is_empty()).last().map_or(0, |(i, _)| i + 1);
        let of_segment = |kind, element| ElementFault { kind, element, repetition: 0, component: 0, spec: None };
        if given > specs.len() {
            let (max, found) = (count(specs.len()), count(given));
            faults.push(of_segment(Kind::ElementsTooMany { max, found }, specs.len() + 1));
        } else if given < segment.len() {
            faults.push(of_segment(Kind::TrailingSeparators, 0));
        }
        // A segment has at least one element (X12.6; ISO 9735-1), although none of its elements may be mandatory.
        if given == 0 && !specs.is_empty() {
            let first_needed = specs.iter().position(|spec| spec.mandatory).unwrap_or(0);
            let (kind, spec) = (Kind::ElementsMissing, Some(first + count(first_needed)));
            faults.push(ElementFault { spec, ..of_segment(kind, first_needed + 1) });
            return;
        }
        let mut present = 0u64;
        let mut previous = 0;
        for (i, spec) in specs.iter().enumerate() {
            let number = first + count(i);
            let element = segment.element(i + 1).filter(|element| !element.is_empty());
            let fault = |kind| ElementFault { kind, element: i + 1, repetition: 0, component: 0, spec: Some(number) };
            let Some(element) = element else {
                previous = 0;
                if spec.mandatory {
                    faults.push(fault(Kind::ElementMissing));
                }
                continue;
            };
            present |= 1u64.checked_shl(count(i)).unwrap_or(0);
            if spec.not_used {
                faults.push(fault(Kind::ElementNotUsed));
            } else if segment.binary().is_some() && i + 1 == segment.len() {
                let found = count(element.raw().len());
                if found > spec.max {
                    faults.push(fault(Kind::ElementTooLong { max: spec.max, found }));
                } else if found < spec.min {
                    faults.push(fault(Kind::ElementTooShort { min: spec.min, found }));
                }
            } else {
                self.element(spec, number, i + 1, &element, previous, faults);
            }
            previous = if element.is_simple() { Key::of(element.raw()).word } else { 0 };
        }
        if self.notes {
            let notes = &tables.notes[layout.notes.0 as usize..layout.notes.1 as usize];
            for (note, kind, element) in violated(notes, present) {
                // A missing mandatory element is reported once, and a note about an element that must be absent does not apply to the others.
                let is_told = |fault: &ElementFault| {
                    let named = note.elements.iter().any(|named| usize::from(*named) == fault.element);
                    fault.component == 0
                        && (fault.element == element
                            || named && matches!(fault.kind, Kind::ElementMissing | Kind::ElementNotUsed))
                };
                if faults.iter().any(is_told) {
                    continue;
                }
                let spec = count(element).checked_sub(1).map(|i| first + i).filter(|spec| *spec < end);
                faults.push(ElementFault { kind, element, repetition: 0, component: 0, spec });
            }
        }
    }

    fn element(
        &self,
        spec: &Spec,
        number: u32,
        place: usize,
        element: &Element<'_>,
        previous: u64,
        faults: &mut Vec<ElementFault>,
    ) {
        let repetitions = element.repetitions().count();
        let given =
            element.repetitions().enumerate().filter(|(_, one)| !one.is_empty()).last().map_or(0, |(i, _)| i + 1);
        let at = |kind, repetition, component, spec| ElementFault { kind, element: place, repetition, component, spec };
        // Documents hold an element that occurs once as one text, with any separators in it.
        let found = if spec.repeat == 1 { repetitions } else { given };
        if found > spec.repeat as usize {
            let kind = Kind::RepetitionsTooMany { max: spec.repeat, found: count(found) };
            faults.push(at(kind, 0, 0, Some(number)));
            return;
        }
        if given < repetitions && repetitions > 1 {
            faults.push(at(Kind::TrailingSeparators, 0, 0, Some(number)));
            if given == 0 {
                faults.extend(spec.mandatory.then(|| at(Kind::ElementMissing, 0, 0, Some(number))));
                return;
            }
        }
        let mut scratch = Vec::new();
        for (r, repetition) in element.repetitions().take(given.max(1)).enumerate() {
            let r = if repetitions > 1 { r + 1 } else { 0 };
            if spec.form == Form::Composite {
                self.composite(spec, number, place, r, &repetition, faults);
                continue;
            }
            let components = repetition.components().count();
            if components > 1 {
                let kind = Kind::ComponentsTooMany { max: 1, found: count(components) };
                faults.push(at(kind, r, 2, Some(number)));
            } else if !repetition.is_empty() {
                let data = repetition.data(&mut scratch).bytes();
                if let Some(kind) = self.value(spec, data, previous) {
                    faults.push(at(kind, r, 0, Some(number)));
                }
            }
        }
    }

    fn composite(
        &self,
        spec: &Spec,
        number: u32,
        place: usize,
        repetition: usize,
        element: &Element<'_>,
        faults: &mut Vec<ElementFault>,
    ) {
        let (first, end) = spec.components;
        let specs = &self.tables.specs[first as usize..end as usize];
        let parts: Vec<Element<'_>> = element.components().collect();
        let given = parts.iter().rposition(|part| !part.is_empty()).map_or(0, |last| last + 1);
        let at = |kind, component, spec| ElementFault { kind, element: place, repetition, component, spec };
        if given > specs.len() {
            let kind = Kind::ComponentsTooMany { max: count(specs.len()), found: count(given) };
            faults.push(at(kind, specs.len() + 1, Some(number)));
        } else if given < parts.len() && parts.len() > 1 {
            faults.push(at(Kind::TrailingSeparators, 0, Some(number)));
        }
        let (mut present, mut previous) = (0u64, 0);
        let mut scratch = Vec::new();
        for (i, spec) in specs.iter().enumerate() {
            let own = Some(first + count(i));
            let Some(part) = parts.get(i).filter(|part| !part.is_empty()) else {
                previous = 0;
                if spec.mandatory {
                    faults.push(at(Kind::ElementMissing, i + 1, own));
                }
                continue;
            };
            present |= 1u64.checked_shl(count(i)).unwrap_or(0);
            if spec.not_used {
                faults.push(at(Kind::ElementNotUsed, i + 1, own));
                continue;
            }
            let format = match (spec.form, parts.get(i + 1)) {
                (Form::EdifactPeriod, Some(behind)) => Key::of(behind.raw()).word,
                (Form::EdifactPeriod, None) => 0,
                _ => previous,
            };
            let data = part.data(&mut scratch).bytes();
            if let Some(kind) = self.value(spec, data, format) {
                faults.push(at(kind, i + 1, own));
            }
            previous = Key::of(part.raw()).word;
        }
        if self.notes {
            let notes = &self.tables.notes[spec.notes.0 as usize..spec.notes.1 as usize];
            for (_, kind, component) in violated(notes, present) {
                if faults.iter().any(|fault| fault.element == place && fault.component == component) {
                    continue;
                }
                let own = count(component).checked_sub(1).map(|i| first + i).filter(|spec| *spec < end);
                faults.push(at(kind, component, own));
            }
        }
    }

    /// Returns the first fault of a value.
    fn value(&self, spec: &Spec, data: &[u8], format: u64) -> Option<Kind> {
        value_fault(self.tables, self.settings, spec, data, format)
    }
}

/// Returns the first fault of a value, independent of its neighbors except for the code of its format.
pub(crate) fn value_fault(tables: &Layouts, settings: Settings, spec: &Spec, data: &[u8], format: u64) -> Option<Kind> {
    let characters = settings.characters(data);
    let length = |found: usize| {
        let found = count(found);
        if found < spec.min {
            Some(Kind::ElementTooShort { min: spec.min, found })
        } else if found > spec.max {
            Some(Kind::ElementTooLong { max: spec.max, found })
        } else {
            None
        }
    };
    let wrong = match spec.form {
        Form::Binary | Form::Composite => length(data.len()),
        Form::Text | Form::X12Period | Form::EdifactPeriod if data.iter().any(u8::is_ascii_control) => {
            Some(Kind::Characters { expected: "printable characters" })
        }
        Form::Text if spec.mandatory && spec.codes == 0 && data.iter().all(|byte| *byte == b' ') => Some(Kind::Blank),
        Form::Text => length(characters),
        Form::Letters if !is_letters(data) => Some(Kind::Characters { expected: "letters" }),
        Form::Letters => length(characters),
        Form::Integer => {
            let digits = data.strip_prefix(b"-").unwrap_or(data);
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                Some(Kind::Characters { expected: "digits, and a minus sign before them where it is negative" })
            } else {
                length(digits.len()).or_else(|| element::number_form(data, spec.min, settings.numbers))
            }
        }
        Form::Decimal => match element::decimal_digits(data, settings.numbers) {
            None => Some(Kind::Characters { expected: "a number: digits, a decimal mark, a minus sign before them" }),
            Some(digits) => length(digits).or_else(|| element::number_form(data, spec.min, settings.numbers)),
        },
        Form::Date => length(data.len()).or_else(|| date_fault(spec, data)),
        Form::Time => length(data.len())
            .or_else(|| (!element::is_time(data)).then_some(Kind::Time { expected: "HHMM, HHMMSS or HHMMSSdd" })),
        Form::X12Period | Form::EdifactPeriod => length(characters).or_else(|| {
            let period = match spec.form {
                Form::X12Period => element::x12_period(format),
                _ => element::edifact_period(format),
            }?;
            if period.fits(data) {
                None
            } else if period.fits_by(data, element::has_month) {
                Some(Kind::Day { form: period.expected })
            } else {
                Some(Kind::Date { expected: period.expected })
            }
        }),
    };
    wrong.or_else(|| code_fault(tables, settings, spec, data))
}

/// Returns the fault of a date. It names only forms that the value's length, or otherwise the element's lengths, allow.
fn date_fault(spec: &Spec, data: &[u8]) -> Option<Kind> {
    const LONG: &str = "CCYYMMDD";
    const SHORT: &str = "YYMMDD";
    if element::is_date(data) {
        return None;
    }
    let form = match data.len() {
        8 => Some(LONG),
        6 => Some(SHORT),
        _ if spec.min > 6 => Some(LONG),
        _ if spec.max < 8 => Some(SHORT),
        _ => None,
    };
    Some(match form {
        Some(form) if element::has_month(data) => Kind::Day { form },
        form => Kind::Date { expected: form.unwrap_or("CCYYMMDD or YYMMDD") },
    })
}

fn code_fault(tables: &Layouts, settings: Settings, spec: &Spec, data: &[u8]) -> Option<Kind> {
    let allowance = tables.allowance(spec.codes)?;
    // Identifiers shorter than their least length are filled with blanks (X12.6, type ID).
    let standing = match allowance.set.standing(Key::of(data), settings.day) {
        Standing::Absent => allowance.set.standing(Key::of(data.trim_ascii_end()), settings.day),
        standing => standing,
    };
    match standing {
        Standing::Valid => None,
        Standing::OutOfDate => Some(Kind::CodeOutOfDate { day: settings.day.unwrap_or(0) }),
        Standing::Absent => {
            let listed = allowance.standard.as_ref().is_some_and(|standard| standard.contains(Key::of(data)));
            Some(Kind::Code { listed })
        }
    }
}

/// Returns the violated notes with the elements to which they are attributed. A note that asks for one of several elements is left out if another note
/// already asks for one of them: with that element, both hold.
fn violated(notes: &[Note], present: u64) -> Vec<(&Note, Kind, usize)> {
    let all: Vec<_> =
        notes.iter().filter(|note| !note.holds(present)).map(|note| (note, blame(note, present))).collect();
    let is_asked = |one: &Note| {
        all.iter().any(|(other, (kind, element))| {
            other.kind != NoteKind::OneOrMore
                && matches!(kind, Kind::Required { .. })
                && one.elements.iter().any(|named| usize::from(*named) == *element)
        })
    };
    let told = all.iter().filter(|(note, _)| note.kind != NoteKind::OneOrMore || !is_asked(note));
    told.map(|(note, (kind, element))| (*note, kind.clone(), *element)).collect()
}

/// Returns the element to which a violated note is attributed.
fn blame(note: &Note, present: u64) -> (Kind, usize) {
    let there = |number: &u8| present & 1u64.checked_shl(u32::from(*number) - 1).unwrap_or(0) != 0;
    let required = |element: Option<&u8>| {
        (Kind::Required { note: note.name.clone() }, element.map_or(0, |element| usize::from(*element)))
    };
    let excluded = |element: Option<&u8>| {
        (Kind::Excluded { note: note.name.clone() }, element.map_or(0, |element| usize::from(*element)))
    };
    let missing = note.elements.iter().find(|number| !there(number));
    match note.kind {
        NoteKind::AllOrNone | NoteKind::IfFirstThenAll => required(missing),
        NoteKind::OneOrMore => required(note.elements.first()),
        NoteKind::IfFirstThenOne => required(note.elements.get(1)),
        NoteKind::ExactlyOne if note.all & present == 0 => required(note.elements.first()),
        NoteKind::OneOrNone | NoteKind::ExactlyOne => {
            excluded(note.elements.iter().filter(|number| there(number)).nth(1))
        }
        NoteKind::IfFirstThenNone => excluded(note.elements.iter().skip(1).find(|number| there(number))),
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
