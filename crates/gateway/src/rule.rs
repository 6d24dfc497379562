//! Choice of the response for a record: conditions on its fields.

use core::cmp::Ordering;
use std::io::Write as _;

use quayline_charset::Charset;
use quayline_cobol::layout::{Encoding, Field, FieldIndex, FieldKind, FloatFormat, Layout, ZonedSign};
use quayline_cobol::{
    FaultKind, FieldRule, Fillers, Interface, LengthMismatch, Policies, RecordDecoder, RecordFault, RecordPlan,
    RedefinesPolicy,
};
use quayline_core::{Findings, NodeId, Sink, Value};

/// One condition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Condition {
    /// Index into the probe's fields.
    pub(crate) field: usize,
    pub(crate) test: Test,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Test {
    OneOf(Vec<String>),
    Not(String),
    AtLeast(String),
    AtMost(String),
}

impl Condition {
    pub(crate) fn holds(&self, values: &[Vec<u8>]) -> bool {
        let Some(value) = values.get(self.field) else { return false };
        match &self.test {
            Test::OneOf(texts) => texts.iter().any(|text| same(value, text)),
            Test::Not(text) => !same(value, text),
            Test::AtLeast(text) => Decimal::read(value).is_some_and(|value| value.is_least(text)),
            Test::AtMost(text) => Decimal::read(value).is_some_and(|value| value.is_most(text)),
        }
    }
}

/// Chooses the response of a record: the index of the first whose conditions all hold, if there is one.
///
/// A response does not fit if a condition on a field that can be read is false. Otherwise, all its fields are needed.
///
/// # Errors
/// The faults of the fields that the choice needs.
pub(crate) fn choose<'a>(
    responses: impl Iterator<Item = &'a [Condition]>,
    values: &[Vec<u8>],
    unreadable: &[Unreadable],
) -> Result<Option<usize>, Vec<RecordFault>> {
    let fault = |condition: &Condition| unreadable.iter().find(|bad| bad.field == condition.field);
    for (at, when) in responses.enumerate() {
        if !when.iter().all(|condition| fault(condition).is_some() || condition.holds(values)) {
            continue;
        }
        let faults: Vec<_> = when.iter().filter_map(fault).map(|bad| bad.fault.clone()).collect();
        return if faults.is_empty() { Ok(Some(at)) } else { Err(faults) };
    }
    Ok(None)
}

/// A field of a probe that a record does not have, or whose bytes are not of its type.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// Index into the probe's fields.
    field: usize,
    fault: RecordFault,
}

impl Test {
    /// Returns the reason if the test holds for no value of a field. `has_null`: the field may be null, which equals an empty text.
    pub(crate) fn never_holds(&self, field: &Field, has_null: bool) -> Option<String> {
        let FieldKind::Item(encoding) = &field.kind else { return None };
        let fits = |text: &str| has_null && text.trim_end().is_empty() || equals_some(text, encoding, field.size);
        match self {
            Test::OneOf(texts) if texts.is_empty() => Some("the list of values is empty".to_owned()),
            Test::OneOf(texts) if texts.iter().any(|text| fits(text)) => None,
            Test::OneOf(texts) => Some(match texts.as_slice() {
                [text] => format!("`{text}` is not a value of {}", field.name),
                _ => format!("none of the values is one of {}", field.name),
            }),
            Test::Not(_) => None,
            Test::AtLeast(text) | Test::AtMost(text) => {
                let Some(bound) = Decimal::read(text.as_bytes()) else {
                    return Some(format!("`{text}` is not a number to compare with"));
                };
                let form = number_form(encoding, field.size)?;
                let has_some = if matches!(self, Test::AtLeast(_)) {
                    bound.is_most(&form.most)
                } else {
                    bound.is_least(&form.least)
                };
                (!has_some).then(|| format!("`{text}` is beyond the values of {}", field.name))
            }
        }
    }
}

/// Numbers that a field can hold.
struct NumberForm {
    least: String,
    most: String,
    scale: i16,
}

impl NumberForm {
    /// Returns whether the field can hold a number.
    fn holds(&self, number: &Decimal<'_>) -> bool {
        let in_range = number.is_least(&self.least) && number.is_most(&self.most);
        let places = usize::from(self.scale.unsigned_abs());
        let zeros = number.whole.iter().rev().take_while(|digit| **digit == b'0').count();
        let fits = if self.scale < 0 {
            number.part.is_empty() && (number.whole.is_empty() || zeros >= places)
        } else {
            number.part.len() <= places
        };
        in_range && fits
    }
}

