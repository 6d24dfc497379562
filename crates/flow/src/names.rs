//! Names of queues and record files in a flow file, which the store must be able to define.

use quayline_core::Finding;
use quayline_project::{FlowFile, FlowNode};

/// Returns the properties of a node that name queues or record files of the store.
fn names(node: &FlowNode) -> &'static [&'static str] {
    match node.kind.name {
        "queue_input" | "queue_output" => &["queue"],
        "record_input" | "record_read" | "record_write" | "record_update" | "record_delete" => &["file"],
        _ => &["outbox", "backout"],
    }
}

/// Returns a finding for each name that `quayline queue define` or `quayline file define` refuses.
pub(crate) fn check(file: &FlowFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for node in &file.nodes {
        for property in names(node) {
            let (Some(name), Some(at)) = (node.text(property), node.property(property)) else { continue };
            let Err(error) = quayline_store::check_name(name) else { continue };
            let mut finding = error.finding().at(file.text.place(&at.span));
            finding.message = format!("`{property}` of node `{}`: {error}", node.name);
            findings.push(finding.hint("write a name of 1 to 44 letters, digits and the characters . _ - $ # @"));
        }
    }
    findings
}
