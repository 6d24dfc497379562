//! What a user writes in TOML: interface files; and where a user's copybooks are found.
//!
//! ```text
//! car100.toml ──parse──▶ InterfaceFile { Interface, RecordRules, where each rule stands }
//! ```
//!
//! * Every finding names file, line and column and shows the line with a caret.
//! * Unknown keys are errors, so a misspelt one is never ignored.
//! * This crate reads files that users wrote, never their data.

mod codes;
mod copy_folders;
mod interface_file;
mod record_rules;
mod source_text;
mod wire;

pub use copy_folders::{CopyFolders, CopyMember, read_source};
pub use interface_file::{InterfaceFile, InterfaceTable};
pub use record_rules::{ChooseBy, Otherwise, RecordRules, RecordType, TypeUse};
pub use source_text::UserText;
