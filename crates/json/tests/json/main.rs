//! Tests of the public API: vectors, laws and comparisons with `serde_json`.

mod reader;
mod shapes;
mod trace;
mod writer;
