//! What a run writes must be none of what it reads, and each file is written by one only: otherwise data would be lost without a word.

use std::path::{Path, PathBuf};

use quayline_convert::Destination;

use crate::console::shown;
use crate::exit::{Stop, argument};

/// The files of a run.
#[derive(Debug, Default)]
pub(super) struct Apart {
    read: Vec<PathBuf>,
    written: Vec<PathBuf>,
}

impl Apart {
    /// A file that the run reads.
    pub(super) fn reads(&mut self, path: &Path) {
        self.read.extend(file(path));
    }

    /// A file that the run writes.
    ///
    /// # Errors
    /// The run reads it too, or writes it for something else.
    pub(super) fn writes(&mut self, path: &Path) -> Result<(), Stop> {
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
        Ok(())
    }
}

/// A name for each file, however it is reached; streams have none.
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
