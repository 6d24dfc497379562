//! The limits that a schema states for elements and values.

use quayline_core::{Bound, NodeLimits, ValueLimits};
use quayline_dictionary::XmlElement;

use super::{Model, local};

/// Widens the limits of a model by those of another with the same names, because an element may have either.
pub(super) fn widen(known: &mut Model, other: Model) {
    if *known == other {
        return;
    }
    match (known, other) {
        (Model::Leaf(known), Model::Leaf(other)) => {
            known.limits = core::mem::take(&mut known.limits).wider(other.limits);
        }
        (Model::Group(known), Model::Group(others)) => {
            for (known, other) in known.iter_mut().zip(others) {
                let limits = &mut known.limits;
                limits.required &= other.limits.required;
                limits.nullable |= other.limits.nullable;
                limits.min = limits.min.min(other.limits.min);
                limits.max = limits.max.zip(other.limits.max).map(|(a, b)| a.max(b));
                widen(&mut known.model, other.model);
            }
        }
        // Quayline reads the first of both, so no limit of its own applies to the other.
        (known, _) => unlimited(known),
    }
}

fn unlimited(model: &mut Model) {
    match model {
        Model::Leaf(simple) => simple.limits = ValueLimits::default(),
        Model::Group(members) => members.iter_mut().for_each(|member| {
            member.limits = NodeLimits::default();
            unlimited(&mut member.model);
        }),
    }
}

/// Returns the limits that the facets of a restriction state for a number.
pub(super) fn of_number(restriction: &XmlElement) -> ValueLimits {
    let facet = |name: &str| restriction.child(name).and_then(|facet| facet.attribute("value")).map(str::trim);
    let count = |name: &str| facet(name).and_then(|count| count.parse().ok());
    let bound = |name: &str| facet(name).and_then(Bound::parse);
    let inclusive = ValueLimits { low: bound("minInclusive"), high: bound("maxInclusive"), ..ValueLimits::default() };
    let exclusive = ValueLimits {
        digits_max: count("totalDigits"),
        decimals_max: count("fractionDigits"),
        low: bound("minExclusive").map(Bound::exclusive),
        high: bound("maxExclusive").map(Bound::exclusive),
        ..ValueLimits::default()
    };
    inclusive.narrower(exclusive)
}

/// Returns the limits of a built-in type. Source: XML Schema part 2, clause 3.4.
pub(super) fn of_built_in(name: &str) -> ValueLimits {
    let (low, high) = match local(name) {
        "integer" => ("", ""),
        "nonPositiveInteger" => ("", "0"),
        "negativeInteger" => ("", "-1"),
        "nonNegativeInteger" => ("0", ""),
        "positiveInteger" => ("1", ""),
        "long" => ("-9223372036854775808", "9223372036854775807"),
        "int" => ("-2147483648", "2147483647"),
        "short" => ("-32768", "32767"),
        "byte" => ("-128", "127"),
        "unsignedLong" => ("0", "18446744073709551615"),
        "unsignedInt" => ("0", "4294967295"),
        "unsignedShort" => ("0", "65535"),
        "unsignedByte" => ("0", "255"),
        _ => return ValueLimits::default(),
    };
    ValueLimits { decimals_max: Some(0), low: Bound::parse(low), high: Bound::parse(high), ..ValueLimits::default() }
}
