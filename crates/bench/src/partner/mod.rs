//! Measurements of trading partners. `measure` provides the projects and the case study of 2005.
//!
//! * [`commands`] measures `quayline partner` beside `quayline translate` of the same documents, switch by switch, and many envelopes.
//! * [`growth`] has the look-up of rules and the transaction store as they grow.

pub mod commands;
pub mod growth;
