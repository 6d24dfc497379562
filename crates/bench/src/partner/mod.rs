//! What is measured of trading partners.
//!
//! * [`world`] writes projects: partners, maps, interchanges of documents of about 2 KB, interchanges of claims.
//! * [`commands`] measures `quayline partner` beside `quayline translate` of the same documents, switch by switch, and many envelopes.
//! * [`case_study`] has the mix of the translator study of 2005: XML to EDI at once, XML to EDI delayed, XML to flat files.
//! * [`growth`] has the look-up of rules and the transaction store as they grow.

pub mod case_study;
pub mod commands;
pub mod growth;
pub mod world;
