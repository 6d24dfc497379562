//! Groups in the store whose node has another name now, or is gone: no input finds them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;

use quayline_core::{Fault, Finding, Place};
use quayline_store::{Direction, KeyRange, PageLimit, Space, Store, StoreError};

use crate::codes;
use crate::compile::{Flow, flow_files};
use crate::engine::Engine;

/// Groups of one node that are counted. Default 1,000: some milliseconds.
const COUNTED_MAX: u64 = 1_000;

impl Engine {
    /// Reports groups in the store whose flow or node the project does not have any more. A store that cannot be read now is reported by what uses it.
    pub fn warn_of_stranded(&self, root: &Path) {
        let flows: Vec<_> = self.flows().into_iter().map(|state| state.flow).collect();
        let found = stranded_groups(self.store(), root, flows.iter().map(|flow| &**flow));
        for (flow, finding) in found.unwrap_or_default() {
            self.observer.failed(&flow, &finding, false);
        }
    }
}

/// Returns a warning, and the name of its flow, for each `aggregate` node that has groups in the store and is not in its flow, or whose flow is neither
/// given nor a file of the project. A node that exists costs one look at the store, however many groups it has.
fn stranded_groups<'f>(
    store: &Store,
    root: &Path,
    flows: impl IntoIterator<Item = &'f Flow>,
) -> Result<Vec<(String, Finding)>, StoreError> {
    let nodes = |flow: &'f Flow| {
        let groups = flow.file.nodes.iter().filter(|node| node.kind.name == "aggregate");
        groups.map(|node| node.name.as_str()).collect::<BTreeSet<_>>()
    };
    let flows: BTreeMap<&str, BTreeSet<&str>> = flows.into_iter().map(|flow| (flow.name(), nodes(flow))).collect();
    let files = flow_files(root).unwrap_or_default();
    let is_known = |flow: &str, node: &str| match flows.get(flow) {
        Some(nodes) => nodes.contains(node),
        None => files.iter().any(|file| file.file_stem().and_then(|stem| stem.to_str()) == Some(flow)),
    };
    let unit = store.begin()?;
    let mut found: Vec<(String, Finding)> = Vec::new();
    // The node whose groups are counted, its groups and their messages.
    let mut counted: Option<((String, String), u64, u64)> = None;
    let mut from = crate::aggregate::HEADS.as_bytes().to_vec();
    loop {
        let to = after(crate::aggregate::HEADS.trim_end_matches('/'));
        let range = KeyRange { from: Bound::Included(&from), to: Bound::Excluded(&to) };
        let limit = PageLimit { entries: 1, ..PageLimit::default() };
        let first = unit.first_entries(Space::CHECKPOINTS, range, Direction::Forward, limit)?;
        let Some((key, head)) = first.first() else { break };
        let Some((flow, node, messages)) = crate::aggregate::head_of(key, head) else {
            from = [key, &[0][..]].concat();
            continue;
        };
        let owner = format!("{}{flow}/{node}", crate::aggregate::HEADS);
        let is_same = counted.as_ref().is_some_and(|((f, n), ..)| (f.as_str(), n.as_str()) == (flow, node));
        if !is_same {
            found.extend(counted.take().map(warning));
        }
        if is_known(flow, node) {
            from = after(&owner);
            continue;
        }
        let (_, groups, sum) = counted.get_or_insert_with(|| ((flow.to_owned(), node.to_owned()), 0, 0));
        (*groups, *sum) = (*groups + 1, *sum + messages);
        // The parts of a group follow its head.
        from = match *groups {
            COUNTED_MAX.. => after(&owner),
            _ => [key, &b"0"[..]].concat(),
        };
    }
    found.extend(counted.take().map(warning));
    Ok(found)
}

/// Returns the first key after those that begin with a text and a slash.
fn after(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"0"].concat()
}

fn warning(((flow, node), groups, messages): ((String, String), u64, u64)) -> (String, Finding) {
    let least = if groups >= COUNTED_MAX { "at least " } else { "" };
    let message = format!(
        "the store has groups of this node, and no `aggregate` node has the name now: {least}{groups} groups with {messages} messages"
    );
    let place = Place { path: Some(format!("flow {flow}, node {node}")), ..Place::default() };
    let hint = format!(
        "name the flow `{flow}` and the node `{node}` again until the groups have left, because these names are the identity of the groups"
    );
    (flow, Finding::warning(codes::STRANDED, Fault::Config, message).at(place).hint(hint))
}
