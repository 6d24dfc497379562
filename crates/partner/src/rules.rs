//! Selection of the rule for a document.
//!
//! Rules are found by hash. The conditions of a rule are standard, document, version, application and test; each has a value or is absent. There is
//! one look-up for every combination of conditions that the rules of a partner use, most conditions first. The cost therefore depends on the
//! number of combinations (at most 32) and not on the number of rules. A partner's own rules take precedence over those of our files. Content conditions
//! (`when`, `where`) decide among rules whose other conditions are equal: the rule with the most of them, otherwise the first in the file.
//! An expression is evaluated only if all other conditions of its rule hold.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use quayline_core::{Fault, Finding};
use quayline_edi::Standard;
use quayline_project::partner::{Direction, PartnerFile, Rule};
use xxhash_rust::xxh3::xxh3_128;

use crate::codes;

/// A rule: the number of its partner, and its number there.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RuleId {
    /// Number of the partner.
    pub owner: usize,
    /// Number of the rule in the partner's file.
    pub rule: usize,
}

/// Properties of a document that rules test.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// Direction of the document.
    pub direction: Direction,
    /// Standard; `None` for documents that are not EDI yet.
    pub standard: Option<Standard>,
    /// Type of the document.
    pub document: &'a str,
    /// Version of the document.
    pub version: &'a str,
    /// Application reference.
    pub application: &'a str,
    /// True if the interchange is a test.
    pub test: bool,
}

/// Combinations of conditions that the rules of one partner and direction use.
#[derive(Clone, Debug, Default)]
struct Masks {
    /// Bit `n` for the combination `n`.
    used: u32,
    /// Lengths of versions, the longest first. A rule's version also matches versions that begin with it.
    version_lengths: Vec<usize>,
}

const STANDARD: u8 = 1;
const TEST: u8 = 2;
const APPLICATION: u8 = 4;
const VERSION: u8 = 8;
const DOCUMENT: u8 = 16;

/// Every combination, most conditions first.
const ORDER: [u8; 32] = {
    let mut order = [0; 32];
    let (mut count, mut at) = (6, 0);
    while count > 0 {
        count -= 1;
        let mut mask: u8 = 32;
        while mask > 0 {
            mask -= 1;
            if mask.count_ones() == count {
                order[at] = mask;
                at += 1;
            }
        }
    }
    order
};

/// Rules with the same conditions but for those on content. Eight bytes, so that a look-up among many rules touches few lines of memory.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The only rule, or where the rules begin in [`RuleIndex::several`].
    first: u32,
    /// Number of rules. The highest bit is set if one of them has content conditions.
    count: u32,
}

const HAS_CONTENT: u32 = 1 << 31;

/// All rules of all partners.
#[derive(Clone, Debug, Default)]
pub struct RuleIndex {
    /// Rules by the digest of owner, direction and conditions. With 128 bits, a collision of two keys is not a practical concern.
    by_key: HashMap<u128, Slot, BuildHasherDefault<OfDigest>>,
    /// Numbers of rules that share their conditions.
    several: Vec<u32>,
    /// By owner: masks for received documents, masks for sent documents.
    masks: Vec<[Masks; 2]>,
}

/// A digest is its own hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfDigest(u64);

impl Hasher for OfDigest {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxhash_rust::xxh3::xxh3_64(bytes);
    }

    fn write_u128(&mut self, digest: u128) {
        self.0 = u64::try_from(digest & u128::from(u64::MAX)).unwrap_or_default();
    }
}

/// Computes the digest of texts, each prefixed with its length.
pub(crate) fn digest_of(parts: &[&[u8]]) -> u128 {
    let mut short = [0; 240];
    let mut used = 0;
    for part in parts {
        let Some(room) = short.get_mut(used..used + 4 + part.len()) else {
            let long: Vec<u8> = parts
                .iter()
                .flat_map(|part| {
                    u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes().into_iter().chain(part.iter().copied())
                })
                .collect();
            return xxh3_128(&long);
        };
        room[..4].copy_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
        room[4..].copy_from_slice(part);
        used += 4 + part.len();
    }
    xxh3_128(&short[..used])
}

/// Parts of a key.
#[derive(Clone, Copy, Debug)]
struct Key<'k> {
    owner: usize,
    direction: Direction,
    standard: Option<Standard>,
    document: Option<&'k str>,
    version: Option<&'k str>,
    application: Option<&'k str>,
    test: Option<bool>,
}

