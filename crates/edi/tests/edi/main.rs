//! Tests of the EDI crate.

mod acknowledge;
mod acknowledgment_table;
mod code_extension;
mod complaints;
mod contract;
mod control;
mod corpus;
mod envelope;
mod gaps;
mod generic;
mod guide_docs;
mod guide_documents;
mod guide_laws;
mod guide_text;
mod header_values;
mod hl_flat;
mod hostile;
mod laws;
mod mutants;
mod mutants_acknowledged;
mod places;
mod reports;
mod splitter;
mod trace;
mod validate;
