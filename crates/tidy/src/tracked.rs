//! Files of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file that git tracks or would track, and is text.
#[derive(Clone, Debug)]
pub struct TrackedFile {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Text of the file.
    pub text: String,
}

/// Returns the root of the repository.
///
/// # Panics
/// Never: the manifest of this crate is two folders below the root.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/tidy is two folders below the root").to_path_buf()
}

/// Returns all text files that git tracks, and new ones that it does not ignore. Files that are not UTF-8 are data and are left out.
///
/// # Panics
/// Git does not answer. Without a clone, it is unknown which files belong to the project.
#[must_use]
pub fn tracked_files() -> Vec<TrackedFile> {
    let root = root();
    let answer = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .expect("git starts");
    assert!(answer.status.success(), "git ls-files: {}", String::from_utf8(answer.stderr).unwrap_or_default());
    let paths = String::from_utf8(answer.stdout).expect("paths of this repository are UTF-8");
    let read = |path: &str| {
        let bytes = std::fs::read(root.join(path)).ok()?;
        Some(TrackedFile { path: path.to_owned(), text: String::from_utf8(bytes).ok()? })
    };
    paths.split('\0').filter(|path| !path.is_empty()).filter_map(read).collect()
}
