//! Members of a group while they are collected. A table finds members by name, because one type may have all members of a schema.

use std::collections::{HashMap, HashSet};

use quayline_xml::TypeNames;

use super::Member;
use super::counts::Counts;

/// Elements that Quayline examines between two occurrences of another.
const BETWEEN_MAX: usize = 1000;

/// Members in sequence, each with its own name.
#[derive(Default)]
pub(super) struct Members {
    /// Members in order, with `None` in place of a removed member.
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

/// Particles of a content model while they are collected.
#[derive(Default)]
pub(super) struct Content {
    pub(super) members: Members,
    /// True if the content is in a choice or in an optional group. Each element is then optional.
    pub(super) is_optional: bool,
    /// True if the content is in a repeated group of particles.
    pub(super) repeats: bool,
    /// Open branches, from the outermost to the innermost.
    branches: Vec<Branch>,
    /// All branches so far, each with the branch around it, and the number of the innermost open one.
    tree: Vec<(Branch, Option<usize>)>,
    innermost: Option<usize>,
    /// Occurrences of the elements of the open group.
    pub(super) counts: Counts,
    pub(super) choices: usize,
    /// Names of the elements found so far, with their innermost branch in `tree`.
    pub(super) met: Vec<(String, Option<usize>)>,
    /// Last place of each name in `met`.
    last: HashMap<String, usize>,
    /// Place of the elements of each name inside each branch. The key `None` is for the whole content.
    behind: HashMap<String, HashMap<Option<Branch>, Behind>>,
    /// Types of elements that occur more than once, by name.
    types: HashMap<String, Types>,
}

/// Number of a choice, which is unique in the content, and number of its branch.
type Branch = (usize, usize);

/// Place of the elements of one name inside a branch.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Behind {
    /// All elements are in branches of one choice.
    Choice(usize),
    /// One element is outside of a further choice, or the elements are in several choices.
    Several,
}

/// Types of one element.
#[derive(Default)]
struct Types {
    names: Vec<Box<str>>,
    known: HashSet<Box<str>>,
    /// Lists whose names are in `known`. A type has one list, regardless of the number of its elements.
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
    /// Begins with the members of a base, whose elements are in a sequence with those that follow.
    pub(super) fn of(members: Members) -> Self {
        let mut content = Content { members: Members::default(), ..Content::default() };
        let is_element = |member: &&Member| !member.name.starts_with(['@', '$']);
        let elements = || members.all.iter().flatten().filter(is_element);
        elements().for_each(|member| {
            content.meets(&member.name);
        });
        content.counts = Counts::of_members(elements());
        Content { members, ..content }
    }

    /// Enters a branch of a choice.
    pub(super) fn enter(&mut self, branch: Branch) {
        self.branches.push(branch);
        self.tree.push((branch, self.innermost));
        self.innermost = Some(self.tree.len() - 1);
    }

    /// Leaves the innermost branch.
    pub(super) fn leave(&mut self) {
        self.branches.pop();
        self.innermost = self.innermost.and_then(|innermost| self.tree[innermost].1);
    }

    /// Returns the names of the elements from a place on.
    pub(super) fn met_from(&self, from: usize) -> Vec<&str> {
        self.met[from..].iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns whether a document may have other elements between an element and its last occurrence. Call it before [`Content::meets`].
    pub(super) fn is_divided(&self, name: &str) -> bool {
        let Some(last) = self.last.get(name) else { return false };
        let around = |at: Option<usize>| {
            core::iter::successors(at, |at| self.tree[*at].1).map(|at| self.tree[at].0).collect::<HashMap<_, _>>()
        };
        // Two elements exclude each other if they are in different branches of one choice.
        let excludes = |a: &HashMap<usize, usize>, b: &HashMap<usize, usize>| {
            a.iter().any(|(choice, branch)| b.get(choice).is_some_and(|other| other != branch))
        };
        let (here, before) = (around(self.innermost), around(self.met[*last].1));
        if excludes(&here, &before) {
            return false;
        }
        self.met[*last + 1..].iter().take(BETWEEN_MAX).any(|(_, between)| {
            let between = around(*between);
            !excludes(&between, &here) && !excludes(&between, &before)
        })
    }

    /// Records an element. Returns whether each earlier element of the name is in another branch of a choice.
    pub(super) fn meets(&mut self, name: &str) -> bool {
        self.last.insert(name.to_owned(), self.met.len());
        self.met.push((name.to_owned(), self.innermost));
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
                    // The earlier elements are in other branches only if all share a choice at each place where they diverge.
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

    /// Adds types to an element that has occurred before.
    pub(super) fn add_types(&mut self, name: &str, types: &TypeNames) {
        let Some(member) = self.members.get(name) else { return };
        if core::ptr::eq(member.types.as_ptr(), types.as_ptr()) && !self.types.contains_key(name) {
            return;
        }
        let known = self.types.entry(name.to_owned()).or_default();
        known.add(&member.types);
        known.add(types);
    }

    /// Returns the members with all their types.
    pub(super) fn into_members(mut self) -> Vec<Member> {
        for (name, types) in self.types {
            if let Some(member) = self.members.get_mut(&name) {
                member.types = types.names.into();
            }
        }
        let mut members = self.members.into_vec();
        for member in &mut members {
            if let Some(count) = self.counts.get(&member.name) {
                count.limit(member);
            }
        }
        members
    }
}
