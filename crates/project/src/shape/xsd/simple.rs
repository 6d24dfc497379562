//! Simple types: the content of texts and attributes, and the restrictions by facets.

use quayline_core::{Scalar, ValueLimits};
use quayline_dictionary::XmlElement;
use quayline_xml::WhiteSpace;

use super::{DEPTH_MAX, Reader, limits, local};
use crate::shape::codes;
use crate::shape::notes::Unchecked;

/// The type of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Simple {
    pub(super) scalar: Scalar,
    pub(super) white_space: WhiteSpace,
    pub(super) counted: Counted,
    /// Limits that the type states.
    pub(super) limits: ValueLimits,
}

/// Unit that `length` and `maxLength` count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Counted {
    Characters,
    /// Bytes of two hexadecimal digits.
    HexBytes,
    /// Other types that do not limit characters: the items of a list, bytes in base64.
    Unbounded,
}

impl Simple {
    /// Creates a text type with an optional maximum of characters.
    pub(super) fn text(chars_max: Option<u32>) -> Simple {
        Simple {
            scalar: Scalar::Text { chars_max },
            white_space: WhiteSpace::Preserve,
            counted: Counted::Characters,
            limits: ValueLimits::default(),
        }
    }
}

impl<'d> Reader<'d> {
    /// Returns the type of a simple type definition.
    pub(super) fn simple(&mut self, file: usize, of: &'d XmlElement, depth: usize) -> Option<Simple> {
        if depth > DEPTH_MAX {
            self.refuse(file, of.at, codes::ITSELF, "a type that restricts itself".to_owned(), "end the circle");
            return None;
        }
        if let Some(restriction) = of.child("restriction") {
            let base = match (restriction.attribute("base"), restriction.child("simpleType")) {
                (Some(name), _) => match self.documents.global("simpleType", name, file) {
                    Some((file, base)) => self.simple(file, base, depth + 1)?,
                    None => match built_in(local(name)) {
                        Some(simple) => simple,
                        None => {
                            let message = format!("there is no type `{name}`");
                            self.refuse(
                                file,
                                restriction.at,
                                codes::NO_SUCH_PART,
                                message,
                                "define it, or include its schema",
                            );
                            return None;
                        }
                    },
                },
                (None, Some(inner)) => self.simple(file, inner, depth + 1)?,
                (None, None) => Simple::text(None),
            };
            return Some(self.faceted(file, restriction, base));
        }
        // A list is one text, whose white space is collapsed; of a union, text holds all.
        Some(match of.child("list") {
            Some(_) => Simple { white_space: WhiteSpace::Collapse, counted: Counted::Unbounded, ..Simple::text(None) },
            None => Simple::text(None),
        })
    }

    /// Restricts a type by facets.
    pub(super) fn faceted(&mut self, file: usize, of: &XmlElement, base: Simple) -> Simple {
        let facet = |name: &str| of.child(name).and_then(|facet| facet.attribute("value"));
        let mut listed = false;
        for child in &of.children {
            // A list of values is one restriction.
            if core::mem::replace(&mut listed, child.name == "enumeration") && listed {
                continue;
            }
            let is_number = matches!(base.scalar, Scalar::Decimal { .. });
            let unchecked = match child.name.as_str() {
                "pattern" | "minLength" | "enumeration" | "assertion" => Unchecked::All,
                "length" | "maxLength" if base.counted == Counted::Unbounded => Unchecked::All,
                "length" if matches!(base.scalar, Scalar::Text { .. }) => Unchecked::ButMaximum,
                // A number without a sign is not below zero.
                "minInclusive" if is_number && child.attribute("value") == Some("0") => continue,
                "minInclusive" | "minExclusive" | "maxInclusive" | "maxExclusive" if is_number => Unchecked::Written,
                "minInclusive" | "minExclusive" | "maxInclusive" | "maxExclusive" => Unchecked::All,
                _ => continue,
            };
            self.notes[file].add(&child.name, unchecked, child.at);
        }
        let white_space = match facet("whiteSpace") {
            Some("collapse") => WhiteSpace::Collapse,
            Some("replace") => WhiteSpace::Replace,
            _ => base.white_space,
        };
        let mut limits = base.limits;
        let scalar = match base.scalar {
            Scalar::Text { chars_max } => {
                let values = of.children_named("enumeration").filter_map(|value| value.attribute("value"));
                let longest =
                    values.map(|value| value.chars().count()).max().and_then(|longest| u32::try_from(longest).ok());
                let said = facet("maxLength").or_else(|| facet("length")).and_then(|max| max.parse::<u32>().ok());
                let said = match base.counted {
                    Counted::Characters => said,
                    Counted::HexBytes => said.and_then(|bytes| bytes.checked_mul(2)),
                    Counted::Unbounded => None,
                };
                limits = limits.narrower(ValueLimits { length_max: said, ..ValueLimits::default() });
                Scalar::Text { chars_max: said.or(longest).or(chars_max) }
            }
            Scalar::Decimal { digits, scale, signed } => {
                limits = limits.narrower(limits::of_number(of));
                self.number(file, of, digits, scale, signed)
            }
            other => other,
        };
        Simple { scalar, white_space, counted: base.counted, limits }
    }

