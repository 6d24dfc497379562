//! Tests of the public API: vectors, laws and comparisons with `serde_json`.

mod alone;
mod grammar;
mod reader;
mod round_trip;
mod shapes;
mod splitter;
mod trace;
mod writer;
