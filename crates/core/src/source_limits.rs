//! Limits that a definition states for the documents of a source. Readers check them.

use core::cmp::Ordering;
use core::fmt;

use crate::{Digits, NodeId, Shape, Value};

/// Limits of all nodes of a [`Shape`], as its definition states them.
///
/// A shape also has lengths and numbers of digits that are guesses, such as the longest value of an `enum`. They size the fields of
/// targets. This table has only limits that a valid document never exceeds.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceLimits {
    definition: Definition,
    of_node: Vec<NodeLimits>,
}

/// Kind of file that states the limits. It determines the remedy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Definition {
    /// JSON Schema.
    JsonSchema,
    /// XML schema.
    XmlSchema,
    /// An outline.
    Outline,
}

/// Limits of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeLimits {
    /// True if each occurrence of the parent has the node.
    pub required: bool,
    /// True if null is a value of the node.
    pub nullable: bool,
    /// True if null is not a value of the occurrences of a list.
    pub no_null_items: bool,
    /// Fewest occurrences of a list that is present.
    pub min: u32,
    /// Most occurrences of a list; `None` is unbounded.
    pub max: Option<u32>,
    /// Limits of the value of a leaf, if there are any.
    pub value: Option<Box<ValueLimits>>,
}

/// Limits of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueLimits {
    /// Most characters of a text, or bytes of a leaf of bytes.
    pub length_max: Option<u32>,
    /// Most digits before and after the point together.
    pub digits_max: Option<u16>,
    /// Most digits before the point.
    pub whole_max: Option<u16>,
    /// Most digits after the point.
    pub decimals_max: Option<u16>,
    /// The lower bound.
    pub low: Option<Bound>,
    /// The upper bound.
    pub high: Option<Bound>,
}

/// Bound of a number. It is exact, with any number of digits.
#[derive(Clone, Debug)]
pub struct Bound {
    written: Box<str>,
    negative: bool,
    digits: Box<[u8]>,
    point: i64,
    exclusive: bool,
}

/// A number as `±0.digits × 10^point`, with digits that neither begin nor end with a zero. Zero has no digits.
#[derive(Clone, Copy)]
struct Exact<'a> {
    negative: bool,
    digits: &'a [u8],
    point: i64,
}

/// A limit that a document exceeds. `Display` never shows a value of the document.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Breach {
    /// A mandatory node is missing.
    Missing,
    /// A mandatory node is null, and null is not one of its values.
    Null,
    /// A text has too many characters.
    Characters {
        /// Most characters.
        max: u32,
    },
    /// A value has too many bytes.
    Bytes {
        /// Most bytes.
        max: u32,
    },
    /// A number has too many digits.
    Digits {
        /// Most digits.
        max: u16,
    },
    /// A number has too many digits before the point.
    Whole {
        /// Most digits.
        max: u16,
    },
    /// A number has too many digits after the point.
    Decimals {
        /// Most digits.
        max: u16,
    },
    /// A number is below its lower bound.
    Low {
        /// The bound as the definition writes it.
        bound: Box<str>,
        /// True if the bound itself is not allowed.
        exclusive: bool,
    },
    /// A number is above its upper bound.
    High {
        /// The bound as the definition writes it.
        bound: Box<str>,
        /// True if the bound itself is not allowed.
        exclusive: bool,
    },
    /// A list has too few occurrences.
    TooFew {
        /// Fewest occurrences.
        min: u32,
    },
    /// A list has too many occurrences.
    TooMany {
        /// Most occurrences.
        max: u32,
    },
}

impl SourceLimits {
    /// Creates the table from the limits of all nodes, in the order of the shape.
    #[must_use]
    pub fn new(definition: Definition, of_node: Vec<NodeLimits>) -> SourceLimits {
        SourceLimits { definition, of_node }
    }

