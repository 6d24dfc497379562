//! Tests of the EDI crate.

mod splitter;
mod trace;
