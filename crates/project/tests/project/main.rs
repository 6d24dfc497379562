//! Users' files: the definitions that they become, and the findings about errors in them.

mod cache;
mod copy_folders;
mod docs;
mod interface_file;
mod json_schema;
/// The generators of the map language's own laws.
#[path = "../../../map/tests/map/law.rs"]
mod law;
mod layouts;
mod loading;
mod map_targets;
mod mutants;
mod real_maps;
#[allow(dead_code, reason = "other laws use the rest")]
#[path = "../../../map/tests/map/support.rs"]
mod support;
mod xsd;
