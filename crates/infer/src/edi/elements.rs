//! Properties of a segment's elements, over all of its occurrences.

use std::collections::BTreeSet;

use quayline_edi::guide::{
    CodeEntry, CodeList, CompositeDef, DataType, Dictionary, ElementDef, ElementOf, ElementUse, Requirement, SegmentDef,
};
use quayline_edi::{Element, Segment};

use crate::guess::{FEW, roomy};

/// More different values than these are not codes.
const CODES_MAX: usize = 12;
/// Longer values are not codes.
const CODE_CHARS_MAX: usize = 3;

/// A segment wherever it stood.
#[derive(Debug, Default)]
pub(crate) struct SegmentSeen {
    times: u64,
    elements: Vec<ElementSeen>,
}

/// An element at its number.
#[derive(Debug, Default)]
struct ElementSeen {
    /// Segments that had it.
    times: u64,
    /// Most repetitions.
    repeated: usize,
    /// Observed values: by component number, or a single entry if the element never had several components.
    components: Vec<ValueSeen>,
    /// Repetitions that were not empty.
    given: u64,
}

/// Values at one place.
#[derive(Debug)]
struct ValueSeen {
    times: u64,
    shortest: usize,
    longest: usize,
    /// Fewest characters, counting digits only.
    fewest_digits: usize,
    most_digits: usize,
    numbers: u64,
    with_mark: bool,
    leading_zero: bool,
    days: u64,
    binary: bool,
    /// Values that could be codes, as long as there are few.
    codes: Option<BTreeSet<String>>,
}

impl SegmentSeen {
    /// Records one more occurrence.
    pub(crate) fn add(&mut self, segment: &Segment<'_>) {
        self.times += 1;
        let mark = segment.delimiters().decimal_mark;
        let last = segment.len();
        for (i, element) in segment.elements().enumerate() {
            if self.elements.len() <= i {
                self.elements.push(ElementSeen::default());
            }
            let binary = segment.binary().is_some() && i + 1 == last;
            self.elements[i].add(&element, mark, binary);
        }
    }

    /// Returns the number of elements, or of the components of one of them if it has more.
    pub(crate) fn parts(&self) -> usize {
        self.elements.iter().map(|element| element.components.len()).fold(self.elements.len(), usize::max)
    }

    /// Writes the segment with its elements, composites and codes into a dictionary.
    pub(crate) fn define(&self, tag: &str, is_x12: bool, to: &mut Dictionary) {
        let mut def = SegmentDef::default();
        for (i, seen) in self.elements.iter().enumerate() {
            let name = format!("{tag}{:02}", i + 1);
            let of = if seen.components.len() > 1 {
                let mut composite = CompositeDef::default();
                for (c, value) in seen.components.iter().enumerate() {
                    let component = format!("{name}-{}", c + 1);
                    value.define(&component, is_x12, to);
                    composite.components.push(ElementUse {
                        of: ElementOf::Element(component),
                        name: None,
                        requirement: requirement(value.times, seen.given),
                        repeat: Some(1),
                    });
                }
                to.composites.insert(name.clone(), composite);
                ElementOf::Composite(name)
            } else {
                match seen.components.first() {
                    Some(value) => value.define(&name, is_x12, to),
                    None => ValueSeen::default().define(&name, is_x12, to),
                }
                ElementOf::Element(name)
            };
            let repeat = if seen.repeated > 1 { None } else { Some(1) };
            def.elements.push(ElementUse { of, name: None, requirement: requirement(seen.times, self.times), repeat });
        }
        to.segments.insert(tag.to_owned(), def);
    }
}

/// Returns mandatory for an element that was always present.
fn requirement(times: u64, of: u64) -> Requirement {
    if times >= of && of > 0 { Requirement::Mandatory } else { Requirement::Optional }
}

impl ElementSeen {
    fn add(&mut self, element: &Element<'_>, mark: u8, binary: bool) {
        if element.is_empty() {
            return;
        }
        self.times += 1;
        if binary {
            self.repeated = self.repeated.max(1);
            self.given += 1;
            self.component(0).add_binary(element.raw().len());
            return;
        }
        let mut repetitions = 0;
        let mut scratch = Vec::new();
        for repetition in element.repetitions() {
            repetitions += 1;
            if repetition.is_empty() {
                continue;
            }
            self.given += 1;
            for (c, component) in repetition.components().enumerate() {
                let value = self.component(c);
                if !component.is_empty() {
                    value.add(component.data(&mut scratch).bytes(), mark);
                }
            }
        }
        self.repeated = self.repeated.max(repetitions);
    }

    fn component(&mut self, number: usize) -> &mut ValueSeen {
        while self.components.len() <= number {
            self.components.push(ValueSeen::default());
        }
        &mut self.components[number]
    }
}

