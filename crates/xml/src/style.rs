//! Layout of XML.

use std::collections::HashSet;
use std::sync::Arc;

use quayline_core::{Code, Fault, Finding, Findings};

use crate::names::{element_name, is_name};

/// Names and spacing. The default is `<records><record>…</record></records>`, a record a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct XmlStyle {
    /// Element around all records; `None` for a file whose outermost element is the only record.
    pub root: Option<String>,
    /// Element of one record.
    pub record: String,
    /// White space between elements that is written.
    pub spacing: Spacing,
    /// Namespaces for writing; readers go by names alone.
    pub namespaces: Option<Namespaces>,
    /// Properties of leaf texts from an XML schema, used when reading.
    pub leaves: LeafTexts,
    /// A reader skips elements and attributes that their group has no field for.
    pub ignore_unknown: bool,
    /// An XML schema describes the documents. They have no attributes of Quayline's own, such as `escaped`: a reader reports those as
    /// unknown, and a writer refuses text that would need them.
    pub is_described: bool,
}

/// Properties of the leaf texts of one shape, from an XML schema. An empty list has no effect.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LeafTexts {
    /// For each node of the shape, the treatment of white space.
    pub white_space: Vec<WhiteSpace>,
    /// For each node of the shape, the default value of a missing attribute or an empty element.
    pub defaults: Vec<Option<Box<str>>>,
    /// Types that `xsi:type` may name, for each node of the shape.
    pub types: Vec<TypeNames>,
    /// Names of the schema's complex types. At a leaf, `xsi:type` may have any other name, since all simple types are texts.
    pub complex_types: Arc<HashSet<Box<str>>>,
}

/// Local names of types.
pub type TypeNames = Arc<[Box<str>]>;

/// Treatment of white space in a text.
///
/// Source: XML Schema part 2, clause 4.3.6.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WhiteSpace {
    /// White space is part of the text.
    #[default]
    Preserve,
    /// Each white space character becomes a space.
    Replace,
    /// Leading and trailing white space is removed, and other runs become one space.
    Collapse,
}

/// The namespaces of the elements and attributes of one shape, as XML schemas give them.
///
/// If every element is in a namespace, that of the outermost one is the default; otherwise all have prefixes: `ns`, `ns2`, ….
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Namespaces {
    /// Their names.
    pub uris: Vec<String>,
    /// For each node of the shape, the number of its namespace from 1. The value 0 means no namespace, [`Namespaces::OF_XML`] the
    /// namespace of `xml:lang`.
    pub of_node: Vec<u16>,
}

impl Namespaces {
    /// XML's own namespace, whose prefix is always `xml`.
    pub const OF_XML: u16 = u16::MAX;

    /// Returns the prefix of a namespace, with its colon.
    pub(crate) fn prefix(number: u16) -> String {
        match number {
            0 => String::new(),
            1 => "ns:".to_owned(),
            Namespaces::OF_XML => "xml:".to_owned(),
            number => format!("ns{number}:"),
        }
    }
}

impl Default for XmlStyle {
    fn default() -> Self {
        XmlStyle {
            root: Some("records".into()),
            record: "record".into(),
            spacing: Spacing::Compact,
            namespaces: None,
            leaves: LeafTexts::default(),
            ignore_unknown: false,
            is_described: false,
        }
    }
}

/// White space between elements.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Spacing {
    /// No white space except a line feed after each record.
    #[default]
    Compact,
    /// An element a line, two spaces a level.
    Pretty,
}

impl XmlStyle {
    /// Checks the names.
    ///
    /// # Errors
    /// `XML-002` for a name that is not an XML name.
    pub fn check(&self) -> Result<(), Findings> {
        let bad = self.root.iter().chain([&self.record]).find(|name| !is_name(name));
        bad.map_or(Ok(()), |name| {
            let message = format!("`{name}` is not an XML element name");
            let hint = format!("write for example `{}`", element_name(name));
            Err(Finding::error(Code("XML-002"), Fault::Config, message).hint(hint).into())
        })
    }
}
