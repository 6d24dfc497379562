//! Job XML as a tree with places.

use core::ops::Range;
use std::path::Path;

use quayline_core::{Code, Fault, Finding, Findings, Place};
use quayline_dictionary::{SourceText, XmlElement};

use super::grammar::{Rule, Slot, Times, rule_of};
use crate::codes;
use crate::source_text::UserText;
use crate::user_file::read_named_file;

/// Namespaces of job XML: since Jakarta EE 9, and before.
const NAMESPACES: [&str; 2] = ["https://jakarta.ee/xml/ns/jakartaee", "http://xmlns.jcp.org/xml/ns/javaee"];

/// A job XML, read and well formed by the schema.
#[derive(Clone, Debug)]
pub struct JobFile {
    /// The file's name and text.
    pub text: UserText,
    pub(super) root: Node,
}

/// An element with its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Node {
    pub(super) name: &'static str,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<Node>,
    /// Byte of the `<`.
    pub(super) at: usize,
}

impl Node {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the attribute; an empty text if it is missing, which the schema check has reported.
    pub(super) fn required(&self, name: &str) -> &str {
        self.attribute(name).unwrap_or_default()
    }

    pub(super) fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(super) fn named<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Node> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Visits the values of all attributes.
    pub(super) fn each_value(&self, visit: &mut dyn FnMut(&str)) {
        self.attributes.iter().for_each(|(_, value)| visit(value));
        self.children.iter().for_each(|child| child.each_value(visit));
    }

    /// Name of the element and its id or reference, for messages.
    pub(super) fn shown(&self) -> String {
        match self.attribute("id").or_else(|| self.attribute("ref")) {
            Some(id) => format!("{} {id}", self.name),
            None => format!("a {}", self.name),
        }
    }
}

impl JobFile {
    /// Reads a job XML file: UTF-8, or the encoding of its byte order mark or XML declaration.
    ///
    /// # Errors
    /// The file cannot be read, and everything of [`JobFile::parse`].
    pub fn open(path: &Path) -> Result<JobFile, Findings> {
        let bytes = read_named_file(path, codes::UNREADABLE).map_err(|finding| Findings::from(*finding))?;
        let name = path.display().to_string();
        let text = super::text::decode(&name, &bytes).map_err(|finding| Findings::from(*finding))?;
        JobFile::parse(&name, &text)
    }

    /// Reads job XML.
    ///
    /// # Errors
    /// The text is not well-formed, or has elements or attributes that the schema does not allow; all at once.
    pub fn parse(name: &str, text: &str) -> Result<JobFile, Findings> {
        let user = UserText { name: name.into(), text: text.into() };
        let element = XmlElement::read(SourceText::new(name, text)).map_err(|Findings(found)| {
            let renamed = found.into_iter().map(|finding| Finding { code: codes::JOB_SYNTAX, ..finding });
            Findings(renamed.map(|finding| finding.hint("write the job as well-formed XML")).collect())
        })?;
        let mut reader = Reader { text: &user, findings: Vec::new() };
        let root = reader.root(&element);
        let findings = reader.findings;
        match root {
            Some(root) if findings.is_empty() => Ok(JobFile { text: user, root }),
            _ => Err(Findings(findings)),
        }
    }

    /// Returns the job's id as written.
    #[must_use]
    pub fn id(&self) -> &str {
        self.root.required("id")
    }

    /// Builds a finding at an element or at one of its attributes.
    pub(super) fn finding(&self, code: Code, node: &Node, attribute: Option<&str>, message: String) -> Finding {
        Finding::error(code, Fault::Config, message).at(place(&self.text, node.at, attribute))
    }
}

impl JobFile {
    /// Returns a finding about a definition that an artifact compiles. If the finding has no place, or is about a condition or a missing file, its
    /// place is in the job.
    pub(super) fn of_definition(&self, mut finding: Finding, artifact: &Node, properties: &[&Node]) -> Finding {
        let Some(file) = finding.place.file.clone() else {
            return finding.at(place(&self.text, artifact.at, Some("ref")));
        };
        if let Some(property) = properties.iter().find(|property| property.required("name") == &*file) {
            let mut range = range_of(&self.text.text, property.at, Some("value"));
            let written = &self.text.text[range.clone()];
            let value = property.required("value");
            // Only a value without references has each of its characters where the finding says.
            if let (Some(1), Some(column), Some(at)) = (finding.place.line, finding.place.column, written.find(value))
                && !value.is_empty()
            {
                let start = range.start + at;
                let byte = |count: u32| {
                    value
                        .char_indices()
                        .nth(usize::try_from(count).unwrap_or(usize::MAX))
                        .map_or(value.len(), |(at, _)| at)
                };
                let from = column.saturating_sub(1);
                range = start + byte(from)..start + byte(from.saturating_add(finding.place.width.unwrap_or(1)));
            }
            finding.place = self.text.place(&range);
        } else if finding.place.line.is_none()
            && let Some(property) = properties.iter().find(|property| {
                let value = property.required("value");
                !value.is_empty() && Path::new(&*file).ends_with(value)
            })
        {
            finding.message = format!("{}: {}", property.required("value"), finding.message);
            finding.place = place(&self.text, property.at, Some("value"));
        }
        finding
    }
}

/// The place of an element's name, or of an attribute of it.
fn place(text: &UserText, at: usize, attribute: Option<&str>) -> Place {
    text.place(&range_of(&text.text, at, attribute))
}

