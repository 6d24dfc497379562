//! Measurements of trading partners. `measure` provides the projects and the case study of 2005.
//!
//! * [`commands`] compares `quayline partner` with `quayline translate` of the same documents, switch by switch, and measures many envelopes.
//! * [`growth`] measures the lookup of rules and the transaction store as they grow.

pub mod commands;
pub mod growth;
