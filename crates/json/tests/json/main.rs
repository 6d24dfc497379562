//! Tests of the public API: vectors, laws and comparisons with `serde_json`.

mod shapes;
mod writer;
