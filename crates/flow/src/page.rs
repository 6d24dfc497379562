//! Documents a flow as a page of Markdown: diagram, nodes and guarantees at its edges.

use std::fmt::Write as _;

use quayline_project::{FlowFile, FlowNode, PropertyValue};

use crate::edges::edges;

/// Writes the page of a flow. `picture` is the link to its SVG picture, drawn by [`crate::svg`].
#[must_use]
pub fn page(flow: &FlowFile, picture: &str) -> String {
    let name = &flow.name;
    let mut out = format!("# Flow {name}\n\n");
    let _ = writeln!(
        out,
        "Made by `quayline flow pages`; do not edit. This page is for people who operate or change the flow.\n"
    );
    if let Some(title) = &flow.title {
        let _ = writeln!(out, "{title}\n");
    }
    let _ = writeln!(out, "![The nodes of the flow {name} and the wires between them]({picture})\n");
    let _ = writeln!(
        out,
        "Up to {} units of work at once on each process, each with a time limit of {} s.\n",
        flow.additional_instances + 1,
        flow.time_limit_ms as f64 / 1e3
    );
    out.push_str("## Nodes\n\n| node | type | properties | terminals |\n|---|---|---|---|\n");
    for node in &flow.nodes {
        let properties: Vec<String> = node
            .properties
            .iter()
            .map(|property| format!("`{}`: {}", property.kind.name, value(flow, node, &property.value)))
            .collect();
        let wires = node.wires.iter().filter(|wire| !wire.to.is_empty()).map(|wire| {
            let to: Vec<&str> = wire.to.iter().map(|to| flow.nodes[*to].name.as_str()).collect();
            format!("`{}` to {}", wire.terminal, to.join(", "))
        });
        let _ = writeln!(
            out,
            "| {} | `{}` | {} | {} |",
            node.name,
            node.kind.name,
            properties.join("; "),
            wires.collect::<Vec<_>>().join("; ")
        );
    }
    let edges: Vec<_> = edges(flow).collect();
    if !edges.is_empty() {
        out.push_str("\n## Guarantees\n\nQueues and record files of the store commit with the unit of work.\n\n| node | what is certain |\n|---|---|\n");
        for edge in edges {
            let _ = writeln!(out, "| {} | {} |", edge.node, cell(edge.guarantee));
        }
    }
    out
}

/// Formats a value as in the flow file.
fn value(flow: &FlowFile, node: &FlowNode, value: &PropertyValue) -> String {
    let name = |to: &usize| flow.nodes.get(*to).map_or(node.name.as_str(), |node| node.name.as_str());
    match value {
        PropertyValue::Text(text) => code(text),
        PropertyValue::From(text, _) => code(text),
        PropertyValue::Expressions(all) => all.iter().map(|(text, _)| code(text)).collect::<Vec<_>>().join(", "),
        PropertyValue::Number(number) => number.to_string(),
        PropertyValue::Flag(flag) => flag.to_string(),
        PropertyValue::Nodes(nodes) => nodes.iter().map(name).collect::<Vec<_>>().join(", "),
        PropertyValue::Cases(cases) => {
            let case = |(text, _, to): &(String, _, usize)| format!("{} to {}", code(text), name(to));
            cases.iter().map(case).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Formats a line of text as code, with a delimiter longer than any backtick run in the text.
fn code(text: &str) -> String {
    let text = cell(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let mark = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    if text.is_empty() { "empty".to_owned() } else { format!("{mark}{pad}{text}{pad}{mark}") }
}

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
