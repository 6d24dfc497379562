//! Rules of an interface, matched against a layout.

use std::collections::BTreeMap;

use quayline_core::{Code, DatePattern, Fault, Finding};

use crate::layout::{Field, FieldIndex, Layout};
use crate::{FieldRule, FieldValues, Interface, NullAs};

/// Choices of the interface for each field.
pub(crate) struct Selection {
    /// Explicit inclusion or exclusion per field.
    pub(crate) explicit: Vec<Option<bool>>,
    /// Key given per field.
    pub(crate) rename: Vec<Option<String>>,
    /// Default given per field.
    pub(crate) default: Vec<Option<String>>,
    /// Bytes of null, per field or group.
    pub(crate) null: Vec<Option<NullAs>>,
    /// Form of values, per field or group.
    pub(crate) values: Vec<Option<FieldValues>>,
    /// Pattern of a date per field, and the name by which the rule means it.
    pub(crate) date: Vec<Option<(DatePattern, String)>>,
}

impl Selection {
    /// Resolves every rule; unknown and ambiguous names become findings.
    pub(crate) fn new(layout: &Layout, interface: &Interface, findings: &mut Vec<Finding>) -> Self {
        let n = layout.fields.len();
        let mut selection = Selection {
            explicit: vec![None; n],
            rename: vec![None; n],
            default: vec![None; n],
            null: vec![None; n],
            values: vec![None; n],
            date: vec![None; n],
        };
        // Rules that name a field itself win over those of a `*`.
        let (of_many, of_one): (Vec<_>, Vec<_>) = interface.fields.iter().partition(|rule| rule.field.contains('*'));
        for rule in of_many {
            for field in resolve(layout, &rule.field, "interface rule", findings) {
                selection.apply(rule, field.index());
            }
        }
        let mut said: BTreeMap<usize, Vec<&FieldRule>> = BTreeMap::new();
        for rule in of_one {
            for field in resolve(layout, &rule.field, "interface rule", findings) {
                selection.apply(rule, field.index());
                let before = said.entry(field.index()).or_default();
                if let Some((other, what)) = before.iter().find_map(|other| Some((other, contradiction(other, rule)?)))
                {
                    let message = format!(
                        "`{}` and `{}` name the same field, but their rules differ in `{what}`",
                        other.field, rule.field
                    );
                    findings.push(two_meanings(message, "remove one of the two rules"));
                }
                before.push(rule);
            }
        }
        for (from, _) in &interface.prefixes {
            let fits = |(_, field): (FieldIndex, &Field)| field.name.len() > from.len() && field.name.starts_with(from);
            if !layout.iter().any(fits) {
                let message = format!(
                    "interface prefix `{from}` begins no name of the record {}",
                    layout.field(FieldIndex::RECORD).name
                );
                let hint = "write the beginning of names as the copybook has it, with its last hyphen";
                findings.push(Finding::error(Code("PLN-001"), Fault::Config, message).hint(hint));
            }
        }
        selection
    }

    /// Applies what a rule says about a field.
    fn apply(&mut self, rule: &FieldRule, field: usize) {
        self.explicit[field] = rule.include.or(self.explicit[field]);
        if let Some(rename) = &rule.rename {
            self.rename[field] = Some(rename.clone());
        }
        if let Some(default) = &rule.default {
            self.default[field] = Some(default.clone());
        }
        self.null[field] = rule.null.or(self.null[field]);
        self.values[field] = rule.values.or(self.values[field]);
        if let Some(date) = &rule.date {
            self.date[field] = Some((date.clone(), rule.field.clone()));
        }
    }
}

/// Returns the finding of two parts of the interface that say different things.
fn two_meanings(message: String, hint: &'static str) -> Finding {
    Finding::error(Code("PLN-009"), Fault::Config, message).hint(hint)
}

/// Reports a storage with two choices.
pub(super) fn choice_twice(storage: &str) -> Finding {
    let message = format!("two choices name the storage of `{storage}`");
    two_meanings(message, "write one [[choose]] for the storage, with the cases of both")
}

/// Reports a value of a choice that has two views, such as `1` and `01` of a number.
pub(super) fn case_twice(by: &str, cases: &[(String, FieldIndex)]) -> Option<Finding> {
    let (_, (value, _)) = cases
        .iter()
        .enumerate()
        .find(|(at, (value, view))| cases[..*at].iter().any(|(earlier, other)| earlier == value && other != view))?;
    let message = format!("two cases of the choice by `{by}` have the value {value}");
    Some(two_meanings(message, "give each value one view"))
}

