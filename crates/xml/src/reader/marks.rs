//! The attributes of an element: values, and marks such as `xsi:nil`.

use std::collections::HashSet;

use quayline_core::{NodeId, Sink, read_bool};
use quick_xml::XmlVersion;
use quick_xml::events::BytesStart;
use quick_xml::events::attributes::Attribute;

use super::Running;
use crate::fault::{Syntax, XmlFaultKind};
use crate::text::{local_name, short};

/// A prefix that an element declares.
pub(super) struct Declared {
    /// Number of groups that are open around the element.
    pub(super) depth: usize,
    prefix: String,
    /// True if the namespace is [`INSTANCE`].
    is_instance: bool,
}

/// Maximum number of prefixes in scope for that namespace: 64. Each prefixed attribute is compared with all of them. Attributes with
/// further prefixes are reported as unknown.
const PREFIXES_MAX: usize = 64;

/// Prefixes of all namespaces in scope, for the check that the prefix of an attribute is declared.
#[derive(Default)]
pub(super) struct Prefixes {
    /// The number of groups that are open around the element, and the prefix.
    list: Vec<(usize, String)>,
    /// True after more than [`PREFIXES_MAX`] were in scope. The check then ends for the record.
    has_more: bool,
}

impl Prefixes {
    fn add(&mut self, depth: usize, prefix: &str) {
        if self.list.iter().any(|(_, known)| known == prefix) {
            return;
        }
        if self.list.len() < PREFIXES_MAX {
            self.list.push((depth, prefix.to_owned()));
        } else {
            self.has_more = true;
        }
    }

    /// Forgets the declarations of elements that ended before one at this depth.
    pub(super) fn leave(&mut self, depth: usize) {
        while self.list.pop_if(|(declared, _)| *declared >= depth).is_some() {}
    }

    fn has(&self, prefix: &str) -> bool {
        self.has_more || self.list.iter().any(|(_, known)| known == prefix)
    }
}

/// Namespace of `xsi:type`. Source: XML Schema part 1, clause 2.6.
const XSI: &str = "xsi";
const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The attributes of an element.
#[derive(Clone, Default)]
pub(super) struct Marks<'x> {
    pub(super) nil: bool,
    pub(super) escaped: bool,
    /// Local name of the type in `xsi:type`.
    pub(super) of_type: Option<String>,
    /// The element's own attributes.
    pub(super) own: Vec<Attribute<'x>>,
    /// Fields whose attributes are in the form of `escaped="true"`.
    pub(super) escaped_fields: Vec<NodeId>,
}