    /// Returns whether no node has a limit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of_node.iter().all(|limits| *limits == NodeLimits { nullable: limits.nullable, ..NodeLimits::default() })
    }

    /// Returns the kind of file that states the limits.
    #[must_use]
    pub fn definition(&self) -> Definition {
        self.definition
    }

    /// Returns the limits of a node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<&NodeLimits> {
        self.of_node.get(node.index())
    }

    /// Returns the mandatory children of each node, by node.
    #[must_use]
    pub fn mandatory(&self, shape: &Shape) -> Vec<Box<[NodeId]>> {
        let is_required = |child: &NodeId| self.node(*child).is_some_and(|limits| limits.required);
        shape.iter().map(|(id, _)| shape.children(id).filter(is_required).collect()).collect()
    }

    /// Returns the breach of a mandatory node that is null.
    #[must_use]
    pub fn of_null(&self, node: NodeId) -> Option<Breach> {
        self.node(node).filter(|limits| limits.required && !limits.nullable).map(|_| Breach::Null)
    }

    /// Returns the breach of an occurrence of a list that is null.
    #[must_use]
    pub fn of_null_item(&self, node: NodeId) -> Option<Breach> {
        self.node(node).filter(|limits| limits.no_null_items).map(|_| Breach::Null)
    }

    /// Returns the breach of a list that is present with `count` occurrences.
    #[must_use]
    pub fn of_count(&self, node: NodeId, count: u32) -> Option<Breach> {
        let NodeLimits { min, max, .. } = *self.node(node)?;
        match max {
            _ if count < min => Some(Breach::TooFew { min }),
            Some(max) if count > max => Some(Breach::TooMany { max }),
            _ => None,
        }
    }

    /// Returns the first limit that a value exceeds. Text in place of a number is not checked: its receiver judges it.
    #[inline(never)]
    #[must_use]
    pub fn of_value(&self, node: NodeId, value: Value<'_>) -> Option<Breach> {
        self.node(node)?.value.as_deref()?.breach(value)
    }
}

impl ValueLimits {
    /// Returns the limits, or `None` if there are none.
    #[must_use]
    pub fn boxed(self) -> Option<Box<ValueLimits>> {
        (self != ValueLimits::default()).then(|| Box::new(self))
    }

    /// Returns the limits of the values that fit at least one of both.
    #[must_use]
    pub fn wider(self, other: ValueLimits) -> ValueLimits {
        ValueLimits {
            length_max: both(self.length_max, other.length_max, u32::max),
            digits_max: both(self.digits_max, other.digits_max, u16::max),
            whole_max: both(self.whole_max, other.whole_max, u16::max),
            decimals_max: both(self.decimals_max, other.decimals_max, u16::max),
            low: both(self.low, other.low, |a, b| if a.compare_low(&b).is_le() { a } else { b }),
            high: both(self.high, other.high, |a, b| if a.compare_high(&b).is_ge() { a } else { b }),
        }
    }

    /// Returns the limits of the values that fit both.
    #[must_use]
    pub fn narrower(self, other: ValueLimits) -> ValueLimits {
        ValueLimits {
            length_max: any(self.length_max, other.length_max, u32::min),
            digits_max: any(self.digits_max, other.digits_max, u16::min),
            whole_max: any(self.whole_max, other.whole_max, u16::min),
            decimals_max: any(self.decimals_max, other.decimals_max, u16::min),
            low: any(self.low, other.low, |a, b| if a.compare_low(&b).is_ge() { a } else { b }),
            high: any(self.high, other.high, |a, b| if a.compare_high(&b).is_le() { a } else { b }),
        }
    }

    fn breach(&self, value: Value<'_>) -> Option<Breach> {
        match value {
            Value::Ascii(text) => self.too_long(text.len()),
            Value::Text(text) => self.too_long(text.bytes().iter().filter(|byte| **byte & 0xc0 != 0x80).count()),
            Value::Bytes(bytes) => self
                .length_max
                .filter(|max| u32::try_from(bytes.len()).map_or(true, |len| len > *max))
                .map(|max| Breach::Bytes { max }),
            Value::Digits(digits) => self.number(Exact::of(digits)),
            _ => None,
        }
    }

    fn too_long(&self, chars: usize) -> Option<Breach> {
        let max = self.length_max?;
        u32::try_from(chars).map_or(true, |chars| chars > max).then_some(Breach::Characters { max })
    }

