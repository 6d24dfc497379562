//! Which rule takes a document.
//!
//! Rules are found by hash. A rule's conditions are standard, document, version, application and test; each is a value or absent. For every
//! combination of conditions that the rules of a partner use there is one look-up, most conditions first. So the cost depends on the number of such
//! combinations (at most 32) and not on the number of rules. A partner's own rules win over those of our files. Conditions on content
//! (`when`) decide among rules whose other conditions are equal; the rule with the most of them wins.

use std::collections::{BTreeMap, HashMap};

use quayline_core::{Fault, Finding};
use quayline_edi::Standard;
use quayline_project::partner::{Direction, PartnerFile, Rule};

use crate::codes;

/// A rule: the number of its partner, and its number there.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RuleId {
    /// Number of the partner.
    pub owner: usize,
    /// Number of the rule in the partner's file.
    pub rule: usize,
}

/// What is known of a document.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// Which way it goes.
    pub direction: Direction,
    /// Its standard; `None` for documents that are not EDI yet.
    pub standard: Option<Standard>,
    /// Its type.
    pub document: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Its application reference.
    pub application: &'a str,
    /// Whether the interchange is a test.
    pub test: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Key {
    owner: usize,
    direction: Direction,
    standard: Option<Standard>,
    document: Option<String>,
    version: Option<String>,
    application: Option<String>,
    test: Option<bool>,
}

/// Combinations of conditions that the rules of one partner and direction use.
#[derive(Clone, Debug, Default)]
struct Masks {
    /// Most conditions first.
    masks: Vec<u8>,
    /// Lengths of versions, the longest first: a version is also fitted by what it begins with.
    version_lengths: Vec<usize>,
}

const STANDARD: u8 = 1;
const TEST: u8 = 2;
const APPLICATION: u8 = 4;
const VERSION: u8 = 8;
const DOCUMENT: u8 = 16;

/// All rules of all partners.
#[derive(Clone, Debug, Default)]
pub struct RuleIndex {
    by_key: HashMap<Key, Vec<RuleId>>,
    masks: HashMap<(usize, Direction), Masks>,
}

impl RuleIndex {
    /// Indexes the rules. Rules that fit the same documents are findings.
    #[must_use]
    pub fn new(partners: &[PartnerFile]) -> (RuleIndex, Vec<Finding>) {
        let mut index = RuleIndex::default();
        for (owner, partner) in partners.iter().enumerate() {
            for (number, rule) in partner.rules.iter().enumerate() {
                let key = Key {
                    owner,
                    direction: rule.direction,
                    standard: rule.standard,
                    document: rule.document.clone(),
                    version: rule.version.clone(),
                    application: rule.application.clone(),
                    test: rule.test,
                };
                let masks = index.masks.entry((owner, rule.direction)).or_default();
                let mask = mask_of(rule);
                if !masks.masks.contains(&mask) {
                    masks.masks.push(mask);
                }
                if let Some(version) = &rule.version
                    && !masks.version_lengths.contains(&version.len())
                {
                    masks.version_lengths.push(version.len());
                }
                index.by_key.entry(key).or_default().push(RuleId { owner, rule: number });
            }
        }
        for masks in index.masks.values_mut() {
            masks.masks.sort_by_key(|mask| (u32::MAX - mask.count_ones(), u8::MAX - mask));
            masks.version_lengths.sort_unstable_by_key(|length| usize::MAX - length);
        }
        let mut found: BTreeMap<RuleId, Finding> = BTreeMap::new();
        for rules in index.by_key.values_mut() {
            let rule = |id: &RuleId| &partners[id.owner].rules[id.rule];
            rules.sort_by_key(|id| (usize::MAX - rule(id).when.len(), *id));
            for (at, id) in rules.iter().enumerate() {
                if let Some(other) = rules[..at].iter().find(|other| rule(other).when == rule(id).when) {
                    let message =
                        format!("rules `{}` and `{}` fit the same documents", rule(other).name, rule(id).name);
                    let finding = Finding::error(codes::AMBIGUOUS, Fault::Config, message).at(rule(id).place.clone());
                    found.insert(*id, finding.hint("remove one of them, or add a condition: version, test or when"));
                }
            }
        }
        (index, found.into_values().collect())
    }

