//! Reads the workspace as data: packages and edges from `cargo metadata`, tables from Markdown, tracked files from git.
//!
//! The tests in `tests/tidy` compare this data with `ARCHITECTURE.md` and the project's rules.

mod literals;
mod markdown;
mod packages;
mod spdx;
mod tracked;
mod words;

pub use literals::{Literal, string_literals};
pub use markdown::{CodeBlock, Table, anchors, code_blocks, tables};
pub use packages::{Edge, EdgeKind, Package, Packages};
pub use spdx::Licence;
pub use tracked::{TrackedFile, root, tracked_files};
pub use words::{Occurrence, REFUSED, Refused, refused_in_message, refused_words};