impl Key<'_> {
    fn digest(&self) -> u128 {
        let standard = match self.standard {
            None => 0,
            Some(Standard::X12) => 1,
            Some(Standard::Edifact) => 2,
        };
        let given = |text: Option<&str>| u8::from(text.is_some());
        let flags = [
            side(self.direction),
            standard,
            self.test.map_or(0, |test| 1 + u8::from(test)),
            given(self.document),
            given(self.version),
            given(self.application),
        ];
        digest_of(&[
            &self.owner.to_le_bytes(),
            &flags,
            self.document.unwrap_or_default().as_bytes(),
            self.version.unwrap_or_default().as_bytes(),
            self.application.unwrap_or_default().as_bytes(),
        ])
    }
}

fn side(direction: Direction) -> u8 {
    match direction {
        Direction::Receive => 0,
        Direction::Send => 1,
    }
}

impl RuleIndex {
    /// Indexes the rules. Rules that fit the same documents are findings.
    #[must_use]
    pub fn new(partners: &[PartnerFile]) -> (RuleIndex, Vec<Finding>) {
        let mut index = RuleIndex::default();
        let mut by_key: BTreeMap<(usize, u128), Vec<usize>> = BTreeMap::new();
        for (owner, partner) in partners.iter().enumerate() {
            let mut of_owner = <[Masks; 2]>::default();
            for (number, rule) in partner.rules.iter().enumerate() {
                let key = Key {
                    owner,
                    direction: rule.direction,
                    standard: rule.standard,
                    document: rule.document.as_deref(),
                    version: rule.version.as_deref(),
                    application: rule.application.as_deref(),
                    test: rule.test,
                };
                let masks = &mut of_owner[usize::from(side(rule.direction))];
                masks.used |= 1 << mask_of(rule);
                if let Some(version) = &rule.version
                    && !masks.version_lengths.contains(&version.len())
                {
                    masks.version_lengths.push(version.len());
                }
                by_key.entry((owner, key.digest())).or_default().push(number);
            }
            for masks in &mut of_owner {
                masks.version_lengths.sort_unstable_by_key(|length| usize::MAX - length);
            }
            index.masks.push(of_owner);
        }
        let mut found: BTreeMap<RuleId, Finding> = BTreeMap::new();
        for ((owner, digest), mut rules) in by_key {
            let rule = |number: usize| &partners[owner].rules[number];
            rules.sort_by_key(|number| (usize::MAX - conditions_of(rule(*number)), *number));
            let expression = |number: usize| rule(number).condition.as_ref().map(|condition| &condition.text);
            for (at, number) in rules.iter().enumerate() {
                if let Some(other) = rules[..at].iter().find(|other| {
                    rule(**other).when == rule(*number).when && expression(**other) == expression(*number)
                }) {
                    let message =
                        format!("rules `{}` and `{}` fit the same documents", rule(*other).name, rule(*number).name);
                    let finding =
                        Finding::error(codes::AMBIGUOUS, Fault::Config, message).at(rule(*number).place.clone());
                    let id = RuleId { owner, rule: *number };
                    found.insert(
                        id,
                        finding.hint("remove one of them, or add a condition: version, test, when or where"),
                    );
                }
            }
            let number = |number: usize| u32::try_from(number).expect("a file holds fewer rules");
            let content = if rules.iter().any(|one| conditions_of(rule(*one)) > 0) { HAS_CONTENT } else { 0 };
            let first = if let [only] = rules[..] { number(only) } else { number(index.several.len()) };
            if rules.len() > 1 {
                index.several.extend(rules.iter().map(|one| number(*one)));
            }
            index.by_key.insert(digest, Slot { first, count: number(rules.len()) | content });
        }
        index.by_key.shrink_to_fit();
        (index, found.into_values().collect())
    }

    /// Hands every rule that fits but for its conditions on content to `visit`, the most specific first, until it returns `true`.
    pub fn each(&self, owners: &[usize], query: &Query<'_>, visit: &mut dyn FnMut(RuleId) -> bool) {
        self.each_with(owners, query, |id, _| visit(id));
    }

    /// Visits the matching rules. `visit` also receives true if the rule may have content conditions.
    fn each_with(&self, owners: &[usize], query: &Query<'_>, mut visit: impl FnMut(RuleId, bool) -> bool) {
        for owner in owners {
            let Some(masks) = self.masks.get(*owner).map(|masks| &masks[usize::from(side(query.direction))]) else {
                continue;
            };
            for mask in ORDER.into_iter().filter(|mask| masks.used & 1 << mask != 0) {
                let with = |bit: u8| mask & bit != 0;
                if with(STANDARD) && query.standard.is_none() {
                    continue;
                }
                let mut key = Key {
                    owner: *owner,
                    direction: query.direction,
                    standard: query.standard.filter(|_| with(STANDARD)),
                    document: with(DOCUMENT).then_some(query.document),
                    version: None,
                    application: with(APPLICATION).then_some(query.application),
                    test: with(TEST).then_some(query.test),
                };
                let lengths: &[usize] = if with(VERSION) { &masks.version_lengths } else { &[0] };
                for length in lengths {
                    if with(VERSION) {
                        let Some(begin) = version_prefix(query.version, *length) else { continue };
                        key.version = Some(begin);
                    }
                    let Some(slot) = self.by_key.get(&key.digest()) else { continue };
                    let (count, content) = (slot.count & !HAS_CONTENT, slot.count & HAS_CONTENT != 0);
                    let one = [slot.first];
                    let index = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
                    let rules = match count {
                        1 => &one[..],
                        _ => &self.several[index(slot.first)..index(slot.first) + index(count)],
                    };
                    if rules.iter().any(|rule| visit(RuleId { owner: *owner, rule: index(*rule) }, content)) {
                        return;
                    }
                }
            }
        }
    }

