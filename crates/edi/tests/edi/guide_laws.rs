//! Laws over whole guides: data made by a guide is read by it without an error, and comes back byte for byte.

use std::sync::Arc;

use proptest::prelude::*;
use quayline_edi::Standard;
use quayline_edi::guide::{Codes, DataType, ElementOf, Guide, Item, Requirement, SegmentUse};
use quayline_edi::{GuideDocuments, NodeNames};

use crate::guide_documents::{documents_of, json, latin, rewrite, write_json};
use crate::guide_text::example;

/// Makes transactions of a guide: canonical, and right as far as loops, order and numbers go.
struct Maker<'g> {
    guide: &'g Guide,
    state: u64,
    segments: Vec<String>,
}

impl Maker<'_> {
    /// Returns a number below `n`, by xorshift.
    fn below(&mut self, n: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % n
    }

    fn items(&mut self, items: &[Item], is_loop: bool) {
        for (i, item) in items.iter().enumerate() {
            let (requirement, max) = match item {
                Item::Segment(segment) => (segment.requirement, segment.max),
                Item::Loop(inner) => (inner.requirement, inner.repeat),
            };
            let is_trigger = is_loop && i == 0;
            let least = u64::from(is_trigger || requirement == Requirement::Mandatory);
            let most = u64::from(max.unwrap_or(3)).min(if is_trigger { 1 } else { 3 });
            let times = if requirement == Requirement::NotUsed {
                0
            } else if self.below(3) == 0 || self.segments.len() > 400 {
                least
            } else {
                least + self.below(most - least + 1)
            };
            for _ in 0..times {
                match item {
                    Item::Segment(segment) => self.segment(segment),
                    Item::Loop(inner) => self.items(&inner.items, true),
                }
            }
        }
    }

    fn segment(&mut self, segment: &SegmentUse) {
        let defined = &self.guide.dictionary.segments[&segment.tag];
        let x12 = self.guide.standard == Standard::X12;
        let (element, component, repetition) = if x12 { ('*', ':', Some('^')) } else { ('+', ':', None) };
        let mut elements: Vec<String> = Vec::new();
        for (used, number) in defined.elements.iter().zip(1u8..) {
            let change = |component| {
                segment.changes.iter().find(|change| (change.element, change.component) == (number, component))
            };
            let requirement = change(0).and_then(|change| change.requirement).unwrap_or(used.requirement);
            let (not_used, mandatory) = (requirement == Requirement::NotUsed, requirement == Requirement::Mandatory);
            let repeats = if used.repeat == Some(1) || repetition.is_none() { 1 } else { 1 + self.below(2) };
            let qualifier = |component: u8| {
                let of = segment.qualifier.as_ref().filter(|qualifier| qualifier.element == number)?;
                (of.component.max(1) == component.max(1)).then(|| of.values[0].clone())
            };
            let codes = |component: u8| match change(component).and_then(|change| change.codes.as_ref()) {
                Some(Codes::These(values)) => Some(values.clone()),
                _ => None,
            };
            let mut parts = Vec::new();
            for _ in 0..repeats {
                let part = match &used.of {
                    ElementOf::Element(id) => {
                        let forced = qualifier(0);
                        let wanted = forced.is_some() || mandatory || number == 1 || self.below(3) > 0;
                        if not_used || !wanted { String::new() } else { self.value(id, forced, codes(0)) }
                    }
                    ElementOf::Composite(id) => {
                        let composite = &self.guide.dictionary.composites[id];
                        let mut made: Vec<String> = Vec::new();
                        for (used, number) in composite.components.iter().zip(1u8..) {
                            let ElementOf::Element(id) = &used.of else { panic!("components are simple") };
                            let forced = qualifier(number);
                            let wanted = forced.is_some() || number == 1 || self.below(4) == 0;
                            made.push(if wanted { self.value(id, forced, codes(number)) } else { String::new() });
                        }
                        if not_used || (number > 1 && qualifier(1).is_none() && self.below(3) == 0) {
                            made.clear();
                        }
                        trimmed(made, component)
                    }
                };
                parts.push(part);
            }
            elements.push(trimmed(parts, repetition.unwrap_or(' ')));
        }
        self.segments.push(trimmed([vec![segment.tag.clone()], elements].concat(), element));
    }

    fn value(&mut self, id: &str, forced: Option<String>, codes: Option<Vec<String>>) -> String {
        // X12 has no zero before the mark.
        let part = if self.guide.standard == Standard::X12 { ".0525" } else { "0.0525" };
        let numbers = ["0", "7", "12.5", "-3.25", part, "100", "1000000.00"];
        let (texts, released) = match self.guide.standard {
            Standard::X12 => (["A", "MAIN ST", "\"\\", "20260401", "'?+"], false),
            Standard::Edifact => (["A", "HAUPTSTR 1", "x\u{e9}", "DON'T", "A+B:C?D"], true),
        };
        let text = match (forced, codes) {
            (Some(text), _) => text,
            (None, Some(codes)) => codes[usize::try_from(self.below(codes.len() as u64)).expect("small")].clone(),
            (None, None) => match self.guide.dictionary.elements[id].data_type {
                DataType::Implied(_) => {
                    ["7", "100", "-1234567"][usize::try_from(self.below(3)).expect("small")].to_owned()
                }
                DataType::Decimal | DataType::Number => {
                    numbers[usize::try_from(self.below(7)).expect("small")].to_owned()
                }
                _ => texts[usize::try_from(self.below(5)).expect("small")].to_owned(),
            },
        };
        if !released {
            return text;
        }
        text.chars().flat_map(|c| "'+:?".contains(c).then_some('?').into_iter().chain([c])).collect()
    }
}

