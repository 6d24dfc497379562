//! Tests of the importers.

mod json_form;
mod pyx12_maps;
