//! How XML is laid out.

use quayline_core::{Code, Fault, Finding, Findings};

use crate::names::{element_name, is_name};

/// Names and spacing. The default is `<records><record>…</record></records>`, a record a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct XmlStyle {
    /// Element around all records; `None` for a file whose outermost element is the one record.
    pub root: Option<String>,
    /// Element of one record.
    pub record: String,
    /// White space between elements that is written.
    pub spacing: Spacing,
    /// The namespace of what is written; readers go by names alone.
    pub namespace: Option<Namespace>,
}

/// A namespace of documents, as an XML schema gives it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Namespace {
    /// Its name.
    pub uri: String,
    /// Whether all elements are in it; otherwise only the record's is, by a prefix.
    pub qualified: bool,
}

impl Default for XmlStyle {
    fn default() -> Self {
        XmlStyle { root: Some("records".into()), record: "record".into(), spacing: Spacing::Compact, namespace: None }
    }
}

/// White space between elements.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Spacing {
    /// None but a line feed behind each record.
    #[default]
    Compact,
    /// An element a line, two spaces a level.
    Pretty,
}

impl XmlStyle {
    /// Checks the names.
    ///
    /// # Errors
    /// `XML-002` for a name that is no XML name.
    pub fn check(&self) -> Result<(), Findings> {
        let bad = self.root.iter().chain([&self.record]).find(|name| !is_name(name));
        bad.map_or(Ok(()), |name| {
            let message = format!("`{name}` is no XML element name");
            let hint = format!("write for example `{}`", element_name(name));
            Err(Finding::error(Code("XML-002"), Fault::Config, message).hint(hint).into())
        })
    }
}
