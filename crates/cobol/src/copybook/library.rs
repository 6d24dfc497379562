//! Where COPY finds its members.

use std::collections::BTreeMap;

use super::SourceText;

/// Resolves COPY members. Implementations own the I/O; this crate does none.
pub trait CopyLibrary {
    /// The text of `member`, as written in `COPY member OF library` (upper case where it is a word, as is where it is a literal).
    ///
    /// # Errors
    /// [`CopyError`] says which names were tried, or why the one found cannot be read.
    fn member(&self, member: &str, library: Option<&str>) -> Result<SourceText, CopyError>;
}

/// Why COPY has no text.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// No such member.
    #[error("no such member")]
    NotFound {
        /// Names that were looked for, as the user would name them.
        tried: Vec<String>,
    },
    /// There is one, but it cannot be read.
    #[error("{name} cannot be read: {reason}")]
    Unreadable {
        /// The name it was found under.
        name: String,
        /// Why, in words.
        reason: String,
    },
}

/// A library without members.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLibrary;

impl CopyLibrary for NoLibrary {
    fn member(&self, _member: &str, _library: Option<&str>) -> Result<SourceText, CopyError> {
        Err(CopyError::NotFound { tried: Vec::new() })
    }
}

/// Members in memory, by upper-case name; `LIBRARY/MEMBER` is looked for before `MEMBER` where a library is named.
#[derive(Clone, Debug, Default)]
pub struct MemoryLibrary(pub BTreeMap<String, String>);

impl CopyLibrary for MemoryLibrary {
    fn member(&self, member: &str, library: Option<&str>) -> Result<SourceText, CopyError> {
        let member = member.to_uppercase();
        let mut tried: Vec<String> = library.map(|l| format!("{}/{member}", l.to_uppercase())).into_iter().collect();
        tried.push(member);
        let found =
            tried.iter().find_map(|name| self.0.get(name).map(|text| SourceText::new(name.as_str(), text.as_str())));
        found.ok_or(CopyError::NotFound { tried })
    }
}