/// Returns the numbers of an encoding; `None` for other encodings. Bytes may hold more digits than the PICTURE, so the size decides.
fn number_form(encoding: &Encoding, size: usize) -> Option<NumberForm> {
    let decimals = |digits: usize, signed: bool| {
        let most = 10i128.checked_pow(u32::try_from(digits).ok()?)? - 1;
        Some((if signed { -most } else { 0 }, most))
    };
    let ((least, most), scale) = match *encoding {
        Encoding::Zoned { digits, scale, sign, .. } => {
            (decimals(usize::from(digits), sign != ZonedSign::Unsigned)?, scale)
        }
        Encoding::Packed { scale, .. } => (decimals((size * 2).checked_sub(1)?, true)?, scale),
        Encoding::PackedUnsigned { scale, .. } => (decimals(size * 2, false)?, scale),
        Encoding::Binary { scale, signed, .. } if (1..=8).contains(&size) => {
            let half = 1i128 << (size * 8 - 1);
            (if signed { (-half, half - 1) } else { (0, half * 2 - 1) }, scale)
        }
        _ => return None,
    };
    Some(NumberForm { least: written(least, scale), most: written(most, scale), scale })
}

/// Writes `unscaled × 10^-scale`.
fn written(unscaled: i128, scale: i16) -> String {
    let mut text = Vec::new();
    let _: Option<()> =
        quayline_core::write_number(&mut text, Value::Decimal(quayline_core::Decimal { unscaled, scale }));
    text.into_iter().map(char::from).collect()
}

/// Returns whether a value of a field can be equal to `text` as [`same`] compares them.
fn equals_some(text: &str, encoding: &Encoding, size: usize) -> bool {
    let number = Decimal::read(text.as_bytes());
    let characters = match encoding {
        Encoding::Text { .. } | Encoding::TextEdited { .. } => size,
        Encoding::National { .. } => size / 2,
        Encoding::Zoned { .. }
        | Encoding::Packed { .. }
        | Encoding::PackedUnsigned { .. }
        | Encoding::Binary { .. } => {
            let Some(number) = number else { return false };
            return number_form(encoding, size).is_none_or(|form| form.holds(&number));
        }
        Encoding::Float32(FloatFormat::IeeeBig | FloatFormat::IeeeLittle) => {
            let nearest = text.parse::<f32>().map(|float| float.to_string());
            return nearest.is_ok_and(|nearest| same(nearest.as_bytes(), text)) && number.is_some();
        }
        Encoding::Float64(FloatFormat::IeeeBig | FloatFormat::IeeeLittle) => {
            let nearest = text.parse::<f64>().map(|float| float.to_string());
            return nearest.is_ok_and(|nearest| same(nearest.as_bytes(), text)) && number.is_some();
        }
        _ => return true,
    };
    // `1.0` is equal to the text `1`.
    let shortest = if number.is_none() {
        text.trim_end()
    } else {
        match text.split_once('.') {
            Some((whole, part)) if part.bytes().all(|byte| byte == b'0') => whole,
            Some(_) => text.trim_end_matches('0'),
            None => text,
        }
    };
    let zeros = shortest.trim_start_matches('-').bytes().take_while(|byte| *byte == b'0').count();
    shortest.chars().count() - if number.is_some() { zeros } else { 0 } <= characters
}

/// Returns whether two values are equal: numbers as numbers, others as text without trailing blanks.
fn same(value: &[u8], text: &str) -> bool {
    match (Decimal::read(value), Decimal::read(text.as_bytes())) {
        (Some(a), Some(b)) => a == b,
        _ => value.trim_ascii_end() == text.as_bytes().trim_ascii_end(),
    }
}

/// A number of any length, in digits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Decimal<'t> {
    negative: bool,
    /// Digits before the point, without leading zeros.
    whole: &'t [u8],
    /// Digits after the point, without zeros at the end.
    part: &'t [u8],
}

impl<'t> Decimal<'t> {
    /// Reads a number without an exponent.
    fn read(text: &'t [u8]) -> Option<Self> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        let point = digits.iter().position(|b| *b == b'.').unwrap_or(digits.len());
        let (whole, part) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
        if whole.is_empty() || !whole.iter().chain(part).all(u8::is_ascii_digit) {
            return None;
        }
        let whole = &whole[whole.iter().take_while(|digit| **digit == b'0').count()..];
        let part = &part[..part.iter().rposition(|digit| *digit != b'0').map_or(0, |at| at + 1)];
        Some(Decimal { negative: negative && !(whole.is_empty() && part.is_empty()), whole, part })
    }

