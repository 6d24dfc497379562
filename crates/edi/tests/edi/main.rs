//! Tests of the EDI crate.

mod envelope;
mod splitter;
mod trace;