    /// Restricts a number by facets: the result holds every value that they allow.
    fn number(&mut self, file: usize, of: &XmlElement, digits: u16, scale: i16, signed: bool) -> Scalar {
        let facet = |name: &str| of.child(name).and_then(|facet| facet.attribute("value"));
        let fraction = facet("fractionDigits").and_then(|n| n.parse::<i16>().ok());
        let total = facet("totalDigits").and_then(|n| n.parse::<u16>().ok());
        let low = ["minInclusive", "minExclusive"].iter().find_map(|name| facet(name));
        let high = ["maxInclusive", "maxExclusive"].iter().find_map(|name| facet(name));
        let signed = signed && low.is_none_or(|low| low.starts_with('-'));
        let front = u16::try_from((i32::from(digits) - i32::from(scale)).max(1)).unwrap_or(38);
        let mut scale = fraction.map_or(scale, |fraction| fraction.clamp(0, 30));
        if let Some(total) = total {
            // Digits before and after the point share the total, and either side may have all of them (part 2, clause 4.3.11).
            scale = scale.min(i16::try_from(total).unwrap_or(i16::MAX));
            if let (true, Some(facet)) = (scale > 0, of.child("totalDigits")) {
                self.notes[file].add("totalDigits of numbers with decimals", Unchecked::Written, facet.at);
            }
            return decimal(total, scale, signed);
        }
        let whole = |bound: &str| {
            let whole = bound.trim_start_matches(['-', '+']).split('.').next().unwrap_or_default();
            u16::try_from(whole.trim_start_matches('0').len()).unwrap_or(38).max(1)
        };
        let front = match (low, high) {
            (Some(low), Some(high)) => whole(low).max(whole(high)),
            _ => front,
        };
        decimal(front, scale, signed)
    }
}

/// Returns a number with digits before and after the point, 38 at most: at least 18 before the point, and then the decimals.
fn decimal(front: u16, scale: i16, signed: bool) -> Scalar {
    const DIGITS_MAX: i16 = 38;
    let front = i16::try_from(front).unwrap_or(DIGITS_MAX).min(DIGITS_MAX);
    let front = front.min((DIGITS_MAX - scale).max(FRONT));
    let scale = scale.min(DIGITS_MAX - front);
    Scalar::Decimal { digits: (front + scale).unsigned_abs().max(1), scale, signed }
}

/// Digits before the point to which decimals give way. Numbers with more are rarer than such decimals.
const FRONT: i16 = 18;
/// Digits and decimals of `xs:decimal`.
const DECIMAL: (i16, i16) = (36, 12);

/// Returns a built-in type of XML Schema part 2.
pub(super) fn built_in(name: &str) -> Option<Simple> {
    let scalar = scalar_of(name)?;
    // Only texts for people keep their white space (part 2, clause 3.3).
    let white_space = match name {
        "string" | "anySimpleType" | "anyAtomicType" | "anyType" => WhiteSpace::Preserve,
        "normalizedString" => WhiteSpace::Replace,
        _ => WhiteSpace::Collapse,
    };
    let counted = match name {
        "hexBinary" => Counted::HexBytes,
        // Base64 may have spaces anywhere, and a list any number of characters.
        "base64Binary" | "NMTOKENS" | "IDREFS" | "ENTITIES" => Counted::Unbounded,
        _ => Counted::Characters,
    };
    Some(Simple { scalar, white_space, counted, limits: limits::of_built_in(name) })
}

fn scalar_of(name: &str) -> Option<Scalar> {
    let text = |chars_max| Some(Scalar::Text { chars_max });
    let whole = |digits, signed| Some(Scalar::Decimal { digits, scale: 0, signed });
    match name {
        "string" | "normalizedString" | "token" | "language" | "Name" | "NCName" | "NMTOKEN" | "NMTOKENS" | "ID"
        | "IDREF" | "IDREFS" | "ENTITY" | "ENTITIES" | "anyURI" | "QName" | "NOTATION" | "anySimpleType"
        | "anyAtomicType" | "anyType" | "dateTime" | "dateTimeStamp" | "time" | "duration" | "dayTimeDuration"
        | "yearMonthDuration" | "base64Binary" | "hexBinary" => text(None),
        "date" => text(Some(16)),
        "gYear" | "gYearMonth" | "gMonth" | "gMonthDay" | "gDay" => text(Some(16)),
        "boolean" => Some(Scalar::Bool),
        "decimal" => Some(Scalar::Decimal { digits: DECIMAL.0.unsigned_abs(), scale: DECIMAL.1, signed: true }),
        "float" => Some(Scalar::Float32),
        "double" => Some(Scalar::Float64),
        "integer" | "nonPositiveInteger" | "negativeInteger" | "long" => whole(19, true),
        "nonNegativeInteger" | "positiveInteger" => whole(19, false),
        "unsignedLong" => whole(20, false),
        "int" => whole(10, true),
        "unsignedInt" => whole(10, false),
        "short" => whole(5, true),
        "unsignedShort" => whole(5, false),
        "byte" => whole(3, true),
        "unsignedByte" => whole(3, false),
        _ => None,
    }
}
