//! Choice of the response for a record: conditions on its fields.

use quayline_charset::Charset;
use quayline_cobol::layout::{Encoding, Field, FieldIndex, FieldKind, Layout, ZonedSign};
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
            Test::AtLeast(text) => number(value).zip(number(text.as_bytes())).is_some_and(|(a, b)| a >= b),
            Test::AtMost(text) => number(value).zip(number(text.as_bytes())).is_some_and(|(a, b)| a <= b),
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
        let bounds = number_form(encoding, field.size).map(|form| (form.least, form.most));
        match self {
            Test::OneOf(texts) if texts.is_empty() => Some("the list of values is empty".to_owned()),
            Test::OneOf(texts) if texts.iter().any(|text| fits(text)) => None,
            Test::OneOf(texts) => Some(match texts.as_slice() {
                [text] => format!("`{text}` is not a value of {}", field.name),
                _ => format!("none of the values is one of {}", field.name),
            }),
            Test::Not(_) => None,
            Test::AtLeast(text) | Test::AtMost(text) => {
                let Some(bound) = number(text.as_bytes()) else {
                    return Some(format!("`{text}` is not a number to compare with"));
                };
                let (least, most) = bounds?;
                let is_over = if matches!(self, Test::AtLeast(_)) { bound > most } else { bound < least };
                is_over.then(|| format!("`{text}` is beyond the values of {}", field.name))
            }
        }
    }
}

/// Numbers that a field can hold, in units of 10^-9.
struct NumberForm {
    least: i128,
    most: i128,
    /// Difference of two numbers.
    step: i128,
}

/// Returns the numbers of an encoding; `None` for other encodings, and for those with values that [`number`] does not have. Bytes may hold more
/// digits than the PICTURE, so the size decides.
fn number_form(encoding: &Encoding, size: usize) -> Option<NumberForm> {
    let decimals = |digits: usize, signed: bool| {
        let most = decimal(digits)? - 1;
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
    let step = decimal(usize::try_from(9 - i32::from(scale)).ok()?)?;
    Some(NumberForm { least: least.checked_mul(step)?, most: most.checked_mul(step)?, step })
}

/// Returns a power of ten.
fn decimal(digits: usize) -> Option<i128> {
    10i128.checked_pow(u32::try_from(digits).ok()?)
}

/// Returns whether a value of a field can be equal to `text` as [`same`] compares them.
fn equals_some(text: &str, encoding: &Encoding, size: usize) -> bool {
    let number = number(text.as_bytes());
    let characters = match encoding {
        Encoding::Text { .. } | Encoding::TextEdited { .. } => size,
        Encoding::National { .. } => size / 2,
        Encoding::Zoned { .. }
        | Encoding::Packed { .. }
        | Encoding::PackedUnsigned { .. }
        | Encoding::Binary { .. } => {
            // Numbers with too many digits are compared as text.
            let has_digits =
                text.bytes().all(|byte| byte.is_ascii_digit() || b"-.".contains(&byte)) && !text.is_empty();
            let Some(number) = number else { return has_digits };
            let form = number_form(encoding, size);
            return form.is_none_or(|form| (form.least..=form.most).contains(&number) && number % form.step == 0);
        }
        _ => return true,
    };
    // `1.0` is equal to the text `1`.
    let shortest = number.map_or(text.trim_end(), |_| match text.split_once('.') {
        Some((whole, part)) if part.bytes().all(|byte| byte == b'0') => whole,
        Some(_) => text.trim_end_matches('0'),
        None => text,
    });
    let zeros = shortest.trim_start_matches('-').bytes().take_while(|byte| *byte == b'0').count();
    shortest.chars().count() - if number.is_some() { zeros } else { 0 } <= characters
}

/// Returns whether two values are equal: numbers as numbers, others as text without trailing blanks.
fn same(value: &[u8], text: &str) -> bool {
    match (number(value), number(text.as_bytes())) {
        (Some(a), Some(b)) => a == b,
        _ => value.trim_ascii_end() == text.as_bytes().trim_ascii_end(),
    }
}

/// Converts a decimal to an integer number of 10^-9; enough for codes, the subject of rules.
fn number(text: &[u8]) -> Option<i128> {
    const PARTS: usize = 9;
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let point = digits.iter().position(|b| *b == b'.').unwrap_or(digits.len());
    let (whole, part) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
    if whole.is_empty() || whole.len() > 28 || part.len() > PARTS {
        return None;
    }
    let mut n = 0i128;
    for byte in whole.iter().chain(part).copied() {
        if !byte.is_ascii_digit() {
            return None;
        }
        n = n * 10 + i128::from(byte - b'0');
    }
    for _ in part.len()..PARTS {
        n *= 10;
    }
    Some(if negative { -n } else { n })
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
}
