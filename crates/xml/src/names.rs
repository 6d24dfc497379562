//! Names of nodes as names of elements.

use std::collections::HashMap;

use quayline_core::{Code, Fault, Finding, Findings, NodeId, Shape};

/// Returns the element name for a node's name: the name itself if XML allows it.
///
/// Characters that XML does not allow in names (and the colon) become `_xHHHH_`, their code in hexadecimal; a first character that
/// is allowed only inside names (a digit, `-`, `.`) gets `_` before it. Source: XML 1.0 (Fifth Edition), productions 4 and 4a.
#[must_use]
pub fn element_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if out.is_empty() && is_name_char(c) && !is_name_start(c) {
            out.push('_');
        }
        if is_name_char(c) { out.push(c) } else { out.push_str(&format!("_x{:04X}_", u32::from(c))) }
    }
    if out.is_empty() { "_".to_owned() } else { out }
}

/// Returns whether this is an XML name without a colon.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(is_name_start) && name.chars().all(is_name_char)
}

fn is_name_start(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '_' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}' | '\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}'
        | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

fn is_name_char(c: char) -> bool {
    is_name_start(c) || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}')
}

/// XML construct of a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// An element.
    Element,
    /// An attribute of the element around it.
    Attribute,
    /// The text of the element around it.
    Text,
}

/// Name of the node that is the text of the element around it.
pub(crate) const TEXT_NODE: &str = "$text";

/// Returns the construct of each node of a shape: a field called `@name` is an attribute, one called `$text` the text, of the group
/// around it.
pub(crate) fn parts(shape: &Shape) -> Vec<Part> {
    let part = |id: NodeId, node: &quayline_core::Node| match node.name.strip_prefix('@') {
        _ if id == NodeId::ROOT || node.is_list() || node.scalar().is_none() => Part::Element,
        Some(name) if !name.is_empty() => Part::Attribute,
        _ if node.name == TEXT_NODE => Part::Text,
        _ => Part::Element,
    };
    shape.iter().map(|(id, node)| part(id, node)).collect()
}

/// Names of a shape's nodes as elements and attributes, by id; the root's is the record's.
///
/// # Errors
/// `XML-001` for every pair of siblings with the same element name.
pub(crate) fn element_names(shape: &Shape, record: &str) -> Result<Vec<String>, Findings> {
    let parts = parts(shape);
    let name = |(node, part): (&quayline_core::Node, &Part)| match (part, node.name.strip_prefix('@')) {
        (Part::Attribute, Some(name)) => element_name(name),
        _ => element_name(&node.name),
    };
    let mut names: Vec<String> = shape.iter().map(|(_, node)| node).zip(&parts).map(name).collect();
    names[0] = record.to_owned();
    let mut errors = Vec::new();
    for (group, _) in shape.iter() {
        let mut seen: HashMap<(bool, &str), NodeId> = HashMap::new();
        for child in shape.children(group) {
            let attribute = parts[child.index()] == Part::Attribute;
            if let Some(first) = seen.insert((attribute, &names[child.index()]), child) {
                let message = format!(
                    "{} and {} would both be the {} {}",
                    shape.path(first),
                    shape.path(child),
                    if attribute { "attribute" } else { "element" },
                    names[child.index()]
                );
                errors.push(
                    Finding::error(Code("XML-001"), Fault::Config, message).hint("rename one of them in the interface"),
                );
            }
        }
    }
    for (id, node) in shape.iter() {
        let Some(group) = node.parent.filter(|_| parts[id.index()] == Part::Attribute) else { continue };
        let of_group = |name: &str, part: Part| {
            shape.children(group).any(|child| parts[child.index()] == part && names[child.index()] == name)
        };
        let marks = match names[id.index()].strip_suffix(".escaped") {
            Some("text") => {
                let has_text = shape.children(group).any(|child| parts[child.index()] == Part::Text);
                has_text && of_group("escaped", Part::Attribute) || of_group("text", Part::Attribute)
            }
            Some(marked) => of_group(marked, Part::Attribute),
            None => false,
        };
        if marks {
            let name = &names[id.index()];
            let message = format!("{}: the attribute {name} marks another attribute or the text", shape.path(id));
            let finding = Finding::error(Code("XML-001"), Fault::Config, message);
            errors.push(finding.hint("rename the field in the interface"));
        }
    }
    if errors.is_empty() { Ok(names) } else { Err(Findings(errors)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_xml_does_not_allow_are_mapped() {
        let mapped = |name: &str| {
            let mapped = element_name(name);
            assert!(is_name(&mapped), "{mapped}");
            mapped
        };
        assert_eq!(mapped("CUST-NAME"), "CUST-NAME");
        assert_eq!(mapped("1ST-AMT"), "_1ST-AMT");
        assert_eq!(mapped("-A"), "_-A");
        assert_eq!(mapped("A B:C"), "A_x0020_B_x003A_C");
        assert_eq!(mapped("#1"), "_x0023_1");
        assert_eq!(mapped("größe"), "größe");
        assert_eq!(mapped("\u{1f600}"), "\u{1f600}");
        assert_eq!(mapped(""), "_");
    }
}
