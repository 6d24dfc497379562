//! Open dictionaries and users' own schemas into EDI guides.
//!
//! Nothing of a dictionary is part of this crate: it reads what a user has, and gives [`quayline_edi::guide::Guide`]s.

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
