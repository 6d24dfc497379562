//! The limits that a schema states for values, apart from the sizes that it only suggests.

use quayline_core::{Bound, ValueLimits};

use super::read::Kind;
use super::tree::Json;
use super::types::decimals;

/// Returns the limits of a text: `maxLength`. The longest value of an `enum` and the length of a `format` are guesses.
pub(super) fn of_text(schema: &Json) -> ValueLimits {
    ValueLimits { length_max: schema.get("maxLength").and_then(Json::count), ..ValueLimits::default() }
}

/// Returns the limits of a number: its bounds, and the decimals that an integer or `multipleOf` can have.
pub(super) fn of_number(schema: &Json, integer: bool) -> ValueLimits {
    let integer = integer.then_some(0);
    let step = schema.get("multipleOf").and_then(Json::number).filter(|step| Bound::parse(step).is_some());
    // `decimals` ends at 30 places.
    let step = step.and_then(decimals).filter(|decimals| *decimals < 30).and_then(|step| u16::try_from(step).ok());
    let bounds = bounds(schema);
    let decimals_max = [integer, step].into_iter().flatten().min();
    ValueLimits { decimals_max, ..bounds }
}

/// Applies the keywords of a schema that has no type of its own.
pub(super) fn restricted(kind: Kind, schema: &Json) -> Kind {
    match kind {
        Kind::Array { items, min, max } => {
            let count = |name: &str| schema.get(name).and_then(Json::count);
            let min = min.max(count("minItems").unwrap_or(0));
            let max = match (max, count("maxItems")) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            Kind::Array { items, min, max }
        }
        Kind::Scalar(scalar, limits) if matches!(scalar, quayline_core::Scalar::Decimal { .. }) => {
            Kind::Scalar(scalar, limits.narrower(bounds(schema)))
        }
        kind => kind,
    }
}

fn bounds(schema: &Json) -> ValueLimits {
    let bound = |name: &str| Bound::parse(schema.get(name)?.number()?);
    // In draft 4, `exclusiveMinimum` is a truth value, which applies to `minimum`.
    let edge = |name: &str, exclusive: &str| {
        let is_exclusive = schema.get(exclusive).and_then(Json::bool) == Some(true);
        (
            bound(name).map(|bound| if is_exclusive { bound.exclusive() } else { bound }),
            bound(exclusive).map(Bound::exclusive),
        )
    };
    let (low, above) = edge("minimum", "exclusiveMinimum");
    let (high, below) = edge("maximum", "exclusiveMaximum");
    let inclusive = ValueLimits { low, high, ..ValueLimits::default() };
    inclusive.narrower(ValueLimits { low: above, high: below, ..ValueLimits::default() })
}
