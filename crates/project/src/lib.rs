//! The files that users write (interface files, copybooks, layouts, schemas, guides, maps), and the formats of documents.
//!
//! ```text
//! car100.toml ──parse──▶ InterfaceFile { Interface, RecordRules, place of each rule }
//! a copybook's layouts + InterfaceFile ──compile──▶ Schema: the shape of the documents, and the record descriptions
//! maps/a.qmap ── source "x", target y "z" ──▶ ShapeFile: Schema + source and target formats of such documents
//!       └───────────────── compile ─────────▶ MapFile: the plan, its shapes, the files it depends on
//! ```
//!
//! * A finding names file, line and column and shows the line with a caret.
//! * Unknown keys are errors, so a misspelt one is never ignored.
//! * This crate reads files that users wrote, never their data, and runs nothing.

mod check;
mod codes;
mod copy_folders;
mod envelope_values;
mod flow;
mod format;
mod gnucobol;
mod guides;
mod interface_file;
pub mod job;
mod lookup_table;
mod map_file;
pub mod partner;
mod record_rules;
mod schema;
mod shape;
mod source_text;
mod starter;
mod toml_file;
mod user_file;
mod wire;
mod word;

/// Settings of CSV.
pub mod csv {
    pub use quayline_flat::{CsvStyle, EmptyCell, Header, LineEnd, Quotes};
}

/// Settings of XML.
pub mod xml {
    pub use quayline_xml::{Namespaces, Spacing, XmlStyle};
}

pub use check::{CheckedFile, FileKind, check_files, expect_project, project_files};
pub use copy_folders::{CopyFolders, CopyMember, CopyMembers, read_definition, read_source};
pub use envelope_values::{EnvelopeValue, check_envelope};
pub use flow::{
    FlowDraft, FlowFile, FlowNode, FlowProperty, NODE_KINDS, NodeKind, PropertyForm, PropertyKind, PropertyValue,
    Terminal, Wire, node_kind,
};
pub use format::{
    ColumnsRead, EdiDocuments, EdiRead, JsonNumbers, JsonRead, JsonWrite, ParquetCompression, ParquetWrite,
    SourceFormat, TargetFormat,
};
pub use gnucobol::{gnucobol_contradiction, gnucobol_options, is_gnucobol_output};
pub use guides::{is_guide, read_guide, read_guide_documents_and_files, read_guides, read_guides_and_files};
pub use interface_file::{InterfaceFile, InterfaceTable, SkipBytes};
pub use lookup_table::LookupTable;
pub use map_file::{MapFile, MapFolder, MapTarget, ShapeRules};
pub use record_rules::{ChooseBy, Otherwise, RecordRules, RecordType, TypeUse};
pub use schema::{Found, RecordTypes, Records, Schema, SchemaExtent, UnknownType};
pub use shape::{Form, LAYOUT_KEYS, ShapeFile, ShapeOptions, outline_of, parse_outline};
pub use source_text::UserText;
pub use starter::write_starter;
pub use toml_file::TomlFile;
pub use user_file::{UserFile, read_named_file};