impl<'x, S: Sink> Running<'_, 'x, S> {
    /// Records the prefixes that an element declares for the namespace of `xsi:type`, or declares again for another namespace.
    fn declare(&mut self, tag: &BytesStart<'x>) {
        let depth = self.open.len();
        for attribute in tag.attributes().flatten() {
            // `xmlns:` without a prefix is not XML. It must not put every attribute without a prefix into that namespace.
            let Some(("xmlns", prefix)) = attribute.key.as_ref().split_once(':') else { continue };
            let is_instance = &*attribute.value == INSTANCE;
            if prefix.is_empty() {
                continue;
            }
            self.prefixes.add(depth, prefix);
            if !is_instance && !self.is_instance(prefix) {
                continue;
            }
            // `xsi` has its meaning without a declaration in the record, so that each declaration for another namespace has a place.
            if self.instance.len() < PREFIXES_MAX || prefix == XSI {
                self.instance.push(Declared { depth, prefix: prefix.to_owned(), is_instance });
            } else if !is_instance {
                // Without a place for it, the prefix loses its meaning in all elements, and its attributes are reported.
                self.instance.retain(|declared| declared.prefix != prefix);
            }
        }
    }

    /// Returns whether a prefix is for the namespace of `xsi:type`: the element or an enclosing one declares it. `xsi` needs no declaration in the
    /// record, because the element around the records may have it.
    fn is_instance(&self, prefix: &str) -> bool {
        let declared = self.instance.iter().rev().find(|declared| declared.prefix == prefix);
        declared.map_or(prefix == XSI, |declared| declared.is_instance)
    }

    /// Returns true if a prefix of an attribute is declared, or if this is not known: the element around records may declare it.
    ///
    /// Source: Namespaces in XML 1.0, clause 5, Prefix Declared.
    fn is_declared(&self, prefix: &str) -> bool {
        !self.plan.is_whole || matches!(prefix, "" | "xml" | "xmlns") || self.prefixes.has(prefix)
    }

    /// Reports `<` in a value of an attribute (XML 1.0, production 10).
    pub(super) fn check_markup(&mut self, tag: &BytesStart<'x>, at: usize) {
        if tag.attributes_raw().contains('<') {
            self.fault(XmlFaultKind::Syntax(Syntax::Markup), at, None);
        }
    }

    /// Reads the attributes of an element of `node`. A field with the name of an attribute takes precedence over the attribute's special meaning.
    pub(super) fn marks<'t>(&mut self, tag: &'t BytesStart<'x>, node: Option<NodeId>, at: usize) -> Marks<'t> {
        let mut marks = Marks::default();
        // Documents of an XML schema have no marks of Quayline's own.
        let described = self.plan.is_described;
        let mut of_xml = Vec::new();
        if tag.attributes_raw().is_empty() {
            return marks;
        }
        if tag.attributes_raw().contains("xmlns:") {
            self.declare(tag);
        }
        self.check_markup(tag, at);
        for attribute in tag.attributes() {
            let Ok(attribute) = attribute else {
                self.fault(XmlFaultKind::Syntax(Syntax::AttributeForm), at, None);
                return marks;
            };
            let name = attribute.key.as_ref();
            let prefix = name.split_once(':').map_or("", |(prefix, _)| prefix);
            let local = local_name(name);
            // White space around a truth value means nothing (XML Schema part 2, clause 3.3.2).
            let word = attribute.value.trim_ascii();
            let yes = matches!(word, "true" | "1");
            let is_truth = yes || matches!(word, "false" | "0");
            let plan = self.plan;
            let field = |name: &str| plan.attribute(node?, name);
            if !self.is_declared(prefix) {
                self.fault(XmlFaultKind::Prefix { name: short(name) }, at, None);
                continue;
            }
            match (prefix, local) {
                ("xmlns", _) | ("", "xmlns") => self.check_reference(&attribute, at),
                ("", "nil" | "escaped" | "text.escaped") if described || !is_truth || field(local).is_some() => {
                    marks.own.push(attribute);
                }
                (_, "nil") if !described && is_truth => marks.nil = yes,
                (prefix, "nil") if self.is_instance(prefix) => match nil(&attribute) {
                    Ok(nil) => marks.nil = nil,
                    Err(kind) => self.fault(kind, at, node.map(|node| (node, None))),
                },
                ("", "escaped" | "text.escaped") => marks.escaped = yes,
                ("xml", _) if field(local).is_some() => of_xml.push(attribute),
                ("xml", _) if described => self.check_reference(&attribute, at),
                ("xml", _) if local.strip_suffix(".escaped").and_then(field).is_some() => {
                    marks.escaped_fields.extend(local.strip_suffix(".escaped").and_then(field).filter(|_| yes));
                }
                ("xml", _) => self.check_reference(&attribute, at),
                (prefix, "type") if self.is_instance(prefix) => {
                    self.check_reference(&attribute, at);
                    marks.of_type = Some(local_name(attribute.value.trim()).to_owned());
                }
                (prefix, _) if self.is_instance(prefix) => self.check_reference(&attribute, at),
                _ if described => marks.own.push(attribute),
                _ => match local.strip_suffix(".escaped").and_then(field).filter(|_| field(local).is_none()) {
                    Some(escaped) if yes => marks.escaped_fields.push(escaped),
                    Some(_) => self.check_reference(&attribute, at),
                    None => marks.own.push(attribute),
                },
            }
        }
        // `xml:lang` is the field of its name, unless that is the element's own attribute `lang`.
        for attribute in of_xml {
            let name = local_name(attribute.key.as_ref());
            let is_own = |own: &Attribute<'_>| local_name(own.key.as_ref()) == name;
            let of_xml = node.and_then(|node| self.plan.attribute(node, name));
            if of_xml.is_some_and(|field| self.plan.is_of_xml[field.index()]) || !marks.own.iter().any(is_own) {
                marks.own.push(attribute);
            } else {
                self.check_reference(&attribute, at);
            }
        }
        marks
    }
}

/// Returns the value of `xsi:nil`.
fn nil(attribute: &Attribute<'_>) -> Result<bool, XmlFaultKind> {
    let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| XmlFaultKind::Entity)?;
    read_bool(value.trim_ascii().as_bytes()).ok_or(XmlFaultKind::NotNil)
}

/// Attributes from which the names of an element's attributes are collected instead of compared with each other.
const MANY: usize = 16;

/// The attributes of an element that hold a field although others have its local name too.
pub(super) struct Holders<'a> {
    own: &'a [Attribute<'a>],
    /// Of many attributes: the local names of those without a prefix, and of those in the namespace of XML itself.
    names: Option<(HashSet<&'a str>, HashSet<&'a str>)>,
}

impl<'a> Holders<'a> {
    pub(super) fn of(own: &'a [Attribute<'a>]) -> Holders<'a> {
        let names = (own.len() > MANY).then(|| {
            let with = |prefix| own.iter().map(parts).filter(move |part| part.0 == prefix).map(|part| part.1).collect();
            (with(""), with("xml"))
        });
        Holders { own, names }
    }

    /// Returns whether another attribute of the element holds the field that this one has the local name of: the name without a prefix, or the name in
    /// the namespace of XML itself if the field `is_of_xml`.
    pub(super) fn hide(&self, attribute: &Attribute<'_>, is_of_xml: bool) -> bool {
        let (prefix, local) = parts(attribute);
        let others: &[&str] = match prefix {
            "xml" if is_of_xml => &[],
            "" if is_of_xml => &["xml"],
            "" => &[],
            _ if is_of_xml => &["", "xml"],
            _ => &[""],
        };
        others.iter().any(|other| match &self.names {
            Some((plain, of_xml)) => (if other.is_empty() { plain } else { of_xml }).contains(local),
            None => self.own.iter().map(parts).any(|part| part == (*other, local)),
        })
    }
}

/// Returns the prefix and the local name of an attribute.
fn parts<'a>(attribute: &'a Attribute<'_>) -> (&'a str, &'a str) {
    let name = attribute.key.as_ref();
    name.split_once(':').unwrap_or(("", name))
}
