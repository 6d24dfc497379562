//! Conflict checks of files: a run must not write a file that it reads, and must write each file once; otherwise data would be lost silently.

use std::path::{Path, PathBuf};

use quayline_convert::{Destination, replaced_by_documents};

use crate::console::shown;
use crate::exit::{Stop, argument};

/// The files of a run.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    read: Vec<PathBuf>,
    written: Vec<PathBuf>,
    /// Paths of both as the user named them.
    named: Vec<PathBuf>,
    /// Folders of documents, with the extension of their names.
    folders: Vec<(PathBuf, &'static str)>,
}

impl Apart {
    /// Registers a file that the run reads.
    pub(crate) fn reads(&mut self, path: &Path) {
        if let Some(one) = file(path) {
            self.read.push(one);
            self.named.push(path.to_owned());
        }
    }

    /// Registers a file that the run writes.
    ///
    /// # Errors
    /// The run also reads the file, or writes it twice.
    pub(crate) fn writes(&mut self, path: &Path) -> Result<(), Stop> {
        let Some(one) = file(path) else { return Ok(()) };
        if self.read.contains(&one) {
            let finding = argument(format!("{} is both read and written", shown(path)));
            return Err(finding.hint("name another file or folder").into());
        }
        if self.written.contains(&one) {
            let finding = argument(format!("{} would be written twice", shown(path)));
            let hint = "name another file; inputs whose names differ in the extension only need outputs of their own";
            return Err(finding.hint(hint).into());
        }
        self.written.push(one);
        self.named.push(path.to_owned());
        Ok(())
    }

    /// Registers a folder that gets a file with this extension for each document. Call it after all files are registered.
    ///
    /// # Errors
    /// A document could replace one of the files, or a document of another target.
    pub(crate) fn splits(&mut self, folder: &Path, extension: &'static str) -> Result<(), Stop> {
        if let Some(file) = replaced_by_documents(folder, extension, self.named.iter().map(PathBuf::as_path)) {
            let finding = argument(format!("{} has the name of a document of --split", shown(file)));
            return Err(finding.hint("use an empty folder for the documents").into());
        }
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if self.folders.contains(&(real.clone(), extension)) {
            let finding = argument(format!("documents of two targets would have the same names in {}", shown(folder)));
            return Err(finding.hint("name a folder for each target").into());
        }
        self.folders.push((real, extension));
        Ok(())
    }
}

/// Returns a unique name of each file, for any path to it; `None` for streams.
fn file(path: &Path) -> Option<PathBuf> {
    if path == Path::new("-") || !Destination::is_file(path) {
        return None;
    }
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(path.file_name()?))
}
