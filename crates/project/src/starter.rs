//! The project that `quayline new` writes: small, complete, and without findings.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};

use crate::codes;

macro_rules! starter {
    ($($path:literal),* $(,)?) => { &[$(($path, include_bytes!(concat!("../template/", $path)))),*] };
}

/// Path in the project and content of each file.
const FILES: &[(&str, &[u8])] = starter![
    "quayline.toml",
    "README.md",
    "copybooks/account.cpy",
    "layouts/accounts-csv.toml",
    "layouts/accounts.toml",
    "maps/accounts.qmap",
    "maps/tests/accounts/two-accounts/input.csv",
    "maps/tests/accounts/two-accounts/expected.jsonl",
    "services/account.toml",
    "apis/accounts.toml",
    "data/accounts.dat",
];

/// Writes the starting project into `folder`, which is made if it does not exist, and returns the paths written.
///
/// # Errors
/// A file of the project exists already: then nothing is written. Or a file cannot be written.
pub fn write_starter(folder: &Path) -> Result<Vec<PathBuf>, Findings> {
    let existing: Vec<Finding> = FILES
        .iter()
        .map(|(path, _)| folder.join(path))
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| {
            Finding::error(codes::EXISTS, Fault::Caller, "the file exists, and no file is ever replaced")
                .at(in_file(&path))
                .hint("name another folder, or an empty one")
        })
        .collect();
    if !existing.is_empty() {
        return Err(Findings(existing));
    }
    let mut written = Vec::with_capacity(FILES.len());
    for (path, content) in FILES {
        let path = folder.join(path);
        write_new(&path, content).map_err(|error| {
            let message = format!("the file cannot be written: {}", system_error_text(&error));
            Finding::error(codes::EXISTS, Fault::Environment, message)
                .at(in_file(&path))
                .hint("check the folder's permissions and the space on its disk")
        })?;
        written.push(path);
    }
    Ok(written)
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(content)
}

fn in_file(path: &Path) -> Place {
    Place { file: Some(path.display().to_string().into()), ..Place::default() }
}
