//! A rule: conditions on measured metrics, and a recommendation if all of them hold.

use super::Metric;

/// A rule with its evidence, recommendation, expected effect and source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Stable name.
    pub code: &'static str,
    /// Conditions, all of which must hold.
    pub conditions: &'static [Condition],
    /// Recommended action.
    pub recommendation: &'static str,
    /// Expected effect of the action.
    pub effect: &'static str,
    /// Document with chapter and line of its text, or author and year.
    pub source: &'static str,
}

/// A comparison of a metric with a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// The metric.
    pub metric: Metric,
    /// Relation of the metric to the bound.
    pub relation: Relation,
    /// Bound of the metric.
    pub bound: Bound,
}

/// Relation of a metric to its bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Relation {
    /// Greater than the bound.
    Above,
    /// Less than the bound.
    Below,
    /// Greater than or equal to the bound.
    AtLeast,
    /// Less than or equal to the bound.
    AtMost,
}

/// Bound of a metric.
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
    /// Returns true if `value` has this relation to `bound`.
    #[must_use]
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Relation::Above => value > bound,
            Relation::Below => value < bound,
            Relation::AtLeast => value >= bound,
            Relation::AtMost => value <= bound,
        }
    }

    /// Describes the relation in words.
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

/// Creates a condition that a yes-or-no metric is 1.
pub(super) const fn is(metric: Metric) -> Condition {
    above(metric, 0.5)
}

/// Creates a condition that a yes-or-no metric is 0.
pub(super) const fn is_not(metric: Metric) -> Condition {
    below(metric, 0.5)
}
