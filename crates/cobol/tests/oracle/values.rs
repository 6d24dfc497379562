//! Random contents of a record: the values that the program stores and that decoding must return.

use std::collections::HashMap;

use crate::copybook::{Body, Case, Domain, Entry};
use crate::random::Random;

/// A decimal as sign, digits and scale.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Number {
    pub(crate) negative: bool,
    /// At least one digit.
    pub(crate) digits: String,
    pub(crate) scale: i32,
}

/// Content of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// The characters, padding not included.
    Text(String),
    Number(Number),
    Float(f64),
    /// Nothing was stored: another view was, or the content is not compared.
    Unset,
}

/// One field of one occurrence, in the order in which the program comes by it.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    /// `GROUP.TABLE[0].FIELD`, as the document has it.
    pub(crate) path: String,
    /// The field's own name.
    pub(crate) name: String,
    pub(crate) domain: Domain,
    /// Occurrence of each table around it, from 0.
    pub(crate) indices: Vec<usize>,
    pub(crate) content: Content,
}

/// The contents of one record.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub(crate) visits: Vec<Visit>,
    /// The same as a JSON document, without views that have no content.
    pub(crate) json: String,
    /// Whether any storage holds another view than its first.
    pub(crate) other_views: bool,
}

/// Range of the generated values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Range {
    /// Numbers with at most as many digits as the picture.
    Picture,
    /// For COMP-5, any number that fits the bytes.
    Storage,
}

pub(crate) fn contents(random: &mut Random, case: &Case, range: Range) -> Contents {
    let mut bounds: HashMap<String, usize> = HashMap::new();
    for table in case.record.all().iter().filter_map(|e| e.occurs.as_ref()) {
        if let Some(counter) = &table.counter {
            let max = bounds.entry(counter.clone()).or_insert(table.max);
            *max = (*max).min(table.max);
        }
    }
    // A counter that no table uses still stands in the record.
    let mut counts = HashMap::new();
    let mut names: Vec<&String> = bounds.keys().collect();
    names.sort();
    for name in names {
        let max = bounds[name];
        let count = match random.below(4) {
            0 => max,
            1 => 0,
            _ => random.below(max + 1),
        };
        counts.insert(name.clone(), count);
    }
    let mut filler = Filler { random, range, counts, visits: Vec::new(), json: String::new(), other_views: false };
    filler.json.push('{');
    filler.children(&case.record, "", &[], true);
    filler.json.push('}');
    Contents { visits: filler.visits, json: filler.json, other_views: filler.other_views }
}

struct Filler<'r> {
    random: &'r mut Random,
    range: Range,
    counts: HashMap<String, usize>,
    visits: Vec<Visit>,
    json: String,
    other_views: bool,
}

impl Filler<'_> {
    fn children(&mut self, group: &Entry, path: &str, indices: &[usize], stored: bool) {
        let children = group.children();
        let mut at = 0;
        while at < children.len() {
            let views = children[at..].iter().enumerate().take_while(|(i, e)| *i == 0 || e.redefines.is_some()).count();
            // A view without any name holds nothing that could be stored.
            let full: Vec<usize> =
                (0..views).filter(|i| children[at + i].all().iter().any(|e| named_item(e))).collect();
            let chosen = if full.is_empty() { 0 } else { full[self.random.below(full.len())] };
            self.other_views |= stored && chosen > 0;
            for (i, view) in children[at..at + views].iter().enumerate() {
                self.entry(view, path, indices, stored && i == chosen);
            }
            at += views;
        }
    }

    fn entry(&mut self, entry: &Entry, path: &str, indices: &[usize], stored: bool) {
        let Some(name) = &entry.name else {
            // The children of an unnamed group stand in its parent.
            return self.children(entry, path, indices, stored);
        };
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if stored && shown(entry) {
            self.comma();
            self.json.push_str(&format!("\"{name}\":"));
        }
        let Some(table) = &entry.occurs else { return self.occurrence(entry, &path, indices, stored) };
        let count = table.counter.as_ref().map_or(table.max, |counter| self.counts[counter]);
        let listed = stored && shown(entry);
        if listed {
            self.json.push('[');
        }
        for i in 0..count {
            if listed && i > 0 {
                self.json.push(',');
            }
            let mut inner = indices.to_vec();
            inner.push(i);
            self.occurrence(entry, &format!("{path}[{i}]"), &inner, stored);
        }
        if listed {
            self.json.push(']');
        }
    }

    fn occurrence(&mut self, entry: &Entry, path: &str, indices: &[usize], stored: bool) {
        let Body::Item(domain) = &entry.body else {
            let braces = stored && shown(entry);
            if braces {
                self.json.push('{');
            }
            self.children(entry, path, indices, stored);
            if braces {
                self.json.push('}');
            }
            return;
        };
        let name = entry.name.clone().expect("unnamed items are not visited");
        let content = match self.counts.get(&name) {
            Some(count) => Content::Number(Number { negative: false, digits: count.to_string(), scale: 0 }),
            None if stored => content(self.random, domain, self.range),
            None => Content::Unset,
        };
        if stored {
            self.value(&content, domain);
        }
        self.visits.push(Visit {
            path: path.to_owned(),
            name,
            domain: domain.clone(),
            indices: indices.to_vec(),
            content,
        });
    }

    fn value(&mut self, content: &Content, domain: &Domain) {
        let text = match content {
            Content::Text(text) => serde_json::to_string(text).expect("text is JSON"),
            Content::Number(number) => number.text(),
            Content::Float(x) => match domain {
                Domain::Float { double: false } => f64::from(single(*x)).to_string(),
                _ => x.to_string(),
            },
            Content::Unset => "null".to_owned(),
        };
        self.json.push_str(&text);
    }

    fn comma(&mut self) {
        if !self.json.ends_with(['{', '[']) {
            self.json.push(',');
        }
    }
}