/// Returns the position of an element's name, or of an attribute.
fn range_of(source: &str, at: usize, attribute: Option<&str>) -> Range<usize> {
    let at = at + usize::from(source[at..].starts_with('<'));
    let name = source[at..].find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(0);
    let mut range = at..at + name;
    if let Some(attribute) = attribute {
        // A value may have a `>`.
        let mut quote = None;
        let end = source[at..].find(|c: char| match quote {
            Some(open) => {
                quote = (c != open).then_some(open);
                false
            }
            None => {
                quote = matches!(c, '"' | '\'').then_some(c);
                c == '>'
            }
        });
        let tag = &source[at..at + end.unwrap_or(0)];
        let found = tag.match_indices(attribute).find(|(found, _)| {
            let before = tag[..*found].chars().next_back().is_some_and(char::is_whitespace);
            before && tag[found + attribute.len()..].trim_start().starts_with('=')
        });
        if let Some((found, _)) = found {
            let length = tag[found..].find(['"', '\'']).and_then(|open| {
                let quote = tag[found + open..].chars().next()?;
                Some(open + 2 + tag[found + open + 1..].find(quote)?)
            });
            range = at + found..at + found + length.unwrap_or(attribute.len());
        }
    }
    range
}

struct Reader<'t> {
    text: &'t UserText,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn refuse(&mut self, at: usize, attribute: Option<&str>, message: String, hint: impl Into<String>) {
        let finding = Finding::error(codes::JOB_SYNTAX, Fault::Config, message);
        self.findings.push(finding.at(place(self.text, at, attribute)).hint(hint));
    }

    fn root(&mut self, element: &XmlElement) -> Option<Node> {
        if element.name != "job" {
            let message = format!("the root element is {}, expected job", element.name);
            self.refuse(element.at, None, message, "begin the file with a job element");
            return None;
        }
        let known = element.namespaces.iter().any(|(_, name)| NAMESPACES.contains(&name.as_str()));
        if !known {
            let message = "the job is in no namespace of job XML".to_owned();
            let hint = format!("add xmlns=\"{}\" to the job element", NAMESPACES[0]);
            self.refuse(element.at, None, message, hint);
        }
        let node = self.node(element)?;
        if let Some(version) = node.attribute("version").filter(|version| !["1.0", "2.0", "2.1"].contains(version)) {
            let message = format!("version {version} of job XML is not known, expected 1.0, 2.0 or 2.1");
            self.refuse(node.at, Some("version"), message, "write version=\"2.0\"");
        }
        Some(node)
    }

    fn node(&mut self, element: &XmlElement) -> Option<Node> {
        let rule = rule_of(&element.name)?;
        self.attributes(element, rule);
        if !element.text.is_empty() {
            let message = format!("{} has text, expected elements only", rule.name);
            self.refuse(element.at, None, message, "remove the text, or put it into an attribute or a comment");
        }
        let children = self.children(element, rule);
        Some(Node { name: rule.name, attributes: element.attributes.clone(), children, at: element.at })
    }

    fn attributes(&mut self, element: &XmlElement, rule: &Rule) {
        for name in rule.required {
            if element.attribute(name).is_none() {
                let message = format!("{} has no attribute {name}", rule.name);
                self.refuse(element.at, None, message, format!("add {name}=\"...\""));
            }
        }
        for (name, _) in &element.attributes {
            if !rule.required.contains(&name.as_str()) && !rule.optional.contains(&name.as_str()) {
                let mut known: Vec<&str> = rule.required.iter().chain(rule.optional).copied().collect();
                known.retain(|name| *name != "schemaLocation");
                let message = format!("{} has no attribute {name} in job XML", rule.name);
                let hint = match known.as_slice() {
                    [] => format!("remove {name}"),
                    known => format!("the attributes of {} are {}", rule.name, known.join(", ")),
                };
                self.refuse(element.at, Some(name), message, hint);
            }
        }
    }

    fn children(&mut self, element: &XmlElement, rule: &Rule) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(element.children.len());
        let mut slot = 0;
        let mut seen = vec![0_usize; rule.children.len()];
        for child in &element.children {
            let has = |slot: &Slot| slot.names.contains(&child.name.as_str());
            // From the slot that was reached, otherwise from the first: then the order is wrong.
            let Some(found) = rule.children[slot..].iter().position(has).map(|at| slot + at) else {
                let is_known = rule.children.iter().any(has);
                let known: Vec<&str> = rule.children.iter().flat_map(|slot| slot.names).copied().collect();
                let (message, hint) = match (is_known, known.is_empty()) {
                    (true, _) => (
                        format!("{} is in the wrong place in {}", child.name, rule.name),
                        format!("the order in {} is {}", rule.name, known.join(", ")),
                    ),
                    (false, true) => (
                        format!("{} has no elements, found {}", rule.name, child.name),
                        format!("remove {}", child.name),
                    ),
                    (false, false) => (
                        format!("{} is not an element of {}", child.name, rule.name),
                        format!("the elements of {} are {}", rule.name, known.join(", ")),
                    ),
                };
                self.refuse(child.at, None, message, hint);
                continue;
            };
            slot = found;
            seen[found] += 1;
            if seen[found] == 2 && rule.children[found].times != Times::Many {
                let names = rule.children[found].names.join(" or ");
                let message = format!("{} has more than one {names}", rule.name);
                self.refuse(child.at, None, message, "keep one of them");
            }
            nodes.extend(self.node(child));
        }
        for (slot, count) in rule.children.iter().zip(&seen) {
            if slot.times == Times::One && *count == 0 {
                let message = format!("{} has no {}", rule.name, slot.names.join(" or "));
                self.refuse(element.at, None, message, format!("add <{} ref=\"...\"/>", slot.names[0]));
            }
        }
        nodes
    }
}
