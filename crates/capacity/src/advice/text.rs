//! Advice and rules as text for people.

use core::fmt::Write as _;

use super::{Advice, Evidence, Feed, Readings, rules};

/// Returns the number of rules whose values were all measured.
#[must_use]
pub fn judged(readings: &Readings) -> usize {
    rules().filter(|rule| rule.metrics().all(|metric| readings.contains_key(&metric))).count()
}

/// Lists the rules that apply with their evidence, and the number of rules whose values were all measured.
#[must_use]
pub fn advice_text(advice: &[Advice], judged: usize) -> String {
    let mut text = String::new();
    for Advice { rule, evidence } in advice {
        let _ = writeln!(text, "{}\n  do: {}", rule.code, rule.recommendation);
        for Evidence { metric, measured, relation, bound } in evidence {
            let (name, words, unit) = (metric.name(), relation.words(), metric.unit());
            let _ = writeln!(text, "  because {name} is {measured}, {words} {bound} [{unit}]");
        }
        let _ = writeln!(text, "  expect: {}\n  source: {}\n", rule.effect, rule.source);
    }
    let _ = writeln!(text, "{} of {} rules apply", advice.len(), rules().count());
    let _ = writeln!(text, "{judged} had all their values; `quayline advise --list` names where the others get theirs");
    text
}

/// Lists every rule with its metrics, their units and the origins of their values.
#[must_use]
pub fn rules_text() -> String {
    let mut text = String::new();
    for rule in rules() {
        let _ = writeln!(text, "{}: {} ({})", rule.code, rule.recommendation, rule.source);
        for metric in rule.metrics() {
            let _ = write!(text, "  {} [{}]: ", metric.name(), metric.unit());
            let _ = match metric.feed() {
                Feed::Live => writeln!(text, "measured by a server"),
                Feed::Report(report) => writeln!(text, "from {report}"),
                Feed::OtherSystems(why) => writeln!(text, "of other systems: {why}"),
            };
        }
    }
    text
}
