//! Guide files on disk.

use std::io;
use std::path::Path;

use quayline_core::{Fault, Finding, Findings, Limits, system_error_text};
use quayline_edi::guide::{BUILT_IN, BuiltInFiles, Guide, GuideResolver, GuideText, ResolveError, parse_guide};

use crate::console::shown;
use crate::exit::CLI_INPUT;

/// Reads a guide with its includes.
///
/// # Errors
/// The file cannot be read, or all errors in it.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<Guide, Findings> {
    let text = read_text(path).map_err(|error| {
        let message = format!("{} cannot be read: {}", shown(path), system_error_text(&error));
        Findings(vec![Finding::error(CLI_INPUT, Fault::Caller, message)])
    })?;
    parse_guide(&shown(path), &text, &Beside, limits)
}

fn read_text(path: &Path) -> io::Result<String> {
    if let Some(name) = path.to_str().filter(|name| name.starts_with(BUILT_IN)) {
        let text = BuiltInFiles.read(name, "").map(|found| found.text);
        return text.map_err(|_| io::Error::new(io::ErrorKind::NotFound, "no guide of this name comes with Quayline"));
    }
    String::from_utf8(quayline_project::read_definition(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Resolver for files in the same folder and built-in guides.
struct Beside;

impl GuideResolver for Beside {
    fn read(&self, name: &str, from: &str) -> Result<GuideText, ResolveError> {
        if name.starts_with(BUILT_IN) || from.starts_with(BUILT_IN) {
            return BuiltInFiles.read(name, from);
        }
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        match read_text(&path) {
            Ok(text) => Ok(GuideText { name: path.display().to_string(), text }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ResolveError::NotFound { tried: vec![shown(&path)] })
            }
            Err(error) => Err(ResolveError::Unreadable { name: shown(&path), reason: system_error_text(&error) }),
        }
    }
}
