//! Search for COPY members.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quayline_cobol::copybook::{CopyError, CopyLibrary, SourceText};

/// Extensions a member may have, in the order in which they are tried; the empty one is the bare name.
const EXTENSIONS: [&str; 7] = ["cpy", "cbl", "cob", "copy", "inc", "txt", ""];

/// Folders that are searched for COPY members, in order.
///
/// A member `CUST` or `"CUST"` is a file `CUST.cpy`, `.cbl`, `.cob`, `.copy`, `.inc`, `.txt` or without extension, in upper or lower case.
/// A name written with an extension is also tried unchanged. For `COPY CUST OF LIB` (or `IN LIB`), the sub-folder `LIB` of each folder is searched
/// first, followed by the folder. A file with exactly that name takes precedence over one that differs in case.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CopyFolders {
    folders: Vec<PathBuf>,
}

/// A member that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CopyMember {
    /// The file.
    pub path: PathBuf,
    /// Text of the member: UTF-8, or Latin-1 if it is not UTF-8 (as in old comments), so that every byte is a character.
    pub text: String,
}

impl CopyFolders {
    /// Looks in these folders, in this order.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        CopyFolders { folders }
    }

    /// Returns the folders in search order.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Finds a member by its name and optional library.
    ///
    /// # Errors
    /// A folder or file that is there but cannot be read; `Ok(None)` where no folder has the member.
    pub fn find(&self, member: &str, library: Option<&str>) -> io::Result<Option<CopyMember>> {
        for folder in &self.folders {
            if let Some(library) = library
                && let Some(sub) = find_entry(folder, library, &[""], EntryKind::Folder)?
                && let Some(path) = find_entry(&sub, member, &EXTENSIONS, EntryKind::File)?
            {
                return read_source(&path).map(|text| Some(CopyMember { path, text }));
            }
            if let Some(path) = find_entry(folder, member, &EXTENSIONS, EntryKind::File)? {
                return read_source(&path).map(|text| Some(CopyMember { path, text }));
            }
        }
        Ok(None)
    }
}

impl CopyLibrary for CopyFolders {
    fn member(&self, member: &str, library: Option<&str>) -> Result<SourceText, CopyError> {
        match self.find(member, library) {
            Ok(Some(found)) => Ok(SourceText::new(found.path.display().to_string(), found.text)),
            Ok(None) => Err(CopyError::NotFound { tried: self.tried(member, library) }),
            Err(error) => Err(CopyError::Unreadable { name: member.to_owned(), reason: error.to_string() }),
        }
    }
}

impl CopyFolders {
    /// Returns the paths that were tried, as a user would write them.
    fn tried(&self, member: &str, library: Option<&str>) -> Vec<String> {
        let names =
            |folder: &Path| format!("{}.cpy (or .cbl, .cob, .copy, .inc, .txt, none)", folder.join(member).display());
        let mut tried = Vec::new();
        for folder in &self.folders {
            tried.extend(library.map(|library| names(&folder.join(library))));
            tried.push(names(folder));
        }
        tried
    }
}

/// Reads COBOL source: UTF-8, or Latin-1 where it is not UTF-8.
///
/// # Errors
/// The file system's.
pub fn read_source(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().map(|b| char::from(*b)).collect()))
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum EntryKind {
    File,
    Folder,
}

fn find_entry(folder: &Path, name: &str, extensions: &[&str], kind: EntryKind) -> io::Result<Option<PathBuf>> {
    // A member's name is one name: it must not lead out of the folder.
    if name.is_empty() || name.contains(['/', '\\', '\0']) || name == "." || name == ".." {
        return Ok(None);
    }
    let right_kind = |path: &Path| match kind {
        EntryKind::File => path.is_file(),
        EntryKind::Folder => path.is_dir(),
    };
    let mut wanted: Vec<String> = Vec::new();
    for extension in extensions {
        if extension.is_empty() {
            wanted.push(name.to_owned());
        } else {
            wanted.push(format!("{name}.{extension}"));
            wanted.push(format!("{name}.{}", extension.to_uppercase()));
        }
    }
    if name.contains('.') {
        wanted.rotate_right(1);
    }
    for exact in &wanted {
        let path = folder.join(exact);
        if right_kind(&path) {
            return Ok(Some(path));
        }
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut best: Option<(usize, PathBuf)> = None;
    for entry in entries {
        let path = entry?.path();
        let Some(file_name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        let Some(rank) = wanted.iter().position(|w| w.eq_ignore_ascii_case(file_name)) else { continue };
        let nearer = best.as_ref().is_none_or(|(known, other)| (rank, &path) < (*known, other));
        if nearer && right_kind(&path) {
            best = Some((rank, path));
        }
    }
    Ok(best.map(|(_, path)| path))
}
