//! What is measured of trading partners. Projects and the case study of 2005 are those of `measure`.
//!
//! * [`commands`] measures `quayline partner` beside `quayline translate` of the same documents, switch by switch, and many envelopes.
//! * [`growth`] has the look-up of rules and the transaction store as they grow.

pub mod commands;
pub mod growth;
