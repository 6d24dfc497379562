//! References of `source` and `target` in maps.

use std::path::{Path, PathBuf};

/// A reference to a file, or to a part of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Reference {
    pub(crate) path: PathBuf,
    pub(crate) part: Option<String>,
}

impl Reference {
    /// Parses `text` as a reference relative to `folder`.
    pub(crate) fn new(folder: &Path, text: &str) -> Reference {
        let (file, part) = match text.split_once('#') {
            Some((file, part)) if !part.is_empty() => (file, Some(part.to_owned())),
            Some((file, _)) => (file, None),
            None => (text, None),
        };
        Reference { path: folder.join(file), part }
    }

    /// Returns the file's extension in lower case.
    pub(crate) fn extension(&self) -> String {
        self.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
    }

    /// Returns the file's name without folder and extensions.
    pub(crate) fn stem(&self) -> String {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or("document");
        name.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("document").to_owned()
    }
}