    /// Hands every rule that fits but for its conditions on content to `visit`, the most specific first, until it returns `true`.
    pub fn each(&self, owners: &[usize], query: &Query<'_>, visit: &mut dyn FnMut(RuleId) -> bool) {
        for owner in owners {
            let Some(masks) = self.masks.get(&(*owner, query.direction)) else { continue };
            for mask in &masks.masks {
                let with = |bit: u8| mask & bit != 0;
                if with(STANDARD) && query.standard.is_none() {
                    continue;
                }
                let mut key = Key {
                    owner: *owner,
                    direction: query.direction,
                    standard: query.standard.filter(|_| with(STANDARD)),
                    document: with(DOCUMENT).then(|| query.document.to_owned()),
                    version: None,
                    application: with(APPLICATION).then(|| query.application.to_owned()),
                    test: with(TEST).then_some(query.test),
                };
                let lengths: &[usize] = if with(VERSION) { &masks.version_lengths } else { &[0] };
                for length in lengths {
                    if with(VERSION) {
                        let Some(begin) = version_prefix(query.version, *length) else { continue };
                        key.version = Some(begin.to_owned());
                    }
                    if let Some(rules) = self.by_key.get(&key)
                        && rules.iter().any(|id| visit(*id))
                    {
                        return;
                    }
                }
            }
        }
    }

    /// The rule that takes a document; `holds` says whether a condition on content holds.
    #[must_use]
    pub fn choose(
        &self,
        partners: &[PartnerFile],
        owners: &[usize],
        query: &Query<'_>,
        holds: &dyn Fn(&str, &str) -> bool,
    ) -> Option<RuleId> {
        let mut chosen = None;
        self.each(owners, query, &mut |id| {
            let rule = &partners[id.owner].rules[id.rule];
            let fits = rule.when.iter().all(|(element, value)| holds(element, value));
            if fits {
                chosen = Some(id);
            }
            fits
        });
        chosen
    }
}

fn mask_of(rule: &Rule) -> u8 {
    let bit = |given: bool, bit: u8| if given { bit } else { 0 };
    bit(rule.standard.is_some(), STANDARD)
        | bit(rule.test.is_some(), TEST)
        | bit(rule.application.is_some(), APPLICATION)
        | bit(rule.version.is_some(), VERSION)
        | bit(rule.document.is_some(), DOCUMENT)
}

/// The first bytes of a version, where a part of it ends there: parts of EDIFACT's are between colons, X12's may end anywhere.
fn version_prefix(version: &str, length: usize) -> Option<&str> {
    let begin = version.get(..length)?;
    let rest = &version[length..];
    (rest.is_empty() || rest.starts_with(':') || !version.contains(':')).then_some(begin)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn partner(text: &str) -> PartnerFile {
        PartnerFile::parse(Path::new("acme.toml"), text).expect("a good file").0
    }

    fn rule(name: &str, conditions: &str) -> String {
        format!("[[rule]]\nname = \"{name}\"\ndirection = \"receive\"\ndeliver = \"folder:in\"\n{conditions}\n")
    }

    fn query<'a>(document: &'a str, version: &'a str, test: bool) -> Query<'a> {
        Query { direction: Direction::Receive, standard: Some(Standard::X12), document, version, application: "", test }
    }

    #[test]
    fn the_most_specific_rule_wins_and_content_decides_among_equals() {
        let text = [
            rule("any", ""),
            rule("orders", "document = \"850\""),
            rule("orders-4010", "document = \"850\"\nversion = \"004010\""),
            rule("urgent", "document = \"850\"\nversion = \"004010\"\nwhen = { BEG02 = \"RO\" }"),
            rule("tests", "document = \"850\"\ntest = true"),
        ];
        let partners = [partner(&text.concat())];
        let (index, findings) = RuleIndex::new(&partners);
        assert_eq!(findings, []);
        let choose = |query: &Query<'_>, kind: &str| {
            let holds = |element: &str, value: &str| element == "BEG02" && value == kind;
            let id = index.choose(&partners, &[0], query, &holds).expect("a rule");
            partners[0].rules[id.rule].name.clone()
        };
        assert_eq!(choose(&query("810", "004010", false), "SA"), "any");
        assert_eq!(choose(&query("850", "005010", false), "SA"), "orders");
        assert_eq!(choose(&query("850", "004010VICS", false), "SA"), "orders-4010");
        assert_eq!(choose(&query("850", "004010", false), "RO"), "urgent");
        assert_eq!(choose(&query("850", "005010", true), "RO"), "tests");
        let send = Query { direction: Direction::Send, ..query("850", "004010", false) };
        assert_eq!(index.choose(&partners, &[0], &send, &|_, _| true), None);
    }

    #[test]
    fn a_version_is_fitted_by_whole_parts_of_it() {
        assert_eq!(version_prefix("D:96A:UN:EAN008", 8), Some("D:96A:UN"));
        assert_eq!(version_prefix("D:96A:UNO", 8), None);
        assert_eq!(version_prefix("005010X222A1", 6), Some("005010"));
        assert_eq!(version_prefix("004010", 12), None);
    }

    #[test]
    fn rules_that_fit_the_same_documents_are_found() {
        let twice = rule("a", "document = \"850\"") + &rule("b", "document = \"850\"");
        let (_, findings) = RuleIndex::new(&[partner(&twice)]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("`a` and `b` fit the same documents"), "{findings:?}");
    }
}
