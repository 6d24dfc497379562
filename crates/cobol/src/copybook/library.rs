//! Sources of the members that COPY names.

use std::collections::BTreeMap;

use super::SourceText;

/// Resolves COPY members. Implementations own the I/O; this crate does none.
pub trait CopyLibrary {
    /// Returns the text of `member`, as written in `COPY member OF library` (upper case for a word, unchanged for a literal).
    ///
    /// # Errors
    /// [`CopyError`] with the names that were tried, or the reason why the member found cannot be read.
    fn member(&self, member: &str, library: Option<&str>) -> Result<SourceText, CopyError>;
}

/// Error of reading a COPY member.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The member does not exist.
    #[error("no such member")]
    NotFound {
        /// Names that were looked for, as the user would name them.
        tried: Vec<String>,
    },
    /// The member exists and cannot be read.
    #[error("{name} cannot be read: {reason}")]
    Unreadable {
        /// The name it was found under.
        name: String,
        /// Reason for the failure.
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

/// Members in memory, by upper-case name. If a library is named, `LIBRARY/MEMBER` takes precedence over `MEMBER`.
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