/// Joins parts without empty ones at the end.
fn trimmed(mut parts: Vec<String>, separator: char) -> String {
    while parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    parts.join(&separator.to_string())
}

/// Interchanges of some transactions.
fn interchange(guide: &Guide, seed: u64, transactions: u64) -> Vec<u8> {
    let x12 = guide.standard == Standard::X12;
    let end = if x12 { '~' } else { '\'' };
    let mut text = if x12 {
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~GS*HC*S*R*20260401*1200*1*X*005010X222A1~".to_owned()
    } else {
        "UNB+UNOC:3+S+R+260401:1200+1'".to_owned()
    };
    for number in 1..=transactions {
        let mut maker =
            Maker { guide, state: (seed + number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, segments: Vec::new() };
        maker.items(&guide.structure, false);
        let count = maker.segments.len() + 2;
        let (head, tail) = if x12 {
            (format!("ST*837*{number:04}*005010X222A1"), format!("SE*{count}*{number:04}"))
        } else {
            (format!("UNH+{number}+ORDERS:D:96A:UN"), format!("UNT+{count}+{number}"))
        };
        for segment in [vec![head], maker.segments, vec![tail]].concat() {
            text.push_str(&segment);
            text.push(end);
        }
    }
    text.push_str(&if x12 {
        format!("GE*{transactions}*1~IEA*1*000000001~")
    } else {
        format!("UNZ+{transactions}+1'")
    });
    // Both are read as ISO 8859-1.
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect()
}

fn holds(documents: &Arc<GuideDocuments>, text: &[u8], page: Option<u64>) {
    assert_eq!(rewrite(documents, page, text), latin(text));
    let lines = json(documents, page, text);
    assert_eq!(write_json(documents, &lines).as_deref(), Ok(&*latin(text)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn claims_come_back(seed in any::<u64>(), transactions in 1u64..3, page in proptest::option::of(200u64..4000)) {
        let guide = example("837p.guide");
        let text = interchange(&guide, seed, transactions);
        for names in [NodeNames::References, NodeNames::Words] {
            holds(&documents_of(vec![guide.clone()], names), &text, page);
        }
    }

    #[test]
    fn orders_come_back(seed in any::<u64>(), transactions in 1u64..3, page in proptest::option::of(200u64..4000)) {
        let guide = example("orders.guide");
        let text = interchange(&guide, seed, transactions);
        holds(&documents_of(vec![guide, example("837p.guide")], NodeNames::References), &text, page);
    }
}
