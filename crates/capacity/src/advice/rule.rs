//! A rule: conditions on measured metrics, and what to do where all of them hold.

use super::Metric;

/// A rule with its evidence, recommendation, expected effect and source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Stable name.
    pub code: &'static str,
    /// What must hold, all of it.
    pub conditions: &'static [Condition],
    /// What to do.
    pub recommendation: &'static str,
    /// What to expect of it.
    pub effect: &'static str,
    /// Document and chapter, or author and year.
    pub source: &'static str,
}

/// A comparison of a metric with a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// The metric.
    pub metric: Metric,
    /// How it compares.
    pub relation: Relation,
    /// With what.
    pub bound: Bound,
}

/// How a metric compares with its bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Relation {
    /// Above it.
    Above,
    /// Below it.
    Below,
    /// At it or above.
    AtLeast,
    /// At it or below.
    AtMost,
}

/// What a metric is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A value in the metric's unit.
    Value(f64),
    /// A multiple of another metric.
    Times {
        /// The factor.
        factor: f64,
        /// The other metric.
        of: Metric,
    },
}

impl Relation {
    /// Whether `value` compares so with `bound`.
    #[must_use]
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Relation::Above => value > bound,
            Relation::Below => value < bound,
            Relation::AtLeast => value >= bound,
            Relation::AtMost => value <= bound,
        }
    }

    /// The relation as words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Relation::Above => "above",
            Relation::Below => "below",
            Relation::AtLeast => "at least",
            Relation::AtMost => "at most",
        }
    }
}

pub(super) const fn rule(
    code: &'static str,
    conditions: &'static [Condition],
    recommendation: &'static str,
    effect: &'static str,
    source: &'static str,
) -> Rule {
    Rule { code, conditions, recommendation, effect, source }
}

pub(super) const fn above(metric: Metric, value: f64) -> Condition {
    Condition { metric, relation: Relation::Above, bound: Bound::Value(value) }
}

pub(super) const fn above_times(metric: Metric, factor: f64, of: Metric) -> Condition {
    Condition { metric, relation: Relation::Above, bound: Bound::Times { factor, of } }
}

pub(super) const fn at_least(metric: Metric, value: f64) -> Condition {
    Condition { metric, relation: Relation::AtLeast, bound: Bound::Value(value) }
}

pub(super) const fn at_least_times(metric: Metric, factor: f64, of: Metric) -> Condition {
    Condition { metric, relation: Relation::AtLeast, bound: Bound::Times { factor, of } }
}

pub(super) const fn at_most(metric: Metric, value: f64) -> Condition {
    Condition { metric, relation: Relation::AtMost, bound: Bound::Value(value) }
}

pub(super) const fn below(metric: Metric, value: f64) -> Condition {
    Condition { metric, relation: Relation::Below, bound: Bound::Value(value) }
}

pub(super) const fn below_times(metric: Metric, factor: f64, of: Metric) -> Condition {
    Condition { metric, relation: Relation::Below, bound: Bound::Times { factor, of } }
}

/// The condition holds.
pub(super) const fn is(metric: Metric) -> Condition {
    above(metric, 0.5)
}

/// The condition does not hold.
pub(super) const fn is_not(metric: Metric) -> Condition {
    below(metric, 0.5)
}
