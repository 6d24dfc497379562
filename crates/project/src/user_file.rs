//! A TOML file of a user before it becomes a definition: text, places and findings.

use std::path::Path;

use quayline_core::{Code, Fault, Finding, Findings, Place};
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::source_text::UserText;
use crate::toml_file::TomlFile;

/// A user's TOML file and its findings so far.
#[derive(Debug)]
pub struct UserFile {
    /// The file's name and text.
    pub text: UserText,
    /// The findings so far.
    pub findings: Vec<Finding>,
}

impl UserFile {
    /// Creates a file without findings.
    #[must_use]
    pub fn new(name: &str, text: &str) -> UserFile {
        UserFile { text: UserText { name: name.into(), text: text.into() }, findings: Vec::new() }
    }

    /// Reads the text as TOML. Errors have the code `syntax`; `document` is the page that shows every key of such a file.
    ///
    /// # Errors
    /// All syntax errors, unknown keys and values of another type.
    pub fn parse<T: DeserializeOwned>(&self, syntax: Code, document: &str) -> Result<T, Findings> {
        let remedy = format!("{document} shows every key of such a file");
        TomlFile::parse(&self.text, syntax, &remedy)?.read(syntax, &remedy)
    }

    /// Adds an error at a value.
    pub fn find<T>(&mut self, code: Code, message: impl Into<String>, at: &Spanned<T>, hint: impl Into<String>) {
        let place = self.text.place(&at.span());
        self.findings.push(Finding::error(code, Fault::Config, message).at(place).hint(hint));
    }

    /// Adds an error about the file as a whole.
    pub fn find_in_file(&mut self, code: Code, message: impl Into<String>, hint: impl Into<String>) {
        let place = Place { file: Some(self.text.name.clone()), ..Place::default() };
        self.findings.push(Finding::error(code, Fault::Config, message).at(place).hint(hint));
    }
}

/// Reads a file that a definition names.
///
/// # Errors
/// The file cannot be read: a finding with the code `unreadable`.
pub fn read_named_file(path: &Path, unreadable: Code) -> Result<Vec<u8>, Box<Finding>> {
    std::fs::read(path).map_err(|error| {
        let message = format!("the file cannot be read: {}", error.kind());
        let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
        Box::new(
            Finding::error(unreadable, Fault::Environment, message)
                .at(place)
                .hint("check the path; relative ones begin at the project's folder"),
        )
    })
}
