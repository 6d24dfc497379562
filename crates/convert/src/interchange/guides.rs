//! Guide files as users name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, Findings, Limits, Place, Severity};
use quayline_edi::guide::{Guide, GuideResolver, GuideSet, GuideText, ResolveError, parse_guide};

use crate::codes;
use crate::error::system_error_text;

/// Extension of guide files.
const EXTENSION: &str = "guide";

/// Reads guide files, and all of a folder's: those in it whose name ends in `.guide` and that begin with the word `guide`; the others are
/// dictionaries that guides include.
///
/// # Errors
/// All that is wrong with any of them, or that no guide is there.
pub fn read_guides(paths: &[PathBuf], limits: &Limits) -> Result<GuideSet, Findings> {
    let mut guides = Vec::new();
    let mut findings = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = guides.len();
            match folder(path) {
                Ok(files) => files.iter().for_each(|file| read_one(file, limits, true, &mut guides, &mut findings)),
                Err(error) => findings.push(unreadable(path, &error)),
            }
            if guides.len() == found && findings.is_empty() {
                let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
                let finding = Finding::error(codes::NO_GUIDE, Fault::Caller, "the folder has no guide");
                findings.push(finding.at(place).hint("guides are files whose name ends in .guide"));
            }
        } else {
            read_one(path, limits, false, &mut guides, &mut findings);
        }
    }
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(Findings(findings));
    }
    GuideSet::new(guides)
}

/// The guide files of a folder, by name.
fn folder(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == EXTENSION) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn read_one(path: &Path, limits: &Limits, in_folder: bool, guides: &mut Vec<Guide>, findings: &mut Vec<Finding>) {
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) => return findings.push(unreadable(path, &error)),
    };
    if in_folder && !begins_with_guide(&text) {
        return;
    }
    match parse_guide(&path.display().to_string(), &text, &Files, limits) {
        Ok(guide) => guides.push(guide),
        Err(found) => findings.extend(found.0),
    }
}

/// Whether the first word that is no comment is `guide`.
fn begins_with_guide(text: &str) -> bool {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    line.is_some_and(|line| line.split_whitespace().next() == Some("guide"))
}

fn read_text(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

fn unreadable(path: &Path, error: &io::Error) -> Finding {
    let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
    let message = format!("the guide cannot be read: {}", system_error_text(error));
    Finding::error(codes::NO_GUIDE, Fault::Caller, message).at(place).hint("check the path that --guide names")
}

/// What guides include, beside the file that includes it.
struct Files;

impl GuideResolver for Files {
    fn read(&self, name: &str, from: &str) -> Result<GuideText, ResolveError> {
        let path = Path::new(from).parent().unwrap_or_else(|| Path::new("")).join(name);
        let shown = path.display().to_string();
        match read_text(&path) {
            Ok(text) => Ok(GuideText { name: shown, text }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ResolveError::NotFound { tried: vec![shown] }),
            Err(error) => Err(ResolveError::Unreadable { name: shown, reason: system_error_text(&error) }),
        }
    }
}
