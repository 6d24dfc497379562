//! Tests over the workspace itself.

mod arrows;
mod codes;
mod documents;
mod files;
mod licences;
mod modules;
mod never;
mod promises;
mod skipped;
mod words;
