//! An inferred shape accepts its samples.

mod code_pages;
mod edi;
mod text;