    /// Compares two numbers of one sign without it. More digits before the point are a larger number.
    fn compare_size(&self, other: &Self) -> Ordering {
        let whole = self.whole.len().cmp(&other.whole.len()).then_with(|| self.whole.cmp(other.whole));
        whole.then_with(|| self.part.cmp(other.part))
    }

    fn is_least(&self, bound: &str) -> bool {
        Decimal::read(bound.as_bytes()).is_some_and(|bound| *self >= bound)
    }

    fn is_most(&self, bound: &str) -> bool {
        Decimal::read(bound.as_bytes()).is_some_and(|bound| *self <= bound)
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_size(other),
            (true, true) => other.compare_size(self),
        }
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reads the fields that rules look at, before the answer itself is written.
#[derive(Debug)]
pub(crate) struct Probe {
    plan: RecordPlan,
    fields: Vec<FieldIndex>,
    /// Node of each field.
    nodes: Vec<NodeId>,
    /// True if a field follows a table of varying length, so that its place depends on a counter.
    slides: bool,
    /// Bytes of a record that it needs.
    reach: usize,
}

impl Probe {
    pub(crate) fn new(
        layout: &Layout,
        fields: &[FieldIndex],
        policies: &Policies,
        charset: Charset,
    ) -> Result<Probe, Findings> {
        let all = layout.children(FieldIndex::RECORD).filter(|child| !layout.field(*child).filler);
        let hidden =
            all.map(|child| FieldRule { field: layout.path(child), include: Some(false), ..FieldRule::default() });
        let shown = fields.iter().map(|field| FieldRule {
            field: layout.path(*field),
            include: Some(true),
            ..FieldRule::default()
        });
        let mut rules: Vec<FieldRule> = hidden.collect();
        for rule in shown {
            rules.retain(|known| known.field != rule.field);
            rules.push(rule);
        }
        let interface = Interface {
            fields: rules,
            fillers: Fillers::Drop,
            redefines: RedefinesPolicy::Original,
            ..Interface::default()
        };
        let policies = Policies { long: LengthMismatch::Accept, ..policies.clone() };
        let plan = RecordPlan::new(layout, &interface, &policies, charset)?;
        let nodes = fields.iter().filter_map(|field| plan.node_of(*field)).collect();
        let slides = fields.iter().any(|field| {
            let at = layout.field(*field).offset;
            layout.fields.iter().any(|f| f.occurs.is_some_and(|o| o.depending_on.is_some()) && f.offset < at)
        });
        let end = fields.iter().map(|f| layout.field(*f).offset + layout.field(*f).size).max().unwrap_or(0);
        let reach = if slides { usize::MAX } else { end };
        Ok(Probe { plan, fields: fields.to_vec(), nodes, slides, reach })
    }

    pub(crate) fn decoder(&self) -> RecordDecoder {
        RecordDecoder::new(&self.plan)
    }

    /// Reads the values of the fields as text, in the order in which they were named. Returns those that cannot be read; their values are empty,
    /// as are those that the service's options read as null.
    pub(crate) fn values(
        &self,
        decoder: &mut RecordDecoder,
        record: &[u8],
        values: &mut Vec<Vec<u8>>,
    ) -> Vec<Unreadable> {
        values.resize_with(self.nodes.len(), Vec::new);
        values.iter_mut().for_each(Vec::clear);
        let mut sink = Values { nodes: &self.nodes, values };
        // Only the front is read, so counters after it are missing; the fields before them are still valid.
        match decoder.decode(&record[..record.len().min(self.reach)], &mut sink) {
            Ok(()) => Vec::new(),
            Err(faults) => self.unreadable(&faults.0, record.len() < self.reach, values),
        }
    }

    /// Finds the fields that the faults concern. `is_whole`: the whole record was read, so a missing end is missing in the record.
    #[cold]
    fn unreadable(&self, faults: &[RecordFault], is_whole: bool, values: &mut [Vec<u8>]) -> Vec<Unreadable> {
        let is_cut = |fault: &RecordFault| {
            is_whole && matches!(fault.kind, FaultKind::ShortRecord { .. } | FaultKind::CutField { .. })
        };
        let is_lost = |fault: &RecordFault| self.slides && matches!(fault.kind, FaultKind::BadCounter(_));
        let mut found = Vec::new();
        for (field, index) in self.fields.iter().enumerate() {
            let own = faults.iter().find(|fault| fault.field == Some(*index));
            let cut = || faults.iter().find(|fault| is_cut(fault) && values[field].is_empty() || is_lost(fault));
            let Some(fault) = own.or_else(cut) else { continue };
            let path = self.plan.layout().path(*index);
            found.push(Unreadable { field, fault: RecordFault { field: Some(*index), path, ..fault.clone() } });
            values[field].clear();
        }
        found
    }
}

struct Values<'a> {
    nodes: &'a [NodeId],
    values: &'a mut [Vec<u8>],
}

