//! A flow as a picture: text for terminals, SVG for documents.

use std::fmt::Write as _;

use quayline_project::{FlowFile, FlowNode};

/// Width and height of a node in the SVG, and the gaps between nodes.
const NODE: (usize, usize) = (190, 46);
const GAP: (usize, usize) = (70, 24);

/// Function that returns a note about the node with a given name. The list shows the note after the type of the node.
pub type Note<'n> = dyn Fn(&str) -> Option<String> + 'n;

/// Draws the flow as an indented list: each node with its type and main property, and its terminals below it.
#[must_use]
pub fn text(flow: &FlowFile) -> String {
    text_with(flow, &|_| None)
}

/// Draws the list of [`text`] with a note at each node.
#[must_use]
pub fn text_with(flow: &FlowFile, note: &Note<'_>) -> String {
    let mut out = String::new();
    if let Some(title) = &flow.title {
        let _ = writeln!(out, "{}: {title}", flow.name);
    } else {
        let _ = writeln!(out, "{}", flow.name);
    }
    let mut shown = vec![false; flow.nodes.len()];
    for at in (0..flow.nodes.len()).filter(|at| flow.nodes[*at].kind.is_input) {
        node((flow, note), at, "", 1, &mut shown, &mut out);
    }
    out
}

fn node(
    (flow, note): (&FlowFile, &Note<'_>),
    at: usize,
    terminal: &str,
    depth: usize,
    shown: &mut [bool],
    out: &mut String,
) {
    let node_ = &flow.nodes[at];
    let indent = "  ".repeat(depth);
    let arrow = if terminal.is_empty() { String::new() } else { format!("{terminal} -> ") };
    if std::mem::replace(&mut shown[at], true) {
        let _ = writeln!(out, "{indent}{arrow}{} (see above)", node_.name);
        return;
    }
    let note_ = note(&node_.name).map_or_else(String::new, |note| format!(" ({note})"));
    let _ = writeln!(out, "{indent}{arrow}{} [{}]{}{note_}", node_.name, node_.kind.name, detail(node_));
    for (terminal, to) in node_.targets() {
        node((flow, note), to, terminal, depth + 1, shown, out);
    }
}

/// Returns the most informative property.
fn detail(node: &FlowNode) -> String {
    let names = ["queue", "file", "map", "program", "folder", "every", "by", "document"];
    names.iter().find_map(|name| node.text(name)).map_or_else(String::new, |text| format!(" {text}"))
}

/// Draws the flow as an SVG picture: inputs are on the left, and each node is one column after the last node that leads to it.
#[must_use]
pub fn svg(flow: &FlowFile) -> String {
    let places = places(flow);
    let columns = places.iter().map(|(column, _)| column + 1).max().unwrap_or(1);
    let rows = places.iter().map(|(_, row)| row + 1).max().unwrap_or(1);
    let width = columns * (NODE.0 + GAP.0) + GAP.0;
    let height = rows * (NODE.1 + GAP.1) + GAP.1;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M0,0 L8,4 L0,8 z\" fill=\"#555\"/></marker></defs>\n"
    );
    let corner = |at: usize| {
        let (column, row) = places[at];
        (GAP.0 + column * (NODE.0 + GAP.0), GAP.1 + row * (NODE.1 + GAP.1))
    };
    for (at, node) in flow.nodes.iter().enumerate() {
        let (x, y) = corner(at);
        for (terminal, to) in node.targets() {
            let (to_x, to_y) = corner(to);
            let (from_x, from_y) = (x + NODE.0, y + NODE.1 / 2);
            let to_y = to_y + NODE.1 / 2;
            let bend = GAP.0 / 2;
            let _ = writeln!(
                out,
                "<path d=\"M{from_x},{from_y} C{},{from_y} {},{to_y} {to_x},{to_y}\" fill=\"none\" stroke=\"#555\" marker-end=\"url(#arrow)\"/>",
                from_x + bend,
                to_x.saturating_sub(bend),
            );
            if terminal != "out" {
                let _ = writeln!(
                    out,
                    "<text x=\"{}\" y=\"{}\" font-size=\"10\" fill=\"#555\">{}</text>",
                    from_x + 4,
                    (from_y + to_y) / 2 - 3,
                    escaped(terminal)
                );
            }
        }
        let fill = if node.kind.is_input { "#dcecff" } else { "#f4f4f4" };
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{fill}\" stroke=\"#555\"/>",
            NODE.0, NODE.1
        );
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 8, y + 18, escaped(&node.name));
        let kind = format!("{}{}", node.kind.name, detail(node));
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" font-size=\"10\" fill=\"#555\">{}</text>",
            x + 8,
            y + 35,
            escaped(&kind)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Returns column and row of each node.
fn places(flow: &FlowFile) -> Vec<(usize, usize)> {
    let count = flow.nodes.len();
    let mut columns = vec![0; count];
    // The wires have no loop, so the longest path has fewer wires than there are nodes.
    for _ in 0..count {
        let mut moved = false;
        for at in 0..count {
            for (_, to) in flow.nodes[at].targets() {
                if columns[to] <= columns[at] {
                    columns[to] = columns[at] + 1;
                    moved = true;
                }
            }
        }
        if !moved {
            break;
        }
    }
    let mut rows = vec![0; count + 1];
    columns
        .into_iter()
        .map(|column| {
            let row = rows[column];
            rows[column] += 1;
            (column, row)
        })
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
