//! What every result carries: method, assumptions, validity, origin.

use crate::Method;

/// A result with everything a reader needs to judge it.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate<T> {
    /// The result.
    pub value: T,
    /// The solver or model that gave it; names its source and its assumptions.
    pub method: Method,
    /// How far the result can be trusted.
    pub validity: Validity,
    /// Where the number comes from.
    pub origin: Origin,
}

/// How far a result can be trusted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Validity {
    /// Exact under the assumptions of the method, up to rounding.
    Exact,
    /// An approximation; the text names its known error or where it fails.
    Approximate(&'static str),
    /// A bound, not an estimate of the value itself.
    Bound,
    /// A fit that answers within the range of its measurements.
    WithinData,
    /// A fit that answers outside its measurements; the factor is the distance from the largest measured value.
    Extrapolated {
        /// The value that was asked over the largest measured value.
        factor: f64,
    },
    /// A rule of a document; it holds for the machines that the document describes.
    RuleOfSource(&'static str),
    /// A rule of this product, which no document prints.
    OurRule(&'static str),
}

impl core::fmt::Display for Validity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Validity::Exact => f.write_str("exact under the assumptions"),
            Validity::Approximate(text) => write!(f, "approximation: {text}"),
            Validity::Bound => f.write_str("bound"),
            Validity::WithinData => f.write_str("within the measured range"),
            Validity::Extrapolated { factor } => write!(f, "extrapolated to {factor:.2} times the measured range"),
            Validity::RuleOfSource(text) => write!(f, "rule of the source: {text}"),
            Validity::OurRule(text) => write!(f, "rule of this product: {text}"),
        }
    }
}

/// Where a number comes from, from the best to the weakest.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Origin {
    /// Measured on the machine and program in question.
    Measured,
    /// Calculated from measurements.
    Derived,
    /// Assumed by a person, or taken from another machine.
    Assumed,
}

impl Origin {
    /// The weaker of two origins.
    #[must_use]
    pub fn weaker(self, other: Origin) -> Origin {
        self.max(other)
    }

    /// The origin as a word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Origin::Measured => "measured",
            Origin::Derived => "derived",
            Origin::Assumed => "assumed",
        }
    }
}

impl<T> Estimate<T> {
    /// A result of `method`.
    #[must_use]
    pub fn new(method: Method, validity: Validity, value: T) -> Self {
        Estimate { value, method, validity, origin: Origin::Derived }
    }

    /// A result that is exact under the assumptions of `method`.
    #[must_use]
    pub fn exact(method: Method, value: T) -> Self {
        Estimate::new(method, Validity::Exact, value)
    }

    /// The same result, from inputs of this origin: the weaker of both counts.
    #[must_use]
    pub fn from_inputs(mut self, inputs: Origin) -> Self {
        self.origin = self.origin.weaker(inputs);
        self
    }

    /// The same basis for a value that follows from this one.
    #[must_use]
    pub fn map<U>(self, next: impl FnOnce(T) -> U) -> Estimate<U> {
        Estimate { value: next(self.value), method: self.method, validity: self.validity, origin: self.origin }
    }
}
