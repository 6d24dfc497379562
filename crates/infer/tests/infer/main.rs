//! An inferred shape accepts its samples.

mod edi;
mod text;
