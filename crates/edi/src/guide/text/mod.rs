//! File format of guides, `.guide`: text that users write, compare and keep under version control.
//!
//! A line makes one statement; indentation by spaces defines the nesting. `docs/reference/guides.md` explains the format with examples.
//!
//! Laws: [`parse_guide`] reads the output of [`write_guide`] as the same guide. Expressions of rules are kept line by line, without white space
//! around lines, empty lines, and lines that begin with `#`.

mod changes;
mod code_file;
mod codes;
mod dictionary;
mod lines;
mod load;
mod parse;
mod report;
mod structure;
mod words;
mod write;

use std::collections::BTreeMap;

use quayline_core::{Findings, Limits};

use super::{Dictionary, Guide};
use load::Loader;
pub use write::{write_dictionary, write_guide, write_guide_including};

/// Finds the files that guides include or overlay. Implementations own the I/O; this crate does none.
pub trait GuideResolver {
    /// Reads the file `name` that a line of the file `from` names. `from` is a result of this function, or the caller's name of the outermost file.
    ///
    /// # Errors
    /// [`ResolveError`] lists the names that were tried, or the reason why the file cannot be read.
    fn read(&self, name: &str, from: &str) -> Result<GuideText, ResolveError>;
}

/// A guide file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GuideText {
    /// Under which it is shown in findings; the same file must always have the same.
    pub name: String,
    /// Text of the file.
    pub text: String,
}

/// Error of reading a file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The file does not exist.
    #[error("no such file")]
    NotFound {
        /// Names that were looked for, as the user would name them.
        tried: Vec<String>,
    },
    /// The file exists but cannot be read.
    #[error("{name} cannot be read: {reason}")]
    Unreadable {
        /// The name it was found under.
        name: String,
        /// Reason, as a phrase.
        reason: String,
    },
}

/// Resolves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGuides;

impl GuideResolver for NoGuides {
    fn read(&self, _name: &str, _from: &str) -> Result<GuideText, ResolveError> {
        Err(ResolveError::NotFound { tried: Vec::new() })
    }
}

/// Files in memory by their names.
#[derive(Clone, Debug, Default)]
pub struct MemoryGuides(pub BTreeMap<String, String>);

impl GuideResolver for MemoryGuides {
    fn read(&self, name: &str, _from: &str) -> Result<GuideText, ResolveError> {
        match self.0.get(name) {
            Some(text) => Ok(GuideText { name: name.to_owned(), text: text.clone() }),
            None => Err(ResolveError::NotFound { tried: vec![name.to_owned()] }),
        }
    }
}

/// Parses a guide: the file `text`, named `name` in findings, with its includes and overlays.
///
/// # Errors
/// All errors in the order of their places; codes `GDE-001` to `GDE-014`.
pub fn parse_guide(name: &str, text: &str, resolver: &dyn GuideResolver, limits: &Limits) -> Result<Guide, Findings> {
    Loader::new(resolver, limits).guide_file(name, text)
}

/// Reads the definitions of a dictionary file or of a guide, with those that it includes.
///
/// # Errors
/// Errors of [`parse_guide`].
pub fn parse_dictionary(
    name: &str,
    text: &str,
    resolver: &dyn GuideResolver,
    limits: &Limits,
) -> Result<Dictionary, Findings> {
    Loader::new(resolver, limits).dictionary_file(name, text)
}
