//! Tests of the importers.

mod built_in;
mod corpus;
mod fetched;
mod held_out;
mod json_form;
mod maker;
mod php_edifact_codes;
mod places;
mod pyx12_maps;
mod smooks_schemas;
mod written;
mod x12_types_sources;
mod xsd_schema;

use quayline_edi::guide::{Guide, write_guide};

/// A guide as its file without the five lines of its head.
fn body(guide: &Guide) -> String {
    write_guide(guide).lines().skip_while(|line| !line.is_empty()).skip(1).map(|line| format!("{line}\n")).collect()
}