impl Default for ValueSeen {
    fn default() -> Self {
        ValueSeen {
            times: 0,
            shortest: usize::MAX,
            longest: 0,
            fewest_digits: usize::MAX,
            most_digits: 0,
            numbers: 0,
            with_mark: false,
            leading_zero: false,
            days: 0,
            binary: false,
            codes: Some(BTreeSet::new()),
        }
    }
}

impl ValueSeen {
    fn add_binary(&mut self, bytes: usize) {
        self.times += 1;
        self.binary = true;
        self.codes = None;
        self.longest = self.longest.max(bytes);
    }

    fn add(&mut self, value: &[u8], mark: u8) {
        self.times += 1;
        // Characters of any repertoire have at most as many bytes, but no fewer than one.
        let text = core::str::from_utf8(value).ok();
        let (few, many) = (text.map_or(1, |text| text.chars().count()), value.len());
        self.shortest = self.shortest.min(few);
        self.longest = self.longest.max(many);
        if let Some((digits, with_mark, leading_zero)) = number(value, mark) {
            self.numbers += 1;
            self.fewest_digits = self.fewest_digits.min(digits);
            self.most_digits = self.most_digits.max(digits);
            self.with_mark |= with_mark;
            self.leading_zero |= leading_zero;
        }
        self.days += u64::from(is_day(value));
        let is_code =
            many <= CODE_CHARS_MAX && value.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        match (&mut self.codes, text) {
            (Some(codes), Some(text)) if is_code => {
                codes.insert(text.to_owned());
                if codes.len() > CODES_MAX {
                    self.codes = None;
                }
            }
            (codes, _) => *codes = None,
        }
    }

    /// Writes it as a data element, with the list of its codes.
    fn define(&self, name: &str, is_x12: bool, to: &mut Dictionary) {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let text = if is_x12 { DataType::Text } else { DataType::Alphanumeric };
        let mut def =
            ElementDef { name: None, data_type: text, min: 1, max: roomy(small(self.longest.max(1))), codes: None };
        let fixed = self.times >= FEW && self.shortest == self.longest && self.longest > 1;
        if self.times == 0 {
            // Nothing is known of it.
            def.max = 80;
        } else if self.binary {
            def.data_type = if is_x12 { DataType::Binary } else { text };
        } else if is_x12 && self.days == self.times {
            (def.data_type, def.min, def.max) = (DataType::Date, 8, 8);
        } else if let Some(codes) = self.codes.as_ref().filter(|codes| self.is_coded(codes)) {
            if is_x12 {
                def.data_type = DataType::Identifier;
            }
            (def.min, def.max) = (small(self.shortest), small(self.longest));
            let entry = |code: &String| CodeEntry { value: code.clone(), name: None, from: None, until: None };
            let list = CodeList { name: None, codes: codes.iter().map(entry).collect(), open: false };
            to.codes.insert(name.to_owned(), list);
            def.codes = Some(name.to_owned());
        } else if self.is_number() {
            def.data_type = if is_x12 { DataType::Decimal } else { DataType::Number };
            def.max = small(self.most_digits + 4).min(35);
        } else if fixed {
            (def.min, def.max) = (small(self.shortest), small(self.longest));
        }
        to.elements.insert(name.to_owned(), def);
    }

    /// Returns whether it looks like a code: few short values, each several times, or always the same length.
    fn is_coded(&self, codes: &BTreeSet<String>) -> bool {
        let often = self.times >= 2 * codes.len() as u64;
        let letters = codes.iter().any(|code| code.bytes().any(|byte| byte.is_ascii_uppercase()));
        !codes.is_empty() && (self.leading_zero || letters) && (often || self.shortest == self.longest)
    }

    /// Returns whether it holds quantities, rather than identifiers made of digits.
    fn is_number(&self) -> bool {
        let varied = self.times >= FEW && self.fewest_digits != self.most_digits;
        self.numbers == self.times && !self.leading_zero && self.most_digits <= 18 && (self.with_mark || varied)
    }
}

/// Returns the number of digits, whether there is a decimal mark, and whether a leading zero precedes others.
fn number(value: &[u8], mark: u8) -> Option<(usize, bool, bool)> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    let mut parts = digits.split(|byte| *byte == mark || *byte == b'.');
    let (whole, fraction) = (parts.next()?, parts.next());
    let all_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    // X12 has no zero before the mark.
    let is_whole = all_digits(whole) || whole.is_empty() && fraction.is_some();
    if parts.next().is_some() || !is_whole || fraction.is_some_and(|fraction| !all_digits(fraction)) {
        return None;
    }
    let leading_zero = whole.len() > 1 && whole[0] == b'0';
    Some((whole.len() + fraction.map_or(0, <[u8]>::len), fraction.is_some(), leading_zero))
}

/// Returns whether a value is a present-day date in the form `CCYYMMDD`.
fn is_day(value: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(value) else { return false };
    if value.len() != 8 || !value.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let part = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let length = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (1900..2100).contains(&year) && (1..=12).contains(&month) && (1..=length).contains(&day)
}
