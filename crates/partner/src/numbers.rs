//! Ranges of control numbers. Each range between two identities has its own register, so ranges must not overlap.

use quayline_core::{Fault, Finding, Place};
use quayline_project::partner::{NumberRange, PartnerFile, Settings};

use crate::codes;

/// Ranges of one level that overlap: those of rules for the same two parties, and that of the parties themselves.
pub(crate) fn overlaps(partners: &[PartnerFile]) -> Vec<Finding> {
    type Range = fn(&Settings) -> Option<NumberRange>;
    let levels: [(&str, Range); 2] = [
        ("interchange-numbers", |settings| settings.interchange_numbers),
        ("group-numbers", |settings| settings.group_numbers),
    ];
    let mut findings = Vec::new();
    for (key, range_of) in levels {
        // Most projects have no such rule.
        let has_range = |partner: &PartnerFile| partner.rules.iter().any(|rule| range_of(&rule.settings).is_some());
        let with_ranges: Vec<bool> = partners.iter().map(has_range).collect();
        for (at, own) in partners.iter().enumerate().filter(|(_, own)| own.is_own) {
            for (other, partner) in partners.iter().enumerate().filter(|(_, partner)| !partner.is_own) {
                if !with_ranges[at] && !with_ranges[other] {
                    continue;
                }
                let agreement = partner.agreements.iter().find(|agreement| agreement.with == own.name);
                let of_parties = agreement
                    .and_then(|agreement| range_of(&agreement.settings))
                    .or_else(|| range_of(&partner.settings))
                    .or_else(|| range_of(&own.settings))
                    .unwrap_or(NumberRange::ALL);
                let mut known: Vec<(String, NumberRange)> =
                    vec![(format!("of {} and {}", own.name, partner.name), of_parties)];
                for rule in partner.rules.iter().chain(&own.rules) {
                    let Some(range) = range_of(&rule.settings) else { continue };
                    let of_rule = format!("of rule `{}`", rule.name);
                    match known.iter().find(|(_, one)| one.first <= range.last && range.first <= one.last) {
                        Some((_, one)) if *one == range => {}
                        Some((name, one)) => {
                            findings.push(overlap(key, (&of_rule, range), (name, *one), &rule.place));
                        }
                        None => known.push((of_rule, range)),
                    }
                }
            }
        }
    }
    findings.dedup_by(|a, b| a.place == b.place && a.message == b.message);
    findings
}

fn overlap(key: &str, (of, range): (&str, NumberRange), (other, one): (&str, NumberRange), place: &Place) -> Finding {
    let message = format!("`{key}` {of} ({range}) overlaps that {other} ({one}), so numbers would come twice");
    let finding = Finding::error(codes::NUMBERS, Fault::Config, message).at(place.clone());
    finding.hint("give both a range without a number of the other; the partner's own range is in its [settings]")
}
