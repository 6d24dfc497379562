//! Substitution (section 8.8): `#{jobParameters['x']}`, `jobProperties`, `systemProperties`, `partitionPlan`, each with `?:default;`.

use std::collections::BTreeMap;

use super::read::Node;

/// Named values: job parameters, properties of a partition.
pub type Parameters = BTreeMap<String, String>;

/// A reference without a value: it became an empty text, as the specification says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unresolved {
    /// The operator.
    pub operator: String,
    /// The name.
    pub name: String,
    /// Byte of the element in the job XML.
    pub(super) at: usize,
    /// The attribute.
    pub(super) attribute: String,
}

/// Values outside of a step, for the defaults of its references to the plan.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Outer {
    pub(super) parameters: Parameters,
    /// Properties of the job.
    pub(super) properties: Vec<(String, String)>,
    /// System properties to which the job refers.
    pub(super) system: Parameters,
}

impl Outer {
    /// Resolves a step for a partition with these properties.
    pub(super) fn resolve(&self, step: &Node, partition: &Parameters) -> Node {
        let system = |name: &str| self.system.get(name).cloned();
        let mut scope = Scope::new(&self.parameters, &system, Some(partition));
        scope.is_second = true;
        scope.element(step, &mut self.properties.clone())
    }
}

/// Returns a step's references to partition properties that no partition has.
pub(super) fn not_planned(step: &Node, planned: &Parameters) -> Vec<Unresolved> {
    let (none, parameters) = (|_: &str| None, Parameters::new());
    let mut scope = Scope::new(&parameters, &none, Some(planned));
    scope.resolve(step);
    scope.unresolved.retain(|reference| reference.operator == "partitionPlan");
    scope.unresolved
}

/// Returns the hint for a reference to a property that no partition has.
pub(super) fn planned_hint(planned: &Parameters) -> String {
    let or_default = "or write a default: ?:VALUE;, which may be empty";
    match planned.keys().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => format!("the plan has no properties: add them, {or_default}"),
        names => format!("the properties of the plan are {}: name one of them, {or_default}", names.join(", ")),
    }
}

/// Sources of values, and limits of the substitution.
pub(super) struct Scope<'s> {
    pub(super) parameters: &'s Parameters,
    pub(super) system: &'s dyn Fn(&str) -> Option<String>,
    /// Properties of the partition. If absent, references to the plan are not substituted.
    pub(super) partition: Option<&'s Parameters>,
    /// True if all references but those to the plan are resolved. What looks like another reference is then a part of a value.
    is_second: bool,
    pub(super) unresolved: Vec<Unresolved>,
    /// The first value that is longer than a value may be: byte of its element, attribute.
    pub(super) too_long: Option<(usize, String)>,
    /// The first value whose defaults are nested too deep: byte of its element, attribute.
    pub(super) too_deep: Option<(usize, String)>,
    /// Bytes that values may still have.
    pub(super) budget: usize,
}

/// Bytes of a value after its references are resolved. Properties that refer to each other may grow as powers do.
pub(super) const VALUE_BYTES_MAX: usize = 1 << 20;
/// Maximum depth of nested defaults. Quayline reads each default once for each default around it.
pub(super) const NESTED_MAX: usize = 64;
/// Bytes of all values of a job.
const ALL_BYTES_MAX: usize = 64 << 20;

impl<'s> Scope<'s> {
    pub(super) fn new(
        parameters: &'s Parameters,
        system: &'s dyn Fn(&str) -> Option<String>,
        partition: Option<&'s Parameters>,
    ) -> Self {
        let (unresolved, budget) = (Vec::new(), ALL_BYTES_MAX);
        Scope { parameters, system, partition, is_second: false, unresolved, too_long: None, too_deep: None, budget }
    }

    /// Returns the tree with its references resolved.
    pub(super) fn resolve(&mut self, node: &Node) -> Node {
        self.element(node, &mut Vec::new())
    }

    /// Resolves an element. `visible` has the properties in scope, the innermost last. Properties are visible in all parts of their element that follow them.
    fn element(&mut self, node: &Node, visible: &mut Vec<(String, String)>) -> Node {
        let depth = visible.len();
        let attributes = node.attributes.iter().map(|(name, value)| {
            let place = (node.at, name.as_str());
            let mut value = self.text(value, visible, place);
            if value.len() > VALUE_BYTES_MAX.min(self.budget) {
                self.too_long.get_or_insert((node.at, name.clone()));
                value = String::new();
            }
            self.budget -= value.len();
            (name.clone(), value)
        });
        let attributes = attributes.collect();
        let mut children = Vec::with_capacity(node.children.len());
        for child in &node.children {
            if child.name == "properties" && node.name != "plan" {
                let mut list = Vec::with_capacity(child.children.len());
                for property in &child.children {
                    let resolved = self.element(property, visible);
                    visible.push((resolved.required("name").to_owned(), resolved.required("value").to_owned()));
                    list.push(resolved);
                }
                children.push(Node { children: list, ..child.clone() });
            } else {
                children.push(self.element(child, visible));
            }
        }
        visible.truncate(depth);
        Node { name: node.name, attributes, children, at: node.at }
    }

