//! Advice: rules as data, each with its condition on measured metrics, evidence, recommendation, expected effect and source.
//!
//! A rule applies only if all of its metrics were measured, so all advice has evidence.

/// Names chapter and line of the capacity reference. Lines are those of its text, counted from 1.
macro_rules! capabilities {
    ($place:literal) => {
        concat!("IBM iSeries Performance Capabilities Reference V5R3, ", $place)
    };
}

mod feed;
mod laws;
mod metric;
mod rule;
mod services;
mod text;
mod workloads;

pub use feed::Feed;
pub use metric::Metric;
pub use rule::{Bound, Condition, Relation, Rule};
pub use text::{advice_text, judged, rules_text};

use std::collections::BTreeMap;

/// Measured values by metric.
pub type Readings = BTreeMap<Metric, f64>;

/// A rule that applies, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The rule.
    pub rule: &'static Rule,
    /// Each condition with the value that was measured and the bound that it was compared with.
    pub evidence: Vec<Evidence>,
}

/// A condition that holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// The metric.
    pub metric: Metric,
    /// Measured value.
    pub measured: f64,
    /// Relation of the value to the bound.
    pub relation: Relation,
    /// Bound of the rule.
    pub bound: f64,
}

/// Iterates over all rules.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [workloads::WORKLOADS, services::SERVICES, laws::LAWS].into_iter().flatten()
}

/// Returns the rules that apply to the measurements.
#[must_use]
pub fn advise(readings: &Readings) -> Vec<Advice> {
    rules().filter_map(|rule| Some(Advice { rule, evidence: evidence(rule, readings)? })).collect()
}

/// Returns the evidence of a rule; `None` if a condition does not hold or a metric was not measured.
fn evidence(rule: &Rule, readings: &Readings) -> Option<Vec<Evidence>> {
    rule.conditions
        .iter()
        .map(|condition| {
            let measured = *readings.get(&condition.metric)?;
            let bound = match condition.bound {
                Bound::Value(value) => value,
                Bound::Times { factor, of } => factor * readings.get(&of)?,
            };
            let Condition { metric, relation, .. } = *condition;
            relation.holds(measured, bound).then_some(Evidence { metric, measured, relation, bound })
        })
        .collect()
}
