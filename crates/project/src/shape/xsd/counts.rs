//! Occurrences of elements in a content model.

use std::collections::HashMap;

use quayline_core::Occurs;
use quayline_dictionary::XmlElement;

use super::Member;

/// How often an element occurs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Count {
    pub(super) min: u32,
    /// Most occurrences; `None` is unbounded.
    pub(super) max: Option<u32>,
    /// Fewest occurrences if there are any.
    present: u32,
}

impl Count {
    /// Returns the occurrences that a particle states.
    pub(super) fn of(particle: &XmlElement) -> Count {
        let min = particle.attribute("minOccurs").map_or(1, |min| min.trim().parse().unwrap_or(1));
        let max = match particle.attribute("maxOccurs").map(str::trim) {
            Some("unbounded") => None,
            Some(number) => number.parse().ok(),
            None => Some(1),
        };
        Count { min, max, present: min.max(1) }
    }

    /// Returns exactly one occurrence.
    pub(super) fn once() -> Count {
        Count { min: 1, max: Some(1), present: 1 }
    }

    /// Returns the occurrences of a member that is already counted.
    fn of_member(member: &Member) -> Count {
        let limits = &member.limits;
        let (least, max) = match member.occurs {
            Occurs::Once | Occurs::Optional => (1, Some(1)),
            Occurs::Many { .. } => (limits.min.max(1), limits.max),
        };
        Count { min: if limits.required { least } else { 0 }, max, present: least }
    }

    fn and(self, other: Count) -> Count {
        let min = self.min.saturating_add(other.min);
        let present = if min > 0 { min } else { self.present.min(other.present) };
        Count { min, max: self.max.zip(other.max).and_then(|(a, b)| a.checked_add(b)), present }
    }

    fn or(self, other: Count) -> Count {
        Count {
            min: self.min.min(other.min),
            max: self.max.zip(other.max).map(|(a, b)| a.max(b)),
            present: self.present.min(other.present),
        }
    }

    fn repeated(self, times: Count) -> Count {
        let min = self.min.saturating_mul(times.min);
        let present = if min > 0 { min } else { self.present };
        Count { min, max: self.max.zip(times.max).and_then(|(a, b)| a.checked_mul(b)), present }
    }

    /// Writes the occurrences into the limits of a member.
    pub(super) fn limit(self, member: &mut Member) {
        member.limits.required = self.min > 0;
        if matches!(member.occurs, Occurs::Many { .. }) {
            // XML has no empty list, so a list that is present has an occurrence.
            member.limits.min = if self.min == 0 && self.present == 1 { 0 } else { self.present };
            member.limits.max = self.max;
        }
    }
}

/// Occurrences of the elements of a group of particles, by name.
#[derive(Default)]
pub(super) struct Counts {
    /// Occurrences, and in a choice the number of branches that have the element.
    of: HashMap<String, (Count, usize)>,
    is_choice: bool,
    branches: usize,
}

impl Counts {
    /// Begins a group.
    pub(super) fn new(is_choice: bool) -> Counts {
        Counts { is_choice, ..Counts::default() }
    }

    /// Begins a content model with the elements of its base.
    pub(super) fn of_members<'m>(members: impl Iterator<Item = &'m Member>) -> Counts {
        let of = members.map(|member| (member.name.clone(), (Count::of_member(member), 1))).collect();
        Counts { of, ..Counts::default() }
    }

    pub(super) fn get(&self, name: &str) -> Option<Count> {
        self.of.get(name).map(|(count, _)| *count)
    }

    /// Adds an element as the next particle of the group.
    pub(super) fn add(&mut self, name: &str, count: Count) {
        self.branches += 1;
        self.combine(name.to_owned(), count);
    }

    /// Adds a group that occurs `times` as the next particle of this group.
    pub(super) fn add_group(&mut self, group: Counts, times: Count) {
        self.branches += 1;
        let mut of = group.of;
        for (count, branches) in of.values_mut() {
            if group.is_choice && *branches < group.branches {
                count.min = 0;
            }
            (*count, *branches) = (count.repeated(times), 1);
        }
        if !self.is_choice && self.of.len() < of.len() {
            core::mem::swap(&mut self.of, &mut of);
        }
        of.into_iter().for_each(|(name, (count, _))| self.combine(name, count));
    }

    fn combine(&mut self, name: String, count: Count) {
        let is_choice = self.is_choice;
        let known = self.of.entry(name);
        known
            .and_modify(|(known, branches)| {
                *known = if is_choice { known.or(count) } else { known.and(count) };
                *branches += 1;
            })
            .or_insert((count, 1));
    }
}
