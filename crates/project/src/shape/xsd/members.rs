//! The members of a group as they are gathered. Names are looked up in a table: a type may have as many members as a schema.

use std::collections::{HashMap, HashSet};

use quayline_xml::TypeNames;

use super::Member;

/// Members in sequence, each with its own name.
#[derive(Default)]
pub(super) struct Members {
    /// `None` where a member was taken out.
    all: Vec<Option<Member>>,
    by_name: HashMap<String, usize>,
}

impl Members {
    pub(super) fn get(&self, name: &str) -> Option<&Member> {
        self.all[*self.by_name.get(name)?].as_ref()
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Member> {
        self.all[*self.by_name.get(name)?].as_mut()
    }

    /// Appends a member whose name the group does not have yet.
    pub(super) fn push(&mut self, member: Member) {
        self.by_name.insert(member.name.clone(), self.all.len());
        self.all.push(Some(member));
    }

    pub(super) fn remove(&mut self, name: &str) {
        if let Some(at) = self.by_name.remove(name) {
            self.all[at] = None;
        }
    }

    pub(super) fn into_vec(self) -> Vec<Member> {
        self.all.into_iter().flatten().collect()
    }
}

impl From<Vec<Member>> for Members {
    fn from(members: Vec<Member>) -> Self {
        let mut all = Members::default();
        members.into_iter().for_each(|member| all.push(member));
        all
    }
}

/// Particles of a content model, as they are gathered.
#[derive(Default)]
pub(super) struct Content {
    pub(super) members: Members,
    /// In a choice, or in a group that may be missing: what stands once does so at most.
    pub(super) is_optional: bool,
    /// In a group of particles that repeats.
    pub(super) repeats: bool,
    /// The branches that are open: number of the choice, and of its branch.
    pub(super) branches: Vec<Branch>,
    pub(super) choices: usize,
    /// Elements that were met.
    pub(super) met: Vec<String>,
    /// For each of their names, what was met of it behind each branch; behind `None`, all.
    behind: HashMap<String, HashMap<Option<Branch>, Behind>>,
    /// The types of elements that were met more than once, by their names.
    types: HashMap<String, Types>,
}

/// Number of a choice, which no other place of the content has, and of its branch.
type Branch = (usize, usize);

/// Elements of one name behind a branch.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Behind {
    /// All are in branches of one choice.
    Choice(usize),
    /// One is in no choice there, or they are in several.
    Several,
}

/// Types of one element.
#[derive(Default)]
struct Types {
    names: Vec<Box<str>>,
    known: HashSet<Box<str>>,
    /// The lists whose names are known. A type has one list, however often it is met.
    lists: HashSet<*const Box<str>>,
}

impl Types {
    fn add(&mut self, types: &TypeNames) {
        if self.lists.insert(types.as_ptr()) {
            let new = types.iter().filter(|name| self.known.insert((*name).clone()));
            self.names.extend(new.cloned());
        }
    }
}

impl Content {
    pub(super) fn of(members: Members) -> Self {
        Content { members, ..Content::default() }
    }

    /// Notes an element; whether it is in another branch of a choice than each of its name before.
    pub(super) fn meets(&mut self, name: &str) -> bool {
        self.met.push(name.to_owned());
        let behind = self.behind.entry(name.to_owned()).or_default();
        let mut is_alone = true;
        let mut from = None;
        for next in self.branches.iter().map(Some).chain([None]) {
            let here = next.map_or(Behind::Several, |(choice, _)| Behind::Choice(*choice));
            match behind.get_mut(&from) {
                None => {
                    behind.insert(from, here);
                }
                Some(known) => {
                    // All before are in other branches only if they share a choice at each place where they part.
                    if *known != here || here == Behind::Several {
                        *known = Behind::Several;
                        is_alone = false;
                    }
                }
            }
            from = next.copied();
        }
        is_alone
    }

    /// Adds the types of an element that was met before, with others.
    pub(super) fn add_types(&mut self, name: &str, types: &TypeNames) {
        let Some(member) = self.members.get(name) else { return };
        if core::ptr::eq(member.types.as_ptr(), types.as_ptr()) && !self.types.contains_key(name) {
            return;
        }
        let known = self.types.entry(name.to_owned()).or_default();
        known.add(&member.types);
        known.add(types);
    }

    /// Ends the content.
    pub(super) fn into_members(mut self) -> Vec<Member> {
        for (name, types) in self.types {
            if let Some(member) = self.members.get_mut(&name) {
                member.types = types.names.into();
            }
        }
        self.members.into_vec()
    }
}
