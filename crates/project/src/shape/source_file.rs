//! A file that describes a shape: its text, and places in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Code, Fault, Finding, Findings, Place, system_error_text};

use crate::UserText;
use crate::shape::codes;

/// A file's text.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    pub(crate) text: UserText,
}

impl SourceFile {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<SourceFile, Findings> {
        let name = path.display().to_string();
        let refused = |message: String| {
            let place = Place { file: Some(name.as_str().into()), ..Place::default() };
            Finding::error(codes::UNREADABLE, Fault::Caller, message).at(place)
        };
        let unreadable = |error: &std::io::Error| {
            let finding = refused(format!("cannot be read: {}", system_error_text(error)));
            finding.hint("check the path; paths in a map are relative to the map's folder")
        };
        let bytes = crate::read_definition(path).map_err(|error| unreadable(&error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            refused(format!("is not UTF-8 at byte {}", error.utf8_error().valid_up_to())).hint("save it in UTF-8")
        })?;
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        Ok(SourceFile { text: UserText { name: name.into(), text: Arc::from(text) } })
    }

    /// Creates an error at a byte offset.
    pub(crate) fn error(&self, code: Code, at: usize, message: impl Into<String>) -> Finding {
        Finding::error(code, Fault::Config, message).at(self.text.place(&(at..at + 1)))
    }

    /// Creates a warning at a byte offset.
    pub(crate) fn warning(&self, code: Code, at: usize, message: impl Into<String>) -> Finding {
        Finding::warning(code, Fault::Config, message).at(self.text.place(&(at..at + 1)))
    }
}

/// Returns one path for all spellings of a file's path, such as `a.xsd` and `sub/../a.xsd`. A file that does not exist keeps its spelling.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