    /// Returns the rule that matches a document. `holds` evaluates the content conditions of a rule; it is called only if all other conditions
    /// of the rule hold.
    #[must_use]
    pub fn choose(
        &self,
        partners: &[PartnerFile],
        owners: &[usize],
        query: &Query<'_>,
        holds: &mut dyn FnMut(RuleId, &Rule) -> bool,
    ) -> Option<RuleId> {
        let mut chosen = None;
        self.each_with(owners, query, |id, has_content| {
            // A rule without conditions on content is not looked at: with many rules that is the look-up that costs most.
            let fits = !has_content || holds(id, &partners[id.owner].rules[id.rule]);
            if fits {
                chosen = Some(id);
            }
            fits
        });
        chosen
    }
}

/// Counts the content conditions of a rule.
fn conditions_of(rule: &Rule) -> usize {
    rule.when.len() + usize::from(rule.condition.is_some())
}

fn mask_of(rule: &Rule) -> u8 {
    let bit = |given: bool, bit: u8| if given { bit } else { 0 };
    bit(rule.standard.is_some(), STANDARD)
        | bit(rule.test.is_some(), TEST)
        | bit(rule.application.is_some(), APPLICATION)
        | bit(rule.version.is_some(), VERSION)
        | bit(rule.document.is_some(), DOCUMENT)
}

/// Returns the first bytes of a version if a part of it ends there. EDIFACT's parts are separated by colons; X12's may end anywhere.
fn version_prefix(version: &str, length: usize) -> Option<&str> {
    let begin = version.get(..length)?;
    let rest = &version[length..];
    (rest.is_empty() || rest.starts_with(':') || !version.contains(':')).then_some(begin)
}

/// Returns true if a rule has conditions on the transaction that is sent.
pub(crate) fn has_conditions(rule: &Rule) -> bool {
    rule.standard.is_some()
        || rule.version.is_some()
        || rule.application.is_some()
        || rule.test.is_some()
        || !rule.when.is_empty()
        || rule.condition.is_some()
}

/// Returns findings about rules of a file that send the same documents by different maps: a condition would have to
/// choose before the map has run.
pub(crate) fn differing_maps(partner: &PartnerFile) -> Vec<Finding> {
    let mut by_document: BTreeMap<&str, &Rule> = BTreeMap::new();
    let mut findings = Vec::new();
    let sends = |rule: &&Rule| rule.direction == Direction::Send;
    for rule in partner.rules.iter().filter(sends) {
        let Some(document) = rule.document.as_deref() else { continue };
        let first = *by_document.entry(document).or_insert(rule);
        if first.maps != rule.maps && (has_conditions(first) || has_conditions(rule)) {
            let message = format!(
                "rules `{}` and `{}` send `{document}` by different maps, and their conditions are about what the map makes",
                first.name, rule.name
            );
            let hint = "give both rules the same map, or give one of them another `document`";
            findings.push(Finding::error(codes::NEVER, Fault::Config, message).at(rule.place.clone()).hint(hint));
        }
    }
    findings
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
            let mut holds =
                |_, rule: &Rule| rule.when.iter().all(|(element, value)| element == "BEG02" && value == kind);
            let id = index.choose(&partners, &[0], query, &mut holds).expect("a rule");
            partners[0].rules[id.rule].name.clone()
        };
        assert_eq!(choose(&query("810", "004010", false), "SA"), "any");
        assert_eq!(choose(&query("850", "005010", false), "SA"), "orders");
        assert_eq!(choose(&query("850", "004010VICS", false), "SA"), "orders-4010");
        assert_eq!(choose(&query("850", "004010", false), "RO"), "urgent");
        assert_eq!(choose(&query("850", "005010", true), "RO"), "tests");
        let send = Query { direction: Direction::Send, ..query("850", "004010", false) };
        assert_eq!(index.choose(&partners, &[0], &send, &mut |_, _| true), None);
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