fn named_item(entry: &Entry) -> bool {
    entry.name.is_some() && matches!(entry.body, Body::Item(_))
}

/// Whether a document has the entry: a group without any named item below is left out.
fn shown(entry: &Entry) -> bool {
    entry.name.is_some()
        && match &entry.body {
            Body::Item(_) => true,
            Body::Group(_) => entry.all().iter().skip(1).any(|e| e.name.is_some()),
        }
}

impl Number {
    /// Exact decimal text with all decimals of the scale.
    pub(crate) fn text(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = self.digits.trim_start_matches('0');
        if self.scale <= 0 {
            let zeros = "0".repeat(self.scale.unsigned_abs() as usize);
            return if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}{zeros}") };
        }
        let scale = self.scale.unsigned_abs() as usize;
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        format!("{sign}{whole}.{fraction}")
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the value was made from a single")]
pub(crate) fn single(x: f64) -> f32 {
    x as f32
}

/// A random value of a domain.
pub(crate) fn content(random: &mut Random, domain: &Domain, range: Range) -> Content {
    match domain {
        Domain::Text { chars, justified, alphabetic } => {
            let n = random.below(chars + 1);
            let mut text: String = (0..n).map(|_| character(random, *alphabetic)).collect();
            // Padding cannot be distinguished from blanks of the text itself.
            text = if *justified {
                text.trim_start_matches(' ').to_owned()
            } else {
                text.trim_end_matches(' ').to_owned()
            };
            Content::Text(text)
        }
        Domain::TextEdited { mask } => {
            Content::Text(mask.iter().map(|m| m.unwrap_or_else(|| character(random, false))).collect())
        }
        Domain::Number { digits, scale, signed, binary, .. } => {
            if let (Some(bytes), Range::Storage) = (binary, range) {
                let bits = 8 * bytes - u32::from(*signed);
                let n = u128::from(random.next()) & ((1u128 << bits) - 1);
                let negative = *signed && n != 0 && random.one_in(2);
                return Content::Number(Number { negative, digits: n.to_string(), scale: *scale });
            }
            let kept = match random.below(6) {
                0 => 0,
                1 => *digits,
                _ => random.within(1, *digits),
            };
            let mut text: String = (0..kept).map(|_| char::from(b'0' + random.next().to_le_bytes()[0] % 10)).collect();
            if random.one_in(8) {
                text = "9".repeat(kept);
            }
            if text.is_empty() {
                text.push('0');
            }
            let zero = text.bytes().all(|b| b == b'0');
            Content::Number(Number { negative: *signed && !zero && random.one_in(2), digits: text, scale: *scale })
        }
        Domain::Float { double } => {
            let whole = i32::try_from(random.below(2_000_000)).expect("small") - 1_000_000;
            let x = f64::from(whole) / f64::from(1u32 << random.below(20));
            Content::Float(if *double { x * 1.1 } else { f64::from(single(x * 1.1)) })
        }
        Domain::Opaque => Content::Unset,
    }
}

fn character(random: &mut Random, alphabetic: bool) -> char {
    let code = if alphabetic {
        *random.pick(&[&b"ABCXYZabcxyz "[..]]).get(random.below(13)).expect("below the length")
    } else if random.one_in(5) {
        b' '
    } else {
        b' ' + random.next().to_le_bytes()[0] % 95
    };
    char::from(code)
}
