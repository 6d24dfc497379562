//! A draft as a file that maps can name.

use std::fmt::Write as _;

use quayline_core::{Fault, Finding, Findings, NodeId, NodeKind, Occurs, Scalar};
use quayline_project::outline_of;

use crate::FORM;
use crate::draft::{Draft, note};

/// Returns the outline, with notes at the end of each line.
#[must_use]
pub fn outline(draft: &Draft) -> String {
    let mut out = format!("# Guessed from {}; look at each line.\n", documents(draft.documents));
    let text = outline_of(&draft.shape);
    for (line, (id, _)) in text.lines().zip(draft.shape.iter()) {
        match note(draft, id) {
            "" => writeln!(out, "{line}"),
            note => writeln!(out, "{line}  # {note}"),
        }
        .expect("writing to a string does not fail");
    }
    out
}

/// Returns the JSON Schema.
#[must_use]
pub fn json_schema(draft: &Draft) -> String {
    let mut out = String::from("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n");
    let description = format!("Guessed from {}; look at each line.", documents(draft.documents));
    let _ = writeln!(out, "  \"description\": {},", quoted(&description));
    members(draft, NodeId::ROOT, 1, &mut out);
    out.push_str("}\n");
    out
}

fn members(draft: &Draft, group: NodeId, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let _ = writeln!(out, "{pad}\"type\": \"object\",");
    let required: Vec<String> = draft
        .shape
        .children(group)
        .filter(|child| draft.shape.node(*child).occurs == Occurs::Once)
        .map(|child| quoted(&draft.shape.node(child).name))
        .collect();
    if !required.is_empty() {
        let _ = writeln!(out, "{pad}\"required\": [{}],", required.join(", "));
    }
    let _ = writeln!(out, "{pad}\"properties\": {{");
    let children: Vec<NodeId> = draft.shape.children(group).collect();
    for (at, child) in children.iter().enumerate() {
        let node = draft.shape.node(*child);
        let _ = writeln!(out, "{pad}  {}: {{", quoted(&node.name));
        let note = note(draft, *child);
        if !note.is_empty() {
            let _ = writeln!(out, "{pad}    \"$comment\": {},", quoted(note));
        }
        let inner = if node.is_list() {
            let _ = writeln!(out, "{pad}    \"type\": \"array\",\n{pad}    \"items\": {{");
            depth + 3
        } else {
            depth + 2
        };
        match &node.kind {
            NodeKind::Group => members(draft, *child, inner, out),
            NodeKind::Scalar(scalar) => {
                let schema = scalar_schema(scalar);
                let of_type = schema.strip_prefix("\"type\": ").and_then(|rest| rest.split(',').next());
                let nullable = draft.null_items.get(child.index()).copied().unwrap_or_default();
                let schema = match of_type.filter(|_| nullable) {
                    Some(of_type) => schema.replacen(of_type, &format!("[{of_type}, \"null\"]"), 1),
                    None => schema,
                };
                let _ = writeln!(out, "{}{schema}", "  ".repeat(inner));
            }
        }
        if node.is_list() {
            let _ = writeln!(out, "{pad}    }}");
        }
        let _ = writeln!(out, "{pad}  }}{}", if at + 1 < children.len() { "," } else { "" });
    }
    let _ = writeln!(out, "{pad}}}");
}

fn scalar_schema(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Text { chars_max: Some(max) } => format!("\"type\": \"string\", \"maxLength\": {max}"),
        Scalar::Decimal { digits, scale: 0, signed } => {
            let most = "9".repeat(usize::from(*digits));
            let least = if *signed { format!("-{most}") } else { "0".to_owned() };
            format!("\"type\": \"integer\", \"minimum\": {least}, \"maximum\": {most}")
        }
        Scalar::Decimal { digits, scale, signed } => {
            let decimals = usize::from(scale.max(&0).unsigned_abs());
            let most = "9".repeat(usize::from(*digits).saturating_sub(decimals).max(1));
            let least = if *signed { format!("-{most}") } else { "0".to_owned() };
            let step = format!("0.{}1", "0".repeat(decimals.saturating_sub(1)));
            format!("\"type\": \"number\", \"multipleOf\": {step}, \"minimum\": {least}, \"maximum\": {most}")
        }
        Scalar::Float32 | Scalar::Float64 => "\"type\": \"number\"".to_owned(),
        Scalar::Bool => "\"type\": \"boolean\"".to_owned(),
        _ => "\"type\": \"string\"".to_owned(),
    }
}

/// Returns the layout of CSV.
///
/// # Errors
/// The shape has groups or lists, which rows do not.
pub fn layout(draft: &Draft) -> Result<String, Findings> {
    let flat = |(_, node): &(NodeId, &quayline_core::Node)| node.scalar().is_some() && !node.is_list();
    if let Some((id, _)) = draft.shape.iter().skip(1).find(|node| !flat(node)) {
        let message = format!("{} is a group or a list, which rows have none of", draft.shape.path(id));
        return Err(Finding::error(FORM, Fault::Caller, message)
            .hint("write an outline or a JSON Schema instead")
            .into());
    }
    let mut out = format!("# Guessed from {}; look at each field.\nlayout = \"csv\"\n", documents(draft.documents));
    let _ = writeln!(out, "name = {}", quoted(&draft.shape.node(NodeId::ROOT).name));
    match draft.delimiter {
        None | Some(',') => {}
        Some('\t') => out.push_str("delimiter = \"tab\"\n"),
        Some(sign) => {
            let _ = writeln!(out, "delimiter = {}", quoted(&sign.to_string()));
        }
    }
    for (id, node) in draft.shape.iter().skip(1) {
        out.push_str("\n[[field]]\n");
        let told = note(draft, id);
        let told = if told.is_empty() { String::new() } else { format!("  # {told}") };
        let _ = writeln!(out, "name = {}{told}", quoted(&node.name));
        match node.scalar() {
            Some(Scalar::Text { chars_max: Some(max) }) => {
                let _ = writeln!(out, "length = {max}");
            }
            Some(Scalar::Decimal { digits, scale, signed }) => {
                let _ = writeln!(out, "type = \"decimal\"\ndigits = {digits}\ndecimals = {scale}\nsigned = {signed}");
            }
            Some(Scalar::Bool) => out.push_str("type = \"bool\"\n"),
            Some(Scalar::Float32 | Scalar::Float64) => out.push_str("type = \"float\"\n"),
            _ => {}
        }
        if node.occurs == Occurs::Once {
            out.push_str("required = true\n");
        }
    }
    Ok(out)
}

fn documents(number: u64) -> String {
    if number == 1 { "1 document".to_owned() } else { format!("{number} documents") }
}

/// A text in quotes, as JSON and TOML both write it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
