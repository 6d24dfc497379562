//! Open dictionaries and users' own schemas into EDI guides.
//!
//! This crate contains no dictionary: it reads those of the user and returns [`quayline_edi::guide::Guide`]s.

mod codes;
mod factor;
mod groups;
mod imported;
pub mod json;
mod notes;
pub mod php_edifact;
pub mod pyx12;
mod read;
pub mod smooks;
mod source_text;
mod structure;
mod usage;
mod x12_composites;
pub mod x12_types;
mod xml_tree;
pub mod xsd;

pub use imported::Imported;
pub use read::{Form, form, import, import_all};
pub use source_text::SourceText;
pub use xml_tree::XmlElement;
