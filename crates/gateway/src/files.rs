//! Users' files on the way to definitions: text, place and findings.

use std::path::Path;

use quayline_core::{Code, Fault, Finding, Findings, Place};
use quayline_project::UserText;
use toml::Spanned;

use crate::codes;
use crate::toml_file::TomlFile;

/// A user's TOML file and what is wrong with it.
pub(crate) struct UserFile {
    pub(crate) text: UserText,
    pub(crate) findings: Vec<Finding>,
}

impl UserFile {
    pub(crate) fn new(name: &str, text: &str) -> UserFile {
        UserFile { text: UserText { name: name.into(), text: text.into() }, findings: Vec::new() }
    }

    pub(crate) fn parse<T: serde::de::DeserializeOwned>(&self, document: &str) -> Result<T, Findings> {
        let remedy = format!("{document} shows every key of such a file");
        TomlFile::parse(&self.text, codes::SYNTAX, &remedy)?.read(codes::SYNTAX, &remedy)
    }

    pub(crate) fn find<T>(&mut self, code: Code, message: impl Into<String>, at: &Spanned<T>, hint: impl Into<String>) {
        let place = self.text.place(&at.span());
        self.findings.push(Finding::error(code, Fault::Config, message).at(place).hint(hint));
    }

    pub(crate) fn find_in_file(&mut self, code: Code, message: impl Into<String>, hint: impl Into<String>) {
        let place = Place { file: Some(self.text.name.clone()), ..Place::default() };
        self.findings.push(Finding::error(code, Fault::Config, message).at(place).hint(hint));
    }
}

/// Reads a file that a definition names.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Box<Finding>> {
    std::fs::read(path).map_err(|error| {
        let message = format!("the file cannot be read: {}", error.kind());
        let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
        Box::new(
            Finding::error(codes::UNREADABLE, Fault::Environment, message)
                .at(place)
                .hint("check the path; relative ones begin at the project's folder"),
        )
    })
}
