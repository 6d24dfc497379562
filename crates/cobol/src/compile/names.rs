//! Names of the members of a group, settled when all are known.

use std::collections::{HashMap, HashSet};

use quayline_core::{Code, Fault, Finding, NodeId, ShapeBuilder};

/// A name and where it comes from.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) text: String,
    /// The rule that gives the name, as the beginning of a sentence.
    pub(super) ruled: Option<String>,
}

impl Name {
    pub(super) fn derived(text: String) -> Self {
        Name { text, ruled: None }
    }

    /// Creates the name of a member with the number or file of a record.
    pub(super) fn of_origin(text: String) -> Self {
        Name { text, ruled: Some("an option or the interface gives the origin of the record".to_owned()) }
    }
}

/// The members of one open group.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<(NodeId, Name)>);

impl Names {
    pub(super) fn add(&mut self, node: NodeId, name: Name) {
        self.0.push((node, name));
    }

    /// Gives each member a unique name. The first of several with the same derived name keeps it, and the others get `_2`, `_3` …, but
    /// never a name that another member has already. A name from a rule is never changed; if another member has it, that is a finding.
    pub(super) fn settle(self, shape: &mut ShapeBuilder, findings: &mut Vec<Finding>) {
        let mut own: HashSet<&str> = HashSet::new();
        let mut twice: HashSet<&str> = HashSet::new();
        for (_, name) in &self.0 {
            if !own.insert(&name.text) {
                twice.insert(&name.text);
            }
        }
        if twice.is_empty() {
            return;
        }
        let mut told: HashSet<&str> = HashSet::new();
        for (_, name) in &self.0 {
            if let Some(rule) = &name.ruled
                && twice.contains(name.text.as_str())
                && told.insert(&name.text)
            {
                let message = format!("{rule} the name `{0}`, which another field of its group has", name.text);
                let hint = "choose a name that no other field of the group has, or rename that field too";
                findings.push(Finding::error(Code("PLN-006"), Fault::Config, message).hint(hint));
            }
        }
        let mut given: HashSet<String> = HashSet::new();
        let mut next: HashMap<&str, u32> = HashMap::new();
        for (node, name) in &self.0 {
            let text = name.text.as_str();
            if !twice.contains(text) || given.insert(text.to_owned()) {
                continue;
            }
            let number = next.entry(text).or_insert(1);
            let free = loop {
                *number += 1;
                let free = format!("{text}_{number}");
                if !own.contains(free.as_str()) && given.insert(free.clone()) {
                    break free;
                }
            };
            shape.rename(*node, free);
        }
    }
}