impl Sink for Values<'_> {
    fn enter(&mut self, _: NodeId) {}
    fn leave(&mut self, _: NodeId) {}
    fn open_list(&mut self, _: NodeId) {}
    fn close_list(&mut self, _: NodeId) {}
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        let Some(at) = self.nodes.iter().position(|known| *known == node) else { return };
        let out = &mut self.values[at];
        match value {
            Value::Text(run) | Value::Ascii(run) => out.extend_from_slice(run.bytes()),
            Value::Null => {}
            // A single that is converted to a double has digits that the value did not have.
            Value::Float32(x) => {
                let _: std::io::Result<()> = write!(out, "{x}");
            }
            value => {
                let _: Option<()> = quayline_core::write_number(out, value);
            }
        }
    }
    fn discard(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers_and_text_without_blanks() {
        let holds = |test: Test, value: &str| Condition { field: 0, test }.holds(&[value.as_bytes().to_vec()]);
        assert!(holds(Test::OneOf(vec!["8".into()]), "08"));
        assert!(holds(Test::OneOf(vec!["A".into(), "B ".into()]), "B"));
        assert!(!holds(Test::OneOf(vec!["0".into()]), ""));
        assert!(holds(Test::Not("0".into()), "-12"));
        assert!(holds(Test::AtLeast("4.5".into()), "4.50"));
        assert!(!holds(Test::AtMost("4".into()), "4.1"));
        assert!(!holds(Test::AtMost("4".into()), "X"));
        assert!(holds(Test::AtMost("-4.05".into()), "-4.5"));
        assert!(holds(Test::OneOf(vec!["4.".into()]), "4"));
        assert!(!holds(Test::OneOf(vec!["4.5.1".into()]), "4.5"));
        assert!(!holds(Test::OneOf(vec![".5".into()]), "0.5"));
    }

    /// Numbers with more than 9 decimals or 28 digits before the point were neither at least nor at most any number.
    #[test]
    fn numbers_of_any_length_are_compared_digit_by_digit() {
        let holds = |test: Test, value: &str| Condition { field: 0, test }.holds(&[value.as_bytes().to_vec()]);
        let long = "5.0000000000";
        assert!(holds(Test::OneOf(vec!["5".into()]), long) && !holds(Test::Not("5".into()), long));
        assert!(holds(Test::AtLeast("1".into()), long) && holds(Test::AtMost("5.00000000001".into()), long));
        assert!(
            !holds(Test::AtLeast("5.00000000001".into()), long) && !holds(Test::AtMost("4.99999999999".into()), long)
        );
        let whole = format!("1{}", "0".repeat(40));
        assert!(holds(Test::AtLeast("9".into()), &whole) && holds(Test::AtMost("9".into()), &format!("-{whole}")));
        let mut numbers: Vec<String> = Vec::new();
        for whole in ["0", "1", "9", "10", "99"] {
            for part in ["", ".0", ".05", ".5", ".50000000001", ".9"] {
                numbers.extend([format!("{whole}{part}"), format!("-{whole}{part}")]);
            }
        }
        let value = |text: &str| text.parse::<f64>().unwrap();
        for (a, b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (a, b))) {
            let order = Decimal::read(a.as_bytes()).cmp(&Decimal::read(b.as_bytes()));
            assert_eq!(Some(order), value(a).partial_cmp(&value(b)), "{a} {b}");
        }
    }

    #[test]
    fn a_field_has_the_numbers_of_its_size_and_decimals() {
        let form = |digits, scale| {
            let sign = ZonedSign::Unsigned;
            number_form(&Encoding::Zoned { digits, scale, sign, blank_when_zero: false }, usize::from(digits)).unwrap()
        };
        let holds = |form: &NumberForm, text: &str| form.holds(&Decimal::read(text.as_bytes()).unwrap());
        let rate = form(11, 10);
        assert!(holds(&rate, "5") && holds(&rate, "9.9999999999") && holds(&rate, "0.0000000001"));
        assert!(!holds(&rate, "10") && !holds(&rate, "0.00000000001") && !holds(&rate, "-1"));
        let thousands = form(3, -3);
        assert!(holds(&thousands, "999000") && holds(&thousands, "0") && !holds(&thousands, "1500"));
        assert!(!holds(&thousands, "1000000"));
        assert!(holds(&form(38, 0), &"9".repeat(38)));
    }
}
