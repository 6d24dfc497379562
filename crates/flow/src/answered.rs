//! Requests that reach a second `reply` node in any case.

use quayline_core::{Fault, Finding};
use quayline_project::{FlowFile, FlowNode};

use crate::codes;

/// Returns the terminals by which a message that does not fail certainly leaves a node.
fn certain(node: &FlowNode) -> &'static [&'static str] {
    match node.kind.name {
        "http_input" | "reply" | "trace" | "queue_output" | "file_output" | "http_output" | "sql_output" => &["out"],
        "try" => &["try"],
        "split" => &["done"],
        _ => &[],
    }
}

/// Warns of inputs whose requests reach more than one `reply`, of which the second fails.
pub(crate) fn twice(file: &FlowFile) -> Vec<Finding> {
    let inputs = file.nodes.iter().enumerate().filter(|(_, node)| node.kind.name == "http_input");
    let found = inputs.filter_map(|(at, input)| {
        let mut replies = vec![None; file.nodes.len()];
        if count(file, at, &mut replies) < 2 {
            return None;
        }
        let reached = file.nodes.iter().zip(&replies);
        let names: Vec<_> = reached
            .filter(|(node, replies)| node.kind.name == "reply" && replies.is_some())
            .map(|(node, _)| format!("`{}`", node.name))
            .collect();
        let message = format!(
            "each request of `{}` gets more than one answer, from {}: the second `reply` fails",
            input.name,
            names.join(", ")
        );
        let finding = Finding::warning(codes::ANSWERED, Fault::Config, message).at(file.text.place(&input.span));
        Some(finding.hint("wire `reply` nodes so that each request reaches one"))
    });
    found.collect()
}

/// Counts the answers of a message that arrives at a node. A node that is counted now, as in a loop, has none so far.
fn count(file: &FlowFile, at: usize, replies: &mut [Option<u32>]) -> u32 {
    if let Some(known) = replies[at] {
        return known;
    }
    replies[at] = Some(0);
    let node = &file.nodes[at];
    let after = certain(node).iter().flat_map(|terminal| node.wire(terminal));
    let after = after.fold(0_u32, |sum, to| sum.saturating_add(count(file, *to, replies)));
    let all = after.saturating_add(u32::from(node.kind.name == "reply"));
    replies[at] = Some(all);
    all
}