    fn number(&self, number: Exact<'_>) -> Option<Breach> {
        let (whole, decimals) = number.places();
        if let Some(max) = self.whole_max.filter(|max| whole > i64::from(*max)) {
            return Some(Breach::Whole { max });
        }
        if let Some(max) = self.decimals_max.filter(|max| decimals > i64::from(*max)) {
            return Some(Breach::Decimals { max });
        }
        if let Some(max) = self.digits_max.filter(|max| whole + decimals > i64::from(*max)) {
            return Some(Breach::Digits { max });
        }
        let beyond = |bound: &&Bound, outside: Ordering| {
            let order = number.compare(bound.exact());
            order == outside || order == Ordering::Equal && bound.exclusive
        };
        if let Some(low) = self.low.as_ref().filter(|low| beyond(low, Ordering::Less)) {
            return Some(Breach::Low { bound: low.written.clone(), exclusive: low.exclusive });
        }
        let high = self.high.as_ref().filter(|high| beyond(high, Ordering::Greater))?;
        Some(Breach::High { bound: high.written.clone(), exclusive: high.exclusive })
    }
}

/// Combines two limits. If one is missing, the result is unlimited.
fn both<T>(a: Option<T>, b: Option<T>, of: impl FnOnce(T, T) -> T) -> Option<T> {
    a.zip(b).map(|(a, b)| of(a, b))
}

/// Combines two limits, or returns the only one.
fn any<T>(a: Option<T>, b: Option<T>, of: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(of(a, b)),
        (a, b) => a.or(b),
    }
}

impl Bound {
    /// Parses a decimal number, with or without exponent, as an inclusive bound. Returns `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Bound> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let exponent: i64 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole.as_bytes(), fraction.as_bytes()].concat();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
        let exact = Exact::trimmed(negative, &digits, point);
        let (negative, point) = (exact.negative, exact.point);
        Some(Bound { written: text.into(), negative, digits: exact.digits.into(), point, exclusive: false })
    }

    /// Returns the bound as one that is not allowed itself.
    #[must_use]
    pub fn exclusive(self) -> Bound {
        Bound { exclusive: true, ..self }
    }

    fn exact(&self) -> Exact<'_> {
        Exact { negative: self.negative, digits: &self.digits, point: self.point }
    }

    /// Orders lower bounds: the greater one allows less.
    fn compare_low(&self, other: &Bound) -> Ordering {
        self.exact().compare(other.exact()).then(self.exclusive.cmp(&other.exclusive))
    }

    /// Orders upper bounds: the lesser one allows less.
    fn compare_high(&self, other: &Bound) -> Ordering {
        self.exact().compare(other.exact()).then(other.exclusive.cmp(&self.exclusive))
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Bound) -> bool {
        self.compare_low(other).is_eq()
    }
}

impl<'a> Exact<'a> {
    fn of(number: Digits<'a>) -> Self {
        let digits = number.digits.bytes();
        let point = i64::try_from(digits.len()).unwrap_or(i64::MAX) - i64::from(number.scale);
        Exact::trimmed(number.negative, digits, point)
    }

    fn trimmed(negative: bool, digits: &'a [u8], point: i64) -> Self {
        let Some(first) = digits.iter().position(|digit| *digit != b'0') else {
            return Exact { negative: false, digits: &[], point: 0 };
        };
        let end = digits.iter().rposition(|digit| *digit != b'0').map_or(digits.len(), |last| last + 1);
        let point = point.saturating_sub(i64::try_from(first).unwrap_or(i64::MAX));
        Exact { negative, digits: &digits[first..end], point }
    }

    /// Counts the digits before and after the point, without zeros at both ends.
    fn places(self) -> (i64, i64) {
        let len = i64::try_from(self.digits.len()).unwrap_or(i64::MAX);
        (self.point.max(0), len.saturating_sub(self.point).max(0))
    }