    fn text(&mut self, text: &str, visible: &[(String, String)], place: (usize, &str)) -> String {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(begin) = rest.find("#{") {
            resolved.push_str(&rest[..begin]);
            if resolved.len() > VALUE_BYTES_MAX {
                return resolved;
            }
            let Some(reference) = Reference::parse(&rest[begin..]) else {
                resolved.push_str("#{");
                rest = &rest[begin + 2..];
                continue;
            };
            if reference.is_too_deep && !self.is_second {
                self.too_deep.get_or_insert_with(|| (place.0, place.1.to_owned()));
                return resolved;
            }
            let whole = &rest[begin..begin + reference.length];
            rest = &rest[begin + reference.length..];
            let is_plan = reference.operator == "partitionPlan";
            let stays = if is_plan { self.partition.is_none() } else { self.is_second };
            if stays || reference.is_too_deep {
                resolved.push_str(whole);
                continue;
            }
            let found = match reference.operator {
                "jobParameters" => self.parameters.get(reference.name).cloned(),
                "jobProperties" => {
                    visible.iter().rev().find(|(name, _)| name == reference.name).map(|(_, value)| value.clone())
                }
                "systemProperties" => (self.system)(reference.name),
                _ => self.partition.and_then(|plan| plan.get(reference.name).cloned()),
            };
            let default = || {
                let is_second = std::mem::take(&mut self.is_second);
                let default = reference.default.map(|default| self.text(default, visible, place));
                self.is_second = is_second;
                default
            };
            // What is empty takes the default too.
            let (is_there, found) = (found.is_some(), found.filter(|value| !value.is_empty()));
            match found.or_else(default) {
                Some(value) => resolved.push_str(&value),
                None if is_there => {}
                None => self.unresolved.push(Unresolved {
                    operator: reference.operator.to_owned(),
                    name: reference.name.to_owned(),
                    at: place.0,
                    attribute: place.1.to_owned(),
                }),
            }
        }
        resolved.push_str(rest);
        resolved
    }
}

/// `#{operator['name']}`, with a default or without.
pub(super) struct Reference<'t> {
    pub(super) operator: &'t str,
    pub(super) name: &'t str,
    pub(super) default: Option<&'t str>,
    /// True if the reference nests more than [`NESTED_MAX`] defaults. It then has no default.
    pub(super) is_too_deep: bool,
    length: usize,
}

impl<'t> Reference<'t> {
    /// Parses the reference at the start of a text.
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        const OPERATORS: [&str; 4] = ["jobParameters", "jobProperties", "systemProperties", "partitionPlan"];
        let inner = text.strip_prefix("#{")?;
        let operator = OPERATORS.into_iter().find(|operator| inner.starts_with(operator))?;
        let quoted = inner[operator.len()..].strip_prefix('[')?;
        let quote = quoted.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let name = &quoted[1..1 + quoted[1..].find(quote)?];
        let rest = quoted[name.len() + 2..].strip_prefix("]}")?;
        let mut length = text.len() - rest.len();
        let (mut default, mut is_too_deep) = (None, false);
        if let Some(given) = rest.strip_prefix("?:") {
            // A default may have references with defaults of their own.
            let mut depth = 0_usize;
            let mut at = 0;
            let end = loop {
                let tail = given.get(at..)?;
                let Some(next) = tail.find(['?', ';']) else { break None };
                at += next;
                let tail = &tail[next..];
                if tail.starts_with("?:") {
                    depth += 1;
                    at += 2;
                    if depth == NESTED_MAX {
                        is_too_deep = true;
                        break None;
                    }
                } else if tail.starts_with(';') {
                    if depth == 0 {
                        break Some(at);
                    }
                    depth -= 1;
                    at += 1;
                } else {
                    at += 1;
                }
            };
            if let Some(end) = end {
                default = Some(&given[..end]);
                length += 2 + end + 1;
            }
        }
        Some(Reference { operator, name, default, is_too_deep, length })
    }
}