/// Returns what two rules of one field say differently.
fn contradiction(a: &FieldRule, b: &FieldRule) -> Option<&'static str> {
    fn differ<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
        a.is_some() && b.is_some() && a != b
    }
    let found = [
        (differ(&a.include, &b.include), "include"),
        (differ(&a.rename, &b.rename), "rename"),
        (differ(&a.default, &b.default), "default"),
        (differ(&a.null, &b.null), "null"),
        (differ(&a.values, &b.values), "values"),
        (differ(&a.date, &b.date), "date"),
    ];
    found.into_iter().find_map(|(is, what)| is.then_some(what))
}

/// Returns the only field that `name` matches, and reports an error unless exactly one matches.
pub(crate) fn resolve_one(layout: &Layout, name: &str, what: &str, findings: &mut Vec<Finding>) -> Option<FieldIndex> {
    match resolve(layout, name, what, findings)[..] {
        [field] => Some(field),
        _ => None,
    }
}

/// Returns all fields that `name` means. A qualified name matches as with COBOL's `OF` (ancestors in order, levels may be left
/// out). `*` at the end of a part matches any rest, and only such a name may mean several fields.
fn resolve(layout: &Layout, name: &str, what: &str, findings: &mut Vec<Finding>) -> Vec<FieldIndex> {
    let parts = parts(name);
    let found = layout.named(name);
    if found.is_empty() {
        let mut finding = Finding::error(
            Code("PLN-001"),
            Fault::Config,
            format!("{what} names `{name}`, which the record {} does not have", layout.field(FieldIndex::RECORD).name),
        );
        finding.hint = nearest(layout, parts.last().map_or("", String::as_str));
        findings.push(finding);
    } else if found.len() > 1 && !name.contains('*') {
        let paths: Vec<String> = found.iter().map(|f| layout.path(*f)).collect();
        let mut apart = paths.clone();
        apart.sort_unstable();
        apart.dedup();
        let hint = if apart.len() == paths.len() {
            format!("qualify it: one of {}", paths.join(", "))
        } else {
            format!(
                "these fields have the same path, {}: give them names of their own in the copybook",
                apart.join(", ")
            )
        };
        let message = format!("{what} names `{name}`, which means {} fields", found.len());
        findings.push(Finding::error(Code("PLN-002"), Fault::Config, message).hint(hint));
        return Vec::new();
    }
    found
}

fn parts(name: &str) -> Vec<String> {
    name.split('.').map(|part| part.trim().to_uppercase().replace('_', "-")).collect()
}

impl Layout {
    /// Returns all fields that a user's name means: a COBOL name, or names joined by `.` as COBOL's `OF` qualifies (ancestors in
    /// order, levels may be left out); `*` at the end of a part matches any rest. A field's whole path means that field alone. Case
    /// does not matter. The result is empty if no field has the name.
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<FieldIndex> {
        // Names of layout files may have small letters.
        if let [exact] = self.names.with_path(self, &name.trim().replace('_', "-")) {
            return vec![*exact];
        }
        let parts = parts(name);
        let Some(last) = parts.last() else { return Vec::new() };
        // A whole path is a name of its own, even if it is also the tail of others.
        if let [whole] = self.names.with_path(self, &parts.join(".")) {
            return vec![*whole];
        }
        let fits = |index: &FieldIndex| matches_path(self, *index, &parts);
        if last.ends_with('*') {
            return self.iter().map(|(index, _)| index).filter(fits).collect();
        }
        self.names.with_name(self, last).iter().copied().filter(fits).collect()
    }
}

fn matches_path(layout: &Layout, field: FieldIndex, parts: &[String]) -> bool {
    let same = |field: FieldIndex, part: &str| {
        let name = layout.field(field).name.replace('_', "-");
        part.strip_suffix('*').map_or(name == part, |prefix| name.starts_with(prefix))
    };
    let Some((last, ancestors)) = parts.split_last() else { return false };
    if !same(field, last) || layout.field(field).filler {
        return false;
    }
    let mut at = field;
    for part in ancestors.iter().rev() {
        loop {
            let Some(parent) = layout.field(at).parent else { return false };
            at = parent;
            if same(at, part) {
                break;
            }
        }
    }
    true
}

fn nearest(layout: &Layout, name: &str) -> Option<String> {
    let best = layout.fields.iter().filter(|f| !f.filler).map(|f| (distance(&f.name, name), f.name.as_str())).min()?;
    (best.0 <= name.len().div_ceil(2)).then(|| format!("did you mean `{}`?", best.1))
}

/// Computes the Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