    fn sign(self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn compare(self, other: Exact<'_>) -> Ordering {
        let sign = self.sign();
        if sign != other.sign() {
            return sign.cmp(&other.sign());
        }
        let size = self.point.cmp(&other.point).then_with(|| self.digits.cmp(other.digits));
        if sign < 0 { size.reverse() } else { size }
    }
}

impl Breach {
    /// Returns the remedy: what to change in the document or in its definition.
    #[must_use]
    pub fn hint(&self, definition: Definition) -> String {
        use Definition::{JsonSchema, Outline, XmlSchema};
        match (self, definition) {
            (Breach::Missing, JsonSchema) => {
                "the schema requires it: add the member, or remove it from `required` if documents may omit it"
            }
            (Breach::Missing, XmlSchema) => {
                "the schema requires it: add it, or set `minOccurs=\"0\"` or `use=\"optional\"` if documents may omit it"
            }
            (Breach::Missing, Outline) => {
                "the outline requires it: add it, or write `?` or `*` after its name if documents may omit it"
            }
            (Breach::Null, JsonSchema) => {
                "the schema requires a value: add it, or allow null with `\"type\": [\"string\", \"null\"]`"
            }
            (Breach::Null, XmlSchema) => "the schema requires a value: add it, or set `nillable=\"true\"`",
            (Breach::Null, Outline) => "the outline requires a value: add it, or write `?` after its name",
            (Breach::Characters { .. } | Breach::Bytes { .. }, JsonSchema) => {
                "shorten the text, or raise `maxLength` in the schema"
            }
            (Breach::Characters { .. } | Breach::Bytes { .. }, XmlSchema) => {
                "shorten the text, or raise `maxLength` or `length` in the schema"
            }
            (Breach::Characters { .. } | Breach::Bytes { .. }, Outline) => {
                "shorten the value, or raise the length in the outline"
            }
            (Breach::Digits { .. } | Breach::Whole { .. } | Breach::Decimals { .. }, JsonSchema) => {
                "correct the number, or change `type` or `multipleOf` in the schema"
            }
            (Breach::Digits { .. } | Breach::Whole { .. }, XmlSchema) => {
                "correct the number, or raise `totalDigits` in the schema"
            }
            (Breach::Decimals { .. }, XmlSchema) => {
                "correct the number, or change its type or `fractionDigits` in the schema"
            }
            (Breach::Digits { .. } | Breach::Whole { .. } | Breach::Decimals { .. }, Outline) => {
                "correct the number, or raise the digits of its type in the outline"
            }
            (Breach::Low { .. }, JsonSchema) => "correct the number, or lower `minimum` or `exclusiveMinimum`",
            (Breach::High { .. }, JsonSchema) => "correct the number, or raise `maximum` or `exclusiveMaximum`",
            (Breach::Low { .. } | Breach::High { .. }, XmlSchema) => {
                "correct the number, or change its type or its bounds, such as `maxInclusive`, in the schema"
            }
            (Breach::Low { .. } | Breach::High { .. }, Outline) => {
                "correct the number, or write `decimal` in place of `unsigned` in the outline"
            }
            (Breach::TooFew { .. }, JsonSchema) => "add the missing items, or lower `minItems` in the schema",
            (Breach::TooMany { .. }, JsonSchema) => "remove items, or raise `maxItems` in the schema",
            (Breach::TooFew { .. }, XmlSchema) => "add the missing elements, or lower `minOccurs` in the schema",
            (Breach::TooMany { .. }, XmlSchema) => "remove elements, or raise `maxOccurs` in the schema",
            (Breach::TooFew { .. } | Breach::TooMany { .. }, Outline) => {
                "correct the list, or change the numbers after `*` in the outline"
            }
        }
        .to_owned()
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |max: u64| if max == 1 { "" } else { "s" };
        match self {
            Breach::Missing => f.write_str("a mandatory member is missing"),
            Breach::Null => f.write_str("a mandatory value is null"),
            Breach::Characters { max } => write!(f, "the text has more than {max} character{}", s((*max).into())),
            Breach::Bytes { max } => write!(f, "the value has more than {max} byte{}", s((*max).into())),
            Breach::Digits { max } => write!(f, "the number has more than {max} digit{}", s((*max).into())),
            Breach::Whole { max } => {
                write!(f, "the number has more than {max} digit{} before the point", s((*max).into()))
            }
            Breach::Decimals { max: 0 } => f.write_str("the number is not an integer"),
            Breach::Decimals { max } => {
                write!(f, "the number has more than {max} digit{} after the point", s((*max).into()))
            }
            Breach::Low { bound, exclusive: false } => write!(f, "the number is less than {bound}"),
            Breach::Low { bound, exclusive: true } => write!(f, "the number is not greater than {bound}"),
            Breach::High { bound, exclusive: false } => write!(f, "the number is greater than {bound}"),
            Breach::High { bound, exclusive: true } => write!(f, "the number is not less than {bound}"),
            Breach::TooFew { min } => write!(f, "the list has fewer than {min} occurrence{}", s((*min).into())),
            Breach::TooMany { max } => write!(f, "the list has more than {max} occurrence{}", s((*max).into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breach(limits: &ValueLimits, digits: &str, negative: bool, scale: i16) -> Option<String> {
        let digits = digits.as_bytes().into();
        limits.breach(Value::Digits(Digits { digits, negative, scale })).map(|breach| breach.to_string())
    }

    fn between(low: &str, high: &str) -> ValueLimits {
        ValueLimits { low: Bound::parse(low), high: Bound::parse(high), ..ValueLimits::default() }
    }

    #[test]
    fn bounds_are_compared_exactly() {
        let limits = between("-0.1", "9007199254740993");
        assert_eq!(breach(&limits, "9007199254740993", false, 0), None);
        assert_eq!(breach(&limits, "009007199254740993000", false, 3), None);
        let above = Some("the number is greater than 9007199254740993".to_owned());
        assert_eq!(breach(&limits, "9007199254740994", false, 0), above);
        assert_eq!(breach(&limits, "90071992547409930000000000000000000001", false, 22), above);
        assert_eq!(breach(&limits, "1", true, 1), None);
        assert_eq!(breach(&limits, "1", true, 40), None);
        assert_eq!(breach(&limits, "0", true, 5), None);
        let below = Some("the number is less than -0.1".to_owned());
        assert_eq!(breach(&limits, "10000000000000000000000000000000000001", true, 38), below);
        assert_eq!(breach(&between("1", "99"), "1", false, -2), Some("the number is greater than 99".to_owned()));
        assert_eq!(breach(&between("1", "1E2"), "1", false, -2), None);
    }

    #[test]
    fn exclusive_bounds_are_not_allowed_themselves() {
        let exclusive = |text: &str| Bound::parse(text).map(Bound::exclusive);
        let limits = ValueLimits { low: exclusive("0"), high: exclusive("1.5"), ..ValueLimits::default() };
        assert_eq!(breach(&limits, "0", true, 2), Some("the number is not greater than 0".to_owned()));
        assert_eq!(breach(&limits, "1", false, 38), None);
        assert_eq!(breach(&limits, "150", false, 2), Some("the number is not less than 1.5".to_owned()));
        let wide = limits.clone().wider(between("0", "1.50"));
        assert_eq!((breach(&wide, "0", false, 0), breach(&wide, "15", false, 1)), (None, None));
        let narrow = between("0", "1.50").narrower(limits);
        assert!(breach(&narrow, "0", false, 0).is_some() && breach(&narrow, "15", false, 1).is_some());
    }

    #[test]
    fn zeros_at_both_ends_are_not_digits() {
        let limits = ValueLimits { digits_max: Some(3), decimals_max: Some(2), ..ValueLimits::default() };
        for (digits, scale) in [("000", 0), ("00123000", 3), ("100", 0), ("123", 2), ("1", 2), ("1", -2)] {
            assert_eq!(breach(&limits, digits, false, scale), None, "{digits} e-{scale}");
        }
        assert_eq!(breach(&limits, "1000", false, 0), Some("the number has more than 3 digits".to_owned()));
        assert_eq!(
            breach(&limits, "1", false, 3),
            Some("the number has more than 2 digits after the point".to_owned())
        );
        let whole = ValueLimits { whole_max: Some(1), decimals_max: Some(0), ..ValueLimits::default() };
        assert_eq!(
            breach(&whole, "10", false, 0),
            Some("the number has more than 1 digit before the point".to_owned())
        );
        assert_eq!(breach(&whole, "15", false, 1), Some("the number is not an integer".to_owned()));
        assert_eq!(breach(&whole, "90", true, 1), None);
    }

    #[test]
    fn other_texts_are_not_bounds() {
        for text in ["", "-", ".", "INF", "2026-01-31", "1e", "1.2.3", "0x1", "1e99999999999999999999"] {
            assert!(Bound::parse(text).is_none(), "{text:?}");
        }
        assert!(Bound::parse("+.5e-3").is_some());
    }
}
