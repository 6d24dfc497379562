//! Properties that every result carries: method, assumptions, validity, origin.

use crate::Method;

/// A result with everything a reader needs to judge it.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate<T> {
    /// The result.
    pub value: T,
    /// The solver or model that gave it; names its source and its assumptions.
    pub method: Method,
    /// Reliability of the result.
    pub validity: Validity,
    /// Origin of the number.
    pub origin: Origin,
    /// Passes of an approximation whose answer depends on their number; none for other methods.
    pub passes: Option<usize>,
}

/// Reliability of a result.
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
    /// A fit that answers outside its measurements.
    Extrapolated {
        /// The value in question over the largest measured value; below 1 it is over the smallest one.
        factor: f64,
    },
    /// A rule of a document; it holds for the machines that the document describes.
    RuleOfSource(&'static str),
    /// A rule of this product, which no document prints.
    OurRule(&'static str),
}

impl Validity {
    /// Returns the validity of a value inside or outside the measured range.
    #[must_use]
    pub fn of_range(value: f64, least: f64, most: f64) -> Validity {
        if value > most {
            Validity::Extrapolated { factor: value / most.max(f64::MIN_POSITIVE) }
        } else if value < least {
            Validity::Extrapolated { factor: value / least }
        } else {
            Validity::WithinData
        }
    }

    /// Returns the weaker of two validities, for an answer that combines several results.
    #[must_use]
    pub fn weaker(self, other: Validity) -> Validity {
        let distance = |factor: f64| factor.max(f64::MIN_POSITIVE).ln().abs();
        let rank = |validity: &Validity| match validity {
            Validity::Exact => 0.0,
            Validity::WithinData => 1.0,
            Validity::Bound => 2.0,
            Validity::RuleOfSource(_) => 3.0,
            Validity::OurRule(_) => 4.0,
            Validity::Approximate(_) => 5.0,
            Validity::Extrapolated { factor } => 6.0 + distance(*factor),
        };
        if rank(&other) > rank(&self) { other } else { self }
    }
}

impl core::fmt::Display for Validity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Validity::Exact => f.write_str("exact under the assumptions"),
            Validity::Approximate(text) => write!(f, "approximation: {text}"),
            Validity::Bound => f.write_str("bound"),
            Validity::WithinData => f.write_str("within the measured range"),
            Validity::Extrapolated { factor } if *factor < 1.0 => {
                write!(f, "extrapolated to {factor:.2} times the smallest measured value")
            }
            Validity::Extrapolated { factor } => {
                write!(f, "extrapolated to {factor:.2} times the largest measured value")
            }
            Validity::RuleOfSource(text) => write!(f, "rule of the source: {text}"),
            Validity::OurRule(text) => write!(f, "rule of this product: {text}"),
        }
    }
}

/// Origin of a number, from the best to the weakest.
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
    /// Returns the weaker of two origins.
    #[must_use]
    pub fn weaker(self, other: Origin) -> Origin {
        self.max(other)
    }

    /// Returns the origin as a word.
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
    /// Creates a result of `method`.
    #[must_use]
    pub fn new(method: Method, validity: Validity, value: T) -> Self {
        Estimate { value, method, validity, origin: Origin::Derived, passes: None }
    }

    /// Creates a result that is exact under the assumptions of `method`.
    #[must_use]
    pub fn exact(method: Method, value: T) -> Self {
        Estimate::new(method, Validity::Exact, value)
    }

    /// Sets the origin of the inputs; the weaker of it and the present origin remains.
    #[must_use]
    pub fn from_inputs(mut self, inputs: Origin) -> Self {
        self.origin = self.origin.weaker(inputs);
        self
    }

    /// Returns the estimate with the weaker validity. Its method and validity describe an answer that combines both.
    #[must_use]
    pub fn weaker<'a>(&'a self, other: &'a Estimate<T>) -> &'a Estimate<T> {
        let (mine, theirs) = (self.validity.clone(), other.validity.clone());
        if mine.clone().weaker(theirs) == mine { self } else { other }
    }

    /// Converts the value and keeps method, validity and origin.
    #[must_use]
    pub fn map<U>(self, next: impl FnOnce(T) -> U) -> Estimate<U> {
        let Estimate { value, method, validity, origin, passes } = self;
        Estimate { value: next(value), method, validity, origin, passes }
    }
}
